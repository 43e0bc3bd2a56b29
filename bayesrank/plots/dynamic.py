"""Plot of dynamic strengths: utilities, ranks or probabilities of being best over time."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from arviz import PlotCollection
from arviz_base.validate import validate_dict_argument
from arviz_plots.plot_collection import backend_from_object
from arviz_plots.plots.utils import get_visual_kwargs
from matplotlib.artist import Artist
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from bayesrank.plots.panels import (
    Panels,
    choose_labels,
    labels_of,
    models_of,
    short_name,
    side_by_side,
)
from bayesrank.plots.rows import without_box
from bayesrank.results.draws import (
    SAMPLE,
    Places,
    centred,
    described,
    find_variable,
    interval_probability,
    places_of,
)

__all__ = ["plot_dynamic"]

# Okabe-Ito colours, safe for colour-blind readers, without the yellow, which is faint on paper
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", ":")  # of lines, when colours repeat
HATCHES = ("", "//", "..")  # of areas, when colours repeat
OTHERS = "#c8c8c8"
REST = "all others"
VISUALS = ("line", "band", "area", "title", "legend")

SHOWN = {
    "utility": "Utility (relative to the mean)",
    "rank": "Rank (1 = best)",
    "best": "Probability of being best",
}


def plot_dynamic(
    data: Any,
    var_name: str = "utility",
    *,
    show: Literal["utility", "rank", "best"] = "utility",
    dim: str = "item",
    coords: Mapping[str, Any] | None = None,
    max_items: int = 7,
    ci_prob: float | None = None,
    plot_collection: PlotCollection | None = None,
    backend: str | None = None,
    aes_by_visuals: Mapping[str, Sequence[str]] | None = None,
    visuals: Mapping[str, Mapping[str, Any] | bool] | None = None,
    **pc_kwargs: Any,
) -> PlotCollection:
    """Plot items over time.

    A line is the mean and a band the equal-tailed interval. With ``show="best"``, stacked areas are
    the probabilities of being best. Each item is drawn from its first appearance.

    Parameters
    ----------
    data : DataTree, Dataset or DataArray
        Draws with the dims chain, draw, `dim` and the time, such as from
        ``br.fit_dynamic(...).draws(at=[...])``. NaN where an item is absent. A dict of draws by the
        name of the model gives one panel per model.
    var_name, dim : str
        The variable, and the dim of the items.
    show : {"utility", "rank", "best"}
        The utility, the rank among the items present at the time, or the probability of being the
        best of them. Utilities are relative to the mean of the items present at the time, in each
        draw. Items that are equal in a draw share the probability of being the best.
    coords : mapping, optional
        Labels of dims, as in `plot_ranks`. Those of `dim` are the items to show.
    max_items : int
        Show at most this number of items: those with the best mean rank at the last time. With
        ``show="best"``, those with the highest probability of being best at any time.
    ci_prob : float, optional
        Probability of the bands, in (0, 1), by default ``arviz.rcParams["stats.ci_prob"]``.
    plot_collection, backend, **pc_kwargs
        As in `plot_ranks`.
    aes_by_visuals : mapping, optional
        Aesthetics of each visual, by default colour, and dashes of lines when colours repeat.
    visuals : mapping, optional
        Options of the visuals line, band, area, title (of a panel) and legend; False omits one.

    Returns
    -------
    PlotCollection
        The visuals line and band, or area, are in ``viz``. A new figure also has the legend.

    Raises
    ------
    ValueError
        If there is not exactly one dim of times, or it has fewer than two labels. If `show` or
        `ci_prob` is not as above, or `coords` contains unknown or repeated labels or none.

    See Also
    --------
    fit_dynamic, DynamicFit.draws

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> import matplotlib.pyplot as plt
    >>> u = xr.DataArray(np.random.default_rng(0).normal(size=(2, 50, 4, 3)),
    ...                  dims=("chain", "draw", "season", "item"),
    ...                  coords={"item": ["a", "b", "c"], "season": [2001, 2002, 2003, 2004]})
    >>> pc = br.plot_dynamic(u, show="best")
    >>> pc.get_target("utility", {}).get_ylabel()
    'Probability of being best'
    >>> plt.close()
    """
    ci_prob = interval_probability(ci_prob)
    if show not in SHOWN:
        raise ValueError(f"`show` is {show!r}; it must be 'utility', 'rank' or 'best'.")
    visuals = validate_dict_argument(visuals, valid_keys=VISUALS)
    aes_by_visuals = validate_dict_argument(aes_by_visuals, valid_keys=VISUALS[:3])
    models = models_of(data)
    found = [_draws(one, var_name, dim, coords) for one in models.values()]
    utility, time = found[0]
    tables = [_summary(draws, time, show, ci_prob) for draws, _ in found]
    labels = labels_of(utility, dim)
    best, last = tables[0]["share"].to_numpy(), tables[0]["place"].isel({time: -1}).to_numpy()
    last = np.where(np.isnan(last), np.inf, last)
    order = np.argsort(-best.max(axis=0) if show == "best" else last, kind="stable")
    names = choose_labels(labels[order], (coords or {}).get(dim), max_items, dim)

    drawn = side_by_side([_summarise(one, names, dim, show) for one in tables], [*models])
    facets = [] if [*models] == [None] else ["model"]
    panel = drawn["low"].isel({time: 0, dim: 0}, drop=True).rename(var_name)
    used = drawn[dim].to_numpy()
    colours = [COLOURS[k % len(COLOURS)] for k in range(len(names))]
    colours += [OTHERS] * (len(used) - len(names))
    dashes = [DASHES[k // len(COLOURS) % len(DASHES)] for k in range(len(used))]
    data = drawn.rename(high=var_name)[[var_name]]
    panels = Panels(
        panel, facets, plot_collection, pc_kwargs, data=data, backend=backend, col_wrap=1,
        aes={"color": [dim], "linestyle": [dim]}, cycles={"color": colours, "linestyle": dashes},
        width=8.2, height=4.15,
    )  # fmt: skip
    x = drawn[time].to_numpy()
    for target, _ in panels:
        panels.backend.xlabel(str(time), target)
        panels.backend.ylabel(SHOWN[show], target)
        if panels.is_matplotlib:
            target.set_xlim(x[0], x[-1])
            target.grid(color="#dddddd", linewidth=0.6)
            target.set_axisbelow(True)
            without_box(target)
    looks: dict[str, dict[str, Any]] = {"area": {"edgecolor": "white", "linewidth": 0.5}}
    if show != "best":
        looks = {"band": {"alpha": 0.15}, "line": {"width": 1.8}}
    if not panels.is_matplotlib:
        looks |= {"area": {}} if show == "best" else {}
    for visual, style in looks.items():
        if (given := get_visual_kwargs(visuals, visual)) is False:
            continue
        aes = panels.drawn.aes_set
        mapped = aes.intersection(
            aes_by_visuals.get(visual, aes if visual == "line" else {"color"})
        )
        values = xr.concat([drawn["low"], drawn["mean"], drawn["high"]], "end").rename(var_name)
        panels.drawn.map(
            _line if visual == "line" else _band, visual, data=values.to_dataset(), x=x,
            ignore_aes=aes - mapped,
            **{key: value for key, value in (style | given).items() if key not in mapped},
        )  # fmt: skip
    for target, _ in panels:
        if show == "best":
            panels.backend.ylim((0, 1), target)
        elif show == "rank":
            low, high = float(drawn["low"].min()), float(drawn["high"].max())
            panels.backend.ylim((high + 0.2, low - 0.2), target)
            if panels.is_matplotlib:
                target.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    if show == "best" and panels.is_matplotlib and "area" in panels.drawn.viz:
        for k, name in enumerate(names):  # repeated colours are hatched
            for area in np.ravel(panels.drawn.viz["area"][var_name].sel({dim: name}).to_numpy()):
                area.set_hatch(HATCHES[min(k // len(COLOURS), len(HATCHES) - 1)])
    if (look := get_visual_kwargs(visuals, "title")) is not False:
        panels.title(**look)
    if visuals.get("legend", True) is False:
        return panels.pc
    handles = _handles(panels, used, show)
    notes = [] if show == "best" else [f"mean and {100 * ci_prob:g}% interval"]
    notes += [f"{len(names)} of {len(labels)} {dim}s"] if len(names) < len(labels) else []
    panels.legend(handles, "; ".join(notes), ncols=4)
    if not panels.is_new and panels.is_matplotlib:
        for target, _ in panels:
            target.legend(handles=handles, title="; ".join(notes), fontsize=8, frameon=False)
    return panels.pc


def _summary(draws: xr.DataArray, time: Hashable, show: str, ci_prob: float) -> xr.Dataset:
    """Summarise draws (sample, time, item): mean place, share of first places, and an interval.

    Absent items have NaN, and no share.
    """
    item = str(draws.dims[-1])
    best = np.zeros(draws.shape[1:])
    place, lowest, highest = (np.full(best.shape, np.nan) for _ in range(3))
    ends = [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    for t, present, places in _places(draws.to_numpy()):
        place[t, present] = places.mean_rank
        best[t, present] = places.p_top(1)
        lowest[t, present] = np.quantile(places.best, ends[0], axis=0)
        highest[t, present] = np.quantile(places.worst, ends[1], axis=0)
    found = {"place": place, "share": best, "low": lowest, "mean": place, "high": highest}
    if show == "utility":
        values = centred(draws, item).to_numpy()
        found["low"], found["high"] = np.quantile(values, ends, axis=0)
        found["mean"] = values.mean(axis=0)
    dims = draws.dims[1:]
    labels = {d: draws[d].to_numpy() for d in dims}
    return xr.Dataset({name: (dims, x) for name, x in found.items()}, labels)


def _summarise(table: xr.Dataset, names: pd.Index, dim: str, show: str) -> xr.Dataset:
    """Return the ends and the mean of the items to draw; of shares, the ends of stacked areas."""
    some = table.sel({dim: names})
    if show != "best":
        return some[["low", "mean", "high"]]
    share = some["share"]
    rest = (1 - share.sum(dim)).clip(0, 1)
    if float(rest.max()) > 0.005:
        share = xr.concat([share.astype(float), rest.assign_coords({dim: REST})], dim)
    top = share.cumsum(dim).assign_coords({dim: share[dim]})
    return xr.Dataset({"low": top - share, "mean": top, "high": top})


def _line(da: xr.DataArray, target: Any, x: Any, **look: Any) -> Any:
    """Draw the mean of one item where it is present."""
    mean = da.isel(end=1).to_numpy()
    present = ~np.isnan(mean)
    return backend_from_object(target).line(x[present], mean[present], target, **look)


def _band(da: xr.DataArray, target: Any, x: Any, **look: Any) -> Any:
    """Fill between the ends of one item where it is present."""
    low, high = da.isel(end=0).to_numpy(), da.isel(end=2).to_numpy()
    present = ~np.isnan(low)
    draw = backend_from_object(target).fill_between_y
    return draw(x[present], low[present], high[present], target, **look)


def _handles(panels: Panels, names: Any, show: str) -> list[Artist]:
    """Return the legend: the colours and dashes of the items."""
    aes = panels.drawn.aes
    found = {
        name: aes[name].dataset["mapping"].to_series().to_dict()
        for name in ("color", "linestyle")
        if name in aes.children
    }
    handles: list[Artist] = []
    for k, name in enumerate(names):
        text, colour = short_name(name, 24), found.get("color", {}).get(name, "black")
        if show == "best":
            hatch = HATCHES[min(k // len(COLOURS), len(HATCHES) - 1)] if name != REST else ""
            handles.append(Patch(facecolor=colour, edgecolor="white", hatch=hatch, label=text))
        else:
            dash = found.get("linestyle", {}).get(name, "-")
            handles.append(Line2D([], [], linewidth=2.5, label=text, color=colour, linestyle=dash))
    return handles


def _draws(
    data: Any, var_name: str, dim: str, coords: Mapping[str, Any] | None
) -> tuple[xr.DataArray, Hashable]:
    """Find the draws (sample, time, item), sorted by time, and the dim of the times."""
    where = {d: labels for d, labels in (coords or {}).items() if d != dim}
    subject, draws = described(data, var_name)[0], find_variable(data, var_name).sel(where)
    others = [d for d in draws.dims if d not in (*SAMPLE, dim)]
    if len(others) != 1 or {*SAMPLE, dim} - {*draws.dims}:
        raise ValueError(
            f"{subject} has the dims {list(map(str, draws.dims))}; it must have chain, draw, "
            f"{dim} and one dim of times. Pass the result of br.fit_dynamic(...).draws(at=[...])."
        )
    (time,) = others
    if draws.sizes[time] < 2:
        raise ValueError(
            f"{subject} has {draws.sizes[time]} time; the plot needs two or more. Pass "
            "more times to draws(at=[...])."
        )
    drawn = draws.stack(sample=SAMPLE)  # noqa: PD013
    return drawn.transpose("sample", time, dim).sortby(time), time


def _places(
    values: NDArray[np.float64],
) -> Iterator[tuple[int, NDArray[np.bool_], Places]]:
    """Yield each time with the items that are present, and their places (n_draws, n_present)."""
    for t in range(values.shape[1]):
        present = ~np.isnan(values[0, t])
        if present.any():
            yield t, present, places_of(np.ascontiguousarray(values[:, t, present]))
