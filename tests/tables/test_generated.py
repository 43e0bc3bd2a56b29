"""Generated tables are read as they were meant, or refused with a way out."""

import shlex

import pytest

import bayesrank as br
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

SHORT, LONG = 120, 6_000
FORMAT = ("encoding", "header", "decimal")
BY_COMMAND = 8  # the command reads every eighth table as well


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
            if "separator" in arguments and "has no column" in str(error):
                continue  # the other separator has other names, which the message lists
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


def alone(example, folder, monkeypatch):
    """Say what is wrong if only the file is given; "" if it is read rightly or not at all."""
    source = read(example, folder)
    given = {name: example.arguments[name] for name in FORMAT if name in example.arguments}
    ran = by_command(monkeypatch, example.command, source, *options(given))
    if ran.data is not None:
        decisions = [{}, {"missing": "drop"}, {"missing": "last"}]
        right = [example.reading(example.arguments | decision) for decision in decisions]
        if any("far from the others" in note for note in ran.notes):
            return ""  # it may be a number or a code for nothing
        # rankers without an argument are called after their lines
        found = [row.partition(": ")[2] or row for row in rows(example, ran.data)]
        if sorted(found) not in [sorted(r.partition(": ")[2] or r for r in x) for x in right if x]:
            return f"misread alone: {ran.notes}\nfound {found}\nexpected {right[1]}"
    for line in map(str.strip, str(br.look(source, **given)).splitlines()):
        if line.startswith("bayesrank "):
            ran = by_command(monkeypatch, *shlex.split(line)[1:])
            if ran.error:
                return f"refused as printed: {line}\n{ran.error}"
    return ""


def check_alone(seeds, folder, monkeypatch):
    """Read files alone, but for rows and names that only arguments explain."""
    wrong = {}
    for seed in seeds:
        example = generated(seed)
        plain = example.name and not {"where", "rename"} & {*example.arguments}
        # by their names, white and the home team are the first items
        plain = plain and example.arguments.get("first") not in ("black", "visitor")
        if plain and (found := alone(example, folder, monkeypatch)):
            wrong.setdefault(f"{example.form}: {found.partition(':')[0]}", f"{example}\n{found}")
    assert not wrong, "\n\n".join([f"{len(wrong)} kinds of problems", *wrong.values()])


def test_a_generated_file_alone_is_read_rightly_or_not_at_all(tmp_path, monkeypatch):
    check_alone(range(100, 140), tmp_path, monkeypatch)


@pytest.mark.slow
def test_many_generated_files_alone_are_read_rightly_or_not_at_all(tmp_path, monkeypatch):
    check_alone(range(200, 2_000), tmp_path, monkeypatch)


@pytest.mark.slow
def test_thousands_of_generated_tables_are_read_or_refused_with_a_way_out(tmp_path, monkeypatch):
    check(range(SHORT, SHORT + LONG), tmp_path, monkeypatch)
