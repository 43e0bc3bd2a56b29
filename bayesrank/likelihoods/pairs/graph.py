r"""Pairwise models: log-probabilities of comparisons of two items, as graphs.

A pair has the outcome 0 (the first item wins), 1 (the second item wins) or 2 (a tie: judged equal).
The *lead* of the first item is the difference of the utilities, :math:`d = w_1 - w_2`:

=============  ==============================  ===================
model          P(first wins)                   P(tie)
=============  ==============================  ===================
Bradley-Terry  :math:`\sigma(d)`               0
Thurstone      :math:`\Phi(d)`                 0
Davidson       :math:`\propto e^{d/2}`         :math:`\propto \nu`
Rao-Kupper     :math:`\sigma(d - \log\theta)`  the rest
=============  ==============================  ===================

Grounded Rao-Kupper has the fourth outcome 3, *both are bad*, and depends also on the *level*, the
mean of the two utilities above a threshold.

P(second wins) is P(first wins) at :math:`-d`. These models are two or three *grades* of the
families of `bayesrank.match_outcomes`, from the best grade for the first item to the worst.
``*_log_probabilities(lead, ...)`` returns the log-probabilities of all outcomes. `outcome_logp`
selects one outcome, and `outcome_counts_logp` sums over counts. Arguments broadcast.

Pairs that were observed as pairs, such as matches, have a proper likelihood. All pairs of a ranking
do not, because they are not independent. `triple_logp` returns a term of BPR.

>>> round(float(outcome_logp(0, bradley_terry_log_probabilities(np.log(3.0))).exp().eval()), 6)
0.75
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.tensor import TensorLike, TensorVariable

from bayesrank.likelihoods.ops.stable import log_ndtr, log_sigmoid, safe_log
from bayesrank.likelihoods.ops.stop_gradient import stop_gradient
from bayesrank.likelihoods.ops.vector_exp import FARTHEST
from bayesrank.match_outcomes import FAMILIES

__all__ = [
    "adjacent_logit_log_probabilities",
    "bradley_terry_log_probabilities",
    "cumulative_logit_log_probabilities",
    "cumulative_probit_log_probabilities",
    "davidson_log_probabilities",
    "grade_log_probabilities",
    "grounded_log_probabilities",
    "outcome_counts_logp",
    "outcome_logp",
    "rao_kupper_log_probabilities",
    "thurstone_log_probabilities",
    "times_odds",
    "triple_logp",
]

FIRST, SECOND, TIE = 0, 1, 2  # codes of the outcomes, as in `Pairs`; both bad is 3

LogProbabilities = tuple[TensorVariable, ...]  # of the outcomes in the order of their codes

ONE = 1.0  # the weight of both extreme grades, if it is the same object


def cumulative_logit_log_probabilities(lead: TensorLike, cutpoints: TensorLike) -> LogProbabilities:
    r"""Log-probabilities of grades: the lead with logistic noise lies between two cutpoints.

    .. math:: P(y) = \sigma(h - d) - \sigma(l - d)
              = (e^{h - l} - 1) \, \sigma(d - h) \, \sigma(l - d)

    where h and l are the cutpoints above and below the grade. The last axis of the cutpoints is
    increasing. Grades are listed from the best for the first item to the worst.

    Examples
    --------
    >>> p = cumulative_logit_log_probabilities(np.log(2.0), [-np.log(3.0), 0.0, np.log(3.0)])
    >>> [round(float(x.exp().eval()), 3) for x in p]
    [0.4, 0.267, 0.19, 0.143]
    """
    below = _boundaries(cutpoints)
    widths = [high - low for high, low in pairwise(below)]
    # log(e^w − 1), and nothing overflows
    gaps = [w + safe_log(-pt.expm1(-w)) for w in widths]
    return _cumulative_logit(pt.as_tensor_variable(lead), below, gaps)


def _cumulative_logit(
    d: TensorVariable, below: Sequence[Any], gaps: Sequence[Any]
) -> LogProbabilities:
    """Return log-probabilities, given the boundary below each grade but the worst.

    `gaps` are the logarithms of :math:`e^{h - l} - 1`. Products do not cancel.
    """
    better = [log_sigmoid(d - c) for c in below]
    worse = [log_sigmoid(c - d) for c in below]
    between = [gap + better[j] + worse[j + 1] for j, gap in enumerate(gaps)]
    return better[0], *between, worse[-1]


def cumulative_probit_log_probabilities(
    lead: TensorLike, cutpoints: TensorLike
) -> LogProbabilities:
    r"""Log-probabilities of grades: the lead with normal noise lies between two cutpoints.

    .. math:: P(y) = \Phi(h - d) - \Phi(l - d)

    with the cutpoints h and l, and the order of grades, of `cumulative_logit_log_probabilities`.

    Examples
    --------
    >>> p = cumulative_probit_log_probabilities(0.0, [-1.96, 1.96])
    >>> [round(float(x.exp().eval()), 3) for x in p]
    [0.025, 0.95, 0.025]
    """
    d, below = pt.as_tensor_variable(lead), _boundaries(cutpoints)
    between = []
    for high, low in pairwise(below):
        # on the side where the distribution function is small, so that nothing cancels
        turned = high + low > 2 * d
        a, b = (
            log_ndtr(pt.switch(turned, d - high, low - d)),
            log_ndtr(pt.switch(turned, d - low, high - d)),
        )
        between.append(b + safe_log(-pt.expm1(a - b)))
    return log_ndtr(d - below[0]), *between, log_ndtr(below[-1] - d)


def adjacent_logit_log_probabilities(lead: TensorLike, cutpoints: TensorLike) -> LogProbabilities:
    r"""Log-probabilities of grades whose neighbours have log odds that are linear in the lead.

    .. math:: \log\frac{P(\text{better})}{P(\text{worse})} = \frac{d - c}{G - 1}

    for two neighbours with the cutpoint c between them. They are equally likely if the lead is c.
    The best and the worst grade have log odds d if the cutpoints sum to zero. Grades are listed
    from the best for the first item to the worst.

    Examples
    --------
    >>> p = adjacent_logit_log_probabilities(np.log(9.0), [0.0, 0.0])
    >>> [round(float(x.exp().eval()), 3) for x in p]  # 9 : 3 : 1
    [0.692, 0.231, 0.077]
    """
    levels = _levels(_boundaries(cutpoints))
    return _adjacent(pt.as_tensor_variable(lead), levels, [pt.exp(b) for b in levels])


def grade_log_probabilities(
    lead: TensorLike, cutpoints: TensorLike, family: str
) -> LogProbabilities:
    """Log-probabilities of grades, from the best for the first item to the worst.

    Parameters
    ----------
    lead : tensor, (...)
    cutpoints : tensor, (..., G - 1)
        Their number is known before evaluation.
    family : str
        One of `bayesrank.match_outcomes.FAMILIES`.

    Examples
    --------
    >>> p = grade_log_probabilities(0.0, [0.0], "cumulative_logit")
    >>> [round(float(x.exp().eval()), 3) for x in p]
    [0.5, 0.5]
    """
    return _OF_FAMILY[family](lead, cutpoints)


def _levels(below: Sequence[Any]) -> list[TensorVariable]:
    """Return the log odds of each grade and the best at a lead of zero."""
    steps, level = len(below), pt.zeros(())
    return [level, *(level := level + c / steps for c in below)]


def _adjacent(d: TensorVariable, levels: Sequence[Any], weights: Sequence[Any]) -> LogProbabilities:
    r"""Return log-probabilities :math:`b_j + d s_j`, less the logarithm of the sum.

    The points s go from 1/2 to -1/2 in equal steps, and :math:`w_j = e^{b_j}`.
    """
    # Both sides of the switch are log Σ w e^{d s}, so all derivatives at zero are right; the
    # derivatives of |d| would not be
    m, ahead = len(levels) - 1, d >= 0
    a = pt.switch(ahead, d, -d) / 2
    y = pt.exp(-2 * a / m)
    ordered = [
        one if one is other else pt.switch(ahead, one, other)
        for one, other in zip(weights, reversed(weights), strict=True)
    ]  # from the best grade for the leading item
    # a flat sum: PyTensor's rewrites of nested products take minutes
    rest: Any = sum((w * y**j for j, w in enumerate(ordered[2:], 2)), start=ordered[1] * y)
    # halves, because PyTensor turns log(1 + x) into log1p, which takes three times as long
    log_total = a + pt.log(0.5 * ordered[0] + 0.5 * rest) + math.log(2)
    return tuple((0.5 - j / m) * d + b - log_total for j, b in enumerate(levels))


_OF_FAMILY = dict(
    zip(
        FAMILIES,
        (
            cumulative_logit_log_probabilities,
            cumulative_probit_log_probabilities,
            adjacent_logit_log_probabilities,
        ),
        strict=True,
    )
)


def _boundaries(cutpoints: TensorLike) -> list[TensorVariable]:
    """Return the cutpoint below each grade but the worst, from the best grade on."""
    cutpoints = pt.as_tensor_variable(cutpoints)
    return [cutpoints[..., j] for j in reversed(range(cutpoints.type.shape[-1]))]


def bradley_terry_log_probabilities(lead: TensorLike) -> LogProbabilities:
    r"""Log-probabilities of a win of the first and of the second item, under Bradley-Terry.

    .. math:: P(\text{first}) = \frac{\phi_1}{\phi_1 + \phi_2} = \sigma(d), \qquad \phi = e^w

    Examples
    --------
    >>> [round(float(x.exp().eval()), 6) for x in bradley_terry_log_probabilities(np.log(3.0))]
    [0.75, 0.25]
    """
    return davidson_log_probabilities(lead, 0.0)[:TIE]


def thurstone_log_probabilities(lead: TensorLike) -> LogProbabilities:
    r"""Log-probabilities of a win of the first and of the second item, under Thurstone's model.

    .. math:: P(\text{first}) = \Phi(d)

    The lead is in standard deviations of the noise in the difference.

    Examples
    --------
    >>> [round(float(x.exp().eval()), 3) for x in thurstone_log_probabilities(1.96)]
    [0.975, 0.025]
    """
    return cumulative_probit_log_probabilities(lead, [0.0])


def davidson_log_probabilities(lead: TensorLike, nu: TensorLike) -> LogProbabilities:
    r"""Log-probabilities of a win of the first item, of the second, and of a tie, under Davidson.

    .. math:: P(\text{first}) = \phi_1 / Z, \quad P(\text{tie}) = \nu\sqrt{\phi_1\phi_2} / Z,
              \qquad Z = \phi_1 + \phi_2 + \nu\sqrt{\phi_1\phi_2}, \quad \nu \ge 0

    Examples
    --------
    >>> [round(float(x.exp().eval()), 6) for x in davidson_log_probabilities(0.0, 2.0)]
    [0.25, 0.25, 0.5]
    """
    lead, nu = pt.as_tensor_variable(lead), pt.as_tensor_variable(nu)
    first, tie, second = _adjacent(lead, [0.0, safe_log(nu), 0.0], [ONE, nu, ONE])
    return first, second, tie


def rao_kupper_log_probabilities(lead: TensorLike, theta: TensorLike) -> LogProbabilities:
    r"""Log-probabilities of a win of the first item, of the second, and of a tie, by Rao-Kupper.

    .. math:: P(\text{first}) = \frac{\phi_1}{\phi_1 + \theta\phi_2}, \qquad
              P(\text{tie}) = \frac{(\theta^2 - 1)\,\phi_1\phi_2}
                                   {(\phi_1 + \theta\phi_2)(\theta\phi_1 + \phi_2)},
              \qquad \theta \ge 1

    Examples
    --------
    >>> [round(float(x.exp().eval()), 6) for x in rao_kupper_log_probabilities(0.0, 3.0)]
    [0.25, 0.25, 0.5]
    """
    lead, theta = pt.as_tensor_variable(lead), pt.as_tensor_variable(theta)
    threshold = pt.log(theta)
    # log(θ² − 1), also next to θ = 1
    gap = safe_log(theta - 1) + pt.log1p(theta)
    first, tie, second = _cumulative_logit(lead, [threshold, -threshold], [gap])
    return first, second, tie


def grounded_log_probabilities(
    lead: TensorLike, level: TensorLike, theta: TensorLike
) -> LogProbabilities:
    r"""Log-probabilities of a win of the first, of the second, a tie, and both bad.

    .. math:: P(\text{first}) = \frac{p}{p + \theta q + 1}, \qquad
              P(\text{both bad}) = \frac{1}{1 + p + q}, \qquad
              p = e^{l + d / 2}, \quad q = e^{l - d / 2}, \quad \theta \ge 1

    with the lead d and the level l. A tie is the rest:

    .. math:: P(\text{tie}) = \frac{(\theta - 1)\, p q \, (2 + (1 + \theta)(p + q))}
                                  {(1 + p + q)(1 + p + \theta q)(1 + q + \theta p)}

    which does not cancel next to :math:`\theta = 1`, where it is zero.

    References
    ----------
    Grounded Rao-Kupper, arXiv 2502.14855.

    Examples
    --------
    >>> p = grounded_log_probabilities(0.0, 0.0, 2.0)
    >>> [round(float(x.exp().eval()), 3) for x in p]
    [0.25, 0.25, 0.167, 0.333]
    """
    lead, level, theta = map(pt.as_tensor_variable, (lead, level, theta))
    a, b = level + lead / 2, level - lead / 2
    # the result does not depend on the divisor, so it needs no gradient
    top = stop_gradient(pt.maximum(pt.maximum(a, b), 0.0))
    a, b = a - top, b - top
    one, p, q = pt.exp(-top), pt.exp(a), pt.exp(b)
    log_all = pt.log(one + p + q)
    log_first, log_second = pt.log(one + p + theta * q), pt.log(one + q + theta * p)
    log_both = pt.log(2 * one + (1 + theta) * (p + q))
    tie = safe_log(theta - 1) + a + b + log_both - log_all - log_first - log_second
    return a - log_first, b - log_second, tie, -top - log_all


def times_odds(tie: TensorLike, log_times: TensorLike, least: float = 0.0) -> TensorVariable:
    r"""Return the tie parameter that multiplies the odds of a tie of equal items by :math:`e^s`.

    .. math:: \nu e^s \quad\text{(Davidson)}, \qquad
              1 + (\theta - 1) e^s \quad\text{(Rao-Kupper)}

    because equal items tie with odds :math:`\nu / 2` and :math:`(\theta - 1) / 2`. `log_times` is
    s, clipped at ±700. `least` is the tie parameter without ties, 0 or 1.

    Examples
    --------
    >>> times_odds([1.0, 3.0], np.log(2.0), 1.0).eval().round(6).tolist()
    [1.0, 5.0]
    """
    log_times = pt.clip(pt.as_tensor_variable(log_times), -FARTHEST, FARTHEST)
    return least + (pt.as_tensor_variable(tie) - least) * pt.exp(log_times)


def outcome_logp(outcome: TensorLike, log_probabilities: LogProbabilities) -> TensorVariable:
    """Return the log-probability of outcome 0 (first wins), 1 (second wins) or 2 (tie), else -inf.

    Examples
    --------
    >>> outcome_logp([0, 1, 2], davidson_log_probabilities(0.0, 2.0)).exp().eval().round(6).tolist()
    [0.25, 0.25, 0.5]
    """
    outcome, logp = pt.as_tensor_variable(outcome), -np.inf
    for code, log_probability in enumerate(log_probabilities):
        logp = pt.switch(pt.eq(outcome, code), log_probability, logp)
    return logp


def outcome_counts_logp(
    counts: TensorLike, log_probabilities: Sequence[TensorVariable]
) -> TensorVariable:
    r"""Log-probability of counts of outcomes, without the multinomial coefficient.

    .. math:: \sum_o c_o \log P(o), \qquad 0 \log 0 = 0

    Counts are (..., n_outcomes), and may be weighted. The gradient is finite if impossible outcomes
    did not occur.

    Examples
    --------
    >>> even = davidson_log_probabilities(0.0, 0.0)
    >>> round(float(outcome_counts_logp([2, 1, 0], even).eval()), 4)
    -2.0794
    """
    counts = pt.as_tensor_variable(counts)
    terms = [
        pt.switch(pt.eq(counts[..., outcome], 0), 0.0, counts[..., outcome] * logp)
        for outcome, logp in enumerate(log_probabilities)
    ]
    return sum(terms[1:], start=terms[0])


def triple_logp(utility: TensorLike, second: TensorLike = 0) -> TensorVariable:
    r"""Log-probability of the preference of a BPR triple, :math:`\log\sigma(\pm(x_{ui} - x_{uj}))`.

    The last axis of `utility` holds an item of the user and another item. `second` is 0 if the
    first is preferred, as in all observed triples, and 1 if the second is. Other values give -inf.

    References
    ----------
    Rendle et al., BPR: Bayesian personalized ranking from implicit feedback, UAI 2009.

    Examples
    --------
    >>> triple_logp([[np.log(3.0), 0.0]], [0]).exp().eval().round(6).tolist()
    [0.75]
    """
    utility, second = pt.as_tensor_variable(utility), pt.as_tensor_variable(second)
    lead = utility[..., 0] - utility[..., 1]
    logp = log_sigmoid(pt.switch(pt.eq(second, 0), lead, -lead))
    return pt.switch(pt.eq(second, 0) | pt.eq(second, 1), logp, -np.inf)
