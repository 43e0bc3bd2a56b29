"""PyMC distributions: the likelihoods with draws, shapes, checks and observed data.

This room may import numpy, pymc, pytensor and the rooms data and likelihoods.
"""

from bayesrank.distributions.bpr import BPR
from bayesrank.distributions.mpm import MPM
from bayesrank.distributions.observed import set_rankings
from bayesrank.distributions.observed_counts import set_counts
from bayesrank.distributions.observed_pairs import set_pairs
from bayesrank.distributions.pairwise import BradleyTerry, Davidson, RaoKupper, Thurstone
from bayesrank.distributions.plackett_luce import PlackettLuce
from bayesrank.distributions.pmop import PMOP

__all__ = [
    "BPR",
    "MPM",
    "PMOP",
    "BradleyTerry",
    "Davidson",
    "PlackettLuce",
    "RaoKupper",
    "Thurstone",
    "set_counts",
    "set_pairs",
    "set_rankings",
]
