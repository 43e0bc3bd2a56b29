"""Whether two models were fitted to the same data, in whatever order these stand.

What a model observed are *units*: rankings, pairs or rankers, or what is left out together, such as
all rankings of a ranker. They are matched by their labels. Where labels are numbers that nobody
gave, or differ, they are matched by content: the labels of the items and the blocks in which they
stand, the groups that units are in, and their weights; labels of groups that are numbers, or
differ, stand for the units that are in them. Arrays have no labels, and are matched row by row.
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
    label_text,
)

__all__ = ["Units", "has_items", "matched", "units_of", "units_of_result"]

SHOWN = 3  # labels in a sentence
WIDTH = 60  # characters of a content in a sentence
SAME = 1e-9  # relative difference of what is computed from the same data

Ints = NDArray[np.intp]


class Units(NamedTuple):
    """What a model observed and predicts one by one."""

    dim: str
    labels: NDArray[Any]
    contents: NDArray[Any] | None = None  # in words, if their items are known
    groups: dict[str, NDArray[Any]] = {}  # noqa: RUF012  (the label of each unit)
    numbers: NDArray[np.float64] | None = None
    arrays: tuple[NDArray[Any], ...] = ()  # the values, in ways in which an array may say the same


def has_items(tree: xr.DataTree, var: str) -> bool:
    """Whether results tell the labels of the items, or nothing of the items at all."""
    kept = Kept(tree, var)
    return kept.items is not None or kept.contents() is None


def units_of(tree: xr.DataTree, var: str, *, named: bool, group: str | None = None) -> Units:
    """Read from results what was observed.

    Parameters
    ----------
    tree : DataTree
        With the group constant_data.
    var : str
        The observed variable.
    named : bool
        Whether items have labels; else they are numbers.
    group : str, optional
        What is left out together.

    Returns
    -------
    Units
    """
    kept = Kept(tree, var)
    if "log_likelihood" in tree.children:
        each = pointwise_log_likelihood(tree, var)
        each = each[observed_dim(each, var)]
    else:  # of a baseline
        each = kept.rows()
    dim, labels = str(each.name), each.to_numpy()
    contents = kept.contents(kept.items if named else None)
    of_groups = [name for name, axis in kept.groups.items() if axis == dim]
    rows = str(kept[of_groups[0]].dims[0]) if of_groups else dim
    if rows != dim:  # in a mixture, all rankings of a ranker have one log-likelihood
        group = group or of_groups[0]
    codes = {name: kept.codes(name) for name in kept.groups if kept[name].dims == (rows,)}
    if group in codes:
        present, unit = np.unique(codes[group], return_inverse=True)
        if contents is not None:
            contents = joined(contents, unit, len(present))
        return Units(group, kept.labels(group)[present], contents)
    groups = {name: kept.labels(name)[each] for name, each in codes.items()}
    if FIRST in kept:  # who has the advantage of being the first
        items = kept.items if named else None
        first = kept[FIRST].to_numpy()
        groups[FIRST] = first if items is None else items.to_numpy()[first]
    numbers = kept[AT_RANDOM].to_numpy() if AT_RANDOM in kept else None
    return Units(dim, labels, contents, groups, numbers, _arrays(kept))


def units_of_result(elpd_i: xr.DataArray, *, named: bool) -> Units:
    """Read what `bayesrank.kfold` wrote beside its predictions.

    Parameters
    ----------
    elpd_i : DataArray
        One number of each unit.
    named : bool
        Whether contents have labels of items in the other models; else they are not compared.

    Returns
    -------
    Units
    """
    (dim,) = elpd_i.dims
    beside = {str(name): x.to_numpy() for name, x in elpd_i.coords.items() if name != dim}
    contents = beside.pop(CONTENT, None)
    return Units(str(dim), elpd_i[dim].to_numpy(), contents if named else None, beside)


def matched(one: str, mine: Units, other: str, theirs: Units) -> Ints:
    """Find where the units of one model stand in another.

    Parameters
    ----------
    one, other : str
        Names of the models.
    mine, theirs : Units
        What they observed.

    Returns
    -------
    array of int
        Positions in the other, as many as there are units.

    Raises
    ------
    ValueError
        If one of them has what the other lacks, or what one label stands for differs.
    """
    by_label = _by_label(mine.labels, theirs.labels)
    if mine.contents is None or theirs.contents is None:
        return _unread(one, mine, other, theirs, by_label)
    complete = (by_label >= 0).all() and len(mine.labels) == len(theirs.labels)
    if complete and _difference(mine, theirs, by_label) is None:
        return by_label
    order = _by_content(mine, theirs)
    if order is None:
        raise ValueError(_refusal(one, mine, other, theirs, by_label))
    _check_numbers(one, mine, other, theirs, order)
    return order


# ---------------------------------------------------------------------------------------------
# By label, by content, row by row
# ---------------------------------------------------------------------------------------------


def _by_label(labels: NDArray[Any], others: NDArray[Any]) -> Ints:
    """Match labels, in order where one stands there twice; -1 of what there is no other of."""
    return _numbered(others).get_indexer(_numbered(labels))


def _by_content(mine: Units, theirs: Units) -> Ints | None:
    """Match units by what they hold, and by labels that both have; None if that cannot be."""
    n = len(mine.labels)
    if n != len(theirs.labels):
        return None
    assert mine.contents is not None
    assert theirs.contents is not None
    keys = pd.factorize(np.concatenate([mine.contents, theirs.contents]))[0]
    keys = _joint(keys, _shared(mine.labels, theirs.labels))
    for group in _common(mine, theirs):
        one, other = mine.groups[group], theirs.groups[group]
        shared = _shared(one, other, are_items=group == FIRST)
        # labels that are not shared stand for the units that are in them
        sets = np.concatenate([_sets(keys[:n], one), _sets(keys[n:], other)])
        sets = np.where(shared < 0, pd.factorize(sets)[0], -1)
        keys = _joint(_joint(keys, shared), sets)
    order = _by_label(keys[:n], keys[n:])
    return order if (order >= 0).all() else None


def _common(mine: Units, theirs: Units) -> list[str]:
    """List the groups that units of both are in."""
    return sorted(mine.groups.keys() & theirs.groups.keys())


def _shared(
    labels: NDArray[Any], others: NDArray[Any], *, are_items: bool = False
) -> NDArray[np.int64]:
    """Give numbers to labels that both have, one after the other; -1 where they mean nothing."""
    both = np.concatenate([labels.astype(object), others.astype(object)])
    if not are_items and (are_numbers(labels) or are_numbers(others)):
        return np.full(len(both), -1)
    known = pd.Index(labels).intersection(pd.Index(others))
    return known.unique().get_indexer(both)


def _joint(one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.int64]:
    """Give a number to each combination of two."""
    return np.unique(np.stack([one, other]), axis=1, return_inverse=True)[1].ravel()


def _sets(keys: NDArray[Any], labels: NDArray[Any]) -> NDArray[Any]:
    """Name the set of a unit by what is in it; of sets alike, by which of them comes first."""
    codes = pd.factorize(labels)[0]
    n_sets = int(codes.max(initial=-1)) + 1
    held = pd.Series(joined(keys.astype(str).astype(object), codes, n_sets), dtype=object)
    return (held + " #" + held.groupby(held).cumcount().astype(str)).to_numpy()[codes]


def _unread(one: str, mine: Units, other: str, theirs: Units, by_label: Ints) -> Ints:
    """Match units of which one does not tell what they hold: by label, or row by row."""
    n = len(mine.labels)
    if n == len(theirs.labels) and (are_numbers(mine.labels) or are_numbers(theirs.labels)):
        by_label = np.arange(n) if (by_label < 0).any() else by_label
    if (by_label < 0).any() or n != len(theirs.labels):
        raise ValueError(_refusal(one, mine, other, theirs, by_label))
    if mine.arrays and theirs.arrays:
        unequal = [
            a.shape != b.shape or (a != b).any()
            for x in mine.arrays
            for y in theirs.arrays
            for a, b in [_padded(x, y[by_label])]
        ]
        if all(unequal):
            raise ValueError(
                f"{one!r} and {other!r} were fitted to different data: the values that they "
                "observe are not the same. Arrays are matched row by row, in order, unless their "
                "dims have labels, such as dims=('ranking', 'item')."
            )
    return by_label


def _arrays(kept: Kept) -> tuple[NDArray[Any], ...]:
    """Values as they stand, and of rankings those in the order of the items."""
    if COUNTS in kept:
        return (kept[COUNTS].to_numpy(),)
    if RANKS not in kept:
        return ()
    ranks = kept[RANKS].to_numpy()
    if ITEM not in kept:
        return (ranks,)
    item, items = kept[ITEM].to_numpy(), kept.items
    by_item = np.zeros((len(item), int(item.max(initial=0)) + 1 if items is None else len(items)))
    row, slot = np.nonzero(ranks)
    by_item[row, item[row, slot]] = ranks[row, slot]
    return ranks, by_item


# ---------------------------------------------------------------------------------------------
# What differs
# ---------------------------------------------------------------------------------------------


def _difference(mine: Units, theirs: Units, order: Ints) -> tuple[int, str, str] | None:
    """Find the first unit that differs, and what it is in the one and in the other."""
    assert mine.contents is not None
    assert theirs.contents is not None
    one, other = mine.contents, theirs.contents[order]
    if len(rows := np.flatnonzero(one != other)):
        return int(rows[0]), _cut(one[rows[0]]), _cut(other[rows[0]])
    for group in _common(mine, theirs):
        one, other = mine.groups[group].astype(object), theirs.groups[group][order].astype(object)
        if len(rows := np.flatnonzero(one != other)):
            here, there = (f"of {group} {label_text(each[rows[0]])}" for each in (one, other))
            return int(rows[0]), here, there
    if (row := _unequal_number(mine, theirs, order)) is not None:
        return row, "of some counts", "of others, with the same net counts,"
    return None


def _unequal_number(mine: Units, theirs: Units, order: Ints) -> int | None:
    if mine.numbers is None or theirs.numbers is None:
        return None
    differs = ~np.isclose(mine.numbers, theirs.numbers[order], rtol=SAME, atol=0.0)
    return int(differs.argmax()) if differs.any() else None


def _check_numbers(one: str, mine: Units, other: str, theirs: Units, order: Ints) -> None:
    """Raise where net counts are the same, and the counts behind them are not."""
    if (row := _unequal_number(mine, theirs, order)) is not None:
        raise ValueError(
            f"{one!r} and {other!r} were fitted to different data: their counts of {mine.dim} "
            f"{label_text(mine.labels[row])} differ. Fit both to the same."
        )


def _refusal(one: str, mine: Units, other: str, theirs: Units, by_label: Ints) -> str:
    """Say which labels are missing, or what the first unit is that differs."""
    missing, extra = by_label < 0, _by_label(theirs.labels, mine.labels) < 0
    unnamed = are_numbers(mine.labels) or are_numbers(theirs.labels)
    if len(missing) != len(extra) or (not unnamed and (missing.any() or extra.any())):
        parts = [
            f"{x!r} has {len(units.labels)}"
            + (f", of which {y!r} lacks {no.sum()} ({_some(units.labels[no])})" if no.any() else "")
            for x, units, y, no in ((one, mine, other, missing), (other, theirs, one, extra))
        ]
        what = f"describe different {mine.dim}s: {'; '.join(parts)}"
    elif unnamed:
        what = f"were fitted to different data: {_lacking(one, mine, other, theirs)}"
    else:
        row, here, there = _difference(mine, theirs, by_label) or (0, "", "")
        label = label_text(mine.labels[row])
        what = (
            f"were fitted to different data: {mine.dim} {label} is {here} in the one and {there} "
            "in the other"
        )
    return f"{one!r} and {other!r} {what}. Fit both to the same."


def _lacking(one: str, mine: Units, other: str, theirs: Units) -> str:
    """Say what one of two has that the other lacks, where labels do not tell."""
    assert mine.contents is not None
    assert theirs.contents is not None
    lacks = np.flatnonzero(_by_label(mine.contents, theirs.contents) < 0)
    if len(lacks):
        label, content = label_text(mine.labels[lacks[0]]), _cut(mine.contents[lacks[0]])
        return f"{other!r} lacks {content}, {mine.dim} {label} of {one!r}"
    common = _common(mine, theirs)
    alone = [mine._replace(groups={group: mine.groups[group]}) for group in common]
    apart = [x for x, y in zip(common, alone, strict=True) if _by_content(y, theirs) is None]
    return f"the {mine.dim}s are the same, but {' or '.join(apart or common)} differs"


def _padded(a: NDArray[Any], b: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Add empty slots where one has fewer."""
    width = max(a.shape[1], b.shape[1])
    a, b = (np.pad(x, ((0, 0), (0, width - x.shape[1]))) for x in (a, b))
    return a, b


def _numbered(labels: NDArray[Any]) -> pd.Index:
    """Labels, and which of those of the same name each is."""
    series = pd.Series(labels.tolist())
    return pd.MultiIndex.from_arrays([series, series.groupby(series).cumcount()])


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH else f"{text[:WIDTH]} ..."


def _some(labels: NDArray[Any]) -> str:
    first = ", ".join(label_text(label) for label in labels[:SHOWN])
    return first + (", ..." if len(labels) > SHOWN else "")
