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
from pymc.pytensorf import rvs_in_graph
from pytensor.graph.basic import equal_computations
from pytensor.tensor import TensorVariable

from bayesrank.data import Rankings
from bayesrank.data.read import label_repr
from bayesrank.distributions.by_name import (
    Named,
    by_axes,
    by_row,
    in_rows,
    rankings_axes,
)
from bayesrank.distributions.observed import (
    DistOptions,
    as_double,
    check_length,
    check_numbers,
    given_numbers,
    is_observed,
    known_value,
    observe,
    refuse_single_precision,
    with_given,
)
from bayesrank.distributions.orders import (
    ObservedRankingsRV,
    WeakOrderRV,
    WeakOrders,
    batch_shape,
    fits,
    slot_parameters,
)
from bayesrank.likelihoods.ops import broadcast_batch
from bayesrank.likelihoods.pmop import AGGREGATES, OrderedPartitionDraw, pmop_logp
from bayesrank.schema import ITEM, RANKER

__all__ = ["PMOP", "PartitionSettings"]

POSITIVE = "tie_prevalence must be positive and finite"
RANKING, SIZE, STAGE = "ranking", "size", "stage"
WEIGHTS = {"log_weight": "tie_prevalence", "stage_weight": "rank_weights"}  # users' names

PARAMETERS = {
    "utility": "slot",
    "where": "slot",
    "sizes": "block",
    "log_weight": "size_of_block",  # length 0 means equal weights
    "stage_weight": "stage",
    "aggregate": "",
    "given_sizes": "",
    "nodes": "",
}


class PMOPRV(WeakOrderRV):
    """Draw one seed per ranking, and choose the blocks in sequence."""

    name = "pmop"
    parameters: ClassVar[Mapping[str, str]] = PARAMETERS
    _print_name = ("PMOP", "\\operatorname{PMOP}")

    @classmethod
    def outcome(cls, *parameters: Any) -> str:
        p = cls.named(parameters)
        weighted = not equal_computations([p.stage_weight], [pt.ones_like(p.utility)])
        return _outcome(weighted=weighted, given_sizes=bool(p.given_sizes.data))

    @classmethod
    def draw(cls, rng: Any, size: Any, p: SimpleNamespace) -> tuple[Any, TensorVariable]:
        sizes = p.sizes[..., :0]
        if p.given_sizes.data:  # without sizes: full rankings
            given = p.sizes.type.shape[-1] != 0
            sizes = p.sizes.astype("int64") if given else pt.ones_like(p.utility, dtype="int64")
        slots = p.utility, p.where, sizes, p.log_weight
        batch = batch_shape(*slots) if size is None else size
        next_rng, seed = pt.random.integers(0, 2**62, size=batch, rng=rng, return_next_rng=True)
        inputs = broadcast_batch(*slots, seed[..., None])
        draw = OrderedPartitionDraw(AGGREGATES[int(p.aggregate.data)])
        return next_rng, draw(*inputs[:-1], inputs[-1][..., 0])

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
            pt.switch(fits(value, p.where, sizes), logp, -pt.inf),
            pt.all(~p.where | pt.isfinite(p.utility)),
            pt.all(pt.isfinite(p.log_weight)),
            pt.all(p.stage_weight >= 0) & pt.all(pt.diff(p.stage_weight, axis=-1) <= 0),
            msg="utility must be finite in the slots in use, "
            f"{POSITIVE}, rank_weights must be non-negative and must not increase",
        )


class PMOP(WeakOrders):
    r"""Probabilistic model over ordered partitions: log-likelihood of rankings with ties.

    .. math:: P(S_1 > \dots > S_M) = \prod_m \frac{\delta_{|S_m|} \Phi(S_m)}{\sum_{S \subseteq
              R_m} \delta_{|S|} \Phi(S)}, \qquad R_m = S_m \cup \dots \cup S_M

    where :math:`\Phi(S)` is a mean of the worths :math:`e^{w_i}` of the items of a block. The sum
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
        The mean. The cost of a stage with n remaining items is linear for "mean" and "harmonic".
        It is n log n for "max" and "min", and about :math:`n^{3/2}` for "geometric".
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
    rank_weights : array_like of float, (..., n_stages), optional
        Exponents of the stages, not negative and not increasing, which stress the first places.
        Give numbers or data; they cannot be random. With a `Rankings`, data may have the dim
        ``"stage"`` with the labels 1, 2, ..., and also ranking, ranker and groups, in any order.
        The result is a pseudo-likelihood: posterior widths and LOO are meaningless.
    where : tensor_like of bool, (..., n_slots), optional
        Slots in use; default all. A `Rankings` brings its own.
    sizes : tensor_like of int, (..., n_blocks), optional
        Sizes of the blocks, best first, 0 after the last, for draws with ``given_sizes=True``. By
        default, such draws are full rankings. A `Rankings` brings its own.
    nodes : int
        Quadrature nodes of the graph that JAX and third derivatives use.
    utility_dims, observed
        As in `PlackettLuce`.

    Returns
    -------
    TensorVariable of int, (..., n_slots)
        The ranks. `logp` and the pointwise log-likelihood have one number per ranking, times its
        weight.

    Raises
    ------
    ValueError
        If the aggregate is unknown, or `rank_weights` increase, are negative or too few. Also if
        `tie_prevalence` comes with given sizes, is not positive, or has too few entries.

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

    settings = ("aggregate", "tie_prevalence", "given_sizes", "rank_weights", "nodes")
    by_row = tuple(WEIGHTS.values())

    @classmethod
    def observe(
        cls, name: str, utility: Named, rankings: Rankings, settings: Any, options: Any
    ) -> TensorVariable:
        dims = options.get("dims")
        weights = {
            parameter: _read_weights(name, parameter, settings[parameter], rankings, dims)
            for parameter in cls.by_row
            if parameter in settings
        }
        if "tie_prevalence" in weights:
            given = settings["tie_prevalence"]
            _check_positive("tie_prevalence", given, weights["tie_prevalence"].value)
        values = {parameter: x.value for parameter, x in weights.items()}
        partition = PartitionSettings(**{**settings, **values})
        partition.check_blocks(rankings)

        def with_data(data: SimpleNamespace) -> dict[str, TensorVariable]:
            slots = ObservedPMOPRV.slot_values(utility, data)
            found = partition.parameters(pt.ones_like(slots["sizes"], dtype="float64"))
            for field, parameter in WEIGHTS.items():
                if parameter in weights:
                    found[field] = in_rows(
                        weights[parameter]._replace(value=found[field]), vars(data)
                    )
            return slots | found

        return observe(
            ObservedPMOPRV,
            name,
            rankings,
            {},
            with_data,
            outcome=partition.outcome,
            items_known=ITEM in utility.axes,
            **options,
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
        **kwargs: Unpack[DistOptions],
    ) -> TensorVariable:
        """Make a distribution without a name, to draw from or to put into others.

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
        settings = PartitionSettings(aggregate, tie_prevalence, given_sizes, rank_weights, nodes)
        slots = slot_parameters(utility, where, sizes)
        settings.check_stages(slots[0].type.shape[-1], "slots")
        rv = super().dist([*slots, *settings.parameters(slots[0]).values()], **kwargs)
        return with_given(rv, utility=utility, tie_prevalence=tie_prevalence)


class ObservedPMOPRV(ObservedRankingsRV, PMOPRV):
    """Observed rankings, validated only once."""

    rows_apart = True
    gathered = ("utility", *WEIGHTS)
    called = WEIGHTS
    parameters = PARAMETERS | {"ranks": "slot", "weight": ""}

    @classmethod
    def check_new(cls, model: pm.Model, name: str, data: Rankings, p: SimpleNamespace) -> None:
        for field, parameter in WEIGHTS.items():
            x = getattr(p, field)
            if x.ndim == 2:
                check_length(name, parameter, x, data.n_rankings, cls.data_name, "of them")

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        if not is_observed(value, p.ranks):
            return p.weight * PMOPRV.logp(value, p)
        # only this parameter may be random
        weights = pt.all(pt.isfinite(p.log_weight))
        return p.weight * check_parameters(_logp(value, p.utility, p), weights, msg=POSITIVE)


def _read_weights(name: str, parameter: str, value: Any, rankings: Rankings, dims: Any) -> Named:
    """Read weights by block size or stage, and by ranking, ranker or groups."""
    n, rows = max(rankings.n_items, 2), (RANKING, RANKER, *rankings.groups)
    if parameter == "rank_weights":
        axis, labels = STAGE, np.arange(1, n + 1)
        readings: dict[tuple[str, ...], str] = {(STAGE,): "one per stage"}
    else:
        axis, labels = SIZE, np.arange(2, n + 1)
        alone = {row: f"{meaning}, for blocks of two" for row, meaning in by_row(rankings).items()}
        readings = {(SIZE,): "one per block size from 2 on", (): "one for blocks of two"} | alone
    if axis in rankings.groups:
        raise ValueError(
            f"The rankings of {name!r} have a group {axis!r}, which is an axis of {parameter} in "
            "PMOP. Rename that column."
        )
    axes = rankings_axes(rankings, dims, {axis: labels}, says=False, first=(axis,))
    found = by_axes(name, parameter, value, readings | by_row(rankings, axis), axes, also=rows)
    if axis not in found.axes:
        return Named(found.value[..., None], (*found.axes, axis))
    return found


def _outcome(*, weighted: bool, given_sizes: bool) -> str:
    if weighted:
        return "nothing: rank_weights make a pseudo-likelihood"
    return "weak orders given their block sizes" if given_sizes else "weak orders"


def _logp(value: Any, utility: Any, p: SimpleNamespace) -> TensorVariable:
    return pmop_logp(
        utility,
        value,
        aggregate=AGGREGATES[int(p.aggregate.data)],
        given_sizes=bool(p.given_sizes.data),
        log_weight=p.log_weight,
        stage_weight=p.stage_weight,
        nodes=int(p.nodes.data),
    )


# ---------------------------------------------------------------------------------------------
# Settings
# ---------------------------------------------------------------------------------------------


class PartitionSettings:
    """Settings of `PMOP` that are not data, with the parameters of `PMOP`.

    Numbers are checked here, and random values in `PMOPRV.logp`. `log_weight` holds the logarithms
    of the weights of sizes 1, 2, ..., or has length 0 for equal weights.
    """

    def __init__(
        self,
        aggregate: str = "mean",
        tie_prevalence: Any = None,
        given_sizes: bool = False,
        rank_weights: Any = None,
        nodes: int = 48,
    ) -> None:
        if aggregate not in AGGREGATES:
            known = ", ".join(map(repr, AGGREGATES))
            raise ValueError(f"`aggregate` is {aggregate!r}; it must be one of {known}.")
        if given_sizes and tie_prevalence is not None:
            raise ValueError(
                "PMOP got tie_prevalence= and given_sizes=True. Given their sizes, the weights of "
                "blocks cancel: leave one of the two out."
            )
        self.log_weight = pt.zeros((0,))
        if tie_prevalence is not None:
            prevalence = pt.atleast_1d(as_double(tie_prevalence, "`tie_prevalence`"))
            _check_positive("tie_prevalence", tie_prevalence, prevalence)
            self.log_weight = _after_zero(pt.log(prevalence))
        self.rank_weights = None
        if rank_weights is not None:
            self.rank_weights = pt.atleast_1d(as_double(rank_weights, "`rank_weights`"))
            _check_falling("rank_weights", self.rank_weights)
        self.constants = {
            "aggregate": pt.constant(AGGREGATES.index(aggregate)),
            "given_sizes": pt.constant(int(given_sizes)),
            "nodes": pt.constant(nodes),
        }

    @property
    def outcome(self) -> str:
        """Return the label of the outcome space."""
        given_sizes = bool(self.constants["given_sizes"].data)
        return _outcome(weighted=self.rank_weights is not None, given_sizes=given_sizes)

    def parameters(self, like: TensorVariable) -> dict[str, TensorVariable]:
        """Return log weights of sizes, weights of stages (by default ones) and constants."""
        weights = pt.ones_like(like) if self.rank_weights is None else self.rank_weights
        return {"log_weight": self.log_weight, "stage_weight": weights, **self.constants}

    def check_stages(self, n_stages: int | None, unit: str) -> None:
        """Raise if there are fewer rank weights than stages."""
        n_weights = None if self.rank_weights is None else self.rank_weights.type.shape[-1]
        if n_weights is not None and n_stages is not None and n_weights < n_stages:
            raise ValueError(
                f"`rank_weights` has {n_weights} entries for rankings of up to {n_stages} {unit}. "
                "Give one for every rank."
            )

    def check_blocks(self, rankings: Rankings) -> None:
        """Raise if there are too few weights for the number or sizes of observed blocks."""
        self.check_stages(rankings.n_blocks, "blocks")
        n_sizes = self.log_weight.type.shape[-1]
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


def _check_positive(name: str, given: Any, read: TensorVariable) -> None:
    check_numbers(name, given, read, lambda x: x > 0, "positive and finite")


def _check_falling(name: str, value: TensorVariable) -> None:
    if random := sorted(str(rv) for rv in rvs_in_graph([value])):
        raise ValueError(
            f"`{name}` depends on the random {', '.join(random)}. Exponents cannot be "
            "estimated, because a pseudo-likelihood grows as they fall to zero. Pass numbers."
        )
    weights = given_numbers(None, value)
    weights = known_value(value) if weights is None else weights
    if weights is None:
        return
    if not (np.isfinite(weights) & (weights >= 0)).all() or (np.diff(weights, axis=-1) > 0).any():
        raise ValueError(
            f"`{name}` is {np.array2string(weights, threshold=6)}. Weights must be finite, must "
            "not be negative, and must not increase from the first rank to the last."
        )
