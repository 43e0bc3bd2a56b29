"""The import arrows between the rooms of the package, and between the wings of a room.

The tables are the contract. Every import statement counts: inside functions, under `if
TYPE_CHECKING` and relative ones too.
"""

import ast
import re
import sys
from graphlib import TopologicalSorter
from typing import NamedTuple

import pytest

from tests.builders import PACKAGE, ROOT, imports_of, modules


class Room(NamedTuple):
    """What a room may import besides itself and the standard library."""

    libraries: str
    rooms: str = ""


# JAX is an extra: likelihoods import it only where a graph is translated for it.
ROOMS = {
    "cli": Room(
        "click matplotlib numpy pandas pytensor rich xarray",
        rooms="analysis data priors reporting schema tables texts",
    ),
    "reporting": Room(
        "arviz jinja2 markupsafe matplotlib numpy pandas pymc rich scipy xarray",
        rooms="analysis data inference match_outcomes plots results schema tables texts",
    ),
    "analysis": Room(
        "numba numpy pandas pymc pytensor scipy xarray",
        rooms="data distributions inference priors results schema texts",
    ),
    "texts": Room("jinja2"),
    "data": Room("fsspec numpy pandas pyarrow scipy"),
    "likelihoods": Room(
        "jax llvmlite numba numpy pytensor scipy", rooms="kernel_cache match_outcomes"
    ),
    "distributions": Room("numpy pandas pymc pytensor xarray", rooms="data likelihoods schema"),
    "inference": Room(
        "arviz cloudpickle joblib numba numpy nutpie pandas pymc pytensor rich scipy threadpoolctl "
        "xarray",
        rooms="data distributions likelihoods match_outcomes priors schema utility",
    ),
    "jax": Room(
        "jax numpy numpyro optax pymc pytensor scipy", rooms="distributions inference schema"
    ),
    "results": Room(
        "arviz numpy pandas scipy threadpoolctl xarray",
        rooms="data match_outcomes schema",
    ),
    "plots": Room("arviz arviz_base arviz_plots matplotlib numpy pandas xarray", rooms="results"),
    "tables": Room("fsspec numpy openpyxl pandas pyarrow", rooms="data"),
    "utility": Room("numpy pandas pymc pytensor", rooms="data"),
}

# Files beside the rooms
FILES = {
    "__init__": Room("lazy_loader"),
    "kernel_cache": Room("numba pytensor"),
    # results use it, and must not wait for the imports of likelihoods
    "match_outcomes": Room("numpy scipy"),
    "schema": Room("numpy pandas xarray"),
    "priors": Room("pymc"),
}
UNBOUNDED = {"__main__"}  # starts the command line
VERSION = "bayesrank.__version__"

# Folders and files of a room that may not import all of it: what they may import besides
# themselves. Where a room has wings, all of its folders are wings.
WINGS = {
    "likelihoods.ops": "",
    "likelihoods.plackett_luce": "ops",
    "likelihoods.pmop": "ops",
    "likelihoods.mpm": "ops",
    "likelihoods.pairs": "ops",
    "likelihoods.mallows": "ops",
    "likelihoods.mixture": "ops",
    "likelihoods.choices": "ops",
    "distributions.core": "",
    "distributions.rankings": "core",
    "distributions.pairs": "core",
    "distributions.counts": "core",
    "distributions.mallows": "core rankings",
    "distributions.mixture": "core rankings mallows",
    # readers and what is derived: pure functions of frames and arrays, without the classes
    "data.read": "",
    "data.derive": "read",
    "inference.approximation": "",
    "inference.dynamic": "approximation",
    "inference.mixtures": "approximation",
    "inference.sampling": "approximation",
    "inference.validation": "approximation mixtures",
    "results.ranks": "draws",
    "results.evaluation": "draws",
    "results.choices": "draws",
    "results.checks": "draws ranks",
    "results.matches": "draws ranks",
    "reporting.page": "",
}


def room_of(module: str) -> str:
    return module.split(".")[1]


def wing_of(module: str) -> str | None:
    """Return the wing that a module is in, such as "likelihoods.ops"."""
    name = ".".join(module.split(".")[1:3])
    return name if name in WINGS else None


def allowed_beside(room: str, wing: str | None, rest: list[str]) -> bool:
    """Whether a module of a room, or of its wing, may import this part of the room."""
    if wing is None:
        return True
    mine = wing.split(".")[1]
    # `from bayesrank.data import Rankings` reaches every file of the room
    return len(rest) > 1 and rest[1] in {mine, *WINGS[wing].split()}


def forbidden(source: str, module: str) -> list[str]:
    """Imports in the source of `module` that the tables do not allow."""
    room = room_of(module)
    allowed = (ROOMS | FILES)[room]
    found = []
    for name in imports_of(source, module):
        top, *rest = name.split(".")
        if name == VERSION:
            fine = True
        elif top != "bayesrank":
            fine = top in sys.stdlib_module_names or top in allowed.libraries.split()
        elif rest and rest[0] == room:
            fine = allowed_beside(room, wing_of(module), rest)
        else:
            # `import bayesrank` and `from bayesrank import Rankings` reach every room.
            fine = bool(rest) and rest[0] in allowed.rooms.split()
        if not fine:
            found.append(name)
    return found


def stated(docstring: str) -> set[str]:
    """Names in the sentence "This room may import numpy, ... and the rooms data and ..."."""
    sentence = re.search(r"may import\s+([^.]*)\.", docstring)
    words = re.findall(r"[\w-]+", sentence[1] if sentence else "")
    empty = {"and", "bayesrank", "no", "of", "other", "room", "rooms", "the", "wing", "wings"}
    return {*words} - empty


def text_of(room: str) -> str:
    return (PACKAGE / room / "__init__.py").read_text(encoding="utf-8")


def test_modules_import_only_what_their_room_and_wing_may():
    found = {
        module: names
        for module, path in modules().items()
        if room_of(module) not in UNBOUNDED
        and (names := forbidden(path.read_text(encoding="utf-8"), module))
    }
    assert found == {}


def test_nothing_in_the_package_imports_the_gallery_or_the_tests():
    found = {
        module: names
        for module, path in modules().items()
        if (
            names := [
                name
                for name in imports_of(path.read_text(encoding="utf-8"), module)
                if name.split(".")[0] in {"models", "tests"}
            ]
        )
    }
    assert found == {}


ONE_WAY = ("analysis", "cli", "reporting", "tables")


@pytest.mark.parametrize("room", ONE_WAY)
def test_modules_of_a_room_import_each_other_one_way(room):
    graph = {
        module: {
            name
            for found in imports_of(path.read_text(encoding="utf-8"), module)
            if (name := ".".join(found.split(".")[:3])) != module
        }
        for module, path in modules().items()
        if room_of(module) == room
    }
    assert len(graph) > 10
    assert list(TopologicalSorter(graph).static_order())  # a circle raises an error


def test_no_test_module_imports_another():
    found = set()
    for path in (ROOT / "tests").rglob("*.py"):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for name in imports_of(path.read_text(encoding="utf-8"), module):
            top, *rest = name.split(".")
            if top == "tests" and any(part.startswith("test_") for part in rest):
                found.add(name.rpartition(".")[0])
    assert found == set()


def test_the_docstrings_of_rooms_state_what_the_table_allows():
    wrong = {
        room: names
        for room, may in ROOMS.items()
        if (names := stated(ast.get_docstring(ast.parse(text_of(room))) or ""))
        != {*may.libraries.split(), *may.rooms.split()}
    }
    assert wrong == {}


def test_the_docstrings_of_wings_of_formulas_state_what_the_table_allows():
    for wing, may in WINGS.items():
        path = PACKAGE / wing.replace(".", "/") / "__init__.py"
        if wing.startswith(("likelihoods.", "distributions.")) and path.exists():
            names = stated(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "")
            assert names == set(may.split()), wing


def test_the_table_lists_the_wings_that_exist():
    folders = {
        f"{room}.{path.parent.name}"
        for room in {wing.split(".")[0] for wing in WINGS}
        for path in (PACKAGE / room).glob("*/__init__.py")
    }
    files = {wing for wing in WINGS if (PACKAGE / f"{wing.replace('.', '/')}.py").exists()}
    assert folders | files == {*WINGS}
    assert not folders & files


def test_the_table_lists_the_rooms_and_files_that_exist():
    assert {room_of(module) for module in modules()} == {*ROOMS, *FILES, *UNBOUNDED}


def test_a_room_may_import_what_the_map_says():
    text = (ROOT / "docs" / "map.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"(?m)^\| `(\w+)` \| .* \| ([\w, ]+) \|$", text))
    on_page = {
        room: set() if allowed == "nothing" else {word.strip() for word in allowed.split(",")}
        for room, allowed in rows.items()
    }
    tested = {room: set(law.rooms.split()) for room, law in (ROOMS | FILES).items()}
    tested.pop("__init__")
    assert {room: on_page.get(room) for room in tested} == tested


def test_a_room_that_states_nothing_or_too_much_is_caught():
    assert stated("This room computes.") == set()
    assert stated("This room may import\nnumpy, lazy_loader and the room data. It is pure.") == {
        "data",
        "lazy_loader",
        "numpy",
    }


def test_a_forbidden_import_is_caught():
    for module, source, caught in [
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
        # wings
        (
            "bayesrank.likelihoods.ops.a",
            "from bayesrank.likelihoods.pairs import TIE",
            ["bayesrank.likelihoods.pairs.TIE"],
        ),
        (
            "bayesrank.likelihoods.pmop.__init__",
            "from ..mpm import graph",
            ["bayesrank.likelihoods.mpm.graph"],
        ),
        (
            "bayesrank.data.derive.a",
            "from bayesrank.data.rankings import c\nfrom bayesrank.data import Rankings",
            ["bayesrank.data.rankings.c", "bayesrank.data.Rankings"],
        ),
    ]:
        assert forbidden(source, module) == caught


def test_an_allowed_import_is_not_caught():
    for module, source in [
        ("bayesrank.likelihoods.a", "import pytensor.tensor as pt\nfrom math import log"),
        ("bayesrank.data.a", "from . import b\nfrom .b import c\nimport pandas as pd"),
        ("bayesrank.data.__init__", "from .b import c"),
        ("bayesrank.distributions.a", "from ..data.rankings import Rankings\nimport pymc"),
        ("bayesrank.__init__", "import lazy_loader"),
        ("bayesrank.likelihoods.mpm.a", "from bayesrank.likelihoods.ops import softplus"),
        ("bayesrank.data.rankings", "from bayesrank.data.read.columns import float_array"),
    ]:
        assert forbidden(source, module) == [], source
