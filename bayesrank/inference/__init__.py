"""Inference: estimators where the likelihood has no closed form, LearnBPR, modes, and Laplace.

This room may import arviz, numba, numpy, pymc, scipy, threadpoolctl and the rooms data and
likelihoods. The estimators of set functions are pure NumPy. What PyMC can sample or optimise
itself needs nothing from here, but for `learn_bpr`, gradient ascent on triples of interactions,
`posterior_modes`, which finds the modes of one model for many prior scales and compiles it once,
and `laplace`, which draws from a normal posterior around a mode.
"""

from bayesrank.inference.contrastive import CDFit, cd_gradient, fit_cd
from bayesrank.inference.laplace import laplace
from bayesrank.inference.learn_bpr import FactorFit, Penalties, learn_bpr, prior_penalties
from bayesrank.inference.learn_bpr_neighbours import (
    NeighbourFit,
    NeighbourPenalties,
    learn_bpr_neighbours,
)
from bayesrank.inference.modes import posterior_modes
from bayesrank.inference.set_functions import SET_FUNCTIONS, SetFunction, each_set
from bayesrank.inference.set_sampling import (
    AISEstimate,
    ais_log_normaliser,
    gibbs_sets,
    metropolis_sets,
)

__all__ = [
    "SET_FUNCTIONS",
    "AISEstimate",
    "CDFit",
    "FactorFit",
    "NeighbourFit",
    "NeighbourPenalties",
    "Penalties",
    "SetFunction",
    "ais_log_normaliser",
    "cd_gradient",
    "each_set",
    "fit_cd",
    "gibbs_sets",
    "laplace",
    "learn_bpr",
    "learn_bpr_neighbours",
    "metropolis_sets",
    "posterior_modes",
    "prior_penalties",
]
