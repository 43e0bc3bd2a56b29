"""CoFiRank's loss: all orders by enumeration, its slope, what it bounds, and its mode."""

from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import bayesrank as br
from models.pmop_collaborative.cofi_rank import cofi_rank_loss

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
