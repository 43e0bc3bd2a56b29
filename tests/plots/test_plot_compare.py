"""The picture of a comparison: differences and errors, doubts, and a baseline that is far off."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex

from bayesrank.plots import plot_compare
from tests.plots.pictures import (
    BLUE,
    GREY,
    ORANGE,
    apart,
    axes_of,
    boxes,
    compared,
    intervals,
    legend_of,
    markers,
    names_of,
    verticals,
)

THREE = compared(best=(0.0, 0.0), near=(-3.0, 2.0), far=(-14.0, 5.0))
FAR = compared(best=(0.0, 0.0), near=(-3.0, 2.0), far=(-14.0, 5.0), random_ranking=(-2310.0, 44.0))


def test_differences_and_one_and_two_errors_are_drawn_best_on_top():
    ax = axes_of(plot_compare(THREE))
    assert names_of(ax) == ["best", "near", "far"]
    assert intervals(ax, 0).tolist() == [[0, 0], [-7, 1], [-24, -4]]
    assert intervals(ax, 1).tolist() == [[0, 0], [-5, -1], [-19, -9]]
    assert markers(ax) == [(0, 0, BLUE), (1, -3, BLUE), (2, -14, GREY)]
    assert ax.get_ylim() == (2.6, -0.6)


def test_random_ranking_is_a_grey_square_however_near_it_is():
    rows = {"best": (0.0, 0.0), "random ranking": (-3.0, 2.0)}
    pc = plot_compare(compared(**rows))
    assert markers(axes_of(pc)) == [(0, 0, BLUE), (1, -3, GREY)]
    legend = legend_of(pc)
    assert "baseline" in legend
    assert "more than 2 standard errors worse" not in legend
    assert "baseline" not in legend_of(plot_compare(THREE))


def test_the_axis_says_what_is_better():
    ax = axes_of(plot_compare(THREE))
    assert ax.get_xlabel() == (
        "Difference in expected log predictive density (elpd) from the best model\n"
        "← worse predictions"
    )
    assert verticals(ax) == [0]


def test_numbers_stand_at_the_right_of_the_rows():
    ax = axes_of(plot_compare(FAR))
    assert apart([*boxes(ax), *(text.get_window_extent() for text in ax.texts)])
    assert [text.get_text() for text in ax.texts if text.get_text() != "off the scale"] == [
        "best",
        "−3.0 ± 2.0",
        "−14.0 ± 5.0",
        "−2,310 ± 44",
    ]


def test_the_legend_says_what_occurs():
    assert legend_of(plot_compare(THREE)) == [
        "within 2 standard errors of the best",
        "more than 2 standard errors worse",
        "difference",
        "± 1 standard error",
        "± 2 standard errors",
    ]
    doubtful = compared(best=(0.0, 0.0), near=(-1.0, 2.0, "3 k̂ > 0.70"))
    words = legend_of(plot_compare(doubtful))
    assert "more than 2 standard errors worse" not in words
    assert words[-1] == "Pareto k too high: not reliable"


def test_a_model_whose_pareto_k_is_too_high_has_a_triangle():
    ax = axes_of(plot_compare(compared(a=(0.0, 0.0), b=(-3.0, 2.0, "3 k̂ > 0.70"), c=(-9.0, 1.0))))
    assert markers(ax) == [(0, 0, BLUE), (1, -3, ORANGE), (2, -9, GREY)]
    corners = {
        to_hex(kind.get_edgecolors()[0]): len(kind.get_paths()[0].vertices)
        for kind in ax.collections
    }
    assert corners[ORANGE] < 6 < corners[BLUE]  # a triangle; circles
    without = axes_of(plot_compare(THREE.drop(columns="diag_elpd")))
    assert ORANGE not in {colour for *_, colour in markers(without)}


def test_a_baseline_far_off_stands_at_the_edge_and_does_not_press_the_others():
    ax = axes_of(plot_compare(FAR))
    assert intervals(ax, 0).tolist() == [[0, 0], [-7, 1], [-24, -4]]
    left, right = ax.get_xlim()
    assert -40 < left < -24
    assert right < 10
    assert names_of(ax)[-1] == "random ranking"
    row, arrow, _ = markers(ax)[-1]
    assert row == 3
    assert left < arrow < -24
    (note,) = (text for text in ax.texts if text.get_text() == "off the scale")
    assert note.get_position()[1] == 3


def test_two_models_are_always_on_the_scale():
    ax = axes_of(plot_compare(compared(model=(0.0, 0.0), random_ranking=(-900.0, 30.0))))
    assert ax.get_xlim()[0] < -960
    near = axes_of(plot_compare(compared(a=(0.0, 0.0), b=(-3.0, 2.0), random=(-30.0, 5.0))))
    assert near.get_xlim()[0] < -40
    assert not any(text.get_text() == "off the scale" for text in ax.texts)


def test_invalid_tables_raise_and_leave_no_figure():
    with pytest.raises(TypeError, match=r"^`table` is of type dict; pass the DataFrame that"):
        plot_compare({"a": 1})
    with pytest.raises(ValueError, match=r"^`table` has no column 'dse'; pass the DataFrame that"):
        plot_compare(THREE[["elpd_diff"]])
    with pytest.raises(ValueError, match=r"^`table` has no rows; pass the DataFrame that compare"):
        plot_compare(THREE[:0])
    with pytest.raises(ValueError, match=r"^elpd_diff of 'b' is nan; it must be finite, and"):
        plot_compare(compared(a=(0.0, 0.0), b=(np.nan, 1.0)))
    with pytest.raises(
        ValueError, match=r"^elpd_diff of 'b' is 3; it must be finite, and elpd_diff must be at"
    ):
        plot_compare(compared(a=(0.0, 0.0), b=(3.0, 1.0)))
    assert plt.get_fignums() == []
