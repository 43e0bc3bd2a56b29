"""Probabilities of places: where an item may be, and whether it is among the first few."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayesrank.results.draws import (
    check_tops,
    each_group,
    group_results,
    posterior_utilities,
    ranks_of,
)

__all__ = ["place_probability", "top_probability"]


def place_probability(data: Any, var: str = "utility", *, dim: str = "item") -> xr.DataArray:
    """Probability of every place for every item.

    Parameters
    ----------
    data : DataTree, Dataset or DataArray
        Posterior with dims chain, draw and `dim`.
    var : str
        The variable to rank, highest first.
    dim : str
        The dim of the items.

    Returns
    -------
    DataArray, (..., dim, place)
        The share of draws in which the item has the place 1, 2, ..., n: every row sums to one.
        So does every column, unless items are equal within a draw: they share the better place.

    Raises
    ------
    ValueError
        If the variable or a dim is missing, there is no draw or one is not finite, or there is a
        dim called place.

    Examples
    --------
    >>> u = xr.DataArray([[[2.0, 1.0, 0.0], [2.0, 3.0, 0.0]]], dims=("chain", "draw", "item"))
    >>> place_probability(u).values.tolist()
    [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    """
    utility = posterior_utilities(data, var, dim)
    n_items = utility.sizes[dim]
    shares = []
    for draws in each_group(utility, dim):
        ranks = ranks_of(draws)
        counts = [np.bincount(of_item, minlength=n_items + 1)[1:] for of_item in ranks.T]
        shares.append(np.stack(counts) / len(draws))
    new = {"place": range(1, n_items + 1)}
    return group_results(shares, utility, dim, "place_probability", new=new)


def top_probability(
    data: Any, top: int | Sequence[int], var: str = "utility", *, dim: str = "item"
) -> xr.DataArray:
    r"""Probability of being among the first k, :math:`P(\text{rank} \le k)`.

    Parameters
    ----------
    data : DataTree, Dataset or DataArray
        Posterior with dims chain, draw and `dim`.
    top : int or sequence of int
        The k, 1 or more. It may be larger than the number of items, which makes it certain.
    var : str
        The variable to rank, highest first.
    dim : str
        The dim of the items.

    Returns
    -------
    DataArray, (..., dim) or (..., dim, top)
        With the dim top if `top` is a sequence. Over the items, probabilities sum to k, or more if
        items are equal within a draw.

    Raises
    ------
    ValueError
        If the variable or a dim is missing, there is no draw or one is not finite, `top` is not
        whole, less than 1, empty or repeated, or it is a sequence and there is a dim called top.

    Examples
    --------
    >>> u = xr.DataArray([[[2.0, 1.0, 0.0], [2.0, 3.0, 0.0]]], dims=("chain", "draw", "item"),
    ...                  coords={"item": ["a", "b", "c"]})
    >>> top_probability(u, 1).values.tolist()
    [0.5, 0.5, 0.0]
    >>> top_probability(u, [1, 2]).sel(item="a", top=2).item()
    1.0
    """
    tops = check_tops(top)
    utility = posterior_utilities(data, var, dim)
    shares = []
    for draws in each_group(utility, dim):
        ranks = ranks_of(draws)
        shares.append(np.stack([(ranks <= k).mean(0) for k in tops], axis=1))
    if isinstance(top, Sequence | np.ndarray):
        return group_results(shares, utility, dim, "top_probability", new={"top": list(tops)})
    return group_results([one[:, 0] for one in shares], utility, dim, "top_probability")
