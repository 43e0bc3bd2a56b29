"""Formats: read and check tables and PrefLib files.

If a file is broken, the error names the file, the line or column, and the expected content.
"""

import json
import zipfile
from collections.abc import Collection, Iterable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from bayesrank.data.read.columns import require_columns, require_names, text_numbers
from bayesrank.data.read.labels import LINE, label_repr
from bayesrank.data.read.text import (
    BROKEN,
    COMPRESSED,
    TextTable,
    content,
    decoded,
    existing,
    one_line,
    refuse_large,
    text_table,
)

MOST_CELLS = 2**27  # cells of a highly compressed Parquet file
DENSEST = 100  # rows per byte of such a file

# Tables

TEXT = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t", ".data": "\t", ".dat": "\t"}
BINARY = (".parquet", ".pq", ".xlsx", ".json", ".jsonl", ".ndjson")
_NULLABLE = {  # keep integers as integers even if values are missing
    getattr(pa, name)(): pd.api.types.pandas_dtype(dtype)
    for name, dtype in [
        *((f"int{bits}", f"Int{bits}") for bits in (8, 16, 32, 64)),
        *((f"uint{bits}", f"UInt{bits}") for bits in (8, 16, 32, 64)),
        *(("float32", "Float32"), ("float64", "Float64"), ("bool_", "boolean")),
        *(("string", "string"), ("large_string", "string")),
    ]
}
TABLES = (*TEXT, *BINARY)
KNOWN = ".csv, .tsv, .txt, .dat, .json, .jsonl (also compressed), .parquet or .xlsx"


def read_table(
    path: str | Path,
    columns: Iterable[str] = (),
    *,
    numbers: Iterable[str] = (),
    encoding: str | None = None,
    separator: str | None = None,
) -> pd.DataFrame:
    """Read a table from a text file, JSON, a Parquet file or an Excel sheet (.xlsx).

    Cells of a text file stay text, except in the columns `numbers`, so labels such as ``007`` and
    ``7`` remain different. Only an empty cell is a missing value: ``NA`` is a label. Columns of a
    Parquet file and values in JSON keep their types.

    Parameters
    ----------
    path : path
        A .csv, .tsv, .tab, .txt, .dat or .data file, plain or compressed (.gz, .bz2, .xz, .zip,
        .zst). A .json file has a list of objects, and a .jsonl file an object per line. A .parquet
        file; or an .xlsx file, of which the first sheet is read with openpyxl.
    columns : iterable of str
        Required columns.
    numbers : iterable of str
        Required columns of numbers; an empty cell becomes NaN.
    encoding : str, optional
        Encoding of a text file; by default UTF-8, or UTF-16 if detected.
    separator : str, optional
        Separator of the columns of a text file. By default, the one of comma, semicolon, tab and
        bar that gives most rows as many cells as the header.

    Returns
    -------
    DataFrame
        The index of a table from a text file is called "line" and gives the first line of each row.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If the file is empty, in another format, or cannot be parsed. Also if it lacks a column, or
        a cell of `numbers` is not a number.
    """
    table = table_with_findings(path, encoding=encoding, separator=separator)
    frame, numbers = table.frame, list(numbers)
    require_columns(frame, [*columns, *numbers], str(path))
    return frame.assign(**{name: text_numbers(frame[name], "number")[0] for name in numbers})


def table_with_findings(
    path: str | Path,
    *,
    encoding: str | None = None,
    separator: str | None = None,
    columns: Collection[str] | None = None,
    header: int | None = None,
) -> TextTable:
    """Read a table like `read_table`, and also report the detected format.

    If `columns` are given, only these are read; columns missing from the file are ignored. The
    header is in line `header` of a text or sheet, or nowhere if that is 0.
    """
    if separator is not None and (len(separator) != 1 or separator in '"\n\r'):
        raise ValueError(
            f"A separator must be one character, such as ';' or '|'; got {label_repr(separator)}."
        )
    path = existing(path)
    suffix = suffix_of(path)
    if suffix not in TABLES:
        raise ValueError(f"{path} is not a supported table; expected {KNOWN}.")
    try:
        if suffix in TEXT:
            table = text_table(
                path,
                usual=TEXT[suffix],
                encoding=encoding,
                separator=separator,
                columns=columns,
                header=header,
            )
        elif suffix == ".xlsx":
            sheet = _sheet(path, header)
            table = TextTable(sheet, sheet.columns, [])
        elif suffix.startswith((".json", ".nd")):
            records = _json(path, encoding)
            table = TextTable(records, records.columns, [])
        else:
            table = _parquet(path, columns)
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} is empty.") from None
    except ImportError:
        raise ValueError(
            f"Reading {path} needs the package openpyxl. Install it with "
            f"pip install 'bayesrank[excel]', or save the sheet as CSV."
        ) from None
    except BROKEN as error:
        reason = one_line(error)
        raise ValueError(f"{path} is not a readable {suffix[1:]} table: {reason}") from error
    if not len(table.frame):
        raise ValueError(f"{path} has a header but no rows.")
    return table


def suffix_of(path: Path) -> str:
    """Return the suffix of a file, without the suffix of its compression."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _parquet(path: Path, columns: Collection[str] | None) -> TextTable:
    """Read a Parquet file."""
    with pq.ParquetFile(path) as file:
        refuse_many_rows(file.metadata, path.stat().st_size)
        if columns is None:
            frame = pd.read_parquet(path, dtype_backend="numpy_nullable")
            return TextTable(frame, frame.columns, [])
        names = pd.Index(file.schema_arrow.names, dtype=object)
        chosen = [name for name in names if name in columns]
        require_names(names, chosen, "it")
        table = file.read(chosen).select(chosen)
    # for 100,000 columns, reading the metadata of pandas takes longer than everything else
    frame = table.to_pandas(types_mapper=_NULLABLE.get, ignore_metadata=True)
    return TextTable(frame, names, [])


def refuse_many_rows(found: pq.FileMetaData, size: int) -> None:
    """Refuse a small Parquet file, of `size` bytes, that expands to a huge number of rows."""
    n = found.num_rows
    if n * found.num_columns > MOST_CELLS and n > DENSEST * size:
        raise ValueError(
            f"it has {n:,} rows in {size:,} bytes, so nearly all rows are equal. Write each "
            "distinct row once, with its count in another column."
        )


def _json(path: Path, encoding: str | None) -> pd.DataFrame:
    """Read a list of objects, or an object per line; names in nested objects are joined by dots."""
    text, _ = decoded(content(path), encoding)
    try:
        found = json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if not lines:
            raise pd.errors.EmptyDataError from None
        try:
            found = [json.loads(line) for line in lines]
        except json.JSONDecodeError:
            raise ValueError(f"it is not JSON: {error}.") from None
    if isinstance(found, dict):
        lists = [value for value in found.values() if isinstance(value, list)]
        found = lists[0] if len(lists) == 1 else [found]
    if found == []:
        raise pd.errors.EmptyDataError
    if not isinstance(found, list) or not all(isinstance(record, dict) for record in found):
        raise ValueError(
            "it must contain a list of objects, one per row, such as "
            '[{"judge": "ann", "item": "ale", "stars": 5}].'
        )
    frame = pd.json_normalize(found).astype(object)
    frame.columns = frame.columns.astype(str)
    return frame.where(frame.notna() & (frame != ""))


def _sheet(path: Path, header: int | None) -> pd.DataFrame:
    """Read the first sheet, with cells as text."""
    line = 1 if header is None else header
    if not zipfile.is_zipfile(path):
        raise ValueError("it is not an Excel sheet, despite its name.")
    with zipfile.ZipFile(path) as archive:
        refuse_large(sum(part.file_size for part in archive.infolist()), path)
    try:
        frame = pd.read_excel(
            path,
            engine="openpyxl",
            header=line - 1 if line else None,
            dtype=str,
            keep_default_na=False,
            na_values=[""],
        )
    except (ImportError, MemoryError):
        raise
    except Exception as error:  # openpyxl raises errors of many types for a broken file
        reason = one_line(error)
        raise ValueError(f"it is not an Excel sheet, or it is broken: {reason}") from error
    names = [str(name) if line else f"column {n}" for n, name in enumerate(frame.columns, start=1)]
    frame.columns = pd.Index(names, dtype=object)
    frame.index = pd.RangeIndex(line + 1, len(frame) + line + 1, name=LINE)
    return frame.astype(object).dropna(how="all")
