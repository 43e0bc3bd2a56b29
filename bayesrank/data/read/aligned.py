"""Aligned: labelled values, sorted into the order of an axis.

The labels of a Series, DataFrame, DataArray or mapping identify its values. Their order may differ
from the order of an axis: rankings keep their order of first appearance, but ``groupby`` sorts.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.data.read.labels import coord_values, label_repr, plain_index, quoted, same_axis


def has_labels(values: Any) -> bool:
    """Return whether values are a Series, DataFrame, DataArray with coords, or mapping."""
    if isinstance(values, pd.Series | pd.DataFrame | Mapping):
        return True
    return _is_data_array(values) and bool(len(values.indexes))


def align(values: Any, axes: Mapping[str, pd.Index], dim: str, unit: str) -> NDArray[Any]:
    """Sort labelled values into the order of the axis `dim`; see `Rankings.align`."""
    if dim not in axes:
        raise ValueError(
            f"`dim` must be one of {quoted(axes)}, the axes of the {unit}; got {label_repr(dim)}."
        )
    if _is_data_array(values) and (dim not in values.dims or dim not in values.indexes):
        raise ValueError(
            f"`values` must have a dim {dim!r} with coords; it has the dims {quoted(values.dims)} "
            f"and coords for {quoted(values.indexes) or 'none'}."
        )
    if not has_labels(values):
        raise TypeError(
            f"`values` must be a Series, DataFrame, DataArray or mapping with the labels of "
            f"{dim!r}; got {type(values).__name__}, which has no labels."
        )
    way_out = (
        f"The labels of {dim!r} are {quoted(axes[dim])}. Remove values with other labels, and "
        "check the spelling and the type of the labels."
    )
    return aligned(values, {dim: axes[dim]}, "values", way_out)


def aligned(values: Any, axes: Mapping[str, pd.Index], name: str, way_out: str) -> NDArray[Any]:
    """Sort labelled values into the order of an axis; messages call the values `name`."""
    is_data_array = _is_data_array(values)
    dim = _dim(values, axes, name) if is_data_array else ""
    given = _index(values, dim, name)
    found: dict[str, NDArray[np.intp]] = {}
    for unit, axis in axes.items():
        wanted = pd.Index(coord_values(axis)) if is_data_array else plain_index(axis)
        if same_axis(given, wanted):
            found[unit] = np.arange(len(wanted))
        elif wanted.is_unique and given.is_unique and len(wanted) == len(given):
            place = given.get_indexer(wanted)
            if (place >= 0).all():
                found[unit] = place
    if not found:
        _refuse(given, axes, name, way_out)
    one, *others = found.values()
    if any(not np.array_equal(one, other) for other in others):
        raise ValueError(
            f"The labels of `{name}`, {quoted(given)}, are ambiguous: they may name the "
            f"{' or the '.join(f'{unit}s' for unit in found)}, in different orders. {way_out}"
        )
    if isinstance(values, Mapping):
        listed = pd.Series(list(values.values()), dtype=object).infer_objects()
        return listed.to_numpy()[one]
    if is_data_array:
        return np.asarray(values.isel({dim: one}).values)
    return np.asarray(values.iloc[one].to_numpy())


def _is_data_array(values: Any) -> bool:
    """Return whether values are a DataArray of xarray, which this room does not import."""
    return hasattr(values, "dims") and hasattr(values, "indexes") and hasattr(values, "isel")


def _dim(values: Any, axes: Mapping[str, pd.Index], name: str) -> Any:
    if len(values.dims) == 1 and len(values.indexes) == 1:
        return values.dims[0]
    dim = next((unit for unit in axes if unit in values.indexes and unit in values.dims), None)
    if dim is None:
        raise ValueError(
            f"`{name}` has the dims {quoted(values.dims)} and coords for {quoted(values.indexes)}; "
            f"it must have a dim with coords called {' or '.join(map(repr, axes))}."
        )
    return dim


def _index(values: Any, dim: Any, name: str) -> pd.Index:
    if isinstance(values, Mapping):
        return plain_index(pd.Index(list(values), tupleize_cols=False), name)
    return plain_index(values.index if dim == "" else values.indexes[dim], name)


def _refuse(given: pd.Index, axes: Mapping[str, pd.Index], name: str, way_out: str) -> None:
    """Raise an error that names missing, unknown and repeated labels."""
    unit, axis = next(iter(axes.items()))
    twice, missing = given[given.duplicated()], axis[~axis.isin(given)]
    unknown = given[~given.isin(axis)]
    faults = []
    if len(twice):
        faults.append(f"{quoted(twice.unique())} twice")
    if len(missing):
        faults.append(f"no value for {unit} {quoted(missing)}")
    if len(unknown):
        faults.append(f"the labels {quoted(unknown)}, which no {unit} has")
    if not faults:
        faults.append("the labels in another order")
    raise ValueError(
        f"`{name}` must have one value for each {' or '.join(axes)}, by label; it has "
        f"{', and '.join(faults)}. {way_out}"
    )
