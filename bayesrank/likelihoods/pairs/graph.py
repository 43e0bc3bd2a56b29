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

P(second wins) is P(first wins) at :math:`-d`. ``*_log_probabilities(lead, ...)`` returns the
log-probabilities of all outcomes. `outcome_logp` selects one outcome, and `outcome_counts_logp`
sums over counts. Arguments broadcast.

Pairs that were observed as pairs, such as matches, have a proper likelihood. All pairs of a ranking
do not, because they are not independent. `triple_logp` returns a term of BPR.

>>> round(float(outcome_logp(0, bradley_terry_log_probabilities(np.log(3.0))).exp().eval()), 6)
0.75
"""

import math
from collections.abc import Sequence

import numpy as np
import pytensor.tensor as pt
from pytensor.tensor import TensorLike, TensorVariable

from bayesrank.likelihoods.ops.stable import log_ndtr, log_sigmoid, safe_log
from bayesrank.likelihoods.ops.vector_exp import FARTHEST

__all__ = [
    "bradley_terry_log_probabilities",
    "davidson_log_probabilities",
    "outcome_counts_logp",
    "outcome_logp",
    "rao_kupper_log_probabilities",
    "thurstone_log_probabilities",
    "times_odds",
    "triple_logp",
]

FIRST, SECOND, TIE = 0, 1, 2  # codes of the outcomes, as in `Pairs`

LogProbabilities = tuple[TensorVariable, ...]  # of the outcomes in the order of their codes


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
    lead = pt.as_tensor_variable(lead)
    return log_ndtr(lead), log_ndtr(-lead)


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

    # Both sides of the switch are log(e^{d/2} + e^{−d/2} + ν), so all derivatives at zero are
    # right; the derivatives of |d| would not be
    a = pt.switch(lead < 0, -lead, lead) / 2
    y = pt.exp(-a)
    # halves, because PyTensor turns log(1 + x) into log1p, which takes three times as long
    log_total = a + pt.log(0.5 + 0.5 * y * (y + nu)) + math.log(2)
    return lead / 2 - log_total, -lead / 2 - log_total, safe_log(nu) - log_total


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
    first, second = log_sigmoid(lead - threshold), log_sigmoid(-lead - threshold)
    # P(tie) = (θ − 1)(θ + 1) P(first) P(second): products only, nothing cancels
    return first, second, safe_log(theta - 1) + pt.log1p(theta) + first + second


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
