r"""Steps of a consensus in numba, where its log-probability is a sum over items or pairs.

Given full rankings and their concentrations, a consensus has a probability in proportion to
exp(-cost), of costs as `bayesrank.likelihoods.mallows.order_kernels` has them. A sweep does both:

*redraw*  a window of places, whose items are put there anew, all at once and exactly, by sums over
          their sets: a Gibbs step. It is of places in a row, so that pairs with others stay as
          they are; under costs of places every other window is of any. Up to `WINDOW` items it is
          all of them, and the consensus is drawn independently of the one before;
*leap*    an item leaps to another place, and those between shift by one (Vitelli et al., JMLR
          2018), with what that costs counted from the items that move.

Partial rankings are no such sum: there leaps, and exchanges of two items, are
judged by the log-probabilities of all rankings.

The same moves, of which only those are made that gain, lead to the orders that EM looks for.
"""

import math

import numba
import numpy as np

from bayesrank.likelihoods.mallows.completion_kernels import completions_kernel
from bayesrank.likelihoods.mallows.order_kernels import PAIRS, draw_order_kernel, table_of_sets
from bayesrank.likelihoods.ops.splitmix import uniform

__all__ = [
    "WINDOW",
    "cheapest_order_kernel",
    "climb_sweep_kernel",
    "consensus_sweep_kernel",
    "leap_sweep_kernel",
    "place_costs_kernel",
]

WINDOW = 8  # items that are drawn at once: 256 sets


@numba.njit(cache=True, error_model="numpy")
def place_costs_kernel(t, ranks, row, item, kind, cost):  # type: ignore[no-untyped-def]
    """Add what full rankings cost each consensus.

    Parameters
    ----------
    t : ndarray of float, (r,)
        What a step of distance costs, times the weight of the ranking.
    ranks, row, item : ndarray of int, (r, n)
        Ranks of the slots from 1, and which item of which consensus each slot has.
    kind : int
        Position of the distance in `DISTANCES`.
    cost : ndarray of float, (n_rows, n, n)
        Added to.
    """
    n = ranks.shape[1]
    for r in range(ranks.shape[0]):
        for s in range(n):
            own = cost[row[r, s], item[r, s]]
            if kind == 2:  # Kendall: after another that it is ranked before
                for other in range(n):
                    if ranks[r, s] < ranks[r, other]:
                        own[item[r, other]] += t[r]
                continue
            for place in range(n):
                apart = ranks[r, s] - 1 - place
                if kind == 0:
                    own[place] += t[r] * abs(apart)
                else:
                    own[place] += t[r] * apart * apart


@numba.njit(cache=True, error_model="numpy")
def _leap_cost(cost, kind, order, here, there):  # type: ignore[no-untyped-def]
    """Cost of a leap from one place to another, of items by place."""
    item = order[here]
    step = 1 if there > here else -1
    out = 0.0
    if kind != PAIRS:
        out = cost[item, there] - cost[item, here]
    for place in range(here + step, there + step, step):
        other = order[place]
        if kind != PAIRS:
            out += cost[other, place - step] - cost[other, place]
        elif step > 0:  # the item now stands after the other
            out += cost[item, other] - cost[other, item]
        else:
            out += cost[other, item] - cost[item, other]
    return out


@numba.njit(cache=True, error_model="numpy")
def _leap(order, here, there):  # type: ignore[no-untyped-def]
    """Move the item of one place to another, and those between by one."""
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
def _redraw(cost, kind, order, places, state):  # type: ignore[no-untyped-def]
    """Put the items of some places there anew."""
    size = places.size
    items = order[places]
    own = np.empty((size, size))
    for i in range(size):
        for j in range(size):
            own[i, j] = cost[items[i], items[j] if kind == PAIRS else places[j]]
    table, reduced, _ = table_of_sets(own, kind)
    drawn = np.empty(size, np.int64)
    draw_order_kernel(table, reduced, kind, state, drawn)
    for i in range(size):
        order[places[drawn[i]]] = items[i]


@numba.njit(cache=True, error_model="numpy")
def consensus_sweep_kernel(cost, kind, ranks, leap, seed):  # type: ignore[no-untyped-def]
    """Change a consensus by one sweep; the share of leaps that were taken.

    Parameters
    ----------
    cost : ndarray of float, (n, n)
        Of item and place, or of an item and one before it.
    kind : {PLACES, PAIRS}
        Which of the two.
    ranks : ndarray of int, (n,)
        The consensus, ranks from 1; overwritten.
    leap : int
        The longest leap.
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
        _redraw(cost, kind, order, np.arange(start, start + size), state)
        if kind != PAIRS and n > size:  # places of any distance
            for i in range(size):
                j = i + int(uniform(state) * (n - i))
                places[i], places[j] = places[j], places[i]
            _redraw(cost, kind, order, np.sort(places[:size]), state)
    taken = 0
    for _ in range(n):
        here = min(int(uniform(state) * n), n - 1)
        there = here + 1 + min(int(uniform(state) * leap), leap - 1)
        if uniform(state) < 0.5:
            there = 2 * here - there
        log_u = math.log(uniform(state))
        if there < 0 or there >= n or log_u >= -_leap_cost(cost, kind, order, here, there):
            continue
        _leap(order, here, there)
        taken += 1
    _ranks_of(order, ranks)
    return taken / n


@numba.njit(cache=True, error_model="numpy")
def cheapest_order_kernel(cost, kind, ranks):  # type: ignore[no-untyped-def]
    """Change a consensus by the best leap of an item after the other, until none costs less.

    Parameters
    ----------
    cost : ndarray of float, (n, n)
        Of item and place, or of an item and one before it.
    kind : {PLACES, PAIRS}
        Which of the two.
    ranks : ndarray of int, (n,)
        The consensus, ranks from 1; overwritten.
    """
    n = ranks.size
    order = np.empty(n, np.int64)
    _order_of(ranks, order)
    enough = 1e-12 * (1.0 + np.abs(cost).sum())  # costs are sums, which round
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
                    change = _leap_cost(cost, kind, order, here, there)
                    if change < best:
                        best, to = change, there
            if to != here:
                _leap(order, here, to)
                gained = True
    _ranks_of(order, ranks)


# ---------------------------------------------------------------------------------------------
# What is no sum over items or pairs
# ---------------------------------------------------------------------------------------------


@numba.njit(cache=True, error_model="numpy")
def _log_likelihood(t, weight, ranks, item, rho, n, kind):  # type: ignore[no-untyped-def]
    """Of all rankings around one consensus, up to the normaliser."""
    consensus = rho[item]
    total = 0.0
    found, _ = completions_kernel(t, ranks, consensus, n, kind)
    for r in range(t.size):
        total += weight[r] * found[r]
    return total


@numba.njit(cache=True, error_model="numpy")
def leap_sweep_kernel(t, weight, ranks, item, rho, kind, leap, seed):  # type: ignore[no-untyped-def]
    """Change a consensus by one sweep of leaps and exchanges; the share of them that were taken.

    Parameters
    ----------
    t, weight : ndarray of float, (r,)
        What a step of distance costs each ranking, and how often it counts.
    ranks, item : ndarray of int, (r, s)
        Dense ranks of the slots from 1, 0 of those that are empty, and which item each has.
    rho : ndarray of int, (n,)
        The consensus, ranks from 1; overwritten.
    kind : int
        Position of the distance in `DISTANCES`.
    leap : int
        The longest leap.
    seed : int
        64 bits.
    """
    n = rho.size
    state = np.empty(1, np.uint64)
    state[0] = np.uint64(seed)
    order, proposed, before = np.empty(n, np.int64), np.empty(n, np.int64), rho.copy()
    _order_of(rho, order)
    current = _log_likelihood(t, weight, ranks, item, rho, n, kind)
    taken = 0
    for move in range(2 * n):
        here = min(int(uniform(state) * n), n - 1)
        if move % 2:  # exchange two items, of any places
            there = min(int(uniform(state) * n), n - 1)
        else:
            there = here + 1 + min(int(uniform(state) * leap), leap - 1)
            if uniform(state) < 0.5:
                there = 2 * here - there
        log_u = math.log(uniform(state))
        if there < 0 or there >= n or there == here:
            continue
        proposed[:] = order
        if move % 2:
            proposed[here], proposed[there] = order[there], order[here]
        else:
            _leap(proposed, here, there)
        _ranks_of(proposed, rho)
        after = _log_likelihood(t, weight, ranks, item, rho, n, kind)
        if log_u < after - current:
            current, taken = after, taken + 1
            order[:], before[:] = proposed, rho
        else:
            rho[:] = before
    return taken / (2 * n)


@numba.njit(cache=True, error_model="numpy")
def climb_sweep_kernel(t, weight, ranks, item, rho, kind):  # type: ignore[no-untyped-def]
    """Change a consensus by leaps and exchanges that gain, until none does.

    Parameters
    ----------
    t, weight, ranks, item, rho, kind
        As `leap_sweep_kernel` has them; `rho` is overwritten.
    """
    n = rho.size
    order, proposed, before = np.empty(n, np.int64), np.empty(n, np.int64), rho.copy()
    _order_of(rho, order)
    current = _log_likelihood(t, weight, ranks, item, rho, n, kind)
    enough = 1e-10 * (1.0 + abs(current))
    since, move = 0, 0  # moves since one gained
    n_moves = 2 * n * n
    while since < n_moves:
        swap, pair = move % 2, move // 2
        here, there = pair // n, pair % n
        move, since = (move + 1) % n_moves, since + 1
        # neighbours change places either way; an exchange is one from either side
        if here == there or (swap and there <= here + 1):
            continue
        proposed[:] = order
        if swap:
            proposed[here], proposed[there] = order[there], order[here]
        else:
            _leap(proposed, here, there)
        _ranks_of(proposed, rho)
        after = _log_likelihood(t, weight, ranks, item, rho, n, kind)
        if after > current + enough:
            current, since = after, 0
            order[:], before[:] = proposed, rho
        else:
            rho[:] = before
