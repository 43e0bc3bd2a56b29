r"""Metrics of search results: ERR and NDCG of an order, given grades of relevance.

A *query* is a ranking of documents. Each document has a grade :math:`g`, from 0 (irrelevant) to
:math:`g_{max}`, and a score. Documents are sorted by score, highest first. If documents have
**equal scores**, every metric is its exact expected value over random orders of these documents.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayesrank.data.read import check_whole

__all__ = ["QueryMetrics", "expected_reciprocal_rank", "ndcg", "query_metrics"]


class QueryMetrics(NamedTuple):
    """Metrics of a collection of queries."""

    queries: pd.DataFrame  # one row per query, one column per metric
    means: pd.Series  # over the queries, without NaN


def expected_reciprocal_rank(
    relevance: ArrayLike,
    score: ArrayLike | None = None,
    *,
    k: int | None = None,
    max_grade: float | None = None,
) -> float:
    r"""Compute the expected reciprocal rank of the document that satisfies a user (ERR).

    .. math:: ERR@k = \sum_{r=1}^k \frac1r (S_{r-1} - S_r), \qquad
              S_r = E \prod_{i \le r} (1 - R_i), \quad R_i = \frac{2^{g_i} - 1}{2^{g_{max}}}

    where :math:`S_r` is the probability to read on after r documents. The expectation is over
    random orders of documents with equal scores.

    Parameters
    ----------
    relevance : array, shape (n_documents,)
        Grades :math:`g`, >= 0.
    score : array, shape (n_documents,), optional
        Documents are sorted by score, highest first; by default they keep their order.
    k : int, optional
        Depth; by default all documents.
    max_grade : float, optional
        The highest grade of the scale, by default the highest in `relevance`. Give it to compare
        queries, because not every query has a document of the highest grade.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If there are no documents, or lengths or labels differ. If a grade is negative or above
        `max_grade`, a score is not finite, or `k` is not positive.

    See Also
    --------
    ndcg, query_metrics

    References
    ----------
    Chapelle et al., Expected reciprocal rank for graded relevance, CIKM 2009.

    Examples
    --------
    >>> import bayesrank as br
    >>> br.expected_reciprocal_rank([2, 0], max_grade=2)
    0.75
    >>> br.expected_reciprocal_rank([2, 0], [0.5, 0.5], max_grade=2)  # both orders equally likely
    0.5625
    """
    grades, starts = _ranked(relevance, score)
    depth = _depth(k, len(grades))
    top = grades.max() if max_grade is None else max_grade
    if grades.max() > top:
        raise ValueError(
            f"`max_grade` is {max_grade}, but `relevance` contains the grade {grades.max():g}."
        )
    go_on = 1 - (2.0**grades - 1) / 2.0**top
    if len(starts) == len(go_on):
        survival = np.cumprod(np.append(1.0, go_on))[: depth + 1]
    else:
        parts = [np.ones(1)]
        for start, tied in zip(starts, np.split(go_on, starts[1:]), strict=True):
            if start < depth:
                parts.append(parts[-1][-1] * _mean_products(tied, depth - start))
        survival = np.concatenate(parts)
    return float(-np.diff(survival) @ (1 / np.arange(1, depth + 1)))


def ndcg(
    relevance: ArrayLike,
    score: ArrayLike,
    *,
    k: int | None = None,
    undefined: float = 0.0,
) -> float:
    r"""Compute the normalised discounted cumulative gain, with the gain :math:`2^g - 1`.

    .. math:: DCG@k = \sum_{r=1}^k \frac{2^{g_r} - 1}{d_r}, \qquad d_r = \log_2(1 + r) \\
              NDCG@k = \frac{DCG@k}{\text{the highest possible } DCG@k}

    Parameters
    ----------
    relevance : array, shape (n_documents,)
        Grades :math:`g`, >= 0.
    score : array, shape (n_documents,)
        Documents are sorted by score, highest first.
    k : int, optional
        Depth; by default all documents.
    undefined : float
        Value if no document is relevant. LETOR uses 0; NaN leaves the query out of means.

    Returns
    -------
    float
        Between 0 and 1, or `undefined`.

    Raises
    ------
    ValueError
        As `expected_reciprocal_rank`.

    See Also
    --------
    expected_reciprocal_rank, query_metrics

    References
    ----------
    Järvelin & Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 20, 2002.

    Examples
    --------
    >>> import bayesrank as br
    >>> round(br.ndcg([0, 2, 1], [0.3, 0.9, 1.7], k=2), 4)
    0.7967
    """
    grades, starts = _ranked(relevance, score)
    depth = _depth(k, len(grades))
    if not grades.any():
        return undefined
    weight = 1 / np.log2(np.arange(2.0, len(grades) + 2))
    weight[depth:] = 0.0
    gain = 2.0**grades - 1
    sizes = np.diff(starts, append=len(grades))
    mean_gain = np.repeat(np.add.reduceat(gain, starts) / sizes, sizes)
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
) -> QueryMetrics:
    """Compute ERR and NDCG of every query of a collection, and their means.

    Parameters
    ----------
    relevance, score : list of arrays, or arrays of shape (n_rankings, n_slots)
        Grades and scores, query by query.
    where : array of bool, shape (n_rankings, n_slots), optional
        Slots in use, for arrays that are padded: ``rankings.mask``.
    labels : sequence of labels, optional
        Names of the queries: ``rankings.labels``.
    k : list of int
        Depths of NDCG. ERR uses all documents.
    max_grade : float, optional
        The highest grade of the scale; by default the highest in any query.
    undefined : float
        As in `ndcg`.

    Returns
    -------
    QueryMetrics
        ``queries`` is a DataFrame with one row per query and the columns err, ndcg@1, ...
        ``means`` is a Series.

    Raises
    ------
    ValueError
        If lengths or shapes differ, or a query is not valid; the message names the query.

    See Also
    --------
    ndcg, expected_reciprocal_rank, recommendation_metrics

    Examples
    --------
    >>> import bayesrank as br
    >>> queries, means = br.query_metrics([[0, 1], [1, 0, 2]], [[0.2, 0.9], [0.1, 0.5, 0.3]])
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
            "`relevance`, `score` and `labels` must have the same number of queries; got "
            f"{len(grades)}, {len(scores)} and {len(names)}."
        )
    if not len(grades):
        raise ValueError("There are no queries; give at least one.")
    top = (
        max(np.max(np.asarray(g), initial=0.0) for g in grades) if max_grade is None else max_grade
    )
    rows = []
    for name, g, s in zip(names, grades, scores, strict=True):
        try:
            row = {"err": expected_reciprocal_rank(g, s, max_grade=top)}
            row |= {f"ndcg@{depth}": ndcg(g, s, k=depth, undefined=undefined) for depth in k}
        except ValueError as error:
            raise ValueError(f"Query {name!r}: {error}") from None
        rows.append(row)
    queries = pd.DataFrame(rows, index=names.rename(names.name or "query"))
    return QueryMetrics(queries, queries.mean())


def _mean_products(x: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """Compute the mean product of m of the numbers `x`, over all choices, for m = 1, ..., `most`.

    These are the elementary symmetric polynomials divided by their number of terms. Adding the n-th
    number sets E[m] = ((n - m) E[m] + m x_n E[m - 1]) / n, which cannot overflow.
    """
    mean = np.zeros(min(len(x), most) + 1)
    mean[0] = 1.0
    for n, x_n in enumerate(x, start=1):
        m = np.arange(1, min(n + 1, len(mean)))
        mean[m] = ((n - m) * mean[m] + m * x_n * mean[m - 1]) / n
    return mean[1:]


def _used(values: Any, where: ArrayLike | None, name: str) -> list[NDArray[Any]]:
    """Return one array per query, without empty slots."""
    if isinstance(values, pd.DataFrame | xr.DataArray):
        raise TypeError(
            f"`{name}` is a {type(values).__name__}, and its labels would be lost. Put the items "
            f"of both in the same order, and pass {name}.to_numpy()."
        )
    if where is None:
        return list(values)
    mask, matrix = np.asarray(where, dtype=bool), np.asarray(values)
    if matrix.ndim != 2 or matrix.shape != mask.shape:
        raise ValueError(
            f"`{name}` has shape {matrix.shape}, but `where` has {mask.shape}; both must be "
            "(n_rankings, n_slots)."
        )
    return [row[used] for row, used in zip(matrix, mask, strict=True)]


def _ranked(relevance: Any, score: Any) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Sort grades by score, highest first, and find the start of each group of equal scores."""
    if isinstance(relevance, pd.Series) and isinstance(score, pd.Series):
        one, other = relevance.index, score.index
        if not one.equals(other):
            if not (one.is_unique and len(one) == len(other) and one.isin(other).all()):
                raise ValueError(
                    "`relevance` and `score` are Series with different labels. Give both the same "
                    "index, or pass arrays in the same order."
                )
            score = score.loc[one]
    grades = np.asarray(relevance, dtype=np.float64)
    if grades.ndim != 1 or not grades.size:
        raise ValueError(f"`relevance` must be a list of grades; got shape {grades.shape}.")
    bad = grades[~((grades >= 0) & np.isfinite(grades))]
    if bad.size:
        raise ValueError(f"A grade in `relevance` must be finite and >= 0; got {bad[0]}.")
    n = len(grades)
    scores = -np.arange(float(n)) if score is None else np.asarray(score, dtype=np.float64)
    if scores.shape != (n,):
        raise ValueError(
            f"`score` has shape {scores.shape}; it must be ({n},), one score for each document."
        )
    bad = scores[~np.isfinite(scores)]
    if bad.size:
        raise ValueError(f"A score must be a finite number; got {bad[0]}.")
    order = np.argsort(-scores, kind="stable")
    return grades[order], np.flatnonzero(np.diff(scores[order], prepend=np.inf))


def _depth(k: int | None, n: int) -> int:
    """Return the depth of a metric, at most n."""
    check_whole(k=n if k is None else k)
    return n if k is None else min(int(k), n)
