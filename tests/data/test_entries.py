"""Entries: arrays, tables and lists are checked before they are laid out."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bayesrank.data import Rankings
from tests.data.examples import from_places, places


def test_a_wide_table_holds_numbers():
    with pytest.raises(ValueError, match="A rank must be a finite number; column 'b' has 'second'"):
        Rankings.from_ranks(pd.DataFrame({"a": [1], "b": ["second"]}))
    with pytest.raises(
        ValueError, match=r"'b' has '2' in row 1 \(index 'y'\)\. Convert the column"
    ):
        Rankings.from_ranks(pd.DataFrame({"a": [1, 1], "b": [2, "2"]}, index=["x", "y"]))


def test_a_weight_column_is_constant_within_a_ranking():
    frame = places(("x", "a", 1, 2), ("x", "b", 2, 3), columns=("race", "car", "place", "times"))
    with pytest.raises(ValueError, match=r"'times' has 2 in row 0 and 3 in another row"):
        from_places(frame, weight="times")


def test_there_is_one_ranker_per_ranking():
    with pytest.raises(ValueError, match="`rankers` has 1 label for 2 rankings"):
        Rankings.from_orderings([["a", "b"], ["b", "a"]], rankers=["x"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ranks": [[1, 2, 0]]}, r"same shape \(n_rankings, n_slots\); got \(1, 2\) and"),
        ({"ranks": [1, 2], "item": [0, 1]}, "same shape"),
        ({"ranks": [[1.0, 2.0]]}, "`ranks` must be integers; got float64"),
        (
            {"ranks": [[1, 2], [1]]},
            "`ranks` must be an array of integers with rows of equal length",
        ),
        ({"item": [[0, 2]]}, "`item` must be between 0 and 1, a position on its axis.*got 2"),
        ({"item": [[-1, 0]]}, "`item` must be between 0 and 1.*got -1"),
        (
            {"rankers": ["x", "y"]},
            "`rankers` has 2 labels for 1 ranking; give one for each, or give",
        ),
        ({"ranker_idx": [0, 0]}, r"`ranker_idx` must have shape \(1,\), one position .*got \(2,\)"),
        ({"rankers": ["x"], "ranker_idx": [1]}, "`ranker_idx` must be between 0 and 0"),
        ({"labels": ["x", "y"]}, "`labels` has 2 labels for 1 ranking; give one for each"),
        ({"features": [[1.0, 2.0]]}, r"`features` must have shape \(n_rankings, n_slots, n_f"),
        ({"features": [[[1.0], [np.nan]]]}, "Feature 0 must be finite; it is nan for item 'b'"),
        (
            {"features": [[[1.0], [2.0]]], "feature_names": ["x", "y"]},
            "2 labels for 1 feature; give one for each",
        ),
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
        (
            pd.DataFrame({"x": [1.0, "big"]}, index=["a", "b"]),
            r"'x' has 'big' in row 1 \(index 'b'\)",
        ),
        (np.array([["p"], ["q"]]), "`features` must be an array of numbers: could not convert"),
        ("x", r"`features` must be a list of columns; write \['x'\]"),
        (["x"], "Here, `features` must be a DataFrame indexed by item, or an array"),
    ],
)
def test_features_are_checked(features, message):
    with pytest.raises(ValueError, match=message):
        Rankings.from_orderings([["a", "b"]], features=features)


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


# What is refused


@pytest.mark.parametrize(
    ("orderings", "message"),
    [
        ("abc", "`orderings` must contain one list of items per ranking; got 'abc'"),
        (None, "must contain one list of items per ranking; got None"),
        (pd.DataFrame({"a": [1]}), "got a DataFrame.* For a table, use Rankings.from_ratings"),
        ({("a", "b"): 1}, r"got a dict. Use pandas.Series\(orderings\) for a mapping"),
        (xr.DataArray([["a", "b"]], coords={"who": ["Ann"]}, dims=("who", "x")), "got a DataArray"),
        (["a", "b"], "Ordering 0 must be a list of items, best first; got 'a'"),
        ([["a", "b"], {"a": 1}], "Ordering 1 must be a list of items, best first; got {'a'"),
        ([["a", "b"], ["b", pd.NA]], r"Ordering 1 has a missing label\."),
        ([["a", None]], "Ordering 0 has a missing label"),
        ([{"a", "b"}], "Ordering 0 must be a list of items"),
        ([5], "Ordering 0 must be a list of items, best first; got 5"),
        ([["a", set()]], "Ordering 0 has an empty block"),
        ([["a", ["b", "c"]]], r"contains \['b', 'c'\], which is neither an item nor a block"),
        ([["a", ("b", "c")]], "Write a block as a set"),
    ],
)
def test_there_is_one_list_of_labels_and_sets_per_ranking(orderings, message):
    with pytest.raises(ValueError, match=message):
        Rankings.from_orderings(orderings)


@pytest.mark.parametrize(
    "lists",
    [[["a", "b", "c"], ["b", "a"]], [["a"], ["a", "b"]], [[{"a", "b"}], ["a", {"b", "c"}]]],
)
@pytest.mark.filterwarnings("ignore::bayesrank.data.UninformativeRankingWarning")
def test_lists_that_differ_in_length_need_a_rest(lists):
    """What is left out was not presented, or comes last: only the user knows."""
    sizes = [sum(len(x) if isinstance(x, set) else 1 for x in one) for one in lists]
    n_items = len({item for one in lists for entry in one for item in entry})
    with pytest.raises(
        ValueError,
        match=rf"^Orderings leave out items .* number 0 has {sizes[0]} items?, and number 1 has "
        rf"{sizes[1]}\. Use rest='items' if all items .* Use rest=\(\) if only the listed items",
    ):
        Rankings.from_orderings(lists)
    assert Rankings.from_orderings(lists, rest=()).mask.sum(axis=1).tolist() == sizes
    everyone = Rankings.from_orderings(lists, rest="items")
    assert everyone.mask.sum(axis=1).tolist() == [n_items] * 2
    for row, one in enumerate(lists):  # what is left out is below all that is named
        left = everyone.ranks[row] > len(one)
        assert left.sum() == n_items - sizes[row]


def test_rows_of_ranks_that_differ_in_length_need_a_rest():
    wide = pd.DataFrame({"a": [1, 2], "b": [2, 1], "c": [2, np.nan]}, index=["u", "v"])
    with pytest.raises(
        ValueError, match=r"^Rows of ranks leave out .* 0 has 3 items, .* 1 has 2\."
    ):
        Rankings.from_ranks(wide)
    assert Rankings.from_ranks(wide, rest=()).ranks.tolist() == [[1, 2, 2], [1, 2, 0]]
    last = Rankings.from_ranks(wide, rest="items")
    assert last == Rankings.from_orderings(
        [["a", {"b", "c"}], ["b", "a"]], rest="items", rankers=["u", "v"]
    )
    assert Rankings.from_ranks(wide, rest=[["a"], ["c"]]) == last
    with pytest.raises(ValueError, match="Unknown item 'x'"):
        Rankings.from_ranks(wide, rest=["x"])


def test_rest_lists_the_presented_items():
    for rest in ("x", {"x": ["b"], "y": ["a"]}):
        message = f"`rest` must be 'items', a list of labels, or .*; got {rest!r}"
        with pytest.raises(ValueError, match=message.replace("[", r"\[")):
            Rankings.from_orderings([["a"], ["b"]], rest=rest)
    with pytest.raises(ValueError, match="`rest` has 1 collection of items for 2 orderings"):
        Rankings.from_orderings([["a"], ["b"]], rest=[["a", "b"]])


def test_orderings_may_be_generated_or_be_arrays_and_columns():
    expected = Rankings.from_orderings([["b", "a"], ["a", "b"]])
    assert Rankings.from_orderings(o for o in [("b", "a"), iter(["a", "b"])]) == expected
    assert Rankings.from_orderings(np.array([["b", "a"], ["a", "b"]])) == expected
    assert Rankings.from_orderings([pd.Series(["b", "a"]), pd.Index(["a", "b"])]) == expected
