"""How square tables of wins and ties become pairs, and what is refused."""

import warnings

import numpy as np
import pandas as pd
import pytest

from bayesrank.data import Pairs, UncomparedItemWarning

WINS = [[0, 2, 0], [1, 0, 3], [0, 0, 0]]
TIES = [[0, 1, 2], [1, 0, 0], [2, 0, 0]]


def test_a_matrix_of_wins_becomes_a_pair_for_every_two_that_met():
    p = Pairs.from_matrix(WINS)
    assert p.items.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(p.first, [0, 1])
    np.testing.assert_array_equal(p.second, [1, 2])
    np.testing.assert_array_equal(p.counts, [[2, 1, 0], [3, 0, 0]])
    assert p.counts.dtype == np.int64


def test_a_tie_counts_once():
    p = Pairs.from_matrix(WINS, ties=TIES, items=list("abc"))
    assert p.labels.tolist() == ["a - b", "a - c", "b - c"]
    np.testing.assert_array_equal(p.counts, [[2, 1, 1], [0, 0, 2], [3, 0, 0]])
    assert p.n_matches == np.sum(WINS) + np.sum(TIES) / 2


def test_a_table_of_wins_brings_its_labels():
    labels = ["x", "z", "y"]
    wins = pd.DataFrame(WINS, index=labels, columns=labels)
    ties = pd.DataFrame(TIES, index=labels, columns=labels)
    expected = Pairs.from_matrix(WINS, ties=TIES, items=labels)
    assert Pairs.from_matrix(wins, ties=ties) == expected
    assert Pairs.from_matrix(wins, ties=TIES) == expected


@pytest.mark.parametrize("seed", range(3))
def test_a_matrix_and_the_table_of_its_matches_are_the_same_pairs(seed):
    rng = np.random.default_rng(seed)
    wins = rng.integers(4, size=(5, 5)) * (1 - np.eye(5, dtype=int))
    ties = np.triu(rng.integers(3, size=(5, 5)), k=1)
    rows = [(i, j, "first", wins[i, j]) for i in range(5) for j in range(i + 1, 5)]
    rows += [(i, j, "second", wins[j, i]) for i in range(5) for j in range(i + 1, 5)]
    rows += [(i, j, "tie", ties[i, j]) for i in range(5) for j in range(i + 1, 5)]
    frame = pd.DataFrame(rows, columns=["home", "away", "result", "times"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncomparedItemWarning)
        table = Pairs.from_frame(
            frame[frame["times"] > 0],
            first="home",
            second="away",
            outcome="result",
            count="times",
            items=range(5),
        )
        assert Pairs.from_matrix(wins, ties=ties + ties.T, items=range(5)) == table


def test_items_that_met_no_other_are_named():
    with pytest.warns(UncomparedItemWarning, match=r"1 of 3 items is never compared \('c'\)"):
        Pairs.from_matrix([[0, 1, 0], [0, 0, 0], [0, 0, 0]], items=list("abc"))


def cell(table, i, j, value):
    changed = np.array(table, dtype=float)
    changed[i, j] = value
    return changed


@pytest.mark.parametrize("what", ["wins", "ties"])
@pytest.mark.parametrize(
    ("i", "j", "value", "message"),
    [
        (1, 1, 2, "on the diagonal must be 0; `{}` has 2 in the row of 'b' and the column of 'b'"),
        (0, 2, -1, "must not be negative; `{}` has -1 in the row of 'a' and the column of 'c'"),
        (0, 2, np.inf, "must be finite; `{}` has inf in the row of 'a' and the column of 'c'"),
        (0, 2, np.nan, "must be finite; `{}` has nan in"),
        (2, 1, 0.5, "must be a whole number; `{}` has 0.5 in the row of 'c' .*Pairs.split_ties"),
    ],
)
def test_cells_are_counts(what, i, j, value, message):
    tables = {"wins": WINS, "ties": TIES}
    tables[what] = cell(tables[what], i, j, value)
    with pytest.raises(ValueError, match=f"A count {message.format(what)}"):
        Pairs.from_matrix(tables["wins"], ties=tables["ties"], items=list("abc"))


def test_ties_are_symmetric():
    message = "`ties` must be symmetric: 'a' tied with 'c' 2 times, but 'c' with 'a' 5 times. Write"
    with pytest.raises(ValueError, match=message):
        Pairs.from_matrix(WINS, ties=cell(TIES, 2, 0, 5), items=list("abc"))


@pytest.mark.parametrize(
    ("wins", "shape"), [([[0, 1]], r"\(1, 2\)"), ([1, 2], r"\(2,\)"), (np.zeros((0, 0)), r"\(0, 0")]
)
def test_wins_are_square(wins, shape):
    message = rf"`wins` must have shape \(n_items, n_items\), rows over columns; got {shape}"
    with pytest.raises(ValueError, match=message):
        Pairs.from_matrix(wins)
    with pytest.raises(ValueError, match=message):
        Pairs.from_matrix(pd.DataFrame(wins) if np.ndim(wins) == 2 else wins)


def test_shapes_and_labels_agree():
    with pytest.raises(
        ValueError, match=r"`ties` must have the shape of `wins`, \(3, 3\); got \(2"
    ):
        Pairs.from_matrix(WINS, ties=[[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="`items` has 2 labels for 3 items in `wins`; give one"):
        Pairs.from_matrix(WINS, items=["a", "b"])
    wins = pd.DataFrame(WINS, index=list("abc"), columns=list("acb"))
    with pytest.raises(ValueError, match="columns of `wins` must be the items in their order, 'a'"):
        Pairs.from_matrix(wins)
    wins.columns = wins.index
    ties = pd.DataFrame(TIES, index=list("cba"), columns=list("abc"))
    message = "index of `ties` must be the items in their order, 'a', 'b', 'c'; got 'c', 'b', 'a'"
    with pytest.raises(ValueError, match=message):
        Pairs.from_matrix(wins, ties=ties)
    with pytest.raises(
        ValueError, match="`items` names the rows of an array, but `wins` is a Data"
    ):
        Pairs.from_matrix(wins, items=list("abc"))


def test_matrices_hold_numbers_and_something():
    with pytest.raises(ValueError, match="`wins` must be an array of numbers"):
        Pairs.from_matrix([["a", "b"], ["c", "d"]])
    with pytest.raises(ValueError, match="no pairs: all of `wins` and `ties` is 0"):
        Pairs.from_matrix(np.zeros((2, 2)), ties=np.zeros((2, 2)))
