"""BPR: against the definition and the composite likelihood of Bradley-Terry, at extremes."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from bayesrank.data import Interactions, Rankings
from bayesrank.likelihoods.pairs.bpr import bpr_logp, triple_logp
from bayesrank.likelihoods.pairs.graph import bradley_terry_logp
from bayesrank.likelihoods.pairs.of_rankings import pairs_logp, weak_order_pairs
from tests.cases import BACKENDS
from tests.oracles import gradient

RANKINGS = Rankings.from_orderings(
    [["b", {"a", "c", "d"}], [{"a", "d"}, {"b", "c"}], [{"b", "c", "d"}, "a"]]
)
HAVE = Interactions.from_rankings(RANKINGS)
TRIPLES = HAVE.all_triples()


@pytest.fixture(scope="module", params=BACKENDS)
def value_and_slope(request):
    utility = pt.dmatrix("utility")
    logp = bpr_logp(utility, TRIPLES)
    return pytensor.function([utility], [logp, pt.grad(logp.sum(), utility)], mode=request.param)


def by_definition(utility):
    have = HAVE.to_matrix()
    return [
        sum(
            -np.logaddexp(0, row[j] - row[i])
            for i in np.flatnonzero(has)
            for j in np.flatnonzero(~has)
        )
        for row, has in zip(utility, have, strict=True)
    ]


def test_each_user_has_the_sum_over_all_pairs_with_the_right_gradient(value_and_slope, rng):
    x = rng.normal(size=(3, 4))
    value, slope = map(np.asarray, value_and_slope(x))
    np.testing.assert_allclose(value, by_definition(x), rtol=1e-13)
    np.testing.assert_allclose(
        slope, gradient(lambda y: float(np.sum(by_definition(y))), x), atol=1e-8
    )


def test_the_gradient_is_that_of_the_paper(value_and_slope):
    # a user who has b: x_b - x_a = 1, x_b - x_c = 2, x_b - x_d = 3
    x = np.zeros((3, 4))
    x[0] = [2.0, 3.0, 1.0, 0.0]
    slope = np.asarray(value_and_slope(x)[1])[0]
    g = 1 / (1 + np.exp([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(slope, [-g[0], g.sum(), -g[1], -g[2]], rtol=1e-12)


def test_it_is_the_composite_likelihood_of_bradley_terry_on_two_blocks(value_and_slope, rng):
    x = rng.normal(size=(3, 4))
    slots = x[np.arange(3)[:, None], RANKINGS.item]
    pairs = weak_order_pairs(RANKINGS.ranks, ties="drop")
    other = pairs_logp(slots, pairs, bradley_terry_logp).eval()
    np.testing.assert_allclose(value_and_slope(x)[0], other, rtol=1e-13)


def test_it_is_finite_with_its_gradient_at_extremes(value_and_slope):
    x = np.zeros((3, 4))
    x[:, 0] = [1000.0, 1000.0, -1000.0]
    value, slope = map(np.asarray, value_and_slope(x))
    np.testing.assert_allclose(value, [-1000 - 2 * np.log(2), -2 * np.log(2), 0.0], atol=1e-300)
    np.testing.assert_allclose(slope[:, 0], [-1.0, 0.0, 0.0])
    assert np.isfinite(slope).all()


def test_only_differences_of_a_user_matter(value_and_slope, rng):
    x, shift = rng.normal(size=(3, 4)), rng.normal(size=(3, 1))
    one, other = value_and_slope(x)[0], value_and_slope(x + shift)[0]
    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_users_without_triples_contribute_zero():
    assert bpr_logp(np.ones((3, 2)), np.array([[1, 0, 1]])).eval()[[0, 2]].tolist() == [0, 0]


def test_the_two_outcomes_of_a_triple_have_probabilities_that_sum_to_one():
    both = triple_logp(np.array([[0.3, -1.2]] * 3), np.array([0, 1, 2])).exp().eval()
    np.testing.assert_allclose(both, [1 / (1 + np.exp(-1.5)), 1 / (1 + np.exp(1.5)), 0.0])
