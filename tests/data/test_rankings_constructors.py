"""Constructors of Rankings: what each reads, written out by hand, and what each refuses."""

import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import rankdata

from bayesrank.data import Rankings, UninformativeRankingWarning

STARS = pd.DataFrame(
    {
        "user": ["u", "u", "u", "v", "v", "v", "v"],
        "film": ["c", "a", "b", "b", "d", "a", "c"],
        "stars": [4.5, 2.0, 4.5, 1.0, 3.0, 2.0, 5.0],
    }
)


def from_stars(frame=STARS, **more):
    return Rankings.from_ratings(frame, ranker="user", item="film", rating="stars", **more)


def from_places(frame, **more):
    return Rankings.from_long_ranks(frame, ranker="race", item="car", rank="place", **more)


def places(*rows, columns=("race", "car", "place")):
    return pd.DataFrame(rows, columns=list(columns))


# Every constructor says the same thing about the same weak orders.


def test_ratings_are_ranked_densely_and_high_is_good():
    r = from_stars()
    assert r.items.tolist() == ["a", "b", "c", "d"]
    assert r.rankers.tolist() == r.labels.tolist() == ["u", "v"]
    np.testing.assert_array_equal(r.item, [[1, 2, 0, 0], [2, 3, 0, 1]])
    np.testing.assert_array_equal(r.ranks, [[1, 1, 2, 0], [1, 2, 3, 4]])
    np.testing.assert_array_equal(r.mask, [[True, True, True, False], [True] * 4])
    np.testing.assert_array_equal(r.block_sizes, [[2, 1, 0, 0], [1, 1, 1, 1]])
    np.testing.assert_array_equal(r.ranker_idx, [0, 1])
    np.testing.assert_array_equal(r.weight, [1.0, 1.0])
    assert r.features is None
    assert r.feature_names is None


def test_the_arrays_have_the_types_of_the_contract():
    r = from_stars()
    for name in ("item", "ranks", "block_sizes", "ranker_idx"):
        assert getattr(r, name).dtype == np.int32
    assert r.mask.dtype == np.bool_
    assert r.weight.dtype == np.float64


def test_orderings_long_ranks_wide_ranks_and_arrays_agree_with_ratings():
    expected = from_stars()
    orderings = Rankings.from_orderings(
        [[{"b", "c"}, "a"], ["c", "d", "a", "b"]], rankers=["u", "v"]
    )
    long = STARS.assign(place=-STARS["stars"])
    wide = pd.DataFrame({"a": [2, 3], "b": [1, 4], "c": [1, 1], "d": [np.nan, 2]}, index=["u", "v"])
    arrays = Rankings(
        [[0, 1, 2, 3], [0, 1, 2, 3]],
        [[2, 1, 1, 0], [3, 4, 1, 2]],
        items=["a", "b", "c", "d"],
        rankers=["u", "v"],
    )
    assert orderings == expected
    assert Rankings.from_long_ranks(long, ranker="user", item="film", rank="place") == expected
    assert Rankings.from_ranks(wide) == expected
    assert arrays == expected


def test_the_order_of_the_rows_only_decides_the_order_of_the_rankings():
    shuffled = STARS.sample(frac=1, random_state=1)
    again = from_stars(shuffled)
    assert again.labels.tolist() == ["v", "u"]
    np.testing.assert_array_equal(again.item[::-1], from_stars().item)
    np.testing.assert_array_equal(again.ranks[::-1], from_stars().ranks)


def test_rankings_and_rankers_keep_their_order_of_appearance():
    r = from_places(places((9, "a", 1), (9, "b", 2), (3, "b", 1), (3, "a", 2)))
    assert r.labels.tolist() == [9, 3]


@pytest.mark.parametrize(
    ("values", "ranks"),
    [
        (np.array([0, 255, 7], dtype=np.uint8), [1, 2, 3]),
        (np.array([False, True, False]), [1, 2, 2]),
        (np.array([2**62 + 1, 2**62, -(2**63)]), [1, 2, 3]),
        (pd.array([3, 1, 2], dtype="Int64"), [1, 2, 3]),
        (pd.array([3.5, 1.5, 3.5], dtype="Float64"), [1, 1, 2]),
        (np.array([3, 1.5, 2], dtype=object), [1, 2, 3]),
    ],
)
def test_ratings_may_be_of_any_numeric_type(values, ranks):
    frame = pd.DataFrame({"user": 1, "film": list("abc"), "stars": values})
    np.testing.assert_array_equal(from_stars(frame).ranks, [ranks])


@pytest.mark.parametrize(
    ("labels", "axis", "coords"),
    [
        ([30, 4, 30, 4], [4, 30], [4, 30]),
        (["y", "x", "y", "x"], ["x", "y"], ["x", "y"]),
        (pd.Categorical(list("yxyx"), categories=["z", "y", "x"]), ["y", "x"], ["y", "x"]),
        (pd.Series(list("yxyx"), dtype="string"), ["x", "y"], ["x", "y"]),
        (pd.Series(list("yxyx"), dtype=object), ["x", "y"], ["x", "y"]),
        ([2, "x", 2, "x"], [2, "x"], ["2", "x"]),
        (
            pd.to_datetime(["2002-02-17", "2001-01-01"] * 2),
            [pd.Timestamp("2001-01-01"), pd.Timestamp("2002-02-17")],
            ["2001-01-01 00:00:00", "2002-02-17 00:00:00"],
        ),
    ],
    ids=["int", "str", "categorical", "string", "object", "mixed", "dates"],
)
def test_labels_of_every_kind_become_axes_and_plain_coords(labels, axis, coords):
    frame = pd.DataFrame({"user": [1, 1, 2, 2], "film": labels, "stars": [1, 2, 2, 1]})
    r = from_stars(frame)
    assert r.items.tolist() == axis
    assert r.coords["item"].tolist() == coords
    assert r.coords["item"].dtype.kind in "iU"


def test_a_given_axis_is_kept_with_the_items_that_no_row_has():
    r = from_stars(items=["z", "d", "c", "b", "a"])
    assert r.items.tolist() == ["z", "d", "c", "b", "a"]
    np.testing.assert_array_equal(r.item, [[2, 3, 4, 0], [2, 1, 4, 3]])


@pytest.mark.parametrize("seed", range(5))
def test_ranks_are_the_dense_ranks_of_scipy(seed):
    rng = np.random.default_rng(seed)
    presented = rng.random((30, 8)) < 0.6
    presented[:, :2] = True
    ratings = rng.integers(4, size=(30, 8)) / 2
    ratings[:, 0], ratings[:, 1] = 1.0, 0.5  # at least two blocks
    row, item = np.nonzero(presented)
    frame = pd.DataFrame({"user": row, "film": item, "stars": ratings[row, item]})
    r = from_stars(frame, items=range(8))
    for n in range(30):
        expected = np.zeros(8, dtype=int)
        expected[presented[n]] = rankdata(-ratings[n, presented[n]], method="dense")
        found = np.zeros(8, dtype=int)
        found[r.item[n, r.mask[n]]] = r.ranks[n, r.mask[n]]
        np.testing.assert_array_equal(found, expected)
        assert (np.diff(r.ranks[n, r.mask[n]]) >= 0).all()
        assert r.mask[n, : presented[n].sum()].all()


@pytest.mark.parametrize(
    "items", [["a", "ü"], [1, 2], [0.5, 1.5], ["a", 2], list(pd.to_datetime(["2001", "2002"]))]
)
def test_coords_go_through_a_netcdf_file(items, tmp_path):
    coords = Rankings.from_orderings([items], items=items).coords
    xr.Dataset(coords=coords).to_netcdf(tmp_path / "coords.nc")
    with xr.open_dataset(tmp_path / "coords.nc") as again:
        for name, values in coords.items():
            assert again[name].values.tolist() == values.tolist()


# Several rankings of one ranker, weights, features


def test_a_ranker_may_rank_several_times():
    frame = places(
        ("Ann", "mon", "a", 1),
        ("Ann", "mon", "b", 2),
        ("Ann", "tue", "b", 1),
        ("Ann", "tue", "a", 2),
        ("Bo", "wed", "a", 1),
        ("Bo", "wed", "b", 2),
        columns=("race", "day", "car", "place"),
    )
    r = from_places(frame, ranking="day")
    assert r.labels.tolist() == ["mon", "tue", "wed"]
    assert r.rankers.tolist() == ["Ann", "Bo"]
    np.testing.assert_array_equal(r.ranker_idx, [0, 0, 1])


def test_rankings_numbered_anew_for_each_ranker_are_named_after_both():
    frame = places(
        ("Ann", 1, "a", 1),
        ("Ann", 1, "b", 2),
        ("Bo", 1, "b", 1),
        ("Bo", 1, "a", 2),
        columns=("race", "day", "car", "place"),
    )
    assert from_places(frame, ranking="day").labels.tolist() == ["Ann/1", "Bo/1"]


def test_orderings_by_a_repeated_ranker_are_numbered():
    r = Rankings.from_orderings([["a", "b"], ["b", "a"], ["a", "b"]], rankers=["x", "y", "x"])
    assert r.labels.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(r.ranker_idx, [0, 1, 0])


def test_weights_come_from_a_column_or_a_list():
    frame = places(("x", "a", 1, 2), ("x", "b", 2, 2), columns=("race", "car", "place", "times"))
    np.testing.assert_array_equal(from_places(frame, weight="times").weight, [2.0])
    listed = Rankings.from_orderings([["a", "b"], ["b", "a"]], weight=[3, 0.5])
    np.testing.assert_array_equal(listed.weight, [3.0, 0.5])


def test_features_by_item_by_column_and_by_slot_agree():
    by_item = pd.DataFrame({"size": [1.0, 2.0, 3.0]}, index=["c", "a", "b"])
    frame = places(
        ("x", "b", 1, 3.0),
        ("x", "a", 2, 2.0),
        ("y", "c", 1, 1.0),
        ("y", "b", 1, 3.0),
        ("y", "a", 2, 2.0),
        columns=("race", "car", "place", "size"),
    )
    table = from_places(frame, features=by_item)
    column = from_places(frame, features=["size"])
    orderings = [["b", "a"], [{"b", "c"}, "a"]]
    listed = Rankings.from_orderings(orderings, rankers=["x", "y"], features=by_item)
    array = Rankings.from_orderings(
        orderings, rankers=["x", "y"], features=np.array([[2.0], [3.0], [1.0]])
    )
    np.testing.assert_array_equal(table.features[:, :, 0], [[3.0, 2.0, 0.0], [3.0, 1.0, 2.0]])
    assert table == column == listed
    assert array != table  # it has no names
    np.testing.assert_array_equal(array.features, table.features)
    assert array.feature_names.tolist() == [0]
    assert table.coords["feature"].tolist() == ["size"]


def test_features_follow_their_slots_when_the_slots_are_sorted():
    features = [[[10.0], [20.0], [30.0]], [[5.0], [6.0], [np.nan]]]  # the last slot is empty
    r = Rankings(
        [[0, 1, 2], [2, 0, 0]],
        [[3, 1, 2], [2, 1, 0]],
        items=list("abc"),
        features=features,
        feature_names=["x"],
    )
    np.testing.assert_array_equal(r.item, [[1, 2, 0], [0, 2, 0]])
    np.testing.assert_array_equal(r.features[:, :, 0], [[20.0, 30.0, 10.0], [6.0, 5.0, 0.0]])


# Top-k data


@pytest.mark.parametrize(
    "rest",
    [
        ["a", "b", "c", "d"],
        pd.Index(["d", "c", "b", "a"]),
        [["a", "b", "c", "d"], ["c", "d"]],
        [{"a", "b", "d"}, frozenset({"a", "b", "c", "d"})],
    ],
)
def test_the_rest_becomes_the_last_block(rest):
    r = Rankings.from_orderings([["c"], ["b", "a"]], rest=rest)
    np.testing.assert_array_equal(r.item, [[2, 0, 1, 3], [1, 0, 2, 3]])
    np.testing.assert_array_equal(r.ranks, [[1, 2, 2, 2], [1, 2, 3, 3]])


def test_each_ordering_may_have_been_shown_other_items():
    r = Rankings.from_orderings([["c"], ["b", "a"]], rest=[["a", "c"], ["a", "b"]])
    np.testing.assert_array_equal(r.ranks, [[1, 2], [1, 2]])
    np.testing.assert_array_equal(r.item, [[2, 0], [1, 0]])


def test_the_rest_may_be_the_whole_axis():
    r = Rankings.from_orderings([["c"], ["b", "a"]], rest="items", items=list("dcba"))
    np.testing.assert_array_equal(r.ranks, [[1, 2, 2, 2], [1, 2, 3, 3]])
    assert Rankings.from_orderings([["c"], ["b", "a"]], rest="items").n_items == 3


# What is refused


def test_duplicate_items_are_named():
    frame = places((7, "a", 1), (7, "b", 2), (7, "a", 3))
    with pytest.raises(ValueError, match="Ranking 7 holds item 'a' twice"):
        from_places(frame)
    with pytest.raises(ValueError, match="Ranking 0 holds item 'a' twice"):
        Rankings.from_orderings([["a", {"b", "a"}]])
    with pytest.raises(ValueError, match="Ranking 0 holds item 'b' twice"):
        Rankings([[1, 1]], [[1, 2]], items=["a", "b"])


def test_unknown_items_are_named_beside_the_axis():
    with pytest.raises(ValueError, match=r"Unknown item 'd': the items are 'a', 'b', 'c'\."):
        from_stars(items=["a", "b", "c"])
    with pytest.raises(ValueError, match="Unknown item 'b': the items are 1, 2"):
        Rankings.from_orderings([["b"]], items=[1, 2])


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ([1, 1, 3], r"\[1, 1, 3\]"),
        ([2, 3, np.nan], r"\[2, 3\]"),
        ([0, 1, 2], r"\[0, 1, 2\]"),
        ([1, 1.5, 2], r"\[1, 1.5, 2\]"),
        ([1, np.inf, 2], r"\[1, 2, inf\]"),
    ],
)
def test_wide_ranks_must_be_dense(row, shown):
    frame = pd.DataFrame([[1.0, 2.0, 3.0], row], index=["first", "user 17"], columns=list("abc"))
    message = f"must be dense within a ranking; ranking 'user 17' has ranks {shown}. Use Rankings"
    with pytest.raises(ValueError, match=message):
        Rankings.from_ranks(frame)


def test_ranks_of_arrays_must_be_dense():
    with pytest.raises(ValueError, match=r"ranking 0 has ranks \[-1, 1\]"):
        Rankings([[0, 1]], [[-1, 1]], items=["a", "b"])


def test_gaps_in_a_long_table_are_closed():
    r = from_places(places((1, "a", 4), (1, "b", 2), (1, "c", 2), (1, "d", 1.5)))
    np.testing.assert_array_equal(r.item, [[3, 1, 2, 0]])
    np.testing.assert_array_equal(r.ranks, [[1, 2, 2, 3]])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, np.nan], "A rating must be a finite number; column 'stars' is missing in row 1"),
        ([np.inf, 1.0], "A rating must be a finite number; column 'stars' has inf in row 0"),
        ([1.0, -np.inf], "column 'stars' has -inf in row 1"),
        (["5", "good"], r"column 'stars' has '5' in row 0. Convert the column with pandas"),
        ([5, "good"], "column 'stars' has 'good' in row 1"),
        (pd.array([1, None], dtype="Int64"), "column 'stars' is missing in row 1"),
    ],
)
def test_ratings_must_be_finite_numbers(values, message):
    with pytest.raises(ValueError, match=message):
        from_stars(pd.DataFrame({"user": 1, "film": ["a", "b"], "stars": values}))


@pytest.mark.parametrize("values", [[1.0, np.nan], [1.0, np.inf]])
def test_long_ranks_must_be_finite_numbers(values):
    frame = pd.DataFrame({"race": 1, "car": ["a", "b"], "place": values})
    with pytest.raises(ValueError, match="A rank must be a finite number"):
        from_places(frame)


@pytest.mark.parametrize("column", ["user", "film"])
def test_missing_labels_are_refused(column):
    frame = STARS.copy()
    frame.loc[2, column] = None
    with pytest.raises(ValueError, match=f"Column '{column}' has a missing label in row 2"):
        from_stars(frame)


def test_a_missing_column_lists_those_there_are():
    message = "no column 'stars'; its columns are 'user', 'film', 'points'"
    with pytest.raises(ValueError, match=message):
        from_stars(STARS.rename(columns={"stars": "points"}))
    with pytest.raises(ValueError, match="no column 'day'"):
        from_stars(ranking="day")
    with pytest.raises(ValueError, match="no column 'size'"):
        from_stars(features=["size"])


def test_a_column_that_occurs_twice_is_refused():
    doubled = pd.concat([STARS, STARS["film"]], axis=1)
    with pytest.raises(ValueError, match="2 columns called 'film'"):
        from_stars(doubled)


def test_a_table_must_be_a_dataframe():
    with pytest.raises(TypeError, match="Expected a pandas DataFrame; got list"):
        from_stars([1, 2])


def test_no_rankings_are_refused():
    with pytest.raises(ValueError, match="There are no rankings"):
        Rankings.from_orderings([])
    with pytest.raises(ValueError, match="There are no rankings"):
        from_stars(STARS.iloc[:0])
    with pytest.raises(ValueError, match="There are no rankings"):
        Rankings.from_ranks(pd.DataFrame({"a": []}))
    with pytest.raises(ValueError, match="There are no rankings"):
        Rankings(np.zeros((0, 2), dtype=int), np.zeros((0, 2), dtype=int), items=["a"])


def test_an_empty_ranking_is_named():
    with pytest.raises(ValueError, match="Ranking 1 is empty: it needs an item"):
        Rankings.from_orderings([["a", "b"], []])
    wide = pd.DataFrame({"a": [1, np.nan], "b": [2, np.nan]}, index=["x", "y"])
    with pytest.raises(ValueError, match="Ranking 'y' is empty"):
        Rankings.from_ranks(wide)


@pytest.mark.parametrize(
    ("ordering", "message"),
    [
        ("abc", "Ordering 0 must be a list of items, best first; got 'abc'"),
        ({"a", "b"}, "Ordering 0 must be a list of items"),
        (5, "Ordering 0 must be a list of items, best first; got 5"),
        (["a", set()], "Ordering 0 has an empty block"),
        (["a", ["b", "c"]], r"holds \['b', 'c'\], which is neither an item nor a block"),
        (["a", ("b", "c")], "write a block as a set"),
        (["a", None], "missing label"),
    ],
)
def test_an_ordering_is_a_list_of_labels_and_sets(ordering, message):
    with pytest.raises(ValueError, match=message):
        Rankings.from_orderings([ordering])


def test_rest_says_what_was_presented():
    with pytest.raises(
        ValueError, match="`rest` must be 'items' or collections of labels; got 'x'"
    ):
        Rankings.from_orderings([["a"]], rest="x")
    with pytest.raises(ValueError, match="`rest` has 1 collections of items for 2 orderings"):
        Rankings.from_orderings([["a"], ["b"]], rest=[["a", "b"]])


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_weights_are_positive_and_finite(bad):
    with pytest.raises(ValueError, match=f"must be positive and finite; ranking 'y' has {bad}"):
        Rankings.from_orderings([["a", "b"], ["b", "a"]], rankers=["x", "y"], weight=[1.0, bad])


def test_weights_have_one_value_per_ranking():
    with pytest.raises(ValueError, match=r"`weight` must have shape \(1,\), one per ranking; got"):
        Rankings.from_orderings([["a", "b"]], weight=[1, 2])


def test_a_weight_column_is_constant_within_a_ranking():
    frame = places(("x", "a", 1, 2), ("x", "b", 2, 3), columns=("race", "car", "place", "times"))
    with pytest.raises(ValueError, match=r"'times' has 2\.0 in row 0 and 3\.0 in another row"):
        from_places(frame, weight="times")


def test_there_is_one_ranker_per_ranking():
    with pytest.raises(ValueError, match="`rankers` has 1 labels for 2 rankings"):
        Rankings.from_orderings([["a", "b"], ["b", "a"]], rankers=["x"])


def test_axes_are_distinct_labels():
    with pytest.raises(ValueError, match="`items` must be distinct, but 'a' occurs twice"):
        Rankings.from_orderings([["a"]], items=["a", "b", "a"])
    with pytest.raises(ValueError, match=r"must differ when written down; 1, '1' do not\. Give"):
        Rankings.from_orderings([[1, "1"]])  # one name in a netCDF file
    with pytest.raises(ValueError, match="`items` has a missing label at position 1"):
        Rankings.from_orderings([["a"]], items=["a", None])
    with pytest.raises(ValueError, match=r"`items` must be a list of labels; write \['ab'\]"):
        Rankings.from_orderings([["a"]], items="ab")


def test_a_wide_table_holds_numbers():
    with pytest.raises(ValueError, match="A wide table must hold ranks and nothing else: could"):
        Rankings.from_ranks(pd.DataFrame({"a": [1], "b": ["second"]}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ranks": [[1, 2, 0]]}, r"one shape \(n_rankings, n_slots\); they have \(1, 2\) and"),
        ({"ranks": [1, 2], "item": [0, 1]}, "one shape"),
        ({"ranks": [[1.0, 2.0]]}, "`ranks` must be integers; got float64"),
        ({"item": [[0, 2]]}, "`item` must be between 0 and 1, a position on its axis.*got 2"),
        ({"item": [[-1, 0]]}, "`item` must be between 0 and 1.*got -1"),
        ({"rankers": ["x", "y"]}, "`ranker_idx` must say for each of the 1 rankings which of"),
        ({"ranker_idx": [0, 0]}, "`ranker_idx` must say for each of the 1 rankings"),
        ({"rankers": ["x"], "ranker_idx": [1]}, "`ranker_idx` must be between 0 and 0"),
        ({"labels": ["x", "y"]}, "`labels` has 2 names for 1 rankings"),
        ({"features": [[1.0, 2.0]]}, r"`features` must have shape \(n_rankings, n_slots, n_f"),
        ({"features": [[[1.0], [np.nan]]]}, "Feature 0 must be finite; it is nan for item 'b'"),
        ({"features": [[[1.0], [2.0]]], "feature_names": ["x", "y"]}, "2 names for 1 features"),
    ],
)
def test_arrays_are_checked(change, message):
    arguments = {"item": [[0, 1]], "ranks": [[1, 2]], "items": ["a", "b"]} | change
    with pytest.raises(ValueError, match=message):
        Rankings(**arguments)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.ones((3, 1)), r"shape \(n_items, n_features\), aligned with the 2 items; got \(3, 1\)"),
        (np.ones(2), "`features` must have shape"),
        (pd.DataFrame({"x": [1.0]}, index=["a"]), "`features` has no row for item 'b'"),
        (pd.DataFrame({"x": [1.0, np.inf]}, index=["a", "b"]), "Feature 'x' must be finite; it is"),
        (["x"], "`features` must be a DataFrame indexed by item or an array here"),
    ],
)
def test_features_are_checked(features, message):
    with pytest.raises(ValueError, match=message):
        Rankings.from_orderings([["a", "b"]], features=features)


# Rankings that say nothing


def test_rankings_of_one_item_or_one_block_are_kept_and_counted_once():
    with pytest.warns(UninformativeRankingWarning) as caught:
        r = Rankings.from_orderings([["a"], ["a", "b"], [{"a", "b"}]])
    assert [str(warning.message) for warning in caught] == [
        "2 of 3 rankings hold one item or one block (0, 2): they say nothing about preferences, "
        "are kept and contribute zero."
    ]
    np.testing.assert_array_equal(r.ranks, [[1, 0], [1, 2], [1, 1]])


def test_the_warning_points_at_the_line_of_the_caller():
    with pytest.warns(UninformativeRankingWarning) as caught:
        Rankings.from_orderings([["a"]])
    assert caught[0].filename == __file__


def test_a_ranking_with_two_blocks_is_not_counted():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Rankings.from_orderings([["a", {"b", "c"}]])
