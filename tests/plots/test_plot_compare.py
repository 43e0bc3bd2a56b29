"""The picture of a comparison: differences and errors, doubts, and a baseline that is far off."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex

from bayesrank.plots import plot_compare
from tests.plots.pictures import (
    apart,
    axes_of,
    boxes,
    figure_of,
    inside,
    legend_of,
    names_of,
    panel_of,
)

BLUE, GREY, ORANGE = "#0072b2", "#8a8a8a", "#d55e00"


def table(**rows):
    """Compared models by name: difference, its error, what is doubtful."""
    filled = [(*row, "")[:3] for row in rows.values()]
    names = [name.replace("_", " ") for name in rows]
    return pd.DataFrame(filled, index=names, columns=["elpd_diff", "dse", "diag_elpd"])


THREE = table(best=(0.0, 0.0), near=(-3.0, 2.0), far=(-14.0, 5.0))
FAR = table(best=(0.0, 0.0), near=(-3.0, 2.0), far=(-14.0, 5.0), random_ranking=(-2310.0, 44.0))


def lines_of(ax):
    """Thin and thick lines, from top to bottom, and their colours."""
    thin, thick = (kind for kind in ax.collections if isinstance(kind, LineCollection))
    ends = [[tuple(s[:, 0]) for s in kind.get_segments()] for kind in (thin, thick)]
    return *ends, [to_hex(colour) for colour in thin.get_colors()]


def markers(ax):
    kinds = [kind for kind in ax.collections if isinstance(kind, PathCollection)]
    found = [
        (y, x, to_hex(edge))
        for kind in kinds
        for (x, y), edge in zip(
            kind.get_offsets(),
            np.resize(kind.get_edgecolors(), (len(kind.get_offsets()), 4)),
            strict=True,
        )
    ]
    return sorted(found)


def test_differences_and_one_and_two_errors_are_drawn_best_on_top():
    ax = axes_of(plot_compare(THREE))
    assert names_of(ax) == ["best", "near", "far"]
    thin, thick, colours = lines_of(ax)
    assert thin == [(0, 0), (-7, 1), (-24, -4)]
    assert thick == [(0, 0), (-5, -1), (-19, -9)]
    assert colours == [BLUE, BLUE, GREY]
    assert markers(ax) == [(0, 0, BLUE), (1, -3, BLUE), (2, -14, GREY)]
    assert ax.get_ylim() == (2.6, -0.6)


def test_the_axis_says_what_is_better():
    ax = axes_of(plot_compare(THREE))
    assert ax.get_xlabel() == (
        "Expected log predictive density (elpd) minus that of the best model\n"
        "← the further left, the worse the predictions"
    )
    assert ax.lines[0].get_xdata()[0] == 0


def test_numbers_stand_beside_the_rows():
    ax = axes_of(plot_compare(FAR))
    assert [text.get_text() for text in ax.texts if text.get_text() != "off the scale"] == [
        "best",
        "−3.0 ± 2.0",
        "−14.0 ± 5.0",
        "−2,310 ± 44",
    ]


def test_the_legend_says_what_occurs():
    assert legend_of(plot_compare(THREE)) == [
        "within 2 standard errors of the best",
        "worse by more",
        "difference",
        "± 1 standard error",
        "± 2 standard errors",
    ]
    doubtful = table(best=(0.0, 0.0), near=(-1.0, 2.0, "3 k̂ > 0.70"))
    words = legend_of(plot_compare(doubtful))
    assert "worse by more" not in words
    assert words[-1] == "Pareto k too high: not reliable"


def test_a_model_whose_pareto_k_is_too_high_has_a_triangle():
    ax = axes_of(plot_compare(table(a=(0.0, 0.0), b=(-3.0, 2.0, "3 k̂ > 0.70"), c=(-9.0, 1.0))))
    assert markers(ax) == [(0, 0, BLUE), (1, -3, ORANGE), (2, -9, GREY)]
    corners = {
        len(kind.get_offsets()): len(kind.get_paths()[0].vertices)
        for kind in ax.collections
        if isinstance(kind, PathCollection)
    }
    assert corners[1] < 6 < corners[2]  # a triangle; circles


def test_a_baseline_far_off_stands_at_the_edge_and_does_not_press_the_others():
    ax = axes_of(plot_compare(FAR))
    thin, *_ = lines_of(ax)
    assert thin == [(0, 0), (-7, 1), (-24, -4)]
    left, right = ax.get_xlim()
    assert -40 < left < -24
    assert right < 10
    assert names_of(ax)[-1] == "random ranking"
    arrow = ax.lines[-1]
    assert arrow.get_marker() == "<"
    assert left < arrow.get_xdata()[0] < -24
    assert arrow.get_ydata()[0] == 3
    (note,) = (text for text in ax.texts if text.get_text() == "off the scale")
    assert note.get_position()[1] == 3


def test_two_models_are_always_on_the_scale():
    ax = axes_of(plot_compare(table(model=(0.0, 0.0), random_ranking=(-900.0, 30.0))))
    assert ax.get_xlim()[0] < -960
    assert not any(text.get_text() == "off the scale" for text in ax.texts)


def test_a_baseline_that_is_near_is_on_the_scale():
    ax = axes_of(plot_compare(table(a=(0.0, 0.0), b=(-3.0, 2.0), random_ranking=(-30.0, 5.0))))
    assert ax.get_xlim()[0] < -40


@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_names_and_numbers_do_not_overlap_and_stay_on_the_figure(n):
    rows = {
        f"Model {i} of a long name, with {i} dollars ($) and so on": (-2.0 * i, i) for i in range(n)
    }
    pc = plot_compare(table(**rows))
    ax = axes_of(pc)
    everything = [*boxes(ax), *boxes(ax, "x"), *(text.get_window_extent() for text in ax.texts)]
    everything += [ax.xaxis.label.get_window_extent()]
    everything += [text.get_window_extent() for text in figure_of(pc).legends[0].get_texts()]
    assert apart(everything)
    assert inside(figure_of(pc), everything)
    assert not any(label.get_parse_math() for label in ax.get_yticklabels())


def test_a_given_panel_is_drawn_on():
    figure, (left, right) = plt.subplots(1, 2, layout="constrained")
    given = panel_of(left)
    assert plot_compare(THREE, plot_collection=given) is given
    assert figure.legends == []
    assert not right.collections


def test_a_table_without_diagnoses_has_no_doubts():
    ax = axes_of(plot_compare(THREE.drop(columns="diag_elpd")))
    assert ORANGE not in {colour for *_, colour in markers(ax)}


def test_what_is_no_comparison_raises_and_leaves_no_figure():
    with pytest.raises(TypeError, match=r"^`table` is a dict; pass the DataFrame that compare ret"):
        plot_compare({"a": 1})
    with pytest.raises(ValueError, match=r"^`table` has no column 'dse'; pass the DataFrame that"):
        plot_compare(THREE[["elpd_diff"]])
    with pytest.raises(ValueError, match=r"^`table` has no rows; pass the DataFrame that compare"):
        plot_compare(THREE[:0])
    with pytest.raises(ValueError, match=r"^elpd_diff of 'b' is nan; it must be finite\.$"):
        plot_compare(table(a=(0.0, 0.0), b=(np.nan, 1.0)))
    with pytest.raises(ValueError, match=r"^elpd_diff of 'b' is 3; differences from the best mod"):
        plot_compare(table(a=(0.0, 0.0), b=(3.0, 1.0)))
    assert plt.get_fignums() == []
