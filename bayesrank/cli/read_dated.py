"""Matches with dates from files, and what is to come: matches and rankings without an outcome."""

from pathlib import Path

import numpy as np
import pandas as pd

from bayesrank.cli.options import MatchColumns, RankColumns, Written, shown
from bayesrank.cli.read_matches import pairs_of, two_items
from bayesrank.cli.read_rankings import Note, read_cells, read_times, refuse_mixed, text_labels
from bayesrank.data import Pairs, Rankings
from bayesrank.data.read import label_repr, row_name


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
    frame = read_cells(file, how, note, columns.names)
    read_times(frame[date].dropna(), date)
    waiting = _waiting(frame, columns)
    if waiting.any():
        n = int(waiting.sum())
        note(
            f"{n:,} of {len(frame):,} matches {'has' if n == 1 else 'have'} no outcome and "
            f"{'comes' if n == 1 else 'come'} after all that have one: "
            f"{'it is' if n == 1 else 'they are'} forecast."
        )
    pairs = pairs_of(frame[~waiting], columns, how, note)
    tables = [_dated(frame[waiting], columns, pairs, shown(file))]
    if coming is not None:
        more = read_cells(coming, how, note, [*columns.sides, date])
        tables.append(_dated(more, columns, pairs, shown(coming)))
        _refuse_past(tables[1], pairs, shown(coming), date)
    return pairs, _in_order(pd.concat(tables), date)


def read_coming_rankings(
    file: Path, columns: RankColumns, how: Written, note: Note, rankings: Rankings
) -> pd.DataFrame:
    """Read who will be ranked, and when: columns ranking, item and date, in order of the dates."""
    who = [column for column in (columns.ranker, columns.ranking) if column is not None]
    item, date = str(columns.item), str(columns.date)  # checked by the options: they are given
    frame = read_cells(file, how, note, list(dict.fromkeys([*who, item, date])))
    names = [text_labels(frame[column]) for column in who]
    table = pd.DataFrame({
        "ranking": names[0] if len(names) == 1 else names[0] + ", " + names[1],
        "item": text_labels(frame[item]),
        "date": text_labels(frame[date]),
    })  # fmt: skip
    refuse_mixed(table.assign(ranker=table["ranking"]), "date", date)
    again = table.duplicated(["ranking", "item"])
    if again.any():
        n = int(again.to_numpy().argmax())
        raise ValueError(
            f"Ranking {label_repr(table['ranking'].iloc[n])} holds item "
            f"{label_repr(table['item'].iloc[n])} again in {row_name(table.index, n)} of "
            f"{shown(file)}: leave one of the rows out."
        )
    _refuse_new(table, "item", rankings, shown(file))
    _refuse_past(table, rankings, shown(file), date)
    return _in_order(table, date)


def _in_order(table: pd.DataFrame, date: str) -> pd.DataFrame:
    times = read_times(table["date"], date)
    return table.iloc[np.argsort(times, kind="stable")].reset_index(drop=True)


def _dated(frame: pd.DataFrame, columns: MatchColumns, pairs: Pairs, name: str) -> pd.DataFrame:
    """Read who will meet whom and when; all of them must have played before."""
    table = two_items(frame, columns)
    table["date"] = text_labels(frame[str(columns.date)])
    for side in ("first", "second"):
        _refuse_new(table, side, pairs, name)
    return table


def _refuse_new(table: pd.DataFrame, column: str, data: Pairs | Rankings, name: str) -> None:
    """Refuse an item of which nothing is known."""
    new = ~table[column].isin(data.items).to_numpy()
    if new.any():
        n = int(new.argmax())
        pairs = isinstance(data, Pairs)
        raise ValueError(
            f"Item {label_repr(table[column].iloc[n])} is in a {'match' if pairs else 'ranking'} "
            f"to come, in {row_name(table.index, n)} of {name}, and in none that was "
            f"{'played' if pairs else 'seen'}: nothing is known of it. Leave the row out."
        )


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


def _refuse_past(table: pd.DataFrame, data: Pairs | Rankings, name: str, column: str) -> None:
    """Refuse what is to come and is before what was seen."""
    seen = data.groups["date"].labels
    both = pd.Series([*seen, *table["date"]])
    times = read_times(both, column)
    last = int(times[: len(seen)].argmax())
    early = np.flatnonzero(times[len(seen) :] < times[last])
    if len(early):
        n = int(early[0])
        whole = isinstance(data, Pairs)
        what, was = ("matches", "was played") if whole else ("rankings", "is known")
        raise ValueError(
            f"The {what} of {name} are to come; that in {row_name(table.index, n)} is of "
            f"{label_repr(table['date'].iloc[n])}, before the last that {was}, of "
            f"{label_repr(seen[last])}. Leave out what {was}."
        )
