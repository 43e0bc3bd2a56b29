"""Inference: estimators for models whose likelihood has no closed form.

This room may import numpy, scipy and the room data. It is pure NumPy: what PyMC can sample or
optimise itself needs nothing from here.
"""

from bayesrank.inference.contrastive import CDFit, cd_gradient, fit_cd
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
    "SetFunction",
    "ais_log_normaliser",
    "cd_gradient",
    "each_set",
    "fit_cd",
    "gibbs_sets",
    "metropolis_sets",
]
