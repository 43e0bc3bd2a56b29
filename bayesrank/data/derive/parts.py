"""Parts: select and split rankings, find identical ones, and list their pairs of items."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bayesrank.data.read.labels import counted

Array = NDArray[Any]


def positions(index: ArrayLike, n: int, unit: str) -> NDArray[np.int64]:
    """Turn a mask or a list of positions of `n` rankings (or other `unit`) into positions."""
    array = np.asarray(index)
    if array.dtype == bool:
        if array.shape != (n,):
            raise ValueError(f"A boolean `index` must have shape ({n},); got {array.shape}.")
        array = np.flatnonzero(array)
    if array.size and (array.dtype.kind not in "iu" or array.ndim != 1):
        raise ValueError(
            "`index` must be a list of positions or booleans. For names, use "
            "rankings.subset(labels=...)."
        )
    outside = array[(array < -n) | (array >= n)]
    if len(outside):
        raise ValueError(
            f"`index` must contain positions of the {counted(n, unit)}; got {outside[0]}."
        )
    array = array.astype(np.int64) % n
    if len(np.unique(array)) < len(array):
        raise ValueError(f"`index` selects the same {unit} twice. Use `count` for multiplicities.")
    if not len(array):
        raise ValueError(f"No {unit} is selected: a collection needs at least one.")
    return array


def held_out(unit: Array, share: float, random_seed: int | None, by: str) -> NDArray[np.bool_]:
    """Mark the rankings outside a random share of the units."""
    units = _shuffled(unit, random_seed)
    first = round(share * len(units)) if 0 < share < 1 else 0
    if not 0 < first < len(units):
        raise ValueError(
            f"A share of {share} of {counted(len(units), by)} leaves one part empty. Choose a "
            f"share between 0 and 1 that gives both parts at least one."
        )
    return np.isin(unit, units[first:])


def folds(
    unit: Array, n_folds: int | np.integer, random_seed: int | None, by: str
) -> list[NDArray[np.bool_]]:
    """Mark the rankings of each fold of the units."""
    units = _shuffled(unit, random_seed)
    if not 2 <= n_folds <= len(units):
        raise ValueError(
            f"The number of folds must be between 2 and the {counted(len(units), by)}; got "
            f"{n_folds}."
        )
    return [np.isin(unit, fold) for fold in np.array_split(units, n_folds)]


def identical(content: Sequence[Array]) -> NDArray[np.int64]:
    """Give equal rows of arrays that share their first axis equal numbers, from 0 upwards."""
    as_bytes = np.hstack([np.ascontiguousarray(part).view(np.uint8) for part in content])
    rows = np.array([row.tobytes() for row in as_bytes], dtype=object)
    return pd.factorize(rows)[0].astype(np.int64)


def all_pairs(item: Array, ranks: Array, *, keep_ties: bool) -> tuple[Array, Array, Array, Array]:
    """List all pairs of slots: ranking, better item, worse item, difference of the ranks."""
    row, slot = np.nonzero(ranks)
    item, rank = item[row, slot], ranks[row, slot]
    after = (ranks > 0).sum(axis=1)[row] - 1 - slot  # slots behind this one in its ranking
    one = np.repeat(np.arange(len(row)), after)
    other = one + 1 + np.arange(len(one)) - np.repeat(np.cumsum(after) - after, after)
    if not keep_ties:
        ordered = rank[one] != rank[other]
        one, other = one[ordered], other[ordered]
    return row[one], item[one], item[other], rank[other] - rank[one]


def _shuffled(unit: Array, random_seed: int | None) -> Array:
    return np.random.default_rng(random_seed).permutation(np.unique(unit))
