"""Multiple preferences: judges, movies, and the study."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from models.mpm import model as mpm
from models.mpm import study as mpm_movielens
from tests.builders import mode_of
from tests.models.normal_draws import normal_draws


@pytest.mark.parametrize("adherence", ["free", pytest.param("unit", marks=pytest.mark.slow)])
def test_judges_who_order_at_random_adhere_least(adherence):
    with mpm.build(mpm.judges().counts("binary"), adherence=adherence):
        posterior = normal_draws(draws=300)
    mean = posterior["posterior"]["adherence"].mean(("chain", "draw")).to_series()
    assert set(mean.nsmallest(2).index) == {"judge 1", "judge 2"}
    score = posterior["posterior"]["score"].mean(("chain", "draw"))
    assert spearmanr(score, np.arange(8)).statistic < -0.9


# MovieLens


def test_an_order_by_the_stars_themselves_suits_a_user_perfectly():
    ratings = pd.DataFrame({"user": [1, 1, 2], "movie": [1, 2, 1], "rating": [5, 2, 4]})
    order = pd.DataFrame({"good": [2.0, 1.0], "bad": [1.0, 2.0]}, index=[1, 2])
    stars = mpm_movielens.with_constant(ratings, order.index, 0)
    assert stars.tolist() == [[5, 2], [4, 0]]
    suits = mpm_movielens.suits(order, stars)
    assert suits.loc["good", "NDCG@10"] == pytest.approx(1.0)
    assert suits.loc["bad", "NDCG@1"] == pytest.approx((2**2 - 1) / (2**5 - 1) / 2)


@pytest.mark.slow
def test_the_study_in_its_reduced_size(data_dir):
    tables = mpm_movielens.main([str(data_dir / "ml-100k"), "--quick"])
    assert list(tables) == list(mpm_movielens.TABLES)
    assert tables["best"].rows.loc[1, "MPM"].startswith("Star Wars (583")
    filled = tables["filled"].rows
    assert filled.loc["MPM", "NDCG@10"] > 0.5
    assert (tables["constants"].rows.diff(axis=1).iloc[:, 1:] > 0).all(axis=None)
    assert float(tables["posterior"].rows.loc["score", "R-hat, at most"]) < 1.1


@pytest.mark.slow
def test_movielens_has_the_papers_best_movies_in_its_order(data_dir):
    ratings, titles = mpm_movielens.read(data_dir / "ml-100k")
    counts = mpm_movielens.to_counts(ratings).pooled()
    score = mode_of(mpm.build(counts), ftol=None, gtol=None)["score"]
    order = titles[counts.items[np.argsort(-score)]].to_list()
    assert order[:5] == [
        "Star Wars (1977)",
        "Raiders of the Lost Ark (1981)",
        "Godfather, The (1972)",
        "Silence of the Lambs, The (1991)",
        "Shawshank Redemption, The (1994)",
    ]
