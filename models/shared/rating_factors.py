r"""Factor models of ratings, for comparison with models of their order.

Story: a user's rating of a movie is the user's level, plus the general appeal of the movie, plus
the product of the user's factors and the movie's factors. Stars are treated as numbers.

    ranker_level[u]     ~ Normal(mean rating, level_scale)
    item_bias[i]        ~ Normal(0, item_bias_scale)
    ranker_factor[u, k] ~ Normal(0, ranker_scale)
    item_factor[i, k]   ~ Normal(0, item_scale)
    rating[u, i]        ~ Normal(ranker_level[u] + item_bias[i]
                                 + sum_k ranker_factor[u, k] item_factor[i, k], 1)

Both methods return the posterior mode as a point with these names, as `fit_map` of
`models.pmop_collaborative.model` does, and its `predict` accepts it. Fixing the noise at one star
is not a restriction: it is the unit of all scales.

References
----------
Koren, Bell & Volinsky, Matrix factorization techniques for recommender systems, Computer 42, 2009.
"""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

import bayesrank as br
from bayesrank.inference import Point


def ratings_of(rankings: br.Rankings, rating: str = "rating") -> NDArray[np.float64]:
    """Read the ratings from the feature of that name, (n_rankings, n_slots).

    Raises
    ------
    ValueError
        If the rankings have no such feature.
    """
    names = [] if rankings.feature_names is None else list(rankings.feature_names)
    if rankings.features is None or rating not in names:
        raise ValueError(
            f"Ratings are data here (without them, give the order a beta of 1), but `rankings` "
            f"has no feature {rating!r} (it has {names}). Keep them with "
            f"from_ratings(..., features=[{rating!r}])."
        )
    return rankings.features[..., names.index(rating)]


def als(
    rankings: br.Rankings,
    *,
    rating: str = "rating",
    n_factors: int = 5,
    ranker_scale: float = 0.1,
    item_scale: float = 1.0,
    item_bias_scale: float = 0.3,
    level_scale: float = 0.5,
    n_sweeps: int = 100,
    seed: int = 1,
) -> Point:
    """Biased matrix factorisation of ratings by alternating least squares.

    The objective is that of `build` with a beta of zero: given the items' part, every ranker is a
    ridge regression, and the other way round.
    """
    row, slot = np.nonzero(rankings.mask)
    u, i = rankings.ranker_idx[row], rankings.item[row, slot]
    stars = ratings_of(rankings, rating)[row, slot]
    mean = stars.mean()
    n_rankers, n_items = len(rankings.rankers), rankings.n_items
    rng = np.random.default_rng(seed)
    ranker = 0.1 * rng.normal(size=(n_rankers, 1 + n_factors))  # level, factors
    item = 0.1 * rng.normal(size=(n_items, 1 + n_factors))  # bias, factors
    ranker_ridge = np.array([level_scale, *[ranker_scale] * n_factors]) ** -2.0
    item_ridge = np.array([item_bias_scale, *[item_scale] * n_factors]) ** -2.0
    for _ in range(n_sweeps):
        ranker = _ridge(u, n_rankers, item[i], stars - mean - item[i, 0], ranker_ridge)
        item = _ridge(i, n_items, ranker[u], stars - mean - ranker[u, 0], item_ridge)
    return {
        "ranker_level": mean + ranker[:, 0],
        "ranker_factor": ranker[:, 1:],
        "item_bias": item[:, 0],
        "item_factor": item[:, 1:],
    }


def _ridge(
    group: NDArray[Any],
    n_groups: int,
    other: NDArray[np.float64],
    target: NDArray[np.float64],
    ridge: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Regress within each group on a constant and the factors of the other side."""
    x = np.column_stack([np.ones(len(other)), other[:, 1:]])
    order = np.argsort(group, kind="stable")
    ends = np.searchsorted(group[order], np.arange(n_groups + 1))
    x, target = x[order], target[order]
    products = np.tile(np.diag(ridge), (n_groups, 1, 1))
    moments = np.zeros((n_groups, x.shape[1]))
    for n, (first, last) in enumerate(pairwise(ends.tolist())):
        some = x[first:last].T
        products[n] += some @ some.T
        moments[n] = some @ target[first:last]
    return np.linalg.solve(products, moments[..., None])[..., 0]


def item_mean(
    rankings: br.Rankings, *, item_bias_scale: float = 0.3, rating: str = "rating"
) -> Point:
    """Shrink the mean rating of every item towards the overall mean: a model without rankers."""
    stars, item = ratings_of(rankings, rating)[rankings.mask], rankings.item[rankings.mask]
    excess = np.bincount(item, stars - stars.mean(), rankings.n_items)
    shrunken = excess / (np.bincount(item, minlength=rankings.n_items) + item_bias_scale**-2.0)
    nothing = np.zeros((1, 1))
    return {
        "ranker_factor": np.broadcast_to(nothing, (len(rankings.rankers), 1)),
        "item_factor": np.broadcast_to(nothing, (rankings.n_items, 1)),
        "item_bias": shrunken,
    }
