r"""Simulated tables with few or many comparisons, and the models of the commands for them.

Story: items have standard normal strengths. Matches are between random pairs; rankings are of at
most ten random items. A ranking of m items compares each of its items m - 1 times.

    strength[i]     ~ Normal(0, 1)
    adherence[j]    ~ LogNormal(0, 0.5)           of ten judges, else 1
    y[n]            ~ Bernoulli(logistic(adherence[j] * (strength[i] - strength[k])))
    ranking[r]      ~ PlackettLuce(strength[shown[r]])

``RESULTS.md`` compares approximations of the posteriors with NUTS (``study.py``).
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

import bayesrank as br

__all__ = ["KINDS", "LONGEST", "orders"]

Rng = np.random.Generator

LONGEST = 10  # items in a ranking


def matches(n_items: int, comparisons: int, rng: Rng, *, tie: float = 0.0) -> Any:
    """Model matches of random pairs; a share of them, `tie`, has no winner."""
    strength, n = rng.normal(size=n_items), -(-n_items * comparisons // 2)
    first = rng.integers(n_items, size=n)
    second = (first + rng.integers(1, n_items, size=n)) % n_items
    wins = rng.random(n) < expit(strength[first] - strength[second])
    outcome = np.where(rng.random(n) < tie, "tie", np.where(wins, "first", "second"))
    table = pd.DataFrame({"first": first, "second": second, "outcome": outcome}).astype(str)
    pairs = br.Pairs.from_frame(table, first="first", second="second", outcome="outcome")
    return br.leaderboard_model(pairs)


def orders(n_items: int, comparisons: int, rng: Rng) -> list[list[int]]:
    """Draw rankings of at most ten random items by Plackett-Luce, best first."""
    strength, m = rng.normal(size=n_items), min(n_items, LONGEST)
    n = -(-n_items * comparisons // (m * (m - 1)))
    shown = [rng.permutation(n_items)[:m] for _ in range(n)]
    return [x[np.argsort(-(strength[x] + rng.gumbel(size=m)))].tolist() for x in shown]


def rankings(*blocks: int) -> Callable[[int, int, Rng], Any]:
    """Model rankings in blocks of equal items; the sizes of the first blocks are given."""

    def model(n_items: int, comparisons: int, rng: Rng) -> Any:
        found = []
        for order in orders(n_items, comparisons, rng):
            ends = [0, *np.cumsum(blocks or [1] * len(order)).tolist(), len(order)]
            parts = [order[i:j] for i, j in itertools.pairwise(ends) if i < j]
            found.append([set(part) if len(part) > 1 else part[0] for part in parts])
        return br.ranking_model(br.Rankings.from_orderings(found))

    return model


def best_worst(n_items: int, comparisons: int, rng: Rng) -> Any:
    """Model the best and the worst of at most ten items."""
    found = []
    for order in orders(n_items, comparisons, rng):
        found.append([order[0], set(order[1:-1]), order[-1]])
    return br.ranking_model(br.Rankings.from_orderings(found))


def judged(n_items: int, comparisons: int, rng: Rng) -> Any:
    """Model matches by ten judges, who differ in adherence."""
    strength, n = rng.normal(size=n_items), -(-n_items * comparisons // 2)
    adherence = np.exp(0.5 * rng.normal(size=10))
    first, judge = rng.integers(n_items, size=n), rng.integers(10, size=n)
    second = (first + rng.integers(1, n_items, size=n)) % n_items
    lead = adherence[judge] * (strength[first] - strength[second])
    outcome = np.where(rng.random(n) < expit(lead), "first", "second")
    table = pd.DataFrame({"first": first, "second": second, "outcome": outcome, "judge": judge})
    pairs = br.Pairs.from_frame(
        table.astype(str), first="first", second="second", outcome="outcome", judge="judge"
    )
    return br.leaderboard_model(pairs)


KINDS: dict[str, Callable[[int, int, Rng], Any]] = {
    "matches": matches,
    "matches with ties": lambda *x: matches(*x, tie=0.2),
    "rankings": rankings(),
    "best three in order": rankings(1, 1, 1),
    "three blocks": rankings(2, 2),
    "best and worst": best_worst,
    "matches, ten judges": judged,
}
