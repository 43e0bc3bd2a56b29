"""The pairs of rankings under a pairwise model."""

import functools

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from bayesrank.likelihoods.pairs import (
    WeakOrderPairs,
    bradley_terry_log_probabilities,
    davidson_log_probabilities,
    weak_order_pairs,
)
from models.shared.pairs_of_rankings import pairs_logp
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
