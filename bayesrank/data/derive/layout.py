"""Layout: convert entries in any order to padded slots, sorted best first.

The entries of a ranking are sorted by cost, and equal costs form a block. The items of a block
follow the order of the item axis, so equal weak orders have equal arrays.
"""

from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bayesrank.data.derive.grouping import Grouping, group, numbers_to, stretches
from bayesrank.data.read.columns import check_times, check_weights, float_array
from bayesrank.data.read.entries import Entries
from bayesrank.data.read.labels import (
    axis_index,
    counted,
    label_repr,
    quoted,
    require_one_each,
    warn,
)

Array = NDArray[Any]


class UninformativeRankingWarning(UserWarning):
    """Some rankings contain one item or one block, so their likelihood is 1 in every model."""


class Layout(NamedTuple):
    """Padded slots, and the entries in their order."""

    item: NDArray[np.int32]
    ranks: NDArray[np.int32]
    order: Array | None  # (n_entries,) entries by ranking and slot; None if already in this order

    def pad(self, values: Array) -> Array:
        """Move the values of entries, (n_entries, ...), to slots, (n_rankings, n_slots, ...)."""
        padded = np.zeros((*self.item.shape, *values.shape[1:]), dtype=values.dtype)
        padded[self.ranks > 0] = values if self.order is None else values[self.order]
        return padded


def lay_out(item: Array, cost: Array, rankings: Grouping) -> Layout:
    """Sort the entries of rankings into slots; costs become dense ranks, 1 = best."""
    length = np.diff(rankings.start)
    shape = (len(length), int(length.max(initial=0)))
    padded_item = np.zeros(shape, dtype=np.int32)
    padded_rank = np.zeros(shape, dtype=np.int32)
    order = rankings.order
    for first, begin, entry, row in rankings.stretches():
        its_item, its_cost = item[entry], cost[entry]
        by = _sorting(row, its_cost, its_item)
        if by is not None:
            its_item, its_cost = its_item[by], its_cost[by]
            order = numbers_to(len(item)) if order is None else order
            order[rankings.start[first] :][: len(by)] = entry[by]

        # Slots are numbered from the start of each ranking.
        slot = np.arange(len(row)) - begin[row]

        # A block begins where the cost or the ranking changes.
        begins = np.ones(len(row), dtype=bool)
        begins[1:] = (slot[1:] == 0) | (its_cost[1:] != its_cost[:-1])
        block = np.cumsum(begins)
        padded_item[first + row, slot] = its_item
        padded_rank[first + row, slot] = block - block[begin[row]] + 1
    return Layout(padded_item, padded_rank, order)


def _sorting(*keys: Array) -> Array | None:
    """Return a stable order by the first key, then the next; None if the keys are sorted."""
    tied, in_order = np.ones(len(keys[0]) - 1, dtype=bool), True
    for key in keys:
        in_order = in_order and not (tied & (key[1:] < key[:-1])).any()
        tied &= key[1:] == key[:-1]
    return None if in_order else np.lexsort(keys[::-1])


def block_sizes(ranks: Array) -> NDArray[np.int32]:
    """Count the items of each block, shape (n_rankings, n_blocks), 0 after the last."""
    n_blocks = int(ranks.max(initial=0))
    sizes = np.zeros((len(ranks), n_blocks), dtype=np.int32)
    for first, last in stretches(np.arange(len(ranks) + 1) * ranks.shape[1]):
        row, slot = np.nonzero(ranks[first:last])
        flat = row * n_blocks + ranks[first + row, slot] - 1
        counts = np.bincount(flat, minlength=(last - first) * n_blocks)
        sizes[first:last] = counts.reshape(-1, n_blocks)
    return sizes


def arrange(entries: Entries, *, must_be_dense: bool = False) -> dict[str, Any]:
    """Check entries and return the attributes of `Rankings`."""
    row, item, n = entries.row, entries.item, len(entries.ranker_idx)
    if n == 0:
        raise ValueError("There are no rankings: give at least one.")
    labels = entries.ranking_labels()

    # In a weak order, each ranking has an item, and no item occurs twice.
    rankings = group(row, n)
    empty = np.flatnonzero(np.diff(rankings.start) == 0)
    if len(empty):
        raise ValueError(f"Ranking {label_repr(labels[empty[0]])} is empty: it needs an item.")
    twice = _first_duplicate(item, len(entries.items), rankings)
    if twice is not None:
        raise ValueError(
            f"Ranking {label_repr(labels[row[twice]])} contains item "
            f"{label_repr(entries.items[item[twice]])} twice. Merge its rows. If the ranker ranked "
            f"several times, give each ranking a separate row or label."
        )
    layout = lay_out(item, entries.cost, rankings)
    if must_be_dense:
        _check_dense(layout, entries.cost, labels)

    features, names = _padded_features(layout, entries)
    attributes = {
        "items": entries.items,
        "rankers": entries.rankers,
        "labels": labels,
        "item": layout.item,
        "ranks": layout.ranks,
        "mask": layout.ranks > 0,
        "block_sizes": block_sizes(layout.ranks),
        "ranker_idx": np.array(entries.ranker_idx, dtype=np.int32),
        "count": _counts(entries.count, labels),
        "weight": _weights(entries.weight, labels),
        "features": features,
        "feature_names": names,
        "attributes": None if entries.features is None else entries.features.attributes,
        "groups": MappingProxyType(dict(entries.groups)),
    }
    silent = np.flatnonzero(layout.ranks.max(axis=1) == 1)
    if len(silent):
        hold, they_inform = "hold", "They are kept and inform"
        if len(silent) == 1:
            hold, they_inform = "holds", "It is kept and informs"
        warn(
            f"{len(silent)} of {counted(n, 'ranking')} {hold} one item or one block "
            f"({quoted(labels.take(silent), 3)}), so no item is above another. {they_inform} only "
            f"models that predict ties.",
            UninformativeRankingWarning,
        )
    return attributes


def _first_duplicate(item: Array, n_items: int, rankings: Grouping) -> int | None:
    """Return the first entry that repeats an item of its ranking, or None."""
    found = []
    for _, _, entry, row in rankings.stretches():
        key = row * n_items + item[entry]
        in_order = np.sort(key)
        if (in_order[1:] == in_order[:-1]).any():
            order = np.argsort(key, kind="stable")
            again = order[1:][key[order][1:] == key[order][:-1]]
            found.append(int(entry[again].min()))
    return min(found, default=None)


def _check_dense(layout: Layout, cost: Array, labels: pd.Index) -> None:
    given = layout.pad(cost)
    broken = np.flatnonzero((given != layout.ranks).any(axis=1))
    if len(broken):
        row = given[broken[0]][layout.ranks[broken[0]] > 0]
        raise ValueError(
            f"`ranks` must be dense within a ranking; ranking {label_repr(labels[broken[0]])} has "
            f"ranks [{', '.join(f'{rank:g}' for rank in row)}]. The rank after a tie "
            f"is the next one: 1, 2, 2, 3. Rankings.from_ranks also reads competition ranks."
        )


def _counts(count: ArrayLike | None, labels: pd.Index) -> NDArray[np.int64]:
    n = len(labels)
    if count is None:
        return np.ones(n, dtype=np.int64)
    values = float_array(count, "count")
    if values.shape != (n,):
        raise ValueError(f"`count` must have shape ({n},), one per ranking; got {values.shape}.")
    return check_times(values, labels)


def _weights(weight: ArrayLike | None, labels: pd.Index) -> NDArray[np.float64]:
    n = len(labels)
    if weight is None:
        return np.ones(n)
    values = float_array(weight, "weight")
    if values.shape != (n,):
        raise ValueError(f"`weight` must have shape ({n},), one per ranking; got {values.shape}.")
    check_weights(values, labels, "ranking", "Leave out rankings that should not count.")
    return values


def _padded_features(
    layout: Layout, entries: Entries
) -> tuple[NDArray[np.float64] | None, pd.Index | None]:
    if entries.features is None:
        return None, None
    values, given, _ = entries.features
    n = values.shape[1]
    names = axis_index(range(n) if given is None else given, "feature_names")
    require_one_each(names, n, "`feature_names`", "feature")
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        where, column = bad[0]
        raise ValueError(
            f"Feature {label_repr(names[column])} must be finite; it is {values[where, column]} "
            f"for item {label_repr(entries.items[entries.item[where]])}."
        )
    return layout.pad(values), names
