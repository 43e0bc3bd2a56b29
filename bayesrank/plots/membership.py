"""The picture of memberships: who is of which kind, and how sure that is."""

from typing import Any

import numpy as np
import xarray as xr
from arviz import PlotCollection
from matplotlib.axes import Axes
from matplotlib.patches import Patch, StepPatch
from numpy.typing import NDArray

from bayesrank.plots.panels import Panels, labels_of, short_name
from bayesrank.plots.rows import without_box

__all__ = ["plot_membership"]

# Okabe-Ito, in an order in which neighbours are far apart, and a grey
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#8a8a8a")
NAMED = 40  # units up to which each has a name
LONGEST = 24  # characters of a name that stands upright


def plot_membership(
    membership: xr.DataArray,
    *,
    dim: str = "kind",
    plot_collection: PlotCollection | None = None,
    **pc_kwargs: Any,
) -> PlotCollection:
    """Draw the probability of every kind for every ranker, side by side.

    Each ranker is an upright bar of height one, coloured by the probabilities of the kinds, the
    most probable one at the bottom. They stand by that kind, the surest first: a kind whose colour
    reaches the top is one of people who are certainly of it, and where it falls are those who could
    be of others. Up to 40 have their names below.

    Parameters
    ----------
    membership : DataArray
        From `bayesrank.membership`: the dims of the kinds and of the rankers or rankings.
    dim : str
        Dim of the kinds, 8 at most.
    plot_collection, **pc_kwargs
        As in `plot_ranks`.

    Returns
    -------
    PlotCollection
        With the visual membership in ``viz``, one per kind, and legend on a new figure, which says
        how many are most probably of each kind.

    Raises
    ------
    ValueError
        If there is no such dim or not one other, there are more than 8 kinds, or the probabilities
        of a ranker do not sum to one.

    References
    ----------
    Rosenberg et al., Genetic structure of human populations, Science 2002, which drew shares of
    ancestry so.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> p = xr.DataArray([[0.2, 0.8], [0.9, 0.1], [0.6, 0.4]], dims=("ranker", "kind"),
    ...                  coords={"ranker": ["ann", "bob", "cy"], "kind": ["sweet", "sour"]})
    >>> pc = plot_membership(p)
    >>> [name.get_text() for name in pc.get_target("membership", {}).get_xticklabels()]
    ['bob', 'cy', 'ann']
    >>> plt.close()
    """
    values = _checked(membership, dim)
    units = str(values.dims[0])
    probability = values.to_numpy()
    kind = probability.argmax(axis=1)
    order = np.lexsort((-probability.max(axis=1), kind))
    names = [short_name(name, LONGEST) for name in labels_of(values, units)[order]]
    below, width = 0.08 * max(map(len, names)) + 0.2, 0.22 * len(order)
    if len(order) > NAMED:
        below, width = 0.3, 0.0

    panels = Panels(values, [], plot_collection, pc_kwargs, width=width, height=1.55 + below)
    ((ax, _),) = panels
    panels.keep("membership", _bars(ax, probability[order]), [dim])
    ax.set(xlim=(-0.5, len(names) - 0.5), ylim=(0, 1), ylabel="Probability")
    without_box(ax)
    if len(order) > NAMED:
        ax.set_xticks([])
        ax.set_xlabel(f"{len(names):,} {units}s, by kind, the surest first")
    else:
        ax.set_xticks(range(len(names)), names, fontsize=9, rotation=90, parse_math=False)
        ax.tick_params(axis="x", length=0)
    counts = np.bincount(kind, minlength=values.sizes[dim])
    handles = [
        Patch(color=colour, label=f"{short_name(label, LONGEST)} ({n:,})")
        for colour, label, n in zip(COLOURS, labels_of(values, dim).tolist(), counts, strict=False)
    ]
    title = f"{dim} (how many {units}s are most probably of it)"
    panels.legend(handles, title, min(len(handles), 5))
    return panels.pc


def _checked(membership: xr.DataArray, dim: str) -> xr.DataArray:
    """Return the memberships as units by kinds."""
    dims = list(getattr(membership, "dims", ()))
    others = [d for d in dims if d != dim]
    if dim not in dims or len(others) != 1:
        raise ValueError(
            f"`membership` has the dims {dims}; it must have {dim!r} and one other, of the rankers "
            "or rankings. Pass what bayesrank.membership returned, and name the dim of the kinds "
            "with dim=."
        )
    if membership.sizes[dim] > len(COLOURS):
        raise ValueError(
            f"There are {membership.sizes[dim]} kinds, and colours for {len(COLOURS)} that can be "
            "told apart: draw some of them."
        )
    values = membership.transpose(others[0], dim).rename("membership")
    total = values.sum(dim).to_numpy()
    for row in np.flatnonzero(~np.isclose(total, 1))[:1]:
        label = labels_of(values, others[0]).tolist()[row]
        raise ValueError(
            f"The probabilities of {others[0]} {label!r} sum to {total[row]:.3g}, and not to one."
        )
    return values


def _bars(ax: Axes, probability: NDArray[np.float64]) -> list[StepPatch]:
    """Stack the probabilities (n_units, n_kinds), the most probable kind at the bottom."""
    edges = np.arange(len(probability) + 1) - 0.5
    own = np.eye(probability.shape[1], dtype=bool)[probability.argmax(axis=1)]
    others = np.where(own, 0.0, probability)
    first = np.where(own, probability, 0.0).sum(axis=1, keepdims=True)
    bottom = np.where(own, 0.0, first + np.cumsum(others, axis=1) - others)
    return [
        ax.stairs(low + size, edges, baseline=low, fill=True, color=colour)
        for colour, low, size in zip(COLOURS, bottom.T, probability.T, strict=False)
    ]
