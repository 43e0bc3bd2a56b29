r"""Residual deep sets: layers that read an item and the mean of its set.

.. math:: h_i \leftarrow h_i + \phi(h_i) A_k + \frac1{|S|} \sum_{j \in S} \phi(h_j) B_k + b_k

The first h is linear in the features, and the utility is linear in the last :math:`\phi(h)`.

>>> for name, spec in deep_sets_weights(2, width=8, n_layers=1).items():
...     print(name, spec.shape)
embed_W (2, 8)
embed_b (8,)
layer_0_A (8, 8)
layer_0_B (8, 8)
layer_0_b (8,)
out_W (8,)

References: Zaheer et al., Deep sets, NeurIPS 2017 (the equivariant layer); He et al., Identity
mappings in deep residual networks, ECCV 2016 (activation before the product).
"""

from collections.abc import Mapping
from typing import Any

import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

from models.shared.networks import ACTIVATIONS, WeightSpec

__all__ = ["deep_sets_utility", "deep_sets_weights"]


def deep_sets_weights(
    n_features: int, width: int = 64, n_layers: int = 6, *, activation: str = "relu"
) -> dict[str, WeightSpec]:
    """List the weights: an embedding, residual layers, and an output.

    Each layer adds 1 / n_layers of the variance, so that depth does not change the spread.
    """
    gain = ACTIVATIONS[activation].gain
    scale = gain / (2 * width * n_layers) ** 0.5
    specs = {
        "embed_W": WeightSpec((n_features, width), ("feature", "unit"), n_features**-0.5),
        "embed_b": WeightSpec((width,), ("unit",), 1.0),
    }
    for k in range(n_layers):
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
    """Evaluate items by residual layers that use the mean of the set, as a graph.

    Parameters
    ----------
    features : tensor_like of float, (..., n_slots, n_features)
        Features of the item in each slot.
    weights : mapping of str to tensor_like
        As `deep_sets_weights` lists them.
    mask : tensor_like of bool, (..., n_slots), optional
        Slots in use. All by default.
    activation : str
        One of `ACTIVATIONS`.
    dtype : str, optional
        "float32" computes the network in single precision, for training.

    Returns
    -------
    TensorVariable, (..., n_slots)
        In double precision; zero in empty slots.

    Examples
    --------
    Here the utility of an item is its distance above the mean, or zero if it lies below:

    >>> weights = {"embed_W": [[1.0]], "embed_b": [0.0], "out_W": [1.0]}
    >>> weights |= {"layer_0_A": [[0.0]], "layer_0_B": [[-1.0]], "layer_0_b": [0.0]}
    >>> deep_sets_utility([[1.0], [2.0], [6.0]], weights).eval().tolist()
    [0.0, 0.0, 3.0]
    """
    function = ACTIVATIONS[activation].function
    x = pt.as_tensor_variable(features)
    used = pt.ones(x.shape[:-1], dtype="bool") if mask is None else pt.cast(mask, "bool")
    x = pt.switch(used[..., None], x, 0.0)  # empty slots do not reach the gradient
    w = {name: pt.cast(pt.as_tensor_variable(v), dtype or "float64") for name, v in weights.items()}

    # One row for each slot. Lengths come from the input: the length of a layer would be an
    # expression of all layers before it, which PyTensor simplifies for minutes.
    n_slots = x.shape[-2]
    n_sets = pt.prod(x.shape[:-2], dtype="int64")
    share = pt.cast(used.reshape((n_sets, n_slots, 1)), dtype or "float64")
    share = share / pt.maximum(pt.sum(share, axis=1, keepdims=True), 1)

    def mean_of_set(a: TensorVariable) -> TensorVariable:
        return pt.sum(share * a.reshape((n_sets, n_slots, -1)), axis=1)

    h = pt.dot(pt.cast(x, dtype or "float64").reshape((n_sets * n_slots, -1)), w["embed_W"])
    h = h + w["embed_b"]
    for k in range(sum(name.endswith("_A") for name in w)):
        a = function(h)
        context = pt.dot(mean_of_set(a), w[f"layer_{k}_B"]) + w[f"layer_{k}_b"]
        h = h + pt.dot(a, w[f"layer_{k}_A"]) + pt.repeat(context, n_slots, axis=0)
    utility = pt.dot(function(h), w["out_W"]).reshape(x.shape[:-1], ndim=x.ndim - 1)
    return pt.switch(used, pt.cast(utility, "float64"), 0.0)
