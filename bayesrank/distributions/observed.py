"""Registering a `Rankings` as data of a PyMC model: what ``observed=rankings`` does."""

from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pytensor.graph.basic import equal_computations
from pytensor.scalar.basic import Cast
from pytensor.tensor import TensorVariable
from pytensor.tensor.elemwise import Elemwise

from bayesrank.data.rankings import Rankings
from bayesrank.data.stages import stage_table

__all__ = ["RankingsData", "is_observed", "refuse_single_precision", "register_rankings"]


class RankingsData(NamedTuple):
    """Rankings as tensors of a model."""

    ranks: TensorVariable  # (n_rankings, n_slots), the observed value
    sizes: TensorVariable  # (n_rankings, n_blocks)
    slot_utility: TensorVariable  # (n_rankings, n_slots)
    item_utility: TensorVariable | None  # (n_items,), None if utilities differ between rankings
    stages: tuple[TensorVariable, ...]  # fields of `bayesrank.data.stages.Stages`
    dims: tuple[str, str]


def register_rankings(name: str, utility: Any, rankings: Rankings) -> RankingsData:
    """Add the rankings to the model in context and gather a per-item utility into slots.

    Parameters
    ----------
    name : str
        Name of the distribution; prefixes the data.
    utility : tensor_like of float, (n_items,) or (n_rankings, n_slots)
        Log worth per item or per slot.
    rankings : Rankings
        What was observed.

    Returns
    -------
    RankingsData
        The tensors, in `pm.Data` and shared variables so that they stay out of compiled code.

    Raises
    ------
    ValueError
        If the shape of `utility` fits neither form, or the model's coords contradict.
    """
    model = pm.modelcontext(None)
    utility = pt.cast(pt.as_tensor_variable(utility), "float64")
    per_item = _is_per_item(name, utility, rankings)
    for dim in ("ranking", "slot"):
        _add_coord(model, dim, rankings.coords[dim])

    dims = ("ranking", "slot")
    # cast here: pm.Data stores 32 bits, and cumulative sums of those do not fold (PyTensor 3.3)
    ranks = pt.cast(pm.Data(f"{name}_ranks", rankings.ranks, dims=dims), "int64")
    item = pm.Data(f"{name}_item", rankings.item, dims=dims)
    sizes = pt.cast(pm.Data(f"{name}_sizes", rankings.block_sizes), "int64")
    if not per_item:
        if not np.all(rankings.weight == 1):
            weighted = int(np.sum(rankings.weight != 1))
            raise ValueError(
                f"{weighted} of {rankings.n_rankings} rankings have a weight other than 1, which "
                f"needs one utility per item; {name!r} has one per slot. Use rankings.expand()."
            )
        return RankingsData(ranks, sizes, utility, None, (), dims)

    table = stage_table(rankings.item, rankings.ranks, rankings.weight, rankings.n_items)
    stages = tuple(
        pytensor.shared(value, name=f"{model.name_for(name)}_{field}", borrow=True)
        for field, value in table._asdict().items()
    )
    return RankingsData(ranks, sizes, utility[item], utility, stages, dims)


def is_observed(value: TensorVariable, ranks: TensorVariable) -> bool:
    """Whether the value of a log-probability is the data that was registered, whatever its cast.

    Structural, because transformations of a model (freezing its data, cloning it) make new
    variables.
    """
    return equal_computations([_uncast(value)], [_uncast(ranks)])


def _uncast(x: TensorVariable) -> TensorVariable:
    while (
        x.owner is not None
        and isinstance(x.owner.op, Elemwise)
        and isinstance(x.owner.op.scalar_op, Cast)
    ):
        x = x.owner.inputs[0]
    return x


def _is_per_item(name: str, utility: TensorVariable, rankings: Rankings) -> bool:
    shape = tuple(int(n.eval(mode="FAST_COMPILE")) for n in utility.shape)
    if shape == (rankings.n_items,):
        return True
    if shape == (rankings.n_rankings, rankings.n_slots):
        return False
    raise ValueError(
        f"The utility of {name!r} has shape {shape}, but the rankings have {rankings.n_items} "
        f"items and {rankings.n_rankings} rankings of up to {rankings.n_slots} slots. Give one "
        f"utility per item, shape ({rankings.n_items},), or one per slot, shape "
        f"({rankings.n_rankings}, {rankings.n_slots})."
    )


def _add_coord(model: pm.Model, dim: str, labels: Any) -> None:
    if dim not in model.coords:
        model.add_coord(dim, labels)
        return
    present = model.coords[dim]
    if present is not None and not np.array_equal(np.asarray(present), np.asarray(labels)):
        raise ValueError(
            f"The model's coord {dim!r} has {len(present)} labels that are not those of the "
            f"rankings ({len(labels)}). Build the model with pm.Model(coords=rankings.coords)."
        )


def refuse_single_precision() -> None:
    """Raise if PyTensor is set to float32, which would also store item numbers in 16 bits."""
    if pytensor.config.floatX != "float64":
        raise ValueError(
            f"pytensor.config.floatX is {pytensor.config.floatX!r}: bayesrank computes in double "
            "precision, and item numbers beyond 32,767 would wrap around. Set "
            "pytensor.config.floatX = 'float64'."
        )
