"""Intervals of ranks: by hand, against their definition, and how often they hold of the truth."""

import numpy as np
import pytest

from bayesrank.results.draws import ranks_of
from bayesrank.results.ranks.rank_table import equal_tails, simultaneous_bounds
from tests.results.small_posteriors import worlds


def inside(ranks, low, high):
    """Share of draws with all ranks inside."""
    return ((low <= ranks) & (ranks <= high)).all(-1).mean()


def interval_at(ranks, d):
    """From the d-th smallest to the d-th largest of the draws of each item."""
    ascending = [sorted(item_ranks) for item_ranks in ranks.T.tolist()]
    return np.array([a[d - 1] for a in ascending]), np.array([a[-d] for a in ascending])


def test_draws_with_a_rank_that_is_extreme_are_left_out_by_hand():
    ranks = np.array([[1, 2, 3]] * 7 + [[1, 3, 2]] * 2 + [[2, 3, 1]])
    # Nine draws have 1 or less of the first item, ten 1 or more; and so on: the depth of 1 2 3 is
    # min(9, 10, 7, 10, 10, 7) = 7, of 1 3 2 it is min(9, 10, 10, 3, 3, 9) = 3, and of 2 3 1 it is 1
    for prob, low, high in (
        (0.7, [1, 2, 3], [1, 2, 3]),
        (0.71, [1, 2, 2], [1, 3, 3]),
        (0.9, [1, 2, 2], [1, 3, 3]),
        (0.91, [1, 2, 1], [2, 3, 3]),
    ):
        found = simultaneous_bounds(ranks, ranks, prob)
        assert [found[0].tolist(), found[1].tolist()] == [low, high]


@pytest.mark.parametrize("prob", [0.1, 0.5, 0.8, 0.94, 0.999])
@pytest.mark.parametrize("ties", [False, True])
def test_the_share_of_draws_inside_is_enough_and_no_deeper_intervals_have_it(prob, ties):
    rng = np.random.default_rng(1)
    utility = rng.normal(np.linspace(0, 2, 9), 0.7, size=(300, 9))
    ranks = ranks_of(utility.round() if ties else utility)
    low, high = simultaneous_bounds(ranks, ranks, prob)
    assert inside(ranks, low, high) >= prob
    depths = [d for d in range(1, 301) if inside(ranks, *interval_at(ranks, d)) >= prob]
    assert np.array_equal([low, high], interval_at(ranks, max(depths)))
    assert max(depths) == len(depths)  # shares fall with depth, so one more is not enough
    assert inside(ranks, *interval_at(ranks, max(depths) + 1)) < prob


@pytest.fixture(scope="module")
def held():
    """Of 2,000 worlds: share of draws and truth inside intervals of each and of all at once."""
    truth, draws = worlds(2_000, 10, 500, noise_sd=0.5, seed=5)
    rows = []
    for true, u in zip(ranks_of(truth), draws.values[:, 0], strict=True):
        ranks = ranks_of(u)
        at_once, alone = simultaneous_bounds(ranks, ranks, 0.8), equal_tails(ranks, ranks, 0.8)
        rows.append([inside(ranks, *at_once), inside(true, *at_once), inside(true, *alone)])
    return np.array(rows)


def test_the_true_ranks_are_inside_at_once_as_often_as_stated(held):
    stated, true = held[:, 0], held[:, 1]
    assert true.mean() >= 0.8 - 4.9 * true.std() / np.sqrt(len(true))
    assert abs((true - stated).mean()) < 4.9 * (true - stated).std() / np.sqrt(len(true))
    assert stated.mean() < 0.85  # ranks are whole numbers, so it is not 0.8
