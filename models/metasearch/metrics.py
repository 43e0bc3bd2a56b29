r"""What a ranking of documents is worth: NDCG, precision and average precision of every query.

Precision at k is the share of relevant documents among the first k, and average precision its mean
over the places of the relevant documents,

.. math:: P@k = \frac1k \sum_{r \le k} y_r, \qquad AP = \frac1{\sum y} \sum_r y_r P@r .

**Equal scores** are no order: the metrics are expectations over the orders of tied documents, as
those of `bayesrank.results.metrics` are. A query without a relevant document counts as 0.

>>> precision([0, 1, 1], [0.5, 0.5, 0.1])
{'p@1': 0.5, 'p@2': 0.5, 'p@3': 0.6666666666666666, 'ap': 0.7083333333333333}

References
----------
McSherry & Najork, Computing information retrieval performance measures efficiently in the presence
of tied scores, ECIR 2008.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from bayesrank.results import query_metrics

DEPTHS = (1, 2, 3, 4, 5)
RELEVANT = 2  # grade from which a document counts as relevant to precision
DIGITS = 8  # of scores: documents that nothing tells apart are tied, however sums are rounded


def precision(
    relevant: ArrayLike, score: ArrayLike, depths: Sequence[int] = (1, 2, 3)
) -> dict[str, float]:
    """Precision at each depth, and average precision, of one query.

    Parameters
    ----------
    relevant : array of bool, shape (n_documents,)
        Which documents are relevant.
    score : array, shape (n_documents,)
        What they are ordered by, highest first; ties are at random.
    depths : sequence of int
        Places beyond the last document hold nothing relevant.

    Returns
    -------
    dict
        p@k for every depth k, and ap.
    """
    order = np.argsort(-np.asarray(score, float), kind="stable")
    y, s = np.asarray(relevant, float)[order], np.asarray(score, float)[order]
    place = np.arange(len(y))
    first = np.searchsorted(-s, -s)  # place of the first that is tied with this one
    tied = np.searchsorted(-s, -s, side="right") - first
    total = np.concatenate([[0.0], np.cumsum(y)])
    share = (total[first + tied] - total[first]) / tied

    found = {f"p@{k}": float(share[:k].sum() / k) for k in depths}
    # given that this one is relevant: those before the tie, those before it in the tie, itself
    others = np.divide(share * tied - 1, tied - 1, out=np.zeros(len(y)), where=tied > 1)
    until = total[first] + (place - first) * others + 1
    found["ap"] = float((share * until / (place + 1)).sum() / max(total[-1], 1.0))
    return found


def evaluate(table: pd.DataFrame, score: ArrayLike) -> pd.DataFrame:
    """NDCG and precision at each depth, and average precision, of every query.

    Parameters
    ----------
    table : DataFrame
        Documents: columns query and label (grade of relevance). The grade that counts as relevant
        to precision is 2: LETOR's lower grades do not.
    score : array, shape (n_documents,)
        In the order of the table.

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
    gain = query_metrics(grades, scores, labels=names, k=DEPTHS).queries.drop(columns="err")
    hits = [precision(g >= RELEVANT, s, DEPTHS) for g, s in zip(grades, scores, strict=True)]
    return gain.join(pd.DataFrame(hits, names))
