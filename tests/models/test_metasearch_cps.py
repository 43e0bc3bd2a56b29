"""CPS: mean distances over cosets, probabilities of orders, weights, consensus."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from models.metasearch import cps
from tests.models.searched import searched

PLACES = np.array([[1.0, 3.0], [2.0, 1.0], [3.0, 4.0], [4.0, 2.0]])  # of two engines

WHOLE = {
    "kendall": lambda tau, sigma: sum(
        (tau[i] - tau[j]) * (sigma[i] - sigma[j]) < 0 for i in range(4) for j in range(i)
    ),
    "spearman": lambda tau, sigma: ((tau - sigma) ** 2).sum(),
    "footrule": lambda tau, sigma: np.abs(tau - sigma).sum(),
}


def coset_distance(begin, sigma, distance):
    """Mean distance of all orders that begin so, from the definition."""
    found = []
    for order in permutations(range(4)):
        if list(order[: len(begin)]) == list(begin):
            tau = np.argsort(order) + 1.0
            found.append(WHOLE[distance](tau, sigma))
    return np.mean(found)


@pytest.mark.parametrize("distance", cps.DISTANCES)
def test_stages_follow_the_mean_distance_over_the_coset(distance):
    begin = [2]
    left = np.array([0, 1, 3])
    found = cps.DISTANCES[distance](PLACES[left], 2, 4)
    for m in range(2):
        expected = [coset_distance([*begin, i], PLACES[:, m], distance) for i in left]
        differences = np.subtract(found[:, m], expected)
        np.testing.assert_allclose(differences, differences[0])


@pytest.mark.parametrize("distance", cps.DISTANCES)
def test_all_orders_have_probability_one_together(distance):
    weight = np.array([0.7, -0.2])
    total = [
        np.exp(cps.log_likelihood(PLACES, np.array(order), weight, distance, depth=4))
        for order in permutations(range(4))
    ]
    assert sum(total) == pytest.approx(1)


@pytest.mark.parametrize("distance", cps.DISTANCES)
def test_the_log_likelihood_has_its_gradient(distance):
    order, weight, step = np.array([1, 3, 0, 2]), np.array([0.3, -0.4]), 1e-6
    data = cps._stages(PLACES, order, distance, 3)
    _, gradient = cps._logit(weight, *data)
    for m, found in enumerate(gradient):
        values = [
            cps.log_likelihood(PLACES, order, weight + sign * step * np.eye(2)[m], distance, 3)
            for sign in (1, -1)
        ]
        assert found == pytest.approx((values[0] - values[1]) / (2 * step), rel=1e-6)


def test_half_places_have_the_footrule_of_the_definition():
    places = np.array([[2.5], [0.5], [7.0], [4.0]])
    found = cps.DISTANCES["footrule"](places, 3, 8)[:, 0]
    rest = np.arange(4, 9)
    expected = [abs(s - 3) - np.abs(s - rest).mean() for s in places[:, 0]]
    np.testing.assert_allclose(found, expected)


def test_one_engine_is_followed_or_turned_round():
    places = np.array([[3.0], [1.0], [2.0]])
    for distance in cps.DISTANCES:
        assert cps.consensus(places, np.array([1.0]), distance).tolist() == [-3, -1, -2]
        assert cps.consensus(places, np.array([0.0]), distance).tolist() == [-1, -1, -1]
        if distance != "footrule":  # by which the orders 3, 1, 2 and 3, 2, 1 are equally far
            assert cps.consensus(places, np.array([-1.0]), distance).tolist() == [-1, -3, -2]


def test_unlisted_documents_have_the_mean_of_the_places_that_are_left():
    table = pd.DataFrame({"query": 1, "engine1": [20.0, 5.0, np.nan, np.nan]})
    assert cps.places_of(table, "last")[:, 0].tolist() == [2, 1, 3.5, 3.5]
    np.testing.assert_allclose(cps.places_of(table, "missing")[:, 0], [10 / 3, 5 / 3, 2.5, 2.5])


def test_good_engines_weigh_more_than_one_at_random():
    weight = cps.fit(searched(), distance="kendall", unlisted="last")
    assert weight[:3].min() > abs(weight[3])
    with pytest.raises(ValueError, match=r"^No query of `table` has documents of different grades"):
        cps.fit(searched(4).assign(label=1))
