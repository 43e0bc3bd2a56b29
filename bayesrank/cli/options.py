"""The options of the commands: which columns mean what, how cells are written, how to fit.

An option is a field of a dataclass here, and its flag is the name of the field. What does not go
together is refused here, before anything is read or imported.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from inspect import cleandoc
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

import click

import bayesrank
from bayesrank.priors import LEARNED, PRIORS

PREFLIB = (".soc", ".soi", ".toc", ".toi")
SIDES = ("first", "second", "tie")
DATED = "With --date there is one strength per item at a time"
RESERVED = ("chain", "draw")  # names of axes in the results
WIDE = ("ranks", "ratings", "places")
FORGOTTEN = ("output_dir", "save", "force", "open", "quiet", "data")  # by a posterior
FILE = click.Path(path_type=Path)
SHARE = click.FloatRange(min=0, max=1, min_open=True, max_open=True)
LEAST_1 = click.IntRange(min=1)


def option(*flags: str, default: Any = None, **settings: Any) -> Any:
    """Make a field that is an option; its help stands in the docstring of the class."""
    settings |= {"default": default, "show_default": default not in (None, False)}
    return field(default=default, metadata={"flags": flags, "settings": settings})


def repeated(**settings: Any) -> Any:
    """Make a field that is an option which may be repeated."""
    return field(default=(), metadata={"flags": (), "settings": settings | {"multiple": True}})


def codes() -> Any:
    """Make a field that is an option with codes, with commas between them."""

    def read(_: click.Context, __: click.Parameter, text: str) -> tuple[str, ...]:
        return tuple(filter(None, (code.strip() for code in text.split(","))))

    settings = {"default": "", "metavar": "CODES", "callback": read}
    return field(default=(), metadata={"flags": (), "settings": settings})


def parameters(*groups: type, **defaults: Any) -> list[click.Parameter]:
    """Make the options of dataclasses, without those that a class inherits."""
    out: list[click.Parameter] = []
    for group in groups:
        texts = dict(re.findall(r"^(\w+): (.*(?:\n {4}.*)*)", cleandoc(group.__doc__ or ""), re.M))
        for one in fields(group):
            if one.name in group.__annotations__ and one.metadata:
                settings = {"help": texts.get(one.name), **one.metadata["settings"]}
                if one.name in defaults:
                    settings["default"] = defaults[one.name]
                flags = one.metadata["flags"] or [flag(one.name)]
                out.append(click.Option([*flags, one.name], **settings))
    return out


def taken[T](group: Callable[..., T], options: dict[str, Any]) -> T:
    """Take the values of the fields of a dataclass out of all options."""
    names = [one.name for one in fields(group) if one.name in options]  # type: ignore[arg-type]
    return group(**{name: options.pop(name) for name in names})


def flag(name: str) -> str:
    """Write the name of a field as an option."""
    return f"--{name.replace('_', '-')}"


@dataclass(frozen=True)
class Table:
    """How a table is written, and what is asked of its dates.

    date: When it was, as 2024-05-31 or a number: strengths change with time, and the ranks are
        those of the last date.
    since: With --date, leave out items that were last seen before.
    coming: With --date, a table of rankings or matches to come, as FILE but without their ranks or
        outcomes: they are forecast. So are matches of FILE without an outcome behind all others.
    missing: Entries without a value: leave them out, put them last in their rankings, or refuse
        them. Ballots and places that differ in length need drop (the rest was not presented) or
        last (the rest comes last). [default: drop ratings, refuse ranks and outcomes]
    empty: Codes that say no more than an empty cell, such as n.a.,skipped.
    encoding: Of the file, such as latin-1. [default: UTF-8, or UTF-16 if it begins so]
    separator: Between columns, such as ';' or tab. [default: found out]
    decimal: Before decimals. [default: found out]
    """

    date: str | None = option(metavar="COLUMN")
    since: str | None = option(metavar="DATE")
    coming: Path | None = option("--next", type=FILE)  # noqa: RUF009
    missing: Literal["drop", "last", "refuse"] | None = option(
        type=click.Choice(["drop", "last", "refuse"])
    )
    empty: tuple[str, ...] = codes()
    encoding: str | None = option(metavar="NAME")
    separator: str | None = option(metavar="TEXT")
    decimal: Literal[".", ","] | None = option(type=click.Choice([".", ","]))

    def leave_out(self, names: str, why: str) -> None:
        """Refuse options that do not go with others."""
        for name in names.split():
            refuse(bool(getattr(self, name)), f"{why}: leave {flag(name)} out.")

    def check_dates(self, names: str) -> None:
        """Refuse what does not go with dates, or not without them."""
        if self.date is not None:
            self.leave_out(names, DATED)
            return
        for name, value in {"since": self.since, "next": self.coming}.items():
            refuse(value is not None, f"--{name} goes with --date COLUMN, which says when it was.")


@dataclass(frozen=True)
class RankColumns(Table):
    """Columns of a table of rankings; `wide` and `ballot` are other ways to write them.

    ranker: Who ranks: user, race, judge.
    item: What is ranked.
    rating: High is good; equal ratings are ties.
    rank: 1 is best; equal ranks are ties.
    ranking: Which ranking, if a ranker has several.
    wide: A row is a ranking: a column per item with its rank or rating, or one per place, best
        first, with an item. With --item a row is an item, and there is a column per ranker.
    ballot: A row is a ranking, such as a > b = c.
    column: With --wide, the columns of items, places or rankers; may be repeated. [default: all
        others]
    weight: How often the ranking was given.
    by: Items may be better in some categories than in others.
    last_block: Codes for items that come last, together, such as DNF,Ret.
    """

    ranker: str | None = option(metavar="COLUMN")
    item: str | None = option(metavar="COLUMN")
    rating: str | None = option(metavar="COLUMN")
    rank: str | None = option(metavar="COLUMN")
    ranking: str | None = option(metavar="COLUMN")
    wide: str | None = option(type=click.Choice(WIDE))
    ballot: str | None = option(metavar="COLUMN")
    column: tuple[str, ...] = repeated(metavar="COLUMN")
    weight: str | None = option(metavar="COLUMN")
    by: str | None = option(metavar="COLUMN")
    last_block: tuple[str, ...] = codes()

    def check(self, file: Path) -> None:
        """Refuse what does not go together, before anything is read."""
        given = [self.rating, self.rank, self.wide, self.ballot]
        n_given = sum(one is not None for one in given)
        self.check_dates("by")
        refuse(
            self.coming is not None and bool(self.wide or self.ballot),
            "--next goes with a table that has a row per ranker and item: --ranker and --item.",
        )
        if is_preflib(file):
            refuse(
                bool(self.names) or self.wide is not None,
                f"{file.suffix} files say who ranks what: leave the columns out.",
            )
            return
        refuse(
            n_given != 1,
            "Give either --rating COLUMN (high is good) or --rank COLUMN (1 is best), for a "
            f"table with one row per ranker and item; or --wide {'|'.join(WIDE)}, or "
            "--ballot COLUMN, for one with a row per ranking.",
        )
        if self.wide in ("ranks", "ratings") and self.item:
            self.leave_out(
                "ranker ranking weight by date",
                "With --wide and --item a row is an item, and the columns are the rankers",
            )
        elif self.wide or self.ballot:
            form = "--wide" if self.wide else "--ballot"
            self.leave_out("item ranking", f"With {form} each row is a ranking")
        else:
            refuse(bool(self.column), "--column names the columns of a table that is --wide.")
            refuse(self.item is None, "Missing option '--item'.")
            refuse(self.ranker is None and self.ranking is None, "Missing option '--ranker'.")

    @property
    def names(self) -> list[str]:
        """All columns that are named."""
        named = [self.ranker, self.item, self.rating, self.rank, self.ranking]
        named += [self.weight, self.ballot, self.by, self.date, *self.column]
        return [name for name in named if name is not None]

    @property
    def of(self) -> str:
        """What the numbers are called in messages."""
        return "rating" if self.rating or self.wide == "ratings" else "rank"


@dataclass(frozen=True)
class MatchColumns(Table):
    """Columns of a table of matches, and how outcomes are written in it.

    first: The item at home, or shown first.
    second: The item compared with it.
    outcome: Who won: first, second or tie; 1, 0 or 0.5; home, away or draw; the name of the winner.
    winner: The item that won, instead of --first.
    loser: The item that lost, instead of --second.
    score_a: Points of the first, instead of --outcome.
    score_b: Points of the second.
    first_wins: How the outcome is written if the first item wins; may be repeated.
    second_wins: The same, if the second item wins.
    tie: The same, if neither wins.
    count: How often this happened; once by default.
    judge: Who judged: judges differ in care and in bias.
    category: Items may be better in some than in others.
    feature: Held equal in the ranks, such as length_a,length_b: of the first and of the second, or
        how far the first is ahead; may be repeated.
    group: Matches that go together, such as those of a prompt or a user; may be repeated. That of
        --judge has each judge have opinions of its own, as is usual where one might decide alone;
        where one is of dates, the audit looks for strengths that change.
    ties_by: What ties depend on, beside judges and groups: item, some tie more often than others,
        whoever they meet; strength, the same, and the strong more often than the weak, or less
        often; may be repeated.
    neutral: Yes where the first has no advantage.
    order: Whether the first item may have an advantage.
    """

    first: str | None = option(metavar="COLUMN")
    second: str | None = option(metavar="COLUMN")
    outcome: str | None = option(metavar="COLUMN")
    winner: str | None = option(metavar="COLUMN")
    loser: str | None = option(metavar="COLUMN")
    score_a: str | None = option(metavar="COLUMN")
    score_b: str | None = option(metavar="COLUMN")
    first_wins: tuple[str, ...] = repeated(metavar="TEXT")
    second_wins: tuple[str, ...] = repeated(metavar="TEXT")
    tie: tuple[str, ...] = repeated(metavar="TEXT")
    count: str | None = option(metavar="COLUMN")
    judge: str | None = option(metavar="COLUMN")
    category: str | None = option("--category", "--by", metavar="COLUMN")
    feature: tuple[str, ...] = repeated(metavar="COLUMN[,COLUMN]")
    group: tuple[str, ...] = repeated(metavar="COLUMN")
    ties_by: tuple[str, ...] = repeated(type=click.Choice(["item", "strength"]))
    neutral: str | None = option(metavar="COLUMN")
    order: bool = option("--order/--no-order", default=True)

    @property
    def groups(self) -> tuple[str, ...]:
        """Groups of matches that go together, beside those of one judge."""
        return tuple(group for group in self.group if group != self.judge)

    @property
    def opinions(self) -> bool | None:
        """Whether judges are asked to have opinions; None if nothing is said of it."""
        return True if self.groups != self.group else None

    def check(self) -> None:
        """Refuse what does not go together, before anything is read."""
        _ = self.spelled, self.features
        self.check_dates("judge category neutral feature group ties_by")
        refuse(
            self.missing == "last",
            "A match without an outcome has no last place: drop or refuse it.",
        )
        for name in self.groups:
            refuse(
                "/" in name or name in RESERVED,
                f"--group {name!r} cannot be a name in the file of the results: it has '/', or "
                f"is one of {', '.join(RESERVED)}. Rename the column.",
            )
        for name in self.ties_by:
            refuse(
                name in self.group,
                f"--ties-by {name} and --group {name} would have effects on ties of one name: "
                "rename the column.",
            )
        self._check_pair("winner", "loser")
        if self.winner is not None:
            self.leave_out(
                "first second outcome score_a score_b neutral",
                "With --winner and --loser the outcome is known, and nobody stands first",
            )
            self.leave_out("ties_by", "With --winner and --loser nothing ties")
            return
        for name in ("first", "second"):
            refuse(
                getattr(self, name) is None,
                f"Missing option '--{name}'. Give --first and --second, or --winner and --loser.",
            )
        self._check_pair("score_a", "score_b")
        refuse(
            (self.outcome is None) == (self.score_a is None),
            "Missing option '--outcome'. Who won is in --outcome COLUMN, or in --score-a and "
            "--score-b: give one of the two.",
        )
        if not self.order:
            self.leave_out("neutral", "--no-order makes all ground neutral")

    def _check_pair(self, *names: str) -> None:
        """Refuse one of two options without the other."""
        missing = [name for name in names if getattr(self, name) is None]
        if len(missing) == 1:
            raise click.UsageError(f"Missing option '{flag(missing[0])}'.")

    @property
    def sides(self) -> tuple[str, str]:
        """Columns of the two items; checked before, so that they are given."""
        return str(self.first or self.winner), str(self.second or self.loser)

    @property
    def results(self) -> list[str]:
        """Columns that say who won."""
        return [c for c in (self.outcome, self.score_a, self.score_b) if c is not None]

    @property
    def labels(self) -> list[str]:
        """Columns of labels and of features, which a match needs as much as its outcome."""
        named = [*self.sides, self.judge, self.category, self.date, *self.groups]
        named += [name for sides in self.features.values() for name in sides]
        return [name for name in named if name is not None]

    @property
    def names(self) -> list[str]:
        """All columns that are named."""
        more = [name for name in (self.count, self.neutral) if name is not None]
        return [*self.labels, *self.results, *more]

    @property
    def ordered(self) -> bool:
        """Whether the first item may have an advantage."""
        return self.order and self.winner is None

    @property
    def features(self) -> dict[str, tuple[str, ...]]:
        """Columns of every feature, by a name: what those of two sides have in common."""
        out: dict[str, tuple[str, ...]] = {}
        for text in self.feature:
            columns = tuple(part.strip() for part in text.split(","))
            refuse(
                len(columns) > 2 or not all(columns) or len(set(columns)) < len(columns),
                f"--feature {text!r} is no column, and not two with a comma between them, of "
                "the first item and of the second, such as length_a,length_b.",
            )
            same = takewhile(lambda letters: len(set(letters)) == 1, zip(*columns, strict=False))
            name = "".join(letter for letter, *_ in same).rstrip(" _-.") or " less ".join(columns)
            refuse(name in out, f"There are two features {name!r}: rename columns.")
            out[name] = columns
        return out

    @property
    def spelled(self) -> dict[str, str]:
        """What each spelling of an outcome means, if that is said."""
        out: dict[str, str] = {}
        written = dict(zip(SIDES, (self.first_wins, self.second_wins, self.tie), strict=True))
        if not any(written.values()):
            return out
        for outcome, texts in written.items():
            for text in texts or (outcome,):
                refuse(
                    out.setdefault(text, outcome) != outcome,
                    f"{text!r} cannot mean both {out[text]} and {outcome}: look at "
                    "--first-wins, --second-wins and --tie.",
                )
        return out


@dataclass(frozen=True)
class Output:
    """What to report, and where.

    output_dir: Folder for the page, the tables and the pictures. [default: named after the input]
    force: Write into a folder that holds other files, too.
    title: Heading of the page.
    top: The k of P(top k).
    interval: Probability of the rank intervals.
    scale: elo: show ratings, too, in which 400 points are odds of ten to one.
    anchor: The item with 1000 points on the scale of Elo. [default: the mean of all items has]
    sort: Order of the table: by mean rank, or by the lower end of the interval of utilities, so
        that items of which little is known stand lower.
    data: Print the result as JSON.
    quiet: Print the verdict and warnings alone.
    open: Show the page when it is written.
    save: Keep the posterior in this file, too.
    """

    output_dir: Path | None = option(type=FILE)  # noqa: RUF009
    force: bool = option(default=False, is_flag=True)
    title: str | None = option(metavar="TEXT")
    top: int = option(default=3, type=LEAST_1)
    interval: float = option(default=0.94, type=SHARE)
    scale: str = option(default="utility", type=click.Choice(["utility", "elo"]))
    anchor: str | None = option(metavar="ITEM")
    sort: str = option(default="mean", type=click.Choice(["mean", "lower"]))
    data: bool = option("--json", default=False, is_flag=True)
    quiet: bool = option(default=False, is_flag=True)
    open: bool = option(default=False, is_flag=True)
    save: Path | None = option(type=FILE)  # noqa: RUF009


@dataclass(frozen=True)
class Fit(Output):
    """How to fit, and what to report.

    quick: Answer by an approximation, in seconds, or in a minute or two where hundreds of things
        are unknown, as with many labels of groups; or sample, however long it takes. [default:
        sample, but answer quickly where that would take more than ten minutes]
    seed: Same seed, same result on one machine, but for last digits where a run compiles first.
        [default: drawn, and stated on the page]
    draws: Draws per chain, at most: fewer where ranks are exact.
    tune: Tuning steps per chain.
    prior: normal: independent, for sparse data; zero-sum: for much data.
    prior_scale: Standard deviation of the utilities. [default: learned]
    """

    quick: bool | None = option("--quick/--full")
    seed: int = option(type=click.IntRange(min=0))
    draws: int = option(default=1000, type=LEAST_1)
    tune: int = option(default=500, type=click.IntRange(min=50))
    chains: int = option(default=4, type=LEAST_1)
    prior: str = option(default="normal", type=click.Choice(list(PRIORS)))
    prior_scale: float | None = option(type=click.FloatRange(min=0, min_open=True))
    command: str = ""  # that asked for this
    made: str = ""  # the date
    version: str = bayesrank.__version__

    @property
    def folder(self) -> Path:
        """Where the files go; the commands give a folder where the user does not."""
        assert self.output_dir is not None
        return self.output_dir

    @property
    def sampling(self) -> str:
        """What the sampler does, in words."""
        if self.quick:
            return f"{self.chains * self.draws:,} draws of an approximation"
        chains = "1 chain" if self.chains == 1 else f"{self.chains} chains"
        return f"{chains} of {self.draws:,} draws after {self.tune:,} tuning steps"

    @property
    def spread(self) -> str:
        """How far apart utilities are before the data, in words."""
        if self.prior_scale is not None:
            return f"with standard deviation {self.prior_scale:g}"
        return (
            "with a standard deviation that is learned from the data (half-normal with scale "
            f"{LEARNED:g} before them)"
        )

    def remembered(self) -> dict[str, Any]:
        """Return the settings that a posterior remembers."""
        names = [one.name for one in fields(self) if one.name not in FORGOTTEN]
        return {name: getattr(self, name) for name in names}


def refuse(wrong: bool, sentence: str) -> None:
    """End with a sentence about the options where something is wrong."""
    if wrong:
        raise click.UsageError(sentence)


def is_preflib(file: Path) -> bool:
    """Whether the name is that of a PrefLib file of orders."""
    return any(suffix.lower() in PREFLIB for suffix in file.suffixes)


def shown(file: Path) -> str:
    """Name a file; names that are no text are written with marks in the place of their bytes."""
    return str(click.format_filename(file, shorten=True))


def readable(file: Path) -> None:
    """Refuse a file that is not there or empty, before anything is imported."""
    if not file.exists():
        raise FileNotFoundError(f"There is no file {click.format_filename(file)}.")
    if file.is_dir():
        raise ValueError(f"{click.format_filename(file)} is a folder, not a file.")
    if not file.stat().st_size:
        raise ValueError(f"{click.format_filename(file)} is empty.")
