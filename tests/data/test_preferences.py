"""Partial orders to weak orders: against brute force, circles, losses, and what is read."""

import re
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest

import bayesrank as br
from bayesrank.data import LostPreferenceWarning, UninformativeRankingWarning
from bayesrank.data.read.preferences import blocks
from tests.oracles import weak_orders

READ = br.Rankings.from_preferences
ORDERS = {n: weak_orders(n) for n in range(1, 7)}


def random_dag(rng, n, density):
    """Preferences among n items whose true order is a random one, as pairs (better, worse)."""
    name = rng.permutation(n)
    kept = [(i, j) for i, j in combinations(range(n), 2) if rng.uniform() < density]
    return [(int(name[i]), int(name[j])) for i, j in kept]


def closure(n, pairs):
    """Who is preferred to whom, directly or through others."""
    over = np.zeros((n, n), dtype=bool)
    over[tuple(np.array(pairs, dtype=int).reshape(-1, 2).T)] = True
    for k in range(n):
        over |= over[:, [k]] & over[[k]]
    return over


def implied(orders, over):
    """Those weak orders in which every item of a block is preferred to all of later blocks."""
    n = len(over)
    ahead = orders[:, :, None] < orders[:, None, :]
    return orders[~(ahead & ~over).reshape(len(orders), n * n).any(axis=1)]


# The maximal ordered partition


@pytest.mark.parametrize("n", ORDERS)
def test_it_is_the_finest_of_all_weak_orders_that_are_implied(rng, n):
    found = set()
    for density in rng.uniform(0.2, 1.0, size=60):
        pairs = random_dag(rng, n, density)
        candidates = implied(ORDERS[n], closure(n, pairs))
        n_blocks = candidates.max(axis=1)
        assert (n_blocks == n_blocks.max()).sum() == 1
        better, worse = np.array(pairs, dtype=int).reshape(-1, 2).T
        ranks = 1 + blocks(np.zeros(n, dtype=int), better=better, worse=worse)
        assert ranks.tolist() == candidates[n_blocks.argmax()].tolist()
        found.add(int(n_blocks.max()))
    assert found == set(range(1, n + 1))


def test_many_partial_orders_at_once_are_as_each_by_itself(rng):
    each = [random_dag(rng, 6, 0.7) for _ in range(40)]
    row = np.repeat(np.arange(40), 6)
    together = np.array([(6 * k + i, 6 * k + j) for k, pairs in enumerate(each) for i, j in pairs])
    found = blocks(row, better=together[:, 0], worse=together[:, 1]).reshape(40, 6)
    for k, pairs in enumerate(each):
        better, worse = np.array(pairs).T
        alone = blocks(np.zeros(6, dtype=int), better=better, worse=worse)
        assert (found[k] - found[k].min()).tolist() == alone.tolist()


def test_a_diamond_has_its_middle_in_one_block_and_loses_nothing():
    r = READ([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])
    assert r.to_frame()[["item", "rank"]].to_numpy().tolist() == [
        ["a", 1],
        ["b", 2],
        ["c", 2],
        ["d", 3],
    ]


def test_preferences_said_twice_or_implied_by_others_change_nothing():
    chain = [("a", "b"), ("b", "c")]
    assert READ(chain + chain) == READ(chain)
    assert READ([*chain, ("a", "c")]) == READ(chain)


# What is lost


def test_what_a_weak_order_cannot_say_is_counted():
    # a > b > d, a > c: c is comparable with a only, so b, c and d are one block
    pairs = {"ann": [("a", "b"), ("b", "d"), ("a", "c")], "bob": [("a", "b")]}
    message = "lose 1 of 4 preferences, in 1 of 2 rankings: both items are in one block"
    with pytest.warns(LostPreferenceWarning, match=message):
        r = READ(pairs)
    assert r.ranks.tolist() == [[1, 2, 2, 2], [1, 2, 0, 0]]


def test_an_item_that_was_seen_and_not_named_is_comparable_with_none():
    pairs = [("a", "b")]
    for presented, items in ((["a", "b", "c"], None), ("items", ["a", "b", "c"])):
        with (
            pytest.warns(LostPreferenceWarning, match="lose 1 of 1 preference, in"),
            pytest.warns(UninformativeRankingWarning),
        ):
            r = READ(pairs, presented=presented, items=items)
        assert r.ranks.tolist() == [[1, 1, 1]]
    # on the item axis, but not seen
    assert READ(pairs, items=["a", "b", "c"]).ranks.tolist() == [[1, 2]]


# What is read


def test_tables_mappings_and_pairs_say_the_same():
    table = pd.DataFrame({"who": ["x", "y", "x"], "up": ["a", "b", "b"], "down": ["b", "a", "c"]})
    from_table = READ(table, better="up", worse="down", ranker="who")
    assert from_table == READ({"x": [("a", "b"), ("b", "c")], "y": [["b", "a"]]})
    assert from_table.rankers.tolist() == ["x", "y"]
    of_one = READ(table.iloc[[0, 2]], better="up", worse="down")
    assert of_one == READ([("a", "b"), ("b", "c")])


def test_features_belong_to_the_items():
    r = READ([("b", "a")], features=pd.DataFrame({"size": [1.0, 2.0]}, index=["a", "b"]))
    assert r.features[0, :, 0].tolist() == [2.0, 1.0]


# Bad input


@pytest.mark.parametrize(
    ("preferences", "message"),
    [
        ([("a", "b"), ("b", "c"), ("c", "a")], "The preferences form a cycle: a > b > c > a"),
        ({7: [("b", "a")], 8: [("a", "a")]}, "The preferences of ranker 8 form a cycle: a > a"),
        ([], "Ranker 0 has no preferences; remove the ranker"),
        ({}, "There are no preferences"),
        ({"x": [("a", "b")], "y": []}, "Ranker 'y' has no preferences; remove the ranker"),
        ([("a", "b"), ("a", "b", "c")], r"number 1 of ranker 0 is ('a', 'b', 'c')"),
        (["ab"], "must be a pair (better, worse); number 0 of ranker 0 is 'ab'"),
        ("ab", "`preferences` must be a table, pairs (better, worse), or a mapping"),
        ([("a", "b"), ("a", None)], "The worse item of preference 1 is missing"),
        (pd.DataFrame({"better": ["a"]}), "no column 'worse'"),
        (pd.DataFrame({"better": [], "worse": []}), "There are no preferences"),
    ],
)
def test_invalid_partial_orders_are_refused(preferences, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        READ(preferences)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"items": ["a", "c"]}, "'b'"),
        ({"ranker": "who"}, "`ranker` names a column of a table, but `preferences` is not a table"),
        (
            {"presented": "items"},
            "`presented` must be labels, or 'items' for all labels in `items`",
        ),
        ({"presented": "all"}, "or 'items' for all labels in `items`; got 'all'"),
    ],
)
def test_what_does_not_fit_the_preferences_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        READ([("a", "b")], **given)


def test_a_cycle_among_other_preferences_is_named_link_by_link(rng):
    pairs = [*random_dag(rng, 8, 0.5), (100, 101), (101, 102), (102, 103), (103, 100)]
    with pytest.raises(ValueError, match="form a cycle") as caught:
        READ(pairs)
    circle = re.search(r"cycle: ([\d > ]+)\.", str(caught.value)).group(1).split(" > ")
    links = [(int(a), int(b)) for a, b in pairwise(circle)]
    assert circle[0] == circle[-1]
    assert set(links) <= set(pairs)
    assert len(links) == 4
