r"""Draws of full rankings from Mallows models in numba, exact where it is not said.

A permutation is drawn at its distance from the identity, and then given to the items by their
places in the consensus.

=========  =====================================================================================
kendall    repeated insertion: each item v places above the last, with weight exp(-t v)
footrule   back through the scan of positions, then uniformly among the ways of each step
spearman   item by item, from the last place to the first, by the sums over sets of items; of more
           than 22 items by a chain of exchanges, a hundred for each item, which is not exact
=========  =====================================================================================

What depends on the concentration alone is kept from one row to the next while that is the same.
"""

import math

import numba
import numpy as np

from bayesrank.likelihoods.mallows.normaliser_kernels import footrule_table
from bayesrank.likelihoods.mallows.order_kernels import (
    MOST_ITEMS,
    PLACES,
    draw_order_kernel,
    table_of_sets,
)
from bayesrank.likelihoods.mallows.path import exchange_kernel, reach_of
from bayesrank.likelihoods.ops.splitmix import uniform

__all__ = ["draw_rankings_kernel"]

EXCHANGES = 100  # of a chain, for each item


@numba.njit(cache=True)
def _below(n, state):  # type: ignore[no-untyped-def]
    """Draw a whole number from 0 to n - 1."""
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
def _kendall(t, state, out):  # type: ignore[no-untyped-def]
    n = out.size
    order = np.empty(n, np.int64)
    weight = np.exp(-t * np.arange(n))
    for i in range(n):
        v = _choose(weight[: i + 1], state)
        for j in range(i, i - v, -1):
            order[j] = order[j - 1]
        order[i - v] = i
    for place in range(n):
        out[order[place]] = place


@numba.njit(cache=True)
def _take(x, size, state):  # type: ignore[no-untyped-def]
    """Take one of the first `size` elements out; the last of them goes in its place."""
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

    places, items = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)  # that are open
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
def draw_rankings_kernel(t, consensus, seed, n, kind):  # type: ignore[no-untyped-def]
    """Draw a ranking for each row, (r, s).

    Parameters
    ----------
    t : ndarray of float, (r,)
        What a step of distance costs.
    consensus : ndarray of int, (r, s)
        Ranks from 1, of all items or of some.
    seed : ndarray of int, (r,)
        A 64-bit seed for each row.
    n : int
        Items.
    kind : int
        Position of the distance in `DISTANCES`: footrule, Spearman, Kendall.

    Returns
    -------
    ndarray of int

    Raises
    ------
    ValueError
        If a cost is not a number, or a consensus does not hold the ranks 1 to n.
    """
    n_rows, n_slots = consensus.shape
    ranks = np.zeros((n_rows, n_slots), np.int64)
    state = np.empty(1, np.uint64)
    place = np.empty(n, np.int64)
    before = np.nan
    table, cost = np.empty((0, 0)), np.empty((n, n))
    sets, reduced = np.empty(0), np.empty((0, 0))
    for r in range(n_rows):
        if math.isnan(t[r]):
            raise ValueError("alpha must be a number, to draw a ranking.")
        x = min(t[r], 1e300)  # infinite: the consensus itself
        state[0] = np.uint64(seed[r])
        if x != before:
            before = x
            if kind == 0:
                table = footrule_table(x, n)[0]
            elif kind == 1 and n <= MOST_ITEMS:
                for i in range(n):
                    for j in range(n):
                        cost[i, j] = min(x * (i - j) ** 2, 1e300)
                sets, reduced, _ = table_of_sets(cost, PLACES)
        if kind == 0:
            _footrule(table, state, place)
        elif kind == 1 and n <= MOST_ITEMS:
            draw_order_kernel(sets, reduced, PLACES, state, place)
        elif kind == 1:
            place[:] = np.arange(n)
            exchange_kernel(x, place, EXCHANGES * n, reach_of(x, n), state)
        else:
            _kendall(x, state, place)
        for i in range(n_slots):
            if not 1 <= consensus[r, i] <= n:
                raise ValueError("The consensus must hold the ranks 1 to n, to draw a ranking.")
            ranks[r, i] = place[consensus[r, i] - 1] + 1
    return ranks
