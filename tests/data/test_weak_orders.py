"""Weak orders as arrays: sizes, coords, stages, frames, and the object itself."""

import copy
import pickle

import numpy as np
import pytest

from bayesrank.data import Rankings, UninformativeRankingWarning
from tests.data.examples import ROUND_TRIP, random_rankings, rankings

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


# Stages


def test_stages_that_rankings_share_are_there_once_with_their_weights():
    r = Rankings.from_orderings(
        [["b", "a", "c"], ["d", "b", "a", "c"], ["b", {"a", "c"}]], weight=[1, 2, 4]
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
    assert r.collapse().stages.ranking_weight.tolist() == [1.0, 2.0, 1.0]
    assert r.drop_items(["c"]).stages.item_weight.size == 3


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))]
)
def test_copies_find_the_same_stages_and_do_not_carry_them(again):
    r = rankings()
    size = len(pickle.dumps(r))
    weight = r.stages.stage_weight
    assert len(pickle.dumps(r)) == size
    np.testing.assert_array_equal(again(r).stages.stage_weight, weight)
    assert again(r) == rankings()


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
