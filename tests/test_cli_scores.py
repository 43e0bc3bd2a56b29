"""The command for scores of models on tasks, from the table to the page."""

import re
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayesrank as br
from tests.commands import data_of, ran, refuses, run

N_TASKS, N_SEEDS = 8, 2
COLUMNS = ("--item", "model", "--case", "task", "--score", "accuracy", "--fold", "seed")


@pytest.fixture
def scores(tmp_path, monkeypatch):
    """Write scores of five models; the first two are nearly equal."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    strength = np.array([0.3, 0.29, 0.1, 0.0, -0.1])
    of_task = strength + rng.normal(0, 0.05, (N_TASKS, 5))
    table = pd.DataFrame(
        [
            (f"m{item}", f"t{task}", seed, f"f{task // 4}", round(score + rng.normal(0, 0.01), 3))
            for task in range(N_TASKS)
            for seed in range(N_SEEDS)
            for item, score in enumerate(of_task[task])
        ],
        columns=["model", "task", "seed", "family", "accuracy"],
    )
    table.to_csv("s.csv", index=False)
    return table


@pytest.mark.slow
def test_the_page_says_who_leads_and_what_a_rope_changes(scores):
    options = ("--rope", "0.02", "--quick", "--seed", 1, "--draws", 200)
    found = data_of(ran("benchmark", "s.csv", *COLUMNS, *options, "--json"))
    assert {row["item"] for row in found["ranks"][:2]} == {"m0", "m1"}
    assert [row["rankings"] for row in found["ranks"]] == pytest.approx([N_TASKS] * 5)
    assert found["described"].startswith("16 rankings of 5 models by 8 tasks")
    assert found["fits"] is not False
    page = unescape(Path("s-ranks/report.html").read_text("utf-8"))
    for text in ("no rope", "rope doubled", "Cases have 2 folds"):
        assert text in page
    call = "br.read_scores('s.csv', case='task', score='accuracy', item='model', fold='seed', rope="
    assert f"{call}0.02)" in page
    # checks compare independent rankings: one fold of each task
    assert "use 8 of the 16 rankings" in page
    assert "Models that are not separated" in page
    assert re.search(r"About [\d,]+ more tasks like those so far would separate the two", page)
    assert Path("s-ranks/tied.svg").exists()
    assert len(found["pairs"]) == 5 * 4 / 2
    sums = [sum(row[f"p_{x}"] for x in ("better", "equivalent", "worse")) for row in found["pairs"]]
    assert sums == pytest.approx([1.0] * 10, abs=1e-5)
    assert {row["case"] for row in found["disagreement"]} == {f"t{k}" for k in range(N_TASKS)}
    assert "Tasks that disagree with the rest" in page
    assert "These statements allow that models are equal" in page
    assert "missing" not in found


@pytest.mark.parametrize("rope", ["a=1", "x"])
def test_ropes_are_checked_before_the_fit(scores, rope):
    result = run("benchmark", "s.csv", *COLUMNS, "--rope", rope)
    assert refuses(result, "Error: --rope ")


def test_direction_is_asked_for_as_an_option(scores):
    scores.rename(columns={"accuracy": "error"}).to_csv("e.csv", index=False)
    columns = ("error" if x == "accuracy" else x for x in COLUMNS)
    result = run("benchmark", "e.csv", *columns)
    assert refuses(result, "--lower-is-better '*' or --higher-is-better '*'")


def test_cases_with_other_ropes_have_no_common_units(scores):
    ropes = ("--rope", "0.02", "--rope", "t1=0.05")
    result = run("benchmark", "s.csv", *COLUMNS, *ropes, "--same-units")
    assert refuses(result, "With --same-units all cases have the same rope")


def test_other_rankings_have_no_scores():
    rankings = br.Rankings.from_orderings([["a", "b"], ["b", "a"], ["a", "c"]])
    posterior = br.fit(br.ranking_model(rankings), method="inla", draws=50, random_seed=1)
    with pytest.raises(ValueError, match="`same_units` is for rankings that were made from scores"):
        br.report(posterior, same_units=True)


@pytest.mark.slow
def test_both_routes_are_on_the_page_and_can_be_repeated(scores):
    scores[(scores["model"] != "m4") | (scores["task"] > "t2")].to_csv("m.csv", index=False)
    options = ("--rope", "0.02", "--quick", "--seed", 1, "--draws", 200, "--same-units")
    found = data_of(ran("benchmark", "m.csv", *COLUMNS, *options, "--json"))
    assert {row["item"]: row["missing"] for row in found["missing"]}["m4"] == 3 * N_SEEDS
    assert [row["item"] for row in found["scores"]] == [row["item"] for row in found["ranks"]]
    status = {row["item"]: row["status"] for row in found["scores"]}
    assert status["m4"] == status["m3"] == "behind"
    page = unescape(Path("m-ranks/report.html").read_text("utf-8"))
    assert "By the scores themselves" in page
    assert "same_units=True" in page
    again = br.report(xr.open_datatree("m-ranks/posterior.nc").load(), same_units=True)
    assert again.document["score_pairs"] == found["score_pairs"]
