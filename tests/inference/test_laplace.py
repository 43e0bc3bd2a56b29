import numpy as np
import pymc as pm
import pytest

from bayesrank.inference import climb, hessian, laplace, objective


def test_the_hessian_of_a_cubic_is_found_to_the_square_of_the_step():
    def slope(x):
        return np.array([3 * x[0] ** 2 * x[1], x[0] ** 3])

    found = hessian(slope, np.array([2.0, 5.0]))
    np.testing.assert_allclose(found, [[60.0, 12.0], [12.0, 0.0]], atol=1e-6)


@pytest.fixture
def normal_model():
    with pm.Model(coords={"i": ["a", "b"]}) as model:
        x = pm.Normal("x", 0, [1.0, 2.0], dims="i")
        pm.Deterministic("total", pm.math.sum(x))
        pm.Normal("y", pm.math.sum(x), 1.0, observed=3.0)
    return model


def test_of_a_normal_posterior_the_draws_have_its_mean_and_covariance(normal_model):
    n = 20_000
    posterior = laplace(normal_model, draws=n, random_seed=1)["posterior"]
    assert dict(posterior.sizes) == {"chain": 1, "draw": n, "i": 2}
    # prior precision diag(1, 1/4), and each observation adds ones
    covariance = np.linalg.inv(np.array([[2.0, 1.0], [1.0, 1.25]]))
    x = posterior["x"].to_numpy()[0]
    mean = covariance @ [3.0, 3.0]
    error = np.sqrt(np.diag(covariance) / n)
    assert (abs(x.mean(axis=0) - mean) < 5.5 * error).all()
    # the standard error of a covariance is below sqrt(2 / n) times the variances
    assert abs(np.cov(x.T) - covariance).max() < 5.5 * np.sqrt(2 / n) * covariance.max()
    np.testing.assert_allclose(posterior["total"].to_numpy()[0], x.sum(axis=1))


def test_the_same_seed_gives_the_same_draws(normal_model):
    one, same, other = (laplace(normal_model, draws=5, random_seed=seed) for seed in (1, 1, 2))
    assert one["posterior"].equals(same["posterior"])
    assert not one["posterior"].equals(other["posterior"])


def test_a_mode_found_before_may_be_given(normal_model):
    logp, start = objective(normal_model)
    mode = {"x": climb(logp, start.data)}
    given, searched = (
        laplace(normal_model, mode=mode, draws=5, random_seed=1),
        laplace(normal_model, draws=5, random_seed=1),
    )
    np.testing.assert_allclose(given["posterior"]["x"], searched["posterior"]["x"], atol=1e-6)


def test_positive_variables_stay_positive():
    with pm.Model() as model:
        pm.HalfNormal("scale", 1.0)
    posterior = laplace(model, draws=200, random_seed=1)["posterior"]
    assert list(posterior.data_vars) == ["scale"]
    assert (posterior["scale"] > 0).all()


def test_a_point_that_is_no_mode_is_refused():
    with pm.Model() as model:
        x = pm.Normal("x", 0, 1, shape=2)
        pm.Potential("saddle", 5 * x[0] ** 2)
    with pytest.raises(ValueError, match=r"not an isolated mode.*least curvature -9\b"):
        laplace(model, mode={"x": np.zeros(2)}, random_seed=1)
