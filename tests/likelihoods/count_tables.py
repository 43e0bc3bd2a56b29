"""Enumeration of MPM: all tables of counts, and their probability by the definition.

Nothing is shared with the package: every draw is one ordered pair, in proportion to exp(θ D).
"""

from collections.abc import Iterator
from itertools import combinations_with_replacement
from math import lgamma

import numpy as np
from scipy.special import logsumexp


def ordered_pairs(n_items: int) -> list[tuple[int, int]]:
    """All (preferred item, other item)."""
    return [(i, j) for i in range(n_items) for j in range(n_items) if i != j]


def count_tables(n_items: int, total: int) -> np.ndarray:
    """All tables of so many counts, (number, n_items, n_items)."""

    def tables() -> Iterator[np.ndarray]:
        for cells in combinations_with_replacement(ordered_pairs(n_items), total):
            table = np.zeros((n_items, n_items), dtype=np.int64)
            for cell in cells:
                table[cell] += 1
            yield table

    return np.array(list(tables()))


def log_pair_probabilities(
    score: np.ndarray, adherence: float = 1.0, variance: np.ndarray | None = None
) -> np.ndarray:
    """log P of every ordered pair in one draw, (n_items, n_items); -inf on the diagonal."""
    n = len(score)
    g = np.full(n, 0.5) if variance is None else variance
    x = np.full((n, n), -np.inf)
    for i, j in ordered_pairs(n):
        x[i, j] = adherence * (score[i] - score[j]) / (g[i] + g[j])
    return x - logsumexp(x)


def table_logp(
    counts: np.ndarray,
    score: np.ndarray,
    adherence: float = 1.0,
    variance: np.ndarray | None = None,
) -> float:
    """Log-probability of one table, given its sum: the multinomial distribution."""
    logp, total = log_pair_probabilities(score, adherence, variance), int(counts.sum())
    out = lgamma(total + 1)
    for cell in ordered_pairs(len(score)):
        c = int(counts[cell])
        if c:
            out += c * logp[cell] - lgamma(c + 1)
    return float(out)
