"""The picture of rank posteriors: which items are ahead, and how sure that is."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from arviz import PlotCollection
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from bayesrank.plots.panels import (
    best_first,
    by_panel,
    chosen,
    each_panel,
    facets_of,
    figure_of,
    keep,
    make_panels,
    short_name,
    title_panels,
)
from bayesrank.plots.rows import (
    LEADING,
    MANY,
    OTHER,
    UNKNOWN,
    figure_size,
    handle,
    interval_handles,
    legend_above,
    map_intervals,
    rank_ticks,
    row_height,
    set_up_rows,
)
from bayesrank.results import rank_summary
from bayesrank.results.draws import posterior_utilities
from bayesrank.results.ranks.rank_table import LITTLE

__all__ = ["plot_ranks"]


def plot_ranks(
    data: Any,
    var: str = "utility",
    *,
    dim: str = "item",
    prob: float = 0.94,
    tied_prob: float = 0.95,
    simultaneous: bool = False,
    items: Sequence[Any] | None = None,
    max_items: int | None = None,
    prior_sd: float | None = None,
    seen: pd.Series | None = None,
    plot_collection: PlotCollection | None = None,
    **pc_kwargs: Any,
) -> PlotCollection:
    """Draw the rank interval of every item, best on top.

    A thin line is the interval of probability `prob`, a thick one that of one half, the circle the
    mean rank. Items that may be better than the leader are coloured. Further dims, such as a
    category, have one panel per label; the items are in the same order in all of them, that of
    the mean rank averaged over the panels.

    Parameters
    ----------
    data, var, dim
        Posterior, variable and dim of the items, as in `rank_draws`.
    prob : float
        Probability of the thin interval, in (0, 1).
    tied_prob : float
        As in `rank_summary`.
    simultaneous : bool
        Whether intervals hold for all items at once, as in `rank_summary`.
    items : sequence of labels, optional
        Show these only, from top to bottom; their ranks are still those among all items.
    max_items : int, optional
        Show only the first so many; the picture says how many there are.
    prior_sd : float, optional
        As in `rank_summary`: items of which too little is known are apart from close ones.
    seen : Series, optional
        For each item, how many rankings or matches it is in, which its name says; written at the
        right of a picture with one panel.
    plot_collection : PlotCollection, optional
        What to draw on, with panels by the further dims; default a new figure.
    **pc_kwargs
        Passed to `PlotCollection.wrap`, such as ``figure_kwargs={"figsize": (8, 6)}`` in inches.

    Returns
    -------
    PlotCollection
        With the visuals interval, half and mean in ``viz``, and legend on a new figure.

    Raises
    ------
    ValueError
        As `rank_summary`; if items or panels do not fit.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> u = xr.DataArray(np.random.default_rng(0).normal([2, 1, 0], 1, (2, 50, 3)),
    ...                  dims=("chain", "draw", "item"), coords={"item": ["a", "b", "c"]})
    >>> pc = plot_ranks(u)
    >>> [name.get_text() for name in pc.get_target("utility", {}).get_yticklabels()]
    ['a', 'b', 'c']
    >>> plt.close()
    """
    utility = posterior_utilities(data, var, dim).rename(var)
    facets = facets_of(utility, dim)
    shown = chosen(best_first(utility, dim), items, max_items)
    everyone, half = (
        by_panel(
            rank_summary(
                utility,
                dim=dim,
                top=1,
                prob=p,
                simultaneous=simultaneous,
                tied_prob=tied_prob,
                prior_sd=prior_sd,
            ),
            utility,
            [*facets, dim],
        )
        for p in (prob, 0.5)
    )
    thin, thick = everyone.sel({dim: shown}), half.sel({dim: shown})
    names = [short_name(name) for name in shown]

    size = figure_size(names, row_height(len(shown)) * len(shown))
    pc = make_panels(utility, facets, plot_collection, size, pc_kwargs)
    y = np.arange(len(shown))
    # An interval of one rank has no length: something on either side makes it show.
    right = max(float(x.max()) for x in (thin["rank_high"], thick["rank_high"], thin["mean_rank"]))
    more = max(0.2, 0.004 * right)
    map_intervals(
        pc,
        y,
        (thin["rank_low"], thin["rank_high"]),
        _inside(thick, thin, more),
        thin["mean_rank"].rename(var),
        _colours(thin),
    )
    for ax, first in each_panel(pc, utility, facets):
        set_up_rows(ax, y, names, foot=len(shown) > MANY, named=first)
        ax.xaxis.set_major_locator(rank_ticks(right, 5 if facets else 9))
        ax.set_xlim(0.5, right + 0.5)
    title_panels(pc, utility, facets)
    if seen is not None and not facets:
        ((ax, _),) = each_panel(pc, utility, facets)
        _write_counts(ax, y, seen[shown])

    at_once = ", all items at once" if simultaneous else ""
    tied = _words_of_tied(everyone["tied_with_leader"], dim)
    n_items = utility.sizes[dim]
    count = f"{len(shown)} of {n_items} {dim}s" if len(shown) < n_items else ""
    if plot_collection is not None:  # a legend would cover data, or other axes of the figure
        text = f"Rank (1 = best): mean, 50% and {100 * prob:g}% interval{at_once}\nblue: {tied}"
        for ax, _ in each_panel(pc, utility, facets):
            ax.set_xlabel(text + (f"; {count}" if count else ""), fontsize=9)
        return pc
    for ax, _ in each_panel(pc, utility, facets):
        ax.set_xlabel("Rank (1 = best)")
    worse = f"worse, all at once, with probability ≥ {tied_prob:g}"
    handles = [
        *_handles_of_tied(everyone, tied),
        handle(worse, OTHER),
        *interval_handles(prob, "mean rank", at_once),
    ]
    if everyone["tied_with_leader"].all():
        handles = [line for line in handles if line.get_label() != worse]
    keep(pc, "legend", legend_above(figure_of(pc), handles, count))
    return pc


def _inside(thick: xr.Dataset, thin: xr.Dataset, more: float) -> tuple[xr.DataArray, xr.DataArray]:
    """Find the ends of thick lines, a little longer than their ranks, but not beyond thin ones."""
    low, high = thick["rank_low"] - more, thick["rank_high"] + more
    length = thin["rank_high"] > thin["rank_low"]
    first = np.minimum(thin["rank_low"], thick["rank_low"])
    last = np.maximum(thin["rank_high"], thick["rank_high"])
    return low.where(~length, np.maximum(low, first)), high.where(~length, np.minimum(high, last))


def _colours(summary: xr.Dataset) -> xr.DataArray:
    """Colour of each item: those of which too little is known are lighter."""
    tied = xr.where(summary["tied_with_leader"], LEADING, OTHER)
    if "known" not in summary:
        return tied
    return xr.where(_unknown(summary), UNKNOWN, tied)


def _unknown(summary: xr.Dataset) -> xr.DataArray:
    """Which of the items that may be better are so because too little is known."""
    leads = summary["mean_rank"] == summary["mean_rank"].min()
    return summary["tied_with_leader"] & (summary["known"] < LITTLE) & ~leads


def _handles_of_tied(summary: xr.Dataset, words: str) -> list[Line2D]:
    """Legend of the items that may be better than the leader."""
    if "known" not in summary or summary["tied_with_leader"].ndim > 1:
        return [handle(words, LEADING)]
    unknown = int(_unknown(summary).sum())
    close = int(summary["tied_with_leader"].sum()) - unknown - 1
    label = f"the leader, and {close} close to it" if close else "the leader"
    handles = [handle(label, LEADING)]
    return [*handles, handle(f"too little is known ({unknown})", UNKNOWN)] if unknown else handles


def _write_counts(ax: Axes, y: NDArray[np.int_], seen: pd.Series) -> None:
    """Write at the right of each row how often the item was seen."""
    look: dict[str, Any] = {
        "transform": ax.get_yaxis_transform(), "ha": "left", "va": "center", "fontsize": 8.5,
        "color": "#555555", "clip_on": False,
    }  # fmt: skip
    for row, n in zip(y, seen, strict=True):
        ax.text(1.02, row, f"{n:,.0f}", **look)
    ax.text(1.02, -0.75, str(seen.name), **(look | {"va": "bottom"}))


def _words_of_tied(tied: xr.DataArray, dim: str) -> str:
    """Say what the coloured items are: of one panel also how many."""
    where = " of the panel" if tied.ndim > 1 else ""
    if (tied.sum(dim) == 1).all():
        return f"the leader{where}"
    n = f" ({int(tied.sum())} {dim}s)" if tied.ndim == 1 else ""
    return f"not distinguishable from the leader{where}{n}"
