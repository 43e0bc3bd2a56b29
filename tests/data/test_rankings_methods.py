"""Methods of Rankings: parts, round trips, pairs, counts, and the object itself."""

import copy
import pickle
import time
import warnings

import numpy as np
import pandas as pd
import pytest

from bayesrank.data import Rankings, UninformativeRankingWarning

ROUND_TRIP = {
    "ranking": "ranking",
    "ranker": "ranker",
    "item": "item",
    "rank": "rank",
    "weight": "weight",
}


def rankings(**more):
    """Three rankings by two rankers of items a to d."""
    return Rankings.from_orderings(
        [["b", "a", "c"], [{"a", "d"}, "b"], ["d", "a"]],
        rankers=["Ann", "Bo", "Ann"],
        weight=[1, 2, 1],
        **more,
    )


def random_rankings(seed, *, n=40, n_items=6, n_features=None):
    """Draw weak orders of two to six items, most with ties, by at most ten rankers."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "ranking": np.repeat([f"r{i}" for i in rng.permutation(n)], n_items),
            "ranker": np.repeat(rng.integers(10, size=n), n_items),
            "item": np.tile(np.arange(n_items), n),
            "rating": rng.integers(4, size=n * n_items),
        }
    )
    frame = frame[rng.random(len(frame)) < 0.7]
    several = frame.groupby("ranking")["rating"].transform("nunique") > 1
    features = rng.normal(size=(n_items, n_features)) if n_features else None
    return Rankings.from_ratings(
        frame[several],
        ranker="ranker",
        item="item",
        rating="rating",
        ranking="ranking",
        items=range(n_items),
        features=features,
    )


# Sizes, coords, representation, equality


def test_sizes_are_those_of_the_arrays():
    r = rankings()
    assert (r.n_rankings, r.n_items, r.n_slots, r.n_blocks) == (3, 4, 3, 3)
    assert len(r) == 3
    np.testing.assert_array_equal(r.block_sizes, [[1, 1, 1], [2, 1, 0], [1, 1, 0]])


def test_coords_name_the_axes():
    coords = rankings().coords
    assert {name: values.tolist() for name, values in coords.items()} == {
        "item": ["a", "b", "c", "d"],
        "ranking": [0, 1, 2],
        "ranker": ["Ann", "Bo"],
        "slot": [0, 1, 2],
    }


def test_the_repr_counts_what_there_is():
    assert repr(rankings()) == (
        "Rankings: 3 rankings of 4 items by 2 rankers, 2 to 3 items in each, "
        "25% of entries tied, total weight 4"
    )
    with_features = Rankings.from_orderings([["a", "b"]], features=np.ones((2, 5)))
    assert repr(with_features) == (
        "Rankings: 1 rankings of 2 items by 1 rankers, 2 items in each, no ties, 5 features"
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


def test_rankings_cannot_be_changed():
    r = rankings(features=np.ones((4, 1)))
    with pytest.raises(AttributeError, match="Rankings are immutable: 'ranks' cannot be set"):
        r.ranks = 1
    with pytest.raises(AttributeError, match="'ranks' cannot be deleted"):
        del r.ranks
    for name in ("item", "ranks", "mask", "block_sizes", "ranker_idx", "weight", "features"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(r, name)[0] = 0


@pytest.mark.parametrize("again", [copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_copies_are_equal_and_as_immutable(again):
    r = again(rankings())
    assert r == rankings()
    with pytest.raises(ValueError, match="read-only"):
        r.ranks[0, 0] = 5


def test_the_arrays_of_the_caller_stay_writeable():
    item, ranks, weight = np.array([[0, 1]]), np.array([[1, 2]]), np.array([2.0])
    r = Rankings(item, ranks, items=["a", "b"], weight=weight)
    item[0, 0], ranks[0, 0], weight[0] = 1, 2, 9.0
    np.testing.assert_array_equal(r.item, [[0, 1]])
    np.testing.assert_array_equal(r.weight, [2.0])


# Frames


def test_the_frame_is_long_and_best_first():
    frame = rankings().to_frame()
    assert frame.to_dict("list") == {
        "ranking": [0, 0, 0, 1, 1, 1, 2, 2],
        "ranker": ["Ann", "Ann", "Ann", "Bo", "Bo", "Bo", "Ann", "Ann"],
        "item": ["b", "a", "c", "a", "d", "b", "d", "a"],
        "rank": [1, 2, 3, 1, 1, 2, 1, 2],
        "weight": [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 1.0, 1.0],
    }


@pytest.mark.parametrize("seed", range(5))
def test_a_frame_reads_back_as_the_same_rankings(seed):
    r = random_rankings(seed)
    assert Rankings.from_long_ranks(r.to_frame(), items=r.items, **ROUND_TRIP) == r


def test_a_frame_with_features_reads_back():
    r = random_rankings(1, n_features=2)
    frame = r.to_frame().rename(columns={0: "x", 1: "y"})
    again = Rankings.from_long_ranks(frame, items=r.items, features=["x", "y"], **ROUND_TRIP)
    assert again.feature_names.tolist() == ["x", "y"]
    np.testing.assert_array_equal(again.features, r.features)
    np.testing.assert_array_equal(again.item, r.item)


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
    with pytest.warns(UninformativeRankingWarning, match="1 of 3 rankings hold one item"):
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
    with pytest.warns(UserWarning, match="1 of 2 rankings held only dropped items and are gone"):
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


# Pairs and counts


def test_pairs_list_every_pair_with_the_better_item_first():
    frame = rankings().pairs().to_frame()
    assert frame.to_dict("list") == {
        "first": ["b", "b", "a", "a", "a", "d", "d"],
        "second": ["a", "c", "c", "d", "b", "b", "a"],
        "outcome": ["first", "first", "first", "tie", "first", "first", "first"],
        "count": [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 1.0],
        "judge": ["Ann", "Ann", "Ann", "Bo", "Bo", "Bo", "Ann"],
    }
    assert "tie" not in set(rankings().pairs(ties="drop").to_frame()["outcome"])


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


def test_net_counts_of_differences_are_centred_ranks():
    # With ranks r in a ranking of n items, net_i = sum_j r_j - n r_i.
    r = Rankings.from_orderings([["b", {"a", "d"}, "c"]])
    np.testing.assert_array_equal(r.counts().net(), [[0.0, 4.0, -4.0, 0.0]])


@pytest.mark.parametrize("seed", range(3))
def test_counts_add_up_the_pairs(seed):
    r = random_rankings(seed)
    pairs = r.pairs(ties="drop").to_frame()
    expected = pairs.groupby(["judge", "first", "second"])["count"].sum()
    counts = r.counts("binary").to_frame().set_index(["ranker", "first", "second"])["count"]
    assert counts.sort_index().to_dict() == expected.sort_index().to_dict()


def test_pairs_and_counts_know_their_options():
    with pytest.raises(ValueError, match="`ties` must be 'keep' or 'drop'; got 'half'"):
        rankings().pairs(ties="half")
    with pytest.raises(ValueError, match="`kind` must be 'difference' or 'binary'; got 'rating'"):
        rankings().counts("rating")


# Size


def test_a_million_rows_are_read_in_seconds():
    rng = np.random.default_rng(1)
    n, k = 100_000, 10
    first = rng.integers(500, size=(n, 1)) + 500 * np.arange(k)
    frame = pd.DataFrame(
        {
            "user": np.repeat(np.arange(n), k),
            "film": first.ravel(),
            "stars": np.tile(np.arange(k), n),
        }
    ).sample(frac=1, random_state=1)
    start = time.process_time()
    r = Rankings.from_ratings(frame, ranker="user", item="film", rating="stars")
    seconds = time.process_time() - start
    assert (len(r), r.n_slots, r.n_items) == (n, k, 5000)
    assert seconds < 4  # 0.5 s when the machine is idle
