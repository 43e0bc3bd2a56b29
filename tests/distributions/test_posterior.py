"""Posteriors: against an exact one, and calibrated by simulation.

Tolerances are Monte Carlo standard errors; 5.5 of them raise a false alarm in 4 of 10⁸ runs.
"""

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm
import pytest

import bayesrank as br
from bayesrank.data import UninformativeRankingWarning
from tests.distributions.calibration import bins_by_weight, bins_of_ranks, sample, uniformity

SIGMAS = 5.5

# Four items, three pairs, independent Normal(0, sqrt(8)); by transfer-matrix quadrature
CHAIN = [[3, 2], [2, 1], [1, 0]]
MEAN = np.array([-2.24911188, -0.54263833, 0.54263833, 2.24911188])
COVARIANCE = np.array(
    [
        [5.134915, 1.793574, 0.735519, 0.335991],
        [1.793574, 3.870906, 1.6, 0.735519],
        [0.735519, 1.6, 3.870906, 1.793574],
        [0.335991, 0.735519, 1.793574, 5.134915],
    ]
)


@pytest.fixture(
    scope="module",
    params=[pytest.param(n, marks=pytest.mark.slow) for n in ("PlackettLuce", "BradleyTerry")],
)
def chain_posterior(request):
    if request.param == "PlackettLuce":
        data, distribution = br.Rankings.from_orderings(CHAIN, items=range(4)), br.PlackettLuce
    else:
        table = pd.DataFrame(CHAIN, columns=["winner", "other"]).assign(outcome="first")
        data = br.Pairs.from_frame(
            table, first="winner", second="other", outcome="outcome", items=range(4)
        )
        distribution = br.BradleyTerry
    with pm.Model(coords=data.coords):
        utility = pm.Normal("utility", 0, np.sqrt(8), dims="item")
        distribution("y", utility, observed=data)
        return sample(20_000, tune=1000, chains=2)


def assert_within_monte_carlo_error(x, exact, *, worse_than=0.05):
    """Compare means over chains and draws; the error must be small enough to mean something."""
    error = np.array([az.mcse(column, method="mean") for column in np.moveaxis(x, -1, 0)])
    assert (error < worse_than).all()
    assert (abs(x.mean(axis=(0, 1)) - exact) < SIGMAS * error).all()


def test_the_mean_of_four_items_is_the_exact_one(chain_posterior):
    assert_within_monte_carlo_error(chain_posterior.posterior["utility"].values, MEAN)


def test_the_covariance_of_four_items_is_the_exact_one(chain_posterior):
    x = chain_posterior.posterior["utility"].values - MEAN
    products = (x[..., :, None] * x[..., None, :]).reshape(*x.shape[:2], 16)
    assert_within_monte_carlo_error(products, COVARIANCE.ravel(), worse_than=0.1)


# Simulation-based calibration

N_RANKINGS = 5
SIZES = np.array([[2, 1, 1], [1, 3, 0], [2, 2, 0], [3, 1, 0], [1, 2, 1]])
FALSE_ALARM = 1e-7  # of each of the items, so below 1e-6 for all


class Family(NamedTuple):
    """A distribution with its options: those of draws only, and those of both."""

    distribution: Any
    to_draw: Mapping[str, Any]
    options: Mapping[str, Any]
    n_items: int = 4


FAMILIES = {
    "PlackettLuce": Family(br.PlackettLuce, {"sizes": SIZES}, {}),
    "PMOP mean": Family(br.PMOP, {}, {"aggregate": "mean"}),
    # three items, at a third of the time of four
    "PMOP geometric": Family(
        br.PMOP, {}, {"aggregate": "geometric", "tie_prevalence": [1.0, 0.5]}, n_items=3
    ),
}


def simulated(family, n_simulations, seed):
    """True utilities (n_simulations, n_items), and weak orders drawn with them."""
    distribution, to_draw, options, n_items = FAMILIES[family]
    truth = np.random.default_rng(seed).normal(size=(n_simulations, n_items))
    utility = np.repeat(truth[:, None, :], N_RANKINGS, axis=1)
    ranks = pm.draw(distribution.dist(utility, **to_draw, **options), random_seed=seed)
    simulation, ranking, item = np.indices(ranks.shape)
    return truth, pd.DataFrame(
        {
            "ranker": (simulation * N_RANKINGS + ranking).ravel(),
            "item": (simulation * n_items + item).ravel(),
            "rank": ranks.ravel(),
        }
    )


def ranks_of_the_truth(family, truth, table):
    """Rank of each true utility among draws of its posterior, in tenths."""
    distribution, _, options, _ = FAMILIES[family]
    with warnings.catch_warnings():
        # that all are tied says nothing to PlackettLuce, and something to PMOP
        warnings.simplefilter("ignore", UninformativeRankingWarning)
        rankings = br.Rankings.from_long_ranks(
            table, ranker="ranker", item="item", rank="rank", items=range(truth.size)
        )
    with pm.Model(coords=rankings.coords):
        utility = pm.Normal("utility", dims="item")
        distribution("y", utility, observed=rankings, **options)
        found = sample(250, chains=2)
    return bins_of_ranks([truth], ["utility"], found)


def weighed(family, truth, table):
    """The same of weighted draws of the prior."""
    distribution, _, options, n_items = FAMILIES[family]
    ranks = table["rank"].to_numpy().reshape(len(truth), 1, N_RANKINGS, n_items)
    prior = np.random.default_rng(7).normal(size=(1000, n_items))
    utility = np.broadcast_to(prior[:, None, :], (len(truth), len(prior), N_RANKINGS, n_items))
    logp = pm.logp(distribution.dist(utility, **options), np.broadcast_to(ranks, utility.shape))
    return bins_by_weight([truth], [prior], logp.sum(axis=-1).eval())


@pytest.mark.parametrize("family", FAMILIES)
def test_weighted_draws_of_the_prior_are_calibrated(family):
    truth, table = simulated(family, 100, seed=5)
    assert (uniformity(weighed(family, truth, table)) > FALSE_ALARM).all()
    if family != "PMOP geometric":
        assert uniformity(weighed(family, truth, broken(table))).min() < FALSE_ALARM


def broken(table):
    """Break ties by the order of the items."""
    out = table.sort_values(["ranker", "rank", "item"])
    out["rank"] = out.groupby("ranker").cumcount() + 1
    return out.sort_index()


@pytest.mark.slow
@pytest.mark.parametrize("n_simulations", [100, 1000], ids=["some", "many"])
@pytest.mark.parametrize("family", FAMILIES)
def test_posteriors_of_weak_orders_are_calibrated(family, n_simulations):
    truth, table = simulated(family, n_simulations, seed=5)
    ranks = ranks_of_the_truth(family, truth, table)
    assert (uniformity(ranks) > FALSE_ALARM).all()
