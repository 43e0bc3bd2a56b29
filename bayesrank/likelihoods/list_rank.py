r"""Top-one cross-entropy of ratings and utilities: the loss of ListRank-MF.

A list of ratings makes an item the first of the list with a probability that grows with its rating,
and so does a list of utilities with what a logistic function makes of them,

.. math:: p_i = \frac{e^{R_i}}{\sum_k e^{R_k}}, \qquad
          q_i = \frac{e^{g(w_i)}}{\sum_k e^{g(w_k)}}, \qquad g(w) = \frac1{1 + e^{-w}};

the loss of the list is the cross-entropy :math:`-\sum_i p_i \log q_i`. Lists are given in one
piece, rating by rating with the index of the list, so that nothing is padded: value and gradient
cost as much as there are ratings.

>>> R, w = [1.0, 0.0, 1.0, 1.0, 0.0], [20.0, -20.0, 0.0, 0.0, 0.0]
>>> list_rank_loss(w, R, [0, 0, 1, 1, 1], n_rankings=2).eval().round(4)
array([0.5822, 1.0986])

It is no likelihood: the ratings are shares here, of a first choice that nobody made.
"""

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

__all__ = ["list_rank_loss"]


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
