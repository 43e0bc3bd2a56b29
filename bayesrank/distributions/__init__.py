"""PyMC distributions: the likelihoods with draws, shapes, checks and observed data.

This room may import numpy, pandas, pymc, pytensor, xarray, the rooms data and likelihoods, and
schema.
"""

from bayesrank.distributions.core.observed import set_observed
from bayesrank.distributions.core.outcomes import declare_outcomes
from bayesrank.distributions.counts.mpm import MPM
from bayesrank.distributions.mallows.generalized import GeneralizedMallows
from bayesrank.distributions.mallows.mallows import Mallows
from bayesrank.distributions.mixture.mixture import Mixture
from bayesrank.distributions.pairs.bpr import BPR
from bayesrank.distributions.pairs.grounded import GroundedRaoKupper
from bayesrank.distributions.pairs.matches import BradleyTerry, Davidson, RaoKupper, Thurstone
from bayesrank.distributions.pairs.ordered import OrderedPairs, cutpoints
from bayesrank.distributions.rankings.max_diff import MaxDiff
from bayesrank.distributions.rankings.plackett_luce import PlackettLuce
from bayesrank.distributions.rankings.pmop import PMOP

__all__ = [
    "BPR",
    "MPM",
    "PMOP",
    "BradleyTerry",
    "Davidson",
    "GeneralizedMallows",
    "GroundedRaoKupper",
    "Mallows",
    "MaxDiff",
    "Mixture",
    "OrderedPairs",
    "PlackettLuce",
    "RaoKupper",
    "Thurstone",
    "cutpoints",
    "declare_outcomes",
    "set_observed",
]
