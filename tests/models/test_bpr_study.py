"""Recommendation study: the split as read, all questions to each method, rows that must differ."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from models.bpr import study
from models.bpr.study import METHODS, Split, ease, item_mean, judge, list_rank, popularity
from tests.models.rated import taste


@pytest.fixture(scope="module")
def split(tmp_path_factory):
    """A small world of tastes, where chance decides on what is watched."""
    ratings = stars()
    return split_of(tmp_path_factory.mktemp("ua"), ratings.sample(frac=0.6, random_state=1))


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """The same world, where each watches the ten that they like most."""
    ratings = stars().sample(frac=1, random_state=1)  # in any order
    liked = ratings.groupby("user")["rating"].rank(method="first", ascending=False) <= 10
    return split_of(tmp_path_factory.mktemp("liked"), ratings[liked])


def stars():
    return taste(40, 24)[["user", "movie", "rating"]] + [1, 1, 0]


def split_of(folder, ratings):
    """Hold four of what each watched out."""
    ratings = ratings.assign(time=0)
    test = ratings.groupby("user").head(4)
    test.to_csv(folder / "ua.test", sep="\t", header=False, index=False)
    ratings.drop(test.index).to_csv(folder / "ua.base", sep="\t", header=False, index=False)
    return study.read_split(folder)


def test_the_split_is_read_into_users_by_movies(tmp_path):
    (tmp_path / "ua.base").write_text("1\t3\t4\t0\n2\t1\t5\t0\n")
    (tmp_path / "ua.test").write_text("1\t4\t2\t0\n")
    split = study.read_split(tmp_path)
    assert split.train.toarray().tolist() == [[0, 0, 4, 0], [5, 0, 0, 0]]
    assert split.test.toarray().tolist() == [[0, 0, 0, 2], [0, 0, 0, 0]]
    have, test = split.interactions()
    np.testing.assert_array_equal(have.to_matrix(), split.train.toarray() > 0)
    np.testing.assert_array_equal(test.to_matrix(), split.test.toarray() > 0)


def test_popularity_and_means_by_hand():
    split = Split(csr_array([[5.0, 1, 0], [4, 0, 0]]), csr_array((2, 3)))
    assert popularity(split).tolist() == [[2, 1, 0]] * 2
    assert item_mean(split)[1] == pytest.approx([4.5, 1, 10 / 3])


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
@pytest.mark.parametrize("name", [name for name in METHODS if name.startswith("BPR")])
def test_every_form_of_bpr_is_better_than_chance(watched, name, monkeypatch):
    monkeypatch.setattr(study, "N_FACTORS", 4)
    if name == "BPR, ADVI":
        monkeypatch.setitem(METHODS, name, lambda s, seed: study.advi(s, seed, n_steps=20))
    row = judge(watched, name, 1)
    assert row["AUC"] > 0.55
    assert -5 < row["log score"] < 0


def test_the_picture_has_a_point_for_each_method_and_question():
    rows = {name: judge_row(x) for name, x in {"popularity": 0.2, "BPR, factors": 0.6}.items()}
    figure = study.plot(pd.DataFrame(rows).T)
    assert [len(ax.collections[1].get_offsets()) for ax in figure.axes] == [2, 2]
    assert figure.axes[0].collections[1].get_offsets()[1].tolist() == [0.6, 0]
    plt.close(figure)


def judge_row(x):
    return {"NDCG@10": x, "s.e.": 0.01, "stars NDCG@5": x, "s.e. ": 0.01}


def test_popularity_has_the_known_figures(data_dir):
    row = judge(study.read_split(data_dir / "ml-100k"), "popularity", 1)
    assert [row["AUC"], row["NDCG@10"]] == pytest.approx([0.857, 0.133], abs=5e-4)


def test_a_user_without_ratings_is_refused():
    split = Split(csr_array(np.array([[1.0, 2], [0, 0]])), csr_array((2, 2)))
    with pytest.raises(ValueError, match="A user has no ratings"):
        list_rank(split, ridge=0.1)


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
