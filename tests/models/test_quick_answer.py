"""The study of the quick answer: its designs, and small tables of each kind."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from models.quick_answer import model, study
from models.shared.results import Run


@pytest.mark.parametrize(("n_items", "comparisons"), [(5, 2), (5, 10), (20, 10), (100, 100)])
def test_items_have_as_many_comparisons_as_stated(n_items, comparisons):
    drawn = model.orders(n_items, comparisons, np.random.default_rng(1))
    m = len(drawn[0])
    assert m == min(n_items, model.LONGEST)
    assert all(len(set(order)) == m for order in drawn)
    per_item = len(drawn) * m * (m - 1) / n_items
    assert comparisons <= per_item < comparisons + m * (m - 1) / n_items


def test_the_picture_marks_exact_answers():
    table = pd.DataFrame(
        {"effective share": [0.9, np.nan], "exact": ["yes", "no"], "error of means, plain": 0.1},
        index=["matches; 5 items; 10 comparisons", "rankings; 5 items; 100 comparisons"],
    )
    figure = study.drawn_map(table)
    shares, errors = figure.axes
    assert [line.get_marker() for line in errors.lines] == ["o", "x"]
    assert [line.get_xdata()[0] for line in errors.lines] == [10.0, 100.0]
    assert [text.get_text() for text in shares.get_legend().texts] == ["matches", "rankings"]


@pytest.mark.slow
def test_small_tables_of_each_kind_agree_with_nuts():
    table = study.whole_map(Run(Path(), quick=True, seed=1)).rows
    assert len(table) == len(model.KINDS)
    exact = table[table["exact"] == "yes"]
    assert len(exact) >= 4
    assert (exact["error of means, weighted"].astype(float) < 0.25).all()
    assert (exact["ratio of sd, weighted"].astype(float).sub(1).abs() < 0.2).all()
    assert (table["error of means, plain"].astype(float) < 0.6).all()
