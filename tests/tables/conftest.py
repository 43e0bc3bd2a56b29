"""What the tests of tables share."""

import io
import sys

import pytest


@pytest.fixture
def file(tmp_path):
    """Write text to a file of this name and return its path."""

    def write(name, text):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8", newline="")
        return path

    return write


@pytest.fixture
def standard_input(monkeypatch):
    """Put bytes on standard input."""

    def put(data):
        stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(data)))
        monkeypatch.setattr(sys, "stdin", stream)

    return put
