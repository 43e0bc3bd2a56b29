"""Panels: the `PlotCollection` that a picture is drawn on, one panel per label of further dims."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import product
from math import ceil, prod, sqrt
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from arviz import PlotCollection
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesrank.results import rank_draws
from bayesrank.results.draws import group_dims

__all__ = [
    "best_first",
    "by_panel",
    "chosen",
    "each_panel",
    "facets_of",
    "figure_of",
    "keep",
    "labels_of",
    "make_panels",
    "selections",
    "short_name",
    "title_panels",
]

LONGEST_NAME = 48  # characters; the middle of longer ones is left out


def labels_of(values: xr.DataArray, dim: Hashable) -> pd.Index:
    """Labels along a dim, or positions where it has none; each must be there once."""
    labels = pd.Index(values[dim].values, name=dim)
    if labels.has_duplicates:
        twice = labels[labels.duplicated()][0]
        raise ValueError(f"{dim!r} has the label {twice!r} twice; rename one, or they are one.")
    return labels


def facets_of(values: xr.DataArray, dim: str) -> list[Hashable]:
    """Dims that have panels: those beside chain, draw and `dim`."""
    facets = group_dims(values, dim)
    for facet in facets:
        labels_of(values, facet)
    return facets


def best_first(utility: xr.DataArray, dim: str) -> pd.Index:
    """Labels by mean rank, the same for all panels: their mean ranks are averaged."""
    mean = rank_draws(utility, dim=dim).mean([d for d in utility.dims if d != dim])
    return labels_of(utility, dim)[np.argsort(mean.values, kind="stable")]


def chosen(
    labels: pd.Index, wanted: Sequence[Any] | None, most: int | None, what: str = "item"
) -> pd.Index:
    """Labels to show, from top to bottom: all, or those wanted, of which each must exist once."""
    if most is not None and most < 1:
        raise ValueError(f"`max_{what}s` is {most}; it must be 1 or more.")
    if wanted is None:
        return labels[:most]
    wanted = list(wanted)
    unknown = [label for label in wanted if label not in labels]
    if unknown:
        some = ", ".join(map(repr, labels[:5].tolist())) + (", ..." if len(labels) > 5 else "")
        raise ValueError(f"There is no {what} {unknown[0]!r}; the {len(labels)} {what}s are {some}")
    twice = [label for label in wanted if wanted.count(label) > 1]
    if twice or not wanted:
        which = f"{twice[0]!r} twice" if twice else "no label"
        raise ValueError(f"`{what}s` holds {which}; give each {what} to show once.")
    return pd.Index(wanted, dtype=labels.dtype, name=labels.name)[:most]


def short_name(name: Any, longest: int = LONGEST_NAME) -> str:
    """One line of at most `longest` characters, beginning and end kept."""
    text = " ".join(str(name).split())
    if len(text) <= longest:
        return text
    kept = longest - 1
    return f"{text[: kept - kept // 3].rstrip()}…{text[-(kept // 3) :].lstrip()}"


def make_panels(
    values: xr.DataArray,
    facets: Sequence[Hashable],
    given: PlotCollection | None,
    size: Callable[[int, int], tuple[float, float]],
    pc_kwargs: Mapping[str, Any],
    col_wrap: int = 3,
) -> PlotCollection:
    """Panels to draw on: those given, or a new figure with one panel per label of `facets`.

    `size` says how many inches so many rows and columns of panels need.
    """
    if given is not None:
        if pc_kwargs:
            raise ValueError(
                f"Give `plot_collection` or what makes one ({', '.join(pc_kwargs)}), not both."
            )
        if given.backend != "matplotlib" or set(given.facet_dims) != set(facets):
            raise ValueError(
                f"`plot_collection` has the backend {given.backend!r} and panels by "
                f"{sorted(map(str, given.facet_dims))}; the picture needs 'matplotlib' and panels "
                f"by {sorted(map(str, facets))}, as PlotCollection.wrap(..., cols={list(facets)}) "
                "makes them."
            )
        return given
    settings = dict(pc_kwargs)
    backend = settings.pop("backend", "matplotlib")
    if backend != "matplotlib":
        raise ValueError(f"`backend` is {backend!r}; the pictures are drawn with 'matplotlib'.")
    n = prod(values.sizes[d] for d in facets)
    across = min(n, settings.setdefault("col_wrap", col_wrap) or ceil(sqrt(n)))
    look = {"figsize": size(ceil(n / across), across), "layout": "constrained"}
    labelled = values.assign_coords({d: values[d].values for d in facets})
    return PlotCollection.wrap(
        labelled.to_dataset(),
        cols=list(facets),
        backend=backend,
        figure_kwargs=look | dict(settings.pop("figure_kwargs", {})),
        **settings,
    )


def figure_of(pc: PlotCollection) -> Figure:
    """Figure that the panels are on."""
    figure: Figure = pc.viz["figure"].item()
    return figure


def selections(values: xr.DataArray, facets: Sequence[Hashable]) -> list[dict[Hashable, Any]]:
    """List what each panel shows."""
    labels = product(*(values[d].values for d in facets))
    return [dict(zip(facets, one, strict=True)) for one in labels]


def each_panel(
    pc: PlotCollection, values: xr.DataArray, facets: Sequence[Hashable]
) -> Iterator[tuple[Axes, bool]]:
    """Axes of every panel, and whether they are in the first column."""
    for where in selections(values, facets):
        # of a figure made elsewhere nothing is known: names stand beside every panel
        first = "col_index" not in pc.viz or pc.get_viz("col_index", None, where) == 0
        yield pc.get_target(values.name, where), bool(first)


def by_panel(table: pd.DataFrame, values: xr.DataArray, dims: Sequence[Hashable]) -> xr.Dataset:
    """Columns of a table over these dims as variables, in the order of the labels of `values`."""
    return table.to_xarray().sel({d: values[d].values for d in dims})


def title_panels(pc: PlotCollection, values: xr.DataArray, facets: Sequence[Hashable]) -> None:
    """Write over every panel which label it is of."""
    if not facets:
        return
    labels = product(*(labels_of(values, d).astype(str) for d in facets))  # days without hours
    for one, (ax, _) in zip(labels, each_panel(pc, values, facets), strict=True):
        text = short_name(", ".join(f"{d}: {x}" for d, x in zip(facets, one, strict=True)))
        ax.set_title(text, fontsize=10, fontweight="bold", loc="left", parse_math=False)


def keep(pc: PlotCollection, name: str, made: object) -> None:
    """Let a legend or a colour bar be found in ``viz``."""
    pc.viz[name] = xr.DataArray(np.array(made, dtype=object))
