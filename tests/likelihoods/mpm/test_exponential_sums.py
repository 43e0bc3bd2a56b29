"""Exponential sums by Chebyshev expansion: against SciPy's Bessel functions and NumPy's series."""

import math

import numpy as np
import pytest
from numpy.polynomial.chebyshev import chebval
from scipy.special import ive

from bayesrank.likelihoods.mpm.exponential_sums import (
    BLOCK,
    chebyshev_moments,
    coefficients,
    n_terms,
    odd_series,
    series,
)
from tests.likelihoods.loops import for_each

RATES = [0.0, 1e-12, 9e-10, 2e-9, 1e-5, 0.01, 0.3, 1.0, 5.0, 20.0, 100.0, 1000.0, 1e5]
SIZES = [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 1000]


def coefficients_at(a, n=None):
    out = np.full(n_terms(a) if n is None else n, np.nan)
    coefficients(a, out)
    return out


def bessel(a, terms):
    """Twice the scaled Bessel functions but for the first."""
    return ive(terms, a) * np.where(terms > 0, 2.0, 1.0)


@for_each("a", RATES)
def test_coefficients_are_bessel_functions_that_sum_to_one(a):
    c = coefficients_at(a)
    np.testing.assert_allclose(c, bessel(a, np.arange(c.size)), rtol=1e-11, atol=1e-17)
    assert math.fsum(c) == pytest.approx(1.0, abs=1e-15)
    assert (c >= 0).all()


@for_each("a", RATES)
def test_omitted_terms_are_below_rounding_and_few_others_are(a):
    terms = n_terms(a)
    assert bessel(a, np.arange(terms, terms + 2000)).sum() < 1e-16
    if a >= 1.0:
        assert bessel(a, np.arange(2 * terms // 3, terms)).sum() > 1e-16


@for_each("a", [0.0, 1e-5, 1.0, 30.0, 1000.0])
def test_the_expansion_is_the_exponential(a):
    x, out = np.linspace(-1.0, 1.0, 101), np.empty(101)
    series(x, coefficients_at(a), out)
    np.testing.assert_allclose(out, np.exp(a * x - a), atol=1e-14)


@for_each("n", SIZES)
@for_each("terms", [2, 3, 4, 37])
def test_moments_are_sums_of_polynomials(n, terms, rng):
    x = rng.uniform(-1.0, 1.0, n)
    x[:2] = [1.0, -1.0][:n]
    sums = [chebval(x, np.eye(terms)[m]).sum() for m in range(terms)]
    np.testing.assert_allclose(chebyshev_moments(x, terms), sums, atol=1e-11)


def test_moments_of_more_than_a_million_points_keep_their_digits(rng):
    x = rng.uniform(-1.0, 1.0, 1_400_000)
    moments, angle = chebyshev_moments(x, 25), np.arccos(x)
    for m in (0, 1, 2, 7, 24):
        exact = math.fsum(np.cos(m * angle))
        # of the sum of the magnitudes: what there is to be lost
        assert abs(moments[m] - exact) < 1e-15 * x.size
    exact = math.fsum(np.cos(2 * angle))
    assert moments[2] == pytest.approx(exact, rel=1e-12)


@for_each("n", SIZES)
@for_each("n_coefficients", [1, 2, 5, 6])
def test_series_are_those_of_numpy(n, n_coefficients, rng):
    x, c = rng.uniform(-1.0, 1.0, n), rng.normal(size=n_coefficients)
    out = np.full(n, np.nan)
    series(x, c, out)
    np.testing.assert_allclose(out, chebval(x, c), atol=1e-13)


@for_each("n", SIZES)
@for_each("n_coefficients", [1, 2, 5, 6])
def test_odd_series_are_those_of_numpy(n, n_coefficients, rng):
    x, c = rng.uniform(-1.0, 1.0, n), rng.normal(size=n_coefficients)
    out, every = np.full(n, np.nan), np.zeros(2 * n_coefficients)
    every[1::2] = c
    odd_series(x, c, out)
    np.testing.assert_allclose(out, chebval(x, every), atol=1e-13)
