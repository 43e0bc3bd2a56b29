"""Posterior modes: where they are by hand, where each search starts, noisy gradients."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pymc as pm
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from bayesrank.inference import adam, climb, objective
from bayesrank.inference.approximation.modes import one_blas_thread


@pytest.fixture
def shrunken():
    """Two observations of one mean: the mode is 2 * 3 / (2 + 1 / scale^2)."""
    with pm.Model(coords={"what": ["a", "b"]}) as model:
        mean = pm.Normal("mean", 0, pm.Data("scale", 1.0))
        pm.Normal("y", mean, 1, observed=[2.0, 4.0])
        pm.Normal("alone", 5, 1, dims="what")
    return model


def test_the_start_is_the_initial_point_and_noise_of_the_seed(shrunken):
    logp, still = objective(shrunken, random_seed=1)
    starts = [objective(shrunken, jitter=0.1, random_seed=seed)[1].data for seed in (1, 1, 2)]
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


@pytest.fixture
def raw_choices(rng):
    """Log density of choices by three features in raw units, up to eleven powers of ten apart."""
    scale = np.array([30.0, 2e4, 1e-7])
    X = rng.normal(size=(200, 4, 3)) * scale
    chosen = X[np.arange(200), (X @ (1 / scale) + rng.gumbel(size=(200, 4))).argmax(axis=1)]

    def logp(w):
        u = X @ w
        peak = u.max(axis=1, keepdims=True)
        p = np.exp(u - peak)
        total = p.sum(axis=1, keepdims=True)
        value = (chosen @ w - peak[:, 0] - np.log(total[:, 0])).sum() - ((w * scale) ** 2).sum() / 2
        slope = (chosen - (p[..., None] * X).sum(axis=1) / total).sum(axis=0) - w * scale**2
        return value, slope

    return logp, scale


def test_the_mode_does_not_depend_on_the_units_of_the_features(raw_choices):
    logp, scale = raw_choices

    def in_standard_units(w):
        value, slope = logp(w / scale)
        return value, slope / scale

    raw, standard = climb(logp, np.zeros(3)), climb(in_standard_units, np.zeros(3))
    np.testing.assert_allclose(raw * scale, standard, atol=1e-4)
    assert logp(raw)[0] == pytest.approx(in_standard_units(standard)[0], abs=1e-6)
    # where L-BFGS alone stops
    assert logp(climb(logp, np.zeros(3), tolerance=np.inf))[0] < logp(raw)[0] - 10


def test_a_search_that_does_not_arrive_says_so(raw_choices):
    logp, _ = raw_choices
    with pytest.warns(UserWarning, match=r"may rise by .*tolerance 1e-06.*slope is up to"):
        climb(logp, np.zeros(3), max_iterations=1)


def test_a_density_without_a_highest_point_says_so():
    with pytest.warns(UserWarning, match="search for the mode did not converge"):
        climb(lambda x: (float(x.sum()), np.ones(1)), np.zeros(1))


def test_a_discrete_variable_has_no_gradient():
    with pm.Model() as model:
        pm.Normal("y", pm.Poisson("k", 3.0), 1.0, observed=2.0)
    with pytest.raises(ValueError, match=r"'k' is discrete: the log posterior has no gradient"):
        objective(model, random_seed=1)


def blas_threads():
    return {x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"}


@pytest.fixture
def two_blas_threads():
    """Set them in a thread that ends: while it lives, other threads cannot set them."""
    with ThreadPoolExecutor(1) as pool:
        limit = pool.submit(threadpool_limits, 2, "blas").result()
    if blas_threads() != {2}:
        pytest.skip("there is no BLAS here whose threads can be set")
    yield
    with ThreadPoolExecutor(1) as pool:
        pool.submit(limit.restore_original_limits).result()


@pytest.mark.parametrize("first_out", ["first in", "second in"])
@pytest.mark.usefixtures("two_blas_threads")
def test_two_threads_that_overlap_leave_blas_as_it_was(first_out):
    inside = {name: threading.Event() for name in ("first in", "second in")}
    leave = {name: threading.Event() for name in inside}

    def enter(name):
        with one_blas_thread():
            inside[name].set()
            assert leave[name].wait(10)

    with ThreadPoolExecutor(2) as pool:
        running = {}
        for name in inside:
            running[name] = pool.submit(enter, name)
            assert inside[name].wait(10)
        for name in sorted(inside, key=lambda name: name != first_out):
            assert blas_threads() == {1}
            leave[name].set()
            running[name].result()
        assert blas_threads() == {2}


@pytest.mark.usefixtures("two_blas_threads")
def test_one_blas_thread_inside_another_and_after_an_error():
    with one_blas_thread():
        with pytest.raises(KeyError), one_blas_thread():
            raise KeyError
        assert blas_threads() == {1}
    assert blas_threads() == {2}
