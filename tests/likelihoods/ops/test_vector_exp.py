"""Exponential functions and logarithm of vector instructions against those of the C library."""

import math

import numba
import numpy as np

from bayesrank.likelihoods.ops.vector_exp import FARTHEST, vector_exp, vector_expm1, vector_log
from tests.likelihoods.loops import for_each


def over_arrays(function, **options):
    """Compile a loop that evaluates a function at each entry."""

    @numba.njit(**options)
    def every(x):
        out = np.empty_like(x)
        for i in range(x.size):
            out[i] = function(x[i])
        return out

    return every


exp_of, fast = over_arrays(vector_exp), over_arrays(vector_exp, fastmath=True)
less_one, logarithms = over_arrays(vector_expm1), over_arrays(vector_log)


def test_it_is_within_two_units_in_the_last_place(rng):
    steps = np.log(2) / 2 * np.arange(-2043, 2045)  # where rounding changes, and the middles
    x = np.concatenate([rng.uniform(-708, 709, 200_000), rng.uniform(-1, 1, 200_000), steps])
    expected = np.exp(x)
    assert (np.abs(exp_of(x) - expected) <= 2 * np.spacing(expected)).all()


def test_less_one_it_is_within_three_units_in_the_last_place_also_near_zero(rng):
    small = rng.choice([-1, 1], 100_000) * 10 ** rng.uniform(-300, 0, 100_000)
    steps = np.log(2) / 2 * np.arange(-2019, 2019)
    x = np.concatenate([rng.uniform(-FARTHEST, FARTHEST, 200_000), small, steps, [0.0]])
    expected = np.expm1(x)
    assert (np.abs(less_one(x) - expected) <= 3 * np.spacing(np.abs(expected))).all()


@for_each("x", [0.0, -0.0, 1e-300, -1e-20])
def test_it_is_one_at_zero_and_beside_it(x):
    assert exp_of(np.array([x])).tolist() == [1.0]


def test_nan_stays_nan_and_numbers_in_reach_are_not_disturbed_by_their_neighbours():
    x = np.array([math.nan, -1.0, math.inf, -math.inf, 1e308, 2.0, -1e308, 0.0])
    out = exp_of(x)
    assert math.isnan(out[0])
    np.testing.assert_allclose(out[[1, 5, 7]], [math.exp(-1), math.exp(2), 1.0], rtol=1e-15)


def test_it_survives_arithmetic_that_may_be_reordered(rng):
    x = rng.uniform(-500, 0, 10_000)
    np.testing.assert_allclose(fast(x), np.exp(x), rtol=1e-13)


def test_the_logarithm_is_within_two_units_in_the_last_place(rng):
    near_one = 1 + rng.choice([-1, 1], 50_000) * 10 ** rng.uniform(-16, -0.5, 50_000)
    octaves = 2.0 ** np.arange(-1022, 1024)
    steps = np.concatenate([octaves, np.nextafter(octaves, 0)[1:], octaves * np.sqrt(0.5)])
    wide = np.exp(rng.uniform(-708, 709, 200_000))
    for x in (near_one, steps[steps >= 2.0**-1022], wide):
        expected = np.log(x)
        assert (np.abs(logarithms(x) - expected) <= 2 * np.spacing(np.abs(expected))).all()
