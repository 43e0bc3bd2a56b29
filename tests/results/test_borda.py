"""Borda count: shares by hand, ties, weights, and the figure known for MQ2008-agg."""

import numpy as np
import pandas as pd
import pytest

from bayesrank import query_metrics
from bayesrank.data import PairCounts, Rankings, UninformativeRankingWarning
from bayesrank.results import borda
from models.metasearch.data import metasearch_rankings, read_aggregation_parts
from tests.data.examples import random_rankings


def test_a_score_is_the_mean_share_of_the_others_beaten():
    r = Rankings.from_orderings([["a", "b", "c", "d"], ["b", "a"]], rest=())
    assert borda(r).to_dict() == pytest.approx(
        {"a": (1 + 0) / 2, "b": (2 / 3 + 1) / 2, "c": 1 / 3, "d": 0}
    )


def test_a_tie_counts_half():
    r = Rankings.from_orderings([["a", {"b", "c"}, "d"]])
    assert borda(r).to_dict() == pytest.approx({"a": 1, "b": 0.5, "c": 0.5, "d": 0})


def test_a_ranking_counts_as_often_as_its_weight_says():
    r = Rankings.from_orderings([["a", "b"], ["b", "a"]], weight=[3, 1])
    assert borda(r).to_dict() == {"a": 0.75, "b": 0.25}
    pd.testing.assert_series_equal(borda(r.expand()), borda(r))


def test_an_item_that_nobody_ranked_has_no_score_and_a_ranking_of_one_none_to_give():
    with pytest.warns(UninformativeRankingWarning):
        r = Rankings.from_orderings([["a", "b"], ["c"]], items=list("abcd"), rest=())
    scores = borda(r)
    assert scores.index.tolist() == list("abcd")
    assert scores[["a", "b"]].tolist() == [1, 0]
    assert scores[["c", "d"]].isna().all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["difference", "binary"])
def test_counts_of_rankings_give_the_same_scores(seed, kind):
    r = random_rankings(seed)
    each = Rankings(r.item, r.ranks, items=r.items)  # every ranking a ranker of its own
    pd.testing.assert_series_equal(borda(each.counts(kind)), borda(each))


def test_counts_have_others_in_their_problem_only_and_a_pair_both_ways_is_a_tie():
    frame = pd.DataFrame(
        {
            "q": [1, 1, 2, 2, 2],
            "x": ["a", "b", "a", "b", "a"],
            "y": ["b", "a", "b", "c", "c"],
            "n": [1, 5, 1, 9, 1],
        }
    )
    c = PairCounts.from_frame(frame, first="x", second="y", count="n", problem="q")
    assert borda(c).tolist() == [0.5, 0.5, 1, 0.5, 0]


def test_rankers_of_counts_enter_by_their_evidence_weights():
    c = PairCounts.from_matrix([[[0, 1], [0, 0]], [[0, 0], [1, 0]]], rankers=["u", "v"])
    assert borda(c).tolist() == [0.5, 0.5]
    assert borda(c.weighted([3, 1])).tolist() == [0.75, 0.25]


def ndcg(table, scores):
    """Mean NDCG@1..5 in percent; the rows of the table are the items."""
    rows = table.groupby("query").indices.values()
    means = query_metrics(
        [table["label"].to_numpy()[r] for r in rows],
        [scores.to_numpy()[r] for r in rows],
        k=range(1, 6),
    ).means
    return 100 * means.drop("err")


@pytest.mark.slow
def test_search_engines_are_worth_what_is_known_where_unlisted_means_last(data_dir):
    table = read_aggregation_parts(data_dir / "MQ2008-agg")
    last = ndcg(table, borda(metasearch_rankings(table, unlisted="last")))
    np.testing.assert_allclose(last, [38.37, 39.61, 42.15, 44.30, 46.04], atol=0.01)
    assert (last > [37.7, 39.6, 41.7, 43.7, 45.5]).all()  # measured elsewhere

    # Its negative twin: of listed documents alone, one engine's first is as good as all engines'.
    with pytest.warns(UninformativeRankingWarning):
        missing = metasearch_rankings(table, unlisted="missing")
    assert (ndcg(table, borda(missing).fillna(0)) < last - 10).all()
