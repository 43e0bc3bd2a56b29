"""An identity whose gradient is disconnected on every route.

The nodes of a quadrature and the running maxima of a log-sum-exp are constants of the gradient:
moving them changes the result by nothing but rounding.  `pytensor.gradient.disconnected_grad`
says so for a bare graph, but PyMC canonicalises a model before it differentiates and that
removes it (it is a view), and `jax.grad` never sees it.  This Op is no view, so no rewrite takes
it away, and under JAX it is `jax.lax.stop_gradient`.

>>> import pytensor, pytensor.tensor as pt
>>> x = pt.dscalar("x")
>>> float(pytensor.grad(stop_gradient(x**2) * x, x).eval({x: 2.0}))
4.0
"""

from typing import Any

from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply
from pytensor.tensor import TensorVariable

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


def stop_gradient(x: Any) -> TensorVariable:
    """Return `x` as a constant of every gradient: numba, C and JAX, inside a model or not."""
    return _stop_gradient(x)
