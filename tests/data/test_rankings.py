"""Rankings: pairs, counts, and what a million entries cost."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest

from bayesrank.data import Rankings
from tests.data.examples import random_rankings, rankings

# Pairs and counts


def test_pairs_list_every_pair_with_the_better_item_first():
    frame = rankings().pairs().to_frame()
    assert frame.to_dict("list") == {
        "first": ["b", "b", "a", "a", "a", "d", "d"],
        "second": ["a", "c", "c", "d", "b", "b", "a"],
        "outcome": ["first", "first", "first", "tie", "first", "first", "first"],
        "count": [1, 1, 1, 1, 1, 1, 1],
        "judge": ["Ann", "Ann", "Ann", "Bo", "Bo", "Bo", "Ann"],
        "weight": [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 1.0],
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


def test_counts_of_several_rankings_by_a_ranker_add_up_with_their_weights():
    r = Rankings([[0, 1, 2], [1, 0, 0]], [[1, 2, 3], [1, 2, 0]], items=list("abc"), rankers=["Ann"],
                 ranker_idx=[0, 0], weight=[3, 2])  # fmt: skip
    np.testing.assert_array_equal(r.counts().dense("Ann"), [[0, 3, 6], [2, 0, 3], [0, 0, 0]])
    np.testing.assert_array_equal(
        r.counts("binary").dense("Ann"), [[0, 3, 3], [2, 0, 3], [0, 0, 0]]
    )


def test_weights_that_make_counts_of_pairs_broken_are_refused():
    r = Rankings.from_orderings([["a", "b", "c"]], rankers=["Ann"], weight=[0.5])
    message = r"give ranker 'Ann' 0\.5 for item 'a' over 'b'\. Weights are multiplicities here: .*"
    with pytest.raises(ValueError, match=message + r"`PairCounts\.weighted`"):
        r.counts("binary")


def test_counts_tell_the_problems_of_the_items():
    r = Rankings.from_orderings([["b", "a"], ["c", "d"], ["a", "b"]], rankers=["Ann", "Ann", "Bo"])
    aligned = r.counts(problem=["q1", "q1", "q2", "q2"])
    assert aligned.items.tolist() == list("abcd")
    assert aligned.problems.tolist() == ["q1", "q2"]
    np.testing.assert_array_equal(aligned.totals(), [[1, 1], [1, 0]])
    by_item = {"d": "q2", "c": "q2", "b": "q1", "a": "q1"}
    assert r.counts(problem=by_item) == aligned
    assert r.counts(problem=pd.Series(by_item)) == aligned


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (
            ["q1", "q2", "q2"],
            r"never compared, but ranking 'Ann' holds 'b' of 'q2' and 'a' of 'q1'\. Rank each",
        ),
        (["q1", "q1"], "`problem` has 2 labels for 3 items"),
        ({"a": "q1", "b": "q1"}, "`problem` says nothing of item 'c'"),
        (["q1", "q1", "q2"], "Problem 'q2' has one item, 'c'"),
        (["q1", "q1", None], "`problem` has a missing label at position 2"),
        ("q1", r"`problem` must be a list of labels; write \['q1'\]"),
    ],
)
def test_problems_of_the_items_are_checked(problem, message):
    r = Rankings.from_orderings([["b", "a"]], rankers=["Ann"], items=list("abc"))
    with pytest.raises(ValueError, match=message):
        r.counts(problem=problem)


def test_pairs_and_counts_know_their_options():
    with pytest.raises(ValueError, match="`ties` must be 'keep' or 'drop'; got 'half'"):
        rankings().pairs(ties="half")
    with pytest.raises(ValueError, match="`kind` must be 'difference' or 'binary'; got 'rating'"):
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


def from_table(frame):
    return Rankings.from_ratings(frame, ranker="user", item="film", rating="stars")


@pytest.mark.parametrize(
    ("prepare", "read"),
    [
        (ratings, from_table),
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
