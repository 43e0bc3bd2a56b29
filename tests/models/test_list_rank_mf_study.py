"""Recommendation study: the split as read, both questions to each method, rows that must differ."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from models.list_rank_mf.study import METHODS, compare, item_mean, list_rank, popularity, read_split
from tests.models.rated import taste


@pytest.fixture
def folder(tmp_path):
    """Two thirds of what a small world of tastes watched, and the rest held out."""
    ratings = taste(40, 24)[["user", "movie", "rating"]] + [1, 1, 0]
    ratings = ratings.sample(frac=0.6, random_state=1).assign(time=0)
    test = ratings.groupby("user").head(4)
    test.to_csv(tmp_path / "ua.test", sep="\t", header=False, index=False)
    ratings.drop(test.index).to_csv(tmp_path / "ua.base", sep="\t", header=False, index=False)
    return tmp_path


def test_the_split_is_read_into_users_by_movies(tmp_path):
    (tmp_path / "ua.base").write_text("1\t3\t4\t0\n2\t1\t5\t0\n")
    (tmp_path / "ua.test").write_text("1\t4\t2\t0\n")
    train, test = read_split(tmp_path)
    assert train.toarray().tolist() == [[0, 0, 4, 0], [5, 0, 0, 0]]
    assert test.toarray().tolist() == [[0, 0, 0, 2], [0, 0, 0, 0]]


def test_popularity_and_means_by_hand():
    ratings = csr_array([[5.0, 1, 0], [4, 0, 0]])
    assert popularity(ratings)(0).tolist() == [2, 1, 0]
    assert item_mean(ratings)(1) == pytest.approx([4.5, 1, 10 / 3])


def test_all_methods_answer_and_those_of_tastes_know_the_order(folder):
    methods = {name: METHODS[name] for name in METHODS if "ridge" not in name}
    methods["ListRank-MF"] = lambda ratings: list_rank(ratings, ridge=0.01, n_factors=2)
    table = compare(*read_split(folder), methods=methods, k=5)
    assert table.index.tolist() == list(methods)
    assert table.notna().all(axis=None)
    metrics = table.drop(columns="cpu seconds")
    assert metrics.max(axis=None) <= 1
    order = table["stars ndcg@5"]
    assert (
        order[["EigenRank, greedy", "EigenRank, walk", "ListRank-MF"]] > order["popularity"]
    ).all()


def test_popularity_has_the_known_figures(data_dir):
    table = compare(*read_split(data_dir / "ml-100k"), methods={"popularity": popularity})
    assert table[["auc", "ndcg@10"]].iloc[0].tolist() == pytest.approx([0.857, 0.133], abs=5e-4)


def test_a_user_without_ratings_is_refused_by_name():
    with pytest.raises(ValueError, match="A user has no ratings"):
        list_rank(csr_array(np.array([[1.0, 2], [0, 0]])), ridge=0.1)
