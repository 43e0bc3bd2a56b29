"""The options of the commands: which columns mean what, how cells are written, how to fit.

Each option is a field of a dataclass, and its flag is the name of the field. This module also
rejects options that exclude each other, before it reads or imports anything.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from inspect import cleandoc
from pathlib import Path
from typing import Any, ClassVar, Literal

import click

from bayesrank import __version__
from bayesrank.analysis.analysis import Method, Settings
from bayesrank.priors import PRIORS
from bayesrank.reporting.options import Layout
from bayesrank.texts import TASKS, Words

DATED = "With --date the model has only strengths that change over time"
RESERVED = ("chain", "draw")  # names of axes in the results
WIDE = ("ranks", "ratings", "results", "places")
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


def same_names(names: str) -> dict[str, str]:
    """Map fields to the arguments of the same names."""
    return {name: name for name in names.split()}


def flag(name: str) -> str:
    """Write the name of a field as an option."""
    return f"--{name.replace('_', '-')}"


@dataclass(frozen=True)
class Table:
    """Format of a table, and its dates.

    date: Date of the ranking or match, such as 2024-05-31, or a number. Strengths then change over
        time, and the ranks are those at the latest date.
    day_first: Whether the day or the month of dates such as 03.04.2024 comes first. [default: as
        the column tells]
    since: With --date, leave out items that were last seen before this date.
    coming: With --date, a table of future rankings or matches to forecast, like FILE but without
        ranks or outcomes. Matches in FILE without an outcome, dated after all others, are also
        forecast.
    missing: Leave out entries without a value (drop), put them last in their rankings (last), or
        stop with an error (refuse). If ballots or places differ in length, choose drop if the
        other items were not presented, or last if they come last. [default: drop ratings, refuse
        ranks and outcomes]
    empty: Codes to read as empty cells, such as n.a.,skipped; may be repeated. A code may contain
        a comma.
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
    day_first: bool | None = option("--day-first/--month-first")
    since: str | None = option(metavar="DATE")
    coming: Path | None = option("--next", type=FILE)  # noqa: RUF009
    missing: Literal["drop", "last", "refuse"] | None = option(
        type=click.Choice(["drop", "last", "refuse"])
    )
    empty: tuple[str, ...] = repeated(metavar="CODES")
    encoding: str | None = option(metavar="NAME")
    separator: str | None = option(metavar="TEXT")
    decimal: Literal[".", ","] | None = option(type=click.Choice([".", ","]))
    header: int | None = option(type=click.IntRange(min=0), metavar="LINE")
    where: tuple[str, ...] = repeated(metavar="COLUMN=VALUE")
    rename: tuple[str, ...] = repeated(metavar="OLD=NEW")
    merge: bool = option(default=False, is_flag=True)

    OPENING: ClassVar = ("encoding", "separator", "header")
    SELECTING: ClassVar = ("missing", "empty", "decimal", "where", "rename", "merge")

    @property
    def opening(self) -> dict[str, Any]:
        """Arguments that open the table."""
        return {name: getattr(self, name) for name in self.OPENING}

    @property
    def selecting(self) -> dict[str, Any]:
        """Arguments that select rows and say how cells are written."""
        return {name: getattr(self, name) for name in self.SELECTING}

    def leave_out(self, names: str, why: str) -> None:
        """Refuse options that another option excludes."""
        for name in names.split():
            refuse(bool(getattr(self, name)), f"{why}. Leave {flag(name)} out.")

    def check_dates(self, names: str) -> None:
        """Refuse options that dates exclude, and options that need dates."""
        if self.date is not None:
            self.leave_out(names, DATED)
            return
        for name, value in {"since": self.since, "next": self.coming}.items():
            refuse(value is not None, f"--{name} needs --date COLUMN.")


@dataclass(frozen=True)
class RankColumns(Table):
    """Columns of a table of rankings, in long form, in wide form or as ballots.

    ranker: Who ranks, such as a user, a race or a judge. a+b joins two columns.
    item: The item that is ranked.
    rating: Rating of the item: high is good, and equal ratings are ties.
    rank: Rank of the item: 1 is best, and equal ranks are ties.
    result: Result of the item, such as a time or strokes: low is good.
    ranking: Label of the ranking, if a ranker has several; may be repeated.
    wide: Each row is a ranking. It has a column per item with its rank, rating or result, or a
        column per place with an item, best first. With --item each row is an item, with a column
        per ranker.
    ballot: Whole ranking in one cell, such as a > b = c.
    between: Sign between the items of a ballot, such as ';' or ' '. [default: > or a comma]
    listed: Whether the items of a list were ranked, best first, or ticked, in any order.
    column: With --wide, columns of items, places or rankers: a name, a pattern such as 'Star Wars*'
        or numbers such as 8-13; may be repeated. [default: all others]
    count: Number of independent rankings that the row stands for, such as ballots cast.
    weight: Sampling weight of the ranking, as of a survey. It is not a number of rankings.
    category: Category. An item may be better in some categories than in others.
    group: Rankings with the same label are not independent, such as the rankings of one session or
        school. [default: the rankings of a ranker, if rankers have several]
    opinions: Whether each ranker (or label of --group) has separate opinions of the items.
        [default: yes if rankers have several rankings]
    last_block: Codes of items that come last together, such as DNF,Ret; may be repeated.
    components: Find this number of groups of rankers (mixture components), each with its own
        ranking.
    """

    words: ClassVar[Words] = Words()
    function: ClassVar[str] = "read_rankings"
    READ: ClassVar[Mapping[str, str]] = same_names(  # arguments of the function, by field
        "ranker item rating rank result ranking wide ballot between listed column count weight "
        "category group date day_first last_block"
    )

    ranker: str | None = option(metavar="COLUMN")
    item: str | None = option(metavar="COLUMN")
    rating: str | None = option(metavar="COLUMN")
    rank: str | None = option(metavar="COLUMN")
    result: str | None = option(metavar="COLUMN")
    ranking: tuple[str, ...] = repeated(metavar="COLUMN")
    wide: str | None = option(type=click.Choice(WIDE))
    ballot: str | None = option(metavar="COLUMN")
    between: str | None = option(metavar="TEXT")
    listed: str | None = option(type=click.Choice(["ranked", "ticked"]))
    column: tuple[str, ...] = repeated(metavar="COLUMN")
    count: str | None = option(metavar="COLUMN")
    weight: str | None = option(metavar="COLUMN")
    category: str | None = option("--category", "--by", metavar="COLUMN")
    group: str | None = option(metavar="COLUMN")
    opinions: bool | None = option("--opinions/--no-opinions")
    last_block: tuple[str, ...] = repeated(metavar="CODES")
    components: int | None = option(type=click.IntRange(2, MOST_COMPONENTS))

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the function that reads the table."""
        read = {name: getattr(self, field) for field, name in self.READ.items()}
        return {**read, **self.selecting}

    @property
    def form(self) -> bool:
        """Whether the options say what the columns are."""
        formless = {"count", "weight", "category", "group", "date", "day_first", "last_block"}
        return any(getattr(self, field) for field in self.READ if field not in formless)

    def title(self, file: Path) -> str:
        """Return the heading of the page."""
        return f"Ranks of {self.item or 'the items'} in {shown(file)}"

    def check(self) -> None:
        """Refuse options that exclude each other, before the file is read."""
        self.check_dates("category group opinions")
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

    def _check_groups(self) -> None:
        """Refuse options that components exclude."""
        if self.components is None:
            return
        words = self.words
        one = f"With --components all {words.rankings} of a {words.ranker} have one component"
        self.leave_out("group opinions", one)
        refuse(
            self.category is not None,
            "--components finds unknown groups, --category names known ones. Use one of them.",
        )
        refuse(
            self.date is not None,
            "--components and --date are for different models. Use one of them.",
        )


@dataclass(frozen=True)
class ChoiceColumns(RankColumns):
    """Columns of a table of tasks, with one row per item shown or one row per task.

    ranker: Who answers.
    task: Label of the task, if a respondent has several. [default: each respondent has one task,
        or each row of a table with one row per task]
    column: The item shown. If each row is a task, the columns of the items shown. Repeat the
        option, or give a pattern such as 'item_*' or numbers such as 4-8.
    best: Flag of the item chosen as best (1 or 0, x or empty). If each row is a task, the column
        with that item.
    worst: The same for the worst item. Without it, tasks ask only for the best.
    codes: Instead of --best and --worst, codes of each item: best, worst or empty, or 1, -1 or 0.
        Without --item, the columns of a survey with a column for each item of each task, such as
        'Q*'; may be repeated.
    best_code: Code of the best item, such as 2.
    worst_code: Code of the worst item, such as 1.
    counts: Each row is a set of items, and each column an item: how often it was chosen.
    positions: Each row is a task, and --best and --worst contain positions 1, 2, ... of the items.
    several: A task may have several best or worst items.
    threshold: Answer to a further question of the task: do all, some or none of these items matter?
        If tasks ask only for the best: whether none of the items matters, such as "none of these".
    count: Number of independent answers that the row stands for.
    weight: Sampling weight of the answer, as of a survey. It is not a number of answers.
    category: Group of respondents, such as a segment. An item may be better in some groups than in
        others.
    opinions: Whether each respondent has separate utilities. [default: yes if respondents have
        several tasks]
    components: Find this number of groups of respondents (latent classes), each with its own
        utilities.
    """

    words: ClassVar[Words] = TASKS
    function: ClassVar[str] = "read_choices"
    READ: ClassVar[Mapping[str, str]] = {
        "ranker": "respondent",
        "column": "item",
        **same_names(
            "task best worst codes best_code worst_code counts positions several threshold count "
            "weight category"
        ),
    }

    ranker: str | None = option("--respondent", metavar="COLUMN")
    task: str | None = option(metavar="COLUMN")
    column: tuple[str, ...] = repeated("--item", metavar="COLUMN")
    best: str | None = option(metavar="COLUMN")
    worst: str | None = option(metavar="COLUMN")
    codes: tuple[str, ...] = repeated(metavar="COLUMN")
    best_code: str | None = option(metavar="TEXT")
    worst_code: str | None = option(metavar="TEXT")
    counts: bool = option(default=False, is_flag=True)
    positions: bool = option(default=False, is_flag=True)
    several: bool = option(default=False, is_flag=True)
    threshold: str | None = option(metavar="COLUMN")
    count: str | None = option(metavar="COLUMN")
    weight: str | None = option(metavar="COLUMN")
    category: str | None = option("--category", "--by", metavar="COLUMN")
    opinions: bool | None = option("--opinions/--no-opinions")
    components: int | None = option(type=click.IntRange(2, MOST_COMPONENTS))

    def check(self) -> None:
        """Refuse options that exclude each other, before the file is read."""
        self._check_groups()


@dataclass(frozen=True)
class ScoreColumns(RankColumns):
    """Columns of a table of scores, with one row per score, per item or per case.

    item: The item that was run, such as a model. Without --score and --case, each row is an item,
        and each other column has the scores of a case.
    ranker: The case, such as a task or data set. Without --score and --item, each row is a case,
        and each other column has the scores of an item.
    rating: The score. High is good, except in the cases of --lower-is-better.
    column: Without --score, columns of scores: a name, a pattern such as 'task*' or numbers such as
        2-40; may be repeated. [default: all others]
    fold: Fold, seed or repetition of a case. They share the weight of their case.
    rope: Largest difference of two scores without practical meaning, such as 0.01. Repeat the
        option for cases with another one, such as mnli=0.02. [default: 0]
    lower_is_better: Cases in which low scores are good, such as rmse,latency; may be repeated. A
        pattern such as '*error' names several.
    higher_is_better: Cases in which high scores are good, although their names suggest errors or
        times.
    weight: Sampling weight of the case.
    group: Family of the case. Cases of one family are not independent, such as variants of one data
        set.
    same_units: The scores of all cases have the same units, so that a difference means the same in
        each, as in a table of accuracies. The page then also has a model of the scores themselves.
    """

    function: ClassVar[str] = "read_scores"
    READ: ClassVar[Mapping[str, str]] = {
        "ranker": "case",
        "rating": "score",
        "group": "family",
        **same_names("item column fold rope lower_is_better higher_is_better weight"),
    }

    item: str | None = option(metavar="COLUMN")
    ranker: str | None = option("--case", metavar="COLUMN")
    rating: str | None = option("--score", metavar="COLUMN")
    column: tuple[str, ...] = repeated(metavar="COLUMN")
    fold: str | None = option(metavar="COLUMN")
    rope: tuple[str, ...] = repeated(metavar="[CASE=]NUMBER")
    lower_is_better: tuple[str, ...] = repeated(metavar="CASES")
    higher_is_better: tuple[str, ...] = repeated(metavar="CASES")
    weight: str | None = option(metavar="COLUMN")
    group: str | None = option("--family", metavar="COLUMN")
    same_units: bool = option(default=False, is_flag=True)

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the function that reads the table."""
        return {**super().arguments, "rope": self.ropes(1)}

    def ropes(self, times: float) -> Any:
        """Return the ropes times a number: one number, or texts with those of cases."""
        parts = [text.rpartition("=") for text in self.rope]
        try:
            found = [(name + sign, times * float(number)) for name, sign, number in parts]
        except ValueError:
            return self.rope  # the reader says what is wrong
        texts = [f"{case}{width:.12g}" for case, width in found]
        return found[-1][1] if {case for case, _ in found} == {""} else texts or 0.0

    @property
    def form(self) -> bool:
        """Whether the options say what the columns are."""
        return any((self.item, self.ranker, self.rating))

    def check(self) -> None:
        """Accept all columns: the reader checks which of them exclude each other."""


@dataclass(frozen=True)
class MatchColumns(Table):
    """Columns of a table of matches, and its codes for outcomes.

    first: The first item, such as the home team or the answer shown first.
    second: The second item.
    outcome: Outcome: first, second or tie; 1, 0 or 0.5; home, away or draw; the winner's name; or
        two scores, such as 2-1.
    grade: Ordered grade, such as A>>B, A>B or A=B, instead of --outcome.
    grades: All possible grades, separated by commas, from the best for the first item to the best
        for the second. [default: known for A>>B, A>B, A=B, B>A, B>>A, also in double brackets]
    probability: Probability that the first item is better, as a judge states it, instead of
        --outcome.
    winner: The item that won, instead of --first. With --first and --second, the name of the
        winner instead of --outcome.
    loser: The item that lost, instead of --second.
    score_a: Points of the first item, instead of --outcome.
    score_b: Points of the second item.
    margins: Use the differences of the points, not only who won.
    wins_a: Number of wins of the first item, if a row is several matches, instead of --outcome.
    wins_b: Number of wins of the second item.
    ties: Number of ties, with --wins-a and --wins-b.
    matrix: The table is square: how often the item of the row beat the item of the column.
    pair: Columns with the outcomes of one pair each, such as V12; a name, a pattern such as 'V*' or
        numbers. Each row is a judge; may be repeated.
    first_wins: Code in --outcome for a win of the first item; may be repeated.
    second_wins: Code in --outcome for a win of the second item; may be repeated.
    tie: Code in --outcome for a tie; may be repeated.
    both_bad: Code in --outcome for "both are bad"; may be repeated. Such votes are then an outcome,
        and the page shows how probably each item is bad. By default they count as ties.
    count: Number of times that the match occurred. [default: once]
    weight: Evidence weight of the match. It is not a number of matches.
    judge: Who judged. Judges may differ in reliability and in bias.
    prompt: Prompt, if judges saw the same two items for the same prompt in both orders. The two
        votes are then not independent.
    target: Rank by the judges of this kind, such as people. Votes of other judges are evidence with
        a bias. Needs --kind or --machines.
    kind: Kind of the judge, such as human or llm.
    machines: A judge that is a machine, instead of --kind; may be repeated. All other judges are
        people.
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

    function: ClassVar[str] = "read_matches"
    READ: ClassVar[Mapping[str, str]] = {
        **same_names("first second outcome grade grades probability winner loser score_a score_b"),
        **same_names(
            "margins wins_a wins_b ties matrix pair first_wins second_wins tie both_bad count"
        ),
        **same_names(
            "prompt weight judge kind machines category feature group neutral order date day_first"
        ),
    }

    first: str | None = option(metavar="COLUMN")
    second: str | None = option(metavar="COLUMN")
    outcome: str | None = option(metavar="COLUMN")
    grade: str | None = option(metavar="COLUMN")
    grades: str | None = option(metavar="GRADE,GRADE,...")
    probability: str | None = option(metavar="COLUMN")
    winner: str | None = option(metavar="COLUMN")
    loser: str | None = option(metavar="COLUMN")
    score_a: str | None = option(metavar="COLUMN")
    score_b: str | None = option(metavar="COLUMN")
    margins: bool = option(default=False, is_flag=True)
    wins_a: str | None = option(metavar="COLUMN")
    wins_b: str | None = option(metavar="COLUMN")
    ties: str | None = option(metavar="COLUMN")
    matrix: bool = option(default=False, is_flag=True)
    pair: tuple[str, ...] = repeated(metavar="COLUMN")
    first_wins: tuple[str, ...] = repeated(metavar="TEXT")
    second_wins: tuple[str, ...] = repeated(metavar="TEXT")
    tie: tuple[str, ...] = repeated(metavar="TEXT")
    both_bad: tuple[str, ...] = repeated(metavar="TEXT")
    count: str | None = option(metavar="COLUMN")
    weight: str | None = option(metavar="COLUMN")
    judge: str | None = option(metavar="COLUMN")
    prompt: str | None = option(metavar="COLUMN")
    target: str | None = option(metavar="KIND")
    kind: str | None = option(metavar="COLUMN")
    machines: tuple[str, ...] = repeated(metavar="JUDGE")
    category: str | None = option("--category", "--by", metavar="COLUMN")
    feature: tuple[str, ...] = repeated(metavar="COLUMN[,COLUMN]")
    group: tuple[str, ...] = repeated(metavar="COLUMN")
    ties_by: tuple[str, ...] = repeated(type=click.Choice(["item", "strength"]))
    neutral: str | None = option(metavar="COLUMN")
    order: bool = option("--order/--no-order", default=True)

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the function that reads the table."""
        read = {name: getattr(self, field) for field, name in self.READ.items()}
        return {**read, "grades": self.grades or (), **self.selecting}

    @property
    def group_names(self) -> tuple[str, ...]:
        """Groups of matches that are not independent; "judge" stands for the column of judges."""
        return tuple("judge" if group == self.judge else group for group in self.group)

    @property
    def form(self) -> bool:
        """Whether the options say what the columns are."""
        named = (
            self.first,
            self.second,
            self.outcome,
            self.grade,
            self.winner,
            self.loser,
            self.score_a,
        )
        return any((*named, self.score_b, self.wins_a, self.matrix, self.pair))

    def title(self, file: Path) -> str:
        """Return the heading of the page."""
        return f"Ranks by the matches in {shown(file)}"

    def check(self) -> None:
        """Refuse options that exclude each other, before the file is read."""
        self.check_dates(
            "judge prompt target kind machines category feature group ties_by grade probability "
            "margins both_bad"
        )
        told = self.kind is not None or bool(self.machines)
        refuse(
            self.target is not None and not told,
            "--target needs the kinds of the judges. Give --kind COLUMN, or --machines JUDGE for "
            "each judge that is a machine; all others are then people.",
        )
        refuse(
            told and self.target is None,
            "--kind and --machines need --target, the kind of judge by which to rank, such as "
            "--target people.",
        )
        for name in (group for group in self.group if group != self.judge):
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
        if self.winner is not None and self.first is None:
            self.leave_out("ties_by", "With --winner and --loser no match is a tie")
        if not self.order:
            self.leave_out(
                "neutral prompt", "With --no-order the first item has no advantage in any match"
            )


@dataclass(frozen=True)
class Output:
    """What to report, and where to write it.

    output_dir: Folder for the page, the tables and the pictures. [default: named after the input]
    force: Write into a folder even if it contains an earlier result, which is replaced, or other
        files, which stay.
    title: Heading of the page.
    top: The k of P(top k).
    interval: Probability of the rank intervals. [default: ArviZ's stats.ci_prob, which is 0.89]
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
    interval: float | None = option(type=SHARE)
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
    reader: str = ""  # the call of Python that reads the table
    made: str = ""  # the date
    version: str = __version__
    same_units: bool = False  # an option of scores

    @property
    def folder(self) -> Path:
        """Folder of the files; the commands choose one if the user does not."""
        assert self.output_dir is not None
        return self.output_dir

    @property
    def settings(self) -> Settings:
        """How to fit."""
        method: Method = "auto" if self.quick is None else "inla" if self.quick else "nuts"
        return Settings(method, self.draws, self.tune, self.chains, self.seed, self.top)

    @property
    def layout(self) -> Layout:
        """How to lay out the report."""
        names = (
            "top", "scale", "anchor", "sort", "tables", "same_units", "command", "reader", "made",
            "version",
        )  # fmt: skip
        given: dict[str, Any] = {name: getattr(self, name) for name in names}
        return Layout.of(self.interval, title=self.title or "", **given)


# Arguments of the readers, which messages name as options
ARGUMENTS = frozenset(
    name
    for group in (RankColumns, MatchColumns, ChoiceColumns, ScoreColumns)
    for name in (*group.READ.values(), *Table.OPENING, *Table.SELECTING)
)

# Arguments of models, fits and reports by option; those with a value come first
OPTIONS = {
    "order_effect=False": "--no-order",
    "method='inla'": "--quick",
    "method='nuts'": "--full",
    "opinions=True": "--opinions",
    "groups=['judge']": "--group with the column of the judges",
    "anchor": "--anchor",
    "category": "--category",
    "cluster": "--group",
    "components": "--components",
    "draws": "--draws",
    "groups": "--group",
    "loser": "--loser",
    "random_seed": "--seed",
    "same_units": "--same-units",
    "since": "--since",
    "target": "--target",
    "ties_by": "--ties-by",
    "time": "--date",
    "utility_scale": "--prior-scale",
    "winner": "--winner",
}


def refuse(wrong: bool, sentence: str) -> None:
    """End with a sentence about the options if something is wrong."""
    if wrong:
        raise click.UsageError(sentence)


def shown(file: Path) -> str:
    """Name a file; bytes that are not valid text become replacement characters."""
    if str(file) == "-":
        return "standard input"
    return str(click.format_filename(file, shorten=True))


def readable(file: Path) -> None:
    """Refuse a missing or empty file, before the slow imports."""
    if str(file) == "-" or ":" in file.parts[0]:  # standard input, or an address
        return
    if not file.exists():
        raise FileNotFoundError(f"There is no file {click.format_filename(file)}.")
    if file.is_file() and not file.stat().st_size:
        raise ValueError(f"{click.format_filename(file)} is empty.")
