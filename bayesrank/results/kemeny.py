"""Kemeny's ordering, which contradicts pairwise counts the least: exact.

If item i is above j more often than not, for all i of one set and all j of another, then the first
set comes first. So the items are split into the strongly connected components of the majorities,
which are single items unless majorities go round in a cycle, and only inside a component orders
have to be compared.
"""

from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

__all__ = ["LONGEST_CYCLE", "cheapest_order", "kemeny_ordering"]

LONGEST_CYCLE = 18
"""Items of one component that are ordered exactly: time and memory double with each."""

Counts = NDArray[np.int64]


def kemeny_ordering(above: Counts) -> NDArray[np.intp]:
    r"""Order items so that the fewest pairs are against the order, counted over draws.

    Minimises :math:`\sum_{i \text{ before } j} n_{ji}` over all orders, where :math:`n_{ij}` is the
    number of draws with i above j; draws in which they are equal count the same in any order.

    Parameters
    ----------
    above : array of int, shape (n_items, n_items)
        The counts, row above column. Where several orders or components can be chosen, the
        items that are first here are put first.

    Returns
    -------
    array of int, shape (n_items,)
        The items, first to last.

    Raises
    ------
    ValueError
        If more than 18 items are in cycles of majorities with each other.

    Examples
    --------
    Majorities go round: 0 above 1, 1 above 2, 2 above 0, and that is the narrowest.

    >>> kemeny_ordering(np.array([[0, 4, 2], [1, 0, 4], [3, 1, 0]])).tolist()
    [0, 1, 2]
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
    inside = [own[cheapest_order(cost[np.ix_(own, own)])] for own in members]
    return np.concatenate([inside[c] for c in _first_to_last(beats, members)])


def cheapest_order(cost: Counts) -> NDArray[np.intp]:
    r"""Order a few items at the least cost: exact, over all subsets.

    With c(i, j) the cost of i before j, the least cost f of ordering a set S of items is

    .. math:: f(S) = \min_{i \in S} \Bigl( \sum_{j \in S} c(i, j) + f(S \setminus i) \Bigr),

    where i is the first of them and c(i, i) does not count (Held and Karp's recursion). Sets are
    bits of an integer; all those of one size are done together.

    Parameters
    ----------
    cost : array of int, shape (n, n)
        Of row before column; the diagonal is not looked at.

    Returns
    -------
    array of int, shape (n,)
        The order, first to last. Of several that are best, the one that begins with the smallest
        numbers.

    Examples
    --------
    >>> cheapest_order(np.array([[0, 1, 9], [9, 0, 1], [2, 9, 0]])).tolist()
    [0, 1, 2]
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


def _first_to_last(beats: NDArray[np.bool_], members: list[NDArray[np.intp]]) -> list[int]:
    """Components so that each is after those that beat it, the best item first where free."""
    waits_for = beats.sum(0)
    ready = [(int(members[c][0]), int(c)) for c in np.flatnonzero(waits_for == 0)]
    heapify(ready)
    found = []
    while ready:
        c = heappop(ready)[1]
        found.append(c)
        waits_for[beats[c]] -= 1
        for freed in np.flatnonzero(beats[c] & (waits_for == 0)):
            heappush(ready, (int(members[freed][0]), int(freed)))
    return found
