"""Heat maps of the probability of each place, and that one item beats another."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import numpy as np
import xarray as xr
from arviz import PlotCollection
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.image import AxesImage

from bayesrank.plots.panels import Panels, items_shown, short_name
from bayesrank.plots.rows import rank_ticks
from bayesrank.results import place_probability, win_probability

__all__ = ["plot_places", "plot_wins"]

NUMBERED = 15  # most rows and columns for numbers in the cells
NAME = 0.16  # inches of a row with a name
LONGEST = 8.0  # most inches of all rows; if names do not fit, some rows have none
GRID = 60  # most rows and columns for lines between the cells
SMALLEST = 6.5  # least points of the numbers; if they do not fit, there are none
PLACES = colormaps["Blues"]  # one hue, safe for colour-blind readers and in print
# Orange below one half, purple above, safe for colour-blind readers; grey on the diagonal
WINS = colormaps["PuOr"].with_extremes(bad="#e4e4e4")
LONGEST_ABOVE = 24  # most characters of a vertical name


def plot_places(
    data: Any,
    var_name: str = "utility",
    *,
    dim: str = "item",
    coords: Mapping[str, Any] | None = None,
    max_items: int | None = None,
    plot_collection: PlotCollection | None = None,
    **pc_kwargs: Any,
) -> PlotCollection:
    """Plot the probability of every place for every item, best mean rank on top.

    Darker cells are more probable; a cell is blank if the item has that place in no draw. With at
    most 15 items, the cells contain numbers. With more than 50, some names are omitted, with a note
    in the plot. Other dims get panels as in `plot_ranks`.

    Parameters
    ----------
    data, var_name, dim, coords, max_items, plot_collection, **pc_kwargs
        As in `plot_ranks`. The columns end with the last place of any item shown.

    Returns
    -------
    PlotCollection
        The visuals places and colour_bar are in ``viz``.

    Raises
    ------
    ValueError
        As `place_probability`; if items or panels do not match the data.

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
    utility, facets, shown = items_shown(data, var_name, dim, coords, max_items)
    found = place_probability(utility, var_name, dim=dim).rename(var_name).sel({dim: shown})
    found = found.transpose(*facets, dim, "place")
    possible = (found > 0).any([*facets, dim]).values
    found = found.isel(place=slice(int(np.flatnonzero(possible)[-1]) + 1))
    n_places = found.sizes["place"]

    names = [short_name(name) for name in shown]
    size: dict[str, Any] = {
        "width": max(_inches(min(n_places, 25)), 2.6),
        "height": _inches(len(shown)) + 0.7,
    }
    panels = Panels(
        utility, facets, plot_collection, pc_kwargs, names=names, head=1.0, col_wrap=2, **size
    )
    colours = ScalarMappable(Normalize(0, _top(found)), PLACES)
    label = "Probability of the place (blank: in no draw)"
    _draw(panels, "places", found.where(found > 0), names, colours, label, utility.sizes[dim])
    for ax, _ in panels:
        ax.set_xticks(rank_ticks(n_places, 5 if facets else 9))
        ax.set_xlabel("Place (1 = best)")
    return panels.pc


def plot_wins(
    data: Any,
    var_name: str = "utility",
    *,
    dim: str = "item",
    coords: Mapping[str, Any] | None = None,
    max_items: int | None = None,
    plot_collection: PlotCollection | None = None,
    **pc_kwargs: Any,
) -> PlotCollection:
    """Plot the probability that the row's item beats the column's item, for every pair.

    Purple is above one half, orange below, and white one half. Cells, names and panels are as in
    `plot_places`.

    Parameters
    ----------
    data, var_name, dim, coords, max_items, plot_collection, **pc_kwargs
        As in `plot_ranks`.

    Returns
    -------
    PlotCollection
        The visuals wins and colour_bar are in ``viz``.

    Raises
    ------
    ValueError
        As `win_probability`; if items or panels do not match the data.

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
    utility, facets, shown = items_shown(data, var_name, dim, coords, max_items)
    found = win_probability(utility.sel({dim: shown}), var_name, dim=dim).rename(var_name)
    found = found.where(found[dim] != found[found.dims[-1]])

    names = [short_name(name) for name in shown]
    above = [short_name(name, LONGEST_ABOVE) for name in shown]
    inches = _inches(len(shown))
    size: dict[str, Any] = {
        "width": max(inches, 2.6),
        "height": inches + 0.08 * max(map(len, above)) + 0.4,
    }
    panels = Panels(
        utility, facets, plot_collection, pc_kwargs, names=names, head=1.0, col_wrap=2, **size
    )
    step = _step(len(shown))
    for ax, _ in panels:
        places = range(1, len(shown) + 1, step)
        ax.set_xticks(places, above[::step], fontsize=9, rotation=90, parse_math=False)
        ax.tick_params(axis="x", length=0)
    colours = ScalarMappable(Normalize(0, 1), WINS)
    label = "Probability that the row is better than the column"
    _draw(panels, "wins", found, names, colours, label, utility.sizes[dim])
    return panels.pc


def _top(found: xr.DataArray) -> float:
    """Return the end of the colour scale, a round number that few rows exceed.

    The places of the best and worst items are much more certain than those in the middle. On a
    scale up to the highest probability, the middle would be pale.
    """
    largest = found.max("place")
    needed = float(largest.quantile(0.9 if largest.shape[-1] > NUMBERED else 1.0))
    step = 0.1 if needed > 0.1 else 0.01
    return step * ceil(needed / step - 1e-9)


def _inches(n: int) -> float:
    """Return the height of n rows in inches."""
    return min((0.36 if n <= NUMBERED else 0.2) * n, LONGEST)


def _step(n: int) -> int:
    """Return k if every k-th of n rows has a name."""
    return max(1, ceil(n * NAME / LONGEST - 1e-9))


def _draw(
    panels: Panels,
    visual: str,
    values: xr.DataArray,
    names: Sequence[str],
    colours: ScalarMappable,
    label: str,
    n_items: int,
) -> None:
    """Draw a matrix in every panel, with rows from the top and columns from 1."""
    step, images = _step(len(names)), []
    for where, (ax, first) in zip(panels.selections, panels, strict=True):
        images.append(_image(ax, values.sel(where), colours))
        # A "$" in a name does not start mathematics.
        ax.set_yticks(range(0, len(names), step), names[::step], fontsize=9, parse_math=False)
        ax.tick_params(axis="y", length=0, labelleft=first)
        ax.xaxis.set_label_position("top")
        ax.tick_params(axis="x", top=True, labeltop=True, bottom=False, labelbottom=False)
    panels.keep(visual, images, panels.facets)
    panels.title()

    notes = [f"{len(names)} of {n_items} items"] if len(names) < n_items else []
    notes += [f"one in {step} has a name"] if step > 1 else []
    beyond = "max" if float(values.max()) > colours.get_clim()[1] else "neither"
    air = 0.2 / panels.figure.get_size_inches()[1]
    look: dict[str, Any] = {"location": "top", "shrink": 0.6, "aspect": 30, "pad": air}
    bar = panels.figure.colorbar(colours, ax=[ax for ax, _ in panels], extend=beyond, **look)
    bar.set_label("\n".join([label, "; ".join(notes)]).strip(), fontsize=10)
    bar.outline.set_visible(False)
    panels.keep("colour_bar", bar)
    if max(values.shape[-2:]) <= NUMBERED:
        panels.figure.draw_without_rendering()  # to compute the sizes of the cells
        for where, (ax, _) in zip(panels.selections, panels, strict=True):
            _write_numbers(ax, values.sel(where), colours)


def _image(ax: Axes, values: xr.DataArray, colours: ScalarMappable) -> AxesImage:
    """Draw the cells of one panel, and lines between them."""
    n_rows, n_columns = values.shape
    image = ax.imshow(
        np.ma.masked_invalid(values.values),
        cmap=colours.cmap,
        norm=Normalize(*colours.get_clim()),
        aspect="auto",
        extent=(0.5, n_columns + 0.5, n_rows - 0.5, -0.5),
    )
    if max(n_rows, n_columns) <= GRID:
        ax.set_yticks(np.arange(1, n_rows) - 0.5, minor=True)
        ax.set_xticks(np.arange(1, n_columns) + 0.5, minor=True)
        ax.grid(which="minor", color="#dddddd", linewidth=0.5)
        ax.tick_params(which="minor", length=0, top=False, left=False, bottom=False)
    for spine in ax.spines.values():
        spine.set(color="#dddddd", linewidth=0.5)
    return image


def _write_numbers(ax: Axes, values: xr.DataArray, colours: ScalarMappable) -> None:
    """Write the probability into every cell, dark on light or light on dark."""
    cell = ax.get_window_extent().width / ax.figure.dpi / values.shape[1]
    size = min(9.0, 72 * cell / 3)  # room for four characters
    if size < SMALLEST:
        return
    for i, j in np.argwhere(np.isfinite(values.values)).tolist():
        p = float(values[i, j])
        bright = colours.to_rgba(np.array([p]))[0, :3] @ [0.299, 0.587, 0.114]
        look: dict[str, Any] = {"color": "black" if bright > 0.5 else "white", "fontsize": size}
        ax.text(1 + j, i, _cell_text(p), ha="center", va="center", **look)


def _cell_text(p: float) -> str:
    """Write a probability in at most four characters; 0 and 1 are exact."""
    if p in (0, 1):
        return str(int(p))
    return "<.01" if p < 0.005 else ">.99" if p >= 0.995 else f"{p:.2f}"
