"""The tables of the golden file: functions and commands read them alike, and remedies help.

Each table is read by its command and by the function that the command calls. If both refuse it,
each remedy must lead to a reading, or to another question whose remedies do.
"""

import re
import shlex
from pathlib import Path

import pytest
from click import ClickException

from bayesrank.cli import main
from bayesrank.cli.options import ChoiceColumns, MatchColumns, RankColumns, taken
from tests.tables.reading import by_command, by_function, followed, same

GOLDEN = Path(__file__).parents[1] / "golden" / "cli_tables.txt"
MODELS = "no order|say nothing|no effect|component|--coming|--next|--tune|There is no file"
COLUMNS = {"rank": RankColumns, "matches": MatchColumns, "choices": ChoiceColumns}


def tables():
    """Return the tables by title: the command, the file, its options and its content."""
    for text in GOLDEN.read_text("utf-8").split("### ")[1:]:
        title, line, table = text.split("\n", 2)
        command, file, *args = shlex.split(line.removeprefix("$ "))
        if command in COLUMNS and file != "-":
            yield title, command, file, args, table


def arguments_of(command, file, args):
    """Return the arguments that the options of a command mean; None if it refuses the options."""
    try:
        options = main.commands[command].make_context(command, [file, *args]).params
        columns = taken(COLUMNS[command], options)
        columns.check()
    except ClickException:
        return None
    given = {**columns.opening, **columns.arguments}
    flags = {name: value for name, value in given.items() if name in ("order", "day_first")}
    given = {name: x for name, x in given.items() if x is not False and x not in (None, ())}
    return given | {name: False for name, value in flags.items() if value is False}


TABLES = {title: case for title, *case in tables()}


@pytest.mark.filterwarnings("ignore::bayesrank.data.pairs.UncomparedItemWarning")
@pytest.mark.parametrize("title", TABLES)
def test_a_table_is_read_alike_by_the_function_and_by_the_command(tmp_path, monkeypatch, title):
    command, file, args, table = TABLES[title]
    monkeypatch.chdir(tmp_path)
    (tmp_path / file).write_bytes(table.encode())
    ran = by_command(monkeypatch, command, file, *args)
    arguments = arguments_of(command, file, args)
    if arguments is None:
        assert ran.error
        return
    data, error = by_function(command, file, arguments)
    if ran.data is not None:
        assert error is None, error
        assert same(ran.data, data)
        # the command writes arguments as options, and adds notes about the model
        assert all(len(re.findall(r"\w+", note)) > 2 for note in data.notes)
        return
    if error is None:  # the command refuses what no model can use
        assert re.search(MODELS, ran.error)
        return
    for outcome in followed(command, file, arguments) if error.remedies else ():
        # without a header, the columns have new names, which the message lists
        renamed = outcome.arguments.get("header") == 0 and "has no column" in str(outcome.error)
        assert outcome.error is None or renamed, f"{outcome.arguments}: {outcome.error}"
