"""Pictures of rank posteriors, and what pictures of intervals in rows have in common."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from bayesrank.results.ranks import posterior_utilities, rank_summary

__all__ = [
    "LEADING",
    "MANY",
    "OTHER",
    "chosen",
    "draw_intervals",
    "interval_handles",
    "legend_above",
    "plot_ranks",
    "row_height",
    "set_up_rows",
    "short_name",
]

LEADING, OTHER = "#0072B2", "#8a8a8a"  # Okabe-Ito blue and a grey: apart for every eye
LONGEST_NAME = 48  # characters; the middle of longer ones is left out
MANY = 40  # rows beyond which the scale is repeated at the foot


def plot_ranks(
    data: Any,
    var: str = "utility",
    *,
    dim: str = "item",
    prob: float = 0.94,
    tied_prob: float = 0.95,
    items: Sequence[Any] | None = None,
    max_items: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the rank interval of every item, best on top.

    A thin line is the interval of probability `prob`, a thick one that of one half, the circle the
    mean rank. Items that cannot be told from the leader are coloured.

    Parameters
    ----------
    data : DataTree, Dataset or DataArray
        Posterior with dims chain, draw and `dim` and no others.
    var : str
        The variable to rank, highest first.
    dim : str
        The dim of the items.
    prob : float
        Probability of the thin interval, in (0, 1).
    tied_prob : float
        As in `rank_summary`.
    items : sequence of labels, optional
        Show these only, from top to bottom; their ranks are still those among all items.
    max_items : int, optional
        Show only the first so many; the picture says how many there are.
    ax : Axes, optional
        Where to draw, high enough for the names (0.2 inches each); default a new figure of the
        size that the names need.

    Returns
    -------
    Axes
        Of the drawing.

    Raises
    ------
    ValueError
        As `rank_summary`; if the variable has more dims (select one group first); or if `items`
        holds an unknown or repeated label or none, or `max_items` is less than 1.

    Examples
    --------
    >>> import xarray as xr
    >>> u = xr.DataArray(np.random.default_rng(0).normal([2, 1, 0], 1, (2, 50, 3)),
    ...                  dims=("chain", "draw", "item"), coords={"item": ["a", "b", "c"]})
    >>> ax = plot_ranks(u)
    >>> [name.get_text() for name in ax.get_yticklabels()]
    ['a', 'b', 'c']
    >>> plt.close(ax.figure)
    """
    utility = posterior_utilities(data, var, dim)
    extra = [str(d) for d in utility.dims if d not in ("chain", "draw", dim)]
    if extra:
        raise ValueError(
            f"{var!r} has the further dims {extra}: select one group of each before plotting, such "
            f"as idata.posterior[{var!r}].isel({extra[0]}=0)."
        )
    everyone = rank_summary(utility, dim=dim, top=1, prob=prob, tied_prob=tied_prob)
    if max_items is not None and max_items < 1:
        raise ValueError(f"`max_items` is {max_items}; it must be 1 or more.")
    shown = chosen(everyone.index, items, "item")[:max_items]
    thin = everyone.loc[shown]
    thick = rank_summary(utility, dim=dim, top=1, prob=0.5, tied_prob=tied_prob).loc[shown]
    names = [short_name(name) for name in shown]

    own = ax is None
    if ax is None:
        width = max(7.5, 5.0 + 0.08 * max(map(len, names)))
        size = (width, 1.6 + row_height(len(shown)) * len(shown))
        ax = plt.subplots(figsize=size, layout="constrained")[1]
    y = np.arange(len(shown))
    colours = [LEADING if tied else OTHER for tied in thin["tied_with_leader"]]
    # An interval of one rank has no length: something on either side makes it show.
    right = pd.concat([thin["rank_high"], thick["rank_high"], thin["mean_rank"]]).max()
    more = max(0.2, 0.004 * right)
    draw_intervals(
        ax,
        y,
        (thin["rank_low"], thin["rank_high"]),
        (thick["rank_low"] - more, thick["rank_high"] + more),
        thin["mean_rank"],
        colours,
    )
    set_up_rows(ax, y, names, foot=len(shown) > MANY)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_xlim(0.5, right + 0.5)
    _explain(ax, everyone, len(shown), prob, tied_prob, own)
    return ax


def chosen(labels: pd.Index, wanted: Sequence[Any] | None, what: str) -> pd.Index:
    """Labels to show, from top to bottom: all, or those wanted, of which each must exist once."""
    if wanted is None:
        return labels
    wanted = list(wanted)
    unknown = [label for label in wanted if label not in labels]
    if unknown:
        some = ", ".join(map(repr, labels[:5].tolist())) + (", ..." if len(labels) > 5 else "")
        raise ValueError(f"There is no {what} {unknown[0]!r}; the {len(labels)} {what}s are {some}")
    twice = [label for label in wanted if wanted.count(label) > 1]
    if twice or not wanted:
        which = f"{twice[0]!r} twice" if twice else "no label"
        raise ValueError(f"`{what}s` holds {which}; give each {what} to show once.")
    return pd.Index(wanted, dtype=labels.dtype, name=labels.name)


def short_name(name: Any) -> str:
    """One line of at most `LONGEST_NAME` characters, beginning and end kept."""
    text = " ".join(str(name).split())
    if len(text) <= LONGEST_NAME:
        return text
    kept = LONGEST_NAME - 1
    return f"{text[: kept - kept // 3].rstrip()}…{text[-(kept // 3) :].lstrip()}"


def row_height(n_rows: int) -> float:
    """Inches of a row with a name."""
    return 0.24 if n_rows > 12 else 0.34


def draw_intervals(
    ax: Axes,
    y: ArrayLike,
    thin: tuple[ArrayLike, ArrayLike],
    thick: tuple[ArrayLike, ArrayLike],
    mean: ArrayLike,
    colours: Any,
    marker: str = "o",
) -> None:
    """Draw a thin line, a thick one and a marker in every row."""
    ax.hlines(y, *thin, color=colours, linewidth=1.2, zorder=2)
    ax.hlines(y, *thick, color=colours, linewidth=4.5, zorder=3)
    size = 24 if marker == "o" else 40  # a triangle looks smaller
    look = {"c": "white", "edgecolors": colours, "linewidths": 1.4, "marker": marker}
    ax.scatter(mean, y, s=size, zorder=4, **look)


def set_up_rows(ax: Axes, y: NDArray[np.number], names: Sequence[str], *, foot: bool) -> None:
    """Put names beside the rows, which begin at zero, and the scale above them and at the foot."""
    # A "$" in a name is no mathematics.
    ax.set_yticks(y, names, fontsize=9, parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(y.max() + 0.6, -0.6)
    # The scale is where the reader begins: above the first row.
    ax.xaxis.set_label_position("top")
    ax.tick_params(axis="x", top=True, labeltop=True, bottom=foot, labelbottom=foot)
    ax.grid(axis="x", color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("bottom", "right", "left"):
        ax.spines[side].set_visible(False)


def interval_handles(prob: float, mean: str) -> list[Line2D]:
    """Legend of what `draw_intervals` draws."""
    return [
        Line2D([], [], color="black", marker="o", mfc="white", linestyle="", label=mean),
        Line2D([], [], color="black", linewidth=4.5, label="50% interval"),
        Line2D([], [], color="black", linewidth=1.2, label=f"{100 * prob:g}% interval"),
    ]


def legend_above(ax: Axes, handles: Sequence[Line2D], title: str, ncols: int = 3) -> None:
    """Put the legend over the picture, where it covers nothing."""
    ax.figure.legend(
        handles=handles,
        loc="outside upper left",
        ncols=ncols,
        frameon=False,
        fontsize=8.5,
        title=title,
        title_fontsize=10,
        alignment="left",
    )


def _explain(
    ax: Axes, everyone: pd.DataFrame, n_shown: int, prob: float, tied_prob: float, own: bool
) -> None:
    """Say what lines and colours mean: a legend on a figure of our own, else in the axis label."""
    n_items, n_tied = len(everyone), int(everyone["tied_with_leader"].sum())
    tied = "the leader" if n_tied == 1 else f"not distinguishable from the leader ({n_tied} items)"
    count = f"{n_shown} of {n_items} items" if n_shown < n_items else ""
    if not own:  # a legend would cover data, or other axes of the figure
        colours = "blue: " + tied + (f"; {count}" if count else "")
        ax.set_xlabel(
            f"Rank (1 = best): mean, 50% and {100 * prob:g}% interval\n{colours}", fontsize=9
        )
        return
    ax.set_xlabel("Rank (1 = best)")
    handles = [
        Line2D([], [], color=LEADING, linewidth=4, label=tied),
        Line2D([], [], color=OTHER, linewidth=4, label=f"worse with probability ≥ {tied_prob:g}"),
        *interval_handles(prob, "mean rank"),
    ]
    if n_tied == n_items:
        del handles[1]
    legend_above(ax, handles, count)
