"""Compiled Ops with a graph of the same values: the graph serves JAX and second derivatives."""

import functools
import operator
from collections.abc import Sequence
from typing import Any

import pytensor
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.op import Op
from pytensor.tensor import TensorVariable

__all__ = ["GraphPullbackOp", "GraphTwinOp", "add_cotangents", "pull_gradients"]


class GraphTwinOp(Op):
    """An Op with a graph of the same values, used by JAX and for second derivatives."""

    __props__: tuple[str, ...] = ("nodes",)
    wrt: tuple[int, ...] = (0,)  # inputs of which the outputs after the first are gradients

    def __init__(self, nodes: int = 48) -> None:
        self.nodes = nodes

    def twin(self, *inputs: Variable) -> TensorVariable:
        """Return the first output as a graph of the inputs."""
        raise NotImplementedError

    def shortcut(self, *inputs: Variable) -> tuple[TensorVariable, TensorVariable] | None:
        """Return when a cheaper graph gives the same, and that graph; None if there is none.

        JAX asks at every evaluation, so that data may be replaced by others.
        """
        return None


class GraphPullbackOp(Op):
    """Pull the cotangent of a `GraphTwinOp` of one output back to its inputs `wrt`.

    Inputs: those of the forward Op and then the cotangent. Outputs: one gradient for each of `wrt`.
    """

    __props__: tuple[str, ...] = ("nodes",)
    forward: type[GraphTwinOp]

    def __init__(self, nodes: int = 48) -> None:
        self.nodes = nodes

    def make_node(self, *inputs: Any) -> Apply:
        variables = [pt.as_tensor_variable(x) for x in inputs]
        return Apply(self, variables, [variables[i].type() for i in self.forward.wrt])

    def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
        return [shapes[i] for i in self.forward.wrt]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        last = len(node.inputs) - 1
        connected = {*self.forward.wrt, last}
        return [[i in connected] * len(node.outputs) for i in range(last + 1)]

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        *given, bar = inputs
        # the bar of its own: the gradient by it is that of a graph that holds it
        value = pt.sum(bar * self.forward(self.nodes).twin(*given))
        points = [given[i] for i in self.forward.wrt]
        *to_points, to_bar = pull_gradients(value, points, cotangents, also=[bar])
        found = dict(zip(self.forward.wrt, to_points, strict=True)) | {len(given): to_bar}
        return [found.get(i, disconnected_type()) for i in range(len(inputs))]


def pull_gradients(
    value: TensorVariable, wrt: list[Any], gradient_bars: list[Any], *, also: Sequence[Any] = ()
) -> list[Any]:
    """Pull cotangents of d value / d wrt[0], ... back to `wrt`: a Hessian-vector product.

    And to the inputs in `also`.

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
        [*wrt, *also],
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
        def evaluate(inputs: list[Any], graph: TensorVariable) -> Any:
            # as written: rewrites would turn shapes, concrete under JAX, into traced arithmetic
            convert = jax_funcify(FunctionGraph(inputs, [graph], clone=False))

            def value(*args: Any) -> Any:
                return convert(*args)[0]

            def value_and_gradients(*args: Any) -> Any:
                def of_points(*points: Any) -> Any:
                    given = dict(zip(op.wrt, points, strict=True))
                    return value(*(given.get(i, x) for i, x in enumerate(args)))

                out, pull = jax.vjp(of_points, *(args[i] for i in op.wrt))
                return out, *pull(jnp.ones_like(out))  # unused gradients are removed by XLA

            return value if len(node.outputs) == 1 else value_and_gradients

        inputs = [x.type() for x in node.inputs]
        full, shortcut = evaluate(inputs, op.twin(*inputs)), op.shortcut(*inputs)
        if shortcut is None:
            return full
        is_open = jax_funcify(FunctionGraph(inputs, [shortcut[0]], clone=False))
        short = evaluate(inputs, shortcut[1])
        return lambda *args: jax.lax.cond(is_open(*args)[0], short, full, *args)

    @jax_funcify.register(GraphPullbackOp)
    def _jax_pullback(op: GraphPullbackOp, node: Apply, **kwargs: Any) -> Any:
        forward = op.forward(op.nodes)
        convert = jax_funcify(forward, node=forward(*node.inputs[:-1]).owner)

        def gradients(*args: Any) -> Any:
            *given, bar = args

            def of_points(*points: Any) -> Any:
                at = dict(zip(forward.wrt, points, strict=True))
                return convert(*(at.get(i, x) for i, x in enumerate(given)))

            _, pull = jax.vjp(of_points, *(given[i] for i in forward.wrt))
            return pull(bar)

        return gradients
