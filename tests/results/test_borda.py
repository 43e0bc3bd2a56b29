"""Borda count: shares by hand, ties, weights, and the figure known for MQ2008-agg."""

import numpy as np
import pandas as pd
import pytest

from bayesrank import query_metrics
from bayesrank.data import Rankings, UninformativeRankingWarning
from bayesrank.results import borda
from models.metasearch.data import metasearch_rankings, read_aggregation_parts


def test_a_score_is_the_mean_share_of_the_others_beaten():
    r = Rankings.from_orderings([["a", "b", "c", "d"], ["b", "a"]], rest=())
    assert borda(r).to_dict() == pytest.approx(
        {"a": (1 + 0) / 2, "b": (2 / 3 + 1) / 2, "c": 1 / 3, "d": 0}
    )


def test_a_tie_counts_half():
    r = Rankings.from_orderings([["a", {"b", "c"}, "d"]])
    assert borda(r).to_dict() == pytest.approx({"a": 1, "b": 0.5, "c": 0.5, "d": 0})


def test_a_ranking_counts_as_often_as_its_weight_says():
    r = Rankings.from_orderings([["a", "b"], ["b", "a"]], count=[3, 1])
    assert borda(r).to_dict() == {"a": 0.75, "b": 0.25}
    pd.testing.assert_series_equal(borda(r.expand()), borda(r))


def test_an_item_that_nobody_ranked_has_no_score_and_a_ranking_of_one_none_to_give():
    with pytest.warns(UninformativeRankingWarning):
        r = Rankings.from_orderings([["a", "b"], ["c"]], items=list("abcd"), rest=())
    scores = borda(r)
    assert scores.index.tolist() == list("abcd")
    assert scores[["a", "b"]].tolist() == [1, 0]
    assert scores[["c", "d"]].isna().all()


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
