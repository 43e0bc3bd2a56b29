"""PyMC distributions: the likelihoods with draws, shapes, checks and observed data.

This room may import numpy, pymc, pytensor and the rooms data and likelihoods.
"""

from bayesrank.distributions.observed import set_rankings
from bayesrank.distributions.plackett_luce import PlackettLuce
from bayesrank.distributions.pmop import PMOP

__all__ = ["PMOP", "PlackettLuce", "set_rankings"]
