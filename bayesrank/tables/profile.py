"""Profiles: what the name and the cells of each column of a table say."""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.tables.cells import DATE, NESTED, NO, NO_NUMBER, NUMBER, YES, words_of
from bayesrank.tables.opening import label_text
from bayesrank.tables.rankings import RANKS, RATINGS, RESULTS

# Words in the names of columns
WORDS = {
    role: frozenset(word for text in texts for word in text.split())
    for role, texts in {
        "ranker": (
            "user judge rater ranker voter annotator reviewer critic person participant subject",
            "respondent worker race event query panelist assessor customer ballot email dataset",
            "benchmark task individual household consumer taster juror",
        ),
        "item": (
            "item movie film beer wine product driver candidate system model team player athlete",
            "book song option alternative dish entry answer response brand algorithm method skater",
            "rider boat sail mode competitor horse dog sample contestant entrant isbn asin title",
        ),
        "outcome": (
            "outcome result winner won label preference preferred choice vote verdict ftr",
        ),
        "weight": ("weight weights n count counts votes voters ballots frequency freq",),
        "count": ("times wins of vote voter ballot ballots num number total",),
        "standing": (
            "gp pld mp played w d l t otl won win wins drawn draws lost loss losses gf ga gd diff",
            "pct pts points streak home away",
        ),
        "share": ("percent percentage pct share proportion total number",),
        "ranking": (
            "round session date day occasion heat wave run trial replicate aspect criterion",
            "category dimension attribute question season year",
        ),
        "by": ("aspect criterion category dimension attribute",),
        "judge": ("judge annotator rater voter user worker assessor reviewer",),
        "group": ("prompt question conversation document",),
        "task": ("task set screen block question choice q",),
        "best": ("best most chosen",),
        "worst": ("worst least",),
        "score": ("score goals points pts runs sets games",),
        "about": ("age sex gender price mean average avg total sum net",),
        # words that contradict what another word of the name says, such as brier score
        "other": (
            "brier rmse mae perplexity against fis difficulty handicap penalty error loss start",
            "starting qualifying previous prev last predicted pred proj projected expected grid",
            "count confidence adj adjusted change delta diff toss half ht favourite favorite pre",
            "seed betting odds standard",
        ),
        "when": ("time timestamp unix date year month day created updated",),
        "plain": ("name team player model item system answer response",),
    }.items()
} | {"rank": RANKS, "rating": RATINGS, "result": RESULTS}
# Words that may stand with "time" in the names of results
TIMED = frozenset(
    ("time", "finish", "official", "net", "gun", "lap", "race", "run", "swim", "bike")
)
MARKED = re.compile(
    r"(?:t|=)?\s*(\d+)\s*(?:(?:st|nd|rd|th)(?:\s+(?:choice|place|preference|pick))?|=|\.)?|"
    r"([-+]?\d[\d.,]*)\s*%|"
    r"\(\s*(\d[\d.,]*)\s*(?:[A-Z]{2,4})?\s*\)|(\d[\d.,]*)\s+[A-Z]{2,4}",
    re.IGNORECASE,
)
CLOCK = re.compile(r"(\d{1,3}:)?\d{1,3}:[0-5]?\d([.,]\d+)?")
_ZEROS = re.compile(r"0\d{3}")
MOST_CODES = 12  # distinct codes in a column of numbers


class Column:
    """A column of a table: its name, its cells and their type; `number` counts from 1."""

    def __init__(self, name: str, cells: pd.Series, number: int) -> None:
        self.name, self.number = name, number
        self.words = words_of(name)
        self.nested = cells.dtype == object and any(isinstance(x, NESTED) for x in cells)
        self.text = cells.dropna().map(str) if self.nested else label_text(cells).dropna()
        self.n_rows, self.n_empty = len(cells), len(cells) - len(self.text)
        self.cells = cells if self.nested else label_text(cells)
        self.labels: list[str] = self.text.unique().tolist()

    def is_plain(self, role: str) -> bool:
        """Whether the name says a role, and nothing else that could contradict it."""
        rest = {*self.words} - WORDS[role] - WORDS["item"] - WORDS["ranker"]
        return self._called(role) and not rest - {
            "final",
            "review",
            "full",
            "my",
            "the",
            "match",
            "game",
        }

    def called(self, *roles: str) -> bool:
        """Whether the name suggests one of some roles."""
        return any(self._called(role) for role in roles)

    def _called(self, role: str) -> bool:
        if role in ("rank", "rating", "result") and "id" in self.words:
            return False  # a placeID is not a place
        if role == "result" and "time" in self.words and self.type != "times":
            return {*self.words} <= TIMED  # the time of a review is not a result
        return not WORDS[role].isdisjoint(self.words)

    @cached_property
    def values(self) -> dict[str, float]:
        """The number of each cell that has one, perhaps with a mark, or of a time in seconds."""
        out = {}
        plain = any(NUMBER.fullmatch(label) for label in self.labels)
        for label in self.labels:
            # T2 is a shared place if there are plain places, and a name among T1, T2 and T3
            mark = MARKED.fullmatch(label) if plain or not label[:1].isalpha() else None
            if _ZEROS.match(label) and not self.called("rank", "rating", "result"):
                continue  # a label such as 007
            text = next(filter(None, mark.groups()), label) if mark else label
            if NUMBER.fullmatch(text):
                out[label] = float(text.replace(",", ".").replace("\N{MINUS SIGN}", "-"))
            elif CLOCK.fullmatch(label):
                out[label] = sum(
                    float(part.replace(",", ".")) * 60**n
                    for n, part in enumerate(reversed(label.split(":")))
                )
        return out

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The numbers of all rows; NaN where there is none."""
        if self.nested:
            return np.full(self.n_rows, np.nan)
        return np.array([self.values.get(cell, np.nan) for cell in self.cells], dtype=float)

    @cached_property
    def index(self) -> NDArray[np.int64]:
        """Number of the label of each row; 0 if it is missing."""
        text = self.text.reindex(self.cells.index)
        return np.asarray(pd.factorize(text)[0] + 1, dtype=np.int64)

    @property
    def codes(self) -> list[str]:
        """Cells that are not numbers, such as DNF."""
        rest = (label for label in self.labels if label not in self.values)
        return [label for label in rest if label.casefold() not in NO_NUMBER]

    @property
    def is_clock(self) -> bool:
        """Whether the cells are times such as 1:02:03."""
        clocks = [bool(CLOCK.fullmatch(label)) for label in self.labels]
        return bool(clocks) and sum(clocks) > len(clocks) / 2

    @cached_property
    def type(self) -> str:
        """Type of the cells, in words."""
        lower = {label.casefold() for label in self.labels}
        if not lower or self.nested:
            return "list" if self.nested else "empty"
        if len(lower & {*YES} - {"1"}) == len(lower & {*NO} - {"0"}) == 1 and len(lower) == 2:
            return "yes or no"
        codes = self.codes
        n_coded = int((~self.text.isin([*self.values])).sum())
        if self.values and n_coded <= len(self.text) / 2 and len(codes) <= MOST_CODES:
            if self.is_clock:
                return "times"
            whole = all(value % 1 == 0 for value in self.values.values())
            return "numbers and codes" if codes else "whole numbers" if whole else "numbers"
        return "dates" if all(map(DATE.fullmatch, self.labels)) else "text"

    @property
    def is_number(self) -> bool:
        """Whether the cells are numbers, perhaps with codes, or times."""
        return "numbers" in self.type or self.type == "times"

    @property
    def is_label(self) -> bool:
        """Whether the cells may be names of several things."""
        return self.type in ("text", "whole numbers", "dates", "yes or no") and len(self.labels) > 1

    @property
    def names_rows(self) -> bool:
        """Whether all cells differ."""
        return self.is_label and len(self.labels) == self.n_rows


class Profile:
    """The columns of a table."""

    def __init__(self, frame: pd.DataFrame, numbers: list[int]) -> None:
        cells = [frame.iloc[:, n].reset_index(drop=True) for n in range(len(numbers))]
        names = [str(name) for name in frame.columns]
        self.columns = [Column(*one) for one in zip(names, cells, numbers, strict=True)]
        self.once = [column for column in self.columns if names.count(column.name) == 1]
        self.n_rows = len(frame)

    @cached_property
    def may_lack_header(self) -> bool:
        """Whether the names of columns may be cells, because cells of their kind have them."""
        for one in self.once:
            if re.search(r"\S\s*>\s*\S", one.name):
                return True
            if one.type == "text" and any(
                one.name in other.labels and {*one.labels} & {*other.labels}
                for other in self.once if other.type == "text"
            ):  # fmt: skip
                return True
        return False

    @property
    def without_header(self) -> bool:
        """Whether the first line may contain data instead of names."""
        return self.may_lack_header or any(NUMBER.fullmatch(c.name) for c in self.columns)

    def pairs(
        self, markers: tuple[tuple[str, str], ...]
    ) -> Iterator[tuple[Column, Column, frozenset[str]]]:
        """Find columns whose names differ in one pair of words, and the words that they share."""
        by_words = {column.words: column for column in self.once}
        for one in self.once:
            for (first, second), (n, word) in product(markers, enumerate(one.words)):
                start, end = one.words[:n], one.words[n + 1 :]
                other = by_words.get((*start, second, *end))
                more = any((*start, third, *end) in by_words for third in MORE.get(second, ()))
                if word == first and other is not None and not more:
                    yield one, other, frozenset(one.words) - {first}


MORE = {"2": ("0", "3"), "1": ("2",), "b": ("c",), "second": ("third",), "two": ("three",)}


def only[T](found: Iterable[T]) -> T | None:
    """Return the only element, or None if there are none or several."""
    elements = list(found)
    return elements[0] if len(elements) == 1 else None


def agree(one: Column, other: Column) -> bool:
    """Whether two columns have the same label in some row."""
    return bool((one.text == other.text.reindex(one.text.index)).any())


def coded(*columns: Column) -> NDArray[np.int64]:
    """Return a number for each distinct row of some columns."""
    out = columns[0].index
    for column in columns[1:]:
        out = np.unique(out * (2 + len(column.labels)) + column.index, return_inverse=True)[1]
    return out
