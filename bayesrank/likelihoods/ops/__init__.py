"""What all families share: the base of compiled Ops, sums that are known, stable functions."""

from bayesrank.likelihoods.ops.arrays import NOTHING, segment_sum

__all__ = ["NOTHING", "segment_sum"]
