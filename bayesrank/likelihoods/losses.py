r"""Losses of whole rankings: what others minimise in place of a log-probability, as graphs.

They take ``(utility, ranks)``, (..., n_slots) both, and give one number per ranking, at least zero
unless said otherwise. `ranks` are 1 = best, equal = tied, 0 = empty slot, in any order of the
slots, and may be a tensor, such as the ranks of a minibatch.

>>> round(float(hinge_rank_loss([1.0, 0.5, 0.0], [1, 2, 3]).eval()), 4)
1.0

In a model they are potentials with a minus sign, and together with priors a penalised loss:
``pm.Potential("y", -pt.sum(hinge_rank_loss(utility, ranks)))``. With a linear utility and normal
coefficients that is the linear ranking SVM. They are no log-probabilities of rankings: LOO may not
compare them with anything.

Pairs of slots are squares here, (..., n_slots, n_slots): fit for sets of a few dozen items. For
long rankings of known ranks use `bayesrank.likelihoods.pairs.of_rankings`, which lists the pairs
there are.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

from bayesrank.likelihoods.ops.arrays import NOTHING
from bayesrank.likelihoods.pairs.graph import FIRST, SECOND, TIE, bradley_terry_logp

__all__ = [
    "attention_rank_loss",
    "expected_rank_loss",
    "exponential_loss",
    "hinge_loss",
    "hinge_rank_loss",
    "list_net_loss",
    "list_rank_loss",
    "rank_net_loss",
    "squared_loss",
]


def hinge_rank_loss(utility: Any, ranks: Any) -> TensorVariable:
    r"""Hinge ranking loss: each item should lead the items below it by one.

    .. math:: \sum_{i \succ j} \max(0, 1 - (w_i - w_j))

    Parameters
    ----------
    utility : tensor_like of float, (..., n_slots)
        Utilities w; any value in empty slots.
    ranks : tensor_like of int, (..., n_slots)
        1 = best, equal = tied (no pair), 0 = empty slot.

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
    return _sum_of_pairs(hinge_loss, utility, ranks)


def rank_net_loss(utility: Any, ranks: Any) -> TensorVariable:
    r"""RankNet: minus the log-probability of all pairs, each as if compared by itself.

    .. math:: \sum_{i \succ j} \log(1 + e^{w_j - w_i})

    Parameters
    ----------
    utility : tensor_like of float, (..., n_slots)
        Utilities w; any value in empty slots.
    ranks : tensor_like of int, (..., n_slots)
        1 = best, equal = tied (no pair), 0 = empty slot.

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
    return _sum_of_pairs(lambda *pair: -bradley_terry_logp(*pair), utility, ranks)


def _sum_of_pairs(
    loss: Callable[[Any, Any, Any], TensorVariable], utility: Any, ranks: Any
) -> TensorVariable:
    ranks, above, w = _above(utility, ranks)
    # nothing that stands in empty slots reaches a loss or its gradient
    terms = loss(w[..., :, None], w[..., None, :], FIRST)
    return pt.sum(pt.switch(above, terms, 0.0), axis=(-2, -1))


def _above(utility: Any, ranks: Any) -> tuple[TensorVariable, TensorVariable, TensorVariable]:
    """Ranks, whether the first of two slots is above the second, utilities without padding."""
    ranks = pt.as_tensor_variable(ranks)
    first, second = ranks[..., :, None], ranks[..., None, :]
    above = (first > 0) & (first < second)
    return ranks, above, pt.switch(ranks > 0, pt.as_tensor_variable(utility), 0.0)


def list_net_loss(utility: Any, ranks: Any, *, k: int = 1) -> TensorVariable:
    r"""ListNet: cross-entropy of the first k choices, the ranking having been certain.

    .. math:: -\sum_{i:\, r_i \le k} \log \frac{e^{w_i}}{\sum_{j:\, r_j \ge r_i} e^{w_j}}

    Parameters
    ----------
    utility : tensor_like of float, (..., n_slots)
        Utilities w; any value in empty slots.
    ranks : tensor_like of int, (..., n_slots)
        1 = best, equal = tied, 0 = empty slot.
    k : int
        Number of ranks that count, positive. At least the number of items less one: all, which is
        ListMLE.

    Returns
    -------
    TensorVariable, (...)
        Without ties minus the log-probability of the first k under Plackett-Luce. Items that are
        tied are each chosen from all that are not above them, so a ranking of one block of n costs
        at least n log n, and with ties this is a bound only; `plackett_luce_logp` is exact.

    Raises
    ------
    ValueError
        If `k` is not positive.

    Notes
    -----
    The loss for graded lists, in which every item has a share in being first, is
    `bayesrank.likelihoods.losses`.

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
    utility : tensor_like of float, (..., n_slots)
        Utilities w; any value in empty slots.
    ranks : tensor_like of int, (..., n_slots)
        1 = best, equal = tied, 0 = empty slot.

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


def attention_rank_loss(utility: Any, ranks: Any, labels: Any = None) -> TensorVariable:
    r"""AttRank: cross-entropy of the shares of attention that labels and utilities ask for.

    .. math:: -\sum_i p_i \log q_i, \qquad p_i = \frac{e^{l_i}}{\sum_j e^{l_j}}, \quad
              q_i = \frac{e^{w_i}}{\sum_j e^{w_j}}

    Parameters
    ----------
    utility : tensor_like of float, (..., n_slots)
        Utilities w; any value in empty slots.
    ranks : tensor_like of int, (..., n_slots)
        1 = best, equal = tied, 0 = empty slot.
    labels : tensor_like of float, (..., n_slots), optional
        Grades l; any value in empty slots. By default the number of blocks below, :math:`M - r_i`.

    Returns
    -------
    TensorVariable, (...)
        At least the entropy of p; 0 for a ranking without items.

    Notes
    -----
    Over rankings of the same items it has its minimum where the shares q are the mean of the p. Of
    ratings, with bounded utilities, it is `bayesrank.likelihoods.losses`.

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


def _towards_winner(first: Any, second: Any, outcome: Any) -> tuple[TensorVariable, TensorVariable]:
    """Lead of the winner (of the first item in a tie), and the outcome as a tensor."""
    outcome = pt.as_tensor_variable(outcome)
    lead = pt.as_tensor_variable(first) - pt.as_tensor_variable(second)
    return pt.switch(pt.eq(outcome, SECOND), -lead, lead), outcome


def hinge_loss(utility_first: Any, utility_second: Any, outcome: Any) -> TensorVariable:
    r"""Hinge loss :math:`\max(0, 1 - d)` of the winner's lead :math:`d`: linear ranking SVM.

    Parameters
    ----------
    utility_first, utility_second : tensor_like of float
        Utilities of the two items.
    outcome : tensor_like of int
        0 = first wins, 1 = second wins, 2 = tie, which costs nothing.

    Returns
    -------
    TensorVariable
        One number per pair, >= 0.

    References
    ----------
    Joachims, Optimizing search engines using clickthrough data, KDD 2002.

    Examples
    --------
    >>> hinge_loss([2.0, 0.25, 0.0], 0.0, [0, 0, 1]).eval().tolist()
    [0.0, 0.75, 1.0]
    """
    towards, outcome = _towards_winner(utility_first, utility_second, outcome)
    return pt.switch(pt.eq(outcome, TIE), 0.0, pt.maximum(1 - towards, 0.0))


def squared_loss(utility_first: Any, utility_second: Any, outcome: Any) -> TensorVariable:
    r"""Squared loss :math:`(y - d)^2` with y = 1 (first wins), -1 (second) or 0 (tie).

    Rank regression on pairs.

    Parameters
    ----------
    utility_first, utility_second : tensor_like of float
        Utilities of the two items.
    outcome : tensor_like of int
        0 = first wins, 1 = second wins, 2 = tie.

    Returns
    -------
    TensorVariable
        One number per pair, >= 0.

    References
    ----------
    Cossock & Zhang, Statistical analysis of Bayes optimal subset ranking, IEEE Transactions on
    Information Theory 54, 2008.

    Examples
    --------
    >>> squared_loss(0.5, 0.0, [0, 1, 2]).eval().tolist()
    [0.25, 2.25, 0.25]
    """
    towards, outcome = _towards_winner(utility_first, utility_second, outcome)
    return (pt.switch(pt.eq(outcome, TIE), 0.0, 1.0) - towards) ** 2


def exponential_loss(utility_first: Any, utility_second: Any, outcome: Any) -> TensorVariable:
    r"""Exponential loss :math:`e^{-d}` of the winner's lead :math:`d`: RankBoost.

    Parameters
    ----------
    utility_first, utility_second : tensor_like of float
        Utilities of the two items.
    outcome : tensor_like of int
        0 = first wins, 1 = second wins, 2 = tie, which costs nothing.

    Returns
    -------
    TensorVariable
        One number per pair, >= 0; inf where the loser leads by more than 709, for the number is
        too large for double precision.

    References
    ----------
    Freund et al., An efficient boosting algorithm for combining preferences, JMLR 4, 2003.

    Examples
    --------
    >>> [round(float(loss), 4) for loss in exponential_loss(0.0, 1.0, [0, 1, 2]).eval()]
    [2.7183, 0.3679, 0.0]
    """
    towards, outcome = _towards_winner(utility_first, utility_second, outcome)
    tie = pt.eq(outcome, TIE)
    return pt.switch(tie, 0.0, pt.exp(-pt.switch(tie, 0.0, towards)))


def list_rank_loss(utility: Any, rating: Any, ranking: Any, *, n_rankings: Any) -> TensorVariable:
    r"""Cross-entropy between top-one probabilities of ratings and of :math:`g` of utilities.

    .. math:: L_n = -\sum_{i \in n} \frac{e^{R_i}}{\sum_{k \in n} e^{R_k}}
              \log \frac{e^{g(w_i)}}{\sum_{k \in n} e^{g(w_k)}}, \qquad
              \frac{\partial L_n}{\partial w_i} = (q_i - p_i) \, g'(w_i)

    Parameters
    ----------
    utility : tensor_like of float, (n_ratings,)
        Utilities w; any size, for g lies between 0 and 1.
    rating : tensor_like of float, (n_ratings,)
        Ratings R, within 700 of 0. Probabilities q cannot differ by more than a factor of e, which
        those of ratings between 0 and 1 do not either.
    ranking : tensor_like of int, (n_ratings,)
        The list of each rating, 0 to n_rankings - 1, in any order.
    n_rankings : int
        Number of lists.

    Returns
    -------
    TensorVariable, (n_rankings,)
        At least the entropy of p; 0 of a list without ratings.

    References
    ----------
    Shi, Y., Larson, M., & Hanjalic, A. (2010). List-wise learning to rank with matrix factorization
    for collaborative filtering. RecSys, 269-272.

    Examples
    --------
    >>> list_rank_loss([0.0, 0.0], [1.0, 0.2], [0, 0], n_rankings=1).eval().round(4)
    array([0.6931])
    """
    w, R = pt.as_tensor_variable(utility), pt.as_tensor_variable(rating)
    ranking = pt.as_tensor_variable(ranking)

    def sums(x: Any) -> TensorVariable:
        # not pt.zeros, which is weakly typed under JAX: sums would end up in single precision
        return pt.alloc(np.zeros(1), n_rankings)[ranking].inc(x)

    # -∑ p log q = log ∑ e^g - ∑ p g, as ∑ p = 1
    g, worth = pt.sigmoid(w), pt.exp(R)
    total = sums(pt.exp(g))
    empty = pt.eq(total, 0)
    return pt.log(pt.switch(empty, 1.0, total)) - sums(worth * g) / pt.switch(
        empty, 1.0, sums(worth)
    )
