r"""Kernels that are called by their address: compiled once, whatever calls them.

Numba links the code of a function into every function that calls it, and LLVM optimises it there
anew. What PyTensor compiles is nested, a function in a scan in a function, so that a kernel of a
few hundred lines was optimised six times over for one matrix of second derivatives: most of a
minute. Behind an address it is machine code that is there already, in memory or from numba's cache.

The address goes by a symbol that is made of a name, with the `version` of the Op, and the types, so
that machine code that PyTensor has on disk finds it in another process. There the kernel must be
compiled before that code is loaded, and it is, for PyTensor asks every Op for its function first;
and the code must be of the same symbol, which is part of its key: what is not found is called all
the same, and ends the process.

>>> import numba
>>> @numba.njit
... def total_kernel(x, power):
...     return (x**power).sum()
>>> vector = numba.types.Array(numba.float64, 1, "C")
>>> total, symbol = by_address(total_kernel, [vector, numba.int64], "example_of_by_address")
>>> @numba.njit
... def twice(x):
...     return 2.0 * total(x, 2)
>>> twice(np.array([1.0, 3.0]))
20.0
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload

__all__ = ["by_address", "contiguous"]


def by_address(kernel: Any, inputs: Sequence[types.Type], name: str) -> tuple[Any, str]:
    """Compile a kernel, and return what other compiled functions call it by, and its symbol.

    Parameters
    ----------
    kernel : numba function
    inputs : sequence of numba types
        Arrays are in rows, as `contiguous` gives them.
    name : str
        Says which kernel of which version it is, the same in every process.

    Returns
    -------
    call : numba intrinsic
        For calls inside of compiled functions. Arrays may also be locked, and the rest anything
        that numba makes one of the types of.
    symbol : str
        What machine code has in place of the kernel.
    """
    wanted = tuple(inputs)
    kernel.compile(wanted)
    compiled = kernel.overloads[wanted]
    result = compiled.signature.return_type
    digest = hashlib.sha256(repr((wanted, result)).encode()).hexdigest()[:16]
    symbol = f"bayesrank_{''.join(c if c.isalnum() else '_' for c in name)}_{digest}"
    address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    llvm.add_symbol(symbol, address)

    @intrinsic
    def call(typing_context: Any, *given: Any) -> Any:
        given = given[0] if len(given) == 1 and isinstance(given[0], types.BaseTuple) else given
        taken = tuple(map(_as_given, given, wanted))
        if len(given) != len(wanted) or None in taken:
            raise TypingError(f"The kernel {name} takes {wanted}, and got {given}.")

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            (packed,) = values
            values = cgutils.unpack_tuple(builder, packed)
            kind = context.call_conv.get_function_type(result, wanted)
            function = cgutils.get_or_insert_function(builder.module, kind, symbol)
            status, value = context.call_conv.call_function(
                builder, function, result, wanted, values
            )
            with cgutils.if_unlikely(builder, status.is_error):
                context.call_conv.return_status_propagate(builder, status)
            return value

        return result(types.StarArgTuple(taken)), generate

    return call, symbol


def _as_given(given: Any, wanted: Any) -> Any:
    """Type to pass an argument as, of the same bits as what is wanted; None if there is none."""
    if not isinstance(wanted, types.Array):
        return wanted  # numba converts it
    same = isinstance(given, types.Array) and (given.dtype, given.ndim, given.layout) == (
        wanted.dtype,
        wanted.ndim,
        wanted.layout,
    )
    return given if same else None


def contiguous(x):  # type: ignore[no-untyped-def]
    """Return an array in rows, itself if it is one already; for compiled functions."""
    return np.ascontiguousarray(x)


@overload(contiguous, inline="always")
def _contiguous(x):  # type: ignore[no-untyped-def]  # numba compares the signatures as written
    if isinstance(x, types.Array) and x.layout != "C":
        return lambda x: np.ascontiguousarray(x)
    return lambda x: x
