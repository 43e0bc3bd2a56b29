"""The variables of `conftest.py` that select and shuffle tests."""

from itertools import pairwise
from types import SimpleNamespace

import pytest


@pytest.fixture
def select(request, monkeypatch):
    """Give the names that stay, in order, and those that are left out."""
    (conftest,) = (
        x for x in request.config.pluginmanager.get_plugins() if hasattr(x, "SLOW_EXAMPLES")
    )

    def select(tenth="", order=""):
        monkeypatch.setenv("BAYESRANK_TENTH", tenth)
        monkeypatch.setenv("BAYESRANK_TEST_ORDER", order)
        items, left_out = [SimpleNamespace(nodeid=name) for name in NAMES], []
        hook = SimpleNamespace(pytest_deselected=lambda items: left_out.extend(items))
        conftest.pytest_collection_modifyitems(SimpleNamespace(hook=hook), items)
        return [x.nodeid for x in items], [x.nodeid for x in left_out]

    return select


NAMES = [f"tests/test_{file}.py::test_{k}" for file in "abcdef" for k in range(50)]


def test_ten_parts_have_every_test_once(select):
    parts = [select(tenth=str(k)) for k in range(10)]
    assert sorted(name for kept, _ in parts for name in kept) == sorted(NAMES)
    for kept, left_out in parts:
        assert sorted(kept + left_out) == sorted(NAMES)
        assert 10 <= len(kept) <= 60


def test_an_order_keeps_the_tests_of_a_file_together(select):
    shuffled, _ = select(order="7")
    assert sorted(shuffled) == sorted(NAMES)
    files = [name.split("::")[0] for name in shuffled]
    changes = sum(a != b for a, b in pairwise(files))
    assert changes == 5
    assert shuffled == select(order="7")[0] != select(order="8")[0]


def test_without_the_variables_all_tests_keep_their_places(select):
    assert select() == (NAMES, [])
