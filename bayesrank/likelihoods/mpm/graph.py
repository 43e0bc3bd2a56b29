r"""Multinomial preference model (Volkovs & Zemel): a joint model of counts of ordered pairs.

Each ranker distributes T preferences over the ordered pairs of K items. The count of "i over j" is
:math:`C_{ij}`, and all counts are one multinomial draw with the probabilities

.. math:: P(i \succ j) = \frac{e^{\theta D_{ij}}}{\sum_{k \ne l} e^{\theta D_{kl}}}, \qquad
          D_{ij} = \frac{s_i - s_j}{\gamma_i + \gamma_j}

with scores s, variances :math:`\gamma` (1/2 if all are equal) and the adherence
:math:`\theta \ge 0` of the ranker to the scores.

The last axes of counts are (preferred item, other item); the last axis of scores and variances is
items. Leading axes are rankers or problems. Adherences have only the leading axes.

>>> once = [[0, 1, 0], [0, 0, 0], [0, 0, 0]]  # the first item over the second
>>> float(mpm_logp(once, [0.0, 0.0, 0.0], 1.0).exp().eval().round(6))
0.166667
"""

import numpy as np
import pytensor.tensor as pt
from pytensor.tensor import TensorLike, TensorVariable

from bayesrank.likelihoods.ops.stop_gradient import stop_gradient

__all__ = [
    "differences",
    "log_multinomial",
    "log_pair_normaliser",
    "mpm_logp",
]


def differences(score: TensorLike, variance: TensorLike | None = None) -> TensorVariable:
    r"""Standardised differences :math:`D_{ij} = (s_i - s_j) / (\gamma_i + \gamma_j)`.

    Scores and variances (by default 1/2) are (..., n_items), the result (..., n_items, n_items).
    """
    s = pt.as_tensor_variable(score)
    D = s[..., :, None] - s[..., None, :]
    if variance is None:
        return D
    g = pt.as_tensor_variable(variance)
    return D / (g[..., :, None] + g[..., None, :])


def log_pair_normaliser(
    score: TensorLike,
    adherence: TensorLike,
    variance: TensorLike | None = None,
    *,
    where: TensorLike | None = None,
) -> TensorVariable:
    r"""Logarithm of :math:`Z = \sum_{k \ne l} e^{\theta D_{kl}}`.

    With equal variances it factorises, and takes time K instead of K^2:
    :math:`Z = \sum_k e^{\theta s_k} \sum_k e^{-\theta s_k} - K`.

    Parameters
    ----------
    score : tensor_like of float, (..., n_items)
    adherence : tensor_like of float, (...)
        Non-negative.
    variance : tensor_like of float, (..., n_items), optional
        Positive; default 1/2 for all items.
    where : tensor_like of bool, (..., n_items), optional
        Items of the problem; default all.

    Returns
    -------
    TensorVariable, (...)
        -inf for fewer than two items.
    """
    s, theta = pt.as_tensor_variable(score), pt.as_tensor_variable(adherence)
    where = pt.ones_like(s, dtype="bool") if where is None else pt.as_tensor_variable(where)
    s = pt.switch(where, s, 0.0)
    if variance is not None:
        D = differences(s, pt.switch(where, variance, 1.0))
        both = where[..., :, None] & where[..., None, :] & ~pt.eye(where.shape[-1], dtype="bool")
        return _log_sum(theta[..., None, None] * D, both, axis=(-2, -1))
    x = theta[..., None] * s
    # log(up * down - K), where up * down >= K^2
    both = _log_sum(x, where) + _log_sum(-x, where)
    n = pt.sum(pt.cast(where, "float64"), axis=-1)
    rest = pt.switch(n > 1, 1.0 - n * pt.exp(-both), 1.0)
    return pt.switch(n > 1, both + pt.log(rest), -np.inf)


def _log_sum(
    x: TensorVariable, where: TensorVariable, axis: tuple[int, ...] = (-1,)
) -> TensorVariable:
    """Logarithm of the sum of exp(x) over the last axes; gradients of an empty sum are finite."""
    peak = stop_gradient(pt.max(pt.switch(where, x, -np.inf), axis=axis, keepdims=True))
    terms = pt.switch(where, pt.exp(pt.switch(where, x - peak, 0.0)), 0.0)
    total = pt.sum(terms, axis=axis, keepdims=True)
    empty = pt.eq(total, 0.0)
    log_total = pt.switch(empty, -np.inf, peak + pt.log(pt.switch(empty, 1.0, total)))
    return log_total[(..., *(0 for _ in axis))]


def log_multinomial(counts: TensorLike) -> TensorVariable:
    r"""Logarithm of the number of orders of the draws, :math:`\log T! - \sum \log C_{ij}!`.

    Counts are (..., n_items, n_items).
    """
    C = pt.cast(pt.as_tensor_variable(counts), "float64")
    return pt.gammaln(pt.sum(C, axis=(-2, -1)) + 1.0) - pt.sum(pt.gammaln(C + 1.0), axis=(-2, -1))


def mpm_logp(
    counts: TensorLike,
    score: TensorLike,
    adherence: TensorLike = 1.0,
    variance: TensorLike | None = None,
) -> TensorVariable:
    r"""Log-probability of the counts of all ordered pairs, given their total.

    .. math:: \log P(C) = \log T! - \sum_{i \ne j} \log C_{ij}!
              + \theta \sum_{i \ne j} C_{ij} D_{ij} - T \log Z

    Parameters
    ----------
    counts : tensor_like of int, (..., n_items, n_items)
        How often the item of the row is preferred to the item of the column; zero diagonal.
    score : tensor_like of float, (..., n_items)
    adherence : tensor_like of float, (...)
        Non-negative.
    variance : tensor_like of float, (..., n_items), optional
        Positive; default 1/2 for all items.

    Returns
    -------
    TensorVariable, (...)

    References
    ----------
    Volkovs & Zemel, A flexible generative model for preference aggregation, WWW 2012, eq. 8 and 9.
    """
    C, theta = pt.cast(pt.as_tensor_variable(counts), "float64"), pt.as_tensor_variable(adherence)
    agreement = pt.sum(C * differences(score, variance), axis=(-2, -1))
    total = pt.sum(C, axis=(-2, -1))
    log_Z = log_pair_normaliser(score, theta, variance)
    return log_multinomial(C) + theta * agreement - pt.switch(pt.eq(total, 0), 0.0, total * log_Z)
