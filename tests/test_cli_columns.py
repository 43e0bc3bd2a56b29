"""Commands name the columns of a table that decide the order of the items."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.special import expit

from tests.commands import data_of, few, no_sampling, ran, refuses, run

SIDES = ("--first", "left", "--second", "right", "--outcome", "better", "--seed", 1)
SAYS = "The strengths of the items differ by 'scene' (p = 0.0001). In 'day' ale leads, in 'night' "


@pytest.fixture
def votes(tmp_path, monkeypatch):
    """Votes in which ale leads by day, and dry cider by night."""
    monkeypatch.chdir(tmp_path)
    no_sampling(monkeypatch, few)
    rng = np.random.default_rng(1)
    n, items = 240, np.array(["ale", "bock", "dry cider"])
    first = rng.integers(3, size=n)
    second = (first + rng.integers(1, 3, size=n)) % 3
    night = rng.integers(2, size=n)
    strength = np.array([[2.0, 0.0, -1.0], [-1.0, 0.0, 2.0]])[night]
    rows = np.arange(n)
    won = rng.random(n) < expit(strength[rows, first] - strength[rows, second])
    table = pd.DataFrame({"left": items[first], "right": items[second]})
    table["better"] = np.where(won, "first", "second")
    table["scene"] = np.where(night, "night", "day")
    table["room"] = rng.choice(["a", "b"], size=n)
    table.to_csv("v.csv", index=False)
    return table


def test_a_column_that_decides_is_named_with_the_option(votes):
    found = data_of(ran("matches", "v.csv", *SIDES, "--json"))
    (sentence,) = [text for text in found["warnings"] if "scene" in text]
    assert sentence == f"{SAYS}dry cider leads. Add --category scene."
    assert found["fits"] is False
    tests = {row["column"]: row for row in found["columns"]}
    assert [name for name, row in tests.items() if row["fires"]] == ["scene"]
    assert tests["scene"]["leaders"] == {"day": "ale", "night": "dry cider"}
    page = Path("v-ranks/report.html").read_text(encoding="utf-8")
    assert "Columns that the model does not use" in page
    written = pd.read_csv("v-ranks/columns.csv", index_col="column")
    assert written.loc["room", "fires"] == np.False_


def test_the_report_of_a_saved_posterior_names_it_again(votes):
    ran("matches", "v.csv", *SIDES)
    before = Path("v-ranks/columns.csv").read_bytes()
    found = data_of(ran("report", "v-ranks/posterior.nc", "--json"))
    assert any(text.startswith(SAYS) for text in found["warnings"])
    assert Path("v-ranks/columns.csv").read_bytes() == before


def test_a_damaged_test_of_columns_is_refused(votes):
    ran("matches", "v.csv", *SIDES)
    with xr.open_datatree("v-ranks/posterior.nc") as tree:
        posterior = tree.load()
    table = posterior["columns"].to_dataset()
    posterior["columns"] = xr.DataTree(table.assign(leaders=("column", ["{", "{}"])))
    posterior.to_netcdf("broken.nc")
    assert refuses(run("report", "broken.nc"), "The tests of columns in the posterior are damaged")


def test_the_remedy_works(votes):
    found = data_of(ran("matches", "v.csv", *SIDES, "--category", "scene", "--json"))
    assert [row["column"] for row in found["columns"]] == ["room"]
    assert not any("scene" in text for text in found["warnings"])
