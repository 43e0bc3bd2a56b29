"""Steps of a consensus, against its exact posterior."""

import arviz as az
import numpy as np
import pymc as pm
import pytest

import bayesrank as br
from bayesrank.inference import LeapAndShift
from bayesrank.inference.leap_and_shift import _leap
from bayesrank.likelihoods.mallows import PLACES, consensus_costs
from bayesrank.likelihoods.mallows.order_kernels import places_of_orders
from tests.likelihoods.loops import for_each

ALPHA = 1.5


def rankings_of(n, n_rankings=6):
    ranks = pm.draw(br.Mallows.dist(np.arange(1, n + 1), 4.0, size=n_rankings), random_seed=n)
    items = [f"{i:02d}" for i in range(n)]
    return br.Rankings.from_orderings(
        [[items[i] for i in np.argsort(r)] for r in ranks], items=items
    ), ranks


def exact_places(ranks, alpha):
    cost = consensus_costs(ranks, "footrule").eval(mode="FAST_COMPILE").sum(axis=0)
    return places_of_orders(alpha / ranks.shape[1] * cost, PLACES)


def test_an_item_leaps_and_those_between_shift():
    for item, there, expected in (
        (0, 4, [4, 1, 2, 3, 5]),
        (4, 2, [1, 3, 4, 5, 2]),
        (2, 3, [1, 2, 3, 4, 5]),
        (1, 1, [2, 1, 3, 4, 5]),
    ):
        ranks = np.arange(1, 6)
        _leap(ranks, item, there)
        assert ranks.tolist() == expected


def test_steps_have_the_posterior_of_the_consensus():
    rankings, ranks = rankings_of(4)
    with pm.Model(coords=rankings.coords) as model:
        consensus = br.PlackettLuce("consensus", np.zeros(4), dims="item")
        br.Mallows("y", consensus, ALPHA, observed=rankings)
        step = LeapAndShift([consensus], rng=np.random.default_rng(3), leap=2)
    point = model.initial_point()
    draws = np.empty((1200, 4), int)
    for draw in draws:
        point, (stats,) = step.step(point)
        draw[:] = point["consensus"]
    assert 0 <= stats["accepted"] <= 1
    exact = exact_places(ranks, ALPHA)
    for item in range(4):
        for place in range(1, 5):
            here = (draws[:, item] == place).astype(float)
            if 0 < here.mean() < 1:
                error = float(az.mcse(here[None], method="mean"))
                assert abs(here.mean() - exact[item, place - 1]) < 5.5 * error
            else:
                assert min(exact[item, place - 1], 1 - exact[item, place - 1]) < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("n", [8, 12])
def test_steps_and_nuts_have_the_posterior_of_both(n):
    rankings, _ = rankings_of(n)
    with pm.Model(coords=rankings.coords):
        alpha = pm.Exponential("alpha", 0.2)
        consensus = br.PlackettLuce("consensus", np.zeros(n), dims="item")
        br.Mallows("y", consensus, alpha, observed=rankings)
        found = pm.sample(
            1500, tune=500, chains=2, cores=1, step=LeapAndShift([consensus]), random_seed=1,
            progressbar=False, compute_convergence_checks=False,
        )  # fmt: skip
    with pm.Model(coords=rankings.coords) as model:
        alpha = pm.Exponential("alpha", 0.2)
        br.Mallows("y", alpha=alpha, observed=rankings)
        exact = pm.sample(
            1500, tune=500, chains=2, cores=1, random_seed=1, progressbar=False,
            compute_convergence_checks=False,
        )  # fmt: skip
    means = [float(x["posterior"]["alpha"].mean()) for x in (found, exact)]
    errors = [float(az.mcse(x["posterior"]["alpha"], method="mean")) for x in (found, exact)]
    assert float(az.rhat(found["posterior"]["alpha"])) < 1.02
    assert abs(means[0] - means[1]) < 5.5 * np.hypot(*errors)
    places = br.consensus_posterior(exact, model=model, random_seed=1)["place_probability"]
    places = places.mean(("chain", "draw"))
    for item in rankings.items:
        ranks = found["posterior"]["consensus"].sel(item=item)
        expected = float((places.sel(item=item) * places["place"]).sum())
        error = float(az.mcse(ranks.astype(float), method="mean"))
        assert abs(float(ranks.mean()) - expected) < 5.5 * error + 0.1


@for_each(("what", "message"), [
    ("alpha", "begins with .*, which is no full ranking"),
    ("both", "LeapAndShift takes one variable; got"),
    ("leap", "`leap` is 0; an item leaps by one place at least"),
])  # fmt: skip
def test_what_is_no_ranking_is_refused(what, message):
    with pm.Model():
        alpha = pm.Exponential("alpha", 1.0)
        consensus = br.PlackettLuce("consensus", np.zeros(3))
        which = {"alpha": [alpha], "both": [alpha, consensus]}.get(what, [consensus])
        with pytest.raises(ValueError, match=message):
            LeapAndShift(which, leap=0 if what == "leap" else None)
