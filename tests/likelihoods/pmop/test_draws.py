"""Exact draws of weak orders: shapes, sizes and extremes; the battery has their frequencies."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from bayesrank.likelihoods.pmop.draw_kernels import draw_weak_orders_kernel
from bayesrank.likelihoods.pmop.op import OrderedPartitionDraw
from bayesrank.likelihoods.pmop.set_kernels import AGGREGATES
from tests.likelihoods.loops import for_each
from tests.oracles import block_sizes

EQUAL = np.empty(0)
TIES = np.log([1.0, 0.4, 2.0])
UTILITY = np.array([0.0, 1.2, -0.8, 0.5])


def draw(utility, aggregate, *, where=True, sizes=(), log_weight=EQUAL, n, seed=0):
    """Weak orders of one ranking, n times."""
    utility = np.asarray(utility, dtype=float)
    where = np.broadcast_to(where, utility.shape)
    inputs = utility, where, np.array(sizes, dtype=np.int64), log_weight
    inputs = (np.tile(x, (n, 1)) for x in inputs)
    seeds = np.random.default_rng(seed).integers(0, 2**62, size=n)
    return draw_weak_orders_kernel(*inputs, seeds, AGGREGATES.index(aggregate))


@for_each("aggregate", AGGREGATES)
def test_a_seed_is_a_ranking_whatever_stands_beside_it(aggregate):
    rows = draw(UTILITY, aggregate, n=50)
    np.testing.assert_array_equal(draw(UTILITY, aggregate, n=50), rows)
    assert (draw(UTILITY, aggregate, n=50, seed=1) != rows).any()
    seeds = np.random.default_rng(0).integers(0, 2**62, size=50)
    alone = draw_weak_orders_kernel(
        UTILITY[None], np.ones((1, 4), bool), np.zeros((1, 0), np.int64), np.zeros((1, 0)),
        seeds[-1:], AGGREGATES.index(aggregate),
    )  # fmt: skip
    np.testing.assert_array_equal(alone[0], rows[-1])


@for_each("aggregate", AGGREGATES)
def test_slots_that_are_not_in_use_stay_empty_and_change_nothing(aggregate):
    where = np.array([True, False, True, True, False, True])
    utility = np.array([0.0, np.nan, 1.2, -0.8, 1e9, 0.5])
    ranks = draw(utility, aggregate, where=where, n=200)
    np.testing.assert_array_equal(ranks[:, where], draw(UTILITY, aggregate, n=200))
    np.testing.assert_array_equal(ranks[:, ~where], 0)
    np.testing.assert_array_equal(draw(utility, aggregate, where=False, n=3), 0)


@for_each(
    ("sizes", "drawn"),
    [
        ((1, 1), (1, 1, 2)),  # too few: what is left is a last block
        ((3, 4), (3, 1)),  # too many: as many as there are
        ((2, 0, 0), (2, 2)),  # 0 after the last
        ((-1, 2), (4,)),
        ((2, 1, 1, 7, 9), (2, 1, 1)),
    ],
)
@for_each("aggregate", AGGREGATES)
def test_sizes_that_do_not_add_up_end_with_what_is_left(aggregate, sizes, drawn):
    ranks = draw(UTILITY, aggregate, sizes=sizes, n=50)
    assert {block_sizes(r) for r in ranks} == {drawn}


@for_each("aggregate", AGGREGATES)
def test_blocks_are_no_larger_than_their_weights(aggregate):
    ranks = draw(np.zeros(9), aggregate, log_weight=TIES, n=300)
    assert max(max(block_sizes(r)) for r in ranks) == 3
    assert draw(np.zeros(9), aggregate, log_weight=np.zeros(1), n=20).max(axis=1).min() == 9


@for_each("aggregate", AGGREGATES)
def test_extreme_utilities_are_drawn_in_their_order(aggregate):
    utility = np.array([0.0, 1000.0, -1000.0, 500.0])
    ranks = draw(utility, aggregate, sizes=(1, 1, 1, 1), n=30)
    np.testing.assert_array_equal(ranks, np.tile([3, 1, 4, 2], (30, 1)))
    free = draw(utility, aggregate, n=30)
    assert (np.sort(free, axis=1)[:, 0] == 1).all()
    if aggregate != "min":  # of which a good set has no bad item
        assert (free[:, 1] == 1).all()


@for_each("sizes", [(), (1,) * 500 + (500,), (100,) * 10])
@for_each("aggregate", AGGREGATES)
def test_a_thousand_items_are_ranked(aggregate, sizes, rng):
    w = rng.normal(scale=2.0, size=1000)
    ranks = draw(w, aggregate, sizes=sizes, n=1)[0]
    drawn = block_sizes(ranks)
    assert sum(drawn) == 1000
    assert drawn == sizes if sizes else min(drawn) > 0
    if len(drawn) > 500:  # of large sets, most members are as bad as others
        assert ranks[w > 1].mean() < ranks[w < -1].mean() - 100


# The Op


def test_a_draw_has_no_gradient():
    utility = pt.dmatrix("utility")
    inputs = (
        pt.ones_like(utility, dtype=bool), pt.zeros((6, 0), dtype="int64"), pt.zeros((6, 0)),
        pt.constant(np.arange(6)),
    )  # fmt: skip
    draws = OrderedPartitionDraw("max")(utility, *inputs)
    value = draws.eval({utility: np.zeros((6, 5))})
    assert value.dtype == np.int64
    assert len({tuple(row) for row in value}) > 1  # a seed for each
    with pytest.raises(pytensor.gradient.DisconnectedInputError):
        pt.grad(draws.sum().astype("float64"), utility)
