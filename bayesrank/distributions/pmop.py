r"""PMOP as a PyMC distribution: weak orders whose blocks are items judged equal.

The value is one weak order per ranking: dense `ranks` aligned with the slots (1 = best, equal =
judged equal, 0 = empty slot). The last axis is the slots, the axes before it are rankings, and
`logp` is one number per ranking. Unlike under `PlackettLuce`, a tie is an outcome of its own, so
the number of blocks and their sizes are random unless they are given.

>>> import pymc as pm
>>> equal = PMOP.dist([0.0, 0.0])
>>> round(float(pm.logp(equal, [1, 1]).exp().eval()), 6)
0.333333
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

from bayesrank.data.rankings import Rankings
from bayesrank.distributions.observed import (
    is_observed,
    refuse_single_precision,
    register_rankings,
)
from bayesrank.distributions.orders import batch_shape, fits, slot_order_ranks
from bayesrank.distributions.partition_settings import PartitionSettings
from bayesrank.likelihoods.ops.arrays import broadcast_batch
from bayesrank.likelihoods.pmop.op import OrderedPartitionDraw, pmop_logp
from bayesrank.likelihoods.pmop.set_kernels import AGGREGATES

__all__ = ["PMOP"]

POSITIVE = "tie_prevalence must be positive and finite"

# utility, where, sizes, log size weights, stage weights, aggregate, sizes given, nodes
SIGNATURE = "[rng],[size],(n),(n),(m),(d),(s),(),(),()->[rng],(n)"
# and then the observed ranks and the weights of the rankings
OBSERVED_SIGNATURE = "[rng],[size],(n),(n),(m),(d),(s),(),(),(),(n),()->[rng],(n)"


class PMOPRV(SymbolicRandomVariable):
    """Draw one seed per ranking, and choose sets one after the other."""

    name = "pmop"
    extended_signature = SIGNATURE
    _print_name = ("PMOP", "\\operatorname{PMOP}")

    @classmethod
    def rv_op(cls, *parameters: Any, size: Any = None, rng: Any = None) -> TensorVariable:
        params = [pt.as_tensor_variable(x) for x in parameters]
        utility, where, sizes, log_weight, _, aggregate, given_sizes, _ = params[:8]
        rng = normalize_rng_param(rng)
        size = normalize_size_param(size)

        drawn = sizes[..., :0]
        if given_sizes.data:  # without sizes: full rankings
            drawn = sizes if sizes.type.shape[-1] != 0 else pt.ones_like(utility, dtype="int64")
        batch = (
            batch_shape(utility, where, drawn, log_weight) if rv_size_is_none(size) else tuple(size)
        )
        next_rng, seed = pt.random.integers(0, 2**62, size=batch, rng=rng, return_next_rng=True)
        inputs = broadcast_batch(utility, where, drawn, log_weight, seed[..., None])
        draw = OrderedPartitionDraw(AGGREGATES[int(aggregate.data)])
        ranks = draw(*inputs[:-1], inputs[-1][..., 0])
        return cls(inputs=[rng, size, *params], outputs=[next_rng, ranks])(rng, size, *params)


class ObservedPMOPRV(PMOPRV):
    """With the observed rankings and their weights among its parameters."""

    extended_signature = OBSERVED_SIGNATURE


class PMOP(Discrete):
    r"""Probabilistic model over ordered partitions: log-likelihood of rankings with ties.

    .. math:: P(S_1 > \dots > S_M) = \prod_m \frac{\delta_{|S_m|} \Phi(S_m)}{\sum_{S \subseteq
              R_m} \delta_{|S|} \Phi(S)}, \qquad R_m = S_m \cup \dots \cup S_M

    where :math:`\Phi(S)` is a mean of the worths :math:`e^{w_i}` of the items of a block and the
    sum is over all non-empty subsets of what is left, or those of the size of the block. It is
    exact for all five means: in closed form, by elementary symmetric polynomials or by quadrature,
    to about 1e-12.

    ========  ==================================================================
    Support   weak orders of the slots in use (given their block sizes)
    Axes      the last one is slots; the ones before it are rankings
    ========  ==================================================================

    Parameters
    ----------
    name : str
        Name of the variable.
    utility : tensor_like of float, (..., n_slots) or, with a `Rankings`, (n_items,)
        Log worth. Only differences matter.
    aggregate : {"mean", "max", "min", "geometric", "harmonic"}
        The mean. Cost of a remainder of n items: linear in n for "mean" and "harmonic",
        n log n for "max" and "min", about :math:`n^{3/2}` for "geometric".
    tie_prevalence : tensor_like of float, (D - 1,) or scalar, optional
        Weights :math:`\delta_2, \dots, \delta_D` of blocks of 2 to D items, positive, relative to a
        single item; larger blocks are impossible. With the geometric mean this is the generalised
        Davidson-Luce model, and a scalar is Davidson's nu. Default: all sizes weigh the same.
    given_sizes : bool
        Whether the sizes of the blocks are given, as `PlackettLuce` has them, instead of part of
        the outcome. Then `tie_prevalence` cancels and is refused.
    rank_weights : array_like of float, (..., n_stages), optional
        Exponents of the stages, not negative and not increasing, which stress the first places.
        Numbers or data, not random.
        They make a pseudo-likelihood of it: good for estimates, of no meaning for posterior
        widths or LOO.
    where : tensor_like of bool, (..., n_slots), optional
        Slots in use; default all. A `Rankings` brings its own.
    sizes : tensor_like of int, (..., n_blocks), optional
        Sizes of the blocks, best first, 0 after the last, for draws with ``given_sizes=True``;
        without it they are full rankings. A `Rankings` brings its own.
    nodes : int
        Quadrature nodes of the graph that JAX and second derivatives use.
    observed : Rankings or array_like of int, optional
        As in `PlackettLuce`.

    Returns
    -------
    TensorVariable of int, (..., n_slots)
        The ranks; `logp` and the pointwise log-likelihood have one number per ranking, times its
        weight.

    Raises
    ------
    ValueError
        If the aggregate is unknown, `tie_prevalence` comes with given sizes, is not positive or
        has too few entries for the observed blocks, or `rank_weights` increase, are negative or
        too few.
    TypeError
        On unknown arguments.

    Notes
    -----
    Without `tie_prevalence` every subset weighs as its mean does, whatever its size. Most subsets
    of many items are large, so that large blocks are expected, and rankings with few ties can be
    less probable than under random ranking. Learn `tie_prevalence` where sizes are free.

    References
    ----------
    Truyen, Phung, Venkatesh, Probabilistic models over ordered partitions with applications in
    document ranking and collaborative filtering, SDM 2011; Turner et al., Modelling rankings in R:
    the PlackettLuce package, Computational Statistics 2020 (tie prevalence).

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> rankings = br.Rankings.from_orderings([["a", "b", "c"], ["b", {"a", "c"}]])
    >>> with pm.Model(coords=rankings.coords) as model:
    ...     utility = pm.ZeroSumNormal("utility", 1.0, dims="item")
    ...     y = br.PMOP("y", utility, aggregate="geometric", observed=rankings)
    >>> model.named_vars_to_dims["y"]
    ('ranking', 'slot')
    """

    rv_type = PMOPRV
    rv_op = PMOPRV.rv_op

    def __new__(
        cls, name: str, utility: Any, *, observed: Any = None, **kwargs: Any
    ) -> TensorVariable:
        refuse_single_precision()
        if not isinstance(observed, Rankings):
            return super().__new__(cls, name, utility, observed=observed, **kwargs)
        for taken in ("where", "sizes", "shape"):
            if kwargs.pop(taken, None) is not None:
                raise TypeError(
                    f"PMOP got both observed=Rankings and {taken}=: a Rankings brings its own. "
                    f"Leave {taken}= out, or pass observed=rankings.ranks."
                )
        options = {
            key: kwargs.pop(key)
            for key in ("aggregate", "tie_prevalence", "given_sizes", "rank_weights", "nodes")
            if key in kwargs
        }
        total_size, dims = kwargs.pop("total_size", None), kwargs.pop("dims", None)
        settings = PartitionSettings(**options)
        settings.check_blocks(observed)
        data = register_rankings(
            name, utility, observed, outcome=settings.outcome, dims=dims, stages=False
        )
        shared = settings.parameters(pt.ones_like(data.sizes, dtype="float64"))
        params = [data.slot_utility, data.ranks > 0, data.sizes, *shared, data.ranks, data.weight]
        rv = _ObservedPMOP.dist(params, **kwargs)
        return pm.modelcontext(None).register_rv(
            rv, name, observed=data.ranks, dims=data.dims, total_size=total_size
        )

    @classmethod
    def dist(
        cls,
        utility: Any,
        *,
        aggregate: str = "mean",
        tie_prevalence: Any = None,
        given_sizes: bool = False,
        rank_weights: Any = None,
        where: Any = None,
        sizes: Any = None,
        nodes: int = 48,
        **kwargs: Any,
    ) -> TensorVariable:
        refuse_single_precision()
        settings = PartitionSettings(
            aggregate=aggregate,
            tie_prevalence=tie_prevalence,
            given_sizes=given_sizes,
            rank_weights=rank_weights,
            nodes=nodes,
        )
        utility = pt.cast(pt.atleast_1d(pt.as_tensor_variable(utility)), "float64")
        where = pt.ones_like(utility, dtype=bool) if where is None else where
        where = pt.cast(pt.as_tensor_variable(where), "bool")
        if sizes is None:
            sizes = pt.zeros((0,), dtype="int64")
        elif not given_sizes:
            raise ValueError(
                "PMOP got sizes= and given_sizes=False, under which the sizes are part of the "
                "outcome. Pass given_sizes=True, or leave sizes= out."
            )
        sizes = pt.cast(pt.as_tensor_variable(sizes), "int64")
        settings.check_stages(utility.type.shape[-1], "slots")
        return super().dist([utility, where, sizes, *settings.parameters(utility)], **kwargs)

    def support_point(
        rv: TensorVariable, size: Any, utility: Any, where: Any, sizes: Any, *_: Any
    ) -> TensorVariable:
        """Return the items in the order of their slots, cut by the block sizes."""
        return slot_order_ranks(rv, where, sizes)

    def logp(
        value: Any,
        utility: Any,
        where: Any,
        sizes: Any,
        log_weight: Any,
        stage_weight: Any,
        *constants: Any,
    ) -> TensorVariable:
        """One log-probability per ranking."""
        logp = _logp(value, pt.switch(where, utility, 0.0), log_weight, stage_weight, constants)
        return check_parameters(
            pt.switch(fits(value, where, sizes), logp, -pt.inf),
            pt.all(~where | pt.isfinite(utility)),
            pt.all(pt.isfinite(log_weight)),
            pt.all(stage_weight >= 0) & pt.all(pt.diff(stage_weight, axis=-1) <= 0),
            msg="utility must be finite in the slots in use, "
            f"{POSITIVE}, rank_weights must be non-negative and must not increase",
        )


class _ObservedPMOP(Discrete):
    """Observed rankings: validated once, not at every evaluation."""

    rv_type = ObservedPMOPRV
    rv_op = ObservedPMOPRV.rv_op

    def support_point(rv, size, utility, where, sizes, *_):  # type: ignore[no-untyped-def]
        return slot_order_ranks(rv, where, sizes)

    def logp(  # type: ignore[no-untyped-def]
        value, utility, where, sizes, log_weight, stage_weight, code, given_sizes, nodes,
        ranks, weight,
    ):  # fmt: skip
        constants = code, given_sizes, nodes
        if is_observed(value, ranks):
            logp = _logp(value, utility, log_weight, stage_weight, constants)
            # all else is data; this may be random
            return weight * check_parameters(logp, pt.all(pt.isfinite(log_weight)), msg=POSITIVE)
        sizes = sizes if given_sizes.data else sizes[..., :0]
        return weight * PMOP.logp(
            value, utility, where, sizes, log_weight, stage_weight, *constants
        )


def _logp(
    value: Any, utility: Any, log_weight: Any, stage_weight: Any, constants: Any
) -> TensorVariable:
    code, given_sizes, nodes = (int(constant.data) for constant in constants)
    return pmop_logp(
        utility,
        value,
        aggregate=AGGREGATES[code],
        given_sizes=bool(given_sizes),
        log_weight=log_weight,
        stage_weight=stage_weight,
        nodes=nodes,
    )
