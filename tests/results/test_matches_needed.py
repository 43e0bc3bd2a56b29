"""How many more matches separate two items, or settle the lead, against exact values."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats
from scipy.special import logit

from bayesrank.results import matches_needed, outcome_probability
from bayesrank.results.matches.needed import _least_enough


def board(utility, nu=None, items=None):
    """A posterior of one chain from utilities (n_draws, n_items)."""
    utility = np.asarray(utility, float)
    found = {"utility": (("chain", "draw", "item"), utility[None])}
    if nu is not None:
        found["nu"] = (("chain", "draw"), np.full((1, len(utility)), nu))
    return xr.Dataset(found, coords={"item": items or [f"i{k}" for k in range(utility.shape[1])]})


def separate(lead, nu=None, **options):
    """Matches of Elm and Oak, from draws of the lead of Elm."""
    data = board(np.stack([lead, np.zeros(len(lead))], axis=1), nu, ["Elm", "Oak"])
    return matches_needed(data, between=("Elm", "Oak"), random_seed=0, **options)


def beta_draws(a, b, n_draws=4000):
    """Quantiles of a beta posterior of the probability to win, as leads without noise."""
    return logit(stats.beta.ppf((np.arange(n_draws) + 0.5) / n_draws, a, b))


def exactly(a, b, n, prob=0.95):
    """Probability of separation, by summing over how often the one may win (beta-binomial)."""
    won = np.arange(n + 1)
    better = stats.beta.sf(0.5, a + won, b + n - won)
    decided = (better >= prob) | (better <= 1 - prob)
    return stats.betabinom.pmf(won, n, a, b)[decided].sum()


@pytest.mark.parametrize(("a", "b"), [(3, 2), (60, 50), (600, 560)])
def test_the_probability_of_separation_is_exact(a, b):
    found = separate(beta_draws(a, b))
    exact = [exactly(a, b, n) for n in found.table.index]
    # 2,048 independent simulations have a standard error of 0.011; these are more even
    np.testing.assert_allclose(found.table["p_separated"], exact, atol=0.02)
    assert found.p_better == pytest.approx(stats.beta.sf(0.5, a, b), abs=1e-3)


def test_ties_make_the_same_matches_say_less():
    lead = np.random.default_rng(1).normal(0.3, 0.3, 2000)
    rare, often = (separate(lead, nu, at=(100, 400)).table for nu in (0.1, 4.0))
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
    found = separate(draws, 1.0, at=(40,))
    assert found.table["p_separated"].item() == pytest.approx(marginal[decided].sum(), abs=0.03)


def test_few_effective_draws_still_give_the_probability():
    found = separate(beta_draws(3, 2, 400))
    assert found.table["effective_draws"].iloc[-1] < 20
    assert found.table["p_separated"].iloc[-1] == pytest.approx(exactly(3, 2, 10_000), abs=0.03)
    # 200 matches are enough, with many effective draws; what needs the last row is called rough
    assert "effective draws" not in str(found)
    last = separate(beta_draws(3, 2, 400), at=(10_000,))
    assert str(last).endswith("This is rough, because it rests on only 10 effective draws.")


def test_separation_is_wrong_as_rarely_as_it_promises():
    table = separate(beta_draws(60, 50)).table
    wrong = table["p_separated"] - table["p_right"]
    assert (wrong >= 0).all()
    assert (wrong <= 0.05 * table["p_separated"] + 0.01).all()


def test_impossible_outcomes_are_no_trouble():
    lead = np.array([-800.0, 800.0, 0.0, 1.0])
    table = separate(lead, 0.0, at=(10,)).table
    assert np.isfinite(table).all().all()


def test_the_least_number_that_is_enough_is_interpolated():
    found = separate(beta_draws(3, 2), at=(100, 200, 400))
    # exactly 0.769, 0.823, 0.876: on the logarithmic scale 0.8 is at 100 * 2 ** 0.57 = 149
    assert 140 <= found.matches <= 160
    text = str(found)
    assert text.startswith("Elm is better than Oak with probability 0.69. About 1")
    assert "(one better with probability 0.95) with probability 0.80" in text
    assert text.endswith("100 with 0.77.")
    assert separate(beta_draws(3, 2), at=(200, 400)).matches == 200


@pytest.mark.parametrize(
    ("p", "matches"),
    [
        ([0.2, 0.4, 0.9], 760.0),  # 500 * 2 ** 0.6 = 757.9
        ([0.2, 0.8, 0.9], 500.0),
        ([0.7, 0.5, 0.9], 710.0),  # the dip is noise: 500 * 2 ** 0.5 = 707.1
        ([0.8, 0.9, 0.9], 9.0),
        ([0.2, 0.4, 0.6], np.inf),
    ],
)
def test_matches_are_interpolated_between_rising_probabilities(p, matches):
    probability = pd.Series(p, [9, 500, 1000])
    power = 0.7 if p[1] == 0.4 and p[2] == 0.9 else 0.8
    assert _least_enough(probability, power) == matches


def answers(data, seeds, **options):
    return [matches_needed(data, random_seed=seed, **options).matches for seed in range(seeds)]


@pytest.mark.parametrize("nu", [None, 1.0])
def test_the_answer_for_two_items_hardly_depends_on_the_seed(nu):
    rng = np.random.default_rng(0)
    data = board(rng.normal([1.0, 0.6], 0.3, (1000, 2)), nu)
    found = answers(data, 20, between=("i0", "i1"), at=(200, 500, 1000))
    # the standard deviation of a probability is below 0.005, and its slope in log n about 0.14
    assert max(found) / min(found) < 1.2


def check_the_lead(means, seeds, at, widest):
    rng = np.random.default_rng(0)
    data = board(rng.normal(means, 0.3, (4000, len(means))))
    found = answers(data, seeds, at=at)
    assert np.isfinite(found).all()
    assert 0 < max(found) / min(found) < widest


def test_the_answer_for_the_lead_hardly_depends_on_the_seed():
    check_the_lead([1.0, 0.6, -1.0], 8, (500, 1000, 2000), 1.5)


@pytest.mark.slow
def test_the_answer_for_the_lead_of_many_is_within_a_step_for_twenty_seeds():
    check_the_lead(np.linspace(1, -1, 20), 20, (20_000, 50_000, 100_000, 200_000), 2.5)


def test_items_apart_already_need_no_match():
    found = separate(beta_draws(10, 30))
    assert found.matches == 0
    # P(p > 1/2) of a beta(10, 30) is 0.00048
    assert str(found) == "Oak and Elm are already separated: Oak is better with probability 1.000."


def test_items_that_no_number_of_matches_separates_are_reported():
    found = separate(beta_draws(600, 560), at=(10, 1000))
    assert found.matches == np.inf
    assert "Even 1,000 more matches between them would separate them (one better with" in str(found)


def test_the_two_items_are_those_named():
    utility = np.random.default_rng(2).normal([1, 0.8, 0], 0.2, (500, 3))
    data = board(utility, 1.0, ["a", "b", "c"])
    found = matches_needed(data, between=("b", "a"), at=(100, 500), random_seed=0)
    lead = utility[:, 1] - utility[:, 0]
    assert found.p_better == (lead > 0).mean()
    assert found.table.equals(separate(lead, 1.0, at=(100, 500)).table)
    assert str(found).startswith("a is better than b with probability 0.")


# The lead


def test_the_settling_of_two_items_is_that_of_a_normal():
    """With two items the probability that n matches settle it has a closed form."""
    rng = np.random.default_rng(0)
    lead, sd = 0.2, 0.25
    half = rng.normal(lead, sd, 4000) / 2
    data = board(np.stack([half, -half], axis=1))
    found = matches_needed(data, at=(100, 400, 1600), random_seed=0)
    p = 1 / (1 + np.exp(-2 * half))
    for n, row in found.table.iterrows():
        v = (2 * half).var(ddof=1)
        after = 1 / (1 / v + n * (p * (1 - p)).mean())
        z = stats.norm.ppf(0.95) * np.sqrt(after)
        moved, mean = np.sqrt(v - after), 2 * half.mean()
        expected = stats.norm.sf((z - mean) / moved) + stats.norm.cdf((-z - mean) / moved)
        # 1,024 futures; 512 draws of each blur the bound a little
        assert row["p_settled"] == pytest.approx(expected, abs=0.03)
    assert found.now == 2
    assert "tied with one other item" in str(found)


def test_matches_among_the_tied_settle_sooner():
    rng = np.random.default_rng(1)
    utility = rng.normal([1.0, 0.8, *[-2.0] * 6], 0.2, (3000, 8))
    every, tied = (matches_needed(board(utility), among=a, random_seed=0) for a in ("all", "tied"))
    assert (tied.table["members"] <= every.table["members"] + 1e-9).all()
    assert tied.matches < every.matches
    named = matches_needed(board(utility), among=["i0", "i1"], random_seed=0)
    assert named.table.equals(tied.table)


@pytest.mark.parametrize(
    ("draws", "options", "text"),
    [
        (
            [[2.0, 1.0], [3.0, 1.0]],
            {},
            "No other item is tied with the leader now; no more matches are needed.",
        ),
        (
            np.random.default_rng(0).normal(0, 0.1, (500, 4)),
            {"at": (1, 2)},
            "tied with 3 other items now. Even with 2 more matches, it would be tied with no other",
        ),
        (
            np.random.default_rng(0).normal(0, 1, (500, 4)),
            {"at_most": 2, "at": (10_000,)},
            "After about 10,000 more matches, it would be tied with at most one other item with",
        ),
    ],
)
def test_the_table_of_matches_needed_is_described_in_words(draws, options, text):
    assert text in str(matches_needed(board(draws), **options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prob": 0.5}, r"^`prob` is 0.5; it must lie between 0.5 and 1\.$"),
        ({"power": 1.0}, r"^`power` is 1.0; it must lie between 0.0 and 1\.$"),
        ({"at": ()}, r"^`at` is \(\); it must be ascending whole numbers, 1 or more\.$"),
        ({"at": (10, 10)}, r"^`at` is \(10, 10\); it must be ascending whole numbers, 1 or"),
        ({"at": (0, 10)}, r"^`at` is \(0, 10\); it must be ascending"),
        ({"at": (2.5,)}, r"^`at` is \(2\.5,\); it must be ascending"),
        ({"at_most": 0}, "`at_most` is 0; it must be a whole number"),
        ({"among": "some"}, "is 'some'; it must be 'all', 'tied' or names of items"),
        ({"between": ("i0", "z")}, r"^There is no item 'z'; the items are i0, i1\.$"),
        ({"between": ("i0", "i0")}, r"^Got \('i0', 'i0'\); name two or more different items\.$"),
        ({"among": ["i0"]}, r"^Got \['i0'\]; name two or more different items\.$"),
        ({"between": ("i0",)}, r"^`between` is \('i0',\); name two different items\.$"),
        ({"between": ("i0", "i1"), "at_most": 2}, "^`at_most` and `among` are about the lead, but"),
        ({"between": ("i0", "i1"), "among": "tied"}, "^`at_most` and `among` are about the lead"),
    ],
    ids=str,
)
def test_wrong_arguments_raise(options, message):
    with pytest.raises(ValueError, match=message):
        matches_needed(board([[1.0, 2.0], [2.0, 1.0]]), **options)
