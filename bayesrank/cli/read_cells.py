"""Read the cells of an input file as the options describe them."""

import re
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
    label_repr,
    label_times,
    require_names,
    row_name,
    table_with_findings,
    text_numbers,
)

NO_NUMBER = ("na", "n/a", "#n/a", "nan", "null", "none")  # spellings of a missing number
MARKED = {  # marks on numbers: places such as 2nd, T3 or =4, and percentages
    "rank": re.compile(r"(?:t|=)?\s*(\d+)\s*(?:st|nd|rd|th|=|\.)?", re.IGNORECASE),
    "rating": re.compile(r"([-+]?\d[\d.,]*)\s*%"),
}
NESTED = (list, tuple, dict, bytes, np.ndarray)


class Reader[C: Table]:
    """Read the cells of files as the options say, and note every change."""

    def __init__(self, columns: C, note: Callable[[str], None]) -> None:
        self.columns, self.note = columns, note

    def cells(self, file: Path, names: Collection[str], *, every: bool = False) -> pd.DataFrame:
        """Read the required columns, or all of them."""
        columns, name = self.columns, shown(file)
        separator = {"tab": "\t", "\\t": "\t"}.get(columns.separator or "", columns.separator)
        found = table_with_findings(
            file,
            encoding=columns.encoding,
            separator=separator,
            columns=None if every else set(names),
        )
        if found.findings:
            self.note(f"{name} is read with {', '.join(found.findings)}.")
        require_names(found.names, names, name)
        frame = _plain_cells(found.frame, name)
        if not columns.empty:
            return frame
        empty = frame.apply(lambda cells: cells.isin(columns.empty))
        n, codes = int(empty.to_numpy().sum()), ", ".join(columns.empty)
        if n:
            self.note(f"Cells with {codes} are read as empty: {n:,}.")
        else:
            self.note(f"No cell contains {codes}, so --empty has no effect.")
        return frame.mask(empty)

    def numbers(self, values: pd.Series, name: str) -> pd.Series:
        """Read a column of numbers, NaN for missing ones; `name` is for messages."""
        lower = values.astype("string").str.strip().str.lower()
        known = values.mask(lower.isin(NO_NUMBER).fillna(False).astype(bool))
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


def _plain_cells(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Convert categories to plain cells, and refuse lists, structs and bytes of Parquet."""
    if frame.index.name == LINE:  # cells of text
        return frame
    frame = frame.astype(dict.fromkeys(frame.select_dtypes("category"), object))
    for _, cells in frame.select_dtypes(object).items():
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


def refuse_mixed(long: pd.DataFrame, group: str, column: str) -> None:
    """Refuse a ranking with two categories or dates."""
    first = long.groupby(["ranker", "ranking"], sort=False)[group].transform("first")
    refuse_rows(
        long[group] != first,
        long[group],
        "mixed_ranking",
        long["ranking"],
        dated=group == "date",
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
