"""Documentation, messages, docstrings and comments avoid words that make readers stumble."""

from tests.prose import violations


def test_no_sentence_uses_a_word_to_avoid_or_is_too_long():
    found = [f"{sentence.place}: {sentence.text} -> {why}" for sentence, why in violations()]
    assert found == []
