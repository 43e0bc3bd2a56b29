r"""Adaptive nearest neighbours: score an item by the other items of the user.

.. math:: x_{ui} = b_i + \sum_{l \in I_u^+ \setminus \{i\}} C_{il}

with symmetric correlations C of items. They are learned, under any likelihood, and not computed
from the data. The sum omits item i, because otherwise every item of the user would explain itself.

>>> have = [[True, True, False]]
>>> C = [[9.0, 1.0, 2.0], [1.0, 9.0, -3.0], [2.0, -3.0, 9.0]]
>>> neighbour_utility(C, have).eval().tolist()
[[1.0, 1.0, -1.0]]

The utilities depend on a user only through the user's items, so a new user needs no fitting.
"""

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

__all__ = ["neighbour_utility", "symmetric_correlations"]


def neighbour_utility(correlation: Any, have: Any, *, item_bias: Any = None) -> TensorVariable:
    r"""Sum the correlations of each item with the other items of each user, as a graph.

    Parameters
    ----------
    correlation : tensor_like of float, (n_items, n_items)
        Symmetric matrix C; its diagonal is ignored. `symmetric_correlations` makes one from free
        parameters.
    have : tensor_like of bool, (n_users, n_items)
        Whether the user has the item: ``interactions.to_matrix()``.
    item_bias : tensor_like of float, (n_items,), optional
        Biases b of the items, the same for all users.

    Returns
    -------
    TensorVariable, (n_users, n_items)

    References
    ----------
    Rendle et al., BPR: Bayesian personalized ranking from implicit feedback, UAI 2009, section
    4.3.2.

    Examples
    --------
    >>> neighbour_utility([[0.0, 0.5], [0.5, 0.0]], [[1, 0]], item_bias=[0.0, 1.0]).eval()
    array([[0. , 1.5]])
    """
    C, have = pt.as_tensor_variable(correlation), pt.cast(pt.as_tensor_variable(have), "float64")
    utility = have @ (C - pt.diag(pt.diagonal(C)))
    return utility if item_bias is None else utility + pt.as_tensor_variable(item_bias)


def symmetric_correlations(below: Any, n_items: int) -> TensorVariable:
    """Fill a symmetric matrix with a diagonal of zeros, as a graph.

    Parameters
    ----------
    below : tensor_like of float, (n_items (n_items - 1) / 2,)
        Entries below the diagonal, row by row: one free parameter for each pair of items.
    n_items : int
        Number of items.

    Returns
    -------
    TensorVariable, (n_items, n_items)

    Examples
    --------
    >>> symmetric_correlations([1.0, 2.0, 3.0], 3).eval()
    array([[0., 1., 2.],
           [1., 0., 3.],
           [2., 3., 0.]])
    """
    row, column = np.tril_indices(n_items, -1)
    half = pt.zeros((n_items, n_items))[row, column].set(pt.as_tensor_variable(below))
    return half + half.T
