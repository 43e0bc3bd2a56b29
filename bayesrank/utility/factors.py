r"""Factor models: what rankers like times what items have.

.. math:: w_{ui} = b_i + \sum_k W_{uk} H_{ik}

The bias :math:`b_i` is what all rankers agree about; the factors are what they differ in. A ranker
rates few of many items, so the utilities are gathered slot by slot: the matrix of all rankers by
all items never exists.

>>> W, H, b = [[1.0, 0.0], [0.0, 2.0]], [[3.0, 1.0], [0.0, -1.0], [0.5, 0.5]], [0.0, 0.1, 0.2]
>>> factor_utility(W, H, [[2, 0], [1, 0]], item_bias=b).eval().tolist()
[[0.7, 3.0], [-1.9, 2.0]]

The likelihood of rankings does not see a rotation of the factors, nor a factor of one table
divided out of the other: look at utilities, not at factors.
"""

from typing import Any

import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

__all__ = ["factor_utility"]


def factor_utility(
    ranker_factors: Any,
    item_factors: Any,
    item: Any,
    *,
    ranker: Any = None,
    item_bias: Any = None,
) -> TensorVariable:
    r"""Multiply factors into utilities of slots, :math:`b_i + \sum_k W_{uk} H_{ik}`, as a graph.

    Parameters
    ----------
    ranker_factors : tensor_like of float, (n_rankers, n_factors)
        Row factors W.
    item_factors : tensor_like of float, (n_items, n_factors)
        Item factors H.
    item : tensor_like of int, (n_rankings, n_slots)
        Position of the item in each slot: ``rankings.item``. Empty slots hold any item; its
        utility there means nothing.
    ranker : tensor_like of int, (n_rankings,), optional
        Position of who ranked: ``rankings.ranker_idx``. By default row n of W is that of
        ranking n.
    item_bias : tensor_like of float, (n_items,), optional
        The global part b, common to all rankers; it may itself be a function of features, such
        as a `linear_utility`.

    Returns
    -------
    TensorVariable, (n_rankings, n_slots)

    Notes
    -----
    A sum of products of gathered rows, without BLAS: a small product that BLAS shares among
    threads costs more than it gives.

    Examples
    --------
    Two rankings by one ranker of three items with a single factor:

    >>> factor_utility([[2.0]], [[1.0], [0.5], [-1.0]], [[0, 1], [1, 2]], ranker=[0, 0]).eval()
    array([[ 2.,  1.],
           [ 1., -2.]])
    """
    W, H = pt.as_tensor_variable(ranker_factors), pt.as_tensor_variable(item_factors)
    item = pt.as_tensor_variable(item)
    rows = W if ranker is None else W[pt.as_tensor_variable(ranker)]
    utility = pt.sum(rows[:, None, :] * H[item], axis=-1)
    if item_bias is not None:
        utility += pt.as_tensor_variable(item_bias)[item]
    return utility
