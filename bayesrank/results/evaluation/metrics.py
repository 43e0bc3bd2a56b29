r"""Metrics of search results: how good an order is, given grades of relevance.

A *query* is a ranking of documents. Each document has a grade :math:`g` (0 = irrelevant, up to
:math:`g_{max}`) and a score, by which the documents are ordered, highest first. Two metrics with
the same gain :math:`2^g - 1`:

.. math:: ERR@k = \sum_{r=1}^k \frac1r R_r \prod_{i<r} (1 - R_i), \quad
          R_i = \frac{2^{g_i} - 1}{2^{g_{max}}}; \qquad
          NDCG@k \propto \sum_{r=1}^k \frac{2^{g_r} - 1}{\log_2(1 + r)},

NDCG being one for the best order. (The evaluation script of LETOR, which many published tables come
from, divides the gain at the first two places by 1 and from there on by :math:`\log_2 r`:
``discount="letor"``.) **Equal scores** are no order: both metrics are then the
expected value over the orders of the tied documents at random, exactly. (Whatever order the
documents are stored in would otherwise count as the model's, and files often are in a telling
order.) A query without a relevant document has ERR 0; its NDCG is 0 / 0 and by default counts as
0, so that means over queries agree with those in the literature of LETOR.

>>> round(err([3, 2, 3, 0, 1, 2, 0, 0], k=5, max_grade=4), 7)
0.5600983
>>> ndcg([0, 2, 1], [0.3, 1.7, 0.9])
1.0
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

# What the gain at each place is divided by, from places counted from one
DISCOUNTS = {
    "log2": lambda r: np.log2(1 + r),
    "letor": lambda r: np.log2(np.maximum(r, 2)),
}

Discount = Literal["log2", "letor"]

__all__ = ["QueryMetrics", "err", "ndcg", "query_metrics"]


class QueryMetrics(NamedTuple):
    """Metrics of a collection of queries."""

    queries: pd.DataFrame  # one row per query, one column per metric
    means: pd.Series  # over the queries (queries with NaN left out)


def err(
    relevance: ArrayLike,
    score: ArrayLike | None = None,
    *,
    k: int | None = None,
    max_grade: float | None = None,
) -> float:
    r"""Average the reciprocal rank at which a user is satisfied (ERR).

    .. math:: ERR@k = \sum_{r=1}^k \frac1r (S_{r-1} - S_r), \qquad
              S_r = E \prod_{i \le r} (1 - R_i), \quad R_i = \frac{2^{g_i} - 1}{2^{g_{max}}}

    where :math:`S_r` is the probability to read on after r documents; the expectation is over the
    orders of documents with equal scores.

    Parameters
    ----------
    relevance : array, shape (n_documents,)
        Grades :math:`g`, >= 0.
    score : array, shape (n_documents,), optional
        What the documents are ordered by, highest first; by default the order as given.
    k : int, optional
        Depth; by default all documents.
    max_grade : float, optional
        The highest grade of the scale. By default the highest in `relevance`; give it when
        queries are compared, for not every query has a document of the highest grade.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If there is no document, a grade is negative or above `max_grade`, a score is NaN, the
        lengths differ, or `k` is not positive.

    References
    ----------
    Chapelle et al., Expected reciprocal rank for graded relevance, CIKM 2009.

    Examples
    --------
    >>> err([2, 0], max_grade=2), err([2, 0], [0.1, 0.7], max_grade=2)
    (0.75, 0.375)
    >>> err([2, 0], [0.5, 0.5], max_grade=2)  # the two orders are equally likely
    0.5625
    """
    relevance, score = _in_one_order(relevance, score)
    grades = _grades(relevance)
    depth = _depth(k, len(grades))
    top = grades.max() if max_grade is None else max_grade
    if grades.max() > top:
        raise ValueError(
            f"`max_grade` is {max_grade}, but `relevance` has the grade {grades.max():g}."
        )
    scores = -np.arange(len(grades)) if score is None else _scores(score, len(grades))

    order = np.argsort(-scores, kind="stable")
    go_on = 1 - (2.0 ** grades[order] - 1) / 2.0**top
    starts = np.flatnonzero(np.diff(scores[order], prepend=np.inf))
    if len(starts) == len(go_on):
        survival = np.cumprod(np.append(1.0, go_on))
    else:
        parts = [np.ones(1)]
        for tied in np.split(go_on, starts[1:]):
            parts.append(parts[-1][-1] * _mean_products(tied))
        survival = np.concatenate(parts)
    return float(-np.diff(survival[: depth + 1]) @ (1 / np.arange(1, depth + 1)))


def ndcg(
    relevance: ArrayLike,
    score: ArrayLike,
    *,
    k: int | None = None,
    undefined: float = 0.0,
    discount: Discount = "log2",
) -> float:
    r"""Normalised discounted cumulative gain, with the gain :math:`2^g - 1`.

    .. math:: DCG@k = \sum_{r=1}^k \frac{2^{g_r} - 1}{d_r}, \qquad d_r = \log_2(1 + r), \qquad
              NDCG@k = \frac{DCG@k}{\text{the highest possible } DCG@k}

    Documents with equal scores have the mean of their gains: the expected value over their orders.

    Parameters
    ----------
    relevance : array, shape (n_documents,)
        Grades :math:`g`, >= 0.
    score : array, shape (n_documents,)
        What the documents are ordered by, highest first.
    k : int, optional
        Depth; by default all documents.
    undefined : float
        Value where no document is relevant: 0 is the custom of LETOR, NaN leaves the query out
        of means. A single relevant document by itself has NDCG 1.
    discount : {"log2", "letor"}
        "letor" has :math:`d_r = \log_2 \max(r, 2)`, as LETOR's evaluation script: the second place
        counts as much as the first. NDCG@1 is the same, and NDCG@2 and beyond are another measure:
        compare with a published figure by the one that it was computed with.

    Returns
    -------
    float
        Between 0 and 1, or `undefined`.

    Raises
    ------
    ValueError
        If there is no document, a grade is negative, a score is NaN or infinite, the lengths
        differ, `k` is not positive, or there is no such discount.

    References
    ----------
    Järvelin & Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 20, 2002.
    Burges et al., Learning to rank using gradient descent, ICML 2005 (the gain).
    Qin & Liu, Introducing LETOR 4.0 datasets, arXiv:1306.2597, 2013 (the script).

    Examples
    --------
    >>> round(ndcg([0, 2, 1], [0.3, 0.9, 1.7], k=2), 4)
    0.7967
    >>> round(ndcg([0, 2, 1], [0.3, 0.9, 1.7], k=2, discount="letor"), 4)
    1.0
    >>> ndcg([0, 0], [1.0, 2.0])
    0.0
    """
    relevance, score = _in_one_order(relevance, score)
    grades = _grades(relevance)
    depth = _depth(k, len(grades))
    scores = _scores(score, len(grades))
    weight = 1 / _discounts(discount, len(grades))
    weight[depth:] = 0.0
    gain = 2.0**grades - 1
    if not grades.any():
        return undefined

    order = np.argsort(-scores, kind="stable")
    starts = np.flatnonzero(np.diff(scores[order], prepend=np.inf))
    sizes = np.diff(starts, append=len(grades))
    mean_gain = np.repeat(np.add.reduceat(gain[order], starts) / sizes, sizes)
    return float(mean_gain @ weight / (np.sort(gain)[::-1] @ weight))


def query_metrics(
    relevance: Sequence[ArrayLike] | NDArray[Any],
    score: Sequence[ArrayLike] | NDArray[Any],
    *,
    where: ArrayLike | None = None,
    labels: Iterable[Any] | None = None,
    k: Iterable[int] = (1, 5),
    max_grade: float | None = None,
    undefined: float = 0.0,
    discount: Discount = "log2",
) -> QueryMetrics:
    """ERR and NDCG of every query of a collection, and their means.

    Parameters
    ----------
    relevance, score : list of arrays, or arrays of shape (n_rankings, n_slots)
        Grades and scores, query by query.
    where : array of bool, shape (n_rankings, n_slots), optional
        Slots in use, for arrays that are padded: ``rankings.mask``.
    labels : sequence of labels, optional
        Names of the queries: ``rankings.labels``.
    k : list of int
        Depths of NDCG. ERR is of all documents.
    max_grade : float, optional
        The highest grade of the scale; by default the highest in any query.
    undefined : float
        NDCG of a query without a relevant document; see `ndcg`.
    discount : {"log2", "letor"}
        Of NDCG; see `ndcg`.

    Returns
    -------
    QueryMetrics
        ``queries``, a DataFrame with one row per query and the columns err, ndcg@1, ...; and
        ``means``, a Series.

    Raises
    ------
    ValueError
        If the two are not of the same length and shapes, or a query is none (it is named).

    Examples
    --------
    >>> queries, means = query_metrics([[0, 1], [1, 0, 2]], [[0.2, 0.9], [0.1, 0.5, 0.3]])
    >>> queries.round(3)
             err  ndcg@1  ndcg@5
    query
    0      0.250     1.0   1.000
    1      0.396     0.0   0.659
    >>> means.round(3).to_dict()
    {'err': 0.323, 'ndcg@1': 0.5, 'ndcg@5': 0.83}
    """
    grades, scores = _used(relevance, where, "relevance"), _used(score, where, "score")
    names = pd.RangeIndex(len(grades)) if labels is None else pd.Index(labels)
    if not len(grades) == len(scores) == len(names):
        raise ValueError(
            f"Expected as many queries in all; got {len(grades)} in `relevance`, {len(scores)} in "
            f"`score` and {len(names)} labels."
        )
    if not len(grades):
        raise ValueError("There are no queries: give at least one.")
    top = max_grade
    if top is None:
        top = max((np.max(np.asarray(g), initial=0.0) for g in grades), default=0.0)

    rows = []
    for name, g, s in zip(names, grades, scores, strict=True):
        try:
            row = {"err": err(g, s, max_grade=top)}
            row |= {
                f"ndcg@{depth}": ndcg(g, s, k=depth, undefined=undefined, discount=discount)
                for depth in k
            }
        except ValueError as error:
            raise ValueError(f"Query {name!r}: {error}") from None
        rows.append(row)
    queries = pd.DataFrame(rows, index=names.rename(names.name or "query"))
    return QueryMetrics(queries, queries.mean())


def _mean_products(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean product of m of the numbers `x`, over all choices of them, for m = 1, 2, ...

    The elementary symmetric polynomials over their numbers of terms: with the n-th number,
    E[m] = ((n - m) E[m] + m x_n E[m - 1]) / n, in which nothing can overflow.
    """
    mean = np.zeros(len(x) + 1)
    mean[0] = 1.0
    for n, x_n in enumerate(x, start=1):
        m = np.arange(1, n + 1)
        mean[1 : n + 1] = ((n - m) * mean[1 : n + 1] + m * x_n * mean[:n]) / n
    return mean[1:]


def _used(values: Any, where: ArrayLike | None, name: str) -> list[NDArray[Any]]:
    """One array per query, without empty slots."""
    if where is None:
        return list(values)
    mask, matrix = np.asarray(where, dtype=bool), np.asarray(values)
    if matrix.ndim != 2 or matrix.shape != mask.shape:
        raise ValueError(
            f"`{name}` has shape {matrix.shape}, but `where` has {mask.shape}; both are "
            "(n_rankings, n_slots)."
        )
    return [row[used] for row, used in zip(matrix, mask, strict=True)]


def _in_one_order(relevance: Any, score: Any) -> tuple[Any, Any]:
    """Put scores in the order of the grades, if both have labels."""
    if not (isinstance(relevance, pd.Series) and isinstance(score, pd.Series)):
        return relevance, score
    if relevance.index.equals(score.index):
        return relevance, score
    one, other = relevance.index, score.index
    if not (one.is_unique and other.is_unique and len(one) == len(other) and one.isin(other).all()):
        raise ValueError(
            "`relevance` and `score` are Series of different labels. Give both the same index, or "
            "arrays in one order."
        )
    return relevance, score.loc[one]


def _grades(relevance: ArrayLike) -> NDArray[np.float64]:
    grades = np.asarray(relevance, dtype=np.float64)
    if grades.ndim != 1 or not grades.size:
        raise ValueError(f"`relevance` must be a list of grades; got shape {grades.shape}.")
    bad = grades[~((grades >= 0) & np.isfinite(grades))]
    if bad.size:
        raise ValueError(f"A grade in `relevance` must be finite and >= 0; got {bad[0]}.")
    return grades


def _scores(score: ArrayLike, n: int) -> NDArray[np.float64]:
    scores = np.asarray(score, dtype=np.float64)
    if scores.shape != (n,):
        raise ValueError(f"`score` has shape {scores.shape} for {n} documents; give one each.")
    bad = scores[~np.isfinite(scores)]
    if bad.size:
        raise ValueError(f"A score must be a finite number; got {bad[0]}.")
    return scores


def _discounts(discount: str, n: int) -> NDArray[np.float64]:
    """Give what the gains at places 1 to n are divided by."""
    if discount not in DISCOUNTS:
        listed = ", ".join(map(repr, DISCOUNTS))
        raise ValueError(f"`discount` is {discount!r}; it is one of {listed}.")
    return DISCOUNTS[discount](np.arange(1.0, n + 1))


def _depth(k: int | None, n: int) -> int:
    if k is not None and (k < 1 or k % 1):
        raise ValueError(f"`k` is {k!r}; it must be a whole number, 1 or more.")
    return n if k is None else min(int(k), n)
