"""NUTS by nutpie, compiled once: numba caches the functions on disk.

`pymc.sample` compiles a C function for nutpie in every process. `sample` compiles it only in the
first process (`bayesrank.inference.sampling.nutpie_model`), and can stop when the draws suffice.

>>> import pymc as pm
>>> with pm.Model():
...     x = pm.Normal("x", 0, 1)
...     y = pm.Normal("y", x, 1, observed=3.0)
...     posterior = sample(draws=1000, chains=2, random_seed=1)
>>> bool(abs(posterior["posterior"]["x"].mean() - 1.5) < 0.2)
True
"""

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import nutpie
import pymc as pm
import xarray as xr
from pymc.backends.arviz import coords_and_dims_for_inferencedata

from bayesrank.distributions.core.observed import check_coords
from bayesrank.inference.approximation.modes import data_groups
from bayesrank.inference.approximation.nested import FIRST_LOOK
from bayesrank.inference.sampling.nutpie_model import (
    CompiledDensity,
    compile_density,
    list_shown_variables,
    nutpie_model,
)

__all__ = ["nuts_seconds", "sample"]

GLANCE = 0.02  # seconds between checks of the chains' progress


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
    density: CompiledDensity | None = None,
) -> xr.DataTree:
    """Sample a posterior by nutpie's NUTS, compiling once for all processes.

    The same model, data, settings and seed give the same draws on one machine, with the same
    versions of PyTensor, numba and nutpie.

    Parameters
    ----------
    draws, tune : int
        Largest number of draws per chain, and number of tuning steps.
    chains : int
        Number of chains.
    cores : int, optional
        Number of chains at a time. By default, one per core; with `enough` or `watch`, all.
    random_seed : int, optional
        Seed of the draws.
    nuts : mapping, optional
        Settings of the sampler, such as ``{"adaptation": "low_rank", "target_accept": 0.95}``.
    initvals : mapping, optional
        Starting values of free variables for all chains, such as a mode from `fit_mixture`. Other
        variables start at random, near the centre of their prior.
    enough : callable, optional
        Takes the posterior so far and returns whether it suffices. It is called when every chain
        has 250 draws, 500, 1,000 and so on, and sampling stops when it returns true.
    watch : callable, optional
        Called with the number of steps that the chains have made together, and the largest possible
        number.
    progressbar : bool
        Whether to show the progress of the chains.
    model : pm.Model, optional
        By default, the model in context.
    density : CompiledDensity, optional
        From `compile_density(model)`, if it is compiled already.

    Returns
    -------
    DataTree
        The groups ``posterior``, ``sample_stats``, ``constant_data`` and ``observed_data``, as from
        `pymc.sample`. After an interrupt (Ctrl-C), it contains the draws that all chains have made.

    Raises
    ------
    ValueError
        If a variable is discrete.
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
    model = check_coords(pm.modelcontext(model))
    discrete = [rv.name for rv in model.free_RVs if rv.dtype.startswith(("int", "uint", "bool"))]
    if discrete:
        raise ValueError(f"NUTS cannot sample {discrete}, which are discrete. Use pm.sample.")
    start = time.perf_counter()
    sizes = {"draws": draws, "tune": tune, "chains": chains, "cores": cores}
    options = {**sizes, "seed": random_seed, "save_warmup": False, "progress_bar": progressbar}
    options |= nuts or {}
    compiled = nutpie_model(model, initvals or {}, density)
    if enough is None and watch is None:
        tree = nutpie.sample(compiled, **options)
    else:
        tree = _until(enough or (lambda _: False), watch or (lambda *_: None), compiled, options)
    # Interrupted chains have different lengths, and nutpie fills the shorter ones with NaN.
    made = int(np.isfinite(tree["sample_stats"]["step_size"]).all("chain").sum())
    if made == 0:
        raise KeyboardInterrupt
    tree = tree.isel(draw=slice(made))
    coords, _ = coords_and_dims_for_inferencedata(model)
    posterior = tree["posterior"].to_dataset()[[x.name for x in list_shown_variables(model)]]
    labels = {dim: coords[dim] for dim in posterior.dims if dim in coords}
    attrs = {"sampling_time": time.perf_counter() - start, "tuning_steps": tune}
    return xr.DataTree.from_dict(
        {
            "posterior": posterior.assign_coords(labels).assign_attrs(attrs),
            "sample_stats": tree["sample_stats"].to_dataset(),
            **data_groups(model),
        }
    )


# Gradients per transition, during tuning and after it, by whether the target acceptance rate is
# above SHORT: typical numbers for rankings and matches
STEPS = {False: (20, 15), True: (40, 18)}
SHORT = 0.9
CALL = 3e-6  # seconds that nutpie adds per gradient
TIMED = 0.1  # seconds spent on timing gradients


def nuts_seconds(
    model: pm.Model,
    *,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    cores: int | None = None,
    nuts: Mapping[str, Any] | None = None,
    density: CompiledDensity | None = None,
) -> float:
    """Estimate the run time of `sample` from the time of a gradient.

    A posterior that is much wider in one direction than in others takes several times as long.

    Parameters
    ----------
    model : pm.Model
        The function compiles its log density.
    draws, tune, chains, cores, nuts
        See `sample`.
    density : CompiledDensity, optional
        From `compile_density(model)`, if it is compiled already.

    Returns
    -------
    float
        Wall time in seconds on idle processors, without compilation.

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


def _gradient_seconds(model: pm.Model, density: CompiledDensity) -> float:
    """Time the log density with its gradient."""
    point = model.initial_point()
    at = np.concatenate([np.ravel(point[x.name]) for x in model.value_vars]).astype(np.float64)
    density(at)  # load the compiled function
    times: list[float] = []
    while sum(times) < TIMED or len(times) < 3:
        start = time.perf_counter()
        density(at)
        times.append(time.perf_counter() - start)
    return min(times)


def _until(
    enough: Callable[[xr.Dataset], bool],
    watch: Callable[[int, int], None],
    compiled: Any,
    options: Any,
) -> xr.DataTree:
    """Sample until the draws suffice, or until the largest number of draws."""
    n_chains, tune, most = options["chains"], options["tune"], options["draws"]
    steps = n_chains * (tune + most)
    done = [-tune] * n_chains

    def count(progress: list[Any]) -> None:
        done[:] = [chain.finished_draws - tune for chain in progress]

    watch(0, steps)

    # all chains at a time, or else some would end before others begin
    options = options | {"cores": n_chains, "blocking": False}
    sampler = nutpie.sample(compiled, progress_callback=count, progress_rate=20, **options)
    n = FIRST_LOOK
    try:
        while True:
            is_over = _is_over(sampler)
            while n < most and min(done) >= n:
                so_far = sampler.inspect()["posterior"].to_dataset().isel(draw=slice(n))
                if enough(so_far):
                    return sampler.abort().isel(draw=slice(n))
                n *= 2
            if is_over:
                return sampler.wait()  # raises an error if sampling has failed
            time.sleep(GLANCE)
            watch(sum(done) + n_chains * tune, steps)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and min(done) > 0:
            return sampler.abort()
        sampler.cancel()
        raise


def _is_over(sampler: Any) -> bool:
    try:
        return bool(sampler.is_finished)
    except TimeoutError:  # the sampler is busy
        return False
