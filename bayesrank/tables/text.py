"""Text tables: the separator, the header and the cells of a text.

Cells stay text. The separator and the header are decided from the lines, or asked for. The meaning
of cells is never guessed.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bayesrank.data.read.labels import LINE, counted, quoted
from bayesrank.data.read.text import SEPARATOR_LINE, SEPARATORS
from bayesrank.tables.words import TableError, spelled

TABS = "\t+"  # a run of tabs is one separator
BLANKS = " +"  # a run of blanks or tabs is one separator
WIDE = "  +"  # two blanks or more, or tabs, are one separator
NAMES_OF_ROWS = "row"  # the column of names of rows, which have none in the header

_RUNS = {TABS: "runs of tabs", BLANKS: "runs of blanks", WIDE: "two blanks or more"}
_SPELLED = {"\t": "tab", TABS: "tab", BLANKS: "blank", WIDE: "two blanks"}
GIVEN = {"tab": "\t", "\\t": "\t", " ": BLANKS, "blank": BLANKS, "two blanks": WIDE}
_TOKEN = {
    TABS: re.compile(r"[^\t]+"),
    BLANKS: re.compile(r'"(?:[^"\\]|""|\\.)*"(?!\S)|[^ \t]+'),
    WIDE: re.compile(r'"(?:[^"\\]|""|\\.)*"(?=[ \t]{2}|\t|$)|[^ \t]+(?: [^ \t]+)*'),
}
_LOOKED_AT = 20_000  # characters used to detect the separator, if their lines agree
_END = "\0 end of the text"  # read as a separate row unless a quotation mark is open
_ANSWERS = ("", "response", "open-ended response")  # SurveyMonkey's second names of columns
_IMPORT = '{"ImportId"'  # begins each cell of the last header line of Qualtrics
_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)?")
_COMMA = re.compile(r"(?=(^|.),(.|$))")  # the characters around a comma
_SIGNS = ("<", ">", "=", "<=", ">=", "*", "|", "~", "&")  # between items of a ballot

type Record = tuple[int, list[str]]


class NoRowsError(Exception):
    """A table with a header but without rows."""


class Header(NamedTuple):
    """The names of columns, and the first records below."""

    line: int
    record: list[str]  # cells as written
    names: list[str]
    rows: list[Record]
    lines: int  # number of header lines
    questions: Sequence[str] = ()  # texts below the names, in survey exports


class CellCache(dict[str, Any]):
    """Cells without surrounding spaces, each stored once; an empty cell becomes NaN."""

    spaces = 0  # cells with spaces around them

    def __init__(self) -> None:
        super().__init__({"": np.nan})

    def __missing__(self, cell: str) -> Any:
        bare = cell.strip()
        if bare == cell:
            self[cell] = cell
            return cell
        self.spaces += 1
        return self[bare]


class TextTable:
    """The records of a text or a sheet, and the names of their columns.

    Attributes
    ----------
    names : list of str
        Names of all columns.
    findings : list of str
        Unusual properties of the text.
    notes : list of str
        Sentences about what was decided.
    """

    def __init__(
        self,
        records: Callable[[], Iterator[Record]],
        header: int | None,
        *,
        mark: str = ",",
        row_names: bool | None = None,
    ) -> None:
        self._records, self._header, self.mark = records, header, mark
        self.rows_are = LINE
        self.grades: dict[str, list[str]] = {}
        self.findings: list[str] = []
        self.notes: list[str] = []
        found = records()
        head = header_of(found, header)
        if header == 0:
            widest = max(_width(record) for _, record in chain(head.rows, found))
            names = [f"column {n}" for n in range(1, widest + 1)]
            head = head._replace(record=names, names=names)
        elif not head.rows and next(found, None) is None:
            raise NoRowsError
        if head.lines > 1:
            self.findings.append(f"names from the first {head.lines} lines, as in a survey export")
        if header is None:
            self._refuse_data_as_header(head)
        if head.lines == 1 and row_names is not False and self._has_names_of_rows(head):
            taken = NAMES_OF_ROWS in head.names
            name = "names of rows" if taken else NAMES_OF_ROWS
            head = head._replace(record=[name, *head.record], names=[name, *head.names])
            self.notes.append(
                f"The header has one name less than the lines below, so the first column is called "
                f"{name!r}."
            )
        self.unnamed = {n for n, name in enumerate(head.record) if not name.strip()}
        self.head = head
        self.names = list(head.names)
        self.questions = dict(zip(head.names, head.questions, strict=False))
        self._drop_empty_ends()

    def _has_names_of_rows(self, head: Header) -> bool:
        """Whether each line has one cell more than the header, and begins with a name of a row."""
        n = len(head.record) + 1
        few = head.rows[:2]
        if len(few) < 2 or not all(len(record) == n and record[-1].strip() for _, record in few):
            return False
        names = set()
        for n_rows, (_, record) in enumerate(self._below(head), start=1):
            names.add(record[0])
            if len(record) != n or len(names) < n_rows:
                return False
        return True

    def _below(self, head: Header) -> Iterator[Record]:
        """Yield the records below the header."""
        records = self._records()
        header_of(records, self._header)
        return chain(head.rows, records)

    def _refuse_data_as_header(self, head: Header) -> None:
        """Refuse a first line that may be data: only numbers, or cells that come again below."""
        names = [name.strip() for name in head.record]
        below = [record for _, record in islice(self._below(head), 100)]
        numbers = all(map(_NUMBER.fullmatch, names)) and all(
            not cell.strip() or _NUMBER.fullmatch(cell.strip()) for row in below for cell in row
        )
        again = all(
            name and any(n < len(row) and row[n].strip() == name for row in below)
            for n, name in enumerate(names)
        )
        if head.lines == 1 and (numbers or again):
            what = "holds only numbers, as the lines below" if numbers else "holds cells of a row"
            raise TableError(
                f"line {head.line} {what}: {quoted(names, 4)}. If it is a row, use "
                f"{spelled(header=0)}. If it has the names of the columns, use "
                f"{spelled(header=head.line)}.",
                [{"header": 0}, {"header": head.line}],
            )

    def _drop_empty_ends(self) -> None:
        """Drop columns at the end without a name and without cells, as of a trailing separator."""
        n = len(self.names)
        left = n
        while left and left - 1 in self.unnamed:
            left -= 1
        if left == n:
            return
        for _, record in self._below(self.head):
            if left < len(record) <= n:
                used = [k for k in range(left, len(record)) if record[k].strip()]
                left = max([left, *(k + 1 for k in used)])
            if left == n:
                return
        del self.names[left:]

    def cells(self, at: Sequence[int]) -> tuple[pd.DataFrame, int]:
        """Read the columns at some positions, and count the cells with spaces around them.

        Empty cells become NaN, and empty rows are left out. The index is the line of each row.
        """
        known = CellCache()
        kept: list[Any] = []  # one flat list: a list per row would slow down garbage collection
        lines: list[int] = []
        head = self.head
        n_names, chosen = len(head.names), [*at]
        if head.lines == 1:
            known.spaces += sum(
                head.record[k] != head.names[k] for k in chosen if k not in self.unnamed
            )
        every = chosen == [*range(n_names)]
        pick = itemgetter(*chosen) if len(chosen) > 1 else None
        cell = known.__getitem__
        for line, record in self._below(head):
            n = len(record)
            if n > n_names and any(map(str.strip, record[n_names:])):
                self._refuse_longer(line, n)
            if n < n_names:
                record += [""] * (n_names - n)
            if every and n <= n_names:
                kept.extend(map(cell, record))
            elif pick is not None:
                kept.extend(map(cell, pick(record)))
            elif chosen:
                kept.append(cell(record[chosen[0]]))
            lines.append(line)
        table = np.array(kept, dtype=object).reshape(len(lines), len(chosen))
        frame = pd.DataFrame(table, pd.Index(lines, name=LINE), chosen, dtype=object)
        # keep an unnamed column with cells, such as an index; drop an unnamed column without cells
        left = [n for n in chosen if n not in self.unnamed or frame[n].notna().any()]
        frame = frame[left]
        frame.columns = pd.Index([head.names[n] for n in left], dtype=object)
        return frame, known.spaces

    def _refuse_longer(self, line: int, n: int) -> None:
        """Refuse a record with more cells than the header; say what may be the header."""
        head = self.head
        first = self.mark.join(head.record).strip()[:60]
        message = (
            f"line {line} has {counted(n, 'field')}, but the header in line {head.line} has "
            f"{counted(len(head.names), 'name')}: {first!r}. Correct line {line}."
        )
        remedies: list[dict[str, Any]] = []
        if self._header != 0:
            if all(len(record) == len(head.names) + 1 for _, record in self._below(head)):
                message += " If each line begins with the name of a row, begin the header with one."
            if self._may_be_header(line):
                remedies.append({"header": line})
                message += f" If line {head.line} is a title, use {spelled(header=line)}."
            remedies.append({"header": 0})
            message += f" If the table has no header, use {spelled(header=0)}."
        raise TableError(message, remedies)

    def _may_be_header(self, line: int) -> bool:
        """Whether all records below a line have at most as many cells as it has names."""
        records = ((at, record) for at, record in self._records() if at >= line)
        _, names = next(records)
        below = [len(record) for _, record in records]
        bare = [name.strip() for name in names]
        texts = all(bare) and len({*bare}) == len(bare) and not any(map(_NUMBER.fullmatch, bare))
        return texts and bool(below) and max(below) <= len(names)


def header_of(records: Iterator[Record], header: int | None) -> Header:
    """Find the names of the columns in the first records, or in line `header`."""
    if header:
        for line, record in records:
            if line >= header:
                records = chain([(line, record)], records)
                break
    rows = list(islice(records, 3 if header is None else 1))
    if not rows:
        raise pd.errors.EmptyDataError
    line, first = rows[0]
    names = [name.strip() or f"column {n}" for n, name in enumerate(first, start=1)]
    if header == 0:
        names = [f"column {n}" for n in range(1, len(first) + 1)]
        return Header(line, names, names, rows, 0)
    for n, (_, record) in enumerate(rows[1:], start=1):
        if any(cell.startswith(_IMPORT) for cell in record):
            return Header(line, first, names, rows[n + 1 :], n + 1, rows[1][1] if n > 1 else ())
    if len(rows) > 1:
        second = [cell.strip() for cell in rows[1][1]]
        empty = [n for n, name in enumerate(first) if not name.strip()]
        answers = not second[0] or any(cell.casefold() in _ANSWERS[1:] for cell in second)
        options = [second[n] for n in empty] if len(second) == len(first) else []
        if header is None and answers and len(options) > 1 and all(map(_is_name, options)):
            pairs = zip(names, second, strict=True)
            names = [one if two.casefold() in _ANSWERS else two for one, two in pairs]
            return Header(line, first, names, rows[2:], 2)
    return Header(line, first, names, rows[1:], 1)


def _width(record: Sequence[str]) -> int:
    """Return the number of cells without empty ones at the end."""
    return max(n for n, cell in enumerate(record, start=1) if cell.strip())


def _is_name(cell: str) -> bool:
    """Whether a cell may be the name of a column; a number is not."""
    return any(map(str.isalpha, cell))


# Records


@contextmanager
def long_cells() -> Iterator[None]:
    """Read cells of any length; the csv module has one limit for all its readers."""
    limit = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def csv_records(text: str, separator: str) -> Iterator[Record]:
    """Yield the records with a cell, and their first lines."""
    reader = csv.reader(chain(_lines(text), [_END]), delimiter=separator, strict=True)
    begin = 1
    lines: list[str] = []
    regular = 0
    try:
        for record in reader:
            at, begin = begin, reader.line_num + 1
            n = len(record)
            if n <= 1 and record == [_END]:
                return
            if n and (record[0].strip() or any(map(str.strip, record))):
                if begin - at > 1:
                    lines = lines or text.split("\n")
                    if _is_swallowed(lines[at - 1 : begin - 1], separator, regular or n, n):
                        raise _stray_mark(at, begin - 1)
                regular = n
                yield at, record
    except csv.Error as error:
        if "unexpected end" in str(error):
            message = f"line {begin} opens a cell with a quotation mark that is never closed."
            raise ValueError(message) from None
        raise _stray_mark(begin, reader.line_num) from None


def _is_swallowed(lines: list[str], separator: str, regular: int, joined: int) -> bool:
    """Whether a stray mark has joined lines into one record of `joined` cells.

    Then each line alone has the regular number of cells.
    """
    alone = {len(line.split(separator)) for line in lines}
    return regular > 1 and alone == {regular} and (len(lines) > 2 or joined != regular)


def _stray_mark(first: int, last: int) -> ValueError:
    """Say that a mark of a cell that begins in one line does not belong there."""
    if first == last:
        return ValueError(
            f"line {first} has a quoted cell with text behind its closing quotation mark. Double "
            "the marks inside a quoted cell, or remove what follows it."
        )
    return ValueError(
        f"line {first} opens a cell with a quotation mark that closes in line {last}, so that "
        "these lines would be one row. Remove the mark that does not belong there, or double it "
        "inside a quoted cell."
    )


def blank_records(text: str, runs: str) -> Iterator[Record]:
    """Yield the records of a text in which a run of blanks or tabs is one separator."""
    for at, line in enumerate(_lines(text), start=1):
        if line.strip():
            yield at, [_unquoted(cell) for cell in _tokens(line, runs)]


def _tokens(line: str, runs: str) -> list[str]:
    """Split a line at runs; a tab at its begin follows an empty cell, blanks are an indent."""
    cells = _TOKEN[runs].findall(line.rstrip("\n"))
    return ["", *cells] if runs == TABS and line[0] == "\t" else cells


def _unquoted(cell: str) -> str:
    if len(cell) > 1 and cell[0] == cell[-1] == '"':
        return cell[1:-1].replace('""', '"').replace('\\"', '"')
    return cell


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a text; other Unicode line separators are part of cells."""
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin) + 1 or len(text)
        yield text[begin:end]
        begin = end


# Separators


def text_table(text: str, usual: str, separator: str | None, header: int | None) -> TextTable:
    """Find the separator, the header and the columns of a text."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if separator is None and (marked := SEPARATOR_LINE.match(text)):
        separator = marked[1]
        text = "\n" * marked[0].count("\n") + text[marked.end() :]  # lines keep their numbers
    below = text.split("\n", header - 1)[-1] if header else text
    by = separator_in(below, usual, separator, header)
    if by in _RUNS:
        table = TextTable(lambda: blank_records(text, by), header, mark=" ")
    else:
        quoted_names = all(line.lstrip().startswith('"') for line in islice(_lines(below), 2))
        row_names = None if by == "\t" or quoted_names else False
        table = TextTable(lambda: csv_records(text, by), header, mark=by, row_names=row_names)
    if by != usual:
        table.findings.insert(0, f"{_RUNS.get(by) or SEPARATORS.get(by, repr(by))} between columns")
    return table


def separator_in(text: str, usual: str, given: str | None, header: int | None) -> str:
    """Find the separator with which all lines have as many cells as the header, or ask."""
    given = GIVEN.get(given or "", given)
    if given is not None and given != "\t":
        return given
    head = [line for line in text[:_LOOKED_AT].split("\n") if line.strip()]
    if len(text) > _LOOKED_AT:
        head = head[:-1] or head  # the last line may be incomplete
    candidates = [usual, *(s for s in SEPARATORS if s != usual)] if given is None else [given]
    shapes = {s: shape for s in candidates if (shape := _shape(head, s)) is not None}
    fits = [s for s, shape in shapes.items() if shape.columns > 1 and shape.share == 1]
    if len(fits) > 1 and "," in fits and _are_decimal(head):
        fits.remove(",")
    columns = {s: shapes[s].columns for s in fits}
    if len(fits) > 1 and not (
        usual in fits and all(columns[usual] > columns[s] for s in fits if s != usual)
    ):
        _ask(fits, columns)
    if fits:
        return fits[0]
    if runs := _runs(text, [TABS, *([] if given else [BLANKS])], usual, header):
        return runs
    best = max(
        shapes,
        key=lambda s: (shapes[s].columns > 1, shapes[s].share, shapes[s].most),
        default=usual,
    )
    if shapes and shapes[best].columns == 1 and shapes[best].most == 1:
        best = given or usual
    if best == "\t" and shapes and "" in shapes[best].names[1:]:
        raise ValueError(
            "lines have different numbers of cells, and names of columns are empty. If several "
            "tabs separate two columns, leave no cell empty, or write one tab between columns."
        )
    return best


def _are_decimal(lines: list[str]) -> bool:
    """Whether all commas are decimal marks or, before a blank, parts of words."""
    parts = {part for line in lines for part in _COMMA.findall(line)}
    words = all(part[1] == " " for part in _COMMA.findall(lines[0]))
    return (
        words
        and all(p[1] == " " or (p[0].isdigit() and p[1].isdigit()) for p in parts)
        and any(part[1] != " " for part in parts)
    )


class _Shape(NamedTuple):
    """How the lines of a text look with a separator."""

    columns: int  # of the header
    share: float  # of rows with as many cells
    most: int  # the most frequent number of cells
    names: list[str]  # without empty ones at the end


def _shape(lines: list[str], separator: str) -> _Shape | None:
    """Split lines at a separator; a row may end with one."""
    try:
        records = [row for row in csv.reader(lines, delimiter=separator) if row]
    except csv.Error:  # a cell exceeds the size limit
        return None
    if not records:
        return None
    names, rows = records[0], records[1:]
    n = len(names)
    longer = bool(rows) and all(len(row) == n + 1 for row in rows)  # a separator or names of rows
    alike = sum(len(row) == n or (len(row) == n + 1 and not row[-1].strip()) for row in rows)
    sizes = [len(row) for row in rows] or [n]
    bare = [name.strip() for name in names]
    while bare and not bare[-1]:
        bare.pop()
    share = 1.0 if longer or not rows else alike / len(rows)
    return _Shape(n, share, max(set(sizes), key=sizes.count), bare)


def _ask(separators: Sequence[str], columns: dict[str, int]) -> None:
    """Refuse a text that several separators split into lines of equal length."""
    ways = [
        f"{_RUNS.get(s) or SEPARATORS[s]} ({columns[s]} columns, "
        f"{spelled(separator=_SPELLED.get(s, s))})"
        for s in separators
    ]
    raise TableError(
        f"it can be split at {' or at '.join(ways)}. Say which one separates columns.",
        [{"separator": _SPELLED.get(s, s)} for s in separators],
    )


def _runs(text: str, kinds: Iterable[str], usual: str, header: int | None) -> str | None:
    """Find a kind of run as separator with which all lines have the same number of cells."""
    for kind in kinds:
        if n := _columns_by_runs(text, kind, usual, header):
            wide = _columns_by_runs(text, WIDE, usual, header) if kind == BLANKS else n
            if wide and wide != n and _has_words(text):
                _ask([BLANKS, WIDE], {BLANKS: n, WIDE: wide})
            return kind
    return None


def _has_words(text: str) -> bool:
    """Whether cells between two or more blanks contain several words, and not only numbers."""
    if text.lstrip().startswith('"'):  # R and others have quoted such words
        return False
    rows = islice((_tokens(line, WIDE) for line in _lines(text) if line.strip()), 1, 1000)
    several = (cell.split() for row in rows for cell in row)
    return any(len(words) > 1 and not all(map(_NUMBER.fullmatch, words)) for words in several)


def _columns_by_runs(text: str, kind: str, usual: str, header: int | None) -> int:
    """Return the number of columns if all lines have it, or 0.

    A header that is one shorter has no name for the names of rows.
    """
    lines = (_tokens(line, kind) for line in _lines(text) if line.strip())
    first = next(lines, [])
    rows, n = [*islice(lines, 1000)], len(first)
    width = len(rows[0]) if rows else 0
    if width < 2 or not all(len(row) == width for row in chain(rows, lines)):
        return 0
    named = all(cell[:1] == cell[-1:] == '"' for cell in first)
    short = header != 0 and width == n + 1 and (n > 1 or named)
    if not short and n != width:
        return 0
    if kind == BLANKS and any(cell in _SIGNS for row in [first, *rows] for cell in row):
        return 0
    numbers = any(
        all(_NUMBER.fullmatch(row[k]) or row[k].casefold() in ("na", ".", "-") for row in rows)
        for k in range(1, width)
    )
    return width if named or numbers or usual == "\t" else 0
