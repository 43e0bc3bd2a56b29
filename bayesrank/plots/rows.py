"""Rows of named intervals, which several plots share."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, MaxNLocator
from numpy.typing import ArrayLike, NDArray

from bayesrank.plots.panels import Panels

__all__ = [
    "DARK", "LEADING", "MANY", "OTHER", "UNKNOWN", "WARNING", "draw_intervals", "explain",
    "handle", "interval_handles", "rank_ticks", "row_height", "set_up_rows", "without_box",
]  # fmt: skip

# Okabe-Ito blue and vermilion, and a grey, safe for colour-blind readers
LEADING, WARNING, OTHER = "#0072B2", "#D55E00", "#8a8a8a"
UNKNOWN = "#7fc4ea"  # the same blue, lighter
DARK = "#333333"
IN_WORDS = {LEADING: "blue", WARNING: "orange", UNKNOWN: "light blue"}
MANY = 40  # with more rows, the scale is repeated at the bottom


def row_height(n_rows: int) -> float:
    """Return the height of a row with a name in inches."""
    return 0.24 if n_rows > 12 else 0.34


def draw_intervals(
    ax: Axes,
    y: NDArray[np.number],
    thin: tuple[ArrayLike, ArrayLike],
    thick: tuple[ArrayLike, ArrayLike],
    mean: ArrayLike,
    colour: ArrayLike,
    marker: str = "o",
) -> list[Artist]:
    """Draw a thin line, a thick line over it, and a marker on top in every row."""
    colours = np.atleast_1d(np.asarray(colour))
    size = 24 if marker == "o" else 40  # a triangle looks smaller
    look: dict[str, Any] = {"c": "white", "edgecolors": colours, "linewidths": 1.4}
    return [
        ax.hlines(y, *thin, color=colours, linewidth=1.2, zorder=2),
        ax.hlines(y, *thick, color=colours, linewidth=4.5, zorder=3),
        ax.scatter(mean, y, s=size, marker=marker, zorder=4, **look),
    ]


def set_up_rows(
    ax: Axes, y: NDArray[np.number], names: Sequence[str], *, foot: bool, named: bool = True
) -> None:
    """Write the names of the rows, which start at zero, and the scale above and at the bottom."""
    # A "$" in a name does not start mathematics.
    ax.set_yticks(y, names, fontsize=9, parse_math=False)
    ax.tick_params(axis="y", length=0, labelleft=named)
    ax.set_ylim(y.max() + 0.6, -0.6)
    # Readers start at the top, so the scale is above the first row.
    ax.xaxis.set_label_position("top")
    ax.tick_params(axis="x", top=True, labeltop=True, bottom=foot, labelbottom=foot)
    ax.grid(axis="x", color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["bottom", "right", "left"]].set_visible(False)


def rank_ticks(last: float, most: int = 9) -> FixedLocator:
    """Return ticks of a scale of ranks from 1 to the last rank."""
    found = MaxNLocator(integer=True, nbins=most).tick_values(1, max(last, 2))
    step = int(found[1] - found[0])
    # steps of up to three start at 1; longer steps use multiples
    ticks = range(0 if step > 3 else 1, int(last) + 1, step)
    return FixedLocator([max(tick, 1) for tick in ticks])


def handle(label: str, colour: str = "black", linewidth: float = 4, **look: Any) -> Line2D:
    """Create an entry of a legend: a line, or a white marker if one is named."""
    if "marker" in look:
        look = {"mfc": "white", "linestyle": ""} | look
    return Line2D([], [], color=colour, linewidth=linewidth, label=label, **look)


def interval_handles(ci_prob: float, mean: str, suffix: str = "") -> list[Line2D]:
    """Return the legend of intervals and means."""
    return [
        handle(mean, marker="o"),
        handle(f"50% interval{suffix}", linewidth=4.5),
        handle(f"{100 * ci_prob:g}% interval{suffix}", linewidth=1.2),
    ]


def explain(
    panels: Panels, axis: str, lines: str, handles: Sequence[Line2D], title: str, ncols: int = 3
) -> None:
    """Explain the plot in a legend, or on given panels in the label of the axis.

    On given panels, a legend would cover data or other axes of the figure.
    """
    known = [h for h in handles if h.get_color() in IN_WORDS or h.get_linestyle() == "--"]
    notes = [f"{IN_WORDS.get(str(h.get_color()), 'dashed')}: {h.get_label()}" for h in known]
    text = [axis] if panels.is_new else [f"{axis}: {lines}", *notes, *filter(None, [title])]
    for ax, _ in panels:
        ax.set_xlabel("\n".join(text), fontsize=10 if panels.is_new else 9)
    panels.legend(handles, title, ncols)


def without_box(ax: Axes) -> None:
    """Hide the lines at the top and at the right."""
    ax.spines[["top", "right"]].set_visible(False)
