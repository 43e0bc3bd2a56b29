"""Uniform numbers from a 64-bit state: SplitMix64 (Steele, Lea & Flood, OOPSLA 2014)."""

import numba
import numpy as np

__all__ = ["uniform"]


@numba.njit(cache=True)
def uniform(state):  # type: ignore[no-untyped-def]
    """Return the next number in (0, 1); advances `state` (1,) of uint64."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    # 52 bits: with 53, the largest number would round up to one
    return (float(z >> np.uint64(12)) + 0.5) * 2.0**-52
