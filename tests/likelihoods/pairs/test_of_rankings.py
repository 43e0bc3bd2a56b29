"""Pairs of rankings: which there are."""

import numpy as np
import pytest

from bayesrank.likelihoods.pairs import weak_order_pairs
from tests.likelihoods.loops import for_each
from tests.oracles import listed_pairs

RANKS = np.array([[1, 2, 2, 0], [3, 0, 1, 2], [1, 1, 0, 0], [0, 1, 0, 0]])


@for_each("ties", ["keep", "drop"])
def test_each_pair_presented_together_is_listed_once_the_better_first(rng, ties):
    assert listed_pairs(RANKS[:1], "keep") == [(0, 0, 1, 0), (0, 0, 2, 0), (0, 1, 2, 2)]
    for ranks in (RANKS, rng.integers(0, 5, size=(30, 9)).astype(np.int32)):
        pairs = weak_order_pairs(ranks, ties=ties)
        assert sorted(zip(*(p.tolist() for p in pairs), strict=True)) == listed_pairs(ranks, ties)
        assert (np.diff(pairs.ranking) >= 0).all()


def test_rankings_without_pairs_give_empty_lists():
    for ranks in (np.array([[1, 0], [0, 0]]), np.zeros((0, 3), dtype=int)):
        assert [len(part) for part in weak_order_pairs(ranks)] == [0, 0, 0, 0]


# Bad input


@for_each(
    ("ranks", "message"),
    [
        ([1, 2], r"^`ranks` must be a matrix .*; got shape \(2,\) of int64\.$"),
        ([[1.0, 2.0]], r"^`ranks` must be a matrix .*; got shape \(1, 2\) of float64\.$"),
        ([[1, 2], [1, -3]], r"^`ranks` must be 1 \(best\) or more, .*; row 1 contains -3\.$"),
    ],
)
def test_invalid_ranks_raise(ranks, message):
    with pytest.raises(ValueError, match=message):
        weak_order_pairs(ranks)
