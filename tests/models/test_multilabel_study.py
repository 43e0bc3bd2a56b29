"""The study of multilabel networks: how settings are chosen, what is written, what goes on."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import models.multilabel.study as study
from bayesrank.utility import draw_weights
from models.multilabel.data import Multilabel
from models.multilabel.model import _weights
from models.multilabel.study import choose, figures_of_test, held_back, load, summary


def choosing(best):
    """Precision that falls with the distance to the best pair, and what was asked for."""
    asked = []

    def precision(rate, width):
        asked.append((rate, width))
        return -abs(np.log(rate / best[0])) - abs(np.log(width / best[1]))

    return precision, asked


def test_widths_are_compared_at_the_first_rate_and_rates_at_the_best_width():
    precision, asked = choosing((1e-2, 2.0))
    assert choose(precision, [1e-2, 1e-3, 1e-4], [1.0, 2.0, 4.0]) == (1e-2, 2.0)
    assert asked == [(1e-2, 1.0), (1e-2, 2.0), (1e-2, 4.0), (1e-3, 2.0), (1e-4, 2.0)]


def test_widths_are_compared_again_when_another_rate_is_better():
    table = {  # rows are rates, columns are widths
        0.1: {1.0: 1, 2.0: 2, 4.0: 0},
        0.01: {1.0: 5, 2.0: 4, 4.0: 3, 0.5: 1},
    }
    assert choose(lambda r, w: table[r].get(w, -1), [0.1, 0.01], [1.0, 2.0, 4.0]) == (0.01, 1.0)


@pytest.mark.parametrize(
    ("best", "beyond"), [(8.0, [8.0, 16.0]), (16.0, [8.0, 16.0, 32.0]), (0.5, [0.5, 0.25])]
)
def test_widths_go_on_beyond_an_end_until_one_is_worse(best, beyond):
    precision, asked = choosing((1e-2, best))
    assert choose(precision, [1e-2], [1.0, 2.0, 4.0]) == (1e-2, best)
    assert [width for _, width in asked] == [1.0, 2.0, 4.0, *beyond]


def test_of_equal_settings_the_first_is_chosen():
    assert choose(lambda *_: 0.5, [1e-2, 1e-3], [2.0, 4.0]) == (1e-2, 2.0)


def test_the_summary_has_means_and_deviations_in_percent():
    found = pd.DataFrame({"precision@1": [0.5, 0.6, 0.7], "seconds": 30.0, "epochs": 10})
    expected = {"CPU s": 30, "epochs": 10, "precision@1": 60, "precision@1 sd": 10}
    assert summary(found) == pytest.approx(expected)


@pytest.fixture
def calls(monkeypatch):
    """Put starting values in the place of fits, and note how these were asked for."""
    listed = []

    def start(data, *, seed, n_units=3, **settings):
        listed.append(settings | {"n_units": n_units, "seed": seed})
        weights = draw_weights(_weights(data, n_units), seed)
        posterior = xr.Dataset(
            {
                name: (("chain", "draw", *(f"{name}_{k}" for k in range(x.ndim))), x[None, None])
                for name, x in weights.items()
            }
        )
        training = xr.Dataset({"held_back": ("epoch", [1.0, 3.0, 2.0])}, attrs={"best_epoch": 1})
        return xr.DataTree.from_dict({"posterior": posterior, "training": training})

    monkeypatch.setattr(study, "fit", start)
    return listed


@pytest.fixture
def folder(tmp_path):
    """Write a data set of twenty training samples, of which the last has no label."""
    (tmp_path / "toy").mkdir()
    rows = [f"{i % 11} 0:{i} 1:1" for i in range(19)] + [" 0:1"]
    (tmp_path / "toy" / "toy-train.txt").write_text("\n".join(["20 2 11", *rows]) + "\n")
    (tmp_path / "toy" / "toy-test.txt").write_text("2 2 11\n0,3 0:1\n2 1:1\n")
    return tmp_path


def how(folder, **options):
    return study.Run(folder, False, 1, **({"rows": ("Toy",), "keep": folder / "kept"} | options))


@pytest.fixture
def toy(folder, monkeypatch):
    """The study of the toy alone."""
    (folder / "kept").mkdir()
    monkeypatch.setattr(study, "NAMES", {"Toy": "toy"})
    chosen = {("Toy", objective): (1e-2, 2.0) for objective in study.WORDS}
    monkeypatch.setattr(study, "CHOSEN", chosen)
    return folder


def test_the_study_has_figures_of_all_metrics_and_goes_on_where_it_was(toy, calls):
    table = study.TABLES["precision"](how(toy)).rows
    assert list(table.index) == ["Toy, exact", "Toy, PL-LB", "Toy, RankNet", "Toy, RankSVM"]
    assert list(table) == [f"{metric}@{k}" for metric in ("P", "nDCG") for k in (1, 3, 5, 10)]
    assert table.iloc[0, 0].count("±") == 1
    scored = study.TABLES["propensities"](how(toy)).rows
    assert list(scored) == [f"{metric}@{k}" for metric in ("PSP", "PSnDCG") for k in (1, 3, 5, 10)]
    fits = study.fits(how(toy)).rows
    assert fits["epochs"].tolist() == [3] * 4
    assert [(c["seed"], c["learning_rate"], c["epochs"]) for c in calls[:3]] == [
        (seed, 1e-2, 20) for seed in (1, 2, 3)
    ]
    assert all(c["validation"].tolist() == [0, 10] for c in calls)
    assert len(calls) == 12
    study._figures.cache_clear()
    again = study.TABLES["precision"](how(toy)).rows
    assert len(calls) == 12
    pd.testing.assert_frame_equal(again, table)


def test_published_values_stand_beside_the_rows_that_they_are_of(toy, calls, monkeypatch):
    printed = pd.DataFrame({"Toy, exact": [66.72]}, index=["P@1"]).T
    monkeypatch.setattr(study, "PUBLISHED", printed)
    table = study.TABLES["precision"](how(toy)).rows
    assert table.loc["Toy, exact", "P@1"].endswith(" (66.72)")
    assert "(" not in "".join(table.drop(index="Toy, exact").to_numpy().ravel())


def test_settings_are_chosen_by_another_seed_and_nothing_of_the_test_part(toy, calls):
    (toy / "toy" / "toy-test.txt").unlink()
    # all fits are alike, so that the first width is at an end
    found = study.settings_of(how(toy), "Toy", "exact")
    assert (found["rate"], found["width"]) == (1e-2, 1.0)
    assert found["P@5"] == found["at rate 0.0001"] == found["at worst"] > 1.0  # percent
    assert {(c["learning_rate"], c["epochs"]) for c in calls} == {
        (0.01, 20),
        (1e-3, 40),
        (1e-4, 100),
    }
    assert {c["seed"] for c in calls} == {0}
    assert len(calls) == 6
    with pytest.raises(FileNotFoundError, match="toy-test"):
        study.fits(how(toy))


def test_losses_of_pairs_have_narrower_priors_to_choose_from(toy, calls, monkeypatch):
    monkeypatch.setattr(study, "EPOCHS", {1e-2: 20, 1e-3: 40})
    asked = []
    real = study.precision_of_held_back

    def noted(train, **settings):
        asked.append([settings["learning_rate"], settings["weight_scale"]])
        return real(train, **settings)

    monkeypatch.setattr(study, "precision_of_held_back", noted)
    study.settings_of(how(toy), "Toy", "RankNet")
    assert asked == [[0.01, 0.25], [0.01, 0.5], [0.01, 1.0], [0.01, 0.125], [0.001, 0.25]]


@pytest.mark.slow
def test_the_study_runs_on_a_part_of_the_published_data(data_dir, monkeypatch):
    monkeypatch.setattr(study, "EPOCHS", {1e-2: 2})
    train, test = (
        Multilabel(data.features[:200], data.labels[:200])
        for data in (load(data_dir, "bibtex", part) for part in ("train", "test"))
    )
    assert held_back(train).tolist()[-2:] == [180, 190]
    row = figures_of_test(train, test, objective="exact", learning_rate=1e-2, seed=1, n_units=4)
    assert list(row)[:2] == ["precision@1", "precision@3"]
    assert all(0 <= value <= 1 for name, value in row.items() if "@" in name)
    assert row["epochs"] == 2


@pytest.mark.slow
def test_the_study_in_its_reduced_size(data_dir):
    tables = study.main([str(data_dir), "--quick", "--row", "Bibtex"])
    assert list(tables) == ["precision", "propensities", "fits"]
    rows = tables["precision"].rows
    assert list(rows.index) == [f"Bibtex, {word}" for word in study.WORDS.values()]
    # from 600 samples little is learned, but far more than which labels are frequent
    assert all(float(cell.split()[0]) > 15 for cell in rows["P@1"])
    assert "±" not in rows.to_string()
