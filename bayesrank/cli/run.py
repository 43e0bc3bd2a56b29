"""What the commands share: fit, save, show and write."""

import atexit
import gc
import importlib
import json
import logging
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import bayesrank
from bayesrank.cli.caches import compiling_said, find_cache
from bayesrank.cli.places import (
    POSTERIOR,
    UNFINISHED,
    check_places,
    left_by_others,
    new_folder,
    put_in_place,
    signals_later,
)
from bayesrank.cli.talk import Talk

if TYPE_CHECKING:
    import pandas as pd

    from bayesrank.data import Connectivity
    from bayesrank.results import Section

# PyMC takes seconds to import: functions import what they need, so that --help is instant.

MOST_NUMBERS = 20_000_000  # of predictions, 8 bytes each
# Draws of a posterior that predictions are computed at, and that data are simulated from.
PREDICTED, SIMULATED = 1000, 500
# Below so many draws there are no intervals, nor can one be left out: of more entries than there is
# memory for, so many are predicted that stand for the others.
FEWEST, SOME = 100, 100_000
TOO_LONG = 600  # seconds of sampling, beyond which a quick answer is given
# Entries times steps, up to which sampling takes less: entries take a tenth of a microsecond in a
# gradient, 2,000 rankings of 40 with ties 8 ms, and a step has 20 gradients, on one core or more.
SURELY_SHORT = 120_000_000
TUNE_NEAR = 200  # steps of tuning, where a normal distribution near the posterior is known
SEEDS = 2**31  # seeds that are drawn, where none is given
QUICK = (
    "This answer is an approximation: a normal distribution around the most probable utilities. "
    "Ranks and probabilities are about right, and roughest for items of few data; the full answer "
    "(--full) samples them."
)


@dataclass(frozen=True)
class Fit:
    """How to fit and what to report."""

    output_dir: Path
    seed: int
    draws: int
    tune: int
    chains: int
    top: int
    prior: str
    prior_scale: float | None  # learned if None
    made: str  # the date
    version: str = bayesrank.__version__
    interval: float = 0.94
    scale: str = "utility"  # or elo
    anchor: str | None = None  # the item with 1000 points
    sort: str = "mean"  # the table of ranks, or lower
    title: str | None = None
    save: Path | None = None
    force: bool = False
    open: bool = False
    quick: bool | None = None  # where it would take too long, if None
    command: str = ""  # that asked for this

    @property
    def sampling(self) -> str:
        """What the sampler does, in words."""
        if self.quick:
            return f"{self.chains * self.draws:,} draws of an approximation"
        chains = "1 chain" if self.chains == 1 else f"{self.chains} chains"
        return f"{chains} of {self.draws:,} draws after {self.tune:,} tuning steps"

    @property
    def spread(self) -> str:
        """Say how far apart utilities are before the data, in words."""
        if self.prior_scale is not None:
            return f"with standard deviation {self.prior_scale:g}"
        from bayesrank.priors import LEARNED

        return (
            "with a standard deviation that is learned from the data (half-normal with scale "
            f"{LEARNED:g} before them)"
        )


# From a function that builds a model to its posterior, made as that of the job was made.
Sampler = Callable[[Callable[[], Any]], Any]


@dataclass(frozen=True)
class Part:
    """What there is to say beside the ranks: a section of the page, and files."""

    section: "Section"
    files: Mapping[str, bytes]
    printed: bool = True  # on the terminal, too
    failures: Sequence[str] = ()  # of the model, which stand in the verdict
    fit: str = ""  # what stands there if there are none
    notes: Sequence[str] = ()  # on the data
    data: Mapping[str, "pd.DataFrame"] = field(default_factory=dict)  # for --json


@dataclass(frozen=True)
class Job:
    """What a command fits, and what it has to say."""

    title: str
    data: Any  # its repr says what there is
    build: Callable[[], Any]  # makes the model, once; of what is `drawn`, draws of the posterior
    model: str  # in words
    cautions: Callable[[], list[str]]  # what a reader should know about the data
    seen: Callable[[], "pd.Series"]  # of each item, how many rankings or matches it is in
    request: Mapping[str, Any]  # what `bayesrank report` needs to make this job again
    reading: str | None = None  # what a difference of utilities means
    checked: Sequence[tuple[str, str]] = (("utility", "item"),)  # variables, and their dims
    # of the posterior, the same with predictions of what was observed, the summary of ranks, and
    # what samples another model
    parts: Callable[[Any, Any, Any, Sampler], list[Part]] = lambda *_: []
    entries: int = 0  # numbers of the observed variable
    simulated: bool = False  # whether parts want draws of it
    some: Callable[[int], "Job | None"] | None = None  # the same with so many entries, at random
    moved: Callable[[Any], Any] = lambda posterior: posterior  # draws that say more of the same
    nuts: Callable[[Any], dict[str, Any]] = lambda _: {}  # settings for the model
    drawn: str = ""  # how good draws are that no sampler made, in words; then there is no model
    # where chains of the model start, if not anywhere; sentences go to the second
    start: Callable[[Any, Callable[[str], None]], dict[str, Any]] | None = None
    headline: Callable[[Any], str] = lambda _: ""  # what the verdict does not say
    last_seen: Callable[[], "pd.Series"] | None = None  # of each item, if data have dates

    def described(self, fit: Fit) -> str:
        """Say what was done, for the page."""
        if self.drawn:
            n = fit.chains * fit.draws
            return f"{self.data!r}. Model: {self.model}; {n:,} draws; seed {fit.seed}."
        return (
            f"{self.data!r}. Model: {self.model}; utilities {fit.prior} {fit.spread}; "
            f"{fit.sampling}; seed {fit.seed}."
        )


def run(job: Job, fit: Fit, talk: Talk, posterior: Any = None) -> None:
    """Fit unless there is a posterior, save it, and then show and write what it says."""
    check_places(fit.output_dir, fit.save, force=fit.force)
    if posterior is None:
        for left in left_by_others(fit.output_dir):
            talk.stage(left)
    if sentence := find_cache():
        talk.stage(sentence)
    talk.result(f"{job.data!r}")
    if fit.anchor is not None and fit.anchor not in job.data.coords["item"]:
        raise ValueError(f"There is no item {fit.anchor!r} to be the --anchor.")
    for sentence in job.cautions():
        talk.note(sentence)
    if job.drawn:
        talk.stage("Fitting ...")
        posterior = job.build()
    elif posterior is None:
        talk.stage("Loading PyMC ...")
        _load()
        with compiling_said(talk.compiling):
            posterior = _sample(job, fit, talk)
    if not posterior.attrs.get("bayesrank"):
        drawn = posterior["posterior"]
        fit = replace(
            fit,
            draws=drawn.sizes["draw"],
            tune=drawn.attrs.get("tuning_steps", fit.tune),
            quick="approximation" in drawn.attrs,
        )
        told = {**job.request, "title": job.title, "notes": talk.notes, "fit": _told(fit)}
        posterior.attrs["bayesrank"] = json.dumps(told)
    made = new_folder(fit.output_dir)
    try:
        saved = _save(posterior, made / POSTERIOR, talk)
        talk.heed()  # interrupted, sampling gives the draws that it has made
        document = _report(job, fit, talk, posterior, made)
        if not saved and (fit.output_dir / POSTERIOR).exists():
            raise OSError(f"The earlier results in {_name(fit.output_dir)} stay as they are.")
    except BaseException:
        if not (made / POSTERIOR).exists():
            shutil.rmtree(made, ignore_errors=True)
        raise
    files = sorted(path.name for path in made.iterdir())
    with signals_later():
        kept, talk.kept = talk.kept, None
        put_in_place(made)
        talk.kept = fit.output_dir / POSTERIOR if POSTERIOR in files else kept
    written = [fit.output_dir / name for name in files]
    if fit.save is not None:
        _write_posterior(posterior, fit.save)
        written.append(fit.save)
    names = [_name(path) for path in written]
    if talk.data:
        talk.document(json.dumps(document | {"files": names}, indent=1))
    talk.result("\n".join(["\nWritten:", *(f"  {name}" for name in names)]))
    talk.stage("Done.")
    if fit.open:
        click.launch(str((fit.output_dir / "report.html").absolute()))


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


def _report(job: Job, fit: Fit, talk: Talk, posterior: Any, made: Path) -> dict[str, Any]:
    """Say what the posterior says, the ranks first, and write the files; return it as data."""
    import matplotlib as mpl

    mpl.use("agg")  # pictures go to files: no display is needed
    import matplotlib.pyplot as plt

    from bayesrank.cli.marked import marked_csv, marked_png
    from bayesrank.plots import plot_ranks, use_fonts_for
    from bayesrank.results import (
        rank_summary,
        report_html,
        standing,
        table_text,
        tiers,
        verdict,
    )

    summary = rank_summary(
        posterior, top=fit.top, prob=fit.interval, prior_sd=_prior_sd(posterior, fit)
    )
    seen = job.seen()
    summary.insert(list(summary.columns).index("mean"), str(seen.name), seen[summary.index])
    if job.last_seen is not None:
        summary["last_seen"] = job.last_seen()[summary.index]
    summary["tier"] = tiers(posterior)["tier"].to_series()[summary.index]
    if fit.scale == "elo":
        summary = summary.join(_elo(posterior, fit))
    if fit.sort == "lower":
        summary["lower"] = summary["elo_low"] if fit.scale == "elo" else _lower(posterior, fit)
    ok, checked = (True, [QUICK]) if fit.quick else _checked(posterior, job)
    talk.result(f"\n{table_text(summary)}\n")
    more = job.headline(posterior)
    said = " ".join(filter(None, ["Quick answer:" * bool(fit.quick), verdict(summary), more]))
    talk.result(said, brief=True)
    talk.result(("" if ok else "Warning: ") + " ".join(checked), brief=fit.quick or not ok)
    table = summary.assign(standing=standing(summary))
    if fit.sort == "lower":
        table = table.sort_values("lower", ascending=False, kind="stable")
    _write(made / "ranks.csv", marked_csv(table, posterior))

    lacking = use_fonts_for(summary.index)
    if lacking:
        talk.note(
            "No font that is installed has some characters of the names "
            f"({' '.join(lacking[:10])}): pictures show boxes for them, the tables are right."
        )
    predicted = posterior
    if not job.drawn:
        talk.stage("Predicting ...")
        with compiling_said(talk.compiling):
            predicted = _predictions(job, fit, posterior)
    talk.stage("Checking and drawing ...")
    picture = marked_png(
        plot_ranks(
            posterior, max_items=100, prob=fit.interval, prior_sd=_prior_sd(posterior, fit),
            seen=seen,
        ),
        posterior,
    )  # fmt: skip

    def sampler(build: Callable[[], Any]) -> Any:
        talk.stage("Another model, to set beside it:")
        with compiling_said(talk.compiling):
            # what it shares with the job's are its utilities
            other = _sample(replace(job, build=build, checked=Job.checked), fit, talk)
        talk.heed()
        return other

    parts = job.parts(posterior, predicted, summary, sampler)
    plt.close("all")
    for sentence in (sentence for part in parts for sentence in part.notes):
        talk.note(sentence)
    failures = [sentence for part in parts for sentence in part.failures]
    good = "" if failures else " ".join(part.fit for part in parts if part.fit)
    for sentence in failures:
        talk.result(f"Warning: {sentence}", brief=True)
    if good:
        talk.result(good, brief=True)
    for part in parts:
        if part.printed:
            talk.result(f"\n{part.section.text()}")
    quick = "Quick answer. " if fit.quick else ""
    page = report_html(
        fit.title or job.title,
        summary,
        picture,
        paragraphs=[job.described(fit), *(checked if ok else ()), *_again(fit)],
        verdict_too=more,
        failures=failures,
        fit=good,
        warnings=checked if fit.quick or not ok else (),
        notes=talk.notes,
        sections=[part.section for part in parts],
        made=f"{quick}{fit.made}, bayesrank {fit.version}, seed {fit.seed}",
        file="ranks.csv",
        reading=job.reading,
        interval=fit.interval,
    )
    contents = {"ranks.png": picture, "report.html": page.encode("utf-8", "replace")}
    for part in parts:
        contents |= part.files
    for name, content in contents.items():
        _write(made / name, content)
    return {
        "title": fit.title or job.title,
        "verdict": said,
        "quick": bool(fit.quick),
        "fits": not failures,
        "converged": ok,
        "warnings": [*failures, *(() if ok else checked)],
        "notes": talk.notes,
        "described": job.described(fit),
        "ranks": _records(table),
        **{name: _records(found) for part in parts for name, found in part.data.items()},
    }


def _records(table: "pd.DataFrame") -> Any:
    """Write a table as a list of objects; what is not a number there is null."""
    return json.loads(table.reset_index().to_json(orient="records", double_precision=6))


def _elo(posterior: Any, fit: Fit) -> "pd.DataFrame":
    """Ratings on the scale of Elo, and the ends of their intervals."""
    import pandas as pd

    from bayesrank.results import elo_scale

    elo = elo_scale(posterior, anchor=fit.anchor)
    tail = (1 - fit.interval) / 2
    ends = elo.quantile([tail, 1 - tail], dim=("chain", "draw")).to_numpy()
    columns = {
        "elo": elo.mean(("chain", "draw")).to_numpy(),
        "elo_low": ends[0],
        "elo_high": ends[1],
    }
    return pd.DataFrame(columns, index=elo["item"].to_numpy())


def _lower(posterior: Any, fit: Fit) -> "pd.Series":
    """Lower ends of the intervals of the utilities, from the mean of all items."""
    utility = posterior["posterior"]["utility"]
    draws = utility - utility.mean("item")
    return draws.quantile((1 - fit.interval) / 2, dim=("chain", "draw")).to_series()


def _sample(job: Job, fit: Fit, talk: Talk) -> Any:
    """Draw from the posterior, as often as ranks need to be exact; or from an approximation."""
    from xarray import DataTree

    from bayesrank.inference import sample

    def is_precise(so_far: Any) -> bool:
        from bayesrank.results import precise

        return precise(job.moved(DataTree.from_dict({"posterior": so_far})), top=fit.top)

    def enough(so_far: Any) -> bool:
        posterior = job.moved(DataTree.from_dict({"posterior": so_far}))
        return _checked(posterior, job)[0] and is_precise(so_far)

    def watch(done: int, most: int) -> None:
        if talk.bar is None:  # it is compiled
            talk.stage(f"Sampling {fit.sampling} at most ...")
        talk.progress(done, most)

    talk.stage("Building the model ...")
    with job.build() as model:
        settings: dict[str, Any] = {
            "draws": fit.draws, "tune": fit.tune, "chains": fit.chains, "nuts": job.nuts(model),
        }  # fmt: skip
        quick = fit.quick
        if not quick and job.entries * fit.chains * (fit.draws + fit.tune) > SURELY_SHORT:
            from bayesrank.inference import compile_density, near_if_it_pays, nuts_seconds

            talk.stage("Estimating how long it takes ...")
            settings["density"] = compile_density(model)
            seconds = nuts_seconds(model, **settings)
            quick = seconds > TOO_LONG and fit.quick is None and job.start is None
            if quick:
                talk.note(
                    f"Sampling would take up to {_time(seconds)}, so this is the quick answer. The "
                    f"full one: {fit.command} --full"
                )
            elif job.start is None and (
                near := near_if_it_pays(model, settings["density"], seconds)
            ):
                fit = replace(fit, tune=min(fit.tune, TUNE_NEAR))
                settings |= {"near": near, "nuts": {}, "tune": fit.tune}
        if quick:
            posterior = _approximate(model, fit, talk, is_precise)
            if posterior is not None:
                return job.moved(posterior)
            fit = replace(fit, quick=False)
        if job.start is not None:
            talk.stage("Looking for where to start ...")
            settings["initvals"] = job.start(model, talk.note)
        talk.stage("Compiling ...")
        try:
            posterior = sample(
                **settings, random_seed=fit.seed, enough=enough, watch=watch, progressbar=False
            )
        except RuntimeError as error:
            raise ValueError(f"The sampler failed; try another --prior-scale. {error}") from error
        if talk.asked:
            made = posterior["posterior"].sizes["draw"]
            talk.note(f"Sampling was interrupted when each chain had {made:,} draws.")
    return job.moved(posterior)


def _approximate(model: Any, fit: Fit, talk: Talk, enough: Any) -> Any:
    """Draw from an approximation of the posterior, if there is one."""
    from bayesrank.inference import quick_posterior

    talk.stage("Approximating ...")
    try:
        return quick_posterior(
            model, draws=fit.draws, chains=fit.chains, seed=fit.seed, enough=enough
        )
    except ValueError as error:
        talk.note(f"There is no quick answer, so the full one is sampled. {error}")
        return None


def _time(seconds: float) -> str:
    """Write a long time as people say it."""
    if seconds < 7200:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.0f} hours"


def _save(posterior: Any, path: Path, talk: Talk) -> bool:
    """Save the posterior before anything else is done with it; elsewhere, if not here."""
    name = path.parent.name.replace(UNFINISHED, "bayesrank-") + path.suffix
    places: list[Callable[[], Path]] = [lambda: path, lambda: Path(tempfile.gettempdir(), name)]
    errors = []
    for find in places:
        try:
            place = find()
            _write_posterior(posterior, place)
        except (OSError, RuntimeError, ValueError) as error:
            errors.append(error)
            continue
        talk.kept = place
        break
    saved = len(errors) < len(places)
    if errors:
        why = getattr(errors[0], "strerror", None) or str(errors[0])
        where = f"; it is in {_name(place)}" if saved else ""
        talk.failed.append(
            f"The posterior could not be saved to {_name(path)}: {why.rstrip('.')}{where}."
        )
    return saved


def _write_posterior(posterior: Any, path: Path) -> None:
    """Write a posterior whole or not at all."""
    from bayesrank.results import whole_file

    with whole_file(path) as beside:
        try:
            posterior.to_netcdf(beside, engine="netcdf4")
        except UnicodeEncodeError:  # netCDF writes to names that are text
            with tempfile.TemporaryDirectory() as folder:
                posterior.to_netcdf(Path(folder, POSTERIOR), engine="netcdf4")
                shutil.copyfile(Path(folder, POSTERIOR), beside)


def _write(path: Path, content: bytes) -> None:
    """Write a file; where that fails, the error names it, as those of full disks do not."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from error


def _predictions(job: Job, fit: Fit, posterior: Any) -> Any:
    """Compute what the model makes of what was observed.

    At draws that are evenly spaced: the log-likelihood of what was observed and, at some of these,
    draws of it, if they are wanted; in any case no more than fit into memory, of some rankings if
    there are too many. NASCAR's mean gain in predicting a race is 2.719 ± 0.497 with 4,000 draws
    and with 1,000; of its checks 11 of 364 fail with 4,000, and 12 of 365 with 500.
    """
    import pymc as pm
    from pytensor.compile.mode import Mode

    logging.getLogger("pymc").setLevel(logging.WARNING)  # the names of what is drawn

    most = MOST_NUMBERS / max(job.entries, 1)
    if job.some is not None and most < FEWEST:
        from xarray import DataTree

        from bayesrank.inference import data_groups

        if (fewer := job.some(SOME)) is not None:
            job, posterior = fewer, posterior.copy()
            for name, group in data_groups(job.build()).items():
                posterior[name] = DataTree(group)
            most = float(FEWEST)
    some = _spaced(posterior, min(PREDICTED, most))
    options: dict[str, Any] = {"progressbar": False}
    if job.simulated:
        # In Python, which calls compiled kernels: numba needs 20 seconds for draws of rankings,
        # longer than all of them take.
        options["compile_kwargs"] = {"mode": Mode("py", "fast_compile")}
    with job.build():
        pm.compute_log_likelihood(some, **options)
        if job.simulated:
            drawn = pm.sample_posterior_predictive(
                _spaced(some, min(SIMULATED, most)), random_seed=fit.seed, **options
            )
            some["posterior_predictive"] = drawn["posterior_predictive"]
    return some


def _spaced(posterior: Any, most: float) -> Any:
    """Take so many draws of a posterior at most, evenly spaced."""
    sizes = posterior["posterior"].sizes
    every = max(ceil(sizes["chain"] * sizes["draw"] / max(most, 1)), 1)
    return posterior.isel(draw=slice(None, None, every), missing_dims="ignore")


def _prior_sd(posterior: Any, fit: Fit) -> float:
    """Return the standard deviation of utilities before the data: what was learned, or given."""
    if "utility_scale" in posterior["posterior"]:
        return float(posterior["posterior"]["utility_scale"].mean())
    assert fit.prior_scale is not None  # or else it is learned, and there
    return fit.prior_scale


def _checked(posterior: Any, job: Job) -> tuple[bool, list[str]]:
    """Whether the chains have converged, and what to say: of all that is bad, or of the first."""
    if job.drawn:
        return True, [job.drawn]
    from bayesrank.results import convergence

    found = [convergence(posterior, var, dim=dim) for var, dim in job.checked]
    bad = sorted((one for one in found if not one.ok), key=lambda one: one.ess_bulk)
    said: dict[str, str] = {}  # of what is wrong with several variables, the worst
    for one in bad or found[:1]:
        for text in one.sentences:
            said.setdefault(" ".join(text.split()[:3]), text)
    return not bad, list(said.values())


def _again(fit: Fit) -> list[str]:
    """Say how the same is made again."""
    return [f"The command: {fit.command}"] if fit.command else []


def _told(fit: Fit) -> dict[str, Any]:
    """Return the settings that a posterior remembers."""
    forgotten = ("output_dir", "save", "force", "open")
    return {name: value for name, value in asdict(fit).items() if name not in forgotten}


def cautions_of(found: "Connectivity", fit: Fit) -> list[str]:
    """Say which ranks the comparisons leave open, and what the prior is then."""
    out = left_open(found)
    if out:
        out.append(
            f"The prior of the utilities is {fit.prior} {fit.spread}; --prior-scale sets another, "
            "which shows how much it decides."
        )
    return out


def left_open(found: "Connectivity") -> list[str]:
    """Say which ranks the comparisons leave open."""
    out = []
    if not found.is_connected:
        groups = [f"{{{_some(group, 4)}}}" for group in found.components[:4]]
        out.append(
            f"No comparison links the {found.n_components:,} groups {', '.join(groups)}"
            + (", ..." if found.n_components > 4 else "")
            + ": the data do not say which of them is better."
        )
    for items, where, how in (
        (found.never_loses, "behind", "ahead"),
        (found.never_wins, "ahead of", "behind"),
    ):
        if len(items):
            are, they = ("is", "it is") if len(items) == 1 else ("are", "they are")
            out.append(
                f"{_some(items, 5)} {are} never {where} any other item: how far {how} {they} the "
                "prior limits, and not the data."
            )
    if not out and not found.is_strongly_connected:
        groups = [f"{{{_some(group, 4)}}}" for group in found.strong_components[:4]]
        out.append(
            f"Of the groups {', '.join(groups)}"
            + (", ..." if len(found.strong_components) > 4 else "")
            + " one is always ahead of another: how far, the prior limits, and not the data."
        )
    return out


def _some(items: "pd.Index", most: int) -> str:
    shown = ", ".join(repr(str(item)) for item in items[:most])
    return shown + (f" and {len(items) - most} more" if len(items) > most else "")


def _name(path: Path) -> str:
    return str(click.format_filename(path))
