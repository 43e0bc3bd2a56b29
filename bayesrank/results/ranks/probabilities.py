"""Probability of each place, of being among the best k, and that one item beats another."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import expit

from bayesrank.results.draws import by_group, check_tops, posterior_utilities, ranks_of

__all__ = ["place_probability", "times_above", "top_probability", "win_probability"]


def place_probability(data: Any, var_name: str = "utility", *, dim: str = "item") -> xr.DataArray:
    """Compute the probability of every place for every item.

    Parameters
    ----------
    data, var_name, dim
        Posterior, variable and dim of the items, as in `rank_draws`.

    Returns
    -------
    DataArray, (..., dim, place)
        The share of draws in which the item has the place 1, 2, ..., n. Every row sums to one. So
        does every column, unless items are equal in a draw: these share the better place.

    Raises
    ------
    ValueError
        As `rank_draws`; if there is a dim called place.

    Examples
    --------
    >>> u = xr.DataArray([[[2.0, 1.0, 0.0], [2.0, 3.0, 0.0]]], dims=("chain", "draw", "item"))
    >>> place_probability(u).values.tolist()
    [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    """
    utility = posterior_utilities(data, var_name, dim)
    n_items = utility.sizes[dim]

    def shares(draws: NDArray[np.float64]) -> NDArray[np.float64]:
        counts = [np.bincount(ranks, minlength=n_items + 1)[1:] for ranks in ranks_of(draws).T]
        return np.stack(counts) / len(draws)

    results = {"place_probability": (dim, "place")}
    return by_group(shares, utility, dim, results, place=range(1, n_items + 1))[0]


def top_probability(
    data: Any, var_name: str = "utility", *, top: int | Sequence[int], dim: str = "item"
) -> xr.DataArray:
    r"""Compute the probability of being among the best k, :math:`P(\text{rank} \le k)`.

    Parameters
    ----------
    data, var_name, dim
        Posterior, variable and dim of the items, as in `rank_draws`.
    top : int or sequence of int
        The k, 1 or more. If it is at least the number of items, the probability is one.

    Returns
    -------
    DataArray, (..., dim) or (..., dim, top)
        With the dim top if `top` is a sequence. Over the items, probabilities sum to k, or more if
        items are equal within a draw.

    Raises
    ------
    ValueError
        As `rank_draws`; if `top` is empty, or contains repeated values or values that are not
        positive integers. Also if `top` is a sequence and the data have a dim called top.

    Examples
    --------
    >>> u = xr.DataArray([[[2.0, 1.0, 0.0], [2.0, 3.0, 0.0]]], dims=("chain", "draw", "item"),
    ...                  coords={"item": ["a", "b", "c"]})
    >>> top_probability(u, top=1).values.tolist()
    [0.5, 0.5, 0.0]
    >>> top_probability(u, top=[1, 2]).sel(item="a", top=2).item()
    1.0
    """
    tops = check_tops(top)
    utility = posterior_utilities(data, var_name, dim)
    several = isinstance(top, Sequence | np.ndarray)

    def shares(draws: NDArray[np.float64]) -> NDArray[np.float64]:
        ranks = ranks_of(draws)
        found = np.stack([(ranks <= k).mean(0) for k in tops], axis=1)
        return found if several else found[:, 0]

    results = {"top_probability": (dim, "top") if several else (dim,)}
    labels = {"top": list(tops)} if several else {}
    return by_group(shares, utility, dim, results, **labels)[0]


def win_probability(
    data: Any,
    var_name: str = "utility",
    *,
    dim: str = "item",
    of: Literal["utility", "match"] = "utility",
) -> xr.DataArray:
    r"""Compute the probability that one item beats another, for every pair.

    ``of="utility"`` computes the posterior probability that :math:`w_i > w_j`, which tends to 0 or
    1 as data accumulate. ``of="match"`` predicts the next comparison: it computes the posterior
    mean of :math:`1/(1 + e^{w_j - w_i})`, which does not.

    Parameters
    ----------
    data, var_name, dim
        Posterior, variable and dim of the items, as in `rank_draws`.
    of : {"utility", "match"}
        Which of the two probabilities.

    Returns
    -------
    DataArray, (..., dim, dim + "_other")
        Row beats column; one half on the diagonal.

    Raises
    ------
    ValueError
        As `rank_draws`; if `of` is neither.

    Examples
    --------
    >>> u = xr.DataArray([[[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]],
    ...                  dims=("chain", "draw", "item"), coords={"item": ["a", "b"]})
    >>> float(win_probability(u).sel(item="a", item_other="b"))
    0.75
    """
    kernels = {"utility": _above, "match": _wins_next}
    if of not in kernels:
        raise ValueError(f"`of` is {of!r}; it must be {' or '.join(map(repr, kernels))}.")
    utility = posterior_utilities(data, var_name, dim)
    other = f"{dim}_other"
    labels = {other: utility[dim].values if dim in utility.coords else None}
    return by_group(kernels[of], utility, dim, {"win_probability": (dim, other)}, **labels)[0]


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


def _above(utility: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the shares of draws in which row is above column; equal items count one half."""
    above, n_draws = times_above(utility), len(utility)
    return (n_draws + above - above.T) / (2 * n_draws)


def _wins_next(utility: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute posterior mean outcomes of a match without ties, as `outcome_probability` does."""
    by_item = np.ascontiguousarray(utility.T)  # one item against all at a time stays in cache
    return np.stack([expit(w - by_item).mean(1) for w in by_item])
