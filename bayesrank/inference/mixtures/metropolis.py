"""Random and greedy search over rankings: leaps (Vitelli et al., JMLR 2018) and exchanges.

The log density may be minus a sum of costs, over items and places or over pairs of items. Then
exact draws of the order of several items precede the leaps.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesrank.likelihoods.mallows import PAIRS, PLACES
from bayesrank.likelihoods.mallows.order_kernels import draw_order_kernel, table_of_sets

__all__ = ["climb_by_pairs", "gibbs_sweep", "improve_ranking", "metropolis_sweep", "move_to"]

WINDOW = 8  # items whose order is drawn at once: 256 sets


def move_to(ranks: Any, item: int, place: int) -> None:
    """Move an item to another place, and shift the items between by one, in place."""
    current = ranks[item]
    if place > current:
        ranks[(ranks > current) & (ranks <= place)] -= 1
    else:
        ranks[(ranks < current) & (ranks >= place)] += 1
    ranks[item] = place


def _exchange(ranks: Any, item: int, place: int) -> None:
    """Exchange an item with the item at another place, in place."""
    ranks[ranks == place] = ranks[item]
    ranks[item] = place


def metropolis_sweep(
    ranks: Any,
    log_density: Callable[[Any], float],
    leap: int,
    rng: np.random.Generator,
) -> float:
    """Propose a leap and an exchange of every item, in place, and return the acceptance rate.

    `ranks` (n,), from 1, are overwritten, and `log_density` is a function of them. A leap is at
    most `leap` places up or down; an exchange is with the item at a random place.
    """
    n, current, accepted = len(ranks), log_density(ranks), 0
    for item in rng.permutation(n):
        for move in (move_to, _exchange):
            step = rng.integers(1, leap + 1) * rng.choice((-1, 1))
            place = int(ranks[item] + step if move is move_to else rng.integers(1, n + 1))
            log_u, before = np.log(rng.random()), ranks.copy()
            if not 1 <= place <= n or place == ranks[item]:
                continue
            move(ranks, item, place)
            after = log_density(ranks)
            if log_u < after - current:
                current, accepted = after, accepted + 1
            else:
                ranks[:] = before
    return accepted / (2 * n)


def gibbs_sweep(
    ranks: Any,
    cost: Any,
    cost_type: int | None,
    leap: int,
    rng: np.random.Generator,
) -> float:
    """Redraw windows of a ranking with density exp(-cost), in place, then propose leaps.

    The order of the items in a window of adjacent places is drawn exactly, by sums over sets. If
    costs depend on places, arbitrary places follow each window. If a window holds all items, the
    draw is independent of the ranking, and no leaps follow.

    Parameters
    ----------
    ranks : ndarray of int, (n,)
        Ranks from 1; overwritten.
    cost : ndarray of float, (n, n)
        Costs by item and place, or by item and an item before it.
    cost_type : {PLACES, PAIRS}
        Which of the two the costs are.
    leap : int
        Length of the longest leap.
    rng : Generator

    Returns
    -------
    float
        The acceptance rate.
    """
    n, size = len(ranks), min(len(ranks), WINDOW)
    order, state = np.argsort(ranks), rng.integers(0, 2**62, 1).astype(np.uint64)
    n_windows = 1 if n == size else n // size + 1
    first = rng.integers(size)  # windows that overlap those of other sweeps
    for start in np.clip(np.arange(n_windows) * size - first, 0, n - size):
        windows = [np.arange(start, start + size)]
        if cost_type == PLACES and n > size:
            windows.append(np.sort(rng.choice(n, size, replace=False)))
        for places in windows:
            items, drawn = order[places], np.empty(size, np.int64)
            columns = items if cost_type == PAIRS else places
            costs = np.ascontiguousarray(cost[np.ix_(items, columns)])
            table, reduced, _ = table_of_sets(costs, cost_type)
            draw_order_kernel(table, reduced, cost_type, state, drawn)
            order[places[drawn]] = items
    ranks[order] = np.arange(1, n + 1)
    if n == size:
        return 1.0

    def log_density(rho: Any) -> float:
        by_place = cost_type == PLACES
        paid = cost[np.arange(n), rho - 1] if by_place else cost[rho[:, None] > rho]
        return -float(paid.sum())

    return metropolis_sweep(ranks, log_density, leap, rng)


def improve_ranking(ranks: Any, log_density: Callable[[Any], float]) -> None:
    """Improve a ranking by leaps and exchanges, in place, until none gains."""
    best = log_density(ranks)
    enough = 1e-10 * (1.0 + abs(best))
    gained = True
    while gained:
        gained = False
        for item, place in product(range(len(ranks)), range(1, len(ranks) + 1)):
            for move in (move_to, _exchange):
                before = ranks.copy()
                if place == before[item]:
                    continue
                move(ranks, item, place)
                after = log_density(ranks)
                if after > best + enough:
                    best, gained = after, True
                else:
                    ranks[:] = before


def climb_by_pairs(ranks: Any, cost: NDArray[np.float64]) -> None:
    """Make the best leap of each item, in place, until none lowers the cost of pairs.

    `cost` (n, n) is what an item (row) pays for being after another (column).
    """
    order, enough = np.argsort(ranks), 1e-12 * (1.0 + np.abs(cost).sum())
    gained = True
    while gained:
        gained = False
        for item in range(len(order)):
            now = int((order == item).argmax())
            rest = np.delete(order, now)
            # the cost of having 0, 1, ... of the other items before this one, up to a constant
            change = np.append(0.0, np.cumsum(cost[item, rest] - cost[rest, item]))
            best = int(change.argmin())
            if change[best] < change[now] - enough:
                order, gained = np.insert(rest, best, item), True
    ranks[order] = np.arange(1, len(order) + 1)
