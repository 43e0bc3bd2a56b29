r"""The normaliser of the footrule in numba, by a scan of positions.

Go through the positions 1, ..., n, and let k of them so far be open: not yet given an
item, so that as many items are not yet given a position. Every open position and every open item
moves one further away from what it will meet, which costs 2k in all. The next position and the next
item leave k as it is in 2k + 1 ways, open one pair, or close one in :math:`(k + 1)^2` ways:

.. math:: f_s(k) = e^{-2 t k} \bigl[(2k + 1) f_{s-1}(k) + f_{s-1}(k - 1)
                   + (k + 1)^2 f_{s-1}(k + 1)\bigr], \qquad Z = f_n(0).

It is summed in logarithms, because what is small at one step may be what counts in the end.
"""

import math

import numba
import numpy as np

__all__ = ["footrule_kernel", "footrule_table"]


@numba.njit(cache=True, error_model="numpy")
def footrule_table(t, n):  # type: ignore[no-untyped-def]
    """Logarithms of f_s(k), and their derivatives by t, (n + 1, n // 2 + 2) each."""
    most = n // 2
    f, slope = np.full((n + 1, most + 2), -np.inf), np.zeros((n + 1, most + 2))
    f[0, 0] = 0.0
    for s in range(1, n + 1):
        for k in range(min(s, n - s) + 1):
            kept = f[s - 1, k] + math.log(2.0 * k + 1.0)
            opened = f[s - 1, k - 1] if k > 0 else -np.inf
            closed = f[s - 1, k + 1] + 2.0 * math.log(k + 1.0)
            top = max(kept, opened, closed)
            a, c = math.exp(kept - top), math.exp(closed - top)
            b = math.exp(opened - top) if k > 0 else 0.0
            total = a + b + c
            found = a * slope[s - 1, k] + c * slope[s - 1, k + 1]
            if k > 0:
                found += b * slope[s - 1, k - 1]
            f[s, k] = top + math.log(total) - 2.0 * t * k
            slope[s, k] = found / total - 2.0 * k
    return f, slope


@numba.njit(cache=True, error_model="numpy")
def footrule_kernel(t, n):  # type: ignore[no-untyped-def]
    """Logarithm of the normaliser of the footrule, and its derivative, (r,) each.

    Parameters
    ----------
    t : ndarray of float, (r,)
        Finite: what a step of distance costs.
    n : int
        Items.
    """
    value, gradient = np.empty(t.size), np.empty(t.size)
    for r in range(t.size):
        if not math.isfinite(t[r]):
            value[r], gradient[r] = np.nan, np.nan
            continue
        f, slope = footrule_table(t[r], n)
        value[r], gradient[r] = f[n, 0], slope[n, 0]
    return value, gradient
