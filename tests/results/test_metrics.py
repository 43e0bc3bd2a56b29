"""ERR and NDCG: published and hand-made values, ties against all orders, and bad input."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import ndcg_score

import bayesrank as br
from bayesrank.results.evaluation.metrics import expected_reciprocal_rank, ndcg, query_metrics

# Orders of the documents by hand: ranks of the scores, grades from 0 to 2
GRADES = np.array([1, 0, 2, 2, 0])
TIED = np.array([3.0, 3.0, 1.0, 3.0, 1.0])


def over_orders(metric, grades, scores):
    """Mean of a metric over all orders that the scores leave open."""
    values = [
        metric(grades[list(order)])
        for order in permutations(range(len(grades)))
        if (np.diff(scores[list(order)]) <= 0).all()
    ]
    return np.mean(values)


# ERR


def test_err_of_the_published_example():
    # https://dl.acm.org/doi/10.1145/1645953.1646033: R = 7/16, 3/16, 7/16, 0, 1/16
    assert expected_reciprocal_rank([3, 2, 3, 0, 1, 2, 0, 0], k=5, max_grade=4) == pytest.approx(
        0.5600983, abs=5e-8
    )


def test_err_by_hand():
    # R = 3/4, 0, 1/4: 3/4 + (1/4)(1/4)/3
    assert expected_reciprocal_rank([2, 0, 1]) == pytest.approx(0.75 + 1 / 48)
    assert expected_reciprocal_rank([2, 0, 1], k=2) == pytest.approx(0.75)
    # a scale with grades up to 3: R = 3/8, 0, 1/8
    assert expected_reciprocal_rank([2, 0, 1], max_grade=3) == pytest.approx(3 / 8 + 5 / 8 / 8 / 3)


def test_err_orders_the_documents_by_score_highest_first():
    assert expected_reciprocal_rank([0, 1, 2], [-1.0, 0.5, 2.0]) == expected_reciprocal_rank(
        [2, 1, 0]
    )
    assert (
        expected_reciprocal_rank([0, 1, 2], [2.0, 0.5, -1.0])
        == expected_reciprocal_rank([0, 1, 2])
        < expected_reciprocal_rank([2, 1, 0])
    )


def test_err_of_equal_scores_is_the_mean_over_their_orders():
    for k in (1, 2, 4, None):
        expected = over_orders(
            lambda g, k=k: expected_reciprocal_rank(g, k=k, max_grade=2), GRADES, TIED
        )
        assert expected_reciprocal_rank(GRADES, TIED, k=k) == pytest.approx(expected, rel=1e-14)
    all_tied = over_orders(expected_reciprocal_rank, GRADES, np.zeros(5))
    assert expected_reciprocal_rank(GRADES, np.zeros(5)) == pytest.approx(all_tied, rel=1e-14)


# NDCG


def test_ndcg_by_hand():
    # gains 3, 1, 0 stand as 1, 3, 0; discounts 1, log2(3), 2
    expected = (1 + 3 / np.log2(3)) / (3 + 1 / np.log2(3))
    assert ndcg([2, 1, 0], [0.5, 0.7, 0.1]) == pytest.approx(expected)
    assert ndcg([2, 1, 0], [0.5, 0.7, 0.1], k=1) == pytest.approx(1 / 3)
    assert ndcg([2, 1, 0], [0.9, 0.7, 0.1]) == pytest.approx(1.0)


def test_ndcg_of_equal_scores_is_the_mean_over_their_orders():
    for k in (1, 3, None):
        expected = over_orders(lambda g, k=k: ndcg(g, -np.arange(5.0), k=k), GRADES, TIED)
        assert ndcg(GRADES, TIED, k=k) == pytest.approx(expected)


def test_ndcg_is_that_of_scikit_learn(rng):
    for _ in range(20):
        grades, score = rng.integers(0, 3, 12), rng.integers(0, 5, 12)
        expected = ndcg_score([2.0**grades - 1], [score], k=7)
        assert ndcg(grades, score, k=7) == pytest.approx(expected, rel=1e-14)


def test_single_documents_and_queries_without_a_relevant_one_have_an_ndcg():
    assert ndcg([2], [0.3]) == 1.0
    assert ndcg([0], [0.3]) == 0.0
    assert ndcg([0, 0], [0.3, 0.1]) == 0.0
    assert np.isnan(ndcg([0, 0], [0.3, 0.1], undefined=np.nan))


# Collections


def test_a_collection_gives_one_row_per_query_and_the_means():
    relevance, score = [[2, 0], [0, 0, 0], [1]], [[0.1, 0.2], [1, 2, 3], [0.0]]
    queries, means = query_metrics(relevance, score, labels=["a", "b", "c"], k=[1, 3])
    assert queries.index.tolist() == ["a", "b", "c"]
    assert queries.index.name == "query"
    # 1 / log2(3) is what the second place counts; the scale goes to 2 in every query
    expected = {
        "err": [0.375, 0.0, 0.25],
        "ndcg@1": [0.0, 0.0, 1.0],
        "ndcg@3": [1 / np.log2(3), 0.0, 1.0],
    }
    pd.testing.assert_frame_equal(queries, pd.DataFrame(expected, index=queries.index))
    assert means.to_dict() == pytest.approx({name: np.mean(x) for name, x in expected.items()})


def test_queries_without_a_relevant_document_can_be_left_out_of_the_mean():
    relevance, score = [[2, 0], [0, 0]], [[0.2, 0.1], [0.2, 0.1]]
    assert query_metrics(relevance, score).means["ndcg@1"] == 0.5
    queries, means = query_metrics(relevance, score, undefined=np.nan)
    assert queries["ndcg@1"].isna().tolist() == [False, True]
    assert means["ndcg@1"] == 1.0


def test_slots_of_rankings_are_queries_and_what_is_padded_does_not_count():
    r = br.Rankings.from_orderings([["a", {"b", "c"}], ["c", "a"]], rankers=["q1", "q2"], rest=())
    grades = np.where(r.mask, r.ranks.max(axis=1, keepdims=True) - r.ranks, 99)
    score = np.where(r.mask, [[0.1, 0.9, 0.5], [0.3, 0.2, 0.0]], np.nan)
    padded = query_metrics(grades, score, where=r.mask, labels=r.labels)
    listed = query_metrics([[1, 0, 0], [1, 0]], [[0.1, 0.9, 0.5], [0.3, 0.2]])
    assert padded.queries.index.tolist() == ["q1", "q2"]
    np.testing.assert_array_equal(padded.queries, listed.queries)


# Bad input

BAD = {
    "no documents": (([], []), r"^`relevance` must be a list of grades; got shape \(0,\)\.$"),
    "a matrix": (([[1, 0]], [0, 1]), r"^`relevance` must be a list of grades; got shape \(1, 2\)"),
    "a negative grade": (([1, -1], [0, 1]), r"^A grade in `relevance` must be .* >= 0; got -1\.0"),
    "no grade": (([1, np.nan], [0, 1]), r"^A grade in `relevance` must be finite .*; got nan"),
    "a score too few": (([1, 0], [0.5]), r"^`score` has shape \(1,\); it must be \(2,\), one"),
    "no score": (([1, 0], [0.5, np.nan]), r"^A score must be a finite number; got nan"),
}


@pytest.mark.parametrize("metric", [expected_reciprocal_rank, ndcg])
@pytest.mark.parametrize("bad", BAD)
def test_invalid_queries_raise(metric, bad):
    arguments, message = BAD[bad]
    with pytest.raises(ValueError, match=message):
        metric(*arguments)


@pytest.mark.parametrize("metric", [expected_reciprocal_rank, ndcg])
@pytest.mark.parametrize("k", [0, -1, 1.5])
def test_invalid_depths_raise(metric, k):
    with pytest.raises(ValueError, match=rf"^`k` is {k}; it must be a whole number, 1 or more\.$"):
        metric([1, 0], [0.5, 0.1], k=k)


def test_a_grade_above_the_scale_raises():
    with pytest.raises(
        ValueError, match=r"^`max_grade` is 1, but `relevance` contains the grade 2\.$"
    ):
        expected_reciprocal_rank([2, 0], max_grade=1)


def test_a_collection_names_the_invalid_query():
    with pytest.raises(ValueError, match=r"^Query 'q7': A score must be a finite number; got nan"):
        query_metrics([[1, 0], [1, 0]], [[1, 2], [1, np.nan]], labels=["q3", "q7"])


def test_collections_of_different_lengths_raise():
    with pytest.raises(ValueError, match=r"same number of queries; got 2, 1 and 2\.$"):
        query_metrics([[1], [0]], [[1]])
    with pytest.raises(ValueError, match=r"same number of queries; got 2, 2 and 3\.$"):
        query_metrics([[1], [0]], [[1], [1]], labels=[*"abc"])
    with pytest.raises(TypeError, match=r"^`relevance` is a DataFrame, and its labels would be"):
        query_metrics(pd.DataFrame([[1, 0]]), pd.DataFrame([[0.5, 0.1]]))
    with pytest.raises(ValueError, match=r"^There are no queries"):
        query_metrics([], [])
    with pytest.raises(ValueError, match=r"^`score` has shape \(1, 3\), but `where` has \(1, 2\)"):
        query_metrics(np.ones((1, 2)), np.ones((1, 3)), where=np.ones((1, 2), dtype=bool))


def test_scores_with_labels_are_those_of_their_documents():
    grades = pd.Series([0, 2, 1], index=["a", "b", "c"])
    scores = pd.Series([1.7, 0.3, 0.9], index=["c", "a", "b"])
    expected = ndcg([0, 2, 1], [0.3, 0.9, 1.7], k=2)
    assert ndcg(grades, scores, k=2) == expected
    assert expected_reciprocal_rank(grades, scores) == expected_reciprocal_rank(
        [0, 2, 1], [0.3, 0.9, 1.7]
    )
    queries, _ = query_metrics([grades], [scores], k=(2,))
    assert queries["ndcg@2"].tolist() == [expected]
    with pytest.raises(ValueError, match=r"^`relevance` and `score` are Series with different"):
        ndcg(grades, scores.rename({"c": "d"}))
