"""Tables of the studies: written while they grow, and never half a line."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from bayesrank.results import write_whole

__all__ = ["write_rows", "write_table"]


def write_rows(rows: Iterable[dict[str, Any]], path: Path, *, show: bool = True) -> pd.DataFrame:
    """Write rows as they come, so that a run that ends early leaves what it found.

    Parameters
    ----------
    rows : iterable of dict
        The rows of one table, made while they are asked for.
    path : Path
        The CSV file; replaced whole, at most once a second and at the end.
    show : bool
        Print them, too.

    Returns
    -------
    DataFrame
        All rows.
    """
    listed, written = [], 0.0
    for row in rows:
        listed.append(row)
        if show:
            print(*(f"{x:.4g}" if isinstance(x, float) else x for x in row.values()), flush=True)
        if time.monotonic() > written + 1:
            write_table(pd.DataFrame(listed), path)
            written = time.monotonic()
    table = pd.DataFrame(listed)
    write_table(table, path)
    return table


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table whole or not at all, without its index."""
    write_whole(path, table.to_csv(index=False).encode())
