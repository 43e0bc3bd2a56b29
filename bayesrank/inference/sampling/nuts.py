"""NUTS that is compiled once: by nutpie, of functions that numba keeps on disk.

`pymc.sample` has nutpie call a C function, which numba compiles around PyTensor's in every process
anew: 13 CPU seconds for Plackett-Luce, whatever is sampled. Here nutpie calls a C function whose
text depends on the model alone, so that numba loads it from disk in all processes but the first.

>>> import pymc as pm
>>> with pm.Model():
...     x = pm.Normal("x", 0, 1)
...     y = pm.Normal("y", x, 1, observed=3.0)
...     posterior = sample(draws=1000, chains=2, random_seed=1)
>>> bool(abs(posterior["posterior"]["x"].mean() - 1.5) < 0.2)
True
"""

import copy
import ctypes
import hashlib
import os
import threading
import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numba
import numpy as np
import nutpie
import pandas as pd
import pymc as pm
import pytensor
import pytensor.tensor as pt
import xarray as xr
from numba.core import cgutils
from numpy.typing import NDArray
from nutpie.compile_pymc import CompiledPyMCModel
from nutpie.compiled_pyfunc import from_pyfunc
from pymc.backends.arviz import coords_and_dims_for_inferencedata
from pymc.initial_point import make_initial_point_fn
from pytensor.link.numba.cache import CACHED_SRC_FUNCTIONS, compile_numba_function_src

from bayesrank.inference.approximation.modes import data_groups, density_with_slope, join_inputs
from bayesrank.inference.approximation.nested import FIRST_LOOK, Near, normal_near

__all__ = ["CFunction", "compile_density", "near_if_it_pays", "nuts_seconds", "sample"]

GLANCE = 0.02  # seconds between looks at how far the chains are


def sample(
    draws: int = 1000,
    *,
    tune: int = 1000,
    chains: int = 4,
    cores: int | None = None,
    random_seed: int | None = None,
    nuts: Mapping[str, Any] | None = None,
    initvals: Mapping[str, Any] | None = None,
    enough: Callable[[xr.Dataset], bool] | None = None,
    watch: Callable[[int, int], None] | None = None,
    progressbar: bool = False,
    model: pm.Model | None = None,
    density: "CFunction | None" = None,
    near: Near | None = None,
) -> xr.DataTree:
    """Sample a posterior by nutpie's NUTS, compiling once for all processes.

    The same model, data, settings and seed give the same draws, whether the model is compiled or
    was before. Another processor, or other versions of PyTensor, numba and nutpie, may round
    otherwise, and chains then part.

    Parameters
    ----------
    draws, tune : int
        Of each chain: draws, at most, and steps of tuning before them.
    chains : int
        How many chains.
    cores : int, optional
        Chains at a time; by default all that there are cores for, and with `enough` or `watch` all.
    random_seed : int, optional
        Of all draws; by default another one each time.
    nuts : mapping, optional
        Settings of the sampler, such as ``{"adaptation": "low_rank", "target_accept": 0.95}``.
    initvals : mapping, optional
        Values of free variables, in their own space, where all chains start, as of a mode that
        `find_kinds` found; the others start at random, near the centre of their prior.
    enough : callable, optional
        Given the posterior so far, says whether it suffices. It is asked when every chain has 250
        draws, 500, 1,000 and so on; the chains end there, as long as they would be by `draws`.
    watch : callable, optional
        Given the steps that all chains have made, and how many there may be: first when the model
        is compiled, and then time and again.
    progressbar : bool
        Whether to show how far the chains are.
    model : pm.Model, optional
        Default the model in context.
    density : CFunction, optional
        Of the model, from `compile_density`, if it is there already.
    near : Near, optional
        A normal distribution near the posterior, from `bayesrank.inference.normal_near`. Chains
        then move in its standard coordinates, where a posterior of many data is round: steps are
        several times as long, and need a hundred of tuning. What is sampled is the same.

    Returns
    -------
    DataTree
        As `pymc.sample` returns it: the groups posterior, sample_stats, constant_data and
        observed_data. After an interrupt (Ctrl-C) it has the draws that all chains have made.

    Raises
    ------
    ValueError
        If variables are discrete, which NUTS cannot sample.
    KeyboardInterrupt
        If an interrupt comes before every chain has a draw.

    Examples
    --------
    >>> with pm.Model():
    ...     x = pm.Normal("x", 0, 1)
    ...     y = pm.Normal("y", x, 1, observed=3.0)
    ...     posterior = sample(4000, chains=2, random_seed=1, enough=lambda draws: True)
    >>> posterior["posterior"].sizes["draw"]
    250
    """
    model = pm.modelcontext(model)
    discrete = [rv.name for rv in model.free_RVs if rv.dtype.startswith(("int", "uint", "bool"))]
    if discrete:
        raise ValueError(f"NUTS cannot sample {discrete}, which are discrete; pm.sample can.")
    start = time.perf_counter()
    sizes = {"draws": draws, "tune": tune, "chains": chains, "cores": cores}
    options = {**sizes, "seed": random_seed, "save_warmup": False, "progress_bar": progressbar}
    options |= nuts or {}
    compiled = _compiled(model, initvals or {}, density, near)
    if enough is None and watch is None:
        tree = nutpie.sample(compiled, **options)
    else:
        tree = _until(enough or _never, watch or _unseen, compiled, options)
    # Interrupted chains end in different places, and nutpie fills the shorter ones with NaN.
    made = int(np.isfinite(tree["sample_stats"]["step_size"]).all("chain").sum())
    if made == 0:
        raise KeyboardInterrupt
    tree = tree.isel(draw=slice(made))
    coords, _ = coords_and_dims_for_inferencedata(model)
    posterior = tree["posterior"].to_dataset()
    labels = {dim: coords[dim] for dim in posterior.dims if dim in coords}
    attrs = {"sampling_time": time.perf_counter() - start, "tuning_steps": tune}
    return xr.DataTree.from_dict(
        {
            "posterior": posterior.assign_coords(labels).assign_attrs(attrs),
            "sample_stats": tree["sample_stats"].to_dataset(),
            **data_groups(model),
        }
    )


# Gradients of a transition: of tuning, and after it, by the target of acceptance. Means were, with
# tuning first: NASCAR 12 and 8, sushi 36 and 18, 20,000 and 1,000,000 matches 11 and 11, 13 and 15,
# and with 300 judges 20 and 15; with the target 0.95, 4 judges 30 and 19, 25 judges 44 and 16.
STEPS = {False: (20, 15), True: (40, 18)}
SHORT = 0.9  # targets above it make short steps
CALL = 3e-6  # seconds that nutpie adds to a gradient
TIMED = 0.1  # seconds that gradients are timed for
LONG = 10.0  # seconds of sampling, below which coordinates are not worth looking for
ENTRY = 0.5e-9  # seconds that an entry of their matrix takes, there and back
KNOWN = "0.16."  # versions of nutpie that call C functions as here; others call Python
WIDE = 1.0  # standard deviations of a normal distribution near the posterior that chains start in


def nuts_seconds(
    model: pm.Model,
    *,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    cores: int | None = None,
    nuts: Mapping[str, Any] | None = None,
    density: "CFunction | None" = None,
) -> float:
    """Estimate how long `sample` would take at most, from the time of a gradient.

    How many gradients a transition needs depends on the posterior; those of rankings and matches
    with the settings of `bayesrank.leaderboard.nuts_settings` need some 20 in tuning and 15 after
    it, with a target of acceptance above 0.9 some 40 and 18. A posterior that is much longer in one
    direction than in others takes several times as long.

    Parameters
    ----------
    model : pm.Model
        Its log density is compiled, as `sample` does: that is most of what this costs.
    draws, tune, chains, cores, nuts
        As given to `sample`. Draws that end early, by `enough`, are fewer.
    density : CFunction, optional
        Of the model, from `compile_density`, if it is there already.

    Returns
    -------
    float
        Wall seconds without compilation, all processors being free.

    Examples
    --------
    >>> with pm.Model() as model:
    ...     x = pm.Normal("x", 0, 1)
    >>> one, four = (nuts_seconds(model, chains=n, cores=1) for n in (1, 4))
    >>> 0 < one < four < 60
    True
    """
    density = compile_density(model) if density is None else density
    in_tuning, after = STEPS[(nuts or {}).get("target_accept", 0.8) > SHORT]
    gradients = tune * in_tuning + draws * after
    at_a_time = min(chains, cores or os.cpu_count() or 1)
    return chains / at_a_time * gradients * (_gradient_seconds(model, density) + CALL)


def _gradient_seconds(model: pm.Model, density: Callable[[NDArray[np.float64]], Any]) -> float:
    """Time the log density with its gradient."""
    point = model.initial_point()
    at = np.concatenate([np.ravel(point[x.name]) for x in model.value_vars]).astype(np.float64)
    density(at)  # loads
    times: list[float] = []
    while sum(times) < TIMED or len(times) < 3:
        start = time.perf_counter()
        density(at)
        times.append(time.perf_counter() - start)
    return min(times)


def near_if_it_pays(model: pm.Model, density: "CFunction", seconds: float) -> Near | None:
    """Find a normal distribution near the posterior, if that saves more than it takes.

    Parameters
    ----------
    model : pm.Model
    density : CFunction
        Of the model, from `compile_density`.
    seconds : float
        What sampling would take without, from `nuts_seconds`.

    Returns
    -------
    Near or None
        For `sample`. None where sampling is short, where coordinates would take as long as
        gradients do, which is where data are few for each variable, and where there is none.
    """
    mapping = ENTRY * density.size**2
    if seconds < LONG or 2 * mapping > _gradient_seconds(model, density):
        return None
    try:
        return normal_near(model, density=density)
    except ValueError:
        return None


def _never(_: xr.Dataset) -> bool:
    return False


def _unseen(done: int, most: int) -> None: ...


def _until(
    enough: Callable[[xr.Dataset], bool],
    watch: Callable[[int, int], None],
    compiled: Any,
    options: Any,
) -> xr.DataTree:
    """Sample until the draws are enough, or all there may be."""
    n_chains, tune, most = options["chains"], options["tune"], options["draws"]
    steps = n_chains * (tune + most)
    done = [-tune] * n_chains

    def count(progress: list[Any]) -> None:
        done[:] = [chain.finished_draws - tune for chain in progress]

    watch(0, steps)

    # all chains at a time, or else some are over before others begin
    options = options | {"cores": n_chains, "blocking": False}
    sampler = nutpie.sample(compiled, progress_callback=count, progress_rate=20, **options)
    n = FIRST_LOOK
    try:
        while n < most:
            while min(done) < n and not _is_over(sampler):
                time.sleep(GLANCE)
                watch(sum(done) + n_chains * tune, steps)
            if min(done) >= n:
                so_far = sampler.inspect()["posterior"].to_dataset().isel(draw=slice(n))
                if enough(so_far):
                    return sampler.abort().isel(draw=slice(n))
            else:  # it has failed, and says why
                break
            n *= 2
        while not _is_over(sampler):
            time.sleep(GLANCE)
            watch(sum(done) + n_chains * tune, steps)
        return sampler.wait()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and min(done) > 0:
            return sampler.abort()
        sampler.cancel()
        raise


def _is_over(sampler: Any) -> bool:
    try:
        return bool(sampler.is_finished)
    except TimeoutError:  # it is busy
        return False


# ---------------------------------------------------------------------------------------------
# What nutpie calls
# ---------------------------------------------------------------------------------------------


def compile_density(model: pm.Model) -> "CFunction":
    """Compile the log density of the free variables, ravelled, with its gradient.

    Parameters
    ----------
    model : pm.Model
        What to compile, with the data that it has now.

    Returns
    -------
    CFunction
        For `nuts_seconds` and `sample`, so that what the one compiles the other has. Called with
        the variables in the space of the sampler, (n,), it returns the log density, minus infinity
        where it or its gradient is not finite, and the gradient, (n,), which then is NaN.

    Examples
    --------
    >>> with pm.Model() as model:
    ...     x = pm.Normal("x", 0, [1.0, 2.0])
    >>> density = compile_density(model)
    >>> density(np.array([1.0, 2.0]))[1]
    array([-1. , -0.5])
    """
    point = model.initial_point()
    outputs, flat = join_inputs(point, density_with_slope(model), model.value_vars)
    size = sum(np.size(point[x.name]) for x in model.value_vars)
    return CFunction(flat, outputs, DENSITY, size, size)


def _compiled(
    model: pm.Model,
    initvals: Mapping[str, Any],
    density: "CFunction | None" = None,
    near: "Near | None" = None,
) -> Any:
    """Compile the log density with its gradient, and what is derived from the variables."""
    density = compile_density(model) if density is None else density
    density = density.mapped(near)
    point = model.initial_point()
    inputs = model.value_vars
    names = {rv.name for rv in model.unobserved_RVs}
    shown = [x for x in model.unobserved_value_vars if x.name in names]  # without transformed ones
    shapes = [tuple(map(int, shape)) for shape in _shapes(model, shown, point)]
    ends = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)])
    values = pt.concatenate([pt.cast(x, "float64").ravel() for x in shown])
    outputs, flat = join_inputs(point, [values], inputs)
    expand = CFunction(flat, outputs, VALUES, density.size, int(ends[-1])).mapped(near)

    if near is None:
        initial = make_initial_point_fn(
            model=model,
            overrides=dict(initvals),
            default_strategy="support_point",
            jitter_rvs={rv for rv in model.free_RVs if rv.name not in initvals},
            return_transformed=True,
        )
    lock = threading.Lock()  # compiled functions hold what they compute

    def start(seed: int) -> NDArray[np.float64]:
        if near is not None:
            return WIDE * np.random.default_rng(seed).normal(size=density.size)
        with lock:
            begin = initial(seed)
        return np.concatenate([np.ravel(begin[x.name]) for x in inputs]).astype(np.float64)

    dims = {
        x.name: model.named_vars_to_dims[x.name]
        for x in shown
        if x.name in model.named_vars_to_dims
    }
    lengths = {
        dim: n
        for x, shape in zip(shown, shapes, strict=True)
        for dim, n in zip(dims.get(x.name, ()), shape, strict=False)
    }
    coords = {dim: pd.RangeIndex(n) for dim, n in lengths.items()}  # labels are put on after
    named = [x.name for x in shown]
    parts = [slice(*both) for both in pairwise(ends)]
    if nutpie.__version__.startswith(KNOWN):
        return CompiledPyMCModel(
            _n_dim=density.size,
            dims=dims,
            _coords=coords,
            _shapes=dict(zip(named, shapes, strict=True)),
            compiled_logp_func=density,
            compiled_expand_func=expand,
            initial_point_func=start,
            shared_data={},
            shared_var_keys={},
            user_data=np.array([density.table.ctypes.data, expand.table.ctypes.data], np.uintp),
            n_expanded=expand.n_out,
            shape_info=(named, parts, shapes),
            logp_func=None,
            expand_func=None,
        )

    def values_of(x: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        found = expand(x)
        return {
            name: found[part].reshape(shape)
            for name, part, shape in zip(named, parts, shapes, strict=True)
        }

    return from_pyfunc(
        density.size,
        lambda: density,
        lambda *_: values_of,
        [np.dtype("float64")] * len(shown),
        shapes,
        named,
        coords=coords,
        dims=dims,
        make_initial_point_fn=start,
    )


def _shapes(model: pm.Model, variables: list[Any], point: Mapping[str, Any]) -> list[Any]:
    """Evaluate the shapes of variables."""
    shapes = [pt.as_tensor(x.shape, dtype="int64", ndim=1) for x in variables]
    compiled = pm.compile(model.value_vars, shapes, mode="FAST_COMPILE", on_unused_input="ignore")
    return compiled(*(point[x.name] for x in model.value_vars))


# ---------------------------------------------------------------------------------------------
# C functions
# ---------------------------------------------------------------------------------------------

# Raised when the texts below, or what they call, give other numbers
VERSION = 1

# What is put around a function of PyTensor, as text, of which numba keeps what it compiled: it
# takes what nutpie gives, and finds the data of the model behind pointers. The first entries of the
# table say whether the point is to be mapped, and where the map is. Of a code that is positive
# nutpie knows that the point cannot be reached.
BEGIN = """
def released({arguments}, tables):
    try:
        n = np.int64(size)
        table = carray(pointer(carray(tables, (2,))[{which}]), ({length},), uintp)
        at = carray(x, (n,))
        mapped = table[0] != 0
        if mapped:
            centre = carray(pointer(table[1]), (n,), double)
            at = forward(at, centre, carray(pointer(table[2]), (n, n), double))
{data}
"""
DENSITY = """
        value, slope = inner({given})
        density = value.item()
        carray(out_density, (1,))[0] = density
        out = carray(out_slope, (n,))
        if mapped:
            backward(out, slope, carray(pointer(table[3]), (n, n), double))
        else:
            out[:] = slope
        for i in range(n):
            if not np.isfinite(out[i]):
                return 3
        if not np.isfinite(density):
            return 4
    except Exception:
        return 1
    return 0
"""
VALUES = """
        found = inner({given})[0]
        out = carray(out_values, (np.int64(n_out),))
        out[:] = found
    except Exception:
        return -2
    return 0
"""
_NUMBERS = numba.types.CPointer(numba.types.double)
_TABLES = numba.types.CPointer(numba.types.uintp)
_SIZE, _CODE = numba.types.uint64, numba.types.int64
KINDS: dict[str, Any] = {  # arguments, and their types
    DENSITY: ("size, x, out_slope, out_density", (_SIZE, *[_NUMBERS] * 3, _TABLES)),
    VALUES: ("size, n_out, x, out_values", (_SIZE, _SIZE, *[_NUMBERS] * 2, _TABLES)),
}


class CFunction:
    """A function of PyTensor as nutpie calls it, from disk if it is there.

    PyTensor's function object holds what it computes, so that one thread at a time may call it; the
    numba function behind it may be called by all. The key is PyTensor's, with the text.

    Parameters
    ----------
    at : TensorVariable
        A vector.
    outputs : list of TensorVariable
        What depends on it, and on data.
    text : str
        `DENSITY` or `VALUES`.
    size, n_out : int
        Lengths of the vector and of what is returned.
    """

    def __init__(self, at: Any, outputs: list[Any], text: str, size: int, n_out: int) -> None:
        self.size, self.n_out, self.text = size, n_out, text
        # Rounded as it is written: numba inlines otherwise in the process that compiles than in
        # those that load, so that products and sums would be contracted in other places.
        with pytensor.config.change_flags(numba__fastmath=False):
            function = pm.compile([at], outputs, mode="NUMBA", trust_input=True)
            self._compile(function)
        self.near: Near | None = None
        self._point_at_data()

    def _compile(self, function: Any) -> None:
        inner, text = function.vm.jit_fn, self.text
        self.data = [np.array(x.get_value(), order="C") for x in function.get_shared()]
        arguments, types = KINDS[text]
        lines, begin = [], len(_UNMAPPED)
        for k, x in enumerate(self.data):
            shape = "".join(f"np.int64(table[{begin + 1 + d}]), " for d in range(x.ndim))
            lines.append(f"        data{k} = carray(pointer(table[{begin}]), ({shape}), type{k})")
            begin += 1 + x.ndim
        text = (BEGIN + text).format(
            arguments=arguments,
            which=int(text == VALUES),
            length=begin,
            data="\n".join(lines),
            given=", ".join(["at", *(f"data{k}" for k in range(len(self.data)))]),
        )
        key = CACHED_SRC_FUNCTIONS.get(inner.py_func)
        if key is not None:
            of_data = [(x.ndim, x.dtype.str) for x in self.data]
            digest = hashlib.sha256(f"{VERSION} {key} {text} {of_data}".encode())
            key = "released_" + digest.hexdigest()
        known = {
            "__name__": __name__, "np": np, "carray": numba.carray, "uintp": np.dtype(np.uintp),
            "double": np.dtype(np.float64), "pointer": _pointer, "inner": inner,
            "forward": _forward, "backward": _backward,
            **{f"type{k}": x.dtype for k, x in enumerate(self.data)},
        }  # fmt: skip
        source = compile_numba_function_src(text, "released", known, {}, cache_key=key)
        self.compiled = numba.cfunc(_CODE(*types), cache=key is not None)(source)

    @property
    def address(self) -> int:
        """Where the machine code is."""
        return int(self.compiled.address)

    def mapped(self, near: Near | None) -> "CFunction":
        """Return the same as a function of the standard coordinates of a normal distribution."""
        out = copy.copy(self)
        out.near = near
        out._point_at_data()
        return out

    def _point_at_data(self) -> None:
        self.kept: list[Any] = list(_UNMAPPED)
        if self.near is not None:
            rows = np.ascontiguousarray(self.near.spread)
            kept = [np.ascontiguousarray(self.near.centre), np.ascontiguousarray(rows.T), rows]
            self.kept = [1, *kept]
        for x in self.data:
            self.kept += [x, *x.shape]
        self.table = np.array(
            [x.ctypes.data if isinstance(x, np.ndarray) else x for x in self.kept], dtype=np.uintp
        )
        self.tables = np.full(2, self.table.ctypes.data, dtype=np.uintp)  # for either kind

    def __call__(self, x: NDArray[np.float64]) -> Any:
        """Evaluate: the density with its slope, or the values."""
        x = np.ascontiguousarray(x, dtype=np.float64)
        out, density = np.empty(self.n_out), np.empty(1)
        lengths, arrays = [self.size], [x, out, density, self.tables]
        if self.text == VALUES:
            lengths, arrays = [self.size, self.n_out], [x, out, self.tables]
        types = [ctypes.c_uint64] * len(lengths) + [ctypes.c_void_p] * len(arrays)
        call = ctypes.CFUNCTYPE(ctypes.c_int64, *types)(self.address)
        code = call(*lengths, *(a.ctypes.data for a in arrays))
        if self.text == VALUES:
            return out
        return (float(density[0]), out) if code == 0 else (-np.inf, np.full(self.n_out, np.nan))


_UNMAPPED = (0, 0, 0, 0)


@numba.extending.intrinsic
def _pointer(_: Any, address: Any) -> Any:
    """Take a number for an address."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], cgutils.voidptr_t)

    return numba.types.voidptr(address), generate


_kernel = numba.njit(cache=True, error_model="numpy", fastmath=False)


@_kernel
def _forward(z, centre, columns):  # type: ignore[no-untyped-def]
    """Map standard coordinates, column by column: sums of vectors are rounded as written."""
    x = centre.copy()
    for j in range(z.size):
        for i in range(x.size):
            x[i] += z[j] * columns[j, i]
    return x


@_kernel
def _backward(out, slope, rows):  # type: ignore[no-untyped-def]
    """Pull a gradient back to standard coordinates."""
    out[:] = 0.0
    for i in range(slope.size):
        for j in range(out.size):
            out[j] += slope[i] * rows[i, j]
