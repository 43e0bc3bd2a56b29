"""Text: decode the bytes of a file, and split the text into cells, which stay text.

The compression, the encoding and the separator of a file are detected. The meaning of cells is
never guessed.
"""

import bz2
import codecs
import csv
import gzip
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from bayesrank.data.read.labels import LINE, counted

# Errors that the readers raise for a file that is broken, truncated or in another format.
BROKEN = (
    ValueError,
    OSError,
    RuntimeError,  # an encrypted archive
    EOFError,
    csv.Error,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    pa.ArrowException,
)

COMPRESSED = (".gz", ".bz2", ".xz", ".zip", ".zst")
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}

MOST_UNPACKED = 2**30  # bytes that are read from a compressed file
_LONGEST = 300  # characters shown of another library's message
_LOOKED_AT = 20_000  # characters used to detect the separator
_END = "\0 end of the text"  # read as a separate row unless a quotation mark is open
_MARKS = (  # longer marks first: the mark of UTF-32 begins with the mark of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


_NOT_TEXT = {  # the first bytes and the names of other formats
    b"\x1f\x8b": "a file compressed by gzip (.gz)",
    b"BZh": "a file compressed by bzip2 (.bz2)",
    b"\xfd7zXZ": "a file compressed by xz (.xz)",
    b"\x28\xb5\x2f\xfd": "a file compressed by zstd (.zst)",
    b"PK\x03\x04": "an Excel sheet (.xlsx) or an archive (.zip)",
    b"PAR1": "a Parquet file (.parquet)",
    b"\xd0\xcf\x11\xe0": "an old Excel sheet (.xls)",
}
SEPARATOR_LINE = re.compile(r"\s*sep=(.)[ ]*\n", re.IGNORECASE)  # written by Excel
_ANSWERS = ("", "response", "open-ended response")  # SurveyMonkey's second names of columns
_IMPORT = '{"ImportId"'  # begins each cell of the last header line of Qualtrics


class TextTable(NamedTuple):
    """A table of text, in which empty cells are NaN.

    The index, called "line", is the first line of each row in the file.
    """

    frame: pd.DataFrame
    names: pd.Index  # of all columns, including those that are not read
    findings: list[str]  # unusual properties of the file
    spaces: int = 0  # cells around which spaces were removed


def one_line(error: Exception) -> str:
    """Return another library's error message in one line."""
    text = " ".join(str(error).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."


def existing(path: str | Path) -> Path:
    """Return the path, and raise an error if it is not a file."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a file.")
    return path


def content(path: Path, most: int | None = None, packed: str | None = None) -> bytes:
    """Read a file, or its first `most` bytes; decompress it according to its suffix or `packed`."""
    packed = path.suffix.lower() if packed is None else packed
    limit = MOST_UNPACKED + 1 if packed in COMPRESSED and most is None else most
    with _opened(path, packed) as stream:
        data = stream.read() if limit is None else stream.read(limit)
    if packed in COMPRESSED:
        refuse_large(len(data), path)
    return data


def refuse_large(n: int, path: Path) -> None:
    """Refuse a compressed file that unpacks to too many bytes."""
    if n > MOST_UNPACKED:
        raise ValueError(
            f"it unpacks to more than {MOST_UNPACKED / 2**20:,.0f} MB, the limit for a "
            f"{path.suffix} file. If its content is right, unpack it and read the unpacked file."
        )


@contextmanager
def _opened(path: Path, packed: str) -> Iterator[IO[bytes]]:
    """Open a file, and decompress it."""
    with ExitStack() as stack:
        if packed == ".zip":
            archive = stack.enter_context(zipfile.ZipFile(path))
            names = inside(archive)
            if len(names) != 1:
                raise ValueError(f"it must contain one file; it has {len(names)}.")
            yield stack.enter_context(archive.open(names[0]))
        else:
            yield stack.enter_context(_OPENED.get(packed, Path.open)(path, "rb"))


def inside(archive: zipfile.ZipFile) -> list[str]:
    """Return the names of the files in an archive, without hidden ones and those of macOS."""
    return [
        name
        for name in archive.namelist()
        if not name.endswith("/")
        and not any(part.startswith(".") or part == "__MACOSX" for part in name.split("/"))
    ]


def _zstd(path: Path, _: str) -> Any:
    return pa.input_stream(path, compression="zstd")


_OPENED: dict[str, Callable[..., Any]] = {
    ".gz": gzip.GzipFile,
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": _zstd,
}


def decoded(data: bytes, encoding: str | None = None) -> tuple[str, str]:
    """Decode bytes, and return the text and the encoding.

    Without a given encoding, UTF-8 or UTF-16 is detected.
    """
    if encoding is not None:
        try:
            return data.decode(encoding), encoding
        except LookupError:
            raise ValueError(
                f"there is no encoding {encoding!r}. Use 'latin-1', for example."
            ) from None
    for mark, file_format in _NOT_TEXT.items():
        if data.startswith(mark):
            raise ValueError(
                f"it is not text, but {file_format}. Rename it so that its suffix is right."
            )
    found = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    if found == "utf-8":
        found = _unmarked_utf16(data[:1000]) or found
    try:
        text = data.decode(found)
    except UnicodeDecodeError as error:
        if found != "utf-8":
            raise ValueError(
                f"it is not text: it contains zero bytes and is not valid {found.upper()}."
            ) from None
        begin = data.rfind(b"\n", 0, error.start) + 1
        line = data[begin:].split(b"\n", 1)[0].strip()[:60].decode("latin-1")
        raise ValueError(
            f"it is not UTF-8: line {data.count(b'\n', 0, error.start) + 1} has the byte "
            f"0x{data[error.start]:02x}. In Latin-1 the line reads {line!r}. If that is right, "
            f"use the encoding 'latin-1' (on the command line, --encoding latin-1). Otherwise, "
            f"try another encoding."
        ) from None
    if "\0" in text:
        number = text.count("\n", 0, text.index("\0")) + 1
        raise ValueError(f"line {number} contains a zero byte, which is not text: remove it.")
    return text, found


def _unmarked_utf16(head: bytes) -> str | None:
    """Return the variant of UTF-16 if most of every second byte is zero, or None."""
    even, odd = (head[start::2].count(0) for start in (0, 1))
    if max(even, odd) <= max(len(head) // 4, 1) or min(even, odd) > len(head) // 8:
        return None
    return "utf-16-le" if odd > even else "utf-16-be"


def read_lines(path: str | Path, name: str | None = None) -> list[str]:
    """Read the lines of a text file; Unicode line separators inside names are kept."""
    path = existing(path)
    try:
        text, _ = decoded(content(path))
    except BROKEN as error:
        raise ValueError(
            f"{name or path} is not a readable text file: {one_line(error)}"
        ) from error
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").removesuffix("\n")
    return text.split("\n") if text else []


def separator_of(text: str, usual: str) -> str:
    """Detect the separator that gives most rows as many cells as the header."""
    head = [line for line in text[:_LOOKED_AT].splitlines() if line.strip()]
    if len(text) > _LOOKED_AT:
        head = head[:-1] or head  # the last line may be incomplete
    best, found = 0.0, usual
    for separator in (usual, *(s for s in SEPARATORS if s != usual)):
        try:
            header, *rows = [len(row) for row in csv.reader(head, delimiter=separator)] or [0]
        except csv.Error:  # a cell exceeds the size limit
            continue
        # a row may end with a separator; a header alone is also enough
        alike = sum(n in (header, header + 1) for n in rows) / len(rows) if rows else 1.0
        if header > 1 and alike > best:
            best, found = alike, separator
    return found


class _CellCache(dict[str, Any]):
    """Cells without surrounding spaces, each stored once; an empty cell becomes NaN."""

    spaces = 0  # cells with spaces around them

    def __missing__(self, cell: str) -> Any:
        bare = cell.strip()
        if bare == cell:
            self[cell] = cell
            return cell
        self.spaces += 1
        return self[bare]


class Cells(NamedTuple):
    """The cells of a text."""

    frame: pd.DataFrame
    names: pd.Index  # of all columns, including those that are not in the frame
    spaces: int  # cells with spaces around them
    header_lines: int = 1


class Header(NamedTuple):
    """The names of columns, and the first records below."""

    line: int
    record: list[str]  # cells as written
    names: list[str]
    rows: list[tuple[int, list[str]]]
    lines: int  # number of header lines


def cells(
    text: str, separator: str, columns: Collection[str] | None = None, header: int | None = None
) -> Cells:
    """Split a text with a header into cells, one row per record.

    Cells stay text, without surrounding spaces. Empty cells become NaN, and empty rows are left
    out. The index is the first line of each row in the text. If `columns` are given, only these are
    kept while reading, so a wide text takes little memory. The header is in line `header`, or
    nowhere if that is 0. By default, it is the first record, with the second and third ones of
    survey exports.
    """
    known = _CellCache({"": np.nan})
    kept: list[Any] = []  # one flat list: a list per row would slow down garbage collection
    lines: list[int] = []
    limit = csv.field_size_limit(2**31 - 1)
    try:
        records = _records(text, separator)
        head = _header(records, header)
        names, n_names = head.names, len(head.names)
        unnamed = {n for n, name in enumerate(head.record) if not name.strip()}
        chosen = [n for n, name in enumerate(names) if columns is None or name in columns]
        if head.lines == 1:
            known.spaces += sum(head.record[k] != names[k] for k in chosen if k not in unnamed)
        for at, record in chain(head.rows, records):
            n = len(record)
            if n > n_names and any(map(str.strip, record[n_names:])):
                first = separator.join(head.record).strip()[:60]
                raise ValueError(
                    f"line {at} has {n} fields, but the header in line {head.line} has "
                    f"{counted(n_names, 'name')}: {first!r}. Correct line {at}. "
                    f"If line {head.line} is a title, remove the lines above the header, or give "
                    f"the line of the header (on the command line, --header {at})."
                )
            if n < n_names:
                record += [""] * (n_names - n)
            kept += [known[record[k]] for k in chosen]
            lines.append(at)
    finally:
        csv.field_size_limit(limit)
    table = np.array(kept, dtype=object).reshape(len(lines), len(chosen))
    frame = pd.DataFrame(table, pd.Index(lines, name=LINE), chosen, dtype=object)
    # keep an unnamed column with cells, such as an index; drop an unnamed column without cells
    left = [n for n in chosen if n not in unnamed or frame[n].notna().any()]
    frame = frame[left]
    frame.columns = pd.Index([names[n] for n in left], dtype=object)
    return Cells(frame, pd.Index(names, dtype=object), known.spaces, head.lines)


def _records(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the records with a cell, and their first lines."""
    reader = csv.reader(chain(_lines(text), [_END]), delimiter=separator)
    begin = 1
    for record in reader:
        at, begin = begin, reader.line_num + 1
        n = len(record)
        if n <= 1 and record == [_END]:
            return
        if n and (record[0].strip() or any(map(str.strip, record))):
            yield at, record
    raise ValueError(f"line {at} opens a cell with a quotation mark that is never closed.")


def _header(records: Iterator[tuple[int, list[str]]], header: int | None) -> Header:
    """Find the names of the columns in the first records, or in line `header`."""
    if header:
        records = ((at, record) for at, record in records if at >= header)
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
            return Header(line, first, names, rows[n + 1 :], n + 1)
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


def _is_name(cell: str) -> bool:
    """Whether a cell may be the name of a column; a number is not."""
    return any(map(str.isalpha, cell))


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a text; other Unicode line separators are part of cells."""
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin) + 1 or len(text)
        yield text[begin:end]
        begin = end


def text_table(
    path: str | Path,
    *,
    usual: str = ",",
    encoding: str | None = None,
    separator: str | None = None,
    columns: Collection[str] | None = None,
    header: int | None = None,
) -> TextTable:
    """Read a text file as a table whose cells stay text; see `cells` for `header`."""
    text, found = decoded(content(existing(path)), encoding)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if separator is None and (marked := SEPARATOR_LINE.match(text)):
        separator = marked[1]
        text = "\n" * marked[0].count("\n") + text[marked.end() :]  # lines keep their numbers
    below = text.split("\n", header - 1)[-1] if header else text
    by = separator or separator_of(below, usual)
    findings = []
    if by != usual:
        findings.append(f"{SEPARATORS.get(by, repr(by))} between columns")
    if found not in ("utf-8", "utf-8-sig"):
        findings.append(f"the encoding {found.upper()}")
    found_cells = cells(text, by, columns, header)
    if (n := found_cells.header_lines) > 1:
        findings.append(f"names from the first {n} lines, as in a survey export")
    return TextTable(found_cells.frame, found_cells.names, findings, found_cells.spaces)
