"""Pair counts: tables in, sums and tables out, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from bayesrank.data import PairCounts


def counts(frame, **more):
    return PairCounts.from_frame(frame, first="x", second="y", count="n", **more)


def test_rows_for_the_same_ranker_and_pair_add_up():
    frame = pd.DataFrame(
        {
            "who": ["u", "u", "v", "u", "u"],
            "x": ["a", "b", "b", "a", "c"],
            "y": ["b", "a", "a", "b", "a"],
            "n": [1.5, 2, 4, 1, 0],
        }
    )
    c = counts(frame, ranker="who")
    assert c.to_frame().to_dict("list") == {
        "ranker": ["u", "u", "v"],
        "first": ["a", "b", "b"],
        "second": ["b", "a", "a"],
        "count": [2.5, 2.0, 4.0],
    }
    np.testing.assert_array_equal(c.net(), [[0.5, -0.5, 0.0], [-4.0, 4.0, 0.0]])
    np.testing.assert_array_equal(c.total(), [4.5, 4.0])
    np.testing.assert_array_equal(c.dense("v"), [[0, 0, 0], [4, 0, 0], [0, 0, 0]])
    assert c.coords["ranker"].tolist() == ["u", "v"]
    assert c.coords["item"].tolist() == ["a", "b", "c"]
    assert repr(c) == "PairCounts: 3 ordered pairs of 3 items by 2 rankers, 8.5 in all"
    again = PairCounts.from_frame(
        c.to_frame(),
        first="first",
        second="second",
        count="count",
        ranker="ranker",
        items=c.items,
    )
    assert again == c


def test_counts_without_a_ranker_belong_to_all():
    c = counts(pd.DataFrame({"x": ["a"], "y": ["b"], "n": [3]}))
    assert c.rankers.tolist() == ["all"]
    np.testing.assert_array_equal(c.dense("all"), [[0, 3], [0, 0]])
    with pytest.raises(ValueError, match="Unknown ranker 'v': the rankers are 'all'"):
        c.dense("v")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"x": "b"}, "Columns 'x' and 'y' compare item 'b' with itself in row 0"),
        ({"n": -1}, "A count must not be negative; column 'n' has -1 in row 0"),
        ({"x": None}, "Column 'x' has a missing label in row 0"),
    ],
)
def test_a_table_of_counts_is_checked(row, message):
    frame = pd.DataFrame([{"x": "a", "y": "b", "n": 3} | row])
    with pytest.raises(ValueError, match=message):
        counts(frame)


def test_an_empty_table_of_counts_is_refused():
    with pytest.raises(ValueError, match="There are no counts"):
        counts(pd.DataFrame({"x": [], "y": [], "n": []}))
