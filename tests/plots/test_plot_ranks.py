"""The picture of rank intervals: what it shows, and how it is explained."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from arviz import PlotCollection
from arviz_base.labels import MapLabeller

from bayesrank.plots import plot_ranks
from bayesrank.plots.rows import UNKNOWN
from bayesrank.results import rank_summary
from tests.plots.pictures import (
    BLUE,
    GREY,
    ORANGE,
    axes_of,
    boxes,
    by_category,
    figure_of,
    intervals,
    legend_of,
    markers,
    names_of,
    panel_of,
    posterior,
    title_of,
)

AROUND = np.array([-0.2, 0.2])  # added to an interval, so that one rank shows


def check_rows(ax, summary, half):
    """Compare intervals, means and colours of a panel with their tables."""
    np.testing.assert_allclose(intervals(ax, 0), summary[["rank_low", "rank_high"]] + AROUND)
    np.testing.assert_allclose(intervals(ax, 1), half[["rank_low", "rank_high"]] + AROUND)
    _, means, colours = zip(*markers(ax), strict=True)
    np.testing.assert_allclose(means, summary["mean_rank"])
    assert colours == tuple(GREY if word == "behind" else BLUE for word in summary["status"])


def test_intervals_means_and_colours_are_those_of_the_summary():
    u = posterior(10)
    summary = rank_summary(u, ci_prob=0.8, tied_prob=0.9)
    pc = plot_ranks(u, ci_prob=0.8, tied_prob=0.9)
    assert names_of(axes_of(pc)) == summary.index.tolist()
    check_rows(axes_of(pc), summary, rank_summary(u, ci_prob=0.5))
    assert {colour for *_, colour in markers(axes_of(pc))} == {BLUE, GREY}
    assert pc.get_viz("legend") is figure_of(pc).legends[0]


def test_the_best_is_on_top_and_rank_one_on_the_left():
    ax = axes_of(plot_ranks(posterior(5)))
    assert ax.get_ylim() == (4.6, -0.6)
    assert ax.get_xlim()[0] == 0.5
    assert ax.get_xlim()[1] >= 5.5
    assert ax.get_xlabel() == "Rank (1 = best)"


def test_the_legend_says_what_colours_and_lines_mean():
    n = (rank_summary(posterior(10), tied_prob=0.9)["status"] == "tied").sum()
    assert legend_of(plot_ranks(posterior(10), ci_prob=0.945, tied_prob=0.9)) == [
        "the leader",
        f"tied with the leader ({n})",
        "behind the leader, jointly with probability ≥ 0.9",
        "mean rank",
        "50% interval",
        "94.5% interval",
    ]
    assert legend_of(plot_ranks(posterior(3, sd=0.01)))[0] == "the leader"
    # colours that do not occur are not explained
    assert legend_of(plot_ranks(posterior(3, sd=50)))[:3] == [
        "the leader", "tied with the leader (2)", "mean rank"
    ]  # fmt: skip


def test_long_names_are_shortened_in_the_middle_and_stand_on_one_line():
    name = "Il buono, il brutto, il cattivo: a title of very many words indeed (1966)"
    assert names_of(axes_of(plot_ranks(posterior(2, [name, "a\n b"])))) == [
        "Il buono, il brutto, il cattivo:…s indeed (1966)", "a b"
    ]  # fmt: skip


def test_chosen_items_keep_their_order_and_their_ranks_among_all():
    u = posterior(30)
    chosen = ["Item 20", "Item 3", "Item 11"]
    pc = plot_ranks(u, coords={"item": chosen})
    summary, half = rank_summary(u), rank_summary(u, ci_prob=0.5)
    assert names_of(axes_of(pc)) == chosen
    check_rows(axes_of(pc), summary.loc[chosen], half.loc[chosen])
    assert title_of(pc) == "3 of 30 items"
    assert axes_of(pc).get_xlim()[1] == summary.loc[chosen, "rank_high"].max() + 0.5
    assert title_of(plot_ranks(posterior(3), max_items=100)) == ""


def test_of_many_items_the_first_twenty_are_shown_unless_all_are_wanted():
    u = posterior(25, sd=0.01)
    some, everyone = plot_ranks(u), plot_ranks(u, max_items=None)
    assert "20 of 25 items" in title_of(some)
    assert names_of(axes_of(some)) == names_of(axes_of(everyone))[:20]
    assert len(names_of(axes_of(everyone))) == 25
    height = [pc.viz["figure"].item().get_figheight() for pc in (some, everyone)]
    assert height[0] < height[1]


def test_a_given_panel_is_explained_in_its_label():
    _, left = plt.subplots(figsize=(5, 3), layout="constrained")
    plot_ranks(posterior(8), plot_collection=panel_of(left), max_items=6)
    n = (rank_summary(posterior(8))["status"] == "tied").sum()
    assert left.get_xlabel().split("\n") == [
        "Rank (1 = best): mean, 50% and 89% interval",
        "blue: the leader",
        f"blue: tied with the leader ({n})",
        "6 of 8 items",
    ]
    assert len(boxes(left)) == 6


def test_a_mean_outside_a_narrow_interval_is_still_on_the_scale():
    # "a" is last in one draw of ten: mean rank 1.9, interval 1 to 1
    u = xr.DataArray(
        [[[10.0 - 11 * (d == 0), *np.arange(9.0)] for d in range(10)]],
        dims=("chain", "draw", "item"),
        coords={"item": list("abcdefghij")},
    )
    ax = axes_of(plot_ranks(u, coords={"item": ["a"]}, ci_prob=0.1))
    assert markers(ax)[0][1] == 1.9
    assert ax.get_xlim()[1] > 1.9


@pytest.mark.parametrize("n_items", [3, 400])
def test_an_interval_of_one_rank_is_seen(n_items):
    ax = axes_of(plot_ranks(posterior(n_items, sd=1e-9, n_draws=5)))
    ends = ax.transData.transform(np.column_stack([intervals(ax, 1)[-1], [0, 0]]))[:, 0]
    assert np.diff(ends) > 1  # pixels


def test_simultaneous_intervals_are_wider_and_labelled():
    u = posterior(10)
    pc = plot_ranks(u, simultaneous=True)
    check_rows(
        axes_of(pc),
        rank_summary(u, simultaneous=True),
        rank_summary(u, simultaneous=True, ci_prob=0.5),
    )
    one_by_one = intervals(axes_of(plot_ranks(u)), 0)
    assert np.diff(intervals(axes_of(pc), 0)).sum() > np.diff(one_by_one).sum()
    assert legend_of(pc)[-2:] == [
        "50% interval, all items jointly", "89% interval, all items jointly"
    ]  # fmt: skip


def test_every_label_of_a_further_dim_has_a_panel_with_its_own_summary():
    u = by_category(2, 5)
    pc = plot_ranks(u)
    table, half = rank_summary(u), rank_summary(u, ci_prob=0.5)
    order = table["mean_rank"].groupby("item").mean().sort_values(kind="stable").index
    for label in u["category"].values:
        check_rows(
            axes_of(pc, category=label), table.loc[label].loc[order], half.loc[label, :].loc[order]
        )
    assert len(figure_of(pc).axes) == 2
    assert legend_of(pc)[0] == "the leader"


def test_panels_of_two_dims_are_named_by_both_and_those_of_days_without_hours():
    u = xr.concat([by_category(2, 3)] * 2, "year").assign_coords(year=[2001, 2002])
    ax = axes_of(plot_ranks(u), year=2002, category="writing")
    assert ax.get_title(loc="left") == "year: 2002, category: writing"
    days = pd.to_datetime(["2024-01-01", "2024-01-02"])
    u = xr.concat([posterior(2)] * 2, "day").assign_coords(day=days)
    titles = [ax.get_title(loc="left") for ax in plot_ranks(u).viz["plot"].values]
    assert titles == ["day: 2024-01-01", "day: 2024-01-02"]


def test_figures_and_columns_are_as_wished():
    pc = plot_ranks(by_category(4, 3), figure_kwargs={"figsize": (9, 4)}, col_wrap=2)
    assert figure_of(pc).get_size_inches().tolist() == [9, 4]
    assert pc.viz["row_index"].values.tolist() == [0, 0, 1, 1]


def test_panels_that_do_not_fit_raise():
    given = PlotCollection.wrap(by_category(2, 3).rename("u").to_dataset(), cols=["category"])
    with pytest.raises(
        ValueError, match=r"panels by \['category'\]; the plot needs .* by \[\]\. Create"
    ):
        plot_ranks(posterior(3), plot_collection=given)
    with pytest.raises(
        ValueError, match=r"^`plot_collection` is given .* \(col_wrap\)\. Give only"
    ):
        plot_ranks(by_category(2, 3), plot_collection=given, col_wrap=1)
    u = by_category(2, 3).assign_coords(category=["x", "x"])
    with pytest.raises(ValueError, match=r"^'category' has the label 'x' twice; rename one"):
        plot_ranks(u)
    with pytest.raises(ValueError, match=r"; the 10 items are ('Item \d', ){5}\.\.\.$"):
        plot_ranks(posterior(10), coords={"item": ["x"]})
    with pytest.raises(ValueError, match=r"^`ci_prob` is 94; it must lie between 0\.0 and 1"):
        plot_ranks(posterior(2), ci_prob=94)


def test_items_of_which_little_is_known_are_lighter_and_counts_stand_at_the_right():
    mean, sd = [2.0, 1.95, 0.0, -9.0], [0.1, 0.1, 3.0, 0.1]
    draws = np.random.default_rng(0).normal(mean, sd, (2, 400, 4))
    u = xr.DataArray(draws, dims=("chain", "draw", "item"), coords={"item": list("abcd")})
    seen = pd.Series([60, 1200, 1, 7], index=list("abcd"), name="matches")
    pc = plot_ranks(u, prior_sd=3.0, seen=seen)
    ax = axes_of(pc)
    look = dict(zip(names_of(ax), [colour for *_, colour in markers(ax)], strict=True))
    assert look == {"a": BLUE, "b": BLUE, "c": UNKNOWN, "d": GREY}
    counts = [f"{seen[name]:,}" for name in names_of(ax)]
    assert [text.get_text() for text in ax.texts] == ["matches", *counts]
    words = ["the leader", "tied with the leader (1)", "too little data (1)"]
    assert legend_of(pc)[:3] == words
    only = axes_of(plot_ranks(u, prior_sd=3.0, coords={"item": ["c"]}))  # the leader is not shown
    assert [colour for *_, colour in markers(only)] == [UNKNOWN]


# ArviZ's contract


def test_visuals_are_restyled_or_left_out_and_aesthetics_mapped_otherwise():
    u = posterior(4)
    pc = plot_ranks(
        u,
        visuals={"trunk": False, "twig": {"width": 3}, "legend": False},
        color=["red", "blue", "black"],
    )
    assert "trunk" not in pc.viz.children
    assert figure_of(pc).legends == []
    lines = {line.get_color(): line.get_linewidth() for line in pc.viz["twig"]["utility"].values}
    assert lines == {"red": 3, "blue": 3, "black": 3}
    by_item = plot_ranks(u, aes={"color": ["item"]})
    assert len({colour for *_, colour in markers(axes_of(by_item))}) == 4
    assert legend_of(by_item) == ["mean rank", "50% interval", "89% interval"]
    grey = plot_ranks(u, aes_by_visuals={"point_estimate": []})
    assert {colour for *_, colour in markers(axes_of(grey))} == {GREY}
    with pytest.raises(ValueError, match="Found keys"):
        plot_ranks(u, visuals={"halves": False})


def test_values_and_names_may_be_given():
    u = posterior(3)
    mean = xr.Dataset({"utility": ("item", [1.5, 2.0, 2.5])}, {"item": u["item"]})
    labeller = MapLabeller(coord_map={"item": {"Item 1": "the first"}})
    ax = axes_of(plot_ranks(u, stats={"point_estimate": mean}, labeller=labeller))
    assert [x for _, x, _ in markers(ax)] == [1.5, 2.0, 2.5]
    assert names_of(ax) == ["the first", "Item 2", "Item 3"]


def test_several_models_stand_side_by_side_in_their_colours():
    models = {"sure": posterior(5), "unsure": posterior(5, sd=2)}
    pc = plot_ranks(models)
    ax = axes_of(pc)
    for k, u in enumerate(models.values()):
        _, means, colours = zip(*markers(ax)[k::2], strict=True)
        np.testing.assert_allclose(means, rank_summary(u).loc[names_of(ax), "mean_rank"])
        assert set(colours) == {(BLUE, ORANGE)[k]}
    assert legend_of(pc)[:2] == ["sure", "unsure"]


def test_panels_are_chosen_by_their_labels():
    pc = plot_ranks(by_category(3, 4), coords={"category": ["maths", "coding"]})
    assert pc.viz["plot"]["category"].values.tolist() == ["maths", "coding"]


def test_another_backend_explains_the_plot_in_its_label():
    pc = plot_ranks(posterior(4), backend="none")
    drawn = [one["function"] for one in pc.viz["plot"].item()]
    assert drawn.count("line") == 6  # thin and thick, of three statuses
    assert "legend" not in pc.viz
