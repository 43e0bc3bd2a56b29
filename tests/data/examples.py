"""Tables and rankings that the tests of this room share."""

import numpy as np
import pandas as pd

from bayesrank.data import Rankings

STARS = pd.DataFrame(
    {
        "user": ["u", "u", "u", "v", "v", "v", "v"],
        "film": ["c", "a", "b", "b", "d", "a", "c"],
        "stars": [4.5, 2.0, 4.5, 1.0, 3.0, 2.0, 5.0],
    }
)

ROUND_TRIP = {
    "ranking": "ranking",
    "ranker": "ranker",
    "item": "item",
    "rank": "rank",
    "weight": "weight",
}


def from_stars(frame=STARS, **more):
    return Rankings.from_ratings(frame, ranker="user", item="film", rating="stars", **more)


def from_places(frame, **more):
    return Rankings.from_long_ranks(frame, ranker="race", item="car", rank="place", **more)


def places(*rows, columns=("race", "car", "place")):
    return pd.DataFrame(rows, columns=list(columns))


def rankings(**more):
    """Three rankings by two rankers of items a to d."""
    return Rankings.from_orderings(
        [["b", "a", "c"], [{"a", "d"}, "b"], ["d", "a"]],
        rankers=["Ann", "Bo", "Ann"],
        count=[1, 2, 1],
        **more,
        rest=(),
    )


def random_rankings(seed, *, n=40, n_items=6, n_features=None):
    """Draw weak orders of two to six items, most with ties, by at most ten rankers."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "ranking": np.repeat([f"r{i}" for i in rng.permutation(n)], n_items),
            "ranker": np.repeat(rng.integers(10, size=n), n_items),
            "item": np.tile(np.arange(n_items), n),
            "rating": rng.integers(4, size=n * n_items),
        }
    )
    frame = frame[rng.random(len(frame)) < 0.7]
    several = frame.groupby("ranking")["rating"].transform("nunique") > 1
    features = rng.normal(size=(n_items, n_features)) if n_features else None
    return Rankings.from_ratings(
        frame[several],
        ranker="ranker",
        item="item",
        rating="rating",
        ranking="ranking",
        items=range(n_items),
        features=features,
    )
