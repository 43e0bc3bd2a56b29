"""How tables of matches become pairs, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from bayesrank.data import Pairs, UncomparedItemWarning
from bayesrank.data.read import distinct_rows

MATCHES = pd.DataFrame(
    {
        "home": ["b", "a", "c", "b", "b"],
        "away": ["a", "c", "b", "a", "c"],
        "result": ["first", "tie", "second", "second", "first"],
        "times": [2, 1, 1, 4, 3],
        "season": [2003, 2002, 2002, 2003, 2002],
        "sky": ["sun", "rain", "rain", "sun", "sun"],
        "worth": [1.0, 0.5, 1.0, 1.0, 1.0],
    }
)


def matches(frame=MATCHES, **more):
    return Pairs.from_frame(frame, first="home", second="away", outcome="result", **more)


# Tables


def test_rows_of_equal_items_become_one_pair():
    p = matches()
    assert p.items.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(p.first, [0, 1, 1, 2])
    np.testing.assert_array_equal(p.second, [2, 0, 2, 1])
    np.testing.assert_array_equal(p.counts, [[0, 0, 1], [1, 1, 0], [1, 0, 0], [0, 1, 0]])
    np.testing.assert_array_equal(p.weight, [1.0, 1.0, 1.0, 1.0])
    assert p.judges.tolist() == ["all"]
    np.testing.assert_array_equal(p.judge_idx, [0, 0, 0, 0])
    assert dict(p.groups) == {}
    assert (p.n_pairs, p.n_items, p.n_matches) == (4, 3, 5)
    dtypes = [x.dtype for x in (p.first, p.second, p.judge_idx, p.counts, p.weight)]
    assert dtypes == [np.int32, np.int32, np.int32, np.int64, np.float64]


def test_counts_judges_groups_and_weights_are_read():
    p = matches(count="times", judge="season", by=["sky"], weight="worth", items=list("cba"))
    assert p.items.tolist() == ["c", "b", "a"]
    assert p.judges.tolist() == [2002, 2003]
    assert p.groups["sky"].labels.tolist() == ["rain", "sun"]
    np.testing.assert_array_equal(p.first, [0, 1, 1, 2])
    np.testing.assert_array_equal(p.second, [1, 0, 2, 0])
    np.testing.assert_array_equal(p.counts, [[0, 1, 0], [3, 0, 0], [2, 4, 0], [0, 0, 1]])
    np.testing.assert_array_equal(p.judge_idx, [0, 0, 1, 0])
    np.testing.assert_array_equal(p.groups["sky"].idx, [0, 1, 1, 0])
    np.testing.assert_array_equal(p.weight, [1.0, 1.0, 1.0, 0.5])


@pytest.mark.parametrize("apart", [{"judge": "season"}, {"by": "season"}, {"weight": "season"}])
def test_judges_groups_and_weights_keep_pairs_apart(apart):
    frame = pd.DataFrame({"home": "a", "away": "b", "result": "tie", "season": [1, 2, 1]})
    np.testing.assert_array_equal(matches(frame).counts, [[0, 0, 3]])
    np.testing.assert_array_equal(matches(frame, **apart).counts, [[0, 0, 2], [0, 0, 1]])


def test_without_collapsing_each_row_is_a_pair_in_the_order_of_the_table():
    p = matches(count="times", judge="season", collapse=False)
    np.testing.assert_array_equal(p.first, [1, 0, 2, 1, 1])
    np.testing.assert_array_equal(p.second, [0, 2, 1, 0, 2])
    np.testing.assert_array_equal(p.counts, [[2, 0, 0], [0, 0, 1], [0, 1, 0], [0, 4, 0], [3, 0, 0]])
    np.testing.assert_array_equal(p.judge_idx, [1, 0, 0, 1, 0])


def test_categories_keep_their_order():
    days = pd.Categorical(["Tue", "Mon", "Tue", "Mon", "Tue"], categories=["Mon", "Tue"][::-1])
    teams = pd.CategoricalDtype(["c", "a", "b"])
    frame = MATCHES.assign(day=days).astype({"home": teams, "away": teams, "result": "category"})
    p = matches(frame, by="day")
    assert p.groups["day"].labels.tolist() == ["Tue", "Mon"]
    assert p.items.tolist() == ["c", "a", "b"]
    assert p.n_matches == 5


def test_a_judge_with_one_match_is_kept():
    p = matches(MATCHES.assign(season=["x", "x", "y", "x", "x"]), judge="season")
    assert p.judges.tolist() == ["x", "y"]
    assert p.counts[p.judge_idx == 1].tolist() == [[0, 1, 0]]


def test_items_never_compared_are_named():
    message = r"2 of 5 items are never compared \('d', 'e'\): the data say nothing of their util"
    with pytest.warns(UncomparedItemWarning, match=message) as caught:
        p = matches(items=list("abcde"))
    assert caught[0].filename == __file__
    assert p.items.tolist() == list("abcde")
    message = r"1 of 3 items is never compared \('c'\): the data say nothing of its utility, and"
    with pytest.warns(UncomparedItemWarning, match=message):
        matches(MATCHES.assign(times=[1, 0, 0, 1, 0]), count="times")


def test_many_items_never_compared_are_counted():
    with pytest.warns(UncomparedItemWarning, match=r"'d', 'e', 'f', 'g', 'h' and 18 more\): the"):
        matches(items=list("abcdefghijklmnopqrstuvwxyz"))


# Combinations of codes


def test_combinations_beyond_64_bits_stay_apart():
    # Six codes of 2,000 labels: 6.4e19 combinations, and none of them would fit.
    rng = np.random.default_rng(1)
    codes = rng.integers(2000, size=(300, 6))[rng.integers(300, size=1000)]
    row, pair = distinct_rows([(codes[:, i], 2000) for i in range(6)])
    expected, number = np.unique(codes, axis=0, return_inverse=True)
    np.testing.assert_array_equal(codes[row], expected)
    np.testing.assert_array_equal(pair, number)


@pytest.mark.parametrize("size", [3, 50])  # counted, sorted
def test_combinations_are_numbered_in_their_order(size):
    codes = np.random.default_rng(2).integers(3, size=(20, 3))
    row, pair = distinct_rows([(codes[:, i], size) for i in range(3)])
    expected, number = np.unique(codes, axis=0, return_inverse=True)
    np.testing.assert_array_equal(codes[row], expected)
    np.testing.assert_array_equal(pair, number)


# Bad tables


@pytest.mark.parametrize(
    ("values", "row", "shown"),
    [
        (["first", "draw", "home"], 1, "'draw'"),
        (["first", None, "tie"], 1, "(None|nan)"),
        ([0, 1, 2], 0, "0"),
        (["tie", "first", ["second"]], 2, r"\['second'\]"),
    ],
)
def test_the_outcome_is_one_of_three(values, row, shown):
    frame = pd.DataFrame({"home": ["a"] * 3, "away": ["b"] * 3, "result": values})
    message = (
        f"must be one of 'first', 'second', 'tie'; column 'result' has {shown} in row {row}. "
        f"Translate the column"
    )
    with pytest.raises(ValueError, match=message):
        matches(frame)


def test_an_item_is_not_compared_with_itself():
    frame = MATCHES.assign(away=["a", "a", "b", "a", "c"])
    with pytest.raises(ValueError, match="'home' and 'away' compare item 'a' with itself in row 1"):
        matches(frame)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([1, -2, 1, 1, 1], "A count must not be negative; column 'times' has -2 in row 1"),
        ([1, np.nan, 1, 1, 1], "A count must be a finite number; column 'times' is missing in row"),
        ([1, 1, np.inf, 1, 1], "A count must be a finite number; column 'times' has inf in row 2"),
        (
            [1, 1, 1, 0.5, 1],
            "A count must be a whole number; column 'times' has 0.5 in row 3. .* weight= of "
            "from_frame, and half a win for each tie is what Pairs.split_ties makes",
        ),
        ([1, 1, 1, 1, 1e300], r"counts in column 'times' add up to 1e\+300; more than 2\^53"),
        (["1", "2", "x", "1", "1"], "A count must be a finite number; column 'times' has 'x' in"),
    ],
)
def test_counts_are_whole_and_not_negative(times, message):
    with pytest.raises(ValueError, match=message):
        matches(MATCHES.assign(times=times), count="times")


@pytest.mark.parametrize(
    ("worth", "message"),
    [
        (-0.5, "A weight must not be negative; column 'worth' has -0.5 in row 0"),
        (np.inf, "A weight must be a finite number; column 'worth' has inf in row 0"),
        (np.nan, "A weight must be a finite number; column 'worth' is missing in row 0"),
    ],
)
def test_weights_are_finite_and_not_negative(worth, message):
    with pytest.raises(ValueError, match=message):
        matches(MATCHES.assign(worth=worth), weight="worth")


def test_labels_are_not_missing():
    with pytest.raises(ValueError, match="Column 'home' has a missing label in row 2"):
        matches(MATCHES.assign(home=["b", "a", None, "b", "b"]))
    with pytest.raises(ValueError, match="Column 'away' has a missing label in row 0"):
        matches(MATCHES.assign(away=[None, "c", "b", "a", "c"]))
    with pytest.raises(ValueError, match="Column 'season' has a missing label in row 3"):
        matches(MATCHES.assign(season=[1, 1, 1, np.nan, 1]), judge="season")
    with pytest.raises(ValueError, match="Column 'sky' has a missing label in row 4"):
        matches(MATCHES.assign(sky=["sun"] * 4 + [None]), by="sky")


def test_items_are_those_of_the_axis():
    with pytest.raises(ValueError, match="Unknown item 'c': the items are 'a', 'b'"):
        matches(items=["a", "b"])


@pytest.mark.parametrize(
    "columns", [{"judge": "who"}, {"by": ["sky", "who"]}, {"weight": "who"}, {"count": "who"}]
)
def test_columns_are_there(columns):
    with pytest.raises(ValueError, match="no column 'who'; its columns are 'home', 'away'"):
        matches(**columns)


@pytest.mark.parametrize("name", ["item", "pair", "judge", "result", "first", "count", "weight"])
def test_a_group_does_not_take_the_name_of_an_axis_or_a_column(name):
    message = f"`by` cannot name a column '{name}': pairs have an axis or a column of that name"
    with pytest.raises(ValueError, match=message):
        matches(MATCHES.assign(**{name: MATCHES["result"]}), by=["sky", name])


def test_a_judge_among_the_groups_is_sent_to_where_it_belongs():
    with pytest.raises(ValueError, match="Rename it or give the column as judge="):
        matches(MATCHES.assign(judge="Ann"), by="judge")


def test_groups_are_named_once_and_by_name():
    with pytest.raises(ValueError, match="`by` names column 'sky' twice; name it once"):
        matches(by=["sky", "sky"])
    with pytest.raises(ValueError, match="`by` must hold names of columns; got 7"):
        matches(by=[7])


def test_a_table_without_rows_is_refused():
    with pytest.raises(ValueError, match="There are no pairs: give at least one row"):
        matches(MATCHES.iloc[:0])
