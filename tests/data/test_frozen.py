"""Pairs, counts and interactions cannot be changed, and compare by content."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from bayesrank.data import Interactions, PairCounts, Pairs, Rankings
from bayesrank.data.frozen import contents

TABLE = pd.DataFrame({"x": ["a"], "y": ["b"], "result": ["first"], "day": ["Mon"], "n": [1]})
PAIRS = Pairs.from_frame(TABLE, first="x", second="y", outcome="result", by="day")
COUNTS = PairCounts.from_frame(TABLE, first="x", second="y", count="n")
RANKINGS = Rankings.from_orderings([["a", "b"]], features=np.ones((2, 1))).grouped({"day": [1]})
HAVE = Interactions.from_frame(TABLE, user="x", item="y", items=["b", "c"])
N_ARRAYS = {Rankings: 8, Pairs: 6, PairCounts: 6, Interactions: 2}


@pytest.mark.parametrize("data", [RANKINGS, PAIRS, COUNTS, HAVE], ids=lambda x: type(x).__name__)
def test_none_can_be_changed_or_hashed_and_copies_are_equal(data):
    with pytest.raises(AttributeError, match="'items'"):
        data.items = data.items
    with pytest.raises(AttributeError, match="'items'"):
        del data.items
    with pytest.raises(TypeError, match="unhashable"):
        hash(data)
    for again in (data, copy.deepcopy(data), pickle.loads(pickle.dumps(data))):
        assert again == data
        arrays = [x for x in contents(vars(again)) if isinstance(x, np.ndarray)]
        assert len(arrays) == N_ARRAYS[type(data)]
        assert not any(array.flags.writeable for array in arrays)


def test_groups_of_pairs_cannot_be_exchanged():
    for again in (PAIRS, copy.deepcopy(PAIRS), pickle.loads(pickle.dumps(PAIRS))):
        with pytest.raises(TypeError, match="does not support item assignment"):
            again.groups["day"] = again.groups["day"]


def test_they_differ_from_each_other_and_by_content():
    assert PAIRS != COUNTS != HAVE
    assert Interactions.from_frame(TABLE, user="x", item="y", items=["c", "b"]) != HAVE
    for other in ({"result": "tie"}, {"day": "Tue"}, {"y": "c"}):
        frame = TABLE.assign(**other)
        assert Pairs.from_frame(frame, first="x", second="y", outcome="result", by="day") != PAIRS
    assert Pairs.from_frame(TABLE, first="x", second="y", outcome="result") != PAIRS
    assert PairCounts.from_frame(TABLE.assign(n=2), first="x", second="y", count="n") != COUNTS


def test_a_row_that_is_wrong_is_named_by_its_index():
    frame = TABLE.assign(y="a").set_axis([5])
    with pytest.raises(ValueError, match=r"compare item 'a' with itself in row 0 \(index 5\)"):
        Pairs.from_frame(frame, first="x", second="y", outcome="result")
    frame = TABLE.assign(n=-1).set_axis([5])
    with pytest.raises(ValueError, match=r"'n' has -1 in row 0 \(index 5\)"):
        PairCounts.from_frame(frame, first="x", second="y", count="n")
