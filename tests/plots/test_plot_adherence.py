"""The picture of adherences: outliers are seen, names can be read, many rankers fit."""

from itertools import pairwise

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex

from bayesrank.plots import plot_adherence
from bayesrank.results import adherence_summary
from tests.plots.pictures import GROUPS, axes_of, figure_of, legend_of, panel_of

BLUE, GREY, ORANGE = "#0072b2", "#8a8a8a", "#d55e00"


def posterior(n, n_below=1, n_above=1):
    """Draws of n rankers around 1, the first few around 0.1 and the last few around 4."""
    rng = np.random.default_rng(0)
    middle = np.linspace(0.8, 1.2, n - n_below - n_above)
    mean = np.r_[np.full(n_below, 0.1), middle, np.full(n_above, 4.0)]
    names = [f"judge {i + 1}" for i in range(n)]
    draws = rng.gamma(50, mean / 50, (2, 100, n))
    return xr.DataArray(draws, dims=("chain", "draw", "ranker"), coords={"ranker": names})


def texts(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def dots(ax):
    """Mean, row and colour of every marker of rows with names, from top to bottom."""
    found = [
        (y, x, to_hex(kind.get_edgecolors()[0]))
        for kind in ax.collections
        if isinstance(kind, PathCollection) and len(kind.get_edgecolors())
        for x, y in kind.get_offsets()
    ]
    return sorted(found)


def intervals(ax, which):
    """Thin (0) or thick (1) intervals from top to bottom."""
    lines = [kind for kind in ax.collections if isinstance(kind, LineCollection)][which::2]
    ends = [(s[0, 1], *s[:, 0]) for kind in lines for s in kind.get_segments()]
    return np.array(sorted(ends))[:, 1:]


def rows_of_names(ax, *, draw=True):
    """Boxes of the names in pixels, from top to bottom."""
    if draw:
        ax.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    return sorted(boxes, key=lambda box: -box.y0)


@pytest.mark.parametrize("relative", [False, 0.5])
def test_intervals_means_and_colours_are_those_of_the_summary(relative):
    a = posterior(12, n_below=2)
    table = adherence_summary(a, prob=0.8, relative=relative)
    ax = axes_of(plot_adherence(a, prob=0.8, relative=relative))
    assert texts(ax) == table.index.tolist()
    np.testing.assert_allclose(intervals(ax, 0), table[["low", "high"]])
    half = adherence_summary(a, prob=0.5, relative=relative)
    np.testing.assert_allclose(intervals(ax, 1), half[["low", "high"]])
    _, means, colours = zip(*dots(ax), strict=True)
    np.testing.assert_allclose(means, table["mean"])
    assert colours == (BLUE, *[GREY] * 9, ORANGE, ORANGE)
    assert table["outlier"].tolist() == [False] * 10 + [True] * 2


def test_the_highest_is_on_top_and_zero_on_the_left():
    ax = axes_of(plot_adherence(posterior(5)))
    assert texts(ax)[0] == "judge 5"
    assert ax.get_ylim() == (4.6, -0.6)
    left, right = ax.get_xlim()
    assert -0.1 * right < left < 0


def test_lines_mark_the_median_and_what_is_far_from_it():
    a = posterior(9)
    middle = float(np.median(a.values, axis=2).mean())
    at = [line.get_xdata()[0] for line in axes_of(plot_adherence(a, factor=4)).lines]
    np.testing.assert_allclose(at, [middle, middle / 4, middle * 4])
    at = [line.get_xdata()[0] for line in axes_of(plot_adherence(a, relative=0.5)).lines]
    np.testing.assert_allclose(at, [1, 0.5, 2])


def test_the_legend_says_what_colours_and_lines_mean():
    assert legend_of(
        plot_adherence(posterior(10, n_below=2), prob=0.945, outlier_prob=0.9, factor=3)
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


def test_colours_that_do_not_occur_are_not_explained():
    found = legend_of(plot_adherence(posterior(4, 0, 0)))
    assert found[:2] == ["rankers (4)", "median ranker"]


@pytest.mark.parametrize(
    ("relative", "unit"),
    [
        (False, "per unit of score"),
        (True, "relative to the largest"),
        (0.5, "relative to the median ranker's"),
        (0.9, "relative to the 90% quantile of all"),
    ],
)
def test_the_scale_says_its_unit(relative, unit):
    ax = axes_of(plot_adherence(posterior(4), relative=relative))
    assert ax.get_xlabel() == f"Adherence, {unit} (0 = nothing to do with the consensus)"


@pytest.mark.parametrize("n", [1, 2, 5, 25, 40, 41, 100, 943])
def test_names_do_not_overlap_and_the_figure_stays_small(n):
    a = posterior(n, min(n // 4, 5), min(n // 4, 5))
    ax = axes_of(plot_adherence(a))
    rows = rows_of_names(ax)
    assert len(rows) == (n if n <= 40 else 21)
    assert all(above.y0 > below.y1 for above, below in pairwise(rows))
    figure = ax.figure.bbox
    assert all(figure.x0 <= box.x0 and figure.y0 <= box.y0 for box in rows)
    assert ax.figure.get_size_inches()[1] < 12
    box = ax.figure.legends[0].get_window_extent()
    assert box.y0 >= ax.xaxis.label.get_window_extent().y1
    assert ax.figure.bbox.x1 >= box.x1


@pytest.mark.parametrize("n", [41, 200, 943])
def test_of_many_the_first_and_last_have_names_and_all_are_drawn_in_order(n):
    a = posterior(n)
    table = adherence_summary(a)
    ax = axes_of(plot_adherence(a))
    ends = [*table.index[:10], *table.index[-10:]]
    assert texts(ax) == [*ends, f"{n - 20} more"]
    np.testing.assert_allclose(intervals(ax, 0), table[["low", "high"]])
    assert ax.get_yticks()[9] < ax.get_yticks()[-1] < ax.get_yticks()[10]


def test_outliers_without_a_name_are_coloured_too():
    pc = plot_adherence(posterior(200, n_below=30))
    ax = axes_of(pc)
    drawn = [k for k in ax.collections if isinstance(k, LineCollection)]
    colours = {to_hex(kind.get_colors()[0]): len(kind.get_segments()) for kind in drawn[1::2]}
    sizes = [len(k.get_segments()) for k in drawn[1::2] if to_hex(k.get_colors()[0]) == ORANGE]
    assert set(colours) == {BLUE, GREY, ORANGE}
    assert sizes == [10, 20]
    assert legend_of(pc)[0].endswith("(30)")


@pytest.mark.parametrize(("most", "highest", "lowest"), [(1, 0, 1), (4, 2, 2), (5, 2, 3)])
def test_a_few_of_many_are_the_highest_and_the_lowest(most, highest, lowest):
    a = posterior(30)
    order = adherence_summary(a).index.tolist()
    ax = axes_of(plot_adherence(a, max_rankers=most))
    assert texts(ax) == [*order[:highest], *order[30 - lowest :], f"{30 - most} not shown"]
    assert ax.figure.legends[0].get_title().get_text() == (
        f"{most} of 30 rankers: the {highest} highest and the {lowest} lowest"
    )
    rows = rows_of_names(ax)
    assert all(above.y0 > below.y1 for above, below in pairwise(rows))


def test_a_limit_that_is_not_reached_changes_nothing():
    ax = axes_of(plot_adherence(posterior(6), max_rankers=6))
    assert len(texts(ax)) == 6
    assert ax.figure.legends[0].get_title().get_text() == ""


def test_a_limit_beyond_the_names_counts_who_is_not_shown():
    ax = axes_of(plot_adherence(posterior(200), max_rankers=100))
    assert texts(ax)[-1] == "100 not shown"
    assert len(intervals(ax, 0)) == 100


def test_chosen_rankers_keep_their_order_and_the_median_of_all():
    a = posterior(20)
    chosen = ["judge 1", "judge 20", "judge 7"]
    ax = axes_of(plot_adherence(a, rankers=chosen))
    assert texts(ax) == chosen
    assert [colour for *_, colour in dots(ax)] == [ORANGE, BLUE, GREY]
    assert ax.lines[0].get_xdata()[0] == float(np.median(a.values, axis=2).mean())
    assert ax.figure.legends[0].get_title().get_text() == "3 of 20 rankers"


def test_the_median_is_in_view_where_only_lower_rankers_are_shown():
    ax = axes_of(plot_adherence(posterior(20), rankers=["judge 1"]))
    assert ax.get_xlim()[1] > ax.lines[0].get_xdata()[0]


def test_a_given_panel_is_drawn_on_and_explained_in_its_label():
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
    given = panel_of(left)
    assert plot_adherence(posterior(300), plot_collection=given) is given
    assert plt.get_fignums() == [figure.number]
    assert figure.legends == []
    assert not right.collections
    assert left.get_xlabel().split("\n") == [
        "Adherence, per unit of score: mean, 50% and 94% interval",
        "orange: does not follow: < 0.5 × median, P ≥ 0.95 (1)",
        "blue: follows closely: > 2 × median, P ≥ 0.95 (1)",
        "dashed: median ranker",
    ]
    rows = rows_of_names(left)
    assert 3 <= len(rows) < 20
    assert all(above.y0 > below.y1 for above, below in pairwise(rows))
    plot_adherence(posterior(9), plot_collection=panel_of(right), max_rankers=3)
    assert right.get_xlabel().endswith(
        "\ndashed: median ranker\n3 of 9 rankers: the 1 highest and the 2 lowest"
    )


@pytest.mark.parametrize("name", ["$5 or $10", "a_b^c", r"\alpha"])
def test_names_are_no_mathematics(name):
    a = posterior(50).assign_coords(ranker=[name, *map(str, range(49))])
    ax = axes_of(plot_adherence(a))
    ax.figure.canvas.draw()
    assert name in texts(ax)
    assert not any(label.get_parse_math() for label in ax.get_yticklabels())


def test_adherences_of_zero_are_drawn():
    ax = axes_of(plot_adherence(0 * posterior(3)))
    ax.figure.canvas.draw()
    assert ax.get_xlim()[1] > 0


def test_settings_of_matplotlib_are_left_alone():
    before = mpl.rcParams.copy()
    figure_of(plot_adherence(posterior(50))).canvas.draw()
    assert mpl.rcParams == before


def test_bad_choices_raise_and_leave_no_figure():
    a = posterior(3)
    with pytest.raises(ValueError, match=r"^There is no ranker 'x'; the 3 rankers are 'judge 3', "):
        plot_adherence(a, rankers=["x"])
    with pytest.raises(ValueError, match=r"^`rankers` holds no label; give each ranker to show"):
        plot_adherence(a, rankers=[])
    with pytest.raises(ValueError, match=r"^`max_rankers` is 0; it must be 1 or more\.$"):
        plot_adherence(a, max_rankers=0)
    with pytest.raises(ValueError, match=r"^Give `rankers` or `max_rankers`, not both\.$"):
        plot_adherence(a, rankers=["judge 1"], max_rankers=2)
    with pytest.raises(ValueError, match=r"^`prob` is 94; it must lie between 0\.0 and 1"):
        plot_adherence(a, prob=94)
    assert plt.get_fignums() == []


def in_categories(n_groups, n):
    """The further the category, the better the first ranker follows; others are as they are."""
    a = posterior(n)
    groups = [a.where(a["ranker"] != "judge 1", a * 10**g) for g in range(n_groups)]
    return xr.concat(groups, "category").assign_coords(category=GROUPS[:n_groups])


@pytest.mark.parametrize("n_groups", [2, 6])
def test_every_label_of_a_further_dim_has_a_panel_with_its_own_median(n_groups):
    a = in_categories(n_groups, 6)
    pc = plot_adherence(a)
    mean = a.mean(("chain", "draw", "category"))
    order = mean["ranker"].values[np.argsort(-mean.values)]
    for label in a["category"].values:
        here, ax = a.sel(category=label), axes_of(pc, category=label)
        table = adherence_summary(here)
        np.testing.assert_allclose(intervals(ax, 0), table.loc[order, ["low", "high"]])
        at = [line.get_xdata()[0] for line in ax.lines]
        middle = float(np.median(here.values, axis=2).mean())
        np.testing.assert_allclose(at, [middle, middle / 2, middle * 2])
        assert ax.get_title(loc="left") == f"category: {label}"
        assert ax.get_xlabel() == "Adherence, per unit of score"
    assert legend_of(pc)[0] == "does not follow: < 0.5 × median, P ≥ 0.95"


def test_of_many_panels_with_many_rankers_those_at_the_left_have_names():
    pc = plot_adherence(in_categories(4, 100))
    first = axes_of(pc, category="coding")
    rows = [rows_of_names(ax, draw=ax is first) for ax in pc.viz["plot"].values]
    assert texts(first)[-1] == "80 more"
    assert all(above.y0 > below.y1 for above, below in pairwise(rows[0]))
    assert not any(box.width for box in rows[1])


def test_a_negative_adherence_in_any_panel_raises():
    a = in_categories(2, 3)
    with pytest.raises(ValueError, match=r"^'adherence' of ranker judge 3 is -5.5"):
        plot_adherence(a.where(a["category"] != "writing", -a))
