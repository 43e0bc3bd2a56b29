"""Pairs: tables in, arrays and tables out, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from bayesrank.data import Pairs

MATCHES = pd.DataFrame(
    {
        "home": ["b", "a", "c", "b"],
        "away": ["a", "c", "b", "c"],
        "result": ["first", "tie", "second", "first"],
        "times": [2, 1, 0, 3],
        "season": [2003, 2002, 2002, 2003],
    }
)


def matches(frame=MATCHES, **more):
    return Pairs.from_frame(frame, first="home", second="away", outcome="result", **more)


def test_a_table_of_matches_becomes_arrays():
    p = matches(count="times", judge="season")
    assert p.items.tolist() == ["a", "b", "c"]
    assert p.judges.tolist() == [2003, 2002]
    np.testing.assert_array_equal(p.first, [1, 0, 2, 1])
    np.testing.assert_array_equal(p.second, [0, 2, 1, 2])
    np.testing.assert_array_equal(p.outcome, [0, 2, 1, 0])
    np.testing.assert_array_equal(p.count, [2.0, 1.0, 0.0, 3.0])
    np.testing.assert_array_equal(p.judge_idx, [0, 1, 1, 0])
    assert {name: values.tolist() for name, values in p.coords.items()} == {
        "item": ["a", "b", "c"],
        "pair": [0, 1, 2, 3],
        "judge": [2003, 2002],
    }


def test_without_counts_and_judges_each_row_is_one_comparison_by_all():
    p = matches()
    np.testing.assert_array_equal(p.count, [1.0] * 4)
    assert p.judges.tolist() == ["all"]
    np.testing.assert_array_equal(p.judge_idx, [0] * 4)
    assert repr(p) == "Pairs: 4 pairs of 3 items by 1 judge (2 first, 1 second, 1 tie)"


def test_pairs_read_back_from_their_own_frame():
    p = matches(count="times", judge="season", items=list("dcba"))
    again = Pairs.from_frame(
        p.to_frame(),
        first="first",
        second="second",
        outcome="outcome",
        count="count",
        judge="judge",
        items=p.items,
    )
    assert again == p
    assert p != matches(count="times", judge="season")
    assert len(p) == p.n_pairs == 4


@pytest.mark.parametrize("values", [["first", "draw"], ["first", None], [0, 1]])
def test_the_outcome_is_one_of_three(values):
    frame = pd.DataFrame({"home": ["a", "a"], "away": ["b", "b"], "result": values})
    bad = next((row, v) for row, v in enumerate(values) if v != "first")
    message = f"must be one of 'first', 'second', 'tie'; column 'result' has .* in row {bad[0]}"
    with pytest.raises(ValueError, match=message):
        matches(frame)


def test_an_item_is_not_compared_with_itself():
    frame = MATCHES.assign(away=["a", "a", "b", "c"])
    with pytest.raises(ValueError, match="'home' and 'away' compare item 'a' with itself in row 1"):
        matches(frame)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([1, -2, 1, 1], "A count must not be negative; column 'times' has -2 in row 1"),
        ([1, np.nan, 1, 1], "A count must be a finite number; column 'times' is missing in row 1"),
        ([1, 1, np.inf, 1], "column 'times' has inf in row 2"),
    ],
)
def test_counts_of_pairs_are_finite_and_not_negative(times, message):
    with pytest.raises(ValueError, match=message):
        matches(MATCHES.assign(times=times), count="times")


def test_labels_of_pairs_are_checked():
    with pytest.raises(ValueError, match="no column 'winner'; its columns are 'home', 'away'"):
        Pairs.from_frame(MATCHES, first="home", second="away", outcome="winner")
    with pytest.raises(ValueError, match="Column 'away' has a missing label in row 0"):
        matches(MATCHES.assign(away=[None, "c", "b", "c"]))
    with pytest.raises(ValueError, match="Column 'season' has a missing label in row 3"):
        matches(MATCHES.assign(season=[1, 1, 1, np.nan]), judge="season")
    with pytest.raises(ValueError, match="Unknown item 'c': the items are 'a', 'b'"):
        matches(items=["a", "b"])
    with pytest.raises(ValueError, match="There are no pairs"):
        matches(MATCHES.iloc[:0])
