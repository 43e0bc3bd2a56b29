"""The study of context-dependent utilities at toy size: its tables, and its figure."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from models.context import study

FAST = {"epochs": 1, "batch_size": 20, "mode": "FAST_COMPILE"}


SHORT = ("FATE", "ListNet", "dense")  # another network, another loss, and neither


@pytest.mark.parametrize(
    "row", [pytest.param(r, marks=[pytest.mark.slow] * (r not in SHORT)) for r in study.ROWS]
)
def test_every_row_is_a_model_that_learns_from_its_sets(row):
    fitted, network, _ = study.train(row, "hypervolume", 1, n_train=60, **FAST | {"epochs": 3})
    first, *_, last = fitted["training"]["log_posterior"].values
    assert last > first
    assert network.n_features == 2


def test_sums_of_objectives_rank_seven_of_ten_pairs_of_the_hypervolume():
    line = study.judged(
        "linear, expected rank", "hypervolume", 1, n_train=2_000, n_test=20_000,
        mode="FAST_COMPILE",
    )  # fmt: skip
    # of the sum itself; the standard error of 20,000 sets of ten pairs is below 0.002
    new = study.PROBLEMS["hypervolume"].simulate(20_000, seed=1001)
    best = study.metrics(-new.features.sum(axis=-1), new.ranks)
    assert line["RA"] == pytest.approx(best["RA"], abs=0.01)
    assert best["RA"] == pytest.approx(0.691, abs=0.01)


def test_what_sees_no_company_is_judged_alike_in_sets_of_all_sizes_and_problems():
    fits = {"linear": study.train("linear", "medoid", 1, n_train=60, **FAST)[:2]}
    table = study.by_size(fits, "medoid", sizes=(3, 7), n_test=2_000)
    assert table.index.tolist() == [3, 7]
    # no direction is better than another in a square
    np.testing.assert_allclose(table["linear"], 0.5, atol=0.05)


def test_the_figure_has_a_panel_for_each_problem():
    table = pd.DataFrame({"FATE": [0.9, 0.8]}, index=[3, 5])
    figure = study.draw({"medoid": table, "hypervolume": table})
    assert [ax.get_title() for ax in figure.axes] == ["medoid", "hypervolume"]
    assert figure.axes[0].lines[0].get_xydata().tolist() == [[3, 0.9], [5, 0.8]]
    plt.close(figure)


def test_tables_have_means_over_seeds_and_published_values(monkeypatch):
    def judged(row, problem, seed, **given):
        return {"RA": 0.5 + seed / 100, "ACC": 0.1, "Spearman": 0.2, "CPU s": float(seed)}

    monkeypatch.setattr(study, "judged", judged)
    how = study.Run(Path(), False, 1, ("FATE", "DeepSets"))
    table = study.of_problem(how, "medoid")
    assert table.rows.loc["FATE", "RA"] == pytest.approx(0.52)
    assert table.rows.loc["FATE", "s.d., at most"] == "0.010"  # of 1 to 3 hundredths
    assert "| FATE | 0.520 (0.901) | 0.100 (0.443) |" in table.markdown()
    assert "linear" not in table.markdown()
    many = study.of_many(how)
    assert "| FATE | 0.510 (0.920) |" in many.markdown()


def test_ten_times_as_many_sets_are_learned_from_in_as_many_steps(monkeypatch):
    asked = {}
    monkeypatch.setattr(
        study, "judged", lambda row, problem, seed, **given: asked.update({row: given}) or {"RA": 1}
    )
    study.of_many(study.Run(Path(), False, 1, ("FATE", "DeepSets")))
    assert asked == {
        "FATE": {"epochs": 10, "n_train": 100_000},
        "DeepSets": {"epochs": 20, "n_train": 100_000},
    }


@pytest.mark.slow
def test_the_study_in_its_reduced_size():
    tables = study.main(["--quick"])
    assert list(tables) == list(study.TABLES)
    for name in ("medoid", "hypervolume"):
        rows = tables[name].rows
        assert list(rows.index) == list(study.QUICK)
        assert rows.loc["FATE", "RA"] > rows.loc["linear", "RA"] + 0.05
    # a linear score does not know the medoid, and of the hypervolume 0.69, or less from few sets
    assert tables["medoid"].rows.loc["linear", "RA"] == pytest.approx(0.5, abs=0.02)
    assert 0.55 < tables["hypervolume"].rows.loc["linear", "RA"] < 0.7
    assert (tables["sizes"].rows > 0.5).all(axis=None)
    # from a hundred sets, the mode is worse than order at random, -4.787
    mode, laplace = (
        float(tables["posteriors"].rows.loc[name, "100 sets"].split()[0])
        for name in ("mode", "last, Laplace")
    )
    assert mode == pytest.approx(-4.81, abs=0.1)
    assert laplace > mode
