"""Aggregation: consensus scores by methods without a likelihood, and adherence to known labels.

This room may import numpy, pandas, scipy and the room data.
"""

from bayesrank.aggregation.borda import borda
from bayesrank.aggregation.supervised import (
    label_agreement,
    mean_agreement,
    supervised_adherence,
)
from bayesrank.aggregation.svd import svd_scores

__all__ = ["borda", "label_agreement", "mean_agreement", "supervised_adherence", "svd_scores"]
