"""Stacked bars of outcomes: lengths, ticks, and the second panel."""

import numpy as np
import pandas as pd

from bayesrank.plots import outcome_bars

SHARES = pd.DataFrame(
    [[0.5, 0.1, 0.3, 0.1], [0.2, 0.2, 0.1, 0.5]], ["ale", "bock"], ["wins", "tie", "loses", "bad"]
)
PREDICTED = pd.DataFrame([[0.4, 0.2, 0.3, 0.1], [0.1, 0.3, 0.1, 0.5]], SHARES.index, SHARES.columns)


def test_bars_are_the_shares_and_ticks_the_predictions():
    (axes,) = outcome_bars(SHARES, PREDICTED, ["bad"]).axes
    widths = np.array([bar.get_width() for bar in axes.patches]).reshape(4, 2).T
    np.testing.assert_allclose(widths, SHARES)
    ends = [x.get_segments()[row][0][0] for row in range(2) for x in axes.collections]
    np.testing.assert_allclose(ends, PREDICTED.to_numpy().cumsum(axis=1)[:, :-1].ravel())
    assert [text.get_text() for text in axes.get_yticklabels()] == ["ale", "bock"]
    legend = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert legend == ["wins", "tie", "loses", "bad", "predicted"]


def test_a_probability_has_a_panel_of_its_own():
    chance = pd.DataFrame({"low": [0.1, 0.4], "mean": [0.2, 0.5], "high": [0.3, 0.7]}, SHARES.index)
    _, side = outcome_bars(SHARES, PREDICTED, ["bad"], chance, "P(bad)").axes
    assert side.get_xlabel() == "P(bad)"
    np.testing.assert_allclose(side.lines[0].get_xdata(), [0.2, 0.5])
