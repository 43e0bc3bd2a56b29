"""The picture of win probabilities: which item is better than which."""

from collections.abc import Sequence
from typing import Any, Literal

from arviz import PlotCollection
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

from bayesrank.plots.matrix import (
    add_colour_bar,
    draw_matrix,
    figure_size,
    named_rows,
    set_up_matrix,
)
from bayesrank.plots.panels import (
    best_first,
    chosen,
    each_panel,
    facets_of,
    make_panels,
    short_name,
    title_panels,
)
from bayesrank.results import win_probability
from bayesrank.results.draws import posterior_utilities

__all__ = ["plot_wins"]

# Orange below one half, purple above: apart for every eye. An item is not set against itself.
COLOURS = colormaps["PuOr"].with_extremes(bad="#e4e4e4")
LONGEST_ABOVE = 24  # characters of a name that stands upright
LABELS = {
    "utility": "Probability that the row is better than the column",
    "match": "Probability that the row wins the next match that is decided",
}


def plot_wins(
    data: Any,
    var: str = "utility",
    *,
    dim: str = "item",
    of: Literal["utility", "match"] = "utility",
    items: Sequence[Any] | None = None,
    max_items: int | None = None,
    plot_collection: PlotCollection | None = None,
    **pc_kwargs: Any,
) -> PlotCollection:
    """Draw the probability that one item beats another, for every pair: row beats column.

    Purple is above one half, orange below, white undecided. Up to 15 items the cells have
    numbers. Beyond 50 items not every one has its name beside it, which the picture says. Further
    dims, such as a category, have one panel per label; the items are in the same order in all of
    them, that of the mean rank averaged over the panels.

    Parameters
    ----------
    data, var, dim
        Posterior, variable and dim of the items, as in `rank_draws`.
    of : {"utility", "match"}
        Which probability, as in `win_probability`: of being better, or of winning the next match.
    items : sequence of labels, optional
        Show these only, from top to bottom and from left to right.
    max_items : int, optional
        Show only the first so many by mean rank among all; the picture says how many there are.
    plot_collection : PlotCollection, optional
        What to draw on, with panels by the further dims; default a new figure of the size that
        the names need.
    **pc_kwargs
        Passed to `PlotCollection.wrap`, such as ``figure_kwargs={"figsize": (8, 6)}`` in inches
        and ``col_wrap``, default 2.

    Returns
    -------
    PlotCollection
        With the visuals wins and colour_bar in ``viz``.

    Raises
    ------
    ValueError
        As `win_probability`; if `items` holds an unknown or repeated label or none, `max_items`
        is less than 1, or `plot_collection` has other panels.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> import xarray as xr
    >>> u = xr.DataArray(np.random.default_rng(0).normal([2, 1, 0], 1, (2, 50, 3)),
    ...                  dims=("chain", "draw", "item"), coords={"item": ["a", "b", "c"]})
    >>> pc = plot_wins(u)
    >>> [name.get_text() for name in pc.get_target("utility", {}).get_xticklabels()]
    ['a', 'b', 'c']
    >>> plt.close()
    """
    utility = posterior_utilities(data, var, dim).rename(var)
    facets = facets_of(utility, dim)
    shown = chosen(best_first(utility, dim), items, max_items)
    found = win_probability(utility.sel({dim: shown}), var, dim=dim, of=of).rename(var)
    other = found.dims[-1]
    found = found.where(found[dim] != found[other])

    names = [short_name(name) for name in shown]
    above = 0.08 * min(max(map(len, names)), LONGEST_ABOVE) + 0.4
    size = figure_size(names, len(shown), len(shown), above)
    pc = make_panels(utility, facets, plot_collection, size, pc_kwargs, 2)
    colours = ScalarMappable(Normalize(0, 1), COLOURS)
    places = range(0, len(shown), named_rows(len(shown)))
    columns = [short_name(shown[i], LONGEST_ABOVE) for i in places]
    for ax, first in each_panel(pc, utility, facets):
        set_up_matrix(ax, shown, len(shown), 0, named=first)
        ax.set_xticks(places, columns, fontsize=9, rotation=90, parse_math=False)
        ax.tick_params(axis="x", length=0)
    title_panels(pc, utility, facets)
    add_colour_bar(pc, found, facets, colours, LABELS[of], utility.sizes[dim])
    draw_matrix(pc, "wins", found, colours, 0)
    return pc
