"""Simulation-based calibration (Talts et al. 2018, arXiv:1804.06788): ranks of the truth.

A test draws numbers from the prior and data with them, and asks which rank each true number has
among draws of its posterior: all ranks are equally likely, or likelihood, draws and sampler do not
belong together. Every simulation has items of its own, so that one model of all simulations has
independent posteriors and compiles once.

By NUTS that takes minutes, in the slow set. In the short one draws of the prior, weighted by the
likelihood, stand for those of the posterior: the same question to likelihood and draws, with data
small enough for a few hundred of them.
"""

from collections.abc import Sequence

import arviz as az
import numpy as np
import pymc as pm
import xarray as xr
from scipy.stats import chisquare

N_BINS = 10
THINNED = 5  # ranks among draws that depend on each other are not uniform


def sample(draws: int, *, tune: int = 300, chains: int = 1) -> xr.DataTree:
    """Sample the model in context by NUTS, in one process."""
    return pm.sample(
        draws,
        tune=tune,
        chains=chains,
        cores=1,
        nuts_sampler="nutpie",
        progressbar=False,
        random_seed=20020217,
        compute_convergence_checks=False,
    )


def bins_of_ranks(
    truth: Sequence[np.ndarray], names: Sequence[str], posterior: xr.DataTree
) -> np.ndarray:
    """Rank of each true number among thinned draws, in tenths: (n_simulations, n_numbers).

    `truth` has an array (n_simulations, ...) for each of the variables in `names`.
    """
    thinned = posterior["posterior"].dataset.isel(draw=slice(None, None, THINNED))
    per_bin = thinned.sizes["chain"] * thinned.sizes["draw"] // N_BINS
    n_draws = per_bin * N_BINS - 1
    bins = []
    for true, name in zip(truth, names, strict=True):
        draws = az.extract(thinned[name]).values[..., :n_draws].reshape(true.size, n_draws)
        rank = (draws < true.reshape(-1, 1)).sum(axis=-1)
        bins.append((rank // per_bin).reshape(len(true), -1))
    return np.hstack(bins)


def bins_by_weight(
    truth: Sequence[np.ndarray], prior: Sequence[np.ndarray], logp: np.ndarray
) -> np.ndarray:
    """Posterior probability below each true number, in tenths: (n_simulations, n_numbers).

    `truth` has arrays (n_simulations, ...), `prior` has arrays (n_draws, ...) of the same numbers,
    and `logp` (n_simulations, n_draws) is the log-probability of all data of a simulation.
    """
    weight = np.exp(logp - logp.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    below = [
        np.einsum("sk,skj->sj", weight, x.reshape(1, len(x), -1) < true.reshape(len(true), 1, -1))
        for true, x in zip(truth, prior, strict=True)
    ]
    return np.minimum((N_BINS * np.hstack(below)).astype(int), N_BINS - 1)


def uniformity(bins: np.ndarray) -> np.ndarray:
    """p-values of a chi-square test, one per number; simulations are independent."""
    return np.array([chisquare(np.bincount(x, minlength=N_BINS)).pvalue for x in bins.T])
