"""Tables of the studies: written while they grow, and never half a line."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

__all__ = ["write_rows"]


def write_rows(rows: Iterable[dict[str, Any]], path: Path) -> pd.DataFrame:
    """Print rows and write them as they come, so that a run that ends early leaves what it found.

    Parameters
    ----------
    rows : iterable of dict
        The rows of one table, made while they are asked for.
    path : Path
        The CSV file; replaced whole after every row.

    Returns
    -------
    DataFrame
        All rows.
    """
    listed = []
    for row in rows:
        listed.append(row)
        print(*(f"{x:.4g}" if isinstance(x, float) else x for x in row.values()), flush=True)
        pd.DataFrame(listed).to_csv(path.with_suffix(".part"), index=False)
        path.with_suffix(".part").replace(path)
    return pd.DataFrame(listed)
