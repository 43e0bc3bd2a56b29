"""Grounded Rao-Kupper: the definition in many digits, limits, extremes, and sums in one pass."""

import functools
from decimal import Decimal, localcontext

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from bayesrank.likelihoods.pairs import GroundedTotal, grounded_log_probabilities
from bayesrank.match_outcomes import grounded_derivatives, rao_kupper_probabilities

LEADS, LEVELS = (0.0, 0.7, -3.0, 60.0, -300.0), (0.0, -1.3, 40.0, -300.0, 400.0)
THETAS = (1.0, 1.0 + 1e-12, 1.6, 1e3, 1e60)
GRID = np.array(np.meshgrid(LEADS, LEVELS, THETAS, indexing="ij")).reshape(3, -1)


def exact(lead, level, theta):
    """Probabilities by the definition; the context has digits for the difference of a tie."""
    p, q = (level + lead / 2).exp(), (level - lead / 2).exp()
    first, second, bad = p / (p + theta * q + 1), q / (q + theta * p + 1), 1 / (1 + p + q)
    return first, second, 1 - first - second - bad, bad


def log_of(p):
    with localcontext(prec=30):
        return (+p).ln() if p > Decimal("1e-400") else -np.inf  # rounding


@functools.cache
def graph():
    """Log-probabilities of the outcomes, and the gradients of each by all parameters."""
    inputs = pt.dvectors("lead", "level", "theta")
    logp = grounded_log_probabilities(*inputs)
    more = {"disconnected_inputs": "ignore", "return_disconnected": "zero"}
    by = [pt.stack(pt.grad(x.sum(), list(inputs), **more)) for x in logp]
    return pytensor.function(list(inputs), [pt.stack(logp), pt.stack(by)], mode="FAST_COMPILE")


def test_probabilities_are_those_of_the_definition_and_sum_to_one():
    with localcontext(prec=420):
        logs = [[log_of(p) for p in exact(*map(Decimal, x))] for x in GRID.T]
    expected = np.array(logs, dtype=float).T
    logp, _ = graph()(*GRID)
    arrays, _ = grounded_derivatives(*GRID)
    for found in (logp, arrays.T):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(np.exp(found).sum(axis=0), 1, rtol=1e-12)
    assert (logp[2, GRID[2] == 1] == -np.inf).all()  # without ties


def test_gradients_are_those_of_the_definition_in_many_digits():
    at = GRID[:, (np.abs(GRID[:2]) < 100).all(axis=0) & (GRID[2] > 1)]
    _, by = graph()(*at)
    _, score = grounded_derivatives(*at)
    slopes = np.empty(by.shape)
    with localcontext(prec=160):
        h = Decimal(10) ** -50
        for k, j in np.ndindex(at.shape[::-1]):
            x = [*map(Decimal, at[:, k])]
            high, here, low = (exact(*x[:j], x[j] + s * h, *x[j + 1 :]) for s in (1, 0, -1))
            slopes[:, j, k] = [
                (a - c) / (2 * h * b) for a, b, c in zip(high, here, low, strict=True)
            ]
    np.testing.assert_allclose(by, slopes, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(score.T, slopes[:, 0], rtol=1e-9, atol=1e-12)


def test_far_above_the_threshold_it_is_the_model_of_rao_and_kupper():
    lead = np.array([-30.0, -1.2, 0.0, 0.4, 8.0])
    logp, score = grounded_derivatives(lead, 60.0, 1.7)
    expected = np.stack(rao_kupper_probabilities(lead, np.log(1.7)), axis=-1)
    np.testing.assert_allclose(np.exp(logp[:, :3]), expected, rtol=1e-12)
    np.testing.assert_allclose((np.exp(logp) * score).sum(axis=-1), 0, atol=1e-12)


def test_one_item_alone_is_bad_with_the_probability_of_its_utility():
    # the other item is so bad that it does not matter
    utility = np.array([-2.0, 0.0, 1.5])
    logp, _ = grounded_derivatives(utility + 800, (utility - 800) / 2, 1.0)
    np.testing.assert_allclose(np.exp(logp[:, 3]), 1 / (1 + np.exp(utility)), rtol=1e-12)


# Sums over cells


def cells(*, own=True, scale=1.0, n_cells=600, n_terms=4, seed=3):
    """Parameters of 7 items and 5 groups, and random cells; terms of gaps, ties and leads."""
    rng = np.random.default_rng(seed)
    n = 5 if own else 1
    first = rng.integers(0, 7, n_cells)
    second = (first + rng.integers(1, 7, n_cells)) % 7
    counts = rng.poisson(0.5, (4, n_cells)).astype(float)
    counts[:, ::7] *= 0.3  # weighted
    which, size = rng.integers(0, 4, (n_terms, n_cells)), rng.normal(size=(n_terms, n_cells))
    parameters = [scale * rng.normal(size=7), rng.gamma(4, 0.25, n), rng.normal(size=n)]
    parameters += [1 + rng.gamma(2, 0.5, n), scale * rng.normal(size=n), rng.normal(size=4)]
    group = rng.integers(0, 5, n_cells)
    data = [*(x.astype(np.int32) for x in (first, second, group, which)), size, counts]
    return parameters, data


@functools.cache
def graph_of(op):
    """Value and gradients of the graph."""
    inputs = [pt.dvector() for _ in range(6)] + [pt.ivector() for _ in range(3)]
    inputs += [pt.imatrix(), pt.dmatrix(), pt.dmatrix()]
    value = op.graph(*inputs)
    by = pt.grad(value, inputs[:6], disconnected_inputs="ignore", return_disconnected="zero")
    return pytensor.function(inputs, [value, *by], mode="FAST_COMPILE", on_unused_input="ignore")


@pytest.mark.parametrize(("within", "tying"), [(2, 1), pytest.param(0, 0, marks=pytest.mark.slow)])
def test_value_and_gradients_are_those_of_the_graph(within, tying):
    op = GroundedTotal(within, tying)
    for own, scale, n_cells in ((True, 1.0, 600), (False, 1.0, 1), (True, 30.0, 257)):
        parameters, data = cells(own=own, scale=scale, n_cells=n_cells)
        value, *by = op.kernel(*parameters, *data, *op.constants)
        expected, *slopes = graph_of(op)(*parameters, *data)
        assert float(value) == pytest.approx(float(expected), rel=1e-12)
        for found, slope in zip(by, slopes, strict=True):
            np.testing.assert_allclose(found, slope, rtol=1e-9, atol=1e-9 * scale**2)


@pytest.mark.parametrize("utility", [1000.0, -1000.0])
def test_sums_are_finite_at_extremes(utility):
    parameters, data = cells(n_terms=0)
    parameters[0] = utility * np.linspace(-1, 1, 7)
    value, *by = GroundedTotal().kernel(*parameters, *data, 0, 0)
    assert np.isfinite(value)
    assert all(np.isfinite(x).all() for x in by)


def test_impossible_ties_have_no_probability():
    cell, none = np.zeros(1, np.int32), [np.zeros((0, 1), np.int32), np.zeros((0, 1))]
    given = [np.zeros(2), *map(np.atleast_1d, (1.0, 0.0, 1.0, 0.0, 0.0)), cell, cell + 1, cell]
    tied = np.array([[0.0], [0.0], [1.0], [0.0]])
    assert GroundedTotal().kernel(*given, *none, tied, 0, 0)[0] == -np.inf
    decided = np.array([[1.0], [2.0], [0.0], [1.0]])
    value, *by = GroundedTotal().kernel(*given, *none, decided, 0, 0)
    assert float(value) == pytest.approx(4 * np.log(1 / 3))
    assert all(np.isfinite(x).all() for x in by)
