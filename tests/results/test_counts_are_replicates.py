"""A row with a count gives the same results as that many rows, in every family."""

import numpy as np
import nutpie
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from pytensor.compile.mode import Mode
from scipy.stats import binom

import bayesrank as br
from bayesrank.inference import data_groups
from bayesrank.inference.approximation.modes import kept_of
from bayesrank.inference.validation import kfold as room
from bayesrank.results import borda, condorcet, first_places, pair_wins
from bayesrank.results.evaluation.loo import loo_of
from bayesrank.results.ranks.counted import comparisons

ORDERS = [["a", "b", "c", "d"], ["b", "a", "d", "c"], ["d", "c", "b", "a"], ["c", "a", "b", "d"]]
TASKS = [["a", {"b", "c"}, "d"], ["b", {"a", "d"}, "c"], ["d", {"c", "b"}, "a"]]
BLOCKS = [["a", {"b", "c"}], ["b", "a"], [{"a", "c"}, "b"], ["c", "b", "a"]]
COUNTS = [7, 5, 1, 3]
FULL = br.Rankings.from_orderings(ORDERS, count=COUNTS)
TIED = br.Rankings.from_orderings(BLOCKS, rest=(), count=COUNTS)
ASKED = br.Rankings.from_orderings(TASKS, count=COUNTS[:3])


def utility():
    return pm.Normal("utility", 0, 1, dims="item")


def plackett_luce(rankings):
    br.PlackettLuce("y", utility(), observed=rankings)


def by_group(rankings):
    rankings = rankings.grouped({"even": rankings.item[:, 0] % 2})
    pm.modelcontext(None).add_coords({"even": rankings.coords["even"]})
    x = pm.Normal("utility", 0, 1, dims=("even", "item"))
    br.PlackettLuce("y", x, utility_dims=("even", "item"), observed=rankings)


def pmop(rankings):
    br.PMOP("y", utility(), observed=rankings)


def max_diff(rankings):
    br.MaxDiff("y", utility(), observed=rankings)


def mallows(distance):
    def build(rankings):
        br.Mallows("y", [1, 2, 3, 4], pm.HalfNormal("alpha", 1), distance=distance,
                   observed=rankings)  # fmt: skip

    return build


def generalized(rankings):
    br.GeneralizedMallows("y", [1, 2, 3, 4], pm.HalfNormal("alpha", 1, shape=3), observed=rankings)


def marginal(rankings):
    br.Mallows("y", alpha=pm.HalfNormal("alpha", 1), observed=rankings)


def mixture(unit):
    def build(rankings):
        pm.modelcontext(None).add_coords({"component": ["x", "y"]})
        x = pm.Normal("utility", 0, 1, dims=("component", "item"))
        br.Mixture("y", [0.4, 0.6], br.PlackettLuce.dist(x), unit=unit, observed=rankings)

    return build


def mpm(rankings):
    br.MPM("y", utility(), adherence=pm.HalfNormal("adherence", 1), observed=rankings.counts())


SINGLE = {
    "Plackett-Luce": (plackett_luce, FULL),
    "Plackett-Luce of weak orders": (plackett_luce, TIED),
    "Plackett-Luce by group": (by_group, FULL),
    "PMOP": (pmop, TIED),
    "MaxDiff": (max_diff, ASKED),
    "Mallows, Kendall": (mallows("kendall"), FULL),
    "Mallows, Spearman": (mallows("spearman"), FULL),
    "generalized Mallows": (generalized, FULL),
    "mixture of rankings": (mixture("ranking"), FULL),
    "mixture of rankers": (mixture("ranker"), FULL),
    "MPM": (mpm, FULL),
}
FAMILIES = {**SINGLE, "Mallows without a consensus": (marginal, FULL)}
by_family = pytest.mark.parametrize(("build", "rankings"), SINGLE.values(), ids=SINGLE)


def model_of(build, rankings):
    coords = {k: v for k, v in rankings.coords.items() if k in ("item", "ranking", "ranker")}
    coords = coords if build is not mpm else {"item": coords["item"]}
    with pm.Model(coords=coords) as model:
        build(rankings)
    return model


def tree_of(model, seed=0):
    """Give a model draws of its prior, and their log-likelihood."""
    with model:
        prior = pm.sample_prior_predictive(400, random_seed=seed, var_names=[
            rv.name for rv in model.free_RVs])["prior"].to_dataset()  # fmt: skip
    if "utility" in prior:  # so close together that importance sampling works
        prior["utility"] = prior["utility"] / 4
    tree = xr.DataTree.from_dict({"posterior": prior, **data_groups(model)})
    pm.compute_log_likelihood(tree, model=model, progressbar=False)
    return tree


def both(build, rankings):
    return (model_of(build, x) for x in (rankings, rankings.expand()))


@pytest.mark.parametrize(("build", "rankings"), FAMILIES.values(), ids=FAMILIES)
def test_the_log_probability_is_that_of_all_rankings(build, rankings):
    counted, expanded = both(build, rankings)
    one, other = counted.compile_logp(), expanded.compile_logp()
    gradient, others = counted.compile_dlogp(), expanded.compile_dlogp()
    rng = np.random.default_rng(1)
    for _ in range(3):
        point = {k: rng.normal(size=np.shape(v)) for k, v in counted.initial_point().items()}
        np.testing.assert_allclose(one(point), other(point), rtol=1e-9)
        np.testing.assert_allclose(gradient(point), others(point), rtol=1e-7, atol=1e-9)


@pytest.mark.filterwarnings("ignore::bayesrank.results.ParetoKWarning")
@by_family
def test_leave_one_out_leaves_out_one_ranking(build, rankings):
    counted, expanded = map(tree_of, both(build, rankings))
    one, other = loo_of(counted, "y"), loo_of(expanded, "y")
    for name in ("elpd", "se", "p", "n_data_points"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-8)
    random, more = br.baseline_elpd(counted), br.baseline_elpd(expanded)
    np.testing.assert_allclose(random.sum(), more.sum())

    table, each = (br.compare({"model": tree}) for tree in (counted, expanded))
    assert table.index.tolist() == each.index.tolist()
    np.testing.assert_allclose(table["elpd"], each["elpd"], rtol=1e-8)
    np.testing.assert_allclose(table["se"], each["se"], rtol=1e-8)
    np.testing.assert_allclose(table["dse"], each["dse"], rtol=1e-6)
    np.testing.assert_allclose(table["weight"], each["weight"], atol=1e-6)

    table, each = (br.loo_by_ranker(tree).sort_index() for tree in (counted, expanded))
    if len(table) < len(each):
        row = np.repeat(np.arange(len(rankings)), rankings.count)
        sums = each[["n", "elpd", "elpd_random"]].groupby(row).sum()
        np.testing.assert_allclose(table[sums.columns], sums, rtol=1e-8)
        each = each.groupby(row).first()
    np.testing.assert_allclose(table["gain"], each["gain"], rtol=1e-8)
    np.testing.assert_allclose(table["pareto_k"], each["pareto_k"], rtol=1e-6)


@pytest.mark.filterwarnings("ignore::bayesrank.results.ParetoKWarning")
def test_rows_that_a_named_ranker_gave_are_left_out_together():
    named = br.Rankings.from_orderings(ORDERS, rankers=["Ann", "Ann", "Bo", "Cy"], count=COUNTS)
    counted, expanded = (tree_of(model_of(plackett_luce, x)) for x in (named, named.expand()))
    one, other = (br.loo_by_ranker(tree) for tree in (counted, expanded))
    assert one["n"].to_dict() == {"Ann": 12, "Bo": 1, "Cy": 3}
    pd.testing.assert_frame_equal(one, other)
    weighted = br.Rankings.from_orderings(ORDERS, weight=[0.5, 1, 1, 2])
    found = loo_of(tree_of(model_of(plackett_luce, weighted)), "y")
    assert found.n_data_points == 4


def test_models_of_other_counts_are_of_other_data():
    names = {"rankers": list("wxyz")}
    one, other = (
        tree_of(model_of(plackett_luce, br.Rankings.from_orderings(ORDERS, **more, **names)))
        for more in ({"count": COUNTS}, {"weight": COUNTS})
    )
    with pytest.raises(ValueError, match=r"different data: 'b' lacks 'a' > 'b' > 'c' > 'd' × 7, r"):
        br.compare({"a": one, "b": other})


def predicted(model, seed=3):
    tree = tree_of(model)
    with model:
        pm.sample_posterior_predictive(
            tree, extend_inferencedata=True, random_seed=seed, progressbar=False
        )
    return tree


@pytest.mark.parametrize(
    "build", [plackett_luce, mixture("ranker")], ids=["Plackett-Luce", "mixture"]
)
def test_checks_need_a_prediction_of_every_ranking(build):
    counted, expanded = both(build, FULL)
    tree = predicted(counted)
    match = (
        r"^The rows of 'y' count 16 rankings, but each of the 4 rows was predicted once\. Predict "
        r"every ranking: in the model, write `br\.set_observed\('y', rankings\.expand\(\)\)`, then"
    )
    with pytest.raises(ValueError, match=match):
        br.ranking_checks(tree)
    # what the message says
    del tree["posterior_predictive"]
    with counted:
        br.set_observed("y", FULL.expand())
        pm.sample_posterior_predictive(
            tree, extend_inferencedata=True, random_seed=3, progressbar=False
        )
    table, each = br.ranking_checks(tree), br.ranking_checks(predicted(expanded))
    pd.testing.assert_frame_equal(table, each)
    assert br.worst_checks(table).ok == br.worst_checks(each).ok
    del tree["posterior_predictive"]
    with counted:
        br.set_observed("y", FULL.split(0.5, random_seed=1)[0].expand())
        pm.sample_posterior_predictive(tree, extend_inferencedata=True, progressbar=False)
    assert br.ranking_checks(tree).loc["top item", "observed"].sum().round(9) == 1


def test_counts_of_first_places_and_pairs_are_those_of_all_rankings():
    for rankings in (FULL, TIED, ASKED):
        expanded = rankings.expand()
        for count in (first_places, borda):
            pd.testing.assert_series_equal(count(rankings), count(expanded))
        for count in (pair_wins, comparisons):
            for x, y in zip(count(rankings)[1:], count(expanded)[1:], strict=True):
                np.testing.assert_allclose(x, y)
        assert condorcet(pair_wins(rankings)) == condorcet(pair_wins(expanded))
        assert str(rankings.connectivity()) == str(expanded.connectivity())
        assert rankings.design().message == expanded.design().message


def test_a_mixture_of_rankers_takes_no_weights_and_no_counts_of_named_rankers():
    weighted = br.Rankings.from_orderings(ORDERS, weight=[1, 1, 1, 2])
    with pytest.raises(ValueError, match=r"If the weights count rankings, give them as count=\."):
        model_of(mixture("ranker"), weighted)
    named = br.Rankings.from_orderings(ORDERS, rankers=list("wxyz"), count=COUNTS)
    match = r"^The ranker of 'w' gave this ranking 7 times, and the unit of 'y' is a ranker\. Use"
    with pytest.raises(ValueError, match=match):
        model_of(mixture("ranker"), named)
    model = model_of(mixture("ranker"), named.expand())
    assert model["y"].eval().shape == (4, 7, 4)


def test_interactions_have_one_row_per_user():
    had = br.Rankings.from_orderings([[{"a"}, {"b", "c"}], [{"b", "c"}, {"a"}]], count=[2, 1])
    with pytest.raises(ValueError, match=r"Ranking 0 has a count .* Use rankings\.expand\(\)\."):
        br.Interactions.from_rankings(had)
    assert len(br.Interactions.from_rankings(had.expand()).users) == 3


# K folds


class Compiled:
    """A compiled model that keeps the shares of the rows in training."""

    def __init__(self):
        self.shares = []

    def with_data(self, in_training):
        self.shares.append(in_training)
        return self


def test_random_folds_divide_a_row_as_they_do_its_rankings(monkeypatch):
    draws = pm.draw(pm.Normal.dist(0, 0.3, shape=4), 200, random_seed=1)[None]
    fit = {"posterior": xr.Dataset({"utility": (("chain", "draw", "item"), draws)})}
    fit = xr.DataTree.from_dict(fit)
    monkeypatch.setattr(nutpie, "sample", lambda *_, **__: fit)
    found, shares = [], []
    for model, rankings in zip(both(plackett_luce, FULL), (FULL, FULL.expand()), strict=True):
        compiled = Compiled()
        monkeypatch.setattr(
            nutpie, "compile_pymc_model", lambda *_, compiled=compiled, **__: compiled
        )
        found.append(br.kfold(k=4, chains=1, draws=200, model=model))
        first = rankings.item[:, 0]
        shares.append([np.bincount(first, share * rankings.count) for share in compiled.shares])
    np.testing.assert_allclose(*shares)
    one, other = found
    for name in ("elpd", "se", "n_data_points"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name))
    table, each = (
        br.compare({"model": x}, baseline=tree_of(model))
        for x, model in zip(found, both(plackett_luce, FULL), strict=True)
    )
    np.testing.assert_allclose(table[["elpd", "se", "dse"]], each[["elpd", "se", "dse"]])


def test_training_takes_the_share_of_a_row_that_stays():
    counted, expanded = both(plackett_luce, FULL)
    out = np.array([3, 0, 1, 2])
    each = np.concatenate([np.arange(n) >= k for n, k in zip(FULL.count, out, strict=True)])
    logps = []
    for model, share in ((counted, 1 - out / FULL.count), (expanded, each.astype(float))):
        training = room._training_model(model, "y", len(share))
        with training:
            pm.set_data({training.name_for(room.MASK): share})
        logps.append(training.compile_logp()({"utility": [0.5, -0.2, 0.3, 0.0]}))
    np.testing.assert_allclose(*logps)
    assert kept_of(counted, "y").times("ranking").to_numpy().tolist() == COUNTS


# Verdicts

PYTHON = {"progressbar": False, "compile_kwargs": {"mode": Mode("py", "fast_compile")}}


def simulated(rng, utility, n):
    """Draw n rankings of the Plackett-Luce model, and count the equal ones."""
    order = np.argsort(-(utility + rng.gumbel(size=(n, len(utility)))), axis=1)
    return br.Rankings.from_orderings(order.tolist(), items=range(len(utility))).collapse()


def fits(model, counted, seed):
    """Fit a model to counted rankings, and return its verdict."""
    with model:
        br.set_observed("y", counted)
        found = br.fit_inla(draws=200, chains=1, random_seed=seed, model=model)
        br.set_observed("y", counted.expand())
        pm.sample_posterior_predictive(found, extend_inferencedata=True, random_seed=seed, **PYTHON)
    return br.worst_checks(br.ranking_checks(found, draws=None)).ok


@pytest.mark.parametrize("n_tables", [6, pytest.param(100, marks=pytest.mark.slow)])
def test_a_right_model_of_counted_rankings_seldom_fails_and_a_wrong_one_does(n_tables):
    rng = np.random.default_rng(7)
    model = model_of(plackett_luce, simulated(rng, np.zeros(4), 300))
    ok = [fits(model, simulated(rng, rng.normal(size=4), 300), k) for k in range(n_tables)]
    assert n_tables - sum(ok) <= binom.isf(1e-6, n_tables, 0.05)
    # two blocs with opposite orders
    blocs = br.Rankings.from_orderings([[0, 1, 2, 3], [3, 2, 1, 0]], count=[170, 130])
    assert not fits(model, blocs, 0)
