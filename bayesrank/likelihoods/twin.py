"""Compiled Ops with a graph of the same values: the graph serves JAX and second derivatives."""

import functools
import operator
from typing import Any

import pytensor
import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.op import Op
from pytensor.tensor import TensorVariable

__all__ = ["GraphTwinOp", "add_cotangents", "pull_gradient"]


class GraphTwinOp(Op):
    """An Op with a graph of the same values, used by JAX and for second derivatives."""

    __props__: tuple[str, ...] = ("nodes",)

    def __init__(self, nodes: int = 48) -> None:
        self.nodes = nodes

    def twin(self, *inputs: Variable) -> TensorVariable:
        """Return the first output as a graph of the inputs."""
        raise NotImplementedError


def pull_gradient(value: TensorVariable, wrt: list[Any], gradient_bar: Any) -> list[Any]:
    """Pull a cotangent of d value / d wrt[0] back to `wrt`: a Hessian-vector product."""
    slope = pytensor.grad(value, wrt[0])
    return pytensor.grad(
        pt.sum(slope * gradient_bar),
        wrt,
        consider_constant=[gradient_bar],
        return_disconnected="zero",
    )


def add_cotangents(terms: list[list[Any]]) -> list[Any]:
    """Add cotangents, input by input, without zeros whose shapes JAX would have to know."""
    return [functools.reduce(operator.add, term) for term in zip(*terms, strict=True)]


try:
    import jax
    import jax.numpy as jnp
    from pytensor.link.jax.dispatch import jax_funcify
except ImportError:  # JAX is an extra
    pass
else:

    @jax_funcify.register(GraphTwinOp)
    def _jax_twin(op: GraphTwinOp, node: Apply, **kwargs: Any) -> Any:
        inputs = [x.type() for x in node.inputs]
        # as written: rewrites would turn shapes, concrete under JAX, into traced arithmetic
        convert = jax_funcify(FunctionGraph(inputs, [op.twin(*inputs)], clone=False))

        def value(*args: Any) -> Any:
            return convert(*args)[0]

        def value_and_gradient(utility: Any, *rest: Any) -> Any:
            out, pull = jax.vjp(lambda u: value(u, *rest), utility)
            return out, pull(jnp.ones_like(out))[0]  # unused gradients are removed by XLA

        return value if len(node.outputs) == 1 else value_and_gradient
