"""Pair counts: evidence weights and parts of them. (How they are read: test_count_constructors.)"""

import numpy as np
import pandas as pd
import pytest

from bayesrank.data import PairCounts


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


def test_an_evidence_weight_replaces_the_former_and_leaves_the_counts_alone(searches):
    twice = searches.weighted(0.5).weighted(0.25)
    assert twice.weight.tolist() == [0.25, 0.25]
    assert twice.weighted(1) == searches
    assert twice != searches
    np.testing.assert_array_equal(twice.net(), searches.net())
    np.testing.assert_array_equal(twice.total(), searches.total())
    with pytest.raises(ValueError, match="read-only"):
        twice.weight[0] = 3


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
        (pd.Series({"u": 1}), "`weight` has none for ranker 'v'"),
        (pd.Series({"u": 1, "v": 1, "w": 1}), "Unknown ranker 'w': the rankers are 'u', 'v'"),
        ("much", "`weight` must be an array of numbers"),
    ],
)
def test_a_weight_that_is_none_is_refused(searches, weight, message):
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
        ({"problems": []}, "No problem is kept"),
        ({"rankers": []}, "No ranker is kept"),
        ({"rankers": "u"}, r"`rankers` must be a list of labels; write \['u'\]"),
    ],
)
def test_a_subset_of_nothing_known_is_refused(searches, chosen, message):
    with pytest.raises(ValueError, match=message):
        searches.subset(**chosen)
