r"""Utilities that depend on the set in which an item is presented: FATE and FETA.

FATE, "first aggregate then evaluate", scores an item given the mean of the embedded set Q. FETA,
"first evaluate then aggregate", compares it with each of the others C:

.. math:: U(x, Q) = \mathrm{score}\Bigl(x, \frac1{|Q|} \sum_{y \in Q} \varphi(y)\Bigr), \qquad
          U(x, C) = U_0(x) + \frac1{|C|} \sum_{y \in C} U_1(x, y)

FATE's cost is linear in the size of a set, and FETA's is quadratic. FETA's second order (eq. 3 of
the paper) adds the mean of :math:`U_2(x, y, z)` over pairs of other items, at a cubic cost. In the
authors' program, :math:`U_1` is a logistic function of the last layer, and therefore bounded. It
sees a pair from both sides (``mirrored``), where h is the last hidden layer:

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

from bayesrank.utility.networks import (
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
    triple_widths: Sequence[int] | None = None,
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
    triple_widths : sequence of int, optional
        Numbers of units of the layers of U_2; by default, U_2 is omitted.
    bounded : bool
        Whether U_1 and U_2 are bounded. Only bounded parts have biases in their last layers.
    mirrored : bool
        Whether U_1 sees each pair from both sides, with the weights ``pair_out_M``.

    Returns
    -------
    dict of str to WeightSpec
        The layers ``item_0``, ..., ``item_out``, and the layers of ``pair`` and ``triple``.

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
    if triple_widths is not None:
        others = ("two_features", 2 * n_features)  # features of one other item, then of the next
        specs |= layers(triple_widths, prefix="triple", context=others)
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
    r"""Compare items with each of the others and take the mean, as a graph.

    Parameters
    ----------
    features, mask, activation, dtype
        See `fate_utility`.
    weights : mapping of str to tensor_like
        Weights as listed by `feta_weights`.
    bounded : bool
        Whether U_1 and U_2 lie between 0 and 1.

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
    tensors = read_weights(weights, ("item", "pair", "triple"), dtype)
    layers = partial(dense_layers, weights=tensors, activation=activation, output=True)
    x, used = padded_set(features, mask, dtype)
    one, other = x[..., :, None, :], x[..., None, :, :]
    preference = _preference(layers, one, other, "pair", bounded)

    # Mean over the others in use, by position, because JAX cannot use a computed length in a range
    position = pt.cumsum(pt.ones_like(used, dtype="int64"), axis=-1)
    differ = pt.neq(position[..., :, None], position[..., None, :])
    is_other = differ & used[..., None, :]
    total = pt.sum(pt.switch(is_other, preference, 0.0), axis=-1)
    utility = total / pt.cast(count_used(used, less=1), total.dtype)

    if any(name.startswith("triple_") for name in tensors):
        first, second = x[..., None, :, None, :], x[..., None, None, :, :]
        both = pt.concatenate([first + 0.0 * second, second + 0.0 * first], axis=-1)
        preference = _preference(layers, x[..., :, None, None, :], both, "triple", bounded)
        are_others = is_other[..., :, :, None] & is_other[..., :, None, :]
        are_others &= differ[..., None, :, :]
        total = pt.sum(pt.switch(are_others, preference, 0.0), axis=(-2, -1))
        pairs = count_used(used, less=1) * count_used(used, less=2)
        utility = utility + total / pt.cast(pairs, total.dtype)

    if any(name.startswith("item_") for name in tensors):
        utility = utility + layers(x, prefix="item")
    return pt.switch(used, pt.cast(utility, "float64"), 0.0)


def _preference(
    layers: Any, item: TensorVariable, others: TensorVariable, prefix: str, bounded: bool
) -> TensorVariable:
    """Compare an item with others; return one number for each choice of others."""
    weights = layers.keywords["weights"]
    preference = layers(item, prefix=prefix, context=others)
    if f"{prefix}_out_M" in weights:  # uses the same hidden layers, which are computed once
        back = {**weights, f"{prefix}_out_W": weights[f"{prefix}_out_M"]}
        mirror = layers(item, weights=back, prefix=prefix, context=others)
        preference = preference + pt.swapaxes(mirror, -1, -2)
    name = f"{prefix}_out_b"
    if bounded:
        return pt.sigmoid(preference + weight(weights, name))
    if name in weights:
        raise ValueError(
            f"`weights` has '{name}', the bias of a bounded part. Leave it out, or set "
            "`bounded=True`."
        )
    return preference
