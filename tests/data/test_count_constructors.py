"""Constructors of pair counts: tables, ratings and matrices in, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from bayesrank.data import PairCounts
from bayesrank.data.read import count_entries


def counts(frame, **more):
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
    c = counts(frame, ranker="who")
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
        ({"n": 1.5}, r"A count must be a whole number; column 'n' has 1.5 in row 0\. Multiply"),
        ({"x": None}, "Column 'x' has a missing label in row 0"),
    ],
)
def test_a_table_of_counts_is_checked(row, message):
    frame = pd.DataFrame([{"x": "a", "y": "b", "n": 3} | row])
    with pytest.raises(ValueError, match=message):
        counts(frame)


def test_an_empty_table_is_refused():
    with pytest.raises(ValueError, match="There are no counts"):
        counts(pd.DataFrame({"x": [], "y": [], "n": []}))
    with pytest.raises(ValueError, match="There are no ratings"):
        rated(pd.DataFrame({"who": [], "what": [], "stars": []}))


# Problems


def test_an_item_of_two_problems_is_two_items():
    frame = pd.DataFrame({"q": [2, 1], "x": ["a", "a"], "y": ["b", "b"], "n": [3, 4]})
    c = counts(frame, problem="q")
    assert c.items.tolist() == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]
    assert c.items.nlevels == 1
    np.testing.assert_array_equal(c.net(), [[4, -4, 3, -3]])


def test_items_given_with_problems_are_the_axis():
    frame = pd.DataFrame({"q": [1], "x": ["a"], "y": ["b"], "n": [3]})
    c = counts(frame, problem="q", items=[(1, "b"), (1, "a"), (1, "c")])
    assert c.items.tolist() == [(1, "b"), (1, "a"), (1, "c")]
    np.testing.assert_array_equal(c.net(), [[-3, 3, 0]])
    with pytest.raises(ValueError, match=r"Unknown item \(1, 'b'\): the items are \(1, 'a'\)"):
        counts(frame, problem="q", items=[(1, "a"), (1, "c")])
    with pytest.raises(ValueError, match=r"labels of `items` must be tuples .*; got 'a'\."):
        counts(frame, problem="q", items=["a", "b"])


def test_a_problem_with_one_item_is_refused():
    frame = pd.DataFrame({"q": [1], "x": ["a"], "y": ["b"], "n": [3]})
    with pytest.raises(ValueError, match=r"^Problem 2 has one item, \(2, 'a'\): nothing can be"):
        counts(frame, problem="q", items=[(1, "a"), (1, "b"), (2, "a")])
    alone = pd.DataFrame({"who": ["u", "v"], "what": ["a", "a"], "stars": [1, 2]})
    with pytest.raises(ValueError, match=r"Problem 'all' has one item, 'a': .*; leave it out\."):
        rated(alone)


def test_a_missing_problem_is_named_by_its_row():
    frame = pd.DataFrame({"q": [1, None], "x": ["a", "a"], "y": ["b", "b"], "n": [3, 4]})
    with pytest.raises(ValueError, match=r"Column 'q' has a missing label in row 1\.$"):
        counts(frame, problem="q")


# Ratings


def test_ratings_count_by_their_differences_or_once():
    frame = pd.DataFrame(
        {
            "who": ["v", "u", "u", "u", "v"],
            "what": ["c", "b", "a", "c", "a"],
            "stars": [1, 5, 3, 3, 5],
        }
    )
    difference, binary = rated(frame), rated(frame, kind="binary")
    assert difference.to_frame().to_dict("list") == {
        "ranker": ["v", "u", "u"],
        "first": ["a", "b", "b"],
        "second": ["c", "a", "c"],
        "count": [4, 2, 2],
    }
    assert binary.count.tolist() == [1, 1, 1]
    assert binary.first.tolist() == difference.first.tolist()
    assert (difference.first.dtype, difference.count.dtype) == (np.int32, np.float64)


def test_a_ranker_whose_ratings_are_equal_stays():
    frame = pd.DataFrame({"who": list("uuvv"), "what": list("abab"), "stars": [1, 1, 1, 2]})
    c = rated(frame)
    assert c.rankers.tolist() == ["u", "v"]
    np.testing.assert_array_equal(c.total(), [0, 1])


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
@pytest.mark.parametrize("kind", ["difference", "binary"])
def test_ratings_give_the_counts_of_all_their_pairs(monkeypatch, rng, chunk, mixed, kind):
    monkeypatch.setattr(count_entries, "_CHUNK", chunk)
    cells = pd.MultiIndex.from_product([range(4), range(3), range(5)], names=["who", "q", "what"])
    frame = cells.to_frame(index=False)
    frame["stars"] = rng.integers(4, size=len(frame)) + 0.5
    frame = frame.sample(frac=0.8, random_state=1)
    items = [(q, i) for q in range(3) for i in range(5)]
    if mixed:  # problems share a stretch of the axis
        rng.shuffle(items)
    c = rated(frame, kind=kind, problem="q", items=items)
    expected = _by_pairs(frame, kind, items).to_frame()
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
        ({"what": ["a", "a"]}, "Ranker 'u' rates item 'a' twice: merge the rows"),
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
    assert rated(frame, kind="binary").count.tolist() == [1]
    assert rated(frame.assign(stars=2 * frame["stars"])).count.tolist() == [3]
    assert rated(frame.assign(stars=[3.3, 2.3])).count.tolist() == [1]  # 0.9999999999999998


def test_a_kind_that_is_not_known_is_refused():
    frame = pd.DataFrame({"who": ["u", "u"], "what": ["a", "b"], "stars": [1, 2]})
    with pytest.raises(ValueError, match="`kind` must be 'difference' or 'binary'; got 'half'"):
        rated(frame, kind="half")


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
        ([[0, 1], [0, 2]], "on the diagonal must be 0.*; ranker 'u' has 2 for item 'b' over 'b'"),
        ([[0, 1], [-3, 0]], "must not be negative; ranker 'u' has -3 for item 'b' over 'a'"),
        ([[0, 1.5], [0, 0]], "must be a whole number; ranker 'u' has 1.5 for item 'a' over 'b'"),
        ([[0, np.inf], [0, 0]], "must be finite; ranker 'u' has inf for item 'a' over 'b'"),
        ([[0, np.nan], [0, 0]], "must be finite; ranker 'u' has nan for item 'a' over 'b'"),
        ([[0, 1, 2], [3, 0, 4]], r"`counts` must have shape .*; got \(2, 3\)"),
        ([0, 1], r"`counts` must have shape .*; got \(2,\)"),
        ([["a", "b"], ["c", "d"]], "`counts` must be an array of numbers"),
        (np.zeros((3, 3)), "`items` has 2 labels for 3 items in `counts`"),
        (np.zeros((2, 2, 2)), "`rankers` has 1 label for 2 rankers in `counts`"),
    ],
)
def test_a_matrix_is_checked(table, message):
    with pytest.raises(ValueError, match=message):
        PairCounts.from_matrix(table, items=["a", "b"], rankers=["u"])
