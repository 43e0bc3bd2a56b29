"""Pairs: how tables and matrices become pairs, names, groups, ties, and what stays the same."""

import pickle

import numpy as np
import pandas as pd
import pytest

from bayesrank.data import Pairs, Rankings, UncomparedItemWarning
from bayesrank.data.read.pair_entries import distinct_rows

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


def test_items_never_compared_are_named():
    message = (
        r"2 of 5 items are never compared \('d', 'e'\): only the prior informs their utilities"
    )
    with pytest.warns(UncomparedItemWarning, match=message) as caught:
        p = matches(items=list("abcde"))
    assert caught[0].filename == __file__
    assert p.items.tolist() == list("abcde")
    message = r"1 of 3 items is never compared \('c'\): only the prior informs its utility\."
    with pytest.warns(UncomparedItemWarning, match=message):
        matches(MATCHES.assign(times=[1, 0, 0, 1, 0]), count="times")


# Combinations of codes


# counted, sorted, and six codes of which 6.4e19 combinations exceed 64 bits
@pytest.mark.parametrize(("size", "most", "n_codes"), [(3, 3, 3), (50, 3, 3), (2000, 2000, 6)])
def test_combinations_are_numbered_in_their_order(rng, size, most, n_codes):
    codes = rng.integers(most, size=(300, n_codes))[rng.integers(300, size=1000)]
    row, pair = distinct_rows([(column, size) for column in codes.T])
    expected, number = np.unique(codes, axis=0, return_inverse=True)
    np.testing.assert_array_equal(codes[row], expected)
    np.testing.assert_array_equal(pair, number)


# Bad tables

NO_OUTCOME = r"must be one of 'first', 'second', 'tie'; column 'result' has {}\. Translate the col"
COUNT, WEIGHT = {"count": "times"}, {"weight": "worth"}
NOT_FINITE = "must be a finite number; column"


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"result": ["first", "draw", *"xyz"]}, {}, NO_OUTCOME.format("'draw' in row 1")),
        ({"result": ["tie", None, *"xyz"]}, {}, NO_OUTCOME.format("(None|nan) in row 1")),
        ({"result": range(5)}, {}, NO_OUTCOME.format("0 in row 0")),
        ({"result": ["tie", ["tie"], *"xyz"]}, {}, NO_OUTCOME.format(r"\['tie'\] in row 1")),
        ({"away": list("aabac")}, {}, "'home' and 'away' compare item 'a' with itself in row 1"),
        (
            {"times": [1, -2, 1, 1, 1]},
            COUNT,
            "must not be negative; column 'times' has -2 in row 1",
        ),
        ({"times": [1, np.nan, 1, 1, 1]}, COUNT, f"{NOT_FINITE} 'times' is missing in row 1"),
        ({"times": [1, 1, np.inf, 1, 1]}, COUNT, f"{NOT_FINITE} 'times' has inf in row 2"),
        (
            {"times": [1, 1, 1, 0.5, 1]},
            COUNT,
            "A count must be a whole number; column 'times' has 0.5 in row 3. .* weight= of "
            "from_frame. To count a tie as half a win, use Pairs.split_ties",
        ),
        (
            {"times": [1, 1, 1, 1, 1e300]},
            COUNT,
            r"'times' sum to 1e\+300; the largest supported sum is 2\^53",
        ),
        ({"times": ["1", "2", "x", "1", "1"]}, COUNT, f"A count {NOT_FINITE} 'times' has 'x' in"),
        (
            {"worth": -0.5},
            WEIGHT,
            "A weight must not be negative; column 'worth' has -0.5 in row 0",
        ),
        ({"worth": np.inf}, WEIGHT, f"A weight {NOT_FINITE} 'worth' has inf in row 0"),
        ({"worth": np.nan}, WEIGHT, f"A weight {NOT_FINITE} 'worth' is missing in row 0"),
        ({"home": ["b", "a", None, *"bb"]}, {}, "Column 'home' has a missing label in row 2"),
        ({"away": [None, *"cbac"]}, {}, "Column 'away' has a missing label in row 0"),
        ({"season": [1, 1, 1, np.nan, 1]}, {"judge": "season"}, "'season' has a missing .* row 3"),
        ({"sky": ["sun"] * 4 + [None]}, {"by": "sky"}, "'sky' has a missing label in row 4"),
        ({}, {"items": ["a", "b"]}, "Unknown item 'c': the items are 'a', 'b'"),
        *(
            ({}, {option: "who"}, "no column 'who'; its columns are 'home', 'away'")
            for option in ("judge", "by", "weight", "count")
        ),
        ({}, {"by": ["sky", "sky"]}, "`by` names column 'sky' twice; name it once"),
        ({}, {"by": [7]}, "`by` must contain names of columns; got 7"),
        *(
            (
                {name: "x"},
                {"by": ["sky", name]},
                f"`by` cannot name a column '{name}': pairs already have",
            )
            for name in ("item", "pair", "judge", "result", "first", "count", "weight")
        ),
    ],
)
def test_a_table_of_matches_is_checked(change, options, message):
    with pytest.raises(ValueError, match=message):
        matches(MATCHES.assign(**change), **options)


WINS = [[0, 2, 0], [1, 0, 3], [0, 0, 0]]
TIES = [[0, 1, 2], [1, 0, 0], [2, 0, 0]]


def test_a_matrix_of_wins_becomes_a_pair_for_every_two_that_met():
    p = Pairs.from_matrix(WINS)
    assert p.items.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(p.first, [0, 1])
    np.testing.assert_array_equal(p.second, [1, 2])
    np.testing.assert_array_equal(p.counts, [[2, 1, 0], [3, 0, 0]])
    assert p.counts.dtype == np.int64


def test_a_table_of_wins_brings_its_labels():
    labels = ["x", "z", "y"]
    wins = pd.DataFrame(WINS, index=labels, columns=labels)
    ties = pd.DataFrame(TIES, index=labels, columns=labels)
    expected = Pairs.from_matrix(WINS, ties=TIES, items=labels)
    assert Pairs.from_matrix(wins, ties=ties) == expected
    assert Pairs.from_matrix(wins, ties=TIES) == expected


def test_items_that_met_no_other_are_named():
    with pytest.warns(UncomparedItemWarning, match=r"1 of 3 items is never compared \('c'\)"):
        Pairs.from_matrix([[0, 1, 0], [0, 0, 0], [0, 0, 0]], items=list("abc"))


def cell(table, i, j, value):
    changed = np.array(table, dtype=float)
    changed[i, j] = value
    return changed


@pytest.mark.parametrize("what", ["wins", "ties"])
@pytest.mark.parametrize(
    ("i", "j", "value", "message"),
    [
        (1, 1, 2, "on the diagonal must be 0; `{}` has 2 in the row of 'b' and the column of 'b'"),
        (0, 2, -1, "must not be negative; `{}` has -1 in the row of 'a' and the column of 'c'"),
        (0, 2, np.inf, "must be finite; `{}` has inf in the row of 'a' and the column of 'c'"),
        (0, 2, np.nan, "must be finite; `{}` has nan in"),
        (2, 1, 0.5, "must be a whole number; `{}` has 0.5 in the row of 'c' .*Pairs.split_ties"),
    ],
)
def test_cells_are_counts(what, i, j, value, message):
    tables = {"wins": WINS, "ties": TIES}
    tables[what] = cell(tables[what], i, j, value)
    with pytest.raises(ValueError, match=f"A count {message.format(what)}"):
        Pairs.from_matrix(tables["wins"], ties=tables["ties"], items=list("abc"))


def test_ties_are_symmetric():
    message = "`ties` must be symmetric: 'a' tied with 'c' 2 times, but 'c' with 'a' 5 times. Write"
    with pytest.raises(ValueError, match=message):
        Pairs.from_matrix(WINS, ties=cell(TIES, 2, 0, 5), items=list("abc"))


@pytest.mark.parametrize(
    ("wins", "shape"), [([[0, 1]], r"\(1, 2\)"), ([1, 2], r"\(2,\)"), (np.zeros((0, 0)), r"\(0, 0")]
)
def test_wins_are_square(wins, shape):
    message = rf"`wins` must have shape \(n_items, n_items\); got {shape}"
    with pytest.raises(ValueError, match=message):
        Pairs.from_matrix(wins)
    with pytest.raises(ValueError, match=message):
        Pairs.from_matrix(pd.DataFrame(wins) if np.ndim(wins) == 2 else wins)


def test_shapes_and_labels_agree():
    with pytest.raises(
        ValueError, match=r"`ties` must have the shape of `wins`, \(3, 3\); got \(2"
    ):
        Pairs.from_matrix(WINS, ties=[[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="`items` has 2 labels for 3 items in `wins`; give one"):
        Pairs.from_matrix(WINS, items=["a", "b"])
    wins = pd.DataFrame(WINS, index=list("abc"), columns=list("abd"))
    with pytest.raises(
        ValueError, match=r"`wins.columns` must have .* no value for item 'c', and .*'d'"
    ):
        Pairs.from_matrix(wins)
    wins.columns = wins.index
    ties = pd.DataFrame(TIES, index=list("xbc"), columns=list("abc"))
    message = "`ties.index` must have .* no value for item 'a', and .* 'x', which no item has"
    with pytest.raises(ValueError, match=message):
        Pairs.from_matrix(wins, ties=ties)
    with pytest.raises(
        ValueError, match="`items` names the rows of an array, but `wins` is a Data"
    ):
        Pairs.from_matrix(wins, items=list("abc"))


def test_matrices_hold_numbers_and_something():
    with pytest.raises(ValueError, match="`wins` must be an array of numbers"):
        Pairs.from_matrix([["a", "b"], ["c", "d"]])
    with pytest.raises(ValueError, match="no pairs: all of `wins` and `ties` is 0"):
        Pairs.from_matrix(np.zeros((2, 2)), ties=np.zeros((2, 2)))


def played(*rows, columns=("x", "y", "result"), **more):
    frame = pd.DataFrame(rows, columns=list(columns))
    return Pairs.from_frame(frame, first="x", second="y", outcome="result", **more)


def random_matches(seed, n=300):
    """Draw matches of five items by three judges on two days, some with evidence of their own."""
    rng = np.random.default_rng(seed)
    first = rng.integers(5, size=n)
    names = np.array(list("abcde"))
    return pd.DataFrame(
        {
            "x": names[first],
            "y": names[(first + rng.integers(1, 5, size=n)) % 5],
            "result": rng.choice(["first", "second", "tie"], size=n),
            "n": rng.integers(4, size=n),
            "who": rng.choice(["Ann", "Bo", "Cy"], size=n),
            "day": rng.choice([20260105, 20260106], size=n),
            "worth": rng.choice([0.5, 1.0], size=n),
        }
    )


def read(frame, **more):
    columns = {"count": "n", "judge": "who", "by": ["day"], "weight": "worth"} | more
    return Pairs.from_frame(frame, first="x", second="y", outcome="result", **columns)


def read_back(frame, **more):
    """Read what `to_frame` wrote of pairs with a judge, a day and a weight."""
    columns = {"first": "first", "second": "second", "outcome": "outcome", "count": "count"}
    columns |= {"judge": "judge", "by": "day", "weight": "weight"}
    return Pairs.from_frame(frame, **columns, **more)


# Names


def test_pairs_are_named_after_their_items():
    p = played(["b", "a", "first"], ["a", "b", "tie"], ["c", "a", "tie"])
    assert {name: values.tolist() for name, values in p.coords.items()} == {
        "item": ["a", "b", "c"],
        "pair": ["a - b", "b - a", "c - a"],
        "judge": ["all"],
    }


def test_pairs_are_named_after_judges_groups_and_weights_where_there_are_several():
    p = played(
        ["a", "b", "first", "Ann", "maths", 3, 1.0],
        ["a", "b", "first", "Ann", "maths", 3, 0.25],
        ["a", "b", "tie", "Bo", "law", 3, 1.0],
        columns=("x", "y", "result", "who", "category", "day", "worth"),
        judge="who",
        by=["category", "day"],
        weight="worth",
    )
    assert p.labels.tolist() == [
        "a - b by Ann, category maths, weight 0.25",
        "a - b by Ann, category maths, weight 1",
        "a - b by Bo, category law, weight 1",
    ]
    assert {name: p.coords[name].tolist() for name in ("category", "day")} == {
        "category": ["law", "maths"],
        "day": [3],
    }


def test_pairs_whose_names_would_not_differ_are_numbered():
    rows = [["a", "b", "first"], ["b", "a", "first"]]
    assert played(*rows, collapse=False).coords["pair"].tolist() == [0, 1]
    alike = played(["a", "b - c", "first"], ["a - b", "c", "first"])  # both "a - b - c"
    assert alike.coords["pair"].tolist() == [0, 1]


def test_the_repr_summarises_the_table():
    p = played(
        ["a", "b", "tie", "Ann", "Mon"],
        ["a", "b", "tie", "Ann", "Mon"],
        ["c", "b", "first", "Bo", "Mon"],
        columns=("x", "y", "result", "who", "day"),
        judge="who",
        by="day",
    )
    assert repr(p) == (
        "Pairs: 2 pairs of 3 items by 2 judges and 1 label of 'day', "
        "3 matches (1 first, 0 second, 2 tie)"
    )
    assert repr(played(["a", "b", "first"])) == (
        "Pairs: 1 pair of 2 items by 1 judge, 1 match (1 first, 0 second, 0 tie)"
    )


# Groups


def test_judges_and_groups_tell_their_labels_and_codes():
    p = played(
        ["a", "b", "first", "Bo", "law"],
        ["a", "b", "first", "Ann", "maths"],
        columns=("x", "y", "result", "who", "category"),
        judge="who",
        by="category",
        collapse=False,
    )
    assert p.group_labels("judge").tolist() == ["Ann", "Bo"]
    assert p.group_idx("judge").tolist() == [1, 0]
    assert p.group_labels("category").tolist() == ["law", "maths"]
    assert p.group_idx("category").tolist() == [0, 1]


def test_an_unknown_group_lists_the_existing_groups():
    p = played(["a", "b", "first", "law"], columns=("x", "y", "result", "topic"), by="topic")
    message = "no group 'category': the groups of these pairs are 'judge', 'topic'. Name its column"
    for method in (p.group_idx, p.group_labels):
        with pytest.raises(ValueError, match=message):
            method("category")


# Ties


def test_a_tie_is_split_into_half_a_win_of_each():
    p = Pairs.from_matrix([[0, 3, 1], [1, 0, 0], [0, 0, 0]], ties=[[0, 2, 0], [2, 0, 1], [0, 1, 0]])
    half = p.split_ties()
    np.testing.assert_array_equal(p.counts, [[3, 1, 2], [1, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(half.counts, [[8, 4, 0], [2, 0, 0], [1, 1, 0]])
    np.testing.assert_array_equal(half.weight, [0.5, 0.5, 0.5])
    assert half.labels.tolist() == p.labels.tolist()


# Connectivity


def test_wins_connect_as_in_rankings():
    rows = [["a", "b", "first"], ["c", "b", "second"], ["c", "a", "first"], ["d", "e", "first"]]
    orders = [["a", "b"], ["b", "c"], ["c", "a"], ["d", "e"]]
    found, expected = played(*rows).connectivity(), Rankings.from_orderings(orders).connectivity()
    np.testing.assert_array_equal(found.weak, expected.weak)
    np.testing.assert_array_equal(found.strong, expected.strong)
    assert found.never_loses.tolist() == ["d"]
    assert found.never_wins.tolist() == ["e"]


def test_a_tie_keeps_two_items_together():
    c = played(["a", "b", "tie"]).connectivity()
    assert c.is_strongly_connected
    assert c.message == "All 2 items are comparable, and each wins and loses."


def test_the_sentences_of_connectivity_speak_of_matches():
    assert played(["a", "b", "first"]).connectivity().warnings() == [
        "Item 'a' never loses: without a prior its utility is infinite. Give it a prior, or remove "
        "its matches.",
        "Item 'b' never wins: without a prior its utility is minus infinite. Give it a prior, or "
        "remove its matches.",
    ]
    losers, winners = played(["a", "c", "first"], ["b", "c", "first"], ["a", "d", "first"],
                              ["b", "d", "first"]).connectivity().warnings()  # fmt: skip
    assert losers.startswith("2 items ('a', 'b') never lose:")
    assert winners.endswith("Give them a prior, or remove their matches.")


# What stays the same


def test_collapsed_pairs_count_the_matches_of_the_table():
    for seed in range(5):
        frame = random_matches(seed)
        p, rows = read(frame), read(frame, collapse=False)
        assert p.n_matches == rows.n_matches == frame["n"].sum()
        np.testing.assert_array_equal(p.counts.sum(axis=0), rows.counts.sum(axis=0))
        keys = ["x", "y", "who", "day", "worth"]
        assert p.n_pairs == len(frame[keys].drop_duplicates())
        table = frame.groupby([*keys, "result"])["n"].sum()
        written = p.to_frame().rename(columns={"first": "x", "second": "y", "judge": "who"})
        written = written.rename(columns={"weight": "worth", "outcome": "result"})
        counted = written[written["count"] > 0].set_index([*keys, "result"])["count"]
        assert counted.sort_index().to_dict() == table[table > 0].sort_index().to_dict()


@pytest.mark.parametrize("collapse", [True, False])
def test_pairs_read_back_from_their_own_frame(collapse):
    for seed in range(5):
        p = read(random_matches(seed), collapse=collapse, items=list("fedcba")[1:])
        assert read_back(p.to_frame(), collapse=collapse, items=p.items) == p
        assert len(p) == p.n_pairs


def test_a_frame_says_weights_only_if_there_are_some_and_keeps_pairs_without_matches():
    p = played(["a", "b", "tie", 2], ["b", "c", "tie", 0], ["c", "b", "tie", 1],
                columns=("x", "y", "result", "n"), count="n")  # fmt: skip
    assert p.to_frame().to_dict("list") == {
        "first": ["a", "b", "c"],
        "second": ["b", "c", "b"],
        "outcome": ["tie", "first", "tie"],
        "count": [2, 0, 1],
        "judge": ["all", "all", "all"],
    }


# Features and what was seen

LONG = [["a", "b", "first", 5.0, 3.0, 1], ["a", "b", "tie", 4.0, 2.0, 1],
        ["b", "a", "first", 1.0, 1.5, 0], ["a", "b", "second", 1.0, 4.0, 1]]  # fmt: skip
LONG_COLUMNS = ("x", "y", "result", "len_x", "len_y", "styled")


def test_features_say_how_far_the_first_is_ahead_and_keep_pairs_apart():
    p = played(*LONG, columns=LONG_COLUMNS, features={"length": ("len_x", "len_y"), "s": "styled"})
    assert p.feature_names.tolist() == list(p.coords["feature"]) == ["length", "s"]
    # the first two matches are alike in all
    assert p.counts.tolist() == [[0, 1, 0], [1, 0, 1], [1, 0, 0]]
    assert p.features.tolist() == [[-3.0, 1.0], [2.0, 1.0], [-0.5, 0.0]]
    again = Pairs.from_frame(
        p.to_frame(), first="first", second="second", outcome="outcome", count="count",
        judge="judge", features=["length", "s"],
    )  # fmt: skip
    assert again == p
    assert p != played(*LONG, columns=LONG_COLUMNS, features={"length": ("len_x", "len_y")})
    # the first two have all else in common
    assert p.labels.is_unique
    assert p.labels[1].endswith(", length +2, s +1")
    assert not p.features.flags.writeable


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("len_x", r"^`features` is 'len_x'; give a list of columns, \['len_x'\]\."),
        (["len_x", "len_x"], r"^`features` names a column twice"),
        (
            {"n": ("len_x",) * 3},
            r"^The feature 'n' must be one column with a difference, .* got \('l",
        ),
        ({"judge": "len_x"}, r"^A feature cannot be called 'judge': .* features=\{'another'"),
        (["width"], r"(?s)width"),
        (["x"], r"feature 'x'"),
    ],
)
def test_wrong_features_raise(features, message):
    with pytest.raises(ValueError, match=message):
        played(*LONG, columns=LONG_COLUMNS, features=features)


def test_matches_of_items_are_counted_at_each_label_of_a_group():
    table = [["a", "b", "first", "p"], ["b", "c", "tie", "q"], ["c", "b", "first", "q"]]
    p = played(*table, columns=("x", "y", "result", "prompt"), by="prompt")
    seen = p.seen("prompt")
    assert seen.labels.tolist() == ["p: a", "p: b", "q: b", "q: c"]
    assert p.items[seen.item].tolist() == ["a", "b", "b", "c"]
    assert (seen.first.tolist(), seen.second.tolist()) == ([0, 2, 3], [1, 3, 2])
    with pytest.raises(ValueError, match="There is no group 'day'"):
        p.seen("day")


@pytest.mark.filterwarnings("ignore::bayesrank.data.UncomparedItemWarning")
def test_a_match_that_was_not_played_connects_nothing():
    p = played(["a", "b", "first", 0], columns=("x", "y", "result", "n"), count="n")
    assert p.connectivity().uncompared.tolist() == ["a", "b"]


def test_the_order_of_the_rows_does_not_matter_to_collapsed_pairs():
    for seed in range(5):
        frame = random_matches(seed)
        assert read(frame.sample(frac=1.0, random_state=seed)) == read(frame)


def test_matches_are_counted_by_item():
    table = pd.DataFrame(
        {
            "x": ["a", "b", "a", "c"],
            "y": ["b", "a", "c", "a"],
            "who": ["first", "tie", "second", "first"],
            "n": [2, 1, 0, 3],
            "w": [0.5, 1.0, 1.0, 2.0],
        }
    )
    sides = {"first": "x", "second": "y", "outcome": "who", "count": "n"}
    with pytest.warns(UncomparedItemWarning):
        pairs = Pairs.from_frame(table, **sides, weight="w", items=list("dcba"))
    # a: 2 and 1 against b, 3 against c; a pair without matches counts nothing
    assert pairs.matches_by_item.to_dict() == {"d": 0, "c": 3, "b": 3, "a": 6}
    assert pairs.matches_by_item.dtype == np.int64
    weighted = pairs.sum_by_item(pairs.weight * pairs.counts.sum(axis=1))
    assert weighted.to_dict() == {"d": 0, "c": 6, "b": 2, "a": 8}
    assert pairs.sum_by_item(pairs.counts[:, 2]).to_dict() == {"d": 0, "c": 0, "b": 1, "a": 1}


@pytest.mark.parametrize("empty", [np.nan, None])
def test_the_diagonal_of_a_matrix_may_be_empty(empty):
    wins = [[empty, 3, 0], [1, empty, 2], [0, 4, empty]]
    zeros = [[0, 3, 0], [1, 0, 2], [0, 4, 0]]
    expected = Pairs.from_matrix(zeros, items=list("abc"))
    assert Pairs.from_matrix(wins, items=list("abc")) == expected
    frame = pd.DataFrame(wins, index=list("abc"), columns=list("abc"))
    for table in (frame, frame.astype("Int64"), frame.astype(object)):
        assert Pairs.from_matrix(table) == expected
    ties = [[empty, 1, 0], [1, empty, 0], [0, 0, empty]]
    tied = Pairs.from_matrix(wins, ties=ties, items=list("abc"))
    assert tied.counts.tolist() == [[3, 1, 1], [2, 4, 0]]
    wins[0][2] = empty
    message = (
        "A count must be finite; `wins` has nan in the row of 'a' and the column of 'c'. "
        "Write 0 if the items never met"
    )
    with pytest.raises(ValueError, match=message):
        Pairs.from_matrix(wins, items=list("abc"))
    with pytest.raises(ValueError, match=message):
        Pairs.from_matrix(pd.DataFrame(wins, index=list("abc"), columns=list("abc")))


# Grades

GRADES = ["A>>B", "A>B", "A=B", "B>A", "B>>A"]
VERDICTS = pd.DataFrame(
    {
        "one": ["x", "x", "y", "z", "x"],
        "two": ["y", "y", "z", "x", "y"],
        "verdict": ["A>>B", "B>A", "A=B", "B>>A", "A>>B"],
        "judge": ["u", "u", "u", "v", "v"],
    }
)


def graded(table=VERDICTS, grades=GRADES, **options):
    options = {"judge": "judge"} | options
    return Pairs.from_frame(
        table, first="one", second="two", outcome="verdict", grades=grades, **options
    )


def test_grades_are_counted_in_their_order_and_say_who_won():
    pairs = graded()
    assert pairs.grades.tolist() == GRADES
    assert pairs.grade_counts.tolist() == [
        [1, 0, 0, 1, 0], [1, 0, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 1]
    ]  # fmt: skip
    assert pairs.counts.tolist() == [[1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert pairs.boundaries.tolist() == ["B>>A | B>A", "B>A | A=B", "A=B | A>B", "A>B | A>>B"]
    assert pairs.coords["boundary"].tolist() == pairs.boundaries.tolist()
    assert repr(pairs) == (
        "Pairs: 4 pairs of 3 items by 2 judges, 5 matches (2 A>>B, 1 A=B, 1 B>A, 1 B>>A)"
    )
    even = graded(VERDICTS.drop(2), [*GRADES[:2], *GRADES[3:]])
    assert even.counts[:, 2].tolist() == [0] * 3


def test_pairs_without_grades_have_three_of_them():
    pairs = graded().with_counts(np.array([[1, 2, 3]] * 4))
    assert pairs.grades is None
    grades, counts = pairs.by_grade
    assert grades.tolist() == ["first", "tie", "second"]
    assert counts[0].tolist() == [1, 3, 2]


def test_grades_survive_tables_selections_and_pickles():
    pairs = graded()
    assert Pairs.from_frame(pairs.to_frame(), grades=pairs.grades) == pairs
    assert pairs[1:].grade_counts.tolist() == pairs.grade_counts[1:].tolist()
    assert pairs[0]["count"] == {"A>>B": 1, "A>B": 0, "A=B": 0, "B>A": 1, "B>>A": 0}
    assert pickle.loads(pickle.dumps(pairs)) == pairs
    assert pairs != pairs.with_counts(pairs.counts)
    assert pairs.split_ties().grades is None
    numbers = VERDICTS.assign(verdict=[2, -1, 0, -2, 2])
    assert graded(numbers, [2, 1, 0, -1, -2]).counts.tolist() == pairs.counts.tolist()


@pytest.mark.parametrize(
    ("grades", "message"),
    [
        ("A>>B", r"`grades` is the text 'A>>B'; give a list, such as \['A>>B', .* comes first"),
        (["A>B"], r"`grades` has 1 grades; list at least two"),
        (["A>B", "B>A", "A>B"], r"`grades` contains 'A>B' twice\. List each grade once"),
        (GRADES[:4], r"The grade 'A=B' says that the items are equal, but it is number 3 of 4"),
        (["A>B", "B>A", "Tie"], r"The grade 'Tie' says .* number 3 of 3\. It must be in the mid"),
        (GRADES[1:4], r"one of 'A>B', 'A=B', 'B>A'; column 'verdict' has 'A>>B' in row 0\. Add it"),
        ([2, 1, 0, -1, -2], r"must be one of 2, 1, 0, -1, -2; column 'verdict' has 'A>>B'"),
    ],
)
def test_grades_that_can_be_read_in_two_ways_raise(grades, message):
    with pytest.raises(ValueError, match=message):
        graded(grades=grades)


def test_a_missing_grade_and_a_group_with_the_name_of_the_boundaries_raise():
    with pytest.raises(ValueError, match=r"An outcome must be one of 'A>>B'.* has nan in row 1"):
        graded(VERDICTS.assign(verdict=VERDICTS["verdict"].where(VERDICTS.index != 1)))
    with pytest.raises(ValueError, match="`by` cannot name a column 'boundary': pairs already"):
        graded(VERDICTS.assign(boundary=1), by="boundary")


# Stated probabilities

STATED = pd.DataFrame(
    {"a": ["x", "y", "x", "x"], "b": ["y", "z", "z", "y"], "p": [0.5, 0.2, 1, 0.5]}
)


def stated(table=STATED, **more):
    return Pairs.from_frame(table, first="a", second="b", probability="p", **more)


def test_a_stated_probability_counts_as_one_match():
    pairs = stated()
    assert pairs.n_matches == 4
    assert pairs.matches_by_item.tolist() == [3, 3, 2]
    assert (pairs.weight * pairs.counts.sum(axis=1)).sum() == pytest.approx(4.0)
    assert pairs[pairs.first == 0].n_matches == 3
    assert repr(pairs).endswith("4 matches (stated by probabilities)")
    weighed = stated(STATED.assign(w=[2.0, 1.0, 1.0, 0.5]), weight="w")
    assert (weighed.weight * weighed.counts.sum(axis=1)).sum() == pytest.approx(4.5)
    assert weighed.n_matches == 4
    # without collapsing, the more probable outcome has the match
    apart = stated(collapse=False)
    assert apart.votes.tolist() == [1, 0, 0, 1, 1, 1, 0]


def test_stated_probabilities_are_checked():
    with pytest.raises(ValueError, match=r"between 0 and 1; column 'p' has 1\.5 in row 0"):
        stated(STATED.assign(p=1.5))
    with pytest.raises(ValueError, match=r"`probability` tells the outcomes\. Leave `outcome` and"):
        stated(outcome="p")
    with pytest.raises(ValueError, match="A probability must be a finite number"):
        stated(STATED.assign(p=np.nan))


# Margins

MARGINS = pd.DataFrame(
    {"a": list("xyzxyzxy"), "b": list("yzxyzxyx"), "m": [3, 0, -1, 1, -2, 0, 1, -4]}
)


def with_margins(table=MARGINS, **more):
    return Pairs.from_frame(table, first="a", second="b", margin="m", **more)


def test_margins_are_grades_with_known_edges():
    pairs = with_margins()
    assert pairs.grades.tolist() == [
        "+4 or more",
        "+3",
        "+2",
        "+1",
        "0",
        "-1",
        "-2",
        "-3",
        "-4 or less",
    ]
    np.testing.assert_array_equal(pairs.edges, [-3.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5])
    assert pairs.grade_counts.sum(axis=0).tolist() == [0, 1, 0, 2, 2, 1, 1, 0, 1]
    assert pairs.counts.sum(axis=0).tolist() == [3, 3, 2]
    # the mirrored table has the mirrored grades
    turned = with_margins(MARGINS.assign(a=MARGINS["b"], b=MARGINS["a"], m=-MARGINS["m"]))
    assert turned.grade_counts.sum(axis=0).tolist() == pairs.grade_counts.sum(axis=0).tolist()[::-1]
    few = with_margins(edges=[0.5, 1.5])
    assert few.grades.tolist() == ["+2 or more", "+1", "0", "-1", "-2 or less"]
    assert few.grade_counts.sum(axis=0).tolist() == [1, 2, 2, 1, 2]
    assert few.split_ties().edges is None


def test_without_ties_zero_is_an_edge():
    pairs = with_margins(MARGINS[MARGINS["m"] != 0])
    assert len(pairs.grades) == 8
    assert 0.0 in pairs.edges
    assert pairs.counts[:, 2].sum() == 0
    assert with_margins(MARGINS[MARGINS["m"] != 0], edges=[0, 1.5]).grades.tolist() == [
        "+2 or more", "+1", "-1", "-2 or less",
    ]  # fmt: skip


def test_many_margins_are_ranges_of_about_as_many_matches():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": "x", "b": "y", "m": np.rint(rng.normal(3, 12, 3000))})
    pairs = with_margins(table)
    upper = pairs.edges[pairs.edges > 0]
    assert len(upper) == 10
    assert (np.abs(table["m"]) > upper[-1]).mean() == pytest.approx(0.01, abs=0.005)
    assert pairs.grades[1].startswith("+")
    assert " to +" in pairs.grades[1]


def test_margins_are_checked():
    with pytest.raises(ValueError, match=r"A margin must be a finite number; column 'm' has 'far'"):
        with_margins(MARGINS.assign(m="far"))
    with pytest.raises(ValueError, match=r"must not be an edge between two grades, -1, 1; column"):
        with_margins(edges=[1])
    with pytest.raises(ValueError, match=r"`edges` is \[2.0, 1.0\]; it must be ascending numbers"):
        with_margins(edges=[2, 1])
    with pytest.raises(ValueError, match=r"`edges` are those of the margins\. Name their column"):
        Pairs.from_frame(MARGINS, first="a", second="b", outcome="m", edges=[1])
    with pytest.raises(ValueError, match=r"`margin` tells the outcomes\. Leave `outcome` and"):
        with_margins(outcome="m")
    with pytest.raises(ValueError, match=r"`probability` and `margin` both tell the outcomes"):
        with_margins(probability="m")


# Both bad

VOTES = pd.DataFrame(
    {
        "one": ["a", "a", "b", "c", "b"],
        "two": ["b", "b", "c", "a", "c"],
        "vote": ["first", "neither", "tie", "neither", "second"],
    }
)


def voted(table=VOTES, both_bad="neither", **options):
    columns = {"first": "one", "second": "two", "outcome": "vote"}
    return Pairs.from_frame(table, both_bad=both_bad, **columns, **options)


def test_votes_of_both_bad_are_an_outcome_and_nobody_wins():
    pairs = voted()
    np.testing.assert_array_equal(pairs.both_bad, [1, 0, 1])
    np.testing.assert_array_equal(pairs.counts, [[1, 0, 1], [0, 1, 1], [0, 0, 1]])
    np.testing.assert_array_equal(pairs.with_both_bad, [[1, 0, 0, 1], [0, 1, 1, 0], [0, 0, 0, 1]])
    assert repr(pairs).endswith("5 matches (1 first, 1 second, 1 tie, 2 both bad)")
    assert pairs[0]["count"] == {"first": 1, "second": 0, "tie": 0, "both bad": 1}
    assert pairs.n_matches == 5


def test_votes_of_both_bad_survive_tables_selections_and_pickles():
    pairs = voted()
    assert Pairs.from_frame(pairs.to_frame(), both_bad="both bad") == pairs
    assert pickle.loads(pickle.dumps(pairs)) == pairs
    np.testing.assert_array_equal(pairs[1:].both_bad, [0, 1])
    assert pairs != pairs.with_counts(pairs.counts)
    assert pairs.with_counts(pairs.counts).both_bad is None
    none = voted(VOTES[VOTES["vote"] != "neither"])
    assert none.both_bad.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"both_bad": "tie"}, r"`both_bad` is 'tie', which already is an outcome"),
        ({"grades": ["x", "y"]}, r"but `grades` tells other outcomes\. Leave `both_bad` or"),
        ({"both_bad": "bad"}, r"must be one of 'first', 'second', 'tie', 'bad'; .* 'neither'"),
    ],
)
def test_unclear_votes_of_both_bad_raise(options, message):
    with pytest.raises(ValueError, match=message):
        voted(**options)
    other = Pairs.from_frame
    with pytest.raises(ValueError, match=r"but `margin` tells other outcomes"):
        other(VOTES.assign(m=1), first="one", second="two", margin="m", both_bad="neither")
