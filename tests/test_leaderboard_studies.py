"""What groups, features and judges do to a leaderboard: on made-up boards, whose truth is known.

Votes of one prompt on the same two answers go together; a longer answer pleases whoever it is by;
one judge decides by something else; and a few people say what many machines are to be held to.
"""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayesrank as br
from bayesrank.inference import quick_matches, quick_posterior
from bayesrank.leaderboard import leaderboard_model
from bayesrank.results import outcome_probability

SYSTEMS = np.array(list("abcdef"))


def logistic(x):
    return 1 / (1 + np.exp(-x))


def read(table, **more):
    return br.Pairs.from_frame(table, first="x", second="y", outcome="won", **more)


def two_of(rng, n_items, n):
    """Two different items, so many times."""
    first = rng.integers(n_items, size=n)
    return first, (first + rng.integers(1, n_items, size=n)) % n_items


# Votes of one prompt


def votes_by_prompt(rng, n_prompts, votes, spread):
    """Votes on two answers to every prompt, which are better or worse than their systems."""
    utility = rng.normal(size=len(SYSTEMS))
    utility -= utility.mean()
    one, other = two_of(rng, len(SYSTEMS), n_prompts)
    lead = utility[one] - utility[other] + spread * np.sqrt(2) * rng.normal(size=n_prompts)
    prompt = np.repeat(np.arange(n_prompts), votes)
    won = rng.random(len(prompt)) < logistic(lead)[prompt]
    table = pd.DataFrame({"x": SYSTEMS[one][prompt], "y": SYSTEMS[other][prompt], "prompt": prompt})
    return utility, table.assign(won=np.where(won, "first", "second"))


@pytest.mark.slow
def test_a_prompt_of_many_votes_tells_less_than_as_many_prompts():
    _, table = votes_by_prompt(np.random.default_rng(1), 24, 15, spread=1.5)
    pairs = read(table, by="prompt")
    options = {"utility_scale": 1.0, "order_effect": False}
    model = leaderboard_model(pairs, groups=["prompt"], **options)
    found = quick_posterior(model, draws=250)["posterior"]
    narrow = quick_matches(read(table), order_effect=False)["posterior"]["utility"]
    assert float(found["prompt_spread"].quantile(0.01)) > 0.3  # it is 1.5
    assert (found["utility"].std(("chain", "draw")) > 1.3 * narrow.std(("chain", "draw"))).all()


# Answers of some length


def long_answers(rng, n, slope):
    """Votes of three judges, to whom a longer answer is better by its slope; c is always long."""
    utility = np.array([0.8, 0.3, -0.1, -0.3, -0.3, -0.4])
    one, other = two_of(rng, 6, n)
    size = rng.normal(size=(n, 2)) + 2.5 * np.stack([one == 2, other == 2], axis=1)
    judge = rng.integers(3, size=n)
    lead = utility[one] - utility[other] + slope[judge] * (size[:, 0] - size[:, 1])
    p = outcome_probability(lead, np.full(n, 0.5)).cumsum(axis=1)
    result = (rng.random((n, 1)) > p[:, :2]).sum(axis=1)
    table = pd.DataFrame({"x": SYSTEMS[one], "y": SYSTEMS[other], "judge": judge})
    table["won"] = np.array(["first", "tie", "second"])[result]
    return utility, table.assign(size_x=size[:, 0], size_y=size[:, 1])


@pytest.mark.slow
def test_what_is_long_is_not_better_with_length_held_equal():
    slope = np.array([0.9, 0.7, 0.5])
    utility, table = long_answers(np.random.default_rng(3), 1500, slope)
    features = {"size": ("size_x", "size_y")}
    pairs = read(table, judge="judge", features=features)
    leaders = {}
    for styled in (True, False):
        model = leaderboard_model(pairs, features=styled, order_effect=False, utility_scale=1.0)
        found = quick_posterior(model, draws=250)
        leaders[styled] = br.rank_summary(found).index[0]
        if styled:
            posterior = found["posterior"]
            each = posterior["feature_slope"].sel(feature="size")
            z = (each.mean(("chain", "draw")) - slope) / each.std(("chain", "draw"))
            assert (abs(z) < 5).all()
            gap = posterior["utility"].mean(("chain", "draw")) - utility
            assert (abs(gap) < 5 * posterior["utility"].std(("chain", "draw"))).all()
    assert leaders == {True: "a", False: "c"}


# Judges of one's own mind


def one_against_the_others(rng, n_each, n_others=3):
    """Votes of judges who see what is better, unsurely, and of one sure of another order."""
    utility = np.linspace(1, -1, 6)
    of_its_own = utility[[3, 1, 5, 0, 4, 2]]
    one, other = two_of(rng, 6, (n_others + 1) * n_each)
    judge = np.repeat(np.arange(n_others + 1), n_each)
    gap = np.where(
        judge == n_others, 20 * (of_its_own[one] - of_its_own[other]), utility[one] - utility[other]
    )
    won = rng.random(len(gap)) < logistic(gap)
    table = pd.DataFrame({"x": SYSTEMS[one], "y": SYSTEMS[other], "judge": judge})
    return utility, of_its_own, table.assign(won=np.where(won, "first", "second"))


@pytest.mark.slow
def test_a_judge_who_is_sure_of_another_order_does_not_decide_alone():
    utility, other, table = one_against_the_others(np.random.default_rng(2), 150)
    pairs = read(table, judge="judge")
    found = {}
    for groups in ((), ("judge",)):
        model = leaderboard_model(pairs, groups=groups, order_effect=False)
        mean = quick_posterior(model, draws=250)["posterior"]["utility"].mean(("chain", "draw"))
        found[groups] = [np.corrcoef(mean, truth)[0, 1] for truth in (utility, other)]
    # adherence alone takes for the best judge who is surest, and follows that one
    assert found[()][1] > 0.8 > found[()][0]
    assert found[("judge",)][0] > 0.8 > found[("judge",)][1]


@pytest.mark.slow
def test_a_contrary_judge_is_found_where_that_is_thought_possible():
    rng = np.random.default_rng(5)
    one, other = two_of(rng, 6, 1200)
    judge, utility = rng.integers(6, size=1200), np.linspace(1, -1, 6)
    lead = np.where(judge == 5, -1.0, 1.0) * (utility[one] - utility[other])
    won = np.where(rng.random(1200) < logistic(lead), "first", "second")
    table = pd.DataFrame({"x": SYSTEMS[one], "y": SYSTEMS[other], "judge": judge, "won": won})
    model = leaderboard_model(read(table, judge="judge"), contrary=True, order_effect=False)
    found = quick_posterior(model, draws=250)["posterior"]
    assert float(found["adherence"].quantile(0.99, ("chain", "draw")).sel(judge=5)) < 0
    assert br.rank_summary(found).index.tolist() == list(SYSTEMS)


# People and machines


def people_and_machines(rng, n_people, n_machines, n_new):
    """Few votes of people, and many of machines, who differ in systems and in length."""
    utility = rng.normal(size=6)
    offset = 0.4 * rng.normal(size=6)

    def votes(n, kind, of, slope):
        one, other = two_of(rng, 6, n)
        length = rng.normal(size=n)
        lead = of[one] - of[other] + slope * length
        won = np.where(rng.random(n) < logistic(lead), "first", "second")
        return pd.DataFrame(
            {"x": SYSTEMS[one], "y": SYSTEMS[other], "won": won, "length": length, "kind": kind}
        )

    known = [votes(n_people, "people", utility, 0.2)]
    known += [votes(n_machines, "machines", utility + offset, 1.0)]
    return pd.concat(known, ignore_index=True), votes(n_new, "people", utility, 0.2)


def log_score(found, table, *, kind):
    """Mean log probability of votes of people, of the posterior's mean probabilities."""
    draws = found["posterior"]
    slope = draws["feature_slope"].sel(feature="length")
    utility, adherence = draws["utility"], 1.0
    if kind:
        slope, adherence = slope.sel(judge="people"), draws["adherence"].sel(judge="people")
        utility = draws["category_utility"].sel(kind="people")
    rows = {side: xr.DataArray(table[side].to_numpy(), dims="vote") for side in ("x", "y")}
    lead = adherence * (utility.sel(item=rows["x"]) - utility.sel(item=rows["y"]))
    lead = lead + slope * xr.DataArray(table["length"].to_numpy(), dims="vote")
    sign = xr.DataArray(np.where(table["won"] == "first", 1, -1), dims="vote")
    return float(np.log(logistic(sign * lead).mean(("chain", "draw"))).mean())


def calibrated(seed):
    """Scores of people's new votes: by people alone, by all alike, by people and machines."""
    rng = np.random.default_rng(seed)
    known, new = people_and_machines(rng, 40, 3000, 2000)
    options = {"order_effect": False, "utility_scale": 1.0}
    features = {"features": ["length"]}
    alone = leaderboard_model(read(known[known["kind"] == "people"], **features), **options)
    alike = leaderboard_model(read(known, **features), **options)
    both = read(known, judge="kind", by="kind", **features)
    both = leaderboard_model(both, category="kind", **options)
    score = []
    for model, kind in ((alone, False), (alike, False), (both, True)):
        score.append(log_score(quick_posterior(model, draws=250), new, kind=kind))
    return score


@pytest.mark.slow
def test_machines_help_to_predict_people_where_they_are_not_taken_for_people():
    alone, alike, both = calibrated(1)
    assert both > alone + 0.01
    assert both > alike + 0.01
