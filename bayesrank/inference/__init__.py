"""Inference: modes, Laplace's approximation, training by batches, LearnBPR and cross-validation.

What PyMC can sample or optimise itself needs nothing from here, but for `posterior_modes`, which
finds the modes of one model for many prior scales and compiles it once, with its parts `objective`,
`climb` and `adam`; `laplace`, which draws from a normal posterior around a mode; `train`, which
finds the mode of a model of many weights by batches; `given`, which fixes some variables; `kfold`,
which compiles one model for all folds; `find_kinds` and `membership`, for mixtures; and
`learn_bpr`, gradient ascent on triples of interactions.

This room may import arviz, numba, numpy, nutpie, pymc, pytensor, rich, scipy, threadpoolctl,
xarray, the rooms data and likelihoods, and schema.
"""

from bayesrank.inference.conditional import given
from bayesrank.inference.kfold import FoldWarning, kfold
from bayesrank.inference.kinds import KindsFound, KindsWarning, find_kinds, membership
from bayesrank.inference.laplace import hessian, laplace
from bayesrank.inference.learn_bpr import (
    FactorFit,
    NeighbourFit,
    NeighbourPenalties,
    Penalties,
    learn_bpr,
    learn_bpr_neighbours,
    prior_penalties,
)
from bayesrank.inference.modes import Point, adam, climb, objective, posterior_modes
from bayesrank.inference.training import train

__all__ = [
    "FactorFit",
    "FoldWarning",
    "KindsFound",
    "KindsWarning",
    "NeighbourFit",
    "NeighbourPenalties",
    "Penalties",
    "Point",
    "adam",
    "climb",
    "find_kinds",
    "given",
    "hessian",
    "kfold",
    "laplace",
    "learn_bpr",
    "learn_bpr_neighbours",
    "membership",
    "objective",
    "posterior_modes",
    "prior_penalties",
    "train",
]
