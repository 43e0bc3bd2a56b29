"""The study of margins: its models, its seasons, and its predictions."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest

from models.margins.model import MODELS, build, pairs_of, who_wins
from models.margins.study import log_losses, parts

TABLE = pd.DataFrame(
    {
        "home": list("abcabcab"),
        "away": list("bcacabcc"),
        "margin": [2, 0, -1, 5, 1, -3, 0, 1],
    }
)


@pytest.mark.parametrize(
    "model",
    [pytest.param(x, marks=[] if x == "margins" else pytest.mark.slow) for x in MODELS],
)
def test_probabilities_of_who_wins_sum_to_one_and_follow_the_grades(model):
    pairs = pairs_of(TABLE, model)
    built, family = build(pairs, model), MODELS[model][1]
    (cut,) = pm.draw([built["cutpoint"]], random_seed=1, mode="FAST_COMPILE")
    p = who_wins(np.array([-1.0, 0.0, 1.0]), np.tile(cut, (3, 1)), family)
    np.testing.assert_allclose(p.sum(axis=-1), 1)
    np.testing.assert_allclose(p[0], p[2, ::-1])
    assert p[2, 0] > p[1, 0] > p[0, 0]


def test_a_season_is_predicted_from_the_one_before_and_its_first_half():
    dates = pd.to_datetime(["2011-09-01", "2012-03-01", "2012-09-01", "2013-03-01", "2013-09-01"])
    seasons = ["2011-12", "2011-12", "2012-13", "2012-13", "2013-14"]
    table = pd.DataFrame({"date": dates, "season": seasons})
    known, coming = parts(table, "2012-13", "2011-12")
    assert known.index.tolist() == [0, 1, 2]
    assert coming.index.tolist() == [3]


@pytest.mark.slow
def test_clear_differences_are_predicted_better_than_by_chance():
    rng = np.random.default_rng(0)
    home, away = rng.permuted(np.tile(np.arange(4), (300, 1)), axis=1)[:, :2].T
    margin = np.rint(2.0 * (away - home) + rng.logistic(size=300)).astype(int)
    table = pd.DataFrame(
        {"home": np.array(list("abcd"))[home], "away": np.array(list("abcd"))[away]}
    ).assign(margin=margin)
    for model in ("who won", "margins"):
        found = log_losses(table[:200], table[200:], model, 1, draws=100, tune=300, chains=2)
        assert found.shape == (100,)
        assert found.mean() < 0.6 < np.log(3)
