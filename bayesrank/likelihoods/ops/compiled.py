r"""The base of compiled Ops, which numba kernels evaluate.

An Op declares its kernel. The base class implements the interface of PyTensor: nodes with known
shapes, `perform`, inferred shapes, gradients and the translation to numba. The translation to JAX
is in `bayesrank.likelihoods.ops.jax_dispatch`.

===================  ==============================================================================
``kernel``           function of the inputs and then the `constants`, in numba or in Python
``signature``        axes of the inputs and of the first output in NumPy's notation, such as
                     ``"(r,s),(r,s)->(r)"``; see `bayesrank.likelihoods.ops.signatures`. Lengths
                     are compared before every call of a kernel
``or_length``        axes that may also have another length, such as 0 for an absent input
``version``          increase it whenever the kernel, or a function that it calls, returns other
                     numbers: PyTensor caches machine code and does not inspect imported functions
``wrt``              positions of the inputs by which the Op is differentiated
``graph``            the first output as a PyTensor graph for JAX; without a graph, JAX calls the
                     kernel on the host
``pullback_kernel``  see below
===================  ==============================================================================

An Op computes its gradient in one of two ways:

* *Value and gradient in one pass*: the first output has one entry, or each entry depends on one row
  of the inputs `wrt`. The kernel returns the value, and then the gradient of the sum for each of
  `wrt`. A pullback multiplies the gradient by the cotangent, row by row.
* *A pullback kernel*: every output depends on every input. ``pullback_kernel`` takes the inputs and
  the cotangent, and returns a gradient for each of `wrt`. A separate Op, `Pullback`, evaluates it.

`SecondDerivatives` computes second derivatives as differences of the gradient.

>>> import numba, pytensor
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
import importlib
import inspect
import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
from numba.core.dispatcher import Dispatcher
from pytensor.compile.mode import optdb
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.op import Op
from pytensor.graph.rewriting.basic import graph_rewriter
from pytensor.link.numba.cache import compile_numba_function_src
from pytensor.link.numba.dispatch.basic import (
    default_hash_key_from_props,
    generate_fallback_impl,
    numba_njit,
    register_funcify_and_cache_key,
    register_funcify_default_op_cache_key,
)
from pytensor.tensor import TensorVariable

from bayesrank.likelihoods.ops.signatures import (
    Alternatives,
    LengthError,
    Rule,
    axes_of,
    check,
    matches_signature,
    output_shape,
    rules_of,
    write_message,
)

__all__ = ["CompiledOp", "FirstInput", "KernelOp", "Pullback", "SecondDerivatives"]


@functools.cache  # lengths are compared at every evaluation, and reading a signature takes longer
def _parameter_names(function: Callable[..., Any]) -> list[str]:
    return [*inspect.signature(function).parameters]


class KernelOp(Op):
    """An Op with one output that a kernel evaluates; subclasses may add a gradient."""

    __props__: tuple[str, ...] = ()
    kernel: Callable[..., Any]
    signature: str
    or_length: Alternatives = ()
    version: int = 1
    dtype: str = "float64"
    wrt: tuple[int, ...] = ()

    @property
    def constants(self) -> tuple[int, ...]:
        """The arguments of the kernel after the inputs, integers or truth values."""
        return ()

    def make_node(self, *inputs: Any) -> Apply:
        variables = [pt.as_tensor_variable(x) for x in inputs]
        if not matches_signature(self.signature, [x.ndim for x in variables]):
            raise TypeError(
                f"{type(self).__name__} takes inputs with the axes "
                f"{self.signature.split('->')[0]}; got {[x.ndim for x in variables]} dimensions."
            )
        self.check([x.type.shape for x in variables])
        return Apply(self, variables, self.output_types(variables))

    def output_types(self, inputs: Sequence[Any]) -> list[Any]:
        """Return the types of the outputs, with the lengths that are known."""
        shape = output_shape(self.signature, [x.type.shape for x in inputs])
        return [pt.tensor(dtype=self.dtype, shape=shape)]

    @property
    def input_names(self) -> list[str]:
        """The names of the kernel's parameters."""
        return _parameter_names(getattr(self.kernel, "py_func", self.kernel))

    def rules(self) -> list[Rule]:
        """List which lengths of the inputs must agree."""
        return rules_of(self.signature, self.or_length)

    def check(self, shapes: Sequence[Any]) -> None:
        """Raise `LengthError` if known lengths of the inputs disagree."""
        check(self.rules(), shapes, self.input_names)

    def in_jax(self) -> Callable[..., Any] | None:
        """Return the function for JAX, or None if JAX calls the kernel on the host."""
        return None

    def call(self, *inputs: Any) -> Any:
        """Compare the lengths of the arrays and call the kernel."""
        self.check([x.shape for x in inputs])
        return self.kernel(*map(_plain, inputs), *self.constants)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[Any]) -> None:
        found = self.call(*inputs)
        found = found if len(output_storage) > 1 else [found]
        for storage, value in zip(output_storage, found, strict=True):
            storage[0] = value

    def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
        return [output_shape(self.signature, shapes)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[i in self.wrt] * len(node.outputs) for i in range(len(node.inputs))]

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        return [disconnected_type() for _ in inputs]


class CompiledOp(KernelOp):
    """A `KernelOp` with a gradient, and usually an equivalent graph."""

    wrt: tuple[int, ...] = (0,)
    default_output = 0
    pullback_kernel: Any = None  # None: the kernel returns the gradients

    def graph(self, *inputs: Variable) -> TensorVariable | None:
        """Return the first output as a graph of the inputs; without one, JAX calls the kernel."""
        return None

    def shortcut(self, *inputs: Variable) -> tuple[TensorVariable, TensorVariable] | None:
        """Return a condition under which a cheaper graph is equivalent, and that graph, or None.

        JAX evaluates the condition every time, so data may be replaced.
        """
        return None

    @property
    def gradients(self) -> tuple[int, ...]:
        """Positions of the inputs whose gradients are outputs."""
        return self.wrt if self.pullback_kernel is None else ()

    def output_types(self, inputs: Sequence[Any]) -> list[Any]:
        return [*super().output_types(inputs), *(inputs[i].type() for i in self.gradients)]

    def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
        return [*super().infer_shape(node, shapes), *(shapes[i] for i in self.gradients)]

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        if self.pullback_kernel is not None:
            by = Pullback(self)(*inputs, cotangents[0], return_list=True)
        else:
            by = self._pull_in_one_pass(inputs, outputs, cotangents)
        return _at_positions(self.wrt, by, len(inputs))

    def _pull_in_one_pass(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        bar, *slope_bars = cotangents
        terms = []
        if _connected(bar):
            terms.append([_by_row(bar, slope) * slope for slope in outputs[1:]])
        if any(map(_connected, slope_bars)):
            one = pt.ones_like(outputs[0])
            terms.append(second_derivatives(self, inputs, one, slope_bars)[1:])
        # no zeros, because JAX would have to know their shapes
        return [functools.reduce(operator.add, term) for term in zip(*terms, strict=True)]


class Pullback(KernelOp):
    """Pull the cotangent of a `CompiledOp` back to its inputs `wrt`, by its pullback kernel.

    Inputs: the inputs of the Op, then the cotangent. Outputs: one gradient for each of `wrt`.
    """

    __props__ = ("name", "props")  # strings and numbers, from which PyTensor makes the cache key

    def __init__(self, forward: CompiledOp) -> None:
        self.forward = forward
        self.name = f"{type(forward).__module__}.{type(forward).__qualname__}"
        self.props = tuple(getattr(forward, prop) for prop in forward.__props__)
        self.version, self.kernel = forward.version, forward.pullback_kernel
        inputs, output = forward.signature.split("->")
        self.signature, self.or_length = f"{inputs},{output}->()", forward.or_length
        self.wrt = (*forward.wrt, len(axes_of(forward.signature)[0]))

    @property
    def constants(self) -> tuple[Any, ...]:
        return self.forward.constants

    def output_types(self, inputs: Sequence[Any]) -> list[Any]:
        return [inputs[i].type() for i in self.forward.wrt]

    def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
        return [shapes[i] for i in self.forward.wrt]

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        *given, bar = inputs
        along, *bends = second_derivatives(self.forward, given, bar, cotangents)
        return _at_positions(self.wrt, [*bends, along], len(inputs))


class SecondDerivatives(Op):
    r"""Change of a `CompiledOp` and of its gradients along a direction, by central differences.

    With the first output f, its cotangent b and the direction v of the inputs x that are `wrt`,
    the outputs are

    .. math:: J v \quad\text{and}\quad \sum_r b_r \nabla^2 f_r \, v, \qquad
              J_{rk} = \partial f_r / \partial x_k .

    Inputs: the inputs of the Op, the cotangent, and a direction for each of `wrt`. Outputs: one
    like f, and one for each of `wrt`. Relative errors are about 1e-7. JAX differentiates the graph
    instead.
    """

    __props__ = ("forward",)

    def __init__(self, forward: CompiledOp) -> None:
        self.forward = forward

    def make_node(self, *inputs: Any) -> Apply:
        bar = inputs[-1 - len(self.forward.wrt)]
        return Apply(self, [*inputs], [bar.type(), *(inputs[i].type() for i in self.forward.wrt)])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[Any]) -> None:
        n = len(self.forward.wrt)
        *given, bar = inputs[:-n]
        directions = inputs[-n:]
        finite = [np.abs(v[np.isfinite(v)]).max(initial=0.0) for v in directions]
        step = STEP / max(1.0, *finite)
        with np.errstate(invalid="ignore"):  # NaN stays in its row
            ahead, behind = (self._at(given, bar, directions, h) for h in (step, -step))
        for storage, more, less in zip(output_storage, ahead, behind, strict=True):
            # equal infinities do not change
            change = np.subtract(more, less, out=np.zeros_like(more), where=more != less)
            storage[0] = np.asarray(change / (2 * step))

    def _at(
        self, given: Sequence[Any], bar: Any, directions: Sequence[Any], step: float
    ) -> list[Any]:
        """Value and weighted gradients one step away."""
        moved = [*given]
        for i, v in zip(self.forward.wrt, directions, strict=True):
            moved[i] = given[i] + step * v
        found = self.forward.call(*moved)
        if self.forward.pullback_kernel is None:
            value, *slopes = map(np.asarray, found)
            return [value, *(_by_row(bar, slope) * slope for slope in slopes)]
        by = Pullback(self.forward).call(*moved, bar)
        return [np.asarray(found), *(by if len(directions) > 1 else [by])]

    def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
        bar = shapes[-1 - len(self.forward.wrt)]
        return [bar, *(shapes[i] for i in self.forward.wrt)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False] * len(node.outputs) for _ in node.inputs]


STEP = 1e-4  # of the largest entry of a direction


def second_derivatives(
    op: CompiledOp, inputs: Sequence[Any], bar: Any, directions: Sequence[Any]
) -> list[TensorVariable]:
    """Return the outputs of `SecondDerivatives`; disconnected directions are zero."""
    along = [
        v if _connected(v) else pt.zeros_like(inputs[i])
        for i, v in zip(op.wrt, directions, strict=True)
    ]
    return SecondDerivatives(op)(*inputs, bar, *along, return_list=True)


def _connected(cotangent: Any) -> bool:
    return not isinstance(cotangent.type, DisconnectedType)


def _at_positions(positions: Sequence[int], by: Sequence[Any], n_inputs: int) -> list[Any]:
    """List a gradient for every input; inputs at other positions are disconnected."""
    found = dict(zip(positions, by, strict=True))
    return [found.get(i, disconnected_type()) for i in range(n_inputs)]


class FirstInput(Op):
    """Identity of the first input: the base of Ops that matter only to rewrites and gradients."""

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
    """Return a contiguous, writeable array; numba compiles again for any other array."""
    return x if x.flags.c_contiguous and x.flags.writeable else np.array(x, order="C")


def _by_row(bar: Any, slope: Any) -> Any:
    """Give `bar`, one number per row, the axes of `slope`."""
    return bar[(..., *[None] * (slope.ndim - bar.ndim))] if slope.ndim > bar.ndim else bar


@register_funcify_and_cache_key(KernelOp)
def _numba_kernel(op: KernelOp, node: Apply, **kwargs: Any) -> tuple[Any, str | None]:
    """Write a function that compares lengths and calls the kernel; return it with its cache key.

    Constants are written into the source, so that LLVM can simplify the kernel. They have the types
    that they have in calls from Python, so that numba compiles the kernel once for both. A kernel
    in plain Python is called directly.
    """
    if not isinstance(op.kernel, Dispatcher):
        return _in_python(op, node)
    names = [f"x{i}" for i in range(len(node.inputs))]
    constants = [f"bool({x:d})" if isinstance(x, bool) else f"np.int64({x})" for x in op.constants]
    given = [*(f"np.ascontiguousarray({x})" for x in names), *constants]
    for i, x in enumerate(node.inputs):
        if x.ndim == 0:  # NumPy would turn it into a vector
            given[i] = names[i]
    checks = [_as_source(op, rule) for rule in op.rules()]
    body = "\n".join([*checks, f"    return kernel({', '.join(given)})"])
    text = f"def compiled({', '.join(names)}):\n{body}\n"
    known = {"kernel": op.kernel, "np": np, "LengthError": LengthError, "__name__": __name__}
    compiled = compile_numba_function_src(text, "compiled", known)
    digest = hashlib.sha256(text.encode()).hexdigest()
    key = default_hash_key_from_props(op, cache_version=op.version, text=digest)
    return numba_njit(compiled), key


@register_funcify_and_cache_key(SecondDerivatives)
def _in_python(op: Op, node: Apply, **kwargs: Any) -> tuple[Any, None]:
    """Call `perform` from compiled code; PyTensor does so by default, with a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return generate_fallback_impl(op, node=node), None


def _as_source(op: KernelOp, rule: Rule) -> str:
    """Write the check of a rule as Python source, for a compiled function."""
    found = f"x{rule.which}.shape[{rule.axis}]"
    other = "0" if rule.as_of is None else f"x{rule.as_of}.shape[{rule.as_axis}]"
    terms = [f"{found} != {other} + {rule.more}"]
    if rule.allowed is not None:
        terms += [f"{x} != {rule.allowed}" for x in ([found, other] if rule.either else [found])]
    text = write_message(rule, op.input_names)
    return f"    if {' and '.join(terms)}:\n        raise LengthError({text!r}, {found}, {other})"


@register_funcify_default_op_cache_key(FirstInput)
def _numba_first(op: FirstInput, node: Apply, **kwargs: Any) -> tuple[Any, int]:
    @numba_njit
    def first(x, *others):  # type: ignore[no-untyped-def]
        return x

    return first, 2


@graph_rewriter
def translate_to_jax(fgraph: FunctionGraph) -> None:
    """Register the translations when JAX's mode first needs them; importing JAX takes a second."""
    importlib.import_module("bayesrank.likelihoods.ops.jax_dispatch")


optdb.register("translate_to_jax", translate_to_jax, "jax", position=-1)
