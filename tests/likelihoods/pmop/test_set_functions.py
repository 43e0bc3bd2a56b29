"""Set functions and their normalisers: against all subsets, and against slow routes for 200 items.

A remainder is normalised in three ways: over all sizes, over a given one, and with weighted sizes.
"""

import functools
from math import comb, log

import numpy as np
import pytest
from scipy.special import logsumexp

from bayesrank.likelihoods.pmop.set_kernels import (
    AGGREGATES,
    FREE,
    score_kernel,
    set_normaliser_kernel,
)
from tests.likelihoods.loops import for_each
from tests.oracles import (
    dense_harmonic,
    gradient,
    harmonic_by_counting,
    log_mean_worth,
    log_set_weights,
    log_sums_by_size,
    subsets,
)

SPREADS = (0.0, 0.5, 1.0, 3.0, 5.0)
EQUAL = np.empty(0)  # weights of sizes
TIES = np.log([1.0, 0.3, 2.5, 1e-3])  # sets of up to four


def normaliser(w, aggregate, size=FREE, log_weight=EQUAL):
    w, log_weight = np.array(w, dtype=float), np.array(log_weight, dtype=float)
    slope, chances = np.full(w.size, np.nan), np.full(log_weight.size, np.nan)
    code = AGGREGATES.index(aggregate)
    return set_normaliser_kernel(w, code, size, log_weight, slope, chances), slope, chances


def score(w, aggregate):
    w = np.array(w, dtype=float)
    slope = np.full(w.size, np.nan)
    return score_kernel(w, AGGREGATES.index(aggregate), slope), slope


# By hand

MEANS_OF_1_AND_4 = {"mean": 5 / 2, "max": 4, "min": 1, "geometric": 2, "harmonic": 8 / 5}


@for_each("aggregate", AGGREGATES)
def test_the_five_means_of_one_and_four_by_hand(aggregate):
    exact = MEANS_OF_1_AND_4[aggregate]
    assert score(np.log([4.0, 1.0]), aggregate)[0] == pytest.approx(log(exact), abs=1e-15)
    both = log_mean_worth(np.log([4.0, 1.0]), np.array([[True, True]]), aggregate)
    assert both.item() == pytest.approx(log(exact), abs=1e-15)
    # the sets are {1}, {4} and both
    total, _, _ = normaliser(np.log([4.0, 1.0]), aggregate)
    assert total == pytest.approx(log(1 + 4 + exact), abs=1e-12)
    assert normaliser(np.log([4.0, 1.0]), aggregate, 1)[0] == pytest.approx(log(5), abs=1e-12)
    assert normaliser(np.log([4.0, 1.0]), aggregate, 2)[0] == pytest.approx(log(exact), abs=1e-12)
    weighted, _, chances = normaliser(np.log([4.0, 1.0]), aggregate, FREE, np.log([1.0, 3.0]))
    assert weighted == pytest.approx(log(5 + 3 * exact), abs=1e-12)
    share = 5 / (5 + 3 * exact)
    np.testing.assert_allclose(chances, [share, 1 - share], atol=1e-12)


@for_each("n", [1, 2, 3, 31, 200, 1000])
@for_each("aggregate", AGGREGATES)
def test_sets_of_equal_items_are_counted(aggregate, n):
    total, slope, _ = normaliser(np.full(n, 0.7), aggregate)
    assert total == pytest.approx(0.7 + n * log(2) + np.log1p(-(2.0**-n)), rel=3e-14, abs=1e-13)
    np.testing.assert_allclose(slope.sum(), 1.0, atol=1e-12)
    for m in {1, (n + 1) // 2, n}:
        log_total = normaliser(np.full(n, 0.7), aggregate, m)[0]
        assert log_total == pytest.approx(0.7 + log(comb(n, m)), rel=4e-14, abs=1e-13)


# Against all subsets


@for_each("spread", SPREADS)
@for_each("n", [2, 3, 5, 8])
@for_each("aggregate", AGGREGATES)
def test_every_normaliser_is_the_sum_over_all_subsets(aggregate, rng, n, spread):
    w = rng.normal(scale=spread, size=n)
    exact = logsumexp(log_set_weights(w, aggregate))
    assert normaliser(w, aggregate)[0] == pytest.approx(exact, abs=1e-12)
    for m in range(1, n + 1):
        exact = logsumexp(log_set_weights(w, aggregate, m))
        assert normaliser(w, aggregate, m)[0] == pytest.approx(exact, abs=1e-12)
    for log_weight in (TIES, np.zeros(n), np.log([1.0]), rng.normal(scale=4.0, size=n + 3)):
        weights = log_set_weights(w, aggregate, 0, log_weight)
        total, _, chances = normaliser(w, aggregate, FREE, log_weight)
        assert total == pytest.approx(logsumexp(weights), abs=1e-12)
        sizes = subsets(n).sum(axis=1)
        share = np.bincount(sizes, np.exp(weights - logsumexp(weights)), chances.size + n)[1:]
        np.testing.assert_allclose(chances, share[: chances.size], atol=1e-12)
        assert chances.sum() == pytest.approx(1.0, abs=1e-12)


@for_each("aggregate", AGGREGATES)
def test_the_score_of_a_set_is_its_mean(aggregate, rng):
    for n in range(1, 9):
        w = rng.normal(scale=3.0, size=n)
        value, slope = score(w, aggregate)
        exact = log_mean_worth(w, np.full((1, n), True), aggregate).item()
        assert value == pytest.approx(exact, abs=1e-14)
        numeric = gradient(lambda u: score(u, aggregate)[0], w)
        np.testing.assert_allclose(slope, numeric, atol=1e-8)
        assert slope.sum() == pytest.approx(1.0, abs=1e-14)


# Gradients


@for_each("spread", [1.0, 5.0])
@for_each("aggregate", AGGREGATES)
def test_gradients_are_differences_of_the_sum_over_all_subsets(aggregate, rng, spread):
    w = rng.normal(scale=spread, size=6)
    cases = [(FREE, EQUAL), *((m, EQUAL) for m in range(1, 7)), (FREE, TIES)]
    for size, log_weight in cases:
        _, slope, chances = normaliser(w, aggregate, size, log_weight)
        numeric = gradient(lambda u: logsumexp(log_set_weights(u, aggregate, size, log_weight)), w)  # noqa: B023
        np.testing.assert_allclose(slope, numeric, atol=1e-8)
    numeric = gradient(lambda d: logsumexp(log_set_weights(w, aggregate, 0, d)), TIES)
    np.testing.assert_allclose(chances, numeric, atol=1e-8)


@for_each("spread", [0.5, 5.0])
@for_each("n", [70, 200])
@for_each("aggregate", AGGREGATES)
def test_gradients_of_many_items_are_differences_and_add_up_to_one(aggregate, rng, n, spread):
    w = rng.normal(scale=spread, size=n)
    items = rng.permutation(n)[:4]

    def moved(h, size, log_weight):
        u = w.copy()
        u[items] += h
        return normaliser(u, aggregate, size, log_weight)[0]

    ties = np.append(0.0, rng.normal(scale=3.0, size=44))
    for size, log_weight in ((FREE, EQUAL), (n // 2, EQUAL), (34, EQUAL), (FREE, ties)):
        _, slope, chances = normaliser(w, aggregate, size, log_weight)
        at = functools.partial(moved, size=size, log_weight=log_weight)
        numeric = gradient(at, np.zeros(4))
        np.testing.assert_allclose(slope[items], numeric, atol=1e-7)
        assert slope.sum() == pytest.approx(1.0, abs=1e-11)
    assert chances.sum() == pytest.approx(1.0, abs=1e-12)


# Many items: slow routes


@functools.cache
def two_hundred(aggregate, spread):
    """Utilities of 200 items, and log Z of each size by the slow route."""
    w = np.random.default_rng(int(10 * spread)).normal(scale=spread, size=200)
    return w, log_sums_by_size(w, aggregate)


@pytest.mark.slow
@for_each("spread", (0.0, 1.0, 5.0))
@for_each("aggregate", AGGREGATES)
def test_two_hundred_items_equal_the_slow_route(aggregate, spread):
    w, by_size = two_hundred(aggregate, spread)
    assert normaliser(w, aggregate)[0] == pytest.approx(logsumexp(by_size), abs=1e-11)
    values = [normaliser(w, aggregate, m)[0] for m in range(1, 201)]
    np.testing.assert_allclose(values, by_size, atol=1e-11)
    for log_weight in (TIES, np.linspace(0.0, -3.0, 40), np.linspace(0.0, -150.0, 200)):
        d = log_weight.size
        total, _, chances = normaliser(w, aggregate, FREE, log_weight)
        assert total == pytest.approx(logsumexp(by_size[:d] + log_weight), abs=1e-11)
        np.testing.assert_allclose(chances, np.exp(by_size[:d] + log_weight - total), atol=1e-11)


@for_each("aggregate", AGGREGATES)
def test_the_slow_routes_are_the_sum_over_all_subsets(aggregate, rng):
    for spread in SPREADS:
        w = rng.normal(scale=spread, size=9)
        exact = [logsumexp(log_set_weights(w, aggregate, m)) for m in range(1, 10)]
        np.testing.assert_allclose(log_sums_by_size(w, aggregate), exact, atol=1e-12)


def test_the_nodes_of_the_slow_route_count_as_integers_do(rng):
    inverse = rng.integers(1, 61, size=200)
    exact = harmonic_by_counting(inverse)
    np.testing.assert_allclose(dense_harmonic(-np.log(inverse)), exact, atol=1e-12)
    w = -np.log(inverse)
    assert normaliser(w, "harmonic")[0] == pytest.approx(logsumexp(exact), abs=1e-11)
    values = [normaliser(w, "harmonic", m)[0] for m in range(1, 201)]
    np.testing.assert_allclose(values, exact, atol=1e-11)


# The integrand of the harmonic mean can have two modes


def harmonic_integrand(w, x):
    """Logarithm of what is integrated over x = log t for subsets of all sizes."""
    tau = np.exp(x - w[:, None])
    q = np.exp(-tau)
    log_share = -tau - np.log1p(q)
    return x + np.log1p(q).sum(axis=0) + logsumexp(log_share, axis=0)


def n_modes(w):
    slope = np.diff(harmonic_integrand(w, np.linspace(w.min() - 8.0, w.max() + 2.0, 5000)))
    return int(((slope[:-1] > 0) & (slope[1:] <= 0)).sum())


TWO_MODES = [
    np.append(np.zeros(20), 13.9),
    np.append(np.zeros(20), [13.9, 14.0, 14.5]),
    np.append(np.zeros(40), 27.0),
]


@for_each("w", TWO_MODES)
def test_an_integrand_of_two_modes_is_integrated_over_both(w):
    assert n_modes(w) == 2
    assert n_modes(np.zeros(21)) == 1
    by_size = dense_harmonic(w)
    total, slope, _ = normaliser(w, "harmonic")
    assert total == pytest.approx(logsumexp(by_size), abs=1e-12)
    assert slope[-1] > 0.1  # neither mode is all there is
    assert slope[w == 0].sum() > 0.1
    for m in (2, 5, 10, 15, 20):
        assert normaliser(w, "harmonic", m)[0] == pytest.approx(by_size[m - 1], abs=1e-12)


def test_clusters_far_and_near_of_any_weight_are_exact(rng):
    for _ in range(60):
        n, places = rng.integers(2, 60), rng.normal(scale=rng.uniform(0, 40), size=3)
        w = rng.choice(places, size=n, p=rng.dirichlet(np.full(3, 0.4))) + rng.normal(size=n)
        by_size = dense_harmonic(w, nodes=6000)
        m = int(rng.integers(1, n + 1))
        assert normaliser(w, "harmonic")[0] == pytest.approx(logsumexp(by_size), abs=1e-11)
        assert normaliser(w, "harmonic", m)[0] == pytest.approx(by_size[m - 1], abs=1e-11)


# Extremes and symmetries

FAR = [
    [1000.0, -1000.0],
    [1000.0, 1000.0, -1000.0],
    [1000.0, -1000.0, -1000.0, 0.0],
    [-1000.0, -1000.0, -1000.0],
    [1000.0, 999.0, -1000.0, -999.0, 3.0, 3.0, 0.0],
]


@for_each("w", FAR)
@for_each("aggregate", AGGREGATES)
def test_utilities_of_plus_and_minus_1000_lose_nothing(aggregate, w):
    w = np.array(w)
    cases = [(FREE, EQUAL), *((m, EQUAL) for m in range(1, w.size + 1)), (FREE, TIES)]
    for size, log_weight in cases:
        total, slope, _ = normaliser(w, aggregate, size, log_weight)
        exact = logsumexp(log_set_weights(w, aggregate, size, log_weight))
        assert total == pytest.approx(exact, abs=1e-12, rel=1e-15)
        assert np.isfinite(slope).all()
        assert slope.sum() == pytest.approx(1.0, abs=1e-12)


@for_each("aggregate", AGGREGATES)
def test_weights_may_favour_large_sets_over_far_better_ones(aggregate):
    w = np.array([1000.0, 0.0, 1.0, -5.0])
    for log_weight in ([0.0, 600.0], [0.0, 0.0, 900.0], [0.0, 2000.0, 0.0, 2000.0]):
        weights = log_set_weights(w, aggregate, 0, np.array(log_weight))
        total, slope, chances = normaliser(w, aggregate, FREE, log_weight)
        assert total == pytest.approx(logsumexp(weights), rel=1e-15)
        assert slope.sum() == pytest.approx(1.0, abs=1e-12)
        assert chances.sum() == pytest.approx(1.0, abs=1e-12)


@for_each("aggregate", AGGREGATES)
def test_weights_of_sizes_do_not_matter_where_the_size_is_given(aggregate, rng):
    w = rng.normal(size=7)
    plain, weighted = (normaliser(w, aggregate, 3, d) for d in (EQUAL, TIES))
    assert plain[0] == weighted[0]
    np.testing.assert_array_equal(plain[1], weighted[1])
