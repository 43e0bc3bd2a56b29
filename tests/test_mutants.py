"""The list of wrong formulas is not stale: each has its place, and is another formula."""

from pathlib import Path

import pytest

from tests.mutants import MUTANTS, Mutant, mutate, place


def test_every_mutant_has_its_place_and_changes_it():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 12
    for mutant in MUTANTS:
        assert place(mutant).suffix == ".py"
        assert mutant.wrong != mutant.right


def test_a_text_that_does_not_occur_once_raises(tmp_path: Path):
    mutant = Mutant("sum", ".", "a + b", "a - b", ("tests",))
    for text, times in (("a * b", 0), ("a + b; a + b", 2)):
        (tmp_path / "formula.py").write_text(text, encoding="utf-8")
        with pytest.raises(LookupError, match=f"it stands there {times} times"):
            mutate(mutant, tmp_path)
        assert (tmp_path / "formula.py").read_text(encoding="utf-8") == text


def test_a_mutant_is_put_in_its_place(tmp_path: Path):
    (tmp_path / "formula.py").write_text("def f(a, b):\n    return a + b\n", encoding="utf-8")
    mutate(Mutant("sum", ".", "a + b", "a - b", ("tests",)), tmp_path)
    expected = "def f(a, b):\n    return a - b\n"
    assert (tmp_path / "formula.py").read_text(encoding="utf-8") == expected
