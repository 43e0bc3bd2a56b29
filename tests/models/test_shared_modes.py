"""Posterior modes for several settings: where each is, and where each search starts."""

import numpy as np
import pymc as pm
import pytest

from models.shared.modes import posterior_modes


@pytest.fixture
def two_wells():
    """Modes at 1 and -1, or near them, with a tilt to one side; a saddle at 0 without."""
    with pm.Model() as model:
        x = pm.Flat("x")
        pm.Potential("wells", -((x**2 - 1) ** 2) + pm.Data("tilt", 0.0) * x)
    return model


@pytest.mark.parametrize("warm", [True, False])
def test_modes_are_those_of_the_settings(warm):
    with pm.Model() as model:
        mean = pm.Normal("mean", 0, pm.Data("scale", 1.0))
        pm.Normal("y", mean, 1, observed=[2.0, 4.0])
    settings = [{"scale": 0.5}, {"scale": 1.0}, {"scale": 2.0}]
    found = [mode["mean"] for mode in posterior_modes(model, settings, warm=warm, random_seed=1)]
    np.testing.assert_allclose(found, [6 / 6, 6 / 3, 6 / 2.25], rtol=1e-5)
    assert model["scale"].get_value() == 2.0


def test_a_warm_start_stays_in_the_well_of_the_last_mode(two_wells):
    tilts = [{"tilt": -4.0}, {"tilt": 0.01}]
    _, warm = posterior_modes(two_wells, tilts, warm=True, random_seed=1)
    _, cold = posterior_modes(two_wells, tilts, warm=False, random_seed=1)
    assert warm["x"] == pytest.approx(-1, abs=0.01)
    assert cold["x"] == pytest.approx(1, abs=0.01)


def test_noise_leaves_a_saddle_which_no_gradient_leaves(two_wells):
    (still,) = posterior_modes(two_wells, random_seed=1)
    (moved,) = posterior_modes(two_wells, jitter=0.1, random_seed=1)
    assert still["x"] == 0
    assert abs(moved["x"]) == pytest.approx(1, abs=1e-4)


def test_a_search_ends_with_its_iterations(two_wells):
    (short,) = posterior_modes(
        two_wells, jitter=0.1, max_iterations=1, tolerance=np.inf, random_seed=1
    )
    assert abs(abs(short["x"]) - 1) > 0.001
