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

from collections.abc import Sequence
from typing import Any

import pytensor.tensor as pt
from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import (
    numba_njit,
    register_funcify_default_op_cache_key,
)
from pytensor.tensor import TensorVariable

__all__ = ["StopGradient", "stop_gradient"]


class StopGradient(Op):
    """Identity with a disconnected gradient; use `stop_gradient`."""

    __props__ = ()
    view_map = {0: [0]}

    def make_node(self, x: Any) -> Apply:
        x = pt.as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[Any]) -> None:
        output_storage[0][0] = inputs[0]

    def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
        return shapes

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False]]

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        return [disconnected_type()]

    def pushforward(self, inputs: Any, outputs: Any, tangents: Any) -> list[Any]:
        return [disconnected_type()]


_stop_gradient = StopGradient()


def stop_gradient(x: Any) -> TensorVariable:
    """Return `x` as a constant of every gradient: numba, C and JAX, inside a model or not.

    Parameters
    ----------
    x : tensor_like
        Any tensor.

    Returns
    -------
    TensorVariable
        The same values; derivatives do not flow through it.
    """
    return _stop_gradient(x)


@register_funcify_default_op_cache_key(StopGradient)
def _numba_stop_gradient(op: StopGradient, node: Apply, **kwargs: Any) -> tuple[Any, int]:
    @numba_njit
    def identity(x):  # type: ignore[no-untyped-def]
        return x

    return identity, 1


try:
    import jax
    from pytensor.link.jax.dispatch import jax_funcify
except ImportError:  # JAX is an extra
    pass
else:

    @jax_funcify.register(StopGradient)
    def _jax_stop_gradient(op: StopGradient, **kwargs: Any) -> Any:
        return jax.lax.stop_gradient
