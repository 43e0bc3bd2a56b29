"""The study of partitioned preferences at toy size: its tables, its figures, its posteriors."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from models.partitioned_preference import study
from models.partitioned_preference.model import fit
from models.partitioned_preference.simulate import simulate_partitions


@pytest.fixture
def of_two_items():
    """True shares of 0.2 and 0.8, each at a known place among the draws, of 1 and 9 rankings."""
    truth = {"truth": [0.2, 0.8], "low": [0.1, 0.7], "high": [0.3, 0.9], "rhat": [1.0, 1.01]}
    places = {"place of share": [0.3, 0.04], "place of utility": [0.5, 0.26]}
    found = {"mean": [0.3, 0.7], "mode": [0.2, 0.6]}
    one = pd.DataFrame({"seed": [1, 1], "seconds": [2.0, 2.0]} | truth | places | found)
    return pd.concat([one.assign(n_rankings=n) for n in (1, 9)], ignore_index=True)


@pytest.mark.slow
def test_the_study_in_a_reduced_size(tmp_path, monkeypatch, of_two_items):
    rows = of_two_items.to_dict("records")
    monkeypatch.setattr(study, "_listed", lambda *given: rows)
    monkeypatch.setattr(study, "OBJECTIVES", ("exact", "AttRank", "RankNet"))
    monkeypatch.setattr(study, "QUICK_ITEMS", (9,))
    monkeypatch.setattr(study, "QUICK_RANKINGS", (10, 12))
    tables = study.main(["--quick", "--keep", str(tmp_path)])
    assert list(tables) == list(study.TABLES)
    assert {file for each in tables.values() for file in each.figures} == {
        "partitions.png", "partitions_by_items.png", "partition_posteriors.png",
        "partition_cost.png",
    }  # fmt: skip
    assert (tables["cost"].rows > 0).all(axis=None)
    assert tables["posteriors"].rows.loc[9, "utility in 50%"] == "100%"
    table = study._errors(study.Run(Path(), True, 1, (), tmp_path))
    shown = tables["shares"].rows
    equal = table[(table["objective"] == "equal shares") & (table["n_rankings"] == 12)]["error"]
    assert shown.loc["equal shares", "9 × 12"] == study._scientific(equal.mean())
    drawn = simulate_partitions(9, 12, seed=2)
    truth = np.exp(drawn.utility)
    # compiled once for all collections, and yet as each by itself
    rows = table[(table["seed"] == 2) & (table["n_rankings"] == 12)].set_index("objective")
    for name in study.OBJECTIVES:
        error = np.mean((np.exp(fit(drawn.rankings, objective=name)) - truth) ** 2)
        assert rows.loc[name, "error"] == pytest.approx(error, rel=0.01)
    assert rows.loc["equal shares", "error"] == pytest.approx(np.mean((1 / 9 - truth) ** 2))
    stopped = table["objective"].str.startswith("RankNet, ")
    assert set(table[stopped]["n_rankings"]) == {10}


def test_calibration_counts_the_intervals_that_hold_the_truth(of_two_items):
    table = study.calibration(of_two_items).set_index("n_rankings")
    assert table.index.tolist() == [1, 9]
    assert table.loc[9].to_dict() == pytest.approx(
        {
            "error of mean": 0.01,
            "error of mode": 0.02,
            "share in 50%": 0.5,  # 0.3 is between 0.25 and 0.75, 0.04 is outside of 0.05 to 0.95
            "share in 90%": 0.5,
            "utility in 50%": 1.0,
            "utility in 90%": 1.0,
            "worst rhat": 1.01,
            "seconds": 2.0,
        }
    )
