r"""EigenRank: order items by the ratings of similar users.

Rating prediction (`models.bpr.rating_neighbours`) uses the neighbours' ratings of an item.
EigenRank uses their preferences between two items. It has three steps for a user u:

1. *Similarity*: Kendall's correlation on the items that both rated, with D of the
   :math:`\binom n2` pairs in opposite order,

   .. math:: s_{uv} = 1 - \frac{4 D}{n (n - 1)};

2. *Preference*: the mean difference of two items' ratings, over the neighbours who rated both,

   .. math:: \Psi(i, j) = \frac{\sum_v s_{uv} (r_{vi} - r_{vj})}{\sum_v s_{uv}}, \qquad
             \Psi(i, j) = 0 \text{ if there are none};

3. *Order* of the items that u has not rated: greedy, or by a random walk that tends to move to
   better items. The walk orders items by the share of time that it spends at each.

In this example, the preferences form a cycle with different strengths:

>>> psi = np.array([[0.0, 2, -1], [-2, 0, 1], [1, -1, 0]])
>>> greedy_scores(psi)
array([ 0., -1., -2.])
>>> stationary_scores(psi, epsilon=0.85).round(3)
array([0.363, 0.287, 0.351])
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models.bpr.eigenrank_kernels import greedy, kendall, mean_differences, walk
from models.bpr.rating_neighbours import (
    Neighbours,
    Similarity,
    nearest,
    rating_rows,
    row_of,
)

__all__ = ["eigenrank", "greedy_scores", "kendall_similarity", "preferences", "stationary_scores"]

SINGLE_TOLERANCE = 1e-6  # smallest tolerance for numbers of 32 bits
LARGEST_SINGLE = 80.0  # exp(80) and exp(-80) are normal numbers of 32 bits


def eigenrank(
    ratings: Any,
    user: int,
    *,
    order: Literal["greedy", "walk"] = "greedy",
    n_neighbours: int = 100,
    significance: int = 50,
    epsilon: float = 0.85,
) -> NDArray[np.float64]:
    """Score the items that a user has not rated by the preferences of similar users.

    Parameters
    ----------
    ratings : sparse array, shape (n_users, n_items)
        Every stored entry is a rating, including zeros; entries that are not stored are missing.
    user : int
        Index of the user.
    order : {"greedy", "walk"}
        See `greedy_scores` and `stationary_scores`.
    n_neighbours : int
        Number of neighbours, 1 or more. They are the most similar users with positive similarity.
    significance : int
        A similarity on fewer common items n is multiplied by n / significance. With 1, similarities
        are unchanged.
    epsilon : float
        Probability that the walk follows the preferences, between 0 and 1.

    Returns
    -------
    array, shape (n_items,)
        Scores, high is good, comparable within the user; NaN for items that the user has rated. All
        scores are equal for a user without similar users or ratings.

    Raises
    ------
    ValueError
        If `ratings` is not sparse, a rating is not finite or an entry is stored twice, there is no
        such user, or an option is out of its range.

    Notes
    -----
    Two choices go beyond the formulas. First, similarities are shrunk (Herlocker et al., SIGIR
    1999), because users with two common items often agree on them entirely. Second, equal
    potentials of the greedy order are ties, so that the order of the items does not matter.

    The function stores the ratings and, for one user at a time, all pairs of items.

    References
    ----------
    Liu, N. N., & Yang, Q. (2008). EigenRank: a ranking-oriented approach to collaborative
    filtering. SIGIR, 83-90.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> ratings = csr_array([[5.0, 1, 0, 0, 0], [4, 2, 5, 3, 0], [4, 3, 4, 0, 0]])
    >>> eigenrank(ratings, 0)  # third before fourth; the last is unrated
    array([nan, nan,  0., -1., -1.])
    """
    if order not in ("greedy", "walk"):
        raise ValueError(f"`order` is {order!r}; it is 'greedy' or 'walk'.")
    rows = rating_rows(ratings)
    neighbours = nearest(kendall_similarity(rows, user), n_neighbours, significance)
    unrated = row_of(rows, user)[1] == 0
    asked = np.diff(rows[neighbours.users].tocsc().indptr) > 0
    compared, others = np.flatnonzero(unrated & asked), np.flatnonzero(unrated & ~asked)

    # No preferences involve the others. They are identical, so that one represents them all.
    psi = preferences(rows, neighbours, np.append(compared, others[:1]))
    if order == "greedy":
        found = greedy(psi)  # psi is skew-symmetric: psi and psi - psi.T give the same order
    else:
        copies = np.append(np.ones(len(compared)), np.full(min(len(others), 1), len(others)))
        found = stationary_scores(psi, epsilon, copies=copies, tolerance=SINGLE_TOLERANCE)
    scores = np.full(rows.shape[1], np.nan)
    scores[compared] = found[: len(compared)]
    scores[others] = found[len(compared) :]
    return scores


def kendall_similarity(ratings: Any, user: int) -> Similarity:
    r"""Compute Kendall's correlation of a user's ratings with the ratings of other users.

    .. math:: s_{uv} = 1 - \frac{4}{n (n - 1)}
              \#\{i < j : (r_{ui} - r_{uj}) (r_{vi} - r_{vj}) < 0\}

    over the n items that both rated. Ties count as agreement, because a pair that either user ties
    is not in opposite order. Without ties this is Kendall's tau; with ties it is larger.

    Parameters
    ----------
    ratings : sparse array, shape (n_users, n_items)
        Every stored entry is a rating.
    user : int
        Index of the user.

    Returns
    -------
    Similarity
        Correlations between -1 and 1; 0 with fewer than two common items.

    Raises
    ------
    ValueError
        If `ratings` is not sparse, a rating is not finite or an entry is stored twice, or there is
        no such user.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> kendall_similarity(csr_array([[5.0, 3, 1], [1, 2, 5], [4, 4, 1], [0, 0, 2]]), 0)
    Similarity(similarity=array([ 0., -1.,  1.,  0.]), common=array([3, 3, 3, 1]))
    """
    rows = rating_rows(ratings)
    mine, has = row_of(rows, user)
    similarity, common = kendall(rows.indptr, rows.indices, rows.data, mine, has > 0)
    similarity[user] = 0.0
    return Similarity(similarity, common)


def preferences(
    ratings: Any, neighbours: Neighbours, items: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Compute weighted mean differences of the ratings of neighbours who rated both items.

    Parameters
    ----------
    ratings : sparse array, shape (n_users, n_items)
        Every stored entry is a rating.
    neighbours : Neighbours
        Indices of users, and their positive weights.
    items : array of int, (n,)
        Indices of the items to compare.

    Returns
    -------
    array, (n, n)
        Antisymmetric matrix. Row i and column j contain the strength of the preference of i to j,
        or 0 if no neighbour rated both.

    Raises
    ------
    ValueError
        If `ratings` is not sparse, or a rating is not finite or an entry is stored twice.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> asked = Neighbours(np.array([0, 1]), np.array([0.75, 0.25]))
    >>> preferences(csr_array([[5.0, 3, 0], [4, 2, 1]]), asked, np.arange(3))
    array([[ 0.,  2.,  3.],
           [-2.,  0.,  1.],
           [-3., -1.,  0.]])
    """
    rows = rating_rows(ratings)[neighbours.users][:, items]
    given = rows.tocsc()
    return mean_differences(
        (rows.indptr, rows.indices, rows.data),
        (given.indptr, given.indices, given.data),
        neighbours.weight,
    )


def greedy_scores(psi: ArrayLike) -> NDArray[np.float64]:
    r"""Order items greedily, so that better ones tend to come first.

    The next item has the highest potential among the remaining items,

    .. math:: \pi(i) = \sum_j \Psi(i, j) - \sum_j \Psi(j, i),

    where the sums are over the remaining items. The order agrees with at least half the weight of
    all preferences. Finding the order with the largest agreement is NP-hard.

    Parameters
    ----------
    psi : array, (n, n)
        Strength of the preference of item i to item j, in row i and column j.

    Returns
    -------
    array, (n,)
        0 for the best, -1 for the next, ... Items with equal highest potentials are chosen together
        and are tied.

    References
    ----------
    Cohen, W. W., Schapire, R. E., & Singer, Y. (1999). Learning to order things. JAIR 10, 243-270.

    Examples
    --------
    >>> greedy_scores([[0, 1, 1], [-1, 0, 0], [-1, 0, 0]])
    array([ 0., -1., -1.])
    """
    matrix = _square(psi)
    return greedy(matrix - matrix.T)


def stationary_scores(
    psi: ArrayLike,
    epsilon: float = 0.85,
    *,
    copies: ArrayLike | None = None,
    tolerance: float = 1e-9,
) -> NDArray[np.float64]:
    r"""Score items by the stationary distribution of a random walk that prefers better items.

    The walker moves from i to j with probability

    .. math:: \epsilon \frac{e^{\Psi(j, i)}}{\sum_k e^{\Psi(k, i)}} + \frac{1 - \epsilon} n.

    That is, it follows the preferences with probability :math:`\epsilon`, and otherwise jumps to
    any item.

    Parameters
    ----------
    psi : array, (n, n)
        Strength of the preference of item i to item j, in row i and column j.
    epsilon : float
        Between 0 (all items alike) and 1 (no jumps).
    copies : array of int, (n,), optional
        Number of identical items that each row represents, 1 or more.
    tolerance : float
        Largest relative change of a probability in the last step of the walker. From 1e-6 on,
        moves are stored in single precision.

    Returns
    -------
    array, (n,)
        The stationary distribution: one positive probability for a copy of each row.

    Raises
    ------
    ValueError
        If `epsilon` is not between 0 and 1, or an array has a wrong shape.

    Examples
    --------
    >>> stationary_scores([[0, np.log(3)], [-np.log(3), 0]], epsilon=1).round(3)
    array([0.75, 0.25])
    """
    if not 0 <= epsilon <= 1:
        raise ValueError(f"`epsilon` is {epsilon}; a probability lies between 0 and 1.")
    psi = _square(psi)
    n = np.ones(len(psi)) if copies is None else np.asarray(copies, dtype=np.float64)
    if n.shape != (len(psi),) or np.any(n < 1):
        raise ValueError(f"`copies` is {copies!r}; give {len(psi)} numbers, 1 or more.")
    # Columns are the items that the walker leaves. Each step reads all moves, so memory limits the
    # speed. With single precision, 1,300 items take 13 ms instead of 17, with errors of 1e-7. Use
    # it unless more digits are required or an exponential would overflow.
    largest = max(psi.max(initial=0.0), -psi.min(initial=0.0))
    if tolerance >= SINGLE_TOLERANCE and largest < LARGEST_SINGLE:
        move = np.empty(psi.shape, dtype=np.float32)
        np.exp(psi, out=move, dtype=np.float32, casting="same_kind")
    else:
        move = np.exp(psi - psi.max(axis=0, initial=0.0))  # the highest of a column is 1, or less
    return walk(move, n, epsilon, tolerance)


def _square(psi: ArrayLike) -> NDArray[np.float64]:
    matrix = np.asarray(psi, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"`psi` has shape {matrix.shape}; expected (n, n).")
    if not np.isfinite(matrix).all():
        raise ValueError("`psi` contains a number that is not finite.")
    return matrix
