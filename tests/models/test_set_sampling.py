"""Samplers and AIS against enumeration: exact matrices, chi-square, and what must fail."""

from itertools import pairwise
from math import comb

import numpy as np
import pytest

from models.pmop_sampling.chains import KERNELS, Sets, metropolis_step
from models.pmop_sampling.model import SET_FUNCTIONS, each_set, evaluate
from models.pmop_sampling.sampling import ais_log_normaliser, gibbs_sets, metropolis_sets
from tests.models.enumeration import (
    all_sets,
    chi_square_p_value,
    gibbs_matrix,
    index_of,
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
each_sampler = pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)
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


@each_function
@pytest.mark.parametrize("n", [3, 4])
def test_metropolis_balances_every_pair_of_sets(name, n):
    log_phi = log_phi_of(name, n)
    flow = normalised(log_phi)[:, None] * metropolis_matrix(log_phi, n)
    np.testing.assert_allclose(flow, flow.T, rtol=1e-12)


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


def test_one_printed_step_of_the_code_is_the_printed_matrix_and_not_the_other(rng):
    n, number = 3, 20_000
    start = int(index_of(np.array([True, True, False])))
    sets = metropolis_step(
        FUNCTIONS["mean"], utilities(n), copies("mean", n, start, number), rng, as_printed=True
    )
    log_phi = log_phi_of("mean", n)
    printed, right = (metropolis_matrix(log_phi, n, corrected=c)[start] for c in (False, True))
    assert chi_square_p_value(sets.member, printed) > ALARM
    assert chi_square_p_value(sets.member, right) < ALARM


@each_kernel
def test_items_that_are_not_at_hand_stay_out(kernel, rng):
    n = 5
    here = np.array([True, True, False, True, False])
    w, number = utilities(n), 8000
    member = np.tile(here, (number, 1))
    sets = Sets(member, evaluate(FUNCTIONS["mean"], w, member))
    for _ in range(40):
        sets = KERNELS[kernel](FUNCTIONS["mean"], w, sets, rng, where=member)
    assert not sets.member[:, ~here].any()
    target = normalised(evaluate(FUNCTIONS["mean"], w[here], all_sets(3)))
    assert chi_square_p_value(sets.member[:, here], target) > ALARM


@each_kernel
def test_a_power_flattens_the_target(kernel, rng):
    n, number, power = 3, 8000, 0.3
    sets = copies("harmonic", n, 0, number)
    for _ in range(40):
        sets = KERNELS[kernel](FUNCTIONS["harmonic"], utilities(n), sets, rng, power=power)
    target = normalised(power * log_phi_of("harmonic", n))
    assert chi_square_p_value(sets.member, target) > ALARM


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


def test_metropolis_as_printed_fails_by_the_amount_its_balance_says():
    n, number = 5, 20_000
    log_phi = log_phi_of("mean", n)
    ways = np.log([comb(n, m) for m in all_sets(n).sum(axis=1)])
    target, printed = normalised(log_phi), normalised(log_phi - ways)
    sets = metropolis_sets(
        FUNCTIONS["mean"], utilities(n), draws=1, tune=60, chains=number, as_printed=True, rng=1
    )[:, 0]
    assert chi_square_p_value(sets, target) < 1e-300
    assert chi_square_p_value(sets, printed) > ALARM
    # with the mean, the size m has probability C(5, m) / 31, and 1/5 as printed
    everything = sets.all(axis=1).mean()
    assert target[-1] == pytest.approx(1 / 31)
    assert printed[-1] == pytest.approx(1 / 5)
    assert abs(everything - printed[-1]) < SIGMAS * np.sqrt(printed[-1] / number)


def test_successive_draws_of_one_chain_average_to_the_target():
    n = 4
    log_phi = log_phi_of("geometric", n)
    target = normalised(log_phi) @ all_sets(n)
    sets = gibbs_sets(FUNCTIONS["geometric"], utilities(n), draws=200, chains=100, rng=3)
    by_chain = sets.mean(axis=1)  # independent of each other
    error = by_chain.std(axis=0, ddof=1) / np.sqrt(100)
    assert (np.abs(by_chain.mean(axis=0) - target) < SIGMAS * error).all()
    assert (error < 0.01).all()
    # and a chain moves
    assert (sets[:, 1:] != sets[:, :-1]).any(axis=-1).mean() > 0.5


@pytest.mark.parametrize("size", [1, 2, 3])
def test_draws_of_given_size_have_the_probabilities_of_that_size(size):
    n = 4
    sets, log_phi = all_sets(n), log_phi_of("mean", n)
    target = normalised(np.where(sets.sum(axis=1) == size, log_phi, -np.inf))
    draws = metropolis_sets(
        FUNCTIONS["mean"], utilities(n), size=size, draws=1, tune=80, chains=6000, rng=size
    )[:, 0]
    assert chi_square_p_value(draws, target) > ALARM


@each_sampler
def test_sets_that_cannot_be_chosen_are_not_drawn(sampler):
    def at_most_two(utility, member):
        return np.where(member.sum(axis=-1) <= 2, SET_FUNCTIONS["mean"](utility, member), -np.inf)

    n = 4
    sets, w = all_sets(n), utilities(n)
    draws = sampler(at_most_two, w, draws=1, tune=80, chains=6000, rng=2)[:, 0]
    assert draws.sum(axis=1).max() == 2
    assert chi_square_p_value(draws, normalised(at_most_two(w, sets))) > ALARM


@each_sampler
def test_the_empty_set_is_never_evaluated_and_never_drawn(sampler):
    def sparse(utility, member):
        assert member.any(axis=-1).all()
        return -3.0 * member.sum(axis=-1)

    draws = sampler(sparse, np.zeros(3), draws=300, rng=1)
    assert draws.any(axis=-1).all()
    assert draws.sum(axis=-1).mean() < 1.2


@each_sampler
def test_draws_have_a_shape_a_type_and_a_seed(sampler):
    def draw(rng):
        return sampler(SET_FUNCTIONS["mean"], [0.3, -1.0], draws=7, tune=0, chains=3, rng=rng)

    assert draw(1).shape == (3, 7, 2)
    assert draw(1).dtype == np.bool_
    np.testing.assert_array_equal(draw(1), draw(np.random.default_rng(1)))
    assert (draw(1) != draw(2)).any()


@each_sampler
def test_one_item_is_always_chosen(sampler):
    assert sampler(SET_FUNCTIONS["mean"], [5.0], draws=5, rng=1).all()


@pytest.mark.parametrize("name", SET_FUNCTIONS)
def test_utilities_of_a_thousand_are_drawn_without_warning(name):
    w = np.array([1000.0, 0.0, -1000.0])
    sets = gibbs_sets(SET_FUNCTIONS[name], w, draws=20, rng=1)
    target = normalised(evaluate(SET_FUNCTIONS[name], w, all_sets(3)))
    assert (target[index_of(sets[:, -1])] > 1e-6).all()


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


def test_the_standard_error_is_the_spread_of_estimates():
    w = 2 * utilities(5)
    estimates = [
        ais_log_normaliser(log_product, w, temperatures=10, runs=400, rng=seed)
        for seed in range(200)
    ]
    spread = np.std([e.log_normaliser for e in estimates], ddof=1)
    stated = np.sqrt(np.mean([e.standard_error**2 for e in estimates]))
    assert stated == pytest.approx(spread, rel=0.25)  # a spread of 200 has a relative error of 5%
    # Z = ∏(1 + e^w) - 1, without bias
    ratio = np.exp([e.log_normaliser for e in estimates]) / (np.exp(np.log1p(np.exp(w)).sum()) - 1)
    assert abs(ratio.mean() - 1) < SIGMAS * ratio.std(ddof=1) / np.sqrt(200)


def test_annealing_starts_from_uniform_sets():
    w = np.array([1.0, 2.0, 4.0])  # the sum tells the set
    estimate = ais_log_normaliser(log_product, w, temperatures=1, runs=4000, rng=7)
    total = np.round(estimate.log_weights - np.log(7)).astype(int)
    start = (total[:, None] >> np.arange(3)) % 2 == 1
    assert chi_square_p_value(start, np.full(7, 1 / 7)) > ALARM


def test_more_temperatures_make_the_error_smaller():
    errors = [
        ais_log_normaliser(log_product, 2 * utilities(6), temperatures=t, runs=400, rng=5)
        for t in (1, 10, 100)
    ]
    assert all(a.standard_error > 2 * b.standard_error for a, b in pairwise(errors))


def test_a_constant_set_function_needs_no_annealing():
    estimate = ais_log_normaliser(
        lambda u, s: np.full(s.shape[:-1], 3.0), np.zeros(4), temperatures=2, runs=2, rng=1
    )
    assert estimate.log_normaliser == pytest.approx(3 + np.log(15), abs=1e-12)
    assert estimate.standard_error < 1e-12
    assert estimate.log_weights.shape == (2,)


def test_runs_that_start_where_nothing_can_be_chosen_count_as_zero():
    def at_most_two(utility, member):
        return np.where(member.sum(axis=-1) <= 2, log_product(utility, member), -np.inf)

    w = utilities(4)
    log_z = np.log(np.exp(at_most_two(w, all_sets(4))).sum())
    estimate = ais_log_normaliser(at_most_two, w, temperatures=10, runs=2000, rng=6)
    # 5 of 15 sets are too large
    assert np.isneginf(estimate.log_weights).mean() == pytest.approx(1 / 3, abs=0.06)
    assert abs(estimate.log_normaliser - log_z) < SIGMAS * estimate.standard_error


def test_a_thousand_items_have_a_constant():
    w = np.zeros(1000)
    estimate = ais_log_normaliser(SET_FUNCTIONS["mean"], w, temperatures=1, runs=4, rng=1)
    assert estimate.log_normaliser == pytest.approx(1000 * np.log(2))


# Bad input


@pytest.mark.parametrize("sampler", [*SAMPLERS.values(), ais_log_normaliser])
@pytest.mark.parametrize(
    ("utility", "message"),
    [
        ([[0.0, 1.0]], r"`utility` has shape \(1, 2\)"),
        ([], r"`utility` has shape \(0,\)"),
        ([0.0, np.nan], "`utility` must be finite; item 1 has nan"),
        ([-np.inf, 0.0], "`utility` must be finite; item 0 has -inf"),
    ],
)
def test_utilities_that_are_none_are_refused(sampler, utility, message):
    with pytest.raises(ValueError, match=message):
        sampler(SET_FUNCTIONS["mean"], utility)


@each_sampler
@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"draws": 0}, "`draws` is 0; it must be a whole number, 1 or more"),
        ({"tune": -1}, "`tune` is -1; it must be a whole number, 0 or more"),
        ({"chains": 1.5}, "`chains` is 1.5; it must be a whole number"),
    ],
)
def test_counts_out_of_range_are_refused(sampler, option, message):
    with pytest.raises(ValueError, match=message):
        sampler(SET_FUNCTIONS["mean"], [0.0, 1.0], **option)


@pytest.mark.parametrize("size", [0, 3, 1.5])
def test_a_size_that_no_set_has_is_refused(size):
    with pytest.raises(ValueError, match=f"`size` is {size}; .* from 1 to the 2 items"):
        metropolis_sets(SET_FUNCTIONS["mean"], [0.0, 1.0], size=size)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"temperatures": 0}, "`temperatures` is 0; it must be a whole number, 1 or more"),
        ({"runs": 1}, "`runs` is 1; it must be a whole number, 2 or more"),
        ({"kernel": "slice"}, "`kernel` is 'slice'; it is one of 'gibbs', 'metropolis'"),
    ],
)
def test_options_of_annealing_out_of_range_are_refused(option, message):
    with pytest.raises(ValueError, match=message):
        ais_log_normaliser(SET_FUNCTIONS["mean"], [0.0, 1.0], **option)


def test_chains_that_cannot_start_are_refused():
    def pairs_only(utility, member):
        return np.where(member.sum(axis=-1) == 2, 0.0, -np.inf)

    with pytest.raises(ValueError, match=r"start at sets of size 1 .* the set of items \[\d\] has"):
        gibbs_sets(pairs_only, np.zeros(3), rng=1)


def test_annealing_that_cannot_start_is_refused():
    with pytest.raises(ValueError, match="None of 200 uniform sets has Φ > 0"):
        ais_log_normaliser(lambda u, s: np.full(s.shape[:-1], -np.inf), np.zeros(3), rng=1)
