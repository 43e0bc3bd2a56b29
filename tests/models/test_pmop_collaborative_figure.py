"""Figure 2: the probabilities of what is held out by counting, and what is drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import models.pmop_collaborative.figure as figure
from tests.models.rated import TWO, nothing_for, taste


def test_ties_are_sorted_by_number_or_by_lot():
    stars = pd.DataFrame({"user": 1, "movie": [1, 2, 3], "rating": [3, 4, 3]})
    items = pd.Index([1, 2, 3])
    for rank, places in (
        (figure.to_rankings, {1: 2, 2: 1, 3: 2}),
        (figure.sort_ties, {1: 2, 2: 1, 3: 3}),
        (figure.draw_lots, {1: 3, 2: 1, 3: 2}),
    ):
        rows = rank(stars.assign(lot=[0.1, 0.2, 0.9]), items).to_frame()
        assert dict(zip(rows["item"], rows["rank"], strict=True)) == places


def test_equal_utilities_have_the_log_likelihood_of_counting():
    nothing = nothing_for(TWO)
    # 7 and then 3 subsets; 3 subsets. Given sizes: one of three; one of two.
    for outcome, expected in (("pmop", [1 / 21, 1 / 3]), ("plackett_luce", [1 / 3, 1 / 2])):
        ours = figure.log_likelihood(nothing, TWO, outcome)
        np.testing.assert_allclose(np.exp(ours), expected, rtol=1e-10)


def test_the_figure_stands_beside_what_equal_utilities_give(monkeypatch):
    monkeypatch.setattr(figure, "SCORES", {"PMOP mean": figure.SCORES["PMOP mean"]})
    monkeypatch.setattr(figure, "modes", lambda rankings, scales, **_: [nothing_for(rankings)])
    table = figure.figure_table(taste(20, 12), sizes=(6,), scales=[{}])
    assert table.index.tolist() == [6]
    assert table.columns.tolist() == ["PMOP mean", "PMOP mean: equal utilities"]
    assert table.iloc[0, 0] == table.iloc[0, 1] < 0


def test_given_sizes_or_not_pmop_mean_gains_as_much():
    point = {"ranker_factor": np.ones((2, 1)), "item_factor": np.array([[0.3], [-1.0], [0.8]])}
    free, given = (
        figure.log_likelihood(point, TWO, outcome)
        - figure.log_likelihood(nothing_for(TWO), TWO, outcome)
        for outcome in ("pmop", "pmop_given_sizes")
    )
    np.testing.assert_allclose(free, given, rtol=1e-10)
    assert (np.abs(free) > 0.05).all()


def test_the_figure_draws_each_model_and_its_zero():
    names = [*figure.SCORES, *(f"{name}: equal utilities" for name in figure.SCORES)]
    table = pd.DataFrame({name: [-1.0 * i**2, -5.0] for i, name in enumerate(names)}, index=[5, 10])
    paper, gain = figure.plot_figure(table).axes
    # PMOP, Plackett-Luce, each with its zero; four gains (two are one line) above a line at zero
    assert [len(ax.lines) for ax in (paper, gain)] == [4, 5]
    labels = gain.get_legend_handles_labels()[1]
    assert labels == [
        "Plackett-Luce, ties sorted",
        "Plackett-Luce, ties at random",
        "PMOP mean, given sizes or not",
        "Plackett-Luce, given sizes",
    ]
    np.testing.assert_allclose(
        [line.get_ydata() for line in gain.lines[:4]], [[35, 0], [45, 0], [55, 0], [65, 0]]
    )
    plt.close(paper.figure)
