r"""The footrule: a scan of positions, for its normaliser and exact draws, in numba.

Scan the positions 1, ..., n. Let k of the positions so far be open, that is, without an item; then
k of the items so far are open as well. Each step adds one to the distance of every open position
and every open item, 2k in all. The next position and item leave k unchanged in 2k + 1 ways, open
one pair, or close one pair in :math:`(k + 1)^2` ways:

.. math:: f_s(k) = e^{-2 t k} \bigl[(2k + 1) f_{s-1}(k) + f_{s-1}(k - 1)
                   + (k + 1)^2 f_{s-1}(k + 1)\bigr], \qquad Z = f_n(0).

The sums are logarithms, because terms that are small at one step may dominate in the end.
"""

import math

import numba
import numpy as np

__all__ = ["footrule_table"]


@numba.njit(cache=True, error_model="numpy")
def footrule_table(t, n):  # type: ignore[no-untyped-def]
    """Logarithms of f_s(k) at a finite t, (n + 1, n // 2 + 2)."""
    f = np.full((n + 1, n // 2 + 2), -np.inf)
    f[0, 0] = 0.0
    for s in range(1, n + 1):
        for k in range(min(s, n - s) + 1):
            kept = f[s - 1, k] + math.log(2.0 * k + 1.0)
            opened = f[s - 1, k - 1] if k > 0 else -np.inf
            closed = f[s - 1, k + 1] + 2.0 * math.log(k + 1.0)
            top = max(kept, opened, closed)
            total = math.exp(kept - top) + math.exp(opened - top) + math.exp(closed - top)
            f[s, k] = top + math.log(total) - 2.0 * t * k
    return f
