"""Small tables of kinds that people publish, with the reading that is right.

The tables are in the folder ``cases``. Each case has a call and what must come of it: the reading,
or a refusal whose remedies lead to the readings, each under the arguments that choose it. All
readings were worked out by hand. Each is read by the function and by the command.
"""

import shlex
from collections import Counter
from csv import DictReader
from pathlib import Path
from typing import NamedTuple

import pytest

import bayesrank as br
from tests.tables.reading import (
    FUNCTIONS,
    by_command,
    by_function,
    followed,
    options,
    same,
    wins,
    written,
)

FOLDER = Path(__file__).parent / "cases"
AB = {"first": "first", "second": "second", "outcome": "outcome"}


class Case(NamedTuple):
    """A call, and its reading; or the words of the refusal, and the readings of its remedies.

    A remedy is found by the arguments that it adds: the first reading whose arguments are among
    them must be what it gives. All readings must be reached, unless the refusal has no way out.
    """

    file: str
    command: str
    arguments: dict
    reading: str | None = None
    words: tuple[str, ...] = ()
    remedies: tuple[tuple[dict, str], ...] = ()
    notes: tuple[str, ...] = ()  # words of the notes
    silent: tuple[str, ...] = ()  # words that no note may contain


FOUR = {
    "ash > elm > fir > oak": 411,
    "ash > elm > oak > fir": 97,
    "ash > fir > elm > oak": 48,
    "ash > fir > oak > elm": 1,
    "ash > oak > elm > fir": 6,
    "ash > oak > fir > elm": 1,
    "elm > ash > fir > oak": 32,
    "elm > ash > oak > fir": 4,
    "elm > fir > oak > ash": 1,
    "elm > oak > fir > ash": 2,
    "fir > elm > oak > ash": 2,
    "fir > oak > ash > elm": 5,
    "fir > oak > elm > ash": 101,
    "oak > elm > fir > ash": 37,
    "oak > fir > ash > elm": 32,
    "oak > fir > elm > ash": 420,
}
COUNTED = "line 2 (37): ash > elm > fir; line 3 (10): elm > fir > ash; line 4 (5): fir > ash = elm"
FEWER = "line 2 (12): ash > elm > fir; line 3 (3): elm > fir > ash; line 4 (4): fir > ash = elm"
PIZZAS = (
    "line 2: Pizza > Pasta > Salad; line 3: Pasta > Pizza > Salad; line 4: Pizza > Salad > Pasta"
)
WINES = "d1: m1 > m2 > m3; d2: m1 > m3 > m2; d3: m1 > m3 > m2"
WORST_WINES = "d1: m3 > m2 > m1; d2: m2 > m3 > m1; d3: m2 > m3 > m1"
HEATS = "line 1: w1 > ash > elm > fir; line 2: w1 > elm > oak > ash; line 3: w1 > fir > oak; "
HEATS += "line 4: w2 > ash > fir > elm > oak"
DATED = [
    "ash-elm [date=1978-02-04] 1:0",
    "elm-fir [date=1978-03-30] 1:0",
    "ash-fir [date=1978-05-12] 1:0",
    "elm-fir [date=1978-05-28] 0:1",
]

JUDGED = "J1: ash > elm > fir; J2: elm > ash > fir; J3: ash > fir > elm"
LAST_ZEROS = "r1: ash > elm > oak > fir; r2: elm > ash > fir = oak"
COUNTED_CHOICES = (
    "line 2, NB (5): NB > L = THC; line 2, L (3): L > NB = THC; line 2, THC (4): THC > L = NB; "
    "line 3, NB (3): NB > PB = THC; line 3, PB (5): PB > NB = THC; line 3, THC (8): THC > NB = PB; "
    "line 4, L (4): L > PB = THC; line 4, PB (9): PB > L = THC; line 4, THC (2): THC > L = PB; "
    "line 5, NB (10): NB > L = THC; line 5, L (3): L > NB = THC; line 5, THC (3): THC > L = NB"
)
SQUARE = "ash-elm 8:2; ash-fir 9:1; elm-fir 7:3"

CASES = {
    # direction
    "points": Case(
        "points.csv", "rank", {"ranker": "judge", "item": "wine", "rating": "points"}, WINES
    ),
    "points that are said to be ranks": Case(
        "points.csv", "rank", {"ranker": "judge", "item": "wine", "rank": "points"}, WORST_WINES
    ),
    "accuracies are no ranks": Case(
        "accuracy.csv",
        "rank",
        {"ranker": "task", "item": "model", "rank": "accuracy"},
        words=("accuracy", "rating"),
        remedies=(
            ({"rating": "accuracy"}, "t1: a > b > c; t2: b > a > c; t3: a > b > c"),
            ({"result": "accuracy"}, "t1: c > b > a; t2: c > a > b; t3: c > b > a"),
        ),
    ),
    # codes of outcomes
    "half of two tables of codes": Case(
        "half_codes.csv",
        "matches",
        AB,
        words=("'a'", "first_wins"),
        remedies=(
            (
                {"first_wins": "a"},
                "ash-elm 1:0:1; ash-fir 1:0:0; elm-fir 0:0:1; fir-elm 1:0:0",
            ),
            (
                {"second_wins": "a"},
                "ash-elm 0:1:1; ash-fir 0:1:0; elm-fir 0:0:1; fir-elm 0:1:0",
            ),
        ),
    ),
    "an unknown code": Case(
        "code.csv",
        "matches",
        {"first": "a", "second": "b", "outcome": "o"},
        words=("'postponed'",),
        remedies=(
            (
                {"empty": "postponed"},
                "ash-elm 1:0; ash-fir 0:1; elm-fir 0:1; fir-ash 1:0",
            ),
            (
                {"first_wins": "postponed"},
                "ash-elm 1:0; ash-fir 0:1; elm-ash 1:0; elm-fir 0:1; fir-ash 1:0",
            ),
            (
                {"second_wins": "postponed"},
                "ash-elm 1:0; ash-fir 0:1; elm-ash 0:1; elm-fir 0:1; fir-ash 1:0",
            ),
            (
                {"tie": "postponed"},
                "ash-elm 1:0:0; ash-fir 0:1:0; elm-ash 0:0:1; elm-fir 0:1:0; fir-ash 1:0:0",
            ),
        ),
    ),
    # ballots and places
    "ballots that are counted": Case(
        "ballots_counted.csv",
        "rank",
        {"ballot": "ballot", "count": "n"},
        "; ".join(
            f"line {line}: {ballot}" if n == 1 else f"line {line} ({n}): {ballot}"
            for line, (ballot, n) in enumerate(FOUR.items(), 2)
        ),
    ),
    "a candidate in several places": Case(
        "dup.csv",
        "rank",
        {"wide": "places", "ranker": "v", "missing": "last"},
        "1: ash > elm; 2: elm > ash; 3: ash > elm; 4: elm > ash; 5: ash > elm",
        notes=("again",),
    ),
    "counts behind a star": Case(
        "star.csv", "rank", {"ballot": "ballot", "missing": "last"}, COUNTED
    ),
    "counts behind a colon": Case(
        "colon.csv", "rank", {"ballot": "ballot", "missing": "last"}, FEWER
    ),
    "counts in parentheses": Case(
        "paren.csv", "rank", {"ballot": "ballot", "missing": "last"}, FEWER
    ),
    "lists in one order": Case(
        "tickbox.csv",
        "rank",
        {"ballot": "picks", "missing": "last", "ranker": "id"},
        words=("order", "listed='ticked'", "listed='ranked'"),
        remedies=(
            (
                {"listed": "ticked"},
                "1: ash = elm > fir; 2: elm = fir > ash; 3: ash = elm = fir; 4: elm > ash = fir; "
                "5: ash = fir > elm; 6: elm = fir > ash; 7: fir > ash = elm; 8: elm = fir > ash",
            ),
            (
                {"listed": "ranked"},
                "1: ash > elm > fir; 2: elm > fir > ash; 3: ash > elm > fir; 4: elm > ash = fir; "
                "5: ash > fir > elm; 6: elm > fir > ash; 7: fir > ash = elm; 8: elm > fir > ash",
            ),
        ),
    ),
    "ticks that a blank separates": Case(
        "kobo.csv",
        "rank",
        {"ballot": "toppings", "ranker": "id"},
        words=("between=' '",),
        remedies=(
            (
                {"between": " "},
                "1: cheese > pepperoni > sausage; 2: pepperoni > cheese > sausage; "
                "3: cheese > sausage > pepperoni",
            ),
        ),
    ),
    "ranks that a semicolon separates": Case(
        "msforms.csv",
        "rank",
        {"ballot": "Rank"},
        words=("between=';'",),
        remedies=(({"between": ";"}, PIZZAS),),
    ),
    # text tables
    "runs of tabs": Case(
        "tabpad.txt",
        "rank",
        {"wide": "ranks", "item": "column 1", "missing": "drop"},
        "leg1: Nightingale > Owl > Wren; leg2: Owl > Nightingale > Wren; "
        "leg3: Nightingale > Owl > Wren",
    ),
    "columns of blanks": Case(
        "spaces.txt",
        "rank",
        {"ranker": "year", "item": "item", "rank": "place"},
        "2003: ash > elm; 2004: elm > ash",
    ),
    "a header that is one shorter": Case(
        "rtable.txt",
        "rank",
        {"wide": "ranks", "item": "row"},
        JUDGED,
    ),
    "heats of different length": Case(
        "heats.csv",
        "rank",
        {"header": 0, "wide": "places", "ranker": "1", "column": "2-5", "missing": "drop"},
        "w1: ash > elm > fir; w1: elm > oak > ash; w1: fir > oak; w2: ash > fir > elm > oak",
    ),
    "heats of different length, all columns": Case(
        "heats.csv",
        "rank",
        {"header": 0, "wide": "places"},
        words=("ranker='column 1'",),
        remedies=(
            (
                {"ranker": "column 1", "missing": "drop"},
                "w1: ash > elm > fir; w1: elm > oak > ash; w1: fir > oak; "
                "w2: ash > fir > elm > oak",
            ),
            (
                {"ranker": "column 1", "missing": "last"},
                "w1: ash > elm > fir > oak; w1: elm > oak > ash > fir; w1: fir > oak > ash = elm; "
                "w2: ash > fir > elm > oak",
            ),
            ({"missing": "drop"}, HEATS),
            (
                {"missing": "last"},
                "line 1: w1 > ash > elm > fir > oak = w2; line 2: w1 > elm > oak > ash > fir = w2; "
                "line 3: w1 > fir > oak > ash = elm = w2; line 4: w2 > ash > fir > elm > oak > w1",
            ),
        ),
    ),
    "an election with quotation marks": Case(
        "names.blt",
        "rank",
        {"missing": "last"},
        '0 (12): Ann "Vote Green" ASH > Bob ELM > Di OAK; '
        '1 (9): Bob ELM > Ann "Vote Green" ASH = Di OAK; '
        '2 (7): Di OAK > Bob ELM > Ann "Vote Green" ASH',
    ),
    # wide tables
    "a column of totals": Case(
        "pts.csv",
        "rank",
        {"wide": "ranks", "item": "rider"},
        words=("'points'",),
        remedies=(({}, "r1: ash > elm > oak; r2: elm > ash > oak; r3: ash > elm > oak"),),
    ),
    "totals and zeros": Case(
        "zeropts.csv",
        "rank",
        {"wide": "ranks", "item": "rider"},
        remedies=(
            ({"empty": "0", "missing": "drop"}, "r1: ash > elm > oak; r2: elm > ash"),
            ({"empty": "0", "missing": "last"}, LAST_ZEROS),
            ({"last_block": "0"}, LAST_ZEROS),
            # high is good, or low is
            ({"wide": "ratings"}, "r1: oak > elm > ash > fir; r2: ash > elm > fir = oak"),
            ({"wide": "results"}, "r1: fir > ash > elm > oak; r2: fir = oak > elm > ash"),
        ),
    ),
    "columns that have numbers as names": Case(
        "numbered_columns.csv",
        "rank",
        {"wide": "ranks", "ranker": "id", "column": "1-3"},
        "7: 1 > 2 > 3; 8: 2 > 1 > 3; 9: 1 > 3 > 2",
    ),
    # matrices
    "a square": Case("square.csv", "matches", {"matrix": True}, SQUARE),
    "a square without names of rows": Case(
        "square2.csv", "matches", {"matrix": True}, SQUARE
    ),
    "counts of choices": Case(
        "choicecounts.csv",
        "choices",
        {"counts": True},
        COUNTED_CHOICES,
    ),
    # scores of models on tasks
    "scores with seeds": Case(
        "seeds.csv",
        "benchmark",
        {"item": "model", "case": "task", "score": "accuracy", "fold": "seed", "rope": 0.02},
        "qa (0.5): ash = elm > fir; qa (0.5): elm > ash; nli: fir > elm > ash",
        notes=("in one block, so practically equivalent: 1 of 7.", "Missing scores: 1 of 9."),
    ),
    # dates
    "dates that a later row makes clear": Case(
        "dotdate.csv",
        "matches",
        {"winner": "winner", "loser": "loser", "date": "date"},
        "; ".join(DATED),
    ),
    "one date that is none": Case(
        "one_bad_date.csv",
        "matches",
        {"winner": "winner", "loser": "loser", "date": "day"},
        words=("'202402011'", "line 4"),
    ),
    # cells
    "points between thousands": Case(
        "thousands.csv",
        "rank",
        {"ranker": "ranker", "item": "item", "rating": "rating", "decimal": ","},
        "u: b > a; v: b > a",
    ),
    "conditions are compared as text": Case(
        "versions.csv",
        "rank",
        {"ranker": "user", "item": "item", "rating": "rating", "where": "version=1.10"},
        "2: b > a",
    ),
    "numbers of JSON are labels": Case(
        "null_ids.jsonl",
        "matches",
        {"winner": "w", "loser": "l", "missing": "drop"},
        "1-2 1:0; 1-3 0:1; 2-3 1:0",
    ),
    "conversations of an arena are left aside": Case(
        "arena.jsonl",
        "matches",
        {"first": "model_a", "second": "model_b", "outcome": "winner", "judge": "judge"},
        "alpha-beta [judge=user 1] 1:0:0; alpha-gamma [judge=user 3] 0:0:1; "
        "beta-gamma [judge=user 1] 0:1:0; gamma-alpha [judge=user 2] 0:0:1",
        notes=("'tie (bothbad)' counts as a tie",),
    ),
    "objects of an arena have columns with dots": Case(
        "arena.jsonl",
        "matches",
        {
            "first": "model_a", "second": "model_b", "outcome": "winner",
            "feature": ("toxic_chat_tag.roberta-large.probability",),
        },
        "alpha-beta 1:0:0; alpha-gamma 0:0:1; beta-gamma 0:1:0; gamma-alpha 0:0:1",
    ),
    "a conversation is not a label": Case(
        "arena.jsonl",
        "matches",
        {"first": "model_a", "second": "model_b", "outcome": "winner", "judge": "conversation_a"},
        words=("Column 'conversation_a'", "must hold text, numbers or dates", "in line 1"),
    ),
}  # fmt: skip


def ordered(reading):
    """Sort the rows of a reading, which may come in any order."""
    return "; ".join(sorted(reading.split("; ")))


def read_both(monkeypatch, case, arguments):
    """Read a file by the function and by its command, which must agree."""
    data, error = by_function(case.command, FOLDER / case.file, arguments)
    assert error is None, f"{arguments}: {error}"
    ran = by_command(monkeypatch, case.command, FOLDER / case.file, *options(arguments))
    assert not ran.error, f"{options(arguments)}: {ran.error}"
    assert same(ran.data, data)
    assert ran.data.notes == data.notes
    return data


@pytest.mark.parametrize("name", CASES)
def test_a_table_is_read_or_refused_with_remedies(monkeypatch, name):
    case = CASES[name]
    if case.reading is not None:
        data = read_both(monkeypatch, case, case.arguments)
        assert written(data) == ordered(case.reading)
        notes = " ".join(data.notes)
        assert all(word in notes for word in case.notes), notes
        assert not any(word in notes for word in case.silent), notes
        return

    # the sentence that refuses, in both spellings
    _, error = by_function(case.command, FOLDER / case.file, case.arguments)
    assert error is not None
    assert all(word in str(error) for word in case.words), error
    ran = by_command(monkeypatch, case.command, FOLDER / case.file, *options(case.arguments))
    assert ran.error

    # each remedy is a reading that is right
    outcomes = followed(case.command, FOLDER / case.file, case.arguments)
    reached = set()
    for outcome in outcomes:
        if not case.remedies:
            assert outcome.arguments == case.arguments, "This refusal has no way out."
            continue
        data = read_both(monkeypatch, case, outcome.arguments)
        for n, (wanted, reading) in enumerate(case.remedies):
            if all(chosen(outcome.arguments, *pair) for pair in wanted.items()):
                assert written(data) == ordered(reading), outcome.arguments
                reached.add(n)
                break
        else:
            raise AssertionError(f"Nobody worked out the reading of {outcome.arguments}.")
    wanted = {n for n, (arguments, _) in enumerate(case.remedies) if "last_block" not in arguments}
    assert wanted <= reached, [outcome.arguments for outcome in outcomes]


def chosen(arguments, name, value):
    """Whether an argument has a value, perhaps as one of several."""
    given = arguments.get(name)
    return given == value or (isinstance(given, list | tuple) and [*given] == [value])


def test_all_tables_are_read():
    read = {case.file for case in CASES.values()} | {file for file, *_ in COUNTS}
    assert {*read, "unused_column.csv"} == {path.name for path in FOLDER.iterdir()}


# Files alone: nothing runs that can be read in two ways, and `look` names each way

ALONE = [
    ("points.csv", "rank", {"--rating points": WINES, "--rank points": WORST_WINES}),
    ("square.csv", "matches", {"--matrix": SQUARE}),
    ("square.csv", "rank", {"--matrix": SQUARE}),
    ("square2.csv", "matches", {"--matrix": SQUARE}),
    ("choicecounts.csv", "choices", {"--counts": COUNTED_CHOICES}),
    (
        "seeds.csv",
        "benchmark",
        {"--fold seed": "qa (0.5): ash > elm > fir; qa (0.5): elm > ash; nli: fir > elm > ash"},
    ),
    ("spaces.txt", "rank", {"--rank place": "2003: ash > elm; 2004: elm > ash"}),
    ("rtable.txt", "rank", {"--wide ranks": JUDGED}),
]  # fmt: skip


def printed(text):
    """Return the commands in a text, word by word."""
    lines = [line.strip() for line in text.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("bayesrank ")]


@pytest.mark.parametrize(("file", "command", "readings"), ALONE)
def test_a_file_alone_is_read_only_if_there_is_one_way(monkeypatch, file, command, readings):
    ran = by_command(monkeypatch, command, FOLDER / file)
    if ran.data is not None:
        assert [written(ran.data)] == [ordered(reading) for reading in readings.values()]
        return
    named = {shlex.join(words) for words in printed(ran.output)}
    assert named <= {shlex.join(words) for words in printed(str(br.look(FOLDER / file)))}


@pytest.mark.parametrize(("file", "command", "readings"), ALONE)
def test_look_names_each_way_to_read_a_file(monkeypatch, file, command, readings):
    found = {}
    for words in printed(str(br.look(FOLDER / file))):
        ran = by_command(monkeypatch, *words)
        assert not ran.error, f"{shlex.join(words)}: {ran.error}"
        found[shlex.join(words)] = written(ran.data)
    for option, reading in readings.items():
        assert [ordered(reading)] == [text for words, text in found.items() if option in words]
    others = {text for words, text in found.items() if not any(o in words for o in readings)}
    # names of rtable say nothing, and counts may also be ratings: the reason says which is meant
    assert not others or file in ("rtable.txt", "choicecounts.csv"), found


# Tables of many rows: the counts of each reading

EACH = {"ballot": "ballot"}
BULLET = {"wide": "places", "missing": "last"}
SCENES = {"first": "left", "second": "right", "outcome": "better"}
COUNTS = [
    ("ballots_each.csv", "rank", EACH, FOUR),
    (
        "bullet.csv",
        "rank",
        BULLET,
        {"ash > elm = fir": 30, "elm > ash = fir": 10, "fir > elm > ash": 3},
    ),
]


@pytest.mark.parametrize(("file", "command", "arguments", "counts"), COUNTS)
def test_ballots_are_counted(monkeypatch, file, command, arguments, counts):
    data = read_both(monkeypatch, Case(file, command, arguments), arguments)
    assert data.n_rankings == sum(counts.values())
    assert Counter(row.partition(": ")[2] for row in written(data).split("; ")) == counts


def test_counted_ballots_are_those_that_were_cast_one_by_one(monkeypatch):
    counted = read_both(
        monkeypatch, CASES["ballots that are counted"], {"ballot": "ballot", "count": "n"}
    )
    each = read_both(monkeypatch, Case("ballots_each.csv", "rank", EACH), EACH)
    assert counted.count.sum() == each.count.sum() == 1200
    assert counted.n_rankers == each.n_rankers == 1200
    assert repr(counted).startswith("Rankings: 1,200 rankings, 16 different, of 4 items by 1,200 ")
    assert [*counted.items] == [*each.items]


def test_notes_are_written_after_omitted_items_came_last(monkeypatch):
    data = read_both(monkeypatch, Case("bullet.csv", "rank", BULLET), BULLET)
    assert not any("no item is above another" in note for note in data.notes)


def test_matches_of_two_scenes_are_counted(monkeypatch):
    data = read_both(monkeypatch, Case("unused_column.csv", "matches", SCENES), SCENES)
    expected = Counter()
    with (FOLDER / "unused_column.csv").open() as file:
        for row in DictReader(file):
            won, lost = ("left", "right") if row["better"] == "first" else ("right", "left")
            expected[row[won], row[lost]] += 1
    assert wins(data) == expected
    assert expected["ash", "elm"] == 29 + 17
    scenes = SCENES | {"category": "scene"}
    data = read_both(monkeypatch, Case("unused_column.csv", "matches", scenes), scenes)
    assert [*data.groups["category"].labels] == ["hall", "wood"]
    assert wins(data) == expected


def test_the_tables_of_all_commands_are_there():
    assert {case.command for case in CASES.values()} == {*FUNCTIONS}


@pytest.mark.parametrize("command", FUNCTIONS)
def test_a_missing_file_is_reported_before_anything_else(monkeypatch, command):
    ran = by_command(monkeypatch, command, FOLDER / "none.csv", "--missing", "drop")
    assert "There is no file" in ran.error
    with pytest.raises((OSError, ValueError), match="There is no file"):
        br.read_rankings(FOLDER / "none.csv", missing="last")
