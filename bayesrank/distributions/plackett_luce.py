r"""Plackett-Luce as a PyMC distribution: rankings, top-k lists and weak orders.

The value is one weak order per ranking: dense `ranks` aligned with the slots (1 = best, equal =
one block whose inside order is unknown, 0 = empty slot). The last axis is the slots, the axes
before it are rankings, and `logp` is one number per ranking.

Two forms share the class. With arrays, `utility` has one entry per slot and the value stays
symbolic. With ``observed=`` a `Rankings`, the class registers the data, names the dims and, if
`utility` has one entry per item, evaluates every stage that rankings share once.

>>> import pymc as pm
>>> round(float(pm.logp(PlackettLuce.dist([0.3, 1.2, -0.5]), [2, 1, 1]).exp().eval()), 6)
0.276799
"""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, ClassVar, Unpack

import numpy as np
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import Discrete
from pytensor.tensor import TensorVariable

from bayesrank.data import Rankings
from bayesrank.data.derive import Stages, stage_table
from bayesrank.distributions.by_name import by_items, flat_places, utility_by_name
from bayesrank.distributions.drawn import DrawnRV
from bayesrank.distributions.observed import (
    DistOptions,
    Options,
    Record,
    as_double,
    is_observed,
    known_value,
    observe,
    observed_options,
    refuse_single_precision,
    same_value,
    signature,
    with_given,
)
from bayesrank.distributions.orders import (
    ObservedRankingsRV,
    batch_shape,
    blocks_of_one,
    fits,
    observed_ranks,
    ranks_from_scores,
    refuse_utility_dims,
    slot_order_ranks,
)
from bayesrank.distributions.outcomes import labelled
from bayesrank.likelihoods.plackett_luce import ranking_logp, weak_order_logp
from bayesrank.schema import ITEM, RANKER

__all__ = ["PlackettLuce"]

PARAMETERS = {
    "utility": "slot",
    "where": "slot",
    "sizes": "block",  # of length 0: full rankings
    "nodes": "",
}
OBSERVED = PARAMETERS | {"ranks": "slot", "weight": ""}
STAGES = {
    "entry_item": "entry",
    "node_start": "node_bound",
    "node_child": "node",
    "block_item": "tied",
    "block_start": "tied_bound",
    "block_below": "tied_block",
    "block_entry": "tied",
    "slot_item": "ranking,slot_of_ranking",
    "slot_rank": "ranking,slot_of_ranking",
    "node_slot": "node",
    "single_item": "single",
    "single_node": "single",
    "stage_of": "use",
    "ranking_of": "use",
    "ranking_weight": "ranking",
    "item_weight": "item",
    "node_weight": "node",
    "block_weight": "tied_block",
}


class PlackettLuceRV(DrawnRV):
    """Draw: sort utility + Gumbel noise, and cut the order by the block sizes."""

    name = "plackett_luce"
    extended_signature = signature(PARAMETERS, "slot")
    _print_name = ("PlackettLuce", "\\operatorname{PlackettLuce}")

    @classmethod
    def outcome(cls, *parameters: Any) -> str:
        """Say what the log-probability is one of."""
        return "weak orders given their block sizes"

    @classmethod
    def draw(cls, rng: Any, size: Any, *parameters: Any) -> tuple[Any, TensorVariable]:
        utility, where, sizes = parameters[:3]
        batch = batch_shape(utility, where, sizes) if size is None else size
        shape = (*batch, utility.shape[-1])
        next_rng, noise = pt.random.gumbel(0, 1, size=shape, rng=rng, return_next_rng=True)
        return next_rng, ranks_from_scores(utility + noise, where, sizes)


class PlackettLuce(Discrete):
    r"""Plackett-Luce log-likelihood of rankings, top-k lists and weak orders.

    .. math:: P(S_1 > \dots > S_M) = \prod_{m<M} \int_0^1 \prod_{i \in S_m}
              \left(1 - u^{a_i}\right) du, \qquad
              a_i = \frac{e^{w_i}}{\sum_{j \in S_{m+1} \cup \dots \cup S_M} e^{w_j}}

    where the blocks :math:`S_1, S_2, \dots` are items of which the order inside is unknown; it is
    the sum of the Plackett-Luce probabilities of all orderings consistent with the blocks, exact
    to 1e-11. With blocks of one it is the usual product of choices
    :math:`e^{w_i} / \sum_{j \in R} e^{w_j}`.

    ========  ==================================================================
    Support   weak orders of the slots in use (given their block sizes)
    Axes      the last one is slots; the ones before it are rankings
    ========  ==================================================================

    Parameters
    ----------
    name : str
        Name of the variable.
    utility : tensor_like of float, (..., n_slots), or variable with dims
        Log worth. Only differences matter: give it a proper prior, `pm.ZeroSumNormal` where
        rankings are long and many, `pm.Normal` where some items are hardly ever compared. With a
        `Rankings`, it is by item, ``dims="item"``, or by ranker, ranking or slot as well, such as
        ``dims=("ranker", "item")``: every slot gets what is its own.
    utility_dims : str or sequence of str, optional
        With a `Rankings`, dims of a utility that has no names: ``("ranking", "slot")`` is one for
        every slot, best first. Variables of the model and those of `pymc.dims` have names; without
        any, the shape decides where it can be read in one way only.
    where : tensor_like of bool, (..., n_slots), optional
        Slots in use; default all. A `Rankings` brings its own.
    sizes : tensor_like of int, (..., n_blocks), optional
        Sizes of the blocks, best first, 0 after the last: draws get blocks of these sizes.
        Without it draws are full rankings, and a variable that is not observed has no other
        values; observed values with ties need no `sizes`.
    nodes : int
        Quadrature nodes of the graph that JAX and third derivatives use. The compiled kernel
        (numba and C modes) spaces its nodes by need.
    observed : Rankings or array_like of int, optional
        A `Rankings` registers its data as ``{name}_ranks``, ``{name}_weight``, ``{name}_item``
        and ``{name}_sizes``, gathers a per-item utility into slots and names the dims (ranking,
        slot), or what `dims` says. An array holds ranks aligned with `utility`.

    Returns
    -------
    TensorVariable of int, (..., n_slots)
        The ranks; `logp` and the pointwise log-likelihood have one number per ranking, times its
        weight.

    Raises
    ------
    ValueError
        If the shape of `utility` fits the `Rankings` in no way, or in more than one and it has no
        dims; or if its dims have other labels than they.
    TypeError
        On unknown arguments.

    References
    ----------
    Plackett, The analysis of permutations, Applied Statistics 1975; Ma et al.,
    Learning-to-rank with partitioned preference, AISTATS 2021, eq. 4.

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> rankings = br.Rankings.from_orderings([["a", "b", "c"], ["b", {"a", "c"}]])
    >>> with pm.Model(coords=rankings.coords) as model:
    ...     utility = pm.ZeroSumNormal("utility", 1.0, dims="item")
    ...     y = br.PlackettLuce("y", utility, observed=rankings)
    >>> model.named_vars_to_dims["y"]
    ('ranking', 'slot')
    """

    rv_type = PlackettLuceRV
    rv_op = PlackettLuceRV.rv_op

    def __new__(
        cls,
        name: str,
        utility: Any,
        *,
        observed: Any = None,
        utility_dims: str | Sequence[str] | None = None,
        where: Any = None,
        sizes: Any = None,
        nodes: int = 48,
        **kwargs: Unpack[Options],
    ) -> TensorVariable:
        refuse_single_precision()
        options: dict[str, Any] = {"where": where, "sizes": sizes, **kwargs}
        if not isinstance(observed, Rankings):
            refuse_utility_dims("PlackettLuce", utility_dims)
            if observed is not None:
                observed, options = observed_ranks("PlackettLuce", observed, utility, options)
            elif sizes is None:
                # what is not observed has the values that are drawn
                options["sizes"] = blocks_of_one(utility, where)
            rv = super().__new__(cls, name, utility, observed=observed, nodes=nodes, **options)
            return rv if observed is None else labelled(name, rv)
        _, options = observed_options(
            "PlackettLuce",
            observed,
            options,
            brings=("where", "sizes"),
            instead=", or pass observed=rankings.ranks",
        )
        by_name = utility_by_name(
            name, utility, observed, utility_dims=utility_dims, dims=options.get("dims")
        )
        spread = by_items(by_name)
        item_utility, groups = (None, ()) if spread is None else spread
        kind = SlotPlackettLuceRV if spread is None else ItemPlackettLuceRV.with_groups(groups)
        given = {"nodes": pt.constant(nodes), "item_utility": item_utility}
        return observe(
            kind,
            name,
            observed,
            given,
            lambda data: {**kind.of_slots(by_name, data), **kind.of_items(data)},
            outcome=kind.outcome(),
            items_known=ITEM in by_name.axes,
            **options,
        )

    @classmethod
    def dist(
        cls,
        utility: Any,
        *,
        where: Any = None,
        sizes: Any = None,
        nodes: int = 48,
        **kwargs: Unpack[DistOptions],
    ) -> TensorVariable:
        """Make a distribution without a name, to draw from or to put into others.

        Parameters are those of the class, with `shape`, `size` and `rng` as in PyMC; `utility` is
        (..., n_slots). Draws are ranks (..., n_slots). The log-probability of ranks with ties is
        that given their block sizes.

        Examples
        --------
        >>> import bayesrank as br, pymc as pm
        >>> y = br.PlackettLuce.dist([2.0, 0.0, 1.0])
        >>> round(float(pm.logp(y, [1, 3, 2]).exp().eval()), 3)
        0.486
        """
        refuse_single_precision()
        given = utility
        utility = pt.atleast_1d(as_double(utility, "`utility`"))
        where = pt.ones_like(utility, dtype=bool) if where is None else where
        where = pt.cast(pt.as_tensor_variable(where), "bool")
        sizes = pt.zeros((0,), dtype="int64") if sizes is None else sizes
        sizes = pt.cast(pt.as_tensor_variable(sizes), "int64")
        rv = super().dist([utility, where, sizes, pt.constant(nodes)], **kwargs)
        return with_given(rv, utility=given)

    def support_point(
        rv: TensorVariable, size: Any, utility: Any, where: Any, sizes: Any, *_: Any
    ) -> TensorVariable:
        """Return the items in the order of their slots, cut by the block sizes."""
        return slot_order_ranks(rv, where, sizes)

    def logp(value: Any, utility: Any, where: Any, sizes: Any, nodes: Any) -> TensorVariable:
        """One log-probability per ranking."""
        if value.dtype.startswith(("int", "uint")):
            value = pt.cast(value, "int64")  # for one kernel, compiled once
        logp = weak_order_logp(pt.switch(where, utility, 0.0), value, nodes=int(nodes.data))
        return check_parameters(
            pt.switch(fits(value, where, sizes), logp, -pt.inf),
            pt.all(~where | pt.isfinite(utility)),
            msg="utility must be finite in the slots in use",
        )


class SlotPlackettLuceRV(ObservedRankingsRV, PlackettLuceRV):
    """Rankings observed with one utility per slot: validated once, not at every evaluation."""

    rows_apart = True
    value_axes = "slot"
    parameters = OBSERVED

    @classmethod
    def of_items(cls, data: SimpleNamespace) -> dict[str, TensorVariable]:
        """Return the parameters that select the utilities of slots, given the registered data."""
        return {}

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        if is_observed(value, p.ranks):
            return p.weight * weak_order_logp(p.utility, value, nodes=int(p.nodes.data))
        return p.weight * PlackettLuce.logp(value, p.utility, p.where, p.sizes, p.nodes)


class ItemPlackettLuceRV(SlotPlackettLuceRV):
    """Rankings observed with one utility per item: stages that rankings share count once.

    With utilities by `groups` and item, all items of all groups are on one axis, so that the
    rankings of a group share stages.
    """

    groups: ClassVar[tuple[str, ...]] = ()  # outermost first
    parameters = OBSERVED | {"item": "slot", "lengths": "axis", "item_utility": "item"} | STAGES
    derives_weights = True

    @classmethod
    def with_groups(cls, groups: tuple[str, ...]) -> type["ItemPlackettLuceRV"]:
        """Return the class of rankings with one utility per item of each of these groups."""
        more = {_code_of(group): "" for group in groups}
        return cls.structured(more, groups=groups) if groups else cls

    @classmethod
    def of_items(cls, data: SimpleNamespace) -> dict[str, TensorVariable]:
        return {"item": data.item} | {_code_of(group): vars(data)[group] for group in cls.groups}

    @classmethod
    def record(cls, name: str, data: Rankings, p: SimpleNamespace) -> Record:
        stages, lengths = data.stages, [data.n_items]
        if cls.groups:
            axes = {RANKER: (data.rankers, data.ranker_idx), **data.groups}
            labels, codes = zip(*(axes[group] for group in cls.groups), strict=True)
            lengths = [*map(len, labels), data.n_items]
            place = _places(lengths, codes, data.item)
            stages = stage_table(place, data.ranks, data.weight, int(np.prod(lengths)))
        derived = stages._asdict() | {"lengths": np.array(lengths)}
        return super().record(name, data, p)._replace(derived=derived)

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        if not is_observed(value, p.ranks) or not cls._is_current(p):
            return p.weight * PlackettLuce.logp(value, p.utility, p.where, p.sizes, p.nodes)
        stages = tuple(getattr(p, field) for field in Stages._fields)
        return ranking_logp(p.item_utility, stages, nodes=int(p.nodes.data))

    @classmethod
    def logp_by_row(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        return SlotPlackettLuceRV.logp(value, p)  # rankings share stages

    @classmethod
    def _is_current(cls, p: SimpleNamespace) -> bool:
        """Whether the stages are those of the data as they are now.

        The answer decides how a log-probability is built: where data were replaced, such as by
        some of their rows, the rankings are evaluated one by one.
        """
        if not same_value(p.ranks, p.slot_rank) or not same_value(p.weight, p.ranking_weight):
            return False
        codes = (getattr(p, _code_of(group)) for group in cls.groups)
        known = [known_value(x) for x in (p.slot_item, p.lengths, p.item, *codes)]
        if any(x is None for x in known):
            return False
        before, lengths, item, *now = known
        return np.array_equal(_places(lengths, now, item), before)  # type: ignore[arg-type]


def _code_of(group: str) -> str:
    """Name the parameter that has the label of a group for every ranking."""
    return f"{group}_of_ranking"


def _places(lengths: Any, codes: Sequence[Any], item: Any) -> NDArray[Any]:
    """Place of every slot's item among the items of all groups."""
    place = flat_places([*(code[:, None] for code in codes), item], lengths)
    return place.astype(np.int32 if np.prod(lengths) < 2**31 else np.int64)
