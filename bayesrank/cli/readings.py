"""The same table with another meaning of omitted items and of codes, or with another rope."""

import warnings
from typing import Any

import numpy as np

from bayesrank.cli.options import RankColumns, ScoreColumns
from bayesrank.cli.reading import READERS
from bayesrank.data import Rankings

MOST_ENTRIES = 20_000  # beyond, another fit is not cheap


def readings(source: Any, columns: RankColumns, rankings: Rankings) -> dict[str, Rankings]:
    """Read the rankings again with another meaning of omitted items and of codes, or rope."""
    if rankings.item.size > MOST_ENTRIES or columns.date or columns.components:
        return {}
    given = columns.arguments
    other = _ropes(columns) if isinstance(columns, ScoreColumns) else _meanings(columns, rankings)
    out = {}
    for label, choice in other.items():
        try:
            with warnings.catch_warnings():  # the notes are about the reading that was asked for
                warnings.simplefilter("ignore")
                found = READERS[columns.function](source, **{**given, **choice})
        except ValueError:  # the table has no meaning with this choice
            continue
        if repr(found) != repr(rankings) or not np.array_equal(found.ranks, rankings.ranks):
            out[label] = found
    return out


def _ropes(columns: ScoreColumns) -> dict[str, dict[str, Any]]:
    """Choose no rope, and twice the rope."""
    if not columns.rope:
        return {}
    return {"no rope": {"rope": 0.0}, "rope doubled": {"rope": columns.ropes(2)}}


def _meanings(columns: RankColumns, rankings: Rankings) -> dict[str, dict[str, Any]]:
    """Choose another meaning of omitted items and of codes."""
    codes = ", ".join(columns.last_block or columns.empty)
    other: dict[str, dict[str, Any]] = {}
    if columns.last_block:
        empty = (*columns.empty, *columns.last_block)
        other[f"{codes} not ranked"] = {
            "last_block": (), "empty": empty, "missing": columns.missing or "drop"
        }  # fmt: skip
    elif columns.empty and columns.missing == "drop":
        other[f"{codes} last"] = {"last_block": columns.empty, "empty": ()}
    listing = columns.ballot or columns.wide in ("places", "ranks") or not columns.form
    if columns.missing == "last":
        other["omitted items dropped"] = {"missing": "drop"}
    elif columns.missing == "drop" or (
        columns.missing is None and rankings.item.shape[1] < rankings.n_items and listing
    ):
        other["omitted items last"] = {"missing": "last"}
    return other
