"""Meta-search compared: all methods, turns of the cross-validation, the real queries."""

import re

import numpy as np
import pandas as pd
import pytest

from bayesrank.aggregation import borda
from models.metasearch import study
from models.metasearch.data import read_aggregation_parts
from models.metasearch.metrics import evaluate
from models.metasearch.model import to_counts
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
    for method in (study.unsupervised, study.by_svd, study.by_borda):
        (score,) = method(table, unlisted="missing")
        place = pd.Series(score).groupby(table["query"]).rank(ascending=False)
        np.testing.assert_array_equal(place, table["engine1"])


def test_supervised_adherences_come_from_the_training_queries_of_each_turn(table):
    counts = to_counts(table, "below")
    found = study.adherences(table, counts, 0.5)
    assert len(found) == 5
    assert all(theta.idxmax() in ("engine1", "engine2") for theta in found)
    assert all(theta["engine4"] < 0.2 for theta in found)
    spoilt = table.copy()
    test = next(turns(table["part"])).test
    spoilt.loc[test, "label"] = 2 - spoilt.loc[test, "label"]
    again = study.adherences(spoilt, counts, 0.5)
    pd.testing.assert_series_equal(again[0], found[0])
    assert again[2]["engine1"] < found[2]["engine1"] - 0.1  # which trains on those queries


# One of each kind
SHORT = ("Bradley-Terry, last", "learned MPM, missing", "supervised MPM, below, 2a - 1")


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(method, marks=[pytest.mark.slow] * (method not in SHORT))
        for method in study.METHODS
        if "variances" not in method
    ],
)
def test_every_method_is_better_than_an_engine_at_random(table, method):
    scores = study.METHODS[method](table)
    assert len(scores) == (5 if method.startswith("supervised") else 1)
    at_random = -table["engine4"].fillna(100)
    assert gain(table, scores[0]) > gain(table, at_random) + 0.15


def test_each_query_is_tested_by_the_turn_that_does_not_know_it(table, monkeypatch):
    marks = [np.full(len(table), float(number)) for number in range(5)]
    seen = {}
    monkeypatch.setitem(study.METHODS, "marks", lambda _: marks)
    monkeypatch.setattr(study, "evaluate", lambda t, s: seen.setdefault("tested", s))
    study.compare(table, ["marks"])
    # part k + 4 is tested in turn k
    np.testing.assert_array_equal((seen["tested"] + 4) % 5, table["part"])


def test_the_validation_part_chooses(table, capsys):
    names = ["supervised MPM, missing", "supervised MPM, below"]
    tested = study.compare(table, names)
    assert list(tested) == [*names, "supervised MPM, chosen"]
    chosen = re.findall("supervised MPM, [a-z]+", capsys.readouterr().out)
    assert len(chosen) == 5
    assert set(chosen) <= set(names)
    assert study.percent(tested).loc[names[1], "ndcg@5"] > 80


# MQ2008-agg


@pytest.fixture(scope="module")
def mq2008(data_dir):
    return read_aggregation_parts(data_dir / "MQ2008-agg")


PAPER = [38.17, 40.57, 42.19, 43.07, 43.99]  # theta-MPM, supervised: NDCG@1 to 5
WITHOUT_GRADES = [39.2, 40.4, 43.0, 44.5, 46.7]


def ndcg_of(table, method):
    (queries,) = study.compare(table, [method]).values()
    return queries.filter(like="ndcg").mean() * 100


@pytest.mark.slow
def test_supervised_scores_of_mq2008_reach_those_of_the_paper(mq2008):
    found = ndcg_of(mq2008, "supervised MPM, below")
    assert (found > PAPER).all()
    assert found["ndcg@5"] == pytest.approx(47.0, abs=0.3)


@pytest.mark.slow
def test_learned_adherences_of_mq2008_do_without_grades(mq2008):
    found = ndcg_of(mq2008, "learned MPM, below")
    assert (found >= WITHOUT_GRADES).all()


@pytest.mark.slow
def test_what_an_unlisted_document_means_is_most_of_it(mq2008):
    missing = borda(study.ranked(mq2008, "missing")).fillna(-1)
    last = borda(study.ranked(mq2008, "last")).fillna(-1)
    assert evaluate(mq2008, missing)["ndcg@5"].mean() == pytest.approx(0.3116, abs=0.001)
    assert evaluate(mq2008, last)["ndcg@5"].mean() == pytest.approx(0.4604, abs=0.001)
