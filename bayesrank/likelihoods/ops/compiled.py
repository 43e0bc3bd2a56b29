r"""The base of compiled Ops: what a numba kernel evaluates, declared once.

An Op of a kernel says what is its own, and the base does what PyTensor asks for: nodes with the
shapes that are known, `perform`, inferred shapes, gradients, and the translations for numba and
JAX.

====================  =============================================================================
``kernel``            numba function of the inputs, followed by `constants`
``signature``         axes of the inputs and of the first output, as NumPy writes them,
                      ``"(r,s),(r,s)->(r)"``; `bayesrank.likelihoods.ops.signatures` has the rules.
                      Lengths are compared before every call of a kernel
``or_length``         axes that may also have another length, such as 0 for an absent input
``version``           raised whenever the kernel, or one that it calls, gives other numbers:
                      PyTensor keeps machine code on disk and does not look into imported functions
``wrt``               positions of the inputs by which it is differentiated
``graph``             the first output as a PyTensor graph, for JAX and for third derivatives; an
                      Op that has none leaves JAX to call its kernels on the host, and must have a
                      ``curvature_kernel`` and one number per row to differentiate by
``pullback_kernel``   see below
``curvature_kernel``  see below
====================  =============================================================================

An Op has its gradient in one of two ways:

* *value and gradient in one pass*, where an entry of the first output depends on one row of the
  inputs `wrt`, or is all there is: the kernel returns the value, and then for each of `wrt` the
  gradient of the sum, which costs little more. A pullback is a product, row by row;
* *a pullback kernel*, where every output depends on every input: the gradient of the sum says too
  little, and the Jacobian is too big. ``pullback_kernel`` takes the inputs and the cotangent and
  returns a gradient for each of `wrt`; it is an Op of its own, `Pullback`.

Second derivatives are those along a direction, an Op as well, `Curvature`. Its kernel takes the
inputs, the cotangent and a direction for each of `wrt`, and returns what changes along it: the
output, and the gradients of the output weighted by the cotangent. Without a ``curvature_kernel``
the graph is differentiated twice, and a quadrature then takes a minute to compile.

>>> import numba
>>> @numba.njit
... def squares_kernel(x):
...     return x**2, 2.0 * x
>>> class Squares(CompiledOp):
...     kernel = staticmethod(squares_kernel)
...     signature = "(n)->(n)"
...     def graph(self, x):
...         return x**2
>>> x = pt.dvector("x")
>>> pytensor.grad(Squares()(x).sum(), x).eval({x: [1.0, 3.0]}).tolist()
[2.0, 6.0]
"""

import functools
import hashlib
import inspect
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.op import Op
from pytensor.graph.replace import graph_replace
from pytensor.link.numba.cache import compile_numba_function_src
from pytensor.link.numba.dispatch.basic import (
    default_hash_key_from_props,
    numba_njit,
    register_funcify_and_cache_key,
    register_funcify_default_op_cache_key,
)
from pytensor.tensor import TensorVariable

from bayesrank.likelihoods.ops.by_address import by_address, contiguous
from bayesrank.likelihoods.ops.signatures import (
    Alternatives,
    Axes,
    LengthError,
    Rule,
    axes_of,
    check,
    fits,
    output_shape,
    rules_of,
    sentence,
)
from bayesrank.likelihoods.ops.with_jax import with_jax

__all__ = [
    "CompiledOp",
    "Curvature",
    "FirstInput",
    "KernelOp",
    "Pullback",
    "as_numba",
    "curvature",
    "numba_types",
]


class KernelOp(Op):
    """An Op of one output that a kernel evaluates; without a gradient unless a subclass has one.

    JAX calls the kernel on the host, unless a subclass has a translation of its own.
    """

    __props__: tuple[str, ...] = ()
    kernel: Callable[..., Any]
    signature: str
    or_length: Alternatives = ()
    version: int = 1
    dtype: str = "float64"
    wrt: tuple[int, ...] = ()

    @property
    def constants(self) -> tuple[Any, ...]:
        """What the kernel takes after the inputs."""
        return ()

    def make_node(self, *inputs: Any) -> Apply:
        variables = [pt.as_tensor_variable(x) for x in inputs]
        if not fits(self.signature, [x.ndim for x in variables]):
            raise TypeError(
                f"{type(self).__name__} takes inputs with the axes "
                f"{self.signature.split('->')[0]}; got {[x.ndim for x in variables]} dimensions."
            )
        self.check([x.type.shape for x in variables])
        return Apply(self, variables, self.output_types(variables))

    def output_types(self, inputs: Sequence[Any]) -> list[Any]:
        """Return an output of each type, with the lengths that are known."""
        shape = output_shape(self.signature, [x.type.shape for x in inputs])
        return [pt.tensor(dtype=self.dtype, shape=shape)]

    @property
    def input_names(self) -> list[str]:
        """What the kernel calls its inputs."""
        kernel = getattr(self.kernel, "py_func", self.kernel)
        return [*inspect.signature(kernel).parameters]

    def rules(self, ndims: Sequence[int]) -> list[Rule]:
        """List which lengths of inputs must agree."""
        return rules_of(self.signature, self.or_length, tuple(ndims))

    def check(self, shapes: Sequence[Any]) -> None:
        """Raise `LengthError` where known lengths of the inputs disagree."""
        rules = self.rules([len(shape) for shape in shapes])
        check(rules, shapes, type(self).__name__, self.input_names)

    def call(self, *inputs: Any) -> Any:
        """Return what the kernel returns of arrays, after comparing their lengths."""
        self.check([x.shape for x in inputs])
        return self.kernel(*map(_plain, inputs), *self.constants)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[Any]) -> None:
        found = self.call(*inputs)
        for storage, value in zip(
            output_storage, found if len(output_storage) > 1 else [found], strict=True
        ):
            storage[0] = value

    def axes(self) -> tuple[list[Axes], list[Axes]]:
        """Return the names of the axes of all inputs, and of all outputs."""
        taken, given = axes_of(self.signature)
        return taken, [given]

    def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
        return [output_shape(self.signature, shapes)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[i in self.wrt] * len(node.outputs) for i in range(len(node.inputs))]

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        return [disconnected_type() for _ in inputs]


class CompiledOp(KernelOp):
    """A `KernelOp` with a gradient, and with a graph of the same values.

    Parameters
    ----------
    nodes : int
        Of whatever quadrature the graph has.
    """

    __props__: tuple[str, ...] = ("nodes",)
    wrt: tuple[int, ...] = (0,)
    default_output = 0
    pullback_kernel: Any = None  # None: the kernel returns gradients, too
    curvature_kernel: Any = None  # None: the graph is differentiated

    def __init__(self, nodes: int = 48) -> None:
        self.nodes = nodes

    def graph(self, *inputs: Variable) -> TensorVariable:
        """Return the first output as a graph of the inputs."""
        raise NotImplementedError(
            f"{type(self).__name__} has first and second derivatives, and no graph for others."
        )

    def shortcut(self, *inputs: Variable) -> tuple[TensorVariable, TensorVariable] | None:
        """Return when a cheaper graph gives the same, and that graph; None if there is none.

        JAX asks at every evaluation, so that data may be replaced by others.
        """
        return None

    @property
    def gradients(self) -> tuple[int, ...]:
        """Positions of the inputs whose gradients are outputs."""
        return self.wrt if self.pullback_kernel is None else ()

    def output_types(self, inputs: Sequence[Any]) -> list[Any]:
        return [*super().output_types(inputs), *(inputs[i].type() for i in self.gradients)]

    def axes(self) -> tuple[list[Axes], list[Axes]]:
        taken, given = super().axes()
        return taken, [*given, *(taken[i] for i in self.gradients)]

    def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
        return [*super().infer_shape(node, shapes), *(shapes[i] for i in self.gradients)]

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        if self.pullback_kernel is not None:
            by = Pullback(self)(*inputs, cotangents[0], return_list=True)
        else:
            by = self._pull_in_one_pass(inputs, outputs, cotangents)
        found = dict(zip(self.wrt, by, strict=True))
        return [found.get(i, disconnected_type()) for i in range(len(inputs))]

    def _pull_in_one_pass(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        bar, *slope_bars = cotangents
        terms = []
        if not isinstance(bar.type, DisconnectedType):
            terms.append([_by_row(bar, slope) * slope for slope in outputs[1:]])
        if not all(isinstance(x.type, DisconnectedType) for x in slope_bars):
            one = pt.constant(np.ones((1,) * outputs[0].ndim))  # for every row
            terms.append(curvature(self, inputs, one, slope_bars)[1:])
        # without zeros, whose shapes JAX would have to know
        return [functools.reduce(operator.add, term) for term in zip(*terms, strict=True)]


class _Derivative(KernelOp):
    """A derivative of a `CompiledOp`.

    Parameters
    ----------
    forward : CompiledOp
        The Op.
    """

    __props__ = ("name", "props")  # texts and numbers, which PyTensor makes the cache's key of

    def __init__(self, forward: CompiledOp) -> None:
        self.forward = forward
        self.name = f"{type(forward).__module__}.{type(forward).__qualname__}"
        self.props = tuple(getattr(forward, prop) for prop in forward.__props__)
        self.version = forward.version

    @property
    def constants(self) -> tuple[Any, ...]:
        return self.forward.constants


class Pullback(_Derivative):
    """Pull the cotangent of a `CompiledOp` back to its inputs `wrt`, by its pullback kernel.

    Inputs: those of the Op and then the cotangent. Outputs: one gradient for each of `wrt`.
    """

    def __init__(self, forward: CompiledOp) -> None:
        super().__init__(forward)
        self.kernel = forward.pullback_kernel
        inputs, output = forward.signature.split("->")
        self.signature, self.or_length = f"{inputs},{output}->()", forward.or_length
        n_inputs = len(axes_of(forward.signature)[0])
        self.wrt = (*forward.wrt, n_inputs)

    def output_types(self, inputs: Sequence[Any]) -> list[Any]:
        return [inputs[i].type() for i in self.forward.wrt]

    def axes(self) -> tuple[list[Axes], list[Axes]]:
        taken, _ = super().axes()
        return taken, [taken[i] for i in self.forward.wrt]

    def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
        return [shapes[i] for i in self.forward.wrt]

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        *given, bar = inputs
        along, *bends = curvature(self.forward, given, bar, cotangents)
        found = dict(zip(self.wrt, [*bends, along], strict=True))
        return [found.get(i, disconnected_type()) for i in range(len(inputs))]


class Curvature(_Derivative):
    r"""What changes along a direction: a `CompiledOp`, and its gradients.

    With f the first output, b its cotangent and v the direction of the inputs x that are `wrt`,

    .. math:: J v \quad\text{and}\quad \sum_r b_r \nabla^2 f_r \, v, \qquad
              J_{rk} = \partial f_r / \partial x_k .

    Inputs: those of the Op, then the cotangent, which may have one entry for all rows, then a
    direction for each of `wrt`. Outputs: one like f, and one for each of `wrt`. Use `curvature`.
    """

    def __init__(self, forward: CompiledOp) -> None:
        super().__init__(forward)
        self.kernel = forward.curvature_kernel
        inputs, output = forward.signature.split("->")
        n_inputs = len(axes_of(forward.signature)[0])
        each = re.findall(r"\([^)]*\)", inputs)
        directions = ",".join(each[i] for i in forward.wrt)
        bar = re.sub(r"(\w+)", r"bar_\1", output)
        self.signature = f"{inputs},{bar},{directions}->{output}"
        one = ((axis, axis.removeprefix("bar_"), 1) for axis in re.findall(r"\w+", bar))
        self.or_length = (*forward.or_length, *one)
        self.wrt = (*forward.wrt, *range(n_inputs, n_inputs + 1 + len(forward.wrt)))

    def output_types(self, inputs: Sequence[Any]) -> list[Any]:
        return [*super().output_types(inputs), *(inputs[i].type() for i in self.forward.wrt)]

    def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
        return [*super().infer_shape(node, shapes), *(shapes[i] for i in self.forward.wrt)]

    def graph(self, *inputs: Variable) -> list[TensorVariable]:
        """Return the outputs as a graph of the inputs, none of which depends on another."""
        n_directions = len(self.forward.wrt)
        *given, bar = inputs[:-n_directions]
        points = [given[i] for i in self.forward.wrt]
        slopes = pytensor.grad(pt.sum(bar * self.forward.graph(*given)), points, **_DISCONNECTED)
        along = [pt.sum(g * v) for g, v in zip(slopes, inputs[-n_directions:], strict=True)]
        return pytensor.grad(functools.reduce(operator.add, along), [bar, *points], **_DISCONNECTED)

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        own = [x.type() for x in inputs]
        connected = [not isinstance(bar.type, DisconnectedType) for bar in cotangents]
        bars = [bar.type() if on else None for bar, on in zip(cotangents, connected, strict=True)]
        parts = zip(self.graph(*own), bars, connected, strict=True)
        total = functools.reduce(operator.add, [pt.sum(x * bar) for x, bar, on in parts if on])
        by = pytensor.grad(total, [own[i] for i in self.wrt], **_DISCONNECTED)
        replaced = [*zip(own, inputs, strict=True)]
        replaced += [
            pair
            for pair, on in zip(zip(bars, cotangents, strict=True), connected, strict=True)
            if on
        ]
        by = graph_replace(by, replaced, strict=False)
        found = dict(zip(self.wrt, by, strict=True))
        return [found.get(i, disconnected_type()) for i in range(len(inputs))]


_DISCONNECTED: Any = {"return_disconnected": "zero", "disconnected_inputs": "ignore"}


def curvature(
    forward: CompiledOp, inputs: Sequence[Any], bar: Any, directions: Sequence[Any]
) -> list[TensorVariable]:
    """Return the outputs of `Curvature` at inputs, a cotangent and directions, or their graph.

    A direction that is disconnected is zero.
    """
    given = [pt.as_tensor_variable(x) for x in inputs]
    along = [
        pt.zeros_like(given[i]) if isinstance(v.type, DisconnectedType) else v
        for i, v in zip(forward.wrt, directions, strict=True)
    ]
    op, known = Curvature(forward), [*given, bar, *along]
    if forward.curvature_kernel is not None:
        return op(*known, return_list=True)
    own = [x.type() for x in known]
    return graph_replace(op.graph(*own), [*zip(own, known, strict=True)], strict=False)


class FirstInput(Op):
    """The first input as it is: what an Op needs that only rewrites and gradients tell apart."""

    __props__: tuple[str, ...] = ()
    view_map = {0: [0]}

    def make_node(self, *inputs: Any) -> Apply:
        variables = [pt.as_tensor_variable(x) for x in inputs]
        return Apply(self, variables, [variables[0].type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[Any]) -> None:
        output_storage[0][0] = inputs[0]

    def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
        return [shapes[0]]


def _plain(x: Any) -> Any:
    """Return an array as most are, for numba compiles anew for every layout and for locked ones."""
    return x if x.flags.c_contiguous and x.flags.writeable else np.array(x, order="C")


def _by_row(bar: TensorVariable, slope: TensorVariable) -> TensorVariable:
    """Give `bar`, one number per row, the axes of `slope`."""
    return bar[(..., *[None] * (slope.ndim - bar.ndim))] if slope.ndim > bar.ndim else bar


# ---------------------------------------------------------------------------------------------
# Backends
# ---------------------------------------------------------------------------------------------


@register_funcify_and_cache_key(KernelOp)
def _numba_kernel(op: KernelOp, node: Apply, **kwargs: Any) -> tuple[Any, str]:
    name = f"{op.kernel.__module__}.{op.kernel.__qualname__}.{op.version}"
    return as_numba(op, node, *by_address(op.kernel, numba_types(op, node), name))


def numba_types(op: KernelOp, node: Apply) -> list[Any]:
    """Types of what the kernel takes: inputs in rows, and constants.

    Constants go by their values, by which LLVM simplifies the kernel: PMOP by means of utilities is
    a third slower, and takes half as long again to compile, with any `aggregate`.
    """
    inputs = [(numba.from_dtype(x.type.numpy_dtype), x.type.ndim) for x in node.inputs]
    arrays = [numba.types.Array(*dtype_and_axes, "C") for dtype_and_axes in inputs]
    return [*arrays, *map(numba.types.literal, op.constants)]


def as_numba(op: KernelOp, node: Apply, kernel: Any, symbol: str) -> tuple[Any, str]:
    """Return the function that PyTensor calls, and its key, of a kernel that has a symbol."""
    names = [f"x{i}" for i in range(len(node.inputs))]
    given = [*(f"contiguous({x})" for x in names), *map(repr, op.constants)]
    checks = [_as_source(op, rule) for rule in op.rules([x.type.ndim for x in node.inputs])]
    body = "\n".join([*checks, f"    return kernel({', '.join(given)})"])
    text = f"def compiled({', '.join(names)}):\n{body}\n"
    known = {"kernel": kernel, "contiguous": contiguous, "LengthError": LengthError}
    known["__name__"] = __name__
    compiled = compile_numba_function_src(text, "compiled", known)
    # machine code on disk must be of the symbol that this process has, and of these checks
    of_text = hashlib.sha256(text.encode()).hexdigest()
    key = default_hash_key_from_props(op, cache_version=op.version, symbol=symbol, text=of_text)
    return numba_njit(compiled), key


def _as_source(op: KernelOp, rule: Rule) -> str:
    """Write the comparison of a rule in Python, for a compiled function."""
    found = f"x{rule.which}.shape[{rule.axis}]"
    other = "0" if rule.as_of is None else f"x{rule.as_of}.shape[{rule.as_axis}]"
    terms = [f"{found} != {other} + {rule.more}"]
    if rule.allowed is not None:
        terms += [f"{x} != {rule.allowed}" for x in ([found, other] if rule.either else [found])]
    text = sentence(rule, type(op).__name__, op.input_names)
    return f"    if {' and '.join(terms)}:\n        raise LengthError({text!r}, {found}, {other})"


@register_funcify_default_op_cache_key(FirstInput)
def _numba_first(op: FirstInput, node: Apply, **kwargs: Any) -> tuple[Any, int]:
    @numba_njit
    def first(x, *others):  # type: ignore[no-untyped-def]
        return x

    return first, 2


@with_jax
def _translations() -> None:
    import jax
    import jax.numpy as jnp
    from pytensor.link.jax.dispatch import jax_funcify

    @jax_funcify.register(FirstInput)
    def _jax_first(op: FirstInput, **kwargs: Any) -> Any:
        return lambda x, *others: x

    @jax_funcify.register(KernelOp)
    def _jax_kernel(op: KernelOp, **kwargs: Any) -> Any:
        def on_host(*inputs: Any) -> Any:
            return op.call(*map(np.asarray, inputs))

        def call(*inputs: Any) -> Any:
            shapes = [jnp.shape(x) for x in inputs]
            op.check(shapes)
            like = jax.ShapeDtypeStruct(output_shape(op.signature, shapes), np.dtype(op.dtype))
            return jax.pure_callback(on_host, like, *inputs, vmap_method="sequential")

        return call

    def _jax_kernels(op: CompiledOp) -> Any:
        """Call kernels on the host: value and gradient by one number per row.

        Each is a function of its own, whose derivative is the next.
        """

        def on_host(kernel: Any, n_inputs: int, output: int) -> Any:
            def values(*inputs: Any) -> Any:
                return kernel(*(_plain(np.asarray(x)) for x in inputs), *op.constants)[output]

            def call(*inputs: Any) -> Any:
                like = jax.ShapeDtypeStruct(inputs[0].shape, np.dtype(op.dtype))
                ones = [jnp.ones_like(inputs[0])] * (n_inputs - len(inputs))
                return jax.pure_callback(values, like, *inputs, *ones, vmap_method="sequential")

            return call

        n = len(axes_of(op.signature)[0])
        # of each row: along one, weighted by one. JAX also follows what it will not use: a third
        # derivative is not a number, and no error
        bend = _with_derivative(on_host(op.curvature_kernel, n + 2, 1), _unknown)
        slope = _with_derivative(on_host(op.kernel, n, 1), bend)
        value = _with_derivative(on_host(op.kernel, n, 0), slope)
        return lambda *inputs: (value(*inputs), slope(*inputs))

    def _unknown(x: Any, *others: Any) -> Any:
        return jnp.full_like(x, jnp.nan)

    def _with_derivative(f: Any, derivative: Any) -> Any:
        """Tell JAX the derivative of a function by its first argument."""
        told = jax.custom_jvp(f)

        @told.defjvp
        def along(inputs: Any, tangents: Any) -> Any:
            return told(*inputs), derivative(*inputs) * tangents[0]

        return told

    @jax_funcify.register(CompiledOp)
    def _jax_compiled(op: CompiledOp, node: Apply, **kwargs: Any) -> Any:
        evaluate = _jax_graph(op, node)

        def checked(*inputs: Any) -> Any:
            op.check([jnp.shape(x) for x in inputs])
            return evaluate(*inputs)

        return checked

    def _jax_graph(op: CompiledOp, node: Apply) -> Any:
        if type(op).graph is CompiledOp.graph:
            return _jax_kernels(op)

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
        full, shortcut = evaluate(inputs, op.graph(*inputs)), op.shortcut(*inputs)
        if shortcut is None:
            return full
        is_open = jax_funcify(FunctionGraph(inputs, [shortcut[0]], clone=False))
        short = evaluate(inputs, shortcut[1])
        return lambda *args: jax.lax.cond(is_open(*args)[0], short, full, *args)

    def _of_points(forward: CompiledOp, inputs: Sequence[Any]) -> Callable[..., Any]:
        """From values of all inputs, the function of those `wrt` that is the first output."""
        convert = jax_funcify(forward, node=forward.make_node(*inputs))

        def at(given: Sequence[Any]) -> tuple[Callable[..., Any], list[Any]]:
            def of_points(*points: Any) -> Any:
                known = dict(zip(forward.wrt, points, strict=True))
                found = convert(*(known.get(i, x) for i, x in enumerate(given)))
                return found[0] if forward.gradients else found

            return of_points, [given[i] for i in forward.wrt]

        return at

    @jax_funcify.register(Pullback)
    def _jax_pullback(op: Pullback, node: Apply, **kwargs: Any) -> Any:
        at = _of_points(op.forward, node.inputs[:-1])

        def gradients(*args: Any) -> Any:
            op.check([jnp.shape(x) for x in args])
            *given, bar = args
            of_points, points = at(given)
            by = jax.vjp(of_points, *points)[1](bar)
            return by if len(by) > 1 else by[0]

        return gradients

    @jax_funcify.register(Curvature)
    def _jax_curvature(op: Curvature, node: Apply, **kwargs: Any) -> Any:
        n_directions = len(op.forward.wrt)
        at = _of_points(op.forward, node.inputs[: -1 - n_directions])

        def changes(*args: Any) -> Any:
            op.check([jnp.shape(x) for x in args])
            (*given, bar), along = args[:-n_directions], args[-n_directions:]
            of_points, points = at(given)

            def value_and_gradients(*points: Any) -> Any:
                value, pull = jax.vjp(of_points, *points)
                return value, *pull(jnp.broadcast_to(bar, value.shape))

            return jax.jvp(value_and_gradients, tuple(points), along)[1]

        return changes
