"""Terms that draws choose from: they add up to the normalisers, and bounds are above what they
bound."""

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from bayesrank.likelihoods.pmop.draw_kernels import geometric_bounds, harmonic_nodes, harmonic_terms
from bayesrank.likelihoods.pmop.set_kernels import AGGREGATES, FREE, STEP, set_normaliser_kernel
from tests.likelihoods.loops import for_each

EQUAL = np.empty(0)
GEOMETRIC, HARMONIC = AGGREGATES.index("geometric"), AGGREGATES.index("harmonic")


def normaliser(w, aggregate, size=FREE, log_weight=EQUAL):
    """Logarithm, and the probability of every size."""
    chances = np.empty(log_weight.size)
    return set_normaliser_kernel(w, aggregate, size, log_weight, np.empty(w.size), chances), chances


def log_binomial(n, k):
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)


# The harmonic mean


@for_each("size", [FREE, 2, 20, 39])
@for_each("spread", [0.0, 2.0, 300.0])
def test_the_terms_of_the_nodes_add_up_to_the_normaliser(rng, size, spread):
    w = rng.normal(scale=spread, size=40)
    *_, log_f = harmonic_nodes(w, size)
    exact, _ = normaliser(w, HARMONIC, size)
    np.testing.assert_allclose(logsumexp(log_f) + np.log(STEP), exact, rtol=1e-13, atol=1e-12)


@for_each("weight_spread", [0.0, 5.0, 400.0])
@for_each("spread", [0.0, 2.0, 300.0])
@for_each(("n", "n_weights"), [(2, 1), (3, 3), (4, 9), (40, 12), (40, 40)])
def test_the_terms_by_node_and_size_add_up_to_the_normaliser_and_its_sizes(
    rng, n, n_weights, spread, weight_spread
):
    w, log_weight = (
        rng.normal(scale=spread, size=n),
        rng.normal(scale=weight_spread, size=n_weights),
    )
    *_, terms = harmonic_terms(w, log_weight)
    exact, chances = normaliser(w, HARMONIC, FREE, log_weight)
    assert terms.shape[1] == min(n, n_weights)
    np.testing.assert_allclose(logsumexp(terms) + np.log(STEP), exact, rtol=1e-13, atol=1e-12)
    share = np.exp(logsumexp(terms, axis=0) - logsumexp(terms))
    np.testing.assert_allclose(share, chances[: share.size], atol=1e-11)


@for_each(
    "log_weight",
    [
        np.zeros(3),  # less than the smallest double of all sets
        np.zeros(1500),
        np.where(np.isin(np.arange(1500), [0, 749, 1499]), 0.0, -1200.0),
        np.linspace(0.0, 3000.0, 1500),
    ],
)
def test_sizes_that_underflow_in_a_thousand_and_a_half_equal_items_are_not_lost(log_weight):
    # any mean of equal items is their worth
    w, m = np.zeros(1500), np.arange(1, log_weight.size + 1)
    by_size = log_weight + log_binomial(1500, m)
    *_, terms = harmonic_terms(w, log_weight)
    found = logsumexp(terms, axis=0) + np.log(STEP)
    large = by_size > by_size.max() - 30
    np.testing.assert_allclose(found[large], by_size[large], rtol=1e-13, atol=1e-11)
    assert found[~large].max(initial=-np.inf) < by_size.max() - 29


# The geometric mean


@for_each("spread", [0.0, 2.0, 50.0, 1000.0])
@for_each("n", [1, 2, 3, 40])
def test_bounds_are_above_the_sums_and_equal_for_single_items(rng, n, spread):
    w = rng.normal(scale=spread, size=n)
    exact = np.array([normaliser(w, GEOMETRIC, m)[0] for m in range(1, n + 1)])
    bound = geometric_bounds(w, n)
    assert (bound >= exact - 1e-12 * (1 + np.abs(exact))).all()
    assert bound[0] == pytest.approx(exact[0], abs=1e-12)
    np.testing.assert_array_equal(geometric_bounds(w, 1), bound[:1])


def test_bounds_of_equal_items_are_their_sums():
    np.testing.assert_allclose(
        geometric_bounds(np.full(50, 0.7), 50), 0.7 + log_binomial(50, np.arange(1, 51)), atol=1e-11
    )


@for_each("spread", [1.0, 5.0])
def test_proposals_of_sizes_of_a_thousand_items_are_seldom_rejected(rng, spread):
    w = rng.normal(scale=spread, size=1000)
    exact, _ = normaliser(w, GEOMETRIC)
    assert exact <= logsumexp(geometric_bounds(w, 1000)) < exact + 0.05
