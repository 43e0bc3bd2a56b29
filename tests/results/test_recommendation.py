"""Recommendation metrics: by hand, ties against all orders, scikit-learn, MovieLens, bad input."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import ndcg_score, roc_auc_score

from bayesrank.results.evaluation.metrics import expected_reciprocal_rank
from bayesrank.results.evaluation.recommendation import recommendation_metrics


def one_user(score, relevant, k, known=None):
    known = np.zeros(len(score)) if known is None else known
    return recommendation_metrics([score], [relevant], [known], k=k).queries.iloc[0]


def measures(hits, k):
    """All metrics of an order without ties, from the definitions."""
    hits = np.asarray(hits, dtype=bool)
    P, N = hits.sum(), len(hits)
    place = np.flatnonzero(hits) + 1
    top = place[place <= k]
    pairs = [(i, j) for i in place for j in range(1, N + 1) if not hits[j - 1]]
    ideal = sum(1 / np.log2(1 + r) for r in range(1, min(k, P) + 1))
    return [
        np.mean([i < j for i, j in pairs]),
        sum(1 / np.log2(1 + r) for r in top) / ideal,
        len(top) / k,
        len(top) / P,
        1 / place[0],
        sum(0.5 ** (n + 1) / r for n, r in enumerate(top)),
    ]


def test_metrics_by_hand():
    # the order is miss, hit, miss, hit, miss
    row = one_user([0.9, 0.8, 0.7, 0.6, 0.5], [0, 1, 0, 1, 0], k=3)
    assert row.to_dict() == pytest.approx(
        {
            "auc": 3 / 6,
            "ndcg@3": (1 / np.log2(3)) / (1 + 1 / np.log2(3)),
            "precision@3": 1 / 3,
            "recall@3": 1 / 2,
            "mrr": 1 / 2,
            "err@3": 1 / 4,
        }
    )


def test_known_items_are_no_candidates_and_their_scores_are_not_looked_at():
    alone = one_user([0.9, 0.8, 0.7], [0, 1, 0], k=2)
    among = one_user([np.nan, 0.9, 0.8, np.inf, 0.7], [0, 0, 1, 0, 0], 2, known=[1, 0, 0, 1, 0])
    pd.testing.assert_series_equal(alone, among)
    last = one_user([0.95, 0.9, 0.8, 5.0, 0.7], [0, 0, 1, 0, 0], 2)
    assert last["mrr"] == 1 / 4  # had they been candidates


@pytest.mark.parametrize("k", [1, 2, 3, 4, 6])
@pytest.mark.parametrize(
    "score", [[2, 2, 1, 2, 1, 0], [0, 0, 0, 0, 0, 0], [3, 1, 1, 1, 1, 0], [5, 4, 3, 2, 1, 1]]
)
@pytest.mark.parametrize("relevant", [[1, 0, 1, 0, 1, 0], [0, 0, 0, 1, 0, 0], [1, 1, 0, 1, 1, 1]])
def test_ties_give_the_mean_over_all_orders_of_the_tied(score, relevant, k):
    score, relevant = np.array(score), np.array(relevant)
    orders = [
        measures(relevant[list(order)], k)
        for order in permutations(range(6))
        if (np.diff(score[list(order)]) <= 0).all()
    ]
    ours = one_user(score, relevant, k)
    np.testing.assert_allclose(ours, np.mean(orders, axis=0), rtol=1e-13)


@pytest.mark.parametrize("levels", [4, 10_000])
def test_auc_ndcg_and_err_agree_with_those_of_scikit_learn_and_of_metrics(rng, levels):
    score = rng.integers(0, levels, size=(20, 60)).astype(float)
    relevant = rng.random((20, 60)) < 0.2
    ours = recommendation_metrics(score, relevant, np.zeros((20, 60)), k=7).queries
    for u in range(20):
        assert ours["auc"][u] == pytest.approx(roc_auc_score(relevant[u], score[u]), rel=1e-12)
        assert ours["ndcg@7"][u] == pytest.approx(
            ndcg_score([relevant[u]], [score[u]], k=7), rel=1e-12
        )
        assert ours["err@7"][u] == pytest.approx(
            expected_reciprocal_rank(relevant[u], score[u], k=7, max_grade=1), rel=1e-12
        )


def test_users_with_nothing_held_out_have_nan_and_do_not_count():
    queries, means = recommendation_metrics(
        [[1.0, 2.0], [2.0, 1.0]], [[0, 0], [1, 0]], np.zeros((2, 2)), k=1, users=["Ann", "Bo"]
    )
    assert queries.loc["Ann"].isna().all()
    assert queries.index.name == "user"
    assert means.to_dict() == {**queries.loc["Bo"].to_dict(), "auc": 1.0}


def test_auc_is_nan_where_every_candidate_is_held_out():
    row = one_user([3.0, 1.0, 2.0], [1, 0, 1], 2, known=[0, 1, 0])
    assert np.isnan(row["auc"])
    assert row.drop("auc").tolist() == pytest.approx([1, 1, 1, 1, 0.5 + 0.25 / 2])


def test_matrices_may_be_sparse(rng):
    score, held_out = rng.normal(size=(5, 8)), np.eye(5, 8, dtype=bool)
    known = np.eye(5, 8, k=1, dtype=bool)
    whole = recommendation_metrics(score, held_out, known, k=3)
    some = recommendation_metrics(score, csr_array(held_out), csr_array(known), k=3)
    pd.testing.assert_frame_equal(some.queries, whole.queries)


def test_popularity_on_movielens_has_the_known_figures(data_dir):
    parts = [
        pd.read_csv(data_dir / "ml-100k" / f"ua.{part}", sep="\t", header=None)
        for part in ("base", "test")
    ]
    known, held_out = (
        csr_array((np.ones(len(part)), (part[0] - 1, part[1] - 1)), shape=(943, 1682))
        for part in parts
    )
    popularity = np.broadcast_to(known.sum(axis=0), known.shape)
    means = recommendation_metrics(popularity, held_out, known).means
    assert means["auc"] == pytest.approx(0.857, abs=5e-4)
    assert means["ndcg@10"] == pytest.approx(0.133, abs=5e-4)


# Bad input

NONE = np.zeros((1, 3))
ONE = [[0, 1, 0]]
GOOD = {"scores": [[1, 2, 3]], "held_out": ONE, "known": NONE, "k": 1}
BAD = [
    ({"held_out": [[4, 0, 5]]}, r"^`held_out` contains 4; it must contain only 0 and 1\. If"),
    ({"known": [[4, 0, 5]]}, r"^`known` contains 4; it must contain only 0 and 1\. If these are"),
    ({"known": [[1, 1, 0]], "users": ["Ann"]}, r"1 items are in .* item 1 of user 'Ann'"),
    *(({"k": k}, rf"`k` is {k}; .* from 1 to 3") for k in (0, 4, 1.5)),
    ({"held_out": NONE, "known": ONE}, "^`held_out` contains no items; hold out at least one"),
    ({"known": [[0, 0]]}, r"`known` has shape \(1, 2\) and `held_out` \(1, 3\)"),
    ({"scores": [[1, 2]]}, r"`scores` has shape \(1, 2\) and `held_out` \(1, 3\)"),
    ({"users": ["Ann", "Bo"]}, "^`users` has 2 labels; it must have one for each of the 1"),
    ({"scores": [[1, 2, np.nan]]}, "got nan for item 2 of user 0"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_invalid_scores_and_interactions_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        recommendation_metrics(**(GOOD | change))


def test_tables_of_other_users_or_items_are_refused():
    held_out = pd.DataFrame([[0, 1], [1, 0]], index=["u", "v"], columns=["a", "b"])
    known, scores = 1 - held_out, held_out + 0.5
    expected = recommendation_metrics(scores, held_out, known, k=1).means
    turned = scores[["b", "a"]]
    with pytest.raises(ValueError, match=r"`scores` and `held_out` have .*reindex_like"):
        recommendation_metrics(turned, held_out, known, k=1)
    found = recommendation_metrics(turned.reindex_like(held_out), held_out, known, k=1).means
    assert found.equals(expected)
