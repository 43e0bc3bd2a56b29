"""The lower bound of weak orders: by hand, as a bound, as a special case, and empty slots."""

from math import log

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from models.shared.losses import list_net_loss
from models.shared.weak_order_bound import weak_order_bound
from tests.oracles import gradient, weak_order_logp, weak_orders

RANKS = np.array([[2, 1, 3, 0], [1, 2, 2, 3], [1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0]])


def bound(utility, ranks):
    """Without compiling anything, which takes longer than all else."""
    return weak_order_bound(np.asarray(utility), ranks).eval(mode="FAST_COMPILE")


def test_by_hand():
    # {0, 1} of worth 1 and 2 above {2} of 3 above {3, 4} of 1 each
    u = np.log([[1.0, 2.0, 3.0, 1.0, 1.0]])
    assert bound(u, [[1, 1, 2, 3, 3]])[0] == pytest.approx(log(2 * (1 / 8) * (2 / 8) * (3 / 5)))


@pytest.mark.parametrize("n", [3, 4])
def test_it_is_below_every_probability_and_the_same_where_nothing_is_tied_above(rng, n):
    ranks = weak_orders(n)
    u = rng.normal(scale=2.0, size=ranks.shape)
    found = bound(u, ranks)
    exact = np.array([weak_order_logp(*pair) for pair in zip(u, ranks, strict=True)])
    tied = np.array([(np.bincount(r)[1:-1] > 1).any() for r in ranks])
    np.testing.assert_allclose(found[~tied], exact[~tied], rtol=1e-12, atol=1e-14)
    assert (found[tied] < exact[tied]).all()
    assert 0 < tied.sum() < len(tied)


def test_without_ties_it_is_minus_the_loss_of_listnet(rng):
    u, ranks = rng.normal(size=(1, 5)), [[3, 1, 5, 2, 4]]
    loss = list_net_loss(u, ranks, k=5).eval(mode="FAST_COMPILE")
    np.testing.assert_allclose(bound(u, ranks), -loss)


def test_empty_slots_say_nothing_and_the_gradient_is_that_of_differences(rng):
    u, w = rng.normal(size=RANKS.shape), pt.dmatrix("w")
    total = pt.sum(weak_order_bound(w, RANKS))
    slope = pytensor.function([w], pt.grad(total, w), mode="FAST_COMPILE")
    np.testing.assert_allclose(
        slope(u), gradient(lambda x: bound(x, RANKS).sum(), u), rtol=1e-6, atol=1e-8
    )
    empty = np.where(RANKS > 0, u, np.nan)
    np.testing.assert_array_equal(bound(empty, RANKS), bound(u, RANKS))
    np.testing.assert_array_equal(slope(empty), slope(u))
    assert bound(u, RANKS)[3] == 0
