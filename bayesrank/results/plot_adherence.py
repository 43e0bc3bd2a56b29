"""The picture of adherences: who follows the consensus, and who does not."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from bayesrank.results.adherence import adherence_draws, summarise_adherences
from bayesrank.results.plots import (
    LEADING,
    MANY,
    OTHER,
    chosen,
    draw_intervals,
    interval_handles,
    legend_above,
    row_height,
    set_up_rows,
    short_name,
)

__all__ = ["plot_adherence"]

BELOW, ABOVE = "#D55E00", LEADING  # Okabe-Ito vermillion and blue: apart for every eye
MARKERS = {OTHER: "o", ABOVE: "^", BELOW: "v"}
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
    ax: Axes | None = None,
) -> Axes:
    """Draw the adherence of every ranker, highest mean on top.

    A thin line is the interval of probability `prob`, a thick one that of one half, the marker
    the mean. Rankers who do not follow the consensus, as `adherence_summary` defines it, are
    coloured and have a triangle pointing down; those far above the median ranker have one
    pointing up. Dashed and dotted lines are the mean of the median and of `factor` times less or
    more than it.

    Of more than 40 rankers the first and last ten have names; the rows between are narrower, so
    that the figure keeps its height.

    Parameters
    ----------
    data : DataTree, Dataset or DataArray
        Posterior with dims chain, draw and `dim` and no others.
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
    ax : Axes, optional
        Where to draw; names are left out where they would overlap. Default a new figure of the
        size that the names need.

    Returns
    -------
    Axes
        Of the drawing.

    Raises
    ------
    ValueError
        As `adherence_summary`; if `rankers` holds an unknown or repeated label or none, or
        `max_rankers` is less than 1, or both are given.

    Examples
    --------
    >>> import xarray as xr
    >>> a = xr.DataArray(np.random.default_rng(0).gamma([1, 100, 90], 0.01, (2, 50, 3)),
    ...                  dims=("chain", "draw", "ranker"), coords={"ranker": ["ann", "bob", "cy"]})
    >>> ax = plot_adherence(a)
    >>> [name.get_text() for name in ax.get_yticklabels()]
    ['bob', 'cy', 'ann']
    >>> plt.close(ax.figure)
    """
    draws = adherence_draws(data, var, dim, relative)
    everyone = summarise_adherences(draws, prob, factor, outlier_prob)
    shown, gap = _rows(everyone.index, rankers, max_rankers)
    thin = everyone.loc[shown]
    thick = summarise_adherences(draws, 0.5, factor, outlier_prob).loc[shown]
    median = float(np.median(draws.to_numpy(), axis=1).mean())

    own = ax is None
    room = MANY if ax is None else _inches(ax) / NAME
    y, named = _places(len(shown), gap, room)
    names = [short_name(name) for name in shown[named]]
    if ax is None:
        row = row_height(len(shown))
        width = max(7.5, 5.0 + 0.08 * max(map(len, names)))
        ax = plt.subplots(figsize=(width, 2.1 + row * (y[-1] + 1)), layout="constrained")[1]
    else:
        row = _inches(ax) / (y[-1] + 1)

    # rows by colour, those with names apart from those that may be narrower
    narrow = 72 * row * np.diff(y).min(initial=1.0) < NARROW
    colour = _colours(thin, outlier_prob)
    for kind, marker in MARKERS.items():
        for rows, crowded in ((named, False), (~named, narrow)):
            rows = rows & (colour == kind)
            if rows.any():
                a, b = thin[rows], thick[rows]
                ends = (a["low"], a["high"]), (b["low"], b["high"])
                if crowded:
                    _draw_narrow(ax, y[rows], *ends, a["mean"], kind)
                else:
                    draw_intervals(ax, y[rows], *ends, a["mean"], kind, marker)

    ax.axvline(median, color=DARK, linewidth=0.9, linestyle="--", zorder=1)
    for x in (median / factor, median * factor):
        ax.axvline(x, color=DARK, linewidth=0.9, linestyle=":", zorder=1)
    set_up_rows(ax, y[named], names, foot=y[-1] > 0.75 * MANY)
    _say_what_lacks(ax, y, named, gap, len(everyone) - len(shown))
    right = max(pd.concat([thin["high"], thick["high"], thin["mean"]]).max(), median) or 1.0
    ax.set_xlim(-0.02 * right, 1.03 * right)  # a marker at 0 is seen whole

    everyone_colour = _colours(everyone, outlier_prob)
    counts = {kind: int((everyone_colour == kind).sum()) for kind in MARKERS}
    title = f"{len(shown)} of {len(everyone)} {dim}s" if len(shown) < len(everyone) else ""
    if gap is not None:
        title += f": the {gap} highest and the {len(shown) - gap} lowest"
    _explain(ax, counts, _unit_name(relative, dim), title, dim, (prob, factor, outlier_prob), own)
    return ax


def _rows(
    ranked: pd.Index, rankers: Sequence[Any] | None, max_rankers: int | None
) -> tuple[pd.Index, int | None]:
    """Labels to show, from top to bottom, and before which of them some are left out."""
    if max_rankers is None:
        return chosen(ranked, rankers, "ranker"), None
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


def _explain(
    ax: Axes,
    counts: dict[str, int],
    unit: str,
    title: str,
    dim: str,
    numbers: tuple[float, float, float],
    own: bool,
) -> None:
    """Say what lines and colours mean: a legend on a figure of our own, else in the axis label."""
    prob, factor, outlier_prob = numbers
    less, more = f"{1 / factor:.3g}", f"{factor:.3g}"
    far = {
        BELOW: f"does not follow: < {less} × median, P ≥ {outlier_prob:g} ({counts[BELOW]})",
        ABOVE: f"follows closely: > {more} × median, P ≥ {outlier_prob:g} ({counts[ABOVE]})",
    }
    far = {kind: text for kind, text in far.items() if counts[kind]}
    if not own:  # a legend would cover data, or other axes of the figure
        words = {BELOW: "orange", ABOVE: "blue"}
        lines = [f"Adherence, {unit}: mean, 50% and {100 * prob:g}% interval"]
        lines += [f"{words[kind]}: {text}" for kind, text in far.items()]
        lines += [f"dashed: median {dim}", *([title] if title else [])]
        ax.set_xlabel("\n".join(lines), fontsize=9)
        return
    ax.set_xlabel(f"Adherence, {unit} (0 = nothing to do with the consensus)")
    far[OTHER] = f"other {dim}s ({counts[OTHER]})"
    handles = [
        Line2D([], [], color=kind, marker=MARKERS[kind], mfc="white", linewidth=4, label=text)
        for kind, text in far.items()
        if counts[kind]
    ]
    handles += [Line2D([], [], color=DARK, linewidth=0.9, linestyle="--", label=f"median {dim}")]
    if factor > 1:
        text = f"{less} × and {more} × the median"
        handles += [Line2D([], [], color=DARK, linewidth=0.9, linestyle=":", label=text)]
    legend_above(ax, [*handles, *interval_handles(prob, "mean")], title, ncols=2)
