"""Files: pictures and tables as bytes, and files that are written whole or not at all."""

import io
import os
import re
import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
from arviz import PlotCollection
from matplotlib.figure import Figure, SubFigure

__all__ = ["csv_bytes", "figure_png", "plain", "whole_file", "write_whole"]

FORMULA = re.compile(r"[=+\-@\t]")  # how a cell begins that a spreadsheet runs
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
# Characters that steer a terminal, or turn the direction of what follows
STEERING = ("Cc", "Cs", "Co", "Cn")
TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# The same in a table: tabs and ends of lines are text there, and so are letters of a private font
CONTROL = re.compile(f"[\0-\x08\x0b-\x1f\x7f-\x9f{''.join(sorted(TURNING))}]")


def plain(text: Any) -> str:
    r"""Write a text without the characters that steer terminals, each of which becomes a mark.

    Ends of lines stay.

    Examples
    --------
    >>> plain("red \x1b[31malert")
    'red �[31malert'
    """
    text = str(text)
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        "\N{REPLACEMENT CHARACTER}"
        if char != "\n" and (char in TURNING or unicodedata.category(char) in STEERING)
        else char
        for char in text
    )


def csv_bytes(table: pd.DataFrame) -> bytes:
    r"""Write a table and its index as CSV in UTF-8 that a spreadsheet shows and does not run.

    Text that a spreadsheet would take for a formula, which begins with =, +, -, @ or a tab and is
    no number, gets an apostrophe in front. Characters that steer a terminal or turn the direction
    of a text become a mark, as by `plain`; tabs and ends of lines stay.

    Examples
    --------
    >>> csv_bytes(pd.DataFrame({"x": [1, 2]}, index=pd.Index(["=1+1", "-5"], name="item")))
    b"item,x\n'=1+1,1\n-5,2\n"
    """

    def safe(cell: Any) -> Any:
        if not isinstance(cell, str):
            return cell
        cell = CONTROL.sub("\N{REPLACEMENT CHARACTER}", cell)
        return f"'{cell}" if FORMULA.match(cell) and not NUMBER.fullmatch(cell) else cell

    flat = table.reset_index().rename(columns=safe)
    for column in flat.columns:
        if flat[column].dtype == object or pd.api.types.is_string_dtype(flat[column].dtype):
            flat[column] = flat[column].map(safe)
    return flat.to_csv(index=False).encode("utf-8", "replace")


def figure_png(figure: Figure | SubFigure | PlotCollection, *, dpi: int = 150) -> bytes:
    """Render a figure as PNG; `plot_ranks` and its like return a `PlotCollection`."""
    if isinstance(figure, PlotCollection):
        figure = figure.viz["figure"].item()
    buffer = io.BytesIO()
    figure.get_figure(root=True).savefig(buffer, format="png", dpi=dpi)
    return buffer.getvalue()


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Have a file written whole or not at all: beside its place first, then moved there.

    Yields the path of an empty file to write to. A file that is there is replaced when the block
    ends well, and left alone otherwise.

    Raises
    ------
    OSError
        In a sentence, if the folder does not exist or cannot be written to, or `path` is a folder.
    """
    folder = path.parent
    if not folder.exists():
        raise FileNotFoundError(f"The folder {folder} does not exist; make it, or choose another.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file.")
    try:
        handle, name = tempfile.mkstemp(dir=folder, prefix=f".{path.name}.")
    except OSError as error:
        raise type(error)(f"The folder {folder} cannot be written to: {error.strerror}.") from error
    os.close(handle)
    beside = Path(name)
    try:
        yield beside
        umask = os.umask(0)
        os.umask(umask)
        beside.chmod(0o666 & ~umask)  # mkstemp makes files that only their owner can read
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write all the content of a file or nothing, as `whole_file`."""
    with whole_file(path) as beside:
        beside.write_bytes(content)
