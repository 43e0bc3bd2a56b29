"""Elementary symmetric polynomials against long decimals.

The package's figures are errors of log e_m, of inclusion probabilities, or relative ones of counts.
"""

from decimal import Decimal
from itertools import combinations
from math import comb, log

import numpy as np
import pytest
from scipy.special import logsumexp

from bayesrank.likelihoods.pmop.subset_kernels import (
    elementary_symmetric_kernel,
    log_binomial,
)
from tests.likelihoods.loops import for_each
from tests.oracles import elementary_symmetric, gradient, log_elementary_symmetric

# Relative to the value: that of adding hundreds of terms of its size in double precision
ROUNDING = 3e-14

SPREADS = (0.0, 0.5, 1.0, 3.0, 5.0, 100.0, 1000.0)


def symmetric(v, m):
    share, work = np.full(v.size, np.nan), np.empty((2, v.size))
    return elementary_symmetric_kernel(v, m, share, work), share


def exact_shares(v, m, items):
    """x e_{m-1}(the others) / e_m, in long decimals."""
    x = [Decimal(float(y)).exp() for y in v]
    total = elementary_symmetric(x, m)[m]
    others = (elementary_symmetric(x[:i] + x[i + 1 :], m - 1)[m - 1] for i in items)
    return np.array([float(x[i] * e / total) for i, e in zip(items, others, strict=True)])


# The oracle, and what is simple


def test_polynomials_of_one_two_three_by_hand():
    assert elementary_symmetric([Decimal(1), Decimal(2), Decimal(3)], 3) == [1, 6, 11, 6]
    for m, e in ((1, 6.0), (2, 11.0), (3, 6.0)):
        assert symmetric(np.log([1.0, 2.0, 3.0]), m)[0] == pytest.approx(log(e), abs=1e-14)
    # pairs 2, 3 and 6 of the total 11: the items are in two of them each
    share = symmetric(np.log([1.0, 2.0, 3.0]), 2)[1]
    np.testing.assert_allclose(share, np.array([2 + 3, 2 + 6, 3 + 6]) / 11, atol=1e-14)


def test_the_oracle_is_the_sum_over_all_subsets(rng):
    v = rng.normal(scale=3.0, size=9)
    for m in range(1, 10):
        products = [sum(chosen) for chosen in combinations(v, m)]
        assert log_elementary_symmetric(v, m) == pytest.approx(logsumexp(products), abs=1e-12)


@for_each("n", [1, 2, 17, 300])
def test_binomials_are_those_of_integers(n):
    for k in range(n + 1):
        assert log_binomial(n, k) == pytest.approx(log(comb(n, k)), abs=1e-12)


# Against long decimals


@for_each("spread", SPREADS)
@for_each("n", [1, 2, 3, 12])
def test_every_size_of_a_few_items_is_exact(rng, n, spread):
    v = rng.normal(scale=spread, size=n)
    for m in range(1, n + 1):
        exact = log_elementary_symmetric(v, m)
        value, share = symmetric(v, m)
        assert value == pytest.approx(exact, abs=1e-12, rel=1e-15)
        np.testing.assert_allclose(share, exact_shares(v, m, range(n)), atol=1e-12)


@for_each("spread", SPREADS)
@for_each("n", [63, 64, 100])
def test_sizes_around_half_and_at_the_ends_are_exact(rng, n, spread):
    v = rng.normal(scale=spread, size=n)
    items = [int(v.argmin()), int(v.argmax()), 0]
    for m in (1, 2, 30, n // 2 - 1, n // 2, n // 2 + 1, n - 30, n - 1):
        value, share = symmetric(v, m)
        assert value == pytest.approx(log_elementary_symmetric(v, m), abs=1e-11, rel=ROUNDING)
        np.testing.assert_allclose(share[items], exact_shares(v, m, items), atol=1e-11)


@for_each("n", [64, 400])
def test_two_far_clusters_are_exact_at_and_beside_the_gap(n):
    v = np.where(np.arange(n) < n // 2, 30.0, -30.0)
    for m in (n // 2 - 2, n // 2 - 1, n // 2, n // 2 + 1, n // 4):
        value, share = symmetric(v, m)
        assert value == pytest.approx(log_elementary_symmetric(v, m), rel=ROUNDING)
        np.testing.assert_allclose(share[[0, -1]], exact_shares(v, m, [0, n - 1]), atol=1e-12)


# Gradients and symmetries


@for_each(("n", "m"), [(6, 1), (6, 2), (6, 4), (6, 6), (70, 34), (70, 36)])
def test_the_shares_are_the_gradient_and_add_up_to_the_size(rng, n, m):
    v = rng.normal(scale=2.0, size=n)
    share = symmetric(v, m)[1]
    numeric = gradient(lambda u: symmetric(u, m)[0], v)
    np.testing.assert_allclose(share, numeric, atol=1e-8)
    assert share.sum() == pytest.approx(m, abs=1e-11)
    assert ((share >= 0) & (share <= 1 + 1e-12)).all()
