"""Interactions: how they are read, what is refused, and which triples there are."""

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest

from bayesrank.data import (
    Interactions,
    Rankings,
    RepeatedInteractionWarning,
    UninformativeUserWarning,
)

CLICKS = pd.DataFrame({"user": [9, 7, 9, 8, 9], "page": ["c", "b", "a", "a", "d"]})
STARS = pd.DataFrame(
    {"user": [7, 7, 9, 8], "movie": ["b", "a", "a", "c"], "stars": [5.0, 2.0, 4.0, 1.0]}
)


def clicks(frame=CLICKS, **more):
    return Interactions.from_frame(frame, user="user", item="page", **more)


def stars(frame=STARS, at_least=4, **more):
    return Interactions.from_ratings(
        frame, user="user", item="movie", rating="stars", at_least=at_least, **more
    )


# Reading


def test_a_table_becomes_sorted_rows():
    have = clicks()
    assert have.users.tolist() == [7, 8, 9]
    assert have.items.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(have.start, [0, 1, 2, 5])
    np.testing.assert_array_equal(have.item, [1, 0, 0, 2, 3])
    np.testing.assert_array_equal(have.user_idx, [0, 1, 2, 2, 2])
    assert (have.start.dtype, have.item.dtype, have.user_idx.dtype) == (np.int64, "int32", "int32")
    assert (have.n_users, have.n_items, have.n_interactions, len(have)) == (3, 4, 5, 5)
    assert have.n_items_of_user.tolist() == [1, 1, 3]
    assert have.items_of(9).tolist() == ["a", "c", "d"]
    assert repr(have) == "Interactions: 5 of 3 users with 4 items, 1 to 3 items each"
    assert {name: labels.tolist() for name, labels in have.coords.items()} == {
        "user": [7, 8, 9],
        "item": ["a", "b", "c", "d"],
    }


def test_users_without_items_and_items_of_nobody_are_kept():
    have = clicks(users=[10, 9, 8, 7], items=list("edcba"))
    np.testing.assert_array_equal(have.start, [0, 0, 3, 4, 5])
    np.testing.assert_array_equal(have.item, [1, 2, 4, 4, 3])
    assert have.items_of(10).tolist() == []


def test_a_pair_given_twice_is_one_interaction_and_a_warning():
    again = pd.concat([CLICKS, CLICKS.iloc[[0, 0, 1]]])
    with pytest.warns(RepeatedInteractionWarning, match=r"^3 rows of 8 repeat an earl") as caught:
        have = clicks(again)
    assert caught[0].filename == __file__
    assert have == clicks()


def test_a_user_who_has_everything_is_kept_with_a_warning():
    message = r"^1 user with all 3 items \(9\) pre.* Such users are kept and contribute nothing\.$"
    with pytest.warns(UninformativeUserWarning, match=message):
        have = clicks(CLICKS.drop(1))
    assert have.n_items_of_user.tolist() == [1, 3]
    assert have.all_triples().tolist() == [[0, 0, 1], [0, 0, 2]]


def test_ratings_from_the_threshold_on_are_interactions():
    message = r"^1 user \(8\) gave no rating of 4 or more\. Such users are kept without items\.$"
    with pytest.warns(UninformativeUserWarning, match=message):
        have = stars()
    assert (have.users.tolist(), have.items.tolist()) == ([7, 8, 9], ["a", "b", "c"])
    assert [have.items_of(u).tolist() for u in (7, 8, 9)] == [["b"], [], ["a"]]
    assert stars(at_least=1).n_interactions == 4


def test_rankings_in_two_blocks_are_interactions():
    r = Rankings.from_orderings([["b", {"a", "c"}], [{"a", "c"}, "b"]], rankers=["Ann", "Bo"])
    have = Interactions.from_rankings(r)
    assert [have.items_of(u).tolist() for u in ("Ann", "Bo")] == [["b"], ["a", "c"]]


def test_memory_grows_with_the_interactions_alone():
    n = 20_000  # users times items would be 400 million cells
    frame = pd.DataFrame({"user": np.arange(n), "page": np.arange(n)[::-1]})
    tracemalloc.start()
    have = clicks(frame)
    have.sample_triples(n, random_seed=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert have.n_interactions == n
    assert peak < 1000 * n


# Triples


def test_all_triples_are_a_user_an_item_had_and_an_item_not_had():
    have = clicks(users=[7, 8, 9, 10])
    assert have.n_triples == 9
    assert have.all_triples().tolist() == [
        [0, 1, 0],
        [0, 1, 2],
        [0, 1, 3],
        [1, 0, 1],
        [1, 0, 2],
        [1, 0, 3],
        [2, 0, 1],
        [2, 2, 1],
        [2, 3, 1],
    ]


def test_sampled_triples_are_uniform_over_all():
    have, n = clicks(), 90_000
    drawn = have.sample_triples(n, random_seed=5)
    assert drawn.shape == (n, 3)
    listed, times = np.unique(drawn, axis=0, return_counts=True)
    np.testing.assert_array_equal(listed, have.all_triples())
    np.testing.assert_allclose(times / n, 1 / 9, atol=5 * np.sqrt(8 / 81 / n))
    np.testing.assert_array_equal(drawn, have.sample_triples(n, random_seed=5))
    assert (drawn != have.sample_triples(n, random_seed=6)).any()


def test_users_with_all_items_or_none_have_no_triples():
    with pytest.warns(UninformativeUserWarning, match="2 users with all 1 item"):
        have = clicks(CLICKS[CLICKS["page"] == "a"])
    assert have.n_triples == 0
    with pytest.raises(ValueError, match=r"^There is nothing to learn: every user has all items"):
        have.sample_triples(1, random_seed=1)


# Bad input


@pytest.mark.parametrize(
    ("frame", "more", "message"),
    [
        (CLICKS.iloc[:0], {}, r"^There are no interactions: give at least one row\.$"),
        (CLICKS[["user"]], {}, r"has no column 'page'; its columns are 'user'"),
        (CLICKS.assign(page=["a", None, "b", "c", "d"]), {}, "'page' has a missing label in row 1"),
        (CLICKS.astype({"user": float}).replace(8, np.nan), {}, "'user' has a missing label in ro"),
        (CLICKS, {"items": ["a", "b"]}, r"^Unknown item 'c', 'd': the items are 'a', 'b'\."),
        (CLICKS, {"users": [7, 8]}, r"^Unknown user 9: the users are 7, 8\."),
        (CLICKS, {"items": list("abcda")}, r"`items` must be distinct, but 'a' occurs twice"),
    ],
)
def test_invalid_tables_of_interactions_raise(frame, more, message):
    with pytest.raises(ValueError, match=message):
        clicks(frame, **more)


def test_ratings_must_be_numbers_and_some_high_enough():
    with pytest.raises(ValueError, match=r"^No rating is 6 or more: .*'stars' is 5\. Lo"):
        stars(at_least=6)
    with pytest.raises(ValueError, match="column 'stars' is missing in row 0"):
        stars(STARS.assign(stars=[np.nan, 1, 2, 3]))


@pytest.mark.parametrize(
    ("rankings", "message"),
    [
        (Rankings.from_orderings([["a", "b", "c"]]), r"has 3 blocks, .*: Interactions\.from_rati"),
        (
            Rankings.from_orderings([["a", "b"], ["b", "c"]]),
            "Ranking 0 does not contain all of the 3",
        ),
        (
            Rankings.from_orderings([["a", "b"]] * 2, rankers=["x", "x"]),
            "Ranking 1 is the second one by its ranker",
        ),
        (Rankings([[0, 1]], [[1, 2]], items=["a", "b"], weight=[2]), "Ranking 0 has a weight"),
    ],
)
def test_rankings_that_are_no_interactions_raise(rankings, message):
    with pytest.raises(ValueError, match=message):
        Interactions.from_rankings(rankings)


def test_a_ranking_of_one_block_does_not_say_what_the_ranker_has():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        r = Rankings.from_orderings([["a", "b"], [{"a", "b"}]])
    with pytest.raises(ValueError, match="Ranking 1 has one block, so the ranker may have all"):
        Interactions.from_rankings(r)


def test_large_data_are_not_written_out():
    have = clicks(users=range(5001), items=[*"abcd", *range(4000)])
    with pytest.raises(ValueError, match=r"There are 20,024,004 cells .* at most 20,000,000"):
        have.to_matrix()


def test_an_unknown_user_raises():
    with pytest.raises(ValueError, match=r"^Unknown user 11: the users are 7, 8, 9\."):
        clicks().items_of(11)
