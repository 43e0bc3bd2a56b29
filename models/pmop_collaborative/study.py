"""Collaborative filtering on MovieLens 100K: what the likelihood of the order is worth.

Story: users are shown movies which they have rated, but whose ratings were held out, in the order
of their utilities under a model of the ratings they gave to others. All models have five factors
and, unless a row says otherwise, a bias for each movie; they differ in what they make of the
stars: numbers (ALS), pairs (BPR), or a weak order. Each is fitted to its posterior mode.

The protocol is that of the paper, scaled down: movies with at least 10 ratings, whose stars have
an entropy of at least 1 nat (1,123 movies, 96,073 ratings); n training ratings of each user, the
rest to test, for users with at least n + 10.

Run ``python -m models.pmop_collaborative.study FOLDER`` with the folder of MovieLens 100K: some 15
minutes; ``RESULTS.md`` has the figures. How probable the models find what is held out is another
file's question, the figure's.
"""

import argparse
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pymc as pm
from scipy.stats import entropy

import bayesrank as br
from bayesrank.inference import Point
from bayesrank.results import query_metrics
from models.pmop_collaborative.model import Scales, break_ties, build, fit_adam, fit_map, predict
from models.shared.rating_factors import als, item_mean, ratings_of

TOP = 5  # stars

# ---------------------------------------------------------------------------------------------
# Methods: how each is fitted, and the prior scales it chooses from
# ---------------------------------------------------------------------------------------------

Fit = Callable[[br.Rankings, Sequence[Scales]], list[Point]]


def modes(
    rankings: br.Rankings, scales: Sequence[Scales], *, sort: bool = False, **options: Any
) -> list[Point]:
    """Fit `build(rankings, **options)` for each of the scales."""
    return fit_map(build(break_ties(rankings) if sort else rankings, **options), scales)


def steps(
    rankings: br.Rankings, scales: Sequence[Scales], *, likelihood: str, **options: Any
) -> list[Point]:
    """Fit `build(rankings, likelihood=likelihood)` by Adam for each of the scales."""
    model, found = build(rankings, likelihood=likelihood), []
    for values in scales:
        pm.set_data(dict(values), model=model)
        found.append(fit_adam(model, rankings, **options))
    return found


def each(method: Callable[..., Point]) -> Fit:
    """Fit a method for each of the scales."""
    return lambda rankings, scales: [method(rankings, **values) for values in scales]


def grid(**scales: Sequence[float]) -> list[Scales]:
    """All combinations of scales."""
    return [dict(zip(scales, values, strict=True)) for values in product(*scales.values())]


STARS = grid(item_bias_scale=(0.15, 0.3), ranker_scale=(0.07, 0.1, 0.14))
# Blocks chosen whole say little about their items: utilities must differ more before it shows.
SETS = grid(item_bias_scale=(0.25, 0.5, 1.0), ranker_scale=(0.35, 0.7))

METHODS: dict[str, tuple[Fit, list[Scales]]] = {
    "shrunken item mean": (each(item_mean), grid(item_bias_scale=(0.15, 0.2, 0.3, 0.5))),
    "rating factors (ALS)": (each(als), STARS),
    "pairs (BPR)": (
        partial(modes, likelihood="pairs"),
        grid(item_bias_scale=(0.1, 0.2), ranker_scale=(0.01, 0.02)),
    ),
    "PMOP, no item bias": (
        partial(modes, item_bias_scale=None), grid(ranker_scale=(0.35, 0.7, 1.4))
    ),
    "PMOP": (modes, SETS),
    "PMOP, beta 0.01": (partial(modes, beta=0.01), STARS),
    "PMOP, beta 0.3": (partial(modes, beta=0.3), STARS),
    "Plackett-Luce, ties sorted": (partial(modes, likelihood="plackett_luce", sort=True), STARS),
    "Plackett-Luce, tied denominators": (partial(modes, likelihood="tied_denominators"), STARS),
    "Plackett-Luce": (partial(modes, likelihood="plackett_luce"), STARS),
    "Plackett-Luce, by Adam": (partial(steps, likelihood="plackett_luce"), STARS),
    "Plackett-Luce, beta 0.3": (
        partial(modes, likelihood="plackett_luce", beta=0.3), STARS
    ),
}  # fmt: skip


# ---------------------------------------------------------------------------------------------
# Protocol
# ---------------------------------------------------------------------------------------------


def movielens(
    folder: str | Path, *, min_ratings: int = 10, min_entropy: float = 1.0
) -> pd.DataFrame:
    """Ratings (user, movie, rating) of the movies about which users differ.

    Parameters
    ----------
    folder : path
        With ``u.data``.
    min_ratings : int
        Movies with fewer ratings are left out.
    min_entropy : float
        Movies are left out of which the stars have less entropy (in nats, at most log 5 = 1.61).
    """
    names = ["user", "movie", "rating", "time"]
    ratings = pd.read_csv(Path(folder) / "u.data", sep="\t", names=names)
    counts = pd.crosstab(ratings["movie"], ratings["rating"])
    enough = counts.sum(axis=1) >= min_ratings
    kept = enough & (np.asarray(entropy(counts, axis=1)) >= min_entropy)
    return ratings.loc[ratings["movie"].isin(counts.index[kept]), names[:3]]


def split(
    ratings: pd.DataFrame, sizes: Sequence[int], *, at_least: int, seed: int
) -> list[pd.DataFrame]:
    """Split the ratings of each user at random into parts of these sizes, and the rest.

    Users with fewer than `at_least` ratings are left out.
    """
    enough = ratings.groupby("user")["rating"].transform("size") >= at_least
    shuffled = ratings[enough].sample(frac=1, random_state=seed)
    place = shuffled.groupby("user").cumcount()
    edges = [0, *np.cumsum(sizes), len(ratings)]
    return [
        shuffled[(place >= start) & (place < end)].sort_values(["user", "movie"])
        for start, end in pairwise(edges)
    ]


def to_rankings(ratings: pd.DataFrame, items: pd.Index) -> br.Rankings:
    """Rank the movies of each user, and keep the stars as a feature."""
    return br.Rankings.from_ratings(
        ratings, ranker="user", item="movie", rating="rating", items=items, features=["rating"]
    )


def evaluate(point: Point, rankings: br.Rankings) -> pd.DataFrame:
    """ERR and NDCG of each user."""
    score = predict(point, rankings.ranker_idx[:, None], rankings.item)
    return query_metrics(
        ratings_of(rankings),
        score,
        where=rankings.mask,
        labels=rankings.rankers,
        max_grade=TOP,
    ).queries


def compare(
    ratings: pd.DataFrame,
    n_train: int,
    at_least: int,
    *,
    methods: Mapping[str, tuple[Fit, Sequence[Scales]]] = METHODS,
    seeds: Iterable[int] = (1, 2),
    reference: str = "rating factors (ALS)",
) -> pd.DataFrame:
    """Metrics of each method, trained on `n_train` ratings of each user, tested on the rest.

    The scales are chosen across users: for each fifth of them, by the test ratings of the others.
    With several seeds each user is tested on several splits, and counts once: `se` is the standard
    error, over users, of the mean of how far NDCG@5 is from that of `reference`.
    """
    items = pd.Index(np.unique(ratings["movie"]))
    tested: dict[str, list[pd.DataFrame]] = {method: [] for method in methods}
    for seed in seeds:
        parts = split(ratings, [n_train], at_least=at_least, seed=seed)
        train, test = (to_rankings(part, items) for part in parts)
        fifth = np.random.default_rng(seed).permutation(test.n_rankings) % 5
        for method, (fit, scales) in methods.items():
            results = [evaluate(point, test) for point in fit(train, scales)]
            for part in range(5):
                marks = [result[fifth != part].mean().sum() for result in results]
                tested[method].append(results[int(np.argmax(marks))][fifth == part])
    joined = {method: pd.concat(queries) for method, queries in tested.items()}
    return pd.DataFrame(
        {method: _row(queries, joined[reference]) for method, queries in joined.items()}
    ).T


def _row(queries: pd.DataFrame, reference: pd.DataFrame) -> dict[str, float]:
    lead = (queries["ndcg@5"] - reference["ndcg@5"]).groupby(level=0).mean()
    return {str(name): float(mean) for name, mean in queries.mean().items()} | {
        "ndcg@5 lead": float(lead.mean()),
        "se": float(lead.std()) / math.sqrt(len(lead)),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare likelihoods of rated movies.")
    parser.add_argument("folder", help="of MovieLens 100K, with u.data")
    ratings = movielens(parser.parse_args().folder)
    for n_train, at_least in ((10, 20), (50, 60)):
        print(f"{n_train} training ratings, users with at least {at_least}")
        print(compare(ratings, n_train, at_least).round(4).to_string(), flush=True)
