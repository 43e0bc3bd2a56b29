r"""Metrics of multilabel predictions: precision and NDCG of the first labels.

Let y = 1 for the labels of a sample, and sort labels by score, highest first. The *propensity*
:math:`p_l` of label l is the probability that a sample to which it applies was given this label.
Then

.. math:: P@k = \frac1{nk} \sum_{s=1}^n \sum_{r \le k} y_{s(r)},

.. math:: PSP@k = \frac{\sum_s \sum_{r \le k} y_{s(r)} / p_{(r)}}
                       {\max \sum_s \sum_{r \le k} y_{s(r)} / p_{(r)}},

where the maximum is over all orders. A rare label, which is easily forgotten, has a higher weight.
With :math:`d_r = 1 / \log_2(1 + r)` for place r, and :math:`n_s` labels of sample s,

.. math:: nDCG@k = \frac1n \sum_s \frac{\sum_{r \le k} y_{s(r)} d_r}{\sum_{r \le \min(k, n_s)} d_r},

.. math:: PSnDCG@k = \frac{\sum_s \sum_{r \le k} y_{s(r)} d_r / p_{(r)}}
                          {\max \sum_s \sum_{r \le k} y_{s(r)} d_r / p_{(r)}} .

Samples without labels count as misses. **Equal scores** give no order. Each metric is then its
exact expected value over random orders of the tied labels.

>>> means = multilabel_metrics([[0.9, 0.1, 0.5]], [[1, 0, 0]], k=[1, 2])
>>> means.round(3).to_dict()
{'precision@1': 1.0, 'precision@2': 0.5, 'ndcg@1': 1.0, 'ndcg@2': 1.0}
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.stats import rankdata

__all__ = ["label_propensities", "multilabel_metrics"]

CHUNK = 2**22  # scores per batch


def label_propensities(labels: Any, *, a: float = 0.55, b: float = 1.5) -> NDArray[np.float64]:
    r"""Estimate the propensities of labels from their frequencies.

    .. math:: p_l = \frac1{1 + C (N_l + b)^{-a}}, \qquad C = (\log N - 1) (b + 1)^a

    Parameters
    ----------
    labels : array or sparse array, shape (n_samples, n_labels)
        Ones for the labels of each of the N training samples.
    a, b : float
        Constants of the data, positive: 0.55 and 1.5 by default, 0.5 and 0.4 for Wikipedia, 0.6 and
        2.6 for Amazon.

    Returns
    -------
    array, shape (n_labels,)

    Raises
    ------
    ValueError
        If there are fewer than three samples, where C would not be positive.

    References
    ----------
    Jain, Prabhu & Varma, Extreme multi-label loss functions for recommendation, tagging, ranking &
    other missing label applications, KDD 2016, section 4.

    Examples
    --------
    >>> label_propensities([[1, 0], [1, 0], [1, 0], [0, 1]]).round(3).tolist()
    [0.782, 0.721]
    """
    matrix = _matrix(labels, "labels")
    n_samples = matrix.shape[0]
    if n_samples < 3:
        raise ValueError(f"`labels` has {n_samples} samples; propensities need 3 or more.")
    count = matrix.sum(axis=0)
    c = (np.log(n_samples) - 1) * (b + 1) ** a
    return np.asarray(1 / (1 + c * (count + b) ** -a))


def multilabel_metrics(
    scores: ArrayLike,
    labels: Any,
    *,
    k: Iterable[int] = (1, 3, 5, 10),
    propensities: ArrayLike | None = None,
) -> "pd.Series[float]":
    """Compute precision and NDCG of the first k labels, and both weighted by propensities.

    Parameters
    ----------
    scores : array, shape (n_samples, n_labels)
        Scores of the labels: the highest comes first.
    labels : array or sparse array, shape (n_samples, n_labels)
        Ones for the labels that each sample has.
    k : list of int
        Depths, from 1 to n_labels.
    propensities : array, shape (n_labels,), optional
        Propensities from the training data (`label_propensities`), in (0, 1].

    Returns
    -------
    Series
        ``precision@k``, ``ndcg@k`` and, with propensities, ``psp@k`` and ``psndcg@k`` for each k,
        from 0 to 1.

    Raises
    ------
    ValueError
        If shapes differ, a score is not finite, a label is neither 0 nor 1, `k` or a propensity is
        out of range, or no sample has a label.

    References
    ----------
    Jain, Prabhu & Varma, KDD 2016.

    Examples
    --------
    >>> scores, labels = [[0.9, 0.1, 0.5], [0.3, 0.2, 0.2]], [[1, 1, 0], [0, 1, 0]]
    >>> multilabel_metrics(scores, labels, k=[2], propensities=[0.5, 0.2, 1.0]).round(3).to_dict()
    {'precision@2': 0.375, 'ndcg@2': 0.464, 'psp@2': 0.375, 'psndcg@2': 0.318}
    """
    matrix, score = _matrix(labels, "labels"), np.asarray(scores)
    if score.shape != matrix.shape:
        raise ValueError(
            f"`scores` has shape {score.shape} and `labels` {matrix.shape}; both are "
            "(n_samples, n_labels)."
        )
    bad = np.argwhere(~np.isfinite(score))
    if len(bad):
        sample, label = bad[0]
        raise ValueError(
            f"A score must be a finite number; got {score[sample, label]} for label {label} of "
            f"sample {sample}."
        )
    n_samples, n_labels = matrix.shape
    depths = list(k)
    for depth in depths:
        if depth % 1 or not 1 <= depth <= n_labels:
            raise ValueError(
                f"`k` has {depth!r}; depths are whole numbers from 1 to {n_labels}, the number of "
                f"labels."
            )
    if not matrix.nnz:
        raise ValueError("No sample of `labels` has a label.")
    weight = np.ones(n_labels)
    if propensities is not None:
        weight = 1 / _propensities(propensities, n_labels)

    # gain of all places up to each, without and with a discount
    place = np.arange(1, n_labels + 1)
    counts = {"": np.append(0.0, place), "n": np.cumsum(np.append(0.0, 1 / np.log2(1 + place)))}
    hits, found, best = ({name: np.zeros(len(depths)) for name in counts} for _ in range(3))
    rows = max(1, CHUNK // n_labels)
    for start in range(0, n_samples, rows):
        y = matrix[start : start + rows].toarray().astype(float)
        at, ideal = _places(score[start : start + rows]), _places(y * weight)
        most = y.sum(axis=1).astype(np.int64)
        for name, gain in counts.items():
            scored = _top(at, y, depths, gain)
            if name == "n":
                at_best = gain[np.minimum(most[:, None], depths)]
                scored = np.divide(scored, at_best, where=at_best > 0, out=scored)
            hits[name] += scored.sum(axis=0)
            found[name] += _top(at, y * weight, depths, gain).sum(axis=0)
            best[name] += _top(ideal, y * weight, depths, gain).sum(axis=0)
    means: dict[str, float] = {}
    means |= {f"precision@{d}": x / (n_samples * d) for d, x in zip(depths, hits[""], strict=True)}
    means |= {f"ndcg@{d}": x / n_samples for d, x in zip(depths, hits["n"], strict=True)}
    if propensities is not None:
        for label, name in (("psp", ""), ("psndcg", "n")):
            ratio = found[name] / best[name]
            means |= {f"{label}@{d}": x for d, x in zip(depths, ratio, strict=True)}
    return pd.Series(means, dtype=float)


Places = tuple[NDArray[np.int64], NDArray[np.int64]]


def _places(score: NDArray[Any]) -> Places:
    """Count the labels above each label, and the labels that are not below it."""
    above, upto = (rankdata(-score, how, axis=1).astype(np.int64) for how in ("min", "max"))
    return above - 1, upto


def _top(
    at: Places, value: NDArray[np.float64], depths: list[int], gain: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Compute the expected value of the first k labels of each sample, over orders of ties."""
    above, upto = at
    sums = [gain[np.minimum(upto, k)] - gain[np.minimum(above, k)] for k in depths]
    return np.stack([np.sum(value * gains / (upto - above), axis=1) for gains in sums], axis=1)


def _matrix(labels: Any, name: str) -> csr_array:
    matrix = csr_array(labels)
    bad = matrix.data[(matrix.data != 0) & (matrix.data != 1)]
    if bad.size:
        raise ValueError(f"`{name}` must contain only 0 and 1; got {bad[0]}.")
    return matrix


def _propensities(values: ArrayLike, n_labels: int) -> NDArray[np.float64]:
    p = np.asarray(values, dtype=float)
    if p.shape != (n_labels,):
        raise ValueError(
            f"`propensities` has shape {p.shape} for {n_labels} labels; give one each."
        )
    bad = p[~((p > 0) & (p <= 1))]
    if bad.size:
        raise ValueError(f"A propensity is a probability in (0, 1]; got {bad[0]}.")
    return p
