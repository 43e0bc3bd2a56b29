"""Fonts: those that have the characters of names, where they are installed."""

import functools
from collections.abc import Iterable
from typing import Any

import matplotlib as mpl
from matplotlib.font_manager import (
    FontProperties,
    findfont,
    findSystemFonts,
    fontManager,
    get_font,
)

__all__ = ["use_fonts_for"]

REGULAR = ("400", "normal", "regular", "book")  # weights, which come before bold ones


def use_fonts_for(names: Iterable[Any]) -> list[str]:
    """Let matplotlib draw characters that its font lacks with others that are installed.

    Parameters
    ----------
    names : iterable
        What is to be drawn.

    Returns
    -------
    list of str
        Characters that no font has.

    Examples
    --------
    >>> use_fonts_for(["ale", "bock"])
    []
    """
    family = list(mpl.rcParams["font.family"])
    lacking: set[str] = {char for name in names for char in str(name) if not char.isspace()}
    for path in (str(findfont(FontProperties(family=[one]))) for one in family):
        lacking -= _characters(path)
    if not lacking:
        return []
    _find_new_fonts()
    seen: set[str] = set()
    for entry in sorted(
        fontManager.ttflist, key=lambda one: (str(one.weight) not in REGULAR, one.name)
    ):
        if entry.name in seen or entry.style != "normal" or "Last Resort" in entry.name:
            continue
        seen.add(entry.name)
        has = lacking & _characters(entry.fname)
        if has:
            family.append(entry.name)
            lacking -= has
    mpl.rcParams["font.family"] = family
    return sorted(lacking)


def _find_new_fonts() -> None:
    """Let matplotlib know fonts that were installed after it made its list."""
    known = {entry.fname for entry in fontManager.ttflist}
    for path in findSystemFonts():
        if path not in known:
            try:
                fontManager.addfont(path)
            except (OSError, RuntimeError):  # no font that it can read
                continue


@functools.cache
def _characters(path: str) -> frozenset[str]:
    try:
        return frozenset(chr(int(code)) for code in get_font(path).get_charmap())
    except (OSError, RuntimeError):  # a font that is listed and gone, or broken
        return frozenset()
