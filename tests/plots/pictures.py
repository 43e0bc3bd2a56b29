"""Posteriors to draw, and what is seen in a picture: its axes, and where its names are."""

import numpy as np
import pandas as pd
import xarray as xr
from arviz import PlotCollection
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex
from matplotlib.text import Text

BLUE, GREY, ORANGE = "#0072b2", "#8a8a8a", "#d55e00"
LONG = [f"The film number {i} with a title that goes on and on (19{i:02d})" for i in range(60)]
GROUPS = ["coding", "writing", "maths", "roleplay", "law", "translation"]


def posterior(n_items, names=None, n_draws=100, sd=0.5):
    """Draws of items that are equally far apart, the best first."""
    draws = np.random.default_rng(0).normal(
        np.linspace(1.5, -1.5, n_items), sd, (2, n_draws, n_items)
    )
    names = names or [f"Item {i + 1}" for i in range(n_items)]
    return xr.DataArray(draws, dims=("chain", "draw", "item"), coords={"item": names})


def adherences(n, names=None, n_below=1, n_above=1):
    """Draws of n rankers around 1, the first few around 0.1 and the last few around 4."""
    rng = np.random.default_rng(0)
    n_below, n_above = min(n_below, n // 3), min(n_above, n // 3)
    middle = np.linspace(0.8, 1.2, n - n_below - n_above)
    mean = np.r_[np.full(n_below, 0.1), middle, np.full(n_above, 4.0)]
    names = names or [f"judge {i + 1}" for i in range(n)]
    draws = rng.gamma(50, mean / 50, (2, 100, n))
    return xr.DataArray(draws, dims=("chain", "draw", "ranker"), coords={"ranker": names})


def by_category(n_groups, n_items, names=None, of=posterior):
    """Draws in which the items of each category are rolled by one more than in that before."""
    u = of(n_items, names)
    rolled = [u.roll({u.dims[-1]: g}, roll_coords=False) for g in range(n_groups)]
    return xr.concat(rolled, "category").assign_coords(category=GROUPS[:n_groups])


def compared(**rows):
    """Compared models by name: difference, its error, what is doubtful."""
    filled = [(*row, "")[:3] for row in rows.values()]
    names = [name.replace("_", " ") for name in rows]
    return pd.DataFrame(filled, index=names, columns=["elpd_diff", "dse", "diag_elpd"])


def axes_of(pc, **where) -> Axes:
    """Axes of a picture, or of its panel."""
    assert isinstance(pc, PlotCollection)
    return pc.viz["plot"].sel(where).item()


def figure_of(pc):
    return pc.viz["figure"].item()


def panel_of(ax):
    """Axes made elsewhere, as a PlotCollection."""
    held = {"figure": np.array(ax.figure, dtype=object), "plot": np.array(ax, dtype=object)}
    viz = {name: xr.DataArray(one) for name, one in held.items()}
    return PlotCollection(
        xr.Dataset(), xr.DataTree.from_dict({"/": xr.Dataset(viz)}), backend="matplotlib"
    )


def names_of(ax, which="y"):
    return [label.get_text() for label in getattr(ax, f"get_{which}ticklabels")()]


def legend_of(pc):
    (legend,) = figure_of(pc).legends
    return [text.get_text() for text in legend.get_texts()]


def title_of(pc):
    """Title of the legend."""
    (legend,) = figure_of(pc).legends
    return legend.get_title().get_text()


def markers(ax):
    """Row, place and colour of every marker, from top to bottom."""
    found = []
    for component in ax.collections:
        if isinstance(component, PathCollection) and len(component.get_edgecolors()):
            at = np.ma.filled(component.get_offsets(), np.nan)
            edges = np.resize(component.get_edgecolors(), (len(at), 4))
            drawn = np.isfinite(at).all(axis=1)
            found += [(y, x, to_hex(c)) for (x, y), c in zip(at[drawn], edges[drawn], strict=True)]
    return sorted(found)


def rows_of(ax, which):
    """Ends of the thin (0) or thick (1) intervals, by the colour of their line."""
    found = []
    for line in ax.lines:
        x, y = (np.asarray(part, dtype=float) for part in line.get_data())
        if x.size % 3 or not np.isnan(x[2::3]).all():  # not an interval
            continue
        if (line.get_linewidth() < 4) == (which == 0):
            ends = np.column_stack([y[::3], x[::3], x[1::3]])
            found.append((to_hex(line.get_color()), ends[np.isfinite(ends).all(axis=1)]))
    return found


def intervals(ax, which):
    """Ends of the thin (0) or thick (1) intervals, from top to bottom."""
    ends = np.concatenate([ends for _, ends in rows_of(ax, which)])
    return ends[np.argsort(ends[:, 0])][:, 1:]


def verticals(ax):
    """Places of the lines that mark a value."""
    return [x[0] for x in (line.get_xdata() for line in ax.lines) if len(x) == 2 and x[0] == x[1]]


def image_of(ax):
    (image,) = ax.images
    return image


def cells(ax):
    """Text of every cell that has one, by row and column."""
    return {
        (round(t.get_position()[1]), round(t.get_position()[0])): t.get_text() for t in ax.texts
    }


def boxes(ax, which="y", *, draw=True):
    """Where the names of the ticks in view are, in pixels; `draw` unless the figure is drawn."""
    if draw:
        ax.figure.canvas.draw()
    axis = ax.yaxis if which == "y" else ax.xaxis
    low, high = sorted(axis.get_view_interval())
    ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    labels = [label for tick in ticks for label in (tick.label1, tick.label2)]
    return [text.get_window_extent() for text in labels if text.get_visible() and text.get_text()]


def cut_off(figure):
    """Texts that are not whole on a figure; labels of ticks out of view are not drawn."""
    figure.canvas.draw()
    axes = [axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)]
    unseen = set()
    for axis in axes:
        low, high = sorted(axis.get_view_interval())
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            if not low <= tick.get_loc() <= high:
                unseen |= {tick.label1, tick.label2}
    texts = [
        text
        for text in figure.findobj(Text)
        if text not in unseen and text.get_visible() and text.get_text().strip()
    ]
    return [text.get_text() for text in texts if not inside(figure, [text.get_window_extent()])]


def inside(figure, boxes):
    """Whether all of them are on the figure."""
    edge = figure.bbox
    return all(
        edge.x0 <= b.x0 < b.x1 <= edge.x1 and edge.y0 <= b.y0 < b.y1 <= edge.y1 for b in boxes
    )


def apart(boxes):
    """Whether no two of them overlap."""
    return not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
