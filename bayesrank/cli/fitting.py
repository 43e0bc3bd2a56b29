"""Draws of a job's posterior, sampled or approximate, and predictions of what was observed."""

import atexit
import gc
import importlib
import logging
import sys
from collections.abc import Callable
from dataclasses import replace
from math import ceil
from typing import Any

from bayesrank.cli.caches import compiling_said
from bayesrank.cli.console import Talk
from bayesrank.cli.job import Job
from bayesrank.cli.options import Fit

# PyMC takes seconds to import: functions import what they need, so that --help is instant.

MOST_NUMBERS = 20_000_000  # of predictions, 8 bytes each
# Draws of a posterior that predictions are computed at, and that data are simulated from.
PREDICTED, SIMULATED = 1000, 500
# FEWEST draws are needed for intervals and LOO. If all entries do not fit into memory, SOME of
# them, chosen at random, are predicted.
FEWEST, SOME = 100, 100_000
TOO_LONG = 600  # seconds of sampling, beyond which a quick answer is given
# Entries times steps, up to which sampling takes less: entries take a tenth of a microsecond in a
# gradient, 2,000 rankings of 40 with ties 8 ms, and a step has 20 gradients, on one core or more.
SURELY_SHORT = 120_000_000


def fitted(job: Job, talk: Talk) -> Any:
    """Draw from the posterior of a job."""
    if job.drawn:
        talk.stage("Fitting ...")
        return job.draw()
    talk.stage("Loading PyMC ...")
    _load()
    with compiling_said(talk.compiling):
        return sampled(job, talk)


def _load() -> None:
    """Import what fits need, and look for garbage seldom, which takes a fifth of the time.

    There is none while modules are imported, and little in the graphs of one command.
    """
    if "bayesrank.inference" in sys.modules:
        return
    gc.disable()
    try:
        importlib.import_module("bayesrank.inference")
    finally:
        gc.freeze()  # what was imported stays
        gc.set_threshold(200_000, 100, 100)
        gc.enable()
    atexit.register(gc.freeze)  # nor is the process looked through when it ends: half a second
    if "jaxlib" not in sys.modules:
        # of ArviZ: it imports JAX as soon as anyone looks at it, which matplotlib does
        sys.modules.pop("jax", None)


def sampled(job: Job, talk: Talk) -> Any:
    """Draw as often as ranks need to be exact; or from an approximation, if that takes too long."""
    from xarray import DataTree

    from bayesrank.results import precise

    fit = job.fit

    def is_precise(so_far: Any) -> bool:
        return precise(job.moved(DataTree.from_dict({"posterior": so_far})), top=fit.top)

    talk.stage("Building the model ...")
    with job.pymc_model as model:
        quick, settings = _settings(job, model, talk)
        if quick:
            posterior = _approximate(model, fit, talk, is_precise)
            if posterior is not None:
                return job.moved(posterior)
        if job.finds_start:
            talk.stage("Looking for where to start ...")
            settings["initvals"] = job.start(model, talk.note)
        talk.stage("Compiling ...")
        posterior = _sample(job, talk, settings, is_precise)
    return job.moved(posterior)


def _settings(job: Job, model: Any, talk: Talk) -> tuple[bool, dict[str, Any]]:
    """Choose between a quick answer and sampling, and the settings of the sampler."""
    fit = job.fit
    settings: dict[str, Any] = {
        "draws": fit.draws,
        "tune": fit.tune,
        "chains": fit.chains,
        "nuts": job.nuts(model),
    }
    if fit.quick or job.entries * fit.chains * (fit.draws + fit.tune) <= SURELY_SHORT:
        return bool(fit.quick), settings

    from bayesrank.inference import compile_density, nuts_seconds

    talk.stage("Estimating how long it takes ...")
    settings["density"] = compile_density(model)
    seconds = nuts_seconds(model, **settings)
    if job.finds_start:
        return False, settings
    if seconds > TOO_LONG and fit.quick is None:
        talk.note(
            f"Sampling would take up to {_time(seconds)}, so this is the quick answer. The full "
            f"one: {fit.command} --full"
        )
        return True, settings
    return False, settings


def _sample(
    job: Job, talk: Talk, settings: dict[str, Any], is_precise: Callable[[Any], bool]
) -> Any:
    """Run NUTS until the chains have converged and ranks are exact enough."""
    from xarray import DataTree

    from bayesrank.inference import sample

    fit = replace(job.fit, quick=False, tune=settings["tune"])

    def enough(so_far: Any) -> bool:
        posterior = job.moved(DataTree.from_dict({"posterior": so_far}))
        return checked(posterior, job)[0] and is_precise(so_far)

    def watch(done: int, most: int) -> None:
        if talk.bar is None:  # it is compiled
            talk.stage(f"Sampling {fit.sampling} at most ...")
        talk.progress(done, most)

    try:
        posterior = sample(
            **settings, random_seed=fit.seed, enough=enough, watch=watch, progressbar=False
        )
    except RuntimeError as error:
        raise ValueError(f"The sampler failed. Try another --prior-scale. {error}") from error
    if talk.asked:
        made = posterior["posterior"].sizes["draw"]
        talk.note(f"Sampling was interrupted after {made:,} draws.")
    return posterior


def _approximate(model: Any, fit: Fit, talk: Talk, enough: Callable[[Any], bool]) -> Any:
    """Draw from an approximation of the posterior, if there is one."""
    from bayesrank.inference import fit_inla

    talk.stage("Approximating ...")
    try:
        return fit_inla(
            model, draws=fit.draws, chains=fit.chains, random_seed=fit.seed, enough=enough
        )
    except ValueError as error:
        talk.note(f"There is no quick answer for this model, so the command samples. {error}")
        return None


def _time(seconds: float) -> str:
    """Write a long time as people say it."""
    if seconds < 7200:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.0f} hours"


def checked(posterior: Any, job: Job) -> tuple[bool, list[str]]:
    """Whether the chains have converged, and what to say: of all that is bad, or of the first."""
    if job.drawn:
        return True, [job.drawn]
    from bayesrank.results import convergence

    found = [convergence(posterior, var, dim=dim) for var, dim in job.checked]
    bad = sorted((one for one in found if not one.ok), key=lambda one: one.ess_bulk)
    said: dict[str, str] = {}  # if several variables have the same fault, of the worst
    for one in bad or found[:1]:
        for text in one.sentences:
            said.setdefault(" ".join(text.split()[:3]), text)
    return not bad, list(said.values())


def predictions(job: Job, posterior: Any) -> Any:
    """Compute what the model makes of what was observed.

    At draws that are evenly spaced: the log-likelihood of what was observed and, at some of these,
    draws of it; in any case no more than fit into memory, of some rankings if there are too many.
    """
    import pymc as pm
    from pytensor.compile.mode import Mode

    logging.getLogger("pymc").setLevel(logging.WARNING)  # the names of what is drawn

    most = MOST_NUMBERS / max(job.entries, 1)
    if most < FEWEST and (fewer := job.some(SOME)) is not None:
        from xarray import DataTree

        from bayesrank.inference import data_groups

        job, posterior = fewer, posterior.copy()
        for name, group in data_groups(job.pymc_model).items():
            posterior[name] = DataTree(group)
        most = float(FEWEST)
    some = _spaced(posterior, min(PREDICTED, most))
    # In Python, which calls compiled kernels: numba needs 20 seconds for draws of rankings, longer
    # than all of them take.
    options = {"progressbar": False, "compile_kwargs": {"mode": Mode("py", "fast_compile")}}
    with job.pymc_model:
        pm.compute_log_likelihood(some, **options)
        drawn = pm.sample_posterior_predictive(
            _spaced(some, min(SIMULATED, most)), random_seed=job.fit.seed, **options
        )
    some["posterior_predictive"] = drawn["posterior_predictive"]
    return some


def _spaced(posterior: Any, most: float) -> Any:
    """Take at most this many draws of a posterior, evenly spaced."""
    sizes = posterior["posterior"].sizes
    every = max(ceil(sizes["chain"] * sizes["draw"] / max(most, 1)), 1)
    return posterior.isel(draw=slice(None, None, every), missing_dims="ignore")
