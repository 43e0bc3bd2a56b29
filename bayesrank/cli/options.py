"""What the options say of a file: which columns mean what, and how its cells are written.

What does not go together is refused here, before anything is read or imported.
"""

from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Literal

import click

MISSING = ("drop", "last", "refuse")
PREFLIB = (".soc", ".soi", ".toc", ".toi")
SIDES = ("first", "second", "tie")
DATED = "With --date there is one strength per item at a time:"
RESERVED = ("chain", "draw")  # names of axes in the results
WIDE = ("ranks", "ratings", "places")


@dataclass(frozen=True)
class Written:
    """How a table is written."""

    encoding: str | None = None
    separator: str | None = None
    decimal: Literal[".", ","] | None = None
    missing: Literal["drop", "last", "refuse"] | None = None
    empty: tuple[str, ...] = ()  # codes for what is not there


@dataclass(frozen=True)
class RankColumns:
    """Columns of a table of rankings; `wide` and `ballot` are other ways to write them."""

    ranker: str | None = None
    item: str | None = None
    rating: str | None = None
    rank: str | None = None
    ranking: str | None = None
    weight: str | None = None
    wide: str | None = None
    ballot: str | None = None
    column: tuple[str, ...] = ()
    last_block: tuple[str, ...] = ()
    by: str | None = None
    date: str | None = None

    def check(self, file: Path) -> None:
        """Refuse what does not go together, before anything is read."""
        given = [self.rating, self.rank, self.wide, self.ballot]
        n_given = sum(one is not None for one in given)
        _refuse(self.date is not None and self.by is not None, f"{DATED} leave --by out.")
        if is_preflib(file):
            named = (self.item, self.ranker, self.ranking, self.weight, self.by, self.date)
            _refuse(
                n_given > 0 or any(named) or bool(self.column),
                f"{file.suffix} files say who ranks what: leave the columns out.",
            )
            return
        _refuse(
            n_given != 1,
            "Give either --rating COLUMN (high is good) or --rank COLUMN (1 is best), for a "
            f"table with one row per ranker and item; or --wide {'|'.join(WIDE)}, or "
            "--ballot COLUMN, for one with a row per ranking.",
        )
        if self.wide in ("ranks", "ratings") and self.item:
            for name in ("ranker", "ranking", "weight", "by", "date"):
                _refuse(
                    getattr(self, name) is not None,
                    "With --wide and --item a row is an item, and the columns are the rankers: "
                    f"leave --{name} out.",
                )
        elif self.wide or self.ballot:
            form = "--wide" if self.wide else "--ballot"
            for name in ("item", "ranking"):
                _refuse(
                    getattr(self, name) is not None,
                    f"With {form} each row is a ranking: leave --{name} out.",
                )
        else:
            _refuse(bool(self.column), "--column names the columns of a table that is --wide.")
            _refuse(self.item is None, "Missing option '--item'.")
            _refuse(self.ranker is None and self.ranking is None, "Missing option '--ranker'.")

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
class MatchColumns:
    """Columns of the table, and how outcomes are written in it."""

    first: str | None = None
    second: str | None = None
    outcome: str | None = None
    winner: str | None = None
    loser: str | None = None
    score_a: str | None = None
    score_b: str | None = None
    first_wins: tuple[str, ...] = ()
    second_wins: tuple[str, ...] = ()
    tie: tuple[str, ...] = ()
    count: str | None = None
    judge: str | None = None
    category: str | None = None
    neutral: str | None = None
    feature: tuple[str, ...] = ()  # one column of differences, or two with a comma between them
    group: tuple[str, ...] = ()
    ties_by: tuple[str, ...] = ()  # item, strength
    order: bool = True
    date: str | None = None

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
        for name in ("judge", "category", "neutral", "feature", "group", "ties_by"):
            dated = self.date is not None and bool(getattr(self, name))
            _refuse(dated, f"{DATED} leave {_option(name)} out.")
        for name in self.groups:
            _refuse(
                "/" in name or name in RESERVED,
                f"--group {name!r} cannot be a name in the file of the results: it has '/', or "
                f"is one of {', '.join(RESERVED)}. Rename the column.",
            )
        for name in self.ties_by:
            _refuse(
                name in self.group,
                f"--ties-by {name} and --group {name} would have effects on ties of one name: "
                "rename the column.",
            )
        self._check_pair("winner", "loser")
        if self.winner is not None:
            for name in ("first", "second", "outcome", "score_a", "score_b", "neutral"):
                _refuse(
                    getattr(self, name) is not None,
                    "With --winner and --loser the outcome is known, and nobody stands first: "
                    f"leave {_option(name)} out.",
                )
            sentence = "With --winner and --loser nothing ties: leave --ties-by out."
            _refuse(bool(self.ties_by), sentence)
            return
        for name in ("first", "second"):
            _refuse(
                getattr(self, name) is None,
                f"Missing option '--{name}'. Give --first and --second, or --winner and --loser.",
            )
        self._check_pair("score_a", "score_b")
        _refuse(
            (self.outcome is None) == (self.score_a is None),
            "Missing option '--outcome'. Who won is in --outcome COLUMN, or in --score-a and "
            "--score-b: give one of the two.",
        )
        _refuse(
            self.neutral is not None and not self.order,
            "--no-order makes all ground neutral: leave --neutral out.",
        )

    def _check_pair(self, *names: str) -> None:
        """Refuse one of two options without the other."""
        missing = [name for name in names if getattr(self, name) is None]
        if len(missing) == 1:
            raise click.UsageError(f"Missing option '{_option(missing[0])}'.")

    @property
    def sides(self) -> tuple[str, str]:
        """Columns of the two items; checked before, so that they are given."""
        return str(self.first or self.winner), str(self.second or self.loser)

    @property
    def results(self) -> list[str]:
        """Columns that say who won."""
        return [c for c in (self.outcome, self.score_a, self.score_b) if c is not None]

    @property
    def names(self) -> list[str]:
        """All columns that are named."""
        named: list[str | None] = [*self.sides, *self.results]
        named += [self.count, self.judge, self.category, self.neutral, self.date]
        named += [*self.groups, *(name for sides in self.features.values() for name in sides)]
        return [name for name in named if name is not None]

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
            if len(columns) > 2 or not all(columns) or len(set(columns)) < len(columns):
                raise click.UsageError(
                    f"--feature {text!r} is no column, and not two with a comma between them, of "
                    "the first item and of the second, such as length_a,length_b."
                )
            same = takewhile(lambda letters: len(set(letters)) == 1, zip(*columns, strict=False))
            name = "".join(letter for letter, *_ in same).rstrip(" _-.") or " less ".join(columns)
            if name in out:
                raise click.UsageError(f"There are two features {name!r}: rename columns.")
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
                if out.setdefault(text, outcome) != outcome:
                    raise click.UsageError(
                        f"{text!r} cannot mean both {out[text]} and {outcome}: look at "
                        "--first-wins, --second-wins and --tie."
                    )
        return out


def _refuse(wrong: bool, sentence: str) -> None:
    if wrong:
        raise click.UsageError(sentence)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


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
