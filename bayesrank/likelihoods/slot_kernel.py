"""Weak orders in numba, one utility per slot: value and gradient, ranking by ranking.

No two rankings share a stage here, and no table of stages is made: the slots of a ranking are gone
through a few times, in the order in which they stand, simple loops of which most take several slots
at once. With B_r the worth of the items of rank r,
the remainder from rank m on is T_m = B_m + B_(m+1) + ..., and an item of rank r is in those with
m <= r, so that one number per rank is all that the slots below have to know:

    d logp / d w_i = (what its own stage gives) + exp(w_i) sum_(m <= r) (d logp / d log T_m) / T_m

Two blocks of 10 and 100,000 items, as in data of many labels, cost about what a softmax does.
"""

import math

import numba
import numpy as np

from bayesrank.likelihoods.quadrature import block_kernel
from bayesrank.likelihoods.stage_kernel import WIDEST_SCALE, ranking_sums, stage_terms
from bayesrank.likelihoods.vector_exp import vector_exp

__all__ = ["chain_table", "weak_order_logps"]


@numba.njit(cache=True, error_model="numpy")
def weak_order_logps(utility, ranks):  # type: ignore[no-untyped-def]
    """Log-probability of weak orders and its gradient.

    Parameters
    ----------
    utility : ndarray of float, (n_rankings, n_slots)
        Log worth of the item in each slot; anything in empty slots.
    ranks : ndarray of int, (n_rankings, n_slots)
        Dense ranks in any order of slots, 0 in empty ones.

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
    size, end = np.zeros(n_slots + 2, np.int64), np.empty(n_slots + 2, np.int64)
    total, share = np.empty(n_slots + 2), np.empty(n_slots + 2)
    order, slope = np.empty(n_slots, np.int64), np.empty(n_slots)
    w, a, q = np.empty(n_slots), np.empty(n_slots), np.empty(n_slots)
    for row in range(n_rankings):
        u, r, g = utility[row], ranks[row], gradient[row]
        size[:] = 0
        deepest, lowest, highest, valid = _counts(u, r, size)
        if not valid:
            logp[row] = -np.inf
            g[:] = 0.0
        elif deepest <= 1:
            g[:] = 0.0
        elif not highest - lowest < WIDEST_SCALE:
            logp[row] = _on_many_scales(utility[row : row + 1], ranks[row : row + 1], g)
        else:
            logp[row] = _on_one_scale(
                u, r, g, deepest, highest, size, end, total, share, order, slope, w, a, q
            )
    return logp, gradient


@numba.njit(cache=True, error_model="numpy")
def _counts(u, r, size):  # type: ignore[no-untyped-def]
    """Count the items of every rank; the last rank, the range of the utilities, and validity."""
    lowest, highest, deepest = np.inf, -np.inf, 0
    for j in range(r.size):
        if r[j] < 0 or r[j] > r.size:
            return 0, 0.0, 0.0, False
        if r[j] > 0:
            size[r[j]] += 1
            deepest = max(deepest, r[j])
            lowest, highest = min(lowest, u[j]), max(highest, u[j])
    for m in range(1, deepest + 1):
        if size[m] == 0:
            return 0, 0.0, 0.0, False
    return deepest, lowest, highest, True


@numba.njit(cache=True, error_model="numpy", fastmath=False)  # for the digits of `vector_exp`
def _on_one_scale(  # type: ignore[no-untyped-def]
    u, r, g, deepest, highest, size, end, total, share, order, slope, w, a, q
):
    """Log-probability of one ranking; fills its gradient `g`. The others are workspace."""
    end[1] = 0  # where each block begins in `order`, and later ends
    for m in range(1, deepest):
        end[m + 1] = end[m] + size[m]
        total[m] = 0.0
    n_staged = end[deepest]
    for j in range(r.size):  # of empty slots, too, as what has no branch is done in vectors
        g[j] = vector_exp(u[j] - highest)
    total[deepest] = _sum_of_rank(g, r, deepest)  # of most items, where blocks are two
    for j in range(r.size):
        if 0 < r[j] < deepest:
            total[r[j]] += g[j]
            order[end[r[j]]] = j
            end[r[j]] += 1
    for m in range(deepest - 1, 0, -1):
        total[m] += total[m + 1]

    # share[m]: d logp / d log T_m, and then the sum of (d logp / d log T) / T up to m
    logp = 0.0
    share[1 : deepest + 1] = 0.0
    for m in range(1, deepest):
        first = end[m] - size[m]
        if size[m] == 1:
            logp += u[order[first]] - highest - math.log(total[m])
            slope[first] = 1.0
            share[m] -= 1.0
        else:
            below = highest + math.log(total[m + 1])
            for p in range(first, end[m]):
                w[p - first] = u[order[p]] - below
            logp += block_kernel(w[: size[m]], slope[first : end[m]], a, q)
            for p in range(first, end[m]):
                share[m + 1] -= slope[p]
    share[1] /= total[1]
    for m in range(2, deepest + 1):
        share[m] = share[m - 1] + share[m] / total[m]

    for j in range(r.size):
        g[j] = g[j] * share[r[j]] if r[j] > 0 else 0.0
    for p in range(n_staged):
        g[order[p]] += slope[p]
    return logp


@numba.njit(cache=True, error_model="numpy", fastmath={"reassoc"})  # several sums side by side
def _sum_of_rank(worth, r, rank):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(r.size):
        total += worth[j] if r[j] == rank else 0.0
    return total


@numba.njit(cache=True, error_model="numpy")
def _on_many_scales(utility, ranks, g):  # type: ignore[no-untyped-def]
    """Do the same where utilities are too far apart for one scale, by a table of stages."""
    entry, start, child, b_item, b_start, b_below, s_item, s_node, ranking_of, _ = chain_table(
        ranks
    )
    flat = np.ascontiguousarray(utility).reshape(utility.size)
    item_weight, node_weight = np.zeros(flat.size), np.zeros(child.size)
    item_weight[s_item] = 1.0
    node_weight[s_node] = -1.0
    _, gradient, log_total, block_logp = stage_terms(
        flat, item_weight, node_weight, np.ones(b_below.size),
        entry, start, child, b_item, b_start, b_below, True,
    )  # fmt: skip
    g[:] = gradient
    stages = np.arange(ranking_of.size)
    return ranking_sums(flat, log_total, block_logp, s_item, s_node, stages, ranking_of, 1)[0]


@numba.njit(cache=True, error_model="numpy")
def chain_table(ranks):  # type: ignore[no-untyped-def]
    """Stage table of rankings whose slots each have a utility of their own.

    Parameters
    ----------
    ranks : ndarray of int, (n_rankings, n_slots)
        Dense ranks in any order of slots, 0 in empty ones.

    Returns
    -------
    tuple
        The six arrays of `stage_terms`, with flat slots as items, then the items and nodes of
        single stages, the ranking of each stage, and whether each ranking is valid (its ranks
        in use are 1, 2, ... without gaps).
    """
    n_rankings, n_slots = ranks.shape
    entry = np.empty(n_rankings * n_slots, np.int64)
    node_start = np.empty(entry.size + 1, np.int64)
    node_child = np.empty(entry.size, np.int64)
    single_item = np.empty(entry.size, np.int64)
    single_node = np.empty(entry.size, np.int64)
    single_ranking = np.empty(entry.size, np.int64)
    block_item = np.empty(entry.size, np.int64)
    block_start = np.zeros(entry.size + 1, np.int64)
    block_below = np.empty(entry.size, np.int64)
    block_ranking = np.empty(entry.size, np.int64)
    valid = np.ones(n_rankings, np.bool_)
    n_entries = n_nodes = n_singles = n_blocks = n_blocked = 0

    end = np.empty(n_slots + 2, np.int64)  # end[m]: end of block m in `order`, by counting sort
    order = np.empty(n_slots, np.int64)
    for row in range(n_rankings):
        deepest = used = 0
        end[: n_slots + 2] = 0
        for j in range(n_slots):
            r = ranks[row, j]
            if r < 0 or r > n_slots:
                valid[row] = False
            elif r > 0:
                end[r] += 1
                deepest = max(deepest, r)
                used += 1
        for m in range(1, deepest + 1):
            if end[m] == 0:
                valid[row] = False
        if not valid[row]:
            continue
        for m in range(1, deepest + 1):
            end[m] += end[m - 1]
        for j in range(n_slots - 1, -1, -1):  # from the right, so that `end` becomes the start
            r = ranks[row, j]
            if r > 0:
                end[r] -= 1
                order[end[r]] = row * n_slots + j
        end[deepest + 1] = used

        for m in range(deepest, 0, -1):
            first, last = end[m], end[m + 1]
            node_start[n_nodes] = n_entries
            node_child[n_nodes] = n_nodes - 1 if m < deepest else -1
            for j in range(first, last):
                entry[n_entries] = order[j]
                n_entries += 1
            if m < deepest and last - first == 1:
                single_item[n_singles] = order[first]
                single_node[n_singles] = n_nodes
                single_ranking[n_singles] = row
                n_singles += 1
            elif m < deepest:
                block_start[n_blocks] = n_blocked
                for j in range(first, last):
                    block_item[n_blocked] = order[j]
                    n_blocked += 1
                block_below[n_blocks] = n_nodes - 1
                block_ranking[n_blocks] = row
                n_blocks += 1
            n_nodes += 1
    node_start[n_nodes] = n_entries
    block_start[n_blocks] = n_blocked
    ranking_of = np.concatenate((single_ranking[:n_singles], block_ranking[:n_blocks]))
    return (
        entry[:n_entries],
        node_start[: n_nodes + 1],
        node_child[:n_nodes],
        block_item[:n_blocked],
        block_start[: n_blocks + 1],
        block_below[:n_blocks],
        single_item[:n_singles],
        single_node[:n_singles],
        ranking_of,
        valid,
    )
