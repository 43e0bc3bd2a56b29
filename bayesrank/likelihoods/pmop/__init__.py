"""PMOP, ordered partitions: set functions, their normalisers, a compiled Op, and exact draws.

This wing may import the wing ops.
"""

from bayesrank.likelihoods.pmop.op import OrderedPartitionDraw, pmop_logp
from bayesrank.likelihoods.pmop.set_kernels import AGGREGATES

__all__ = ["AGGREGATES", "OrderedPartitionDraw", "pmop_logp"]
