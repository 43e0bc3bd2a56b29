"""Many problems: the same numbers whoever fits them, one compilation, failures by name."""

import os
import signal
import threading
import warnings

import joblib
import numpy as np
import pymc as pm
import pytest
import xarray as xr

import bayesrank as br
from bayesrank.inference import FitWarning, climb, find_MAP_many, objective
from bayesrank.inference.validation import workers
from tests.builders import model_of, stored

N_ITEMS = 5


def problem(seed, n=8):
    rng = np.random.default_rng(seed)
    return br.Rankings.from_orderings(
        [list(rng.permutation(list("abcde"))) for _ in range(n + seed % 3)]
    )


@pytest.fixture(scope="module")
def problems():
    return {f"query {k}": problem(k) for k in range(12)}


@pytest.fixture(scope="module")
def model(problems):
    first = problems["query 0"]
    with pm.Model(coords=first.coords) as model:
        scale = pm.Data("scale", 1.0)
        utility = pm.Normal("utility", 0, scale, dims="item")
        pm.Deterministic("odds", pm.math.exp(utility), dims="item")
        br.PlackettLuce("y", utility, observed=first)
    return model


@pytest.fixture(scope="module")
def fits(model, problems):
    return find_MAP_many(problems, progressbar=False, model=model)


def test_each_mode_is_the_one_of_a_model_of_its_own(fits, problems):
    for label in ("query 1", "query 5"):
        single = model_of(problems[label])
        logp, start = objective(single)
        fitted = fits.sel(problem=label)
        np.testing.assert_allclose(fitted["utility"], climb(logp, start.data), atol=2e-3)
        np.testing.assert_allclose(fitted["odds"], np.exp(fitted["utility"]))
        assert float(fitted["log_density"]) == pytest.approx(
            float(single.compile_logp()({"utility": fitted["utility"].values})), abs=1e-9
        )
    assert fits["utility"].dims == ("problem", "item")
    assert fits["item"].values.tolist() == list("abcde")


def test_the_model_is_not_changed(model, problems, fits):
    assert stored(model, "item").shape[0] == problems["query 0"].n_rankings


def test_it_compiles_once(model, problems, fits, monkeypatch):
    times = []
    compiled = pm.Model.compile_fn
    monkeypatch.setattr(
        pm.Model, "compile_fn", lambda *a, **k: times.append(1) or compiled(*a, **k)
    )
    workers._prepared.clear()
    again = find_MAP_many(problems, progressbar=False, model=model)
    assert times == [1]
    xr.testing.assert_identical(again, fits)


def test_a_sequence_has_numbers_and_dicts_set_other_data(model, problems):
    same = problems["query 3"]
    found = find_MAP_many(
        [{"y": same, "scale": s} for s in (0.5, 1.0, 2.0)], progressbar=False, model=model
    )
    assert found["problem"].values.tolist() == [0, 1, 2]
    spread = found["utility"].std("item").values
    assert (np.diff(spread) > 0).all()


def test_one_that_fails_is_named_and_the_others_are_fitted(model, problems, fits):
    other = br.Rankings.from_orderings([["x", "y"]])
    with pytest.warns(FitWarning, match="1 of 13 fits failed, the first of them 'odd'") as caught:
        found = find_MAP_many({"odd": other, **problems}, progressbar=False, model=model)
    assert "ValueError" in str(caught[0].message)
    assert np.isnan(found["utility"].sel(problem="odd")).all()
    assert str(found["failed"].sel(problem="odd").item()).startswith("ValueError")
    xr.testing.assert_identical(found.isel(problem=slice(1, None)), fits)


def test_done_fits_are_not_done_again(model, problems, fits, monkeypatch):
    asked = []
    some = workers._solve_some
    monkeypatch.setattr(
        workers,
        "_solve_some",
        lambda d, p, part: asked.extend(label for label, _ in part) or some(d, p, part),
    )
    half = fits.isel(problem=slice(0, 6)).copy(deep=True)
    half["failed"][2] = "ValueError: the power went"
    found = find_MAP_many(problems, done=half, progressbar=False, model=model)
    assert asked == ["query 2", *(f"query {k}" for k in range(6, 12))]
    xr.testing.assert_identical(found, fits)


@pytest.fixture
def fail_at(monkeypatch):
    """Raise an error where a problem is sent to a process."""
    some = workers._solve_some

    def fail_at(label, error):
        def until(digest, pickled, part):
            if part[0][0] == label:
                raise error
            return some(digest, pickled, part)

        monkeypatch.setattr(workers, "_solve_some", until)

    return fail_at


@pytest.mark.parametrize(
    ("error", "message", "why"),
    [
        (KeyboardInterrupt(), "were interrupted or failed", "interrupted"),
        (
            OSError("no space left"),
            "7 of 12 fits failed, the first of them 'query 5': not fitted: OSError: no space left",
            "OSError: no space left",
        ),
    ],
)
def test_fits_before_an_error_are_kept(model, problems, fits, fail_at, error, message, why):
    fail_at("query 5", error)
    with pytest.warns(FitWarning, match=message):
        found = find_MAP_many(problems, progressbar=False, model=model)
    xr.testing.assert_identical(found.isel(problem=slice(0, 5)), fits.isel(problem=slice(0, 5)))
    assert np.isnan(found["utility"][5:]).all()
    assert (found["failed"][5:] == f"not fitted: {why}").all()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError("no space left")])
def test_an_error_before_the_first_fit_is_raised(model, problems, fail_at, error):
    fail_at("query 0", error)
    with pytest.raises(type(error)):  # there is nothing to keep
        find_MAP_many(problems, progressbar=False, model=model)


def test_a_problem_of_another_shape_is_named_and_the_others_are_kept(problems):
    first = problems["query 0"]
    with pm.Model(coords=first.coords) as model:
        utility = pm.Normal("utility", 0, 1, dims="item")
        x = pm.Data("x", [1.0, 2.0])
        pm.Deterministic("line", x * utility[0])
        br.PlackettLuce("y", utility, observed=first)
    cases = [{"y": first, "x": x} for x in ([1.0, 3.0], [1.0, 2.0, 3.0], [0.0, 1.0])]
    with pytest.warns(
        FitWarning, match=r"1 of 3 .* them 1: 'line' has shape \(3,\) in this problem"
    ):
        found = find_MAP_many(cases, progressbar=False, model=model)
    assert np.isnan(found["line"].sel(problem=1)).all()
    utility = found["utility"].sel(problem=[0, 2], item="a")
    np.testing.assert_allclose(found["line"].sel(problem=0), [1, 3] * utility[0].values)
    np.testing.assert_allclose(found["line"].sel(problem=2), [0, 1] * utility[1].values)


def killer_and_others(problems):
    """One problem kills the process that fits it, one raises, and one cannot be sent to it."""

    class Kills(dict):
        def __iter__(self):
            os.kill(os.getpid(), signal.SIGKILL)

        keys = __iter__

    class Raises(dict):
        def __iter__(self):
            raise ZeroDivisionError("a bad problem")

        keys = __iter__

    return {
        "kills": Kills(y=problems["query 0"]),
        "raises": Raises(y=problems["query 0"]),
        "stays": {"y": problems["query 0"], "scale": threading.Lock()},
        **problems,
    }


@pytest.mark.slow
def test_a_worker_that_is_killed_takes_no_other_fit_with_it(model, problems, fits):
    given = killer_and_others(problems)
    with pytest.warns(FitWarning, match="3 of 15 fits failed"):
        found = find_MAP_many(given, n_jobs=2, progressbar=False, model=model)
    assert found["problem"].values.tolist() == list(given)
    why = {str(label): str(found["failed"].sel(problem=label).item()) for label in given}
    assert why["kills"].startswith("TerminatedWorkerError: ")
    assert "SIGKILL" in why["kills"]
    assert why["raises"] == "ZeroDivisionError: a bad problem"
    assert why["stays"].startswith("PicklingError: ")
    assert np.isnan(found["odds"].sel(problem=["kills", "raises", "stays"])).all()
    xr.testing.assert_identical(found.sel(problem=list(problems)), fits)


def test_a_search_that_does_not_arrive_has_failed(model, problems):
    with pytest.raises(
        ValueError, match=r"No problem has a fit\..* The search for the mode did not c"
    ):
        find_MAP_many([problems["query 1"]], max_iterations=1, progressbar=False, model=model)


def test_problems_that_would_keep_the_data_of_others_are_refused(model, problems):
    with pytest.raises(ValueError, match="Expected at least one problem to fit"):
        find_MAP_many({}, model=model)
    mixed = {"one": problems["query 1"], "other": {"scale": 2.0}}
    with pytest.raises(ValueError, match=r"^Problem 'other' has no data for 'y', which other pro"):
        find_MAP_many(mixed, model=model)


def test_problems_without_data_have_those_of_the_model(model, fits):
    found = find_MAP_many([{"scale": 1.0}], progressbar=False, model=model)
    np.testing.assert_array_equal(found["utility"][0], fits["utility"].sel(problem="query 0"))


@pytest.mark.slow
def test_processes_give_the_same_numbers(model, problems, fits):
    xr.testing.assert_identical(
        find_MAP_many(problems, n_jobs=2, progressbar=False, model=model), fits
    )


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_numbers(model, problems, fits):
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of ports in use, and of what the cluster leaves open
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster),
            joblib.parallel_config("dask"),
        ):
            found = find_MAP_many(problems, progressbar=False, model=model)
    xr.testing.assert_identical(found, fits)
