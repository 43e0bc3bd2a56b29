"""The picture of place probabilities: its colours are the probabilities, its names can be read."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex

from bayesrank.plots import plot_places
from bayesrank.results import place_probability, rank_summary
from tests.plots.pictures import (
    LONG,
    apart,
    axes_of,
    boxes,
    by_category,
    figure_of,
    inside,
    names_of,
    panel_of,
    posterior,
)

# Five draws; a is first in 4 and second in 1, b second in 3, first and third in 1, c the rest.
COUNTED = xr.DataArray(
    [[[3, 2, 1], [3, 2, 1], [3, 2, 1], [3, 1, 2], [2, 3, 1]]],
    dims=("chain", "draw", "item"),
    coords={"item": ["a", "b", "c"]},
)


def image_of(ax):
    (image,) = ax.images
    return image


def cells(ax):
    """Text of every cell that has one, by row and column."""
    return {
        (round(t.get_position()[1]), round(t.get_position()[0])): t.get_text() for t in ax.texts
    }


def bar_of(pc):
    return pc.get_viz("colour_bar").ax


def test_cells_are_counted_shares_best_on_top_and_blank_where_there_is_no_draw():
    ax = axes_of(plot_places(COUNTED))
    assert names_of(ax) == ["a", "b", "c"]
    values = image_of(ax).get_array()
    assert values.filled(-1).tolist() == [[0.8, 0.2, -1], [0.2, 0.6, 0.2], [-1, 0.2, 0.8]]
    # rows by the place of their name, columns by the place
    assert cells(ax) == {
        (0, 1): "0.80",
        (0, 2): "0.20",
        (1, 1): "0.20",
        (1, 2): "0.60",
        (1, 3): "0.20",
        (2, 2): "0.20",
        (2, 3): "0.80",
    }
    assert image_of(ax).get_extent() == [0.5, 3.5, 2.5, -0.5]


def test_the_scale_is_linear_from_nothing_to_a_round_number_and_says_of_what():
    pc = plot_places(COUNTED)
    image = image_of(axes_of(pc))
    assert (image.norm.vmin, image.norm.vmax) == (0, 0.8)
    assert bar_of(pc).get_xlabel() == "Probability of the place (blank: in no draw)"
    assert axes_of(pc).get_xlabel() == "Place (1 = best)"


def test_blank_is_white_and_the_more_probable_the_darker():
    image = image_of(axes_of(plot_places(COUNTED)))
    colours = image.to_rgba(np.linspace(0, 0.8, 50))
    assert (np.diff(colours[:, :3] @ [0.2126, 0.7152, 0.0722]) < 0).all()
    blank = image.to_rgba(np.ma.masked_all(1))[0]
    assert blank[3] == 0 or to_hex(blank) == "#ffffff"


def test_numbers_are_rounded_but_never_to_what_they_are_not():
    draws = np.tile([2.0, 1.0], (1, 1000, 1))
    draws[0, 0] = [1.0, 2.0]
    u = xr.DataArray(draws, dims=("chain", "draw", "item"), coords={"item": ["a", "b"]})
    assert set(cells(axes_of(plot_places(u))).values()) == {">.99", "<.01"}
    assert cells(axes_of(plot_places(u.isel(draw=slice(1, None))))) == {(0, 1): "1", (1, 2): "1"}


def test_numbers_are_dark_on_light_and_light_on_dark():
    ax = axes_of(plot_places(COUNTED))
    colours = {text.get_text(): text.get_color() for text in ax.texts}
    assert colours == {"0.80": "white", "0.60": "white", "0.20": "black"}


@pytest.mark.parametrize(("n_items", "numbered"), [(15, True), (16, False)])
def test_up_to_fifteen_items_have_numbers(n_items, numbered):
    ax = axes_of(plot_places(posterior(n_items)))
    assert bool(ax.texts) is numbered
    if numbered:
        assert apart([text.get_window_extent() for text in ax.texts])


@pytest.mark.parametrize(
    ("n_items", "names"), [(1, None), (5, None), (30, None), (200, None), (30, LONG[:30])]
)
def test_names_do_not_overlap_and_stay_on_the_figure(n_items, names):
    pc = plot_places(posterior(n_items, names))
    ax = axes_of(pc)
    rows = boxes(ax)
    assert len(rows) == {200: 50}.get(n_items, n_items)
    assert apart(rows)
    assert apart(boxes(ax, "x"))
    head = [ax.xaxis.label.get_window_extent(), bar_of(pc).get_tightbbox()]
    assert apart([*boxes(ax, "x"), *head])
    assert inside(figure_of(pc), [*rows, *boxes(ax, "x"), *head])


def test_where_not_all_have_names_the_named_are_beside_their_row_and_the_picture_says_so():
    u = posterior(200)
    order = rank_summary(u).index.tolist()
    pc = plot_places(u)
    ax = axes_of(pc)
    assert ax.get_yticks().tolist() == list(range(0, 200, 4))
    assert names_of(ax) == order[::4]
    assert bar_of(pc).get_xlabel().endswith("\none in 4 is named")
    expected = place_probability(u).sel(item=order).values
    np.testing.assert_allclose(image_of(ax).get_array().filled(0), expected)


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


def test_only_the_first_of_many_are_shown_with_the_places_they_can_have():
    u = posterior(30, sd=0.05)
    pc = plot_places(u, max_items=3)
    ax = axes_of(pc)
    assert names_of(ax) == ["Item 1", "Item 2", "Item 3"]
    assert bar_of(pc).get_xlabel().endswith("\n3 of 30 items")
    p = place_probability(u).sel(item=["Item 1", "Item 2", "Item 3"])
    last = int(p["place"][(p > 0).any("item")].max())
    assert last < 10
    assert image_of(ax).get_array().shape == (3, last)


def test_chosen_items_keep_their_order_and_their_places_among_all():
    u = posterior(30)
    ax = axes_of(plot_places(u, items=["Item 20", "Item 3"]))
    assert names_of(ax) == ["Item 20", "Item 3"]
    expected = place_probability(u).sel(item=["Item 20", "Item 3"]).values
    shown = image_of(ax).get_array().filled(0)
    np.testing.assert_allclose(shown, expected[:, : shown.shape[1]])
    assert not expected[:, shown.shape[1] :].any()


@pytest.mark.parametrize("n_groups", [2, 6])
def test_every_label_of_a_further_dim_has_a_panel_on_the_same_scale(n_groups):
    u = by_category(n_groups, 5)
    pc = plot_places(u)
    order = rank_summary(u)["mean_rank"].groupby("item").mean().sort_values(kind="stable").index
    scales = set()
    for label in u["category"].values:
        ax = axes_of(pc, category=label)
        expected = place_probability(u).sel(category=label, item=order).values
        np.testing.assert_allclose(image_of(ax).get_array().filled(0), expected)
        scales.add(image_of(ax).norm.vmax)
        assert ax.get_title(loc="left") == f"category: {label}"
    assert len(scales) == 1
    assert len(figure_of(pc).axes) == n_groups + 1


def test_panels_have_names_at_the_left_only_and_nothing_overlaps():
    pc = plot_places(by_category(6, 8))
    figure_of(pc).canvas.draw()
    panels = pc.viz["plot"].values
    names = [boxes(ax, draw=False) for ax in panels]
    assert [len(one) for one in names] == [8, 0] * 3
    texts = [ax._left_title.get_window_extent() for ax in panels]
    texts += [ax.xaxis.label.get_window_extent() for ax in panels]
    texts += [box for one in names for box in one]
    texts += [box for ax in panels for box in boxes(ax, "x", draw=False)]
    assert apart(texts)
    assert inside(figure_of(pc), texts)


@pytest.mark.parametrize("name", ["$5 or $10", "a_b^c", r"\alpha"])
def test_names_are_no_mathematics(name):
    ax = axes_of(plot_places(posterior(2, [name, "other"])))
    ax.figure.canvas.draw()
    assert name in names_of(ax)
    assert not any(label.get_parse_math() for label in ax.get_yticklabels())


def test_a_given_panel_is_drawn_on():
    figure, (left, right) = plt.subplots(1, 2, layout="constrained")
    given = panel_of(left)
    assert plot_places(COUNTED, plot_collection=given) is given
    assert left.images
    assert not right.images
    assert plt.get_fignums() == [figure.number]


def test_another_variable_and_dim_may_be_meant():
    data = COUNTED.rename(item="player").to_dataset(name="skill")
    ax = axes_of(plot_places(data, "skill", dim="player"))
    assert names_of(ax) == ["a", "b", "c"]


def test_bad_choices_raise_and_leave_no_figure():
    with pytest.raises(ValueError, match=r"^There is no item 'x'; the 3 items are 'a', 'b', 'c'$"):
        plot_places(COUNTED, items=["x"])
    with pytest.raises(ValueError, match=r"^`max_items` is 0; it must be 1 or more\.$"):
        plot_places(COUNTED, max_items=0)
    with pytest.raises(ValueError, match=r"^The posterior has no variable 'utility'; it has "):
        plot_places(COUNTED.to_dataset(name="worth"))
    with pytest.raises(ValueError, match=r"hold NaN or infinite values: the sampler has failed"):
        plot_places(COUNTED.where(COUNTED["draw"] > 1))
    assert plt.get_fignums() == []


def test_settings_of_matplotlib_are_left_alone():
    before = mpl.rcParams.copy()
    figure_of(plot_places(COUNTED)).canvas.draw()
    assert mpl.rcParams == before
