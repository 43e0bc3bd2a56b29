r"""Sums of exponentials for many rates at once, by Chebyshev expansion.

The normalisers of N rankers over K items are sums :math:`\sum_i e^{a_n x_i}` over the same points
:math:`|x_i| \le 1` at N rates. Chebyshev polynomials T and modified Bessel functions I give

.. math:: e^{-a} e^{a x} = \sum_m c_m(a) T_m(x), \qquad c_0 = e^{-a} I_0(a), \quad
          c_m = 2 e^{-a} I_m(a) .

Therefore the sums depend on the points only through the moments :math:`M_m = \sum_i T_m(x_i)`. All
their gradients with respect to the points are one series in T. The cost is (K + N) times the
number of terms, instead of K times N exponentials. The coefficients are positive, sum to one and
decrease like :math:`e^{-m^2 / 2a}`. About :math:`10 + 9 \sqrt a` of them suffice for double
precision. A sum with a point at x = 1 is at least one. Its relative error is therefore at most
about the number of points times the rounding error.
"""

import math

import numba
import numpy as np

__all__ = ["chebyshev_moments", "coefficients", "n_terms", "odd_series", "series"]

BLOCK = 256  # points at a time, so that their polynomials stay in the L1 cache
# Reassociation lets sums use vector registers; nothing else is relaxed.
_kernel = numba.njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})


@numba.njit(cache=True, error_model="numpy")
def n_terms(a):  # type: ignore[no-untyped-def]
    """Return how many coefficients matter at rates up to a; those left out sum to about 1e-17."""
    return 10 + int(math.ceil(9.0 * math.sqrt(a)))


@numba.njit(cache=True, error_model="numpy")
def coefficients(a, out):  # type: ignore[no-untyped-def]
    """Write at least `n_terms(a)` coefficients of exp(a x - a), a >= 0, to `out`.

    This is Miller's algorithm: the recurrence :math:`I_{m-1} = I_{m+1} + (2 m / a) I_m` is stable
    downwards, and the sum of all coefficients is known.
    """
    out[:] = 0.0
    if a < 1e-9:  # the next term is a^2 / 4
        out[0], out[1] = 1.0 - a, a
        return
    above, current, total = 0.0, 1e-290, 0.0
    for m in range(out.size + 8, 0, -1):
        if m < out.size:
            out[m] = current
        total += current
        above, current = current, above + 2.0 * m / a * current
        if current > 1e250:
            above, current, total = above * 1e-290, current * 1e-290, total * 1e-290
            out *= 1e-290
    out[0] = 0.5 * current
    out *= 1.0 / (0.5 * current + total)


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _add_exactly(totals, moments, lost):  # type: ignore[no-untyped-def]
    """Add with compensation for rounding, which would cost two digits over thousands of blocks."""
    for m in range(moments.size):
        y = totals[m] - lost[m]
        t = moments[m] + y
        lost[m] = (t - moments[m]) - y
        moments[m] = t


@_kernel
def chebyshev_moments(x, terms):  # type: ignore[no-untyped-def]
    """Sum over points x of T_m(x), for m below `terms`, at least two."""
    moments, lost, totals = np.zeros(terms), np.zeros(terms), np.empty(terms)
    two_x, even, odd = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    for start in range(0, x.size, BLOCK):
        n = min(BLOCK, x.size - start)
        totals[0], totals[1] = n, 0.0
        for i in range(n):
            two_x[i] = 2.0 * x[start + i]
            even[i] = 1.0
            odd[i] = x[start + i]
            totals[1] += odd[i]
        for m in range(2, terms, 2):
            total = 0.0
            for i in range(n):
                even[i] = two_x[i] * odd[i] - even[i]
                total += even[i]
            totals[m] = total
            if m + 1 < terms:
                total = 0.0
                for i in range(n):
                    odd[i] = two_x[i] * even[i] - odd[i]
                    total += odd[i]
                totals[m + 1] = total
        _add_exactly(totals, moments, lost)
    return moments


@_kernel
def _clenshaw(x, c, one, two):  # type: ignore[no-untyped-def]
    """Clenshaw's recurrence for the sum of c[m] T_m at up to BLOCK points: b_0 and b_1."""
    n, last = x.size, c.size - 1
    for i in range(n):
        one[i] = 0.0
        two[i] = 0.0
    for m in range(last, 0, -2):
        for i in range(n):
            two[i] = c[m] + 2.0 * x[i] * one[i] - two[i]
        for i in range(n):
            one[i] = c[m - 1] + 2.0 * x[i] * two[i] - one[i]
    if last % 2 == 0:
        for i in range(n):
            two[i] = c[0] + 2.0 * x[i] * one[i] - two[i]
        return two, one
    return one, two


@_kernel
def series(x, c, out):  # type: ignore[no-untyped-def]
    """Write the sum over m of c[m] T_m(x) to `out`."""
    one, two = np.empty(BLOCK), np.empty(BLOCK)
    for start in range(0, x.size, BLOCK):
        block = x[start : start + BLOCK]
        b0, b1 = _clenshaw(block, c, one, two)
        for i in range(block.size):
            out[start + i] = b0[i] - block[i] * b1[i]


@_kernel
def odd_series(x, c, out):  # type: ignore[no-untyped-def]
    """Write the sum over m of c[m] T_{2m+1}(x) to `out`: x times a recurrence in T_2(x)."""
    one, two, y = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    for start in range(0, x.size, BLOCK):
        block = x[start : start + BLOCK]
        for i in range(block.size):
            y[i] = 2.0 * block[i] * block[i] - 1.0
        b0, b1 = _clenshaw(y[: block.size], c, one, two)
        for i in range(block.size):
            out[start + i] = block[i] * (b0[i] - b1[i])
