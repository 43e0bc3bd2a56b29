"""PyMC distributions: the likelihoods with draws, shapes, checks and observed data.

This room may import numpy, pymc, pytensor and the rooms data and likelihoods.
"""

from bayesrank.distributions.plackett_luce import PlackettLuce

__all__ = ["PlackettLuce"]
