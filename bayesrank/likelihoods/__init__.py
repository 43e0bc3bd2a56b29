"""Likelihoods: pure PyTensor graphs and the compiled Ops behind them.

This room may import numpy, scipy, llvmlite, numba, pytensor and jax, and no other room of
bayesrank.
"""

# Before any kernel compiles, because it gives compiled functions names that no other process gives.
# Numba counts them anew in each process, and kernels loaded from its cache under one name are taken
# for one another, which crashes (numba issue 10486).
import pytensor.link.numba.cache  # noqa: F401
