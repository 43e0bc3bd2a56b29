"""Dispatch: the reader of each function, and its arguments: what the columns are, and the rest."""

import re
from dataclasses import fields
from typing import Any

from bayesrank.tables.choices import ChoiceColumns, ChoiceReader
from bayesrank.tables.matches import MatchColumns, MatchReader
from bayesrank.tables.opening import Orders, Table
from bayesrank.tables.rankings import RankingColumns, RankingReader, read_orders
from bayesrank.tables.scores import ScoreColumns, ScoreReader
from bayesrank.tables.select import Settings, texts_of
from bayesrank.tables.words import TableError

READERS: dict[str, tuple[type[Any], type[Any]]] = {
    "read_rankings": (RankingReader, RankingColumns),
    "read_matches": (MatchReader, MatchColumns),
    "read_choices": (ChoiceReader, ChoiceColumns),
    "read_scores": (ScoreReader, ScoreColumns),
}
_JUDGED = re.compile(r"[-+.\d]+\s+qid:\d")  # first line of a LETOR file
# Lists that add up
ADDED = (
    "empty", "last_block", "where", "first_wins", "second_wins", "tie", "lower_is_better",
    "higher_is_better",
)  # fmt: skip
SETTINGS = tuple(field.name for field in fields(Settings))


def columns_of(function: str, arguments: dict[str, Any]) -> Any:
    """Return what the arguments of a function say about columns."""
    given = {name: value for name, value in arguments.items() if name not in SETTINGS}
    return READERS[function][1](**given)


def settings_of(arguments: dict[str, Any]) -> Settings:
    """Return what the arguments of a function say about rows and cells."""
    return Settings(**{name: arguments[name] for name in SETTINGS if name in arguments})


def reader_of(function: str, table: Table, arguments: dict[str, Any]) -> Any:
    """Make the reader of a table."""
    columns, settings = columns_of(function, arguments), settings_of(arguments)
    return READERS[function][0](table, columns, settings)


def _refuse_judged(table: Table) -> None:
    """Refuse LETOR files, which have no items that occur in several rankings."""
    if len(table.names) and _JUDGED.match(str(table.names[0])):
        raise TableError(
            f"{table.name} contains judged documents (LETOR). Each query has its own documents, so "
            "utilities per document cannot be learned. Write their features into columns, and read "
            "these with features= of br.Rankings.from_ratings."
        )


def read(function: str, source: Table | Orders, arguments: dict[str, Any]) -> Any:
    """Read a table, or a file of orders, which needs no columns."""
    if isinstance(source, Orders):
        columns = columns_of(function, arguments)
        given = [name for name, value in vars(columns).items() if value and name != "listed"]
        if given or function != "read_rankings":
            way_out = f"Leave `{given[0]}` out." if given else "Read it with br.read_rankings."
            raise TableError(f"A file of orders contains rankings, without columns. {way_out}")
        return read_orders(source, settings_of(arguments))
    _refuse_judged(source)
    try:
        reader = reader_of(function, source, arguments)
        reader.columns.check()
        return reader.read()._with(roles=reader.columns.roles)
    except TableError as error:
        raise type(error)(str(error), [_joined(x, arguments) for x in error.remedies]) from None
    except ValueError as error:
        raise TableError(str(error)) from error


def _joined(remedy: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Add the codes that were given before to those of a remedy."""
    return {
        name: [*dict.fromkeys([*texts_of(given.get(name) or ()), *texts_of(value)])]
        if name in ADDED and value is not None and not isinstance(given.get(name), dict)
        else value
        for name, value in remedy.items()
    }
