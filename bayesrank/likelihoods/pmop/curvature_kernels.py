r"""The five set functions in numba: how values and gradients change along a direction.

They are the kernels of second derivatives. A normaliser is a sum of terms, of sizes, of items or of
the nodes of an integral, :math:`Z = \sum_k e^{g_k}`; with their shares :math:`p_k = e^{g_k} / Z`
and the changes :math:`D_k` of the :math:`g_k`, the gradient changes by

.. math:: \sum_k p_k \left(\mathrm d \nabla g_k + \nabla g_k (D_k - \bar D)\right),
          \qquad \bar D = \sum_k p_k D_k .

The time is that of the gradient but for subsets of a given size, which are counted by the recursion
of `bayesrank.likelihoods.pmop.subset_kernels` whatever their size: O(n m) time and memory.
"""

import math

import numba
import numpy as np

from bayesrank.likelihoods.pmop.set_kernels import (
    FREE,
    GEOMETRIC,
    HARMONIC,
    MEAN,
    MIN,
    STEP,
    exponents,
    harmonic_window,
    harmonic_window_of_size,
    score_kernel,
    set_normaliser_kernel,
    shares,
    size_bounds,
    stage_of_row,
    subset_count_kernel,
)
from bayesrank.likelihoods.pmop.subset_kernels import NEGLIGIBLE, bits, log_sum, tilt_kernel

__all__ = ["ordered_partitions_curvature_kernel", "set_normaliser_curvature_kernel"]


@numba.njit(cache=True, error_model="numpy")
def _score_along(w, v, aggregate, gradient, bend):  # type: ignore[no-untyped-def]
    """Gradient of the logarithm of the set function of a block, and its change."""
    value = score_kernel(w, aggregate, gradient)
    bend[:] = 0.0
    if aggregate == MEAN:
        bend[:] = gradient * (v - (gradient * v).sum())
    elif aggregate == HARMONIC:
        bend[:] = -gradient * (v - (gradient * v).sum())
    return value


@numba.njit(cache=True, error_model="numpy")
def set_normaliser_curvature_kernel(  # type: ignore[no-untyped-def]
    w, v, aggregate, size, log_weight, d_log_weight, bend, d_chances
):
    """Change of the logarithm of a normaliser along a direction, and of its gradients.

    Parameters
    ----------
    w, v : ndarray of float, (n,)
        Utilities of the remainder, and their direction.
    aggregate, size : int
        As in `set_normaliser_kernel`.
    log_weight, d_log_weight : ndarray of float, (n_weights,)
        Of the sizes, and their direction.
    bend : ndarray, (n,)
        Overwritten with the change of the gradient by w.
    d_chances : ndarray, (n_weights,)
        Overwritten with that of the gradient by `log_weight`.

    Returns
    -------
    float
        The change of ``log Z``.
    """
    n = w.size
    bend[:] = 0.0
    d_chances[:] = 0.0
    if aggregate == HARMONIC and size == FREE and log_weight.size == 0:
        return _harmonic_along(w, v, bend)
    if aggregate in (GEOMETRIC, HARMONIC):
        return _by_size_along(w, v, aggregate, size, log_weight, d_log_weight, bend, d_chances)

    gradient, chances = np.empty(n), np.zeros(log_weight.size)
    set_normaliser_kernel(w, aggregate, size, log_weight, gradient, chances)
    of_sizes = log_weight.size > 0 and size == FREE
    if aggregate == MEAN:
        along = (gradient * v).sum()
        bend[:] = gradient * (v - along)
        if of_sizes:
            mean = (chances * d_log_weight).sum()
            d_chances[:] = chances * (d_log_weight - mean)
            along += mean
        return along

    # terms of an item, the extreme one of its subset, and a size
    along = (gradient * v).sum()
    if not of_sizes:
        bend[:] = gradient * (v - along)
        return along
    along += (chances * d_log_weight).sum()
    order = np.argsort(w)
    if aggregate == MIN:
        order = order[::-1]
    share = np.empty(log_weight.size)
    for k in range(n):
        subset_count_kernel(k, 1, size, log_weight, share)
        i, mean = order[k], 0.0
        for s in range(share.size):
            change = v[order[k]] + d_log_weight[s] - along
            mean += share[s] * change
            d_chances[s] += gradient[order[k]] * share[s] * change
        bend[i] = gradient[i] * mean
    return along


@numba.njit(cache=True, error_model="numpy")
def _inclusion_along(v, dv, m, share, d_share):  # type: ignore[no-untyped-def]
    """Logarithm of e_m(exp(v)), its gradient, and how that changes along `dv`."""
    n = v.size
    d_share[:] = 0.0
    if m == n:
        share[:] = 1.0
        return v.sum()
    if m == 1:
        total = log_sum(v)
        share[:] = np.exp(v - total)
        d_share[:] = share * (dv - (share * dv).sum())
        return total
    if 2 * m <= n:
        return _of_the_smaller_part_along(v, dv, m, share, d_share)
    out = v.sum() + _of_the_smaller_part_along(-v, -dv, n - m, share, d_share)
    share[:] = 1.0 - share
    d_share[:] = -d_share
    return out


@numba.njit(cache=True, error_model="numpy")
def _of_the_smaller_part_along(v, dv, m, share, d_share):  # type: ignore[no-untyped-def]
    """`count_by_recursion` with the change of every number along `dv`."""
    n = v.size
    p, q = np.empty(n), np.empty(n)
    x = tilt_kernel(v, m)
    out = bits(v, x, p, q) - m * x
    dp = p * q * dv  # and dq = -dp
    ahead, d_ahead = np.zeros((n + 1, m + 1)), np.zeros((n + 1, m + 1))
    ahead[0, 0] = 1.0
    for i in range(n):
        for k in range(min(i + 1, m) + 1):
            stay, step = ahead[i, k], ahead[i, k - 1] if k else 0.0
            d_stay, d_step = d_ahead[i, k], d_ahead[i, k - 1] if k else 0.0
            ahead[i + 1, k] = stay * q[i] + step * p[i]
            d_ahead[i + 1, k] = d_stay * q[i] + d_step * p[i] + (step - stay) * dp[i]
    count, d_count = ahead[n, m], d_ahead[n, m]

    after, d_after = np.zeros(m + 2), np.zeros(m + 2)
    after[m] = 1.0
    for i in range(n - 1, -1, -1):
        both, d_both = 0.0, 0.0
        for k in range(min(i, m - 1) + 1):
            both += ahead[i, k] * after[k + 1]
            d_both += d_ahead[i, k] * after[k + 1] + ahead[i, k] * d_after[k + 1]
        share[i] = p[i] * both / count
        d_share[i] = (dp[i] * both + p[i] * d_both - share[i] * d_count) / count
        for k in range(m + 1):
            d_after[k] = (
                q[i] * d_after[k] + p[i] * d_after[k + 1] + (after[k + 1] - after[k]) * dp[i]
            )
            after[k] = q[i] * after[k] + p[i] * after[k + 1]
    return out + math.log(count)


@numba.njit(cache=True, error_model="numpy")
def _of_size_along(w, v, down, aggregate, m, gradient, bend):  # type: ignore[no-untyped-def]
    """Sum over the subsets of size m, geometric or harmonic mean; its gradient, and the change."""
    n = w.size
    if aggregate == GEOMETRIC:
        out = _inclusion_along(w / m, v / m, m, gradient, bend)
        gradient /= m
        bend /= m
        return out
    if m == 1:
        return _score_along(w, v, MEAN, gradient, bend) + math.log(n)
    if m == n:
        return _score_along(w, v, HARMONIC, gradient, bend)

    # by the nodes of the integral
    centre, low, nodes = harmonic_window_of_size(w, down, m)
    mixture = np.zeros((3, n))
    tau, share, d_share = np.empty(n), np.empty(n), np.empty(n)
    peak, mass, moment = -np.inf, 0.0, 0.0
    for k in range(nodes):
        y = low + k * STEP
        jump = math.exp(-y)
        x = centre + y - jump
        exponents(tau, x, w)
        log_e = _inclusion_along(-tau, tau * v, m, share, d_share)
        log_f = x + math.log1p(jump) + math.log(m) + log_e
        share *= tau
        d_share = tau * d_share - v * share
        p, shrink, peak = _scaled(log_f, peak)
        mass, moment = _mix(
            mixture, mass * shrink, moment * shrink, shrink, p, share, d_share, v, 0.0
        )
    _close(mixture, mass, moment, gradient, bend)
    return peak + math.log(mass * STEP)


@numba.njit(cache=True, error_model="numpy")
def _scaled(log_f, peak):  # type: ignore[no-untyped-def]
    """Term and what those before are multiplied by, the largest being one, and its logarithm."""
    if log_f > peak:
        return 1.0, math.exp(peak - log_f), log_f
    return math.exp(log_f - peak), 1.0, peak


@numba.njit(cache=True, error_model="numpy")
def _mix(mixture, mass, moment, shrink, p, gradient, bend, v, more):  # type: ignore[no-untyped-def]
    """Add a term of share p to sums of gradients and of changes of them; D has `more`."""
    D = more
    for i in range(v.size):
        D += gradient[i] * v[i]
    for i in range(v.size):
        mixture[0, i] = shrink * mixture[0, i] + p * gradient[i]
        mixture[1, i] = shrink * mixture[1, i] + p * bend[i]
        mixture[2, i] = shrink * mixture[2, i] + p * D * gradient[i]
    return mass + p, moment + p * D


@numba.njit(cache=True, error_model="numpy")
def _close(mixture, mass, moment, gradient, bend):  # type: ignore[no-untyped-def]
    """Gradient of the logarithm of the sum, and its change; return the change of the logarithm."""
    along = moment / mass
    for i in range(gradient.size):
        gradient[i] = mixture[0, i] / mass
        bend[i] = (mixture[1, i] + mixture[2, i]) / mass - gradient[i] * along
    return along


@numba.njit(cache=True, error_model="numpy")
def _by_size_along(w, v, aggregate, size, log_weight, d_log_weight, bend, d_chances):  # type: ignore[no-untyped-def]
    """Sum over sizes, the most promising first, until the rest is negligible."""
    n = w.size
    down, gradient = np.sort(w)[::-1].copy(), np.empty(n)
    if size != FREE:
        _of_size_along(w, v, down, aggregate, size, gradient, bend)
        return (gradient * v).sum()
    mixture, part, d_part = np.zeros((3, n)), np.empty(n), np.empty(n)
    chances, D = np.zeros(log_weight.size), np.zeros(log_weight.size)
    bound = size_bounds(down, log_weight)
    peak, mass, moment = -np.inf, 0.0, 0.0
    for s in np.argsort(-bound):
        if bound[s] < peak + math.log(max(mass, 1.0)) - NEGLIGIBLE or bound[s] == -np.inf:
            break
        term, more = _of_size_along(w, v, down, aggregate, s + 1, part, d_part), 0.0
        if log_weight.size:
            term += log_weight[s]
            more = d_log_weight[s]
        p, shrink, peak = _scaled(term, peak)
        before = moment * shrink
        mass, moment = _mix(mixture, mass * shrink, before, shrink, p, part, d_part, v, more)
        if log_weight.size:
            chances *= shrink
            chances[s] = p
            D[s] = (moment - before) / p if p > 0.0 else 0.0
    along = _close(mixture, mass, moment, gradient, bend)
    d_chances[:] = chances / mass * (D - along)
    return along


@numba.njit(cache=True, error_model="numpy")
def _harmonic_along(w, v, bend):  # type: ignore[no-untyped-def]
    """Harmonic mean, subsets of all sizes: the nodes of the integral."""
    n = w.size
    centre, low, nodes = harmonic_window(w)
    mixture, gradient = np.zeros((3, n)), np.empty(n)
    tau, share, slope, d_slope = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    peak, mass, moment = -np.inf, 0.0, 0.0
    for k in range(nodes):
        y = low + k * STEP
        jump = math.exp(-y)
        x = centre + y - jump
        exponents(tau, x, w)
        total, log_product = shares(share, tau)
        log_f = x + math.log1p(jump) + log_product + math.log(total)
        p, shrink, peak = _scaled(log_f, peak)
        d_total = 0.0
        for i in range(n):
            d_total += share[i] * (1.0 - share[i]) * tau[i] * v[i]
        for i in range(n):
            # tau share (1 + (1 - share) / total), of which tau changes by -tau v
            rest = (1.0 - share[i]) / total
            d_share = share[i] * (1.0 - share[i]) * tau[i] * v[i]
            slope[i] = tau[i] * share[i] * (1.0 + rest)
            d_slope[i] = -v[i] * slope[i] + tau[i] * d_share * (1.0 + rest)
            d_slope[i] -= tau[i] * share[i] * (d_share + rest * d_total) / total
        mass, moment = _mix(
            mixture, mass * shrink, moment * shrink, shrink, p, slope, d_slope, v, 0.0
        )
    return _close(mixture, mass, moment, gradient, bend)


@numba.njit(cache=True, error_model="numpy")
def ordered_partitions_curvature_kernel(  # type: ignore[no-untyped-def]
    utility, ranks, log_weight, stage_weight, bar, v, d_log_weight, aggregate, given_sizes
):
    """Change of `ordered_partitions_kernel`, and of the gradients of its sum weighted by `bar`.

    `v` is the direction of the utilities, `d_log_weight` that of the log weights.
    """
    n_rankings, n_slots = ranks.shape
    n_sizes = log_weight.shape[1]
    along, by_utility = np.zeros(n_rankings), np.zeros((n_rankings, n_slots))
    by_log_weight = np.zeros((n_rankings, n_sizes))
    w, dw = np.empty(n_slots), np.empty(n_slots)  # not rows of a table, of which numba knows less
    gradient, bend, d_chances = np.empty(n_slots), np.empty(n_slots), np.empty(n_sizes)
    for row in range(n_rankings):
        order = np.argsort(ranks[row], kind="mergesort")
        for j in range(n_slots):
            w[j], dw[j] = utility[row, order[j]], v[row, order[j]]
        bar_of_row = bar[row if bar.size > 1 else 0]
        start, rank = stage_of_row(ranks[row], order, 0, 0), 1
        while start < n_slots:
            end = stage_of_row(ranks[row], order, start, rank)
            m, n = end - start, n_slots - start
            if m == 0 or (n_sizes > 0 and m > n_sizes and not given_sizes):
                along[row] = 0.0
                by_utility[row] = 0.0
                by_log_weight[row] = 0.0
                break
            certain = n == 1 or (given_sizes and m == n)
            weight = stage_weight[row, rank - 1] if rank <= stage_weight.shape[1] else 0.0
            if weight != 0.0 and not certain:
                _score_along(w[start:end], dw[start:end], aggregate, gradient[:m], bend[:m])
                change = (gradient[:m] * dw[start:end]).sum()
                for j in range(m):
                    by_utility[row, order[start + j]] += bar_of_row * weight * bend[j]
                change -= set_normaliser_curvature_kernel(
                    w[start:], dw[start:], aggregate, m if given_sizes else FREE,
                    log_weight[row], d_log_weight[row], bend[:n], d_chances,
                )  # fmt: skip
                for j in range(n):
                    by_utility[row, order[start + j]] -= bar_of_row * weight * bend[j]
                if n_sizes > 0 and not given_sizes:
                    change += d_log_weight[row, m - 1]
                    for s in range(n_sizes):
                        by_log_weight[row, s] -= bar_of_row * weight * d_chances[s]
                along[row] += weight * change
            start = end
            rank += 1
    return along, by_utility, by_log_weight
