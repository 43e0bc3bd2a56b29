"""What the page of verbs says is so."""

import pytest

from tests.verbs import FAMILIES, PAGE, TRACEBACK, VERBS, cell, is_not_installed, page, read_page

SAID = read_page(PAGE.read_text(encoding="utf-8"))


def test_the_page_has_a_cell_of_every_verb_and_family_and_none_is_a_traceback():
    assert list(SAID) == list(FAMILIES)
    assert all(list(column) == list(VERBS) for column in SAID.values())
    cells = [text for column in SAID.values() for text in column.values()]
    assert [text for text in cells if text.startswith(TRACEBACK)] == []
    assert read_page(page(SAID)) == SAID


# Both see through a verb that does not do what it says
@pytest.mark.parametrize("verb", ["draw", "debug", "set_observed"])
def test_verbs_that_cost_little_do_what_the_page_says(verb):
    assert cell("BradleyTerry", verb) == SAID["BradleyTerry"][verb]


def test_a_sentence_is_told_from_a_traceback():
    assert cell("BPR", "LOO") == SAID["BPR"]["LOO"]
    assert SAID["BPR"]["LOO"].startswith("BPR is a composite likelihood of pairs of items")


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("verb", VERBS)
def test_a_cell_is_what_the_page_says(name, verb):
    found, expected = cell(name, verb), SAID[name][verb]
    if is_not_installed(found) or is_not_installed(expected):
        pytest.skip(f"here: {found}, on the page: {expected}")
    assert found == expected
