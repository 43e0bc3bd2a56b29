"""Coming: future matches or rankings, read with the arguments of the past ones."""

from typing import Any, cast

import pandas as pd

from bayesrank.data import Pairs, Rankings
from bayesrank.tables.dispatch import reader_of
from bayesrank.tables.opening import Table

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
    function = "read_matches" if isinstance(data, Pairs) else "read_rankings"
    reader = reader_of(function, table, arguments)
    if isinstance(data, Pairs):
        return cast(pd.DataFrame, reader.coming(data, more))
    return cast(pd.DataFrame, reader.coming(table if more is None else more, data))
