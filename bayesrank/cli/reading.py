"""Reading: the options of a command become a call of a reader."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from bayesrank.cli.options import ARGUMENTS, MatchColumns, RankColumns, Table, shown
from bayesrank.tables import (
    MissingColumnsError,
    look,
    open_table,
    read_choices,
    read_coming,
    read_matches,
    read_rankings,
    read_scores,
)
from bayesrank.tables import Table as Opened
from bayesrank.tables.look import Look
from bayesrank.tables.opening import is_orders, open_orders
from bayesrank.tables.words import call_of, on_shell, options_of

READERS: dict[str, Callable[..., Any]] = {
    "read_rankings": read_rankings, "read_matches": read_matches, "read_choices": read_choices,
    "read_scores": read_scores,
}  # fmt: skip


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
        text = on_shell(str(error), ARGUMENTS)
        raise click.UsageError(f"{text} {listed(source, columns)}".rstrip()) from None
    if columns.date is None or (isinstance(columns, RankColumns) and columns.coming is None):
        return data, None
    more = None if columns.coming is None else opened(columns.coming, columns)
    return data, read_coming(source, data, more, **columns.arguments)


def write_call(file: Path, columns: RankColumns | MatchColumns) -> str:
    """Write the call of Python that reads the table of a command."""
    defaults = inspect.signature(READERS[columns.function]).parameters
    given = {**columns.opening, **columns.arguments}
    differ = {
        name: x for name, x in given.items() if x not in (defaults[name].default, None, (), [])
    }
    return call_of(columns.function, source_of(file), differ)


def look_at(file: Path, columns: Table) -> Look:
    """Look at a table."""
    given = {**columns.opening, **columns.selecting}
    return look(source_of(file), **given)


def only_form(source: Any, columns: RankColumns | MatchColumns, file: Path) -> list[str]:
    """Find the only form that fits a table, and return its options."""
    found = look(source, **columns.selecting)
    found.source = source_of(file)
    forms = found.forms
    function = columns.function
    if not forms or (len(forms) == 1 and forms[0].decided and forms[0].function == function):
        try:
            return options_of(found.only(function).arguments)
        except MissingColumnsError as error:
            text = on_shell(str(error), ARGUMENTS)
            raise click.UsageError(f"{text} `bayesrank look` shows what they contain.") from None
    one = len(forms) == 1 and forms[0].decided
    name = shown(file)
    lines = [f"{name} fits another command." if one else f"Say how to read {name}. It fits:"]
    for fit in forms:
        lines += [f"  {on_shell(fit.why, ARGUMENTS)}:", f"    {found.command(fit)}"]
    raise click.UsageError("\n".join(lines))


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
