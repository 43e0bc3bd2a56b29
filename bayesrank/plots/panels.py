"""Panels of a `PlotCollection`, one per label of the other dims."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import product
from math import ceil, prod, sqrt
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from arviz import PlotCollection, rcParams
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.legend import Legend
from matplotlib.textpath import text_to_path

from bayesrank.results.draws import by_group, group_dims, places_of, posterior_utilities

__all__ = [
    "Panels",
    "choose_labels",
    "facets_of",
    "fill",
    "items_shown",
    "labels_of",
    "legend_above",
    "models_of",
    "selected",
    "selections",
    "short_name",
    "side_by_side",
    "text_width",
]

NAME_SIZE = 9  # size of the names of rows
MARGIN = 0.2  # inches at both sides of a legend
MARKER = 0.6  # inches of a marker in a legend, and of the space between columns
LONGEST_NAME = 48  # most characters of a name; the middle of longer names is omitted


class Panels:
    """Panels to draw on: existing ones, or a new figure with one panel per label of `facets`.

    Parameters
    ----------
    values : DataArray
        Values to draw, with the name of the variable.
    facets : sequence of str
        Dims with one panel per label.
    given : PlotCollection, optional
        Existing panels to draw on.
    options : mapping
        Passed to `PlotCollection.wrap` for a new figure, such as ``aes``.
    data : Dataset, optional
        Data for the aesthetics, such as rows; by default `values`.
    aes : mapping
        Dims of each aesthetic, as in `PlotCollection.wrap`, unless the user maps it.
    cycles : mapping
        Values of the aesthetics, in the order of the labels, unless the user gives them.
    backend : str, optional
        Backend of a new figure; by default that of ArviZ.
    names : sequence of str
        Names at the left of the panels.
    width, height, head : float
        Inches of a panel, without its names, and of the space above all panels.
    col_wrap : int
        Panels per row, unless `options` sets it.
    """

    def __init__(
        self,
        values: xr.DataArray,
        facets: Sequence[Hashable],
        given: PlotCollection | None,
        options: Mapping[str, Any],
        *,
        data: xr.Dataset | None = None,
        aes: Mapping[str, Sequence[Hashable]] | None = None,
        cycles: Mapping[str, Sequence[Any]] | None = None,
        backend: str | None = None,
        names: Sequence[str] = (),
        width: float = 1.7,
        height: float,
        head: float = 0.85,
        col_wrap: int = 3,
    ) -> None:
        self.values, self.facets, self.is_new = values, list(facets), given is None
        self.selections = selections(values, facets)
        if data is None:
            data = values.assign_coords({d: values[d].values for d in facets}).to_dataset()
        aes, cycles = dict(aes or {}), dict(cycles or {})
        if given is not None:
            self.pc = self.drawn = _fitting(given, facets, options, backend)
            if aes and not given.aes_set:  # the given collection gets no aesthetics
                self.drawn = PlotCollection(
                    data, given.viz, aes=aes, backend=given.backend, **cycles
                )
            return
        n, settings = prod(values.sizes[d] for d in facets), {"col_wrap": col_wrap, **options}
        across = min(n, settings["col_wrap"] or ceil(sqrt(n)))
        margin = max((text_width(name, NAME_SIZE) for name in names), default=0.0) + 0.5
        inches = max(7.5, margin + max(5.0, width * across)), head + height * ceil(n / across)
        backend = settings.pop("backend", backend) or rcParams["plot.backend"]
        look = {"figsize": inches, **settings.pop("figure_kwargs", {})}
        if backend == "matplotlib":
            look.setdefault("layout", "constrained")
        mapped = settings.pop("aes", {})
        aes |= mapped
        cycles = {name: values for name, values in cycles.items() if name not in mapped}
        self.pc = self.drawn = PlotCollection.wrap(
            data, cols=self.facets, backend=backend, figure_kwargs=look, aes=aes,
            **cycles | settings,
        )  # fmt: skip

    @property
    def is_matplotlib(self) -> bool:
        """Whether the backend is matplotlib, which has legends."""
        return bool(self.pc.backend == "matplotlib")

    def __iter__(self) -> Iterator[tuple[Any, bool]]:
        """Yield the target of every panel, Axes in matplotlib, and whether it has names."""
        for where in self.selections:
            # the layout of a given figure may be unknown; then every panel has names
            known = "col_index" in self.pc.viz
            first = not known or self.pc.get_viz("col_index", None, where) == 0
            yield self.pc.get_target(self.values.name, where), bool(first)

    @property
    def figure(self) -> Figure:
        """The figure of the panels."""
        figure: Figure = self.pc.viz["figure"].item()
        return figure

    def title(self, **look: Any) -> None:
        """Write the label of every panel above it."""
        labels = product(*(labels_of(self.values, d).astype(str) for d in self.facets))
        if self.is_matplotlib:
            bold: dict[str, Any] = {"fontweight": "bold", "parse_math": False, "loc": "left"}
            look = {"size": 10} | bold | look
        for one, (target, _) in zip(labels, self, strict=True):  # days without hours
            text = ", ".join(f"{d}: {x}" for d, x in zip(self.facets, one, strict=True))
            self.backend.title(short_name(text) if self.facets else "", target, **look)

    @property
    def backend(self) -> Any:
        """The module of arviz_plots that draws on these panels."""
        return import_module(f"arviz_plots.backend.{self.pc.backend}")

    def keep(self, name: str, made: object, dims: Sequence[Hashable] = ()) -> None:
        """Store an artist, or an array of artists with some dims of the values, in ``viz``."""
        held = np.array(made, dtype=object)
        if dims:
            held = held.reshape([self.values.sizes[d] for d in dims])
        self.pc.viz[name] = xr.DataArray(held, {d: self.values[d] for d in dims}, dims or None)

    def legend(self, handles: Sequence[Artist], title: str = "", ncols: int = 3) -> None:
        """Put a legend above the panels of a new figure."""
        if self.is_new and self.is_matplotlib:
            self.keep("legend", legend_above(self.figure, handles, title, ncols))


def _fitting(
    given: PlotCollection,
    facets: Sequence[Hashable],
    options: Mapping[str, Any],
    backend: str | None,
) -> PlotCollection:
    """Return the given panels; raise unless they suit the plot."""
    if options:
        raise ValueError(
            f"`plot_collection` is given together with options for a new one "
            f"({', '.join(options)}). Give only one of them."
        )
    needed = backend or given.backend
    if given.backend != needed or set(given.facet_dims) != set(facets):
        raise ValueError(
            f"`plot_collection` has the backend {given.backend!r} and panels by "
            f"{sorted(map(str, given.facet_dims))}; the plot needs {needed!r} and panels by "
            f"{sorted(map(str, facets))}. Create it with "
            f"PlotCollection.wrap(..., cols={list(facets)})."
        )
    return given


def legend_above(figure: Figure, handles: Sequence[Artist], title: str, ncols: int) -> Legend:
    """Put a legend above all panels, with at most `ncols` columns, as wide as the figure."""
    look: dict[str, Any] = {"frameon": False, "fontsize": 8.5, "title_fontsize": 10}
    room = float(figure.get_figwidth()) - MARGIN
    widest = max((text_width(str(one.get_label()), 8.5) for one in handles), default=0.0)
    ncols = max(1, min(ncols, int(room / (widest + MARKER))))
    title = fill(title, 10, room)
    look |= {"loc": "outside upper left", "alignment": "left"}
    legend = figure.legend(handles=[*handles], title=title, ncols=ncols, **look)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return legend


def text_width(text: str, size: float, weight: str = "normal") -> float:
    """Return the width of the longest line of a text in inches, in the current font."""
    font = FontProperties(size=size, weight=weight)
    lines = (text_to_path.get_text_width_height_descent(s, font, False) for s in text.split("\n"))
    return max(width for width, *_ in lines) / 72


def fill(text: str, size: float, room: float, weight: str = "normal") -> str:
    """Break a text into lines of at most `room` inches, at spaces.

    Text in a picture with live text has the font of the reader, so a tenth of the room stays free.
    """
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer, size, weight) > 0.9 * room:
            lines.append(word)
        else:
            lines[-1] = longer
    return "\n".join(lines)


def selections(values: xr.DataArray, facets: Sequence[Hashable]) -> list[dict[Hashable, Any]]:
    """Return the selection of each panel, a label for each facet."""
    labels = product(*(values[d].values for d in facets))
    return [dict(zip(facets, combination, strict=True)) for combination in labels]


def labels_of(values: xr.DataArray, dim: Hashable) -> pd.Index:
    """Return the labels along a dim, or positions if it has none; raise if a label is repeated."""
    labels = pd.Index(values[dim].values, name=dim)
    if labels.has_duplicates:
        twice = labels[labels.duplicated()][0]
        raise ValueError(f"{dim!r} has the label {twice!r} twice; rename one of them.")
    return labels


def models_of(data: Any) -> dict[Any, Any]:
    """Return results by model; the name of a single model is None."""
    return data if isinstance(data, dict) else {None: data}


def side_by_side(found: Sequence[Any], models: Sequence[Any]) -> Any:
    """Return arrays or tables with the dim "model"; a single one without a name stays as it is."""
    if models == [None]:
        return found[0]
    return xr.concat(found, pd.Index(models, name="model"), join="outer")


def facets_of(values: xr.DataArray, dim: str) -> list[Hashable]:
    """Return the dims with panels: all except chain, draw and `dim`."""
    facets = group_dims(values, dim)
    for facet in facets:
        labels_of(values, facet)
    return facets


def items_shown(
    data: Any, var_name: str, dim: str, coords: Mapping[str, Any] | None, most: int | None
) -> tuple[xr.DataArray, list[Hashable], pd.Index]:
    """Find utilities, the dims with panels, and the items to show, from top to bottom.

    Items are sorted by mean rank, averaged over the panels.
    """
    utility, wanted = selected(data, var_name, dim, coords)
    facets = facets_of(utility, dim)
    (mean_rank,) = by_group(
        lambda draws: places_of(draws).mean_rank, utility, dim, {"mean_rank": (dim,)}
    )
    mean = mean_rank.mean([d for d in mean_rank.dims if d != dim])
    best_first = labels_of(utility, dim)[np.argsort(mean.values, kind="stable")]
    return utility, facets, choose_labels(best_first, wanted, most, dim)


def selected(
    data: Any, var_name: str, dim: str, coords: Mapping[str, Any] | None
) -> tuple[xr.DataArray, Sequence[Any] | None]:
    """Find the utilities at `coords` of the panels, and the labels to show along `dim`.

    Items that are not shown stay, since ranks are among all of them.
    """
    others = {d: labels for d, labels in (coords or {}).items() if d != dim}
    utility = posterior_utilities(data, var_name, dim).rename(var_name).sel(others)
    wanted = (coords or {}).get(dim)
    return utility, None if wanted is None else list(np.atleast_1d(np.asarray(wanted, object)))


def choose_labels(
    labels: pd.Index, wanted: Sequence[Any] | None, most: int | None, unit: str = "item"
) -> pd.Index:
    """Return the labels to show, from top to bottom: all, or the ones wanted."""
    if most is not None and most < 1:
        raise ValueError(f"`max_{unit}s` is {most}; it must be 1 or more.")
    if wanted is None:
        return labels[:most]
    wanted = list(wanted)
    unknown = [label for label in wanted if label not in labels]
    if unknown:
        some = ", ".join(map(repr, labels[:5].tolist())) + (", ..." if len(labels) > 5 else "")
        raise ValueError(f"There is no {unit} {unknown[0]!r}; the {len(labels)} {unit}s are {some}")
    twice = [label for label in wanted if wanted.count(label) > 1]
    if twice or not wanted:
        problem = f"contains {twice[0]!r} twice" if twice else "is empty"
        raise ValueError(f"`coords[{unit!r}]` {problem}; name each {unit} to show once.")
    return pd.Index(wanted, dtype=labels.dtype, name=labels.name)[:most]


def short_name(name: Any, longest: int = LONGEST_NAME) -> str:
    """Shorten a name to one line of at most `longest` characters, with its beginning and end."""
    text = " ".join(str(name).split())
    if len(text) <= longest:
        return text
    kept = longest - 1
    return f"{text[: kept - kept // 3].rstrip()}…{text[-(kept // 3) :].lstrip()}"
