r"""Partial orders: pairwise preferences, and the finest weak order that they imply.

The pairwise preferences of a ranker form a directed acyclic graph. In an *ordered partition*
:math:`S_1 > \dots > S_M`, every item of a block is preferred to every item of later blocks,
directly or through others. The *maximal* one has the most blocks, and it is unique.

>>> blocks(np.zeros(4, dtype=int), better=np.array([0, 0, 1, 2]), worse=np.array([1, 2, 3, 3]))
array([0, 1, 1, 2])

Preferences between two items of one block are lost, because a weak order cannot express them.

**Where to cut.** Sort the items topologically, and let U be the first p items and V the rest. A
sink of U has no item of U below it, and a source of V has no item of V above it. All of U is
preferred to all of V if and only if every sink of U is preferred to every source of V. This
preference must be direct: the first step of a path from a sink leaves U, and its last step enters
V. Therefore p is a cut if the number of preferences between sinks and sources equals the number of
such pairs. An item is a sink from its position to the position of the first item below it. It is a
source from the position of the last item above it to its own position. All counts are cumulative
sums, so the cost is linear in items and preferences.

References
----------
Ma et al., Learning-to-rank with partitioned preference: fast estimation for the Plackett-Luce
model, AISTATS 2021 (rank-breaking).
"""

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.data.read.columns import require_columns
from bayesrank.data.read.entries import Entries, Features, item_features
from bayesrank.data.read.labels import (
    Labels,
    axis_index,
    counted,
    encode,
    factorize,
    label_repr,
    warn,
)

type Ints = NDArray[np.int64]
type Preferences = pd.DataFrame | Mapping[Any, Iterable[Any]] | Iterable[Any]


class LostPreferenceWarning(UserWarning):
    """Some preferences are between items that the weak order must put into one block."""


class Listed(NamedTuple):
    """Preferences, one per element."""

    row: NDArray[Any]  # position of the ranker
    better: pd.Index
    worse: pd.Index
    rankers: pd.Index


def weak_orders(
    listed: Listed,
    presented: Literal["items"] | Labels | None,
    items: Labels | None,
    features: Features | None,
) -> Entries:
    """Find the finest weak order of each ranker; see `Rankings.from_preferences`."""
    n, n_rankers = len(listed.row), len(listed.rankers)
    if not n:
        raise ValueError("There are no preferences: `preferences` is empty.")
    seen = _presented(presented, items)
    named = pd.Index([*listed.better, *listed.worse, *seen], tupleize_cols=False)
    if named.hasnans:
        k = int(named.isna().argmax())
        raise ValueError(
            f"The {'better' if k < n else 'worse'} item of preference {k % n} is missing. Correct "
            f"the preference, or remove it."
        )
    position, axis = encode(named, items, "item")
    shown = position[2 * n :]

    # Nodes are the items of each ranker, ranker by ranker; repeated preferences count once
    named_by = np.concatenate([listed.row, listed.row, np.repeat(np.arange(n_rankers), len(shown))])
    named_item = np.concatenate([position[: 2 * n], np.tile(shown, n_rankers)])
    key, node = np.unique(named_by * len(axis) + named_item, return_inverse=True)
    row, item = key // len(axis), key % len(axis)
    edge = np.unique(np.stack([node[:n], node[n : 2 * n]]), axis=1)
    try:
        block = blocks(row, better=edge[0], worse=edge[1])
    except CycleError as error:
        circle = error.args[1]
        who = f" of ranker {label_repr(listed.rankers[row[circle[0]]])}" if n_rankers > 1 else ""
        raise ValueError(
            f"The preferences{who} form a cycle: "
            f"{' > '.join(str(axis[item[k]]) for k in circle)}. Remove one of them, or use "
            f"`Pairs`, where matches may contradict each other."
        ) from None
    _warn_of_losses(row, block[edge[0]] == block[edge[1]], edge[0], n_rankers)
    return Entries(
        row,
        item,
        block,
        items=axis,
        rankers=axis_index(listed.rankers, "rankers"),
        ranker_idx=np.arange(n_rankers),
        features=item_features(features, axis, item),
    )


def read_preferences(preferences: Any, better: str, worse: str, ranker: str | None) -> Listed:
    """Read pairwise preferences."""
    if isinstance(preferences, pd.DataFrame):
        require_columns(preferences, [better, worse, *([] if ranker is None else [ranker])])
        row, rankers = np.zeros(len(preferences), dtype=np.int32), pd.Index([0])
        if ranker is not None:
            row, rankers = factorize(preferences[ranker], ranker)
        return Listed(row, pd.Index(preferences[better]), pd.Index(preferences[worse]), rankers)
    if ranker is not None:
        raise ValueError(
            f"`ranker` names a column of a table, but `preferences` is not a table. Pass a mapping "
            f"from rankers to pairs, and remove ranker={ranker!r}."
        )
    if isinstance(preferences, str | pd.Series) or not isinstance(preferences, Iterable):
        raise ValueError(
            f"`preferences` must be a table, pairs (better, worse), or a mapping from rankers to "
            f"such pairs; got {label_repr(preferences)}. Convert a Series by ranker with "
            f"preferences.groupby(level=0).agg(list).to_dict()."
        )
    by_ranker = preferences if isinstance(preferences, Mapping) else {0: preferences}
    pairs: list[Any] = []
    lengths: list[int] = []
    for who, listed in by_ranker.items():
        before = len(pairs)
        for n, pair in enumerate(listed):
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise ValueError(
                    f"A preference must be a pair (better, worse); number {n} of ranker "
                    f"{label_repr(who)} is {label_repr(pair)}."
                )
            pairs.append(pair)
        lengths.append(len(pairs) - before)
        if lengths[-1] == 0:
            raise ValueError(f"Ranker {label_repr(who)} has no preferences; remove the ranker.")
    first, second = (
        pd.Index([pair[side] for pair in pairs], tupleize_cols=False) for side in (0, 1)
    )
    row = np.repeat(np.arange(len(lengths)), lengths)
    return Listed(row, first, second, pd.Index(list(by_ranker)))


def _presented(presented: Any, items: Any) -> list[Any]:
    if presented is None:
        return []
    if isinstance(presented, str):
        if presented != "items" or items is None:
            raise ValueError(
                f"`presented` must be labels, or 'items' for all labels in `items`; got "
                f"{presented!r}" + (" without `items`." if presented == "items" else ".")
            )
        return list(axis_index(items, "items"))
    return list(axis_index(presented, "presented"))


def _warn_of_losses(row: Ints, lost: NDArray[np.bool_], better: Ints, n_rankers: int) -> None:
    if lost.any():
        losing = len(np.unique(row[better[lost]]))
        warn(
            f"The weak orders lose {lost.sum()} of {counted(len(lost), 'preference')}, in {losing} "
            f"of {counted(n_rankers, 'ranking')}: both items are in one block, because some of its "
            f"items are not comparable. Use `Pairs` to keep every preference.",
            LostPreferenceWarning,
        )


def blocks(row: Ints, *, better: Ints, worse: Ints) -> Ints:
    """Find the maximal ordered partition of each partial order.

    `row` is the partial order of each node, ascending. `better` and `worse` are nodes of the same
    partial order. Blocks are numbered best first, and the numbers continue from one partial order
    to the next.
    """
    n = len(row)
    above: dict[int, list[int]] = {k: [] for k in range(n)}
    for one, other in zip(better.tolist(), worse.tolist(), strict=True):
        above[other].append(one)
    order = np.fromiter(TopologicalSorter(above).static_order(), dtype=np.int64, count=n)
    order = order[np.argsort(row[order], kind="stable")]
    place = np.empty_like(order)
    place[order] = np.arange(n)

    # An item is a sink for cuts after its position, up to its first lower neighbour. It is a source
    # for cuts after its last upper neighbour, up to its position. Without neighbours, to the ends.
    begin = np.searchsorted(row, row)
    first_below, last_above = np.searchsorted(row, row, side="right"), begin - 1
    high, low = place[better], place[worse]
    np.minimum.at(first_below, high, low)
    np.maximum.at(last_above, low, high)
    position = np.arange(n)
    sinks = _covering(position + 1, first_below, n)
    sources = _covering(last_above + 1, position, n)
    both = last_above[low] < first_below[high]
    joined = _covering(last_above[low][both] + 1, first_below[high][both], n)
    cut = (joined == sinks * sources) | (begin == position)
    return (np.cumsum(cut) - 1)[place]


def _covering(first: Ints, last: Ints, n: int) -> Ints:
    """Count the ranges first..last that contain each of 0, ..., n - 1."""
    starts, stops = (np.bincount(x, minlength=n + 2)[: n + 2] for x in (first, last + 1))
    return np.cumsum(starts - stops)[:n]
