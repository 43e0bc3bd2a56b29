"""The study of multilabel networks: how settings are chosen, what is written, what goes on."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import models.multilabel.study as study
from bayesrank.utility import draw_weights
from models.multilabel.data import Multilabel
from models.multilabel.model import _weights
from models.multilabel.study import Table, choose, figures_of_test, held_back, load, main, summary


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


def test_a_table_gives_back_what_it_knows_after_it_was_closed(tmp_path):
    path = tmp_path / "new" / "rows.csv"
    key = {"data": "a", "learning_rate": 1e-4, "seed": 1}
    first = Table(path).row(key, lambda: {"precision@5": 0.1 + 0.2})
    again = Table(path).row(key, lambda: pytest.fail("computed again"))
    assert again == first == key | {"precision@5": 0.1 + 0.2}
    Table(path).row(key | {"seed": 2}, lambda: {"precision@5": 0.5})
    assert pd.read_csv(path)["precision@5"].tolist() == [0.1 + 0.2, 0.5]
    assert [file.name for file in path.parent.iterdir()] == ["rows.csv"]


def test_a_table_is_as_it_was_where_a_row_fails(tmp_path):
    path = tmp_path / "rows.csv"
    table = Table(path)
    table.row({"seed": 1}, lambda: {"precision@5": 0.5})
    with pytest.raises(ZeroDivisionError):
        table.row({"seed": 2}, lambda: {"precision@5": 1 / 0})
    assert path.read_text() == "seed,precision@5\n1,0.5\n"


def test_the_summary_has_means_and_deviations_in_percent():
    key = {"data": "a", "objective": "exact", "learning_rate": 0.1, "weight_scale": 2.0}
    more = {"epochs": 10, "seconds": 30.0}
    rows = [key | {"seed": s, "precision@1": x} | more for s, x in [(1, 0.5), (2, 0.6), (3, 0.7)]]
    table = summary(pd.DataFrame(rows))
    assert table.index.tolist() == [("a", "exact", 0.1, 2.0)]
    assert table.iloc[0].to_dict() == {"precision@1": "60.00 (10.00)", "seconds": 30, "epochs": 10}


@pytest.fixture
def calls(monkeypatch):
    """Put starting values in the place of fits, and note how these were asked for."""
    listed = []

    def start(data, *, n_units, seed, **settings):
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


def test_the_study_writes_choices_and_figures_and_goes_on_where_it_was(folder, calls, capsys):
    arguments = [str(folder), str(folder / "out"), "--names", "toy", "--objectives", "exact,bound"]
    main([*arguments, "--units", "3"])
    choices, figures = (pd.read_csv(folder / "out" / f"{x}.csv") for x in ("choices", "figures"))
    # all fits are alike, so that the first width is at an end
    assert choices.groupby("objective").size().to_dict() == {"exact": 6, "bound": 6}
    assert choices["seed"].unique().tolist() == [0]
    assert figures["objective"].tolist() == ["exact"] * 3 + ["bound"] * 3
    assert figures["seed"].tolist() == [1, 2, 3] * 2
    assert [c for c in figures if "@" in c] == [
        f"{metric}@{k}" for metric in ("precision", "ndcg", "psp", "psndcg") for k in (1, 3, 5, 10)
    ]
    assert figures["best_epoch"].tolist() == [2] * 6
    assert figures["epochs"].tolist() == [3] * 6
    assert len(calls) == 18
    assert all(c["n_units"] == 3 for c in calls)
    assert {(c["learning_rate"], c["epochs"]) for c in calls} == {
        (0.01, 20),
        (1e-3, 40),
        (1e-4, 100),
    }
    assert all(c["validation"].tolist() == [0, 10] for c in calls)
    printed = capsys.readouterr().out.splitlines()[-3:]

    main(arguments)
    assert len(calls) == 18
    assert capsys.readouterr().out.splitlines()[-3:] == printed


def test_losses_of_pairs_have_narrower_priors_to_choose_from(folder, calls):
    arguments = ["--names", "toy", "--objectives", "RankNet", "--rates", "0.01,0.001"]
    main([str(folder), str(folder / "out"), *arguments])
    tried = pd.read_csv(folder / "out" / "choices.csv")[["learning_rate", "weight_scale"]]
    expected = [[0.01, 0.25], [0.01, 0.5], [0.01, 1.0], [0.01, 0.125], [0.001, 0.25]]
    assert tried.to_numpy().tolist() == expected


def test_nothing_of_the_test_part_is_read_before_the_choice(folder, calls):
    (folder / "toy" / "toy-test.txt").unlink()
    with pytest.raises(FileNotFoundError, match="toy-test"):
        main([str(folder), str(folder / "out"), "--names", "toy", "--objectives", "exact"])
    assert len(pd.read_csv(folder / "out" / "choices.csv")) == len(calls) == 6
    assert not (folder / "out" / "figures.csv").exists()


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
