"""Mallows models by their definition: all permutations, and distances as their names say."""

from collections.abc import Callable
from functools import cache
from itertools import combinations, permutations

import numpy as np
from scipy.special import logsumexp

__all__ = [
    "DEFINITIONS",
    "by_stages",
    "completions",
    "every_ranking",
    "log_probability",
    "log_sum_over_consensus",
    "log_z",
    "orders_by_hand",
    "staged_logp",
    "vectorised_distance",
]


def kendall(a, b):
    return sum((a[i] - a[j]) * (b[i] - b[j]) < 0 for i, j in combinations(range(len(a)), 2))


DEFINITIONS: dict[str, Callable[..., float]] = {
    "footrule": lambda a, b: np.abs(np.subtract(a, b)).sum(),
    "spearman": lambda a, b: (np.subtract(a, b) ** 2).sum(),
    "kendall": kendall,
}


def vectorised_distance(ranks, rows, distance) -> np.ndarray:
    """Distance of one ranking from each of many."""
    if distance != "kendall":
        apart = np.abs(np.subtract(rows, ranks))
        return (apart if distance == "footrule" else apart**2).sum(axis=1)
    i, j = np.triu_indices(len(ranks), 1)
    return ((ranks[i] - ranks[j]) * (rows[:, i] - rows[:, j]) < 0).sum(axis=1)


@cache
def every_ranking(n: int) -> np.ndarray:
    return np.array(list(permutations(range(1, n + 1))))


@cache
def distances(distance: str, n: int) -> np.ndarray:
    """Of all rankings from the first."""
    first = tuple(range(1, n + 1))
    return np.array([DEFINITIONS[distance](x, first) for x in every_ranking(n).tolist()])


@cache
def log_z(alpha: float, n: int, distance: str) -> float:
    return float(logsumexp(-alpha / n * distances(distance, n)))


def completions(ranks) -> np.ndarray:
    """All full rankings that put items with ranks (0: none) in their order."""
    ranks, every = np.asarray(ranks), every_ranking(len(ranks))
    apart = (ranks[:, None] > 0) & (ranks[:, None] < ranks)
    return every[((every[:, :, None] < every[:, None, :]) | ~apart).all(axis=(1, 2))]


def log_probabilities(ranks, rhos, alpha, distance) -> np.ndarray:
    """Of a ranking, which may be partial, given each of many consensus orders."""
    n = len(ranks)
    apart = [vectorised_distance(x, rhos, distance) for x in completions(ranks)]
    return logsumexp(-alpha / n * np.array(apart), axis=0) - log_z(float(alpha), n, distance)


def log_probability(ranks, rho, alpha, distance) -> float:
    return float(log_probabilities(ranks, np.array([rho]), alpha, distance)[0])


def by_stages(ranks, rho, alpha) -> float:
    """Log-probability of a full ranking under a generalised model, one choice after the other."""
    n, total = len(ranks), 0.0
    left = sorted(range(n), key=lambda i: rho[i])
    for j, item in enumerate(np.argsort(ranks)):
        t = alpha[j] / n if j < len(alpha) else 0.0
        weights = np.exp(-t * np.arange(len(left)))
        total += np.log(weights[left.index(item)] / weights.sum())
        left.remove(item)
    return total


def staged_logp(ranks, rho, alpha) -> float:
    """Log-probability of a top-k list under a generalised model: all rankings that complete it."""
    return logsumexp([by_stages(x, rho, alpha) for x in completions(ranks)])


def log_sum_over_consensus(ranks, alpha, distance, weight=None) -> float:
    """Log-probability of rankings, all consensus orders being equally likely."""
    n_rankings, n = np.shape(ranks)
    alpha = np.broadcast_to(alpha, n_rankings)
    weight = np.ones(n_rankings) if weight is None else weight
    each = [
        w * log_probabilities(r, every_ranking(n), a, distance)
        for r, a, w in zip(ranks, alpha, weight, strict=True)
    ]
    return float(logsumexp(np.sum(each, axis=0)) - np.log(len(each[0])))


def orders_by_hand(cost: np.ndarray, pairs: bool) -> tuple[np.ndarray, np.ndarray]:
    """All orders of the items, and what each costs."""
    orders = np.array(list(permutations(range(len(cost)))))
    if pairs:
        costs = [sum(cost[b, a] for a, b in combinations(order, 2)) for order in orders.tolist()]
    else:
        costs = [cost[order, np.arange(len(cost))].sum() for order in orders]
    return orders, np.array(costs)
