r"""Kernels of MPM: normalisers of many rankers in one pass over the items or pairs.

A problem is a row of scores; every ranker has one adherence for all problems. With
:math:`a = \theta S`, the normalisers are exponential sums at N rates:

==================  =================================================================
equal variances     :math:`e^{-2a} Z = A B - K e^{-2a}`, where A and B sum
                    :math:`e^{\pm a x_i - a}` over the items, and S is half the range of s
unequal variances   :math:`e^{-a} Z = 2 \sum_{i<j} \cosh(a x_{ij}) e^{-a}` over the pairs,
                    where S is the largest :math:`|D_{ij}|`
==================  =================================================================

They are evaluated by Chebyshev expansion (`bayesrank.likelihoods.mpm.exponential_sums`), or ranker
by ranker if that is less work.
"""

import math

import numba
import numpy as np

from bayesrank.likelihoods.mpm.exponential_sums import (
    chebyshev_moments,
    coefficients,
    n_terms,
    odd_series,
    series,
)

__all__ = [
    "agreements_kernel",
    "agreements_pullback_kernel",
    "pair_normalisers_kernel",
    "pair_normalisers_pullback_kernel",
]

EXPONENTIAL = 6  # terms of a series that take as long as one exponential (measured)

_kernel = numba.njit(cache=True, error_model="numpy", nogil=True)


@_kernel
def pair_normalisers_kernel(score, variance, adherence, where, needed):  # type: ignore[no-untyped-def]
    """Log normaliser of every problem and ranker.

    Parameters
    ----------
    score : ndarray, (n_problems, n_items)
    variance : ndarray, (n_problems, n_items) or (1, 0)
        Without columns all variances are 1/2.
    adherence : ndarray, (n_rankers,)
    where : ndarray of bool, (n_problems, n_items)
        Items of each problem.
    needed : ndarray of bool, (n_problems, n_rankers) or (1, 0)
        Rankers of each problem, the only ones that take time; without columns, all rankers.

    Returns
    -------
    ndarray, (n_problems, n_rankers)
        -inf for problems with fewer than two items, and 0 where it is not needed.
    """
    out = np.zeros((score.shape[0], adherence.size))
    for p in range(score.shape[0]):
        used, who = np.flatnonzero(where[p]), _needed_rankers(needed, p, adherence.size)
        if used.size < 2:
            out[p][who] = -np.inf
            continue
        s, rate = score[p][used], np.abs(adherence[who])  # Z is even
        if variance.shape[1] == 0:
            x, half = _centred(s)
            sums = _item_sums(x, half * rate)
            for n in range(rate.size):
                a = half * rate[n]
                Z = sums[n, 0] * sums[n, 1] - s.size * math.exp(-2.0 * a)
                out[p, who[n]] = 2.0 * a + math.log(Z)
        else:
            x, reach = _scaled_differences(s, variance[p][used])
            sums = _pair_sums(x, reach * rate, _pair_moments(x, reach * rate))
            for n in range(rate.size):
                out[p, who[n]] = reach * rate[n] + math.log(2.0 * sums[n, 0])
    return out


@_kernel
def pair_normalisers_pullback_kernel(score, variance, adherence, where, needed, bar):  # type: ignore[no-untyped-def]
    """Gradients of ``sum(bar * pair_normalisers_kernel(...))`` by score, variance and adherence.

    Problems with fewer than two items are ignored, for any `bar`.
    """
    by_score, by_variance = np.zeros(score.shape), np.zeros(variance.shape)
    by_adherence = np.zeros(adherence.size)
    for p in range(score.shape[0]):
        used, who = np.flatnonzero(where[p]), _needed_rankers(needed, p, adherence.size)
        if used.size < 2 or who.size == 0:
            continue
        s, rate, by_rate = score[p][used], np.abs(adherence[who]), np.zeros(who.size)
        if variance.shape[1] == 0:
            by_s = _pull_to_items(s, rate, bar[p][who], by_rate)
        else:
            g = variance[p][used]
            x, reach = _scaled_differences(s, g)
            moments = _pair_moments(x, reach * rate)
            sums = _pair_sums(x, reach * rate, moments)
            by_rate = bar[p][who] * reach * sums[:, 1] / sums[:, 0]
            weight = bar[p][who] * rate / sums[:, 0]
            by_s, by_g = _pull_differences(
                g, reach, x, _slopes(x, reach * rate, weight, moments.size)
            )
            for j in range(used.size):
                by_variance[p, used[j]] = by_g[j]
        for j in range(used.size):
            by_score[p, used[j]] = by_s[j]
        for n in range(who.size):
            by_adherence[who[n]] += by_rate[n]
    return by_score, by_variance, np.sign(adherence) * by_adherence


@_kernel
def _needed_rankers(needed, p, n_rankers):  # type: ignore[no-untyped-def]
    """Rankers of a problem."""
    if needed.shape[1] == 0:
        return np.arange(n_rankers)
    return np.flatnonzero(needed[p])


@_kernel
def _expands(largest, share, n_points, n_rates):  # type: ignore[no-untyped-def]
    """Whether a series is less work than one exponential per point and rate.

    The series has a `share` of the terms of the largest rate. Rates that are huge, infinite or NaN
    use exponentials, because they do not give a valid number of terms.
    """
    terms = share * (10.0 + 9.0 * math.sqrt(largest))
    return terms * (n_points + n_rates) < EXPONENTIAL * n_points * n_rates


@_kernel
def _largest(rate):  # type: ignore[no-untyped-def]
    return rate.max() if rate.size else 0.0


# -----------------------------------------------------------------------------------------------
# Equal variances: items
# -----------------------------------------------------------------------------------------------


@_kernel
def _centred(s):  # type: ignore[no-untyped-def]
    """Scores scaled to [-1, 1], and half their range."""
    top, bottom = s.max(), s.min()
    half = 0.5 * (top - bottom)
    x = np.zeros(s.size)
    if half > 0.0:
        for i in range(s.size):
            x[i] = ((s[i] - bottom) - (top - s[i])) / (top - bottom)
    return x, half


@_kernel
def _item_sums(x, rate):  # type: ignore[no-untyped-def]
    """Sum over the points e^(a x - a), e^(-a x - a), x e^(a x - a) and x e^(-a x - a).

    The result has a row for each rate a.
    """
    out = np.zeros((rate.size, 4))
    largest = _largest(rate)
    if not _expands(largest, 1.0, x.size, rate.size):
        for n in range(rate.size):
            for i in range(x.size):
                up, down = math.exp(rate[n] * (x[i] - 1.0)), math.exp(-rate[n] * (x[i] + 1.0))
                out[n, 0] += up
                out[n, 1] += down
                out[n, 2] += x[i] * up
                out[n, 3] += x[i] * down
        return out
    terms = n_terms(largest)
    moments, c = chebyshev_moments(x, terms + 1), np.empty(terms)
    for n in range(rate.size):
        last = n_terms(rate[n])
        coefficients(rate[n], c[:last])
        sign = 1.0
        for m in range(last):
            value = c[m] * moments[m]
            slope = 0.5 * c[m] * (moments[m + 1] + moments[abs(m - 1)])  # x T_m
            out[n, 0] += value
            out[n, 1] += sign * value
            out[n, 2] += slope
            out[n, 3] += sign * slope
            sign = -sign
    return out


@_kernel
def _pull_to_items(s, rate, bar, by_rate):  # type: ignore[no-untyped-def]
    """Gradient by the scores; adds the gradient by the rates to `by_rate`."""
    x, half = _centred(s)
    sums = _item_sums(x, half * rate)
    to_up, to_down = np.empty(rate.size), np.empty(rate.size)
    for n in range(rate.size):
        up, down, x_up, x_down = sums[n]
        scale = bar[n] / (up * down - x.size * math.exp(-2.0 * half * rate[n]))
        by_rate[n] += scale * half * (x_up * down - up * x_down)
        to_up[n], to_down[n] = scale * rate[n] * down, scale * rate[n] * up

    by_s = np.zeros(x.size)
    largest = half * _largest(rate)
    if _expands(largest, 1.0, x.size, rate.size):
        terms = n_terms(largest)
        total, c = np.zeros(terms), np.empty(terms)
        for n in range(rate.size):
            last = n_terms(half * rate[n])
            coefficients(half * rate[n], c[:last])
            for m in range(last):
                total[m] += c[m] * (to_up[n] - (1.0 - 2.0 * (m % 2)) * to_down[n])
        series(x, total, by_s)
        return by_s
    for n in range(rate.size):
        a = half * rate[n]
        for i in range(x.size):
            by_s[i] += to_up[n] * math.exp(a * (x[i] - 1.0))
            by_s[i] -= to_down[n] * math.exp(-a * (x[i] + 1.0))
    return by_s


# -----------------------------------------------------------------------------------------------
# Unequal variances: pairs
# -----------------------------------------------------------------------------------------------


@_kernel
def _scaled_differences(s, g):  # type: ignore[no-untyped-def]
    """Differences of the pairs i < j, scaled to [-1, 1], and the largest |D_ij|."""
    x, k = np.empty(s.size * (s.size - 1) // 2), 0
    for i in range(s.size):
        for j in range(i + 1, s.size):
            x[k] = (s[i] - s[j]) / (g[i] + g[j])
            k += 1
    reach = np.nan if np.isnan(x).any() else np.abs(x).max()
    if reach > 0.0:
        x /= reach
    return x, reach


@_kernel
def _pair_moments(x, rate):  # type: ignore[no-untyped-def]
    """Sum T_2m of the scaled differences; the result is empty if exponentials are less work."""
    largest = _largest(rate)
    if not _expands(largest, 0.5, x.size, rate.size):
        return np.empty(0)
    terms = (n_terms(largest) + 1) // 2  # cosh has only the even terms
    return chebyshev_moments(2.0 * x * x - 1.0, terms)  # T_2m(x) = T_m(2 x^2 - 1)


@_kernel
def _pair_sums(x, rate, moments):  # type: ignore[no-untyped-def]
    """Sum over the pairs e^-a cosh(a x) and x e^-a sinh(a x), a row for each rate a.

    Without moments, it computes an exponential for each pair and rate.
    """
    out = np.zeros((rate.size, 2))
    c = np.empty(2 * moments.size)
    for n in range(rate.size):
        if moments.size == 0:
            for z in x:
                up, down = math.exp(rate[n] * (z - 1.0)), math.exp(-rate[n] * (z + 1.0))
                out[n, 0] += 0.5 * (up + down)
                out[n, 1] += 0.5 * z * (up - down)
            continue
        coefficients(rate[n], c)
        out[n, 0] = c[0] * moments[0]
        out[n, 1] = 0.5 * c[1] * moments[0]  # the derivatives of the coefficients by a
        for m in range(1, moments.size):
            out[n, 0] += c[2 * m] * moments[m]
            out[n, 1] += 0.5 * (c[2 * m - 1] + c[2 * m + 1]) * moments[m]
    return out


@_kernel
def _slopes(x, rate, weight, terms):  # type: ignore[no-untyped-def]
    """Weighted sum over the rates of e^-a sinh(a x) for every pair, by a series if `terms` > 0."""
    out, total, c = np.zeros(x.size), np.zeros(terms), np.empty(2 * terms)
    for n in range(rate.size):
        if terms == 0:
            for k in range(x.size):
                up, down = math.exp(rate[n] * (x[k] - 1.0)), math.exp(-rate[n] * (x[k] + 1.0))
                out[k] += 0.5 * weight[n] * (up - down)
            continue
        coefficients(rate[n], c)
        for m in range(terms):
            total[m] += weight[n] * c[2 * m + 1]  # sinh has only the odd terms
    if terms > 0:
        odd_series(x, total, out)
    return out


@_kernel
def _pull_differences(g, reach, x, by_D):  # type: ignore[no-untyped-def]
    """Gradients by scores and variances from the gradients by the differences of the pairs."""
    by_s, by_g, k = np.zeros(g.size), np.zeros(g.size), 0
    for i in range(g.size):
        for j in range(i + 1, g.size):
            slope = by_D[k] / (g[i] + g[j])
            by_s[i] += slope
            by_s[j] -= slope
            by_g[i] -= slope * x[k] * reach
            by_g[j] -= slope * x[k] * reach
            k += 1
    return by_s, by_g


# -----------------------------------------------------------------------------------------------
# Counts
# -----------------------------------------------------------------------------------------------


@_kernel
def agreements_kernel(score, variance, ranker, first, second, count, like):  # type: ignore[no-untyped-def]
    """Sum count times D over the entries of each ranker; `like` gives the number of rankers."""
    out = np.zeros(like.size)
    for e in range(count.size):
        i, j = first[e], second[e]
        scale = 1.0 if variance.size == 0 else variance[i] + variance[j]
        out[ranker[e]] += count[e] * (score[i] - score[j]) / scale
    return out


@_kernel
def agreements_pullback_kernel(score, variance, ranker, first, second, count, like, bar):  # type: ignore[no-untyped-def]
    """Gradients of ``sum(bar * agreements_kernel(...))`` by scores and variances."""
    by_score, by_variance = np.zeros(score.size), np.zeros(variance.size)
    for e in range(count.size):
        i, j = first[e], second[e]
        scale = 1.0 if variance.size == 0 else variance[i] + variance[j]
        slope = bar[ranker[e]] * count[e] / scale
        by_score[i] += slope
        by_score[j] -= slope
        if variance.size:
            slope *= (score[i] - score[j]) / scale
            by_variance[i] -= slope
            by_variance[j] -= slope
    return by_score, by_variance
