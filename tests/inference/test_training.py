"""Minibatch training: unbiased gradients, the mode of a convex problem, stopping, bad input."""

import numpy as np
import pymc as pm
import pytest
from pymc.blocking import DictToArrayBijection

import bayesrank as br
from bayesrank.inference import climb, fit_minibatch, objective
from bayesrank.inference.sampling.minibatch_logp import divided

N = 60
TRUTH = np.array([1.0, -0.5])


def simulated(n=N, seed=0):
    """Rankings of four items by two features, ties among the last two of every other one."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 4, 2))
    order = np.argsort(-(features @ TRUTH + rng.gumbel(size=(n, 4))), axis=1)
    ranks = np.argsort(order, axis=1) + 1
    ranks[::2] = np.minimum(ranks[::2], 3)
    item = np.tile(np.arange(4), (n, 1))
    return br.Rankings(item, ranks, items=list("abcd"), features=features)


def observe(utility, rankings):
    br.PlackettLuce("y", utility, utility_dims=("ranking", "slot"), observed=rankings)


def fitted(model, **options):
    return fit_minibatch(**{"progressbar": False, "random_seed": 1} | options, model=model)


def model_of(rankings, *, hinge=False):
    with pm.Model(coords=rankings.coords) as model:
        features = pm.Data("features", rankings.features, dims=("ranking", "slot", "feature"))
        slope = pm.Normal("slope", 0, 1, dims="feature")
        scale = pm.HalfNormal("scale", 1)
        utility = scale * (features * slope).sum(axis=-1)
        observe(utility, rankings)
        if hinge:
            pm.Potential("loss", -pm.math.maximum(0, 1 - utility[:, 0]).sum())
            pm.Potential("rule", -(slope.sum() ** 2))
    return model


@pytest.mark.parametrize("hinge", [False, True])
@pytest.mark.parametrize("mode", [None, pytest.param("JAX", marks=pytest.mark.slow)])
def test_gradients_of_batches_add_up_to_that_of_the_log_posterior(mode, hinge):
    if mode == "JAX":
        pytest.importorskip("jax")
    model = model_of(simulated(), hinge=hinge)
    problem = divided(model, "ranking")
    at = DictToArrayBijection.map({"slope": np.array([0.3, 0.4]), "scale_log__": np.array(-0.2)})
    slope = problem.compile_slope(15, N, at, mode)
    batches = [problem.rows(np.arange(15) + 15 * k) for k in range(4)]
    parts = [slope(at.data, batch) for batch in batches]
    point = DictToArrayBijection.rmap(at)
    value = model.compile_logp(jacobian=False)(point)
    gradient = model.compile_dlogp(jacobian=False)(point)
    assert list(point) == [x.name for x in model.value_vars]
    assert np.mean([part[0] for part in parts]) == pytest.approx(value / N, rel=1e-9)
    np.testing.assert_allclose(
        np.mean([part[1] for part in parts], axis=0), gradient / N, rtol=1e-7
    )


def test_the_mode_of_a_convex_problem_is_found():
    rankings = simulated()
    with pm.Model(coords=rankings.coords) as model:
        features = pm.Data("features", rankings.features, dims=("ranking", "slot", "feature"))
        slope = pm.Normal("slope", 0, 1, dims="feature")
        pm.Deterministic("double", 2 * slope, dims="feature")
        observe((features * slope).sum(axis=-1), rankings)
    fit = fitted(model, batch_size=N, epochs=600, learning_rate=0.05, validation=0)
    logp, start = objective(model)
    exact = climb(logp, start.data)
    found = fit["posterior"]["slope"]
    assert found.dims == ("chain", "draw", "feature")
    np.testing.assert_allclose(found.values[0, 0], exact, atol=1e-4)
    np.testing.assert_allclose(fit["posterior"]["double"].values[0, 0], 2 * exact, atol=2e-4)
    assert fit["training"].sizes["epoch"] == 600
    assert np.isnan(fit["training"]["held_out"]).all()


@pytest.mark.slow
def test_training_stops_when_predictions_of_held_out_rankings_no_longer_improve():
    # more weights than rankings can tell, and a weak prior: the fit soon is too close
    rng = np.random.default_rng(1)
    rankings = simulated(n=30)
    noise = rng.normal(size=(30, 4, 40))
    with pm.Model(coords=rankings.coords) as model:
        features = pm.Data("features", noise, dims=("ranking", "slot", "noise"))
        slope = pm.Normal("slope", 0, 10, shape=40)
        observe((features * slope).sum(axis=-1), rankings)
    start = {"slope": np.zeros(40)}
    options = {"batch_size": 10, "learning_rate": 0.05, "validation": 0.33, "start": start}
    options |= {"epochs": 200, "patience": 5}
    fit = fitted(model, **options)
    held_out = fit["training"]["held_out"].values
    best = fit["training"].attrs["best_epoch"]
    assert best == held_out.argmax()
    assert len(held_out) == best + 6 < 200
    # the point that is returned is that of the best epoch
    problem = divided(model, "ranking")
    assert fitted(model, **options)["posterior"].equals(fit["posterior"])
    rows = np.sort(np.random.default_rng(1).permutation(30)[:10])
    at = DictToArrayBijection.map({"slope": fit["posterior"]["slope"].values[0, 0]})
    score = problem.compile_score(10, at, None)(at.data, problem.rows(rows))
    assert score == pytest.approx(held_out[best], rel=1e-9)


def test_rankings_to_hold_back_can_be_named_and_batches_augmented():
    model = model_of(simulated())
    seen = []

    def mirror(rng, batch):
        seen.append(batch["features"].copy())
        return {"features": -batch["features"]}

    options = {"batch_size": 50, "epochs": 3, "learning_rate": 0.3, "patience": 100}
    fit = fitted(model, validation=[0, 7], augment=mirror, **options)
    assert len(seen) == 3
    left_out = simulated().features[[0, 7]]
    assert not any((row == left).all((-1, -2)).any() for row in seen for left in left_out)
    assert fit["training"].sizes["epoch"] == 3


def test_models_that_cannot_be_divided_are_refused():
    rankings = simulated()
    with pm.Model(coords=rankings.coords) as per_item:
        br.PlackettLuce("y", pm.Normal("utility", 0, 1, dims="item"), observed=rankings)
    with pm.Model(coords=rankings.coords) as by_ranking:
        effect = pm.Normal("effect", 0, 1, dims="ranking")
        observe(effect[:, None] * rankings.features[..., 0], rankings)
    with pm.Model(coords=rankings.coords) as constant:
        slope = pm.Normal("slope", 0, 1, dims="feature")
        observe((rankings.features * slope).sum(axis=-1), rankings)
    with pm.Model(coords=rankings.coords) as transposed:
        x = pm.Data("x", rankings.features[..., 0].T, dims=("slot", "ranking"))
        observe(pm.Normal("slope") * x.T, rankings)
    for model, options, message in (
        (transposed, {"batch_size": 10}, r"^A batch of 10 cannot be evaluated: .* this dim first"),
        (per_item, {}, r"log-likelihood of 'y' does not depend on data along 'ranking'"),
        (model_of(rankings), {"dim": "set"}, r"^The model has no dim 'set'; it has \['feature'"),
        (
            model_of(rankings), {"dim": "slot"},
            r"^Expected an observed variable or a potential along 'slot'",
        ),
        (by_ranking, {}, r"^The free variable 'effect' has the dim 'ranking'"),
        (constant, {"batch_size": 10}, r"^A batch of 10 cannot be evaluated: .* its 60 l"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            fitted(model, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, r"^`batch_size` is 0; it must be a whole number, 1 or more\.$"),
        ({"epochs": 1.5}, r"^`epochs` is 1\.5; it must be a whole number"),
        ({"validation": 1.0}, r"^`validation` is 1\.0; it must be a share in \[0, 1\)"),
        (
            {"validation": [0, 60]},
            r"^`validation` is \[0, 60\]; it must be a share, .* some but not all of the 60",
        ),
        ({"validation": np.zeros(0, int)}, r"^`validation` is \[\]; it must be a share"),
        ({"start": {"w": 0.0}}, r"^`start` has \['w'\]; the free variables are \['scale_log__'"),
    ],
)
def test_arguments_out_of_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        fitted(model_of(simulated()), **options)


def test_a_log_posterior_that_diverges_raises():
    with pm.Model(coords={"ranking": range(4)}) as model:
        x = pm.Normal("x", 0, 1)
        y = pm.Data("y_data", np.ones(4), dims="ranking")
        pm.Normal("y", pm.math.exp(pm.math.exp(x)), 1, observed=y, dims="ranking")
    with pytest.raises(FloatingPointError, match=r"^The log posterior is .* in epoch 0: lower `le"):
        fitted(model, start={"x": np.array(400.0)}, validation=0)
