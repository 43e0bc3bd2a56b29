"""Fonts: those that are installed and have the characters of names."""

import matplotlib as mpl
import pytest
from matplotlib.font_manager import FontEntry

from bayesrank.plots import fonts, use_fonts_for


@pytest.fixture
def installed(monkeypatch):
    """Say which fonts are installed, and which characters each has."""

    def install(**characters):
        usual = [one for one in fonts.fontManager.ttflist if one.name == "DejaVu Sans"]
        entries = [FontEntry(fname=name, name=name, weight=400) for name in characters]
        real = fonts._characters
        monkeypatch.setattr(fonts.fontManager, "ttflist", [*usual, *entries])
        monkeypatch.setattr(fonts, "findSystemFonts", list)
        monkeypatch.setattr(
            fonts, "_characters", lambda path: set(characters.get(path, "")) or real(path)
        )

    with mpl.rc_context():
        yield install


def test_a_font_that_has_the_characters_is_chosen(installed):
    installed(Latin="abc", Kanji="寿司a")
    before = list(mpl.rcParams["font.family"])
    assert use_fonts_for(["ale", "寿 司"]) == []
    assert mpl.rcParams["font.family"] == [*before, "Kanji"]


def test_fonts_that_were_installed_since_are_found(installed, monkeypatch):
    installed(Latin="abc")
    (known,) = {entry.fname for entry in fonts.fontManager.ttflist if entry.name == "Latin"}
    added = []
    monkeypatch.setattr(fonts, "findSystemFonts", lambda: [known, "new.ttc", "broken.ttf"])

    def add(path):
        if path == "broken.ttf":
            raise RuntimeError("no font")
        added.append(path)

    monkeypatch.setattr(fonts.fontManager, "addfont", add)
    assert use_fonts_for(["寿"]) == ["寿"]
    assert added == ["new.ttc"]


def test_characters_that_no_font_has_are_returned(installed):
    installed(Kanji="寿", **{"Last Resort High-Efficiency": "寿司"})
    assert use_fonts_for(["寿司"]) == ["司"]


def test_usual_names_need_no_other_font(installed):
    installed(Kanji="a")
    before = list(mpl.rcParams["font.family"])
    assert use_fonts_for(["ale", 7, "Café"]) == []
    assert mpl.rcParams["font.family"] == before
