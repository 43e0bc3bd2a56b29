"""Sources: where a table is: a file, a folder, an address, standard input or a pipe.

What is not a file on this machine is copied, so that it can be read several times. The copy is
removed when nothing refers to its `Source` any more.
"""

import os
import re
import stat
import sys
import tempfile
import weakref
import zipfile
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import unquote
from urllib.request import Request, urlopen

from bayesrank.data.read.formats import TABLES, suffix_of
from bayesrank.data.read.orders import ORDERS
from bayesrank.data.read.text import BROKEN, COMPRESSED, content, existing, inside, one_line

TIMEOUT = 30.0  # seconds without a byte, after which a server counts as stalled
MOST_COPIED = 2**31  # bytes
HEAD = 20_000  # bytes used to detect a format

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/+", re.IGNORECASE)
_AT_A_TIME = 2**20
_FIRST = {  # formats by the first bytes; other text is read as CSV
    b"PAR1": ".parquet",
    b"{": ".json",
    b"[": ".json",
    b"\x1f\x8b": ".gz",
    b"BZh": ".bz2",
    b"\xfd7zXZ": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
    b"PK\x03\x04": ".zip",
}
_TYPES = {  # formats by the type that a server states
    "text/csv": ".csv",
    "application/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    "application/x-ndjson": ".jsonl",
    "application/jsonl": ".jsonl",
    "application/vnd.apache.parquet": ".parquet",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
}
_PREFLIB_TYPE = re.compile(rb"^# DATA TYPE: (soc|soi|toc|toi|cat)\s*$", re.MULTILINE)
_BLT = re.compile(rb"\s*\d+[ \t]+\d+\s*\n(.*\n)*?\s*0\s*\n\s*\"")


class Source:
    """A file or folder on this machine, and how the user names it.

    Attributes
    ----------
    path : Path
        The file or folder, or the copy of an address, of standard input or of a pipe.
    name : str
        How messages call it.
    suffix : str
        The suffix that gives the format, in lower case, without the suffix of a compression.
    """

    def __init__(self, path: Path, name: str, suffix: str | None = None) -> None:
        self.path, self.name = path, name
        self.suffix = suffix_of(path) if suffix is None else suffix

    @property
    def size(self) -> int:
        """Number of bytes of the file."""
        return self.path.stat().st_size


def located(source: str | os.PathLike[str]) -> Source:
    """Find a source; copy it if it is an address, standard input or a pipe."""
    text = os.fspath(source)
    if text == "-":
        return _copied(sys.stdin.buffer, "standard input", "")
    if (address := address_of(text)) is not None:
        return _downloaded(address)
    path = Path(text)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        return Source(path, str(path), "")
    if not stat.S_ISREG(mode) or path.is_relative_to("/dev"):
        with path.open("rb") as stream:
            return _copied(stream, str(path), _known_suffix(path.name))
    suffix = suffix_of(path)
    if path.suffix.lower() == ".zip" and suffix not in (*TABLES, *ORDERS):
        suffix = _zipped_suffix(path) or suffix
    return Source(path, str(path), suffix)


def address_of(text: str) -> str | None:
    """Return the address that a text is, or None; a path keeps only one slash of an address."""
    found = _ADDRESS.match(text)
    if found is None:
        return None
    if found[1].lower() == "file" and os.name == "posix":
        return f"file:///{text[found.end() :]}"
    return f"{found[1].lower()}://{text[found.end() :]}"


def name_suffix(source: str | os.PathLike[str]) -> str:
    """Return the suffix that gives the format, as far as the name of a source shows it."""
    text = os.fspath(source)
    if text == "-":
        return _suffix_of_head(_peeked(sys.stdin.buffer))
    address = address_of(text)
    return suffix_of(Path(text if address is None else _path_of(address)))


# Copies


def _copied(
    stream: IO[bytes], name: str, suffix: str, *, expected: int | None = None, kind: str = ""
) -> Source:
    """Write a stream to a file that is removed with its source."""
    handle, copy = tempfile.mkstemp(prefix="bayesrank-", suffix=suffix)
    path = Path(copy)
    try:
        n = 0
        with os.fdopen(handle, "wb") as out:
            while data := stream.read(_AT_A_TIME):
                n += len(data)
                if n > MOST_COPIED:
                    raise ValueError(
                        f"{name} has more than {MOST_COPIED:,} bytes, the limit for a copy. Save "
                        "it as a file, and read the file."
                    )
                out.write(data)
        if expected is not None and n < expected:
            raise ValueError(
                f"{name} ended after {n:,} of {expected:,} bytes. Try again, or save it as a file, "
                "and read the file."
            )
        if not n:
            again = " It can be read once." if name == "standard input" else ""
            raise ValueError(f"{name[0].upper()}{name[1:]} is empty.{again}")
        found = _format_of(path, suffix, kind, name)
        path = path.rename(path.with_name(path.name.removesuffix(suffix) + found))
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    source = Source(path, name)
    weakref.finalize(source, path.unlink, missing_ok=True)
    return source


def _format_of(path: Path, stated: str, kind: str, name: str) -> str:
    """Return the suffixes of a copy: stated by its name or by a server, or of its first bytes."""
    if stated and stated not in COMPRESSED:
        return stated
    with path.open("rb") as stream:
        outer = stated or _suffix_of_head(stream.read(HEAD))
    if outer == ".zip" and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if "xl/workbook.xml" in archive.namelist():
                return ".xlsx"
    if outer not in COMPRESSED:
        return kind if kind and outer == ".csv" else outer
    inner = _zipped_suffix(path) if outer == ".zip" else None
    try:
        return (inner or _suffix_of_head(content(path, HEAD, outer))) + outer
    except BROKEN as error:
        raise ValueError(f"{name} cannot be unpacked: {one_line(error)}") from error


def _suffix_of_head(head: bytes) -> str:
    """Return the suffix of a format, from the first bytes of a file."""
    bare = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    for mark, suffix in _FIRST.items():
        if bare.startswith(mark):
            return suffix
    if found := _PREFLIB_TYPE.search(head):
        return f".{found[1].decode()}"
    if re.search(rb"^#/candidates\s*:", head, re.IGNORECASE | re.MULTILINE):
        return ".cvotes"
    return ".blt" if _BLT.match(bare) else ".csv"


def _zipped_suffix(path: Path) -> str | None:
    """Return the suffix of the only file in an archive, or None."""
    if not zipfile.is_zipfile(path):
        return None
    with zipfile.ZipFile(path) as archive:
        names = inside(archive)
    return _known_suffix(names[0]) or None if len(names) == 1 else None


def _known_suffix(name: str) -> str:
    """Return the suffixes of a name that give a format and a compression, or none."""
    found = "".join(s.lower() for s in PurePosixPath(name).suffixes[-2:])
    ends = [s for s in (*TABLES, *ORDERS) if suffix_of(Path(f"x{found}")) == s]
    return found[found.rindex(ends[0]) :] if ends else ""


def _peeked(stream: Any) -> bytes:
    """Return the first bytes of a stream, which stay there to be read."""
    if hasattr(stream, "peek"):
        return bytes(stream.peek(HEAD))
    if stream.seekable():
        at = stream.tell()
        head = stream.read(HEAD)
        stream.seek(at)
        return bytes(head)
    return b""


# Addresses


def _downloaded(address: str) -> Source:
    """Copy what an address gives."""
    scheme = address.partition(":")[0]
    suffix = _known_suffix(_path_of(address))
    if scheme == "file":
        return located(existing(f"/{_path_of(address)}"))
    copy = _from_server if scheme in ("http", "https", "ftp") else _from_store
    return _attempted(address, lambda: copy(address, suffix))


def _path_of(address: str) -> str:
    """Return the path of an address, without a query."""
    return unquote(re.split(r"[?#]", address.partition("://")[2])[0].partition("/")[2])


def _from_server(address: str, suffix: str) -> Source:
    """Copy a file of a server."""
    request = Request(address, headers={"User-Agent": "bayesrank"})
    with urlopen(request, timeout=TIMEOUT) as response:
        headers = response.headers
        kind = headers.get_content_type() if headers.get("Content-Type") else ""
        expected = headers.get("Content-Length", "")
        suffix = suffix or _known_suffix(_path_of(response.geturl()))
        suffix = suffix or _known_suffix(headers.get_filename() or "")
        if headers.get("Content-Encoding") == "gzip" and not suffix.endswith(".gz"):
            suffix += ".gz"
        if kind == "text/html" and not suffix:
            raise ValueError(f"{address} is a web page, not a table. Give the address of the file.")
        size = int(expected) if expected.isdigit() else None
        return _copied(response, address, suffix, expected=size, kind=_TYPES.get(kind, ""))


def _from_store(address: str, suffix: str) -> Source:
    """Copy a file of a store that fsspec opens, such as s3://bucket/games.csv."""
    try:
        import fsspec
    except ImportError:
        raise ValueError(
            f"Reading {address} needs the package fsspec and the package of the store. For S3, "
            "run pip install fsspec s3fs."
        ) from None
    with fsspec.open(address, "rb") as stream:
        return _copied(stream, address, suffix)


def _attempted(address: str, copy: Callable[[], Source]) -> Source:
    """Copy from an address; errors become sentences that name it."""
    try:
        return copy()
    except TimeoutError as error:
        raise _stalled(address) from error
    except URLError as error:
        reason = error.reason
        if isinstance(error, HTTPError):
            error.close()
        if isinstance(reason, TimeoutError):
            raise _stalled(address) from error
        raise ValueError(f"{address} cannot be read: {str(reason).rstrip('.')}.") from error
    except (OSError, ImportError, HTTPException) as error:
        reason = one_line(error).rstrip(".") or type(error).__name__
        raise ValueError(f"{address} cannot be read: {reason}.") from error
    except ValueError as error:
        if str(error).startswith(address):
            raise
        raise ValueError(f"{address} cannot be read: {one_line(error).rstrip('.')}.") from error


def _stalled(address: str) -> ValueError:
    return ValueError(
        f"{address} cannot be read: the server sent nothing for {TIMEOUT:g} seconds. Try again "
        "later, or save it as a file, and read the file."
    )
