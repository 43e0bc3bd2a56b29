"""Normalisers of Mallows models: against enumeration, closed forms, and each other."""

import functools

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from scipy.special import gammaln

from bayesrank.likelihoods.mallows import DISTANCES, log_normaliser
from bayesrank.likelihoods.mallows.footrule import footrule_table
from tests.likelihoods.loops import for_each
from tests.likelihoods.mallows.permutations import distances, log_z

ALPHA = np.array([0.0, 1e-9, 0.7, 4.0, 25.0])


@functools.cache
def normaliser(n, distance, mode="FAST_COMPILE"):
    """Log normaliser of several alpha, and its gradient."""
    alpha = pt.dvector("alpha")
    found = log_normaliser(alpha, n, distance)
    return pytensor.function([alpha], [found, pytensor.grad(found.sum(), alpha)], mode=mode)


@for_each("distance", DISTANCES)
@for_each("n", [1, 2, 6, 7])
def test_normalisers_are_sums_over_all_rankings(distance, n):
    value, slope = normaliser(n, distance)(ALPHA)
    expected = np.array([log_z(alpha, n, distance) for alpha in ALPHA])
    np.testing.assert_allclose(value, expected, rtol=0, atol=1e-10)
    # the slope is less the expected distance, over n
    d = distances(distance, n) / n
    p = np.exp(-np.outer(ALPHA, d) - expected[:, None])
    np.testing.assert_allclose(slope, -p @ d, atol=1e-9)


def test_second_derivatives_are_variances_of_the_distance():
    alpha = pt.dscalar("alpha")
    slope = pytensor.grad(log_normaliser(alpha, 5, "footrule"), alpha)
    found = pytensor.function([alpha], pytensor.grad(slope, alpha))(2.0)
    d = distances("footrule", 5) / 5
    p = np.exp(-2.0 * d - log_z(2.0, 5, "footrule"))
    assert found == pytest.approx(p @ d**2 - (p @ d) ** 2, rel=1e-7)


@for_each("distance", DISTANCES)
def test_huge_alpha_leaves_one_ranking(distance):
    value, slope = normaliser(7, distance)(np.array([1e4, 1e12, 1e300]))
    np.testing.assert_allclose(value, 0.0, atol=1e-12)
    np.testing.assert_allclose(slope, 0.0, atol=1e-12)


@for_each(("distance", "n"), [("footrule", 200), ("spearman", 16), ("kendall", 200)])
def test_at_alpha_zero_it_counts_the_rankings(distance, n):
    value, slope = normaliser(n, distance)(np.zeros(1))
    np.testing.assert_allclose(value, gammaln(n + 1.0), rtol=1e-13)
    # expected distances of random rankings
    expected = {
        "footrule": (n**2 - 1) / 3,
        "spearman": n * (n**2 - 1) / 6,
        "kendall": n * (n - 1) / 4,
    }
    np.testing.assert_allclose(slope, -expected[distance] / n, rtol=1e-9)


def test_interpolation_has_the_values_of_the_sums_between_its_points(rng):
    alpha = 60 * np.exp(rng.uniform(-9, 3, 50))
    expected = [footrule_table(a / 60, 60)[60, 0] for a in alpha]
    np.testing.assert_allclose(normaliser(60, "footrule")(alpha)[0], expected, atol=1e-10)


def test_kendall_matches_the_figure_of_bayesmallows():
    # BayesMallows 2.2, tests/testthat/test-partition_function.R: n = 10, alpha = 3
    assert normaliser(10, "kendall")([3.0])[0][0] == pytest.approx(9.69641008, abs=5e-9)


@pytest.mark.slow  # JAX compiles each
@for_each(("distance", "n"), [("footrule", 6), ("spearman", 5)])
def test_jax_agrees(distance, n):
    for found, expected in zip(
        normaliser(n, distance, "JAX")(ALPHA), normaliser(n, distance)(ALPHA), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-11)


def test_numbers_are_of_double_precision_even_if_single_ones_hold_them():
    exact = sum(np.log(np.exp(-np.arange(j)).sum()) for j in range(1, 13))
    assert float(log_normaliser(12.0, 12, "kendall").eval()) == pytest.approx(exact, abs=1e-13)


def test_an_unknown_distance_is_refused():
    known = "must be one of 'footrule', 'spearman', 'kendall'"
    with pytest.raises(ValueError, match=f"`distance` is 'foot'; it {known}.$"):
        log_normaliser(1.0, 5, "foot")
    with pytest.raises(ValueError, match=r"at most 22 items, .*; there are 23\."):
        log_normaliser(1.0, 23, "spearman")
