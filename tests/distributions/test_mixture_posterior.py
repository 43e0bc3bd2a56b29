"""Posteriors of mixtures of two kinds are calibrated, by simulation.

Kinds have no names, so that only numbers which do not change when the kinds are exchanged have a
rank among draws.
"""

import functools

import numpy as np
import pymc as pm

import bayesrank as br
from tests.distributions.calibration import bins_by_weight, uniformity

FALSE_ALARM = 1e-7  # of each of the numbers, so below 1e-6 for all
ITEMS, PEOPLE, TURNS = 3, 12, 3
SEED = 20020217


def people(orderings):
    """Rankings (n_people, n_turns, n_items), each all items best first."""
    n = len(orderings)
    return br.Rankings.from_orderings(
        orderings.reshape(-1, ITEMS).tolist(),
        items=range(ITEMS),
        rankers=np.repeat(np.arange(n), TURNS),
    )


def model_of(rankings):
    with pm.Model(coords={**rankings.coords, "kind": range(2)}) as model:
        weights = pm.Dirichlet("weights", [2.0, 2.0], dims="kind")
        utility = pm.Normal("utility", 0, 1.5, dims=("kind", "item"))
        br.Mixture("y", weights, br.PlackettLuce.dist(utility), observed=rankings, unit="ranker")
    return model


def without_names(weights, utility):
    """Numbers of a mixture that do not know which kind is called the first, (n, 4)."""
    lead = utility[..., 0] - utility[..., 2]
    first = np.argmax(lead, axis=-1)[..., None]
    of_first = np.take_along_axis(weights, first, axis=-1)[..., 0]
    apart = ((utility[..., 0, :] - utility[..., 1, :]) ** 2).sum(axis=-1)
    return np.stack([of_first, lead.max(axis=-1), lead.min(axis=-1), apart], axis=-1)


@functools.cache
def simulated(n_simulations):
    """Mixtures drawn from the prior, and what their people said, (n, people, turns, items)."""
    everybody = people(np.tile(np.arange(ITEMS), (PEOPLE, TURNS, 1)))
    with model_of(everybody):
        drawn = pm.sample_prior_predictive(n_simulations, random_seed=SEED)
    weights, utility = (drawn["prior"][name].to_numpy()[0] for name in ("weights", "utility"))
    # slots hold the items 0, 1, 2 in this order, so that ranks are sorted into orderings
    orderings = drawn["prior_predictive"]["y"].to_numpy()[0].argsort(axis=-1)
    return without_names(weights, utility), orderings


def weighed(truth, orderings, n_draws=1000):
    """Bins of the truth among draws of the prior, weighted by the likelihood."""
    n = len(truth)
    model = model_of(people(orderings.reshape(-1, TURNS, ITEMS)))
    logp = model.compile_fn(model.logp(vars=model.observed_RVs, sum=False)[0])
    rng = np.random.default_rng(7)
    weights, utility = rng.dirichlet([2.0, 2.0], n_draws), rng.normal(0, 1.5, (n_draws, 2, ITEMS))
    simplex = np.log(weights[:, :1] / weights[:, 1:])
    each = [
        logp({"weights_simplex__": w / 2, "utility": u}).reshape(n, -1).sum(axis=1)
        for w, u in zip(simplex, utility, strict=True)
    ]
    prior = without_names(weights, utility)
    return bins_by_weight([truth], [prior], np.stack(each, axis=1))


def of_different_kinds(orderings):
    """Give everybody the later rankings of another, as if each ranking had a kind of its own."""
    out = orderings.copy()
    for turn in range(1, TURNS):
        out[:, :, turn] = np.roll(orderings[:, :, turn], turn, axis=1)
    return out


def test_weighted_draws_of_the_prior_are_calibrated():
    truth, orderings = simulated(150)
    p = uniformity(weighed(truth, orderings))
    assert (p > FALSE_ALARM).all()
    q = uniformity(weighed(truth, of_different_kinds(orderings)))
    assert q.min() < FALSE_ALARM
