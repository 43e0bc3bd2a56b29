"""Counts summed over pairs of the same two items, and orders that outcomes can come in."""

from itertools import permutations

import numpy as np
import pytest

from bayesrank.data.derive import log_multinomial, pair_totals

FIRST = np.array([2, 0, 1, 0, 2])
SECOND = np.array([0, 1, 0, 1, 1])
COUNTS = np.array([[1, 2, 3], [4, 0, 1], [0, 5, 2], [1, 1, 1], [0, 0, 0]])
WEIGHT = np.array([1.0, 2.0, 1.0, 0.5, 3.0])


def test_pairs_are_two_with_their_mirror_image_where_the_order_matters():
    totals = pair_totals(FIRST, SECOND, COUNTS, WEIGHT, ordered=True)
    assert list(zip(totals.first, totals.second, strict=True)) == [(0, 1), (1, 0), (2, 0), (2, 1)]
    assert totals.counts.T.tolist() == [[8.5, 0.5, 2.5], [0, 5, 2], [1, 2, 3], [0, 0, 0]]
    assert totals.first.dtype == totals.second.dtype == np.int32


def test_pairs_are_one_with_their_mirror_image_where_it_does_not():
    totals = pair_totals(FIRST, SECOND, COUNTS, WEIGHT, ordered=False)
    assert list(zip(totals.first, totals.second, strict=True)) == [(0, 1), (0, 2), (1, 2)]
    assert totals.counts.T.tolist() == [[13.5, 0.5, 4.5], [2, 1, 3], [0, 0, 0]]


@pytest.mark.parametrize("ordered", [True, False])
def test_two_outcomes_are_the_first_of_three(ordered):
    three = pair_totals(FIRST, SECOND, COUNTS, WEIGHT, ordered=ordered)
    two = pair_totals(FIRST, SECOND, COUNTS[:, :2], WEIGHT, ordered=ordered)
    np.testing.assert_array_equal(two.counts, three.counts[:2])


def test_the_order_of_the_rows_does_not_matter():
    order = np.random.default_rng(1).permutation(5)
    one = pair_totals(FIRST, SECOND, COUNTS, WEIGHT, ordered=False)
    other = pair_totals(FIRST[order], SECOND[order], COUNTS[order], WEIGHT[order], ordered=False)
    for x, y in zip(one, other, strict=True):
        np.testing.assert_allclose(y, x)


def test_ways_are_the_distinct_orders_of_the_outcomes():
    for counts in COUNTS:
        outcomes = np.repeat(np.arange(3), counts)
        if len(outcomes) < 8:
            exact = len(set(permutations(outcomes.tolist())))
            assert float(np.exp(log_multinomial(counts[None]))[0]) == pytest.approx(
                exact, rel=1e-12
            )


def test_no_pairs_have_no_totals():
    none = slice(0)
    totals = pair_totals(FIRST[none], SECOND[none], COUNTS[none], WEIGHT[none], ordered=True)
    assert totals.counts.shape == (3, 0)
