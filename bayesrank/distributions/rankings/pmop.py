r"""PMOP as a PyMC distribution: weak orders whose blocks are items judged equal.

The value has one weak order per ranking, as in `PlackettLuce`. Here a tie is a separate outcome, so
that the number of blocks and their sizes are random unless they are given.

>>> import pymc as pm
>>> equal = PMOP.dist([0.0, 0.0])
>>> round(float(pm.logp(equal, [1, 1]).exp().eval()), 6)
0.333333
"""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar, Unpack

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pytensor.tensor import TensorLike, TensorVariable

from bayesrank.data import Rankings
from bayesrank.data.read import label_repr
from bayesrank.distributions.core.by_name import (
    Named,
    by_axes,
    by_row,
    in_rows,
    rankings_axes,
)
from bayesrank.distributions.core.drawn import batch_shape, name_parameters
from bayesrank.distributions.core.observed import (
    DistOptions,
    as_double,
    check_length,
    check_numbers,
    is_observed,
    observe,
    refuse_single_precision,
    with_given,
)
from bayesrank.distributions.rankings.orders import (
    ObservedRankingsRV,
    WeakOrderRV,
    WeakOrders,
    fits_sizes,
    slot_parameters,
)
from bayesrank.likelihoods.ops import as_rows_or_none, broadcast_batch
from bayesrank.likelihoods.pmop import AGGREGATES, OrderedPartitionDraw, pmop_logp
from bayesrank.schema import ITEM, RANKER

__all__ = ["PMOP", "log_weights"]

POSITIVE = "tie_prevalence must be positive and finite"
RANKING, SIZE = "ranking", "size"

PARAMETERS = {
    "utility": "slot",
    "where": "slot",
    "sizes": "block",
    "log_weight": "size_of_block",  # length 0 means equal weights
    "aggregate": "",
    "given_sizes": "",
}


class PMOPRV(WeakOrderRV):
    """Draw one seed per ranking, and choose the blocks in sequence."""

    name = "pmop"
    parameters: ClassVar[Mapping[str, str]] = PARAMETERS
    _print_name = ("PMOP", "\\operatorname{PMOP}")

    @classmethod
    def outcome(cls, *parameters: Any) -> str:
        return _outcome(name_parameters(cls.parameters, parameters).given_sizes)

    @classmethod
    def draw(cls, rng: Any, size: Any, p: SimpleNamespace) -> tuple[Any, TensorVariable]:
        sizes = p.sizes[..., :0]
        if p.given_sizes.data:  # without sizes: full rankings
            given = p.sizes.type.shape[-1] != 0
            sizes = p.sizes.astype("int64") if given else pt.ones_like(p.utility, dtype="int64")
        slots = p.utility, p.where, sizes, p.log_weight
        batch = batch_shape(*slots) if size is None else size
        next_rng, seed = pt.random.integers(0, 2**62, size=batch, rng=rng, return_next_rng=True)
        *inputs, seed = broadcast_batch(*slots, seed[..., None])
        draw = OrderedPartitionDraw(AGGREGATES[int(p.aggregate.data)])
        drawn = draw(*map(as_rows_or_none, inputs), seed.reshape((-1,)))
        return next_rng, drawn.reshape(inputs[0].shape)

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        """Return one log-probability per ranking."""
        n, slots = value.type.shape[-1], p.utility.type.shape[-1]
        if None not in (n, slots) and n != slots:
            raise ValueError(
                f"PMOP got {n} ranks per ranking, but utilities of {slots} slots. Give one utility "
                "per rank."
            )
        sizes = p.sizes if p.given_sizes.data else p.sizes[..., :0]
        logp = _logp(value, pt.switch(p.where, p.utility, 0.0), p)
        return check_parameters(
            pt.switch(fits_sizes(value, p.where, sizes), logp, -pt.inf),
            pt.all(~p.where | pt.isfinite(p.utility)),
            pt.all(pt.isfinite(p.log_weight)),
            msg=f"utility must be finite in the slots in use, {POSITIVE}",
        )


class PMOP(WeakOrders):
    r"""Probabilistic model over ordered partitions: log-likelihood of rankings with ties.

    .. math:: P(S_1 > \dots > S_M) = \prod_m \frac{\delta_{|S_m|} \Phi(S_m)}{\sum_{S \subseteq
              R_m} \delta_{|S|} \Phi(S)}, \qquad R_m = S_m \cup \dots \cup S_M

    where :math:`S_1, \dots, S_M` are the blocks, best first, and :math:`w_i` is the utility of item
    i. The worth of a block, :math:`\Phi(S)`, is a mean of the worths :math:`e^{w_i}` of its items.
    Blocks of k items have the weight :math:`\delta_k`, with :math:`\delta_1 = 1`. The sum
    is over all non-empty subsets of the remaining items; with given sizes, over subsets of the size
    of the block. For all five means it is exact to about 1e-12, in closed form, by elementary
    symmetric polynomials or by quadrature.

    Values are weak orders of the slots in use, on the last axis. The leading axes are rankings.

    Parameters
    ----------
    name : str
        Name of the variable.
    utility : tensor_like of float, (..., n_slots) or, with a `Rankings`, (n_items,)
        Log worth. Only differences matter.
    aggregate : {"mean", "max", "min", "geometric", "harmonic"}
        The mean of the worths. The cost of a stage with n remaining items is linear for "mean" and
        "harmonic". It is n log n for "max" and "min", and about :math:`n^{3/2}` for "geometric".
    tie_prevalence : tensor_like of float, (D - 1,) or scalar, optional
        Weights :math:`\delta_2, \dots, \delta_D` of blocks of 2 to D items, positive, relative to a
        single item. Larger blocks are impossible. With the geometric mean this is the generalised
        Davidson-Luce model, and a scalar is Davidson's nu. By default, all sizes have equal
        weights. Large blocks are then expected, because most subsets of many items are large. With
        a `Rankings`, a variable of the model may have the dim ``"size"`` with the labels 2, 3,
        .... It may also have ranking, ranker and groups, in any order.
    given_sizes : bool
        Whether to condition on the sizes of the blocks, as `PlackettLuce` does, instead of
        modelling them. `tie_prevalence` then cancels, and is refused.
    where : tensor_like of bool, (..., n_slots), optional
        Slots in use; default all. Not for a `Rankings`, which knows its slots.
    sizes : tensor_like of int, (..., n_blocks), optional
        Sizes of the blocks, best first, 0 after the last, for draws with ``given_sizes=True``. By
        default, such draws are full rankings. Not for a `Rankings`, which knows its sizes.
    utility_dims, observed, **kwargs
        As in `PlackettLuce`.

    Returns
    -------
    TensorVariable of int, (..., n_slots)
        The ranks. `logp` and the pointwise log-likelihood have one number per ranking, times its
        weight.

    Raises
    ------
    ValueError
        If the aggregate is unknown. Also if `tie_prevalence` comes with given sizes, is not
        positive, or has too few entries.

    See Also
    --------
    PlackettLuce, Rankings

    References
    ----------
    Truyen, Phung, Venkatesh, Probabilistic models over ordered partitions with applications in
    document ranking and collaborative filtering, SDM 2011.

    Tran, Phung & Venkatesh, Modelling human preferences for ranking and collaborative filtering: a
    probabilistic ordered partition approach.

    Turner et al., Modelling rankings in R: the PlackettLuce package, Computational Statistics 2020
    (tie prevalence).

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

    settings = ("aggregate", "tie_prevalence", "given_sizes")
    by_row = ("tie_prevalence",)

    @classmethod
    def observe(
        cls, name: str, utility: Named, rankings: Rankings, settings: Any, options: Any
    ) -> TensorVariable:
        weights = None
        if "tie_prevalence" in settings:
            given = settings["tie_prevalence"]
            weights = _read_prevalence(name, given, rankings, options.get("dims"))
            _check_positive(given, weights.value)
            settings = {**settings, "tie_prevalence": weights.value}
        partition = _partition(**settings)
        _check_blocks(partition["log_weight"], rankings)

        def with_data(data: SimpleNamespace) -> dict[str, TensorVariable]:
            found = {**ObservedPMOPRV.slot_values(utility, data), **partition}
            if weights is not None:
                by_size = weights._replace(value=partition["log_weight"])
                found["log_weight"] = in_rows(by_size, vars(data))
            return found

        return observe(
            ObservedPMOPRV,
            name,
            rankings,
            {},
            with_data,
            outcome=_outcome(partition["given_sizes"]),
            items_known=ITEM in utility.axes,
            **options,
        )

    @classmethod
    def dist(
        cls,
        utility: TensorLike,
        *,
        aggregate: str = "mean",
        tie_prevalence: TensorLike | None = None,
        given_sizes: bool = False,
        where: TensorLike | None = None,
        sizes: TensorLike | None = None,
        **kwargs: Unpack[DistOptions],
    ) -> TensorVariable:
        """Create an unnamed distribution, to draw from or to use in other distributions.

        The parameters are those of the class, with `shape`, `size` and `rng` as in PyMC. `utility`
        and draws have shape (..., n_slots).

        Examples
        --------
        >>> import bayesrank as br, pymc as pm
        >>> y = br.PMOP.dist([0.0, 0.0])  # a > b, b > a, a = b: worth 1, 1 and 1
        >>> round(float(pm.logp(y, [1, 1]).exp().eval()), 3)
        0.333
        """
        refuse_single_precision()
        if sizes is not None and not given_sizes:
            raise ValueError(
                "PMOP got sizes= and given_sizes=False, which makes the sizes part of the "
                "outcome. Pass given_sizes=True, or leave sizes= out."
            )
        partition = _partition(aggregate, tie_prevalence, given_sizes)
        slots = slot_parameters(utility, where, sizes)
        rv = super().dist([*slots, *partition.values()], **kwargs)
        return with_given(rv, utility=utility, tie_prevalence=tie_prevalence)


class ObservedPMOPRV(ObservedRankingsRV, PMOPRV):
    """Observed rankings, validated only once."""

    gathered = ("utility", "log_weight")
    called: ClassVar[Mapping[str, str]] = {"log_weight": "tie_prevalence"}
    parameters = PARAMETERS | {"ranks": "slot", "weight": ""}

    @classmethod
    def check_new(cls, model: pm.Model, name: str, data: Rankings, p: SimpleNamespace) -> None:
        if p.log_weight.ndim == 2:
            n = data.n_rankings
            check_length(name, "tie_prevalence", p.log_weight, n, cls.data_name, "of them")

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        if not is_observed(value, p.ranks):
            return p.weight * PMOPRV.logp(value, p)
        # only this parameter may be random
        weights = pt.all(pt.isfinite(p.log_weight))
        return p.weight * check_parameters(_logp(value, p.utility, p), weights, msg=POSITIVE)


def _read_prevalence(name: str, value: TensorLike, rankings: Rankings, dims: Any) -> Named:
    """Read weights by block size, and by ranking, ranker or groups."""
    sizes, rows = np.arange(2, max(rankings.n_items, 2) + 1), (RANKING, RANKER, *rankings.groups)
    if SIZE in rankings.groups:
        raise ValueError(
            f"The rankings of {name!r} have a group {SIZE!r}, which is an axis of tie_prevalence. "
            "Rename that column."
        )
    readings: dict[tuple[str, ...], str] = {(SIZE,): "one per block size from 2 on"}
    readings[()] = "one for blocks of two"
    readings |= {row: f"{meaning}, for blocks of two" for row, meaning in by_row(rankings).items()}
    axes = rankings_axes(rankings, dims, {SIZE: sizes}, says=False, first=(SIZE,))
    readings |= by_row(rankings, SIZE)
    found = by_axes(name, "tie_prevalence", value, readings, axes, also=rows)
    if SIZE not in found.axes:
        return Named(found.value[..., None], (*found.axes, SIZE))
    return found


def _outcome(given_sizes: Any) -> str:
    return "weak orders given their block sizes" if given_sizes.data else "weak orders"


def _logp(value: Any, utility: Any, p: SimpleNamespace) -> TensorVariable:
    return pmop_logp(
        utility,
        value,
        aggregate=AGGREGATES[int(p.aggregate.data)],
        given_sizes=bool(p.given_sizes.data),
        log_weight=p.log_weight,
    )


# ---------------------------------------------------------------------------------------------
# Settings
# ---------------------------------------------------------------------------------------------


def log_weights(tie_prevalence: TensorLike) -> TensorVariable:
    """Return the logarithms of the weights of block sizes 1, 2, ...; logp checks random values."""
    prevalence = pt.atleast_1d(as_double(tie_prevalence, "`tie_prevalence`"))
    _check_positive(tie_prevalence, prevalence)
    return _after_zero(pt.log(prevalence))


def _partition(
    aggregate: str = "mean",
    tie_prevalence: TensorLike | None = None,
    given_sizes: bool = False,
) -> dict[str, TensorVariable]:
    """Return the parameters of `PMOPRV` after the slots; log weights of length 0 are equal."""
    if aggregate not in AGGREGATES:
        known = ", ".join(map(repr, AGGREGATES))
        raise ValueError(f"`aggregate` is {aggregate!r}; it must be one of {known}.")
    if given_sizes and tie_prevalence is not None:
        raise ValueError(
            "PMOP got tie_prevalence= and given_sizes=True. Given their sizes, the weights of "
            "blocks cancel: leave one of the two out."
        )
    return {
        "log_weight": pt.zeros((0,)) if tie_prevalence is None else log_weights(tie_prevalence),
        "aggregate": pt.constant(AGGREGATES.index(aggregate)),
        "given_sizes": pt.constant(int(given_sizes)),
    }


def _check_blocks(log_weight: TensorVariable, rankings: Rankings) -> None:
    """Raise if there are too few weights for the sizes of observed blocks."""
    n_sizes = log_weight.type.shape[-1]
    largest = int(rankings.block_sizes.max())
    if n_sizes and largest > n_sizes:
        row = int(np.argmax(rankings.block_sizes.max(axis=1)))
        raise ValueError(
            f"`tie_prevalence` has {n_sizes - 1} entries, for blocks of up to {n_sizes} items, "
            f"but ranking {label_repr(rankings.labels[row])} has a block of {largest}. Give "
            f"{largest - 1} entries, or none for equal weights."
        )


def _after_zero(x: TensorVariable) -> TensorVariable:
    """Put a zero before the entries of the last axis.

    It is computed as a sum, because JAX has no gradient of concatenating x if its length is
    unknown.
    """
    place = pt.cumsum(pt.ones_like(x, dtype="int64"), axis=-1)
    zero = pt.sum(pt.zeros_like(place), axis=-1, keepdims=True)
    same = pt.eq(pt.concatenate([zero, place], axis=-1)[..., :, None], place[..., None, :])
    return pt.sum(pt.switch(same, x[..., None, :], 0.0), axis=-1)


def _check_positive(given: Any, read: TensorVariable) -> None:
    check_numbers("tie_prevalence", given, read, lambda x: x > 0, "positive and finite")
