"""The picture of place probabilities: where every item may be, and how probably."""

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np
import xarray as xr
from arviz import PlotCollection
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

from bayesrank.plots.matrix import NUMBERED, add_colour_bar, draw_matrix, figure_size, set_up_matrix
from bayesrank.plots.panels import (
    best_first,
    chosen,
    each_panel,
    facets_of,
    make_panels,
    short_name,
    title_panels,
)
from bayesrank.plots.rows import rank_ticks
from bayesrank.results import place_probability
from bayesrank.results.draws import posterior_utilities

__all__ = ["plot_places"]

COLOURS = "Blues"  # one hue, from light to dark: in order for every eye and in print


def plot_places(
    data: Any,
    var: str = "utility",
    *,
    dim: str = "item",
    items: Sequence[Any] | None = None,
    max_items: int | None = None,
    plot_collection: PlotCollection | None = None,
    **pc_kwargs: Any,
) -> PlotCollection:
    """Draw the probability of every place for every item, best mean rank on top.

    The darker a cell the more probable the place; a place that the item has in no draw is blank.
    Up to 15 items the cells have numbers. Beyond 50 items not every one has its name beside it,
    which the picture says. Further dims, such as a category, have one panel per label; the items
    are in the same order in all of them, that of the mean rank averaged over the panels.

    Parameters
    ----------
    data, var, dim
        Posterior, variable and dim of the items, as in `rank_draws`.
    items : sequence of labels, optional
        Show these only, from top to bottom; their places are still those among all items.
    max_items : int, optional
        Show only the first so many; the picture says how many there are. Places that none of
        those shown can have are left out at the right.
    plot_collection : PlotCollection, optional
        What to draw on, with panels by the further dims; default a new figure of the size that
        the names need.
    **pc_kwargs
        Passed to `PlotCollection.wrap`, such as ``figure_kwargs={"figsize": (8, 6)}`` in inches
        and ``col_wrap``, default 2.

    Returns
    -------
    PlotCollection
        With the visuals places and colour_bar in ``viz``.

    Raises
    ------
    ValueError
        As `place_probability`; if `items` holds an unknown or repeated label or none, `max_items`
        is less than 1, or `plot_collection` has other panels.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> u = xr.DataArray(np.random.default_rng(0).normal([2, 1, 0], 1, (2, 50, 3)),
    ...                  dims=("chain", "draw", "item"), coords={"item": ["a", "b", "c"]})
    >>> pc = plot_places(u)
    >>> [name.get_text() for name in pc.get_target("utility", {}).get_yticklabels()]
    ['a', 'b', 'c']
    >>> plt.close()
    """
    utility = posterior_utilities(data, var, dim).rename(var)
    facets = facets_of(utility, dim)
    shown = chosen(best_first(utility, dim), items, max_items)
    found = place_probability(utility, var, dim=dim).rename(var).sel({dim: shown})
    found = found.transpose(*facets, dim, "place")
    possible = (found > 0).any([*facets, dim]).values
    found = found.isel(place=slice(int(np.flatnonzero(possible)[-1]) + 1))
    n_places = found.sizes["place"]

    size = figure_size([short_name(name) for name in shown], len(shown), min(n_places, 25), 0.7)
    pc = make_panels(utility, facets, plot_collection, size, pc_kwargs, 2)
    colours = ScalarMappable(Normalize(0, _top(found)), colormaps[COLOURS])
    for ax, first in each_panel(pc, utility, facets):
        set_up_matrix(ax, shown, n_places, 1, named=first)
        ax.xaxis.set_major_locator(rank_ticks(n_places, 5 if facets else 9))
        ax.set_xlabel("Place (1 = best)")
    title_panels(pc, utility, facets)
    label = "Probability of the place (blank: in no draw)"
    add_colour_bar(pc, found, facets, colours, label, utility.sizes[dim])
    draw_matrix(pc, "places", found.where(found > 0), colours, 1)
    return pc


def _top(found: xr.DataArray) -> float:
    """End of the scale of colours: a round number that few rows exceed.

    The places of the best and the worst are much surer than those in the middle, which would be
    pale on a scale that reaches up to the highest.
    """
    largest = found.max("place")
    many = largest.shape[-1] > NUMBERED
    needed = float(largest.quantile(0.9) if many else largest.max())
    step = 0.1 if needed > 0.1 else 0.01
    return step * ceil(needed / step - 1e-9)
