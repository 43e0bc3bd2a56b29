"""Pairwise models: definitions, special cases and extremes."""

import functools

import jax
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.graph.fg import FunctionGraph
from pytensor.link.jax.dispatch import jax_funcify
from scipy import stats

from bayesrank.likelihoods.pairs.graph import (
    bradley_terry_log_probabilities,
    davidson_log_probabilities,
    outcome_counts_logp,
    outcome_logp,
    rao_kupper_log_probabilities,
    thurstone_log_probabilities,
    triple_logp,
)
from tests.likelihoods.loops import for_each

# What each model gives to (first wins, second wins, tie), from the worths
MODELS = {
    "Bradley-Terry": (bradley_terry_log_probabilities, None, lambda a, b, _: (a, b, 0.0)),
    "Thurstone": (
        thurstone_log_probabilities,
        None,
        lambda a, b, _: (stats.norm.cdf(np.log(a / b)), stats.norm.cdf(np.log(b / a)), 0.0),
    ),
    "Davidson": (davidson_log_probabilities, 0.7, lambda a, b, nu: (a, b, nu * np.sqrt(a * b))),
    "Rao-Kupper": (
        rao_kupper_log_probabilities,
        1.6,
        lambda a, b, t: (
            a / (a + t * b),
            b / (b + t * a),
            (t**2 - 1) * a * b / ((a + t * b) * (b + t * a)),
        ),
    ),
}
DIFFERENCES = np.array([-3.0, -0.7, 0.0, 0.4, 2.5])


def graph(log_probabilities, with_parameter):
    """Inputs, and log-probabilities of the outcomes of pairs."""
    lead, outcome = pt.dvector("lead"), pt.lvector("outcome")
    parameter = [pt.dscalar("parameter")] if with_parameter else []
    return [lead, outcome, *parameter], outcome_logp(outcome, log_probabilities(lead, *parameter))


@functools.cache
def compiled(log_probabilities, with_parameter):
    """Values, and gradients of their sum."""
    inputs, value = graph(log_probabilities, with_parameter)
    slopes = pt.grad(value.sum(), [inputs[0], *inputs[2:]])
    return pytensor.function(inputs, [value, *slopes], mode="FAST_COMPILE")


def evaluate(log_probabilities, lead, outcome, parameter=None):
    lead, outcome = np.broadcast_arrays(lead, outcome)
    parameters = [] if parameter is None else [parameter]
    given = np.array(lead, dtype=float), np.array(outcome, dtype=np.int64), *parameters
    out = compiled(log_probabilities, len(parameters) == 1)(*given)
    return [np.asarray(part) for part in out]


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]


def test_probabilities_are_those_of_the_definition_and_sum_to_one(model):
    log_probabilities, parameter, definition = model
    worths = np.exp(DIFFERENCES + 0.2), np.full(DIFFERENCES.size, np.exp(0.2))
    exact = np.stack(np.broadcast_arrays(*definition(*worths, parameter)))
    found = [evaluate(log_probabilities, DIFFERENCES, k, parameter)[0] for k in range(3)]
    assert found[0].dtype == np.float64
    np.testing.assert_allclose(np.exp(found), exact / exact.sum(axis=0), rtol=1e-13)
    np.testing.assert_allclose(np.exp(found).sum(axis=0), 1.0, rtol=1e-14)


@for_each(
    ("log_probabilities", "parameter", "exact"),
    [
        (bradley_terry_log_probabilities, None, [4 / 5, 1 / 5]),
        # with ν √4 = 1 for a tie
        (davidson_log_probabilities, 0.5, [4 / 6, 1 / 6, 1 / 6]),
        # 4 / (4 + 2), 1 / (1 + 2·4), and what is left
        (rao_kupper_log_probabilities, 2.0, [6 / 9, 1 / 9, 2 / 9]),
    ],
)
def test_worths_of_four_and_one_by_hand(log_probabilities, parameter, exact):
    value, *_ = evaluate(log_probabilities, np.log(4.0), np.arange(len(exact)), parameter)
    np.testing.assert_allclose(np.exp(value), exact, rtol=1e-14)


@for_each("difference", [0.0, 1.5, -4.0, 1000.0])
def test_davidson_without_ties_and_rao_kupper_without_threshold_are_bradley_terry(difference):
    bare = evaluate(bradley_terry_log_probabilities, difference, [0, 1])
    for model, limit in ((davidson_log_probabilities, 0.0), (rao_kupper_log_probabilities, 1.0)):
        special = evaluate(model, difference, [0, 1], limit)
        np.testing.assert_allclose(special[:2], bare, rtol=1e-15, atol=1e-15)
        assert np.isfinite(special[2])  # the slope at the edge of the parameter's range
        assert evaluate(model, [difference], [2], limit)[0].tolist() == [-np.inf]


@for_each(
    ("log_probabilities", "parameter", "exact"),
    [
        # first wins, second wins, tie, at a lead of 1000 of the first
        (bradley_terry_log_probabilities, None, [0.0, -1000.0]),
        # log Φ(−1000) = −1000²/2 − log(1000 √2π) + log(1 − 10⁻⁶ + 3·10⁻¹²)
        (thurstone_log_probabilities, None, [0.0, -500007.826694812185]),
        (davidson_log_probabilities, 3.0, [0.0, -1000.0, np.log(3) - 500]),
        (davidson_log_probabilities, 1e250, [-250 * np.log(10) + 500, -500 - 250 * np.log(10), 0]),
        # P(second) = 1 / (1 + 2 e^1000), P(tie) = 3 e^1000 / ((e^1000 + 2)(2 e^1000 + 1))
        (rao_kupper_log_probabilities, 2.0, [0.0, -1000 - np.log(2), np.log(3 / 2) - 1000]),
    ],
)
def test_nothing_is_lost_at_differences_of_1000(log_probabilities, parameter, exact):
    outcome = np.arange(len(exact))
    for sign in (1, -1):
        value, *slopes = evaluate(log_probabilities, sign * 1000.0, outcome, parameter)
        mirrored = value if sign == 1 else value[[1, 0, 2][: len(exact)]]
        np.testing.assert_allclose(mirrored, exact, rtol=1e-15, atol=1e-12)
        assert all(np.isfinite(slope).all() for slope in slopes)


def test_jax_has_the_values_and_can_differentiate_by_itself(model):
    # as its samplers do: jax.grad goes through every branch of a switch, taken or not
    log_probabilities, parameter, _ = model
    parameters = [] if parameter is None else [parameter]
    leads = [1000.0, *DIFFERENCES, -1000.0]
    outcome = np.arange(2 + len(parameters)).repeat(len(leads))
    d = np.tile(leads, 2 + len(parameters))
    inputs, value = graph(log_probabilities, len(parameters) == 1)
    f = jax_funcify(FunctionGraph(inputs, [value], clone=True))

    def total(d, *rest):
        (by_pair,) = f(d, outcome, *rest)
        return by_pair.sum(), by_pair

    by_jax = jax.jit(jax.grad(total, argnums=(*range(1 + len(parameters)),), has_aux=True))
    slopes, values = by_jax(d, *parameters)
    expected = evaluate(log_probabilities, d, outcome, parameter)
    for found, exact in zip([values, *slopes], expected, strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-12)


def test_a_tiny_prevalence_of_ties_does_not_cancel():
    # θ = 1 + 10⁻¹⁰: P(tie) = (θ² − 1) / (1 + θ)² = (θ − 1) / (θ + 1)
    theta = 1 + 1e-10
    value, *_ = evaluate(rao_kupper_log_probabilities, [0.0], [2], theta)
    np.testing.assert_allclose(value, np.log((theta - 1) / (theta + 1)), rtol=1e-14)


@for_each("outcome", [-1, 3])
def test_unknown_outcomes_are_impossible(model, outcome):
    log_probabilities, parameter, _ = model
    value, *slopes = evaluate(log_probabilities, [0.3, 0.3], [outcome, 0], parameter)
    assert np.isneginf(value).tolist() == [True, False]
    assert all(np.isfinite(slope).all() for slope in slopes)


def test_counts_add_up_and_what_did_not_come_costs_nothing():
    d, nu, counts = pt.dvector("d"), pt.dscalar("nu"), pt.dmatrix("counts")
    logp = outcome_counts_logp(counts, davidson_log_probabilities(d, nu))
    f = pytensor.function([d, nu, counts], [logp, *pt.grad(logp.sum(), [d, nu])])
    value, *slopes = f([0.0, 1000.0, 0.0], 0.0, [[2.5, 1.0, 0.0], [3.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(value, [3.5 * np.log(0.5), 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(slopes[0], [0.75, 0.0, 0.0], atol=1e-15)
    assert slopes[1] == pytest.approx(-3.5 / 2)
    value, *_ = f([0.0], 0.0, [[1.0, 0.0, 1.0]])
    assert value.tolist() == [-np.inf]


def test_the_two_outcomes_of_a_triple_have_probabilities_that_sum_to_one():
    both = triple_logp(np.array([[0.3, -1.2]] * 3), np.array([0, 1, 2])).exp().eval()
    np.testing.assert_allclose(both, [1 / (1 + np.exp(-1.5)), 1 / (1 + np.exp(1.5)), 0.0])
