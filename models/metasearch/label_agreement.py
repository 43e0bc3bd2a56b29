r"""Estimate the adherence of rankers to known labels from judged problems.

The agreement of ranker n with the labels of problem p is the share of pairs in the same order,

.. math:: a_{pn} = 1 - K_{pn}
                 = \frac{\#\{i \succ_n j : \ell_i > \ell_j\}}
                        {\#\{i \succ_n j : \ell_i \ne \ell_j\}},

where i and j are items of p, and K is the Kendall distance. It is normalised by the number of pairs
that n orders and whose labels :math:`\ell` differ. The supervised adherence is the mean over the
problems with such a pair. It is 1 for a ranker that is always right, and 1/2 for a random ranker.

>>> matrix = [[0, 0, 2], [1, 0, 5], [0, 0, 0]]
>>> c = PairCounts.from_matrix(matrix, items=["a", "b", "c"])
>>> supervised_adherence(c, {"a": 2, "b": 1, "c": 0}).round(3).to_dict()
{'all': 0.667}
"""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bayesrank.data import PairCounts, UninformativeRankingWarning
from bayesrank.data.read import axis_index, float_array, label_repr, quoted

AT_RANDOM = 0.5  # agreement of a ranker whose preferences have nothing to do with the labels

Labels = pd.Series | Mapping[Any, float] | ArrayLike


def label_agreement(counts: PairCounts, labels: Labels) -> pd.DataFrame:
    """Agreement of every ranker with the labels of every problem: 1 - Kendall distance.

    Parameters
    ----------
    counts : PairCounts
        Preferences. A ranker prefers i to j if its count for this order is the higher one. The size
        of the difference and evidence weights do not matter.
    labels : Series or mapping from items, or array of shape (n_items,) in the order of the items
        Quality of each item; high is good. Items that `counts` lacks are ignored.

    Returns
    -------
    DataFrame
        One row per problem, one column per ranker, between 0 and 1; NaN where the ranker orders
        no two items of different labels.

    Raises
    ------
    ValueError
        If an item has no label, or its label is not a number.

    Examples
    --------
    >>> import bayesrank as br
    >>> c = br.Rankings.from_orderings([["a", "b", "c"], ["c", "a"]], rest=()).counts()
    >>> label_agreement(c, {"a": 1, "b": 1, "c": 0}).to_numpy()
    array([[1., 0.]])
    """
    label = _aligned(counts, labels)
    pairs = counts.compared()
    lead = np.sign(2 * pairs.won - pairs.compared)
    right = lead * np.sign(label[pairs.first] - label[pairs.second])

    shape = len(counts.problems), len(counts.rankers)
    cell = counts.problem_idx[pairs.first].astype(np.int64) * shape[1] + pairs.ranker_idx
    agree = np.bincount(cell, right > 0, shape[0] * shape[1])
    both = np.bincount(cell, right != 0, shape[0] * shape[1])
    share = np.divide(agree, both, out=np.full(both.shape, np.nan), where=both > 0)
    return pd.DataFrame(share.reshape(shape), counts.problems, counts.rankers)


def supervised_adherence(counts: PairCounts, labels: Labels) -> pd.Series:
    """Adherence of every ranker to labels: its mean agreement over the problems.

    Parameters
    ----------
    counts, labels
        As in `label_agreement`. For the training problems alone, use
        ``counts.subset(problems=...)``.

    Returns
    -------
    Series
        One number per ranker, between 0 and 1. Its mean omits problems in which the ranker orders
        no two items of different labels.

    Raises
    ------
    ValueError
        As `label_agreement`.

    Warns
    -----
    UninformativeRankingWarning
        If rankers order no such pair in any problem. Their adherence is 1/2, as for random order.

    References
    ----------
    Volkovs, M. N., & Zemel, R. S. (2012). A flexible generative model for preference aggregation.
    WWW, 479-488 (eq. 11).

    Examples
    --------
    >>> import bayesrank as br
    >>> c = br.Rankings.from_orderings([["a", "b", "c"], ["c", "a", "b"]], rankers=["x", "y"])
    >>> supervised_adherence(c.counts(), {"a": 2, "b": 1, "c": 0}).round(3).to_dict()
    {'x': 1.0, 'y': 0.333}
    """
    return mean_agreement(label_agreement(counts, labels))


def mean_agreement(agreement: pd.DataFrame) -> pd.Series:
    """Average the agreement of each ranker over problems, as in `supervised_adherence`.

    Parameters
    ----------
    agreement : DataFrame
        Result of `label_agreement`, or some of its rows.

    Returns
    -------
    Series
        One adherence per ranker, with the warning of `supervised_adherence`.

    Examples
    --------
    >>> mean_agreement(pd.DataFrame({"x": [1.0, 0.5], "y": [np.nan, 0.2]})).to_dict()
    {'x': 0.75, 'y': 0.2}
    """
    mean = agreement.mean(axis=0)
    silent = mean.index[mean.isna()]
    if len(silent):
        warnings.warn(
            f"{len(silent)} of the {len(mean)} rankers order no two items of different labels "
            f"({quoted(silent)}): their adherence is {AT_RANDOM}, as if they ordered at random.",
            UninformativeRankingWarning,
            stacklevel=3,
        )
    return mean.fillna(AT_RANDOM).rename("adherence")


def _aligned(counts: PairCounts, labels: Labels) -> NDArray[np.float64]:
    """Return one label per item, in the order of the items."""
    if isinstance(labels, pd.Series | Mapping):
        given = labels if isinstance(labels, pd.Series) else _series(labels)
        place = axis_index(given.index, "labels.index").get_indexer(counts.items)
        if (place < 0).any():
            item = counts.items[int(np.argmax(place < 0))]
            raise ValueError(
                f"`labels` has no label for item {label_repr(item)}: label every item, or leave "
                "its problem out with counts.subset(problems=...)."
            )
        label = float_array(given.to_numpy()[place], "labels")
    else:
        label = float_array(labels, "labels")
    if label.shape != (len(counts.items),):
        raise ValueError(
            f"`labels` has shape {label.shape}; give one label for each of the "
            f"{len(counts.items)} items."
        )
    if not np.isfinite(label).all():
        n = int(np.argmin(np.isfinite(label)))
        raise ValueError(
            f"A label must be a finite number; item {label_repr(counts.items[n])} has {label[n]}."
        )
    return label


def _series(labels: Mapping[Any, float]) -> pd.Series:
    """Make a series of a mapping; keys that are tuples stay whole."""
    return pd.Series(list(labels.values()), pd.Index(list(labels), tupleize_cols=False))
