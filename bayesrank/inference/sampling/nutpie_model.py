"""Models for nutpie whose C functions numba caches on disk.

In every process, nutpie compiles a C function around PyTensor's function, which takes half a second
for each array of data. Here the source of the C function depends only on the model, and the data
are behind pointers, so numba can load it from disk. This uses a private constructor of nutpie. With
another version or constructor, nutpie's public function compiles the model: sampling then starts
later, and nothing else changes.
"""

import ctypes
import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numba
import numpy as np
import nutpie
import pandas as pd
import pymc as pm
import pytensor
import pytensor.tensor as pt
from numba.core import cgutils
from numpy.typing import NDArray
from pymc.initial_point import make_initial_point_fn
from pytensor.link.numba.cache import CACHED_SRC_FUNCTIONS, compile_numba_function_src

from bayesrank.inference.approximation.modes import density_with_slope, join_inputs

__all__ = ["CompiledDensity", "compile_density", "list_shown_variables", "nutpie_model"]

KNOWN = "0.16."  # versions of nutpie that call C functions with these arguments
VERSION = 2  # increase when the sources below change results

# `tables` holds the addresses of two tables, with the addresses and shapes of the data of the
# density and of the values. A positive return code tells nutpie that a point is invalid. Numbers
# are copied one by one: an assignment to a slice would compile for longer than everything else.
DENSITY = """
def compiled(size, x, slope, density, tables):
    try:
        at = carray(x, (np.int64(size),))
        value, gradient = evaluate(at, carray(tables, (2,))[0])
        out = carray(slope, at.shape)
        carray(density, (1,))[0] = value.item()
        for i in range(out.size):
            out[i] = gradient[i]
            if not np.isfinite(out[i]):
                return 3
        if not np.isfinite(value.item()):
            return 4
    except Exception:
        return 1
    return 0
"""
VALUES = """
def compiled(size, n_values, x, values, tables):
    try:
        at = carray(x, (np.int64(size),))
        found = evaluate(at, carray(tables, (2,))[1])[0]
        out = carray(values, (np.int64(n_values),))
        if found.size != out.size:
            return -2
        for i in range(out.size):
            out[i] = found[i]
    except Exception:
        return -2
    return 0
"""
_SIZE, _CODE = numba.types.uint64, numba.types.int64
_NUMBERS = numba.types.CPointer(numba.types.double)
_TABLES = numba.types.CPointer(numba.types.uintp)
TYPES = {
    DENSITY: (_SIZE, _NUMBERS, _NUMBERS, _NUMBERS, _TABLES),
    VALUES: (_SIZE, _SIZE, _NUMBERS, _NUMBERS, _TABLES),
}


def nutpie_model(
    model: pm.Model, initvals: Mapping[str, Any], density: "CompiledDensity | None" = None
) -> Any:
    """Compile a model for `nutpie.sample`, or load what another process compiled.

    Parameters
    ----------
    model : pm.Model
    initvals : mapping
        Values of free variables at which all chains start.
    density : CompiledDensity, optional
        From `compile_density`, if it is compiled already.
    """
    if nutpie.__version__.startswith(KNOWN):
        try:
            from nutpie.compile_pymc import CompiledPyMCModel
        except ImportError:
            pass
        else:
            arguments = _arguments(model, initvals, density or compile_density(model))
            try:
                return CompiledPyMCModel(**arguments)
            except TypeError:  # the constructor has other arguments
                pass
    return nutpie.compile_pymc_model(
        model,
        initial_points=dict(initvals),
        jitter_rvs=_jittered(model, initvals),
        default_initialization_strategy="support_point",
    )


def compile_density(model: pm.Model) -> "CompiledDensity":
    """Compile the log density of the free variables, ravelled, with its gradient.

    Examples
    --------
    >>> with pm.Model() as model:
    ...     x = pm.Normal("x", 0, [1.0, 2.0])
    >>> density = compile_density(model)
    >>> density(np.array([1.0, 2.0]))[1]
    array([-1. , -0.5])
    """
    outputs, at = join_inputs(model.initial_point(), density_with_slope(model), model.value_vars)
    return CompiledDensity(at, outputs, DENSITY)


def list_shown_variables(model: pm.Model) -> list[Any]:
    """Return the values of free variables and deterministics, without transformed variables."""
    names = {rv.name for rv in model.unobserved_RVs}
    return [x for x in model.unobserved_value_vars if x.name in names]


class CFunction:
    """A function of a vector that nutpie can call in several threads at a time.

    Parameters
    ----------
    at : TensorVariable
        The vector.
    outputs : list of TensorVariable
        Outputs that depend on the vector and on data.
    text : str
        `DENSITY` or `VALUES`.
    """

    def __init__(self, at: Any, outputs: list[Any], text: str) -> None:
        # numba inlines differently in a process that loads from the cache. Without contraction of
        # products and sums, draws are the same
        with pytensor.config.change_flags(numba__fastmath=False):
            function = pm.compile([at], outputs, mode="NUMBA", trust_input=True)
            data = [np.array(x.get_value(), order="C") for x in function.get_shared()]
            self.compiled = _compile(function.vm.jit_fn, text, data)
        self.data = data  # keep a reference, because the table points to the arrays
        addresses = [number for x in data for number in (x.ctypes.data, *x.shape)]
        self.table = np.array(addresses, dtype=np.uintp)

    @property
    def address(self) -> int:
        """Address of the machine code, which nutpie reads."""
        return int(self.compiled.address)


class CompiledDensity(CFunction):
    """The log density with its gradient, called with the variables in the sampler's space, (n,).

    It returns minus infinity and NaN if the density or its gradient is not finite.
    """

    def __call__(self, x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Evaluate the log density and its gradient."""
        x = np.ascontiguousarray(x, dtype=np.float64)
        slope, density = np.empty_like(x), np.empty(1)
        tables = np.array([self.table.ctypes.data, 0], dtype=np.uintp)
        arrays = [array.ctypes.data for array in (x, slope, density, tables)]
        call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_uint64, *[ctypes.c_void_p] * len(arrays))
        failed = call(self.address)(x.size, *arrays)
        return (-np.inf, np.full_like(x, np.nan)) if failed else (float(density[0]), slope)


def _compile(inner: Any, text: str, data: Sequence[NDArray[Any]]) -> Any:
    """Compile a C function around PyTensor's, with a cache key that all processes share."""
    caller, types = _caller(data), {f"type{k}": x.dtype for k, x in enumerate(data)}
    known = {
        "__name__": __name__, "np": np, "carray": numba.carray, "pointer": _pointer,
        "uintp": np.dtype(np.uintp), "inner": inner, **types,
    }  # fmt: skip
    known["evaluate"] = numba.njit(compile_numba_function_src(caller, "evaluate", known, {}))
    key = CACHED_SRC_FUNCTIONS.get(inner.py_func)
    if key is not None:
        digest = hashlib.sha256(f"{VERSION} {__name__} {key} {text} {caller} {types}".encode())
        key = f"nutpie_{digest.hexdigest()}"
    function = compile_numba_function_src(text, "compiled", known, {}, cache_key=key)
    return numba.cfunc(_CODE(*TYPES[text]), cache=key is not None)(function)


def _caller(data: Sequence[NDArray[Any]]) -> str:
    """Write a function that calls `inner` with a vector and the data of a table."""
    given, begin = ["at"], 0
    for k, x in enumerate(data):
        shape = "".join(f"np.int64(table[{begin + 1 + d}]), " for d in range(x.ndim))
        given.append(f"carray(pointer(table[{begin}]), ({shape}), type{k})")
        begin += 1 + x.ndim
    return (
        "def evaluate(at, address):\n"
        f"    table = carray(pointer(address), ({begin},), uintp)\n"
        f"    return inner({', '.join(given)})\n"
    )


@numba.extending.intrinsic
def _pointer(_: Any, address: Any) -> Any:
    """Turn an integer into a pointer."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], cgutils.voidptr_t)

    return numba.types.voidptr(address), generate


def _arguments(
    model: pm.Model, initvals: Mapping[str, Any], density: CompiledDensity
) -> dict[str, Any]:
    """Return the arguments of nutpie's constructor."""
    point, shown = model.initial_point(), list_shown_variables(model)
    names = [x.name for x in shown]
    shapes = [tuple(map(int, shape)) for shape in _shapes(model, shown, point)]
    ends = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)])
    values = pt.concatenate([pt.cast(x, "float64").ravel() for x in shown])
    outputs, at = join_inputs(point, [values], model.value_vars)
    expand = CFunction(at, outputs, VALUES)
    all_dims = model.named_vars_to_dims
    dims = {name: all_dims[name] for name in names if name in all_dims}
    sizes = zip(names, shapes, strict=True)
    lengths = {
        d: n for name, shape in sizes for d, n in zip(dims.get(name, ()), shape, strict=False)
    }
    return {
        "_n_dim": sum(np.size(point[x.name]) for x in model.value_vars),
        "dims": dims,
        "_coords": {
            dim: pd.RangeIndex(n) for dim, n in lengths.items()
        },  # `sample` sets the labels
        "_shapes": dict(zip(names, shapes, strict=True)),
        "compiled_logp_func": density,
        "compiled_expand_func": expand,
        "initial_point_func": _start(model, initvals),
        "shared_data": {},
        "shared_var_keys": {},
        "user_data": np.array([density.table.ctypes.data, expand.table.ctypes.data], np.uintp),
        "n_expanded": int(ends[-1]),
        "shape_info": (names, [slice(*both) for both in pairwise(ends)], shapes),
        "logp_func": None,
        "expand_func": None,
    }


def _jittered(model: pm.Model, initvals: Mapping[str, Any]) -> set[Any]:
    """Return the variables with random starting values."""
    return {rv for rv in model.free_RVs if rv.name not in initvals}


def _start(model: pm.Model, initvals: Mapping[str, Any]) -> Callable[[int], NDArray[np.float64]]:
    """Return a function from a seed to the starting point of a chain."""
    initial = make_initial_point_fn(
        model=model,
        overrides=dict(initvals),
        default_strategy="support_point",
        jitter_rvs=_jittered(model, initvals),
        return_transformed=True,
    )
    lock = threading.Lock()  # compiled functions store their results

    def start(seed: int) -> NDArray[np.float64]:
        with lock:
            begin = initial(seed)
        parts = [np.ravel(begin[x.name]) for x in model.value_vars]
        return np.concatenate(parts).astype(np.float64)

    return start


def _shapes(model: pm.Model, variables: list[Any], point: Mapping[str, Any]) -> list[Any]:
    """Evaluate the shapes of variables."""
    shapes = [pt.as_tensor(x.shape, dtype="int64", ndim=1) for x in variables]
    compiled = pm.compile(model.value_vars, shapes, mode="FAST_COMPILE", on_unused_input="ignore")
    return compiled(*(point[x.name] for x in model.value_vars))
