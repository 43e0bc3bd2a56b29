"""Weak orders in numba: values and gradients of stages in one pass.

The kernels work on the table of `bayesrank.data.derive.stages`: remainders ("nodes") that are each
one block on top of a smaller remainder, single stages (an item is first of a remainder) and block
stages (a block precedes a remainder).  `utility` is a flat vector that the table indexes: one entry
per item, or one per slot for utilities that differ between rankings.

Time is linear in the entries of the table (times the nodes of the quadrature for blocks of two
and more), memory in the remainders that rankings share: what one ranking has to itself,
`_chains` evaluates as it passes, some thousand remainders at a time, which a cache
holds. Ten million take a third of the time that they take if each step is done for all of them.
"""

import math

import numba
import numpy as np

from bayesrank.likelihoods.plackett_luce.block_kernel import block_kernel, workspace

__all__ = [
    "log_worths",
    "ranking_logp_kernel",
    "ranking_logp_pullback_kernel",
    "stage_terms_kernel",
    "stage_total_kernel",
]

# Exponentials of utilities are shared by all remainders when they fit one scale: sums of terms
# within exp(±500) of each other neither overflow nor vanish.
WIDEST_SCALE = 500.0
AT_ONCE = 8_192  # remainders of which a cache holds what is to be kept of them

_kernel = numba.njit(cache=True, error_model="numpy", nogil=True)


@_kernel
def stage_terms_kernel(  # type: ignore[no-untyped-def]
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
        Coefficients of the linear form of `bayesrank.data.derive.stages.Stages`.
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
    value, gradient, node_bar, log_total, total, worth = _remainders(
        utility, item_weight, node_weight, entry_item, node_start, node_child,
        block_below, every_log,
    )  # fmt: skip
    n_blocks = block_below.size
    block_logp, block_slope = np.empty(n_blocks), np.empty(n_blocks)
    value += _blocks(
        gradient, block_slope, block_logp,
        utility, log_total, block_weight, block_item, block_start, block_below,
    )  # fmt: skip
    _pull_remainders(
        gradient, node_bar, block_slope, block_below,
        log_total, total, worth, utility, entry_item, node_start, node_child,
    )  # fmt: skip
    return value, gradient, log_total, block_logp


@_kernel
def _remainders(  # type: ignore[no-untyped-def]
    utility, item_weight, node_weight, entry_item, node_start, node_child, block_below, every_log
):
    """Do what comes before the blocks of `stage_terms_kernel`.

    Returns
    -------
    value : float
    gradient : ndarray, (n_items,)
        Of the items' own part.
    node_bar : ndarray, (n_nodes,)
        A copy of `node_weight`.
    log_total : ndarray, (n_nodes,)
    total, worth : ndarray, (n_nodes,) and (n_items,)
        On one scale; empty where none has all of them.
    """
    n_nodes = node_child.size
    gradient = item_weight.copy()
    log_total = np.empty(n_nodes)
    value = 0.0
    for i in range(utility.size):
        if item_weight[i] != 0.0:  # a slot that is not in use may hold anything
            value += item_weight[i] * utility[i]

    highest, width = _scale(utility)
    if width < WIDEST_SCALE:
        worth = np.exp(utility - highest)
        total = np.empty(n_nodes)
        _worths(total, worth, entry_item, node_start, node_child)
        value += _weighted_logs(node_weight, total, highest, width + math.log(utility.size))
        if every_log:
            for n in range(n_nodes):
                log_total[n] = highest + math.log(total[n])
        else:
            for b in range(block_below.size):
                log_total[block_below[b]] = highest + math.log(total[block_below[b]])
    else:
        worth = total = np.empty(0)
        log_worths(log_total, utility, entry_item, node_start, node_child)
        for n in range(n_nodes):
            value += node_weight[n] * log_total[n]
    return value, gradient, node_weight.copy(), log_total, total, worth


@_kernel
def _blocks(  # type: ignore[no-untyped-def]
    gradient, block_slope, block_logp,
    utility, log_total, block_weight, block_item, block_start, block_below,
):  # fmt: skip
    """Weighted sum of blocks; adds its gradient by the items, and writes what blocks have."""
    largest, value = 0, 0.0
    for b in range(block_below.size):
        largest = max(largest, block_start[b + 1] - block_start[b])
    w, gamma, work = np.empty(largest), np.empty(largest), workspace(largest)
    for b in range(block_below.size):
        first, size = block_start[b], block_start[b + 1] - block_start[b]
        for i in range(size):
            w[i] = utility[block_item[first + i]] - log_total[block_below[b]]
        block_logp[b] = block_kernel(w[:size], gamma[:size], work)
        value += block_weight[b] * block_logp[b]
        block_slope[b] = 0.0
        for i in range(size):
            slope = block_weight[b] * gamma[i]
            gradient[block_item[first + i]] += slope
            block_slope[b] += slope
    return value


@_kernel
def _prefix(utility, n_shared, node_child, block_below):  # type: ignore[no-untyped-def]
    """Count the remainders and blocks that are evaluated together; chains have the others.

    Those are the shared ones, or all where the utilities do not fit one scale.
    """
    _, width = _scale(utility)
    n_nodes = n_shared.item() if width < WIDEST_SCALE else node_child.size
    return n_nodes, _first_on(block_below, n_nodes)


@_kernel
def _first_on(block_below, node):  # type: ignore[no-untyped-def]
    """Find the first block that precedes this remainder or a later one, of blocks in order."""
    low, high = 0, block_below.size
    while low < high:
        middle = (low + high) // 2
        if block_below[middle] < node:
            low = middle + 1
        else:
            high = middle
    return low


@_kernel
def _chains(  # type: ignore[no-untyped-def]
    utility, worth, total, node_weight, block_weight,
    entry_item, node_start, node_child, block_item, block_start, block_below,
):  # fmt: skip
    """Weighted sum of the stages of chains: remainders that are of one ranking alone.

    Parameters
    ----------
    utility : ndarray of float, (n_items,)
    worth, total : ndarray of float, (n_items,) and (n_shared,)
        Of `_remainders` for the remainders that are shared.
    node_weight, ..., block_below : ndarray
        The table.

    Returns
    -------
    value : float
    gradient : ndarray, (n_items,)
    node_bar : ndarray, (n_shared,)
        Slope by the logarithms of the shared remainders.
    """
    n_shared = total.size
    highest, width = _scale(utility)
    gradient, share_of = np.zeros(utility.size), np.zeros(utility.size)
    node_bar = np.zeros(n_shared)
    begin, last = n_shared, node_child.size
    block = _first_on(block_below, begin)
    own, bar = np.empty(AT_ONCE), np.empty(AT_ONCE)  # totals, and slopes by their logarithms
    value = 0.0
    while begin < last:
        end = _beginning(min(begin + AT_ONCE, last), n_shared, node_child)
        n = end - begin
        if n > own.size:
            own, bar = np.empty(n), np.empty(n)
        weight = node_weight[begin:end]
        _up_chains(own[:n], total, worth, entry_item, node_start, node_child, begin)
        value += _weighted_logs(weight, own[:n], highest, width + math.log(utility.size))
        _quotients(bar[:n], weight, own[:n])
        blocks = block
        while blocks < block_below.size and block_below[blocks] < end:
            blocks += 1
        if blocks > block:
            below = block_below[block:blocks] - begin
            log_total, slope = np.empty(n), np.empty(blocks - block)
            for b in range(below.size):
                log_total[below[b]] = highest + math.log(own[below[b]])
            value += _blocks(
                gradient, slope, np.empty(below.size), utility, log_total,
                block_weight[block:blocks], block_item, block_start[block : blocks + 1], below,
            )  # fmt: skip
            for b in range(below.size):
                bar[below[b]] -= slope[b] / own[below[b]]
            block = blocks
        _down_chains(share_of, node_bar, bar[:n], entry_item, node_start, node_child, begin)
        begin = end
    for n in range(n_shared):
        node_bar[n] *= total[n]
    for i in range(gradient.size):
        gradient[i] += worth[i] * share_of[i]
    return value, gradient, node_bar


@_kernel
def _up_chains(own, total, worth, entry_item, node_start, node_child, begin):  # type: ignore[no-untyped-def]
    """Total worth of the remainders of chains, from `begin` on; `total` is that of shared ones."""
    n_shared, t = total.size, 0.0
    of_one = entry_item.size == node_child.size  # each remainder adds one item
    for k in range(own.size):
        child = node_child[begin + k]
        if child < n_shared:
            t = total[child] if child >= 0 else 0.0
        if of_one:
            t += worth[entry_item[begin + k]]
        else:
            for e in range(node_start[begin + k], node_start[begin + k + 1]):
                t += worth[entry_item[e]]
        own[k] = t


@_kernel
def _down_chains(share_of, node_bar, bar, entry_item, node_start, node_child, begin):  # type: ignore[no-untyped-def]
    """Sum quotients down the chains, to the items and to the shared remainders below."""
    n_shared, share = node_bar.size, 0.0
    of_one = entry_item.size == node_child.size
    for k in range(bar.size - 1, -1, -1):
        share += bar[k]
        if of_one:
            share_of[entry_item[begin + k]] += share
        else:
            for e in range(node_start[begin + k], node_start[begin + k + 1]):
                share_of[entry_item[e]] += share
        child = node_child[begin + k]
        if child < n_shared:
            if child >= 0:
                node_bar[child] += share
            share = 0.0


@_kernel
def _beginning(node, n_shared, node_child):  # type: ignore[no-untyped-def]
    """Go on from a remainder to where the next chain begins, unless one begins there."""
    while node < node_child.size and node_child[node] >= n_shared:
        node += 1
    return node


@_kernel
def _pull_remainders(  # type: ignore[no-untyped-def]
    gradient, node_bar, block_slope, block_below,
    log_total, total, worth, utility, entry_item, node_start, node_child,
):  # fmt: skip
    """Add to `gradient` what comes by the remainders; overwrites `node_bar`."""
    for b in range(block_below.size):
        node_bar[block_below[b]] -= block_slope[b]
    if worth.size:
        _pull_worths(gradient, node_bar, total, worth, entry_item, node_start, node_child)
    else:
        _pull_log_worths(gradient, node_bar, log_total, utility, entry_item, node_start, node_child)


@_kernel
def _scale(utility):  # type: ignore[no-untyped-def]
    """Highest utility, and how far below it the lowest is."""
    lowest, highest = np.inf, -np.inf
    for u in utility:
        lowest, highest = min(lowest, u), max(highest, u)
    return highest, highest - lowest


@_kernel
def _worths(total, worth, entry_item, node_start, node_child):  # type: ignore[no-untyped-def]
    """Total worth of every remainder."""
    of_one = entry_item.size == node_child.size
    for n in range(node_child.size):
        t = total[node_child[n]] if node_child[n] >= 0 else 0.0
        if of_one:
            total[n] = t + worth[entry_item[n]]
            continue
        for e in range(node_start[n], node_start[n + 1]):
            t += worth[entry_item[e]]
        total[n] = t


@_kernel
def _pull_worths(  # type: ignore[no-untyped-def]
    gradient, node_bar, total, worth, entry_item, node_start, node_child
):
    """Add ``d (node_bar @ log total) / d utility`` to `gradient`; overwrites `node_bar`."""
    # d log total[n] / d utility[i] = worth[i] / total[n]: sum the quotients down the graph
    for n in range(node_child.size):
        node_bar[n] /= total[n]
    share_of = np.zeros(gradient.size)
    of_one = entry_item.size == node_child.size  # each remainder adds one item
    for n in range(node_child.size - 1, -1, -1):
        share = node_bar[n]
        if of_one:
            share_of[entry_item[n]] += share
            if node_child[n] >= 0:
                node_bar[node_child[n]] += share
            continue
        for e in range(node_start[n], node_start[n + 1]):
            share_of[entry_item[e]] += share
        if node_child[n] >= 0:
            node_bar[node_child[n]] += share
    for i in range(gradient.size):
        gradient[i] += worth[i] * share_of[i]


@_kernel
def _quotients(out, weight, total):  # type: ignore[no-untyped-def]
    """Divide weights by totals; an expression of slices of arrays takes ten times as long."""
    for n in range(out.size):
        out[n] = weight[n] / total[n]


@_kernel
def _weighted_logs(weight, total, log_scale, range_of_log):  # type: ignore[no-untyped-def]
    """Sum of ``weight * (log_scale + log(total))``, one logarithm per run of equal weights.

    A run ends before its product can leave the range of double precision: the logarithm of each
    factor is within `range_of_log` of zero.
    """
    longest = max(1, int(600.0 / max(range_of_log, 1.0)))
    out, n = 0.0, 0
    while n < weight.size:
        w, k, last = weight[n], n + 1, min(n + longest, weight.size)
        # four chains, as each product waits for the one before
        a, b, c, d = total[n], 1.0, 1.0, 1.0
        while k + 4 <= last and (
            (weight[k] == w) & (weight[k + 1] == w) & (weight[k + 2] == w) & (weight[k + 3] == w)
        ):
            a *= total[k]
            b *= total[k + 1]
            c *= total[k + 2]
            d *= total[k + 3]
            k += 4
        while k < last and weight[k] == w:
            a *= total[k]
            k += 1
        if w != 0.0:
            out += w * ((k - n) * log_scale + math.log((a * b) * (c * d)))
        n = k
    return out


@_kernel
def log_worths(log_total, utility, entry_item, node_start, node_child):  # type: ignore[no-untyped-def]
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


@_kernel
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


# ---------------------------------------------------------------------------------------------
# Kernels of the Ops, which get the whole table of stages
# ---------------------------------------------------------------------------------------------


@_kernel
def stage_total_kernel(  # type: ignore[no-untyped-def]
    utility, item_weight, node_weight, block_weight,
    entry, start, child, b_item, b_start, b_below, b_entry, slot_item, slot_rank, node_slot,
    n_shared,
):  # fmt: skip
    """Weighted sum of stages, and its gradient by the utilities."""
    n, n_blocks = _prefix(utility, n_shared, child, b_below)
    value, gradient, node_bar, log_total, total, worth = _remainders(
        utility, item_weight, node_weight[:n],
        entry[: start[n]], start[: n + 1], child[:n], b_below[:n_blocks], False,
    )  # fmt: skip
    slope = np.empty(n_blocks)
    value += _blocks(
        gradient, slope, np.empty(n_blocks), utility, log_total, block_weight[:n_blocks],
        b_item, b_start[: n_blocks + 1], b_below[:n_blocks],
    )  # fmt: skip
    if n < child.size:
        of_chains, by_item, by_node = _chains(
            utility, worth, total, node_weight, block_weight,
            entry, start, child, b_item, b_start, b_below,
        )  # fmt: skip
        value += of_chains
        gradient += by_item
        node_bar += by_node
    _pull_remainders(
        gradient, node_bar, slope, b_below[:n_blocks],
        log_total, total, worth, utility, entry[: start[n]], start[: n + 1], child[:n],
    )  # fmt: skip
    return np.asarray(value), gradient


@_kernel
def ranking_logp_kernel(  # type: ignore[no-untyped-def]
    utility,
    entry, start, child, b_item, b_start, b_below, b_entry, slot_item, slot_rank, node_slot,
    n_shared, s_item, s_node, stage_of, ranking_of, weight, item_weight, node_weight, block_weight,
):  # fmt: skip
    """Weighted log-probability of every ranking under every kind, from the terms of its stages."""
    n_kinds, n_singles = len(utility), s_item.size
    term = np.empty((n_singles + b_below.size, n_kinds))  # kinds last: one ranking, all its kinds
    for g in range(n_kinds):
        _, _, log_total, block_logp = stage_terms_kernel(
            utility[g], item_weight, node_weight, block_weight,
            entry, start, child, b_item, b_start, b_below, True,
        )  # fmt: skip
        for s in range(n_singles):
            term[s, g] = utility[g, s_item[s]] - log_total[s_node[s]]
        term[n_singles:, g] = block_logp
    out = np.zeros((weight.size, n_kinds))
    for k in range(stage_of.size):
        for g in range(n_kinds):
            out[ranking_of[k], g] += term[stage_of[k], g]
    for r in range(weight.size):
        out[r] *= weight[r]
    return out


@_kernel
def ranking_logp_pullback_kernel(  # type: ignore[no-untyped-def]
    utility,
    entry, start, child, b_item, b_start, b_below, b_entry, slot_item, slot_rank, node_slot,
    n_shared, s_item, s_node, stage_of, ranking_of, weight, item_weight, node_weight, block_weight,
    bar,
):  # fmt: skip
    """Gradient of ``sum(bar * ranking_logp_kernel(...))``: that of stages with other weights."""
    n_kinds, n_singles = len(utility), s_item.size
    term_bar = np.zeros((n_singles + b_below.size, n_kinds))
    for k in range(stage_of.size):
        r = ranking_of[k]
        for g in range(n_kinds):
            term_bar[stage_of[k], g] += bar[r, g] * weight[r]
    gradient = np.empty_like(utility)
    for g in range(n_kinds):
        item_bar, node_bar = np.zeros(item_weight.size), np.zeros(node_weight.size)
        for s in range(n_singles):
            item_bar[s_item[s]] += term_bar[s, g]
            node_bar[s_node[s]] -= term_bar[s, g]
        _, gradient[g], _, _ = stage_terms_kernel(
            utility[g], item_bar, node_bar, term_bar[n_singles:, g].copy(),
            entry, start, child, b_item, b_start, b_below, False,
        )  # fmt: skip
    return gradient
