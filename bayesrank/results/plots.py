"""Pictures of rank posteriors."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from bayesrank.results.ranks import posterior_utilities, rank_summary

__all__ = ["plot_ranks"]

LEADING, OTHER = (
    "#0072B2",
    "#8a8a8a",
)  # Okabe-Ito blue and a grey: apart for every eye, and in print


def plot_ranks(
    data: Any,
    var: str = "utility",
    *,
    dim: str = "item",
    prob: float = 0.94,
    tied_prob: float = 0.95,
    max_items: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the rank interval of every item, best on top.

    A thin line is the interval of probability `prob`, a thick one that of one half, the dot the
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
    max_items : int, optional
        Show only the best so many; the title says how many there are.
    ax : Axes, optional
        Where to draw; default a new figure, as high as the names need.

    Returns
    -------
    Axes
        Of the drawing.

    Raises
    ------
    ValueError
        As `rank_summary`, and if the variable has more dims: select one group first.

    Examples
    --------
    >>> import xarray as xr
    >>> u = xr.DataArray(np.random.default_rng(0).normal([2, 1, 0], 1, (2, 50, 3)),
    ...                  dims=("chain", "draw", "item"), coords={"item": ["a", "b", "c"]})
    >>> plot_ranks(u).get_xlabel()
    'Rank (1 = best)'
    """
    utility = posterior_utilities(data, var, dim)
    extra = [str(d) for d in utility.dims if d not in ("chain", "draw", dim)]
    if extra:
        raise ValueError(
            f"{var!r} has the further dims {extra}: select one group of each before plotting, such "
            f"as posterior[{var!r}].isel({extra[0]}=0)."
        )
    thin = rank_summary(utility, dim=dim, top=1, prob=prob, tied_prob=tied_prob)
    thick = rank_summary(utility, dim=dim, top=1, prob=0.5, tied_prob=tied_prob).loc[thin.index]
    n_items, shown = len(thin), min(max_items or len(thin), len(thin))
    thin, thick = thin.iloc[:shown], thick.iloc[:shown]

    if ax is None:
        height = 1.6 + 0.24 * shown if shown > 12 else 1.6 + 0.34 * shown
        _, ax = plt.subplots(figsize=(7.5, height), layout="constrained")
    y = np.arange(shown)
    colours = np.where(thin["tied_with_leader"], LEADING, OTHER)
    ax.hlines(y, thin["rank_low"], thin["rank_high"], color=colours, linewidth=1.2, zorder=2)
    ax.hlines(y, thick["rank_low"], thick["rank_high"], color=colours, linewidth=4, zorder=3)
    ax.scatter(thin["mean_rank"], y, s=26, c=colours, edgecolors="white", linewidths=0.8, zorder=4)

    ax.set_yticks(y, [str(name) for name in thin.index], fontsize=9 if shown <= 40 else 7.5)
    ax.set_ylim(shown - 0.4, -0.6)
    ax.set_xlim(0.5, max(thin["rank_high"].max(), 1) + 0.5)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_xlabel("Rank (1 = best)")
    if shown > 40:  # the scale is a page away from the first names
        ax.tick_params(axis="x", top=True, labeltop=True)
    ax.grid(axis="x", color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    if shown < n_items:
        ax.set_title(f"Best {shown} of {n_items} items", loc="left", fontsize=10)
    n_tied = int(
        rank_summary(utility, dim=dim, top=1, tied_prob=tied_prob)["tied_with_leader"].sum()
    )
    first = "the leader" if n_tied == 1 else f"not distinguishable from the leader ({n_tied})"
    handles = [
        Line2D([], [], color=LEADING, linewidth=4, label=first),
        Line2D([], [], color=OTHER, linewidth=4, label=f"worse with probability ≥ {tied_prob:g}"),
        Line2D([], [], color="black", linewidth=4, label="50% interval"),
        Line2D([], [], color="black", linewidth=1.2, label=f"{prob:.0%} interval"),
        Line2D([], [], color="black", marker="o", linestyle="", markersize=4, label="mean rank"),
    ]
    if n_tied == n_items:
        del handles[1]
    ax.figure.legend(
        handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=8.5
    )
    return ax
