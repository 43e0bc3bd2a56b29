"""Readers: tables, files and lists, checked and brought onto axes of labels."""

from importlib import import_module
from typing import Any

__all__ = [
    "Entries",
    "axis_index",
    "counted",
    "label_repr",
    "numbers",
    "of_problems",
    "plain_index",
    "read_letor",
    "read_lines",
    "require_columns",
    "row_name",
    "warn",
]

_HOME = {
    "Entries": "bayesrank.data.derive.layout",
    "warn": "bayesrank.data.derive.layout",
    "of_problems": "bayesrank.data.read.count_entries",
    "numbers": "bayesrank.data.read.columns",
    "require_columns": "bayesrank.data.read.columns",
    "read_letor": "bayesrank.data.read.formats",
    "read_lines": "bayesrank.data.read.formats",
    **dict.fromkeys(
        ("axis_index", "counted", "label_repr", "plain_index", "row_name"),
        "bayesrank.data.read.labels",
    ),
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
