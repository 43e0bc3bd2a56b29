"""Samplers and AIS against enumeration: exact matrices, chi-square, and what must fail."""

from math import comb

import numpy as np
import pytest

from models.pmop_sampling.chains import KERNELS, Sets
from models.pmop_sampling.model import SET_FUNCTIONS, each_set, evaluate
from models.pmop_sampling.sampling import ais_log_normaliser, gibbs_sets, metropolis_sets
from tests.models.enumeration import (
    all_sets,
    chi_square_p_value,
    gibbs_matrix,
    metropolis_matrix,
    normalised,
    total_variation,
)

# Each test of draws gives a false alarm once in ten million; for a normal error that is 5.3
# standard errors to either side.
ALARM, SIGMAS = 1e-7, 5.33


def log_product(utility, member):
    return np.where(member, utility, 0.0).sum(axis=-1)


FUNCTIONS = {**SET_FUNCTIONS, "median": each_set(np.median), "product": log_product}
MATRICES = {"gibbs": gibbs_matrix, "metropolis": metropolis_matrix}
SAMPLERS = {"gibbs": gibbs_sets, "metropolis": metropolis_sets}

each_function = pytest.mark.parametrize("name", FUNCTIONS)
each_kernel = pytest.mark.parametrize("kernel", KERNELS)


def utilities(n):
    return np.random.default_rng(n).normal(size=n)


def log_phi_of(name, n):
    return evaluate(FUNCTIONS[name], utilities(n), all_sets(n))


def copies(name, n, start, number):
    """Chains side by side at one set."""
    member = np.tile(all_sets(n)[start], (number, 1))
    return Sets(member, evaluate(FUNCTIONS[name], utilities(n), member))


# The algorithms, as matrices over all sets


@each_kernel
@each_function
@pytest.mark.parametrize("n", [3, 4, 5])
def test_a_step_leaves_the_target_as_it_is(kernel, name, n):
    log_phi = log_phi_of(name, n)
    target, matrix = normalised(log_phi), MATRICES[kernel](log_phi, n)
    np.testing.assert_allclose(matrix.sum(axis=1), 1, atol=1e-14)
    np.testing.assert_allclose(target @ matrix, target, rtol=0, atol=1e-14)
    # and nothing else stays: every set is reached from every set
    assert (np.linalg.matrix_power(matrix, n) > 0).all()


@pytest.mark.parametrize("n", [3, 4])
def test_metropolis_as_printed_balances_another_target(n):
    log_phi = log_phi_of("mean", n)
    matrix = metropolis_matrix(log_phi, n, corrected=False)
    ways = np.log([comb(n, m) for m in all_sets(n).sum(axis=1)])
    printed = normalised(log_phi - ways)
    flow = printed[:, None] * matrix
    np.testing.assert_allclose(flow, flow.T, rtol=1e-12)
    # which is far from the one that was wanted
    target = normalised(log_phi)
    assert np.abs(target @ matrix - target).max() > 0.01
    assert total_variation(printed, target) > 0.15


# The code, against the rows of the matrices


@each_kernel
@each_function
def test_one_step_of_the_code_is_the_matrix(kernel, name, rng):
    n, number = 3, 4000
    matrix = MATRICES[kernel](log_phi_of(name, n), n)
    for start in range(2**n - 1):
        sets = KERNELS[kernel](FUNCTIONS[name], utilities(n), copies(name, n, start, number), rng)
        assert chi_square_p_value(sets.member, matrix[start]) > ALARM
        expected = evaluate(FUNCTIONS[name], utilities(n), sets.member)
        np.testing.assert_array_equal(sets.log_phi, expected)


# Draws


def steps_to_forget(matrix, target, *, within=1e-4):
    """Steps after which chains that started at a random single item are this near the target."""
    n = target.size.bit_length()
    present = normalised(np.where(all_sets(n).sum(axis=1) == 1, 0.0, -np.inf))
    steps = 0
    while total_variation(present, target) > within:
        present, steps = present @ matrix, steps + 1
    return steps


@pytest.mark.parametrize(
    ("name", "n"),
    # a function of one set at a time is slow
    [("median", 3), *((name, n) for name in (*SET_FUNCTIONS, "product") for n in (3, 4, 5, 6))],
)
@each_kernel
def test_draws_have_the_probabilities_of_enumeration(kernel, name, n):
    log_phi = log_phi_of(name, n)
    target = normalised(log_phi)
    tune = steps_to_forget(MATRICES[kernel](log_phi, n), target)
    assert 1 < tune < 200
    # one draw from each chain: they are independent
    sets = SAMPLERS[kernel](FUNCTIONS[name], utilities(n), draws=1, tune=tune, chains=4000, rng=n)
    assert chi_square_p_value(sets[:, 0], target) > ALARM


@pytest.mark.parametrize("size", [1, 2, 3])
def test_draws_of_given_size_have_the_probabilities_of_that_size(size):
    n = 4
    sets, log_phi = all_sets(n), log_phi_of("mean", n)
    target = normalised(np.where(sets.sum(axis=1) == size, log_phi, -np.inf))
    draws = metropolis_sets(
        FUNCTIONS["mean"], utilities(n), size=size, draws=1, tune=80, chains=6000, rng=size
    )[:, 0]
    assert chi_square_p_value(draws, target) > ALARM


# Normalising constants


@each_kernel
@each_function
def test_annealing_finds_the_constant_within_its_standard_error(kernel, name):
    n = 5
    log_z = np.log(np.exp(log_phi_of(name, n)).sum())
    estimate = ais_log_normaliser(
        FUNCTIONS[name], utilities(n), temperatures=20, runs=1000, kernel=kernel, rng=4
    )
    assert estimate.standard_error < 0.05
    assert abs(estimate.log_normaliser - log_z) < SIGMAS * estimate.standard_error
