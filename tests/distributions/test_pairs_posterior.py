"""Posteriors of `Davidson` are calibrated: utilities, the order effect and the prevalence of ties.

Every simulation has items and parameters of its own, so that one model of all of them has
independent posteriors and compiles once.
"""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy.stats import chisquare

import bayesrank as br

N_ITEMS, MATCHES = 3, 3
FIRST, SECOND = np.array([0, 0, 1, 2]), np.array([1, 2, 2, 0])  # one pair both ways round
N_BINS = 10
FALSE_ALARM = 1e-8  # of each of five numbers


def simulated(n_simulations, seed):
    """True utilities, order effects and prevalences, and outcomes drawn with them."""
    rng = np.random.default_rng(seed)
    utility = rng.normal(size=(n_simulations, N_ITEMS))
    effect = 0.5 * rng.normal(size=n_simulations)
    nu = np.exp(rng.normal(size=n_simulations))
    dist = br.Davidson.dist(
        utility[:, np.stack([FIRST, SECOND], axis=-1)],
        order_effect=effect[:, None],
        nu=nu[:, None],
        total=MATCHES,
    )
    return np.column_stack([utility, effect, nu]), pm.draw(dist, random_seed=seed)


def ranks_of_the_truth(truth, counts):
    """Rank of each true number among draws of its posterior, 0 to the number of draws."""
    n = len(truth)
    with pm.Model():
        utility = pm.Normal("utility", 0, 1, shape=(n, N_ITEMS))
        effect = pm.Normal("effect", 0, 0.5, shape=(n, 1))
        nu = pm.LogNormal("nu", 0, 1, shape=(n, 1))
        pairs = utility[:, np.stack([FIRST, SECOND], axis=-1)]
        br.Davidson("y", pairs, order_effect=effect, nu=nu, observed=counts)
        idata = pm.sample(
            250,
            tune=300,
            chains=1,
            cores=1,
            nuts_sampler="nutpie",
            progressbar=False,
            random_seed=20020217,
            compute_convergence_checks=False,
        )
    # thinned: ranks among draws that depend on each other are not uniform
    thinned = idata.posterior.isel(draw=slice(None, None, 5))
    draws = np.concatenate(
        [az.extract(thinned[name]).values for name in ("utility", "effect", "nu")], axis=1
    )[..., : 5 * N_BINS - 1]
    assert draws.shape == (*truth.shape, 5 * N_BINS - 1)
    return (draws < truth[..., None]).sum(axis=-1)


def uniformity(ranks):
    """p-values of a chi-square test, one per number; simulations are independent."""
    counts = [np.bincount(column // 5, minlength=N_BINS) for column in ranks.T]
    return np.array([chisquare(count).pvalue for count in counts])


@pytest.mark.parametrize(
    "n_simulations", [100, pytest.param(1000, marks=pytest.mark.slow)], ids=["some", "many"]
)
def test_posteriors_of_utilities_effects_and_prevalences_are_calibrated(n_simulations):
    p = uniformity(ranks_of_the_truth(*simulated(n_simulations, seed=5)))
    assert p.shape == (N_ITEMS + 2,)
    assert (p > FALSE_ALARM).all()


def test_ties_taken_for_wins_of_the_first_item_would_show():
    truth, counts = simulated(100, seed=5)
    counts = np.stack(
        [counts[..., 0] + counts[..., 2], counts[..., 1], 0 * counts[..., 2]], axis=-1
    )
    assert uniformity(ranks_of_the_truth(truth, counts)).min() < FALSE_ALARM
