"""Plot of adherences: which rankers follow the consensus, and which do not."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from arviz import PlotCollection
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from bayesrank.plots.panels import Panels, chosen, facets_of, labels_of, selections, short_name
from bayesrank.plots.rows import (
    DARK,
    LEADING,
    MANY,
    OTHER,
    WARNING,
    draw_intervals,
    explain,
    handle,
    interval_handles,
    row_height,
    set_up_rows,
)
from bayesrank.results.draws import posterior_utilities
from bayesrank.results.matches.adherence import adherence_draws, summarise_adherences

__all__ = ["plot_adherence"]

BELOW, ABOVE = WARNING, LEADING
MARKERS = {BELOW: "v", ABOVE: "^", OTHER: "o"}
NAME = 0.2  # inches of a row with a name
NARROW = 6.0  # in rows of fewer points, lines and markers of neighbours would overlap


def plot_adherence(
    data: Any,
    var_name: str = "adherence",
    *,
    dim: str = "ranker",
    ci_prob: float = 0.94,
    factor: float = 2.0,
    outlier_prob: float = 0.95,
    rankers: Sequence[Any] | None = None,
    max_rankers: int | None = None,
    contrary: bool = False,
    plot_collection: PlotCollection | None = None,
    **pc_kwargs: Any,
) -> PlotCollection:
    """Plot the adherence of every ranker, highest mean on top.

    A thin line is the interval of probability `ci_prob`, a thick line the 50% interval, and the
    marker the mean. A coloured triangle pointing down marks rankers who do not follow the
    consensus, as defined in `adherence_summary`. A triangle pointing up marks rankers far above the
    median. The dashed line is the mean of the median ranker; dotted lines are `factor` times less
    and more.

    With more than 40 rankers, only the first and last ten have names, and the other rows are
    narrower. Other dims get one panel per label, each with its own median. Rankers are sorted by
    their mean over the panels.

    Parameters
    ----------
    data, var_name, dim
        Posterior, variable and dim of the rankers. The plot uses the name of the dim.
    ci_prob : float
        Probability of the thin interval, in (0, 1).
    factor, outlier_prob, contrary
        As in `adherence_summary`.
    rankers : sequence of labels, optional
        Show only these, from top to bottom. They are still compared with the median of all.
    max_rankers : int, optional
        Show at most this number: half of them the highest, half the lowest. Do not combine it with
        `rankers`.
    plot_collection, **pc_kwargs
        As in `plot_ranks`.

    Returns
    -------
    PlotCollection
        A new figure has the legend in ``viz``.

    Raises
    ------
    ValueError
        As `adherence_summary`; if rankers or panels do not match the data.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import xarray as xr
    >>> a = xr.DataArray(np.random.default_rng(0).gamma([1, 100, 90], 0.01, (2, 50, 3)),
    ...                  dims=("chain", "draw", "ranker"), coords={"ranker": ["ann", "bob", "cy"]})
    >>> pc = plot_adherence(a)
    >>> [name.get_text() for name in pc.get_target("adherence", {}).get_yticklabels()]
    ['bob', 'cy', 'ann']
    >>> plt.close()
    """
    found = posterior_utilities(data, var_name, dim).rename(var_name)
    facets = facets_of(found, dim)
    draws = [
        adherence_draws(found.sel(one), var_name, dim, contrary=contrary)
        for one in selections(found, facets)
    ]
    tables = [_table(one, ci_prob, factor, outlier_prob) for one in draws]
    medians = [float(np.median(one.to_numpy(), axis=1).mean()) for one in draws]
    labels = labels_of(found, dim)
    mean = np.mean([table.loc[labels, "mean"] for table in tables], axis=0)
    shown, gap = _rows(labels[np.argsort(-mean, kind="stable")], rankers, max_rankers)
    n_hidden = len(labels) - len(shown)

    y, named = _places(len(shown), gap, MANY)
    longest, row = [short_name(name) for name in shown[named]], row_height(len(shown))
    size = {"height": row * (y[-1] + 1) + 0.75, "head": 1.35, "col_wrap": 2}
    panels = Panels(found, facets, plot_collection, pc_kwargs, names=longest, **size)
    if not panels.is_new:
        room = min(_inches(ax) for ax, _ in panels)
        y, named = _places(len(shown), gap, room / NAME)
        row = room / (y[-1] + 1)
    narrow = bool(72 * row * np.diff(y).min(initial=1.0) < NARROW)
    names, ticks = [short_name(name) for name in shown[named]], y[named]
    if gap is not None:
        names, ticks = [*names, f"{n_hidden} not shown"], np.append(ticks, y[gap] - 1)
    elif not named.all():
        names, ticks = [*names, f"{(~named).sum()} more"], np.append(ticks, y[~named].mean())

    ends = pd.concat([table.loc[shown, ["low", "high", "mean"]] for table in tables]).to_numpy()
    right, left = max(float(ends.max()), *medians) or 1.0, min(float(ends.min()), 0.0)
    for (ax, first), table, median in zip(panels, tables, medians, strict=True):
        _draw(ax, y, named, table.loc[shown], narrow)
        for x, style in ((median, "--"), (median / factor, ":"), (median * factor, ":")):
            ax.axvline(x, color=DARK, linewidth=0.9, linestyle=style, zorder=1)
        set_up_rows(ax, ticks, names, foot=y[-1] > 0.75 * MANY, named=first)
        for label in ax.get_yticklabels()[named.sum() :]:
            label.set(color="#666666", style="italic")
        ax.set_xlim(1.03 * left - 0.02 * right, 1.03 * right)  # room for a marker at 0
    panels.title()

    title = f"{len(shown)} of {len(labels)} {dim}s" if n_hidden else ""
    if gap is not None:
        title += f": the {gap} highest and the {len(shown) - gap} lowest"
    axis = "Adherence, per unit of score"
    if panels.is_new and not facets:
        axis += " (0 = unrelated to the consensus)"
    colours = pd.concat([table["colour"] for table in tables])
    handles = _handles(colours, dim, factor, outlier_prob, counted=not facets)
    handles += interval_handles(ci_prob, "mean")
    lines = f"mean, 50% and {100 * ci_prob:g}% interval"
    explain(panels, axis, lines, handles, title, ncols=2)
    return panels.pc


def _table(draws: pd.DataFrame, ci_prob: float, factor: float, outlier_prob: float) -> pd.DataFrame:
    """Summarise the draws of one panel, with the 50% interval and the colour of each ranker."""
    table = summarise_adherences(draws, ci_prob, factor, outlier_prob)
    half = summarise_adherences(draws, 0.5, factor, outlier_prob)
    far_above = table["p_far_above"] >= outlier_prob
    colour = np.where(table["outlier"], BELOW, np.where(far_above, ABOVE, OTHER))
    return table.assign(half_low=half["low"], half_high=half["high"], colour=colour)


def _rows(
    ranked: pd.Index, rankers: Sequence[Any] | None, max_rankers: int | None
) -> tuple[pd.Index, int | None]:
    """Return the labels to show, from top to bottom, and the position of a gap, if any."""
    if max_rankers is None:
        return chosen(ranked, rankers, None, "ranker"), None
    if rankers is not None:
        raise ValueError("`rankers` and `max_rankers` are both given; give only one of them.")
    if max_rankers < 1:
        raise ValueError(f"`max_rankers` is {max_rankers}; it must be 1 or more.")
    if max_rankers >= len(ranked):
        return ranked, None
    highest = max_rankers // 2
    return ranked[:highest].append(ranked[len(ranked) - (max_rankers - highest) :]), highest


def _places(n: int, gap: int | None, room: float) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the heights of n rows, in units of a named row, and whether each has a name.

    If there is no room for all names, a quarter of the room at either end has names.
    """
    named = np.full(n, True)
    height = np.ones(n)
    if n + (gap is not None) > room and n > 3:
        ends = max(1, int(room / 4))
        named[ends : n - ends] = False
        height[~named] = max(room / 2, 1) / (n - 2 * ends)
        np.minimum(height, 1.0, out=height)
    y = np.cumsum(height) - height / 2 - height[0] / 2
    y[1:] += 0.4 * np.cumsum(named[1:] != named[:-1])  # space between rows of different height
    if gap is not None:
        y[gap:] += 1
    return y, named


def _inches(ax: Axes) -> float:
    """Return the height of a panel in inches."""
    return float(ax.get_window_extent().height / ax.figure.dpi)


def _draw(
    ax: Axes, y: NDArray[np.float64], named: NDArray[np.bool_], table: pd.DataFrame, narrow: bool
) -> None:
    """Draw rows by colour; in narrow rows without names, shades replace line widths."""
    for colour, marker in MARKERS.items():
        for some, crowded in ((named, False), (~named, narrow)):
            use = some & (table["colour"] == colour).to_numpy()
            if not use.any():
                continue
            rows, at = table[use], y[use]
            thin, thick = (rows["low"], rows["high"]), (rows["half_low"], rows["half_high"])
            if crowded:
                faded = 0.4 * np.array(to_rgb(colour)) + 0.6
                ax.hlines(at, *thin, color=[faded], linewidth=1.0, zorder=2)
                ax.hlines(at, *thick, color=colour, linewidth=1.0, zorder=3)
                ax.scatter(rows["mean"], at, s=3, c=DARK, linewidths=0, zorder=4)
            else:
                draw_intervals(ax, at, thin, thick, rows["mean"], colour, marker)


def _handles(
    colours: pd.Series, dim: str, factor: float, outlier_prob: float, *, counted: bool
) -> list[Line2D]:
    """Return the legend of the colours in use, with counts for a single panel, and of the lines."""
    counts = colours.value_counts()
    others = "other " if {BELOW, ABOVE} & {*counts.index} else ""
    words = {
        BELOW: f"does not follow: < {1 / factor:.3g} × median, P ≥ {outlier_prob:g}",
        ABOVE: f"follows closely: > {factor:.3g} × median, P ≥ {outlier_prob:g}",
        OTHER: f"{others}{dim}s",
    }
    handles = []
    for colour in [colour for colour in words if colour in counts]:
        text = f"{words[colour]} ({counts[colour]})" if counted else words[colour]
        handles.append(handle(text, colour, marker=MARKERS[colour], linestyle="-"))
    handles.append(handle(f"median {dim}", DARK, 0.9, linestyle="--"))
    if factor > 1:
        text = f"{1 / factor:.3g} × and {factor:.3g} × the median"
        handles.append(handle(text, DARK, 0.9, linestyle=":"))
    return handles
