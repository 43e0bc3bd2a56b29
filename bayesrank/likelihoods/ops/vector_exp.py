"""Exponential functions and a logarithm that compile to vector instructions.

Unless Intel's vector library is installed, numba calls the C library for one number at a time. LLVM
compiles an inlined polynomial to vector instructions, which is four times as fast. Inlined
functions inherit the floating-point options of their caller, and lose some digits if those allow
sums in another order (``reassoc``). With x = k log 2 + r and abs(r) <= log(2) / 2,

    exp(x) = 2^k (1 + r + r^2 / 2! + ... + r^13 / 13!),

with a truncation error below r^14 / 14! = 4e-18. Results are within two units in the last place.

Let x = 2^k m, where m is between 1 / sqrt 2 and sqrt 2. Then with s = (m - 1) / (m + 1),

    log(x) = k log 2 + 2 s (1 + s^2 / 3 + s^4 / 5 + ... + s^20 / 21),

with a truncation error below 2 s^23 / 23 = 2e-19.
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
# log 2 in two parts: products of the first part with an integer below 2^21 are exact
LOG_2_HIGH, LOG_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# An integer is in the last bits of its sum with this number
WHOLE = 1.5 * 2.0**52
FARTHEST = 700.0  # both exponential functions are valid from -700 to 700
BIAS, MANTISSA = 1023, 52  # of the exponent of a double
EXP_TERMS = tuple(1 / math.factorial(i) for i in range(13, 1, -1))  # highest power first


# Mantissas above this one get an exponent one higher, so that m is at least 1 / sqrt 2
HALF_OCTAVE = 0x3FE6A09E667F3BCD  # bits of 1 / sqrt 2
LOG_TERMS = tuple(2 / (2 * i + 1) for i in range(10, 0, -1))


@intrinsic
def _rounded(context: Any, x: Any) -> Any:
    """Return the nearest integer as a double.

    Adding and subtracting a large number does the same, but not under `fastmath`. A function
    inherits that option from its first caller unless it sets the option itself.
    """
    return types.float64(types.float64), lambda c, builder, s, given: builder.call(
        builder.module.declare_intrinsic("llvm.rint", [ir.DoubleType()]), given
    )


@intrinsic
def _bits(context: Any, x: Any) -> Any:
    """Return the 64 bits of a double as an integer."""
    return types.int64(types.float64), lambda c, builder, s, given: builder.bitcast(
        given[0], ir.IntType(64)
    )


@intrinsic
def _double(context: Any, x: Any) -> Any:
    """Return the double with the given 64 bits."""
    return types.float64(types.int64), lambda c, builder, s, given: builder.bitcast(
        given[0], ir.DoubleType()
    )


@numba.njit(inline="always", error_model="numpy", fastmath=False)
def vector_exp(x):  # type: ignore[no-untyped-def]
    """Exponential function for numbers from -708 to 709; NaN for NaN, arbitrary otherwise."""
    k, r = _octaves(x)
    return (_rest(r) + r + 1.0) * _power_of_two(k)


@numba.njit(inline="always", error_model="numpy", fastmath=False)
def vector_expm1(x):  # type: ignore[no-untyped-def]
    """Exponential function minus one for numbers from -708 to 709, also exact near zero."""
    k, r = _octaves(x)
    power = _power_of_two(k)
    return (_rest(r) + r) * power + (power - 1.0)


@numba.njit(inline="always", error_model="numpy", fastmath=False)
def vector_log(x):  # type: ignore[no-untyped-def]
    """Logarithm for finite numbers from 2.3e-308 on; arbitrary otherwise."""
    octaves = (_bits(x) - HALF_OCTAVE) >> MANTISSA
    m = _double(_bits(x) - (octaves << MANTISSA))
    k = np.float64(np.int32(octaves))  # 32 bits, because most processors only convert those
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
    """Return exp(r) - 1 - r."""
    p = 0.0
    for c in EXP_TERMS:
        p = p * r + c
    return p * r * r


@numba.njit(inline="always", error_model="numpy", fastmath=False)
def _power_of_two(k):  # type: ignore[no-untyped-def]
    return _double((_bits(k + WHOLE) + BIAS) << MANTISSA)
