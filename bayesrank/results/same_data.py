"""Whether two models were fitted to the same data, in whatever order they stand.

Rankings and pairs are matched by their labels, items by theirs, and the items of a block by
nothing but that they are in it.
"""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesrank.schema import ITEM, ITEM_CODES, NET, RANKS, TURNS, Kept

__all__ = ["check_same_data", "order_like", "shown"]

SHOWN = 3  # labels in a sentence

Ints = NDArray[np.intp]


def order_like(
    one: str, labels: NDArray[Any], other: str, other_labels: NDArray[Any], dim: str
) -> Ints:
    """Find where the labels of one model stand in another.

    Parameters
    ----------
    one, other : str
        Names of the models.
    labels, other_labels : array
        Of what they describe. A label that stands there twice is matched in order.
    dim : str
        What that is, such as ranking.

    Returns
    -------
    array of int
        Positions, as many as there are labels.

    Raises
    ------
    ValueError
        If one of them has what the other lacks.
    """
    mine, theirs = _numbered(labels), _numbered(other_labels)
    order = theirs.get_indexer(mine)
    lacks, too_many = mine[order < 0], theirs[mine.get_indexer(theirs) < 0]
    if len(lacks) or len(too_many):
        parts = [
            f"{x!r} has {len(own)}"
            + (f", of which {y!r} lacks {len(missing)} ({_some(missing)})" if len(missing) else "")
            for x, own, y, missing in ((one, mine, other, lacks), (other, theirs, one, too_many))
        ]
        raise ValueError(
            f"{one!r} and {other!r} describe different {dim}s: {'; '.join(parts)}. Fit both to the "
            "same."
        )
    return order


def check_same_data(
    one: str,
    tree: xr.DataTree,
    other: str,
    other_tree: xr.DataTree,
    *,
    var: str,
    dims: tuple[str, str],
) -> None:
    """Raise if two models have observed different data.

    Parameters
    ----------
    one, other : str
        Names of the models.
    tree, other_tree : DataTree
        With the group constant_data.
    var : str
        The observed variable.
    dims : two str
        Name of the dim of what is observed, in each.

    Raises
    ------
    ValueError
        If rankings are missing in one of them, or what one label stands for differs.
    """
    dims = _rows(tree, var, dims[0]), _rows(other_tree, var, dims[1])
    labels, other_labels = (
        t["constant_data"].dataset[dim].to_numpy()
        for t, dim in zip((tree, other_tree), dims, strict=True)
    )
    order = order_like(one, labels, other, other_labels, dims[0])
    items, other_items = (_items(t, var) for t in (tree, other_tree))
    moved = None
    if items is not None and other_items is not None:
        moved = items.get_indexer(other_items)
    mine = _content(tree, var, dims[0], None)
    theirs = _content(other_tree, var, dims[1], moved)
    for part in mine.keys() & theirs.keys():
        a, b = _padded(mine[part], theirs[part][order])
        if a.shape != b.shape:
            differs = np.ones(1, dtype=bool)
        elif a.dtype.kind == "f":
            differs = ~np.isclose(a, b, rtol=1e-9, atol=0.0, equal_nan=True)
        else:
            differs = a != b
        if differs.any():
            where = ""
            if a.shape == b.shape:
                row = int(differs.reshape(len(a), -1).any(axis=1).argmax())
                where = f", first of {dims[0]} {shown(labels[row])}"
            raise ValueError(
                f"{one!r} and {other!r} were fitted to different data: {var}_{part} "
                f"differs{where}. Fit both to the same."
            )


def _rows(tree: xr.DataTree, var: str, dim: str) -> str:
    """Dim of the rankings, where all of a ranker have one log-likelihood; else `dim`."""
    kept = Kept(tree, var)
    return str(kept[RANKS].dims[0]) if TURNS in kept else dim


def _content(tree: xr.DataTree, var: str, dim: str, moved: Ints | None) -> dict[str, NDArray[Any]]:
    """Return what is observed, by name.

    Items are positions on the axis of the first model, to which `moved` leads.
    """
    kept = Kept(tree, var)
    groups, out = kept.groups, {}
    for part, x in kept.parts(dim):
        values = x.transpose(dim, ...).to_numpy()
        if part in ITEM_CODES and moved is not None:
            values = moved[values]
        elif part == NET and moved is not None:
            values = _reordered(values, moved)
        elif part in groups:
            values = kept.labels(part)[values]
        out[part] = values
    if {ITEM, RANKS} <= out.keys():
        # the items of a block stand in the order of the item axis, which may be another
        ranks = out["ranks"]
        last = np.where(ranks == 0, ranks.max(initial=0) + 1, ranks)
        out["item"] = np.where(ranks == 0, 0, out["item"])
        slots = np.lexsort((out["item"], last), axis=-1)
        for part in ("item", "ranks"):
            out[part] = np.take_along_axis(out[part], slots, axis=-1)
    return out


def _items(tree: xr.DataTree, var: str) -> pd.Index | None:
    """Labels of the items, if the results have them."""
    items = Kept(tree, var).items
    if items is not None:
        return items
    if "posterior" in tree.children and "item" in tree["posterior"].coords:
        return pd.Index(tree["posterior"]["item"].to_numpy())
    return None


def _reordered(values: NDArray[Any], moved: Ints) -> NDArray[Any]:
    """Put columns of the items where they stand in the first model."""
    if (moved < 0).any():
        return values
    out = np.empty_like(values)
    out[:, moved] = values
    return out


def _padded(a: NDArray[Any], b: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Add empty slots where one has fewer."""
    if a.ndim != 2 or b.ndim != 2 or len(a) != len(b):
        return a, b
    width = max(a.shape[1], b.shape[1])
    a, b = (np.pad(x, ((0, 0), (0, width - x.shape[1]))) for x in (a, b))
    return a, b


def _numbered(labels: NDArray[Any]) -> pd.Index:
    """Labels, and which of those of the same name each is."""
    series = pd.Series(labels.tolist())
    return pd.MultiIndex.from_arrays([series, series.groupby(series).cumcount()])


def _some(labels: pd.Index) -> str:
    first = [shown(label) for label, *_ in labels[:SHOWN]]
    return ", ".join(first) + (", ..." if len(labels) > SHOWN else "")


def shown(label: Any) -> str:
    """Show a label as Python writes it, without the names of NumPy's types.

    Parameters
    ----------
    label : hashable

    Returns
    -------
    str
    """
    return repr(label.item() if isinstance(label, np.generic) else label)
