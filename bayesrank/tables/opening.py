"""Open a table: named columns of text as it is written, with line numbers."""

from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bayesrank.data.read.formats import PREFLIB, read_preflib, suffix_of, table_with_findings
from bayesrank.data.read.labels import LINE, ROW, counted

__all__ = ["Orders", "Table", "is_orders", "label_text", "open_orders", "open_table"]

FORMATS = {b"PAR1": ".parquet", b"PK\x03\x04": ".xlsx", b"{": ".json", b"[": ".json"}


class Table:
    """An opened table: named columns of text as it is written, with line numbers."""

    def __init__(
        self,
        name: str,
        frame: pd.DataFrame,
        names: pd.Index,
        notes: list[str],
        rows_are: str = LINE,
    ) -> None:
        self.name, self.names, self.notes, self.rows_are = name, names, notes, rows_are
        self._frame = frame

    def cells(self, columns: Collection[str] | None = None) -> pd.DataFrame:
        """Return the cells of some columns, or of all."""
        if columns is None:
            return self._frame.copy()
        return self._frame.loc[:, [name in columns for name in self._frame.columns]].copy()


def open_table(
    source: Any,
    *,
    encoding: str | None = None,
    separator: str | None = None,
    header: int | None = None,
) -> Table:
    """Open a path, a data frame or a list of dicts."""
    if isinstance(source, Table):
        return source
    if isinstance(source, str | Path):
        separator = {"tab": "\t", "\\t": "\t"}.get(separator or "", separator)
        found = table_with_findings(source, encoding=encoding, separator=separator, header=header)
        notes = []
        if found.findings:
            notes.append(f"{source} is read with {', '.join(found.findings)}.")
        if found.spaces:
            notes.append(f"Removed spaces around {counted(found.spaces, 'cell')}.")
        frame = found.frame if found.frame.index.name == LINE else found.frame.rename_axis(LINE)
        return Table(str(source), frame, found.names, notes)
    if hasattr(source, "__arrow_c_stream__") and not isinstance(source, pd.DataFrame):
        import pyarrow as pa

        source = pa.table(source).to_pandas()
    frame = pd.DataFrame(source)
    frame = frame.set_axis(pd.RangeIndex(len(frame), name=ROW))
    frame.columns = pd.Index([str(name) for name in frame.columns], dtype=object)
    for name in frame.columns[frame.dtypes == object]:
        frame[name] = frame[name].map(lambda x: x.strip() or np.nan if isinstance(x, str) else x)
    return Table("the table", frame, frame.columns, [], ROW)


def label_text(values: pd.Series) -> pd.Series:
    """Return labels as they are written; missing ones stay NaN."""
    codes, distinct = pd.factorize(values)
    labels = np.array(
        [*map(str, distinct.tolist() if hasattr(distinct, "tolist") else distinct), np.nan],
        dtype=object,
    )
    return pd.Series(labels[codes], values.index, name=values.name, dtype=object)


class Orders(NamedTuple):
    """Orders of a file that has no columns."""

    alternatives: list[str]
    orderings: list[list[str | frozenset[str]]]
    voters: list[int]
    rest: Any
    notes: list[str]


def is_orders(source: Any) -> bool:
    """Whether a source is a file of orders: PrefLib, BLT or the Condorcet election format."""
    return isinstance(source, str | Path) and suffix_of(Path(source)) in (*PREFLIB, ".blt")


def open_orders(source: Any) -> Orders:
    """Read a file of orders."""
    orders = read_preflib(source)
    return Orders(*orders, rest=None, notes=[])
