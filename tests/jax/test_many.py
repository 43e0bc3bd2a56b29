"""Many problems in one program: the modes are those of one after another."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import bayesrank as br
from bayesrank.inference import FitWarning
from bayesrank.jax import many


def problem(seed):
    """Rankings of different numbers, and of different lengths."""
    rng = np.random.default_rng(seed)
    length = 5 - seed % 2
    n = 5 + seed % 4
    return br.Rankings.from_orderings(
        [list(rng.permutation(list("abcde"))[:length]) for _ in range(n)], items=list("abcde")
    )


@pytest.fixture(scope="module")
def model():
    first = problem(0)
    with pm.Model(coords=first.coords) as model:
        scale = pm.HalfNormal("scale", 1.0)
        utility = pm.Normal("utility", 0, 1, dims="item")
        pm.Deterministic("odds", pm.math.exp(scale * utility), dims="item")
        br.PlackettLuce("y", scale * utility, observed=first)
    return model


@pytest.mark.slow
def test_modes_are_those_of_one_after_another(model):
    problems = {f"query {k}": problem(k) for k in range(12)}
    density = br.jax.compile(model)
    found = br.jax.map_fits(density, problems, at_once=3)
    expected = br.map_fits(model, problems, tolerance=1e-10, progressbar=False)
    assert found["problem"].values.tolist() == list(problems)
    assert (found["failed"] == "").all()
    for name in ("scale", "utility", "odds"):
        assert found[name].dims == expected[name].dims
        np.testing.assert_allclose(found[name], expected[name], atol=5e-3)
    np.testing.assert_allclose(found["log_density"], expected["log_density"], atol=3e-6)

    half = found.isel(problem=slice(0, 6)).copy(deep=True)
    half["failed"][2] = "ValueError: the power went"
    xr.testing.assert_allclose(br.jax.map_fits(density, problems, done=half), found, atol=5e-3)


@pytest.mark.slow
def test_what_is_fitted_before_an_error_is_kept(model, monkeypatch):
    problems = {f"query {k}": problem(k) for k in range(0, 12, 2)}
    density = br.jax.compile(model)
    found = br.jax.map_fits(density, problems)
    groups = many._groups

    def until(arrays, at_once):
        yield next(groups(arrays, at_once))
        raise MemoryError("out of memory")

    monkeypatch.setattr(many, "_groups", until)
    with pytest.warns(FitWarning, match="not fitted: MemoryError: out of memory"):
        some = br.jax.map_fits(density, problems, at_once=2)
    fitted = some["failed"].values == ""
    assert fitted.sum() == 2
    xr.testing.assert_allclose(some.isel(problem=fitted), found.isel(problem=fitted), atol=5e-3)
    assert np.isnan(some["odds"][~fitted]).all()


def test_interrupted_before_the_first_fit_everything_is_nan(model, monkeypatch):
    def at_once(arrays, at_once):
        raise KeyboardInterrupt

    monkeypatch.setattr(many, "_groups", at_once)
    with pytest.warns(FitWarning, match="2 of 2 fits were interrupted or failed"):
        found = br.jax.map_fits(br.jax.compile(model), [problem(0), problem(1)])
    assert found["odds"].dims == ("problem", "item")
    assert np.isnan(found["odds"]).all()
    assert (found["failed"] == "not fitted: interrupted").all()


def test_what_fails_is_named(model):
    density = br.jax.compile(model)
    odd = br.Rankings.from_orderings([["x", "y"]])
    with pytest.warns(FitWarning, match="1 of 1 fits failed, the first of them 'odd'") as caught:
        found = br.jax.map_fits(density, {"odd": odd})
    assert str(found["failed"].item()).startswith("ValueError")
    assert "ValueError" in str(caught[0].message)
    with pytest.raises(ValueError, match="There are no problems to fit"):
        br.jax.map_fits(density, {})
    with pytest.raises(ValueError, match="`at_once` is 0; it is a whole number"):
        br.jax.map_fits(density, [odd], at_once=0)
    import jax

    mesh = jax.sharding.Mesh(jax.devices()[:1], ("rows",))
    with pytest.raises(ValueError, match="compile it without mesh="):
        br.jax.map_fits(br.jax.compile(model, mesh=mesh), [odd])


@pytest.mark.slow
def test_a_search_that_does_not_arrive_has_failed(model):
    with pytest.warns(FitWarning, match="The search for the mode ends where the log density may"):
        br.jax.map_fits(br.jax.compile(model), [problem(1)], max_iterations=1)


@pytest.mark.slow
def test_modes_are_reached_whatever_the_scales(recwarn):
    """L-BFGS alone ends up to 0.8 below them, and promises less than a millionth."""
    rng = np.random.default_rng(0)
    feature = 100 + rng.normal(size=(30, 3)) * [1.0, 1e3, 1e-3]
    problems = [
        br.Rankings.from_orderings(
            [rng.permutation(30)[:5].tolist() for _ in range(40)], items=range(30)
        )
        for _ in range(4)
    ]
    with pm.Model(coords=problems[0].coords | {"feature": range(3)}) as model:
        b = pm.Normal("b", 0, 1e3, dims="feature")
        utility = pm.Data("x", feature, dims=("item", "feature")) @ b
        br.PlackettLuce(
            "y", pm.Deterministic("utility", utility, dims="item"), observed=problems[0]
        )
    found = br.jax.map_fits(br.jax.compile(model), problems)
    expected = br.map_fits(model, problems, progressbar=False)
    assert (found["failed"] == "").all()
    np.testing.assert_allclose(found["log_density"], expected["log_density"], atol=2e-6)
    assert not recwarn
