"""The pictures of places and wins: colours are the probabilities, and what they mean is said."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex

from bayesrank.plots import plot_places, plot_wins
from bayesrank.results import place_probability, rank_summary, win_probability
from tests.plots.pictures import (
    LONG,
    apart,
    axes_of,
    by_category,
    cells,
    figure_of,
    image_of,
    names_of,
    posterior,
)


def tree_of(*draws):
    """A posterior of these draws."""
    u = np.array([draws], dtype=float)
    return xr.DataArray(u, {"item": list("abc"[: u.shape[2]])}, ("chain", "draw", "item"))


# a is first in 4 of 5 draws and second in 1, b second in 3, first and third in 1, c the rest
PLACED = tree_of([3, 2, 1], [3, 2, 1], [3, 2, 1], [3, 1, 2], [2, 3, 1])
# a beats b in three of 4 draws, c in all; b beats c in three
WON = tree_of([3, 2, 1], [3, 2, 1], [3, 1, 2], [2, 3, 1])

both = pytest.mark.parametrize("plot", [plot_places, plot_wins])


def bar_of(pc):
    return pc.get_viz("colour_bar").ax


def order_of(u):
    """Items by their mean rank over the groups."""
    mean = rank_summary(u)["mean_rank"].groupby("item").mean()
    return mean.sort_values(kind="stable").index.tolist()


# Both


@both
def test_if_only_some_items_are_named_names_stand_at_their_rows(plot):
    u = posterior(200)
    order = rank_summary(u).index.tolist()
    pc = plot(u)
    ax = axes_of(pc)
    assert ax.get_yticks().tolist() == list(range(0, 200, 4))
    assert names_of(ax) == order[::4]
    assert bar_of(pc).get_xlabel().endswith("\none in 4 has a name")
    if plot is plot_wins:
        assert ax.get_xticks().tolist() == list(range(1, 201, 4))
        assert names_of(ax, "x") == order[::4]
    else:
        expected = place_probability(u).sel(item=order).values
        np.testing.assert_allclose(image_of(ax).get_array().filled(0), expected)


@both
@pytest.mark.parametrize(("n_items", "numbered"), [(15, True), (16, False)])
def test_up_to_fifteen_items_have_numbers(plot, n_items, numbered):
    ax = axes_of(plot(posterior(n_items)))
    assert bool(ax.texts) is numbered
    if numbered:
        assert apart([text.get_window_extent() for text in ax.texts])


@both
def test_every_label_of_a_further_dim_has_a_panel_on_the_same_scale(plot):
    u = by_category(6, 5)
    pc, order = plot(u), order_of(u)
    scales = set()
    for label in u["category"].values:
        image = image_of(axes_of(pc, category=label))
        if plot is plot_places:
            expected = place_probability(u).sel(category=label, item=order)
        else:
            expected = win_probability(u.sel(category=label)).sel(item=order, item_other=order)
            expected = expected.where(~np.eye(5, dtype=bool))
        np.testing.assert_allclose(image.get_array().filled(0), expected.fillna(0))
        scales.add((image.norm.vmin, image.norm.vmax))
    assert len(scales) == 1
    assert len(figure_of(pc).axes) == 7


def test_numbers_that_would_not_fit_into_narrow_cells_are_left_out():
    assert not axes_of(plot_wins(posterior(12), figure_kwargs={"figsize": (3, 4)})).texts


# Places


def test_cells_are_counted_shares_best_on_top_and_blank_where_there_is_no_draw():
    ax = axes_of(plot_places(PLACED))
    assert names_of(ax) == ["a", "b", "c"]
    values = image_of(ax).get_array()
    assert values.filled(-1).tolist() == [[0.8, 0.2, -1], [0.2, 0.6, 0.2], [-1, 0.2, 0.8]]
    # rows by the place of their name, columns by the place
    assert cells(ax) == {
        (0, 1): "0.80", (0, 2): "0.20", (1, 1): "0.20", (1, 2): "0.60", (1, 3): "0.20",
        (2, 2): "0.20", (2, 3): "0.80",
    }  # fmt: skip
    assert image_of(ax).get_extent() == [0.5, 3.5, 2.5, -0.5]


def test_the_scale_is_linear_from_nothing_to_a_round_number_and_says_of_what():
    pc = plot_places(PLACED)
    image = image_of(axes_of(pc))
    assert (image.norm.vmin, image.norm.vmax) == (0, 0.8)
    assert bar_of(pc).get_xlabel() == "Probability of the rank (blank: in no draw)"
    assert axes_of(pc).get_xlabel() == "Rank (1 = best)"


def test_blank_is_white_and_the_more_probable_the_darker_and_numbers_can_be_read():
    ax = axes_of(plot_places(PLACED))
    image = image_of(ax)
    colours = image.to_rgba(np.linspace(0, 0.8, 50))
    assert (np.diff(colours[:, :3] @ [0.2126, 0.7152, 0.0722]) < 0).all()
    blank = image.to_rgba(np.ma.masked_all(1))[0]
    assert blank[3] == 0 or to_hex(blank) == "#ffffff"
    found = {text.get_text(): text.get_color() for text in ax.texts}
    assert found == {"0.80": "white", "0.60": "white", "0.20": "black"}


def test_numbers_are_rounded_but_never_to_what_they_are_not():
    draws = np.tile([2.0, 1.0], (1000, 1))
    draws[0] = [1.0, 2.0]
    assert set(cells(axes_of(plot_places(tree_of(*draws)))).values()) == {">.99", "<.01"}
    assert cells(axes_of(plot_places(tree_of(*draws[1:])))) == {(0, 1): "1", (1, 2): "1"}


def test_of_many_the_colours_end_where_few_rows_exceed_them_and_the_bar_says_so():
    u = posterior(30)
    pc = plot_places(u)
    largest = place_probability(u).max("place")
    end = image_of(axes_of(pc)).norm.vmax
    assert 0 < (largest > end).sum() <= 3
    assert pc.get_viz("colour_bar").extend == "max"
    few = plot_places(posterior(5))
    assert image_of(axes_of(few)).norm.vmax >= place_probability(posterior(5)).max()
    assert few.get_viz("colour_bar").extend == "neither"


def test_only_places_that_those_shown_can_have_are_shown():
    u = posterior(30, sd=0.05)
    p = place_probability(u).sel(item=["Item 1", "Item 2", "Item 3"])
    last = int(p["place"][(p > 0).any("item")].max())
    assert last < 10
    assert image_of(axes_of(plot_places(u, max_items=3))).get_array().shape == (3, last)


def test_chosen_items_keep_their_order_and_their_places_among_all():
    u = posterior(30)
    ax = axes_of(plot_places(u, coords={"item": ["Item 20", "Item 3"]}))
    assert names_of(ax) == ["Item 20", "Item 3"]
    expected = place_probability(u).sel(item=["Item 20", "Item 3"]).values
    shown = image_of(ax).get_array().filled(0)
    np.testing.assert_allclose(shown, expected[:, : shown.shape[1]])
    assert not expected[:, shown.shape[1] :].any()


def test_another_variable_and_dim_may_be_meant():
    data = PLACED.rename(item="player").to_dataset(name="skill")
    assert names_of(axes_of(plot_places(data, "skill", dim="player"))) == ["a", "b", "c"]


# Wins


def test_row_beats_column_and_nothing_is_set_against_itself():
    ax = axes_of(plot_wins(WON))
    assert names_of(ax) == names_of(ax, "x") == ["a", "b", "c"]
    values = image_of(ax).get_array().filled(-1)
    assert values.tolist() == [[-1, 0.75, 1], [0.25, -1, 0.75], [0, 0.25, -1]]
    assert cells(ax) == {
        (0, 2): "0.75", (0, 3): "1", (1, 1): "0.25", (1, 3): "0.75", (2, 1): "0", (2, 2): "0.25"
    }  # fmt: skip


def test_one_half_is_white_and_either_side_has_a_hue_of_its_own():
    image = image_of(axes_of(plot_wins(WON)))
    assert (image.norm.vmin, image.norm.vmax) == (0, 1)
    low, middle, high = image.to_rgba(np.array([0.2, 0.5, 0.8]))[:, :3]
    assert middle.min() > 0.95
    assert low[0] > low[2] + 0.3  # orange: red over blue
    assert high[2] > high[0] + 0.1  # purple: blue over red
    assert to_hex(image.cmap.get_bad()) == "#e4e4e4"


def test_the_scale_says_which_probability():
    assert bar_of(plot_wins(WON)).get_xlabel() == (
        "Probability that the row is better than the column"
    )


def test_upright_names_are_shorter():
    ax = axes_of(plot_wins(posterior(3, LONG[:3])))
    assert all(len(name) == 48 for name in names_of(ax))
    assert names_of(ax, "x")[0] == "The film number…(1900)"
    assert all(label.get_rotation() == 90 for label in ax.get_xticklabels())


def test_chosen_items_stand_in_both_axes():
    u = posterior(30)
    chosen = axes_of(plot_wins(u, coords={"item": ["Item 20", "Item 3"]}))
    assert names_of(chosen) == names_of(chosen, "x") == ["Item 20", "Item 3"]
    expected = float(win_probability(u).sel(item="Item 20", item_other="Item 3"))
    assert image_of(chosen).get_array()[0, 1] == expected
