"""The picture of rank intervals: what it shows, that names can be read, that it leaves no trace."""

from itertools import pairwise

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex

from bayesrank.results import plot_ranks, rank_summary

BLUE, GREY = "#0072b2", "#8a8a8a"


@pytest.fixture(autouse=True)
def no_figure_left():
    """Close what a test drew."""
    yield
    plt.close("all")


def posterior(n_items, names=None, n_draws=100, sd=0.5):
    draws = np.random.default_rng(0).normal(
        np.linspace(1.5, -1.5, n_items), sd, (2, n_draws, n_items)
    )
    names = names or [f"Item {i + 1}" for i in range(n_items)]
    return xr.DataArray(draws, dims=("chain", "draw", "item"), coords={"item": names})


def drawn(ax):
    """Names, thin and thick intervals, mean ranks and colours, from top to bottom."""
    names = [label.get_text() for label in ax.get_yticklabels()]
    thin, thick = (c for c in ax.collections if isinstance(c, LineCollection))
    (dots,) = (c for c in ax.collections if isinstance(c, PathCollection))
    ends = [np.array([s[:, 0] for s in lines.get_segments()]) for lines in (thin, thick)]
    return names, *ends, dots.get_offsets()[:, 0], [to_hex(c) for c in dots.get_edgecolors()]


def boxes(ax, which="y"):
    """Where the names of the ticks in view are, in pixels."""
    ax.figure.canvas.draw()
    axis = ax.yaxis if which == "y" else ax.xaxis
    low, high = sorted(axis.get_view_interval())
    ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    labels = [label for tick in ticks for label in (tick.label1, tick.label2)]
    return [text.get_window_extent() for text in labels if text.get_visible() and text.get_text()]


def test_intervals_means_and_colours_are_those_of_the_summary():
    u = posterior(10)
    summary, half = rank_summary(u, prob=0.8, tied_prob=0.9), rank_summary(u, prob=0.5)
    ax = plot_ranks(u, prob=0.8, tied_prob=0.9)
    assert isinstance(ax, Axes)
    names, thin, thick, means, colours = drawn(ax)
    assert names == summary.index.tolist()
    np.testing.assert_array_equal(thin, summary[["rank_low", "rank_high"]])
    np.testing.assert_allclose(thick, half[["rank_low", "rank_high"]] + [-0.2, 0.2])
    np.testing.assert_allclose(means, summary["mean_rank"])
    assert colours == [BLUE if tied else GREY for tied in summary["tied_with_leader"]]
    assert {BLUE, GREY} == set(colours)


def test_the_best_is_on_top_and_rank_one_on_the_left():
    ax = plot_ranks(posterior(5))
    bottom, top = ax.get_ylim()
    left, right = ax.get_xlim()
    assert (top, bottom) == (-0.6, 4.6)
    assert left == 0.5
    assert right >= 5.5
    assert ax.get_xlabel() == "Rank (1 = best)"


def test_the_legend_says_what_colours_and_lines_mean():
    ax = plot_ranks(posterior(10), prob=0.945, tied_prob=0.9)
    n = int(rank_summary(posterior(10), tied_prob=0.9)["tied_with_leader"].sum())
    (legend,) = ax.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        f"not distinguishable from the leader ({n} items)",
        "worse with probability ≥ 0.9",
        "mean rank",
        "50% interval",
        "94.5% interval",
    ]


def test_a_leader_alone_is_called_the_leader():
    (legend,) = plot_ranks(posterior(3, sd=0.01)).figure.legends
    assert legend.get_texts()[0].get_text() == "the leader"


def test_colours_that_do_not_occur_are_not_explained():
    (legend,) = plot_ranks(posterior(3, sd=50)).figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts[0] == "not distinguishable from the leader (3 items)"
    assert not any(text.startswith("worse") for text in texts)


LONG = [f"The film number {i} with a title that goes on and on (19{i})" for i in range(60)]


@pytest.mark.parametrize(
    ("n_items", "names"), [(1, None), (5, None), (10, None), (41, None), (100, None), (60, LONG)]
)
def test_names_do_not_overlap_and_stay_on_the_figure(n_items, names):
    ax = plot_ranks(posterior(n_items, names))
    rows = boxes(ax)
    assert len(rows) == n_items
    for above, below in pairwise(rows):
        assert above.y0 > below.y1
    figure = ax.figure.bbox
    for box in (*rows, *boxes(ax, "x")):
        assert figure.x0 <= box.x0 < box.x1 <= figure.x1
        assert figure.y0 <= box.y0 < box.y1 <= figure.y1
    # six points at least: what is smaller cannot be read in print
    assert min(box.height for box in rows) > 6 / 72 * ax.figure.dpi
    assert ax.bbox.width > 0.4 * figure.width


@pytest.mark.parametrize("n_items", [1, 5, 10, 100])
def test_the_legend_covers_neither_the_scale_nor_the_names(n_items):
    ax = plot_ranks(posterior(n_items))
    ax.figure.canvas.draw()
    box = ax.figure.legends[0].get_window_extent()
    assert ax.figure.bbox.x1 >= box.x1
    assert ax.figure.bbox.y1 >= box.y1
    assert box.y0 >= ax.xaxis.label.get_window_extent().y1
    assert all(box.y0 >= other.y1 for other in (*boxes(ax), *boxes(ax, "x")))


def test_long_names_are_shortened_in_the_middle():
    name = "Il buono, il brutto, il cattivo: a title of very many words indeed (1966)"
    names, *_ = drawn(plot_ranks(posterior(2, [name, "short"])))
    assert names == ["Il buono, il brutto, il cattivo:…s indeed (1966)", "short"]


@pytest.mark.parametrize("name", ["$5 or $10", "$", "a_b^c", r"\alpha", "<b>&", "%"])
def test_names_are_no_mathematics(name):
    ax = plot_ranks(posterior(2, [name, "other"]))
    ax.figure.canvas.draw()
    assert not any(label.get_parse_math() for label in ax.get_yticklabels())
    assert drawn(ax)[0][0] == name


def test_a_name_of_several_lines_becomes_one():
    assert drawn(plot_ranks(posterior(2, ["a\n b", "c"])))[0] == ["a b", "c"]


def test_only_the_first_of_many_are_shown_and_all_are_counted():
    ax = plot_ranks(posterior(30), max_items=4)
    assert drawn(ax)[0] == rank_summary(posterior(30)).index[:4].tolist()
    assert ax.figure.legends[0].get_title().get_text() == "4 of 30 items"
    assert plot_ranks(posterior(3), max_items=100).figure.legends[0].get_title().get_text() == ""


def test_chosen_items_keep_their_order_and_their_ranks_among_all():
    u = posterior(30)
    chosen = ["Item 20", "Item 3", "Item 11"]
    ax = plot_ranks(u, items=chosen)
    names, thin, _, means, _ = drawn(ax)
    summary = rank_summary(u).loc[chosen]
    assert names == chosen
    np.testing.assert_array_equal(thin, summary[["rank_low", "rank_high"]])
    np.testing.assert_allclose(means, summary["mean_rank"])
    assert ax.figure.legends[0].get_title().get_text() == "3 of 30 items"
    assert ax.get_xlim()[1] == summary["rank_high"].max() + 0.5


def test_a_given_axes_is_drawn_on_and_explained_in_its_label():
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
    assert plot_ranks(posterior(8), ax=left, max_items=6) is left
    assert plt.get_fignums() == [figure.number]
    assert figure.legends == []
    assert not right.collections
    n = int(rank_summary(posterior(8))["tied_with_leader"].sum())
    assert left.get_xlabel() == (
        "Rank (1 = best): mean, 50% and 94% interval\n"
        f"blue: not distinguishable from the leader ({n} items); 6 of 8 items"
    )
    rows = boxes(left)
    assert all(above.y0 > below.y1 for above, below in pairwise(rows))


def test_one_new_figure_is_made_and_no_other_and_none_on_failure():
    plt.figure()
    plot_ranks(posterior(3))
    assert len(plt.get_fignums()) == 2
    with pytest.raises(ValueError, match="no item"):
        plot_ranks(posterior(3), items=["nobody"])
    assert len(plt.get_fignums()) == 2


def test_settings_of_matplotlib_are_left_alone():
    before = mpl.rcParams.copy()
    plot_ranks(posterior(5)).figure.canvas.draw()
    assert mpl.rcParams == before


def test_a_mean_outside_a_narrow_interval_is_still_on_the_scale():
    # "a" is last in one draw of ten: mean rank 1.9, interval 1 to 1
    u = xr.DataArray(
        [[[10.0 - 11 * (d == 0), *np.arange(9.0)] for d in range(10)]],
        dims=("chain", "draw", "item"),
        coords={"item": list("abcdefghij")},
    )
    ax = plot_ranks(u, items=["a"], prob=0.1)
    assert drawn(ax)[3].tolist() == [1.9]
    assert ax.get_xlim()[1] > 1.9


@pytest.mark.parametrize("n_items", [3, 100, 1000])
def test_an_interval_of_one_rank_is_seen(n_items):
    u = posterior(n_items, sd=1e-9, n_draws=5)
    ax = plot_ranks(u)
    _, thin, thick, *_ = drawn(ax)
    assert not np.ptp(thin, axis=1).any()
    ends = ax.transData.transform(np.column_stack([thick[-1], [0, 0]]))[:, 0]
    assert np.diff(ends) > 1  # pixels


def test_more_dims_than_one_of_items_raise():
    u = xr.concat([posterior(3), posterior(3)], "year")
    with pytest.raises(
        ValueError, match=r"^'utility' has the further dims \['year'\]: .*\.isel\(year=0\)\.$"
    ):
        plot_ranks(u)


def test_an_unknown_item_raises_and_known_ones_are_named():
    with pytest.raises(ValueError, match=r"^There is no item 'Item 9'; the 2 items are 'Item 1', "):
        plot_ranks(posterior(2), items=["Item 1", "Item 9"])
    with pytest.raises(ValueError, match=r"; the 10 items are ('Item \d', ){5}\.\.\.$"):
        plot_ranks(posterior(10), items=["x"])


def test_repeated_or_no_items_raise():
    with pytest.raises(ValueError, match=r"^`items` holds 'Item 2' twice; give each item to show"):
        plot_ranks(posterior(2), items=["Item 2", "Item 2"])
    with pytest.raises(ValueError, match=r"^`items` holds no label; give each"):
        plot_ranks(posterior(2), items=[])


def test_bad_numbers_raise():
    with pytest.raises(ValueError, match=r"^`max_items` is 0; it must be 1 or more\.$"):
        plot_ranks(posterior(2), max_items=0)
    with pytest.raises(ValueError, match=r"^`prob` is 94; it must lie between 0\.0 and 1"):
        plot_ranks(posterior(2), prob=94)
