"""The result in words, as a table, and as one self-contained HTML page with its sections."""

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bayesrank.results.files import plain
from bayesrank.results.ranks import LITTLE, standing

__all__ = ["Section", "report_html", "table_text", "verdict"]

LONGEST = 40  # characters of a cell on the terminal
MOST_ROWS = 20  # of a table on the terminal


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 56rem; margin: 0 auto;
       padding: 1rem; }}
h1 {{ line-height: 1.2; }}
/* Wide things scroll by themselves: a narrow screen would make their text unreadable. */
.wide {{ overflow-x: auto; }}
img {{ width: 100%; min-width: 34rem; max-width: 48rem; height: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }}
th, td {{ padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #ddd;
          white-space: nowrap; }}
th:first-child, td:first-child {{ text-align: left; }}
thead th {{ border-bottom: 2px solid #444; }}
tr.leads td:first-child, tr.close td:first-child, tr.tied td:first-child {{ color: #0072B2;
  font-weight: 600; }}
tr.unknown td:first-child {{ color: #3a8fc4; font-style: italic; }}
.verdict {{ font-size: 1.15rem; }} .note {{ color: #444; }}
.warn {{ background: #fff3cd; padding: .5rem .8rem; overflow-wrap: anywhere; }}
.misfit {{ background: #f8d7da; font-weight: 600; }}
h1, .verdict, p {{ overflow-wrap: anywhere; }}
td:first-child {{ white-space: normal; min-width: 8rem; overflow-wrap: anywhere; }}
nav {{ font-size: .92rem; }} nav a {{ margin-right: .9rem; white-space: nowrap; }}
@media print {{ .wide {{ overflow: visible; }} nav {{ display: none; }}
  body {{ max-width: none; padding: 0; }} img, tr {{ break-inside: avoid; }}
  img {{ min-width: 0; }} table {{ font-size: .8rem; }} }}
</style></head><body>
<h1>{title}</h1>
<p class="verdict">{verdict}</p>
{paragraphs}
<nav>{contents}</nav>
<h2 id="s0">How to read this</h2>
<p class="note">A rank is a place in the order of all items, 1 for the best. The data do not fix
the order, so every item has a range of ranks that are plausible: the line in the picture, and the
columns <b>from</b> and <b>to</b>, which hold its rank with probability {interval:g}. <b>P(best)</b>
is the probability of rank 1, <b>P(top {top})</b> that of rank {top} or better. <b>Standing</b> says
which items may be better than the leader. {words} The leader is better than all the others, at
once, with probability {tied_prob:g} or more. Utility is the logarithm of an item's worth:
{reading}.</p>
<h2 id="s1">Ranks</h2>
<div class="wide"><img alt="{alt}"
src="data:image/png;base64,{picture}"></div>
<div class="wide">{table}</div>
{sections}
</body></html>
"""

WORDS = {
    "close": "<b>Close</b> (blue) are those whose utility is about as high, by what the data say.",
    "unknown": "<b>Unknown</b> (light blue) are those of which the data say too little: they took "
    "away less than half of the variance that the utility has before any data.",
    "tied": "<b>Tied</b> (blue) are those that cannot be told from it.",
}
READING = "in a ranking of two, an item beats another with probability 1 / (1 + exp(−difference))"


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

    def html(self, anchor: str = "") -> str:
        """Write it for the page; every text is escaped."""
        mark = f' id="{_escape(anchor)}"' if anchor else ""
        parts = [f"<h2{mark}>{_escape(self.heading)}</h2>"]
        parts += [f"<p>{_escape(text)}</p>" for text in self.paragraphs]
        if self.picture is not None:
            source = base64.b64encode(self.picture).decode("ascii")
            parts.append(
                f'<div class="wide"><img alt="{_escape(self.alt)}"\n'
                f'src="data:image/png;base64,{source}"></div>'
            )
        if self.table is not None:
            head, *rows = _cells(self.table)
            cells = "".join(f"<th>{_escape(text)}</th>" for text in head)
            body = "".join(
                f"<tr>{''.join(f'<td>{_escape(text)}</td>' for text in row)}</tr>" for row in rows
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
        From `rank_summary`, one group; a column rankings or matches says how often items were seen.
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
    shown, top = summary.head(rows), _top(summary)
    words, seen = standing(summary), _seen(summary)
    names = [" ".join(plain(name).split()) for name in shown.index]
    names = [n if len(n) <= longest_name else f"{n[: longest_name - 1]}…" for n in names]
    width = max(len(name) for name in ["item", *names])
    count = "" if seen is None else f"  {seen:>8}"
    lines = [f"{'item':<{width}}  mean rank     ranks  P(best)  P(top {top}){count}  standing"]
    for name, word, (_, row) in zip(names, words, shown.iterrows(), strict=False):
        span = f"{row.rank_low}-{row.rank_high}"
        count = "" if seen is None else f"  {row[seen]:8,.0f}"
        line = (
            f"{name:<{width}}  {row.mean_rank:9.1f}  {span:>8}  {row.p_best:7.2f}  "
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
    failures: Sequence[str] = (),
    warnings: Sequence[str] = (),
    sections: Sequence[Section] = (),
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
        From `rank_summary`, one group; a column rankings or matches says how often items were seen.
    picture : bytes
        A PNG, from `figure_png`.
    paragraphs, failures, warnings : sequence of str
        Plain text below the verdict: what the model fails in comes first, then warnings, both set
        apart.
    sections : sequence of Section
        What follows the table.
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
    top, seen, words = _top(summary), _seen(summary), standing(summary)
    text = [f'<p class="warn misfit">{_escape(w)}</p>' for w in failures]
    text += [f'<p class="warn">{_escape(w)}</p>' for w in warnings]
    text += [f"<p>{_escape(p)}</p>" for p in paragraphs]
    count = [] if seen is None else [seen.capitalize()]
    head = ("Item", "Mean rank", "From", "To", "P(best)", f"P(top {top})", *count, "Standing")
    rows = [
        f"<tr{f' class="{word}"' if word else ''}><td>{_escape(str(name))}</td>"
        f"<td>{r.mean_rank:.1f}</td><td>{r.rank_low}</td><td>{r.rank_high}</td>"
        f"<td>{r.p_best:.2f}</td><td>{r[f'p_top{top}']:.2f}</td>"
        f"{'' if seen is None else f'<td>{r[seen]:,.0f}</td>'}<td>{word}</td>"
        f"<td>{r['mean']:.2f}{'' if np.isnan(r['sd']) else f' ± {r["sd"]:.2f}'}</td></tr>"
        for (name, r), word in zip(summary.iterrows(), words, strict=True)
    ]
    cells = "".join(f"<th>{_escape(h)}</th>" for h in (*head, "Utility"))
    table = f"<table><thead><tr>{cells}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    used = ["close", "unknown"] if "known" in summary else ["tied"]
    return PAGE.format(
        title=_escape(title),
        verdict=_escape(verdict(summary, tied_prob=tied_prob)),
        paragraphs="\n".join(text),
        picture=base64.b64encode(picture).decode("ascii"),
        table=table,
        contents=" ".join(
            f'<a href="#s{n}">{_escape(heading)}</a>'
            for n, heading in enumerate(
                ["How to read this", "Ranks", *(s.heading for s in sections)]
            )
        ),
        alt=_escape(_rank_alt(summary)),
        sections="\n".join(section.html(f"s{n}") for n, section in enumerate(sections, start=2)),
        reading=_escape(reading or READING),
        words=" ".join(WORDS[word] for word in used),
        top=top,
        tied_prob=tied_prob,
        interval=interval,
    )


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


def _seen(summary: pd.DataFrame) -> str | None:
    """Name the column that counts what each item was seen in."""
    return next((name for name in ("rankings", "matches") if name in summary), None)


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
