"""Plot of component probabilities: which ranker belongs to which component."""

from typing import Any

import numpy as np
import xarray as xr
from arviz import PlotCollection
from matplotlib.axes import Axes
from matplotlib.patches import Patch, StepPatch
from numpy.typing import NDArray

from bayesrank.plots.panels import Panels, labels_of, short_name
from bayesrank.plots.rows import without_box

__all__ = ["plot_components"]

# Okabe-Ito colours, ordered so that neighbours are distinct, and a grey
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#8a8a8a")
NAMED = 40  # most units with names
LONGEST = 24  # most characters of a vertical name


def plot_components(
    probabilities: xr.DataArray,
    *,
    dim: str = "component",
    plot_collection: PlotCollection | None = None,
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
        rankings.
    dim : str
        Dim of the components, at most 8.
    plot_collection, **pc_kwargs
        As in `plot_ranks`.

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

    References
    ----------
    Rosenberg et al., Genetic structure of human populations, Science 2002.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> p = xr.DataArray([[0.2, 0.8], [0.9, 0.1], [0.6, 0.4]], dims=("ranker", "component"),
    ...                  coords={"ranker": ["ann", "bob", "cy"], "component": ["sweet", "sour"]})
    >>> pc = plot_components(p)
    >>> [name.get_text() for name in pc.get_target("probability", {}).get_xticklabels()]
    ['bob', 'cy', 'ann']
    >>> plt.close()
    """
    values = _checked(probabilities, dim)
    units = str(values.dims[0])
    probability = values.to_numpy()
    component = probability.argmax(axis=1)
    order = np.lexsort((-probability.max(axis=1), component))
    names = [short_name(name, LONGEST) for name in labels_of(values, units)[order]]
    below, width = 0.08 * max(map(len, names)) + 0.2, 0.22 * len(order)
    if len(order) > NAMED:
        below, width = 0.3, 0.0

    panels = Panels(values, [], plot_collection, pc_kwargs, width=width, height=1.55 + below)
    ((ax, _),) = panels
    panels.keep("probability", _bars(ax, probability[order]), [dim])
    ax.set(xlim=(-0.5, len(names) - 0.5), ylim=(0, 1), ylabel="Probability")
    without_box(ax)
    if len(order) > NAMED:
        ax.set_xticks([])
        ax.set_xlabel(f"{len(names):,} {units}s, by component, the most certain first")
    else:
        ax.set_xticks(range(len(names)), names, fontsize=9, rotation=90, parse_math=False)
        ax.tick_params(axis="x", length=0)
    counts = np.bincount(component, minlength=values.sizes[dim])
    handles = [
        Patch(color=colour, label=f"{short_name(label, LONGEST)} ({n:,})")
        for colour, label, n in zip(COLOURS, labels_of(values, dim).tolist(), counts, strict=False)
    ]
    title = f"{dim} (number of {units}s that most probably belong to it)"
    panels.legend(handles, title, min(len(handles), 5))
    return panels.pc


def _checked(probabilities: xr.DataArray, dim: str) -> xr.DataArray:
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


def _bars(ax: Axes, probability: NDArray[np.float64]) -> list[StepPatch]:
    """Stack the probabilities (n_units, n_components), the most probable one at the bottom."""
    edges = np.arange(len(probability) + 1) - 0.5
    largest = np.eye(probability.shape[1], dtype=bool)[probability.argmax(axis=1)]
    others = np.where(largest, 0.0, probability)
    first = np.where(largest, probability, 0.0).sum(axis=1, keepdims=True)
    bottom = np.where(largest, 0.0, first + np.cumsum(others, axis=1) - others)
    return [
        ax.stairs(low + size, edges, baseline=low, fill=True, color=colour)
        for colour, low, size in zip(COLOURS, bottom.T, probability.T, strict=False)
    ]
