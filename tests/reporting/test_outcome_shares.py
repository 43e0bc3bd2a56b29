"""Shares of outcomes of items and pairs, for the pictures of a page."""

import numpy as np
import pandas as pd
import xarray as xr

import bayesrank as br
from bayesrank.reporting.match_sections import _by_item, _by_pair, stated

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


def of_draws(utility):
    values = np.array(utility, dtype=float)[None, None]
    draws = xr.DataArray(values, dims=("chain", "draw", "item"), coords={"item": [*"xyz"]})
    return {"posterior": xr.Dataset({"utility": draws})}


def test_stated_probabilities_are_compared_with_the_other_judges_and_the_model():
    table = pd.DataFrame(
        [("x", "y", "ann", 0.97), ("y", "x", "bob", 0.4), ("x", "y", "bob", 0.8),
         ("z", "x", "ann", 0.1)],
        columns=["a", "b", "who", "p"],
    )  # fmt: skip
    pairs = br.Pairs.from_frame(table, first="a", second="b", probability="p", judge="who")
    part = stated(of_draws([np.log(3.0), 0.0, 0.0]), pairs)
    csv, by_judge = part.data["stated"], part.data["stated_by_judge"]
    assert csv.index.tolist() == ["0.60 to 0.70", "0.80 to 0.90", "0.90 to 0.95", "0.95 to 1.00"]
    assert csv["votes"].tolist() == [1, 1, 1, 1]
    np.testing.assert_allclose(csv["mean"], [0.6, 0.8, 0.9, 0.97])
    # nobody else judged x and z; bob says 0.6 and 0.8 of x against y
    np.testing.assert_allclose(csv["others"], [0.97, 0.97, np.nan, 0.7])
    np.testing.assert_allclose(csv["model"], 0.75)
    np.testing.assert_allclose(by_judge.loc["bob", ["votes", "mean", "others"]], [2, 0.7, 0.97])
    one = br.Pairs.from_frame(table, first="a", second="b", probability="p")
    assert stated(of_draws([0.0, 0.0, 0.0]), one) is None
    weighted = table.assign(w=[1.0, 2.0, 1.0, 0.5])
    hidden = br.Pairs.from_frame(
        weighted, first="a", second="b", probability="p", judge="who", weight="w"
    )
    assert stated(of_draws([0.0, 0.0, 0.0]), hidden) is None
