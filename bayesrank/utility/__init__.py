"""Utility: what makes the utilities of items, such as a linear function of their features.

This room may import numpy, pandas, pymc, pytensor and scikit-learn, and the room data.
"""

from bayesrank.utility.dense import ACTIVATIONS, dense_layers, dense_utility, dense_weights
from bayesrank.utility.dynamics import Dynamics
from bayesrank.utility.factors import factor_utility
from bayesrank.utility.fate import fate_utility, fate_weights
from bayesrank.utility.feta import feta_utility, feta_weights
from bayesrank.utility.linear import (
    SecondOrderFeatures,
    linear_utility,
    standardise_within,
    transform_slots,
)
from bayesrank.utility.over_time import matern, random_walk, trend
from bayesrank.utility.sets import check_features
from bayesrank.utility.weights import WeightSpec, draw_weights, weight_coords

__all__ = [
    "ACTIVATIONS",
    "Dynamics",
    "SecondOrderFeatures",
    "WeightSpec",
    "check_features",
    "dense_layers",
    "dense_utility",
    "dense_weights",
    "draw_weights",
    "factor_utility",
    "fate_utility",
    "fate_weights",
    "feta_utility",
    "feta_weights",
    "linear_utility",
    "matern",
    "random_walk",
    "standardise_within",
    "transform_slots",
    "trend",
    "weight_coords",
]
