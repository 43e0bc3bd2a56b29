"""Utilities that change with time: against dense linear algebra, exact sums, and what was drawn."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from scipy import stats

import bayesrank as br
from bayesrank.inference.dynamic.chains import (
    Chains,
    Information,
    beyond_normal,
    exact_draws,
    find_mode,
    log_evidence,
    nearest_normal,
    posterior_draws,
    row_moments,
)
from bayesrank.inference.dynamic.fit import DynamicFit, Problem, fit_dynamic, learned
from bayesrank.inference.dynamic.forward import _taken
from bayesrank.inference.dynamic.observations import observations_of
from bayesrank.results import ParetoKWarning, match_checks
from bayesrank.utility import Dynamics
from tests.builders import matches, model_of, outcomes

DYNAMICS = {
    "random_walk": [1.0, 0.5],
    "trend": [0.8, 0.2, 0.3, 0.1],
    "matern12": [1.2, 2.0],
    "matern52": [1.2, 2.0],
    "constant + matern32": [0.7, 1.0, 2.0],
}
OUTCOMES = np.array(["first", "second", "tie"])


def simulated(n=60, n_items=5, ties=True, seed=1):
    rng = np.random.default_rng(seed)
    first = rng.integers(n_items, size=n)
    second = (first + rng.integers(1, n_items, size=n)) % n_items
    won = OUTCOMES[rng.integers(2 + ties, size=n)]
    return matches(first, second, won, when=np.sort(rng.uniform(0, 4, size=n).round(1)))


def simulated_rankings(n=12, seed=2):
    rng = np.random.default_rng(seed)
    ranks = pd.DataFrame(rng.integers(1, 5, size=(n, 5)).astype(float))
    ranks[rng.random(ranks.shape) < 0.2] = np.nan
    ranks.loc[ranks.nunique(axis=1) < 2, [0, 1]] = [1.0, 2.0]
    ranks = ranks.rank(axis=1, method="dense")
    return br.Rankings.from_ranks(ranks, rest=()).grouped({"when": rng.uniform(0, 3, n).round(1)})


def time_of(data):
    return data.groups["when"].labels.to_numpy(float)[data.groups["when"].idx]


def posterior(data, likelihood, dynamics="random_walk", **options):
    o = observations_of(data, time_of(data), likelihood, **options)
    chains = Chains(o.nodes, o.common, Dynamics(dynamics), DYNAMICS[dynamics])
    return o, chains, find_mode(chains, o, tolerance=1e-10)


def fitted(data, *, time="when", random_seed=1, **options):
    return fit_dynamic(data, time=time, random_seed=random_seed, **options)


CASES = {
    "davidson": lambda: posterior(simulated(), "davidson", "constant + matern32"),
    "rao_kupper": lambda: posterior(simulated(), "rao_kupper"),
    "bradley_terry": lambda: posterior(simulated(ties=False), "bradley_terry", "matern52"),
    "plackett_luce": lambda: posterior(simulated_rankings(), "plackett_luce", "trend"),
}


@pytest.mark.parametrize("text", DYNAMICS)
def test_transitions_of_two_steps_are_those_of_one(text):
    shape = Dynamics(text)
    F, Q, _ = shape.transitions(DYNAMICS[text], np.array([0.3, 0.9, 1.2]))
    np.testing.assert_allclose(F[1] @ F[0], F[2], atol=1e-12)
    np.testing.assert_allclose(F[1] @ Q[0] @ F[1].T + Q[1], Q[2], atol=1e-12)


@pytest.mark.parametrize(
    ("text", "correlation"),
    [
        ("matern12", lambda r: np.exp(-r)),
        ("matern32", lambda r: (1 + 3**0.5 * r) * np.exp(-(3**0.5) * r)),
        ("matern52", lambda r: (1 + 5**0.5 * r + 5 * r * r / 3) * np.exp(-(5**0.5) * r)),
    ],
)
def test_chains_have_the_covariance_of_the_process(text, correlation):
    pairs = simulated()
    o = observations_of(pairs, time_of(pairs), "davidson", order_effect=False)
    K = Chains(o.nodes, o.common, Dynamics(text), [1.3, 0.7]).covariance(np.eye(o.n))
    n = o.nodes.item.size
    gap = np.abs(o.nodes.time[:, None] - o.nodes.time) / 0.7
    same = o.nodes.item[:, None] == o.nodes.item
    np.testing.assert_allclose(K[:n, :n], same * 1.69 * correlation(gap), atol=1e-12)
    np.testing.assert_allclose(K[n:, n:], [[1.0]])  # of the ties


def test_slopes_and_curvatures_are_derivatives():
    rng = np.random.default_rng(3)
    for data, likelihood in (
        (simulated(20), "davidson"),
        (simulated(20), "rao_kupper"),
        (simulated_rankings(), "plackett_luce"),
    ):
        o = observations_of(data, time_of(data), likelihood)
        rows, step = rng.normal(size=o.first_row[-1]), 1e-6
        if likelihood != "plackett_luce":
            rows[1::2] = rows[1]
        derivatives = o.evaluate(rows)
        k = 4
        first, end = o.first_row[k], o.first_row[k + 1]
        size = end - first
        block = o.block_diagonal(derivatives.curvature)[first:end, first:end].toarray()
        tested = range(size) if likelihood == "plackett_luce" else [0]  # ties are one for all
        for j in tested:
            up, down = rows.copy(), rows.copy()
            up[first + j] += step
            down[first + j] -= step
            more, less = o.evaluate(up), o.evaluate(down)
            slope = (more.logp[k] - less.logp[k]) / (2 * step)
            assert derivatives.slope[first + j] == pytest.approx(slope, abs=1e-7)
            bend = (less.slope - more.slope)[first:end] / (2 * step)
            np.testing.assert_allclose(block[:, j], bend, atol=1e-7)


@pytest.mark.parametrize("name", CASES)
def test_the_posterior_is_that_of_dense_matrices(name):
    o, chains, mode = CASES[name]()
    one = np.eye(o.n)
    K, H = chains.covariance(one), mode.information.H @ one
    np.testing.assert_allclose(np.diag(H), mode.information.weight, atol=1e-10)
    np.testing.assert_allclose(K, K.T, atol=1e-12)
    # the mode: where the slope of the data is that of the prior
    slope = o.design.T @ o.evaluate(o.rows(mode.x)).slope
    np.testing.assert_allclose(K @ slope, mode.x, atol=2e-4)

    C = np.linalg.solve(np.eye(o.n) + K @ H, K)
    b = np.random.default_rng(0).normal(size=(o.n, 3))
    x, dual = mode.information.solve(b, 1e-10)
    np.testing.assert_allclose(x, C @ b, atol=1e-7)
    np.testing.assert_allclose(K @ dual, x, atol=1e-7)

    exact = mode.logp - mode.x @ mode.dual / 2
    exact -= np.linalg.slogdet(np.eye(o.n) + K @ H)[1] / 2
    estimate = log_evidence(mode, probes=400, random_seed=1)
    assert abs(estimate.value - exact) < 5.5 * estimate.error + 1e-6

    _, covariance = row_moments(mode, o, tolerance=1e-9)
    Z, k = o.design.toarray(), 3
    rows = slice(o.first_row[k], o.first_row[k + 1])
    np.testing.assert_allclose(covariance[k], (Z @ C @ Z.T)[rows, rows], atol=1e-6)
    # the error is the square of that of the solution
    for rough, exact in zip(row_moments(mode, o)[1], covariance, strict=True):
        np.testing.assert_allclose(rough, exact, atol=1e-4)


def test_draws_have_the_covariance_of_the_posterior():
    o, chains, mode = CASES["davidson"]()
    one = np.eye(o.n)
    K, H = chains.covariance(one), mode.information.H @ one
    C = np.linalg.solve(np.eye(o.n) + K @ H, K)
    n = 4000
    x = posterior_draws(mode, n, np.random.default_rng(5), tolerance=1e-6) - mode.x[:, None]
    sd = np.sqrt(np.diag(C))
    assert np.abs(x.mean(axis=1) / sd).max() < 6 / np.sqrt(n)
    error = (x @ x.T / n - C) / np.sqrt((np.outer(sd, sd) ** 2 + C**2) / n)
    assert np.abs(error).max() < 6.5


def test_extreme_data_have_a_mode():
    pairs = matches(["a"] * 300, "b", "first", when=np.arange(300.0))
    fit = fitted(pairs, hyperparameters={"scale": 2.0, "drift": 0.05})
    assert fit.predict(["a"], ["b"])["p_first"].item() > 0.97
    assert fit.predict(["a"], ["b"], at=1e6)["p_first"].item() < 0.7
    wide = fitted(pairs, hyperparameters={"scale": 1000.0, "drift": 100.0})
    assert np.isfinite(wide.log_evidence)


def test_predictions_widen_with_time_and_sum_to_one():
    given = dict(zip(("scale", "drift"), DYNAMICS["random_walk"], strict=True))
    for likelihood in ("davidson", "rao_kupper"):
        fit = fitted(simulated(), likelihood=likelihood, hyperparameters=given)
        table = fit.predict([0] * 3, [1] * 3, at=[4.0, 6.0, 20.0])
        sd = table["lead_sd"].to_numpy()
        assert (np.diff(sd) > 0).all()
        # two independent walks go on
        np.testing.assert_allclose(np.diff(sd**2), 2 * 0.25 * np.diff([4.0, 6.0, 20.0]), rtol=1e-3)
        np.testing.assert_allclose(table[["p_first", "p_second", "p_tie"]].sum(axis=1), 1)
        # the same averages from draws
        draws = fit.draws(at=6.0, draws=500, random_seed=2)["posterior"]
        lead = draws["utility"].sel(item=0) - draws["utility"].sel(item=1) + draws["order_effect"]
        assert float(lead.mean()) == pytest.approx(table["lead"][1], abs=6 * sd[1] / 2000**0.5)


def test_items_come_in_when_they_are_first_seen():
    days = ["2020-01-01", "2021-01-01", "2022-01-01"]
    pairs = matches([*"aab"], [*"bbc"], "first", day=days)
    fit = fitted(pairs, time="day", hyperparameters={"scale": 1.0, "drift": 0.5})

    def utility(**when):
        return fit.draws(**when, random_seed=1)["posterior"]["utility"]

    assert utility(at="2021-06-01")["item"].values.tolist() == ["a", "b"]
    assert utility(since="2022-01-01")["item"].values.tolist() == ["b", "c"]
    several = np.isnan(utility(at=["2021-06-01", "2022-06-01"])).all(["chain", "draw"])
    assert several.values.tolist() == [[False, False, True], [False] * 3]
    ranks = br.rank_summary(fit.draws(random_seed=1))
    assert ranks["p_best"].sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="No item has entered at '2019-01-01'"):
        fit.draws(at="2019-01-01", random_seed=1)


def test_standard_deviations_are_half_cauchy_and_lengths_log_normal():
    slopes = {"scale": 1.0, "drift": 0.25, "slope": 0.125, "slope_drift": 0.0625}  # medians
    shape, x = Dynamics("trend"), np.random.default_rng(1).normal(size=(2, 4))
    assert shape.names == tuple(slopes)
    np.testing.assert_allclose(shape.medians(4.0), [*slopes.values()])
    prior = stats.halfcauchy(scale=np.array([*slopes.values()]))
    one, other = (prior.logpdf(np.exp(at)) + at for at in x)
    change = shape.log_prior(x[0], 4.0) - shape.log_prior(x[1], 4.0)
    assert change == pytest.approx((one - other).sum(), abs=2e-4)
    lengths = [Dynamics("matern12").log_prior([0.0, np.log(x)], 4.0) for x in (1.2, 2.4)]
    assert lengths[0] - lengths[1] == pytest.approx((np.log(2) / 1.5) ** 2 / 2)


def test_hyperparameters_are_those_of_the_highest_evidence():
    pairs = simulated(80, ties=False)
    fit = fitted(pairs, dynamics="matern12", hyperparameters={"scale": 1.0})
    assert isinstance(fit, DynamicFit)
    assert fit.hyperparameters["scale"] == pytest.approx(1.0)
    prior, span = Dynamics("matern12").log_prior, np.ptp(time_of(pairs))

    def height(length):
        given = {"scale": 1.0, "length": length}
        other = fitted(pairs, dynamics="matern12", hyperparameters=given)
        return other.log_evidence + prior(np.log([1.0, length]), span)

    best = fit.hyperparameters["length"]
    assert height(best) > max(height(best * 1.5), height(best / 1.5))


def weighted_draws(pairs, scale, drift):
    """Draws of the utilities of a random walk, their log weights, and the log evidence, all dense.

    Draws come from the normal around the mode, and weights make them draws from the posterior.
    """
    time = time_of(pairs)
    item, when = np.concatenate([pairs.first, pairs.second]), np.concatenate([time, time])
    nodes, place = np.unique(np.stack([item, when], axis=1), axis=0, return_inverse=True)
    entry = np.array([nodes[nodes[:, 0] == i, 1].min() for i in nodes[:, 0]])
    walked = np.minimum.outer(nodes[:, 1] - entry, nodes[:, 1] - entry)
    K = (nodes[:, :1] == nodes[:, 0]) * (scale**2 + drift**2 * walked)
    K += 1e-10 * np.eye(len(K))
    Z = np.zeros((pairs.n_pairs, len(nodes)))
    Z[np.arange(pairs.n_pairs), place[: pairs.n_pairs]] = 1.0
    Z[np.arange(pairs.n_pairs), place[pairs.n_pairs :]] = -1.0
    won, n = pairs.counts[:, 0], pairs.counts.sum(axis=1)
    prior, x = np.linalg.inv(K), np.zeros(len(nodes))
    for _ in range(30):
        p = 1 / (1 + np.exp(-Z @ x))
        precision = prior + Z.T * (n * p * (1 - p)) @ Z
        x += np.linalg.solve(precision, Z.T @ (won - n * p) - prior @ x)
    C = np.linalg.inv(precision)
    noise = np.random.default_rng(8).normal(size=(2000, len(x)))
    drawn = x + noise @ np.linalg.cholesky(C).T
    lead = drawn @ Z.T
    logp = won * lead - n * np.logaddexp(0, lead)
    logp = logp.sum(axis=1) - np.einsum("ni,ij,nj->n", drawn, prior, drawn) / 2
    logp += (noise**2).sum(axis=1) / 2
    evidence = np.logaddexp.reduce(logp) - np.log(len(logp))
    evidence += (np.linalg.slogdet(C)[1] - np.linalg.slogdet(K)[1]) / 2
    return nodes, drawn, logp - np.logaddexp.reduce(logp), evidence


def few_matches():
    """40 matches of three items, which say little of hyperparameters."""
    rng = np.random.default_rng(12)
    first = rng.integers(3, size=40)
    second = (first + rng.integers(1, 3, size=40)) % 3
    won = outcomes(rng, 1 / (1 + np.exp(first - second)))
    options = {"items": range(3), "collapse": False}
    return matches(first, second, won, options=options, when=np.repeat(np.arange(5.0), 8))


def part_of(table, items=None):
    """Read some rows of the table of pairs again."""
    return br.Pairs.from_frame(
        table, first="first", second="second", outcome="outcome", count="count", by="when",
        items=items,
    )  # fmt: skip


def test_draws_and_predictions_integrate_over_the_hyperparameters():
    pairs = few_matches()
    parts = []
    for scale in np.exp(np.linspace(-4, 4, 15)):
        for drift in np.exp(np.linspace(-5, 2, 13)):
            nodes, x, log_weight, evidence = weighted_draws(pairs, scale, drift)
            prior = stats.halfcauchy.logpdf(scale, scale=1.0) + np.log(scale)
            prior += stats.halfcauchy.logpdf(drift, scale=0.25) + np.log(drift)
            a, b = (np.flatnonzero((nodes == [i, 4.0]).all(axis=1))[0] for i in (0, 2))
            lead, weight = x[:, a] - x[:, b], np.exp(log_weight)
            parts.append((evidence + prior, weight @ lead, weight @ (lead - weight @ lead) ** 2))
    log_weight, lead, variance = np.array(parts).T
    weight = np.exp(log_weight - np.logaddexp.reduce(log_weight))
    mean = weight @ lead
    sd = np.sqrt(weight @ (variance + (lead - mean) ** 2))

    fit = fitted(pairs, order_effect=False)
    assert fit.nodes["weight"].sum() == pytest.approx(1)
    u = fit.draws(draws=1000, random_seed=1)["posterior"]["utility"]
    drawn = (u.sel(item=0) - u.sel(item=2)).to_numpy()
    assert drawn.mean() == pytest.approx(mean, abs=0.1 * sd)
    assert drawn.std() == pytest.approx(sd, rel=0.06)
    # those of the best hyperparameters alone are too near to each other
    one = fitted(pairs, order_effect=False, hyperparameters=fit.hyperparameters)
    u = one.draws(draws=1000, random_seed=1)["posterior"]["utility"]
    assert float((u.sel(item=0) - u.sel(item=2)).std()) < 0.95 * sd

    table = fit.predict([0], [2]).iloc[0]
    assert table["lead"] == pytest.approx(drawn.mean(), abs=0.04 * sd)
    assert table["lead_sd"] == pytest.approx(drawn.std(), rel=0.04)
    p = 1 / (1 + np.exp(-drawn))
    assert table["p_first"] == pytest.approx(p.mean(), abs=4 * p.std() / p.size**0.5)


def one_sided():
    """A season in which item 0 wins nearly all matches, with wide priors: skewed posteriors."""
    rng = np.random.default_rng(3)
    first = rng.integers(3, size=30)
    second = (first + rng.integers(1, 3, size=30)) % 3
    won = np.where(first < second, "first", "second")
    won[:2] = np.where(won[:2] == "first", "second", "first")
    return matches(first, second, won, when=np.repeat(np.arange(3.0), 10))


def test_draws_of_a_skewed_posterior_are_exact_given_the_hyperparameters():
    pairs, scale, drift = one_sided(), 3.0, 0.5
    nodes, x, log_weight, evidence = weighted_draws(pairs, scale, drift)
    weight = np.exp(log_weight)
    assert 1 / (weight**2).sum() > 300
    a, b = (np.flatnonzero((nodes == [i, 2.0]).all(axis=1))[0] for i in (0, 2))
    lead = x[:, a] - x[:, b]
    mean = weight @ lead
    sd = np.sqrt(weight @ (lead - mean) ** 2)
    given = {"scale": scale, "drift": drift}
    fit = fitted(pairs, order_effect=False, hyperparameters=given)
    assert fit.log_evidence == pytest.approx(evidence, abs=0.3)
    u = fit.draws(draws=1000, random_seed=1)["posterior"]["utility"]
    drawn = (u.sel(item=0) - u.sel(item=2)).to_numpy()
    error = sd * (weight**2).sum() ** 0.5 + sd / drawn.size**0.5
    assert drawn.mean() == pytest.approx(mean, abs=5 * error)
    assert drawn.std() == pytest.approx(sd, rel=0.15)
    # the nearest normal has nearly the same mean, and the mode is far from it
    row = fit.predict([0], [2]).iloc[0]
    assert row["lead"] == pytest.approx(mean, abs=0.25 * sd)
    o = fit.observations
    chains = Chains(o.nodes, o.common, fit.dynamics, [scale, drift])
    mode = find_mode(chains, o)
    place = o.nodes.places(np.array([0, 2]), np.array([2.0, 2.0]))
    assert mode.x[place[0]] - mode.x[place[1]] < mean - 0.4 * sd


@pytest.mark.parametrize("name", CASES)
def test_at_the_nearest_normal_gradients_average_to_zero(name):
    o, _, mode = CASES[name]()
    normal = nearest_normal(mode, random_seed=1)
    z = posterior_draws(normal, 400, np.random.default_rng(2)) - normal.x[:, None]
    found = [o.evaluate(o.rows(normal.x + one)) for one in np.concatenate([z, -z], axis=1).T]
    slope = o.design.T @ np.mean([one.slope for one in found], axis=0) - normal.dual
    left, _ = normal.information.solve(slope[:, None], 1e-6)
    assert slope @ left[:, 0] < 0.1
    x = exact_draws(normal, normal.x[:, None] + z, np.random.default_rng(3))
    assert np.isfinite(x).all()
    assert not np.allclose(x, normal.x[:, None] + z)
    assert abs(beyond_normal(normal, random_seed=1)) < 3


@pytest.mark.parametrize("name", CASES)
def test_dense_factors_agree_with_conjugate_gradients(name, monkeypatch):
    monkeypatch.setattr("bayesrank.inference.dynamic.chains.SMALL", 1000)
    o, chains, mode = CASES[name]()
    b = np.random.default_rng(0).normal(size=(o.n, 3))
    dense = mode.information
    assert dense.dense is not None
    exact, by_prior = dense.solve(b, 1e-10)
    _, covariance = row_moments(mode, o)
    value = log_evidence(mode).value
    monkeypatch.setattr("bayesrank.inference.dynamic.chains.SMALL", 0)
    chains.__dict__.pop("root", None)
    rough = Information(chains, o, dense.curvature)
    assert rough.dense is None
    x, dual = rough.solve(b, 1e-10)
    np.testing.assert_allclose(x, exact, atol=1e-7)
    np.testing.assert_allclose(chains.covariance(dual), chains.covariance(by_prior), atol=1e-7)
    roughly = row_moments(mode._replace(information=rough), o)[1]
    for one, other in zip(roughly, covariance, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)
    estimate = log_evidence(mode._replace(information=rough), probes=400, random_seed=1)
    assert abs(estimate.value - value) < 5.5 * estimate.error + 1e-6


def test_draws_say_which_hyperparameters_they_have():
    fit = fitted(few_matches(), hyperparameters={"scale": 1.0})
    assert (fit.nodes["scale"] == 1.0).all()
    assert fit.nodes["drift"].nunique() == len(fit.nodes) > 2
    tree = fit.draws(draws=200, random_seed=1)
    node = tree["sample_stats"]["node"]
    share = np.bincount(node.to_numpy().ravel(), minlength=len(fit.nodes)) / node.size
    np.testing.assert_allclose(share, fit.nodes["weight"], atol=2 / node.size)
    # a walk with the largest drift goes further
    ahead = fit.draws(at=40.0, draws=1000, random_seed=1)
    u, node = ahead["posterior"]["utility"].sel(item=0), ahead["sample_stats"]["node"]
    low, high = fit.nodes["drift"].quantile([0.25, 0.75])
    drift = fit.nodes["drift"].to_numpy()[node]
    assert u.to_numpy()[drift > high].std() > 3 * u.to_numpy()[drift < low].std()
    given = fitted(few_matches(), hyperparameters={"scale": 1.0, "drift": 0.3})
    assert given.nodes.to_numpy().tolist() == [[1.0, 0.3, 1.0]]


def test_hyperparameters_that_are_known_have_one_node(monkeypatch):
    monkeypatch.setattr("bayesrank.inference.dynamic.fit.KNOWN", 10.0)
    fit = fitted(few_matches())
    assert fit.nodes.drop(columns="weight").iloc[0].to_dict() == fit.hyperparameters


def test_new_data_move_the_mode_of_every_node():
    pairs = few_matches()
    table = pairs.to_frame()
    known = part_of(table[table["when"] < 4], range(3))
    fit = fitted(known)
    moved = fit.with_data(pairs)
    pd.testing.assert_frame_equal(moved.nodes, fit.nodes)
    values = fit.nodes.drop(columns="weight")
    fits = [fitted(pairs, hyperparameters=row) for row in values.to_dict("records")]
    p = [one.predict([0], [2], at=5.0)["p_first"][0] for one in fits]
    wanted = fit.nodes["weight"] @ p
    assert moved.predict([0], [2], at=5.0)["p_first"][0] == pytest.approx(wanted, abs=1e-3)


def test_forward_validation_averages_over_few_hyperparameters_of_the_same_moments():
    pairs = few_matches()
    dynamics = Dynamics("random_walk")
    whole = Problem.read(pairs, "when", "year", None, True, {})
    first = _taken(whole, np.arange(32))
    found = learned(first, dynamics, {}, 1)
    few, weight = found.few_nodes()
    assert len(few) == 4
    every, some = (np.log([node.values for node in nodes]) for nodes in (found._nodes, few))
    all_weights = np.exp(found._log_weight)
    np.testing.assert_allclose(weight @ some, all_weights @ every)
    np.testing.assert_allclose(
        np.cov(some.T, aweights=weight, ddof=0), np.cov(every.T, aweights=all_weights, ddof=0)
    )
    row = br.forward_validation(pairs, time="when", start=4.0, random_seed=1).predictions.iloc[0]
    p = []
    for node in few:
        given = dict(zip(dynamics.names, node.values, strict=True))
        one = fitted(first.data, hyperparameters=given)
        p.append(one.predict([row["first"]], [row["second"]], at=4.0)["p_first"][0])
    # the nearest normals come from other draws
    assert row["p_first"] == pytest.approx(np.mean(p), abs=0.01)
    fixed = learned(first, dynamics, {"scale": 1.0, "drift": 0.2}, 1)
    assert len(fixed.few_nodes()[0]) == 1
    assert len(learned(first, dynamics, {"scale": 1.0}, 1).few_nodes()[0]) == 2


def test_forward_validation_predicts_as_a_fit_of_the_past_does():
    pairs = simulated()
    given = {"scale": 1.0, "drift": 0.3}
    found = br.forward_validation(
        pairs, time="when", start=0.6, hyperparameters=given, random_seed=1
    )
    row = found.predictions.iloc[-1]
    table = pairs.to_frame()
    past = part_of(table[table["when"] < row["time"]], pairs.items)
    one = fitted(past, likelihood="davidson", hyperparameters=given)
    wanted = one.predict([row["first"]], [row["second"]], at=row["time"]).iloc[0]
    for name in ("p_first", "p_second", "p_tie"):
        assert row[name] == pytest.approx(wanted[name], abs=5e-3)
    assert found.log_loss == pytest.approx(-np.average(found.predictions["log_p"]))
    table = found.calibration(4)
    assert table["n"].sum() == 3 * found.predictions["count"].sum()


def test_forward_validation_of_rankings_beats_chance_where_there_is_an_order():
    rng = np.random.default_rng(7)
    noisy = -np.arange(5.0) * 1.5 + rng.gumbel(size=(20, 5))
    rankings = br.Rankings.from_ranks(pd.DataFrame(noisy).rank(axis=1, ascending=False))
    rankings = rankings.grouped({"race": np.arange(20)})
    given = {"scale": 1.0, "drift": 0.05}
    found = br.forward_validation(
        rankings, time="race", start=0.5, hyperparameters=given, random_seed=1
    )
    assert found.predictions["log_p"].sum() > found.predictions["at_random"].sum() + 5
    with pytest.raises(ValueError, match="only a log loss"):
        _ = found.accuracy


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time": "day"}, "`time` is 'day'; the data are grouped by 'when'"),
        ({"dynamics": "walk"}, "Unknown dynamics 'walk'"),
        ({"dynamics": "constant + constant"}, "twice"),
        ({"hyperparameters": {"length": 1.0}}, "no hyperparameter 'length'; it has scale, drift"),
        ({"hyperparameters": {"drift": -1}}, "'drift' is -1; it must be positive"),
        ({"hyperparameters": {"drift": "1"}}, "'drift' is '1'; it must be positive"),
        ({"covariates": {"nu": np.zeros(60)}}, "another variable or dim 'nu'"),
        ({"covariates": {"draw": np.zeros(60)}}, "another variable or dim 'draw'"),
        ({"likelihood": "bradley_terry"}, "The pairs have ties, but bradley_terry allows none"),
        ({"likelihood": "plackett_luce"}, "must be one of"),
        ({"data": simulated_rankings(), "likelihood": "davidson"}, "one of 'plackett_luce'"),
        ({"covariates": {"rest": np.zeros(3)}}, "covariate 'rest' must be finite numbers"),
        (
            {"covariates": {"rest": pd.Series(1.0, range(1, 4))}},
            r"`rest` must have one value for each pair, by label",
        ),
        ({"data": pd.DataFrame()}, "Expected Pairs or Rankings"),
    ],
)
def test_invalid_arguments_are_refused_with_the_reason(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        fitted(**{"data": simulated()} | options)


def test_a_forward_validation_needs_a_past():
    with pytest.raises(ValueError, match="no data are before it"):
        br.forward_validation(simulated(), time="when", start=-1.0, random_seed=1)


def test_predictions_need_times_and_covariates_of_the_kind_of_the_data():
    pairs = matches([*"ab"], [*"ba"], ["first", "first"], day=["2024-01-01", "2024-03-01"])
    given = {"scale": 1.0, "drift": 0.3}
    fit = fitted(pairs, time="day", hyperparameters=given, covariates={"rest": [1.0, 2.0]})
    for at in (2024, "2024"):  # years since 1970?
        with pytest.raises(ValueError, match="is a number, but the times of the data are dates"):
            fit.predict(["a"], ["b"], at=at, covariates={"rest": [1.0]})
    with pytest.raises(ValueError, match="`at` has a missing time"):
        fit.draws(at=pd.NaT)
    with pytest.raises(ValueError, match="No item was observed since '2025-01-01'"):
        fit.draws(since="2025-01-01")
    for wrong in ([np.nan], [1.0, 2.0], 1.0):
        with pytest.raises(ValueError, match="'rest' must be 1 finite number, one for each match"):
            fit.predict(["a"], ["b"], covariates={"rest": wrong})
    with pytest.raises(ValueError, match="Match 0 has 'a' on both sides"):
        fit.predict(["a"], ["a"], covariates={"rest": [1.0]})
    again = pickle.loads(pickle.dumps(fit))  # and a fit can be kept
    new = {"at": "2024-05-01", "covariates": {"rest": [1.0]}}
    one, other = (x.predict(["a"], ["b"], **new) for x in (fit, again))
    pd.testing.assert_frame_equal(one, other)


def test_an_item_is_in_one_match_at_an_instant_and_in_several_on_a_day():
    given = {"scale": 1.0, "drift": 0.3}
    played = [[*"aa"], [*"bc"], "first"]
    pairs = matches(*played, day="2024-01-01")
    assert fitted(pairs, time="day", hyperparameters=given).data.n_pairs == 2
    pairs = matches(*played, day="2024-01-01 15:00")
    with pytest.raises(ValueError, match="Item 'a' is in two matches at 2024-01-01 15:00"):
        fitted(pairs, time="day", hyperparameters=given)


def test_a_covariate_is_learned():
    rng = np.random.default_rng(6)
    pairs = simulated(200, ties=False)
    rest = rng.normal(size=pairs.n_pairs)
    counts = np.zeros_like(pairs.counts)
    won = rng.random(pairs.n_pairs) < 1 / (1 + np.exp(-2 * rest))
    counts[:, 0], counts[:, 1] = won, ~won
    given = {"scale": 0.5, "drift": 0.1}
    fit = fitted(replace(pairs, counts=counts), covariates={"rest": rest}, hyperparameters=given)
    draws = fit.draws(random_seed=1)["posterior"]
    assert abs(float(draws["rest"].mean()) - 2) < 5 * float(draws["rest"].std())
    assert float(draws["rest"].mean()) > 1
    table = fit.predict([0, 0], [1, 1], covariates={"rest": [3.0, -3.0]})
    assert table["p_first"][0] > 0.9 > 0.1 > table["p_first"][1]
    with pytest.raises(ValueError, match="Expected the covariates of the data, 'rest'; got none"):
        fit.predict([0], [1])
    coming = pd.DataFrame({"first": [0, 0], "second": [1, 1], "rest": [3.0, -3.0]}, index=[5, 3])
    both = [coming["first"], coming["second"]]
    again = fit.predict(*both, covariates={"rest": coming["rest"]})
    assert again["p_first"].tolist() == table["p_first"].tolist()
    with pytest.raises(ValueError, match="are Series with different indexes"):
        fit.predict(*both, covariates={"rest": coming["rest"][::-1]})


def test_nothing_known_is_the_prior():
    pairs = simulated(10)
    nothing = replace(pairs, counts=np.zeros_like(pairs.counts))
    _, _, mode = posterior(nothing, "davidson")
    assert not mode.x.any()
    assert isinstance(mode.information, Information)
    assert log_evidence(mode, random_seed=1).value == pytest.approx(0.0, abs=1e-9)


def test_new_days_are_observed_as_if_they_had_been_there():
    pairs = simulated()
    table = pairs.to_frame()
    table["first"], table["second"] = table["second"], table["first"]  # other items come first
    given = {"scale": 1.0, "drift": 0.3}
    whole = part_of(table)
    days = table["when"].drop_duplicates().sort_values()
    known = table["when"] < days.iloc[-3]
    newcomer = table["when"] == days.iloc[-1]
    table.loc[newcomer, "first"] = -1  # sorted before all others, so that their codes move
    known = part_of(table[known])
    fit = fitted(known, likelihood="davidson", hyperparameters=given)
    moved = fit.with_data(part_of(table))
    anew = fitted(part_of(table), likelihood="davidson", hyperparameters=given)
    np.testing.assert_allclose(moved.normal.x, anew.normal.x, atol=0.02)
    assert moved.log_evidence == pytest.approx(anew.log_evidence, abs=5e-3)
    back = moved.with_data(known)
    np.testing.assert_allclose(back.normal.x, fit.normal.x, atol=0.02)
    with pytest.raises(TypeError, match="Expected Pairs, as fitted; got Rankings"):
        fit.with_data(simulated_rankings())
    with pytest.raises(ValueError, match="Expected the covariates of the data, none; got 'rest'"):
        fit.with_data(whole, covariates={"rest": np.zeros(whole.n_pairs)})


@pytest.mark.parametrize("data", [simulated(), simulated_rankings()], ids=["pairs", "rankings"])
def test_histories_are_compared_by_leaving_out(data):
    given = {"scale": 1.0, "drift": 0.01}
    still = fitted(data, hyperparameters={"scale": 1.0}, dynamics="constant")
    walk = fitted(data, hyperparameters=given)
    fits = {
        name: fit.draws(log_likelihood=True, random_seed=1)
        for name, fit in {"a": still, "b": walk}.items()
    }
    # a walk that hardly moves is no walk
    apart = [tree["log_likelihood"]["y"].mean(["chain", "draw"]) for tree in fits.values()]
    np.testing.assert_allclose(apart[0], apart[1], atol=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ParetoKWarning)
        table = br.compare(fits)
    assert set(table.index) == {"a", "b", "random ranking"}


@pytest.mark.parametrize(
    ("likelihood", "family", "tie"),
    [("davidson", br.Davidson, "nu"), ("rao_kupper", br.RaoKupper, "theta")],
)
def test_the_log_likelihood_of_draws_is_that_of_the_distributions(likelihood, family, tie):
    pairs = simulated(30)
    fit = fitted(pairs, dynamics="constant", hyperparameters={"scale": 1.0}, likelihood=likelihood)
    tree = fit.draws(draws=3, chains=1, log_likelihood=True, random_seed=1)
    draw = tree["posterior"].isel(chain=0, draw=1)
    effects = {name: float(draw[name]) for name in (tie, "order_effect")}
    model = model_of(pairs, family, prior=pm.Flat, **effects)
    logp = model.compile_fn(model.logp(sum=False)[-1], mode="FAST_COMPILE")
    wanted = logp({"utility": draw["utility"].to_numpy()})
    np.testing.assert_allclose(tree["log_likelihood"]["y"][0, 1], wanted, atol=1e-10)


@pytest.mark.parametrize("data", [simulated(), simulated_rankings()], ids=["pairs", "rankings"])
def test_simulated_data_have_the_frequencies_of_the_model(data):
    given = {"scale": 1.0, "drift": 0.3}
    fit = fitted(data, hyperparameters=given)
    n = 1500
    tree = fit.draws(draws=n, chains=1, predictions=True, log_likelihood=True, random_seed=1)
    drawn = tree["posterior_predictive"]["y"][0]
    seen = tree["observed_data"]["y"].values
    assert drawn.shape == (n, *seen.shape)
    # an observation comes again as often as its probability says
    again = (drawn.values == seen).all(axis=2).mean(axis=0)
    wanted = np.exp(tree["log_likelihood"]["y"][0].values).mean(axis=0)
    assert abs(again - wanted).max() < 5.5 * np.sqrt(0.25 / n)
    checks = match_checks if isinstance(data, br.Pairs) else br.ranking_checks
    del tree["posterior"]["utility"]
    assert not checks(tree).empty


def test_a_fit_is_repeated_from_its_nodes():
    pairs = simulated(30)
    counted = []
    fit = fitted(pairs, watch=lambda done, most: counted.append((done, most)))
    assert [done for done, _ in counted] == list(range(len(counted)))
    assert all(done <= most for done, most in counted)
    tree = fit.draws(draws=3, chains=1, random_seed=1)
    table = tree["hyperparameters"].to_dataset().to_dataframe()
    again = fitted(pairs, hyperparameters=table)
    pd.testing.assert_frame_equal(again.nodes, fit.nodes)
    one, other = (
        x.predict([0], [1], at=4.0).drop(columns=["first", "second"]) for x in (fit, again)
    )
    np.testing.assert_allclose(one, other, atol=1e-3)
    with pytest.raises(ValueError, match="columns 'scale', 'drift', 'weight', as `nodes` of a fit"):
        fitted(pairs, hyperparameters=table[["scale"]])
    with pytest.raises(ValueError, match="weights of the nodes must be positive"):
        fitted(pairs, hyperparameters=table.assign(weight=0.0))


def test_the_covariate_order_effect_is_the_order_effect_but_on_neutral_ground():
    pairs = simulated()
    given = {"hyperparameters": {"scale": 1.0, "drift": 0.3}}
    home = {"order_effect": np.ones(pairs.n_pairs)}
    whole = fitted(pairs, **given)
    same = fitted(pairs, **given, order_effect=False, covariates=home)
    assert same.log_evidence == pytest.approx(whole.log_evidence, abs=1e-9)
    ahead = same.predict([0, 1], [1, 0], at=4.0, covariates={"order_effect": [0, 0]})
    assert ahead["p_first"][0] == pytest.approx(ahead["p_second"][1])
    with pytest.raises(ValueError, match="replaces the order effect; set order_effect=False"):
        fitted(pairs, **given, covariates=home)
