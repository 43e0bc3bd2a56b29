"""Select: the columns and rows of a table that a call asks for, with a note on every change."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

import numpy as np
import pandas as pd

from bayesrank.data.read import label_repr, quoted, require_names
from bayesrank.tables.cells import (
    over_distinct,
    read_numbers,
    refuse_nested,
    refuse_rows,
    words_of,
)
from bayesrank.tables.opening import Table, label_text
from bayesrank.tables.words import TableError, spelled

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "last")
_INDEX = frozenset((  # words in the names of columns that count rows
    "index", "no", "nr", "number", "row", "column", "unnamed", "case", "respondent",
    "participant", "subject", "voter", "person",
))  # fmt: skip

type Texts = str | Sequence[str]
type Where = Texts | Mapping[str, Any]
type Rename = Texts | Mapping[str, str] | None


@dataclass(frozen=True)
class Settings:
    """How to select rows and columns, and how cells are written; see `read_rankings`."""

    missing: Literal["drop", "last", "refuse"] | None = None
    empty: Texts = ()
    decimal: Literal[".", ","] | None = None
    where: Where = ()
    rename: Rename = None
    merge: bool = False
    day_first: bool | None = None

    def __post_init__(self) -> None:
        """Refuse values that no reading has."""
        one_of("missing", self.missing, ("drop", "last", "refuse"))
        one_of("decimal", self.decimal, (".", ","))

    @property
    def renamed(self) -> dict[str, str]:
        """New names of columns by their old names."""
        if isinstance(self.rename, Mapping):
            return {str(old): str(new) for old, new in self.rename.items()}
        pairs = [text.partition("=") for text in texts_of(self.rename or ())]
        for old, _, new in pairs:
            if not old or not new:
                raise TableError(f"`rename` must look like 'old=new'; it is {old!r}.")
        return {old: new for old, _, new in pairs}


def one_of(name: str, value: Any, allowed: Sequence[Any]) -> None:
    """Refuse a value of an argument that is not among the allowed ones."""
    if value is not None and value not in allowed:
        raise TableError(f"`{name}` must be one of {quoted(allowed)}; got {value!r}.")


def texts_of(value: Any) -> list[str]:
    """Return one text, or several, as a list."""
    return [value] if isinstance(value, str) else [str(one) for one in value]


class Selection:
    """The selected rows and columns of a table.

    Attributes
    ----------
    notes : list of str
        What was read, and every change.
    others : DataFrame
        Columns of a small table that no argument names.
    """

    def __init__(self, table: Table, settings: Settings) -> None:
        self.table, self.settings = table, settings
        self.own_notes: list[str] = []
        self.others = pd.DataFrame()
        self.numbers: list[int] = []  # position in the table of each column of `frame`, from 1
        require_names(table.names, settings.renamed, table.name)
        self.names = table.names.map(lambda name: settings.renamed.get(name, name))

    def note(self, sentence: str) -> None:
        """Keep a note, once."""
        if sentence not in self.own_notes:
            self.own_notes.append(sentence)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found when the table was opened, and every change since."""
        return (*self.table.notes, *self.own_notes)

    def frame(
        self,
        named: Iterable[str],
        *,
        every: bool = False,
        others: bool = False,
        lists: Collection[str] = (),
        conditions: bool = False,
    ) -> pd.DataFrame:
        """Return the named columns, or all, of the selected rows.

        A column may be named by its number, unless another has that name. ``a+b`` joins the labels
        of two columns. The columns `lists` may contain lists. With `others`, further columns of a
        small table are kept in the attribute. With `conditions`, all columns include
        those that only select rows.
        """
        named = list(dict.fromkeys(named))
        wheres = self._conditions()
        needed = list(dict.fromkeys([*named, *(column for column, _, _ in wheres)]))
        parts = {name: self._parts(name) for name in needed}
        sources = [source for found in parts.values() for source in found]
        numbered = any(isinstance(source, int) for source in sources)
        whole = every or numbered or (others and self.table.is_small)
        old = {new: name for name, new in self.settings.renamed.items()}
        wanted = None if whole else {old.get(str(source), str(source)) for source in sources}
        frame = self._cells(wanted)
        columns = {name: self._column(frame, name, found) for name, found in parts.items()}
        kept = self._rows(pd.DataFrame(columns, index=frame.index), wheres)
        used = {source for name in named for source in parts[name]} - {*named}
        extra = {name for name, _, _ in wheres if name not in named and not conditions} | used
        at = {n for n, name in enumerate(frame.columns) if name in extra or self.numbers[n] in used}
        rest = [n for n in range(frame.shape[1]) if n not in at]
        if every:
            self.numbers = [self.numbers[n] for n in rest]
            out = frame.iloc[:, rest]
            joined = [name for name in named if name not in frame.columns]
            out = pd.concat([out, *(columns[name].to_frame(name) for name in joined)], axis=1)
            self.numbers += [0] * len(joined)
        else:
            out = pd.DataFrame({name: columns[name] for name in named}, index=frame.index)
            if others and whole:
                unnamed = [n for n in rest if frame.columns[n] not in named]
                self.others = frame.iloc[:, unnamed][kept.to_numpy()]
        out = out[kept.to_numpy()]
        for n in range(out.shape[1]):
            if out.columns[n] not in lists and (not every or out.columns[n] in named):
                refuse_nested(out.iloc[:, n], self.table.name)
        return self._without_codes(out)

    def _cells(self, wanted: Collection[str] | None) -> pd.DataFrame:
        """Read cells, and find the position of each column in the table."""
        frame = self.table.cells(wanted)
        # columns of a text without a name and without cells are left out
        left, self.numbers = iter([*frame.columns, None]), []
        ahead = next(left)
        for number, name in enumerate(self.table.names, start=1):
            if ahead == name:
                self.numbers.append(number)
                ahead = next(left)
        frame.columns = frame.columns.map(lambda name: self.settings.renamed.get(name, name))
        return frame

    def _parts(self, name: str) -> tuple[str | int, ...]:
        """Find the column that an argument names, by name or number, or the two that it joins."""
        if name in self.names:
            self._require([name])
            return (name,)
        if name.isdigit() and 1 <= int(name) <= len(self.names):
            return (int(name),)
        parts = [part.strip() for part in name.split("+")]
        if len(parts) > 1 and all(part in self.names for part in parts):
            self._require(parts)
            return tuple(parts)
        self._require([name])
        raise AssertionError

    def _require(self, names: Sequence[str]) -> None:
        """Check that each name is one column; a table that is broken is the first thing to say."""
        try:
            require_names(self.names, names, self.table.name)
        except ValueError:
            self.table.cells(())  # refuses rows that are longer than the header, as below a title
            raise

    def _column(self, frame: pd.DataFrame, name: str, parts: tuple[str | int, ...]) -> pd.Series:
        """Return a column, or several as one, whose labels are joined by a space."""
        if len(parts) == 1:
            (part,) = parts
            if isinstance(part, str):
                return frame[part].rename(name)
            if part not in self.numbers:
                raise TableError(f"Column {part} of {self.table.name} has no name and no cells.")
            return frame.iloc[:, self.numbers.index(part)].rename(name)
        columns = [label_text(frame[part]) for part in parts]
        joined = joined_text(columns, " ")
        pairs = pd.DataFrame(dict(enumerate(columns))).drop_duplicates()
        twice = joined[pairs.index].dropna()
        if (alike := twice[twice.duplicated()]).size:
            raise TableError(
                f"Columns {quoted(parts)} give the label {label_repr(alike.iloc[0])} in two ways. "
                "Write the label into one column."
            )
        return joined.rename(name)

    # Rows and cells

    def _conditions(self) -> list[tuple[str, bool, list[str]]]:
        """Values of `where` by column, and whether a row must have one of them or none."""
        where = self.settings.where
        found: dict[tuple[str, bool], list[str]] = {}
        if isinstance(where, Mapping):
            for column, value in where.items():
                several = value if isinstance(value, list | tuple | set) else [value]
                found[str(column), True] = [str(one) for one in several]
        else:
            names = sorted(map(str, self.names), key=len, reverse=True)
            for text in texts_of(where):
                known = "|".join(map(re.escape, names))
                parts = re.fullmatch(rf"({known})\s*(!?=)\s*(.*)", text) or re.fullmatch(
                    r"(.+?)\s*(!?=)\s*(.*)", text
                )
                if parts is None:
                    raise TableError(f"`where` must look like 'season=2025'; it is {text!r}.")
                found.setdefault((parts[1].strip(), parts[2] == "="), []).append(parts[3].strip())
        return [(column, equal, values) for (column, equal), values in found.items()]

    def _rows(
        self, frame: pd.DataFrame, conditions: list[tuple[str, bool, list[str]]]
    ) -> pd.Series:
        """Find the rows that fulfil the conditions; cells are compared as text first."""
        kept = pd.Series(True, frame.index)
        for column, equal, values in conditions:
            text = label_text(frame[column])
            same = pd.Series(False, frame.index)
            for value in values:
                as_text = text == value
                if not as_text.any():  # 2.0 also selects 2
                    as_text = pd.to_numeric(text, errors="coerce") == _number(value)
                same |= as_text
            now = same == equal
            condition = f"{column} {'=' if equal else '!='} {' or '.join(values)}"
            if not (kept & now).any():
                known = quoted(text[kept].dropna().unique(), 10)
                raise TableError(f"No row has {condition}; the column has {known}.")
            self.note(f"Rows with {condition} are used: {(kept & now).sum():,} of {kept.sum():,}.")
            kept &= now
        return kept

    def _without_codes(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Empty the cells with the codes of `empty`."""
        if not texts_of(self.settings.empty):
            return frame
        columns = [label_text(frame.iloc[:, n]) for n in range(frame.shape[1])]
        cells = {cell for column in columns for cell in column.unique() if isinstance(cell, str)}
        codes = split_codes(self.settings.empty, cells)
        marks = [column.isin(codes) for column in columns]
        for code in codes:
            number = _number(code)
            if code not in cells and not np.isnan(number):  # 99 is also 99.0
                for mark, column in zip(marks, columns, strict=True):
                    mark |= pd.to_numeric(column, errors="coerce") == number
        n, listed = sum(int(mark.sum()) for mark in marks), ", ".join(codes)
        if not n:
            self.note(f"No cell contains {listed}, so {spelled(empty=codes)} has no effect.")
            return frame
        self.note(f"Cells with {listed} are read as empty: {n:,}.")
        emptied = [frame.iloc[:, k].mask(mark.to_numpy()) for k, mark in enumerate(marks)]
        return pd.concat(emptied, axis=1) if emptied else frame

    # Helpers of the readers

    def chosen(self, frame: pd.DataFrame, texts: Texts, others: Collection[str]) -> list[int]:
        """Find columns by names, patterns or numbers, in this order: their positions in `frame`.

        Names come first: ``1-3`` means the columns called 1, 2 and 3 if there are such columns.
        """
        names, chosen = frame.columns, list[int]()
        for text in texts_of(texts):
            found = [n for n, column in enumerate(names) if column == text]
            if not found and (ends := re.fullmatch(r"(\d+)\s*-\s*(\d+)", text)):
                found = self._range(names, int(ends[1]), int(ends[2]))
            elif not found and text.isdigit():
                found = [n for n, number in enumerate(self.numbers) if number == int(text)]
            if not found and re.search(r"[*?]", text):
                same = [fnmatchcase(column.casefold(), text.casefold()) for column in names]
                found = [n for n, fits in enumerate(same) if fits and names[n] not in others]
            if not found:
                require_names(names, [text], self.table.name)
            chosen += [n for n in found if n not in chosen]
        twice = names[chosen][names[chosen].duplicated()]
        if len(twice):
            alike = [str(self.numbers[n]) for n in chosen if names[n] == twice[0]]
            raise TableError(
                f"{self.table.name} has several columns called {twice[0]!r} (numbers "
                f"{' and '.join(alike)}). Choose columns by number, such as 8-13."
            )
        return chosen

    def _range(self, names: pd.Index, low: int, high: int) -> list[int]:
        """Find the columns called low to high, or else those with these numbers."""
        labels = [str(n) for n in range(low, high + 1)]
        named = [label for label in labels if label in names]
        if len(named) == len(labels):
            return [names.tolist().index(label) for label in labels]
        if named:
            lacking = next(label for label in labels if label not in named)
            raise TableError(
                f"{low}-{high} may mean names of columns or numbers of columns: there is a column "
                f"{named[0]!r}, and none called {lacking!r}. Name each column."
            )
        return [n for n, number in enumerate(self.numbers) if low <= number <= high]

    def read_numbers(self, values: pd.Series, quantity: str) -> pd.Series:
        """Read a column of numbers, NaN for missing ones; `quantity` is a word for messages."""
        return read_numbers(values, quantity, self.settings.decimal, self.note)

    def read_times(self, values: pd.Series) -> pd.Series:
        """Read how often each ranking was given: whole numbers, 0 or more."""
        times = self.read_numbers(values, "count")
        must = "A count must be a whole number, 0 or more: how often the ranking was given"
        way_out = (
            f"A sampling weight is not a count: give {spelled(weight=str(values.name))} instead. "
            "Otherwise correct the row."
        )
        refuse_rows(times.isna() | (times < 0) | (times % 1 != 0), times, must, way_out)
        return times.astype(np.int64)

    def read_weights(self, values: pd.Series, unit: str = "ranking") -> pd.Series:
        """Read sampling weights, and say so if they look like counts."""
        weight = self.read_numbers(values, "weight")
        must = "A weight must be a finite number"
        refuse_rows(weight.isna(), weight, must, f"Write 1 for a {unit} of ordinary weight.")
        if (weight % 1 == 0).all() and (weight > 1).any():
            self.note(
                f"Column {values.name!r} is read as sampling weights. If its whole numbers say how "
                f"often a {unit} was given, use {spelled(count=str(values.name))} instead."
            )
        return weight

    def one_spelling(self, labels: pd.Series, what: str) -> dict[str, str]:
        """Find labels that differ only in case or accents; return the labels to merge.

        The most frequent label of each group is kept.
        """
        counts = labels.value_counts(sort=False)
        names = pd.Series(counts.index, dtype=object)
        alike = names.map(lambda name: unicodedata.normalize("NFC", name).casefold())
        several = alike.duplicated(keep=False)
        if not several.any():
            return {}
        table = pd.DataFrame({"name": names, "alike": alike, "n": counts.to_numpy()})[several]
        table["kept"] = names[table.groupby("alike")["n"].transform("idxmax")].to_numpy()
        merged = {a: b for a, b in zip(table["name"], table["kept"], strict=True) if a != b}
        one, other = next(iter(merged.items()))
        pair = f"{label_repr(one)} and {label_repr(other)}"
        if self.settings.merge:
            self.note(
                f"{what.capitalize()} that differ only in case or in how accents are stored are "
                f"merged, such as {label_repr(one)} with {label_repr(other)}: {len(merged):,}."
            )
            return merged
        as_one = f"With {spelled(merge=True)} they are one"
        if len(merged) == 1:
            how = "case" if one.casefold() == other.casefold() else "how accents are stored"
            self.note(f"Among the {what}, {pair} differ only in {how}. {as_one}.")
        else:
            self.note(
                f"Some {what} differ only in case or in how accents are stored, such as {pair}. "
                f"{as_one} ({len(merged):,} fewer {what})."
            )
        return {}


def merged(labels: pd.Series, alike: Mapping[str, str]) -> pd.Series:
    """Replace labels by those that they are merged with."""
    return over_distinct(labels, lambda label: alike.get(label, label)) if alike else labels


def joined_text(columns: Sequence[pd.Series], sign: str) -> pd.Series:
    """Join the labels of columns, with a sign between them; empty where one is missing."""
    joined = columns[0]
    for column in columns[1:]:
        joined = joined + sign + column
    return joined


def split_codes(texts: Texts, cells: Collection[str]) -> list[str]:
    """Split codes at commas, unless a cell contains the whole text.

    >>> split_codes(["n.a.,-", "no, thanks"], {"n.a.", "no, thanks"})
    ['n.a.', '-', 'no, thanks']
    """
    codes: list[str] = []
    for text in texts_of(texts):
        codes += [text] if text in cells else [code.strip() for code in text.split(",")]
    return [code for code in dict.fromkeys(codes) if code]


def read_places(names: Sequence[str]) -> list[int] | None:
    """Read the places in the names of columns, such as choice 1, 1st choice or first choice.

    Return None if the names do not number the places 1, 2, ... (or 0, 1, ...).
    """
    words = [words_of(name) for name in names]
    numbers = [[int(word) for word in one if word.isdecimal()] for one in words]
    if len(names) > 1 and all(numbers):
        # names such as Q1_3 contain several numbers; the place is the one that varies
        places = max(zip(*numbers, strict=False), key=lambda column: len(set(column)))
        low = min(places)
        whole = low < 2 and sorted(places) == list(range(low, low + len(places)))
        return list(places) if whole else None
    ordinals = [[ORDINALS.index(word) for word in one if word in ORDINALS] for one in words]
    places = tuple(one[-1] for one in ordinals if one)
    return list(places) if len(set(places)) == len(names) > 1 else None


def refuse_disorder(columns: Sequence[str], option: str) -> None:
    """Refuse columns whose order counts, if their names have another order."""
    places = read_places(columns)
    if places is not None and places != sorted(places):
        ordered = {option: [name for _, name in sorted(zip(places, columns, strict=True))]}
        raise TableError(
            "The order of these columns counts, but their names have another order: "
            f"{', '.join(map(repr, columns))}. Name them in order: {spelled(**ordered)}.",
            [ordered],
        )


def counts_rows(name: str, cells: pd.Series) -> bool:
    """Whether a column is an id, or is called index or similar and increases by 1 in each row."""
    words, texts = words_of(name), list(map(str, label_text(cells)))
    if words[-1:] == ("id",):
        return True
    if (words and _INDEX.isdisjoint(words)) or not all(text.isdecimal() for text in texts):
        return False
    return all(int(text) == int(texts[0]) + n for n, text in enumerate(texts))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan
