"""Probabilities of places: direct counts, and what they sum to."""

import numpy as np
import pytest
import xarray as xr

from bayesrank.results import place_probability, rank_draws, win_probability
from tests.results.small_posteriors import noise, posterior


def test_place_probabilities_are_shares_of_draws():
    p = place_probability(posterior())
    assert p.dims == ("item", "place")
    assert p.dtype == np.float64
    assert p["item"].values.tolist() == ["ale", "bock", "cider"]
    assert p["place"].values.tolist() == [1, 2, 3]
    # ranks of ale: 1 1 3 1; of bock: 2 2 1 3; of cider: 3 3 2 2
    assert p.values.tolist() == [[0.75, 0, 0.25], [0.25, 0.5, 0.25], [0, 0.5, 0.5]]
    assert p.sel(item="bock", place=2).item() == 0.5


def test_place_probabilities_are_those_of_direct_counts():
    u = noise(300, 40)
    direct = [(rank_draws(u).values == k).mean((0, 1)) for k in range(1, 41)]
    np.testing.assert_array_equal(place_probability(u).values.T, direct)


def test_items_equal_in_a_draw_share_its_places():
    p = place_probability(posterior([[[1.0, 1.0, 0.0]]]))
    assert p.values.tolist() == [[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]]
    p = place_probability(noise(50, 9).round(0))
    np.testing.assert_allclose(p.sum("place"), 1)
    np.testing.assert_allclose(p.sum("item"), 1)
    assert (p >= 0).all()


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


@pytest.mark.parametrize("equal", [False, True], ids=["in an order", "with equal ones"])
def test_wins_are_counted_over_many_items_and_draws(equal):
    draws = np.random.default_rng(3).normal(size=(1, 2050, 70))
    if equal:
        draws = draws.round(1)
    found = win_probability(xr.DataArray(draws, dims=("chain", "draw", "item"))).to_numpy()
    one, other = draws[0][:, :, None], draws[0][:, None, :]
    exact = (one > other).mean(axis=0) + (one == other).mean(axis=0) / 2
    np.testing.assert_allclose(found, exact, atol=1e-12)


def test_places_tell_the_mean_number_of_better_items():
    u = noise(300, 40)
    mean_rank = (place_probability(u) * np.arange(1, 41)).sum("place")
    better = win_probability(u).sum("item") - 0.5  # less the half against itself
    np.testing.assert_allclose(mean_rank, 1 + better)
