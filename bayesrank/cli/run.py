"""What the commands share: fit, show and write; errors and warnings as sentences."""

import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from bayesrank.data import Connectivity
    from bayesrank.results import Section

# PyMC takes seconds to import: functions import what they need, so that --help is instant.

MOST_NUMBERS = 20_000_000  # of predictions, 8 bytes each


@dataclass(frozen=True)
class Fit:
    """How to fit and what to report."""

    output_dir: Path
    seed: int | None
    draws: int
    tune: int
    chains: int
    top: int
    prior: str
    prior_scale: float
    save: Path | None = None

    @property
    def sampling(self) -> str:
        """What the sampler does, in words."""
        chains = "1 chain" if self.chains == 1 else f"{self.chains} chains"
        return f"{chains} of {self.draws:,} draws after {self.tune:,} tuning steps"


class Interrupted(BaseException):
    """Ctrl-C. Not a KeyboardInterrupt: nutpie takes that for a wish to keep what it has drawn."""


@dataclass(frozen=True)
class Part:
    """What there is to say beside the ranks: a section of the page, and files."""

    section: "Section"
    files: Mapping[str, bytes]
    printed: bool = True  # on the terminal, too


@dataclass(frozen=True)
class Job:
    """What a command fits, and what it has to say."""

    title: str
    data: Any  # its repr says what there is
    build: Callable[[], Any]  # makes the model
    model: str  # in words
    cautions: Callable[[], list[str]]  # what a reader should know about the data
    reading: str | None = None  # what a difference of utilities means
    checked: Sequence[tuple[str, str]] = (("utility", "item"),)  # variables, and their dims
    # of the posterior, the same with predictions of what was observed, and the summary of ranks
    parts: Callable[[Any, Any, Any], list[Part]] = lambda *_: []
    files: Sequence[str] = ()  # that the parts may have
    entries: int = 0  # numbers of the observed variable
    simulated: bool = False  # whether parts want draws of it
    moved: Callable[[Any], Any] = lambda posterior: posterior  # draws that say more of the same
    nuts: Callable[[Any], dict[str, Any]] = lambda _: {}  # settings for the model

    def described(self, fit: Fit) -> str:
        """Say what was done, for the page."""
        return (
            f"{self.data!r}. Model: {self.model}; utilities {fit.prior} with standard deviation "
            f"{fit.prior_scale:g}; {fit.sampling}"
            + (f"; seed {fit.seed}." if fit.seed is not None else ".")
        )


def run(job: Job, fit: Fit, notes: list[str]) -> None:
    """Fit, show and write; `notes` are the warnings so far, and those to come."""
    import matplotlib as mpl

    mpl.use("agg")  # pictures go to files: no display is needed
    import matplotlib.pyplot as plt

    from bayesrank.plots import plot_ranks
    from bayesrank.results import (
        figure_png,
        rank_summary,
        report_html,
        table_text,
        verdict,
        whole_file,
        write_whole,
    )

    names = ("ranks.png", "ranks.csv", *job.files, "report.html")
    possible = [fit.output_dir / name for name in names]
    _check_places(possible, fit.save)
    click.echo(f"{job.data!r}")
    for sentence in job.cautions():
        _note(sentence, notes)

    posterior, predicted = _sample(job, fit)
    fit = replace(fit, draws=posterior["posterior"].sizes["draw"])
    ok, checked = _checked(posterior, job)
    summary = rank_summary(posterior, top=fit.top)
    picture = figure_png(plot_ranks(posterior, max_items=100))
    parts = job.parts(posterior, predicted, summary)
    plt.close("all")
    page = report_html(
        job.title,
        summary,
        picture,
        paragraphs=[job.described(fit), *(checked if ok else ())],
        warnings=[*notes, *(() if ok else checked)],
        sections=[part.section for part in parts],
        reading=job.reading,
    )
    contents = {"ranks.png": picture, "ranks.csv": summary.to_csv().encode()}
    for part in parts:
        contents |= part.files
    contents["report.html"] = page.encode()
    try:
        click.echo(f"\n{table_text(summary)}\n\n{verdict(summary)}")
        click.echo(("" if ok else "Warning: ") + " ".join(checked))
        for part in filter(lambda part: part.printed, parts):
            click.echo(f"\n{part.section.text()}")
    finally:  # also where the reader of a pipe has gone
        fit.output_dir.mkdir(parents=True, exist_ok=True)
        files = [path for path in possible if path.name in contents]
        for path in files:
            write_whole(path, contents[path.name])
        if fit.save is not None:
            with whole_file(fit.save) as beside:
                posterior.to_netcdf(beside, engine="netcdf4")
    click.echo("\nWritten:")
    for path in (*files, *([fit.save] if fit.save else [])):
        click.echo(f"  {path}")


def _sample(job: Job, fit: Fit) -> tuple[Any, Any]:
    """Draw from the posterior, and predict what was observed."""
    say = _progress()
    say("Loading PyMC ...")
    from xarray import DataTree

    from bayesrank.inference import sample
    from bayesrank.results import precise

    def enough(so_far: Any) -> bool:
        posterior = job.moved(DataTree.from_dict({"posterior": so_far}))
        return _checked(posterior, job)[0] and precise(posterior, top=fit.top)

    say("Building the model ...")
    with job.build() as model:
        say(f"Compiling, then sampling {fit.sampling} ...")
        try:
            posterior = sample(
                draws=fit.draws,
                tune=fit.tune,
                chains=fit.chains,
                random_seed=fit.seed,
                nuts=job.nuts(model),
                enough=enough,
                progressbar=sys.stderr.isatty(),
            )
        except RuntimeError as error:
            raise ValueError(f"The sampler failed; try another --prior-scale. {error}") from error
        posterior = job.moved(posterior)
        say("Predicting ...")
        predicted = _predicted(posterior, job, fit)
    say("Done.")
    return posterior, predicted


def _predicted(posterior: Any, job: Job, fit: Fit) -> Any:
    """Compute what the model, which is in context, makes of what was observed.

    As many draws as fit into memory, evenly spaced, with the log-likelihood of what was observed
    and, if wanted, draws of it.
    """
    import pymc as pm
    from pytensor.compile.mode import Mode

    every = ceil(fit.chains * fit.draws * job.entries / MOST_NUMBERS)
    some = posterior.isel(draw=slice(None, None, max(every, 1)), missing_dims="ignore")
    options: dict[str, Any] = {"progressbar": False}
    if job.simulated:
        # In Python, which calls compiled kernels: numba needs 20 seconds for draws of rankings,
        # longer than all of them take.
        options["compile_kwargs"] = {"mode": Mode("py", "fast_compile")}
    pm.compute_log_likelihood(some, **options)
    if job.simulated:
        pm.sample_posterior_predictive(
            some, extend_inferencedata=True, random_seed=fit.seed, **options
        )
    return some


def _checked(posterior: Any, job: Job) -> tuple[bool, list[str]]:
    """Whether the chains have converged, and what to say: of all that is bad, or of the first."""
    from bayesrank.results import convergence

    found = [convergence(posterior, var, dim=dim) for var, dim in job.checked]
    bad = [one for one in found if not one.ok]
    return not bad, list(dict.fromkeys(text for one in bad or found[:1] for text in one.sentences))


def _progress() -> Callable[[str], None]:
    start = time.perf_counter()
    return lambda text: click.echo(f"[{time.perf_counter() - start:5.1f} s] {text}", err=True)


def cautions_of(found: "Connectivity", fit: Fit) -> list[str]:
    """Say which ranks the comparisons leave open."""
    out = list(found.warnings())
    if out:
        out.append(
            f"This model has a prior ({fit.prior}, standard deviation {fit.prior_scale:g}). Where "
            "the comparisons leave ranks open it alone decides: another --prior-scale shows how "
            "much."
        )
    return out


def _check_places(files: list[Path], save: Path | None) -> None:
    """Fail before sampling, not after, where nothing can be written."""
    if save is not None and not save.parent.is_dir():
        raise ValueError(f"The folder {save.parent} does not exist; make it, or choose another.")
    for path in (*files, *([save] if save else [])):
        if path.is_dir():
            raise ValueError(f"{path} is a folder; a file is to be written there.")
        # The folder of the outputs may not exist yet: then the one it will be made in counts.
        folder = next(parent for parent in path.absolute().parents if parent.exists())
        if not folder.is_dir():
            raise ValueError(f"{folder} is a file, so nothing can be written below it.")
        try:
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            raise ValueError(f"Nothing can be written to {folder}: {error.strerror}.") from error


def _note(sentence: str, notes: list[str]) -> None:
    """Show a sentence once, and remember it for the page."""
    if sentence not in notes:
        notes.append(sentence)
        click.echo(f"Note: {sentence}", err=True)


@contextmanager
def errors_as_sentences() -> Iterator[list[str]]:
    """Show errors and warnings of data as sentences, not as tracebacks; yields the warnings."""
    notes: list[str] = []

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        if str(message).startswith("Glyph "):  # matplotlib: one warning for each character
            _note("The picture's font lacks some characters of the names; see the table.", notes)
        elif issubclass(category, UserWarning):
            _note(str(message), notes)

    def interrupt(*_: Any) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default", UserWarning)  # others are for developers
            warnings.showwarning = show
            yield notes
    except (ValueError, OSError) as error:
        text = str(error)
        if isinstance(error, OSError) and error.strerror:
            text = ": ".join(filter(None, [error.filename, f"{error.strerror}."]))
        click.echo(f"Error: {text}", err=True)
        sys.exit(1)
    except (Interrupted, KeyboardInterrupt):
        click.echo("Interrupted: nothing is written.", err=True)
        sys.exit(130)
    finally:
        signal.signal(signal.SIGINT, before)
