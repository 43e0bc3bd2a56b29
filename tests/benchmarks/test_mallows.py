"""Mallows models: value and gradient by alpha, with the consensus marginalised.

The peer is the same recursion as one writes it: a loop over sets and their items, in numba and in
logarithms, the value alone.
"""

import math

import numba
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

import bayesrank as br
from bayesrank.likelihoods.mallows import marginal_logp, total_costs
from tests.benchmarks.book import Book

N_RANKINGS = 12
ALPHA = 5.0
BUDGET = 0.1  # seconds, value and gradient at 20 items


@numba.njit
def over_sets(cost: np.ndarray, pairs: bool) -> float:
    """Logarithm of the sum over orders of exp(-cost), set by set."""
    n = cost.shape[0]
    table = np.full(1 << n, -np.inf)
    table[0] = 0.0
    for s in range(1, table.size):
        size = 0
        for i in range(n):
            size += s >> i & 1
        most, total = -np.inf, 0.0
        for i in range(n):
            if s >> i & 1:
                p = s ^ (1 << i)
                x = table[p]
                if pairs:
                    for j in range(n):
                        if p >> j & 1:
                            x -= cost[i, j]
                else:
                    x -= cost[i, size - 1]
                if x > most:
                    total = total * math.exp(most - x) + 1.0
                    most = x
                else:
                    total += math.exp(x - most)
        table[s] = most + math.log(total)
    return table[-1]


@pytest.mark.parametrize("distance", ["footrule", "kendall"])
@pytest.mark.parametrize("n", [10, 15, 20])
def test_value_and_gradient_with_the_consensus_marginalised(book: Book, n: int, distance: str):
    dist = br.Mallows.dist(np.arange(1, n + 1), ALPHA, distance=distance, size=N_RANKINGS)
    ranks = pm.draw(dist, random_seed=n)
    alpha = pt.dscalar("alpha")
    logp = marginal_logp(ranks, alpha, distance)
    gradient = pm.compile([alpha], [logp, pt.grad(logp, alpha)], mode="NUMBA")
    gradient.trust_input, at = True, np.array(ALPHA)
    cost, pairs = total_costs(ranks, np.ones(N_RANKINGS), distance), distance == "kendall"
    what = f"gradient, consensus of {n} summed out, {distance}"
    peer, theirs = "a plain loop, value alone", lambda: over_sets(ALPHA / n * cost, pairs)
    at_least = 2.0 if n > 10 else 0.0
    times = book.beat(what, lambda: gradient(at), peer, theirs, rounds=5, at_least=at_least)
    assert n < 20 or times["ours"].cpu < BUDGET
