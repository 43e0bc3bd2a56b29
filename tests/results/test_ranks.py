"""Ranks, summaries and win probabilities: tiny posteriors worked out by hand, and bad input."""

import tracemalloc

import numpy as np
import pymc as pm
import pytest
import xarray as xr

from bayesrank.results.ranks import posterior_utilities, rank_draws, rank_summary, win_probability

# Two chains of two draws; ranks beside them.
DRAWS = [
    [[3.0, 2.0, 1.0], [2.0, 1.0, 0.0]],  # 1 2 3, 1 2 3
    [[0.0, 2.0, 1.0], [5.0, -1.0, 0.0]],  # 3 1 2, 1 3 2
]
RANKS = [[[1, 2, 3], [1, 2, 3]], [[3, 1, 2], [1, 3, 2]]]


def posterior(draws=DRAWS, items=("ale", "bock", "cider"), dim="item", name="utility"):
    return xr.DataArray(draws, dims=("chain", "draw", dim), coords={dim: list(items)}, name=name)


def noise(n_draws, n_items, seed=0):
    draws = np.random.default_rng(seed).normal(size=(1, n_draws, n_items))
    return xr.DataArray(draws, dims=("chain", "draw", "item"))


FORMS = {
    "DataArray": lambda u: u,
    "Dataset": lambda u: u.to_dataset(name="utility"),
    "DataTree": lambda u: xr.DataTree.from_dict({"posterior": u.to_dataset(name="utility")}),
    "group of a DataTree": lambda u: xr.DataTree.from_dict(
        {"posterior": u.to_dataset(name="utility")}
    )["posterior"],
}


# What is computed


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
    assert summary["p_best"].to_dict() == pytest.approx({"ale": 2 / 3, "bock": 1, "cider": 2 / 3})
    assert summary["p_top2"].to_dict() == pytest.approx({"ale": 2 / 3, "bock": 1, "cider": 2 / 3})


def test_a_summary_of_four_draws_is_what_one_counts_by_hand():
    summary = rank_summary(posterior(), top=2, prob=0.5)
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
    assert summary["mean"].tolist() == [2.5, 1.0, 0.5]
    # squared distances of 3 2 1 0 ... from the mean: ale 0.25 0.25 6.25 6.25, three degrees
    assert summary["sd"].tolist() == pytest.approx(
        [np.sqrt(13 / 3), np.sqrt((1 + 0 + 1 + 4) / 3), np.sqrt((0.25 + 0.25 + 0.25 + 0.25) / 3)]
    )


def test_rank_intervals_are_whole_ranks_with_equal_tails():
    # ranks of "a": 1 fifty times, 2 thirty times, 3 twenty times
    a = [3.0] * 50 + [1.5] * 30 + [0.0] * 20
    u = posterior([[[x, 2.0, 1.0] for x in a]], items="abc")
    ends = {
        prob: tuple(rank_summary(u, prob=prob).loc["a", ["rank_low", "rank_high"]])
        for prob in (0.5, 0.62, 0.7, 0.94)
    }
    # the upper tails begin at draw 75, 81, 85, 97 of 100
    assert ends == {0.5: (1, 2), 0.62: (1, 3), 0.7: (1, 3), 0.94: (1, 3)}


@pytest.mark.parametrize(("tied_prob", "tied"), [(0.74, False), (0.75, False), (0.76, True)])
def test_an_item_is_tied_unless_the_leader_is_better_with_the_stated_probability(tied_prob, tied):
    summary = rank_summary(posterior(), tied_prob=tied_prob)
    assert summary["tied_with_leader"].tolist() == [True, tied, tied]


def test_an_item_always_equal_to_the_leader_is_tied_with_it():
    summary = rank_summary(posterior([[[1.0, 1.0, 0.0]] * 5]))
    assert summary["tied_with_leader"].to_dict() == {"ale": True, "bock": True, "cider": False}


def test_the_best_mean_rank_comes_first_whatever_the_order_of_the_items():
    backwards = posterior().isel(item=[2, 1, 0])
    assert rank_summary(backwards).index.tolist() == ["ale", "bock", "cider"]
    assert rank_summary(backwards).equals(rank_summary(posterior()))


def test_the_order_of_the_dims_does_not_matter():
    turned = posterior().transpose("item", "draw", "chain")
    assert rank_summary(turned).equals(rank_summary(posterior()))
    assert rank_draws(turned).dims == ("item", "draw", "chain")
    assert rank_draws(turned).transpose("chain", "draw", "item").values.tolist() == RANKS
    assert win_probability(turned).identical(win_probability(posterior()))


def test_one_item_is_always_first():
    summary = rank_summary(posterior([[[0.3], [-0.2]]], items=["ale"]))
    row = summary.loc["ale", ["mean_rank", "rank_low", "rank_high", "p_best", "p_top3"]]
    assert row.tolist() == [1, 1, 1, 1, 1]
    assert summary["tied_with_leader"].tolist() == [True]


def test_one_draw_has_ranks_and_no_standard_deviation():
    summary = rank_summary(posterior([[[0.0, 2.0, 1.0]]]))
    assert summary["mean_rank"].to_dict() == {"bock": 1, "cider": 2, "ale": 3}
    assert summary["sd"].isna().all()


def test_the_top_may_hold_more_places_than_there_are_items():
    assert rank_summary(posterior(), top=10)["p_top10"].tolist() == [1, 1, 1]


def test_groups_are_summarised_apart():
    other = posterior(-np.asarray(DRAWS))
    both = xr.concat([posterior(), other], xr.IndexVariable("year", [2001, 2002]))
    summary = rank_summary(both)
    assert summary.index.names == ["year", "item"]
    assert summary.loc[2001].equals(rank_summary(posterior()))
    assert summary.loc[2002].equals(rank_summary(other))
    assert win_probability(both).sel(year=2002, drop=True).equals(win_probability(other))
    assert rank_draws(both).sel(year=2001).values.tolist() == RANKS


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


@pytest.mark.parametrize("of", ["utility", "match"])
def test_either_of_a_pair_wins(of):
    p = win_probability(noise(50, 7), of=of).values
    np.testing.assert_allclose(p + p.T, 1)
    assert np.ptp(p) > 0.1


# Where draws come from


@pytest.mark.parametrize("form", FORMS)
def test_draws_are_found_in(form):
    data = FORMS[form](posterior())
    assert rank_summary(data).equals(rank_summary(posterior()))
    assert rank_draws(data).values.tolist() == RANKS
    assert win_probability(data).values.tolist() == win_probability(posterior()).values.tolist()


def test_what_the_samplers_of_pymc_return_is_read_with_names_of_ones_own():
    with pm.Model(coords={"player": ["ann", "ben", "cat"]}):
        pm.Normal("skill", np.array([0.0, 40.0, 20.0]), 1.0, dims="player")
        sampled = pm.sample(
            tune=50, draws=20, chains=2, nuts_sampler="nutpie", progressbar=False, random_seed=1,
            compute_convergence_checks=False, quiet=True,
        )  # fmt: skip
        mode = pm.find_MAP(progressbar=False, return_inferencedata=True, jitter=False)
    for found, n_draws in ((sampled, 40), (mode, 1)):
        assert rank_draws(found, "skill", dim="player").size == 3 * n_draws
        summary = rank_summary(found, "skill", dim="player")
        assert summary["mean_rank"].to_dict() == {"ben": 1, "cat": 2, "ann": 3}
        assert summary["mean"].to_dict() == pytest.approx({"ben": 40, "cat": 20, "ann": 0}, abs=1)
    p = win_probability(mode, "skill", dim="player")
    assert float(p.sel(player="ben", player_other="ann")) == 1


def test_items_without_names_are_numbered():
    u = xr.DataArray(DRAWS, dims=("chain", "draw", "item"))
    assert rank_summary(u).index.tolist() == [0, 1, 2]


def test_whole_numbers_and_single_precision_become_doubles():
    for dtype in (np.int64, np.uint8, np.float32):
        u = xr.DataArray([[[0, 2, 1]]], dims=("chain", "draw", "item")).astype(dtype)
        assert posterior_utilities(u, "utility", "item").dtype == np.float64
        assert rank_draws(u).values.tolist() == [[[3, 1, 2]]]


def test_the_input_is_left_as_it_was():
    u = posterior()
    rank_draws(u), rank_summary(u), win_probability(u)
    assert u.identical(posterior())


# Bad input

EVERY = pytest.mark.parametrize("function", [rank_draws, rank_summary, win_probability])


@EVERY
def test_an_unknown_variable_raises_and_the_known_ones_are_named(function):
    data = xr.DataTree.from_dict(
        {"posterior": xr.Dataset({"skill": posterior(), "luck": posterior()})}
    )
    with pytest.raises(
        ValueError, match=r"^The posterior has no variable 'utility'; it has \['luck', 'skill'\]\.$"
    ):
        function(data)


@EVERY
def test_a_tree_without_a_posterior_raises(function):
    data = xr.DataTree.from_dict({"prior": posterior().to_dataset()})
    with pytest.raises(ValueError, match=r"has no posterior; it has \['prior'\]\. Pass what pm\."):
        function(data)


@EVERY
def test_an_unknown_dim_of_items_raises(function):
    with pytest.raises(
        ValueError,
        match=r"^'utility' has no dim 'driver'; it has \['chain', 'draw', 'item'\]\. Name the one "
        r"that is meant with dim=\.$",
    ):
        function(posterior(), dim="driver")


@EVERY
def test_draws_without_chains_raise(function):
    with pytest.raises(ValueError, match=r"has no dim 'chain'; it has \['draw', 'item'\]\. Pass d"):
        function(posterior().isel(chain=0))
    with pytest.raises(ValueError, match=r"has no dim 'chain'; it has \['item', 'sample'\]\."):
        function(posterior().stack(sample=["chain", "draw"]))


@EVERY
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_draws_that_are_not_finite_raise_and_are_counted(function, bad):
    u = posterior().copy()
    u[0, 1, :2] = bad
    u[1, 1, 2] = bad
    with pytest.raises(ValueError, match=r"^2 of 4 draws of 'utility' hold NaN or infinite values"):
        function(u)


@EVERY
def test_nothing_that_holds_draws_raises(function):
    with pytest.raises(TypeError, match=r"^Expected a DataTree, .* with draws; got dict\.$"):
        function({"utility": DRAWS})


@EVERY
def test_no_draw_raises(function):
    with pytest.raises(ValueError, match=r"^'utility' is empty; its sizes are \{'chain': 2, 'dr"):
        function(posterior().isel(draw=[]))


@EVERY
def test_an_unknown_argument_raises(function):
    with pytest.raises(TypeError, match="unexpected keyword argument 'topp'"):
        function(posterior(), topp=2)


@pytest.mark.parametrize("prob", [0, 1, -0.1, 94, np.nan])
def test_a_probability_out_of_range_raises(prob):
    with pytest.raises(ValueError, match=rf"^`prob` is {prob}; it must lie between 0.0 and 1\.$"):
        rank_summary(posterior(), prob=prob)


@pytest.mark.parametrize("prob", [0.5, 1, 95])
def test_a_probability_of_ties_out_of_range_raises(prob):
    with pytest.raises(ValueError, match=rf"^`tied_prob` is {prob}; it must lie between 0.5 and 1"):
        rank_summary(posterior(), tied_prob=prob)


@pytest.mark.parametrize("top", [0, -1, 1.5])
def test_a_top_that_is_no_place_raises(top):
    with pytest.raises(ValueError, match=rf"^`top` is {top}; it must be a whole number, 1 or more"):
        rank_summary(posterior(), top=top)


def test_an_unknown_kind_of_win_probability_raises():
    with pytest.raises(ValueError, match=r"^`of` is 'matches'; it is one of 'utility', 'match'\.$"):
        win_probability(posterior(), of="matches")


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
    assert large < 12  # copies of the draws: 0.8 GB at 4,000 draws of 2,000 items
