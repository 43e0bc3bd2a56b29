"""Counts of first places and of who is ahead of whom, against counting by hand and by loops."""

import numpy as np
import pytest

from bayesrank.data import Pairs, Rankings
from bayesrank.results import condorcet, first_places, pair_wins


def loops(rankings):
    """Count as the definition says, one pair of slots after the other."""
    wins, ties = np.zeros((2, rankings.n_items, rankings.n_items))
    for row in range(rankings.n_rankings):
        used = np.flatnonzero(rankings.mask[row])
        for one in used:
            for other in used:
                i, j = rankings.item[row, [one, other]]
                if rankings.ranks[row, one] < rankings.ranks[row, other]:
                    wins[i, j] += rankings.count[row]
                elif one != other and rankings.ranks[row, one] == rankings.ranks[row, other]:
                    ties[i, j] += rankings.count[row]
    return wins, ties


@pytest.mark.filterwarnings("ignore:.* rankings? holds? one item")
@pytest.mark.parametrize("seed", range(3))
def test_pairs_of_rankings_are_counted_with_weights_ties_and_lengths(seed):
    rng = np.random.default_rng(seed)
    orders = []
    for _ in range(20):
        items = rng.permutation(list("abcdefg"))[: rng.integers(1, 8)]
        cuts = np.sort(rng.integers(0, len(items) + 1, 2))
        orders.append([set(part) for part in np.split(items, cuts) if len(part)])
    rankings = Rankings.from_orderings(orders + orders[:5], rest=()).collapse()
    assert (rankings.count > 1).any()
    found, (wins, ties) = pair_wins(rankings), loops(rankings)
    np.testing.assert_array_equal(found.wins, wins)
    np.testing.assert_array_equal(found.ties, ties)
    assert first_places(rankings).sum() == pytest.approx(rankings.count.sum())


def test_matches_are_counted_whoever_stood_first():
    pairs = Pairs.from_matrix(
        [[0, 3, 0], [1, 0, 2], [0, 4, 0]], ties=np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]),
        items=["a", "b", "c"],
    )  # fmt: skip
    found = pair_wins(pairs)
    np.testing.assert_array_equal(found.wins, [[0, 3, 0], [1, 0, 2], [0, 4, 0]])
    np.testing.assert_array_equal(found.met, [[0, 5, 0], [5, 0, 6], [0, 6, 0]])


def test_a_cycle_has_no_condorcet_winner_and_a_tie_is_no_lead():
    cycle = [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]
    assert condorcet(pair_wins(Rankings.from_orderings(cycle))) is None
    assert (
        condorcet(pair_wins(Rankings.from_orderings([*cycle, ["b", "c", "a"], ["b", "a", "c"]])))
        == 1
    )
    assert condorcet(pair_wins(Rankings.from_orderings([["a", "b"], ["b", "a"]]))) is None
