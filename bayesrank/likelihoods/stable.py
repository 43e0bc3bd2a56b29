"""Functions that keep their values and gradients at extremes, on every backend."""

import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

__all__ = ["softplus"]


def softplus(x: TensorVariable) -> TensorVariable:
    """Return ``log(1 + exp(x))``.

    PyTensor's own becomes NaN under `jax.grad` beyond 700 or so: its JAX form overflows in the
    branches that are not taken. The bounds overlap, because a bound at the point where a switch
    turns has half a gradient there.

    Examples
    --------
    >>> softplus(pt.constant([-1000.0, 0.0, 1000.0])).eval().round(4).tolist()
    [0.0, 0.6931, 1000.0]
    """
    return pt.switch(x > 34, x, pt.softplus(pt.clip(x, -700, 40)))
