r"""Dense layers as graphs, and the names and shapes of their weights.

A network turns the features of an item, and of a context c if there is one, into a number:

.. math:: h_0 = \sigma(x W_0 + c V_0 + b_0), \quad h_k = \sigma(h_{k-1} W_k + b_k), \quad
          u = h_{\mathrm{last}} \cdot w

Its weights come in as a mapping from names to tensors. `dense_weights` says which names, shapes
and scales those are, so that a model can declare each, and a test can write them down:

>>> specs = dense_weights(2, (16,), prefix="score")
>>> for name, spec in specs.items():
...     print(name, spec.shape, spec.dims)
score_0_W (2, 16) ('feature', 'score_0')
score_0_b (16,) ('score_0',)
score_out_W (16,) ('score_0',)

>>> import pymc as pm
>>> from bayesrank.utility.weights import weight_coords
>>> with pm.Model(coords=weight_coords(specs)) as model:
...     weights = {name: pm.Normal(name, 0, s.scale, dims=s.dims) for name, s in specs.items()}
...     utility = dense_utility([[0.5, 1.0], [1.0, 0.0], [0.2, 0.2]], weights)

The last layer has no bias: a constant added to all utilities of a ranking changes nothing.

Matrix products are taken of matrices, with all leading axes in one, because a product of stacks is
a loop of small products on most backends (7 times slower under numba). BLAS shares large ones among
threads: pin those where many small fits run beside each other.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

from bayesrank.utility.weights import (
    WeightSpec,
    check_counts,
    check_names,
    in_precision,
    weight,
    weights_in_precision,
)

__all__ = [
    "ACTIVATIONS",
    "Activation",
    "dense_layers",
    "dense_output",
    "dense_utility",
    "dense_weights",
]


class Activation(NamedTuple):
    """A row of `ACTIVATIONS`."""

    function: Callable[[TensorVariable], TensorVariable]
    gain: float  # what keeps a signal's size from layer to layer, times 1 / sqrt(inputs)


def _relu(x: TensorVariable) -> TensorVariable:
    return pt.maximum(x, 0.0)


# The constants of Klambauer et al., Self-normalizing neural networks, NeurIPS 2017
_SELU_SCALE, _SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


def _selu(x: TensorVariable) -> TensorVariable:
    scale, alpha = (pt.constant(c, dtype=x.dtype) for c in (_SELU_SCALE, _SELU_ALPHA))
    below = alpha * pt.expm1(pt.minimum(x, 0.0))  # the branch not taken must not overflow
    return scale * pt.switch(x > 0, x, below)


def _silu(x: TensorVariable) -> TensorVariable:
    return x * pt.sigmoid(x)


ACTIVATIONS: dict[str, Activation] = {
    "relu": Activation(_relu, 2**0.5),  # He et al., ICCV 2015
    "selu": Activation(_selu, 1.0),
    "silu": Activation(_silu, 2**0.5),
    "tanh": Activation(pt.tanh, 1.0),
}


def activation_of(name: str) -> Activation:
    """Look an activation up."""
    if name not in ACTIVATIONS:
        listed = ", ".join(repr(known) for known in ACTIVATIONS)
        raise ValueError(f"`activation` must be one of {listed}; got {name!r}.")
    return ACTIVATIONS[name]


def dense_weights(
    n_features: int,
    widths: Sequence[int],
    *,
    prefix: str = "score",
    activation: str = "relu",
    context: tuple[str, int] | None = None,
    output: bool = True,
) -> dict[str, WeightSpec]:
    """List the weights of a network of dense layers.

    Parameters
    ----------
    n_features : int
        Number of features of an item.
    widths : sequence of int
        Number of units of each hidden layer; with none the network is linear.
    prefix : str
        What the names begin with.
    activation : str
        One of `ACTIVATIONS`, on which the scales depend.
    context : (str, int), optional
        Name and length of the axis of a context, which goes into the first layer beside the item.
    output : bool
        Whether a last, linear layer makes one number of the last hidden layer.

    Returns
    -------
    dict of str to WeightSpec
        ``{prefix}_{k}_W`` and ``{prefix}_{k}_b`` of each hidden layer, ``{prefix}_out_W`` of the
        last one, and ``..._V`` of the context in the first layer there is.

    Raises
    ------
    ValueError
        If a width is not positive or the activation is not known.

    Examples
    --------
    >>> list(dense_weights(2, (8, 4), context=("set_0", 16)))
    ['score_0_V', 'score_0_W', 'score_0_b', 'score_1_W', 'score_1_b', 'score_out_W']
    >>> dense_weights(2, ())["score_out_W"].shape
    (2,)
    """
    gain = activation_of(activation).gain
    check_counts("n_features", [n_features])
    check_counts(f"{prefix}_widths", widths)
    specs: dict[str, WeightSpec] = {}
    layers: list[tuple[str, tuple[int, ...], float]]
    layers = [(f"{prefix}_{k}", (width,), gain) for k, width in enumerate(widths)]
    if output:
        layers.append((f"{prefix}_out", (), 1.0))
    n_in, dim = n_features, "feature"
    for name, units, size in layers:
        dims = (name,) if units else ()
        if context and not specs:  # the item and the context have an equal share in the signal
            size /= 2**0.5
            beside, n_beside = context
            specs[f"{name}_V"] = WeightSpec(
                (n_beside, *units), (beside, *dims), size / n_beside**0.5
            )
        specs[f"{name}_W"] = WeightSpec((n_in, *units), (dim, *dims), size / n_in**0.5)
        if units:
            specs[f"{name}_b"] = WeightSpec(units, dims, 1.0)
            n_in, dim = units[0], name
    return specs


def dense_utility(
    features: Any,
    weights: Mapping[str, Any],
    *,
    activation: str = "relu",
    dtype: str | None = None,
) -> TensorVariable:
    r"""Turn features into utilities by a network that sees one item at a time.

    Parameters
    ----------
    features : tensor_like of float, (..., n_features)
        By item, or by slot.
    weights : mapping of str to tensor_like
        As ``dense_weights(n_features, widths)`` lists them.
    activation : str
        One of `ACTIVATIONS`.
    dtype : str, optional
        "float32" computes the network in single precision, at half the time, for training; the
        utilities are double all the same. Sampling needs the default, that of the weights.

    Returns
    -------
    TensorVariable, (...)

    Raises
    ------
    ValueError
        If a weight is missing, has no place, or expects another number of features.

    Examples
    --------
    >>> weights = {"score_0_W": [[1.0, -1.0]], "score_0_b": [0.0, 0.0], "score_out_W": [1.0, 1.0]}
    >>> dense_utility([[-2.0], [3.0]], weights).eval().tolist()
    [2.0, 3.0]
    """
    check_names(weights, ("score",))
    x, weights = in_precision(features, dtype), weights_in_precision(weights, dtype)
    return pt.cast(dense_output(x, weights, "score", activation=activation), "float64")


def dense_layers(
    x: TensorVariable,
    weights: Mapping[str, Any],
    prefix: str,
    *,
    activation: str,
    context: TensorVariable | None = None,
) -> TensorVariable:
    """Apply the hidden layers whose names begin with the prefix, as many as there are.

    Parameters
    ----------
    x : TensorVariable, (..., n_in)
        What goes in.
    weights : mapping of str to tensor_like
        As `dense_weights` lists them.
    prefix : str
        Of their names.
    activation : str
        One of `ACTIVATIONS`.
    context : TensorVariable, (..., n_context), optional
        Goes into the first layer as well; its leading axes broadcast against those of `x`, and a
        context common to many items is multiplied once.

    Returns
    -------
    TensorVariable, (..., width)
        `x` itself without layers.
    """
    rows = _hidden_rows(x, weights, prefix, activation=activation, context=context)
    return _split(rows, leading_lengths(x, context))


def dense_output(
    x: TensorVariable,
    weights: Mapping[str, Any],
    prefix: str,
    *,
    activation: str,
    context: TensorVariable | None = None,
) -> TensorVariable:
    """Apply the hidden layers and then the last one, which gives one number: (..., n_in) to (...).

    The parameters are those of `dense_layers`.
    """
    if f"{prefix}_0_W" not in weights:
        return _with_context(x, weights, f"{prefix}_out", context)
    rows = _hidden_rows(x, weights, prefix, activation=activation, context=context)
    utility = pt.dot(rows, weight(weights, f"{prefix}_out_W"))
    return _split(utility, leading_lengths(x, context))


def _hidden_rows(
    x: TensorVariable,
    weights: Mapping[str, Any],
    prefix: str,
    *,
    activation: str,
    context: TensorVariable | None,
) -> TensorVariable:
    """Apply the hidden layers; all leading axes come out as one."""
    function, k = activation_of(activation).function, 0
    if context is not None and f"{prefix}_0_W" in weights:
        z = _with_context(x, weights, f"{prefix}_0", context)
        x, k = function(z + weight(weights, f"{prefix}_0_b")), 1
    x = _rows(x)
    while f"{prefix}_{k}_W" in weights:
        z = product(x, weight(weights, f"{prefix}_{k}_W"), f"{prefix}_{k}_W")
        x, k = function(z + weight(weights, f"{prefix}_{k}_b")), k + 1
    return x


def _with_context(
    x: TensorVariable, weights: Mapping[str, Any], layer: str, context: TensorVariable | None
) -> TensorVariable:
    # x W + c V, and not one product of (x, c): each is as long as it must be before they broadcast
    z = product(x, weight(weights, f"{layer}_W"), f"{layer}_W")
    if context is not None:
        z = z + product(context, weight(weights, f"{layer}_V"), f"{layer}_V")
    return z


def product(
    x: TensorVariable, W: TensorVariable, name: str, leading: Sequence[Any] | None = None
) -> TensorVariable:
    """Multiply (..., n_in) by (n_in, n_out) or (n_in,); leading axes may be known to be as long."""
    n_in, expected = x.type.shape[-1], W.type.shape[0]
    if n_in is not None and expected is not None and n_in != expected:
        raise ValueError(
            f"Weight '{name}' expects {expected} features; got {n_in}. Give the features that the "
            f"weights were made for."
        )
    ones = [axis for axis, is_one in enumerate(x.type.broadcastable[:-1]) if is_one]
    if ones and x.ndim > 2:  # left aside: joining them takes lengths that JAX would not know
        return pt.expand_dims(product(pt.squeeze(x, axis=ones), W, name, leading), ones)
    rows = pt.dot(_rows(x), W)
    return _split(rows, leading_lengths(x) if leading is None else leading)


# JAX takes no reshape to lengths that it computes but these two, and of these no empty ones
def _rows(x: TensorVariable) -> TensorVariable:
    if x.ndim == 1:
        return x[None]
    return x if x.ndim == 2 else pt.join_dims(x, 0, x.ndim - 1)


def _split(rows: TensorVariable, leading: Sequence[Any]) -> TensorVariable:
    if not leading:
        return rows[0]
    return rows if len(leading) == 1 else pt.split_dims(rows, axis=0, shape=leading)


def leading_lengths(*tensors: TensorVariable | None) -> list[Any]:
    """Lengths of all axes but the last of what the tensors broadcast to.

    Networks ask for those of what goes in and of no later layer: the length of a layer would be an
    expression of all before it, which takes PyTensor minutes and gigabytes to simplify.
    """
    lengths = []
    for axis in range(next(t for t in tensors if t is not None).ndim - 1):
        long = [t for t in tensors if t is not None and not t.type.broadcastable[axis]]
        known = [t.type.shape[axis] for t in long if t.type.shape[axis] is not None]
        lengths.append(known[0] if known else long[0].shape[axis] if long else 1)
    return lengths
