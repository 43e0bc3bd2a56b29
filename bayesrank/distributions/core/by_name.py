"""Match the axes of parameters to the axes of the data, by name, by label or by shape.

A family allows each parameter some axes of the data, in any order. A utility of rankings may have
the dims ``item``, ``slot``, ``ranking``, ``ranker`` and the groups of the rankings, such as
``season``. ``("item",)`` means one utility per item for all rankings, ``("season", "item")`` one
per season and item, and ``("ranking", "slot")`` one per slot.

`by_axes` reads all parameters. Names come from a variable of the model, from PyMC's variables with
dims (`pymc.dims`), or from ``{parameter}_dims=``. A Series, a DataFrame, a DataArray or a dict is
aligned by its labels. Labels in another order are reordered, and other labels are refused. A
parameter without names is read by its shape if only one reading fits.
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
from pytensor.compile.mode import Mode
from pytensor.graph.rewriting.basic import SequentialGraphRewriter
from pytensor.tensor import TensorConstant, TensorVariable
from pytensor.tensor.basic import infer_shape_db
from pytensor.tensor.rewriting.shape import ShapeOptimizer
from pytensor.xtensor.type import XTensorType

from bayesrank.data import Rankings
from bayesrank.data.read import coord_values, label_repr, quoted
from bayesrank.distributions.core.expressions import Names, follow_dims
from bayesrank.distributions.core.observed import as_double, is_labelled
from bayesrank.likelihoods.ops import every_row
from bayesrank.schema import ITEM, RANKER, are_numbers, are_reordered

__all__ = [
    "Axes",
    "Named",
    "by_axes",
    "by_items",
    "by_row",
    "by_stage",
    "dims_of",
    "flat_places",
    "has_dims",
    "in_rows",
    "in_slots",
    "labels_along",
    "rankings_axes",
    "refuse_utility_dims",
    "utility_by_name",
]

# Only the rewrites that compute shapes: a third of the time of FAST_COMPILE
OF_SHAPES = Mode("py", SequentialGraphRewriter(ShapeOptimizer(), infer_shape_db.default_query))
RANKING, SLOT, STAGE = "ranking", "slot", "stage"
Readings = Mapping[tuple[str, ...], str]  # axes, and what they mean
EMPTY: Mapping[Any, str] = MappingProxyType({})

BY_GROUP = "Add further groups with Rankings.grouped."
BY_SLOT = (
    "Add further groups with Rankings.grouped. Or gather the parameter into the slots, and pass "
    "{parameter}_dims=('ranking', 'slot')."
)


class Named(NamedTuple):
    """A parameter, and the axes of the data that its axes match."""

    value: TensorVariable
    axes: tuple[str, ...]


class Axes(NamedTuple):
    """Axes of the data that a parameter may have."""

    data_name: str  # name of the data in messages
    labels: Mapping[str, Any]  # labels of every axis; a length or None if any labels are allowed
    dim_axes: Mapping[str, str] = EMPTY  # axes by the dims of the variable
    otherwise: str = "Rename the dim to an axis of the data."
    says: bool = False  # whether `{parameter}_dims` is an option
    first: Collection[str] = ()  # axes along which a parameter may have only the first labels
    rest: str | None = None  # axis of the dims that match no other axis
    same: Mapping[str, str] = EMPTY  # axes that have the same labels as another, in the same order

    def known(self, axis: str) -> Any:
        """Return the labels of an axis; None if any labels are allowed."""
        labels = self.labels[axis]
        return None if isinstance(labels, int) else labels

    def first_of(self, axis: str, length: int) -> Any:
        """Return the labels of an axis, or only the first ones where those are enough."""
        labels = self.known(axis)
        return labels[:length] if labels is not None and axis in self.first and length else labels

    def admits(self, axis: str, length: int) -> bool:
        """Tell whether a parameter may have this length along an axis."""
        labels = self.labels[axis]
        if labels is None or isinstance(labels, int):
            return labels in (None, length)
        return 0 < length <= len(labels) and (axis in self.first or length == len(labels))

    def fit(self, shape: Sequence[int], along: Sequence[str]) -> bool:
        """Tell whether a shape fits these axes."""
        return len(shape) == len(along) and all(map(self.admits, along, shape))

    def shape(self, along: Sequence[str]) -> str:
        """Format the shape that these axes require."""
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
    """Return the axes of rankings: item, ranking, ranker, groups, slot and further `labels`.

    `dims` names the axes of the variable, by default ranking and slot. `says`, `first` and `rest`
    are fields of `Axes`.
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
    """Tell whether a ranker has several rankings."""
    return not np.array_equal(rankings.ranker_idx, np.arange(rankings.n_rankings))


def by_row(rankings: Rankings, *more: str) -> dict[tuple[str, ...], str]:
    """Return the readings of a parameter without names: per ranking, per group and per ranker.

    The parameter has the axes `more` as well. Rankers are left out if each has one ranking.
    """
    rows = [RANKING, *rankings.groups, *([RANKER] if _rank_often(rankings) else [])]
    return {(row, *more): f"one per {' and '.join((row, *more))}" for row in rows}


def by_stage(name: str, parameter: str, value: Any, rankings: Rankings, dims: Any) -> Named:
    """Read a parameter by stage, and by ranking, ranker or groups."""
    stages = np.arange(1, max(rankings.n_items, 2))
    return by_axes(
        name,
        parameter,
        value,
        {(STAGE,): "one per stage"} | by_row(rankings, STAGE),
        rankings_axes(rankings, dims, {STAGE: stages}, says=False, first=(STAGE,)),
        also=(RANKING, RANKER, *rankings.groups),
    )


def utility_by_name(
    name: str,
    utility: Any,
    rankings: Rankings,
    *,
    utility_dims: Sequence[str] | str | None = None,
    dims: Sequence[str] | None = None,
    parameter: str = "utility",
) -> Named:
    """Read the axes of a utility, or of another `parameter` that has the same axes.

    `name` is the variable that observes the rankings. `utility_dims` are the dims that the user
    gave, and `dims` names the axes of the rankings. Raises the errors of `by_axes`.
    """
    return by_axes(
        name,
        parameter,
        utility,
        {(ITEM,): "one per item", (RANKING, SLOT): "one per slot, best first"}
        | by_row(rankings, ITEM),
        rankings_axes(rankings, dims),
        also=(RANKING, RANKER, *rankings.groups, SLOT),
        named={(SLOT,): "one per slot"},
        given_dims=utility_dims,
    )


def refuse_utility_dims(class_name: str, utility_dims: Any) -> None:
    """Raise if dims of utilities are given without rankings."""
    if utility_dims is not None:
        raise TypeError(
            f"{class_name} got utility_dims= without observed=Rankings. Leave it out: with an "
            "array, there is one utility per slot."
        )


def in_slots(utility: Named, codes: Mapping[str, TensorVariable]) -> TensorVariable:
    """Gather the utility of every slot, (n_rankings, n_slots).

    `codes` holds the item of every slot, (n_rankings, n_slots), and the ranker and groups of every
    ranking.

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

    The first axes of the parameter distinguish rankings; `codes` holds the ranker and groups of
    every ranking. A parameter without such axes is returned unchanged.

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
    """Flatten a utility to one axis, all items of every group, and name the groups.

    Returns None if every ranking or slot has separate utilities.

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
    """Return positions in a flattened array, from the positions on each axis and its length.

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


def dims_of(model: pm.Model, x: Any, given_dims: Any = None) -> tuple[str, ...] | None:
    """Return the names of all axes, as given or from variables with dims; None without."""
    dims = _some_dims_of(model, x, given_dims, "A parameter")
    return None if dims is None or None in dims else tuple(map(str, dims))


def _some_dims_of(model: pm.Model, x: Any, given_dims: Any, what: str) -> Names | None:
    """Return the names of axes, None for an axis without; `what` names the parameter."""
    if given_dims is not None:
        return (given_dims,) if isinstance(given_dims, str) else tuple(given_dims)
    if isinstance(getattr(x, "type", None), XTensorType):
        return tuple(x.type.dims)
    return follow_dims(model, x, what) if isinstance(x, TensorVariable) else None


# ---------------------------------------------------------------------------------------------
# Values and labels of a parameter
# ---------------------------------------------------------------------------------------------


class _Dim(NamedTuple):
    """An axis of a parameter."""

    called: str  # name in messages, such as "index"
    name: str | None
    labels: NDArray[Any] | None
    way: str = ""  # how to name its axis


def _dim(called: str, name: Any, labels: Any, way: str = "") -> _Dim:
    """Return an axis, with labels in the form of the model's coords."""
    if labels is not None:
        listed = labels.to_numpy() if hasattr(labels, "to_numpy") else labels
        labels = coord_values(pd.Index(list(listed), tupleize_cols=False))
    return _Dim(called, name if isinstance(name, str) else None, labels, way)


def _read_array(value: xr.DataArray) -> tuple[Any, list[_Dim]]:
    """Return the values and axes of a DataArray."""
    way = "Rename it to the axis of the data."
    dims = [_dim(f"dim {dim!r}", dim, value.coords.get(dim), way) for dim in value.dims]
    return value.to_numpy(), dims


def _read_table(whose: str, value: pd.Series | pd.DataFrame) -> tuple[Any, list[_Dim]]:
    """Return the values and axes of a Series or DataFrame."""
    dims = []
    for axis in ("index", "columns")[: value.ndim]:
        index = getattr(value, axis)
        if isinstance(index, pd.MultiIndex):
            raise ValueError(
                f"The index {whose} has more than one level. Pass a DataFrame, from unstack(), or "
                "a DataArray, from to_xarray()."
            )
        dims.append(_dim(axis, index.name, index, f"Name it, such as rename_axis({axis}='item')."))
    return value.to_numpy(), dims


def _read_mapping(whose: str, value: Mapping[Any, Any]) -> tuple[Any, list[_Dim]]:
    """Return the values and axes of a dict by label, or of a dict of dicts."""
    way = "Pass a Series or a DataFrame with a named index instead."
    outer, values = list(value), list(value.values())
    if not any(isinstance(row, Mapping) for row in values):
        return values, [_dim("keys", None, outer, way)]
    inner = list(values[0]) if isinstance(values[0], Mapping) else []
    for label, row in zip(outer, values, strict=True):
        if not isinstance(row, Mapping) or set(row) != set(inner):
            raise ValueError(
                f"The dict {whose} has different keys at {label_repr(label)} and "
                f"{label_repr(outer[0])}. Give every inner dict the same keys."
            )
    table = [[row[label] for label in inner] for row in values]
    return table, [_dim("keys", None, labels, way) for labels in (outer, inner)]


# ---------------------------------------------------------------------------------------------
# The axes of a parameter
# ---------------------------------------------------------------------------------------------


def by_axes(
    name: str,
    parameter: str,
    value: Any,
    readings: Readings,
    axes: Axes,
    *,
    also: Sequence[str] = (),
    named: Readings = EMPTY,
    given_dims: Sequence[str] | str | None = None,
) -> Named:
    """Match the axes of a parameter to those of the data: by dims and labels, or by shape.

    Parameters
    ----------
    name, parameter : str
        Names of the variable that observes data, and of its parameter.
    value : tensor_like, Series, DataFrame, DataArray or dict
        The parameter, with or without dims.
    readings : mapping of tuple of str to str
        Axes that it may have, and their meaning. With names, the order does not matter.
    also : sequence of str
        Further axes that a parameter with names may have, in addition to a reading.
    named : mapping of tuple of str to str
        Further readings, only for a parameter with names.
    given_dims : str or sequence of str, optional
        Names of its dims, as the user gave them.

    Returns
    -------
    Named
        Its labels are in the order of the data. Its axes are those of `also`, then those of the
        reading.

    Raises
    ------
    ValueError
        If no reading or more than one fits, or if its labels are not those of the data.
    """
    return _Reader(name, parameter, axes).named(value, given_dims, readings, also, named)


def labels_along(
    name: str, parameter: str, value: Any, axes: Axes, axis: str
) -> tuple[str | None, Any] | None:
    """Return the name and labels of an axis of a parameter, if it has names or labels."""
    reader = _Reader(name, parameter, axes)
    x, dims = reader.values(value, None)
    for dim, length in zip(dims or (), _shape(x), strict=False):
        if reader.possible_axes(dim, length, {axis}) == [axis]:
            return dim.name, dim.labels
    return None


class _Reader:
    """Reads one parameter, and explains in its errors what it cannot read."""

    def __init__(self, name: str, parameter: str, axes: Axes) -> None:
        self.name, self.parameter, self.axes = name, parameter, axes
        self.subject, self.whose = f"The {parameter} of {name!r}", f"of the {parameter} of {name!r}"
        plural = parameter.endswith("weights")
        self.has, self.is_, self.it_is = (
            ("have", "are", "they are") if plural else ("has", "is", "it is")
        )
        self.or_say = f", or pass {parameter}_dims=" if axes.says else ""

    def named(
        self, value: Any, given_dims: Any, readings: Readings, also: Sequence[str], named: Readings
    ) -> Named:
        """Return the parameter and its axes."""
        x, dims = self.values(value, given_dims)
        shape = _shape(x)
        if dims is None:
            along = self._by_shape(shape, readings, also)
            self._refuse_two_orders(along)
            return Named(x, along)
        if len(dims) != len(shape):
            raise ValueError(
                f"{self.subject} {self.has} {len(shape)} axes, but "
                f"{self.parameter}_dims={tuple(dim.name for dim in dims)} names {len(dims)}."
            )
        possible = {*itertools.chain(*readings, *named), *also}
        found = [
            self.possible_axes(dim, length, possible)
            for dim, length in zip(dims, shape, strict=True)
        ]
        if [] in found:  # an axis without a name, and of a length that no axis has
            raise self._wrong_shape(shape, readings, also)
        found_axes = self._one_way(dims, found)
        along = self._reading_of(found_axes, readings, also, named)
        unnamed = [dim.name is None and dim.labels is None for dim in dims]
        self._refuse_two_orders([*itertools.compress(found_axes, unnamed)])
        for place, (dim, axis) in enumerate(zip(dims, found_axes, strict=True)):
            x = self._in_order(x, place, dim, axis)
        if not self.axes.fit(shape, found_axes):
            raise ValueError(
                f"{self.subject} {self.has} shape {shape}; with the axes {found_axes} and these "
                f"{self.axes.data_name}, the shape must be {self.axes.shape(found_axes)}."
            )
        if along != found_axes:
            x = x.transpose(*(found_axes.index(axis) for axis in along))
        return Named(x, along)

    def values(self, value: Any, given_dims: Any) -> tuple[TensorVariable, list[_Dim] | None]:
        """Return the tensor and its axes; None if the axes have no names or labels."""
        model = pm.modelcontext(None)
        if not is_labelled(value):
            names = _some_dims_of(model, value, given_dims, self.subject)
            x = as_double(value, f"`{self.parameter}` of {self.name!r}")
            if names is None:
                return x, None
            coords = model.coords
            return x, [_dim(f"dim {dim!r}", dim, coords.get(dim) if dim else None) for dim in names]
        if isinstance(value, xr.DataArray):
            value, dims = _read_array(value)
        elif isinstance(value, Mapping):
            value, dims = _read_mapping(self.whose, value)
        else:
            value, dims = _read_table(self.whose, value)
        try:
            x = as_double(value)
        except (TypeError, ValueError) as error:
            raise TypeError(f"The values {self.whose} are not numbers: {error}") from error
        if given_dims is not None:
            names = dims_of(model, None, given_dims) or ()
            if len(names) == len(dims):
                dims = [dim._replace(name=name) for name, dim in zip(names, dims, strict=True)]
            else:  # `named` raises
                dims = [_Dim("", name, None) for name in names]
        return x, dims

    def possible_axes(self, dim: _Dim, length: int, possible: Collection[str]) -> list[str]:
        """List the axes of the data that a dim may match, by its name or its labels."""
        axes = self.axes
        if dim.name is not None:
            if dim.name in axes.dim_axes:
                return [axes.dim_axes[dim.name]]
            if dim.name in axes.labels and dim.name not in axes.dim_axes.values():
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
                f"{self.subject} {self.has} the {dim.called}, which has no labels and is not "
                f"one of {[*axes.labels, *axes.dim_axes]}. Rename it to one of these{self.or_say}."
            )
        way_out = axes.otherwise.format(parameter=self.parameter)
        if are_numbers(np.asarray(dim.labels)):
            way_out = f"Numbers from 0 identify no axis: name the dim after it{self.or_say}."
        raise ValueError(
            f"The labels of the {dim.called} {self.whose} ({quoted(dim.labels)}) match no "
            f"axis of the {axes.data_name}: {[*axes.labels]}. {way_out}"
        )

    def _by_labels(self, labels: NDArray[Any], length: int, possible: Collection[str]) -> list[str]:
        """List the axes that have these labels, or else the axis that shares most of them."""
        axes, rest = self.axes, self.axes.rest
        telling = [
            axis
            for axis, known in axes.labels.items()
            if axis not in (SLOT, rest) and not are_numbers(np.asarray(known))  # these tell nothing
        ]
        same = [axis for axis in telling if _order(labels, axes.first_of(axis, length)) is not None]
        same = [axis for axis in same if axes.same.get(axis) not in same]
        same = [axis for axis in same if axis in possible] or same
        if rest and rest in possible and same and not {*same} - {*axes.first}:
            same.append(rest)  # numbers may belong to either
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
        """Return the axis of every dim, if names and labels determine it."""
        ways = [way for way in itertools.product(*found) if len({*way}) == len(way)]
        if len(ways) == 1:
            return ways[0]
        if not ways:
            every = [*itertools.chain(*found)]
            twice = next(axis for axis in every if every.count(axis) > 1)
            raise ValueError(
                f"Two dims {self.whose}, {tuple(dim.name for dim in dims)}, match the same axis "
                f"{twice!r}. Rename one of them."
            )
        place = next(place for place, axes in enumerate(found) if len(axes) > 1)
        way_out = dims[place].way or f"Name it after its axis{self.or_say}."
        raise ValueError(
            f"The labels of the {dims[place].called} {self.whose} match more than one axis "
            f"of the {self.axes.data_name}: {found[place]}. {way_out}"
        )

    def _reading_of(
        self, found_axes: Sequence[str], readings: Readings, also: Sequence[str], named: Readings
    ) -> tuple[str, ...]:
        """Return the axes in the order of their reading."""
        for reading in (*readings, *named):
            further = (axis for axis in also if axis in found_axes and axis not in reading)
            along = (*further, *reading)
            if sorted(along) == sorted(found_axes):
                return along
        more = f", by any of {', '.join(also)}" if also else ""
        raise ValueError(
            f"{self.subject} {self.has} the axes {found_axes} of the {self.axes.data_name}; "
            f"{self.it_is} {', or '.join(readings.values())}{more}."
        )

    def _in_order(self, x: TensorVariable, place: int, dim: _Dim, axis: str) -> TensorVariable:
        """Put one axis of the parameter in the order of the labels of the data."""
        length = 0 if dim.labels is None else len(dim.labels)
        wanted = self.axes.first_of(axis, length)
        if dim.labels is None or wanted is None:
            return x
        order = _order(dim.labels, wanted)
        if order is None and axis in self.axes.first:
            order = _order(dim.labels, np.arange(length))  # numbered from 0
        if order is None:
            raise ValueError(
                f"The labels of the {dim.called} {self.whose} are not those of the axis {axis!r} "
                f"of the {self.axes.data_name}: {_difference(dim.labels, wanted)}. Give one value "
                "per label."
            )
        if np.array_equal(order, np.arange(length)):
            return x
        if isinstance(x, TensorConstant):
            return pt.constant(np.take(x.data, order, axis=place))
        return x[(slice(None),) * place + (order,)]

    def _by_shape(
        self, shape: tuple[int, ...], readings: Readings, also: Sequence[str]
    ) -> tuple[str, ...]:
        """Read axes from lengths, if only one reading fits."""
        axes = self.axes
        fitting = [reading for reading in readings if axes.fit(shape, reading)]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            option = " ({}_dims={})" if axes.says else ""
            ways = [readings[along] + option.format(self.parameter, along) for along in fitting]
            raise ValueError(
                f"{self.subject} {self.has} shape {shape} and no names for its axes. It could be "
                f"{', or '.join(ways)}. Choose one, or pass a variable of the model with dims."
            )
        raise self._wrong_shape(shape, readings, also)

    def _wrong_shape(
        self, shape: tuple[int, ...], readings: Readings, also: Sequence[str]
    ) -> ValueError:
        """Return the error for a shape that no reading fits."""
        axes = self.axes
        ways = [f"{meaning}, shape {axes.shape(along)}" for along, meaning in readings.items()]
        subject = self.subject if " " in self.parameter else f"`{self.parameter}` of {self.name!r}"
        message = (
            f"{subject} {self.has} shape {shape}; with these {axes.data_name} {self.it_is} "
            f"{', or '.join(ways)}."
        )
        if also:
            message += (
                " A variable of the model with dims, such as a pm.Deterministic, may also have any "
                f"of {', '.join(also)}."
            )
        return ValueError(message)

    def _refuse_two_orders(self, along: Sequence[str]) -> None:
        """Raise if values without names could be in the order of the data or of some coord."""
        others = {*self.axes.labels, *self.axes.dim_axes}
        for axis in along:
            labels = self.axes.known(axis)
            for dim, present in pm.modelcontext(None).coords.items():
                if labels is None or not are_reordered(present, labels):
                    continue
                if dim != axis and (dim in others or are_numbers(np.asarray(labels))):
                    continue  # labels of something else
                raise ValueError(
                    f"{self.subject} {self.has} no names for its axes, and the model's coord "
                    f"{dim!r} has the labels of the {self.axes.data_name} in another order. "
                    f"Give it dims, such as by pm.Deterministic{self.or_say}. Or put the data in "
                    f"the model's order: data.reindex({{{axis!r}: model.coords[{dim!r}]}})."
                )


def _order(labels: NDArray[Any], wanted: Any) -> NDArray[Any] | None:
    """Find the place of every wanted label; None if the labels are not the same."""
    if wanted is None or len(labels) != len(wanted):
        return None
    index = pd.Index(labels)
    if not index.is_unique:
        return None
    places = index.get_indexer(pd.Index(wanted))
    return None if (places < 0).any() else places


def _difference(labels: NDArray[Any], wanted: Any) -> str:
    """Describe how labels differ from the expected ones."""
    index, other = pd.Index(labels), pd.Index(wanted)
    differences = {
        "twice": index[index.duplicated()],
        "missing": other[~other.isin(index)],
        "unknown": index[~index.isin(other)],
    }
    return "; ".join(
        f"{mistake}: {quoted(found)}" for mistake, found in differences.items() if len(found)
    )


def _shape(x: TensorVariable) -> tuple[int, ...]:
    return tuple(
        int(length.eval(mode=OF_SHAPES)) if known is None else known
        for known, length in zip(x.type.shape, tuple(x.shape), strict=True)
    )
