"""Tables in partitions: count the distinct rows of dask data frames.

Each partition is counted by its own worker. The counts are summed along a tree, so no process holds
more than a few tables of distinct rows.
"""

from collections.abc import Iterable
from typing import Any

import pandas as pd

from bayesrank.data.read.columns import require_columns
from bayesrank.data.read.pair_entries import whole_counts

__all__ = ["count_partitions"]

TOGETHER = 16  # tables that are summed at a time


def count_partitions(frame: Any, keys: Iterable[str | None], count: str | None) -> pd.DataFrame:
    """Count the distinct rows of some columns of a dask data frame.

    The counts are in the column `count`, or "times" by default.
    """
    if not hasattr(frame, "to_delayed"):
        raise TypeError(
            f"Expected a dask DataFrame; got {type(frame).__name__}. Use from_frame for a pandas "
            "DataFrame."
        )
    import dask

    chosen = [key for key in dict.fromkeys(keys) if key is not None]
    named = chosen if count is None else [*chosen, count]
    require_columns(pd.DataFrame(columns=list(frame.columns)), named)
    times = count or "times"
    level = [
        dask.delayed(_count)(part, chosen, count, times, k)
        for k, part in enumerate(frame[named].to_delayed())
    ]
    while len(level) > 1:
        groups = [level[k : k + TOGETHER] for k in range(0, len(level), TOGETHER)]
        level = [dask.delayed(_add)(group, chosen) for group in groups]
    (total,) = dask.compute(*level)
    return total


def _count(
    part: pd.DataFrame, keys: list[str], count: str | None, times: str, number: int
) -> pd.DataFrame:
    try:
        amount = 1.0 if count is None else whole_counts(part, count)
    except ValueError as error:
        raise ValueError(f"In partition {number}: {error}") from None
    return _sum(part[keys].assign(**{times: amount}), keys)


def _add(parts: list[pd.DataFrame], keys: list[str]) -> pd.DataFrame:
    return _sum(pd.concat(parts, ignore_index=True), keys)


def _sum(frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    return frame.groupby(keys, dropna=False, observed=True, sort=False).sum().reset_index()
