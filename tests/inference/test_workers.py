"""Problems on processes that die: the others are solved, and the lost ones named."""

from concurrent.futures.process import BrokenProcessPool

import pytest

from bayesrank.inference import on_workers
from bayesrank.inference.validation import workers
from bayesrank.inference.validation.workers import MOST_DEATHS, WorkersDiedError


def doubling():
    return lambda x: 2 * x


def solve(problems):
    found = {}
    try:
        for some in on_workers(doubling, problems):
            assert not found.keys() & some.keys()
            found |= some
    except WorkersDiedError as error:
        return found, error
    return found, None


@pytest.fixture
def die_at(monkeypatch):
    """Let processes die at these problems, the given number of times each."""
    solve_some = workers._solve_some

    def die_at(*labels, times=1000):
        deaths = []

        def or_die(digest, pickled, part):
            if len(deaths) < times and {label for label, _ in part} & set(labels):
                deaths.append(part)
                raise BrokenProcessPool("killed")
            return solve_some(digest, pickled, part)

        monkeypatch.setattr(workers, "_solve_some", or_die)
        return deaths

    return die_at


PROBLEMS = {f"{k}": k for k in range(100)}  # in handfuls of twelve


@pytest.mark.parametrize("bad", [["0"], ["99"], ["3", "50", "51"]])
def test_all_problems_are_solved_but_those_that_kill(die_at, bad):
    deaths = die_at(*bad)
    found, error = solve(PROBLEMS)
    assert found == {label: 2 * k for label, k in PROBLEMS.items() if label not in bad}
    assert list(error.lost) == bad
    assert (
        f"died on {len(bad)} problems, or could not read them. The first is '{bad[0]}': "
        "BrokenProcessPool: killed" in str(error)
    )
    assert len(deaths) <= 2 * len(bad)


def test_one_accident_costs_nothing(die_at):
    die_at("7", times=1)
    assert solve(PROBLEMS) == ({label: 2 * k for label, k in PROBLEMS.items()}, None)


def test_the_call_ends_if_all_processes_die(die_at):
    deaths = die_at(*PROBLEMS)
    found, error = solve(PROBLEMS)
    assert not found
    assert error.lost.keys() == PROBLEMS.keys()
    assert len(deaths) == MOST_DEATHS


def test_an_error_of_the_function_ends_the_rest():
    problems = {"a": 1, "b": None, "c": 3}
    with pytest.raises(TypeError):
        list(on_workers(doubling, problems))
