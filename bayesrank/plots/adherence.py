"""Plot of adherences: which rankers follow the consensus, and which do not."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import pandas as pd
import xarray as xr
from arviz import PlotCollection
from arviz_base.validate import validate_dict_argument
from matplotlib.lines import Line2D

from bayesrank.plots.panels import (
    choose_labels,
    facets_of,
    labels_of,
    selected,
    selections,
    short_name,
)
from bayesrank.plots.rows import (
    DARK,
    INTERVALS,
    LEADING,
    MANY,
    OTHER,
    WARNING,
    Style,
    draw_intervals,
    draw_line_at,
    explain,
    handle,
    interval_handles,
    interval_panels,
    row_height,
    set_up_rows,
)
from bayesrank.results.draws import interval_probability
from bayesrank.results.matches.adherence import adherence_draws, summarise_adherences

__all__ = ["plot_adherence"]

LOOKS = {
    "below": Style(WARNING, WARNING, "v"),
    "above": Style(LEADING, LEADING, "^"),
    "other": Style(OTHER, OTHER),
}


def plot_adherence(
    data: Any,
    var_name: str = "adherence",
    *,
    dim: str = "ranker",
    coords: Mapping[str, Any] | None = None,
    ci_prob: float | None = None,
    factor: float = 2.0,
    outlier_prob: float = 0.95,
    max_rankers: int | None = 40,
    contrary: bool = False,
    plot_collection: PlotCollection | None = None,
    backend: str | None = None,
    aes_by_visuals: Mapping[str, Sequence[str]] | None = None,
    visuals: Mapping[str, Mapping[str, Any] | bool] | None = None,
    **pc_kwargs: Any,
) -> PlotCollection:
    """Plot the adherence of every ranker, highest mean on top.

    A thin line is the interval of probability `ci_prob`, a thick line the 50% interval, and the
    marker the mean. A coloured triangle pointing down marks rankers who do not follow the
    consensus, as defined in `adherence_summary`. A triangle pointing up marks rankers far above the
    median. The dashed line is the mean of the median ranker; dotted lines are `factor` times less
    and more.

    Other dims get one panel per label, each with its own median. Rankers are sorted by
    their mean over the panels.

    Parameters
    ----------
    data, var_name, dim
        Posterior, variable and dim of the rankers. The plot uses the name of the dim.
    coords : mapping, optional
        Labels of dims, as in `plot_ranks`. The rankers to show are still compared with the median
        of all.
    ci_prob : float, optional
        Probability of the thin interval, in (0, 1), by default
        ``arviz.rcParams["stats.ci_prob"]``.
    factor, outlier_prob, contrary
        As in `adherence_summary`.
    max_rankers : int, optional
        Show at most this number: half of them the highest, half the lowest. None shows all.
    plot_collection, backend, aes_by_visuals, visuals, **pc_kwargs
        As in `plot_ranks`, with the visuals twig, trunk and point_estimate. The colour and the
        marker show the status ("below", "above" or "other").

    Returns
    -------
    PlotCollection
        The visuals twig, trunk and point_estimate are in ``viz``. A new figure also has the legend.

    Raises
    ------
    ValueError
        As `adherence_summary`; if rankers or panels do not match the data.

    See Also
    --------
    adherence_summary, effective_judges

    Examples
    --------
    >>> import numpy as np
    >>> import bayesrank as br
    >>> import matplotlib.pyplot as plt
    >>> import xarray as xr
    >>> a = xr.DataArray(np.random.default_rng(0).gamma([1, 100, 90], 0.01, (2, 50, 3)),
    ...                  dims=("chain", "draw", "ranker"), coords={"ranker": ["ann", "bob", "cy"]})
    >>> pc = br.plot_adherence(a)
    >>> [name.get_text() for name in pc.get_target("adherence", {}).get_yticklabels()]
    ['bob', 'cy', 'ann']
    >>> plt.close()
    """
    visuals = validate_dict_argument(visuals, valid_keys=INTERVALS)
    aes_by_visuals = validate_dict_argument(aes_by_visuals, valid_keys=INTERVALS)
    found, wanted = selected(data, var_name, dim, coords)
    facets = facets_of(found, dim)
    places = selections(found, facets)
    draws = [adherence_draws(found.sel(one), var_name, dim, contrary=contrary) for one in places]
    ci_prob = interval_probability(ci_prob)
    tables = [_table(one, ci_prob, factor, outlier_prob) for one in draws]
    medians = [float(np.median(one.to_numpy(), axis=1).mean()) for one in draws]
    labels = labels_of(found, dim)
    mean = np.mean([table.loc[labels, "mean"] for table in tables], axis=0)
    shown, gap = _rows(labels[np.argsort(-mean, kind="stable")], wanted, max_rankers, dim)
    n_hidden = len(labels) - len(shown)
    everyone = _stacked([table.loc[shown] for table in tables], places, facets, dim)
    ends = {
        "twig": xr.concat([everyone["low"], everyone["high"]], "ci_bound"),
        "trunk": xr.concat([everyone["half_low"], everyone["half_high"]], "ci_bound"),
        "point_estimate": everyone["mean"],
    }

    names, y = [short_name(name) for name in shown], np.arange(len(shown))
    if gap is not None:
        y[gap:] += 1
    height = row_height(len(shown)) * (y[-1] + 1) + 0.75
    panels, data = interval_panels(
        found, facets, plot_collection, pc_kwargs, ends, everyone["status"], LOOKS, names=names,
        backend=backend, height=height, head=1.35, col_wrap=2,
    )  # fmt: skip
    draw_intervals(panels, data, xr.DataArray(y, dims=dim), visuals, aes_by_visuals)
    if gap is not None:
        names, y = [*names, f"{n_hidden} not shown"], np.append(y, y[gap] - 1)
    set_up_rows(panels, y, names, foot=len(shown) > 0.75 * MANY)
    right = max(*(float(everyone[name].max()) for name in ("high", "mean")), *medians) or 1.0
    left = min(float(everyone["low"].min()), 0.0)
    for (target, _), median in zip(panels, medians, strict=True):
        for x, style in ((median, "--"), (median / factor, ":"), (median * factor, ":")):
            draw_line_at(panels, x, target, style)
        if gap is not None and panels.is_matplotlib:
            for label in target.get_yticklabels()[len(shown) :]:
                label.set(color="#666666", style="italic")
        # room for a marker at 0
        panels.backend.xlim((1.03 * left - 0.02 * right, 1.03 * right), target)
    panels.title()

    title = f"{len(shown)} of {len(labels)} {dim}s" if n_hidden else ""
    if gap is not None:
        title += f": the {gap} highest and the {len(shown) - gap} lowest"
    axis = "Adherence, per unit of score"
    if panels.is_new and not facets:
        axis += " (0 = unrelated to the consensus)"
    handles = _handles(
        pd.concat([table["status"] for table in tables]),
        dim,
        factor,
        outlier_prob,
        counted=not facets,
    )
    handles += interval_handles(ci_prob, "mean")
    lines = f"mean, 50% and {100 * ci_prob:g}% interval"
    explain(panels, axis, lines, handles, title, ncols=2)
    return panels.pc


def _table(draws: pd.DataFrame, ci_prob: float, factor: float, outlier_prob: float) -> pd.DataFrame:
    """Summarise the draws of one panel, with the 50% interval and the status of each ranker."""
    table = summarise_adherences(draws, ci_prob, factor, outlier_prob)
    half = summarise_adherences(draws, 0.5, factor, outlier_prob)
    far_above = table["p_far_above"] >= outlier_prob
    status = np.where(table["outlier"], "below", np.where(far_above, "above", "other"))
    return table.assign(half_low=half["low"], half_high=half["high"], status=status)


def _stacked(
    tables: Sequence[pd.DataFrame],
    places: Sequence[Mapping[Hashable, Any]],
    facets: Sequence[Hashable],
    dim: str,
) -> xr.Dataset:
    """Return the tables of all panels with the dims of the panels."""
    columns = ["low", "high", "mean", "half_low", "half_high", "status"]
    parts = [
        table[columns].rename_axis(dim).to_xarray().assign_coords(where).expand_dims([*where])
        for table, where in zip(tables, places, strict=True)
    ]
    return cast("xr.Dataset", xr.combine_by_coords(parts)) if facets else parts[0]


def _rows(
    ranked: pd.Index, wanted: Sequence[Any] | None, most: int | None, dim: str
) -> tuple[pd.Index, int | None]:
    """Return the labels to show, from top to bottom, and the position of a gap, if any."""
    if most is not None and most < 1:
        raise ValueError(f"`max_rankers` is {most}; it must be 1 or more.")
    if wanted is not None or most is None or most >= len(ranked):
        return choose_labels(ranked, wanted, None, dim), None
    highest = most // 2
    return ranked[:highest].append(ranked[len(ranked) - (most - highest) :]), highest


def _handles(
    statuses: pd.Series, dim: str, factor: float, outlier_prob: float, *, counted: bool
) -> list[Line2D]:
    """Return the legend of the statuses, with counts for a single panel, and of the lines."""
    counts = statuses.value_counts()
    others = "other " if {"below", "above"} & {*counts.index} else ""
    words = {
        "below": f"does not follow: < {1 / factor:.3g} × median, P ≥ {outlier_prob:g}",
        "above": f"follows closely: > {factor:.3g} × median, P ≥ {outlier_prob:g}",
        "other": f"{others}{dim}s",
    }
    handles = []
    for status in [status for status in words if status in counts]:
        text = f"{words[status]} ({counts[status]})" if counted else words[status]
        look = LOOKS[status]
        handles.append(handle(text, look.line, marker=look.marker, linestyle="-"))
    handles.append(handle(f"median {dim}", DARK, 0.9, linestyle="--"))
    if factor > 1:
        text = f"{1 / factor:.3g} × and {factor:.3g} × the median"
        handles.append(handle(text, DARK, 0.9, linestyle=":"))
    return handles
