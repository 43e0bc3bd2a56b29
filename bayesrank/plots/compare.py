"""Plot of a model comparison: differences in expected log predictive density."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from arviz import PlotCollection
from arviz_base.validate import validate_dict_argument
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from bayesrank.plots.panels import Panels, short_name
from bayesrank.plots.rows import (
    DARK,
    INTERVALS,
    LEADING,
    OTHER,
    WARNING,
    Style,
    draw_intervals,
    draw_line_at,
    handle,
    interval_panels,
    row_height,
    set_up_rows,
)
from bayesrank.results import RANDOM

__all__ = ["plot_compare"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

LOOKS = {
    "near": Style(LEADING, LEADING),
    "worse": Style(OTHER, OTHER),
    "baseline": Style(OTHER, OTHER, "s"),
    "near, unreliable": Style(LEADING, WARNING, "^"),
    "worse, unreliable": Style(OTHER, WARNING, "^"),
}
NEAR, WORSE = ("near", "near, unreliable"), ("worse", "worse, unreliable")
FAR = 5.0  # a model this many times farther than all better models is off the scale


def plot_compare(
    table: pd.DataFrame,
    *,
    plot_collection: PlotCollection | None = None,
    backend: str | None = None,
    aes_by_visuals: Mapping[str, Sequence[str]] | None = None,
    visuals: Mapping[str, Mapping[str, Any] | bool] | None = None,
    **pc_kwargs: Any,
) -> PlotCollection:
    """Plot how much worse each model predicts left-out observations than the best model.

    The marker is the difference in expected log predictive density (elpd) from the best model. A
    thick line is one standard error of the difference on either side, a thin line two. Models
    within two standard errors of the best have its colour. A triangle marks models for which
    leave-one-out is not reliable (Pareto k). The row "random ranking" is a grey square: it is a
    baseline, and not a candidate.

    A model five times as far from the best as all better models, often random ranking, would
    compress the scale. It is drawn at the edge, with an arrow and its number.

    Parameters
    ----------
    table : DataFrame
        From `bayesrank.compare`: one row per model with elpd_diff and dse, best
        first. The column diag_elpd is optional.
    plot_collection, backend, aes_by_visuals, visuals, **pc_kwargs
        As in `plot_ranks`, with the visuals twig, trunk and point_estimate. Colours and markers
        show the status.

    Returns
    -------
    PlotCollection
        The visuals twig, trunk and point_estimate are in ``viz``. A new figure also has the legend.

    Raises
    ------
    TypeError
        If `table` is not a DataFrame.
    ValueError
        If it lacks these columns or has no rows, or a number is not finite.

    See Also
    --------
    compare

    Examples
    --------
    >>> import pandas as pd
    >>> import bayesrank as br
    >>> import matplotlib.pyplot as plt
    >>> table = pd.DataFrame({"elpd_diff": [0.0, -2.5], "dse": [0.0, 1.1]}, ["ties", "no ties"])
    >>> pc = br.plot_compare(table)
    >>> [name.get_text() for name in pc.get_target("elpd_diff", {}).get_yticklabels()]
    ['ties', 'no ties']
    >>> plt.close()
    """
    _check(table)
    names = [short_name(name) for name in table.index]
    diff, dse = table["elpd_diff"].to_numpy(float), table["dse"].to_numpy(float)
    near, far = diff + 2 * dse >= 0, _far(diff, dse)
    doubtful = np.full(len(table), False)
    if "diag_elpd" in table:
        doubtful = table["diag_elpd"].fillna("").astype(str).to_numpy() != ""

    statuses = [(NEAR if x else WORSE)[k] for x, k in zip(near, doubtful.astype(int), strict=True)]
    is_model = table.index != RANDOM
    statuses = [x if model else "baseline" for x, model in zip(statuses, is_model, strict=True)]
    everyone = xr.DataArray(diff, dims="model", name="elpd_diff")
    status = xr.DataArray(statuses, dims="model")
    on_scale = everyone.where(~far)
    ends = {
        name: xr.concat([on_scale - k * dse, on_scale + k * dse], "ci_bound")
        for name, k in (("twig", 2), ("trunk", 1))
    } | {"point_estimate": on_scale}
    height = row_height(len(names)) * len(names) + 0.75
    panels, data = interval_panels(
        everyone, [], plot_collection, pc_kwargs, ends, status, LOOKS, names=names,
        backend=backend, height=height, head=1.15,
    )  # fmt: skip
    y = np.arange(len(names))
    set_up_rows(panels, y, names, foot=False)
    ((target, _),) = panels
    draw_line_at(panels, 0.0, target, "--")
    draw_intervals(
        panels,
        data,
        xr.DataArray(y, dims="model"),
        validate_dict_argument(visuals, valid_keys=INTERVALS),
        validate_dict_argument(aes_by_visuals, valid_keys=INTERVALS),
    )
    _write(panels, target, diff, dse, doubtful, far)
    panels.backend.xlabel(
        "Difference in expected log predictive density (elpd) from the best model\n"
        "← worse predictions",
        target,
        size=9,
    )
    panels.legend(_handles(near, doubtful, is_model))
    return panels.pc


def _check(table: pd.DataFrame) -> None:
    """Raise unless the table has the columns to plot."""
    if not isinstance(table, pd.DataFrame):
        raise TypeError(
            f"`table` is of type {type(table).__name__}; pass the DataFrame that compare returned."
        )
    lacking = [name for name in ("elpd_diff", "dse") if name not in table]
    if lacking or table.empty:
        problem = f"no column {lacking[0]!r}" if lacking else "no rows"
        raise ValueError(f"`table` has {problem}; pass the DataFrame that compare returned.")
    for name, highest in (("elpd_diff", 0.0), ("dse", np.inf)):
        x = table[name].to_numpy(float)
        if name == "dse" and np.isnan(x).any():
            raise ValueError(
                "dse is NaN, because the models were compared by one observation. Its standard "
                "error is unknown, so there is no interval to plot."
            )
        for row in np.flatnonzero(~(np.isfinite(x) & (x <= highest)))[:1]:
            raise ValueError(
                f"{name} of {table.index[row]!r} is {x[row]:g}; it must be finite, and elpd_diff "
                "must be at most 0. Pass the DataFrame that compare returned."
            )


def _far(diff: Floats, dse: Floats) -> Bools:
    """Return whether a model is so far off that it would compress the scale of the others."""
    order = np.argsort(-diff, kind="stable")
    reach = np.maximum.accumulate((2 * dse - diff)[order])
    cut = next((i for i in range(2, len(order)) if -diff[order[i]] > FAR * reach[i - 1]), None)
    far = np.full(len(diff), False)
    far[order[cut:] if cut else []] = True
    return far


def _write(
    panels: Panels, target: Any, diff: Floats, dse: Floats, doubtful: Bools, far: Bools
) -> None:
    """Write the numbers at the right, and draw arrows for models off the scale."""
    low, high = (diff - 2 * dse)[~far].min(), (diff + 2 * dse)[~far].max()
    air = 0.06 * (high - low) or 1.0
    left = low - (4 if far.any() else 1) * air
    panels.backend.xlim((left, high + air), target)
    look: dict[str, Any] = {"size": 9, "color": DARK, "vertical_align": "center"}
    look["horizontal_align"] = "left"
    for row, (gap, error) in enumerate(zip(diff, dse, strict=True)):
        text = "best" if gap == 0 else _in_words(gap, error)
        panels.backend.text(high + 1.2 * air, row, text, target, **look)
    for row in np.flatnonzero(far).tolist():
        text = "off the scale; Pareto k" if doubtful[row] else "off the scale"
        colour = WARNING if doubtful[row] else OTHER
        panels.backend.scatter(left + air / 2, row, target, marker="<", color=colour, size=36)
        panels.backend.text(left + 1.2 * air, row, text, target, **look)


def _handles(near: Bools, doubtful: Bools, is_model: Bools) -> list[Line2D]:
    """Return the legend of the colours and markers in use."""
    handles = [handle("within 2 standard errors of the best", LEADING)]
    if not near[is_model].all():
        handles.append(handle("more than 2 standard errors worse", OTHER))
    if not is_model.all():
        handles.append(handle("baseline", OTHER, marker="s"))
    handles += [
        handle("difference", marker="o"),
        handle("± 1 standard error", linewidth=4.5),
        handle("± 2 standard errors", linewidth=1.2),
    ]
    if doubtful.any():
        handles.append(handle("Pareto k too high: not reliable", WARNING, marker="^"))
    return handles


def _in_words(diff: float, dse: float) -> str:
    """Write a difference and its error with few digits."""
    digits = 0 if abs(diff) >= 100 else 1
    return f"{diff:,.{digits}f} ± {dse:,.{digits}f}".replace("-", "−")  # minus sign, not hyphen
