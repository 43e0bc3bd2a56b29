"""Rankings of one ranker, and matches of one label, are not independent: what the commands do."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.special import expit
from scipy.stats import norm

from bayesrank.analysis import rankings as analysis_of_rankings
from bayesrank.analysis.mixtures import MixtureAnalysis
from bayesrank.analysis.rankings import RankingAnalysis
from bayesrank.cli.options import MatchColumns, RankColumns
from bayesrank.cli.reading import opened, read
from bayesrank.reporting.predict import at_new_labels, next_ranking
from bayesrank.tables.clusters import clusters
from models.fit.model import Ballots, log_likelihood
from tests.builders import ORDERS, ballots
from tests.commands import few, no_sampling, ran, run


def job(rankings, **options):
    category = "category" if "category" in rankings.groups else None
    return RankingAnalysis(rankings, category=category, **options)


def test_rankers_with_several_rankings_have_opinions():
    assert job(ballots(5, 2)).differ
    assert "opinions of each ranker" in job(ballots(5, 2)).description
    assert not job(ballots(5, 1)).differ
    assert not job(ballots(5, 2), opinions=False).differ
    assert job(ballots(5, 1)).cautions() == job(ballots(5, 2)).cautions() == []


def test_a_note_says_that_intervals_are_too_narrow_without_opinions(monkeypatch):
    (note,) = job(ballots(4, 2)).cautions()
    assert "fewer than 5 rankers cannot show how much they differ" in note
    assert job(ballots(4, 2), opinions=True).differ
    assert job(ballots(4, 2), opinions=False).cautions() == []
    monkeypatch.setattr(analysis_of_rankings, "MOST_OPINIONS", 20)
    (note,) = job(ballots(7, 2)).cautions()
    assert note.startswith("The 7 rankers have 2.0 rankings each on average.")
    assert note.endswith("To model them anyway, use `opinions=True`.")
    (note,) = job(ballots(7, 1), opinions=True).cautions()
    assert note == "No ranker has several rankings, so `opinions=True` has no effect."


@pytest.mark.parametrize("category", [False, True])
def test_the_model_adds_deviations_of_each_ranker_to_the_utilities(category):
    rankings = ballots(5, 2)
    if category:
        rankings = rankings.grouped({"category": ["x", "y"] * 5})
    model = job(rankings, opinions=True).model
    names = [rv.name for rv in model.free_RVs]
    more = ["category_spread", "category_z"] if category else []
    assert names == ["utility_scale", "utility_z", *more, "ranker_spread", "ranker_z"]
    rng = np.random.default_rng(2)
    point = {name: rng.normal(size=np.shape(x)) for name, x in model.initial_point().items()}
    found = model.compile_logp(model.observed_RVs)(point)
    values = {rv.name: model.rvs_to_values[rv].name for rv in model.free_RVs}
    scale, spread = (np.exp(point[values[name]]) for name in ("utility_scale", "ranker_spread"))
    u = scale * point["utility_z"]
    if category:
        assert np.isfinite(found)
        return
    v = u + spread * point["ranker_z"]
    items = np.array([[list(rankings.items).index(x) for x in ORDERS[k % 4]] for k in range(10)])
    expected, _, _ = log_likelihood(v, Ballots(items, rankings.ranker_idx.astype(int), 3))
    assert found == pytest.approx(expected)


def test_the_next_ranking_is_that_of_a_new_ranker():
    dims, n = ("chain", "draw", "item"), 4000
    draws = xr.Dataset(
        {
            "utility": (dims, np.broadcast_to([1.0, 0.0], (2, n, 2))),
            "ranker_spread": (dims[:2], np.full((2, n), 1.5)),
            "ranker_deviation": ((*dims[:2], "ranker", "item"), np.zeros((2, n, 3, 2))),
        },
        {"item": ["a", "b"]},
    )
    changed, new = at_new_labels(draws)
    assert new == ["ranker"]
    found = next_ranking(changed, ["a", "b"], 0.9).data["predictions"].loc["a"]
    node, weight = np.polynomial.hermite_e.hermegauss(40)
    wanted = weight @ expit(1 + 1.5 * np.sqrt(2) * node) / weight.sum()
    assert found["p_first"] == pytest.approx(wanted, abs=5 * 0.5 / np.sqrt(2 * n))
    bound = 1 + 1.5 * np.sqrt(2) * norm.ppf(0.05)
    assert found["p_first_low"] == pytest.approx(expit(bound), abs=0.02)


def test_group_names_other_clusters(tmp_path):
    file = tmp_path / "t.csv"
    rows = [f"r{k},s{k // 2},{item},{n}" for k in range(6) for n, item in enumerate("abc", 1)]
    file.write_text("\n".join(["who,school,item,rank", *rows]), encoding="utf-8")
    columns = RankColumns(ranker="who", item="item", rank="rank", group="school")
    rankings, _ = read(opened(file, columns), columns)
    assert rankings.groups["cluster"].labels.tolist() == ["s0", "s1", "s2"]
    found = RankingAnalysis(rankings, cluster="cluster")
    assert "opinions of each school" in found.description
    assert found.model["cluster_deviation"].type.shape == (None, None)
    assert not MixtureAnalysis(rankings, components=2).differ


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--date", "d", "--group", "g"), "Leave --group out"),
        (("--date", "d", "--opinions"), "Leave --opinions out"),
        (("--components", 2, "--group", "g"), "all rankings of a ranker have one component"),
        (("--group", "g", "--no-opinions"), "Use one of them"),
    ],
)
def test_options_that_exclude_opinions(tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("who,item\nann,ale\n", encoding="utf-8")
    assert refuses_usage(
        run("rank", "t.csv", "--ranker", "who", "--item", "item", *options), message
    )


def refuses_usage(result, message):
    return result.exit_code == 2 and message in " ".join(result.stderr.split())


def test_a_report_says_how_much_rankers_differ(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        f"r{k // 2},b{k},{item},{1 + n}" for k in range(12) for n, item in enumerate(ORDERS[k % 4])
    ]
    Path("t.csv").write_text("\n".join(["who,ballot,item,rank", *rows]), encoding="utf-8")
    no_sampling(monkeypatch, few)
    options = ("--ranker", "who", "--ranking", "ballot", "--item", "item", "--rank", "rank")
    result = ran("rank", "t.csv", *options, "--output-dir", "out", "--seed", 1)
    text = " ".join(result.stdout.split())
    assert "Rankings with the same ranker are not independent" in text
    assert pd.read_csv("out/opinions.csv")["labels"].tolist() == [6]
    predicted = run("predict", "out/posterior.nc", "a", "b").stdout
    assert "The prediction is for a new ranker: utilities vary there as they do" in predicted
    assert pd.read_csv("out/predictions.csv").columns[0] == "ranking"
    ran("report", "out/posterior.nc", "--output-dir", "again", "--force")


# Matches


def matches(spread, seed=1):
    """Matches of 4 items in 80 prompts of 5 votes, where items deviate by `spread`."""
    rng = np.random.default_rng(seed)
    prompt = np.repeat(np.arange(80), 5)
    first = rng.integers(4, size=400)
    second = (first + rng.integers(1, 4, size=400)) % 4
    deviation = spread * rng.normal(size=(80, 4)) + np.arange(4) / 2
    lead = deviation[prompt, first] - deviation[prompt, second] + 0.5
    won = rng.random(400) < 1 / (1 + np.exp(-lead))
    return pd.DataFrame(
        {
            "a": first, "b": second, "won": np.where(won, "first", "second"), "prompt": prompt,
            "colour": rng.integers(20, size=400), "id": np.arange(400), "same": "x",
        }
    )  # fmt: skip


def test_columns_that_group_dependent_matches_are_found():
    names = {"a": "first", "b": "second", "won": "outcome"}
    found = [
        clusters(table, table[["colour", "prompt", "id", "same"]])
        for table in (matches(1.5).rename(columns=names), matches(0.0).rename(columns=names))
    ]
    assert found == [["prompt"], []]


def test_dependence_of_independent_matches_is_within_chance():
    names = {"a": "first", "b": "second", "won": "outcome"}
    for seed in range(20):
        table = matches(0.0, seed).rename(columns=names)
        assert clusters(table, table[["colour", "prompt"]]) == []


def test_a_note_names_the_column_once(tmp_path):
    file, notes = tmp_path / "t.csv", []
    matches(1.5).to_csv(file, index=False)
    columns = MatchColumns(first="a", second="b", outcome="won")
    pairs, _ = read(opened(file, columns), columns)
    notes += pairs.notes
    (note,) = notes
    assert note.startswith("Column 'prompt' repeats, and matches with the same label depend on")
    assert pairs.counts.sum() == 400
    notes.clear()
    columns = MatchColumns(**vars(columns) | {"group": ("prompt",)})
    notes += read(opened(file, columns), columns)[0].notes
    assert notes == []
