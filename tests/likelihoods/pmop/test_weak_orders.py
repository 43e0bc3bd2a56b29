"""PMOP on weak orders: the compiled kernel against choices among listed sets.

Each test runs on all five set functions. Masks and impossible ranks, which do not depend on the set
function, are in the battery of distributions.
"""

import functools

import numpy as np
import pytest

from bayesrank.likelihoods.pmop.set_kernels import AGGREGATES, ordered_partitions_kernel
from tests.likelihoods.loops import for_each
from tests.oracles import (
    block_sizes,
    gradient,
    ordering_logp,
    partition_logp,
    random_weak_orders,
    weak_orders,
)

TIES = np.log([1.0, 0.4, 2.0])  # blocks of up to three
SINGLE = np.log([1.0])


def evaluate(aggregate, utility, ranks, *, given_sizes=False, log_weight=(), stage_weight=None):
    """Log-probabilities, and gradients by utilities and by log weights of sizes."""
    ranks = np.array(np.atleast_2d(ranks), dtype=np.int64)
    stage_weight = np.ones(ranks.shape[1]) if stage_weight is None else stage_weight
    weights = rows(log_weight, len(ranks)), rows(stage_weight, len(ranks))
    inputs = rows(utility, len(ranks)), ranks, *weights
    return ordered_partitions_kernel(*inputs, AGGREGATES.index(aggregate), given_sizes)


def rows(x, n):
    """Rows of an array of one layout: numba compiles anew for each."""
    x = np.asarray(x, dtype=float)
    return np.array(np.broadcast_to(x, (n, x.shape[-1])), order="C")


# By hand

FIRST = {"mean": 5 / 2, "max": 4, "min": 1, "geometric": 2, "harmonic": 8 / 5}


@for_each("aggregate", AGGREGATES)
def test_worths_one_and_four_by_hand(aggregate):
    # first stage among {1}, {4} and both; a single item that is left is certain
    both = FIRST[aggregate]
    logp, _, _ = evaluate(aggregate, np.log([1.0, 4.0]), [[1, 2], [2, 1], [1, 1]])
    np.testing.assert_allclose(np.exp(logp), np.array([1, 4, both]) / (5 + both), atol=1e-12)


@for_each("aggregate", AGGREGATES)
def test_three_equal_items_by_hand(aggregate):
    # any of 7 sets is first, any of 3 second; given sizes, any of 3, then 2, or 1
    ranks = [[1, 2, 3], [1, 2, 2], [1, 1, 2], [1, 1, 1]]
    logp, _, _ = evaluate(aggregate, np.full(3, 0.4), ranks)
    np.testing.assert_allclose(np.exp(logp), [1 / 21, 1 / 21, 1 / 7, 1 / 7], atol=1e-12)
    logp, _, _ = evaluate(aggregate, np.full(3, 0.4), ranks, given_sizes=True)
    np.testing.assert_allclose(np.exp(logp), [1 / 6, 1 / 3, 1 / 3, 1.0], atol=1e-12)


def test_two_items_and_the_geometric_mean_are_davidson():
    nu, phi, psi = 1.7, 0.6, 2.5
    logp, _, _ = evaluate(
        "geometric",
        np.log([phi, psi]),
        [[1, 2], [2, 1], [1, 1]],
        log_weight=np.log([1, nu]),
    )
    tie = nu * np.sqrt(phi * psi)
    np.testing.assert_allclose(
        np.exp(logp), np.array([phi, psi, tie]) / (phi + psi + tie), atol=1e-13
    )


# Enumeration


@for_each("spread", [0.5, 5.0])
@for_each("n", [3, 4])
@for_each("aggregate", AGGREGATES)
def test_every_weak_order_is_a_product_of_choices_among_sets(n, aggregate, rng, spread):
    utility, ranks = rng.normal(scale=spread, size=n), weak_orders(n)
    for given_sizes, log_weight in ((False, ()), (True, ()), (False, rng.normal(size=n))):
        exact = [
            partition_logp(
                utility, r, aggregate, given_sizes=given_sizes, log_weight=log_weight
            )
            for r in ranks
        ]  # fmt: skip
        logp, _, _ = evaluate(
            aggregate, utility, ranks, given_sizes=given_sizes, log_weight=log_weight
        )
        np.testing.assert_allclose(logp, exact, atol=1e-11)


@for_each("n", [3, 4, 5])
@for_each("aggregate", AGGREGATES)
def test_weak_orders_of_weighted_sizes_add_up_to_one_and_large_blocks_are_impossible(
    aggregate, rng, n
):
    utility, ranks = rng.normal(scale=2.0, size=n), weak_orders(n)
    for log_weight in (SINGLE, TIES, np.append(TIES, [1.0, -2.0, 0.5, 3.0])):
        logp, _, _ = evaluate(aggregate, utility, ranks, log_weight=log_weight)
        assert np.exp(logp).sum() == pytest.approx(1.0, abs=1e-11)
        large = [max(block_sizes(r)) > len(log_weight) for r in ranks]
        np.testing.assert_array_equal(np.isneginf(logp), large)


# Special cases


@for_each("aggregate", AGGREGATES)
def test_single_items_given_sizes_are_plackett_luce(aggregate, rng):
    n = 5
    ranks = np.argsort(rng.random((30, n)), axis=1) + 1
    utility = rng.normal(scale=3.0, size=ranks.shape)
    exact = [ordering_logp(u, tuple(np.argsort(r))) for u, r in zip(utility, ranks, strict=True)]
    logp, _, _ = evaluate(aggregate, utility, ranks, given_sizes=True)
    np.testing.assert_allclose(logp, exact, atol=1e-11)


@for_each("aggregate", AGGREGATES)
def test_at_equal_utilities_the_gradient_still_adds_up_to_zero(aggregate):
    ranks = weak_orders(4)
    for given_sizes in (False, True):
        _, slope, _ = evaluate(aggregate, np.zeros(4), ranks, given_sizes=given_sizes)
        np.testing.assert_allclose(slope.sum(axis=1), 0.0, atol=1e-12)
        assert np.abs(slope).max() > 0.1


# Gradients


@for_each(("given_sizes", "weighted"), [(False, False), (True, False), (False, True)])
@for_each("aggregate", AGGREGATES)
def test_gradients_are_differences_of_choices_among_sets(aggregate, rng, given_sizes, weighted):
    ranks = random_weak_orders(rng, 6, 5, largest=3)
    utility = rng.normal(scale=2.0, size=ranks.shape)
    log_weight = rng.normal(size=(6, 3)) if weighted else np.empty((6, 0))
    settings = {"given_sizes": given_sizes, "log_weight": log_weight}
    _, by_utility, by_weight = evaluate(aggregate, utility, ranks, **settings)

    def one(row, u, d):
        return partition_logp(u, ranks[row], aggregate, given_sizes=given_sizes, log_weight=d)

    for row, (u, d) in enumerate(zip(utility, log_weight, strict=True)):
        numeric = gradient(functools.partial(one, row, d=d), u)
        np.testing.assert_allclose(by_utility[row], numeric, atol=1e-8)
        if weighted:
            numeric = gradient(functools.partial(one, row, u), d)
            np.testing.assert_allclose(by_weight[row], numeric, atol=1e-8)


# Weights of stages


@for_each("aggregate", AGGREGATES)
def test_weights_multiply_the_stages(aggregate, rng):
    utility, ranks = rng.normal(size=4), [2, 1, 2, 3]
    first = partition_logp(utility, np.array([2, 1, 2, 3]), aggregate) - partition_logp(
        utility, np.array([1, 0, 1, 2]), aggregate
    )
    rest = partition_logp(utility, np.array([1, 0, 1, 2]), aggregate)
    weights = [[1, 1, 1, 1], [2.0, 0.5, 0.25, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    logp, slope, _ = evaluate(aggregate, utility, [ranks] * 4, stage_weight=weights)
    # the last stage is certain: the item that is left
    exact = [first + rest, 2 * first + rest / 2, first, 0.0]
    np.testing.assert_allclose(logp, exact, atol=1e-12)
    np.testing.assert_array_equal(slope[3], 0.0)


@for_each("aggregate", AGGREGATES)
def test_as_many_weights_as_a_ranking_has_stages_are_enough(aggregate):
    ranks = [[1, 1, 2], [1, 1, 1], [1, 2, 3]]
    logp, slope, _ = evaluate(aggregate, np.zeros(3), ranks, stage_weight=[1.0, 1.0])
    np.testing.assert_allclose(np.exp(logp), [1 / 7, 1 / 7, 0.0], atol=1e-12)
    assert np.isfinite(slope).all()


# Impossible blocks and extremes


@for_each("aggregate", AGGREGATES)
def test_a_block_larger_than_its_weights_is_impossible_and_has_finite_gradients(aggregate):
    ranks = [[1, 1, 1, 2], [1, 1, 2, 2], [1, 2, 2, 2]]
    logp, *slopes = evaluate(aggregate, np.zeros(4), ranks, log_weight=np.log([1.0, 0.5]))
    # sets of one or two: 4 and 6 of half the weight, then, of the two that are left, 2 and 1
    expected = [0.0, 0.5 / 7 * 0.5 / 2.5, 0.0]
    np.testing.assert_allclose(np.exp(logp), expected, atol=1e-13)
    assert all(np.isfinite(slope).all() for slope in slopes)


@for_each("given_sizes", [False, True])
@for_each("aggregate", AGGREGATES)
def test_nothing_is_lost_at_utilities_of_plus_and_minus_1000(aggregate, given_sizes):
    utility = [[1000.0, -1000, 0, 500], [1000, 1000, 1000, -1000], [-1000, 1000, 1000, 5]]
    ranks = [[4, 1, 2, 3], [2, 2, 2, 1], [1, 1, 2, 0]]
    logp, slope, _ = evaluate(aggregate, utility, ranks, given_sizes=given_sizes)
    exact = [
        partition_logp(np.array(u), np.array(r), aggregate, given_sizes=given_sizes)
        for u, r in zip(utility, ranks, strict=True)
    ]
    np.testing.assert_allclose(logp, exact, atol=1e-9)
    assert np.isfinite(slope).all()
