"""Small ratings that the tests of the collaborative models share."""

import numpy as np
import pandas as pd

import bayesrank as br

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
