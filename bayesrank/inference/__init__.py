"""Inference: modes, Laplace's approximation, training by batches and cross-validation.

`sample` runs NUTS, compiled once for all processes; `compile_density` compiles its log density, and
`nuts_seconds` estimates its run time. `objective`, `climb` and `adam` find modes. `fit_inla`,
`fit_pairs` and `fit_rankings` approximate posteriors. `fit_dynamic` and `forward_validation` treat
utilities that change with time. `find_MAP_many` fits many problems and `kfold` fits all folds;
`on_workers` runs them on several processes. `fit_minibatch` finds modes by minibatches.
`fit_mixture` and `component_probabilities` treat mixtures; `sample_consensus`,
`consensus_log_likelihood` and `LeapAndShift` treat consensus orders.

This room may import arviz, cloudpickle, joblib, numba, numpy, nutpie, pandas, pymc, pytensor, rich,
scipy, threadpoolctl, xarray, the rooms data, distributions, likelihoods and utility,
match_outcomes, priors and schema.
"""

from bayesrank.inference.approximation.fit_pairs import MatchFit, fit_matches, fit_pairs
from bayesrank.inference.approximation.fit_rankings import fit_rankings
from bayesrank.inference.approximation.modes import (
    Point,
    adam,
    climb,
    data_groups,
    objective,
)
from bayesrank.inference.approximation.nested import fit_inla, learned_scales
from bayesrank.inference.dynamic.fit import DynamicFit, fit_dynamic
from bayesrank.inference.dynamic.forward import ForwardValidation, forward_validation
from bayesrank.inference.mixtures.em import (
    MixtureFit,
    MixtureWarning,
    component_probabilities,
    fit_mixture,
)
from bayesrank.inference.mixtures.leap_and_shift import LeapAndShift
from bayesrank.inference.mixtures.sampled_consensus import (
    consensus_log_likelihood,
    sample_consensus,
)
from bayesrank.inference.sampling.nutpie_model import compile_density
from bayesrank.inference.sampling.nuts import nuts_seconds, sample
from bayesrank.inference.sampling.training import fit_minibatch
from bayesrank.inference.validation.find_map_many import FitWarning, find_MAP_many
from bayesrank.inference.validation.kfold import FoldWarning, kfold
from bayesrank.inference.validation.workers import on_workers

__all__ = [
    "DynamicFit",
    "FitWarning",
    "FoldWarning",
    "ForwardValidation",
    "LeapAndShift",
    "MatchFit",
    "MixtureFit",
    "MixtureWarning",
    "Point",
    "adam",
    "climb",
    "compile_density",
    "component_probabilities",
    "consensus_log_likelihood",
    "data_groups",
    "find_MAP_many",
    "fit_dynamic",
    "fit_inla",
    "fit_matches",
    "fit_minibatch",
    "fit_mixture",
    "fit_pairs",
    "fit_rankings",
    "forward_validation",
    "kfold",
    "learned_scales",
    "nuts_seconds",
    "objective",
    "on_workers",
    "sample",
    "sample_consensus",
]
