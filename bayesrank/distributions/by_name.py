"""Utilities by the names of their dims: what every slot of a ranking takes of them.

A utility may have the dims ``item``, ``slot``, ``ranking`` and ``ranker``, in any order and any
number: ``("item",)`` is one for all rankings, ``("ranker", "item")`` one for each ranker, and
``("ranking", "slot")`` is given for every slot. The names are read from a variable of the model,
from PyMC's own variables with dims (`pymc.dims`), or said. What has no names is told by its shape,
if that can be read in one way only: labels are compared, and lengths are not.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor import TensorVariable
from pytensor.xtensor.type import XTensorType

from bayesrank.data import Rankings
from bayesrank.distributions.observed import as_double, same_labels
from bayesrank.schema import ITEM, RANKER

__all__ = ["Named", "check_items", "dims_of", "in_slots", "utility_by_name"]

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


def utility_by_name(
    name: str,
    utility: Any,
    rankings: Rankings,
    *,
    utility_dims: Sequence[str] | str | None = None,
    dims: Sequence[str] | None = None,
) -> Named:
    """Read the axes of a utility.

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
        return Named(x, _axes_by_shape(name, x, rankings))
    if len(found) != x.ndim:
        raise ValueError(
            f"The utility of {name!r} has {x.ndim} axes, and utility_dims={found} names "
            f"{len(found)}."
        )
    own = dict(zip(dims or (RANKING, SLOT), (RANKING, SLOT), strict=False))
    axes = tuple(_axis_of(name, model, dim, rankings, own) for dim in found)
    for axis in axes:
        if axes.count(axis) > 1:
            raise ValueError(
                f"Two dims of the utility of {name!r}, which has {found}, are of the {axis}s."
            )
    lengths = _lengths(rankings)
    shape, wanted = _shape(x), tuple(lengths[axis] for axis in axes)
    if shape != wanted:
        raise ValueError(
            f"The utility of {name!r} has shape {shape}; by {found} it is {wanted} with these "
            "rankings."
        )
    return Named(x, axes)


def check_items(name: str, what: str, value: Any, items: Any, noun: str) -> None:
    """Raise where a parameter that is one per item has a dim with other labels.

    Parameters
    ----------
    name, what : str
        Of the variable that observes data, and of its parameter.
    value : tensor_like
        The parameter; nothing is known of one that is no variable of the model.
    items : sequence of labels
        Those of the data.
    noun : str
        What the data are called.
    """
    model = pm.modelcontext(None)
    dims = dims_of(model, value, None) or ()
    labels = model.coords.get(dims[0]) if len(dims) == 1 else None
    if labels is not None and len(labels) == len(items):
        same_labels(f"the dim {dims[0]!r} of its {what}", name, labels, items, noun)


def in_slots(utility: Named, codes: Mapping[str, TensorVariable]) -> TensorVariable:
    """Gather what every slot has of a utility.

    Parameters
    ----------
    utility : Named
        From `utility_by_name`.
    codes : mapping of str to TensorVariable
        The item of every slot, (n_rankings, n_slots), and the ranker of every ranking.

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
        RANKER: codes[RANKER][:, None],
    }
    gathered = utility.value[tuple(index[axis] for axis in utility.axes)]
    return gathered if ITEM in utility.axes else pt.broadcast_to(gathered, item.shape)


def dims_of(model: pm.Model, x: Any, said: Any = None) -> tuple[str, ...] | None:
    """Find names of axes: said, of a variable with dims, or of one of the model; None without."""
    if said is not None:
        return (said,) if isinstance(said, str) else tuple(said)
    if isinstance(getattr(x, "type", None), XTensorType):
        return tuple(x.type.dims)
    name = getattr(x, "name", None)
    if name is None or model.named_vars.get(name) is not x:
        return None
    dims = model.named_vars_to_dims.get(name)
    return None if dims is None or None in dims else tuple(map(str, dims))


def _axis_of(
    name: str, model: pm.Model, dim: str, rankings: Rankings, own: Mapping[str, str]
) -> str:
    """Say which axis of the rankings a dim of a utility is along."""
    if dim in own:
        return own[dim]
    labels = model.coords.get(dim)
    of_axes = {axis: rankings.coords[axis] for axis in (ITEM, RANKER)}  # as models name them
    if dim in of_axes:
        if labels is not None:
            _same_labels(dim, name, labels, dim, of_axes[dim])
        return dim
    if labels is None:
        raise ValueError(
            f"The utility of {name!r} has the dim {dim!r}, which has no labels and is none of "
            f"{[*of_axes, *own]}: call it what it is, or say it by utility_dims=."
        )
    same = [axis for axis, other in of_axes.items() if set(labels) == set(other)]
    if len(same) == 1:
        (axis,) = same
        _same_labels(dim, name, labels, axis, of_axes[axis])
        return axis
    if same:
        raise ValueError(
            f"The dim {dim!r} of the utility of {name!r} has the labels of the items and of the "
            "rankers. Call it item or ranker, or say which by utility_dims=."
        )
    raise ValueError(
        f"The dim {dim!r} of the utility of {name!r} has {len(labels)} labels, which are those of "
        f"neither the {rankings.n_items} items nor the {len(rankings.rankers)} rankers of the "
        "rankings. A utility is by item, slot, ranking or ranker: gather what is by other things "
        "into the slots, and say utility_dims=('ranking', 'slot')."
    )


def _same_labels(dim: str, name: str, labels: Any, axis: str, wanted: Any) -> None:
    same_labels(f"the dim {dim!r} of its utility", name, labels, wanted, "rankings", f"{axis}s")


def _lengths(rankings: Rankings) -> dict[str, int]:
    return {
        ITEM: rankings.n_items,
        RANKING: rankings.n_rankings,
        RANKER: len(rankings.rankers),
        SLOT: rankings.n_slots,
    }


def _shape(x: TensorVariable) -> tuple[int, ...]:
    return tuple(int(length.eval(mode="FAST_COMPILE")) for length in x.shape)


def _axes_by_shape(name: str, x: TensorVariable, rankings: Rankings) -> tuple[str, ...]:
    """Read axes from lengths, where there is one way to do so."""
    n = _lengths(rankings)
    shapes = {axes: tuple(n[axis] for axis in axes) for axes in READINGS}
    if np.array_equal(rankings.ranker_idx, np.arange(rankings.n_rankings)):
        del shapes[RANKER, ITEM]  # by ranker is by ranking
    shape = _shape(x)
    fitting = [axes for axes in shapes if shapes[axes] == shape]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        ways = ", or ".join(f"{READINGS[axes]} (utility_dims={axes})" for axes in fitting)
        raise ValueError(
            f"The utility of {name!r} has shape {shape} and no names for its axes: it could be "
            f"{ways}. Say which, or give a variable of the model with dims."
        )
    ways = ", or ".join(f"{READINGS[axes]}, shape {shapes[axes]}" for axes in shapes)
    raise ValueError(f"`utility` of {name!r} has shape {shape}; with these rankings it is {ways}.")
