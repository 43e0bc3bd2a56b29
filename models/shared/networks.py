r"""Networks as graphs: names, shapes and scales of weights, dense layers, and padded sets.

A network maps the features of an item, and of a context c if there is one, to a number:

.. math:: h_0 = \sigma(x W_0 + c V_0 + b_0), \quad h_k = \sigma(h_{k-1} W_k + b_k), \quad
          u = h_{\mathrm{last}} \cdot w

Weights are a mapping from names to tensors. `dense_weights` lists names and shapes:

>>> import pymc as pm
>>> specs = dense_weights(2, (16,))
>>> specs["score_0_W"].shape, specs["score_0_W"].dims
((2, 16), ('feature', 'score_0'))
>>> with pm.Model(coords=weight_coords(specs)) as model:
...     weights = {name: pm.Normal(name, 0, s.scale, dims=s.dims) for name, s in specs.items()}
...     utility = dense_utility([[0.5, 1.0], [1.0, 0.0], [0.2, 0.2]], weights)

The last layer has no bias, because adding a constant to all utilities of a ranking changes nothing.
Leading axes are joined before a matrix product, because most backends loop over stacked products.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.tensor import TensorVariable

__all__ = [
    "ACTIVATIONS",
    "Activation",
    "WeightSpec",
    "dense_layers",
    "dense_utility",
    "dense_weights",
    "draw_weights",
    "weight_coords",
]


class WeightSpec(NamedTuple):
    """The specification of a weight, for ``pm.Normal(name, 0, scale, dims=dims)``."""

    shape: tuple[int, ...]  # inputs, then outputs
    dims: tuple[str, ...]
    scale: (
        float  # about 1 / sqrt(inputs), so that the spread of utilities hardly depends on the shape
    )


def weight_coords(specs: Mapping[str, WeightSpec]) -> dict[str, range]:
    """Return coordinates of weights, for ``pm.Model(coords={**weight_coords(specs), ...})``.

    >>> weight_coords(dense_weights(2, (16, 8)))
    {'feature': range(0, 2), 'score_0': range(0, 16), 'score_1': range(0, 8)}
    """
    return {
        dim: range(length)
        for spec in specs.values()
        for dim, length in zip(spec.dims, spec.shape, strict=True)
    }


def draw_weights(
    specs: Mapping[str, WeightSpec], random_seed: int | np.random.Generator
) -> dict[str, NDArray[np.float64]]:
    """Draw starting values by name: normal with the scales of the specs; biases are zero.

    >>> {name: w.shape for name, w in draw_weights(dense_weights(2, (3,)), random_seed=1).items()}
    {'score_0_W': (2, 3), 'score_0_b': (3,), 'score_out_W': (3,)}
    """
    rng = np.random.default_rng(random_seed)
    return {
        name: np.zeros(spec.shape) if name.endswith("_b") else rng.normal(0, spec.scale, spec.shape)
        for name, spec in specs.items()
    }


def check_counts(name: str, counts: Iterable[int]) -> None:
    """Raise unless all counts are positive whole numbers."""
    for count in counts:
        if not isinstance(count, int | np.integer) or count < 1:
            raise ValueError(f"`{name}` must be positive whole numbers; got {count!r}.")


def weight(weights: Mapping[str, Any], name: str) -> TensorVariable:
    """Return a weight by name."""
    if name not in weights:
        raise ValueError(f"`weights` has no '{name}'; it has {', '.join(weights) or 'none'}.")
    return pt.as_tensor_variable(weights[name])


def in_precision(x: Any, dtype: str | None) -> TensorVariable:
    """Convert to a tensor with the precision of the network."""
    if dtype not in (None, "float32"):
        raise ValueError(
            f"`dtype` must be None or 'float32'; got {dtype!r}. It sets the precision inside "
            "the network; utilities are always double."
        )
    x = pt.as_tensor_variable(x)
    return x if dtype is None else pt.cast(x, dtype)


def read_weights(
    weights: Mapping[str, Any], prefixes: tuple[str, ...], dtype: str | None
) -> dict[str, TensorVariable]:
    """Convert all weights to tensors; raise for names that the network does not use."""
    parts = tuple(f"{prefix}_" for prefix in prefixes)
    stray = [name for name in weights if not name.startswith(parts)]
    if stray:
        listed = " or ".join(f"'{part}'" for part in parts)
        raise ValueError(
            f"`weights` has '{stray[0]}', which this network does not use; its names begin with "
            f"{listed}."
        )
    return {name: in_precision(value, dtype) for name, value in weights.items()}


class Activation(NamedTuple):
    """A row of `ACTIVATIONS`."""

    function: Callable[[TensorVariable], TensorVariable]
    gain: float  # scale of weights times sqrt(inputs) that preserves the variance of a signal


def _selu(x: TensorVariable) -> TensorVariable:
    """Klambauer et al., Self-normalizing neural networks, NeurIPS 2017."""
    scale, alpha = (pt.constant(c, dtype=x.dtype) for c in (1.0507009873554805, 1.6732632423543772))
    below = alpha * pt.expm1(pt.minimum(x, 0.0))  # the branch not taken must not overflow
    return scale * pt.switch(x > 0, x, below)


ACTIVATIONS: dict[str, Activation] = {
    "relu": Activation(lambda x: pt.maximum(x, 0.0), 2**0.5),  # He et al., ICCV 2015
    "selu": Activation(_selu, 1.0),
    "silu": Activation(lambda x: x * pt.sigmoid(x), 2**0.5),
    "tanh": Activation(pt.tanh, 1.0),
}


def activation_of(name: str) -> Activation:
    """Look up an activation."""
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
        Number of units of each hidden layer. An empty sequence makes the network linear.
    prefix : str
        Prefix of the names.
    activation : str
        One of `ACTIVATIONS`; it determines the scales.
    context : (str, int), optional
        Name and length of the axis of a context, which is an input of the first layer.
    output : bool
        Whether to add a last, linear layer with one output.

    Returns
    -------
    dict of str to WeightSpec
        ``{prefix}_{k}_W`` and ``{prefix}_{k}_b`` of hidden layers, ``{prefix}_out_W``, and
        ``..._V`` of the context in the first layer.

    Examples
    --------
    >>> list(dense_weights(2, (8, 4), context=("set_0", 16)))
    ['score_0_V', 'score_0_W', 'score_0_b', 'score_1_W', 'score_1_b', 'score_out_W']
    """
    gain = activation_of(activation).gain
    check_counts("n_features", [n_features])
    check_counts(f"{prefix}_widths", widths)
    specs: dict[str, WeightSpec] = {}
    layers = [(f"{prefix}_{k}", (int(width),), gain) for k, width in enumerate(widths)]
    if output:
        layers.append((f"{prefix}_out", (), 1.0))  # type: ignore[arg-type]
    n_in, dim = n_features, "feature"
    for name, units, size in layers:
        dims = (name,) if units else ()
        if context and not specs:  # the item and the context contribute equally to the signal
            size /= 2**0.5
            axis, n = context
            specs[f"{name}_V"] = WeightSpec((n, *units), (axis, *dims), size / n**0.5)
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
    r"""Compute utilities from features by a network that sees one item at a time.

    Parameters
    ----------
    features : tensor_like of float, (..., n_features)
        Features by item or by slot.
    weights : mapping of str to tensor_like
        Weights as listed by ``dense_weights(n_features, widths)``.
    activation : str
        One of `ACTIVATIONS`.
    dtype : str, optional
        "float32" halves the training time; utilities stay double. Sampling needs the default.

    Returns
    -------
    TensorVariable, (...)

    Examples
    --------
    >>> weights = {"score_0_W": [[1.0, -1.0]], "score_0_b": [0.0, 0.0], "score_out_W": [1.0, 1.0]}
    >>> dense_utility([[-2.0], [3.0]], weights).eval().tolist()
    [2.0, 3.0]
    """
    x, tensors = in_precision(features, dtype), read_weights(weights, ("score",), dtype)
    return pt.cast(dense_layers(x, tensors, "score", activation=activation, output=True), "float64")


def dense_layers(
    x: TensorVariable,
    weights: Mapping[str, Any],
    prefix: str,
    *,
    activation: str,
    context: TensorVariable | None = None,
    output: bool = False,
) -> TensorVariable:
    """Apply the hidden layers whose names begin with the prefix: (..., n_in) to (..., width).

    A context (..., n_context) is an input of the first layer as well; its leading axes broadcast
    against those of `x`. With `output`, the last layer has one output, (...).
    """
    if output and f"{prefix}_0_W" not in weights:
        return _with_context(x, weights, f"{prefix}_out", context)
    leading, function, k = _leading_lengths(x, context), activation_of(activation).function, 0
    if context is not None and f"{prefix}_0_W" in weights:
        z = _with_context(x, weights, f"{prefix}_0", context)
        x, k = function(z + weight(weights, f"{prefix}_0_b")), 1
    rows = _rows(x)
    while f"{prefix}_{k}_W" in weights:
        z = _product(rows, weights, f"{prefix}_{k}_W")
        rows, k = function(z + weight(weights, f"{prefix}_{k}_b")), k + 1
    if output:
        rows = pt.dot(rows, weight(weights, f"{prefix}_out_W"))
    return _split(rows, leading)


def _with_context(
    x: TensorVariable, weights: Mapping[str, Any], layer: str, context: TensorVariable | None
) -> TensorVariable:
    # x W + c V instead of one product of (x, c), to multiply a shared context only once
    z = _product(x, weights, f"{layer}_W")
    return z if context is None else z + _product(context, weights, f"{layer}_V")


def _product(x: TensorVariable, weights: Mapping[str, Any], name: str) -> TensorVariable:
    """Multiply (..., n_in) by a weight (n_in, n_out) or (n_in,)."""
    W = weight(weights, name)
    n_in, expected = x.type.shape[-1], W.type.shape[0]
    if n_in is not None and expected is not None and n_in != expected:
        raise ValueError(
            f"Weight '{name}' expects {expected} features; got {n_in}. Pass the features for "
            "which the weights were created."
        )
    ones = [axis for axis, is_one in enumerate(x.type.broadcastable[:-1]) if is_one]
    if ones and x.ndim > 2:  # without axes of length one: JAX would not know the joined lengths
        return pt.expand_dims(_product(pt.squeeze(x, axis=ones), weights, name), ones)
    return _split(pt.dot(_rows(x), W), _leading_lengths(x))


# Of all reshapes to computed lengths, JAX supports only these two, and only without empty axes
def _rows(x: TensorVariable) -> TensorVariable:
    if x.ndim == 1:
        return x[None]
    return x if x.ndim == 2 else pt.join_dims(x, 0, x.ndim - 1)


def _split(rows: TensorVariable, leading: Sequence[Any]) -> TensorVariable:
    if not leading:
        return rows[0]
    return rows if len(leading) == 1 else pt.split_dims(rows, axis=0, shape=leading)


def _leading_lengths(*tensors: TensorVariable | None) -> list[Any]:
    """Return the broadcast lengths of all axes except the last.

    Pass only the inputs of the network: the length of a layer is an expression of all earlier
    layers, which PyTensor would simplify for minutes.
    """
    lengths = []
    for axis in range(next(t for t in tensors if t is not None).ndim - 1):
        long = [t for t in tensors if t is not None and not t.type.broadcastable[axis]]
        known = [t.type.shape[axis] for t in long if t.type.shape[axis] is not None]
        lengths.append(known[0] if known else long[0].shape[axis] if long else 1)
    return lengths


def padded_set(
    features: Any, mask: Any, dtype: str | None = None
) -> tuple[TensorVariable, TensorVariable]:
    """Set the features of empty slots to zero, because NaN would reach the gradient."""
    x = in_precision(features, dtype)
    used = pt.ones_like(x[..., 0], dtype="bool") if mask is None else pt.cast(mask, "bool")
    return pt.switch(used[..., None], x, 0.0), used


def mean_of_set(h: TensorVariable, used: TensorVariable) -> TensorVariable:
    """Average over the slots in use, (..., n_slots, n) to (..., 1, n)."""
    total = pt.sum(pt.switch(used[..., None], h, 0.0), axis=-2, keepdims=True)
    return total / pt.cast(count_used(used)[..., None], h.dtype)


def count_used(used: TensorVariable, less: int = 0) -> TensorVariable:
    """Count the slots in use minus `less`, at least one: (..., n_slots) to (..., 1)."""
    return pt.maximum(pt.sum(used, axis=-1, keepdims=True) - less, 1)
