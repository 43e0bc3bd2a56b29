"""Generated tables are read as they were meant, or refused with a way out."""

import pytest

from tests.tables.generator import FORMS, generated
from tests.tables.reading import (
    by_command,
    by_function,
    followed,
    options,
    pairs_written,
    rankings_written,
    same,
)

SHORT, LONG = 300, 6_000
BY_COMMAND = 8  # each of so many tables is read by the command as well


def read(example, folder):
    """Return the source of an example: the path of its file, or the frame."""
    if not example.name:
        return example.source
    path = folder / example.name
    path.write_bytes(example.source)
    return path


def rows(example, data):
    """Write what was read as the generator does."""
    if example.command == "matches":
        return sorted(pairs_written(data, directed=example.directed))
    return sorted(rankings_written(data, named=example.named))


def problem(example, folder, monkeypatch=None):
    """Say what is wrong with the reading of an example; "" if nothing is."""
    source = read(example, folder)
    outcomes = followed(example.command, source, example.arguments)
    reached = False
    for arguments, data, error in outcomes:
        if data is None:
            return f"no way out: {arguments}: {error}"
        found, expected = rows(example, data), example.reading(arguments)
        if expected is not None and found != expected:
            return f"misread: {arguments}\nfound    {found}\nexpected {expected}"
        reached |= expected is not None
    if not reached:
        return f"no remedy is right: {[outcome.arguments for outcome in outcomes]}"
    if monkeypatch is not None and example.name:
        return by_command_alike(example, source, outcomes[0].arguments, monkeypatch)
    return ""


def by_command_alike(example, source, arguments, monkeypatch):
    """Say how the command differs from the function; "" if it does not."""
    ran = by_command(monkeypatch, example.command, source, *options(arguments))
    data, _ = by_function(example.command, source, arguments)
    if ran.error:
        return f"the command refuses: {ran.error}"
    return "" if same(ran.data, data) else f"the command reads {rows(example, ran.data)}"


def check(seeds, folder, monkeypatch):
    """Read the tables of some seeds, and show the first ones that are read wrongly."""
    wrong = {}
    for seed in seeds:
        example = generated(seed)
        patched = monkeypatch if seed % BY_COMMAND == 0 else None
        if found := problem(example, folder, patched):
            wrong.setdefault(f"{example.form}: {found.partition(':')[0]}", f"{example}\n{found}")
    assert not wrong, "\n\n".join([f"{len(wrong)} kinds of problems", *wrong.values()])


def test_each_seed_gives_the_same_table():
    one, other = generated(11), generated(11)
    assert (str(one), one.arguments) == (str(other), other.arguments)
    assert {generated(seed).form for seed in range(len(FORMS))} == {*FORMS}


def test_the_meaning_of_each_table_is_known():
    # with all decisions that the generator may leave open
    for seed in range(300):
        example = generated(seed)
        decided = {"missing": "drop"} | example.arguments
        assert example.reading(decided), example


def test_generated_tables_are_read_or_refused_with_a_way_out(tmp_path, monkeypatch):
    check(range(SHORT), tmp_path, monkeypatch)


@pytest.mark.slow
def test_thousands_of_generated_tables_are_read_or_refused_with_a_way_out(tmp_path, monkeypatch):
    check(range(SHORT, SHORT + LONG), tmp_path, monkeypatch)
