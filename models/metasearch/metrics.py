r"""Metrics of a ranking of documents: NDCG, precision and average precision of every query.

Precision at k is the share of relevant documents among the first k. Average precision is its mean
over the places of the relevant documents,

.. math:: P@k = \frac1k \sum_{r \le k} y_r, \qquad AP = \frac1{\sum y} \sum_r y_r P@r .

**Equal scores** do not order documents. The metrics are expectations over the orders of tied
documents, as in `bayesrank.results.evaluation.metrics`. A query without a relevant document counts
as 0.

Two sets of metrics are in use on the collections of LETOR. Papers define NDCG with
:math:`\log_2(1 + r)`, and precision for the highest grade. Many of their tables contain the output
of LETOR's script, which gives the first two places the same weight and treats grade 1 as relevant:
``evaluate(..., **LETOR)``.

>>> precision([0, 1, 1], [0.5, 0.5, 0.1])
{'p@1': 0.5, 'p@2': 0.5, 'p@3': 0.6666666666666666, 'ap': 0.7083333333333333}

References
----------
Qin & Liu, Introducing LETOR 4.0 datasets, arXiv:1306.2597, 2013.

McSherry & Najork, Computing information retrieval performance measures efficiently in the presence
of tied scores, ECIR 2008.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from bayesrank.results import query_metrics

DEPTHS = (1, 2, 3, 4, 5)
RELEVANT = 2  # lowest grade that counts as relevant to precision, by the papers' text


class Script(TypedDict):
    """Options of `evaluate`."""

    discount: Literal["log2", "letor"]
    relevant: int


LETOR: Script = {"discount": "letor", "relevant": 1}  # what LETOR's evaluation script computes
DIGITS = 8  # of scores: rounding errors of sums do not break ties


def precision(
    relevant: ArrayLike, score: ArrayLike, depths: Sequence[int] = (1, 2, 3)
) -> dict[str, float]:
    """Compute precision at each depth, and average precision, of one query.

    Parameters
    ----------
    relevant : array of bool, shape (n_documents,)
        Which documents are relevant.
    score : array, shape (n_documents,)
        Scores of the documents: the highest comes first, and ties are in random order.
    depths : sequence of int
        Depths k of P@k. Places after the last document count as not relevant.

    Returns
    -------
    dict
        p@k for every depth k, and ap.
    """
    order = np.argsort(-np.asarray(score, float), kind="stable")
    y, s = np.asarray(relevant, float)[order], np.asarray(score, float)[order]
    place = np.arange(len(y))
    first = np.searchsorted(-s, -s)  # first place of the tie
    tied = np.searchsorted(-s, -s, side="right") - first
    total = np.concatenate([[0.0], np.cumsum(y)])
    share = (total[first + tied] - total[first]) / tied

    found = {f"p@{k}": float(share[:k].sum() / k) for k in depths}
    # expected relevant documents up to this one, if it is relevant: before the tie, before it in
    # the tie, and itself
    others = np.divide(share * tied - 1, tied - 1, out=np.zeros(len(y)), where=tied > 1)
    until = total[first] + (place - first) * others + 1
    found["ap"] = float((share * until / (place + 1)).sum() / max(total[-1], 1.0))
    return found


def script_ndcg(grades: ArrayLike, score: ArrayLike) -> dict[str, float]:
    """Compute NDCG as LETOR's script does: the first two places have the same weight.

    >>> bool(script_ndcg([1, 0, 0], [0.5, 0.9, 0.7])["ndcg@3"] == 1 / np.log2(3))
    True
    """
    s, gain = np.asarray(score, float), 2.0 ** np.asarray(grades, float) - 1
    mean = pd.Series(gain).groupby(s).transform("mean").to_numpy()[np.argsort(-s, kind="stable")]
    weight = 1 / np.log2(np.arange(1, len(s) + 1).clip(2))
    found, best = np.cumsum(mean * weight), np.cumsum(np.sort(gain)[::-1] * weight)
    share = found / best if best[-1] else np.zeros(len(s))
    return {f"ndcg@{k}": float(share[:k][-1]) for k in DEPTHS}


def evaluate(
    table: pd.DataFrame,
    score: ArrayLike,
    *,
    discount: Literal["log2", "letor"] = "log2",
    relevant: int = RELEVANT,
) -> pd.DataFrame:
    """Compute NDCG and precision at each depth, and average precision, of every query.

    Parameters
    ----------
    table : DataFrame
        Documents: columns query and label (grade of relevance).
    score : array, shape (n_documents,)
        Scores of the documents, in the order of the table.
    discount : {"log2", "letor"}
        Discount of NDCG; see `bayesrank.ndcg` and `script_ndcg`.
    relevant : int
        Lowest grade that counts as relevant to precision: 2, the highest of LETOR's, or 1, as in
        its script.

    Returns
    -------
    DataFrame
        One row per query; columns ndcg@1 to ndcg@5, p@1 to p@5 and ap.
    """
    rounded = np.asarray(score, float).round(DIGITS)
    rows = list(table.groupby("query", sort=False).indices.items())
    grades = [table["label"].to_numpy()[row] for _, row in rows]
    scores = [rounded[row] for _, row in rows]
    names = pd.Index([name for name, _ in rows], name="query")
    if discount == "letor":
        found = pd.DataFrame(list(map(script_ndcg, grades, scores)), names)
    else:
        found = query_metrics(grades, scores, labels=names, k=DEPTHS).queries.drop(columns="err")
    hits = [precision(g >= relevant, s, DEPTHS) for g, s in zip(grades, scores, strict=True)]
    return found.join(pd.DataFrame(hits, names))


def percent(tested: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Compute means over queries, in percent."""
    return pd.DataFrame({name: queries.mean() * 100 for name, queries in tested.items()}).T
