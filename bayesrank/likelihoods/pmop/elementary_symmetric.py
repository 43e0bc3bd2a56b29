r"""Elementary symmetric polynomials as graphs.

The formulas are as in `bayesrank.likelihoods.pmop.subset_kernels`, which the compiled Ops run:

.. math:: \log e_m(e^v) = \sum_i \log(1 + e^{v_i + \lambda}) - m \lambda + \log P(K = m),

where K counts independent bits with probabilities :math:`p_i = 1 / (1 + e^{-(v_i + \lambda)})`. Its
distribution is the Fourier inverse of :math:`\prod_i (1 + p_i (e^{i\theta} - 1))` on the circle.

>>> v = pt.log([1.0, 2.0, 3.0])
>>> float(pt.exp(log_elementary_symmetric(v, [True, True, True], 2.0)).eval().round(6))
11.0
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.tensor import TensorVariable
from scipy.special import expit

from bayesrank.likelihoods.ops.arrays import NOTHING
from bayesrank.likelihoods.ops.compiled import KernelOp
from bayesrank.likelihoods.ops.stable import softplus

__all__ = ["Tilt", "log_elementary_symmetric"]

STEPS = 60  # halvings of the bracket


def _repeat(first: int, last: int, step: Callable[..., Any], state: Any) -> Any:
    """Repeat a step, as `jax.lax.fori_loop` does."""
    for i in range(first, last):
        state = step(i, state)
    return state


def _bisect(
    v: Any, member: Any, m: Any, xp: Any = np, sigmoid: Any = expit, repeat: Any = _repeat
) -> Any:
    """Find the tilts in NumPy or, if its functions are passed, in JAX."""
    n = member.sum(-1)
    inside = (m > 0) & (m < n)
    size = xp.where(inside, m, 0.5)
    odds = xp.log(size / (xp.where(inside, n, 1) - size))
    low = xp.where(inside, odds - xp.where(member, v, -xp.inf).max(-1), 0.0)
    high = xp.where(inside, odds - xp.where(member, v, xp.inf).min(-1), 0.0)

    def halve(_: Any, bracket: Any) -> Any:
        low, high = bracket
        middle = 0.5 * (low + high)
        above = xp.where(member, sigmoid(v + middle[..., None]), 0.0).sum(-1) > size
        low = xp.where(inside & ~above, middle, low)
        return low, xp.where(inside & above, middle, high)

    low, high = repeat(0, STEPS, halve, (low, high))
    return 0.5 * (low + high)


class Tilt(KernelOp):
    """The tilt at which the expected size is m, (..., n_items) -> (...); without a gradient.

    It is 0 unless m is between 1 and the number of members minus one.
    """

    kernel = staticmethod(_bisect)
    signature = "(...,i),(...,i),(...)->(...)"  # inputs are broadcast before
    version = 4

    def in_jax(self) -> Any:
        import jax

        parts = jax.numpy, jax.nn.sigmoid, jax.lax.fori_loop
        return lambda v, member, m: _bisect(jax.lax.stop_gradient(v), member, m, *parts)


_tilt = Tilt()


def log_elementary_symmetric(v: Any, member: Any, m: Any, *, nodes: int = 48) -> TensorVariable:
    r"""Logarithm of the sum, over subsets of m members, of the product of :math:`e^{v_i}`.

    Parameters
    ----------
    v : tensor_like of float, (..., n_items)
        Any finite value for items that are not members.
    member : tensor_like of bool, (..., n_items)
        Whether an item is a member.
    m : tensor_like of float, (...)
        Size of the subsets.
    nodes : int
        Nodes on half the circle; 48 suffice for 300 members.

    Returns
    -------
    TensorVariable, (...)
        -1e30 where there is no such subset.
    """
    v, member, m = pt.as_tensor_variable(v), pt.as_tensor_variable(member), pt.as_tensor_variable(m)
    # broadcast by adding zeros: broadcast_to would compute shapes, which JAX cannot trace
    v = v + pt.zeros_like(m)[..., None]
    m = m + pt.zeros_like(v[..., 0])
    member = member & pt.ones_like(v, dtype=bool)
    n = pt.sum(member, axis=-1)
    inside = (m > 0) & (m < n)
    x = _tilt(v, member, m)

    # log f_i(θ) = log(1 + p_i(e^{iθ} − 1)): modulus and phase, for members
    z = pt.switch(member & inside[..., None], v + x[..., None], 0.0)
    p, q = pt.sigmoid(z)[..., None], pt.sigmoid(-z)[..., None]
    angle = (np.arange(nodes) + 0.5) * np.pi / nodes
    is_member = member[..., None]
    modulus = 0.5 * pt.log1p(-2.0 * p * q * (1.0 - np.cos(angle)))
    phase = pt.arctan2(p * np.sin(angle), q + p * np.cos(angle))
    log_size = pt.sum(pt.switch(is_member, modulus, 0.0), axis=-2)
    turn = pt.sum(pt.switch(is_member, phase, 0.0), axis=-2) - m[..., None] * angle
    count = pt.mean(pt.exp(log_size) * pt.cos(turn), axis=-1)

    total = pt.sum(pt.switch(member, softplus(z), 0.0), axis=-1) - m * x
    some = total + pt.log(pt.switch(inside, count, 1.0))
    every = pt.sum(pt.switch(member, v, 0.0), axis=-1)
    return pt.switch(inside, some, pt.switch(pt.eq(m, n) & (n > 0), every, NOTHING))
