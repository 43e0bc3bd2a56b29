"""Matrices: items in rows, a colour in every cell, numbers where there is room for them."""

from collections.abc import Callable, Hashable, Sequence
from math import ceil

import numpy as np
import pandas as pd
import xarray as xr
from arviz import PlotCollection
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.image import AxesImage
from matplotlib.text import Text
from numpy.typing import NDArray

from bayesrank.plots.panels import each_panel, figure_of, keep, short_name

__all__ = [
    "NUMBERED",
    "add_colour_bar",
    "draw_matrix",
    "matrix_size",
    "named_rows",
    "set_up_matrix",
]

NUMBERED = 15  # rows and columns up to which the cells have numbers
NAME = 0.16  # inches that a row with a name needs
LONGEST = 8.0  # inches of all rows: where that is too little for all names, some have none
GRID = 60  # rows and columns up to which lines part the cells
SMALLEST = 6.5  # points of the numbers: where they would be smaller there are none


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
