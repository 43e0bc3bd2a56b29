"""Typed tables: JSON, Parquet, Excel sheets and data frames, with labels as they are written.

Columns of numbers, truth values and dates keep their type, for speed; `label_text` writes them.
Other columns contain text, without spaces around it, and NaN where a cell is empty.
"""

import datetime
import json
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from bayesrank.data.read.formats import refuse_many_rows
from bayesrank.data.read.labels import LINE, ROW, label_repr
from bayesrank.data.read.text import content, decoded, one_line, refuse_large
from bayesrank.tables.text import CellCache, Record, TextTable

INDEX = "index"  # the column of names of rows of a data frame
EXACT = 2**53  # above it, a float does not hold every whole number

_RANGE = re.compile(
    rb'"kind": "range", "name": ("(?:[^"\\]|\\.)*"), '
    rb'"start": (-?\d+), "stop": (-?\d+), "step": (-?\d+)'
)
_NULLABLE = {  # keep integers as integers even if values are missing
    getattr(pa, name)(): pd.api.types.pandas_dtype(dtype)
    for name, dtype in [
        *((f"int{bits}", f"Int{bits}") for bits in (8, 16, 32, 64)),
        *((f"uint{bits}", f"UInt{bits}") for bits in (8, 16, 32, 64)),
        *(("float32", "Float32"), ("float64", "Float64"), ("bool_", "boolean")),
    ]
}


class TypedColumn(NamedTuple):
    """A column of a typed table."""

    cells: pd.Series
    spaces: int = 0  # cells with spaces around them
    grades: list[str] | None = None  # ordered categories, lowest first


# Labels


def label_text(values: pd.Series) -> pd.Series:
    """Return labels as they are written: text, NaN where one is missing.

    Floats that are all whole have no point: pandas makes floats of whole numbers if one is missing.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesrank.tables.typed import label_text
    >>> label_text(pd.Series([7.0, None, 10.0])).tolist()
    ['7', nan, '10']
    >>> label_text(pd.Series([1.5, 2.0])).tolist()
    ['1.5', '2.0']
    """
    dtype = values.dtype
    objects = pd.api.types.is_object_dtype(dtype)
    if objects and pd.api.types.infer_dtype(values, skipna=True) in ("string", "empty"):
        missing = values.isna().to_numpy()
        if not missing.any():
            return values
        cells = values.to_numpy(copy=True)
        cells[missing] = np.nan  # None is missing, too
        return pd.Series(cells, values.index, name=values.name, dtype=object)
    if isinstance(dtype, pd.CategoricalDtype):
        codes = values.cat.codes.to_numpy()
        distinct: Any = label_text(pd.Series(values.cat.categories)).to_numpy()
    else:
        try:
            codes, found = pd.factorize(values)
        except TypeError:  # lists
            return values.map(_one_label, na_action="ignore").astype(object)
        distinct = _written(pd.Series(found), str(values.name))
    labels = np.empty(len(distinct) + 1, dtype=object)
    labels[:-1] = distinct
    labels[-1] = np.nan
    return pd.Series(labels[codes], values.index, name=values.name, dtype=object)


def _written(distinct: pd.Series, column: str) -> list[str]:
    """Write distinct labels of one column."""
    dtype = distinct.dtype
    if pd.api.types.is_float_dtype(dtype):
        numbers = distinct.to_numpy(np.float64)
        finite = numbers[np.isfinite(numbers)]
        if len(finite) == len(numbers) and (finite == np.floor(finite)).all():
            large = np.abs(finite) > EXACT
            if large.any():
                raise ValueError(
                    f"Column {column!r} has the label {numbers[large][0]:.0f}, stored as a float, "
                    "which does not hold every digit. Store the labels as text or as integers."
                )
            return [str(int(x)) for x in numbers]
        exact = distinct.to_numpy(np.float32) if dtype in ("float32", "Float32") else numbers
        return [str(x) for x in exact]
    if pd.api.types.is_datetime64_any_dtype(dtype):
        days = bool((distinct == distinct.dt.normalize()).all())
        return [str(x.date()) if days else x.isoformat(sep=" ") for x in distinct]
    return [_one_label(x) for x in distinct.tolist()]


def _one_label(value: Any) -> Any:
    """Write one label; lists become lists of labels."""
    match value:
        case str():
            return value.strip()
        case float() | np.floating():
            whole = float(value).is_integer() and abs(float(value)) <= EXACT
            return str(int(value)) if whole else str(value)
        case Decimal():
            return f"{value:f}"
        case datetime.datetime() | pd.Timestamp():
            day = value.time() == datetime.time() and value.tzinfo is None
            return str(value.date()) if day else value.isoformat(sep=" ")
        case bytes():
            return value.decode("utf-8", errors="replace")
        case list() | tuple() | np.ndarray():
            return [_one_label(x) for x in value if not _is_missing(x)]
    return str(value)


def _is_missing(value: Any) -> bool:
    return value is None or (pd.api.types.is_scalar(value) and pd.isna(value))


# Columns


def text_column(values: pd.Series) -> TypedColumn:
    """Return a column of text without spaces around it, and NaN where it is empty."""
    cache = CellCache()
    codes, distinct = pd.factorize(values)
    labels = np.empty(len(distinct) + 1, dtype=object)
    labels[-1] = np.nan
    spaced = []
    for n, label in enumerate(distinct):
        before = cache.spaces
        labels[n] = cache[label]
        if cache.spaces > before:
            spaced.append(n)
    spaces = int(np.isin(codes, spaced).sum()) if spaced else 0
    return TypedColumn(
        pd.Series(labels[codes], values.index, name=values.name, dtype=object), spaces
    )


def typed_column(values: pd.Series) -> TypedColumn:
    """Return a column with its type if it contains numbers or dates; otherwise as text."""
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        labels = label_text(pd.Series(values.cat.categories))
        column = text_column(label_text(values))
        grades = [label.strip() for label in labels] if dtype.ordered else None
        return column._replace(grades=grades)
    if isinstance(dtype, pd.StringDtype):
        return text_column(values)
    if not pd.api.types.is_object_dtype(dtype) and not isinstance(dtype, pd.ArrowDtype):
        if pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_datetime64_any_dtype(dtype):
            return TypedColumn(values)
        return text_column(label_text(values))
    if isinstance(dtype, pd.ArrowDtype):
        array = pa.chunked_array(values.array.__arrow_array__())
        return arrow_column(array, str(values.name), values.index)
    kind = pd.api.types.infer_dtype(values, skipna=True)
    convert: Callable[[], pd.Series] | None = {
        "string": lambda: values,
        "integer": lambda: values.astype("Int64"),
        "floating": lambda: values.astype("float64"),
        "boolean": lambda: values.astype("boolean"),
    }.get(kind)
    if kind == "string":
        return text_column(values)
    if convert is not None:
        try:
            return TypedColumn(convert())
        except OverflowError:
            pass
    if kind == "empty":
        return TypedColumn(pd.Series(np.nan, values.index, dtype=object, name=values.name))
    written = values.map(lambda x: np.nan if _is_missing(x) else _one_label(x))
    if kind in ("decimal", "date", "datetime", "time", "timedelta"):
        return TypedColumn(written.astype(object))
    spaces = sum(isinstance(x, str) and x != x.strip() for x in values)
    written = written.map(lambda x: np.nan if isinstance(x, str) and not x else x)
    return TypedColumn(written.astype(object), spaces)


def arrow_column(array: pa.ChunkedArray, name: str, index: pd.Index) -> TypedColumn:
    """Return a column of Arrow with its type if it contains numbers; otherwise as text."""
    kind = array.type
    grades = None
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        array = array.cast(pa.large_string())
        kind = array.type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if text or kind == pa.string_view():
        array = array.cast(pa.large_string()).dictionary_encode()
        kind = array.type
    if pa.types.is_dictionary(kind):
        values = array.to_pandas().set_axis(index).rename(name)
        if pa.types.is_large_string(kind.value_type) or pa.types.is_string(kind.value_type):
            if kind.ordered:
                grades = [str(label).strip() for label in values.cat.categories]
            codes = values.cat.codes.to_numpy()
            bare = text_column(pd.Series(values.cat.categories, dtype=object))
            labels = np.array([*bare.cells, np.nan], dtype=object)
            n = 0
            if bare.spaces:
                names = values.cat.categories
                spaced = [k for k, label in enumerate(names) if label != label.strip()]
                n = int(np.isin(codes, spaced).sum())
            return TypedColumn(pd.Series(labels[codes], index, name=name, dtype=object), n, grades)
        return typed_column(values)
    try:
        values = array.to_pandas(types_mapper=_NULLABLE.get)
    except pa.ArrowNotImplementedError:  # pyarrow cannot convert lists of string views (polars)
        values = pd.Series(array.to_pylist(), dtype=object)
    return typed_column(values.set_axis(index).rename(name))


def _concise(name: Any) -> str:
    """Return the name of a column as text; levels are joined by points."""
    if isinstance(name, tuple):
        return ".".join(str(part).strip() for part in name if str(part).strip())
    return str(name).strip()


class TypedTable:
    """Columns of a typed table, which are made when they are read.

    Attributes
    ----------
    names : list of str
        Names of all columns.
    notes : list of str
        Sentences about what was decided.
    grades : dict of str to list of str
        Ordered categories, lowest first, of columns that have them.
    """

    def __init__(
        self,
        names: Sequence[Any],
        read: Callable[[Sequence[int]], Iterable[TypedColumn]],
        rows_are: str = ROW,
    ) -> None:
        self.names = [_concise(name) for name in names]
        self._spaced = [isinstance(name, str) and name != name.strip() for name in names]
        self._read, self.rows_are = read, rows_are
        self.notes: list[str] = []
        self.findings: list[str] = []
        self.grades: dict[str, list[str]] = {}

    def cells(self, at: Sequence[int]) -> tuple[pd.DataFrame, int]:
        """Read the columns at some positions, and count the cells with spaces around them."""
        columns = [*self._read(at)]
        for k, column in zip(at, columns, strict=True):
            if column.grades is not None:
                self.grades[self.names[k]] = column.grades
        frame = pd.DataFrame(dict(enumerate(c.cells for c in columns)), copy=False)
        frame.columns = pd.Index([self.names[k] for k in at], dtype=object)
        spaces = sum(c.spaces for c in columns) + sum(self._spaced[k] for k in at)
        return frame, spaces


# JSON


class _RepeatedError(ValueError):
    """An object of JSON that has one key twice."""


def json_table(path: Path, encoding: str | None) -> TypedTable:
    """Read a list of objects, or an object per line; names in nested objects are joined by dots.

    Numbers keep their spelling.
    """
    text, _ = decoded(content(path), encoding)
    text = text.removeprefix("\ufeff")
    lines: list[int] | None = None
    try:
        found = _loads(text)
    except json.JSONDecodeError as error:
        numbered = [(n, s) for n, s in enumerate(text.split("\n"), start=1) if s.strip()]
        if not numbered:
            raise pd.errors.EmptyDataError from None
        try:
            found = [_loads(line) for _, line in numbered]
        except json.JSONDecodeError:
            raise ValueError(f"it is not JSON: {error}.") from None
        lines = [n for n, _ in numbered]
    if isinstance(found, dict):
        lists = [value for value in found.values() if isinstance(value, list)]
        found = _of_columns(found) or (lists[0] if len(lists) == 1 else [found])
    if found == []:
        raise pd.errors.EmptyDataError
    if not isinstance(found, list) or not all(isinstance(record, dict) for record in found):
        raise ValueError(
            "it must contain a list of objects, one per row, such as "
            '[{"judge": "ann", "item": "ale", "stars": 5}].'
        )
    index = pd.RangeIndex(len(found), name=ROW) if lines is None else pd.Index(lines, name=LINE)
    return _of_records(found, index)


def _of_columns(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of an object of columns, as pandas and polars write it, or none."""
    if {*found} == {"columns", "index", "data"} and all(
        isinstance(x, list) for x in found.values()
    ):
        return [dict(zip(found["columns"], row, strict=True)) for row in found["data"]]
    columns = [*found.values()]
    if len(columns) > 1 and all(isinstance(column, list) for column in columns):
        nested = any(isinstance(cell, list | dict) for column in columns for cell in column)
        alike = len({len(column) for column in columns}) == 1 and not nested
        return [dict(zip(found, row, strict=True)) for row in zip(*columns, strict=True)] * alike
    if columns and all(isinstance(column, dict) for column in columns):
        rows = {tuple(column) for column in columns}
        numbered = len(rows) == 1 and all(row.isdigit() for row in columns[0])
        return [{k: found[k][row] for k in found} for row in columns[0]] if numbered else []
    return []


def _loads(text: str) -> Any:
    return json.loads(
        text,
        parse_int=str,
        parse_float=str,
        parse_constant=lambda name: np.nan if name == "NaN" else name,
        object_pairs_hook=_without_repetition,
    )


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a dict, and refuse a name that comes twice."""
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        again = next(name for name in names if names.count(name) > 1)
        raise _RepeatedError(
            f"an object has the name {label_repr(again)} twice. Rename one of the two."
        )
    return record


def _of_records(records: Sequence[Mapping[str, Any]], index: pd.Index) -> TypedTable:
    """Make a table from one mapping per row."""
    rows = [
        _flat(record) if any(isinstance(x, dict) for x in record.values()) else record
        for record in records
    ]
    names = [*dict.fromkeys(name for row in rows for name in row)]

    def column(at: int) -> TypedColumn:
        name = names[at]
        values = np.empty(len(rows), dtype=object)
        for n, row in enumerate(rows):
            value = row.get(name)
            values[n] = (
                {True: "true", False: "false"}[value] if value is True or value is False else value
            )
        return typed_column(pd.Series(values, index))

    return TypedTable(names, lambda at: map(column, at), str(index.name))


def _flat(record: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Join the names in nested objects by dots."""
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{before}{name}.")
        else:
            flat[f"{before}{name}"] = value
    return flat


# Excel


def sheet_table(path: Path, header: int | None) -> TextTable:
    """Read the first sheet of an Excel file, with cells as text."""
    if not zipfile.is_zipfile(path):
        raise ValueError("it is not an Excel sheet, despite its name.")
    with zipfile.ZipFile(path) as archive:
        refuse_large(sum(part.file_size for part in archive.infolist()), path)
    import openpyxl

    try:
        with path.open("rb") as file:  # openpyxl leaves a broken file open
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            sheet = book.worksheets[0]
            sheet.reset_dimensions()
            cells = [*sheet.iter_rows(values_only=True)]
            n_sheets, title = len(book.worksheets), sheet.title
    except MemoryError:
        raise
    except Exception as error:  # openpyxl raises errors of many types for a broken file
        reason = one_line(error)
        raise ValueError(f"it is not an Excel sheet, or it is broken: {reason}") from error
    rows = [[_cell(x) for x in row] for row in cells]
    used = [n for row in rows for n, cell in enumerate(row, start=1) if cell.strip()]
    if not used:
        raise pd.errors.EmptyDataError
    width = max(used)
    records: list[Record] = [
        (n, [*row[:width], *[""] * (width - len(row))])
        for n, row in enumerate(rows, start=1)
        if any(map(str.strip, row))
    ]
    table = TextTable(lambda: iter([(n, [*row]) for n, row in records]), header, row_names=False)
    if n_sheets > 1:
        table.notes.insert(0, f"Only the first of {n_sheets} sheets, {title!r}, is read.")
    if n := sum(isinstance(x, int | float) and abs(x) > EXACT for row in cells for x in row):
        table.notes.append(f"Numbers with more digits than the 15 that Excel keeps: {n:,}.")
    return table


def _cell(value: Any) -> str:
    """Write a cell of a sheet as text."""
    if value is None:
        return ""
    if isinstance(value, float) and EXACT < abs(value) < 1e22:
        return f"{value:.0f}"
    return value if isinstance(value, str) else str(_one_label(value))


# Parquet and Arrow


def parquet_table(path: Path) -> TypedTable:
    """Open a Parquet file; a saved index is a column."""
    with pq.ParquetFile(path) as file:
        refuse_many_rows(file.metadata, path.stat().st_size)
        schema, n = file.schema_arrow, file.metadata.num_rows

    def read(columns: list[str] | None) -> pa.Table:
        with pq.ParquetFile(path, read_dictionary=texts) as file:
            return file.read(columns)

    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    return _of_arrow(schema, n, read)


def arrow_table(table: pa.Table) -> TypedTable:
    """Open a table of pyarrow, polars or another library that gives Arrow's stream of columns."""

    def read(names: list[str] | None) -> pa.Table:
        return table if names is None else table.select(names)

    return _of_arrow(table.schema, table.num_rows, read)


def _of_arrow(
    schema: pa.Schema, n: int, read: Callable[[list[str] | None], pa.Table]
) -> TypedTable:
    """Make a table of Arrow's columns; names in nested columns are joined by dots."""
    nested = any(pa.types.is_struct(field.type) for field in schema)
    whole = _unnested(read(None)) if nested or len({*schema.names}) < len(schema) else None
    names = schema.names if whole is None else whole.column_names
    ranges = _saved_ranges(schema)
    levels = [name for name in names if re.fullmatch(r"__index_level_\d+__", name)]
    shown: dict[str, str | None] = {name: f"{INDEX} {k}" for k, name in enumerate(levels, start=1)}
    if len(levels) == 1:
        kind = schema.field(levels[0]).type
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        shown = {levels[0]: None if number else INDEX}
    left = [k for k, name in enumerate(names) if shown.get(name, name) is not None]
    index = pd.RangeIndex(n, name=ROW)
    labels = [*ranges, *(str(shown.get(names[k], names[k])) for k in left)]

    def columns(at: Sequence[int]) -> Iterator[TypedColumn]:
        places = {k: left[k - len(ranges)] for k in at if k >= len(ranges)}
        table = read([names[k] for k in places.values()]) if whole is None else whole
        for k in at:
            if k not in places:
                yield TypedColumn(pd.Series(ranges[labels[k]], index, name=labels[k]))
            else:
                place = names[places[k]] if whole is None else places[k]
                yield arrow_column(table.column(place), labels[k], index)

    return TypedTable(labels, columns)


def _unnested(table: pa.Table) -> pa.Table:
    while any(pa.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    return table


def _saved_ranges(schema: pa.Schema) -> dict[str, range]:
    """Return named indices of equal steps, which pandas saves without a column."""
    # with 100,000 columns, parsing all that pandas saves takes longer than everything else
    found = _RANGE.search((schema.metadata or {}).get(b"pandas", b""))
    return {json.loads(found[1]): range(*map(int, found.groups()[1:]))} if found else {}


# Data frames


def frame_table(frame: pd.DataFrame) -> TypedTable:
    """Open a pandas DataFrame; a named index is a column, and so are names of rows."""
    columns: list[tuple[Any, pd.Series]] = []
    index = pd.RangeIndex(len(frame), name=ROW)
    levels = [frame.index.get_level_values(k) for k in range(frame.index.nlevels)]
    for k, level in enumerate(levels):
        number = pd.api.types.is_numeric_dtype(level.dtype)
        if level.name is None and number and len(levels) == 1:
            continue
        name = level.name
        if name is None:
            name = INDEX if len(levels) == 1 else f"{INDEX} {k + 1}"
        if _concise(name) not in map(_concise, frame.columns):
            columns.append((name, pd.Series(level, dtype=level.dtype)))
    for k, name in enumerate(frame.columns):
        columns.append((name, frame.iloc[:, k]))

    def column(at: int) -> TypedColumn:
        return typed_column(columns[at][1].set_axis(index).rename(columns[at][0]))

    return TypedTable([name for name, _ in columns], lambda at: map(column, at))


def records_table(records: Sequence[Mapping[str, Any]]) -> TypedTable:
    """Open a list of mappings, one per row."""
    return _of_records(
        [{str(name): value for name, value in record.items()} for record in records],
        pd.RangeIndex(len(records), name=ROW),
    )
