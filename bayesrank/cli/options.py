"""The options of the commands: which columns mean what, how cells are written, how to fit.

Each option is a field of a dataclass, and its flag is the name of the field. This module also
rejects options that exclude each other, before it reads or imports anything.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from inspect import cleandoc
from itertools import takewhile
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import click

import bayesrank
from bayesrank.priors import LEARNED, PRIORS

ORDERS = (".soc", ".soi", ".toc", ".toi", ".blt")  # files that need no columns
SIDES = ("first", "second", "tie")
DATED = "With --date the model has only strengths that change over time"
RESERVED = ("chain", "draw")  # names of axes in the results
WIDE = ("ranks", "ratings", "places")
MOST_COMPONENTS = 8  # number of colours
FILE = click.Path(path_type=Path)
SHARE = click.FloatRange(min=0, max=1, min_open=True, max_open=True)
LEAST_1 = click.IntRange(min=1)


def option(*flags: str, default: Any = None, **settings: Any) -> Any:
    """Make a field for an option; its help text is in the docstring of the class."""
    settings |= {"default": default, "show_default": default not in (None, False)}
    return field(default=default, metadata={"flags": flags, "settings": settings})


def repeated(*flags: str, **settings: Any) -> Any:
    """Make a field for an option that may be repeated."""
    return field(default=(), metadata={"flags": flags, "settings": settings | {"multiple": True}})


def codes() -> Any:
    """Make a field for an option with codes separated by commas."""

    def read(_: click.Context, __: click.Parameter, text: str) -> tuple[str, ...]:
        return tuple(filter(None, (code.strip() for code in text.split(","))))

    settings = {"default": "", "metavar": "CODES", "callback": read}
    return field(default=(), metadata={"flags": (), "settings": settings})


def parameters(*groups: type, **defaults: Any) -> list[click.Parameter]:
    """Make the options of dataclasses, without inherited fields."""
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
    """Move the values of the fields of a dataclass out of the options into an instance."""
    names = [one.name for one in fields(group) if one.name in options]  # type: ignore[arg-type]
    return group(**{name: options.pop(name) for name in names})


def flag(name: str) -> str:
    """Write the name of a field as an option."""
    return f"--{name.replace('_', '-')}"


@dataclass(frozen=True)
class Table:
    """Format of a table, and its dates.

    date: Date of the ranking or match, such as 2024-05-31, or a number. Strengths then change over
        time, and the ranks are those at the latest date.
    since: With --date, leave out items that were last seen before this date.
    coming: With --date, a table of future rankings or matches to forecast, like FILE but without
        ranks or outcomes. Matches in FILE without an outcome, dated after all others, are also
        forecast.
    missing: Leave out entries without a value (drop), put them last in their rankings (last), or
        stop with an error (refuse). If ballots or places differ in length, choose drop if the
        other items were not presented, or last if they come last. [default: drop ratings, refuse
        ranks and outcomes]
    empty: Codes to read as empty cells, such as n.a.,skipped.
    encoding: Encoding of the file, such as latin-1. [default: UTF-8, or by the byte order mark]
    separator: Separator of columns, such as ';' or tab. [default: detected]
    decimal: Decimal mark. [default: detected]
    header: Line of the header, or 0 if the file has none; then a column is named by its number.
        [default: the first line, with those below it in survey exports]
    where: Use only rows with this value, such as season=2025 or season!=2025. Repeat it for more
        values or columns.
    rename: Call a column of the file by another name, such as old=new; may be repeated.
    merge: Merge labels that differ only in case, or in composed and decomposed accents.
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
    header: int | None = option(type=click.IntRange(min=0), metavar="LINE")
    where: tuple[str, ...] = repeated(metavar="COLUMN=VALUE")
    rename: tuple[str, ...] = repeated(metavar="OLD=NEW")
    merge: bool = option(default=False, is_flag=True)

    @property
    def conditions(self) -> dict[tuple[str, bool], list[str]]:
        """Values of --where by column, and whether a row must have one of them or none."""
        out: dict[tuple[str, bool], list[str]] = {}
        for text in self.where:
            found = re.fullmatch(r"(.+?)\s*(!?=)\s*(.*)", text)
            refuse(found is None, f"--where must look like season=2025; it is {text!r}.")
            if found is not None:
                out.setdefault((found[1].strip(), found[2] == "="), []).append(found[3].strip())
        return out

    @property
    def renamed(self) -> dict[str, str]:
        """New names of columns by their old names."""
        pairs = [text.partition("=") for text in self.rename]
        for text, (old, _, new) in zip(self.rename, pairs, strict=True):
            refuse(not old or not new, f"--rename must look like old=new; it is {text!r}.")
        return {old: new for old, _, new in pairs}

    def leave_out(self, names: str, why: str) -> None:
        """Refuse options that another option excludes."""
        for name in names.split():
            refuse(bool(getattr(self, name)), f"{why}. Leave {flag(name)} out.")

    def check_dates(self, names: str) -> None:
        """Refuse options that dates exclude, and options that need dates or cannot be read."""
        _ = self.conditions, self.renamed
        if self.date is not None:
            self.leave_out(names, DATED)
            return
        for name, value in {"since": self.since, "next": self.coming}.items():
            refuse(value is not None, f"--{name} needs --date COLUMN.")


class Words(NamedTuple):
    """What the reports of a command call a ranker, a ranking, the ends of a ranking, and chance."""

    ranker: str = "ranker"
    ranking: str = "ranking"
    rankings: str = "rankings"
    first: str = "first"
    last: str = "last"
    chance: str = "random order"

    def of(self, text: str) -> str:
        """Replace the words of rankings in a text."""
        words = r"\b(rankings?|ranker|first|last)(?=s?\b)"
        return re.sub(words, lambda found: str(getattr(self, found[1])), text)


MATCHES = Words("judge", "match", "matches")


@dataclass(frozen=True)
class RankColumns(Table):
    """Columns of a table of rankings, in long form, in wide form or as ballots.

    ranker: Who ranks, such as a user, a race or a judge.
    item: The item that is ranked.
    rating: Rating of the item: high is good, and equal ratings are ties.
    rank: Rank of the item: 1 is best, and equal ranks are ties.
    ranking: Label of the ranking, if a ranker has several.
    wide: Each row is a ranking. It has a column per item with its rank or rating, or a column per
        place with an item, best first. With --item each row is an item, with a column per ranker.
    ballot: Whole ranking in one cell, such as a > b = c.
    column: With --wide, columns of items, places or rankers: a name, a pattern such as 'Star Wars*'
        or numbers such as 8-13; may be repeated. [default: all others]
    weight: Number of times that the ranking was given.
    by: Category. An item may be better in some categories than in others.
    group: Rankings with the same label are not independent, such as the rankings of one session or
        school. [default: the rankings of a ranker, if rankers have several]
    opinions: Whether each ranker (or label of --group) has separate opinions of the items.
        [default: yes if rankers have several rankings]
    last_block: Codes of items that come last together, such as DNF,Ret.
    components: Find this number of groups of rankers (mixture components), each with its own
        ranking.
    """

    words: ClassVar[Words] = Words()
    family: ClassVar[str] = "Plackett-Luce"
    reading: ClassVar[str | None] = None  # what the difference of two utilities means, for the page
    most_opinions: ClassVar[int] = 5_000  # most rankers times items that have opinions by default

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
    group: str | None = option(metavar="COLUMN")
    opinions: bool | None = option("--opinions/--no-opinions")
    last_block: tuple[str, ...] = codes()
    components: int | None = option(type=click.IntRange(2, MOST_COMPONENTS))

    def title(self, file: Path) -> str:
        """Return the heading of the page."""
        return f"Ranks of {self.item or 'the items'} in {shown(file)}"

    def check(self, file: Path) -> None:
        """Refuse options that exclude each other, before the file is read."""
        forms = [self.rating, self.rank, self.wide, self.ballot]
        n_forms = sum(form is not None for form in forms)
        self.check_dates("by group opinions")
        refuse(
            self.group is not None and self.opinions is False,
            "--group names rankings that are not independent, and --no-opinions treats all as "
            "independent. Use one of them.",
        )
        self._check_groups()
        refuse(
            self.coming is not None and bool(self.wide or self.ballot),
            "--next needs a table with one row per ranker and item (--ranker and --item).",
        )
        if has_orders(file):
            refuse(
                bool(self.names) or self.wide is not None,
                f"{file.suffix} files need no columns. Leave the options that name columns out.",
            )
            return
        require(
            n_forms == 1,
            "If the table has one row per ranker and item, give either --rating COLUMN (high is "
            "good) or --rank COLUMN (1 is best). If it has one row per ranking, give "
            f"--wide {'|'.join(WIDE)} or --ballot COLUMN.",
        )
        if self.wide in ("ranks", "ratings") and self.item:
            self.leave_out(
                "ranker ranking weight by group date",
                "With --wide and --item each row is an item and each column a ranker",
            )
        elif self.wide or self.ballot:
            form = "--wide" if self.wide else "--ballot"
            self.leave_out("item ranking", f"With {form} each row is a ranking")
        else:
            refuse(bool(self.column), "--column needs --wide.")
            require(self.item is not None, "Missing option '--item'.")
            ranker = self.ranker is not None or self.ranking is not None
            require(ranker, "Missing option '--ranker'.")

    def _check_groups(self) -> None:
        """Refuse options that components exclude."""
        if self.components is None:
            return
        words = self.words
        one = f"With --components all {words.rankings} of a {words.ranker} have one component"
        self.leave_out("group opinions", one)
        refuse(
            self.by is not None,
            "--components finds unknown groups, --by names known ones. Use one of them.",
        )
        refuse(
            self.date is not None,
            "--components and --date are for different models. Use one of them.",
        )

    @property
    def form(self) -> bool:
        """Whether the options say what form the table has."""
        named = (self.ranker, self.item, self.rating, self.rank, self.ranking, self.wide)
        return any((*named, self.ballot, self.column))

    @property
    def names(self) -> list[str]:
        """All columns that the options name."""
        named = [self.ranker, self.item, self.rating, self.rank, self.ranking]
        named += [self.weight, self.ballot, self.by, self.group, self.date, *self.column]
        return [name for name in named if name is not None]

    @property
    def of(self) -> str:
        """Name of the numbers in messages."""
        return "rating" if self.rating or self.wide == "ratings" else "rank"


@dataclass(frozen=True)
class ChoiceColumns(RankColumns):
    """Columns of a table of tasks, with one row per item shown or one row per task.

    ranker: Who answers.
    ranking: Label of the task, if a respondent has several. [default: each respondent has one task,
        or each row of a table with one row per task]
    column: The item shown. If each row is a task, the columns of the items shown. Repeat the
        option, or give a pattern such as 'item_*' or numbers such as 4-8.
    best: Flag of the item chosen as best (1 or 0, x or empty). If each row is a task, the column
        with that item.
    worst: The same for the worst item. Without it, tasks ask only for the best.
    choice: Instead of --best and --worst, codes of each item: best, worst or empty, or 1, -1 or 0.
    positions: Each row is a task, and --best and --worst contain positions 1, 2, ... of the items.
    several: A task may have several best or worst items.
    threshold: Answer to a further question of the task: do all, some or none of these items matter?
        If tasks ask only for the best: whether none of the items matters, such as "none of these".
    weight: Number of times that the answer was given.
    by: Group of respondents, such as a segment. An item may be better in some groups than in
        others.
    opinions: Whether each respondent has separate utilities. [default: yes if respondents have
        several tasks]
    components: Find this number of groups of respondents (latent classes), each with its own
        utilities.
    """

    words: ClassVar[Words] = Words("respondent", "task", "tasks", "best", "worst", "random answers")
    family: ClassVar[str] = "Rank-ordered logit with ties (Plackett-Luce)"
    reading: ClassVar[str | None] = (
        "in a task of two items, one is best with probability 1 / (1 + exp(−difference))"
    )
    most_opinions: ClassVar[int] = 50_000

    ranker: str | None = option("--respondent", metavar="COLUMN")
    ranking: str | None = option("--task", metavar="COLUMN")
    column: tuple[str, ...] = repeated("--item", metavar="COLUMN")
    best: str | None = option(metavar="COLUMN")
    worst: str | None = option(metavar="COLUMN")
    choice: str | None = option(metavar="COLUMN")
    positions: bool = option(default=False, is_flag=True)
    several: bool = option(default=False, is_flag=True)
    threshold: str | None = option(metavar="COLUMN")
    weight: str | None = option(metavar="COLUMN")
    by: str | None = option(metavar="COLUMN")
    opinions: bool | None = option("--opinions/--no-opinions")
    components: int | None = option(type=click.IntRange(2, MOST_COMPONENTS))

    def check(self, file: Path) -> None:
        """Refuse options that exclude each other, before the file is read."""
        _ = self.conditions, self.renamed
        refuse(
            self.missing == "last",
            "--missing last is for rankings. With --missing drop, tasks without an answer are left "
            "out.",
        )
        self._check_groups()
        refuse(
            self.by is not None and "category" in self.names and self.by != "category",
            "With --by, no other column may have the name 'category'. Rename it: --rename "
            "category=NAME.",
        )
        require(self.ranker is not None, "Missing option '--respondent'.")
        require(bool(self.column), "Missing option '--item'.")
        require(any((self.best, self.worst, self.choice)), "Missing option '--best'.")

    @property
    def names(self) -> list[str]:
        """All columns that the options name."""
        named = [self.ranker, self.ranking, self.best, self.worst, self.choice, self.threshold]
        named += [self.weight, self.by, *self.column]
        return [name for name in named if name is not None]


@dataclass(frozen=True)
class MatchColumns(Table):
    """Columns of a table of matches, and its codes for outcomes.

    first: The first item, such as the home team or the answer shown first.
    second: The second item.
    outcome: Outcome: first, second or tie; 1, 0 or 0.5; home, away or draw; the winner's name; or
        two scores, such as 2-1.
    winner: The item that won, instead of --first.
    loser: The item that lost, instead of --second.
    score_a: Points of the first item, instead of --outcome.
    score_b: Points of the second item.
    first_wins: Code in --outcome for a win of the first item; may be repeated.
    second_wins: Code in --outcome for a win of the second item; may be repeated.
    tie: Code in --outcome for a tie; may be repeated.
    count: Number of times that the match occurred. [default: once]
    judge: Who judged. Judges may differ in reliability and in bias.
    category: Category. An item may be better in some categories than in others.
    feature: Covariate to adjust for, such as length_a,length_b. Name two columns (first and second
        item) or one column with the difference; may be repeated.
    group: Matches with the same label are not independent, such as the votes on one prompt; may be
        repeated. If you name the column of --judge, each judge has separate opinions of the items.
        That is the default if a single judge could decide the ranking. If the labels are dates,
        the audit checks whether strengths change.
    ties_by: Let the tie rate vary by item, or by item and with the strength of the items; may be
        repeated.
    neutral: Yes if the first item has no advantage in this match.
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
        """Groups of matches that are not independent, except the matches of a judge."""
        return tuple(group for group in self.group if group != self.judge)

    @property
    def opinions(self) -> bool | None:
        """Whether the options ask for opinions of judges; None if they do not say."""
        return True if self.groups != self.group else None

    def title(self, file: Path) -> str:
        """Return the heading of the page."""
        return f"Ranks by the matches in {shown(file)}"

    def check(self, file: Path) -> None:
        """Refuse options that exclude each other, before the file is read."""
        _ = self.spelled, self.features
        self.check_dates("judge category feature group ties_by")
        refuse(
            self.missing == "last",
            "--missing last is for rankings. Use --missing drop or refuse for matches.",
        )
        for name in self.groups:
            refuse(
                "/" in name or name in RESERVED,
                f"--group {name!r} contains '/' or is a reserved name ({', '.join(RESERVED)}). "
                "Rename the column.",
            )
        for name in self.ties_by:
            refuse(
                name in self.group,
                f"--ties-by {name} and --group {name} have the same name. Rename the column.",
            )
        self._check_pair("winner", "loser")
        if self.winner is not None:
            self.leave_out(
                "first second outcome score_a score_b neutral",
                "--winner and --loser already tell the outcome, and neither item is the first",
            )
            self.leave_out("ties_by", "With --winner and --loser no match is a tie")
            return
        for name in ("first", "second"):
            require(
                getattr(self, name) is not None,
                f"Missing option '--{name}'. Give --first and --second, or --winner and --loser.",
            )
        self._check_pair("score_a", "score_b")
        require(
            (self.outcome is None) != (self.score_a is None),
            "Missing option '--outcome'. Give either --outcome COLUMN, or --score-a and --score-b.",
        )
        if not self.order:
            self.leave_out(
                "neutral", "With --no-order the first item has no advantage in any match"
            )

    def _check_pair(self, *names: str) -> None:
        """Refuse one of two options without the other."""
        missing = [name for name in names if getattr(self, name) is None]
        require(len(missing) != 1, f"Missing option '{flag(missing[0]) if missing else ''}'.")

    @property
    def form(self) -> bool:
        """Whether the options say what form the table has."""
        return any((self.first, self.second, self.winner, self.loser, *self.results))

    @property
    def sides(self) -> tuple[str, str]:
        """Columns of the two items; `check` makes sure that both were given."""
        return str(self.first or self.winner), str(self.second or self.loser)

    @property
    def results(self) -> list[str]:
        """Columns that tell the outcome."""
        return [c for c in (self.outcome, self.score_a, self.score_b) if c is not None]

    @property
    def labels(self) -> list[str]:
        """Columns of labels and features, which every match needs."""
        named = [*self.sides, self.judge, self.category, self.date, *self.groups]
        named += [name for sides in self.features.values() for name in sides]
        return [name for name in named if name is not None]

    @property
    def names(self) -> list[str]:
        """All columns that the options name."""
        more = [name for name in (self.count, self.neutral) if name is not None]
        return [*self.labels, *self.results, *more]

    @property
    def ordered(self) -> bool:
        """Whether the first item may have an advantage."""
        return self.order and self.winner is None

    @property
    def features(self) -> dict[str, tuple[str, ...]]:
        """Columns of each feature, by the part of their names that the two sides share."""
        out: dict[str, tuple[str, ...]] = {}
        for text in self.feature:
            columns = tuple(part.strip() for part in text.split(","))
            refuse(
                len(columns) > 2 or not all(columns) or len(set(columns)) < len(columns),
                f"--feature must name one column, or two separated by a comma (first and second "
                f"item), such as length_a,length_b; it is {text!r}.",
            )
            same = takewhile(lambda letters: len(set(letters)) == 1, zip(*columns, strict=False))
            name = "".join(letter for letter, *_ in same).rstrip(" _-.") or " less ".join(columns)
            refuse(name in out, f"Two features are called {name!r}. Rename their columns.")
            out[name] = columns
        return out

    @property
    def spelled(self) -> dict[str, str]:
        """Meaning of each code for an outcome, as far as options tell it."""
        out: dict[str, str] = {}
        written = dict(zip(SIDES, (self.first_wins, self.second_wins, self.tie), strict=True))
        if not any(written.values()):
            return out
        for outcome, texts in written.items():
            for text in texts or (outcome,):
                refuse(
                    out.setdefault(text, outcome) != outcome,
                    f"{text!r} cannot mean both {out[text]} and {outcome}. Check --first-wins, "
                    "--second-wins and --tie.",
                )
        return out


@dataclass(frozen=True)
class Output:
    """What to report, and where to write it.

    output_dir: Folder for the page, the tables and the pictures. [default: named after the input]
    force: Write into a folder even if it contains other files.
    title: Heading of the page.
    top: The k of P(top k).
    interval: Probability of the rank intervals.
    scale: With elo, also show Elo ratings, where 400 points are odds of ten to one.
    anchor: Item with an Elo rating of 1000. [default: the mean of all items is 1000]
    sort: Order of the table: by mean rank, or by the lower end of the utility's interval, so that
        items with little data come later.
    tables: Format of the tables: CSV, Markdown or Excel (which needs openpyxl).
    data: Print the result as JSON.
    quiet: Print only the verdict and warnings.
    open: Open the page when it is written.
    save: Also save the posterior in this file.
    """

    output_dir: Path | None = option(type=FILE)  # noqa: RUF009
    force: bool = option(default=False, is_flag=True)
    title: str | None = option(metavar="TEXT")
    top: int = option(default=3, type=LEAST_1)
    interval: float = option(default=0.94, type=SHARE)
    scale: str = option(default="utility", type=click.Choice(["utility", "elo"]))
    anchor: str | None = option(metavar="ITEM")
    sort: str = option(default="mean", type=click.Choice(["mean", "lower"]))
    tables: str = option(default="csv", type=click.Choice(["csv", "md", "xlsx"]))
    data: bool = option("--json", default=False, is_flag=True)
    quiet: bool = option(default=False, is_flag=True)
    open: bool = option(default=False, is_flag=True)
    save: Path | None = option(type=FILE)  # noqa: RUF009


@dataclass(frozen=True)
class Fit(Output):
    """How to fit, and what to report.

    quick: Approximate the posterior, or sample it however long that takes. The approximation needs
        seconds, and a minute or two with hundreds of parameters. [default: sample, unless that
        would take more than ten minutes]
    seed: Random seed. Results are reproducible on one machine, up to rounding. [default: random,
        and stated on the page]
    draws: Most draws per chain; sampling stops earlier if the ranks are precise.
    tune: Tuning steps per chain.
    chains: Number of chains.
    prior: Prior of the utilities: normal (independent) for sparse data, or zero-sum for much data.
    prior_scale: Prior standard deviation of the utilities. [default: learned from the data]
    """

    quick: bool | None = option("--quick/--full")
    seed: int = option(type=click.IntRange(min=0))
    draws: int = option(default=1000, type=LEAST_1)
    tune: int = option(default=500, type=click.IntRange(min=50))
    chains: int = option(default=4, type=LEAST_1)
    prior: str = option(default="normal", type=click.Choice(list(PRIORS)))
    prior_scale: float | None = option(type=click.FloatRange(min=0, min_open=True))
    command: str = ""  # as the user typed it
    made: str = ""  # the date
    version: str = bayesrank.__version__

    @property
    def folder(self) -> Path:
        """Folder of the files; the commands choose one if the user does not."""
        assert self.output_dir is not None
        return self.output_dir

    @property
    def sampling(self) -> str:
        """Settings of the sampler, in words."""
        if self.quick:
            return f"{self.chains * self.draws:,} draws of an approximation"
        chains = "1 chain" if self.chains == 1 else f"{self.chains} chains"
        return f"{chains} of {self.draws:,} draws after {self.tune:,} tuning steps"

    @property
    def spread(self) -> str:
        """Prior standard deviation of the utilities, in words."""
        if self.prior_scale is not None:
            return f"with standard deviation {self.prior_scale:g}"
        return (
            "with a standard deviation learned from the data (prior: half-normal with scale "
            f"{LEARNED:g})"
        )


def refuse(wrong: bool, sentence: str) -> None:
    """End with a sentence about the options if something is wrong."""
    if wrong:
        raise click.UsageError(sentence)


class MissingOption(click.UsageError):
    """An option that names a column is missing."""


def require(given: bool, sentence: str) -> None:
    """End with a sentence if options that name columns are missing."""
    if not given:
        raise MissingOption(sentence)


def has_orders(file: Path) -> bool:
    """Whether a file has orders, by its suffix (of PrefLib, or .blt), and so needs no columns."""
    return any(suffix.lower() in ORDERS for suffix in file.suffixes)


def shown(file: Path) -> str:
    """Name a file; bytes that are not valid text become replacement characters."""
    if str(file) == "-":
        return "standard input"
    return str(click.format_filename(file, shorten=True))


def readable(file: Path) -> None:
    """Refuse a missing or empty file, before the slow imports."""
    if not file.exists():
        raise FileNotFoundError(f"There is no file {click.format_filename(file)}.")
    if not file.is_dir() and not file.stat().st_size:
        raise ValueError(f"{click.format_filename(file)} is empty.")
