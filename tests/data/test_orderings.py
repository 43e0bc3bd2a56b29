"""Orderings: lists and sets, the items presented, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from bayesrank.data import Rankings

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


@pytest.mark.parametrize(
    ("orderings", "message"),
    [
        ("abc", "`orderings` must hold one list of items per ranking; got 'abc'"),
        (None, "`orderings` must hold one list of items per ranking; got None"),
        (pd.DataFrame({"a": [1]}), "reads lists; for a table use Rankings.from_ratings"),
        (["a", "b"], "Ordering 0 must be a list of items, best first; got 'a'"),
        (
            [["a", "b"], {"a": 1, "b": 2}],
            "Ordering 1 must be a list of items, best first; got {'a'",
        ),
        ([["a", "b"], ["b", pd.NA]], r"Ordering 1 has a missing label\."),
    ],
)
def test_there_is_one_list_per_ranking(orderings, message):
    with pytest.raises(ValueError, match=message):
        Rankings.from_orderings(orderings)


@pytest.mark.parametrize(
    ("ordering", "message"),
    [
        ("abc", "Ordering 0 must be a list of items, best first; got 'abc'"),
        ({"a", "b"}, "Ordering 0 must be a list of items"),
        (5, "Ordering 0 must be a list of items, best first; got 5"),
        (["a", set()], "Ordering 0 has an empty block"),
        (["a", ["b", "c"]], r"holds \['b', 'c'\], which is neither an item nor a block"),
        (["a", ("b", "c")], "write a block as a set"),
        (["a", None], "Ordering 0 has a missing label"),
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
    with pytest.raises(ValueError, match="`rest` has 1 collection of items for 2 orderings"):
        Rankings.from_orderings([["a"], ["b"]], rest=[["a", "b"]])


def test_orderings_may_be_generated_or_be_arrays_and_columns():
    expected = Rankings.from_orderings([["b", "a"], ["a", "b"]])
    assert Rankings.from_orderings(o for o in [("b", "a"), iter(["a", "b"])]) == expected
    assert Rankings.from_orderings(np.array([["b", "a"], ["a", "b"]])) == expected
    assert Rankings.from_orderings([pd.Series(["b", "a"]), pd.Index(["a", "b"])]) == expected
