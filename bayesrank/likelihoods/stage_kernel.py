"""Weak orders in numba: values and gradients of stages in one pass.

The kernels work on the table of `bayesrank.data.stages`: remainders ("nodes") that are each one
block on top of a smaller remainder, single stages (an item is first of a remainder) and block
stages (a block precedes a remainder).  `utility` is a flat vector that the table indexes: one
entry per item, or one per slot for utilities that differ between rankings.

Time is linear in the entries of the table (times the nodes of the quadrature for blocks of two
and more), memory in entries.
"""

import math

import numba
import numpy as np

from bayesrank.likelihoods.quadrature import block_kernel

__all__ = ["chain_table", "ranking_sums", "stage_logps", "weak_order_logps"]

# Exponentials of utilities are shared by all remainders when they fit one scale: sums of terms
# within exp(±500) of each other neither overflow nor vanish.
WIDEST_SCALE = 500.0


@numba.njit(cache=True, error_model="numpy")
def _remainders(utility, entry_item, node_start, node_child):  # type: ignore[no-untyped-def]
    """Log worth of every remainder; worths on a common scale too, empty if there is none."""
    n_nodes = node_child.size
    log_total = np.empty(n_nodes)
    lowest, highest = np.inf, -np.inf
    for u in utility:
        if u < lowest:
            lowest = u
        if u > highest:
            highest = u

    if highest - lowest < WIDEST_SCALE:
        worth = np.exp(utility - highest)
        total = np.empty(n_nodes)
        for n in range(n_nodes):
            t = total[node_child[n]] if node_child[n] >= 0 else 0.0
            for e in range(node_start[n], node_start[n + 1]):
                t += worth[entry_item[e]]
            total[n] = t
            log_total[n] = highest + math.log(t)
        return log_total, worth, total

    for n in range(n_nodes):
        peak = log_total[node_child[n]] if node_child[n] >= 0 else -np.inf
        for e in range(node_start[n], node_start[n + 1]):
            peak = max(peak, utility[entry_item[e]])
        t = math.exp(log_total[node_child[n]] - peak) if node_child[n] >= 0 else 0.0
        for e in range(node_start[n], node_start[n + 1]):
            t += math.exp(utility[entry_item[e]] - peak)
        log_total[n] = peak + math.log(t)
    return log_total, np.empty(0), np.empty(0)


@numba.njit(cache=True, error_model="numpy")
def _pull_remainders(  # type: ignore[no-untyped-def]
    utility, entry_item, node_start, node_child, log_total, worth, total, log_total_bar, gradient
):
    """Add the gradient of the remainders to `gradient`; overwrites `log_total_bar`."""
    if worth.size:
        # d log_total[n] / d utility[i] = worth[i] / total[n]: sum the quotients down the graph
        for n in range(node_child.size - 1, -1, -1):
            share = log_total_bar[n] / total[n]
            for e in range(node_start[n], node_start[n + 1]):
                gradient[entry_item[e]] += worth[entry_item[e]] * share
            if node_child[n] >= 0:
                log_total_bar[node_child[n]] += share * total[node_child[n]]
        return
    for n in range(node_child.size - 1, -1, -1):
        for e in range(node_start[n], node_start[n + 1]):
            i = entry_item[e]
            gradient[i] += log_total_bar[n] * math.exp(utility[i] - log_total[n])
        child = node_child[n]
        if child >= 0:
            log_total_bar[child] += log_total_bar[n] * math.exp(log_total[child] - log_total[n])


@numba.njit(cache=True, error_model="numpy")
def stage_logps(  # type: ignore[no-untyped-def]
    utility,
    stage_weight,
    entry_item,
    node_start,
    node_child,
    single_item,
    single_node,
    block_item,
    block_start,
    block_below,
):
    """Log-probability of every stage, and the gradient of their weighted sum in `utility`."""
    log_total, worth, total = _remainders(utility, entry_item, node_start, node_child)
    log_total_bar = np.zeros(log_total.size)
    gradient = np.zeros(utility.size)
    logp = np.empty(stage_weight.size)

    for s in range(single_item.size):
        weight = stage_weight[s]
        logp[s] = utility[single_item[s]] - log_total[single_node[s]]
        gradient[single_item[s]] += weight
        log_total_bar[single_node[s]] -= weight

    w, gamma, a, q = _workspace(block_start)
    for b in range(block_below.size):
        weight = stage_weight[single_item.size + b]
        first, size = block_start[b], block_start[b + 1] - block_start[b]
        for i in range(size):
            w[i] = utility[block_item[first + i]] - log_total[block_below[b]]
        logp[single_item.size + b] = block_kernel(w[:size], gamma, a, q)
        gamma_total = 0.0
        for i in range(size):
            gradient[block_item[first + i]] += weight * gamma[i]
            gamma_total += gamma[i]
        log_total_bar[block_below[b]] -= weight * gamma_total

    _pull_remainders(
        utility, entry_item, node_start, node_child, log_total, worth, total, log_total_bar, gradient
    )
    return logp, gradient


@numba.njit(cache=True, error_model="numpy")
def _workspace(block_start):  # type: ignore[no-untyped-def]
    largest = 0
    for b in range(block_start.size - 1):
        largest = max(largest, block_start[b + 1] - block_start[b])
    return np.empty(largest), np.empty(largest), np.empty(largest), np.empty(largest)


@numba.njit(cache=True, error_model="numpy")
def ranking_sums(stage_logp, stage_of, ranking_of, ranking_weight):  # type: ignore[no-untyped-def]
    """Weighted log-probability of every ranking from those of its stages."""
    out = np.zeros(ranking_weight.size)
    for k in range(stage_of.size):
        out[ranking_of[k]] += stage_logp[stage_of[k]]
    return out * ranking_weight


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
        The eight arrays that the kernels take, with flat slots as items, then the ranking of
        each stage and whether each ranking is valid (its used ranks are 1, 2, ... without gaps).
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
        single_item[:n_singles],
        single_node[:n_singles],
        block_item[:n_blocked],
        block_start[: n_blocks + 1],
        block_below[:n_blocks],
        ranking_of,
        valid,
    )


@numba.njit(cache=True, error_model="numpy")
def weak_order_logps(utility, ranks):  # type: ignore[no-untyped-def]
    """Log-probability (n_rankings,) and gradient (n_rankings, n_slots), one utility per slot."""
    entry, start, child, s_item, s_node, b_item, b_start, b_below, ranking_of, valid = chain_table(
        ranks
    )
    flat = np.ascontiguousarray(utility).reshape(utility.size)
    logp, gradient = stage_logps(
        flat, np.ones(ranking_of.size), entry, start, child, s_item, s_node, b_item, b_start, b_below
    )
    out = np.zeros(ranks.shape[0])
    for k in range(logp.size):
        out[ranking_of[k]] += logp[k]
    for row in range(ranks.shape[0]):
        if not valid[row]:
            out[row] = -np.inf
    return out, gradient.reshape(utility.shape)
