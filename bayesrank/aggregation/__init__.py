"""Aggregation: consensus scores by methods without a likelihood, to compare with.

This room may import numpy, pandas, scipy and the room data.
"""

from bayesrank.aggregation.borda import borda
from bayesrank.aggregation.svd import svd_scores

__all__ = ["borda", "svd_scores"]
