"""What only `PlackettLuce` has, in the form that takes arrays; the rest is in the battery."""

import numpy as np
import pymc as pm
import pytest
from pymc.testing import assert_support_point_is_expected

import bayesrank as br

UTILITY = np.array([0.3, 1.2, -0.5])


# Shapes and draws


def test_every_ranking_of_a_batch_is_drawn_with_its_own_utilities_and_sizes():
    utility = np.array([[50.0, 0.0, -50.0], [-50.0, 0.0, 50.0]])
    where = np.array([[1, 1, 1], [0, 1, 1]])
    dist = br.PlackettLuce.dist(utility, where=where, sizes=[[1, 2], [1, 1]])
    draws = pm.draw(dist, 20, random_seed=3)
    np.testing.assert_array_equal(draws, np.tile([[1, 2, 2], [0, 2, 1]], (20, 1, 1)))


@pytest.mark.parametrize(
    ("arguments", "size", "expected"),
    [
        ({}, None, [1, 2, 3, 4]),
        ({"sizes": [1, 3]}, None, [1, 2, 2, 2]),
        ({"sizes": [2, 1, 0], "where": [1, 0, 1, 1]}, None, [1, 0, 1, 2]),
        ({"sizes": [2, 2]}, (3, 4), np.tile([1, 1, 2, 2], (3, 1))),
    ],
)
def test_the_support_point_is_the_order_of_the_slots(arguments, size, expected):
    with pm.Model() as model:
        br.PlackettLuce("x", np.zeros(4), shape=size, **arguments)
    assert_support_point_is_expected(model, np.array(expected))


# In a model


def test_an_observed_value_that_is_no_weak_order_stops_the_sampler_with_its_name():
    with pm.Model() as model:
        ranks = pm.Data("ranks", [1, 3, 3])
        br.PlackettLuce("y", pm.Normal("utility", shape=3), observed=ranks)
    assert model.point_logps()["y"] == -np.inf
    with pytest.raises(pm.exceptions.SamplingError, match="y"):
        model.check_start_vals(model.initial_point())


# Bad input


def test_unknown_arguments_are_refused():
    with pytest.raises(TypeError, match="temperature"):
        br.PlackettLuce.dist(UTILITY, temperature=2.0)
    with pytest.raises(TypeError, match="positional"):
        br.PlackettLuce.dist(UTILITY, [True, True, True])
