"""Matches from any table: two items and an outcome, winner and loser, a matrix, or pairs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np
import pandas as pd

from bayesrank.data import Pairs
from bayesrank.data.read import (
    BOTH_BAD,
    ONE_ORDER,
    OUTCOMES,
    PREFERENCE,
    PROBABILITY,
    SWAP,
    check_grades,
    label_repr,
    quoted,
    row_name,
)
from bayesrank.tables.cells import (
    NESTED,
    YES,
    date_text,
    folded,
    labels,
    over_distinct,
    read_times,
    refuse_rows,
    without_words,
    words_of,
    yes_or_no,
)
from bayesrank.tables.clusters import clusters
from bayesrank.tables.opening import Table, label_text
from bayesrank.tables.outcomes import (
    TIES,
    VERDICTS,
    Outcomes,
    codes_of,
    fold_code,
    known_grades,
    winners,
)
from bayesrank.tables.rankings import SUMS, in_order_of_time, refuse_new, refuse_past
from bayesrank.tables.select import Selection, Settings, Texts, merged, texts_of
from bayesrank.tables.unused import matches_with
from bayesrank.tables.words import MissingColumnsError, TableError, spelled

TIED = frozenset(
    ("tie", "ties", "tied", "draw", "draws", "drawn")
)  # in a further column of winners and losers
EMPTY = ("", "-", "\N{EN DASH}", "\N{EM DASH}", "x", "*", "na", "nan")  # on a diagonal
KIND, PEOPLE, MACHINES = "kind", "people", "machines"
"""Name of the group of kinds of judge, and its labels if `machines` lists the machines."""

LEAST_MIRRORED = 4  # fewest matches that may stand twice in a table
_COUNT, _WON, _PROMPT = (
    "count of a row",
    "outcome of a row",
    "prompt of a row",
)  # columns that are added to a table
_PAIR = re.compile(r"(?:.*?)(\d)(\d)|(?:.*?)(\d+)\D+(\d+)")


@dataclass(frozen=True)
class MatchColumns:
    """What the columns of a table of matches are; see `read_matches`."""

    first: str | None = None
    second: str | None = None
    outcome: str | None = None
    grade: str | None = None
    grades: Texts = ()
    probability: str | None = None
    winner: str | None = None
    loser: str | None = None
    score_a: str | None = None
    score_b: str | None = None
    margins: bool = False
    wins_a: str | None = None
    wins_b: str | None = None
    ties: str | None = None
    matrix: bool = False
    pair: Texts = ()
    first_wins: Texts = ()
    second_wins: Texts = ()
    tie: Texts = ()
    both_bad: Texts = ()
    count: str | None = None
    weight: str | None = None
    judge: str | None = None
    prompt: str | None = None
    kind: str | None = None
    machines: Texts = ()
    category: str | None = None
    feature: Texts | Mapping[str, str | tuple[str, str]] = ()
    group: Texts = ()
    neutral: str | None = None
    order: bool = True
    date: str | None = None

    @property
    def roles(self) -> dict[str, str]:
        """Columns by the role that they have in the data."""
        names = (
            "first",
            "second",
            "winner",
            "loser",
            "judge",
            "kind",
            "category",
            "neutral",
            "date",
        )
        return {role: column for role in names if (column := getattr(self, role)) is not None}

    @property
    def names_winner(self) -> bool:
        """Whether a column names which of the two items won."""
        return self.winner is not None and self.first is not None

    @property
    def sides(self) -> tuple[str, str]:
        """Columns of the two items; `check` makes sure that both were given."""
        return str(self.first or self.winner), str(self.second or self.loser)

    @property
    def results(self) -> list[str]:
        """Columns that tell the outcome."""
        winner = self.winner if self.names_winner else None
        named = [
            winner,
            self.outcome,
            self.grade,
            self.probability,
            self.score_a,
            self.score_b,
            self.wins_a,
            self.wins_b,
        ]
        named.append(self.ties)
        return [c for c in named if c is not None]

    @property
    def groups(self) -> list[str]:
        """Groups of matches that are not independent, except the matches of a judge."""
        return [group for group in texts_of(self.group) if group != self.judge]

    @property
    def ordered(self) -> bool:
        """Whether the first item may have an advantage."""
        return self.order and (self.winner is None or self.names_winner)

    @property
    def listed_grades(self) -> list[str]:
        """Grades that the arguments list, from the best for the first item to the worst."""
        listed = self.grades.split(",") if isinstance(self.grades, str) else self.grades
        return [str(one).strip() for one in listed]

    @property
    def features(self) -> dict[str, tuple[str, ...]]:
        """Columns of each feature, by the part of their names that the two sides share."""
        if isinstance(self.feature, Mapping):
            given = self.feature.items()
            return {name: (x,) if isinstance(x, str) else tuple(x) for name, x in given}
        out: dict[str, tuple[str, ...]] = {}
        for text in texts_of(self.feature):
            columns = tuple(part.strip() for part in text.split(","))
            if len(columns) > 2 or not all(columns) or len(set(columns)) < len(columns):
                raise TableError(
                    "`feature` must name one column, or two separated by a comma (first and second "
                    f"item), such as length_a,length_b; it is {text!r}."
                )
            same = takewhile(lambda letters: len(set(letters)) == 1, zip(*columns, strict=False))
            name = "".join(letter for letter, *_ in same).rstrip(" _-.") or " less ".join(columns)
            if name in out:
                raise TableError(f"Two features are called {name!r}. Rename their columns.")
            out[name] = columns
        return out

    @property
    def said(self) -> dict[str, str]:
        """Meaning of each code for an outcome, as far as arguments tell it."""
        named = (self.first_wins, self.second_wins, self.tie, self.both_bad)
        given = dict(zip((*OUTCOMES, BOTH_BAD), named, strict=True))
        written = {outcome: texts_of(texts) for outcome, texts in given.items()}
        out: dict[str, str] = {}
        for outcome, texts in written.items():
            for text in texts:
                if out.setdefault(text, outcome) != outcome:
                    raise TableError(
                        f"{text!r} cannot mean both {out[text]} and {outcome}. Check `first_wins`, "
                        "`second_wins`, `tie` and `both_bad`."
                    )
        return out

    @property
    def labels(self) -> list[str]:
        """Columns of labels and features, which every match needs."""
        named = [
            *self.sides,
            self.judge,
            self.prompt,
            self.kind,
            self.category,
            self.date,
            *self.groups,
        ]
        named += [name for sides in self.features.values() for name in sides]
        return [name for name in named if name is not None]

    @property
    def given(self) -> bool:
        """Whether anything says what the columns are."""
        return self.matrix or any(
            (self.first, self.second, self.winner, self.loser, *self.results, self.pair)
        )

    def check(self) -> None:
        """Refuse arguments that exclude each other, or that do not say what the columns are."""
        _ = self.said, self.features
        self._check_kinds()
        if not self.ordered:
            self._leave_out(["prompt"], "Without an order, no pair is seen in both orders")
        if self.grade is None and self.grades:
            raise MissingColumnsError(
                "Missing: grade=COLUMN, the column of the grades that `grades` lists."
            )
        if self.grade is not None:
            more = ["first_wins", "second_wins", "tie", "both_bad", "ties"]
            self._leave_out(more, "`grade` says more than who won")
        if self.both_bad and not (self.outcome or self.pair or self.grade or self.matrix):
            raise TableError(
                "`both_bad` is a code in the column of `outcome`. Name that column, or leave "
                "`both_bad` out."
            )
        if self.matrix or texts_of(self.pair):
            other = "matrix" if self.matrix else "pair"
            more = ["first", "second", "outcome", "winner", "loser", "score_a", "score_b", "count"]
            more += ["wins_a", "wins_b", "ties", "grade", "weight", "probability", "margins"]
            more += ["category", "feature", "group", "neutral", "date"]
            codes = ["first_wins", "second_wins", "tie", "both_bad"]
            more += ["judge", "pair", *codes] if self.matrix else []
            more += ["prompt", "kind", "machines"]
            self._leave_out(more, f"With `{other}` no column has one item")
            return
        if self.winner is not None and self.first is not None and self.second is not None:
            more = [
                "loser",
                "outcome",
                "grade",
                "probability",
                "score_a",
                "score_b",
                "wins_a",
                "wins_b",
            ]
            self._leave_out(more, "`winner` names one of `first` and `second`")
            return
        self._check_pair("winner", "loser")
        if self.winner is not None:
            named = ("first", "second", "outcome")
            self._leave_out(
                [*named, "grade", "probability", "score_a", "score_b", "wins_a", "neutral"],
                "`winner` and `loser` already tell the outcome, and neither item is the first",
            )
            return
        for name in ("first", "second"):
            if getattr(self, name) is None:
                raise MissingColumnsError(
                    f"Missing: {name}=COLUMN. Give `first` and `second`, or `winner` and `loser`."
                )
        self._check_pair("score_a", "score_b")
        if self.margins and self.score_a is None:
            raise MissingColumnsError(
                "Missing: score_a=COLUMN. `margins` are differences of the scores in `score_a` and "
                "`score_b`."
            )
        self._check_pair("wins_a", "wins_b")
        told = (self.outcome, self.grade, self.probability, self.score_a, self.wins_a)
        if sum(x is not None for x in told) != 1:
            raise MissingColumnsError(
                "Missing: outcome=COLUMN. Give outcome=COLUMN, or grade=COLUMN if outcomes are "
                "ordered grades. Or give `score_a` and `score_b`, or `wins_a` and `wins_b` if a "
                "row counts several matches, or probability=COLUMN if a judge states one."
            )
        if self.wins_a is None:
            self._leave_out(["ties"], "`ties` needs `wins_a` and `wins_b`")
        else:
            self._leave_out(["count", "date"], "`wins_a` and `wins_b` count several matches")

    def _check_kinds(self) -> None:
        """Refuse kinds of judge without judges, or in two ways."""
        given = "kind" if self.kind is not None else "machines"
        if self.kind is None and not texts_of(self.machines):
            return
        if self.kind is not None:
            self._leave_out(["machines"], "`kind` names the column with the kind of each judge")
        if self.judge is None:
            raise MissingColumnsError(
                f"Missing: judge=COLUMN, the judges whose kinds `{given}` tells."
            )
        if KIND in self.groups and self.kind != KIND:
            raise TableError(
                f"`group` names a column {KIND!r}, which is the name of the kinds of the judges. "
                "Rename that column."
            )

    def _check_pair(self, *names: str) -> None:
        """Refuse one of two arguments without the other."""
        lacking = [name for name in names if getattr(self, name) is None]
        if len(lacking) == 1:
            raise MissingColumnsError(f"Missing: {lacking[0]}=COLUMN.")

    def _leave_out(self, names: Sequence[str], why: str) -> None:
        for name in names:
            if getattr(self, name):
                raise TableError(f"{why}. Leave `{name}` out.")


class MatchReader:
    """Read matches in any form."""

    def __init__(self, table: Table, columns: MatchColumns, settings: Settings) -> None:
        self.table, self.columns, self.settings = table, columns, settings
        self.selection = Selection(table, settings)
        self.note = self.selection.note

    def read(self) -> Pairs:
        """Read the matches that have been played."""
        if self.settings.missing == "last":
            raise TableError(
                "missing='last' is for rankings. Use missing='drop' or missing='refuse' for "
                "matches."
            )
        if self.columns.matrix:
            found = self._from_matrix()
        elif texts_of(self.columns.pair):
            found = self._from_pair_columns()
        else:
            frame, _ = self._split()
            found = self._pairs(frame)
        return found._with(notes=self.selection.notes)

    def coming(self, pairs: Pairs, more: Table | None = None) -> pd.DataFrame:
        """Read future matches: those of the table without an outcome, and those of another table.

        Returns the columns first, second, date and, with `neutral`, neutral; sorted by date.
        """
        _, waiting = self._split()
        tables = [self._future(waiting, pairs, self.table.name)]
        if more is not None:
            c = self.columns
            also = [] if c.neutral is None else [c.neutral]
            frame = Selection(more, self.settings).frame([*c.sides, str(c.date), *also])
            tables.append(self._future(frame, pairs, more.name))
            refuse_past(tables[1], pairs.groups["date"].labels, more.name)
        return in_order_of_time(pd.concat(tables))

    # The forms

    def _split(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the rows of matches that have been played, and of those that are to come."""
        c = self.columns
        more = [name for name in (c.count, c.weight, c.neutral) if name is not None]
        frame = self.selection.frame([*c.labels, *c.results, *more], others=True)
        for score in (c.score_a, c.score_b):
            if score is not None:
                frame[score] = without_words(frame[score])
        waiting = self._waiting(frame)
        if n := int(waiting.sum()):
            self.note(
                "Matches without an outcome, dated after all others, are forecast: "
                f"{n:,} of {len(frame):,}."
            )
        return frame[~waiting], frame[waiting]

    def _waiting(self, frame: pd.DataFrame) -> np.ndarray:
        """Mark rows without an outcome that are dated after all others."""
        c = self.columns
        none = np.zeros(len(frame), dtype=bool)
        if c.date is None:
            return none
        date = frame[c.date]
        undecided = frame[c.results].isna().all(axis=1).to_numpy()
        known = date.notna().to_numpy()
        times = np.full(len(frame), -np.inf)
        times[known] = read_times(date_text(date[known], self.settings.day_first))
        waiting = undecided & known
        if not c.results or waiting.all():
            return none
        return np.asarray(waiting & (times > times[~waiting].max(initial=-np.inf)))

    def _pairs(self, frame: pd.DataFrame) -> Pairs:
        """Make matches from rows with two items each."""
        c, frame = self.columns, self._complete(frame)
        if c.wins_a is not None:
            frame = self._counted(frame)
        table = self._two_items(frame)
        grades = None
        if c.grade is not None:
            cells = label_text(frame[c.grade])
            grades = self._grades(cells)
            table["outcome"] = cells
        elif c.margins:
            a, b = (self.selection.read_numbers(frame[x], "score") for x in c.results)
            table["outcome"] = a - b
        elif c.probability is not None:
            table["outcome"] = p = self.selection.read_numbers(frame[c.probability], "probability")
            refuse_rows(~p.between(0, 1), p, PROBABILITY, PREFERENCE)
            self.note(
                f"Column {c.probability!r} is read as the probability that the first item is "
                "better, as the judge states it. Each row is one match."
            )
        else:
            table["outcome"] = self._outcomes(frame, table)
        sides = ["first", "second"]
        alike = self.selection.one_spelling(pd.concat([table[side] for side in sides]), "items")
        if alike:
            for side in sides:
                table[side] = merged(table[side], alike)
            self._refuse_itself(table)
        if c.wins_a is not None:
            table["count"] = frame[_COUNT]
        elif c.count is not None:
            table["count"] = counts = self.selection.read_numbers(frame[c.count], "count")
            must = "A count must be a whole number, 0 or more"
            refuse_rows(~(counts >= 0) | (counts % 1 != 0), counts, must)
        if c.weight is not None:
            table["weight"] = weight = self.selection.read_weights(frame[c.weight], "match")
            refuse_rows(weight < 0, weight, "A weight must be 0 or more")
            if (weight != weight.iloc[0]).any():
                worth = weight.sum() ** 2 / (weight**2).sum()
                self.note(
                    f"The weights of {len(weight):,} rows differ. Their total is "
                    f"{weight.sum():,.6g}, but the effective sample size is {worth:,.1f} rows "
                    "of equal weight."
                )
        if c.date is not None:
            table["date"] = date_text(frame[c.date], self.settings.day_first, self.note)
        for group in ("judge", "category"):
            if (column := getattr(c, group)) is not None:
                text = labels(frame[column])
                same = self.selection.one_spelling(text, "judges") if group == "judge" else {}
                table[group] = merged(text, same)
        if c.kind is not None:
            table[KIND] = labels(frame[c.kind])
        elif machines := texts_of(c.machines):
            table[KIND] = self._kinds(table["judge"], machines)
        if c.prompt is not None:
            table[_PROMPT] = labels(frame[c.prompt])
        if c.neutral is not None:
            table["neutral"] = yes_or_no(frame[c.neutral], "neutral")
        for group in c.groups:
            table[group] = labels(frame[group])
        exchanged = mirrored(grades)
        if c.margins or c.probability is not None:
            total = 1.0 if c.probability is not None else 0.0
            exchanged = {x: total - x for x in table["outcome"].unique()}
        if c.winner is not None and not c.names_winner:
            self._refuse_ties(table)
        elif c.prompt is None and "count" not in table and _is_mirrored(table, exchanged):
            self.note(
                "Each match also stands in the table with its two items exchanged. If two such "
                "rows describe the same match, keep one of them, for example with `where`. "
                "Otherwise the intervals are too narrow."
            )
        if "count" not in table and c.date is None and len(self.selection.others):
            self._look_beside(table)
        # the column of a feature may have the name of another column
        features = {name: f"feature {name}" for name in c.features}
        for name, both in c.features.items():
            one, *other = (
                self.selection.read_numbers(frame[side], f"feature {name!r}") for side in both
            )
            table[features[name]] = one - other[0] if other else one
        if not c.ordered:
            _sort_sides(table, list(features.values()), exchanged)
        known = ("category", KIND, "neutral", "date")
        groups = [group for group in known if group in table and group not in c.groups]
        named: dict[str, Any] = {
            "first": "first",
            "second": "second",
            "outcome": "outcome" if c.probability is None and not c.margins else None,
            "probability": None if c.probability is None else "outcome",
            "margin": "outcome" if c.margins else None,
            "grades": grades,
            "both_bad": BOTH_BAD if texts_of(c.both_bad) else None,
            "count": "count" if "count" in table else None,
            "weight": "weight" if "weight" in table else None,
            "judge": "judge" if c.judge is not None else None,
            "prompt": _PROMPT if c.prompt is not None else None,
            "features": features,
        }
        by = [*groups, *c.groups]
        pairs = Pairs.from_frame(table, by=by, **named)._with(ordered=c.ordered)
        if c.prompt is not None:
            seen = self._seen_in_both_orders(pairs)
            self.note(
                f"By column {c.prompt!r}, judges saw {seen:,} pairs in both orders. The votes on "
                "such a pair are not independent, and share a deviation."
            )
        if c.margins:
            self.note(
                f"The score in {c.score_a!r} minus the score in {c.score_b!r} is read as "
                f"{len(pairs.boundaries) + 1} grades: {quoted(pairs.by_grade[0], 20)}."
            )
        if c.date is not None:
            return pairs
        others = self.selection.others
        return matches_with(pairs, table, others, self.settings.day_first, by, **named)

    def _from_matrix(self) -> Pairs:
        """Read a square matrix: how often the item of the row beat the item of the column."""
        frame = self.selection.frame([], every=True)
        sums = [str(name).casefold() in SUMS for name in frame.columns]
        if any(sums):
            left = ", ".join(repr(str(name)) for name in frame.columns[sums])
            self.note(f"Columns that sum others are left out: {left}.")
            frame = frame.loc[:, [not one for one in sums]]
        names = [str(name) for name in frame.columns]
        rows = next(
            (n for n in range(len(names))
             if {*label_text(frame.iloc[:, n]).dropna()} == {*names} - {names[n]}),
            None,
        )  # fmt: skip
        items = [name for n, name in enumerate(names) if n != rows]
        if len(frame) != len(items):
            raise TableError(
                "A matrix of wins must have a row for each of its columns. Rows may have the same "
                f"names as columns, or none. {self.table.name} has {len(frame):,} rows and "
                f"{len(items):,} columns, {quoted(items)}."
            )
        order = items if rows is None else label_text(frame.iloc[:, rows]).tolist()
        wins = pd.DataFrame(index=order, columns=items, dtype=np.float64)
        at = [n for n in range(len(names)) if n != rows]
        for name, n in zip(items, at, strict=True):
            cells = frame.iloc[:, n].copy()
            diagonal = order.index(name)
            mark = cells.iloc[diagonal]
            if isinstance(mark, str) and mark.casefold() in EMPTY:
                cells.iloc[diagonal] = np.nan
            cells = cells.rename(name)
            refuse_rows(
                label_text(cells).str.contains(r"½|[.,]5$").fillna(False),
                cells,
                "A matrix must count wins, without halves for ties",
                "Write one row per match, with its outcome.",
            )
            wins[name] = self.selection.read_numbers(cells, "count").to_numpy()
        wins = wins.loc[items]
        away = ~np.eye(len(items), dtype=bool)
        if (wins.isna().to_numpy() & away).any() and self.settings.missing != "drop":
            i, j = np.argwhere(wins.isna().to_numpy() & away)[0]
            raise TableError(
                f"The cell in the row of {items[i]!r} and the column of {items[j]!r} is empty. "
                "Write 0 if the first never beat the second, or give missing='drop'.",
                [{"missing": "drop"}],
            )
        self.note(
            "Each cell counts how often the item of its row beat the item of its column, such as "
            f"{items[0]!r} over {items[1]!r}: "
            f"{float(wins.to_numpy()[0, 1]):g}."
        )
        return Pairs.from_matrix(wins.fillna(0.0))._with(ordered=False)

    def _from_pair_columns(self) -> Pairs:
        """Read one column per pair of items, and one row per judge."""
        c = self.columns
        judge = [] if c.judge is None else [c.judge]
        frame = self.selection.frame(judge, every=True)
        at = self.selection.chosen(frame, c.pair, judge)
        parts = []
        for n in at:
            name = str(frame.columns[n])
            first, second = two_of(name)
            cells = label_text(frame.iloc[:, n])
            part = pd.DataFrame({"first": first, "second": second, "cell": cells})
            part["judge"] = labels(frame[c.judge]) if c.judge is not None else "all"
            parts.append(part)
        table = pd.concat(parts)
        if n_empty := int(table["cell"].isna().sum()):
            if self.settings.missing != "drop":
                row = row_name(table.index, int(table["cell"].isna().to_numpy().argmax()))
                raise TableError(
                    f"Pairs without an outcome: {n_empty:,} of {len(table):,}, the first in {row}. "
                    "Omit them with missing='drop'.",
                    [{"missing": "drop"}],
                )
            self.note(f"Pairs without an outcome are left out: {n_empty:,} of {len(table):,}.")
            table = table.dropna(subset="cell")
        cells = table["cell"].rename(str(frame.columns[at[0]]))
        notes: list[str] = []
        table["outcome"] = Outcomes(cells, table, ("first", "second"), c.said, notes).read()
        for sentence in notes:
            self.note(sentence)
        if not c.order:
            _sort_sides(table, [], mirrored(None))
        who = "judge" if c.judge is not None else None
        bad = BOTH_BAD if texts_of(c.both_bad) else None
        pairs = Pairs.from_frame(
            table, first="first", second="second", outcome="outcome", judge=who, both_bad=bad
        )
        return pairs._with(ordered=c.ordered)

    # Steps

    def _future(self, frame: pd.DataFrame, pairs: Pairs, name: str) -> pd.DataFrame:
        """Read future matches; all items must have played before."""
        table = self._two_items(frame)
        table["date"] = date_text(frame[str(self.columns.date)], self.settings.day_first)
        if self.columns.neutral is not None:
            table["neutral"] = yes_or_no(frame[self.columns.neutral], "neutral")
        for side in ("first", "second"):
            refuse_new(table[side], pairs.items, name)
        return table

    def _two_items(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Read the items of each match into the columns first and second."""
        first, second = (labels(frame[side]) for side in self.columns.sides)
        table = pd.DataFrame({"first": first, "second": second})
        self._refuse_itself(table)
        return table

    def _refuse_itself(self, table: pd.DataFrame) -> None:
        """Refuse a match of an item against itself."""
        rows = np.flatnonzero(table["first"] == table["second"])
        if len(rows):
            one, other = self.columns.sides
            raise TableError(
                f"Columns {one!r} and {other!r} compare item "
                f"{label_repr(table['first'].iloc[rows[0]])} with itself in "
                f"{row_name(table.index, int(rows[0]))}. Correct the row, or remove it."
            )

    def _complete(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Leave out matches without an outcome or a label, or refuse them."""
        c, drop = self.columns, self.settings.missing == "drop"
        watched = [*c.results, *(c.labels if drop else ())]
        incomplete = frame[watched].isna().any(axis=1).to_numpy()
        if not incomplete.any():
            return frame
        share = f"{incomplete.sum():,} of {len(frame):,}"
        if not drop:
            column = next(name for name in c.results if frame[name].isna().any())
            row = row_name(frame.index, int(incomplete.argmax()))
            raise TableError(
                f"Column {column!r} is empty in {row}. Matches without an outcome: {share}. Omit "
                "them with missing='drop'.",
                [{"missing": "drop"}],
            )
        self.note(f"Matches with an empty cell are left out: {share}.")
        return frame[~incomplete]

    def _counted(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Repeat each row for its wins of the first, its wins of the second, and its ties."""
        c, parts = self.columns, []
        named = zip(OUTCOMES, (c.wins_a, c.wins_b, c.ties), strict=True)
        for outcome, column in named:
            if column is not None:
                counts = self.selection.read_numbers(frame[column], "count")
                must = "A count must be a whole number, 0 or more"
                refuse_rows(~(counts >= 0) | (counts % 1 != 0), frame[column], must)
                more: dict[str, Any] = {_COUNT: counts, _WON: outcome}
                parts.append(frame.assign(**more))
        return pd.concat(parts).sort_index(kind="stable")

    def _outcomes(self, frame: pd.DataFrame, table: pd.DataFrame) -> Any:
        """Return outcomes as first, second and tie."""
        c = self.columns
        if c.wins_a is not None:
            return frame[_WON]
        if c.names_winner:
            return self._named_winners(label_text(frame[str(c.winner)]), table)
        if c.winner is not None:
            return "first"
        if c.outcome is not None:
            notes: list[str] = []
            cells = label_text(frame[c.outcome])
            found = Outcomes(cells, table, c.sides, c.said, notes).read()
            for sentence in notes:
                self.note(sentence)
            return found
        a, b = (self.selection.read_numbers(frame[name], "score") for name in c.results)
        self.note(
            f"Of the scores in {c.results[0]!r} and {c.results[1]!r} only the sign of their "
            "difference counts: the higher one wins, by any margin."
        )
        return np.select([a > b, a < b], OUTCOMES[:2], OUTCOMES[2])

    def _grades(self, cells: pd.Series) -> list[str]:
        """Return all possible grades, in order, and refuse a cell with another."""
        distinct = [str(value) for value in pd.unique(cells)]
        listed = self.columns.listed_grades
        grades = listed or known_grades(distinct)
        if not grades:
            raise TableError(
                f"The order of the grades must be known; column {cells.name!r} has "
                f"{quoted(sorted(distinct), 20)}. List all possible grades, from the best for the "
                "first item to the best for the second, such as "
                f"{spelled(grades=','.join(VERDICTS))}."
            )
        check_grades(grades)
        refuse_rows(
            ~cells.isin(grades).to_numpy(),
            cells,
            f"A grade must be one of {quoted(grades, 20)}",
            "Add it to `grades` at its place. If it means that there is no result, make it empty "
            f"with {spelled(empty=['CODE'], missing='drop')}.",
        )
        self.note(
            f"Column {cells.name!r} is read as {len(grades)} ordered grades: {grades[0]} is the "
            f"best for the first item, {grades[-1]} the best for the second."
        )
        return grades

    @staticmethod
    def _seen_in_both_orders(pairs: Pairs) -> int:
        """Count the pairs and prompts that a judge saw in both orders."""
        both = np.zeros((2, len(pairs.group_labels(SWAP))), dtype=bool)
        both[(pairs.first > pairs.second).astype(int), pairs.group_idx(SWAP)] = True
        return int((both.all(axis=0) & (pairs.group_labels(SWAP) != ONE_ORDER)).sum())

    def _kinds(self, judges: pd.Series, machines: Sequence[str]) -> Any:
        """Return the kind of the judge of each row: people, or machines by name."""
        known = {*judges}
        for name in machines:
            if name not in known:
                raise TableError(
                    f"`machines` names {name!r}, but the judges in column {self.columns.judge!r} "
                    f"are {quoted(sorted(known), 20)}. Name the judges that are machines as the "
                    "table writes them."
                )
        kinds = np.where(judges.isin(machines), MACHINES, PEOPLE)
        n = int((kinds == MACHINES).sum())
        self.note(
            f"Judges that are machines: {quoted(machines, 20)}, with {n:,} of {len(kinds):,} rows. "
            "All other judges are people."
        )
        return kinds

    def _named_winners(self, text: pd.Series, table: pd.DataFrame) -> pd.Series:
        """Read a column of names of winners."""
        said = {code: side for code, side in self.columns.said.items() if side == "tie"}
        codes = text.isin([*said])
        found = winners(text.mask(codes, "tie"), table)
        if found is None:
            played = (text == table["first"]) | (text == table["second"]) | codes
            played |= over_distinct(text, lambda x: x.casefold() in TIES).astype(bool)
            code = str(text[~played].iloc[0]) if not played.all() else ""
            distinct = [*map(str, text.unique())]
            fits = codes_of(distinct, str(text.name), self.columns.sides)
            if fits is not None and {*fits[0], *fits[1]} & {*map(fold_code, distinct)}:
                raise TableError(
                    f"The winner must be one of the two items; column {text.name!r} has codes, "
                    f"such as {label_repr(code)}. Give {spelled(outcome=str(text.name))} instead "
                    "of `winner`.",
                    [{"winner": None, "outcome": str(text.name)}],
                )
            ways: list[dict[str, Any]] = [
                {"tie": [*said, code]}, {"empty": [code], "missing": "drop"}
            ]  # fmt: skip
            refuse_rows(
                ~played,
                text,
                "The winner must be one of the two items",
                f"If it means a tie: {spelled(tie=code)}. If it means that there is no result: "
                f"{spelled(**ways[1])}.",
                ways,
            )
        assert found is not None
        return found

    def _refuse_ties(self, table: pd.DataFrame) -> None:
        """Refuse a tie that another column states, because each match must have a winner here."""
        others = self.selection.others
        for k, name in enumerate(others.columns):
            cells = others.iloc[:, k].reindex(table.index)
            if any(isinstance(cell, NESTED) for cell in cells):
                continue
            text = folded(cells.dropna())
            tie = text.isin(TIED)
            if not TIED.isdisjoint(words_of(str(name))):
                tie |= text.isin(YES)
            if not tie.any():
                continue
            written = label_text(cells.dropna())
            one, other = self.columns.sides
            ties, wins = (list(dict.fromkeys(written[tie == which])) for which in (True, False))
            said: dict[str, Any] = {"first": one, "second": other, "outcome": str(name)}
            said |= {"order": False, "tie": ties} | ({"first_wins": wins} if wins else {})
            remedy = {"winner": None, "loser": None, **said}
            also = (
                " Write a code into the empty cells of this column first."
                if (len(text) < len(cells))
                else ""
            )
            refuse_rows(
                tie,
                written.rename(str(name)),
                "With `winner` and `loser` no match is a tie",
                f"Say what the codes mean: {spelled(**said)}. For a code that means a win, use "
                f"`first_wins` instead of `tie`.{also}",
                [] if also else [remedy],
            )

    def _look_beside(self, table: pd.DataFrame) -> None:
        """Note columns that group dependent matches, and that no argument names."""
        others = self.selection.others
        flat = [n for n in range(others.shape[1]) if not isinstance(others.iloc[0, n], NESTED)]
        found = clusters(table, others.iloc[:, flat].reindex(table.index))
        if found:
            more = ", ".join(map(repr, found[1:]))
            same = f" The same is true of {more}." if more else ""
            self.note(
                f"Column {found[0]!r} repeats, and matches with the same label depend on each "
                "other. Name it with `group`, or with `judge` if it says who judged. Otherwise the "
                f"intervals are too narrow.{same}"
            )


def two_of(name: str) -> tuple[str, str]:
    """Read the two items in the name of a column, such as V12, 1_2 or ale:bock."""
    if found := _PAIR.fullmatch(name):
        one, other, first, second = found.groups()
        return (one, other) if one else (first, second)
    parts = [part.strip() for part in re.split(r"[\s_.\-]vs[\s_.\-]+|[:_\-/|]", name)]
    if len(parts) == 2 and all(parts) and parts[0] != parts[1]:
        return parts[0], parts[1]
    raise TableError(
        f"The name of a column of pairs must contain two items, such as V12 or ale:bock; it is "
        f"{name!r}. Rename it with `rename`."
    )


def mirrored(grades: Sequence[str] | None) -> dict[Any, Any]:
    """Return the outcome of the same match with its items exchanged, by the outcome.

    >>> mirrored(["better", "equal", "worse"])
    {'better': 'worse', 'equal': 'equal', 'worse': 'better'}
    """
    first, second, tie = OUTCOMES
    if grades is None:
        return {first: second, tie: tie, second: first, BOTH_BAD: BOTH_BAD}
    return dict(zip(grades, grades[::-1], strict=True))


def _is_mirrored(table: pd.DataFrame, exchanged: Mapping[Any, Any]) -> bool:
    """Whether each match also stands in the table with its items exchanged."""
    counts = table.groupby(["first", "second", "outcome"]).size().to_dict()
    keys: Any = counts
    same = (counts.get((b, a, exchanged[won])) == counts[a, b, won] for a, b, won in keys)
    return len(table) >= LEAST_MIRRORED and all(same)


def _sort_sides(table: pd.DataFrame, features: list[str], exchanged: Mapping[Any, Any]) -> None:
    """Sort the two items of each match by name, because their order has no meaning."""
    turned = table["first"] > table["second"]
    sides = table[["first", "second"]].to_numpy(object)
    table["first"], table["second"] = sides.min(axis=1), sides.max(axis=1)
    swapped = table["outcome"].map(dict(exchanged))
    table["outcome"] = table["outcome"].mask(turned, swapped)
    table[features] = table[features].mask(turned, -table[features])
