"""Utilities by the names of their dims: what every slot of a ranking takes of them.

A utility may have the dims ``item``, ``slot``, ``ranking``, ``ranker`` and those of the groups of
the rankings, such as ``season``, in any order and any number: ``("item",)`` is one for all
rankings, ``("season", "item")`` one for each season, and ``("ranking", "slot")`` is given for every
slot. The names are read from a variable of the model,
from PyMC's own variables with dims (`pymc.dims`), or said. What has no names is told by its shape,
if that can be read in one way only: labels are compared, and lengths are not.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor import TensorVariable
from pytensor.xtensor.type import XTensorType

from bayesrank.data import Rankings
from bayesrank.distributions.observed import as_double, same_labels, shaped
from bayesrank.schema import ITEM, RANKER

__all__ = [
    "Axes",
    "Named",
    "axis_of",
    "by_axes",
    "by_items",
    "dims_of",
    "has_dims",
    "in_slots",
    "utility_by_name",
]

RANKING, SLOT = "ranking", "slot"
READINGS = {
    (ITEM,): "one per item",
    (RANKING, SLOT): "one per slot, best first",
    (RANKER, ITEM): "one per ranker and item",
    (RANKING, ITEM): "one per ranking and item",
}


class Named(NamedTuple):
    """A parameter, and the axes of the data that its own are along."""

    value: TensorVariable
    axes: tuple[str, ...]


class Axes(NamedTuple):
    """Axes of data that a parameter may be along."""

    noun: str  # what the data are called
    labels: Mapping[str, Any]  # of every axis, as models name them
    own: Mapping[str, str] = MappingProxyType({})  # axes by the dims of the variable
    otherwise: str = "Gather what it is of, or call its dim what it is."
    says: bool = False  # whether `{what}_dims` is an option

    def shape(self, along: Sequence[str]) -> tuple[int, ...]:
        """Return how many there are of every axis."""
        return tuple(len(self.labels[axis]) for axis in along)

    def said(self, what: str) -> str:
        """Give the other way out of a sentence."""
        return f", or say it by {what}_dims=" if self.says else ""


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
        If there are no names, and the shape can be read in no way or in more than one; if a dim is
        of nothing that a ranking has; or if its labels are not those of the rankings.
    """
    model = pm.modelcontext(None)
    found = dims_of(model, utility, utility_dims)
    if isinstance(getattr(utility, "type", None), XTensorType):
        utility = utility.values
    x = as_double(utility)
    if found is None:
        return Named(x, _axes_by_shape(name, x, rankings, what))
    if len(found) != x.ndim:
        raise ValueError(
            f"The {what} of {name!r} has {x.ndim} axes, and {what}_dims={found} names {len(found)}."
        )
    of = Axes(
        "rankings",
        {axis: rankings.coords[axis] for axis in (ITEM, RANKER, *rankings.groups)},
        dict(zip(dims or (RANKING, SLOT), (RANKING, SLOT), strict=False)),
        otherwise="Say by Rankings.grouped what else they are grouped by, or gather it into the "
        "slots, and say {what}_dims=('ranking', 'slot').",
        says=True,
    )
    axes = tuple(axis_of(name, what, dim, of) for dim in found)
    for axis in axes:
        if axes.count(axis) > 1:
            raise ValueError(
                f"Two dims of the {what} of {name!r}, which has {found}, are of the {axis}s."
            )
    lengths = _lengths(rankings)
    shape, wanted = _shape(x), tuple(lengths[axis] for axis in axes)
    if shape != wanted:
        raise ValueError(
            f"The {what} of {name!r} has shape {shape}; by {found} it is {wanted} with these "
            "rankings."
        )
    return Named(x, axes)


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
    index = {
        ITEM: item,
        RANKING: pt.arange(item.shape[0])[:, None],
        SLOT: pt.arange(item.shape[1])[None, :],
    }
    index |= {axis: codes[axis][:, None] for axis in utility.axes if axis not in index}
    gathered = utility.value[tuple(index[axis] for axis in utility.axes)]
    return gathered if ITEM in utility.axes else pt.broadcast_to(gathered, item.shape)


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


def has_dims(x: Any) -> bool:
    """Tell whether a parameter has names for its axes."""
    return dims_of(pm.modelcontext(None), x) is not None


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
    if said is not None:
        return (said,) if isinstance(said, str) else tuple(said)
    if isinstance(getattr(x, "type", None), XTensorType):
        return tuple(x.type.dims)
    name = getattr(x, "name", None)
    if name is None or model.named_vars.get(name) is not x:
        return None
    dims = model.named_vars_to_dims.get(name)
    return None if dims is None or None in dims else tuple(map(str, dims))


def axis_of(name: str, what: str, dim: str, axes: Axes) -> str:
    """Say which axis of the data a dim is along: by its name, or else by its labels.

    Parameters
    ----------
    name, what : str
        Of the variable that observes data, and of its parameter.
    dim : str
        A dim of the parameter.
    axes : Axes
        Of the data.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If the dim is of nothing that the data have, or of more than one thing, or if its labels
        are in another order.
    """
    labels = pm.modelcontext(None).coords.get(dim)
    axis = axes.own.get(dim, dim)
    if dim in axes.own or dim in axes.labels:
        if labels is not None and axis in axes.labels:
            _same_labels(name, what, dim, labels, axis, axes)
        return axis
    if labels is None:
        raise ValueError(
            f"The {what} of {name!r} has the dim {dim!r}, which has no labels and is none of "
            f"{[*axes.labels, *axes.own]}: call it what it is{axes.said(what)}."
        )
    same = [axis for axis, other in axes.labels.items() if set(labels) == set(other)]
    if len(same) == 1:
        (axis,) = same
        _same_labels(name, what, dim, labels, axis, axes)
        return axis
    if same:
        raise ValueError(
            f"The dim {dim!r} of the {what} of {name!r} has the labels of more than one axis of "
            f"the {axes.noun}: {same}. Call it what it is{axes.said(what)}."
        )
    raise ValueError(
        f"The dim {dim!r} of the {what} of {name!r} has {len(labels)} labels, which are those of "
        f"no axis of the {axes.noun}: {[*axes.labels]}. {axes.otherwise.format(what=what)}"
    )


def by_axes(
    name: str,
    what: str,
    value: Any,
    readings: Mapping[tuple[str, ...], str],
    axes: Axes,
    *,
    also: Sequence[str] = (),
) -> Named:
    """Read which axes of the data a parameter is along: by its dims, or else by its shape.

    Parameters
    ----------
    name, what : str
        Of the variable that observes data, and of its parameter.
    value : tensor_like
        The parameter, with dims of its own or not.
    readings : mapping of tuple of str to str
        Axes that it may be along, and what that means; those of names in any order. No two of
        them have as many axes.
    axes : Axes
        Of the data.
    also : sequence of str
        Axes, any of which a parameter with names may have beside those of a reading.

    Returns
    -------
    Named
        Its axes are in the order of the reading, those of `also` before them in their order.

    Raises
    ------
    ValueError
        If it can be read in no way.
    """
    found = dims_of(pm.modelcontext(None), value)
    if isinstance(getattr(value, "type", None), XTensorType):
        value = value.values
    x = as_double(value)
    if found is None:
        shapes = {axes.shape(each): each for each in readings}
        meanings = {shape: readings[each] for shape, each in shapes.items()}
        try:
            x = shaped(name, what, x, meanings, axes.noun)
        except ValueError as error:
            if not also:
                raise
            raise ValueError(
                f"{error} By any of {', '.join(also)}, too, if it is a variable of the model with "
                "dims, such as a pm.Deterministic."
            ) from None
        return Named(x, shapes[_shape(x)])
    own = tuple(axis_of(name, what, dim, axes) for dim in found)
    for reading, meaning in readings.items():
        beside = tuple(axis for axis in also if axis in own and axis not in reading)
        along = (*beside, *reading)
        if sorted(along) == sorted(own):
            x = x.transpose(*(own.index(axis) for axis in along)) if along != own else x
            wanted = {axes.shape(along): ", ".join((meaning, *beside))}
            return Named(shaped(name, what, x, wanted, axes.noun), along)
    ways = ", or ".join(readings.values())
    more = f", and by any of {', '.join(also)}" if also else ""
    raise ValueError(
        f"The {what} of {name!r} has the dims {found}, which are of the axes {own} of the "
        f"{axes.noun}; it is {ways}{more}."
    )


def _same_labels(name: str, what: str, dim: str, labels: Any, axis: str, axes: Axes) -> None:
    whose = f"the dim {dim!r} of its {what}"
    same_labels(whose, name, labels, axes.labels[axis], axes.noun, f"{axis}s")


def _lengths(rankings: Rankings) -> dict[str, int]:
    groups = {name: len(group.labels) for name, group in rankings.groups.items()}
    return groups | {
        ITEM: rankings.n_items,
        RANKING: rankings.n_rankings,
        RANKER: len(rankings.rankers),
        SLOT: rankings.n_slots,
    }


def _shape(x: TensorVariable) -> tuple[int, ...]:
    return tuple(int(length.eval(mode="FAST_COMPILE")) for length in x.shape)


def _axes_by_shape(name: str, x: TensorVariable, rankings: Rankings, what: str) -> tuple[str, ...]:
    """Read axes from lengths, where there is one way to do so."""
    n = _lengths(rankings)
    readings = READINGS | {(g, ITEM): f"one per {g} and item" for g in rankings.groups}
    shapes = {axes: tuple(n[axis] for axis in axes) for axes in readings}
    if np.array_equal(rankings.ranker_idx, np.arange(rankings.n_rankings)):
        del shapes[RANKER, ITEM]  # by ranker is by ranking
    shape = _shape(x)
    fitting = [axes for axes in shapes if shapes[axes] == shape]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        ways = ", or ".join(f"{readings[axes]} ({what}_dims={axes})" for axes in fitting)
        raise ValueError(
            f"The {what} of {name!r} has shape {shape} and no names for its axes: it could be "
            f"{ways}. Say which, or give a variable of the model with dims."
        )
    ways = ", or ".join(f"{readings[axes]}, shape {shapes[axes]}" for axes in shapes)
    raise ValueError(f"`{what}` of {name!r} has shape {shape}; with these rankings it is {ways}.")
