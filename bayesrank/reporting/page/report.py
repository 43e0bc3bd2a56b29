"""Write the result as sentences, as a table, and as one self-contained HTML page."""

import base64
import functools
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bayesrank.data.read import name_some
from bayesrank.reporting.page.files import plain
from bayesrank.results.draws import interval_probability
from bayesrank.results.ranks.counted import LITTLE
from bayesrank.results.ranks.rank_table import BEHIND, LEADS, TIED, UNCLEAR

__all__ = ["Section", "page_variant", "report_html", "table_text", "verdict"]

LONGEST = 40  # most characters of a cell on the terminal
SHORTEST = 8  # least characters to which a narrow terminal shortens a name
MOST_ROWS = 20  # most rows of a table on the terminal
NAMED = 5  # most items that the verdict names
TIED_PROB = 0.95  # joint probability of the items behind, as in `rank_summary`
CLEAR = 0.5  # P(best) from which the leader is called clear
PROSE = 50  # a column with longer cells on the page contains sentences
READING = "in a ranking of two, an item beats another with probability 1 / (1 + exp(−difference))"
# Optional columns of a summary: heading and format of a cell
OPTIONAL = {
    "rankings": ("rankings", ",.0f"),
    "matches": ("matches", ",.0f"),
    "tasks": ("tasks", ",.0f"),
    "last_seen": ("last seen", ""),
    "elo": ("elo", ".0f"),
    "lower": ("lower", ".2f"),
}
# Headings of the table of ranks that a narrow terminal omits, the least important first. A narrow
# page omits the first of them.
OMITTED = ("utility", "rankings", "matches", "tasks", "last seen", "P(top", "mean rank")
MINOR = tuple(f"{name[0].upper()}{name[1:]}" for name in OMITTED)
THEN_OMITTED = ("lower", "elo", "ranks", "status")
SURE, SURE_DIGITS = 0.995, "0.99"  # larger probabilities would round to 1.00
MOST_BARS = 10  # items in the picture
FIRST_ROWS = 20  # rows of the table of ranks that are not folded
FEW = 3  # most items that the first sentence names
# Phrases for items that may be better than the leader: for one item, for several
MAYBE_BETTER = {
    TIED: ("is tied with it and may be better", "are tied with it and may be better"),
    UNCLEAR: (
        "may be better, because there are too few data",
        "may be better, because there are too few data",
    ),
}


@dataclass(frozen=True)
class Section:
    """A heading with paragraphs, a picture and a table below it.

    `picture` is an SVG from `figure_svg`, and `alt` describes it. The cells of `table` are text;
    the index is the first column. `first` rows are shown, and the others fold; 0 shows all rows.
    `file` names the file with the whole table, next to the page.

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
    first: int = 0

    def text(self, width: int | None = None) -> str:
        """Write the section for a terminal, without the picture, in lines of fixed width.

        Of a table wider than `width` columns, the columns on the right are omitted.
        """
        lines = [self.heading]
        if self.table is not None:
            rows = min(self.first or MOST_ROWS, MOST_ROWS)
            omitted = list(self.table.columns[:0:-1])
            lines.append(_shortened(self.table, len(self.table), rows, width, omitted))
        return plain("\n".join([*lines, *self.paragraphs]))


def answer(summary: pd.DataFrame) -> str:
    """Answer in one sentence which item is best, and how sure that is.

    Parameters
    ----------
    summary : DataFrame
        As in `verdict`.

    Examples
    --------
    >>> import xarray as xr
    >>> from bayesrank.results import rank_summary
    >>> u = xr.DataArray([[[2.0, 1.0, 0.0], [3.0, 1.0, 0.0], [0.0, 1.0, -1.0], [2.0, 1.0, 0.0]]],
    ...     dims=("chain", "draw", "item"), coords={"item": ["ale", "bock", "cider"]})
    >>> answer(rank_summary(u))
    'ale leads, and is the best with probability 0.75, but bock may be better.'
    """
    _require_one_group(summary)
    leader = _leader(summary)
    chance = _chance(leader["p_best"])
    sentence = f"{plain(leader.name)} leads, and is the best with probability {chance}"
    if leader["p_best"] < CLEAR:
        sentence = (
            f"No clear leader: {plain(leader.name)} has the lowest mean rank, and is the best with "
            f"probability {chance}"
        )
    others = list(map(plain, summary.index[summary["status"].isin([TIED, UNCLEAR])]))
    if not others:
        return f"{sentence}."
    if len(others) > FEW:
        return f"{sentence}, but {len(others)} other items may be better."
    names = " and ".join(filter(None, [", ".join(others[:-1]), others[-1]]))
    return f"{sentence}, but {names} may be better."


def _leader(summary: pd.DataFrame) -> pd.Series:
    """Return the row of the leader."""
    leads = summary[summary["status"] == LEADS]
    if len(leads) != 1:
        raise ValueError(
            f"`summary` has {len(leads)} leaders; it must have one. Pass the table from "
            "rank_summary without removing the leader."
        )
    return leads.iloc[0]


def _chance(probability: float) -> str:
    """Write a probability with two digits, without calling it certain."""
    if probability >= SURE:
        return f"more than {SURE_DIGITS}"
    return f"{probability:.2f}"


def verdict(summary: pd.DataFrame) -> str:
    """Describe the leader, its probability of being best, and the items that may be better.

    Parameters
    ----------
    summary : DataFrame
        From `rank_summary` with its default `tied_prob`, one group.

    Raises
    ------
    ValueError
        If `summary` has several groups, or lacks the row of the leader.
    """
    _require_one_group(summary)
    leader = _leader(summary)
    if leader["p_best"] < CLEAR:
        first = (
            f"No clear leader: {plain(leader.name)} has the lowest mean rank "
            f"({leader['mean_rank']:.1f}), and is the best with probability {leader['p_best']:.2f}."
        )
    else:
        first = (
            f"{plain(leader.name)} leads: mean rank {leader['mean_rank']:.1f}, best with "
            f"probability {leader['p_best']:.2f}."
        )
    sentences = [first]
    if len(summary) == 1:
        return first
    if "known" in summary and leader["known"] < LITTLE:
        sentences.append(
            "There are few data about the leader itself, so its rank also depends on the prior."
        )
    status = summary["status"]
    maybe_better = {word: summary.index[status == word] for word in MAYBE_BETTER}
    sentences += [_named(word, items) for word, items in maybe_better.items() if len(items)]
    behind = int((status == BEHIND).sum())
    if behind:
        sentences.append(_behind(plain(leader.name), behind, len(summary) - 1))
    surest = summary.iloc[int(summary["p_best"].argmax())]
    if surest["p_best"] > leader["p_best"]:
        sentences.append(
            f"{plain(surest.name)} is best with a higher probability ({surest['p_best']:.2f}), but "
            f"its mean rank is {surest['mean_rank']:.1f}, because its place is less certain."
        )
    return " ".join(sentences)


def _behind(leader: str, n: int, others: int) -> str:
    """Say that the leader is better than the n items that are behind, of all others."""
    if n == others:
        items = "the other item" if n == 1 else "all other items jointly"
    else:
        items = "the remaining item" if n == 1 else f"the remaining {n} items jointly"
    return f"{leader} is better than {items} with probability {TIED_PROB} or more."


def _named(word: str, items: pd.Index) -> str:
    """Return a sentence that names items that may be better than the leader."""
    one, more = MAYBE_BETTER[word]
    if len(items) == 1:
        return f"One other item {one}: {plain(items[0])}."
    names = name_some([*map(plain, items)], NAMED)
    return f"{len(items)} other items {more}: {names}."


def table_text(summary: pd.DataFrame, width: int | None = None) -> str:
    """Write the summary for a terminal, in lines of fixed width; the last line counts other items.

    Parameters
    ----------
    summary : DataFrame
        From `rank_summary`, one group. The optional columns rankings, matches, last_seen,
        elo and lower are also shown. If it has the column lower, rows are sorted by it.
    width : int, optional
        Columns of the terminal. In a wider table, the least important columns are omitted, and a
        last line names them. Names are shortened only if that is not enough.

    Raises
    ------
    ValueError
        If `summary` has several groups.

    Examples
    --------
    >>> import xarray as xr
    >>> from bayesrank.results import rank_summary
    >>> u = xr.DataArray([[[2.0, 1.0], [3.0, 1.0], [0.0, 1.0], [2.0, 1.0]]],
    ...     dims=("chain", "draw", "item"), coords={"item": ["ale", "bock"]})
    >>> print(table_text(rank_summary(u), width=36))
    item     ranks  P(best)  status
    ale        1-2     0.75  leads
    bock       1-2     0.25  tied
    Not shown: P(top 3), mean rank
    """
    _require_one_group(summary)
    summary = _sorted(summary)
    table = _rank_table(summary, MOST_ROWS).drop(columns=["from", "to", "utility"])
    omitted = [
        name
        for start in (*OMITTED, *THEN_OMITTED)
        for name in table.columns
        if name.startswith(start)
    ]
    return _shortened(table.rename_axis("item"), len(summary), MOST_ROWS, width, omitted)


def report_html(
    title: str,
    summary: pd.DataFrame,
    *,
    paragraphs: Sequence[str],
    verdict_too: str = "",
    failures: Sequence[str] = (),
    warnings: Sequence[str] = (),
    fit: str = "",
    notes: Sequence[str] = (),
    sections: Sequence[Section] = (),
    command: str = "",
    code: str = "",
    made: str = "",
    file: str = "",
    reading: str | None = None,
    named: Callable[[str], str] = str,
    interval: float | None = None,
    results: Mapping[str, Any] | None = None,
) -> str:
    """Write the page as HTML that makes no requests; every text is escaped.

    Parameters
    ----------
    title : str
        Title of the page.
    summary : DataFrame
        As in `table_text`, made with the probability `interval`.
    paragraphs : sequence of str
        How the result was made, the last section of the page.
    verdict_too : str
        Further sentences of the verdict.
    failures, warnings : sequence of str
        Failed checks of the model, then warnings. The first sentence of each is a line below the
        answer, and the others fold.
    fit : str
        The line below the answer if the model fits.
    notes, sections : sequences of str and of Section
        Notes on the data, and sections after the table; all of them fold.
    command, code, made, file : str
        The command at the top, and the same as calls of Python. Then a line at the bottom, and the
        name of the file with the table, next to the page.
    reading : str, optional
        Meaning of a difference of utilities, by default its meaning in rankings.
    named : callable
        Writes a text of the page itself with the nouns of the data. The other texts have them.
    interval : float, optional
        Probability of the rank intervals, by default ``arviz.rcParams["stats.ci_prob"]``.
    results : mapping, optional
        Results that the page contains as JSON. Its script reads pairs, from `pair_results`, and
        variants, a list from `page_variant`.

    Raises
    ------
    ValueError
        If `summary` has several groups.
    """
    _require_one_group(summary)
    ordered = _sorted(summary)
    statuses = ordered["status"].tolist()
    table = (
        _rank_table(ordered, len(ordered)).drop(columns="ranks").rename(columns=_capitalised)
    ).rename_axis("Item")
    return _template().render(
        title=title,
        command=command,
        code=code,
        made=made,
        answer=f"{named(answer(summary))} {verdict_too}".rstrip(),
        verdict=f"{named(verdict(summary))} {verdict_too}".rstrip(),
        failures=list(map(_line, failures)),
        warnings=list(map(_line, warnings)),
        fit=_line(fit) if fit else None,
        notes=notes,
        columns=_optional_columns(summary),
        statuses=statuses,
        top=_top(summary),
        reading=reading or READING,
        named=lambda text: Markup(named(str(text))),  # of the template, which is escaped
        interval=f"{interval_probability(interval):g}",
        tied_prob=TIED_PROB,
        leaders=_bars(summary),
        ranks=_grid(table, statuses, MINOR),
        first_rows=FIRST_ROWS,
        file=file,
        sections=[*sections, Section("How this was made", paragraphs)],
        results=Markup(_json(results or {})),
    )


def page_variant(label: str, summary: pd.DataFrame) -> dict[str, Any]:
    """Return the answer under another choice, for the script of the page.

    Parameters
    ----------
    label : str
        The choice in words.
    summary : DataFrame
        As in `report_html`, from a fit with that choice.

    Returns
    -------
    dict
        ``label``, the first sentence (``answer``), the picture of the leaders, and the cells of the
        table of ranks by heading. The page shows its own value for a heading that is missing.

    Examples
    --------
    >>> import xarray as xr
    >>> from bayesrank.results import rank_summary
    >>> u = xr.DataArray([[[2.0, 1.0], [3.0, 1.0], [0.0, 1.0], [2.0, 1.0]]],
    ...     dims=("chain", "draw", "item"), coords={"item": ["ale", "bock"]})
    >>> page_variant("prior scale doubled", rank_summary(u))["ranks"]["P(best)"]
    ['0.75', '0.25']
    """
    _require_one_group(summary)
    table = _rank_table(summary, len(summary)).drop(columns="ranks").rename(columns=_capitalised)
    leaders = _bars(summary)
    return {
        "label": label,
        "answer": plain(answer(summary)),
        "leaders": {"rows": leaders.rows, "last": leaders.last},
        "statuses": summary["status"].tolist(),
        "ranks": {"Item": [plain(name) for name in table.index], **table.to_dict("list")},
    }


class _Line(NamedTuple):
    """The first sentence of a text, and the others."""

    first: str
    rest: str


def _line(text: str) -> _Line:
    """Cut a text after its first sentence."""
    first, *rest = re.split(r"(?<=[.?!]) (?=[A-Z(])", plain(text), maxsplit=1)
    return _Line(first, " ".join(rest))


def _json(results: Mapping[str, Any]) -> str:
    """Write results as JSON that cannot end the element which contains it."""
    text = json.dumps(results, separators=(",", ":"))
    return text.replace("<", r"\u003c").replace("&", r"\u0026")


class _Bars(NamedTuple):
    """The picture of the most probable best items: widths and positions are in percent."""

    rows: list[dict[str, str]]
    of: int
    last: int


def _bars(summary: pd.DataFrame) -> _Bars:
    """Lay out the picture of the highest P(best) as bars, with ranks as intervals."""
    highest = np.argsort(-summary["p_best"].to_numpy(), kind="stable")[:MOST_BARS]
    shown = summary.iloc[highest]
    last = int(max(shown["rank_high"].max(), 2))

    def place(rank: float) -> str:
        return f"{100 * (rank - 1) / (last - 1):.1f}"

    rows = [
        {
            "name": str(name),
            "status": row["status"],
            "p_best": f"{row['p_best']:.2f}",
            "width": f"{100 * row['p_best']:.1f}",
            "ranks": f"{row['rank_low']}–{row['rank_high']}",
            "x": place(row["mean_rank"]),
            "x1": place(row["rank_low"]),
            "x2": place(row["rank_high"]),
            "title": f"{name}: best with probability {row['p_best']:.3f}, mean rank "
            f"{row['mean_rank']:.2f}, rank {row['rank_low']} to {row['rank_high']}",
        }
        for name, row in zip(shown.index, shown.to_dict("records"), strict=True)
    ]
    return _Bars(rows, len(summary), last)


def _capitalised(heading: str) -> str:
    return heading[0].upper() + heading[1:]


@functools.cache
def _template() -> Any:
    """Load the template of the page, with its style and its script."""
    environment = Environment(
        loader=PackageLoader(__package__, ""),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: value if isinstance(value, Markup) else plain(value),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["grid"] = _grid
    environment.filters["base64"] = lambda svg: base64.b64encode(svg).decode("ascii")
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
    """Return the hash of a text for a Content-Security-Policy."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


class _Grid(NamedTuple):
    """A table of the page: each cell with the class of its column, each row with its status."""

    head: list[tuple[str, str]]
    rows: list[tuple[str, list[tuple[str, str]]]]

    def head_of(self, n: int) -> "_Grid":
        """Return the first rows."""
        return self._replace(rows=self.rows[:n])


def _grid(table: pd.DataFrame, statuses: Sequence[str] = (), minor: tuple[str, ...] = ()) -> _Grid:
    """Lay out a table for the page, with a class for columns of text and of sentences.

    Columns whose headings start as `minor` says get a class that a narrow page omits.
    """
    head, *rows = _cells(table)
    classes = [""]
    for k in range(1, len(head)):
        found = [_cell_class([row[k] for row in rows])]
        found += ["minor"] if minor and head[k].startswith(minor) else []
        classes.append(" ".join(filter(None, found)))
    cells = [list(zip(classes, row, strict=True)) for row in rows]
    statuses = statuses or [""] * len(rows)
    return _Grid(list(zip(classes, head, strict=True)), list(zip(statuses, cells, strict=True)))


def _cell_class(cells: Sequence[str]) -> str:
    """Return the class of a column: sentences, text or numbers."""
    if any(len(cell) > PROSE for cell in cells):
        return "prose"
    letters = [cell[:1].isalpha() for cell in cells if cell]
    return "text" if letters and all(letters) else ""


def _rank_table(summary: pd.DataFrame, rows: int) -> pd.DataFrame:
    """Write the table of ranks as text, with the columns of the terminal and of the page."""
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
    table["status"] = shown["status"].array
    table["utility"] = [
        f"{mean:z.2f}" if np.isnan(sd) else f"{mean:z.2f} ± {sd:.2f}"
        for mean, sd in zip(shown["mean"], shown["sd"], strict=True)
    ]
    return table


def _sorted(summary: pd.DataFrame) -> pd.DataFrame:
    """Sort the summary by the column lower, if there is one."""
    if "lower" not in summary:
        return summary
    return summary.iloc[np.argsort(-summary["lower"].to_numpy(), kind="stable")]


def _optional_columns(summary: pd.DataFrame) -> list[str]:
    """Find the optional columns of a summary."""
    return [name for name in OPTIONAL if name in summary]


def _require_one_group(summary: pd.DataFrame) -> None:
    if isinstance(summary.index, pd.MultiIndex):
        raise ValueError(
            f"`summary` has the groups {list(summary.index.names[:-1])}. Select one label of each, "
            "such as summary.loc[label]."
        )


def _top(summary: pd.DataFrame) -> str:
    """Return the k of the column p_top{k}."""
    return next(c.removeprefix("p_top") for c in summary.columns if c.startswith("p_top"))


def _cells(table: pd.DataFrame) -> list[list[str]]:
    """Return the head and the rows of a table as text."""
    head = [table.index.name or "", *table.columns]
    rows = [[label, *row] for label, row in zip(table.index, table.to_numpy(), strict=True)]
    return [[str(cell) for cell in row] for row in [head, *rows]]


def _shortened(
    table: pd.DataFrame, n: int, rows: int, width: int | None, omitted: Sequence[Any]
) -> str:
    """Write the first rows of a table for a terminal, and say how many of n are left.

    If the table is wider than the terminal, the columns `omitted` are left out one after the other.
    """
    table = table.head(rows)
    text, left_out = _aligned(table), 0
    while width is not None and _width(text) > width and left_out < len(omitted):
        left_out += 1
        text = _aligned(table.drop(columns=list(omitted[:left_out])))
    if width is not None and (over := _width(text) - width) > 0:
        table = table.drop(columns=list(omitted[:left_out]))
        names = max((cell_len(_on_one_line(name)) for name in table.index), default=0)
        text = _aligned(table, max(names - over, SHORTEST))
    more = [f"... and {n - rows} more"] if n > rows else []
    if left_out:
        more.append(f"Not shown: {', '.join(map(str, omitted[:left_out]))}")
    return "\n".join([text, *more])


def _width(text: str) -> int:
    """Return the columns of a terminal that the longest line takes."""
    return max(map(cell_len, text.splitlines()), default=0)


def _aligned(table: pd.DataFrame, longest: int | None = None) -> str:
    """Write a table for a terminal, with names and statuses left-aligned."""
    head, *rows = _cells(table)
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="")
    for k, name in enumerate(head):
        side: Literal["left", "right"] = "left" if k == 0 or name == "status" else "right"
        width = 8 if name == "ranks" else None
        grid.add_column(Text(_on_one_line(name)), justify=side, min_width=width, no_wrap=True)
    for name, *cells in rows:
        first = _fitting(_on_one_line(name), longest)
        grid.add_row(Text(first), *(Text(_on_one_line(cell)) for cell in cells))
    console = Console(width=10_000, color_system=None, force_jupyter=False)
    with console.capture() as capture:
        console.print(grid)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def _on_one_line(text: object) -> str:
    """Write a text on one line of at most `LONGEST` characters."""
    line = " ".join(plain(text).split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def _fitting(name: str, longest: int | None) -> str:
    """Shorten a name to some columns of a terminal; a Chinese character takes two."""
    if longest is None or cell_len(name) <= longest:
        return name
    return f"{set_cell_size(name, longest - 1).rstrip()}…"
