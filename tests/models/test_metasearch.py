"""Metasearch: data, metrics, every method, and the study."""

from itertools import permutations

import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytest
from sklearn.preprocessing import StandardScaler

from bayesrank.data import PairCounts, UninformativeRankingWarning
from models.metasearch import cps, study, supervised
from models.metasearch.data import metasearch_counts, read_aggregation, read_aggregation_parts
from models.metasearch.label_agreement import label_agreement, supervised_adherence
from models.metasearch.metrics import evaluate, precision, script_ndcg
from models.metasearch.model import build, to_counts
from models.metasearch.svd import svd_scores
from models.shared.letor import folds, turns
from tests.models.normal_draws import normal_posteriors

NOISE = {"engine1": 0.3, "engine2": 0.5, "engine3": 1.0, "engine4": None}  # the last is at random
LISTED = 0.7  # of the documents, the best by what the engine thinks


def searched(n_queries: int = 40, n_documents: int = 8, *, seed: int = 1) -> pd.DataFrame:
    """Simulate a table like that of `read_aggregation_parts`."""
    rng = np.random.default_rng(seed)
    tables = []
    for query in range(n_queries):
        worth = rng.normal(size=n_documents)
        table = pd.DataFrame(
            {
                "part": 5 * query // n_queries,
                "query": query,
                "document": range(n_documents),
                "label": np.digitize(worth, [0.5, 1.2]),
            }
        )
        for engine, noise in NOISE.items():
            seen = rng.normal(size=n_documents) * (noise or 1.0) + (worth if noise else 0.0)
            rank = np.argsort(np.argsort(-seen)) + 1.0
            # its list goes on beyond these documents
            table[engine] = np.where(rank <= LISTED * n_documents, rank * 3, np.nan)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


# Data and metrics


FILE = """\
0 qid:10 1:7 2:NULL #docid = GX1 inc = 1 prob = 0.1
2 qid:10 1:2 2:NULL #docid = GX2 inc = 1 prob = 0.1
1 qid:10 1:NULL 2:5 #docid = GX3 inc = 1 prob = 0.1
0 qid:11 1:1 2:NULL
1 qid:11 1:3 2:NULL
"""

NAN = np.nan


@pytest.fixture
def table(tmp_path):
    (tmp_path / "A1.txt").write_text(FILE)
    return read_aggregation(tmp_path / "A1.txt")


def test_a_file_becomes_a_table_with_a_column_per_engine(table):
    expected = pd.DataFrame(
        {
            "query": [10, 10, 10, 11, 11],
            "document": [0, 1, 2, 0, 1],
            "label": [0, 2, 1, 0, 1],
            "engine1": [7, 2, NAN, 1, 3],
            "engine2": [NAN, NAN, 5, NAN, NAN],
        }
    )
    pd.testing.assert_frame_equal(table, expected)


def test_the_five_files_become_one_table_with_their_parts(tmp_path):
    for part in range(5):
        (tmp_path / f"A{part + 1}.txt").write_text(FILE.replace("qid:1", f"qid:{part}1"))
    table = read_aggregation_parts(tmp_path)
    assert table["part"].tolist() == [part for part in range(5) for _ in range(5)]
    assert list(table) == ["part", "query", "document", "label", "engine1", "engine2"]
    turn = list(turns(table["part"]))[1]  # trains on the parts 1, 2, 3
    assert [table["part"][rows].unique().tolist() for rows in turn] == [[1, 2, 3], [4], [0]]
    (tmp_path / "A4.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"A4\.txt"):
        read_aggregation_parts(tmp_path)


def test_unlisted_documents_come_one_place_after_the_last_that_is_listed(table):
    counts = metasearch_counts(table, unlisted="last").to_frame()
    assert [*counts.itertuples(index=False, name=None)] == [
        ("engine1", 10, 0, 2, 1),  # 7 and then 8
        ("engine1", 10, 1, 0, 5),
        ("engine1", 10, 1, 2, 6),
        ("engine1", 11, 0, 1, 2),
        ("engine2", 10, 2, 0, 1),  # 5 and then 6, twice: tied among themselves
        ("engine2", 10, 2, 1, 1),
    ]
    binary = metasearch_counts(table, "binary", unlisted="last")
    assert binary.count.tolist() == [1] * 6


def mean_over_orders(relevant, score):
    """Average precision, averaged over the orders that the scores leave open."""
    found = []
    for order in permutations(range(len(score))):
        y, s = np.array(relevant)[list(order)], np.array(score)[list(order)]
        if (np.diff(s) <= 0).all():
            at = np.cumsum(y) / np.arange(1, len(y) + 1)
            found.append({"p@2": at[1], "p@3": at[2], "ap": (at * y).sum() / max(y.sum(), 1)})
    return pd.DataFrame(found).mean()


@pytest.mark.parametrize(
    ("relevant", "score"),
    [
        ([1, 0, 1, 0, 1], [1, 1, 1, 0, 0]),
        ([1, 0, 0, 0, 1], [0, 0, 0, 0, 0]),
        ([0, 0, 1, 1, 0], [2, 2, 1, 3, 1]),
        ([1, 1, 1, 1, 1], [2, 2, 1, 3, 1]),
        ([0, 0, 0, 0, 0], [2, 2, 1, 3, 1]),
    ],
)
def test_ties_are_averaged_over_their_orders(relevant, score):
    found = precision(relevant, score, [2, 3])
    assert found == pytest.approx(mean_over_orders(relevant, score).to_dict())


def test_a_table_is_evaluated_query_by_query():
    table = pd.DataFrame({"query": [7, 7, 3, 3, 3], "label": [2, 0, 1, 2, 0]})
    found = evaluate(table, [0.1, 0.9, 0.5, 0.4, 0.3])
    assert found.index.to_list() == [7, 3]
    assert found["p@1"].to_list() == [0, 0]  # grade 1 is not relevant
    assert found["ap"].to_list() == [0.5, 0.5]
    assert found["ndcg@1"].to_list() == pytest.approx([0, 1 / 3])
    assert list(found) == [f"{m}@{k}" for m in ("ndcg", "p") for k in range(1, 6)] + ["ap"]


def test_the_script_of_letor_discounts_the_second_place_like_the_first():
    # gains 3, 1, 0, 0 stand as 1, 0, 3, 0; discounts 1, 1, log2(3), 2
    grades, score = np.array([2, 1, 0, 0]), np.array([0.5, 0.9, 0.7, 0.1])
    expected = {1: 1 / 3, 2: 1 / 4, 3: (1 + 3 / np.log2(3)) / 4, 4: (1 + 3 / np.log2(3)) / 4}
    found = script_ndcg(grades, score)
    assert [found[f"ndcg@{k}"] for k in expected] == pytest.approx([*expected.values()])
    tied = np.array([1.0, 1.0, 0.5, 0.5])  # each order of the tied documents is equally likely
    orders = [[0, 1, 2, 3], [1, 0, 2, 3], [0, 1, 3, 2], [1, 0, 3, 2]]
    scores = [script_ndcg(grades[order], -np.arange(4.0)) for order in orders]
    assert script_ndcg(grades, tied) == pytest.approx(pd.DataFrame(scores).mean().to_dict())
    assert set(script_ndcg([0, 0], [1, 2]).values()) == {0.0}


# Methods without a model


def test_adherence_is_the_mean_share_of_pairs_ordered_as_the_labels_order_them():
    # u ranks both queries, v the first only, and ties b with c
    rows = [
        ("q1", "u", "a", 3), ("q1", "u", "b", 2), ("q1", "u", "c", 1),
        ("q1", "v", "a", 1), ("q1", "v", "b", 2), ("q1", "v", "c", 2),
        ("q2", "u", "a", 1), ("q2", "u", "b", 2),
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["query", "engine", "item", "rating"])
    queries = PairCounts.from_ratings(
        frame, ranker="engine", item="item", rating="rating", problem="query"
    )
    labels = {("q1", "a"): 1, ("q1", "b"): 0, ("q1", "c"): 1, ("q2", "a"): 0, ("q2", "b"): 2}
    found = label_agreement(queries, labels)
    assert found.index.to_list() == ["q1", "q2"]
    # q1, of different labels a > b and c > b: u has a > b only; v has b > a and ties b with c
    np.testing.assert_array_equal(found["u"], [1 / 2, 1])
    np.testing.assert_array_equal(found["v"], [0, np.nan])
    assert supervised_adherence(queries, labels).to_dict() == {"u": 0.75, "v": 0.0}
    with pytest.warns(
        UninformativeRankingWarning,
        match=r"2 of the 2 rankers order no two items of different labels \('u', 'v'\): .* 0\.5",
    ):
        same = supervised_adherence(queries, dict.fromkeys(queries.items, 1))
    assert same.to_dict() == {"u": 0.5, "v": 0.5}


@pytest.mark.parametrize("n_items", [2, 3, 4, 9])
def test_scores_are_recovered_exactly_if_preferences_are_their_differences(rng, n_items):
    s = rng.integers(100, size=n_items)
    found = svd_scores(PairCounts.from_matrix(np.maximum(np.subtract.outer(s, s), 0)))
    np.testing.assert_allclose(found, s - s.mean(), atol=1e-8)


def test_the_approximation_is_the_part_with_the_largest_singular_value(rng):
    C = rng.integers(10, size=(6, 6)) * (1 - np.eye(6, dtype=int))
    U, sigma, Vt = np.linalg.svd(C - C.T)
    rank_two = (U[:, :2] * sigma[:2]) @ Vt[:2]
    np.testing.assert_allclose(
        svd_scores(PairCounts.from_matrix(C)), rank_two.mean(axis=1), atol=1e-8
    )


def test_each_problem_has_its_own_scores():
    frame = pd.DataFrame(
        {"who": "u", "q": [1, 1, 2, 2, 2], "what": list("ababc"), "stars": [1, 3, 9, 3, 0]}
    )
    items = [(2, "c"), (1, "b"), (2, "a"), (1, "a"), (2, "b")]
    c = PairCounts.from_ratings(
        frame, ranker="who", item="what", rating="stars", problem="q", items=items
    )
    found = svd_scores(c)
    assert found.index.tolist() == items
    np.testing.assert_allclose(found, [-4, 1, 5, -1, -1], atol=1e-8)


PLACES = np.array([[1.0, 3.0], [2.0, 1.0], [3.0, 4.0], [4.0, 2.0]])  # of two engines


@pytest.mark.parametrize("distance", cps.DISTANCES)
def test_all_orders_have_probability_one_together(distance):
    weight = np.array([0.7, -0.2])
    total = [
        np.exp(cps.log_likelihood(PLACES, np.array(order), weight, distance, depth=4))
        for order in permutations(range(4))
    ]
    assert sum(total) == pytest.approx(1)


@pytest.mark.parametrize("distance", cps.DISTANCES)
def test_the_log_likelihood_has_its_gradient(distance):
    order, weight, step = np.array([1, 3, 0, 2]), np.array([0.3, -0.4]), 1e-6
    data = cps._stages(PLACES, order, distance, 3)
    _, gradient = cps._logit(weight, *data)
    for m, found in enumerate(gradient):
        values = [
            cps.log_likelihood(PLACES, order, weight + sign * step * np.eye(2)[m], distance, 3)
            for sign in (1, -1)
        ]
        assert found == pytest.approx((values[0] - values[1]) / (2 * step), rel=1e-6)


def test_good_engines_weigh_more_than_one_at_random():
    weight = cps.fit(searched(), distance="kendall", unlisted="last")
    assert weight[:3].min() > abs(weight[3])
    with pytest.raises(ValueError, match=r"^No query of `table` has documents of different grades"):
        cps.fit(searched(4).assign(label=1))


# Models and the study


@pytest.fixture(autouse=True)
def compiles_soon():
    """Toys are too small for what compiling them well would take."""
    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        yield


@pytest.fixture(scope="module")
def simulated():
    return searched()


def test_halving_a_rank_is_a_step_of_one_and_a_typical_rank_is_zero():
    small = pd.DataFrame(
        {
            "part": 0,
            "query": [5, 5, 5, 6],
            "document": [0, 1, 2, 0],
            "label": [0, 1, 2, 0],
            "engine1": [8, 2, np.nan, np.nan],
            "engine2": [np.nan] * 4,
        }
    )
    found = supervised.features(small)
    assert found["engine1 rank"].to_list() == [-1, 1, 0, 0]
    assert found["engine1 unlisted"].to_list() == [0, 0, 1, 1]
    assert found["engine2 rank"].to_list() == [0, 0, 0, 0]
    assert found["grade"].to_list() == [0, 1, 2, 0]


def test_scores_are_in_the_order_of_the_table(simulated):
    documents = supervised.features(simulated)
    fold = next(folds(documents, StandardScaler()))
    turn = next(turns(documents["part"]))
    prepared = StandardScaler().fit(documents.iloc[:, 3:][turn.train])
    beta = np.arange(8.0)
    expected = prepared.transform(documents.iloc[:, 3:][turn.test]) @ beta
    np.testing.assert_allclose(supervised.scores(fold.test, beta), expected)


@pytest.mark.slow
def test_learned_scores_are_about_as_good_as_the_best_engine(simulated):
    tested, chosen = supervised.compare(simulated, scales=[0.03, 0.3])
    assert list(tested) == list(chosen) == list(supervised.METHODS)
    assert all(len(scales) == 5 and set(scales) <= {0.03, 0.3} for scales in chosen.values())
    best, second = (
        evaluate(simulated, -simulated[engine].fillna(99))["ndcg@5"].mean()
        for engine in ("engine1", "engine2")
    )
    for scores in tested.values():
        queries = evaluate(simulated, scores)
        assert len(queries) == 40
        assert queries["ndcg@5"].mean() > max(best - 0.02, second + 0.02)


@pytest.mark.slow
def test_weights_are_those_of_the_utility(simulated):
    # the coefficients of standardised columns over their standard deviations, listed for unlisted
    four = simulated.assign(engine1=4 * simulated["engine1"])
    with normal_posteriors():
        draws, again = (
            supervised.posterior(one, 0.3, draws=200, chains=1) for one in (simulated, four)
        )
    rank, listed = draws["engine1", "halved rank"], draws["engine1", "listed"]
    assert np.corrcoef(rank, listed)[0, 1] < 0.9
    np.testing.assert_allclose(again.mean(), draws.mean(), atol=1e-6)


def test_places_are_roots_of_ranks_and_unlisted_documents_far_below():
    simulated = pd.DataFrame(
        {"query": 5, "document": [0, 1, 2, 3], "engine1": [16, 4, np.nan, np.nan]}
    )
    found = to_counts(simulated, "below").to_frame()
    # places 40 and 20, unlisted at 3 x 40
    expected = {(1, 0): 20, (0, 2): 80, (0, 3): 80, (1, 2): 100, (1, 3): 100}
    pairs = zip(found["first"], found["second"], strict=True)
    assert dict(zip(pairs, found["count"], strict=True)) == expected


def test_learned_adherences_find_the_engine_at_random(simulated):
    with build(to_counts(simulated, "below"), "learned") as model:
        mode = pm.find_MAP(return_inferencedata=True, progressbar=False, jitter=False)
    assert model.named_vars_to_dims["adherence"] == ("ranker",)
    theta = mode["posterior"]["adherence"].to_numpy().ravel()
    assert theta[:2].min() > theta[2] > 3 * theta[3]
    assert float((mode["posterior"]["score"] ** 2).mean()) == pytest.approx(1.0)


def gain(simulated, scores):
    return evaluate(simulated, scores)["ndcg@5"].mean()


def test_adherences_come_from_the_training_queries_of_each_turn(simulated):
    counts = to_counts(simulated, "below")
    found = study.adherences(simulated, counts)
    assert len(found) == 5
    assert all(theta.idxmax() in ("engine1", "engine2") for theta in found)
    assert all(abs(theta["engine4"]) < 0.2 for theta in found)
    as_published = study.adherences(simulated, counts, form="a")
    np.testing.assert_allclose(2 * as_published[0] - 1, found[0])
    positive = study.adherences(simulated, counts, form="(2a - 1)+")
    np.testing.assert_allclose(positive[0], np.maximum(found[0], 0))
    spoilt = simulated.copy()
    test = next(turns(simulated["part"])).test
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
def test_every_method_is_better_than_an_engine_at_random(simulated, method):
    scores = study.METHODS[method](simulated)
    assert len(scores) == (5 if "supervised" in method or "CPS" in method else 1)
    at_random = -simulated["engine4"].fillna(100)
    assert gain(simulated, scores[0]) > gain(simulated, at_random) + 0.15


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
