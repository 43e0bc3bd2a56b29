r"""Kernels of MPM's second derivatives: how values and gradients change along a direction.

With :math:`\pi_{kl} = e^{\theta D_{kl}} / Z` and the change
:math:`\mathrm d\varphi_{kl} = \mathrm d(\theta D_{kl})` of each exponent, that of the log
normaliser is :math:`\sum \pi\, \mathrm d\varphi`, and :math:`\mathrm d \pi_{kl} = \pi_{kl}
(\mathrm d\varphi_{kl} - \sum \pi\, \mathrm d\varphi)`. Equal variances cost an exponential per item
and ranker, variances one per pair and ranker: no series is expanded here.
"""

import math

import numba
import numpy as np

from bayesrank.likelihoods.mpm.kernels import needed_rankers

__all__ = ["agreements_curvature_kernel", "pair_normalisers_curvature_kernel"]

_kernel = numba.njit(cache=True, error_model="numpy")


@_kernel
def pair_normalisers_curvature_kernel(  # type: ignore[no-untyped-def]
    score, variance, adherence, where, needed, bar, d_score, d_variance, d_adherence
):
    """Change the log normalisers along a direction, and the gradients of their weighted sum.

    The first inputs are those of `pair_normalisers_kernel`, the last three the direction.
    """
    along = np.zeros((score.shape[0], adherence.size))
    by_score, by_variance = np.zeros(score.shape), np.zeros(variance.shape)
    by_adherence = np.zeros(adherence.size)
    for p in range(score.shape[0]):
        used = np.flatnonzero(where[p])
        if used.size < 2:
            continue
        s, ds, by_s = score[p][used], d_score[p][used], np.zeros(used.size)
        for n in needed_rankers(needed, p, adherence.size):
            theta, d_theta = adherence[n], d_adherence[n]
            if variance.shape[1] == 0:
                along[p, n], by_theta = _items_along(s, ds, theta, d_theta, bar[p, n], by_s)
            else:
                g, dg, by_g = variance[p][used], d_variance[p][used], np.zeros(used.size)
                along[p, n], by_theta = _pairs_along(
                    s, g, ds, dg, theta, d_theta, bar[p, n], by_s, by_g
                )
                for j in range(used.size):
                    by_variance[p, used[j]] += by_g[j]
            by_adherence[n] += by_theta
        for j in range(used.size):
            by_score[p, used[j]] += by_s[j]
    return along, by_score, by_variance, by_adherence


@_kernel
def _items_along(s, ds, theta, d_theta, bar, by_s):  # type: ignore[no-untyped-def]
    """Equal variances, Z = A B - K; adds to `by_s`, returns the changes of log Z and by theta."""
    a = theta * s
    top, bottom = a.max(), a.min()
    up, down, da = np.exp(a - top), np.exp(bottom - a), d_theta * s + theta * ds
    A, B = up.sum(), down.sum()
    dA, dB = (up * da).sum(), -(down * da).sum()
    Z = A * B - s.size * math.exp(bottom - top)
    along, by_theta = (dA * B + A * dB) / Z, 0.0
    for k in range(s.size):
        slope = (up[k] * B - down[k] * A) / Z
        change = (up[k] * (da[k] * B + dB) + down[k] * (da[k] * A - dA)) / Z - slope * along
        by_theta += bar * (ds[k] * slope + s[k] * change)
        by_s[k] += bar * (d_theta * slope + theta * change)
    return along, by_theta


@_kernel
def _pairs_along(s, g, ds, dg, theta, d_theta, bar, by_s, by_g):  # type: ignore[no-untyped-def]
    """Do the same with variances; adds to `by_g`, too."""
    n = s.size
    top = 0.0
    for k in range(n):
        for j in range(n):
            if j != k:
                top = max(top, theta * (s[k] - s[j]) / (g[k] + g[j]))
    Z, dZ = 0.0, 0.0
    for k in range(n):
        for j in range(n):
            if j != k:
                scale = g[k] + g[j]
                D = (s[k] - s[j]) / scale
                dD = (ds[k] - ds[j] - D * (dg[k] + dg[j])) / scale
                p = math.exp(theta * D - top)
                Z += p
                dZ += p * (d_theta * D + theta * dD)
    along, by_theta = dZ / Z, 0.0
    for k in range(n):
        for j in range(n):
            if j == k:
                continue
            scale, d_scale = g[k] + g[j], dg[k] + dg[j]
            D = (s[k] - s[j]) / scale
            dD = (ds[k] - ds[j] - D * d_scale) / scale
            p = bar * math.exp(theta * D - top) / Z
            dp = p * (d_theta * D + theta * dD - along)
            by_theta += dp * D + p * dD
            # p theta / scale, and its product with D
            slope = p * theta / scale
            change = (dp * theta + p * d_theta - slope * d_scale) / scale
            by_s[k] += change
            by_s[j] -= change
            by_g[k] -= change * D + slope * dD
            by_g[j] -= change * D + slope * dD
    return along, by_theta


@_kernel
def agreements_curvature_kernel(  # type: ignore[no-untyped-def]
    score, variance, ranker, first, second, count, like, bar, d_score, d_variance
):
    """Change the agreements along a direction, and the gradients of their sum weighted by `bar`."""
    along = np.zeros(like.size)
    by_score, by_variance = np.zeros(score.size), np.zeros(variance.size)
    for e in range(count.size):
        i, j, n = first[e], second[e], ranker[e]
        scale, d_scale = 1.0, 0.0
        if variance.size:
            scale, d_scale = variance[i] + variance[j], d_variance[i] + d_variance[j]
        D = (score[i] - score[j]) / scale
        dD = (d_score[i] - d_score[j] - D * d_scale) / scale
        along[n] += count[e] * dD
        if variance.size:
            slope = bar[n] * count[e] / scale
            change = -slope * d_scale / scale
            by_score[i] += change
            by_score[j] -= change
            by_variance[i] -= change * D + slope * dD
            by_variance[j] -= change * D + slope * dD
    return along, by_score, by_variance
