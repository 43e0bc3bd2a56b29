r"""Log-probabilities of matches, with slopes and curvatures by the lead and the tie parameter.

A Newton step over many utilities needs them for every match. Let d be the lead of the first item,
and :math:`\tau` an unconstrained tie parameter that all matches share:

=============  ===================================================================================
Davidson       :math:`\tau = \log \nu`: a softmax of :math:`d / 2`, :math:`-d / 2` and
               :math:`\tau`; Bradley-Terry at :math:`\tau = -\infty`
Rao-Kupper     :math:`\tau = \log \log \theta`: with :math:`\kappa = e^\tau`,
               :math:`(\text{first} + \text{ties}) \log \sigma(d - \kappa)
               + (\text{second} + \text{ties}) \log \sigma(-d - \kappa)
               + \text{ties} \log(e^{2\kappa} - 1)`
=============  ===================================================================================

Curvatures are second derivatives of the negative log-probability, and positive semi-definite. Under
Rao-Kupper they omit the slope by :math:`\kappa`, whose sum over all matches is zero at the mode.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from bayesrank.likelihoods.ops.vector_exp import FARTHEST
from bayesrank.match_outcomes import davidson_probabilities

__all__ = ["outcome_curvature"]

Floats = NDArray[np.float64]


def outcome_curvature(
    lead: Floats, tie: float | Floats, counts: Floats, davidson: bool
) -> tuple[Floats, Floats, Floats]:
    r"""Log-probabilities of counts, their slopes and curvatures.

    Parameters
    ----------
    lead : ndarray, (n,)
    tie : float or ndarray, (n,)
        The parameter :math:`\tau`.
    counts : ndarray of float, (n, 3)
        Weighted counts of wins of the first item, wins of the second item, and ties.
    davidson : bool
        Davidson's model; otherwise Rao and Kupper's.

    Returns
    -------
    logp : ndarray, (n,)
    slope : ndarray, (n, 2)
        By the lead and by the tie parameter.
    curvature : ndarray, (n, 2, 2)
    """
    logp, slope, curvature = (_davidson if davidson else _rao_kupper)(lead, tie, counts)
    dd, dt, tt = curvature
    return logp, np.stack(slope, axis=1), np.stack([dd, dt, dt, tt], axis=1).reshape(-1, 2, 2)


def _davidson(lead: Floats, tie: float | Floats, counts: Floats) -> Any:
    won, lost, tied = counts.T
    half, total = 0.5 * lead, won + lost + tied
    first, second, even = davidson_probabilities(lead, np.exp(np.minimum(tie, FARTHEST)))
    ahead = 0.5 * (first - second)
    # the better item wins with the largest of the two probabilities, which is never zero
    log_total = np.abs(half) - np.log(np.maximum(first, second))
    logp = (won - lost) * half - total * log_total
    if tied.any():  # without ties, tie may be -inf
        logp += tied * tie
    slope = 0.5 * (won - lost) - total * ahead, tied - total * even
    dd, dt, tt = 0.25 * (first + second) - ahead**2, -ahead * even, even * (1.0 - even)
    return logp, slope, (total * dd, total * dt, total * tt)


@np.errstate(divide="ignore", invalid="ignore")
def _rao_kupper(lead: Floats, tie: float | Floats, counts: Floats) -> Any:
    won, lost, tied = counts.T
    kappa, up, down = np.exp(tie), won + tied, lost + tied
    logp = up * log_expit(lead - kappa) + down * log_expit(-lead - kappa)
    miss, other = up * expit(kappa - lead), down * expit(kappa + lead)
    v, w = miss * expit(lead - kappa), other * expit(-lead - kappa)
    by_tie, tt = -kappa * (miss + other), kappa**2 * (v + w)
    if tied.any():  # log(exp(2 kappa) - 1), its slope and its curvature
        steep = -2 / np.expm1(-2 * kappa)
        logp = logp + tied * (2 * kappa + np.log(-np.expm1(-2 * kappa)))
        by_tie = by_tie + tied * kappa * steep
        tt = tt + tied * kappa**2 * steep * (steep - 2)
    return logp, (miss - other, by_tie), (v + w, kappa * (w - v), tt)
