"""Write figures and tables as bytes, and write files atomically."""

import io
import os
import re
import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from arviz import PlotCollection
from matplotlib import rc_context
from matplotlib.figure import Figure, SubFigure

__all__ = ["figure_png", "figure_svg", "plain", "table_bytes", "whole_file"]

FORMULA = re.compile(r"[=+\-@\t]")  # first character of a spreadsheet formula
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
# Categories of control characters, and characters that change the direction of text
CONTROLS = ("Cc", "Cs", "Co", "Cn")
BIDIRECTIONAL = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Control characters in a table, where tabs, line ends and private-use characters are allowed
CONTROL = re.compile(f"[\0-\x08\x0b-\x1f\x7f-\x9f{''.join(sorted(BIDIRECTIONAL))}]")


def plain(text: Any) -> str:
    r"""Replace terminal control characters in a text by replacement characters.

    Line ends are kept.

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
        if char != "\n" and (char in BIDIRECTIONAL or unicodedata.category(char) in CONTROLS)
        else char
        for char in text
    )


def table_bytes(table: pd.DataFrame, form: str = "csv") -> bytes:
    r"""Write a table and its index, without formulas for a spreadsheet to run.

    Text that a spreadsheet would read as a formula gets an apostrophe in front. Such text starts
    with =, +, -, @ or a tab, and is not a number. Control characters are replaced as in `plain`,
    but tabs and line ends are kept.

    Parameters
    ----------
    table : DataFrame
    form : {"csv", "md", "xlsx"}
        CSV in UTF-8, Markdown with numbers of four digits, or Excel, which needs openpyxl.

    Examples
    --------
    >>> table = pd.DataFrame({"x": [1, 0.12345]}, index=pd.Index(["=1+1", "-5"], name="item"))
    >>> table_bytes(table)
    b"item,x\n'=1+1,1.0\n-5,0.12345\n"
    >>> print(table_bytes(table, "md").decode())
    | item | x |
    | :--- | ---: |
    | '=1+1 | 1 |
    | -5 | 0.1235 |
    <BLANKLINE>
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
    if form == "csv":
        return flat.to_csv(index=False).encode("utf-8", "replace")
    if form == "xlsx":
        buffer = io.BytesIO()
        flat.to_excel(buffer, index=False, engine="openpyxl")
        return buffer.getvalue()
    return _markdown(flat).encode("utf-8", "replace")


def _markdown(table: pd.DataFrame) -> str:
    """Write a table in Markdown, with numbers on the right."""

    def text(cell: Any) -> str:
        if isinstance(cell, float):
            return "" if np.isnan(cell) else f"{cell:.4g}"
        return " ".join(str(cell).replace("|", "\\|").split())

    numeric = [pd.api.types.is_numeric_dtype(dtype) for dtype in table.dtypes]
    rows = [
        [text(name) for name in table.columns],
        ["---:" if number else ":---" for number in numeric],
        *([text(cell) for cell in row] for row in table.itertuples(index=False)),
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def figure_png(figure: Figure | SubFigure | PlotCollection, *, dpi: int = 150) -> bytes:
    """Render a figure or a `PlotCollection`, such as from `plot_ranks`, as PNG."""
    if isinstance(figure, PlotCollection):
        figure = figure.viz["figure"].item()
    buffer = io.BytesIO()
    figure.get_figure(root=True).savefig(buffer, format="png", dpi=dpi)
    return buffer.getvalue()


def figure_svg(figure: Figure | SubFigure | PlotCollection) -> bytes:
    """Render a figure or a `PlotCollection` as SVG; text stays text, in the reader's fonts."""
    if isinstance(figure, PlotCollection):
        figure = figure.viz["figure"].item()
    buffer = io.BytesIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "bayesrank"}):
        figure.get_figure(root=True).savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Write a file completely or not at all: write a temporary file, then move it.

    Yields the path of an empty temporary file in the same folder. An existing file is replaced if
    the block succeeds, and kept if it fails.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)  # mkstemp creates files that only their owner can read
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
