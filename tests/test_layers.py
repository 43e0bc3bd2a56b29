"""The import arrows between the rooms of the package, and what each room may import.

The table is the contract. Every import statement counts: inside functions, under `if
TYPE_CHECKING` and relative ones too.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parents[1] / "bayesrank"


class Room(NamedTuple):
    """What a room may import besides itself and the standard library."""

    libraries: str
    rooms: str = ""


# JAX is an extra: likelihoods import it only where a graph is translated for it.
ROOMS = {
    "data": Room("numpy pandas scipy sklearn"),
    "likelihoods": Room("jax llvmlite numba numpy pytensor scipy"),
    "distributions": Room("numpy pymc pytensor", rooms="data likelihoods"),
    "inference": Room(
        "arviz numba numpy nutpie pymc pytensor rich scipy threadpoolctl xarray",
        rooms="data likelihoods",
    ),
    "results": Room("arviz matplotlib numpy pandas scipy sklearn xarray"),
    "plots": Room("arviz arviz_plots matplotlib numpy pandas xarray", rooms="results"),
    "utility": Room("numpy pytensor sklearn"),
    "aggregation": Room("numba numpy pandas pytensor scipy", rooms="data"),
}

# Files beside the rooms. The command line wires everything up, so it is not bounded.
FILES = {
    "__init__": Room("lazy_loader"),
    "leaderboard": Room("numpy pymc pytensor", rooms="data distributions priors"),
    "priors": Room("pymc"),
}
UNBOUNDED = {"cli"}


def imports_of(source: str, module: str) -> Iterator[str]:
    """Dotted names that the source of `module` imports, relative ones made absolute."""
    package = module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{start}.{alias.name}" for alias in node.names)


def room_of(module: str) -> str:
    return module.split(".")[1]


def forbidden(source: str, module: str) -> list[str]:
    """Imports in the source of `module` that the table does not allow."""
    room = room_of(module)
    allowed = (ROOMS | FILES)[room]
    found = []
    for name in imports_of(source, module):
        top, *rest = name.split(".")
        if top == "bayesrank":
            # `import bayesrank` and `from bayesrank import Rankings` reach every room.
            fine = bool(rest) and rest[0] in {room, *allowed.rooms.split()}
        else:
            fine = top in sys.stdlib_module_names or top in allowed.libraries.split()
        if not fine:
            found.append(name)
    return found


def stated(docstring: str) -> set[str]:
    """Names in the sentence "This room may import numpy, ... and the rooms data and ..."."""
    sentence = re.search(r"may import\s+([^.]*)\.", docstring)
    words = re.findall(
        r"[\w-]+", sentence[1].replace("scikit-learn", "sklearn") if sentence else ""
    )
    return {*words} - {"and", "bayesrank", "no", "of", "other", "room", "rooms", "the"}


def text_of(room: str) -> str:
    return (PACKAGE / room / "__init__.py").read_text(encoding="utf-8")


def modules() -> dict[str, Path]:
    """All modules of the package; `bayesrank.data.__init__` is the room's own file."""
    return {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path
        for path in sorted(PACKAGE.rglob("*.py"))
    }


@pytest.mark.parametrize("module", [m for m in modules() if room_of(m) not in UNBOUNDED])
def test_a_module_imports_only_what_its_room_may(module):
    assert forbidden(modules()[module].read_text(encoding="utf-8"), module) == []


@pytest.mark.parametrize("module", modules())
def test_nothing_in_the_package_imports_the_gallery_or_the_tests(module):
    names = imports_of(modules()[module].read_text(encoding="utf-8"), module)
    assert {name.split(".")[0] for name in names}.isdisjoint({"models", "tests"})


@pytest.mark.parametrize("room", ROOMS)
def test_the_docstring_of_a_room_states_what_the_table_allows(room):
    assert stated(ast.get_docstring(ast.parse(text_of(room))) or "") == {
        *ROOMS[room].libraries.split(),
        *ROOMS[room].rooms.split(),
    }


def test_the_table_lists_the_rooms_and_files_that_exist():
    assert {room_of(module) for module in modules()} == {*ROOMS, *FILES, *UNBOUNDED}


def test_a_room_that_states_nothing_or_too_much_is_caught():
    assert stated("This room computes.") == set()
    assert stated("This room may import\nnumpy, scikit-learn and the room data. It is pure.") == {
        "data",
        "numpy",
        "sklearn",
    }


@pytest.mark.parametrize(
    ("module", "source", "caught"),
    [
        ("bayesrank.likelihoods.a", "import pymc as pm", ["pymc"]),
        ("bayesrank.likelihoods.a", "def f():\n    import pymc.math", ["pymc.math"]),
        (
            "bayesrank.data.a",
            "if TYPE_CHECKING:\n    from pytensor.tensor import TensorVariable",
            ["pytensor.tensor.TensorVariable"],
        ),
        ("bayesrank.data.a", "from ..likelihoods import b", ["bayesrank.likelihoods.b"]),
        ("bayesrank.data.__init__", "from .. import results", ["bayesrank.results"]),
        ("bayesrank.results.a", "from bayesrank import Rankings", ["bayesrank.Rankings"]),
        ("bayesrank.results.a", "import bayesrank", ["bayesrank"]),
        ("bayesrank.distributions.a", "import models.nascar", ["models.nascar"]),
        ("bayesrank.__init__", "import pymc", ["pymc"]),
    ],
)
def test_a_forbidden_import_is_caught(module, source, caught):
    assert forbidden(source, module) == caught


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("bayesrank.likelihoods.a", "import pytensor.tensor as pt\nfrom math import log"),
        ("bayesrank.data.a", "from . import b\nfrom .b import c\nimport pandas as pd"),
        ("bayesrank.data.__init__", "from .b import c"),
        ("bayesrank.distributions.a", "from ..data.rankings import Rankings\nimport pymc"),
        ("bayesrank.__init__", "import lazy_loader"),
    ],
)
def test_an_allowed_import_is_not_caught(module, source):
    assert forbidden(source, module) == []
