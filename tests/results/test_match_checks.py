"""Predictive checks of matches: statistics by hand, and a model that is wrong in one way."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import bayesrank as br
from bayesrank.results import match_checks, worst_checks
from tests.builders import results, stored

# a at home against b, b at home against a, a against c
FIRST, SECOND = [0, 1, 0], [1, 0, 2]
COUNTS = [[3, 1, 0], [1, 2, 1], [0, 0, 2]]


def tree(counts=COUNTS, drawn=(COUNTS,)):
    rows = ("pair", "result")
    return results(
        {"item": "abc"},
        posterior_predictive={"y": (rows, drawn)},
        constant_data={
            "y_first": ("pair", FIRST),
            "y_second": ("pair", SECOND),
            "y_counts": (rows, counts),
            "y_item_matches": ("item", [10, 8, 2]),
        },
    )


def test_points_pairs_and_outcomes_by_hand():
    table = match_checks(tree())
    observed = {key[:2]: x for key, x in table["observed"].items()}
    assert {key for key in observed if key[0] in ("items", "pairs", "outcomes")} == {
        key for key in observed if table.loc[(*key, "all"), "note"] == "omnibus"
    }
    observed = {key: x for key, x in observed.items() if table.loc[(*key, "all"), "note"] == ""}
    assert observed == pytest.approx(
        {
            # a: 3 of 4 at home, 2.5 of 4 away, 1 of 2 against c
            ("points", "a"): 6.5 / 10, ("points", "b"): 2.5 / 8, ("points", "c"): 1 / 2,
            ("pair", "a > b"): 5.5 / 8, ("pair", "a > c"): 1 / 2,
            ("outcome", "first"): 4 / 10, ("outcome", "second"): 3 / 10, ("outcome", "tie"): 3 / 10,
        }
    )  # fmt: skip
    assert not table["surprising"].any()


def judged():
    """Matches of two judges: ann has the first and the last cell."""
    data = tree()
    constant = data["constant_data"].to_dataset()
    constant["y_judge"] = ("pair", [0, 1, 0])
    constant["y_judge_matches"] = ("judge", [6, 4])
    data["constant_data"] = xr.DataTree(constant.assign_coords(judge=["ann", "ben"]))
    return data


def test_outcomes_and_points_of_every_judge_by_hand():
    plain, table = match_checks(tree()), match_checks(judged(), by=["judge"])
    assert {*plain[plain["note"] == "omnibus"].index} <= {*table[table["note"] == "omnibus"].index}
    plain, table = plain[plain["note"] == ""], table[table["note"] == ""]
    pd.testing.assert_frame_equal(plain, table.iloc[: len(plain)], check_index_type=False)
    observed = {key[:2]: x for key, x in table["observed"].iloc[len(plain) :].items()}
    of, at = "group outcome", "group points"
    assert observed == pytest.approx(
        {
            (of, "first, judge ann"): 3 / 6, (of, "first, judge ben"): 1 / 4,
            (of, "second, judge ann"): 1 / 6, (of, "second, judge ben"): 2 / 4,
            (of, "tie, judge ann"): 2 / 6, (of, "tie, judge ben"): 1 / 4,
            # ann: a wins 3 of 4 against b, and ties twice with c; ben: b is the first against a
            (at, "a, judge ann"): 4 / 6, (at, "b, judge ann"): 1 / 4, (at, "c, judge ann"): 1 / 2,
            (at, "a, judge ben"): 2.5 / 4, (at, "b, judge ben"): 1.5 / 4,
        }
    )  # fmt: skip
    few = match_checks(judged(), by=["judge"], max_pairs=1)
    assert few.loc[of].index.get_level_values("label")[0] == "first, judge ann"
    assert few.loc[at].index.get_level_values("label").tolist() == ["a, judge ann"]
    with pytest.raises(ValueError, match=r"^`by` names the group 'user'; the groups are"):
        match_checks(judged(), by=["user"])


def test_outcomes_that_are_never_predicted_are_surprising():
    other = [[0, 4, 0], [4, 0, 0], [0, 0, 2]]
    table = match_checks(tree(drawn=[other] * 3))
    assert table.loc[("pair", "a > b", "all"), "mean"] == 0
    assert {key[1] for key in worst_checks(table).worst.index} >= {"a > b", "a", "b"}
    assert "c" not in worst_checks(table).worst.index.get_level_values("label")


def test_pairs_that_met_most_come_first_and_the_others_are_left_out():
    table = match_checks(tree(), max_pairs=1)
    assert table.loc["pair"].index.get_level_values("label").tolist() == ["a > b"]
    assert table.attrs["n_pairs"] == 2


def test_a_model_of_a_circle_fails_where_one_of_an_order_does_not():
    def checked(rows):
        # the winner stands first in every other match
        sides = [(*row, "first") if n % 2 else (*row[::-1], "second") for n, row in enumerate(rows)]
        frame = pd.DataFrame(sides, columns=["x", "y", "won"])
        pairs = br.Pairs.from_frame(frame, first="x", second="y", outcome="won")
        with pm.Model(coords=pairs.coords) as model:
            utility = pm.Normal("utility", 0, 1, dims="item")
            br.BradleyTerry("y", utility, observed=pairs)
            best = {"circle": [0.0, 0.0, 0.0], "order": [2.5, 0.0, -2.5]}[
                "circle" if rows[-1] == ("c", "a") else "order"
            ]
            draws = xr.DataArray(
                np.broadcast_to(best, (1, 200, 3)), dims=("chain", "draw", "item"),
                coords={"item": ["a", "b", "c"]},
            )  # fmt: skip
            data = xr.DataTree.from_dict({"posterior": xr.Dataset({"utility": draws})})
            predicted = pm.sample_posterior_predictive(data, random_seed=1, progressbar=False)
        constant = {
            f"y_{part}": (("pair", "result") if part == "counts" else "pair", stored(model, part))
            for part in ("first", "second", "counts")
        }
        predicted["constant_data"] = xr.DataTree(xr.Dataset(constant))
        return worst_checks(match_checks(predicted))

    assert not checked([("a", "b"), ("b", "c"), ("c", "a")] * 20).ok
    order = [("a", "b"), ("b", "c"), ("a", "c")] * 20
    upsets = [("b", "a"), ("c", "b")] * 2
    assert checked([*upsets, *order[4:]]).ok


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ci_prob": 1.0}, "ci_prob"),
        ({"max_pairs": 0}, "`max_pairs` is 0; it must be a whole number"),
        ({"draws": 0.5}, "`draws` is 0.5; it must be a whole number"),
        ({"var_name": "z"}, "'z' must be observed as Pairs and predicted"),
    ],
)
def test_data_that_cannot_be_checked_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        match_checks(tree(), **options)
