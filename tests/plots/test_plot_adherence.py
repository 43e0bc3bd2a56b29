"""The picture of adherences: outliers are seen, names can be read, many rankers fit."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from bayesrank.plots import plot_adherence
from bayesrank.results import adherence_summary
from tests.plots.pictures import (
    BLUE,
    GREY,
    GROUPS,
    ORANGE,
    adherences,
    apart,
    axes_of,
    boxes,
    intervals,
    legend_of,
    markers,
    names_of,
    panel_of,
    rows_of,
    title_of,
    verticals,
)


def in_categories(n_groups, n):
    """The further the category, the better the first ranker follows; others are as they are."""
    a = adherences(n)
    groups = [a.where(a["ranker"] != "judge 1", a * 10**g) for g in range(n_groups)]
    return xr.concat(groups, "category").assign_coords(category=GROUPS[:n_groups])


def test_intervals_means_and_colours_are_those_of_the_summary():
    a = adherences(12, n_below=2)
    table = adherence_summary(a, ci_prob=0.8)
    ax = axes_of(plot_adherence(a, ci_prob=0.8))
    assert names_of(ax) == table.index.tolist()
    np.testing.assert_allclose(intervals(ax, 0), table[["low", "high"]])
    half = adherence_summary(a, ci_prob=0.5)
    np.testing.assert_allclose(intervals(ax, 1), half[["low", "high"]])
    _, means, colours = zip(*markers(ax), strict=True)
    np.testing.assert_allclose(means, table["mean"])
    assert colours == (BLUE, *[GREY] * 9, ORANGE, ORANGE)
    assert table["outlier"].tolist() == [False] * 10 + [True] * 2


def test_the_highest_is_on_top_and_zero_on_the_left():
    ax = axes_of(plot_adherence(adherences(5)))
    assert names_of(ax)[0] == "judge 5"
    assert ax.get_ylim() == (4.6, -0.6)
    left, right = ax.get_xlim()
    assert -0.1 * right < left < 0
    assert axes_of(plot_adherence(0 * adherences(3))).get_xlim()[1] > 0


def test_lines_mark_the_median_and_what_is_far_from_it():
    a = adherences(9)
    middle = float(np.median(a.values, axis=2).mean())
    at = verticals(axes_of(plot_adherence(a, factor=4)))
    np.testing.assert_allclose(at, [middle, middle / 4, middle * 4])


def test_the_legend_says_what_colours_and_lines_mean():
    assert legend_of(
        plot_adherence(adherences(10, n_below=2), ci_prob=0.945, outlier_prob=0.9, factor=3)
    ) == [
        "does not follow: < 0.333 × median, P ≥ 0.9 (2)",
        "follows closely: > 3 × median, P ≥ 0.9 (1)",
        "other rankers (7)",
        "median ranker",
        "0.333 × and 3 × the median",
        "mean",
        "50% interval",
        "94.5% interval",
    ]
    # colours that do not occur are not explained
    assert legend_of(plot_adherence(adherences(2)))[:2] == ["rankers (2)", "median ranker"]


def test_of_many_rankers_the_first_and_last_twenty_are_drawn_and_all_are_counted():
    a = adherences(200, n_below=30)
    order = adherence_summary(a).index
    pc = plot_adherence(a)
    ax = axes_of(pc)
    assert names_of(ax) == [*order[:20], *order[-20:], "160 not shown"]
    assert {colour: len(ends) for colour, ends in rows_of(ax, 1)} == {BLUE: 1, GREY: 19, ORANGE: 20}
    assert legend_of(pc)[0].endswith("(30)")
    assert len(intervals(axes_of(plot_adherence(a, max_rankers=None)), 0)) == 200


@pytest.mark.parametrize(("most", "highest", "lowest"), [(1, 0, 1), (4, 2, 2), (5, 2, 3)])
def test_a_few_of_many_are_the_highest_and_the_lowest(most, highest, lowest):
    a = adherences(30)
    order = adherence_summary(a).index.tolist()
    pc = plot_adherence(a, max_rankers=most)
    ax = axes_of(pc)
    assert names_of(ax) == [*order[:highest], *order[30 - lowest :], f"{30 - most} not shown"]
    assert title_of(pc) == (f"{most} of 30 rankers: the {highest} highest and the {lowest} lowest")
    assert apart(boxes(ax))


def test_chosen_rankers_keep_their_order_and_the_median_of_all():
    a = adherences(20)
    chosen = ["judge 1", "judge 20", "judge 7"]
    pc = plot_adherence(a, coords={"ranker": chosen})
    ax = axes_of(pc)
    assert names_of(ax) == chosen
    assert [colour for *_, colour in markers(ax)] == [ORANGE, BLUE, GREY]
    assert verticals(ax)[0] == float(np.median(a.values, axis=2).mean())
    assert title_of(pc) == "3 of 20 rankers"
    lowest = axes_of(plot_adherence(a, coords={"ranker": ["judge 1"]}))  # the median is in view
    assert lowest.get_xlim()[1] > verticals(lowest)[0]
    assert title_of(plot_adherence(a, max_rankers=20)) == ""


def test_a_given_panel_is_explained_in_its_label():
    _, (left, right) = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
    plot_adherence(adherences(9), plot_collection=panel_of(left))
    assert left.get_xlabel().split("\n") == [
        "Adherence, per unit of score: mean, 50% and 89% interval",
        "orange: does not follow: < 0.5 × median, P ≥ 0.95 (1)",
        "blue: follows closely: > 2 × median, P ≥ 0.95 (1)",
        "dashed: median ranker",
    ]
    assert len(boxes(left)) == 9
    assert apart(boxes(left))
    plot_adherence(adherences(9), plot_collection=panel_of(right), max_rankers=3)
    assert right.get_xlabel().endswith(
        "\ndashed: median ranker\n3 of 9 rankers: the 1 highest and the 2 lowest"
    )


def test_every_label_of_a_further_dim_has_a_panel_with_its_own_median():
    a = in_categories(2, 6)
    pc = plot_adherence(a)
    mean = a.mean(("chain", "draw", "category"))
    order = mean["ranker"].values[np.argsort(-mean.values)]
    for label in a["category"].values:
        panel, ax = a.sel(category=label), axes_of(pc, category=label)
        table = adherence_summary(panel)
        np.testing.assert_allclose(intervals(ax, 0), table.loc[order, ["low", "high"]])
        at = verticals(ax)
        middle = float(np.median(panel.values, axis=2).mean())
        np.testing.assert_allclose(at, [middle, middle / 2, middle * 2])
        assert ax.get_xlabel() == "Adherence, per unit of score"
    assert legend_of(pc)[0] == "does not follow: < 0.5 × median, P ≥ 0.95"


def test_a_negative_adherence_in_any_panel_raises():
    a = in_categories(2, 3)
    with pytest.raises(ValueError, match=r"^'adherence' of ranker judge 3 is -5.5"):
        plot_adherence(a.where(a["category"] != "writing", -a))
