r"""Logarithms of running sums from the end: the remainders of a ranking.

If slots are sorted best first, the remainder of slot :math:`j` contains this slot and all later
slots:

.. math:: C_j = \log \sum_{i \ge j} e^{x_i}.

Differences of cumulative sums lose all digits if utilities are far apart, so this is a recursion in
log space. It needs a separate Op, because PyTensor does not have one.

>>> log_remainder([0.0, 0.0, 0.0]).eval().round(4).tolist()
[1.0986, 0.6931, 0.0]
"""

from typing import Any

import numpy as np
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.tensor import TensorLike, TensorVariable

from bayesrank.likelihoods.ops.arrays import NOTHING
from bayesrank.likelihoods.ops.compiled import KernelOp

__all__ = ["LogRemainder", "log_remainder"]


def log_remainder_kernel(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Reverse cumulative logsumexp along the last axis."""
    return np.ascontiguousarray(np.logaddexp.accumulate(x[..., ::-1], axis=-1)[..., ::-1])


class LogRemainder(KernelOp):
    """Reverse cumulative logsumexp along the last axis; use `log_remainder`."""

    kernel = staticmethod(log_remainder_kernel)
    signature = "(g,r,s)->(g,r,s)"
    version = 5
    wrt = (0,)

    def in_jax(self) -> Any:
        import jax

        return lambda x: jax.lax.cumlogsumexp(x, axis=x.ndim - 1, reverse=True)

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        # x̄_i = Σ_{j≤i} C̄_j exp(x_i − C_j): the same sum from the other end, in log space,
        # for the positive and the negative part of C̄
        x, c, c_bar = inputs[0], outputs[0], cotangents[0]
        return [
            _signed_exp_sum(x, c, pt.maximum(c_bar, 0.0))
            - _signed_exp_sum(x, c, pt.maximum(-c_bar, 0.0))
        ]


def _signed_exp_sum(x: TensorVariable, c: TensorVariable, weight: Any) -> TensorVariable:
    positive = pt.gt(weight, 0.0)
    term = pt.switch(positive, pt.log(pt.switch(positive, weight, 1.0)) - c, NOTHING)
    running = log_remainder(term[..., ::-1])[..., ::-1]
    live = pt.gt(running, NOTHING / 2)
    return pt.switch(live, pt.exp(pt.switch(live, x + running, 0.0)), 0.0)


_log_remainder = LogRemainder()


def log_remainder(x: TensorLike) -> TensorVariable:
    r"""Reverse cumulative logsumexp along the last axis, :math:`C_j = \log \sum_{i\ge j} e^{x_i}`.

    Values (..., n) are finite; an absent slot is `NOTHING` (-1e30).

    Examples
    --------
    >>> log_remainder([1000.0, 1000.0]).eval().round(4).tolist()
    [1000.6931, 1000.0]
    """
    x = pt.as_tensor_variable(x)
    if x.ndim > 3:
        return _log_remainder(x.reshape((1, -1, x.shape[-1]))).reshape(x.shape)
    missing = 3 - x.ndim  # axes are added, because JAX does not translate other shapes
    return _log_remainder(x[(None,) * missing])[(0,) * missing]
