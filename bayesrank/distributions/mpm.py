r"""MPM as a PyMC distribution: counts of ordered pairs by rankers who adhere to common scores.

The value is one table of counts per ranker, (preferred item, other item), and `logp` one number
per ranker. Observed `PairCounts` stay sparse: the data of the model are then the net counts of
each item, which is also what posterior predictive draws have.

>>> import pymc as pm
>>> once = [[0, 1, 0], [0, 0, 0], [0, 0, 0]]  # the first item over the second
>>> round(float(pm.logp(MPM.dist([0.0, 0.0, 0.0]), once).exp().eval()), 6)
0.166667
"""

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.distribution import Discrete, SymbolicRandomVariable
from pymc.distributions.shape_utils import rv_size_is_none
from pymc.pytensorf import normalize_rng_param
from pytensor.graph.basic import Variable
from pytensor.tensor import TensorVariable
from pytensor.tensor.random.utils import normalize_size_param

from bayesrank.data.pair_counts import PairCounts
from bayesrank.distributions.count_checks import (
    check_counts,
    check_numbers,
    check_sign,
    check_symmetric,
)
from bayesrank.distributions.observed import refuse_single_precision
from bayesrank.distributions.observed_counts import observe_counts
from bayesrank.distributions.orders import batch_shape
from bayesrank.likelihoods.mpm.graph import differences, mpm_given_pairs_logp, mpm_logp
from bayesrank.likelihoods.mpm.op import CountsDraw
from bayesrank.likelihoods.ops.arrays import broadcast_batch

__all__ = ["MPM"]

ANY = -1  # as a total: whatever the value sums to, and draws of one


class _CountsRV(SymbolicRandomVariable):
    """Draws of tables of counts; `draw` makes them."""

    _print_name = ("MPM", "\\operatorname{MPM}")

    @classmethod
    def rv_op(cls, *parameters: Any, size: Any = None, rng: Any = None) -> TensorVariable:
        params = [pt.as_tensor_variable(x) for x in parameters]
        rng = normalize_rng_param(rng)
        size = normalize_size_param(size)
        next_rng, counts = cls.draw(rng, None if rv_size_is_none(size) else tuple(size), *params)
        return cls(inputs=[rng, size, *params], outputs=[next_rng, counts])(rng, size, *params)

    @classmethod
    def draw(
        cls, rng: Any, size: Any, score: Any, variance: Any, adherence: Any, total: Any
    ) -> tuple[Any, TensorVariable]:
        """Return the next generator and the counts."""
        raise NotImplementedError


class MPMRV(_CountsRV):
    """Draw one seed per ranker, and pairs one after the other."""

    name = "mpm"
    extended_signature = "[rng],[size],(n),(v),(),()->[rng],(n,n)"

    @classmethod
    def draw(
        cls, rng: Any, size: Any, score: Any, variance: Any, adherence: Any, total: Any
    ) -> tuple[Any, TensorVariable]:
        columns = [score, variance, adherence[..., None], total[..., None]]
        batch = batch_shape(*columns) if size is None else size
        next_rng, seed = pt.random.integers(0, 2**62, size=batch, rng=rng, return_next_rng=True)
        score_, variance_, adherence_, total_, seed_ = broadcast_batch(*columns, seed[..., None])
        n = score.shape[-1]
        rows = score_.reshape((-1, n))
        equal = variance.type.shape[-1] == 0
        counts = CountsDraw()(
            rows,
            rows[:, :0] if equal else variance_.reshape((-1, n)),
            adherence_.reshape((-1,)),
            _at_random(total_.reshape((-1,))),
            seed_.reshape((-1,)),
        )
        return next_rng, counts.reshape((*batch, n, n))


class GivenPairsRV(_CountsRV):
    """Draw how often the one and the other item of each pair is preferred."""

    name = "mpm_given_pairs"
    extended_signature = "[rng],[size],(n),(v),(),(n,n)->[rng],(n,n)"

    @classmethod
    def draw(
        cls, rng: Any, size: Any, score: Any, variance: Any, adherence: Any, total: Any
    ) -> tuple[Any, TensorVariable]:
        known = None if variance.type.shape[-1] == 0 else variance
        chance = pt.sigmoid(2.0 * adherence[..., None, None] * differences(score, known))
        upper = pt.triu(_at_random(total), 1)
        n = score.shape[-1]
        shape = None if size is None else (*size, n, n)
        next_rng, won = pt.random.binomial(upper, chance, size=shape, rng=rng, return_next_rng=True)
        return next_rng, won + pt.swapaxes(upper - won, -1, -2)


class MPM(Discrete):
    r"""Multinomial preference model: log-likelihood of counts of ordered pairs.

    .. math:: P(C) = \frac{T!}{\prod_{i \ne j} C_{ij}!} \prod_{i \ne j} \left(
              \frac{e^{\theta D_{ij}}}{\sum_{k \ne l} e^{\theta D_{kl}}} \right)^{C_{ij}}, \qquad
              D_{ij} = \frac{s_i - s_j}{\gamma_i + \gamma_j}

    where :math:`C_{ij}` is how much a ranker prefers item i to j, T the sum of all, s the scores,
    :math:`\gamma` the variances of the items and :math:`\theta` how much the ranker adheres to
    the scores: 0 is a ranker whose preferences have nothing to do with them.

    ========  ==================================================================
    Support   non-negative integers with the given sum, zero on the diagonal
    Axes      the last two are the preferred and the other item
    ========  ==================================================================

    Given how often each pair was compared it is Bradley-Terry with doubled scores
    (`given_pairs`). What it adds to that is how much evidence each pair gets: items far apart,
    either way, get more, so that it is for data whose counts say how much (differences of ranks
    or ratings).

    Such differences are counted as if every step were an independent draw, which makes posteriors
    far too narrow: a rank difference of 199 is not 199 observations. Binary counts, or an
    evidence weight below one (``counts.weighted(0.1)``), say so.

    Parameters
    ----------
    name : str
        Name of the variable.
    score : tensor_like of float, (..., n_items)
        Consensus of the rankers; only differences matter. With a `PairCounts` (n_items,).
    variance : tensor_like of float, (..., n_items), optional
        How uncertain rankers are about each item, positive. Default 1/2 for all, so that
        D is the difference of the scores. The scale of scores, variances and adherences together is
        not identified by the data: priors have to say it, and sparse data need them, because the
        likelihood alone grows without bound as variances vanish.
    adherence : tensor_like of float, (...), optional
        Of each ranker, not negative; default 1. With a `PairCounts` one number or (n_rankers,).
        The paper has it in [0, 1]: then fix the scale of the scores by that of the adherences, or
        give the scores unit scale, leave the adherences free and divide them by the largest
        afterwards, which samples far better.
    total : tensor_like of int, (...), optional
        Sum of the counts, for draws; with `given_pairs` the table (..., n_items, n_items) of how
        often each pair is compared, symmetric. Default: that of the value, and draws of one
        count. Observed data bring their own.
    given_pairs : bool
        Whether it is given how often each pair is compared.
    observed : PairCounts or array_like of int, optional
        Counts; an array has the axes of the value.

    Returns
    -------
    TensorVariable of int, (..., n_items, n_items) or, with `PairCounts`, (n_rankers, n_items)
        The counts, or the net counts :math:`\sum_j C_{ij} - C_{ji}` of each item by each ranker;
        `logp` and the pointwise log-likelihood have one number per ranker, that of all its
        counts, times its evidence weight.

    Raises
    ------
    ValueError
        If an adherence is negative, a variance not positive, shapes do not fit, or counts are
        negative, not whole or on the diagonal.
    TypeError
        On unknown arguments.

    Warns
    -----
    UninformativeRankingWarning
        If rankers have no counts: their adherence is its prior.

    Notes
    -----
    An evaluation costs (items + rankers) times about 10 + 6 sqrt(r) with equal variances, r being
    the largest adherence times the largest :math:`|D_{ij}|`, and (pairs + rankers) times about
    5 + 4 sqrt(r) with others, beside one pass over the counts. With variances and many rankers,
    JAX and second derivatives interpolate: a log normaliser is then off by up to 1e-11 at r = 16,
    1e-6 at 32 and 4e-3 at 128, for each count.

    References
    ----------
    Volkovs & Zemel, New learning methods for supervised and unsupervised preference aggregation,
    JMLR 15, 2014 (eq. 8 and 9, in whose normalisers k and l are meant).

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> counts = br.Rankings.from_orderings([["a", "b", "c"], ["b", "a", "c"]]).counts()
    >>> with pm.Model(coords=counts.coords) as model:
    ...     score = pm.ZeroSumNormal("score", 1.0, dims="item")
    ...     adherence = pm.HalfNormal("adherence", 1.0, dims="ranker")
    ...     y = br.MPM("y", score, adherence=adherence, observed=counts)
    >>> model.named_vars_to_dims["y"]
    ('ranker', 'item')
    """

    rv_type = MPMRV
    rv_op = MPMRV.rv_op

    def __new__(
        cls, name: str, score: Any, *, observed: Any = None, **kwargs: Any
    ) -> TensorVariable:
        refuse_single_precision()
        if isinstance(observed, PairCounts):
            check_sign("adherence", kwargs.get("adherence"), positive=False)
            check_sign("variance", kwargs.get("variance"), positive=True)
            return observe_counts(name, score, observed, **kwargs)
        if observed is not None:
            check_counts(observed, score)
            if kwargs.get("total") is None:
                kwargs["total"] = _totals(observed, kwargs.get("given_pairs", False))
        return super().__new__(cls, name, score, observed=observed, **kwargs)

    @classmethod
    def dist(
        cls,
        score: Any,
        *,
        variance: Any = None,
        adherence: Any = None,
        total: Any = None,
        given_pairs: bool = False,
        **kwargs: Any,
    ) -> TensorVariable:
        refuse_single_precision()
        check_sign("adherence", adherence, positive=False)
        check_sign("variance", variance, positive=True)
        check_sign("total", total, positive=False)
        if given_pairs:
            check_symmetric(total)
        score = pt.cast(pt.atleast_1d(pt.as_tensor_variable(score)), "float64")
        if score.type.shape[-1] == 1:
            raise ValueError("`score` has one item; MPM compares items, so give it two or more.")
        variance = pt.constant(np.zeros(0)) if variance is None else pt.as_tensor_variable(variance)
        adherence = pt.as_tensor_variable(1.0 if adherence is None else adherence)
        params = [score, pt.cast(variance, "float64"), pt.cast(adherence, "float64")]
        if given_pairs:
            total = pt.full((score.shape[-1],) * 2, ANY) if total is None else total
            return _GivenPairs.dist(
                [*params, pt.cast(pt.as_tensor_variable(total), "int64")], **kwargs
            )
        total = pt.cast(pt.as_tensor_variable(ANY if total is None else total), "int64")
        return super().dist([*params, total], **kwargs)

    def support_point(
        rv: TensorVariable, size: Any, score: Any, variance: Any, adherence: Any, total: Any
    ) -> TensorVariable:
        """Return a table in which the first item is preferred to the second each time."""
        counts = pt.zeros_like(rv)
        return pt.set_subtensor(counts[..., 0, 1], _at_random(total))

    def logp(value: Any, score: Any, variance: Any, adherence: Any, total: Any) -> TensorVariable:
        """One log-probability per ranker."""
        logp = mpm_logp(_within(value), score, adherence, _known(variance))
        fits = pt.eq(total, ANY) | pt.eq(pt.sum(value, axis=(-2, -1)), total)
        return _checked(logp, value, fits, score, variance, adherence)


class _GivenPairs(Discrete):
    """Given how often each pair was compared."""

    rv_type = GivenPairsRV
    rv_op = GivenPairsRV.rv_op

    def support_point(rv, size, score, variance, adherence, total):  # type: ignore[no-untyped-def]
        return pt.zeros_like(rv) + pt.triu(_at_random(total), 1)

    def logp(value, score, variance, adherence, total):  # type: ignore[no-untyped-def]
        logp = mpm_given_pairs_logp(_within(value), score, adherence, _known(variance))
        both = value + pt.swapaxes(value, -1, -2)
        fits = pt.all(pt.eq(total, ANY) | pt.eq(both, total), axis=(-2, -1))
        return _checked(logp, value, fits, score, variance, adherence)


def _at_random(total: TensorVariable) -> TensorVariable:
    """Sum of the counts of a draw: one where nothing was said."""
    return pt.switch(pt.eq(total, ANY), 1, total)


def _known(variance: TensorVariable) -> TensorVariable | None:
    return None if variance.type.shape[-1] == 0 else variance


def _within(value: TensorVariable) -> TensorVariable:
    """Replace negative counts, which have no log-probability; `_checked` finds them."""
    return pt.switch(value < 0, 0, value)


def _checked(
    logp: TensorVariable, value: Any, fits: Any, score: Any, variance: Any, adherence: Any
) -> TensorVariable:
    diagonal = pt.sum(pt.abs(value) * pt.eye(value.shape[-1], dtype="int64"), axis=(-2, -1))
    possible = fits & pt.all(value >= 0, axis=(-2, -1)) & pt.eq(diagonal, 0)
    return check_numbers(pt.switch(possible, logp, -pt.inf), score, variance, adherence)


def _totals(observed: Any, given_pairs: bool) -> Any:
    """Return what is given of the counts: their sum, or how often each pair is compared."""
    counts = observed if isinstance(observed, Variable) else np.asarray(observed)
    return counts + counts.swapaxes(-1, -2) if given_pairs else counts.sum(axis=(-2, -1))
