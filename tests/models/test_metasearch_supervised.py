"""Learning to aggregate: features of documents, prior scales, the engines' weights."""

import numpy as np
import pandas as pd
import pytensor
import pytest
from sklearn.preprocessing import StandardScaler

from models.metasearch import supervised as ms
from models.metasearch.data import read_aggregation_parts
from models.metasearch.metrics import evaluate
from models.shared.letor import folds, turns
from tests.models.normal_draws import normal_posteriors
from tests.models.searched import searched


@pytest.fixture(autouse=True)
def compiles_soon(request):
    """Toys are too small for what compiling them well would take."""
    mode = pytensor.config.mode if "mq2008" in request.node.name else "FAST_COMPILE"
    with pytensor.config.change_flags(mode=mode):
        yield


@pytest.fixture(scope="module")
def table():
    return searched()


@pytest.fixture
def small():
    return pd.DataFrame(
        {
            "part": 0,
            "query": [5, 5, 5, 6],
            "document": [0, 1, 2, 0],
            "label": [0, 1, 2, 0],
            "engine1": [8, 2, np.nan, np.nan],
            "engine2": [np.nan] * 4,
        }
    )


def test_halving_a_rank_is_a_step_of_one_and_a_typical_rank_is_zero(small):
    found = ms.features(small)
    assert found["engine1 rank"].to_list() == [-1, 1, 0, 0]
    assert found["engine1 unlisted"].to_list() == [0, 0, 1, 1]
    assert found["engine2 rank"].to_list() == [0, 0, 0, 0]
    assert found["grade"].to_list() == [0, 1, 2, 0]


def test_scores_are_in_the_order_of_the_table(table):
    documents = ms.features(table)
    fold = next(folds(documents, StandardScaler()))
    turn = next(turns(documents["part"]))
    prepared = StandardScaler().fit(documents.iloc[:, 3:][turn.train])
    beta = np.arange(8.0)
    expected = prepared.transform(documents.iloc[:, 3:][turn.test]) @ beta
    np.testing.assert_allclose(ms.scores(fold.test, beta), expected)


@pytest.mark.slow
def test_what_is_learned_is_about_as_good_as_the_best_engine(table):
    tested, chosen = ms.compare(table, scales=[0.03, 0.3])
    assert list(tested) == list(chosen) == list(ms.METHODS)
    assert all(len(scales) == 5 and set(scales) <= {0.03, 0.3} for scales in chosen.values())
    best, second = (
        evaluate(table, -table[engine].fillna(99))["ndcg@5"].mean()
        for engine in ("engine1", "engine2")
    )
    for scores in tested.values():
        queries = evaluate(table, scores)
        assert len(queries) == 40
        assert queries["ndcg@5"].mean() > max(best - 0.02, second + 0.02)


@pytest.mark.slow
def test_mq2008_is_ranked_as_well_as_by_lambdarank(data_dir):
    table = read_aggregation_parts(data_dir / "MQ2008-agg")
    tested, _ = ms.compare(table, ["PMOP mean"], scales=[0.06, 0.3])
    mean = evaluate(table, tested["PMOP mean"]).mean() * 100
    assert mean["ndcg@1"] > 41.5
    assert mean["ndcg@5"] == pytest.approx(49.5, abs=0.4)


SAMPLING = {"draws": 200, "tune": 200, "chains": 1, "cores": 1, "progressbar": False}


# Studies


@pytest.mark.slow
def test_the_weights_of_engines_have_a_posterior_to_read(table):
    draws = ms.posterior(table, 0.3, **SAMPLING)
    assert draws.shape == (200, 8)
    found = ms.summarise(draws)
    assert found.index.to_list() == ["engine1", "engine2", "engine3", "engine4"]
    halved = found["halved rank"]
    assert halved["mean"].idxmax() in ("engine1", "engine2")
    assert halved.loc["engine1", "low"] > 0 > halved.loc["engine4", "low"]
    assert found.loc["engine1", ("listed", "mean")] > found.loc["engine4", ("listed", "mean")]
    assert (found["listed"]["low"] < found["listed"]["high"]).all()


@pytest.mark.slow
def test_weights_are_those_of_the_utility(table):
    # the coefficients of standardised columns over their standard deviations, listed for unlisted
    four = table.assign(engine1=4 * table["engine1"])
    with normal_posteriors():
        draws, again = (ms.posterior(one, 0.3, **SAMPLING) for one in (table, four))
    rank, listed = draws["engine1", "halved rank"], draws["engine1", "listed"]
    assert np.corrcoef(rank, listed)[0, 1] < 0.9
    np.testing.assert_allclose(again.mean(), draws.mean(), atol=1e-6)
