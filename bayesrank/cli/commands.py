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

SEEDS = 2**31  # seeds that are drawn, where none is given

# PyMC takes seconds to import: commands import what they need, so that --help is instant, and what
# is wrong with options or files is told at once.


class Given(click.Group):
    """Commands that know the arguments they were given."""

    args: Sequence[str] = ()

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **extra: Any) -> Any:
        """Keep the arguments, which parsing takes apart."""
        self.args = tuple(args)
        context = super().make_context(info_name, args, *more, **extra)
        context.obj = self
        return context


@click.group(cls=Given, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(bayesrank.__version__, prog_name="bayesrank")
def main() -> None:
    """Say which item is best, and how sure that is.

    \b
    Rankings or ratings, a row per ranker and item:
      bayesrank rank films.csv --ranker user --item film --rating stars
    Matches or comparisons, a row for two items:
      bayesrank matches games.csv --first home --second away --outcome result

    Where strengths change, name the column of the dates: --date played.

    Both print a table of ranks, say who leads and how sure that is, and whether the model behind it
    fits the data. They write a folder with a page that explains it all, tables and pictures.

    \b
      mean rank   1 is best; it has decimals, as the data leave the order open
      ranks       from which rank to which the item lies, with probability 0.94
      P(best)     the probability that it is the best of all; P(top 3), one of the best three
      rankings    in how many of them it is; of matches likewise
      leads       has the best mean rank
      close       may be better than the leader: by the data the two are as good
      unknown     may be better than the leader: the data say too little of it
      (nothing)   worse: the leader is better than all these with probability 0.95
      tier        better than all lower tiers with that probability; inside, the order is open
      elo         with --scale elo: points, 400 of which are odds of ten to one
      lower       with --sort lower: the lower end of the interval of the utility, or of its Elo

    If the model does not fit, take the ranks as a rough order; the page says what it misses.
    """  # noqa: D301
    # Matrices are of some hundred rows: a second thread of BLAS takes longer than it computes, up
    # to thirty times. It is asked for before NumPy is loaded.
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def _fit(options: dict[str, Any], folder: str) -> Fit:
    """Make the settings from the options, with a seed and a folder where none is given."""
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
    """Name the folder of the results after the input, beside which it does not lie."""
    return f"{file.name.split('.')[0] or 'table'}-ranks"


def _given(name: str) -> bool:
    """Whether an option was given."""
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
    params=parameters(Output, Fit), short_help="Try it: the drivers of the NASCAR 2002 season."
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
    short_help="Rank items by rankings, ratings or ballots.",
)
def rank(file: Path, components: int | None, **options: Any) -> None:
    """Rank the items of FILE.

    FILE is a table with one row per ranker and item, or a row per ranking (--wide, --ballot): CSV,
    TSV or other text, plain or compressed, Parquet or Excel. Or it is a PrefLib file (.soc, .soi,
    .toc, .toi), which needs no columns.
    """
    columns = taken(RankColumns, options)
    columns.check(file)
    _refuse_sampling(columns)
    if components:
        refuse(
            columns.by is not None,
            "--components finds unknown groups of rankers, --by names known ones. Use one of them.",
        )
        refuse(
            columns.date is not None,
            "--components and --date are for different models. Use one of them.",
        )
        refuse(options["quick"], "There is no quick answer with --components. Leave --quick out.")
        # differences have the same prior, and nothing is left for NUTS to find hard
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
    short_help="Rank items by matches or comparisons of two.",
)
def matches(file: Path, **options: Any) -> None:
    """Rank the items of FILE by matches: a table with one row per match or comparison of two."""
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


@main.command("warm-up", short_help="Compile what other commands need, once.")
def warm_up() -> None:
    """Compile what the other commands need, so that none of them waits for it.

    What is compiled is kept in PyTensor's folder, by default in the home folder. Other commands
    compile what they lack: this is for images of containers, and for an impatient demonstration.
    """
    with errors_as_sentences() as talk:
        from bayesrank.cli.warm_up import compile_all

        compile_all(main, talk)


@main.command(
    params=[click.Argument(["file"], type=FILE, metavar="POSTERIOR.nc"), *parameters(Output)],
    short_help="Write the page and the files of a run again.",
)
def report(file: Path, **options: Any) -> None:
    """Write the tables, pictures and the page of a posterior that a run has saved.

    A run that was cut short, as by a full disk, says where its posterior is.
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
        talk.kept = file  # whatever comes
        run(job, talk, saved.posterior)
        tidy(file)
