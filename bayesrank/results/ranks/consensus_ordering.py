"""One ordering for all: of posterior mean ranks, of pairwise majorities, of least disagreement.

The last is Kemeny's. If item i is above j more often than not, for all i of one set and all j of
another, then the first set comes first. So the items are split into the strongly connected
components of the majorities, and orders are compared only inside a component.
"""

from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from bayesrank.results.draws import SAMPLE, by_group, group_dims, posterior_utilities, ranks_of
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
"""Items of one component that are ordered exactly: time and memory double with each."""

Method = Literal["mean_rank", "copeland", "kendall"]
Counts = NDArray[np.int64]


def consensus_ordering(
    data: Any, var: str = "utility", *, dim: str = "item", method: Method = "mean_rank"
) -> xr.DataArray:
    r"""Find one ordering that stands for the posterior.

    Let :math:`P_{ij}` be the share of draws in which i is above j, draws with both equal counting
    half for each.

    - ``"mean_rank"``: by posterior mean rank, the lowest first.
    - ``"copeland"``: by the number of items j with :math:`P_{ij} > 1/2`, plus half the number of
      those with :math:`P_{ij} = 1/2` exactly, the highest first.
    - ``"kendall"``: Kemeny's ordering, of least posterior expected Kendall distance,
      :math:`\sum_{i \text{ before } j} P_{ji}`. It is exact: items in a cycle of majorities
      are ordered by a search over all their subsets.

    Ties are broken by mean rank, those of equal mean rank by the order of the items.

    Parameters
    ----------
    data, var, dim
        Posterior, variable and dim of the items, as in `rank_draws`.
    method : {"mean_rank", "copeland", "kendall"}
        The criterion.

    Returns
    -------
    DataArray of int, (..., dim)
        Place of every item: 1 = best, no two the same.

    Raises
    ------
    ValueError
        As `rank_draws`; if `method` is unknown, or it is "kendall" and more than 18 items are in
        cycles with each other.

    Examples
    --------
    >>> u = xr.DataArray([[[3.0, 2.0, 1.0], [1.0, 3.0, 2.0], [2.0, 0.0, 1.0]]],
    ...                  dims=("chain", "draw", "item"), coords={"item": ["a", "b", "c"]})
    >>> consensus_ordering(u, method="kendall").values.tolist()
    [1, 2, 3]
    """
    rules = {"mean_rank": None, "copeland": copeland_ordering, "kendall": kemeny_ordering}
    if method not in rules:
        raise ValueError(f"`method` is {method!r}; it is one of {', '.join(map(repr, rules))}.")
    rule = rules[method]

    def places(draws: NDArray[np.float64]) -> NDArray[np.intp]:
        ordering = ranks_of(draws).mean(0).argsort(kind="stable")
        if rule is not None:
            ordering = ordering[rule(times_above(draws[:, ordering]))]
        return ordering.argsort() + 1  # the inverse

    utility = posterior_utilities(data, var, dim)
    return by_group(places, utility, dim, {"place": (dim,)})[0]


def expected_kendall(
    data: Any,
    places: xr.DataArray | pd.Series | ArrayLike,
    var: str = "utility",
    *,
    dim: str = "item",
) -> xr.DataArray:
    r"""Posterior mean of the Kendall distance of an ordering.

    The distance is the number of pairs on which the ordering and the draw disagree. A pair that is
    equal in one of them and not in the other counts half; one that is equal in both does not count
    (Fagin, Kumar, Mahdian, Sivakumar and Vee 2006, Comparing partial rankings).

    Parameters
    ----------
    data, var, dim
        Posterior, variable and dim of the items, as in `rank_draws`.
    places : DataArray, Series or array
        The place of every item, small = good, as `consensus_ordering` returns them; equal places
        are ties. Labels of a DataArray or Series are matched with the items in whatever order; an
        array is in the order of the items. A DataArray may have further dims of the draws.

    Returns
    -------
    DataArray, (...)
        Between 0 and n(n-1)/2 for n items.

    Raises
    ------
    ValueError
        As `rank_draws`; if `places` are not those of the items or not finite.

    Examples
    --------
    >>> u = xr.DataArray([[[3.0, 2.0, 1.0], [2.0, 3.0, 1.0]]], dims=("chain", "draw", "item"))
    >>> expected_kendall(u, [1, 2, 3]).item()
    0.5
    >>> expected_kendall(u, [1, 1, 2]).item()
    0.5
    """
    utility = posterior_utilities(data, var, dim)
    found = xr.apply_ufunc(
        lambda draws, place: _distance(draws.reshape(-1, len(place)), place),
        utility,
        _aligned(places, utility, dim),
        input_core_dims=[[*SAMPLE, dim], [dim]],
        vectorize=True,
    )
    return found.rename("expected_kendall")


def _distance(draws: NDArray[np.float64], place: NDArray[np.float64]) -> float:
    """Mean Kendall distance of the draws (n_draws, n_items) of one group from an ordering."""
    above = times_above(draws)
    # twice the distance, summed over draws and over both orders of a pair
    before, equal = place[:, None] < place, place[:, None] == place
    differ = above + above.T
    against = np.where(before, 2 * above.T + len(draws) - differ, 0)
    return (2 * against.sum() + differ[equal].sum()) / 4 / len(draws)


def _aligned(places: Any, utility: xr.DataArray, dim: str) -> xr.DataArray:
    """Places in the order of the items and groups of the draws, without labels."""
    groups = [str(d) for d in group_dims(utility, dim)]
    if isinstance(places, pd.Series):
        places = xr.DataArray(places.values, {dim: places.index.values}, dim)
    if not isinstance(places, xr.DataArray):
        values = np.asarray(places)
        places = xr.DataArray(
            values, dims={len(groups) + 1: [*groups, dim], 1: [dim]}.get(values.ndim)
        )
    if dim not in places.dims or not set(places.dims) <= {*groups, dim}:
        raise ValueError(
            f"`places` have the dims {list(map(str, places.dims))}; they must have {dim!r}, and "
            f"may have {groups}."
        )
    for d in places.dims:
        ours, theirs = utility.indexes.get(d), places.indexes.get(d)
        if ours is not None and theirs is not None:
            odd = {*theirs[theirs.duplicated()], *ours.symmetric_difference(theirs)}
            if odd:
                raise ValueError(
                    f"`places` and the draws differ in {d!r}: {sorted(map(str, odd))}. Give every "
                    "one a place, once, and only those."
                )
            places = places.sel({d: ours})
        elif places.sizes[d] != utility.sizes[d]:
            raise ValueError(
                f"`places` have {places.sizes[d]} of {d!r}; the draws have {utility.sizes[d]}."
            )
    if not np.isfinite(places).all():
        raise ValueError("`places` hold NaN or infinite values; give every item a place.")
    return places.drop_vars(places.coords)


def copeland_ordering(above: Counts) -> NDArray[np.intp]:
    """Order items by how many others they are above in most draws, half for those in one half.

    Of equal items the first in the counts `above` (n_items, n_items) is put first.
    """
    score = np.sign(above - above.T).sum(1)  # wins less losses: twice the score, but for n - 1
    return (-score).argsort(kind="stable")


def kemeny_ordering(above: Counts) -> NDArray[np.intp]:
    r"""Order items so that the fewest pairs are against the order, counted over draws.

    Minimises :math:`\sum_{i \text{ before } j} n_{ji}` over all orders, where :math:`n_{ij}` is the
    number of draws with i above j, (n_items, n_items). Where several orders or components can be
    chosen, the items that are first here are put first.
    """
    majority = above > above.T
    n_components, component = connected_components(majority, connection="strong")
    members = [np.flatnonzero(component == c) for c in range(n_components)]
    longest = max(map(len, members))
    if longest > LONGEST_CYCLE:
        raise ValueError(
            f"{longest} items are in cycles of majorities with each other; the order of least "
            f"expected Kendall distance is found for at most {LONGEST_CYCLE}. Select fewer items, "
            'such as those that may be the best, or use method="copeland".'
        )
    beats = np.zeros((n_components, n_components), dtype=bool)
    winner, loser = majority.nonzero()
    beats[component[winner], component[loser]] = True
    np.fill_diagonal(beats, False)
    # i before j rather than after it costs so many draws more
    cost = above.T - above
    waits_for, ordering = beats.sum(0), []
    left = sorted(range(n_components), key=lambda c: members[c][0])
    while left:
        c = next(c for c in left if not waits_for[c])
        left.remove(c)
        waits_for -= beats[c]
        ordering.append(members[c][cheapest_order(cost[np.ix_(members[c], members[c])])])
    return np.concatenate(ordering)


def cheapest_order(cost: Counts) -> NDArray[np.intp]:
    r"""Order a few items at the least cost (n, n) of row before column, over all subsets.

    With c(i, j) the cost of i before j, the least cost f of ordering a set S of items is

    .. math:: f(S) = \min_{i \in S} \Bigl( \sum_{j \in S} c(i, j) + f(S \setminus i) \Bigr),

    where i is the first of them and c(i, i) does not count (Held and Karp's recursion). Sets are
    bits of an integer. Of several best orders, the one that begins with the smallest numbers.
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
