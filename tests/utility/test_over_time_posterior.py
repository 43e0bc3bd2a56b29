"""Posteriors of utilities that change are calibrated: by NUTS, and by `br.fit_dynamic`.

Utilities of three items walk at random over uneven years, one of them coming in late. Every
simulation has items of its own, and their scale and drift where these are learned, so that one
model of all simulations has independent posteriors and compiles once.
"""

from typing import NamedTuple

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import bayesrank as br
from bayesrank.utility import random_walk
from tests.builders import matches, outcomes
from tests.distributions.calibration import bins_of_ranks, sample, uniformity

YEARS = np.array([2001.0, 2002.0, 2002.5, 2006.0])
N_ITEMS, LATE = 3, 2  # the last item comes in at the third time
SCALE, DRIFT = 1.0, 0.7  # where they are given
THERE = np.array([[True, True, k >= LATE] for k in range(4)])
FALSE_ALARM = 1e-8  # of each of fewer than 20 numbers


class World(NamedTuple):
    scale: np.ndarray  # (n,)
    drift: np.ndarray  # (n,)
    utility: np.ndarray  # (n, times, items)


def worlds(n, seed, *, learned):
    """Walks as the definition has them, without the code that is tested."""
    rng = np.random.default_rng(seed)
    scale = np.abs(rng.normal(size=n)) if learned else np.full(n, SCALE)
    drift = np.abs(rng.normal(size=n)) if learned else np.full(n, DRIFT)
    utility = np.empty((n, 4, N_ITEMS))
    utility[:, 0] = rng.normal(size=(n, N_ITEMS)) * scale[:, None]
    for k in range(1, 4):
        step = drift[:, None] * np.sqrt(YEARS[k] - YEARS[k - 1])
        utility[:, k] = utility[:, k - 1] + step * rng.normal(size=(n, N_ITEMS))
    utility[:, LATE, 2] = rng.normal(size=n) * scale
    step = np.sqrt(YEARS[3] - YEARS[2]) * drift
    utility[:, 3, 2] = utility[:, LATE, 2] + step * rng.normal(size=n)
    return World(scale, drift, utility)


def played(truth, seed, *, n_rounds=4):
    """Matches of all items that are there, every two of them so often: a Pairs."""
    rng = np.random.default_rng(seed)
    n = len(truth.utility)
    x, y, won, years = [], [], [], []
    for k, present in enumerate(THERE):
        items = np.flatnonzero(present)
        for i in items:
            for j in items[items > i]:
                lead = truth.utility[:, k, i] - truth.utility[:, k, j]
                p = np.broadcast_to(1 / (1 + np.exp(-lead)), (n_rounds, n))
                won.append(outcomes(rng, p).ravel())
                x.append(np.tile(np.arange(n) * N_ITEMS + i, n_rounds))
                y.append(np.tile(np.arange(n) * N_ITEMS + j, n_rounds))
                years.append(np.full(n_rounds * n, YEARS[k]))
    columns = map(np.concatenate, (x, y, won))
    return matches(*columns, options={"items": range(n * N_ITEMS)}, year=np.concatenate(years))


def ranked(truth, seed, *, n_rounds=4):
    """Rankings of all items that are there, so many at each time: a Rankings."""
    rng = np.random.default_rng(seed)
    n = len(truth.utility)
    orderings, years = [], []
    for k, present in enumerate(THERE):
        items = np.flatnonzero(present)
        for _ in range(n_rounds):
            noisy = truth.utility[:, k, items] + rng.gumbel(size=(n, len(items)))
            order = items[np.argsort(-noisy, axis=1)] + np.arange(n)[:, None] * N_ITEMS
            orderings += order.tolist()
            years += [YEARS[k]] * n
    data = br.Rankings.from_orderings(orderings, rest=(), items=range(n * N_ITEMS))
    return data.grouped({"year": np.array(years)})


FAMILIES = {"BradleyTerry": (br.BradleyTerry, played), "PlackettLuce": (br.PlackettLuce, ranked)}


def ranks_by_nuts(family, truth, data):
    """Rank of each true number among draws of its posterior, in tenths."""
    n = len(truth.scale)
    world = np.repeat(np.arange(n), N_ITEMS)
    with pm.Model(coords=data.coords | {"world": range(n)}):
        scale = pm.HalfNormal("scale", 1, dims="world")
        drift = pm.HalfNormal("drift", 1, dims="world")
        dims = ("year", "item")
        u = random_walk("utility", scale[world], drift[world], dims=dims, data=data)
        FAMILIES[family][0]("y", u, observed=data)
        by_world = u.reshape((4, n, N_ITEMS)).transpose(1, 0, 2)
        pm.Deterministic("there", by_world[:, *np.nonzero(THERE)])
        found = sample(300, tune=500, chains=2)
    present = truth.utility[:, THERE]
    return bins_of_ranks((truth.scale, truth.drift, present), ("scale", "drift", "there"), found)


def ranks_by_history(truth, data):
    """The same of draws of `br.fit_dynamic`, which knows scale and drift."""
    given = {"scale": SCALE, "drift": DRIFT}
    options = {"order_effect": False} if isinstance(data, br.Pairs) else {}
    fit = br.fit_dynamic(data, time="year", hyperparameters=given, **options)
    draws = fit.draws(at=YEARS.tolist(), draws=500, chains=2, random_seed=1)
    n = len(truth.scale)
    # the mean of all items is taken off, which no lead knows of
    u = draws["posterior"]["utility"]
    by_world = u.to_numpy().reshape(2, 500, 4, n, N_ITEMS).transpose(0, 1, 3, 2, 4)
    lead = by_world[..., :1] - by_world[..., 1:]
    found = xr.Dataset({"lead": (("chain", "draw", "world", "n"), lead[..., THERE[:, 1:]])})
    true = truth.utility[:, :, :1] - truth.utility[:, :, 1:]
    found = xr.DataTree.from_dict({"posterior": found})
    return bins_of_ranks((true[:, THERE[:, 1:]],), ("lead",), found)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_posteriors_by_nuts_are_calibrated(family):
    truth = worlds(200, seed=5, learned=True)
    p = uniformity(ranks_by_nuts(family, truth, FAMILIES[family][1](truth, 6)))
    assert p.shape == (2 + THERE.sum(),)
    assert (p > FALSE_ALARM).all()


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_walk_that_ends_at_its_beginning_would_show(family):
    truth = worlds(200, seed=5, learned=True)
    turned = truth._replace(utility=truth.utility[:, ::-1])
    turned.utility[:, :LATE, 2] = 0.0
    data = FAMILIES[family][1](truth, 6)
    assert uniformity(ranks_by_nuts(family, turned, data)).min() < FALSE_ALARM


@pytest.mark.parametrize(
    "family", ["BradleyTerry", pytest.param("PlackettLuce", marks=pytest.mark.slow)]
)
def test_posteriors_of_histories_are_calibrated_as_far_as_a_normal_can_be(family):
    truth = worlds(250, seed=7, learned=False)
    data = FAMILIES[family][1](truth, 8)
    assert uniformity(ranks_by_history(truth, data)).min() > FALSE_ALARM
    # leads one and a half times as large are not those of the data
    wrong = truth._replace(utility=1.5 * truth.utility)
    assert uniformity(ranks_by_history(wrong, data)).min() < FALSE_ALARM
