"""Steps of a consensus, against its exact posterior."""

from itertools import product

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy.special import softmax

import bayesrank as br
from bayesrank.inference import LeapAndShift
from bayesrank.inference.mixtures.metropolis import move_to
from bayesrank.likelihoods.mallows import PLACES, total_costs
from bayesrank.likelihoods.mallows.order_kernels import places_of_orders
from tests.likelihoods.loops import for_each
from tests.likelihoods.mallows.permutations import every_ranking

ALPHA = 1.5


def rankings_of(n, n_rankings=6):
    ranks = pm.draw(br.Mallows.dist(np.arange(1, n + 1), 4.0, size=n_rankings), random_seed=n)
    items = [f"{i:02d}" for i in range(n)]
    return br.Rankings.from_orderings(
        [[items[i] for i in np.argsort(r)] for r in ranks], items=items
    ), ranks


def exact_places(ranks, alpha):
    cost = total_costs(ranks, np.ones(len(ranks)), "footrule")
    return places_of_orders(alpha / ranks.shape[1] * cost, PLACES)


def test_an_item_leaps_and_those_between_shift():
    for item, place, expected in (
        (0, 4, [4, 1, 2, 3, 5]),
        (4, 2, [1, 3, 4, 5, 2]),
        (2, 3, [1, 2, 3, 4, 5]),
        (1, 1, [2, 1, 3, 4, 5]),
    ):
        ranks = np.arange(1, 6)
        move_to(ranks, item, place)
        assert ranks.tolist() == expected


@pytest.mark.parametrize("has_costs", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_steps_have_the_posterior_of_the_consensus(has_costs):
    rankings, ranks = rankings_of(4)
    with pm.Model(coords=rankings.coords) as model:
        consensus = br.PlackettLuce("consensus", np.zeros(4), dims="item")
        br.Mallows("y", consensus, ALPHA, observed=rankings)
        if not has_costs:
            pm.Potential("none", 0.0 * consensus.sum())
        step = LeapAndShift([consensus], rng=np.random.default_rng(3), leap=2)
    assert (step.data is not None) == has_costs
    point = model.initial_point()
    draws = np.empty((1200, 4), int)
    for draw in draws:
        point, (stats,) = step.step(point)
        draw[:] = point["consensus"]
    assert 0 <= stats["accepted"] <= 1
    check_places(draws, exact_places(ranks, ALPHA))


def check_places(draws, exact):
    """Compare shares of draws (n_draws, n_items) with the probabilities of places."""
    for item in range(draws.shape[1]):
        for place in range(1, exact.shape[1] + 1):
            hit = (draws[:, item] == place).astype(float)
            if 0 < hit.mean() < 1:
                error = float(az.mcse(hit[None], method="mean"))
                assert abs(hit.mean() - exact[item, place - 1]) < 5.5 * error
            else:
                assert min(exact[item, place - 1], 1 - exact[item, place - 1]) < 0.02


def drawn_by(step, point, n_draws):
    """Draws of a consensus, (n_draws, ...)."""
    draws = np.empty((n_draws, *step.shape), int)
    for draw in draws:
        point, _ = step.step(point)
        draw[:] = point["consensus"]
    return draws


@pytest.mark.slow
@for_each("alpha", [2.5, [3.0, 1.0, 0.5]])
def test_steps_of_partial_rankings_have_theirs(alpha):
    orderings = [["a", "b", {"c", "d"}], list("dacb"), ["b", {"a", "c", "d"}]]
    if np.ndim(alpha) == 0:  # have no costs
        orderings += [["d", "a"], [{"a", "b"}, "c", "d"]]
    some = br.Rankings.from_orderings(orderings, weight=[1, 2, 1, 1, 1][: len(orderings)], rest=())
    with pm.Model(coords=some.coords) as model:
        consensus = br.PlackettLuce("consensus", np.zeros(4), dims="item")
        if np.ndim(alpha):
            br.GeneralizedMallows("y", consensus, alpha, observed=some)
        else:
            br.Mallows("y", consensus, alpha, distance="kendall", observed=some)
        step = LeapAndShift([consensus], rng=np.random.default_rng(3), leap=2)
    assert (step.data is not None) == bool(np.ndim(alpha))
    exact = exact_orders(model, 1)
    check_places(drawn_by(step, model.initial_point(), 2000), exact)


def exact_orders(model, n_rows):
    """Probabilities of places, (n_rows * n, n), from those of all orders of all rows."""
    n = model["consensus"].type.shape[-1] or len(model.coords["item"])
    logp, rows = model.compile_logp(), list(product(every_ranking(n), repeat=n_rows))
    shape = (n_rows, n) if n_rows > 1 else (n,)
    share = softmax([float(logp({"consensus": np.reshape(rho, shape)})) for rho in rows])
    flat = np.array(rows).reshape(len(rows), -1)
    return np.array([[share @ (item == r) for r in range(1, n + 1)] for item in flat.T])


@pytest.mark.slow
@for_each("distance", ["footrule", None])
def test_steps_of_components_have_the_posterior_of_their_orders(distance):
    rankings = br.Rankings.from_orderings(
        [list("abc"), list("bac"), list("cba"), list("cab")], weight=[2, 1, 2, 1]
    )
    with pm.Model(coords=rankings.coords | {"component": range(2)}) as model:
        consensus = br.PlackettLuce("consensus", np.zeros((2, 3)), dims=("component", "item"))
        if distance is None:
            components = br.GeneralizedMallows.dist(consensus, [[3.0, 1.0], [1.0, 4.0]])
        else:
            components = br.Mallows.dist(consensus, [3.0, 2.0], distance=distance)
        br.Mixture("y", [0.6, 0.4], components, observed=rankings)
        step = LeapAndShift([consensus], rng=np.random.default_rng(3))
    assert step.data is not None
    exact = exact_orders(model, 2)
    check_places(drawn_by(step, model.initial_point(), 3000).reshape(-1, 6), exact)


THRICE = br.Rankings.from_orderings(
    [list("bacd"), list("abdc"), list("dacb"), list("badc"), list("abcd")],
    rankers=list("xyxzy"), weight=[1, 2, 1, 1, 3],
)  # fmt: skip


def stepped(distance="footrule", dims=("item",), alpha_dims=None, rankings=THRICE, more=None):
    """A step of a consensus, and the model around it."""
    with pm.Model(coords=rankings.coords) as model:
        alpha = pm.Exponential("alpha", 1.0, dims=alpha_dims)
        shape = [len(rankings.coords[dim]) for dim in dims]
        consensus = br.PlackettLuce("consensus", np.zeros(shape), dims=dims)
        br.Mallows("y", consensus, alpha, distance=distance, observed=rankings)
        if more is not None:
            more(consensus)
        return model, LeapAndShift([consensus], rng=1)


@for_each(
    ("distance", "dims", "alpha_dims"),
    [
        ("footrule", ("item",), None),
        ("spearman", ("item",), "ranker"),
        ("kendall", ("ranker", "item"), None),
        ("footrule", ("ranker", "item"), "ranker"),
    ],
)
def test_costs_are_what_the_log_probability_is_made_of(distance, dims, alpha_dims, rng):
    model, step = stepped(distance, dims, alpha_dims)
    alpha = np.array([0.5, 2.0, 4.0]) if alpha_dims else np.array(2.0)
    given = step.data.conditionals([alpha[THRICE.ranker_idx] if alpha_dims else alpha], rng)
    assert [x.row for x in given] == list(range(len(given)))
    cost = np.array([x.cost for x in given])
    logp = model.compile_logp(vars=model["y"], jacobian=False)
    found = []
    for _ in range(4):
        rho = rng.permuted(np.tile(np.arange(1, 5), (cost.shape[0], 1)), axis=1)
        if given[0].statistics.cost_type == PLACES:
            total = sum(
                matrix[np.arange(4), r - 1].sum() for matrix, r in zip(cost, rho, strict=True)
            )
        else:
            later = rho[:, :, None] > rho[:, None, :]
            total = (cost * later).sum()
        point = {"alpha_log__": np.log(alpha), "consensus": rho.reshape(step.shape)}
        found.append(float(logp(point)) + total)
    np.testing.assert_allclose(found, found[0], atol=1e-10)
    point, _ = step.step(model.initial_point())
    assert sorted(np.atleast_2d(point["consensus"])[0].tolist()) == [1, 2, 3, 4]


def test_a_step_has_costs_only_if_all_that_depends_on_it_is_rankings():
    assert stepped()[1].data is not None
    for model, step in (
        stepped(more=lambda rho: pm.Normal("z", rho[0], 1.0, observed=0.0)),
        stepped(more=lambda rho: pm.Potential("p", 1.0 * rho[0])),
    ):
        assert step.data is None
        point, _ = step.step(model.initial_point())
        assert sorted(point["consensus"].tolist()) == list(range(1, step.shape[0] + 1))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "distance"), [(8, "footrule"), (12, "footrule"),
                                             (8, "kendall"), (12, "kendall")])  # fmt: skip
def test_steps_and_nuts_have_the_posterior_of_both(n, distance):
    rankings, _ = rankings_of(n)
    with pm.Model(coords=rankings.coords):
        alpha = pm.Exponential("alpha", 0.2)
        consensus = br.PlackettLuce("consensus", np.zeros(n), dims="item")
        br.Mallows("y", consensus, alpha, distance=distance, observed=rankings)
        found = pm.sample(
            1500, tune=500, chains=2, cores=1, step=LeapAndShift([consensus]), random_seed=1,
            progressbar=False, compute_convergence_checks=False,
        )  # fmt: skip
    with pm.Model(coords=rankings.coords) as model:
        alpha = pm.Exponential("alpha", 0.2)
        br.Mallows("y", alpha=alpha, distance=distance, observed=rankings)
        exact = pm.sample(
            1500, tune=500, chains=2, cores=1, random_seed=1, progressbar=False,
            compute_convergence_checks=False,
        )  # fmt: skip
    means = [float(x["posterior"]["alpha"].mean()) for x in (found, exact)]
    errors = [float(az.mcse(x["posterior"]["alpha"], method="mean")) for x in (found, exact)]
    assert float(az.rhat(found["posterior"]["alpha"])) < 1.02
    assert abs(means[0] - means[1]) < 5.5 * np.hypot(*errors)
    places = br.sample_consensus(exact, model=model, random_seed=1)["place_probability"]
    places = places.mean(("chain", "draw"))
    for item in rankings.items:
        ranks = found["posterior"]["consensus"].sel(item=item)
        expected = float((places.sel(item=item) * places["place"]).sum())
        error = float(az.mcse(ranks.astype(float), method="mean"))
        assert abs(float(ranks.mean()) - expected) < 5.5 * error + 0.1


@for_each(("case", "message"), [
    ("alpha", "expects a full ranking, .*; '\\w+' starts with"),
    ("both", "LeapAndShift takes one variable; got"),
    ("leap", "`leap` is 0; it must be 1 or more"),
])  # fmt: skip
def test_a_variable_that_is_not_a_ranking_is_refused(case, message):
    with pm.Model():
        alpha = pm.Exponential("alpha", 1.0)
        consensus = br.PlackettLuce("consensus", np.zeros(3))
        which = {"alpha": [alpha], "both": [alpha, consensus]}.get(case, [consensus])
        with pytest.raises(ValueError, match=message):
            LeapAndShift(which, leap=0 if case == "leap" else None)
