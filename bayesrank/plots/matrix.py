"""Heat maps of the probability of each place, and that one item beats another."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import numpy as np
import xarray as xr
from arviz import PlotCollection
from arviz_base.validate import validate_dict_argument
from arviz_plots.plots.utils import get_visual_kwargs
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, to_hex
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator

from bayesrank.plots.panels import Panels, items_shown, models_of, short_name, side_by_side
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
    backend: str | None = None,
    visuals: Mapping[str, Mapping[str, Any] | bool] | None = None,
    **pc_kwargs: Any,
) -> PlotCollection:
    """Plot the probability of every rank for every item, best mean rank on top.

    Darker cells are more probable; a cell is blank if the item has that rank in no draw. With at
    most 15 items, the cells contain numbers. With more than 50, some names are omitted, with a note
    in the plot. Other dims get panels as in `plot_ranks`.

    Parameters
    ----------
    data, var_name, dim, coords, max_items, plot_collection, backend, **pc_kwargs
        As in `plot_ranks`. The columns end with the last rank of any item shown. Results of
        several models get one panel per model. Only matplotlib has a colour bar.
    visuals : mapping, optional
        Options of the visuals places (the cells), numbers, ticklabels, title and colour_bar; False
        omits a visual.

    Returns
    -------
    PlotCollection
        The visuals places and colour_bar are in ``viz``.

    Raises
    ------
    ValueError
        For the reasons of `place_probability`, or if items or panels do not match the data.

    See Also
    --------
    place_probability, plot_ranks, plot_wins

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> import matplotlib.pyplot as plt
    >>> u = xr.DataArray(np.random.default_rng(0).normal([2, 1, 0], 1, (2, 50, 3)),
    ...                  dims=("chain", "draw", "item"), coords={"item": ["a", "b", "c"]})
    >>> pc = br.plot_places(u)
    >>> [name.get_text() for name in pc.get_target("utility", {}).get_yticklabels()]
    ['a', 'b', 'c']
    >>> plt.close()
    """
    models = models_of(data)
    given = [items_shown(one, var_name, dim, coords, max_items) for one in models.values()]
    _, facets, shown = given[0]
    tables = [place_probability(u, var_name, dim=dim).sel({dim: shown}) for u, *_ in given]
    found = side_by_side(tables, [*models]).rename(var_name).fillna(0.0)
    facets = [d for d in found.dims if d not in (dim, "place")]
    found = found.transpose(*facets, dim, "place")
    possible = (found > 0).any([*facets, dim]).values
    found = found.isel(place=slice(int(np.flatnonzero(possible)[-1]) + 1))
    n_places = found.sizes["place"]

    names = [short_name(name) for name in shown]
    size: dict[str, Any] = {
        "width": max(_inches(min(n_places, 25)), 2.6),
        "height": _inches(len(shown)) + 0.7,
    }
    size |= {"names": names, "head": 1.0, "col_wrap": 2, "backend": backend}
    panels = Panels(found, facets, plot_collection, pc_kwargs, **size)
    colours = ScalarMappable(Normalize(0, _top(found)), PLACES)
    label = "Probability of the rank (blank: in no draw)"
    ticks = rank_ticks(n_places, 5 if facets else 9)
    columns: tuple[Any, Any, Any] = ticks, [*map(str, ticks)], {}
    n_items = given[0][0].sizes[dim]
    cells = found.where(found > 0)
    _draw(panels, "places", cells, names, columns, colours, label, n_items, visuals)
    for target, _ in panels:
        panels.backend.xlabel("Rank (1 = best)", target)
    return panels.pc


def plot_wins(
    data: Any,
    var_name: str = "utility",
    *,
    dim: str = "item",
    coords: Mapping[str, Any] | None = None,
    max_items: int | None = None,
    plot_collection: PlotCollection | None = None,
    backend: str | None = None,
    visuals: Mapping[str, Mapping[str, Any] | bool] | None = None,
    **pc_kwargs: Any,
) -> PlotCollection:
    """Plot the probability that the row's item beats the column's item, for every pair.

    Purple is above one half, orange below, and white one half. Cells, names and panels are as in
    `plot_places`.

    Parameters
    ----------
    data, var_name, dim, coords, max_items, plot_collection, backend, visuals, **pc_kwargs
        As in `plot_places`, with the visual wins.

    Returns
    -------
    PlotCollection
        The visuals wins and colour_bar are in ``viz``.

    Raises
    ------
    ValueError
        As `win_probability`; if items or panels do not match the data.

    See Also
    --------
    win_probability, plot_places

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> import matplotlib.pyplot as plt
    >>> u = xr.DataArray(np.random.default_rng(0).normal([2, 1, 0], 1, (2, 50, 3)),
    ...                  dims=("chain", "draw", "item"), coords={"item": ["a", "b", "c"]})
    >>> pc = br.plot_wins(u)
    >>> [name.get_text() for name in pc.get_target("utility", {}).get_xticklabels()]
    ['a', 'b', 'c']
    >>> plt.close()
    """
    models = models_of(data)
    given = [items_shown(one, var_name, dim, coords, max_items) for one in models.values()]
    _, facets, shown = given[0]
    tables = [win_probability(u.sel({dim: shown}), var_name, dim=dim) for u, *_ in given]
    other = tables[0].dims[-1]
    found = side_by_side(tables, [*models]).rename(var_name)
    facets = [d for d in found.dims if d not in (dim, other)]
    found = found.where(found[dim] != found[other]).transpose(*facets, dim, other)

    names = [short_name(name) for name in shown]
    above = [short_name(name, LONGEST_ABOVE) for name in shown]
    inches = _inches(len(shown))
    size: dict[str, Any] = {
        "width": max(inches, 2.6),
        "height": inches + 0.08 * max(map(len, above)) + 0.4,
    }
    size |= {"names": names, "head": 1.0, "col_wrap": 2, "backend": backend}
    panels = Panels(found, facets, plot_collection, pc_kwargs, **size)
    step = _step(len(shown))
    columns = [*range(1, len(shown) + 1, step)], above[::step], {"rotation": 90}
    colours = ScalarMappable(Normalize(0, 1), WINS)
    label = "Probability that the row is better than the column"
    _draw(panels, "wins", found, names, columns, colours, label, given[0][0].sizes[dim], visuals)
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
    columns: tuple[Sequence[int], Sequence[str], Mapping[str, Any]],
    colours: ScalarMappable,
    label: str,
    n_items: int,
    visuals: Mapping[str, Any] | None,
) -> None:
    """Draw a matrix in every panel, with rows from the top and columns from 1.

    `columns` holds the places of the names above, these names, and their look.
    """
    known = (visual, "numbers", "ticklabels", "title", "colour_bar")
    given = validate_dict_argument(visuals, valid_keys=known)
    look = {name: get_visual_kwargs(given, name) for name in known}
    step, images = _step(len(names)), []
    rows, (places, above, turned) = range(0, len(names), step), columns
    ticks: dict[str, Any] = {"size": 9}
    if panels.is_matplotlib:  # a "$" in a name does not start mathematics
        ticks["parse_math"] = False
    for where, (target, first) in zip(panels.selections, panels, strict=True):
        cells = values.sel(where)
        if look[visual] is not False:
            draw = _image if panels.is_matplotlib else _cells
            images.append(draw(panels, target, cells, colours, look[visual]))
        panels.backend.xlim((0.5, cells.shape[1] + 0.5), target)
        panels.backend.ylim((len(names) - 0.5, -0.5), target)
        if look["ticklabels"] is False:
            panels.backend.xticks([], [], target)
            panels.backend.yticks([], [], target)
        else:
            style = ticks | look["ticklabels"]
            shown = names[::step] if first or panels.is_matplotlib else [""] * len(rows)
            panels.backend.yticks([*rows], shown, target, **style)
            panels.backend.xticks(places, above, target, **style | turned)
        if panels.is_matplotlib:
            target.tick_params(axis="y", length=0, labelleft=first)
            target.xaxis.set_label_position("top")
            target.tick_params(axis="x", top=True, labeltop=True, bottom=False, labelbottom=False)
            if turned:
                target.tick_params(axis="x", length=0)
    if images:
        panels.keep(visual, images, panels.facets)
    if look["title"] is not False:
        panels.title(**look["title"])

    notes = [f"{len(names)} of {n_items} items"] if len(names) < n_items else []
    notes += [f"one in {step} has a name"] if step > 1 else []
    text = "\n".join([label, "; ".join(notes)]).strip()
    if panels.is_matplotlib and look["colour_bar"] is not False:
        beyond = "max" if float(values.max()) > colours.get_clim()[1] else "neither"
        air = 0.2 / panels.figure.get_size_inches()[1]
        style = {"location": "top", "shrink": 0.6, "aspect": 30, "pad": air}
        style |= {"ticks": MaxNLocator(5), **look["colour_bar"]}
        axes = [ax for ax, _ in panels]
        bar = panels.figure.colorbar(colours, ax=axes, extend=beyond, **style)
        bar.set_label(text, fontsize=10)
        bar.outline.set_visible(False)
        panels.keep("colour_bar", bar)
    elif not panels.is_matplotlib:
        for target, _ in panels:
            panels.backend.ylabel(text, target)
    if max(values.shape[-2:]) <= NUMBERED and look["numbers"] is not False:
        engine = panels.figure.get_layout_engine() if panels.is_matplotlib else None
        if engine is not None:
            engine.execute(panels.figure.get_figure(root=True))  # to compute the sizes of the cells
        for where, (target, _) in zip(panels.selections, panels, strict=True):
            _write_numbers(panels, target, values.sel(where), colours, look["numbers"])


def _cells(
    panels: Panels, target: Any, values: xr.DataArray, colours: ScalarMappable, look: Any
) -> Any:
    """Draw one rectangle per cell, for backends without images."""
    found = values.to_numpy()
    return [
        panels.backend.fill_between_y(
            [j + 0.5, j + 1.5], [i - 0.5] * 2, [i + 0.5] * 2, target,
            color=to_hex(tuple(colours.to_rgba(found[i, j]))), **look,
        )
        for i, j in np.argwhere(np.isfinite(found)).tolist()
    ]  # fmt: skip


def _image(
    panels: Panels, ax: Axes, values: xr.DataArray, colours: ScalarMappable, look: Any
) -> AxesImage:
    """Draw the cells of one panel, and lines between them."""
    n_rows, n_columns = values.shape
    image = ax.imshow(
        np.ma.masked_invalid(values.values),
        **{"cmap": colours.cmap, "norm": Normalize(*colours.get_clim()), **look},
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


def _write_numbers(
    panels: Panels, target: Any, values: xr.DataArray, colours: ScalarMappable, given: Any
) -> None:
    """Write the probability into every cell, dark on light or light on dark."""
    size = 9.0
    if panels.is_matplotlib:
        cell = target.get_window_extent().width / target.figure.dpi / values.shape[1]
        size = min(size, 72 * cell / 3)  # room for four characters
    if size < SMALLEST:
        return
    found = values.to_numpy()
    bright = colours.to_rgba(found)[..., :3] @ [0.299, 0.587, 0.114]
    for i, j in np.argwhere(np.isfinite(found)).tolist():
        look = {"color": "black" if bright[i, j] > 0.5 else "white", "size": size, **given}
        align = {"horizontal_align": "center", "vertical_align": "center"}
        if not panels.is_matplotlib:
            align["vertical_align"] = "middle"
        panels.backend.text(1 + j, i, _cell_text(float(found[i, j])), target, **align, **look)


def _cell_text(p: float) -> str:
    """Write a probability in at most four characters; 0 and 1 are exact."""
    if p in (0, 1):
        return str(int(p))
    return "<.01" if p < 0.005 else ">.99" if p >= 0.995 else f"{p:.2f}"
