"""Tiers: what they promise, against all possible cuts, and the edges."""

from itertools import combinations

import numpy as np
import pytest
import xarray as xr

import bayesrank as br
from bayesrank.results.ranks.tiers import find_tiers


def posterior(draws, **coords):
    return xr.DataArray(np.asarray(draws, float), dims=("chain", "draw", "item"), coords=coords)


def holds(draws, tier):
    """In which draws every item is better than all of lower tiers, pair by pair."""
    lower = tier[:, None] < tier
    return np.array([(u[:, None] > u)[lower].all() for u in draws])


@pytest.mark.parametrize("seed", range(20))
def test_tiers_hold_with_the_probability_that_is_stated_and_no_cuts_give_more(seed):
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(6, 6))
    draws = rng.normal(size=6) * 3 + rng.normal(size=(300, 6)) @ mixing * rng.choice([0.1, 0.5])
    mean_rank = (draws[:, None, :] > draws[:, :, None]).sum(2).mean(0)
    leads = np.arange(6) == mean_rank.argmin()
    tiers, probability = find_tiers(draws, mean_rank, leads, 0.9)
    assert probability == holds(draws, tiers).mean() >= 0.9

    order = mean_rank.argsort(kind="stable")
    most = 1
    for n in range(1, 6):
        for cuts in combinations(range(1, 6), n):
            tier = np.empty(6, int)
            tier[order] = 1 + np.isin(np.arange(6), cuts).cumsum()
            if holds(draws, tier).mean() >= 0.9:
                most = n + 1
    assert tiers.max() == most


def test_overlapping_intervals_are_not_what_counts():
    """Two items that move together are told apart, however wide each one's interval is."""
    together = np.random.default_rng(0).normal(size=(1, 1000, 1)) * 10
    u = posterior(np.concatenate([together + 0.1, together], axis=2), item=["a", "b"])
    assert br.tiers(u)["tier"].values.tolist() == [1, 2]


def test_each_cut_may_be_sure_and_all_at_once_not():
    draws = np.tile([3.0, 2.0, 1.0], (100, 1))
    draws[:4] = [2.0, 3.0, 1.0]  # the first cut fails in 4 of 100
    draws[96:] = [3.0, 1.0, 2.0]  # and the second in 4 others
    found = br.tiers(posterior(draws[None]), prob=0.95)
    assert found["tier"].values.max() == 2
    assert float(found["p_tiers"]) == 0.96
    assert br.tiers(posterior(draws[None]), prob=0.92)["tier"].values.tolist() == [1, 2, 3]


def test_groups_have_tiers_of_their_own():
    draws = np.array([[[[1.0, 0.0], [0.0, 1.0]]]])
    u = xr.DataArray(draws, dims=("chain", "draw", "season", "item"))
    found = br.tiers(u)
    assert found["tier"].dims == ("season", "item")
    assert found["tier"].values.tolist() == [[1, 2], [2, 1]]
    assert found["p_tiers"].values.tolist() == [1.0, 1.0]


def test_one_item_one_tier_and_equal_items_one_tier():
    assert br.tiers(posterior([[[1.0], [2.0]]]))["tier"].values.tolist() == [1]
    tied = br.tiers(posterior([[[1.0, 1.0], [2.0, 2.0]]]))
    assert tied["tier"].values.tolist() == [1, 1]
    assert float(tied["p_tiers"]) == 1.0


def test_bad_probability():
    with pytest.raises(ValueError, match=r"`prob` is 0\.5; it must lie between 0\.5 and 1"):
        br.tiers(posterior([[[1.0, 2.0]]]), prob=0.5)


def test_elo_points_are_log_odds_and_the_anchor_is_fixed():
    rng = np.random.default_rng(3)
    u = posterior(rng.normal(size=(2, 50, 3)), item=["a", "b", "c"])
    elo = br.elo_scale(u, anchor="b", at=1500)
    assert np.allclose(elo.sel(item="b"), 1500)
    ahead = elo.sel(item="a") - elo.sel(item="c")
    won = 1 / (1 + 10 ** (-ahead / 400))
    lead = u.sel(item="a") - u.sel(item="c")
    assert np.allclose(won, 1 / (1 + np.exp(-lead)))
    assert np.allclose(br.elo_scale(u).mean("item"), 1000)
    ranks = br.rank_summary(elo, "elo").drop(columns=["mean", "sd"])
    assert ranks.equals(br.rank_summary(u).drop(columns=["mean", "sd"]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"anchor": "z"}, r"^`anchor` is 'z'; it must be one of the items: a, b\.$"),
        ({"at": np.inf}, "`at` is inf; the points of the anchor must be finite"),
    ],
)
def test_elo_refuses(options, message):
    with pytest.raises(ValueError, match=message):
        br.elo_scale(posterior([[[1.0, 2.0]]], item=["a", "b"]), **options)
