"""Utilities of items: part-worths of features, and dynamics over time.

This room may import numpy, pandas, pymc and pytensor, and the room data.
"""

from bayesrank.utility.dynamics import Dynamics
from bayesrank.utility.linear import part_worths
from bayesrank.utility.over_time import matern, random_walk, trend

__all__ = ["Dynamics", "matern", "part_worths", "random_walk", "trend"]
