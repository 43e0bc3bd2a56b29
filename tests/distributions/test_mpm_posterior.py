"""Posteriors of `MPM` are calibrated: scores, and the adherences of rankers, by simulation.

Every simulation has items and rankers of its own, so that one model of all of them has independent
posteriors and compiles once. Its tables are an array; that a `PairCounts` has the same
log-probability is tested beside.
"""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

import bayesrank as br
from tests.distributions.calibration import bins_by_weight, bins_of_ranks, sample, uniformity

N_ITEMS, N_RANKERS, TOTAL = 4, 3, 12
FALSE_ALARM = 1e-8  # of each of seven numbers and three families, so below 1e-6 for all
VARIANCE = np.array([0.3, 0.5, 0.9, 0.5])

FAMILIES = {
    "equal": {},
    "variances": {"variance": VARIANCE},
    "given pairs": {"given_pairs": True},
}


def simulated(family, n_simulations, seed):
    """True scores and adherences, (n_simulations, ...), and tables of counts drawn with them."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=(n_simulations, N_ITEMS))
    adherence = np.abs(rng.normal(size=(n_simulations, N_RANKERS)))
    options = FAMILIES[family]
    # two comparisons of each of the six pairs, or twelve of any
    total = 2 * (1 - np.eye(N_ITEMS, dtype=int)) if "given_pairs" in options else TOTAL
    dist = br.MPM.dist(score[:, None, :], adherence=adherence, total=total, **options)
    return (score, adherence), pm.draw(dist, random_seed=seed)


def ranks_of_the_truth(family, truth, counts):
    """Rank of each true number among draws of its posterior, in tenths."""
    score, adherence = truth
    with pm.Model():
        s = pm.Normal("score", 0, 1, shape=score.shape)
        theta = pm.HalfNormal("adherence", 1, shape=adherence.shape)
        br.MPM("y", s[:, None, :], adherence=theta, observed=counts, **FAMILIES[family])
        found = sample(250)
    return bins_of_ranks(truth, ("score", "adherence"), found)


def weighed(family, truth, counts):
    """The same of weighted draws of the prior."""
    rng = np.random.default_rng(7)
    prior = rng.normal(size=(1000, N_ITEMS)), np.abs(rng.normal(size=(1000, N_RANKERS)))
    dist = br.MPM.dist(prior[0][:, None, :], adherence=prior[1], **FAMILIES[family])
    table = pt.ltensor3("table")
    logp = pm.compile([table], pm.logp(dist, table + np.zeros((1000, 1, 1, 1), int)).sum(axis=-1))
    return bins_by_weight(truth, prior, np.array([logp(x) for x in counts]))


@pytest.mark.parametrize("family", FAMILIES)
def test_weighted_draws_of_the_prior_are_calibrated(family):
    truth, counts = simulated(family, 60, seed=5)
    assert (uniformity(weighed(family, truth, counts)) > FALSE_ALARM).all()
    if family == "equal":
        # every draw twenty times: what a difference of twenty ranks is counted as
        assert uniformity(weighed(family, truth, 20 * counts)).min() < FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("n_simulations", [60, 1000], ids=["some", "many"])
@pytest.mark.parametrize("family", FAMILIES)
def test_posteriors_of_scores_and_adherences_are_calibrated(family, n_simulations):
    truth, table = simulated(family, n_simulations, seed=5)
    p = uniformity(ranks_of_the_truth(family, truth, table))
    assert p.shape == (N_ITEMS + N_RANKERS,)
    assert (p > FALSE_ALARM).all()
