"""`look` reads published tables: its commands run as printed, and the first one is right."""

import shlex

import pytest

import bayesrank as br
from bayesrank.data import Rankings
from tests.tables.published import LAYOUTS, TRAPS
from tests.tables.reading import by_command

LEAST = 0.9  # share of layouts whose first command must be right


def printed(path):
    """Return the commands that `look` prints for a file, word by word."""
    lines = [line.strip() for line in str(br.look(path)).splitlines()]
    return [
        shlex.split(line)[1:]
        for line in lines
        if line.startswith(("bayesrank rank ", "bayesrank matches ", "bayesrank choices "))
    ]


def file_of(layout, folder):
    path = folder / layout.file
    path.write_text(layout.text, encoding="utf-8")
    return path


def wrong(layout, path, words, monkeypatch):
    """Say what is wrong with a command; "" if it reads the layout rightly."""
    if words[0] != layout.command:
        return f"{words[0]} instead of {layout.command}"
    ran = by_command(monkeypatch, *words)
    return ran.error or layout.right(ran.data)


def test_the_first_command_is_right_for_nearly_all_layouts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = {}
    for name, layout in LAYOUTS.items():
        path = file_of(layout, tmp_path)
        words = printed(path)
        problem = wrong(layout, path, words[0], monkeypatch) if words else "no command"
        if problem:
            found[name] = f"{shlex.join(words[0]) if words else ''}: {problem}"
    assert len(found) <= (1 - LEAST) * len(LAYOUTS), "\n".join(
        f"{n}: {x}" for n, x in found.items()
    )


@pytest.mark.parametrize("name", LAYOUTS)
def test_no_printed_command_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    for words in printed(file_of(LAYOUTS[name], tmp_path)):
        ran = by_command(monkeypatch, *words)
        assert not ran.error, f"{shlex.join(words)}: {ran.error}"


@pytest.mark.parametrize("name", TRAPS)
def test_a_table_that_no_command_reads_is_not_offered_as_rankings(tmp_path, monkeypatch, name):
    file, text = TRAPS[name]
    path = tmp_path / file
    path.write_text(text, encoding="utf-8")
    for words in printed(path):
        ran = by_command(monkeypatch, *words)
        assert not isinstance(ran.data, Rankings), shlex.join(words)
