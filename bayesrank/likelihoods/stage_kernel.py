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

__all__ = ["chain_table", "ranking_sums", "stage_terms", "weak_order_logps"]

# Exponentials of utilities are shared by all remainders when they fit one scale: sums of terms
# within exp(±500) of each other neither overflow nor vanish.
WIDEST_SCALE = 500.0


@numba.njit(cache=True, error_model="numpy")
def stage_terms(  # type: ignore[no-untyped-def]
    utility,
    item_weight,
    node_weight,
    block_weight,
    entry_item,
    node_start,
    node_child,
    block_item,
    block_start,
    block_below,
    every_log,
):
    """Weighted sum of stages, its gradient, and the terms it is made of.

    Parameters
    ----------
    utility : ndarray of float, (n_items,)
    item_weight, node_weight, block_weight : ndarray of float
        Coefficients of the linear form of `bayesrank.data.stages.Stages`.
    entry_item, ..., block_below : ndarray of int
        The table.
    every_log : bool
        Fill `log_total` for every node; otherwise only where a block needs it, because sums of
        logarithms are then taken as logarithms of products.

    Returns
    -------
    value : float
    gradient : ndarray, (n_items,)
    log_total : ndarray, (n_nodes,)
    block_logp : ndarray, (n_blocks,)
    """
    n_nodes, n_blocks = node_child.size, block_below.size
    gradient = item_weight.copy()
    node_bar = node_weight.copy()
    log_total = np.empty(n_nodes)
    block_logp = np.empty(n_blocks)
    value = 0.0
    for i in range(utility.size):
        if item_weight[i] != 0.0:  # a slot that is not in use may hold anything
            value += item_weight[i] * utility[i]

    highest, width = _scale(utility)
    one_scale = width < WIDEST_SCALE
    if one_scale:
        worth = np.exp(utility - highest)
        total = np.empty(n_nodes)
        _worths(total, worth, entry_item, node_start, node_child)
        value += _weighted_logs(node_weight, total, highest)
        if every_log:
            for n in range(n_nodes):
                log_total[n] = highest + math.log(total[n])
        else:
            for b in range(n_blocks):
                log_total[block_below[b]] = highest + math.log(total[block_below[b]])
    else:
        worth = total = np.empty(0)
        _log_worths(log_total, utility, entry_item, node_start, node_child)
        for n in range(n_nodes):
            value += node_weight[n] * log_total[n]

    w, gamma, a, q = _workspace(block_start)
    for b in range(n_blocks):
        first, size = block_start[b], block_start[b + 1] - block_start[b]
        for i in range(size):
            w[i] = utility[block_item[first + i]] - log_total[block_below[b]]
        block_logp[b] = block_kernel(w[:size], gamma, a, q)
        value += block_weight[b] * block_logp[b]
        for i in range(size):
            slope = block_weight[b] * gamma[i]
            gradient[block_item[first + i]] += slope
            node_bar[block_below[b]] -= slope

    if one_scale:
        _pull_worths(gradient, node_bar, total, worth, entry_item, node_start, node_child)
    else:
        _pull_log_worths(gradient, node_bar, log_total, utility, entry_item, node_start, node_child)
    return value, gradient, log_total, block_logp


@numba.njit(cache=True, error_model="numpy")
def _scale(utility):  # type: ignore[no-untyped-def]
    """Highest utility, and how far below it the lowest is."""
    lowest, highest = np.inf, -np.inf
    for u in utility:
        lowest, highest = min(lowest, u), max(highest, u)
    return highest, highest - lowest


@numba.njit(cache=True, error_model="numpy")
def _worths(total, worth, entry_item, node_start, node_child):  # type: ignore[no-untyped-def]
    """Total worth of every remainder."""
    for n in range(node_child.size):
        t = total[node_child[n]] if node_child[n] >= 0 else 0.0
        for e in range(node_start[n], node_start[n + 1]):
            t += worth[entry_item[e]]
        total[n] = t


@numba.njit(cache=True, error_model="numpy")
def _pull_worths(  # type: ignore[no-untyped-def]
    gradient, node_bar, total, worth, entry_item, node_start, node_child
):
    """Add ``d (node_bar @ log total) / d utility`` to `gradient`; overwrites `node_bar`."""
    # d log total[n] / d utility[i] = worth[i] / total[n]: sum the quotients down the graph
    for n in range(node_child.size):
        node_bar[n] /= total[n]
    for n in range(node_child.size - 1, -1, -1):
        share = node_bar[n]
        for e in range(node_start[n], node_start[n + 1]):
            gradient[entry_item[e]] += worth[entry_item[e]] * share
        if node_child[n] >= 0:
            node_bar[node_child[n]] += share


@numba.njit(cache=True, error_model="numpy")
def _weighted_logs(weight, total, log_scale):  # type: ignore[no-untyped-def]
    """Sum of ``weight * (log_scale + log(total))``, one logarithm per run of equal weights.

    A product is closed before it can leave the range of double precision: each factor is above
    exp(-WIDEST_SCALE) = 1e-217.
    """
    out, product, current = 0.0, 1.0, 0.0
    for n in range(weight.size):
        if weight[n] != current or product < 1e-80 or product > 1e80:
            out += current * math.log(product)
            product, current = 1.0, weight[n]
        if current != 0.0:
            product *= total[n]
            out += current * log_scale
    return out + current * math.log(product)


@numba.njit(cache=True, error_model="numpy")
def _log_worths(log_total, utility, entry_item, node_start, node_child):  # type: ignore[no-untyped-def]
    """Log worth of every remainder, each on a scale of its own."""
    for n in range(node_child.size):
        below = log_total[node_child[n]] if node_child[n] >= 0 else -np.inf
        peak = below
        for e in range(node_start[n], node_start[n + 1]):
            peak = max(peak, utility[entry_item[e]])
        t = math.exp(below - peak)
        for e in range(node_start[n], node_start[n + 1]):
            t += math.exp(utility[entry_item[e]] - peak)
        log_total[n] = peak + math.log(t)


@numba.njit(cache=True, error_model="numpy")
def _pull_log_worths(  # type: ignore[no-untyped-def]
    gradient, node_bar, log_total, utility, entry_item, node_start, node_child
):
    """Do as `_pull_worths`, each remainder on a scale of its own."""
    for n in range(node_child.size - 1, -1, -1):
        for e in range(node_start[n], node_start[n + 1]):
            i = entry_item[e]
            gradient[i] += node_bar[n] * math.exp(utility[i] - log_total[n])
        child = node_child[n]
        if child >= 0:
            node_bar[child] += node_bar[n] * math.exp(log_total[child] - log_total[n])


@numba.njit(cache=True, error_model="numpy")
def _workspace(block_start):  # type: ignore[no-untyped-def]
    largest = 0
    for b in range(block_start.size - 1):
        largest = max(largest, block_start[b + 1] - block_start[b])
    return np.empty(largest), np.empty(largest), np.empty(largest), np.empty(largest)


@numba.njit(cache=True, error_model="numpy")
def ranking_sums(  # type: ignore[no-untyped-def]
    utility, log_total, block_logp, single_item, single_node, stage_of, ranking_of, n_rankings
):
    """Log-probability of every ranking, from the terms of its stages."""
    n_singles = single_item.size
    out = np.zeros(n_rankings)
    for k in range(stage_of.size):
        s = stage_of[k]
        if s < n_singles:
            out[ranking_of[k]] += utility[single_item[s]] - log_total[single_node[s]]
        else:
            out[ranking_of[k]] += block_logp[s - n_singles]
    return out


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


@numba.njit(cache=True, error_model="numpy")
def weak_order_logps(utility, ranks):  # type: ignore[no-untyped-def]
    """Log-probability (n_rankings,) and gradient (n_rankings, n_slots), one utility per slot."""
    entry, start, child, b_item, b_start, b_below, s_item, s_node, ranking_of, valid = chain_table(
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
    stages = np.arange(ranking_of.size)
    logp = ranking_sums(
        flat, log_total, block_logp, s_item, s_node, stages, ranking_of, ranks.shape[0]
    )
    for row in range(ranks.shape[0]):
        if not valid[row]:
            logp[row] = -np.inf
    return logp, gradient.reshape(utility.shape)
