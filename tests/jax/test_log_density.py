"""Log densities on JAX: those of PyMC, whatever the blocks and the devices."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

import bayesrank as br
from bayesrank.jax import checkpoints, modes
from bayesrank.likelihoods.pmop import AGGREGATES
from models.howto import shards
from models.shared.modes import posterior_modes
from tests import builders
from tests.builders import matches
from tests.cases import RANKINGS
from tests.jax.two_processes import part
from tests.verbs import FAMILIES

ROOT = Path(__file__).parents[2]


def pairs_of(*, ties=False, n=23):
    """Make up outcomes of pairs, by judges."""
    rng = np.random.default_rng(3)
    first = rng.integers(0, 5, n)
    second = (first + rng.integers(1, 5, n)) % 5
    won = np.array(["first", "second", "tie"])[rng.integers(0, 3 if ties else 2, n)]
    names = np.array([f"i{k}" for k in range(5)])
    judge = [f"j{k % 3}" for k in range(n)]
    return matches(names[first], names[second], won, judge=judge)


PAIRS = pairs_of()


def model_of(pairs):
    """Pairs with a scale to learn, a covariate of each, and what is not by pair."""
    with pm.Model(coords=pairs.coords) as model:
        scale = pm.HalfNormal("scale", 1.0)
        utility = pm.Normal("utility", 0.0, 1.0, dims="item")
        br.BradleyTerry("y", utility, observed=pairs)
        x = pm.Data("x", np.arange(pairs.n_pairs) / 10, dims="pair")
        minutes = pm.Data("minutes", np.ones(pairs.n_pairs), dims="pair")
        pm.Normal("played", utility[0] * x, scale, observed=minutes, dims="pair")
        pm.Normal("other", scale, 1.0, observed=[0.3, 0.4])
        pm.Potential("sum", -(utility.sum() ** 2))
    return model


@pytest.fixture(scope="module")
def both():
    model = model_of(PAIRS)
    return model, br.jax.compile(model, "pair", chunk=4)


def at(density, seed=0):
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=x.shape) for name, x in density.start().items()}


def pymc_value_and_slope(model, values):
    slope = np.split(model.compile_dlogp()(values), np.cumsum([x.size for x in values.values()]))
    return model.compile_logp()(values), dict(zip(values, slope, strict=False))


def test_values_and_gradients_are_those_of_pymc(both):
    model, density = both
    values, data = at(density), density.put()
    value_and_grad = jax.jit(jax.value_and_grad(density.logp))
    assert data["y_data"].shape[:2] == (-(-PAIRS.n_pairs // 4), 4)
    assert data["is_row"].sum() == PAIRS.n_pairs
    value, slope = pymc_value_and_slope(model, values)
    assert float(density.logp(values, data)) == pytest.approx(value, rel=1e-12)
    found, by_name = value_and_grad(values, data)
    assert float(found) == pytest.approx(value, rel=1e-12)
    for name, expected in slope.items():
        np.testing.assert_allclose(np.ravel(by_name[name]), expected, rtol=1e-11, atol=1e-9)


def test_hessians_times_directions_are_differences_of_gradients(both):
    _, density = both
    values, along, data = at(density), at(density, seed=1), density.put()
    found = jax.jit(density.hessian_vector)(values, along, data)
    value_and_grad = jax.jit(jax.value_and_grad(density.logp))

    def slope(step):
        moved = {name: x + step * along[name] for name, x in values.items()}
        return value_and_grad(moved, data)[1]

    up, down = slope(1e-5), slope(-1e-5)
    for name, x in found.items():
        np.testing.assert_allclose(x, (up[name] - down[name]) / 2e-5, rtol=1e-6, atol=1e-6)


def test_other_data_are_as_in_a_model_of_their_own(both):
    _, density = both
    some, values = pairs_of(n=11), at(density)
    data = density.put({"y": some, "x": np.arange(n := some.n_pairs) / 10, "minutes": np.ones(n)})
    value, _ = pymc_value_and_slope(model_of(some), values)
    assert float(density.logp(values, data)) == pytest.approx(value, rel=1e-12)


def test_the_program_does_not_grow_with_the_data(both):
    _, density = both
    many = pairs_of(n=1000)
    data = density.put({"y": many, "x": np.zeros(n := many.n_pairs), "minutes": np.ones(n)})
    assert n > 2 * PAIRS.n_pairs

    def size(data):
        return len(jax.jit(density.logp).lower(at(density), data).as_text())

    assert size(data) < size(density.put()) + 200  # numbers of blocks have more digits


@pytest.mark.slow
def test_the_mode_is_that_of_pymc_models(both):
    model, density = both
    found = br.jax.find_map(density, density.put(), tolerance=1e-10)
    (mode,) = posterior_modes(model, tolerance=1e-10, random_seed=1)
    for name, x in found.values.items():
        np.testing.assert_allclose(x, mode[name], atol=1e-4)
    assert found.log_density == pytest.approx(model.compile_logp()(mode), abs=1e-8)
    assert set(found.point) == {"scale", "utility"}
    with pytest.warns(
        UserWarning, match="did not converge in 2 iterations: the log density may still rise"
    ):
        br.jax.find_map(density, density.put(), max_iterations=2)


@pytest.mark.slow
def test_the_mode_is_reached_whatever_the_scales(recwarn):
    """L-BFGS alone ends 0.15 below it, and promises less than a millionth."""
    rng = np.random.default_rng(0)
    feature = 100 + rng.normal(size=(30, 3)) * [1.0, 1e3, 1e-3]
    rankings = br.Rankings.from_orderings([rng.permutation(30)[:5].tolist() for _ in range(200)])
    feature = feature[[int(item) for item in rankings.items]]
    with pm.Model(coords=rankings.coords | {"feature": range(3)}) as model:
        b = pm.Normal("b", 0, 1e3, dims="feature")
        utility = pm.Data("x", feature, dims=("item", "feature")) @ b
        br.PlackettLuce("y", pm.Deterministic("utility", utility, dims="item"), observed=rankings)
    density = br.jax.compile(model)
    found = br.jax.find_map(density, density.put())
    (mode,) = posterior_modes(model, random_seed=1)
    assert model.compile_logp()(mode) - found.log_density < 1e-6
    assert not recwarn
    with pytest.warns(UserWarning, match="the log density may still rise by"):
        br.jax.find_map(density, density.put(), tolerance=1e-300)


@pytest.mark.slow
def test_a_climb_that_was_cut_off_ends_as_if_it_had_not_been(both, tmp_path, monkeypatch):
    _, density = both
    data, path = density.put(), tmp_path / "mode.npz"
    monkeypatch.setattr(modes, "EVERY", 3)
    whole = br.jax.find_map(density, data, tolerance=1e-10, checkpoint=tmp_path / "whole.npz")
    assert whole.n_iterations > 9
    write, seen = checkpoints.Checkpoint.write, []

    def until(self, state):
        write(self, state)
        seen.append(int(state.n))
        if state.n == 6:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints.Checkpoint, "write", until)
        with pytest.raises(KeyboardInterrupt):
            br.jax.find_map(density, data, tolerance=1e-10, checkpoint=path)
        assert seen == [3, 6]
        again = br.jax.find_map(density, data, tolerance=1e-10, checkpoint=path)
    assert seen[2] == 9  # and not from the start
    # to the last digit, whether there are files or not
    for other in (again, br.jax.find_map(density, data, tolerance=1e-10)):
        assert other.n_iterations == whole.n_iterations
        assert other.log_density == whole.log_density
        for name, x in whole.values.items():
            np.testing.assert_array_equal(other.values[name], x)


def test_a_file_is_written_whole_or_not_at_all(both, tmp_path, monkeypatch):
    _, density = both
    kept = checkpoints.Checkpoint(tmp_path / "kept.npz", density, density.put())
    kept.write({"x": np.arange(3), "n": 1})

    def cut(file, **arrays):
        file.write(b"PK")
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez", cut)
    with pytest.raises(OSError, match="no space left"):
        kept.write({"x": np.arange(3) + 1, "n": 2})
    assert [x.name for x in tmp_path.iterdir()] == ["kept.npz"]
    found = kept.read({"x": np.zeros(3, dtype=int), "n": np.array(0)})
    assert found["x"].tolist() == [0, 1, 2]
    assert found["n"] == 1


def test_a_file_of_other_data_is_refused(both, tmp_path):
    _, density = both
    path, state = tmp_path / "mode.npz", {"x": np.arange(3)}
    checkpoints.Checkpoint(path, density, density.put()).write(state)
    other = density.put({"minutes": np.full(PAIRS.n_pairs, 2.0)})
    with pytest.raises(ValueError, match=r"mode.npz' belongs to another search.* Delete it to"):
        checkpoints.Checkpoint(path, density, other).read(state)


# Refusals


def test_data_without_rows_are_refused(both):
    model, _ = both
    with pytest.raises(ValueError, match="no observed variable whose first dim is 'season'"):
        br.jax.compile(model, rows="season")
    with pytest.raises(ValueError, match="`chunk` is 0; it must be the number of rows"):
        br.jax.compile(model, chunk=0)


def test_models_that_are_not_a_sum_over_rows_are_refused():
    with model_of(PAIRS) as model:
        pm.Normal("more", 0.0, 1.0, observed=np.ones(PAIRS.n_pairs), dims="pair")
    with pytest.raises(ValueError, match=r"\[1. 1. 1.\]\.\.\., that is not pm.Data and could not"):
        br.jax.compile(model, "pair")
    with model_of(PAIRS) as model:
        pm.Potential("twice", pt.sum(model["x"]) * model["scale"])
    with pytest.raises(
        ValueError, match=r"depends on \['x'\], which have it: the log density is not"
    ):
        br.jax.compile(model, "pair")
    with model_of(PAIRS) as model:
        pm.Normal("own", dims="pair")
    with pytest.raises(
        ValueError, match=r"'own' has the dim 'pair' and cannot be split.*dims='pair'"
    ):
        br.jax.compile(model, "pair")
    with pm.Model(coords=PAIRS.coords) as model:
        br.BradleyTerry("y", pm.Normal("u", dims="item"), observed=PAIRS, total_size=1000)
    with pytest.raises(ValueError, match="'y' is scaled by total_size for minibatches"):
        br.jax.compile(model, "pair")


def test_data_that_do_not_fit_are_refused(both):
    _, density = both
    with pytest.raises(ValueError, match="have different numbers of rows"):
        density.put({"y": pairs_of(n=5)})
    with pytest.raises(TypeError, match="'y' observes Pairs; got Rankings"):
        density.put({"y": RANKINGS})
    with pytest.raises(ValueError, match="'z' is not among the data along 'pair'"):
        density.put({"z": np.zeros(3)})
    with pytest.raises(ValueError, match=r"Values of \['utility'\] are missing"):
        density.logp({"scale_log__": 0.0}, density.put())


# Families, devices, processes


# Families of the table of verbs whose rows cannot be cut up
REFUSED = {"MPM", "MPM given pairs", "MPM by region", "Mallows", "Mallows marginalised", "BPR"}
REFUSED |= {"Mixture", "Mixture of rankers", *(f"PMOP {aggregate}" for aggregate in AGGREGATES)}


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_families_are_those_of_pymc_and_never_call_the_host(family):
    example = FAMILIES[family]()
    model = example.observed(example.data)
    rows = (model.named_vars_to_dims.get("y") or ["ranking"])[0]
    if family in REFUSED:
        with pytest.raises(ValueError, match=r"cannot be split|no observed variable whose first"):
            br.jax.compile(model, rows)
        return
    density = br.jax.compile(model, rows, chunk=2)
    values, data = at(density), density.put()
    value, slope = pymc_value_and_slope(model, values)
    value_and_grad = jax.jit(jax.value_and_grad(density.logp))
    assert "callback" not in value_and_grad.lower(values, data).as_text()
    found, by_name = value_and_grad(values, data)
    assert float(found) == pytest.approx(value, rel=1e-10)  # ties are integrals
    for name, expected in slope.items():
        np.testing.assert_allclose(np.ravel(by_name[name]), expected, rtol=1e-8, atol=1e-8)


def test_parameters_of_rows_are_picked_by_codes():
    n = PAIRS.n_pairs
    with pm.Model(coords=PAIRS.coords | {"whose": range(n)}) as model:
        level = pm.Normal("own", dims="whose")
        code = pm.Data("code", np.arange(n)[::-1], dims="pair")
        minutes = pm.Data("minutes", np.arange(n) / n, dims="pair")
        pm.Normal("played", level[code], 1.0, observed=minutes, dims="pair")
    density = br.jax.compile(model, "pair", chunk=4)
    values = at(density)
    value, slope = jax.value_and_grad(density.logp)(values, density.put())
    off = minutes.get_value() - values["own"][::-1]
    assert float(value) == pytest.approx(
        -(off**2 + values["own"] ** 2).sum() / 2 - n * np.log(2 * np.pi), rel=1e-12
    )
    np.testing.assert_allclose(slope["own"], off[::-1] - values["own"], atol=1e-12)


@pytest.mark.slow
def test_two_devices_tell_each_other_one_sum():
    script = ROOT / "tests" / "jax" / "two_devices.py"
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    found = json.loads(run([script], flags))
    assert found["devices"] == 2
    assert found["value"] < 1e-12
    assert found["slope"] < 1e-9
    assert found["all_reduce"] == 1
    assert found["all_gather"] == 0
    assert found["moved"] == found["of_the_row"]  # dropping a row moves its items, and no others
    assert found["mode"] < 1e-4


@pytest.mark.slow
def test_two_processes_find_the_mode_of_one():
    processes = two_processes()
    assert [code for code, _, _ in processes] == [0, 0], processes
    outputs = [(out, error) for _, out, error in processes]
    one, other = (json.loads(out.splitlines()[-1]) for out, _ in outputs)  # Gloo speaks first
    assert one == other
    rankings = part(0, 1)
    model = builders.model_of(rankings)
    (mode,) = posterior_modes(model, tolerance=1e-10, random_seed=1)
    np.testing.assert_allclose(one["utility"], mode["utility"], atol=1e-4)


@pytest.mark.slow
def test_a_lost_process_ends_the_other_which_goes_on_from_its_checkpoint(tmp_path):
    never = "-1"
    whole = two_processes((tmp_path / "whole", never), (tmp_path / "whole", never))
    assert [code for code, _, _ in whole] == [0, 0], whole

    cut = tmp_path / "cut"
    begin = time.monotonic()
    (code, _, error), (killed, _, _) = two_processes((cut, never), (cut, "4"))
    assert time.monotonic() - begin < 240  # with importing and compiling
    assert killed == -signal.SIGKILL
    assert code not in (0, None), error
    # the first one alone writes, and no file is half
    assert sorted(x.name for x in (cut / "0").iterdir()) == ["mode.npz"]
    assert list((cut / "1").iterdir()) == []
    with np.load(cut / "0" / "mode.npz") as kept:
        assert "shapes" in kept.files

    again = two_processes((cut, never), (cut, never))
    assert [code for code, _, _ in again] == [0, 0], again
    ended = [json.loads(out.splitlines()[-1]) for _, out, _ in (*whole, *again)]
    for other in ended[1:]:
        for name, x in ended[0].items():
            # the last digits differ from run to run of two processes
            np.testing.assert_allclose(other[name], x, rtol=1e-6, atol=1e-8)


def two_processes(*arguments):
    """Run both to their end: return code, what was put out, and errors of each."""
    port, script = free_port(), ROOT / "tests" / "jax" / "two_processes.py"
    given = arguments or ((), ())
    started = [
        subprocess.Popen(
            [sys.executable, script, str(port), str(k), *map(str, more)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment({}),
        )
        for k, more in enumerate(given)
    ]
    try:
        outputs = [process.communicate(timeout=300) for process in started]
    finally:
        for process in started:
            process.kill()
    return [(process.returncode, *texts) for process, texts in zip(started, outputs, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["numpyro", "blackjax"])
def test_samplers_of_jax_draw_what_pymc_draws(engine):
    pytest.importorskip(engine)
    rankings = shards.part(0, 1, 60)
    draw = {"numpyro": shards.by_numpyro, "blackjax": shards.by_blackjax}[engine]
    found = draw(*shards.divided(rankings), draws=1500)["utility"]
    with shards.build(rankings):
        draws = pm.sample(1000, chains=4, random_seed=1, progressbar=False)
    expected = draws["posterior"]["utility"].values.reshape(-1, found.shape[1])
    error = np.hypot(found.std(0) / np.sqrt(300), expected.std(0) / np.sqrt(800))
    assert (abs(found.mean(0) - expected.mean(0)) < 5.5 * error).all()


def run(command, more):
    done = subprocess.run(
        [sys.executable, *command], env=environment(more), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def environment(more):
    kept = {name: x for name, x in os.environ.items() if name != "XLA_FLAGS"}
    return kept | {"PYTHONPATH": str(ROOT)} | more


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]
