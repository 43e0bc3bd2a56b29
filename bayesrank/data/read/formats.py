"""Formats: which files are tables, by their suffixes."""

from pathlib import Path

import pyarrow.parquet as pq

from bayesrank.data.read.text import COMPRESSED

MOST_CELLS = 2**27  # cells of a highly compressed Parquet file
DENSEST = 100  # rows per byte of such a file

TEXT = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t", ".data": "\t", ".dat": "\t"}
BINARY = (".parquet", ".pq", ".xlsx", ".json", ".jsonl", ".ndjson")
TABLES = (*TEXT, *BINARY)
KNOWN = ".csv, .tsv, .txt, .dat, .json, .jsonl (also compressed), .parquet or .xlsx"


def suffix_of(path: Path) -> str:
    """Return the suffix of a file, without the suffix of its compression."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def refuse_many_rows(found: pq.FileMetaData, size: int) -> None:
    """Refuse a small Parquet file, of `size` bytes, that expands to a huge number of rows."""
    n = found.num_rows
    if n * found.num_columns > MOST_CELLS and n > DENSEST * size:
        raise ValueError(
            f"it has {n:,} rows in {size:,} bytes, so nearly all rows are equal. Write each "
            "distinct row once, with its count in another column."
        )
