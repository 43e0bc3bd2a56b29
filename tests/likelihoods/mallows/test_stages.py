"""Generalised Mallows models: choices by stage, against their definition and enumeration."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from bayesrank.likelihoods.mallows import (
    draw_rankings,
    mallows_logp,
    marginal_logp,
    marginal_stages_logp,
    stages_logp,
)
from bayesrank.likelihoods.mallows.op import PassedOver
from tests.likelihoods.loops import for_each
from tests.likelihoods.mallows.permutations import (
    by_stages,
    every_ranking,
    staged_logp,
)
from tests.oracles import frequency_p_value, gradient, places_in

MODE = "FAST_COMPILE"
TOPS = [[2, 1, 3, 3], [1, 2, 2, 2], [1, 1, 1, 1], [1, 3, 2, 4]]


@for_each(("n", "alpha"), [(1, [2.0]), (2, [1.5]), (4, [3.0, 0.0, 1.0]), (5, [4.0, 1.0]),
                           (8, [6.0, 3.0, 2.0, 1.0, 0.5, 0.2, 0.1])])  # fmt: skip
def test_probabilities_are_those_of_the_choices_and_sum_to_one(n, alpha):
    ranks = every_ranking(n)
    rho = np.random.default_rng(n).permutation(n) + 1
    logp = stages_logp(ranks, np.tile(rho, (len(ranks), 1)), alpha).eval(mode=MODE)
    assert np.exp(logp).sum() == pytest.approx(1.0, abs=1e-10)
    some = slice(None, None, max(1, len(ranks) // 50))
    exact = [by_stages(x, rho, alpha) for x in ranks[some]]
    np.testing.assert_allclose(logp[some], exact, atol=1e-10)


@for_each("alpha", [[3.0, 0.5, 1.0], [2.0]])
def test_top_k_lists_are_worth_all_that_completes_them(alpha):
    rho = np.tile([3, 1, 4, 2], (len(TOPS), 1))
    found = stages_logp(TOPS, rho, alpha).eval(mode=MODE)
    np.testing.assert_allclose(found, [staged_logp(x, rho[0], alpha) for x in TOPS], atol=1e-12)


def test_equal_concentrations_are_kendalls_distance():
    ranks, alpha = every_ranking(5), 3.0
    rho = np.tile([2, 5, 1, 3, 4], (len(ranks), 1))
    found = stages_logp(ranks, rho, np.full(4, alpha)).eval(mode=MODE)
    exact = mallows_logp(ranks, rho, alpha, "kendall").eval(mode=MODE)
    np.testing.assert_allclose(found, exact, atol=1e-12)


@for_each("shape", [(2,), (4, 2)])
def test_gradients_and_the_graph_of_the_kernel(shape):
    alpha = pt.tensor("alpha", shape=shape, dtype="float64")
    rho = np.tile([3, 1, 4, 2], (4, 1))
    logp = stages_logp(TOPS, rho, alpha)
    f = pytensor.function([alpha], [logp, pytensor.grad(logp.sum(), alpha)], mode=MODE)
    at = np.resize([[1.2, 0.0], [8.0, 4.0], [2.0, 240.0], [0.0, 2.8]], shape)
    rows = np.broadcast_to(at, (4, 2))
    value, slope = f(at)
    expected = [staged_logp(x, r, a) for x, r, a in zip(TOPS, rho, rows, strict=True)]
    np.testing.assert_allclose(value, expected, atol=1e-12)
    numeric = gradient(lambda a: float(f(a.reshape(shape))[0].sum()), at.ravel()).reshape(shape)
    np.testing.assert_allclose(slope, numeric, atol=1e-6)
    inputs = [pt.constant(np.array(x)) for x in (np.zeros(2), TOPS, rho)]
    both = PassedOver()(*inputs), PassedOver().graph(*inputs)
    np.testing.assert_array_equal(*(x.eval(mode=MODE) for x in both))


def test_with_equal_concentrations_the_sum_is_that_of_kendalls_distance(rng):
    ranks = rng.permuted(np.tile(np.arange(1, 9), (6, 1)), axis=1)
    found = marginal_stages_logp(ranks, np.full(7, 2.5)).eval(mode=MODE)
    exact = marginal_logp(ranks, 2.5, distance="kendall").eval(mode=MODE)
    assert found == pytest.approx(exact, abs=1e-10)


@for_each("alpha", [[2.0, 0.0, 1.0], [3.0]])
def test_draws_have_the_frequencies_of_their_probabilities(alpha):
    rho, options = np.array([3, 1, 4, 2]), {"distance": "kendall", "by_stage": True}
    drawn = draw_rankings(rho, alpha, 1, shape=(20_000,), **options).eval(mode=MODE)
    expected = np.exp([by_stages(x, rho, alpha) for x in every_ranking(4)])
    assert frequency_p_value(places_in(every_ranking(4), drawn), expected) > 1e-8
