r"""FETA, first evaluate then aggregate: an item is worth what it is beside each of the others.

.. math:: U(x, C) = U_0(x) + \frac1{|C|} \sum_{y \in C} U_1(x, y)

where C are the other items presented. :math:`U_0` and :math:`U_1` are networks of dense layers;
without U_1 it is `dense_utility`, and so is a set of one item. The cost grows with the square of
the size of a set.

The pairwise part is bounded in the authors' program, a logistic function of the last layer: a
degree of preference of x over y between 0 and 1, as in a Borda count. Without the bound
(``bounded=False``) it can say that one rival matters more than all others together.

Preferences that turn with the company an item is in are no contradiction here. Let
:math:`U_1(a, c) = U_1(b, d) = 1` and all else be zero; then a is worth 1/2 beside b and c and
nothing beside b and d, where b is worth 1/2:

>>> import numpy as np
>>> a, b, c, d = np.eye(4)
>>> weights = {"pair_0_W": np.eye(4)[:, :2], "pair_0_V": np.eye(4)[:, 2:],
...            "pair_0_b": [-1.0, -1.0], "pair_out_W": [1.0, 1.0]}
>>> feta_utility([[a, b, c], [a, b, d]], weights, bounded=False).eval().tolist()
[[0.5, 0.0, 0.0], [0.0, 0.5, 0.0]]

Reference: Pfannschmidt, Gupta & Hüllermeier, Deep architectures for learning context-dependent
ranking functions, arXiv:1803.05796, 2018; their program is cs-ranking (its U_0 is bounded too, and
left out unless asked for; its U_1 applies one network to (x, y) and (y, x) and joins the two).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

from bayesrank.utility.dense import dense_output, dense_weights
from bayesrank.utility.sets import count_used, padded_set, unpad
from bayesrank.utility.weights import WeightSpec, check_names, weight, weights_in_precision

__all__ = ["feta_utility", "feta_weights"]


def feta_weights(
    n_features: int,
    item_widths: Sequence[int] | None = (128, 128, 128),
    pair_widths: Sequence[int] = (128, 128, 128),
    *,
    bounded: bool = True,
    activation: str = "relu",
) -> dict[str, WeightSpec]:
    """List the weights of FETA.

    Parameters
    ----------
    n_features : int
        Number of features of an item.
    item_widths : sequence of int, or None
        Units of the layers of U_0; None leaves it out.
    pair_widths : sequence of int
        Units of the layers of U_1.
    bounded : bool
        Whether U_1 is bounded. Only then it has a bias in its last layer, ``pair_out_b``.
    activation : str
        One of `ACTIVATIONS`, on which the scales depend.

    Returns
    -------
    dict of str to WeightSpec
        The layers ``item_0``, ..., ``item_out`` and ``pair_0``, ..., ``pair_out``.

    Raises
    ------
    ValueError
        If a width is not positive or the activation is not known.

    Examples
    --------
    >>> list(feta_weights(2, None, (16,)))
    ['pair_0_V', 'pair_0_W', 'pair_0_b', 'pair_out_W', 'pair_out_b']
    """
    specs: dict[str, WeightSpec] = {}
    if item_widths is not None:
        specs |= dense_weights(n_features, item_widths, prefix="item", activation=activation)
    other = ("feature", n_features)
    specs |= dense_weights(
        n_features, pair_widths, prefix="pair", activation=activation, context=other
    )
    if bounded:
        specs["pair_out_b"] = WeightSpec((), (), 1.0)
    return specs


def feta_utility(
    features: Any,
    weights: Mapping[str, Any],
    *,
    mask: Any = None,
    bounded: bool = True,
    activation: str = "relu",
    dtype: str | None = None,
) -> TensorVariable:
    r"""Evaluate items beside each of the others and take the mean, as a graph.

    Parameters
    ----------
    features : tensor_like of float, (..., n_slots, n_features)
        Features of the item in each slot: ``rankings.features``.
    weights : mapping of str to tensor_like
        As `feta_weights` lists them; how many layers there are is read from the names.
    mask : tensor_like of bool, (..., n_slots), optional
        Slots in use: ``rankings.mask``. All by default.
    bounded : bool
        Whether U_1 lies between 0 and 1.
    activation : str
        One of `ACTIVATIONS`: relu, selu, silu or tanh.
    dtype : str, optional
        "float32" computes the network in single precision, at half the time, for training; the
        utilities are double all the same. Sampling needs the default, that of the weights.

    Returns
    -------
    TensorVariable, (..., n_slots)
        Zero in empty slots, whatever stands there.

    Raises
    ------
    ValueError
        If a weight is missing, has no place, or expects another number of features.

    Notes
    -----
    The first layer of U_1 is :math:`\sigma(x W + y V + b)`: n products with W and n with V that
    broadcast, where (x, y) written side by side would be n² rows twice as long.

    Examples
    --------
    Beside items that are worse in the first feature an item gains from it, but no more than 1:

    >>> weights = {"pair_out_W": [9.0], "pair_out_V": [-9.0], "pair_out_b": 0.0}
    >>> feta_utility([[1.0], [2.0], [6.0]], weights).eval().round(3).tolist()
    [0.0, 0.5, 1.0]
    """
    check_names(weights, ("item", "pair"))
    x, used = padded_set(features, mask, dtype)
    weights = weights_in_precision(weights, dtype)
    one, other = x[..., :, None, :], x[..., None, :, :]
    beside = dense_output(one, weights, "pair", activation=activation, context=other)
    if bounded:
        beside = pt.sigmoid(beside + weight(weights, "pair_out_b"))
    elif "pair_out_b" in weights:
        raise ValueError(
            "`weights` has 'pair_out_b', the bias of a bounded pairwise part. Without the bound it "
            "would be a constant added to all utilities: leave it out, or let `bounded` be true."
        )

    # Mean over the others in use; by position, because JAX cannot count to a length it computes
    present = pt.ones_like(x[..., 0], dtype="bool") if used is None else used
    position = pt.cumsum(pt.ones_like(present, dtype="int64"), axis=-1)
    is_other = pt.neq(position[..., :, None], position[..., None, :]) & present[..., None, :]
    total = pt.sum(pt.switch(is_other, beside, 0.0), axis=-1)
    utility = total / pt.cast(count_used(present, less=1), total.dtype)

    if any(name.startswith("item_") for name in weights):
        utility = utility + dense_output(x, weights, "item", activation=activation)
    return unpad(utility, used)
