"""Selections: subsets, dropped items, splits, and identical rankings merged or spelled out."""

import warnings

import numpy as np
import pytest

from bayesrank.data import Rankings, UninformativeRankingWarning
from tests.data.examples import ROUND_TRIP, random_rankings, rankings

# Parts


@pytest.mark.parametrize(
    "which",
    [
        {"index": [1, 2]},
        {"index": [-2, -1]},
        {"index": np.array([False, True, True])},
        {"labels": [1, 2]},
    ],
)
def test_a_subset_keeps_the_axes_and_the_order_asked_for(which):
    part = rankings().subset(**which)
    assert part.labels.tolist() == [1, 2]
    assert part.items.tolist() == ["a", "b", "c", "d"]
    assert part.rankers.tolist() == ["Ann", "Bo"]
    np.testing.assert_array_equal(part.ranker_idx, [1, 0])
    np.testing.assert_array_equal(part.weight, [2.0, 1.0])
    np.testing.assert_array_equal(part.item, [[0, 3, 1], [3, 0, 0]])
    np.testing.assert_array_equal(part.block_sizes, [[2, 1], [1, 1]])


def test_a_subset_may_go_by_ranker_and_is_only_as_wide_as_it_must():
    part = rankings().subset(rankers=["Bo"])
    assert part.labels.tolist() == [1]
    assert rankings().subset([2, 0]).labels.tolist() == [2, 0]
    assert rankings().subset([2]).n_slots == 2


@pytest.mark.parametrize(
    ("which", "message"),
    [
        ({}, "Give one of `index`, `labels` and `rankers`"),
        ({"index": [0], "labels": [0]}, "Give one of `index`, `labels` and `rankers`"),
        ({"index": [True, False]}, r"A boolean `index` must have shape \(3,\); got \(2,\)"),
        ({"index": [False] * 3}, "No ranking is selected"),
        ({"index": []}, "No ranking is selected"),
        ({"index": ["Ann"]}, "use labels= for names"),
        ({"index": [0, 3]}, "`index` must hold positions of the 3 rankings; got 3"),
        ({"index": [0, -3]}, "`index` selects a ranking twice"),
        ({"labels": [7]}, r"Unknown ranking 7: the rankings are 0, 1, 2\."),
        ({"labels": [0, 0]}, "`labels` must be distinct, but 0 occurs twice"),
        ({"labels": []}, "No ranking is selected"),
        ({"rankers": ["Cy"]}, "Unknown ranker 'Cy': the rankers are 'Ann', 'Bo'"),
    ],
)
def test_a_subset_is_asked_for_in_one_clear_way(which, message):
    with pytest.raises(ValueError, match=message):
        rankings().subset(**which)


def test_dropping_items_closes_the_ranks():
    r = rankings(features=np.array([[1.0], [2.0], [3.0], [4.0]]))
    with pytest.warns(UninformativeRankingWarning, match="1 of 3 rankings holds one item"):
        r = r.drop_items(["a"])
    expected = Rankings.from_orderings(
        [["b", "c"], ["d", "b"]],
        rankers=["Ann", "Bo"],
        weight=[1, 2],
        features=np.array([[2.0], [3.0], [4.0]]),
    )
    assert r.labels.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(r.ranks, [[1, 2], [1, 2], [1, 0]])
    columns = ["ranker", "item", "rank", "weight", 0]
    assert r.subset([0, 1]).to_frame()[columns].equals(expected.to_frame()[columns])


def test_a_ranking_that_held_only_dropped_items_is_gone_with_a_warning():
    r = Rankings.from_orderings([["a", "b"], ["b", "c", "d"]], rankers=["Ann", "Bo"])
    with pytest.warns(UserWarning, match=r"1 of 2 rankings held .* and is gone \('Ann'\)"):
        r = r.drop_items(["a", "b"])
    assert r.labels.tolist() == ["Bo"]
    assert r.rankers.tolist() == ["Ann", "Bo"]
    np.testing.assert_array_equal(r.item, [[0, 1]])


def test_dropping_needs_known_items_and_leaves_some():
    with pytest.raises(ValueError, match="Unknown item 'z': the items are 'a', 'b', 'c', 'd'"):
        rankings().drop_items(["z"])
    with pytest.raises(ValueError, match=r"`items` must be a list of labels; write \['ab'\]"):
        rankings().drop_items("ab")
    with pytest.raises(ValueError, match="nothing would be left"):
        rankings().drop_items(["a", "b", "c", "d"])


@pytest.mark.parametrize("seed", range(5))
def test_dropping_an_item_is_as_if_it_had_never_been_there(seed):
    r = random_rankings(seed)
    frame = r.to_frame()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UninformativeRankingWarning)
        dropped = r.drop_items([2, 4])
        kept = frame[~frame["item"].isin([2, 4])]
        rebuilt = Rankings.from_long_ranks(kept, items=[0, 1, 3, 5], **ROUND_TRIP)
    assert dropped.labels.tolist() == rebuilt.labels.tolist()
    np.testing.assert_array_equal(dropped.item, rebuilt.item)
    np.testing.assert_array_equal(dropped.ranks, rebuilt.ranks)


def test_a_share_splits_the_rankings_in_two():
    r = random_rankings(3)
    train, test = r.split(0.75, seed=1)
    assert len(train) == round(0.75 * len(r))
    assert sorted([*train.labels, *test.labels]) == sorted(r.labels)
    position = r.labels.get_indexer(train.labels)
    assert (np.diff(position) > 0).all()  # the order stays
    assert train == r.split(0.75, seed=1)[0]
    assert train != r.split(0.75, seed=2)[0]


def test_each_ranking_is_in_one_test_fold():
    r = random_rankings(3)
    folds = r.split(4, seed=1)
    assert sorted(label for _, test in folds for label in test.labels) == sorted(r.labels)
    for train, test in folds:
        assert set(train.labels) == set(r.labels) - set(test.labels)


def test_all_rankings_of_a_ranker_go_the_same_way():
    r = random_rankings(3)
    for train, test in [r.split(0.5, seed=1, by="ranker"), *r.split(3, seed=1, by="ranker")]:
        assert set(train.ranker_idx).isdisjoint(test.ranker_idx)
        assert len(train) + len(test) == len(r)


@pytest.mark.parametrize(
    ("into", "by", "message"),
    [
        (0.0, "ranking", "A share of 0.0 of 3 rankings leaves a part empty"),
        (1.5, "ranking", "A share of 1.5 of 3 rankings leaves a part empty"),
        (0.9, "ranker", "A share of 0.9 of 2 rankers leaves a part empty"),
        (1, "ranking", "between 2 and the 3 rankings; got 1"),
        (3, "ranker", "between 2 and the 2 rankers; got 3"),
        (
            "half",
            "ranking",
            "`into` must be a share between 0 and 1 or a number of folds; got 'half'",
        ),
        (2, "item", "`by` must be 'ranking' or 'ranker'; got 'item'"),
    ],
)
def test_a_split_leaves_no_part_empty(into, by, message):
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        rankings().split(into, seed=1, by=by)


# Weights


def test_identical_rankings_collapse_into_their_weight():
    r = Rankings.from_orderings(
        [["a", "b"], ["b", "a"], ["a", "b"], ["a"], ["a", "b"]],
        rest="items",
        rankers=["x", "x", "y", "y", "x"],
        weight=[1, 1, 0.5, 1, 1],
    )
    merged = r.collapse()
    assert merged.labels.tolist() == [0, 1]
    assert merged.rankers.tolist() == ["all"]
    np.testing.assert_array_equal(merged.weight, [3.5, 1.0])
    np.testing.assert_array_equal(merged.item, [[0, 1], [1, 0]])
    within = r.collapse(within_ranker=True)
    assert within.rankers.tolist() == ["x", "y"]
    np.testing.assert_array_equal(within.ranker_idx, [0, 0, 1])
    np.testing.assert_array_equal(within.weight, [2.0, 1.0, 1.5])


def test_rankings_with_other_features_or_other_blocks_do_not_collapse():
    features = [[[1.0], [2.0]], [[1.0], [2.0]], [[1.0], [3.0]]]
    r = Rankings([[0, 1]] * 3, [[1, 2]] * 3, items=["a", "b"], features=features)
    np.testing.assert_array_equal(r.collapse().weight, [2.0, 1.0])
    tied = Rankings.from_orderings([["a", "b", "c"], ["a", {"b", "c"}]])
    assert len(tied.collapse()) == 2


@pytest.mark.parametrize("seed", range(5))
def test_expanding_undoes_collapsing_up_to_labels(seed):
    r = random_rankings(seed, n=200, n_items=3)
    expanded = r.collapse().expand()
    assert len(expanded) == len(r) > len(r.collapse())

    def contents(x):
        return sorted(zip(x.item.tolist(), x.ranks.tolist(), strict=True))

    assert contents(expanded) == contents(r)
    assert (expanded.weight == 1).all()


def test_expanding_needs_whole_weights_and_changes_nothing_if_all_are_one():
    with pytest.raises(
        ValueError, match=r"whole weights can be expanded; ranking 0 has weight 0\."
    ):
        Rankings.from_orderings([["a", "b"]], weight=[0.5]).expand()
    r = Rankings.from_orderings([["a", "b"]], rankers=["x"])
    assert r.expand() == r
