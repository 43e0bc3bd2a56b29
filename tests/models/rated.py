"""Small ratings that the tests of the collaborative models share."""

import functools

import numpy as np
import pandas as pd

import bayesrank as br
from models.pmop_collaborative.model import build
from models.pmop_collaborative.protocol import split, to_rankings

QUICK = "FAST_COMPILE"  # for what is evaluated a few times only

# Ann: c (5 stars), then a and b (3 stars). Bo: b (4), then c (1).
STARS = pd.DataFrame(
    {"user": ["Ann"] * 3 + ["Bo"] * 2, "movie": list("abcbc"), "rating": [3, 3, 5, 4, 1]}
)
TWO = br.Rankings.from_ratings(
    STARS, ranker="user", item="movie", rating="rating", features=["rating"]
)


def taste(n_users=60, n_movies=30, seed=3):
    """Ratings of all by all, where two factors move the stars more than the movies' biases."""
    rng = np.random.default_rng(seed)
    W, H = rng.normal(size=(n_users, 2)), rng.normal(size=(n_movies, 2))
    liking = 3 + W @ H.T + 0.3 * rng.normal(size=n_movies)
    user, movie = np.indices(liking.shape)
    return pd.DataFrame(
        {
            "user": user.ravel(),
            "movie": movie.ravel(),
            "rating": np.clip(np.round(liking + 0.3 * rng.normal(size=liking.shape)), 1, 5).ravel(),
        }
    )


@functools.cache
def six():
    """Six users of five movies each, of eight, and the model with all its parts."""
    ratings = taste(6, 8)
    (part, _) = split(ratings, [5], at_least=8, seed=1)
    rankings = to_rankings(part, pd.Index(range(8)))
    return rankings, build(rankings, n_factors=2, beta=0.3, ranker_scale=0.5)


@functools.cache
def six_objective():
    """Value and gradient of that model, compiled."""
    return six()[1].logp_dlogp_function(ravel_inputs=True, mode=QUICK)


def nothing_for(rankings):
    """Give the point of equal utilities."""
    return {
        "ranker_factor": np.zeros((len(rankings.rankers), 1)),
        "item_factor": np.zeros((rankings.n_items, 1)),
    }
