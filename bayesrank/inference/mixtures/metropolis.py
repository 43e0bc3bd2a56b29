"""Random and greedy search over rankings: leaps (Vitelli et al., JMLR 2018) and exchanges."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

__all__ = ["climb", "metropolis_sweep", "move_to"]


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
    *,
    exchanges: bool = False,
) -> float:
    """Propose a leap of every item, in place, and return the acceptance rate.

    `ranks` (n,), from 1, are overwritten, and `log_density` is a function of them. A leap is at
    most `leap` places up or down. With `exchanges`, an exchange with the item at a random place
    follows.
    """
    n, current, accepted = len(ranks), log_density(ranks), 0
    for item in rng.permutation(n):
        for move in (move_to, _exchange)[: 1 + exchanges]:
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
    return accepted / (n * (1 + exchanges))


def climb(ranks: Any, log_density: Callable[[Any], float]) -> None:
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
