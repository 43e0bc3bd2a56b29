"""Recommendation from ratings, on MovieLens 100K: what EigenRank and ListRank-MF find again.

Protocol of the ua split: 943 users, 10 ratings of each held out, 90,570 to learn from. Two
questions to each method. Which of all movies not known (some 1,586 per user) did the user rate:
AUC and NDCG@10, any rating counting. And in what order, of those ten: NDCG@5 of the stars.
``RESULTS.md`` has the table.

Run ``python -m models.list_rank_mf.study FOLDER`` with the folder of MovieLens 100K: 4 minutes.
"""

import argparse
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

import bayesrank as br
from bayesrank.aggregation import eigenrank, predict_ratings
from bayesrank.results import query_metrics, recommendation_metrics
from models.list_rank_mf.model import build, fit_map, scores

Scores = Callable[[int], NDArray[np.float64]]  # of all items, from the index of the user
Method = Callable[[csr_array], Scores]


def popularity(ratings: csr_array) -> Scores:
    """How many users rated it."""
    count = np.bincount(ratings.indices, minlength=ratings.shape[1]).astype(np.float64)
    return lambda user: count


def item_mean(ratings: csr_array) -> Scores:
    """Mean rating of each item; of those without any, that of all ratings."""
    count = np.bincount(ratings.indices, minlength=ratings.shape[1])
    total = np.bincount(ratings.indices, ratings.data, ratings.shape[1])
    mean = np.divide(total, count, out=np.full(len(count), ratings.data.mean()), where=count > 0)
    return lambda user: mean


def list_rank(ratings: csr_array, *, ridge: float, n_factors: int = 10) -> Scores:
    """ListRank-MF at its mode."""
    n_users, n_items = ratings.shape
    count = np.diff(ratings.indptr)
    if not count.all():
        raise ValueError("A user has no ratings to learn from: leave the user out of the data.")
    user = np.repeat(np.arange(n_users), count)
    table = pd.DataFrame({"user": user, "item": ratings.indices, "rating": ratings.data})
    rankings = br.Rankings.from_ratings(
        table, ranker="user", item="item", rating="rating", features=["rating"],
        items=range(n_items),
    )  # fmt: skip
    (point,) = fit_map(build(rankings, n_factors=n_factors), [ridge])
    return scores(point)


METHODS: dict[str, Method] = {
    "popularity": popularity,
    "item mean": item_mean,
    "Pearson neighbours": lambda ratings: partial(predict_ratings, ratings),
    "EigenRank, greedy": lambda ratings: partial(eigenrank, ratings),
    "EigenRank, walk": lambda ratings: partial(eigenrank, ratings, order="walk"),
    "ListRank-MF, ridge 0.003": partial(list_rank, ridge=0.003),
    "ListRank-MF, ridge 0.01": partial(list_rank, ridge=0.01),
    "ListRank-MF, ridge 0.03": partial(list_rank, ridge=0.03),
}


def read_split(folder: str | Path, name: str = "ua") -> tuple[csr_array, csr_array]:
    """Read the ratings to learn from and those held out, users by movies."""
    columns = ["user", "movie", "rating", "time"]
    train, test = (
        pd.read_csv(Path(folder) / f"{name}.{part}", sep="\t", names=columns)
        for part in ("base", "test")
    )
    both = pd.concat([train, test])
    shape = int(both["user"].max()), int(both["movie"].max())
    return _matrix(train, shape), _matrix(test, shape)


def _matrix(table: pd.DataFrame, shape: tuple[int, int]) -> csr_array:
    cells = table["user"].to_numpy() - 1, table["movie"].to_numpy() - 1
    return csr_array((table["rating"].to_numpy(np.float64), cells), shape=shape)


def compare(
    train: csr_array, test: csr_array, *, methods: Mapping[str, Method] = METHODS, k: int = 10
) -> pd.DataFrame:
    """Metrics of each method, means over users; `se` is the standard error of NDCG."""
    known, held_out = train > 0, test > 0
    users = np.flatnonzero(np.diff(test.indptr)).tolist()
    stars = [test.data[test.indptr[u] : test.indptr[u + 1]] for u in users]
    rows = {}
    for name, method in methods.items():
        begin = time.process_time()
        of_user = method(train)
        table = np.full(train.shape, np.nan)
        for u in users:
            table[u] = of_user(u)
        seconds = time.process_time() - begin
        found = recommendation_metrics(table, held_out, known, k=k)
        theirs = [table[u, test.indices[test.indptr[u] : test.indptr[u + 1]]] for u in users]
        order = query_metrics(stars, theirs, k=(5,)).means
        rows[name] = {
            **{str(metric): float(mean) for metric, mean in found.means.items()},
            "se": float(np.std(found.queries[f"ndcg@{k}"].to_numpy()[users]) / len(users) ** 0.5),
            "stars ndcg@5": float(order["ndcg@5"]),
            "cpu seconds": seconds,
        }
    return pd.DataFrame(rows).T


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Recommend the movies held out.")
    parser.add_argument("folder", help="of MovieLens 100K, with ua.base and ua.test")
    print(compare(*read_split(parser.parse_args().folder)).round(4).to_string())
