"""Find installed fonts that contain the characters of names."""

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

REGULAR = ("400", "normal", "regular", "book")  # weights to prefer over bold


def use_fonts_for(names: Iterable[Any]) -> list[str]:
    """Add installed fonts to matplotlib's font family for characters that it lacks.

    Parameters
    ----------
    names : iterable
        Texts to draw.

    Returns
    -------
    list of str
        Characters that no installed font contains.

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
        available = lacking & _characters(entry.fname)
        if available:
            family.append(entry.name)
            lacking -= available
    mpl.rcParams["font.family"] = family
    return sorted(lacking)


def _find_new_fonts() -> None:
    """Add fonts to matplotlib's list that were installed after it was created."""
    known = {entry.fname for entry in fontManager.ttflist}
    for path in findSystemFonts():
        if path not in known:
            try:
                fontManager.addfont(path)
            except (OSError, RuntimeError):  # matplotlib cannot read it
                continue


@functools.cache
def _characters(path: str) -> frozenset[str]:
    try:
        return frozenset(chr(int(code)) for code in get_font(path).get_charmap())
    except (OSError, RuntimeError):  # the font was removed, or is broken
        return frozenset()
