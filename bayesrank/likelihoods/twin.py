"""Compiled Ops with a graph of the same values: the graph serves JAX and second derivatives."""

import functools
import operator
from typing import Any

import pytensor
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.op import Op
from pytensor.tensor import TensorVariable

__all__ = ["GraphTwinOp", "add_cotangents", "pull_gradients"]


class GraphTwinOp(Op):
    """An Op with a graph of the same values, used by JAX and for second derivatives."""

    __props__: tuple[str, ...] = ("nodes",)
    wrt: tuple[int, ...] = (0,)  # inputs of which the outputs after the first are gradients

    def __init__(self, nodes: int = 48) -> None:
        self.nodes = nodes

    def twin(self, *inputs: Variable) -> TensorVariable:
        """Return the first output as a graph of the inputs."""
        raise NotImplementedError


def pull_gradients(value: TensorVariable, wrt: list[Any], gradient_bars: list[Any]) -> list[Any]:
    """Pull cotangents of d value / d wrt[0], ... back to `wrt`: a Hessian-vector product.

    An input that the value does not depend on gets zeros.
    """
    connected = [
        (x, bar)
        for x, bar in zip(wrt, gradient_bars, strict=False)
        if not isinstance(bar.type, DisconnectedType)
    ]
    points, bars = zip(*connected, strict=True)
    ignore = {"return_disconnected": "zero", "disconnected_inputs": "ignore"}
    slopes = pytensor.grad(value, list(points), **ignore)
    along = [pt.sum(slope * bar) for slope, bar in zip(slopes, bars, strict=True)]
    return pytensor.grad(
        functools.reduce(operator.add, along),
        wrt,
        consider_constant=list(bars),
        **ignore,
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

        def value_and_gradients(*args: Any) -> Any:
            def of_points(*points: Any) -> Any:
                given = dict(zip(op.wrt, points, strict=True))
                return value(*(given.get(i, x) for i, x in enumerate(args)))

            out, pull = jax.vjp(of_points, *(args[i] for i in op.wrt))
            return out, *pull(jnp.ones_like(out))  # unused gradients are removed by XLA

        return value if len(node.outputs) == 1 else value_and_gradients
