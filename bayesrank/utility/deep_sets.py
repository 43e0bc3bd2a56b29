r"""Deep sets with residual layers: context enters at every layer.

.. math:: h_0 = x W + b, \qquad
          h_{l+1} = h_l + a_l A_l + \bar a_l B_l + b_l, \quad a_l = \sigma(h_l), \qquad
          u = \sigma(h_L) \cdot w

where :math:`\bar a_l` is the mean over the items of the set. Each layer treats all items alike and
sees of the others their mean, so the order of the items makes no difference and the set may be of
any size; but unlike FATE's, the mean of a later layer is one of items that have seen the set. The
cost is linear in the size of the set.

>>> for name, spec in deep_sets_weights(2, width=8, n_layers=1).items():
...     print(name, spec.shape)
embed_W (2, 8)
embed_b (8,)
layer_0_A (8, 8)
layer_0_B (8, 8)
layer_0_b (8,)
out_W (8,)

References: Zaheer et al., Deep sets, NeurIPS 2017 (the equivariant layer); He et al., Identity
mappings in deep residual networks, ECCV 2016 (activation before the product, so that what a layer
adds may have any sign).
"""

from collections.abc import Mapping
from typing import Any

from pytensor.tensor import TensorVariable

from bayesrank.utility.dense import activation_of, leading_lengths, product
from bayesrank.utility.sets import mean_of_set, padded_set, unpad
from bayesrank.utility.weights import (
    WeightSpec,
    check_counts,
    check_names,
    weight,
    weights_in_precision,
)

__all__ = ["deep_sets_utility", "deep_sets_weights"]


def deep_sets_weights(
    n_features: int, width: int = 64, n_layers: int = 6, *, activation: str = "relu"
) -> dict[str, WeightSpec]:
    """List the weights of a residual DeepSets network.

    Parameters
    ----------
    n_features : int
        Number of features of an item.
    width : int
        Units of each layer.
    n_layers : int
        Number of residual layers; with none an item is worth the same in all company.
    activation : str
        One of `ACTIVATIONS`, on which the scales depend.

    Returns
    -------
    dict of str to WeightSpec
        ``embed_W``, ``embed_b``, then ``layer_0_A`` (item), ``layer_0_B`` (context) and
        ``layer_0_b``, and so on, and ``out_W``. What a layer adds is scaled down with the number
        of layers, so that depth does not change the spread of the utilities.

    Raises
    ------
    ValueError
        If a number is not positive or the activation is not known.

    Examples
    --------
    >>> deep_sets_weights(2, width=64, n_layers=4)["layer_3_B"].dims
    ('unit', 'unit_to')
    """
    gain = activation_of(activation).gain
    check_counts("n_features", [n_features])
    check_counts("width", [width])
    if n_layers:
        check_counts("n_layers", [n_layers])
    specs = {
        "embed_W": WeightSpec((n_features, width), ("feature", "unit"), n_features**-0.5),
        "embed_b": WeightSpec((width,), ("unit",), 1.0),
    }
    for k in range(n_layers):
        scale = gain / (2 * width * n_layers) ** 0.5
        for part in "AB":
            specs[f"layer_{k}_{part}"] = WeightSpec((width, width), ("unit", "unit_to"), scale)
        specs[f"layer_{k}_b"] = WeightSpec((width,), ("unit_to",), n_layers**-0.5)
    specs["out_W"] = WeightSpec((width,), ("unit",), gain / width**0.5)
    return specs


def deep_sets_utility(
    features: Any,
    weights: Mapping[str, Any],
    *,
    mask: Any = None,
    activation: str = "relu",
    dtype: str | None = None,
) -> TensorVariable:
    r"""Evaluate items by residual layers that see the mean of the set, as a graph.

    Parameters
    ----------
    features : tensor_like of float, (..., n_slots, n_features)
        Features of the item in each slot: ``rankings.features``.
    weights : mapping of str to tensor_like
        As `deep_sets_weights` lists them; how many layers there are is read from the names.
    mask : tensor_like of bool, (..., n_slots), optional
        Slots in use: ``rankings.mask``. All by default.
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

    Examples
    --------
    Worth is how far an item is above the mean, if at all:

    >>> weights = {"embed_W": [[1.0]], "embed_b": [0.0], "out_W": [1.0]}
    >>> weights |= {"layer_0_A": [[0.0]], "layer_0_B": [[-1.0]], "layer_0_b": [0.0]}
    >>> deep_sets_utility([[1.0], [2.0], [6.0]], weights).eval().tolist()
    [0.0, 0.0, 3.0]
    """
    check_names(weights, ("embed", "layer", "out"))
    function = activation_of(activation).function

    x, used = padded_set(features, mask, dtype)
    weights = weights_in_precision(weights, dtype)
    slots = leading_lengths(x)

    def times(a: TensorVariable, name: str, leading: list[Any] = slots) -> TensorVariable:
        return product(a, weight(weights, name), name, leading)

    h, k = times(x, "embed_W") + weight(weights, "embed_b"), 0
    while f"layer_{k}_A" in weights:
        a = function(h)
        context = times(mean_of_set(a, used), f"layer_{k}_B", slots[:-1])
        h = h + times(a, f"layer_{k}_A") + context + weight(weights, f"layer_{k}_b")
        k += 1
    return unpad(times(function(h), "out_W"), used)
