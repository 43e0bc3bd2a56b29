"""Pictures of the study: errors of objectives, and posteriors.

Objectives differ in marker and in colour. The palette is safe for colour blindness (Okabe and Ito).
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

# Colour, marker, line
LOOKS = {
    "equal shares": ("#8a8a8a", "", ":"),
    "AttRank": ("#CC79A7", "v", "-"),
    "PL-LB": ("#E69F00", "s", "-"),
    "RankNet": ("#56B4E9", "D", "-"),
    "RankNet, stopped": ("#56B4E9", "*", ""),
    "RankSVM": ("#009E73", "^", "-"),
    "exact": ("#0072B2", "o", "-"),
    "exact, prior": ("#D55E00", "P", "--"),
    "PL-TopK": ("#000000", "x", "--"),
}
WORDS = {"n_items": "items", "n_rankings": "rankings"}


def along_figure(table: pd.DataFrame, along: str, across: str) -> Figure:
    """Draw the errors against the number of rankings or items, with a panel for each other number.

    Parameters
    ----------
    table : DataFrame
        Result of `errors`.
    along, across : {"n_items", "n_rankings"}
        Quantity on the axis, and quantity with a panel for each value.

    Returns
    -------
    Figure
        Means over the seeds. Along the number of items, they are relative to the error of equal
        shares, because all errors fall with the square of the number of items.
    """
    panels = sorted(table[across].unique())
    looks = {name: look for name, look in LOOKS.items() if name in set(table["objective"])}
    fig, axes = plt.subplots(
        1,
        len(panels),
        figsize=(3.3 * len(panels) + 1.5, 3.9),
        squeeze=False,
        layout="constrained",
        sharey=along == "n_items",
    )
    for ax, panel in zip(axes[0], panels, strict=True):
        part = table[table[across] == panel]
        unit = part[part["objective"] == "equal shares"].groupby(along)["error"].mean()
        for name, (colour, marker, line) in looks.items():
            means = part[part["objective"] == name].groupby(along)["error"].mean()
            if along == "n_items":
                means = means / unit
            ax.plot(
                means.index,
                means,
                color=colour,
                marker=marker,
                linestyle=line,
                markersize=10 if marker == "*" else 6,
                linewidth=1.4,
                label=name,
            )
        _logarithmic(ax, sorted(table[along].unique()))
        ax.set(xlabel=f"number of {WORDS[along]}", title=f"{panel:,} {WORDS[across]}")
    relative = "squared error, relative to equal shares"
    axes[0, 0].set_ylabel(relative if along == "n_items" else "mean squared error of the shares")
    handles, names = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside right center", fontsize="small", frameon=False)
    return fig


def posterior_figure(items: pd.DataFrame) -> Figure:
    """Draw posterior means against the truth, their errors, and the coverage of intervals.

    Parameters
    ----------
    items : DataFrame
        Result of `posteriors`.

    Returns
    -------
    Figure
        Three panels; the first shows the first seed and the middle number of rankings.
    """
    fig, (shares, errors, coverage) = plt.subplots(1, 3, figsize=(12, 3.9), layout="constrained")
    numbers = sorted(items["n_rankings"].unique())
    one = items[(items["seed"] == items["seed"].min())]
    one = one[one["n_rankings"] == numbers[len(numbers) // 2]]
    shares.vlines(one["truth"], one["low"], one["high"], color="#8a8a8a", linewidth=1)
    shares.plot(one["truth"], one["mean"], "o", color="#0072B2", markersize=3.5)
    span = [one["truth"].min(), one["truth"].max()]
    shares.plot(span, span, color="black", linewidth=0.8, linestyle=":")
    shares.set(
        xscale="log",
        yscale="log",
        xlabel="true share",
        ylabel="posterior mean and 90% interval",
        title=f"{one['n_rankings'].iloc[0]:,} rankings of {len(one):,} items",
    )

    for what, (colour, marker, line) in {"mean": LOOKS["exact"], "mode": LOOKS["RankSVM"]}.items():
        square = ((items[what] - items["truth"]) ** 2).groupby(items["n_rankings"]).mean()
        label = f"posterior {what}"
        errors.plot(square.index, square, color=colour, marker=marker, linestyle=line, label=label)
    _logarithmic(errors, numbers)
    errors.set(
        xlabel="number of rankings", ylabel="mean squared error of the shares", title="Errors"
    )
    errors.legend(frameon=False)

    percents = np.arange(5, 100, 5)
    styles = zip(("o", "s", "^", "v"), ("#0072B2", "#D55E00", "#009E73", "#000000"), strict=True)
    for n, (marker, colour) in zip(numbers, styles, strict=False):
        for what, line in (("utility", "-"), ("share", ":")):
            off = (items.loc[items["n_rankings"] == n, f"place of {what}"] - 0.5).abs().to_numpy()
            inside = 100 * (off[:, None] <= percents / 200).mean(axis=0)
            coverage.plot(
                percents,
                inside,
                color=colour,
                linestyle=line,
                marker=marker if what == "utility" else "",
                markersize=4,
                label=f"{what}, {n:,} rankings",
            )
    coverage.plot([0, 100], [0, 100], color="#8a8a8a", linewidth=0.8)
    coverage.set(
        xlabel="central interval, %",
        ylabel="intervals that contain the truth, %",
        title="Calibration",
        xlim=(0, 100),
        ylim=(0, 100),
    )
    coverage.legend(frameon=False, fontsize="small")
    return fig


def cost_figure(table: pd.DataFrame) -> Figure:
    """Draw the cost of a value and gradient against the number of items.

    Parameters
    ----------
    table : DataFrame
        CPU milliseconds, a row for each objective, a column for each number of items.

    Returns
    -------
    Figure
        Figure with logarithmic axes.
    """
    fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    for name, milliseconds in table.iterrows():
        colour, marker, line = LOOKS[str(name)]
        ax.plot(table.columns, milliseconds, color=colour, marker=marker, ls=line, label=name)
    _logarithmic(ax, [int(n) for n in table.columns])
    ax.set(xlabel="number of items", ylabel="value and gradient, CPU ms")
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return fig


def _logarithmic(ax: Axes, ticks: list[int]) -> None:
    ax.set(xscale="log", yscale="log")
    ax.set_xlim(ticks[0] / 1.5, ticks[-1] * 1.5)
    ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    ax.xaxis.set_minor_locator(NullLocator())
