r"""Draws of rankings from Mallows models in numba.

A permutation is drawn around the identity and then applied to the places in the consensus.

=========  =====================================================================================
kendall    by stages: the item chosen passes over v of those left, with weight exp(-t v)
footrule   back through the scan of positions, then uniformly among the ways of each step
spearman   item by item, from the last place to the first, by the sums over sets of items
=========  =====================================================================================
"""

import math

import numba
import numpy as np

from bayesrank.likelihoods.mallows.completion_kernels import FOOTRULE, KENDALL
from bayesrank.likelihoods.mallows.footrule import footrule_table
from bayesrank.likelihoods.mallows.order_kernels import (
    PLACES,
    draw_order_kernel,
    table_of_sets,
)
from bayesrank.likelihoods.ops.splitmix import uniform

__all__ = ["draw_rankings_kernel"]

ALMOST_INFINITE = 1e300  # replaces an infinite cost, with which the draw is the consensus itself


@numba.njit(cache=True)
def _below(n, state):  # type: ignore[no-untyped-def]
    """Draw an integer from 0 to n - 1."""
    return min(int(n * uniform(state)), n - 1)


@numba.njit(cache=True)
def _choose(weight, state):  # type: ignore[no-untyped-def]
    """Draw a position in proportion to weights."""
    left = uniform(state) * weight.sum()
    last = 0
    for i in range(weight.size):
        if weight[i] > 0.0:
            last = i
            left -= weight[i]
            if left < 0.0:
                break
    return last


@numba.njit(cache=True)
def _by_stages(t, state, out):  # type: ignore[no-untyped-def]
    """Draw a permutation; stages beyond the entries of `t` cost nothing."""
    n = out.size
    left, weight = np.arange(n), np.ones(n)
    for stage in range(n):
        for v in range(1, n - stage):
            weight[v] = math.exp(-t[stage] * v) if stage < t.size else 1.0
        passed = _choose(weight[: n - stage], state)
        out[left[passed]] = stage
        for i in range(passed, n - stage - 1):
            left[i] = left[i + 1]


@numba.njit(cache=True)
def _take(x, size, state):  # type: ignore[no-untyped-def]
    """Remove one of the first `size` elements at random; the last of them takes its position."""
    i = _below(size, state)
    chosen = x[i]
    x[i] = x[size - 1]
    return chosen


@numba.njit(cache=True)
def _footrule(table, state, out):  # type: ignore[no-untyped-def]
    n = out.size
    states = np.zeros(n + 1, np.int64)
    weight = np.empty(3)
    for s in range(n, 0, -1):
        k = states[s]
        logs = (
            table[s - 1, k] + math.log(2.0 * k + 1.0),
            table[s - 1, k - 1] if k > 0 else -np.inf,
            table[s - 1, k + 1] + 2.0 * math.log(k + 1.0),
        )
        top = max(logs)
        for i in range(3):
            weight[i] = math.exp(logs[i] - top)
        states[s - 1] = (k, k - 1, k + 1)[_choose(weight, state)]

    places, items = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)  # the open ones
    for s in range(n):
        k, after = states[s], states[s + 1]
        places[k], items[k] = s, s
        if after == k:
            way = _below(2 * k + 1, state)
            if way == 0:
                out[s] = s
            elif way <= k:  # this place takes an open item
                i = way - 1
                out[items[i]] = s
                items[i] = s
            else:  # this item takes an open place
                i = way - 1 - k
                out[s] = places[i]
                places[i] = s
        elif after < k:
            out[_take(items, k, state)] = s
            out[s] = _take(places, k, state)


@numba.njit(cache=True, error_model="numpy")
def _give(permutation, consensus, ranks):  # type: ignore[no-untyped-def]
    """Fill `ranks`: apply a permutation around the identity to the ranks in the consensus."""
    for s in range(consensus.size):
        if not 1 <= consensus[s] <= permutation.size:
            raise ValueError("The consensus must hold the ranks 1 to n, to draw a ranking.")
        ranks[s] = permutation[consensus[s] - 1] + 1


@numba.njit(cache=True, error_model="numpy")
def draw_rankings_kernel(t, consensus, seed, n, distance):  # type: ignore[no-untyped-def]
    """Draw a ranking for each row, (r, s).

    Parameters
    ----------
    t : ndarray of float, (r, j)
        Cost of one unit of distance; under Kendall's distance, one cost per stage.
    consensus : ndarray of int, (r, s)
        Ranks from 1, of all items or of some.
    seed : ndarray of int, (1,)
    n, distance : int
        Number of items, and the position of the distance in `DISTANCES`.
    """
    if np.isnan(t).any():
        raise ValueError("alpha must be a number, to draw a ranking.")
    t, ranks = np.minimum(t, ALMOST_INFINITE), np.empty(consensus.shape, np.int64)
    state = np.array([np.uint64(seed[0])])
    permutation = np.empty(n, np.int64)
    table, sets, reduced = np.empty((0, 0)), np.empty(0), np.empty((0, 0))
    for r in range(consensus.shape[0]):
        is_new = r == 0 or t[r, 0] != t[r - 1, 0]  # tables depend only on the cost
        if distance == KENDALL:
            _by_stages(t[r], state, permutation)
        elif distance == FOOTRULE:
            if is_new:
                table = footrule_table(t[r, 0], n)
            _footrule(table, state, permutation)
        else:
            if is_new:
                sets, reduced = _spearman_table(t[r, 0], n)
            draw_order_kernel(sets, reduced, PLACES, state, permutation)
        _give(permutation, consensus[r], ranks[r])
    return ranks


@numba.njit(cache=True, error_model="numpy")
def _spearman_table(t, n):  # type: ignore[no-untyped-def]
    """Tables of the sums over sets, under Spearman's distance."""
    cost = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            cost[i, j] = min(t * (i - j) ** 2, ALMOST_INFINITE)
    sets, reduced, _ = table_of_sets(cost, PLACES)
    return sets, reduced
