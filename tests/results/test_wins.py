"""Probabilities that one item beats another, counted by hand."""

import numpy as np
import pytest

from bayesrank.results import win_probability
from bayesrank.results.ranks.probabilities import times_above
from tests.results.small_posteriors import posterior


def test_win_probability_of_utilities_is_how_often_one_is_above():
    p = win_probability(posterior())
    assert p.dims == ("item", "item_other")
    # ale over bock in draws 1 2 4; ale over cider in 1 2 4; bock over cider in 1 2 3
    assert p.values.tolist() == [[0.5, 0.75, 0.75], [0.25, 0.5, 0.75], [0.25, 0.25, 0.5]]
    assert float(p.sel(item="ale", item_other="cider")) == 0.75


def test_a_draw_with_equal_utilities_counts_half_for_each():
    p = win_probability(posterior([[[1.0, 1.0, 0.0], [2.0, 1.0, 0.0]]]))
    assert float(p.sel(item="ale", item_other="bock")) == 0.75
    assert float(p.sel(item="bock", item_other="ale")) == 0.25


def test_win_probability_of_a_match_averages_the_logistic():
    log2, log4 = np.log(2), np.log(4)
    p = win_probability(posterior([[[log2, 0.0, 0.0], [log4, 0.0, -800.0]]]), of="match")
    # 2/3 and 4/5; the last comparison is even, then certain
    assert float(p.sel(item="ale", item_other="bock")) == pytest.approx((2 / 3 + 4 / 5) / 2)
    assert float(p.sel(item="bock", item_other="ale")) == pytest.approx((1 / 3 + 1 / 5) / 2)
    assert float(p.sel(item="bock", item_other="cider")) == 0.75
    assert np.diag(p).tolist() == [0.5, 0.5, 0.5]


@pytest.mark.parametrize("n_items", [5, 33])
def test_times_above_are_direct_counts(n_items):
    draws = np.random.default_rng(0).integers(0, 6, (40, n_items)) * 1.0
    direct = [
        [int((draws[:, i] > draws[:, j]).sum()) for j in range(n_items)] for i in range(n_items)
    ]
    assert times_above(draws).tolist() == direct


def test_an_unknown_kind_of_win_probability_raises():
    with pytest.raises(ValueError, match=r"^`of` is 'matches'; it must be 'utility' or 'match'\.$"):
        win_probability(posterior(), of="matches")
