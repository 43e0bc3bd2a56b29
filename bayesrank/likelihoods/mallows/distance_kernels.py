"""Distances between full rankings that are no sums over items, in numba.

=======  ==========================================================================
Kendall  pairs of items that two rankings put in opposite orders
Cayley   exchanges of two items that lead from one to the other: n less the cycles
Ulam     items to move: n less the longest subsequence that both have in one order
=======  ==========================================================================
"""

import numba
import numpy as np

__all__ = ["CAYLEY", "KENDALL", "ULAM", "distances_kernel"]

KENDALL, CAYLEY, ULAM = 0, 1, 2


@numba.njit(cache=True)
def _kendall(x):  # type: ignore[no-untyped-def]
    out = 0
    for i in range(x.size):
        for j in range(i):
            out += x[j] > x[i]
    return out


@numba.njit(cache=True)
def _cayley(x):  # type: ignore[no-untyped-def]
    seen = np.zeros(x.size, np.bool_)
    out = x.size
    for i in range(x.size):
        if not seen[i]:
            out -= 1
            j = i
            while not seen[j]:
                seen[j] = True
                j = x[j]
    return out


@numba.njit(cache=True)
def _ulam(x):  # type: ignore[no-untyped-def]
    """By piles: on top of each is the least last element of an increasing subsequence."""
    tops = np.empty(x.size, x.dtype)
    length = 0
    for each in x:
        i = np.searchsorted(tops[:length], each)
        tops[i] = each
        length = max(length, i + 1)
    return x.size - length


@numba.njit(cache=True)
def distances_kernel(ranks, consensus, kind):  # type: ignore[no-untyped-def]
    """Distance of each row, (r,).

    Parameters
    ----------
    ranks, consensus : ndarray of int, (r, n)
        Ranks from 1.
    kind : {KENDALL, CAYLEY, ULAM}
        Which distance.

    Returns
    -------
    ndarray of float
        nan where a row is no ranking of all items.
    """
    n_rows, n = ranks.shape
    out = np.full(n_rows, np.nan)
    x = np.empty(n, np.int64)
    for r in range(n_rows):
        x[:] = -1
        whole = True
        for i in range(n):  # ranks by place in the consensus
            place, rank = consensus[r, i] - 1, ranks[r, i] - 1
            whole = whole and 0 <= place < n and 0 <= rank < n and x[place] < 0
            if whole:
                x[place] = rank
        if not whole or np.bincount(x, minlength=n).max() > 1:
            continue
        if kind == KENDALL:
            out[r] = _kendall(x)
        elif kind == CAYLEY:
            out[r] = _cayley(x)
        else:
            out[r] = _ulam(x)
    return out
