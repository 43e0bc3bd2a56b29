"""Utility: what makes the utilities of items, such as a linear function of their features.

This room may import numpy, scikit-learn and pytensor, and no other room of bayesrank.
"""

from bayesrank.utility.factors import factor_utility
from bayesrank.utility.linear import (
    SecondOrderFeatures,
    linear_utility,
    standardise_within,
    transform_slots,
)
from bayesrank.utility.neighbours import neighbour_utility, symmetric_correlations

__all__ = [
    "SecondOrderFeatures",
    "factor_utility",
    "linear_utility",
    "neighbour_utility",
    "standardise_within",
    "symmetric_correlations",
    "transform_slots",
]
