"""Sums of grades over cells in one pass: against the graphs and the arrays, and at extremes."""

import functools

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from bayesrank.likelihoods.pairs import GradedTotal
from bayesrank.match_outcomes import FAMILIES, grade_derivatives

each_family = pytest.mark.parametrize("family", FAMILIES)


def cells(n_grades, *, own=True, scale=1.0, n_cells=600, n_terms=3):
    """Parameters of 7 items and 5 groups, and random cells, sorted by group."""
    rng = np.random.default_rng(n_grades)
    boundary = -np.sort(-rng.normal(0, 1.5, (5 if own else 1, n_grades - 1)), axis=1)
    first = rng.integers(0, 7, n_cells)
    second = (first + rng.integers(1, 7, n_cells)) % 7
    group = np.sort(rng.integers(0, 5, n_cells))
    counts = rng.poisson(0.4, (n_grades, n_cells)).astype(float)
    counts[:, ::7] *= 0.3  # weighted
    which = rng.integers(0, 4, (n_terms, n_cells))
    size = rng.normal(size=which.shape)
    parameters = [scale * rng.normal(size=7), rng.gamma(4, 0.25, 5), rng.normal(size=1), boundary]
    data = [*(x.astype(np.int32) for x in (first, second, group, which)), size, counts]
    return [*parameters, rng.normal(size=4), *data]


@functools.cache
def graph_of(op):
    """Value and gradients of the graph."""
    inputs = [pt.dvector(), pt.dvector(), pt.dvector(), pt.dmatrix(), pt.dvector()]
    inputs += [pt.ivector() for _ in range(3)] + [pt.imatrix(), pt.dmatrix(), pt.dmatrix()]
    value = op.graph(*inputs)
    by = pt.grad(value, inputs[:5], disconnected_inputs="ignore", return_disconnected="zero")
    return pytensor.function(inputs, [value, *by], mode="FAST_COMPILE", on_unused_input="ignore")


@pytest.mark.parametrize(
    "family",
    # PyTensor needs seconds for the gradient of the others
    [pytest.param(x, marks=[pytest.mark.slow] * (x != "adjacent_logit")) for x in FAMILIES],
)
def test_value_and_gradients_are_those_of_the_graph(family):
    for own, scale in ((True, 1.0), (False, 1.0), (True, 12.0)):
        op, given = GradedTotal(family, 5, 2), cells(5, own=own, scale=scale)
        value, *by = op.kernel(*given, *op.constants)
        expected, *slopes = graph_of(op)(*given)
        assert float(value) == pytest.approx(float(expected), rel=1e-12)
        for found, exact in zip(by, slopes, strict=True):
            np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-9 * scale**2)


@pytest.mark.parametrize("n_grades", [2, 3, 4, 6])
@each_family
def test_any_number_of_grades_has_the_value_and_slope_of_the_arrays(family, n_grades):
    for own in (True, False):
        op, given = GradedTotal(family, n_grades), cells(n_grades, own=own, n_terms=0)
        value, _, _, by_order, *_ = op.kernel(*given, *op.constants)
        utility, adherence, order, boundary, _, first, second, group = given[:8]
        lead = adherence[group] * (utility[first] - utility[second]) + order
        cuts = boundary[group if own else 0 * group][:, ::-1]
        logp, score, _ = grade_derivatives(lead, cuts, family)
        assert float(value) == pytest.approx((given[-1].T * logp).sum(), rel=1e-12)
        np.testing.assert_allclose(by_order, (given[-1].T * score).sum(), rtol=1e-9)


@each_family
def test_nothing_is_lost_at_leads_of_1000(family):
    cell = np.zeros(1, np.int32)
    none = [np.zeros((0, 1), np.int32), np.zeros((0, 1))]
    boundary, op = np.array([[1.5, 0.2, -1.0]]), GradedTotal(family, 4)
    for lead in (1000.0, -1000.0):
        for grade in range(4):
            given = [np.array([lead, 0.0]), np.ones(1), np.zeros(1), boundary, np.zeros(1)]
            given += [cell, cell + 1, cell, *none, np.eye(4)[:, [grade]]]
            value, *by = op.kernel(*given, *op.constants)
            logp, score, _ = grade_derivatives(lead, boundary[0, ::-1], family)
            np.testing.assert_allclose(value, logp[grade], rtol=1e-13, atol=1e-12)
            np.testing.assert_allclose(by[2], score[grade], rtol=1e-6, atol=1e-9)
            assert all(np.isfinite(x).all() for x in by)
