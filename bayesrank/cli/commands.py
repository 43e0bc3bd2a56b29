"""The commands and their options."""

import os
import secrets
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import click

import bayesrank
from bayesrank.cli.caches import find_cache
from bayesrank.cli.job import Fit, Job
from bayesrank.cli.matches import MatchJob
from bayesrank.cli.options import (
    MISSING,
    WIDE,
    MatchColumns,
    RankColumns,
    Written,
    readable,
    shown,
)
from bayesrank.cli.places import default_folder
from bayesrank.cli.rank import rank_job
from bayesrank.cli.run import run
from bayesrank.cli.talk import errors_as_sentences
from bayesrank.priors import PRIORS

MOST_KINDS = 8  # for which there are colours
SEEDS = 2**31  # seeds that are drawn, where none is given

# PyMC takes seconds to import: commands import what they need, so that --help is instant, and what
# is wrong with options or files is told at once.

Command = Callable[..., None]
File = click.Path(path_type=Path)
Share = click.FloatRange(min=0, max=1, min_open=True, max_open=True)


HELP = """Say which item is best, and how sure that is.

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
"""


class Given(click.Group):
    """Commands that know the arguments they were given."""

    args: Sequence[str] = ()

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **extra: Any) -> Any:
        """Keep the arguments, which parsing takes apart."""
        self.args = tuple(args)
        context = super().make_context(info_name, args, *more, **extra)
        context.obj = self
        return context


@click.group(cls=Given, help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(bayesrank.__version__, prog_name="bayesrank")
def main() -> None:
    """Run the commands."""
    # Matrices are of some hundred rows: a second thread of BLAS takes longer than it computes, up
    # to thirty times. It is asked for before NumPy is loaded.
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def _add(options: list[Any]) -> Callable[[Command], Command]:
    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


_OUTPUT = [
    click.option("--output-dir", type=File, default=None,
                 help="Folder for the page, the tables and the pictures.  [default: named after "
                      "the input]"),
    click.option("--force", is_flag=True, help="Write into a folder that holds other files, too."),
    click.option("--title", metavar="TEXT", help="Heading of the page."),
    click.option("--top", type=click.IntRange(min=1), default=3, show_default=True,
                 help="The k of P(top k)."),
    click.option("--interval", type=Share, default=0.94, show_default=True,
                 help="Probability of the rank intervals."),
    click.option("--scale", type=click.Choice(["utility", "elo"]), default="utility",
                 show_default=True,
                 help="elo: show ratings, too, in which 400 points are odds of ten to one."),
    click.option("--anchor", metavar="ITEM", help="The item with 1000 points on the scale of Elo.  "
                                                  "[default: the mean of all items has]"),
    click.option("--sort", type=click.Choice(["mean", "lower"]), default="mean", show_default=True,
                 help="Order of the table: by mean rank, or by the lower end of the interval of "
                      "utilities, so that items of which little is known stand lower."),
    click.option("--json", "data", is_flag=True, help="Print the result as JSON."),
    click.option("--quiet", is_flag=True, help="Print the verdict and warnings alone."),
    click.option("--open", "open_", is_flag=True, help="Show the page when it is written."),
    click.option("--save", type=File, default=None, help="Keep the posterior in this file, too."),
]  # fmt: skip


def _fit_options(prior: str = "normal") -> list[Any]:
    return [
        *_OUTPUT,
        click.option("--quick/--full", default=None,
                     help="Answer by an approximation, in seconds, or in a minute or two where "
                          "hundreds of things are unknown, as with many labels of groups; or "
                          "sample, however long it takes.  [default: sample, but answer quickly "
                          "where that would take more than ten minutes]"),
        click.option("--seed", type=click.IntRange(min=0), default=None,
                     help="Same seed, same result on one machine, but for last digits where a run "
                          "compiles first.  [default: drawn, and stated on the page]"),
        click.option("--draws", type=click.IntRange(min=1), default=1000, show_default=True,
                     help="Draws per chain, at most: fewer where ranks are exact."),
        click.option("--tune", type=click.IntRange(min=50), default=500, show_default=True,
                     help="Tuning steps per chain."),
        click.option("--chains", type=click.IntRange(min=1), default=4, show_default=True),
        click.option("--prior", type=click.Choice(list(PRIORS)), default=prior, show_default=True,
                     help="normal: independent, for sparse data; zero-sum: for much data."),
        click.option("--prior-scale", type=click.FloatRange(min=0, min_open=True), default=None,
                     help="Standard deviation of the utilities.  [default: learned]"),
    ]  # fmt: skip


_WRITTEN = [
    click.option("--missing", type=click.Choice(MISSING), default=None,
                 help="Entries without a value: leave them out, put them last in their rankings, "
                      "or refuse them. Ballots and places that differ in length need drop (the "
                      "rest was not presented) or last (the rest comes last).  [default: drop "
                      "ratings, refuse ranks and outcomes]"),
    click.option("--empty", metavar="CODES", default="",
                 help="Codes that say no more than an empty cell, such as n.a.,skipped."),
    click.option("--encoding", metavar="NAME", help="Of the file, such as latin-1.  [default: "
                                                    "UTF-8, or UTF-16 if it begins so]"),
    click.option("--separator", metavar="TEXT",
                 help="Between columns, such as ';' or tab.  [default: found out]"),
    click.option("--decimal", type=click.Choice([".", ","]), default=None,
                 help="Before decimals.  [default: found out]"),
]  # fmt: skip


_DATED = [
    click.option("--date", metavar="COLUMN",
                 help="When it was, as 2024-05-31 or a number: strengths change with time, and the "
                      "ranks are those of the last date."),
    click.option("--since", metavar="DATE",
                 help="With --date, leave out items that were last seen before."),
]  # fmt: skip


def _refuse_undated(date: str | None, **others: Any) -> None:
    """Refuse what goes with --date alone; and with it, what goes with sampling."""
    for name, value in others.items():
        if date is None and value is not None:
            raise click.UsageError(f"--{name} goes with --date COLUMN, which says when it was.")
    context = click.get_current_context()
    for name in ("prior", "tune"):
        given = context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
        if date is not None and given:
            raise click.UsageError(
                f"With --date nothing is sampled, and strengths walk at random: leave --{name} out."
            )


def _fit(options: dict[str, Any], folder: Path) -> Fit:
    """Make the settings from the options, and a seed if none is given."""
    given = dict(options)
    given["output_dir"] = given["output_dir"] or folder
    given["open"] = given.pop("open_")
    if given["seed"] is None:
        given["seed"] = secrets.randbelow(SEEDS)
    given_to = click.get_current_context().find_object(Given)
    command = shlex.join(["bayesrank", *(given_to.args if given_to is not None else ())])
    return Fit(**given, command=command, made=date.today().isoformat())


def _written(options: dict[str, Any]) -> Written:
    given = {name: options.pop(name) for name in ("missing", "encoding", "separator", "decimal")}
    return Written(**given, empty=_codes(options.pop("empty")))


def _codes(text: str) -> tuple[str, ...]:
    """Read codes with commas between them."""
    return tuple(filter(None, (code.strip() for code in text.split(","))))


def _said(options: dict[str, Any]) -> dict[str, bool]:
    return {name: options.pop(name) for name in ("quiet", "data")}


@main.command(short_help="Try it: the drivers of the NASCAR 2002 season.")
@_add(_fit_options())
def quickstart(**options: Any) -> None:
    """Rank the drivers of the NASCAR 2002 season (36 races, 87 drivers)."""
    said = _said(options)
    fit = _fit(options, Path("nascar-ranks"))
    with errors_as_sentences(**said) as talk:
        from bayesrank.data import load_nascar

        run(rank_job(load_nascar(), "Drivers of the NASCAR 2002 season", fit), talk)


@main.command(short_help="Rank items by rankings, ratings or ballots.")
@click.argument("file", type=File)
@click.option("--ranker", metavar="COLUMN", help="Who ranks: user, race, judge.")
@click.option("--item", metavar="COLUMN", help="What is ranked.")
@click.option("--rating", metavar="COLUMN", help="High is good; equal ratings are ties.")
@click.option("--rank", metavar="COLUMN", help="1 is best; equal ranks are ties.")
@click.option("--ranking", metavar="COLUMN", help="Which ranking, if a ranker has several.")
@click.option(
    "--wide",
    type=click.Choice(WIDE),
    help="A row is a ranking: a column per item with its rank or rating, or one per place, best "
    "first, with an item. With --item a row is an item, and there is a column per ranker.",
)
@click.option("--ballot", metavar="COLUMN", help="A row is a ranking, such as a > b = c.")
@click.option(
    "--column",
    multiple=True,
    metavar="COLUMN",
    help="With --wide, the columns of items, places or rankers; may be repeated.  [default: all "
    "others]",
)
@click.option("--weight", metavar="COLUMN", help="How often the ranking was given.")
@click.option(
    "--by", metavar="COLUMN", help="Items may be better in some categories than in others."
)
@click.option(
    "--kinds",
    type=click.IntRange(2, MOST_KINDS),
    help="Find so many kinds of rankers, each with an order of its own.",
)
@click.option(
    "--last-block",
    metavar="CODES",
    help="Codes for items that come last, together, such as DNF,Ret.",
)
@_add(_DATED)
@click.option(
    "--next",
    "coming",
    type=File,
    help="With --date, a table of rankings to come, as FILE but for the ranks: who will be first.",
)
@_add(_WRITTEN)
@_add(_fit_options())
def rank(file: Path, **options: Any) -> None:
    """Rank the items of FILE.

    FILE is a table with one row per ranker and item, or a row per ranking (--wide, --ballot): CSV,
    TSV or other text, plain or compressed, Parquet or Excel. Or it is a PrefLib file (.soc, .soi,
    .toc, .toi), which needs no columns.
    """
    options["last_block"] = _codes(options.pop("last_block") or "")
    columns = RankColumns(**{name: options.pop(name) for name in RankColumns.__dataclass_fields__})
    columns.check(file)
    since, coming = options.pop("since"), options.pop("coming")
    _refuse_undated(columns.date, since=since, next=coming)
    if coming is not None and (columns.wide or columns.ballot):
        raise click.UsageError(
            "--next goes with a table that has a row per ranker and item: --ranker and --item."
        )
    kinds = options.pop("kinds") or 0
    if kinds and columns.by:
        raise click.UsageError(
            "--kinds finds kinds of rankers, and --by names a column that has them: give one."
        )
    if kinds and columns.date:
        raise click.UsageError("--kinds and --date are for different models: give one.")
    if kinds and options["quick"]:
        raise click.UsageError("There is no quick answer with --kinds: leave --quick out.")
    if kinds:  # differences have the same prior, and nothing is left for NUTS to find hard
        options["prior"] = "zero-sum"
    how, said = _written(options), _said(options)
    fit = _fit(options, default_folder(file))
    with errors_as_sentences(**said) as talk:
        readable(file)
        from bayesrank.cli.read_rankings import read_rankings

        rankings = read_rankings(file, columns, how, talk.note)
        title = f"Ranks of {columns.item or 'the items'} in {shown(file)}"
        if columns.date is None:
            job: Job = rank_job(rankings, title, fit, kinds=kinds)
        else:
            from bayesrank.cli.dated import DatedJob
            from bayesrank.cli.read_dated import read_coming_rankings

            ahead = None
            if coming is not None:
                readable(coming)
                ahead = read_coming_rankings(coming, columns, how, talk.note, rankings)
            job = DatedJob(rankings, title, fit, since=since, coming=ahead)
        run(job, talk)


@main.command(short_help="Rank items by matches or comparisons of two.")
@click.argument("file", type=File)
@click.option("--first", metavar="COLUMN", help="The item at home, or shown first.")
@click.option("--second", metavar="COLUMN", help="The item compared with it.")
@click.option(
    "--outcome",
    metavar="COLUMN",
    help="Who won: first, second or tie; 1, 0 or 0.5; home, away or draw; the name of the winner.",
)
@click.option("--winner", metavar="COLUMN", help="The item that won, instead of --first.")
@click.option("--loser", metavar="COLUMN", help="The item that lost, instead of --second.")
@click.option("--score-a", metavar="COLUMN", help="Points of the first, instead of --outcome.")
@click.option("--score-b", metavar="COLUMN", help="Points of the second.")
@click.option(
    "--first-wins",
    multiple=True,
    metavar="TEXT",
    help="How the outcome is written if the first item wins; may be repeated.",
)
@click.option(
    "--second-wins", multiple=True, metavar="TEXT", help="The same, if the second item wins."
)
@click.option("--tie", multiple=True, metavar="TEXT", help="The same, if neither wins.")
@click.option("--count", metavar="COLUMN", help="How often this happened; once by default.")
@click.option("--judge", metavar="COLUMN", help="Who judged: judges differ in care and in bias.")
@click.option(
    "--category",
    "--by",
    "category",
    metavar="COLUMN",
    help="Items may be better in some than in others.",
)
@click.option(
    "--feature",
    multiple=True,
    metavar="COLUMN[,COLUMN]",
    help="Held equal in the ranks, such as length_a,length_b: of the first and of the second, or "
    "how far the first is ahead; may be repeated.",
)
@click.option(
    "--group",
    multiple=True,
    metavar="COLUMN",
    help="Matches that go together, such as those of a prompt or a user; may be repeated. That of "
    "--judge has each judge have opinions of its own, as is usual where one might decide alone; "
    "where one is of dates, the audit looks for strengths that change.",
)
@click.option(
    "--ties-by",
    multiple=True,
    type=click.Choice(["item", "strength"]),
    help="What ties depend on, beside judges and groups: item, some tie more often than others, "
    "whoever they meet; strength, the same, and the strong more often than the weak, or less "
    "often; may be repeated.",
)
@click.option("--neutral", metavar="COLUMN", help="Yes where the first has no advantage.")
@click.option(
    "--order/--no-order",
    default=True,
    show_default=True,
    help="Whether the first item may have an advantage.",
)
@_add(_DATED)
@click.option(
    "--next",
    "coming",
    type=File,
    help="With --date, a table of matches to come, with the same columns but the outcome: they "
    "are forecast. So are rows of FILE without an outcome behind all others.",
)
@_add(_WRITTEN)
@_add(_fit_options(prior="zero-sum"))
def matches(file: Path, **options: Any) -> None:
    """Rank the items of FILE by matches: a table with one row per match or comparison of two."""
    columns = MatchColumns(
        **{name: options.pop(name) for name in MatchColumns.__dataclass_fields__}
    )
    columns.check()
    since, coming = options.pop("since"), options.pop("coming")
    _refuse_undated(columns.date, since=since, next=coming)
    how, said = _written(options), _said(options)
    if how.missing == "last":
        raise click.UsageError("A match without an outcome has no last place: drop or refuse it.")
    fit = _fit(options, default_folder(file))
    with errors_as_sentences(**said) as talk:
        readable(file)
        title = f"Ranks by the matches in {shown(file)}"
        if columns.date is None:
            from bayesrank.cli.read_matches import read_pairs

            pairs = read_pairs(file, columns, how, talk.note)
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
            if coming is not None:
                readable(coming)
            from bayesrank.cli.dated import DatedJob
            from bayesrank.cli.read_dated import read_dated_pairs

            pairs, ahead = read_dated_pairs(file, columns, how, talk.note, coming)
            job = DatedJob(pairs, title, fit, since=since, order=columns.ordered, coming=ahead)
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


@main.command(short_help="Write the page and the files of a run again.")
@click.argument("file", type=File, metavar="POSTERIOR.nc")
@_add(_OUTPUT)
def report(file: Path, **options: Any) -> None:
    """Write the tables, pictures and the page of a posterior that a run has saved.

    A run that was cut short, as by a full disk, says where its posterior is.
    """
    said = _said(options)
    ctx = click.get_current_context()
    given = {
        name: value
        for name, value in options.items()
        if ctx.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
    }
    with errors_as_sentences(**said) as talk:
        readable(file)
        if sentence := find_cache():
            talk.stage(sentence)
        from bayesrank.cli.again import check_saved, folder_of, saved_run, tidy

        saved = saved_run(file)
        fit = Fit(**saved.fit, output_dir=options["output_dir"] or folder_of(file))
        if "open_" in given:
            given["open"] = given.pop("open_")
        fit = replace(fit, **{name: value for name, value in given.items() if name != "output_dir"})
        for note in saved.notes:
            talk.note(note)
        make = rank_job if saved.command == "rank" else MatchJob
        job: Job = make(saved.data, saved.title, fit, **saved.settings)
        check_saved(file, job.pymc_model, saved)
        talk.kept = file  # whatever comes
        run(job, talk, saved.posterior)
        tidy(file)
