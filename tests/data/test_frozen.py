"""Pairs, counts and interactions cannot be changed, and compare by content."""

import copy
import html
import pickle

import numpy as np
import pandas as pd
import pytest

from bayesrank.data import Interactions, PairCounts, Pairs, Rankings
from bayesrank.data.frozen import contents

TABLE = pd.DataFrame({"x": ["a"], "y": ["b"], "result": ["first"], "day": ["Mon"], "n": [1]})
PAIRS = Pairs.from_frame(TABLE, first="x", second="y", outcome="result", by="day")
COUNTS = PairCounts.from_frame(TABLE, first="x", second="y", count="n")
RANKINGS = Rankings.from_orderings([["a", "b"]], features=np.ones((2, 1))).grouped({"day": [1]})
HAVE = Interactions.from_frame(TABLE, user="x", item="y", items=["b", "c"])
N_ARRAYS = {Rankings: 9, Pairs: 6, PairCounts: 6, Interactions: 2}


@pytest.mark.parametrize("data", [RANKINGS, PAIRS, COUNTS, HAVE], ids=lambda x: type(x).__name__)
def test_none_can_be_changed_or_hashed_and_copies_are_equal(data):
    with pytest.raises(AttributeError, match="'items'"):
        data.items = data.items
    with pytest.raises(AttributeError, match="'items'"):
        del data.items
    with pytest.raises(TypeError, match="unhashable"):
        hash(data)
    for again in (data, copy.deepcopy(data), pickle.loads(pickle.dumps(data))):
        assert again == data
        arrays = [x for x in contents(vars(again)) if isinstance(x, np.ndarray)]
        assert len(arrays) == N_ARRAYS[type(data)]
        assert not any(array.flags.writeable for array in arrays)


@pytest.mark.parametrize("data", [RANKINGS, PAIRS], ids=lambda x: type(x).__name__)
def test_notes_are_kept_by_copies_and_are_not_compared(data):
    notes = ("Read 3 columns.", "Removed 1 row.")
    noted = data._with(notes=notes)
    assert data.notes == ()
    assert noted == data
    assert data == noted
    for again in (noted, copy.deepcopy(noted), pickle.loads(pickle.dumps(noted))):
        assert again.notes == notes
    assert noted.reindex({"item": ["b", "a", "c"]}).notes == noted[:1].notes == notes
    with pytest.raises(AttributeError, match="'notes'"):
        noted.notes = ()


def test_selections_keep_the_notes():
    notes = ("Read 3 columns.",)
    data = Rankings.from_orderings([["a", "b", "c"], ["b", "a", "c"], ["a", "b", "c"]])
    data = data._with(notes=notes)
    train, test = data.split(0.5, random_seed=1)
    for part in (
        data[:2],
        data.subset(labels=[2]),
        data.subset(rankers=[0]),
        data.collapse(),
        data.collapse(within_ranker=True),
        data.collapse().expand(),
        data.drop_items(["c"]),
        data.grouped({"day": [1, 2, 3]}),
        train,
        test,
    ):
        assert part.notes == notes
    table = pd.DataFrame({"x": ["a", "b"], "y": ["b", "a"], "result": ["tie", "first"]})
    pairs = Pairs.from_frame(table, first="x", second="y", outcome="result")._with(notes=notes)
    assert pairs[[True, False]].notes == pairs.split_ties().notes == notes


def test_groups_of_pairs_cannot_be_exchanged():
    for again in (PAIRS, copy.deepcopy(PAIRS), pickle.loads(pickle.dumps(PAIRS))):
        with pytest.raises(TypeError, match="does not support item assignment"):
            again.groups["day"] = again.groups["day"]


def test_they_differ_from_each_other_and_by_content():
    assert PAIRS != COUNTS != HAVE
    assert Interactions.from_frame(TABLE, user="x", item="y", items=["c", "b"]) != HAVE
    for other in ({"result": "tie"}, {"day": "Tue"}, {"y": "c"}):
        frame = TABLE.assign(**other)
        assert Pairs.from_frame(frame, first="x", second="y", outcome="result", by="day") != PAIRS
    assert Pairs.from_frame(TABLE, first="x", second="y", outcome="result") != PAIRS
    assert PairCounts.from_frame(TABLE.assign(n=2), first="x", second="y", count="n") != COUNTS


def test_a_row_that_is_wrong_is_named_by_its_index():
    frame = TABLE.assign(y="a").set_axis([5])
    with pytest.raises(ValueError, match=r"compare item 'a' with itself in row 0 \(index 5\)"):
        Pairs.from_frame(frame, first="x", second="y", outcome="result")
    frame = TABLE.assign(n=-1).set_axis([5])
    with pytest.raises(ValueError, match=r"'n' has -1 in row 0 \(index 5\)"):
        PairCounts.from_frame(frame, first="x", second="y", count="n")


def test_one_row_is_readable_and_several_rows_are_a_table():
    rankings = Rankings.from_orderings(
        [["c", {"a", "b"}], ["b", "a"], ["a", "c"]], rankers=[5, 4, 5], rest=(), weight=[1, 2, 1]
    )
    assert list(rankings) == [["c", {"a", "b"}], ["b", "a"], ["a", "c"]]
    assert (
        Rankings.from_orderings(list(rankings), rankers=[5, 4, 5], rest=(), weight=rankings.weight)
        == rankings
    )
    assert rankings[-1] == rankings[np.int64(2)] == ["a", "c"]
    assert rankings[1:] == rankings[[1, 2]] == rankings[[False, True, True]]
    assert rankings[1:] == rankings.subset([1, 2]) == rankings.subset(slice(1, None))
    assert rankings[pd.Series({2: False, 1: True, 0: True})].labels.tolist() == [0, 1]

    assert PAIRS[0] == {
        "first": "a", "second": "b", "count": {"first": 1, "second": 0, "tie": 0},
        "judge": "all", "day": "Mon", "weight": 1.0,
    }  # fmt: skip
    pairs, counts = rankings.pairs(), rankings.counts()
    assert list(pairs[[4, 0]]) == [pairs[4], pairs[0]]
    assert [pair["second"] for pair in pairs] == pairs.to_frame()["second"].tolist()
    assert counts.to_frame().to_dict("records") == list(counts)
    assert list(counts[[2, 0]]) == [counts[0], counts[2]]  # entries stay sorted
    clicks = pd.DataFrame({"user": [9, 7, 9, 8], "page": list("cbaa")})
    have = Interactions.from_frame(clicks, user="user", item="page", items=list("abcd"))
    assert have[0] == {"user": 7, "item": "b"}
    assert Interactions.from_frame(pd.DataFrame(list(have)), user="user", item="item",
                                   items=have.items) == have  # fmt: skip
    part = have[[3, 0]]
    assert list(part) == [have[0], have[3]]
    assert [part.items_of(user).tolist() for user in (7, 8, 9)] == [["b"], [], ["c"]]


@pytest.mark.parametrize("data", [RANKINGS, PAIRS, COUNTS, HAVE], ids=lambda x: type(x).__name__)
@pytest.mark.parametrize(
    ("index", "message"),
    [
        (1, r"There are 1 .*, but `index` is 1"),
        ((0, 0), r"one dimension; for rows, write \[\[0, 0\]\]"),
        ("a", "a list of positions or booleans. For names, use"),
        (True, r"A boolean `index` must have shape \(1,\); got \(\)"),
        ([0, 0], "selects the same .* twice"),
        (slice(1, None), "No .* is selected"),
    ],
)
def test_an_index_is_unambiguous(data, index, message):
    with pytest.raises((ValueError, IndexError), match=message):
        data[index]


@pytest.mark.parametrize("data", [RANKINGS, PAIRS, COUNTS, HAVE], ids=lambda x: type(x).__name__)
def test_tables_are_shown_in_notebooks_and_are_not_arrays(data):
    shown = data._repr_html_()
    assert html.escape(repr(data)) in shown
    assert shown.count("<tr>") == 1
    for convert in (np.asarray, np.array):
        with pytest.raises(TypeError, match="cannot be converted to an array without losing"):
            convert(data)


def test_the_table_in_a_notebook_is_short_and_escaped():
    shown = Rankings.from_orderings([["<b>", "a"], [{"a", "<b>"}, "c"]] * 9, rest=())._repr_html_()
    assert "18 rankings" in shown
    assert "&lt;b&gt; &gt; a" in shown
    assert "&lt;b&gt; = a &gt; c" in shown
    assert shown.count("<tr>") == 5
    with pytest.raises(ValueError, match="one list of items per ranking; got a Rankings"):
        Rankings.from_orderings(RANKINGS)
