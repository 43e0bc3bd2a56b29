"""Inference: modes, Laplace's approximation, training by batches and cross-validation.

`sample` is NUTS that is compiled once for all processes, `compile_density` its log density, and
`nuts_seconds` estimates its time. `posterior_modes` finds modes, with its parts `objective`,
`climb` and `adam`; `laplace`, `quick_posterior` and `quick_matches` approximate posteriors.
`history` and `forward_validation` are for utilities that change with time. `map_fits` fits many
problems and `kfold` all folds, by `on_workers` on several processes. `train` finds modes by
minibatches. `find_kinds` and `membership` are for mixtures,
`consensus_posterior`, `consensus_log_likelihood` and `LeapAndShift` for consensus orders.

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
from bayesrank.inference.approximation.nested import learned_scales, quick_posterior
from bayesrank.inference.dynamic.forward import ForwardValidation, forward_validation
from bayesrank.inference.dynamic.histories import History, history
from bayesrank.inference.mixtures.em import KindsFound, KindsWarning, find_kinds, membership
from bayesrank.inference.mixtures.leap_and_shift import LeapAndShift
from bayesrank.inference.mixtures.sampled_consensus import (
    consensus_log_likelihood,
    consensus_posterior,
)
from bayesrank.inference.sampling.nutpie_model import compile_density
from bayesrank.inference.sampling.nuts import nuts_seconds, sample
from bayesrank.inference.sampling.training import train
from bayesrank.inference.validation.kfold import FoldWarning, kfold
from bayesrank.inference.validation.map_fits import FitWarning, map_fits
from bayesrank.inference.validation.workers import on_workers

__all__ = [
    "FitWarning",
    "FoldWarning",
    "ForwardValidation",
    "History",
    "KindsFound",
    "KindsWarning",
    "LeapAndShift",
    "MatchFit",
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
    "hessian",
    "hessian_product",
    "history",
    "kfold",
    "laplace",
    "learned_scales",
    "map_fits",
    "membership",
    "nuts_seconds",
    "objective",
    "on_workers",
    "posterior_modes",
    "quick_matches",
    "quick_posterior",
    "sample",
    "train",
]
