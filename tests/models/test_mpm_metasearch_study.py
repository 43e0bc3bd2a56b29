"""Meta-search compared: all methods, turns of the cross-validation, the real queries."""

import numpy as np
import pandas as pd
import pytest

from bayesrank.results import borda
from models.metasearch import study
from models.metasearch.metrics import LETOR, evaluate
from models.metasearch.model import ranked, to_counts
from models.shared.letor import turns
from tests.models.searched import searched


@pytest.fixture(scope="module")
def table():
    return searched()


def gain(table, scores):
    return evaluate(table, scores)["ndcg@5"].mean()


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


# Studies


@pytest.mark.slow
def test_an_engine_that_is_mostly_wrong_is_turned_round(table):
    wrong = table.assign(engine1=40 - table["engine1"])  # of the best engine, the opposite
    right = gain(table, study.by_supervised_mpm(table, unlisted="missing")[0])
    turned = gain(table, study.by_supervised_mpm(wrong, unlisted="missing")[0])
    assert turned == pytest.approx(right, abs=0.002)
    straight = study.by_supervised_mpm(wrong, unlisted="missing", form="a")[0]
    assert gain(table, straight) < right - 0.05


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
