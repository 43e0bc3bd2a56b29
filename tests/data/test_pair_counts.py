"""Pair counts: how tables, ratings and matrices are read, weights, parts, sums and tables."""

from math import factorial, log

import numpy as np
import pandas as pd
import pytest

from bayesrank.data import PairCounts, Rankings
from bayesrank.data.read import count_entries
from bayesrank.data.read.count_entries import ItemAxis, PreferredPairs, assign_problems


def counted(frame, **more):
    return PairCounts.from_frame(frame, first="x", second="y", count="n", **more)


def rated(frame, **more):
    return PairCounts.from_ratings(frame, ranker="who", item="what", rating="stars", **more)


# Tables


def test_rows_for_the_same_ranker_and_pair_add_up():
    frame = pd.DataFrame(
        {
            "who": ["u", "u", "v", "u", "u"],
            "x": ["a", "b", "b", "a", "c"],
            "y": ["b", "a", "a", "b", "a"],
            "n": [2, 2, 4, 1, 0],
        }
    )
    c = counted(frame, ranker="who")
    assert c.to_frame().to_dict("list") == {
        "ranker": ["u", "u", "v"],
        "first": ["a", "b", "b"],
        "second": ["b", "a", "a"],
        "count": [3.0, 2.0, 4.0],
    }
    np.testing.assert_array_equal(c.net(), [[1.0, -1.0, 0.0], [-4.0, 4.0, 0.0]])
    np.testing.assert_array_equal(c.total(), [5.0, 4.0])
    np.testing.assert_array_equal(c.dense("v"), [[0, 0, 0], [4, 0, 0], [0, 0, 0]])
    assert c.coords["ranker"].tolist() == ["u", "v"]
    assert c.coords["item"].tolist() == ["a", "b", "c"]
    assert c.coords["problem"].tolist() == ["all"]
    assert repr(c) == "PairCounts: 3 ordered pairs of 3 items by 2 rankers, 9 in all"
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
    c = counted(pd.DataFrame({"x": ["a"], "y": ["b"], "n": [3]}))
    assert c.rankers.tolist() == ["all"]
    np.testing.assert_array_equal(c.dense("all"), [[0, 3], [0, 0]])
    with pytest.raises(ValueError, match="Unknown ranker 'v': the rankers are 'all'"):
        c.dense("v")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"x": "b"}, "Columns 'x' and 'y' compare item 'b' with itself in row 0"),
        ({"n": -1}, "A count must not be negative; column 'n' has -1 in row 0"),
        ({"n": 1.5}, r"A count must be a whole number; column 'n' has 1.5 in row 0\. Multiply"),
        ({"x": None}, "Column 'x' has a missing label in row 0"),
    ],
)
def test_a_table_of_counts_is_checked(row, message):
    frame = pd.DataFrame([{"x": "a", "y": "b", "n": 3} | row])
    with pytest.raises(ValueError, match=message):
        counted(frame)


# Problems


def test_an_item_of_two_problems_is_two_items():
    frame = pd.DataFrame({"q": [2, 1], "x": ["a", "a"], "y": ["b", "b"], "n": [3, 4]})
    c = counted(frame, problem="q")
    assert c.items.tolist() == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]
    assert c.items.nlevels == 1
    np.testing.assert_array_equal(c.net(), [[4, -4, 3, -3]])


def test_items_given_with_problems_are_the_axis():
    frame = pd.DataFrame({"q": [1], "x": ["a"], "y": ["b"], "n": [3]})
    c = counted(frame, problem="q", items=[(1, "b"), (1, "a"), (1, "c")])
    assert c.items.tolist() == [(1, "b"), (1, "a"), (1, "c")]
    np.testing.assert_array_equal(c.net(), [[-3, 3, 0]])
    with pytest.raises(ValueError, match=r"Unknown item \(1, 'b'\): the items are \(1, 'a'\)"):
        counted(frame, problem="q", items=[(1, "a"), (1, "c")])
    with pytest.raises(ValueError, match=r"labels of `items` must be tuples .*; got 'a'\."):
        counted(frame, problem="q", items=["a", "b"])


def test_a_problem_with_one_item_is_refused():
    frame = pd.DataFrame({"q": [1], "x": ["a"], "y": ["b"], "n": [3]})
    with pytest.raises(
        ValueError, match=r"^Problem 2 has only one item, \(2, 'a'\), so there is not"
    ):
        counted(frame, problem="q", items=[(1, "a"), (1, "b"), (2, "a")])
    alone = pd.DataFrame({"who": ["u", "v"], "what": ["a", "a"], "stars": [1, 2]})
    with pytest.raises(
        ValueError, match=r"Problem 'all' has only one item, 'a', .* Remove the problem\."
    ):
        rated(alone)


def test_a_missing_problem_is_named_by_its_row():
    frame = pd.DataFrame({"q": [1, None], "x": ["a", "a"], "y": ["b", "b"], "n": [3, 4]})
    with pytest.raises(ValueError, match=r"Column 'q' has a missing label in row 1\.$"):
        counted(frame, problem="q")


# Ratings


def test_ratings_count_by_their_differences_or_once():
    frame = pd.DataFrame(
        {
            "who": ["v", "u", "u", "u", "v"],
            "what": ["c", "b", "a", "c", "a"],
            "stars": [1, 5, 3, 3, 5],
        }
    )
    difference, binary = rated(frame), rated(frame, method="binary")
    assert difference.to_frame().to_dict("list") == {
        "ranker": ["v", "u", "u"],
        "first": ["a", "b", "b"],
        "second": ["c", "a", "c"],
        "count": [4, 2, 2],
    }
    assert binary.count.tolist() == [1, 1, 1]
    assert binary.first.tolist() == difference.first.tolist()
    assert (difference.first.dtype, difference.count.dtype) == (np.int32, np.float64)


def test_ratings_are_compared_within_problems_only():
    frame = pd.DataFrame(
        {"who": "u", "q": [1, 1, 2, 2], "what": list("abab"), "stars": [1, 2, 5, 3]}
    )
    c = rated(frame, problem="q")
    assert list(c.to_frame().itertuples(index=False, name=None)) == [
        ("u", 1, "b", "a", 1),
        ("u", 2, "a", "b", 2),
    ]


def _by_pairs(frame, kind, items):
    """Compare every two ratings of a ranker and problem, and add up what they say."""
    both = frame.merge(frame, on=["who", "q"])
    both = both[both["stars_x"] > both["stars_y"]]
    amount = both["stars_x"] - both["stars_y"] if kind == "difference" else 1
    return PairCounts.from_frame(
        both.assign(n=amount),
        first="what_x",
        second="what_y",
        count="n",
        ranker="who",
        problem="q",
        items=items,
    )


@pytest.mark.parametrize("chunk", [3, 2**20])
@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("method", ["difference", "binary"])
def test_ratings_give_the_counts_of_all_their_pairs(monkeypatch, rng, chunk, mixed, method):
    monkeypatch.setattr(count_entries, "_CHUNK", chunk)
    cells = pd.MultiIndex.from_product([range(4), range(3), range(5)], names=["who", "q", "what"])
    frame = cells.to_frame(index=False)
    frame["stars"] = rng.integers(4, size=len(frame)) + 0.5
    frame = frame.sample(frac=0.8, random_state=1)
    items = [(q, i) for q in range(3) for i in range(5)]
    if mixed:  # problems share a stretch of the axis
        rng.shuffle(items)
    c = rated(frame, method=method, problem="q", items=items)
    expected = _by_pairs(frame, method, items).to_frame()
    found = c.to_frame()
    keys = ["ranker", "problem", "first", "second"]
    pd.testing.assert_frame_equal(
        found.sort_values(keys, ignore_index=True), expected.sort_values(keys, ignore_index=True)
    )
    key = (c.ranker_idx.astype(int) * 15 + c.first) * 15 + c.second
    assert (np.diff(key) > 0).all()  # sorted, each triple once


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"stars": [1.0, 2.5]},
            r"ranker 'u' rates item 'b' 1.5 above 'a'\. Multiply the ratings .*half stars by 2",
        ),
        ({"what": ["a", "a"]}, "Ranker 'u' rates item 'a' twice. Merge the rows"),
        ({"stars": [1, np.nan]}, "column 'stars' is missing in row 1"),
        ({"who": ["u", None]}, "Column 'who' has a missing label in row 1"),
    ],
)
def test_a_table_of_ratings_is_checked(change, message):
    frame = pd.DataFrame({"who": ["u", "u"], "what": ["a", "b"], "stars": [1, 2]} | change)
    with pytest.raises(ValueError, match=message):
        rated(frame)


def test_half_stars_count_as_pairs_or_doubled_and_rounding_does_not_matter():
    frame = pd.DataFrame({"who": ["u", "u"], "what": ["a", "b"], "stars": [2.5, 1.0]})
    assert rated(frame, method="binary").count.tolist() == [1]
    assert rated(frame.assign(stars=2 * frame["stars"])).count.tolist() == [3]
    assert rated(frame.assign(stars=[3.3, 2.3])).count.tolist() == [1]  # 0.9999999999999998


def test_a_method_that_is_not_known_is_refused():
    frame = pd.DataFrame({"who": ["u", "u"], "what": ["a", "b"], "stars": [1, 2]})
    with pytest.raises(ValueError, match="`method` must be 'difference' or 'binary'; got 'half'"):
        rated(frame, method="half")


# Matrices


def test_a_matrix_belongs_to_one_ranker_and_several_to_one_each():
    one = PairCounts.from_matrix([[0, 3], [1, 0]], items=["a", "b"])
    assert one.rankers.tolist() == ["all"]
    np.testing.assert_array_equal(one.dense("all"), [[0, 3], [1, 0]])
    two = PairCounts.from_matrix([[[0, 3], [1, 0]], [[0, 0], [2, 0]]], rankers=["u", "v"])
    assert two.items.tolist() == [0, 1]
    assert two.to_frame().to_dict("list") == {
        "ranker": ["u", "u", "v"],
        "first": [0, 1, 1],
        "second": [1, 0, 0],
        "count": [3, 1, 2],
    }
    assert PairCounts.from_matrix([[[0, 3], [1, 0]]]).rankers.tolist() == [0]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[0, 1.5], [0, 0]], r"`counts` has 1.5 in the row of 'a' .*'b'\. Multiply .* `weighted`"),
        ([[0, 1, 2], [3, 0, 4]], r"`counts` must have shape .*; got \(2, 3\)"),
        (np.zeros((3, 3)), "`items` has 2 labels for 3 items in `counts`"),
        (np.zeros((2, 2, 2)), "`rankers` has 1 label for 2 rankers in `counts`"),
    ],
)
def test_a_matrix_is_checked(table, message):
    with pytest.raises(ValueError, match=message):
        PairCounts.from_matrix(table, items=["a", "b"], rankers=["u"])


@pytest.fixture
def searches():
    """Two rankers, two queries of two and three items."""
    frame = pd.DataFrame(
        {
            "who": ["u", "u", "v", "v"],
            "q": ["q1", "q2", "q2", "q2"],
            "x": ["a", "a", "c", "b"],
            "y": ["b", "b", "a", "a"],
            "n": [1, 2, 3, 4],
        }
    )
    return PairCounts.from_frame(frame, first="x", second="y", count="n", ranker="who", problem="q")


def test_one_evidence_weight_is_for_all_and_several_are_one_each(searches):
    assert searches.weight.tolist() == [1, 1]
    assert searches.weighted(0.1).weight.tolist() == [0.1, 0.1]
    assert searches.weighted([0.1, 2]).weight.tolist() == [0.1, 2]
    assert searches.weighted(pd.Series({"v": 2, "u": 3})).weight.tolist() == [3, 2]


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (0, "A weight must be positive and finite; ranker 'u' has 0"),
        ([1, -2], "A weight must be positive and finite; ranker 'v' has -2"),
        ([1, np.nan], "ranker 'v' has nan"),
        (np.inf, "ranker 'u' has inf"),
        (
            [1, 2, 3],
            r"`weight` must be one number or have shape \(2,\), one per ranker; got \(3,\)",
        ),
        (pd.Series({"u": 1}), "`weight` must have .* for each ranker, .* no value for ranker 'v'"),
        (pd.Series({"u": 1, "v": 1, "w": 1}), "`weight` must .* the labels 'w', which no ranker"),
        ("much", "`weight` must be an array of numbers"),
    ],
)
def test_invalid_weights_are_refused(searches, weight, message):
    with pytest.raises(ValueError, match=message):
        searches.weighted(weight)


def test_a_subset_of_the_problems_keeps_their_items_and_all_rankers(searches):
    one = searches.subset(problems=["q1"])
    assert one.items.tolist() == [("q1", "a"), ("q1", "b")]
    assert one.rankers.tolist() == ["u", "v"]
    assert one.problems.tolist() == ["q1"]
    np.testing.assert_array_equal(one.net(), [[1, -1], [0, 0]])

    other = searches.subset(problems=["q2"])
    assert other.problem_idx.tolist() == [0, 0, 0]
    np.testing.assert_array_equal(other.net(), [[2, -2, 0], [-7, 4, 3]])


def test_a_subset_of_the_rankers_keeps_all_items_and_their_weights(searches):
    v = searches.weighted([1, 5]).subset(rankers=["v"])
    assert v.items.equals(searches.items)
    assert v.problems.equals(searches.problems)
    assert v.weight.tolist() == [5]
    np.testing.assert_array_equal(v.net(), [[0, 0, -7, 4, 3]])


def test_subsets_stand_in_the_order_of_the_axes_and_combine(searches):
    assert searches.subset(rankers=["v", "u"], problems=["q2", "q1"]) == searches
    assert searches.subset(rankers=["u"], problems=["q2"]) == searches.subset(
        problems=["q2"]
    ).subset(rankers=["u"])
    assert searches.subset() == searches


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"rankers": ["w"]}, "Unknown ranker 'w': the rankers are 'u', 'v'"),
        ({"problems": ["q3"]}, "Unknown problem 'q3': the problems are 'q1', 'q2'"),
        ({"problems": []}, "No problem is selected"),
        ({"rankers": []}, "No ranker is selected"),
        ({"rankers": "u"}, r"`rankers` must be a list of labels; write \['u'\]"),
    ],
)
def test_a_subset_of_nothing_known_is_refused(searches, chosen, message):
    with pytest.raises(ValueError, match=message):
        searches.subset(**chosen)


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
def two_problems():
    return PairCounts.from_frame(TABLE, **COLUMNS, problem="problem")


def test_axes_and_coords_name_problems_and_their_items(two_problems):
    assert two_problems.items.tolist() == [(1, "a"), (1, "b"), (2, "a"), (2, "b"), (2, "c")]
    assert two_problems.problem_idx.tolist() == [0, 0, 1, 1, 1]
    assert two_problems.problem_idx.dtype == np.int32
    assert two_problems.coords["problem"].tolist() == [1, 2]
    assert two_problems.coords["item"].tolist()[:2] == ["(1, 'a')", "(1, 'b')"]
    assert two_problems.coords["ranker"].tolist() == ["u", "v"]
    assert repr(two_problems) == (
        "PairCounts: 5 ordered pairs of 5 items in 2 problems by 2 rankers, 11 in all"
    )


def test_totals_are_per_problem_and_ranker(two_problems):
    np.testing.assert_array_equal(two_problems.totals(), [[1, 0], [6, 4]])
    np.testing.assert_array_equal(two_problems.total(), [7, 4])


def test_net_counts_are_wins_less_losses(two_problems):
    net = [[1, -1, 2 - 1 - 3, 1 - 2, 3], [0, 0, 0, 4, -4]]
    np.testing.assert_array_equal(two_problems.net(), net)


def test_net_entries_are_those_that_are_not_zero_by_ranker_and_item():
    frame = TABLE[["ranker", "first", "second", "count"]].iloc[[4, 0, 2, 3]]
    c = PairCounts.from_frame(frame, **COLUMNS)  # u: a over b, b over a, c over a by 3
    ranker, item, net = c.net_entries()
    assert c.rankers.tolist() == ["v", "u"]
    assert ranker.tolist() == [0, 0, 1, 1]
    assert item.tolist() == [1, 2, 0, 2]  # b of u has won one and lost one
    assert net.tolist() == [4, -4, -3, 3]
    assert (ranker.dtype, item.dtype, net.dtype) == (np.int32, np.int32, np.float64)


def test_log_multinomials_count_the_orders_within_each_problem(two_problems):
    # u: 1!/1! and 6!/(2! 1! 3!) orders; v: 4!/4!
    np.testing.assert_allclose(
        two_problems.log_multinomial(), [log(factorial(6) / 12), 0.0], atol=1e-12
    )


def test_the_layout_has_the_items_of_each_problem_in_slots(two_problems):
    layout = two_problems.layout()
    assert layout.item.tolist() == [[0, 1, 0], [2, 3, 4]]
    assert layout.where.tolist() == [[True, True, False], [True, True, True]]
    assert layout.item.dtype == np.int32


def test_a_table_with_problems_reads_back(two_problems):
    frame = two_problems.to_frame()
    pd.testing.assert_frame_equal(frame, TABLE, check_dtype=False)
    assert PairCounts.from_frame(frame, **COLUMNS, problem="problem") == two_problems


def test_items_that_are_not_named_after_their_problem_keep_their_labels():
    axis = ItemAxis(pd.Index(list("abcd")), pd.Index(["q1", "q2"]), np.array([0, 0, 1, 1]))
    pairs = PreferredPairs(np.zeros(2, int), np.array([1, 2]), np.array([0, 3]), np.ones(2))
    frame = PairCounts.from_pairs(axis, pd.Index(["u"]), pairs).to_frame()
    assert frame["problem"].tolist() == ["q1", "q2"]
    assert frame["first"].tolist() == ["b", "c"]
    one = Rankings.from_orderings([["b", "a"]]).counts().to_frame()
    assert list(one) == ["ranker", "first", "second", "count"]


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (["q1", "q1"], "`problem` has 2 labels for 3 items"),
        ({"a": "q1", "b": "q1"}, "`problem` must have .* no value for item 'c'"),
        (["q1", "q1", None], "`problem` has a missing label at position 2"),
        ("q1", r"`problem` must be a list of labels; write \['q1'\]"),
    ],
)
def test_each_item_has_one_problem(problem, message):
    with pytest.raises(ValueError, match=message):
        assign_problems(pd.Index(list("abc")), problem)


def test_problems_are_given_in_order_or_by_item():
    items, by_item = pd.Index(list("abc")), {"d": 1, "c": "q1", "b": "q2", "a": "q1"}
    for problem in (["q1", "q2", "q1"], by_item, pd.Series({"c": "q1", "a": "q1", "b": "q2"})):
        axis = assign_problems(items, problem)
        assert axis.problems.take(axis.problem_idx).tolist() == ["q1", "q2", "q1"]


@pytest.mark.slow
def test_movielens_net_counts_are_centred_ratings(data_dir):
    # net_i = n_u r_ui - sum_j r_uj of the user's n_u ratings, from no pair at all
    names = ["user", "movie", "rating", "time"]
    ratings = pd.read_csv(data_dir / "ml-100k" / "u.data", sep="\t", names=names)
    counts = PairCounts.from_ratings(ratings, ranker="user", item="movie", rating="rating")
    by_user = ratings.groupby("user")["rating"]
    net = by_user.transform("size") * ratings["rating"] - by_user.transform("sum")
    row = counts.rankers.get_indexer(ratings["user"])
    column = counts.items.get_indexer(ratings["movie"])
    np.testing.assert_array_equal(counts.net()[row, column], net)
    assert len(counts.net_entries().net) == (net != 0).sum()


def test_an_evidence_weight_replaces_the_former_and_leaves_the_counts_alone(searches):
    twice = searches.weighted(0.5).weighted(0.25)
    assert twice.weight.tolist() == [0.25, 0.25]
    assert twice.weighted(1) == searches
    assert twice != searches
    np.testing.assert_array_equal(twice.net(), searches.net())
    np.testing.assert_array_equal(twice.total(), searches.total())
    with pytest.raises(ValueError, match="read-only"):
        twice.weight[0] = 3
