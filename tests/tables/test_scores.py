"""Scores of models on tasks, read by `br.read_scores` and by the command."""

import pandas as pd
import pytest

import bayesrank as br
from tests.tables.reading import by_command, by_function, followed, options, same

LONG = """model,task,seed,size,accuracy
ada,qa,1,small,0.81
bo,qa,1,small,0.80
cy,qa,1,small,0.70
ada,qa,2,small,0.75
bo,qa,2,small,0.79
cy,qa,2,small,
ada,nli,1,large,0.60
bo,nli,1,large,0.70
cy,nli,1,large,0.90
"""
WIDE = "model,qa,nli,mt error\nada,0.81,0.60,4\nbo,0.80,0.70,\ncy,0.70,0.90,3\n"
NAMED = {"item": "model", "case": "task", "score": "accuracy", "fold": "seed"}
WAYS = {"long": (LONG, NAMED), "wide": (WIDE, {"item": "model", "lower_is_better": "mt error"})}


@pytest.fixture
def table(tmp_path):
    """Write a table, and return its path."""

    def write(text):
        path = tmp_path / "t.csv"
        path.write_text(text, "utf-8")
        return path

    return write


@pytest.mark.parametrize(("text", "given"), WAYS.values(), ids=WAYS)
def test_the_command_and_the_function_read_the_same(table, monkeypatch, text, given):
    path, arguments = table(text), given | {"rope": 0.02}
    ran = by_command(monkeypatch, "benchmark", path, *options(arguments))
    read, error = by_function("benchmark", path, arguments)
    assert ran.error == ""
    assert error is None
    assert same(ran.data, read)
    assert ran.notes == read.notes
    assert dict(ran.data.roles) == dict(read.roles)


def test_long_tables_have_a_ranking_per_case_and_fold(table):
    read = br.read_scores(table(LONG), **NAMED, rope=0.02, family="size")
    assert list(read) == [[{"ada", "bo"}, "cy"], ["bo", "ada"], ["cy", "bo", "ada"]]
    assert read.weight.tolist() == [0.5, 0.5, 1]
    assert read.groups["cluster"].labels.tolist() == ["large", "small"]
    roles = {"item": "model", "ranker": "task", "case": "task", "fold": "seed", "cluster": "size"}
    assert dict(read.roles) == roles
    assert read.notes[0] == "High scores are good in all 2 cases."


def test_wide_tables_have_a_column_per_case_or_per_item(table):
    given = {"rope": ["0.02", "mt error=0.5"], "lower_is_better": "*error"}
    read = br.read_scores(table(WIDE), item="model", **given)
    assert list(read) == [[{"ada", "bo"}, "cy"], ["cy", "bo", "ada"], ["cy", "ada"]]
    turned = pd.read_csv(table(WIDE)).set_index("model").T.rename_axis("task").reset_index()
    assert br.read_scores(turned, case="task", **given) == read
    some = br.read_scores(table(WIDE), item="model", column=["2-3"])
    assert some.rankers.tolist() == ["qa", "nli"]


def test_a_direction_that_a_name_leaves_open_is_asked_for(table):
    readings = followed("benchmark", table(WIDE), {"item": "model"})
    orders = [list(outcome.data)[2] for outcome in readings]
    assert orders == [["cy", "ada"], ["ada", "cy"]]
    rmse = LONG.replace("accuracy", "rmse")
    readings = followed("benchmark", table(rmse), NAMED | {"score": "rmse"})
    assert [list(outcome.data)[1] for outcome in readings] == [["ada", "bo"], ["bo", "ada"]]
    assert [outcome.data.notes[0] for outcome in readings] == [
        "Low scores are good in all 2 cases.", "High scores are good in all 2 cases."
    ]  # fmt: skip


def test_look_finds_scores_with_folds(table, monkeypatch):
    (fit,) = br.look(table(LONG)).forms
    assert (fit.function, fit.arguments) == ("read_scores", NAMED)
    ran = by_command(monkeypatch, "benchmark", table(LONG))
    assert same(ran.data, br.read_scores(table(LONG), **NAMED))
    assert "benchmark" in by_command(monkeypatch, "rank", table(LONG)).output


REFUSED = {
    "no case": (LONG, {"item": "model", "score": "accuracy"}, r"Missing: case=COLUMN"),
    "no score": (LONG, {"item": "model", "case": "task"}, r"Missing: score=COLUMN.*leave `case`"),
    "text": (LONG.replace("0.70", "good"), NAMED, r"'accuracy' has 'good' in line"),
    "two scores": (LONG, NAMED | {"fold": None}, r"'ada' in case 'qa' has 0.81 in line 2.*fold="),
    "last": (WIDE, {"item": "model", "missing": "last"}, r"missing='last' is for rankings"),
    "refused": (LONG, NAMED | {"missing": "refuse"}, r"missing='refuse'.*is empty in line 7"),
    "rope": (LONG, NAMED | {"rope": "wide"}, r"`rope` must be a number.*'wide'"),
    "rope of no case": (LONG, NAMED | {"rope": "x=1"}, r"`rope` names the case 'x'"),
    "negative rope": (LONG, NAMED | {"rope": -1}, r"0 or more.*For case 'qa' it is -1"),
    "no such case": (LONG, NAMED | {"lower_is_better": "x"}, r"must name cases; 'x' is none"),
    "both directions": (
        LONG, NAMED | {"lower_is_better": "qa", "higher_is_better": "*"}, r"both name 'qa'"
    ),
    "families of items": (WIDE, {"item": "model", "family": "qa"}, r"`family` describes cases"),
    "cluster": (
        LONG.replace("model", "cluster"), NAMED | {"item": "cluster", "family": "size"}, "`rename`"
    ),
    "columns": (LONG, NAMED | {"column": ["2-3"]}, r"`column` is for tables without `score`"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "given", "match"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_gets_a_sentence(table, text, given, match):
    with pytest.raises(ValueError, match=match):
        br.read_scores(table(text), **given)


def test_remedies_are_options_of_the_command(table, monkeypatch):
    ran = by_command(monkeypatch, "benchmark", table(WIDE), "--item", "model")
    assert "--lower-is-better 'mt error' or --higher-is-better 'mt error'" in ran.error
