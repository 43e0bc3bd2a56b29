"""Who cannot be told from the leader: by hand, by cumulative maxima, and how often it is true."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bayesrank.plots import plot_ranks
from bayesrank.results import PairWins, rank_summary, tied_with_leader, tiers
from tests.results.small_posteriors import orders, posterior, worlds


def test_items_are_excluded_as_long_as_the_leader_is_better_than_all_of_them_at_once():
    # of 100 draws, b is first in 2, c in 2 and d in 4, never two of them before a
    u = orders(*["abcd"] * 92, *["bacd"] * 2, *["cabd"] * 2, *["dabc"] * 4)
    for prob, tied, p in (
        (0.99, "abcd", 1.0),
        (0.98, "abd", 0.98),  # c rather than b, which is as surely worse and has the better mean
        (0.97, "abd", 0.98),
        (0.96, "ad", 0.96),
        (0.93, "ad", 0.96),
        (0.92, "a", 0.92),
    ):
        found = tied_with_leader(u, prob=prob)
        assert "".join(found["item"].values[found["tied"]]) == tied
        assert found["p_others_worse"].item() == p
        assert found["leader"].item() == "a"


def thinly_linked():
    """Draws of six items in three levels, and comparisons that nothing links with the last two."""
    means = np.array([3.0, 2.9, 1.0, 0.9, -1.0, -1.1])
    draws = np.random.default_rng(0).normal(means, [0.3, 0.3, 0.3, 3.0, 0.3, 0.3], (2, 500, 6))
    u = xr.DataArray(draws, dims=("chain", "draw", "item"), coords={"item": list("abcdef")})
    wins = np.full((6, 6), 30.0)
    wins[4:, :4] = wins[:4, 4:] = 0
    np.fill_diagonal(wins, 0)
    return u, PairWins(pd.Index(list("abcdef")), wins, np.zeros((6, 6)))


def test_every_function_shows_the_same_status():
    u, compared = thinly_linked()
    given = {"prior_sd": 2.0, "compared": compared}
    status = rank_summary(u, **given)["status"].sort_index()
    assert status.to_dict() == {
        "a": "leads", "b": "tied", "c": "behind", "d": "unclear", "e": "unclear", "f": "unclear"
    }  # fmt: skip
    found = tied_with_leader(u, **given)
    assert found["status"].to_series().equals(status)
    assert found["tied"].values.tolist() == (status != "behind").tolist()
    # what is left is better than asked for
    leads = u.sel(item="a") > u.sel(item="c")
    assert found["p_others_worse"].item() == leads.mean().item() >= 0.95
    assert set(tiers(u, compared=compared)["tier"].values) == {1}
    assert tiers(u.sel(item=["a", "b", "c"]))["tier"].values.tolist() == [1, 1, 2]
    pc = plot_ranks(u, **given)
    assert pc.viz["point_estimate"]["utility"]["status"].values.tolist() == [
        "leads", "tied", "unclear", "behind"
    ]  # fmt: skip
    plt.close()


def test_items_in_lower_tiers_are_behind():
    rng = np.random.default_rng(3)
    for _ in range(50):
        draws = rng.normal(rng.normal(0, 2, 8), rng.uniform(0.1, 1, 8), (1, 200, 8))
        u = xr.DataArray(draws, dims=("chain", "draw", "item"))
        lower = tiers(u)["tier"].values > 1
        assert not tied_with_leader(u)["tied"].values[lower].any()


def test_the_leader_of_items_without_labels_is_a_number():
    u = xr.DataArray([[[0.0, 2.0, 1.0]]], dims=("chain", "draw", "item"))
    assert tied_with_leader(u)["leader"].item() == 1
    assert tied_with_leader(u)["tied"].values.tolist() == [False, True, False]


def test_an_item_always_equal_to_the_leader_is_tied_with_it():
    found = tied_with_leader(posterior([[[1.0, 1.0, 0.0]] * 5]))
    assert found["tied"].values.tolist() == [True, True, False]


@pytest.mark.parametrize("prob", [0.6, 0.8, 0.95])
@pytest.mark.parametrize("seed", range(5))
def test_it_is_one_pass_of_cumulative_maxima(prob, seed):
    rng = np.random.default_rng(seed)
    u = rng.normal(np.linspace(2, 0, 20), 0.5, size=(200, 20)).round(1)  # with ties
    found = tied_with_leader(xr.DataArray(u[None], dims=("chain", "draw", "item")), prob=prob)
    mean_rank = (1 + (u[:, None, :] > u[:, :, None]).sum(2)).mean(0)
    leader = mean_rank.argmin()
    surest = sorted(
        set(range(20)) - {leader},
        key=lambda j: (-(u[:, leader] > u[:, j]).mean(), -mean_rank[j]),
    )
    highest, excluded = np.full(200, -np.inf), []
    for j in surest:
        highest = np.maximum(highest, u[:, j])
        if (u[:, leader] > highest).mean() < prob:
            break
        excluded.append(j)
    assert 0 < len(excluded) < 19
    assert np.flatnonzero(~found["tied"]).tolist() == sorted(excluded)
    best_of_them = u[:, excluded].max(1)
    assert found["p_others_worse"].item() == (u[:, leader] > best_of_them).mean()


@pytest.mark.parametrize("prob", [0.5, 1, 95, np.nan])
def test_a_probability_out_of_range_raises(prob):
    with pytest.raises(ValueError, match=rf"^`prob` is {prob}; it must lie between 0.5 and 1\.$"):
        tied_with_leader(posterior(), prob=prob)


# How often it is true, of 2,000 worlds of 30 items


@pytest.fixture(scope="module")
def simulated():
    truth, draws = worlds(2_000, 30, 500, noise_sd=0.8, seed=8)
    return truth, draws, tied_with_leader(draws, prob=0.95)


def leader_is_best(truth, leader, excluded):
    """In which worlds the leader is truly better than all of the excluded."""
    leader_utility = np.take_along_axis(truth, leader[:, None], axis=1)
    return (np.where(excluded, truth, -np.inf) < leader_utility).all(1)


def test_the_excluded_are_all_worse_than_the_leader_as_often_as_stated(simulated):
    truth, _, found = simulated
    tied, stated = found["tied"].values, found["p_others_worse"].values
    assert 10 < tied.sum(1).mean() < 25  # neither all nor none is excluded
    true = leader_is_best(truth, found["leader"].values, ~tied)
    assert true.mean() >= 0.95 - 4.9 * np.sqrt(0.95 * 0.05 / len(true))
    assert abs((true - stated).mean()) < 4.9 * (true - stated).std() / np.sqrt(len(true))
    assert stated.mean() < 0.975  # close to the probability asked for


def test_the_set_contains_the_best_item_as_often_as_stated(simulated):
    truth, _, found = simulated
    best = truth.argmax(1)
    contained = found["tied"].values[np.arange(len(best)), best]
    assert contained.mean() >= 0.95


def test_excluding_one_by_one_does_not_keep_what_it_seems_to_promise(simulated):
    truth, draws, found = simulated
    leader = found["leader"]
    p_better = (draws < draws.isel(item=leader)).mean(["chain", "draw"])
    one_by_one = (p_better >= 0.95).values
    assert one_by_one.sum(1).mean() > (~found["tied"]).values.sum(1).mean() + 3
    true = leader_is_best(truth, leader.values, one_by_one).mean()
    assert true + 4.9 * np.sqrt(true * (1 - true) / len(truth)) < 0.95
