"""Custom set functions: samplers, annealing and contrastive divergence against enumeration."""

from itertools import product
from math import comb

import numpy as np
import pytest
from scipy.optimize import root
from scipy.special import expit, logsumexp
from scipy.stats import chi2

from bayesrank.data import Rankings
from models.pmop_sampling.chains import KERNELS, Sets
from models.pmop_sampling.contrastive import cd_gradient, choices, fit_cd
from models.pmop_sampling.model import SET_FUNCTIONS, each_set, evaluate, set_gradient
from models.pmop_sampling.sampling import ais_log_normaliser, gibbs_sets, metropolis_sets
from tests.oracles import gradient


def all_sets(n):
    """Every set of n items but the empty one, (2^n - 1, n)."""
    return np.array([s for s in product([False, True], repeat=n) if any(s)])


def normalised(log_weight):
    return np.exp(log_weight - logsumexp(log_weight))


def index_of(member):
    """Position of each set in all_sets: read as a binary number, less one."""
    return member @ (2 ** np.arange(member.shape[-1])[::-1]) - 1


def gibbs_matrix(log_phi, n):
    """One sweep over the items: the product of the matrices of the single updates."""
    sets, sweep = all_sets(n), np.eye(2**n - 1)
    for i in range(n):
        update = np.zeros_like(sweep)
        for a, s in enumerate(sets):
            flipped = s.copy()
            flipped[i] ^= True
            if flipped.any():
                b = index_of(flipped)
                update[a, b] = expit(log_phi[b] - log_phi[a])
            update[a, a] = 1 - update[a].sum()
        sweep = sweep @ update
    return sweep


def metropolis_matrix(log_phi, n):
    """Size uniform, then a uniform set of it: set b is proposed with 1 / (n C(n, |b|))."""
    ways = np.array([comb(n, m) for m in all_sets(n).sum(axis=1)])
    ratio = np.exp(log_phi[None, :] - log_phi[:, None]) * ways[None, :] / ways[:, None]
    matrix = np.minimum(1.0, ratio) / (n * ways)
    np.fill_diagonal(matrix, 0.0)
    np.fill_diagonal(matrix, 1 - matrix.sum(axis=1))
    return matrix


def chi_square_p_value(member, probability):
    """Of independent sets (n_draws, n) against probabilities of all sets.

    Sets expected fewer than ten times are counted together.
    """
    counts = np.bincount(index_of(member), minlength=probability.size)
    expected = member.shape[0] * probability
    rare = expected < 10
    if rare.any():
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    used = expected > 1e-9
    assert counts[~used].sum() == 0
    counts, expected = counts[used], expected[used]
    return chi2.sf(((counts - expected) ** 2 / expected).sum(), counts.size - 1)


# Φ of the worths of the members, as the definitions have it
DEFINITIONS = {
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "geometric": lambda worth: np.prod(worth) ** (1 / worth.size),
    "harmonic": lambda worth: worth.size / np.sum(1 / worth),
}

each_name = pytest.mark.parametrize("name", SET_FUNCTIONS)


@each_name
def test_a_set_function_is_its_definition_and_has_its_gradient(name, rng):
    w = rng.normal(size=5)
    value = SET_FUNCTIONS[name](w, all_sets(5))
    expected = [np.log(DEFINITIONS[name](np.exp(w[s]))) for s in all_sets(5)]
    np.testing.assert_allclose(value, expected, rtol=0, atol=1e-13)
    w, sets = rng.normal(size=4), all_sets(4)
    expected = gradient(lambda u: SET_FUNCTIONS[name](u, sets), w)
    np.testing.assert_allclose(set_gradient(SET_FUNCTIONS[name], w, sets), expected, atol=1e-9)


# Each test of draws gives a false alarm once in ten million; for a normal error that is 5.3
# standard errors to either side.
ALARM, SIGMAS = 1e-7, 5.33


def log_product(utility, member):
    return np.where(member, utility, 0.0).sum(axis=-1)


FUNCTIONS = {**SET_FUNCTIONS, "median": each_set(np.median), "product": log_product}
MATRICES = {"gibbs": gibbs_matrix, "metropolis": metropolis_matrix}

each_kernel = pytest.mark.parametrize("kernel", KERNELS)


def utilities(n):
    return np.random.default_rng(n).normal(size=n)


def log_phi_of(name, n):
    return evaluate(FUNCTIONS[name], utilities(n), all_sets(n))


@each_kernel
@pytest.mark.parametrize("name", ["median", "product"])  # the code knows a function by its values
def test_one_step_of_the_code_is_the_matrix_which_leaves_the_target_as_it_is(kernel, name, rng):
    n, number, log_phi = 3, 2000, log_phi_of(name, 3)
    target, matrix = normalised(log_phi), MATRICES[kernel](log_phi, n)
    np.testing.assert_allclose(target @ matrix, target, rtol=0, atol=1e-14)
    # and nothing else stays: every set is reached from every set
    assert (np.linalg.matrix_power(matrix, n) > 0).all()
    for start, row in zip(all_sets(n), matrix, strict=True):
        member = np.tile(start, (number, 1))
        chains = Sets(member, evaluate(FUNCTIONS[name], utilities(n), member))
        sets = KERNELS[kernel](FUNCTIONS[name], utilities(n), chains, rng)
        assert chi_square_p_value(sets.member, row) > ALARM
        expected = evaluate(FUNCTIONS[name], utilities(n), sets.member)
        np.testing.assert_array_equal(sets.log_phi, expected)


@pytest.mark.parametrize(
    ("sampler", "size"), [(gibbs_sets, None), (metropolis_sets, None), (metropolis_sets, 2)]
)
def test_draws_have_the_probabilities_of_enumeration(sampler, size):
    possible = (all_sets(4).sum(axis=1) == size) | (size is None)
    target = normalised(np.where(possible, log_phi_of("mean", 4), -np.inf))
    given = {} if size is None else {"size": size}
    # one draw from each chain: they are independent
    sets = sampler(
        SET_FUNCTIONS["mean"], utilities(4), draws=1, tune=80, chains=6000, rng=1, **given
    )
    assert chi_square_p_value(sets[:, 0], target) > ALARM


@each_kernel
def test_annealing_finds_the_constant_within_its_standard_error(kernel):
    n, name = 5, "mean"
    log_z = np.log(np.exp(log_phi_of(name, n)).sum())
    estimate = ais_log_normaliser(
        FUNCTIONS[name], utilities(n), temperatures=20, runs=1000, kernel=kernel, rng=4
    )
    assert estimate.standard_error < 0.05
    assert abs(estimate.log_normaliser - log_z) < SIGMAS * estimate.standard_error


# Contrastive divergence


def cd_moments(name, w, member, kernel="gibbs", steps=1):
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


@pytest.mark.parametrize(
    ("kernel", "name", "steps"),
    [
        *(("gibbs", name, 1) for name in SET_FUNCTIONS),
        ("gibbs", "mean", 3),
        ("metropolis", "mean", 3),
    ],
)
def test_the_mean_of_gradients_is_that_of_enumeration(kernel, name, steps, rng):
    number = 4000
    for member in all_sets(3):
        mean, variance = cd_moments(name, W, member, kernel, steps)
        many = np.tile(member, (number, 1))
        drawn = cd_gradient(SET_FUNCTIONS[name], W, many, steps=steps, kernel=kernel, rng=rng)
        error = np.sqrt(variance / number)
        assert (np.abs(drawn.mean(axis=0) - mean) <= SIGMAS * error + 1e-12).all()


def test_a_weak_order_is_a_choice_per_block():
    row, member, where = choices(np.array([[1, 2, 2, 3], [1, 1, 0, 0], [1, 2, 0, 0], [1, 0, 0, 0]]))
    assert sorted(zip(row.tolist(), member.tolist(), where.tolist(), strict=True)) == [
        (0, [False, True, True, False], [False, True, True, True]),
        (0, [True, False, False, False], [True, True, True, True]),
        (1, [True, True, False, False], [True, True, False, False]),  # both, not one of them
        (2, [True, False, False, False], [True, True, False, False]),
    ]  # a last block of one item, and a ranking of one, leave no choice


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


# Every set function with a smooth gradient
@pytest.mark.parametrize(
    "name", ["mean", *(pytest.param(x, marks=pytest.mark.slow) for x in ("geometric", "harmonic"))]
)
def test_a_fit_settles_where_the_expected_gradient_is_zero(name):
    expected = solution(name, RANKINGS, 1.0, lambda *choice: cd_moments(*choice)[0])
    fit = fit_cd(SET_FUNCTIONS[name], RANKINGS, epochs=3000, ridge=1.0, rng=1)
    assert np.abs(expected).max() > 0.3
    # over 20 seeds the errors of coefficients had sd 0.012 and were 0.04 at most
    np.testing.assert_allclose(fit.coefficient, expected, atol=0.07)
    # near enough to tell it from the maximum of the likelihood
    best = solution(name, RANKINGS, 1.0, likelihood_slope)
    bias = np.abs(expected - best).max()
    assert bias > 0.14
    five = solution(name, RANKINGS, 1.0, lambda *choice: cd_moments(*choice, steps=5)[0])
    assert np.abs(five - best).max() < bias / 100
