"""Layout: what is no collection of weak orders is refused, what says nothing is counted."""

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
        ([1, 1, 3], r"\[1, 1, 3\]"),
        ([2, 3, np.nan], r"\[2, 3\]"),
        ([0, 1, 2], r"\[0, 1, 2\]"),
        ([1, 1.5, 2], r"\[1, 1.5, 2\]"),
        ([1, np.inf, 2], r"\[1, 2, inf\]"),
    ],
)
def test_wide_ranks_must_be_dense(row, shown):
    frame = pd.DataFrame([[1.0, 2.0, 3.0], row], index=["first", "user 17"], columns=list("abc"))
    message = f"must be dense within a ranking; ranking 'user 17' has ranks {shown}. Use Rankings"
    with pytest.raises(ValueError, match=message):
        Rankings.from_ranks(frame)


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
