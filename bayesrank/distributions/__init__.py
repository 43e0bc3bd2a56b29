"""PyMC distributions: the likelihoods with draws, shapes, checks and observed data.

This room may import numpy, pandas, pymc, pytensor, xarray, the rooms data and likelihoods, and
schema.
"""

from bayesrank.distributions.bpr import BPR
from bayesrank.distributions.generalized_mallows import GeneralizedMallows
from bayesrank.distributions.mallows import Mallows
from bayesrank.distributions.max_diff import MaxDiff
from bayesrank.distributions.mixture import Mixture
from bayesrank.distributions.mpm import MPM
from bayesrank.distributions.observed import set_observed
from bayesrank.distributions.outcomes import declare_outcomes
from bayesrank.distributions.pairs import BradleyTerry, Davidson, RaoKupper, Thurstone
from bayesrank.distributions.plackett_luce import PlackettLuce
from bayesrank.distributions.pmop import PMOP

__all__ = [
    "BPR",
    "MPM",
    "PMOP",
    "BradleyTerry",
    "Davidson",
    "GeneralizedMallows",
    "Mallows",
    "MaxDiff",
    "Mixture",
    "PlackettLuce",
    "RaoKupper",
    "Thurstone",
    "declare_outcomes",
    "set_observed",
]
