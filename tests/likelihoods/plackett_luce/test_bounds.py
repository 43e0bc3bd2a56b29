"""The lower bound of weak orders: by hand, as a bound, as a special case, extremes and masks."""

from math import log

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from bayesrank.likelihoods.plackett_luce.bounds import plackett_luce_bound
from bayesrank.likelihoods.plackett_luce.graph import plackett_luce_logp
from models.shared.losses import list_net_loss
from tests.likelihoods.loops import for_each
from tests.oracles import gradient, weak_order_logp, weak_orders

RANKS = np.array([[2, 1, 3, 0], [1, 2, 2, 3], [1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0]])


def evaluated(graph):
    """Without compiling anything, which takes longer than all else."""
    return graph.eval(mode="FAST_COMPILE")


@pytest.fixture
def with_slope():
    """Values and the gradient of their sum, at utilities and ranks of any shape."""

    def evaluate(utility, ranks):
        w = pt.as_tensor(np.asarray(utility, dtype=float)).type("w")
        values = plackett_luce_bound(w, np.asarray(ranks))
        f = pytensor.function([w], [values, pt.grad(pt.sum(values), w)], mode="FAST_COMPILE")
        return [np.asarray(part) for part in f(np.asarray(utility, dtype=float))]

    return evaluate


@for_each("mode", ["FAST_COMPILE", "JAX"])
def test_the_gradient_agrees_with_finite_differences(rng, mode):
    u, w = rng.normal(size=RANKS.shape), pt.dmatrix("w")
    total = pt.sum(plackett_luce_bound(w, RANKS))
    slope = pytensor.function([w], pt.grad(total, w), mode=mode)(u)
    f = pytensor.function([w], total, mode="FAST_COMPILE")
    np.testing.assert_allclose(slope, gradient(lambda x: float(f(x)), u), rtol=1e-6, atol=1e-8)


def test_empty_slots_and_padding_say_nothing(rng, with_slope):
    u = rng.normal(size=RANKS.shape)
    values, slope = with_slope(u, RANKS)
    again, same = with_slope(np.where(RANKS > 0, u, np.nan), RANKS)
    np.testing.assert_array_equal(again, values)
    np.testing.assert_array_equal(same, slope)
    assert (slope[RANKS == 0] == 0).all()
    assert values[3] == 0  # nothing is ranked
    wider, _ = with_slope(np.pad(u, ((0, 0), (2, 1))), np.pad(RANKS, ((0, 0), (2, 1))))
    np.testing.assert_allclose(wider, values, rtol=1e-13, atol=1e-15)
    for n, used in enumerate(RANKS > 0):
        if used.any():
            alone, _ = with_slope(u[n, used], RANKS[n, used])
            assert alone == pytest.approx(values[n], rel=1e-13, abs=1e-15)


def test_leading_axes_make_no_difference_and_neither_does_a_shift(rng, with_slope):
    u, ranks = rng.normal(size=(6, 4)), rng.permuted(np.tile([1, 1, 2, 3], (6, 1)), axis=1)
    values, _ = with_slope(u, ranks)
    stacked, _ = with_slope(u.reshape(2, 3, 4), ranks.reshape(2, 3, 4))
    np.testing.assert_allclose(stacked, values.reshape(2, 3), rtol=1e-13)
    np.testing.assert_allclose(with_slope(u + 3.0, ranks)[0], values, rtol=1e-12)


def test_utilities_of_a_thousand_have_finite_values_and_gradients(with_slope):
    u = [[1e3, -1e3, 0.0, 1e3], [-1e3, 1e3, 1e3, -1e3], [1e3] * 4, [1e3] * 4, [1e3, 0.0, -1e3, 0.0]]
    values, slope = with_slope(u, RANKS)
    assert np.isfinite(values).all()
    assert np.isfinite(slope).all()


def test_ranks_may_be_a_tensor(rng):
    u, ranks = rng.normal(size=RANKS.shape), pt.lmatrix("ranks")
    symbolic = plackett_luce_bound(u, ranks).eval({ranks: RANKS}, mode="FAST_COMPILE")
    constant = evaluated(plackett_luce_bound(u, RANKS))
    np.testing.assert_allclose(symbolic, constant, rtol=1e-13)


def test_the_bound_by_hand():
    # {0, 1} of worth 1 and 2 above {2} of 3 above {3, 4} of 1 each
    u = np.log([1.0, 2.0, 3.0, 1.0, 1.0])
    value = evaluated(plackett_luce_bound(u, [1, 1, 2, 3, 3]))
    assert value == pytest.approx(log(2 * (1 / 8) * (2 / 8) * (3 / 5)))


@for_each("n", [3, 4])
def test_the_bound_is_below_every_probability_and_the_same_where_nothing_is_tied_above(rng, n):
    ranks = weak_orders(n)
    u = rng.normal(scale=2.0, size=ranks.shape)
    bound = evaluated(plackett_luce_bound(u, ranks))
    exact = np.array([weak_order_logp(*pair) for pair in zip(u, ranks, strict=True)])
    tied = np.array([(np.bincount(r)[1:-1] > 1).any() for r in ranks])
    np.testing.assert_allclose(bound[~tied], exact[~tied], rtol=1e-12, atol=1e-14)
    assert (bound[tied] < exact[tied]).all()
    assert 0 < tied.sum() < len(tied)


def test_the_bound_holds_for_long_rankings_of_random_blocks(rng):
    u = rng.normal(scale=3.0, size=(50, 60))
    cuts = np.sort(rng.integers(1, 60, size=(50, 3)), axis=1)
    ranks = 1 + (np.arange(60) >= cuts[:, :, None]).sum(axis=1)
    ranks = np.array([np.unique(r, return_inverse=True)[1] + 1 for r in ranks])
    gap = evaluated(plackett_luce_logp(u, ranks) - plackett_luce_bound(u, ranks))
    assert (gap > 0).all()


def test_without_ties_the_bound_is_minus_the_loss_of_listnet(rng):
    u, ranks = rng.normal(size=5), [3, 1, 5, 2, 4]
    loss = evaluated(list_net_loss(u, ranks, k=5))
    assert evaluated(plackett_luce_bound(u, ranks)) == pytest.approx(-loss)


def test_one_row_of_utilities_serves_many_rankings(rng):
    u = rng.normal(size=4)
    tiled = evaluated(plackett_luce_bound(np.tile(u, (5, 1)), RANKS))
    np.testing.assert_allclose(evaluated(plackett_luce_bound(u[None], RANKS)), tiled, rtol=1e-13)
