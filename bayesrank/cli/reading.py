"""Reading: the options of a command become a call of a reader."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click

from bayesrank.cli.options import MatchColumns, RankColumns, Table, shown
from bayesrank.tables import (
    MissingColumnsError,
    TableError,
    look,
    open_table,
    read_choices,
    read_coming,
    read_matches,
    read_rankings,
)
from bayesrank.tables import Table as Opened
from bayesrank.tables.look import Look
from bayesrank.tables.opening import is_orders, open_orders
from bayesrank.tables.words import options_of

READERS: dict[str, Callable[..., Any]] = {
    "read_rankings": read_rankings, "read_matches": read_matches, "read_choices": read_choices,
}  # fmt: skip
COMMANDS = {"read_rankings": "rank", "read_matches": "matches", "read_choices": "choices"}


class FittingForm(NamedTuple):
    """A form that fits a table: its command, its options, and whether nothing must be decided."""

    command: str
    options: list[str]
    decided: bool


def source_of(file: Path) -> str:
    """Return a source as the user typed it; a path keeps only one slash of an address."""
    return re.sub(r"^([a-z][a-z0-9+.-]+):/+", r"\1://", str(file))


def opened(file: Path, columns: Table) -> Any:
    """Open the table of a command, or its orders."""
    source = source_of(file)
    if is_orders(source):
        listed = getattr(columns, "listed", None)
        return open_orders(source, listed=listed)
    return open_table(source, **columns.opening)


def read(source: Any, columns: RankColumns | MatchColumns) -> tuple[Any, Any]:
    """Read the data, and the future matches or rankings if there may be some."""
    try:
        data = READERS[columns.function](source, **columns.arguments)
    except MissingColumnsError as error:
        raise click.UsageError(f"{error} {listed(source, columns)}".rstrip()) from None
    if columns.date is None or (isinstance(columns, RankColumns) and columns.coming is None):
        return data, None
    more = None if columns.coming is None else opened(columns.coming, columns)
    return data, read_coming(source, data, more, **columns.arguments)


def look_at(file: Path, columns: Table) -> Look:
    """Look at a table."""
    given = {**columns.opening, **columns.selecting}
    return look(source_of(file), **given)


def forms_of(source: Any, columns: Table, file: Path) -> tuple[list[FittingForm], str]:
    """Find the forms that fit a table, and write them as commands."""
    found = look(source, **columns.selecting)
    found.source = source_of(file)
    fits = [
        FittingForm(COMMANDS[fit.function], options_of(fit.arguments), fit.decided)
        for fit in found.forms
    ]
    lines = [f"The columns of {shown(file)} do not tell how to read it."]
    if fits:
        lines = [f"{shown(file)} can be read in several ways, or something must be decided."]
        if len(fits) == 1 and found.forms[0].decided:
            lines = [f"{shown(file)} fits another command."]
        for fit in found.forms:
            lines += [f"  {fit.why}:", f"    {found.command(fit)}"]
    else:
        lines += [listed(source, columns), "`bayesrank look` shows what the columns contain."]
    return fits, "\n".join(lines)


def listed(source: Any, columns: Table) -> str:
    """List the columns of a table, for an error about missing options."""
    if not isinstance(source, Opened):
        return ""
    found = look(source, **columns.selecting)
    names = [f"{column.name!r} ({column.type})" for column in found.profile.columns[:20]]
    more = len(found.profile.columns) - len(names)
    also = f" and {more:,} more" if more > 0 else ""
    data = " If its first line contains data, use --header 0." * found.profile.without_header
    return f"{source.name} has the columns {', '.join(names)}{also}.{data}"


__all__ = ["FittingForm", "TableError", "forms_of", "listed", "look_at", "opened", "read"]
