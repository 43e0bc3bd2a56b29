"""Plot of the items that cannot be separated: mean ranks on one axis, and bars over tied sets.

It looks like a critical-difference diagram, but the sets come from the posterior. They hold jointly
for all items that an item is compared with.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from arviz import PlotCollection
from arviz_base.validate import validate_dict_argument
from arviz_plots.plots.utils import get_visual_kwargs
from numpy.typing import NDArray

from bayesrank.plots.panels import NAME_SIZE, Panels, items_shown, short_name, text_width
from bayesrank.plots.rows import DARK, LEADING, OTHER, explain, handle, rank_ticks
from bayesrank.results.draws import by_group, places_of
from bayesrank.results.ranks.rank_table import tied_sets

__all__ = ["plot_tied"]

VISUALS = ("bars", "stems", "names", "title", "legend")
ROW, LEVEL = 0.2, 0.13  # inches of a row of names, and of a level of bars
AXIS = 5.5  # inches of the axis, without the names at both sides
GAP = 0.12  # inches between a stem and its name
APART = 0.01  # least distance of two bars on one level, as a share of the axis


def plot_tied(
    data: Any,
    var_name: str = "utility",
    *,
    dim: str = "item",
    coords: Mapping[str, Any] | None = None,
    prob: float = 0.95,
    rope: float = 0.0,
    max_items: int | None = None,
    plot_collection: PlotCollection | None = None,
    backend: str | None = None,
    visuals: Mapping[str, Mapping[str, Any] | bool] | None = None,
    **pc_kwargs: Any,
) -> PlotCollection:
    """Plot mean ranks on one axis, with bars over the sets of items that are jointly tied.

    A bar starts at an item, and its dots are the lower items that cannot be separated from it. The
    item is better than all other lower items, jointly, with probability `prob` or more. The bar of
    the leader is blue; its dots are the items tied with the leader in `rank_summary`. A bar is left
    out if another one contains all its items.

    This takes the place of a critical-difference diagram, in which bars come from tests of pairs.
    Other dims get panels as in `plot_ranks`.

    Parameters
    ----------
    data, var_name, dim, coords, max_items, plot_collection, backend, **pc_kwargs
        As in `plot_ranks`, for one posterior. Sets and ranks are among all items.
    prob, rope : float
        As in `tied_sets`.
    visuals : mapping, optional
        Options of the visuals bars, stems (lines to the names), names, title and legend; False
        omits a visual.

    Returns
    -------
    PlotCollection

    Raises
    ------
    ValueError
        As `tied_sets`; if items or panels do not match the data.

    See Also
    --------
    tied_sets, plot_ranks, rank_clusters

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> import matplotlib.pyplot as plt
    >>> u = xr.DataArray(np.random.default_rng(0).normal([2, 1, 0], 1, (2, 50, 3)),
    ...                  dims=("chain", "draw", "item"), coords={"item": ["a", "b", "c"]})
    >>> pc = br.plot_tied(u)
    >>> [text.get_text() for text in pc.get_target("utility", {}).texts]
    ['a', 'b', 'c']
    >>> plt.close()
    """
    visuals = validate_dict_argument(visuals, valid_keys=VISUALS)
    utility, facets, shown = items_shown(data, var_name, dim, coords, max_items)
    (mean,) = by_group(lambda u: places_of(u).mean_rank, utility, dim, {var_name: (dim,)})
    tied = tied_sets(utility, var_name, dim=dim, prob=prob, rope=rope)
    mean, tied = mean.sel({dim: shown}), tied.sel({dim: shown, f"{dim}_other": shown})
    mean = mean.transpose(*facets, dim)
    tied = tied.transpose(*facets, dim, f"{dim}_other")
    order = [np.argsort(mean[at].values, kind="stable") for at in np.ndindex(mean.shape[:-1])]
    sets = [
        _largest(tied[at].values[np.ix_(rows, rows)])
        for at, rows in zip(np.ndindex(mean.shape[:-1]), order, strict=True)
    ]
    names = [short_name(name) for name in shown]
    half = (len(names) + 1) // 2
    ranks = [np.sort(mean[at].values) for at in np.ndindex(mean.shape[:-1])]
    levels = [_levels(x, found) for x, found in zip(ranks, sets, strict=True)]
    depth = max((max(found, default=0) for found in levels), default=0)
    height = LEVEL * (depth + 2) + ROW * (half + 1) + 0.6
    each = [[names[row] for row in rows] for rows in order]
    sides = [
        max((text_width(name, NAME_SIZE) for name in part), default=0.0) + 2 * GAP
        for part in (
            [name for some in each for name in some[:half]],
            [name for some in each for name in some[half:]],
        )
    ]
    panels = Panels(
        mean, facets, plot_collection, pc_kwargs, backend=backend, width=AXIS + sum(sides),
        height=height, col_wrap=1,
    )  # fmt: skip
    contents = map(_Panel, each, ranks, sets, levels)
    for (target, _), panel in zip(panels, contents, strict=True):
        _draw(panels, target, panel, sides, depth, visuals)
    if (look := get_visual_kwargs(visuals, "title")) is not False:
        panels.title(**look)
    if visuals.get("legend", True) is False:
        return panels.pc
    n_items = utility.sizes[dim]
    count = f"{len(shown)} of {n_items} {dim}s" if len(shown) < n_items else ""
    handles = [
        handle(f"the leader and {dim}s tied with it", LEADING, 2.5),
        handle(f"{dim} and lower {dim}s that it is not better than (dots)", DARK, 2.5),
    ]
    lines = f"bars: {dim} and lower {dim}s that it is not better than, jointly with {prob:g}"
    explain(panels, "Mean rank (1 = best)", lines, handles, count, ncols=2)
    return panels.pc


def _largest(tied: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
    """Return the members of each set with several items that no other set contains."""
    found = [np.flatnonzero(row) for row in tied if row.sum() > 1]
    return [one for one in found if not any({*one} < {*other} for other in found)]


def _levels(x: NDArray[np.float64], sets: list[NDArray[np.intp]]) -> list[int]:
    """Place bars on the first level on which they do not touch another one."""
    ends: list[float] = []
    levels = []
    least = APART * (x.max() - x.min() or 1.0)
    for one in sets:
        free = [k for k, end in enumerate(ends) if end + least < x[one[0]]]
        level = free[0] if free else len(ends)
        if level == len(ends):
            ends.append(0.0)
        ends[level] = float(x[one].max())
        levels.append(level)
    return levels


class _Panel(NamedTuple):
    """What a panel shows, sorted by mean rank."""

    names: list[str]
    x: NDArray[np.float64]  # mean ranks
    sets: list[NDArray[np.intp]]  # members of each bar
    levels: list[int]  # of each bar, downwards


def _draw(
    panels: Panels,
    target: Any,
    panel: _Panel,
    sides: list[float],
    depth: int,
    visuals: Mapping[str, Any],
) -> None:
    """Draw one panel; names of the better half are at the left, best on top.

    `sides` has the inches of the names at the left and at the right.
    """
    names, x, sets, levels = panel
    n, half, draw = len(names), (len(names) + 1) // 2, panels.backend
    last = max(2.0, float(np.ceil(x.max())))
    # heights in inches, downwards; widths in ranks
    inch = (last - 1) / AXIS
    left, right = 1 - GAP * inch, last + GAP * inch
    top = LEVEL * (depth + 2)
    leader = set(sets[0].tolist()) if sets and sets[0][0] == 0 else {0}
    stems, texts = (get_visual_kwargs(visuals, name) for name in ("stems", "names"))
    for k, name in enumerate(names):
        row = k if k < half else n - 1 - k
        y, end = top + ROW * (row + 0.5), left if k < half else right
        colour = LEADING if k in leader else DARK
        if stems is not False:
            look = {"color": OTHER, "width": 0.7, **stems}
            draw.line([x[k], x[k], end], [0, y, y], target, **look)
        if texts is not False:
            place: dict[str, Any] = {"size": NAME_SIZE, "color": colour, "vertical_align": "center"}
            if panels.is_matplotlib:
                place["parse_math"] = False
            side = "right" if k < half else "left"
            gap = (GAP / 2) * inch * (-1 if k < half else 1)
            draw.text(end + gap, y, name, target, horizontal_align=side, **{**place, **texts})
    if (bars := get_visual_kwargs(visuals, "bars")) is not False:
        for one, level in zip(sets, levels, strict=True):
            y, colour = LEVEL * (level + 1), LEADING if one[0] == 0 else DARK
            order = {"zorder": 3} if panels.is_matplotlib else {}
            ends = [x[one[0]], x[one].max()]
            draw.line(ends, [y, y], target, **{"color": colour, "width": 2.5, **order, **bars})
            draw.scatter(
                x[one], np.full(len(one), y), target, size=14, marker="o", facecolor=colour,
                edgecolor=colour, **order,
            )  # fmt: skip
    ticks = rank_ticks(last)
    draw.xticks(ticks, list(map(str, ticks)), target)
    draw.yticks([], [], target)
    draw.ylim((top + ROW * (half + 0.5), 0), target)
    draw.xlim((left - sides[0] * inch, right + sides[1] * inch), target)
    if panels.is_matplotlib:
        target.xaxis.set_label_position("top")
        target.tick_params(axis="x", top=True, labeltop=True, bottom=False, labelbottom=False)
        target.spines[["bottom", "right", "left"]].set_visible(False)
        target.spines["top"].set_bounds(1, last)
