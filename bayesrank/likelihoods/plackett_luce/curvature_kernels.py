r"""Weak orders in numba: how values and gradients change along a direction of the utilities.

They are the kernels of second derivatives, for stages that rankings share and for one utility per
slot. The derivative of every line of `per_item_kernel` is taken on the way up, of the logarithms of
remainders,

.. math:: \mathrm d \log T_n = \sum_{i \in R_n} \frac{e^{w_i}}{T_n} \mathrm d w_i ,

and on the way down, of the gradient. Time is linear in the entries, as that of the gradient is.
Every remainder has a scale of its own, so that utilities may be any distance apart.
"""

import math

import numba
import numpy as np

from bayesrank.likelihoods.ops.vector_exp import FARTHEST, vector_exp
from bayesrank.likelihoods.plackett_luce.block_kernel import (
    block_curvature_kernel,
    block_hessian_kernel,
    hessian_workspace,
    workspace,
)
from bayesrank.likelihoods.plackett_luce.per_item_kernel import log_worths, stage_bars
from bayesrank.likelihoods.plackett_luce.per_slot_kernel import n_staged_slots, stages_of_row

__all__ = [
    "per_slot_curvature_kernel",
    "ranking_logp_curvature_kernel",
    "stage_total_curvature_kernel",
    "stage_total_hessian_kernel",
]


# inlined by numba, once for each kernel; LLVM would compile it, and then again in all that have it
@numba.njit(inline="always", error_model="numpy")
def _stages_along(  # type: ignore[no-untyped-def]
    utility, v, node_weight, block_weight, entry_item, node_start, node_child,
    block_item, block_start, block_below,
):  # fmt: skip
    """Change log totals (n_nodes,), blocks (n_blocks,) and the gradient (n_items,) along `v`.

    The gradient is that of the stages with these weights; those of items change nothing.
    """
    n_nodes, n_blocks = node_child.size, block_below.size
    bend, d_log, d_block = np.zeros(utility.size), np.empty(n_nodes), np.zeros(n_blocks)
    node_bar, d_bar = node_weight.copy(), np.zeros(n_nodes)
    log_total = np.empty(n_nodes)
    log_worths(log_total, utility, entry_item, node_start, node_child)
    for n in range(n_nodes):
        child, total = node_child[n], 0.0
        if child >= 0:
            total = math.exp(log_total[child] - log_total[n]) * d_log[child]
        for e in range(node_start[n], node_start[n + 1]):
            total += math.exp(utility[entry_item[e]] - log_total[n]) * v[entry_item[e]]
        d_log[n] = total

    largest = 0
    for b in range(n_blocks):
        largest = max(largest, block_start[b + 1] - block_start[b])
    # not rows of one table, of which numba knows less
    w, d_w, gamma, d_gamma = (
        np.empty(largest), np.empty(largest), np.empty(largest), np.empty(largest)
    )  # fmt: skip
    work = workspace(largest)
    for b in range(n_blocks):
        first, size, below = block_start[b], block_start[b + 1] - block_start[b], block_below[b]
        for i in range(size):
            w[i] = utility[block_item[first + i]] - log_total[below]
            d_w[i] = v[block_item[first + i]] - d_log[below]
        block_curvature_kernel(w[:size], d_w[:size], gamma[:size], d_gamma[:size], work)
        for i in range(size):
            d_block[b] += gamma[i] * d_w[i]
            node_bar[below] -= block_weight[b] * gamma[i]
            d_bar[below] -= block_weight[b] * d_gamma[i]
            bend[block_item[first + i]] += block_weight[b] * d_gamma[i]

    for n in range(n_nodes - 1, -1, -1):
        for e in range(node_start[n], node_start[n + 1]):
            i = entry_item[e]
            change = d_bar[n] + node_bar[n] * (v[i] - d_log[n])
            bend[i] += change * math.exp(utility[i] - log_total[n])
        child = node_child[n]
        if child >= 0:
            share = math.exp(log_total[child] - log_total[n])
            node_bar[child] += node_bar[n] * share
            d_bar[child] += (d_bar[n] + node_bar[n] * (d_log[child] - d_log[n])) * share
    return d_log, d_block, bend


@numba.njit(cache=True, error_model="numpy")
def stage_total_curvature_kernel(  # type: ignore[no-untyped-def]
    utility, item_weight, node_weight, block_weight,
    entry, start, child, b_item, b_start, b_below, b_entry, slot_item, slot_rank, node_slot,
    n_shared, bar, v,
):  # fmt: skip
    """Change of the weighted sum of stages, and of `bar` times its gradient."""
    d_log, d_block, bend = _stages_along(
        utility, v, node_weight, block_weight, entry, start, child, b_item, b_start, b_below
    )
    along = 0.0
    for i in range(v.size):
        along += item_weight[i] * v[i]
    for n in range(d_log.size):
        along += node_weight[n] * d_log[n]
    for b in range(d_block.size):
        along += block_weight[b] * d_block[b]
    return np.asarray(along), bar * bend


@numba.njit(cache=True, error_model="numpy")
def stage_total_hessian_kernel(  # type: ignore[no-untyped-def]
    utility, item_weight, node_weight, block_weight,
    entry, start, child, b_item, b_start, b_below, b_entry, slot_item, slot_rank, node_slot,
    n_shared,
):  # fmt: skip
    r"""All second derivatives of the weighted sum of stages, (n_items, n_items).

    With the shares p of a remainder, the Hessian of its log total is diag(p) - p p', and that of a
    block stage f(w - log T), with h = H_f 1 and slopes g, is
    H_f - h p' - p h' + (1' h) p p' - (1' g) (diag(p) - p p').
    What a remainder has of diag(p) and p p' goes down to those inside it, so that two items meet
    once: in the smallest remainder that has both. Time is that of the pairs of an item and what is
    ranked with or below it.
    """
    n_items, n_nodes = utility.size, child.size
    # each two items are written once, here or there: what is random access costs most
    half = np.zeros((n_items, n_items))
    log_total = np.empty(n_nodes)
    log_worths(log_total, utility, entry, start, child)
    of_shares, of_products = node_weight.copy(), -node_weight
    inside, share = np.empty(n_items, dtype=np.int64), np.empty(n_items)  # of a remainder

    largest = 0
    for b in range(b_below.size):
        largest = max(largest, b_start[b + 1] - b_start[b])
    w, gamma, h, among = (
        np.empty(largest), np.empty(largest), np.empty(largest), np.empty((largest, largest))
    )  # fmt: skip
    work = hessian_workspace(largest)
    for b in range(b_below.size):
        first, size, below = b_start[b], b_start[b + 1] - b_start[b], b_below[b]
        weight = block_weight[b]
        for i in range(size):
            w[i] = utility[b_item[first + i]] - log_total[below]
        block_hessian_kernel(w[:size], gamma[:size], among[:size, :size], work)
        slopes = curved = 0.0
        for i in range(size):
            h[i] = 0.0
            for j in range(size):
                h[i] += among[i, j]
            slopes += gamma[i]
            curved += h[i]
            half[b_item[first + i], b_item[first + i]] += 0.5 * weight * among[i, i]
            for j in range(i):
                half[b_item[first + i], b_item[first + j]] += weight * among[i, j]
        of_shares[below] -= weight * slopes
        of_products[below] += weight * (slopes + curved)
        n_inside = _shares(inside, share, below, utility, log_total, entry, start, child)
        for i in range(size):
            row, by = half[b_item[first + i]], weight * h[i]
            for k in range(n_inside):
                row[inside[k]] -= by * share[k]

    for n in range(n_nodes - 1, -1, -1):
        n_inside = _shares(inside, share, n, utility, log_total, entry, start, child)
        for e in range(start[n + 1] - start[n]):  # those that are not in smaller ones come first
            row, by = half[inside[e]], of_products[n] * share[e]
            row[inside[e]] += 0.5 * share[e] * (by + of_shares[n])
            for k in range(e + 1, n_inside):
                row[inside[k]] += by * share[k]
        if child[n] >= 0:
            below = math.exp(log_total[child[n]] - log_total[n])
            of_shares[child[n]] += of_shares[n] * below
            of_products[child[n]] += of_products[n] * below * below
    return half + half.T


@numba.njit(cache=True, error_model="numpy")
def _shares(  # type: ignore[no-untyped-def]
    inside, share, n, utility, log_total, entry, start, child
):
    """Write the items of a remainder, those of its last block first, and their shares of it."""
    k, m = 0, n
    while m >= 0:
        for e in range(start[m], start[m + 1]):
            inside[k] = entry[e]
            share[k] = utility[entry[e]] - log_total[n]
            k += 1
        m = child[m]
    for i in range(k):
        share[i] = vector_exp(max(share[i], -FARTHEST))
    return k


@numba.njit(cache=True, error_model="numpy")
def ranking_logp_curvature_kernel(  # type: ignore[no-untyped-def]
    utility,
    entry, start, child, b_item, b_start, b_below, b_entry, slot_item, slot_rank, node_slot,
    n_shared, s_item, s_node, stage_of, ranking_of, weight, item_weight, node_weight, block_weight,
    bar, v,
):  # fmt: skip
    """Change of the log-probabilities under every kind, and of the gradient of their sum."""
    n_kinds = len(utility)
    along, bend = np.zeros((weight.size, n_kinds)), np.empty_like(utility)
    for g in range(n_kinds):
        _, node_bar, block_bar = stage_bars(
            bar[:, g if bar.shape[1] > 1 else 0] * weight,
            item_weight.size, node_weight.size, block_weight.size,
            s_item, s_node, stage_of, ranking_of,
        )  # fmt: skip
        d_log, d_block, bend[g] = _stages_along(
            utility[g], v[g], node_bar, block_bar, entry, start, child, b_item, b_start, b_below
        )
        for k in range(stage_of.size):
            s = stage_of[k]
            if s < s_item.size:
                along[ranking_of[k], g] += v[g, s_item[s]] - d_log[s_node[s]]
            else:
                along[ranking_of[k], g] += d_block[s - s_item.size]
    for r in range(weight.size):
        along[r] *= weight[r]
    return along, bend


@numba.njit(cache=True, error_model="numpy")
def per_slot_curvature_kernel(utility, ranks, bar, v, bound):  # type: ignore[no-untyped-def]
    """Do the same with one utility per slot: `per_slot_kernel`, its bound included."""
    n_rankings, n_slots = ranks.shape
    along, bend = np.zeros(n_rankings), np.zeros((n_rankings, n_slots))
    for row in range(n_rankings):
        if n_staged_slots(ranks[row]) <= 0:
            continue
        _, item_weight, node_weight, entry, start, child, b_item, b_start, b_below = stages_of_row(
            ranks[row], bound
        )
        d_log, d_block, change = _stages_along(
            utility[row], v[row], node_weight, np.ones(b_below.size),
            entry, start, child, b_item, b_start, b_below,
        )  # fmt: skip
        weight, total = bar[row if bar.size > 1 else 0], d_block.sum()
        for j in range(n_slots):
            if item_weight[j] != 0.0:
                total += item_weight[j] * v[row, j]
            bend[row, j] = weight * change[j]
        for n in range(d_log.size):
            total += node_weight[n] * d_log[n]
        along[row] = total
    return along, bend
