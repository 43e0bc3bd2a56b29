"""Functions whose values and gradients are stable at extreme inputs, on every backend."""

import math

import numpy as np
import pytensor.tensor as pt
from pytensor.tensor import TensorLike, TensorVariable

__all__ = ["log_ndtr", "log_sigmoid", "safe_log", "softplus"]


def softplus(x: TensorVariable) -> TensorVariable:
    """Return ``log(1 + exp(x))``.

    The gradient of PyTensor's softplus is NaN under `jax.grad` beyond about 700, because its JAX
    form overflows in branches that are not taken. The bounds overlap, because a clip at the switch
    point would halve the gradient there.

    Examples
    --------
    >>> softplus(pt.constant([-1000.0, 0.0, 1000.0])).eval().round(4).tolist()
    [0.0, 0.6931, 1000.0]
    """
    # without a compiler, these Ops call NumPy once, but softplus and clip once per number
    bounded = pt.minimum(pt.maximum(x, -700.0), 40.0)
    return pt.switch(x > 34, x, pt.log1p(pt.exp(bounded)))


def log_sigmoid(x: TensorVariable) -> TensorVariable:
    """Return ``-log(1 + exp(-x))``.

    Examples
    --------
    >>> log_sigmoid(pt.constant([-1000.0, 0.0, 1000.0])).eval().round(4).tolist()
    [-1000.0, -0.6931, -0.0]
    """
    return -softplus(-x)


def safe_log(x: TensorVariable) -> TensorVariable:
    """Logarithm that is -inf at zero, with a finite gradient there.

    Examples
    --------
    >>> safe_log(pt.constant([0.0, 1.0])).eval().tolist()
    [-inf, 0.0]
    """
    positive = x > 0
    return pt.switch(positive, pt.log(pt.switch(positive, x, 1.0)), -np.inf)


def log_ndtr(z: TensorLike) -> TensorVariable:
    r"""Logarithm of the standard normal distribution function, :math:`\log\Phi(z)`.

    Below -30, where :math:`\Phi` soon underflows, it is the asymptotic series of Mills' ratio, with
    an error of 2e-14. Unlike `erfcx`, the series works on every backend. Elsewhere it is as exact
    as the backend's `erfc`.

    Examples
    --------
    >>> log_ndtr([-1000.0, 0.0]).eval().round(6).tolist()
    [-500007.826695, -0.693147]
    """
    z = pt.as_tensor_variable(z)

    # Each piece is clipped outside its range, so that clipping does not affect gradients where the
    # pieces meet: log Φ(z) = −z²/2 − log(−z √2π) + log(1 − 1/z² + 3/z⁴ − 15/z⁶ + ...)
    low = pt.minimum(z, -20.0)
    s, series = 1 / low**2, 0.0
    for odd in (11, 9, 7, 5, 3, 1):
        series = -odd * s * (1 + series)
    tail = -(low**2) / 2 - pt.log(-low * math.sqrt(2 * math.pi)) + pt.log1p(series)

    left = pt.log(pt.erfc(-pt.clip(z, -35.0, 1.0) / math.sqrt(2)) / 2)
    right = pt.log1p(-pt.erfc(pt.maximum(z, -1.0) / math.sqrt(2)) / 2)
    return pt.switch(z < -30, tail, pt.switch(z < 0, left, right))
