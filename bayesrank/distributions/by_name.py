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
Readings = Mapping[tuple[str, ...], str]  # axes, and what they mean
EMPTY: Mapping[Any, str] = MappingProxyType({})

BY_GROUP = "Say by Rankings.grouped what else they are grouped by."
BY_SLOT = (
    "Say by Rankings.grouped what else they are grouped by, or gather it into the slots, and say "
    "{what}_dims=('ranking', 'slot')."
)


class Named(NamedTuple):
    """A parameter, and the axes of the data that its own are along."""

    value: TensorVariable
    axes: tuple[str, ...]


class Axes(NamedTuple):
    """Axes of data that a parameter may be along."""

    noun: str  # what the data are called
    labels: Mapping[str, Any]  # of every axis; a number or None where labels may be any
    own: Mapping[str, str] = EMPTY  # axes by the dims of the variable
    otherwise: str = "Gather what it is of, or call its dim what it is."
    says: bool = False  # whether `{what}_dims` is an option
    first: Collection[str] = ()  # axes along which a parameter may have only the first labels
    rest: str | None = None  # the axis of dims that belong to no other axis
    same: Mapping[str, str] = EMPTY  # axes with the same labels in the same places as another

    def known(self, axis: str) -> Any:
        """Return the labels of an axis, None where they may be any."""
        labels = self.labels[axis]
        return None if isinstance(labels, int) else labels

    def first_of(self, axis: str, length: int) -> Any:
        """Return the labels of an axis, or the first of them where those are enough."""
        labels = self.known(axis)
        return labels[:length] if labels is not None and axis in self.first and length else labels

    def admits(self, axis: str, length: int) -> bool:
        """Tell whether a parameter may have this length along an axis."""
        labels = self.labels[axis]
        if labels is None or isinstance(labels, int):
            return labels in (None, length)
        return 0 < length <= len(labels) and (axis in self.first or length == len(labels))

    def fit(self, shape: Sequence[int], along: Sequence[str]) -> bool:
        """Tell whether a shape is one along these axes."""
        return len(shape) == len(along) and all(map(self.admits, along, shape))

    def shape(self, along: Sequence[str]) -> str:
        """Write the shape along axes."""
        lengths = [self._length(axis) for axis in along]
        return f"({lengths[0]},)" if len(lengths) == 1 else f"({', '.join(lengths)})"

    def _length(self, axis: str) -> str:
        labels = self.labels[axis]
        if labels is None:
            return "any"
        if isinstance(labels, int):
            return str(labels)
        return f"1 to {len(labels)}" if axis in self.first else str(len(labels))


def rankings_axes(
    rankings: Rankings,
    dims: Sequence[str] | None = None,
    labels: Mapping[str, Any] = EMPTY,
    *,
    says: bool = True,
    first: Collection[str] = (),
    rest: str | None = None,
) -> Axes:
    """Return the axes of rankings: items, rankings, rankers, groups, slots and further `labels`.

    `dims` are the names of the axes of the variable, by default ranking and slot; `says`, `first`
    and `rest` are those of `Axes`.
    """
    names, coords = (ITEM, RANKING, RANKER, *rankings.groups, SLOT), rankings.coords
    alike = not _rank_often(rankings) and np.array_equal(coords[RANKER], coords[RANKING])
    return Axes(
        "rankings",
        {axis: coords[axis] for axis in names} | dict(labels),
        dict(zip(dims, (RANKING, SLOT), strict=False)) if dims else {},
        BY_SLOT if says else BY_GROUP,
        says=says,
        first=first,
        rest=rest,
        same={RANKER: RANKING} if alike else {},
    )


def _rank_often(rankings: Rankings) -> bool:
    """Tell whether rankers are something else than rankings."""
    return not np.array_equal(rankings.ranker_idx, np.arange(rankings.n_rankings))


def by_row(rankings: Rankings, *more: str) -> dict[tuple[str, ...], str]:
    """Return the readings of a parameter without names: by ranking, by each group and by ranker.

    The parameter may have `more` axes. Rankers who are rankings are left out.
    """
    rows = [RANKING, *rankings.groups, *([RANKER] if _rank_often(rankings) else [])]
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
    """Read the axes of a utility, or of another parameter (`what`) that has the same axes.

    `name` is the variable that observes the rankings, `utility_dims` are dims that a user gave,
    and `dims` the names of the axes of the rankings. Raises as `by_axes`.
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
    """Gather the utility of every slot, (n_rankings, n_slots).

    `codes` are the item of every slot, (n_rankings, n_slots), and of every ranking its ranker and
    groups.

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
    """Gather the value of a parameter at every ranking, (n_rankings, ...).

    Its first axes are those by which rankings differ; `codes` are the ranker and groups of every
    ranking. Without such axes the parameter is returned as it is.

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
    """Spread a utility along one axis, all items of every group, and name the groups.

    None where every ranking or slot has utilities of its own.

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
    """Return names of all axes: said, or those of a variable with dims; None without."""
    dims = _some_dims_of(model, x, said)
    return None if dims is None or None in dims else tuple(map(str, dims))


def _some_dims_of(model: pm.Model, x: Any, said: Any) -> tuple[str | None, ...] | None:
    """Return names of axes, None for those of a variable of the model that have none."""
    if said is not None:
        return (said,) if isinstance(said, str) else tuple(said)
    if isinstance(getattr(x, "type", None), XTensorType):
        return tuple(x.type.dims)
    name = getattr(x, "name", None)
    if name is None or model.named_vars.get(name) is not x:
        return None
    dims = model.named_vars_to_dims.get(name)
    return None if dims is None or {*dims} == {None} else tuple(dims)


# ---------------------------------------------------------------------------------------------
# Values and labels of a parameter
# ---------------------------------------------------------------------------------------------


class _Dim(NamedTuple):
    """An axis of a parameter."""

    called: str  # in sentences, such as "index"
    name: str | None
    labels: NDArray[Any] | None
    way: str = ""  # how to say what it is along


def _dim(called: str, name: Any, labels: Any, way: str = "") -> _Dim:
    """Return an axis, with labels as models name those of data."""
    if labels is not None:
        listed = labels.to_numpy() if hasattr(labels, "to_numpy") else labels
        labels = coord_values(pd.Index(list(listed), tupleize_cols=False))
    return _Dim(called, name if isinstance(name, str) else None, labels, way)


def _of_array(value: xr.DataArray) -> tuple[Any, list[_Dim]]:
    """Return the values and axes of a DataArray."""
    way = "Rename it to what it is."
    dims = [_dim(f"dim {dim!r}", dim, value.coords.get(dim), way) for dim in value.dims]
    return value.to_numpy(), dims


def _of_table(whose: str, value: pd.Series | pd.DataFrame) -> tuple[Any, list[_Dim]]:
    """Return the values and axes of a Series or DataFrame."""
    dims = []
    for axis in ("index", "columns")[: value.ndim]:
        index = getattr(value, axis)
        if isinstance(index, pd.MultiIndex):
            raise ValueError(
                f"The index {whose} has more than one level: give a DataFrame by unstack(), "
                "or a DataArray by to_xarray()."
            )
        dims.append(_dim(axis, index.name, index, f"Name it, such as rename_axis({axis}='item')."))
    return value.to_numpy(), dims


def _of_mapping(whose: str, value: Mapping[Any, Any]) -> tuple[Any, list[_Dim]]:
    """Return the values and axes of a dict by label, or of a dict of dicts."""
    way = "Give a Series or a DataFrame with a named index instead."
    outer, values = list(value), list(value.values())
    if not any(isinstance(row, Mapping) for row in values):
        return values, [_dim("keys", None, outer, way)]
    inner = list(values[0]) if isinstance(values[0], Mapping) else []
    for label, row in zip(outer, values, strict=True):
        if not isinstance(row, Mapping) or set(row) != set(inner):
            raise ValueError(
                f"The dict {whose} has other keys at {label_repr(label)} than at "
                f"{label_repr(outer[0])}: give every one the same keys."
            )
    table = [[row[label] for label in inner] for row in values]
    return table, [_dim("keys", None, labels, way) for labels in (outer, inner)]


# ---------------------------------------------------------------------------------------------
# The axes of a parameter
# ---------------------------------------------------------------------------------------------


def by_axes(
    name: str,
    what: str,
    value: Any,
    readings: Readings,
    axes: Axes,
    *,
    also: Sequence[str] = (),
    named: Readings = EMPTY,
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
    return _Reader(name, what, axes).named(value, said, readings, also, named)


def labels_along(
    name: str, what: str, value: Any, axes: Axes, axis: str
) -> tuple[str | None, Any] | None:
    """Return the name and the labels that an axis has in a parameter, if it has names or labels."""
    reader = _Reader(name, what, axes)
    x, dims = reader.values(value, None)
    for dim, length in zip(dims or (), _shape(x), strict=False):
        if reader.possible_axes(dim, length, {axis}) == [axis]:
            return dim.name, dim.labels
    return None


class _Reader:
    """Reads one parameter, and says in full sentences what cannot be read."""

    def __init__(self, name: str, what: str, axes: Axes) -> None:
        self.name, self.what, self.axes = name, what, axes
        self.subject, self.whose = f"The {what} of {name!r}", f"of the {what} of {name!r}"
        plural = what.endswith("weights")
        self.has, self.is_, self.it_is = (
            ("have", "are", "they are") if plural else ("has", "is", "it is")
        )
        self.or_say = f", or say it by {what}_dims=" if axes.says else ""

    def named(
        self, value: Any, said: Any, readings: Readings, also: Sequence[str], named: Readings
    ) -> Named:
        """Return the parameter and its axes."""
        x, dims = self.values(value, said)
        shape = _shape(x)
        if dims is None:
            along = self._by_shape(shape, readings, also)
            self._refuse_two_orders(along)
            return Named(x, along)
        if len(dims) != len(shape):
            raise ValueError(
                f"{self.subject} {self.has} {len(shape)} axes, and "
                f"{self.what}_dims={tuple(dim.name for dim in dims)} names {len(dims)}."
            )
        possible = {*itertools.chain(*readings, *named), *also}
        found = [
            self.possible_axes(dim, length, possible)
            for dim, length in zip(dims, shape, strict=True)
        ]
        own = self._one_way(dims, found)
        along = self._reading_of(own, readings, also, named)
        for place, (dim, axis) in enumerate(zip(dims, own, strict=True)):
            x = self._in_order(x, place, dim, axis)
        if not self.axes.fit(shape, own):
            raise ValueError(
                f"{self.subject} {self.has} shape {shape}; by {own} {self.it_is} "
                f"{self.axes.shape(own)} with these {self.axes.noun}."
            )
        if along != own:
            x = x.transpose(*(own.index(axis) for axis in along))
        return Named(x, along)

    def values(self, value: Any, said: Any) -> tuple[TensorVariable, list[_Dim] | None]:
        """Return the tensor, and its axes, or None if they have no names or labels."""
        model = pm.modelcontext(None)
        if not is_labelled(value):
            names, x = _some_dims_of(model, value, said), as_double(value)
            if names is None:
                return x, None
            coords = model.coords
            return x, [_dim(f"dim {dim!r}", dim, coords.get(dim) if dim else None) for dim in names]
        if isinstance(value, xr.DataArray):
            value, dims = _of_array(value)
        elif isinstance(value, Mapping):
            value, dims = _of_mapping(self.whose, value)
        else:
            value, dims = _of_table(self.whose, value)
        try:
            x = as_double(value)
        except (TypeError, ValueError) as error:
            raise TypeError(f"The values {self.whose} are no numbers: {error}") from error
        if said is not None:
            names = dims_of(model, None, said) or ()
            if len(names) == len(dims):
                dims = [dim._replace(name=name) for name, dim in zip(names, dims, strict=True)]
            else:  # which `named` refuses
                dims = [_Dim("", name, None) for name in names]
        return x, dims

    def possible_axes(self, dim: _Dim, length: int, possible: Collection[str]) -> list[str]:
        """List the axes of the data that a dim may be along: by its name, or by its labels."""
        axes = self.axes
        if dim.name is not None:
            if dim.name in axes.own:
                return [axes.own[dim.name]]
            if dim.name in axes.labels and dim.name not in axes.own.values():
                return [dim.name]
        elif dim.labels is None:
            return [axis for axis in axes.labels if axis in possible and axes.admits(axis, length)]
        found = [] if dim.labels is None else self._by_labels(dim.labels, length, possible)
        if found:
            return found
        if axes.rest is not None:
            return [axes.rest]
        if dim.labels is None:
            raise ValueError(
                f"{self.subject} {self.has} the {dim.called}, which has no labels and is none of "
                f"{[*axes.labels, *axes.own]}: call it what it is{self.or_say}."
            )
        raise ValueError(
            f"The labels of the {dim.called} {self.whose} ({quoted(dim.labels)}) are those of no "
            f"axis of the {axes.noun}: {[*axes.labels]}. {axes.otherwise.format(what=self.what)}"
        )

    def _by_labels(self, labels: NDArray[Any], length: int, possible: Collection[str]) -> list[str]:
        """List the axes that have these labels, or else the axis that shares most of them."""
        axes, rest = self.axes, self.axes.rest
        # slots are numbered, and numbers say nothing where any other name belongs to one axis
        telling = [
            axis
            for axis, known in axes.labels.items()
            if axis not in (SLOT, rest) and not (rest and are_numbers(np.asarray(known)))
        ]
        same = [axis for axis in telling if _order(labels, axes.first_of(axis, length)) is not None]
        same = [axis for axis in same if axes.same.get(axis) not in same]
        same = [axis for axis in same if axis in possible] or same
        if rest and rest in possible and same and not {*same} - {*axes.first}:
            same.append(rest)  # numbers may be those of either
        if same:
            return same
        shared = {
            axis: int(pd.Index(labels).isin(pd.Index(axes.labels[axis])).sum())
            for axis in telling
            if axis in possible
        }
        nearest = max(shared, key=shared.__getitem__, default="")
        near = shared.get(nearest) and (rest is None or axes.admits(nearest, length))
        return [nearest] if near else []

    def _one_way(self, dims: Sequence[_Dim], found: Sequence[list[str]]) -> tuple[str, ...]:
        """Return the axis of every dim, if the names and labels allow one way only."""
        ways = [way for way in itertools.product(*found) if len({*way}) == len(way)]
        if len(ways) == 1:
            return ways[0]
        if not ways:
            every = [*itertools.chain(*found)]
            twice = next(axis for axis in every if every.count(axis) > 1)
            raise ValueError(
                f"Two dims {self.whose}, which {self.has} {tuple(dim.name for dim in dims)}, are "
                f"of the {twice}s."
            )
        place = next(place for place, axes in enumerate(found) if len(axes) > 1)
        way_out = dims[place].way or f"Call it what it is{self.or_say}."
        raise ValueError(
            f"The labels of the {dims[place].called} {self.whose} are those of more than one axis "
            f"of the {self.axes.noun}: {found[place]}. {way_out}"
        )

    def _reading_of(
        self, own: Sequence[str], readings: Readings, also: Sequence[str], named: Readings
    ) -> tuple[str, ...]:
        """Return the axes in the order of the reading that has them."""
        for reading in (*readings, *named):
            along = (*(axis for axis in also if axis in own and axis not in reading), *reading)
            if sorted(along) == sorted(own):
                return along
        more = f", and by any of {', '.join(also)}" if also else ""
        raise ValueError(
            f"{self.subject} {self.is_} by {' and '.join(own) or 'nothing'} of the "
            f"{self.axes.noun}; {self.it_is} {', or '.join(readings.values())}{more}."
        )

    def _in_order(self, x: TensorVariable, place: int, dim: _Dim, axis: str) -> TensorVariable:
        """Put one axis of the parameter in the order of the labels of the data."""
        length = 0 if dim.labels is None else len(dim.labels)
        wanted = self.axes.first_of(axis, length)
        if dim.labels is None or wanted is None:
            return x
        order = _order(dim.labels, wanted)
        if order is None and axis in self.axes.first:
            order = _order(dim.labels, np.arange(length))  # counted from 0
        if order is None:
            raise ValueError(
                f"The labels of the {dim.called} {self.whose} are not those of the axis {axis!r} "
                f"of the {self.axes.noun}: {_difference(dim.labels, wanted)}. Give one value for "
                "each label."
            )
        if np.array_equal(order, np.arange(length)):
            return x
        if isinstance(x, TensorConstant):
            return pt.constant(np.take(x.data, order, axis=place))
        return x[(slice(None),) * place + (order,)]

    def _by_shape(
        self, shape: tuple[int, ...], readings: Readings, also: Sequence[str]
    ) -> tuple[str, ...]:
        """Read axes from lengths, where there is one way to do so."""
        axes = self.axes
        fitting = [reading for reading in readings if axes.fit(shape, reading)]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            option = " ({}_dims={})" if axes.says else ""
            ways = [readings[along] + option.format(self.what, along) for along in fitting]
            raise ValueError(
                f"{self.subject} {self.has} shape {shape} and no names for its axes: it could be "
                f"{', or '.join(ways)}. Say which, or give a variable of the model with dims."
            )
        ways = [f"{meaning}, shape {axes.shape(along)}" for along, meaning in readings.items()]
        subject = self.subject if " " in self.what else f"`{self.what}` of {self.name!r}"
        message = (
            f"{subject} {self.has} shape {shape}; with these {axes.noun} {self.it_is} "
            f"{', or '.join(ways)}."
        )
        if also:
            message += (
                f" By any of {', '.join(also)}, too, if it is a variable of the model with dims, "
                "such as a pm.Deterministic."
            )
        raise ValueError(message)

    def _refuse_two_orders(self, along: Sequence[str]) -> None:
        """Raise where values without names may be in the order of the data or of the coords."""
        coords = pm.modelcontext(None).coords
        for axis in along:
            labels, present = self.axes.known(axis), coords.get(axis)
            if labels is None or present is None or np.array_equal(present, labels):
                continue
            if {*present} == {*labels}:
                raise ValueError(
                    f"{self.subject} {self.has} no names for its axes, and the model's coord "
                    f"{axis!r} has the labels of the {self.axes.noun} in another order. Give it "
                    f"dims, such as by pm.Deterministic{self.or_say}. Or put the data in the order "
                    f"of the model: data.reindex({{{axis!r}: model.coords[{axis!r}]}})."
                )


def _order(labels: NDArray[Any], wanted: Any) -> NDArray[Any] | None:
    """Find the place of every wanted label; None if the labels are not the same."""
    if wanted is None or len(labels) != len(wanted):
        return None
    own = pd.Index(labels)
    if not own.is_unique:
        return None
    places = own.get_indexer(pd.Index(wanted))
    return None if (places < 0).any() else places


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


def _shape(x: TensorVariable) -> tuple[int, ...]:
    return tuple(
        int(length.eval(mode="FAST_COMPILE")) if known is None else known
        for known, length in zip(x.type.shape, tuple(x.shape), strict=True)
    )
