"""Plot of rank intervals: which items lead, and with what certainty."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from arviz import PlotCollection
from arviz_base.labels import BaseLabeller
from arviz_base.validate import validate_dict_argument
from arviz_plots.plots.utils import get_visual_kwargs
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from bayesrank.plots.panels import Panels, items_shown, models_of, short_name, side_by_side
from bayesrank.plots.rows import (
    COLOURS,
    INTERVALS,
    LEADING,
    MANY,
    OTHER,
    UNKNOWN,
    Style,
    draw_intervals,
    explain,
    handle,
    interval_handles,
    interval_panels,
    rank_ticks,
    row_height,
    set_up_rows,
)
from bayesrank.results import PairWins, rank_summary
from bayesrank.results.draws import interval_probability
from bayesrank.results.ranks.rank_table import BEHIND, LEADS, TIED, UNCLEAR

__all__ = ["plot_ranks"]

VISUALS = (*INTERVALS, "ticklabels", "title", "legend", "counts")
LOOKS = {
    LEADS: Style(LEADING, LEADING, "d"),
    TIED: Style(LEADING, LEADING),
    UNCLEAR: Style(UNKNOWN, UNKNOWN),
    BEHIND: Style(OTHER, OTHER),
}


def plot_ranks(
    data: Any,
    var_name: str = "utility",
    *,
    dim: str = "item",
    coords: Mapping[str, Any] | None = None,
    ci_prob: float | None = None,
    tied_prob: float = 0.95,
    simultaneous: bool = False,
    max_items: int | None = 20,
    prior_sd: float | None = None,
    compared: PairWins | None = None,
    equal: xr.DataArray | None = None,
    seen: pd.Series | None = None,
    plot_collection: PlotCollection | None = None,
    backend: str | None = None,
    labeller: BaseLabeller | None = None,
    aes_by_visuals: Mapping[str, Sequence[str]] | None = None,
    visuals: Mapping[str, Mapping[str, Any] | bool] | None = None,
    stats: Mapping[str, xr.Dataset] | None = None,
    **pc_kwargs: Any,
) -> PlotCollection:
    """Plot the rank interval of every item, best on top.

    A thin line is the interval of probability `ci_prob`, a thick line the 50% interval, and the
    marker the mean rank. Colours show the status of `rank_summary`. The leader and items tied with
    it are blue, items with too little data light blue, and items behind it grey. The marker of the
    leader is a diamond. Other dims, such as a category, get one panel per label. Items are sorted
    by mean rank, averaged over the panels.

    Results of several models are drawn side by side, in one colour per model. The plot is restyled
    like `arviz.plot_forest`.

    Parameters
    ----------
    data, var_name, dim
        Posterior, variable and dim of the items, as in `rank_draws`. A dict of posteriors by the
        name of the model compares them.
    coords : mapping, optional
        Labels of dims. Those of `dim` are the items to show, from top to bottom; ranks are still
        among all items. Those of other dims select panels.
    ci_prob : float, optional
        Probability of the thin interval, in (0, 1), by default ``arviz.rcParams["stats.ci_prob"]``.
    tied_prob : float
        As in `rank_summary`.
    simultaneous : bool
        Whether intervals hold jointly for all items, as in `rank_summary`.
    max_items : int, optional
        Show at most this number of items, best first; None shows all. The legend says how many
        there are.
    prior_sd, compared
        As in `rank_summary`. They distinguish items with too little data from other tied items.
    equal : DataArray, optional
        As in `rank_summary`.
    seen : Series, optional
        Number of rankings or matches of each item, written at the right if there is one panel. Its
        name is the heading.
    plot_collection : PlotCollection, optional
        Draw on these panels, by the other dims; by default on a new figure.
    backend : str, optional
        Backend of ArviZ, by default ``rcParams["plot.backend"]``. Only matplotlib has a legend;
        in the others, the label of the axis explains the plot.
    labeller : Labeller, optional
        Names of the items, such as a `MapLabeller`.
    aes_by_visuals : mapping, optional
        Aesthetics of each visual, by default all that apply. The colour shows the status ("leads",
        "tied", "unclear" or "behind") or the model; map it otherwise with
        ``aes={"color": ["item"]}``.
    visuals : mapping, optional
        Options of the visuals twig (thin line), trunk (thick line), point_estimate, ticklabels,
        title (of a panel), legend and counts; False omits a visual.
    stats : mapping, optional
        Values to draw instead of those of `rank_summary`: Datasets with the variable `var_name`. A
        twig and a trunk have the dim ci_bound.
    **pc_kwargs
        Passed to `PlotCollection.wrap`, such as ``figure_kwargs={"figsize": (8, 6)}`` in inches, or
        ``color=["black", "gold", "grey"]``.

    Returns
    -------
    PlotCollection
        The visuals twig, trunk and point_estimate are in ``viz``. A new figure also has the legend.

    Raises
    ------
    ValueError
        As `rank_summary`; if items, panels or visuals do not match the data.

    See Also
    --------
    rank_summary, tied_with_leader, plot_places

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> import matplotlib.pyplot as plt
    >>> u = xr.DataArray(np.random.default_rng(0).normal([2, 1, 0], 1, (2, 50, 3)),
    ...                  dims=("chain", "draw", "item"), coords={"item": ["a", "b", "c"]})
    >>> pc = br.plot_ranks(u, visuals={"trunk": False})
    >>> [name.get_text() for name in pc.get_target("utility", {}).get_yticklabels()]
    ['a', 'b', 'c']
    >>> pc = br.plot_ranks({"wide": 3 * u, "narrow": u}, var_name="utility")
    >>> plt.close("all")
    """
    visuals = validate_dict_argument(visuals, valid_keys=VISUALS)
    aes_by_visuals = validate_dict_argument(aes_by_visuals, valid_keys=INTERVALS)
    stats = validate_dict_argument(stats, valid_keys=INTERVALS)
    ci_prob = interval_probability(ci_prob)
    options: dict[str, Any] = {"simultaneous": simultaneous, "tied_prob": tied_prob}
    options |= {"dim": dim, "top": 1, "prior_sd": prior_sd, "compared": compared}
    options["equal"] = equal
    models = models_of(data)
    found = [items_shown(one, var_name, dim, coords, max_items) for one in models.values()]
    utility, facets, shown = found[0]

    tables = [rank_summary(u, ci_prob=ci_prob, **options).to_xarray() for u, *_ in found]
    halves = [rank_summary(u, ci_prob=0.5, **options).to_xarray() for u, *_ in found]
    everyone, half = (side_by_side(one, [*models]) for one in (tables, halves))
    thin, thick = everyone.sel({dim: shown}), half.sel({dim: shown})
    # An interval of one rank has no length; extend it on either side so that it is visible.
    right = max(float(x.max()) for x in (thin["rank_high"], thick["rank_high"], thin["mean_rank"]))
    more = max(0.2, 0.004 * right)

    ends = {"point_estimate": thin["mean_rank"]}
    for name, table in (("twig", thin), ("trunk", thick)):
        bounds = [table["rank_low"] - more, table["rank_high"] + more]
        ends[name] = xr.concat(bounds, "ci_bound", coords="minimal")
    ends |= {name: given[var_name].sel({dim: shown}) for name, given in stats.items()}
    rows = xr.DataArray(np.arange(len(shown)), {dim: shown}, dim)
    status: xr.DataArray | str = thin["status"]
    looks, lines = LOOKS, rows
    if None not in models:
        status = "model"
        looks = {name: Style(c, c) for name, c in zip(models, cycle(COLOURS), strict=False)}
        shift = np.linspace(-0.2, 0.2, len(models))
        lines = rows + xr.DataArray(shift, {"model": [*models]}, "model")

    labeller = labeller or BaseLabeller()
    names = [short_name(labeller.dim_coord_to_str(dim, x, k)) for k, x in enumerate(shown)]
    height = (row_height(len(shown)) + 0.1 * (len(models) - 1)) * len(shown) + 0.75
    panels, drawn = interval_panels(
        utility, facets, plot_collection, pc_kwargs, ends, status, looks, names=names,
        height=height, backend=backend,
    )  # fmt: skip
    draw_intervals(panels, drawn, lines, visuals, aes_by_visuals)
    ticks = get_visual_kwargs(visuals, "ticklabels")
    if ticks is False:
        ticks, names = {}, [""] * len(names)
    set_up_rows(panels, rows.to_numpy(), names, foot=len(shown) > MANY, **ticks)
    scale = rank_ticks(right, 5 if facets else 9)
    for target, _ in panels:
        panels.backend.xticks(scale, list(map(str, scale)), target)
        panels.backend.xlim((0.5, right + 0.5), target)
        if seen is not None and not facets and visuals.get("counts", True) is not False:
            look = get_visual_kwargs(visuals, "counts")
            _write_counts(panels, target, rows.to_numpy(), right, seen[shown], look)
    if (look := get_visual_kwargs(visuals, "title")) is not False:
        panels.title(**look)

    if visuals.get("legend", True) is False:
        return panels.pc
    at_once = ", all items jointly" if simultaneous else ""
    aes = panels.drawn.aes
    colours = aes["color"].dataset if "color" in aes.children else xr.Dataset()
    handles = []
    if {"status", "model"} & {*colours.dims}:  # not mapped otherwise
        used: dict[Any, str] = dict(colours["mapping"].to_series().items())
        if looks is LOOKS:
            handles = _handles_of_status(everyone["status"], used, tied_prob)
        else:
            handles = [handle(str(name), colour) for name, colour in used.items()]
    handles += interval_handles(ci_prob, "mean rank", at_once)
    n_items = utility.sizes[dim]
    count = f"{len(shown)} of {n_items} {dim}s" if len(shown) < n_items else ""
    lines_text = f"mean, 50% and {100 * ci_prob:g}% interval{at_once}"
    explain(panels, "Rank (1 = best)", lines_text, handles, count)
    return panels.pc


def _handles_of_status(
    status: xr.DataArray, colours: Mapping[str, str], tied_prob: float
) -> list[Line2D]:
    """Return the legend of the statuses that occur, with counts if there is one panel."""
    words = {
        LEADS: "the leader",
        TIED: "tied with the leader",
        UNCLEAR: "too little data",
        BEHIND: f"behind the leader, jointly with probability ≥ {tied_prob:g}",
    }
    handles = []
    for name, text in words.items():
        n = int((status == name).sum())
        if not n:
            continue
        count = f" ({n})" if status.ndim == 1 and name in (TIED, UNCLEAR) else ""
        colour = colours.get(name, LOOKS[name].line)
        if name == LEADS:
            handles.append(handle(text, colour, marker=LOOKS[name].marker, linewidth=1.2))
        else:
            handles.append(handle(text + count, colour))
    return handles


def _write_counts(
    panels: Panels,
    target: Any,
    y: NDArray[np.int_],
    right: float,
    seen: pd.Series,
    look: Mapping[str, Any],
) -> None:
    """Write the number of rankings or matches at the right of each row."""
    x = right + 0.5 + 0.02 * right
    for row, text in zip([-1, *y], [str(seen.name), *(f"{n:,.0f}" for n in seen)], strict=True):
        style = {"size": 8.5, "color": "#555555", "vertical_align": "center", **look}
        panels.backend.text(x, row, text, target, horizontal_align="left", **style)
