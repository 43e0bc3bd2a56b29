"""Split MovieLens as in the paper, and fit the models of its tables and its figure.

The protocol is the paper's, scaled down. It keeps movies with at least 10 ratings, whose stars have
an entropy of at least 1 nat. These are 1,123 movies with 96,073 ratings. The training part contains
n ratings of each user.
"""

from collections.abc import Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import entropy

import bayesrank as br
from bayesrank.inference import Point
from models.pmop_collaborative.model import Scales, break_ties, build, fit_map

__all__ = ["grid", "modes", "movielens", "split", "to_rankings"]


def modes(
    rankings: br.Rankings, scales: Sequence[Scales], *, sort: bool = False, **options: Any
) -> list[Point]:
    """Fit `build(rankings, **options)` for each of the scales."""
    return fit_map(build(break_ties(rankings) if sort else rankings, **options), scales)


def grid(**scales: Sequence[float]) -> list[Scales]:
    """Return all combinations of scales."""
    return [dict(zip(scales, values, strict=True)) for values in product(*scales.values())]


def movielens(
    folder: str | Path, *, min_ratings: int = 10, min_entropy: float = 1.0
) -> pd.DataFrame:
    """Read the ratings (user, movie, rating) of the movies about which users differ.

    Parameters
    ----------
    folder : path
        Folder that contains ``u.data``.
    min_ratings : int
        Movies with fewer ratings are omitted.
    min_entropy : float
        Movies whose stars have less entropy are omitted (in nats, at most log 5 = 1.61).
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
