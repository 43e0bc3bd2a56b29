"""The study of partitioned preferences at toy size: its tables, its figures, its posteriors."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from models.partitioned_preference import study
from models.partitioned_preference.figures import along_figure, posterior_figure
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


def test_ranknet_is_stopped_where_rankings_held_out_are_told_best():
    rankings = simulate_partitions(6, 10, seed=1).rankings
    told = np.zeros(max(study.STOPS) + 1)
    each = study.Objective("RankNet", rankings)
    for train, test in rankings.split(study.FOLDS, seed=1):
        each.of(train)
        passed = each.steps()
        assert len(passed) == len(told)
        np.testing.assert_array_equal(passed[0], 0)
        for step, utility in enumerate(passed):
            lead = utility[test.item][:, :, None] - utility[test.item][:, None, :]
            above = test.ranks[:, :, None] < test.ranks[:, None, :]
            told[step] -= np.logaddexp(0, -lead[above]).sum()
    best = study._best_step(each, rankings)
    assert 0 < best < max(study.STOPS)
    assert told[best] == pytest.approx(told.max())


def test_the_figure_has_a_panel_for_each_of_the_other_numbers():
    rows = [
        {"n_items": i, "n_rankings": n, "seed": s, "objective": o, "error": s / n}
        for i in (10, 2000)
        for n in (1, 2, 3)
        for s in (1, 2)
        for o in ("exact", "RankNet, 2 steps")
    ]
    fig = along_figure(pd.DataFrame(rows), "n_rankings", "n_items")
    assert [ax.get_title() for ax in fig.axes] == ["10 items", "2,000 items"]
    (line,) = fig.axes[0].lines
    np.testing.assert_allclose(line.get_xydata(), [[1, 1.5], [2, 1.5 / 2], [3, 1.5 / 3]])
    assert [text.get_text() for text in fig.legends[0].get_texts()] == ["exact"]
    plt.close(fig)


def test_along_items_errors_are_multiples_of_that_of_equal_shares():
    rows = [
        {"n_items": i, "n_rankings": 7, "seed": 1, "objective": o, "error": e / i**2}
        for i in (10, 100)
        for o, e in (("equal shares", 5.0), ("exact", 0.5))
    ]
    fig = along_figure(pd.DataFrame(rows), "n_items", "n_rankings")
    equal, ours = fig.axes[0].lines
    np.testing.assert_allclose(equal.get_xydata(), [[10, 1], [100, 1]])
    np.testing.assert_allclose(ours.get_xydata(), [[10, 0.1], [100, 0.1]])
    assert fig.axes[0].get_ylabel() == "squared error / that of equal shares"
    plt.close(fig)


def test_posteriors_say_where_the_truth_is_among_the_draws(monkeypatch):
    drawn = simulate_partitions(5, 40, seed=1)
    # 100 draws around the truth, or aside
    places = np.linspace(-0.99, 0.99, 100)[:, None] + np.array([0.0, 0.1, 0.7, -0.7, 5.0])
    share = np.exp(drawn.utility) + 0.01 * places
    draws = {"share": share[None], "utility": drawn.utility + places - 5.0}
    draws["utility"] = draws["utility"][None]
    trace = {"posterior": xr.Dataset({k: (("chain", "draw", "item"), x) for k, x in draws.items()})}
    monkeypatch.setattr(study.pm, "sample", lambda **given: trace)
    monkeypatch.setattr(study.az, "rhat", lambda given: {"share": xr.DataArray([1.0] * 5)})
    items = pd.DataFrame(study.posteriors(5, [40], [1]))
    assert items["place of share"].tolist() == [0.5, 0.45, 0.15, 0.85, 0.0]
    np.testing.assert_allclose(items["mean"] - items["truth"], [0, 1e-3, 7e-3, -7e-3, 5e-2])
    np.testing.assert_allclose(items["high"] - items["low"], 0.01 * 0.9 * 1.98)
    mode = np.exp(fit(drawn.rankings, prior_scale=2.0))
    np.testing.assert_allclose(items["mode"], mode, rtol=0.01)


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


def test_the_posteriors_are_drawn_beside_the_truth(of_two_items):
    fig = posterior_figure(of_two_items)
    beside, errors, held = fig.axes
    assert beside.get_title() == "9 rankings of 2 items"
    np.testing.assert_allclose(beside.lines[0].get_xydata(), [[0.2, 0.3], [0.8, 0.7]])
    np.testing.assert_allclose(errors.lines[1].get_xydata(), [[1, 0.02], [9, 0.02]])
    of_utility = dict(held.lines[0].get_xydata())
    assert (of_utility[5], of_utility[45], of_utility[50]) == (50, 50, 100)
    plt.close(fig)
