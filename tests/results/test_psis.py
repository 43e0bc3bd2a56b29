"""Leaving out many at a time against ArviZ, which leaves out one after the other."""

import warnings

import arviz as az
import numpy as np
import pytest
import xarray as xr

from bayesrank.results.evaluation.psis import good_pareto_k, leave_each_out


def theirs(logp, reff):
    """ArviZ's numbers for (n_draws, n_observations)."""
    data = xr.DataArray(logp[None], dims=("chain", "draw", "row"))
    tree = xr.DataTree.from_dict({"log_likelihood": xr.Dataset({"y": data})})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return az.loo(tree, var_name="y", pointwise=True, reff=reff)


@pytest.mark.parametrize("n_draws", [100, 225, 226, 1000, 4001])
@pytest.mark.parametrize("reff", [0.3, 1.0, 1.7])
def test_numbers_are_those_of_arviz(rng, n_draws, reff):
    scale = np.array([0.01, 0.3, 1.0, 3.0, 10.0, 60.0])
    logp = -1 - scale * rng.standard_t(5, (n_draws, 6)) ** 2
    logp[:, 1] = rng.normal(0, 1, n_draws)
    found, expected = leave_each_out(logp, reff), theirs(logp, reff)
    np.testing.assert_allclose(found.elpd, expected.elpd_i, rtol=1e-11)
    np.testing.assert_allclose(found.pareto_k, expected.pareto_k, rtol=1e-9, atol=1e-10)
    assert (found.lppd - found.elpd).sum() == pytest.approx(expected.p, rel=1e-10)
    assert good_pareto_k(n_draws) == pytest.approx(expected.good_k)


def test_blocks_do_not_matter(rng, monkeypatch):
    logp = rng.normal(size=(400, 23))
    whole = leave_each_out(logp)
    monkeypatch.setattr("bayesrank.results.evaluation.psis.BLOCK", 1200)
    for x, y in zip(leave_each_out(logp), whole, strict=True):
        np.testing.assert_array_equal(x, y)


def test_weights_that_are_all_the_same_have_no_pareto_k_and_are_kept():
    few = np.full((400, 1), -1.0)
    few[:200] = -2.0  # every weight of the tail
    found = leave_each_out(few)
    assert np.isnan(found.pareto_k).all()
    # one half and one half, weighted by what they give
    exact = -np.log((np.exp(1.0) + np.exp(2.0)) / 2)
    np.testing.assert_allclose(found.elpd, exact)
