r"""Utilities that depend on the set in which an item is presented: FATE and FETA.

FATE, "first aggregate then evaluate", scores an item given the mean of the embedded set Q. FETA,
"first evaluate then aggregate", compares it with each of the others C:

.. math:: U(x, Q) = \mathrm{score}\Bigl(x, \frac1{|Q|} \sum_{y \in Q} \varphi(y)\Bigr), \qquad
          U(x, C) = U_0(x) + \frac1{|C|} \sum_{y \in C} U_1(x, y)

FATE's cost is linear in the size of a set, and FETA's is quadratic. In the authors' program,
:math:`U_1` is a logistic function of the last layer, and therefore bounded. It sees a pair from
both sides (``mirrored``), where h is the last hidden layer:

.. math:: U_1(x, y) = \sigma(w \cdot h(x, y) + m \cdot h(y, x) + b).

References
----------
Pfannschmidt, Gupta & Hüllermeier, Deep architectures for learning context-dependent ranking
functions, arXiv:1803.05796, 2018. Their program is cs-ranking.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

from models.shared.networks import (
    WeightSpec,
    count_used,
    dense_layers,
    dense_weights,
    mean_of_set,
    padded_set,
    read_weights,
    weight,
)

__all__ = ["fate_utility", "fate_weights", "feta_utility", "feta_weights"]


def fate_weights(
    n_features: int,
    set_widths: Sequence[int] = (128, 128, 128),
    score_widths: Sequence[int] = (128, 128, 128),
    *,
    activation: str = "relu",
) -> dict[str, WeightSpec]:
    """List the weights of FATE.

    Parameters
    ----------
    n_features : int
        Number of features of an item.
    set_widths, score_widths : sequence of int
        Numbers of units of the layers of the embedding and of the score. Without embedding layers,
        the embedding is the mean of the features.
    activation : str
        One of `ACTIVATIONS`; it determines the scales.

    Returns
    -------
    dict of str to WeightSpec
        The layers ``set_0``, ``set_1``, ... and ``score_0``, ..., ``score_out``.

    Examples
    --------
    >>> [*fate_weights(2, (8,), (8,))]
    ['set_0_W', 'set_0_b', 'score_0_V', 'score_0_W', 'score_0_b', 'score_out_W']
    """
    embedding = dense_weights(
        n_features, set_widths, prefix="set", activation=activation, output=False
    )
    context = ("feature", n_features)
    if set_widths:
        context = (f"set_{len(set_widths) - 1}", set_widths[-1])
    score = dense_weights(n_features, score_widths, activation=activation, context=context)
    return embedding | score


def fate_utility(
    features: Any,
    weights: Mapping[str, Any],
    *,
    mask: Any = None,
    activation: str = "relu",
    dtype: str | None = None,
) -> TensorVariable:
    r"""Score items given the mean of the embedded set, as a graph.

    Parameters
    ----------
    features : tensor_like of float, (..., n_slots, n_features)
        Features of the item in each slot: ``rankings.features``.
    weights : mapping of str to tensor_like
        Weights as listed by `fate_weights`.
    mask : tensor_like of bool, (..., n_slots), optional
        Slots in use: ``rankings.mask``. By default, all slots.
    activation : str
        One of `ACTIVATIONS`: relu, selu, silu or tanh.
    dtype : str, optional
        "float32" halves the training time; utilities stay double. Sampling needs the default.

    Returns
    -------
    TensorVariable, (..., n_slots)
        Zero in empty slots.

    Raises
    ------
    ValueError
        If a weight is missing, is not used, or expects another number of features.

    Examples
    --------
    The utility of an item is its distance above the mean, or zero:

    >>> weights = {"score_0_W": [[1.0]], "score_0_V": [[-1.0]], "score_0_b": [0.0]}
    >>> weights["score_out_W"] = [1.0]
    >>> fate_utility([[1.0], [2.0], [6.0]], weights).eval().tolist()
    [0.0, 0.0, 3.0]
    """
    layers = partial(dense_layers, activation=activation)
    tensors = read_weights(weights, ("set", "score"), dtype)
    x, used = padded_set(features, mask, dtype)
    context = mean_of_set(layers(x, tensors, "set"), used)
    utility = layers(x, tensors, "score", context=context, output=True)
    return pt.switch(used, pt.cast(utility, "float64"), 0.0)


def feta_weights(
    n_features: int,
    item_widths: Sequence[int] | None = (128, 128, 128),
    pair_widths: Sequence[int] = (128, 128, 128),
    *,
    bounded: bool = True,
    mirrored: bool = False,
    activation: str = "relu",
) -> dict[str, WeightSpec]:
    """List the weights of FETA.

    Parameters
    ----------
    n_features, activation
        See `fate_weights`.
    item_widths : sequence of int, or None
        Numbers of units of the layers of U_0; None omits U_0.
    pair_widths : sequence of int
        Numbers of units of the layers of U_1.
    bounded : bool
        Whether U_1 is bounded. Only a bounded part has a bias in its last layer.
    mirrored : bool
        Whether U_1 sees each pair from both sides, with the weights ``pair_out_M``.

    Returns
    -------
    dict of str to WeightSpec
        The layers ``item_0``, ..., ``item_out``, and ``pair_0``, ..., ``pair_out``.

    Examples
    --------
    >>> list(feta_weights(2, None, (16,)))
    ['pair_0_V', 'pair_0_W', 'pair_0_b', 'pair_out_W', 'pair_out_b']
    """
    layers = partial(dense_weights, n_features, activation=activation)
    specs = {} if item_widths is None else layers(item_widths, prefix="item")
    specs |= layers(pair_widths, prefix="pair", context=("feature", n_features))
    if mirrored:
        if not pair_widths:
            raise ValueError(
                "`mirrored` uses the last hidden layer of a pair from both sides, but "
                "`pair_widths` has none. Add a layer, or leave out `mirrored`."
            )
        specs["pair_out_M"] = specs["pair_out_W"]
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
    r"""Compare items with each of the others and take the mean, as a graph.

    Parameters
    ----------
    features, mask, activation, dtype
        See `fate_utility`.
    weights : mapping of str to tensor_like
        Weights as listed by `feta_weights`.
    bounded : bool
        Whether U_1 lies between 0 and 1.

    Returns
    -------
    TensorVariable, (..., n_slots)
        Zero in empty slots.

    Examples
    --------
    An item gains at most 1 from worse items in its set:

    >>> weights = {"pair_out_W": [9.0], "pair_out_V": [-9.0], "pair_out_b": 0.0}
    >>> feta_utility([[1.0], [2.0], [6.0]], weights).eval().round(3).tolist()
    [0.0, 0.5, 1.0]
    """
    tensors = read_weights(weights, ("item", "pair"), dtype)
    layers = partial(dense_layers, activation=activation, output=True)
    x, used = padded_set(features, mask, dtype)
    pairs = partial(layers, x[..., :, None, :], prefix="pair", context=x[..., None, :, :])
    preference = pairs(weights=tensors)
    if "pair_out_M" in tensors:  # uses the same hidden layers, which are computed once
        mirror = pairs(weights={**tensors, "pair_out_W": tensors["pair_out_M"]})
        preference = preference + pt.swapaxes(mirror, -1, -2)
    if bounded:
        preference = pt.sigmoid(preference + weight(tensors, "pair_out_b"))
    elif "pair_out_b" in tensors:
        raise ValueError(
            "`weights` has 'pair_out_b', the bias of a bounded part. Leave it out, or set "
            "`bounded=True`."
        )

    # Mean over the others in use, by position, because JAX cannot use a computed length in a range
    position = pt.cumsum(pt.ones_like(used, dtype="int64"), axis=-1)
    is_other = pt.neq(position[..., :, None], position[..., None, :]) & used[..., None, :]
    total = pt.sum(pt.switch(is_other, preference, 0.0), axis=-1)
    utility = total / pt.cast(count_used(used, less=1), total.dtype)

    if any(name.startswith("item_") for name in tensors):
        utility = utility + layers(x, tensors, "item")
    return pt.switch(used, pt.cast(utility, "float64"), 0.0)
