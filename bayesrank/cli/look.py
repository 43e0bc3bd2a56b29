"""The command ``bayesrank look``: what the columns of a table seem to be, and the command to run.

The name of a column suggests what it is, and its cells must agree. A command is chosen only if one
choice of columns remains.
"""

import re
import shlex
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.cli.options import Table, has_orders, shown
from bayesrank.cli.read_cells import (
    MARKED,
    NESTED,
    NO_NUMBER,
    NOTHING,
    ORDINALS,
    Reader,
    counts_rows,
    places_of,
    words_of,
)
from bayesrank.cli.read_matches import NO, YES, are_scores, way_of, winners
from bayesrank.cli.texts import paragraphs, sentence, some
from bayesrank.data.read import counted

# Words in the names of columns
WORDS = {
    role: frozenset(words.split())
    for role, words in {
        "ranker": "user judge rater ranker voter annotator reviewer critic person participant "
        "respondent subject worker race event query panelist assessor customer ballot email",
        "item": "item movie film beer wine product driver candidate system model team player "
        "athlete book song option alternative dish entry answer response brand",
        "rank": "rank ranking place pos position finish placing",
        "rating": "rating score stars grade points mark",
        "outcome": "outcome result winner won label preference preferred choice vote verdict ftr",
        "weight": "weight weights n count counts votes voters frequency freq",
        "count": "times wins",
        "share": "percent percentage pct share proportion total number",
        "ranking": "round session date day occasion heat wave run trial replicate aspect "
        "criterion category dimension attribute question season year",
        "by": "aspect criterion category dimension attribute",
        "judge": "judge annotator rater voter user worker assessor reviewer",
        "group": "prompt question conversation document",
        "task": "task set screen block question choice",
        "best": "best most chosen",
        "worst": "worst least",
        "score": "score goals points pts runs sets games",
        "low": "error loss cost penalty time seconds",
        "about": "age sex gender price mean average avg total sum overall",
        "plain": "name team player model item system answer response",
    }.items()
}
SIDES = (
    ("home", "away"), ("first", "second"), ("a", "b"), ("1", "2"), ("left", "right"),
    ("white", "black"), ("one", "two"), ("0", "1"), ("home", "visitor"),
    ("team", "opponent"), ("player", "opponent"), ("for", "against"),
)  # fmt: skip
WON = (
    ("winner", "loser"), ("chosen", "rejected"), ("preferred", "rejected"), ("better", "worse"),
)  # fmt: skip
MORE = {"2": ("0", "3"), "1": ("2",), "b": ("c",), "second": ("third",), "two": ("three",)}
OTHER = ("ranker", "ranking", "task", "best", "worst", "weight", "about")  # columns without items
DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?|\d{4}[-/]\d{2}")
NUMBER = re.compile(r"[-+\N{MINUS SIGN}]?(\d+[.,]?\d*|[.,]\d+)([eE][-+]?\d+)?")
MOST_CODES = 12  # distinct codes in a column of numbers
SCALE = 10  # largest rating in a table with one column per item
MISTAKES = 0.01  # share of entries that may repeat others
MOST_UNNAMED = 8  # columns that are tried if no name suggests a ranker or an item
MOST_ROWS = 60  # columns shown
FLAGS = frozenset(("0", "1", "x", "true", "false", "yes", "no"))  # marks of items chosen
PLACES = WORDS["rank"] | {"choice", "preference", "pick"}  # names of columns with the items
FIT = 0.8  # share of rankings whose ranks must be 1, 2, ...


class Choice(NamedTuple):
    """A command for a table: its name, its options, and a sentence about what is left open."""

    command: str
    options: list[str]
    open: str = ""


class Column:
    """A column of a table: its name, its cells and their type; `number` counts from 1."""

    def __init__(self, name: str, cells: pd.Series, number: int) -> None:
        self.name, self.cells, self.number = name, cells, number
        self.words = words_of(name)
        known = cells[cells.notna().to_numpy()].tolist()
        self.n_empty = len(cells) - len(known)
        self.nested = any(isinstance(cell, NESTED) for cell in known)
        self.labels = list(dict.fromkeys(map(str, known)))
        self.rows = list(map(str, cells))

    def called(self, role: str) -> bool:
        """Whether the name suggests a role."""
        return not WORDS[role].isdisjoint(self.words)

    @cached_property
    def text(self) -> pd.Series:
        """The cells that are not empty, as text."""
        return self.cells.dropna().map(str)

    @cached_property
    def values(self) -> dict[str, float]:
        """The number of each cell that has one, perhaps with a mark."""
        out = {}
        for label in self.labels:
            mark = MARKED["rank"].fullmatch(label) or MARKED["rating"].fullmatch(label)
            text = str(mark[1]) if mark else label
            if NUMBER.fullmatch(text):
                out[label] = float(text.replace(",", ".").replace("\N{MINUS SIGN}", "-"))
        return out

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The numbers of all rows; NaN where there is none."""
        return np.array([self.values.get(cell, np.nan) for cell in self.rows])

    @cached_property
    def index(self) -> NDArray[np.int64]:
        """Number of the label of each row."""
        return pd.factorize(np.array(self.rows, dtype=object))[0]

    @property
    def codes(self) -> list[str]:
        """Cells that are not numbers, such as DNF."""
        rest = (label for label in self.labels if label not in self.values)
        return [label for label in rest if label.casefold() not in NO_NUMBER]

    @cached_property
    def type(self) -> str:
        """Type of the cells, in words."""
        lower = {label.casefold() for label in self.labels}
        if not lower or self.nested:
            return "list" if self.nested else "empty"
        if len(lower & {*YES} - {"1"}) == len(lower & {*NO} - {"0"}) == 1 and len(lower) == 2:
            return "yes or no"
        codes = self.codes
        n_coded = len(self.rows) - sum(row in self.values for row in self.rows) - self.n_empty
        if self.values and n_coded <= len(self.rows) / 2 and len(codes) <= MOST_CODES:
            whole = all(value % 1 == 0 for value in self.values.values())
            return "numbers and codes" if codes else "whole numbers" if whole else "numbers"
        return "dates" if all(map(DATE.fullmatch, self.labels)) else "text"

    @property
    def is_label(self) -> bool:
        """Whether the cells may be names of several things."""
        return self.type in ("text", "whole numbers", "dates", "yes or no") and len(self.labels) > 1

    @property
    def names_rows(self) -> bool:
        """Whether all cells differ."""
        return self.is_label and len(self.labels) == len(self.cells)


def only[T](found: Iterable[T]) -> T | None:
    """Return the only element, or None if there are none or several."""
    elements = list(found)
    return elements[0] if len(elements) == 1 else None


class Look:
    """The columns of a table, and the commands that they suggest; `numbers` counts the columns."""

    def __init__(self, frame: pd.DataFrame, numbers: list[int]) -> None:
        cells = [frame.iloc[:, n].reset_index(drop=True) for n in range(len(numbers))]
        names = [str(name) for name in frame.columns]
        self.columns = [Column(*single) for single in zip(names, cells, numbers, strict=True)]
        self.once = [column for column in self.columns if names.count(column.name) == 1]
        self.rows = len(frame)

    @cached_property
    def choices(self) -> list[Choice]:
        """Commands that the table suggests."""
        tasks = self._tasks()
        if tasks is not None:
            return [tasks]
        found = [choice for choice in (self._ballots(), self._matches()) if choice is not None]
        more = None if found or self.two_sides else self._entries() or self._wide()
        return found if more is None else [more]

    @cached_property
    def two_sides(self) -> bool:
        """Whether the names of two columns suggest the items of matches.

        Names such as rank1 and rank2 suggest places instead.
        """
        sides = self._sides(SIDES)
        return sides is not None and not PLACES.intersection(sides[0].words)

    @property
    def shares(self) -> bool:
        """Whether a column may give shares of voters, or counts of them by another name."""
        weights = [c for c in self.columns if "numbers" in c.type and not c.called("ranker")]
        weights = [c for c in weights if c.called("share") or c.words[-1:] == ("weight",)]
        known = self._weight("--weight")
        return any(c.name not in known and not counts_rows(c.name, c.cells) for c in weights)

    @property
    def without_header(self) -> bool:
        """Whether the first line may contain data instead of names."""
        return any(NUMBER.fullmatch(column.name) for column in self.columns)

    def seems(self, column: Column) -> str:
        """Say what a column seems to be."""
        for choice in self.choices:
            for option, value in zip(choice.options, choice.options[1:], strict=False):
                first, _, last = value.partition("-")
                if option in ("--column", "--item") and first.isdigit():
                    if int(first) <= column.number <= int(last or first):
                        return "item, place or ranker"
                elif option.startswith("--") and value == column.name:
                    return option[2:]
        if column.type == "dates" or len(column.labels) == 1:
            return "date" if column.type == "dates" else "constant"
        if column.called("judge") and column.is_label:
            return "judge"
        named = column is self.columns[0] or "id" in column.words
        return "identifier" if column.names_rows and named else ""

    def table(self) -> str:
        """Write the columns as a table of text."""
        rows = [("column", "type", "distinct", "empty", "examples", "seems to be")]
        for column in self.columns[:MOST_ROWS]:
            codes = f"numbers, {', '.join(column.codes[:3])}"
            rows.append((
                column.name,
                codes if column.type == "numbers and codes" else column.type,
                f"{len(column.labels):,}",
                f"{column.n_empty:,}",
                ", ".join(short(label, 20) for label in column.labels[:3]),
                self.seems(column),
            ))  # fmt: skip
        cells = [[short(cell, 30) for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(cell.ljust(n) for cell, n in zip(row, widths, strict=True)).rstrip()
            for row in cells
        ]
        more = len(self.columns) - MOST_ROWS
        return "\n".join([*lines, *([f"... and {more:,} more columns"] if more > 0 else [])])

    # The forms of tables

    def _tasks(self) -> Choice | None:
        """Find the columns of best-worst tasks, or of choices with flags of the item chosen."""
        best, worst = (only(c for c in self.once if c.called(role)) for role in ("best", "worst"))
        answers = {label.casefold() for c in (best, worst) if c is not None for label in c.labels}
        rest = [c for c in self.once if c.is_label and c not in (best, worst)]
        ranker = only(c for c in rest if c.called("ranker")) or only(
            c for c in rest if c.words in (("id",), ("resp", "id"))
        )
        if best is None or ranker is None or (worst is None and not answers <= FLAGS):
            return None
        task = only(c for c in rest if c.called("task") and c is not ranker)
        roles = (ranker, task, best, worst)
        rest = [c for c in rest if c not in roles]
        options = ["--respondent", ranker.name]
        options += [] if task is None else ["--task", task.name]
        if answers <= FLAGS:
            item = only(c for c in rest if c.called("item")) or only(rest)
            shown = [] if item is None else ["--item", item.name]
        else:
            numbered = [c for c in self.once if any(map(str.isdigit, c.words)) and c not in roles]
            cells = _in_order([c for c in numbered if c.type in ("text", "whole numbers")])
            labels = {label.casefold() for c in cells for label in c.labels}
            shown = _columns(cells, "--item") if len(cells) > 1 else []
            by_label = answers <= labels
            by_place = answers <= {*map(str, range(1, len(cells) + 1))}
            if by_label and by_place:  # the numbers may be items
                items = [*zip(*(c.rows for c in cells), strict=True)]
                by_label = all(
                    answer in row
                    for c in (best, worst)
                    if c is not None
                    for answer, known, row in zip(c.rows, c.cells.notna(), items, strict=True)
                    if known
                )
                shown = [] if by_label else shown
            if not by_label:
                shown = [*shown, "--positions"] if by_place else []
        if not shown:
            return None
        options += [*shown, "--best", best.name]
        options += [] if worst is None else ["--worst", worst.name]
        return Choice("choices", [*options, *self._weight("--weight")])

    def _ballots(self) -> Choice | None:
        """Find a column with whole rankings."""

        def has_ballots(column: Column) -> bool:
            orders = [label for label in column.labels if re.search(r"\S\s*>\s*\S", label)]
            return column.nested or len(orders) > FIT * len(column.labels)

        ballot = only(filter(has_ballots, self.once))
        if ballot is None or self.two_sides or self.shares:
            return None
        options = ["--ballot", ballot.name, *self._ranker(ballot), *self._weight("--weight")]
        return Choice("rank", options, sentence("omitted"))

    def _ranker(self, ballot: Column | None = None) -> list[str]:
        """Find the column that names the ranker of each row; a ranker may have several rows."""
        labels = [c for c in self.once if c.called("ranker") and c.is_label and c is not ballot]
        # a column of scores may be called "user score"
        ranker = only(
            c for c in labels
            if c.names_rows or not (c.n_empty or {*c.words} - {"id"} - WORDS["ranker"])
        )  # fmt: skip
        return [] if ranker is None else ["--ranker", ranker.name]

    def _weight(self, option: str) -> list[str]:
        """Find the column of weights or counts."""
        whole = [c for c in self.once if c.type == "whole numbers" and np.nanmin(c.numbers) >= 0]
        words = WORDS["weight"] | (WORDS["count"] if option == "--count" else set())
        weight = only(c for c in whole if c.words and c.words[-1] in words)
        return [] if weight is None else [option, weight.name]

    def _matches(self) -> Choice | None:
        """Find the columns of matches."""
        sides, options = self._sides(WON), ["--winner", "--loser"]
        results: list[str] = []
        if sides is not None and {"tie", "draw"} & {*sides[0].words}:
            return None  # such as winner/tie: no column says which matches are ties
        if sides is None:
            sides, options = self._sides(SIDES) or self._alike(), ["--first", "--second"]
            if sides is None or not (results := self._results(sides)):
                return None
        options = [options[0], sides[0].name, options[1], sides[1].name]
        neutral = only(c for c in self.once if "neutral" in c.words and c.type == "yes or no")
        if results and neutral is not None:
            options += ["--neutral", neutral.name]
        more = {
            role: only(c for c in self.once if c.called(role) and c.is_label and c not in sides)
            for role in ("judge", "group")
        }
        named = [f"--{role} {shlex.quote(c.name)}" for role, c in more.items() if c is not None]
        also = sentence("also", options=" and ".join(named)) if named else ""
        return Choice("matches", [*options, *results, *self._weight("--count")], also)

    def _pairs(
        self, markers: tuple[tuple[str, str], ...]
    ) -> Iterable[tuple[Column, Column, frozenset[str]]]:
        """Find columns whose names differ in one pair of words, and the words that they share."""
        by_words = {column.words: column for column in self.once}
        for one in self.once:
            for (first, second), (n, word) in product(markers, enumerate(one.words)):
                start, end = one.words[:n], one.words[n + 1 :]
                other = by_words.get((*start, second, *end))
                more = any((*start, third, *end) in by_words for third in MORE.get(second, ()))
                if word == first and other is not None and not more:
                    yield one, other, frozenset(one.words) - {first}

    def _sides(self, markers: tuple[tuple[str, str], ...]) -> tuple[Column, Column] | None:
        """Find the columns of the two items by their names."""
        found: dict[int, list[tuple[Column, Column]]] = {}
        for one, other, rest in self._pairs(markers):
            ids = one.is_label and other.is_label and "id" in rest
            texts = one.type == other.type == "text"
            if (ids or texts) and not _agree(one, other):
                order = 3 if ids else 0 if not rest else 1 if rest <= WORDS["plain"] else 2
                found.setdefault(order, []).append((one, other))
        return only(found[min(found)]) if found else None

    def _alike(self) -> tuple[Column, Column] | None:
        """Find the only two columns of text that share most labels and never agree in a row."""

        def enough(one: Column, other: Column) -> bool:
            least = max(2, min(len(one.labels), len(other.labels)) / 2)
            return len({*one.labels} & {*other.labels}) >= least and not _agree(one, other)

        texts = [c for c in self.once if c.type == "text" and c.is_label][: 4 * MOST_UNNAMED]
        return only(pair for pair in combinations(texts, 2) if enough(*pair))

    def _results(self, sides: tuple[Column, Column]) -> list[str]:
        """Find the column of outcomes, or those of scores."""
        table = pd.DataFrame({"first": sides[0].text, "second": sides[1].text})
        both = (sides[0].name, sides[1].name)
        found = []
        for column in (c for c in self.once if c not in sides and c.type not in ("list", "empty")):
            text = column.text.astype("string").str.strip()
            coded = len(column.labels) > 1 and way_of(column.labels, column.name, both) is not None
            usual = column.called("outcome") or column.type == "text"
            scored = column.called("outcome") or column.called("score")
            named = winners(text, table.reindex(text.index)) is not None
            # in a cell such as 2-1 the first column has the first number
            scored &= sides[0].number < sides[1].number and are_scores(column.labels)
            if (coded and usual) or scored or named:
                found.append(column)
        found = [c for c in found if not c.called("worst")]
        found = [c for c in found if c.called("outcome")] or found
        outcome = only([c for c in found if len(c.words) == 1] or found)
        scores = only(
            (one, other)
            for one, other, rest in self._pairs(SIDES)
            if "numbers" in one.type and "numbers" in other.type and rest & WORDS["score"]
        )
        if outcome is None and scores is None:
            return []
        columns = (outcome,) if outcome is not None else scores or ()
        names = ["--outcome"] if outcome is not None else ["--score-a", "--score-b"]
        out = [word for name, c in zip(names, columns, strict=True) for word in (name, c.name)]
        return [*out, "--missing", "drop"] if any(c.n_empty for c in columns) else out

    def _entries(self) -> Choice | None:
        """Find the columns of a table with one row per ranker and item."""
        for entries in ("rank", "rating"):
            named = [column for column in self.once if column.called(entries)]
            found = [column for column in named if len(column.words) == 1] or named
            numbers = [column for column in found if "numbers" in column.type]
            if entries == "rating":
                numbers = [column for column in numbers if not column.called("low")]
            if choices := [c for column in numbers if (c := self._entries_of(column, entries))]:
                return only(choices)
            if named and entries == "rank":
                return None
        # the only column of numbers whose name says nothing
        known = ("item", "by", *OTHER)
        numbers = [c for c in self.once if "numbers" in c.type and not any(map(c.called, known))]
        value = only(c for c in numbers if not counts_rows(c.name, c.cells))
        return None if value is None else self._entries_of(value, "rank")

    def _entries_of(self, value: Column, entries: str) -> Choice | None:
        """Find the columns of rankers and items for a column of ranks or ratings."""
        values = [c for c in self.once if c.called(entries) and "numbers" in c.type]
        labels = [c for c in self.once if c.is_label and c not in (value, *values)]
        rankers = [c for c in labels if c.called("ranker")] or labels[:MOST_UNNAMED]
        items = [c for c in labels if c.called("item")] or labels[:MOST_UNNAMED]
        within: list[tuple[Column, ...]] = [
            (),
            *((column,) for column in labels if column.called("ranking")),
        ]
        found: dict[tuple[int, ...], dict[tuple[frozenset[Column], Column], list[Column]]] = {}
        for ranker, between, item in product(rankers, within, items):
            groups, named = [ranker, *between], ranker.called("ranker") + item.called("item")
            turned = item.called("ranker") or ranker.called("item") or item.type == "dates"
            turned = turned or item.names_rows
            if turned or len({*groups, item}) < len(groups) + 1 or not (named or entries == "rank"):
                continue
            ranking = _coded(*groups)
            large = self.rows >= 2 * len(np.unique(ranking))
            distinct = np.unique(ranking * (1 + len(item.labels)) + _coded(item))
            if not large or len(distinct) < self.rows * (1 - MISTAKES):
                continue
            if _are_ranks(value, ranking) == (entries == "rank"):
                plain = item.type == "whole numbers" and "id" not in item.words
                alike = found.setdefault((len(groups), -named, plain), {})
                alike.setdefault((frozenset(groups), item), [*groups, item])
        columns = only(found[min(found)].values()) if found else None
        if columns is None:
            return None
        ranker, *inner, item = columns
        options = ["--ranker", ranker.name, "--item", item.name, f"--{entries}", value.name]
        for column in inner:
            options += ["--ranking", column.name]
            options += ["--by", column.name] if column.called("by") else []
        return Choice("rank", options)

    def _places(self) -> list[Column]:
        """Find columns of text that name places, such as choice 1 or first choice, best first."""
        texts = [c for c in self.columns if c.type == "text"]
        for found in (
            [c for c in texts if any(map(str.isdecimal, c.words))],
            [c for c in texts if not {*ORDINALS}.isdisjoint(c.words)],
        ):
            if places_of([c.name for c in found]):
                return _in_order(found)
        return []

    def _wide(self) -> Choice | None:
        """Find the columns of a table with one row per ranking."""
        known = [*self._ranker(), *self._weight("--weight")]
        rest = [c for c in self.columns if c.name not in known]
        numbers = [c for c in rest if "numbers" in c.type and not counts_rows(c.name, c.cells)]
        judged = [c for c in numbers if c.called("ranker")]
        texts = [c for c in self._places() if c in rest]
        items = [c for c in rest if c.type == "text" and (c.names_rows or c.called("item"))]
        entries, found = "", numbers
        if len(texts) > 1 and {*texts[0].labels} & {*texts[1].labels}:
            entries, found = "" if self._partly(texts) else "places", texts
        elif len(judged) > 1 and len(items) == 1 and items[0].names_rows:
            entries, found, known = _entries_in(judged, 1), judged, ["--item", items[0].name]
        elif len(numbers) > 1 and not _others(numbers):
            entries = _entries_in(numbers, 0)
            all_numbers = np.concatenate([c.numbers for c in numbers])
            low, high = np.nanmin(all_numbers), np.nanmax(all_numbers)
            scale = low >= 0 and 3 <= high <= SCALE
            if entries == "ratings" and (not scale or items or len(numbers) < 3):
                entries = ""
            rankers = [c for c in self.once if c.name in known and c.called("ranker")]
            texts = [c for c in rest if c.type == "text" and c.is_label]
            if texts and not all(c.names_rows for c in rankers):
                entries = ""  # a row may be an item of a ranker
        if not entries:
            return None
        chosen = _columns(found, "--column")
        labels = dict.fromkeys(label for column in found for label in column.labels)
        if empty := [label for label in labels if label.casefold() in NOTHING]:
            chosen += ["--empty", ",".join(empty)]
        left_out = sentence("omitted") if empty or any(c.n_empty for c in found) else ""
        return Choice("rank", ["--wide", entries, *known, *chosen], left_out)

    def _partly(self, places: list[Column]) -> bool:
        """Whether columns of places may tell only a part, or may be columns of rankers."""
        labels = {label for column in places for label in column.labels}
        rest = [c for c in self.once if c not in places and c.labels]
        answers = [c for c in rest if c.called("best") or c.called("worst")]
        more = any("numbers" in c.type for c in answers) or any({*c.labels} <= labels for c in rest)
        turned = all(
            {word for word in c.words if not word.isdecimal()} <= WORDS["ranker"] and c.words[1:]
            for c in places
        )
        return more or turned or self.shares


def _in_order(columns: list[Column]) -> list[Column]:
    """Sort columns by the places in their names, if they have places."""
    places = places_of([c.name for c in columns]) or range(len(columns))
    return [columns[n] for n in np.argsort(places, kind="stable")]


def _others(columns: list[Column]) -> bool:
    """Whether the names of some columns say that they contain no items."""
    shared = frozenset.intersection(*(frozenset(c.words) for c in columns))
    other = frozenset().union(*(WORDS[role] for role in OTHER)) - (shared - WORDS["ranker"])
    return any(not other.isdisjoint(c.words) for c in columns)


def _entries_in(columns: list[Column], axis: int) -> str:
    """Say whether numbers are ranks or ratings; "" if both are possible.

    A ranking is a row if `axis` is 0, or else a column.
    """
    table = np.column_stack([c.numbers for c in columns])
    table = table if axis == 0 else table.T
    low, down = np.nanmin(table), np.arange(1, len(table) + 1)[:, None]
    if len(table) > 2 and (np.sort(table, axis=0) == down).all():
        return ""  # ranks down the columns
    ordered = places_of([c.name for c in columns]) is not None
    words = {*PLACES, *ORDINALS, "st", "nd", "rd", "th"}
    if ordered and all({*c.words} & words or c.name.isdecimal() for c in columns):
        return ""  # perhaps places of items that have numbers
    if all(c.called("rank") for c in columns):
        return "ranks" if low == 1 else ""
    if all(c.called("rating") for c in columns):
        return "ratings"
    again = (np.diff(np.sort(table, axis=1)) == 0).any(axis=1)
    high = np.nanmax(table)
    begin = np.nanmin(table[~np.isnan(table).all(axis=1)], axis=1) == 1
    if low == 1 and high <= table.shape[1] and again.mean() < 1 - FIT:
        return "ranks" if begin.mean() > FIT else ""
    # 0 may be the first rank, and 0 or the largest number may mean that there is no rank
    ranked = any(_are_weak_orders(table, most) for most in (high, np.nextafter(high, 0)))
    return "" if ranked else "ratings"


def _are_weak_orders(table: NDArray[np.float64], most: float) -> bool:
    """Whether the numbers from 1 to `most` are ranks in most rows, perhaps with ties."""
    known = np.sort(np.where((table > 0) & (table <= most), table, np.nan), axis=1)
    step = np.diff(known, axis=1, prepend=0)
    place = np.arange(1, known.shape[1] + 1)
    shared = np.maximum.accumulate(np.where(step > 0, place, 0), axis=1)
    missing = np.isnan(known)
    dense = ((step <= 1) | missing).all(axis=1)  # 1, 2, 2, 3
    gaps = ((known == shared) | missing).all(axis=1)  # 1, 2, 2, 4
    several = ~missing[:, 1]
    return bool(several.mean() > 0.5 and (dense | gaps)[several].mean() > FIT)


def _columns(found: list[Column], option: str) -> list[str]:
    """Name columns by their numbers, as a range if possible."""
    numbers = [column.number for column in found]
    if numbers == list(range(numbers[0], numbers[-1] + 1)):
        return [option, f"{numbers[0]}-{numbers[-1]}"]
    return [word for number in numbers for word in (option, str(number))]


def _agree(one: Column, other: Column) -> bool:
    """Whether two columns have the same label in some row."""
    return bool((one.text == other.text.reindex(one.text.index)).any())


def _coded(*columns: Column) -> NDArray[np.int64]:
    """Return a number for each distinct row of some columns."""
    out = columns[0].index
    for column in columns[1:]:
        out = np.unique(out * (1 + len(column.labels)) + column.index, return_inverse=True)[1]
    return out


def _are_ranks(value: Column, ranking: NDArray[np.int64]) -> bool:
    """Whether numbers are 1, 2, ... within rankings; some cells may be codes."""
    known = ~np.isnan(value.numbers)
    numbers = pd.Series(value.numbers[known])
    table = numbers.groupby(ranking[known]).agg(["min", "max", "count", "nunique"])
    fits = (table["min"] == 1) & (table["nunique"] >= FIT * table["count"])
    fits &= (table["max"] <= 1.5 * table["count"] + 1) & (table["count"] > 1)
    return bool((numbers % 1 == 0).all() and fits.mean() > FIT)


def short(text: str, most: int) -> str:
    """Shorten a text to one line."""
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 3]}..."


def look_at(file: Path, columns: Table, note: Callable[[str], None] = lambda _: None) -> Look:
    """Read a table, and look at its columns."""
    reader = Reader(columns, note)
    return Look(reader.cells(file, (), every=True, lists=True), reader.numbers_of)


def described(file: Path, name: Path, look: Look, settings: list[str]) -> str:
    """Describe a table for the terminal; `name` is the file as the user typed it."""
    size = f"{counted(look.rows, 'row')}, {counted(len(look.columns), 'column')}"
    lines = [f"{shown(file)}: {size}.", "", look.table()]
    for choice in look.choices:
        lines += ["", "The command:", f"  {written(choice, name, settings)}"]
        lines += [choice.open] if choice.open else []
    if not look.choices:
        words = {"file": shlex.quote(str(name)), "data": look.without_header}
        words["sides"] = look.two_sides
        lines += ["", *paragraphs("no_choice", **words)]
    return "\n".join(lines)


def written(choice: Choice, file: Path, settings: list[str]) -> str:
    """Write a command as a user would type it."""
    return shlex.join(["bayesrank", choice.command, str(file), *choice.options, *settings])


def listed(file: Path, columns: Table) -> str:
    """List the columns of a file, for an error about missing options."""
    if has_orders(file) or not file.exists():
        return ""
    look = look_at(file, columns)
    names = [f"{short(column.name, 40)!r} ({column.type})" for column in look.columns]
    words = {"file": shown(file), "names": some(names, 20), "data": look.without_header}
    return sentence("columns", **words)
