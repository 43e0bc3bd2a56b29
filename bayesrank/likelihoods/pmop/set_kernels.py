r"""The five set functions and their normalisers in numba: values and gradients in one pass.

`score_kernel` computes :math:`\log \Phi(S)` of a block. `set_normaliser_kernel` computes
:math:`\log Z(R) = \log \sum_S \delta_{|S|} \Phi(S)`, summed over the non-empty subsets of a
remainder or over the subsets of a given size. See `bayesrank.likelihoods.pmop.op` for the
formulas.

For a remainder of n items, the mean and the harmonic mean take time O(n), and the maximum and the
minimum O(n log n). The geometric mean takes O(n m) for each size m that matters; there are about
:math:`\sqrt n` of them. With given or weighted sizes, the harmonic mean takes about as long as 60
sizes of the geometric mean.
"""

import math

import numba
import numpy as np

from bayesrank.likelihoods.ops.vector_exp import FARTHEST, vector_exp
from bayesrank.likelihoods.pmop.subset_kernels import (
    NEGLIGIBLE,
    RUN,
    elementary_symmetric_kernel,
    log_binomial,
    log_sum,
)

__all__ = ["AGGREGATES", "FREE", "score_kernel", "set_normaliser_kernel"]

AGGREGATES = ("mean", "max", "min", "geometric", "harmonic")
MEAN, MAX, MIN, GEOMETRIC, HARMONIC = range(5)
FREE = 0  # instead of a size: subsets of any size
LN2 = math.log(2.0)

# Nodes y of the harmonic mean, t = exp(centre + y - exp(-y)): the left tail decays doubly
# exponentially, and at -3.55 the logarithm is 38 lower.
LEFT = -3.55
STEP = 0.23


@numba.njit(cache=True, error_model="numpy")
def score_kernel(w, aggregate, gradient):  # type: ignore[no-untyped-def]
    """Logarithm of the set function of a block; `gradient` (n,) is overwritten."""
    n = w.size
    if aggregate == MEAN:
        total = log_sum(w)
        gradient[:] = np.exp(w - total)
        return total - math.log(n)
    if aggregate == HARMONIC:
        total = log_sum(-w)
        gradient[:] = np.exp(-w - total)
        return math.log(n) - total
    if aggregate == GEOMETRIC:
        gradient[:] = 1.0 / n
        return w.sum() / n
    best = w.argmax() if aggregate == MAX else w.argmin()
    gradient[:] = 0.0
    gradient[best] = 1.0
    return w[best]


@numba.njit(cache=True, error_model="numpy")
def subset_count_kernel(k, extra, size, log_weight, chances):  # type: ignore[no-untyped-def]
    """Logarithm of the weighted number of subsets of k items, each together with `extra` others.

    `chances` (n_weights,) is overwritten with the share of each size.
    """
    if size != FREE:
        return log_binomial(k, size - extra) if 0 <= size - extra <= k else -np.inf
    if log_weight.size == 0:
        return k * LN2 if extra else k * LN2 + math.log1p(-math.exp(-k * LN2))
    chances[:] = 0.0
    peak = -np.inf
    last = min(log_weight.size, k + extra)
    for s in range(1, last + 1):
        chances[s - 1] = log_weight[s - 1] + log_binomial(k, s - extra)
        peak = max(peak, chances[s - 1])
    total = 0.0
    for s in range(1, last + 1):
        chances[s - 1] = math.exp(chances[s - 1] - peak)
        total += chances[s - 1]
    chances[:last] /= total
    return peak + math.log(total)


@numba.njit(cache=True, error_model="numpy")
def set_normaliser_kernel(w, aggregate, size, log_weight, gradient, chances):  # type: ignore[no-untyped-def]
    """Logarithm of the sum of the set function over subsets, and its gradients.

    Parameters
    ----------
    w : ndarray of float, (n,)
        Utilities of the remainder, finite.
    aggregate : int
        Position in `AGGREGATES`.
    size : int
        Size of the subsets, 1 <= size <= n; 0 (`FREE`) for all.
    log_weight : ndarray of float, (n_weights,)
        Log weights of sizes 1, 2, ...; larger sizes are impossible. Empty for equal weights, and
        ignored if `size` is given.
    gradient : ndarray, (n,)
        Overwritten with the gradient by w.
    chances : ndarray, (n_weights,)
        Overwritten with the gradient by `log_weight`: the probability of each size.

    Returns
    -------
    float
        ``log Z``.
    """
    n = w.size
    if aggregate == MEAN:
        ways = subset_count_kernel(n, 0, size, log_weight, chances)
        total = log_sum(w)
        gradient[:] = np.exp(w - total)
        return ways - math.log(n) + total
    if aggregate in (MAX, MIN):
        return _extreme(w, aggregate, size, log_weight, gradient, chances)
    if aggregate == HARMONIC and size == FREE and log_weight.size == 0:
        return _harmonic(w, w, FREE, gradient, np.empty(n), np.empty((2, 0)))
    return _by_size(w, aggregate, size, log_weight, gradient, chances)


@numba.njit(cache=True, error_model="numpy")
def _extreme(w, aggregate, size, log_weight, gradient, chances):  # type: ignore[no-untyped-def]
    """Sum over the choice of the extreme item; the other items of its subset are less extreme."""
    n = w.size
    order = np.argsort(w)  # the k items before position k may join the item there
    if aggregate == MIN:
        order = order[::-1]
    terms, share = np.empty(n), np.empty((n, chances.size))
    for k in range(n):
        terms[k] = w[order[k]] + subset_count_kernel(k, 1, size, log_weight, share[k])
    total = log_sum(terms)
    chances[:] = 0.0
    for k in range(n):
        p = math.exp(terms[k] - total)
        gradient[order[k]] = p
        chances += p * share[k]
    return total


@numba.njit(cache=True, error_model="numpy")
def _by_size(w, aggregate, size, log_weight, gradient, chances):  # type: ignore[no-untyped-def]
    """Sum over sizes, the most promising first, until the rest is negligible."""
    n = w.size
    down = np.sort(w)[::-1]
    share, work = np.empty(n), np.empty((2, n))
    if size != FREE:
        return _of_size(w, down, aggregate, size, gradient, share, work)
    bound = size_bounds(down, log_weight)
    part = np.empty(n)
    gradient[:] = 0.0
    chances[:] = 0.0
    peak, total = -np.inf, 0.0
    for s in np.argsort(-bound):
        if bound[s] < peak + math.log(max(total, 1.0)) - NEGLIGIBLE or bound[s] == -np.inf:
            break
        term = _of_size(w, down, aggregate, s + 1, part, share, work)
        if log_weight.size:
            term += log_weight[s]
        if term > peak:
            shrink = math.exp(peak - term)
            gradient *= shrink
            chances *= shrink
            total *= shrink
            peak = term
        p = math.exp(term - peak)
        total += p
        for i in range(n):
            gradient[i] += p * part[i]
        if log_weight.size:
            chances[s] = p
    gradient /= total
    chances /= total
    return peak + math.log(total)


@numba.njit(cache=True, error_model="numpy")
def size_bounds(down, log_weight):  # type: ignore[no-untyped-def]
    """Bounds of the log sum over the subsets of each size; `down` is in decreasing order."""
    n = down.size
    last = min(n, log_weight.size) if log_weight.size else n
    bound = np.empty(last)
    best = 0.0
    for m in range(1, last + 1):  # the m best utilities have the highest mean
        best += (down[m - 1] - best) / m
        bound[m - 1] = best + log_binomial(n, m)
        if log_weight.size:
            bound[m - 1] += log_weight[m - 1]
    return bound


@numba.njit(cache=True, error_model="numpy")
def _of_size(w, down, aggregate, m, gradient, share, work):  # type: ignore[no-untyped-def]
    """Log sum over the subsets of size m, for the geometric or the harmonic mean."""
    if aggregate == GEOMETRIC:
        out = elementary_symmetric_kernel(w / m, m, gradient, work)
        gradient /= m
        return out
    if m == 1:
        return score_kernel(w, MEAN, gradient) + math.log(w.size)
    if m == w.size:
        return score_kernel(w, HARMONIC, gradient)
    return _harmonic(w, down, m, gradient, share, work)


@numba.njit(cache=True, error_model="numpy")
def harmonic_window(w):  # type: ignore[no-untyped-def]
    """Centre, first node and number of nodes of the integral over subsets of all sizes."""
    n, highest = w.size, w.max()
    log_count = math.log(n) + n * LN2  # bounds the integrand, which is largest at t = 0
    # Z is at least the worth of the best item, and at least Z of items all equal to the worst
    least = max(highest, n * LN2 + math.log1p(-math.exp(-n * LN2)) + w.min())
    centre = -log_sum(-w)
    low = max(LEFT, least - log_count - NEGLIGIBLE - centre)
    high = highest + math.log(NEGLIGIBLE + log_count) - centre
    high += math.exp(-high)
    return centre, low, int(math.ceil((high - low) / STEP)) + 1


@numba.njit(cache=True, error_model="numpy")
def harmonic_window_of_size(w, down, m):  # type: ignore[no-untyped-def]
    """Centre, first node and number of nodes of the integral over subsets of size m."""
    n = w.size
    log_count = log_binomial(n, m)
    top = math.log(m) - log_sum(-down[:m])  # of the m best items
    least = max(top, log_count + down[n - 1])
    centre = -log_sum(-w)
    low = max(LEFT, least - math.log(m) - log_count - NEGLIGIBLE - centre)
    high = top - math.log(m) + math.log(NEGLIGIBLE + log_count) - centre
    high = max(high + math.exp(-high), low)
    return centre, low, int(math.ceil((high - low) / STEP)) + 1


@numba.njit(cache=True, error_model="numpy")
def _harmonic(w, down, m, gradient, share, work):  # type: ignore[no-untyped-def]
    r"""Log sum over the subsets of size m, or of all sizes if m is `FREE`, for the harmonic mean.

    .. math:: Z = \int_0^\infty \prod_i (1 + q_i) \sum_j \frac{q_j}{1 + q_j}\, dt, \qquad
              Z_m = \int_0^\infty m\, e_m(q)\, dt, \qquad q_i = \exp(-t e^{-w_i})
    """
    centre, low, nodes = harmonic_window(w) if m == FREE else harmonic_window_of_size(w, down, m)
    peak, mass, tau = -np.inf, 0.0, np.empty(w.size)
    gradient[:] = 0.0
    for k in range(nodes):
        log_f = harmonic_node(w, m, centre, low + k * STEP, tau, share, work)
        if log_f > peak:
            shrink = math.exp(peak - log_f)
            gradient *= shrink
            mass *= shrink
            peak = log_f
        p = math.exp(log_f - peak)
        mass += p
        for i in range(w.size):
            gradient[i] += p * tau[i] * share[i]
    gradient /= mass
    return peak + math.log(mass * STEP)


@numba.njit(cache=True, error_model="numpy")
def harmonic_node(w, m, centre, y, tau, share, work):  # type: ignore[no-untyped-def]
    """Logarithm of the integrand as a function of y.

    It fills `tau` with t exp(-w), and `share` with minus the slopes by `tau`.
    """
    jump = math.exp(-y)
    x = centre + y - jump
    exponents(tau, x, w)
    log_step = x + math.log1p(jump)
    if m != FREE:
        log_e = elementary_symmetric_kernel(-tau, m, share, work)
        return log_step + math.log(m) + log_e
    total, log_product = shares(share, tau)
    for i in range(w.size):
        share[i] *= 1.0 + (1.0 - share[i]) / total
    return log_step + log_product + math.log(total)


@numba.njit(cache=True, error_model="numpy", fastmath=False)  # for `vector_exp`
def exponents(tau, x, w):  # type: ignore[no-untyped-def]
    """Fill `tau` with t exp(-w), where t = exp(x), capped where exp(-tau) is almost zero."""
    for i in range(w.size):
        tau[i] = min(vector_exp(min(max(x - w[i], -FARTHEST), FARTHEST)), FARTHEST)


@numba.njit(cache=True, error_model="numpy", fastmath={"nsz", "contract", "reassoc"})
def shares(share, tau):  # type: ignore[no-untyped-def]
    """Fill `share` with q / (1 + q), q = exp(-tau); return its sum, and the sum of log(1 + q)."""
    total, log_product = 0.0, 0.0
    for i in range(tau.size):
        q = vector_exp(-tau[i])
        share[i] = q / (1.0 + q)
        total += share[i]
    for first in range(0, tau.size, RUN):
        product = 1.0
        for i in range(first, min(first + RUN, tau.size)):
            product *= 1.0 - share[i]  # 1 / (1 + q)
        log_product -= math.log(product)
    return total, log_product


@numba.njit(cache=True, error_model="numpy")
def stage_of_row(ranks, order, start, rank):  # type: ignore[no-untyped-def]
    """Return where the slots of a rank end, if they begin at `start` in the sorted `order`."""
    end = start
    while end < order.size and ranks[order[end]] == rank:
        end += 1
    return end


@numba.njit(cache=True, error_model="numpy", nogil=True)
def ordered_partitions_kernel(  # type: ignore[no-untyped-def]
    utility, ranks, log_weight, stage_weight, aggregate, given_sizes
):
    """Log-probability of every ranking, and its gradients.

    Parameters
    ----------
    utility : ndarray of float, (n_rankings, n_slots)
        Log worth of the item in each slot.
    ranks : ndarray of int, (n_rankings, n_slots)
        Ranks in any order of slots, 0 in empty ones.
    log_weight : ndarray of float, (n_rankings, n_sizes)
        Log weights of possible block sizes; without columns, all sizes have the same weight.
    stage_weight : ndarray of float, (n_rankings, n_stages)
        Exponents of the stages. A ranking has at most n_stages stages.
    aggregate : int
        Position in `AGGREGATES`.
    given_sizes : bool
        Whether the sizes of the blocks are given.

    Returns
    -------
    logp : ndarray, (n_rankings,)
        -inf if the ranks are not dense, a block is too large, or there are too many blocks.
    by_utility : ndarray, (n_rankings, n_slots)
    by_log_weight : ndarray, (n_rankings, n_sizes)
    """
    n_rankings, n_slots = ranks.shape
    n_sizes = log_weight.shape[1]
    logp = np.zeros(n_rankings)
    by_utility = np.zeros((n_rankings, n_slots))
    by_log_weight = np.zeros((n_rankings, n_sizes))
    w, gradient, chances = np.empty(n_slots), np.empty(n_slots), np.empty(n_sizes)
    for row in range(n_rankings):
        order = np.argsort(ranks[row], kind="mergesort")
        start = stage_of_row(ranks[row], order, 0, 0)  # empty slots come first
        for j in range(start, n_slots):
            w[j] = utility[row, order[j]]
        rank = 1
        while start < n_slots:
            end = stage_of_row(ranks[row], order, start, rank)
            m, n = end - start, n_slots - start
            too_large = n_sizes > 0 and m > n_sizes and not given_sizes
            if m == 0 or too_large or rank > stage_weight.shape[1]:
                logp[row] = -np.inf
                break
            certain = n == 1 or (given_sizes and m == n)
            weight = stage_weight[row, rank - 1]
            if weight != 0.0 and not certain:
                score = score_kernel(w[start:end], aggregate, gradient[:m])
                for j in range(m):
                    by_utility[row, order[start + j]] += weight * gradient[j]
                score -= set_normaliser_kernel(
                    w[start:], aggregate, m if given_sizes else FREE,
                    log_weight[row], gradient[:n], chances,
                )  # fmt: skip
                for j in range(n):
                    by_utility[row, order[start + j]] -= weight * gradient[j]
                if n_sizes > 0 and not given_sizes:
                    score += log_weight[row, m - 1]
                    by_log_weight[row, m - 1] += weight
                    for s in range(n_sizes):
                        by_log_weight[row, s] -= weight * chances[s]
                logp[row] += weight * score
            start = end
            rank += 1
    return logp, by_utility, by_log_weight
