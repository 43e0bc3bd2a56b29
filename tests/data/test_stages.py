"""The stage table: what rankings share is there once, and nothing is lost."""

import numpy as np
import pytest
from scipy.special import logsumexp

from bayesrank.data import Rankings, load_sushi
from bayesrank.data.derive import stage_table
from bayesrank.data.derive.stages import _number_by_first_occurrence
from tests.oracles import inclusion_exclusion, weak_order_by_stages


def table(rankings):
    return stage_table(rankings.item, rankings.ranks, rankings.weight, rankings.n_items)


def remainder(stages, node):
    """Items of a node: those it adds, and those of its child."""
    items = set()
    while node >= 0:
        items |= set(stages.entry_item[stages.node_start[node] : stages.node_start[node + 1]])
        node = stages.node_child[node]
    return {int(i) for i in items}


def block(stages, b):
    return stages.block_item[stages.block_start[b] : stages.block_start[b + 1]].tolist()


def random_rankings(rng, n_rankings, n_items):
    orderings = []
    for _ in range(n_rankings):
        items = rng.permutation(n_items)[: rng.integers(2, n_items + 1)]
        place = rng.integers(3, size=items.size)
        orderings.append([set(items[place == p].tolist()) for p in np.unique(place)])
    with_blocks = [o for o in orderings if len(o) > 1]
    return Rankings.from_orderings(with_blocks, rest=(), items=range(n_items))


# By hand

SMALL = Rankings.from_orderings(
    [["a", "b", "c"], ["b", "a", "c"], ["a", {"b", "c"}], [{"a", "b"}, "c"], ["a", "b"]],
    weight=[1, 1, 1, 2, 1],
    rest=(),
)


def test_a_small_table_by_hand():
    s = table(SMALL)
    # remainders by size, one of each set, shared by all rankings
    sets = [remainder(s, n) for n in range(s.n_nodes)]
    assert sets == [{2}, {1}, {1, 2}, {0, 2}, {0, 1}, {0, 1, 2}]
    singles = list(zip(s.single_item.tolist(), s.single_node.tolist(), strict=True))
    # b first of bc, a first of abc, a first of ac, b first of abc, a first of ab
    assert singles == [(1, 2), (0, 5), (0, 3), (1, 5), (0, 4)]
    assert [block(s, b) for b in range(1)] == [[0, 1]]
    assert s.block_below.tolist() == [0]
    assert s.block_entry.tolist() == [0, 0]
    # "a first of abc" is in the first and the third ranking; the block counts twice
    assert s.stage_weight.tolist() == [1.0, 2.0, 1.0, 1.0, 1.0, 2.0]
    assert s.stage_of.tolist() == [0, 1, 2, 3, 1, 5, 4]
    assert s.ranking_of.tolist() == [0, 0, 1, 1, 2, 3, 4]
    assert s.ranking_weight.tolist() == [1.0, 1.0, 1.0, 2.0, 1.0]


def test_remainders_of_one_size_stand_in_the_order_of_their_weights():
    rows = [["a", "b", "c", "d"], ["a", "c", "b", "d"], ["b", "a", "c", "d"]]
    s = table(Rankings.from_orderings(rows, weight=[3, 1, 2]))
    size = np.array([len(remainder(s, n)) for n in range(s.n_nodes)])
    assert (np.diff(size) >= 0).all()
    for n in np.unique(size):
        assert (np.diff(-s.node_weight[size == n]) >= 0).all()
    assert s.node_weight[size == 3].tolist() == [-2.0, -4.0]  # acd, then bcd


# In general


def test_remainders_and_stages_are_distinct_and_ordered():
    for seed in range(5):
        s = table(random_rankings(np.random.default_rng(seed), 200, 5))
        assert (s.node_child < np.arange(s.n_nodes)).all()
        sets = [frozenset(remainder(s, n)) for n in range(s.n_nodes)]
        assert len(set(sets)) == s.n_nodes
        assert s.n_nodes <= 2**5 - 1
        single = [
            (frozenset([i]), sets[n])
            for i, n in zip(s.single_item.tolist(), s.single_node.tolist(), strict=True)
        ]
        blocks = [
            (frozenset(block(s, b)), sets[below] | set(block(s, b)))
            for b, below in enumerate(s.block_below.tolist())
        ]
        assert len({*single, *blocks}) == s.n_stages


def test_the_stages_of_a_ranking_multiply_to_its_probability():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        r = random_rankings(rng, 60, 6)
        s, utility = table(r), rng.normal(size=6)
        logp = np.array(
            [
                utility[i] - logsumexp(utility[sorted(remainder(s, n))])
                for i, n in zip(s.single_item, s.single_node, strict=True)
            ]
            + [
                inclusion_exclusion(
                    utility[block(s, b)] - logsumexp(utility[sorted(remainder(s, below))])
                )
                for b, below in enumerate(s.block_below)
            ]
        )
        total = np.bincount(s.ranking_of, logp[s.stage_of], minlength=r.n_rankings)
        for value, item, ranks in zip(total, r.item, r.ranks, strict=True):
            used = ranks > 0
            exact = weak_order_by_stages(utility[item[used]], ranks[used], inclusion_exclusion)
            assert value == pytest.approx(exact, abs=1e-12)


def test_a_remainder_that_others_take_apart_in_another_order_has_its_parts_before_it():
    # abc is of two rankings, above bc in the first and above ac in the second
    r = Rankings.from_orderings(
        [list("dabc"), list("ebac"), list("fga")], items=list("abcdefg"), rest=()
    )
    s = table(r)
    sets = [remainder(s, n) for n in range(s.n_nodes)]
    assert {0, 1, 2} in sets
    for n, child in enumerate(s.node_child.tolist()):
        assert child < n
        assert child < 0 or sets[child] < sets[n]


def test_the_linear_form_is_the_weighted_sum_of_the_stages():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        r = random_rankings(rng, 100, 5)
        weight = rng.uniform(0.5, 3.0, size=r.n_rankings)
        s = stage_table(r.item, r.ranks, weight, 7)  # two items more than anyone ranks
        utility, blocks = rng.normal(size=7), rng.normal(size=s.block_below.size)
        log_total = np.array(
            [logsumexp(utility[sorted(remainder(s, n))]) for n in range(s.n_nodes)]
        )
        single = utility[s.single_item] - log_total[s.single_node]
        direct = s.stage_weight @ np.concatenate([single, blocks])
        form = s.item_weight @ utility + s.node_weight @ log_total + s.block_weight @ blocks
        assert form == pytest.approx(direct, rel=1e-12)
        assert s.item_weight[5:].tolist() == [0.0, 0.0]


def test_remainders_whose_first_fingerprints_agree_are_told_apart_by_the_second():
    pairs = [(7, 1), (7, 2), (8, 1), (7, 1), (8, 1), (9, 9)]
    code = np.array(pairs, dtype=[("low", np.uint64), ("high", np.uint64)])
    number, first = _number_by_first_occurrence(code)
    assert number.tolist() == [0, 1, 2, 0, 2, 3]
    assert first.tolist() == [0, 1, 2, 5]


def test_sushi_has_962_remainders_of_two_and_more_and_3684_stages(data_dir):
    r = load_sushi("a", data_dir / "sushi3")
    s = table(r)
    # 10 remainders of one last item, and all but 51 of the 1013 larger sets
    assert s.n_nodes == 962 + 10
    assert s.n_stages == 3684
    assert (s.node_child < np.arange(s.n_nodes)).all()
    size = np.array([len(remainder(s, n)) for n in range(s.n_nodes)])
    assert ((size > 1).sum(), (size == 1).sum()) == (962, 10)
    assert s.stage_weight.sum() == 5000 * 9
    # counted anew, with sets
    seen = {frozenset(row[j:].tolist()) for row in r.item for j in range(9)}
    assert len(seen) == 962
    assert len({(row[j], frozenset(row[j:].tolist())) for row in r.item for j in range(9)}) == 3684


def test_each_remainder_begins_where_its_slot_says(rng):
    r = random_rankings(rng, 40, 6)
    s = table(r)
    for n, flat in enumerate(s.node_slot.tolist()):
        row, slot = divmod(flat, r.n_slots)
        assert set(r.item[row, slot:][r.mask[row, slot:]].tolist()) == remainder(s, n)
