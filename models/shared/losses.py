r"""Losses of whole rankings as graphs: objectives used instead of a log-probability.

All are called as ``loss(utility, ranks, *, ...)``, with two arrays of shape (..., n_slots). They
return one number per ranking, at least zero unless stated otherwise. In `ranks`, 1 = best, equal =
tied and 0 = empty slot. Slots may be in any order. `ranks` may be a tensor, as for a minibatch.

>>> round(float(hinge_rank_loss([1.0, 0.5, 0.0], [1, 2, 3]).eval()), 4)
1.0

=======================  =====================================  =========================
loss                     uses                                   further keywords
=======================  =====================================  =========================
`hinge_rank_loss`        pairs: the winner should lead by one   ``pairs``
`rank_net_loss`          pairs: minus the log-probability       ``pairs``
`exponential_rank_loss`  pairs: RankBoost                       ``pairs``
`squared_rank_loss`      pairs, ties too: leads as numbers      ``pairs``
`list_net_loss`          lists: the first choices               ``k``
`expected_rank_loss`     lists: places as numbers
`attention_rank_loss`    lists: shares of attention             ``labels``
`list_rank_loss`         lists: shares of bounded utilities     ``labels``, ``segments``
=======================  =====================================  =========================

In a model, use them as potentials with a minus sign. Together with priors, this is a penalised
loss: ``pm.Potential("y", -pt.sum(hinge_rank_loss(utility, ranks)))``. With a linear utility and
normal coefficients, it is the linear ranking SVM. These losses are not log-probabilities of
rankings, so LOO cannot compare them.

By default, pairs of slots are squares, (..., n_slots, n_slots), which suits sets of a few dozen
items. For long rankings with known ranks, pass the pairs that
`models.shared.pairs_of_rankings.weak_order_pairs` lists:

>>> from models.shared.pairs_of_rankings import weak_order_pairs
>>> ranks = [[1, 2, 3], [2, 1, 0]]
>>> loss = hinge_rank_loss([[1.0, 0.5, 0.0]] * 2, ranks, pairs=weak_order_pairs(ranks))
>>> loss.eval().tolist()
[1.0, 1.5]
"""

from collections.abc import Callable
from typing import Any

import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

from bayesrank.likelihoods.ops import NOTHING, segment_sum, softplus
from bayesrank.likelihoods.pairs import SECOND, TIE
from models.shared.pairs_of_rankings import WeakOrderPairs

__all__ = [
    "attention_rank_loss",
    "expected_rank_loss",
    "exponential_rank_loss",
    "hinge_rank_loss",
    "list_net_loss",
    "list_rank_loss",
    "rank_net_loss",
    "squared_rank_loss",
]


# ---------------------------------------------------------------------------------------------
# Pairs
# ---------------------------------------------------------------------------------------------


def hinge_rank_loss(
    utility: Any, ranks: Any, *, pairs: WeakOrderPairs | None = None
) -> TensorVariable:
    r"""Hinge ranking loss: each item should lead the items below it by one.

    .. math:: \sum_{i \succ j} \max(0, 1 - (w_i - w_j))

    Parameters
    ----------
    utility : tensor_like of float, (..., n_slots)
        Utilities w; any value in empty slots.
    ranks : tensor_like of int, (..., n_slots)
        1 = best, equal = tied (no pair), 0 = empty slot.
    pairs : WeakOrderPairs, optional
        The pairs of a matrix of ranks, which then are not looked at; ties cost nothing.

    Returns
    -------
    TensorVariable, (...)
        Zero for a ranking without pairs. The authors of FATE take the mean over the pairs.

    References
    ----------
    Joachims, Optimizing search engines using clickthrough data, KDD 2002; Pfannschmidt, Gupta &
    Hüllermeier, arXiv:1803.05796.

    Examples
    --------
    >>> hinge_rank_loss([[0.0, 2.0], [0.0, 2.0]], [[1, 2], [2, 1]]).eval().tolist()
    [3.0, 0.0]
    """
    return _sum_of_pairs(lambda lead: pt.maximum(1 - lead, 0.0), utility, ranks, pairs)


def rank_net_loss(
    utility: Any, ranks: Any, *, pairs: WeakOrderPairs | None = None
) -> TensorVariable:
    r"""RankNet: minus the log-probability of all pairs, each as a separate comparison.

    .. math:: \sum_{i \succ j} \log(1 + e^{w_j - w_i})

    Parameters
    ----------
    utility, ranks, pairs
        As in `hinge_rank_loss`.

    Returns
    -------
    TensorVariable, (...)
        Zero for a ranking without pairs.

    References
    ----------
    Burges et al., Learning to rank using gradient descent, ICML 2005.

    Examples
    --------
    >>> rank_net_loss([[0.0, 0.0, 9.0]], [[1, 2, 0]]).eval().round(4).tolist()
    [0.6931]
    """
    return _sum_of_pairs(lambda lead: softplus(-lead), utility, ranks, pairs)


def exponential_rank_loss(
    utility: Any, ranks: Any, *, pairs: WeakOrderPairs | None = None
) -> TensorVariable:
    r"""RankBoost: the exponential of how far each item is behind one that it should lead.

    .. math:: \sum_{i \succ j} e^{w_j - w_i}

    Parameters
    ----------
    utility, ranks, pairs
        As in `hinge_rank_loss`.

    Returns
    -------
    TensorVariable, (...)
        inf where an item is more than 709 behind, for the number is too large for double precision.

    References
    ----------
    Freund et al., An efficient boosting algorithm for combining preferences, JMLR 4, 2003.

    Examples
    --------
    >>> exponential_rank_loss([[0.0, 1.0], [0.0, 1.0]], [[1, 2], [2, 1]]).eval().round(4).tolist()
    [2.7183, 0.3679]
    """
    return _sum_of_pairs(lambda lead: pt.exp(-lead), utility, ranks, pairs)


def squared_rank_loss(
    utility: Any, ranks: Any, *, pairs: WeakOrderPairs | None = None
) -> TensorVariable:
    r"""Regress on pairs: leads should be one, or zero for tied items.

    .. math:: \sum_{i \succ j} (1 - (w_i - w_j))^2 + \sum_{i < j,\, i \sim j} (w_i - w_j)^2

    Parameters
    ----------
    utility, ranks
        As in `hinge_rank_loss`.
    pairs : WeakOrderPairs, optional
        The pairs of a matrix of ranks, which then are not looked at; those that are tied may be
        among them or not.

    Returns
    -------
    TensorVariable, (...)
        Zero for a ranking without pairs.

    References
    ----------
    Cossock & Zhang, Statistical analysis of Bayes optimal subset ranking, IEEE Transactions on
    Information Theory 54, 2008.

    Examples
    --------
    >>> squared_rank_loss([[0.5, 0.0]] * 3, [[1, 2], [2, 1], [1, 1]]).eval().tolist()
    [0.25, 2.25, 0.25]
    """

    def squares(lead: TensorVariable) -> TensorVariable:
        return lead**2

    return _sum_of_pairs(lambda lead: squares(1.0 - lead), utility, ranks, pairs, tie_loss=squares)


Loss = Callable[[TensorVariable], TensorVariable]


def _sum_of_pairs(
    lead_loss: Loss,
    utility: Any,
    ranks: Any,
    pairs: WeakOrderPairs | None,
    *,
    tie_loss: Loss | None = None,
) -> TensorVariable:
    """Sum a loss of the winner's lead over the pairs of each ranking, and one of ties."""
    if pairs is not None:
        return _sum_of_listed_pairs(lead_loss, utility, pairs, tie_loss)
    ranks, above, w = _above(utility, ranks)
    # nothing that stands in empty slots reaches a loss or its gradient
    lead = w[..., :, None] - w[..., None, :]
    terms = pt.switch(above, lead_loss(pt.switch(above, lead, 0.0)), 0.0)
    if tie_loss is not None:
        tied = (ranks[..., :, None] > 0) & pt.eq(ranks[..., :, None], ranks[..., None, :])
        terms += pt.switch(tied, 0.5 * tie_loss(lead), 0.0)  # each pair stands there twice
    return pt.sum(terms, axis=(-2, -1))


def _sum_of_listed_pairs(
    lead_loss: Loss, utility: Any, pairs: WeakOrderPairs, tie_loss: Loss | None
) -> TensorVariable:
    w = pt.as_tensor_variable(utility)
    ranking, first, second, outcome = (pt.as_tensor_variable(x) for x in pairs)
    lead, tie = w[ranking, first] - w[ranking, second], pt.eq(outcome, TIE)
    lead = pt.switch(pt.eq(outcome, SECOND), -lead, lead)
    # as above, a tie does not reach the loss of pairs that are none
    decided = lead_loss(pt.switch(tie, 0.0, lead))
    terms = pt.switch(tie, 0.0 if tie_loss is None else tie_loss(lead), decided)
    return segment_sum(terms, (ranking,), (w.shape[0],))


def _above(utility: Any, ranks: Any) -> tuple[TensorVariable, TensorVariable, TensorVariable]:
    """Ranks, whether the first of two slots is above the second, utilities without padding."""
    ranks = pt.as_tensor_variable(ranks)
    first, second = ranks[..., :, None], ranks[..., None, :]
    above = (first > 0) & (first < second)
    return ranks, above, pt.switch(ranks > 0, pt.as_tensor_variable(utility), 0.0)


# ---------------------------------------------------------------------------------------------
# Lists
# ---------------------------------------------------------------------------------------------


def list_net_loss(utility: Any, ranks: Any, *, k: int = 1) -> TensorVariable:
    r"""ListNet: cross-entropy of the first k choices, given the observed ranking.

    .. math:: -\sum_{i:\, r_i \le k} \log \frac{e^{w_i}}{\sum_{j:\, r_j \ge r_i} e^{w_j}}

    Parameters
    ----------
    utility, ranks
        As in `hinge_rank_loss`.
    k : int
        Number of ranks that count, positive. At least the number of items less one: all, which is
        ListMLE.

    Returns
    -------
    TensorVariable, (...)
        Without ties minus the log-probability of the first k under Plackett-Luce. Items that are
        tied are each chosen from all that are not above them, so a ranking of one block of n costs
        at least n log n, and with ties this is a bound only; `weak_order_logp` is exact.

    Raises
    ------
    ValueError
        If `k` is not positive.

    Notes
    -----
    The losses for graded lists, in which every item has a share in being first, are
    `attention_rank_loss` and `list_rank_loss`.

    References
    ----------
    Cao et al., Learning to rank: from pairwise approach to listwise approach, ICML 2007.

    Examples
    --------
    >>> list_net_loss([[0.0, 0.0, 0.0]], [[2, 1, 3]]).eval().round(4).tolist()  # log 3
    [1.0986]
    >>> list_net_loss([[0.0, 0.0, 0.0]], [[2, 1, 3]], k=2).eval().round(4).tolist()  # log 6
    [1.7918]
    """
    if k < 1:
        raise ValueError(f"`k` must be a positive number of ranks; got {k!r}.")
    ranks, _, w = _above(utility, ranks)
    choose = (ranks > 0) & (ranks <= k)
    left = (ranks[..., :, None] > 0) & (ranks[..., :, None] <= ranks[..., None, :])
    among = pt.switch(left, w[..., None, :], NOTHING)
    best = pt.max(among, axis=-1, keepdims=True)
    # exponentials of nothing but what is at most 0: sums neither overflow nor vanish
    total = pt.sum(pt.exp(pt.switch(left, among - best, NOTHING)), axis=-1)
    total = pt.log(pt.switch(choose, total, 1.0)) + best[..., 0]
    return pt.sum(pt.switch(choose, total - w, 0.0), axis=-1)


def expected_rank_loss(utility: Any, ranks: Any) -> TensorVariable:
    r"""Regress on expected ranks: squared distance of the utilities from expected places.

    .. math:: \sum_i \Bigl(w_i + \frac{p_i}{n + 1} - \frac12\Bigr)^2

    where :math:`p_i` is the place of item i among the n that are ranked, the mean place of the
    items tied with it. An item in place p of n random ones is expected at the fraction p / (n + 1)
    of all there are. The sum of the targets of a ranking is zero: unlike in other losses a constant
    added to all utilities does change this one, so features should be centred.

    Parameters
    ----------
    utility, ranks
        As in `hinge_rank_loss`.

    Returns
    -------
    TensorVariable, (...)

    References
    ----------
    Kamishima, Kazawa & Akaho, A survey and empirical comparison of object ranking methods, in
    Preference Learning, Springer 2010.

    Examples
    --------
    >>> expected_rank_loss([0.25, 0.0, 0.0], [1, 2, 3]).eval().round(4).tolist()
    0.0625
    """
    ranks, above, w = _above(utility, ranks)
    used = ranks > 0
    tied = pt.eq(ranks[..., :, None], ranks[..., None, :])  # with itself, too
    place = pt.sum(above, axis=-2) + (pt.sum(tied, axis=-1) + 1) / 2
    target = 0.5 - place / (pt.sum(used, axis=-1, keepdims=True) + 1)
    return pt.sum(pt.switch(used, (w - target) ** 2, 0.0), axis=-1)


def attention_rank_loss(utility: Any, ranks: Any, *, labels: Any = None) -> TensorVariable:
    r"""AttRank: cross-entropy of the shares of attention of labels and utilities.

    .. math:: -\sum_i p_i \log q_i, \qquad p_i = \frac{e^{l_i}}{\sum_j e^{l_j}}, \quad
              q_i = \frac{e^{w_i}}{\sum_j e^{w_j}}

    Parameters
    ----------
    utility, ranks
        As in `hinge_rank_loss`.
    labels : tensor_like of float, (..., n_slots), optional
        Grades l; any value in empty slots. By default the number of blocks below, :math:`M - r_i`.

    Returns
    -------
    TensorVariable, (...)
        At least the entropy of p; 0 for a ranking without items.

    Notes
    -----
    Over rankings of the same items it has its minimum where the shares q are the mean of the p. Of
    ratings, with bounded utilities, it is `list_rank_loss`.

    References
    ----------
    Ai et al., Learning a deep listwise context model for ranking refinement, SIGIR 2018.

    Examples
    --------
    >>> attention_rank_loss([[0.0, 0.0, 9.0]], [[1, 2, 0]]).eval().round(4).tolist()  # log 2
    [0.6931]
    """
    ranks = pt.as_tensor_variable(ranks)
    used = ranks > 0
    if labels is None:
        labels = pt.max(ranks, axis=-1, keepdims=True) - ranks
    w, grade = (
        pt.switch(used, pt.cast(pt.as_tensor_variable(x), "float64"), NOTHING)
        for x in (utility, labels)
    )
    share = pt.exp(grade - pt.max(grade, axis=-1, keepdims=True))
    share = share / pt.sum(share, axis=-1, keepdims=True)
    best = pt.max(w, axis=-1, keepdims=True)
    log_q = w - best - pt.log(pt.sum(pt.exp(w - best), axis=-1, keepdims=True))
    return pt.sum(pt.switch(used, -share * log_q, 0.0), axis=-1)


def list_rank_loss(
    utility: Any, ranks: Any, *, labels: Any, segments: Any = None, n_rankings: Any = None
) -> TensorVariable:
    r"""ListRank: `attention_rank_loss` of utilities that a logistic function bounds.

    .. math:: L_n = -\sum_{i \in n} \frac{e^{l_i}}{\sum_{k \in n} e^{l_k}}
              \log \frac{e^{g(w_i)}}{\sum_{k \in n} e^{g(w_k)}}, \qquad
              \frac{\partial L_n}{\partial w_i} = (q_i - p_i) \, g'(w_i)

    with :math:`g(w) = 1 / (1 + e^{-w})`, the shares p those of the labels and q the others.

    Parameters
    ----------
    utility : tensor_like of float, (..., n_slots)
        Utilities w; any value in empty slots, and any size, for g lies between 0 and 1.
    ranks : tensor_like of int, (..., n_slots)
        1 = best, equal = tied, 0 = empty slot; of the others only the labels count.
    labels : tensor_like of float, (..., n_slots)
        Grades l, such as ratings, within 700 of 0; any value in empty slots. Probabilities q cannot
        differ by more than a factor of e, which those of labels between 0 and 1 do not either.
    segments : tensor_like of int, (n_entries,), optional
        The ranking of each entry, 0 to n_rankings - 1, in any order: then `utility`, `ranks` and
        `labels` are (n_entries,), without empty slots, and long rankings make short ones no longer.
    n_rankings : int, optional
        Number of rankings, with `segments`.

    Returns
    -------
    TensorVariable, (...) or (n_rankings,)
        At least the entropy of p; 0 of a ranking without items.

    Raises
    ------
    ValueError
        If only one of `segments` and `n_rankings` is given.

    References
    ----------
    Shi, Y., Larson, M., & Hanjalic, A. (2010). List-wise learning to rank with matrix factorization
    for collaborative filtering. RecSys, 269-272.

    Examples
    --------
    >>> list_rank_loss([[0.0, 0.0, 9.0]], [[1, 2, 0]], labels=[[1.0, 0.2, 0.0]]).eval().round(4)
    array([0.6931])
    """
    if (segments is None) != (n_rankings is None):
        raise ValueError("`segments` and `n_rankings` belong together: give both, or neither.")
    w, grade = pt.as_tensor_variable(utility), pt.as_tensor_variable(labels)
    if segments is None:
        used = pt.as_tensor_variable(ranks) > 0
        w, grade = pt.switch(used, w, 0.0), pt.switch(used, grade, 0.0)
    else:
        segments = pt.as_tensor_variable(segments)

    def sums(x: TensorVariable) -> TensorVariable:
        if segments is None:
            return pt.sum(pt.switch(used, x, 0.0), axis=-1)
        return segment_sum(x, (segments,), (n_rankings,))

    # -∑ p log q = log ∑ e^g - ∑ p g, as ∑ p = 1
    g, worth = pt.sigmoid(w), pt.exp(grade)
    total = sums(pt.exp(g))
    empty = pt.eq(total, 0)
    return pt.log(pt.switch(empty, 1.0, total)) - sums(worth * g) / pt.switch(
        empty, 1.0, sums(worth)
    )
