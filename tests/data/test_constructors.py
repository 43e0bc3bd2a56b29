"""Constructors: the same weak orders however they are written, and what makes them up."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata

from bayesrank.data import Rankings
from tests.data.examples import STARS, from_places, from_stars, places

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


def test_the_arrays_have_the_types_of_the_contract():
    r = from_stars()
    for name in ("item", "ranks", "block_sizes", "ranker_idx"):
        assert getattr(r, name).dtype == np.int32
    assert r.mask.dtype == np.bool_
    assert r.weight.dtype == np.float64


def test_orderings_long_ranks_wide_ranks_and_arrays_agree_with_ratings():
    expected = from_stars()
    orderings = Rankings.from_orderings(
        [[{"b", "c"}, "a"], ["c", "d", "a", "b"]], rankers=["u", "v"]
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
    assert Rankings.from_ranks(wide) == expected
    assert arrays == expected


def test_the_order_of_the_rows_only_decides_the_order_of_the_rankings():
    shuffled = STARS.sample(frac=1, random_state=1)
    again = from_stars(shuffled)
    assert again.labels.tolist() == ["v", "u"]
    np.testing.assert_array_equal(again.item[::-1], from_stars().item)
    np.testing.assert_array_equal(again.ranks[::-1], from_stars().ranks)


def test_rankings_and_rankers_keep_their_order_of_appearance():
    r = from_places(places((9, "a", 1), (9, "b", 2), (3, "b", 1), (3, "a", 2)))
    assert r.labels.tolist() == [9, 3]


def test_a_given_axis_is_kept_with_the_items_that_no_row_has():
    r = from_stars(items=["z", "d", "c", "b", "a"])
    assert r.items.tolist() == ["z", "d", "c", "b", "a"]
    np.testing.assert_array_equal(r.item, [[2, 3, 4, 0], [2, 1, 4, 3]])


@pytest.mark.parametrize("seed", range(5))
def test_ranks_are_the_dense_ranks_of_scipy(seed):
    rng = np.random.default_rng(seed)
    presented = rng.random((30, 8)) < 0.6
    presented[:, :2] = True
    ratings = rng.integers(4, size=(30, 8)) / 2
    ratings[:, 0], ratings[:, 1] = 1.0, 0.5  # at least two blocks
    row, item = np.nonzero(presented)
    frame = pd.DataFrame({"user": row, "film": item, "stars": ratings[row, item]})
    r = from_stars(frame, items=range(8))
    for n in range(30):
        expected = np.zeros(8, dtype=int)
        expected[presented[n]] = rankdata(-ratings[n, presented[n]], method="dense")
        found = np.zeros(8, dtype=int)
        found[r.item[n, r.mask[n]]] = r.ranks[n, r.mask[n]]
        np.testing.assert_array_equal(found, expected)
        assert (np.diff(r.ranks[n, r.mask[n]]) >= 0).all()
        assert r.mask[n, : presented[n].sum()].all()


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


def test_orderings_by_a_repeated_ranker_are_numbered():
    r = Rankings.from_orderings([["a", "b"], ["b", "a"], ["a", "b"]], rankers=["x", "y", "x"])
    assert r.labels.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(r.ranker_idx, [0, 1, 0])


def test_weights_come_from_a_column_or_a_list():
    frame = places(("x", "a", 1, 2), ("x", "b", 2, 2), columns=("race", "car", "place", "times"))
    np.testing.assert_array_equal(from_places(frame, weight="times").weight, [2.0])
    listed = Rankings.from_orderings([["a", "b"], ["b", "a"]], weight=[3, 0.5])
    np.testing.assert_array_equal(listed.weight, [3.0, 0.5])


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
    listed = Rankings.from_orderings(orderings, rankers=["x", "y"], features=by_item)
    array = Rankings.from_orderings(
        orderings, rankers=["x", "y"], features=np.array([[2.0], [3.0], [1.0]])
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


def test_gaps_in_a_long_table_are_closed():
    r = from_places(places((1, "a", 4), (1, "b", 2), (1, "c", 2), (1, "d", 1.5)))
    np.testing.assert_array_equal(r.item, [[3, 1, 2, 0]])
    np.testing.assert_array_equal(r.ranks, [[1, 2, 2, 3]])
