"""Exact draws of sets: frequencies against listed probabilities.

A frequency test raises a false alarm once in 10^8, and each has a twin that must not pass.
"""

import numpy as np
import pytest
from scipy.special import logsumexp

from bayesrank.likelihoods.pmop.draw_kernels import draw_subset_kernel, harmonic_nodes
from bayesrank.likelihoods.pmop.set_kernels import AGGREGATES, FREE, STEP, set_normaliser_kernel
from tests.likelihoods.loops import for_each
from tests.oracles import frequency_p_value, log_set_weights

FALSE_ALARM = 1e-8
EQUAL = np.empty(0)
TIES = np.log([1.0, 0.4, 2.0])
N_DRAWS = 15_000
OTHER = np.array([0.4, -0.4, 0.0, 0.0, 0.0])  # off by so much must be told apart


def generator(seed):
    return np.array([seed], dtype=np.uint64)


def draw_subsets(w, aggregate, size, log_weight, n_draws, seed=1):
    state, code = generator(seed), AGGREGATES.index(aggregate)
    draws = (draw_subset_kernel(w, code, size, log_weight, state) for _ in range(n_draws))
    return np.fromiter(draws, dtype=(bool, w.size), count=n_draws)


def set_index(members):
    """Position in `subsets`: a binary number, less one."""
    return members @ (2 ** np.arange(members.shape[-1])[::-1]) - 1


CASES = [(FREE, EQUAL), (1, EQUAL), (2, EQUAL), (3, EQUAL), (FREE, TIES)]


@for_each(("size", "log_weight"), CASES)
@for_each("aggregate", AGGREGATES)
def test_sets_come_in_proportion_to_their_mean_worth(aggregate, size, log_weight):
    w = np.array([0.3, 2.0, -1.5, 0.9, 0.0])
    members = draw_subsets(w, aggregate, size, log_weight, N_DRAWS)
    weights = log_set_weights(w, aggregate, size, log_weight)
    drawn = set_index(members)
    assert frequency_p_value(drawn, np.exp(weights - logsumexp(weights))) > FALSE_ALARM
    # and other utilities are told apart
    other = log_set_weights(w + OTHER, aggregate, size, log_weight)
    assert frequency_p_value(drawn, np.exp(other - logsumexp(other))) < FALSE_ALARM


@for_each("aggregate", AGGREGATES)
def test_all_and_one_are_certain(aggregate):
    for n, size in ((1, FREE), (1, 1), (4, 4)):
        assert draw_subsets(np.zeros(n), aggregate, size, EQUAL, 20).all()


@pytest.mark.slow
@for_each("size", [FREE, 300])
@for_each("aggregate", AGGREGATES)
def test_a_thousand_items_are_included_as_often_as_normalisers_say(aggregate, size, rng):
    w = rng.normal(scale=2.0, size=1000)
    n_draws = 400
    members = draw_subsets(w, aggregate, size, EQUAL, n_draws)
    if size:
        np.testing.assert_array_equal(members.sum(axis=1), size)
    items = np.argsort(w)[[0, 100, 300, 500, 650, 800, 950, 990, 999]]
    chance = np.array([inclusion(w, i, aggregate, size) for i in items])
    z = (members[:, items].sum(axis=0) - n_draws * chance) / np.sqrt(
        n_draws * np.maximum(chance * (1 - chance), 1 / n_draws)
    )
    assert np.abs(z).max() < 6.5  # once in 10^9, were it normal


def inclusion(w, i, aggregate, size):
    """1 - Z(without item i) / Z: the probability that a set has item i."""
    slope, code = np.empty(w.size), AGGREGATES.index(aggregate)
    others = np.delete(w, i)
    return -np.expm1(
        set_normaliser_kernel(others, code, size, EQUAL, slope[1:], EQUAL.copy())
        - set_normaliser_kernel(w, code, size, EQUAL, slope, EQUAL.copy())
    )


@for_each("spread", [0.0, 2.0])
@for_each("aggregate", AGGREGATES)
def test_sizes_come_in_proportion_to_their_weighted_normalisers(aggregate, rng, spread):
    # weights of one sign would leave most sizes without draws
    w, log_weight = rng.normal(scale=spread, size=30), np.linspace(0.0, -15.0, 25)
    slope, chances = np.empty(30), np.empty(25)
    set_normaliser_kernel(w, AGGREGATES.index(aggregate), FREE, log_weight, slope, chances)
    drawn = draw_subsets(w, aggregate, FREE, log_weight, 500).sum(axis=1) - 1
    assert frequency_p_value(drawn, chances) > FALSE_ALARM
    other = chances * np.exp(0.5 * np.arange(25))
    if chances.max() < 0.9:  # or there is hardly a choice
        assert frequency_p_value(drawn, other / other.sum()) < FALSE_ALARM


@for_each("size", [FREE, 2, 20, 39])
@for_each("spread", [0.0, 2.0, 300.0])
def test_the_terms_of_the_nodes_add_up_to_the_normaliser(rng, size, spread):
    w, slope = rng.normal(scale=spread, size=40), np.empty(40)
    *_, log_f = harmonic_nodes(w, size)
    code = AGGREGATES.index("harmonic")
    exact = set_normaliser_kernel(w, code, size, EQUAL, slope, EQUAL.copy())
    np.testing.assert_allclose(logsumexp(log_f) + np.log(STEP), exact, rtol=1e-13, atol=1e-12)
