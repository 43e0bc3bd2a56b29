"""The picture of strengths that change: how items stand over time, and who was best when."""

from collections.abc import Hashable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from arviz import PlotCollection
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from bayesrank.plots.panels import chosen, figure_of, keep, labels_of, make_panels, short_name
from bayesrank.plots.rows import legend_above, without_box
from bayesrank.results.draws import SAMPLE, check_probability, ranks_of

__all__ = ["plot_history"]

# Okabe and Ito's, which are apart for every eye, without the yellow that paper does not show
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", ":")  # when they come again
OTHERS = "#c8c8c8"

Shown = Literal["utility", "rank", "best"]


def plot_history(
    data: Any,
    var: str = "utility",
    *,
    show: Shown = "utility",
    dim: str = "item",
    items: Sequence[Any] | None = None,
    max_items: int = 7,
    prob: float = 0.94,
    plot_collection: PlotCollection | None = None,
    **pc_kwargs: Any,
) -> PlotCollection:
    """Draw how items stand over time.

    A line is a mean, a band the interval of equal tails; or areas on each other are the
    probabilities to be best. An item is drawn from where it comes in.

    Parameters
    ----------
    data : DataTree, Dataset or DataArray
        Draws with the dims chain, draw, `dim` and one more, the time, such as those of
        ``br.history(...).draws(at=[...])``. NaN where an item is not there.
    var, dim : str
        The variable, and the dim of the items.
    show : str
        "utility", "rank" (among the items that are there at the time), or "best": the probability
        to be the best of them.
    items : sequence of labels, optional
        Show these only.
    max_items : int
        Show only the first so many: those of the best mean rank at the last time, or of the
        highest probability to be best at any. The picture says how many there are.
    prob : float
        Probability of the bands, in (0, 1).
    plot_collection : PlotCollection, optional
        What to draw on, with one panel; default a new figure.
    **pc_kwargs
        Passed to `PlotCollection.wrap`, such as ``figure_kwargs={"figsize": (8, 6)}`` in inches.

    Returns
    -------
    PlotCollection
        With the visuals lines and bands, or areas, in ``viz``, and legend on a new figure.

    Raises
    ------
    ValueError
        If there is not one dim beside chain, draw and the items, or it has fewer than two labels;
        if `show` or `prob` is not as above; if `items` holds an unknown or repeated label or none.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> u = xr.DataArray(np.random.default_rng(0).normal(size=(2, 50, 4, 3)),
    ...                  dims=("chain", "draw", "season", "item"),
    ...                  coords={"item": ["a", "b", "c"], "season": [2001, 2002, 2003, 2004]})
    >>> pc = plot_history(u, show="best")
    >>> pc.get_target("utility", {}).get_ylabel()
    'Probability to be best'
    >>> plt.close()
    """
    check_probability("prob", prob, 0)
    if show not in ("utility", "rank", "best"):
        raise ValueError(f"`show` is {show!r}; it must be 'utility', 'rank' or 'best'.")
    utility, time = _draws(data, var, dim)
    values = utility.to_numpy()  # (draws, times, items)
    labels = labels_of(utility, dim)
    ranks = _ranks(values)
    with np.errstate(invalid="ignore"):
        mean_rank = ranks.mean(axis=0)
        best = np.where(np.isnan(mean_rank), 0.0, (ranks == 1).mean(axis=0))
    last = np.where(np.isnan(mean_rank[-1]), np.inf, mean_rank[-1])
    order = np.argsort(-best.max(axis=0) if show == "best" else last, kind="stable")
    names = chosen(labels[order], items, max_items)
    where = labels.get_indexer(names)

    panel = utility.isel({"sample": 0, time: 0, dim: 0}, drop=True).rename(var)
    pc = make_panels(panel, [], plot_collection, lambda *_: (8.5, 5.0), pc_kwargs, 1)
    ax = pc.get_target(var, {})
    x = utility[time].to_numpy()
    if show == "best":
        handles = _areas(pc, ax, x, best, where, names)
        said = "Probability to be best"
    else:
        drawn = values if show == "utility" else ranks
        handles = _lines(pc, ax, x, drawn[:, :, where], names, prob)
        said = "Utility" if show == "utility" else "Rank (1 = best)"
    ax.set_ylabel(said)
    ax.set_xlabel(str(time))
    ax.set_xlim(x[0], x[-1])
    ax.grid(color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    without_box(ax)
    if show == "rank":
        ax.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        ax.invert_yaxis()
    count = f"{len(names)} of {len(labels)} {dim}s" if len(names) < len(labels) else ""
    band = "" if show == "best" else f"mean and {100 * prob:g}% interval"
    title = "; ".join(filter(None, (band, count)))
    if plot_collection is not None:
        ax.legend(handles=handles, title=title, fontsize=8, frameon=False)
        return pc
    keep(pc, "legend", legend_above(figure_of(pc), handles, title, ncols=4))
    return pc


def _draws(data: Any, var: str, dim: str) -> tuple[xr.DataArray, Hashable]:
    """Find the draws, (sample, time, item), in the order of time, and the dim of the times."""
    if isinstance(data, xr.DataTree):
        data = data["posterior"].to_dataset() if "posterior" in data.children else data.to_dataset()
    if isinstance(data, xr.Dataset):
        if var not in data:
            raise ValueError(
                f"The posterior has no variable {var!r}; it has {sorted(map(str, data.data_vars))}."
            )
        data = data[var]
    others = [d for d in data.dims if d not in (*SAMPLE, dim)]
    if len(others) != 1 or {*SAMPLE, dim} - {*data.dims}:
        raise ValueError(
            f"{var!r} has the dims {list(map(str, data.dims))}; a history has chain, draw, {dim} "
            "and one more, the time, as br.history(...).draws(at=[...]) returns them."
        )
    (time,) = others
    if data.sizes[time] < 2:
        raise ValueError(f"{var!r} has one time; a history needs two or more.")
    drawn = data.stack(sample=SAMPLE)  # noqa: PD013
    return drawn.transpose("sample", time, dim).sortby(time), time


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rank at every time the items that are there; NaN of the others."""
    ranks = np.full(values.shape, np.nan)
    for t in range(values.shape[1]):
        there = ~np.isnan(values[0, t])
        if there.any():
            ranks[:, t, there] = ranks_of(np.ascontiguousarray(values[:, t, there]))
    return ranks


def _lines(
    pc: PlotCollection, ax: Axes, x: Any, drawn: Any, names: pd.Index, prob: float
) -> list[Any]:
    lines, bands, handles = [], [], []
    for k, name in enumerate(names):
        colour, dash = COLOURS[k % len(COLOURS)], DASHES[k // len(COLOURS) % len(DASHES)]
        there = ~np.isnan(drawn[0, :, k])
        of_item = drawn[:, there, k]
        low, high = np.quantile(of_item, [(1 - prob) / 2, (1 + prob) / 2], axis=0)
        look: dict[str, Any] = {"color": colour, "linestyle": dash}
        bands.append(ax.fill_between(x[there], low, high, color=colour, alpha=0.15, linewidth=0))
        (line,) = ax.plot(x[there], of_item.mean(axis=0), linewidth=1.8, **look)
        lines.append(line)
        handles.append(Line2D([], [], linewidth=2.5, label=short_name(name, 24), **look))
    keep(pc, "lines", lines)
    keep(pc, "bands", bands)
    return handles


def _areas(
    pc: PlotCollection, ax: Axes, x: Any, best: Any, where: Any, names: pd.Index
) -> list[Any]:
    shares = best[:, where]
    rest = np.clip(1 - shares.sum(axis=1), 0, 1)
    colours = [COLOURS[k % len(COLOURS)] for k in range(len(names))]
    texts = [short_name(name, 24) for name in names]
    if rest.max() > 0.005:
        shares, colours = np.column_stack([shares, rest]), [*colours, OTHERS]
        texts.append("all others")
    areas = ax.stackplot(x, shares.T, colors=colours, edgecolor="white", linewidth=0.5)
    for k, area in enumerate(areas[: len(names)]):  # colours that come again are hatched
        if k >= len(COLOURS):
            area.set_hatch("//" if k < 2 * len(COLOURS) else "..")
    ax.set_ylim(0, 1)
    keep(pc, "areas", areas)
    return [
        Patch(facecolor=colour, label=text, hatch=area.get_hatch(), edgecolor="white")
        for colour, text, area in zip(colours, texts, areas, strict=True)
    ]
