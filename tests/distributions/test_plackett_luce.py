"""What only `PlackettLuce` has, in the form that takes arrays; the rest is in the battery."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pymc.testing import assert_support_point_is_expected
from scipy.special import softmax

import bayesrank as br
from tests.oracles import weak_order_logp

UTILITY = np.array([0.3, 1.2, -0.5])


# Values


def test_a_value_with_ties_needs_no_sizes():
    logp = pm.logp(br.PlackettLuce.dist(UTILITY), [2, 1, 1])
    # items 1 and 2 in whichever order, then item 0
    exact = np.exp(weak_order_logp(UTILITY, np.array([2, 1, 1])))
    assert float(logp.exp().eval()) == pytest.approx(exact, abs=1e-12)
    assert round(exact, 6) == 0.276799


def test_lists_and_integers_are_parameters_too():
    logp = pm.logp(br.PlackettLuce.dist([0, 1, 2], where=[1, 1, 0]), [2, 1, 0])
    assert float(logp.exp().eval()) == pytest.approx(np.e / (1 + np.e), abs=1e-12)


def test_a_ranking_of_one_item_or_of_one_block_says_nothing():
    for value in ([1, 0, 0], [1, 1, 0], [1, 1, 1]):
        where = np.array(value) > 0
        assert float(pm.logp(br.PlackettLuce.dist(UTILITY, where=where), value).eval()) == 0.0


def test_nodes_are_those_of_the_graph():
    # eight nodes are too few for JAX, and nothing to the kernel, which spaces its own
    pytest.importorskip("jax")
    ranks, at = np.array([2, 1, 1, 1]), np.array([0.3, 1.2, -2.5, 0.0])
    utility, error = pt.dvector("utility"), {}
    for nodes in (8, 48):
        logp = pm.logp(br.PlackettLuce.dist(utility, nodes=nodes), ranks)
        for mode in ("FAST_COMPILE", "JAX"):
            found = pm.compile([utility], logp, mode=mode)(at)
            error[mode, nodes] = abs(float(found) - weak_order_logp(at, ranks))
    assert error["FAST_COMPILE", 8] < 1e-11
    assert error["JAX", 48] < 1e-9
    assert error["JAX", 8] > 1e-5


# Shapes and draws


@pytest.mark.parametrize(
    ("arguments", "shape"),
    [
        ({"utility": np.zeros(4)}, (4,)),
        ({"utility": np.zeros((2, 1, 4))}, (2, 1, 4)),
        ({"utility": np.zeros(4), "size": 3}, (3, 4)),
        ({"utility": np.zeros((3, 4)), "size": (2, 3)}, (2, 3, 4)),
        ({"utility": np.zeros(4), "shape": (5, 4)}, (5, 4)),
        ({"utility": np.zeros(4), "where": np.ones((3, 4), dtype=bool)}, (3, 4)),
        ({"utility": np.zeros((2, 1, 4)), "sizes": [[1, 3], [2, 2], [3, 1]]}, (2, 3, 4)),
        ({"utility": np.zeros(1)}, (1,)),
        ({"utility": np.zeros((0, 4))}, (0, 4)),
    ],
)
def test_shapes_follow_from_the_parameters(arguments, shape):
    dist = br.PlackettLuce.dist(**arguments)
    assert tuple(dist.shape.eval(mode="FAST_COMPILE")) == shape
    assert pm.draw(dist, random_seed=1).shape == shape
    assert dist.type.ndim == len(shape)


def test_shapes_are_known_without_drawing():
    utility = pt.dmatrix("utility")
    shape = pytensor.function([utility], br.PlackettLuce.dist(utility).shape, mode="FAST_COMPILE")
    kinds = {type(node.op).__name__ for node in shape.maker.fgraph.toposort()}
    assert not any("Gumbel" in kind or "PlackettLuce" in kind for kind in kinds)


def test_a_draw_is_a_full_ranking_and_the_first_place_is_a_softmax():
    n = 40_000
    draws = pm.draw(br.PlackettLuce.dist(UTILITY, size=n), random_seed=7)
    np.testing.assert_array_equal(np.sort(draws, axis=1), np.tile([1, 2, 3], (n, 1)))
    first = (draws == 1).mean(axis=0)
    chance = softmax(UTILITY)
    assert (abs(first - chance) < 5.5 * np.sqrt(chance * (1 - chance) / n)).all()


def test_every_ranking_of_a_batch_is_drawn_with_its_own_utilities_and_sizes():
    utility = np.array([[50.0, 0.0, -50.0], [-50.0, 0.0, 50.0]])
    where = np.array([[1, 1, 1], [0, 1, 1]])
    dist = br.PlackettLuce.dist(utility, where=where, sizes=[[1, 2], [1, 1]])
    draws = pm.draw(dist, 20, random_seed=3)
    np.testing.assert_array_equal(draws, np.tile([[1, 2, 2], [0, 2, 1]], (20, 1, 1)))


def test_draws_are_reproducible_and_each_is_new():
    dist = br.PlackettLuce.dist(np.zeros(30))
    first, second = pm.draw(dist, 2, random_seed=1)
    np.testing.assert_array_equal(pm.draw(dist, 2, random_seed=1), [first, second])
    assert (first != second).any()


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


def test_arrays_are_observed_and_predicted():
    ranks = np.array([[1, 2, 2, 0], [2, 1, 1, 1], [1, 1, 2, 3]])
    sizes = [[1, 2, 0], [3, 1, 0], [2, 1, 1]]
    with pm.Model() as model:
        utility = pm.Normal("utility", shape=4)
        br.PlackettLuce("y", utility, where=ranks > 0, sizes=sizes, observed=ranks)
        prior = pm.sample_prior_predictive(50, random_seed=1).prior_predictive["y"].values[0]
    at = {"utility": np.array([0.2, -1.0, 0.5, 2.0])}
    exact = [weak_order_logp(at["utility"][r > 0], r[r > 0]) for r in ranks]
    np.testing.assert_allclose(model.compile_logp(sum=False)(at)[-1], exact, atol=1e-11)
    for i, of in enumerate(sizes):
        drawn = np.stack([(prior[:, i] == m).sum(axis=1) for m in (1, 2, 3)], axis=1)
        np.testing.assert_array_equal(drawn, np.tile(sorted(of, key=of.index), (50, 1)))


def test_an_observed_value_that_is_no_weak_order_stops_the_sampler_with_its_name():
    with pm.Model() as model:
        ranks = pm.Data("ranks", [1, 3, 3])
        br.PlackettLuce("y", pm.Normal("utility", shape=3), observed=ranks)
    assert model.point_logps()["y"] == -np.inf
    with pytest.raises(pm.exceptions.SamplingError, match="y"):
        model.check_start_vals(model.initial_point())


def test_a_minibatch_has_the_expected_sum():
    ranks = np.array([[1, 2, 3], [3, 1, 2], [2, 1, 1], [1, 1, 2]])
    rows = pm.Minibatch(ranks.astype("int32"), batch_size=2)
    with pm.Model() as model:
        br.PlackettLuce("y", pm.Flat("utility", shape=3), observed=rows, total_size=4)
    logp = model.compile_logp()
    values = {round(float(logp({"utility": UTILITY})), 9) for _ in range(200)}
    exact = [weak_order_logp(UTILITY, r) for r in ranks]
    pairs = {round(2 * (exact[i] + exact[j]), 9) for i in range(4) for j in range(4)}
    assert values <= pairs
    assert len(values) > 3


def test_rankers_of_two_kinds_are_a_mixture():
    ranks = np.array([[1, 2, 3], [3, 2, 1], [1, 1, 2]])
    kinds = np.array([[1.0, 0.0, -1.0], [-1.0, 0.0, 1.5]])
    weight = np.array([0.3, 0.7])
    with pm.Model() as model:
        shift = pm.Normal("shift")
        parts = [br.PlackettLuce.dist(np.tile(u, (3, 1)) + shift * [0, 1, 0]) for u in kinds]
        pm.Mixture("y", w=weight, comp_dists=parts, observed=ranks)
    found = model.compile_logp(sum=False)({"shift": 0.0})[-1]
    exact = [[np.exp(weak_order_logp(u, r)) for u in kinds] for r in ranks]
    np.testing.assert_allclose(found, np.log(np.array(exact) @ weight), rtol=1e-10)
    drawn = pm.draw(model["y"], draws=50, random_seed=1)
    assert {tuple(sorted(row)) for row in drawn.reshape(-1, 3).tolist()} == {(1, 2, 3)}


# Bad input


def test_unknown_arguments_are_refused():
    with pytest.raises(TypeError, match="temperature"):
        br.PlackettLuce.dist(UTILITY, temperature=2.0)
    with pytest.raises(TypeError, match="positional"):
        br.PlackettLuce.dist(UTILITY, [True, True, True])


def test_a_utility_that_is_not_finite_is_named():
    logp = pm.logp(br.PlackettLuce.dist([0.0, np.nan, 1.0]), [1, 2, 3])
    with pytest.raises(Exception, match="utility must be finite in the slots in use"):
        logp.eval(mode="FAST_COMPILE")
