"""Translations of compiled Ops to JAX, imported when the first function is compiled for JAX.

A `CompiledOp` becomes its graph, and JAX differentiates it. Without a graph, JAX calls the kernel
on the host. Lengths are compared first, as for every other backend.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from pytensor.graph.basic import Apply
from pytensor.graph.fg import FunctionGraph
from pytensor.link.jax.dispatch import jax_funcify

from bayesrank.likelihoods.ops.arrays import RowsAgree
from bayesrank.likelihoods.ops.compiled import (
    CompiledOp,
    FirstInput,
    KernelOp,
    Pullback,
    SecondDerivatives,
)
from bayesrank.likelihoods.ops.only_sum import Refused
from bayesrank.likelihoods.ops.signatures import output_shape
from bayesrank.likelihoods.ops.stop_gradient import StopGradient

__all__: list[str] = []

Function = Callable[..., Any]


def _first(x: Any, *others: Any) -> Any:
    return x


@jax_funcify.register(FirstInput)
@jax_funcify.register(RowsAgree)
def _first_input(op: Any, **kwargs: Any) -> Function:
    return _first


@jax_funcify.register(StopGradient)
def _stop_gradient(op: StopGradient, **kwargs: Any) -> Function:
    return jax.lax.stop_gradient


@jax_funcify.register(Refused)
def _refused(op: Refused, **kwargs: Any) -> Function:
    raise ValueError(op.msg)  # JAX skips checks


@jax_funcify.register(KernelOp)
def _kernel(op: KernelOp, **kwargs: Any) -> Function:
    return op.in_jax() or partial(_call_kernel, op)


def _call_kernel(op: KernelOp, *inputs: Any) -> Any:
    shapes = [jnp.shape(x) for x in inputs]
    op.check(shapes)
    like = jax.ShapeDtypeStruct(output_shape(op.signature, shapes), np.dtype(op.dtype))
    return _on_host(lambda *x: op.call(*map(np.asarray, x)), like, *inputs)


def _on_host(function: Function, like: Any, *inputs: Any) -> Any:
    return jax.pure_callback(function, like, *inputs, vmap_method="sequential")


def _kernel_with_gradient(op: CompiledOp) -> Function:
    """Call a kernel without a graph; its second derivatives are NaN.

    They do not raise an error, because JAX also traces results that it does not use.
    """

    @jax.custom_jvp
    def outputs(*inputs: Any) -> Any:
        value = output_shape(op.signature, [jnp.shape(x) for x in inputs])
        shapes = [value, *(jnp.shape(inputs[i]) for i in op.wrt)]
        like = [jax.ShapeDtypeStruct(shape, np.dtype(op.dtype)) for shape in shapes]
        return _on_host(lambda *x: [*op.call(*map(np.asarray, x))], like, *inputs)

    @outputs.defjvp
    def changes(inputs: Any, tangents: Any) -> Any:
        value, *slopes = outputs(*inputs)
        along = [tangents[i] for i in op.wrt]
        terms = [
            jnp.sum((slope * v).reshape(*value.shape, -1), axis=-1)
            for slope, v in zip(slopes, along, strict=True)
        ]
        return [value, *slopes], [sum(terms), *(jnp.nan * v for v in along)]

    return outputs


@jax_funcify.register(CompiledOp)
def _compiled(op: CompiledOp, node: Apply, **kwargs: Any) -> Function:
    evaluate = _evaluation(op, node)

    def checked(*inputs: Any) -> Any:
        op.check([jnp.shape(x) for x in inputs])
        return evaluate(*inputs)

    return checked


def _evaluation(op: CompiledOp, node: Apply) -> Function:
    """Return a function from the inputs of the Op to its outputs."""
    inputs = [x.type() for x in node.inputs]
    graph = op.graph(*inputs)
    if graph is None:
        return _kernel_with_gradient(op)
    full, shortcut = _outputs(op, inputs, graph), op.shortcut(*inputs)
    if shortcut is None:
        return full
    condition, cheaper = shortcut
    is_open, short = _as_jax(inputs, condition), _outputs(op, inputs, cheaper)
    return lambda *args: jax.lax.cond(is_open(*args), short, full, *args)


def _as_jax(inputs: Sequence[Any], graph: Any) -> Function:
    """Translate a graph without rewrites, which would replace concrete shapes by traced values."""
    convert = jax_funcify(FunctionGraph([*inputs], [graph], clone=False))
    return lambda *args: convert(*args)[0]


def _outputs(op: CompiledOp, inputs: Sequence[Any], graph: Any) -> Function:
    """Return a function that computes the graph, and the gradients if they are outputs."""
    value = _as_jax(inputs, graph)
    return partial(_value_and_gradients, op, value) if op.gradients else value


def _value_and_gradients(op: CompiledOp, value: Function, *args: Any) -> Any:
    out, pull = jax.vjp(partial(_evaluate_at, op, value, args), *(args[i] for i in op.wrt))
    return out, *pull(jnp.ones_like(out))  # unused gradients are removed by XLA


def _evaluate_at(op: CompiledOp, value: Function, args: Sequence[Any], *points: Any) -> Any:
    """Evaluate a function with other values of the inputs `wrt`."""
    given = dict(zip(op.wrt, points, strict=True))
    return value(*(given.get(i, x) for i, x in enumerate(args)))


def _value_only(forward: CompiledOp, inputs: Sequence[Any]) -> Function:
    """Return a function from the values of all inputs to the first output."""
    convert = jax_funcify(forward, node=forward.make_node(*inputs))
    return (lambda *args: convert(*args)[0]) if forward.gradients else convert


@jax_funcify.register(Pullback)
def _pullback(op: Pullback, node: Apply, **kwargs: Any) -> Function:
    forward = op.forward
    value = _value_only(forward, node.inputs[:-1])

    def gradients(*args: Any) -> Any:
        op.check([jnp.shape(x) for x in args])
        *given, bar = args
        points = [given[i] for i in forward.wrt]
        by = jax.vjp(partial(_evaluate_at, forward, value, given), *points)[1](bar)
        return by if len(by) > 1 else by[0]

    return gradients


@jax_funcify.register(SecondDerivatives)
def _second_derivatives(op: SecondDerivatives, node: Apply, **kwargs: Any) -> Function:
    forward, n = op.forward, len(op.forward.wrt)
    value = _value_only(forward, node.inputs[: -1 - n])

    def changes(*args: Any) -> Any:
        *given, bar = args[:-n]
        evaluate = partial(_evaluate_at, forward, value, given)

        def value_and_gradients(*points: Any) -> Any:
            out, pull = jax.vjp(evaluate, *points)
            return out, *pull(jnp.broadcast_to(bar, out.shape))

        points = tuple(given[i] for i in forward.wrt)
        return jax.jvp(value_and_gradients, points, tuple(args[-n:]))[1]

    return changes
