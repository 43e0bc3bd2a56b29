"""The commands and their options."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

import bayesrank
from bayesrank.cli.matches import Columns, matches_job
from bayesrank.cli.rank import rank_job
from bayesrank.cli.run import Fit, errors_as_sentences, run
from bayesrank.priors import PRIORS

# PyMC takes seconds to import: commands import what they need, so that --help is instant.


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(bayesrank.__version__, prog_name="bayesrank")
def main() -> None:
    """Say which item is best, and how sure that is."""


def _fit_options(prior: str = "normal") -> Callable[..., Callable[..., None]]:
    options = [
        click.option("--output-dir", type=click.Path(path_type=Path), default="bayesrank-output",
                     show_default=True, help="Folder for the figure, the table and the page."),
        click.option("--seed", type=int, default=None, help="Same seed, same result."),
        click.option("--draws", type=click.IntRange(min=1), default=1000, show_default=True,
                     help="Draws per chain, at most: fewer where ranks are exact."),
        click.option("--tune", type=click.IntRange(min=50), default=500, show_default=True,
                     help="Tuning steps per chain."),
        click.option("--chains", type=click.IntRange(min=1), default=4, show_default=True),
        click.option("--top", type=click.IntRange(min=1), default=3, show_default=True,
                     help="The k of P(top k)."),
        click.option("--prior", type=click.Choice(list(PRIORS)), default=prior, show_default=True,
                     help="normal: independent, for sparse data; zero-sum: for much data."),
        click.option("--prior-scale", type=click.FloatRange(min=0, min_open=True), default=1.0,
                     show_default=True, help="Standard deviation of the utilities."),
        click.option("--save", type=click.Path(path_type=Path), default=None,
                     help="Keep the posterior as a netCDF file."),
    ]  # fmt: skip

    def add(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


@main.command()
@_fit_options()
def quickstart(**options: Any) -> None:
    """Rank the drivers of the NASCAR 2002 season (36 races, 87 drivers)."""
    fit = Fit(**options)
    with errors_as_sentences() as notes:
        from bayesrank.data import load_nascar

        run(rank_job(load_nascar(), "Drivers of the NASCAR 2002 season", fit), fit, notes)


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--ranker", required=True, metavar="COLUMN", help="Who ranks: user, race, judge.")
@click.option("--item", required=True, metavar="COLUMN", help="What is ranked.")
@click.option("--rating", metavar="COLUMN", help="High is good; equal ratings are ties.")
@click.option("--rank", metavar="COLUMN", help="1 is best; equal ranks are ties.")
@_fit_options()
def rank(
    file: Path, ranker: str, item: str, rating: str | None, rank: str | None, **options: Any
) -> None:
    """Rank the items of FILE (CSV, TSV or Parquet; one row per ranker and item)."""
    if (rating is None) == (rank is None):
        raise click.UsageError("Give either --rating COLUMN (high is good) or --rank COLUMN.")
    fit = Fit(**options)
    with errors_as_sentences() as notes:
        from bayesrank.data import Rankings, read_table

        frame = read_table(file)
        if rating is not None:
            rankings = Rankings.from_ratings(frame, ranker=ranker, item=item, rating=rating)
        elif rank is not None:
            rankings = Rankings.from_long_ranks(frame, ranker=ranker, item=item, rank=rank)
        run(rank_job(rankings, f"Ranks of {item} in {file.name}", fit), fit, notes)


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--first", required=True, metavar="COLUMN", help="The item at home, or shown first.")
@click.option("--second", required=True, metavar="COLUMN", help="The item compared with it.")
@click.option("--outcome", required=True, metavar="COLUMN", help="first, second or tie.")
@click.option(
    "--first-wins",
    multiple=True,
    metavar="TEXT",
    default=["first"],
    show_default=True,
    help="How the outcome is written if the first item wins; may be repeated.",
)
@click.option(
    "--second-wins",
    multiple=True,
    metavar="TEXT",
    default=["second"],
    show_default=True,
    help="The same, if the second item wins.",
)
@click.option(
    "--tie",
    multiple=True,
    metavar="TEXT",
    default=["tie"],
    show_default=True,
    help="The same, if neither wins.",
)
@click.option("--count", metavar="COLUMN", help="How often this happened; once by default.")
@click.option("--judge", metavar="COLUMN", help="Who judged: judges differ in care and in bias.")
@click.option("--category", metavar="COLUMN", help="Items may be better in some than in others.")
@click.option(
    "--order/--no-order",
    default=True,
    show_default=True,
    help="Whether the first item may have an advantage.",
)
@_fit_options(prior="zero-sum")
def matches(file: Path, **options: Any) -> None:
    """Rank the items of FILE by matches (CSV, TSV or Parquet; one row per match)."""
    fields = Columns.__dataclass_fields__
    columns = Columns(**{name: options.pop(name) for name in fields})
    fit = Fit(**options)
    with errors_as_sentences() as notes:
        run(matches_job(file, columns, fit), fit, notes)
