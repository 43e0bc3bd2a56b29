"""Shares of outcomes of items and pairs, for the pictures of a page."""

import numpy as np
import pandas as pd

import bayesrank as br
from bayesrank.reporting.match_sections import _by_item, _by_pair

TABLE = pd.DataFrame(
    {"a": ["x", "y", "x", "z"], "b": ["y", "x", "z", "x"], "g": ["A>B", "A>B", "A=B", "B>A"]}
)
GRADES = ["A>B", "A=B", "B>A"]


def test_outcomes_are_seen_from_the_item_and_from_the_better_one():
    pairs = br.Pairs.from_frame(TABLE, first="a", second="b", outcome="g", grades=GRADES)
    counts, mirrored = pairs.by_grade[1], [2, 1, 0]
    of_items = _by_item(pairs, counts, mirrored, GRADES)
    np.testing.assert_allclose(of_items.loc["x"], [0.5, 0.25, 0.25])
    np.testing.assert_allclose(of_items.loc["z"], [0, 0.5, 0.5])
    of_pairs = _by_pair(pairs, counts, mirrored, GRADES, ["z", "x", "y"])
    assert of_pairs.index.tolist() == ["z – x", "x – y"]
    np.testing.assert_allclose(of_pairs, [[0, 0.5, 0.5], [0.5, 0, 0.5]])
