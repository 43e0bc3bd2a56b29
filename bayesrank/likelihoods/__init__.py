"""Likelihoods: pure PyTensor graphs and the compiled Ops behind them.

This room may import numpy, scipy, numba, pytensor and jax, and no other room of bayesrank.
"""
