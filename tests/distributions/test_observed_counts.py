"""`MPM` of observed `PairCounts`: against tables of counts, and what comes after sampling."""

import functools
import warnings
from pathlib import Path

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from pymc.model.transform.optimization import freeze_dims_and_data
from pymc.sampling.jax import get_jaxified_logp
from scipy.stats import norm

import bayesrank as br
from bayesrank.data import UninformativeRankingWarning
from tests.distributions.calibration import prior_as_posterior, sample
from tests.distributions.mpm_examples import (
    ADHERENCE,
    COUNTS,
    PAIRS,
    POINT,
    SCORE,
    VARIANCE,
    array_model,
    exact_logp,
    pairs_model,
)
from tests.likelihoods.count_tables import table_logp
from tests.oracles import gradient

QUICK = "FAST_COMPILE"
FALSE_ALARM = 1e-8
SIGMAS = norm.isf(FALSE_ALARM / 100)


# PairCounts as observed data


@pytest.mark.parametrize("given_pairs", [False, True])
@pytest.mark.parametrize("unequal", [False, True])
def test_pair_counts_have_the_value_and_gradient_of_tables(given_pairs, unequal):
    options = {"given_pairs": given_pairs} | ({"variance": VARIANCE} if unequal else {})
    pairs, array = pairs_model(**options), array_model(**options)
    found, expected = (m.compile_logp(sum=False)(POINT)[-1] for m in (pairs, array))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    if not given_pairs:
        exact = exact_logp(adherence=ADHERENCE, variance=options.get("variance"))
        np.testing.assert_allclose(found, exact, rtol=1e-12)
    found, expected = (m.compile_dlogp()(POINT) for m in (pairs, array))
    np.testing.assert_allclose(found, expected, atol=1e-11)


@pytest.mark.parametrize("given_pairs", [False, True])
@pytest.mark.parametrize("adherence", [None, 0.7])
def test_one_adherence_is_that_of_all(given_pairs, adherence):
    with pm.Model() as model:
        for name, observed in (("y", PAIRS), ("z", COUNTS)):
            br.MPM(name, SCORE, adherence=adherence, given_pairs=given_pairs, observed=observed)
    y, z = model.compile_logp(sum=False)({})
    np.testing.assert_allclose(y, z, rtol=1e-13)


@functools.cache
def random_variances():
    """Everything random, so that gradients flow everywhere."""
    with pm.Model(coords=PAIRS.coords) as model:
        score = pm.Normal("score", 0, 1, dims="item")
        adherence = pm.HalfNormal("adherence", 1, dims="ranker")
        variance = pm.LogNormal("variance", -0.7, 0.3, dims="item")
        br.MPM("y", score, variance=variance, adherence=adherence, observed=PAIRS)
    return model


TRANSFORMED = {
    "score": SCORE,
    "adherence_log__": np.log(ADHERENCE + 0.1),
    "variance_log__": np.log(VARIANCE),
}


def test_gradients_by_scores_adherences_and_variances_are_finite_differences():
    model = random_variances()
    y = model.logp(vars=[model["y"]])
    value = model.compile_fn(y)
    slopes = model.compile_fn(pt.grad(y, model.value_vars))(TRANSFORMED)

    def exact(at):
        theta, g = np.exp(at["adherence_log__"]), np.exp(at["variance_log__"])
        return exact_logp(at["score"], theta, g).sum()

    assert value(TRANSFORMED) == pytest.approx(exact(TRANSFORMED), rel=1e-12)
    for slope, (name, x) in zip(slopes, TRANSFORMED.items(), strict=True):
        numeric = gradient(lambda z, name=name: exact(TRANSFORMED | {name: z}), x)
        np.testing.assert_allclose(slope, numeric, atol=1e-7)


def test_second_derivatives_are_differences_of_the_first():
    # JAX: a C compiler takes a minute. One variable: PyMC's Hessian of two does not run there
    with pm.Model() as model:
        z = pm.Normal("z", 0, 1, shape=10)
        theta, g = pt.exp(z[3:7]), pt.exp(z[7:] - 1.0)
        br.MPM("y", z[:3], adherence=theta, variance=g, observed=PAIRS)
    point = np.random.default_rng(4).normal(size=10)
    hessian = model.compile_d2logp(negate_output=False, mode="JAX")({"z": point})
    slope = model.compile_dlogp()
    numeric = gradient(lambda z: slope({"z": z}), point)
    np.testing.assert_allclose(hessian, numeric, atol=1e-5)


def test_names_and_dims_are_what_a_user_looks_for():
    model = pairs_model()
    assert model.named_vars_to_dims["y"] == ("ranker", "item")
    assert {"y_net", "y_weight"} <= set(model.named_vars)
    assert model["y"].shape.eval(mode=QUICK).tolist() == [4, 3]
    np.testing.assert_array_equal(model["y_net"].get_value(), PAIRS.net())


def test_evidence_weights_are_powers_of_rankers():
    weight = np.array([0.1, 1.0, 3.0, 0.5])
    for given_pairs in (False, True):
        plain = pairs_model(given_pairs=given_pairs).compile_logp(sum=False)(POINT)[-1]
        weighted = pairs_model(PAIRS.weighted(weight), given_pairs=given_pairs)
        found = weighted.compile_logp(sum=False)(POINT)[-1]
        np.testing.assert_allclose(found, weight * plain, rtol=1e-13)


def test_a_total_size_scales_the_sum():
    logp = pairs_model(total_size=12).compile_logp()(POINT)
    assert logp == pytest.approx(3 * exact_logp(adherence=ADHERENCE).sum(), rel=1e-12)


# Three queries, of 3, 2 and 4 documents, by two engines; the second knows only one of them
QUERIES = br.PairCounts.from_frame(
    pd.DataFrame(
        [
            ("q1", "u", "a", "b", 2), ("q1", "u", "c", "a", 1), ("q1", "v", "b", "c", 4),
            ("q2", "u", "a", "d", 3), ("q2", "u", "d", "a", 1),
            ("q3", "u", "a", "e", 1), ("q3", "u", "f", "e", 2), ("q3", "u", "g", "a", 1),
        ],
        columns=["query", "engine", "first", "second", "count"],
    ),
    first="first", second="second", count="count", ranker="engine", problem="query",
)  # fmt: skip


@pytest.mark.parametrize("unequal", [False, True])
def test_problems_share_the_adherences_and_nothing_else(unequal):
    score = np.random.default_rng(1).normal(size=9)
    g = np.random.default_rng(2).gamma(5.0, 0.1, size=9) if unequal else None
    theta = np.array([0.6, 1.5])
    expected = np.zeros(2)
    for problem in QUERIES.problems:
        mine = QUERIES.problem_idx == QUERIES.problems.get_loc(problem)
        some = QUERIES.subset(problems=[problem])
        for n, ranker in enumerate(QUERIES.rankers):
            g_here = None if g is None else g[mine]
            expected[n] += table_logp(some.dense(ranker), score[mine], theta[n], g_here)
    for adherence in (theta, 1.0):
        with pm.Model(coords=QUERIES.coords) as model:
            br.MPM("y", score, adherence=adherence, variance=g, observed=QUERIES)
            y = model["y"]
        found = model.compile_logp(sum=False)({})[-1]
        if np.ndim(adherence):
            np.testing.assert_allclose(found, expected, rtol=1e-12)
    net = pm.draw(y, draws=20, random_seed=1)
    assert net.shape == (20, 2, 9)
    for p in range(3):
        mine = QUERIES.problem_idx == p
        assert (net[:, :, mine].sum(axis=2) == 0).all()
        assert (np.abs(net[:, :, mine]).sum(axis=2) <= 2 * QUERIES.totals()[p]).all()
    assert (net[:, 1, QUERIES.problem_idx > 0] == 0).all()


@pytest.mark.parametrize("given_pairs", [False, True])
@pytest.mark.parametrize("unequal", [False, True])
def test_net_counts_are_drawn_as_tables_are(given_pairs, unequal):
    options = {"adherence": ADHERENCE, "given_pairs": given_pairs}
    options |= {"variance": VARIANCE} if unequal else {}
    n = 4000
    with pm.Model() as model:
        for name, observed in (("y", PAIRS), ("z", COUNTS)):
            br.MPM(name, SCORE, observed=observed, **options)
    net, tables = pm.draw([model["y"], model["z"]], draws=n, random_seed=1)
    assert net.dtype == np.int64
    other = tables.sum(axis=3) - tables.sum(axis=2)
    spread = np.sqrt((net.var(axis=0) + other.var(axis=0)) / n)
    z = (net.mean(axis=0) - other.mean(axis=0)) / np.maximum(spread, 1e-12)
    assert np.abs(z).max() < SIGMAS
    np.testing.assert_allclose(net.var(axis=0), other.var(axis=0), rtol=0.25, atol=1e-9)
    # the distribution of the preferred item of the ranker with fewest counts, by its support
    possible = set(np.unique(other[:, 2], axis=0).astype(int).ravel())
    assert set(np.unique(net[:, 2])) == possible


# A model of PairCounts, changed

MORE = br.PairCounts.from_matrix(
    [[[0, 9, 0], [0, 0, 0], [1, 0, 0]], [[0, 0, 0], [2, 0, 0], [0, 0, 0]]] * 2,
    items=["a", "b", "c"],
    rankers=["w", "x", "y", "z"],
)


@pytest.mark.parametrize("given_pairs", [False, True])
@pytest.mark.parametrize("unequal", [False, True])
def test_new_counts_are_used_by_what_is_compiled(given_pairs, unequal):
    options = {"given_pairs": given_pairs} | ({"variance": VARIANCE} if unequal else {})
    model = pairs_model(**options)
    logp, slope = model.compile_logp(sum=False), model.compile_dlogp()
    logp(POINT)
    br.set_observed("y", MORE, model=model)
    other = pairs_model(MORE, **options)
    expected = other.compile_logp(sum=False)(POINT)[-1]
    np.testing.assert_allclose(logp(POINT)[-1], expected, rtol=1e-13)
    np.testing.assert_allclose(slope(POINT), other.compile_dlogp()(POINT), atol=1e-12)
    net = pm.draw(pm.do(model, POINT)["y"], random_seed=1)
    assert (np.abs(net).sum(axis=1) <= 2 * MORE.total()).all()
    assert np.abs(net[0]).sum() > 0


def test_new_counts_may_be_of_other_items_and_rankers():
    other = br.PairCounts.from_matrix(np.ones((2, 4, 4)) - np.eye(4), rankers=["u", "v"])
    model = pairs_model()
    logp = model.compile_logp(sum=False)
    br.set_observed("y", other, model=model)
    score, theta = np.array([0.1, 1.0, -1.0, 0.4]), np.array([0.4, 1.1])
    found = logp({"score": score, "adherence": theta})[-1]
    np.testing.assert_allclose(
        found, exact_logp(score, theta, counts=np.tile(other.dense("u"), (2, 1, 1))), rtol=1e-12
    )
    assert list(model.coords["ranker"]) == ["u", "v"]
    assert list(model.coords["item"]) == [0, 1, 2, 3]


@pytest.mark.parametrize("given_pairs", [False, True])
def test_what_random_counts_are_worth_is_known_to_the_results(given_pairs):
    model = pairs_model(given_pairs=given_pairs)
    for counts in (PAIRS, MORE):
        br.set_observed("y", counts, model=model)
        at_random = POINT | {"adherence": np.zeros_like(POINT["adherence"])}
        expected = model.compile_logp(sum=False)(at_random)[-1]
        np.testing.assert_allclose(model["y_at_random"].get_value(), expected, rtol=1e-12)


def test_new_counts_that_do_not_fit_are_refused_before_anything_changes():
    smaller = br.PairCounts.from_matrix(COUNTS[:, :2, :2], rankers=list("wxyz"))
    fewer = PAIRS.subset(rankers=["w", "z"])
    with pm.Model(coords=PAIRS.coords) as model:
        score, theta = pm.Flat("score", shape=3), pm.Flat("adherence", shape=4)
        br.MPM("y", score, adherence=theta, variance=np.ones(3), observed=PAIRS)
    logp = model.compile_logp()
    before = logp(POINT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UninformativeRankingWarning)
        with pytest.raises(ValueError, match="'y' has 3 scores, but the new counts have 2 items"):
            br.set_observed("y", smaller, model=model)
    with pytest.raises(ValueError, match="'y' has 4 adherences, but the new counts have 2 rankers"):
        br.set_observed("y", fewer, model=model)
    assert logp(POINT) == before
    np.testing.assert_array_equal(model["y_net"].get_value(), PAIRS.net())


def test_only_observed_counts_can_be_replaced():
    with pytest.raises(ValueError, match=r"PairCounts or .* observed as 'z'; it observes \['y'\]"):
        br.set_observed("z", MORE, model=pairs_model())


def test_what_the_outcomes_are_follows_the_counts():
    model = pairs_model()
    label = "counts of ordered pairs given their sum"
    assert list(model.coords["y_outcome"]) == [label]
    br.set_observed("y", PAIRS.weighted(0.5), model=model)
    assert list(model.coords["y_outcome"]) == ["nothing: evidence weights make a pseudo-likelihood"]
    br.set_observed("y", PAIRS.subset(rankers=["w", "z"]), model=model)
    assert list(model.coords["y_outcome"]) == [label]
    assert model["y_outcomes"].get_value().tolist() == [2]


def test_transformed_models_keep_their_probabilities_and_draws():
    for given_pairs in (False, True):
        model = pairs_model(given_pairs=given_pairs)
        expected = model.compile_logp(sum=False)(POINT)[-1]
        for other in (freeze_dims_and_data(model), model.copy()):
            np.testing.assert_allclose(other.compile_logp(sum=False)(POINT)[-1], expected)
        fixed = pm.do(model, {"adherence": ADHERENCE})
        found = fixed.compile_logp(sum=False)({"score": SCORE})[-1]
        np.testing.assert_allclose(found, expected)
        fixed = pm.do(model, POINT)
        assert pm.draw(fixed["y"], random_seed=1).shape == (4, 3)


def test_net_counts_that_are_not_the_observed_have_no_probability():
    model = pairs_model()
    with pytest.raises(NotImplementedError, match="net counts alone has no closed form"):
        pm.logp(model["y"], np.zeros((4, 3), dtype=int))


SILENT = np.concatenate([COUNTS, np.zeros((1, 3, 3), dtype=int)])


def test_a_ranker_without_counts_stays_with_a_warning_and_its_prior():
    counts = br.PairCounts.from_matrix(SILENT, rankers=list("vwxyz"))
    message = r"1 of the 5 rankers of 'y' preferred nothing to anything \('z'\): their adherence is"
    with pytest.warns(UninformativeRankingWarning, match=message) as caught:
        model = pairs_model(counts)
    assert Path(caught[0].filename).name == "mpm_examples.py"  # where the user says MPM
    theta = np.append(ADHERENCE, 3.0)
    found = model.compile_logp(sum=False)({"score": SCORE, "adherence": theta})[-1]
    np.testing.assert_allclose(found[:4], exact_logp(adherence=ADHERENCE), rtol=1e-12)
    assert found[4] == 0.0
    assert model.compile_dlogp()({"score": SCORE, "adherence": theta})[-1] == 0.0
    fixed = pm.do(model, {"score": SCORE, "adherence": theta})
    assert (pm.draw(fixed["y"], random_seed=1)[4] == 0).all()


def test_new_counts_with_a_silent_ranker_warn_as_well():
    model = pairs_model()
    silent = br.PairCounts.from_matrix(np.where(np.arange(5)[:, None, None] == 0, 0, SILENT))
    with pytest.warns(UninformativeRankingWarning, match="2 of the 5 rankers of 'y'") as caught:
        br.set_observed("y", silent, model=model)
    assert caught[0].filename == __file__


BAD_SHAPES = [
    ({"score": np.zeros(4)}, r"`score` of 'y' has shape \(4,\); .* one per item, shape \(3,\)"),
    ({"variance": np.ones(2)}, r"`variance` of 'y' has shape \(2,\); .* one per item"),
    (
        {"adherence": np.ones(3)},
        r"`adherence` of 'y' has shape \(3,\); .* one for all, shape \(\), or one per ranker, "
        r"shape \(4,\)",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_SHAPES)
def test_parameters_must_fit_the_counts(arguments, message):
    with pm.Model(), pytest.raises(ValueError, match=message):
        br.MPM("y", **{"score": SCORE} | arguments, observed=PAIRS)


@pytest.mark.parametrize("argument", ["total", "shape"])
def test_what_the_counts_bring_cannot_be_given_again(argument):
    with pm.Model(), pytest.raises(TypeError, match=f"both observed=PairCounts and {argument}="):
        br.MPM("y", SCORE, observed=PAIRS, **{argument: (4, 3)})


def test_a_table_of_rankers_and_items_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr("bayesrank.distributions.mpm.MOST_NET", 5)
    counts = br.PairCounts.from_matrix([np.eye(3)[::-1] * [1, 0, 1]] * 2)
    message = (
        r"2 rankers of 3 items are 6, and at most 5 are held\. .* pool them: counts.pooled\(\)"
    )
    with pm.Model(), pytest.raises(ValueError, match=message):
        br.MPM("y", np.zeros(3), observed=counts)
    with pm.Model():
        br.MPM("y", np.zeros(3), observed=counts.pooled())


def test_counts_beyond_32_bits_are_refused():
    huge = br.PairCounts.from_matrix([[0, 3e9], [0, 0]])
    with pm.Model(), pytest.raises(ValueError, match=r"A net count is 3e\+09; models hold 32 bits"):
        br.MPM("y", np.zeros(2), observed=huge)


# Samplers and what comes after them


@pytest.fixture(scope="module", params=["prior", pytest.param("nuts", marks=pytest.mark.slow)])
def posterior(request):
    with random_variances():
        idata = sample(200, chains=2) if request.param == "nuts" else prior_as_posterior(40)
        pm.compute_log_likelihood(idata, progressbar=False)
        pm.sample_posterior_predictive(
            idata, extend_inferencedata=True, progressbar=False, random_seed=1
        )
    return idata


def test_the_log_likelihood_has_one_number_per_ranker(posterior):
    pointwise = posterior.log_likelihood["y"]
    assert pointwise.dims == ("chain", "draw", "ranker")
    draw = posterior.posterior.isel(chain=1, draw=7)
    exact = exact_logp(draw["score"].values, draw["adherence"].values, draw["variance"].values)
    np.testing.assert_allclose(pointwise[1, 7], exact, rtol=1e-11)
    with warnings.catch_warnings():
        # four rankers with an adherence each: none of them is like the others
        warnings.simplefilter("ignore", UserWarning)
        loo = az.loo(posterior, pointwise=True)
    assert loo.elpd_i.dims == ("ranker",)


def test_predictions_are_net_counts_by_ranker_and_item(posterior):
    predicted = posterior.posterior_predictive["y"]
    assert predicted.dims == ("chain", "draw", "ranker", "item")
    assert (predicted.sum("item") == 0).all()
    assert (np.abs(predicted).sum("item") <= 2 * PAIRS.total()).all()
    np.testing.assert_array_equal(posterior.observed_data["y"], PAIRS.net())


def test_models_of_tables_have_their_log_likelihood_by_ranker_too(posterior):
    coords = PAIRS.coords | {"other": list("abc")}
    with pm.Model(coords=coords):
        score = pm.Normal("score", 0, 1, dims="item")
        adherence = pm.HalfNormal("adherence", 1, dims="ranker")
        br.MPM("t", score, adherence=adherence, observed=COUNTS, dims=("ranker", "item", "other"))
        found = posterior.posterior.to_dataset()[["score", "adherence"]]
        idata = xr.DataTree.from_dict({"posterior": found})
        pm.compute_log_likelihood(idata, progressbar=False)
        drawn = pm.sample_posterior_predictive(idata, progressbar=False, random_seed=1)
    assert idata.log_likelihood["t"].dims == ("chain", "draw", "ranker")
    predicted = drawn.posterior_predictive["t"]
    assert predicted.dims == ("chain", "draw", "ranker", "item", "other")
    assert (predicted.sum(("item", "other")) == COUNTS.sum(axis=(1, 2))).all()


def test_the_map_of_two_items_is_the_exact_one():
    # sigmoid(2 s) of the difference s: 30 of 40 is log(3) / 2, under a prior too wide to matter
    counts = br.PairCounts.from_matrix([[0, 30], [10, 0]])
    with pm.Model():
        difference = pm.Normal("difference", 0, 1e4)
        score = pt.stack([difference, 0.0])
        br.MPM("y", score, observed=counts)
        found = pm.find_MAP(progressbar=False, return_inferencedata=True, jitter=False)
    assert float(found.posterior["difference"].squeeze()) == pytest.approx(np.log(3) / 2, abs=1e-4)


@pytest.mark.parametrize("given_pairs", [False, True])
@pytest.mark.parametrize("unequal", [False, True])
def test_jax_has_the_value_and_the_gradient(given_pairs, unequal):
    jax = pytest.importorskip("jax")
    options = {"given_pairs": given_pairs} | ({"variance": VARIANCE} if unequal else {})
    model = pairs_model(**options)
    logp = get_jaxified_logp(model)
    value, slopes = jax.jit(jax.value_and_grad(lambda x: logp(x)))([SCORE, ADHERENCE])
    assert float(value) == pytest.approx(float(model.compile_logp()(POINT)), rel=1e-12)
    np.testing.assert_allclose(np.concatenate(slopes), model.compile_dlogp()(POINT), atol=1e-10)


@pytest.mark.slow
def test_numpyro_samples_adherences():
    pytest.importorskip("numpyro")
    with pm.Model(coords=PAIRS.coords):
        score = pm.Normal("score", 0, 1, dims="item")
        adherence = pm.HalfNormal("adherence", 1, dims="ranker")
        br.MPM("y", score, adherence=adherence, observed=PAIRS)
        idata = pm.sample(
            50,
            tune=100,
            chains=1,
            nuts_sampler="numpyro",
            progressbar=False,
            random_seed=1,
            compute_convergence_checks=False,
        )
    assert idata.posterior["adherence"].shape == (1, 50, 4)
    assert (idata.posterior["adherence"] > 0).all()


def test_counts_in_another_order_are_put_in_that_of_the_model():
    rankings = br.Rankings.from_orderings(
        [["a", "b", "c"], ["c", "a", "b"], ["b", "a", "c"]], rankers=["u", "v", "u"]
    )
    counts = rankings.counts()
    turned = counts.reindex({"item": ["c", "b", "a"], "ranker": ["v", "u"]})
    point = {"score": [0.3, -1.0, 0.5], "adherence": [0.4, 1.2]}
    found = []
    for data in (counts, turned):
        with pm.Model(coords=counts.coords) as model:
            score, adherence = pm.Flat("score", dims="item"), pm.Flat("adherence", dims="ranker")
            y = br.MPM("y", score, adherence=adherence, observed=data)
        found.append(model.compile_logp(vars=y, sum=False)(point)[0])
    np.testing.assert_allclose(*found, rtol=1e-12)
    with pm.Model(coords=counts.coords):
        with pytest.raises(ValueError, match=r"the score has no names for its axes. Give it dims"):
            br.MPM("y", np.array(point["score"]), observed=turned)
        again = turned.reindex({"item": ["a", "b", "c"], "ranker": ["u", "v"]})
        br.MPM("y", np.array(point["score"]), observed=again)


def test_counts_are_put_in_the_order_of_the_model():
    counts = br.Rankings.from_orderings([["a", "b", "c"], ["b", "a", "c"]]).counts()
    score = pd.Series({"a": 0.3, "b": 1.0, "c": -0.4})
    back = {"item": ["c", "b", "a"], "ranker": counts.coords["ranker"][::-1]}
    found = []
    for coords in (counts.coords, back):
        with pm.Model(coords=coords) as model:
            own = pm.Data("score", score[[*coords["item"]]].to_numpy(), dims="item")
            who = xr.DataArray([0.5, 2.0], {"ranker": counts.coords["ranker"]})
            br.MPM("y", own, adherence=who, observed=counts)
        each = model.compile_logp(vars=model["y"], sum=False)({})[0]
        found.append(dict(zip(model.coords["ranker"], each, strict=True)))
    assert found[0] == pytest.approx(found[1])


def test_new_counts_have_the_rankers_of_labelled_parameters():
    counts = br.Rankings.from_orderings([["a", "b"], ["b", "a"]], rankers=["x", "y"]).counts()
    others = br.Rankings.from_orderings([["a", "b"], ["b", "a"]], rankers=["y", "z"]).counts()
    constant = pd.Series({"y": 0.5, "x": 2.0})
    with pm.Model(coords=counts.coords | {"judge": ["y", "x"]}) as model:
        score = pm.Data("score", [0.0, 1.0], dims="item")
        other = pm.Data("other", [0.5, 2.0], dims="judge")
        own = pm.Data("own", [2.0, 0.5], dims="ranker")
        for name, adherence in (("constant", constant), ("other", other), ("own", own)):
            br.MPM(f"y_{name}", score, adherence=adherence, observed=counts)
    for name in ("constant", "other"):
        message = rf"^'y_{name}' has parameters by ranker, and the new counts others"
        with pytest.raises(ValueError, match=message):
            br.set_observed(f"y_{name}", others, model=model)


def test_a_vector_by_item_or_by_ranker_is_refused():
    counts = br.Rankings.from_orderings([["a", "b"], ["b", "a"]], rankers=["x", "y"]).counts()
    message = r"^The variance of 'y' has shape \(2,\) .* could be one per item, or one per ranker\."
    with pm.Model(), pytest.raises(ValueError, match=message):
        br.MPM("y", np.zeros(2), variance=np.ones(2), observed=counts)
