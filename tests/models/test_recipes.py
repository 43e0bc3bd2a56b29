"""Recipes of the how-to pages: likelihoods by hand, and the truth found by sampling."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy.special import expit, logsumexp
from scipy.stats import binom

import bayesrank as br
from models.howto import bart, constructors, intransitive, lapse, ratings_and_rankings, teams

RECIPES = {
    "teams": teams,
    "constructors": constructors,
    "ratings_and_rankings": ratings_and_rankings,
    "intransitive": intransitive,
    "lapse": lapse,
}
COMPARED = {
    "teams": ["skill"],
    "constructors": ["skill", "car"],
    "ratings_and_rankings": ["utility", "severity", "sharpness"],
    "intransitive": ["utility", "cycle"],
    "lapse": ["utility", "lapse"],
}


def logp_of(model, **values):
    """Log-likelihood of y, with these variables set."""
    with pm.do(model, values) as done:
        return float(done.compile_logp(vars=done["y"])(done.initial_point()))


def full_logp(u, order):
    """Plackett-Luce log-probability of an order of positions, best first."""
    return sum(u[order[k]] - logsumexp(u[order[k:]]) for k in range(len(order)))


def orders(rankings):
    """The labels of every full ranking, best first."""
    return [list(rows["item"]) for _, rows in rankings.to_frame().groupby("ranking", sort=False)]


def match_logps(pairs, lead):
    """Log-likelihood of matches, with the lead of every pair by its two labels."""
    table = pairs.to_frame()
    wide = table.pivot_table(
        index=["first", "second"], columns="outcome", values="count", fill_value=0, aggfunc="sum"
    )
    won, lost = wide["first"].to_numpy(), wide["second"].to_numpy()
    d = np.array([lead(a, b) for a, b in wide.index])
    return float(binom(won + lost, expit(d)).logpmf(won).sum())


def test_a_line_up_is_as_strong_as_the_sum_of_its_players():
    pairs, truth = teams.simulate()
    skill = truth["skill"].to_series()
    by_hand = match_logps(
        pairs, lambda a, b: skill[a.split(" + ")].sum() - skill[b.split(" + ")].sum()
    )
    model = teams.build(pairs)
    skills = skill[list(model.coords["player"])].to_numpy()
    assert logp_of(model, skill=skills) == pytest.approx(by_hand)


def test_a_driver_has_the_car_of_its_constructor_in_that_season():
    rankings, team, truth = constructors.simulate(n_races=3)
    model = constructors.build(rankings, team)
    car = truth["car"].transpose("constructor", "season").to_numpy()
    skill = truth["skill"].sel(item=rankings.items).to_numpy()
    table = rankings.to_frame()
    by_hand = 0.0
    for _, rows in table.sort_values("rank").groupby("ranking"):
        season = rows["season"].iloc[0]
        u = [
            float(truth["skill"].sel(item=i))
            + float(truth["car"].sel(constructor=team.loc[i, season], season=season))
            for i in rows["item"]
        ]
        by_hand += full_logp(np.array(u), np.arange(len(u)))
    assert logp_of(model, skill=skill, car=car) == pytest.approx(by_hand)


def test_a_cycle_changes_its_sign_with_the_sides():
    pairs, truth = intransitive.simulate()
    u, cycle = truth["utility"].to_series(), truth["cycle"].to_pandas()
    by_hand = match_logps(pairs, lambda a, b: u[a] - u[b] + cycle.loc[a, b])
    model = intransitive.build(pairs)
    values = {"utility": u[pairs.items], "cycle": cycle.loc[pairs.items, pairs.items]}
    found = logp_of(model, **{name: np.asarray(x) for name, x in values.items()})
    assert found == pytest.approx(by_hand)


def test_a_lapse_gives_every_order_the_same_probability():
    rankings, truth = lapse.simulate(20)
    u = truth["utility"].sel(item=rankings.items).to_numpy()
    by_hand = sum(
        np.log(0.8 * np.exp(full_logp(u, rankings.items.get_indexer(order))) + 0.2 / 720)
        for order in orders(rankings)
    )
    assert logp_of(lapse.build(rankings), utility=u, lapse=0.2) == pytest.approx(by_hand)


def test_grades_and_rankings_share_utilities():
    grades, rankings, truth = ratings_and_rankings.simulate()
    model = ratings_and_rankings.build(grades, rankings)
    u = truth["utility"].sel(item=rankings.items).to_numpy()
    with pm.do(model, {"utility": u, "severity": truth["severity"].to_numpy()}) as right:
        at_truth = float(right.compile_logp(sum=True)(right.initial_point()))
    with pm.do(model, {"utility": -u, "severity": truth["severity"].to_numpy()}) as wrong:
        assert at_truth > float(wrong.compile_logp(sum=True)(wrong.initial_point())) + 40


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_the_truth_is_found(name):
    *data, truth = RECIPES[name].simulate()
    with RECIPES[name].build(*data):
        posterior = pm.sample(random_seed=1, progressbar=False)["posterior"].dataset
    found, truth = posterior[COMPARED[name]], truth[COMPARED[name]]
    # skills of teams have no fixed level, as line-ups have the same size
    if name == "teams":
        found, truth = found - found.mean("player"), truth - truth.mean("player")
    off = (found.mean(["chain", "draw"]) - truth) / found.std(["chain", "draw"])
    for variable in COMPARED[name]:
        assert float(abs(off[variable]).max()) < 4.5, variable
        if truth[variable].ndim:
            mean = found[variable].mean(["chain", "draw"])
            assert float(xr.corr(truth[variable], mean)) > 0.8


@pytest.mark.slow
def test_trees_find_the_shape_of_the_utility():
    pytest.importorskip("pymc_bart")
    rankings, truth = bart.simulate()
    with bart.build(rankings, truth["features"]):
        posterior = pm.sample(
            tune=200, draws=200, chains=1, cores=1, random_seed=1, progressbar=False
        )
    mean = posterior["posterior"]["utility"].mean(["chain", "draw"])
    assert float(xr.corr(truth["utility"], mean)) > 0.9
    assert br.rank_summary(posterior).index[0] in truth["utility"].to_series().nlargest(5).index
