"""The picture of rank intervals: what it shows, that names can be read, that it leaves no trace."""

from itertools import pairwise

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from arviz import PlotCollection
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex

from bayesrank.plots import plot_ranks
from bayesrank.plots.rows import UNKNOWN
from bayesrank.results import figure_png, rank_summary
from tests.plots.pictures import (
    LONG,
    apart,
    axes_of,
    boxes,
    by_category,
    figure_of,
    inside,
    legend_of,
    panel_of,
    posterior,
)

BLUE, GREY = "#0072b2", "#8a8a8a"


def drawn(ax):
    """Names, thin and thick intervals, mean ranks and colours, from top to bottom."""
    names = [label.get_text() for label in ax.get_yticklabels()]
    thin, thick = (c for c in ax.collections if isinstance(c, LineCollection))
    (dots,) = (c for c in ax.collections if isinstance(c, PathCollection))
    ends = [np.array([s[:, 0] for s in lines.get_segments()]) for lines in (thin, thick)]
    return names, *ends, dots.get_offsets()[:, 0], [to_hex(c) for c in dots.get_edgecolors()]


def test_intervals_means_and_colours_are_those_of_the_summary():
    u = posterior(10)
    summary, half = rank_summary(u, prob=0.8, tied_prob=0.9), rank_summary(u, prob=0.5)
    ax = axes_of(plot_ranks(u, prob=0.8, tied_prob=0.9))
    names, thin, thick, means, colours = drawn(ax)
    assert names == summary.index.tolist()
    np.testing.assert_array_equal(thin, summary[["rank_low", "rank_high"]])
    longer = half[["rank_low", "rank_high"]].to_numpy() + np.array([-0.2, 0.2])
    inside = np.clip(longer, thin[:, :1], thin[:, 1:])
    alone = (summary["rank_low"] == summary["rank_high"]).to_numpy()[:, None]
    np.testing.assert_allclose(thick, np.where(alone, longer, inside))
    np.testing.assert_allclose(means, summary["mean_rank"])
    assert colours == [BLUE if tied else GREY for tied in summary["tied_with_leader"]]
    assert {BLUE, GREY} == set(colours)


def test_the_best_is_on_top_and_rank_one_on_the_left():
    ax = axes_of(plot_ranks(posterior(5)))
    bottom, top = ax.get_ylim()
    left, right = ax.get_xlim()
    assert (top, bottom) == (-0.6, 4.6)
    assert left == 0.5
    assert right >= 5.5
    assert ax.get_xlabel() == "Rank (1 = best)"


def test_the_legend_says_what_colours_and_lines_mean():
    n = int(rank_summary(posterior(10), tied_prob=0.9)["tied_with_leader"].sum())
    assert legend_of(plot_ranks(posterior(10), prob=0.945, tied_prob=0.9)) == [
        f"not distinguishable from the leader ({n} items)",
        "worse, all at once, with probability ≥ 0.9",
        "mean rank",
        "50% interval",
        "94.5% interval",
    ]


def test_a_leader_alone_is_called_the_leader():
    assert legend_of(plot_ranks(posterior(3, sd=0.01)))[0] == "the leader"


def test_colours_that_do_not_occur_are_not_explained():
    texts = legend_of(plot_ranks(posterior(3, sd=50)))
    assert texts[0] == "not distinguishable from the leader (3 items)"
    assert not any(text.startswith("worse") for text in texts)


@pytest.mark.parametrize(
    ("n_items", "names"), [(1, None), (5, None), (10, None), (41, None), (100, None), (60, LONG)]
)
def test_names_do_not_overlap_and_stay_on_the_figure(n_items, names):
    ax = axes_of(plot_ranks(posterior(n_items, names)))
    rows = boxes(ax)
    assert len(rows) == n_items
    for above, below in pairwise(rows):
        assert above.y0 > below.y1
    assert inside(ax.figure, [*rows, *boxes(ax, "x")])
    # six points at least: what is smaller cannot be read in print
    assert min(box.height for box in rows) > 6 / 72 * ax.figure.dpi
    assert ax.bbox.width > 0.4 * ax.figure.bbox.width


@pytest.mark.parametrize("n_items", [1, 5, 10, 100])
def test_the_legend_covers_neither_the_scale_nor_the_names(n_items):
    ax = axes_of(plot_ranks(posterior(n_items)))
    ax.figure.canvas.draw()
    box = ax.figure.legends[0].get_window_extent()
    assert ax.figure.bbox.x1 >= box.x1
    assert ax.figure.bbox.y1 >= box.y1
    assert box.y0 >= ax.xaxis.label.get_window_extent().y1
    assert all(box.y0 >= other.y1 for other in (*boxes(ax), *boxes(ax, "x")))


def test_long_names_are_shortened_in_the_middle():
    name = "Il buono, il brutto, il cattivo: a title of very many words indeed (1966)"
    names, *_ = drawn(axes_of(plot_ranks(posterior(2, [name, "short"]))))
    assert names == ["Il buono, il brutto, il cattivo:…s indeed (1966)", "short"]


@pytest.mark.parametrize("name", ["$5 or $10", "$", "a_b^c", r"\alpha", "<b>&", "%"])
def test_names_are_no_mathematics(name):
    ax = axes_of(plot_ranks(posterior(2, [name, "other"])))
    ax.figure.canvas.draw()
    assert not any(label.get_parse_math() for label in ax.get_yticklabels())
    assert drawn(ax)[0][0] == name


def test_a_name_of_several_lines_becomes_one():
    assert drawn(axes_of(plot_ranks(posterior(2, ["a\n b", "c"]))))[0] == ["a b", "c"]


def test_only_the_first_of_many_are_shown_and_all_are_counted():
    ax = axes_of(plot_ranks(posterior(30), max_items=4))
    assert drawn(ax)[0] == rank_summary(posterior(30)).index[:4].tolist()
    assert ax.figure.legends[0].get_title().get_text() == "4 of 30 items"
    (legend,) = figure_of(plot_ranks(posterior(3), max_items=100)).legends
    assert legend.get_title().get_text() == ""


def test_chosen_items_keep_their_order_and_their_ranks_among_all():
    u = posterior(30)
    chosen = ["Item 20", "Item 3", "Item 11"]
    ax = axes_of(plot_ranks(u, items=chosen))
    names, thin, _, means, _ = drawn(ax)
    summary = rank_summary(u).loc[chosen]
    assert names == chosen
    np.testing.assert_array_equal(thin, summary[["rank_low", "rank_high"]])
    np.testing.assert_allclose(means, summary["mean_rank"])
    assert ax.figure.legends[0].get_title().get_text() == "3 of 30 items"
    assert ax.get_xlim()[1] == summary["rank_high"].max() + 0.5


def test_a_given_panel_is_drawn_on_and_explained_in_its_label():
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
    given = panel_of(left)
    assert plot_ranks(posterior(8), plot_collection=given, max_items=6) is given
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
    figure_of(plot_ranks(posterior(5))).canvas.draw()
    assert mpl.rcParams == before


def test_a_mean_outside_a_narrow_interval_is_still_on_the_scale():
    # "a" is last in one draw of ten: mean rank 1.9, interval 1 to 1
    u = xr.DataArray(
        [[[10.0 - 11 * (d == 0), *np.arange(9.0)] for d in range(10)]],
        dims=("chain", "draw", "item"),
        coords={"item": list("abcdefghij")},
    )
    ax = axes_of(plot_ranks(u, items=["a"], prob=0.1))
    assert drawn(ax)[3].tolist() == [1.9]
    assert ax.get_xlim()[1] > 1.9


@pytest.mark.parametrize("n_items", [3, 100, 1000])
def test_an_interval_of_one_rank_is_seen(n_items):
    u = posterior(n_items, sd=1e-9, n_draws=5)
    ax = axes_of(plot_ranks(u))
    _, thin, thick, *_ = drawn(ax)
    assert not np.ptp(thin, axis=1).any()
    ends = ax.transData.transform(np.column_stack([thick[-1], [0, 0]]))[:, 0]
    assert np.diff(ends) > 1  # pixels


def test_intervals_of_all_items_at_once_are_wider_and_said_to_be():
    u = posterior(10)
    pc = plot_ranks(u, simultaneous=True)
    _, thin, *_ = drawn(axes_of(pc))
    table = rank_summary(u, simultaneous=True)
    np.testing.assert_array_equal(thin, table[["rank_low", "rank_high"]])
    one_by_one = drawn(axes_of(plot_ranks(u)))[1]
    assert np.diff(thin).sum() > np.diff(one_by_one).sum()
    assert legend_of(pc)[-2:] == [
        "50% interval, all items at once",
        "94% interval, all items at once",
    ]


@pytest.mark.parametrize("n_groups", [2, 6])
def test_every_label_of_a_further_dim_has_a_panel_with_its_own_summary(n_groups):
    u = by_category(n_groups, 5)
    pc = plot_ranks(u)
    table = rank_summary(u)
    mean = table["mean_rank"].groupby("item").mean()
    for label in u["category"].values:
        ax = axes_of(pc, category=label)
        thin, _ = (c for c in ax.collections if isinstance(c, LineCollection))
        (dots,) = (c for c in ax.collections if isinstance(c, PathCollection))
        order = mean.sort_values(kind="stable").index
        here = table.loc[label].loc[order]
        ends = np.array([segment[:, 0] for segment in thin.get_segments()])
        np.testing.assert_array_equal(ends, here[["rank_low", "rank_high"]])
        np.testing.assert_allclose(dots.get_offsets()[:, 0], here["mean_rank"])
        colours = [BLUE if tied else GREY for tied in here["tied_with_leader"]]
        assert [to_hex(c) for c in dots.get_edgecolors()] == colours
        assert ax.get_title(loc="left") == f"category: {label}"
    assert len(figure_of(pc).axes) == n_groups
    assert legend_of(pc)[0] == "not distinguishable from the leader of the panel"


def test_only_panels_at_the_left_have_names_and_none_overlap():
    pc = plot_ranks(by_category(6, 8, LONG[:8]))
    panels = [axes_of(pc, category=label) for label in pc.viz["category"].values]
    figure_of(pc).canvas.draw()
    rows = [boxes(ax, draw=False) for ax in panels]
    assert [len(one) for one in rows] == [8, 0, 0, 8, 0, 0]
    assert inside(figure_of(pc), [*rows[0], *rows[3]])
    assert apart(
        [*rows[0], *rows[3], *(box for ax in panels for box in boxes(ax, "x", draw=False))]
    )


def test_panels_of_two_dims_are_named_by_both():
    u = xr.concat([by_category(2, 3)] * 2, "year").assign_coords(year=[2001, 2002])
    ax = axes_of(plot_ranks(u), year=2002, category="writing")
    assert ax.get_title(loc="left") == "year: 2002, category: writing"


def test_panels_of_days_are_named_without_hours():
    days = pd.to_datetime(["2024-01-01", "2024-01-02"])
    u = xr.concat([posterior(2)] * 2, "day").assign_coords(day=days)
    titles = [ax.get_title(loc="left") for ax in plot_ranks(u).viz["plot"].values]
    assert titles == ["day: 2024-01-01", "day: 2024-01-02"]


def test_figures_and_columns_are_as_wished():
    u = by_category(4, 3)
    pc = plot_ranks(u, figure_kwargs={"figsize": (9, 4)}, col_wrap=2)
    assert figure_of(pc).get_size_inches().tolist() == [9, 4]
    assert pc.viz["row_index"].values.tolist() == [0, 0, 1, 1]


def test_the_artists_are_found_in_viz():
    pc = plot_ranks(posterior(3))
    assert isinstance(pc.get_viz("interval"), LineCollection)
    assert isinstance(pc.get_viz("half"), LineCollection)
    assert isinstance(pc.get_viz("mean"), PathCollection)
    assert pc.get_viz("legend") is figure_of(pc).legends[0]


def test_a_picture_goes_to_a_file_and_to_bytes(tmp_path):
    pc = plot_ranks(posterior(3))
    pc.savefig(tmp_path / "ranks.png")
    assert (tmp_path / "ranks.png").read_bytes()[1:4] == figure_png(pc)[1:4] == b"PNG"


def test_panels_that_do_not_fit_raise():
    given = PlotCollection.wrap(by_category(2, 3).rename("u").to_dataset(), cols=["category"])
    with pytest.raises(
        ValueError, match=r"panels by \['category'\]; the picture needs .* by \[\], "
    ):
        plot_ranks(posterior(3), plot_collection=given)
    with pytest.raises(
        ValueError, match=r"^Give `plot_collection` or what makes one \(col_wrap\), "
    ):
        plot_ranks(by_category(2, 3), plot_collection=given, col_wrap=1)
    with pytest.raises(
        ValueError, match=r"^`backend` is 'plotly'; the pictures are drawn with 'ma"
    ):
        plot_ranks(posterior(3), backend="plotly")


def test_given_panels_are_drawn_on():
    u = by_category(2, 3)
    given = PlotCollection.wrap(u.rename("u").to_dataset(), cols=["category"])
    assert plot_ranks(u, plot_collection=given) is given
    assert axes_of(given, category="writing").get_xlabel().startswith("Rank (1 = best): mean, ")


def test_labels_that_occur_twice_raise():
    with pytest.raises(ValueError, match=r"^'item' has the label 'a' twice; rename one"):
        plot_ranks(posterior(2, ["a", "a"]))
    u = by_category(2, 3).assign_coords(category=["x", "x"])
    with pytest.raises(ValueError, match=r"^'category' has the label 'x' twice; rename one"):
        plot_ranks(u)


def test_draws_that_cannot_be_ranked_raise():
    u = posterior(3)
    with pytest.raises(ValueError, match=r"hold NaN or infinite values: the sampler"):
        plot_ranks(u.where(u["draw"] > 3))
    with pytest.raises(ValueError, match=r"^The posterior has no variable 'worth'; it has \['u'\]"):
        plot_ranks(u.to_dataset(name="u"), "worth")


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


# How much is known


def test_items_of_which_little_is_known_are_lighter_and_counts_stand_at_the_right():
    mean, sd = [2.0, 1.95, 0.0, -9.0], [0.1, 0.1, 3.0, 0.1]
    draws = np.random.default_rng(0).normal(mean, sd, (2, 400, 4))
    u = xr.DataArray(draws, dims=("chain", "draw", "item"), coords={"item": list("abcd")})
    seen = pd.Series([60, 1200, 1, 7], index=list("abcd"), name="matches")
    pc = plot_ranks(u, prior_sd=3.0, seen=seen)
    ax = axes_of(pc)
    names, *_, colours = drawn(ax)
    look = dict(zip(names, colours, strict=True))
    assert look == {"a": BLUE, "b": BLUE, "c": UNKNOWN, "d": GREY}
    assert [text.get_text() for text in ax.texts] == [f"{seen[name]:,}" for name in names] + [
        "matches"
    ]
    assert legend_of(plot_ranks(u, prior_sd=3.0))[:2] == [
        "the leader, and 1 close to it", "too little is known (1)"
    ]  # fmt: skip
