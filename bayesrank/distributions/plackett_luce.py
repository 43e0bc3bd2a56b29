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

from typing import Any

import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import Discrete, SymbolicRandomVariable
from pymc.distributions.shape_utils import rv_size_is_none
from pymc.pytensorf import normalize_rng_param
from pytensor.tensor import TensorVariable
from pytensor.tensor.random.utils import normalize_size_param

from bayesrank.data.derive.stages import Stages
from bayesrank.data.rankings import Rankings
from bayesrank.distributions.observed import (
    RankingsData,
    is_observed,
    refuse_single_precision,
    register_rankings,
    table_is_current,
)
from bayesrank.distributions.orders import (
    batch_shape,
    fits,
    ranks_from_scores,
    slot_order_ranks,
)
from bayesrank.likelihoods.plackett_luce.per_item import ranking_logp
from bayesrank.likelihoods.plackett_luce.per_slot import weak_order_logp

__all__ = ["PlackettLuce"]

# parameters: utility, where, sizes (length 0: full rankings), nodes
ARRAY_SIGNATURE = "[rng],[size],(n),(n),(m),()->[rng],(n)"
# and then the observed ranks and weights, the items in the slots, all utilities, fields of Stages
ITEM_SIGNATURE = (
    "[rng],[size],(n),(n),(m),(),(n),(),(n),(k),"
    "(e),(f),(g),(j),(l),(o),(j),(r,s),(r,s),(g),(h),(h),(q),(q),(r),(k),(g),(o)->[rng],(n)"
)
SLOT_SIGNATURE = "[rng],[size],(n),(n),(m),(),(n),()->[rng],(n)"


class PlackettLuceRV(SymbolicRandomVariable):
    """Draw: sort utility + Gumbel noise, and cut the order by the block sizes."""

    name = "plackett_luce"
    extended_signature = ARRAY_SIGNATURE
    _print_name = ("PlackettLuce", "\\operatorname{PlackettLuce}")

    @classmethod
    def rv_op(
        cls,
        utility: Any,
        where: Any,
        sizes: Any,
        nodes: Any,
        *observed: Any,
        size: Any = None,
        rng: Any = None,
    ) -> TensorVariable:
        params = [pt.as_tensor_variable(x) for x in (utility, where, sizes, nodes, *observed)]
        utility, where, sizes = params[:3]
        rng = normalize_rng_param(rng)
        size = normalize_size_param(size)

        batch = batch_shape(utility, where, sizes) if rv_size_is_none(size) else tuple(size)
        shape = (*batch, utility.shape[-1])
        next_rng, noise = pt.random.gumbel(0, 1, size=shape, rng=rng, return_next_rng=True)
        ranks = ranks_from_scores(utility + noise, where, sizes)
        return cls(inputs=[rng, size, *params], outputs=[next_rng, ranks])(rng, size, *params)


class ItemPlackettLuceRV(PlackettLuceRV):
    """With the observed rankings and their distinct stages among its parameters."""

    extended_signature = ITEM_SIGNATURE


class SlotPlackettLuceRV(PlackettLuceRV):
    """With the observed rankings and their weights among its parameters."""

    extended_signature = SLOT_SIGNATURE


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
    utility : tensor_like of float, (..., n_slots) or, with a `Rankings`, (n_items,)
        Log worth. Only differences matter: give it a proper prior, `pm.ZeroSumNormal` where
        rankings are long and many, `pm.Normal` where some items are hardly ever compared.
    where : tensor_like of bool, (..., n_slots), optional
        Slots in use; default all. A `Rankings` brings its own.
    sizes : tensor_like of int, (..., n_blocks), optional
        Sizes of the blocks, best first, 0 after the last: draws get blocks of these sizes.
        Without it draws are full rankings; values with ties need no `sizes`.
    nodes : int
        Quadrature nodes of the graph that JAX and second derivatives use. The compiled kernel
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
        If the length of `utility` fits neither the items nor the slots of the `Rankings`.
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
        cls, name: str, utility: Any, *, observed: Any = None, **kwargs: Any
    ) -> TensorVariable:
        refuse_single_precision()
        if not isinstance(observed, Rankings):
            return super().__new__(cls, name, utility, observed=observed, **kwargs)
        for taken in ("where", "sizes", "shape"):
            if kwargs.pop(taken, None) is not None:
                raise TypeError(
                    f"PlackettLuce got both observed=Rankings and {taken}=: a Rankings brings its "
                    f"own. Leave {taken}= out, or pass observed=rankings.ranks."
                )
        dims = kwargs.pop("dims", None)
        data = register_rankings(
            name, utility, observed, outcome="weak orders given their block sizes", dims=dims
        )
        total_size = kwargs.pop("total_size", None)
        rv = _observed_dist(data, **kwargs)
        return pm.modelcontext(None).register_rv(
            rv, name, observed=data.ranks, dims=data.dims, total_size=total_size
        )

    @classmethod
    def dist(
        cls,
        utility: Any,
        *,
        where: Any = None,
        sizes: Any = None,
        nodes: int = 48,
        **kwargs: Any,
    ) -> TensorVariable:
        refuse_single_precision()
        utility = pt.as_tensor_variable(utility)
        utility = pt.cast(pt.atleast_1d(utility), "float64")
        where = pt.ones_like(utility, dtype=bool) if where is None else where
        where = pt.cast(pt.as_tensor_variable(where), "bool")
        sizes = pt.zeros((0,), dtype="int64") if sizes is None else sizes
        sizes = pt.cast(pt.as_tensor_variable(sizes), "int64")
        return super().dist([utility, where, sizes, pt.constant(nodes)], **kwargs)

    def support_point(
        rv: TensorVariable, size: Any, utility: Any, where: Any, sizes: Any, *_: Any
    ) -> TensorVariable:
        """Return the items in the order of their slots, cut by the block sizes."""
        return slot_order_ranks(rv, where, sizes)

    def logp(value: Any, utility: Any, where: Any, sizes: Any, nodes: Any) -> TensorVariable:
        """One log-probability per ranking."""
        logp = weak_order_logp(pt.switch(where, utility, 0.0), value, nodes=int(nodes.data))
        return check_parameters(
            pt.switch(fits(value, where, sizes), logp, -pt.inf),
            pt.all(~where | pt.isfinite(utility)),
            msg="utility must be finite in the slots in use",
        )


class _ItemPlackettLuce(Discrete):
    """Rankings observed with one utility per item: stages that rankings share count once."""

    rv_type = ItemPlackettLuceRV
    rv_op = ItemPlackettLuceRV.rv_op

    def support_point(rv, size, utility, where, sizes, *_):  # type: ignore[no-untyped-def]
        return slot_order_ranks(rv, where, sizes)

    def logp(  # type: ignore[no-untyped-def]
        value, utility, where, sizes, nodes, ranks, weight, item, item_utility, *table
    ):
        if is_observed(value, ranks) and table_is_current(ranks, weight, item, Stages(*table)):
            return ranking_logp(item_utility, table, nodes=int(nodes.data))
        return weight * PlackettLuce.logp(value, utility, where, sizes, nodes)


class _SlotPlackettLuce(Discrete):
    """Rankings observed with one utility per slot: validated once, not at every evaluation."""

    rv_type = SlotPlackettLuceRV
    rv_op = SlotPlackettLuceRV.rv_op

    def support_point(rv, size, utility, where, sizes, *_):  # type: ignore[no-untyped-def]
        return slot_order_ranks(rv, where, sizes)

    def logp(value, utility, where, sizes, nodes, ranks, weight):  # type: ignore[no-untyped-def]
        if is_observed(value, ranks):
            return weight * weak_order_logp(utility, value, nodes=int(nodes.data))
        return weight * PlackettLuce.logp(value, utility, where, sizes, nodes)


def _observed_dist(data: RankingsData, *, nodes: int = 48, **kwargs: Any) -> TensorVariable:
    nodes = pt.constant(nodes)
    params = [data.slot_utility, data.ranks > 0, data.sizes, nodes, data.ranks, data.weight]
    if data.item_utility is None:
        return _SlotPlackettLuce.dist(params, **kwargs)
    return _ItemPlackettLuce.dist([*params, data.item, data.item_utility, *data.stages], **kwargs)
