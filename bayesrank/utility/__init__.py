"""Utilities of items: networks of features, part-worths, functions of the presented set, dynamics.

This room may import numpy, pandas, pymc and pytensor, and the room data.
"""

from bayesrank.utility.dynamics import Dynamics
from bayesrank.utility.linear import part_worths
from bayesrank.utility.networks import (
    ACTIVATIONS,
    WeightSpec,
    dense_layers,
    dense_utility,
    dense_weights,
    draw_weights,
    weight_coords,
)
from bayesrank.utility.over_time import matern, random_walk, trend
from bayesrank.utility.sets import fate_utility, fate_weights, feta_utility, feta_weights

__all__ = [
    "ACTIVATIONS",
    "Dynamics",
    "WeightSpec",
    "dense_layers",
    "dense_utility",
    "dense_weights",
    "draw_weights",
    "fate_utility",
    "fate_weights",
    "feta_utility",
    "feta_weights",
    "matern",
    "part_worths",
    "random_walk",
    "trend",
    "weight_coords",
]
