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
    bradley_terry_logp,
    davidson_log_probabilities,
    davidson_logp,
    outcome_counts_logp,
    rao_kupper_logp,
    thurstone_logp,
)
from tests.likelihoods.loops import for_each
from tests.oracles import gradient

BACKENDS = ("FAST_COMPILE", "JAX")

# What each model gives to (first wins, second wins, tie), from the worths
MODELS = {
    "Bradley-Terry": (bradley_terry_logp, None, lambda a, b, _: (a, b, 0.0)),
    "Thurstone": (
        thurstone_logp,
        None,
        lambda a, b, _: (stats.norm.cdf(np.log(a / b)), stats.norm.cdf(np.log(b / a)), 0.0),
    ),
    "Davidson": (davidson_logp, 0.7, lambda a, b, nu: (a, b, nu * np.sqrt(a * b))),
    "Rao-Kupper": (
        rao_kupper_logp,
        1.6,
        lambda a, b, t: (
            a / (a + t * b),
            b / (b + t * a),
            (t**2 - 1) * a * b / ((a + t * b) * (b + t * a)),
        ),
    ),
}
DIFFERENCES = np.array([-3.0, -0.7, 0.0, 0.4, 2.5])


@functools.cache
def compiled(function, with_parameter, mode):
    """Values, and gradients of their sum."""
    first, second, outcome = pt.dvector("first"), pt.dvector("second"), pt.lvector("outcome")
    parameter = [pt.dscalar("parameter")] * with_parameter
    value = function(first, second, outcome, *parameter)
    wrt = [first, second, *parameter]
    return pytensor.function(
        [first, second, outcome, *parameter], [value, *pt.grad(value.sum(), wrt)], mode=mode
    )


def evaluate(function, first, second, outcome, parameter=None, mode="FAST_COMPILE"):
    first, second, outcome = np.broadcast_arrays(first, second, outcome)
    arguments = [np.array(first, dtype=float), np.array(second, dtype=float)]
    arguments.append(np.array(outcome, dtype=np.int64))
    parameters = [] if parameter is None else [parameter]
    out = compiled(function, len(parameters), mode)(*arguments, *parameters)
    return [np.asarray(part) for part in out]


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]


# Models


@for_each("mode", BACKENDS)
def test_probabilities_are_those_of_the_definition_and_sum_to_one(model, mode):
    logp, parameter, definition = model
    total = np.zeros(DIFFERENCES.size)
    exact = definition(np.exp(DIFFERENCES + 0.2), np.exp(0.2), parameter)
    scale = sum(exact)
    for outcome in (0, 1, 2):
        value, *_ = evaluate(logp, DIFFERENCES + 0.2, 0.2, outcome, parameter, mode)
        assert value.dtype == np.float64
        np.testing.assert_allclose(np.exp(value), exact[outcome] / scale, rtol=1e-13)
        total += np.exp(value)
    np.testing.assert_allclose(total, 1.0, rtol=1e-14)


@for_each("mode", BACKENDS)
def test_gradients_are_those_of_finite_differences(model, mode):
    logp, parameter, _ = model
    outcomes = (0, 1) if parameter is None else (0, 1, 2)
    d, outcome = (x.ravel() for x in np.meshgrid(DIFFERENCES, outcomes))
    _, first, second, *slope = evaluate(logp, d, 0.0, outcome, parameter, mode)

    def total(x):
        return evaluate(logp, x, 0.0, outcome, parameter)[0].sum()

    np.testing.assert_allclose(first, gradient(total, d), atol=1e-8)
    np.testing.assert_allclose(second, -first, atol=1e-15)
    if parameter is not None:
        exact = gradient(
            lambda p: evaluate(logp, d, 0.0, outcome, float(p[0]))[0].sum(), np.array([parameter])
        )
        np.testing.assert_allclose(slope[0], exact[0], atol=1e-8)


@for_each(
    ("logp", "parameter", "exact"),
    [
        (bradley_terry_logp, None, [4 / 5, 1 / 5]),
        # with ν √4 = 1 for a tie
        (davidson_logp, 0.5, [4 / 6, 1 / 6, 1 / 6]),
        # 4 / (4 + 2), 1 / (1 + 2·4), and what is left
        (rao_kupper_logp, 2.0, [6 / 9, 1 / 9, 2 / 9]),
    ],
)
def test_worths_of_four_and_one_by_hand(logp, parameter, exact):
    value, *_ = evaluate(logp, np.log(4.0), 0.0, np.arange(len(exact)), parameter)
    np.testing.assert_allclose(np.exp(value), exact, rtol=1e-14)


@for_each("difference", [0.0, 1.5, -4.0, 1000.0])
def test_davidson_without_ties_and_rao_kupper_without_threshold_are_bradley_terry(difference):
    bare = evaluate(bradley_terry_logp, difference, [0.0, 0.0], [0, 1])
    for logp, parameter in ((davidson_logp, 0.0), (rao_kupper_logp, 1.0)):
        special = evaluate(logp, difference, [0.0, 0.0], [0, 1], parameter)
        np.testing.assert_allclose(special[:3], bare, rtol=1e-15, atol=1e-15)
        assert np.isfinite(special[3])  # the slope at the edge of the parameter's range
        assert evaluate(logp, [difference], [0.0], [2], parameter)[0].tolist() == [-np.inf]


def test_more_ties_at_larger_parameters_and_fewer_at_larger_differences():
    for logp, parameters in ((davidson_logp, (0.1, 1.0, 10.0)), (rao_kupper_logp, (1.1, 2.0, 9.0))):
        near = [evaluate(logp, [0.1], [0.0], [2], p)[0][0] for p in parameters]
        far = [evaluate(logp, [3.0], [0.0], [2], p)[0][0] for p in parameters]
        assert near == sorted(near)
        assert all(f < n for f, n in zip(far, near, strict=True))


@for_each("mode", BACKENDS)
@for_each(
    ("logp", "parameter", "exact"),
    [
        # first wins, second wins, tie, at a lead of 1000 of the first
        (bradley_terry_logp, None, [0.0, -1000.0]),
        # log Φ(−1000) = −1000²/2 − log(1000 √2π) + log(1 − 10⁻⁶ + 3·10⁻¹²)
        (thurstone_logp, None, [0.0, -500007.826694812185]),
        (davidson_logp, 3.0, [0.0, -1000.0, np.log(3) - 500]),
        (davidson_logp, 1e250, [-250 * np.log(10) + 500, -500 - 250 * np.log(10), 0.0]),
        # P(second) = 1 / (1 + 2 e^1000), P(tie) = 3 e^1000 / ((e^1000 + 2)(2 e^1000 + 1))
        (rao_kupper_logp, 2.0, [0.0, -1000 - np.log(2), np.log(3 / 2) - 1000]),
    ],
)
def test_nothing_is_lost_at_differences_of_1000(logp, parameter, exact, mode):
    outcome = np.arange(len(exact))
    for sign in (1, -1):
        value, *slopes = evaluate(logp, sign * 1000.0, 0.0, outcome, parameter, mode)
        mirrored = value if sign == 1 else value[[1, 0, 2][: len(exact)]]
        np.testing.assert_allclose(mirrored, exact, rtol=1e-15, atol=1e-12)
        assert all(np.isfinite(slope).all() for slope in slopes)


def test_jax_can_differentiate_by_itself(model):
    # as its samplers do: jax.grad goes through every branch of a switch, taken or not
    logp, parameter, _ = model
    outcome = np.arange(2 if parameter is None else 3).repeat(3)
    d = np.tile([1000.0, 0.0, -1000.0], len(outcome) // 3)
    variables = [pt.dvector("d"), *([] if parameter is None else [pt.dscalar("parameter")])]
    total = logp(variables[0], 0.0, outcome, *variables[1:]).sum()
    by_jax = jax.grad(
        lambda *x: jax_funcify(FunctionGraph(variables, [total], clone=True))(*x)[0],
        argnums=tuple(range(len(variables))),
    )(d, *([] if parameter is None else [parameter]))
    _, slope, _, *rest = evaluate(logp, d, 0.0, outcome, parameter)
    np.testing.assert_allclose(by_jax[0], slope, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(by_jax[1:], rest, rtol=1e-12)


def test_a_tiny_prevalence_of_ties_does_not_cancel():
    # θ = 1 + 10⁻¹⁰: P(tie) = (θ² − 1) / (1 + θ)² = (θ − 1) / (θ + 1)
    theta = 1 + 1e-10
    value, *_ = evaluate(rao_kupper_logp, [0.0], [0.0], [2], theta)
    np.testing.assert_allclose(value, np.log((theta - 1) / (theta + 1)), rtol=1e-14)


@for_each("outcome", [-1, 3])
def test_an_outcome_that_is_none_is_impossible(model, outcome):
    logp, parameter, _ = model
    value, *slopes = evaluate(logp, [0.3, 0.3], [0.0, 0.0], [outcome, 0], parameter)
    assert np.isneginf(value).tolist() == [True, False]
    assert all(np.isfinite(slope).all() for slope in slopes)


def test_bradley_terry_and_thurstone_know_no_ties():
    for logp in (bradley_terry_logp, thurstone_logp):
        assert evaluate(logp, [0.0], [0.0], [2])[0].tolist() == [-np.inf]


def test_arguments_broadcast():
    value = davidson_logp(np.zeros((3, 1)), np.zeros(2), [0, 2], np.ones((3, 1)))
    np.testing.assert_allclose(value.exp().eval(), np.full((3, 2), 1 / 3))


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
