"""Likelihoods: pure PyTensor graphs, and compiled Ops that evaluate them.

This room may import numpy, scipy, llvmlite, numba, pytensor, jax, kernel_cache and
match_outcomes.
"""

import bayesrank.kernel_cache  # noqa: F401  (before any kernel compiles)
