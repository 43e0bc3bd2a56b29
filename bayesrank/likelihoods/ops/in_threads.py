r"""Large sums in threads, for evaluations beside which nothing else runs, such as those of a mode.

Samplers use all cores by running chains side by side; a search for a mode evaluates one density
after another. `threaded_mode` is the mode in which such a density is compiled: where an Op has a
`Division`, many entries, and numba more threads than one (``NUMBA_NUM_THREADS``,
`numba.set_num_threads`), it becomes `InThreads`, which divides its rows into parts, evaluates them
by the same kernel, and adds up or joins what they give. How many parts there are depends on the
data and the number of threads, and sums are taken in their order, so that results are the same to
the last bit, whichever thread takes a part.

The threads are Python's, and the kernels leave Python's lock. Those of numba's own parallel loops
do not go with samplers: its own pool must not be entered by two threads at a time, and a process in
which OpenMP's have run must not fork. Ours end with the evaluation that starts them, which costs
some 0.05 ms, and need no further compilation than the call from compiled code to Python.

>>> parts_of(entries=1_000, rows=10, part=250, summed=0, n_threads=3)
[(0, 1), (1, 3), (3, 5), (5, 6), (6, 8), (8, 10)]
>>> evaluate_parts(lambda first, last: last - first, [(0, 3), (3, 6), (6, 10)], n_threads=2)
[3, 3, 4]
"""

import itertools
import math
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numba
import numpy as np
from pytensor.compile.mode import Mode, get_mode
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.rewriting.basic import WalkingGraphRewriter, node_rewriter
from pytensor.graph.traversal import graph_inputs
from pytensor.link.basic import JITLinker
from pytensor.link.numba.dispatch.basic import register_funcify_and_cache_key
from pytensor.link.numba.linker import NumbaLinker

from bayesrank.likelihoods.ops.by_address import by_address
from bayesrank.likelihoods.ops.compiled import KernelOp, as_numba, numba_types

__all__ = ["InThreads", "evaluate_parts", "n_threads", "parts_of", "threaded_mode"]

FEWEST = 4  # parts that the entries must be enough for; below that no thread is started
SUMMED = 4_096  # numbers that a part can write, and another pass add, in a twentieth of its time
LAST = 90.0  # position of the rewrite: after all others, which know the Ops by their names

Bounds = list[tuple[int, int]]


def threaded_mode() -> Mode:
    """Return the default mode, in which large Ops are `InThreads` if there are threads for them.

    For densities that are evaluated one at a time, and not by samplers, whose chains have the
    cores.
    """
    mode = get_mode(None)
    elsewhere = isinstance(mode.linker, JITLinker) and not isinstance(mode.linker, NumbaLinker)
    if elsewhere or n_threads() == 1:
        return mode
    return mode.register((WalkingGraphRewriter(large_ones_in_threads), LAST))


def n_threads() -> int:
    """How many threads numba may use here: its own number, or what this thread has been allowed."""
    try:
        numba.threading_layer()
    except ValueError:  # asking numba for the number would start its own threads
        return numba.config.NUMBA_NUM_THREADS
    return numba.get_num_threads()


@node_rewriter([KernelOp])
def large_ones_in_threads(fgraph: FunctionGraph, node: Apply) -> list[Any] | None:
    """Op(...) -> InThreads(Op)(...), where it has a division and the data may be enough for it."""
    division = node.op.division
    if division is None:
        return None
    if node.op.n_entries([_size(x) for x in node.inputs]) < FEWEST * division.part:
        return None
    return InThreads(node.op)(*node.inputs, return_list=True)


def _size(x: Variable) -> int:
    """How many entries a variable has, being data, or what it is made of has at most."""
    data = [x] if isinstance(x, SharedVariable | Constant) else list(graph_inputs([x]))
    shared = [y.get_value(borrow=True) for y in data if isinstance(y, SharedVariable)]
    constant = [y.data for y in data if isinstance(y, Constant)]
    return max((np.size(value) for value in [*shared, *constant]), default=0)


class InThreads(KernelOp):
    """What another Op gives, part by part in threads where it has many entries.

    It comes into a graph when all else is rewritten, and has no gradient.

    Parameters
    ----------
    op : KernelOp
        One with a `Division`.
    """

    __props__ = ("name", "props")

    def __init__(self, op: KernelOp) -> None:
        self.op = op
        self.name = f"{type(op).__module__}.{type(op).__qualname__}"
        self.props = tuple(getattr(op, prop) for prop in op.__props__)
        self.signature, self.or_length = op.signature, op.or_length
        self.version, self.dtype = op.version, op.dtype

    def output_types(self, inputs: Sequence[Any]) -> list[Any]:
        return self.op.output_types(inputs)

    def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
        return self.op.infer_shape(node, shapes)

    @property
    def input_names(self) -> list[str]:
        return self.op.input_names

    @property
    def kernel(self) -> Callable[..., Any]:  # type: ignore[override]
        """What `perform` calls."""
        return partial(self.evaluate, lambda *inputs: self.op.kernel(*inputs, *self.op.constants))

    def evaluate(self, kernel: Callable[..., Any], *inputs: Any) -> Any:
        """Evaluate by a kernel of the inputs, which is what the Op has or compiled from it."""
        threads = n_threads()
        if self.op.in_parts is not None:
            found = self.op.in_parts(partial(_each, threads), *inputs)
            if found is not None:
                return found
        division: Any = self.op.division
        taken, given = self.op.axes()
        length = {
            axis: n
            for axes, x in zip(taken, inputs, strict=True)
            for axis, n in zip(axes, x.shape, strict=True)
        }
        n_rows = max(length[axis] for axis in division.rows)
        of_rows = {axis for axis in division.rows if length[axis] == n_rows}
        shapes = [[length[axis] for axis in axes] for axes in given]
        joined = [not of_rows.isdisjoint(axes) for axes in given]
        summed = sum(math.prod(n) for n, rows in zip(shapes, joined, strict=True) if not rows)
        n_entries = self.op.n_entries([x.size for x in inputs], n_rows)
        bounds = parts_of(n_entries, n_rows, division.part, summed, threads)
        if len(bounds) == 1:
            return kernel(*inputs)

        out = [np.empty(n) if rows else np.zeros(n) for n, rows in zip(shapes, joined, strict=True)]

        def evaluate_part(first: int, last: int) -> list[Any]:
            """Write what is of these rows, and return what is of all."""
            of_part = (
                _take(x, axes, of_rows, first, last) for x, axes in zip(inputs, taken, strict=True)
            )
            values = kernel(*of_part)
            values = values if len(out) > 1 else [values]
            for whole, value, rows in zip(out, values, joined, strict=True):
                if rows:
                    whole[first:last] = value
            return [value for value, rows in zip(values, joined, strict=True) if not rows]

        found = evaluate_parts(evaluate_part, bounds, threads)
        totals = [whole for whole, rows in zip(out, joined, strict=True) if not rows]
        for values in found:
            for total, value in zip(totals, values, strict=True):
                total += value
        return tuple(out) if len(out) > 1 else out[0]


def _take(x: Any, axes: Sequence[str], rows: set[str], first: int, last: int) -> Any:
    """Take some rows, if it has any, in one piece."""
    place = next((k for k, axis in enumerate(axes) if axis in rows), None)
    if place is None:
        return x
    return np.ascontiguousarray(x[(*[slice(None)] * place, slice(first, last))])


def _each(
    n_threads: int,
    task: Callable[[int, int], Any],
    rows: int,
    entries: int,
    part: int,
    summed: int,
) -> list[Any]:
    """Evaluate a task for as many parts as the entries are enough for."""
    return evaluate_parts(task, parts_of(entries, rows, part, summed, n_threads), n_threads)


def parts_of(entries: int, rows: int, part: int, summed: int, n_threads: int) -> Bounds:
    """Where parts begin and end.

    Parameters
    ----------
    entries : int
        How many there are.
    rows : int
        What is divided.
    part : int
        Entries of a part at least.
    summed : int
        Numbers that each part has for all rows, and that are added up afterwards. Parts are larger
        where these are more than `SUMMED`.
    n_threads : int
        How many threads there are for them.

    Returns
    -------
    list of pairs of int
        The first row, and the one after the last, of each.
    """
    n_parts = min(entries // (part * max(SUMMED, summed) // SUMMED), rows)
    if n_threads == 1 or n_parts < 2 or entries < FEWEST * part:
        return [(0, rows)]
    busy = min(n_parts, n_threads)
    n_parts = min(rows, busy * math.ceil(n_parts / busy))  # as many for each
    ends = [rows * k // n_parts for k in range(n_parts + 1)]
    return [*itertools.pairwise(ends)]


def evaluate_parts(task: Callable[[int, int], Any], bounds: Bounds, n_threads: int) -> list[Any]:
    """Evaluate a task of the first row and the one after the last, in the order of the parts.

    This thread takes parts as well, and whoever has done one takes the next, so that a core which
    has other things to do is not waited for.
    """
    left = deque(enumerate(bounds))
    found: list[Any] = [None] * len(bounds)
    if len(bounds) == 1:
        return [task(*bounds[0])]

    def work() -> None:
        while left:
            try:
                k, (first, last) = left.popleft()
            except IndexError:  # another thread was quicker
                return
            try:
                found[k] = task(first, last)
            except BaseException:
                left.clear()
                raise

    with ThreadPoolExecutor(max(1, n_threads - 1)) as pool:
        others = [pool.submit(work) for _ in range(min(n_threads, len(bounds)) - 1)]
        work()
        for other in others:
            other.result()
    return found


# ---------------------------------------------------------------------------------------------
# Compiled code
# ---------------------------------------------------------------------------------------------

_EVALUATE: dict[str, Callable[..., Any]] = {}  # by symbol of the kernel
_IN_PYTHON: dict[str, Any] = {}  # likewise; what is not kept, numba clears away with its code


def _evaluate(symbol: str, inputs: tuple[Any, ...]) -> Any:
    return _EVALUATE[symbol](*inputs)


@register_funcify_and_cache_key(InThreads)
def _numba_in_threads(op: InThreads, node: Apply, **kwargs: Any) -> tuple[Any, str]:
    kernel: Any = op.op.kernel
    types, constants = numba_types(op.op, node), op.op.constants
    _, symbol = by_address(kernel, types, f"{kernel.__module__}.{kernel.__qualname__}.{op.version}")
    compiled = kernel.overloads[tuple(types)]
    if symbol not in _IN_PYTHON:
        _EVALUATE[symbol] = partial(op.evaluate, lambda *x: compiled.entry_point(*x, *constants))
        _IN_PYTHON[symbol] = _in_python(symbol, len(node.inputs), compiled.signature.return_type)
    arrays = types[: len(node.inputs)]
    return as_numba(op, node, *by_address(_IN_PYTHON[symbol], arrays, f"in_threads.{symbol}"))


def _in_python(symbol: str, n_inputs: int, result: Any) -> Any:
    """Compile a call of what is evaluated in Python."""
    names = ", ".join(f"x{i}" for i in range(n_inputs))
    text = f"""
def in_python({names}):
    with objmode(found=result):
        found = _evaluate({symbol!r}, ({names},))
    return found
"""
    known: dict[str, Any] = {
        "_evaluate": _evaluate,  # where it runs, numba looks for this in the module of that name
        "objmode": numba.objmode,
        "result": result,
        "__name__": __name__,
    }
    exec(text, known)
    return numba.njit(known["in_python"])
