"""The map of the repository names what there is."""

import re
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
