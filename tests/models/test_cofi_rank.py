"""CoFiRank's loss: all orders by enumeration, its slope, what it bounds, and its mode."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import approx_fprime

import bayesrank as br
from models.pmop_collaborative.cofi_rank import cofi_rank_loss, fit_cofi_rank
from models.pmop_collaborative.model import predict
from models.pmop_collaborative.protocol import to_rankings
from tests.models.rated import taste

RNG = np.random.default_rng(1)


def by_enumeration(utility, stars):
    """Find the largest over all orders, the right order being the one nearest to the utilities."""
    discount = 1 / np.log2(np.arange(len(stars)) + 2)
    c = 1 / np.arange(1, len(stars) + 1) ** 0.25
    gain = 2**stars - 1
    ideal = max(gain[list(p)] @ discount for p in permutations(range(len(stars))))
    orders = [list(p) for p in permutations(range(len(stars)))]
    right = max(c @ utility[p] for p in orders if (np.diff(stars[p]) <= 0).all())
    return max(1 - gain[p] @ discount / ideal + c @ utility[p] for p in orders) - right


@pytest.mark.parametrize("stars", [[5, 4, 3, 2, 1], [1, 3, 3, 5, 1], [2, 2, 2, 2, 2], [4]], ids=str)
def test_the_assignment_is_the_largest_of_all_orders(stars):
    stars = np.array(stars, dtype=float)
    for scale in (0.0, 0.3, 3.0):
        utility = scale * RNG.normal(size=len(stars))
        loss, _ = cofi_rank_loss(utility, stars)
        assert loss == pytest.approx(by_enumeration(utility, stars), abs=1e-12)
        # what it stands for
        assert loss >= 1 - br.ndcg(stars, utility) - 1e-12


def test_the_slope_is_that_of_the_loss():
    stars = np.array([5.0, 3, 3, 1, 4, 2])
    for _ in range(5):
        utility = RNG.normal(size=6)
        numeric = approx_fprime(utility, lambda x: cofi_rank_loss(x, stars)[0], 1e-7)
        np.testing.assert_allclose(cofi_rank_loss(utility, stars)[1], numeric, atol=1e-5)


def test_movies_of_equal_stars_lose_nothing():
    loss, slope = cofi_rank_loss(RNG.normal(size=4), np.full(4, 3.0))
    assert loss == pytest.approx(0, abs=1e-12)
    np.testing.assert_array_equal(slope, 0)


def test_the_fit_knows_tastes_that_means_do_not():
    ratings = taste(30, 12)
    rankings = to_rankings(ratings, pd.Index(range(12)))
    point = fit_cofi_rank(rankings, n_factors=2, ranker_scale=1.0, n_steps=80)
    utility = predict(point, np.arange(30)[:, None], np.arange(12))
    stars = ratings.pivot_table("rating", index="user", columns="movie").to_numpy()

    def mean_ndcg(scores):
        return np.mean([br.ndcg(s, x, k=5) for s, x in zip(stars, scores, strict=True)])

    assert mean_ndcg(utility) > mean_ndcg(np.tile(stars.mean(axis=0), (30, 1))) + 0.1
