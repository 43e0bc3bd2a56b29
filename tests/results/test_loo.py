"""Leaving out: against exact posteriors without the ranking, and ranker by ranker."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy.special import logsumexp

import bayesrank as br
from bayesrank.results import ParetoKWarning, compare, loo_by_ranker
from bayesrank.results.evaluation.loo import loo_of
from tests.builders import results

ITEMS = list("abcd")
ORDERINGS = [
    "abcd", "abdc", "bacd", "abcd", "acbd", "abdc", "badc", "abcd", "bcad", "dbac",
]  # fmt: skip
SD = 1.0
CHAINS, DRAWS = 4, 1000


def logp_of(utility):
    """Log-probability of each ordering under Plackett-Luce, (n_orderings, n_points)."""
    out = []
    for ordering in ORDERINGS:
        u = utility.T[[ITEMS.index(item) for item in ordering]]
        left = np.cumsum(np.exp(u)[::-1], axis=0)[::-1]  # worth of what is not yet chosen
        out.append((u - np.log(left)).sum(axis=0))
    return np.array(out)


@pytest.fixture(scope="module")
def sampled():
    """Independent draws of the posterior of ten rankings, by rejection, and what the model says."""
    rankings = br.Rankings.from_orderings([list(x) for x in ORDERINGS])
    rng = np.random.default_rng(7)
    prior = SD * rng.normal(size=(400_000, len(ITEMS)))
    log_likelihood = logp_of(prior).sum(axis=0)
    kept = prior[np.log(rng.uniform(size=len(prior))) < log_likelihood - log_likelihood.max()]
    draws = kept[: CHAINS * DRAWS].reshape(CHAINS, DRAWS, len(ITEMS))  # raises if they are fewer
    with pm.Model(coords=rankings.coords):
        br.PlackettLuce("y", pm.Normal("utility", 0, SD, dims="item"), observed=rankings)
        out = pm.sample_prior_predictive(draws=1, random_seed=0)
        utility = xr.Dataset(
            {"utility": (("chain", "draw", "item"), draws)}, coords={"item": ITEMS}
        ).assign_coords(chain=range(CHAINS), draw=range(DRAWS))
        out["posterior"] = xr.DataTree(utility)
        pm.compute_log_likelihood(out, progressbar=False)
    return out


def exact_leave_one_out():
    """Log predictive densities by refitting: quadrature over the differences of utilities.

    Utilities enter by their differences from the mean alone, which are independent of the mean and
    have three dimensions: three axes at right angles to it, each standard normal a priori.
    """
    points, log_weight = np.polynomial.hermite_e.hermegauss(40)
    log_weight = np.log(log_weight) - 0.5 * np.log(2 * np.pi)
    grid = np.stack(np.meshgrid(points, points, points, indexing="ij"), -1).reshape(-1, 3)
    log_prior = sum(np.meshgrid(log_weight, log_weight, log_weight, indexing="ij")).ravel()
    axes = np.linalg.svd(np.ones((1, 4)))[2][1:]
    logp = logp_of(SD * grid @ axes)
    everything = log_prior + logp.sum(axis=0)
    return logsumexp(everything) - logsumexp(everything - logp, axis=1), logp, everything


def test_loo_is_that_of_arviz_and_gives_the_term_of_a_single_block(sampled):
    ours, theirs = br.loo(sampled), az.loo(sampled, pointwise=True)
    for name in ("elpd", "se", "p", "n_data_points", "n_samples", "good_k"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), abs=1e-9), name
    np.testing.assert_allclose(ours.elpd_i, theirs.elpd_i, atol=1e-9)
    np.testing.assert_allclose(ours.pareto_k, theirs.pareto_k, atol=1e-6)

    logp = sampled["log_likelihood"].to_dataset()
    one_block = xr.zeros_like(logp.isel(ranking=[0])).assign_coords(ranking=[10])
    both = sampled.copy()
    both["log_likelihood"] = xr.DataTree(xr.concat([logp, one_block], "ranking"))
    del both["constant_data"]  # of ten rankings
    with pytest.raises(ValueError, match="All tail values are the same"):
        az.loo(both)
    found = br.loo(both)
    assert found.elpd == pytest.approx(ours.elpd, abs=1e-9)
    assert found.elpd_i.values[-1] == 0.0
    assert np.isnan(found.pareto_k.values[-1])
    assert len(az.compare({"one": found, "other": found})) == 2


def test_loo_leaves_out_groups(sampled):
    found = br.loo(sampled, group="ranker")
    assert found.elpd_i.dims == ("ranker",)
    assert found.elpd == pytest.approx(br.loo(sampled).elpd, abs=1e-9)  # one ranking each


def test_leaving_out_is_refitting_without(sampled):
    exact, logp, log_posterior = exact_leave_one_out()
    error = loo_of(sampled, "y").elpd_i.to_numpy() - exact
    # The estimate is minus the logarithm of the mean of 1 / p over the draws: its standard error is
    # the standard deviation of 1 / p relative to its mean, over the root of their number.
    p = np.exp(log_posterior - logsumexp(log_posterior))
    mean = np.exp(-logp) @ p
    spread = np.sqrt(np.exp(-2 * logp) @ p - mean**2) / mean
    tolerance = 5.5 * spread / np.sqrt(CHAINS * DRAWS)  # a false alarm of one in ten: 4e-7
    assert (np.abs(error) < tolerance).all()
    # in-sample densities, which is what is not meant, are told from them
    inside = np.log(np.exp(logp) @ p)
    assert (np.abs(inside - exact) > tolerance).sum() >= 8


def test_compare_leaves_out_in_the_same_way(sampled):
    exact, *_ = exact_leave_one_out()
    table = compare({"Plackett-Luce": sampled})
    assert table.loc["Plackett-Luce", "elpd"] == pytest.approx(exact.sum(), abs=0.2)
    assert table.loc["random ranking", "elpd"] == pytest.approx(-10 * np.log(24))


def tree(n_rankings=12, *, rankers=4, seed=0, weight=None, dims=("ranking", "slot")):
    """What a sampled model of full rankings of three items leaves."""
    rng = np.random.default_rng(seed)
    logp = -1.5 + 0.1 * rng.normal(size=(2, 500, n_rankings))
    codes = np.arange(n_rankings) % rankers
    ranking, _ = dims
    return results(
        {
            "ranker": [f"u{i}" for i in range(rankers)],
            "y_outcome": ["weak orders given their block sizes"],
        },
        posterior={"x": ("i", rng.normal(size=(2, 500, 2)))},
        log_likelihood={"y": (ranking, logp)},
        constant_data={
            "y_ranks": (dims, np.tile([1, 2, 3], (n_rankings, 1))),
            "y_weight": (ranking, np.ones(n_rankings) if weight is None else weight),
            "y_ranker": (ranking, codes),
            "y_ranker_rankings": ("ranker", np.bincount(codes)),
            "y_outcomes": ("y_outcome", [n_rankings]),
        },
    )


# What ArviZ refuses


def test_without_anything_special_it_is_arviz():
    data = tree()
    found, expected = loo_of(data, "y"), az.loo(data, var_name="y", pointwise=True)
    np.testing.assert_allclose(found.elpd_i, expected.elpd_i, rtol=1e-11)
    np.testing.assert_allclose(found.pareto_k, expected.pareto_k, rtol=1e-11)
    assert (found.elpd, found.se, found.p) == pytest.approx(
        (expected.elpd, expected.se, expected.p), rel=1e-12
    )


def test_draws_of_an_approximation_are_independent(sampled, monkeypatch):
    mixed = sampled.copy()
    mixed["posterior"].attrs["approximation"] = "Laplace"
    with monkeypatch.context() as patch:
        patch.setattr(az, "ess", None)  # which takes long with many parameters
        found = loo_of(mixed, "y")
    assert found.elpd == pytest.approx(loo_of(sampled, "y").elpd, abs=1e-3)


def test_a_ranking_of_which_all_draws_say_the_same_does_not_stop_the_others():
    data = tree()
    rounding = 1e-15 * np.random.default_rng(1).normal(size=(2, 500))
    data["log_likelihood"]["y"][..., 3] = 0.0
    data["log_likelihood"]["y"][..., 5] = -1.0 + rounding
    with pytest.raises(ValueError, match="All tail values are the same"):
        az.loo(data, var_name="y")
    found = loo_of(data, "y")
    assert found.elpd_i[3] == 0
    assert found.elpd_i[5] == pytest.approx(-1, abs=1e-14)
    assert np.flatnonzero(np.isnan(found.pareto_k)).tolist() == [3, 5]
    others = [i for i in range(12) if i not in (3, 5)]
    expected = loo_of(tree(), "y").elpd_i[others]
    np.testing.assert_allclose(found.elpd_i[others], expected, rtol=1e-12)
    assert found.elpd == pytest.approx(float(found.elpd_i.sum()))


def test_one_ranking_with_a_large_pareto_k_is_named():
    data = tree()
    heavy = -3 * np.random.default_rng(2).exponential(size=(2, 500))
    data["log_likelihood"]["y"][..., 7] = heavy
    with pytest.warns(
        ParetoKWarning,
        match=r"^1 of 12 rankings has Pareto k above 0\.67 \(\d\.\d\d: 7\)\. Leaving it out",
    ):
        loo_of(data, "y")


# Rankers


def test_rankers_are_listed_worst_first():
    data = tree()
    data["log_likelihood"]["y"][..., [2, 6, 10]] -= 1.0  # all of u2
    table = loo_by_ranker(data)
    assert table.index.name == "ranker"
    assert table.index[0] == "u2"
    assert table.columns.tolist() == ["n", "elpd", "elpd_random", "gain", "pareto_k"]
    assert table["n"].tolist() == [3, 3, 3, 3]
    np.testing.assert_allclose(table["elpd_random"], -3 * np.log(6))
    np.testing.assert_allclose(table["gain"], (table["elpd"] + 3 * np.log(6)) / 3)
    assert (np.diff(table["gain"]) >= 0).all()
    assert table.loc["u2", "elpd"] == pytest.approx(-7.5, abs=0.1)


def test_a_log_likelihood_of_other_rankings_is_refused():
    data = tree()
    for group, labels in (("log_likelihood", "abcdefghijkl"), ("constant_data", "lkjihgfedcba")):
        data[group] = data[group].to_dataset().assign_coords(ranking=[*labels])
    with pytest.raises(ValueError, match="The log-likelihood of 'y' has other ranking labels"):
        loo_by_ranker(data)


def test_the_number_of_rankings_is_that_of_their_weights():
    weight = np.ones(12)
    weight[0] = 5
    table = loo_by_ranker(tree(weight=weight))
    assert table["n"].sort_index().tolist() == [7, 3, 3, 3]
    assert table["n"].dtype == np.int64
    assert table.loc["u0", "elpd_random"] == pytest.approx(-7 * np.log(6))
    weight[0] = 0.5
    assert loo_by_ranker(tree(weight=weight)).loc["u0", "n"] == 2.5


def test_of_pairs_judges_are_left_out_and_matches_counted():
    data = tree()
    constant = xr.Dataset(
        {
            "y_counts": (("ranking", "result"), np.tile([2, 1], (12, 1))),
            "y_judge": ("ranking", np.arange(12) % 3),
            "y_judge_matches": ("judge", [12, 12, 12]),
            "y_outcomes": ("y_outcome", [12]),
        },
        coords={"judge": list("uvw"), "y_outcome": ["pair outcomes given the pairs"]},
    )
    data["constant_data"] = xr.DataTree(constant)
    table = loo_by_ranker(data, group="judge")
    assert sorted(table.index) == ["u", "v", "w"]
    assert table["n"].tolist() == [12, 12, 12]
    np.testing.assert_allclose(table["elpd_random"], 4 * np.log(3 / 8))
    with pytest.raises(ValueError, match=r"^'y' is not grouped by 'ranker'; its groups are"):
        loo_by_ranker(data)


def test_rankers_that_change_the_posterior_too_much_are_named():
    data = tree()
    data["log_likelihood"]["y"][..., 1] *= 4 * np.random.default_rng(3).exponential(size=(2, 500))
    with pytest.warns(
        ParetoKWarning, match=r"^1 of 4 rankers has Pareto k .*: 'u1'\)\. Leaving it"
    ):
        table = loo_by_ranker(data)
    assert table["pareto_k"].idxmax() == "u1"


def test_counts_are_by_ranker_already():
    data = tree(dims=("ranker_of_counts", "slot"))
    data["constant_data"] = results(
        {"y_outcome": ["counts of ordered pairs given their sum"]},
        constant_data={
            "y_at_random": ("ranker_of_counts", np.full(12, -2.0)),
            "y_outcomes": ("y_outcome", [12]),
        },
    )["constant_data"]
    table = loo_by_ranker(data, group="ranker_of_counts")
    assert len(table) == 12
    np.testing.assert_allclose(table["gain"], table["elpd"] + 2)
