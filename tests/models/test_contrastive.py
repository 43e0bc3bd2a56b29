"""Contrastive divergence: its exact expectation by enumeration, its fixed point, bad input."""

import numpy as np
import pytest
from scipy.optimize import root

from bayesrank.data import Rankings
from models.pmop_sampling.chains import KERNELS
from models.pmop_sampling.contrastive import cd_gradient, choices, fit_cd
from models.pmop_sampling.model import SET_FUNCTIONS, evaluate, set_gradient
from tests.models.enumeration import (
    all_sets,
    gibbs_matrix,
    index_of,
    metropolis_matrix,
    normalised,
)

SIGMAS = 5.33  # a normal error is further off once in ten million
MATRICES = {"gibbs": gibbs_matrix, "metropolis": metropolis_matrix}

each_function = pytest.mark.parametrize("name", SET_FUNCTIONS)
each_kernel = pytest.mark.parametrize("kernel", KERNELS)


def moments(name, w, member, kernel="gibbs", steps=1):
    """Mean and variance of a CD gradient: (n,), (n,), over all sets a chain may end in."""
    function, sets = SET_FUNCTIONS[name], all_sets(w.size)
    matrix = MATRICES[kernel](evaluate(function, w, sets), w.size)
    end = np.linalg.matrix_power(matrix, steps)[index_of(member)]
    slopes = set_gradient(function, w, sets)
    mean = end @ slopes
    return slopes[index_of(member)] - mean, end @ slopes**2 - mean**2


def likelihood_slope(name, w, member):
    """The gradient that CD approximates."""
    function, sets = SET_FUNCTIONS[name], all_sets(w.size)
    slopes = set_gradient(function, w, sets)
    return slopes[index_of(member)] - normalised(evaluate(function, w, sets)) @ slopes


W = np.array([0.8, -0.4, 0.1])


# Gradients


@each_kernel
@each_function
@pytest.mark.parametrize("steps", [1, 3])
def test_the_mean_of_gradients_is_that_of_enumeration(kernel, name, steps, rng):
    number = 4000
    for member in all_sets(3):
        mean, variance = moments(name, W, member, kernel, steps)
        many = np.tile(member, (number, 1))
        drawn = cd_gradient(SET_FUNCTIONS[name], W, many, steps=steps, kernel=kernel, rng=rng)
        error = np.sqrt(variance / number)
        assert (np.abs(drawn.mean(axis=0) - mean) <= SIGMAS * error + 1e-12).all()


def test_with_one_step_it_is_not():
    member = np.array([True, False, False])
    bias = moments("mean", W, member)[0] - likelihood_slope("mean", W, member)
    assert np.abs(bias).max() > 0.02


# Choices


def test_a_weak_order_is_a_choice_per_block():
    row, member, where = choices(np.array([[1, 2, 2, 3], [1, 1, 0, 0], [1, 2, 0, 0], [1, 0, 0, 0]]))
    assert sorted(zip(row.tolist(), member.tolist(), where.tolist(), strict=True)) == [
        (0, [False, True, True, False], [False, True, True, True]),
        (0, [True, False, False, False], [True, True, True, True]),
        (1, [True, True, False, False], [True, True, False, False]),  # both, not one of them
        (2, [True, False, False, False], [True, True, False, False]),
    ]  # a last block of one item, and a ranking of one, leave no choice


# Fits


RANKINGS = Rankings.from_orderings(
    [
        ["a", {"b", "c"}, "d"],
        [{"a", "b"}, "c", "d"],
        ["b", {"a", "c", "d"}],
        [{"a", "d"}, {"b", "c"}],
        ["a", "d"],
        ["c", "a", {"b", "d"}],
    ],
    rest=(),
)


def solution(name, rankings, ridge, slope_of):
    """Utilities at which the penalised gradient is zero, by `slope_of` of (name, w, member)."""

    def total_slope(utility):
        total = -ridge * utility
        for row, member, where in zip(*choices(rankings.ranks), strict=True):
            items = rankings.item[row][where]
            slope = slope_of(name, utility[items], member[where])
            total[items] += rankings.weight[row] * slope
        return total

    found = root(total_slope, np.zeros(rankings.n_items), tol=1e-10)
    assert found.success
    return found.x


def one_step(name, w, member):
    return moments(name, w, member)[0]


# Every set function with a smooth gradient
@pytest.mark.parametrize("name", ["mean", "geometric", "harmonic"])
def test_a_fit_settles_where_the_expected_gradient_is_zero(name):
    expected = solution(name, RANKINGS, 1.0, one_step)
    fit = fit_cd(SET_FUNCTIONS[name], RANKINGS, epochs=3000, ridge=1.0, rng=1)
    assert np.abs(expected).max() > 0.3
    # over 20 seeds the errors of coefficients had sd 0.012 and were 0.04 at most
    np.testing.assert_allclose(fit.coefficient, expected, atol=0.07)
    # near enough to tell it from the maximum of the likelihood
    best = solution(name, RANKINGS, 1.0, likelihood_slope)
    assert np.abs(expected - best).max() > 0.14
