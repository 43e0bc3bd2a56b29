"""Contrastive divergence: its exact expectation by enumeration, its fixed point, bad input."""

import numpy as np
import pytest
from scipy.optimize import root

from bayesrank.data import Rankings
from models.pmop_sampling.chains import KERNELS
from models.pmop_sampling.contrastive import cd_gradient, choices, fit_cd
from models.pmop_sampling.model import SET_FUNCTIONS, each_set, evaluate, set_gradient
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


@each_kernel
@each_function
def test_with_many_steps_it_is_the_gradient_of_the_likelihood(kernel, name):
    for member in all_sets(3):
        mean, _ = moments(name, W, member, kernel, steps=100)
        np.testing.assert_allclose(mean, likelihood_slope(name, W, member), atol=1e-8)


def test_with_one_step_it_is_not():
    member = np.array([True, False, False])
    bias = moments("mean", W, member)[0] - likelihood_slope("mean", W, member)
    assert np.abs(bias).max() > 0.02


@each_kernel
@each_function
def test_where_the_model_is_right_one_step_has_no_bias(kernel, name):
    target = normalised(evaluate(SET_FUNCTIONS[name], W, all_sets(3)))
    mean = sum(
        p * moments(name, W, member, kernel)[0]
        for p, member in zip(target, all_sets(3), strict=True)
    )
    np.testing.assert_allclose(mean, 0, atol=1e-14)


def test_items_outside_the_remainder_get_no_gradient_and_do_not_matter():
    member = np.tile([True, False, True, False], (200, 1))
    where = np.tile([True, True, True, False], (200, 1))

    def slope(last):
        w = np.array([0.3, 1.0, -0.2, last])
        return cd_gradient(SET_FUNCTIONS["mean"], w, member, where, rng=1)

    np.testing.assert_array_equal(slope(1000.0), slope(np.nan))
    assert (slope(0.0)[:, 3] == 0).all()
    assert (slope(0.0)[:, :3] != 0).any(axis=0).all()


def test_gradients_of_functions_that_shift_with_the_utilities_sum_to_zero():
    member = all_sets(4)
    for function in (*SET_FUNCTIONS.values(), each_set(np.median)):
        slope = cd_gradient(function, np.array([0.3, 1.0, -0.2, 0.0]), member, rng=1)
        np.testing.assert_allclose(slope.sum(axis=-1), 0, atol=1e-8)


# Choices


def test_a_weak_order_is_a_choice_per_block():
    row, member, where = choices(np.array([[1, 2, 2, 3], [1, 1, 0, 0], [1, 2, 0, 0], [1, 0, 0, 0]]))
    assert sorted(zip(row.tolist(), member.tolist(), where.tolist(), strict=True)) == [
        (0, [False, True, True, False], [False, True, True, True]),
        (0, [True, False, False, False], [True, True, True, True]),
        (1, [True, True, False, False], [True, True, False, False]),  # both, not one of them
        (2, [True, False, False, False], [True, True, False, False]),
    ]  # a last block of one item, and a ranking of one, leave no choice


def test_the_choices_make_the_likelihood():
    ranks = np.array([[2, 1, 3, 2], [1, 1, 2, 0]])
    w = np.array([0.8, -0.4, 0.1, 0.5])
    row, member, where = choices(ranks)
    log_p = np.zeros(2)
    for r, s, at in zip(row, member, where, strict=True):
        inside = [t for t in all_sets(4) if not (t & ~at).any()]
        log_z = np.log(sum(np.mean(np.exp(w[t])) for t in inside))
        log_p[r] += np.log(np.mean(np.exp(w[s]))) - log_z
    # {1} of all, then {0, 3} of {0, 2, 3}; item 2 is certain
    e = np.exp(w)
    first = e[1] / (15 / 4 * e.sum())  # Z of the mean is (2^N - 1) / N times the sum
    second = (e[0] + e[3]) / 2 / (7 / 3 * (e[0] + e[2] + e[3]))
    third = (e[0] + e[1]) / 2 / (7 / 3 * e[:3].sum())
    np.testing.assert_allclose(np.exp(log_p), [first * second, third], rtol=1e-12)


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


def five_steps(name, w, member):
    return moments(name, w, member, steps=5)[0]


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


def test_many_steps_give_maximum_likelihood_and_one_step_does_not():
    best = solution("geometric", RANKINGS, 0.2, likelihood_slope)
    one = solution("geometric", RANKINGS, 0.2, one_step)
    five = solution("geometric", RANKINGS, 0.2, five_steps)
    assert np.abs(one - best).max() > 0.02
    assert np.abs(five - best).max() < 0.1 * np.abs(one - best).max()


def test_weights_count_as_repeated_rankings():
    weighted = Rankings.from_orderings([["a", "b"], ["b", "a"]], weight=[3.0, 1.0])
    # of 4 the first wins 3: w_a - w_b = log 3 where the likelihood is largest
    best = solution("mean", weighted, 0.0, likelihood_slope)
    assert best[0] - best[1] == pytest.approx(np.log(3))
    expected = solution("mean", weighted, 1.0, one_step)
    fit = fit_cd(SET_FUNCTIONS["mean"], weighted, epochs=3000, ridge=1.0, rng=1)
    np.testing.assert_allclose(fit.coefficient, expected, atol=0.06)
    assert expected[0] > 0.2


def test_only_relative_weights_matter_to_a_step():
    def path(weight):
        r = Rankings.from_orderings([["a", "b"], ["b", "a"], ["a", "b"]], weight=weight)
        return fit_cd(SET_FUNCTIONS["mean"], r, epochs=3, rng=1).path

    np.testing.assert_allclose(path([10.0, 20.0, 30.0]), path([1.0, 2.0, 3.0]), rtol=1e-12)


def test_steps_shrink_with_the_square_root_of_the_epoch():
    def always_b(utility, member):
        return np.where(member, utility, 0.0).sum(axis=-1) + 1000.0 * member[..., 1]

    # {a} is observed, every chain goes to {a, b}: the gradient is (0, -1)
    r = Rankings.from_orderings([["a", "b"]])
    fit = fit_cd(always_b, r, epochs=3, learning_rate=0.5, rng=1)
    expected = -0.5 * np.cumsum([1, 1 / np.sqrt(2), 1 / np.sqrt(3)])
    np.testing.assert_allclose(fit.path, np.stack([np.zeros(3), expected], axis=1), atol=1e-8)


def with_features():
    rng = np.random.default_rng(5)
    features = rng.normal(size=(60, 4, 2))
    utility = features @ [1.5, -1.0] + rng.gumbel(size=(60, 4))
    place = (-utility).argsort(axis=1).argsort(axis=1)
    ranks = np.array([1, 2, 2, 3])[place]
    return Rankings(
        np.tile(np.arange(4), (60, 1)), ranks, items=["a", "b", "c", "d"], features=features
    )


def test_features_get_weights():
    fit = fit_cd(SET_FUNCTIONS["mean"], with_features(), by="feature", epochs=100, rng=1)
    assert fit.path.shape == (100, 2)
    assert fit.coefficient[0] > 0.7
    assert fit.coefficient[1] < -0.4


def test_one_hot_features_are_items():
    r = RANKINGS
    hot = Rankings(r.item, r.ranks, items=r.items, features=np.eye(4)[r.item] * r.mask[..., None])
    by_item = fit_cd(SET_FUNCTIONS["max"], r, epochs=5, rng=1)
    by_feature = fit_cd(SET_FUNCTIONS["max"], hot, by="feature", epochs=5, rng=1)
    np.testing.assert_allclose(by_feature.path, by_item.path, atol=1e-12)


def test_a_fit_is_repeated_by_its_seed_and_averages_the_second_half():
    fit = fit_cd(each_set(np.median), RANKINGS, epochs=5, batch_size=2, rng=3)
    again = fit_cd(each_set(np.median), RANKINGS, epochs=5, batch_size=2, rng=3)
    np.testing.assert_array_equal(fit.path, again.path)
    np.testing.assert_array_equal(fit.coefficient, fit.path[2:].mean(axis=0))


# Bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"member": [[1, 0, 1]]}, "`member` has dtype int64; it must be bool"),
        ({"where": [1, 1, 1]}, "`where` has dtype int64; it must be bool"),
        ({"member": [[True, False]]}, r"`utility` \(3,\), `member` \(1, 2\) .* do not fit"),
        ({"member": [[True, False, False], [False] * 3]}, "1 of 2 sets in `member` are empty"),
        ({"where": [False, True, True]}, "1 of 1 sets in `member` have items that are not in"),
        ({"utility": [0.0, np.nan, 1.0]}, "`utility` must be finite"),
        ({"steps": 0}, "`steps` is 0; it must be a whole number, 1 or more"),
        ({"kernel": "slice"}, "`kernel` is 'slice'; it is one of 'gibbs', 'metropolis'"),
    ],
)
def test_sets_that_are_none_are_refused(arguments, message):
    good = {"utility": W, "member": [[True, False, True]]}
    with pytest.raises(ValueError, match=message):
        cd_gradient(SET_FUNCTIONS["mean"], **(good | arguments))


def test_an_observed_set_that_cannot_be_chosen_is_refused():
    def single(utility, member):
        return np.where(member.sum(axis=-1) == 1, 0.0, -np.inf)

    with pytest.raises(ValueError, match=r"The observed set of items \[0, 2\] has Φ = 0"):
        cd_gradient(single, W, [[True, False, True]])


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"by": "user"}, "`by` is 'user'; it is one of 'item', 'feature'"),
        ({"by": "feature"}, "The rankings have no features. Use by='item'"),
        ({"epochs": 0}, "`epochs` is 0; it must be a whole number"),
        ({"batch_size": 2.5}, "`batch_size` is 2.5; it must be a whole number"),
        ({"learning_rate": 0.0}, "`learning_rate` is 0.0; it must be positive"),
        ({"ridge": -1.0}, "`ridge` is -1.0; it must be 0 or more"),
        ({"steps": 0}, "`steps` is 0"),
        ({"kernel": "slice"}, "`kernel` is 'slice'"),
    ],
)
def test_options_out_of_range_are_refused(option, message):
    with pytest.raises(ValueError, match=message):
        fit_cd(SET_FUNCTIONS["mean"], RANKINGS, **option)


def test_a_fit_that_diverges_is_refused():
    with pytest.raises(ValueError, match=r"diverged in epoch .* too large for ridge=1000\.0"):
        fit_cd(SET_FUNCTIONS["mean"], RANKINGS, ridge=1000.0, learning_rate=10.0, rng=1)
