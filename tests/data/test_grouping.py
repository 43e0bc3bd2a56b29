"""Grouping: what is done a stretch at a time is what would be done at once."""

import numpy as np
import pandas as pd
import pytest

from bayesrank.data import Interactions, RepeatedInteractionWarning
from bayesrank.data.derive import grouping
from bayesrank.data.derive.grouping import group, group_values, starts
from bayesrank.data.derive.layout import block_sizes
from bayesrank.data.read import labels
from bayesrank.data.read.labels import factorize, sorted_axis
from tests.data.examples import from_stars


@pytest.fixture(autouse=True, params=[1, 4, 1000])
def at_a_time(monkeypatch, request):
    for module in (grouping, labels):
        monkeypatch.setattr(module, "AT_A_TIME", request.param)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_entries_of_a_row_stand_together_in_their_order(dtype):
    row = np.random.default_rng(0).integers(10, size=50).astype(dtype)
    row[row == 4] = 5  # a row without entries
    found = group(row, 12)
    np.testing.assert_array_equal(found.order, np.argsort(row, kind="stable"))
    np.testing.assert_array_equal(np.diff(found.start), np.bincount(row, minlength=12))
    np.testing.assert_array_equal(
        group_values(np.arange(50.0), row, starts(row, 12)), np.argsort(row, kind="stable")
    )
    assert group(np.sort(row), 12).order is None
    for of in (found, group(np.sort(row), 12)):
        parts = [(s.first + s.row, s.entry) for s in of.stretches()]
        rows, entries = map(np.concatenate, zip(*parts, strict=True))
        np.testing.assert_array_equal(rows, np.sort(row))
        np.testing.assert_array_equal(entries, np.arange(50) if of.order is None else of.order)
        assert sum(s.begin.size for s in of.stretches()) == 12


@pytest.mark.filterwarnings("ignore::bayesrank.data.UninformativeRankingWarning")
@pytest.mark.parametrize("in_order", [False, True])
def test_rankings_are_those_of_each_ranker(in_order):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"user": np.repeat(np.arange(9), 5), "film": np.tile(np.arange(5), 9)}
    ).assign(stars=rng.integers(3, size=45), x=rng.normal(size=45))
    frame = frame.drop(index=[3, 22, 23]).sample(frac=1, random_state=2)
    frame = frame.sort_values("user", kind="stable") if in_order else frame
    found = from_stars(frame, features=["x"])
    for user, (mine, ranks, x) in zip(
        found.labels, zip(found.item, found.ranks, found.features, strict=True), strict=True
    ):
        ratings = frame[frame["user"] == user].sort_values(
            ["stars", "film"], ascending=[False, True]
        )
        assert mine[: len(ratings)].tolist() == ratings["film"].tolist()
        assert x[: len(ratings), 0].tolist() == ratings["x"].tolist()
        steps = ratings["stars"].rank(method="dense", ascending=False)
        assert ranks.tolist() == steps.astype(int).tolist() + [0] * (5 - len(ratings))
        assert not x[len(ratings) :].any()
    sizes = [[(r == b).sum() for b in range(1, 4)] for r in found.ranks]
    np.testing.assert_array_equal(block_sizes(found.ranks), sizes)


def test_the_first_item_that_comes_twice_is_named():
    frame = pd.DataFrame({"user": [1, 2, 3, 2, 1, 3], "film": list("abcbac"), "stars": 1})
    with pytest.raises(ValueError, match="Ranking 2 contains item 'b' twice"):
        from_stars(frame)


def test_interactions_that_come_twice_count_once():
    frame = pd.DataFrame({"user": [2, 1, 2, 1, 2, 3], "page": list("cabaca")})
    with pytest.warns(RepeatedInteractionWarning, match="2 rows of 6 repeat"):
        have = Interactions.from_frame(frame, user="user", item="page", users=[3, 2, 1, 0])
    assert [have.items_of(u).tolist() for u in (0, 1, 2, 3)] == [[], ["a"], ["b", "c"], ["a"]]
    assert have.item.dtype == np.int32


def test_categories_are_coded_as_their_labels_are():
    rng = np.random.default_rng(3)
    text = pd.Series(rng.choice(list("dbca"), 30), name="x")
    for order in ("abcd", "dcba", "xabcd"):
        column = pd.Series(pd.Categorical(text, list(order)), name="x")
        codes, distinct = factorize(column, "x")
        assert [*distinct.take(codes)] == text.tolist()
        assert [*distinct] == text.unique().tolist()
        codes, axis = sorted_axis(column, "x")
        assert [*axis.take(codes)] == text.tolist()
        assert [*axis] == [x for x in order if x != "x"]
    with pytest.raises(ValueError, match="Column 'x' has a missing label in row 7"):
        factorize(pd.Series(pd.Categorical(text.where(text.index != 7)), name="x"), "x")
