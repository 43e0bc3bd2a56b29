"""The map of the repository names what there is."""

import ast
import re
from collections import defaultdict
from pathlib import Path

from tests.builders import PACKAGE, ROOT

MAP = (ROOT / "docs" / "map.md").read_text(encoding="utf-8")


def named():
    """Paths and rooms in code font."""
    return set(re.findall(r"`([\w./*-]+)`", MAP))


def folders(parent):
    return {path.name for path in parent.iterdir() if path.is_dir() and any(path.glob("*.py"))}


def test_every_file_that_is_named_exists():
    paths = {name for name in named() if "/" in name and "*" not in name}
    missing = {p for p in paths if not any((base / p).exists() for base in bases())}
    assert missing == set()


def bases() -> tuple[Path, ...]:
    return ROOT, PACKAGE, PACKAGE / "data", PACKAGE / "likelihoods"


def test_every_room_and_wing_is_named():
    rooms = folders(PACKAGE) | {p.stem for p in PACKAGE.glob("*.py") if p.stem != "__init__"}
    wings = folders(PACKAGE / "likelihoods") | folders(PACKAGE / "distributions") | {"choices"}
    assert {name for name in rooms | wings if f"`{name}`" not in MAP} == set()


# Two definitions with one meaning: the same number, as an array and as a graph
ONE_MEANING = {"log_multinomial"}
LIBRARY = (
    "data",
    "distributions",
    "inference",
    "jax",
    "likelihoods",
    "plots",
    "results",
    "utility",
)


def test_each_name_of_the_library_has_one_meaning():
    places = defaultdict(list)
    for room in LIBRARY:
        for path in sorted((PACKAGE / room).rglob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name[0] != "_":
                    places[node.name].append(str(path.relative_to(PACKAGE)))
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert twice.keys() == ONE_MEANING, twice
