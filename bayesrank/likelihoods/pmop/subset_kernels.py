r"""Subsets of a given size: elementary symmetric polynomials and inclusion probabilities.

.. math:: e_m(x) = \sum_{|S| = m} \prod_{i \in S} x_i, \qquad x_i = e^{v_i},

is a sum over all subsets of :math:`m` items. For any tilt :math:`\lambda`, let
:math:`p_i = 1/(1 + e^{-(v_i + \lambda)})`, and let :math:`B_i` be independent bits with these
probabilities. Then

.. math:: \log e_m(x) = \sum_i \log(1 + e^{v_i + \lambda}) - m \lambda
                        + \log P\left(\textstyle\sum_i B_i = m\right).

At the tilt where :math:`\sum_i p_i = m`, the last probability is near its mode, so it neither
vanishes nor loses digits. A forward and a backward recursion over the items compute it in time
O(n m) without subtractions.

Draw a subset of size m with probability proportional to its product (conditional Bernoulli
sampling). The gradient of :math:`\log e_m` by :math:`v_i` is the probability that it contains i.

>>> v, share, work = np.log([1.0, 2.0, 3.0]), np.empty(3), np.empty((2, 3))
>>> round(float(np.exp(elementary_symmetric_kernel(v, 2, share, work))), 9)
11.0
>>> share.round(4).tolist()  # 5, 8 and 9 of 11
[0.4545, 0.7273, 0.8182]
"""

import math

import numba
import numpy as np

from bayesrank.likelihoods.ops.vector_exp import FARTHEST, vector_exp

__all__ = [
    "NEGLIGIBLE",
    "RUN",
    "bits",
    "count_by_recursion",
    "elementary_symmetric_kernel",
    "log_binomial",
    "log_sum",
    "tilt_kernel",
]

RUN = 512  # factors between 1/2 and 1 per logarithm
NEGLIGIBLE = 40.0  # terms that are lower by this log factor vanish in double precision
# Sums of positive terms may be reordered, so that several are computed at once
_reordered = numba.njit(cache=True, error_model="numpy", fastmath={"nsz", "contract", "reassoc"})


@numba.njit(cache=True, error_model="numpy")
def log_binomial(n, k):  # type: ignore[no-untyped-def]
    """Logarithm of the number of subsets of k out of n items, 0 <= k <= n."""
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


@numba.njit(cache=True, error_model="numpy")
def log_sum(v):  # type: ignore[no-untyped-def]
    """Logarithm of the sum of exponentials."""
    peak = v.max()
    total = 0.0
    for x in v:
        total += math.exp(x - peak)
    return peak + math.log(total)


@numba.njit(cache=True, error_model="numpy")
def tilt_kernel(v, m):  # type: ignore[no-untyped-def]
    """Find a tilt at which the expected size is about m, 0 < m < n."""
    n = v.size
    odds = math.log(m / (n - m))
    low, high = odds - v.max(), odds - v.min()
    x = min(max(odds - v.mean(), low), high)
    for _ in range(200):
        size, slope = _expected_size(v, x)
        gap = size - m
        if abs(gap) <= 1e-3 + 0.05 * math.sqrt(slope) or high - low < 1e-9 * (1.0 + abs(x)):
            break
        if gap > 0.0:
            high = x
        else:
            low = x
        x = x - gap / slope if slope > 0.0 else low
        if not low < x < high:
            x = 0.5 * (low + high)
    return x


@_reordered
def _expected_size(v, x):  # type: ignore[no-untyped-def]
    """Mean and variance of the number of bits at a tilt."""
    size, slope = 0.0, 0.0
    for i in range(v.size):
        z = min(max(v[i] + x, -FARTHEST), FARTHEST)
        p = 1.0 / (1.0 + vector_exp(-z))
        size += p
        slope += p * (1.0 - p)
    return size, slope


@_reordered
def count_by_recursion(p, q, m, share):  # type: ignore[no-untyped-def]
    """Probability that m of n independent bits are one, and the conditional probability of each.

    Parameters
    ----------
    p, q : ndarray, (n,)
        Probabilities of one and of zero. Both are needed, because 1 - p loses small values.
    m : int
        The count, 0 < m < n.
    share : ndarray, (n,)
        Overwritten with P(bit i is one | count is m).

    Returns
    -------
    float
        P(count is m).
    """
    n = p.size
    ahead = np.zeros((n + 1, m + 1))  # [i, k]: k of the first i bits
    ahead[0, 0] = 1.0
    for i in range(n):
        ahead[i + 1, 0] = ahead[i, 0] * q[i]
        for k in range(1, min(i + 1, m) + 1):
            ahead[i + 1, k] = ahead[i, k] * q[i] + ahead[i, k - 1] * p[i]
    count = ahead[n, m]
    after = np.zeros(m + 2)  # [k]: the bits from i on add up to m - k
    after[m] = 1.0
    for i in range(n - 1, -1, -1):
        both = 0.0
        for k in range(min(i, m - 1) + 1):
            both += ahead[i, k] * after[k + 1]
        share[i] = p[i] * both / count
        for k in range(m + 1):
            after[k] = q[i] * after[k] + p[i] * after[k + 1]
    return count


@numba.njit(cache=True, error_model="numpy")
def elementary_symmetric_kernel(v, m, share, work):  # type: ignore[no-untyped-def]
    """Logarithm of the elementary symmetric polynomial e_m(exp(v)), and its gradient.

    Parameters
    ----------
    v : ndarray of float, (n,)
        Finite.
    m : int
        Size of the subsets, 1 <= m <= n.
    share : ndarray, (n,)
        Overwritten with the probability that each item is in the subset.
    work : ndarray, (2, n or more)
        Workspace.

    Returns
    -------
    float
        ``log e_m``. Time O(n min(m, n - m)).
    """
    n = v.size
    if m == n:
        share[:] = 1.0
        return v.sum()
    if m == 1:
        total = log_sum(v)
        share[:] = np.exp(v - total)
        return total
    if 2 * m <= n:
        return _of_the_smaller_part(v, m, share, work)
    out = v.sum() + _of_the_smaller_part(-v, n - m, share, work)  # of the items left out
    share[:] = 1.0 - share
    return out


@numba.njit(cache=True, error_model="numpy")
def _of_the_smaller_part(v, m, share, work):  # type: ignore[no-untyped-def]
    n = v.size
    p, q = work[0, :n], work[1, :n]
    x = tilt_kernel(v, m)
    out = bits(v, x, p, q) - m * x
    return out + math.log(count_by_recursion(p, q, m, share))


@_reordered
def bits(v, x, p, q):  # type: ignore[no-untyped-def]
    """Fill the probabilities of one and of zero; return the sum of log(1 + exp(v + x))."""
    out = 0.0
    for i in range(v.size):
        z = v[i] + x
        e = vector_exp(-min(abs(z), FARTHEST))
        more, less = 1.0 / (1.0 + e), e / (1.0 + e)
        p[i], q[i] = (more, less) if z > 0 else (less, more)
        out += max(z, 0.0)
    for first in range(0, v.size, RUN):
        factor = 1.0
        for i in range(first, min(first + RUN, v.size)):
            factor *= max(p[i], q[i])  # 1 / (1 + e^-|z|)
        out -= math.log(factor)
    return out
