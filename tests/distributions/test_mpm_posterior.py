"""Posteriors of `MPM` are calibrated: scores, and the adherences of rankers, by simulation.

Every simulation has items and rankers of its own, so that one model of all of them has independent
posteriors and compiles once. Its tables are an array; that a `PairCounts` has the same
log-probability is tested beside.
"""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy.stats import chisquare

import bayesrank as br

N_ITEMS, N_RANKERS, TOTAL = 4, 3, 12
N_BINS = 10
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
    """Rank of each true number among draws of its posterior, 0 to the number of draws."""
    score, adherence = truth
    with pm.Model():
        s = pm.Normal("score", 0, 1, shape=score.shape)
        theta = pm.HalfNormal("adherence", 1, shape=adherence.shape)
        br.MPM("y", s[:, None, :], adherence=theta, observed=counts, **FAMILIES[family])
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
    out = []
    for name, true in (("score", score), ("adherence", adherence)):
        draws = az.extract(thinned[name]).values[..., : 5 * N_BINS - 1]
        assert draws.shape == (*true.shape, 5 * N_BINS - 1)
        out.append((draws < true[..., None]).sum(axis=-1))
    return np.hstack(out)


def uniformity(ranks):
    """p-values of a chi-square test, one per number; simulations are independent."""
    counts = [np.bincount(column // 5, minlength=N_BINS) for column in ranks.T]
    return np.array([chisquare(count).pvalue for count in counts])


@pytest.mark.parametrize(
    "n_simulations", [60, pytest.param(1000, marks=pytest.mark.slow)], ids=["some", "many"]
)
@pytest.mark.parametrize("family", FAMILIES)
def test_posteriors_of_scores_and_adherences_are_calibrated(family, n_simulations):
    truth, table = simulated(family, n_simulations, seed=5)
    p = uniformity(ranks_of_the_truth(family, truth, table))
    assert p.shape == (N_ITEMS + N_RANKERS,)
    assert (p > FALSE_ALARM).all()


def test_counts_of_steps_that_are_not_independent_would_show():
    # every draw twenty times: what a difference of twenty ranks is counted as
    truth, counts = simulated("equal", 60, seed=5)
    assert uniformity(ranks_of_the_truth("equal", truth, 20 * counts)).min() < FALSE_ALARM
