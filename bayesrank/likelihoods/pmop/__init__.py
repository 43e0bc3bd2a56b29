"""PMOP, ordered partitions: set functions, their normalisers, compiled Op and exact draws."""

from bayesrank.likelihoods.pmop.op import pmop_logp
from bayesrank.likelihoods.pmop.set_kernels import AGGREGATES

__all__ = ["AGGREGATES", "pmop_logp"]
