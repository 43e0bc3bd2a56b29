"""Rows of named intervals, which several plots share."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from arviz import PlotCollection
from arviz_plots.plot_collection import backend_from_object
from arviz_plots.plots.utils import get_visual_kwargs
from arviz_plots.visuals import scatter_x
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from bayesrank.plots.panels import Panels

__all__ = [
    "COLOURS", "DARK", "INTERVALS", "LEADING", "MANY", "OTHER", "UNKNOWN", "WARNING",
    "Style",
    "draw_intervals", "draw_line_at", "explain", "frame_rows", "handle", "interval_handles",
    "interval_panels",
    "rank_ticks", "row_height", "set_up_rows", "without_box",
]  # fmt: skip

# Okabe-Ito blue and vermilion, and a grey, safe for colour-blind readers
LEADING, WARNING, OTHER = "#0072B2", "#D55E00", "#8a8a8a"
UNKNOWN = "#7fc4ea"  # the same blue, lighter
DARK = "#333333"
# Okabe-Ito colours of models, safe for colour-blind readers
COLOURS = (LEADING, WARNING, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
IN_WORDS = {LEADING: "blue", WARNING: "orange", UNKNOWN: "light blue"}
INTERVALS = ("twig", "trunk", "point_estimate")  # visuals: thin lines, thick lines, markers


class Style(NamedTuple):
    """Colour of the lines of a status, and colour and marker of its point."""

    line: str
    edge: str
    marker: str = "o"


MANY = 40  # with more rows, the scale is repeated at the bottom


def row_height(n_rows: int) -> float:
    """Return the height of a row with a name in inches."""
    return 0.24 if n_rows > 12 else 0.34


def interval_panels(
    values: xr.DataArray,
    facets: Sequence[Hashable],
    given: PlotCollection | None,
    options: Mapping[str, Any],
    ends: Mapping[str, xr.DataArray],
    status: xr.DataArray | str,
    looks: Mapping[str, Style],
    **size: Any,
) -> tuple[Panels, dict[str, xr.Dataset]]:
    """Return panels whose colours and markers show a status, and the data to draw.

    The data have the dim "status", with NaN where a row has another one. So the rows of one status
    are one artist. A status may also be a dim of the data.
    """
    used, dim = [*looks], status if isinstance(status, str) else "status"
    if not isinstance(status, str):
        used = [name for name in looks if (status == name).any()]
        labels = xr.DataArray(used, {dim: used}, dim)
        ends = {name: x.where(status == labels) for name, x in ends.items()}
    places = {d: values[d].values for d in facets}  # panels in the order of the values
    data = {name: x.sel(places).to_dataset(name=values.name) for name, x in ends.items()}
    look = [looks[name] for name in used]
    cycles: dict[str, Sequence[Any]] = {"color": [one.line for one in look]}
    if any(one.edge != one.line for one in look):
        cycles["edgecolor"] = [one.edge for one in look]
    if any(one.marker != "o" for one in look):
        cycles["marker"] = [one.marker for one in look]
        # a triangle looks smaller
        cycles["size"] = [24 if one.marker == "o" else 40 for one in look]
    aes = {name: [dim] for name in cycles}
    panels = Panels(
        values, facets, given, options, data=data["point_estimate"], aes=aes, cycles=cycles, **size
    )
    return panels, data


def draw_intervals(
    panels: Panels,
    ends: Mapping[str, xr.Dataset],
    y: xr.DataArray,
    visuals: Mapping[str, Any],
    aes_by_visuals: Mapping[str, Sequence[str]],
) -> None:
    """Draw the thin lines, the thick lines over them, and the markers on top.

    Parameters
    ----------
    panels : Panels
        Panels with the aesthetics.
    ends : mapping
        ``twig`` and ``trunk`` with the dim ci_bound, and ``point_estimate``.
    y : DataArray
        Heights of the rows.
    visuals, aes_by_visuals
        As in `plot_ranks`.
    """
    pc = panels.drawn
    end = {"solid_capstyle": "butt"} if panels.is_matplotlib else {}
    looks: dict[str, dict[str, Any]] = {
        "twig": {"width": 1.2, **end},
        "trunk": {"width": 4.5, **end},
        "point_estimate": {"facecolor": "white", "width": 1.4, "size": 24},
    }
    for name, look in looks.items():
        kwargs = get_visual_kwargs(visuals, name)
        if kwargs is False:
            continue
        marker_aes = (
            set() if name == "point_estimate" else {"marker", "size", "facecolor", "edgecolor"}
        )
        mapped = pc.aes_set.intersection(aes_by_visuals.get(name, pc.aes_set - marker_aes))
        if "color" not in mapped:
            look["color"] = OTHER
        draw = scatter_x if name == "point_estimate" else _lines
        look = {key: value for key, value in look.items() if key not in mapped} | kwargs
        ignored = pc.aes_set - mapped
        data = ends[name]
        if "status" in data.dims and "status" not in pc.update_aes(ignored)[1]:
            data = data.max("status")  # a row has one status
        pc.map(draw, name, data=data, y=y, ignore_aes=ignored, **look)


def _lines(da: xr.DataArray, target: Any, y: Any, **look: Any) -> Any:
    """Draw one line per row, as one artist with gaps."""
    bounds = np.atleast_2d(da.transpose(..., "ci_bound").to_numpy())
    x = np.column_stack([bounds, np.full(len(bounds), np.nan)]).ravel()
    heights = np.repeat(np.broadcast_to(y, len(bounds)), 3)
    return backend_from_object(target).line(x, heights, target, **look)


def set_up_rows(
    panels: Panels, y: NDArray[np.number], names: Sequence[str], *, foot: bool, **look: Any
) -> None:
    """Write the names of the rows, which start at zero, and the scale above and at the bottom."""
    if panels.is_matplotlib:  # a "$" in a name does not start mathematics
        look = {"parse_math": False, "size": 9} | look
    for target, named in panels:
        texts = names if named or panels.is_matplotlib else [""] * len(names)
        panels.backend.yticks(y, texts, target, **look)
        panels.backend.ylim((y.max() + 0.6, -0.6), target)
        if panels.is_matplotlib:
            frame_rows(target, foot=foot, named=named)
        else:
            panels.backend.grid(target, axis="x", color="#dddddd")


def frame_rows(ax: Axes, *, foot: bool, named: bool = True) -> None:
    """Put the scale above the rows, where readers start, and perhaps at the bottom."""
    ax.tick_params(axis="y", length=0, labelleft=named)
    ax.xaxis.set_label_position("top")
    ax.tick_params(axis="x", top=True, labeltop=True, bottom=foot, labelbottom=foot)
    ax.grid(axis="x", color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["bottom", "right", "left"]].set_visible(False)


def draw_line_at(panels: Panels, x: float, target: Any, style: str) -> None:
    """Draw a vertical line over the grid and below the rows."""
    order = {"zorder": 1} if panels.is_matplotlib else {}
    panels.backend.vline(x, target, color=DARK, width=0.9, linestyle=style, **order)


def rank_ticks(last: float, most: int = 9) -> list[int]:
    """Return the ticks of a scale of ranks from 1 to the last rank."""
    found = MaxNLocator(integer=True, nbins=most).tick_values(1, max(last, 2))
    step = int(found[1] - found[0])
    # steps of up to three start at 1; longer steps use multiples
    ticks = range(0 if step > 3 else 1, int(last) + 1, step)
    return [max(tick, 1) for tick in ticks]


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

    On given panels, a legend would cover data or other axes of the figure. Other backends than
    matplotlib have the label as well.
    """
    known = [h for h in handles if h.get_color() in IN_WORDS or h.get_linestyle() == "--"]
    notes = [f"{IN_WORDS.get(str(h.get_color()), 'dashed')}: {h.get_label()}" for h in known]
    legend = panels.is_new and panels.is_matplotlib
    text = [axis] if legend else [f"{axis}: {lines}", *notes, *filter(None, [title])]
    for target, _ in panels:
        panels.backend.xlabel("\n".join(text), target, size=10 if legend else 9)
    panels.legend(handles, title, ncols)


def without_box(ax: Axes) -> None:
    """Hide the lines at the top and at the right."""
    ax.spines[["top", "right"]].set_visible(False)
