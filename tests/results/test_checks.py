"""Predictive checks: statistics by hand, models that are wrong in one way each, bad input."""

from functools import cache

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from scipy.stats import chi2

import bayesrank as br
from bayesrank.results.checks import ranking_checks as module
from bayesrank.results.checks.families import omnibus_columns, tail_probability, whole_rows
from bayesrank.results.checks.ranking_checks import GIVEN, ranking_checks, worst_checks
from tests.builders import results

DIMS = ("ranking", "slot")
# a over b over c, c over b, and a and b over c, which counts twice; the empty slot holds item 0
ITEM = [[0, 1, 2], [2, 1, 0], [0, 1, 2]]
RANKS = [[1, 2, 3], [1, 2, 0], [1, 1, 2]]
WEIGHT = [1.0, 1.0, 2.0]
# the same in each draw but for the first ranking
DRAWN = [[first, *RANKS[1:]] for first in ([1, 2, 3], [1, 2, 3], [2, 1, 3], [3, 2, 1])]


def tree(ranks=RANKS, drawn=DRAWN, item=ITEM, weight=WEIGHT, outcome="weak orders"):
    n_items = np.max(item) + 1
    return results(
        {"y_outcome": [outcome], "item": "abcdefghijkl"[:n_items]},
        posterior_predictive={"y": (DIMS, drawn)},
        observed_data={"y": (DIMS, ranks)},
        constant_data={
            "y_item": (DIMS, item),
            "y_weight": ("ranking", weight),
            "y_item_rankings": ("item", np.ones(n_items)),
        },
    )


def found(data, **options):
    return ranking_checks(data, consensus=["a", "b", "c"], **options)


def column(table, statistic, name="observed"):
    return {key[0]: x for key, x in table.loc[statistic][name].items() if key[1] == "all"}


def test_a_top_block_of_two_counts_half_for_each():
    table = found(tree())
    # a: one of two lists whole, half of that with weight 2; b and c are in all lists, of weight 4
    expected = {"a": (1 + 2 / 2) / 3, "b": (2 / 2) / 4, "c": 1 / 4}
    assert column(table, "top item") == pytest.approx(expected)


def test_a_tie_of_two_items_is_half_an_order():
    table = found(tree())
    expected = {"a > b": (1 + 2 / 2) / 3, "a > c": 3 / 3, "b > c": (1 + 0 + 2) / 4}
    assert column(table, "pair order") == pytest.approx(expected)


def test_the_last_items_are_checked_if_the_middle_is_tied():
    assert "last item" not in found(tree()).index.levels[0]
    # a best, d worst; b best, a worst, in all draws but one
    ranks, item = [[1, 2, 2, 3], [1, 2, 2, 3]], [[0, 1, 2, 3], [1, 2, 3, 0]]
    drawn = [ranks, ranks, ranks, [[3, 2, 2, 1], ranks[1]]]
    table = ranking_checks(tree(ranks, drawn, item, [1.0, 3.0]), consensus=list("abcd"))
    assert column(table, "last item") == pytest.approx({"a": 3 / 4, "b": 0, "c": 0, "d": 1 / 4})
    assert table.loc["last item", "mean"].to_numpy() == pytest.approx([13 / 16, 0, 0, 3 / 16])
    assert "losers" in worst_checks(table).families.index


def test_blocks_are_counted_by_their_size():
    # seven blocks of one item (3 + 2 + 2 x 1) and two of two; no list has or gets one of three
    table = column(found(tree()), "block size")
    spread = table.pop("blocks per item, spread")
    assert table == pytest.approx(
        {"1 item": 7 / 9, "2 items": 2 / 9, "blocks per item": (1 + 1 + 2 * 2 / 3) / 4}
    )
    # 1, 1, 2/3, 2/3
    assert spread == pytest.approx(1 / 6)


def test_the_distance_is_the_share_of_pairs_against_the_consensus():
    table = found(tree()).loc["Kendall distance", "observed"]
    # none of three pairs, one of one, and, twice, half a pair of three
    assert table["mean", "all"] == pytest.approx((0 + 1 + 2 / 6) / 4)
    assert table["spread", "all"] == pytest.approx(np.sqrt((1 + 2 / 36) / 4 - 1 / 9))
    assert table["mean", 2] == 1
    assert table["mean", 3] == pytest.approx((0 + 2 / 6) / 3)
    assert table["spread", 2] == 0
    assert table["spread", 3] == pytest.approx(np.sqrt(2 / 36 / 3 - 1 / 81))


def test_the_tail_probability_counts_equal_draws_half():
    table = found(tree()).loc["pair order"]
    # a over b is in the first ranking of two draws as observed, and less in two
    assert table.loc[("a > b", "all"), "p"].item() == pytest.approx(2 * 0 + 2 / 4)
    assert table.loc[("a > b", "all"), "mean"].item() == pytest.approx((2 * 2 / 3 + 2 * 1 / 3) / 4)
    reversed_ = [[[3, 2, 1], *RANKS[1:]]] * 4
    table = found(tree(drawn=reversed_)).loc["pair order"]
    assert table["p"].tolist() == [0, 0, 0]
    assert table["surprising"].all()
    same = found(tree(drawn=[RANKS] * 4))
    assert (same["p"] == 1).all()
    assert not same["surprising"].any()


def test_the_interval_holds_the_draws_between_its_tails():
    rng = np.random.default_rng(0)
    drawn = np.array([[1, 2], [2, 1]])[rng.integers(0, 2, (200, 8))]
    data = tree([[1, 2]] * 8, drawn, [[0, 1]] * 8, [1.0] * 8)
    row = ranking_checks(data, consensus=["a", "b"], ci_prob=0.5).loc[
        ("pair order", "a > b", "all")
    ]
    shares = np.sort((drawn[:, :, 0] == 1).mean(axis=1))
    assert (row["low"], row["high"]) == (shares[49], shares[149])


def test_lists_of_one_item_have_blocks_and_nothing_else():
    data = tree(
        ranks=[[1, 2], [1, 0]], drawn=[[[1, 2], [1, 0]]], item=[[0, 1], [1, 0]], weight=[1.0, 9.0]
    )
    table = ranking_checks(data, consensus=["a", "b"])
    assert column(table, "top item") == {"a": 1, "b": 0}
    assert column(table, "Kendall distance")["mean"] == 0
    assert column(table, "block size")["1 item"] == 1


def test_the_pairs_checked_are_those_most_often_together():
    table = found(tree(), max_pairs=1)
    assert list(column(table, "pair order")) == ["b > c"]
    assert table.attrs["n_pairs"] == 3


def test_more_than_eight_lengths_are_put_into_groups():
    n = 12
    ranks = np.tril(np.tile(np.arange(1, n + 1), (n, 1)))
    data = tree(ranks, [ranks], np.tile(np.arange(n), (n, 1)), np.ones(n))
    table = ranking_checks(data, consensus=list("abcdefghijkl"))
    lengths = table.loc["Kendall distance"].loc["mean"].index.tolist()
    assert lengths == ["all", "2 to 3", 4, "5 to 6", 7, 8, "9 to 10", 11, 12]


def test_given_sizes_are_not_counted_as_predictions():
    table = found(tree(outcome="weak orders given their block sizes"))
    assert (table.loc["block size", "note"] == GIVEN).all()
    assert table.loc["block size", "p"].isna().all()
    assert not table.loc["block size", "surprising"].any()
    assert (table.loc[["top item", "pair order", "Kendall distance"], "note"] == "").all()
    assert set(found(tree())["note"]) == {"", "omnibus"}


def test_draws_are_thinned_evenly_and_the_table_says_so():
    drawn = [DRAWN[k // 25] for k in range(100)]
    table = found(tree(drawn=drawn), draws=4)
    assert table.attrs["n_draws"] == 4
    exact = found(tree(drawn=drawn), draws=None)
    assert exact.attrs["n_draws"] == 100
    single = table["note"] != "omnibus"  # those count the data as one more draw
    np.testing.assert_allclose(table["mean"][single], exact["mean"][single])


def test_the_order_of_the_slots_does_not_matter():
    order = [2, 0, 1]
    moved = tree(np.array(RANKS)[:, order], np.array(DRAWN)[:, :, order], np.array(ITEM)[:, order])
    for name in ("observed", "mean", "p"):
        np.testing.assert_allclose(found(moved)[name], found(tree())[name])


def test_the_consensus_is_that_of_the_utilities_or_of_the_predictions():
    data = tree()
    assert ranking_checks(data).attrs["consensus"] == "mean place in the predicted lists"
    u = xr.DataArray([[[0.0, 1.0, 2.0]] * 4], dims=("chain", "draw", "item"))
    data["posterior"] = xr.Dataset({"utility": u, "skill": -u}, coords={"item": list("abc")})
    table = ranking_checks(data)
    assert table.attrs["consensus"] == "the order of each draw by 'utility'"
    assert list(column(table, "pair order")) == ["c > b", "b > a", "c > a"]
    reverse = found(data).loc[("Kendall distance", "mean", "all"), "observed"].item()
    assert table.loc[("Kendall distance", "mean", "all"), "observed"].item() == 1 - reverse
    by_skill = ranking_checks(data, consensus="skill")
    np.testing.assert_allclose(by_skill["observed"], found(data)["observed"])


def test_distances_are_to_the_order_of_each_draw():
    """Of two draws with opposite orders each predicts its own, and sees the data from there."""
    first, last = [[1, 2, 3]] * 2, [[3, 2, 1]] * 2
    data = tree(first, [first, last], [[0, 1, 2]] * 2, [1.0, 1.0])
    u = xr.DataArray([[[2.0, 1.0, 0.0], [0.0, 1.0, 2.0]]], dims=("chain", "draw", "item"))
    data["posterior"] = xr.Dataset({"utility": u}, coords={"item": list("abc")})
    row = ranking_checks(data).loc[("Kendall distance", "mean", "all")]
    # 0 and 1 of the observed, 0 and 0 of the predicted: differences of 0 and -1
    assert row["observed"] == 0.5
    assert sorted([row["low"], row["high"]]) == [-0.5, 0.5]
    # predictions of the second draw alone are seen from there
    numbered = {"chain": [0], "draw": [0, 1]}
    for group, draws in (("posterior", [0, 1]), ("posterior_predictive", [1])):
        found = data[group].to_dataset().assign_coords(numbered).isel(draw=draws)
        data[group] = xr.DataTree(found)
    row = ranking_checks(data).loc[("Kendall distance", "mean", "all")]
    assert (row["observed"], row["mean"]) == (1.0, 0.0)


@pytest.mark.slow
def test_a_right_model_is_not_found_wrong_for_having_been_fitted():
    """Few long rankings of many items: the fit is near to them, and nearer than to others."""
    rng = np.random.default_rng(0)
    items = [f"{k:02d}" for k in range(30)]
    z = []
    for seed in range(12):
        rankings = br.Rankings.from_orderings(by_utility(rng.normal(size=30), 12, rng, items))
        with pm.Model(coords=rankings.coords) as model:
            utility = pm.ZeroSumNormal("utility", 1, dims="item")
            br.PlackettLuce("y", utility, observed=rankings)
            posterior = br.fit_inla(draws=250, random_seed=seed, model=model)
            pm.sample_posterior_predictive(
                posterior, extend_inferencedata=True, random_seed=seed, progressbar=False
            )
        row = ranking_checks(posterior).loc[("Kendall distance", "mean", "all")]
        z.append((row["observed"] - row["mean"]) / row["sd"])
    # from one order, that of mean ranks, they are 1.5 below on the average, and vary by 0.3
    assert abs(np.mean(z)) < 0.6
    assert np.abs(z).max() < 2


# Models that are wrong in one way each, in one compiled model.


def by_utility(utility, n, rng, items="abcdef"):
    """Orderings of all items with Gumbel noise: Plackett-Luce."""
    scores = np.asarray(utility) + rng.gumbel(size=(n, len(items)))
    return [[items[i] for i in np.argsort(-row)] for row in scores]


def partial_rankings(utility, size, n, rng, items="abcdef"):
    """Orderings of so many items at a time."""
    out = []
    for _ in range(n):
        some = np.sort(rng.choice(len(items), size, replace=False))
        out += by_utility(np.asarray(utility)[some], 1, rng, [items[i] for i in some])
    return out


def wrong_and_right():
    rng = np.random.default_rng(2)
    u = np.linspace(1.5, -1.5, 6)
    return {
        "right": partial_rankings(u, 3, 80, rng)
        + partial_rankings(u, 4, 100, rng)
        + by_utility(u, 300, rng),
        # a beats b beats c beats a
        "cycle": [pair[::step] for pair in ("ab", "bc", "ca") for step in [1] * 240 + [-1] * 60],
    }


def with_predictions(model):
    # Python instead of compiled code, which would take longer to make than to run
    python = {"mode": "FAST_COMPILE"}
    quick = {"draws": 100, "tune": 100, "chains": 1, "nuts_sampler": "pymc"}
    quiet = {"progressbar": False, "compile_kwargs": python, "random_seed": 1}
    with model:
        idata = pm.sample(**quick, **quiet, compute_convergence_checks=False)
        return pm.sample_posterior_predictive(idata, extend_inferencedata=True, **quiet)


@pytest.fixture(scope="module")
def fitted():
    """Checks of Plackett-Luce, by the name of the data; other names of the dims change nothing."""

    @cache
    def checks_of(name):
        rankings = br.Rankings.from_orderings([list(x) for x in wrong_and_right()[name]], rest=())
        with pm.Model() as model:
            model.add_coord("contestant", rankings.items)
            utility = pm.ZeroSumNormal("worth", 2.0, dims="contestant")
            br.PlackettLuce("race", utility, observed=rankings, dims=("heat", "place"))
        return ranking_checks(with_predictions(model), var_name="race", consensus="worth")

    return checks_of


def beyond(table):
    """Half widths of its interval that an observed value is from the middle.

    One is 1.9 standard deviations of the predictions, three are 5.6.
    """
    middle, half = (table["high"] + table["low"]) / 2, (table["high"] - table["low"]) / 2
    return ((table["observed"] - middle).abs() / half.where(half > 0)).dropna()


def test_a_right_model_passes_every_check(fitted):
    table = fitted("right")
    assert beyond(table).max() < 1.5
    assert table["surprising"].sum() <= 0.11 * len(table)
    assert worst_checks(table).ok
    assert set(table.loc["Kendall distance"].loc["mean"].index) == {"all", 3, 4, 6}


def test_a_cycle_is_caught_by_pair_orders_and_not_by_top_items(fitted):
    table = fitted("cycle")
    assert (table.loc["pair order", "p"] == 0).all()
    assert beyond(table)["pair order"].min() > 3
    assert not table.loc["top item", "surprising"].any()
    assert worst_checks(table).families.index[0] == "pairs"
    assert not worst_checks(table).ok


# Bad input.


def without(group, part=None, **options):
    data = tree(**options)
    if part:
        data[group] = data[group].to_dataset().drop_vars(part)
    else:
        del data[group]
    return data


def labelled(**rankings):
    data = tree()
    for group, labels in rankings.items():
        data[group] = data[group].to_dataset().assign_coords(ranking=[*labels])
    return data


PAIRS = {"outcome": "pair outcomes given the pairs"}
REFUSED = [
    (without("posterior_predictive"), {}, r"no posterior_predictive.*extend_inferencedata=True"),
    (without("observed_data"), {}, "no observed_data; it has"),
    (tree()["observed_data"].to_dataset(), {}, r"Expected a DataTree .* got Dataset"),
    (tree(), {"var_name": "x"}, r"no variable 'x'; it has \['y'\]"),
    (
        without("constant_data", "y_item", **PAIRS),
        {},
        "not observed as rankings. It holds pair out",
    ),
    (tree(drawn=np.array(DRAWN)[:, :2]), {}, r"^The predictions of 'y' have the sizes \{'chain':"),
    (
        labelled(observed_data="xyz", posterior_predictive="zyx"),
        {},
        "^The predictions of 'y' have other ranking labels than the observed data",
    ),
    (tree(drawn=np.ones((1, 0, 3, 3), int)), {}, r"^The predictions of 'y' contain no draws\.$"),
    *(
        (tree(), {name: value}, f"`{name}` is {value}; it must be a whole number")
        for name in ("max_pairs", "draws")
        for value in (0, 1.5)
    ),
    (tree(), {"ci_prob": 1.2}, r"`ci_prob` is 1\.2"),
    *(
        (tree(), {"consensus": wrong}, "^`consensus` must contain each of the 3 items once, best")
        for wrong in (["a", "b"], ["a", "b", "b"], ["a", "b", "x"])
    ),
]


@pytest.mark.parametrize(("data", "options", "message"), REFUSED)
def test_data_that_cannot_be_checked_are_refused(data, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        ranking_checks(data, **options)


@pytest.mark.parametrize(
    ("ranks", "pattern"),
    [
        ([1, 3, 3], r"\[1, 3, 3\]"),  # not dense
        ([1.0, np.nan, 2.0], r"\[1.0, nan, 2.0\]"),
        ([1, 2, 0], r"\[1, 2, 0\]"),  # an item is lost
        ([1, 2, 4], r"\[1, 2, 4\]"),
        ([-1, 2, 1], r"\[-1, 2, 1\]"),
    ],
)
def test_predictions_must_be_weak_orders(ranks, pattern):
    drawn = [*DRAWN, [ranks, *RANKS[1:]]]
    with pytest.raises(
        ValueError, match=f"Ranking 0 is predicted as {pattern} in one draw; its observed"
    ):
        ranking_checks(tree(drawn=drawn))


def test_a_consensus_is_a_variable_by_item_or_else_the_predictions():
    data = tree()
    data["posterior"] = xr.Dataset({"sd": (("chain", "draw"), np.ones((1, 4)))})
    for wrong in ("skill", "sd"):
        with pytest.raises(ValueError, match=rf"no variable '{wrong}' with one .* it has \['sd'\]"):
            ranking_checks(data, consensus=wrong)
    assert ranking_checks(data).attrs["consensus"].startswith("mean place")


# Omnibus checks, and the verdict


def verdict_of(observed, drawn, item=None, **options):
    """Judge rankings of four items, whose predictions are `drawn`."""
    item = np.tile(np.arange(np.shape(observed)[1]), (len(observed), 1)) if item is None else item
    data = tree(observed, drawn, item, np.ones(len(observed)), "weak orders given their sizes")
    return worst_checks(ranking_checks(data, **options))


def random_orders(rng, *size, n_items=5):
    return rng.permuted(np.broadcast_to(np.arange(1, n_items + 1), (*size, n_items)), axis=-1)


def test_a_right_model_fails_in_no_family():
    rng = np.random.default_rng(5)
    failed = [
        not verdict_of(random_orders(rng, 30), random_orders(rng, 200, 30)).ok for _ in range(40)
    ]
    assert sum(failed) <= 3  # two expected


def test_few_winners_fail_although_most_checks_do_not():
    rng = np.random.default_rng(3)
    observed = random_orders(rng, 24, n_items=12)
    for row in observed:  # the best of three items is moved to the top
        best = row[:3].argmin()
        row[row < row[best]] += 1
        row[best] = 1
    fits = verdict_of(observed, random_orders(rng, 300, 24, n_items=12))
    assert not fits.ok
    assert fits.families.index[0] == "winners"
    row = fits.families.loc["winners"]
    assert row["fails"]
    assert fits.failed < 3 * fits.by_chance
    wins = np.bincount((observed == 1).argmax(axis=1), minlength=12)
    whole = {"different items": (wins > 0).sum(), "largest share": wins.max() / 24}
    assert row["observed"] == pytest.approx(whole.get(row["check"], row["observed"]))
    # failed checks of the failing family come first
    assert fits.worst.index[0][0] == "top item"


def test_cyclic_triples_are_counted_in_data_and_predictions():
    circle = [[1, 2, 3], [3, 1, 2], [2, 3, 1]]
    fits = found(tree(circle, [circle, [[1, 2, 3]] * 3], [[0, 1, 2]] * 3, [1.0] * 3))
    row = fits.loc[("pairs", "cyclic triples", "all")]
    assert (row["observed"], row["mean"], row["note"]) == (1, 0.5, "omnibus")


def test_rankers_who_agree_with_themselves_differ_from_each_other():
    data = tree([[1, 2], [1, 2], [2, 1], [2, 1]], [[[1, 2], [2, 1]] * 2], [[0, 1]] * 4, [1.0] * 4)
    assert "rankers" not in ranking_checks(data, consensus=["a", "b"]).index
    constant = data["constant_data"].to_dataset()
    constant["y_ranker"] = ("ranking", [0, 0, 1, 1])
    constant["y_ranker_rankings"] = ("ranker", [2, 2])
    data["constant_data"] = xr.DataTree(constant)
    row = ranking_checks(data, consensus=["a", "b"]).loc[("rankers", "between", "all")]
    # each ranker gives an item twice the score ±1/4, where all rankers together give it 0
    assert row["observed"] == pytest.approx(2 / 4**2)
    assert row["mean"] == pytest.approx(0)


def test_the_tail_counts_the_data_and_goes_on_beyond_the_predictions():
    rng = np.random.default_rng(0)
    drawn = rng.chisquare(4, 200)
    for quantile, one_sided in ((0.5, 0.5), (0.9, 0.1)):
        value = np.append(np.quantile(drawn, quantile), drawn)
        assert tail_probability(value, two_sided=False) == pytest.approx(one_sided, abs=0.01)
        assert tail_probability(value, two_sided=True) == pytest.approx(2 * one_sided, abs=0.02)
    far = tail_probability(np.append(30.0, drawn), two_sided=False)
    assert np.log(far) == pytest.approx(chi2.logsf(30, 4), abs=1.5)
    assert tail_probability(np.ones(20), two_sided=True) == 1


def rows(**changed):
    """Make a table of checks of which all hold but those that are changed."""
    keys = [
        ("top item", "a", "all"), ("pair order", "a > b", "all"),
        *(("pair order", f"{k} > c", "all") for k in range(40)),
        *((family, "all", "all") for family in ("winners", "pairs")),
    ]  # fmt: skip
    index = pd.MultiIndex.from_tuples(keys, names=["statistic", "label", "n_items"])
    table = pd.DataFrame(
        {
            "observed": 0.5,
            "mean": 0.5,
            "sd": 0.1,
            "low": 0.3,
            "high": 0.7,
            "note": "",
            "power": np.nan,
        },
        index=index,
    )
    for label, observed in changed.items():
        table.loc[table.index.get_level_values("label") == label, "observed"] = observed
    table["surprising"] = (table["observed"] < table["low"]) | (table["observed"] > table["high"])
    table["p"] = np.where(table["surprising"], 0.0, 1.0)
    table.loc[["winners", "pairs"], "note"] = "omnibus"
    table.attrs["ci_prob"] = 0.94
    return table


def test_a_failure_among_many_is_chance_and_the_worst_leads():
    fits = worst_checks(rows(**{"a": 0.75, "0 > c": 0.1}))
    assert (fits.n, fits.failed, fits.ok) == (42, 2, True)
    assert fits.by_chance == pytest.approx(0.06 * 42)
    assert [label for _, label, _ in fits.worst.index] == ["0 > c", "a"]
    assert fits.worst["far"].tolist() == pytest.approx([4.0, 2.5])


def test_the_failing_family_leads():
    table = rows(**{"a": 0.75, "0 > c": 0.1})
    table.loc[("winners", "all", "all"), ["surprising", "p"]] = [True, 0.001]
    fits = worst_checks(table)
    assert not fits.ok
    assert fits.families["fails"].to_dict() == {"winners": True, "pairs": False}
    assert [label for _, label, _ in fits.worst.index] == ["a", "0 > c"]


def test_families_with_power_are_told_from_those_without():
    table = rows()
    last = [table.columns.get_loc("power"), table.columns.get_loc("surprising")]
    table.iloc[-2:, last[0]] = [0.9, 0.3]
    fits = worst_checks(table)
    assert (fits.seen, fits.unseen, fits.fits) == (("winners",), ("pairs",), True)
    table.iloc[-2, last[0]] = 0.79
    assert worst_checks(table).fits is None
    table.iloc[-2, last[1]] = True
    assert worst_checks(table).fits is False
    table["power"] = np.nan
    assert worst_checks(table).unseen == ()


@pytest.mark.parametrize(("n", "power"), [(10, "unseen"), (1000, "seen")])
def test_power_is_that_of_shares_that_are_off_by_a_tenth(n, power):
    """The shares of three independent rows of n binary outcomes each."""
    rng = np.random.default_rng(n)
    shares = rng.binomial(n, 0.5, size=(3, 501)) / n
    columns = omnibus_columns(whole_rows("pairs", shares, ["all", "largest"]))
    detected = []
    for _ in range(200):
        off = rng.binomial(n, 0.5, size=3) / n + rng.choice([-0.1, 0.1], size=3)
        once = np.column_stack([off, shares[:, 1:]])
        detected.append(
            omnibus_columns(whole_rows("pairs", once, ["all", "largest"]))["surprising"]
        )
    share = np.any(detected, axis=1).mean()
    assert columns["power"][0] == columns["power"][1]
    assert abs(columns["power"][0] - share) < 5 * np.sqrt(0.25 / 200)
    assert (share >= 0.8) == (power == "seen")


def test_constant_predictions_count_if_they_fail():
    table = rows()
    table["low"] = table["high"] = table["mean"]
    table["sd"] = 0.0
    assert worst_checks(table).n == 0
    table["surprising"] = np.arange(len(table)) == 0
    assert (worst_checks(table).n, worst_checks(table).failed) == (1, 1)


def test_blocks_of_draws_and_chains_do_not_matter(monkeypatch):
    once = found(tree(drawn=DRAWN * 5))
    two_chains = found(tree(drawn=np.array(DRAWN * 5).reshape(2, 10, 3, 3)))
    monkeypatch.setattr(module, "AT_ONCE", 30)
    pieces = found(tree(drawn=DRAWN * 5))
    for other in (two_chains, pieces):
        np.testing.assert_allclose(
            other.drop(columns="note").astype(float), once.drop(columns="note").astype(float)
        )
