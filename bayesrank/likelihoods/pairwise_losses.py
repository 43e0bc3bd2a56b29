"""Losses of pairs: what others minimise in place of a log-probability, as graphs.

They take ``(utility_first, utility_second, outcome)``, as the log-probabilities of
`bayesrank.likelihoods.pairwise` do, and so go into `bayesrank.likelihoods.composite.pairs_logp`
with a minus sign.

>>> hinge_loss([2.0, 0.25], 0.0, 0).eval().tolist()
[0.0, 0.75]
"""

from typing import Any

import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

from bayesrank.likelihoods.pairwise import SECOND, TIE

__all__ = ["exponential_loss", "hinge_loss", "squared_loss"]


def _towards_winner(first: Any, second: Any, outcome: Any) -> tuple[TensorVariable, TensorVariable]:
    """Lead of the winner (of the first item in a tie), and the outcome as a tensor."""
    outcome = pt.as_tensor_variable(outcome)
    lead = pt.as_tensor_variable(first) - pt.as_tensor_variable(second)
    return pt.switch(pt.eq(outcome, SECOND), -lead, lead), outcome


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
    >>> [round(float(loss), 4) for loss in exponential_loss(0.0, 1.0, [0, 1, 2]).eval()]
    [2.7183, 0.3679, 0.0]
    """
    towards, outcome = _towards_winner(utility_first, utility_second, outcome)
    tie = pt.eq(outcome, TIE)
    return pt.switch(tie, 0.0, pt.exp(-pt.switch(tie, 0.0, towards)))
