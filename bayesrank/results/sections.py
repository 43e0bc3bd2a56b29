"""Sections of the page beside the ranks: what else there is to say, for page and terminal."""

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

__all__ = ["Section"]

LONGEST = 40  # characters of a cell on the terminal
MOST_ROWS = 20  # of a table on the terminal


@dataclass(frozen=True)
class Section:
    """A heading with paragraphs, a picture and a table below it.

    Attributes
    ----------
    heading : str
        Of the section.
    paragraphs : sequence of str
        Plain text.
    table : DataFrame, optional
        Its cells are shown as they are, as text, and the index as the first column, which has the
        name of the index.
    picture : bytes, optional
        A PNG, from `figure_png`.
    alt : str
        What the picture shows, for those who cannot see it.

    Examples
    --------
    >>> table = pd.DataFrame({"Matches": [12, 9]}, index=pd.Index(["ann", "bob"], name="Judge"))
    >>> print(Section("Judges", table=table).text())
    Judges
    Judge  Matches
    ann         12
    bob          9
    """

    heading: str
    paragraphs: Sequence[str] = ()
    table: pd.DataFrame | None = None
    picture: bytes | None = None
    alt: str = ""

    def html(self) -> str:
        """Write it for the page; every text is escaped."""
        parts = [f"<h2>{html.escape(self.heading)}</h2>"]
        parts += [f"<p>{html.escape(text)}</p>" for text in self.paragraphs]
        if self.picture is not None:
            source = base64.b64encode(self.picture).decode("ascii")
            parts.append(
                f'<div class="wide"><img alt="{html.escape(self.alt)}"\n'
                f'src="data:image/png;base64,{source}"></div>'
            )
        if self.table is not None:
            head, *rows = _cells(self.table)
            cells = "".join(f"<th>{html.escape(text)}</th>" for text in head)
            body = "".join(
                f"<tr>{''.join(f'<td>{html.escape(text)}</td>' for text in row)}</tr>"
                for row in rows
            )
            parts.append(
                f'<div class="wide"><table><thead><tr>{cells}</tr></thead>'
                f"<tbody>{body}</tbody></table></div>"
            )
        return "\n".join(parts)

    def text(self) -> str:
        """Write it for a terminal, without the picture: lines of fixed width."""
        lines = [self.heading]
        if self.table is not None:
            rows = [[_short(cell) for cell in row] for row in _cells(self.table)]
            shown = rows[: MOST_ROWS + 1]
            widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
            for first, *others in shown:
                cells = [first.ljust(widths[0])]
                cells += [cell.rjust(w) for cell, w in zip(others, widths[1:], strict=True)]
                lines.append("  ".join(cells).rstrip())
            if len(rows) > len(shown):
                lines.append(f"... and {len(rows) - len(shown)} more")
        return "\n".join([*lines, *self.paragraphs])


def _cells(table: pd.DataFrame) -> list[list[str]]:
    """Head and rows of a table as text."""
    head = [table.index.name or "", *table.columns]
    rows = [[label, *row] for label, row in zip(table.index, table.to_numpy(), strict=True)]
    return [[str(cell) for cell in row] for row in [head, *rows]]


def _short(text: str) -> str:
    """Write a text on one line, and not on a long one."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
