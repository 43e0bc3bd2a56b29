"""An identity whose gradient is disconnected on every backend.

Gradients may treat the nodes of a quadrature and the maxima of a log-sum-exp as constants. Moving
them changes the result only by rounding.
`pytensor.gradient.disconnected_grad` does this for a plain graph. However, PyMC canonicalises a
model before it differentiates, which removes such views, and `jax.grad` never sees them. No
rewrite removes this Op, and under JAX it becomes `jax.lax.stop_gradient`.

>>> import pytensor, pytensor.tensor as pt
>>> x = pt.dscalar("x")
>>> float(pytensor.grad(stop_gradient(x**2) * x, x).eval({x: 2.0}))
4.0
"""

from typing import Any

from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply
from pytensor.tensor import TensorLike, TensorVariable

from bayesrank.likelihoods.ops.compiled import FirstInput

__all__ = ["StopGradient", "stop_gradient"]


class StopGradient(FirstInput):
    """Identity with a disconnected gradient; use `stop_gradient`."""

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False]]

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        return [disconnected_type()]

    def pushforward(self, inputs: Any, outputs: Any, tangents: Any) -> list[Any]:
        return [disconnected_type()]


_stop_gradient = StopGradient()


def stop_gradient(x: TensorLike) -> TensorVariable:
    """Return `x` as a constant for gradients under numba, C and JAX, inside and outside models."""
    return _stop_gradient(x)
