r"""Metrics of recommendations: how well a model retrieves the held-out items of users.

Each user has *known* items, from which a model learned, and *held-out* items. Items that are not
known are *candidates*, sorted by score, highest first. Let h(r) = 1 if the item at place r is held
out. With P held-out items among N candidates, and the depth k,

.. math:: precision@k = \frac1k \sum_{r \le k} h(r), \quad recall@k = \frac1P \sum_{r \le k} h(r),
          \quad NDCG@k = \frac{\sum_{r \le k} h(r) / \log_2(1 + r)}
                             {\sum_{r \le \min(k, P)} 1 / \log_2(1 + r)},

.. math:: AUC = \frac{\#\{(i, j) : i \text{ held out}, j \text{ not}, i \succ j\}}{P (N - P)}, \quad
          RR = \frac1{\min\{r : h(r) = 1\}}, \quad
          ERR@k = \sum_{r \le k} \frac{h(r)}r 2^{-\sum_{s \le r} h(s)}.

The mean of RR over users is MRR. If each user has one held-out item, recall@k is the hit rate. If
items have **equal scores**, every metric is its exact expected value over random orders of these
items.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.stats import rankdata

from bayesrank.results.evaluation.metrics import QueryMetrics, expected_reciprocal_rank, ndcg

__all__ = ["recommendation_metrics"]

Table = NDArray[np.bool_]


def recommendation_metrics(
    scores: ArrayLike,
    held_out: Any,
    known: Any,
    *,
    k: int = 10,
    users: Iterable[Any] | None = None,
) -> QueryMetrics:
    """Compute AUC, NDCG, precision, recall, reciprocal rank and ERR of each user, and their means.

    Parameters
    ----------
    scores : array, shape (n_users, n_items)
        Items are sorted by score, highest first. Scores of known items are ignored.
    held_out, known : array or sparse array, shape (n_users, n_items)
        Ones (or True) for held-out and known items, zeros for all others.
    k : int
        Depth, from 1 to n_items.
    users : sequence of labels, optional
        Names of the users.

    Returns
    -------
    QueryMetrics
        ``queries`` is a DataFrame with one row per user. Its columns are auc, ndcg@k, precision@k,
        recall@k, mrr (the reciprocal rank of the user) and err@k. Users without held-out items have
        NaN; AUC is also NaN if all candidates are held out. ``means`` is a Series of means over the
        users with held-out items.

    Raises
    ------
    ValueError
        If shapes differ, values are not 0 or 1, or an item is both known and held out. If no user
        has a held-out item, `k` is not between 1 and n_items, or the score of a candidate is not
        finite.

    See Also
    --------
    query_metrics, Interactions, BPR

    Examples
    --------
    >>> import bayesrank as br
    >>> known, held_out = [[1, 0, 0, 0], [0, 1, 0, 0]], [[0, 0, 1, 1], [1, 0, 0, 0]]
    >>> scores = [[9.0, 0.3, 0.2, 0.7], [0.1, 9.0, 0.5, 0.4]]
    >>> br.recommendation_metrics(scores, held_out, known, k=2).queries.round(3)
          auc  ndcg@2  precision@2  recall@2    mrr  err@2
    user
    0     0.5   0.613          0.5       0.5  1.000    0.5
    1     0.0   0.000          0.0       0.0  0.333    0.0
    """
    _check_labels(scores=scores, held_out=held_out, known=known)
    wanted, seen = _zeros_and_ones(held_out, "held_out"), _zeros_and_ones(known, "known")
    values = np.asarray(scores, dtype=np.float64)
    for name, shape in (("known", seen.shape), ("scores", values.shape)):
        if shape != wanted.shape:
            raise ValueError(
                f"`{name}` has shape {shape} and `held_out` {wanted.shape}; both must be "
                "(n_users, n_items)."
            )
    n_users, n_items = wanted.shape
    names: pd.Index[Any] = pd.RangeIndex(n_users) if users is None else pd.Index(users)
    if len(names) != n_users:
        raise ValueError(
            f"`users` has {len(names)} labels; it must have one for each of the {n_users} users."
        )
    user, item = np.nonzero(wanted & seen)
    if user.size:
        raise ValueError(
            f"{user.size} items are in both `held_out` and `known`; the first is item {item[0]} of "
            f"user {names[user[0]]!r}. Known items are not ranked. Remove them from one."
        )
    if k % 1 or not 1 <= k <= n_items:
        raise ValueError(
            f"`k` is {k!r}; it must be a whole number from 1 to {n_items}, the number of items."
        )
    tested = wanted.any(axis=1)
    if not tested.any():
        raise ValueError("`held_out` contains no items; hold out at least one item of one user.")
    user, item = np.nonzero(tested[:, None] & ~seen & ~np.isfinite(values))
    if user.size:
        raise ValueError(
            f"A score must be a finite number; got {values[user[0], item[0]]} for item {item[0]} "
            f"of user {names[user[0]]!r}."
        )

    k = int(k)
    columns = ["auc", f"ndcg@{k}", f"precision@{k}", f"recall@{k}", "mrr", f"err@{k}"]
    table = np.full((n_users, len(columns)), np.nan)
    for u in np.flatnonzero(tested):
        table[u] = _metrics(values[u, ~seen[u]], wanted[u, ~seen[u]], k)
    queries = pd.DataFrame(table, names.rename(names.name or "user"), columns)
    return QueryMetrics(queries, queries.mean())


def _metrics(score: NDArray[np.float64], relevant: NDArray[np.bool_], k: int) -> list[float]:
    """Compute the metrics of one user's candidates."""
    N, P, depth = len(score), int(relevant.sum()), min(k, len(score))
    # wins and half the ties of held-out items over all candidates, minus those among themselves
    wins = float(rankdata(score)[relevant].sum()) - P * (P + 1) / 2
    auc = wins / (P * (N - P)) if P < N else np.nan
    # of the candidates that tie at place k, only some count
    cut = -np.partition(-score, depth - 1)[depth - 1]
    above, tied = score > cut, score == cut
    found = float(relevant[above].sum() + relevant[tied].mean() * (depth - above.sum()))
    gain, reciprocal = (
        ndcg(relevant, score, k=k),
        expected_reciprocal_rank(relevant, score, k=k, max_grade=1),
    )
    return [auc, gain, found / k, found / P, _reciprocal_rank(score, relevant), reciprocal]


def _reciprocal_rank(score: NDArray[np.float64], relevant: NDArray[np.bool_]) -> float:
    """Compute the mean of 1 / r, with r the place of the first hit."""
    best = score[relevant].max()
    n_above, tied = (score > best).sum(), score == best
    size, hits = tied.sum(), relevant[tied].sum()
    # P(no hit in the first t of the tied) = ∏ (1 - hits / (size - s)), s < t
    drawn = np.arange(size - hits + 1)
    none = np.cumprod(np.append(1.0, 1 - hits / (size - drawn)))
    return float(-np.diff(none) @ (1 / (n_above + 1 + drawn)))


def _check_labels(**tables: Any) -> None:
    """Raise if tables have different labels of rows or columns, or a different order."""
    framed = {name: table for name, table in tables.items() if isinstance(table, pd.DataFrame)}
    for (one, first), (other, table) in pairwise(framed.items()):
        if not (table.index.equals(first.index) and table.columns.equals(first.columns)):
            raise ValueError(
                f"`{one}` and `{other}` have different rows or columns. Pass "
                f"{other}.reindex_like({one})."
            )


def _zeros_and_ones(values: Any, name: str) -> Table:
    """Return a table (n_users, n_items) of whether each value is one."""
    is_sparse = issparse(values)
    whole = np.atleast_2d(values.toarray() if is_sparse else np.asarray(values))
    bad = whole[(whole != 0) & (whole != 1)]
    if bad.size:
        raise ValueError(
            f"`{name}` contains {bad[0]}; it must contain only 0 and 1. If these are ratings, "
            f"select the items, such as `{name}` > 0 for all of them or `{name}` >= 4."
        )
    return whole.astype(bool)
