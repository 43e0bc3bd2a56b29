"""The commands."""

import json
import os
import re
import secrets
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import click

from bayesrank import __version__
from bayesrank.analysis.analysis import Analysis
from bayesrank.cli.caches import find_cache
from bayesrank.cli.console import errors_as_sentences
from bayesrank.cli.options import (
    FILE,
    ChoiceColumns,
    Fit,
    MatchColumns,
    Output,
    RankColumns,
    ScoreColumns,
    Table,
    parameters,
    readable,
    refuse,
    taken,
)
from bayesrank.cli.run import run

QUICKSTART = "Drivers of the NASCAR 2002 season"
OUTPUT = Output()
COMMANDS = {
    RankColumns: "rank",
    MatchColumns: "matches",
    ChoiceColumns: "choices",
    ScoreColumns: "benchmark",
}
DATES = ("date", "since", "coming")  # options of tables that tasks and scores lack
SEEDS = 2**31  # number of seeds to choose from, if the user gives none

# PyMC takes seconds to import. Commands import what they need, so that --help and errors in options
# or files appear at once.


class Given(click.Group):
    """Group of commands that keeps the arguments of the user."""

    args: Sequence[str] = ()

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find a command; if a file is given instead, say what to do with it."""
        name = args[0]
        if name not in self.commands and (Path(name).exists() or re.search(r"[./:]", name)):
            raise click.UsageError(
                f"{name!r} is not a command. To see how to read this table: "
                f"{shlex.join(['bayesrank', 'look', name])}"
            )
        return super().resolve_command(ctx, args)

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **extra: Any) -> Any:
        """Keep the arguments before they are parsed."""
        self.args = tuple(args)
        context = super().make_context(info_name, args, *more, **extra)
        context.obj = self
        return context


@click.group(cls=Given, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="bayesrank")
def main() -> None:
    """Find out which item is best, and how sure you can be.

    \b
    Rankings or ratings, one row per ranker and item:
      bayesrank rank films.csv --ranker user --item film --rating stars
    Matches or comparisons, one row per pair of items:
      bayesrank matches games.csv --first home --second away --outcome result
    Best-worst tasks (MaxDiff) or choices, one row per item shown:
      bayesrank choices survey.csv --respondent id --task task --item item
      --best best --worst worst
    Scores of models on tasks, which may have folds or seeds:
      bayesrank benchmark scores.csv --item model --case task --score accuracy --rope 0.01

    If strengths change over time, name the column of dates: --date played.

    If you do not know the options, bayesrank look films.csv shows the columns and the command.

    These commands print a table of ranks, the leader, and whether the model fits the data. They
    write a folder with tables, pictures and a page that explains the result.

    \b
      mean rank   mean of the rank over the posterior; 1 is best
      ranks       interval that contains the rank with the probability of --interval
      P(best)     probability of being the best item; P(top 3): one of the best three
      rankings    number of rankings that contain the item (or matches, or tasks)
      leads       lowest mean rank
      tied        may be better than the leader
      unclear     may be better than the leader: too little data to tell
      behind      the leader is better than all of these with probability 0.95
      elo         with --scale elo: Elo rating, where 400 points are odds of ten to one
      lower       with --sort lower: lower end of the interval of the utility or Elo rating

    If the model does not fit, treat the ranks as a rough order. The page shows the misfit.
    """  # noqa: D301  click keeps the lines below \b
    # Matrices have a few hundred rows, so a second thread of BLAS makes runs up to thirty times
    # slower. BLAS reads these variables when NumPy is loaded.
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def _fit(options: dict[str, Any], folder: str, title: str, args: Sequence[str] = ()) -> Fit:
    """Make the settings from the options; choose what the user did not.

    The saved command has the arguments `args`, or by default those of the user.
    """
    fit = taken(Fit, options)
    group = click.get_current_context().find_object(Given)
    typed = group.args if group is not None else ()
    return replace(
        fit,
        title=fit.title or title,
        output_dir=fit.output_dir or Path(folder),
        seed=secrets.randbelow(SEEDS) if fit.seed is None else fit.seed,
        command=shlex.join(["bayesrank", *(args or typed)]),
        made=date.today().isoformat(),
    )


def _folder_of(file: Path) -> str:
    """Name the folder of the results after the input, in the current directory."""
    name = file.name.split(".")[0].strip("-")
    return f"{name or 'table'}-ranks"


def _given(name: str) -> bool:
    """Whether the user gave an option."""
    source = click.get_current_context().get_parameter_source(name)
    return source is not click.core.ParameterSource.DEFAULT


def _check_fit(columns: RankColumns | MatchColumns, options: dict[str, Any]) -> None:
    """Refuse options of the fit that the columns exclude."""
    for name in ("prior", "tune"):
        refuse(
            columns.date is not None and _given(name),
            f"--{name} cannot be used with --date, which does not sample. Leave it out.",
        )
    refuse(
        isinstance(columns, RankColumns) and bool(columns.components and options["quick"]),
        "There is no quick answer with --components. Leave --quick out.",
    )


def _rank(
    file: Path, columns_of: Callable[..., RankColumns | MatchColumns], options: dict[str, Any]
) -> None:
    """Rank the items of a table."""
    columns = taken(columns_of, options)
    with errors_as_sentences(taken(Output, dict(options))) as talk:
        readable(file)
        columns.check()
        _check_fit(columns, options)
        from bayesrank.cli.reading import opened, read, write_call

        source = opened(file, columns)
        args: list[str] = []
        if not columns.form:
            columns, args = _chosen(file, source, columns)
        if args:
            talk.note(f"Only one form fits the table: {shlex.join(['bayesrank', *args])}")
        data, coming = read(source, columns)
        for note in data.notes:
            talk.note(note)
        fit = _fit(options, _folder_of(file), columns.title(file), args)
        fit = replace(fit, reader=write_call(file, columns))
        if isinstance(columns, ScoreColumns) and columns.same_units:
            from bayesrank.analysis.readings import check_units

            check_units(data)
            fit = replace(fit, same_units=True)
        if sentence := find_cache():  # before analyses import PyTensor
            talk.stage(sentence)
        others = {}
        if isinstance(columns, RankColumns) and not isinstance(columns, ChoiceColumns):
            from bayesrank.cli.readings import readings

            others = readings(source, columns, data)
        run(_analysis(data, fit, columns, coming), fit, talk, readings=others)


def _chosen(
    file: Path, source: Any, columns: RankColumns | MatchColumns
) -> tuple[RankColumns | MatchColumns, list[str]]:
    """Choose the columns if one form fits the table and nothing is left to decide.

    Returns the columns, and the arguments of the command.
    """
    from bayesrank.cli.reading import only_form

    options = only_form(source, columns, file)
    if not options:  # a file of orders
        return columns, []
    command = COMMANDS[type(columns)]
    group = click.get_current_context().find_object(Given)
    typed = group.args[1:] if group is not None else [str(file)]
    settings = [word for word in typed if word != str(file)]
    args = [command, str(file), *options, *settings]  # options of the user come last
    given = main.commands[command].make_context(command, args[1:]).params
    chosen: Any = taken(type(columns), given)
    return chosen, args


def _analysis(
    data: Any, fit: Fit, columns: RankColumns | MatchColumns, coming: Any = None
) -> Analysis:
    """Choose the analysis of rankings or matches."""

    def group(name: str) -> str | None:
        return name if name in data.groups else None

    scale = fit.prior_scale
    if columns.date is not None:
        from bayesrank.analysis.dynamic import DynamicAnalysis

        return DynamicAnalysis(
            data, since=columns.since, coming=coming, neutral=group("neutral"), utility_scale=scale
        )
    prior: dict[str, Any] = {
        "prior": fit.prior, "utility_scale": scale, "category": group("category"),
    }  # fmt: skip
    if isinstance(columns, MatchColumns):
        from bayesrank.analysis.matches import MatchAnalysis

        return MatchAnalysis(
            data,
            **prior,
            neutral=group("neutral"),
            groups=columns.group_names,
            ties_by=columns.ties_by,
            target=columns.target,
        )
    tasks: dict[str, Any] = {"tasks": False, "threshold": False}
    if isinstance(columns, ChoiceColumns):
        tasks = {"tasks": True, "threshold": columns.threshold is not None}
    if columns.components is not None:
        from bayesrank.analysis.mixtures import MixtureAnalysis

        return MixtureAnalysis(data, components=columns.components, utility_scale=scale, **tasks)
    from bayesrank.analysis.rankings import RankingAnalysis

    return RankingAnalysis(
        data, **prior, **tasks, cluster=group("cluster"), opinions=columns.opinions
    )


@main.command(
    params=parameters(Output, Fit), short_help="Try it with the drivers of the NASCAR 2002 season."
)
def quickstart(**options: Any) -> None:
    """Rank the drivers of the NASCAR 2002 season (36 races, 87 drivers)."""
    fit = _fit(options, "nascar-ranks", QUICKSTART)
    with errors_as_sentences(fit) as talk:
        from bayesrank.analysis.rankings import RankingAnalysis
        from bayesrank.data import load_nascar

        nascar, reader = load_nascar(), "br.load_nascar()"
        analysis = RankingAnalysis(nascar, prior=fit.prior, utility_scale=fit.prior_scale)
        run(analysis, replace(fit, reader=reader), talk)


@main.command(
    params=[click.Argument(["file"], type=FILE), *parameters(RankColumns, Table, Output, Fit)],
    short_help="Rank items from rankings, ratings or ballots.",
)
def rank(file: Path, **options: Any) -> None:
    """Rank the items of FILE from rankings, ratings or ballots.

    FILE is a table with one row per ranker and item, or one row per ranking (--wide, --ballot). It
    is a file, a folder of tables, an address, or - for standard input.

    \b
    Text       .csv, .tsv, .tab, .txt, .dat, .data
    JSON       .json, .jsonl, .ndjson
    Other      .parquet, .pq, .xlsx
    Packed     text and JSON with .gz, .bz2, .xz, .zip or .zst
    Orders     .soc, .soi, .toc, .toi and .cat (PrefLib), .blt, .cvotes (Condorcet election
               format); these need no columns
    """  # noqa: D301  click keeps the lines below \b
    _rank(file, RankColumns, options)


@main.command(
    params=[
        click.Argument(["file"], type=FILE),
        *parameters(MatchColumns, Table, Output, Fit, prior="zero-sum"),
    ],
    short_help="Rank items from matches or pairwise comparisons.",
)
def matches(file: Path, **options: Any) -> None:
    """Rank the items of FILE, a table with one row per match or pairwise comparison.

    FILE may also be a square matrix of wins (--matrix), or have a column per pair (--pair). Its
    formats are those of `bayesrank rank`.
    """
    _rank(file, MatchColumns, options)


@main.command(
    params=[
        click.Argument(["file"], type=FILE),
        *(one for one in parameters(ChoiceColumns, Table, Output, Fit) if one.name not in DATES),
    ],
    short_help="Rank items from best-worst tasks (MaxDiff) or choices.",
)
def choices(file: Path, **options: Any) -> None:
    """Rank the items of FILE from tasks that ask for the best item, the worst item, or both.

    FILE is a table with one row per item shown, or one row per task; its formats are those of
    `bayesrank rank`. The report has shares of
    preference, respondents who answer at random, and what the design cannot tell. For attributes
    and prices (conjoint), use bayesrank.part_worths in Python.
    """
    _rank(file, ChoiceColumns, options)


@main.command(
    params=[
        click.Argument(["file"], type=FILE),
        *(
            one
            for one in parameters(ScoreColumns, Table, Output, Fit)
            if one.name not in (*DATES, "day_first")
        ),
    ],
    short_help="Rank items from scores in many cases, such as models on tasks.",
)
def benchmark(file: Path, **options: Any) -> None:
    """Rank the items of FILE from their scores in many cases, such as models on tasks.

    FILE is a table with one row per score, per item or per case; its formats are those of
    `bayesrank rank`. Scores within --rope of the best one in their block are equivalent. A case
    counts once, however many folds or seeds it has.
    """
    _rank(file, ScoreColumns, options)


@main.command(
    params=[click.Argument(["file"], type=FILE), *parameters(Table)],
    short_help="Show the columns of a table, and the command to run.",
)
def look(file: Path, **options: Any) -> None:
    """Show the columns of FILE, and every way to read it that works, with the command.

    A way is complete with what must be decided, such as a direction. None is chosen.
    """
    columns = taken(Table, options)
    with errors_as_sentences() as talk:
        readable(file)
        columns.check_dates("")
        from bayesrank.cli.reading import look_at

        found = look_at(file, columns)
        for note in found.notes:
            talk.note(note)
        talk.result(found.text(command_line=True))


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
    params=[click.Argument(["file"], type=FILE, metavar="RESULT"), *parameters(Output)],
    short_help="Write the page and files of a saved run again.",
)
def report(file: Path, **options: Any) -> None:
    """Write the tables, pictures and page of a run again from its saved posterior.

    RESULT is the folder of the run, or a file with its posterior. An interrupted run prints where
    its posterior is.
    """
    given = {name: value for name, value in options.items() if _given(name)}
    with errors_as_sentences(taken(Output, options)) as talk:
        readable(file)
        if sentence := find_cache():
            talk.stage(sentence)
        from bayesrank.cli.saved_runs import folder_of, open_run, posterior_in, restore_run, tidy

        file = posterior_in(file)
        posterior, record = open_run(file)
        more = {name: x for name, x in record.more.items() if name != "ci_prob"}
        interval = record.more.get("ci_prob", OUTPUT.interval)
        kept = {**more, "interval": interval, "output_dir": folder_of(file), **given}
        for note in record.notes:
            talk.note(note)
        analysis = restore_run(file, posterior, record)
        talk.kept = file  # it stays, whatever happens
        run(analysis, Fit(**kept), talk, (posterior, record.settings, file))
        tidy(file)


@main.command(
    params=[
        click.Argument(["file"], type=FILE, metavar="RESULT"),
        click.Argument(["items"], nargs=-1, required=True, metavar="ITEM ITEM ..."),
        *(one for one in parameters(Output) if one.name in ("interval", "data")),
    ],
    short_help="Predict the next match or ranking from a saved run.",
)
def predict(file: Path, items: tuple[str, ...], **options: Any) -> None:
    """Say which of these items wins, and how sure that is.

    RESULT is the folder of a run, or a file with its posterior. If it comes from matches, each two
    items meet. If it comes from rankings, the items are ranked together.
    """
    output = taken(Output, options)
    with errors_as_sentences(output) as talk:
        readable(file)
        from bayesrank.analysis.saved import read_data
        from bayesrank.cli.saved_runs import open_run, posterior_in
        from bayesrank.data import Pairs
        from bayesrank.reporting.predict import (
            at_new_labels,
            check_items,
            next_match,
            next_ranking,
            statuses,
        )
        from bayesrank.reporting.report import records

        file = posterior_in(file)
        posterior, record = open_run(file)
        draws = posterior["posterior"].to_dataset()
        check_items(items, list(map(str, draws["item"].values)))
        found = read_data(posterior, record)
        scale = record.arguments.get("utility_scale")
        said = statuses(posterior, found, items, scale)
        draws, new = at_new_labels(draws)
        if isinstance(found, Pairs):
            part = next_match(draws, items, output.interval, new)
        else:
            ranker = "respondent" if record.arguments.get("tasks") else "ranker"
            names = {"ranker": ranker, "cluster": record.columns.get("cluster", "cluster")}
            part = next_ranking(draws, items, output.interval, [names.get(x, x) for x in new])
        part = replace(part, paragraphs=[*part.paragraphs, *said])
        talk.result(part.text(talk.width))
        if output.data:
            tables = {name: records(table) for name, table in part.data.items()}
            talk.document(json.dumps({"text": part.paragraphs, **tables}, indent=1))
