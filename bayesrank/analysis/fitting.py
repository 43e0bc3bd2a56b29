"""Draws from the posterior of an analysis, sampled or approximate, and posterior predictions."""

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import ceil, inf
from typing import Any, NamedTuple

from bayesrank.analysis.analysis import Analysis, Settings
from bayesrank.analysis.listener import Listener
from bayesrank.analysis.size import PREDICTED, arrays_of, check_memory, seconds_of, way_out

# PyMC takes seconds to import. Functions import what they need, so that --help is instant.

MOST_NUMBERS = 20_000_000  # most numbers in predictions, 8 bytes each
REPLICATES = "replicates"  # simulated rankings and their data, if rows count several rankings
SIMULATED = 500  # draws for simulated data; the log-likelihood uses PREDICTED draws
# Intervals and LOO need at least FEWEST draws. If the entries do not fit into memory, SOME random
# ones are predicted.
FEWEST, SOME = 100, 100_000
TOO_LONG = 600  # seconds of sampling beyond which the answer is approximate
# Number of entries times steps for which sampling surely takes less. Each entry takes 0.1 µs in a
# gradient (8 ms for 2,000 rankings of 40 items with ties), and a step has 20 gradients.
SURELY_SHORT = 20_000_000


def check_size(analysis: Analysis, settings: Settings, listener: Listener, *, quick: bool) -> None:
    """Say what a large fit needs, and refuse one that does not fit into memory."""
    size, draws, chains = analysis.size(), settings.draws, settings.chains
    quick = quick and not analysis.accuracy
    check_memory(
        arrays_of(size, chains * draws, quick=quick),
        listener,
        seconds=seconds_of(size) if quick else 0.0,
        way_out=way_out(size, draws, chains, analysis.groups, quick=quick),
    )


def fit_analysis(analysis: Analysis, settings: Settings, listener: Listener) -> Any:
    """Draw from the posterior of an analysis."""
    check_size(analysis, settings, listener, quick=settings.method == "inla")
    if analysis.accuracy:
        listener.stage("Fitting ...")
        return analysis.draw(settings, listener.progress)
    with tell_compiling(listener.compiling):
        return sampled(analysis, settings, listener)


@contextmanager
def tell_compiling(tell: Callable[[], None]) -> Iterator[None]:
    """Call `tell` when numba compiles code that later fits can load from the cache.

    Code that numba cannot cache, such as calls from compiled code to Python, compiles in a quarter
    of a second and is not reported.
    """
    from numba.core import event
    from numba.core.caching import Cache

    class Compiling(event.Listener):
        def on_start(self, begun: event.Event) -> None:
            if isinstance(getattr(begun.data["dispatcher"], "_cache", None), Cache):
                tell()

        def on_end(self, _: event.Event) -> None: ...

    with event.install_listener("numba:compile", Compiling()):
        yield


def sampled(analysis: Analysis, settings: Settings, listener: Listener) -> Any:
    """Sample until ranks are precise, or draw from an approximation if that takes too long."""
    from xarray import DataTree

    from bayesrank.results import precise

    seed = settings.random_seed

    def is_precise(so_far: Any) -> bool:
        return precise(
            analysis.moved(DataTree.from_dict({"posterior": so_far}), seed), top=settings.top
        )

    listener.stage("Building the model ...")
    with analysis.model as model:
        plan, options = _plan(analysis, model, settings, listener)
        if plan.approximates:
            posterior = _approximate(model, settings, listener, is_precise)
            if posterior is not None and (plan.instead or is_exact(posterior)):
                if plan.note and not is_exact(posterior):
                    listener.note(plan.note)
                return analysis.moved(posterior, seed)
        if analysis.finds_start:
            listener.stage("Looking for a starting point ...")
            options["initvals"] = analysis.start(model, seed, listener.note)
        listener.stage("Compiling ...")
        posterior = _sample(analysis, settings, options, listener, is_precise)
    return analysis.moved(posterior, seed)


def is_exact(posterior: Any) -> bool:
    """Whether draws are those of the posterior, up to Monte Carlo error."""
    return "approximation" not in posterior["posterior"].attrs


class Plan(NamedTuple):
    """Whether to approximate before sampling."""

    approximates: bool = False
    instead: bool = False  # whether the approximation replaces sampling even if it is not exact
    note: str = ""  # said if it does


def _plan(
    analysis: Analysis, model: Any, settings: Settings, listener: Listener
) -> tuple[Plan, dict[str, Any]]:
    """Choose the cheapest method that is accurate enough, and the options of the sampler."""
    options: dict[str, Any] = {
        "draws": settings.draws,
        "tune": settings.tune,
        "chains": settings.chains,
        "nuts": analysis.nuts(model),
    }
    steps = settings.chains * (settings.draws + settings.tune)
    if settings.method == "inla":
        approximates = not analysis.finds_start
        return Plan(approximates, approximates), options
    if analysis.entries * steps <= SURELY_SHORT:
        return Plan(), options

    from bayesrank.inference import compile_density, nuts_seconds

    listener.stage("Estimating the run time ...")
    options["density"] = compile_density(model)
    seconds, size = nuts_seconds(model, **options), analysis.size()
    takes = f"Sampling takes up to {_time(seconds)}"
    if analysis.finds_start or settings.method != "auto":
        listener.stage(f"{takes}.")
        return Plan(), options
    plain, weighted = seconds_of(size), seconds_of(size, draws=settings.chains * settings.draws)
    if seconds > max(TOO_LONG, plain):
        note = (
            f"Sampling would take up to {_time(seconds)}, and the quick answer about "
            f"{_time(plain)}, so this is the quick answer. To sample, use `method='nuts'`."
        )
        check_size(analysis, settings, listener, quick=True)
        return Plan(approximates=True, instead=True, note=note), options
    if weighted < seconds:
        listener.stage(f"{takes}, and importance weights about {_time(weighted)}.")
        return Plan(approximates=True), options
    other = "" if weighted == inf else f"; importance weights would take about {_time(weighted)}"
    listener.stage(f"{takes}{other}.")
    return Plan(), options


def _sample(
    analysis: Analysis,
    settings: Settings,
    options: dict[str, Any],
    listener: Listener,
    is_precise: Callable[[Any], bool],
) -> Any:
    """Run NUTS until the chains have converged and the ranks are precise."""
    from xarray import DataTree

    from bayesrank.inference import sample

    def enough(so_far: Any) -> bool:
        tree = DataTree.from_dict({"posterior": so_far})
        posterior = analysis.moved(tree, settings.random_seed)
        return check_convergence(posterior, analysis)[0] and is_precise(so_far)

    begun = False

    def watch(done: int, most: int) -> None:
        nonlocal begun
        if not begun:  # compilation has ended
            begun = True
            listener.stage(f"Sampling {settings.text()} at most ...")
        listener.progress(done, most)

    try:
        posterior = sample(
            **options,
            random_seed=settings.random_seed,
            enough=enough,
            watch=watch,
            progressbar=False,
        )
    except RuntimeError as error:
        raise ValueError(f"The sampler failed. Try another `utility_scale`. {error}") from error
    if listener.interrupted:
        made = posterior["posterior"].sizes["draw"]
        listener.note(f"Sampling was interrupted after {made:,} draws.")
    return posterior


def _approximate(
    model: Any, settings: Settings, listener: Listener, enough: Callable[[Any], bool]
) -> Any:
    """Draw from an approximation of the posterior; None if the model has none."""
    from bayesrank.inference import fit_inla

    listener.stage("Approximating ...")
    try:
        return fit_inla(
            draws=settings.draws,
            chains=settings.chains,
            random_seed=settings.random_seed,
            enough=enough,
            watch=listener.progress,
            model=model,
        )
    except ValueError as error:
        listener.note(f"This model has no quick answer, so it is sampled. {error}")
        return None


def _time(seconds: float) -> str:
    """Write a time in seconds, minutes or hours."""
    if seconds < 120:
        return f"{max(seconds, 1):.0f} seconds"
    if seconds < 7200:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.0f} hours"


def check_convergence(posterior: Any, analysis: Analysis) -> tuple[bool, list[str]]:
    """Whether the chains have converged, and sentences about bad variables, or about the first."""
    if analysis.accuracy:
        return True, [analysis.accuracy]
    from bayesrank.results import convergence

    found = [convergence(posterior, var, dim=dim) for var, dim in analysis.checked]
    bad = sorted((one for one in found if not one.ok), key=lambda one: one.ess_bulk)
    sentences: dict[str, str] = {}  # one per problem, about the worst variable
    for one in bad or found[:1]:
        for text in one.sentences:
            sentences.setdefault(" ".join(text.split()[:3]), text)
    return not bad, list(sentences.values())


def predict(analysis: Analysis, posterior: Any, random_seed: int) -> Any:
    """Compute the log-likelihood of the data and simulate new data, at evenly spaced draws.

    The number of draws is limited by memory. If there are too many rankings, some are chosen. If
    rows count several rankings, the simulated rankings have their own tree, `REPLICATES`.
    """
    import pymc as pm
    from pytensor.compile.mode import Mode
    from xarray import DataTree

    from bayesrank.inference import data_groups

    most = MOST_NUMBERS / max(analysis.entries, 1)
    if most < FEWEST and (fewer := analysis.some(SOME, random_seed)) is not None:
        analysis, posterior = fewer, posterior.copy()
        for name, group in data_groups(analysis.model).items():
            posterior[name] = DataTree(group)
        most = float(FEWEST)
    some = spaced(posterior, min(PREDICTED, most))
    # Python calls compiled kernels. Numba would compile for 20 seconds, longer than all draws take.
    options = {"progressbar": False, "compile_kwargs": {"mode": Mode("py", "fast_compile")}}
    with analysis.model, _quiet_pymc():
        pm.compute_log_likelihood(some, **options)

    def simulate(analysis: Analysis, tree: Any, most: float) -> Any:
        with analysis.model, _quiet_pymc():
            return pm.sample_posterior_predictive(
                spaced(tree, min(SIMULATED, most)), random_seed=random_seed, **options
            )["posterior_predictive"]

    if (each := analysis.each) is None:
        some["posterior_predictive"] = simulate(analysis, some, most)
        return some
    # a row that counts many rankings predicts one, so that each of these gets a row
    apart = some.copy()
    del apart["log_likelihood"]
    for name, group in data_groups(each.model).items():
        apart[name] = DataTree(group)
    apart["posterior_predictive"] = simulate(each, apart, MOST_NUMBERS / max(each.entries, 1))
    some[REPLICATES] = apart
    return some


@contextmanager
def _quiet_pymc() -> Iterator[None]:
    """Keep PyMC from logging the names of the variables that it simulates.

    With few draws per chain, ArviZ takes chains and draws for exchanged, which they are not.
    """
    log = logging.getLogger("pymc")
    before = log.level
    log.setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Found chain dimension")
            yield
    finally:
        log.setLevel(before)


def spaced(posterior: Any, most: float | None = None) -> Any:
    """Take at most this many draws of a posterior, evenly spaced; by default, `PREDICTED`."""
    most = PREDICTED if most is None else most
    sizes = posterior["posterior"].sizes
    every = max(ceil(sizes["chain"] * sizes["draw"] / max(most, 1)), 1)
    return posterior.isel(draw=slice(None, None, every), missing_dims="ignore")
