"""The commands."""

import os
import secrets
import shlex
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import click

import bayesrank
from bayesrank.cli.caches import find_cache
from bayesrank.cli.console import errors_as_sentences
from bayesrank.cli.job import Job
from bayesrank.cli.matches import MatchJob
from bayesrank.cli.options import (
    FILE,
    Fit,
    MatchColumns,
    Output,
    RankColumns,
    Table,
    parameters,
    readable,
    refuse,
    shown,
    taken,
)
from bayesrank.cli.rank import COMPONENTS, rank_job
from bayesrank.cli.run import run

SEEDS = 2**31  # number of seeds to choose from, if the user gives none

# PyMC takes seconds to import. Commands import what they need, so that --help and errors in options
# or files appear at once.


class Given(click.Group):
    """Group of commands that keeps the arguments of the user."""

    args: Sequence[str] = ()

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **extra: Any) -> Any:
        """Keep the arguments before they are parsed."""
        self.args = tuple(args)
        context = super().make_context(info_name, args, *more, **extra)
        context.obj = self
        return context


@click.group(cls=Given, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(bayesrank.__version__, prog_name="bayesrank")
def main() -> None:
    """Find out which item is best, and how sure you can be.

    \b
    Rankings or ratings, one row per ranker and item:
      bayesrank rank films.csv --ranker user --item film --rating stars
    Matches or comparisons, one row per pair of items:
      bayesrank matches games.csv --first home --second away --outcome result

    If strengths change over time, name the column of dates: --date played.

    Both commands print a table of ranks, the leader, and whether the model fits the data. They
    write a folder with tables, pictures and a page that explains the result.

    \b
      mean rank   mean of the rank over the posterior; 1 is best
      ranks       interval that contains the rank with probability 0.94
      P(best)     probability of being the best item; P(top 3): one of the best three
      rankings    number of rankings that contain the item (or matches)
      leads       best mean rank
      close       statistically tied with the leader
      unknown     may be better than the leader: too little data to tell
      (nothing)   the leader is better than all of these with probability 0.95
      tier        better than all lower tiers with probability 0.95
      elo         with --scale elo: Elo rating, where 400 points are odds of ten to one
      lower       with --sort lower: lower end of the interval of the utility or Elo rating

    If the model does not fit, treat the ranks as a rough order. The page shows the misfit.
    """  # noqa: D301
    # Matrices have a few hundred rows, so a second thread of BLAS makes runs up to thirty times
    # slower. BLAS reads these variables when NumPy is loaded.
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def _fit(options: dict[str, Any], folder: str) -> Fit:
    """Make the settings from the options; choose a seed and a folder if the user did not."""
    fit = taken(Fit, options)
    group = click.get_current_context().find_object(Given)
    return replace(
        fit,
        output_dir=fit.output_dir or Path(folder),
        seed=secrets.randbelow(SEEDS) if fit.seed is None else fit.seed,
        command=shlex.join(["bayesrank", *(group.args if group is not None else ())]),
        made=date.today().isoformat(),
    )


def _folder_of(file: Path) -> str:
    """Name the folder of the results after the input, in the current directory."""
    return f"{file.name.split('.')[0] or 'table'}-ranks"


def _given(name: str) -> bool:
    """Whether the user gave an option."""
    source = click.get_current_context().get_parameter_source(name)
    return source is not click.core.ParameterSource.DEFAULT


def _refuse_sampling(columns: Table) -> None:
    """Refuse options of sampling with --date."""
    for name in ("prior", "tune"):
        refuse(
            columns.date is not None and _given(name),
            f"--{name} cannot be used with --date, which does not sample. Leave it out.",
        )


@main.command(
    params=parameters(Output, Fit), short_help="Try it with the drivers of the NASCAR 2002 season."
)
def quickstart(**options: Any) -> None:
    """Rank the drivers of the NASCAR 2002 season (36 races, 87 drivers)."""
    fit = _fit(options, "nascar-ranks")
    with errors_as_sentences(fit) as talk:
        from bayesrank.data import load_nascar

        run(rank_job(load_nascar(), "Drivers of the NASCAR 2002 season", fit), talk)


@main.command(
    params=[
        click.Argument(["file"], type=FILE),
        *parameters(RankColumns),
        COMPONENTS,
        *parameters(Table, Output, Fit),
    ],
    short_help="Rank items from rankings, ratings or ballots.",
)
def rank(file: Path, components: int | None, **options: Any) -> None:
    """Rank the items of FILE from rankings, ratings or ballots.

    FILE is a table with one row per ranker and item, or one row per ranking (--wide, --ballot). It
    may be CSV, TSV or other text, plain or compressed, Parquet, Excel, or a PrefLib file (.soc,
    .soi, .toc, .toi), which needs no columns.
    """
    columns = taken(RankColumns, options)
    columns.check(file)
    _refuse_sampling(columns)
    if components:
        refuse(
            columns.by is not None,
            "--components finds unknown groups, --by names known ones. Use one of them.",
        )
        refuse(
            columns.date is not None,
            "--components and --date are for different models. Use one of them.",
        )
        refuse(options["quick"], "There is no quick answer with --components. Leave --quick out.")
        # The prior of differences stays the same, and NUTS has no free location to explore.
        options["prior"] = "zero-sum"
    fit = _fit(options, _folder_of(file))
    with errors_as_sentences(fit) as talk:
        readable(file)
        from bayesrank.cli.read_rankings import read_rankings

        rankings = read_rankings(file, columns, talk.note)
        title = f"Ranks of {columns.item or 'the items'} in {shown(file)}"
        if columns.date is None:
            job: Job = rank_job(rankings, title, fit, components=components or 0)
        else:
            from bayesrank.cli.dated import DatedJob
            from bayesrank.cli.read_rankings import read_coming_rankings

            ahead = read_coming_rankings(columns, talk.note, rankings)
            job = DatedJob(rankings, title, fit, since=columns.since, coming=ahead)
        run(job, talk)


@main.command(
    params=[
        click.Argument(["file"], type=FILE),
        *parameters(MatchColumns, Table, Output, Fit, prior="zero-sum"),
    ],
    short_help="Rank items from matches or pairwise comparisons.",
)
def matches(file: Path, **options: Any) -> None:
    """Rank the items of FILE, a table with one row per match or pairwise comparison."""
    columns = taken(MatchColumns, options)
    columns.check()
    _refuse_sampling(columns)
    fit = _fit(options, _folder_of(file))
    with errors_as_sentences(fit) as talk:
        readable(file)
        title = f"Ranks by the matches in {shown(file)}"
        if columns.date is None:
            from bayesrank.cli.read_matches import read_pairs

            pairs = read_pairs(file, columns, talk.note)
            job: Job = MatchJob(
                pairs,
                title,
                fit,
                order=columns.ordered,
                judged=columns.judge is not None,
                groups=columns.groups,
                opinions=columns.opinions,
                ties_by=columns.ties_by,
            )
        else:
            from bayesrank.cli.dated import DatedJob
            from bayesrank.cli.read_matches import read_dated_pairs

            pairs, ahead = read_dated_pairs(file, columns, talk.note)
            order, since = columns.ordered, columns.since
            job = DatedJob(pairs, title, fit, since=since, order=order, coming=ahead)
        run(job, talk)


@main.command("warm-up", short_help="Compile once what other commands need.")
def warm_up() -> None:
    """Compile what the other commands need, so that their first run does not wait.

    Compiled code stays in PyTensor's cache, by default in the home folder. You do not need this
    command: the others compile what they lack. Use it in a container image or before a
    demonstration.
    """
    with errors_as_sentences() as talk:
        from bayesrank.cli.warm_up import compile_all

        compile_all(main, talk)


@main.command(
    params=[click.Argument(["file"], type=FILE, metavar="POSTERIOR.nc"), *parameters(Output)],
    short_help="Write the page and files of a saved run again.",
)
def report(file: Path, **options: Any) -> None:
    """Write the tables, pictures and page of a run again from its saved posterior.

    An interrupted run prints where its posterior is.
    """
    given = {name: value for name, value in options.items() if _given(name)}
    with errors_as_sentences(taken(Output, options)) as talk:
        readable(file)
        if sentence := find_cache():
            talk.stage(sentence)
        from bayesrank.cli.saved_runs import check_saved, folder_of, saved_run, tidy

        saved = saved_run(file)
        fit = Fit(**{**saved.fit, "output_dir": folder_of(file), **given})
        for note in saved.notes:
            talk.note(note)
        make = rank_job if saved.command == "rank" else MatchJob
        job: Job = make(saved.data, saved.title, fit, **saved.settings)
        check_saved(file, job.pymc_model, saved)
        talk.kept = file  # it stays, whatever happens
        run(job, talk, saved.posterior)
        tidy(file)
