"""Formats: tables, LETOR and PrefLib files, checked as they are read.

Every reader says in one sentence what is wrong with a file: which file, which line or column, and
what was expected.
"""

import re
import warnings
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

from bayesrank.data.read.columns import require_columns
from bayesrank.data.read.labels import counted, label_repr

# Tables

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
# What the readers raise for a file that is broken, cut off or not what its name says.
_BROKEN = (ValueError, OSError, EOFError, zlib.error, zipfile.BadZipFile)


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
    kind = next((s for s in reversed(suffixes) if s in (*_SEPARATORS, ".parquet", ".pq")), None)
    if kind is None:
        raise ValueError(
            f"{path} is none of the tables known: .csv, .tsv, .txt (tab-separated) or .parquet."
        )
    try:
        frame = (
            _read_text(path, _SEPARATORS[kind]) if kind in _SEPARATORS else pd.read_parquet(path)
        )
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} is empty.") from None
    except ImportError:
        raise ValueError(
            f"Reading {path} needs the package pyarrow: install it, or write the table as CSV."
        ) from None
    except pd.errors.ParserWarning:
        raise ValueError(f"{path} has rows with more fields than its header has names.") from None
    except _BROKEN as error:
        raise ValueError(f"{path} is not a readable {kind[1:]} table: {error}") from error
    if not len(frame):
        raise ValueError(f"{path} has a header and no rows.")
    require_columns(frame, columns, str(path))
    return frame


def _read_text(path: Path, separator: str) -> pd.DataFrame:
    with warnings.catch_warnings():
        # Without index_col=False a row with more fields than the header shifts all columns in
        # silence; with it pandas warns that it loses data.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return pd.read_csv(
            path,
            sep=separator,
            index_col=False,
            encoding="utf-8-sig",
            keep_default_na=False,
            na_values=[""],
            low_memory=False,
        )


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
    except _BROKEN as error:
        raise ValueError(f"{path} is not a readable SVMlight file: {error}") from error
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
    for number, line in enumerate(read_lines(path), start=1):
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
            f"{path} announces {counted(announced, 'voter')} and holds {sum(voters)}: it may be "
            f"cut off."
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
        if not numbers:
            raise ValueError(f"{where} has an empty block: {label_repr(text)}.")
        for n in numbers:
            if n not in names:
                raise ValueError(f"{where} names alternative {n}, which the header does not.")
        if len(set(numbers)) < len(numbers):
            raise ValueError(f"{where} names an alternative twice in a block.")
        order.append(names[numbers[0]] if match[2] else frozenset(names[n] for n in numbers))
        at = match.end()
    return order


def read_lines(path: str | Path) -> list[str]:
    """Read the lines of a text file."""
    path = _existing(path)
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except _BROKEN as error:
        raise ValueError(f"{path} is not a readable text file: {error}") from error


def _existing(path: str | Path) -> Path:
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a file.")
    return path
