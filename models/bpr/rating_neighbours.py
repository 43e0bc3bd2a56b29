r"""Pearson nearest neighbours: predict ratings from similar users.

Ratings are a sparse array, (n_users, n_items). Every stored entry is a rating, including zeros;
entries that are not stored are missing. A prediction is the user's mean rating, plus the weighted
mean deviation of the neighbours' ratings from their means,

.. math:: \hat r_{ui} = \bar r_u + \frac{\sum_v s_{uv} (r_{vi} - \bar r_v)}{\sum_v |s_{uv}|}.

The sum is over the user's neighbours v who rated i, and :math:`s_{uv}` is the Pearson correlation
on the items that both rated. `models.bpr.eigenrank` uses the orders of the neighbours instead.

The first user has not rated the third item, because zeros are not stored:

>>> ratings = csr_array([[5.0, 1, 0], [4, 2, 5], [1, 5, 2]])
>>> pearson_similarity(ratings, 0).similarity.round(3)
array([ 0.,  1., -1.])
>>> predict_ratings(ratings, 0, significance=1).round(3)
array([3.333, 1.333, 4.333])
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

__all__ = ["Similarity", "pearson_similarity", "predict_ratings"]

MIN_VARIANCE = 1e-9  # relative to mean squares; below it, all ratings of a user are equal


class Similarity(NamedTuple):
    """Similarity of each user to one user."""

    similarity: NDArray[np.float64]  # (n_users,), 0 for the user
    common: NDArray[np.int64]  # (n_users,), number of items that both rated


def pearson_similarity(ratings: Any, user: int) -> Similarity:
    """Compute Pearson correlations of a user's ratings with other users' on common items.

    Parameters
    ----------
    ratings : sparse array, shape (n_users, n_items)
        Every stored entry is a rating.
    user : int
        Index of the user.

    Returns
    -------
    Similarity
        Correlations between -1 and 1. They are 0 with fewer than two common items, or if either
        user gave all of them the same rating.

    Raises
    ------
    ValueError
        If `ratings` is not sparse, a rating is not finite or an entry is stored twice, or there is
        no such user.

    Examples
    --------
    >>> pearson_similarity(csr_array([[5.0, 3, 1], [0, 2, 5], [4, 0, 0]]), 0)
    Similarity(similarity=array([ 0., -1.,  0.]), common=array([3, 2, 1]))
    """
    rows = rating_rows(ratings)
    mine, has = row_of(rows, user)
    given = csr_array((np.ones(rows.nnz), rows.indices, rows.indptr), shape=rows.shape)
    squares = csr_array((rows.data**2, rows.indices, rows.indptr), shape=rows.shape)

    n = given @ has
    sum_u, sum_v = given @ mine, rows @ has
    sum_uu, sum_vv, sum_uv = given @ mine**2, squares @ has, rows @ mine
    # n² times the variances and the covariance
    var_u, var_v = n * sum_uu - sum_u**2, n * sum_vv - sum_v**2
    varied = (var_u > MIN_VARIANCE * n * sum_uu) & (var_v > MIN_VARIANCE * n * sum_vv)
    similarity = np.zeros(len(n))
    scale = np.sqrt(np.where(varied, var_u * var_v, 1.0))
    np.divide(n * sum_uv - sum_u * sum_v, scale, out=similarity, where=varied)
    similarity[user] = 0.0
    return Similarity(np.clip(similarity, -1, 1), n.astype(np.int64))


def predict_ratings(
    ratings: Any, user: int, *, n_neighbours: int = 100, significance: int = 50
) -> NDArray[np.float64]:
    """Predict the ratings of a user for every item, from the ratings of similar users.

    Parameters
    ----------
    ratings : sparse array, shape (n_users, n_items)
        Every stored entry is a rating.
    user : int
        Index of the user.
    n_neighbours : int
        Number of neighbours, 1 or more. They are the most similar users with positive similarity.
    significance : int
        A similarity on fewer common items n is multiplied by n / significance. With 1, similarities
        are unchanged.

    Returns
    -------
    array, shape (n_items,)
        Expected ratings. Where no neighbour rated the item, it is the user's mean, or the mean of
        all ratings for a user without ratings.

    Raises
    ------
    ValueError
        As in `pearson_similarity`, or if a number is below 1.

    References
    ----------
    Herlocker, Konstan, Borchers & Riedl, An algorithmic framework for performing collaborative
    filtering, SIGIR 1999.

    Examples
    --------
    >>> ratings = csr_array([[5.0, 3, 0], [4, 2, 1], [4, 2, 3]])
    >>> predict_ratings(ratings, 0, significance=1).round(3)
    array([5.333, 3.333, 3.333])
    """
    rows = rating_rows(ratings)
    similar = nearest(pearson_similarity(rows, user), n_neighbours, significance)
    count = np.diff(rows.indptr)
    total = np.add.reduceat(np.append(rows.data, 0.0), rows.indptr[:-1]) * (count > 0)
    overall = rows.data.mean() if rows.nnz else 0.0
    means = np.where(count > 0, total / np.maximum(count, 1), overall)

    excess = rows.data - np.repeat(means, count)
    above = csr_array((excess, rows.indices, rows.indptr), shape=rows.shape)
    given = csr_array((np.ones(rows.nnz), rows.indices, rows.indptr), shape=rows.shape)
    weight = np.zeros(len(count))
    weight[similar.users] = similar.weight
    asked = given.T @ weight
    move = np.divide(above.T @ weight, asked, out=np.zeros_like(asked), where=asked > 0)
    return means[user] + move


class Neighbours(NamedTuple):
    """Neighbours of a user, and their weights."""

    users: NDArray[np.int64]
    weight: NDArray[np.float64]  # > 0


def nearest(similarity: Similarity, n_neighbours: int, significance: int) -> Neighbours:
    """Choose the most similar users with positive similarity, and all users tied with the last."""
    for name, value in (("n_neighbours", n_neighbours), ("significance", significance)):
        if value < 1 or value % 1:
            raise ValueError(f"`{name}` is {value!r}; it must be a whole number, 1 or more.")
    weight = similarity.similarity * np.minimum(similarity.common / significance, 1.0)
    if n_neighbours < len(weight):
        least = np.partition(weight, -n_neighbours)[-n_neighbours]
        weight = np.where(weight >= least, weight, 0.0)
    users = np.flatnonzero(weight > 0)
    return Neighbours(users, weight[users])


def rating_rows(ratings: Any) -> csr_array:
    """Check the ratings, and sort those of each user by item."""
    if not issparse(ratings):
        raise ValueError(
            f"`ratings` is a {type(ratings).__name__}; give a sparse array of the ratings, because "
            "a zero of a dense array may be a rating or a missing one: "
            "csr_array((rating, (user, item)), shape=(n_users, n_items))."
        )
    sparse: Any = ratings
    rows = csr_array(sparse, dtype=np.float64)
    if not rows.has_sorted_indices:
        rows = rows.sorted_indices()
    if not rows.has_canonical_format:
        raise ValueError(
            "`ratings` contains an item twice for the same user; keep one rating, or take the "
            "mean (table.groupby(['user', 'item'])['rating'].mean())."
        )
    bad = np.flatnonzero(~np.isfinite(rows.data))
    if bad.size:
        user = np.searchsorted(rows.indptr, bad[0], side="right") - 1
        raise ValueError(
            f"A rating must be a finite number; got {rows.data[bad[0]]} by user {user} for item "
            f"{rows.indices[bad[0]]}."
        )
    return rows


def row_of(rows: csr_array, user: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ratings of one user, with zeros if missing, and a mask of the ratings."""
    if not 0 <= user < rows.shape[0]:
        raise ValueError(f"`user` is {user}; there are users 0 to {rows.shape[0] - 1}.")
    mine, has = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
    entries = slice(rows.indptr[user], rows.indptr[user + 1])
    mine[rows.indices[entries]] = rows.data[entries]
    has[rows.indices[entries]] = 1.0
    return mine, has
