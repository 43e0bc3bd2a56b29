"""Pearson neighbours: correlations against scipy, predictions by hand, who is asked, bad input."""

import pytest
from scipy.sparse import csr_array
from scipy.stats import pearsonr

from models.bpr.rating_neighbours import (
    pearson_similarity,
    predict_ratings,
)

# Ann, Bo, Cy and Di on items a to d; Di has nothing in common with Ann
STARS = csr_array([[5.0, 3, 1, 0], [4, 3, 0, 5], [1, 2, 3, 4], [0, 0, 0, 2]])


def made_up(rng, n_users=12, n_items=15, share=0.8):
    stars = rng.integers(1, 6, size=(n_users, n_items)) * (rng.random((n_users, n_items)) < share)
    return csr_array(stars.astype(float))


def test_similarity_is_pearsons_correlation_on_common_items(rng):
    ratings = made_up(rng)
    dense = ratings.toarray()
    for u in range(12):
        similarity, common = pearson_similarity(ratings, u)
        for v in range(12):
            both = (dense[u] > 0) & (dense[v] > 0)
            assert common[v] == both.sum()
            expected = 0.0 if u == v else pearsonr(dense[u, both], dense[v, both]).statistic
            assert similarity[v] == pytest.approx(expected, abs=1e-12)


def test_predictions_by_hand():
    # Ann and Bo: 5, 3 and 4, 3 correlate to 1; Cy, -1, is not asked. Bo's mean is 4, Ann's 3.
    predicted = predict_ratings(STARS, 0, significance=1)
    assert predicted == pytest.approx([3 + 0, 3 - 1, 3, 3 + 1])
