r"""Partial orders: preferences of single pairs, and the finest weak order that they imply.

A ranker who says only "a over b" here and there leaves a directed graph without cycles. Its
*maximal ordered partition* are the most blocks :math:`S_1 > \dots > S_M` such that every item of a
block is preferred to every item of later ones, directly or through others. There is one such
partition: items that are not comparable are in one block.

>>> blocks(np.zeros(4, dtype=int), better=np.array([0, 0, 1, 2]), worse=np.array([1, 2, 3, 3]))
array([0, 1, 1, 2])

What is said about two items of one block is lost: a weak order cannot say it.

**Where to cut.** Put the items in any topological order and let U be the first p of them. U is all
above the rest V if and only if every sink of U (with nothing below it in U) is preferred to every
source of V (with nothing above it in V), and then directly: a path from a sink leaves U in its
first step and, before a source, has not yet been in V. So p is a cut where there are as many
preferences between sinks and sources as there are pairs of them. An item is a sink from its own
place to that of the first item below it, and a source from that of the last item above it to its
own: all counts are running sums, and the cost is linear in items and preferences.

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
    """Some preferences are between items that a weak order has to put into one block."""


class Listed(NamedTuple):
    """Preferences as read, one entry each."""

    row: NDArray[Any]  # the ranker
    better: pd.Index
    worse: pd.Index
    rankers: pd.Index


def weak_orders(
    said: Listed,
    presented: Literal["items"] | Labels | None,
    items: Labels | None,
    features: Features | None,
) -> Entries:
    """Find the finest weak order of each ranker; see `Rankings.from_preferences`."""
    n, n_rankers = len(said.row), len(said.rankers)
    if not n:
        raise ValueError("There are no preferences: `preferences` is empty.")
    seen = _presented(presented, items)
    named = pd.Index([*said.better, *said.worse, *seen], tupleize_cols=False)
    if named.hasnans:
        k = int(named.isna().argmax())
        raise ValueError(
            f"Preference {k % n} has no {'better' if k < n else 'worse'} item: no label."
        )
    position, axis = encode(named, items, "item")
    shown = position[2 * n :]

    # Nodes are the items of each ranker, ranker by ranker; each preference counts once
    named_by = np.concatenate([said.row, said.row, np.repeat(np.arange(n_rankers), len(shown))])
    what = np.concatenate([position[: 2 * n], np.tile(shown, n_rankers)])
    key, node = np.unique(named_by * len(axis) + what, return_inverse=True)
    row, item = key // len(axis), key % len(axis)
    edge = np.unique(np.stack([node[:n], node[n : 2 * n]]), axis=1)
    try:
        block = blocks(row, better=edge[0], worse=edge[1])
    except CycleError as error:
        circle = error.args[1]
        who = f" of ranker {label_repr(said.rankers[row[circle[0]]])}" if n_rankers > 1 else ""
        raise ValueError(
            f"The preferences{who} go in a circle: "
            f"{' > '.join(str(axis[item[k]]) for k in circle)}. Leave one of them out, or count "
            f"each pair as a match in `Pairs`, where they may contradict each other."
        ) from None
    _warn_of_losses(row, block[edge[0]] == block[edge[1]], edge[0], n_rankers)
    return Entries(
        row,
        item,
        block,
        items=axis,
        rankers=axis_index(said.rankers, "rankers"),
        ranker_idx=np.arange(n_rankers),
        features=item_features(features, axis, item),
    )


def read_preferences(preferences: Any, better: str, worse: str, ranker: str | None) -> Listed:
    """Read preferences of pairs."""
    if isinstance(preferences, pd.DataFrame):
        require_columns(preferences, [better, worse, *([] if ranker is None else [ranker])])
        row, rankers = np.zeros(len(preferences), dtype=np.int32), pd.Index([0])
        if ranker is not None:
            row, rankers = factorize(preferences[ranker], ranker)
        return Listed(row, pd.Index(preferences[better]), pd.Index(preferences[worse]), rankers)
    if ranker is not None:
        raise ValueError(
            f"`ranker` names a column of a table, but `preferences` is none; give a mapping from "
            f"rankers to pairs, and leave ranker={ranker!r} out."
        )
    if isinstance(preferences, str | pd.Series) or not isinstance(preferences, Iterable):
        raise ValueError(
            f"`preferences` must be a table, pairs (better, worse), or a mapping from rankers to "
            f"such pairs; got {label_repr(preferences)}. Of a Series by ranker give "
            f"preferences.groupby(level=0).agg(list).to_dict()."
        )
    each = preferences if isinstance(preferences, Mapping) else {0: preferences}
    pairs: list[Any] = []
    lengths: list[int] = []
    for who, listed in each.items():
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
            raise ValueError(f"Ranker {label_repr(who)} has no preferences; leave it out.")
    first, second = (
        pd.Index([pair[side] for pair in pairs], tupleize_cols=False) for side in (0, 1)
    )
    return Listed(np.repeat(np.arange(len(lengths)), lengths), first, second, pd.Index(list(each)))


def _presented(presented: Any, items: Any) -> list[Any]:
    if presented is None:
        return []
    if isinstance(presented, str):
        if presented != "items" or items is None:
            raise ValueError(
                f"`presented` must be labels, or 'items' for all that are given as `items`; got "
                f"{presented!r}" + (" without them." if presented == "items" else ".")
            )
        return list(axis_index(items, "items"))
    return list(axis_index(presented, "presented"))


def _warn_of_losses(row: Ints, lost: NDArray[np.bool_], better: Ints, n_rankers: int) -> None:
    if lost.any():
        losing = len(np.unique(row[better[lost]]))
        warn(
            f"The weak orders lose {lost.sum()} of {counted(len(lost), 'preference')}, in {losing} "
            f"of {counted(n_rankers, 'ranking')}: between items of one block, because others in it "
            f"are not comparable with both. `Pairs` keeps every preference.",
            LostPreferenceWarning,
        )


def blocks(row: Ints, *, better: Ints, worse: Ints) -> Ints:
    """Find the maximal ordered partition of each of some partial orders.

    `row` is the partial order of each node, ascending; `better` and `worse` are nodes of one. The
    blocks of the nodes are numbered on from one partial order to the next, best first.
    """
    n = len(row)
    above: dict[int, list[int]] = {k: [] for k in range(n)}
    for one, other in zip(better.tolist(), worse.tolist(), strict=True):
        above[other].append(one)
    order = np.fromiter(TopologicalSorter(above).static_order(), dtype=np.int64, count=n)
    order = order[np.argsort(row[order], kind="stable")]
    place = np.empty_like(order)
    place[order] = np.arange(n)

    # Each place is a sink for cuts from behind it up to its first lower neighbour, and a source for
    # cuts from behind its last upper neighbour up to itself; without neighbours, to the ends
    begin = np.searchsorted(row, row)
    first_below, last_above = np.searchsorted(row, row, side="right"), begin - 1
    high, low = place[better], place[worse]
    np.minimum.at(first_below, high, low)
    np.maximum.at(last_above, low, high)
    here = np.arange(n)
    sinks = _covering(here + 1, first_below, n)
    sources = _covering(last_above + 1, here, n)
    both = last_above[low] < first_below[high]
    joined = _covering(last_above[low][both] + 1, first_below[high][both], n)
    cut = (joined == sinks * sources) | (begin == here)
    return (np.cumsum(cut) - 1)[place]


def _covering(first: Ints, last: Ints, n: int) -> Ints:
    """Count how many of the ranges first..last hold each of 0, ..., n - 1."""
    starts, stops = (np.bincount(x, minlength=n + 2)[: n + 2] for x in (first, last + 1))
    return np.cumsum(starts - stops)[:n]
