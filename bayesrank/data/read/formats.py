"""Formats: tables, LETOR and PrefLib files, checked as they are read.

Every reader says in one sentence what is wrong with a file: which file, which line or column, and
what was expected.
"""

import io
import re
import zipfile
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bayesrank.data.read.columns import require_columns, require_names, text_numbers
from bayesrank.data.read.labels import LINE, counted, label_repr
from bayesrank.data.read.text import (
    BROKEN,
    COMPRESSED,
    TextTable,
    content,
    decoded,
    existing,
    refuse_large,
    said,
    text_table,
)

MOST_FEATURES = 2**27  # numbers of a table of features: one gigabyte
MOST_CELLS = 2**27  # cells of a Parquet file that is far smaller than they are
DENSEST = 100  # rows in a byte of such a file

# Tables

TEXT = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t", ".data": "\t", ".dat": "\t"}
BINARY = (".parquet", ".pq", ".xlsx")
_NULLABLE = {  # integers stay integers where a value is missing
    getattr(pa, name)(): pd.api.types.pandas_dtype(dtype)
    for name, dtype in [
        *((f"int{bits}", f"Int{bits}") for bits in (8, 16, 32, 64)),
        *((f"uint{bits}", f"UInt{bits}") for bits in (8, 16, 32, 64)),
        *(("float32", "Float32"), ("float64", "Float64"), ("bool_", "boolean")),
        *(("string", "string"), ("large_string", "string")),
    ]
}
KNOWN = ".csv, .tsv, .txt, .dat (also compressed), .parquet or .xlsx"


def read_table(
    path: str | Path,
    columns: Iterable[str] = (),
    *,
    numbers: Iterable[str] = (),
    encoding: str | None = None,
    separator: str | None = None,
) -> pd.DataFrame:
    """Read a table from a text file, from Parquet or from a sheet (.xlsx).

    Cells of a text file stay text, so that the labels ``007`` and ``7``, ``1e1`` and ``10`` stay
    apart, but in the columns of `numbers`. Only an empty cell is a missing value: ``NA`` is a
    label. Parquet has types of its own, which stay.

    Parameters
    ----------
    path : path
        A .csv, .tsv, .tab, .txt, .dat or .data file, plain or compressed (.gz, .bz2, .xz, .zip,
        .zst), a .parquet file, or an .xlsx file, whose first sheet is read, which needs openpyxl.
    columns : iterable of str
        Columns that must be there.
    numbers : iterable of str
        Columns of numbers, which must be there, too; an empty cell is NaN.
    encoding : str, optional
        Of a text file; by default UTF-8, or UTF-16 if it begins so.
    separator : str, optional
        Between the columns of a text file; by default what cuts most rows as it cuts the header:
        commas, semicolons, tabs or bars.

    Returns
    -------
    DataFrame
        For a text file the index, called "line", has the line that each row begins in.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is empty, in another format, does not parse, lacks a column, or a cell of
        `numbers` is no number.
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
) -> TextTable:
    """Read a table as `read_table` does, and report what was detected about the file.

    Only `columns` are read, if they are given; one that is not in the file is left out.
    """
    if separator is not None and (len(separator) != 1 or separator in '"\n\r'):
        raise ValueError(
            f"A separator must be one character, such as ';' or '|'; got {label_repr(separator)}."
        )
    path = existing(path)
    suffix = suffix_of(path)
    if suffix not in (*TEXT, *BINARY):
        raise ValueError(f"{path} is none of the tables known: {KNOWN}.")
    try:
        if suffix in TEXT:
            table = text_table(
                path, usual=TEXT[suffix], encoding=encoding, separator=separator, columns=columns
            )
        elif suffix == ".xlsx":
            sheet = _sheet(path)
            table = TextTable(sheet, sheet.columns, [])
        else:
            table = _parquet(path, columns)
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} is empty.") from None
    except ImportError:
        raise ValueError(
            f"Reading {path} needs the package openpyxl: install it (pip install openpyxl, or "
            f"bayesrank with it, pip install 'bayesrank[excel]'), or save the sheet as CSV."
        ) from None
    except BROKEN as error:
        raise ValueError(f"{path} is not a readable {suffix[1:]} table: {said(error)}") from error
    if not len(table.frame):
        raise ValueError(f"{path} has a header and no rows.")
    return table


def suffix_of(path: Path) -> str:
    """Return the suffix that says what a file is, which is not that of compression."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _parquet(path: Path, columns: Collection[str] | None) -> TextTable:
    """Read a Parquet file."""
    with pq.ParquetFile(path) as file:
        refuse_many_rows(file.metadata.num_rows, file.metadata.num_columns, path.stat().st_size)
        if columns is None:
            frame = pd.read_parquet(path, dtype_backend="numpy_nullable")
            return TextTable(frame, frame.columns, [])
        names = pd.Index(file.schema_arrow.names, dtype=object)
        chosen = [name for name in names if name in columns]
        require_names(names, chosen, "it")
        table = file.read(chosen).select(chosen)
    # what pandas writes about 100,000 columns takes longer to read than all else
    frame = table.to_pandas(types_mapper=_NULLABLE.get, ignore_metadata=True)
    return TextTable(frame, names, [])


def refuse_many_rows(n_rows: int, n_columns: int, size: int) -> None:
    """Refuse a small Parquet file, of `size` bytes, that expands to very many rows."""
    if n_rows * n_columns > MOST_CELLS and n_rows > DENSEST * size:
        raise ValueError(
            f"it has {n_rows:,} rows in {size:,} bytes, so nearly all of them are alike. Count "
            "equal rows, and write one row for each with a column for the count."
        )


def _sheet(path: Path) -> pd.DataFrame:
    """Read the first sheet, cells as text."""
    try:
        with zipfile.ZipFile(path) as archive:
            refuse_large(sum(part.file_size for part in archive.infolist()), path)
    except zipfile.BadZipFile:
        raise ValueError("it is not an Excel sheet, whatever its name says.") from None
    try:
        frame = pd.read_excel(
            path, engine="openpyxl", dtype=str, keep_default_na=False, na_values=[""]
        )
    except (ImportError, MemoryError):
        raise
    except Exception as error:  # openpyxl raises errors of many types for a broken file
        raise ValueError(f"it is not an Excel sheet, or it is broken: {said(error)}") from error
    frame.columns = pd.Index([str(name) for name in frame.columns], dtype=object)
    frame.index = pd.RangeIndex(2, len(frame) + 2, name=LINE)
    return frame.astype(object).dropna(how="all")


# Files of rankings


class Letor(NamedTuple):
    """Judged documents: one row each."""

    label: NDArray[np.float64]
    qid: NDArray[np.int64]
    features: NDArray[np.float64]


def read_letor(path: str | Path, *, n_features: int | None = None) -> Letor:
    """Read SVMlight lines ``label qid:1 1:0.5 2:0.1 ...``; see `Rankings.from_letor`."""
    # Here, and not above: it takes longer to import than all else that tables need.
    from sklearn.datasets import load_svmlight_file

    path = existing(path)
    try:
        features, label, qid = load_svmlight_file(
            io.BytesIO(content(path)), n_features=n_features, query_id=True, zero_based=False
        )
    except (*BROKEN, OverflowError) as error:  # an index of more than 31 bits
        raise ValueError(f"{path} is not a readable SVMlight file: {said(error)}") from error
    if not len(label):
        raise ValueError(f"{path} is empty.")
    if len(qid) != len(label):
        raise ValueError(
            f"{path} has {counted(len(label), 'row')} and {len(qid)} of them a qid; each row needs "
            f"one (label qid:1 1:0.5 2:0.1 ...)."
        )
    if not np.isfinite(label).all():
        row = int(np.argmin(np.isfinite(label)))
        raise ValueError(f"A label must be a finite number; {path} has {label[row]} in row {row}.")
    n_rows, n_columns = features.shape
    if n_rows * n_columns > MOST_FEATURES:
        raise ValueError(
            f"{path} names feature {n_columns:,} and has {counted(n_rows, 'row')}: a table of "
            f"{n_rows * n_columns:,} numbers, more than the {MOST_FEATURES:,} that are read. "
            f"Number the features 1, 2, ... without gaps, or read a part of the rows."
        )
    return Letor(label, qid, features.toarray())


class PreflibOrders(NamedTuple):
    """Distinct orders over numbered alternatives, with the number of voters of each."""

    alternatives: list[str]
    orderings: list[list[str | frozenset[str]]]
    voters: list[int]


PREFLIB = (".soc", ".soi", ".toc", ".toi")

MOST_DIGITS = 15  # which a float holds

_ALTERNATIVE = re.compile(r"#\s*ALTERNATIVE NAME (\d+):\s*(.*?)\s*$")
_VOTERS = re.compile(r"#\s*NUMBER VOTERS:\s*(\d+)")
_ORDER = re.compile(r"(\d+)\s*:\s*(\S.*)$")
_BLOCK = re.compile(r"\s*(?:\{([\d\s,]*)\}|(\d+))\s*(?:,|$)")


def read_preflib(path: str | Path) -> PreflibOrders:
    """Read a PrefLib file of orders (soc, soi, toc, toi); see `Rankings.from_preflib`."""
    path = existing(path)
    if suffix_of(path) not in PREFLIB:
        raise ValueError(f"{path} is none of the PrefLib orders known: .soc, .soi, .toc or .toi.")
    names: dict[int, str] = {}
    orderings: list[list[str | frozenset[str]]] = []
    voters: list[int] = []
    announced = None
    for number, line in enumerate(read_lines(path), start=1):
        if match := _ALTERNATIVE.match(line):
            alternative = _small(match[1], f"{path}, line {number}")
            if alternative in names:
                raise ValueError(f"{path}, line {number} names alternative {match[1]} again.")
            if match[2] in names.values():
                raise ValueError(
                    f"{path}, line {number} names an alternative {match[2]!r}, as another one "
                    "before: rename one of the two."
                )
            names[alternative] = match[2]
        elif match := _VOTERS.match(line):
            announced = _small(match[1], f"{path}, line {number}")
        elif match := _ORDER.match(line):
            voters.append(_small(match[1], f"{path}, line {number}"))
            orderings.append(_preflib_order(match[2], names, f"{path}, line {number}"))
        elif line.strip() and not line.startswith("#"):
            raise ValueError(
                f"{path}, line {number} must read 'count: 1,2,{{3,4}}'; got {label_repr(line)}. "
                f"Files without '# ALTERNATIVE NAME' lines are of the old format; PrefLib "
                f"offers them in the new one."
            )
    if not orderings:
        raise ValueError(f"{path} holds no order.")
    if announced is not None and announced != sum(voters):
        raise ValueError(
            f"{path} announces {counted(announced, 'voter')} and holds {sum(voters)}: it may be "
            f"cut off."
        )
    return PreflibOrders(list(names.values()), orderings, voters)


def _small(digits: str, where: str) -> int:
    """Read a number of voters or of an alternative."""
    digits = digits.strip()
    if len(digits) > MOST_DIGITS:
        raise ValueError(
            f"{where} has a number of {len(digits)} digits; numbers of voters and alternatives "
            f"have {MOST_DIGITS} or fewer. Correct it, or leave the line out."
        )
    return int(digits)


def _preflib_order(text: str, names: dict[int, str], where: str) -> list[str | frozenset[str]]:
    """Parse ``1,2,{3,4}``."""
    order: list[str | frozenset[str]] = []
    seen: set[int] = set()
    at = 0
    while at < len(text):
        match = _BLOCK.match(text, at)
        if match is None:
            raise ValueError(f"{where} is not an order such as 1,2,{{3,4}}: {label_repr(text)}.")
        numbers = [_small(n, where) for n in (match[1] or match[2] or "").split(",") if n.strip()]
        if not numbers:
            raise ValueError(f"{where} has an empty block: {label_repr(text)}.")
        for n in numbers:
            if n not in names:
                raise ValueError(f"{where} names alternative {n}, which the header does not.")
        if len(seen | set(numbers)) < len(seen) + len(numbers):
            again = next(n for n in numbers if n in seen or numbers.count(n) > 1)
            raise ValueError(f"{where} names alternative {again} twice.")
        seen |= set(numbers)
        order.append(names[numbers[0]] if match[2] else frozenset(names[n] for n in numbers))
        at = match.end()
    return order


def read_lines(path: str | Path) -> list[str]:
    """Read the lines of a text file; names may hold what Unicode calls ends of lines."""
    path = existing(path)
    try:
        text, _ = decoded(content(path))
        text = text.removeprefix("\ufeff").replace("\r\n", "\n").removesuffix("\n")
        return text.split("\n") if text else []
    except BROKEN as error:
        raise ValueError(f"{path} is not a readable text file: {said(error)}") from error
