"""Cells: read numbers, places, results, dates and flags from text, or refuse them by row.

Nothing here guesses. What can be read in two ways is an argument of the caller.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from bayesrank.data.read import (
    TimeError,
    label_repr,
    label_times,
    row_name,
    seasons_in_full,
    text_numbers,
    time_coordinates,
)
from bayesrank.tables.opening import label_text
from bayesrank.tables.words import TableError, spelled

type Quantity = Literal["rank", "rating", "result", "weight", "count", "score"]

NO_NUMBER = ("na", "n/a", "#n/a", "nan", "null", "none")  # spellings of a missing number
NESTED = (list, tuple, dict, bytes, np.ndarray)
YES = ("1", "yes", "y", "true", "t", "x", "neutral")
NO = ("0", "no", "n", "false", "f", "")
DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?|\d{4}[-/\N{EN DASH}]\d{2}(\d{2})?")
NUMBER = re.compile(r"[-+\N{MINUS SIGN}]?(\d+[.,]?\d*|[.,]\d+)([eE][-+]?\d+)?")
_WORD = re.compile(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]+|\d+|[^\W\d_]+")
_PLACE = re.compile(
    r"(?:t|=)?\s*(\d+(?:\.5)?)\s*(?:(?:st|nd|rd|th)(?:\s+(?:choice|place|preference|pick))?|=|\.)?",
    re.IGNORECASE,
)
_PERCENT = re.compile(r"([-+]?\d[\d.,]*)\s*%")
_DISCARDED = re.compile(r"\(\s*(\d[\d.,]*)\s*(?:[A-Z]{2,4})?\s*\)|(\d[\d.,]*)\s+[A-Z]{2,4}")
_CLOCK = re.compile(r"(?:(\d{1,3}):)?(\d{1,3}):([0-5]?\d(?:[.,]\d+)?)")
_COMMA = re.compile(r"[-+]?\d+,\d+")
_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?")
_DAY = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})\.?((?:[ T]|$).*)")
_COMPACT = re.compile(r"(?:1[6-9]|20|21)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])")


def words_of(name: str) -> tuple[str, ...]:
    """Split the name of a column into words and numbers, such as home, team, 2."""
    return tuple(word.casefold() for word in _WORD.findall(name))


def refuse_rows(
    wrong: Any,
    values: pd.Series,
    must: str,
    way_out: str = "",
    remedies: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Raise an error about the first wrong row, if there is one.

    The way out may use ``{value}``, the cell.
    """
    rows = np.flatnonzero(wrong)
    if len(rows):
        n = int(rows[0])
        value = values.iloc[n]
        found = (
            "is empty"
            if not isinstance(value, NESTED) and pd.isna(value)
            else (f"has {label_repr(value)}")
        )
        message = f"{must}; column {values.name!r} {found} in {row_name(values.index, n)}."
        raise TableError(f"{message} {way_out}".rstrip(), remedies)


def over_distinct(values: pd.Series, change: Callable[[str], Any]) -> pd.Series:
    """Apply a function to each distinct cell; missing cells stay missing."""
    codes, distinct = pd.factorize(values)
    changed = np.empty(len(distinct) + 1, dtype=object)
    for n, cell in enumerate(distinct):
        changed[n] = change(cell)
    changed[-1] = np.nan
    return pd.Series(changed[codes], values.index, name=values.name)


def folded(values: pd.Series) -> pd.Series:
    """Return the cells as text without differences of case."""
    return over_distinct(label_text(values), str.casefold)


def labels(values: pd.Series) -> pd.Series:
    """Return the labels of a column as text, and refuse missing ones."""
    refuse_rows(
        values.isna(),
        values,
        "Each row needs a label",
        f"Fill it in, or leave such rows out with {spelled(missing='drop')}.",
        [{"missing": "drop"}],
    )
    refuse_nested(values)
    return label_text(values)


def refuse_nested(values: pd.Series, table: str = "the table") -> None:
    """Refuse cells that contain lists, objects or bytes."""
    if values.dtype != object or pd.api.types.infer_dtype(values, skipna=True) == "string":
        return
    for n, cell in enumerate(values):
        if isinstance(cell, NESTED):
            shown = cell.tolist() if isinstance(cell, np.ndarray) else cell
            raise TableError(
                f"Column {values.name!r} of {table} must hold text, numbers or dates; it has "
                f"{label_repr(shown)} in {row_name(values.index, n)}. Name another column, or "
                "write its content as text."
            )


# Numbers


def read_numbers(
    values: pd.Series,
    quantity: str,
    decimal: Literal[".", ","] | None,
    note: Callable[[str], None],
) -> pd.Series:
    """Read a column of numbers, NaN for missing ones; `quantity` is a word for messages."""
    refuse_nested(values)
    if values.dtype != object:
        return text_numbers(values, quantity)[0]
    known = without_words(values)
    known = _unmarked(known, quantity, note)
    if decimal == ",":
        known = _ungrouped(known, quantity, note)
    elif decimal is None:
        _refuse_grouped(known, quantity)
    read, commas = text_numbers(known, quantity, decimal=decimal)
    if commas and decimal is None:
        note(f"Column {values.name!r} is read with decimal commas.")
    return read


def without_words(values: pd.Series) -> pd.Series:
    """Empty the cells with a word for a missing number, such as NA."""
    if values.dtype != object:
        return values
    codes, distinct = pd.factorize(values)
    none = np.array([*(str(x).strip().casefold() in NO_NUMBER for x in distinct), False])
    return values.mask(none[codes]) if none.any() else values


def _unmarked(values: pd.Series, quantity: str, note: Callable[[str], None]) -> pd.Series:
    """Remove marks such as 2nd, T3, =4, 50% or (5.0 DNF) from numbers."""
    distinct = [cell for cell in values.dropna().unique() if isinstance(cell, str)]
    read: dict[str, str] = {}
    kinds = set()
    for cell in distinct:
        for kind, pattern in _MARKS.get(quantity, {}).items():
            if found := pattern.fullmatch(cell):
                kinds.add(kind)
                read[cell] = (
                    _clock(found) if kind == "clock" else next(filter(None, found.groups()))
                )
                break
    marked = [cell for cell in read if read[cell] != cell]
    # 0.5 and 50 % do not mix, nor do times and other numbers
    whole = kinds & {"percent", "clock"} and len(read) < len(distinct)
    if not marked or whole:
        return values
    note(f"Column {values.name!r} is read with {marked[0]!r} as {read[marked[0]]}, and so on.")
    return over_distinct(values, lambda cell: read.get(cell, cell))


_MARKS: dict[str, dict[str, re.Pattern[str]]] = {
    "rank": {"place": _PLACE, "discarded": _DISCARDED},
    "rating": {"percent": _PERCENT},
    "result": {"clock": _CLOCK, "discarded": _DISCARDED},
}


def _clock(found: re.Match[str]) -> str:
    """Convert a time such as 1:02:03 or 3:45.2 to seconds."""
    hours, minutes, seconds = (part or "0" for part in found.groups())
    whole, _, rest = seconds.replace(",", ".").partition(".")
    total = 3600 * int(hours) + 60 * int(minutes) + int(whole)
    return f"{total}.{rest}" if rest else str(total)


def _refuse_grouped(values: pd.Series, quantity: str) -> None:
    """Refuse numbers such as 1.020 if others are 950 or 3,5, and points may group thousands."""
    distinct = [cell for cell in values.dropna().unique() if isinstance(cell, str)]
    pointed = [cell for cell in distinct if "." in cell]
    if not pointed or not all(map(_GROUPED.fullmatch, pointed)):
        return
    grouping, mark = {"decimal": ","}, {"decimal": "."}
    commas = any(_COMMA.fullmatch(cell) for cell in distinct)
    if commas or any(re.fullmatch(r"[-+]?[1-9]\d\d", cell) for cell in distinct):
        other = "" if commas else f" If the point is the decimal mark, give {spelled(**mark)}."
        refuse_rows(
            values.isin(pointed[:1]),
            values,
            f"A {quantity} must be unambiguous, but points may group thousands",
            f"If they do, give {spelled(**grouping)}.{other}",
            [grouping] if commas else [grouping, mark],
        )


def _ungrouped(values: pd.Series, quantity: str, note: Callable[[str], None]) -> pd.Series:
    """Read points as separators of thousands if commas are decimal, or refuse them."""
    distinct = [cell for cell in values.dropna().unique() if isinstance(cell, str)]
    pointed = [cell for cell in distinct if "." in cell]
    odd = [cell for cell in pointed if not _GROUPED.fullmatch(cell)]
    points = {"decimal": "."}
    mixed = any("," in cell for cell in distinct)
    other = "" if mixed else f", or give {spelled(**points)} if the point is the decimal mark"
    refuse_rows(
        values.isin(odd[:1]),
        values,
        f"With decimal commas a point in a {quantity} must group thousands",
        f"Correct the cell{other}.",
        [] if mixed else [points],
    )
    if pointed:
        bare = pointed[0].replace(".", "")
        note(f"Points group thousands in column {values.name!r}: {pointed[0]!r} is {bare}.")
    return over_distinct(values, lambda cell: cell.replace(".", "") if "." in cell else cell)


# Flags


def yes_or_no(values: pd.Series, option: str) -> pd.Series:
    """Read a column of yes and no; an empty cell is no."""
    text = folded(values.astype(object)).fillna("")
    yes = text.isin(YES)
    must = f"`{option}` must name a column with yes and no"
    refuse_rows(~(yes | text.isin(NO)), values, must, "Write yes or no.")
    return yes.map({True: "yes", False: "no"}).astype(object)


# Dates


def date_text(
    values: pd.Series, day_first: bool | None, note: Callable[[str], None] | None = None
) -> pd.Series:
    """Return dates, seasons or numbers as text in one form; refuse missing or unreadable ones.

    The whole column decides whether the day or the month comes first, or the caller does. It also
    decides whether 2010-11 is a month or a season, which becomes its first year.
    """
    refuse_rows(values.isna(), values, "Each row needs a date", "Fill it in.")
    text = label_text(values)
    text = _in_order(text, day_first)
    if seasons := seasons_in_full(text.unique()):
        text = over_distinct(text, lambda cell: seasons[cell])
    codes, distinct = pd.factorize(text)
    _refuse_odd_number(text, distinct)
    name = str(values.name)
    read_times(text)
    texts = [time_text(time) for time in time_coordinates(pd.Index(distinct), name)]
    if seasons and note is not None:
        note(f"Column {name!r} contains seasons: {next(iter(seasons))!r} is {texts[0]}.")
    return pd.Series(np.array(texts, dtype=object)[codes], values.index, name=name)


def read_times(dates: pd.Series) -> np.ndarray:
    """Convert dates to numbers; the error about an unreadable date names its row."""
    codes, distinct = pd.factorize(dates)
    try:
        return label_times(pd.Index(distinct), str(dates.name))[codes]
    except TimeError as error:
        row = row_name(dates.index, int((dates == error.label).to_numpy().argmax()))
        raise TableError(f"In {row}: {error}") from None
    except ValueError as error:
        raise TableError(str(error)) from None


def _in_order(text: pd.Series, day_first: bool | None) -> pd.Series:
    """Write dates such as 30.03.1978 with the year first."""
    distinct = text.unique()
    found = {cell: match for cell in distinct if (match := _DAY.fullmatch(cell))}
    if not found or len(found) < len(distinct):
        return text  # other dates; the first odd one is refused later
    first = {cell: int(match[1]) > 12 for cell, match in found.items()}
    second = {cell: int(match[3]) > 12 for cell, match in found.items()}
    says = "The column decides whether the day or the month comes first"
    if day_first is None:
        by_day, by_month = any(first.values()), any(second.values())
        if by_day and by_month:
            odd = min((first, second), key=lambda column: sum(column.values()))
            refuse_rows(
                text.map(odd), text, f"{says}, and other rows say the opposite", "Correct it."
            )
        short = any(len(match[4]) == 2 for match in found.values())
        if by_day == by_month or short:
            refuse_rows(
                [True] * len(text),
                text,
                "A date must be unambiguous",
                f"Say {spelled(day_first=True)} if the day comes first, or "
                f"{spelled(day_first=False)} if the month does.",
                [{"day_first": True}, {"day_first": False}],
            )
        day_first = by_day
    wrong = second if day_first else first
    order = "day" if day_first else "month"
    other = {"day_first": not day_first}
    refuse_rows(
        text.map(wrong), text, f"The {order} comes first", f"Or give {spelled(**other)}.", [other]
    )

    def iso(cell: str) -> str:
        one, _, two, year, rest = found[cell].groups()
        day, month = (one, two) if day_first else (two, one)
        if len(year) == 2:  # as POSIX reads two digits
            year = f"{'19' if int(year) >= 69 else '20'}{year}"
        return f"{year}-{int(month):02}-{int(day):02}{rest}"

    return over_distinct(text, iso)


def _refuse_odd_number(text: pd.Series, distinct: Any) -> None:
    """Refuse a number among days such as 20240131: one of them is mistyped."""
    days = [bool(_COMPACT.fullmatch(cell)) for cell in distinct]
    if any(days) and not all(days) and all(cell.isdigit() for cell in distinct):
        odd = [cell for cell, day in zip(distinct, days, strict=True) if not day]
        refuse_rows(
            text.isin(odd),
            text,
            "Dates must be written alike, such as 20240131",
            "Correct the row, or write all dates as 2024-01-31.",
        )


def time_text(time: Any) -> str:
    """Write a time as a day, as a day with hours, or as a number."""
    if isinstance(time, np.datetime64 | pd.Timestamp):
        stamp = pd.Timestamp(time)
        if stamp == stamp.normalize():
            return stamp.date().isoformat()
        return stamp.isoformat(sep=" ", timespec="auto" if stamp.second else "minutes")
    return f"{time:.12g}"
