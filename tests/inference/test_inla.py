"""The quick posterior against posteriors that are known, and against NUTS (slow)."""

import functools
from types import SimpleNamespace

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
import xarray as xr
from pymc.distributions.transforms import log_exp_m1
from scipy import stats
from scipy.integrate import quad
from scipy.special import expit

import bayesrank as br
from bayesrank.analysis.leaderboard import leaderboard_model, nuts_settings
from bayesrank.inference import fit_inla, fit_pairs, learned_scales, sample
from bayesrank.inference.approximation import nested, nested_draws
from bayesrank.inference.approximation.hessian_products import many_products
from bayesrank.inference.approximation.hyper_marginal import hyper_mode
from bayesrank.inference.approximation.inner_gaussian import Joint
from bayesrank.inference.approximation.modes import gradient_change, objective
from bayesrank.inference.approximation.nested_draws import Resampled
from bayesrank.inference.approximation.nodes import WIDER, Laid
from bayesrank.likelihoods.plackett_luce.per_item import StageTotal
from tests.builders import matches


def groups_model(y, centred):
    """Means of groups around zero, with a spread to be learned, each observed with noise one."""
    with pm.Model(coords={"group": range(len(y))}) as model:
        spread = pm.HalfNormal("spread", 1.0)
        if centred:
            mean = pm.Normal("mean", 0, spread, dims="group")
        else:
            z = pm.Normal("z", 0, 1, dims="group")
            mean = pm.Deterministic("mean", spread * z, dims="group")
        pm.Normal("y", mean, 1.0, observed=y, dims="group")
    return model


def exact_groups(y):
    """Mean and standard deviation of the log spread, and means of the groups, by integration."""
    grid = np.linspace(-8, 3, 4001)
    spread = np.exp(grid)
    log_density = stats.halfnorm.logpdf(spread) + grid
    log_density += stats.norm.logpdf(y[:, None], 0, np.sqrt(1 + spread**2)).sum(axis=0)
    weight = np.exp(log_density - log_density.max())
    weight /= weight.sum()
    mean = weight @ grid
    return mean, np.sqrt(weight @ (grid - mean) ** 2), weight @ (spread**2 / (1 + spread**2)) * y


def check_groups(posterior, y):
    """Given the spread all is normal: what is left are the nodes, and the noise of 2,000 draws."""
    mean, sd, means = exact_groups(y)
    log_spread = np.log(posterior["spread"].to_numpy())
    assert abs(log_spread.mean() - mean) < 0.15 * sd
    assert log_spread.std() == pytest.approx(sd, rel=0.1)
    found = posterior["mean"].mean(("chain", "draw")).to_numpy()
    np.testing.assert_allclose(found, means, atol=0.1)


@functools.cache
def thirty_groups(centred):
    y = np.random.default_rng(2).normal(0, 1.7, size=30)
    return y, fit_inla(draws=500, random_seed=1, weighted=False, model=groups_model(y, centred))


@pytest.mark.parametrize("centred", [pytest.param(True, marks=pytest.mark.slow), False])
def test_a_spread_is_integrated_and_not_taken_at_the_joint_mode(centred):
    y, out = thirty_groups(centred)
    check_groups(out["posterior"], y)


def test_a_spread_that_is_all_but_known_needs_one_node(monkeypatch):
    name = "bayesrank.inference.approximation.hyper_marginal.KNOWN"
    monkeypatch.setattr(name, 0.2)  # else hundreds of groups
    y = np.random.default_rng(3).normal(0, 1.7, size=40)
    out = fit_inla(draws=500, random_seed=1, weighted=False, model=groups_model(y, centred=False))
    assert not out["sample_stats"]["node"].any()
    check_groups(out["posterior"], y)


@pytest.mark.slow
def test_where_rough_derivatives_are_no_precision_the_search_takes_exact_ones(monkeypatch):
    gaussian, refused = Joint.gaussian, []

    def exact(self, hyper, near=None, *, roughly=False):
        if roughly:
            refused.append(hyper)
            raise ValueError("not positive definite")
        return gaussian(self, hyper, near)

    monkeypatch.setattr(Joint, "gaussian", exact)
    y = np.random.default_rng(2).normal(0, 1.7, size=30)
    out = fit_inla(draws=500, random_seed=1, weighted=False, model=groups_model(y, centred=False))
    assert refused
    check_groups(out["posterior"], y)


def test_the_result_is_one_of_pymc_with_its_groups_dims_and_attributes():
    y, out = thirty_groups(False)
    assert set(out.children) == {"posterior", "sample_stats", "observed_data"}  # there are no data
    posterior = out["posterior"]
    assert dict(posterior.sizes) == {"chain": 4, "draw": 500, "group": 30}
    assert set(posterior.data_vars) == {"spread", "z", "mean"}
    np.testing.assert_allclose(posterior["mean"], posterior["spread"] * posterior["z"])
    np.testing.assert_array_equal(out["observed_data"]["y"], y)
    assert posterior.attrs["approximation"] == "Laplace, nested over spread"
    assert "effective_draws" not in posterior.attrs
    assert out["sample_stats"]["node"].sizes == {"chain": 4, "draw": 500}
    assert len(az.summary(out)) == 61


@pytest.mark.slow
def test_draws_end_when_they_are_enough(monkeypatch):
    asked = []

    def enough(so_far):
        asked.append(so_far)
        return True

    model = groups_model(np.array([1.0, -2.0, 3.0, 0.5]), False)
    settings = {"chains": 2, "draws": 300, "random_seed": 1, "model": model}
    weighted = fit_inla(enough=enough, **settings)  # all of its draws exist before it is asked
    assert (weighted["posterior"].sizes["draw"], asked) == (300, [])
    monkeypatch.setattr("bayesrank.inference.approximation.nested_draws.MOST_WEIGHED", 0)
    some = fit_inla(enough=enough, **settings)
    assert [(draws.sizes["chain"], draws.sizes["draw"]) for draws in asked] == [(2, 250)]
    assert some["posterior"].to_dataset().equals(asked[-1])
    assert some["sample_stats"]["node"].sizes == {"chain": 2, "draw": 250}
    most = fit_inla(enough=lambda _: False, **settings)
    assert most["posterior"].sizes["draw"] == 300
    first = most["posterior"].isel(draw=slice(250)).to_dataset()
    assert first.equals(some["posterior"].to_dataset())


def test_without_scales_it_is_the_normal_around_the_mode_and_the_seed_decides():
    with pm.Model() as model:
        x = pm.Normal("x", 0, [1.0, 2.0])
        pm.Normal("y", x.sum(), 1.0, observed=3.0)
    assert learned_scales(model) == []
    one, same, other = (fit_inla(random_seed=seed, model=model) for seed in (1, 1, 2))
    assert one["posterior"].equals(same["posterior"])
    assert not one["posterior"].equals(other["posterior"])
    assert one["posterior"].attrs["proposal"] == "Laplace, with importance sampling"
    assert one["posterior"].attrs["effective_draws"] > 3900  # the posterior is normal
    covariance = np.linalg.inv([[2.0, 1.0], [1.0, 1.25]])
    x = one["posterior"]["x"].to_numpy().reshape(-1, 2)
    error = np.sqrt(np.diag(covariance) / len(x))
    assert (abs(x.mean(axis=0) - covariance @ [3.0, 3.0]) < 5.5 * error).all()
    assert abs(np.cov(x.T) - covariance).max() < 5.5 * np.sqrt(2 / len(x)) * covariance.max()


def always_won(scale):
    """Utility of an item that won all 8 of its matches, and its exact mean and deviation."""
    with pm.Model() as model:
        x = pm.Normal("x", 0, scale)
        pm.Bernoulli("won", logit_p=x, observed=np.ones(8))
    grid = np.linspace(-8, 12, 4001) * scale
    weight = np.exp(stats.norm.logpdf(grid, 0, scale) - 8 * np.logaddexp(0, -grid))
    weight /= weight.sum()
    mean = weight @ grid
    return model, mean, np.sqrt(weight @ (grid - mean) ** 2)


def test_of_few_data_a_skew_posterior_is_found():
    """The normal around the mode has a mean 0.4 deviations too low, and 0.9 times the deviation."""
    model, mean, sd = always_won(3.0)
    out = fit_inla(draws=250, random_seed=1, model=model)["posterior"]
    assert out.attrs["proposal"] == "Laplace, with importance sampling"
    assert abs(float(out["x"].mean()) - mean) < 5.5 * sd / out.attrs["effective_draws"] ** 0.5
    assert float(out["x"].std()) == pytest.approx(sd, rel=0.15)
    assert stats.skew(out["x"].to_numpy().ravel()) > 0.3


@pytest.mark.slow
def test_draws_stay_as_they_are_where_weights_are_too_uneven(monkeypatch):
    model, _, _ = always_won(3.0)
    monkeypatch.setattr("bayesrank.inference.approximation.nested_draws.MOST_WEIGHED", 0)
    plain = fit_inla(draws=500, random_seed=1, model=model)["posterior"]
    monkeypatch.undo()
    monkeypatch.setattr("bayesrank.inference.approximation.nested_draws.GOOD_K", -np.inf)
    uneven = fit_inla(draws=500, random_seed=1, model=model)["posterior"]
    assert uneven.attrs["approximation"] == "Laplace"
    assert "effective_draws" not in uneven.attrs
    xr.testing.assert_equal(uneven.to_dataset(), plain.to_dataset())


@pytest.mark.parametrize("n", [4, pytest.param(30, marks=pytest.mark.slow)])
def test_certified_draws_have_the_error_that_their_number_states(n):
    y = np.random.default_rng(2).normal(0, 1.7, size=n)
    out = fit_inla(random_seed=1, model=groups_model(y, centred=False))["posterior"]
    assert "approximation" not in out.attrs
    mean, sd, means = exact_groups(y)
    log_spread = np.log(out["spread"].to_numpy()).ravel()
    effective = out.attrs["effective_draws"]
    assert effective >= 400
    assert abs(log_spread.mean() - mean) < 5.5 * sd / effective**0.5
    fourth = ((log_spread - mean) ** 4).mean() / sd**4
    assert abs(log_spread.var() / sd**2 - 1) < 5.5 * ((fourth - 1) / effective) ** 0.5
    error = out["mean"].std(("chain", "draw")) / effective**0.5
    assert (abs(out["mean"].mean(("chain", "draw")) - means) < 5.5 * error).all()


def test_weights_that_leave_few_effective_draws_are_not_applied(monkeypatch):
    with pm.Model() as model:
        pm.Normal("x", 0, 1)
    monkeypatch.setattr(nested_draws, "_effective_draws", lambda *_, **__: 70.0)
    drawn = fit_inla(draws=100, random_seed=1, model=model)["posterior"]
    assert drawn.attrs["approximation"] == "Laplace"
    assert "effective_draws" not in drawn.attrs


@pytest.mark.parametrize("lacks", [{"n_effective": 400.0}, {"pareto_k": 0.75}, {"largest": 0.03}])
def test_a_certificate_needs_every_sign(lacks):
    good = Resampled(np.zeros((1000, 1)), np.zeros(1000, int), 900.0, 300.0, 0.2, 0.005)
    assert good.is_certified
    assert not good._replace(**lacks).is_certified


def test_a_fit_without_certificate_says_that_it_is_approximate(monkeypatch):
    monkeypatch.setattr("bayesrank.inference.approximation.nested_draws.LARGEST", 0.0)
    out = fit_inla(draws=250, random_seed=1, model=always_won(3.0)[0])
    assert out["posterior"].attrs["approximation"] == "Laplace, with importance sampling"
    assert "proposal" not in out["posterior"].attrs


def judged(n_judges=3):
    outcomes = ["first", "second", "tie", "first"]
    rows = [("abc"[i], "abc"[j], outcomes[(i + 2 * j + k) % 4], f"judge {k}", "xy"[k % 2])
            for i in range(3) for j in range(3) if i != j for k in range(n_judges)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["first", "second", "outcome", "judge", "category"])
    columns = {"first": "first", "second": "second", "outcome": "outcome"}
    return frame, columns


def test_the_scales_of_a_leaderboard_are_its_spreads():
    frame, columns = judged()
    pairs = br.Pairs.from_frame(frame, **columns, judge="judge", by="category")
    assert learned_scales(leaderboard_model(pairs, category="category")) == [
        "utility_scale",
        "category_spread",
        "adherence_spread",
        "tie_spread",
        "order_spread",
        "judge_spread",
    ]
    alone = br.Pairs.from_frame(frame, **columns)
    assert learned_scales(leaderboard_model(alone)) == ["utility_scale"]
    assert learned_scales(leaderboard_model(alone, utility_scale=1.0)) == []


@pytest.mark.slow
def test_of_factors_that_meet_the_mean_is_found_and_not_the_mode():
    """Effects are seen as they are, and times a factor; given scale and factor they are summed out.

    With modes in place of averages the means are 3.8 and -3.2 standard deviations off.
    """
    rng = np.random.default_rng(3)
    n = 60
    y = np.stack([rng.normal(0, 0.8, n)] * 2) + rng.normal(size=(2, n))
    with pm.Model() as model:
        spread, factor = pm.HalfNormal("spread", 1.0), pm.Normal("factor", 1.0, 0.5)
        x = spread * pm.Normal("z", 0, 1, shape=n)
        pm.Normal("y", pt.stack([x, factor * x]), 1.0, observed=y)
    found = fit_inla(random_seed=1, model=model)["posterior"]

    s, f = np.linspace(0.001, 2.5, 600)[:, None], np.linspace(-1.5, 4, 700)
    size = 1 + s**2 * (1 + f**2)  # determinant of the covariance 1 + s^2 (1, f) (1, f)'
    along = y[0] @ y[0] + 2 * f * (y[0] @ y[1]) + f**2 * (y[1] @ y[1])
    logp = -(s**2) / 2 - 2 * (f - 1) ** 2 - n / 2 * np.log(size) + s**2 / size * along / 2
    weight = np.exp(logp - logp.max())
    weight /= weight.sum()
    for name, x in (("spread", s), ("factor", f)):
        mean = (weight * x).sum()
        sd = np.sqrt((weight * (x - mean) ** 2).sum())
        assert abs(float(found[name].mean()) - mean) < 0.2 * sd
        assert 0.8 < float(found[name].std()) / sd < 1.25


# What is refused


def test_second_derivatives_follow_an_input_that_depends_on_another():
    """PyTensor's `pushforward` of both together loses it, as in ties by strength."""
    pairs = matches(["a", "b", "c", "a"], ["b", "c", "a", "c"], ["first"] * 4)
    with pm.Model(coords=pairs.coords) as model:
        utility = pm.Normal("utility", 0, 1, dims="item")
        br.BradleyTerry("y", utility, order_effect=utility[0] ** 2, observed=pairs)
    density, start = objective(model)
    products, _ = many_products(model, density)
    x = start.data + np.array([0.5, -0.3, 0.2])
    steps = 1e-5 * np.eye(3)
    change = [(density(x + step)[1] - density(x - step)[1]) / 2e-5 for step in steps]
    np.testing.assert_allclose(products(x)(np.eye(3)), change, atol=1e-6)


@pytest.mark.parametrize(("name", "limit"), [("FEW", 3), ("LITTLE", 20)])
def test_small_models_have_differences_as_second_derivatives(monkeypatch, name, limit):
    """The exact ones compile for longer than the density; both agree."""
    with pm.Model(coords={"item": list("ABC")}) as model:
        scale = pm.HalfNormal("scale", 1.0)
        rankings = br.Rankings.from_orderings([list("ABC"), list("BAC")], items=list("ABC"))
        utility = pm.Normal("utility", 0, scale, dims="item")
        br.PlackettLuce("y", utility, observed=rankings)
    compiled = []

    def exact(*given):
        compiled.append(given)
        return many_products(*given)

    monkeypatch.setattr(nested, "many_products", exact)
    small = nested._joint(model, *objective(model), ["scale"], [])
    assert not compiled
    monkeypatch.setattr(nested, name, limit)
    large = nested._joint(model, *objective(model), ["scale"], [])
    assert compiled
    x = np.array([0.3, 0.5, -0.4, 0.1])
    found, expected = (joint.products(x)(np.eye(4)) for joint in (small, large))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_variables_that_all_meet_are_not_one_block(monkeypatch):
    """A block of everything costs twice the products, and averages over draws, for nothing."""
    monkeypatch.setattr(nested, "SMALL", 1)
    monkeypatch.setattr(nested, "FEW", 0)
    with pm.Model(coords={"item": list("ABC")}) as model:
        scale = pm.HalfNormal("scale", 1.0)
        utility = pm.Normal("utility", 0, scale, dims="item")
        rankings = br.Rankings.from_orderings([["A", "B", "C"]], items=list("ABC"))
        br.PlackettLuce("y", utility, observed=rankings)
    joint = nested._joint(model, *objective(model), ["scale"], [])
    assert joint.blocks is None


def test_the_search_computes_second_derivatives_only_where_it_stops(monkeypatch):
    """With many rankings they take most time, and rough log marginals lead to the same mode."""
    rng = np.random.default_rng(6)
    utility = np.repeat([[1.5, 0.5, -0.5, -1.5]], 60, axis=0)
    orders = np.argsort(-(utility + rng.gumbel(size=utility.shape)), axis=1)
    with pm.Model(coords={"item": list("ABCD")}) as model:
        scale = pm.HalfNormal("scale", 3.0)
        z = pm.Normal("z", 0, 1, dims="item")
        rankings = br.Rankings.from_orderings(np.array(list("ABCD"))[orders].tolist())
        br.PlackettLuce("y", scale * z, observed=rankings)
    monkeypatch.setattr(nested, "FEW", 0)
    joint = nested._joint(model, *objective(model), ["scale"], [])
    calls = []
    hessian = StageTotal.hessian
    monkeypatch.setattr(StageTotal, "hessian", lambda *inputs: calls.append(1) or hessian(*inputs))
    mode, root, near = hyper_mode(joint, ["scale"])
    n = len(calls)
    below, above = (joint.gaussian(mode + step, near).log_marginal for step in (-0.02, 0.02))
    assert abs(above - below) / 0.04 * root[0, 0] < 0.2  # at the mode, in standard deviations
    assert n <= 6  # 8 if every difference needs them


def test_a_discrete_variable_is_refused():
    with pm.Model() as model:
        k = pm.Bernoulli("k", 0.5)
        pm.Normal("y", k, 1, observed=1.0)
    with pytest.raises(ValueError, match=r"'k' is discrete.*pm\.sample"):
        fit_inla(random_seed=1, model=model)


def test_bad_scales_are_refused():
    with pm.Model() as model:
        local = pm.HalfCauchy("local", 1, shape=13)
        pm.Normal("y", local * pm.Normal("b", 0, 1, shape=13), 1, observed=np.ones(13))
    with pytest.raises(
        ValueError, match=r"at most 12 learned scales; the model learns 13 \(local\)"
    ):
        fit_inla(random_seed=1, model=model)
    with pytest.raises(ValueError, match=r"`scales` has 'tau'; the free variables are \['spread'"):
        fit_inla(scales=["tau"], random_seed=1, model=groups_model(np.ones(3), centred=True))


def test_a_posterior_that_is_not_proper_is_refused():
    with pm.Model() as model:
        x = pm.Flat("x", shape=2)
        pm.Normal("y", x[0] - x[1], 1.0, observed=3.0)
    with pytest.raises(ValueError, match=r"does not curve downwards.*proper"):
        fit_inla(random_seed=1, model=model)


class Cliff:
    """Two scales, whose density falls off a cliff where their sum is half a deviation or more."""

    hyper, start = np.arange(2), np.zeros(2)
    curvature = np.array([4.0, 9.0])

    def gaussian(self, hyper, near=None, *, roughly=False):
        lead = hyper - 0.1
        log_marginal = -(self.curvature @ lead**2) / 2 - 20.0 * (hyper.sum() > 0.5)
        return SimpleNamespace(log_marginal=log_marginal)


def test_a_cliff_beside_the_mode_is_not_taken_for_a_direction_that_rises():
    mode, root, _ = hyper_mode(Cliff(), ["a", "b"])
    np.testing.assert_allclose(mode, 0.1, atol=1e-6)
    np.testing.assert_allclose(root @ root.T, np.diag(1 / Cliff.curvature), rtol=1e-6)


class Skew:
    """One scale that the data determine well, as a variance by a thousand numbers."""

    hyper, start = np.arange(1), np.ones(1)

    def gaussian(self, hyper, near=None, *, roughly=False):
        return SimpleNamespace(log_marginal=-1000 * (hyper[0] + np.exp(-2 * hyper[0]) / 2))


def test_a_skew_density_does_not_move_the_mode():
    mode, root, _ = hyper_mode(Skew(), ["a"])
    assert root[0, 0] == pytest.approx(2000**-0.5, rel=1e-2)
    assert abs(mode[0]) < 0.05 * root[0, 0]  # 0.6 with differences over nine standard deviations


def test_scales_without_a_mode_are_refused(monkeypatch):
    monkeypatch.setattr(Cliff, "curvature", np.array([4.0, -1.0]))
    with pytest.raises(ValueError, match=r"scales a, b(:| has no mode).*ample with pm.sample"):
        hyper_mode(Cliff(), ["a", "b"])


def test_nodes_are_weighed_by_the_density_from_which_they_are():
    laid = Laid(np.array([0.3]), np.array([[0.5], [2.0]]))
    z = WIDER * stats.norm.ppf((np.arange(100_000) + 0.5) / 100_000)[:, None]
    at = laid.points(z)
    weight = stats.norm.pdf(at[:, 0], 0.1, 0.4) / np.exp(laid.log_density(at))
    weight /= weight.sum()
    mean = weight @ at[:, 0]
    assert mean == pytest.approx(0.1, abs=1e-3)
    assert np.sqrt(weight @ (at[:, 0] - mean) ** 2) == pytest.approx(0.4, abs=1e-3)


# Matches by their counts


@pytest.mark.parametrize(
    ("ties", "order_effect"), [pytest.param(True, True, marks=pytest.mark.slow), (False, False)]
)
def test_counts_give_the_quick_posterior_of_the_leaderboard(ties, order_effect):
    frame, columns = judged(4)
    frame = frame if ties else frame[frame["outcome"] != "tie"]
    pairs = br.Pairs.from_frame(frame, **columns)
    model = leaderboard_model(pairs, utility_scale=1.0, order_effect=order_effect)
    n = 4 * 200
    mine = fit_pairs(pairs, order_effect=order_effect, draws=200, random_seed=1)["posterior"]
    general = fit_inla(draws=200, random_seed=1, model=model)["posterior"]
    assert set(mine.data_vars) == set(general.data_vars)
    assert list(mine["item"].values) == list(general["item"].values)
    for name in mine.data_vars:
        a, b = (np.asarray(x[name]).reshape(n, -1) for x in (mine, general))
        if name == "nu":
            a, b = np.log(a), np.log(b)
        sd = b.std(axis=0)
        assert (abs(a.mean(axis=0) - b.mean(axis=0)) < 5.5 * sd * np.sqrt(2 / n)).all()
        np.testing.assert_allclose(a.std(axis=0), sd, rtol=5.5 / np.sqrt(n) + 1e-3)
    np.testing.assert_allclose(mine["utility"].sum("item"), 0, atol=1e-12)


def test_one_sided_counts_have_a_mode_by_their_prior():
    pairs = br.Pairs.from_matrix([[0, 1000000], [0, 0]], items=["a", "b"])
    utility = fit_pairs(pairs, order_effect=False, random_seed=1)["posterior"]["utility"].mean(
        ("chain", "draw")
    )
    a = float(utility.sel(item="a"))
    # the slopes of likelihood and prior are equal: 1e6 sigma(-2a) = a
    assert 1e6 / (1 + np.exp(2 * a)) == pytest.approx(a, rel=0.2)


def test_scales_are_found_under_any_transform_and_named_once(monkeypatch):
    with pm.Model() as model:
        scale = pm.HalfNormal("scale", 1.0, default_transform=None, transform=log_exp_m1)
        pm.Normal("y", pm.Normal("x", 0, scale, shape=3), 1, observed=[1.0, -1.0, 2.0])
    fit = fit_inla(draws=5, weighted=False, model=model)["posterior"]
    assert fit.attrs["approximation"] == "Laplace, nested over scale"
    monkeypatch.setattr(nested, "_approximate", lambda model, blocks, names, **_: names)
    for scales in (None, "scale", ["scale", "scale"]):
        assert fit_inla(scales=scales, model=model) == ["scale"]
    for wrong in ({"draws": 0}, {"chains": 2.5}):
        with pytest.raises(ValueError, match="must be a whole number, 1 or more"):
            fit_inla(model=model, **wrong)


def test_models_without_a_posterior_are_refused():
    rankings = br.Rankings.from_orderings([["a", "b", "c"], ["b", "a", "c"], ["c", "b", "a"]])
    with pm.Model(coords=rankings.coords) as flat:
        br.PlackettLuce("y", pm.Flat("utility", dims="item"), observed=rankings)
    with pytest.raises(ValueError, match="Give every variable a proper prior"):
        fit_inla(draws=5, random_seed=1, model=flat)
    with pm.Model(coords=rankings.coords) as fixed:
        br.PlackettLuce("y", np.zeros(3), observed=rankings)
    with pytest.raises(ValueError, match="The model has no free variables"):
        fit_inla(draws=5, random_seed=1, model=fixed)


def test_counts_of_several_judges_are_refused():
    frame, columns = judged()
    pairs = br.Pairs.from_frame(frame, **columns, judge="judge")
    with pytest.raises(ValueError, match="`draws` is 0; it must be a whole number, 1 or more"):
        fit_pairs(pairs, draws=0)
    with pytest.raises(ValueError, match=r"got 3 judges\. Use fit_inla"):
        fit_pairs(pairs, random_seed=1)
    with pytest.raises(ValueError, match=r"`utility_scale` is 0; it must be positive"):
        fit_pairs(br.Pairs.from_frame(frame, **columns), utility_scale=0, random_seed=1)


@pytest.mark.slow
def test_means_and_deviations_are_those_of_nuts():
    with pm.Model(coords=br.load_nascar().coords) as model:
        scale = pm.HalfNormal("scale", 1.0)
        utility = pm.ZeroSumNormal("utility", scale, dims="item")
        br.PlackettLuce("y", utility, observed=br.load_nascar())
        nuts = pm.sample(
            1000, chains=4, cores=1, random_seed=1, nuts_sampler="nutpie", progressbar=False
        )["posterior"]
    quick = fit_inla(random_seed=1, model=model)["posterior"]
    over = ("chain", "draw")
    for name in ("scale", "utility"):
        sd = nuts[name].std(over)
        assert float((abs(quick[name].mean(over) - nuts[name].mean(over)) / sd).max()) < 0.3
        ratio = quick[name].std(over) / sd
        assert 0.85 < float(ratio.min()) <= float(ratio.max()) < 1.15


def votes_by_prompt_and_judge(seed, n_votes):
    """Votes on eight systems by judges of three families, at sixty prompts, of two lengths."""
    rng = np.random.default_rng(seed)
    utility = np.linspace(0.8, -0.8, 8)
    family = np.array([0, 0, 1, 1, 2, 2])  # of each judge; the first thinks what all share
    deviation = np.stack([np.zeros(8), *rng.normal(0, 0.4, (2, 8))])
    care, taste = np.array([1.2, 0.9, 1.4, 1.3, 1.1, 1.0]), np.array([0, 0.1, 0.6, 0.6, 0.3, 0.4])
    at_prompt = rng.normal(0, 0.5, (60, 8))
    one = rng.integers(8, size=n_votes)
    other = (one + rng.integers(1, 8, size=n_votes)) % 8
    judge, prompt = rng.integers(6, size=n_votes), rng.integers(60, size=n_votes)
    length = rng.normal(0, 0.6, n_votes)
    value = utility + deviation[family[judge]] + at_prompt[prompt]
    row = np.arange(n_votes)
    lead = care[judge] * (value[row, one] - value[row, other]) + taste[judge] * length + 0.15
    chance = np.stack([np.exp(lead / 2), np.exp(-lead / 2), np.full(n_votes, 0.6)], axis=1)
    chance = (chance / chance.sum(axis=1, keepdims=True)).cumsum(axis=1)
    won = (rng.random(n_votes)[:, None] > chance[:, :2]).sum(axis=1)
    won = np.array(["first", "second", "tie"])[won]
    options = {"by": "prompt", "features": ["length"]}
    return matches(one, other, won, judge=judge, options=options, prompt=prompt, length=length)


def test_the_marginal_of_a_scale_counts_what_the_nearest_normal_leaves_out():
    """Five utilities s z, each with 30 wins in 30 matches against 0: z is skewed if s is large."""
    n_items, n_wins = 5, 30

    def density(x):
        s, z = np.exp(x[0]), x[1:]
        pull = n_wins * expit(-s * z)
        value = -(z @ z) / 2 - n_wins * np.logaddexp(0, -s * z).sum()
        return value, np.append((pull * s * z).sum(), s * pull - z)

    def products(x, curved_at=None):
        steps = 1e-5 * np.eye(x.size)
        hessian = np.array([density(x + d)[1] - density(x - d)[1] for d in steps]) / 2e-5
        return lambda directions: directions @ hessian

    def exact(log_s):
        wins = quad(lambda z: stats.norm.pdf(z) * expit(np.exp(log_s) * z) ** n_wins, -5, 9)[0]
        return n_items * np.log(wins)

    joint = Joint(density, products, np.zeros(1 + n_items), np.array([0]))
    sides = [joint.averaged(joint.gaussian(np.array([log_s]))) for log_s in (-1.0, 1.0)]
    bounds = [
        joint._at_draws(found.x, joint._noise(found.precision))[0].mean()
        - found.precision.log_det / 2
        for found in sides
    ]
    rise = exact(1.0) - exact(-1.0)
    assert np.diff([found.log_marginal for found in sides]) == pytest.approx(rise, abs=0.1)
    assert bounds[1] - bounds[0] < rise - 0.15  # the bound favours the small scale


@pytest.mark.slow
def test_many_small_blocks_have_the_nearest_normal_instead_of_that_at_their_mode():
    model = leaderboard_model(votes_by_prompt_and_judge(12, 300), groups=["prompt"])
    names = learned_scales(model)
    model, blocks = nested._by_blocks(model, names)
    joint = nested._joint(model, *objective(model), names, blocks)
    hyper = np.full(len(names), -1.5)
    near = joint.gaussian(hyper)
    for log_spread in (-1.2, -0.8):
        hyper[names.index("adherence_spread")] = log_spread
        near = joint.gaussian(hyper, near)
    # the bound on the log marginal is tighter by nats than with the normal at the inner mode
    x, _ = joint._inner_mode(hyper, near)
    precision, _ = joint._precision(x)
    at_mode = joint._at_draws(x, joint._noise(precision))[0].mean() - precision.log_det / 2
    assert near.log_marginal > at_mode + 2


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "n_votes"), [(11, 1600), (12, 800)])
def test_a_board_of_eight_scales_has_the_utilities_of_nuts(seed, n_votes):
    model = leaderboard_model(votes_by_prompt_and_judge(seed, n_votes), groups=["prompt"])
    settings = {"chains": 2, "random_seed": 1, "nuts": nuts_settings(model), "model": model}
    over, found = ("chain", "draw"), []
    with pytensor.config.change_flags(mode="NUMBA"):  # in Python it takes minutes
        posteriors = sample(1500, tune=1000, **settings), fit_inla(random_seed=1, model=model)
    for posterior in posteriors:
        utility, adherence = posterior["posterior"]["utility"], posterior["posterior"]["adherence"]
        found.append((utility - utility.mean("item"), adherence))
    for (nuts, quick), most in zip(zip(*found, strict=True), (0.3, 0.8), strict=True):
        sd = nuts.std(over)
        assert float((abs(quick.mean(over) - nuts.mean(over)) / sd).max()) < most
        ratio = quick.std(over) / sd
        assert 1 - most < float(ratio.min()) <= float(ratio.max()) < 1 + most


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "spread"), [(2, 1.5), (1, 4.0), (2, 4.0)])
def test_few_rankings_have_the_utilities_of_nuts(seed, spread):
    rng = np.random.default_rng(seed)
    utility = rng.normal(size=6) * spread
    orderings = np.argsort(-(utility + rng.gumbel(size=(8, 6))), axis=1)
    rankings = br.Rankings.from_orderings(orderings.tolist(), items=range(6))
    with pm.Model(coords=rankings.coords) as model:
        scale = pm.HalfNormal("utility_scale", 3)
        z = pm.ZeroSumNormal("utility_z", 1, dims="item")
        u = pm.Deterministic("utility", scale * z, dims="item")
        br.PlackettLuce("y", u, observed=rankings)
    found = fit_inla(draws=4000, random_seed=1, model=model)["posterior"]["utility"]
    with model:
        full = sample(draws=4000, tune=1500, chains=4, nuts={"target_accept": 0.95}, random_seed=1)
    wanted = full["posterior"]["utility"]
    sd = wanted.std(("chain", "draw"))
    shift = abs(found.mean(("chain", "draw")) - wanted.mean(("chain", "draw"))) / sd
    assert float(shift.max()) < 0.1
    ratio = found.std(("chain", "draw")) / sd
    assert 0.9 < float(ratio.min()) <= float(ratio.max()) < 1.1


def test_few_draws_are_chosen_among_enough_proposals():
    with pm.Model() as model:
        pm.Normal("x", 0, 1)
    drawn = fit_inla(draws=1, chains=1, random_seed=1, model=model)["posterior"]
    assert drawn["x"].shape == (1, 1)
    assert drawn.attrs["proposal"] == "Laplace, with importance sampling"
    assert drawn.attrs["effective_draws"] == 1
    assert "approximation" not in drawn.attrs  # it is exact to Monte Carlo error


def test_progress_counts_precisions():
    with pm.Model() as model:
        scale = pm.HalfNormal("scale", 1.0)
        pm.Normal("y", pm.Normal("x", 0, scale, shape=3), 1, observed=[1.0, -1.0, 2.0])
    heard = []
    fit_inla(draws=100, random_seed=1, watch=lambda *x: heard.append(x), model=model)
    done, most = np.array(heard).T
    assert done.tolist() == list(range(len(heard)))
    assert len(heard) > 256  # each proposal of the scale
    assert (done < most).all()


@pytest.mark.parametrize(("slope", "expected"), [(0.0, 0.0), (np.inf, np.nan)])
def test_products_far_from_all_mass_are_zero_or_not_finite(slope, expected):
    found = gradient_change(lambda x: np.full_like(x, slope), np.ones(2), np.array([1.0, 0.0]))
    np.testing.assert_equal(found, np.full(2, expected))
