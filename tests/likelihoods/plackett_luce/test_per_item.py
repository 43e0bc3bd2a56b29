"""The compiled Ops: against their graphs, in every mode and to the second derivative."""

import functools

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.graph.rewriting.utils import rewrite_graph
from pytensor.graph.traversal import ancestors
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from bayesrank.data.derive import Stages, stage_table
from bayesrank.likelihoods.plackett_luce import per_item as room
from bayesrank.likelihoods.plackett_luce.per_item import (
    TABLE,
    RankingLogp,
    StageTotal,
    ranking_logp,
)
from tests.cases import RANKINGS
from tests.likelihoods.loops import for_each
from tests.oracles import each_ranking, gradient
from tests.oracles import weak_order_logp as sum_over_orderings

BACKENDS = ("FAST_COMPILE", "JAX")

UTILITY = np.array([0.4, -1.2, 2.0, 0.1, -0.7, 5.0])


def exact_logp(utility):
    """Log-probability of every ranking, without its weight."""
    return each_ranking(sum_over_orderings, utility, RANKINGS)


def exact_total(utility):
    return float(RANKINGS.weight @ exact_logp(utility))


def table(constant=False):
    """Constants for JAX, which must know the shapes of what a graph in a graph computes."""
    stages = stage_table(RANKINGS.item, RANKINGS.ranks, RANKINGS.weight, RANKINGS.n_items)
    make = pt.constant if constant else pytensor.shared
    return Stages(*(make(np.array(field)) for field in stages))


def ops(graph):
    return {type(v.owner.op) for v in ancestors([graph]) if v.owner is not None}


@functools.cache
def per_item(mode):
    """Every ranking, their sum as StageTotal, and its gradient."""
    utility = pt.dvector("utility")
    rankings = ranking_logp(utility, table(constant=mode == "JAX"))
    total = rewrite_graph(rankings.sum())
    return pytensor.function([utility], [rankings, total, pt.grad(total, utility)], mode=mode)


@for_each("mode", BACKENDS)
def test_every_ranking_has_its_log_probability_times_its_weight(mode):
    logp = per_item(mode)(UTILITY)[0]
    np.testing.assert_allclose(logp, RANKINGS.weight * exact_logp(UTILITY), atol=1e-9)


@for_each("mode", BACKENDS)
def test_the_sum_and_its_gradient_are_those_of_the_rankings(mode):
    _, total, slope = per_item(mode)(UTILITY)
    assert float(total) == pytest.approx(exact_total(UTILITY), abs=1e-9)
    np.testing.assert_allclose(slope, gradient(exact_total, UTILITY), atol=1e-8)
    assert slope[5] == 0.0  # nobody ranks f


def test_any_function_of_the_rankings_has_its_gradient():
    utility = pt.dvector("utility")
    slope = pt.grad((ranking_logp(utility, table()) ** 2).sum(), utility).eval({utility: UTILITY})
    exact = gradient(lambda u: float(((RANKINGS.weight * exact_logp(u)) ** 2).sum()), UTILITY)
    np.testing.assert_allclose(slope, exact, atol=1e-6)


@pytest.mark.parametrize("scale", [1.0, 400.0], ids=["near", "far"])
def test_the_whole_hessian_is_the_change_of_the_gradient(scale):
    stages = stage_table(RANKINGS.item, RANKINGS.ranks, RANKINGS.weight, RANKINGS.n_items)
    weights = (stages.item_weight, stages.node_weight, stages.block_weight)
    inputs = (*weights, *(getattr(stages, name) for name in TABLE))
    found = StageTotal().hessian(scale * UTILITY, *inputs).toarray()
    slope = functools.partial(slope_of_total, inputs)
    np.testing.assert_allclose(found, gradient(slope, scale * UTILITY, step=1e-4), atol=1e-6)
    np.testing.assert_array_equal(found, found.T)


def second_derivatives(monkeypatch, utility, inputs):
    """Compute the matrix, and what replaces it if there are many items."""
    matrix = StageTotal().hessian(utility, *inputs)
    monkeypatch.setattr(room, "MOST_DENSE", 0)
    return matrix, StageTotal().hessian(utility, *inputs)


def two_copies():
    """Two copies of the rankings, of other items: no second derivative links the copies."""
    n = RANKINGS.n_items
    item = np.concatenate([RANKINGS.item, RANKINGS.item + n])
    ranks, weight = np.tile(RANKINGS.ranks, (2, 1)), np.tile(RANKINGS.weight, 2)
    return stage_table(item, ranks, weight, 2 * n), np.concatenate([UTILITY, -UTILITY])


def large_blocks():
    """Rankings in grades, so that blocks are large: 40 of 60 items in three blocks each."""
    rng = np.random.default_rng(4)
    item = np.argsort(rng.random((5, 60)), axis=1)[:, :40]
    ranks = np.sort(rng.integers(1, 4, size=(5, 40)), axis=1)
    return stage_table(item, ranks, rng.uniform(0.5, 2.0, 5), 60), rng.normal(size=60)


@pytest.mark.parametrize("scale", [1.0, 30.0, 400.0])
@pytest.mark.parametrize("data", [two_copies, large_blocks], ids=["two copies", "large blocks"])
def test_products_with_second_derivatives_are_those_of_the_matrix(data, scale, monkeypatch):
    stages, utility = data()
    weights = (stages.item_weight, stages.node_weight, stages.block_weight)
    inputs = (*weights, *(getattr(stages, name) for name in TABLE))
    matrix, products = second_derivatives(monkeypatch, scale * utility, inputs)
    assert products.matrix is None
    exact = matrix.toarray()
    close = {"rtol": 1e-10, "atol": 1e-10 * max(1.0, abs(exact).max())}
    np.testing.assert_allclose(products.toarray(), exact, **close)
    np.testing.assert_allclose(products.diagonal, np.diag(exact), **close)
    directions = np.random.default_rng(2).normal(size=(3, utility.size))
    np.testing.assert_allclose(*(x.dot([directions])[0] for x in (products, matrix)), **close)


def test_links_connect_the_items_that_second_derivatives_link(monkeypatch):
    stages, utility = two_copies()
    weights = (stages.item_weight, stages.node_weight, stages.block_weight)
    inputs = (*weights, *(getattr(stages, name) for name in TABLE))
    labels = []
    for hessian in second_derivatives(monkeypatch, utility, inputs):
        assert hessian.links([utility.size]).nnz <= 2 * stages.entry_item.size
        labels.append(connected_components(hessian.links([utility.size]), directed=False)[1])
    exact = connected_components(csr_array(hessian.toarray().round(12)), directed=False)[1]
    for found in labels:
        np.testing.assert_array_equal(found, exact)
    assert len(set(exact)) == 4  # two copies, and an item that nobody ranks in each


def slope_of_total(inputs, utility):
    return StageTotal.kernel(utility, *inputs)[1]


@for_each("mode", BACKENDS)
def test_components_are_evaluated_at_once_as_each_by_itself(mode):
    utility, share = pt.dmatrix("utility"), pt.dmatrix("share")
    logp = ranking_logp(utility, table(constant=mode == "JAX"))
    slope = pt.grad((share * logp).sum(), utility)
    f = pytensor.function([utility, share], [logp, slope], mode=mode)
    u = np.stack([UTILITY, -UTILITY, UTILITY * 300])  # one of them on a scale of its own
    weights = np.random.default_rng(1).normal(size=(6, 3))
    found, by = f(u, weights)
    for g in range(3):
        np.testing.assert_allclose(found[:, g], RANKINGS.weight * exact_logp(u[g]), rtol=1e-9)
        if g < 2:
            total = functools.partial(weighted_total, weights[:, g])
            np.testing.assert_allclose(by[g], gradient(total, u[g]), atol=1e-7)


def weighted_total(weights, utility):
    return float(weights @ (RANKINGS.weight * exact_logp(utility)))


def test_the_sum_is_rewritten_to_the_total_of_the_stages():
    utility = pt.dvector("utility")
    rankings = ranking_logp(utility, table())
    assert RankingLogp in ops(rankings.sum())
    for total in (rankings.sum(), rankings.sum(axis=0), 2.0 * rankings.sum()):
        rewritten = ops(rewrite_graph(total))
        assert StageTotal in rewritten
        assert RankingLogp not in rewritten


def test_other_functions_than_a_plain_sum_are_left_alone():
    utility = pt.dvector("utility")
    rankings = ranking_logp(utility, table())
    for other in (rankings, (rankings * np.arange(6.0)).sum(), rankings[:3].sum(), rankings.max()):
        rewritten = ops(rewrite_graph(other, include=("canonicalize", "specialize")))
        assert RankingLogp in rewritten
        assert StageTotal not in rewritten


def test_the_weights_of_the_total_are_data():
    utility, stages = pt.dvector("utility"), table()
    weights = stages.item_weight, stages.node_weight, stages.block_weight
    total = StageTotal()(utility, *weights, *(getattr(stages, name) for name in TABLE))
    with pytest.raises(pytensor.gradient.DisconnectedInputError):
        pt.grad(total, weights[0])


def test_utilities_beyond_one_scale_of_exponentials_are_as_exact():
    f = per_item("FAST_COMPILE")
    for utility in (UTILITY * 100, UTILITY * 500):  # spread 620 and 3100, past exp's range
        rankings, total, slope = f(utility)
        np.testing.assert_allclose(rankings, RANKINGS.weight * exact_logp(utility), rtol=1e-12)
        assert float(total) == pytest.approx(float(np.sum(rankings)), rel=1e-12)
        numeric = gradient(lambda u: float(f(u)[1]), utility, step=1e-2)
        np.testing.assert_allclose(slope, numeric, atol=1e-6)


def test_a_wide_and_a_narrow_scale_meet_continuously():
    f = per_item("FAST_COMPILE")
    for item in (0, 5):  # one that is ranked, one that is not
        near, far = (np.where(np.arange(6) == item, -495.0 - d, UTILITY) for d in (-0.01, 30.0))
        narrow, wide = f(near), f(far)
        if item == 5:
            np.testing.assert_allclose(narrow[0], wide[0], rtol=1e-13)
            np.testing.assert_allclose(narrow[2], wide[2], atol=1e-12)
        else:
            np.testing.assert_allclose(wide[0], RANKINGS.weight * exact_logp(far), rtol=1e-12)
            np.testing.assert_allclose(narrow[0], RANKINGS.weight * exact_logp(near), rtol=1e-12)


@for_each("bad", [np.nan, np.inf])
def test_a_utility_that_is_not_finite_gives_a_value_that_is_not_finite(bad):
    _, total, _ = per_item("FAST_COMPILE")(np.where(np.arange(6) == 2, bad, UTILITY))
    assert not np.isfinite(total) or np.isnan(total)
