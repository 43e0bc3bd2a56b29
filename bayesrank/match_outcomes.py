r"""Probabilities of the outcomes of matches, as arrays.

An outcome is one of G *grades*, from the best for the first item to the best for the second. With
the lead d of the first item, the grades are cut by :math:`c_1 < \dots < c_{G-1}`:

====================  =============================================================================
`cumulative_logit`    The lead with logistic noise lies between two cutpoints.
`cumulative_probit`   The lead with standard normal noise lies between two cutpoints.
`adjacent_logit`      Neighbouring grades have log odds :math:`(d - c_g) / (G - 1)`. They are
                      equally likely if the lead is at the cutpoint between them.
====================  =============================================================================

Who won is the special case of two or three grades: first wins, a tie, second wins. Codes of these
outcomes are 0, 2 and 1, as in `bayesrank.Pairs`:

==============  ======  ===================  ====================  ==============================
model           grades  family               cutpoints             parameter in `outcome_curvature`
==============  ======  ===================  ====================  ==============================
Bradley-Terry   2       both logit families  0                     :math:`\tau = -\infty`, Davidson
Thurstone       2       `cumulative_probit`  0
Davidson        3       `adjacent_logit`     :math:`\pm 2\log\nu`  :math:`\tau = \log\nu`
Rao-Kupper      3       `cumulative_logit`   :math:`\pm\kappa`,    :math:`\tau = \log\kappa`
                                             :math:`\kappa = \log\theta`
==============  ======  ===================  ====================  ==============================

Grounded Rao-Kupper has a fourth outcome in addition: both items are bad
(`grounded_derivatives`).

`bayesrank.likelihoods.pairs` has the same formulas as graphs. This file needs NumPy only, so tables
and plots of results do not wait for PyTensor.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit, log_ndtr

__all__ = [
    "FAMILIES",
    "davidson_probabilities",
    "grade_derivatives",
    "grade_probabilities",
    "grounded_derivatives",
    "outcome_curvature",
    "outcome_probabilities",
    "rao_kupper_probabilities",
]

Floats = NDArray[np.float64]

FAMILIES = ("cumulative_logit", "cumulative_probit", "adjacent_logit")
FARTHEST = 700.0  # exponentials are finite up to here


# ---------------------------------------------------------------------------------------------
# Grades
# ---------------------------------------------------------------------------------------------


def grade_probabilities(lead: ArrayLike, cutpoints: ArrayLike, family: str) -> Floats:
    r"""Compute the probabilities of grades, from the best for the first item to the worst.

    Parameters
    ----------
    lead : array, (...)
        Utility of the first item minus the utility of the second item.
    cutpoints : array, (..., G - 1)
        Increasing under the cumulative families.
    family : str
        One of `FAMILIES`.

    Returns
    -------
    array, (..., G)

    Examples
    --------
    >>> grade_probabilities(np.log(2.0), [-np.log(3.0), 0.0, np.log(3.0)], "cumulative_logit")
    array([0.4       , 0.26666667, 0.19047619, 0.14285714])
    """
    found = _PROBABILITIES[family](*_boundaries(lead, cutpoints))
    return np.stack(np.broadcast_arrays(*found), axis=-1)


def grade_derivatives(
    lead: ArrayLike, cutpoints: ArrayLike, family: str
) -> tuple[Floats, Floats, Floats]:
    r"""Compute the log-probability of each grade, and its derivatives by the lead.

    Parameters
    ----------
    lead, cutpoints, family
        As in `grade_probabilities`.

    Returns
    -------
    logp, score, curvature : array, (..., G)
        The curvature is the negative second derivative, and not negative.

    Examples
    --------
    >>> logp, score, curvature = grade_derivatives(0.0, [0.0], "cumulative_logit")
    >>> score.tolist(), curvature.tolist()
    ([0.5, -0.5], [0.25, 0.25])
    """
    found = _DERIVATIVES[family](*_boundaries(lead, cutpoints))
    logp, score, curvature = (np.stack(np.broadcast_arrays(*x), axis=-1) for x in found)
    return logp, score, curvature


def _boundaries(lead: ArrayLike, cutpoints: ArrayLike) -> tuple[Floats, list[Any]]:
    """Return the lead, and the cutpoint below each grade but the last, from the best grade on."""
    cuts = np.moveaxis(np.asarray(cutpoints, dtype=np.float64), -1, 0)
    return np.asarray(lead, dtype=np.float64), [*cuts[::-1]]


def _cumulative_logit(d: Floats, below: Sequence[Any]) -> list[Any]:
    between = [
        -np.expm1(low - high) * expit(high - d) * expit(d - low) for high, low in pairwise(below)
    ]
    return [expit(d - below[0]), *between, expit(below[-1] - d)]


def _cumulative_logit_derivatives(d: Floats, below: Sequence[Any]) -> tuple[list[Any], ...]:
    over = [expit(d - c) for c in below]  # P(better than the boundary)
    under = [expit(c - d) for c in below]
    logp, score = [log_expit(d - below[0])], [under[0]]
    curvature = [over[0] * under[0]]
    for j in range(1, len(below)):
        # P = (1 − e^{−(high − low)}) σ(high − d) σ(d − low)
        high, low = below[j - 1], below[j]
        logp.append(_log_between(high - low) + log_expit(high - d) + log_expit(d - low))
        score.append(under[j] - over[j - 1])
        curvature.append(over[j - 1] * under[j - 1] + over[j] * under[j])
    last = len(below) - 1
    logp.append(log_expit(below[last] - d))
    score.append(-over[last])
    curvature.append(over[last] * under[last])
    return logp, score, curvature


@np.errstate(divide="ignore")  # a grade between equal cutpoints is impossible
def _log_between(width: Floats) -> Floats:
    return np.asarray(np.log(-np.expm1(-width)))


def _cumulative_probit(d: Floats, below: Sequence[Any]) -> list[Any]:
    return [np.exp(x) for x in _cumulative_probit_derivatives(d, below)[0]]


def _cumulative_probit_derivatives(d: Floats, below: Sequence[Any]) -> tuple[list[Any], ...]:
    logp, score, curvature = [], [], []
    for high, low in zip([np.inf, *below], [*below, -np.inf], strict=True):
        # from the side on which the normal distribution function is small, so that nothing cancels
        turned = high - d + (low - d) > 0
        b, a = np.where(turned, d - low, high - d), np.where(turned, d - high, low - d)
        top = log_ndtr(b)
        p = top + _log_between(top - log_ndtr(a))
        slope_b, slope_a = _log_density_ratio(b, p), _log_density_ratio(a, p)
        along = slope_a - slope_b  # by the lead, if not turned
        rest = np.where(np.isfinite(b), b, 0) * slope_b - np.where(np.isfinite(a), a, 0) * slope_a
        logp.append(p)
        score.append(np.where(turned, -along, along))
        curvature.append(np.maximum(along**2 + rest, 0.0))
    return logp, score, curvature


def _log_density_ratio(z: Floats, log_p: Floats) -> Floats:
    """Return the normal density at z over a probability."""
    return np.asarray(np.exp(-0.5 * z**2 - 0.5 * np.log(2 * np.pi) - log_p))


def _adjacent_logit(d: Floats, below: Sequence[Any]) -> list[Any]:
    return _adjacent(d, [np.exp(b) for b in _levels(below)])[0]


def _levels(below: Sequence[Any]) -> list[Any]:
    """Return the logarithms of the odds of each grade and the best, for equal items."""
    return [np.zeros(()), *(np.cumsum(below, axis=0) / len(below))]


def _adjacent_logit_derivatives(d: Floats, below: Sequence[Any]) -> tuple[list[Any], ...]:
    m, levels = len(below), _levels(below)
    p, total = _adjacent(d, [np.exp(b) for b in levels])
    log_total = 0.5 * np.abs(d) + np.log(total)
    points = [0.5 - j / m for j in range(m + 1)]
    mean = sum(s * x for s, x in zip(points, p, strict=True))
    spread = sum(s**2 * x for s, x in zip(points, p, strict=True)) - mean**2
    logp = [d * s + b - log_total for s, b in zip(points, levels, strict=True)]
    return logp, [s - mean for s in points], [spread] * (m + 1)


def _adjacent(d: Floats, weights: Sequence[Any]) -> tuple[list[Any], Any]:
    r"""Compute :math:`P_j \propto w_j e^{d s_j}`, with s from 1/2 to -1/2 in equal steps.

    A weight of None is 1.
    Returns the probabilities, and the sum of all terms over :math:`e^{|d| / 2}`.
    """
    m, size = len(weights) - 1, np.abs(d)
    # divided by the factor of the extreme grade of the better item, so that nothing overflows
    y, ahead = np.exp(-size / m), d >= 0
    powers: list[Any] = [1.0, y]
    while len(powers) <= m:
        powers.append(powers[-1] * y)
    terms = [
        powers[j] if 2 * j == m else np.where(ahead, powers[j], powers[m - j]) for j in range(m + 1)
    ]
    terms = [x if w is None else w * x for w, x in zip(weights, terms, strict=True)]
    total = sum(terms[1:], terms[0])
    return [x / total for x in terms], total


_PROBABILITIES: dict[str, Any] = {
    "cumulative_logit": _cumulative_logit,
    "cumulative_probit": _cumulative_probit,
    "adjacent_logit": _adjacent_logit,
}
_DERIVATIVES: dict[str, Any] = {
    "cumulative_logit": _cumulative_logit_derivatives,
    "cumulative_probit": _cumulative_probit_derivatives,
    "adjacent_logit": _adjacent_logit_derivatives,
}


# ---------------------------------------------------------------------------------------------
# Who won
# ---------------------------------------------------------------------------------------------


def outcome_probabilities(lead: ArrayLike, tie: ArrayLike = 0.0, model: str = "davidson") -> Floats:
    r"""Compute the probabilities that the first item wins, the second wins, and the two tie.

    Parameters
    ----------
    lead : array, (...)
        Utility of the first item minus the utility of the second item.
    tie : array, (...)
        :math:`\nu` of ``"davidson"``, or :math:`\log\theta` of ``"rao_kupper"``.
    model : str
        ``"bradley_terry"``, ``"davidson"`` or ``"rao_kupper"``.

    Returns
    -------
    array, (..., 3), or (..., 2) without ties

    Examples
    --------
    >>> outcome_probabilities(np.log(3.0), model="bradley_terry").round(6).tolist()
    [0.75, 0.25]
    """
    if model == "bradley_terry":
        return np.stack(davidson_probabilities(lead)[:2], axis=-1)
    known: dict[str, Any] = {
        "davidson": davidson_probabilities,
        "rao_kupper": rao_kupper_probabilities,
    }
    return np.stack(known[model](lead, tie), axis=-1)


def davidson_probabilities(lead: ArrayLike, nu: ArrayLike = 0.0) -> tuple[Floats, Floats, Floats]:
    r"""Compute the probabilities of a win of the first item, of the second, and of a tie.

    .. math:: \propto e^{d/2}, \quad e^{-d/2}, \quad \nu

    Without ties, :math:`\nu = 0`, the model is Bradley and Terry's.

    Parameters
    ----------
    lead : array, (...)
        Utility of the first item minus the utility of the second item.
    nu : array, (...)
        Tie parameter, >= 0.

    Returns
    -------
    first, second, tie : array, (...)

    Examples
    --------
    >>> [round(float(p), 3) for p in davidson_probabilities(np.log(4.0), 2.0)]
    [0.444, 0.111, 0.444]
    """
    d, level = np.asarray(lead, dtype=np.float64), np.asarray(nu, dtype=np.float64)
    (first, tie, second), _ = _adjacent(d, [None, level, None])
    return first, second, tie


def rao_kupper_probabilities(
    lead: ArrayLike, log_theta: ArrayLike
) -> tuple[Floats, Floats, Floats]:
    r"""Compute the probabilities of a win of the first item, of the second, and of a tie.

    .. math:: \sigma(d - \kappa), \quad \sigma(-d - \kappa), \quad
              (1 - e^{-2 \kappa}) \, \sigma(\kappa - d) \, \sigma(\kappa + d),
              \qquad \kappa = \log \theta

    Parameters
    ----------
    lead : array, (...)
        Utility of the first item minus the utility of the second item.
    log_theta : array, (...)
        Logarithm of the tie parameter, >= 0.

    Returns
    -------
    first, second, tie : array, (...)

    Examples
    --------
    >>> [round(float(p), 6) for p in rao_kupper_probabilities(0.0, np.log(3.0))]
    [0.25, 0.25, 0.5]
    """
    d, kappa = np.asarray(lead, dtype=np.float64), np.asarray(log_theta, dtype=np.float64)
    first, tie, second = _cumulative_logit(d, [kappa, -kappa])
    return first, second, tie


def grounded_derivatives(
    lead: ArrayLike, level: ArrayLike, theta: ArrayLike
) -> tuple[Floats, Floats]:
    r"""Compute log-probabilities of grounded Rao-Kupper, and their derivatives by the lead.

    .. math:: P(\text{first}) = \frac{p}{p + \theta q + 1}, \qquad
              P(\text{both bad}) = \frac{1}{1 + p + q}, \qquad
              p = e^{l + d / 2}, \quad q = e^{l - d / 2}

    Parameters
    ----------
    lead : array, (...)
        Utility of the first item minus the utility of the second item.
    level : array, (...)
        Mean of the two utilities minus the threshold.
    theta : array, (...)
        Tie parameter, >= 1.

    Returns
    -------
    logp, score : array, (..., 4)
        The first item wins, the second wins, a tie, and both are bad.

    Examples
    --------
    >>> logp, score = grounded_derivatives(0.0, 0.0, 2.0)
    >>> np.exp(logp).round(3).tolist(), score.round(3).tolist()
    ([0.25, 0.25, 0.167, 0.333], [0.625, -0.625, 0.0, 0.0])
    """
    d, m, t = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in (lead, level, theta)))
    a, b = m + d / 2, m - d / 2
    top = np.maximum(np.maximum(a, b), 0.0)
    a, b = a - top, b - top
    one, p, q = np.exp(-top), np.exp(a), np.exp(b)
    either, over, under = p + q, one + p + t * q, one + q + t * p
    total, both = one + either, 2 * one + (1 + t) * either
    with np.errstate(divide="ignore"):  # without ties, theta is 1
        log_odds = np.log(t - 1)
    first, second, bad = a - np.log(over), b - np.log(under), -top - np.log(total)
    tie = log_odds + a + b + np.log(both) - np.log(total) - np.log(over) - np.log(under)
    # derivatives by the lead, which raises p by p/2 and lowers q by q/2
    by_first, by_second = 0.5 - (p - t * q) / (2 * over), -0.5 - (t * p - q) / (2 * under)
    by_bad = (q - p) / (2 * total)
    by_tie = by_first + by_second + by_bad + (1 + t) * (p - q) / (2 * both)
    score = by_first, by_second, by_tie, by_bad
    return np.stack([first, second, tie, bad], axis=-1), np.stack(score, axis=-1)


def outcome_curvature(
    lead: Floats, tie: float | Floats, counts: Floats, davidson: bool
) -> tuple[Floats, Floats, Floats]:
    r"""Log-probabilities of counts, with slopes and curvatures by the lead and the tie parameter.

    A Newton step over many utilities needs them for every match. All matches may share the tie
    parameter :math:`\tau`, which has no bounds.

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
        Second derivatives of the negative log-probability, positive semi-definite. Under
        Rao-Kupper they omit the slope by :math:`\kappa`, whose sum over all matches is zero at the
        mode.

    Examples
    --------
    >>> even = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    >>> logp, slope, _ = outcome_curvature(np.zeros(2), 0.0, even, davidson=True)
    >>> np.exp(logp).round(3), slope.round(3).tolist()
    (array([0.333, 0.333]), [[0.5, -0.333], [0.0, 0.667]])
    """
    logp, slope, curvature = (_davidson if davidson else _rao_kupper)(lead, tie, counts)
    dd, dt, tt = curvature
    return logp, np.stack(slope, axis=1), np.stack([dd, dt, dt, tt], axis=1).reshape(-1, 2, 2)


def _davidson(lead: Floats, tie: float | Floats, counts: Floats) -> Any:
    won, lost, tied = counts.T
    half, total = 0.5 * lead, won + lost + tied
    nu = np.exp(np.minimum(tie, FARTHEST))
    (first, even, second), rest = _adjacent(lead, [None, nu, None])
    ahead = 0.5 * (first - second)
    logp = (won - lost) * half - total * (np.abs(half) + np.log(rest))
    if tied.any():  # without ties, tie may be -inf
        logp += tied * tie
    slope = 0.5 * (won - lost) - total * ahead, tied - total * even
    dd, dt, tt = 0.25 * (first + second) - ahead**2, -ahead * even, even * (1.0 - even)
    return logp, slope, (total * dd, total * dt, total * tt)


@np.errstate(divide="ignore", invalid="ignore")
def _rao_kupper(lead: Floats, tie: float | Floats, counts: Floats) -> Any:
    won, lost, tied = counts.T
    # (won + tied) log σ(d − κ) + (lost + tied) log σ(−d − κ) + tied log(e^{2κ} − 1)
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
