"""How many more matches separate two items, against exact values; and the next match."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from scipy.special import logit

from bayesrank.results import (
    match_probability,
    matches_between,
    matches_to_separate,
    outcome_probability,
)


def beta_draws(a, b, n_draws=4000):
    """Quantiles of a beta posterior of the probability to win, as draws without noise."""
    p = stats.beta.ppf((np.arange(n_draws) + 0.5) / n_draws, a, b)
    return logit(p), np.stack([p, 1 - p], axis=1)


def exactly(a, b, n, prob=0.95):
    """Probability of separation, by summing over how often the one may win (beta-binomial)."""
    won = np.arange(n + 1)
    better = stats.beta.sf(0.5, a + won, b + n - won)
    decided = (better >= prob) | (better <= 1 - prob)
    return stats.betabinom.pmf(won, n, a, b)[decided].sum()


# The probability of separation


@pytest.mark.parametrize(("a", "b"), [(3, 2), (60, 50), (600, 560)])
def test_the_probability_of_separation_is_exact(a, b):
    found = matches_to_separate(*beta_draws(a, b), random_seed=0)
    exact = [exactly(a, b, n) for n in found.table.index]
    # 4,000 simulations: standard error 0.008 at most, and ten values
    np.testing.assert_allclose(found.table["p_separated"], exact, atol=0.03)
    assert found.p_better == pytest.approx(stats.beta.sf(0.5, a, b), abs=1e-3)


def test_ties_make_the_same_matches_say_less():
    lead = np.random.default_rng(1).normal(0.3, 0.3, 2000)
    rare = matches_to_separate(
        lead, outcome_probability(lead, 0.1), at=(100, 400), random_seed=0
    ).table
    often = matches_to_separate(
        lead, outcome_probability(lead, 4.0), at=(100, 400), random_seed=0
    ).table
    assert (rare["p_separated"] > often["p_separated"] + 0.05).all()


def test_a_known_tie_parameter_agrees_with_quadrature():
    # lead normal(0.2, 0.2), nu = 1, 40 matches: sum over all counts of win, tie and loss
    d, step = np.linspace(-1.2, 1.6, 1401, retstep=True)
    prior = stats.norm.pdf(d, 0.2, 0.2) * step
    p = outcome_probability(d, 1.0)
    win, tie = (x.ravel() for x in np.mgrid[:41, :41])
    counts = np.stack([win, tie, 40 - win - tie], axis=1)[win + tie <= 40]
    pmf = np.exp(stats.multinomial.logpmf(counts[:, None], 40, p[None]))
    marginal, better = pmf @ prior, pmf[:, d > 0] @ prior[d > 0]
    decided = np.abs(better / marginal - 0.5) >= 0.45
    draws = stats.norm.ppf((np.arange(4000) + 0.5) / 4000, 0.2, 0.2)
    found = matches_to_separate(draws, outcome_probability(draws, 1.0), at=(40,), random_seed=0)
    assert found.table["p_separated"].item() == pytest.approx(marginal[decided].sum(), abs=0.03)


def test_few_effective_draws_still_give_the_probability():
    found = matches_to_separate(*beta_draws(3, 2, 400), random_seed=0)
    assert found.table["effective_draws"].iloc[-1] < 20
    assert found.table["p_separated"].iloc[-1] == pytest.approx(exactly(3, 2, 10_000), abs=0.03)
    # 200 matches are enough, with many effective draws; what needs the last row is called rough
    assert "effective draws" not in str(found)
    last = matches_to_separate(*beta_draws(3, 2, 400), at=(10_000,), random_seed=0)
    assert str(last).endswith("This is rough, because it rests on only 10 effective draws.")


def test_separation_is_wrong_as_rarely_as_it_promises():
    table = matches_to_separate(*beta_draws(60, 50), random_seed=0).table
    wrong = table["p_separated"] - table["p_right"]
    assert (wrong >= 0).all()
    assert (wrong <= 0.05 * table["p_separated"] + 0.01).all()


def test_impossible_outcomes_are_no_trouble():
    lead = np.array([-800.0, 800.0, 0.0, 1.0])
    table = matches_to_separate(lead, outcome_probability(lead, 0.0), at=(10,), random_seed=0).table
    assert np.isfinite(table).all().all()


# The number of matches


def test_the_least_number_that_is_enough_is_given():
    found = matches_to_separate(*beta_draws(3, 2), at=(100, 200, 400), random_seed=0)
    # exactly: 0.769, 0.823, 0.876
    assert found.matches == 200
    said = str(found)
    assert said.startswith("the one is better than the other with probability 0.69. 200 more match")
    assert "(one better with probability 0.95) with probability 0.8" in said
    assert said.endswith("100 with 0.77.")


def test_items_apart_already_need_no_match():
    found = matches_to_separate(*beta_draws(10, 30), items=("Elm", "Oak"), random_seed=0)
    assert found.matches == 0
    # P(p > 1/2) of a beta(10, 30) is 0.00048
    assert str(found) == "Oak and Elm are already separated: Oak is better with probability 1.000."


def test_what_no_number_separates_is_said():
    found = matches_to_separate(
        *beta_draws(600, 560), at=(10, 1000), items=("Elm", "Oak"), random_seed=0
    )
    assert found.matches == np.inf
    assert "Even 1,000 more matches between them would separate them (one better with" in str(found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prob": 0.5}, r"^`prob` is 0.5; it must lie between 0.5 and 1\.$"),
        ({"power": 1.0}, r"^`power` is 1.0; it must lie between 0.0 and 1\.$"),
        ({"at": ()}, r"^`at` is \(\); it must be ascending whole numbers, 1 or more\.$"),
        ({"at": (10, 10)}, r"^`at` is \(10, 10\); it must be ascending whole numbers, 1 or"),
        ({"at": (0, 10)}, r"^`at` is \(0, 10\); it must be ascending whole numbers, 1 or more\.$"),
        ({"at": (2.5,)}, r"^`at` is \(2\.5,\); it must be ascending whole numbers, 1 or more\.$"),
        ({"lead": np.zeros(3)}, r"^`lead` must have shape \(n_draws,\).* got \(3,\) and \(9, 2\)"),
        ({"lead": np.zeros(0)}, r"^`lead` must have shape .* got \(0,\) and \(9, 2\)\.$"),
        ({"probability": np.ones((9, 2))}, "^The rows of `probability` must be non-negative and"),
    ],
)
def test_wrong_arguments_raise(change, message):
    lead, probability = beta_draws(3, 2, 9)
    arguments = {"lead": lead, "probability": probability} | change
    with pytest.raises(ValueError, match=message):
        matches_to_separate(**arguments)


# The next match


def test_outcomes_are_those_of_davidson():
    # worths 4 and 1, nu = 1/2: 4, 1/2 sqrt(4) = 1 and 1
    np.testing.assert_allclose(outcome_probability(np.log(4), 0.5), [4 / 6, 1 / 6, 1 / 6])
    np.testing.assert_allclose(outcome_probability(-np.log(4), 0.5), [1 / 6, 1 / 6, 4 / 6])
    np.testing.assert_allclose(outcome_probability(np.log(4)), [0.8, 0.2])
    np.testing.assert_allclose(outcome_probability([0.0, 0.0], [0.0, 1.0])[:, 1], [0, 1 / 3])
    np.testing.assert_array_equal(outcome_probability([2000.0, -2000.0], 1.0)[:, 0], [1, 0])


def posterior(**more):
    u = np.log([[[4.0, 1.0, 1.0], [1.0, 4.0, 1.0]]])
    draws = {"utility": (("chain", "draw", "item"), u)} | more
    return xr.Dataset(draws, coords={"item": ["a", "b", "c"]})


def test_the_next_match_is_the_mean_over_the_draws():
    found = match_probability(posterior(nu=(("chain", "draw"), [[0.5, 0.5]])))
    assert found.dims == ("item", "item_other", "result")
    assert found["result"].values.tolist() == ["win", "tie", "loss"]
    np.testing.assert_allclose(found.sel(item="a", item_other="b"), [5 / 12, 1 / 6, 5 / 12])
    # a against c: 4/6 in the first draw; in the second, equal worths, 1 in 2.5
    np.testing.assert_allclose(found.sel(item="a", item_other="c")[0], (4 / 6 + 1 / 2.5) / 2)
    np.testing.assert_allclose(found.sel(item="c", item_other="a")[2], (4 / 6 + 1 / 2.5) / 2)
    sums = found.sum("result", skipna=False).values
    np.testing.assert_allclose(sums[~np.eye(3, dtype=bool)], 1)
    assert np.isnan(np.diag(sums)).all()


def test_a_tie_parameter_with_other_dims_raises():
    with pytest.raises(ValueError, match=r"^'nu' has the dims \['chain', 'draw', 'judge'\]; it"):
        match_probability(posterior(nu=(("chain", "draw", "judge"), np.ones((1, 2, 2)))))


def test_further_dims_of_the_utilities_raise():
    draws = posterior().expand_dims(category=2)
    with pytest.raises(ValueError, match=r"^'utility' has the additional dims \['category'\]\."):
        match_probability(draws)


def test_two_items_of_a_posterior_are_those_named():
    rng = np.random.default_rng(2)
    u = rng.normal([1, 0.8, 0], 0.2, (2, 500, 3))
    data = xr.Dataset(
        {"utility": (("chain", "draw", "item"), u), "nu": (("chain", "draw"), np.ones((2, 500)))},
        coords={"item": ["a", "b", "c"]},
    )
    found = matches_between(data, "b", "a", at=(100, 500), random_seed=0)
    lead = (u[..., 1] - u[..., 0]).ravel()
    by_hand = matches_to_separate(
        lead, outcome_probability(lead, np.ones(1000)), at=(100, 500), random_seed=0
    )
    assert found.items == ("b", "a")
    assert found.p_better == (lead > 0).mean()
    assert found.table.equals(by_hand.table)
    assert str(found).startswith("a is better than b with probability 0.")


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (("a", "z"), r"^There is no item 'z'; the items are a, b, c\.$"),
        (("a", "a"), r"^Both items are 'a'; name two different items\.$"),
    ],
)
def test_unknown_and_equal_items_raise(pair, message):
    with pytest.raises(ValueError, match=message):
        matches_between(posterior(), *pair)
