"""One self-contained HTML page: the picture, the table, and how to read them."""

import base64
import html
import io
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

__all__ = ["figure_png", "report_html", "write_whole"]

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 56rem; margin: 0 auto;
       padding: 1rem; }}
h1 {{ line-height: 1.2; }}
img {{ width: 100%; max-width: 48rem; height: auto; }}
.table {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }}
th, td {{ padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #ddd;
          white-space: nowrap; }}
th:first-child, td:first-child {{ text-align: left; }}
thead th {{ border-bottom: 2px solid #444; }}
tr.tied td:first-child {{ color: #0072B2; font-weight: 600; }}
.note {{ color: #444; }} .warn {{ background: #fff3cd; padding: .5rem .8rem; }}
</style></head><body>
<h1>{title}</h1>
{paragraphs}
<img alt="Rank intervals of the items, best on top" src="data:image/png;base64,{picture}">
<h2>Table</h2>
<div class="table">{table}</div>
<h2>How to read this</h2>
<p class="note">A rank is a place in the order of all items, 1 for the best. The data do not fix
the order, so every item has a range of ranks that are plausible: the line in the picture, and the
columns <b>from</b> and <b>to</b>. <b>P(best)</b> is the probability of rank 1, <b>P(top {top})</b>
that of rank {top} or better. An item is <b>tied with the leader</b> (in blue) unless the leader
is better with probability {tied_prob:g} or more. Utility is the logarithm of an item's worth: in a
ranking of two, an item beats another with probability 1 / (1 + exp(&minus;difference)).</p>
</body></html>
"""


def report_html(
    title: str,
    summary: pd.DataFrame,
    picture: bytes,
    *,
    paragraphs: Sequence[str],
    warnings: Sequence[str] = (),
    tied_prob: float = 0.95,
) -> str:
    """Compose the page.

    Parameters
    ----------
    title : str
        Heading.
    summary : DataFrame
        From `rank_summary`, one group.
    picture : bytes
        A PNG, from `figure_png`.
    paragraphs, warnings : sequence of str
        Plain text above the picture; warnings are set apart.
    tied_prob : float
        The probability that `summary` was made with.

    Returns
    -------
    str
        HTML without any outside request; every text is escaped.
    """
    top = next(c.removeprefix("p_top") for c in summary.columns if c.startswith("p_top"))
    text = [f'<p class="warn">{html.escape(w)}</p>' for w in warnings]
    text += [f"<p>{html.escape(p)}</p>" for p in paragraphs]
    head = ("Item", "Mean rank", "From", "To", "P(best)", f"P(top {top})", "Tied with leader")
    rows = [
        f"<tr{' class="tied"' if r.tied_with_leader else ''}><td>{html.escape(str(name))}</td>"
        f"<td>{r.mean_rank:.1f}</td><td>{r.rank_low}</td><td>{r.rank_high}</td>"
        f"<td>{r.p_best:.2f}</td><td>{r[f'p_top{top}']:.2f}</td>"
        f"<td>{'yes' if r.tied_with_leader else ''}</td>"
        f"<td>{r['mean']:.2f} ± {r['sd']:.2f}</td></tr>"
        for name, r in summary.iterrows()
    ]
    cells = "".join(f"<th>{html.escape(h)}</th>" for h in (*head, "Utility"))
    table = f"<table><thead><tr>{cells}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return PAGE.format(
        title=html.escape(title),
        paragraphs="\n".join(text),
        picture=base64.b64encode(picture).decode("ascii"),
        table=table,
        top=top,
        tied_prob=tied_prob,
    )


def figure_png(figure: Figure, *, dpi: int = 150) -> bytes:
    """Render a figure as PNG.

    Parameters
    ----------
    figure : Figure
        Matplotlib figure.
    dpi : int
        Dots per inch.

    Returns
    -------
    bytes
        The file's content.
    """
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi)
    return buffer.getvalue()


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all: beside its place first, then moved there.

    Parameters
    ----------
    path : Path
        Where the file goes; one that is there is replaced.
    content : bytes
        All of it.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)  # mkstemp makes files that only their owner can read
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
