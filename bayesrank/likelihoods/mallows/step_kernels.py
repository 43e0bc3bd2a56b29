r"""Steps of a consensus in numba, where its log-probability is a sum over items or pairs.

Given full rankings and their concentrations, the probability of a consensus is proportional to
exp(-cost), with the costs of `bayesrank.likelihoods.mallows.order_kernels`. A sweep has two steps:

*redraw*
    A Gibbs step draws the order of the items in a window of places exactly, by sums over sets.
    The places are adjacent, so the order with all other items does not change. If costs depend on
    places, every second window consists of arbitrary places instead. Up to `WINDOW` items, the
    window holds all items, and the new consensus is independent of the old one.
*leap*
    A Metropolis step moves an item to another place and shifts those between by one (Vitelli et
    al., JMLR 2018). The change in cost is computed from the items that move.

EM accepts only leaps that lower the cost, until there are none.
"""

import math

import numba
import numpy as np

from bayesrank.likelihoods.mallows.order_kernels import PAIRS, draw_order_kernel, table_of_sets
from bayesrank.likelihoods.ops.splitmix import uniform

__all__ = [
    "WINDOW",
    "cheapest_order_kernel",
    "consensus_sweep_kernel",
]

WINDOW = 8  # items that are drawn at once: 256 sets


@numba.njit(cache=True, error_model="numpy")
def _leap_cost(cost, cost_type, order, here, there):  # type: ignore[no-untyped-def]
    """Cost of a leap from one place to another; `order` holds the items by place."""
    item = order[here]
    step = 1 if there > here else -1
    out = 0.0
    if cost_type != PAIRS:
        out = cost[item, there] - cost[item, here]
    for place in range(here + step, there + step, step):
        other = order[place]
        if cost_type != PAIRS:
            out += cost[other, place - step] - cost[other, place]
        elif step > 0:  # the item now stands after the other
            out += cost[item, other] - cost[other, item]
        else:
            out += cost[other, item] - cost[item, other]
    return out


@numba.njit(cache=True, error_model="numpy")
def _leap(order, here, there):  # type: ignore[no-untyped-def]
    """Move an item from one place to another, and shift those between by one."""
    item, step = order[here], 1 if there > here else -1
    for place in range(here, there, step):
        order[place] = order[place + step]
    order[there] = item


@numba.njit(cache=True, error_model="numpy")
def _order_of(ranks, order):  # type: ignore[no-untyped-def]
    for i in range(ranks.size):
        order[ranks[i] - 1] = i


@numba.njit(cache=True, error_model="numpy")
def _ranks_of(order, ranks):  # type: ignore[no-untyped-def]
    for place in range(order.size):
        ranks[order[place]] = place + 1


@numba.njit(cache=True, error_model="numpy")
def _redraw(cost, cost_type, order, places, state):  # type: ignore[no-untyped-def]
    """Draw a new order of the items at some places."""
    size = places.size
    items = order[places]
    own = np.empty((size, size))
    for i in range(size):
        for j in range(size):
            own[i, j] = cost[items[i], items[j] if cost_type == PAIRS else places[j]]
    table, reduced, _ = table_of_sets(own, cost_type)
    drawn = np.empty(size, np.int64)
    draw_order_kernel(table, reduced, cost_type, state, drawn)
    for i in range(size):
        order[places[drawn[i]]] = items[i]


@numba.njit(cache=True, error_model="numpy")
def consensus_sweep_kernel(cost, cost_type, ranks, leap, seed):  # type: ignore[no-untyped-def]
    """Change a consensus in place by one sweep; return the share of leaps that were accepted.

    Parameters
    ----------
    cost : ndarray of float, (n, n)
        Costs by item and place, or by item and an item before it.
    cost_type : {PLACES, PAIRS}
        Which of the two the costs are.
    ranks : ndarray of int, (n,)
        The consensus, as ranks from 1; overwritten.
    leap : int
        Length of the longest leap.
    seed : int
        64 bits.
    """
    n = ranks.size
    state = np.empty(1, np.uint64)
    state[0] = np.uint64(seed)
    order = np.empty(n, np.int64)
    _order_of(ranks, order)
    size = min(n, WINDOW)
    places = np.arange(n)
    first = int(uniform(state) * size)  # windows that overlap those of other sweeps
    n_windows = 1 if n == size else n // size + 1
    for window in range(n_windows):
        start = min(max(window * size - first, 0), n - size)
        _redraw(cost, cost_type, order, np.arange(start, start + size), state)
        if cost_type != PAIRS and n > size:  # places of any distance
            for i in range(size):
                j = i + int(uniform(state) * (n - i))
                places[i], places[j] = places[j], places[i]
            _redraw(cost, cost_type, order, np.sort(places[:size]), state)
    taken = 0
    for _ in range(n):
        here = min(int(uniform(state) * n), n - 1)
        there = here + 1 + min(int(uniform(state) * leap), leap - 1)
        if uniform(state) < 0.5:
            there = 2 * here - there
        log_u = math.log(uniform(state))
        if there < 0 or there >= n or log_u >= -_leap_cost(cost, cost_type, order, here, there):
            continue
        _leap(order, here, there)
        taken += 1
    _ranks_of(order, ranks)
    return taken / n


@numba.njit(cache=True, error_model="numpy")
def cheapest_order_kernel(cost, cost_type, ranks):  # type: ignore[no-untyped-def]
    """Change a consensus in place by the best leap of each item, until no leap lowers the cost.

    The parameters are as in `consensus_sweep_kernel`.
    """
    n = ranks.size
    order = np.empty(n, np.int64)
    _order_of(ranks, order)
    enough = 1e-12 * (1.0 + np.abs(cost).sum())  # because sums of costs are rounded
    gained = True
    while gained:
        gained = False
        for item in range(n):
            here = 0
            while order[here] != item:
                here += 1
            best, to = -enough, here
            for there in range(n):
                if there != here:
                    change = _leap_cost(cost, cost_type, order, here, there)
                    if change < best:
                        best, to = change, there
            if to != here:
                _leap(order, here, to)
                gained = True
    _ranks_of(order, ranks)
