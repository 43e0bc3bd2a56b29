"""Every table that a section gives to the JSON document is in the schema of the document."""

import ast

import numpy as np
import pandas as pd
import pytest

from tests.builders import PACKAGE
from tests.commands import SCHEMA, data_of, few, no_sampling, ran


def tables_of_sections():
    """Names of the tables in `data=` of every `Part`."""
    for path in sorted((PACKAGE / "reporting").glob("*_sections.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Part":
                for given in node.keywords:
                    if given.arg == "data" and isinstance(given.value, ast.Dict):
                        yield from (
                            x.value for x in given.value.keys if isinstance(x, ast.Constant)
                        )


def test_the_schema_has_the_tables_of_all_sections():
    found = {*tables_of_sections()}
    assert {"grades", "both_bad", "stated", "flips"} <= found
    assert found <= {*SCHEMA["properties"]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "tables"),
    [
        (["--grade", "verdict"], ["grades"]),
        (["--outcome", "winner", "--both-bad", "bad"], ["both_bad"]),
        (["--probability", "p"], ["stated", "stated_by_judge"]),
    ],
)
def test_documents_about_graded_votes_follow_the_schema(more, tables, tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    one, other = rng.permuted(np.tile(np.arange(5), (120, 1)), axis=1)[:, :2].T
    lead = (other - one) / 2 + rng.logistic(size=120)
    grades = np.array(["B>>A", "B>A", "A=B", "A>B", "A>>B"])
    votes = {
        "first": np.array(list("vwxyz"))[one],
        "second": np.array(list("vwxyz"))[other],
        "judge": rng.choice(["ann", "ben"], 120),
        "verdict": grades[np.searchsorted([-1.2, -0.3, 0.3, 1.2], lead)],
        "winner": np.where(rng.random(120) < 0.2, "bad", np.where(lead > 0, "first", "second")),
        "p": np.round(1 / (1 + np.exp(-lead)), 2).clip(0.02, 0.98),
    }
    pd.DataFrame(votes).to_csv("votes.csv", index=False)
    columns = ["--first", "first", "--second", "second", "--judge", "judge"]
    no_sampling(monkeypatch, few)
    document = data_of(ran("matches", "votes.csv", *columns, *more, "--json"))
    assert {*tables} <= {*document}
