"""Statistics of rankings for predictive checks, of many draws at a time.

Ranks here are (n_rankings, n_slots, n_draws), draws last, so that every operation runs along
contiguous memory. Items are numbered in the order of the consensus, best first, and so are the
slots of a ranking: its Kendall distance counts the pairs of slots that are the wrong way round.

Each class is one statistic, or one for every item, pair or size: `labels` names its rows, (label,
length of lists), and calling it on ranks gives (n_rows, n_draws).
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, triu

__all__ = [
    "BlockSizes",
    "KendallDistance",
    "Lists",
    "PairOrders",
    "Statistic",
    "TopItem",
    "block_counts",
]

ALL = "all"  # in the place of a length: lists of every length
LARGEST = 7  # blocks of so many items or more are one row
LENGTHS = 8  # more lengths than this are put into so many groups

Floats = NDArray[np.float64]
Ranks = NDArray[np.int16]
Label = tuple[Any, Any]


class Statistic(Protocol):
    """What each class here is: call it with ranks (n_rankings, n_slots, n_draws)."""

    name: str
    labels: list[Label]

    def __call__(self, ranks: Ranks) -> Floats:
        """Return one row per label, (n_rows, n_draws)."""


@dataclass(frozen=True)
class Lists:
    """What was presented to whom.

    Attributes
    ----------
    item : array of int, shape (n_rankings, n_slots)
        Position in the consensus of the item in each slot, ascending.
    used : array of bool, shape (n_rankings, n_slots)
        Slots in use, which come first.
    weight : array of float, shape (n_rankings,)
        Multiplicity of each ranking.
    items : Index
        Labels of the items, in the order of the consensus.
    """

    item: NDArray[np.int64]
    used: NDArray[np.bool_]
    weight: Floats
    items: pd.Index

    @property
    def length(self) -> NDArray[np.int64]:
        """Number of items in each list."""
        return self.used.sum(axis=1)

    @property
    def compared(self) -> Floats:
        """Weights, 0 for lists of one item, in which nothing is compared."""
        return np.where(self.length > 1, self.weight, 0.0)

    def by_item(self, value: NDArray[Any]) -> csc_array:
        """Matrix (n_rankings, n_items) of a value per slot, (n_rankings, n_slots)."""
        row, slot = np.nonzero(self.used)
        shape = len(self.item), len(self.items)
        return csc_array((value[row, slot], (row, self.item[row, slot])), shape=shape)


class TopItem:
    """Share of the lists with an item that put it first; k items in the first block: 1/k each."""

    name = "top item"

    def __init__(self, lists: Lists) -> None:
        row, slot = np.nonzero(lists.used)
        weight = lists.compared[row]
        total = np.bincount(lists.item[row, slot], weight, len(lists.items))
        shown = np.flatnonzero(total > 0)
        n_entries = lists.item.size
        sums = csr_array(
            (weight, (lists.item[row, slot], row * lists.item.shape[1] + slot)),
            shape=(len(lists.items), n_entries),
        )
        self._mean = sums[shown].multiply(1 / total[shown, None]).tocsr()
        self.labels: list[Label] = [(item, ALL) for item in lists.items[shown]]

    def __call__(self, ranks: Ranks) -> Floats:
        """Return one row per label."""
        first = ranks == 1
        share = first / first.sum(axis=1, keepdims=True)
        return self._mean @ share.reshape(-1, ranks.shape[2])


class PairOrders:
    """Share of the lists with both items that put the one above the other; a tie is half."""

    name = "pair order"

    def __init__(self, lists: Lists, max_pairs: int) -> None:
        present = lists.by_item(np.ones(lists.item.shape))
        together = triu(present.T @ present.multiply(lists.weight[:, None]), k=1).tocoo()
        # of equally frequent pairs neighbours in the consensus first: their order is least sure
        order = np.lexsort((together.row, together.col - together.row, -together.data))
        self.n_pairs = together.nnz
        self.labels: list[Label] = []
        self._pairs = []
        slots = lists.by_item(np.broadcast_to(np.arange(lists.item.shape[1]), lists.item.shape))
        for k in order[:max_pairs]:
            i, j = together.row[k], together.col[k]
            rows, slot_i, slot_j = _both(slots, i, j)
            weight = lists.weight[rows]
            self._pairs.append((rows, slot_i, slot_j, weight / (2 * weight.sum())))
            self.labels.append((f"{lists.items[i]} > {lists.items[j]}", ALL))

    def __call__(self, ranks: Ranks) -> Floats:
        """Return one row per label."""
        out = np.empty((len(self._pairs), ranks.shape[2]))
        for p, (rows, slot_i, slot_j, weight) in enumerate(self._pairs):
            i, j = ranks[rows, slot_i], ranks[rows, slot_j]
            out[p] = weight @ ((i < j).view(np.int8) + (i <= j).view(np.int8))
        return out


class BlockSizes:
    """Share of the blocks that have each size, and blocks per item of a list."""

    name = "block size"

    def __init__(self, lists: Lists) -> None:
        self._lists = lists
        longest = int(lists.length.max())
        self._largest = min(longest, LARGEST)
        names = ["1 item", *(f"{size} items" for size in range(2, self._largest + 1))]
        if longest > LARGEST:
            names[-1] = f"{LARGEST} or more items"
        names += ["blocks per item", "blocks per item, spread"]
        self.labels: list[Label] = [(name, ALL) for name in names]

    def __call__(self, ranks: Ranks) -> Floats:
        """Return one row per label."""
        n_draws = ranks.shape[2]
        weight = self._lists.weight
        size = block_counts(ranks)[:, :, 1:]  # (n_rankings, n_draws, n_blocks)
        np.minimum(size, self._largest, out=size)
        out = np.empty((len(self.labels), n_draws))
        for k in range(1, self._largest + 1):
            out[k - 1] = weight @ (size == k).sum(axis=2)
        out[: self._largest] /= out[: self._largest].sum(axis=0)
        per_item = ranks.max(axis=1) / self._lists.length[:, None]
        out[self._largest :] = _mean_and_spread(per_item, weight)
        return out


class KendallDistance:
    """Mean and spread of the distances of lists to the consensus, overall and by length.

    The distance is the share of the pairs of items that a list orders otherwise than the
    consensus; a tie is half: 0 is the consensus itself, 1/2 the mean of lists made at random.
    """

    name = "Kendall distance"

    def __init__(self, lists: Lists, by_length: bool) -> None:
        self._length = lists.length
        self._groups = [(ALL, lists.compared > 0)]
        if by_length:
            self._groups += _lengths(self._length, lists.compared)
        self._weight = lists.weight
        self._used = lists.used
        self.labels: list[Label] = [
            (label, group) for label in ("mean", "spread") for group, _ in self._groups
        ]

    def __call__(self, ranks: Ranks) -> Floats:
        """Return one row per label."""
        n_rankings, n_slots, n_draws = ranks.shape
        # an empty slot stands below all others, so that it adds nothing
        last = (np.arange(n_slots) + n_slots + 1).astype(ranks.dtype)
        ranks = np.where(self._used[:, :, None], ranks, last[:, None])
        ranks = np.ascontiguousarray(ranks.transpose(1, 0, 2))  # sums run along whole rows
        twice = np.zeros((n_rankings, n_draws), dtype=np.int32)
        for gap in range(1, n_slots):
            one, other = ranks[:-gap], ranks[gap:]
            behind = (one > other).view(np.int8) + (one >= other).view(np.int8)
            twice += behind.sum(axis=0, dtype=np.int32)
        pairs = self._length * (self._length - 1)
        distance = twice / np.maximum(pairs, 1)[:, None]
        rows = [_mean_and_spread(distance[group], self._weight[group]) for _, group in self._groups]
        return np.stack(rows, axis=1).reshape(-1, n_draws)


def block_counts(ranks: Ranks) -> NDArray[np.int64]:
    """Count the slots of rank 0, 1, 2, ..., (n_rankings, n_draws, n_slots + 1)."""
    n_rankings, n_slots, n_draws = ranks.shape
    cell = np.arange(n_rankings * n_draws).reshape(n_rankings, 1, n_draws) * (n_slots + 1)
    counts = np.bincount((cell + ranks).ravel(), minlength=n_rankings * n_draws * (n_slots + 1))
    return counts.reshape(n_rankings, n_draws, n_slots + 1)


def _mean_and_spread(value: Floats, weight: Floats) -> Floats:
    """Weighted mean and standard deviation over the first axis, (2, n_draws)."""
    weight = weight / weight.sum()
    mean = weight @ value
    return np.stack([mean, np.sqrt(weight @ (value - mean) ** 2)])


def _both(slots: csc_array, i: int, j: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Rankings that hold both items, and the slots of the one and of the other."""
    one, other = (slice(slots.indptr[k], slots.indptr[k + 1]) for k in (i, j))
    rows, at_i, at_j = np.intersect1d(
        slots.indices[one], slots.indices[other], assume_unique=True, return_indices=True
    )
    return rows, slots.data[one][at_i], slots.data[other][at_j]


def _lengths(length: NDArray[np.int64], weight: Floats) -> list[tuple[Any, NDArray[np.bool_]]]:
    """Lengths of lists, or ranges of them with about as many lists each."""
    longer = weight > 0
    values = np.unique(length[longer])
    if len(values) < 2:
        return []  # all lists
    if len(values) <= LENGTHS:
        return [(int(n), longer & (length == n)) for n in values]
    edges = np.quantile(length[longer], np.linspace(0, 1, LENGTHS + 1), method="inverted_cdf")
    out = []
    low = int(values[0])
    for high in np.unique(edges[1:].astype(int)):
        group = longer & (length >= low) & (length <= high)
        out.append((int(low) if low == high else f"{low} to {high}", group))
        low = high + 1
    return out
