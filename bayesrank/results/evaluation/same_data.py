"""Check that two models were fitted to the same data, in any order.

A model observes *units*: rankings, pairs, rankers, or groups that are left out together. Units are
matched by label. If labels are automatic numbers, or differ, units are matched by content: the
items, the blocks, the counts, the weights and the groups. Groups whose labels are automatic or
differ are compared by their units. Arrays are matched row by row.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesrank.results.evaluation.groups import observed_dim, pointwise_log_likelihood
from bayesrank.schema import (
    AT_RANDOM,
    CONTENT,
    COUNTS,
    FIRST,
    ITEM,
    RANKS,
    Kept,
    are_numbers,
    joined,
    spell_label,
)

__all__ = ["Units", "has_items", "matched", "units_of", "units_of_result"]

WIDTH = 60  # most characters of a unit's content in a message
DIGITS = 9  # significant digits that results from the same data share

Positions = NDArray[np.intp]


class Units(NamedTuple):
    """The units that a model observes and predicts."""

    dim: str
    labels: NDArray[Any]
    contents: NDArray[Any] | None = None  # as text, if the items are known
    groups: dict[str, NDArray[Any]] = {}  # noqa: RUF012  (the label of each unit)
    exact: dict[str, NDArray[Any]] = {}  # noqa: RUF012  (compared only if both models have it)
    values: tuple[NDArray[Any], ...] = ()  # (n_rows, ...), compared where items are not known


def has_items(tree: xr.DataTree, var_name: str) -> bool:
    """Return whether results name the items, or do not contain items at all."""
    kept = Kept(tree, var_name)
    return kept.items is not None or kept.contents() is None


def units_of(tree: xr.DataTree, var_name: str, *, named: bool, group: str | None = None) -> Units:
    """Read the observed units from the group constant_data of results."""
    kept = Kept(tree, var_name)
    if "log_likelihood" in tree.children:
        pointwise = pointwise_log_likelihood(tree, var_name)
        rows = pointwise[observed_dim(pointwise, var_name)]
    else:  # a baseline
        rows = kept.rows()
    dim, labels = str(rows.name), rows.to_numpy()
    contents = kept.contents(kept.items if named else None)
    by_dim = [name for name, axis in kept.groups.items() if axis == dim]
    row_dim = str(kept[by_dim[0]].dims[0]) if by_dim else dim
    if row_dim != dim:  # in a mixture, the rankings of a ranker share one log-likelihood
        group = group or by_dim[0]
    codes = {name: kept.codes(name) for name in kept.groups if kept[name].dims == (row_dim,)}
    if group in codes:
        present, unit = np.unique(codes[group], return_inverse=True)
        if contents is not None:
            contents = joined(contents, unit, len(present))
        return Units(group, kept.labels(group)[present], contents)
    groups = {name: kept.labels(name)[code] for name, code in codes.items()}
    exact = {}
    if FIRST in kept:  # the item that has the advantage of being first
        first = kept[FIRST].to_numpy()
        exact[FIRST] = kept.items.to_numpy()[first] if named and kept.items is not None else first
    if AT_RANDOM in kept:  # different counts may have the same net counts
        exact["count"] = np.array([f"{x:.{DIGITS}g}" for x in kept[AT_RANDOM].to_numpy()])
    return Units(dim, labels, contents, groups, exact, _values(kept))


def units_of_result(elpd_i: xr.DataArray, *, named: bool) -> Units:
    """Read the units from a result of `bayesrank.kfold`."""
    (dim,) = elpd_i.dims
    groups = {str(name): x.to_numpy() for name, x in elpd_i.coords.items() if name != dim}
    contents = groups.pop(CONTENT, None)
    exact = {FIRST: groups.pop(FIRST)} if FIRST in groups else {}
    return Units(str(dim), elpd_i[dim].to_numpy(), contents if named else None, groups, exact)


def matched(one: str, mine: Units, other: str, theirs: Units) -> Positions:
    """Find the positions of the units of one model in another, (n_units,)."""
    if len(mine.labels) != len(theirs.labels):
        raise ValueError(
            f"{one!r} and {other!r} describe different {mine.dim}s: {one!r} has "
            f"{len(mine.labels)} and {other!r} has {len(theirs.labels)}. Fit both to the same data."
        )
    if mine.contents is None or theirs.contents is None:
        return _by_row(one, mine, other, theirs)
    order = _positions(*_keys(mine, theirs))
    if (order < 0).any():
        raise ValueError(
            f"{one!r} and {other!r} were fitted to different data: "
            f"{_difference(one, mine, other, theirs)}. Fit both to the same data."
        )
    return order


# By content


def _keys(mine: Units, theirs: Units) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the same number to units of both models if everything agrees."""
    assert mine.contents is not None
    assert theirs.contents is not None
    n = len(mine.labels)
    keys = pd.factorize(np.concatenate([mine.contents, theirs.contents]))[0]
    keys = _joint(keys, _shared(mine.labels, theirs.labels))
    for name in sorted(mine.exact.keys() & theirs.exact.keys()):
        both = np.concatenate([mine.exact[name], theirs.exact[name]])
        keys = _joint(keys, pd.factorize(both)[0])
    for group in sorted(mine.groups.keys() & theirs.groups.keys()):
        labels, others = mine.groups[group], theirs.groups[group]
        shared = _shared(labels, others)
        # groups with labels that are not shared are compared by their units
        sets = np.concatenate([_sets(keys[:n], labels), _sets(keys[n:], others)])
        keys = _joint(_joint(keys, shared), np.where(shared < 0, pd.factorize(sets)[0], -1))
    return keys[:n], keys[n:]


def _shared(labels: NDArray[Any], others: NDArray[Any]) -> NDArray[np.int64]:
    """Assign numbers to the labels that both models have; other labels get -1."""
    both = np.concatenate([labels.astype(object), others.astype(object)])
    if are_numbers(labels) or are_numbers(others):  # automatic labels
        return np.full(len(both), -1)
    return pd.Index(labels).intersection(pd.Index(others)).unique().get_indexer(both)


def _joint(one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.int64]:
    """Assign a number to each combination of two arrays."""
    return np.unique(np.stack([one, other]), axis=1, return_inverse=True)[1].ravel()


def _sets(keys: NDArray[Any], labels: NDArray[Any]) -> NDArray[Any]:
    """Name the group of each unit by the units in it; number groups with the same units."""
    codes = pd.factorize(labels)[0]
    n_sets = int(codes.max(initial=-1)) + 1
    held = pd.Series(joined(keys.astype(str).astype(object), codes, n_sets), dtype=object)
    return (held + " #" + held.groupby(held).cumcount().astype(str)).to_numpy()[codes]


def _positions(labels: NDArray[Any], others: NDArray[Any]) -> Positions:
    """Match labels, and repeated labels in order; labels without a match get -1."""
    one, other = (
        pd.MultiIndex.from_arrays([x, x.groupby(x).cumcount()])
        for x in (pd.Series(labels.tolist()), pd.Series(others.tolist()))
    )
    return other.get_indexer(one)


def _difference(one: str, mine: Units, other: str, theirs: Units) -> str:
    """Describe the first unit that one model has and the other lacks."""
    assert mine.contents is not None
    assert theirs.contents is not None
    missing = np.flatnonzero(_positions(mine.contents, theirs.contents) < 0)
    if not len(missing):
        names = sorted({*mine.groups, *mine.exact} & {*theirs.groups, *theirs.exact})
        return f"the {mine.dim}s are the same, but {' or '.join(['their labels', *names])} differ"
    k = int(missing[0])
    content = str(mine.contents[k])
    content = content if len(content) <= WIDTH else f"{content[:WIDTH]} ..."
    return f"{other!r} lacks {content}, {mine.dim} {spell_label(mine.labels[k])} of {one!r}"


# Row by row


def _by_row(one: str, mine: Units, other: str, theirs: Units) -> Positions:
    """Match units without known contents, by label or row by row."""
    order = _positions(mine.labels, theirs.labels)
    if (order < 0).any() and (are_numbers(mine.labels) or are_numbers(theirs.labels)):
        order = np.arange(len(mine.labels))
    pairs = [(a, b[order]) for a in mine.values for b in theirs.values]
    if (order < 0).any() or (pairs and not any(_equal(a, b) for a, b in pairs)):
        raise ValueError(
            f"{one!r} and {other!r} were fitted to different data: their observed values differ. "
            "Arrays are matched row by row, unless their dims have labels. Give them labels, "
            "such as dims=('ranking', 'item'), or the same order."
        )
    return order


def _values(kept: Kept) -> tuple[NDArray[Any], ...]:
    """Return the counts, or the ranks by slot and, if items are known, by item."""
    if COUNTS in kept:
        return (kept[COUNTS].to_numpy(),)
    if RANKS not in kept:
        return ()
    ranks = kept[RANKS].to_numpy()
    if ITEM not in kept:
        return (ranks,)
    item = kept[ITEM].to_numpy()
    n_items = int(item.max(initial=0)) + 1 if kept.items is None else len(kept.items)
    by_item = np.zeros((len(ranks), n_items), dtype=np.int64)
    row, slot = np.nonzero(ranks)
    by_item[row, item[row, slot]] = ranks[row, slot]
    return ranks, by_item


def _equal(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Return whether values are equal, apart from empty slots at the end."""
    width = min(one.shape[1], other.shape[1])
    rest = one[:, width:].any() or other[:, width:].any()
    return not rest and np.array_equal(one[:, :width], other[:, :width])
