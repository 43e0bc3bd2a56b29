"""Pearson neighbours: correlations against scipy, predictions by hand, who is asked, bad input."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array
from scipy.stats import pearsonr

from models.bpr.rating_neighbours import (
    Similarity,
    nearest,
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


def test_similarity_is_zero_without_two_common_items_or_with_equal_ratings():
    ratings = csr_array([[5.0, 3, 1], [4, 0, 0], [0.1, 0.1, 0.1], [0, 0, 0]])
    ratings.eliminate_zeros()
    similarity, common = pearson_similarity(ratings, 0)
    assert similarity.tolist() == [0, 0, 0, 0]
    assert common.tolist() == [3, 1, 3, 0]


def test_a_stored_zero_is_a_rating():
    entries = np.array([0.0, 1.0, 0.0, 1.0]), ([0, 0, 1, 1], [0, 1, 0, 1])
    assert pearson_similarity(csr_array(entries, shape=(2, 3)), 0).common.tolist() == [2, 2]


def test_predictions_by_hand():
    # Ann and Bo: 5, 3 and 4, 3 correlate to 1; Cy, -1, is not asked. Bo's mean is 4, Ann's 3.
    predicted = predict_ratings(STARS, 0, significance=1)
    assert predicted == pytest.approx([3 + 0, 3 - 1, 3, 3 + 1])


def test_significance_weighs_neighbours_by_common_items():
    # Both correlate to 1 with the first; on 2 and on 3 common items, so they count 2 to 3.
    ratings = csr_array([[1.0, 2, 3, 0], [1, 2, 0, 6], [3, 4, 5, 2]])
    raw, shrunken = (predict_ratings(ratings, 0, significance=n)[3] for n in (1, 3))
    assert raw == pytest.approx(2 + (3 + -1.5) / 2)
    assert shrunken == pytest.approx(2 + (2 / 3 * 3 + 1 * -1.5) / (2 / 3 + 1))


def test_a_user_without_ratings_gets_the_mean_of_all_and_one_without_neighbours_their_own():
    ratings = csr_array([[0.0, 0], [2, 4], [5, 0]])
    ratings.eliminate_zeros()
    assert predict_ratings(ratings, 0).tolist() == pytest.approx([11 / 3] * 2)
    assert predict_ratings(ratings, 2).tolist() == [5, 5]
    assert predict_ratings(csr_array((2, 3)), 0).tolist() == [0, 0, 0]


def test_neighbours_are_the_most_similar_and_all_who_tie_with_the_last():
    similar = Similarity(np.array([0.0, 0.9, 0.5, 0.5, 0.1, -0.4]), np.full(6, 50))
    assert nearest(similar, 1, 50).users.tolist() == [1]
    assert nearest(similar, 2, 50).users.tolist() == [1, 2, 3]
    assert nearest(similar, 9, 50).users.tolist() == [1, 2, 3, 4]
    assert nearest(similar, 2, 100).weight == pytest.approx([0.45, 0.25, 0.25])


# Bad input


@pytest.mark.parametrize("predict", [pearson_similarity, predict_ratings])
def test_ratings_that_are_not_sparse_are_refused(predict):
    with pytest.raises(ValueError, match="`ratings` is a ndarray; give a sparse array"):
        predict(np.ones((2, 2)), 0)


def test_a_rating_that_is_not_finite_is_named():
    with pytest.raises(ValueError, match="got nan of user 1 for item 2"):
        pearson_similarity(csr_array([[1.0, 0, 2], [3, 0, np.nan]]), 0)


def test_an_item_rated_twice_is_refused():
    twice = csr_array((np.array([1.0, 2]), np.array([1, 1]), np.array([0, 2])), shape=(1, 3))
    with pytest.raises(ValueError, match="an item twice for the same user"):
        pearson_similarity(twice, 0)
    assert twice.nnz == 2  # and left as it was


def test_entries_in_any_order_are_the_same_ratings(rng):
    ratings = made_up(rng)
    shuffled = ratings.tocoo()
    order = rng.permutation(ratings.nnz)
    row, column = shuffled.coords
    shuffled = coo_array((shuffled.data[order], (row[order], column[order])), shape=ratings.shape)
    unsorted = ratings.copy()
    for u in range(12):
        part = slice(unsorted.indptr[u], unsorted.indptr[u + 1])
        unsorted.indices[part] = unsorted.indices[part][::-1].copy()
        unsorted.data[part] = unsorted.data[part][::-1].copy()
    unsorted = csr_array((unsorted.data, unsorted.indices, unsorted.indptr), shape=ratings.shape)
    assert not unsorted.has_sorted_indices
    for other in (shuffled, unsorted, ratings.tocsc()):
        np.testing.assert_array_equal(predict_ratings(other, 3), predict_ratings(ratings, 3))


@pytest.mark.parametrize("user", [-1, 4])
def test_an_unknown_user_is_named(user):
    with pytest.raises(ValueError, match=rf"`user` is {user}; there are users 0 to 3"):
        predict_ratings(STARS, user)


@pytest.mark.parametrize("name", ["n_neighbours", "significance"])
def test_counts_below_one_are_named(name):
    with pytest.raises(ValueError, match=f"`{name}` is 0; it must be a whole number, 1 or more"):
        predict_ratings(STARS, 0, **{name: 0})
