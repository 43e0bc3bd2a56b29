"""Draws from the posterior of a job, sampled or approximate, and posterior predictions."""

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
from bayesrank.cli.estimate import PREDICTED, check_run
from bayesrank.cli.job import Job
from bayesrank.cli.options import Fit

# PyMC takes seconds to import. Functions import what they need, so that --help is instant.

MOST_NUMBERS = 20_000_000  # most numbers in predictions, 8 bytes each
SIMULATED = 500  # draws for simulated data; the log-likelihood uses PREDICTED draws
# Intervals and LOO need at least FEWEST draws. If the entries do not fit into memory, SOME random
# ones are predicted.
FEWEST, SOME = 100, 100_000
REPLICATES = "replicates"  # simulated rankings and their data, if rows count several rankings
TOO_LONG = 600  # seconds of sampling beyond which the answer is approximate
# Number of entries times steps for which sampling surely takes less. Each entry takes 0.1 µs in a
# gradient (8 ms for 2,000 rankings of 40 items with ties), and a step has 20 gradients.
SURELY_SHORT = 120_000_000


def fitted(job: Job, talk: Talk) -> Any:
    """Draw from the posterior of a job."""
    check_run(job, talk, quick=bool(job.fit.quick))
    if job.drawn:
        talk.stage("Fitting ...")
        return job.draw(talk.progress)
    talk.stage("Loading PyMC ...")
    _load()
    with compiling_said(talk.compiling):
        return sampled(job, talk)


def _load() -> None:
    """Import what fits need, and make garbage collection rare, which saves a fifth of the time.

    Imports leave no garbage, and the graphs of one command leave little. PyTensor does not record
    the lines of code that make each variable, which takes a tenth of the time of building graphs.
    """
    if "bayesrank.inference" in sys.modules:
        return
    gc.disable()
    try:
        importlib.import_module("bayesrank.inference")
        importlib.import_module("pytensor").config.traceback__limit = 0
    finally:
        gc.freeze()  # imported modules stay in memory
        gc.set_threshold(200_000, 100, 100)
        gc.enable()
    atexit.register(gc.freeze)  # a last collection at exit would take half a second
    if "jaxlib" not in sys.modules:
        # ArviZ puts a lazy module there, which imports JAX when matplotlib inspects it.
        sys.modules.pop("jax", None)


def sampled(job: Job, talk: Talk) -> Any:
    """Sample until ranks are precise, or draw from an approximation if that takes too long."""
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
            talk.stage("Looking for a starting point ...")
            settings["initvals"] = job.start(model, talk.note)
        talk.stage("Compiling ...")
        posterior = _sample(job, talk, settings, is_precise)
    return job.moved(posterior)


def _settings(job: Job, model: Any, talk: Talk) -> tuple[bool, dict[str, Any]]:
    """Choose between approximating and sampling, and the settings of the sampler."""
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

    talk.stage("Estimating the run time ...")
    settings["density"] = compile_density(model)
    seconds = nuts_seconds(model, **settings)
    if job.finds_start:
        return False, settings
    if seconds > TOO_LONG and fit.quick is None:
        talk.note(
            f"Sampling would take up to {_time(seconds)}, so this is the quick answer. To sample: "
            f"{fit.command} --full"
        )
        check_run(job, talk, quick=True)
        return True, settings
    return False, settings


def _sample(
    job: Job, talk: Talk, settings: dict[str, Any], is_precise: Callable[[Any], bool]
) -> Any:
    """Run NUTS until the chains have converged and the ranks are precise."""
    from xarray import DataTree

    from bayesrank.inference import sample

    fit = replace(job.fit, quick=False, tune=settings["tune"])

    def enough(so_far: Any) -> bool:
        posterior = job.moved(DataTree.from_dict({"posterior": so_far}))
        return checked(posterior, job)[0] and is_precise(so_far)

    def watch(done: int, most: int) -> None:
        if talk.bar is None:  # compilation has ended
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
    """Draw from an approximation of the posterior; None if the model has none."""
    from bayesrank.inference import fit_inla

    talk.stage("Approximating ...")
    try:
        return fit_inla(
            draws=fit.draws, chains=fit.chains, random_seed=fit.seed, enough=enough, model=model
        )
    except ValueError as error:
        talk.note(f"There is no quick answer for this model, so the command samples. {error}")
        return None


def _time(seconds: float) -> str:
    """Write a time in minutes or hours."""
    if seconds < 7200:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.0f} hours"


def checked(posterior: Any, job: Job) -> tuple[bool, list[str]]:
    """Whether the chains have converged, and sentences about bad variables, or about the first."""
    if job.drawn:
        return True, [job.drawn]
    from bayesrank.results import convergence

    found = [convergence(posterior, var, dim=dim) for var, dim in job.checked]
    bad = sorted((one for one in found if not one.ok), key=lambda one: one.ess_bulk)
    sentences: dict[str, str] = {}  # one per problem, about the worst variable
    for one in bad or found[:1]:
        for text in one.sentences:
            sentences.setdefault(" ".join(text.split()[:3]), text)
    return not bad, list(sentences.values())


def predictions(job: Job, posterior: Any) -> Any:
    """Compute the log-likelihood of the data and simulate new data, at evenly spaced draws.

    The number of draws is limited by memory. If there are too many rankings, some are chosen. If
    rows count several rankings, the simulated rankings have their own tree, `REPLICATES`.
    """
    import pymc as pm
    from pytensor.compile.mode import Mode
    from xarray import DataTree

    from bayesrank.inference import data_groups

    logging.getLogger("pymc").setLevel(
        logging.WARNING
    )  # it would print the names of sampled variables

    most = MOST_NUMBERS / max(job.entries, 1)
    if most < FEWEST and (fewer := job.some(SOME)) is not None:
        job, posterior = fewer, posterior.copy()
        for name, group in data_groups(job.pymc_model).items():
            posterior[name] = DataTree(group)
        most = float(FEWEST)
    some = spaced(posterior, min(PREDICTED, most))
    # Python calls compiled kernels. Numba would compile for 20 seconds, longer than all draws take.
    options = {"progressbar": False, "compile_kwargs": {"mode": Mode("py", "fast_compile")}}
    with job.pymc_model:
        pm.compute_log_likelihood(some, **options)

    def simulated(job: Job, tree: Any, most: float) -> Any:
        with job.pymc_model:
            return pm.sample_posterior_predictive(
                spaced(tree, min(SIMULATED, most)), random_seed=job.fit.seed, **options
            )["posterior_predictive"]

    if (each := job.each) is None:
        some["posterior_predictive"] = simulated(job, some, most)
        return some
    # a row that counts many rankings predicts one, so that each of these gets a row
    apart = some.copy()
    del apart["log_likelihood"]
    for name, group in data_groups(each.pymc_model).items():
        apart[name] = DataTree(group)
    apart["posterior_predictive"] = simulated(each, apart, MOST_NUMBERS / max(each.entries, 1))
    some[REPLICATES] = apart
    return some


def spaced(posterior: Any, most: float | None = None) -> Any:
    """Take at most this many draws of a posterior, evenly spaced; by default, `PREDICTED`."""
    most = PREDICTED if most is None else most
    sizes = posterior["posterior"].sizes
    every = max(ceil(sizes["chain"] * sizes["draw"] / max(most, 1)), 1)
    return posterior.isel(draw=slice(None, None, every), missing_dims="ignore")
