"""The picture of adherences: who follows the consensus, and who does not."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from arviz import PlotCollection
from matplotlib.axes import Axes
from numpy.typing import NDArray

from bayesrank.plots.panels import (
    chosen,
    each_panel,
    facets_of,
    figure_of,
    keep,
    labels_of,
    make_panels,
    selections,
    short_name,
    title_panels,
)
from bayesrank.plots.rows import (
    LEADING,
    MANY,
    OTHER,
    WARNING,
    figure_size,
    handle,
    interval,
    interval_handles,
    legend_above,
    means,
    row_height,
    set_up_rows,
)
from bayesrank.results.draws import posterior_utilities
from bayesrank.results.matches.adherence import adherence_draws, summarise_adherences

__all__ = ["plot_adherence"]

BELOW, ABOVE = WARNING, LEADING
MARKERS = {OTHER: "o", ABOVE: "^", BELOW: "v"}
COLOUR = {ABOVE: "blue", BELOW: "orange"}
FADED = {OTHER: "#cfcfcf", ABOVE: "#99c7e0", BELOW: "#eebf99"}  # the same, mixed with white
DARK = "#333333"
NAME = 0.2  # inches that a row with a name needs
NARROW = 6.0  # points under which lines and markers of neighbours would run together


def plot_adherence(
    data: Any,
    var: str = "adherence",
    *,
    dim: str = "ranker",
    prob: float = 0.94,
    factor: float = 2.0,
    outlier_prob: float = 0.95,
    rankers: Sequence[Any] | None = None,
    max_rankers: int | None = None,
    relative: bool | float = False,
    contrary: bool = False,
    plot_collection: PlotCollection | None = None,
    **pc_kwargs: Any,
) -> PlotCollection:
    """Draw the adherence of every ranker, highest mean on top.

    A thin line is the interval of probability `prob`, a thick one that of one half, the marker
    the mean. Rankers who do not follow the consensus, as `adherence_summary` defines it, are
    coloured and have a triangle pointing down; those far above the median ranker have one
    pointing up. Dashed and dotted lines are the mean of the median and of `factor` times less or
    more than it.

    Of more than 40 rankers the first and last ten have names; the rows between are narrower, so
    that the figure keeps its height. Further dims have one panel per label, each with its own
    median; rankers are in the same order in all of them, that of the mean over the panels.

    Parameters
    ----------
    data : DataTree, Dataset or DataArray
        Posterior with dims chain, draw and `dim`.
    var : str
        The variable, not negative.
    dim : str
        The dim of the rankers; its name, such as judge, is what they are called.
    prob : float
        Probability of the thin interval, in (0, 1).
    factor, outlier_prob : float
        As in `adherence_summary`.
    rankers : sequence of labels, optional
        Show these only, from top to bottom; they are still compared with the median of all.
    max_rankers : int, optional
        Show only so many: the highest half and the lowest half; not together with `rankers`.
    relative : bool or float
        True divides the adherences of every draw by the largest, a number q in (0, 1] by their
        quantile q: 0.5 by the median.
    contrary : bool
        Whether adherences may be negative, as in `adherence_summary`.
    plot_collection : PlotCollection, optional
        What to draw on, with panels by the further dims; default a new figure.
    **pc_kwargs
        Passed to `PlotCollection.wrap`, such as ``figure_kwargs={"figsize": (8, 6)}`` in inches.

    Returns
    -------
    PlotCollection
        With the legend in ``viz`` on a new figure.

    Raises
    ------
    ValueError
        As `adherence_summary`; if `rankers` holds an unknown or repeated label or none, or
        `max_rankers` is less than 1, or both are given, or `plot_collection` has other panels.

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
    found = posterior_utilities(data, var, dim).rename(var)
    facets = facets_of(found, dim)
    draws = [
        adherence_draws(found.sel(one), var, dim, relative, contrary=contrary)
        for one in selections(found, facets)
    ]
    tables = [summarise_adherences(one, prob, factor, outlier_prob) for one in draws]
    halves = [summarise_adherences(one, 0.5, factor, outlier_prob) for one in draws]
    medians = [float(np.median(one.to_numpy(), axis=1).mean()) for one in draws]
    shown, gap = _rows(_highest_first(tables, labels_of(found, dim)), rankers, max_rankers)

    given = plot_collection is not None
    room = float(MANY)
    if plot_collection is not None:
        room = min(_inches(ax) for ax, _ in each_panel(plot_collection, found, facets)) / NAME
    y, named = _places(len(shown), gap, room)
    names = [short_name(name) for name in shown[named]]
    size = figure_size(names, row_height(len(shown)) * (y[-1] + 1), 2.1)
    pc = make_panels(found, facets, plot_collection, size, pc_kwargs, 2)

    ends = pd.concat([x.loc[shown, ["low", "high", "mean"]] for x in (*tables, *halves)])
    right = max(float(ends.to_numpy().max()), *medians) or 1.0
    left = min(float(ends.to_numpy().min()), 0.0)
    panels = zip(each_panel(pc, found, facets), tables, halves, medians, strict=True)
    for (ax, first), table, half, median in panels:
        row = _inches(ax) / (y[-1] + 1) if given else row_height(len(shown))
        narrow = bool(72 * row * np.diff(y).min(initial=1.0) < NARROW)
        kinds = _colours(table.loc[shown], outlier_prob)
        _draw(ax, y, named, narrow, table.loc[shown], half.loc[shown], kinds)
        ax.axvline(median, color=DARK, linewidth=0.9, linestyle="--", zorder=1)
        for x in (median / factor, median * factor):
            ax.axvline(x, color=DARK, linewidth=0.9, linestyle=":", zorder=1)
        set_up_rows(ax, y[named], names, foot=y[-1] > 0.75 * MANY, named=first)
        if first:
            _say_what_lacks(ax, y, named, gap, len(table) - len(shown))
        ax.set_xlim(1.03 * left - 0.02 * right, 1.03 * right)  # a marker at 0 is seen whole
    title_panels(pc, found, facets)

    title = f"{len(shown)} of {found.sizes[dim]} {dim}s" if len(shown) < found.sizes[dim] else ""
    if gap is not None:
        title += f": the {gap} highest and the {len(shown) - gap} lowest"
    colours = [_colours(table, outlier_prob) for table in tables]
    counts = {kind: sum(int((one == kind).sum()) for one in colours) for kind in MARKERS}
    words = _words(counts, dim, factor, outlier_prob, counted=not facets)
    unit = _unit_name(relative, dim)
    axes = [ax for ax, _ in each_panel(pc, found, facets)]
    if given:  # a legend would cover data, or other axes of the figure
        lines = [f"Adherence, {unit}: mean, 50% and {100 * prob:g}% interval"]
        lines += [f"{COLOUR[kind]}: {text}" for kind, text in words.items() if kind != OTHER]
        for ax in axes:
            label = "\n".join([*lines, f"dashed: median {dim}", *([title] if title else [])])
            ax.set_xlabel(label, fontsize=9)
        return pc
    for ax in axes:
        nothing = "0 = nothing to do with the consensus"
        ax.set_xlabel(f"Adherence, {unit}" + ("" if facets else f" ({nothing})"))
    handles = [
        handle(text, kind, marker=MARKERS[kind], linestyle="-") for kind, text in words.items()
    ]
    handles.append(handle(f"median {dim}", DARK, 0.9, linestyle="--"))
    if factor > 1:
        text = f"{1 / factor:.3g} × and {factor:.3g} × the median"
        handles.append(handle(text, DARK, 0.9, linestyle=":"))
    handles += interval_handles(prob, "mean")
    keep(pc, "legend", legend_above(figure_of(pc), handles, title, ncols=2))
    return pc


def _highest_first(tables: Sequence[pd.DataFrame], labels: pd.Index) -> pd.Index:
    """Labels by the mean over the panels of their mean adherence."""
    mean = np.mean([table.loc[labels, "mean"] for table in tables], axis=0)
    return labels[np.argsort(-mean, kind="stable")]


def _rows(
    ranked: pd.Index, rankers: Sequence[Any] | None, max_rankers: int | None
) -> tuple[pd.Index, int | None]:
    """Labels to show, from top to bottom, and before which of them some are left out."""
    if max_rankers is None:
        return chosen(ranked, rankers, None, "ranker"), None
    if rankers is not None:
        raise ValueError("Give `rankers` or `max_rankers`, not both.")
    if max_rankers < 1:
        raise ValueError(f"`max_rankers` is {max_rankers}; it must be 1 or more.")
    if max_rankers >= len(ranked):
        return ranked, None
    highest = max_rankers // 2
    return ranked[:highest].append(ranked[len(ranked) - (max_rankers - highest) :]), highest


def _places(n: int, gap: int | None, room: float) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Heights of n rows, in names, and which have one: if not all, a quarter of them either end."""
    named = np.full(n, True)
    height = np.ones(n)
    if n + (gap is not None) > room and n > 3:
        ends = max(1, int(room / 4))
        named[ends : n - ends] = False
        height[~named] = max(room / 2, 1) / (n - 2 * ends)
        np.minimum(height, 1.0, out=height)
    y = np.cumsum(height) - height / 2 - height[0] / 2
    y[1:] += 0.4 * np.cumsum(named[1:] != named[:-1])  # air between rows of different height
    if gap is not None:
        y[gap:] += 1
    return y, named


def _inches(ax: Axes) -> float:
    return float(ax.get_window_extent().height / ax.figure.dpi)


def _colours(table: pd.DataFrame, outlier_prob: float) -> NDArray[np.str_]:
    """Colour of every ranker."""
    far_above = table["p_far_above"] >= outlier_prob
    return np.where(table["outlier"], BELOW, np.where(far_above, ABOVE, OTHER))


def _draw(
    ax: Axes,
    y: NDArray[np.float64],
    named: NDArray[np.bool_],
    narrow: bool,
    table: pd.DataFrame,
    half: pd.DataFrame,
    kinds: NDArray[np.str_],
) -> None:
    """Draw rows by colour, those with names apart from those that may be narrower."""
    for kind, marker in MARKERS.items():
        for some, crowded in ((named, False), (~named, narrow)):
            rows = some & (kinds == kind)
            if not rows.any():
                continue
            a, b = table[rows], half[rows]
            if crowded:
                ends = (a["low"], a["high"]), (b["low"], b["high"])
                _draw_narrow(ax, y[rows], *ends, a["mean"], kind)
                continue
            look = {"y": y[rows], "colour": kind}
            interval(a["low"], ax, high=a["high"], linewidth=1.2, **look)
            interval(b["low"], ax, high=b["high"], linewidth=4.5, **look)
            means(a["mean"], ax, marker=marker, **look)


def _draw_narrow(ax: Axes, y: Any, thin: Any, thick: Any, mean: Any, colour: str) -> None:
    """Draw rows that touch each other: shade tells the intervals apart, not width."""
    ax.hlines(y, *thin, color=FADED[colour], linewidth=1.0, zorder=2)
    ax.hlines(y, *thick, color=colour, linewidth=1.0, zorder=3)
    ax.scatter(mean, y, s=3, c=DARK, linewidths=0, zorder=4)


def _say_what_lacks(
    ax: Axes, y: NDArray[np.float64], named: NDArray[np.bool_], gap: int | None, hidden: int
) -> None:
    """Write among the names how many rankers have none, or are not shown."""
    if gap is None and named.all():
        return
    if gap is None:
        place, text = y[~named].mean(), f"{(~named).sum()} more"
    else:
        place, text = y[gap] - 1, f"{hidden} not shown"
    ticks = [*ax.get_yticks(), place]
    names = [*(label.get_text() for label in ax.get_yticklabels()), text]
    ax.set_yticks(ticks, names, parse_math=False)
    ax.get_yticklabels()[-1].set(color="#666666", style="italic")


def _unit_name(relative: bool | float, dim: str) -> str:
    """Say what adherences are measured in."""
    if relative is False:
        return "per unit of score"
    named = {1.0: "largest", 0.5: f"median {dim}'s"}
    return f"relative to the {named.get(relative, f'{100 * relative:g}% quantile of all')}"


def _words(
    counts: dict[str, int], dim: str, factor: float, outlier_prob: float, *, counted: bool
) -> dict[str, str]:
    """Say what the colours that occur mean, and of one panel how many have them."""
    words = {
        BELOW: f"does not follow: < {1 / factor:.3g} × median, P ≥ {outlier_prob:g}",
        ABOVE: f"follows closely: > {factor:.3g} × median, P ≥ {outlier_prob:g}",
        OTHER: f"other {dim}s" if counts[BELOW] or counts[ABOVE] else f"{dim}s",
    }
    found = {kind: text for kind, text in words.items() if counts[kind]}
    return {k: f"{text} ({counts[k]})" if counted else text for k, text in found.items()}
