"""Weak orders in numba, one utility per slot: value and gradient, ranking by ranking.

No two rankings share a stage here, and no table of stages is made: the slots of a ranking are gone
through a few times, in the order in which they stand, simple loops of which most take several slots
at once. With B_r the worth of the items of rank r, the remainder from rank m on is
T_m = B_m + B_(m+1) + ..., and an item of rank r is in those with m <= r, so that one number per
rank is all that the slots below have to know:

    d logp / d w_i = (what its own stage gives) + exp(w_i) sum_(m <= r) (d logp / d log T_m) / T_m

Two blocks of 10 and 100,000 items, as in data of many labels, cost less than a softmax in JAX.
"""

import math

import numba
import numpy as np

from bayesrank.likelihoods.ops.vector_exp import FARTHEST, vector_exp
from bayesrank.likelihoods.plackett_luce.block_kernel import block_kernel, workspace
from bayesrank.likelihoods.plackett_luce.per_item_kernel import stage_terms_kernel

__all__ = ["n_staged_slots", "per_slot_kernel", "stages_of_row"]

LEAST = 1e-220  # worth of a last block that has all its digits; what is below adds nothing to it
RUN = 256  # slots that are looked at together for ranks above the last


@numba.njit(cache=True, error_model="numpy", nogil=True)
def per_slot_kernel(utility, ranks, bound):  # type: ignore[no-untyped-def]
    """Log-probability of weak orders, or its lower bound, and the gradient.

    Parameters
    ----------
    utility : ndarray of float, (n_rankings, n_slots)
        Log worth of the item in each slot; anything in empty slots.
    ranks : ndarray of int, (n_rankings, n_slots)
        Dense ranks in any order of slots, 0 in empty ones.
    bound : bool
        Give `bayesrank.likelihoods.plackett_luce.bounds.plackett_luce_bound`.

    Returns
    -------
    logp : ndarray, (n_rankings,)
        -inf where the ranks are not dense.
    gradient : ndarray, (n_rankings, n_slots)
        Zero in empty slots, and where the ranks are not dense.
    """
    n_rankings, n_slots = ranks.shape
    # every slot is filled below: to clear all of them before is another pass through the memory
    logp, gradient = np.zeros(n_rankings), np.empty((n_rankings, n_slots))
    size, end = np.empty(n_slots + 2, np.int64), np.empty(n_slots + 2, np.int64)
    total, share = np.empty(n_slots + 2), np.empty(n_slots + 2)
    staged, order = np.empty(n_slots, np.int64), np.empty(n_slots, np.int64)
    slope = np.empty(n_slots)
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
        scale = u[staged[0]]  # any item will do, nearly always, and to find the best takes a while
        for _ in range(2):
            logp[row], fits = _on_one_scale(
                u, r, g, bound, deepest, scale, size, staged[:n_staged],
                end, total, share, order, slope, w, work,
            )  # fmt: skip
            if fits:
                break
            scale = _highest(u, r)
        else:
            logp[row] = _on_many_scales(u, r, g, bound)
    return logp, gradient


@numba.njit(cache=True, error_model="numpy")
def _extent(r):  # type: ignore[no-untyped-def]
    """Least and greatest of the ranks and 0."""
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
    """List the slots above the last rank and count them by rank; -1 if a rank has none."""
    size[:deepest] = 0
    n_staged = 0
    for first in range(0, r.size, RUN):
        run = r[first : first + RUN]
        if _all_equal(run, deepest):  # nearly all, where two blocks are few items and the others
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
    for j in range(r.size):  # to the end, as that is done in vectors
        others += r[j] != rank
    return others == 0


@numba.njit(cache=True, error_model="numpy", fastmath=False)  # for the digits of `vector_exp`
def _on_one_scale(  # type: ignore[no-untyped-def]
    u, r, g, bound, deepest, scale, size, staged, end, total, share, order, slope, w, work
):
    """Log-probability of one ranking, and whether worths in units of exp(scale) had room.

    Fills its gradient `g`. From `end` on all is workspace.
    """
    end[1] = 0  # where each block begins in `order`, and later ends
    for m in range(1, deepest):
        end[m + 1] = end[m] + size[m]
        total[m] = 0.0
    for j in range(r.size):  # of empty slots, too, as what has no branch is done in vectors
        g[j] = vector_exp(min(max(u[j] - scale, -FARTHEST), FARTHEST))
    total[deepest] = _sum_of_rank(g, r, deepest)  # of most items, where blocks are two
    for j in staged:
        total[r[j]] += g[j]
        order[end[r[j]]] = j
        end[r[j]] += 1
    for m in range(deepest - 1, 0, -1):
        total[m] += total[m + 1]
    if not (total[deepest] > LEAST and total[1] < 1 / LEAST):
        return 0.0, False

    # share[m]: d logp / d log T_m, and then the sum of (d logp / d log T) / T up to m
    logp = 0.0
    share[1 : deepest + 1] = 0.0
    for m in range(1, deepest):
        first = end[m] - size[m]
        if size[m] == 1 or bound:  # each as if the others of its block were still there
            logp += math.lgamma(size[m] + 1) - size[m] * math.log(total[m])
            for p in range(first, end[m]):
                logp += u[order[p]] - scale
                slope[p] = 1.0
            share[m] -= size[m]
        else:
            below = scale + math.log(total[m + 1])
            for p in range(first, end[m]):
                w[p - first] = u[order[p]] - below
            logp += block_kernel(w[: size[m]], slope[first : end[m]], work)
            for p in range(first, end[m]):
                share[m + 1] -= slope[p]
    share[1] /= total[1]
    for m in range(2, deepest + 1):
        share[m] = share[m - 1] + share[m] / total[m]

    for p in range(staged.size):
        slope[p] += g[order[p]] * share[r[order[p]]]
    last = share[deepest]
    for j in range(r.size):
        g[j] = g[j] * last if r[j] == deepest else 0.0
    for p in range(staged.size):
        g[order[p]] = slope[p]
    return logp, True


@numba.njit(cache=True, error_model="numpy", fastmath={"reassoc"})  # several sums side by side
def _sum_of_rank(worth, r, rank):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(r.size):
        total += worth[j] if r[j] == rank else 0.0
    return total


@numba.njit(cache=True, error_model="numpy")
def _on_many_scales(u, r, g, bound):  # type: ignore[no-untyped-def]
    """Do the same where utilities are too far apart for one scale, by a table of stages."""
    logp, item_weight, node_weight, entry, start, child, b_item, b_start, b_below = stages_of_row(
        r, bound
    )
    value, gradient, _, _ = stage_terms_kernel(
        u.copy(), item_weight, node_weight, np.ones(b_below.size),
        entry, start, child, b_item, b_start, b_below, False,
    )  # fmt: skip
    g[:] = gradient
    return logp + value


@numba.njit(cache=True, error_model="numpy")
def n_staged_slots(r):  # type: ignore[no-untyped-def]
    """Count the slots above the last rank; -1 if the ranks are not dense."""
    least, deepest = _extent(r)
    if least < 0 or deepest > r.size:
        return -1
    return _count(r, deepest, np.empty(r.size + 2, np.int64), np.empty(r.size, np.int64))


@numba.njit(cache=True, error_model="numpy")
def stages_of_row(r, bound):  # type: ignore[no-untyped-def]
    """Stages of one ranking: a constant, weights of items and remainders, and their table."""
    entry, start, child, single, single_node, b_item, b_start, b_below = _stage_table(r)
    item_weight, node_weight = np.zeros(r.size), np.zeros(child.size)
    item_weight[single] = 1.0
    node_weight[single_node] = -1.0
    logp = 0.0
    if bound:  # a block is as many stages, all of the remainder that begins with it
        item_weight[b_item] = 1.0
        for b in range(b_below.size):
            size = b_start[b + 1] - b_start[b]
            node_weight[b_below[b] + 1] = -size
            logp += math.lgamma(size + 1)
        b_item, b_start, b_below = b_item[:0], b_start[:1], b_below[:0]
    return logp, item_weight, node_weight, entry, start, child, b_item, b_start, b_below


@numba.njit(cache=True, error_model="numpy")
def _stage_table(r):  # type: ignore[no-untyped-def]
    """Stages of one ranking, whose slots are the items, as `stage_terms_kernel` wants them."""
    n_slots = r.size
    end = np.zeros(n_slots + 2, np.int64)  # of block m in `order`, by counting sort
    order = np.empty(n_slots, np.int64)
    deepest = n_singles = n_blocks = n_blocked = n_entries = 0
    for j in range(n_slots):
        if r[j] > 0:
            end[r[j]] += 1
            deepest = max(deepest, r[j])
    for m in range(1, deepest + 1):
        end[m] += end[m - 1]
    end[deepest + 1] = end[deepest]
    for j in range(n_slots - 1, -1, -1):  # from the right, so that `end` becomes the start
        if r[j] > 0:
            end[r[j]] -= 1
            order[end[r[j]]] = j

    # A node is a remainder; the deepest comes first, so that the child of n is n - 1
    entry, start = np.empty(end[deepest + 1], np.int64), np.zeros(deepest + 1, np.int64)
    single, single_node = np.empty(deepest, np.int64), np.empty(deepest, np.int64)
    b_item, b_start = np.empty(entry.size, np.int64), np.zeros(deepest + 1, np.int64)
    b_below = np.empty(deepest, np.int64)
    for node, m in enumerate(range(deepest, 0, -1)):
        block = order[end[m] : end[m + 1]]
        entry[n_entries : n_entries + block.size] = block
        n_entries += block.size
        if m < deepest and block.size == 1:
            single[n_singles], single_node[n_singles] = block[0], node
            n_singles += 1
        elif m < deepest:
            b_item[n_blocked : n_blocked + block.size] = block
            b_below[n_blocks] = node - 1
            n_blocked += block.size
            n_blocks += 1
            b_start[n_blocks] = n_blocked
        start[node + 1] = n_entries
    return (
        entry, start, np.arange(deepest) - 1, single[:n_singles], single_node[:n_singles],
        b_item[:n_blocked], b_start[: n_blocks + 1], b_below[:n_blocks],
    )  # fmt: skip
