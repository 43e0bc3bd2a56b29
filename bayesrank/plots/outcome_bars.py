"""Stacked bars of the outcomes of matches, one per item or pair of items."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bayesrank.plots.panels import NAME_SIZE, short_name
from bayesrank.plots.rows import DARK, LEADING, WARNING, row_height

__all__ = ["outcome_bars"]

EQUAL = "#d9d9d9"  # between the two sides
WIDTH = 7.5  # inches
MOST_ABOVE = 6  # outcomes in a row of the legend


def outcome_bars(
    shares: pd.DataFrame,
    predicted: pd.DataFrame,
    beside: Sequence[str] = (),
    chance: pd.DataFrame | None = None,
    heading: str = "",
) -> Figure:
    """Draw the shares of outcomes of each row, and ticks where the model predicts the boundaries.

    Parameters
    ----------
    shares, predicted : DataFrame
        A row per item or pair, and a column per outcome, from the best for the row to the worst.
        Rows sum to one.
    beside : sequence of str
        Outcomes that are not between the best and the worst. They are dark, and last.
    chance : DataFrame, optional
        Mean, low and high of a probability of each row, in a second panel.
    heading : str
        Name of this probability.

    Examples
    --------
    >>> shares = pd.DataFrame([[0.5, 0.2, 0.3]], index=["ale"], columns=["wins", "tie", "loses"])
    >>> [axes.get_xlabel() for axes in outcome_bars(shares, shares).axes]
    ['Share of votes']
    """
    names, n = [short_name(name) for name in shares.index], len(shares)
    ordered = [name for name in shares.columns if name not in beside]
    scale = LinearSegmentedColormap.from_list("sides", [LEADING, EQUAL, WARNING])
    colours = dict(zip(ordered, map(to_hex, scale(np.linspace(0, 1, len(ordered)))), strict=True))
    dark = colormaps["Greys"](np.linspace(0.85, 0.65, max(len(beside), 1)))
    colours |= dict(zip(beside, map(to_hex, dark), strict=False))
    lines = -(-(len(shares.columns) + 1) // MOST_ABOVE)
    height = row_height(n) * n + 0.9 + 0.2 * lines
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    panels = figure.subplots(
        1, 1 + (chance is not None), sharey=True, squeeze=False,
        width_ratios=[2, 1] if chance is not None else None,
    )[0]  # fmt: skip
    axes, y = panels[0], np.arange(n)
    start = np.zeros(n)
    for name in shares.columns:
        share = shares[name].to_numpy()
        axes.barh(y, share, 0.8, start, color=colours[name], edgecolor="white", linewidth=0.5)
        start = start + share
    ends = predicted.to_numpy().cumsum(axis=1)[:, :-1]
    for end in ends.T:
        axes.vlines(end, y - 0.42, y + 0.42, color="black", linewidth=1.2)
    axes.set(xlim=(0, 1), ylim=(n - 0.5, -0.5), xlabel="Share of votes")
    axes.set_yticks(y, names, fontsize=NAME_SIZE)
    if chance is not None:
        side = panels[1]
        low, mean, high = (chance[name].to_numpy() for name in ("low", "mean", "high"))
        side.hlines(y, low, high, color=DARK, linewidth=1.2)
        side.plot(mean, y, "o", color=DARK, markersize=4.5)
        side.set(xlim=(0, 1), xlabel=heading)
        side.grid(axis="x", color="#e5e5e5", linewidth=0.6)
        side.set_axisbelow(True)
        side.tick_params(axis="y", length=0)
    for panel in panels:
        panel.spines[["top", "right", "left"]].set_visible(False)
    handles: list[Patch | Line2D] = [Patch(color=colours[x], label=str(x)) for x in shares.columns]
    tick = Line2D([], [], color="black", linewidth=0, marker="|", markersize=9, label="predicted")
    figure.legend(
        handles=[*handles, tick], loc="outside upper center", ncols=MOST_ABOVE, frameon=False,
        fontsize=NAME_SIZE,
    )  # fmt: skip
    return figure
