"""Plot of component probabilities: which ranker belongs to which component."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from arviz import PlotCollection
from arviz_base.validate import validate_dict_argument
from arviz_plots.plot_collection import backend_from_object
from arviz_plots.plots.utils import get_visual_kwargs
from matplotlib.patches import Patch

from bayesrank.plots.panels import Panels, labels_of, models_of, short_name, side_by_side
from bayesrank.plots.rows import without_box

__all__ = ["plot_components"]

# Okabe-Ito colours, ordered so that neighbours are distinct, and a grey
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#8a8a8a")
VISUALS = ("probability", "ticklabels", "title", "legend")
NAMED = 40  # most units with names
LONGEST = 24  # most characters of a vertical name


def plot_components(
    probabilities: xr.DataArray | dict[str, xr.DataArray],
    *,
    dim: str = "component",
    coords: Mapping[str, Any] | None = None,
    plot_collection: PlotCollection | None = None,
    backend: str | None = None,
    visuals: Mapping[str, Mapping[str, Any] | bool] | None = None,
    **pc_kwargs: Any,
) -> PlotCollection:
    """Plot the probability of every component for every ranker as stacked bars.

    Each ranker is a vertical bar, coloured by the probabilities of the components, with the most
    probable component at the bottom. Rankers are grouped by that component, the most certain first.
    A colour that reaches the top shows rankers who certainly belong to the component. At most 40
    rankers have names.

    Parameters
    ----------
    probabilities : DataArray
        From `bayesrank.component_probabilities`: the dims of the components and of the rankers or
        rankings. A dict of them by the name of the model gives one panel per model.
    dim : str
        Dim of the components, at most 8.
    coords : mapping, optional
        Labels of the rankers or rankings to show.
    plot_collection, backend, **pc_kwargs
        As in `plot_ranks`. The colours show the components; ``color=[...]`` sets others.
    visuals : mapping, optional
        Options of the visuals probability (the bars), ticklabels, title and legend; False omits a
        visual.

    Returns
    -------
    PlotCollection
        The visual "probability" is in ``viz``, one per component. The legend of a new figure counts
        the rankers or rankings that most probably belong to each component.

    Raises
    ------
    ValueError
        If `dim` is missing, or there is not exactly one other dim. If there are more than 8
        components, or the probabilities of a ranker do not sum to one.

    See Also
    --------
    component_probabilities

    References
    ----------
    Rosenberg et al., Genetic structure of human populations, Science 2002.

    Examples
    --------
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> import matplotlib.pyplot as plt
    >>> p = xr.DataArray([[0.2, 0.8], [0.9, 0.1], [0.6, 0.4]], dims=("ranker", "component"),
    ...                  coords={"ranker": ["ann", "bob", "cy"], "component": ["sweet", "sour"]})
    >>> pc = br.plot_components(p)
    >>> [name.get_text() for name in pc.get_target("probability", {}).get_xticklabels()]
    ['bob', 'cy', 'ann']
    >>> plt.close()
    """
    visuals = validate_dict_argument(visuals, valid_keys=VISUALS)
    models = models_of(probabilities)
    found = [_check_probabilities(one, dim).sel(coords or {}) for one in models.values()]
    units, largest = str(found[0].dims[0]), max(len(one) for one in found)
    sorted_ = [_sorted(one) for one in found]
    names = [[short_name(x, LONGEST) for x in labels_of(one, units)] for one in sorted_]
    below, width = 0.08 * max(len(name) for one in names for name in one) + 0.2, 0.22 * largest
    if largest > NAMED:
        below, width = 0.3, 0.0

    bars = [_bars(one) for one in sorted_]
    values = side_by_side(bars, [*models])
    facets = [] if [*models] == [None] else ["model"]
    panels = Panels(
        values, facets, plot_collection, pc_kwargs, data=values.to_dataset(), backend=backend,
        aes={"color": [dim]}, cycles={"color": COLOURS}, width=width, height=1.75 + below,
        col_wrap=1,
    )  # fmt: skip
    if (look := get_visual_kwargs(visuals, "probability")) is not False:
        panels.drawn.map(_stairs, "probability", data=values.to_dataset(), **look)
    ticks = get_visual_kwargs(visuals, "ticklabels")
    for (target, _), one in zip(panels, names, strict=True):
        panels.backend.xlim((-0.5, len(one) - 0.5), target)
        panels.backend.ylim((0, 1), target)
        panels.backend.ylabel("Probability", target)
        if panels.is_matplotlib:
            without_box(target)
            target.tick_params(axis="x", length=0)
        if largest > NAMED or ticks is False:
            panels.backend.xticks([], [], target)
            text = f"{len(one):,} {units}s, by component, the most certain first"
            panels.backend.xlabel(text, target)
        else:
            style: dict[str, Any] = {"parse_math": False} if panels.is_matplotlib else {}
            style |= {"size": 9, "rotation": 90, **ticks}
            panels.backend.xticks([*range(len(one))], one, target, **style)
            panels.backend.xlabel(units, target)
    if (look := get_visual_kwargs(visuals, "title")) is not False:
        panels.title(**look)
    if visuals.get("legend", True) is False:
        return panels.pc
    most_probable = [one.argmax(dim) for one in found]
    counts = np.sum([np.bincount(k, minlength=values.sizes[dim]) for k in most_probable], axis=0)
    aes = panels.drawn.aes
    colours = dict(aes["color"].dataset["mapping"].to_series().items())
    handles = [
        Patch(color=colours[label], label=f"{short_name(label, LONGEST)} ({n:,})")
        for label, n in zip(labels_of(values, dim).tolist(), counts, strict=True)
        if label in colours
    ]
    title = f"{dim} (number of {units}s that most probably belong to it)"
    panels.legend(handles, title, min(len(handles), 5) or 1)
    return panels.pc


def _check_probabilities(probabilities: xr.DataArray, dim: str) -> xr.DataArray:
    """Return the checked probabilities, units by components."""
    dims = list(getattr(probabilities, "dims", ()))
    others = [d for d in dims if d != dim]
    if dim not in dims or len(others) != 1:
        raise ValueError(
            f"`probabilities` has the dims {dims}; it must have {dim!r} and one other, of rankers "
            "or rankings. Pass the result of bayesrank.component_probabilities, and name the dim "
            "of the components with dim=."
        )
    if probabilities.sizes[dim] > len(COLOURS):
        raise ValueError(
            f"There are {probabilities.sizes[dim]} components but only {len(COLOURS)} distinct "
            "colours. Select some of the components."
        )
    values = probabilities.transpose(others[0], dim).rename("probability")
    total = values.sum(dim).to_numpy()
    for row in np.flatnonzero(~np.isclose(total, 1))[:1]:
        label = labels_of(values, others[0]).tolist()[row]
        raise ValueError(
            f"The probabilities of {others[0]} {label!r} sum to {total[row]:.3g}; they must sum to "
            "one. Pass the result of bayesrank.component_probabilities."
        )
    return values


def _sorted(values: xr.DataArray) -> xr.DataArray:
    """Sort units by their most probable component, the most certain first."""
    probability = values.to_numpy()
    return values[np.lexsort((-probability.max(axis=1), probability.argmax(axis=1)))]


def _bars(values: xr.DataArray) -> xr.DataArray:
    """Return the ends of stacked bars (unit, component, end), the most probable at the bottom."""
    probability = values.to_numpy()
    largest = np.eye(probability.shape[1], dtype=bool)[probability.argmax(axis=1)]
    others = np.where(largest, 0.0, probability)
    first = np.where(largest, probability, 0.0).sum(axis=1, keepdims=True)
    bottom = np.where(largest, 0.0, first + np.cumsum(others, axis=1) - others)
    ends = np.stack([bottom, bottom + probability], axis=-1)
    place = np.arange(len(probability))  # models may have other units
    dims = "place", str(values.dims[1]), "end"
    labels = {dims[0]: place, dims[1]: values[dims[1]].to_numpy()}
    return xr.DataArray(ends, labels, dims, name="probability")


def _stairs(da: xr.DataArray, target: Any, **look: Any) -> Any:
    """Fill the steps between the ends of one component."""
    low, high = da.dropna("place").transpose("end", "place").to_numpy()
    edges = np.repeat(np.arange(len(low) + 1) - 0.5, 2)[1:-1]
    draw = backend_from_object(target).fill_between_y
    return draw(edges, np.repeat(low, 2), np.repeat(high, 2), target, **look)
