"""Open: any source gives named columns of text as it is written, with line numbers.

A source is a file, a folder of tables, an address, standard input ("-") or a pipe. It may also be a
table of pandas, polars or pyarrow, or a list of dicts. `text` splits text into cells, `typed` reads
formats that store types, and `sources` copies what is not on this machine.
"""

import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pandas as pd
import pyarrow as pa

from bayesrank.data.read.formats import KNOWN, TABLES, TEXT
from bayesrank.data.read.labels import counted, label_repr, quoted
from bayesrank.data.read.orders import ORDERS, Ordering, read_orders
from bayesrank.data.read.text import BROKEN, COMPRESSED, content, decoded, one_line
from bayesrank.tables.sources import Source, located, name_suffix
from bayesrank.tables.text import GIVEN, NoRowsError, TextTable, long_cells, text_table
from bayesrank.tables.typed import (
    TypedTable,
    arrow_table,
    frame_table,
    json_table,
    label_text,
    parquet_table,
    records_table,
    sheet_table,
)
from bayesrank.tables.words import TableError, spelled

__all__ = [
    "Orders",
    "Source",
    "Table",
    "is_orders",
    "label_text",
    "located",
    "open_orders",
    "open_table",
]

IN_MEMORY = "the table"  # what messages call a table that is not in a file
SMALL = 30_000_000  # bytes of a file, or cells of a frame, up to which all columns may be read


class Table:
    """An opened table: named columns of text as it is written, with line numbers.

    Attributes
    ----------
    name : str
        What messages call it: the file as the user named it, the address, or "the table".
    names : pandas.Index
        Names of all columns, in the order of the file. A name may occur twice.
    rows_are : str
        "line" if the index of `cells` has lines of a file, or "row" if it has rows from 0.
    grades : dict of str to list of str
        Ordered categories, lowest first, of the columns of a frame that have them.
    is_small : bool
        Whether it costs little to read all columns.
    """

    def __init__(self, name: str, found: "_Columns", size: int, source: Source | None) -> None:
        self.name, self.rows_are, self.is_small = name, found.rows_are, size <= SMALL
        self.names = pd.Index(found.names, dtype=object)
        self._found, self._spaces = found, 0
        self._source = source  # a copy is removed with it

    def __repr__(self) -> str:
        return f"Table({self.name!r}, {[*self.names]})"

    @property
    def notes(self) -> list[str]:
        """Sentences about what was found: separator, encoding, header, and spaces removed."""
        notes = []
        if self._found.findings:
            notes.append(f"{self.name} is read with {', '.join(self._found.findings)}.")
        notes += self._found.notes
        if self._spaces:
            notes.append(f"Removed spaces around {counted(self._spaces, 'cell')}.")
        return notes

    @property
    def grades(self) -> dict[str, list[str]]:
        """Ordered categories, lowest first, of the columns that have been read."""
        return self._found.grades

    @property
    def questions(self) -> dict[str, str]:
        """The texts below the names of columns in a survey export, such as those of questions."""
        return self._found.questions if isinstance(self._found, TextTable) else {}

    def cells(self, columns: Collection[str] | None = None) -> pd.DataFrame:
        """Read the columns with some names, or all; names that no column has are ignored.

        Cells are text without spaces around it, or NaN where they are empty. Nested cells are lists
        of text. Columns of numbers and dates of a Parquet file or a frame keep their type;
        `label_text` writes them as labels. Columns of a text without a name and without cells are
        left out.
        """
        at = [n for n, name in enumerate(self.names) if columns is None or name in columns]
        if columns is not None:
            chosen = self.names[at]
            twice = chosen[chosen.duplicated()]
            if len(twice):
                raise TableError(
                    f"{self.name} has {(chosen == twice[0]).sum()} columns called {twice[0]!r}; "
                    "rename them."
                )
        with long_cells(), _sentences(self.name, self._source):
            frame, spaces = self._found.cells(at)
        self._spaces = max(self._spaces, spaces)
        return frame


class _Folder:
    """The tables of a folder, below each other, with a column "file"."""

    def __init__(self, folder: str, tables: Sequence[tuple[str, "_Columns"]]) -> None:
        self._tables = tables
        named = [[*_occurrences(table)] for _, table in tables]
        first = [name for name, unnamed in named[0] if not unnamed]
        for (path, _), names in zip(tables, named, strict=True):
            mine = [name for name, unnamed in names if not unnamed]
            unlike = {*mine} ^ {*first}
            if unlike:
                one = next(name for name, _ in [*mine, *first] if (name, 0) in unlike)
                raise TableError(
                    f"All tables of the folder {folder} must have the same columns, but "
                    f"{label_repr(one)} is not in both {tables[0][0]} and {path}."
                )
        common = {name for name, _ in named[0]}.intersection(*({n for n, _ in x} for x in named))
        self._columns = [name for name, _ in named[0] if name in common]
        self.names = [name for name, _ in self._columns]
        self._has_file = "file" not in self.names
        if self._has_file:
            self.names.append("file")
        self.rows_are: str = tables[0][1].rows_are
        self.findings: list[str] = []
        self.notes = [f"{len(tables)} tables of the folder {folder} are read as one."]
        if any(len(names) > len(common) for names in named):
            self.notes.append("Columns without a name that only some tables have are left out.")
        found = Counter(", ".join(table.findings) for _, table in tables if table.findings)
        self.notes += [f"{counted(n, 'table')} read with {text}." for text, n in found.items()]
        for _, table in tables:
            self.notes += [note for note in table.notes if note not in self.notes]

    @property
    def grades(self) -> dict[str, list[str]]:
        return {name: grades for _, table in self._tables for name, grades in table.grades.items()}

    def cells(self, at: Sequence[int]) -> tuple[pd.DataFrame, int]:
        frames, spaces = [], 0
        for path, table in self._tables:
            places = {name: n for n, (name, _) in enumerate(_occurrences(table))}
            chosen = [self._columns[k] for k in at if k < len(self._columns)]
            frame, n = table.cells([places[name] for name in chosen])
            spaces += n
            if len(self._columns) in at:
                frame = frame.assign(file=_file_label(path))
            lines = [f"{line} of {path}" for line in frame.index]
            frames.append(frame.set_axis(pd.Index(lines, name=self.rows_are)))
        if len({tuple(frame.columns) for frame in frames}) == 1:
            return pd.concat(frames), spaces
        order = [*dict.fromkeys(name for frame in frames for name in frame.columns)]
        return pd.concat([frame.reindex(columns=order) for frame in frames]), spaces


type _Columns = TextTable | TypedTable | _Folder


def _occurrences(table: _Columns) -> Iterator[tuple[tuple[str, int], bool]]:
    """Yield each name of a column with its number among equal names, and whether it is made up."""
    unnamed = table.unnamed if isinstance(table, TextTable) else ()
    seen = Counter[str]()
    for n, name in enumerate(table.names):
        yield (name, seen[name]), n in unnamed
        seen[name] += 1


def _file_label(path: str) -> str:
    """Return the name of a file without the suffixes of its format and compression."""
    found = Path(path)
    while found.suffix.lower() in COMPRESSED:
        found = found.with_suffix("")
    return found.stem if found.suffix.lower() in TABLES else found.name


def open_table(
    source: Any,
    *,
    encoding: str | None = None,
    separator: str | None = None,
    header: int | None = None,
) -> Table:
    """Open a table.

    Parameters
    ----------
    source : path, str, table or list of dict
        A file, a folder of tables, an address such as ``https://...``, or ``"-"`` for standard
        input. It may also be a table of pandas, polars or pyarrow, or a list of dicts. A `Table` is
        returned unchanged.
    encoding : str, optional
        Encoding of a text; by default UTF-8, or UTF-16 if detected.
    separator : str, optional
        Separator of the columns of a text, such as ``";"`` or ``"tab"``. Runs of blanks are
        ``"blank"``, and runs of at least two are ``"two blanks"``. By default, the one with
        which all lines have as many cells as the header.
    header : int, optional
        Line of the header in a text or sheet, or 0 if there is none.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the source is empty, in another format, or cannot be parsed.

    Examples
    --------
    >>> from bayesrank.tables.opening import open_table
    >>> open_table([{"winner": 7, "loser": "07"}]).cells()
        winner loser
    row
    0        7    07
    """
    if isinstance(source, Table):
        return source
    if isinstance(source, str | os.PathLike):
        source = located(source)
    if isinstance(source, Source):
        settings = encoding, _separator(separator), header
        if source.path.is_dir():
            return _open_folder(source, settings)
        return Table(source.name, _open_file(source, *settings), source.size, source)
    found = _open_frame(source)
    size = len(found.names) * len(source)
    if not len(source):
        raise TableError("The table has no rows.")
    return Table(IN_MEMORY, found, size, None)


def _open_frame(source: Any) -> TypedTable:
    """Open a table in memory."""
    if isinstance(source, pd.DataFrame):
        return frame_table(source)
    if hasattr(source, "__arrow_c_stream__"):
        return arrow_table(pa.table(source))
    if isinstance(source, list | tuple) and all(isinstance(row, Mapping) for row in source):
        return records_table(source)
    raise TableError(
        "Expected a path, an address, a table of pandas, polars or pyarrow, or a list of dicts; "
        f"got {type(source).__name__}."
    )


def _open_folder(source: Source, settings: tuple[str | None, str | None, int | None]) -> Table:
    paths = sorted(
        path
        for path in source.path.iterdir()
        if not path.name.startswith(".") and Source(path, path.name).suffix in TABLES
    )
    if not paths:
        raise TableError(f"The folder {source.name} contains no tables.")
    files = [Source(path, str(path)) for path in paths]
    tables = [(file.path.name, _open_file(file, *settings)) for file in files]
    return Table(source.name, _Folder(source.name, tables), sum(f.size for f in files), source)


def _open_file(
    source: Source, encoding: str | None, separator: str | None, header: int | None
) -> TextTable | TypedTable:
    """Open a file by its suffix."""
    path, suffix = source.path, source.suffix
    if suffix not in TABLES:
        raise TableError(f"{source.name} is not a supported table; expected {KNOWN}.")
    with long_cells(), _sentences(source.name, source):
        if suffix in TEXT:
            text, found = decoded(content(path), encoding)
            table = text_table(text, TEXT[suffix], separator, header)
            if found not in ("utf-8", "utf-8-sig"):
                table.findings.append(f"the encoding {found.upper()}")
            return table
        if suffix == ".xlsx":
            return sheet_table(path, header)
        if suffix in (".parquet", ".pq"):
            return parquet_table(path)
        return json_table(path, encoding)


def _separator(given: str | None) -> str | None:
    """Check a separator."""
    if given is None or given in GIVEN or (len(given) == 1 and given not in '"\n\r'):
        return given
    raise TableError(
        "A separator must be one character, such as ';' or '|', or the word tab, blank or two "
        f"blanks; got {label_repr(given)}."
    )


@contextmanager
def _sentences(name: str, source: Source | None) -> Iterator[None]:
    """Name the table in errors about its content."""
    kind = source.suffix[1:] if source is not None else ""
    before = f"{name} is not a readable {kind} table" if kind else f"{name} is not readable"
    try:
        yield
    except pd.errors.EmptyDataError:
        raise TableError(f"{name} is empty.") from None
    except NoRowsError:
        raise TableError(f"{name} has a header but no rows.") from None
    except ImportError:
        raise TableError(
            f"Reading {name} needs the package openpyxl. Install it with "
            f"pip install 'bayesrank[excel]', or save the sheet as CSV."
        ) from None
    except BROKEN as error:
        remedies = getattr(error, "remedies", ())
        raise TableError(f"{before}: {one_line(error)}", remedies) from error


# Orders


class Orders(NamedTuple):
    """Orders of a file that has no columns.

    Attributes
    ----------
    alternatives : list of str
        All items.
    orderings : list
        Orders of items, best first; a frozenset is a tie.
    voters : list of int
        Number of voters of each order.
    rest : "items", () or None
        What the format says about omitted items: they share the last place, they were not
        presented, or it says nothing.
    notes : list of str
        Sentences about what was read.
    weights : list of int, optional
        Weight of the votes of each order.
    """

    alternatives: list[str]
    orderings: list[Ordering]
    voters: list[int]
    rest: Literal["items"] | tuple[()] | None
    notes: list[str]
    weights: list[int] | None = None


def is_orders(source: Any) -> bool:
    """Whether a source is a file of orders: PrefLib, .blt or Condorcet election format."""
    if isinstance(source, Orders):
        return True
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if path.suffix.lower() == ".zip" and path.is_file():
            source = located(path)
        else:
            return name_suffix(source) in ORDERS
    return isinstance(source, Source) and source.suffix in ORDERS


def open_orders(source: Any, *, listed: Literal["ranked", "ticked"] | None = None) -> Orders:
    """Read a file of orders, from where `open_table` finds tables.

    A .cat file of PrefLib does not say whether its categories are listed from best to worst, so
    ``listed="ranked"`` must say so.
    """
    if isinstance(source, Orders):
        return source
    if not isinstance(source, Source):
        source = located(source)
    try:
        found = read_orders(source.path, source.name, source.suffix)
    except ValueError as error:
        raise TableError(str(error)) from error
    notes = [*found.notes]
    if found.categories:
        if listed != "ranked":
            raise TableError(
                f"{source.name} has the categories {quoted(found.categories, 10)}. The file does "
                f"not say that they are listed from best to worst. If they are, use "
                f"{spelled(listed='ranked')}. Otherwise, change their order in the file.",
                [{"listed": "ranked"}],
            )
        notes.append(f"Categories are read from best to worst: {quoted(found.categories, 10)}.")
    return Orders(
        found.alternatives, found.orderings, found.voters, found.rest, notes, found.weights
    )
