"""NUTS that is compiled once: by nutpie, of functions that numba keeps on disk.

`pymc.sample` compiles a C function for nutpie in every process. `sample` does so in the first one
only (`bayesrank.inference.sampling.nutpie_model`), and can end when the draws suffice.

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

from bayesrank.inference.approximation.modes import data_groups
from bayesrank.inference.approximation.nested import FIRST_LOOK
from bayesrank.inference.sampling.nutpie_model import (
    CompiledDensity,
    compile_density,
    nutpie_model,
    shown_variables,
)

__all__ = ["nuts_seconds", "sample"]

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
    density: CompiledDensity | None = None,
) -> xr.DataTree:
    """Sample a posterior by nutpie's NUTS, compiling once for all processes.

    The same model, data, settings and seed give the same draws on one machine, with the same
    versions of PyTensor, numba and nutpie.

    Parameters
    ----------
    draws, tune : int
        Draws of each chain, at most, and steps of tuning before them.
    chains : int
        How many chains.
    cores : int, optional
        Chains at a time; default one for each core, and all with `enough` or `watch`.
    random_seed : int, optional
        Seed of the draws.
    nuts : mapping, optional
        Settings of the sampler, such as ``{"adaptation": "low_rank", "target_accept": 0.95}``.
    initvals : mapping, optional
        Values of free variables at which all chains start, such as a mode of `fit_mixture`. Other
        variables start at random, near the centre of their prior.
    enough : callable, optional
        Given the posterior so far, whether it suffices. It is asked when every chain has 250 draws,
        500, 1,000 and so on; the chains may end there.
    watch : callable, optional
        Called with the steps that all chains have made, and how many there may be.
    progressbar : bool
        Whether to show how far the chains are.
    model : pm.Model, optional
        Default the model in context.
    density : CompiledDensity, optional
        From `compile_density(model)`, if it is compiled already.

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
    compiled = nutpie_model(model, initvals or {}, density)
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
    posterior = tree["posterior"].to_dataset()[[x.name for x in shown_variables(model)]]
    labels = {dim: coords[dim] for dim in posterior.dims if dim in coords}
    attrs = {"sampling_time": time.perf_counter() - start, "tuning_steps": tune}
    return xr.DataTree.from_dict(
        {
            "posterior": posterior.assign_coords(labels).assign_attrs(attrs),
            "sample_stats": tree["sample_stats"].to_dataset(),
            **data_groups(model),
        }
    )


# Gradients of a transition in tuning and after it, by whether the target of acceptance is above
# SHORT: typical numbers for rankings and matches
STEPS = {False: (20, 15), True: (40, 18)}
SHORT = 0.9
CALL = 3e-6  # seconds that nutpie adds to a gradient
TIMED = 0.1  # seconds for which gradients are timed


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
    """Estimate how long `sample` would take at most, from the time of a gradient.

    A posterior that is much longer in one direction than in others takes several times as long.

    Parameters
    ----------
    model : pm.Model
        Its log density is compiled.
    draws, tune, chains, cores, nuts
        As in `sample`.
    density : CompiledDensity, optional
        From `compile_density(model)`, if it is compiled already.

    Returns
    -------
    float
        Wall seconds without compilation, on free processors.

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
    density(at)  # loads
    times: list[float] = []
    while sum(times) < TIMED or len(times) < 3:
        start = time.perf_counter()
        density(at)
        times.append(time.perf_counter() - start)
    return min(times)


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
