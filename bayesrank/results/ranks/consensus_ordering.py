"""Consensus orderings by posterior mean rank, by pairwise majorities, and Kemeny's.

Kemeny's ordering minimises the expected disagreement. If a majority of draws puts every item of one
set above every item of another, the first set comes first. So items are split into the strongly
connected components of the majority graph, and orders are compared only inside a component.
"""

from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from bayesrank.data.read import label_repr
from bayesrank.results.draws import SAMPLE, by_group, group_dims, places_of, posterior_utilities
from bayesrank.results.ranks.probabilities import times_above

__all__ = [
    "LONGEST_CYCLE",
    "cheapest_order",
    "consensus_ordering",
    "copeland_ordering",
    "expected_kendall",
    "kemeny_ordering",
]

LONGEST_CYCLE = 18
"""Most items of a component that can be ordered: time and memory double with each item."""

Method = Literal["mean_rank", "copeland", "kendall"]
Counts = NDArray[np.int64]


def consensus_ordering(
    data: Any, var_name: str = "utility", *, dim: str = "item", method: Method = "mean_rank"
) -> xr.DataArray:
    r"""Find one ordering that summarises the posterior.

    Let :math:`P_{ij}` be the share of draws in which i is above j; equal items count one half.

    - ``"mean_rank"`` sorts by posterior mean rank, lowest first.

    - ``"copeland"`` sorts by the number of items j with :math:`P_{ij} > 1/2`, highest first. Items
      with :math:`P_{ij} = 1/2` count one half.

    - ``"kendall"`` finds Kemeny's ordering, which minimises the posterior expected Kendall
      distance :math:`\sum_{i \text{ before } j} P_{ji}`. It is exact: items in a cycle of
      majorities are ordered by a search over all their subsets.

    Ties are broken by mean rank. Items share a place if they have the same mean rank, the same
    number of items that they beat (with "copeland"), and :math:`P_{ij} = 1/2` (with "kendall").

    Parameters
    ----------
    data, var_name, dim
        Posterior, variable and dim of the items, as in `rank_draws`.
    method : {"mean_rank", "copeland", "kendall"}
        The criterion.

    Returns
    -------
    DataArray of int, (..., dim)
        Place of every item: 1 = best. Tied items share the better place.

    Raises
    ------
    ValueError
        For the reasons of `rank_draws`, or if `method` is unknown, or it is "kendall" and a cycle
        of majorities contains more than 18 items.

    See Also
    --------
    expected_kendall, rank_summary, tiers

    Examples
    --------
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> u = xr.DataArray([[[3.0, 2.0, 1.0], [1.0, 3.0, 2.0], [2.0, 0.0, 1.0]]],
    ...                  dims=("chain", "draw", "item"), coords={"item": ["a", "b", "c"]})
    >>> br.consensus_ordering(u, method="kendall").values.tolist()
    [1, 2, 3]
    >>> br.consensus_ordering(u.isel(item=[0, 0, 1]).drop_vars("item")).values.tolist()
    [1, 1, 3]
    """
    rules = {"mean_rank": None, "copeland": copeland_ordering, "kendall": kemeny_ordering}
    if method not in rules:
        raise ValueError(f"`method` is {method!r}; it must be {' or '.join(map(repr, rules))}.")
    rule = rules[method]

    def places(draws: NDArray[np.float64]) -> NDArray[np.intp]:
        found = places_of(draws)
        # twice the sum of the mean ranks, a whole number, so that equal items are found exactly
        rank_sum = found.best.sum(0, dtype=np.int64) + found.worst.sum(0, dtype=np.int64)
        ordering = rank_sum.argsort(kind="stable")
        level = np.ones((len(ordering), len(ordering)), dtype=bool)  # pairs that may share a place
        if rule is not None:
            above = times_above(draws[:, ordering])
            again = rule(above)
            ordering, above = ordering[again], above[np.ix_(again, again)]
            score = np.sign(above - above.T).sum(1)
            level = above == above.T if method == "kendall" else score[:, None] == score
        level &= rank_sum[ordering][:, None] == rank_sum[ordering]
        return _shared_places(level)[ordering.argsort()]

    utility = posterior_utilities(data, var_name, dim)
    return by_group(places, utility, dim, {"place": (dim,)})[0]


def _shared_places(level: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Give ordered items the places from 1; ties share the better place.

    `level` (n_items, n_items) says which pairs are ties. All pairs of one place must be.
    """
    place = np.arange(1, len(level) + 1)
    for k in range(1, len(level)):
        first = place[k - 1] - 1
        if level[k, first:k].all():
            place[k] = place[k - 1]
    return place


def expected_kendall(
    data: Any,
    places: xr.DataArray | pd.Series | ArrayLike,
    var_name: str = "utility",
    *,
    dim: str = "item",
) -> xr.DataArray:
    r"""Compute the posterior mean of the Kendall distance to an ordering.

    The distance is the number of pairs on which the ordering and the draw disagree. A pair that is
    tied in only one of them counts one half; a pair that is tied in both does not count.

    Parameters
    ----------
    data, var_name, dim
        Posterior, variable and dim of the items, as in `rank_draws`.
    places : DataArray, Series or array
        The place of every item, lowest = best, as `consensus_ordering` returns them; equal places
        are ties. A DataArray or Series is matched with the items by label, an array by position. A
        DataArray may have further dims of the draws.

    Returns
    -------
    DataArray, (...)
        Between 0 and n(n-1)/2 for n items.

    Raises
    ------
    ValueError
        For the reasons of `rank_draws`, or if `places` do not match the items or are not finite.

    See Also
    --------
    consensus_ordering

    References
    ----------
    Fagin, Kumar, Mahdian, Sivakumar and Vee (2006). Comparing partial rankings.

    Examples
    --------
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> u = xr.DataArray([[[3.0, 2.0, 1.0], [2.0, 3.0, 1.0]]], dims=("chain", "draw", "item"))
    >>> br.expected_kendall(u, [1, 2, 3]).item()
    0.5
    >>> br.expected_kendall(u, [1, 1, 2]).item()
    0.5
    """
    utility = posterior_utilities(data, var_name, dim)
    found = xr.apply_ufunc(
        lambda draws, place: _distance(draws.reshape(-1, len(place)), place),
        utility,
        _aligned(places, utility, dim),
        input_core_dims=[[*SAMPLE, dim], [dim]],
        vectorize=True,
    )
    return found.rename("expected_kendall")


def _distance(draws: NDArray[np.float64], place: NDArray[np.float64]) -> float:
    """Compute the mean Kendall distance of the draws (n_draws, n_items) of one group."""
    above = times_above(draws)
    # twice the distance, summed over draws and over both orders of a pair
    before, equal = place[:, None] < place, place[:, None] == place
    differ = above + above.T
    against = np.where(before, 2 * above.T + len(draws) - differ, 0)
    return (2 * against.sum() + differ[equal].sum()) / 4 / len(draws)


def _aligned(places: Any, utility: xr.DataArray, dim: str) -> xr.DataArray:
    """Return places in the order of the items and groups of the draws, without labels."""
    groups = [str(d) for d in group_dims(utility, dim)]
    if isinstance(places, pd.Series):
        places = xr.DataArray(places.values, {dim: places.index.values}, dim)
    if not isinstance(places, xr.DataArray):
        values = np.asarray(places)
        if values.dtype.kind not in "biuf":
            raise TypeError(
                f"`places` must be numbers, the place of each {dim}, as consensus_ordering returns "
                f"them; got {label_repr(values.ravel()[0])}."
            )
        places = xr.DataArray(values, dims=dim if values.ndim == 1 else None)
    if dim not in places.dims or not set(places.dims) <= {*groups, dim}:
        raise ValueError(
            f"`places` has the dims {list(map(str, places.dims))}; it must have {dim!r}, and may "
            f"have {groups}."
        )
    for d in places.dims:
        ours, theirs = utility.indexes.get(d), places.indexes.get(d)
        if ours is not None and theirs is not None:
            odd = {*theirs[theirs.duplicated()], *ours.symmetric_difference(theirs)}
            if odd:
                raise ValueError(
                    f"`places` and the draws have different labels of {d!r}: "
                    f"{sorted(map(str, odd))}. Give each label of the draws exactly one place."
                )
            places = places.sel({d: ours})
        elif places.sizes[d] != utility.sizes[d]:
            raise ValueError(
                f"`places` has size {places.sizes[d]} along {d!r}; the draws have size "
                f"{utility.sizes[d]}."
            )
    if not np.isfinite(places).all():
        raise ValueError("`places` contains NaN or infinite values; give every item a place.")
    return places.drop_vars(places.coords)


def copeland_ordering(above: Counts) -> NDArray[np.intp]:
    """Order items by the number of items they beat in most draws; an even split counts one half.

    Equal items keep their order in the counts `above` (n_items, n_items).
    """
    score = np.sign(above - above.T).sum(1)  # wins minus losses: twice the score, minus n - 1
    return (-score).argsort(kind="stable")


def kemeny_ordering(above: Counts) -> NDArray[np.intp]:
    r"""Order items so that the draws contradict as few pairs of the order as possible.

    Minimises :math:`\sum_{i \text{ before } j} n_{ji}` over all orders, where :math:`n_{ij}` is the
    number of draws with i above j, (n_items, n_items). Among equally good orders and components,
    it prefers the given order of the items.
    """
    majority = above > above.T
    n_components, component = connected_components(majority, connection="strong")
    cycles = [np.flatnonzero(component == c) for c in range(n_components)]
    longest = max(map(len, cycles))
    if longest > LONGEST_CYCLE:
        raise ValueError(
            f'{longest} items form a cycle of majorities; method="kendall" can order at most '
            f"{LONGEST_CYCLE}. Select fewer items, such as those that may be the best, or use "
            'method="copeland".'
        )
    beats = np.zeros((n_components, n_components), dtype=bool)
    winner, loser = majority.nonzero()
    beats[component[winner], component[loser]] = True
    np.fill_diagonal(beats, False)
    # number of draws that putting i before j costs, compared with putting it after j
    cost = above.T - above
    waits_for, ordering = beats.sum(0), []
    left = sorted(range(n_components), key=lambda c: cycles[c][0])
    while left:
        c = next(c for c in left if not waits_for[c])
        left.remove(c)
        waits_for -= beats[c]
        ordering.append(cycles[c][cheapest_order(cost[np.ix_(cycles[c], cycles[c])])])
    return np.concatenate(ordering)


def cheapest_order(cost: Counts) -> NDArray[np.intp]:
    r"""Find the order of a few items with the lowest total cost.

    With c(i, j) the cost (n, n) of i before j, the least cost f of ordering a set S of items is

    .. math:: f(S) = \min_{i \in S} \Bigl( \sum_{j \in S} c(i, j) + f(S \setminus i) \Bigr),

    where i is the first item and c(i, i) does not count (Held and Karp's recursion). A set is
    stored as the bits of an integer. Of several best orders, it returns the lexicographically
    first.
    """
    n = len(cost)
    cost = np.where(np.eye(n, dtype=bool), 0, cost).astype(np.float64)  # BLAS; exact below 2**53
    bit = 1 << np.arange(n)
    least = np.zeros(2**n)
    first = np.zeros(2**n, np.int8)
    sets = np.arange(2**n)
    size = np.bitwise_count(sets)
    by_size = np.split(size.argsort(kind="stable"), np.cumsum(np.bincount(size))[:-1])
    for chosen in by_size[1:]:
        inside = (chosen[:, None] & bit) != 0
        total = inside @ cost.T + least[chosen[:, None] & ~bit]
        total[~inside] = np.inf
        first[chosen] = total.argmin(1)
        least[chosen] = total.min(1)
    order, left = np.empty(n, np.intp), 2**n - 1
    for k in range(n):
        order[k] = first[left]
        left &= ~(1 << int(order[k]))
    return order
