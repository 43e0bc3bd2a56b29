"""The variables of `conftest.py` that select and shuffle tests."""

from itertools import pairwise
from types import SimpleNamespace

import pytest

from tests.builders import ROOT

FILES = sorted((ROOT / "tests").rglob("test_*.py"))
NAMES = [f"tests/test_{file}.py::test_{k}" for file in "abcdef" for k in range(50)]


@pytest.fixture
def conftest(request):
    """The plugin of the root."""
    plugins = request.config.pluginmanager.get_plugins()
    (found,) = (plugin for plugin in plugins if hasattr(plugin, "SLOW_EXAMPLES"))
    return found


@pytest.fixture
def ordered(conftest, monkeypatch):
    """Give the names of tests in the order of a text."""

    def ordered(order=""):
        monkeypatch.setenv("BAYESRANK_TEST_ORDER", order)
        items = [SimpleNamespace(nodeid=name) for name in NAMES]
        conftest.pytest_collection_modifyitems(items)
        return [item.nodeid for item in items]

    return ordered


def test_ten_parts_have_every_file_once(conftest, monkeypatch):
    parts = []
    for number in range(10):
        monkeypatch.setenv("BAYESRANK_TENTH", str(number))
        parts.append([file for file in FILES if not conftest.pytest_ignore_collect(file)])
    assert sorted(file for part in parts for file in part) == FILES
    assert all(len(part) > len(FILES) / 30 for part in parts)
    monkeypatch.delenv("BAYESRANK_TENTH")
    assert not any(conftest.pytest_ignore_collect(file) for file in FILES)
    assert conftest.pytest_ignore_collect(ROOT / "tests" / "builders.py")


def test_an_order_keeps_the_tests_of_a_file_together(ordered):
    shuffled = ordered("7")
    assert sorted(shuffled) == sorted(NAMES)
    files = [name.split("::")[0] for name in shuffled]
    changes = sum(a != b for a, b in pairwise(files))
    assert changes == 5
    assert shuffled == ordered("7") != ordered("8")


def test_without_the_variable_all_tests_keep_their_places(ordered):
    assert ordered() == NAMES
