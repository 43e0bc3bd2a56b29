r"""Linear utilities of features, and factor models.

.. math:: w_i = \sum_f x_{if}\, \beta_f, \qquad w_{ui} = b_i + \sum_k W_{uk} H_{ik}

There is no intercept, because adding a constant to all utilities of a ranking changes nothing. The
likelihood does not identify rotations of the factors, so interpret utilities and not factors. Both
functions use sums of products: BLAS would run matrix products in threads that compete with chains.
"""

from typing import Any

import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

__all__ = ["factor_utility", "linear_utility"]


def linear_utility(features: Any, coefficient: Any) -> TensorVariable:
    r"""Compute linear utilities of features, :math:`w = \sum_f x_f \beta_f`, as a graph.

    Parameters
    ----------
    features : tensor_like of float, (..., n_features)
        Features by item, (n_items, n_features), or by slot, (n_rankings, n_slots, n_features).
    coefficient : tensor_like of float, (..., n_features)
        Change of utility per unit of each feature.

    Returns
    -------
    TensorVariable, (...)

    Examples
    --------
    >>> linear_utility([[1.0, 0.5], [0.0, 2.0]], [3.0, -1.0]).eval().tolist()
    [2.5, -2.0]
    """
    return pt.sum(pt.as_tensor_variable(features) * pt.as_tensor_variable(coefficient), axis=-1)


def factor_utility(
    ranker_factors: Any,
    item_factors: Any,
    item: Any,
    *,
    ranker: Any = None,
    item_bias: Any = None,
) -> TensorVariable:
    r"""Compute utilities of slots from factors, :math:`b_i + \sum_k W_{uk} H_{ik}`, as a graph.

    Utilities are computed slot by slot, without a matrix of all rankers by all items.

    Parameters
    ----------
    ranker_factors : tensor_like of float, (n_rankers, n_factors)
        Factors W of the rankers.
    item_factors : tensor_like of float, (n_items, n_factors)
        Factors H of the items.
    item : tensor_like of int, (n_rankings, n_slots)
        Position of the item in each slot: ``rankings.item``. Positions in empty slots are ignored.
    ranker : tensor_like of int, (n_rankings,), optional
        Position of the ranker: ``rankings.ranker_idx``. By default, row n of W belongs to ranking
        n.
    item_bias : tensor_like of float, (n_items,), optional
        Utility b common to all rankers; it may be a `linear_utility` of features.

    Returns
    -------
    TensorVariable, (n_rankings, n_slots)

    Examples
    --------
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
