"""Inference: estimators without a closed form, LearnBPR, modes, Laplace and cross-validation.

This room may import arviz, numba, numpy, nutpie, pymc, pytensor, rich, scipy, threadpoolctl,
xarray, the rooms data and likelihoods, and schema. The estimators of set functions are pure NumPy.
What PyMC can sample or optimise itself needs nothing from here, but for `learn_bpr`, gradient
ascent on triples of interactions, `posterior_modes`, which finds the modes of one model for many
prior scales and compiles it once, `train`, which finds the mode of a model of many weights by
batches, `laplace`, which draws from a normal posterior around a mode, and `kfold`, which compiles
one model for all folds.
"""

from bayesrank.inference.conditional import given
from bayesrank.inference.kfold import FoldWarning, kfold
from bayesrank.inference.laplace import laplace
from bayesrank.inference.learn_bpr import FactorFit, Penalties, learn_bpr, prior_penalties
from bayesrank.inference.learn_bpr_neighbours import (
    NeighbourFit,
    NeighbourPenalties,
    learn_bpr_neighbours,
)
from bayesrank.inference.modes import posterior_modes
from bayesrank.inference.training import train

__all__ = [
    "FactorFit",
    "FoldWarning",
    "NeighbourFit",
    "NeighbourPenalties",
    "Penalties",
    "given",
    "kfold",
    "laplace",
    "learn_bpr",
    "learn_bpr_neighbours",
    "posterior_modes",
    "prior_penalties",
    "train",
]
