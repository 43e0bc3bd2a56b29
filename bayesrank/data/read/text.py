"""Text: from the bytes of a file to characters, and to cells that stay text.

What a file is written in is found out: whether it is compressed, in which encoding, and by what
its columns are separated. Nothing is guessed about what the cells mean.
"""

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bayesrank.data.read.labels import LINE, counted, quoted

# What the readers raise for a file that is broken, cut off or not what its name says.
BROKEN = (ValueError, OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)

COMPRESSED = (".gz", ".bz2", ".xz", ".zip", ".zst")
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}

_LOOKED_AT = 20_000  # characters, from which the separator is found
_MARKS = (  # the longer ones first: UTF-32 begins as UTF-16 does
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


_NO_TEXT = {  # how files begin that are no text, and what they are
    b"\x1f\x8b": "what gzip (.gz) compresses",
    b"BZh": "what bzip2 (.bz2) compresses",
    b"\xfd7zXZ": "what xz (.xz) compresses",
    b"\x28\xb5\x2f\xfd": "what zstd (.zst) compresses",
    b"PK\x03\x04": "an Excel sheet (.xlsx) or an archive (.zip)",
    b"PAR1": "a Parquet file (.parquet)",
    b"\xd0\xcf\x11\xe0": "an old Excel sheet (.xls)",
}
SAID = re.compile(r"\s*sep=(.)[ ]*\n", re.IGNORECASE)  # with which Excel says what separates


class TextTable(NamedTuple):
    """A table of text: the cells as they are written, NaN where they are empty.

    The index, called "line", has the line of the file that each row begins in.
    """

    frame: pd.DataFrame
    said: list[str]  # what was found out and is not the usual


def existing(path: str | Path) -> Path:
    """Return the path of a file that is there."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a file.")
    return path


def content(path: Path) -> bytes:
    """Read a file, decompressed if its name ends as those of compressed files do."""
    match path.suffix.lower():
        case ".gz":
            return gzip.decompress(path.read_bytes())
        case ".bz2":
            return bz2.decompress(path.read_bytes())
        case ".xz":
            return lzma.decompress(path.read_bytes())
        case ".zst":
            import pyarrow as pa

            with pa.input_stream(path, compression="zstd") as stream:
                return stream.read()
        case ".zip":
            with zipfile.ZipFile(path) as archive:
                inside = [name for name in archive.namelist() if not name.endswith("/")]
                if len(inside) != 1:
                    raise ValueError(f"it holds {counted(len(inside), 'file')}, not one.")
                return archive.read(inside[0])
    return path.read_bytes()


def decoded(data: bytes, encoding: str | None = None) -> tuple[str, str]:
    """Turn bytes into text, and say in which encoding: UTF-8 or UTF-16, unless one is given."""
    if encoding is not None:
        try:
            return data.decode(encoding), encoding
        except LookupError:
            raise ValueError(f"there is no encoding {encoding!r}.") from None
    for mark, what in _NO_TEXT.items():
        if data.startswith(mark):
            raise ValueError(f"it is no text, but {what}: give it a name that ends so.")
    found = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    if found == "utf-8" and b"\0" in data[:1000]:  # UTF-16 without a mark: every other byte is 0
        found = "utf-16-le" if data[1:2] == b"\0" else "utf-16-be"
    try:
        return data.decode(found), found
    except UnicodeDecodeError as error:
        if found != "utf-8":
            raise ValueError(
                f"it is no text: it has bytes of zero, and is not {found.upper()} either."
            ) from None
        begin = data.rfind(b"\n", 0, error.start) + 1
        line = data[begin:].split(b"\n", 1)[0].strip()[:60].decode("latin-1")
        raise ValueError(
            f"it is not UTF-8: line {data.count(b'\n', 0, error.start) + 1} has the byte "
            f"0x{data[error.start]:02x}. In Latin-1 the line reads {line!r}: if that is right, "
            f"give the encoding 'latin-1' (on the command line: --encoding latin-1), else another."
        ) from None


def separator_of(text: str, usual: str) -> str:
    """Find what separates the columns: what cuts most rows into as many cells as the header."""
    head = [line for line in text[:_LOOKED_AT].splitlines() if line.strip()]
    if len(text) > _LOOKED_AT:
        head = head[:-1] or head  # the last line may be cut
    best, found = 0.0, usual
    for separator in (usual, *(s for s in SEPARATORS if s != usual)):
        try:
            header, *rows = [len(row) for row in csv.reader(head, delimiter=separator)] or [0]
        except csv.Error:  # a cell longer than cells are
            continue
        # a row may end in a separator; a header alone tells, too
        alike = sum(n in (header, header + 1) for n in rows) / len(rows) if rows else 1.0
        if header > 1 and alike > best:
            best, found = alike, separator
    return found


def cells(text: str, separator: str) -> tuple[pd.DataFrame, int]:
    """Cut a text into cells, one row per record under a header of names.

    Cells stay text, without the spaces around them, and NaN where they are empty; rows that are
    empty altogether are left out. The index has the line of the text that a row begins in. Returns
    the table, and how many cells had spaces around them.
    """
    first = next((line for line in text.splitlines() if line.strip()), None)
    if first is None:
        raise pd.errors.EmptyDataError
    skipped = text[: text.index(first)].count("\n")
    n_names = len(next(csv.reader([first], delimiter=separator)))
    try:
        read: Any = pd.read_csv(
            io.StringIO(text, newline=""),
            sep=separator,
            header=None,
            names=list(range(n_names + 1)),  # one more, in which too long rows show
            skiprows=skipped,
            skip_blank_lines=False,
            index_col=False,
            dtype=str,
            keep_default_na=False,
            na_values=[""],
        )
    except pd.errors.ParserError as error:
        found = re.search(r"Expected \d+ fields in line (\d+), saw (\d+)", str(error))
        if found is None:
            raise
        raise ValueError(
            f"line {found[1]} has {found[2]} fields, and the header, line {skipped + 1}, has "
            f"{counted(n_names, 'name')}: {first.strip()[:60]!r}. If that is a title, leave out "
            "all that stands above the header."
        ) from None
    spaces = 0
    for column in read:
        bare = read[column].str.strip()
        spaces += int((bare != read[column]).sum() - bare.isna().sum())
        read[column] = bare.replace("", np.nan).astype(object)
    lines = skipped + 1 + np.arange(len(read))
    n_lines = text.count("\n") + (not text.endswith("\n"))
    if skipped + len(read) < n_lines:  # there are ends of lines inside of cells
        inside = read.apply(lambda cells: cells.str.count("\n").astype(float)).sum(axis=1)
        lines += np.append(0, inside.cumsum()[:-1]).astype(int)
    read.index = pd.Index(lines, name=LINE)

    header, frame = read.iloc[0], read.iloc[1:].dropna(how="all")
    names = header.iloc[:n_names]
    too_long = frame[n_names].notna()
    if too_long.any():
        raise ValueError(
            f"it has rows with more fields than its header has names, the first in line "
            f"{too_long.idxmax()}: {quoted(frame.loc[too_long.idxmax()].dropna().tolist(), 10)}."
        )
    named = names.notna().to_numpy()
    unnamed = frame.columns[:n_names][~named]
    # what an index is written as has no name; a column without name and cells is nothing
    frame = frame.drop(columns=[n_names, *(c for c in unnamed if frame[c].isna().all())])
    frame.columns = pd.Index(
        [names[c] if named[c] else f"column {c + 1}" for c in frame.columns], dtype=object
    )
    return frame, spaces


def text_table(
    path: str | Path,
    *,
    usual: str = ",",
    encoding: str | None = None,
    separator: str | None = None,
) -> TextTable:
    """Read a text file as a table whose cells stay text.

    Parameters
    ----------
    path : path
        A text file, plain or compressed.
    usual : str
        What separates columns in files of this name, tried first.
    encoding, separator : str, optional
        Found out by default.

    Returns
    -------
    TextTable

    Raises
    ------
    ValueError
        If it does not decode, decompress or parse.
    """
    text, found = decoded(content(existing(path)), encoding)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if separator is None and (told := SAID.match(text)):
        separator = told[1]
        text = "\n" * told[0].count("\n") + text[told.end() :]  # lines keep their numbers
    by = separator or separator_of(text, usual)
    said = []
    if by != usual:
        said.append(f"{SEPARATORS.get(by, repr(by))} between columns")
    if found not in ("utf-8", "utf-8-sig"):
        said.append(found.upper())
    frame, spaces = cells(text, by)
    if spaces:
        said.append(f"the spaces around {counted(spaces, 'cell')} left out")
    return TextTable(frame, said)
