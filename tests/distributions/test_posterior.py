"""Posteriors are calibrated: the truth among draws of the prior, weighted by the likelihood."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

import bayesrank as br
from tests.distributions.calibration import bins_by_weight, uniformity

FALSE_ALARM = 1e-8  # of each number and family, so below 1e-6 for all
N_PRIOR = 400  # draws of the prior
SIZES = np.array([[2, 1, 1], [1, 3, 0], [2, 2, 0], [3, 1, 0], [1, 2, 1]])
MEETING = np.array([[0, 1], [0, 2], [1, 2], [2, 0]])  # one pair both ways round
VARIANCE = np.array([0.3, 0.5, 0.9, 0.5])


class Family(NamedTuple):
    """A distribution of data given numbers that have a prior."""

    prior: Callable[[Any, int], list[np.ndarray]]
    dist: Callable[..., Any]  # of these numbers (n, ...) and what only draws are given
    to_draw: Mapping[str, Any] = MappingProxyType({})
    broken: Callable[[np.ndarray], np.ndarray] | None = None  # data that are not calibrated
    n_simulations: int = 100


def without_ties(ranks):
    """Break ties by the order of the items."""
    return np.argsort(np.argsort(ranks, axis=-1, kind="stable"), axis=-1) + 1


def wins_of_the_first(counts):
    """Take ties for wins of the first item."""
    first, second, tie = np.moveaxis(counts, -1, 0)
    return np.stack([first + tie, second, 0 * tie], axis=-1)


def weak_orders(distribution, n_items=4, **options):
    def dist(utility, **to_draw):
        return distribution.dist(np.repeat(utility[:, None], 5, axis=1), **to_draw, **options)

    return Family(lambda rng, n: [rng.normal(size=(n, n_items))], dist)


def counts(**options):
    def prior(rng, n):
        return [rng.normal(size=(n, 4)), np.abs(rng.normal(size=(n, 3)))]

    def dist(score, adherence, **to_draw):
        return br.MPM.dist(score[:, None], adherence=adherence, **to_draw, **options)

    return Family(prior, dist, {"total": 4}, n_simulations=80)


def matches():
    def prior(rng, n):
        return [rng.normal(size=(n, 3)), 0.5 * rng.normal(size=n), np.exp(rng.normal(size=n))]

    def dist(utility, effect, nu, **to_draw):
        parameters = {"order_effect": effect[:, None], "nu": nu[:, None]}
        return br.Davidson.dist(utility[:, MEETING], **parameters, **to_draw)

    return Family(prior, dist, {"total": 3}, wins_of_the_first)


def grades(family):
    def prior(rng, n):
        return [rng.normal(size=(n, 3)), np.abs(rng.normal(size=(n, 2))) + 0.01]

    def dist(utility, gap, **to_draw):
        upper = np.cumsum(gap, axis=-1)[:, None]
        cuts = np.concatenate([-upper[..., ::-1], upper], axis=-1)
        return br.OrderedPairs.dist(utility[:, MEETING], cutpoints=cuts, family=family, **to_draw)

    return Family(prior, dist, {"total": 3})


def votes():
    def prior(rng, n):
        return [rng.normal(size=(n, 3)), rng.normal(size=n), np.abs(rng.normal(size=n)) + 0.01]

    def dist(utility, threshold, gap, **to_draw):
        parameters = {"threshold": threshold[:, None], "theta": np.exp(gap)[:, None]}
        return br.GroundedRaoKupper.dist(utility[:, MEETING], **parameters, **to_draw)

    return Family(prior, dist, {"total": 3}, lambda counts: counts[..., [0, 1, 3, 2]])


FAMILIES = {
    "PlackettLuce": weak_orders(br.PlackettLuce)._replace(
        to_draw={"sizes": SIZES}, broken=without_ties, n_simulations=150
    ),
    "PMOP mean": weak_orders(br.PMOP, aggregate="mean")._replace(
        broken=without_ties, n_simulations=150
    ),
    "PMOP geometric": weak_orders(
        br.PMOP, n_items=3, aggregate="geometric", tie_prevalence=[1.0, 0.5]
    ),
    # a difference of twenty ranks is no twenty observations
    "MPM": counts()._replace(broken=lambda tables: 20 * tables),
    "MPM variances": counts(variance=VARIANCE),
    "Davidson": matches(),
    "GroundedRaoKupper": votes(),
    "OrderedPairs": grades("cumulative_logit")._replace(
        broken=lambda counts: counts[..., ::-1]  # grades from the worst to the best
    ),
    "OrderedPairs probit": grades("cumulative_probit"),
    "OrderedPairs adjacent": grades("adjacent_logit"),
}
ALIKE = (
    "PMOP geometric",
    "MPM variances",
    "OrderedPairs probit",
    "OrderedPairs adjacent",
)  # to others of their family


def weighed(family, truth, data):
    """Posterior probability below each true number, in tenths."""
    prior = family.prior(np.random.default_rng(7), N_PRIOR)
    value = pt.tensor("value", dtype="int64", shape=data.shape[1:])
    many = value + np.zeros((N_PRIOR, *[1] * value.ndim), dtype=int)
    logp = pm.compile([value], pm.logp(family.dist(*prior), many).sum(axis=-1))
    return bins_by_weight(truth, prior, np.array([logp(x) for x in data]))


@pytest.mark.parametrize(
    "family",
    [
        pytest.param(family, id=name, marks=[pytest.mark.slow] if name in ALIKE else [])
        for name, family in FAMILIES.items()
    ],
)
def test_weighted_draws_of_the_prior_are_calibrated(family):
    truth = family.prior(np.random.default_rng(5), family.n_simulations)
    data = pm.draw(family.dist(*truth, **family.to_draw), random_seed=5)
    assert (uniformity(weighed(family, truth, data)) > FALSE_ALARM).all()
    if family.broken is not None:
        assert uniformity(weighed(family, truth, family.broken(data))).min() < FALSE_ALARM
