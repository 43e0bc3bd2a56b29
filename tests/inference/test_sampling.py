"""NUTS of what PyTensor keeps on disk: draws, groups, when it stops, and that it is nutpie's."""

import os
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import nutpie
import pymc as pm
import pytensor.tensor as pt
import pytest

from bayesrank.inference import compile_density, nuts_seconds, sample
from bayesrank.inference.sampling import nutpie_model, nuts
from tests.flags import flags_of_users


def normal():
    """A mean of two groups, known to be normal, and what is derived from it."""
    with pm.Model(coords={"group": ["a", "b"], "row": range(4)}) as model:
        group = pm.Data("which", [0, 0, 0, 1], dims="row")
        mean = pm.Normal("mean", 0, 1, dims="group")
        pm.Deterministic("twice", 2 * mean, dims="group")
        pm.Normal("y", mean[group], 1, observed=[1.0, 2.0, 3.0, -1.0], dims="row")
    return model


@pytest.fixture(scope="module")
def tree():
    return sample(1000, tune=300, chains=2, random_seed=1, model=normal())


def test_draws_are_those_of_the_posterior(tree):
    draws = tree["posterior"]["mean"].to_numpy().reshape(-1, 2)
    np.testing.assert_allclose(draws.mean(0), [1.5, -0.5], atol=0.12)  # five standard errors
    np.testing.assert_allclose(draws.std(0), [0.5, 0.5**0.5], rtol=0.15)


def test_the_tree_is_like_that_of_pymc(tree):
    assert list(tree.children) == ["posterior", "sample_stats", "constant_data", "observed_data"]
    posterior = tree["posterior"]
    assert list(posterior.data_vars) == ["mean", "twice"]
    assert posterior["twice"].dims == ("chain", "draw", "group")
    assert posterior["group"].values.tolist() == ["a", "b"]
    np.testing.assert_allclose(posterior["twice"], 2 * posterior["mean"])
    assert {"diverging", "energy", "n_steps"} <= set(tree["sample_stats"].data_vars)
    assert tree["constant_data"]["which"].values.tolist() == [0, 0, 0, 1]
    assert tree["observed_data"]["y"].dims == ("row",)


def test_a_seed_gives_its_draws_and_stopping_early_the_first_of_them(tree):
    looks = []

    def enough(posterior):
        looks.append(posterior.sizes["draw"])
        return len(looks) == 2

    options = {"tune": 300, "chains": 2, "random_seed": 1, "model": normal()}
    fewer = sample(2000, enough=enough, **options)
    assert looks == [250, 500]
    assert fewer["posterior"].sizes["draw"] == fewer["sample_stats"].sizes["draw"] == 500
    expected = tree["posterior"]["mean"].to_numpy()[:, :500]
    np.testing.assert_array_equal(fewer["posterior"]["mean"], expected)
    steps = []
    never = sample(400, watch=lambda done, most: steps.append((done, most)), **options)
    assert steps[0] == (0, 2 * (300 + 400))
    assert steps == sorted(steps)
    np.testing.assert_array_equal(never["posterior"]["mean"], tree["posterior"]["mean"][:, :400])


@pytest.mark.parametrize("watched", [True, False])
def test_an_interrupt_keeps_the_draws_that_all_chains_have_made(monkeypatch, watched):
    """Also where one chain is far behind, which nutpie fills with NaN."""

    def interrupt(done, most):
        if done > 2 * 300 + 200:
            raise KeyboardInterrupt

    def wait(sampler, **_):
        while min(c.finished_draws for c in progress) < 310:
            time.sleep(0.01)
        raise KeyboardInterrupt

    progress = [SimpleNamespace(finished_draws=0)]
    options = {"tune": 300, "chains": 2, "random_seed": 1, "model": normal()}
    if watched:
        options["watch"] = interrupt
    else:  # nobody is asked, and nutpie itself waits
        real = nutpie.sample

        def count(chains):
            progress[:] = chains

        monkeypatch.setattr(
            nutpie, "sample", lambda *a, **k: real(*a, **k, progress_callback=count)
        )
        monkeypatch.setattr(sys.modules["nutpie.sample"]._BackgroundSampler, "wait", wait)
    found = sample(10_000_000, **options)
    draws = found["posterior"]["mean"].to_numpy()
    assert 10 <= draws.shape[1] < 10_000_000
    assert np.isfinite(draws).all()
    assert found["sample_stats"].sizes["draw"] == draws.shape[1]


def test_an_interrupt_in_tuning_keeps_nothing():
    def interrupt(done, most):
        if done > 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sample(10, tune=10_000_000, chains=2, model=normal(), watch=interrupt)


def another_version(monkeypatch):
    monkeypatch.setattr(nutpie, "__version__", "0.17.0")


def another_constructor(monkeypatch):
    monkeypatch.setattr(sys.modules["nutpie.compile_pymc"], "CompiledPyMCModel", lambda: None)


@pytest.mark.slow
@pytest.mark.parametrize("change", [another_version, another_constructor])
def test_another_nutpie_compiles_the_model_itself_and_draws_the_same(tree, monkeypatch, change):
    theirs, compiled = nutpie.compile_pymc_model, []

    def count(*args, **kwargs):
        monkeypatch.undo()
        compiled.append(theirs(*args, **kwargs))
        return compiled[0]

    change(monkeypatch)
    monkeypatch.setattr(nutpie, "compile_pymc_model", count)
    found = sample(100, tune=300, chains=2, random_seed=1, model=normal())
    assert len(compiled) == 1
    for group, expected in tree.children.items():
        assert set(found[group].data_vars) == set(expected.data_vars)
        assert set(found[group].coords) == set(expected.coords)
    for name, expected in tree["posterior"].data_vars.items():
        assert found["posterior"][name].dims == expected.dims
        # nutpie's function may contract products and sums
        np.testing.assert_allclose(found["posterior"][name], expected[:, :100], atol=1e-5)


def test_impossible_values_are_never_drawn():
    with pm.Model():
        x = pm.Flat("x", initval=0.5)
        # nothing below zero, and no slope from 9 on
        pm.Potential("density", pt.switch(x > 0, pt.switch(x > 9, pt.sqrt(9 - x), -x), -np.inf))
        x = sample(500, tune=500, chains=2, random_seed=1)["posterior"]["x"]
    assert 0 < float(x.min()) < float(x.max()) < 9


def test_the_time_of_sampling_is_that_of_a_gradient_times_their_number(monkeypatch):
    now = [0.0]

    def density(at):
        now[0] += 0.01  # seconds of a clock that only gradients move

    monkeypatch.setattr(nuts, "compile_density", lambda model: density)
    monkeypatch.setattr(nuts.time, "perf_counter", lambda: now[0])
    each = pytest.approx(0.01 + nuts.CALL)
    model = normal()
    # 20 gradients of a tuning step, 15 of a draw
    assert nuts_seconds(model, draws=100, tune=10, chains=1) / (100 * 15 + 10 * 20) == each
    two = nuts_seconds(model, draws=0, tune=10, chains=2, cores=1, nuts={"target_accept": 0.95})
    assert two / (2 * 10 * 40) == each


def test_discrete_variables_are_refused():
    with pm.Model():
        pm.Bernoulli("z", 0.5)
        with pytest.raises(
            ValueError, match=r"NUTS cannot sample \['z'\], which are discrete\. Use pm"
        ):
            sample()


@pytest.mark.slow
def test_the_tree_is_that_of_pymc():
    model, options = normal(), {"tune": 50, "chains": 2}
    ours = sample(20, random_seed=4, model=model, **options)
    with model:
        whole = pm.sample(20, nuts_sampler="nutpie", progressbar=False, quiet=True, **options)
    assert set(whole.children) == set(ours.children)
    for group, expected in whole.children.items():
        assert set(ours[group].data_vars) == set(expected.data_vars)
        assert set(ours[group].coords) == set(expected.coords)


PROGRAM = """
import hashlib, pathlib, pytensor
from tests.inference.test_sampling import leaderboard, sample
found = sample(50, tune=50, chains=2, random_seed=1, model=leaderboard())["posterior"]["utility"]
kept = list(pathlib.Path(pytensor.config.compiledir).parent.rglob("*nutpie_*.nbc"))
print(hashlib.sha256(found.to_numpy().tobytes()).hexdigest(), len(kept))
"""


def leaderboard():
    """Judges, categories and ties."""
    from bayesrank.analysis.leaderboard import leaderboard_model
    from tests.distributions.pair_examples import pairs_of

    return leaderboard_model(pairs_of(), category="kind")


@pytest.mark.slow
def test_other_processes_load_what_the_first_compiled_and_draw_the_same(tmp_path):
    def run():
        flags = f"{flags_of_users()},base_compiledir={tmp_path}"
        command = [sys.executable, "-c", PROGRAM]
        kernels = {"PYTENSOR_FLAGS": flags, "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
        environment = os.environ | kernels
        found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return found.stdout.split()

    cold, warm = run(), run()
    assert cold[1] == warm[1] == "2"
    assert cold[0] == warm[0]


def test_models_of_all_sizes_share_what_is_compiled():
    def key(n):
        with pm.Model(coords={"item": range(n)}) as model:
            scale = pm.HalfNormal("scale", 1)
            pm.Normal("x", 0, scale, dims="item")
        return nutpie_model.CACHED_SRC_FUNCTIONS[compile_density(model).compiled._pyfunc]

    assert key(3) == key(5)
