"""Probabilities that one item beats another."""

from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesrank.results.draws import (
    each_group,
    group_results,
    posterior_utilities,
    ranks_of,
)

__all__ = ["times_above", "win_probability"]

BLOCK = 32
"""Items compared at a time: their draws, and the results, stay in the cache."""


def win_probability(
    data: Any,
    var: str = "utility",
    *,
    dim: str = "item",
    of: Literal["utility", "match"] = "utility",
) -> xr.DataArray:
    r"""Probability that one item beats another, for every pair.

    Two questions are easily confused. ``of="utility"`` is about the items: the posterior
    probability that :math:`w_i > w_j`, which goes to 0 or 1 as data come in. ``of="match"`` is
    about the next comparison: the posterior mean of :math:`1/(1 + e^{w_j - w_i})`, which does not.

    Parameters
    ----------
    data : DataTree, Dataset or DataArray
        Posterior with dims chain, draw and `dim`.
    var : str
        The variable to compare.
    dim : str
        The dim of the items.
    of : {"utility", "match"}
        Which of the two probabilities.

    Returns
    -------
    DataArray, (..., dim, dim + "_other")
        Row beats column; one half on the diagonal.

    Raises
    ------
    ValueError
        If the variable or a dim is missing, there is no draw or one is not finite, or `of` is
        neither.

    Examples
    --------
    >>> u = xr.DataArray([[[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]],
    ...                  dims=("chain", "draw", "item"), coords={"item": ["a", "b"]})
    >>> float(win_probability(u).sel(item="a", item_other="b"))
    0.75
    """
    kernels = {"utility": _above, "match": _wins_next}
    if of not in kernels:
        raise ValueError(f"`of` is {of!r}; it is one of {', '.join(map(repr, kernels))}.")
    utility = posterior_utilities(data, var, dim)
    found = [kernels[of](draws) for draws in each_group(utility, dim)]
    others = utility[dim].values if dim in utility.coords else None
    return group_results(found, utility, dim, "win_probability", new={f"{dim}_other": others})


def times_above(utility: NDArray[np.float64]) -> NDArray[np.int64]:
    """Count the draws in which one item is above another, for every pair.

    Parameters
    ----------
    utility : array, shape (n_draws, n_items)
        Draws of one group.

    Returns
    -------
    array of int, shape (n_items, n_items)
        Row above column; 0 on the diagonal.

    Examples
    --------
    >>> times_above(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 0.0], [0.0, 1.0]])).tolist()
    [[0, 2], [1, 0]]
    """
    n_items = utility.shape[1]
    # Ranks say as much as utilities; the narrower they are, the faster they are compared
    narrow = np.int16 if n_items < 2**15 else np.int32
    by_item = np.ascontiguousarray(ranks_of(utility).T, dtype=narrow)
    above = np.empty((n_items, n_items), np.int64)
    for start in range(0, n_items, BLOCK):
        others = by_item[start : start + BLOCK]
        for i, ranks in enumerate(by_item):
            above[i, start : start + BLOCK] = (ranks < others).sum(1, dtype=np.int32)
    return above


def _above(utility: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares of draws in which row is above column; equal ones count half for each."""
    above, n_draws = times_above(utility), len(utility)
    return (n_draws + above - above.T) / (2 * n_draws)


def _wins_next(utility: NDArray[np.float64]) -> NDArray[np.float64]:
    """Posterior means of 1/(1 + exp(column - row))."""
    by_item = np.ascontiguousarray(utility.T)  # one item against all at a time stays in cache
    return np.stack([0.5 + 0.5 * np.tanh(0.5 * (w - by_item)).mean(1) for w in by_item])
