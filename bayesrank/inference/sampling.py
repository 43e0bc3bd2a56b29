"""NUTS that is compiled once: by nutpie, of functions that PyTensor keeps on disk.

`pymc.sample` has nutpie call a C function, which numba compiles around PyTensor's in every process
anew: 13 CPU seconds for Plackett-Luce, whatever is sampled. Here nutpie calls PyTensor's own
function (`nutpie.compiled_pyfunc.from_pyfunc`), which numba loads from disk in all processes but
the first: 0.7 seconds. A call takes some 15 microseconds more, and the draws are the same.

>>> import pymc as pm
>>> with pm.Model():
...     x = pm.Normal("x", 0, 1)
...     y = pm.Normal("y", x, 1, observed=3.0)
...     posterior = sample(draws=1000, chains=2, random_seed=1)
>>> bool(abs(posterior["posterior"]["x"].mean() - 1.5) < 0.2)
True
"""

import hashlib
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import arviz as az
import numba
import numpy as np
import nutpie
import pandas as pd
import pymc as pm
import pytensor
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import NDArray
from nutpie.compiled_pyfunc import from_pyfunc
from pymc.backends.arviz import (
    coords_and_dims_for_inferencedata,
    find_constants,
    find_observations,
)
from pymc.initial_point import make_initial_point_fn
from pymc.pytensorf import join_nonshared_inputs, rewrite_pregrad
from pytensor.link.numba.cache import CACHED_SRC_FUNCTIONS, compile_numba_function_src

__all__ = ["nuts_seconds", "sample"]

FIRST_LOOK = 250  # draws of a chain, after which it is asked whether they are enough
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

    Returns
    -------
    DataTree
        As `pymc.sample` returns it: the groups posterior, sample_stats, constant_data and
        observed_data.

    Raises
    ------
    ValueError
        If variables are discrete, which NUTS cannot sample.

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
    # Rounded as it is written: numba inlines otherwise in the process that compiles than in those
    # that load, so that products and sums would be contracted in other places.
    with pytensor.config.change_flags(numba__fastmath=False):
        compiled = _compiled(model, initvals or {})
    if enough is None and watch is None:
        tree = nutpie.sample(compiled, **options)
    else:
        tree = _until(enough or _never, watch or _unseen, compiled, options)
    coords, dims = coords_and_dims_for_inferencedata(model)
    posterior = tree["posterior"].to_dataset()
    labels = {dim: coords[dim] for dim in posterior.dims if dim in coords}
    attrs = {"sampling_time": time.perf_counter() - start, "tuning_steps": tune}
    data = {"constant_data": find_constants(model), "observed_data": find_observations(model)}
    groups = az.from_dict(data, coords=coords, dims=dims, sample_dims=[])
    return xr.DataTree.from_dict(
        {
            "posterior": posterior.assign_coords(labels).assign_attrs(attrs),
            "sample_stats": tree["sample_stats"].to_dataset(),
            **{name: group.to_dataset() for name, group in groups.children.items()},
        }
    )


# Gradients of a transition: of tuning, and after it, by the target of acceptance. Means were, with
# tuning first: NASCAR 12 and 8, sushi 36 and 18, 20,000 and 1,000,000 matches 11 and 11, 13 and 15,
# and with 300 judges 20 and 15; with the target 0.95, 4 judges 30 and 19, 25 judges 44 and 16.
STEPS = {False: (20, 15), True: (40, 18)}
SHORT = 0.9  # targets above it make short steps
CALL = 25e-6  # seconds that nutpie adds to a gradient
TIMED = 0.1  # seconds that gradients are timed for


def nuts_seconds(
    model: pm.Model,
    *,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    cores: int | None = None,
    nuts: Mapping[str, Any] | None = None,
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
    density = _density(model)
    point = model.initial_point()
    at = np.concatenate([np.ravel(point[x.name]) for x in model.value_vars]).astype(np.float64)
    density(at)  # loads
    times: list[float] = []
    while sum(times) < TIMED or len(times) < 3:
        start = time.perf_counter()
        density(at)
        times.append(time.perf_counter() - start)
    in_tuning, after = STEPS[(nuts or {}).get("target_accept", 0.8) > SHORT]
    gradients = tune * in_tuning + draws * after
    at_a_time = min(chains, cores or os.cpu_count() or 1)
    return chains / at_a_time * gradients * (min(times) + CALL)


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
    except BaseException:
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


def _compiled(model: pm.Model, initvals: Mapping[str, Any]) -> Any:
    """Compile the log density with its gradient, and what is derived from the variables."""
    point = model.initial_point()
    inputs = model.value_vars
    size = sum(point[x.name].size for x in inputs)
    density = _density(model)

    names = {rv.name for rv in model.unobserved_RVs}
    shown = [x for x in model.unobserved_value_vars if x.name in names]  # without transformed ones
    shapes = [tuple(shape) for shape in _shapes(model, shown, point)]
    ends = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)])
    values = pt.concatenate([pt.cast(x, "float64").ravel() for x in shown])
    outputs, flat = join_nonshared_inputs(point, [values], inputs)
    expand = _released(pm.compile([flat], outputs, mode="NUMBA", trust_input=True), VALUES)
    begin = np.concatenate([np.ravel(point[x.name]) for x in inputs]).astype(np.float64)
    density(begin)  # numba compiles what is called, and nothing before
    expand(begin)

    def make_logp() -> Any:
        return density

    def make_expand(seed: int, other_seed: int, chain: int) -> Any:
        def values_of(x: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
            parts = zip(shown, shapes, ends[:-1], ends[1:], strict=True)
            found = expand(x)
            return {var.name: found[a:b].reshape(shape) for var, shape, a, b in parts}

        return values_of

    initial = make_initial_point_fn(
        model=model,
        overrides=dict(initvals),
        default_strategy="support_point",
        jitter_rvs={rv for rv in model.free_RVs if rv.name not in initvals},
        return_transformed=True,
    )
    lock = threading.Lock()  # compiled functions hold what they compute

    def start(seed: int) -> NDArray[np.float64]:
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
    return from_pyfunc(
        size,
        make_logp,
        make_expand,
        [np.dtype("float64")] * len(shown),
        shapes,
        [x.name for x in shown],
        coords={dim: pd.RangeIndex(n) for dim, n in lengths.items()},  # labels are put on after
        dims=dims,
        make_initial_point_fn=start,
    )


def _density(model: pm.Model) -> Callable[[NDArray[np.float64]], Any]:
    """Compile the log density of the values, ravelled, with its gradient."""
    inputs = model.value_vars
    # without bounds that the values cannot leave, and sums as their own graphs: before the gradient
    logp = rewrite_pregrad(model.logp())
    slope = pt.concatenate([pt.grad(logp, x).ravel() for x in inputs])
    outputs, flat = join_nonshared_inputs(model.initial_point(), [logp, slope], inputs)
    return _released(pm.compile([flat], outputs, mode="NUMBA", trust_input=True), DENSITY)


def _shapes(model: pm.Model, variables: list[Any], point: Mapping[str, Any]) -> list[Any]:
    """Evaluate the shapes of variables."""
    shapes = [pt.as_tensor(x.shape, dtype="int64", ndim=1) for x in variables]
    compiled = pm.compile(model.value_vars, shapes, mode="FAST_COMPILE", on_unused_input="ignore")
    return compiled(*(point[x.name] for x in model.value_vars))


# What is put around a function of PyTensor, as text, of which numba keeps what it compiled.
# nutpie takes a density that is not finite for a point that cannot be reached.
DENSITY = """
def released({names}):
    value, slope = inner({names})
    density = value.item()
    for i in range(slope.size):
        if not np.isfinite(slope[i]):
            density = -np.inf
    return density, slope
"""
VALUES = """
def released({names}):
    return inner({names})[0]
"""


def _released(function: Any, text: str) -> Callable[[NDArray[np.float64]], Any]:
    """Give a compiled function that other threads may run beside, kept on disk.

    PyTensor's function object holds what it computes, so that one thread at a time may call it; the
    numba function behind it may be called by all. The key is PyTensor's, with the text.
    """
    inner = function.vm.jit_fn
    shared = [np.array(x.get_value(), order="C") for x in function.get_shared()]
    text = text.format(names=", ".join(["x", *(f"shared{i}" for i in range(len(shared)))]))
    key = CACHED_SRC_FUNCTIONS.get(inner.py_func)
    if key is not None:
        key = "released_" + hashlib.sha256(f"{key}{text}".encode()).hexdigest()
    known = {"inner": inner, "np": np, "__name__": __name__}
    source = compile_numba_function_src(text, "released", known, {}, cache_key=key)
    compiled = numba.njit(nogil=True, cache=key is not None)(source)
    return lambda x: compiled(x, *shared)
