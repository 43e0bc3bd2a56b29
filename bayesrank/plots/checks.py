"""Plots of predictive checks: observed compared with predicted statistics."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from arviz import PlotCollection, rcParams
from arviz_base.validate import validate_dict_argument
from arviz_plots.plots.utils import get_visual_kwargs
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from bayesrank.plots.panels import fill, legend_above, models_of, short_name, text_width
from bayesrank.plots.rows import (
    COLOURS,
    DARK,
    LEADING,
    OTHER,
    WARNING,
    frame_rows,
    handle,
)
from bayesrank.results.checks.families import OMNIBUS
from bayesrank.results.checks.match_checks import match_checks
from bayesrank.results.checks.ranking_checks import GIVEN, ranking_checks, worst_checks

__all__ = ["plot_match_checks", "plot_ranking_checks"]

# statistic -> title and label of the axis; in the order of the panels
PANELS = {
    OMNIBUS: ("Which families of checks fail", "Distance from the mean of the predictions, in "
              "their standard deviations"),
    "Kendall distance": ("How far rankings are from the common order", "Share of pairs in the "
                         "reverse order (0 = same order, ½ = random)"),
    "outcome": ("How often the first item wins", "Share of all matches"),
    "top item": ("Which item is first", "Share of its rankings in which it is first"),
    "last item": ("Which item is last", "Share of its rankings in which it is last"),
    "points": ("Who wins how often", "Share of its matches that the item won"),
    "pair order": ("Which of two items is ahead", "Share of rankings in this order"),
    "pair": ("Who beats whom", "Share of their matches that the first won"),
    "group outcome": ("Outcomes for each judge or category", "Share of the matches"),
    "group points": ("Wins of an item for each judge or category", "Share of its matches there"),
    "block size": ("How many ties there are", "Share of the blocks of tied items; blocks per item"),
}  # fmt: skip
# what the rows of a panel are, if there are more than it shows
FIRST = {
    "top item": "most often first",
    "last item": "most often last",
    "points": "with the most wins",
    "pair order": "farthest off",
    "pair": "farthest off",
    "group outcome": "farthest off",
    "group points": "farthest off",
}
WIDE = {OMNIBUS, "Kendall distance", "outcome", "block size"}  # panels that span the figure
BY_ITEM = {"top item", "last item", "points"}
OUTCOMES = {"first": "the first wins", "second": "the second wins", "tie": "a tie"}
OUTCOMES["both bad"] = "both are bad"
VISUALS = ("twig", "mean", "point_estimate", "ticklabels", "title", "legend")
MOST = 20  # most items in their panel, without surprising items
EXTRA = 5  # most further surprising items
WIDTH = 9.0  # inches of the figure
NAME = 30  # most characters of the name of a row
ROW = 0.24  # inches of a row
WIDE_ROW = 0.36  # inches of a row of a wide panel
AROUND = 1.2  # inches for the title and the scale of a panel
LINE = 0.17  # inches of a further line of a title, note or label
TITLE, LABEL, SMALL = 10, 9, 8.5  # sizes of titles, of names and labels, and of notes
BESIDE = 0.35  # inches at the sides of the names of a panel
LEAST_ROOM = 2.0  # inches of a panel; if two do not have so much, they are not side by side


def plot_ranking_checks(
    data: Any,
    *,
    coords: Mapping[str, Any] | None = None,
    plot_collection: PlotCollection | None = None,
    backend: str | None = None,
    visuals: Mapping[str, Mapping[str, Any] | bool] | None = None,
    figure_kwargs: dict[str, Any] | None = None,
    **options: Any,
) -> PlotCollection:
    """Plot `ranking_checks`: Kendall distances, top and last items, pair orders and block sizes.

    A line is the interval of the predicted statistic, with a bar at its mean. The marker is the
    observed statistic, a coloured triangle if it lies outside the interval. If families of checks
    fail in `worst_checks`, their checks come first, in the panel "omnibus".

    At most 20 items are shown, those most often on top, and up to five other surprising items. Of
    pairs, the 20 farthest off are shown. Block sizes have a panel if the model predicts them and
    there is a tie.

    Parameters
    ----------
    data : DataTree or DataFrame
        As in `ranking_checks`, or the table that it returned. A dict of these by the name of the
        model draws the predictions of each model in one colour, side by side.
    coords : mapping, optional
        The statistics to show, such as ``{"statistic": ["top item"]}``.
    plot_collection : PlotCollection, optional
        Draw on these panels, by the dim "statistic"; by default on a new figure.
    backend : str, optional
        Backend of ArviZ, by default ``rcParams["plot.backend"]``. Only matplotlib has a legend.
    visuals : mapping, optional
        Options of the visuals twig (interval), mean, point_estimate (the observed statistic),
        ticklabels, title and legend; False omits a visual.
    figure_kwargs : dict, optional
        Passed to the figure, such as ``{"figsize": (10, 8)}`` in inches.
    **options
        Passed to `ranking_checks`; not allowed with a table.

    Returns
    -------
    PlotCollection
        One panel per statistic: ``pc.get_target("observed", {"statistic": "top item"})`` returns
        its Axes.

    Raises
    ------
    ValueError, TypeError
        As `ranking_checks`.

    See Also
    --------
    ranking_checks, plot_match_checks, worst_checks

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> rankings = br.Rankings.from_orderings([["a", "b", "c"]] * 7 + [["c", "a", "b"]] * 3)
    >>> with pm.Model(coords=rankings.coords):
    ...     utility = pm.ZeroSumNormal("utility", dims="item")
    ...     y = br.PlackettLuce("y", utility, observed=rankings)
    ...     idata = pm.sample(draws=100, tune=100, chains=2, cores=1, random_seed=1,
    ...                       progressbar=False)
    ...     _ = pm.sample_posterior_predictive(idata, extend_inferencedata=True,
    ...                                        progressbar=False)
    >>> pc = br.plot_ranking_checks(idata)
    >>> pc.viz["plot"]["statistic"].values.tolist()
    ['Kendall distance', 'top item', 'pair order']
    >>> pc.savefig("checks.png")  # doctest: +SKIP
    """
    models = models_of(data)
    tables = {name: _table(ranking_checks, x, options) for name, x in models.items()}
    return _draw(tables, coords, plot_collection, backend, visuals, figure_kwargs or {})


def plot_match_checks(
    data: Any,
    *,
    coords: Mapping[str, Any] | None = None,
    plot_collection: PlotCollection | None = None,
    backend: str | None = None,
    visuals: Mapping[str, Mapping[str, Any] | bool] | None = None,
    figure_kwargs: dict[str, Any] | None = None,
    **options: Any,
) -> PlotCollection:
    """Plot `match_checks`: outcomes, points of the items, pairs, and groups.

    The plot is like `plot_ranking_checks`. At most 20 items are shown, those with the most points.

    Parameters
    ----------
    data, coords, plot_collection, backend, visuals, figure_kwargs, **options
        As in `plot_ranking_checks`, but for `match_checks`.

    Returns
    -------
    PlotCollection
        One panel per statistic.

    See Also
    --------
    match_checks, plot_ranking_checks, worst_checks

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> pairs = br.Pairs.from_matrix([[0, 3, 4], [1, 0, 2], [0, 2, 0]], items=["a", "b", "c"])
    >>> with pm.Model(coords=pairs.coords):
    ...     utility = pm.ZeroSumNormal("utility", dims="item")
    ...     y = br.BradleyTerry("y", utility, observed=pairs)
    ...     idata = pm.sample(draws=100, tune=100, chains=2, cores=1, random_seed=1,
    ...                       progressbar=False)
    ...     _ = pm.sample_posterior_predictive(idata, extend_inferencedata=True,
    ...                                        progressbar=False)
    >>> pc = br.plot_match_checks(idata)
    >>> pc.viz["plot"]["statistic"].values.tolist()
    ['outcome', 'points', 'pair']
    """
    models = models_of(data)
    tables = {name: _table(match_checks, x, options) for name, x in models.items()}
    return _draw(tables, coords, plot_collection, backend, visuals, figure_kwargs or {})


def _table(
    checks: Callable[..., pd.DataFrame], data: xr.DataTree | pd.DataFrame, options: dict[str, Any]
) -> pd.DataFrame:
    """Return the given table, or compute it."""
    if not isinstance(data, pd.DataFrame):
        return checks(data, **options)
    if options:
        raise TypeError(
            f"A table of checks is plotted without options; got {', '.join(map(repr, options))}. "
            f"Pass them to {checks.__name__} instead."
        )
    return data


def _draw(
    tables: Mapping[Any, pd.DataFrame],
    coords: Mapping[str, Any] | None,
    given: PlotCollection | None,
    backend: str | None,
    visuals: Mapping[str, Any] | None,
    figure_kwargs: dict[str, Any],
) -> PlotCollection:
    """Draw tables of checks, one per model: wide panels, and the others two in a row."""
    visuals = validate_dict_argument(visuals, valid_keys=VISUALS)
    looks = {name: get_visual_kwargs(visuals, name) for name in VISUALS}
    given_tables, tables = tables, {k: _with_failed_families(x) for k, x in tables.items()}
    table = next(iter(tables.values()))
    known = {*table.index.get_level_values("statistic")}
    parts = {name: pd.DataFrame(table.loc[name]) for name in PANELS if name in known}
    parts = {name: part for name, part in parts.items() if _is_informative(name, part)}
    if (wanted := (coords or {}).get("statistic")) is not None:
        wanted = [wanted] if isinstance(wanted, str) else [*wanted]
        if unknown := [name for name in wanted if name not in parts]:
            raise ValueError(f"There is no statistic {unknown[0]!r}; there are {[*parts]}.")
        parts = {name: parts[name] for name in wanted}
    rows = {name: _rows(name, part) for name, part in parts.items()}
    notes = {name: _note(name, len(rows[name]), len(parts[name]), table) for name in parts}
    texts = {name: _Texts(*PANELS[name], notes[name]) for name in parts}
    pc = given or _collection(texts, rows, backend, figure_kwargs)
    if given is None and pc.backend == "matplotlib":
        _, rooms = _rooms(rows, pc.viz["figure"].item().get_figwidth())
        texts = {name: text.filled(rooms[name]) for name, text in texts.items()}
    draw = import_module(f"arviz_plots.backend.{pc.backend}")
    is_matplotlib = pc.backend == "matplotlib"
    # a single model has the colours of what is surprising
    colours = dict(zip(tables, [OTHER] if len(tables) == 1 else COLOURS, strict=False))
    for name in parts:
        target = pc.get_target("observed", {"statistic": name})
        title, axis_label, note = texts[name]
        shown = rows[name]
        for k, (model, one) in enumerate(tables.items()):
            found = pd.DataFrame(one.loc[name]).reindex(shown.index)
            shift = 0.0 if len(tables) == 1 else 0.4 * k / (len(tables) - 1) - 0.2
            _draw_rows(draw, target, found, shift, colours[model], looks, first=k == 0)
        _set_up(draw, target, shown["name"].tolist(), looks["ticklabels"])
        draw.xlabel(axis_label, target, size=LABEL)
        if looks["title"] is False:
            continue
        if not is_matplotlib:
            draw.title(f"{title} ({note})" if note else title, target, **looks["title"])
            continue
        pad = 6 + 12 * _n_lines(note) if note else 6
        style = {"size": TITLE, "fontweight": "bold", "loc": "left", "pad": pad}
        draw.title(title, target, **style | looks["title"])
        look: dict[str, Any] = {"textcoords": "offset points", "xycoords": "axes fraction"}
        look |= {"va": "bottom", "in_layout": False}  # the title makes room for the note
        target.annotate(note, (0, 1), (0, 3), fontsize=SMALL, color=DARK, **look)
        target.tick_params(labelsize=SMALL)
    if given is None and is_matplotlib and looks["legend"] is not False:
        (first, *others), message = given_tables.values(), ""
        if not others:
            message = _message(first)
        legend = legend_above(pc.viz["figure"].item(), _handles(tables, colours), message, 4)
        pc.viz["legend"] = xr.DataArray(np.array(legend, dtype=object))
    return pc


def _message(table: pd.DataFrame) -> str:
    """Say which families fail, and how many checks."""
    verdict = worst_checks(table)
    failed = verdict.families.index[verdict.families["fails"].astype(bool)]
    names = "" if verdict.ok else f"Families that fail: {', '.join(failed)}. "
    return names + verdict.message(table.attrs["ci_prob"])


def _with_failed_families(table: pd.DataFrame) -> pd.DataFrame:
    """Put the omnibus checks that fail on top, in standard deviations of their predictions.

    The statistics of families have different units, and a panel has one scale.
    """
    failed = table[(table["note"] == OMNIBUS) & table["surprising"].astype(bool)]
    if failed.empty:
        return table
    failed = failed.sort_values("p", kind="stable")
    values = failed[["observed", "low", "high", "mean"]].sub(failed["mean"], axis=0)
    failed = failed.assign(**values.div(failed["sd"].where(failed["sd"] > 0, 1.0), axis=0))
    labels = [(OMNIBUS, f"{family}: {label}", n) for family, label, n in failed.index]
    failed.index = pd.MultiIndex.from_tuples(labels, names=table.index.names)
    out = pd.concat([failed, table])
    out.attrs = table.attrs
    return out


class _Texts(NamedTuple):
    """Title of a panel, label of its axis, and a note below the title."""

    title: str
    label: str
    note: str

    def filled(self, room: float) -> "_Texts":
        """Break the texts into lines that are at most as wide as the panel."""
        return _Texts(
            fill(self.title, TITLE, room, "bold"),
            fill(self.label, LABEL, room),
            fill(self.note, SMALL, room),
        )

    @property
    def further_lines(self) -> int:
        """Count the lines after the first of each text."""
        return sum(_n_lines(text) - 1 for text in self)


def _n_lines(text: str) -> int:
    return text.count("\n") + 1


def _collection(
    texts: Mapping[str, _Texts],
    rows: dict[str, pd.DataFrame],
    backend: str | None,
    figure_kwargs: dict[str, Any],
) -> PlotCollection:
    """Create a figure with one panel per statistic; in matplotlib with room for its rows."""
    backend = backend or rcParams["plot.backend"]
    if backend != "matplotlib":
        data = xr.Dataset({"observed": ("statistic", np.zeros(len(texts)))})
        data = data.assign_coords(statistic=[*texts])
        return PlotCollection.wrap(
            data, cols=["statistic"], col_wrap=2, backend=backend, figure_kwargs=figure_kwargs
        )
    figure, axes = _panels(texts, rows, figure_kwargs)
    viz = {"figure": xr.DataArray(np.array(figure, dtype=object))}
    viz["plot"] = xr.DataArray([*axes.values()], {"statistic": [*axes]}, "statistic")
    return PlotCollection(xr.Dataset(), xr.DataTree(xr.Dataset(viz)), backend="matplotlib")


def _rooms(
    rows: Mapping[str, pd.DataFrame], width: float
) -> tuple[list[list[str]], dict[str, float]]:
    """Arrange panels in lines, two in a line if there is room; return the inches of each panel.

    All panels of a column begin at the same place, after the longest name.
    """
    names = {
        name: max((text_width(text, SMALL) for text in shown["name"]), default=0.0) + BESIDE
        for name, shown in rows.items()
    }
    lines: list[list[str]] = []
    for name in rows:
        if lines and len(lines[-1]) == 1 and not WIDE.intersection([name, *lines[-1]]):
            lines[-1].append(name)
        else:
            lines.append([name])
    left = max(names[line[0]] for line in lines)
    right = max((names[line[1]] for line in lines if len(line) > 1), default=None)
    if right is not None and (room := (width - left - right) / 2) >= LEAST_ROOM:
        wide = width - left
        rooms = {name: room if len(line) > 1 else wide for line in lines for name in line}
        return lines, rooms
    lines = [[name] for name in rows]
    return lines, dict.fromkeys(rows, max(width - max(names.values()), LEAST_ROOM / 2))


def _panels(
    texts: Mapping[str, _Texts], rows: dict[str, pd.DataFrame], figure_kwargs: dict[str, Any]
) -> tuple[Figure, dict[str, Axes]]:
    """Create a figure of matplotlib with one panel per statistic, with room for its rows."""
    lines, rooms = _rooms(rows, figure_kwargs.get("figsize", (WIDTH, 0))[0])
    inches = {
        name: (WIDE_ROW if name in WIDE else ROW) * (len(shown) + 0.2)
        for name, shown in rows.items()
    }
    heights = [
        AROUND
        + max(inches[name] + LINE * texts[name].filled(rooms[name]).further_lines for name in line)
        for line in lines
    ]
    look = {"figsize": (WIDTH, 0.9 + sum(heights)), "layout": "constrained"}
    figure = plt.figure(**look | figure_kwargs)
    found = figure.subplot_mosaic([[line[0], line[-1]] for line in lines], height_ratios=heights)
    return figure, {name: found[name] for name in texts}


def _is_informative(name: str, part: pd.DataFrame) -> bool:
    """Return False for block sizes that are given, or always one."""
    if name != "block size":
        return True
    never = (part[["observed", "low"]].iloc[0] == 1).all()
    return not never and not (part["note"] == GIVEN).all()


def _rows(name: str, part: pd.DataFrame) -> pd.DataFrame:
    """Return the rows to show of a statistic, from top to bottom, with the column name."""
    if name in BY_ITEM:
        part = part.sort_values("observed", ascending=False, kind="stable")
        rest = part.iloc[MOST:]
        part = pd.concat([part.iloc[:MOST], _farthest(rest[rest["surprising"]], EXTRA)])
    elif name in FIRST:
        part = _farthest(part, MOST)
    if name == "Kendall distance":
        spread = part.index.get_level_values("label") == "spread"
        part = part.iloc[np.argsort(spread, kind="stable")]
    names = [str(label) for label, _ in part.index]
    if name == "outcome":
        names = [OUTCOMES.get(label, label) for label in names]  # or grades
    if name == "Kendall distance":
        names = [f"{label}, {_length_name(n)}" for label, n in part.index]
    return part.assign(name=[_short_names(text) for text in names])


def _short_names(text: str) -> str:
    """Shorten a name, or both names of a pair."""
    one, sign, other = text.partition(" > ")
    if not sign:
        return short_name(text, NAME)
    return f"{short_name(one, NAME // 2 - 2)}{sign}{short_name(other, NAME // 2 - 2)}"


def _length_name(n_items: Any) -> str:
    return "all" if n_items == "all" else f"{n_items} items"


def _farthest(part: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return the rows farthest outside their intervals, or nearest to an end."""
    beyond = np.maximum(part["low"] - part["observed"], part["observed"] - part["high"])
    width = part["high"] - part["low"] + 0.01  # an interval may have no length
    return part.iloc[np.argsort(-(beyond / width).to_numpy(), kind="stable")[:most]]


def _draw_rows(
    draw: Any,
    target: Any,
    rows: pd.DataFrame,
    shift: float,
    colour: str,
    looks: Mapping[str, Any],
    *,
    first: bool,
) -> None:
    """Draw intervals and means of one model under each other, and once the observed values."""
    y = np.arange(len(rows)) + shift
    odd = rows["surprising"].eq(True).to_numpy() & (colour == OTHER)
    drawn = (rows["note"] != GIVEN).to_numpy() & rows["low"].notna().to_numpy()
    for some, tone in ((~odd, colour), (odd, WARNING)):
        _draw_lines(draw, target, rows[drawn & some], y[drawn & some], tone, looks, width=4)
    if looks["mean"] is not False and drawn.any():
        style = {"marker": "|", "size": 70, "color": DARK, "width": 1.4} | _above(draw, 3)
        draw.scatter(rows["mean"][drawn].to_numpy(), y[drawn], target, **style | looks["mean"])
    if first:
        _draw_observed(draw, target, rows["observed"].to_numpy(), np.arange(len(rows)), odd, looks)


def _draw_lines(
    draw: Any,
    target: Any,
    rows: pd.DataFrame,
    y: Any,
    colour: str,
    looks: Mapping[str, Any],
    **style: Any,
) -> None:
    """Draw the intervals of rows as one line with gaps."""
    if looks["twig"] is False or not len(rows):
        return
    nothing = np.full(len(rows), np.nan)
    x = np.column_stack([rows["low"], rows["high"], nothing]).ravel()
    if draw.__name__.endswith("matplotlib"):
        style["solid_capstyle"] = "butt"
    draw.line(x, np.repeat(y, 3), target, **{"color": colour, **style, **looks["twig"]})


def _above(draw: Any, order: int) -> dict[str, int]:
    """Return the order of drawing, which only matplotlib has."""
    return {"zorder": order} if draw.__name__.endswith("matplotlib") else {}


def _set_up(draw: Any, target: Any, names: list[str], look: Any) -> None:
    """Write the names of rows."""
    y = np.arange(len(names))
    is_matplotlib = draw.__name__.endswith("matplotlib")
    style: dict[str, Any] = {"size": 9} | ({"parse_math": False} if is_matplotlib else {})
    draw.yticks(y, [""] * len(names) if look is False else names, target, **style | (look or {}))
    draw.ylim((y.max() + 0.6, -0.6), target)
    if is_matplotlib:
        frame_rows(target, foot=True)
        target.tick_params(top=False, labeltop=False)
        target.xaxis.set_label_position("bottom")
        target.margins(x=0.04)


def _draw_observed(
    draw: Any,
    target: Any,
    x: Any,
    y: Any,
    odd: NDArray[np.bool_],
    looks: Mapping[str, Any],
) -> None:
    """Draw observed values as circles, or as triangles if they are surprising."""
    if looks["point_estimate"] is False:
        return
    for some, marker, colour, size in ((~odd, "o", LEADING, 26), (odd, "^", WARNING, 46)):
        look: dict[str, Any] = {"facecolor": "white", "edgecolor": colour} | _above(draw, 4)
        look |= {"width": 1.5, "size": size, "marker": marker}
        if some.any():
            draw.scatter(x[some], y[some], target, **look | looks["point_estimate"])


def _note(name: str, n_shown: int, n_checks: int, table: pd.DataFrame) -> str:
    """Return a note on the rows that a panel leaves out."""
    n = table.attrs["n_pairs"] if name in ("pair order", "pair") else n_checks
    if name not in FIRST or n_shown >= n:
        return ""
    if name not in BY_ITEM:
        return f"the {n_shown} of {n:,} {FIRST[name]}"
    more = f", and {n_shown - MOST} other surprising items" if n_shown > MOST else ""
    return f"the {MOST} of {n} {FIRST[name]}{more}"


def _handles(tables: Mapping[Any, pd.DataFrame], colours: Mapping[Any, str]) -> list[Line2D]:
    """Return the legend of all panels."""
    table = next(iter(tables.values()))
    handles = [handle("observed", LEADING, marker="o", mew=1.5)]
    interval = f"{100 * table.attrs['ci_prob']:g}% interval"
    if len(tables) > 1:
        return handles + [handle(f"{name}, {interval}", colours[name]) for name in tables]
    if table["surprising"].any():
        handles.append(handle("outside its interval", WARNING, marker="^", markersize=8, mew=1.5))
    return [
        *handles,
        handle(f"predicted, {interval}", OTHER),
        handle("predicted, mean", DARK, marker="|", markersize=9, mew=1.4),
    ]
