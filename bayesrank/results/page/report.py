"""The result in words, as a table, and as one self-contained HTML page with its sections."""

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bayesrank.results.page.files import cells, plain
from bayesrank.results.page.page import (
    ELO,
    FIT,
    HOW_TO_READ,
    LOWER,
    PAGE,
    POLICY,
    READING,
    SCRIPT,
    STYLE,
    TIERS,
    WORDS,
)
from bayesrank.results.ranks.rank_table import LITTLE, standing

__all__ = ["Section", "report_html", "table_text", "verdict"]

LONGEST = 40  # characters of a cell on the terminal
MOST_ROWS = 20  # of a table on the terminal
PROSE = 50  # characters of a cell on the page beyond which those of the column are sentences


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
    file : str
        Name of the file beside the page that has the whole table.

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

    def html(self, anchor: str = "") -> str:
        """Write it for the page; every text is escaped."""
        mark = f' id="{_escape(anchor)}"' if anchor else ""
        parts = [f"<h2{mark}>{_escape(self.heading)}</h2>"]
        parts += [f"<p>{_escape(text)}</p>" for text in self.paragraphs]
        if self.picture is not None:
            parts.append(_picture(self.picture, self.alt))
        if self.table is not None:
            parts.append(_table(*_cells(self.table)))
        return "\n".join([*parts, *_link(self.file)])

    def text(self) -> str:
        """Write it for a terminal, without the picture: lines of fixed width."""
        lines = [self.heading]
        if self.table is not None:
            rows = [[_short(cell) for cell in row] for row in _cells(self.table)]
            shown = rows[: MOST_ROWS + 1]
            widths = [max(map(cells, column)) for column in zip(*shown, strict=True)]
            for first, *others in shown:
                line = [first + " " * (widths[0] - cells(first))]
                line += [
                    " " * (w - cells(cell)) + cell
                    for cell, w in zip(others, widths[1:], strict=True)
                ]
                lines.append("  ".join(line).rstrip())
            if len(rows) > len(shown):
                lines.append(f"... and {len(rows) - len(shown)} more")
        return plain("\n".join([*lines, *self.paragraphs]))


def verdict(summary: pd.DataFrame, *, tied_prob: float = 0.95, named: int = 5) -> str:
    """Say in words who leads, how sure that is, and who may be better.

    Parameters
    ----------
    summary : DataFrame
        From `rank_summary`, one group.
    tied_prob : float
        The probability that `summary` was made with.
    named : int
        Name at most so many of the items that may be better, best first.

    Returns
    -------
    str
        Some sentences.

    Raises
    ------
    ValueError
        If `summary` has several groups.

    Examples
    --------
    >>> import xarray as xr
    >>> from bayesrank.results import rank_summary
    >>> u = xr.DataArray([[[2.0, 1.0], [3.0, 1.0], [2.0, 0.0], [0.0, 1.0]]],
    ...                  dims=("chain", "draw", "item"), coords={"item": ["a", "b"]})
    >>> verdict(rank_summary(u, tied_prob=0.75), tied_prob=0.75)
    'a leads: mean rank 1.2, best with probability 0.75. It is better than the other ...'
    """
    _one_group(summary)
    leader, name = summary.iloc[0], plain(summary.index[0])
    said = (
        f"{name} leads: mean rank {leader['mean_rank']:.1f}, best with probability "
        f"{leader['p_best']:.2f}."
    )
    if len(summary) == 1:
        return said
    if "known" in summary and leader["known"] < LITTLE:
        said += " The data say little of the leader itself: the prior decides, too."
    words = standing(summary)
    unsure = False
    for word, one, more in (
        ("tied", "cannot be told from the leader", "cannot be told from the leader"),
        ("close", "is close and may be better", "are close and may be better"),
        ("unknown", "may be better, as too little is known of it", "may be better, as too little "
         "is known of them"),
    ):  # fmt: skip
        items = [plain(item) for item in summary.index[words == word]]
        if items:
            unsure = True
            rest = f" and {len(items) - named} more" if len(items) > named else ""
            count = f"{len(items)} other items" if len(items) > 1 else "One other item"
            said += (
                f" {count} {one if len(items) == 1 else more}: {', '.join(items[:named])}{rest}."
            )
    if not unsure:
        others = "all other items at once" if len(summary) > 2 else "the other item"
        said += f" It is better than {others} with probability {tied_prob:g} or more."
    surest = summary.iloc[int(summary["p_best"].argmax())]
    if surest["p_best"] > leader["p_best"]:
        said += (
            f" {plain(surest.name)} is more often the best (probability {surest['p_best']:.2f}), "
            f"but its mean rank is {surest['mean_rank']:.1f}: its place is less certain."
        )
    return said


def table_text(summary: pd.DataFrame, *, rows: int = 20, longest_name: int = 40) -> str:
    """Write the summary for a terminal.

    Parameters
    ----------
    summary : DataFrame
        From `rank_summary`, one group; columns rankings or matches, how often items were seen,
        last_seen, elo, lower and tier are shown as well; by lower, if it is there, it is sorted.
    rows : int
        Show at most so many items; the last line counts the others.
    longest_name : int
        Cut longer names.

    Returns
    -------
    str
        Lines of fixed width.

    Raises
    ------
    ValueError
        If `summary` has several groups.

    Examples
    --------
    >>> import xarray as xr
    >>> from bayesrank.results import rank_summary
    >>> u = xr.DataArray([[[2.0, 1.0], [3.0, 1.0], [2.0, 0.0], [0.0, 1.0]]],
    ...                  dims=("chain", "draw", "item"), coords={"item": ["a", "b"]})
    >>> print(table_text(rank_summary(u, top=1)))
    item  mean rank     ranks  P(best)  P(top 1)  standing
    a           1.2       1-2     0.75      0.75  leads
    b           1.8       1-2     0.25      0.25  tied
    """
    _one_group(summary)
    summary, words = _sorted(summary)
    shown, top, more = summary.head(rows), _top(summary), _more(summary)
    names = [" ".join(plain(name).split()) for name in shown.index]
    names = [n if len(n) <= longest_name else f"{n[: longest_name - 1]}…" for n in names]
    width = max(cells(name) for name in ["item", *names])
    heads = "".join(f"  {name:>{len(name)}}" for name in more)
    lines = [f"{'item':<{width}}  mean rank     ranks  P(best)  P(top {top}){heads}  standing"]
    for n, (name, word, (_, row)) in enumerate(zip(names, words, shown.iterrows(), strict=False)):
        span = f"{row.rank_low}-{row.rank_high}"
        count = "".join(f"  {texts[n]:>{len(name)}}" for name, texts in more.items())
        name += " " * (width - cells(name))
        line = (
            f"{name}  {row.mean_rank:9.1f}  {span:>8}  {row.p_best:7.2f}  "
            f"{row[f'p_top{top}']:8.2f}{count}  {word}"
        )
        lines.append(line.rstrip())
    if len(summary) > rows:
        lines.append(f"... and {len(summary) - rows} more")
    return "\n".join(lines)


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
    """Compose the page.

    Parameters
    ----------
    title : str
        Heading.
    summary : DataFrame
        From `rank_summary`, one group; columns rankings or matches, how often items were seen,
        last_seen, elo, lower and tier are shown as well; by lower, if it is there, it is sorted.
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
    notes : sequence of str
        What a reader should know about the data.
    sections : sequence of Section
        What follows the table.
    made : str
        A line below the heading: when, by what.
    file : str
        Name of the file beside the page that has the table.
    reading : str, optional
        What a difference of utilities means; by default what it means in rankings.
    tied_prob, interval : float
        The probabilities that `summary` was made with, of the tied items and of the ranks.

    Returns
    -------
    str
        HTML without any outside request; every text is escaped.

    Raises
    ------
    ValueError
        If `summary` has several groups.

    Examples
    --------
    >>> import xarray as xr
    >>> from bayesrank.results import rank_summary
    >>> u = xr.DataArray([[[2.0, 1.0]]], dims=("chain", "draw", "item"))
    >>> page = report_html("R & D", rank_summary(u), b"", paragraphs=["Two items."])
    >>> "<h1>R &amp; D</h1>" in page
    True
    """
    _one_group(summary)
    top = [f'<p class="warn misfit">{_escape(w)}</p>' for w in failures]
    top += [f'<p class="warn">{_escape(w)}</p>' for w in warnings]
    top += [f'<p class="fit">{_escape(fit)}</p>'] * bool(fit and not failures)
    used = ["close", "unknown"] if "known" in summary else ["tied"]
    how_to_read = HOW_TO_READ.format(
        interval=interval,
        top=_top(summary),
        words=" ".join(WORDS[word] for word in used),
        tied_prob=tied_prob,
        reading=_escape(reading or READING),
        sorted="" if "lower" in summary else ", by which items are sorted",
        more=ELO * ("elo" in summary)
        + LOWER.format(interval=interval) * ("lower" in summary)
        + TIERS.format(tied_prob=tied_prob) * ("tier" in _more(summary)),
        fit=FIT if fit or failures else "",
    )
    ranks = [_picture(picture, _rank_alt(summary)), _rank_table(summary), *_link(file)]
    parts = [("How to read this", how_to_read)]
    if notes:
        said = "".join(f"<li>{_escape(note)}</li>" for note in notes)
        parts.append(("Notes on the data", f"<ul>{said}</ul>"))
    parts.append(("Ranks", "\n".join(ranks)))
    whole = [
        *(f'<h2 id="s{n}">{heading}</h2>\n{text}' for n, (heading, text) in enumerate(parts)),
        *(section.html(f"s{n}") for n, section in enumerate(sections, start=len(parts))),
        Section("How this was made", paragraphs).html(f"s{len(parts) + len(sections)}"),
    ]
    headings = [*(heading for heading, _ in parts), *(section.heading for section in sections)]
    return PAGE.format(
        policy=POLICY,
        title=_escape(title),
        style=STYLE,
        made=f'<p class="made">{_escape(made)}</p>' if made else "",
        verdict=_escape(f"{verdict(summary, tied_prob=tied_prob)} {verdict_too}".rstrip()),
        top="\n".join(top),
        contents=" ".join(
            f'<a href="#s{n}">{_escape(heading)}</a>'
            for n, heading in enumerate([*headings, "How this was made"])
        ),
        sections="\n".join(whole),
        script=SCRIPT,
    )


def _rank_table(summary: pd.DataFrame) -> str:
    """Write the table of ranks, a row for each item in the colour of its standing."""
    summary, words = _sorted(summary)
    top, more = _top(summary), _more(summary)
    heads = [name.strip().capitalize() for name in more]
    head = ["Item", "Mean rank", "From", "To", "P(best)", f"P(top {top})", *heads, "Standing"]
    rows = [
        [
            str(name),
            f"{r.mean_rank:.1f}",
            str(r.rank_low),
            str(r.rank_high),
            f"{r.p_best:.2f}",
            f"{r[f'p_top{top}']:.2f}",
            *(texts[n] for texts in more.values()),
            word,
            f"{r['mean']:.2f}{'' if np.isnan(r['sd']) else f' ± {r["sd"]:.2f}'}",
        ]
        for n, ((name, r), word) in enumerate(zip(summary.iterrows(), words, strict=True))
    ]
    return _table([*head, "Utility"], *rows, classes=list(words))


def _table(head: Sequence[str], *rows: Sequence[str], classes: Sequence[str] = ()) -> str:
    """Write a table that scrolls by itself; every text is escaped."""
    mark = [_mark([row[k] for row in rows]) if k else "" for k in range(len(head))]
    names = "".join(f'<th scope="col"{mark[k]}>{_escape(text)}</th>' for k, text in enumerate(head))
    body = "".join(
        f"<tr{f' class="{word}"' if word else ''}>"
        f"{''.join(f'<td{mark[k]}>{_escape(text)}</td>' for k, text in enumerate(row))}</tr>"
        for row, word in zip(rows, classes or [""] * len(rows), strict=True)
    )
    return (
        f'<div class="wide" tabindex="0"><table><thead><tr>{names}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _mark(cells: Sequence[str]) -> str:
    """Say of a column whether it is text, and whether that is sentences."""
    if any(len(cell) > PROSE for cell in cells):
        return ' class="prose"'
    letters = [cell[:1].isalpha() for cell in cells if cell]
    return ' class="text"' if letters and all(letters) else ""


def _picture(png: bytes, alt: str) -> str:
    source = base64.b64encode(png).decode("ascii")
    return (
        f'<div class="wide" tabindex="0"><img alt="{_escape(alt)}"\n'
        f'src="data:image/png;base64,{source}"></div>'
    )


def _link(file: str) -> list[str]:
    """Say where the whole table is."""
    name = _escape(file)
    return [f'<p class="file">The whole table: <a href="{name}">{name}</a></p>'] if file else []


def _rank_alt(summary: pd.DataFrame) -> str:
    """Say what the picture of the ranks shows, for those who cannot see it."""
    shown = [
        f"{plain(name)} {row.mean_rank:.1f} ({row.rank_low} to {row.rank_high})"
        for name, row in summary.head(5).iterrows()
    ]
    more = f", and {len(summary) - 5} more" if len(summary) > 5 else ""
    return f"Mean ranks and rank intervals, best on top: {', '.join(shown)}{more}"


def _escape(text: str) -> str:
    return html.escape(plain(text))


def _sorted(summary: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """Sort by the column lower, if there is one; and the standings, which are by mean rank."""
    words = standing(summary)
    if "lower" not in summary:
        return summary, words
    order = np.argsort(-summary["lower"].to_numpy(), kind="stable")
    return summary.iloc[order], words.iloc[order]


def _more(summary: pd.DataFrame) -> dict[str, list[str]]:
    """Columns that a summary may have: the head, as wide as the column, and the cells."""
    columns = {
        "rankings": "rankings",
        "matches": " matches",
        "last_seen": "last seen",
        "elo": "  elo",
        "lower": "lower",
        "tier": "tier",
    }
    out = {}
    for name, head in columns.items():
        if name not in summary or (name == "tier" and summary[name].max() == 1):
            continue
        if name == "last_seen":
            texts = [plain(x) for x in summary[name]]
            head = f"{head:>{max(len(x) for x in [head, *texts])}}"
        else:
            form = {"elo": ".0f", "lower": ".0f" if "elo" in summary else ".2f"}.get(name, ",.0f")
            texts = [f"{x:{form}}" for x in summary[name]]
        out[head] = texts
    return out


def _one_group(summary: pd.DataFrame) -> None:
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


def _short(text: str) -> str:
    """Write a text on one line, and not on a long one."""
    line = " ".join(plain(text).split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
