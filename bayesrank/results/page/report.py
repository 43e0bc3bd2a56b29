"""The result in words, as a table, and as one self-contained HTML page with its sections."""

import base64
import functools
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bayesrank.results.page.files import plain
from bayesrank.results.ranks.rank_table import LITTLE, standing

__all__ = ["Section", "report_html", "table_text", "verdict"]

LONGEST = 40  # characters of a cell on the terminal
MOST_ROWS = 20  # of a table on the terminal
PROSE = 50  # characters of a cell on the page beyond which those of the column are sentences
READING = "in a ranking of two, an item beats another with probability 1 / (1 + exp(−difference))"
# Columns that a summary may have: heading and format of a cell
OPTIONAL = {
    "rankings": ("rankings", ",.0f"),
    "matches": ("matches", ",.0f"),
    "last_seen": ("last seen", ""),
    "elo": ("elo", ".0f"),
    "lower": ("lower", ".2f"),
    "tier": ("tier", ",.0f"),
}
# What may be said of items besides the leader, of one and of more
MAYBE_BETTER = {
    "tied": ("cannot be separated from the leader", "cannot be separated from the leader"),
    "close": ("is close and may be better", "are close and may be better"),
    "unknown": (
        "may be better, because there are too few data",
        "may be better, because there are too few data",
    ),
}


@dataclass(frozen=True)
class Section:
    """A heading with paragraphs, a picture and a table below it.

    `picture` is a PNG, from `figure_png`, and `alt` says what it shows. The cells of `table` are
    texts, and its first column is the index. `file` names the file beside the page that has the
    whole table.

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
    file: str = ""

    def text(self) -> str:
        """Write it for a terminal, without the picture: lines of fixed width."""
        lines = [self.heading]
        if self.table is not None:
            head, *rows = _cells(self.table)
            lines.append(_aligned(head, rows[:MOST_ROWS]))
            if len(rows) > MOST_ROWS:
                lines.append(f"... and {len(rows) - MOST_ROWS} more")
        return plain("\n".join([*lines, *self.paragraphs]))


def verdict(summary: pd.DataFrame, *, tied_prob: float = 0.95, named: int = 5) -> str:
    """Say in words who leads, how sure that is, and who may be better.

    Parameters
    ----------
    summary : DataFrame
        From `rank_summary`, one group, made with the probability `tied_prob`.
    named : int
        Name at most so many of the items that may be better, best first.

    Raises
    ------
    ValueError
        If `summary` has several groups.
    """
    _require_one_group(summary)
    leader = summary.iloc[0]
    sentences = [
        f"{plain(leader.name)} leads: mean rank {leader['mean_rank']:.1f}, best with probability "
        f"{leader['p_best']:.2f}."
    ]
    if len(summary) == 1:
        return sentences[0]
    if "known" in summary and leader["known"] < LITTLE:
        sentences.append(
            "There are few data about the leader itself, so its rank also depends on the prior."
        )
    words = standing(summary)
    maybe_better = {word: summary.index[words == word] for word in MAYBE_BETTER}
    sentences += [_named(word, items, named) for word, items in maybe_better.items() if len(items)]
    if not any(map(len, maybe_better.values())):
        others = "all other items jointly" if len(summary) > 2 else "the other item"
        sentences.append(f"It is better than {others} with probability {tied_prob:g} or more.")
    surest = summary.iloc[int(summary["p_best"].argmax())]
    if surest["p_best"] > leader["p_best"]:
        sentences.append(
            f"{plain(surest.name)} is best with a higher probability ({surest['p_best']:.2f}), but "
            f"its mean rank is {surest['mean_rank']:.1f}, because its place is less certain."
        )
    return " ".join(sentences)


def _named(word: str, items: pd.Index, most: int) -> str:
    """Name items that may be better than the leader."""
    one, more = MAYBE_BETTER[word]
    if len(items) == 1:
        return f"One other item {one}: {plain(items[0])}."
    names = ", ".join(map(plain, items[:most]))
    rest = f" and {len(items) - most} more" if len(items) > most else ""
    return f"{len(items)} other items {more}: {names}{rest}."


def table_text(summary: pd.DataFrame, *, rows: int = 20, longest_name: int = 40) -> str:
    """Write the summary for a terminal, in lines of fixed width; the last line counts other items.

    Parameters
    ----------
    summary : DataFrame
        From `rank_summary`, one group; columns rankings or matches, how often items were seen,
        last_seen, elo, lower and tier are shown as well; by lower, if it is there, it is sorted.

    Raises
    ------
    ValueError
        If `summary` has several groups.
    """
    _require_one_group(summary)
    summary, words = _sorted(summary)
    table = _rank_table(summary, words, rows).drop(columns=["from", "to", "utility"])
    names = [_on_one_line(name, longest_name) for name in table.index]
    text = _aligned(["item", *table.columns], zip(names, *map(table.get, table), strict=True))
    return text + (f"\n... and {len(summary) - rows} more" if len(summary) > rows else "")


def report_html(
    title: str,
    summary: pd.DataFrame,
    picture: bytes,
    *,
    paragraphs: Sequence[str],
    verdict_too: str = "",
    failures: Sequence[str] = (),
    warnings: Sequence[str] = (),
    fit: str = "",
    notes: Sequence[str] = (),
    sections: Sequence[Section] = (),
    made: str = "",
    file: str = "",
    reading: str | None = None,
    tied_prob: float = 0.95,
    interval: float = 0.94,
) -> str:
    """Compose the page: HTML without any outside request; every text is escaped.

    Parameters
    ----------
    summary : DataFrame
        As for `table_text`, made with the probabilities `tied_prob` and `interval`.
    picture : bytes
        A PNG, from `figure_png`.
    paragraphs : sequence of str
        How the result was made, which comes last.
    verdict_too : str
        What the verdict says besides who leads.
    failures, warnings : sequence of str
        What stands below the verdict, set apart: what the model fails in comes first.
    fit : str
        What stands there if the model fits.
    notes, sections : sequences of str and of Section
        What a reader should know about the data, and what follows the table.
    made, file : str
        A line below the heading, and the name of the file beside the page that has the table.
    reading : str, optional
        What a difference of utilities means; by default what it means in rankings.

    Raises
    ------
    ValueError
        If `summary` has several groups.
    """
    _require_one_group(summary)
    ordered, words = _sorted(summary)
    table = (
        _rank_table(ordered, words, len(ordered)).drop(columns="ranks").rename(columns=_capitalised)
    )
    return _template().render(
        title=title,
        made=made,
        verdict=f"{verdict(summary, tied_prob=tied_prob)} {verdict_too}".rstrip(),
        failures=failures,
        warnings=warnings,
        fit=fit,
        notes=notes,
        columns=[*_optional_columns(summary), *({"known"} & {*summary.columns})],
        top=_top(summary),
        reading=reading or READING,
        interval=f"{interval:g}",
        tied_prob=f"{tied_prob:g}",
        picture=picture,
        alt=_rank_alt(summary),
        ranks=_grid(table.rename_axis("Item"), list(words)),
        file=file,
        sections=[*sections, Section("How this was made", paragraphs)],
    )


def _capitalised(heading: str) -> str:
    return heading[0].upper() + heading[1:]


@functools.cache
def _template() -> Any:
    """Load the page's template, with its style and its script."""
    environment = Environment(
        loader=PackageLoader(__package__, ""),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: value if isinstance(value, Markup) else plain(value),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["grid"] = _grid
    environment.filters["base64"] = lambda png: base64.b64encode(png).decode("ascii")
    style, script = (
        (files(__package__) / name).read_text("utf-8") for name in ("page.css", "page.js")
    )
    environment.globals |= {
        "style": Markup(style),
        "script": Markup(script),
        "policy": f"default-src 'none'; img-src data:; style-src {_digest(style)}; "
        f"script-src {_digest(script)}; base-uri 'none'; form-action 'none'",
    }
    return environment.get_template("page.html.jinja")


def _digest(text: str) -> str:
    """Write what a Content-Security-Policy knows a text by."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


class _Grid(NamedTuple):
    """A table of the page: each cell with the class of its column, each row with its standing."""

    head: list[tuple[str, str]]
    rows: list[tuple[str, list[tuple[str, str]]]]


def _grid(table: pd.DataFrame, standings: Sequence[str] = ()) -> _Grid:
    """Lay out a table for the page: columns of text and of sentences are marked."""
    head, *rows = _cells(table)
    classes = ["", *(_cell_class([row[k] for row in rows]) for k in range(1, len(head)))]
    cells = [list(zip(classes, row, strict=True)) for row in rows]
    standings = standings or [""] * len(rows)
    return _Grid(list(zip(classes, head, strict=True)), list(zip(standings, cells, strict=True)))


def _cell_class(cells: Sequence[str]) -> str:
    """Tell columns of sentences, and of text, from those of numbers."""
    if any(len(cell) > PROSE for cell in cells):
        return "prose"
    letters = [cell[:1].isalpha() for cell in cells if cell]
    return "text" if letters and all(letters) else ""


def _rank_table(summary: pd.DataFrame, words: pd.Series, rows: int) -> pd.DataFrame:
    """Write the table of ranks as text: all columns of the terminal and of the page."""
    top, shown = _top(summary), summary.head(rows)
    table = pd.DataFrame(index=pd.Index(map(str, shown.index)))
    table["mean rank"] = [f"{rank:.1f}" for rank in shown["mean_rank"]]
    table["from"], table["to"] = (shown[name].map(str).array for name in ("rank_low", "rank_high"))
    table["ranks"] = table["from"] + "-" + table["to"]
    table["P(best)"] = [f"{p:.2f}" for p in shown["p_best"]]
    table[f"P(top {top})"] = [f"{p:.2f}" for p in shown[f"p_top{top}"]]
    for name in _optional_columns(summary):
        heading, form = OPTIONAL[name]
        if name == "lower" and "elo" in summary:
            form = ".0f"
        table[heading] = [format(value, form) for value in shown[name]]
    table["standing"] = words.head(rows).array
    table["utility"] = [
        f"{mean:.2f}" if np.isnan(sd) else f"{mean:.2f} ± {sd:.2f}"
        for mean, sd in zip(shown["mean"], shown["sd"], strict=True)
    ]
    return table


def _rank_alt(summary: pd.DataFrame) -> str:
    """Say what the picture of the ranks shows, for those who cannot see it."""
    shown = [
        f"{name} {row.mean_rank:.1f} ({row.rank_low} to {row.rank_high})"
        for name, row in summary.head(5).iterrows()
    ]
    more = f", and {len(summary) - 5} more" if len(summary) > 5 else ""
    return f"Mean ranks and rank intervals, best first: {', '.join(shown)}{more}"


def _sorted(summary: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """Sort by the column lower, if there is one; and the standings, which are by mean rank."""
    words = standing(summary)
    if "lower" not in summary:
        return summary, words
    order = np.argsort(-summary["lower"].to_numpy(), kind="stable")
    return summary.iloc[order], words.iloc[order]


def _optional_columns(summary: pd.DataFrame) -> list[str]:
    """Find the optional columns of a summary; tiers that are all the same say nothing."""
    found = [name for name in OPTIONAL if name in summary]
    return [name for name in found if name != "tier" or summary[name].max() > 1]


def _require_one_group(summary: pd.DataFrame) -> None:
    if isinstance(summary.index, pd.MultiIndex):
        raise ValueError(
            f"The summary has the groups {list(summary.index.names[:-1])}; select one of each, "
            "such as summary.loc[group]."
        )


def _top(summary: pd.DataFrame) -> str:
    """Return the k of the column p_top{k}."""
    return next(c.removeprefix("p_top") for c in summary.columns if c.startswith("p_top"))


def _cells(table: pd.DataFrame) -> list[list[str]]:
    """Head and rows of a table as text."""
    head = [table.index.name or "", *table.columns]
    rows = [[label, *row] for label, row in zip(table.index, table.to_numpy(), strict=True)]
    return [[str(cell) for cell in row] for row in [head, *rows]]


def _aligned(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table for a terminal: names and standings at the left, all else at the right."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="")
    for k, name in enumerate(head):
        side: Literal["left", "right"] = "left" if k == 0 or name == "standing" else "right"
        width = 8 if name == "ranks" else None
        table.add_column(Text(_on_one_line(name)), justify=side, min_width=width, no_wrap=True)
    for row in rows:
        table.add_row(*(Text(_on_one_line(cell)) for cell in row))
    console = Console(width=10_000, color_system=None)
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def _on_one_line(text: object, longest: int = LONGEST) -> str:
    """Write a text on one line, and not on a long one."""
    line = " ".join(plain(text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
