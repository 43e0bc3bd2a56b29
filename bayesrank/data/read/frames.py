"""Frames: tables of pandas, polars and pyarrow, and lists of dicts, as DataFrames of pandas.

Tables of other libraries are read through the Arrow C stream, so none of them is imported here.
Whole numbers stay exact if others are missing, and categories keep their order.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import pandas as pd
import pyarrow as pa

from bayesrank.data.read.labels import label_repr


class ArrowTable(Protocol):
    """A table that pyarrow can read: of polars, pyarrow and others."""

    @property
    def columns(self) -> Any: ...  # noqa: D102  it tells a table from a column

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


type Table = pd.DataFrame | ArrowTable | Sequence[Mapping[str, Any]]
"""A table in memory."""

TABLES = "a table of pandas, polars or pyarrow, or a list of dicts"
"""What `Table` is called in messages."""

# pandas would make floats of whole numbers if some are missing, and objects of booleans
_NULLABLE = {
    pa.int8(): pd.Int8Dtype(),
    pa.int16(): pd.Int16Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint8(): pd.UInt8Dtype(),
    pa.uint16(): pd.UInt16Dtype(),
    pa.uint32(): pd.UInt32Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
    pa.bool_(): pd.BooleanDtype(),
}


def as_frame(table: Any) -> Any:
    """Convert a table to a DataFrame; return other values, and a DataFrame, unchanged.

    >>> as_frame([{"film": "a", "stars": 5}, {"film": "b", "stars": None}]).columns.tolist()
    ['film', 'stars']
    """
    if isinstance(table, pd.DataFrame):
        return table
    if isinstance(table, list) and table and all(isinstance(row, Mapping) for row in table):
        frame = pd.DataFrame(table, dtype=object)
        # if a value is missing, pandas would infer floats for whole numbers
        return frame.apply(lambda x: x if x.hasnans else x.infer_objects())
    if not is_arrow_table(table):
        return table
    frame = pa.table(table).to_pandas(types_mapper=_NULLABLE.get)
    full = {
        name: dtype.numpy_dtype
        for name, dtype in frame.dtypes.items()
        if dtype in _NULLABLE.values() and frame.columns.is_unique and not frame[name].hasnans
    }
    return frame.astype(full)


def is_arrow_table(table: Any) -> bool:
    """Return whether pyarrow can read a table; a column alone is none."""
    return hasattr(table, "__arrow_c_stream__") and hasattr(table, "columns")


def indexed_frame(table: Any, name: str) -> Any:
    """Convert a table whose index must name items, or raise an error if it has no index.

    Other values are returned unchanged. Messages call the argument `name`.
    """
    frame = as_frame(table)
    if frame is table or not isinstance(frame.index, pd.RangeIndex):
        return frame
    text = (x for x in frame if not pd.api.types.is_numeric_dtype(frame[x].infer_objects().dtype))
    items = label_repr(next(text, "item"))
    convert = f"{name}.to_pandas()" if hasattr(table, "to_pandas") else f"pandas.DataFrame({name})"
    raise ValueError(
        f"The index of `{name}` must name the items, but a {type(table).__name__} of "
        f"{type(table).__module__.split('.')[0]} has no index. Give a DataFrame of pandas with the "
        f"items as its index, such as {convert}.set_index({items})."
    )
