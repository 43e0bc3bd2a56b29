"""Matrices, a colour in every cell: the probability of each place, and who is better than whom."""

from collections.abc import Callable, Hashable, Sequence
from math import ceil
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from arviz import PlotCollection
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.image import AxesImage
from matplotlib.text import Text
from numpy.typing import NDArray

from bayesrank.plots.panels import (
    best_first,
    chosen,
    each_panel,
    facets_of,
    figure_of,
    keep,
    make_panels,
    short_name,
    title_panels,
)
from bayesrank.plots.rows import rank_ticks
from bayesrank.results import place_probability, win_probability
from bayesrank.results.draws import posterior_utilities

__all__ = ["plot_places", "plot_wins"]

NUMBERED = 15  # rows and columns up to which the cells have numbers
NAME = 0.16  # inches that a row with a name needs
LONGEST = 8.0  # inches of all rows: where that is too little for all names, some have none
GRID = 60  # rows and columns up to which lines part the cells
SMALLEST = 6.5  # points of the numbers: where they would be smaller there are none
PLACES = "Blues"  # one hue, from light to dark: in order for every eye and in print
# Orange below one half, purple above: apart for every eye. An item is not set against itself.
WINS = colormaps["PuOr"].with_extremes(bad="#e4e4e4")
LONGEST_ABOVE = 24  # characters of a name that stands upright
LABELS = {
    "utility": "Probability that the row is better than the column",
    "match": "Probability that the row wins the next match that is decided",
}


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
        What to draw on, with panels by the further dims; default a new figure.
    **pc_kwargs
        Passed to `PlotCollection.wrap`, such as ``figure_kwargs={"figsize": (8, 6)}`` in inches.

    Returns
    -------
    PlotCollection
        With the visuals places and colour_bar in ``viz``.

    Raises
    ------
    ValueError
        As `place_probability`; if items or panels do not fit.

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
    colours = ScalarMappable(Normalize(0, _top(found)), colormaps[PLACES])
    for ax, first in each_panel(pc, utility, facets):
        set_up_matrix(ax, shown, n_places, 1, named=first)
        ax.xaxis.set_major_locator(rank_ticks(n_places, 5 if facets else 9))
        ax.set_xlabel("Place (1 = best)")
    title_panels(pc, utility, facets)
    label = "Probability of the place (blank: in no draw)"
    add_colour_bar(pc, found, facets, colours, label, utility.sizes[dim])
    draw_matrix(pc, "places", found.where(found > 0), colours, 1)
    return pc


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
        What to draw on, with panels by the further dims; default a new figure.
    **pc_kwargs
        Passed to `PlotCollection.wrap`, such as ``figure_kwargs={"figsize": (8, 6)}`` in inches.

    Returns
    -------
    PlotCollection
        With the visuals wins and colour_bar in ``viz``.

    Raises
    ------
    ValueError
        As `win_probability`; if items or panels do not fit.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
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
    colours = ScalarMappable(Normalize(0, 1), WINS)
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


def matrix_size(n: int) -> float:
    """Inches of so many rows."""
    return min((0.36 if n <= NUMBERED else 0.2) * n, LONGEST)


def figure_size(
    names: Sequence[str], n_rows: int, n_columns: int, head: float
) -> Callable[[int, int], tuple[float, float]]:
    """Inches of a figure of matrices of so many cells, with `head` above each."""
    needed = 0.08 * max(map(len, names)) + 0.3

    def size(down: int, across: int) -> tuple[float, float]:
        widest = max(matrix_size(n_columns), 5.0 if across == 1 else 2.6)
        return max(7.5, needed + across * widest), 1.0 + down * (matrix_size(n_rows) + head)

    return size


def named_rows(n: int) -> int:
    """Of so many rows, which have a name: every first, second, third, ..."""
    return max(1, ceil(n * NAME / LONGEST - 1e-9))


def draw_matrix(
    pc: PlotCollection, name: str, values: xr.DataArray, mappable: ScalarMappable, first: int
) -> None:
    """Draw a matrix in every panel, its rows from the top, its columns from `first` on."""
    pc.map(_image, name, data=values, ignore_aes="all", mappable=mappable, first=first)
    n_rows, n_columns = values.shape[-2:]
    if max(n_rows, n_columns) > NUMBERED:
        return
    figure_of(pc).draw_without_rendering()  # the cells have their sizes from now on
    pc.map(
        _numbers,
        "numbers",
        data=values,
        ignore_aes="all",
        store_artist=False,
        mappable=mappable,
        first=first,
    )


def _image(
    values: xr.DataArray, target: Axes, *, mappable: ScalarMappable, first: int
) -> AxesImage:
    n_rows, n_columns = values.shape
    image = target.imshow(
        np.ma.masked_invalid(values.values),
        cmap=mappable.cmap,
        aspect="auto",
        extent=(first - 0.5, first + n_columns - 0.5, n_rows - 0.5, -0.5),
    )
    image.set_norm(mappable.norm)
    return image


def _numbers(
    values: xr.DataArray, target: Axes, *, mappable: ScalarMappable, first: int
) -> list[Text]:
    """Write the number into every cell, dark on light and light on dark."""
    cell = target.get_window_extent().width / target.figure.dpi / values.shape[1]
    size = min(9.0, 72 * cell / 3)  # four characters, and air
    texts = []
    for (i, j), p in np.ndenumerate(values.values) if size >= SMALLEST else ():
        if np.isfinite(p):
            # Below this luminance white has more contrast than black.
            dark = _luminance(mappable.to_rgba(np.array([p]))[0, :3]) < 0.18
            text = target.text(first + j, i, cell_text(p), ha="center", va="center")
            text.set(color="white" if dark else "black", fontsize=size)
            texts.append(text)
    return texts


def _luminance(rgb: NDArray[np.float64]) -> float:
    """Brightness of a colour as the eye has it, 0 to 1 (WCAG 2.2, relative luminance)."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def cell_text(p: float) -> str:
    """Probability in four characters at most; 0 and 1 are those of all draws."""
    if p in (0, 1):
        return str(int(p))
    return "<.01" if p < 0.005 else ">.99" if p >= 0.995 else f"{p:.2f}"


def set_up_matrix(ax: Axes, rows: pd.Index, n_columns: int, first: int, *, named: bool) -> None:
    """Put names beside the rows and what the columns are above them."""
    places = range(0, len(rows), named_rows(len(rows)))
    names = [short_name(rows[i]) for i in places]
    # A "$" in a name is no mathematics.
    ax.set_yticks(list(places), names, fontsize=9, parse_math=False)
    ax.xaxis.set_label_position("top")
    ax.tick_params(axis="y", length=0, labelleft=named)
    ax.tick_params(axis="x", top=True, labeltop=True, bottom=False, labelbottom=False)
    if max(len(rows), n_columns) <= GRID:
        ax.set_yticks(np.arange(1, len(rows)) - 0.5, minor=True)
        ax.set_xticks(np.arange(1, n_columns) + first - 0.5, minor=True)
        ax.grid(which="minor", color="#dddddd", linewidth=0.5)
        ax.tick_params(which="minor", length=0, top=False, left=False, bottom=False)
    for spine in ax.spines.values():
        spine.set(color="#dddddd", linewidth=0.5)


def add_colour_bar(
    pc: PlotCollection,
    values: xr.DataArray,
    facets: Sequence[Hashable],
    mappable: ScalarMappable,
    label: str,
    n_items: int,
) -> None:
    """Put the scale of the colours over the picture, and say what is not shown."""
    n_shown = values.shape[-2]
    notes = [f"{n_shown} of {n_items} items"] if n_shown < n_items else []
    step = named_rows(n_shown)
    if step > 1:
        notes.append(f"one in {step} is named")
    axes = [ax for ax, _ in each_panel(pc, values, facets)]
    figure = figure_of(pc)
    air = 0.2 / figure.get_size_inches()[1]
    beyond = "max" if float(values.max()) > mappable.get_clim()[1] else "neither"
    look = {"location": "top", "shrink": 0.6, "aspect": 30, "pad": air, "extend": beyond}
    bar = figure.colorbar(mappable, ax=axes, **look)
    bar.set_label("\n".join([label, "; ".join(notes)]).strip(), fontsize=10)
    bar.outline.set_visible(False)
    keep(pc, "colour_bar", bar)
