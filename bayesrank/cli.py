"""The command line: from a table of preferences to a posterior of ranks.

``bayesrank quickstart`` does it for the bundled NASCAR 2002 season, ``bayesrank rank`` for
anyone's table. Both print a table and write a figure, the table and one self-contained page.
"""

import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import bayesrank

if TYPE_CHECKING:
    from bayesrank.data import Rankings

# PyMC takes seconds to import: commands import what they need, so that --help is instant.

PRIORS = ("normal", "zero-sum")


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


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(bayesrank.__version__, prog_name="bayesrank")
def main() -> None:
    """Say which item is best, and how sure that is."""


def _fit_options(command: Callable[..., None]) -> Callable[..., None]:
    options = [
        click.option("--output-dir", type=click.Path(path_type=Path), default="bayesrank-output",
                     show_default=True, help="Folder for the figure, the table and the page."),
        click.option("--seed", type=int, default=None, help="Same seed, same result."),
        click.option("--draws", type=click.IntRange(min=1), default=1000, show_default=True,
                     help="Draws per chain."),
        click.option("--tune", type=click.IntRange(min=50), default=500, show_default=True,
                     help="Tuning steps per chain."),
        click.option("--chains", type=click.IntRange(min=1), default=4, show_default=True),
        click.option("--top", type=click.IntRange(min=1), default=3, show_default=True,
                     help="The k of P(top k)."),
        click.option("--prior", type=click.Choice(PRIORS), default="normal", show_default=True,
                     help="normal: independent, for sparse data; zero-sum: many long rankings."),
        click.option("--prior-scale", type=click.FloatRange(min=0, min_open=True), default=1.0,
                     show_default=True, help="Standard deviation of the utilities."),
        click.option("--save", type=click.Path(path_type=Path), default=None,
                     help="Keep the posterior as a netCDF file."),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


@main.command()
@_fit_options
def quickstart(**options: Any) -> None:
    """Rank the drivers of the NASCAR 2002 season (36 races, 87 drivers)."""
    fit = Fit(**options)
    with _errors_as_sentences() as notes:
        from bayesrank.data import load_nascar

        _run(load_nascar(), fit, "Drivers of the NASCAR 2002 season", notes)


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--ranker", required=True, metavar="COLUMN", help="Who ranks: user, race, judge.")
@click.option("--item", required=True, metavar="COLUMN", help="What is ranked.")
@click.option("--rating", metavar="COLUMN", help="High is good; equal ratings are ties.")
@click.option("--rank", metavar="COLUMN", help="1 is best; equal ranks are ties.")
@_fit_options
def rank(
    file: Path, ranker: str, item: str, rating: str | None, rank: str | None, **options: Any
) -> None:
    """Rank the items of FILE (CSV, TSV or Parquet; one row per ranker and item)."""
    if (rating is None) == (rank is None):
        raise click.UsageError("Give either --rating COLUMN (high is good) or --rank COLUMN.")
    fit = Fit(**options)
    with _errors_as_sentences() as notes:
        from bayesrank.data import Rankings, read_table

        frame = read_table(file)
        if rating is not None:
            rankings = Rankings.from_ratings(frame, ranker=ranker, item=item, rating=rating)
        elif rank is not None:
            rankings = Rankings.from_long_ranks(frame, ranker=ranker, item=item, rank=rank)
        _run(rankings, fit, f"Ranks of {item} in {file.name}", notes)


def _run(rankings: "Rankings", fit: Fit, title: str, notes: list[str]) -> None:
    """Fit, show and write; `notes` are the warnings so far, and those to come."""
    import matplotlib as mpl

    mpl.use("agg")  # pictures go to files: no display is needed
    import matplotlib.pyplot as plt

    from bayesrank.results import (
        convergence,
        figure_png,
        plot_ranks,
        rank_summary,
        report_html,
        table_text,
        verdict,
        whole_file,
        write_whole,
    )

    files = [fit.output_dir / name for name in ("ranks.png", "ranks.csv", "report.html")]
    _check_places(files, fit.save)
    click.echo(f"{rankings!r}")
    for sentence in _cautions(rankings, fit):
        _note(sentence, notes)

    posterior = _sample(rankings, fit)
    checked = convergence(posterior)
    summary = rank_summary(posterior, top=fit.top)
    picture = figure_png(plot_ranks(posterior, max_items=100).figure)
    plt.close()
    page = report_html(
        title,
        summary,
        picture,
        paragraphs=[_describe(rankings, fit), *(checked.sentences if checked.ok else ())],
        warnings=[*notes, *(() if checked.ok else checked.sentences)],
    )
    try:
        click.echo(f"\n{table_text(summary)}\n\n{verdict(summary)}")
        click.echo(("" if checked.ok else "Warning: ") + str(checked))
    finally:  # also where the reader of a pipe has gone
        fit.output_dir.mkdir(parents=True, exist_ok=True)
        for path, content in zip(
            files, (picture, summary.to_csv().encode(), page.encode()), strict=True
        ):
            write_whole(path, content)
        if fit.save is not None:
            with whole_file(fit.save) as beside:
                posterior.to_netcdf(beside, engine="netcdf4")
    click.echo("\nWritten:")
    for path in (*files, *([fit.save] if fit.save else [])):
        click.echo(f"  {path}")


def _sample(rankings: "Rankings", fit: Fit) -> Any:
    say = _progress()
    say("Loading PyMC ...")
    import pymc as pm

    from bayesrank.distributions import PlackettLuce

    say("Building the model ...")
    prior = {"normal": pm.Normal, "zero-sum": pm.ZeroSumNormal}[fit.prior]
    with pm.Model(coords=rankings.coords):
        utility = prior("utility", sigma=fit.prior_scale, dims="item")
        PlackettLuce("y", utility, observed=rankings)
        say(f"Compiling, then sampling {fit.sampling} ...")
        # Independent utilities leave their sum to the prior: a stiff direction that the
        # low-rank mass matrix finds (measured: twelve times the effective draws on NASCAR).
        try:
            posterior = pm.sample(
                draws=fit.draws,
                tune=fit.tune,
                chains=fit.chains,
                random_seed=fit.seed,
                nuts_sampler="nutpie",
                nuts={"adaptation": "low_rank"},
                progressbar=sys.stderr.isatty(),
                compute_convergence_checks=False,
                quiet=True,
            )
        except RuntimeError as error:
            raise ValueError(f"The sampler failed; try another --prior-scale. {error}") from error
    say("Done.")
    return posterior


def _progress() -> Callable[[str], None]:
    start = time.perf_counter()
    return lambda text: click.echo(f"[{time.perf_counter() - start:5.1f} s] {text}", err=True)


def _cautions(rankings: "Rankings", fit: Fit) -> list[str]:
    """Say what a reader should know about the data."""
    found = rankings.connectivity()
    if len(found.uncompared) == rankings.n_items:
        raise ValueError(
            "No ranking puts one item above another, so the data say nothing about ranks. Each "
            "ranker needs two items or more, and not all of them equal."
        )
    out = list(found.warnings())
    if out:
        out.append(
            f"This model has a prior ({fit.prior}, standard deviation {fit.prior_scale:g}). Where "
            "the comparisons leave ranks open it alone decides: another --prior-scale shows how "
            "much."
        )
    if rankings.n_rankings == 1 or len(rankings.rankers) == 1:
        out.append(
            f"There is one ranker only ({rankings.rankers[0]!r}): the result says how one opinion "
            "compares with the prior, not what others would say."
        )
    return out


def _describe(rankings: "Rankings", fit: Fit) -> str:
    return (
        f"{rankings!r}. Model: Plackett-Luce, the order inside ties unknown; utilities "
        f"{fit.prior} with standard deviation {fit.prior_scale:g}; {fit.sampling}"
        + (f"; seed {fit.seed}." if fit.seed is not None else ".")
    )


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
def _errors_as_sentences() -> Iterator[list[str]]:
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


if __name__ == "__main__":
    main()
