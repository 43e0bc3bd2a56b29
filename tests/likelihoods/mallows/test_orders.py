"""Sums over all orders: values, gradients and draws, against enumeration."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp

from bayesrank.likelihoods.mallows import (
    DISTANCES,
    PAIRS,
    PLACES,
    consensus_curve,
    marginal_logp,
    marginal_logp_on_curve,
)
from bayesrank.likelihoods.mallows.op import LogSumOverOrders
from bayesrank.likelihoods.mallows.order_kernels import (
    draw_order_kernel,
    log_sum_of_orders,
    log_total_of_orders,
    places_of_orders,
    reduced_costs,
    table_of_sets,
)
from tests.likelihoods.loops import for_each
from tests.likelihoods.mallows.permutations import (
    log_sum_over_consensus,
    orders_by_hand,
)
from tests.oracles import frequency_p_value, places_in

KINDS = (PLACES, PAIRS)


def cycle(n, cost):
    """Majorities that go round: each is cheap after the next three only."""
    return sum(np.roll(np.eye(n), k, axis=1) for k in (1, 2, 3)) * cost


def frequencies(orders, share, pairs):
    """Probability that an item has a place, or stands after another."""
    n = orders.shape[1]
    place = np.argsort(orders, axis=1)
    if pairs:
        return np.array([[share @ (place[:, i] > place[:, j]) for j in range(n)] for i in range(n)])
    return np.array([[share @ (place[:, i] == r) for r in range(n)] for i in range(n)])


@for_each("kind", KINDS)
@for_each("n", [1, 2, 3, 4, 6])
@for_each("scale", [0.0, 1.0, 30.0, 1e5])
def test_sums_and_their_gradients_are_those_of_all_orders(kind, n, scale, rng):
    cost = (rng.random((n, n)) - 0.3) * scale
    orders, costs = orders_by_hand(cost, kind == PAIRS)
    value, slope = log_sum_of_orders(cost, kind)
    assert value == pytest.approx(logsumexp(-costs), rel=1e-13, abs=1e-10)
    expected = frequencies(orders, np.exp(-costs - logsumexp(-costs)), kind == PAIRS)
    np.testing.assert_allclose(slope, -expected, atol=1e-10)


@for_each("kind", KINDS)
@for_each("cost", [np.random.default_rng(3).random((5, 5)) * 3, np.zeros((2, 2)), cycle(7, 1.0),
                   cycle(7, 2e3)])  # fmt: skip
def test_places_are_those_of_all_orders_even_of_cycles_that_cost_more_than_numbers_hold(kind, cost):
    orders, costs = orders_by_hand(cost, kind == PAIRS)
    share = np.exp(-costs - logsumexp(-costs))
    expected = frequencies(orders, share, pairs=False)
    np.testing.assert_allclose(places_of_orders(cost, kind), expected, atol=1e-10)
    assert log_total_of_orders(cost, kind) == pytest.approx(logsumexp(-costs), rel=1e-13)
    value, slope = log_sum_of_orders(cost, kind)
    assert value == pytest.approx(logsumexp(-costs), rel=1e-13)
    expected = frequencies(orders, share, kind == PAIRS)
    np.testing.assert_allclose(slope, -expected, atol=1e-10)


@for_each("kind", KINDS)
def test_items_may_be_in_any_order(kind, rng):
    cost, order = rng.random((13, 13)), rng.permutation(13)
    value, slope = log_sum_of_orders(cost, kind)
    # of places only the rows are items; all three parts of a set's bits exchange theirs
    axes = np.ix_(order, order if kind == PAIRS else np.arange(13))
    other, other_slope = log_sum_of_orders(np.array(cost[axes]), kind)
    assert other == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(other_slope, slope[axes], atol=1e-12)


def test_a_permanent_of_ones_counts_the_orders_of_more_items_than_can_be_enumerated():
    value, slope = log_sum_of_orders(np.zeros((16, 16)), PLACES)
    assert np.exp(value) == pytest.approx(20922789888000, rel=1e-12)
    np.testing.assert_allclose(slope, -1 / 16)
    # of pairs: distances of Kendall, whose normaliser is a product
    t = 0.3
    value, _ = log_sum_of_orders(np.triu(np.full((16, 16), t), 1), PAIRS)
    expected = sum(np.log(np.exp(-t * np.arange(j)).sum()) for j in range(1, 17))
    assert value == pytest.approx(expected, rel=1e-13)


def test_the_cost_common_to_all_orders_is_the_cheapest_assignment(rng):
    for n in (3, 9):
        cost = rng.normal(size=(n, n)) * 100
        reduced, paid = reduced_costs(cost, PLACES)
        row, column = linear_sum_assignment(cost)
        assert paid == pytest.approx(cost[row, column].sum(), rel=1e-12)
        assert (reduced >= 0).all()
        np.testing.assert_allclose(reduced[row, column], 0.0, atol=1e-10)


@for_each("kind", KINDS)
def test_costs_that_are_not_finite_leave_nothing(kind):
    for bad in (np.inf, np.nan):
        cost = np.zeros((4, 4))
        cost[1, 2] = bad
        value, slope = log_sum_of_orders(cost, kind)
        assert value == -np.inf
        assert np.isfinite(slope).all()


@for_each("kind", KINDS)
@for_each("cost", [np.random.default_rng(3).random((4, 4)) * 3, np.zeros((1, 1)), cycle(5, 900.0)])
def test_draws_of_orders_have_the_frequencies_of_their_probabilities(kind, cost):
    table, reduced, _ = table_of_sets(cost, kind)
    state = np.array([7], dtype=np.uint64)
    draws = np.empty((5_000, len(cost)), np.int64)
    for place in draws:
        draw_order_kernel(table, reduced, kind, state, place)
    orders, costs = orders_by_hand(cost, kind == PAIRS)
    expected = np.exp(-costs - logsumexp(-costs))
    drawn = places_in(orders, np.argsort(draws, axis=1))
    assert (expected[drawn] > 1e-12).all()
    if len(orders) > 1:
        assert frequency_p_value(drawn, expected) > 1e-7


@pytest.mark.parametrize("mode", ["FAST_COMPILE", pytest.param("JAX", marks=pytest.mark.slow)])
@for_each("kind", KINDS)
def test_the_op_its_gradient_and_its_second_derivatives(kind, mode, rng):
    values = rng.random((2, 4, 4))
    cost = pt.tensor3("cost", shape=(2, 4, 4))
    total = LogSumOverOrders(kind)(cost)
    slope = pytensor.grad(pt.sum([2.0, 3.0] * total), cost)
    # along a direction
    curved = pytensor.grad(pt.sum(slope * values**2), cost)
    f = pytensor.function([cost], [total, slope, curved], mode=mode)
    found, by, twice = f(values)
    for r, weight in enumerate((2.0, 3.0)):
        value, expected = log_sum_of_orders(values[r], kind)
        assert found[r] == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(by[r], weight * expected, atol=1e-12)
        ahead = [log_sum_of_orders(values[r] + h * values[r] ** 2, kind)[1] for h in (1e-5, -1e-5)]
        np.testing.assert_allclose(twice[r], weight * (ahead[0] - ahead[1]) / 2e-5, atol=1e-7)


def test_too_many_items_are_refused():
    with pytest.raises(ValueError, match="at most 22 items; there are 23"):
        marginal_logp([np.arange(1, 24)], 1.0)
    with pytest.raises(ValueError, match="needs a known number of items"):
        marginal_logp(pt.lmatrix(), 1.0)


@for_each("distance", DISTANCES)
def test_of_one_concentration_the_sum_is_interpolated(distance, rng):
    ranks = np.argsort(np.argsort(np.arange(7) + rng.normal(size=(9, 7)) * 2)) + 1
    weight = np.resize([1.0, 2.0], 9)
    alpha = pt.dscalar("alpha")
    _, curve = consensus_curve(ranks, weight, distance)
    found = marginal_logp_on_curve(alpha, curve, weight, n_items=7, distance=distance)
    summed = marginal_logp(ranks, alpha, distance=distance, weight=weight)
    outputs = [y for x in (found, summed) for y in (x, pytensor.grad(x, alpha))]
    f = pytensor.function([alpha], outputs)
    for a in (0.0, *np.geomspace(1e-6, 1e3, 40), 1e6):
        value, slope, expected, expected_slope = f(a)
        assert value == pytest.approx(expected, rel=1e-13, abs=1e-9)
        assert slope == pytest.approx(expected_slope, rel=1e-8, abs=1e-6)


@for_each("ranks", [[[1, 2, 3, 4]] * 5, [[1, 2, 3, 4], [4, 3, 2, 1]], [[1]]])
def test_rankings_that_agree_in_all_or_nothing_are_interpolated_too(ranks):
    one, n = np.ones(len(ranks)), len(ranks[0])
    _, curve = consensus_curve(np.array(ranks), one, "footrule")
    alpha = pt.dscalar("alpha")
    found = marginal_logp_on_curve(alpha, curve, one, n_items=n, distance="footrule")
    f = pytensor.function([alpha], found)
    for a in (0.0, 2.0, 50.0, 1e5):
        assert f(a) == pytest.approx(log_sum_over_consensus(ranks, a, "footrule"), abs=1e-9)
