"""Exponential functions and a logarithm that compile to vector instructions.

Numba calls those of the C library number by number, unless a library of Intel's is installed;
of an inlined polynomial LLVM computes as many values at once as the processor has room for, four
times as fast (measured: 1.0 ns against 4.2 ns a number). Inlined, they inherit the arithmetic of
whoever calls them, and lose some digits where that takes sums in another order (``reassoc``).
With x = k log 2 + r, where r is at most log(2) / 2 in size,

    exp(x) = 2^k (1 + r + r^2 / 2! + ... + r^13 / 13!),

and what is left out is below r^14 / 14! = 4e-18. Results are within two units in the last place.

With x = 2^k m, where m is from 1 / sqrt 2 to sqrt 2, and s = (m - 1) / (m + 1),

    log(x) = k log 2 + 2 s (1 + s^2 / 3 + s^4 / 5 + ... + s^20 / 21),

and what is left out is below 2 s^23 / 23 = 2e-19.
"""

import math
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

__all__ = ["FARTHEST", "vector_exp", "vector_expm1", "vector_log"]

LOG2_E = 1 / math.log(2)
# log 2 in two parts: products of the first with a whole number below 2^21 are exact
LOG_2_HIGH, LOG_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# Whole numbers are the last bits of their sum with this
WHOLE = 1.5 * 2.0**52
FARTHEST = 700.0  # where both functions may be called, on either side of zero
BIAS, MANTISSA = 1023, 52  # of the exponent of a double
EXP_TERMS = tuple(1 / math.factorial(i) for i in range(13, 1, -1))  # highest power first


# The exponent of what is above this has one added, so that what is left is from 1 / sqrt 2 on
HALF_OCTAVE = 0x3FE6A09E667F3BCD  # bits of 1 / sqrt 2
LOG_TERMS = tuple(2 / (2 * i + 1) for i in range(10, 0, -1))


@intrinsic
def _rounded(context: Any, x: Any) -> Any:
    """Give the next whole number, as a double.

    To add a large number and take it off again does the same, but not under `fastmath`, which a
    function inherits from whoever called it first if it does not say what it wants itself.
    """
    return types.float64(types.float64), lambda c, builder, s, given: builder.call(
        builder.module.declare_intrinsic("llvm.rint", [ir.DoubleType()]), given
    )


@intrinsic
def _bits(context: Any, x: Any) -> Any:
    """Give the 64 bits of a double as a whole number."""
    return types.int64(types.float64), lambda c, builder, s, given: builder.bitcast(
        given[0], ir.IntType(64)
    )


@intrinsic
def _double(context: Any, x: Any) -> Any:
    """Give the double that 64 bits are."""
    return types.float64(types.int64), lambda c, builder, s, given: builder.bitcast(
        given[0], ir.DoubleType()
    )


@numba.njit(inline="always", error_model="numpy", fastmath=False)
def vector_exp(x):  # type: ignore[no-untyped-def]
    """Exponential function of numbers from -708 to 709; nan of nan, anything of all others."""
    k, r = _octaves(x)
    return (_rest(r) + r + 1.0) * _power_of_two(k)


@numba.njit(inline="always", error_model="numpy", fastmath=False)
def vector_expm1(x):  # type: ignore[no-untyped-def]
    """Exponential function less one, as exact near zero, of numbers from -708 to 709."""
    k, r = _octaves(x)
    power = _power_of_two(k)
    return (_rest(r) + r) * power + (power - 1.0)


@numba.njit(inline="always", error_model="numpy", fastmath=False)
def vector_log(x):  # type: ignore[no-untyped-def]
    """Logarithm of finite numbers from 2.3e-308 on; anything of others."""
    octaves = (_bits(x) - HALF_OCTAVE) >> MANTISSA
    m = _double(_bits(x) - (octaves << MANTISSA))
    k = np.float64(np.int32(octaves))  # of 32 bits, because most processors convert no others
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    p = 0.0
    for c in LOG_TERMS:
        p = p * z + c
    return k * LOG_2_HIGH + (k * LOG_2_LOW + (p * z * s + 2.0 * s))


@numba.njit(inline="always", error_model="numpy", fastmath=False)
def _octaves(x):  # type: ignore[no-untyped-def]
    """Split x into k log 2 + r."""
    k = _rounded(x * LOG2_E)
    return k, x - k * LOG_2_HIGH - k * LOG_2_LOW


@numba.njit(inline="always", error_model="numpy", fastmath=False)
def _rest(r):  # type: ignore[no-untyped-def]
    """Give exp(r) - 1 - r."""
    p = 0.0
    for c in EXP_TERMS:
        p = p * r + c
    return p * r * r


@numba.njit(inline="always", error_model="numpy", fastmath=False)
def _power_of_two(k):  # type: ignore[no-untyped-def]
    return _double((_bits(k + WHOLE) + BIAS) << MANTISSA)
