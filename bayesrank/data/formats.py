"""Formats: tables, LETOR and PrefLib files, checked as they are read.

Every reader says in one sentence what is wrong with a file: which file, which line or column, and
what was expected.
"""

import re
from collections.abc import Iterable
from numbers import Number
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

from bayesrank.data.labels import label_repr, quoted

# Tables


def require_columns(frame: pd.DataFrame, columns: Iterable[str]) -> None:
    """Check that a table has each of these columns once.

    Parameters
    ----------
    frame : DataFrame
        The table.
    columns : iterable of str
        Names that must be there.

    Raises
    ------
    ValueError
        If a column is missing (the sentence lists those there are) or occurs twice.
    TypeError
        If `frame` is not a DataFrame.

    Examples
    --------
    >>> require_columns(pd.DataFrame({"user": [1]}), ["user"])
    """
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"Expected a pandas DataFrame; got {type(frame).__name__}.")
    for column in columns:
        times = int((frame.columns == column).sum())
        if times == 0:
            raise ValueError(
                f"The table has no column {column!r}; its columns are {quoted(frame.columns, 20)}."
            )
        if times > 1:
            raise ValueError(f"The table has {times} columns called {column!r}; rename them.")


def finite_numbers(frame: pd.DataFrame, column: str, what: str) -> NDArray[Any]:
    """Return a column of finite numbers, whole numbers as integers.

    Parameters
    ----------
    frame : DataFrame
        The table.
    column : str
        Its column.
    what : str
        What the numbers are, for messages.

    Returns
    -------
    array of bool, int or float, shape (n_rows,)

    Raises
    ------
    ValueError
        If a value is missing, infinite, or not a number; the sentence names the first row.

    Examples
    --------
    >>> finite_numbers(pd.DataFrame({"stars": [3.5, 4.0]}), "stars", "rating")
    array([3.5, 4. ])
    """
    require_columns(frame, [column])
    values = frame[column].infer_objects()
    missing = values.isna().to_numpy()
    if missing.any():
        raise ValueError(
            f"A {what} must be a finite number; column {column!r} is missing in row "
            f"{missing.argmax()}. Leave out rows without one."
        )
    if not pd.api.types.is_numeric_dtype(values.dtype):
        row = next((n for n, v in enumerate(values) if not isinstance(v, Number)), 0)
        raise ValueError(
            f"A {what} must be a finite number; column {column!r} has "
            f"{label_repr(values.iloc[row])} in row {row}. Convert the column with "
            f"pandas.to_numeric."
        )
    array = values.to_numpy()
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        row = int(np.argmin(np.isfinite(array)))
        raise ValueError(
            f"A {what} must be a finite number; column {column!r} has {array[row]} in row {row}."
        )
    return array


_READERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}


def read_table(path: str | Path, columns: Iterable[str] = ()) -> pd.DataFrame:
    """Read a table from a CSV, TSV or Parquet file.

    Only an empty cell is a missing value, so labels such as ``NA`` stay labels.

    Parameters
    ----------
    path : path
        A .csv, .tsv or .txt (tab-separated) file, plain or compressed (.gz, .bz2, .xz, .zip), or
        a .parquet file.
    columns : iterable of str
        Columns that must be there.

    Returns
    -------
    DataFrame

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is empty, of another kind, does not parse, or lacks a column.

    Examples
    --------
    >>> read_table("ratings.csv", columns=["user", "stars"])  # doctest: +SKIP
    """
    path = _existing(path)
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    kind = next((s for s in reversed(suffixes) if s in (*_READERS, ".parquet", ".pq")), None)
    if kind is None:
        raise ValueError(
            f"{path} is none of the tables known: .csv, .tsv, .txt (tab-separated) or .parquet."
        )
    try:
        if kind in _READERS:
            frame = pd.read_csv(
                path,
                sep=_READERS[kind],
                encoding="utf-8-sig",
                keep_default_na=False,
                na_values=[""],
                low_memory=False,
            )
        else:
            frame = pd.read_parquet(path)
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} is empty.") from None
    except ImportError:
        raise ValueError(
            f"Reading {path} needs the package pyarrow: install it, or write the table as CSV."
        ) from None
    except (ValueError, OSError) as error:
        raise ValueError(f"{path} is not a readable {kind[1:]} table: {error}") from error
    if not len(frame):
        raise ValueError(f"{path} has a header and no rows.")
    require_columns(frame, columns)
    return frame


# Files of rankings


class Letor(NamedTuple):
    """Judged documents: one row each."""

    label: NDArray[np.float64]
    qid: NDArray[np.int64]
    features: NDArray[np.float64]


def read_letor(path: str | Path, *, n_features: int | None = None) -> Letor:
    """Read SVMlight lines ``label qid:1 1:0.5 2:0.1 ...``.

    Parameters
    ----------
    path : path
        The file, plain or compressed (.gz, .bz2).
    n_features : int, optional
        Number of features; by default the largest one named.

    Returns
    -------
    Letor
        Labels and qids, shape (n_rows,), and features, shape (n_rows, n_features).

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is empty, does not parse, or lacks a qid.

    Examples
    --------
    >>> read_letor("S1.txt").features.shape  # doctest: +SKIP
    (2933, 46)
    """
    path = _existing(path)
    try:
        features, label, qid = load_svmlight_file(
            str(path), n_features=n_features, query_id=True, zero_based=False
        )
    except ValueError as error:
        raise ValueError(f"{path} is not a readable SVMlight file: {error}") from error
    if not len(label):
        raise ValueError(f"{path} is empty.")
    if len(qid) != len(label):
        raise ValueError(
            f"{path} has {len(label)} rows and {len(qid)} of them a qid; each row needs one "
            f"(label qid:1 1:0.5 2:0.1 ...)."
        )
    return Letor(label, qid, features.toarray())


class PreflibOrders(NamedTuple):
    """Distinct orders over numbered alternatives, with the number of voters of each."""

    alternatives: list[str]
    orderings: list[list[str | frozenset[str]]]
    voters: list[int]


_ALTERNATIVE = re.compile(r"#\s*ALTERNATIVE NAME (\d+):\s*(.*?)\s*$")
_VOTERS = re.compile(r"#\s*NUMBER VOTERS:\s*(\d+)")
_ORDER = re.compile(r"(\d+)\s*:\s*(\S.*)$")
_BLOCK = re.compile(r"\s*(?:\{([\d\s,]*)\}|(\d+))\s*(?:,|$)")


def read_preflib(path: str | Path) -> PreflibOrders:
    """Read a PrefLib file of orders (soc, soi, toc, toi).

    Parameters
    ----------
    path : path
        The file, with a header ``# ALTERNATIVE NAME 1: ...`` and rows ``count: 1,2,{3,4}``.

    Returns
    -------
    PreflibOrders

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is of another kind, empty, cut off, or has a row that does not parse.

    Examples
    --------
    >>> read_preflib("00014-00000001.soc").voters[:2]  # doctest: +SKIP
    [3, 2]
    """
    path = _existing(path)
    if path.suffix.lower() not in (".soc", ".soi", ".toc", ".toi"):
        raise ValueError(f"{path} is none of the PrefLib orders known: .soc, .soi, .toc or .toi.")
    names: dict[int, str] = {}
    orderings: list[list[str | frozenset[str]]] = []
    voters: list[int] = []
    announced = None
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), start=1):
        if match := _ALTERNATIVE.match(line):
            names[int(match[1])] = match[2]
        elif match := _VOTERS.match(line):
            announced = int(match[1])
        elif match := _ORDER.match(line):
            voters.append(int(match[1]))
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
            f"{path} announces {announced} voters and holds {sum(voters)}: it may be cut off."
        )
    return PreflibOrders(list(names.values()), orderings, voters)


def _preflib_order(text: str, names: dict[int, str], where: str) -> list[str | frozenset[str]]:
    """Parse ``1,2,{3,4}``."""
    order: list[str | frozenset[str]] = []
    at = 0
    while at < len(text):
        match = _BLOCK.match(text, at)
        if match is None:
            raise ValueError(f"{where} is not an order such as 1,2,{{3,4}}: {label_repr(text)}.")
        numbers = [int(n) for n in (match[1] or match[2] or "").split(",") if n.strip()]
        for n in numbers:
            if n not in names:
                raise ValueError(f"{where} names alternative {n}, which the header does not.")
        if len(set(numbers)) < len(numbers):
            raise ValueError(f"{where} names an alternative twice in a block.")
        order.append(names[numbers[0]] if match[2] else frozenset(names[n] for n in numbers))
        at = match.end()
    return order


def _existing(path: str | Path) -> Path:
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a file.")
    return path
