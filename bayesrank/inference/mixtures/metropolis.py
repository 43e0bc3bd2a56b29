"""Random and greedy search among rankings: leaps (Vitelli et al., JMLR 2018) and exchanges."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

__all__ = ["climb", "metropolis_sweep", "move_to"]


def move_to(ranks: Any, item: int, there: int) -> None:
    """Move an item to another place, and those between by one, in place."""
    here = ranks[item]
    if there > here:
        ranks[(ranks > here) & (ranks <= there)] -= 1
    else:
        ranks[(ranks < here) & (ranks >= there)] += 1
    ranks[item] = there


def _exchange(ranks: Any, item: int, there: int) -> None:
    """Exchange an item with that of another place, in place."""
    ranks[ranks == there] = ranks[item]
    ranks[item] = there


def metropolis_sweep(
    ranks: Any,
    log_density: Callable[[Any], float],
    leap: int,
    rng: np.random.Generator,
    *,
    exchanges: bool = False,
) -> float:
    """Propose a leap of every item, in place; return the share of proposals that were accepted.

    `ranks` (n,) from 1 are overwritten, and `log_density` is a function of them. A leap goes up to
    `leap` places up or down; with `exchanges`, an exchange with the item of any place follows it.
    """
    n, current, accepted = len(ranks), log_density(ranks), 0
    for item in rng.permutation(n):
        for move in (move_to, _exchange)[: 1 + exchanges]:
            step = rng.integers(1, leap + 1) * rng.choice((-1, 1))
            there = int(ranks[item] + step if move is move_to else rng.integers(1, n + 1))
            log_u, before = np.log(rng.random()), ranks.copy()
            if not 1 <= there <= n or there == ranks[item]:
                continue
            move(ranks, item, there)
            after = log_density(ranks)
            if log_u < after - current:
                current, accepted = after, accepted + 1
            else:
                ranks[:] = before
    return accepted / (n * (1 + exchanges))


def climb(ranks: Any, log_density: Callable[[Any], float]) -> None:
    """Change a ranking by leaps and exchanges that gain, until none does, in place."""
    best = log_density(ranks)
    enough = 1e-10 * (1.0 + abs(best))
    gained = True
    while gained:
        gained = False
        for item, there in product(range(len(ranks)), range(1, len(ranks) + 1)):
            for move in (move_to, _exchange):
                before = ranks.copy()
                if there == before[item]:
                    continue
                move(ranks, item, there)
                after = log_density(ranks)
                if after > best + enough:
                    best, gained = after, True
                else:
                    ranks[:] = before
