r"""What draws of sets choose from: terms of the normalisers by node of the integral and by size.

`harmonic_nodes` and `harmonic_terms` list the terms of the harmonic mean's integral, with the nodes
of `bayesrank.likelihoods.pmop.set_kernels`; `geometric_bounds` bounds the sums of the geometric
mean over subsets of each size from above, which costs less than the sums.
"""

import math

import numba
import numpy as np

from bayesrank.likelihoods.pmop.set_kernels import (
    FREE,
    LEFT,
    STEP,
    harmonic_window,
    harmonic_window_of_size,
)
from bayesrank.likelihoods.pmop.subset_kernels import (
    NEGLIGIBLE,
    log_binomial,
    log_sum,
    log_symmetric,
    tilt,
)

__all__ = ["geometric_bounds", "harmonic_log_q", "harmonic_nodes", "harmonic_terms"]

TINY = 1e-280  # probabilities above it have lost no digits to underflow


@numba.njit(cache=True, error_model="numpy")
def harmonic_log_q(w, centre, y):  # type: ignore[no-untyped-def]
    r"""Logarithms of :math:`q_i = \exp(-t e^{-w_i})` at node y of the harmonic mean."""
    return -np.exp(np.minimum(centre + y - math.exp(-y) - w, 7.0))


@numba.njit(cache=True, error_model="numpy")
def _log_step(centre, y):  # type: ignore[no-untyped-def]
    """Logarithm of dt/dy at node y of the harmonic mean."""
    jump = math.exp(-y)
    return centre + y - jump + math.log1p(jump)


@numba.njit(cache=True, error_model="numpy")
def harmonic_nodes(w, m):  # type: ignore[no-untyped-def]
    """Centre, first node and log weights of all, for subsets of size m or of any size."""
    n = w.size
    share, work = np.empty(n), np.empty((2, n))
    down = np.sort(w)[::-1]
    centre, low, nodes = harmonic_window(w) if m == FREE else harmonic_window_of_size(w, down, m)
    log_f = np.empty(nodes)
    for k in range(nodes):
        y = low + k * STEP
        log_q = harmonic_log_q(w, centre, y)
        if m == FREE:
            q = np.exp(log_q)
            total = np.log1p(q).sum() + math.log(max((q / (1.0 + q)).sum(), 1e-300))
        else:
            total = math.log(m) + log_symmetric(log_q, m, share, work, False)
        log_f[k] = _log_step(centre, y) + total
    return centre, low, log_f


@numba.njit(cache=True, error_model="numpy")
def _window_of_weights(w, log_weight):  # type: ignore[no-untyped-def]
    """Centre, first node and number of nodes of the integral over subsets of weighted sizes."""
    n, last = w.size, min(w.size, log_weight.size)
    down = np.sort(w)[::-1]
    bound = np.empty(last)  # of the integrand, which is largest at t = 0
    least, log_time = -np.inf, -np.inf  # the latter is log of the sum of 1/worth of the m best
    for m in range(1, last + 1):
        log_time = np.logaddexp(log_time, -down[m - 1])
        log_count = log_binomial(n, m)
        bound[m - 1] = log_weight[m - 1] + math.log(m) + log_count
        # Z is at least the best set alone, and at least that of equal items as bad as the worst
        term = log_weight[m - 1] + max(math.log(m) - log_time, log_count + down[n - 1])
        least = max(least, term)
    log_count = log_sum(bound)
    centre = -log_sum(-w)
    low = max(LEFT, least - log_count - NEGLIGIBLE - centre)
    high = down[0] + math.log(NEGLIGIBLE + log_count + down[0] - least) - centre
    high += math.exp(-high)
    return centre, low, int(math.ceil((high - low) / STEP)) + 1


@numba.njit(cache=True, error_model="numpy")
def _log_by_size(v, log_weight, peak, out):  # type: ignore[no-untyped-def]
    r"""Logarithms of :math:`\delta_m e_m(e^v)` for all m, where they are not negligible to `peak`.

    One recursion gives the probabilities of all sizes of a tilted set. The few that underflow and
    could matter have another, with a tilt that makes them probable.
    """
    n, last = v.size, out.size
    law, bound = np.empty(last + 1), np.full(last, np.inf)
    out[:] = -np.inf
    if last == n:  # for which there is no tilt
        out[n - 1], bound[n - 1] = log_weight[n - 1] + v.sum(), -np.inf
        peak = max(peak, out[n - 1])
    x = 0.0
    while True:
        total = 0.0
        law[:] = 0.0
        law[0] = 1.0
        for i in range(n):
            z = v[i] + x
            e = math.exp(-abs(z))
            total += max(z, 0.0) + math.log1p(e)
            p, q = (1.0, e) if z > 0.0 else (e, 1.0)
            p, q = p / (1.0 + e), q / (1.0 + e)
            for k in range(min(i + 1, last), 0, -1):
                law[k] = q * law[k] + p * law[k - 1]
            law[0] *= q
        for m in range(1, min(last, n - 1) + 1):
            scale = log_weight[m - 1] + total - m * x
            if law[m] > TINY:
                out[m - 1], bound[m - 1] = scale + math.log(law[m]), -np.inf
                peak = max(peak, out[m - 1])
            elif bound[m - 1] > -np.inf:
                bound[m - 1] = scale + math.log(TINY)
        s = bound.argmax()
        if not bound[s] > peak - NEGLIGIBLE:  # nor if it is nan
            return peak
        bound[s] = -np.inf
        x = tilt(v, s + 1)


@numba.njit(cache=True, error_model="numpy")
def harmonic_terms(w, log_weight):  # type: ignore[no-untyped-def]
    """List the terms of the harmonic mean's normaliser, sizes being weighted.

    Parameters
    ----------
    w : ndarray of float, (n,)
        Utilities, finite.
    log_weight : ndarray of float, (n_sizes,)
        Logarithms of the weights of sizes, at least one.

    Returns
    -------
    tuple of (float, float, ndarray)
        Centre, first node, and the logarithms of the terms (n_nodes, n_sizes), -inf where
        negligible. They add up to Z / `STEP`.
    """
    centre, low, nodes = _window_of_weights(w, log_weight)
    last = min(w.size, log_weight.size)
    terms, given, peak = np.empty((nodes, last)), np.empty(last), -np.inf
    for k in range(nodes):
        y = low + k * STEP
        for m in range(1, last + 1):
            given[m - 1] = log_weight[m - 1] + math.log(m) + _log_step(centre, y)
        peak = _log_by_size(harmonic_log_q(w, centre, y), given, peak, terms[k])
    return centre, low, terms


@numba.njit(cache=True, error_model="numpy")
def geometric_bounds(w, last):  # type: ignore[no-untyped-def]
    r"""Bound the sums of the geometric mean over subsets of 1, 2, ..., `last` items from above.

    .. math:: \log e_m(e^{w/m}) \le \log \binom{n}{m} + m \log \frac{1}{n} \sum_i e^{w_i/m}

    by Maclaurin's inequality. The last term is convex in m, so that chords bound it.

    Parameters
    ----------
    w : ndarray of float, (n,)
        Utilities, finite.
    last : int
        Largest size, at most n.

    Returns
    -------
    ndarray, (last,)
        Upper bounds of the logarithms; equal to them at size 1.
    """
    n = w.size
    bound = np.empty(last)
    bound[0] = log_sum(w)
    m, start = 1, bound[0] - math.log(n)
    while m < last:
        step = min(max(1, m // 4), last - m)
        end = (m + step) * (log_sum(w / (m + step)) - math.log(n))
        for k in range(1, step + 1):
            chord = start + (end - start) * k / step
            bound[m + k - 1] = log_binomial(n, m + k) + chord
        m, start = m + step, end
    return bound
