"""Meta-search by MPM: what an unlisted document means, adherences given and learned."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest

import bayesrank as br
from models.metasearch import model as ms
from models.metasearch.metrics import evaluate
from tests.models.searched import searched


@pytest.fixture(scope="module")
def table():
    return searched()


@pytest.fixture(scope="module")
def counts(table):
    return ms.to_counts(table, "below")


# Counts


def test_places_are_roots_of_ranks_and_unlisted_documents_far_below():
    table = pd.DataFrame({"query": 5, "document": [0, 1, 2, 3], "engine1": [16, 4, np.nan, np.nan]})
    found = ms.to_counts(table, "below").to_frame()
    # places 40 and 20, unlisted at 3 x 40
    expected = {(1, 0): 20, (0, 2): 80, (0, 3): 80, (1, 2): 100, (1, 3): 100}
    pairs = zip(found["first"], found["second"], strict=True)
    assert dict(zip(pairs, found["count"], strict=True)) == expected


# Scores


def test_the_start_is_near_the_mode(counts):
    model = ms.build(counts)
    logp = model.compile_logp()
    start = model.initial_point()
    (score,) = ms.modes(model)
    mode = {"z": score / model["unit"].get_value()}
    zero = {"z": np.zeros_like(start["z"])}
    assert logp(mode) >= logp(start) > logp(zero)
    assert logp(mode) - logp(start) < 0.3 * (logp(mode) - logp(zero))


def test_learned_adherences_find_the_engine_at_random(counts):
    with ms.build(counts, "learned") as model:
        mode = pm.find_MAP(return_inferencedata=True, progressbar=False, jitter=False)
    assert model.named_vars_to_dims["adherence"] == ("ranker",)
    theta = mode["posterior"]["adherence"].to_numpy().ravel()
    assert theta[:2].min() > theta[2] > 3 * theta[3]
    assert float((mode["posterior"]["score"] ** 2).mean()) == pytest.approx(1.0)


# Studies


@pytest.mark.slow
def test_the_posterior_has_scores_and_adherences(table):
    some = table[table["query"] < 10]
    found = ms.posterior(
        ms.to_counts(some, "below"), draws=100, tune=200, chains=1, cores=1, progressbar=False
    )
    summary = br.adherence_summary(found)
    assert summary.index[-1] == "engine4"
    score = found["posterior"]["score"].mean(("chain", "draw")).to_numpy()
    assert evaluate(some, score)["ndcg@5"].mean() > 0.7
