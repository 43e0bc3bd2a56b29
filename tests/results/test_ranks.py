"""Ranks and their summaries: tiny posteriors worked out by hand."""

import itertools
import math
import tracemalloc

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import bayesrank as br
from bayesrank.reporting.page.report import verdict
from bayesrank.results import (
    PairWins,
    comparisons,
    rank_draws,
    rank_summary,
    win_probability,
)
from tests.results.small_posteriors import RANKS, noise, posterior


def test_ranks_of_each_draw_have_one_for_the_highest():
    ranks = rank_draws(posterior())
    assert ranks.dtype == np.int32
    assert ranks.dims == ("chain", "draw", "item")
    assert ranks.values.tolist() == RANKS
    assert ranks["item"].values.tolist() == ["ale", "bock", "cider"]


def test_items_equal_in_a_draw_share_the_better_rank():
    draws = posterior([[[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [2.0, 2.0, 2.0]]])
    assert rank_draws(draws).values.tolist() == [[[1, 1, 3], [3, 1, 1], [1, 1, 1]]]
    summary = rank_summary(draws, top=2)
    # shares of the first place: ale 1/2 0 1/3, bock 1/2 1/2 1/3, cider 0 1/2 1/3
    assert summary["p_best"].to_dict() == pytest.approx(
        {"ale": 5 / 18, "bock": 8 / 18, "cider": 5 / 18}
    )
    # of the first two: ale 1 0 2/3, bock 1 1 2/3, cider 0 1 2/3
    assert summary["p_top2"].to_dict() == pytest.approx(
        {"ale": 5 / 9, "bock": 8 / 9, "cider": 5 / 9}
    )
    # places of ale 1-2, 3, 1-3; of bock 1-2, 1-2, 1-3
    assert summary["mean_rank"].to_dict() == pytest.approx(
        {"ale": 6.5 / 3, "bock": 5 / 3, "cider": 6.5 / 3}
    )


@pytest.mark.parametrize("simultaneous", [False, True])
def test_items_that_are_equal_in_all_draws_share_their_places(simultaneous):
    rng = np.random.default_rng(0)
    draws = rng.normal([3.0, 0.0, -3.0], 0.1, (1, 100, 3))[:, :, [0, 0, 1, 2, 2, 2]]
    u = xr.DataArray(draws, dims=("chain", "draw", "item"), coords={"item": list("abcdef")})
    summary = rank_summary(u, top=[1, 2, 5], simultaneous=simultaneous).sort_index()
    assert summary["mean_rank"].tolist() == [1.5, 1.5, 3.0, 5.0, 5.0, 5.0]
    assert summary["rank_low"].tolist() == [1, 1, 3, 4, 4, 4]
    assert summary["rank_high"].tolist() == [2, 2, 3, 6, 6, 6]
    assert summary["p_best"].tolist() == [0.5, 0.5, 0, 0, 0, 0]
    assert summary["p_top2"].tolist() == [1, 1, 0, 0, 0, 0]
    assert summary["p_top5"].tolist() == pytest.approx([1, 1, 1, *[2 / 3] * 3])
    assert summary["status"].tolist() == ["leads", "tied", *["behind"] * 4]


@pytest.mark.parametrize("seed", range(3))
def test_ties_are_as_if_each_draw_ordered_its_equal_items_at_random(seed):
    rng = np.random.default_rng(seed)
    u = noise(40, 5, seed).round(0)
    summary = rank_summary(u, top=[1, 2, 3, 4]).sort_index()
    for k in range(1, 5):
        assert summary[f"p_top{k}"].sum() == pytest.approx(k)
    # 2,000 copies of each draw, with equal items in a random order
    many = u.values[0].repeat(2000, axis=0) + rng.uniform(0, 1e-6, (80_000, 5))
    broken = rank_summary(xr.DataArray(many[None], dims=u.dims), top=[2]).sort_index()
    # the standard error of the mean of n places within a draw is at most 2 / sqrt(n)
    for name, sd in (("p_best", 0.5), ("p_top2", 0.5), ("mean_rank", 2)):
        atol = 5 * sd / np.sqrt(80_000)
        np.testing.assert_allclose(summary[name], broken[name], atol=atol)


def test_utilities_are_relative_to_the_mean_of_each_draw():
    u = noise(50, 4)
    level = xr.DataArray(np.random.default_rng(1).normal(0, 100, (1, 50)), dims=("chain", "draw"))
    one, other = rank_summary(u), rank_summary(u + level)
    pd.testing.assert_frame_equal(one, other)
    assert one["mean"].sum() == pytest.approx(0)
    assert (other["sd"] < 2).all()


def test_the_interval_has_the_probability_of_arviz_by_default():
    u = noise(100, 8)
    with az.rc_context({"stats.ci_prob": 0.5}):
        half = rank_summary(u)
    assert half.equals(rank_summary(u, ci_prob=0.5))
    assert rank_summary(u).equals(rank_summary(u, ci_prob=az.rcParams["stats.ci_prob"]))


def test_a_summary_of_four_draws_is_what_one_counts_by_hand():
    summary = rank_summary(posterior(), top=2, ci_prob=0.5)
    assert summary.index.tolist() == ["ale", "bock", "cider"]
    assert summary.index.name == "item"
    # ranks of ale: 1 1 1 3; of bock: 1 2 2 3; of cider: 2 2 3 3
    assert summary["mean_rank"].tolist() == [1.5, 2.0, 2.5]
    assert summary["rank_low"].tolist() == [1, 1, 2]  # the first of four
    assert summary["rank_high"].tolist() == [1, 2, 3]  # the third of four
    assert summary["p_best"].tolist() == [0.75, 0.25, 0.0]
    assert summary["p_top2"].tolist() == [0.75, 0.75, 0.5]
    # ale is better than bock in draws 1, 2, 4 and better than cider in the same
    assert summary["p_leader_better"].tolist() == [0.0, 0.75, 0.75]
    # minus the mean of each draw, in thirds: ale 3 3 -3 11; bock 0 0 3 -7; cider -3 -3 0 -4
    relative = np.array([[3, 3, -3, 11], [0, 0, 3, -7], [-3, -3, 0, -4]]) / 3
    assert summary["mean"].tolist() == pytest.approx(relative.mean(axis=1))
    assert summary["sd"].tolist() == pytest.approx(relative.std(axis=1, ddof=1))


def test_rank_intervals_are_whole_ranks_with_equal_tails():
    # ranks of "a": 1 fifty times, 2 thirty times, 3 twenty times
    a = [3.0] * 50 + [1.5] * 30 + [0.0] * 20
    u = posterior([[[x, 2.0, 1.0] for x in a]], items="abc")
    ends = {
        prob: tuple(rank_summary(u, ci_prob=prob).loc["a", ["rank_low", "rank_high"]])
        for prob in (0.5, 0.62, 0.7, 0.94)
    }
    # the upper tails begin at draw 75, 81, 85, 97 of 100
    assert ends == {0.5: (1, 2), 0.62: (1, 3), 0.7: (1, 3), 0.94: (1, 3)}


def test_several_tops_are_a_column_each():
    summary = rank_summary(posterior(), top=[2, 1, 10])
    assert [c for c in summary.columns if c.startswith("p_top")] == ["p_top2", "p_top1", "p_top10"]
    assert summary["p_top2"].tolist() == [0.75, 0.75, 0.5]
    assert summary["p_top1"].tolist() == summary["p_best"].tolist()
    assert summary["p_top10"].tolist() == [1, 1, 1]


def test_simultaneous_intervals_are_wider_and_change_nothing_else():
    u = noise(400, 12)
    alone, at_once = rank_summary(u, ci_prob=0.5), rank_summary(u, ci_prob=0.5, simultaneous=True)
    assert (at_once["rank_low"] <= alone["rank_low"]).all()
    assert (at_once["rank_high"] >= alone["rank_high"]).all()
    ends = ["rank_low", "rank_high"]
    assert not at_once[ends].equals(alone[ends])
    assert at_once[ends].dtypes.equals(alone[ends].dtypes)
    assert at_once.drop(columns=ends).equals(alone.drop(columns=ends))


@pytest.mark.parametrize(("tied_prob", "tied"), [(0.74, False), (0.75, False), (0.76, True)])
def test_items_are_tied_unless_the_leader_is_better_with_the_stated_probability(tied_prob, tied):
    summary = rank_summary(posterior(), tied_prob=tied_prob)
    assert summary["status"].tolist() == ["leads", *["tied" if tied else "behind"] * 2]


def test_the_best_mean_rank_comes_first_whatever_the_order_of_the_items():
    backwards = posterior().isel(item=[2, 1, 0])
    assert rank_summary(backwards).index.tolist() == ["ale", "bock", "cider"]
    assert rank_summary(backwards).equals(rank_summary(posterior()))


def test_one_draw_has_ranks_and_no_standard_deviation():
    summary = rank_summary(posterior([[[0.0, 2.0, 1.0]]]))
    assert summary["mean_rank"].to_dict() == {"bock": 1, "cider": 2, "ale": 3}
    assert summary["sd"].isna().all()


def test_results_of_pymc_with_other_names_are_read():
    with pm.Model(coords={"player": ["ann", "ben", "cat"]}):
        pm.Normal("skill", np.array([0.0, 40.0, 20.0]), 1.0, dims="player")
        sampled = pm.sample(
            tune=50, draws=20, chains=2, cores=1, nuts_sampler="pymc", progressbar=False,
            random_seed=1, compute_convergence_checks=False, quiet=True,
        )  # fmt: skip
        mode = pm.find_MAP(progressbar=False, return_inferencedata=True, jitter=False)
    for found, n_draws in ((sampled, 40), (mode, 1)):
        assert rank_draws(found, "skill", dim="player").size == 3 * n_draws
        summary = rank_summary(found, "skill", dim="player")
        assert summary["mean_rank"].to_dict() == {"ben": 1, "cat": 2, "ann": 3}
        assert summary["mean"].to_dict() == pytest.approx({"ben": 20, "cat": 0, "ann": -20}, abs=1)
    p = win_probability(mode, "skill", dim="player")
    assert float(p.sel(player="ben", player_other="ann")) == 1


@pytest.mark.parametrize(("name", "lowest"), [("ci_prob", 0.0), ("tied_prob", 0.5)])
@pytest.mark.parametrize("prob", [-0.1, 1, 94, np.nan, "lowest"])
def test_a_probability_out_of_range_raises(name, lowest, prob):
    prob = lowest if prob == "lowest" else prob
    with pytest.raises(
        ValueError, match=rf"^`{name}` is {prob}; it must lie between {lowest} and 1"
    ):
        rank_summary(posterior(), **{name: prob})


# Size


def test_memory_of_a_summary_grows_in_proportion_to_the_items():
    def peak(n_items):
        u = noise(200, n_items)
        tracemalloc.start()
        rank_summary(u)
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used / u.nbytes

    peak(10)  # imports and caches
    small, large = peak(500), peak(2000)
    assert large < 1.1 * small  # quadratic would be four times
    assert large < 6  # copies of the draws: 0.4 GB at 4,000 draws of 2,000 items


# What is known of an item


def test_known_is_the_share_of_the_variance_that_the_data_took():
    rng = np.random.default_rng(0)
    sd = np.array([2.0, 1.0, 0.5, 0.1])
    draws = rng.normal(0, sd, (4, 5000, 4)) + rng.normal(0, 9, (4, 5000, 1))  # a common shift
    u = xr.DataArray(draws, dims=("chain", "draw", "item"), coords={"item": list("abcd")})
    known = rank_summary(u, prior_sd=2.0)["known"].sort_index()
    weights = np.eye(4) - 0.25  # from the mean of all items
    expected = 1 - (weights**2 @ sd**2) / (4 * 0.75)
    # the standard error of a variance of n draws is sqrt(2 / n) of it: 0.01 here
    np.testing.assert_allclose(known, expected.clip(0), atol=0.05)
    with pytest.raises(ValueError, match="`prior_sd` is 0; it must be positive and finite"):
        rank_summary(u, prior_sd=0)


def test_a_status_is_by_group_and_without_a_prior_no_item_is_unclear():
    u = xr.DataArray(
        np.random.default_rng(0).normal([[2, 0], [0, 2]], 2, (2, 200, 2, 2)),
        dims=("chain", "draw", "year", "item"), coords={"item": ["a", "b"], "year": [1, 2]},
    )  # fmt: skip
    assert rank_summary(u)["status"].to_dict() == {
        (1, "a"): "leads", (1, "b"): "tied", (2, "b"): "leads", (2, "a"): "tied"
    }  # fmt: skip


# Thin links


def two_islands(between, within=30, n_items=6):
    """Counts of matches: every two items of an island met, and one pair of both islands did."""
    wins = np.zeros((2 * n_items, 2 * n_items))
    for island in (slice(n_items), slice(n_items, None)):
        wins[island, island] = within / 2
    np.fill_diagonal(wins, 0)
    wins[n_items - 1, n_items] = wins[n_items, n_items - 1] = between / 2
    return PairWins(pd.Index(range(2 * n_items)), wins, np.zeros_like(wins))


def drawn_of(mean, sd=0.3):
    draws = np.random.default_rng(1).normal(mean, sd, (2, 1000, len(mean)))
    dims = ("chain", "draw", "item")
    return xr.DataArray(draws, dims=dims, coords={"item": range(len(mean))})


@pytest.mark.parametrize(("between", "word"), [(0, "unclear"), (12, "unclear"), (200, "tied")])
def test_items_behind_a_thin_bridge_are_unclear_and_the_others_are_tied(between, word):
    u = drawn_of(np.linspace(0.2, 0.0, 12))
    words = rank_summary(u, compared=two_islands(between))["status"]
    assert words[0] == "leads"
    assert set(words[list(range(1, 6))]) == {"tied"}
    assert set(words[list(range(6, 12))]) == {word}


def test_a_leader_is_not_the_champion_of_an_island_that_nobody_met():
    u = drawn_of(np.r_[3.0, np.zeros(11)])
    table = rank_summary(u, compared=two_islands(0))
    assert set(table["status"][list(range(6, 12))]) == {"unclear"}
    assert set(table["status"][list(range(1, 6))]) == {"behind"}
    assert verdict(table).count("may be better") == 1
    # a dozen even matches are enough to tell three units apart
    assert set(rank_summary(u, compared=two_islands(12))["status"][1:]) == {"behind"}


def test_a_ranking_says_as_much_as_its_stages_and_not_as_all_its_pairs():
    # the information of a full ranking of equal items, by the definition of Plackett-Luce
    m = 5
    wanted = np.zeros((m, m))
    for order in itertools.permutations(range(m)):
        for k in range(m - 1):
            left = np.array(order[k:])
            wanted[np.ix_(left, left)] += 1 / len(left) ** 2 / math.factorial(m)
    np.fill_diagonal(wanted, 0)
    found = comparisons(br.Rankings.from_orderings([[*"abcde"]], rest=())).met
    np.testing.assert_allclose(found, 4 * wanted)
    np.testing.assert_allclose(
        comparisons(br.Rankings.from_orderings([["a", "b"]], rest=())).met, [[0, 1], [1, 0]]
    )
