"""Connectivity: components, items that never win or lose, and the sentences about them."""

import tracemalloc

import numpy as np
import pytest

from bayesrank.data import Rankings


def found(*orderings, **more):
    return Rankings.from_orderings(orderings, **{"rest": (), **more}).connectivity()


def names(components):
    return [component.tolist() for component in components]


def test_a_cycle_is_one_strong_component_and_nothing_to_warn_about():
    c = found(["a", "b"], ["b", "c"], ["c", "a"])
    assert names(c.components) == names(c.strong_components) == [["a", "b", "c"]]
    assert c.is_connected
    assert c.is_strongly_connected
    assert c.warnings() == []
    assert c.message == "All 3 items are comparable, and each wins and loses."


def test_a_chain_is_connected_and_each_item_a_strong_component():
    c = found(["a", "b"], ["b", "c"])
    assert c.is_connected
    assert not c.is_strongly_connected
    assert names(c.strong_components) == [["a"], ["b"], ["c"]]
    assert c.never_loses.tolist() == ["a"]
    assert c.never_wins.tolist() == ["c"]
    assert c.warnings() == [
        "Item 'a' never loses: without a prior its utility is infinite. Give it a prior, or drop "
        "it with rankings.drop_items(['a']).",
        "Item 'c' never wins: without a prior its utility is minus infinite. Give it a prior, or "
        "drop it with rankings.drop_items(['c']).",
    ]


def test_components_are_named_the_largest_first():
    c = found(["d", "e"], ["e", "d"], ["a", "b"], ["b", "c"], ["c", "a"], items=list("fabcde"))
    assert c.n_components == 3
    assert names(c.components) == [["a", "b", "c"], ["d", "e"], ["f"]]
    assert c.uncompared.tolist() == ["f"]
    assert c.warnings() == [
        "The comparison graph has 3 components ({'a', 'b', 'c'}, {'d', 'e'}, {'f'}): utilities "
        "are comparable only within one. A proper prior ties them together."
    ]


def test_many_items_and_components_are_abbreviated():
    c = found(*[[2 * i, 2 * i + 1] for i in range(6)])
    components, losers, winners = c.warnings()
    assert components == (
        "The comparison graph has 6 components ({0, 1}, {2, 3}, {4, 5}, {6, 7}, ...): utilities "
        "are comparable only within one. A proper prior ties them together."
    )
    assert losers == (
        "6 items (0, 2, 4, 6, 8 and 1 more) never lose: without a prior their utilities are "
        "infinite. Give them a prior, or drop them with rankings.drop_items."
    )
    assert winners.startswith("6 items (1, 3, 5, 7, 9 and 1 more) never win:")


def test_groups_of_items_that_always_beat_others_are_named():
    c = found(["a", "b"], ["b", "a"], ["c", "d"], ["d", "c"], ["a", "c"])
    assert c.never_loses.empty
    assert c.never_wins.empty
    assert c.warnings() == [
        "The items form 2 groups ({'a', 'b'}, {'c', 'd'}), and the items of one always beat those "
        "of another: without a prior their utilities are infinitely far apart. Give all items a "
        "prior."
    ]


@pytest.mark.filterwarnings("ignore::bayesrank.data.UninformativeRankingWarning")
def test_items_of_one_block_are_not_compared():
    assert names(found([{"a", "b"}]).components) == [["a"], ["b"]]
    c = found(["c", {"a", "b"}], [{"a", "b"}, "c"])
    assert c.is_strongly_connected  # through c


@pytest.mark.filterwarnings("ignore::bayesrank.data.UninformativeRankingWarning")
def test_one_item_has_nothing_to_be_compared_with():
    c = found(["a"])
    assert c.warnings() == []
    assert c.message == "There is one item, 'a', and nothing to compare it with."


def test_components_are_those_of_the_graph_of_all_pairs():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n_items, n = 8, int(rng.integers(1, 7))
        ranks = np.zeros((n, 4), dtype=int)
        item = np.zeros((n, 4), dtype=int)
        for i in range(n):
            item[i] = rng.choice(n_items, 4, replace=False)
            blocks = int(rng.integers(2, 5))
            ranks[i] = rng.permutation([*range(1, blocks + 1), *rng.integers(1, blocks + 1, 4)][:4])
        r = Rankings(item, ranks, items=range(n_items))

        # Warshall's closure of "beats", over all pairs
        beats = np.eye(n_items, dtype=bool)
        pairs = r.pairs(ties="drop")
        beats[pairs.first, pairs.second] = True
        linked = beats | beats.T
        for k in range(n_items):
            beats |= beats[:, [k]] & beats[[k]]
            linked |= linked[:, [k]] & linked[[k]]
        c = r.connectivity()
        np.testing.assert_array_equal(c.strong[:, None] == c.strong, beats & beats.T)
        np.testing.assert_array_equal(c.weak[:, None] == c.weak, linked)


def test_long_rankings_cost_their_entries_and_not_their_pairs():
    rng = np.random.default_rng(1)
    n, n_slots = 200, 5000  # 2,500 million pairs
    item = rng.permuted(np.tile(np.arange(n_slots), (n, 1)), axis=1)
    ranks = np.tile(np.arange(1, n_slots + 1), (n, 1))
    r = Rankings(item, ranks, items=range(n_slots))
    tracemalloc.start()
    assert r.connectivity().is_connected
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400 * r.mask.sum()  # bytes; pairs would be 2,500 times as many as the entries
