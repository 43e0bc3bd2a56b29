"""Recommendation study: the split as read, all questions to each method, rows that must differ."""

import numpy as np
import pytest

from models.bpr import study
from models.bpr.study import METHODS, ease, judge, list_rank
from tests.models.rated import taste


@pytest.fixture(scope="module")
def split(tmp_path_factory):
    """A small world of tastes, where chance decides on what is watched."""
    ratings = stars()
    return split_of(tmp_path_factory.mktemp("ua"), ratings.sample(frac=0.6, random_state=1))


def stars():
    return taste(40, 24)[["user", "movie", "rating"]] + [1, 1, 0]


def split_of(folder, ratings):
    """Hold four of what each watched out."""
    ratings = ratings.assign(time=0)
    test = ratings.groupby("user").head(4)
    test.to_csv(folder / "ua.test", sep="\t", header=False, index=False)
    ratings.drop(test.index).to_csv(folder / "ua.base", sep="\t", header=False, index=False)
    return study.read_split(folder)


def test_ease_is_a_ridge_regression_of_each_item_on_the_others(split):
    had = (split.train.toarray() > 0).astype(float)
    others = np.delete(had, 3, axis=1)
    gram = others.T @ others + study.EASE_RIDGE * np.eye(others.shape[1])
    expected = others @ np.linalg.solve(gram, others.T @ had[:, 3])
    np.testing.assert_allclose(ease(split)[:, 3], expected)


TASTES = ("EigenRank, greedy", "EigenRank, walk", "ListRank-MF")
SHORT = ("popularity", "item mean", "Pearson neighbours", "EASE", *TASTES[:2])


def test_all_methods_answer_and_those_of_tastes_know_the_order(split, monkeypatch):
    monkeypatch.setitem(METHODS, "ListRank-MF", lambda s, _: list_rank(s, ridge=0.01, n_factors=2))
    rows = {name: judge(split, name, 1, k=5) for name in (*SHORT, "ListRank-MF")}
    for row in rows.values():
        assert all(0 <= row[name] <= 1 for name in ("AUC", "NDCG@5", "stars NDCG@5"))
        assert np.isnan(row["log score"])
    stars = {name: row["stars NDCG@5"] for name, row in rows.items()}
    assert all(stars[name] > stars["popularity"] for name in TASTES)


@pytest.mark.slow
def test_the_study_in_its_reduced_size(data_dir):
    tables = study.main([str(data_dir / "ml-100k"), "--quick", "--table", "compared"])
    rows = tables["compared"].rows
    assert list(rows.index) == list(study.QUICK)
    # a hundred users, from whom little is learned; who is ahead in which question is the same
    assert rows["NDCG@10"].idxmax() == "BPR, factors, by NDCG"
    assert rows.loc["popularity", "AUC"] == pytest.approx(0.83, abs=0.05)
    assert rows["stars NDCG@5"].idxmin() in ("popularity", "BPR, factors, by NDCG")
    assert set(tables["compared"].figures) == {"recommendation.png"}


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """The same world, where each watches the ten that they like most."""
    ratings = stars().sample(frac=1, random_state=1)  # in any order
    liked = ratings.groupby("user")["rating"].rank(method="first", ascending=False) <= 10
    return split_of(tmp_path_factory.mktemp("liked"), ratings[liked])


# Studies


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in METHODS if name.startswith("BPR")])
def test_every_form_of_bpr_is_better_than_chance(watched, name, monkeypatch):
    monkeypatch.setattr(study, "N_FACTORS", 4)
    if name == "BPR, ADVI":
        monkeypatch.setitem(METHODS, name, lambda s, seed: study.advi(s, seed, n_steps=20))
    row = judge(watched, name, 1)
    assert row["AUC"] > 0.55
    assert -5 < row["log score"] < 0
