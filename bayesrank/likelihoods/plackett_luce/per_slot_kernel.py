"""Weak orders in numba, one utility per slot: value and gradient, ranking by ranking.

Rankings do not share stages here, so there is no table of stages. The kernel passes over the slots
of a ranking a few times, mostly in simple loops that compile to vector instructions. Let B_r be the
worth of the items of rank r. The remainder from rank m on is T_m = B_m + B_(m+1) + .... An item of
rank r is in the remainders with m <= r. Therefore the gradient needs only one number per rank:

    d logp / d w_i = (slope of its own stage) + exp(w_i) sum_(m <= r) (d logp / d log T_m) / T_m

Two blocks of 10 and 100,000 items, as in multi-label data, take less time than a softmax in JAX.
"""

import math

import numba
import numpy as np

from bayesrank.likelihoods.ops.vector_exp import FARTHEST, vector_exp
from bayesrank.likelihoods.plackett_luce.block_kernel import block_kernel, workspace

__all__ = ["per_slot_kernel"]

LEAST = 1e-220  # smallest worth of a last block with full precision
RUN = 256  # slots that are checked together for ranks above the last


@numba.njit(cache=True, error_model="numpy", nogil=True)
def per_slot_kernel(utility, ranks):  # type: ignore[no-untyped-def]
    """Log-probability of weak orders, and the gradient.

    Parameters
    ----------
    utility : ndarray of float, (n_rankings, n_slots)
        Log worth of the item in each slot; any value in empty slots.
    ranks : ndarray of int, (n_rankings, n_slots)
        Dense ranks in any order of slots, 0 in empty ones.

    Returns
    -------
    logp : ndarray, (n_rankings,)
        -inf if the ranks are not dense.
    gradient : ndarray, (n_rankings, n_slots)
        Zero in empty slots, and if the ranks are not dense.
    """
    n_rankings, n_slots = ranks.shape
    # every slot is filled below; clearing them first would be another pass through memory
    logp, gradient = np.zeros(n_rankings), np.empty((n_rankings, n_slots))
    size, end = np.empty(n_slots + 2, np.int64), np.empty(n_slots + 2, np.int64)
    total, log_total = np.empty(n_slots + 2), np.empty(n_slots + 2)
    staged, order = np.empty(n_slots, np.int64), np.empty(n_slots, np.int64)
    slope, share = np.empty(n_slots), np.empty(n_slots + 2)
    w, work = np.empty(n_slots), workspace(n_slots)
    for row in range(n_rankings):
        u, r, g = utility[row], ranks[row], gradient[row]
        least, deepest = _extent(r)
        valid = least >= 0 and deepest <= n_slots
        n_staged = _count(r, deepest, size, staged) if valid else -1
        if n_staged <= 0:
            logp[row] = -np.inf if n_staged < 0 else 0.0
            g[:] = 0.0
            continue
        _sort(r, deepest, size, staged[:n_staged], end, order)
        # the scale of any item almost always works, and finding the best one takes time
        scale = u[staged[0]]
        fits = _totals(u, r, g, deepest, scale, staged[:n_staged], total)
        if not fits:
            scale = _highest(u, r)
            fits = _totals(u, r, g, deepest, scale, staged[:n_staged], total)
        if fits:
            for m in range(1, deepest + 1):
                log_total[m] = scale + math.log(total[m])
        else:
            _log_totals(u, r, deepest, log_total)
        logp[row] = _stages(u, deepest, size, end, order, log_total, share, slope, w, work)
        if fits:
            _pull(g, r, deepest, total, share, slope[:n_staged], order)
        else:
            _pull_logs(g, u, r, deepest, log_total, share, slope[:n_staged], order)
    return logp, gradient


@numba.njit(cache=True, error_model="numpy")
def _extent(r):  # type: ignore[no-untyped-def]
    """Lowest and highest of the ranks and 0."""
    least, deepest = np.int64(0), np.int64(0)
    for j in range(r.size):
        least, deepest = min(least, np.int64(r[j])), max(deepest, np.int64(r[j]))
    return least, deepest


@numba.njit(cache=True, error_model="numpy")
def _highest(u, r):  # type: ignore[no-untyped-def]
    highest = -np.inf
    for j in range(r.size):
        if r[j] > 0 and u[j] > highest:
            highest = u[j]
    return highest


@numba.njit(cache=True, error_model="numpy")
def _count(r, deepest, size, staged):  # type: ignore[no-untyped-def]
    """List the slots above the last rank and count them by rank; return -1 if a rank has none."""
    size[:deepest] = 0
    n_staged = 0
    for first in range(0, r.size, RUN):
        run = r[first : first + RUN]
        if _all_equal(run, deepest):  # true for most runs if the first of two blocks is small
            continue
        for j in range(run.size):
            if 0 < run[j] < deepest:
                size[run[j]] += 1
                staged[n_staged] = first + j
                n_staged += 1
    for m in range(1, deepest):
        if size[m] == 0:
            return -1
    return n_staged


@numba.njit(cache=True, error_model="numpy")
def _all_equal(r, rank):  # type: ignore[no-untyped-def]
    others = 0
    for j in range(r.size):  # no early exit, so that the loop compiles to vector instructions
        others += r[j] != rank
    return others == 0


@numba.njit(cache=True, error_model="numpy")
def _sort(r, deepest, size, staged, end, order):  # type: ignore[no-untyped-def]
    """List the staged slots by rank, and where the block of each rank ends in that order."""
    end[1] = 0  # at first, `end` holds the start of each block
    for m in range(1, deepest):
        end[m + 1] = end[m] + size[m]
    for j in staged:
        order[end[r[j]]] = j
        end[r[j]] += 1


@numba.njit(cache=True, error_model="numpy", fastmath=False)  # for the digits of `vector_exp`
def _totals(u, r, g, deepest, scale, staged, total):  # type: ignore[no-untyped-def]
    """Write worths in units of exp(scale), `g` and `total`; return whether the totals fit."""
    for m in range(1, deepest):
        total[m] = 0.0
    for j in range(r.size):  # also empty slots: loops without branches use vector instructions
        g[j] = vector_exp(min(max(u[j] - scale, -FARTHEST), FARTHEST))
    total[deepest] = _sum_of_rank(g, r, deepest)  # most items, if there are two blocks
    for j in staged:
        total[r[j]] += g[j]
    for m in range(deepest - 1, 0, -1):
        total[m] += total[m + 1]
    return total[deepest] > LEAST and total[1] < 1 / LEAST


@numba.njit(cache=True, error_model="numpy")
def _log_totals(u, r, deepest, log_total):  # type: ignore[no-untyped-def]
    """Write the log worths of remainders, which may be too far apart for one scale."""
    log_total[1 : deepest + 1] = -np.inf
    for j in range(r.size):
        if r[j] > 0:
            log_total[r[j]] = np.logaddexp(log_total[r[j]], u[j])
    for m in range(deepest - 1, 0, -1):
        log_total[m] = np.logaddexp(log_total[m], log_total[m + 1])


@numba.njit(cache=True, error_model="numpy")
def _stages(u, deepest, size, end, order, log_total, share, slope, w, work):  # type: ignore[no-untyped-def]
    """Log-probability of one ranking.

    It fills `share` with the slopes by log T_m, and `slope` with the slopes by the utilities of
    each block.
    """
    logp = 0.0
    share[1 : deepest + 1] = 0.0
    for m in range(1, deepest):
        first = end[m] - size[m]
        if size[m] == 1:
            logp += u[order[first]] - log_total[m]
            slope[first] = 1.0
            share[m] -= 1.0
            continue
        for p in range(first, end[m]):
            w[p - first] = u[order[p]] - log_total[m + 1]
        logp += block_kernel(w[: size[m]], slope[first : end[m]], work)
        for p in range(first, end[m]):
            share[m + 1] -= slope[p]
    return logp


@numba.njit(cache=True, error_model="numpy")
def _pull(g, r, deepest, total, share, slope, order):  # type: ignore[no-untyped-def]
    """Replace the worths `g` by the gradient."""
    share[1] /= total[1]
    for m in range(2, deepest + 1):
        share[m] = share[m - 1] + share[m] / total[m]
    for p in range(slope.size):
        slope[p] += g[order[p]] * share[r[order[p]]]
    last = share[deepest]
    for j in range(r.size):
        g[j] = g[j] * last if r[j] == deepest else 0.0
    for p in range(slope.size):
        g[order[p]] = slope[p]


@numba.njit(cache=True, error_model="numpy")
def _pull_logs(g, u, r, deepest, log_total, share, slope, order):  # type: ignore[no-untyped-def]
    """Write the gradient if utilities are too far apart for one scale."""
    for m in range(2, deepest + 1):  # T_m times the sum of (d logp / d log T) / T up to m
        share[m] += share[m - 1] * math.exp(log_total[m] - log_total[m - 1])
    for j in range(r.size):
        g[j] = share[r[j]] * math.exp(u[j] - log_total[r[j]]) if r[j] > 0 else 0.0
    for p in range(slope.size):
        g[order[p]] += slope[p]


@numba.njit(cache=True, error_model="numpy", fastmath={"reassoc"})  # several sums side by side
def _sum_of_rank(worth, r, rank):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(r.size):
        total += worth[j] if r[j] == rank else 0.0
    return total
