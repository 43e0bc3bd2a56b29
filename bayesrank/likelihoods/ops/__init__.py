"""What all families share: the base of compiled Ops, sums that are known, stable functions."""

from bayesrank.likelihoods.ops.arrays import broadcast_batch, segment_sum
from bayesrank.likelihoods.ops.stable import softplus
from bayesrank.likelihoods.ops.with_sum import with_sum

__all__ = ["broadcast_batch", "segment_sum", "softplus", "with_sum"]
