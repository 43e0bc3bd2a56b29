"""Plots of predictive checks: observed compared with predicted statistics."""

from collections.abc import Callable
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from arviz import PlotCollection
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from bayesrank.plots.panels import legend_above, short_name
from bayesrank.plots.rows import DARK, LEADING, OTHER, WARNING, frame_rows, handle, without_box
from bayesrank.results.checks.match_checks import match_checks
from bayesrank.results.checks.ranking_checks import GIVEN, ranking_checks, worst_checks

__all__ = ["plot_match_checks", "plot_ranking_checks"]

# statistic -> title and label of the axis; in the order of the panels
PANELS = {
    "Kendall distance": ("Distance to the common order", "Share of reversed pairs "
                         "(0 = same order, ½ = random)"),
    "outcome": ("Outcomes", "Share of all matches"),
    "top item": ("Top item", "Share of the lists with the item that put it first"),
    "points": ("Points", "Share of its matches that the item won (a tie counts one half)"),
    "pair order": ("Pair orders", "Predicted share of the lists with i above j"),
    "pair": ("Pairs", "Predicted share of their matches that i won against j"),
    "group outcome": ("Outcomes by group", "Predicted share of the matches of a judge or category"),
    "group points": ("Points by group", "Predicted share of the points of an item in the group"),
    "block size": ("Ties", "Share of the blocks of tied items; blocks per item of a list"),
}  # fmt: skip
# panels that may be too large: description of the rows shown
FIRST = {
    "top item": "most often on top",
    "points": "with the most points",
    "pair order": "most often presented together",
    "pair": "most often matched",
}
WIDE = {"Kendall distance", "outcome", "block size"}  # panels that span the figure
# panels of points, observed against predicted
BY_PAIR = {"pair order", "pair", "group outcome", "group points"}
OUTCOMES = {"first": "the first wins", "second": "the second wins", "tie": "a tie"}
MOST = 20  # most items in their panel, without surprising items
EXTRA = 5  # most further surprising items
NAMED = 6  # most surprising pairs with a name
NAME = 30  # most characters of the name of a row
ROW = 0.24  # inches of a row
WIDE_ROW = 0.36  # inches of a row of a wide panel
AROUND = 1.2  # inches for the title and the scale of a panel
PAIRS = 2.9  # least inches of the panel of pairs


def plot_ranking_checks(
    data: xr.DataTree | pd.DataFrame, *, figure_kwargs: dict[str, Any] | None = None, **options: Any
) -> PlotCollection:
    """Plot `ranking_checks`: Kendall distances, top items, pair orders and block sizes.

    A line is the interval of the predicted statistic, with a bar at its mean. The marker is the
    observed statistic, a coloured triangle if it lies outside the interval. Pairs are points,
    observed against predicted; the two are equal on the diagonal.

    At most 20 items are shown, those most often on top, and up to five other surprising items.
    Block sizes have a panel if the model predicts them and there is a tie.

    Parameters
    ----------
    data : DataTree or DataFrame
        As in `ranking_checks`, or the table that it returned.
    figure_kwargs : dict, optional
        Passed to the figure, such as ``{"figsize": (10, 8)}`` in inches.
    **options
        Passed to `ranking_checks`; not allowed with a table.

    Returns
    -------
    PlotCollection
        One panel per statistic: ``pc.get_target("observed", {"statistic": "top item"})`` returns
        its Axes.

    Raises
    ------
    ValueError, TypeError
        As `ranking_checks`.

    Examples
    --------
    >>> pc = plot_ranking_checks(idata)  # doctest: +SKIP
    >>> pc.savefig("checks.png")  # doctest: +SKIP
    """
    return _draw(_table(ranking_checks, data, options), figure_kwargs)


def plot_match_checks(
    data: xr.DataTree | pd.DataFrame, *, figure_kwargs: dict[str, Any] | None = None, **options: Any
) -> PlotCollection:
    """Plot `match_checks`: outcomes, points of the items, pairs, and groups.

    The plot is like `plot_ranking_checks`. At most 20 items are shown, those with the most points.

    Parameters
    ----------
    data, figure_kwargs, **options
        As in `plot_ranking_checks`, but for `match_checks`.

    Returns
    -------
    PlotCollection
        One panel per statistic.

    Examples
    --------
    >>> pc = plot_match_checks(idata)  # doctest: +SKIP
    """
    return _draw(_table(match_checks, data, options), figure_kwargs)


def _table(
    checks: Callable[..., pd.DataFrame], data: xr.DataTree | pd.DataFrame, options: dict[str, Any]
) -> pd.DataFrame:
    """Return the given table, or compute it."""
    if not isinstance(data, pd.DataFrame):
        return checks(data, **options)
    if options:
        raise TypeError(
            f"A table of checks is plotted without options; got {', '.join(map(repr, options))}. "
            f"Pass them to {checks.__name__} instead."
        )
    return data


def _draw(table: pd.DataFrame, figure_kwargs: dict[str, Any] | None) -> PlotCollection:
    """Draw a table of checks: wide panels, and the others two in a row."""
    statistics = {*table.index.get_level_values("statistic")}
    parts = {name: pd.DataFrame(table.loc[name]) for name in PANELS if name in statistics}
    parts = {name: part for name, part in parts.items() if _is_informative(name, part)}
    rows = {name: _rows(name, part) for name, part in parts.items() if name not in BY_PAIR}
    figure, axes = _panels(parts, rows, figure_kwargs or {})
    for name, ax in axes.items():
        title, axis_label = PANELS[name]
        if name in rows:
            _draw_rows(ax, rows[name])
        else:
            _draw_pairs(ax, parts[name])
            axis_label = "\n".join(filter(None, [axis_label, _number(ax, parts[name])]))
        note = _note(name, len(rows.get(name, parts[name])), len(parts[name]), table)
        ax.set_title(title, fontsize=10, fontweight="bold", loc="left", pad=18 if note else 6)
        look: dict[str, Any] = {"textcoords": "offset points", "xycoords": "axes fraction"}
        ax.annotate(note, (0, 1), (0, 5), fontsize=8.5, color=DARK, **look)
        ax.set_xlabel(axis_label, fontsize=9, parse_math=False)
        ax.tick_params(labelsize=8.5)
    message = worst_checks(table).message(table.attrs["ci_prob"])
    artists = {"figure": figure, "legend": legend_above(figure, _handles(table), message, 4)}
    viz = {name: xr.DataArray(np.array(artist, dtype=object)) for name, artist in artists.items()}
    viz["plot"] = xr.DataArray([*axes.values()], {"statistic": [*axes]}, "statistic")
    return PlotCollection(xr.Dataset(), xr.DataTree(xr.Dataset(viz)), backend="matplotlib")


def _panels(
    parts: dict[str, pd.DataFrame], rows: dict[str, pd.DataFrame], figure_kwargs: dict[str, Any]
) -> tuple[Figure, dict[str, Axes]]:
    """Create a figure with one panel per statistic, with room for its rows."""
    lines: list[list[str]] = []  # panels side by side
    for name in parts:
        if lines and len(lines[-1]) == 1 and not WIDE.intersection([name, *lines[-1]]):
            lines[-1].append(name)
        else:
            lines.append([name])
    inches = dict.fromkeys(parts, PAIRS) | {
        name: (WIDE_ROW if name in WIDE else ROW) * (len(shown) + 0.2)
        for name, shown in rows.items()
    }
    heights = [AROUND + max(inches[name] for name in line) for line in lines]
    look = {"figsize": (9.0, 0.9 + sum(heights)), "layout": "constrained"}
    figure = plt.figure(**look | figure_kwargs)
    found = figure.subplot_mosaic([[line[0], line[-1]] for line in lines], height_ratios=heights)
    return figure, {name: found[name] for name in parts}


def _is_informative(name: str, part: pd.DataFrame) -> bool:
    """Return False for block sizes that are given, or always one."""
    if name != "block size":
        return True
    never = (part[["observed", "low"]].iloc[0] == 1).all()
    return not never and not (part["note"] == GIVEN).all()


def _rows(name: str, part: pd.DataFrame) -> pd.DataFrame:
    """Return the rows to show of a statistic, from top to bottom, with the column name."""
    if name in ("top item", "points"):
        part = part.sort_values("observed", ascending=False, kind="stable")
        part = pd.concat([part.iloc[:MOST], _farthest(part.iloc[MOST:], EXTRA)])
    if name == "Kendall distance":
        spread = part.index.get_level_values("label") == "spread"
        part = part.iloc[np.argsort(spread, kind="stable")]
    names = [str(label) for label, _ in part.index]
    if name == "outcome":
        names = [OUTCOMES[label] for label in names]
    if name == "Kendall distance":
        names = [f"{label}, {_length_name(n)}" for label, n in part.index]
    return part.assign(name=[short_name(text, NAME) for text in names])


def _length_name(n_items: Any) -> str:
    return "all lists" if n_items == "all" else f"lists of {n_items}"


def _farthest(part: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return surprising rows, those farthest outside their intervals first."""
    part = part[part["surprising"]]
    beyond = np.maximum(part["low"] - part["observed"], part["observed"] - part["high"])
    width = part["high"] - part["low"] + 0.01  # an interval may have no length
    return part.iloc[np.argsort(-(beyond / width).to_numpy(), kind="stable")[:most]]


def _draw_rows(ax: Axes, rows: pd.DataFrame) -> None:
    """Draw intervals, means and observed values under each other."""
    y = np.arange(len(rows))
    odd, given = rows["surprising"].to_numpy(), (rows["note"] == GIVEN).to_numpy()
    drawn = ~given
    colour = np.where(odd, WARNING, OTHER)
    ax.hlines(y[drawn], rows["low"][drawn], rows["high"][drawn], color=colour[drawn], linewidth=4)
    ax.scatter(rows["mean"][drawn], y[drawn], marker="|", s=70, c=DARK, linewidths=1.4, zorder=3)
    _draw_observed(ax, rows["observed"].to_numpy(), y, odd)
    ax.set_yticks(y, rows["name"].tolist(), fontsize=9, parse_math=False)
    ax.set_ylim(y.max() + 0.6, -0.6)
    frame_rows(ax, foot=True)
    ax.tick_params(top=False, labeltop=False)
    ax.xaxis.set_label_position("bottom")
    ax.margins(x=0.04)


def _draw_observed(ax: Axes, x: Any, y: Any, odd: NDArray[np.bool_], small: bool = False) -> None:
    """Draw observed values as circles, or as triangles if they are surprising."""
    share = 0.4 if small else 1.0
    for some, marker, colour, size in ((~odd, "o", LEADING, 26), (odd, "^", WARNING, 46)):
        look: dict[str, Any] = {"c": "white", "edgecolors": colour, "zorder": 4}
        look["linewidths"] = 0.9 + 0.6 * share
        if some.any():
            ax.scatter(x[some], y[some], s=share * size, marker=marker, **look)


def _draw_pairs(ax: Axes, pairs: pd.DataFrame) -> None:
    """Draw every pair, observed against predicted."""
    shares = pairs[["low", "high", "observed"]].to_numpy()
    ends = np.array([shares.min(), shares.max()])
    ends += np.array([-0.04, 0.04]) * max(ends[1] - ends[0], 0.1)
    ax.plot(ends, ends, color=DARK, linewidth=0.9, linestyle="--", zorder=1)
    odd = pairs["surprising"].to_numpy()
    x, y = pairs["mean"].to_numpy(), pairs["observed"].to_numpy()
    faint = 0.25 if len(pairs) > 60 else 0.6
    for some, colour, alpha in ((~odd, OTHER, faint), (odd, WARNING, 0.8)):
        part = pairs[some]
        ax.hlines(part["observed"], part["low"], part["high"], color=colour, alpha=alpha, lw=1.5)
    _draw_observed(ax, x, y, odd, small=len(pairs) > 60)
    ax.set_xlim(*ends)
    ax.set_ylim(*ends)
    ax.set_aspect("equal")
    ax.set_anchor("N")
    ax.set_ylabel("Observed share", fontsize=9)
    ax.grid(color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    without_box(ax)


def _note(name: str, n_shown: int, n_checks: int, table: pd.DataFrame) -> str:
    """Return a note on the rows that a panel leaves out."""
    n = n_checks if name in ("top item", "points") else table.attrs["n_pairs"]
    if name not in FIRST or n_shown >= n:
        return ""
    if name in BY_PAIR:
        return f"the {n_shown} of {n:,} {FIRST[name]}"
    more = f", and {n_shown - MOST} other surprising items" if n_shown > MOST else ""
    return f"the {MOST} of {n} {FIRST[name]}{more}"


def _number(ax: Axes, pairs: pd.DataFrame) -> str:
    """Write numbers next to the most surprising pairs; return the key to the numbers."""
    found = _farthest(pairs, len(pairs))
    apart = 0.06 * (ax.get_xlim()[1] - ax.get_xlim()[0])
    taken: list[tuple[float, float]] = []
    names = []
    for (label, _), x, y in zip(found.index, found["mean"], found["observed"], strict=True):
        # adjacent numbers would read as one
        if any(max(abs(x - x0), abs(y - y0)) < apart for x0, y0 in taken):
            continue
        taken.append((x, y))
        names.append(f"{len(taken)}: {short_name(label, 2 * NAME)}")
        side = 8 if y < x else -8  # away from the diagonal
        outline = [withStroke(linewidth=2.5, foreground="white")]
        look: dict[str, Any] = {"fontsize": 9, "fontweight": "bold", "color": DARK, "zorder": 5}
        look |= {"ha": "center", "va": "center", "path_effects": outline}
        offset = (side, -side)
        ax.annotate(str(len(taken)), (x, y), offset, textcoords="offset points", **look)
        if len(taken) == NAMED:
            break
    more = len(found) - len(taken)
    names += [f"{more} more"] if more else []
    # break lines only between names
    return fill("; ".join(text.replace(" ", "\N{NO-BREAK SPACE}") for text in names), 48)


def _handles(table: pd.DataFrame) -> list[Line2D]:
    """Return the legend of all panels."""
    handles = [handle("observed", LEADING, marker="o", mew=1.5)]
    if table["surprising"].any():
        handles.append(handle("outside its interval", WARNING, marker="^", markersize=8, mew=1.5))
    return [
        *handles,
        handle(f"predicted, {100 * table.attrs['ci_prob']:g}% interval", OTHER),
        handle("predicted, mean", DARK, marker="|", markersize=9, mew=1.4),
    ]
