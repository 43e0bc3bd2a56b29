"""Inference: modes, Laplace's approximation, training by batches and cross-validation.

What PyMC can sample or optimise itself needs nothing from here, but for `sample`, which does not
compile again in every process, with `compile_density` and `nuts_seconds`, which says how long it
would take, and `normal_near` and `near_if_it_pays`, coordinates in which it takes fewer steps;
`posterior_modes`, which finds the modes of one model for many prior scales and compiles it once,
with its parts `objective`, `climb` and `adam`; `laplace`, which draws from a normal posterior
around a mode; `quick_posterior`, which does so for models that learn scales, too, and
`quick_matches` from counts; `history`, of utilities that change with time, and
`forward_validation`, which predicts what comes next from all before it; `map_fits`, which fits many
problems with one model, on many processes if asked, and `on_workers`, by which it does;
`train`, which finds the mode of a model of
many weights by batches;
`given`, which fixes some variables; `kfold`, which compiles one model for all folds; `find_kinds`
and `membership`, for mixtures; `consensus_posterior` and `consensus_log_likelihood`, of a consensus
that was summed out; and `LeapAndShift`, steps of one that was not.

This room may import arviz, cloudpickle, joblib, numba, numpy, nutpie, pandas, pymc, pytensor, rich,
scipy, threadpoolctl, xarray, the rooms data, distributions, likelihoods and utility, and schema.
"""

from bayesrank.inference.approximation.fit_pairs import MatchFit, fit_matches, quick_matches
from bayesrank.inference.approximation.laplace_draws import hessian, laplace
from bayesrank.inference.approximation.modes import (
    Point,
    adam,
    climb,
    data_groups,
    hessian_product,
    objective,
    posterior_modes,
)
from bayesrank.inference.approximation.nested import (
    Near,
    learned_scales,
    normal_near,
    quick_posterior,
)
from bayesrank.inference.dynamic.forward import ForwardValidation, forward_validation
from bayesrank.inference.dynamic.histories import History, history
from bayesrank.inference.mixtures.em import KindsFound, KindsWarning, find_kinds, membership
from bayesrank.inference.mixtures.leap_and_shift import LeapAndShift
from bayesrank.inference.mixtures.sampled_consensus import (
    consensus_log_likelihood,
    consensus_posterior,
)
from bayesrank.inference.sampling.conditional import given
from bayesrank.inference.sampling.nuts import (
    CFunction,
    compile_density,
    near_if_it_pays,
    nuts_seconds,
    sample,
)
from bayesrank.inference.sampling.training import train
from bayesrank.inference.validation.kfold import FoldWarning, kfold
from bayesrank.inference.validation.map_fits import FitWarning, map_fits
from bayesrank.inference.validation.workers import on_workers

__all__ = [
    "CFunction",
    "FitWarning",
    "FoldWarning",
    "ForwardValidation",
    "History",
    "KindsFound",
    "KindsWarning",
    "LeapAndShift",
    "MatchFit",
    "Near",
    "Point",
    "adam",
    "climb",
    "compile_density",
    "consensus_log_likelihood",
    "consensus_posterior",
    "data_groups",
    "find_kinds",
    "fit_matches",
    "forward_validation",
    "given",
    "hessian",
    "hessian_product",
    "history",
    "kfold",
    "laplace",
    "learned_scales",
    "map_fits",
    "membership",
    "near_if_it_pays",
    "normal_near",
    "nuts_seconds",
    "objective",
    "on_workers",
    "posterior_modes",
    "quick_matches",
    "quick_posterior",
    "sample",
    "train",
]
