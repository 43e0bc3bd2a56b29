"""The location of utilities, drawn anew: exact for what depends on differences."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import bayesrank as br
from bayesrank.inference import sample
from bayesrank.results import resample_location


def tree(draws, **more):
    data = {"utility": (("chain", "draw", "item"), draws), **more}
    return xr.DataTree.from_dict({"posterior": xr.Dataset(data, coords={"item": list("abc")})})


def normal_posterior(rng, mu, sigma, n):
    """Exact draws under a likelihood of the differences: Normal(3, 0.5) of a - b."""
    contrast = np.array([1.0, -1.0, 0.0]) / 0.5
    precision = np.diag(1 / sigma**2) + np.outer(contrast, contrast)
    covariance = np.linalg.inv(precision)
    mean = covariance @ (mu / sigma**2 + contrast * 3 / 0.5)
    return mean, covariance, rng.multivariate_normal(mean, covariance, (2, n))


@pytest.mark.parametrize("sigma", [np.array([2.0, 2.0, 2.0]), np.array([0.5, 1.0, 3.0])])
def test_the_posterior_stays_what_it_is(rng, sigma):
    mu = np.array([1.0, 0.0, -2.0])
    mean, covariance, draws = normal_posterior(rng, mu, sigma, 100_000)
    by_item = [xr.DataArray(x, dims="item", coords={"item": list("abc")}) for x in (sigma, mu)]
    found = resample_location(tree(draws), sigma=by_item[0], mu=by_item[1], random_seed=2)
    moved = found["posterior"]["utility"].to_numpy().reshape(-1, 3)
    assert not np.allclose(moved, draws.reshape(-1, 3), atol=0.01)
    error = np.sqrt(np.diag(covariance) / len(moved))
    assert (np.abs(moved.mean(0) - mean) < 6 * error).all()
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    assert (np.abs(np.cov(moved.T) - covariance) < 6 * scale * np.sqrt(2 / len(moved))).all()


def test_differences_and_all_else_stay_as_they_are(rng):
    draws = rng.normal(size=(2, 50, 3))
    data = tree(draws, nu=(("chain", "draw"), rng.normal(size=(2, 50))))
    found = resample_location(data, random_seed=1)["posterior"]
    np.testing.assert_allclose(
        found["utility"].diff("item"), data["posterior"]["utility"].diff("item"), atol=1e-13
    )
    assert found["nu"].identical(data["posterior"]["nu"])
    np.testing.assert_array_equal(data["posterior"]["utility"], draws)
    again = resample_location(data, random_seed=1)["posterior"]["utility"]
    np.testing.assert_array_equal(again, found["utility"])


def test_draws_of_the_scale_are_used_draw_by_draw(rng):
    scale = xr.DataArray(np.tile([1e-6, 5.0], (2, 2000)), dims=("chain", "draw"))
    found = resample_location(tree(rng.normal(size=(2, 4000, 3))), sigma=scale, random_seed=1)
    location = found["posterior"]["utility"].mean("item").to_numpy()
    assert np.abs(location[:, ::2]).max() < 1e-5
    assert location[:, 1::2].std() == pytest.approx(5 / np.sqrt(3), rel=0.1)


def test_values_by_item_are_read_by_label(rng):
    draws = tree(rng.normal(size=(1, 5, 3)))
    mu = pd.Series([3.0, 1.0, 2.0], index=[*"cab"])
    found, wanted = (
        resample_location(draws, sigma=[1.0, 2.0, 3.0], mu=x, random_seed=1)["posterior"]["utility"]
        for x in (mu, [1.0, 2.0, 3.0])
    )
    np.testing.assert_array_equal(found, wanted)
    for wrong in (mu.drop("a"), mu.rename({"a": "d"}), [1.0, 2.0]):
        with pytest.raises(ValueError, match="`mu` has other labels of 'item' than the utilities"):
            resample_location(draws, mu=wrong, random_seed=1)


def test_scales_must_be_positive(rng):
    with pytest.raises(ValueError, match=r"^`sigma` is 0\.0; it must be positive\.$"):
        resample_location(tree(rng.normal(size=(1, 5, 3))), sigma=0.0)


@pytest.mark.slow
def test_nascar_is_the_same_as_untouched():
    rankings = br.load_nascar()
    with pm.Model(coords=rankings.coords):
        br.PlackettLuce("y", pm.Normal("utility", 0, 1, dims="item"), observed=rankings)
        plain = sample(4000, chains=4, random_seed=1, nuts={"adaptation": "low_rank"})
        drawn = sample(1000, chains=4, random_seed=2)
    u, v = (x["posterior"]["utility"] for x in (plain, resample_location(drawn, random_seed=3)))
    sd = u.std(("chain", "draw"))
    for x in (u.mean("item"), v.mean("item")):  # both have the prior of the location
        assert float(x.std()) == pytest.approx(1 / np.sqrt(87), rel=0.2)
    assert float(np.abs((u - v).mean(("chain", "draw")) / sd).max()) < 0.2
