"""Parameters by the names of their axes: which axes of the data each of them is along.

A parameter may have as many axes of the data as its family allows, in any order. A utility of
rankings may have the dims ``item``, ``slot``, ``ranking``, ``ranker`` and those of the groups of
the rankings, such as ``season``: ``("item",)`` is one utility for all rankings,
``("season", "item")`` is one for each season, and ``("ranking", "slot")`` gives one to every slot.

`by_axes` reads all of them. Names are those of a variable of the model, those of PyMC's variables
with dims (`pymc.dims`), or given by ``{parameter}_dims=``. A Series, a DataFrame, a DataArray or a
dict is aligned by its labels. Labels in another order are put in the order of the data, and labels
that differ are refused. A parameter without names is read by its shape, if there is only one way.
"""

import itertools
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import NDArray
from pytensor.tensor import TensorConstant, TensorVariable
from pytensor.xtensor.type import XTensorType

from bayesrank.data import Rankings
from bayesrank.data.read import coord_values, label_repr, quoted
from bayesrank.distributions.observed import as_double, is_labelled
from bayesrank.likelihoods.ops import every_row
from bayesrank.schema import ITEM, RANKER, are_numbers

__all__ = [
    "Axes",
    "Named",
    "by_axes",
    "by_items",
    "by_row",
    "dims_of",
    "flat_places",
    "has_dims",
    "in_rows",
    "in_slots",
    "labels_along",
    "rankings_axes",
    "utility_by_name",
]

RANKING, SLOT = "ranking", "slot"
Readings = Mapping[tuple[str, ...], str]
NONE: Mapping[Any, str] = MappingProxyType({})


class Named(NamedTuple):
    """A parameter, and the axes of the data that its own are along."""

    value: TensorVariable
    axes: tuple[str, ...]


class Axes(NamedTuple):
    """Axes of data that a parameter may be along."""

    noun: str  # what the data are called
    labels: Mapping[str, Any]  # of every axis, as models name them; of any labels how many, or None
    own: Mapping[str, str] = NONE  # axes by the dims of the variable
    otherwise: str = "Gather what it is of, or call its dim what it is."
    says: bool = False  # whether `{what}_dims` is an option
    first: Collection[str] = ()  # axes along which a parameter may have only the first labels
    rest: str | None = None  # the axis of dims that are no other one
    same: Mapping[str, str] = NONE  # axes with the same labels in the same places as another

    def said(self, what: str) -> str:
        """Give the other way out of a sentence."""
        return f", or say it by {what}_dims=" if self.says else ""

    def of(self, axis: str, length: int) -> Any:
        """Return the labels of an axis, or the first of them; None where they may be any."""
        labels = self.labels[axis]
        if labels is None or isinstance(labels, int):
            return None
        return labels[:length] if axis in self.first and length else labels

    def admits(self, axis: str, length: int) -> bool:
        """Tell whether a parameter may have this length along an axis."""
        labels = self.labels[axis]
        if labels is None or isinstance(labels, int):
            return labels in (None, length)
        return length > 0 and (
            length <= len(labels) if axis in self.first else length == len(labels)
        )


class _Dim(NamedTuple):
    """An axis of a parameter: what sentences call it, its name and its labels, if there are any."""

    called: str
    name: str | None
    labels: NDArray[Any] | None
    way: str  # how to say what it is along


def rankings_axes(
    rankings: Rankings,
    dims: Sequence[str] | None = None,
    labels: Mapping[str, Any] = NONE,
    *,
    says: bool = True,
    first: Collection[str] = (),
    rest: str | None = None,
) -> Axes:
    """Return the axes of rankings.

    Parameters
    ----------
    rankings : Rankings
        What is observed.
    dims : two str, optional
        Names of the axes of the variable, by default ranking and slot.
    labels : mapping
        Labels of other axes, such as stages.
    says, first, rest
        As of `Axes`.

    Returns
    -------
    Axes
    """
    names, coords = (ITEM, RANKING, RANKER, *rankings.groups, SLOT), rankings.coords
    alike = np.array_equal(rankings.ranker_idx, np.arange(rankings.n_rankings))
    alike = alike and np.array_equal(coords[RANKER], coords[RANKING])
    return Axes(
        "rankings",
        {axis: coords[axis] for axis in names} | dict(labels),
        dict(zip(dims, (RANKING, SLOT), strict=False)) if dims else {},
        otherwise="Say by Rankings.grouped what else they are grouped by"
        + (
            ", or gather it into the slots, and say {what}_dims=('ranking', 'slot')."
            if says
            else "."
        ),
        says=says,
        first=first,
        rest=rest,
        same={RANKER: RANKING} if alike else {},
    )


def by_row(rankings: Rankings, *more: str) -> dict[tuple[str, ...], str]:
    """Return the readings of a parameter without names by what rankings differ in.

    Parameters
    ----------
    rankings : Rankings
        What is observed.
    *more : str
        Axes that the parameter has as well.

    Returns
    -------
    dict
        By ranking, by each group, and by ranker unless rankers are rankings.
    """
    rows = [RANKING, *rankings.groups]
    if not np.array_equal(rankings.ranker_idx, np.arange(rankings.n_rankings)):
        rows.append(RANKER)
    return {(row, *more): f"one per {' and '.join((row, *more))}" for row in rows}


def utility_by_name(
    name: str,
    utility: Any,
    rankings: Rankings,
    *,
    utility_dims: Sequence[str] | str | None = None,
    dims: Sequence[str] | None = None,
    what: str = "utility",
) -> Named:
    """Read the axes of a utility, or of another parameter that has the same.

    Parameters
    ----------
    name : str
        Of the variable that observes the rankings.
    utility : tensor_like
        With dims of its own, or not.
    rankings : Rankings
        What is observed.
    utility_dims : str or sequence of str, optional
        Dims of the utility.
    dims : two str, optional
        What the axes of the rankings are called, by default ranking and slot.
    what : str
        What sentences call the parameter.

    Returns
    -------
    Named

    Raises
    ------
    ValueError
        As `by_axes`.
    """
    return by_axes(
        name,
        what,
        utility,
        {(ITEM,): "one per item", (RANKING, SLOT): "one per slot, best first"}
        | by_row(rankings, ITEM),
        rankings_axes(rankings, dims),
        also=(RANKING, RANKER, *rankings.groups, SLOT),
        named={(SLOT,): "one per slot"},
        said=utility_dims,
    )


def in_slots(utility: Named, codes: Mapping[str, TensorVariable]) -> TensorVariable:
    """Gather what every slot has of a utility.

    Parameters
    ----------
    utility : Named
        From `utility_by_name`.
    codes : mapping of str to TensorVariable
        The item of every slot, (n_rankings, n_slots), and of every ranking its ranker and groups.

    Returns
    -------
    TensorVariable, (n_rankings, n_slots)

    Examples
    --------
    >>> by_ranker = Named(pt.constant([[0.0, 1.0, 2.0], [5.0, 6.0, 7.0]]), ("ranker", "item"))
    >>> item, ranker = pt.constant([[2, 0], [1, 1], [0, 2]]), pt.constant([0, 1, 1])
    >>> in_slots(by_ranker, {"item": item, "ranker": ranker}).eval().tolist()
    [[2.0, 0.0], [6.0, 6.0], [5.0, 7.0]]
    """
    if utility.axes == (RANKING, SLOT):
        return utility.value
    item = codes[ITEM]
    index: dict[str, Any] = {}
    for place, axis in enumerate(utility.axes):
        if axis == RANKING:
            index[axis] = every_row(utility.value, item.shape[0], place)[:, None]
        elif axis == SLOT:
            index[axis] = every_row(utility.value, item.shape[1], place)[None, :]
        else:
            index[axis] = item if axis == ITEM else codes[axis][:, None]
    gathered = utility.value[tuple(index[axis] for axis in utility.axes)]
    return gathered if ITEM in utility.axes else pt.broadcast_to(gathered, item.shape)


def in_rows(x: Named, codes: Mapping[str, TensorVariable]) -> TensorVariable:
    """Gather what every ranking has of a parameter.

    Parameters
    ----------
    x : Named
        By what rankings differ in, if at all, and then by other axes.
    codes : mapping of str to TensorVariable
        Of every ranking its ranker and groups.

    Returns
    -------
    TensorVariable, (n_rankings, ...) or (...)
        Without a first axis where the parameter is the same for all rankings.

    Examples
    --------
    >>> alpha = Named(pt.constant([[1.0, 2.0], [3.0, 4.0]]), ("ranker", "stage"))
    >>> in_rows(alpha, {"ranker": pt.constant([1, 1, 0])}).eval().tolist()
    [[3.0, 4.0], [3.0, 4.0], [1.0, 2.0]]
    """
    rows = [axis for axis in x.axes if axis == RANKING or axis in codes]
    if rows in ([], [RANKING]):
        return x.value
    n = codes[RANKER].shape[0]
    return x.value[
        tuple(
            every_row(x.value, n, place) if axis == RANKING else codes[axis]
            for place, axis in enumerate(rows)
        )
    ]


def by_items(utility: Named) -> tuple[TensorVariable, tuple[str, ...]] | None:
    """Spread a utility along one axis of items, those of each group beside each other.

    Parameters
    ----------
    utility : Named
        From `utility_by_name`.

    Returns
    -------
    tuple of TensorVariable (n_groups * n_items,) and tuple of str, or None
        The utilities, and what the groups are, outermost first; None where every ranking or slot
        has utilities of its own.

    Examples
    --------
    >>> utility, groups = by_items(Named(pt.constant([[1, 2], [3, 4], [5, 6]]), ("item", "season")))
    >>> utility.eval().tolist(), groups
    ([1, 3, 5, 2, 4, 6], ('season',))
    """
    groups = tuple(axis for axis in utility.axes if axis != ITEM)
    if ITEM not in utility.axes or {RANKING, SLOT}.intersection(groups):
        return None
    order = [utility.axes.index(axis) for axis in (*groups, ITEM)]
    return utility.value.transpose(*order).ravel(), groups


def flat_places(codes: Sequence[Any], lengths: Sequence[int]) -> NDArray[np.int64]:
    """Positions in a flat array whose axes have these lengths, from the positions on each axis.

    Examples
    --------
    >>> flat_places([np.array([0, 2]), np.array([1, 3])], [3, 4]).tolist()
    [1, 11]
    """
    place = np.zeros((), dtype=np.int64)
    for code, length in zip(codes, lengths, strict=True):
        place = place * length + code
    return place


def has_dims(x: Any) -> bool:
    """Tell whether a parameter has names or labels for its axes."""
    return is_labelled(x) or dims_of(pm.modelcontext(None), x) is not None


def dims_of(model: pm.Model, x: Any, said: Any = None) -> tuple[str, ...] | None:
    """Find names of axes: said, of a variable with dims, or of one of the model; None without.

    Parameters
    ----------
    model : pm.Model
    x : tensor_like
    said : str or sequence of str, optional

    Returns
    -------
    tuple of str or None
    """
    dims = _some_dims_of(model, x, said)
    return None if dims is None or None in dims else tuple(map(str, dims))


def _some_dims_of(model: pm.Model, x: Any, said: Any) -> tuple[str | None, ...] | None:
    """Find names of axes; those of a variable of the model may have none for some of them."""
    if said is not None:
        return (said,) if isinstance(said, str) else tuple(said)
    if isinstance(getattr(x, "type", None), XTensorType):
        return tuple(x.type.dims)
    name = getattr(x, "name", None)
    if name is None or model.named_vars.get(name) is not x:
        return None
    dims = model.named_vars_to_dims.get(name)
    return None if dims is None or {*dims} == {None} else tuple(dims)


def by_axes(
    name: str,
    what: str,
    value: Any,
    readings: Readings,
    axes: Axes,
    *,
    also: Sequence[str] = (),
    named: Readings = NONE,
    said: Sequence[str] | str | None = None,
) -> Named:
    """Read which axes of the data a parameter is along: by its dims and labels, or by its shape.

    Parameters
    ----------
    name, what : str
        Of the variable that observes data, and of its parameter.
    value : tensor_like, Series, DataFrame, DataArray or dict
        The parameter, with dims of its own or not.
    readings : mapping of tuple of str to str
        Axes that it may be along, and what that means; those of names in any order.
    axes : Axes
        Of the data.
    also : sequence of str
        Axes, any of which a parameter with names may have beside those of a reading.
    named : mapping of tuple of str to str
        Further readings, which only a parameter with names may have.
    said : str or sequence of str, optional
        Names of its dims, as a user gives them.

    Returns
    -------
    Named
        Its labels are in the order of the data. Its axes are in the order of the reading, those of
        `also` before them in their order.

    Raises
    ------
    ValueError
        If it can be read in no way or in more than one, or if its labels are not those of the data.
    """
    x, dims = _read(name, what, value, said)
    shape = _shape(x)
    if dims is None:
        along = _by_shape(name, what, shape, readings, axes, also)
        _refuse_two_orders(name, what, along, axes)
        return Named(x, along)
    if len(dims) != len(shape):
        raise ValueError(
            f"The {what} of {name!r} {_has(what)} {len(shape)} axes, and "
            f"{what}_dims={tuple(dim.name for dim in dims)} names {len(dims)}."
        )
    ways = {**readings, **named}
    possible = {*itertools.chain(*ways), *also}
    found = [
        _axes_of(name, what, dim, length, axes, possible)
        for dim, length in zip(dims, shape, strict=True)
    ]
    own = _one_of(name, what, dims, found, axes)
    for reading in ways:
        beside = tuple(axis for axis in also if axis in own and axis not in reading)
        along = (*beside, *reading)
        if sorted(along) == sorted(own):
            break
    else:
        more = f", and by any of {', '.join(also)}" if also else ""
        raise ValueError(
            f"The {what} of {name!r} {_is(what)} by {' and '.join(own) or 'nothing'} of the "
            f"{axes.noun}; {_it_is(what)} {', or '.join(readings.values())}{more}."
        )
    for place, (dim, axis) in enumerate(zip(dims, own, strict=True)):
        x = _in_order(name, what, x, place, dim, axis, axes)
    if not _fits(shape, own, axes):
        raise ValueError(
            f"The {what} of {name!r} {_has(what)} shape {shape}; by {own} {_it_is(what)} "
            f"{_lengths(own, axes)} with these {axes.noun}."
        )
    return Named(x if along == own else x.transpose(*(own.index(axis) for axis in along)), along)


def labels_along(
    name: str, what: str, value: Any, axes: Axes, axis: str
) -> tuple[str | None, Any] | None:
    """Return the name and the labels that an axis has in a parameter, if it has names or labels."""
    x, dims = _read(name, what, value, None)
    for dim, length in zip(dims or (), _shape(x), strict=False):
        if _axes_of(name, what, dim, length, axes, {axis}) == [axis]:
            return dim.name, dim.labels
    return None


def _read(
    name: str, what: str, value: Any, said: Sequence[str] | str | None
) -> tuple[TensorVariable, list[_Dim] | None]:
    """Return a parameter as a tensor, and its axes, or None if they have no names or labels."""
    model = pm.modelcontext(None)
    called = f"of the {what} of {name!r}"
    dims: list[tuple[str, Any, Any, str]]
    if not is_labelled(value):
        names, x = _some_dims_of(model, value, said), as_double(value)
        if names is None:
            return x, None
        dims = [(f"dim {dim!r}", dim, model.coords.get(dim) if dim else None, "") for dim in names]
    else:
        if isinstance(value, xr.DataArray):
            dims = [
                (f"dim {dim!r}", dim, value.coords.get(dim), "Rename it to what it is.")
                for dim in value.dims
            ]
            value = value.to_numpy()
        elif isinstance(value, Mapping):
            value, labels = _of_mapping(called, value)
            way = "Give a Series or a DataFrame with a named index instead."
            dims = [("keys", None, each, way) for each in labels]
        else:
            both = ("index", "columns")[: value.ndim]
            indices = [getattr(value, each) for each in both]
            dims = [
                (each, index.name, index, f"Name it, such as rename_axis({each}='item').")
                for each, index in zip(both, indices, strict=True)
            ]
            if any(isinstance(index, pd.MultiIndex) for index in indices):
                raise ValueError(
                    f"The index {called} has more than one level: give a DataFrame by unstack(), "
                    "or a DataArray by to_xarray()."
                )
            value = value.to_numpy()
        try:
            x = as_double(value)
        except (TypeError, ValueError) as error:
            raise TypeError(f"The values {called} are no numbers: {error}") from error
        if said is not None:
            names = dims_of(model, None, said) or ()
            if len(names) == len(dims):
                dims = [(c, dim, *more) for dim, (c, _, *more) in zip(names, dims, strict=True)]
            else:
                dims = [("", dim, None, "") for dim in names]
    return x, [
        _Dim(
            f"{each} {called}",
            dim if isinstance(dim, str) else None,
            None if labels is None else _as_labels(labels),
            way,
        )
        for each, dim, labels, way in dims
    ]


def _of_mapping(called: str, value: Mapping[Any, Any]) -> tuple[list[Any], list[list[Any]]]:
    """Return the values of a dict by label, or of one of dicts, and the labels of its axes."""
    outer, values = list(value), list(value.values())
    if not any(isinstance(each, Mapping) for each in values):
        return values, [outer]
    inner = list(values[0]) if isinstance(values[0], Mapping) else []
    for label, each in zip(outer, values, strict=True):
        if not isinstance(each, Mapping) or set(each) != set(inner):
            raise ValueError(
                f"The dict {called} has other keys at {label_repr(label)} than at "
                f"{label_repr(outer[0])}: give every one the same keys."
            )
    return [[each[label] for label in inner] for each in values], [outer, inner]


def _as_labels(labels: Any) -> NDArray[Any]:
    """Return labels as models name those of data."""
    listed = labels.to_numpy() if hasattr(labels, "to_numpy") else labels
    return coord_values(pd.Index(list(listed), tupleize_cols=False))


def _axes_of(
    name: str, what: str, dim: _Dim, length: int, axes: Axes, possible: Collection[str]
) -> list[str]:
    """List the axes of the data that a dim may be along: by its name, or else by its labels."""
    if dim.name is not None:
        if dim.name in axes.own:
            return [axes.own[dim.name]]
        if dim.name in axes.labels and dim.name not in axes.own.values():
            return [dim.name]
    elif dim.labels is None:
        return [axis for axis in axes.labels if axis in possible and axes.admits(axis, length)]
    if dim.labels is None:
        if axes.rest is not None:
            return [axes.rest]
        raise ValueError(
            f"The {what} of {name!r} {_has(what)} the {dim.called.split(' of the ')[0]}, which has "
            f"no labels and is none of {[*axes.labels, *axes.own]}: call it what it is"
            f"{axes.said(what)}."
        )
    # numbers of places say nothing where any other name is that of one axis
    told = [
        axis
        for axis, labels in axes.labels.items()
        if axis not in (SLOT, axes.rest) and not (axes.rest and are_numbers(np.asarray(labels)))
    ]
    same = [axis for axis in told if _order(dim.labels, axes.of(axis, length)) is not None]
    same = [axis for axis in same if axes.same.get(axis) not in same]
    same = [axis for axis in same if axis in possible] or same
    if axes.rest and axes.rest in possible and same and not {*same} - {*axes.first}:
        same.append(axes.rest)  # numbers may be of either
    if same:
        return same
    shared = {
        axis: len(_shared(dim.labels, axes.labels[axis])) for axis in told if axis in possible
    }
    nearest = max(shared, key=shared.__getitem__, default="")
    if shared.get(nearest) and (axes.rest is None or axes.admits(nearest, length)):
        return [nearest]
    if axes.rest is not None:
        return [axes.rest]
    raise ValueError(
        f"The labels of the {dim.called} ({quoted(dim.labels)}) are those of no axis of the "
        f"{axes.noun}: {[*axes.labels]}. {axes.otherwise.format(what=what)}"
    )


def _one_of(
    name: str, what: str, dims: Sequence[_Dim], found: Sequence[list[str]], axes: Axes
) -> tuple[str, ...]:
    """Return the axis of every dim, if the names and labels allow one way only."""
    assigned = [each for each in itertools.product(*found) if len({*each}) == len(each)]
    if len(assigned) == 1:
        return assigned[0]
    if not assigned:
        twice = next(axis for axis in itertools.chain(*found) if sum(axis in f for f in found) > 1)
        raise ValueError(
            f"Two dims of the {what} of {name!r}, which {_has(what)} "
            f"{tuple(dim.name for dim in dims)}, are of the {twice}s."
        )
    place = next(place for place, each in enumerate(found) if len(each) > 1)
    way = dims[place].way or f"Call it what it is{axes.said(what)}."
    raise ValueError(
        f"The labels of the {dims[place].called} are those of more than one axis of the "
        f"{axes.noun}: {found[place]}. {way}"
    )


def _in_order(
    name: str, what: str, x: TensorVariable, place: int, dim: _Dim, axis: str, axes: Axes
) -> TensorVariable:
    """Put one axis of a parameter in the order of the labels of the data."""
    length = 0 if dim.labels is None else len(dim.labels)
    wanted = axes.of(axis, length)
    if dim.labels is None or wanted is None:
        return x
    order = _order(dim.labels, wanted)
    if order is None and axis in axes.first:
        order = _order(dim.labels, np.arange(length))  # counted from 0
    if order is None:
        raise ValueError(
            f"The labels of the {dim.called} are not those of the axis {axis!r} of the "
            f"{axes.noun}: {_difference(dim.labels, wanted)}. Give one value for each label."
        )
    if np.array_equal(order, np.arange(length)):
        return x
    if isinstance(x, TensorConstant):
        return pt.constant(np.take(x.data, order, axis=place))
    return x[(slice(None),) * place + (order,)]


def _order(labels: NDArray[Any], wanted: Any) -> NDArray[Any] | None:
    """Find the place of every wanted label; None if the labels are not the same."""
    if wanted is None or len(labels) != len(wanted):
        return None
    own = pd.Index(labels)
    if not own.is_unique:
        return None
    places = own.get_indexer(pd.Index(wanted))
    return None if (places < 0).any() else places


def _shared(labels: NDArray[Any], wanted: Any) -> NDArray[Any]:
    return labels[pd.Index(labels).isin(pd.Index(wanted))]


def _difference(labels: NDArray[Any], wanted: Any) -> str:
    """Say how labels differ from those that are wanted."""
    own, other = pd.Index(labels), pd.Index(wanted)
    differences = {
        "twice": own[own.duplicated()],
        "missing": other[~other.isin(own)],
        "unknown": own[~own.isin(other)],
    }
    return "; ".join(
        f"{what}: {quoted(found)}" for what, found in differences.items() if len(found)
    )


def _by_shape(
    name: str,
    what: str,
    shape: tuple[int, ...],
    readings: Readings,
    axes: Axes,
    also: Sequence[str],
) -> tuple[str, ...]:
    """Read axes from lengths, where there is one way to do so."""
    fitting = [reading for reading in readings if _fits(shape, reading, axes)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        by = [f" ({what}_dims={reading})" if axes.says else "" for reading in fitting]
        ways = ", or ".join(
            readings[reading] + each for reading, each in zip(fitting, by, strict=True)
        )
        raise ValueError(
            f"The {what} of {name!r} {_has(what)} shape {shape} and no names for its axes: it "
            f"could be {ways}. Say which, or give a variable of the model with dims."
        )
    ways = ", or ".join(
        f"{meaning}, shape {_lengths(reading, axes)}" for reading, meaning in readings.items()
    )
    more = (
        f" By any of {', '.join(also)}, too, if it is a variable of the model with dims, such as a "
        "pm.Deterministic."
        if also
        else ""
    )
    raise ValueError(
        f"{f'The {what}' if ' ' in what else f'`{what}`'} of {name!r} {_has(what)} shape {shape}; "
        f"with these {axes.noun} {_it_is(what)} {ways}.{more}"
    )


def _refuse_two_orders(name: str, what: str, along: Sequence[str], axes: Axes) -> None:
    """Raise where values without names may be in the order of the data or of the model's coords."""
    coords = pm.modelcontext(None).coords
    for axis in along:
        labels, present = axes.labels[axis], coords.get(axis)
        if labels is None or isinstance(labels, int) or present is None:
            continue
        if not np.array_equal(present, labels) and {*present} == {*labels}:
            raise ValueError(
                f"The {what} of {name!r} {_has(what)} no names for its axes, and the model's coord "
                f"{axis!r} has the labels of the {axes.noun} in another order. Give it dims, such "
                f"as by pm.Deterministic{axes.said(what)}. Or put the data in the order of the "
                f"model: data.reindex({{{axis!r}: model.coords[{axis!r}]}})."
            )


def _fits(shape: tuple[int, ...], along: Sequence[str], axes: Axes) -> bool:
    """Whether a shape is one along these axes."""
    return len(shape) == len(along) and all(map(axes.admits, along, shape))


def _has(what: str) -> str:
    return "have" if what.endswith("weights") else "has"


def _is(what: str) -> str:
    return "are" if what.endswith("weights") else "is"


def _it_is(what: str) -> str:
    return "they are" if what.endswith("weights") else "it is"


def _lengths(along: Sequence[str], axes: Axes) -> str:
    """Write a shape along axes."""
    known = [axes.labels[axis] for axis in along]
    each = [
        labels
        if isinstance(labels, int)
        else "any"
        if labels is None
        else f"1 to {len(labels)}"
        if axis in axes.first
        else len(labels)
        for axis, labels in zip(along, known, strict=True)
    ]
    return f"({', '.join(map(str, each))}{',' if len(each) == 1 else ''})"


def _shape(x: TensorVariable) -> tuple[int, ...]:
    return tuple(
        int(length.eval(mode="FAST_COMPILE")) if known is None else known
        for known, length in zip(x.type.shape, tuple(x.shape), strict=True)
    )
