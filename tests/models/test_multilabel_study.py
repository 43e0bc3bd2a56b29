"""The study of multilabel networks: how settings are chosen, what is written, what goes on."""

import pandas as pd
import pytest

import models.multilabel.study as study
from models.multilabel.data import Multilabel
from models.multilabel.study import figures_of_test, held_back, load, summary


def test_the_summary_has_means_and_deviations_in_percent():
    found = pd.DataFrame({"precision@1": [0.5, 0.6, 0.7], "seconds": 30.0, "epochs": 10})
    expected = {"CPU s": 30, "epochs": 10, "precision@1": 60, "precision@1 sd": 10}
    assert summary(found) == pytest.approx(expected)


@pytest.fixture
def folder(tmp_path):
    """Write a data set of twenty training samples, of which the last has no label."""
    (tmp_path / "toy").mkdir()
    rows = [f"{i % 11} 0:{i} 1:1" for i in range(19)] + [" 0:1"]
    (tmp_path / "toy" / "toy-train.txt").write_text("\n".join(["20 2 11", *rows]) + "\n")
    (tmp_path / "toy" / "toy-test.txt").write_text("2 2 11\n0,3 0:1\n2 1:1\n")
    return tmp_path


@pytest.fixture
def toy(folder, monkeypatch):
    """The study of the toy alone."""
    (folder / "kept").mkdir()
    monkeypatch.setattr(study, "NAMES", {"Toy": "toy"})
    chosen = {("Toy", objective): (1e-2, 2.0) for objective in study.WORDS}
    monkeypatch.setattr(study, "CHOSEN", chosen)
    return folder


@pytest.mark.slow
def test_the_study_in_its_reduced_size(data_dir):
    tables = study.main([str(data_dir), "--quick", "--row", "Bibtex"])
    assert list(tables) == ["precision", "propensities", "fits"]
    rows = tables["precision"].rows
    assert list(rows.index) == [f"Bibtex, {word}" for word in study.WORDS.values()]
    # from 600 samples little is learned, but far more than which labels are frequent
    assert all(float(cell.split()[0]) > 15 for cell in rows["P@1"])
    assert "±" not in rows.to_string()


# Studies


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
