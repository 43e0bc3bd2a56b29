"""Weak orders: draws and observed `Rankings` of all distributions of rankings."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType, SimpleNamespace
from typing import Any, ClassVar, Literal, Unpack

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.data import MinibatchOp
from pymc.distributions.distribution import Discrete
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Variable
from pytensor.graph.traversal import ancestors
from pytensor.tensor import TensorConstant, TensorVariable

from bayesrank.data import Rankings
from bayesrank.data.read import label_repr as short_repr
from bayesrank.distributions.core.arguments import NamedArguments
from bayesrank.distributions.core.by_name import (
    Named,
    in_slots,
    refuse_utility_dims,
    utility_by_name,
)
from bayesrank.distributions.core.drawn import DrawnRV
from bayesrank.distributions.core.observed import (
    DataPart,
    ObservedRV,
    Options,
    Record,
    as_double,
    check_rows,
    data_dims,
    observed_options,
    refuse_other_data,
    refuse_single_precision,
    uncast,
)
from bayesrank.distributions.core.outcomes import labelled
from bayesrank.schema import (
    COUNT,
    ITEM,
    RANKER,
    RANKINGS,
    RANKS,
    WEIGHT,
    are_numbers,
    groups_of,
    name_count,
    name_of,
)

__all__ = [
    "ObservedRankingsRV",
    "WeakOrderRV",
    "WeakOrders",
    "blocks_of_one",
    "fits_sizes",
    "observed_orders",
    "observed_ranks",
    "ranks_from_scores",
    "slot_order_ranks",
    "slot_parameters",
]


def ranks_from_scores(score: Any, where: Any, sizes: Any) -> TensorVariable:
    """Rank slots by decreasing score, and cut the order into blocks.

    Parameters
    ----------
    score : TensorVariable of float, (..., n_slots)
        Scores; the highest gets rank 1.
    where : TensorVariable of bool, (..., n_slots)
        Slots in use; others get rank 0.
    sizes : TensorVariable of int, (..., n_blocks)
        Block sizes, best first; ``n_blocks == 0`` means a full ranking.

    Returns
    -------
    TensorVariable of int64, (..., n_slots)
        Dense ranks.
    """
    order = pt.argsort(pt.switch(where, -score, np.inf), axis=-1)
    place = pt.cast(pt.argsort(order, axis=-1), "int64")  # from 0
    return pt.switch(where, 1 + _blocks_before(place, sizes), 0)


def slot_order_ranks(rv: TensorVariable, where: Any, sizes: Any) -> TensorVariable:
    """Rank the slots in use from left to right, and cut the order into blocks."""
    place = pt.cumsum(pt.cast(where, "int64"), axis=-1) - 1
    ranks = pt.switch(where, 1 + _blocks_before(place, sizes), 0)
    return pt.zeros_like(rv) + ranks


def fits_sizes(
    value: TensorVariable, where: TensorVariable, sizes: TensorVariable
) -> TensorVariable:
    """Return whether only the slots in use have ranks, and blocks have the given sizes, (...)."""
    out = pt.all(pt.eq(value > 0, where), axis=-1)
    if sizes.type.shape[-1] == 0:
        return out
    block = pt.cumsum(pt.ones_like(sizes), axis=-1)
    counts = pt.sum(pt.eq(value[..., :, None], block[..., None, :]), axis=-2)
    return out & pt.all(pt.eq(counts, sizes), axis=-1)


def blocks_of_one(utility: Any, where: Any = None) -> TensorVariable:
    """Return the block sizes of a full ranking of the slots in use, (..., n_slots)."""
    if where is None:
        return pt.ones_like(pt.atleast_1d(pt.as_tensor_variable(utility)), dtype="int64")
    return -pt.sort(-pt.cast(pt.as_tensor_variable(where), "int64"), axis=-1)


def observed_ranks(
    class_name: str, observed: Any, utility: Any, options: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Check an array of ranks, and find the slots in use.

    Parameters
    ----------
    class_name : str
        Name of the distribution.
    observed : array_like or TensorVariable
        Dense ranks; the last axis holds slots. 0 and NaN mark unranked items.
    utility : tensor_like
        Utilities, one per slot.
    options : dict
        Options of the distribution; ``where`` is added if slots are empty and it is missing.

    Returns
    -------
    tuple of array of int or TensorVariable, and dict
        Tensors are returned unchanged; `logp` checks their values.

    Raises
    ------
    TypeError
        For data of another type, a table, strings, or a weight, which arrays cannot have.
    ValueError
        If the numbers are not dense ranks.
    """
    for option in ("count", "weight"):
        if options.get(option) is not None:
            raise TypeError(
                f"{class_name} got {option}= with an array. Give it to the rankings: "
                f"observed=Rankings.from_orderings(..., {option}=...)."
            )
    refuse_other_data(class_name, observed, Rankings, "Rankings.from_ranks or from_ratings")
    if isinstance(observed, Variable):
        is_batch = observed.owner is not None and isinstance(observed.owner.op, MinibatchOp)
        if is_batch and observed.dtype != "int32":
            raise TypeError(
                f"{class_name} got a minibatch of {observed.dtype}, which PyMC casts to int32 and "
                "then does not treat as data. Give pm.Minibatch(ranks.astype('int32'), ...)."
            )
        return observed, options
    read = "Read labels and lists of different lengths with Rankings.from_orderings."
    try:
        ranks = np.ma.filled(np.ma.asarray(observed).astype(np.float64), np.nan)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{class_name} got observed={short_repr(observed)}, which is not an array of ranks (1 "
            f"= best). {read}"
        ) from error
    if not ranks.ndim:
        raise ValueError(f"{class_name} got observed={ranks}: give one rank per slot.")
    if not ranks.size:
        raise ValueError(
            f"{class_name} got observed= of shape {ranks.shape}, which holds no ranks."
        )
    missing = np.isnan(ranks)
    ranks = np.where(missing, 0.0, ranks)
    _check_ranks(class_name, ranks)
    length = pt.as_tensor_variable(utility).type.shape[-1:]
    if length not in ((), (1,), (None,), ranks.shape[-1:]):
        raise ValueError(
            f"{class_name} got {ranks.shape[-1]} ranks per ranking, but utilities of {length[0]} "
            "slots. Give one utility per rank."
        )
    check_rows(class_name, ranks.shape[:-1], "rankings", {"utility": (utility, 1)})
    empty = ranks == 0
    where = options.get("where")
    if where is None and empty.any():
        if not missing.any() and empty.any(axis=-1).all():
            raise ValueError(
                f"Each ranking in observed= of {class_name} has a rank 0. If ranks count from 0, "
                "add 1. If 0 marks an unranked item, pass where=observed > 0."
            )
        options = {**options, "where": ~empty}
    elif where is not None and not isinstance(where, Variable):
        in_use = np.broadcast_to(np.asarray(where, dtype=bool), ranks.shape)
        if (in_use == empty).any():
            place = tuple(int(i) for i in np.argwhere(in_use == empty)[0])
            rank, used = ("no rank", "in use") if empty[place] else ("a rank", "not in use")
            raise ValueError(
                f"The slot {list(place)} has {rank} in observed= of {class_name}, but is {used} "
                "according to where=."
            )
    return ranks.astype(np.int64), options


def observed_orders(
    class_name: str,
    observed: Any,
    options: dict[str, Any],
    parameters: Mapping[str, tuple[Any, int]],
    *,
    partial: bool,
) -> tuple[Any, dict[str, Any]]:
    """Check an array of ranks for a model of full and possibly partial rankings.

    Parameters
    ----------
    class_name, observed, options
        As in `observed_ranks`.
    parameters : mapping
        As in `check_rows`.
    partial : bool
        Whether items may be left out.

    Returns
    -------
    tuple of array of int or TensorVariable, and dict
        As in `observed_ranks`.

    Raises
    ------
    TypeError, ValueError
        As in `observed_ranks`, and for ties without ``sizes``.
    """
    observed, options = observed_ranks(class_name, observed, 0.0, options)
    if isinstance(observed, np.ndarray):
        check_rows(class_name, observed.shape[:-1], "rankings", parameters)
        ordered = np.sort(observed.reshape(-1, observed.shape[-1]), axis=-1)
        wrong = {
            "leave items out": (not partial) & (ordered[:, 0] == 0),
            "have ties": ((np.diff(ordered) == 0) & (ordered[:, 1:] > 0)).any(axis=-1)
            & (options.get("sizes") is None),
        }
        for mistake, bad in wrong.items():
            if bad.any():
                row = observed.reshape(-1, observed.shape[-1])[bad.argmax()].tolist()
                raise ValueError(
                    f"The ranks {short_repr(row)} in observed= of {class_name} {mistake}; an array "
                    "must hold full rankings. Read partial ones with Rankings.from_ranks. Or give "
                    "a consensus, and the number of items of each block as sizes=."
                )
    return observed, options


def _check_ranks(class_name: str, ranks: NDArray[np.float64]) -> None:
    """Raise unless ranks are 1, 2, ... without gaps, and 0 for unranked items."""
    rows = ranks.reshape(-1, ranks.shape[-1])
    ordered = np.sort(rows, axis=-1)
    steps = np.diff(ordered, axis=-1, prepend=0)
    dense = "use scipy.stats.rankdata(..., method='dense')"
    wrong = {
        "are not finite": (~np.isfinite(rows), "use 0 or NaN for unranked items"),
        "are negative": (rows < 0, "1 is the best"),
        "are not whole": (rows != np.round(rows), f"for average ranks of ties, {dense}"),
        "have gaps": (steps > 1, f"for ranks such as 1, 2, 2, 4, {dense}"),
    }
    for mistake, (bad, way_out) in wrong.items():
        if bad.any():
            row = rows[bad.any(axis=-1).argmax()]
            raise ValueError(
                f"The ranks {short_repr(row.tolist())} in observed= of {class_name} {mistake}: "
                f"{way_out}."
            )


def _blocks_before(place: TensorVariable, sizes: TensorVariable) -> TensorVariable:
    """Count the blocks that end at or before each place."""
    if sizes.type.shape[-1] == 0:
        return place
    ends = pt.cumsum(sizes, axis=-1)
    # empty blocks after the last one end after all slots in use, so that no place reaches them
    return pt.sum(place[..., :, None] >= ends[..., None, :], axis=-1, dtype="int64")


# ---------------------------------------------------------------------------------------------
# Observed rankings
# ---------------------------------------------------------------------------------------------


class ObservedRankingsRV(ObservedRV):
    """Ranks of the slots, with the observed data among the parameters."""

    data_types = (Rankings,)
    data_name = "rankings"
    axes: ClassVar[tuple[str, ...]] = ("ranking", "slot")
    example: ClassVar[tuple[str, ...]] = ("race", "place")
    value = "ranks"
    gathered: ClassVar[tuple[str, ...]] = ("utility",)  # parameters that follow the data
    called: ClassVar[Mapping[str, str]] = MappingProxyType({})  # users' names for some of them

    @classmethod
    def record(cls, name: str, data: Rankings, p: SimpleNamespace) -> Record:
        # rankers, and numbers of rankings of rankers and items, which functions of results need
        by_ranker = np.bincount(data.ranker_idx, minlength=len(data.rankers))
        by_item = np.bincount(data.item[data.mask], minlength=data.n_items)
        groups = {name: DataPart(idx, ("ranking",)) for name, (_, idx) in data.groups.items()}
        groups |= {
            name_count(name, RANKINGS): DataPart(np.bincount(idx, minlength=len(labels)), (name,))
            for name, (labels, idx) in data.groups.items()
        }
        return Record(
            labels=data.coords,
            parts={
                RANKS: DataPart(data.ranks, cls.axes),
                ITEM: DataPart(data.item, cls.axes),
                WEIGHT: DataPart(data.evidence, ("ranking",)),
                COUNT: DataPart(data.count, ("ranking",)),
                RANKER: DataPart(data.ranker_idx, ("ranking",)),
                name_count(RANKER, RANKINGS): DataPart(by_ranker, ("ranker",)),
                name_count(ITEM, RANKINGS): DataPart(by_item, ("item",)),
            }
            | groups,
            derived={"sizes": data.block_sizes.astype(np.int64)},
        )

    @classmethod
    def on_axes(cls, model: pm.Model, name: str, data: Rankings, p: SimpleNamespace) -> Rankings:
        for part in cls._followed(model, name, p):
            parameter = cls._follower(model, name, p, part)
            kept = _labels_of(model, name, name_count(part, RANKINGS))
            new = data.coords.get(part)
            if new is None:
                raise ValueError(
                    f"{name!r} has {parameter} by {part}, but the new rankings are not grouped by "
                    f"it. Read them with by={part!r}, or use Rankings.grouped."
                )
            if np.array_equal(kept, new):
                continue
            if part == RANKER and are_numbers(new):
                raise ValueError(
                    f"{name!r} has {parameter} by ranker, but the new rankings have no rankers. "
                    "Read them with rankers= of Rankings.from_orderings or ranker= of "
                    "Rankings.from_ratings."
                )
            try:
                data = data.reindex({part: kept})
            except ValueError as error:
                raise ValueError(
                    f"{name!r} has {parameter} by {part}, and the new rankings have other labels. "
                    f"{error} Build the model with all labels that it will ever see, or take a "
                    "subset of the rankings."
                ) from error
        return data

    @classmethod
    def check_value(cls, value: TensorVariable, p: SimpleNamespace) -> None:
        given = uncast(value)
        # in a frozen model the observed ranks are constants as well
        is_frozen = not any(isinstance(x, SharedVariable) for x in ancestors([p.ranks]))
        if isinstance(given, TensorConstant) and not is_frozen and _are_sorted(given.data):
            raise ValueError(
                "The given ranks ascend from slot to slot in every ranking, as `ranks` of any "
                "Rankings do. Here they would rank the items that the model observed before. "
                "Replace the rankings of the model with br.set_observed."
            )

    @classmethod
    def _followed(cls, model: pm.Model, name: str, p: SimpleNamespace) -> list[str]:
        """Return the axes that gather parameters; raise if the parameters ignore new data."""
        parameter = cls.gathered[0]
        graph = set(ancestors([getattr(p, field) for field in cls.gathered]))
        rows, _ = model.named_vars_to_dims[name]
        groups, named = groups_of(name, data_dims(model, name), rows), {x.name for x in graph}
        gathering = [g for g in (ITEM, *groups) if name_of(name, g) in named]
        main = set(ancestors([getattr(p, x) for x in cls.gathered if x not in cls.called]))
        if not main.isdisjoint([*model.data_vars, model.dim_lengths[rows]]):
            return gathering
        raise ValueError(
            f"The {parameter} of {name!r} has one entry per slot of the original rankings, and "
            "does not depend on the new data. Give one per item, or gather it by a pm.Data named "
            f"{name_of(name, ITEM)!r}, which set_observed replaces."
        )

    @classmethod
    def _follower(cls, model: pm.Model, name: str, p: SimpleNamespace, part: str) -> str:
        """Name the first parameter that a part of the data gathers."""
        codes, known = name_of(name, part), [x for x in cls.gathered if hasattr(p, x)]
        by = [x for x in known if codes in {y.name for y in ancestors([getattr(p, x)])}]
        field = (*by, cls.gathered[0])[0]
        return cls.called.get(field, field)

    @classmethod
    def slot_values(cls, utility: Named, data: SimpleNamespace) -> dict[str, TensorVariable]:
        """Return the parameters that all distributions of rankings share."""
        return {
            "utility": in_slots(utility, vars(data)),
            "where": data.ranks > 0,
            "ranks": data.ranks,
            "weight": data.weight,
        }


def _are_sorted(ranks: NDArray[Any]) -> bool:
    """Tell whether the slots of all rankings stand in the order of their ranks, empty ones last."""
    order = np.where(ranks > 0, ranks, np.iinfo(ranks.dtype).max)
    return bool((order[..., :-1] <= order[..., 1:]).all())


def _labels_of(model: pm.Model, name: str, part: str) -> Any:
    """Return the labels of the axis of stored data."""
    (dim,) = data_dims(model, name)[name_of(name, part)]
    return model.coords[dim]


# ---------------------------------------------------------------------------------------------
# Distributions with a utility for each slot
# ---------------------------------------------------------------------------------------------


class WeakOrderOptions(Options, total=False):
    """Options of distributions of weak orders."""

    where: Any
    sizes: Any
    aggregate: str
    tie_prevalence: Any
    given_sizes: bool
    stage_scale: Any
    method: Literal["sequential", "marley"]


class WeakOrderRV(DrawnRV):
    """Ranks of slots."""

    value_axes = "slot"

    @classmethod
    def support_point(cls, rv: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        """Return the items in the order of their slots, cut by the block sizes."""
        return slot_order_ranks(rv, p.where, p.sizes)


class WeakOrders(Discrete, metaclass=NamedArguments):
    """A distribution of the ranks of slots."""

    settings: ClassVar[Sequence[str]] = ()  # options for observed rankings
    by_row: ClassVar[Sequence[str]] = ()  # options that may differ between rankings
    given_sizes: ClassVar[bool] = False  # whether block sizes are given, not random

    def __new__(
        cls,
        name: str,
        utility: Any,
        *,
        observed: Any = None,
        utility_dims: str | Sequence[str] | None = None,
        **kwargs: Unpack[WeakOrderOptions],
    ) -> TensorVariable:
        refuse_single_precision()
        options: dict[str, Any] = {**kwargs}
        if isinstance(observed, Rankings):
            settings, options = observed_options(
                cls.__name__,
                observed,
                options,
                takes=cls.settings,
                brings=("where", "sizes"),
                instead=", or pass observed=rankings.ranks",
            )
            dims = options.get("dims")
            read = utility_by_name(name, utility, observed, utility_dims=utility_dims, dims=dims)
            return cls.observe(name, read, observed, settings, options)
        refuse_utility_dims(cls.__name__, utility_dims)
        if observed is not None:
            observed, options = observed_ranks(cls.__name__, observed, utility, options)
            if isinstance(observed, np.ndarray):
                weights = {option: (options.get(option), 1) for option in cls.by_row}
                check_rows(cls.__name__, observed.shape[:-1], "rankings", weights)
                cls.check_ranks(name, observed.reshape(-1, observed.shape[-1]), options)
        elif options.get("given_sizes", cls.given_sizes) and options.get("sizes") is None:
            # the values of an unobserved variable are its draws
            options["sizes"] = blocks_of_one(utility, options.get("where"))
        rv = super().__new__(cls, name, utility, observed=observed, **options)
        return rv if observed is None else labelled(name, rv)

    @classmethod
    def observe(
        cls, name: str, utility: Named, rankings: Rankings, settings: Any, options: Any
    ) -> TensorVariable:
        """Add observed rankings to the model in context, with the given `settings`."""
        raise NotImplementedError

    @classmethod
    def check_ranks(cls, name: str, ranks: NDArray[Any], options: Mapping[str, Any]) -> None:
        """Raise if observed rows of ranks have no probability."""


def slot_parameters(utility: Any, where: Any, sizes: Any) -> list[TensorVariable]:
    """Return utilities, slots in use and block sizes (length 0 by default) as tensors."""
    utility = pt.atleast_1d(as_double(utility, "`utility`"))
    where = pt.ones_like(utility, dtype=bool) if where is None else where
    sizes = pt.zeros((0,), dtype="int64") if sizes is None else sizes
    where = pt.cast(pt.as_tensor_variable(where), "bool")
    return [utility, where, pt.cast(pt.as_tensor_variable(sizes), "int64")]
