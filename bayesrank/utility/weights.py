"""Weights of networks: named tensors, and what a model or a test needs to know to make them.

A network takes a mapping from names to tensors, whatever they are: constants, variables of a model,
draws of a posterior. `WeightSpec` says of each what it must be.

>>> from bayesrank.utility import fate_weights
>>> specs = fate_weights(2, set_widths=(8,), score_widths=(8,))
>>> draw_weights(specs, seed=1)["set_0_W"].shape
(2, 8)
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.tensor import TensorVariable

__all__ = ["WeightSpec", "draw_weights", "weight_coords"]


class WeightSpec(NamedTuple):
    """What a model needs to declare a weight: ``pm.Normal(name, 0, scale, dims=dims)``.

    Attributes
    ----------
    shape : tuple of int
        Lengths of its axes: inputs, then outputs.
    dims : tuple of str
        Names of its axes; `weight_coords` gives their coordinates.
    scale : float
        Standard deviation, as a prior and for starting values: about 1 / sqrt(inputs), so that
        neither the width nor the depth of a network changes the spread of its utilities much.
        Biases have 1 as a prior and start at zero (`draw_weights`).
    """

    shape: tuple[int, ...]
    dims: tuple[str, ...]
    scale: float


def weight_coords(specs: Mapping[str, WeightSpec]) -> dict[str, range]:
    """Give coordinates of all axes of weights, for ``pm.Model(coords=...)``.

    Parameters
    ----------
    specs : mapping of str to WeightSpec
        What `dense_weights`, `fate_weights` or `feta_weights` lists.

    Returns
    -------
    dict of str to range
        Put ``rankings.coords`` after it, which has the names of the features:
        ``{**weight_coords(specs), **rankings.coords}``.

    Examples
    --------
    >>> from bayesrank.utility import dense_weights
    >>> weight_coords(dense_weights(2, (16, 8)))
    {'feature': range(0, 2), 'score_0': range(0, 16), 'score_1': range(0, 8)}
    """
    return {
        dim: range(length)
        for spec in specs.values()
        for dim, length in zip(spec.dims, spec.shape, strict=True)
    }


def draw_weights(
    specs: Mapping[str, WeightSpec], seed: int | np.random.Generator
) -> dict[str, NDArray[np.float64]]:
    """Draw starting values: normal of the scale given, biases zero.

    Parameters
    ----------
    specs : mapping of str to WeightSpec
        What to draw.
    seed : int or numpy.random.Generator
        Equal seeds give equal weights.

    Returns
    -------
    dict of str to array

    Examples
    --------
    >>> from bayesrank.utility import dense_weights
    >>> {name: w.shape for name, w in draw_weights(dense_weights(2, (3,)), seed=1).items()}
    {'score_0_W': (2, 3), 'score_0_b': (3,), 'score_out_W': (3,)}
    """
    rng = np.random.default_rng(seed)
    return {
        name: np.zeros(spec.shape) if name.endswith("_b") else rng.normal(0, spec.scale, spec.shape)
        for name, spec in specs.items()
    }


def check_counts(name: str, counts: Iterable[int]) -> None:
    """Raise unless all are whole numbers above zero."""
    for count in counts:
        if not isinstance(count, int | np.integer) or count < 1:
            raise ValueError(f"`{name}` must be positive whole numbers; got {count!r}.")


def weight(weights: Mapping[str, Any], name: str) -> TensorVariable:
    """Take a weight by name."""
    if name not in weights:
        raise ValueError(f"`weights` has no '{name}'; it has {', '.join(weights) or 'none'}.")
    return pt.as_tensor_variable(weights[name])


def in_precision(x: Any, dtype: str | None) -> TensorVariable:
    """Make a tensor of it, of the precision that a network computes in: its own by default."""
    if dtype not in (None, "float32"):
        raise ValueError(
            f"`dtype` must be None or 'float32'; got {dtype!r}. It is the precision of the network "
            "alone, whose utilities are always double."
        )
    x = pt.as_tensor_variable(x)
    return x if dtype is None else pt.cast(x, dtype)


def weights_in_precision(weights: Mapping[str, Any], dtype: str | None) -> Mapping[str, Any]:
    """Cast all weights."""
    return weights if dtype is None else {k: in_precision(w, dtype) for k, w in weights.items()}


def check_names(weights: Mapping[str, Any], prefixes: tuple[str, ...]) -> None:
    """Raise if a weight belongs to no part of the network."""
    parts = tuple(f"{prefix}_" for prefix in prefixes)
    stray = [name for name in weights if not name.startswith(parts)]
    if stray:
        listed = " or ".join(f"'{part}'" for part in parts)
        raise ValueError(
            f"`weights` has '{stray[0]}', which has no place in this network: its names begin with "
            f"{listed}."
        )
