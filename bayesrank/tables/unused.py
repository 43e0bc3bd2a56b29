"""Columns of a table that no argument names, kept for a test of whether they matter."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from bayesrank.data import Pairs, Rankings
from bayesrank.data.read import Unused
from bayesrank.tables.cells import NESTED, NUMBER, date_text, words_of
from bayesrank.tables.opening import label_text

__all__ = ["constant_columns", "matches_with", "rankings_with", "unused_columns"]

LEAST_LABELS, MOST_LABELS = 2, 30
MOST_NUMBERS = 5  # distinct numbers beyond which a column is a measure and not a category
LEAST_TIMES = 3
WHEN = frozenset(("date", "year", "season", "week", "day"))  # names of numbers that are times


def unused_columns(
    others: pd.DataFrame, rows: pd.Index, day_first: bool | None
) -> tuple[dict[str, pd.Series], dict[str, pd.Series]]:
    """Return columns with 2 to 30 labels, and columns of times, for these rows.

    Rows without a label have the label "". Columns that share their name with another are left out.
    Numbers with more than 5 values are left out, unless the name says that they are times.

    >>> table = pd.DataFrame({"scene": ["day", "night", "day"], "year": ["1990", "1991", "1992"]})
    >>> labels, times = unused_columns(table, table.index, None)
    >>> [*labels], times["year"].tolist()
    (['scene'], ['1990', '1991', '1992'])
    """
    labels: dict[str, pd.Series] = {}
    times: dict[str, pd.Series] = {}
    for n, name in enumerate(map(str, others.columns)):
        cells = others.iloc[:, n]
        if (others.columns == others.columns[n]).sum() > 1:
            continue
        if cells.dtype == object and any(isinstance(cell, NESTED) for cell in cells):
            continue
        text = label_text(cells.reindex(rows))
        known = text.dropna()
        distinct = list(map(str, known.unique()))
        if (found := _times(known.rename(name), distinct, day_first)) is not None:
            times[name] = found.reindex(rows) if found.index.is_unique else found
            times[name] = times[name].fillna("")
        elif LEAST_LABELS <= len(distinct) <= MOST_LABELS and not (
            len(distinct) > MOST_NUMBERS and all(map(NUMBER.fullmatch, distinct))
        ):
            labels[name] = text.fillna("")
    return labels, times


def _times(text: pd.Series, distinct: list[str], day_first: bool | None) -> pd.Series | None:
    """Read a column of dates or seasons, or of numbers whose name says that they are times."""
    named = not WHEN.isdisjoint(words_of(str(text.name)))
    numbers = all(map(NUMBER.fullmatch, distinct))
    if len(distinct) < LEAST_TIMES or (numbers and not named):
        return None
    try:
        return date_text(text, day_first)
    except ValueError:
        return None


def constant_columns(
    long: pd.DataFrame, others: pd.DataFrame, day_first: bool | None, taken: Iterable[str]
) -> tuple[dict[str, pd.Series], dict[str, pd.Series]]:
    """Return the unused columns that are constant within each ranking of a long table.

    The long table has the columns ranker and ranking, and the rows of the table in its index. The
    columns have its rows. Names in `taken` are left out.
    """
    both = unused_columns(others, long.index.unique(), day_first)
    n, known = len(long[["ranker", "ranking"]].drop_duplicates()), {*taken}
    found: tuple[dict[str, pd.Series], dict[str, pd.Series]] = ({}, {})
    for columns, kept in zip(both, found, strict=True):
        for name, cells in columns.items():
            of_row = cells.reindex(long.index)
            distinct = long[["ranker", "ranking"]].assign(cells=of_row.to_numpy(object))
            if name not in known and len(distinct.drop_duplicates()) == n:
                kept[name] = of_row
    return found


def rankings_with(
    finer: Rankings, labels: Iterable[str], times: Iterable[str], names: Mapping[str, str]
) -> Rankings:
    """Move groups of rankings to the unused columns; `names` has their names by those of groups."""
    groups = {names.get(key, key): group for key, group in finer.groups.items()}
    base = {key: group for key, group in finer.groups.items() if key not in names}
    if not names:
        return finer
    unused = Unused(finer._with(groups=groups), tuple(labels), tuple(times))
    return finer._with(groups=base, unused=unused)


def matches_with(
    pairs: Pairs, table: pd.DataFrame, others: pd.DataFrame, day_first: bool | None,
    by: Iterable[str], **columns: Any,
) -> Pairs:  # fmt: skip
    """Keep the unused columns of a table of matches; `by` and `columns` are as for the pairs."""
    labels, times = unused_columns(others, table.index.unique(), day_first)
    found = {name: x for name, x in (labels | times).items() if name not in pairs.groups}
    if not found:
        return pairs
    names = {f"unused {k}": name for k, name in enumerate(found)}
    cells = {key: found[name].reindex(table.index) for key, name in names.items()}
    finer = Pairs.from_frame(table.assign(**cells), by=[*by, *names], **columns)
    groups = {names.get(key, key): x for key, x in finer.groups.items()}
    finer = finer._with(groups=groups, ordered=pairs.ordered)
    unused = Unused(
        finer, tuple(x for x in labels if x in found), tuple(x for x in times if x in found)
    )
    return pairs._with(unused=unused)
