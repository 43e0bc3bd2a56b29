"""Pairs: names, groups, ties as half wins, connectivity, tables out, and what stays the same."""

import numpy as np
import pandas as pd
import pytest

from bayesrank.data import Pairs, Rankings
from bayesrank.data import pairs as module

SWAPPED = {"first": "second", "second": "first", "tie": "tie"}


def matches(*rows, columns=("x", "y", "result"), **more):
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
    p = matches(["b", "a", "first"], ["a", "b", "tie"], ["c", "a", "tie"])
    assert {name: values.tolist() for name, values in p.coords.items()} == {
        "item": ["a", "b", "c"],
        "pair": ["a - b", "b - a", "c - a"],
        "judge": ["all"],
    }


def test_pairs_are_named_after_judges_groups_and_weights_where_there_are_several():
    p = matches(
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
    assert matches(*rows, collapse=False).coords["pair"].tolist() == [0, 1]
    alike = matches(["a", "b - c", "first"], ["a - b", "c", "first"])  # both "a - b - c"
    assert alike.coords["pair"].tolist() == [0, 1]


def test_very_many_pairs_are_numbered(monkeypatch):
    p = matches(["a", "b", "first"], ["a", "c", "first"])
    monkeypatch.setattr(module, "MOST_NAMED", 1)
    assert p.coords["pair"].tolist() == [0, 1]


def test_the_repr_counts_what_there_is():
    p = matches(
        ["a", "b", "tie", "Ann", "Mon"],
        ["a", "b", "tie", "Ann", "Mon"],
        ["c", "b", "first", "Bo", "Mon"],
        columns=("x", "y", "result", "who", "day"),
        judge="who",
        by="day",
    )
    assert repr(p) == (
        "Pairs: 2 pairs of 3 items by 2 judges and 1 of 'day', 3 matches (1 first, 0 second, 2 tie)"
    )
    assert repr(matches(["a", "b", "first"])) == (
        "Pairs: 1 pair of 2 items by 1 judge, 1 match (1 first, 0 second, 0 tie)"
    )


# Groups


def test_judges_and_groups_tell_their_labels_and_codes():
    p = matches(
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


def test_an_unknown_group_is_answered_with_those_there_are():
    p = matches(["a", "b", "first", "law"], columns=("x", "y", "result", "topic"), by="topic")
    message = "no group 'category': pairs are kept apart by 'judge', 'topic'. Name its column in"
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


def test_split_ties_add_up_to_the_matches_with_their_weights():
    p = read(random_matches(1))
    half = p.split_ties()
    before, after = (x.weight[:, None] * x.counts for x in (p, half))
    np.testing.assert_array_equal(after.sum(axis=1), before.sum(axis=1))
    np.testing.assert_array_equal(after[:, 0] - after[:, 1], before[:, 0] - before[:, 1])


def test_without_ties_there_is_nothing_to_split():
    p = Pairs.from_matrix([[0, 3], [1, 0]])
    assert p.split_ties() is p


# Connectivity


def test_wins_connect_as_in_rankings():
    rows = [["a", "b", "first"], ["c", "b", "second"], ["c", "a", "first"], ["d", "e", "first"]]
    orders = [["a", "b"], ["b", "c"], ["c", "a"], ["d", "e"]]
    found, expected = matches(*rows).connectivity(), Rankings.from_orderings(orders).connectivity()
    np.testing.assert_array_equal(found.weak, expected.weak)
    np.testing.assert_array_equal(found.strong, expected.strong)
    assert found.never_loses.tolist() == ["d"]
    assert found.never_wins.tolist() == ["e"]


def test_a_tie_keeps_two_items_together():
    c = matches(["a", "b", "tie"]).connectivity()
    assert c.is_strongly_connected
    assert c.message == "All 2 items are comparable, and each wins and loses."


@pytest.mark.filterwarnings("ignore::bayesrank.data.UncomparedItemWarning")
def test_a_match_that_was_not_played_connects_nothing():
    p = matches(["a", "b", "first", 0], columns=("x", "y", "result", "n"), count="n")
    assert p.connectivity().uncompared.tolist() == ["a", "b"]


def test_the_sentences_of_connectivity_speak_of_matches():
    assert matches(["a", "b", "first"]).connectivity().warnings() == [
        "Item 'a' never loses: without a prior its utility is infinite. Give it a prior, or leave "
        "out its matches.",
        "Item 'b' never wins: without a prior its utility is minus infinite. Give it a prior, or "
        "leave out its matches.",
    ]
    losers, winners = matches(["a", "c", "first"], ["b", "c", "first"], ["a", "d", "first"],
                              ["b", "d", "first"]).connectivity().warnings()  # fmt: skip
    assert losers.startswith("2 items ('a', 'b') never lose:")
    assert winners.endswith("Give them a prior, or leave out their matches.")


# What stays the same


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_the_rows_does_not_matter_to_collapsed_pairs(seed):
    frame = random_matches(seed)
    assert read(frame.sample(frac=1.0, random_state=seed)) == read(frame)


@pytest.mark.parametrize("seed", range(5))
def test_collapsed_pairs_count_the_matches_of_the_table(seed):
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


@pytest.mark.parametrize("seed", range(5))
def test_swapping_the_columns_and_the_outcomes_mirrors_the_counts(seed):
    frame = random_matches(seed)
    mirror = frame.rename(columns={"x": "y", "y": "x"}).assign(result=frame["result"].map(SWAPPED))
    rows, swapped = (read(table, collapse=False) for table in (frame, mirror))
    np.testing.assert_array_equal(swapped.first, rows.second)
    np.testing.assert_array_equal(swapped.second, rows.first)
    np.testing.assert_array_equal(swapped.counts, rows.counts[:, [1, 0, 2]])
    collapsed, again = (read(table).to_frame() for table in (frame, mirror))
    back = again.rename(columns={"first": "second", "second": "first"})
    back["outcome"] = back["outcome"].map(SWAPPED)
    keys = [name for name in collapsed if name != "count"]
    seen = [t[t["count"] > 0].set_index(keys)["count"].to_dict() for t in (collapsed, back)]
    assert seen[0] == seen[1]


@pytest.mark.parametrize("collapse", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_pairs_read_back_from_their_own_frame(seed, collapse):
    p = read(random_matches(seed), collapse=collapse, items=list("fedcba")[1:])
    assert read_back(p.to_frame(), collapse=collapse, items=p.items) == p
    assert len(p) == p.n_pairs


def test_a_frame_says_weights_only_if_there_are_some_and_keeps_pairs_without_matches():
    p = matches(["a", "b", "tie", 2], ["b", "c", "tie", 0], ["c", "b", "tie", 1],
                columns=("x", "y", "result", "n"), count="n")  # fmt: skip
    assert p.to_frame().to_dict("list") == {
        "first": ["a", "b", "c"],
        "second": ["b", "c", "b"],
        "outcome": ["tie", "first", "tie"],
        "count": [2, 0, 1],
        "judge": ["all", "all", "all"],
    }
