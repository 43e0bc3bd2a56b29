"""Probability of each place, of being among the best k, and that one item beats another."""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesrank.results.draws import (
    by_group,
    check_rope,
    places_of,
    posterior_utilities,
    ranks_of,
)

__all__ = ["place_probability", "times_above", "win_probability"]

ROUNDING = 1e-12  # smaller shares of draws are sums that should be zero


def place_probability(data: Any, var_name: str = "utility", *, dim: str = "item") -> xr.DataArray:
    """Compute the probability of every rank for every item.

    Parameters
    ----------
    data, var_name, dim
        Posterior, variable and dim of the items, as in `rank_draws`.

    Returns
    -------
    DataArray, (..., dim, place)
        The share of draws in which the item has the place 1, 2, ..., n. If m items are equal in a
        draw, each of them has each of their m places with probability 1/m. So every row and every
        column sums to one. The sum over the first k places,
        ``.sel(place=slice(k)).sum("place")``, is the probability of being among the best k.

    Raises
    ------
    ValueError
        For the reasons of `rank_draws`, or if there is a dim called place.

    See Also
    --------
    plot_places, rank_summary, win_probability

    Examples
    --------
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> u = xr.DataArray([[[2.0, 1.0, 0.0], [2.0, 3.0, 0.0]]], dims=("chain", "draw", "item"))
    >>> br.place_probability(u).values.tolist()
    [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    """
    utility = posterior_utilities(data, var_name, dim)
    n_items = utility.sizes[dim]

    def shares(draws: NDArray[np.float64]) -> NDArray[np.float64]:
        places = places_of(draws)
        if places.worst is places.best:
            counts = [np.bincount(x, minlength=n_items + 1)[1:] for x in places.best.T]
            return np.stack(counts) / len(draws)
        # An item with the places a to b adds 1/(b - a + 1) to each: the differences are at a, b + 1
        steps = []
        for best, worst in zip(places.best.T, places.worst.T, strict=True):
            share = 1 / (worst - best + 1)
            steps.append(
                np.bincount(best, share, n_items + 2) - np.bincount(worst + 1, share, n_items + 2)
            )
        found: NDArray[np.float64] = np.cumsum(steps, axis=1)[:, 1:-1] / len(draws)
        return np.where(np.abs(found) < ROUNDING, 0.0, found)

    results = {"place_probability": (dim, "place")}
    return by_group(shares, utility, dim, results, place=range(1, n_items + 1))[0]


def win_probability(
    data: Any, var_name: str = "utility", *, dim: str = "item", rope: float = 0.0
) -> xr.DataArray:
    r"""Compute the posterior probability that one item is better than another, for every pair.

    This is the probability that :math:`w_i > w_j + r` with the rope r. Without a rope it tends to 0
    or 1 as data accumulate. `match_probability` predicts the next comparison instead.

    Parameters
    ----------
    data, var_name, dim
        Posterior, variable and dim of the items, as in `rank_draws`.
    rope : float
        Largest difference of two utilities without practical meaning, 0 or more.

    Returns
    -------
    DataArray, (..., dim, dim + "_other")
        The probability that the row's item is better than the column's; one half on the diagonal.
        With a rope, two items are practically equivalent with the probability
        :math:`1 - p_{ij} - p_{ji}`, and the diagonal is zero.

    Raises
    ------
    ValueError
        As `rank_draws`, or if the rope is negative.

    See Also
    --------
    plot_wins, match_probability, place_probability

    Examples
    --------
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> u = xr.DataArray([[[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]],
    ...                  dims=("chain", "draw", "item"), coords={"item": ["a", "b"]})
    >>> float(br.win_probability(u).sel(item="a", item_other="b"))
    0.75
    >>> p = br.win_probability(u, rope=0.5)
    >>> (1 - p.values - p.values.T).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    check_rope(rope)
    utility = posterior_utilities(data, var_name, dim)
    other = f"{dim}_other"
    labels = {other: utility[dim].values if dim in utility.coords else None}

    def shares(draws: NDArray[np.float64]) -> NDArray[np.float64]:
        return _above(draws) if rope == 0 else _far_above(draws, rope)

    return by_group(shares, utility, dim, {"win_probability": (dim, other)}, **labels)[0]


def times_above(utility: NDArray[np.float64]) -> NDArray[np.int64]:
    """Count the draws (n_draws, n_items) with row above column, (n_items, n_items)."""
    n_items = utility.shape[1]
    above = np.zeros((n_items, n_items), np.int64)
    # ranks order items as utilities do; narrow integers are compared faster
    narrow = np.int16 if n_items < 2**15 else np.int32
    by_item = np.ascontiguousarray(ranks_of(utility).T, dtype=narrow)
    for i in range(n_items - 1):
        above[i, i + 1 :] = (by_item[i] < by_item[i + 1 :]).sum(1)
        above[i + 1 :, i] = (by_item[i] > by_item[i + 1 :]).sum(1)
    return above


def _far_above(utility: NDArray[np.float64], rope: float) -> NDArray[np.float64]:
    """Compute the shares of draws in which row is above column by more than the rope."""
    by_item = np.ascontiguousarray(utility.T)
    return np.stack([(item > by_item + rope).mean(axis=1) for item in by_item])


def _above(utility: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the shares of draws in which row is above column; equal items count one half."""
    above, n_draws = times_above(utility), len(utility)
    return (n_draws + above - above.T) / (2 * n_draws)
