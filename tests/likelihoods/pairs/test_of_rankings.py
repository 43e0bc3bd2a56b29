"""Pairs of rankings: which there are, and their sums."""

import functools
from itertools import combinations

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from bayesrank.likelihoods.pairs.graph import (
    bradley_terry_log_probabilities,
    davidson_log_probabilities,
)
from bayesrank.likelihoods.pairs.of_rankings import WeakOrderPairs, pairs_logp, weak_order_pairs
from tests.likelihoods.loops import for_each
from tests.oracles import gradient

BACKENDS = ("FAST_COMPILE", "JAX")

RANKS = np.array([[1, 2, 2, 0], [3, 0, 1, 2], [1, 1, 0, 0], [0, 1, 0, 0]])


def pair_set(ranks, ties):
    """Pairs by the definition: (ranking, better slot, worse slot, outcome)."""
    out = []
    for n, row in enumerate(ranks):
        for i, j in combinations(np.flatnonzero(row), 2):
            if row[i] == row[j] and ties == "keep":
                out.append((n, i, j, 2))
            elif row[i] != row[j]:
                out.append((n, i, j, 0) if row[i] < row[j] else (n, j, i, 0))
    return sorted(out)


@for_each("ties", ["keep", "drop"])
def test_each_pair_presented_together_is_listed_once_the_better_first(rng, ties):
    assert pair_set(RANKS[:1], "keep") == [(0, 0, 1, 0), (0, 0, 2, 0), (0, 1, 2, 2)]
    for ranks in (RANKS, rng.integers(0, 5, size=(30, 9)).astype(np.int32)):
        pairs = weak_order_pairs(ranks, ties=ties)
        assert sorted(zip(*(p.tolist() for p in pairs), strict=True)) == pair_set(ranks, ties)
        assert (np.diff(pairs.ranking) >= 0).all()


def test_rankings_without_pairs_give_empty_lists():
    for ranks in (np.array([[1, 0], [0, 0]]), np.zeros((0, 3), dtype=int)):
        assert [len(part) for part in weak_order_pairs(ranks)] == [0, 0, 0, 0]


@for_each("mode", BACKENDS)
def test_the_pairs_of_a_ranking_are_summed(rng, mode):
    utility, ranks, nu = pt.dmatrix("utility"), RANKS, 0.6
    davidson = functools.partial(davidson_log_probabilities, nu=nu)
    total = pairs_logp(utility, weak_order_pairs(ranks), davidson)
    f = pytensor.function([utility], [total, pt.grad(total.sum(), utility)], mode=mode)
    u = rng.normal(size=ranks.shape)
    expected = np.zeros(len(ranks))
    for n, i, j, outcome in pair_set(ranks, "keep"):
        weights = np.exp(u[n, i]), np.exp(u[n, j]), nu * np.exp((u[n, i] + u[n, j]) / 2)
        expected[n] += np.log(weights[outcome] / sum(weights))
    value, slope = (np.asarray(out) for out in f(u))
    np.testing.assert_allclose(value, expected, rtol=1e-13)
    np.testing.assert_allclose(slope, gradient(lambda x: float(np.sum(f(x)[0])), u), atol=1e-8)
    np.testing.assert_array_equal(slope[ranks == 0], 0.0)
    assert value[3] == 0.0


def test_pairs_may_be_shared_variables_that_change():
    pairs = [pytensor.shared(part) for part in weak_order_pairs(RANKS, ties="drop")]
    total = pairs_logp(np.zeros((4, 4)), WeakOrderPairs(*pairs), bradley_terry_log_probabilities)
    f = pytensor.function([], total)
    np.testing.assert_allclose(f(), -np.log(2) * np.array([2, 3, 0, 0]))
    for shared, part in zip(pairs, weak_order_pairs(RANKS[:1], ties="drop"), strict=True):
        shared.set_value(part)
    np.testing.assert_allclose(f(), -np.log(2) * np.array([2, 0, 0, 0]))


# Bad input


@for_each(
    ("ranks", "message"),
    [
        ([1, 2], r"^`ranks` must be a matrix .*; got shape \(2,\) of int64\.$"),
        ([[1.0, 2.0]], r"^`ranks` must be a matrix .*; got shape \(1, 2\) of float64\.$"),
        ([[1, 2], [1, -3]], r"^`ranks` must be 1 \(best\) or more, .*; row 1 has -3\.$"),
    ],
)
def test_what_are_no_ranks_raises(ranks, message):
    with pytest.raises(ValueError, match=message):
        weak_order_pairs(ranks)
