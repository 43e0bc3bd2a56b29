"""Read the cells of an input file as the options describe them."""

import re
import unicodedata
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayesrank.cli.options import Table, shown
from bayesrank.cli.texts import sentence
from bayesrank.data import Pairs, Rankings
from bayesrank.data.read import (
    LINE,
    TABLES,
    counted,
    label_repr,
    label_times,
    quoted,
    require_names,
    row_name,
    suffix_of,
    table_with_findings,
    text_numbers,
    time_coordinates,
)

NO_NUMBER = ("na", "n/a", "#n/a", "nan", "null", "none")  # spellings of a missing number
NOTHING = ("skipped", "overvote", "undervote", "blank", "exhausted", "-", *NO_NUMBER)  # no item
MARKED = {  # marks on numbers: places such as 2nd, T3 or =4, and percentages
    "rank": re.compile(r"(?:t|=)?\s*(\d+)\s*(?:st|nd|rd|th|=|\.)?", re.IGNORECASE),
    "rating": re.compile(r"([-+]?\d[\d.,]*)\s*%"),
}
WORD = re.compile(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]+|\d+|[^\W\d_]+")
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "last")
INDEX = frozenset((  # words in the names of columns that count rows
    "index", "no", "nr", "number", "row", "column", "unnamed", "case", "respondent",
    "participant", "subject", "voter", "person",
))  # fmt: skip
MOST_BYTES = 30_000_000  # largest file whose other columns are read
NESTED = (list, tuple, dict, bytes, np.ndarray)


class Reader[C: Table]:
    """Read the cells of files as the options say, and note every change."""

    looks_beside = False  # whether to read the other columns of small files, too

    def __init__(self, columns: C, note: Callable[[str], None]) -> None:
        self.columns, self.note = columns, note
        self.others = pd.DataFrame()

    def cells(
        self, file: Path, names: Collection[str], *, every: bool = False, lists: bool = False
    ) -> pd.DataFrame:
        """Read the required columns, or all of them; only rows that --where selects.

        Lists are refused, unless `lists` are welcome or the column contains ballots.
        """
        columns, name = self.columns, shown(file)
        conditions, renamed = columns.conditions, columns.renamed
        needed = list(dict.fromkeys([*names, *(column for column, _ in conditions)]))
        every = every or any(map(str.isdigit, needed))  # a column may be named by its number
        beside = (
            self.looks_beside and not every and file.is_file() and file.stat().st_size <= MOST_BYTES
        )
        wanted = None if every or beside else {*needed, *renamed}
        frame, known = self._tables(file, wanted)
        require_names(known, renamed, name)
        frame, known = frame.rename(columns=renamed), known.map(lambda one: renamed.get(one, one))
        # columns of a text without a name and without cells are left out
        left, self.numbers_of = iter([*frame.columns, None]), []
        ahead = next(left)
        for number, column in enumerate(known, start=1):
            if ahead == column:
                self.numbers_of.append(number)
                ahead = next(left)
        for column in needed:
            if column not in known and column.isdigit() and int(column) in self.numbers_of:
                at = self.numbers_of.index(int(column))
                frame.columns = [*frame.columns[:at], column, *frame.columns[at + 1 :]]
                known = known.append(pd.Index([column]))
        require_names(known, needed, name)
        plain: Any = (
            [] if lists else frame.columns.drop([getattr(columns, "ballot", None)], errors="ignore")
        )
        if beside:
            plain = plain.intersection(needed)
        frame = _plain_cells(frame, name, plain)
        frame = self._selected(frame)
        if (
            every
            and not lists
            and (extra := [column for column, _ in conditions if column not in names])
        ):
            kept = ~frame.columns.isin(extra)
            self.numbers_of = [n for n, keep in zip(self.numbers_of, kept, strict=True) if keep]
            frame = frame.loc[:, kept]
        if beside:
            self.others = frame.drop(columns=list(names))
            frame = frame[list(dict.fromkeys(names))]
        return self._without_codes(frame)

    def _tables(self, file: Path, wanted: Collection[str] | None) -> tuple[pd.DataFrame, pd.Index]:
        """Read a table, or all tables of a folder below each other with a column "file"."""
        columns = self.columns
        separator = {"tab": "\t", "\\t": "\t"}.get(columns.separator or "", columns.separator)
        settings: dict[str, Any] = {
            "encoding": columns.encoding, "separator": separator, "header": columns.header
        }  # fmt: skip
        if not file.is_dir():
            found = table_with_findings(file, columns=wanted, **settings)
            if found.findings:
                self.note(f"{shown(file)} is read with {', '.join(found.findings)}.")
            if found.spaces:
                self.note(f"Removed spaces around {counted(found.spaces, 'cell')}.")
            return found.frame, found.names
        paths = sorted(path for path in file.iterdir() if suffix_of(path) in TABLES)
        if not paths:
            raise ValueError(f"The folder {shown(file)} contains no tables.")
        frames: list[pd.DataFrame] = []
        known = pd.Index([])
        for path in paths:
            table = table_with_findings(path, columns=wanted, **settings)
            unlike = table.names.symmetric_difference(known)
            if frames and len(unlike):
                raise ValueError(
                    f"All tables of the folder {shown(file)} must have the same columns, but "
                    f"{quoted(unlike[:1])} is not in both {shown(paths[0])} and {shown(path)}."
                )
            lines = [f"{n} of {shown(path)}" for n in table.frame.index]
            known = table.names
            index = pd.Index(lines, name=table.frame.index.name)
            frames.append(table.frame.set_axis(index).assign(file=path.name.split(".")[0]))
        self.note(f"{len(paths)} tables of the folder {shown(file)} are read as one.")
        return pd.concat(frames), known.append(pd.Index(["file"]))

    def _selected(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Select the rows with the values of --where."""
        for (column, equal), values in self.columns.conditions.items():
            cells = frame[column]
            text = cells.astype("string").str.strip()
            wanted = pd.to_numeric(pd.Series(values), errors="coerce").dropna()
            found = text.isin(values) | pd.to_numeric(text, errors="coerce").isin(wanted)
            kept = found.fillna(False).astype(bool) == equal
            condition = f"{column} {'=' if equal else '!='} {' or '.join(values)}"
            if not kept.any():
                known = quoted(cells.dropna().unique(), 10)
                raise ValueError(f"No row has {condition}; the column has {known}.")
            self.note(f"Rows with {condition} are used: {kept.sum():,} of {len(frame):,}.")
            frame = frame[kept.to_numpy()]
        return frame

    def _without_codes(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Empty the cells with the codes of --empty."""
        columns = self.columns
        if not columns.empty:
            return frame
        numbers = pd.to_numeric(pd.Series(columns.empty), errors="coerce").dropna()
        empty = frame.apply(
            lambda cells: cells.isin(
                numbers if pd.api.types.is_numeric_dtype(cells) else columns.empty
            )
        )
        n, codes = int(empty.to_numpy().sum()), ", ".join(columns.empty)
        if n:
            self.note(f"Cells with {codes} are read as empty: {n:,}.")
        else:
            self.note(f"No cell contains {codes}, so --empty has no effect.")
        return frame.mask(empty)

    def one_spelling(self, labels: pd.Series, what: str) -> dict[str, str]:
        """Find labels that differ only in case or accents; return the labels to merge.

        The most frequent label of each group is kept.
        """
        counts = labels.value_counts(sort=False)
        names = pd.Series(counts.index, dtype=object).map(str)
        folded = names.map(lambda name: unicodedata.normalize("NFC", name).casefold())
        alike = folded.duplicated(keep=False)
        if not alike.any():
            return {}
        table = pd.DataFrame({"name": names, "folded": folded, "n": counts.to_numpy()})[alike]
        table["kept"] = table.groupby("folded")["n"].transform("idxmax")
        table["kept"] = names[table["kept"]].to_numpy()
        merged = {a: b for a, b in zip(table["name"], table["kept"], strict=True) if a != b}
        one, other = next(iter(merged.items()))
        words = {"what": what, "n": len(merged), "one": label_repr(one), "other": label_repr(other)}
        self.note(sentence("alike", merged=self.columns.merge, same=one.casefold(), **words))
        return merged if self.columns.merge else {}

    def numbers(self, values: pd.Series, name: str) -> pd.Series:
        """Read a column of numbers, NaN for missing ones; `name` is for messages."""
        known = without_words(values)
        decimal = self.columns.decimal
        read, commas = text_numbers(self._unmarked(known, name), name, decimal=decimal)
        if commas and decimal is None:
            self.note(f"Column {values.name!r} is read with decimal commas.")
        return read

    def _unmarked(self, values: pd.Series, name: str) -> pd.Series:
        """Remove marks such as 2nd, T3, =4 or 50% from a column of ranks or ratings."""
        cells = values.dropna().unique()
        if name not in MARKED or not all(isinstance(cell, str) for cell in cells):
            return values
        found = {cell: mark for cell in cells if (mark := MARKED[name].fullmatch(cell.strip()))}
        bare = {cell: str(mark[1]) for cell, mark in found.items()}
        marked = [cell for cell in bare if bare[cell] != cell.strip()]
        alike = name == "rank" or len(bare) == len(cells)  # 0.5 and 50% do not mix
        if not marked or not alike:
            return values
        first = f"{marked[0]!r} as {bare[marked[0]]}"
        self.note(f"Column {values.name!r} is read with {first}, and so on.")
        return values.replace(bare)


def _plain_cells(frame: pd.DataFrame, name: str, plain: Collection[str]) -> pd.DataFrame:
    """Convert categories to plain cells; in the columns `plain`, refuse nested cells and bytes."""
    if frame.index.name == LINE:  # cells of text
        return frame
    frame = frame.astype(dict.fromkeys(frame.select_dtypes("category"), object))
    for column, cells in frame.select_dtypes(object).items():
        if column not in plain:
            continue
        nested = [isinstance(cell, NESTED) for cell in cells]
        refuse_rows(
            nested,
            cells.map(lambda cell: cell.tolist() if isinstance(cell, np.ndarray) else cell),
            "nested_cell",
            name=name,
        )
    return frame


def refuse_rows(
    wrong: Any, values: pd.Series, text: str, others: pd.Series | None = None, **words: Any
) -> None:
    """Raise an error about the first wrong row, if there is one.

    The text may use the row, the column, the value, the value in `others`, and `words`.
    """
    rows = np.flatnonzero(wrong)
    if len(rows):
        n = int(rows[0])
        words |= {"value": label_repr(values.iloc[n]), "row": row_name(values.index, n)}
        words["other"] = None if others is None else label_repr(others.iloc[n])
        raise ValueError(sentence(text, **words, column=repr(values.name)))


def words_of(name: str) -> tuple[str, ...]:
    """Split the name of a column into words and numbers, such as home, team, 2."""
    return tuple(word.casefold() for word in WORD.findall(name))


def places_of(names: Collection[str]) -> list[int] | None:
    """Read the places in the names of columns, such as choice 1 or first choice.

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


def counts_rows(name: str, cells: pd.Series) -> bool:
    """Whether a column is an id, or is called index or similar and increases by 1 in each row."""
    words, texts = words_of(name), list(map(str, cells))
    if words[-1:] == ("id",):
        return True
    if (words and INDEX.isdisjoint(words)) or not all(text.isdecimal() for text in texts):
        return False
    return all(int(text) == int(texts[0]) + n for n, text in enumerate(texts))


def without_words(values: pd.Series) -> pd.Series:
    """Empty the cells with a word for a missing number, such as NA."""
    lower = values.astype("string").str.strip().str.lower()
    return values.mask(lower.isin(NO_NUMBER).fillna(False).astype(bool))


def text_labels(values: pd.Series) -> pd.Series:
    """Return the labels of a column as text, and refuse missing ones."""
    refuse_rows(values.isna(), values, "no_label")
    return values.map(str)


def read_times(dates: pd.Series, name: str) -> np.ndarray:
    """Read a column of dates; the error about an unreadable date names its row."""
    code, labels = pd.factorize(dates)
    try:
        return label_times(pd.Index(labels), name)[code]
    except ValueError as error:
        for n, label in enumerate(labels):
            try:
                label_times(pd.Index([label]), name)
            except ValueError:
                refuse_rows(code == n, dates, "no_date", error=error)
        raise


def date_labels(dates: pd.Series) -> pd.Series:
    """Return dates or numbers as text in one form, and refuse missing or unreadable ones."""
    labels = text_labels(dates)
    read_times(labels, str(dates.name))
    code, distinct = pd.factorize(labels)
    texts = [time_text(time) for time in time_coordinates(pd.Index(distinct), str(dates.name))]
    return pd.Series(np.array(texts, dtype=object)[code], labels.index, name=dates.name)


def time_text(time: Any) -> str:
    """Write a time as a day, as a day with hours, or as a number."""
    if isinstance(time, np.datetime64 | pd.Timestamp):
        stamp = pd.Timestamp(time)
        if stamp == stamp.normalize():
            return stamp.date().isoformat()
        return stamp.isoformat(sep=" ", timespec="auto" if stamp.second else "minutes")
    return f"{time:.12g}"


def refuse_mixed(long: pd.DataFrame, group: str, column: str) -> None:
    """Refuse a ranking with two categories or dates."""
    first = long.groupby(["ranker", "ranking"], sort=False)[group].transform("first")
    refuse_rows(
        long[group] != first,
        long[group],
        "mixed_ranking",
        long["ranking"],
        noun={"category": "category", "date": "date"}.get(group, "label"),
        name=column,
    )


def in_order_of_time(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Sort future matches or rankings by date."""
    times = read_times(table["date"], column)
    return table.iloc[np.argsort(times, kind="stable")].reset_index(drop=True)


def refuse_new(items: pd.Series, data: Pairs | Rankings, name: str) -> None:
    """Refuse future items without data."""
    pairs = isinstance(data, Pairs)
    refuse_rows(~items.isin(data.items), items, "new_item", pairs=pairs, name=name)


def refuse_past(table: pd.DataFrame, data: Pairs | Rankings, name: str, column: str) -> None:
    """Refuse future matches or rankings that are dated before the data end."""
    seen = data.groups["date"].labels
    times = read_times(pd.Series([*seen, *table["date"]]), column)
    last = int(times[: len(seen)].argmax())
    refuse_rows(
        times[len(seen) :] < times[last],
        table["date"],
        "past",
        pairs=isinstance(data, Pairs),
        name=name,
        last=label_repr(seen[last]),
    )
