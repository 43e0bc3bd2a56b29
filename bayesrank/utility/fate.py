r"""FATE, first aggregate then evaluate: an item is worth what it is in view of the average item.

.. math:: U(x, Q) = \mathrm{score}\Bigl(x, \frac1{|Q|} \sum_{y \in Q} \varphi(y)\Bigr)

with two networks of dense layers: :math:`\varphi` embeds each item of the set Q (all that are
presented, x too), and the score sees an item and the mean. The order of the items makes no
difference, and the set may be of any size, in training and in prediction. The cost is linear in
its size.

>>> specs = fate_weights(2, set_widths=(8,), score_widths=(8,))
>>> for name, spec in specs.items():
...     print(name, spec.shape)
set_0_W (2, 8)
set_0_b (8,)
score_0_V (8, 8)
score_0_W (2, 8)
score_0_b (8,)
score_out_W (8,)

Without context, ``score_0_V`` zero, it is `dense_utility`; without hidden layers of the score the
context adds the same to all items, and so nothing.

Reference: Pfannschmidt, Gupta & Hüllermeier, Deep architectures for learning context-dependent
ranking functions, arXiv:1803.05796, 2018.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pytensor.tensor import TensorVariable

from bayesrank.utility.dense import dense_layers, dense_output, dense_weights
from bayesrank.utility.sets import mean_of_set, padded_set, unpad
from bayesrank.utility.weights import WeightSpec, check_names, weights_in_precision

__all__ = ["fate_utility", "fate_weights"]


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
        Units of the layers of the embedding and of the score. An embedding without layers is the
        mean of the features.
    activation : str
        One of `ACTIVATIONS`, on which the scales depend.

    Returns
    -------
    dict of str to WeightSpec
        The layers ``set_0``, ``set_1``, ... and ``score_0``, ..., ``score_out``.

    Raises
    ------
    ValueError
        If a width is not positive or the activation is not known.

    Examples
    --------
    >>> import math
    >>> sum(math.prod(spec.shape) for spec in fate_weights(2).values())
    83328
    """
    embedding = dense_weights(
        n_features, set_widths, prefix="set", activation=activation, output=False
    )
    context = (f"set_{len(set_widths) - 1}", set_widths[-1]) if set_widths else None
    score = dense_weights(
        n_features,
        score_widths,
        prefix="score",
        activation=activation,
        context=context or ("feature", n_features),
    )
    return embedding | score


def fate_utility(
    features: Any,
    weights: Mapping[str, Any],
    *,
    mask: Any = None,
    activation: str = "relu",
    dtype: str | None = None,
) -> TensorVariable:
    r"""Evaluate items in view of the mean of the embedded set, as a graph.

    Parameters
    ----------
    features : tensor_like of float, (..., n_slots, n_features)
        Features of the item in each slot: ``rankings.features``.
    weights : mapping of str to tensor_like
        As `fate_weights` lists them; how many layers there are is read from the names.
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

    >>> weights = {"score_0_W": [[1.0]], "score_0_V": [[-1.0]], "score_0_b": [0.0]}
    >>> weights["score_out_W"] = [1.0]
    >>> fate_utility([[1.0], [2.0], [6.0]], weights).eval().tolist()
    [0.0, 0.0, 3.0]
    """
    check_names(weights, ("set", "score"))
    x, used = padded_set(features, mask, dtype)
    weights = weights_in_precision(weights, dtype)
    embedded = dense_layers(x, weights, "set", activation=activation)
    context = mean_of_set(embedded, used)
    utility = dense_output(x, weights, "score", activation=activation, context=context)
    return unpad(utility, used)
