r"""FETA, first evaluate then aggregate: an item is worth what it is beside each of the others.

.. math:: U(x, C) = U_0(x) + \frac1{|C|} \sum_{y \in C} U_1(x, y)

where C are the other items presented, the item itself not among them. :math:`U_0` and :math:`U_1`
are networks of dense layers; without U_1 it is `dense_utility`, and so is a set of one item. The
cost grows with the square of the size of a set.

That is the first-order form, eq. 5 of the paper. Of its eq. 3 the second order adds the mean over
pairs of others, at a cost that grows with the cube,

.. math:: U(x, C) = U_0(x) + \frac1{|C|} \sum_{y \in C} U_1(x, y)
          + \frac1{|C| (|C| - 1)} \sum_{y \ne z \in C} U_2(x, y, z)

in which :math:`U_2` sees the two others in either order (``triple_widths``).

The pairwise part is bounded in the authors' program, a logistic function of the last layer: a
degree of preference of x over y between 0 and 1, as in a Borda count. Without the bound
(``bounded=False``) it can say that one rival matters more than all others together. The program
also looks at a pair from both sides: its U_1 reads the last hidden layer h of one network at (x, y)
and at (y, x), by weights of their own (``mirrored``),

.. math:: U_1(x, y) = \sigma(w \cdot h(x, y) + m \cdot h(y, x) + b).

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
left out unless asked for).
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
    triple_widths: Sequence[int] | None = None,
    bounded: bool = True,
    mirrored: bool = False,
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
    triple_widths : sequence of int, optional
        Units of the layers of U_2; without it there is none.
    bounded : bool
        Whether U_1 and U_2 are bounded. Only then they have biases in their last layers,
        ``pair_out_b`` and ``triple_out_b``.
    mirrored : bool
        Whether U_1 sees each pair from both sides, by the weights ``pair_out_M``.
    activation : str
        One of `ACTIVATIONS`, on which the scales depend.

    Returns
    -------
    dict of str to WeightSpec
        The layers ``item_0``, ..., ``item_out``, ``pair_0``, ..., ``pair_out``, and ``triple_0``,
        ..., ``triple_out``.

    Raises
    ------
    ValueError
        If a width is not positive, the activation is not known, or there is no layer to mirror.

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
    if mirrored:
        if not pair_widths:
            raise ValueError(
                "`mirrored` looks at the last hidden layer of a pair from both sides, and "
                "`pair_widths` has none: give it a layer, or leave `mirrored` out."
            )
        specs["pair_out_M"] = specs["pair_out_W"]
    if bounded:
        specs["pair_out_b"] = WeightSpec((), (), 1.0)
    if triple_widths is not None:
        others = ("two_features", 2 * n_features)  # those of one other, then those of the next
        specs |= dense_weights(
            n_features, triple_widths, prefix="triple", activation=activation, context=others
        )
        if bounded:
            specs["triple_out_b"] = WeightSpec((), (), 1.0)
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
        As `feta_weights` lists them; how many layers there are, and whether pairs are mirrored, is
        read from the names.
    mask : tensor_like of bool, (..., n_slots), optional
        Slots in use: ``rankings.mask``. All by default.
    bounded : bool
        Whether U_1 and U_2 lie between 0 and 1.
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
    check_names(weights, ("item", "pair", "triple"))
    x, used = padded_set(features, mask, dtype)
    weights = weights_in_precision(weights, dtype)
    one, other = x[..., :, None, :], x[..., None, :, :]
    beside = _part(one, other, weights, "pair", bounded=bounded, activation=activation)

    # Mean over the others in use; by position, because JAX cannot count to a length it computes
    present = pt.ones_like(x[..., 0], dtype="bool") if used is None else used
    position = pt.cumsum(pt.ones_like(present, dtype="int64"), axis=-1)
    is_other = pt.neq(position[..., :, None], position[..., None, :]) & present[..., None, :]
    total = pt.sum(pt.switch(is_other, beside, 0.0), axis=-1)
    utility = total / pt.cast(count_used(present, less=1), total.dtype)

    if any(name.startswith("triple_") for name in weights):
        first, second = x[..., None, :, None, :], x[..., None, None, :, :]
        both = pt.concatenate([first + 0.0 * second, second + 0.0 * first], axis=-1)
        item = x[..., :, None, None, :]
        beside = _part(item, both, weights, "triple", bounded=bounded, activation=activation)
        differ = pt.neq(position[..., :, None], position[..., None, :])[..., None, :, :]
        are_others = is_other[..., :, :, None] & is_other[..., :, None, :] & differ
        total = pt.sum(pt.switch(are_others, beside, 0.0), axis=(-2, -1))
        pairs = count_used(present, less=1) * count_used(present, less=2)
        utility = utility + total / pt.cast(pairs, total.dtype)

    if any(name.startswith("item_") for name in weights):
        utility = utility + dense_output(x, weights, "item", activation=activation)
    return unpad(utility, used)


def _part(
    item: TensorVariable,
    others: TensorVariable,
    weights: Mapping[str, Any],
    prefix: str,
    *,
    bounded: bool,
    activation: str,
) -> TensorVariable:
    """Evaluate an item beside others, one number for each choice of them."""
    beside = dense_output(item, weights, prefix, activation=activation, context=others)
    if f"{prefix}_out_M" in weights:  # of the same hidden layers, which are computed once
        back = {**weights, f"{prefix}_out_W": weights[f"{prefix}_out_M"]}
        mirror = dense_output(item, back, prefix, activation=activation, context=others)
        beside = beside + pt.swapaxes(mirror, -1, -2)
    name = f"{prefix}_out_b"
    if bounded:
        return pt.sigmoid(beside + weight(weights, name))
    if name in weights:
        raise ValueError(
            f"`weights` has '{name}', the bias of a bounded part. Without the bound it would be a "
            f"constant added to all utilities: leave it out, or let `bounded` be true."
        )
    return beside
