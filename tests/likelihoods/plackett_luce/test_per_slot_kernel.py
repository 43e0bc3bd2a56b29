"""Weak orders slot by slot: against the table of stages, and what one ranking does to others."""

import numpy as np
import pytest

from bayesrank.data.derive import stage_table
from bayesrank.likelihoods.plackett_luce.per_item_kernel import (
    ranking_logp_kernel,
    ranking_logp_pullback_kernel,
)
from bayesrank.likelihoods.plackett_luce.per_slot_kernel import per_slot_kernel
from tests.likelihoods.loops import for_each
from tests.oracles import random_weak_orders


@for_each("spread", [0.1, 3.0, 60.0, 300.0, 1000.0])
def test_value_and_gradient_are_those_of_the_table_of_stages(rng, spread):
    ranks = random_weak_orders(rng, 300, 9)
    utility = spread * rng.normal(size=ranks.shape)
    logp, gradient = per_slot_kernel(utility, ranks)
    # every slot is an item of the table, which has them best first
    best_first = np.argsort(np.where(ranks > 0, ranks, 10), axis=1)
    item, ones = best_first + 9 * np.arange(300)[:, None], np.ones(300)
    table = stage_table(item, np.take_along_axis(ranks, best_first, 1), ones, ranks.size)
    fields = [np.array(x) for x in table]
    u = utility.reshape(1, -1)
    slope = ranking_logp_pullback_kernel(u, *fields, ones[:, None]).reshape(ranks.shape)
    np.testing.assert_allclose(logp, ranking_logp_kernel(u, *fields)[:, 0], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(gradient, slope, atol=1e-7)
    np.testing.assert_allclose(gradient.sum(axis=1), 0, atol=1e-7)


# the kernel is compiled for each
@pytest.mark.parametrize("dtype", [np.int64, pytest.param(np.int8, marks=pytest.mark.slow)])
def test_many_labels_by_hand(dtype):
    # one positive of 1,000 equal items, then two: P = 1 / n and 2 / (n (n - 1))
    ranks = np.full((2, 1000), 2, dtype=dtype)
    ranks[0, 500] = ranks[1, 3] = ranks[1, 700] = 1
    logp, gradient = per_slot_kernel(np.full((2, 1000), -7.0), ranks)
    np.testing.assert_allclose(logp, [-np.log(1000), np.log(2 / (1000 * 999))], rtol=1e-12)
    assert gradient[0, 500] == pytest.approx(0.999)
    assert gradient[0, 0] == pytest.approx(-0.001)


def test_a_ranking_out_of_scale_leaves_the_others_as_they_are(rng):
    ranks = np.array([[1, 1, 2], [2, 1, 1], [1, 2, 3]])
    utility = rng.normal(size=(3, 3))
    logp, gradient = per_slot_kernel(utility, ranks)
    utility[1] = [0.0, 900.0, -900.0]
    far, slope = per_slot_kernel(utility, ranks)
    np.testing.assert_array_equal(far[[0, 2]], logp[[0, 2]])
    np.testing.assert_array_equal(slope[[0, 2]], gradient[[0, 2]])
    # the last item of the block against the remainder: log P = -900
    assert far[1] == pytest.approx(-900)
    np.testing.assert_allclose(slope[1], [-1, 0, 1], atol=1e-9)


@for_each("ranks", [[1, 1, 2, 2], [1, 2, 3, 4]])
def test_a_nan_utility_gives_nan_for_its_ranking(ranks):
    for slot in range(4):
        utility = np.zeros((1, 4))
        utility[0, slot] = np.nan
        assert np.isnan(per_slot_kernel(utility, np.array([ranks]))[0][0])
