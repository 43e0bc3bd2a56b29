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
long rankings of known ranks use `bayesrank.likelihoods.composite`, which lists the pairs there are.
"""

from collections.abc import Callable
from typing import Any

import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

from bayesrank.likelihoods.cumulative import NOTHING
from bayesrank.likelihoods.pairwise import FIRST, bradley_terry_logp
from bayesrank.likelihoods.pairwise_losses import hinge_loss

__all__ = ["expected_rank_loss", "hinge_rank_loss", "list_net_loss", "rank_net_loss"]


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
    `bayesrank.likelihoods.list_rank`.

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
