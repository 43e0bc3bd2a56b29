"""Posterior modes: where they are by hand, where each search starts, noisy gradients."""

import numpy as np
import pymc as pm
import pytest

from bayesrank.inference import adam, objective, posterior_modes


@pytest.fixture
def shrunken():
    """Two observations of one mean: the mode is 2 * 3 / (2 + 1 / scale^2)."""
    with pm.Model(coords={"what": ["a", "b"]}) as model:
        mean = pm.Normal("mean", 0, pm.Data("scale", 1.0))
        pm.Normal("y", mean, 1, observed=[2.0, 4.0])
        pm.Normal("alone", 5, 1, dims="what")
    return model


@pytest.fixture
def two_wells():
    """Modes at 1 and -1, or near them, with a tilt to one side; a saddle at 0 without."""
    with pm.Model() as model:
        x = pm.Flat("x")
        pm.Potential("wells", -((x**2 - 1) ** 2) + pm.Data("tilt", 0.0) * x)
    return model


@pytest.mark.parametrize("warm", [True, False])
def test_modes_are_those_of_the_settings(shrunken, warm):
    settings = [{"scale": 0.5}, {"scale": 1.0}, {"scale": 2.0}]
    found = posterior_modes(shrunken, settings, warm=warm)
    means = [mode["mean"] for mode in found]
    np.testing.assert_allclose(means, [6 / 6, 6 / 3, 6 / 2.25], rtol=1e-5)
    np.testing.assert_allclose(found[-1]["alone"], [5, 5], rtol=1e-5)
    assert shrunken["scale"].get_value() == 2.0


def test_without_settings_the_model_is_taken_as_it_is(shrunken):
    (found,) = posterior_modes(shrunken)
    assert found["mean"] == pytest.approx(2.0, rel=1e-5)


def test_a_warm_start_stays_in_the_well_of_the_last_mode(two_wells):
    tilts = [{"tilt": -4.0}, {"tilt": 0.01}]
    _, warm = posterior_modes(two_wells, tilts, warm=True)
    _, cold = posterior_modes(two_wells, tilts, warm=False)
    assert warm["x"] == pytest.approx(-1, abs=0.01)
    assert cold["x"] == pytest.approx(1, abs=0.01)


def test_noise_leaves_a_saddle_which_no_gradient_leaves(two_wells):
    (still,) = posterior_modes(two_wells)
    (moved,) = posterior_modes(two_wells, jitter=0.1)
    assert still["x"] == 0
    assert abs(moved["x"]) == pytest.approx(1, abs=1e-4)


def test_a_search_ends_with_its_iterations(two_wells):
    (short,) = posterior_modes(two_wells, jitter=0.1, max_iterations=1, tolerance=np.inf)
    assert abs(abs(short["x"]) - 1) > 0.001


def test_the_start_is_the_initial_point_and_noise_of_the_seed(shrunken):
    logp, still = objective(shrunken)
    starts = [objective(shrunken, jitter=0.1, seed=seed)[1].data for seed in (1, 1, 2)]
    np.testing.assert_array_equal(still.data, [0, 5, 5])
    np.testing.assert_array_equal(starts[0], starts[1])
    assert np.all((starts[0] != starts[2]) & (starts[0] != still.data))
    np.testing.assert_allclose(logp(still.data)[1], [6, 0, 0])


def test_adam_climbs_against_the_noise_of_its_gradients(rng):
    target, scale = np.array([3.0, -2.0]), np.array([1.0, 100.0])  # Adam does not see scales
    start = np.zeros(2)

    def slope(x):
        return scale * (target - x + 0.5 * rng.normal(size=2))

    np.testing.assert_allclose(adam(slope, start, n_steps=2000), target, atol=0.05)
    np.testing.assert_array_equal(start, [0, 0])


def test_the_first_step_of_adam_has_the_length_of_the_learning_rate():
    x = adam(lambda x: np.array([5.0, -0.01]), np.zeros(2), n_steps=1, learning_rate=0.1)
    np.testing.assert_allclose(x, [0.1, -0.1], rtol=1e-5)
