"""Draws of rankings: frequencies against probabilities, for every distance."""

import numpy as np
import pytest

from bayesrank.likelihoods.mallows import DISTANCES, draw_rankings, log_normaliser
from tests.likelihoods.loops import for_each
from tests.likelihoods.mallows.permutations import (
    distances,
    every_ranking,
    log_z,
    vectorised_distance,
)
from tests.oracles import frequency_p_value, places_in

FALSE_ALARM = 1e-8


def draws(distance, n, alpha, number, consensus=None, seed=1):
    consensus = np.arange(1, n + 1) if consensus is None else consensus
    drawn = draw_rankings(consensus, alpha, seed, shape=(number,), distance=distance)
    return drawn.eval(mode="FAST_COMPILE")


@for_each("distance", DISTANCES)
@for_each(("n", "alpha"), [(1, 2.0), (2, 1.0), (4, 0.0), (4, 3.0), (5, 2.0)])
def test_draws_have_the_frequencies_of_their_probabilities(distance, n, alpha):
    drawn = places_in(every_ranking(n), draws(distance, n, alpha, 20_000))
    expected = np.exp(-alpha / n * distances(distance, n) - log_z(alpha, n, distance))
    assert n == 1 or frequency_p_value(drawn, expected) > FALSE_ALARM


@for_each(("distance", "n"), [("footrule", 25), ("spearman", 12), ("kendall", 25)])
def test_the_mean_distance_of_many_items_is_that_of_the_normaliser(distance, n, rng):
    number, alpha, consensus = 4000, 6.0, rng.permutation(n) + 1
    found = draws(distance, n, alpha, number, consensus)
    d = vectorised_distance(consensus, found, distance)
    # the slope of log Z by alpha, by differences
    ahead, behind = (log_normaliser(alpha + h, n, distance).eval() for h in (1e-4, -1e-4))
    expected = -n * (ahead - behind) / 2e-4
    assert abs(d.mean() - expected) < 5.5 * d.std() / np.sqrt(number)
    np.testing.assert_array_equal(np.sort(found, axis=1), np.tile(np.arange(n) + 1, (number, 1)))


@for_each("distance", DISTANCES)
def test_every_row_has_its_own_alpha_and_consensus(distance):
    for alpha in (1e6, 1e305, np.inf):
        found = draws(distance, 6, np.resize([0.0, alpha], 40), 40, [6, 5, 4, 3, 2, 1])
        at_consensus = (found == [6, 5, 4, 3, 2, 1]).all(axis=1)
        assert at_consensus[1::2].all()
        assert not at_consensus[::2].all()


def test_invalid_parameters_raise():
    with pytest.raises(ValueError, match="alpha must be a number"):
        draws("kendall", 3, np.nan, 1)
    with pytest.raises(ValueError, match="The consensus must hold the ranks 1 to n"):
        draws("kendall", 3, 1.0, 1, [0, 1, 2])
