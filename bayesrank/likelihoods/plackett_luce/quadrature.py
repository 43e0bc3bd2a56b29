r"""The stage integral: the probability that a block comes before everything below it.

Under Plackett-Luce, a block :math:`S` of items in unknown order precedes a remainder :math:`R` with
probability (Ma et al. 2021, eq. 4)

.. math:: P(S > R) = \int_0^1 \prod_{i \in S} (1 - u^{a_i})\, du,
          \qquad a_i = e^{w_i}, \quad w_i = \text{utility}_i - \log \sum_{j \in R} \text{worth}_j .

With :math:`u = \exp(-e^y)` the integrand becomes

.. math:: g(y) = \exp(y - e^y) \prod_i (1 - \exp(-a_i e^y)),

which is log-concave with one mode and analytic in the strip :math:`|\Im y| < \pi/2`. The
trapezoidal rule on a window around the mode therefore converges geometrically in the number of
nodes.

There are two equivalent implementations:

* `block_logp` builds a PyTensor graph with a fixed number of stretched nodes, for JAX.
* `bayesrank.likelihoods.plackett_luce.block_kernel` is a numba function with adaptive nodes. It
  returns the value and the gradient in one pass, in memory linear in the block.

Both clip :math:`w` to [-40, 60] and add :math:`\sum_i \min(w_i+40, 0)` to the result. This is exact
in double precision, because a factor is linear in :math:`a_i` below -40 and one above 60. Therefore
a slot with w = 60 contributes nothing; padding uses this value.

>>> float(block_logp([0.0, 0.0], ([0, 0],), (1,)).exp().eval()[0].round(6))
0.333333
"""

import math

import numpy as np
import pytensor.tensor as pt
from pytensor.tensor import TensorLike, TensorVariable

from bayesrank.likelihoods.ops.arrays import Index, Shape, segment_sum
from bayesrank.likelihoods.ops.stop_gradient import stop_gradient

__all__ = ["LOWEST", "PADDING", "block_logp"]

LOWEST = -40.0  # below, 1 - exp(-a t) = a t to the last digit
PADDING = 60.0  # above, 1 - exp(-a t) = 1 to the last digit


def block_logp(w: TensorLike, index: Index, shape: Shape, *, nodes: int = 48) -> TensorVariable:
    r"""Log-probability of each block over its remainder, by quadrature in the graph.

    Parameters
    ----------
    w : tensor_like of float, (*entries)
        Utility of each item in a block minus the logsumexp of its remainder; values from 60
        (`PADDING`) on are padding.
    index : tuple of tensor_like of int, (*entries)
        Coordinates of the block of each entry.
    shape : tuple of int or scalar tensor
        Shape of the blocks. A block without entries has probability one, up to quadrature error.
    nodes : int
        Nodes per block. With 48, the error in log P is 2e-11 up to 15 items and 7e-7 at 800.

    Returns
    -------
    TensorVariable, (*shape)
        ``log P(S > R)``.

    References
    ----------
    Ma et al., Learning-to-rank with partitioned preference, AISTATS 2021, eq. 4.

    Examples
    --------
    >>> float(block_logp([0.0, 0.0, 60.0], ([0, 0, 0],), (1,)).exp().eval()[0].round(6))
    0.333333
    """
    w, index = pt.as_tensor_variable(w), tuple(pt.as_tensor_variable(i) for i in index)
    a = pt.exp(pt.clip(w, LOWEST, PADDING))
    y, log_weight = _nodes(stop_gradient(a), index, shape, nodes)

    # log g(y) = y − e^y + Σ_i log(1 − exp(−a_i e^y))
    t = a[..., None] * pt.exp(y)[index]
    log_g = y - pt.exp(y) + segment_sum(pt.log(-pt.expm1(-t)), index, shape)

    terms = log_g + log_weight
    peak = stop_gradient(pt.max(terms, axis=-1, keepdims=True))
    log_integral = peak[..., 0] + pt.log(pt.sum(pt.exp(terms - peak), axis=-1))
    return log_integral + segment_sum(pt.minimum(w - LOWEST, 0.0), index, shape)


def _nodes(
    a: TensorVariable, index: Index, shape: Shape, nodes: int, drop: float = 23.0
) -> tuple[TensorVariable, TensorVariable]:
    """Nodes and log weights (*shape, nodes) where log g is within `drop` of its maximum."""

    def total(entries: TensorVariable) -> TensorVariable:
        return segment_sum(entries, index, shape)

    # Mode in z = e^y: G(z) = 1 − z + Σ r(a_i z) = 0, r(x) = x/expm1(x). r is convex and decreasing,
    # so Newton's method from z = 1 increases monotonically to the root.
    z = pt.alloc(np.ones((1,) * len(shape)), *shape)
    for _ in range(4):
        x = a * z[index]
        r = _bose(x)
        z = z - (1 - z + total(r)) / (total(r * (1 - x - r)) / z - 1)
    z = pt.maximum(z, 1.0)
    log_z = pt.log(z)

    # Window: conservative bounds by concavity, then one Newton step on log g for the left end
    c = drop / z
    right = log_z + pt.log1p(c + pt.sqrt(2 * c))
    d = c + pt.sqrt(2 * c)
    for _ in range(2):
        d = c + 1 - pt.exp(-d)
    left = log_z - d
    floor = log_z - z + total(pt.log(-pt.expm1(-a * z[index]))) - drop
    s = pt.exp(left)
    x = a * s[index]
    value = left - s + total(pt.log(-pt.expm1(-x)))
    slope = 1 - s + total(_bose(x))
    left = pt.minimum(left + pt.maximum(floor - value, 0.0) / slope, log_z)

    # Stretched nodes y = log z + A(1 − exp(−k x)): the left flank of a saturated block is steep
    d_left, d_right = log_z - left, right - log_z
    n = total(pt.cast(pt.lt(a, math.exp(PADDING) * 0.999), "float64"))
    theta = 0.7 / (2 + pt.log(pt.maximum(n, 1.0)))
    k = theta * pt.log(pt.maximum(d_left / d_right, 1.05))
    stretch = d_right / -pt.expm1(-k)
    x_left = -pt.log1p(d_left / stretch) / k
    x = x_left[..., None] + (1 - x_left)[..., None] * np.linspace(0.0, 1.0, nodes)
    y = log_z[..., None] - stretch[..., None] * pt.expm1(-k[..., None] * x)
    log_weight = pt.log(stretch * k * (1 - x_left) / (nodes - 1))[..., None] - k[..., None] * x
    return stop_gradient(y), stop_gradient(log_weight)


def _bose(x: TensorVariable) -> TensorVariable:
    """r(x) = x / (e^x − 1), without overflow."""
    x = pt.minimum(x, 600.0)
    return x / pt.expm1(x)
