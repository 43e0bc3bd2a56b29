"""Rows: what pictures of intervals with a name each have in common."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from arviz import PlotCollection
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, MaxNLocator
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "LEADING",
    "MANY",
    "OTHER",
    "UNKNOWN",
    "WARNING",
    "figure_size",
    "handle",
    "interval",
    "interval_handles",
    "legend_above",
    "map_intervals",
    "means",
    "rank_ticks",
    "row_height",
    "set_up_rows",
    "without_box",
]

# Okabe-Ito blue and vermillion, and a grey: apart for every eye
LEADING, WARNING, OTHER = "#0072B2", "#D55E00", "#8a8a8a"
UNKNOWN = "#7fc4ea"  # the same blue, lighter
MANY = 40  # rows beyond which the scale is repeated at the foot


def row_height(n_rows: int) -> float:
    """Inches of a row with a name."""
    return 0.24 if n_rows > 12 else 0.34


def figure_size(
    names: Sequence[str], rows: float, head: float = 1.6
) -> Callable[[int, int], tuple[float, float]]:
    """Inches of a figure whose panels have `rows` inches of rows, with `head` above them all."""
    needed = 0.08 * max(map(len, names))

    def size(down: int, across: int) -> tuple[float, float]:
        return max(7.5, needed + max(5.0, 1.7 * across)), head + down * rows + 0.75 * (down - 1)

    return size


def interval(
    low: ArrayLike, target: Axes, *, high: ArrayLike, y: ArrayLike, colour: Any, linewidth: float
) -> LineCollection:
    """Draw a line in every row: a thick one over a thin one."""
    zorder = 3 if linewidth > 2 else 2
    colours = np.atleast_1d(colour)
    return target.hlines(y, low, high, color=colours, linewidth=linewidth, zorder=zorder)


def means(
    mean: ArrayLike, target: Axes, *, y: ArrayLike, colour: Any, marker: str = "o"
) -> PathCollection:
    """Draw a marker in every row, on top of the lines."""
    size = 24 if marker == "o" else 40  # a triangle looks smaller
    look = {"c": "white", "edgecolors": np.atleast_1d(colour), "linewidths": 1.4, "marker": marker}
    return target.scatter(mean, y, s=size, zorder=4, **look)


def map_intervals(
    pc: PlotCollection,
    y: NDArray[np.number],
    thin: tuple[xr.DataArray, xr.DataArray],
    thick: tuple[xr.DataArray, xr.DataArray],
    mean: xr.DataArray,
    colour: xr.DataArray,
) -> None:
    """Draw rows in every panel; their artists are in ``viz``: interval, half and mean."""
    for name, (low, high), linewidth in (("interval", thin, 1.2), ("half", thick, 4.5)):
        look = {"high": high, "y": y, "colour": colour, "linewidth": linewidth}
        pc.map(interval, name, data=low.rename(mean.name), ignore_aes="all", **look)
    pc.map(means, "mean", data=mean, ignore_aes="all", y=y, colour=colour)


def set_up_rows(
    ax: Axes, y: NDArray[np.number], names: Sequence[str], *, foot: bool, named: bool = True
) -> None:
    """Put names beside the rows, which begin at zero, and the scale above them and at the foot."""
    # A "$" in a name is no mathematics.
    ax.set_yticks(y, names, fontsize=9, parse_math=False)
    ax.tick_params(axis="y", length=0, labelleft=named)
    ax.set_ylim(y.max() + 0.6, -0.6)
    # The scale is where the reader begins: above the first row.
    ax.xaxis.set_label_position("top")
    ax.tick_params(axis="x", top=True, labeltop=True, bottom=foot, labelbottom=foot)
    ax.grid(axis="x", color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("bottom", "right", "left"):
        ax.spines[side].set_visible(False)


def rank_ticks(last: float, most: int = 9) -> FixedLocator:
    """Ticks of a scale of ranks up to the last, the first of which is 1."""
    found = MaxNLocator(integer=True, nbins=most).tick_values(1, max(last, 2))
    step = int(found[1] - found[0])
    # steps of two or three from 1 on, longer ones at their multiples
    ticks = range(0 if step > 3 else 1, int(last) + 1, step)
    return FixedLocator([max(tick, 1) for tick in ticks])


def handle(label: str, colour: str = "black", linewidth: float = 4, **look: Any) -> Line2D:
    """Make an entry of a legend: a line, or a white marker if one is named."""
    if "marker" in look:
        look = {"mfc": "white", "linestyle": ""} | look
    return Line2D([], [], color=colour, linewidth=linewidth, label=label, **look)


def interval_handles(prob: float, mean: str, what: str = "") -> list[Line2D]:
    """Legend of intervals and means."""
    return [
        handle(mean, marker="o"),
        handle(f"50% interval{what}", linewidth=4.5),
        handle(f"{100 * prob:g}% interval{what}", linewidth=1.2),
    ]


def without_box(ax: Axes) -> None:
    """Leave out the lines at the top and at the right."""
    ax.spines[["top", "right"]].set_visible(False)


def legend_above(figure: Figure, handles: Sequence[Artist], title: str, ncols: int = 3) -> Legend:
    """Put the legend over the picture, where it covers nothing."""
    return figure.legend(
        handles=list(handles),
        loc="outside upper left",
        ncols=ncols,
        frameon=False,
        fontsize=8.5,
        title=title,
        title_fontsize=10,
        alignment="left",
    )
