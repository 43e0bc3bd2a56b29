"""Where the table of a command is: a file, a folder, standard input or an address."""

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import urlsplit

# Formats of standard input, by the first bytes; other text is read as CSV
FORMATS = {b"PAR1": ".parquet", b"PK\x03\x04": ".xlsx", b"{": ".json", b"[": ".json"}
ADDRESS = re.compile(r"([a-z][a-z0-9+]+):/+")


@contextmanager
def local_file(file: Path) -> Iterator[Path]:
    """Provide a file on this machine: the file itself, or a copy of standard input or an address.

    A path keeps only one slash of an address such as https://example.org/games.csv.
    """
    address = ADDRESS.match(file.as_posix())
    if str(file) != "-" and address is None:
        yield file
        return
    with tempfile.TemporaryDirectory() as folder:
        if address is None:
            head = sys.stdin.buffer.read(4)
            suffix = next((s for mark, s in FORMATS.items() if head.startswith(mark)), ".csv")
            path = Path(folder, f"stdin{suffix}")
            _copy(sys.stdin.buffer, path, head)
        else:
            url = file.as_posix().replace(address[0], f"{address[1]}://", 1)
            path = Path(folder, PurePosixPath(urlsplit(url).path).name or "table.csv")
            with _opened(url) as stream:
                _copy(stream, path)
        yield path


def _opened(url: str) -> Any:
    """Open an address for reading."""
    from urllib.error import HTTPError, URLError
    from urllib.request import urlopen

    import fsspec

    try:
        if url.startswith(("http:", "https:", "ftp:")):
            return urlopen(url)
        return fsspec.open(url, "rb").open()
    except (URLError, OSError, ImportError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        if isinstance(error, HTTPError):
            error.close()
        raise ValueError(f"{url} cannot be read: {str(reason).rstrip('.')}.") from error


def _copy(stream: IO[bytes], path: Path, head: bytes = b"") -> None:
    """Write a stream to a file."""
    with path.open("wb") as out:
        out.write(head)
        shutil.copyfileobj(stream, out)
