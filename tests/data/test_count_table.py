"""Sums and tables of pair counts, by hand and on MovieLens."""

from math import factorial, log

import numpy as np
import pandas as pd
import pytest

from bayesrank.data import PairCounts, Rankings

# ranker u: in q1 a over b once; in q2 a over b twice, b over a once, c over a three times
TABLE = pd.DataFrame(
    {
        "ranker": ["u", "u", "u", "u", "v"],
        "problem": [1, 2, 2, 2, 2],
        "first": ["a", "a", "b", "c", "b"],
        "second": ["b", "b", "a", "a", "c"],
        "count": [1.0, 2.0, 1.0, 3.0, 4.0],
    }
)
COLUMNS = {"first": "first", "second": "second", "count": "count", "ranker": "ranker"}


@pytest.fixture
def counts():
    return PairCounts.from_frame(TABLE, **COLUMNS, problem="problem")


def test_axes_and_coords_name_problems_and_their_items(counts):
    assert counts.items.tolist() == [(1, "a"), (1, "b"), (2, "a"), (2, "b"), (2, "c")]
    assert counts.problem_idx.tolist() == [0, 0, 1, 1, 1]
    assert counts.problem_idx.dtype == np.int32
    assert counts.coords["problem"].tolist() == [1, 2]
    assert counts.coords["item"].tolist()[:2] == ["(1, 'a')", "(1, 'b')"]
    assert counts.coords["ranker"].tolist() == ["u", "v"]
    assert repr(counts) == "PairCounts: 5 ordered pairs of 5 items in 2 problems by 2 rankers, " + (
        "11 in all"
    )


def test_totals_are_per_problem_and_ranker(counts):
    np.testing.assert_array_equal(counts.totals(), [[1, 0], [6, 4]])
    np.testing.assert_array_equal(counts.total(), [7, 4])


def test_net_counts_are_wins_less_losses(counts):
    net = [[1, -1, 2 - 1 - 3, 1 - 2, 3], [0, 0, 0, 4, -4]]
    np.testing.assert_array_equal(counts.net(), net)


def test_net_entries_are_those_that_are_not_zero_by_ranker_and_item():
    frame = TABLE[["ranker", "first", "second", "count"]].iloc[[4, 0, 2, 3]]
    c = PairCounts.from_frame(frame, **COLUMNS)  # u: a over b, b over a, c over a by 3
    ranker, item, net = c.net_entries()
    assert c.rankers.tolist() == ["v", "u"]
    assert ranker.tolist() == [0, 0, 1, 1]
    assert item.tolist() == [1, 2, 0, 2]  # b of u has won one and lost one
    assert net.tolist() == [4, -4, -3, 3]
    assert (ranker.dtype, item.dtype, net.dtype) == (np.int32, np.int32, np.float64)


def test_net_entries_of_no_entries_are_none():
    frame = pd.DataFrame({"who": ["u", "u"], "what": ["a", "b"], "stars": [3, 3]})
    c = PairCounts.from_ratings(frame, ranker="who", item="what", rating="stars")
    assert [len(part) for part in c.net_entries()] == [0, 0, 0]
    assert c.net().tolist() == [[0, 0]]
    assert c.totals().tolist() == [[0]]
    assert c.log_multinomial().tolist() == [0]
    assert c.won_lost().to_numpy().tolist() == [[0, 0], [0, 0]]


def test_log_multinomials_count_the_orders_within_each_problem(counts):
    # u: 1!/1! and 6!/(2! 1! 3!) orders; v: 4!/4!
    np.testing.assert_allclose(counts.log_multinomial(), [log(factorial(6) / 12), 0.0], atol=1e-12)


def test_the_layout_has_the_items_of_each_problem_in_slots(counts):
    layout = counts.layout()
    assert layout.item.tolist() == [[0, 1, 0], [2, 3, 4]]
    assert layout.where.tolist() == [[True, True, False], [True, True, True]]
    assert layout.item.dtype == np.int32


def test_the_layout_finds_items_of_a_problem_apart_on_the_axis():
    items = [(2, "c"), (1, "a"), (2, "a"), (1, "b"), (2, "b")]
    c = PairCounts.from_frame(TABLE, **COLUMNS, problem="problem", items=items)
    assert c.problems.tolist() == [2, 1]  # in the order of their first item
    assert c.layout().item.tolist() == [[0, 2, 4], [1, 3, 0]]
    assert c.layout().where.tolist() == [[True, True, True], [True, True, False]]
    np.testing.assert_array_equal(c.totals(), [[6, 4], [1, 0]])


def test_won_and_lost_are_sums_over_rankers(counts):
    assert counts.won_lost().to_dict("list") == {
        "won": [1, 0, 2, 5, 3],
        "lost": [0, 1, 4, 2, 4],
    }
    assert counts.won_lost().index.tolist() == counts.items.tolist()


def test_a_table_with_problems_reads_back(counts):
    frame = counts.to_frame()
    pd.testing.assert_frame_equal(frame, TABLE, check_dtype=False)
    assert PairCounts.from_frame(frame, **COLUMNS, problem="problem") == counts


def test_items_that_are_not_named_after_their_problem_keep_their_labels():
    r = Rankings.from_orderings([["b", "a"], ["c", "d"]], rankers=["u", "u"])
    frame = r.counts(problem=["q1", "q1", "q2", "q2"]).to_frame()
    assert frame["problem"].tolist() == ["q1", "q2"]
    assert frame["first"].tolist() == ["b", "c"]
    assert list(r.subset([0]).counts().to_frame()) == ["ranker", "first", "second", "count"]


def test_movielens_wins_and_losses_are_those_counted_from_the_ratings(data_dir):
    names = ["user", "movie", "rating", "time"]
    ratings = pd.read_csv(data_dir / "ml-100k" / "u.data", sep="\t", names=names)
    counts = PairCounts.from_ratings(
        ratings, ranker="user", item="movie", rating="rating", kind="binary"
    )
    expected = pd.read_csv(data_dir / "ml-100k" / "derived_won_lost.csv", index_col="item")
    found = counts.won_lost().loc[expected.index]
    np.testing.assert_array_equal(found["won"], expected["won"])
    np.testing.assert_array_equal(found["lost"], expected["lost"])
    assert len(counts) == 7_018_383


def test_movielens_net_counts_are_centred_ratings(data_dir):
    # net_i = n_u r_ui - sum_j r_uj of the user's n_u ratings, from no pair at all
    names = ["user", "movie", "rating", "time"]
    ratings = pd.read_csv(data_dir / "ml-100k" / "u.data", sep="\t", names=names)
    counts = PairCounts.from_ratings(ratings, ranker="user", item="movie", rating="rating")
    of_user = ratings.groupby("user")["rating"]
    net = of_user.transform("size") * ratings["rating"] - of_user.transform("sum")
    row = counts.rankers.get_indexer(ratings["user"])
    column = counts.items.get_indexer(ratings["movie"])
    np.testing.assert_array_equal(counts.net()[row, column], net)
    assert len(counts.net_entries().net) == (net != 0).sum()
