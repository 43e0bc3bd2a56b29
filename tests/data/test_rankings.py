"""Rankings: how they are read, what they hold, parts of them, pairs, counts and memory."""

import pickle
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest

from bayesrank.data import Rankings, UninformativeRankingWarning
from tests.data.examples import (
    ROUND_TRIP,
    STARS,
    from_places,
    from_stars,
    places,
    random_rankings,
    rankings,
)

# Every constructor says the same thing about the same weak orders.


def test_ratings_are_ranked_densely_and_high_is_good():
    r = from_stars()
    assert r.items.tolist() == ["a", "b", "c", "d"]
    assert r.rankers.tolist() == r.labels.tolist() == ["u", "v"]
    np.testing.assert_array_equal(r.item, [[1, 2, 0, 0], [2, 3, 0, 1]])
    np.testing.assert_array_equal(r.ranks, [[1, 1, 2, 0], [1, 2, 3, 4]])
    np.testing.assert_array_equal(r.mask, [[True, True, True, False], [True] * 4])
    np.testing.assert_array_equal(r.block_sizes, [[2, 1, 0, 0], [1, 1, 1, 1]])
    np.testing.assert_array_equal(r.ranker_idx, [0, 1])
    np.testing.assert_array_equal(r.weight, [1.0, 1.0])
    assert r.features is None
    assert r.feature_names is None


def test_orderings_long_ranks_wide_ranks_and_arrays_agree_with_ratings():
    expected = from_stars()
    orderings = Rankings.from_orderings(
        [[{"b", "c"}, "a"], ["c", "d", "a", "b"]], rankers=["u", "v"], rest=()
    )
    long = STARS.assign(place=-STARS["stars"])
    wide = pd.DataFrame({"a": [2, 3], "b": [1, 4], "c": [1, 1], "d": [np.nan, 2]}, index=["u", "v"])
    arrays = Rankings(
        [[0, 1, 2, 3], [0, 1, 2, 3]],
        [[2, 1, 1, 0], [3, 4, 1, 2]],
        items=["a", "b", "c", "d"],
        rankers=["u", "v"],
    )
    assert orderings == expected
    assert Rankings.from_long_ranks(long, ranker="user", item="film", rank="place") == expected
    assert Rankings.from_ranks(wide, rest=()) == expected
    assert arrays == expected


def test_a_given_axis_is_kept_with_the_items_that_no_row_has():
    r = from_stars(items=["z", "d", "c", "b", "a"])
    assert r.items.tolist() == ["z", "d", "c", "b", "a"]
    np.testing.assert_array_equal(r.item, [[2, 3, 4, 0], [2, 1, 4, 3]])


# Several rankings of one ranker, weights, features


def test_a_ranker_may_rank_several_times():
    frame = places(
        ("Ann", "mon", "a", 1),
        ("Ann", "mon", "b", 2),
        ("Ann", "tue", "b", 1),
        ("Ann", "tue", "a", 2),
        ("Bo", "wed", "a", 1),
        ("Bo", "wed", "b", 2),
        columns=("race", "day", "car", "place"),
    )
    r = from_places(frame, ranking="day")
    assert r.labels.tolist() == ["mon", "tue", "wed"]
    assert r.rankers.tolist() == ["Ann", "Bo"]
    np.testing.assert_array_equal(r.ranker_idx, [0, 0, 1])


def test_rankings_numbered_anew_for_each_ranker_are_named_after_both():
    frame = places(
        ("Ann", 1, "a", 1),
        ("Ann", 1, "b", 2),
        ("Bo", 1, "b", 1),
        ("Bo", 1, "a", 2),
        columns=("race", "day", "car", "place"),
    )
    assert from_places(frame, ranking="day").labels.tolist() == ["Ann/1", "Bo/1"]


def test_counts_and_weights_come_from_a_column_or_a_list():
    frame = places(("x", "a", 1, 2), ("x", "b", 2, 2), columns=("race", "car", "place", "times"))
    np.testing.assert_array_equal(from_places(frame, weight="times").weight, [2.0])
    np.testing.assert_array_equal(from_places(frame, weight="times").count, [1])
    np.testing.assert_array_equal(from_places(frame, count="times").count, [2])
    np.testing.assert_array_equal(from_places(frame, count="times").weight, [1.0])
    listed = Rankings.from_orderings([["a", "b"], ["b", "a"]], count=[4, 2], weight=[3, 0.5])
    np.testing.assert_array_equal(listed.weight, [3.0, 0.5])
    np.testing.assert_array_equal(listed.count, [4, 2])
    np.testing.assert_array_equal(listed.evidence, [12.0, 1.0])
    named = pd.Series([2, 4], [1, 0])
    assert Rankings.from_orderings([["a", "b"], ["b", "a"]], count=named).count.tolist() == [4, 2]


@pytest.mark.parametrize("wrong", [0, 1.5, -1, np.nan, np.inf])
def test_a_count_is_a_whole_number(wrong):
    message = r"^A count must be a whole number, 1 or more: .*; ranking 1 has .*`weight`\."
    with pytest.raises(ValueError, match=message):
        Rankings.from_orderings([["a", "b"], ["b", "a"]], count=[3, wrong])
    frame = places(("x", "a", 1, wrong), columns=("race", "car", "place", "times"))
    with pytest.raises(ValueError, match=r"^A count must be .*column 'times' .* in row 0"):
        from_places(frame, count="times")


def test_counts_have_one_entry_per_ranking():
    with pytest.raises(ValueError, match=r"`count` must have shape \(2,\), one per ranking; got"):
        Rankings.from_orderings([["a", "b"], ["b", "a"]], count=[3])


def test_features_by_item_by_column_and_by_slot_agree():
    by_item = pd.DataFrame({"size": [1.0, 2.0, 3.0]}, index=["c", "a", "b"])
    frame = places(
        ("x", "b", 1, 3.0),
        ("x", "a", 2, 2.0),
        ("y", "c", 1, 1.0),
        ("y", "b", 1, 3.0),
        ("y", "a", 2, 2.0),
        columns=("race", "car", "place", "size"),
    )
    table = from_places(frame, features=by_item)
    column = from_places(frame, features=["size"])
    orderings = [["b", "a"], [{"b", "c"}, "a"]]
    listed = Rankings.from_orderings(orderings, rest=(), rankers=["x", "y"], features=by_item)
    array = Rankings.from_orderings(
        orderings, rest=(), rankers=["x", "y"], features=np.array([[2.0], [3.0], [1.0]])
    )
    np.testing.assert_array_equal(table.features[:, :, 0], [[3.0, 2.0, 0.0], [3.0, 1.0, 2.0]])
    assert table == column == listed
    assert array != table  # it has no names
    np.testing.assert_array_equal(array.features, table.features)
    assert array.feature_names.tolist() == [0]
    assert table.coords["feature"].tolist() == ["size"]


def test_features_follow_their_slots_when_the_slots_are_sorted():
    features = [[[10.0], [20.0], [30.0]], [[5.0], [6.0], [np.nan]]]  # the last slot is empty
    r = Rankings(
        [[0, 1, 2], [2, 0, 0]],
        [[3, 1, 2], [2, 1, 0]],
        items=list("abc"),
        features=features,
        feature_names=["x"],
    )
    np.testing.assert_array_equal(r.item, [[1, 2, 0], [0, 2, 0]])
    np.testing.assert_array_equal(r.features[:, :, 0], [[20.0, 30.0, 10.0], [6.0, 5.0, 0.0]])


# Sizes, coords, representation, equality


def test_coords_name_the_axes():
    coords = rankings().coords
    assert {name: values.tolist() for name, values in coords.items()} == {
        "item": ["a", "b", "c", "d"],
        "ranking": [0, 1, 2],
        "ranker": ["Ann", "Bo"],
        "slot": [0, 1, 2],
    }


def test_the_repr_summarises_the_table():
    assert repr(rankings()) == (
        "Rankings: 4 rankings, 3 different, of 4 items by 2 rankers, 2 to 3 items in each, "
        "36% of entries tied"
    )
    counted = Rankings.from_orderings([["a", "b"], ["b", "a"]] * 2, count=[600, 2, 3, 4])
    assert repr(counted._with(weight=np.full(4, 0.5))) == (
        "Rankings: 609 rankings, 2 different, of 2 items by 609 rankers, 2 items in each, no ties, "
        "total weight 304.5"
    )
    assert "<th>count</th>" in counted._repr_html_()
    with_features = Rankings.from_orderings([["a", "b"]], features=np.ones((2, 5)))
    assert repr(with_features) == (
        "Rankings: 1 ranking of 2 items by 1 ranker, 2 items in each, no ties, 5 features"
    )
    with pytest.warns(UninformativeRankingWarning):
        least = Rankings.from_orderings([["a"]], features=np.ones((1, 1)))
    assert repr(least) == (
        "Rankings: 1 ranking of 1 item by 1 ranker, 1 item in each, no ties, 1 feature"
    )


@pytest.mark.parametrize(
    "other",
    [
        Rankings.from_orderings([["a", "b"], ["b", "a"]], rankers=["x", "z"]),
        Rankings.from_orderings([["a", "b"], ["a", "b"]], rankers=["x", "y"]),
        Rankings.from_orderings([["a", "b"], ["b", "a"]], rankers=["x", "y"], weight=[1, 2]),
        Rankings.from_orderings([["a", "b"], ["b", "a"]], rankers=["x", "y"], items=list("abc")),
        Rankings.from_orderings(
            [["a", "b"], ["b", "a"]], rankers=["x", "y"], features=np.ones((2, 1))
        ),
        "not rankings",
    ],
)
def test_rankings_that_differ_anywhere_are_not_equal(other):
    r = Rankings.from_orderings([["a", "b"], ["b", "a"]], rankers=["x", "y"])
    assert r == Rankings.from_orderings([["a", "b"], ["b", "a"]], rankers=["x", "y"])
    assert r != other


# Stages


def test_stages_that_rankings_share_are_there_once_with_their_weights():
    r = Rankings.from_orderings(
        [["b", "a", "c"], ["d", "b", "a", "c"], ["b", {"a", "c"}]], weight=[1, 2, 4], rest=()
    )
    s = r.stages
    # "a before c" and "b first of a, b, c" are in the first two, the latter in the third as well;
    # "d first of all four" is in the second alone. The block {a, c} comes last: it is certain.
    items = r.items.take(s.single_item).tolist()
    assert dict(zip(items, s.stage_weight.tolist(), strict=True)) == {
        "a": 1.0 + 2.0,
        "b": 1.0 + 2.0 + 4.0,
        "d": 2.0,
    }
    assert s.n_stages == 3
    assert s.ranking_weight.tolist() == [1.0, 2.0, 4.0]


def test_stages_are_found_once_and_cannot_be_changed():
    r = rankings()
    assert r.stages is r.stages
    with pytest.raises(AttributeError, match="Rankings are immutable: 'stages' cannot be set"):
        r.stages = None
    with pytest.raises(AttributeError, match="'stages' cannot be deleted"):
        del r.stages
    for array in r.stages:
        assert not array.flags.writeable


def test_parts_have_stages_of_their_own():
    r = rankings()
    assert r.stages.n_stages == 4
    assert r.subset([2]).stages.n_stages == 1
    assert r.stages.ranking_weight.tolist() == [1.0, 2.0, 1.0]
    assert r._with(weight=np.full(3, 0.5)).stages.ranking_weight.tolist() == [0.5, 1.0, 0.5]
    assert r.drop_items(["c"]).stages.item_weight.size == 3


# Frames


def test_the_frame_is_long_and_best_first():
    frame = rankings().to_frame()
    assert frame.to_dict("list") == {
        "ranking": [0, 0, 0, 1, 1, 1, 2, 2],
        "ranker": ["Ann", "Ann", "Ann", "Bo", "Bo", "Bo", "Ann", "Ann"],
        "item": ["b", "a", "c", "a", "d", "b", "d", "a"],
        "rank": [1, 2, 3, 1, 1, 2, 1, 2],
        "count": [1, 1, 1, 2, 2, 2, 1, 1],
        "weight": [1.0] * 8,
    }


def test_a_frame_reads_back_as_the_same_rankings():
    for seed in range(5):
        r = random_rankings(seed)
        assert Rankings.from_long_ranks(r.to_frame(), items=r.items, **ROUND_TRIP) == r


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
    np.testing.assert_array_equal(part.count, [2, 1])
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
        ({}, "Give exactly one of `index`, `labels` and `rankers`"),
        ({"index": [0], "labels": [0]}, "Give exactly one of `index`, `labels` and `rankers`"),
        ({"index": [True, False]}, r"A boolean `index` must have shape \(3,\); got \(2,\)"),
        ({"index": [False] * 3}, "No ranking is selected"),
        ({"index": []}, "No ranking is selected"),
        ({"index": ["Ann"]}, r"For names, use rankings\.subset\(labels="),
        ({"index": [0, 3]}, "`index` must contain positions of the 3 rankings; got 3"),
        ({"index": [0, -3]}, "`index` selects the same ranking twice"),
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
        count=[1, 2],
        features=np.array([[2.0], [3.0], [4.0]]),
    )
    assert r.labels.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(r.ranks, [[1, 2], [1, 2], [1, 0]])
    columns = ["ranker", "item", "rank", "count", 0]
    assert r.subset([0, 1]).to_frame()[columns].equals(expected.to_frame()[columns])


def test_a_ranking_that_held_only_dropped_items_is_gone_with_a_warning():
    r = Rankings.from_orderings([["a", "b"], ["b", "c", "d"]], rankers=["Ann", "Bo"], rest=())
    with pytest.warns(UserWarning, match=r"1 of 2 rankings contained .* and was removed \('Ann'\)"):
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


def test_dropping_an_item_is_as_if_it_had_never_been_there():
    for seed in range(5):
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
    train, test = r.split(0.75, random_seed=1)
    assert len(train) == round(0.75 * len(r))
    assert sorted([*train.labels, *test.labels]) == sorted(r.labels)
    position = r.labels.get_indexer(train.labels)
    assert (np.diff(position) > 0).all()  # the order stays
    assert train == r.split(0.75, random_seed=1)[0]
    assert train != r.split(0.75, random_seed=2)[0]


def test_each_ranking_is_in_one_test_fold():
    r = random_rankings(3)
    folds = r.split(4, random_seed=1)
    assert sorted(label for _, test in folds for label in test.labels) == sorted(r.labels)
    for train, test in folds:
        assert set(train.labels) == set(r.labels) - set(test.labels)


def test_all_rankings_of_a_ranker_go_the_same_way():
    r = random_rankings(3)
    for train, test in [
        r.split(0.5, random_seed=1, by="ranker"),
        *r.split(3, random_seed=1, by="ranker"),
    ]:
        assert set(train.ranker_idx).isdisjoint(test.ranker_idx)
        assert len(train) + len(test) == len(r)


@pytest.mark.parametrize(
    ("into", "by", "message"),
    [
        (0.0, "ranking", "A share of 0.0 of 4 rankings leaves one part empty"),
        (1.5, "ranking", "A share of 1.5 of 4 rankings leaves one part empty"),
        (0.9, "ranker", "A share of 0.9 of 2 rankers leaves one part empty"),
        (1, "ranking", "between 2 and the 4 rankings; got 1"),
        (3, "ranker", "between 2 and the 2 rankers; got 3"),
        (
            "half",
            "ranking",
            "`into` must be a share between 0 and 1, or a number of folds; got 'half'",
        ),
        (2, "item", "`by` must be 'ranking' or 'ranker'; got 'item'"),
    ],
)
def test_a_split_leaves_no_part_empty(into, by, message):
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        rankings().split(into, random_seed=1, by=by)


# Counts


def test_identical_rankings_of_equal_weight_collapse_into_their_count():
    r = Rankings.from_orderings(
        [["a", "b"], ["b", "a"], ["a", "b"], ["a"], ["a", "b"]],
        rest="items",
        rankers=["x", "x", "y", "y", "x"],
        count=[1, 1, 2, 1, 1],
        weight=[1, 1, 0.5, 1, 1],
    )
    merged = r.collapse()
    assert merged.labels.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(merged.count, [3, 1, 2])
    np.testing.assert_array_equal(merged.weight, [1.0, 1.0, 0.5])
    np.testing.assert_array_equal(merged.item, [[0, 1], [1, 0], [0, 1]])
    assert merged.are_anonymous
    assert merged.n_rankers == 6
    within = r.collapse(within_ranker=True)
    assert within.rankers.tolist() == ["x", "y"]
    np.testing.assert_array_equal(within.ranker_idx, [0, 0, 1, 1])
    np.testing.assert_array_equal(within.count, [2, 1, 2, 1])
    assert within.n_rankers == 2


def test_rankings_with_other_features_or_other_blocks_do_not_collapse():
    features = [[[1.0], [2.0]], [[1.0], [2.0]], [[1.0], [3.0]]]
    r = Rankings([[0, 1]] * 3, [[1, 2]] * 3, items=["a", "b"], features=features)
    np.testing.assert_array_equal(r.collapse().count, [2, 1])
    tied = Rankings.from_orderings([["a", "b", "c"], ["a", {"b", "c"}]])
    assert len(tied.collapse()) == 2


def test_expanding_undoes_collapsing_up_to_labels():
    for seed in range(5):
        r = random_rankings(seed, n=200, n_items=3)
        expanded = r.collapse().expand()
        assert len(expanded) == len(r) > len(r.collapse())

        def contents(x):
            return sorted(zip(x.item.tolist(), x.ranks.tolist(), strict=True))

        assert contents(expanded) == contents(r)
        assert (expanded.count == 1).all()


def test_expanding_keeps_weights_and_named_rankers():
    r = Rankings.from_orderings([["a", "b"], ["b", "a"]], count=[3, 2], weight=[0.5, 2.0])
    expanded = r.expand()
    np.testing.assert_array_equal(expanded.weight, [0.5] * 3 + [2.0] * 2)
    assert expanded.rankers.tolist() == expanded.ranker_idx.tolist() == list(range(5))
    assert expanded.evidence.sum() == r.evidence.sum()
    named = Rankings.from_orderings([["a", "b"], ["b", "a"]], rankers=["x", "y"], count=[3, 2])
    assert named.expand().rankers.tolist() == ["x", "y"]
    assert named.expand().ranker_idx.tolist() == [0, 0, 0, 1, 1]
    assert (named.n_rankers, named.are_anonymous) == (2, False)
    once = Rankings.from_orderings([["a", "b"]], rankers=["x"])
    assert once.expand() == once


def test_counts_go_with_parts_of_the_rankings():
    r = Rankings.from_orderings(
        [["a", "b", "c"], ["c", "d", "b"], ["b", "c"]], rest=(), count=[5, 3, 2]
    )
    assert r.subset([2, 0]).count.tolist() == [2, 5]
    assert r.subset([2, 0]).n_rankers == 8
    assert r.drop_items(["a"]).count.tolist() == [5, 3, 2]
    assert r.reindex({"item": ["d", "c", "b", "a"]}).count.tolist() == [5, 3, 2]
    assert r.grouped({"day": [1, 1, 2]}).count.tolist() == [5, 3, 2]
    pairs = r.pairs()
    assert pairs.counts[:, 0].tolist() == [5, 5, 5, 3, 3, 3, 2]
    assert pairs.weight.tolist() == [1.0] * 7


@pytest.mark.parametrize("by", ["ranking", "ranker"])
def test_splitting_divides_a_row_into_its_rankings(by):
    r = Rankings.from_orderings([["a", "b"], ["b", "a"]], count=[700, 300])
    parts = r.split(5, random_seed=1, by=by)
    assert sum(test.count.sum() for _, test in parts) == 1000
    for train, test in parts:
        assert (train.count + test.count).tolist() == [700, 300]
        assert test.count.sum() == 200
    expanded = r.expand().split(5, random_seed=1, by=by)
    for (train, test), (each, alone) in zip(parts, expanded, strict=True):
        assert train.count.tolist() == np.bincount(each.item[:, 0]).tolist()
        assert test.count.tolist() == np.bincount(alone.item[:, 0]).tolist()
    named = Rankings.from_orderings([["a", "b"]] * 4, rankers=list("xyzz"), count=[7, 5, 3, 2])
    if by == "ranker":
        train, test = named.split(0.5, random_seed=1, by=by)
        assert {*train.ranker_idx}.isdisjoint(test.ranker_idx)
        assert sorted([*train.count, *test.count]) == [2, 3, 5, 7]


# Pairs and counts


def test_pairs_list_every_pair_with_the_better_item_first():
    frame = rankings().pairs().to_frame()
    assert frame.to_dict("list") == {
        "first": ["b", "b", "a", "a", "a", "d", "d"],
        "second": ["a", "c", "c", "d", "b", "b", "a"],
        "outcome": ["first", "first", "first", "tie", "first", "first", "first"],
        "count": [1, 1, 1, 2, 2, 2, 1],
        "judge": ["Ann", "Ann", "Ann", "Bo", "Bo", "Bo", "Ann"],
    }
    assert "tie" not in set(rankings().pairs(ties="drop").to_frame()["outcome"])
    assert rankings().pairs().coords["pair"].tolist() == [0, 1, 2, 3, 4, 5, 6]


def test_counts_are_differences_of_ranks_or_ones_per_ranker():
    difference, binary = rankings().counts(), rankings().counts("binary")
    np.testing.assert_array_equal(
        difference.dense("Ann"),
        [[0, 0, 1, 0], [1, 0, 2, 0], [0, 0, 0, 0], [1, 0, 0, 0]],
    )
    np.testing.assert_array_equal(
        difference.dense("Bo"), [[0, 2, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 2, 0, 0]]
    )
    np.testing.assert_array_equal(
        binary.dense("Ann"), [[0, 0, 1, 0], [1, 0, 1, 0], [0, 0, 0, 0], [1, 0, 0, 0]]
    )


def test_counts_of_several_rankings_by_a_ranker_add_up():
    r = Rankings([[0, 1, 2], [1, 0, 0]], [[1, 2, 3], [1, 2, 0]], items=list("abc"), rankers=["Ann"],
                 ranker_idx=[0, 0], count=[3, 2])  # fmt: skip
    np.testing.assert_array_equal(r.counts().dense("Ann"), [[0, 3, 6], [2, 0, 3], [0, 0, 0]])
    np.testing.assert_array_equal(
        r.counts("binary").dense("Ann"), [[0, 3, 3], [2, 0, 3], [0, 0, 0]]
    )


def test_rankers_without_names_have_one_table_of_pairs_each():
    r = Rankings.from_orderings([["a", "b"], ["b", "a"]], count=[3, 2])
    assert r.counts() == r.expand().counts()
    assert len(r.counts().rankers) == 5


def test_sampling_weights_become_weights_of_the_counts():
    orders = [["a", "b", "c"], ["b", "a", "c"]]
    r = Rankings.from_orderings(orders, rankers=["Ann", "Bo"], weight=[0.5, 2])
    assert r.counts().weight.tolist() == [0.5, 2.0]
    assert r.counts().count.tolist() == r._with(weight=np.ones(2)).counts().count.tolist()
    both = Rankings.from_orderings(orders, rankers=["Ann", "Ann"], weight=[0.5, 2])
    with pytest.raises(ValueError, match=r"same in all rankings of a ranker, .* Ranker 'Ann' has"):
        both.counts()


def test_pairs_and_counts_know_their_options():
    with pytest.raises(ValueError, match="`ties` must be 'keep' or 'drop'; got 'half'"):
        rankings().pairs(ties="half")
    with pytest.raises(ValueError, match="`method` must be 'difference' or 'binary'; got 'rating'"):
        rankings().counts("rating")


# Size


def many(n):
    """Items of n rankings of 10 out of 5,000."""
    rng = np.random.default_rng(1)
    return rng.permuted(rng.integers(500, size=(n, 1)) + 500 * np.arange(10), axis=1)


def ratings(items):
    n, k = items.shape
    return pd.DataFrame(
        {
            "user": np.repeat(np.arange(n), k),
            "film": items.ravel(),
            "stars": np.tile(np.arange(k), n),
        }
    )


@pytest.mark.parametrize(
    ("prepare", "read"),
    [
        (ratings, from_stars),
        (np.ndarray.tolist, Rankings.from_orderings),
        (np.ndarray.tolist, lambda orderings: Rankings.from_orderings(orderings).stages),
    ],
    ids=["ratings", "orderings", "stages"],
)
def test_memory_grows_as_the_entries(prepare, read):
    peaks = []
    for n in (2_000, 4_000, 8_000):
        data = prepare(many(n))
        tracemalloc.start()
        read(data)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # From 2,000 to 4,000 rankings and on to 8,000: twice as much, or less for what is constant.
    assert peaks[1] < 2.2 * peaks[0]
    assert peaks[2] < 2.2 * peaks[1]
    assert peaks[2] < 400 * 80_000  # bytes per entry


def test_items_in_another_order_are_the_same_rankings():
    one = Rankings.from_orderings(
        [["a", {"b", "c"}], ["c", "a"]], rankers=["x", "x"], weight=[2.0, 1.0], rest=()
    )
    other = one.reindex({"item": ["c", "a", "z", "b"], "ranker": ["w", "x"]})
    assert other.items.tolist() == ["c", "a", "z", "b"]
    assert other.rankers.tolist() == ["w", "x"]
    columns = ["ranking", "ranker", "item", "rank"]
    assert sorted(one.to_frame()[columns].to_numpy().tolist()) == sorted(
        other.to_frame()[columns].to_numpy().tolist()
    )
    assert other.item[0].tolist() == [1, 0, 3]  # in a block by the new axis
    assert other.weight.tolist() == [2.0, 1.0]
    assert one.reindex({"item": ["a", "b", "c"]}) == one


def test_features_go_with_their_items():
    table = pd.DataFrame({"ranker": 1, "item": list("abc"), "rank": [1, 2, 2], "x": [3.0, 4, 5]})
    one = Rankings.from_long_ranks(table, ranker="ranker", item="item", rank="rank", features=["x"])
    other = one.reindex({"item": ["c", "b", "a"]})
    assert other.to_frame()[["item", "x"]].to_numpy().tolist() == [["a", 3], ["c", 5], ["b", 4]]


def test_labels_of_the_rankings_must_be_on_the_new_axis():
    rankings = Rankings.from_orderings([["a", "b"], ["b", "a"]])
    with pytest.raises(ValueError, match=r"^Unknown item .b.: the items are .a.\."):
        rankings.reindex({"item": ["a"]})
    with pytest.raises(ValueError, match=r"^Rankings have no axis 'season' .* 'item', 'ranker'\."):
        rankings.reindex({"season": [1]})


GROUPED = pd.DataFrame(
    {
        "user": ["x", "x", "x", "x", "y", "y"],
        "week": [1, 1, 2, 2, 1, 1],
        "item": list("abbaab"),
        "stars": [3, 1, 2, 4, 5, 4],
        "season": ["wet", "wet", "dry", "dry", "dry", "dry"],
        "age": [7, 7, 7, 7, 9, 9],
    }
)


def test_rankings_are_grouped_by_columns_and_read_back():
    rankings = Rankings.from_ratings(
        GROUPED, ranker="user", item="item", rating="stars", ranking="week", by=["season", "age"]
    )
    assert rankings.groups["season"].labels.tolist() == ["dry", "wet"]
    assert rankings.groups["season"].idx.tolist() == [1, 0, 0]
    assert rankings.coords["age"].tolist() == [7, 9]
    assert "and 2 labels of 'season' and 2 labels of 'age'" in repr(rankings)
    back = Rankings.from_long_ranks(
        rankings.to_frame(),
        **{name: name for name in ("ranking", "ranker", "item", "rank", "weight")},
        by=["season", "age"],
    )
    assert back == rankings
    assert pickle.loads(pickle.dumps(back)) == rankings
    assert rankings.grouped({"age": [1, 2, 3]}) != rankings
    assert rankings.subset([2, 0]).groups["season"].idx.tolist() == [0, 1]
    pairs = rankings.subset([2, 0]).pairs()
    assert pairs.groups["age"].idx.tolist() == [1, 0]
    with pytest.warns(UninformativeRankingWarning):
        kept = rankings.drop_items(["b"])
    assert kept.groups["season"].idx.tolist() == [1, 0, 0]


def test_invalid_groups_raise():
    read = {"ranker": "user", "item": "item", "rating": "stars"}
    once = GROUPED.drop(index=[2, 3])
    moved = once.assign(season=["wet", "dry", "dry", "dry"])
    message = r"^The season of a ranking must be .* has 'wet' in row 0 .* and 'dry' in another row"
    with pytest.raises(ValueError, match=message):
        Rankings.from_ratings(moved, by="season", **read)
    with pytest.raises(
        ValueError, match=r"cannot name a column 'ranker': rankings already .*ranker="
    ):
        Rankings.from_ratings(once, by="ranker", **read)
    rankings = Rankings.from_ratings(once, **read)
    with pytest.raises(ValueError, match=r"^The group 'g' has 3 labels for 2 rankings; give"):
        rankings.grouped({"g": [1, 2, 3]})
    with pytest.raises(
        ValueError, match=r"^`g` must have one value for each ranker, .* for ranker 'y'"
    ):
        rankings.grouped({"g": {"x": 1}})


def test_identical_rankings_of_two_groups_are_not_merged():
    rankings = Rankings.from_orderings([["a", "b"]] * 4).grouped({"g": ["u", "v", "u", "u"]})
    assert rankings.collapse().count.tolist() == [3, 1]


def test_the_arrays_of_the_caller_stay_writeable():
    item, ranks, weight = np.array([[0, 1]]), np.array([[1, 2]]), np.array([2.0])
    r = Rankings(item, ranks, items=["a", "b"], weight=weight)
    item[0, 0], ranks[0, 0], weight[0] = 1, 2, 9.0
    np.testing.assert_array_equal(r.item, [[0, 1]])
    np.testing.assert_array_equal(r.weight, [2.0])


def test_gaps_in_a_long_table_are_closed():
    r = from_places(places((1, "a", 4), (1, "b", 2), (1, "c", 2), (1, "d", 1.5)))
    np.testing.assert_array_equal(r.item, [[3, 1, 2, 0]])
    np.testing.assert_array_equal(r.ranks, [[1, 2, 2, 3]])
