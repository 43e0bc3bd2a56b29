"""Count entries: items within problems, and the pairs ordered by a ranker's ratings.

A *problem* (such as a query) is a set of items that may be compared with each other. Items of
different problems are never compared.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.data.read.entries import per_row
from bayesrank.data.read.labels import (
    axis_index,
    encode,
    factorize,
    label_repr,
    locate,
    plain_index,
    require_one_each,
    sorted_axis,
)

METHODS = ("difference", "binary")
"""An ordered pair adds to a count the difference of the ratings (or ranks), or 1."""

ONE_PROBLEM = pd.Index(["all"])
"""Axis of the problems if none are named."""

_CHUNK = 2**20  # cells compared at a time: 8 MB per array; all of MovieLens would take 160 MB


class ItemAxis(NamedTuple):
    """Items and the problem of each."""

    items: pd.Index
    problems: pd.Index
    problem_idx: NDArray[np.int32]  # (n_items,)


class PreferredPairs(NamedTuple):
    """Pairs of items, ordered by their ranker."""

    ranker: NDArray[np.int32]
    better: NDArray[np.int32]
    worse: NDArray[np.int32]
    step: NDArray[np.float64]  # the difference, > 0


# Axes


def assign_one_problem(items: pd.Index) -> ItemAxis:
    """Assign all items to one problem."""
    return ItemAxis(items, ONE_PROBLEM, np.zeros(len(items), dtype=np.int32))


def assign_problems(items: pd.Index, problem: Iterable[Hashable]) -> ItemAxis:
    """Assign items to problems: by aligned labels, or by a Series or mapping by item."""
    if isinstance(problem, Mapping):  # it may include other items
        problem = {label: problem[label] for label in items if label in problem}
    labels = plain_index(per_row(problem, {"item": items}, "problem"), "problem")
    require_one_each(labels, len(items), "`problem`", "item")
    code, problems = factorize(labels, "problem")
    return ItemAxis(items, axis_index(problems, "problems"), code.astype(np.int32))


def identify(
    item: pd.Series, problem: pd.Series | None, items: Iterable[Hashable] | None
) -> tuple[NDArray[Any], ItemAxis]:
    """Encode a column of items on the given axis, or on a sorted one.

    With a column of problems, the labels of the items are (problem, item).
    """
    if problem is None:
        position, axis = encode(item, items, str(item.name))
        return position, assign_one_problem(axis)

    # The items are the pairs (problem, item) that occur, sorted by problem and item.
    which, problems = sorted_axis(problem, str(problem.name))
    inner, labels = sorted_axis(item, str(item.name))
    key = which.astype(np.int64) * len(labels) + inner
    pair, position = np.unique(key, return_inverse=True)
    both = zip(problems.take(pair // len(labels)), labels.take(pair % len(labels)), strict=True)
    found = pd.Index(list(both), tupleize_cols=False)
    if items is None:
        return position, ItemAxis(found, problems, (pair // len(labels)).astype(np.int32))

    axis = axis_index(items, "items")
    for label in axis:
        if not (isinstance(label, tuple) and len(label) == 2):
            raise ValueError(
                f"With problems, the labels of `items` must be tuples (problem, item); got "
                f"{label_repr(label)}."
            )
    named = assign_problems(axis, [label[0] for label in axis])
    return locate(found, axis, "item")[position], named


# Pairs


def ordered_pairs(
    ranker: NDArray[Any],
    item: NDArray[Any],
    value: NDArray[np.float64],
    problem: NDArray[np.int32],
) -> PreferredPairs:
    """List pairs of items of one problem that a ranker gave different values; high is good.

    `ranker`, `item` and `value` describe each rating, and `problem` each item. The pairs are sorted
    by ranker, better and worse item.
    """
    # Sort ratings by ranker, problem and item; each ranker and problem is a group.
    order = np.lexsort((item, problem[item], ranker))
    ranker, item, value = ranker[order], item[order], value[order]
    begins = np.ones(len(item), dtype=bool)
    begins[1:] = (np.diff(ranker) != 0) | (np.diff(problem[item]) != 0)
    group = np.cumsum(begins) - 1
    start, size = np.flatnonzero(begins)[group], np.bincount(group)[group]

    # Compare each rating with all ratings of its group, in chunks, and keep those that are higher.
    rows = np.lexsort((item, ranker))  # 0, 1, 2, ... unless problems interleave on the item axis
    ends = np.cumsum(size[rows])
    cuts = np.searchsorted(ends, np.arange(_CHUNK, size.sum(), _CHUNK))
    pairs: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
    for chunk in np.split(rows, np.unique(cuts)):
        n = size[chunk]
        one = np.repeat(chunk, n)
        other = np.arange(n.sum()) + np.repeat(start[chunk] - np.cumsum(n) + n, n)
        above = value[one] > value[other]
        pairs.append((one[above].astype(np.int32), other[above].astype(np.int32)))
    one = np.concatenate([first for first, _ in pairs])
    other = np.concatenate([second for _, second in pairs])
    item = item.astype(np.int32)
    return PreferredPairs(
        ranker.astype(np.int32)[one], item[one], item[other], value[one] - value[other]
    )


# Checks


def check_comparable(axis: ItemAxis) -> None:
    """Check that each problem has at least two items."""
    size = np.bincount(axis.problem_idx, minlength=len(axis.problems))
    if (size == 1).any():
        p = int((size == 1).argmax())
        alone = axis.items[axis.problem_idx == p]
        raise ValueError(
            f"Problem {label_repr(axis.problems[p])} has only one item, {label_repr(alone[0])}, "
            f"so there is nothing to compare. Remove the problem."
        )


def check_method(method: str) -> None:
    """Check that the method of counting exists."""
    if method not in METHODS:
        raise ValueError(f"`method` must be {METHODS[0]!r} or {METHODS[1]!r}; got {method!r}.")


def whole_steps(pairs: PreferredPairs, items: pd.Index, rankers: pd.Index) -> NDArray[np.float64]:
    """Return differences of ratings as whole numbers, or raise an error."""
    whole = np.rint(pairs.step)
    broken = np.abs(whole - pairs.step) > 1e-9  # 3.3 - 2.3 is not quite 1
    if broken.any():
        k = int(broken.argmax())
        raise ValueError(
            f"Differences of ratings are counts and must be whole numbers; ranker "
            f"{label_repr(rankers[pairs.ranker[k]])} rates item "
            f"{label_repr(items[pairs.better[k]])} {pairs.step[k]:g} above "
            f"{label_repr(items[pairs.worse[k]])}. Multiply the ratings to make them whole (half "
            f"stars by 2), or count with method='binary'."
        )
    return whole
