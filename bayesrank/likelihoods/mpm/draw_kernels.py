"""Exact draws of MPM: ordered pairs, one after the other.

With equal variances, the preferred item is drawn in proportion to exp(theta s), and the other item
in proportion to exp(-theta s). If both are the same item, the pair is drawn again. With unequal
variances, the preferred item is drawn first, and then the other item given the preferred one.

A draw is a function of one 64-bit seed per ranker, expanded by SplitMix64. One compiled function
serves numba, C and, through a callback, JAX.
"""

import numba
import numpy as np

from bayesrank.likelihoods.ops.splitmix import uniform

__all__ = ["draw_counts_kernel", "draw_net_counts_kernel"]

_kernel = numba.njit(cache=True, error_model="numpy")


@_kernel
def _cumulative(log_weight):  # type: ignore[no-untyped-def]
    """Cumulative sums of exp(log_weight), up to a factor; -inf has weight zero."""
    return np.cumsum(np.exp(log_weight - log_weight.max()))


@_kernel
def _pick(cumulative, state):  # type: ignore[no-untyped-def]
    """Position drawn in proportion to the steps of `cumulative`."""
    total = cumulative[-1]
    # strictly below the total despite rounding; otherwise the position would be out of range
    mark = min(uniform(state) * total, np.nextafter(total, 0.0))
    return np.searchsorted(cumulative, mark, side="right")


@_kernel
def _draw_pairs(s, g, theta, total, state):  # type: ignore[no-untyped-def]
    """Preferred and other item of each of `total` draws, (2, total)."""
    if not (np.isfinite(theta) and np.isfinite(s).all() and (g > 0.0).all()):
        raise ValueError(
            "MPM can only draw with scores and adherences that are finite and variances > 0."
        )
    pairs = np.zeros((2, total), np.int64)
    if g.size == 0:
        better, worse = _cumulative(theta * s), _cumulative(-theta * s)
        for t in range(total):
            while pairs[0, t] == pairs[1, t]:  # with probability at most 1/2, for any scores
                pairs[0, t], pairs[1, t] = _pick(better, state), _pick(worse, state)
        return pairs
    rows = np.empty(s.size)
    for i in range(s.size):
        x = theta * (s[i] - s) / (g[i] + g)
        x[i] = -np.inf
        rows[i] = x.max()
        rows[i] += np.log(np.sum(np.exp(x - rows[i])))
    of_rows = _cumulative(rows)
    for t in range(total):
        pairs[0, t] = _pick(of_rows, state)
    pairs[0].sort()  # one table of items for each row
    last = -1
    of_items = of_rows
    for t in range(total):
        row = pairs[0, t]
        if row != last:
            x = theta * (s[row] - s) / (g[row] + g)
            x[row] = -np.inf
            of_items, last = _cumulative(x), row
        pairs[1, t] = _pick(of_items, state)
    return pairs


@_kernel
def draw_counts_kernel(score, variance, adherence, total, seed):  # type: ignore[no-untyped-def]
    """Draw counts of ordered pairs.

    Parameters
    ----------
    score : ndarray, (n_rankers, n_items)
    variance : ndarray, (n_rankers, n_items) or (n_rankers, 0)
        Without columns, all variances are 1/2.
    adherence, total, seed : ndarray, (n_rankers,)
        `total` is the number of draws.

    Returns
    -------
    ndarray of int64, (n_rankers, n_items, n_items)
    """
    n, k = score.shape
    counts = np.zeros((n, k, k), np.int64)
    state = np.zeros(1, np.uint64)
    for row in range(n):
        state[0] = np.uint64(seed[row])
        if k > 1:
            pairs = _draw_pairs(score[row], variance[row], adherence[row], total[row], state)
            for t in range(total[row]):
                counts[row, pairs[0, t], pairs[1, t]] += 1
    return counts


@_kernel
def draw_net_counts_kernel(score, variance, rate, item, where, cells, seed, like):  # type: ignore[no-untyped-def]
    """Draw net counts of the items of all problems.

    Parameters
    ----------
    score : ndarray, (n_groups * n_items,)
        Scores of all items, group by group.
    variance : ndarray, (n_groups * n_items,) or (0,)
        If empty, all variances are 1/2.
    rate : ndarray, (n_rates,)
        Adherences.
    item, where : ndarray, (n_rows, n_slots)
        Positions in `score` of the items of each problem in each group.
    cells : ndarray of int, (4, n_cells)
        Ranker, row, rate and number of draws of each cell, sorted by ranker.
    seed : ndarray, (n_rankers,)
    like : ndarray, (n_rankers, n_items)
        Only its shape is used.

    Returns
    -------
    ndarray of int64, (n_rankers, n_items)
        How often each item was preferred, minus how often it was the other item.
    """
    net = np.zeros(like.shape, np.int64)
    state = np.zeros(1, np.uint64)
    last = -1
    for c in range(cells.shape[1]):
        n, row, k, total = cells[0, c], cells[1, c], cells[2, c], cells[3, c]
        if n != last:
            state[0] = np.uint64(seed[n])
            last = n
        used = item[row][where[row]]
        if total == 0 or used.size < 2:
            continue
        g = variance if variance.size == 0 else variance[used]
        pairs = _draw_pairs(score[used], g, rate[k], total, state)
        for t in range(total):
            net[n, used[pairs[0, t]] % net.shape[1]] += 1
            net[n, used[pairs[1, t]] % net.shape[1]] -= 1
    return net
