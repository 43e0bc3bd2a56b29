"""The how-to pages: utilities reach the right rankings, and simulated values are found."""

import functools
import re

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from scipy.special import expit, logsumexp, softmax
from scipy.stats import binom

import bayesrank as br
from bayesrank.inference import objective
from models.howto import (
    calibration,
    components,
    conjoint,
    days,
    groups,
    horseshoe,
    minibatches,
    new_data,
    seasons,
    shards,
    vmapped,
)
from tests.builders import GALLERY

PAGES = sorted((GALLERY / "howto").glob("*.py"))
SAMPLE = ["chain", "draw"]


def test_every_page_begins_with_its_question_and_is_listed_under_it():
    lines = (GALLERY / "howto" / "README.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"(?m)^\| (.+\?) \| \[\w+\]\((\w+\.py)\) \|", lines))
    asked = {
        re.match(r'r?"""(.*)', path.read_text(encoding="utf-8"))[1]: path.name for path in PAGES
    }
    assert listed == asked
    assert list(listed.values()) == list(dict.fromkeys(listed.values()))


# Whose utilities: the log-likelihood at the truth, ranking by ranking and by label


def by_label(rankings, utility):
    """Sum of the log-probabilities of full rankings, each with utilities selected by its labels."""
    table = rankings.to_frame()
    dims = [dim for dim in utility.dims if dim != "item"]
    total = 0.0
    for _, rows in table.sort_values("rank").groupby("ranking", sort=False):
        at = {dim: rows[dim].iloc[0] for dim in dims}
        u = utility.sel(at).sel(item=rows["item"].to_numpy()).to_numpy()
        total += sum(u[k] - logsumexp(u[k:]) for k in range(len(u)))
    return total


def by_model(model, utility):
    """Log-likelihood of the model, whose utility is set to these numbers."""
    dims = model.named_vars_to_dims["utility"]
    with pm.do(model, {"utility": utility.transpose(*dims).to_numpy()}) as done:
        return float(done.compile_logp(vars=done["y"])(done.initial_point()))


def turned(utility, dim):
    """The same, of the wrong groups."""
    return utility.copy(data=utility.roll({dim: 1}).to_numpy())


def test_every_ranker_has_utilities_of_its_own_that_are_near_those_of_its_region():
    rankings, truth = groups.simulate()
    model = groups.build(rankings)
    at_truth = by_model(model, truth["utility"])
    assert at_truth == pytest.approx(by_label(rankings, truth["utility"]))
    assert at_truth > by_model(model, turned(truth["utility"], "ranker")) + 20
    # the ranker's region: without what is the ranker's own, all of a region are alike
    point = model.initial_point() | {
        "region_effect_zerosum__": np.random.default_rng(1).normal(size=(2, 5)),
        "within_log__": -50.0,
    }
    region, ranker = model.compile_fn(
        model.replace_rvs_by_values([model["region_utility"], model["utility"]])
    )(point)
    south = [name in set(southern(rankings)) for name in rankings.rankers]
    np.testing.assert_allclose(ranker, region[np.array(south, dtype=int)], atol=1e-12)
    assert np.ptp(region, axis=0).min() > 0.01


def southern(rankings):
    table = rankings.to_frame()
    return table.loc[table["region"] == "south", "ranker"]


@pytest.mark.parametrize("prior", ["walk", "smooth"])
def test_every_season_has_utilities_of_its_own(prior):
    rankings, truth = seasons.simulate()
    model = seasons.build(rankings, prior)
    at_truth = by_model(model, truth)
    assert at_truth == pytest.approx(by_label(rankings, truth))
    assert at_truth > by_model(model, turned(truth, "season")) + 20


def test_a_match_has_the_strengths_of_its_day():
    pairs, truth = days.simulate()
    at_truth = by_model(model := days.build(pairs), truth)
    utility, day = truth.to_numpy(), pairs.group_idx("day")
    lead = utility[day, pairs.first] - utility[day, pairs.second]
    n, won = pairs.counts[:, :2].sum(axis=1), pairs.counts[:, 0]
    assert at_truth == pytest.approx(binom.logpmf(won, n, expit(lead)).sum())
    assert at_truth > by_model(model, truth.copy(data=utility[::-1])) + 20


def test_utilities_by_features_reach_the_items_whatever_the_order_of_the_features():
    rankings, features = horseshoe.simulate()
    utility = features[[*horseshoe.EFFECTS]] @ pd.Series(horseshoe.EFFECTS)
    wanted = by_label(rankings, utility.rename_axis("item").to_xarray())
    model = horseshoe.build(rankings, features.sample(frac=1, random_state=1))
    names = ["shrinkage", "local", "slab2"]
    # no shrinkage to speak of: a coefficient is z times its width, which is wide
    with pm.do(model, dict(zip(names, [1e3, np.ones(20), 1.0], strict=True))) as wide:
        z = pd.Series(horseshoe.EFFECTS).reindex(features.columns, fill_value=0.0)
        found = wide.compile_logp(vars=wide["y"])({"z": z.to_numpy()})
    assert found == pytest.approx(wanted, rel=1e-5)


@pytest.mark.slow
def test_every_ranker_is_of_one_component_and_the_mode_tells_of_which():
    rankings, truth = components.simulate()
    model = components.build(rankings)
    w, table = np.array([0.7, 0.3]), rankings.to_frame()
    logps = np.zeros((len(rankings.rankers), 2))
    for r, ranker in enumerate(rankings.rankers):
        for _, rows in table[table["ranker"] == ranker].groupby("ranking", sort=False):
            order = rows.sort_values("rank")["item"].to_numpy()
            u = truth["utility"].sel(item=order).to_numpy()
            logps[r] += sum(u[:, k] - logsumexp(u[:, k:], axis=1) for k in range(5))
    with pm.do(model, {"weight": w, "utility": truth["utility"].to_numpy()}) as done:
        logp = done.compile_logp(vars=done["y"], sum=False, mode="FAST_COMPILE")
        (found,) = logp(done.initial_point())
    np.testing.assert_allclose(found, logsumexp(logps + np.log(w), axis=1), rtol=1e-10)

    mode = br.fit_mixture(n_starts=4, mode="FAST_COMPILE", random_seed=1, model=model).mode
    of = components.matched(mode["posterior"]["utility"].isel(chain=0, draw=0), truth["utility"])
    likely = br.component_probabilities(mode, model=model).isel(component=of).argmax("component")
    assert (likely.to_numpy() == truth["component_of"].to_numpy()).mean() > 0.95


@pytest.mark.slow
def test_batches_have_the_log_likelihood_of_all_on_average():
    rankings, truth = minibatches.simulate(500)
    logp = minibatches.build(rankings, 50).compile_logp(vars=None, sum=True)
    prior = -0.5 * (truth**2).sum() - 5 * np.log(2 * np.pi)
    values = np.array([float(logp({"utility": truth.to_numpy()})) for _ in range(300)]) - prior
    wanted = by_label(rankings, truth.rename_axis("item").to_xarray())
    assert abs(values.mean() - wanted) < 5 * values.std() / np.sqrt(300)
    assert values.std() < 0.1 * abs(wanted)


# New sets, items and rankers

NEW = [["new", "item 00", "item 01"], ["newer", "new"], ["item 02", "item 01", "item 00"]]
RANKERS = ["ranker 0", "stranger", "stranger"]


@functools.cache
def world():
    """A model, and draws that stand for its posterior: what is known, and a prior of the rest."""
    rankings, features = new_data.simulate()
    rankings = new_data.with_strangers(rankings, features)
    rng = np.random.default_rng(1)
    n = 1000
    sizes = {"feature": 2, "item": len(features), "ranker": len(rankings.rankers)}
    draws = {
        "coefficient": (("feature",), new_data.COEFFICIENT + 0.1 * rng.normal(size=(n, 2))),
        "effect_scale": ((), np.full(n, 0.3)),
        "taste_scale": ((), np.full(n, 0.5)),
        "effect": (("item",), rng.normal(size=(n, sizes["item"]))),
        "taste": (("ranker", "item"), rng.normal(size=(n, sizes["ranker"], sizes["item"]))),
    }
    posterior = xr.Dataset(
        {name: ((*SAMPLE, *dims), x[None]) for name, (dims, x) in draws.items()},
        coords={
            "feature": new_data.FEATURES,
            "item": features.index.to_numpy(),
            "ranker": rankings.rankers.to_numpy(),
        },
    )
    return rankings, features, posterior


def wins(utility):
    """Probability that each item is first, averaged over the draws."""
    return xr.apply_ufunc(
        softmax, utility, kwargs={"axis": -1}, input_core_dims=[["item"]],
        output_core_dims=[["item"]],
    ).mean(SAMPLE)  # fmt: skip


def test_new_sets_items_and_rankers_win_as_often_as_their_utilities_say():
    rankings, features, posterior = world()
    x = xr.DataArray(features, dims=("item", "feature"))
    utility = x.dot(posterior["coefficient"], dim="feature")
    utility = utility + 0.3 * posterior["effect"] + 0.5 * posterior["taste"]
    new = br.Rankings.from_orderings(NEW, rest=(), rankers=RANKERS)
    ranks = new_data.predict(new_data.build(rankings, features), posterior, new)
    assert ranks.dims == ("chain", "draw", "ranking", "item")
    for row, (some, ranker) in enumerate(zip(NEW, RANKERS, strict=True)):
        drawn = ranks.isel(ranking=row).dropna("item", how="all")
        assert set(drawn["item"].values) == set(some)
        wanted = wins(utility.sel(ranker=ranker, item=drawn["item"].values).transpose(..., "item"))
        first = (drawn == 1).mean(SAMPLE)
        np.testing.assert_allclose(first, wanted, atol=5 * np.sqrt(0.25 / 1000))


# Calibration


@pytest.mark.slow
def test_divided_rankings_end_beside_the_truth():
    rankings = shards.part(0, 1, 5000)
    density, data = shards.divided(rankings)
    mode = br.jax.find_map(density, data)
    found = shards.table(shards.by_svi(density, data, mode.values))
    off = found["mean"] - found["mean"].mean() - np.linspace(1.5, -1.5, 30)
    assert np.sqrt((off**2).mean()) < 0.1
    assert abs(found["mean"] - mode.values["utility"]).max() < 0.2 * found["sd"].max()
    logp, _ = objective(shards.build(rankings), random_seed=1)
    at, step = np.asarray(mode.values["utility"]), 1e-4
    bend = [
        (logp(at + step * axis)[1] - logp(at - step * axis)[1]) @ axis / (2 * step)
        for axis in np.eye(at.size)
    ]
    np.testing.assert_allclose(found["sd"], 1 / np.sqrt(-np.array(bend)), rtol=0.15)


@pytest.mark.slow
def test_modes_side_by_side_are_those_of_one_after_another():
    problems = {f"query {k}": shards.part(k, 8, 400) for k in range(8)}
    model = shards.build(problems["query 0"])
    found = vmapped.modes(br.jax.compile(model), problems)
    expected = br.find_MAP_many(problems, tolerance=1e-10, progressbar=False, model=model)
    np.testing.assert_allclose(found["utility"], expected["utility"], atol=1e-5)


@pytest.mark.slow
def test_a_right_model_is_calibrated_and_a_wrong_one_is_not():
    model = calibration.build()
    with pm.Model(coords=model.coords) as wrong:
        ranks = pm.Data("ranks", np.tile([1, 2, 3, 4], (8, 1)))
        scale = pm.HalfNormal("scale", 1)
        utility = scale * pm.ZeroSumNormal("z", 1, dims="item")
        pm.Deterministic("utility", utility, dims="item")
        br.PlackettLuce("y", 3 * utility, observed=ranks, shape=(8, 4))
    ranks = {
        name: calibration.calibrate(model, fitted, ["scale", "utility"], n_worlds=200)
        for name, fitted in (("right", model), ("wrong", wrong))
    }
    p = {name: calibration.tenths(table)["p"] for name, table in ranks.items()}
    assert p["right"].min() > 1e-5
    assert p["wrong"]["scale[0]"] < 1e-6


# What was simulated is found

SHORT = {
    "draws": 400, "tune": 400, "chains": 2, "cores": 1, "random_seed": 1, "progressbar": False,
    "nuts_sampler": "nutpie", "backend": "jax",
}  # fmt: skip


def found_utilities(page, *prior):
    """Draws of the utilities of a page's model, and the utilities of its simulated data."""
    data, truth = page.simulate()
    with page.build(data, *prior) as model:
        start = {}
        if page is components:
            fit = br.fit_mixture(random_seed=1, model=model)
            start = {"initvals": fit.initvals}
        tree = pm.sample(**SHORT, nuts={"target_accept": 0.9}, **start)
    truth = truth["utility"] if isinstance(truth, dict | xr.Dataset) else truth
    if page is components:
        tree = br.relabel_components(tree, fit.mode)
        draws = tree["posterior"]["utility"]
        order = components.matched(draws.mean(SAMPLE), truth)
        draws = draws.isel(component=order).assign_coords(component=[0, 1])
    else:
        draws = tree["posterior"]["utility"]
    shared = {dim: truth[dim] for dim in truth.dims if dim in draws.coords}
    return draws.assign_coords(shared), truth


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "prior", "most"),
    [
        (groups, (), 0.6),
        (seasons, ("walk",), 0.36),
        (seasons, ("smooth",), 0.36),
        (days, (), 0.25),
        (components, (), 0.5),
    ],
    ids=str,
)
def test_utilities_that_were_simulated_are_found(page, prior, most):
    draws, truth = found_utilities(page, *prior)
    draws, truth = draws - draws.mean("item"), truth - truth.mean("item")
    off = draws.mean(SAMPLE) - truth
    assert float(((off / draws.std(SAMPLE)) ** 2).mean()) < 2  # 1 on average
    # utilities that are the same for all rankers, seasons or days would have an error of 1, at best
    (dim,) = set(truth.dims) - {"item"}
    assert float((off**2).mean()) < most * float(((truth - truth.mean(dim)) ** 2).mean())


@pytest.mark.slow
def test_the_features_that_matter_are_found_and_others_are_not():
    rankings, features = horseshoe.simulate()
    with horseshoe.build(rankings, features):
        draws = pm.sample(**SHORT, nuts={"target_accept": 0.98})["posterior"]["coefficient"]
    for name, effect in horseshoe.EFFECTS.items():
        low, high = draws.sel(feature=name).quantile([0.005, 0.995])
        assert low < effect < high
        assert low > 0 or high < 0
    others = draws.drop_sel(feature=[*horseshoe.EFFECTS])
    assert np.abs(others.mean(SAMPLE)).max() < 0.15


@pytest.mark.slow
def test_batches_find_the_utilities():
    rankings, truth = minibatches.simulate()
    table = minibatches.fitted(minibatches.build(rankings), 5000)
    assert (table["mean"] - truth).abs().max() < 0.15
    assert table["sd"].between(0.005, 0.06).all()


@pytest.mark.slow
def test_intervals_of_conjoint_surveys_contain_the_truth_as_often_as_they_say():
    table = conjoint.coverage(20, ci_prob=0.9)
    # values of one survey depend on one another, so the tolerance is that of 25 to 100 values
    assert table["inside"].between(0.75, 1.0).all()
    assert 0.86 < table.loc["part-worth of a person", "inside"] < 0.94
    assert table[["truth below", "truth above"]].to_numpy().max() < 0.2
