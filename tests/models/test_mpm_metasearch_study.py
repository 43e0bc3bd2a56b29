"""Meta-search compared: all methods, turns of the cross-validation, the real queries."""

import numpy as np
import pandas as pd
import pytest

from bayesrank.results import borda
from models.metasearch import early, study
from models.metasearch.metrics import LETOR, evaluate
from models.metasearch.model import engine_names, ranked, to_counts
from models.shared.letor import turns
from tests.models.searched import searched


@pytest.fixture(scope="module")
def table():
    return searched()


def gain(table, scores):
    return evaluate(table, scores)["ndcg@5"].mean()


def test_one_engine_that_lists_all_is_followed():
    table = searched(10)[["part", "query", "document", "label"]]
    table["engine1"] = table.groupby("query").cumcount() + 1.0
    for method in (study.by_mpm, study.by_svd, study.by_borda):
        (score,) = method(table, unlisted="missing")
        place = pd.Series(score).groupby(table["query"]).rank(ascending=False)
        np.testing.assert_array_equal(place, table["engine1"])


def test_adherences_come_from_the_training_queries_of_each_turn(table):
    counts = to_counts(table, "below")
    found = study.adherences(table, counts)
    assert len(found) == 5
    assert all(theta.idxmax() in ("engine1", "engine2") for theta in found)
    assert all(abs(theta["engine4"]) < 0.2 for theta in found)
    as_published = study.adherences(table, counts, form="a")
    np.testing.assert_allclose(2 * as_published[0] - 1, found[0])
    positive = study.adherences(table, counts, form="(2a - 1)+")
    np.testing.assert_allclose(positive[0], np.maximum(found[0], 0))
    spoilt = table.copy()
    test = next(turns(table["part"])).test
    spoilt.loc[test, "label"] = 2 - spoilt.loc[test, "label"]
    again = study.adherences(spoilt, counts)
    pd.testing.assert_series_equal(again[0], found[0])
    assert again[2]["engine1"] < found[2]["engine1"] - 0.1  # which trains on those queries


@pytest.mark.slow
def test_an_engine_that_is_mostly_wrong_is_turned_round(table):
    wrong = table.assign(engine1=40 - table["engine1"])  # of the best engine, the opposite
    right = gain(table, study.by_supervised_mpm(table, unlisted="missing")[0])
    turned = gain(table, study.by_supervised_mpm(wrong, unlisted="missing")[0])
    assert turned == pytest.approx(right, abs=0.002)
    straight = study.by_supervised_mpm(wrong, unlisted="missing", form="a")[0]
    assert gain(table, straight) < right - 0.05


@pytest.mark.parametrize("unlisted", ["missing", "last", "below"])
def test_turned_engines_say_the_opposite(table, unlisted):
    some = table[table["query"] < 2]
    counts = to_counts(some, unlisted, turned=["engine2"])
    np.testing.assert_array_equal(counts.dense("engine2 turned"), counts.dense("engine2").T)
    assert list(counts.rankers) == [*engine_names(table), "engine2 turned"]


# One of each kind
SHORT = ("Borda, last", "CPS, Kendall, last", "MPM, below")


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(method, marks=[pytest.mark.slow] * (method not in SHORT))
        for method in study.METHODS
    ],
)
def test_every_method_is_better_than_an_engine_at_random(table, method):
    scores = study.METHODS[method](table)
    assert len(scores) == (5 if "supervised" in method or "CPS" in method else 1)
    at_random = -table["engine4"].fillna(100)
    assert gain(table, scores[0]) > gain(table, at_random) + 0.15


def test_each_query_is_tested_by_the_turn_that_does_not_know_it(table, monkeypatch):
    marks = [np.full(len(table), float(number)) for number in range(5)]
    monkeypatch.setitem(study.METHODS, "marks", lambda _: marks)
    tested = study.compare(table, ["marks"]).scores["marks"]
    # part k + 4 is tested in turn k
    np.testing.assert_array_equal((tested + 4) % 5, table["part"])


def test_the_validation_part_chooses_what_unlisted_means(table, monkeypatch):
    good = np.where(table["part"] < 3, table["label"], -table["label"]).astype(float)
    monkeypatch.setitem(study.METHODS, "Borda, missing", lambda _: [good])
    monkeypatch.setitem(study.METHODS, "Borda, last", lambda _: [-good])
    tested = study.compare(table, ["Borda, missing", "Borda, last"])
    # turns validate on the parts 3, 4, 0, 1, 2
    chosen = ["Borda, last"] * 2 + ["Borda, missing"] * 3
    assert tested.chosen == {"Borda, chosen": chosen}
    expected = np.select([(table["part"] - n) % 5 == 4 for n in range(5)], [-good] * 2 + [good] * 3)
    np.testing.assert_array_equal(tested.scores["Borda, chosen"], expected)


# Gradient ascent that stops early


def test_after_one_small_step_documents_stand_by_their_net_preferences(table):
    some = table[table["query"] < 3].reset_index(drop=True)
    (score,) = early.bradley_terry(some, [1e-6], unit="place")
    counts = to_counts(some, "missing")
    net = counts.net().sum(axis=0)
    assert np.corrcoef(score, net)[0, 1] > 0.9999


def test_units_of_rank_differences():
    table = pd.DataFrame({"query": 1, "document": [0, 1, 2], "engine1": [1.0, 4.0, 8.0]})
    found = {unit: early.counts_in(table, unit) for unit in early.UNITS}
    expected = {"share": [375, 875, 500], "place": [3, 7, 4], "binary": [1, 1, 1]}
    expected["log"] = [1386, 2079, 693]
    for unit, (counts, per_unit) in found.items():
        assert counts.count.tolist() == expected[unit]
        assert per_unit == (1000 if unit in ("share", "log") else 1)
    with pytest.raises(ValueError, match=r"^`unit` is 'stars'; it is one of 'share', 'place', "):
        early.counts_in(table, "stars")


def test_a_rate_is_shared_by_the_documents_or_the_pairs_of_a_query():
    table = pd.DataFrame({"query": [1, 1, 1, 2]})
    assert early.per_query(table, 0.3, "sum").tolist() == [0.3] * 4
    np.testing.assert_allclose(early.per_query(table, 0.3, "documents"), [0.1, 0.1, 0.1, 0.3])
    np.testing.assert_allclose(early.per_query(table, 0.3, "pairs"), [0.1, 0.1, 0.1, 0.3])
    with pytest.raises(ValueError, match=r"`mean` is 'items'; it is one of 'sum', 'documents', 'p"):
        early.per_query(table, 0.3, "items")


# MQ2008-agg, by the command


@pytest.mark.slow
def test_the_study_in_its_reduced_size(data_dir):
    folder = str(data_dir / "MQ2008-agg")
    tables = study.main([folder, "--quick", "--table", "script", "--table", "text"])
    script, text = tables["script"].rows, tables["text"].rows
    assert script.loc["SVD, missing", ["N@1", "N@5", "MAP"]].tolist() == pytest.approx(
        [34.18, 41.60, 42.68], abs=0.05
    )
    assert script.loc["MPM, supervised, last", "N@5"] == pytest.approx(46.16, abs=0.3)
    np.testing.assert_allclose(script["N@1"], text["N@1"])
    assert (script["MAP"] > text["MAP"] + 15).all()


@pytest.mark.slow
def test_the_metrics_of_the_script_are_those_of_the_published_table(data_dir):
    table = study.read(data_dir / "MQ2008-agg", quick=False)
    (score,) = study.METHODS["SVD, missing"](table)
    found = 100 * evaluate(table, score, **LETOR).mean()[study.METRICS]
    published = study.PUBLISHED.loc["SVD, missing"].to_numpy()
    checked = np.isfinite(published)
    assert checked.sum() == 7
    np.testing.assert_allclose(found[checked], published[checked], atol=0.15)


@pytest.mark.slow
def test_what_an_unlisted_document_means_is_most_of_it(data_dir):
    mq2008 = study.read(data_dir / "MQ2008-agg", quick=False)
    missing = borda(ranked(mq2008, "missing")).fillna(-1)
    last = borda(ranked(mq2008, "last")).fillna(-1)
    assert evaluate(mq2008, missing)["ndcg@5"].mean() == pytest.approx(0.3116, abs=0.001)
    assert evaluate(mq2008, last)["ndcg@5"].mean() == pytest.approx(0.4604, abs=0.001)
