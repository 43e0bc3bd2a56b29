"""Posteriors of Mallows models: published figures, by quadrature."""

import functools

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy.optimize import linear_sum_assignment

import bayesrank as br
from bayesrank.likelihoods.mallows import marginal_logp, total_costs
from tests.likelihoods.loops import for_each

# BayesMallows 2.2 (R), posterior mean and standard deviation of alpha under an exponential prior of
# rate 0.001; potatoes ordered by sight
POTATOES = {"footrule": (10.861, 0.729), "spearman": (2.364, 0.249), "kendall": (16.454, 1.222)}
SUSHI, LEAST_FOOTRULE = (1.7123, 0.0198), 120_086


@pytest.fixture
def potatoes(data_dir):
    frame = pd.read_csv(data_dir / "potatoes" / "potato_visual.csv", index_col="assessor")
    return br.Rankings.from_ranks(frame)


@pytest.fixture
def sushi(data_dir):
    return br.load_sushi("a", data_dir / "sushi3")


def by_quadrature(rankings, distance, mean, sd):
    """Posterior mean and standard deviation of alpha: the sum of a smooth function at few points.

    Of a function like a normal density, steps of 0.7 standard deviations leave out 1e-17.
    """
    ranks = np.argsort(rankings.item, axis=1) + 1
    f = joint_logp(*ranks.shape, distance)
    alpha = mean + sd * np.arange(-6.3, 7.1, 0.7)
    alpha = alpha[alpha > 0]
    logps = np.array([float(f(np.array(a), ranks)) - 0.001 * a for a in alpha])
    weight = np.exp(logps - logps.max())
    weight /= weight.sum()
    assert max(weight[0], weight[-1]) < 1e-6
    found = weight @ alpha
    return found, np.sqrt(weight @ alpha**2 - found**2)


@pytest.mark.slow
@for_each("distance", POTATOES)
def test_potatoes_have_the_published_posterior(potatoes, distance):
    mean, sd = POTATOES[distance]
    found = by_quadrature(potatoes, distance, mean, sd)
    # theirs are Monte Carlo estimates, to three digits
    assert found[0] == pytest.approx(mean, abs=0.002)
    assert found[1] == pytest.approx(sd, abs=0.002)


def test_sushi_has_the_published_posterior_and_the_published_consensus(sushi):
    found = by_quadrature(sushi, "footrule", *SUSHI)
    np.testing.assert_allclose(found, SUSHI, atol=5e-5)
    ranks = np.argsort(sushi.item, axis=1) + 1
    cost = total_costs(ranks, np.ones(len(ranks)), "footrule")
    assert cost[linear_sum_assignment(cost)].sum() == LEAST_FOOTRULE


@functools.cache
def joint_logp(n_rankings, n, distance):
    """Log-probability of rankings by alpha, the consensus marginalised."""
    alpha, ranks = pt.dscalar("alpha"), pt.tensor("ranks", shape=(n_rankings, n), dtype="int64")
    f = pm.compile([alpha, ranks], marginal_logp(ranks, alpha, distance))
    f.trust_input = True
    return f
