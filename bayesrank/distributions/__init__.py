"""PyMC distributions: the likelihoods with draws, shapes, checks and observed data.

This room may import numpy, pymc, pytensor and the rooms data and likelihoods.
"""

from bayesrank.distributions.mpm import MPM
from bayesrank.distributions.observed import set_rankings
from bayesrank.distributions.observed_counts import set_counts
from bayesrank.distributions.plackett_luce import PlackettLuce
from bayesrank.distributions.pmop import PMOP

__all__ = ["MPM", "PMOP", "PlackettLuce", "set_counts", "set_rankings"]
