"""What every picture must do: names can be read, panels given are used, nothing else is changed."""

import inspect
from functools import partial

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from arviz import PlotCollection

from bayesrank.plots import (
    plot_adherence,
    plot_compare,
    plot_components,
    plot_dynamic,
    plot_places,
    plot_ranks,
    plot_wins,
)
from bayesrank.reporting.page.files import figure_png
from tests.plots.pictures import (
    LONG,
    adherences,
    apart,
    axes_of,
    boxes,
    by_category,
    compared,
    cut_off,
    figure_of,
    inside,
    names_of,
    panel_of,
    posterior,
    title_of,
)


def histories(n, names=None):
    """Draws at three times."""
    u = posterior(n, names)
    return xr.concat([u, u + 1, u], "year").assign_coords(year=[2001, 2002, 2003])


def memberships(n, names=None):
    """Rankers of two components."""
    p = np.linspace(0.1, 0.9, n)
    coords = {"ranker": names or range(n), "component": ["sweet", "sour"]}
    return xr.DataArray(np.stack([p, 1 - p], axis=1), coords, ("ranker", "component"))


def models(n, names=None):
    """Models compared, each worse by 2 than the last."""
    names = names or [f"Model {i}" for i in range(n)]
    return compared().reindex(names).assign(elpd_diff=-2.0 * np.arange(n), dse=np.arange(n))


# plot -> what draws it, and data of so many items with these names
PLOTS = {
    "ranks": (partial(plot_ranks, max_items=None), posterior),
    "places": (plot_places, posterior),
    "wins": (plot_wins, posterior),
    "adherence": (plot_adherence, adherences),
    "compare": (plot_compare, models),
    "membership": (plot_components, memberships),
    "history": (plot_dynamic, histories),
}
MATRICES = ("places", "wins")
SIDE_BY_SIDE = (*MATRICES, "membership", "history")  # one panel per model
OMITTED = {
    "places": ["places", "colour_bar"],
    "wins": ["wins"],
    "membership": ["probability", "legend"],
    "history": ["line", "band", "legend"],
}
POSTERIORS = ("ranks", *MATRICES, "adherence")  # of which panels and items may be chosen
ROWS = ("ranks", "adherence", "compare")

each_plot = pytest.mark.parametrize("name", PLOTS)
each_posterior = pytest.mark.parametrize("name", POSTERIORS)


def drawn(name, n, names=None, **options):
    plot, data = PLOTS[name]
    return plot(data(n, names), **options)


def label_boxes(pc):
    """Boxes of the scale's name, and of the legend or the colour bar."""
    ax = pc.viz["plot"].values.flat[0]
    top = pc.get_viz("colour_bar").ax if "colour_bar" in pc.viz else figure_of(pc).legends[0]
    found = [top.get_tightbbox()]
    return [*found, ax.xaxis.label.get_window_extent()] if ax.get_xlabel() else found


@pytest.mark.parametrize(
    ("name", "n", "names", "n_named"),
    [
        *((name, 1, None, 1) for name in ("ranks", "wins")),
        *((name, 30, LONG[:30], 30) for name in (*ROWS, *MATRICES)),
        ("places", 200, None, 50),
        ("adherence", 943, None, 41),
    ],
)
def test_names_do_not_overlap_and_stay_on_the_figure(name, n, names, n_named):
    pc = drawn(name, n, names)
    ax = axes_of(pc)
    rows = boxes(ax)
    assert len(rows) == n_named
    everything = [*rows, *boxes(ax, "x"), *label_boxes(pc)]
    assert apart(everything)
    assert inside(figure_of(pc), everything)
    # six points at least: what is smaller cannot be read in print
    assert min(box.height for box in rows) > 6 / 72 * ax.figure.dpi
    assert ax.bbox.width > 0.4 * ax.figure.bbox.width


@pytest.mark.parametrize("names", [None, LONG, [f"{'W' * 60}{k}" for k in range(30)]])
@pytest.mark.parametrize("n", [2, 30])
@each_plot
def test_no_text_is_cut_off(name, n, names):
    assert cut_off(figure_of(drawn(name, n, names and names[:n]))) == []


@each_plot
def test_names_are_no_mathematics_and_settings_are_left_alone(name):
    names, before = ["$5 or $10", "a_b^c", r"\alpha", "<b>&"], mpl.rcParams.copy()
    pc = drawn(name, 4, names)
    assert mpl.rcParams == before
    figure_of(pc).canvas.draw()
    labels = [*axes_of(pc).get_yticklabels(), *axes_of(pc).get_xticklabels()]
    labels += [label for legend in figure_of(pc).legends for label in legend.get_texts()]
    shown = [label for label in labels if label.get_text() in names]
    assert {label.get_text() for label in shown} == {*names}
    assert not any(label.get_parse_math() for label in shown)


@each_plot
def test_a_given_panel_is_drawn_on_and_nothing_else(name):
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
    given = panel_of(left)
    assert drawn(name, 3, plot_collection=given) is given
    assert plt.get_fignums() == [figure.number]
    assert figure.legends == []
    assert left.has_data()
    assert not right.has_data()


def test_a_new_figure_goes_to_a_file(tmp_path):
    plt.figure()
    before = len(plt.get_fignums())
    pc = drawn("ranks", 5)
    assert len(plt.get_fignums()) == before + 1
    pc.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes()[1:4] == figure_png(pc)[1:4] == b"PNG"


@each_posterior
def test_only_the_first_of_many_are_shown_and_all_are_counted(name):
    most = {"max_rankers" if name == "adherence" else "max_items": 2}
    pc = drawn(name, 3, **most)
    everyone = names_of(axes_of(drawn(name, 3)))
    shown = names_of(axes_of(pc))[:2]
    assert shown == ([everyone[0], everyone[2]] if name == "adherence" else everyone[:2])
    label = pc.get_viz("colour_bar").ax.get_xlabel() if name in MATRICES else title_of(pc)
    assert "2 of 3 " in label


@pytest.mark.parametrize("name", ["places", "adherence"])  # a matrix, and rows
def test_panels_have_names_at_the_left_only_and_nothing_overlaps(name):
    plot, data = PLOTS[name]
    pc = plot(by_category(3, 8, LONG[:8], of=data), col_wrap=2)
    figure_of(pc).canvas.draw()
    panels = pc.viz["plot"].values
    names = [boxes(ax, draw=False) for ax in panels]
    assert [len(one) for one in names] == [8, 0, 8]
    texts = [box for one in names for box in one]
    texts += [box for ax in panels for box in boxes(ax, "x", draw=False)]
    texts += [ax._left_title.get_window_extent() for ax in panels]
    assert apart(texts)
    assert inside(figure_of(pc), texts)
    titles = [ax.get_title(loc="left") for ax in panels]
    assert titles == [f"category: {label}" for label in pc.viz["plot"]["category"].values]
    given = PlotCollection.wrap(
        by_category(2, 3, of=data).rename("u").to_dataset(), cols=["category"]
    )
    assert plot(by_category(2, 3, of=data), plot_collection=given) is given


@each_plot
def test_it_follows_the_contract_of_arviz(name):
    plot, data = PLOTS[name]
    assert {"plot_collection", "backend", "visuals"} <= {*inspect.signature(plot).parameters}
    assert plot(data(3), backend="none").backend == "none"
    with pytest.raises(ValueError, match="stripes"):
        plot(data(3), visuals={"stripes": False})
    if name in SIDE_BY_SIDE:
        pc = plot({"one": data(3), "two": data(3)}, visuals={"title": {"color": "red"}})
        assert [ax.get_title(loc="left") for ax in pc.viz["plot"].values] == [
            "model: one", "model: two",
        ]  # fmt: skip
    for visual in OMITTED.get(name, []):
        pc = plot(data(3), visuals={visual: False})
        assert visual not in pc.viz


@each_posterior
def test_bad_choices_raise_and_leave_no_figure(name):
    plot, data = PLOTS[name]
    what, var_name = ("ranker", "adherence") if name == "adherence" else ("item", "utility")
    u = data(3)
    u = u.assign_coords({what: list("abc")})
    for options, message in [
        ({"coords": {what: ["x"]}}, rf"^There is no {what} 'x'; the 3 {what}s are '[abc]', "),
        ({"coords": {what: ["b", "b"]}}, rf"^`coords\['{what}'\]` contains 'b' twice; name each"),
        ({"coords": {what: []}}, rf"^`coords\['{what}'\]` is empty; name each {what} to show once"),
        ({f"max_{what}s": 0}, rf"^`max_{what}s` is 0; it must be 1 or more\.$"),
    ]:
        with pytest.raises(ValueError, match=message):
            plot(u, **options)
    for bad, message in [
        (u.where(u["draw"] > 3), r"contain NaN or infinite values\. The sampler failed"),
        (u.to_dataset(name="u"), rf"^The posterior has no variable '{var_name}'; it has \['u'\]"),
        (u.assign_coords({what: list("aab")}), rf"^'{what}' has the label 'a' twice; rename one"),
    ]:
        with pytest.raises(ValueError, match=message):
            plot(bad)
    assert plt.get_fignums() == []
