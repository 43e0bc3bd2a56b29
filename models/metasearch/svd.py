r"""Scores from a rank-two factorisation of the mean preferences.

Suppose that scores s explain how strongly one item is preferred to another,
:math:`Y_{ij} = s_i - s_j`. Then :math:`Y = s e^T - e s^T`, where e is the vector of ones. This is a
skew-symmetric matrix of rank two. Observed preferences do not have this form, but their best
approximation of rank two is close to it. Its part along e contains the scores.

>>> s = np.array([3.0, 1.0, 0.0])
>>> Y = np.subtract.outer(s, s)
>>> counts = PairCounts.from_matrix(np.maximum(Y, 0), items=["a", "b", "c"])
>>> svd_scores(counts).round(4)
a    1.6667
b   -0.3333
c   -1.3333
Name: svd, dtype: float64
"""

from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csc_array

from bayesrank.data import PairCounts


def svd_scores(counts: PairCounts, *, mean: bool = True) -> pd.Series:
    r"""Compute scores :math:`\hat Y e / K`, with :math:`\hat Y` the mean preferences at rank two.

    Problem by problem, with K items:

    1. :math:`Y_{ij}` is the weighted mean of :math:`C_n(i, j) - C_n(j, i)` over the rankers n who
       compare both items; 0 if there is none. A ranker compares an item if it has an entry with
       any item of the problem, so that ties count as 0.
    2. :math:`\hat Y = \sigma (u v^T - v u^T)` is the part of Y with the largest singular value.
       Singular values come in pairs, because Y is skew-symmetric.
    3. The scores are the row means of :math:`\hat Y`: high is good. They sum to zero. If
       :math:`Y = s e^T - e s^T`, they are s minus its mean.

    Parameters
    ----------
    counts : PairCounts
        Counts of preferences, by ranker.
    mean : bool
        Whether :math:`Y_{ij}` is the mean over the rankers who compare both items, or the sum.

    Returns
    -------
    Series
        One score per item, in units of the counts.

    Notes
    -----
    Without step 2, the score is a mean over pairs, similar to the Borda count. Gleich and Lim first
    complete the missing cells of Y by the nuclear norm; here they are 0. The approximation is not
    unique if the two largest pairs of singular values are equal, as for a cycle of items.

    References
    ----------
    Gleich, D. F., & Lim, L.-H. (2011). Rank aggregation via nuclear norm minimization. KDD, 60-68.
    Volkovs, M. N., & Zemel, R. S. (2012). A flexible generative model for preference aggregation.
    WWW, 479-488 (SVP in Table 1).

    Examples
    --------
    >>> import bayesrank as br
    >>> svd_scores(br.PairCounts.from_matrix([[0, 3], [1, 0]], items=["a", "b"]))
    a    1.0
    b   -1.0
    Name: svd, dtype: float64
    """
    item, where = counts.layout()
    slot = np.zeros(len(counts.items), dtype=np.int64)
    slot[item[where]] = np.nonzero(where)[1]

    # Entries and comparisons problem by problem.
    compared = _compared(counts)
    among = counts.problem_idx[counts.first]
    order = np.argsort(among, kind="stable")
    ends = np.searchsorted(among[order], np.arange(len(counts.problems) + 1))
    amount = counts.count * counts.weight[counts.ranker_idx]

    scores = np.zeros(len(counts.items))
    for p, (begin, end) in enumerate(pairwise(ends)):
        entries, mine = order[begin:end], item[p, where[p]]
        K = len(mine)
        cell = slot[counts.first[entries]] * K + slot[counts.second[entries]]
        C = np.bincount(cell, amount[entries], K * K).reshape(K, K)
        held = compared[:, mine]
        rankers = (held.T @ (held * counts.weight[:, None])).toarray()
        Y = C - C.T
        if mean:
            Y = np.divide(Y, rankers, out=np.zeros((K, K)), where=rankers > 0)
        scores[mine] = _row_means_at_rank_two(Y)
    # Rounding errors of the eigenvectors do not break ties.
    return pd.Series(scores.round(9), index=counts.items, name="svd")


def _compared(counts: PairCounts) -> csc_array:
    """Return ones for the items that each ranker compares, (n_rankers, n_items)."""
    cells = np.tile(counts.ranker_idx, 2), np.concatenate([counts.first, counts.second])
    shape = len(counts.rankers), len(counts.items)
    times = csc_array((np.ones(2 * len(counts)), cells), shape=shape)
    times.data[:] = 1.0
    return times


def _row_means_at_rank_two(Y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute row means of the best rank-two approximation to a skew-symmetric matrix."""
    # The plane of u and v belongs to the largest eigenvalue of YᵀY, which is double. Y maps the
    # plane to itself, so that Ŷ = P Y P, where P projects on the plane.
    K = len(Y)
    _, plane = eigh(Y.T @ Y, subset_by_index=[K - 2, K - 1])
    return plane @ (plane.T @ Y @ plane) @ plane.sum(axis=0) / K
