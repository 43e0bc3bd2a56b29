"""Weak orders in numba: values and gradients of stages in one pass.

The kernels use the table of `bayesrank.data.derive.stages`. It lists remainders ("nodes"); each
adds one block to a smaller remainder. In a single stage, an item is first in a remainder; in a
block stage, a block precedes a remainder. The table indexes `utility`, a flat vector.

Time is linear in the entries of the table; blocks of two or more multiply it by the number of
quadrature nodes. Memory is linear in the remainders.
"""

import math
from typing import Any, NamedTuple

import numba
import numpy as np

from bayesrank.likelihoods.ops.vector_exp import vector_log
from bayesrank.likelihoods.plackett_luce.block_kernel import block_kernel, workspace

__all__ = [
    "Table",
    "log_worths",
    "ranking_logp_kernel",
    "ranking_logp_pullback_kernel",
    "stage_total_kernel",
]

# All remainders share the exponentials of utilities if these fit one scale: sums of terms within
# exp(±500) of each other neither overflow nor vanish.
WIDEST_SCALE = 500.0

_kernel = numba.njit(cache=True, error_model="numpy", nogil=True)


class Table(NamedTuple):
    """The fields of `bayesrank.data.derive.stages.Stages` that the kernels read."""

    entry_item: Any
    node_start: Any
    node_child: Any
    block_item: Any
    block_start: Any
    block_below: Any


@_kernel
def _stage_terms(utility, item_weight, node_weight, block_weight, table):  # type: ignore[no-untyped-def]
    """Weighted sum of stages, its gradient, and its terms.

    Parameters
    ----------
    utility : ndarray of float, (n_items,)
    item_weight, node_weight, block_weight : ndarray of float
        Coefficients of the linear form of `bayesrank.data.derive.stages.Stages`.
    table : Table

    Returns
    -------
    value : float
    gradient : ndarray, (n_items,)
    log_total : ndarray, (n_nodes,)
    block_logp : ndarray, (n_blocks,)
    """
    below, n_nodes = table.block_below, table.node_child.size
    gradient, node_bar = item_weight.copy(), node_weight.copy()
    value = 0.0
    for i in range(utility.size):
        if item_weight[i] != 0.0:  # an unused slot may hold any value
            value += item_weight[i] * utility[i]

    highest, width = _scale(utility)
    one_scale = width < WIDEST_SCALE
    worth, total = np.empty(0), np.empty(0)
    if one_scale:
        worth = np.exp(utility - highest)
        total = _worths(worth, table)
        log_total = _logs(total, highest)
    else:
        log_total = np.empty(n_nodes)
        log_worths(log_total, utility, table)
    for n in range(n_nodes):  # `@` would start threads of BLAS
        value += node_weight[n] * log_total[n]

    block_logp = np.empty(below.size)
    value += _blocks(gradient, node_bar, block_logp, utility, log_total, block_weight, table)
    if one_scale:
        _pull_worths(gradient, node_bar, total, worth, table)
    else:
        _pull_log_worths(gradient, node_bar, log_total, utility, table)
    return value, gradient, log_total, block_logp


@_kernel
def _blocks(gradient, node_bar, block_logp, utility, log_total, block_weight, table):  # type: ignore[no-untyped-def]
    """Weighted sum of blocks; adds its gradients by the items and by the log totals."""
    largest, value = 0, 0.0
    for b in range(block_logp.size):  # `np.diff` would compile for longer than all else here
        largest = max(largest, table.block_start[b + 1] - table.block_start[b])
    w, gamma, work = np.empty(largest), np.empty(largest), workspace(largest)
    for b in range(block_logp.size):
        first, below = table.block_start[b], table.block_below[b]
        size = table.block_start[b + 1] - first
        for i in range(size):
            w[i] = utility[table.block_item[first + i]] - log_total[below]
        block_logp[b] = block_kernel(w[:size], gamma[:size], work)
        value += block_weight[b] * block_logp[b]
        for i in range(size):
            slope = block_weight[b] * gamma[i]
            gradient[table.block_item[first + i]] += slope
            node_bar[below] -= slope
    return value


@_kernel
def _scale(utility):  # type: ignore[no-untyped-def]
    """Highest utility, and the range of the utilities."""
    lowest, highest = np.inf, -np.inf
    for u in utility:
        lowest, highest = min(lowest, u), max(highest, u)
    return highest, highest - lowest


@_kernel
def _worths(worth, table):  # type: ignore[no-untyped-def]
    """Worth of every remainder."""
    entry, start, child = table.entry_item, table.node_start, table.node_child
    total, one_each = np.empty(child.size), entry.size == child.size  # each remainder adds one item
    for n in range(child.size):
        t = total[child[n]] if child[n] >= 0 else 0.0
        if one_each:
            total[n] = t + worth[entry[n]]
            continue
        for e in range(start[n], start[n + 1]):
            t += worth[entry[e]]
        total[n] = t
    return total


@_kernel
def _pull_worths(gradient, node_bar, total, worth, table):  # type: ignore[no-untyped-def]
    """Add ``d (node_bar @ log total) / d utility`` to `gradient`; overwrites `node_bar`."""
    entry, start, child = table.entry_item, table.node_start, table.node_child
    # d log total[n] / d utility[i] = worth[i] / total[n]: sum the quotients down to smaller nodes
    for n in range(child.size):
        node_bar[n] /= total[n]
    share_of, one_each = np.zeros(gradient.size), entry.size == child.size
    for n in range(child.size - 1, -1, -1):
        share = node_bar[n]
        if one_each:
            share_of[entry[n]] += share
        else:
            for e in range(start[n], start[n + 1]):
                share_of[entry[e]] += share
        if child[n] >= 0:
            node_bar[child[n]] += share
    for i in range(gradient.size):
        gradient[i] += worth[i] * share_of[i]


@numba.njit(cache=True, error_model="numpy", nogil=True, fastmath=False)  # for `vector_log`
def _logs(total, log_scale):  # type: ignore[no-untyped-def]
    """Logarithms of totals in units of exp(log_scale)."""
    out = np.empty(total.size)
    for n in range(total.size):
        out[n] = log_scale + vector_log(total[n])
    return out


@_kernel
def log_worths(log_total, utility, table):  # type: ignore[no-untyped-def]
    """Log worth of every remainder, each with a separate scale."""
    entry, start, child = table.entry_item, table.node_start, table.node_child
    for n in range(child.size):
        below = log_total[child[n]] if child[n] >= 0 else -np.inf
        peak = below
        for e in range(start[n], start[n + 1]):
            peak = max(peak, utility[entry[e]])
        t = math.exp(below - peak)
        for e in range(start[n], start[n + 1]):
            t += math.exp(utility[entry[e]] - peak)
        log_total[n] = peak + math.log(t)


@_kernel
def _pull_log_worths(gradient, node_bar, log_total, utility, table):  # type: ignore[no-untyped-def]
    """Do the same as `_pull_worths`, with a separate scale for each remainder."""
    entry, start, child = table.entry_item, table.node_start, table.node_child
    for n in range(child.size - 1, -1, -1):
        for e in range(start[n], start[n + 1]):
            gradient[entry[e]] += node_bar[n] * math.exp(utility[entry[e]] - log_total[n])
        if child[n] >= 0:
            node_bar[child[n]] += node_bar[n] * math.exp(log_total[child[n]] - log_total[n])


@_kernel
def stage_total_kernel(  # type: ignore[no-untyped-def]
    utility, item_weight, node_weight, block_weight,
    entry, start, child, b_item, b_start, b_below, b_entry, slot_item, slot_rank, node_slot,
):  # fmt: skip
    """Weighted sum of stages, and its gradient by the utilities."""
    table = Table(entry, start, child, b_item, b_start, b_below)
    value, gradient, _, _ = _stage_terms(utility, item_weight, node_weight, block_weight, table)
    return np.asarray(value), gradient


@_kernel
def ranking_logp_kernel(  # type: ignore[no-untyped-def]
    utility,
    entry, start, child, b_item, b_start, b_below, b_entry, slot_item, slot_rank, node_slot,
    s_item, s_node, stage_of, ranking_of, weight, item_weight, node_weight, block_weight,
):  # fmt: skip
    """Weighted log-probability of every ranking under every component, as sums of terms."""
    table = Table(entry, start, child, b_item, b_start, b_below)
    n_components, n_singles = len(utility), s_item.size
    term = np.empty(
        (n_singles + b_below.size, n_components)
    )  # components last: one ranking, all its components
    for g in range(n_components):
        _, _, log_total, block_logp = _stage_terms(
            utility[g], item_weight, node_weight, block_weight, table
        )
        for s in range(n_singles):
            term[s, g] = utility[g, s_item[s]] - log_total[s_node[s]]
        term[n_singles:, g] = block_logp
    out = np.zeros((weight.size, n_components))
    for k in range(stage_of.size):
        for g in range(n_components):
            out[ranking_of[k], g] += term[stage_of[k], g]
    for r in range(weight.size):
        out[r] *= weight[r]
    return out


@_kernel
def ranking_logp_pullback_kernel(  # type: ignore[no-untyped-def]
    utility,
    entry, start, child, b_item, b_start, b_below, b_entry, slot_item, slot_rank, node_slot,
    s_item, s_node, stage_of, ranking_of, weight, item_weight, node_weight, block_weight,
    bar,
):  # fmt: skip
    """Gradient of ``sum(bar * ranking_logp_kernel(...))``: a sum of stages with other weights."""
    table = Table(entry, start, child, b_item, b_start, b_below)
    n_components, n_singles = len(utility), s_item.size
    term_bar = np.zeros((n_singles + b_below.size, n_components))
    for k in range(stage_of.size):
        r = ranking_of[k]
        for g in range(n_components):
            term_bar[stage_of[k], g] += bar[r, g] * weight[r]
    gradient = np.empty_like(utility)
    for g in range(n_components):
        item_bar, node_bar = np.zeros(item_weight.size), np.zeros(node_weight.size)
        for s in range(n_singles):
            item_bar[s_item[s]] += term_bar[s, g]
            node_bar[s_node[s]] -= term_bar[s, g]
        block_bar = term_bar[n_singles:, g].copy()
        _, gradient[g], _, _ = _stage_terms(utility[g], item_bar, node_bar, block_bar, table)
    return gradient
