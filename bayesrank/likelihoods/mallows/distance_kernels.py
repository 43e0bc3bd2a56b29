"""Kendall's distance between full rankings, in numba: pairs that they put in opposite orders."""

import numba
import numpy as np

__all__ = ["kendall_kernel"]


@numba.njit(cache=True)
def kendall_kernel(ranks, consensus):  # type: ignore[no-untyped-def]
    """Distance of each row, (r,).

    Parameters
    ----------
    ranks, consensus : ndarray of int, (r, n)
        Ranks from 1.

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
        out[r] = 0
        for i in range(n):
            for j in range(i):
                out[r] += x[j] > x[i]
    return out
