import numpy as np
import pandas as pd
import pymc as pm
import pytest
from scipy.stats import spearmanr

from models.mpm import model as mpm
from models.mpm import study as mpm_movielens
from tests.models.normal_draws import normal_draws

SAMPLING = {"draws": 300, "tune": 300, "chains": 2, "cores": 1, "random_seed": 1}


def names(model):
    return [rv.name for rv in model.free_RVs]


@pytest.fixture(scope="module")
def counts():
    return mpm.judges().counts("binary")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["z"]),
        ({"adherence": "free"}, ["z", "adherence"]),
        ({"adherence": "unit"}, ["z", "adherence", "scale"]),
        ({"log_variance_scale": 0.1}, ["z", "variance"]),
    ],
    ids=str,
)
def test_options_choose_the_variables(counts, options, expected):
    model = mpm.build(counts, **options)
    assert names(model) == expected
    assert model.named_vars_to_dims["score"] == ("item",)
    assert np.isfinite(model.compile_logp()(model.initial_point()))


@pytest.mark.parametrize(
    "sample", [normal_draws, pytest.param(pm.sample, marks=pytest.mark.slow)], ids=["mode", "NUTS"]
)
@pytest.mark.parametrize("adherence", ["free", "unit"])
def test_judges_who_order_at_random_adhere_least(counts, adherence, sample):
    with mpm.build(counts, adherence=adherence):
        posterior = sample(progressbar=False, **SAMPLING)
    mean = posterior["posterior"]["adherence"].mean(("chain", "draw")).to_series()
    assert set(mean.nsmallest(2).index) == {"judge 1", "judge 2"}
    score = posterior["posterior"]["score"].mean(("chain", "draw"))
    assert spearmanr(score, np.arange(8)).statistic < -0.9


# MovieLens


def mode():
    found = pm.find_MAP(return_inferencedata=True, jitter=False, progressbar=False)
    return found["posterior"].to_dataset().isel(chain=0, draw=0)


@pytest.fixture(scope="module")
def ratings():
    """Simulate stars of 12 movies; the last two are rated by few, the first is best."""
    rng = np.random.default_rng(3)
    rated = rng.random((60, 12)) < np.r_[np.full(10, 0.9), 0.05, 0.05]
    stars = np.clip(np.round(3.5 - 0.2 * np.arange(12) + rng.normal(size=(60, 12))), 1, 5)
    user, movie = np.nonzero(rated)
    return pd.DataFrame({"user": user, "movie": movie, "rating": stars[rated].astype(int)})


@pytest.fixture(scope="module")
def found(ratings):
    return mpm_movielens.scores(ratings)


def test_every_model_puts_the_best_movie_before_the_tenth(found):
    models = found.columns.drop("variance")
    assert len(models) == 7
    assert (found.loc[0, models] > found.loc[9, models]).all()


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


def test_movielens_has_the_papers_best_movies_in_its_order(data_dir):
    ratings, titles = mpm_movielens.read(data_dir / "ml-100k")
    counts = mpm_movielens.to_counts(ratings).pooled()
    with mpm.build(counts):
        score = mode()["score"]
    order = titles[counts.items[np.argsort(-score)]].to_list()
    assert order[:5] == [
        "Star Wars (1977)",
        "Raiders of the Lost Ark (1981)",
        "Godfather, The (1972)",
        "Silence of the Lambs, The (1991)",
        "Shawshank Redemption, The (1994)",
    ]


# Studies


@pytest.mark.slow
def test_movielens_with_variances_has_the_papers_worst_movies(data_dir):
    ratings, titles = mpm_movielens.read(data_dir / "ml-100k")
    counts = mpm_movielens.to_counts(ratings).pooled()
    scales = mpm_movielens.SCORE_SCALE, mpm_movielens.LOG_VARIANCE_SCALE
    with mpm.build(counts, score_scale=scales[0], log_variance_scale=scales[1]):
        found = mode()
    order = titles[counts.items[np.argsort(-found["score"])]].to_list()
    assert {*order[-5:]} == {
        "Island of Dr. Moreau, The (1996)",
        "Jungle2Jungle (1997)",
        "Very Brady Sequel, A (1996)",
        "Striptease (1996)",
        "Cable Guy, The (1996)",
    }
    n_ratings = ratings.groupby("movie").size()[counts.items]
    assert spearmanr(n_ratings, found["variance"]).statistic < -0.9
