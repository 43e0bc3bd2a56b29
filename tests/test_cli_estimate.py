"""The memory of a run, estimated before it: against the memory that it takes, and refusals."""

import shlex
import tracemalloc

import numpy as np
import pandas as pd
import pytensor
import pytest

from bayesrank import inference
from bayesrank.analysis import size as estimate
from bayesrank.analysis.analysis import Settings
from bayesrank.analysis.fitting import check_size
from bayesrank.analysis.listener import Listener
from bayesrank.analysis.matches import MatchAnalysis
from bayesrank.analysis.rankings import RankingAnalysis
from bayesrank.inference.approximation import nested
from tests.builders import ballots, matches
from tests.commands import few, no_sampling, run

VOTES = "matches votes.csv --first a --second b --outcome won --group prompt"


def votes(n_prompts, n_items, n, seed=1):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n_items, n)
    second = (first + rng.integers(1, n_items, n)) % n_items
    won = rng.choice(["first", "second", "tie"], n, p=[0.45, 0.45, 0.1])
    return first, second, won, rng.integers(0, n_prompts, n)


def job_of(pairs, *groups):
    return MatchAnalysis(pairs, groups=groups)


@pytest.mark.parametrize("groups", [(), ("prompt",)])
def test_the_size_counts_the_parameters_of_the_model(groups):
    first, second, won, prompt = votes(30, 4, 100)
    job = job_of(matches(first, second, won, prompt=prompt), *groups)
    point = job.model.initial_point()
    assert job.size().free == pytest.approx(sum(map(np.size, point.values())), abs=6)
    if groups:
        assert 0.8 * job.size().free < job.size().blocks < job.size().free
        assert job.size().block <= 4 + 1


def test_the_size_counts_the_opinions_of_rankers():
    job = RankingAnalysis(ballots(30, 2))
    point = job.model.initial_point()
    assert job.size().free == pytest.approx(sum(map(np.size, point.values())), abs=6)
    assert job.size()[3:] == (30 * 3, 3)


@pytest.mark.slow
def test_the_estimate_is_the_memory_that_a_quick_answer_takes(monkeypatch):
    """The estimate is between the memory used and twice as much: 400 deviations in blocks."""
    first, second, won, prompt = votes(100, 4, 500)
    job = job_of(matches(first, second, won, prompt=prompt), "prompt")
    find, used = nested.hyper_nodes, []

    def traced(joint, names):
        find(joint, names)  # compiles and imports, which would take minutes and memory if traced
        tracemalloc.start()
        found = find(joint, names)
        used.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        return found

    monkeypatch.setattr(nested, "hyper_nodes", traced)
    # compiled, as in a user's run; step by step in Python, the same call takes more memory
    with job.model as model, pytensor.config.change_flags(mode="NUMBA"):
        posterior = inference.fit_inla(draws=50, random_seed=1, model=model)["posterior"]
    arrays = estimate.arrays_of(job.size(), 4 * 50, quick=True)
    expected = 8 * np.prod(arrays["approximation"])
    assert used[0] < expected < 2 * used[0]
    kept = sum(x.nbytes for x in posterior.data_vars.values())
    assert kept < 8 * np.prod(arrays["draws"]) < 3 * kept


def test_eight_hundred_prompts_need_three_gigabytes_where_draws_are_most_of_them():
    size = estimate.Size(3 * 11_266, 12_900, 25_800, 12_880, 16)
    arrays = estimate.arrays_of(size, 4000, quick=True)
    assert 2e9 < estimate.bytes_of(arrays) < 3.2e9
    assert np.prod(arrays["draws"]) > 5 * np.prod(arrays["approximation"])
    without = estimate.arrays_of(size._replace(blocks=0), 4000, quick=True)
    assert np.prod(without["approximation"]) < np.prod(arrays["approximation"])


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    no_sampling(monkeypatch, few)
    first, second, won, prompt = votes(20, 3, 60)
    table = pd.DataFrame({"a": first, "b": second, "won": won, "prompt": prompt})
    table.to_csv("votes.csv", index=False)


@pytest.mark.slow
def test_only_a_large_run_prints_its_size(table, monkeypatch):
    assert "of memory" not in run(*shlex.split(VOTES)).stderr
    monkeypatch.setattr(estimate, "LARGE", 1e8)
    assert "This run needs about 0.7 GB of memory." in run(*shlex.split(VOTES), "--force").stderr


def test_a_run_that_does_not_fit_is_refused_and_its_advice_works(table, monkeypatch):
    monkeypatch.setattr(estimate, "free_memory", lambda: 0.82e9)
    many = [*shlex.split(VOTES), "--draws", "9000"]
    found = run(*many)
    assert found.exit_code == 1
    assert "most of it for the draws, but only 0.8 GB are free. Use --draws" in found.stderr
    fewer = found.stderr.rstrip().rstrip(".").split()[-1]
    assert 100 <= int(fewer) < 9000
    found = run(*many[:-1], fewer)
    assert found.exit_code == 0, found.stderr
    monkeypatch.setattr(estimate, "free_memory", lambda: 0.1e9)
    assert "Use a machine with more memory." in run(*many, "--force").stderr


def test_sampling_is_recommended_if_only_the_approximation_is_too_large(monkeypatch):
    job = job_of(matches([0, 1], [1, 0], ["first", "second"]))
    job.size = lambda: estimate.Size(10, 2000, 2000)  # the most that it keeps as a matrix
    sampled, approximated = (
        estimate.bytes_of(estimate.arrays_of(job.size(), 4000, quick=quick))
        for quick in (False, True)
    )
    assert sampled < approximated
    monkeypatch.setattr(estimate, "free_memory", lambda: (sampled + approximated) / 2)
    with pytest.raises(ValueError, match=r"for the approximation, .* Use `method='nuts'`, which"):
        check_size(job, Settings(), Listener(), quick=True)
    check_size(job, Settings(), Listener(), quick=False)


def test_unknown_memory_refuses_nothing(monkeypatch):
    monkeypatch.setattr(estimate, "free_memory", lambda: None)
    estimate.check_memory({"draws": (10**12,)}, Listener())
