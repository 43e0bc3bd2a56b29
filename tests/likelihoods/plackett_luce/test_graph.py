"""Plackett-Luce on weak orders: the graph and the compiled form against the definition.

Everything here holds for both forms; each test runs on both. Masks, batches, impossible ranks and
extremes are in the battery of distributions.
"""

import functools

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from scipy.special import expit

from bayesrank.likelihoods.ops import over_rows
from bayesrank.likelihoods.ops.arrays import valid_ranks
from bayesrank.likelihoods.plackett_luce.graph import logp_of_matrix
from bayesrank.likelihoods.plackett_luce.per_slot import weak_order_logp
from tests.likelihoods.loops import for_each
from tests.oracles import (
    N_WEAK_ORDERS,
    block_sizes,
    compositions,
    dense_trapezoid,
    random_weak_orders,
    weak_order_by_stages,
    weak_orders,
)
from tests.oracles import weak_order_logp as sum_over_orderings

FORMS = {"graph": functools.partial(over_rows, logp_of_matrix), "compiled": weak_order_logp}

# What each form promises for blocks of up to fifteen
TOLERANCE = {"graph": 1e-9, "compiled": 1e-11}


@functools.cache
def compiled_form(name):
    """Values (n,) and gradient of their sum (n, slots)."""
    utility, ranks = pt.dmatrix("utility"), pt.lmatrix("ranks")
    logp = FORMS[name](utility, ranks)
    return pytensor.function([utility, ranks], [logp, pt.grad(logp.sum(), utility)])


def evaluate(form, utility, ranks):
    ranks = np.atleast_2d(ranks)
    # copies: numba compiles anew for an array that is read-only
    utility = np.array(np.broadcast_to(utility, ranks.shape), dtype=np.float64)
    return compiled_form(form)(utility, np.array(ranks, dtype=np.int64))


# By hand


@for_each("form", FORMS)
def test_a_block_of_two_by_hand(form):
    # worths 1, 2, 3; items 0 and 1 before 2: (1/6)(2/5) + (2/6)(1/4) = 3/20
    logp, _ = evaluate(form, np.log([1.0, 2.0, 3.0]), [1, 1, 2])
    np.testing.assert_allclose(np.exp(logp), [3 / 20], atol=1e-10)


# Enumeration


@for_each("n", [2, 3, 4, 5, 6])
def test_there_are_as_many_weak_orders_as_fubini_says(n):
    assert len(weak_orders(n)) == N_WEAK_ORDERS[n]


@for_each("n", [3, 4, 5])
@for_each("form", FORMS)
def test_a_weak_order_is_the_sum_over_its_orderings(form, rng, n):
    utility = rng.normal(scale=2.0, size=n)
    ranks = weak_orders(n)
    exact = [sum_over_orderings(utility, r) for r in ranks]
    logp, _ = evaluate(form, utility, ranks)
    np.testing.assert_allclose(logp, exact, atol=TOLERANCE[form])


@for_each("n", [3, 4, 5, 6])
@for_each("form", FORMS)
def test_the_weak_orders_of_given_sizes_sum_to_one(form, rng, n):
    ranks = weak_orders(n)
    logp, _ = evaluate(form, rng.normal(scale=2.0, size=n), ranks)
    by_sizes = {sizes: [] for sizes in compositions(n)}
    for r, p in zip(ranks, np.exp(logp), strict=True):
        by_sizes[block_sizes(r)].append(p)
    assert len(by_sizes) == 2 ** (n - 1)
    totals = np.array([sum(p) for p in by_sizes.values()])
    np.testing.assert_allclose(totals, 1.0, atol=1e-9)
    # so over all sizes the total is their number, not one
    assert np.exp(logp).sum() == pytest.approx(2 ** (n - 1), abs=1e-7)


@for_each("n", [30, 200])
@for_each("form", FORMS)
def test_long_rankings_of_large_blocks_are_products_of_stages(form, rng, n):
    utility = rng.normal(scale=2.0, size=(5, n))
    ranks = np.unique(rng.integers(5, size=(5, n)), return_inverse=True)[1].reshape(5, n) + 1
    assert (ranks.max(axis=1) == 5).all()
    exact = [
        weak_order_by_stages(u, r, dense_trapezoid) for u, r in zip(utility, ranks, strict=True)
    ]
    logp, _ = evaluate(form, utility, ranks)
    np.testing.assert_allclose(logp, exact, atol=1e-6 if form == "graph" else 1e-10)


# Special cases and symmetries


@for_each("form", FORMS)
def test_two_items_are_bradley_terry(form):
    difference = np.array([-30.0, -2.0, 0.0, 0.5, 3.0, 40.0])
    utility = np.stack([difference, np.zeros(6)], axis=1) + 0.7
    logp, slope = evaluate(form, utility, np.tile([1, 2], (6, 1)))
    np.testing.assert_allclose(logp, -np.logaddexp(0, -difference), atol=1e-14)
    np.testing.assert_allclose(slope[:, 0], expit(-difference), atol=1e-14)
    np.testing.assert_allclose(slope.sum(axis=1), 0.0, atol=1e-14)


def test_the_two_forms_agree_in_value_and_gradient(rng):
    ranks = random_weak_orders(rng, 200, 15)
    utility = rng.normal(scale=rng.uniform(0, 6, size=(200, 1)), size=ranks.shape)
    for one, other in zip(
        evaluate("graph", utility, ranks), evaluate("compiled", utility, ranks), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-8)


def test_valid_ranks_are_dense_from_one():
    bad = [[1, 3, 3], [2, 2, 2], [2, 3, 4], [1, -1, 2], [4, 1, 2], [0, 2, 0], [1, 2, 9]]
    ranks = np.array([[1, 2, 3], [1, 1, 0], [0, 0, 0], *bad])
    expected = [True] * 3 + [False] * len(bad)
    assert valid_ranks(pt.constant(ranks)).eval().tolist() == expected
