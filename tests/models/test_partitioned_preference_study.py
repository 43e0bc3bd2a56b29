"""The study of partitioned preferences at toy size: its tables, its figures, its posteriors."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bayesrank.data.simulate_partitions import simulate_partitions
from models import partitioned_preference_study as study
from models.partitioned_preference import fit


def test_it_writes_tables_and_figures(tmp_path, monkeypatch):
    one = {"n_items": 9, "n_rankings": 12, "seed": 1, "error": 0.1}
    monkeypatch.setattr(study, "posteriors", lambda *given: iter([one]))
    monkeypatch.setattr(study, "OBJECTIVES", ("exact", "AttRank", "RankNet"))
    study.main([str(tmp_path), "--items", "9", "--rankings", "10,12", "--seeds", "1,2"])
    names = ["errors.csv", "errors_by_n_items.png", "errors_by_n_rankings.png", "posteriors.csv"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    table = pd.read_csv(tmp_path / "errors.csv")
    drawn = simulate_partitions(9, 12, seed=2)
    # compiled once for all collections, and yet as each by itself
    rows = table[(table["seed"] == 2) & (table["n_rankings"] == 12)].set_index("objective")
    for name in study.OBJECTIVES:
        error = np.mean((np.exp(fit(drawn.rankings, objective=name)) - np.exp(drawn.utility)) ** 2)
        assert rows.loc[name, "error"] == pytest.approx(error, rel=1e-3)
    stops = table["objective"].str.contains("steps")
    assert set(table[stops]["n_rankings"]) == {10}


def test_the_figure_has_a_panel_for_each_of_the_other_numbers():
    rows = [
        {"n_items": i, "n_rankings": n, "seed": s, "objective": o, "error": 1.0 / n}
        for i in (10, 20)
        for n in (1, 2, 3)
        for s in (1, 2)
        for o in ("exact", "RankNet, 2 steps")
    ]
    fig = study.figure(pd.DataFrame(rows), "n_rankings", "n_items")
    assert [ax.get_title() for ax in fig.axes] == ["10 items", "20 items"]
    line = fig.axes[0].lines[0]
    np.testing.assert_allclose(line.get_xydata(), [[1, 1], [2, 1 / 2], [3, 1 / 3]])
    assert [text.get_text() for text in fig.legends[0].get_texts()] == ["exact"]
    plt.close(fig)


def test_posteriors_say_how_many_intervals_hold_the_truth(monkeypatch):
    drawn = simulate_partitions(5, 40, seed=1)
    # 101 draws around the truth, which is in the middle, at an edge, or outside
    places = np.linspace(-1, 1, 101)[:, None] + np.array([0.0, 0.1, 0.7, 0.7, 5.0])
    share = np.exp(drawn.utility) + 0.01 * places
    draws = {"share": share[None], "utility": np.tile(drawn.utility, (1, 101, 1))}
    trace = {"posterior": xr.Dataset({k: (("chain", "draw", "item"), x) for k, x in draws.items()})}
    monkeypatch.setattr(study.pm, "sample", lambda **given: trace)
    (row,) = study.posteriors(5, [40], [1])
    assert row["error"] == pytest.approx(1e-4 * np.mean([0, 0.1**2, 0.7**2, 0.7**2, 5**2]))
    assert row["share in 50%"] == 2 / 5
    assert row["share in 90%"] == 4 / 5
    assert row["utility in 90%"] == 1  # relative to their mean
