r"""Pairwise models: log-probabilities and losses of comparisons of two items, as graphs.

A pair has the outcome 0 (the first item wins), 1 (the second wins) or 2 (a tie: judged equal).
With the difference :math:`d = w_1 - w_2` of the utilities,

=============  ==============================  ===================
model          P(first wins)                   P(tie)
=============  ==============================  ===================
Bradley-Terry  :math:`\sigma(d)`               0
Thurstone      :math:`\Phi(d)`                 0
Davidson       :math:`\propto e^{d/2}`         :math:`\propto \nu`
Rao-Kupper     :math:`\sigma(d - \log\theta)`  the rest
=============  ==============================  ===================

and P(second wins) is P(first wins) at :math:`-d`. Beside them stand the losses that others
minimise in place of a log-probability: hinge, squared and exponential. All of them take
``(utility_first, utility_second, outcome)`` of any shapes that broadcast.

Pairs that were observed as pairs, such as matches, are a proper likelihood. All pairs of a ranking
are not: see `bayesrank.likelihoods.composite`.

>>> round(float(bradley_terry_logp(np.log(3.0), 0.0, 0).exp().eval()), 6)
0.75
"""

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

from bayesrank.likelihoods.stable import log_ndtr, log_sigmoid, safe_log, softplus

__all__ = [
    "bradley_terry_logp",
    "davidson_logp",
    "exponential_loss",
    "hinge_loss",
    "rao_kupper_logp",
    "squared_loss",
    "thurstone_logp",
]

FIRST, SECOND, TIE = 0, 1, 2  # codes of the outcomes, as in `Pairs`
WINS, ALL = range(2), range(3)


# ---------------------------------------------------------------------------------------------
# Models of a pair
# ---------------------------------------------------------------------------------------------


def bradley_terry_logp(utility_first: Any, utility_second: Any, outcome: Any) -> TensorVariable:
    r"""Log-probability of outcomes under Bradley-Terry.

    .. math:: P(\text{first}) = \frac{\phi_1}{\phi_1 + \phi_2} = \sigma(d), \qquad \phi = e^w

    On the ordered pairs of judged documents its negative is the loss of RankNet.

    Parameters
    ----------
    utility_first, utility_second : tensor_like of float
        Log worths of the two items.
    outcome : tensor_like of int
        0 = first wins, 1 = second wins.

    Returns
    -------
    TensorVariable
        One number per pair; -inf for a tie, which the model does not know.

    References
    ----------
    Bradley & Terry 1952; Burges et al., Learning to rank using gradient descent, ICML 2005.

    Examples
    --------
    >>> round(float(bradley_terry_logp(0.3, 0.3, 1).eval()), 6)
    -0.693147
    """
    towards, outcome = _towards_winner(utility_first, utility_second, outcome)
    return _among(WINS, outcome, log_sigmoid(towards))


def thurstone_logp(utility_first: Any, utility_second: Any, outcome: Any) -> TensorVariable:
    r"""Log-probability of outcomes under Thurstone's model (probit).

    .. math:: P(\text{first}) = \Phi(d)

    The first item wins where :math:`d` plus standard normal noise is positive. Noise of variance
    one on each *item* (Thurstone's case V with unit variances) is the same model with utilities
    divided by :math:`\sqrt 2`.

    Parameters
    ----------
    utility_first, utility_second : tensor_like of float
        Utilities, in standard deviations of the noise on a difference.
    outcome : tensor_like of int
        0 = first wins, 1 = second wins.

    Returns
    -------
    TensorVariable
        One number per pair; -inf for a tie, which the model does not know.

    References
    ----------
    Thurstone, A law of comparative judgment, Psychological Review 34, 1927.

    Examples
    --------
    >>> round(float(thurstone_logp(1.96, 0.0, 0).exp().eval()), 3)
    0.975
    """
    towards, outcome = _towards_winner(utility_first, utility_second, outcome)
    return _among(WINS, outcome, log_ndtr(towards))


def davidson_logp(utility_first: Any, utility_second: Any, outcome: Any, nu: Any) -> TensorVariable:
    r"""Log-probability of outcomes under Davidson's model of ties.

    .. math:: P(\text{first}) = \phi_1 / Z, \quad P(\text{tie}) = \nu\sqrt{\phi_1\phi_2} / Z,
              \qquad Z = \phi_1 + \phi_2 + \nu\sqrt{\phi_1\phi_2}

    Parameters
    ----------
    utility_first, utility_second : tensor_like of float
        Log worths of the two items.
    outcome : tensor_like of int
        0 = first wins, 1 = second wins, 2 = tie.
    nu : tensor_like of float, >= 0
        Prevalence of ties: equal items tie with probability :math:`\nu / (2 + \nu)`. Zero is
        Bradley-Terry.

    Returns
    -------
    TensorVariable
        One number per pair.

    References
    ----------
    Davidson, On extending the Bradley-Terry model to accommodate ties in paired comparison
    experiments, JASA 65, 1970.

    Examples
    --------
    >>> davidson_logp(0.0, 0.0, [0, 1, 2], 2.0).exp().eval().round(6).tolist()
    [0.25, 0.25, 0.5]
    """
    towards, outcome = _towards_winner(utility_first, utility_second, outcome)
    nu = pt.as_tensor_variable(nu)

    # L = log(e^{d/2} + e^{−d/2}) ≥ log 2, so log(e^L + ν) = L + log1p(ν e^{−L}): no overflow, and a
    # gradient at ν = 0
    log_cosh = softplus(towards) - towards / 2
    log_score = pt.switch(pt.eq(outcome, TIE), safe_log(nu), towards / 2)
    log_total = log_cosh + pt.log1p(nu * pt.exp(-log_cosh))
    return _among(ALL, outcome, log_score - log_total)


def rao_kupper_logp(
    utility_first: Any, utility_second: Any, outcome: Any, theta: Any
) -> TensorVariable:
    r"""Log-probability of outcomes under Rao and Kupper's model of ties.

    .. math:: P(\text{first}) = \frac{\phi_1}{\phi_1 + \theta\phi_2}, \qquad
              P(\text{tie}) = \frac{(\theta^2 - 1)\,\phi_1\phi_2}
                                   {(\phi_1 + \theta\phi_2)(\theta\phi_1 + \phi_2)}

    A tie is a difference, with logistic noise, of less than :math:`\log\theta`.

    Parameters
    ----------
    utility_first, utility_second : tensor_like of float
        Log worths of the two items.
    outcome : tensor_like of int
        0 = first wins, 1 = second wins, 2 = tie.
    theta : tensor_like of float, >= 1
        Threshold: equal items tie with probability :math:`(\theta - 1)/(\theta + 1)`. One is
        Bradley-Terry.

    Returns
    -------
    TensorVariable
        One number per pair.

    References
    ----------
    Rao & Kupper, Ties in paired-comparison experiments: a generalization of the Bradley-Terry
    model, JASA 62, 1967.

    Examples
    --------
    >>> rao_kupper_logp(0.0, 0.0, [0, 1, 2], 3.0).exp().eval().round(6).tolist()
    [0.25, 0.25, 0.5]
    """
    towards, outcome = _towards_winner(utility_first, utility_second, outcome)
    theta = pt.as_tensor_variable(theta)
    threshold = pt.log(theta)

    # P(tie) = (θ − 1)(θ + 1) σ(d − log θ) σ(−d − log θ): products only, nothing cancels
    log_factor = safe_log(theta - 1) + pt.log1p(theta)
    log_second = pt.switch(pt.eq(outcome, TIE), log_factor + log_sigmoid(-towards - threshold), 0.0)
    return _among(ALL, outcome, log_sigmoid(towards - threshold) + log_second)


# ---------------------------------------------------------------------------------------------
# Losses of a pair
# ---------------------------------------------------------------------------------------------


def hinge_loss(utility_first: Any, utility_second: Any, outcome: Any) -> TensorVariable:
    r"""Hinge loss :math:`\max(0, 1 - d)` of the winner's lead :math:`d`: linear ranking SVM.

    Parameters
    ----------
    utility_first, utility_second : tensor_like of float
        Utilities of the two items.
    outcome : tensor_like of int
        0 = first wins, 1 = second wins, 2 = tie, which costs nothing.

    Returns
    -------
    TensorVariable
        One number per pair, >= 0.

    References
    ----------
    Joachims, Optimizing search engines using clickthrough data, KDD 2002.

    Examples
    --------
    >>> hinge_loss([2.0, 0.25, 0.0], 0.0, [0, 0, 1]).eval().tolist()
    [0.0, 0.75, 1.0]
    """
    towards, outcome = _towards_winner(utility_first, utility_second, outcome)
    return pt.switch(pt.eq(outcome, TIE), 0.0, pt.maximum(1 - towards, 0.0))


def squared_loss(utility_first: Any, utility_second: Any, outcome: Any) -> TensorVariable:
    r"""Squared loss :math:`(y - d)^2` with y = 1 (first wins), -1 (second) or 0 (tie).

    Rank regression on pairs.

    Parameters
    ----------
    utility_first, utility_second : tensor_like of float
        Utilities of the two items.
    outcome : tensor_like of int
        0 = first wins, 1 = second wins, 2 = tie.

    Returns
    -------
    TensorVariable
        One number per pair, >= 0.

    References
    ----------
    Cossock & Zhang, Statistical analysis of Bayes optimal subset ranking, IEEE Transactions on
    Information Theory 54, 2008.

    Examples
    --------
    >>> squared_loss(0.5, 0.0, [0, 1, 2]).eval().tolist()
    [0.25, 2.25, 0.25]
    """
    towards, outcome = _towards_winner(utility_first, utility_second, outcome)
    return (pt.switch(pt.eq(outcome, TIE), 0.0, 1.0) - towards) ** 2


def exponential_loss(utility_first: Any, utility_second: Any, outcome: Any) -> TensorVariable:
    r"""Exponential loss :math:`e^{-d}` of the winner's lead :math:`d`: RankBoost.

    Parameters
    ----------
    utility_first, utility_second : tensor_like of float
        Utilities of the two items.
    outcome : tensor_like of int
        0 = first wins, 1 = second wins, 2 = tie, which costs nothing.

    Returns
    -------
    TensorVariable
        One number per pair, >= 0; inf where the loser leads by more than 709, for the number is
        too large for double precision.

    References
    ----------
    Freund et al., An efficient boosting algorithm for combining preferences, JMLR 4, 2003.

    Examples
    --------
    >>> exponential_loss(0.0, np.log(2.0), [0, 1, 2]).eval().tolist()
    [2.0, 0.5, 0.0]
    """
    towards, outcome = _towards_winner(utility_first, utility_second, outcome)
    tie = pt.eq(outcome, TIE)
    return pt.switch(tie, 0.0, pt.exp(-pt.switch(tie, 0.0, towards)))


# ---------------------------------------------------------------------------------------------
# Parts
# ---------------------------------------------------------------------------------------------


def _towards_winner(first: Any, second: Any, outcome: Any) -> tuple[TensorVariable, TensorVariable]:
    """Lead of the winner (of the first item in a tie), and the outcome as a tensor."""
    outcome = pt.as_tensor_variable(outcome)
    lead = pt.as_tensor_variable(first) - pt.as_tensor_variable(second)
    return pt.switch(pt.eq(outcome, SECOND), -lead, lead), outcome


def _among(outcomes: range, outcome: TensorVariable, logp: TensorVariable) -> TensorVariable:
    return pt.switch((outcome >= outcomes.start) & (outcome < outcomes.stop), logp, -np.inf)
