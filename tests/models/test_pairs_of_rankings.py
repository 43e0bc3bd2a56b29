"""The pairs of rankings, and a pairwise model of them."""

import functools

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from bayesrank.likelihoods.pairs import bradley_terry_log_probabilities, davidson_log_probabilities
from models.shared.pairs_of_rankings import WeakOrderPairs, pairs_logp, weak_order_pairs
from tests.oracles import gradient, listed_pairs

RANKS = np.array([[1, 2, 2, 0], [3, 0, 1, 2], [1, 1, 0, 0], [0, 1, 0, 0]])


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "JAX"])
def test_the_pairs_of_a_ranking_are_summed(rng, mode):
    utility, ranks, nu = pt.dmatrix("utility"), RANKS, 0.6
    davidson = functools.partial(davidson_log_probabilities, nu=nu)
    total = pairs_logp(utility, weak_order_pairs(ranks), davidson)
    f = pytensor.function([utility], [total, pt.grad(total.sum(), utility)], mode=mode)
    u = rng.normal(size=ranks.shape)
    expected = np.zeros(len(ranks))
    for n, i, j, outcome in listed_pairs(ranks, "keep"):
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


@pytest.mark.parametrize("ties", ["keep", "drop"])
def test_each_pair_presented_together_is_listed_once_the_better_first(rng, ties):
    assert listed_pairs(RANKS[:1], "keep") == [(0, 0, 1, 0), (0, 0, 2, 0), (0, 1, 2, 2)]
    for ranks in (RANKS, rng.integers(0, 5, size=(30, 9)).astype(np.int32)):
        pairs = weak_order_pairs(ranks, ties=ties)
        assert sorted(zip(*(p.tolist() for p in pairs), strict=True)) == listed_pairs(ranks, ties)
        assert (np.diff(pairs.ranking) >= 0).all()


def test_rankings_without_pairs_give_empty_lists():
    for ranks in (np.array([[1, 0], [0, 0]]), np.zeros((0, 3), dtype=int)):
        assert [len(part) for part in weak_order_pairs(ranks)] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        ([1, 2], r"^`ranks` must be a matrix .*; got shape \(2,\) of int64\.$"),
        ([[1.0, 2.0]], r"^`ranks` must be a matrix .*; got shape \(1, 2\) of float64\.$"),
        ([[1, 2], [1, -3]], r"^`ranks` must be 1 \(best\) or more, .*; row 1 contains -3\.$"),
    ],
)
def test_invalid_ranks_raise(ranks, message):
    with pytest.raises(ValueError, match=message):
        weak_order_pairs(ranks)
