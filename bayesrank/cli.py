"""The command line: from a table of preferences to a posterior of ranks.

``bayesrank quickstart`` does it for the bundled NASCAR 2002 season, ``bayesrank rank`` for
anyone's table. Both print a table and write a figure, the table and one self-contained page.
"""

import shutil
import sys
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
    with _errors_as_sentences():
        from bayesrank.data import load_nascar

        _run(load_nascar(), fit, "Drivers of the NASCAR 2002 season")


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
    with _errors_as_sentences():
        from bayesrank.data import Rankings, read_table

        frame = read_table(file)
        if rating is not None:
            rankings = Rankings.from_ratings(frame, ranker=ranker, item=item, rating=rating)
        elif rank is not None:
            rankings = Rankings.from_long_ranks(frame, ranker=ranker, item=item, rank=rank)
        _run(rankings, fit, f"Ranks of {item} in {file.name}")


def _run(rankings: "Rankings", fit: Fit, title: str) -> None:
    import matplotlib.pyplot as plt

    from bayesrank.results import (
        convergence,
        figure_png,
        plot_ranks,
        rank_summary,
        report_html,
        write_whole,
    )

    _check_outputs(fit)
    click.echo(f"{rankings!r}")
    cautions = _cautions(rankings)
    for sentence in cautions:
        click.echo(f"Note: {sentence}", err=True)

    posterior = _sample(rankings, fit)
    checked = convergence(posterior)
    summary = rank_summary(posterior, top=min(fit.top, rankings.n_items))
    click.echo()
    click.echo(_table(summary))
    click.echo()
    click.echo(("" if checked.ok else "Warning: ") + str(checked))

    plot_ranks(posterior, max_items=100)
    picture = figure_png(plt.gcf())
    plt.close()
    page = report_html(
        title,
        summary,
        picture,
        paragraphs=[_describe(rankings, fit), *(checked.sentences if checked.ok else ())],
        warnings=[*cautions, *(() if checked.ok else checked.sentences)],
    )
    outputs = {
        fit.output_dir / "ranks.png": picture,
        fit.output_dir / "ranks.csv": summary.to_csv().encode(),
        fit.output_dir / "report.html": page.encode(),
    }
    if fit.save is not None:
        _save(posterior, fit.save)
    for path, content in outputs.items():
        write_whole(path, content)
    click.echo("\nWritten:")
    for path in (*outputs, *([fit.save] if fit.save else [])):
        click.echo(f"  {path}")


def _sample(rankings: "Rankings", fit: Fit) -> Any:
    say = _progress()
    say("Loading PyMC ...")
    import pymc as pm

    from bayesrank.distributions import PlackettLuce

    say("Compiling the model ...")
    prior = {"normal": pm.Normal, "zero-sum": pm.ZeroSumNormal}[fit.prior]
    with pm.Model(coords=rankings.coords):
        utility = prior("utility", sigma=fit.prior_scale, dims="item")
        PlackettLuce("y", utility, observed=rankings)
        say(f"Sampling {fit.chains} chains of {fit.tune} + {fit.draws} ...")
        # Independent utilities leave their sum to the prior: a stiff direction that the
        # low-rank mass matrix finds (measured: twelve times the effective draws on NASCAR).
        posterior = pm.sample(
            draws=fit.draws,
            tune=fit.tune,
            chains=fit.chains,
            random_seed=fit.seed,
            nuts_sampler="nutpie",
            nuts_sampler_kwargs={"low_rank_modified_mass_matrix": True},
            progressbar=sys.stderr.isatty(),
            compute_convergence_checks=False,
            quiet=True,
        )
    say("Done.")
    return posterior


def _progress() -> Callable[[str], None]:
    start = time.perf_counter()
    return lambda text: click.echo(f"[{time.perf_counter() - start:5.1f} s] {text}", err=True)


def _cautions(rankings: "Rankings") -> list[str]:
    out = list(rankings.connectivity().warnings())
    if rankings.n_rankings == 1 or len(rankings.rankers) == 1:
        out.append(
            f"There is one ranker only ({rankings.rankers[0]!r}): the result says how one opinion "
            "compares with the prior, not what others would say."
        )
    return out


def _describe(rankings: "Rankings", fit: Fit) -> str:
    return (
        f"{rankings!r}. Model: Plackett-Luce, the order inside ties unknown; utilities "
        f"{fit.prior} with standard deviation {fit.prior_scale:g}; {fit.chains} chains of "
        f"{fit.draws} draws after {fit.tune} tuning steps"
        + (f"; seed {fit.seed}." if fit.seed is not None else ".")
    )


def _table(summary: Any, rows: int = 20) -> str:
    top = next(c for c in summary.columns if c.startswith("p_top"))
    shown = summary.head(rows)
    width = max([len(str(name)) for name in shown.index] + [4])
    lines = [
        f"{'item':<{width}}  mean rank     ranks  P(best)  P(top {top.removeprefix('p_top')})  tied"
    ]
    for name, row in shown.iterrows():
        span = f"{row.rank_low}-{row.rank_high}"
        lines.append(
            f"{name!s:<{width}}  {row.mean_rank:9.1f}  {span:>8}  {row.p_best:7.2f}  "
            f"{row[top]:8.2f}  {'with the leader' if row.tied_with_leader else ''}".rstrip()
        )
    if len(summary) > rows:
        lines.append(f"... and {len(summary) - rows} more, in ranks.csv and report.html")
    return "\n".join(lines)


def _check_outputs(fit: Fit) -> None:
    """Fail before sampling, not after, where nothing can be written."""
    fit.output_dir.mkdir(parents=True, exist_ok=True)
    folders = {fit.output_dir} | ({fit.save.parent} if fit.save else set())
    for folder in folders:
        if not folder.is_dir():
            raise ValueError(f"The folder {folder} does not exist; make it, or choose another.")
        probe = folder / ".bayesrank-probe"
        probe.touch()
        probe.unlink()


def _save(posterior: Any, path: Path) -> None:
    beside = path.with_name(f".{path.name}.part")
    try:
        posterior.to_netcdf(beside, engine="netcdf4")
        shutil.move(beside, path)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def _errors_as_sentences() -> Iterator[None]:
    """Show errors and warnings of data as sentences, not as tracebacks."""

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        if issubclass(category, UserWarning):
            click.echo(f"Note: {message}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = show
        try:
            yield
        except (ValueError, OSError) as error:
            text = str(error)
            if isinstance(error, OSError) and error.strerror:
                text = f"{error.filename}: {error.strerror}."
            click.echo(f"Error: {text}", err=True)
            sys.exit(1)
        except KeyboardInterrupt:
            click.echo("Interrupted: nothing more is written.", err=True)
            sys.exit(130)


if __name__ == "__main__":
    main()
