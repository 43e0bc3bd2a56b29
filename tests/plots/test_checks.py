"""The picture of predictive checks: what is drawn, named and said, at 5, 30 and 200 items."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.colors import to_hex

from bayesrank.plots.checks import PANELS, plot_match_checks, plot_ranking_checks
from bayesrank.reporting import sections
from bayesrank.results.checks.match_checks import match_checks
from bayesrank.results.checks.ranking_checks import ranking_checks, worst_checks
from bayesrank.texts import TASKS
from tests.builders import results
from tests.plots.pictures import cut_off, names_of

DIMS = ("ranking", "slot")


def tree(n_items=5, length=5, n_rankings=60, n_draws=60, outcome="weak orders", odd=0, names=None):
    """Rankings of equally distant items, `odd` of which were turned upside down."""
    rng = np.random.default_rng(0)
    utility = np.linspace(2, -2, n_items)
    item = np.array([rng.choice(n_items, length, replace=False) for _ in range(n_rankings)])
    score = utility[item] + rng.gumbel(size=(n_draws + 1, n_rankings, length))
    ranks = (-score).argsort(axis=2).argsort(axis=2) + 1
    observed = ranks[0]
    observed[:odd] = length + 1 - observed[:odd]
    names = names or [f"Item {i + 1}" for i in range(n_items)]
    return results(
        {"item": names, "y_outcome": [outcome]},
        posterior={"utility": ("item", np.tile(utility, (n_draws, 1)))},
        posterior_predictive={"y": (DIMS, ranks[1:])},
        observed_data={"y": (DIMS, observed)},
        constant_data={
            "y_item": (DIMS, item),
            "y_weight": ("ranking", np.ones(n_rankings)),
            "y_item_rankings": ("item", np.bincount(item.ravel(), minlength=n_items)),
        },
    )


def axes_of(pc, statistic):
    return pc.get_target("observed", {"statistic": statistic})


def notes_of(ax):
    return [text.get_text() for text in ax.texts]


def test_there_is_one_panel_per_statistic_with_a_row_per_check():
    pc = plot_ranking_checks(tree())
    assert pc.viz["plot"].sizes == {"statistic": 3}
    top = ranking_checks(tree()).loc["top item", "observed"].sort_values(ascending=False)
    assert names_of(axes_of(pc, "top item")) == [label for label, _ in top.index]
    distances = {*names_of(axes_of(pc, "Kendall distance"))}
    assert {"mean, all", "spread, all"} <= distances
    for statistic in ("Kendall distance", "top item", "pair order"):
        title, axis = PANELS[statistic]
        ax = axes_of(pc, statistic)
        assert ax.get_title(loc="left") == title
        assert ax.get_xlabel().startswith(axis)


def test_families_that_fail_are_drawn_first_and_agree_with_the_verdict():
    table = ranking_checks(tree(odd=30))
    verdict = worst_checks(table)
    failed = {*verdict.families.index[verdict.families["fails"]]}
    pc = plot_ranking_checks(table)
    assert pc.viz["plot"]["statistic"].values[0] == "omnibus"
    ax = axes_of(pc, "omnibus")
    assert {name.partition(": ")[0] for name in names_of(ax)} == failed != set()
    title = pc.viz["legend"].item().get_title().get_text().replace("\n", " ")
    names = ", ".join(name for name in verdict.families.index if name in failed)
    assert title == f"Families that fail: {names}. {verdict.message(0.89)}"
    # a model that fits has no such panel
    assert worst_checks(ranking_checks(tree())).ok
    assert "omnibus" not in plot_ranking_checks(tree()).viz["plot"]["statistic"].values


def test_best_worst_tasks_have_a_panel_of_last_items_and_words_of_their_own(monkeypatch):
    data = tree()
    for group in ("posterior_predictive", "observed_data"):
        ranks = data[group]["y"]
        data[group]["y"] = xr.where(ranks == 1, 1, xr.where(ranks == 5, 3, 2)).transpose(
            *ranks.dims
        )
    pc = plot_ranking_checks(data)
    last = ranking_checks(data).loc["last item", "observed"].sort_values(ascending=False)
    assert names_of(axes_of(pc, "last item")) == [label for label, _ in last.index]
    drawn = []
    monkeypatch.setattr(sections, "marked_svg", lambda plot, _: drawn.append(plot))
    part = sections.checks(data, "no column", TASKS)
    assert "tasks: the best item, the worst item, the order of pairs" in " ".join(part.paragraphs)
    title, axis = (PANELS["last item"][k].replace("last", "worst") for k in (0, 1))
    ax = axes_of(drawn[0], "last item")
    assert ax.get_title(loc="left") == title == "Which item is worst"
    assert ax.get_xlabel().startswith(axis.replace("rankings", "tasks"))


def test_lines_are_intervals_and_markers_what_was_observed():
    ax = axes_of(plot_ranking_checks(tree()), "top item")
    table = ranking_checks(tree()).loc["top item"]
    table = table.sort_values("observed", ascending=False, kind="stable")
    means, observed = ax.collections
    (line,) = ax.lines
    ends = np.reshape(line.get_xdata(), (-1, 3))[:, :2]
    np.testing.assert_allclose(ends, table[["low", "high"]])
    np.testing.assert_allclose(means.get_offsets()[:, 0], table["mean"])
    np.testing.assert_allclose(observed.get_offsets()[:, 0], table["observed"])


def test_surprising_checks_are_triangles_in_another_colour_and_come_first_among_pairs():
    data = tree(odd=8)
    pc = plot_ranking_checks(data)
    pairs = ranking_checks(data).loc["pair order"]
    odd = pairs[pairs["surprising"]]
    assert 0 < len(odd) < len(pairs)
    ax = axes_of(pc, "pair order")
    circles, triangles = ax.collections[-2:]
    assert [to_hex(c.get_edgecolor()[0]) for c in (circles, triangles)] == ["#0072b2", "#d55e00"]
    shown = triangles.get_offsets()
    np.testing.assert_array_equal(shown[:, 1], np.arange(len(shown)))
    assert len(shown) == len(odd)
    assert len(circles.get_paths()[0].vertices) != len(triangles.get_paths()[0].vertices)
    beyond = np.maximum(odd["low"] - odd["observed"], odd["observed"] - odd["high"])
    beyond /= odd["high"] - odd["low"] + 0.01
    assert names_of(ax)[0] == beyond.idxmax()[0]
    legend = [text.get_text() for text in pc.viz["legend"].item().get_texts()]
    assert legend == [
        "observed",
        "outside its interval",
        "predicted, 89% interval",
        "predicted, mean",
    ]


def test_the_title_counts_what_is_surprising_and_what_chance_would_make_so():
    data = tree(odd=30)
    table = ranking_checks(data, ci_prob=0.5)
    varies = table[(table["low"] < table["high"]) | table["surprising"]]
    varies = varies[varies["note"] != "omnibus"]
    legend = plot_ranking_checks(data, ci_prob=0.5).viz["legend"].item()
    title = legend.get_title().get_text().replace("\n", " ")
    n, out = len(varies), int(varies["surprising"].sum())
    assert title.startswith("Families that fail: ")
    assert (f" {out} of {n} checks fail: the observed value lies outside the 50% interval") in title
    assert title.endswith(f"About {n / 2:.0f} would fail by chance.")
    assert title.endswith(worst_checks(table).message(0.5))  # as the page says it


def test_block_sizes_have_a_panel_where_the_model_predicts_them_and_something_ties():
    given = tree(outcome="weak orders given their block sizes")
    for data in (given, tree()):
        assert "block size" not in plot_ranking_checks(data).viz["plot"]["statistic"].values
    tied = tree()
    tied["observed_data"]["y"][:30] = 1
    names = names_of(axes_of(plot_ranking_checks(tied), "block size"))
    assert names[0] == "1 item"
    assert names[-1] == "blocks per item, spread"


def test_the_distance_stands_first_as_wide_as_the_others_together():
    pc = plot_ranking_checks(tree(30, 5, 400))
    pc.viz["figure"].item().draw_without_rendering()
    distance, top, pairs = (
        axes_of(pc, name).get_position() for name in ("Kendall distance", "top item", "pair order")
    )
    assert distance.y0 > top.y1
    assert distance.y0 > pairs.y1
    assert distance.x1 - distance.x0 > 0.95 * (pairs.x1 - top.x0)


def test_matches_have_the_panels_of_matches():
    rng = np.random.default_rng(0)
    first, second = np.triu_indices(4, 1)
    counts = rng.multinomial(20, [0.6, 0.3, 0.1], (201, 6))
    data = results(
        {"item": "abcd"},
        posterior_predictive={"y": (("pair", "result"), counts[1:])},
        constant_data={
            "y_first": ("pair", first),
            "y_second": ("pair", second),
            "y_counts": (("pair", "result"), counts[0]),
            "y_item_matches": ("item", [60] * 4),
        },
    )
    pc = plot_match_checks(data)
    assert pc.viz["plot"]["statistic"].values.tolist() == ["outcome", "points", "pair"]
    assert names_of(axes_of(pc, "outcome")) == ["the first wins", "the second wins", "a tie"]
    table = match_checks(data)
    points = table.loc["points", "observed"].sort_values(ascending=False, kind="stable")
    assert names_of(axes_of(pc, "points")) == [label for label, _ in points.index]
    title = pc.viz["legend"].item().get_title().get_text().replace("\n", " ")
    assert title == worst_checks(table).message(0.89)
    constant = data["constant_data"].to_dataset()
    constant["y_judge"] = ("pair", [0, 1, 0, 1, 0, 1])
    constant["y_judge_matches"] = ("judge", [60, 60])
    data["constant_data"] = xr.DataTree(constant.assign_coords(judge=["ann", "ben"]))
    pc = plot_match_checks(data, by=["judge"])
    shown = ["outcome", "points", "pair", "group outcome", "group points"]
    assert pc.viz["plot"]["statistic"].values.tolist() == shown
    assert notes_of(axes_of(pc, "group points")) == [""]


@pytest.mark.parametrize("n_items", [5, 200])
def test_names_do_not_overlap_and_the_panel_says_what_it_leaves_out(n_items):
    pc = plot_ranking_checks(tree(n_items, 5, 400, odd=200), max_pairs=50)
    figure = pc.viz["figure"].item()
    figure.canvas.draw()
    for statistic in ("Kendall distance", "top item", "pair order"):
        ax = axes_of(pc, statistic)
        shown = [label for label in ax.get_yticklabels() if label.get_text()]
        boxes = sorted((label.get_window_extent() for label in shown), key=lambda box: box.y0)
        assert all(a.y1 <= b.y0 + 1 for a, b in pairwise(boxes))
        assert min(box.x0 for box in boxes) >= 0
    top = axes_of(pc, "top item")
    rows = len(names_of(top))
    if n_items == 5:
        assert rows == 5
        assert notes_of(top) == [""]
    else:
        assert 20 <= rows <= 25
        assert any(
            note.startswith(f"the 20 of {n_items} most often first") for note in notes_of(top)
        )
        notes = "".join(notes_of(axes_of(pc, "pair order")))
        assert "the 20 of " in notes
        assert "farthest off" in notes


def checked(statistics, names, n):
    """Return a table of checks with these statistics; every seventh check fails."""
    given = {
        "Kendall distance": ["mean", "spread"],
        "outcome": ["first", "second", "tie"],
        "block size": ["1 of size 1", "1 of size 2"],
    }
    pairs = [f"{one} > {other}" for one, other in pairwise(names[: n + 1])]
    given |= {"pair": pairs, "pair order": pairs}
    given["group outcome"] = given["group points"] = [f"{name}, judge {name}" for name in names[:n]]
    rows = [
        (name, label, "all", *np.linspace(0.1, 1.3, 9)[[k % 9]], 0.5, 0.3, 0.7, k % 7 == 0, "")
        for name in statistics
        for k, label in enumerate(given.get(name, names[:n]))
    ]
    columns = ["observed", "mean", "low", "high", "surprising", "note"]
    levels = ["statistic", "label", "n_items"]
    table = pd.DataFrame(rows, columns=[*levels, *columns]).set_index(levels)
    table.attrs.update(ci_prob=0.94, n_pairs=12_345)
    return table.assign(sd=0.1, p=0.5, power=np.nan)


@pytest.mark.parametrize("n", [3, 25])
@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize(
    ("plot", "statistics"),
    [
        (plot_match_checks, ["outcome", "points", "pair", "group outcome", "group points"]),
        (plot_match_checks, ["group points"]),
        (
            plot_ranking_checks,
            ["Kendall distance", "top item", "last item", "pair order", "block size"],
        ),
    ],
)
def test_no_text_is_cut_off_and_panels_are_wide_enough(plot, statistics, long, n):
    names = [f"{'A name of many words ' if long else 'i'}{k}" for k in range(n + 1)]
    pc = plot(checked(statistics, names, n))
    assert cut_off(pc.viz["figure"].item()) == []
    for statistic in statistics:
        assert axes_of(pc, statistic).bbox.width > 150  # 1.5 inches


def test_long_names_of_models_fit_into_the_legend():
    table = checked(["top item"], [f"i{k}" for k in range(9)], 8)
    models = {f"A model with a name of many words {k}": table for k in range(4)}
    assert cut_off(plot_ranking_checks(models).viz["figure"].item()) == []


def test_long_names_and_names_with_dollars_are_drawn_as_they_are(tmp_path):
    names = ["$a$ cheap", "The film with a title that goes on and on", "c", "d", "e_1"]
    pc = plot_ranking_checks(tree(names=names, odd=40))
    shown = names_of(axes_of(pc, "top item"))
    assert "$a$ cheap" in shown
    assert max(map(len, shown)) <= 30
    pc.savefig(tmp_path / "checks.png")
    assert (tmp_path / "checks.png").read_bytes().startswith(b"\x89PNG")
    pc = plot_ranking_checks(tree(), figure_kwargs={"figsize": (6, 5)})
    assert pc.viz["figure"].item().get_size_inches().tolist() == [6, 5]


def test_bad_input_raises_as_for_the_table():
    data = tree()
    del data["posterior_predictive"]
    with pytest.raises(ValueError, match="extend_inferencedata=True"):
        plot_ranking_checks(data)
    with pytest.raises(ValueError, match="no variable 'x'"):
        plot_ranking_checks(tree(), var_name="x")


def test_a_table_of_checks_is_drawn_as_it_is():
    table = ranking_checks(tree(), ci_prob=0.5)
    drawn, made = plot_ranking_checks(table), plot_ranking_checks(tree(), ci_prob=0.5)
    titles = [pc.viz["legend"].item().get_title().get_text() for pc in (drawn, made)]
    assert titles[0] == titles[1]
    with pytest.raises(TypeError, match=r"^A table of checks is plotted without options; got"):
        plot_ranking_checks(table, ci_prob=0.5)
