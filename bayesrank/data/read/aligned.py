"""Aligned: values with labels, put into the order of an axis.

The labels of a Series, DataFrame, DataArray or mapping say what each value belongs to. Their order
need not be that of an axis: rankings stand in order of first appearance, and ``groupby`` sorts.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.data.read.labels import coord_values, label_repr, plain_index, quoted, same_axis


def has_labels(values: Any) -> bool:
    """Whether values are labelled: a Series, DataFrame, DataArray with coords, or mapping."""
    if isinstance(values, pd.Series | pd.DataFrame | Mapping):
        return True
    return _is_data_array(values) and bool(len(values.indexes))


def align(values: Any, axes: Mapping[str, pd.Index], dim: str, noun: str) -> NDArray[Any]:
    """Put labelled values into the order of the axis `dim`; see `Rankings.align`."""
    if dim not in axes:
        raise ValueError(
            f"`dim` must be one of {quoted(axes)}, the axes of the {noun}; got {label_repr(dim)}."
        )
    if _is_data_array(values) and (dim not in values.dims or dim not in values.indexes):
        raise ValueError(
            f"`values` must have a dim {dim!r} with coords; it has the dims {quoted(values.dims)} "
            f"and coords of {quoted(values.indexes) or 'none'}."
        )
    if not has_labels(values):
        raise TypeError(
            f"`values` must be a Series, DataFrame, DataArray or mapping with the labels of "
            f"{dim!r}; got {type(values).__name__}, which has no labels."
        )
    way_out = (
        f"The labels of {dim!r} are {quoted(axes[dim])}. Leave out what has others, and check the "
        "spelling and the type of the labels."
    )
    return aligned(values, {dim: axes[dim]}, "values", way_out)


def aligned(values: Any, axes: Mapping[str, pd.Index], what: str, way_out: str) -> NDArray[Any]:
    """Put labelled values into the order of the rows of an axis."""
    of_results = _is_data_array(values)
    dim = _dim(values, axes, what) if of_results else ""
    given = _index(values, dim, what)
    found: dict[str, NDArray[np.intp]] = {}
    for noun, axis in axes.items():
        own = pd.Index(coord_values(axis)) if of_results else plain_index(axis)
        if same_axis(given, own):
            found[noun] = np.arange(len(own))
        elif own.is_unique and given.is_unique and len(own) == len(given):
            place = given.get_indexer(own)
            if (place >= 0).all():
                found[noun] = place
    if not found:
        _refuse(given, axes, what, way_out)
    one, *others = found.values()
    if any(not np.array_equal(one, other) for other in others):
        raise ValueError(
            f"The labels of `{what}`, {quoted(given)}, can be read in two ways: as those of the "
            f"{' or of the '.join(f'{noun}s' for noun in found)}, which differ. {way_out}"
        )
    if isinstance(values, Mapping):
        listed = pd.Series(list(values.values()), dtype=object).infer_objects()
        return listed.to_numpy()[one]
    if of_results:
        return np.asarray(values.isel({dim: one}).values)
    return np.asarray(values.iloc[one].to_numpy())


def _is_data_array(values: Any) -> bool:
    """Whether this is a DataArray of xarray, which this room does not import."""
    return hasattr(values, "dims") and hasattr(values, "indexes") and hasattr(values, "isel")


def _dim(values: Any, axes: Mapping[str, pd.Index], what: str) -> Any:
    if len(values.dims) == 1 and len(values.indexes) == 1:
        return values.dims[0]
    dim = next((noun for noun in axes if noun in values.indexes and noun in values.dims), None)
    if dim is None:
        raise ValueError(
            f"`{what}` has the dims {quoted(values.dims)} and coords of {quoted(values.indexes)}; "
            f"it must have a dim with coords that is called {' or '.join(map(repr, axes))}."
        )
    return dim


def _index(values: Any, dim: Any, what: str) -> pd.Index:
    if isinstance(values, Mapping):
        return plain_index(pd.Index(list(values), tupleize_cols=False), what)
    return plain_index(values.index if dim == "" else values.indexes[dim], what)


def _refuse(given: pd.Index, axes: Mapping[str, pd.Index], what: str, way_out: str) -> None:
    """Name the labels that are missing, unknown, or twice there."""
    noun, axis = next(iter(axes.items()))
    twice, missing = given[given.duplicated()], axis[~axis.isin(given)]
    unknown = given[~given.isin(axis)]
    faults = []
    if len(twice):
        faults.append(f"{quoted(twice.unique())} twice")
    if len(missing):
        faults.append(f"no value for {noun} {quoted(missing)}")
    if len(unknown):
        faults.append(f"the labels {quoted(unknown)}, which no {noun} has")
    if not faults:
        faults.append("the labels in another order than theirs")
    raise ValueError(
        f"`{what}` must have one value for each {' or '.join(axes)}, by label; it has "
        f"{', and '.join(faults)}. {way_out}"
    )
