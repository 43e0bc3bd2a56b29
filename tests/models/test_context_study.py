"""The study of context-dependent utilities at toy size: its tables, and its figure."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from models.context import study

FAST = {"epochs": 1, "batch_size": 20, "mode": "FAST_COMPILE"}


@pytest.mark.slow
def test_it_writes_tables_and_a_figure(tmp_path, monkeypatch, capsys):
    for name, value in (("N_TEST", 50), ("N_TEST_SIZES", 50), ("SIZES", (3, 5))):
        monkeypatch.setattr(study, name, value)
    monkeypatch.setattr(study, "SEEN_IN_SIZES", ("linear",))
    real = study.train
    monkeypatch.setattr(study, "train", lambda *given: real(*given, n_train=40, **FAST))
    study.main([str(tmp_path), "--seeds", "2", "--rows", "linear", "linear, hinge"])
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "fits.csv",
        "sizes.csv",
        "sizes.png",
    ]
    fits = pd.read_csv(tmp_path / "fits.csv")
    assert len(fits) == 8  # of two rows, problems and seeds
    sizes = pd.read_csv(tmp_path / "sizes.csv")
    assert sizes[["problem", "points"]].to_numpy().tolist() == [
        [problem, size] for problem in ("medoid", "hypervolume") for size in (3, 5)
    ]
    medoid = fits[(fits["problem"] == "medoid") & (fits["row"] == "linear")]["RA"]
    assert f"{medoid.mean():.3f}" in capsys.readouterr().out


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
    (line,) = study.compare(
        ["linear, expected rank"], [1], problems=["hypervolume"], n_train=2_000, n_test=20_000,
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


def test_the_figure_has_a_panel_for_each_problem(tmp_path):
    table = pd.DataFrame({"FATE": [0.9, 0.8]}, index=[3, 5])
    study.draw({"medoid": table, "hypervolume": table}, tmp_path / "sizes.png")
    height, width, _ = plt.imread(tmp_path / "sizes.png").shape
    assert width > 2 * height
