"""Sums over cells in one pass: against the graphs, the definitions and differences; extremes."""

import functools

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from scipy import stats
from scipy.sparse import issparse

from bayesrank.likelihoods.pairs import DavidsonTotal, RaoKupperTotal, ThurstoneTotal, total

# An Op, and the least tie parameter
OPS = {"Davidson": (DavidsonTotal, 0.0), "Rao-Kupper": (RaoKupperTotal, 1.0)}
OPS |= {"Thurstone": (ThurstoneTotal, 0.0)}
N_OUTCOMES = {"Davidson": 3, "Rao-Kupper": 3, "Thurstone": 2}
WITH_TIES = ["Davidson", "Rao-Kupper"]
each_family = pytest.mark.parametrize("family", OPS)


def evaluate(family, *inputs, within=2, tying=0):
    """Value and gradients of the kernel."""
    op = OPS[family][0](within, tying)
    value, *slopes = op.kernel(*map(np.ascontiguousarray, inputs), *op.constants)
    return float(value), slopes


@functools.cache
def graph_of(family, within, tying=0):
    """Value and gradients of the graph."""
    op = OPS[family][0](within, tying)
    inputs = [pt.dvector() for _ in range(5)] + [pt.ivector() for _ in range(3)]
    inputs += [pt.imatrix(), pt.dmatrix(), pt.dmatrix()]
    value = op.graph(*inputs)
    by = pt.grad(value, inputs[:5], disconnected_inputs="ignore", return_disconnected="zero")
    return pytensor.function(inputs, [value, *by], mode="FAST_COMPILE", on_unused_input="ignore")


def at_a_lead(family, lead, counts, tie):
    """Value and slope by the lead of one cell."""
    cell = np.zeros(1, np.int32)
    none = [np.zeros((0, 1), np.int32), np.zeros((0, 1))]
    given = [[lead, 0.0], [1.0], [0.0], [tie], [0.0], cell, cell + 1, cell, *none]
    given = [np.asarray(x) for x in (*given, np.asarray(counts)[:, None])]
    value, slopes = evaluate(family, *given, within=0)
    return value, slopes[2][0]


def cells(rng, family, n_cells, by_judge, scale=1.0, n_terms=3):
    """Parameters of 7 items and 5 groups, each `own` or one for all, and random cells.

    Two terms are within the adherence, and the others beside it, of four effects.
    """
    sizes = [5 if x else 1 for x in by_judge]
    adherence, order, tie = (rng.gamma(4, 0.25, n) for n in sizes)
    first = rng.integers(0, 7, n_cells)
    second = (first + rng.integers(1, 7, n_cells)) % 7
    counts = rng.poisson(0.6, (3, n_cells)).astype(float)
    counts[:, ::7] *= rng.random()  # weighted
    if N_OUTCOMES[family] == 2:
        counts[2] = 0
    parameters = [scale * rng.normal(size=7), adherence, order, OPS[family][1] + tie]
    parameters.append(scale * rng.normal(size=4))
    which, size = rng.integers(0, 4, (n_terms, n_cells)), rng.normal(size=(n_terms, n_cells))
    group = rng.integers(0, 5, n_cells)
    # of the types that models have, for which numba has compiled the kernels
    first, second, group, which = (x.astype(np.int32) for x in (first, second, group, which))
    return parameters, [first, second, group, which, size, counts]


@each_family
@pytest.mark.parametrize("by_judge", [(1, 1, 1), (0, 0, 0), (1, 0, 1), (0, 1, 0)], ids=str)
@pytest.mark.parametrize("n_cells", [0, 1, 256, 700])
def test_the_kernel_is_the_graph(rng, family, by_judge, n_cells):
    # without effects, the lead is that of all families
    scales = [(1.0, 3), (30.0, 2), (1000.0, 0 if family == "Davidson" else 2)]
    for scale, n_terms in scales:
        parameters, data = cells(rng, family, n_cells, by_judge, scale, n_terms)
        within = min(n_terms, 2)
        value, slopes = evaluate(family, *parameters, *data, within=within)
        expected, *by = graph_of(family, within)(*parameters, *data)
        assert value == pytest.approx(float(expected), rel=1e-12)
        for found, exact in zip(slopes, by, strict=True):
            np.testing.assert_allclose(found, exact, rtol=1e-10, atol=1e-11 * scale)


@pytest.mark.parametrize("family", WITH_TIES)
@pytest.mark.parametrize("by_judge", [(1, 1, 1), (0, 0, 0)], ids=str)
def test_terms_of_ties_are_those_of_the_graph(rng, family, by_judge):
    for scale, n_terms, within, tying in ((1.0, 4, 1, 2), (30.0, 2, 0, 2), (400.0, 1, 0, 1)):
        parameters, data = cells(rng, family, 300, by_judge, scale, n_terms)
        value, slopes = evaluate(family, *parameters, *data, within=within, tying=tying)
        expected, *by = graph_of(family, within, tying)(*parameters, *data)
        assert value == pytest.approx(float(expected), rel=1e-12)
        for found, exact in zip(slopes, by, strict=True):
            np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-10 * scale)


@pytest.mark.parametrize("family", WITH_TIES)
def test_terms_of_ties_multiply_the_odds_of_a_tie_of_equal_items(family):
    cell, least = np.zeros(1, np.int32), OPS[family][1]
    given = [[0.0, 0.0], [1.0], [0.0], [least + 0.7], [np.log(3.0)], cell, cell + 1, cell]
    given += [np.zeros((1, 1), np.int32), np.ones((1, 1))]
    p = [
        np.exp(evaluate(family, *map(np.asarray, given), unit[:, None], within=0, tying=1)[0])
        for unit in np.eye(3)
    ]
    assert sum(p) == pytest.approx(1, rel=1e-14)
    assert p[2] / (1 - p[2]) == pytest.approx(3 * 0.35, rel=1e-14)


@pytest.mark.parametrize("family", WITH_TIES)
@pytest.mark.parametrize("effect", [-1000.0, 1000.0])
def test_terms_of_ties_are_finite_at_extremes(rng, family, effect):
    parameters, data = cells(rng, family, 300, (1, 1, 1), 3.0)
    parameters[-1] = np.full(4, effect)
    data[4] = np.abs(data[4])
    value, slopes = evaluate(family, *parameters, *data, within=0, tying=3)
    assert np.isfinite(value)
    assert all(np.isfinite(slope).all() for slope in slopes)


# How many terms there are of gaps, and of ties: Thurstone's model has no ties
TERMS = [(family, 2, 0) for family in OPS] + [(family, 1, 2) for family in WITH_TIES]


@pytest.mark.parametrize(("family", "within", "tying"), TERMS)
@pytest.mark.parametrize("by_judge", [(1, 1, 1), (0, 0, 0), (1, 0, 1)], ids=str)
def test_second_derivatives_are_those_of_differences(rng, family, within, tying, by_judge):
    parameters, data = cells(rng, family, 300, by_judge, n_terms=4 if tying else 3)
    directions = [rng.normal(size=(3, x.size)) for x in parameters]
    op = OPS[family][0](within, tying)
    terms = {"within": within, "tying": tying}
    found = op.hessian(*parameters, *data).dot(directions)
    for row in range(3):
        step = [1e-5 * v[row] for v in directions]
        ahead, behind = (
            evaluate(
                family,
                *(x + sign * v for x, v in zip(parameters, step, strict=True)),
                *data,
                **terms,
            )
            for sign in (1, -1)
        )
        for change, a, b in zip(found, ahead[1], behind[1], strict=True):
            exact = (a - b) / 2e-5
            np.testing.assert_allclose(change[row], exact, rtol=1e-5, atol=1e-5)


@each_family
def test_sparse_directions_have_the_products_of_their_sum(rng, family):
    parameters, data = cells(rng, family, 300, (1, 1, 1), n_terms=4)
    hessian = OPS[family][0](2).hessian(*parameters, *data)
    n = [x.size for x in parameters]
    every = np.split(np.eye(sum(n)), np.cumsum(n)[:-1], axis=1)
    weight = rng.normal(size=(3, sum(n)))
    at_once = hessian.dot([weight @ direction for direction in every])
    for one, other in zip(hessian.dot(every), at_once, strict=True):
        np.testing.assert_allclose(weight @ one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("by_judge", [(1, 1, 1), (0, 0, 0), (1, 0, 1)], ids=str)
def test_second_derivatives_as_sparse_matrices_are_the_same(rng, by_judge, monkeypatch):
    parameters, data = cells(rng, "Davidson", 300, by_judge, n_terms=4)
    op = OPS["Davidson"][0](1, 2)
    n = [x.size for x in parameters]
    every = np.split(np.eye(sum(n)), np.cumsum(n)[:-1], axis=1)
    dense = op.hessian(*parameters, *data)
    monkeypatch.setattr(total, "MOST_DENSE", 0)
    monkeypatch.setattr(total, "SPARSER", 0)
    sparse = op.hessian(*parameters, *data)
    assert all(issparse(x) for x in sparse[:4])
    whole = np.concatenate(dense.dot(every), axis=1)
    found = np.concatenate(sparse.dot(every), axis=1)
    np.testing.assert_allclose(found, whole, rtol=1e-10, atol=1e-10)
    for hessian in (dense, sparse):  # a link wherever a second derivative is not zero
        links = hessian.links(n).toarray() != 0
        assert links[whole != 0].all()
        np.testing.assert_array_equal(links, links.T)


@each_family
def test_probabilities_of_the_outcomes_sum_to_one(family):
    outcomes = np.eye(3)[: N_OUTCOMES[family]]
    for lead in (-1000.0, -40.0, -30.0, -3.0, 0.0, 1e-9, 2.5, 29.9, 1000.0):
        p = [np.exp(at_a_lead(family, lead, outcome, 1.7)[0]) for outcome in outcomes]
        assert sum(p) == pytest.approx(1, rel=1e-13)


@pytest.mark.parametrize("lead", [-38.0, -31.0, -30.0, -29.99, -5.0, 0.0, 3.0, 50.0])
def test_thurstone_is_exact_far_into_the_tail(lead):
    value, slope = at_a_lead("Thurstone", lead, [1.0, 0.0, 0.0], 0.0)
    exact = stats.norm.logcdf(lead)
    assert value == pytest.approx(exact, rel=1e-12, abs=1e-15)
    assert slope == pytest.approx(np.exp(stats.norm.logpdf(lead) - exact), rel=1e-11)


@each_family
@pytest.mark.parametrize("lead", [-1000.0, 1000.0])
def test_at_extremes_values_and_slopes_are_their_limits(family, lead):
    lost = at_a_lead(family, lead, [0.0, 1.0, 0.0] if lead > 0 else [1.0, 0.0, 0.0], 1.5)
    won = at_a_lead(family, lead, [1.0, 0.0, 0.0] if lead > 0 else [0.0, 1.0, 0.0], 1.5)
    assert won == (0.0, 0.0)
    sign = np.sign(lead)
    if family == "Thurstone":
        assert lost[0] == pytest.approx(stats.norm.logcdf(-1000.0), rel=1e-14)
        assert lost[1] == pytest.approx(-sign * 1000.001, rel=1e-9)
    else:
        below = np.log(1.5) if family == "Rao-Kupper" else 0.0
        assert lost == pytest.approx((-1000 - below, -sign))


@pytest.mark.parametrize("family", WITH_TIES)
def test_without_ties_at_the_limit_slopes_are_finite_and_a_tie_is_impossible(family):
    least = OPS[family][1]
    value, slope = at_a_lead(family, 0.5, [2.0, 1.0, 0.0], least)
    p = 1 / (1 + np.exp(-0.5))
    assert value == pytest.approx(2 * np.log(p) + np.log(1 - p), rel=1e-14)
    assert slope == pytest.approx(2 * (1 - p) - p, rel=1e-14)
    assert at_a_lead(family, 0.5, [0.0, 0.0, 1.0], least)[0] == -np.inf
