"""Utilities over time as parts of a PyMC model: random walks, trends, Matérn processes.

These are non-centred versions of `bayesrank.utility.dynamics`, on the grid of all times and items.
`bayesrank.fit_dynamic` approximates the same posterior for larger data.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.tensor import TensorVariable

from bayesrank.data import Pairs, Rankings
from bayesrank.data.read import label_times

__all__ = ["matern", "random_walk", "trend"]

JITTER = 1e-10  # jitter of correlations, because times may be arbitrarily close
ROOTS = {0.5: 1.0, 1.5: 3**0.5, 2.5: 5**0.5}  # square roots of twice the smoothness


def random_walk(
    name: str,
    scale: Any,
    drift: Any,
    *,
    dims: Sequence[str],
    data: Pairs | Rankings | None = None,
    unit: str = "year",
) -> TensorVariable:
    r"""Declare utilities that follow a random walk.

    .. math:: u_i(t_1) \sim N(0, \text{scale}^2), \qquad
              u_i(t') - u_i(t) \sim N(0, \text{drift}^2 (t' - t))

    Parameters
    ----------
    name : str
        Name of the utilities. The standard normals are named ``{name}_steps``.
    scale, drift : tensor_like of float, positive, () or (n_items,)
        Standard deviations of the utility when an item enters, and of its change per unit of time.
    dims : two str
        Dim of the times, a group of the data, and dim of the items. Both have coords in the model.
    data : Pairs or Rankings, optional
        The observed data. An item enters when it is first observed; by default, at the first time.
    unit : str
        Unit of time for dates. Numbers are used as times.

    Returns
    -------
    TensorVariable, (n_times, n_items)

    See Also
    --------
    utility.trend, utility.matern, fit_dynamic

    Examples
    --------
    >>> import bayesrank as br, pandas as pd, pymc as pm
    >>> table = pd.DataFrame({"x": [*"abc"], "y": [*"bca"], "won": ["first"] * 3})
    >>> table["day"] = ["2024-01-01", "2024-01-08", "2024-03-01"]
    >>> pairs = br.Pairs.from_frame(table, first="x", second="y", outcome="won", by="day")
    >>> with pm.Model(coords=pairs.coords) as model:
    ...     drift, dims = pm.HalfNormal("drift", 1), ("day", "item")
    ...     utility = br.utility.random_walk("utility", 1.0, drift, dims=dims, data=pairs)
    ...     y = br.BradleyTerry("y", utility, observed=pairs)
    >>> [rv.name for rv in model.free_RVs], model.named_vars_to_dims["utility"]
    (['drift', 'utility_steps'], ('day', 'item'))
    """
    grid = _Grid.read(name, dims, data, unit)
    return grid.named(name, grid.walk(grid.noise(f"{name}_steps"), scale, drift))


def trend(
    name: str,
    scale: Any,
    drift: Any,
    slope: Any,
    slope_drift: Any,
    *,
    dims: Sequence[str],
    data: Pairs | Rankings | None = None,
    unit: str = "year",
) -> TensorVariable:
    """Declare utilities that follow a random walk whose slope is a random walk.

    Parameters
    ----------
    name, scale, drift, dims, data, unit
        See `random_walk`.
    slope, slope_drift : tensor_like of float, positive, () or (n_items,)
        Standard deviations of the slope when an item enters, and of its change per unit of time.

    Returns
    -------
    TensorVariable, (n_times, n_items)

    See Also
    --------
    utility.random_walk, utility.matern, fit_dynamic

    Examples
    --------
    >>> import bayesrank as br, pandas as pd, pymc as pm
    >>> table = pd.DataFrame({"x": [*"abc"], "y": [*"bca"], "won": "first", "year": [1, 2, 4]})
    >>> pairs = br.Pairs.from_frame(table, first="x", second="y", outcome="won", by="year")
    >>> with pm.Model(coords=pairs.coords) as model:
    ...     utility = br.utility.trend("utility", 1.0, 0.1, 0.1, 0.1, dims=("year", "item"))
    ...     y = br.BradleyTerry("y", utility, observed=pairs)
    >>> [rv.name for rv in model.free_RVs]
    ['utility_steps', 'utility_turns', 'utility_bends']
    """
    grid = _Grid.read(name, dims, data, unit)
    level = grid.walk(grid.noise(f"{name}_steps"), scale, drift)
    slopes = grid.walk(grid.noise(f"{name}_turns"), slope, slope_drift)
    before = pt.concatenate([slopes[:1], slopes[:-1]])
    # integral of the slope between two times: the mean of both ends, plus noise
    between = grid.gap * (before + slopes) / 2
    between += slope_drift * np.sqrt(grid.gap**3 / 12) * grid.noise(f"{name}_bends")
    return grid.named(name, level + pt.cumsum(pt.where(grid.begun, between, 0.0), axis=0))


def matern(
    name: str,
    scale: Any,
    length: Any,
    *,
    smoothness: float = 1.5,
    dims: Sequence[str],
    unit: str = "year",
) -> TensorVariable:
    """Declare utilities that follow Matérn processes, which return to their mean of zero.

    Parameters
    ----------
    name, dims, unit
        See `random_walk`.
    scale : tensor_like of float, positive, () or (n_items,)
        Standard deviation at any time.
    length : tensor_like of float, positive, ()
        Length scale: the time over which the correlation decays.
    smoothness : float
        0.5, 1.5 or 2.5.

    Returns
    -------
    TensorVariable, (n_times, n_items)

    See Also
    --------
    utility.random_walk, utility.trend, fit_dynamic

    Examples
    --------
    >>> import bayesrank as br, pandas as pd, pymc as pm
    >>> table = pd.DataFrame({"x": [*"abc"], "y": [*"bca"], "won": "first", "year": [1, 2, 4]})
    >>> pairs = br.Pairs.from_frame(table, first="x", second="y", outcome="won", by="year")
    >>> with pm.Model(coords=pairs.coords) as model:
    ...     length = pm.InverseGamma("length", 3, 6)
    ...     utility = br.utility.matern("utility", 1.0, length, dims=("year", "item"))
    ...     y = br.BradleyTerry("y", utility, observed=pairs)
    >>> [rv.name for rv in model.free_RVs]
    ['length', 'utility_steps']
    """
    if smoothness not in ROOTS:
        raise ValueError(f"`smoothness` is {smoothness}; it must be 0.5, 1.5 or 2.5.")
    times, _ = _times(name, dims, None, unit)
    x = ROOTS[smoothness] * np.abs(times[:, None] - times) / length
    rise = {0.5: 1.0, 1.5: 1 + x, 2.5: 1 + x + x**2 / 3}[smoothness]
    correlation = rise * pt.exp(-x) + JITTER * np.eye(times.size)
    noise = pm.Normal(f"{name}_steps", 0, 1, dims=tuple(dims))
    return pm.Deterministic(
        name, scale * (pt.linalg.cholesky(correlation) @ noise), dims=tuple(dims)
    )


class _Grid(NamedTuple):
    """Sorted times, and the position at which every item enters."""

    dims: tuple[str, ...]
    order: NDArray[np.int64]  # positions that sort the labels
    gap: NDArray[np.float64]  # (n_times, 1) time since the previous time
    begins: NDArray[np.bool_]  # (n_times, n_items) whether the item enters at this time
    begun: NDArray[np.bool_]  # whether the item has entered earlier

    @classmethod
    def read(cls, name: str, dims: Sequence[str], data: Any, unit: str) -> "_Grid":
        times, entry = _times(name, dims, data, unit)
        order = np.argsort(times)
        gap = np.diff(times[order], prepend=times[order[0]])[:, None]
        place = np.arange(len(times))[:, None]
        return cls(tuple(dims), order, gap, place == entry, place > entry)

    def noise(self, name: str) -> TensorVariable:
        return pm.Normal(name, 0, 1, dims=self.dims)[self.order]

    def walk(self, noise: TensorVariable, scale: Any, drift: Any) -> TensorVariable:
        """Compute the random walk; before an item enters, its value is the value at entry."""
        start = pt.sum(pt.where(self.begins, noise, 0.0), axis=0)
        steps = pt.where(self.begun, drift * np.sqrt(self.gap) * noise, 0.0)
        return scale * start + pt.cumsum(steps, axis=0)

    def named(self, name: str, values: TensorVariable) -> TensorVariable:
        return pm.Deterministic(name, values[np.argsort(self.order)], dims=self.dims)


def _times(
    name: str, dims: Sequence[str], data: Any, unit: str
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Read the times of a grid, and the position in sorted order at which every item enters."""
    model = pm.modelcontext(None)
    dims = (dims,) if isinstance(dims, str) else tuple(dims)
    labels = [model.coords.get(dim) for dim in dims]
    if len(dims) != 2 or any(x is None for x in labels):
        raise ValueError(
            f"The dims of {name!r} are {dims}; expected two dims with coords in the model, times "
            "and items. Use pm.Model(coords=pairs.coords)."
        )
    times = label_times(pd.Index(list(labels[0])), dims[0], unit)
    entry = np.zeros(len(labels[1]), dtype=np.int64)
    if data is not None:
        if dims[0] not in data.groups:
            raise ValueError(f"The data of {name!r} have no group {dims[0]!r}; name it in `by`.")
        place = np.argsort(np.argsort(times))[data.groups[dims[0]].idx]
        entry[:] = len(times) - 1
        if isinstance(data, Pairs):
            for item in (data.first, data.second):
                np.minimum.at(entry, item, place)
        else:
            row, _ = np.nonzero(data.mask)
            np.minimum.at(entry, data.item[data.mask], place[row])
    return times, entry
