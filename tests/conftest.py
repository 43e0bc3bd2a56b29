"""What tests of several rooms share: a folder to work in, output that is compared with a file."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"
LONG = re.compile(r"(.)\1{50,}")  # a character that repeats


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with what the golden file of the test module has under a name.

    With BAYESRANK_GOLDEN=write the file gets the text instead; read its diff before you commit it.
    """
    path = GOLDEN / f"{request.path.stem.removeprefix('test_')}.txt"

    def compare(name: str, text: str) -> None:
        text = LONG.sub(lambda found: f"{found[1]}{{{len(found[0])}}}", text).replace("\x1b", "␛")
        parts = re.split(r"(?m)^### (.*)\n", path.read_text("utf-8") if path.exists() else "")
        known = dict(zip(parts[1::2], parts[2::2], strict=True))
        if os.environ.get("BAYESRANK_GOLDEN") == "write":
            known[name] = f"{text}\n"
            content = "".join(f"### {name}\n{text}" for name, text in known.items())
            path.write_text(content, "utf-8")
        assert f"{text}\n" == known[name]

    return compare


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder that contains the `TABLES` of the test module, texts by name."""
    monkeypatch.chdir(tmp_path)
    for name, text in request.module.TABLES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path
