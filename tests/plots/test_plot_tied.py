"""The plot of tied sets: bars over the sets of the posterior, and names that can be read."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex

from bayesrank.plots import plot_tied
from bayesrank.results import rank_summary, tied_sets
from tests.plots.pictures import (
    BLUE,
    LONG,
    apart,
    axes_of,
    by_category,
    figure_of,
    inside,
    legend_of,
    panel_of,
    posterior,
    title_of,
)


def texts_of(ax):
    ax.figure.canvas.draw()
    return [text.get_window_extent() for text in ax.texts]


def bars_of(ax, mean_rank):
    """Members of every bar, by the places of its dots."""
    found = {}
    for dots in ax.collections:
        x = dots.get_offsets()[:, 0]
        members = frozenset(
            mean_rank.index[(mean_rank - value).abs().argmin()] for value in np.asarray(x)
        )
        found[members] = to_hex(dots.get_facecolor()[0])
    return found


def test_bars_are_the_largest_tied_sets():
    u = posterior(8, sd=0.3)
    summary, tied = rank_summary(u), tied_sets(u)
    sets = [frozenset(tied.item_other.values[row]) for row in tied.values if row.sum() > 1]
    largest = {one for one in sets if not any(one < other for other in sets)}
    found = bars_of(axes_of(plot_tied(u)), summary["mean_rank"])
    assert {*found} == largest
    leading = {item for item, status in summary["status"].items() if status != "behind"}
    assert [members for members, colour in found.items() if colour == BLUE] == [leading]


@pytest.mark.parametrize("n", [1, 2, 7, 40])
@pytest.mark.parametrize("names", [None, LONG])
def test_names_do_not_overlap_and_stay_on_the_figure(n, names):
    pc = plot_tied(posterior(n, names and names[:n]))
    ax = axes_of(pc)
    found = texts_of(ax)
    assert len(found) == n
    scale = [label.get_window_extent() for label in ax.get_xticklabels()]
    everything = [
        *found,
        ax.xaxis.label.get_window_extent(),
        figure_of(pc).legends[0].get_tightbbox(),
    ]
    assert apart(everything)
    assert apart([*found, *scale])
    assert inside(figure_of(pc), everything)


def test_bars_on_one_level_do_not_touch():
    ax = axes_of(plot_tied(posterior(40, sd=0.2)))
    bars = [line.get_data() for line in ax.lines if line.get_linewidth() > 2]
    assert len(bars) > 5
    for x, y in bars:
        others = [other for other, level in bars if level[0] == y[0] and other[0] > x[0]]
        assert all(other[0] > x[1] for other in others)


def test_the_first_items_and_each_category_have_panels():
    pc = plot_tied(posterior(9), max_items=4)
    assert len(axes_of(pc).texts) == 4
    assert title_of(pc) == "4 of 9 items"
    assert legend_of(pc)[0] == "the leader and items tied with it"
    u = by_category(2, 3)
    pc = plot_tied(u)
    first = [axes_of(pc, category=name).texts[0].get_text() for name in u.category.values]
    best = rank_summary(u)["mean_rank"].groupby("category", sort=False).idxmin()
    assert first == [item for _, item in best]


def test_visuals_can_be_left_out_and_panels_given():
    ax = plt.figure().add_subplot()
    visuals = {"bars": False, "stems": False, "names": False}
    plot_tied(posterior(5), plot_collection=panel_of(ax), visuals=visuals)
    assert not ax.lines
    assert not ax.texts
    assert "jointly with 0.95" in ax.get_xlabel()
    assert not figure_of(plot_tied(posterior(5), visuals={"legend": False})).legends
    with pytest.raises(ValueError, match="bar"):
        plot_tied(posterior(5), visuals={"bar": False})


def test_a_rope_ties_more():
    u = posterior(10, sd=0.2)
    wide, narrow = (axes_of(plot_tied(u, rope=rope)) for rope in (0.5, 0))
    sizes = [max(len(dots.get_offsets()) for dots in ax.collections) for ax in (wide, narrow)]
    assert sizes[0] > sizes[1]
