"""Look: the columns of a table, and every reading that works, with the reason for it."""

import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from bayesrank.data.read import counted
from bayesrank.tables.dispatch import read
from bayesrank.tables.forms import FORMS, Reading, short
from bayesrank.tables.opening import IN_MEMORY, Table, is_orders, open_orders, open_table
from bayesrank.tables.profile import Column, Profile
from bayesrank.tables.select import Rename, Selection, Settings, Texts, Where
from bayesrank.tables.words import (
    MissingColumnsError,
    TableError,
    call_of,
    command_of,
    on_shell,
    spelled,
)

__all__ = ["FoundForm", "Look", "look"]

MOST_ROWS = 60  # columns shown
MOST_NAMED = 20  # columns named in an error
MOST_TRIED = 100_000  # rows on which readings are tried
MOST_WAYS = 4  # ways to decide what a reading leaves open


class _Head(Table):
    """The first selected rows of a table, on which readings are tried."""

    def __init__(self, selection: Selection, frame: pd.DataFrame) -> None:
        self.name, self.names = selection.table.name, selection.names
        self.rows_are, self.is_small = selection.table.rows_are, True
        self._frame, self._grades = frame, selection.table.grades
        self._questions = selection.table.questions

    @property
    def grades(self) -> dict[str, list[str]]:
        """The ordered categories of the whole table."""
        return self._grades

    @property
    def questions(self) -> dict[str, str]:
        """The texts below the names of columns of the whole table."""
        return self._questions

    @property
    def notes(self) -> list[str]:
        """No notes: these belong to the whole table."""
        return []

    def cells(self, columns: Collection[str] | None = None) -> pd.DataFrame:
        """Return the columns with some names, or all."""
        if columns is None:
            return self._frame.copy()
        return self._frame.loc[:, [name in columns for name in self._frame.columns]].copy()


@dataclass(frozen=True)
class FoundForm:
    """A reading that works.

    Attributes
    ----------
    form : str
        Name of the form.
    function : str
        "read_rankings", "read_matches", "read_choices" or "read_scores".
    arguments : dict
        Arguments of the function, complete with what must be decided.
    why : str
        The reason: which columns, which cells.
    decided : bool
        Whether nothing was left to decide: no direction, and no meaning of omitted items.
    """

    form: str
    function: str
    arguments: dict[str, Any]
    why: str
    decided: bool


class Look:
    """What a table contains, and the readings that work; printed as text.

    Attributes
    ----------
    forms : list of FoundForm
        The readings that work, in the order of the table of forms.
    """

    def __init__(
        self, table: Table, settings: Settings, given: dict[str, Any], source: str | None
    ) -> None:
        self.table, self.given, self.source = table, given, source
        selection = Selection(table, settings)
        frame = selection.frame([], every=True, lists=table.names, conditions=True)
        self.notes = selection.notes
        self.profile = Profile(frame, selection.numbers)
        self._tried = _Head(selection, frame.iloc[:MOST_TRIED])

    @cached_property
    def forms(self) -> list[FoundForm]:
        """Try the readings that names and cells suggest, and return those that work."""
        found: list[FoundForm] = []
        seen: list[tuple[str, dict[str, Any]]] = []
        for form in FORMS:
            for reading in form.suggest(self.profile):
                for arguments, decided in self._complete(reading, reading.arguments, MOST_WAYS):
                    if (reading.function, arguments) not in seen:
                        seen.append((reading.function, arguments))
                        fit = decided and reading.decided
                        why = _reason(reading, arguments)
                        found.append(FoundForm(form.name, reading.function, arguments, why, fit))
        return found

    def _complete(
        self, reading: Reading, arguments: dict[str, Any], depth: int
    ) -> Iterator[tuple[dict[str, Any], bool]]:
        """Yield the arguments of a reading with every decision that it needs."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                read(reading.function, self._tried, arguments)
        except TableError as error:
            for remedy in error.remedies if depth else ():
                changed = {name: x for name, x in arguments.items() if name not in remedy}
                changed |= {name: x for name, x in remedy.items() if x is not None}
                for complete, _ in self._complete(reading, changed, depth - 1):
                    yield complete, False
        except (ValueError, TypeError):
            return
        else:
            yield arguments, True

    def __str__(self) -> str:
        """Describe the columns, and write each reading as a command and as a call."""
        return self.text()

    def text(self, *, command_line: bool = False) -> str:
        """Describe the table; without a form, say how to name columns as options or arguments."""
        profile = self.profile
        size = f"{counted(profile.n_rows, 'row')}, {counted(len(profile.columns), 'column')}"
        lines = [f"{self.table.name}: {size}.", "", self.described()]
        if not self.forms:
            lines += ["", self._no_form(command_line)]
        for fit in self.forms:
            lines += ["", *self._written(fit)]
        return "\n".join(lines)

    def _written(self, fit: FoundForm) -> list[str]:
        """Write the reason for a reading, its command if the table is in a file, and its call."""
        command = [] if self.source is None else [f"  {self.command(fit)}"]
        return [f"{_capitalized(fit.why)}:", *command, f"  {self.call(fit)}"]

    def __repr__(self) -> str:
        """Show the text."""
        return self.text()

    def only(self, function: str) -> FoundForm:
        """Return the only reading that works, if nothing is left to decide; or refuse."""
        forms = self.forms
        if len(forms) == 1 and forms[0].decided and forms[0].function == function:
            return forms[0]
        if not forms:
            columns = [f"{c.name!r} ({c.type})" for c in self.profile.columns[:MOST_NAMED]]
            more = len(self.profile.columns) - len(columns)
            also = f" and {more:,} more" if more > 0 else ""
            header = " If its first line contains data, give header=0."
            raise MissingColumnsError(
                f"No form fits all names and cells of {self.table.name}. Say what its columns are: "
                f"{', '.join(columns)}{also}.{header * self.profile.without_header}"
            )
        mine = [fit for fit in forms if fit.function == function]
        ways = [
            f"{fit.why}: {spelled(**fit.arguments)}"
            if fit.function == function
            else f"{fit.why}: {self.call(fit)}"
            for fit in mine or forms
        ]
        raise MissingColumnsError(
            f"Say how to read {self.table.name}. It fits: {'; or '.join(ways)}.",
            [fit.arguments for fit in mine],
        )

    def command(self, fit: FoundForm) -> str:
        """Write a reading as a command of the shell."""
        return command_of(fit.function, self.source or "FILE", {**fit.arguments, **self.given})

    def call(self, fit: FoundForm) -> str:
        """Write a reading as a call of Python."""
        return call_of(fit.function, self.source, {**fit.arguments, **self.given})

    def described(self) -> str:
        """Write the columns as a table of text."""
        rows = [("column", "type", "distinct", "empty", "examples", "seems to be")]
        for column in self.profile.columns[:MOST_ROWS]:
            codes = f"numbers, {', '.join(column.codes[:3])}"
            rows.append((
                column.name,
                codes if column.type == "numbers and codes" else column.type,
                f"{len(column.labels):,}",
                f"{column.n_empty:,}",
                ", ".join(short(label, 20) for label in column.labels[:3]),
                self._role(column),
            ))  # fmt: skip
        return table_of_text(rows, len(self.profile.columns) - MOST_ROWS)

    def _role(self, column: Column) -> str:
        """Say what a column is in the readings."""
        roles = dict[str, None]()
        for fit in self.forms:
            for name, value in fit.arguments.items():
                if column.name in (value if isinstance(value, list) else [value]):
                    roles[name.replace("_", " ")] = None
        if roles:
            return ", ".join(roles)
        if column.type == "dates" or len(column.labels) == 1:
            return "date" if column.type == "dates" else "constant"
        named = column is self.profile.columns[0] or "id" in column.words
        return "identifier" if column.names_rows and named else ""

    def _no_form(self, command_line: bool) -> str:
        """Say how to name columns if no form fits."""
        lines = ["No form fits all names and cells. Say what the columns are."]
        for what, function, arguments in _FORMS_BY_NAME:
            call = f"{call_of(function, self.source, {})[:-1]}, {arguments})"
            if command_line:
                words = command_of(function, self.source or "FILE", {})
                names = re.findall(r"[a-z_]+(?==)", arguments)
                call = f"{words} {on_shell(arguments, names)}"
            lines += ["", f"{what}:", f"  {call}"]
        if self.profile.without_header:
            header = "--header 0" if command_line else "header=0"
            lines += ["", f"If the first line contains data, give {header}."]
        return "\n".join(lines)


_FORMS_BY_NAME = (
    ("One row per ranker and item (high is good; if 1 is best, give rank, and if low is good, "
     "result)", "read_rankings", "ranker=COLUMN, item=COLUMN, rating=COLUMN"),
    ("One row per ranking: ranks, ratings, results or places", "read_rankings",
     "wide='ranks', column=COLUMN"),
    ("One row per ballot", "read_rankings", "ballot=COLUMN"),
    ("One row per match", "read_matches", "first=COLUMN, second=COLUMN, outcome=COLUMN"),
    ("One row per match, if columns name the winner and the loser. If a row counts several "
     "matches, write a row for each outcome, with its count", "read_matches",
     "winner=COLUMN, loser=COLUMN"),
    ("One row per item of a task", "read_choices",
     "respondent=COLUMN, task=COLUMN, item=COLUMN, best=COLUMN, worst=COLUMN"),
)  # fmt: skip


class OrdersLook(Look):
    """What a file of orders contains; its reading needs no columns."""

    def __init__(self, source: Any, given: dict[str, Any]) -> None:
        listed = given.get("listed")
        self.orders, self.given = open_orders(source, listed=listed), given
        self.source = str(getattr(source, "name", source))
        self.notes = tuple(self.orders.notes)

    @cached_property
    def forms(self) -> list[FoundForm]:
        """Read the orders, with every decision that they need."""
        reading = Reading("read_rankings", {}, "a file of orders needs no columns")
        found = []
        for missing in (None, "last", "drop"):
            arguments = {} if missing is None else {"missing": missing}
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    read("read_rankings", self.orders, {**self.given, **arguments})
            except TableError:
                continue
            why = _reason(reading, arguments)
            found.append(FoundForm("orders", reading.function, arguments, why, missing is None))
            if missing is None:
                break
        return found

    def text(self, *, command_line: bool = False) -> str:
        """Describe the items, and write each reading as a command and as a call."""
        orders = self.orders
        voters = f"{sum(orders.voters):,.12g}"
        rows = [("item", "first", "in orders")]
        for item in orders.alternatives[:MOST_ROWS]:
            blocks = [[b if isinstance(b, frozenset) else {b} for b in o] for o in orders.orderings]
            first = sum(v for o, v in zip(blocks, orders.voters, strict=True) if item in o[0])
            named = sum(
                v for o, v in zip(blocks, orders.voters, strict=True) if any(item in b for b in o)
            )
            rows.append((short(item, 40), f"{first:,.12g}", f"{named:,.12g}"))
        size = f"{len(orders.orderings):,} different orders by {voters} voters"
        name = "standard input" if self.source == "-" else self.source
        lines = [f"{name}: {size}.", ""]
        lines += [table_of_text(rows, len(orders.alternatives) - MOST_ROWS)]
        for fit in self.forms:
            lines += ["", *self._written(fit)]
        return "\n".join(lines)


def look(
    source: Any,
    *,
    encoding: str | None = None,
    separator: str | None = None,
    decimal: Any = None,
    header: int | None = None,
    where: Where = (),
    rename: Rename = None,
    empty: Texts = (),
    missing: Any = None,
    merge: bool = False,
) -> Look:
    """Show the columns of a table, and every way to read it that works.

    Each way is printed as a command and as a call of Python, with the reason for it, and complete
    with what must be decided. No way is chosen: a direction, for example, is never guessed.

    Parameters
    ----------
    source : path, address, "-", DataFrame, or list of dicts
        As in `read_rankings`.
    encoding, separator, decimal, header, where, rename, empty, missing, merge : optional
        As in `read_rankings`.

    Returns
    -------
    Look
        ``print(look)`` shows the text, and ``look.forms`` lists the readings.

    See Also
    --------
    read_rankings, read_matches, read_choices

    Examples
    --------
    >>> import bayesrank as br
    >>> games = [{"winner": "ash", "loser": "elm"}, {"winner": "elm", "loser": "fir"}]
    >>> [(fit.function, fit.arguments) for fit in br.look(games).forms]
    [('read_matches', {'winner': 'winner', 'loser': 'loser'})]
    """
    opening = {"encoding": encoding, "separator": separator, "header": header}
    given: dict[str, Any] = {name: value for name, value in opening.items() if value is not None}
    if is_orders(source):
        return OrdersLook(source, {} if missing is None else {"missing": missing})
    table = open_table(source, encoding=encoding, separator=separator, header=header)
    settings = Settings(missing, empty, decimal, where, rename, merge)
    selecting = {"decimal": decimal, "where": where, "rename": rename, "empty": empty}
    selecting |= {"missing": missing, "merge": merge}
    given |= {name: value for name, value in selecting.items() if value}
    is_path = isinstance(source, str) or hasattr(source, "__fspath__")
    name = str(source) if is_path else None
    if isinstance(source, Table) and source.name != IN_MEMORY:
        name = source.name
    return Look(table, settings, given, name)


def table_of_text(rows: Sequence[tuple[str, ...]], more: int) -> str:
    """Write rows as a table of text with aligned columns."""
    cells = [[short(cell, 30) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(cell.ljust(n) for cell, n in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    return "\n".join([*lines, *([f"... and {more:,} more"] if more > 0 else [])])


def _reason(reading: Reading, arguments: dict[str, Any]) -> str:
    """Give the reason for a reading, and what its decisions mean."""
    added = {k: v for k, v in arguments.items() if k not in reading.arguments}
    meaning = {"last": "omitted items come last", "drop": "omitted items were not presented"}
    if reading.function != "read_rankings":
        meaning = {"drop": "rows without an answer are left out"}
    missing = meaning.get(added.pop("missing", None))
    ways = [spelled(**added)] if added else []
    ways += [] if missing is None else [missing]
    return f"{reading.why}; if {' and '.join(ways)}" if ways else reading.why


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]
