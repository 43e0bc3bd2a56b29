"""`MPM` of observed `PairCounts`: against tables of counts, and what comes after sampling."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from pymc.sampling.jax import get_jaxified_logp
from scipy.stats import norm

import bayesrank as br
from bayesrank.data import UninformativeRankingWarning
from tests.builders import evaluator, stored
from tests.distributions.mpm_examples import (
    ADHERENCE,
    COUNTS,
    PAIRS,
    POINT,
    SCORE,
    VARIANCE,
    exact_logp,
    model_of,
)

FALSE_ALARM = 1e-8
SIGMAS = norm.isf(FALSE_ALARM / 100)


every_form = pytest.mark.parametrize(
    "options", [{}, {"variance": VARIANCE}], ids=["equal", "variances"]
)

# PairCounts as observed data


@every_form
def test_pair_counts_have_the_value_and_gradient_of_tables(options):
    exact = exact_logp(adherence=ADHERENCE, **options)
    slopes = []
    for observed in (PAIRS, COUNTS):
        rows, _, slope = evaluator(model_of(observed, **options))(POINT)
        np.testing.assert_allclose(rows, exact, rtol=1e-12)
        slopes.append(slope)
    np.testing.assert_allclose(*slopes, atol=1e-11)


def test_evidence_weights_are_powers_of_rankers():
    weight = np.array([0.1, 1.0, 3.0, 0.5])
    found = model_of(PAIRS.weighted(weight)).compile_logp(sum=False)(POINT)[-1]
    np.testing.assert_allclose(found, weight * exact_logp(adherence=ADHERENCE), rtol=1e-12)


@every_form
def test_net_counts_are_drawn_as_tables_are(options):
    options, n = options | {"adherence": ADHERENCE}, 1000
    with pm.Model() as model:
        for name, observed in (("y", PAIRS), ("z", COUNTS)):
            br.MPM(name, SCORE, observed=observed, **options)
    net, tables = pm.draw([model["y"], model["z"]], draws=n, random_seed=1)
    assert net.dtype == np.int64
    other = tables.sum(axis=3) - tables.sum(axis=2)
    spread = np.sqrt((net.var(axis=0) + other.var(axis=0)) / n)
    z = (net.mean(axis=0) - other.mean(axis=0)) / np.maximum(spread, 1e-12)
    assert np.abs(z).max() < SIGMAS
    # a ratio of variances has a standard error of 2 / sqrt(n)
    ratio = np.sqrt(4 / n)
    np.testing.assert_allclose(net.var(axis=0), other.var(axis=0), rtol=5.5 * ratio, atol=1e-9)
    # the distribution of the preferred item of the ranker with fewest counts, by its support
    possible = set(np.unique(other[:, 2], axis=0).astype(int).ravel())
    assert set(np.unique(net[:, 2])) == possible


# A model of PairCounts, changed

MORE = br.PairCounts.from_matrix(
    [[[0, 9, 0], [0, 0, 0], [1, 0, 0]], [[0, 0, 0], [2, 0, 0], [0, 0, 0]]] * 2,
    items=["a", "b", "c"],
    rankers=["w", "x", "y", "z"],
)


@every_form
def test_new_counts_are_used_by_what_is_compiled(options):
    model = model_of(**options)
    f = evaluator(model)
    f(POINT)
    br.set_observed("y", MORE, model=model)
    for found, expected in zip(f(POINT), evaluator(model_of(MORE, **options))(POINT), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    net = pm.draw(pm.do(model, POINT)["y"], random_seed=1)
    assert (np.abs(net).sum(axis=1) <= 2 * MORE.total()).all()
    assert np.abs(net[0]).sum() > 0


def test_new_counts_may_be_of_other_items_and_rankers():
    other = br.PairCounts.from_matrix(np.ones((2, 4, 4)) - np.eye(4), rankers=["u", "v"])
    model = model_of()
    logp = model.compile_logp(sum=False)
    br.set_observed("y", other, model=model)
    score, theta = np.array([0.1, 1.0, -1.0, 0.4]), np.array([0.4, 1.1])
    found = logp({"score": score, "adherence": theta})[-1]
    np.testing.assert_allclose(
        found, exact_logp(score, theta, counts=np.tile(other.dense("u"), (2, 1, 1))), rtol=1e-12
    )
    assert list(model.coords["ranker"]) == ["u", "v"]
    assert list(model.coords["item"]) == [0, 1, 2, 3]


def test_results_contain_the_log_probability_of_random_counts():
    model = model_of()
    for counts in (PAIRS, MORE):
        br.set_observed("y", counts, model=model)
        at_random = POINT | {"adherence": np.zeros_like(POINT["adherence"])}
        expected = model.compile_logp(sum=False)(at_random)[-1]
        np.testing.assert_allclose(stored(model, "at_random"), expected, rtol=1e-12)


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
    np.testing.assert_array_equal(stored(model, "net"), PAIRS.net())


def test_declared_outcomes_follow_the_counts():
    model = model_of()
    label = "counts of ordered pairs given their sum"
    assert br.declare_outcomes("y", model=model) == label
    br.set_observed("y", PAIRS.weighted(0.5), model=model)
    pseudo = "nothing: evidence weights make a pseudo-likelihood"
    assert br.declare_outcomes("y", model=model) == pseudo
    br.set_observed("y", PAIRS.subset(rankers=["w", "z"]), model=model)
    assert br.declare_outcomes("y", model=model) == label
    assert len(stored(model, "weight")) == 2


def test_net_counts_that_are_not_the_observed_have_no_probability():
    model = model_of()
    with pytest.raises(NotImplementedError, match="net counts has no closed form"):
        pm.logp(model["y"], np.zeros((4, 3), dtype=int))


SILENT = np.concatenate([COUNTS, np.zeros((1, 3, 3), dtype=int)])


def test_a_ranker_without_counts_stays_with_a_warning_and_its_prior():
    counts = br.PairCounts.from_matrix(SILENT, rankers=list("vwxyz"))
    message = (
        r"1 of the 5 rankers of 'y' have no counts \('z'\)\. The posterior of their adherence is"
    )
    with pytest.warns(UninformativeRankingWarning, match=message) as caught:
        model = model_of(counts)
    assert Path(caught[0].filename).name == "mpm_examples.py"  # where the user says MPM
    theta = np.append(ADHERENCE, 3.0)
    found = model.compile_logp(sum=False)({"score": SCORE, "adherence": theta})[-1]
    np.testing.assert_allclose(found[:4], exact_logp(adherence=ADHERENCE), rtol=1e-12)
    assert found[4] == 0.0
    assert model.compile_dlogp()({"score": SCORE, "adherence": theta})[-1] == 0.0
    fixed = pm.do(model, {"score": SCORE, "adherence": theta})
    assert (pm.draw(fixed["y"], random_seed=1)[4] == 0).all()


def test_a_table_of_rankers_and_items_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr("bayesrank.distributions.counts.mpm.MOST_NET", 5)
    counts = br.PairCounts.from_matrix([np.eye(3)[::-1] * [1, 0, 1]] * 2)
    message = (
        r"at most 5 net counts, .* 2 rankers of 3 items have 6\. .* pool them: counts.pooled\(\)"
    )
    with pm.Model(), pytest.raises(ValueError, match=message):
        br.MPM("y", np.zeros(3), observed=counts)
    with pm.Model():
        br.MPM("y", np.zeros(3), observed=counts.pooled())


def test_counts_beyond_32_bits_are_refused():
    huge = br.PairCounts.from_matrix([[0, 3e9], [0, 0]])
    with (
        pm.Model(),
        pytest.raises(ValueError, match=r"A net count is 3e\+09, but models store 32 bits"),
    ):
        br.MPM("y", np.zeros(2), observed=huge)


# Samplers and what comes after them


def test_jax_has_the_value_and_the_gradient():
    jax = pytest.importorskip("jax")
    model = model_of(variance=VARIANCE)
    logp = get_jaxified_logp(model)
    value, slopes = jax.jit(jax.value_and_grad(lambda x: logp(x)))([SCORE, ADHERENCE])
    _, total, slope = evaluator(model)(POINT)
    assert float(value) == pytest.approx(float(total), rel=1e-12)
    np.testing.assert_allclose(np.concatenate(slopes), slope, atol=1e-10)


def test_new_counts_have_the_rankers_of_labelled_parameters():
    counts = br.Rankings.from_orderings([["a", "b"], ["b", "a"]], rankers=["x", "y"]).counts()
    others = br.Rankings.from_orderings([["a", "b"], ["b", "a"]], rankers=["y", "z"]).counts()
    constant = pd.Series({"y": 0.5, "x": 2.0})
    with pm.Model(coords=counts.coords | {"judge": ["y", "x"]}) as model:
        score = pm.Data("score", [0.0, 1.0], dims="item")
        other = pm.Data("other", [0.5, 2.0], dims="judge")
        labelled = pm.Data("own", [2.0, 0.5], dims="ranker")
        for name, adherence in (("constant", constant), ("other", other), ("own", labelled)):
            br.MPM(f"y_{name}", score, adherence=adherence, observed=counts)
    for name in ("constant", "other"):
        message = rf"^'y_{name}' has parameters indexed by ranker, and the new counts have oth"
        with pytest.raises(ValueError, match=message):
            br.set_observed(f"y_{name}", others, model=model)
