"""Labels: convert names in a table to positions on an axis, and back to names for xarray.

An *axis* is a pandas Index of distinct labels without missing values. ``coords`` contain numbers
and strings unchanged. Other labels (dates, tuples, mixed types) become strings, because netCDF
files cannot store them.
"""

import ctypes
import reprlib
import warnings
from collections.abc import Collection, Hashable, Iterable, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

type Labels = Iterable[Hashable]

LINE = "line"
"""Name of the index of a table read from a file: the line of each row."""

ROW = "row"
"""Name of the index of a table laid out from another one: the row of that table."""

TEXT = pd.Index([""], dtype=object).infer_objects().dtype  # the default type of text in pandas

AT_A_TIME = 2**17
"""Number of entries processed at a time, so that temporary arrays fit into a cache."""

_PACKAGE = str(Path(__file__).parents[2])
_SHORT = reprlib.Repr(maxstring=80, maxother=80)

PAIR_NAMES = ("item", "pair", "result", "judge", "first", "second", "outcome", "count", "weight")
"""Names of axes and columns of `Pairs`, which are reserved."""

# Words for messages


def counted(n: int, unit: str) -> str:
    """Return a number with its unit: ``1 ranking``, ``2 rankings``."""
    return f"{n} {unit}" if n == 1 else f"{n} {unit}s"


def label_repr(label: Any) -> str:
    """Return the Python representation of a label (for NumPy scalars, without the type)."""
    return _SHORT.repr(label.item() if isinstance(label, np.generic) else label)


def quoted(labels: Iterable[Any], limit: int = 5) -> str:
    """Format labels for an error message: ``'a', 'b', 3`` and the number left out."""
    return name_some([label_repr(label) for label in labels], limit)


def name_some(names: Sequence[Any], most: int) -> str:
    """Join the first names by commas, and count the others: ``a, b and 3 more``."""
    shown = ", ".join(map(str, names[:most]))
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def check_whole(**values: Any) -> None:
    """Raise unless each value is a whole number, 1 or more."""
    for name, value in values.items():
        if not isinstance(value, Integral) or value < 1:
            raise ValueError(f"`{name}` is {value!r}; it must be a whole number, 1 or more.")


def require_one_each(
    labels: Any, n: int, name: str, unit: str, *, where: str = "", more: str = ""
) -> None:
    """Check that there are `n` labels, one per `unit`, such as a ranking."""
    if len(labels) != n:
        raise ValueError(
            f"{name} has {counted(len(labels), 'label')} for {counted(n, unit)}{where}; give one "
            f"for each{more}."
        )


def row_name(index: pd.Index, n: int) -> str:
    """Name row `n` of a table: by its line in the file, or by its number and label."""
    if index.name in (LINE, ROW):
        return f"{index.name} {index[n]}"
    plain = isinstance(index, pd.RangeIndex) and (index.start, index.step) == (0, 1)
    return f"row {n}" if plain else f"row {n} (index {label_repr(index[n])})"


def warn(message: str, category: type[UserWarning] = UserWarning) -> None:
    """Warn at the caller's line outside the package."""
    warnings.warn(message, category, stacklevel=2, skip_file_prefixes=(_PACKAGE,))


# Axes


def plain_index(labels: Iterable[Any], name: str = "labels") -> pd.Index:
    """Make an index without names or levels; categories become plain labels."""
    if isinstance(labels, str | bytes):
        raise ValueError(f"`{name}` must be a list of labels; write [{labels!r}].")
    if not isinstance(labels, Iterable):
        raise ValueError(f"`{name}` must be a list of labels; got {label_repr(labels)}.")
    if hasattr(labels, "to_index"):  # a DataArray with coords
        labels = labels.to_index()
    if hasattr(labels, "to_pylist"):  # an array of pyarrow, which contains its own scalars
        labels = labels.to_pylist()
    if isinstance(labels, pd.MultiIndex):
        return labels.to_flat_index()
    if isinstance(labels, pd.CategoricalIndex):
        return plain_index(labels.astype(object), name)
    if isinstance(labels, pd.Index):
        return _of_python(labels).infer_objects(copy=False).rename(None)
    if isinstance(labels, pd.Series | np.ndarray | pd.api.extensions.ExtensionArray):
        return plain_index(pd.Index(labels, tupleize_cols=False), name)
    listed = np.empty(len(labels := list(labels)), dtype=object)
    for n, label in enumerate(labels):  # np.array of lists would have two dimensions
        listed[n] = label
    return pd.Index(listed, tupleize_cols=False).infer_objects(copy=False)


def axis_index(labels: Iterable[Any], name: str) -> pd.Index:
    """Make an axis of distinct labels, in the given order; messages call it `name`."""
    index = plain_index(labels, name)
    if index.dtype == object:
        _check_hashable(index, name)
        _check_booleans(index, name)
    if index.hasnans:
        raise ValueError(f"`{name}` has a missing label at position {index.isna().argmax()}.")
    twice = index[index.duplicated()]
    if len(twice):
        raise ValueError(f"`{name}` must be distinct, but {label_repr(twice[0])} occurs twice.")
    if index.inferred_type in ("string", "integer", "floating"):
        return index  # labels of one type have distinct strings
    alike = index[pd.Index(coord_values(index)).duplicated(keep=False)]
    if len(alike):
        raise ValueError(
            f"Labels of `{name}` must be distinct as strings; {quoted(alike, 2)} are not. "
            f"Give them the same type."
        )
    return index


def factorize(values: pd.Series | pd.Index, name: str) -> tuple[NDArray[np.int32], pd.Index]:
    """Encode labels by first appearance; raise an error for a missing label."""
    codes: NDArray[Any]
    distinct: pd.Index
    if isinstance(values.dtype, pd.CategoricalDtype):
        codes, distinct = _recoded(values.array)
    else:
        try:
            codes, distinct = pd.factorize(values, sort=False)
        except TypeError:
            _check_hashable(values, name)
            raise
    _check_booleans(values, name)
    if (codes < 0).any():
        n = int((codes < 0).argmax())
        raise ValueError(f"{_name(values, name)} has a missing label {_place(values, n)}.")
    labels = _of_python(pd.Index(distinct, tupleize_cols=False))
    return codes.astype(np.int32, copy=False), labels


def _recoded(categories: Any) -> tuple[NDArray[np.int32], pd.CategoricalIndex]:
    """Encode categories again, by first appearance."""
    codes, n = categories.codes, len(categories.codes)
    first = np.full(len(categories.categories) + 1, n)  # the last element is for missing labels
    for a in reversed(range(0, n, AT_A_TIME)):
        part = codes[a : a + AT_A_TIME]
        first[part[::-1]] = np.arange(a + len(part) - 1, a - 1, -1)  # the first position wins
    used = np.flatnonzero(first[:-1] < n)
    used = used[np.argsort(first[used])]
    place = np.full(len(first), -1, dtype=np.int32)
    place[used] = np.arange(len(used))
    distinct = pd.Categorical.from_codes(used, dtype=categories.dtype)
    return looked_up(place, codes), pd.CategoricalIndex(distinct)


def looked_up(
    table: NDArray[Any], codes: NDArray[Any], out: NDArray[Any] | None = None
) -> NDArray[Any]:
    """Return ``table[codes]`` without the large temporary array of positions that NumPy makes.

    The result is written to `out`, which may be `codes` itself.
    """
    found = np.empty(len(codes), dtype=table.dtype) if out is None else out
    for a in range(0, len(codes), AT_A_TIME):
        found[a : a + AT_A_TIME] = table[codes[a : a + AT_A_TIME]]
    return found


def give_back() -> None:
    """Return free memory to the system, because reading in many pieces fragments it."""
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.pythonapi, "malloc_trim", None)  # exists in glibc only
    if trim is not None:
        trim(0)


class Group(NamedTuple):
    """The labels of a group, and the label of each row (a ranking or a pair)."""

    labels: pd.Index
    idx: NDArray[np.int32]  # (n_rows,) position on `labels`

    def take(self, rows: NDArray[Any]) -> Self:
        """Select rows and keep all labels."""
        return self._replace(idx=self.idx[rows])


class Unused(NamedTuple):
    """Data that are also grouped by columns of their table that no argument named."""

    data: Any  # Rankings or Pairs; rows without a label have the label ""
    columns: tuple[str, ...]  # groups with labels
    times: tuple[str, ...]  # groups whose labels are times

    def take(self, rows: NDArray[Any]) -> Self:
        """Select rows of the data."""
        return self._replace(data=self.data._take(rows))


def check_names(by: Sequence[str], taken: Collection[str], unit: str) -> None:
    """Check that names of groups are distinct and not reserved."""
    for n, name in enumerate(by):
        if not isinstance(name, str):
            raise ValueError(f"`by` must contain names of columns; got {label_repr(name)}.")
        if name in by[:n]:
            raise ValueError(f"`by` names column {name!r} twice; name it once.")
        if name in taken:
            way_out = f" or pass the column as {name}=" if name in ("judge", "ranker") else ""
            raise ValueError(
                f"`by` cannot name a column {name!r}: {unit} already have an axis or a column of "
                f"that name. Rename it{way_out}."
            )


def sorted_axis(values: pd.Series | pd.Index, name: str) -> tuple[NDArray[Any], pd.Index]:
    """Encode labels on a sorted axis.

    Categories keep their order. Labels that cannot be sorted keep their order of appearance.
    """
    if isinstance(values.dtype, pd.CategoricalDtype):
        categories: Any = values.array
        if _all_used(categories):
            return categories.codes, axis_index(categories.categories, name)
    codes, distinct = factorize(values, name)
    try:
        order = np.asarray(distinct.argsort())
    except TypeError:  # labels of mixed types cannot be sorted
        order = np.arange(len(distinct))
    position = np.empty(len(order), dtype=np.int32)
    position[order] = np.arange(len(order))
    return looked_up(position, codes), axis_index(distinct.take(order), name)


def _all_used(categories: Any) -> bool:
    """Return whether every category is in use, and no label is missing."""
    used = np.zeros(len(categories.categories) + 1, dtype=bool)
    for a in range(0, len(categories), AT_A_TIME):
        used[categories.codes[a : a + AT_A_TIME]] = True
    return bool(used[:-1].all()) and not used[-1]


def encode(
    values: pd.Series | pd.Index, axis: Iterable[Hashable] | None, name: str, unit: str = "item"
) -> tuple[NDArray[Any], pd.Index]:
    """Encode labels on the given axis, or on a sorted one; messages call a label `unit`."""
    if axis is None:
        return sorted_axis(values, name)
    given = axis_index(axis, f"{unit}s")
    codes, distinct = factorize(values, name)
    position = locate(plain_index(distinct), given, unit).astype(np.int32)
    return looked_up(position, codes), given


def locate(values: pd.Index, axis: pd.Index, unit: str) -> NDArray[np.int64]:
    """Return the positions of labels on an axis; raise an error for an unknown label."""
    position = axis.get_indexer(values)
    if (position < 0).any():
        unknown = values[position < 0].unique()
        raise ValueError(
            f"Unknown {unit} {quoted(unknown)}: the {unit}s are {quoted(axis)}. "
            f"Check the spelling and the type of the labels."
        )
    return position.astype(np.int64)


def on_axis(
    labels: Iterable[Any], old: pd.Index, used: NDArray[Any], unit: str
) -> tuple[pd.Index, NDArray[np.int64]]:
    """Return a new axis, and the position on it of each used label of the old one, or -1.

    Labels may be written as in coords, for example dates as text.
    """
    axis = axis_index(labels, f"{unit}s")
    known = set(old)
    if not known.issuperset(axis):
        by_coord = dict(zip(coord_values(old).tolist(), old, strict=True))
        named = [label if label in known else by_coord.get(label, label) for label in axis]
        axis = axis_index(named, f"{unit}s")
    in_use = np.unique(used)
    place = np.full(len(old), -1)
    place[in_use] = locate(old.take(in_use), axis, unit)
    return axis, place


def coord_values(index: pd.Index) -> NDArray[Any]:
    """Convert labels for xarray and netCDF: keep numbers, and make strings of the rest."""
    if index.inferred_type in ("integer", "floating") and index.dtype != object:
        return index.to_numpy()
    if isinstance(index.dtype, pd.StringDtype):
        return index.to_numpy(dtype=object).astype(str)
    return np.asarray([str(label) for label in index], dtype=str)


def same_axis(one: pd.Index, other: pd.Index) -> bool:
    """Return whether two axes have the same labels in the same order."""
    return len(one) == len(other) and bool(np.all(one == other))


def _of_python(labels: pd.Index) -> pd.Index:
    """Convert labels of Arrow types to Python types, because the two do not compare equal."""
    if not isinstance(labels.dtype, pd.ArrowDtype | pd.StringDtype) or labels.dtype == TEXT:
        return labels
    listed = [np.nan if label is pd.NA else label for label in labels]
    return pd.Index(listed, dtype=object, tupleize_cols=False).infer_objects(copy=False)


def _check_hashable(values: pd.Series | pd.Index, name: str) -> None:
    for n, label in enumerate(values):
        if not pd.api.types.is_hashable(label):
            raise ValueError(
                f"{_name(values, name)} has {label_repr(label)} {_place(values, n)}, which cannot "
                f"be a label. Write labels as text or numbers."
            )


def _check_booleans(values: pd.Series | pd.Index, name: str) -> None:
    """Refuse labels with both True and 1, or False and 0, which are equal in Python."""
    if not pd.api.types.infer_dtype(values, skipna=True).startswith("mixed"):
        return
    booleans = {label for label in values if isinstance(label, bool | np.bool_)}
    for label in values:
        if not isinstance(label, bool | np.bool_) and label in booleans:
            raise ValueError(
                f"{_name(values, name)} has the labels {label_repr(bool(label))} and "
                f"{label_repr(label)}, which are equal in Python. Write labels as text."
            )


def _name(values: pd.Series | pd.Index, name: str) -> str:
    return f"Column {name!r}" if isinstance(values, pd.Series) else f"`{name}`"


def _place(values: pd.Series | pd.Index, n: int) -> str:
    return (
        f"in {row_name(values.index, n)}" if isinstance(values, pd.Series) else f"at position {n}"
    )
