"""Plot of rank intervals: which items lead, and with what certainty."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from arviz import PlotCollection
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from bayesrank.plots.panels import Panels, items_shown, short_name
from bayesrank.plots.rows import (
    LEADING,
    MANY,
    OTHER,
    UNKNOWN,
    draw_intervals,
    explain,
    handle,
    interval_handles,
    rank_ticks,
    row_height,
    set_up_rows,
)
from bayesrank.results import rank_summary
from bayesrank.results.ranks.rank_table import LITTLE

__all__ = ["plot_ranks"]


def plot_ranks(
    data: Any,
    var_name: str = "utility",
    *,
    dim: str = "item",
    ci_prob: float = 0.94,
    tied_prob: float = 0.95,
    simultaneous: bool = False,
    items: Sequence[Any] | None = None,
    max_items: int | None = None,
    prior_sd: float | None = None,
    seen: pd.Series | None = None,
    plot_collection: PlotCollection | None = None,
    **pc_kwargs: Any,
) -> PlotCollection:
    """Plot the rank interval of every item, best on top.

    A thin line is the interval of probability `ci_prob`, a thick line the 50% interval, and the
    circle the mean rank. Items that may be better than the leader are coloured. Other dims, such as
    a category, get one panel per label. Items are sorted by mean rank, averaged over the panels.

    Parameters
    ----------
    data, var_name, dim
        Posterior, variable and dim of the items, as in `rank_draws`.
    ci_prob : float
        Probability of the thin interval, in (0, 1).
    tied_prob : float
        As in `rank_summary`.
    simultaneous : bool
        Whether intervals hold jointly for all items, as in `rank_summary`.
    items : sequence of labels, optional
        Show only these, from top to bottom. Ranks are still among all items.
    max_items : int, optional
        Show at most this number of items, best first.
    prior_sd : float, optional
        As in `rank_summary`. It separates items with too little data from close items.
    seen : Series, optional
        Number of rankings or matches of each item, written at the right if there is one panel. Its
        name is the heading.
    plot_collection : PlotCollection, optional
        Draw on these panels, by the other dims; by default on a new figure.
    **pc_kwargs
        Passed to `PlotCollection.wrap`, such as ``figure_kwargs={"figsize": (8, 6)}`` in inches.

    Returns
    -------
    PlotCollection
        The visuals interval, half and mean are in ``viz``. A new figure also has the legend.

    Raises
    ------
    ValueError
        As `rank_summary`; if items or panels do not match the data.

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
    utility, facets, shown = items_shown(data, var_name, dim, items, max_items)
    options: dict[str, Any] = {"simultaneous": simultaneous, "tied_prob": tied_prob}
    options |= {"dim": dim, "top": 1, "prior_sd": prior_sd}
    everyone, halves = (
        rank_summary(utility, ci_prob=p, **options).to_xarray() for p in (ci_prob, 0.5)
    )
    everyone["colour"] = _colours(everyone, dim)
    thin, thick = everyone.sel({dim: shown}), halves.sel({dim: shown})
    # An interval of one rank has no length; extend it on either side so that it is visible.
    right = max(float(x.max()) for x in (thin["rank_high"], thick["rank_high"], thin["mean_rank"]))
    more = max(0.2, 0.004 * right)

    names, y = [short_name(name) for name in shown], np.arange(len(shown))
    height = row_height(len(shown)) * len(shown) + 0.75
    panels = Panels(utility, facets, plot_collection, pc_kwargs, names=names, height=height)
    artists = []
    for where, (ax, first) in zip(panels.selections, panels, strict=True):
        summary = thin.sel(where)
        ends, half = (
            (table["rank_low"] - more, table["rank_high"] + more)
            for table in (summary, thick.sel(where))
        )
        artists.append(draw_intervals(ax, y, ends, half, summary["mean_rank"], summary["colour"]))
        set_up_rows(ax, y, names, foot=len(shown) > MANY, named=first)
        ax.xaxis.set_major_locator(rank_ticks(right, 5 if facets else 9))
        ax.set_xlim(0.5, right + 0.5)
        if seen is not None and not facets:
            _write_counts(ax, y, seen[shown])
    panels.title()
    for name, made in zip(("interval", "half", "mean"), zip(*artists, strict=True), strict=True):
        panels.keep(name, made, facets)

    at_once = ", all items jointly" if simultaneous else ""
    handles = _handles_of_tied(everyone, dim)
    if not everyone["tied_with_leader"].all():
        handles.append(handle(f"worse, jointly with probability ≥ {tied_prob:g}", OTHER))
    handles += interval_handles(ci_prob, "mean rank", at_once)
    n_items = utility.sizes[dim]
    count = f"{len(shown)} of {n_items} {dim}s" if len(shown) < n_items else ""
    lines = f"mean, 50% and {100 * ci_prob:g}% interval{at_once}"
    explain(panels, "Rank (1 = best)", lines, handles, count)
    return panels.pc


def _colours(summary: xr.Dataset, dim: str) -> xr.DataArray:
    """Return the colour of each item; items with too little data are lighter."""
    tied = xr.where(summary["tied_with_leader"], LEADING, OTHER)
    if "known" not in summary:
        return tied
    return xr.where(_unknown(summary, dim), UNKNOWN, tied)


def _unknown(summary: xr.Dataset, dim: str) -> xr.DataArray:
    """Return which items are tied with the leader because they have too little data."""
    leads = summary["mean_rank"] == summary["mean_rank"].min(dim)
    return summary["tied_with_leader"] & (summary["known"] < LITTLE) & ~leads


def _handles_of_tied(summary: xr.Dataset, dim: str) -> list[Line2D]:
    """Return the legend of items that may be better than the leader, with counts for one panel."""
    tied = summary["tied_with_leader"]
    if tied.ndim > 1:
        single = (tied.sum(dim) == 1).all()
        words = "the leader" if single else "not distinguishable from the leader"
        return [handle(f"{words} of the panel", LEADING)]
    if "known" not in summary:
        n = int(tied.sum())
        words = f"not distinguishable from the leader ({n} {dim}s)" if n > 1 else "the leader"
        return [handle(words, LEADING)]
    unknown = int(_unknown(summary, dim).sum())
    close = int(tied.sum()) - unknown - 1
    label = f"the leader, and {close} close to it" if close else "the leader"
    handles = [handle(label, LEADING)]
    return [*handles, handle(f"too little data ({unknown})", UNKNOWN)] if unknown else handles


def _write_counts(ax: Axes, y: NDArray[np.int_], seen: pd.Series) -> None:
    """Write the number of rankings or matches at the right of each row."""
    look: dict[str, Any] = {"fontsize": 8.5, "color": "#555555"}
    for row, text in zip([-1, *y], [str(seen.name), *(f"{n:,.0f}" for n in seen)], strict=True):
        ax.text(1.02, row, text, transform=ax.get_yaxis_transform(), va="center", **look)
