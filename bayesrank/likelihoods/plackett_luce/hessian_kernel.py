r"""All second derivatives of the weighted sum of stages, in numba.

Every remainder has a separate scale, so utilities may be arbitrarily far apart.
"""

import math

import numba
import numpy as np

from bayesrank.likelihoods.ops.vector_exp import FARTHEST, vector_exp
from bayesrank.likelihoods.plackett_luce.block_kernel import (
    block_hessian_kernel,
    hessian_workspace,
)
from bayesrank.likelihoods.plackett_luce.per_item_kernel import Table, log_worths

__all__ = ["stage_total_hessian_kernel"]


@numba.njit(cache=True, error_model="numpy")
def stage_total_hessian_kernel(  # type: ignore[no-untyped-def]
    utility, item_weight, node_weight, block_weight,
    entry, start, child, b_item, b_start, b_below, b_entry, slot_item, slot_rank, node_slot,
):  # fmt: skip
    r"""All second derivatives of the weighted sum of stages.

    With the shares p of a remainder, the Hessian of its log total is diag(p) - p p'. A block stage
    f(w - log T) with h = H_f 1 and slopes g has the Hessian

        H_f - h p' - p h' + (1' h) p p' - (1' g) (diag(p) - p p').

    Coefficients of diag(p) and p p' are passed down to smaller remainders. Therefore two items meet
    only once, in the smallest remainder that contains both. The time is proportional to the number
    of pairs of an item and another item that is ranked with or below it.

    Returns
    -------
    half : ndarray, (n_items, n_items)
        Half of the symmetric matrix; the matrix is the sum of this half and its transpose.
    """
    table = Table(entry, start, child, b_item, b_start, b_below)
    n_items, n_nodes = utility.size, child.size
    # each pair is written once, in one of its two cells, because random access takes most time
    half, row_of = np.zeros(n_items * n_items), n_items * np.arange(n_items)
    log_total = np.empty(n_nodes)
    log_worths(log_total, utility, table)
    share_weight, product_weight = node_weight.copy(), -node_weight
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
            row = row_of[b_item[first + i]]
            half[row + b_item[first + i]] += 0.5 * weight * among[i, i]
            for j in range(i):
                half[row + b_item[first + j]] += weight * among[i, j]
        share_weight[below] -= weight * slopes
        product_weight[below] += weight * (slopes + curved)
        n_inside = _shares(inside, share, below, utility, log_total, table)
        for i in range(size):
            row, by = row_of[b_item[first + i]], weight * h[i]
            for k in range(n_inside):
                half[row + inside[k]] -= by * share[k]

    for n in range(n_nodes - 1, -1, -1):
        n_inside = _shares(inside, share, n, utility, log_total, table)
        for e in range(start[n + 1] - start[n]):  # items outside smaller remainders come first
            row, by = row_of[inside[e]], product_weight[n] * share[e]
            half[row + inside[e]] += 0.5 * share[e] * (by + share_weight[n])
            for k in range(e + 1, n_inside):
                half[row + inside[k]] += by * share[k]
        if child[n] >= 0:
            below = math.exp(log_total[child[n]] - log_total[n])
            share_weight[child[n]] += share_weight[n] * below
            product_weight[child[n]] += product_weight[n] * below * below
    return half.reshape(n_items, n_items)


@numba.njit(cache=True, error_model="numpy")
def _shares(inside, share, n, utility, log_total, table):  # type: ignore[no-untyped-def]
    """Write the items of a remainder, its first block first, and their shares of its worth."""
    entry, start, child = table.entry_item, table.node_start, table.node_child
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
