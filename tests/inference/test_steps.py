"""Sweeps and searches of a consensus with given costs, against its exact distribution."""

import arviz as az
import numpy as np

from bayesrank.inference.mixtures.metropolis import (
    WINDOW,
    climb_by_pairs,
    gibbs_sweep,
    metropolis_sweep,
    move_to,
)
from bayesrank.likelihoods.mallows import PAIRS, PLACES
from bayesrank.likelihoods.mallows.order_kernels import places_of_orders
from tests.likelihoods.loops import for_each


@for_each("kind", [PLACES, PAIRS])
@for_each("n", [1, 2, 11])
def test_sweeps_have_the_places_of_the_exact_distribution(kind, n, rng):
    cost = rng.gamma(1.0, 1.0, (n, n)) * (2.0 if kind == PLACES else 0.7)
    exact = places_of_orders(cost, kind)
    n_draws = 1000
    ranks, draws = np.arange(1, n + 1), np.empty((n_draws, n), int)
    for draw in draws:
        assert 0 <= gibbs_sweep(ranks, cost, kind, 2, rng) <= 1
        draw[:] = ranks
    np.testing.assert_array_equal(np.sort(draws, axis=1), np.tile(np.arange(n) + 1, (n_draws, 1)))
    hits = (draws[:, :, None] == np.arange(1, n + 1)).reshape(1, n_draws, -1).astype(float)
    p = exact.ravel()
    error = np.sqrt(p * (1 - p) / n_draws)
    # windows overlap and leaps follow: draws are a little dependent, where not all is redrawn
    effective = 1.0 if n <= WINDOW else 0.1
    assert (abs(hits.mean(axis=(0, 1)) - p) <= 6 * error / np.sqrt(effective) + 3 / n_draws).all()
    if n > WINDOW:
        ess = [az.ess(hits[:, :, i]) for i in np.flatnonzero((p > 0.2) & (p < 0.8))[:6]]
        assert min(map(float, ess)) > effective * n_draws


def test_sweeps_of_any_density_have_the_places_of_the_exact_distribution(rng):
    cost, n_draws = rng.gamma(1.0, 1.0, (4, 4)), 2000
    exact, ranks = places_of_orders(cost, PLACES), np.arange(1, 5)
    draws = np.empty((n_draws, 4), int)
    for draw in draws:
        metropolis_sweep(ranks, lambda x: -cost[np.arange(4), x - 1].sum(), 2, rng)
        draw[:] = ranks
    hits = draws[:, :, None] == np.arange(1, 5)
    for item, place in np.ndindex(4, 4):
        hit = hits[:, item, place].astype(float)
        error = float(az.mcse(hit[None], method="mean"))
        assert abs(hit.mean() - exact[item, place]) < 5.5 * error


def test_a_search_by_leaps_ends_where_no_leap_of_one_item_is_cheaper(rng):
    cost = rng.normal(size=(7, 7))

    def paid(ranks):
        return cost[ranks[:, None] > ranks].sum()

    start = rng.permutation(7) + 1
    found = start.copy()
    climb_by_pairs(found, cost)
    assert paid(found) < paid(start)
    for item in range(7):
        for place in range(1, 8):
            other = found.copy()
            move_to(other, item, place)
            assert paid(other) >= paid(found) - 1e-9
