"""Meta-search: what an unlisted document means, adherences given and learned, the real queries."""

import re

import numpy as np
import pandas as pd
import pymc as pm
import pytest

import bayesrank as br
from bayesrank.aggregation import borda
from bayesrank.data.letor import turns
from bayesrank.data.letor_aggregation import read_aggregation_parts
from models import mpm_metasearch as ms
from models.metasearch_metrics import evaluate
from tests.models.searched import searched

ENGINES = ["engine1", "engine2", "engine3", "engine4"]


@pytest.fixture(scope="module")
def table():
    return searched()


@pytest.fixture(scope="module")
def counts(table):
    return ms.to_counts(table, "below")


def gain(table, scores):
    return evaluate(table, scores)["ndcg@5"].mean()


# Counts


def test_places_are_roots_of_ranks_and_unlisted_documents_far_below():
    table = pd.DataFrame({"query": 5, "document": [0, 1, 2, 3], "engine1": [16, 4, np.nan, np.nan]})
    found = ms.to_counts(table, "below").to_frame()
    # places 40 and 20, unlisted at 3 x 40
    expected = {(1, 0): 20, (0, 2): 80, (0, 3): 80, (1, 2): 100, (1, 3): 100}
    pairs = zip(found["first"], found["second"], strict=True)
    assert dict(zip(pairs, found["count"], strict=True)) == expected


def test_an_engine_that_lists_nothing_prefers_nothing():
    table = pd.DataFrame(
        {"query": 5, "document": [0, 1], "engine1": [1, 2], "engine2": [np.nan, np.nan]}
    )
    for unlisted in ("missing", "last", "below"):
        assert ms.to_counts(table, unlisted).total()[1] == 0


def test_items_are_the_documents_in_their_order(table, counts):
    both = list(zip(table["query"], table["document"], strict=True))
    assert counts.items.to_list() == both


# Scores


def test_with_equal_adherences_scores_order_documents_by_their_mean_rank():
    # complete lists: the mode of equal counts per engine is a function of the net counts
    complete = searched(10).assign(engine1=lambda t: t.groupby("query")["engine4"].rank())
    full = complete.drop(columns=["engine2", "engine3", "engine4"])
    full["engine1"] = full.groupby("query").cumcount() + 1.0
    (score,) = ms.unsupervised(full, unlisted="missing")
    np.testing.assert_allclose(
        pd.Series(score).groupby(full["query"]).rank(),
        full.groupby("query")["document"].rank(ascending=False),
    )


def test_the_start_is_near_the_mode(counts):
    model = ms.build(counts)
    logp = model.compile_logp()
    start = model.initial_point()
    (score,) = ms.modes(model)
    mode = {"z": score / model["unit"].get_value()}
    zero = {"z": np.zeros_like(start["z"])}
    assert logp(mode) >= logp(start) > logp(zero)
    assert logp(mode) - logp(start) < 0.1 * (logp(mode) - logp(zero))


def test_adherences_can_change_without_compiling(counts):
    one, other = ms.modes(ms.build(counts), [[1, 1, 1, 0], [0, 0, 0, 1]])
    (alone,) = ms.modes(ms.build(counts, [0, 0, 0, 1]))
    np.testing.assert_allclose(other, alone, atol=1e-3)
    assert np.corrcoef(one, other)[0, 1] < 0.5


def test_evidence_says_how_many_draws_a_list_passes_for(counts):
    model = ms.build(counts, evidence=7.0)
    weight = model["y_weight"].get_value()
    totals = counts.totals()
    assert (weight * totals)[totals > 0].mean() == pytest.approx(7.0)


def test_learned_adherences_find_the_engine_at_random(counts):
    with ms.build(counts, "learned") as model:
        found = pm.find_MAP(progressbar=False, jitter=False)
    assert model.named_vars_to_dims["adherence"] == ("ranker",)
    theta = found["adherence"]
    assert theta[0] > theta[1] > theta[2] > 3 * theta[3]
    assert np.mean(found["score"] ** 2) == pytest.approx(1.0)


def test_supervised_adherences_come_from_the_training_queries_of_each_turn(table, counts):
    found = ms.adherences(table, counts, 0.5)
    assert len(found) == 5
    assert all(theta.idxmax() in ("engine1", "engine2") for theta in found)
    assert all(theta["engine4"] < 0.2 for theta in found)
    spoilt = table.copy()
    test = next(turns(table["part"])).test
    spoilt.loc[test, "label"] = 2 - spoilt.loc[test, "label"]
    again = ms.adherences(spoilt, counts, 0.5)
    pd.testing.assert_series_equal(again[0], found[0])
    assert (again[1] < found[1]).any()  # which trains on those queries


def test_variances_and_given_pairs_are_options(counts):
    model = ms.build(counts, log_variance_scale=0.3)
    assert [rv.name for rv in model.free_RVs] == ["z", "variance"]
    assert np.isfinite(model.compile_logp()(model.initial_point()))
    conditional = ms.build(counts, given_pairs=True)
    assert conditional["y"].owner.op.name == "mpm_given_pairs"


def test_the_posterior_has_scores_and_adherences(table):
    some = table[table["query"] < 10]
    found = ms.posterior(some, draws=100, tune=200, chains=1, cores=1, progressbar=False)
    summary = br.adherence_summary(found)
    assert summary.index[-1] == "engine4"
    score = found["posterior"]["score"].mean(("chain", "draw")).to_numpy()
    assert gain(some, score) > 0.8


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"adherence": "learnt"}, "`adherence` is 'learnt'; it is 'learned', or a number from 0"),
        ({"adherence": [1, 1, -0.5, 1]}, r"`adherence` is \[1, 1, -0.5, 1\]"),
        ({"evidence": 0.0}, r"`evidence` is 0\.0; it must be positive"),
        ({"log_variance_scale": -1}, "`log_variance_scale` is -1; it must be positive"),
    ],
    ids=str,
)
def test_bad_options_are_named(counts, options, match):
    with pytest.raises(ValueError, match=match):
        ms.build(counts, **options)


# Methods


@pytest.mark.parametrize("method", [m for m in ms.METHODS if "variances" not in m])
def test_every_method_is_better_than_an_engine_at_random(table, method):
    scores = ms.METHODS[method](table)
    assert len(scores) == (5 if method.startswith("supervised") else 1)
    at_random = -table["engine4"].fillna(100)
    assert gain(table, scores[0]) > gain(table, at_random) + 0.15


def test_each_query_is_tested_by_the_turn_that_does_not_know_it(table, monkeypatch):
    marks = [np.full(len(table), float(number)) for number in range(5)]
    seen = {}
    monkeypatch.setitem(ms.METHODS, "marks", lambda _: marks)
    monkeypatch.setattr(ms, "evaluate", lambda t, s: seen.setdefault("tested", s))
    ms.compare(table, ["marks"])
    # part k + 4 is tested in turn k
    np.testing.assert_array_equal((seen["tested"] + 4) % 5, table["part"])


def test_the_validation_part_chooses(table, capsys):
    names = ["supervised MPM, missing", "supervised MPM, below"]
    tested = ms.compare(table, names)
    assert list(tested) == [*names, "supervised MPM, chosen"]
    chosen = re.findall("supervised MPM, [a-z]+", capsys.readouterr().out)
    assert len(chosen) == 5
    assert set(chosen) <= set(names)
    assert ms.percent(tested).loc[names[1], "ndcg@5"] > 80


# MQ2008-agg


@pytest.fixture(scope="module")
def mq2008(data_dir):
    return read_aggregation_parts(data_dir / "MQ2008-agg")


PAPER = [38.17, 40.57, 42.19, 43.07, 43.99]  # theta-MPM, supervised: NDCG@1 to 5
WITHOUT_GRADES = [39.2, 40.4, 43.0, 44.5, 46.7]


def tested(table, method):
    (queries,) = ms.compare(table, [method]).values()
    return queries.filter(like="ndcg").mean() * 100


def test_supervised_scores_of_mq2008_reach_those_of_the_paper(mq2008):
    found = tested(mq2008, "supervised MPM, below")
    assert (found > PAPER).all()
    assert found["ndcg@5"] == pytest.approx(47.0, abs=0.3)


def test_learned_adherences_of_mq2008_do_without_grades(mq2008):
    found = tested(mq2008, "learned MPM, below")
    assert (found >= WITHOUT_GRADES).all()


def test_what_an_unlisted_document_means_is_most_of_it(mq2008):
    missing = borda(ms.ranked(mq2008, "missing")).fillna(-1)
    last = borda(ms.ranked(mq2008, "last")).fillna(-1)
    assert evaluate(mq2008, missing)["ndcg@5"].mean() == pytest.approx(0.3116, abs=0.001)
    assert evaluate(mq2008, last)["ndcg@5"].mean() == pytest.approx(0.4604, abs=0.001)
