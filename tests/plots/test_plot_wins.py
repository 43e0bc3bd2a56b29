"""The picture of win probabilities: row beats column, in colours that every eye tells apart."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex

from bayesrank.plots import plot_wins
from bayesrank.results import rank_summary, win_probability
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

# Four draws; a beats b in three, c in all; b beats c in three.
COUNTED = xr.DataArray(
    [[[3, 2, 1], [3, 2, 1], [3, 1, 2], [2, 3, 1]]],
    dims=("chain", "draw", "item"),
    coords={"item": ["a", "b", "c"]},
)


def image_of(ax):
    (image,) = ax.images
    return image


def test_row_beats_column_and_nothing_is_set_against_itself():
    ax = axes_of(plot_wins(COUNTED))
    assert names_of(ax) == names_of(ax, "x") == ["a", "b", "c"]
    values = image_of(ax).get_array().filled(-1)
    assert values.tolist() == [[-1, 0.75, 1], [0.25, -1, 0.75], [0, 0.25, -1]]
    found = {t.get_position(): t.get_text() for t in ax.texts}
    assert found == {
        (1, 0): "0.75",
        (2, 0): "1",
        (0, 1): "0.25",
        (2, 1): "0.75",
        (0, 2): "0",
        (1, 2): "0.25",
    }


def test_one_half_is_white_and_either_side_has_a_hue_of_its_own():
    image = image_of(axes_of(plot_wins(COUNTED)))
    assert (image.norm.vmin, image.norm.vmax) == (0, 1)
    low, middle, high = image.to_rgba(np.array([0.2, 0.5, 0.8]))[:, :3]
    assert middle.min() > 0.95
    assert low[0] > low[2] + 0.3  # orange: red over blue
    assert high[2] > high[0] + 0.1  # purple: blue over red
    assert to_hex(image.cmap.get_bad()) == "#e4e4e4"


def test_the_scale_says_which_probability():
    label = plot_wins(COUNTED).get_viz("colour_bar").ax.get_xlabel()
    assert label == "Probability that the row is better than the column"
    pc = plot_wins(COUNTED, of="match")
    label = pc.get_viz("colour_bar").ax.get_xlabel()
    assert label == "Probability that the row wins the next match that is decided"
    expected = win_probability(COUNTED, of="match").values
    off = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose(image_of(axes_of(pc)).get_array()[off], expected[off])


@pytest.mark.parametrize(
    ("n_items", "names"), [(1, None), (5, None), (30, None), (200, None), (30, LONG[:30])]
)
def test_names_do_not_overlap_and_stay_on_the_figure(n_items, names):
    pc = plot_wins(posterior(n_items, names))
    ax = axes_of(pc)
    rows, columns = boxes(ax), boxes(ax, "x")
    assert len(rows) == len(columns) == {200: 50}.get(n_items, n_items)
    bar = pc.get_viz("colour_bar").ax.get_tightbbox()
    assert apart([*rows, *columns, bar])
    assert inside(figure_of(pc), [*rows, *columns, bar])
    assert min(box.height for box in rows) > 6 / 72 * ax.figure.dpi


def test_where_not_all_have_names_the_picture_says_so():
    pc = plot_wins(posterior(200))
    order = rank_summary(posterior(200)).index.tolist()
    assert names_of(axes_of(pc)) == names_of(axes_of(pc), "x") == order[::4]
    assert pc.get_viz("colour_bar").ax.get_xlabel().endswith("\none in 4 is named")


@pytest.mark.parametrize(("n_items", "numbered"), [(15, True), (16, False)])
def test_up_to_fifteen_items_have_numbers(n_items, numbered):
    ax = axes_of(plot_wins(posterior(n_items)))
    assert len(ax.texts) == (n_items * (n_items - 1) if numbered else 0)
    if numbered:
        assert apart([text.get_window_extent() for text in ax.texts])


def test_numbers_that_would_not_fit_into_narrow_cells_are_left_out():
    pc = plot_wins(posterior(12), figure_kwargs={"figsize": (3, 4)})
    assert not axes_of(pc).texts


def test_upright_names_are_shorter():
    ax = axes_of(plot_wins(posterior(3, LONG[:3])))
    assert all(len(name) == 48 for name in names_of(ax))
    assert names_of(ax, "x")[0] == "The film number…(1900)"
    assert all(label.get_rotation() == 90 for label in ax.get_xticklabels())


def test_the_first_of_many_are_shown_in_the_order_among_all():
    u = posterior(30)
    pc = plot_wins(u, max_items=3)
    assert names_of(axes_of(pc)) == rank_summary(u).index[:3].tolist()
    assert pc.get_viz("colour_bar").ax.get_xlabel().endswith("\n3 of 30 items")
    chosen = axes_of(plot_wins(u, items=["Item 20", "Item 3"]))
    assert names_of(chosen) == names_of(chosen, "x") == ["Item 20", "Item 3"]
    expected = float(win_probability(u).sel(item="Item 20", item_other="Item 3"))
    assert image_of(chosen).get_array()[0, 1] == expected


@pytest.mark.parametrize("n_groups", [2, 6])
def test_every_label_of_a_further_dim_has_a_panel(n_groups):
    u = by_category(n_groups, 5)
    pc = plot_wins(u)
    order = rank_summary(u)["mean_rank"].groupby("item").mean().sort_values(kind="stable").index
    off = ~np.eye(5, dtype=bool)
    figure_of(pc).canvas.draw()
    texts = []
    for label in u["category"].values:
        ax = axes_of(pc, category=label)
        expected = win_probability(u.sel(category=label)).sel(item=order, item_other=order).values
        np.testing.assert_allclose(image_of(ax).get_array()[off], expected[off])
        assert ax.get_title(loc="left") == f"category: {label}"
        texts += [*boxes(ax, draw=False), *boxes(ax, "x", draw=False)]
        texts += [ax._left_title.get_window_extent()]
    assert apart(texts)
    assert inside(figure_of(pc), texts)


@pytest.mark.parametrize("name", ["$5 or $10", "a_b^c", r"\alpha"])
def test_names_are_no_mathematics(name):
    ax = axes_of(plot_wins(posterior(2, [name, "other"])))
    ax.figure.canvas.draw()
    assert name in names_of(ax)
    assert name in names_of(ax, "x")
    labels = [*ax.get_yticklabels(), *ax.get_xticklabels()]
    assert not any(label.get_parse_math() for label in labels)


def test_a_given_panel_is_drawn_on():
    figure, (left, right) = plt.subplots(1, 2, layout="constrained")
    given = panel_of(left)
    assert plot_wins(COUNTED, plot_collection=given) is given
    assert left.images
    assert not right.images
    assert plt.get_fignums() == [figure.number]


def test_bad_choices_raise_and_leave_no_figure():
    with pytest.raises(ValueError, match=r"^`of` is 'set'; it is one of 'utility', 'match'\.$"):
        plot_wins(COUNTED, of="set")
    with pytest.raises(ValueError, match=r"^There is no item 'x'; the 3 items are 'a', 'b', 'c'$"):
        plot_wins(COUNTED, items=["x"])
    with pytest.raises(ValueError, match=r"hold NaN or infinite values: the sampler has failed"):
        plot_wins(COUNTED.where(COUNTED["draw"] > 1))
    assert plt.get_fignums() == []
