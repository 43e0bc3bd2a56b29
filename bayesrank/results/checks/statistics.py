"""Statistics of rankings for predictive checks, computed for many draws at once.

Ranks have the shape (n_rankings, n_slots, n_draws), so that operations run along contiguous memory.
Each class computes one statistic, or one for every item, pair or size. Its `labels` name the rows:
(label, length of lists). Call it with ranks and the weights of the rankings (n_rankings, n_draws);
it returns (n_rows, n_draws). Weights that are the same in all draws have one column.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, triu

__all__ = [
    "Between",
    "BlockSizes",
    "EndItem",
    "Found",
    "KendallDistance",
    "PairOrders",
]

ALL = "all"  # lists of every length
LARGEST = 7  # blocks of this size or larger share one row
CLOSE = 1e-12
LENGTHS = 8  # most rows by length; more lengths are grouped

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Ranks = NDArray[np.integer]
Label = tuple[Any, Any]


class Found(NamedTuple):
    """Rankings from a DataTree, with slots in their original order."""

    item: NDArray[np.int64]  # (n_rankings, n_slots)
    used: NDArray[np.bool_]  # (n_rankings, n_slots)
    weight: Floats  # (n_rankings,)
    observed: NDArray[Any]  # (n_rankings, n_slots)
    predicted: NDArray[Any]  # (n_rankings, n_slots, n_draws)
    draws: NDArray[np.intp]  # (n_draws,) position among all predictive draws
    items: pd.Index  # labels
    sizes_given: bool

    @property
    def length(self) -> NDArray[np.int64]:
        """Number of items in each list."""
        return self.used.sum(axis=1)

    @property
    def compared(self) -> NDArray[np.bool_]:
        """Whether a list has at least two items and a positive weight."""
        return (self.length > 1) & (self.weight > 0)

    def by_item(self, value: NDArray[Any]) -> csc_array:
        """Turn a value per slot (n_rankings, n_slots) into a matrix (n_rankings, n_items)."""
        row, slot = np.nonzero(self.used)
        shape = len(self.item), len(self.items)
        return csc_array((value[row, slot], (row, self.item[row, slot])), shape=shape)


class EndItem:
    """Share of the lists with an item that put it first or last; k tied items count 1/k each."""

    def __init__(self, found: Found, *, last: bool = False) -> None:
        self.name = "last item" if last else "top item"
        self._last = last
        row, slot = np.nonzero(found.used & found.compared[:, None])
        entry, shape = row * found.item.shape[1] + slot, (found.item.size, len(found.items))
        sums = csc_array((np.ones(len(row)), (entry, found.item[row, slot])), shape=shape)
        held = found.by_item(np.ones(found.item.shape)).multiply(found.compared[:, None])
        shown = np.flatnonzero(held.T @ found.weight)
        self._sums, self._held = sums[:, shown].T.tocsr(), held.tocsc()[:, shown].T.tocsr()
        self.held = self._held @ found.weight  # lists with each item
        self.labels: list[Label] = [(item, ALL) for item in found.items[shown]]

    def __call__(self, ranks: Ranks, weight: Floats) -> Floats:
        """Return one row per label."""
        end = ranks == (ranks.max(axis=1, keepdims=True) if self._last else 1)
        share = end * (weight[:, None] / end.sum(axis=1, keepdims=True))
        return (self._sums @ share.reshape(-1, share.shape[2])) / (self._held @ weight)


class PairOrders:
    """Share of the lists with both items that put i above j; a tie counts one half."""

    name = "pair order"

    def __init__(self, found: Found, max_pairs: int) -> None:
        present = found.by_item(np.ones(found.item.shape))
        together = triu(present.T @ present.multiply(found.weight[:, None]), k=1).tocoo()
        # among equally frequent pairs, neighbours in the consensus come first: they are least sure
        order = np.lexsort((together.row, together.col - together.row, -together.data))
        self.n_pairs = together.nnz
        self.labels: list[Label] = []
        self.items: list[tuple[int, int]] = []
        self._pairs = []
        slots = found.by_item(np.broadcast_to(np.arange(found.item.shape[1]), found.item.shape))
        for k in order[:max_pairs]:
            i, j = together.row[k], together.col[k]
            self._pairs.append(_both(slots, i, j))
            self.items.append((int(i), int(j)))
            self.labels.append((f"{found.items[i]} > {found.items[j]}", ALL))

    def __call__(self, ranks: Ranks, weight: Floats) -> Floats:
        """Return one row per label."""
        out = np.empty((len(self._pairs), max(ranks.shape[2], weight.shape[1])))
        for p, (lists, slot_i, slot_j) in enumerate(self._pairs):
            i, j = ranks[lists, slot_i], ranks[lists, slot_j]
            twice = (i < j).view(np.int8) + (i <= j).view(np.int8)
            out[p] = _mean(twice, weight[lists]) / 2
        return out


class Between:
    r"""Variance between groups of lists, such as those of a ranker, in where they place the items.

    An item's score in a list is the mean rank there minus its rank, divided by the number of items.
    The statistic is the mean of :math:`n_{gi} (\bar x_{gi} - \bar x_i)^2` over all groups g and
    items i. Here n is the number of lists. The first mean is over the group, the second over all.
    """

    name = "between"

    def __init__(self, found: Found, group: NDArray[np.integer]) -> None:
        self._length, self._used = found.length, found.used & found.compared[:, None]
        row, slot = np.nonzero(self._used)
        item, entry = found.item[row, slot], row * found.item.shape[1] + slot
        weight = found.weight[row]
        codes = group[row].astype(np.int64) * len(found.items) + item
        cells, cell = np.unique(codes, return_inverse=True)
        self._item = cells % len(found.items)
        shape = (len(cells), found.item.size)
        self._sums = csr_array((weight, (cell, entry)), shape=shape)
        self._n = np.bincount(cell, weight)
        self._by_item = csr_array(
            (np.ones(len(cells)), (self._item, np.arange(len(cells)))),
            shape=(len(found.items), len(cells)),
        )

    def __call__(self, ranks: Ranks, weight: Floats) -> Floats:
        """Return one row."""
        used, length = self._used[:, :, None], np.maximum(self._length, 1)[:, None, None]
        mean = (ranks * used).sum(axis=1, keepdims=True) / length
        score = (mean - ranks) / length
        sums = self._sums @ score.reshape(-1, score.shape[2])
        n = np.maximum(self._by_item @ self._n, CLOSE)
        mean = (self._by_item @ sums) / n[:, None]
        apart = sums / self._n[:, None] - mean[self._item]
        return np.mean(self._n[:, None] * apart**2, axis=0)[None]


class BlockSizes:
    """Share of the blocks that have each size, and blocks per item of a list."""

    name = "block size"

    def __init__(self, found: Found) -> None:
        self._length = found.length
        longest = int(self._length.max())
        self._largest = min(longest, LARGEST)
        names = ["1 item", *(f"{size} items" for size in range(2, self._largest + 1))]
        if longest > LARGEST:
            names[-1] = f"{LARGEST} or more items"
        names += ["blocks per item", "blocks per item, spread"]
        self.labels: list[Label] = [(name, ALL) for name in names]

    def __call__(self, ranks: Ranks, weight: Floats) -> Floats:
        """Return one row per label."""
        size = _block_counts(ranks)[:, :, 1:]  # (n_rankings, n_draws, n_blocks)
        np.minimum(size, self._largest, out=size)
        sizes = range(1, self._largest + 1)
        blocks = np.stack([_mean((size == k).sum(axis=2), weight) for k in sizes])
        per_item = ranks.max(axis=1) / self._length[:, None]
        return np.concatenate([blocks / blocks.sum(axis=0), _mean_and_spread(per_item, weight)])


class KendallDistance:
    """Mean and spread of the distances of lists to the consensus, overall and by length.

    The distance is the share of the pairs of items that a list orders differently from the
    consensus; a tie counts one half. The consensus itself has distance 0; random lists have a mean
    distance of 1/2.
    """

    name = "Kendall distance"

    def __init__(self, found: Found, by_length: bool) -> None:
        self._found, self._length = found, found.length
        self._groups = [(ALL, found.compared)]
        if by_length:
            self._groups += _lengths(self._length, found.compared)
        self.labels: list[Label] = [
            (label, group) for label in ("mean", "spread") for group, _ in self._groups
        ]

    def __call__(self, ranks: Ranks, weight: Floats, places: Places) -> Floats:
        """Return one row per label, given the places of the items (n_items, n_draws)."""
        distance = self._distances(ranks, places)
        rows = [_mean_and_spread(distance[group], weight[group]) for _, group in self._groups]
        return np.stack(rows, axis=1).reshape(len(self.labels), -1)

    def _distances(self, ranks: Ranks, places: Places) -> Floats:
        """Compute the share of reversed pairs in each list, (n_rankings, n_draws)."""
        item, used = self._found.item, self._found.used
        order = np.where(used[:, :, None], places[item], len(places))
        ranks = np.take_along_axis(ranks, order.argsort(axis=1, kind="stable"), 1)
        n_slots = ranks.shape[1]
        # empty slots rank below all others, so they add nothing
        slot = np.arange(n_slots)[:, None]
        last = (slot + n_slots + 1).astype(ranks.dtype)
        ranks = np.where(slot < self._length[:, None, None], ranks, last)
        ranks = np.ascontiguousarray(ranks.transpose(1, 0, 2))  # sums run along whole rows
        twice = np.zeros(ranks.shape[1:], dtype=np.int32)
        for gap in range(1, n_slots):
            one, other = ranks[:-gap], ranks[gap:]
            behind = (one > other).view(np.int8) + (one >= other).view(np.int8)
            twice += behind.sum(axis=0, dtype=np.int32)
        pairs = self._length * (self._length - 1)
        return twice / np.maximum(pairs, 1)[:, None]


def _block_counts(ranks: Ranks) -> NDArray[np.int64]:
    """Count the slots of rank 0, 1, 2, ..., (n_rankings, n_draws, n_slots + 1)."""
    n_rankings, n_slots, n_draws = ranks.shape
    cell = np.arange(n_rankings * n_draws).reshape(n_rankings, 1, n_draws) * (n_slots + 1)
    counts = np.bincount((cell + ranks).ravel(), minlength=n_rankings * n_draws * (n_slots + 1))
    return counts.reshape(n_rankings, n_draws, n_slots + 1)


def _mean(value: NDArray[Any], weight: Floats) -> Floats:
    """Compute the weighted mean (n_draws,) over the rankings of values (n_rankings, n_draws)."""
    if weight.shape[1] == 1:
        return weight[:, 0] @ value / weight.sum()
    return (weight * value).sum(axis=0) / weight.sum(axis=0)


def _mean_and_spread(value: Floats, weight: Floats) -> Floats:
    """Compute the weighted mean and standard deviation over the rankings, (2, n_draws)."""
    mean = _mean(value, weight)
    return np.stack([mean, np.sqrt(_mean((value - mean) ** 2, weight))])


def _both(slots: csc_array, i: int, j: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Find the rankings with both items, and the slots of each item there."""
    one, other = (slice(slots.indptr[k], slots.indptr[k + 1]) for k in (i, j))
    rows, at_i, at_j = np.intersect1d(
        slots.indices[one], slots.indices[other], assume_unique=True, return_indices=True
    )
    return rows, slots.data[one][at_i], slots.data[other][at_j]


def _lengths(
    length: NDArray[np.int64], compared: NDArray[np.bool_]
) -> list[tuple[Any, NDArray[np.bool_]]]:
    """Return the lengths of lists, or ranges of lengths with about equal numbers of lists."""
    values = np.unique(length[compared])
    if len(values) < 2:
        return []  # all lists
    ends = values
    if len(values) > LENGTHS:
        parts = np.linspace(0, 1, LENGTHS + 1)[1:]
        ends = np.unique(np.quantile(length[compared], parts, method="inverted_cdf").astype(int))
    starts = values[np.searchsorted(values, np.append(0, ends[:-1]), side="right")]
    names = [int(a) if a == b else f"{a} to {b}" for a, b in zip(starts, ends, strict=True)]
    group = np.searchsorted(ends, length)
    return [(name, compared & (group == k)) for k, name in enumerate(names)]
