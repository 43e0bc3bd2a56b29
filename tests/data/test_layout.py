"""Layout: what is no collection of weak orders is refused, what says nothing is counted."""

import itertools

import numpy as np
import pandas as pd
import pytest

from bayesrank.data import Rankings, UninformativeRankingWarning
from tests.data.examples import STARS, from_places, from_stars, places

TWICE = places((7, "a", 1), (7, "b", 2), (7, "a", 3))
LEFT_OUT = pd.DataFrame({"a": [1, np.nan], "b": [2, np.nan]}, index=["x", "y"])
NONE = np.zeros((0, 2), dtype=int)


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda: from_places(TWICE), "Ranking 7 contains item 'a' twice"),
        (lambda: Rankings.from_orderings([["a", {"b", "a"}]]), "Ranking 0 contains item 'a' twice"),
        (
            lambda: Rankings([[1, 1]], [[1, 2]], items=["a", "b"]),
            "Ranking 0 contains item 'b' twice",
        ),
        (lambda: Rankings([[0, 1]], [[-1, 1]], items=["a", "b"]), r"ranking 0 has ranks \[-1, 1\]"),
        (lambda: Rankings.from_orderings([]), "There are no rankings"),
        (lambda: from_stars(STARS.iloc[:0]), "There are no rankings"),
        (lambda: Rankings.from_ranks(pd.DataFrame({"a": []})), "There are no rankings"),
        (lambda: Rankings(NONE, NONE, items=["a"]), "There are no rankings"),
        (lambda: Rankings.from_orderings([["a"], []]), "Ranking 1 is empty: it needs an item"),
        (lambda: Rankings.from_ranks(LEFT_OUT), "Ranking 'y' is empty"),
        (
            lambda: Rankings.from_orderings([["a", "b"]], weight=[1, 2]),
            r"`weight` must have shape \(1,\), one per ranking; got",
        ),
    ],
)
def test_invalid_collections_of_weak_orders_are_refused(read, message):
    with pytest.raises(ValueError, match=message):
        read()


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ([1, 3, 3, 4], "1, 3, 3, 4"),
        ([2, 3, np.nan, np.nan], "2, 3"),
        ([0, 1, 2, 3], "0, 1, 2, 3"),
        ([1, 1.5, 2, 3], "1, 1.5, 2, 3"),
        ([1, np.inf, 2, 3], "1, 2, 3, inf"),
        ([4, 4, 2, 1], "1, 2, 4, 4"),  # points: high is good
        ([1, 2, 2, 5], "1, 2, 2, 5"),
        ([1, 1, 1, 3], "1, 1, 1, 3"),
        ([2.5, 2.5, 1, 3], "1, 2.5, 2.5, 3"),
    ],
)
def test_wide_ranks_have_no_gaps_that_ties_do_not_explain(row, shown):
    frame = pd.DataFrame([[1.0, 2.0, 3.0, 4.0], row], ["first", "user 17"], list("abcd"))
    message = rf"The ranks in row 1 \(index 'user 17'\) are {shown}\. If only their order"
    with pytest.raises(ValueError, match=message):
        Rankings.from_ranks(frame)
    # The remedy of the message keeps the direction and the ties.
    given = sorted({x for x in row if not np.isnan(x)})
    ordering = [{label for label, y in zip("abcd", row, strict=True) if y == x} for x in given]
    expected = Rankings.from_orderings([list("abcd"), ordering], rest=(), rankers=frame.index)
    assert Rankings.from_ranks(frame.rank(axis=1), rest=()) == expected


@pytest.mark.parametrize("rest", [(), "items"])
def test_ties_may_have_dense_ranks_competition_ranks_or_midranks(rest):
    expected = Rankings.from_orderings(
        [["c", {"a", "d"}, "b"], [{"b", "c"}, {"a", "d"}], ["b", {"a", "c"}]],
        rest=rest,
        items=list("abcd"),
    )
    none = np.nan
    for rows in (
        [[2, 3, 1, 2], [2, 1, 1, 2], [2, 1, 2, none]],
        [[2, 4, 1, 2], [3, 1, 1, 3], [2, 1, 2, none]],
        [[2.5, 4, 1, 2.5], [3.5, 1.5, 1.5, 3.5], [2.5, 1, 2.5, none]],
        [[2, 4, 1, 2], [3.5, 1.5, 1.5, 3.5], [2, 1, 2, none]],  # each row by itself
    ):
        wide = pd.DataFrame(rows, columns=list("abcd"))
        assert Rankings.from_ranks(wide, rest=rest) == expected


def test_all_weak_orders_are_read_from_the_three_kinds_of_ranks():
    grid = pd.DataFrame(list(itertools.product(range(4), repeat=4)), columns=list("abcd"))
    grid = grid[grid.ne(grid["a"], axis=0).any(axis=1)].reset_index(drop=True)
    expected = Rankings.from_long_ranks(
        grid.melt(var_name="item", value_name="rank", ignore_index=False).reset_index(names="who"),
        ranker="who",
        item="item",
        rank="rank",
    )
    for method in ("dense", "min", "average"):
        assert Rankings.from_ranks(grid.rank(axis=1, method=method)) == expected


def test_padded_ranks_must_be_dense():
    message = (
        r"must be dense within a ranking; ranking 0 has ranks \[1, 1, 3\]. The rank after a tie is "
        r"the next one: 1, 2, 2, 3. Rankings.from_ranks also reads competition ranks"
    )
    with pytest.raises(ValueError, match=message):
        Rankings([[0, 1, 2]], [[1, 1, 3]], items=["a", "b", "c"])


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_weights_are_positive_and_finite(bad):
    with pytest.raises(ValueError, match=f"must be positive and finite; ranking 'y' has {bad}"):
        Rankings.from_orderings([["a", "b"], ["b", "a"]], rankers=["x", "y"], weight=[1.0, bad])


# Rankings that say nothing


def test_rankings_of_one_item_or_one_block_are_kept_and_counted_once():
    with pytest.warns(UninformativeRankingWarning) as caught:
        r = Rankings.from_orderings([["a"], ["a", "b"], [{"a", "b"}]], rest=())
    assert [str(warning.message) for warning in caught] == [
        "2 of 3 rankings hold one item or one block (0, 2), so no item is above another. They are "
        "kept and inform only models that predict ties."
    ]
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(r.ranks, [[1, 0], [1, 2], [1, 1]])
