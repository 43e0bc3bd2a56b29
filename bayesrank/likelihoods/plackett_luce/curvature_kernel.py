r"""Products with all second derivatives of the weighted sum of stages, in numba.

The shares p of a remainder and a direction v have the mean :math:`m = p^\top v`, which is the slope
of the log total. The gradient of the sum is :math:`\sum_n b_n p_n` over the remainders, plus the
gradients of the blocks. Along v, it therefore changes by

.. math:: \sum_n \dot b_n p_n + b_n (p_n \odot v - m_n p_n) ,

where :math:`\dot b` is minus the change of the blocks' gradients above a remainder. Means are added
up from small remainders to large ones, and coefficients of p are passed down, as in
`bayesrank.likelihoods.plackett_luce.per_item_kernel`. Blocks have roots of small rank
(`block_root_kernel`). Time and memory are linear in the entries of the table.
"""

import math

import numba
import numpy as np

from bayesrank.likelihoods.plackett_luce.block_kernel import block_root_kernel, hessian_workspace
from bayesrank.likelihoods.plackett_luce.per_item_kernel import Table, log_worths

__all__ = ["stage_curvature_kernel", "stage_product_kernel"]

_kernel = numba.njit(cache=True, error_model="numpy")


@_kernel
def stage_curvature_kernel(  # type: ignore[no-untyped-def]
    utility, item_weight, node_weight, block_weight,
    entry, start, child, b_item, b_start, b_below, b_entry, slot_item, slot_rank, node_slot,
):  # fmt: skip
    """Compute what products with the second derivatives need at a point.

    Returns
    -------
    share : ndarray, (n_entries,)
        Share of each entry in the worth of its remainder.
    ratio : ndarray, (n_nodes,)
        Share of the next smaller remainder.
    own, passed : ndarray, (n_nodes,)
        Coefficient b of the shares of each remainder, and its sum with those passed down.
    slope : ndarray, (n_members,)
        Diagonals D of the blocks, times their weights.
    root : ndarray
        Roots U of the blocks, times the roots of their weights, one after the other.
    rank : ndarray, (n_blocks,)
        Number of rows of each root.
    diagonal : ndarray, (n_items,)
        Diagonal of the second derivatives.
    """
    n_nodes, n_blocks = child.size, b_below.size
    log_total = np.empty(n_nodes)
    log_worths(log_total, utility, Table(entry, start, child, b_item, b_start, b_below))
    share, ratio = np.empty(entry.size), np.zeros(n_nodes)
    for n in range(n_nodes):
        for e in range(start[n], start[n + 1]):
            share[e] = math.exp(utility[entry[e]] - log_total[n])
        if child[n] >= 0:
            ratio[n] = math.exp(log_total[child[n]] - log_total[n])

    largest = 0
    for b in range(n_blocks):
        largest = max(largest, b_start[b + 1] - b_start[b])
    work, w, gamma = hessian_workspace(largest), np.empty(largest), np.empty(largest)
    own, squared = node_weight.copy(), -node_weight
    slope, rank = np.empty(b_item.size), np.empty(n_blocks, dtype=np.int64)
    root, used, diagonal = np.empty(8 * b_item.size), 0, np.zeros(utility.size)
    for b in range(n_blocks):
        first, last, below = b_start[b], b_start[b + 1], b_below[b]
        size, weight = last - first, block_weight[b]
        for i in range(size):
            w[i] = utility[b_item[first + i]] - log_total[below]
        found = block_root_kernel(w[:size], gamma[:size], slope[first:last], work)
        rank[b] = len(found)
        if used + found.size > root.size:
            longer = np.empty(2 * (used + found.size))
            longer[:used] = root[:used]
            root = longer
        change = steepness = 0.0  # sums of the second derivatives, and of the gradient
        for i in range(size):
            slope[first + i] *= weight
            steepness += weight * gamma[i]
            change += slope[first + i]
            diagonal[b_item[first + i]] += slope[first + i]
        for row in found:
            total = 0.0
            for i in range(size):
                x = math.sqrt(weight) * row[i]
                root[used + i] = x
                total += x
                diagonal[b_item[first + i]] += x * x
            used += size
            change += total * total
        own[below] -= steepness
        squared[below] += steepness + change

    passed = own.copy()
    for n in range(n_nodes - 1, -1, -1):
        for e in range(start[n], start[n + 1]):
            diagonal[entry[e]] += share[e] * (passed[n] + share[e] * squared[n])
        if child[n] >= 0:
            passed[child[n]] += ratio[n] * passed[n]
            squared[child[n]] += ratio[n] * ratio[n] * squared[n]
    return share, ratio, own, passed, slope, root[:used].copy(), rank, diagonal


@_kernel
def stage_product_kernel(  # type: ignore[no-untyped-def]
    direction, share, ratio, own, passed, slope, root, rank,
    entry, start, child, b_item, b_start, b_below,
):  # fmt: skip
    """Multiply the second derivatives and directions, (n_items, n_directions).

    The innermost loops over the directions become vector instructions, because what they read is
    looked up before them.
    """
    n_nodes, m = child.size, direction.shape[1]
    out, mean, push = np.zeros(direction.shape), np.zeros((n_nodes, m)), np.empty((n_nodes, m))
    for n in range(n_nodes):
        here, total = mean[n], push[n]
        if child[n] >= 0:
            below, times = mean[child[n]], ratio[n]
            for k in range(m):
                here[k] = times * below[k]
        for e in range(start[n], start[n + 1]):
            along, times = direction[entry[e]], share[e]
            for k in range(m):
                here[k] += times * along[k]
        times = -own[n]
        for k in range(m):
            total[k] = times * here[k]

    largest = 0
    for b in range(rank.size):
        largest = max(largest, b_start[b + 1] - b_start[b])
    moved, change, summed = np.empty((largest, m)), np.empty((largest, m)), np.empty(m)
    at = 0
    for b in range(rank.size):
        first, size = b_start[b], b_start[b + 1] - b_start[b]
        below, total = mean[b_below[b]], push[b_below[b]]
        for i in range(size):
            along, here, to = direction[b_item[first + i]], moved[i], change[i]
            times = slope[first + i]
            for k in range(m):
                here[k] = along[k] - below[k]
                to[k] = times * here[k]
        for _ in range(rank[b]):
            summed[:] = 0.0
            for i in range(size):
                here, times = moved[i], root[at + i]
                for k in range(m):
                    summed[k] += times * here[k]
            for i in range(size):
                to, times = change[i], root[at + i]
                for k in range(m):
                    to[k] += times * summed[k]
            at += size
        for i in range(size):
            here, to = change[i], out[b_item[first + i]]
            for k in range(m):
                to[k] += here[k]
                total[k] -= here[k]

    for n in range(n_nodes - 1, -1, -1):
        total, all_passed = push[n], passed[n]
        for e in range(start[n], start[n + 1]):
            along, to, times = direction[entry[e]], out[entry[e]], share[e]
            for k in range(m):
                to[k] += times * (total[k] + all_passed * along[k])
        if child[n] >= 0:
            below, times = push[child[n]], ratio[n]
            for k in range(m):
                below[k] += times * total[k]
    return out
