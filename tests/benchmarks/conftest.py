"""Benchmarks: ``./dev run python -m pytest tests/benchmarks`` runs them and prints one table.

Two kinds of demand: a *ratio* to a peer timed in the same rounds of the same process, and a
*budget* in absolute figures, stated for two cores of an AMD EPYC (Zen 4).
"""

import os
from pathlib import Path

import pytensor
import pytest

import bayesrank as br
from tests.benchmarks.book import Book, Row
from tests.flags import compiler, flags_of_users

ROWS = pytest.StashKey[list[Row]]()


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("numprocesses", None):
        raise pytest.UsageError("Benchmarks have the machine to themselves: run them without -n.")
    # What a user gets is measured, here and in fresh processes, not the mode of the tests.
    pytensor.config.mode, pytensor.config.cxx = "Mode", compiler()
    os.environ["PYTENSOR_FLAGS"] = flags_of_users()


@pytest.fixture
def book(benchmark, request: pytest.FixtureRequest) -> Book:
    return Book(benchmark, request.config.stash.setdefault(ROWS, []))


@pytest.fixture(scope="session")
def nascar() -> br.Rankings:
    return br.load_nascar()


@pytest.fixture(scope="session")
def sushi(data_dir: Path) -> br.Rankings:
    return br.load_sushi("a", data_dir / "sushi3")


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    rows = config.stash.get(ROWS, [])
    if not rows:
        return
    terminalreporter.section("benchmarks: CPU seconds, wall seconds beside")
    terminalreporter.write_line("| what | CPU | wall | peer | ratio | demand |")
    terminalreporter.write_line("|---|---|---|---|---|---|")
    for row in rows:
        demand = row.demand if row.met else f"**missed:** {row.demand}"
        cells = (row.what, row.measured, row.wall, row.peer, row.ratio, demand)
        terminalreporter.write_line(f"| {' | '.join(cells)} |")
