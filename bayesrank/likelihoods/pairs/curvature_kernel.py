r"""Log-probabilities of matches in numba, with slopes and curvatures by the lead and the ties.

A Newton step over many utilities needs them of every match. With the lead d of the first item and
a parameter of ties :math:`\tau` that all matches share and that may be any number,

=============  ===================================================================================
Davidson       :math:`\tau = \log \nu`: a softmax of :math:`d / 2`, :math:`-d / 2` and
               :math:`\tau`; Bradley-Terry at :math:`\tau = -\infty`
Rao-Kupper     :math:`\tau = \log \log \theta`: with :math:`\kappa = e^\tau`,
               :math:`(\text{first} + \text{ties}) \log \sigma(d - \kappa)
               + (\text{second} + \text{ties}) \log \sigma(-d - \kappa)
               + \text{ties} \log(e^{2\kappa} - 1)`
=============  ===================================================================================

Curvatures are those of minus the log-probability, and positive semi-definite. Rao and Kupper's
leaves out the slope by :math:`\kappa`, whose sum over all matches is zero at the mode.
"""

import math

import numba
import numpy as np

__all__ = ["outcome_curvature_kernel"]


@numba.njit(cache=True, error_model="numpy", fastmath=False)
def outcome_curvature_kernel(lead, tie, counts, davidson):  # type: ignore[no-untyped-def]
    """Log-probabilities of counts, their slopes and curvatures.

    Parameters
    ----------
    lead : ndarray, (n,)
    tie : float
        The parameter above.
    counts : ndarray of float, (n, 3)
        How often the first won, the second won and the two tied, times a weight.
    davidson : bool
        Davidson's model, or else that of Rao and Kupper.

    Returns
    -------
    logp : ndarray, (n,)
    slope : ndarray, (n, 2)
        By the lead and by the parameter of ties.
    curvature : ndarray, (n, 2, 2)
    """
    n = lead.size
    logp, slope, curvature = np.empty(n), np.empty((n, 2)), np.empty((n, 2, 2))
    kappa = math.exp(tie)
    # log(exp(2 kappa) - 1), its slope and its curvature
    apart = 2.0 * kappa + math.log(-math.expm1(-2.0 * kappa)) if kappa > 0.0 else -np.inf
    steep = -2.0 / math.expm1(-2.0 * kappa) if kappa > 0.0 else np.inf
    bend = steep * (steep - 2.0) if kappa > 0.0 else np.inf
    for k in range(n):
        won, lost, tied = counts[k, 0], counts[k, 1], counts[k, 2]
        d, total = lead[k], won + lost + tied
        if davidson:
            top = max(0.5 * abs(d), tie)
            one, other = math.exp(0.5 * d - top), math.exp(-0.5 * d - top)
            even = math.exp(tie - top)
            rest = one + other + even
            one, other, even = one / rest, other / rest, even / rest
            ahead = 0.5 * (one - other)
            logp[k] = 0.5 * (won - lost) * d - total * (top + math.log(rest))
            if tied > 0.0:
                logp[k] += tied * tie
            slope[k, 0] = 0.5 * (won - lost) - total * ahead
            slope[k, 1] = tied - total * even
            curvature[k, 0, 0] = total * (0.25 * (one + other) - ahead * ahead)
            curvature[k, 0, 1] = -total * ahead * even
            curvature[k, 1, 1] = total * even * (1.0 - even)
        else:
            up, down = won + tied, lost + tied
            a, b = d - kappa, -d - kappa
            miss_a, miss_b = _logistic(-a), _logistic(-b)
            logp[k] = -up * _softplus(-a) - down * _softplus(-b)
            slope[k, 0] = up * miss_a - down * miss_b
            slope[k, 1] = -kappa * (up * miss_a + down * miss_b)
            v_a, v_b = up * miss_a * (1.0 - miss_a), down * miss_b * (1.0 - miss_b)
            curvature[k, 0, 0] = v_a + v_b
            curvature[k, 0, 1] = kappa * (v_b - v_a)
            curvature[k, 1, 1] = kappa * kappa * (v_a + v_b)
            if tied > 0.0:
                logp[k] += tied * apart
                slope[k, 1] += tied * kappa * steep
                curvature[k, 1, 1] += tied * kappa * kappa * bend
        curvature[k, 1, 0] = curvature[k, 0, 1]
    return logp, slope, curvature


@numba.njit(cache=True, error_model="numpy", fastmath=False)
def _logistic(x):  # type: ignore[no-untyped-def]
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    y = math.exp(x)
    return y / (1.0 + y)


@numba.njit(cache=True, error_model="numpy", fastmath=False)
def _softplus(x):  # type: ignore[no-untyped-def]
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))
