"""Coming: future matches or rankings, read with the arguments of the past ones."""

from dataclasses import fields
from typing import Any

import pandas as pd

from bayesrank.data import Pairs, Rankings
from bayesrank.tables.matches import MatchColumns, MatchReader
from bayesrank.tables.opening import Table
from bayesrank.tables.rankings import RankingColumns, RankingReader
from bayesrank.tables.select import Settings

__all__ = ["read_coming"]


def read_coming(
    table: Table, data: Pairs | Rankings, more: Table | None = None, **arguments: Any
) -> pd.DataFrame:
    """Read what is to come: matches without an outcome, and the matches or rankings of `more`.

    Parameters
    ----------
    table : Table
        The table of `data`, in which matches without an outcome may be dated after all others.
    data : Pairs or Rankings
        What was read from it.
    more : Table, optional
        A table of future matches or rankings, without outcomes or ranks.
    arguments
        Those of `read_matches` or `read_rankings`.

    Returns
    -------
    DataFrame
        The columns first, second, date and perhaps neutral, or ranking, item and date; sorted by
        date.

    Raises
    ------
    TableError
        If an item is new, or a date is not in the future.
    """
    names = [field.name for field in fields(Settings)]
    settings = Settings(**{name: arguments.pop(name) for name in names if name in arguments})
    if isinstance(data, Pairs):
        return MatchReader(table, MatchColumns(**arguments), settings).coming(data, more)
    reader = RankingReader(table, RankingColumns(**arguments), settings)
    return reader.coming(table if more is None else more, data)
