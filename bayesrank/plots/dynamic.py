"""Plot of dynamic strengths: utilities, ranks or probabilities to be best over time."""

from collections.abc import Hashable, Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from arviz import PlotCollection
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from bayesrank.plots.panels import Panels, chosen, labels_of, short_name
from bayesrank.plots.rows import without_box
from bayesrank.results.draws import SAMPLE, check_probability, find_variable, ranks_of

__all__ = ["plot_dynamic"]

# Okabe-Ito colours, safe for colour-blind readers, without the yellow, which is faint on paper
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", ":")  # of lines, when colours repeat
HATCHES = ("", "//", "..")  # of areas, when colours repeat
OTHERS = "#c8c8c8"

SHOWN = {"utility": "Utility", "rank": "Rank (1 = best)", "best": "Probability to be best"}


def plot_dynamic(
    data: Any,
    var_name: str = "utility",
    *,
    show: Literal["utility", "rank", "best"] = "utility",
    dim: str = "item",
    coords: Mapping[str, Any] | None = None,
    max_items: int = 7,
    ci_prob: float = 0.94,
    plot_collection: PlotCollection | None = None,
    **pc_kwargs: Any,
) -> PlotCollection:
    """Plot items over time.

    A line is the mean and a band the equal-tailed interval. With ``show="best"``, stacked areas are
    the probabilities to be best. Each item is drawn from its first appearance.

    Parameters
    ----------
    data : DataTree, Dataset or DataArray
        Draws with the dims chain, draw, `dim` and the time, such as from
        ``br.fit_dynamic(...).draws(at=[...])``. NaN where an item is absent.
    var_name, dim : str
        The variable, and the dim of the items.
    show : {"utility", "rank", "best"}
        The utility, the rank among the items present at the time, or the probability to be the best
        of them.
    coords : mapping, optional
        Labels of dims, as in `plot_ranks`. Those of `dim` are the items to show.
    max_items : int
        Show at most this number of items: those with the best mean rank at the last time. With
        ``show="best"``, those with the highest probability to be best at any time.
    ci_prob : float
        Probability of the bands, in (0, 1).
    plot_collection, **pc_kwargs
        As in `plot_ranks`.

    Returns
    -------
    PlotCollection
        The visuals lines and bands, or areas, are in ``viz``. A new figure also has the legend.

    Raises
    ------
    ValueError
        If there is not exactly one dim of times, or it has fewer than two labels. If `show` or
        `ci_prob` is not as above, or `coords` contains unknown or repeated labels or none.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> u = xr.DataArray(np.random.default_rng(0).normal(size=(2, 50, 4, 3)),
    ...                  dims=("chain", "draw", "season", "item"),
    ...                  coords={"item": ["a", "b", "c"], "season": [2001, 2002, 2003, 2004]})
    >>> pc = plot_dynamic(u, show="best")
    >>> pc.get_target("utility", {}).get_ylabel()
    'Probability to be best'
    >>> plt.close()
    """
    check_probability("ci_prob", ci_prob, 0)
    if show not in SHOWN:
        raise ValueError(f"`show` is {show!r}; it must be 'utility', 'rank' or 'best'.")
    utility, time = _draws(data, var_name, dim, coords)
    values = utility.to_numpy()  # (draws, times, items)
    labels = labels_of(utility, dim)
    ranks = _ranks(values)
    with np.errstate(invalid="ignore"):
        mean_rank = ranks.mean(axis=0)
        best = np.where(np.isnan(mean_rank), 0.0, (ranks == 1).mean(axis=0))
    last = np.where(np.isnan(mean_rank[-1]), np.inf, mean_rank[-1])
    order = np.argsort(-best.max(axis=0) if show == "best" else last, kind="stable")
    wanted = (coords or {}).get(dim)
    names = chosen(labels[order], wanted, max_items, dim)
    where = labels.get_indexer(names)

    panel = utility.isel({"sample": 0, time: 0, dim: 0}, drop=True).rename(var_name)
    panels = Panels(panel, [], plot_collection, pc_kwargs, width=8.2, height=4.15)
    ((ax, _),) = panels
    x = utility[time].to_numpy()
    ax.set(xlabel=str(time), ylabel=SHOWN[show], xlim=(x[0], x[-1]))
    ax.grid(color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    without_box(ax)
    if show == "best":
        handles = _areas(panels, ax, x, best[:, where], names)
    else:
        drawn = values if show == "utility" else ranks
        handles = _lines(panels, ax, x, drawn[:, :, where], names, ci_prob)
    if show == "rank":
        ax.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        ax.invert_yaxis()
    notes = [] if show == "best" else [f"mean and {100 * ci_prob:g}% interval"]
    notes += [f"{len(names)} of {len(labels)} {dim}s"] if len(names) < len(labels) else []
    panels.legend(handles, "; ".join(notes), ncols=4)
    if not panels.is_new:
        ax.legend(handles=handles, title="; ".join(notes), fontsize=8, frameon=False)
    return panels.pc


def _draws(
    data: Any, var_name: str, dim: str, coords: Mapping[str, Any] | None
) -> tuple[xr.DataArray, Hashable]:
    """Find the draws (sample, time, item), sorted by time, and the dim of the times."""
    where = {d: labels for d, labels in (coords or {}).items() if d != dim}
    draws = find_variable(data, var_name).sel(where)
    others = [d for d in draws.dims if d not in (*SAMPLE, dim)]
    if len(others) != 1 or {*SAMPLE, dim} - {*draws.dims}:
        raise ValueError(
            f"{var_name!r} has the dims {list(map(str, draws.dims))}; it must have chain, draw, "
            f"{dim} and one dim of times. Pass the result of br.fit_dynamic(...).draws(at=[...])."
        )
    (time,) = others
    if draws.sizes[time] < 2:
        raise ValueError(
            f"{var_name!r} has {draws.sizes[time]} time; the plot needs two or more. Pass "
            "more times to draws(at=[...])."
        )
    drawn = draws.stack(sample=SAMPLE)  # noqa: PD013
    return drawn.transpose("sample", time, dim).sortby(time), time


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rank the items present at each time; absent items get NaN."""
    ranks = np.full(values.shape, np.nan)
    for t in range(values.shape[1]):
        present = ~np.isnan(values[0, t])
        if present.any():
            ranks[:, t, present] = ranks_of(np.ascontiguousarray(values[:, t, present]))
    return ranks


def _lines(
    panels: Panels, ax: Axes, x: Any, drawn: Any, names: pd.Index, ci_prob: float
) -> list[Artist]:
    """Draw means and bands of the items (draws, times, items); return the legend."""
    lines, bands = [], []
    handles: list[Artist] = []
    for k, name in enumerate(names):
        colour, dash = COLOURS[k % len(COLOURS)], DASHES[k // len(COLOURS) % len(DASHES)]
        present = ~np.isnan(drawn[0, :, k])
        some = drawn[:, present, k]
        low, high = np.quantile(some, [(1 - ci_prob) / 2, (1 + ci_prob) / 2], axis=0)
        look: dict[str, Any] = {"color": colour, "linestyle": dash}
        bands.append(ax.fill_between(x[present], low, high, color=colour, alpha=0.15, linewidth=0))
        lines += ax.plot(x[present], some.mean(axis=0), linewidth=1.8, **look)
        handles.append(Line2D([], [], linewidth=2.5, label=short_name(name, 24), **look))
    panels.keep("lines", lines)
    panels.keep("bands", bands)
    return handles


def _areas(panels: Panels, ax: Axes, x: Any, shares: Any, names: pd.Index) -> list[Artist]:
    """Stack the shares (times, items) and the remaining share; return the legend."""
    texts = [short_name(name, 24) for name in names]
    colours = [COLOURS[k % len(COLOURS)] for k in range(len(names))]
    rest = np.clip(1 - shares.sum(axis=1), 0, 1)
    if rest.max() > 0.005:
        shares = np.column_stack([shares, rest])
        texts, colours = [*texts, "all others"], [*colours, OTHERS]
    look: dict[str, Any] = {"edgecolor": "white", "linewidth": 0.5}
    areas = ax.stackplot(x, shares.T, colors=colours, labels=texts, **look)
    for k, area in enumerate(areas[: len(names)]):  # repeated colours are hatched
        area.set_hatch(HATCHES[min(k // len(COLOURS), len(HATCHES) - 1)])
    ax.set_ylim(0, 1)
    panels.keep("areas", areas)
    return [*areas]
