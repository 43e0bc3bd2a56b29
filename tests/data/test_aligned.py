"""Values with labels are read by label: in another order they say the same, or they are refused."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bayesrank.data import PairCounts, Pairs, Rankings

ORDERS = [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]
WHO = ["Bo", "Ann", "Cy"]
BY_NAME = {"Ann": 2.0, "Bo": 1.0, "Cy": 3.0}  # weights of ORDERS: 1, 2, 3


def spelled(values=BY_NAME, dim="ranker"):
    """The same values by label, in four containers."""
    series = pd.Series(values)
    return [series, series[::-1], dict(values), series.rename_axis(dim).to_xarray()]


@pytest.fixture
def rankings():
    return Rankings.from_orderings(ORDERS, rankers=WHO).grouped({"day": [3, 1, 2]})


@pytest.fixture
def pairs():
    table = pd.DataFrame({"x": list("ab"), "y": list("bc"), "won": ["first", "tie"]})
    return Pairs.from_frame(
        table.assign(judge=["u", "v"], day=[2, 1]),
        first="x",
        second="y",
        outcome="won",
        judge="judge",
        by="day",
    )


# Weights and rankers


@pytest.mark.parametrize("weight", spelled(), ids=["series", "reversed", "dict", "array"])
def test_weights_belong_to_their_rankings(weight):
    frame = pd.DataFrame([[1, 2, 3], [3, 1, 2], [2, 3, 1]], index=WHO, columns=list("abc"))
    assert Rankings.from_ranks(frame, weight=weight).weight.tolist() == [1, 2, 3]
    assert Rankings.from_orderings(ORDERS, rankers=WHO, weight=weight).weight.tolist() == [1, 2, 3]
    named = pd.Series(ORDERS, index=WHO)
    assert Rankings.from_orderings(named, weight=weight).weight.tolist() == [1, 2, 3]
    read = Rankings.from_ranks(frame)
    made = Rankings(read.item, read.ranks, items=read.items, rankers=WHO, weight=weight)
    assert made.weight.tolist() == [1, 2, 3]
    counts = read.counts().weighted(weight)
    assert counts.weight.tolist() == [1, 2, 3]


def test_columns_of_one_table_go_together():
    table = pd.DataFrame({"who": WHO, "order": ORDERS, "n": [1, 2, 3]}, index=[7, 5, 9])
    mixed = table.loc[[9, 7, 5]]
    read = Rankings.from_orderings(table["order"], rankers=mixed["who"], weight=mixed["n"])
    assert read.labels.tolist() == WHO
    assert read.weight.tolist() == [1, 2, 3]
    lists = Rankings.from_orderings(ORDERS, rankers=table["who"], weight=mixed["n"])
    assert lists == read
    wide = pd.DataFrame([[1, 2], [2, 1]], index=["v", "v"], columns=list("ab"))
    assert Rankings.from_ranks(wide, weight=pd.Series([1, 2], ["v", "v"])).weight.tolist() == [1, 2]


def test_the_index_of_orderings_names_the_rankers():
    read = Rankings.from_orderings(pd.Series([["a", "b"], ["b", "a"], ["a", "b"]], ["u", "v", "u"]))
    assert read.rankers.tolist() == ["u", "v"]
    assert read.ranker_idx.tolist() == [0, 1, 0]
    shown = pd.Series([["a", "b", "c"], ["a", "b"]], ["v", "u"])
    read = Rankings.from_orderings(pd.Series([["a", "b"], ["b"]], ["u", "v"]), rest=shown)
    assert read.mask.sum(axis=1).tolist() == [2, 3]


def test_weights_of_others_are_refused():
    frame = pd.DataFrame([[1, 2], [2, 1]], index=["Bo", "Ann"], columns=list("ab"))
    numbered = pd.Series([1, 2])
    with pytest.raises(ValueError, match=r"`weight` must have .* row 'Bo', 'Ann', .* 0, 1, which"):
        Rankings.from_ranks(frame, weight=numbered)
    assert Rankings.from_ranks(frame, weight=numbered.to_numpy()).weight.tolist() == [1, 2]
    orders = [["a", "b"], ["b", "a"]]
    with pytest.raises(ValueError, match="no value for ordering 1, and the labels 2, which no"):
        Rankings.from_orderings(orders, weight=pd.Series([1, 2], [0, 2]))
    with pytest.raises(ValueError, match=r"`weight` must have .* has 'u' twice"):
        Rankings.from_ranks(frame, weight=pd.Series([1, 2], ["u", "u"]))
    # rankers 1 and 0: is the weight of 0 that of the first list, or that of ranker 0?
    with pytest.raises(ValueError, match=r"`weight`, 0, 1, are ambiguous: .*orderings"):
        Rankings.from_orderings(orders, rankers=[1, 0], weight=numbered)
    with pytest.raises(ValueError, match="`rankers` must have one value for each row"):
        Rankings.from_ranks(frame, rankers=pd.Series(["x", "y"]))


def test_arrays_by_position_have_no_labels(rankings):
    features = xr.DataArray(np.eye(3), dims=("item", "x"), coords={"item": list("cba")})
    with pytest.raises(ValueError, match=r"`features` is a DataArray, .* features.to_numpy\(\)"):
        Rankings.from_orderings(ORDERS, features=features)
    with pytest.raises(ValueError, match="`ranks` is a DataFrame, whose labels would be ignored"):
        Rankings(rankings.item, pd.DataFrame(rankings.ranks), items=rankings.items)
    wins = xr.DataArray([[0, 1], [2, 0]], dims=("x", "y"), coords={"x": list("ab")})
    with pytest.raises(ValueError, match="`wins` is a DataArray"):
        Pairs.from_matrix(wins)


def test_square_tables_are_read_by_label():
    wins = pd.DataFrame([[0, 3], [1, 0]], index=list("ab"), columns=list("ab"))
    ties = pd.DataFrame([[0, 2], [2, 0]], index=list("ab"), columns=list("ab"))
    straight = Pairs.from_matrix(wins, ties=ties)
    assert Pairs.from_matrix(wins[["b", "a"]], ties=ties.loc[["b", "a"]]) == straight
    assert straight.counts.tolist() == [[3, 1, 2]]
    counts = PairCounts.from_matrix(wins[["b", "a"]])
    assert counts.items.tolist() == ["a", "b"]
    assert counts.dense("all").tolist() == [[0, 3], [1, 0]]


def test_masks_are_read_by_label(rankings):
    mask = pd.Series({"Ann": True, "Bo": False, "Cy": False})
    assert rankings.subset(mask).labels.tolist() == ["Ann"]


def test_groups_are_not_read_by_the_number_of_the_ranking():
    rankings = Rankings.from_orderings([["a", "b"]] * 4, rankers=[1, 2, 1, 2])
    with pytest.raises(ValueError, match=r"`day` must have .*the labels 0, 3, which no ranker has"):
        rankings.grouped({"day": pd.Series([10, 20, 30, 40])})
    day = rankings.align(pd.Series([10, 20, 30, 40]), "ranking")
    assert rankings.grouped({"day": day}).groups["day"].idx.tolist() == [0, 1, 2, 3]


# align and reindex


@pytest.mark.parametrize("values", spelled(), ids=["series", "reversed", "dict", "array"])
def test_values_are_aligned_by_ranker(rankings, values):
    assert rankings.align(values, "ranker").tolist() == [1, 2, 3]


def test_tables_and_further_dims_are_aligned(rankings, pairs):
    table = pd.DataFrame({"age": [2, 1, 3], "n": [20, 10, 30]}, index=["Ann", "Bo", "Cy"])
    np.testing.assert_array_equal(rankings.align(table, "ranker"), [[1, 10], [2, 20], [3, 30]])
    array = xr.DataArray(table.T, dims=("x", "ranker"))
    np.testing.assert_array_equal(rankings.align(array, "ranker"), [[1, 2, 3], [10, 20, 30]])
    assert rankings.align({2: "x", 3: "y", 1: "z"}, "day").tolist() == ["z", "x", "y"]
    assert rankings.align({"c": 3, "a": 1, "b": 2}, "item").tolist() == [1, 2, 3]
    assert pairs.align(pd.Series({"v": 2, "u": 1}), "judge").tolist() == [1, 2]
    assert pairs.align(pd.Series({2: 20, 1: 10}), "day").tolist() == [10, 20]
    assert pairs.align({"c": 3, "a": 1, "b": 2}, "item").tolist() == [1, 2, 3]


def test_dates_are_aligned_with_coords_too():
    dates = pd.to_datetime(["2026-02-01", "2026-01-01"])
    rankings = Rankings.from_orderings([["a", "b"], ["b", "a"]]).grouped({"day": dates})
    values = pd.Series([2, 1], index=dates)
    assert rankings.align(values, "day").tolist() == [1, 2]
    result_days = xr.DataArray([2, 1], coords={"day": rankings.coords["day"][::-1]})
    assert rankings.align(result_days, "day").tolist() == [1, 2]


def test_values_that_cannot_be_aligned_are_refused(rankings, pairs):
    lacking = pd.Series({"Ann": 1, "Bo": 2, "Di": 3})
    message = "no value for ranker 'Cy', and the labels 'Di', which no ranker has.*are 'Bo', 'Ann'"
    with pytest.raises(ValueError, match=message):
        rankings.align(lacking, "ranker")
    with pytest.raises(ValueError, match="it has 'Ann' twice"):
        rankings.align(pd.Series([1, 2, 3, 4], ["Ann", "Bo", "Cy", "Ann"]), "ranker")
    with pytest.raises(TypeError, match=r"`values` must be a Series, .* got list, which has no"):
        rankings.align([1, 2, 3], "ranker")
    with pytest.raises(ValueError, match=r"`dim` must be one of 'item', 'judge', 'day'.*got 'who'"):
        pairs.align(lacking, "who")
    with pytest.raises(
        ValueError, match="must have a dim 'ranker' with coords; it has the dims 'x'"
    ):
        rankings.align(xr.DataArray([1, 2, 3], dims="x"), "ranker")


def test_pairs_are_put_on_other_axes(pairs):
    axes = {"item": list("dcba"), "judge": ["v", "u"], "day": [3, 2, 1]}
    moved = pairs.reindex(axes)
    assert moved.items.tolist() == axes["item"]
    assert moved.coords["judge"].tolist() == axes["judge"]
    assert moved.to_frame().equals(pairs.to_frame())
    assert moved.reindex({"item": list("abc"), "judge": ["u", "v"], "day": [1, 2]}) == pairs
    with pytest.raises(ValueError, match="Unknown item 'c'"):
        pairs.reindex({"item": ["a", "b"]})
    with pytest.raises(ValueError, match=r"Pairs have no axis 'who' .* 'item', 'judge', 'day'"):
        pairs.reindex({"who": ["u"]})
    with pytest.raises(ValueError, match="`judges` must be distinct"):
        pairs.reindex({"judge": ["u", "v", "u"]})
