"""Text: the bytes of a file, unpacked and decoded.

The compression, the encoding and the separator of a file are detected.
"""

import bz2
import codecs
import csv
import gzip
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

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


class EncodingError(ValueError):
    """A text that is not UTF-8, and an argument that may help."""

    remedies = ({"encoding": "latin-1"},)


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
                f"there is no encoding {encoding!r}. Use encoding='latin-1', for example."
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
        raise EncodingError(
            f"it is not UTF-8: line {data.count(b'\n', 0, error.start) + 1} has the byte "
            f"0x{data[error.start]:02x}. In Latin-1 the line reads {line!r}. If that is right, "
            f"use encoding='latin-1'. Otherwise, try another encoding."
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
