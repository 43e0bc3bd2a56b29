"""Posteriors of `Davidson` are calibrated: utilities, the order effect and the prevalence of ties.

Every simulation has items and parameters of its own, so that one model of all of them has
independent posteriors and compiles once.
"""

import numpy as np
import pymc as pm
import pytest

import bayesrank as br
from tests.distributions.calibration import bins_by_weight, bins_of_ranks, sample, uniformity

N_ITEMS, MATCHES = 3, 3
FIRST, SECOND = np.array([0, 0, 1, 2]), np.array([1, 2, 2, 0])  # one pair both ways round
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
    return (utility, effect, nu), pm.draw(dist, random_seed=seed)


def ranks_of_the_truth(truth, counts):
    """Rank of each true number among draws of its posterior, in tenths."""
    n = len(counts)
    with pm.Model():
        utility = pm.Normal("utility", 0, 1, shape=(n, N_ITEMS))
        effect = pm.Normal("effect", 0, 0.5, shape=(n, 1))
        nu = pm.LogNormal("nu", 0, 1, shape=(n, 1))
        pairs = utility[:, np.stack([FIRST, SECOND], axis=-1)]
        br.Davidson("y", pairs, order_effect=effect, nu=nu, observed=counts)
        found = sample(250)
    return bins_of_ranks(truth, ("utility", "effect", "nu"), found)


def weighed(truth, counts):
    """The same of weighted draws of the prior."""
    rng, n = np.random.default_rng(7), 1000
    utility = rng.normal(size=(n, N_ITEMS))
    effect, nu = 0.5 * rng.normal(size=n), np.exp(rng.normal(size=n))
    pairs = utility[:, np.stack([FIRST, SECOND], axis=-1)]
    pairs = np.broadcast_to(pairs, (len(counts), *pairs.shape))
    dist = br.Davidson.dist(pairs, order_effect=effect[:, None], nu=nu[:, None])
    value = np.broadcast_to(counts[:, None], (*pairs.shape[:-1], 3))
    logp = pm.logp(dist, value).sum(axis=-1).eval()
    return bins_by_weight(truth, (utility, effect, nu), logp)


def wins_of_the_first(counts):
    """Take ties for wins of the first item."""
    first, second, tie = np.moveaxis(counts, -1, 0)
    return np.stack([first + tie, second, 0 * tie], axis=-1)


def test_weighted_draws_of_the_prior_are_calibrated():
    truth, counts = simulated(100, seed=5)
    assert (uniformity(weighed(truth, counts)) > FALSE_ALARM).all()
    assert uniformity(weighed(truth, wins_of_the_first(counts))).min() < FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("n_simulations", [100, 1000], ids=["some", "many"])
def test_posteriors_of_utilities_effects_and_prevalences_are_calibrated(n_simulations):
    p = uniformity(ranks_of_the_truth(*simulated(n_simulations, seed=5)))
    assert p.shape == (N_ITEMS + 2,)
    assert (p > FALSE_ALARM).all()
