"""CPS: mean distances over cosets, probabilities of orders, weights, consensus."""

from itertools import permutations

import numpy as np
import pytest

from models.metasearch import cps
from tests.models.searched import searched

PLACES = np.array([[1.0, 3.0], [2.0, 1.0], [3.0, 4.0], [4.0, 2.0]])  # of two engines


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


def test_good_engines_weigh_more_than_one_at_random():
    weight = cps.fit(searched(), distance="kendall", unlisted="last")
    assert weight[:3].min() > abs(weight[3])
    with pytest.raises(ValueError, match=r"^No query of `table` has documents of different grades"):
        cps.fit(searched(4).assign(label=1))
