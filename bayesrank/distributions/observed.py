"""Registering a `Rankings` as data of a PyMC model: what ``observed=rankings`` does."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import equal_computations
from pytensor.scalar.basic import Cast
from pytensor.tensor import TensorVariable
from pytensor.tensor.elemwise import Elemwise

from bayesrank.data.derive.stages import Stages
from bayesrank.data.rankings import Rankings
from bayesrank.distributions.axes import AXES, add_coord, label_axis, two_names

__all__ = [
    "RankingsData",
    "is_observed",
    "known_value",
    "refuse_single_precision",
    "register_rankings",
    "set_rankings",
    "table_is_current",
]


class RankingsData(NamedTuple):
    """Rankings as tensors of a model."""

    ranks: TensorVariable  # (n_rankings, n_slots), the observed value
    weight: TensorVariable  # (n_rankings,)
    item: TensorVariable  # (n_rankings, n_slots)
    sizes: TensorVariable  # (n_rankings, n_blocks)
    slot_utility: TensorVariable  # (n_rankings, n_slots)
    item_utility: TensorVariable | None  # (n_items,), None if utilities differ between rankings
    stages: tuple[TensorVariable, ...]  # fields of `bayesrank.data.derive.stages.Stages`
    dims: tuple[str, str]


def register_rankings(
    name: str,
    utility: Any,
    rankings: Rankings,
    *,
    outcome: str,
    dims: Sequence[str] | None = None,
    stages: bool = True,
) -> RankingsData:
    """Add the rankings to the model in context and gather a per-item utility into slots.

    Parameters
    ----------
    name : str
        Name of the distribution; prefixes the data.
    utility : tensor_like of float, (n_items,) or (n_rankings, n_slots)
        Log worth per item or per slot.
    rankings : Rankings
        What was observed.
    outcome : str
        What the log-probability is one of. It becomes a label in the model's data, and so in the
        results, where `bayesrank.compare` finds it.
    dims : two strings, optional
        Names of the axes; default ``("ranking", "slot")``. A second collection of rankings in
        one model needs names of its own.
    stages : bool
        Whether to find the stages that rankings share, for a per-item utility.

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
    dims = two_names(name, dims)
    for dim, axis in zip(dims, AXES, strict=True):
        add_coord(model, name, dim, rankings.coords[axis])

    # cast here: pm.Data stores 32 bits, and cumulative sums of those do not fold (PyTensor 3.3)
    ranks = pt.cast(pm.Data(f"{name}_ranks", rankings.ranks, dims=dims), "int64")
    item = pm.Data(f"{name}_item", rankings.item, dims=dims)
    sizes = pt.cast(pm.Data(f"{name}_sizes", rankings.block_sizes), "int64")
    weight = pm.Data(f"{name}_weight", rankings.weight, dims=dims[0])
    model.add_coord(f"{name}_outcome", [outcome])
    pm.Data(f"{name}_outcomes", [rankings.n_rankings], dims=f"{name}_outcome")
    # who ranked, and the labels of rankers and items, for what is read off the results
    pm.Data(f"{name}_ranker", rankings.ranker_idx, dims=dims[0])
    for axis, n_rankings in _rankings_of(rankings).items():
        labels = rankings.coords[axis]
        dim = label_axis(model, name, axis, labels, "rankings", known=per_item and axis == "item")
        pm.Data(f"{name}_{axis}_rankings", n_rankings, dims=dim)
    if not per_item:
        return RankingsData(ranks, weight, item, sizes, utility, None, (), dims)
    if not stages:
        return RankingsData(ranks, weight, item, sizes, utility[item], utility, (), dims)

    table = tuple(
        pytensor.shared(value, name=f"{model.name_for(name)}_{field}", borrow=True)
        for field, value in rankings.stages._asdict().items()
    )
    return RankingsData(ranks, weight, item, sizes, utility[item], utility, table, dims)


def set_rankings(name: str, rankings: Rankings, *, model: pm.Model | None = None) -> None:
    """Replace the rankings of a model, with all that was derived from them.

    What was compiled stays compiled: a loop over folds or problems compiles once. `pm.set_data`
    on ``{name}_ranks`` alone cannot do this, because the stages that rankings share follow from
    the ranks and the items together.

    Parameters
    ----------
    name : str
        Name of the distribution that observes the rankings.
    rankings : Rankings
        The new ones, over as many items.
    model : pm.Model, optional
        Default the model in context.

    Raises
    ------
    ValueError
        If the model has no such observed rankings, or the number of items differs.

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> both = br.Rankings.from_orderings([["a", "b", "c"], ["b", "a", "c"]])
    >>> one = both.subset([0])
    >>> with pm.Model(coords=both.coords) as model:
    ...     y = br.PlackettLuce("y", pm.Normal("utility", 0, 1, dims="item"), observed=both)
    >>> logp = model.compile_logp()
    >>> br.set_rankings("y", one, model=model)
    >>> round(float(logp({"utility": [0.0, 0.0, 0.0]}) + 1.5 * np.log(2 * np.pi)), 4)
    -1.7918
    """
    model = pm.modelcontext(model)
    full_name = model.name_for(name)
    needed = [f"{full_name}_{part}" for part in ("ranks", "weight", "item", "sizes")]
    if not all(part in model.named_vars for part in needed):
        observed = sorted(rv.name for rv in model.observed_RVs)
        raise ValueError(
            f"The model has no rankings observed as {full_name!r}; it observes {observed}."
        )
    shared = {
        variable.name: variable
        for variable in model[full_name].owner.inputs
        if isinstance(variable, SharedVariable)
    }
    table = {}
    if f"{full_name}_item_weight" in shared:
        n_items = shared[f"{full_name}_item_weight"].get_value(borrow=True).size
        if rankings.n_items != n_items:
            raise ValueError(
                f"{full_name!r} has {n_items} utilities, but the new rankings have "
                f"{rankings.n_items} items. Put them on the same axis, such as with subset()."
            )
        table = rankings.stages._asdict()
    dims = model.named_vars_to_dims[full_name]
    coords = {dim: rankings.coords[axis] for dim, axis in zip(dims, AXES, strict=True)}
    data = rankings.ranks, rankings.weight, rankings.item, rankings.block_sizes
    for part, value in zip(needed, data, strict=True):
        model.set_data(part, value, coords=None if part.endswith("_sizes") else coords)
    model.set_data(f"{full_name}_ranker", rankings.ranker_idx, coords=coords)
    for axis, n_rankings in _rankings_of(rankings).items():
        part = f"{full_name}_{axis}_rankings"
        (dim,) = model.named_vars_to_dims[part]
        model.set_data(part, n_rankings, coords={dim: rankings.coords[axis]})
    for field, value in table.items():
        shared[f"{full_name}_{field}"].set_value(value, borrow=True)


def table_is_current(
    ranks: TensorVariable, weight: TensorVariable, item: TensorVariable, table: Stages
) -> bool:
    """Whether the stage table was made from the ranks, weights and items that the data now hold.

    Asked when a log-probability is built: after `pm.set_data` the table is stale, and the rankings
    are evaluated one by one instead.
    """
    sources = table.slot_rank, table.ranking_weight, table.slot_item
    return all(map(_same, (ranks, weight, item), sources))


def _same(x: TensorVariable, y: TensorVariable) -> bool:
    """Whether two variables have the same value, and both have one."""
    known_x, known_y = known_value(x), known_value(y)
    return known_x is not None and known_y is not None and np.array_equal(known_x, known_y)


def known_value(x: Any) -> np.ndarray | None:
    """Value of a shared variable or constant; None of anything that is computed."""
    x = _uncast(x)
    value = x.get_value(borrow=True) if isinstance(x, SharedVariable) else getattr(x, "data", None)
    return None if value is None else np.asarray(value)


def is_observed(value: TensorVariable, ranks: TensorVariable) -> bool:
    """Whether the value of a log-probability is the data that was registered, whatever its cast.

    Structural or by content, because transformations of a model (freezing its data, cloning it)
    make new variables, and fold the casts of some.
    """
    return equal_computations([_uncast(value)], [_uncast(ranks)]) or _same(value, ranks)


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


def _rankings_of(rankings: Rankings) -> dict[str, np.ndarray]:
    """Count the rankings of every ranker, and those that every item is in."""
    return {
        "ranker": np.bincount(rankings.ranker_idx, minlength=len(rankings.rankers)),
        "item": np.bincount(rankings.item[rankings.mask], minlength=rankings.n_items),
    }


def refuse_single_precision() -> None:
    """Raise if PyTensor is set to float32, which would also store item numbers in 16 bits."""
    if pytensor.config.floatX != "float64":
        raise ValueError(
            f"pytensor.config.floatX is {pytensor.config.floatX!r}: bayesrank computes in double "
            "precision, and item numbers beyond 32,767 would wrap around. Set "
            "pytensor.config.floatX = 'float64'."
        )
