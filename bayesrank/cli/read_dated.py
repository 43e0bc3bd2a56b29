"""Matches with dates from files: those that were played, and those that are to come."""

from pathlib import Path

import numpy as np
import pandas as pd

from bayesrank.cli.options import MatchColumns, Written, shown
from bayesrank.cli.read_matches import pairs_of, two_items
from bayesrank.cli.read_rankings import Note, read_cells, read_times, text_labels
from bayesrank.data import Pairs
from bayesrank.data.read import label_repr, require_columns, row_name


def read_dated_pairs(
    file: Path, columns: MatchColumns, how: Written, note: Note, coming: Path | None
) -> tuple[Pairs, pd.DataFrame]:
    """Read matches, and those to come: rows without an outcome behind all others, and a file.

    Returns
    -------
    pairs : Pairs
        Of the group date.
    coming : DataFrame
        With the columns first, second and date, in the order of the dates.
    """
    date = str(columns.date)
    frame = read_cells(file, how, note)
    require_columns(frame, [*columns.sides, *columns.results, date], shown(file))
    read_times(frame[date].dropna(), date)
    waiting = _waiting(frame, columns)
    if waiting.any():
        n = int(waiting.sum())
        note(
            f"{n:,} of {len(frame):,} matches {'has' if n == 1 else 'have'} no outcome and "
            f"{'comes' if n == 1 else 'come'} after all that have one: "
            f"{'it is' if n == 1 else 'they are'} forecast."
        )
    pairs = pairs_of(frame[~waiting], shown(file), columns, how, note)
    tables = [_dated(frame[waiting], columns, pairs, shown(file))]
    if coming is not None:
        more = read_cells(coming, how, note)
        require_columns(more, [*columns.sides, date], shown(coming))
        tables.append(_dated(more, columns, pairs, shown(coming)))
        _refuse_past(tables[1], pairs, shown(coming), date)
    table = pd.concat(tables)
    times = read_times(table["date"], date)
    return pairs, table.iloc[np.argsort(times, kind="stable")].reset_index(drop=True)


def _dated(frame: pd.DataFrame, columns: MatchColumns, pairs: Pairs, name: str) -> pd.DataFrame:
    """Read who will meet whom and when; all of them must have played before."""
    table = two_items(frame, columns)
    table["date"] = text_labels(frame[str(columns.date)])
    for side in ("first", "second"):
        new = ~table[side].isin(pairs.items).to_numpy()
        if new.any():
            n = int(new.argmax())
            raise ValueError(
                f"Item {label_repr(table[side].iloc[n])} is in a match to come, in "
                f"{row_name(table.index, n)} of {name}, and in none that was played: nothing is "
                "known of it. Leave the row out."
            )
    return table


def _waiting(frame: pd.DataFrame, columns: MatchColumns) -> np.ndarray:
    """Which rows have no outcome and are later than all that have one."""
    date = frame[str(columns.date)]
    open_ = frame[columns.results].isna().all(axis=1) & date.notna()
    if not columns.results or not open_.any() or open_.all():
        return np.zeros(len(frame), dtype=bool)
    times = np.full(len(frame), -np.inf)
    known = date.notna().to_numpy()
    times[known] = read_times(date[known], str(date.name))
    open_rows = open_.to_numpy()
    return open_rows & (times > times[~open_rows].max())


def _refuse_past(table: pd.DataFrame, pairs: Pairs, name: str, column: str) -> None:
    """Refuse a match to come that is before one that was played."""
    played = pairs.group_labels("date")
    both = pd.Series([*played, *table["date"]])
    times = read_times(both, column)
    last = int(times[: len(played)].argmax())
    early = np.flatnonzero(times[len(played) :] < times[last])
    if len(early):
        n = int(early[0])
        raise ValueError(
            f"The matches of {name} are to come; that in {row_name(table.index, n)} is of "
            f"{label_repr(table['date'].iloc[n])}, before the last that was played, of "
            f"{label_repr(played[last])}. Leave out what was played."
        )
