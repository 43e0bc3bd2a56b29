"""Tables in files: pyarrow reads the requested columns in batches.

Labels become categories, and numbers get the smallest type that holds them exactly. Cells of text
files stay text, only empty cells are missing, and Parquet files keep their types. Row numbers
continue from file to file.
"""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import csv, fs

from bayesrank.data.read.columns import require_columns, require_names, text_numbers
from bayesrank.data.read.formats import BINARY, KNOWN, TEXT, refuse_many_rows, suffix_of
from bayesrank.data.read.frames import TABLES, Table, as_frame
from bayesrank.data.read.labels import give_back, looked_up, quoted
from bayesrank.data.read.text import SEPARATOR_LINE, decoded, one_line, separator_of

__all__ = ["Source", "table_of"]

type Source = Table | str | Path | Sequence[str | Path] | ds.Dataset
"""A table in memory, in one or several files, in a folder, or in a pyarrow dataset."""

BATCH = 2**16  # rows
TOGETHER = 2**17  # minimum number of labels to number at a time
POOL = pa.system_memory_pool()  # it returns freed memory to the system
WHOLE = (".xlsx", ".json", ".jsonl", ".ndjson")  # formats that are not read in batches
HEAD = 2**15  # bytes of a text file used to detect its format

# Decode Parquet row groups in pieces, because a row group may have a million rows
_BUFFERED = ds.ParquetFragmentScanOptions(
    use_buffered_stream=True, buffer_size=2**16, pre_buffer=False
)

_PLAIN = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating)
_WHOLE = (np.int8, np.int16, np.int32)
_NARROWER = {"i": _WHOLE, "u": _WHOLE, "f": (np.float16, np.float32)}
_BROKEN = (pa.ArrowException, OSError, ValueError)


def table_of(
    source: Source,
    unit: str,
    *,
    labels: Iterable[str | None],
    numbers: Iterable[str | None] = (),
    optional: Collection[str | None] = (),
) -> pd.DataFrame:
    """Read columns of labels and of numbers; return a table in memory as a DataFrame.

    Columns that are `optional` are read if the table has them.

    A path is a file (.parquet, or a text file that may be compressed), a folder, or a URL that
    fsspec supports, such as ``s3://bucket/ratings/``. Files of a folder must have the same suffix;
    they are read in the order of their names. A part ``season=2025`` of a path becomes a column.
    Labels become categories, sorted unless the file defines an order. Messages call the rows
    `unit`.
    """
    label_names = [*dict.fromkeys(name for name in labels if name is not None)]
    number_names = [*dict.fromkeys(x for x in numbers if x is not None and x not in label_names)]
    frame = as_frame(source)
    if not isinstance(frame, pd.DataFrame):
        frame = _table(source, label_names, number_names, optional)
    named = [*label_names, *number_names]
    require_columns(frame, [x for x in named if x not in optional or x in frame.columns])
    if not len(frame):
        raise ValueError(f"There are no {unit}: give at least one row.")
    return frame


def _table(
    source: Any,
    label_names: list[str],
    number_names: list[str],
    optional: Collection[str | None],
) -> pd.DataFrame:
    """Read columns of files or of a dataset."""
    if isinstance(source, ds.Dataset):
        return _read(_Opened(source), "The dataset", label_names, number_names, optional)
    paths = [source] if isinstance(source, str | Path) else source
    if not isinstance(paths, list | tuple) or not all(isinstance(x, str | Path) for x in paths):
        collect = " Collect it first: frame.collect()." if hasattr(source, "collect") else ""
        raise TypeError(
            f"Expected a path, a list of paths, a pyarrow Dataset, {TABLES}; "
            f"got {type(source).__name__}.{collect}"
        )
    if not paths:
        raise ValueError("The list of paths is empty: give at least one file.")
    store, files = _files(paths)
    where = str(source) if isinstance(source, str | Path) else f"The table in {quoted(files, 2)}"
    suffix = _common_suffix(files, where)
    if suffix in WHOLE or Path(files[0]).suffix.lower() in (".xz", ".zip"):
        packed = "" if suffix in WHOLE else ", or unpack it"
        raise ValueError(
            f"{where} cannot be read in batches. Read it with br.read_rankings, br.read_matches or "
            f"br.read_choices{packed}."
        )
    try:
        opened = _open(store, files, suffix, label_names)
    except _BROKEN as error:
        reason = one_line(error)
        raise ValueError(f"{where} is not a readable {suffix[1:]} table: {reason}") from error
    return _read(opened, where, label_names, number_names, optional)


# Files


def _files(paths: Sequence[str | Path]) -> tuple[fs.FileSystem, list[str]]:
    """List the files at some paths, which must be in one store."""
    store, files = fs.LocalFileSystem(), []
    places = {str(path).rpartition("://")[0].partition("://")[0] for path in paths}
    if len(places) > 1:
        raise ValueError(f"All files must be in one store; got {quoted(map(str, paths))}.")
    for path in paths:
        at = str(path)
        if "://" in at:
            store, at = _store(at)
        found = store.get_file_info(at)
        if found.type == fs.FileType.NotFound:
            raise FileNotFoundError(f"There is no file {path}.")
        names = [at] if found.type == fs.FileType.File else _inside(store, at)
        if not names:
            raise ValueError(f"There are no files in the folder {path}.")
        files += names
    return store, files


def _inside(store: fs.FileSystem, folder: str) -> list[str]:
    """List the files in a folder, except hidden ones."""
    return sorted(
        info.path
        for info in store.get_file_info(fs.FileSelector(folder, recursive=True))
        if info.type == fs.FileType.File
        and not any(p.startswith(("_", ".")) for p in info.path[len(folder) :].split("/"))
    )


def _store(url: str) -> tuple[fs.FileSystem, str]:
    """Open the store of a URL."""
    try:
        import fsspec
    except ImportError:
        raise ValueError(
            f"Reading {url} needs the package fsspec and the package of the store. For S3, run "
            f"pip install fsspec s3fs."
        ) from None
    store, path = fsspec.core.url_to_fs(url)
    return fs.PyFileSystem(fs.FSSpecHandler(store)), path


def _common_suffix(files: Sequence[str], where: str) -> str:
    """Return the common suffix of files."""
    suffixes = sorted({suffix_of(Path(name)) for name in files})
    if len(suffixes) > 1:
        raise ValueError(
            f"{where} has files with several suffixes, {quoted(suffixes)}. Read one of them."
        )
    if suffixes[0] not in (*TEXT, *BINARY):
        raise ValueError(f"{where} is not a supported table; expected {KNOWN}.")
    return suffixes[0]


class _Opened(NamedTuple):
    """A dataset, and properties of its columns."""

    dataset: ds.Dataset
    text: Collection[str] = ()  # columns with cells of text
    encoded: Collection[str] = ()  # strings that pyarrow decodes to unordered categories


def _open(store: fs.FileSystem, files: list[str], suffix: str, labels: Sequence[str]) -> _Opened:
    """Open files with one suffix."""

    def opened(file_format: ds.FileFormat, schema: pa.Schema | None = None) -> ds.Dataset:
        return ds.dataset(files, schema, file_format, filesystem=store, partitioning="hive")

    if suffix in TEXT:
        text_format = _text_format(store, files[0], TEXT[suffix])
        cells = set(text_format.inspect(files[0], store).names)
        text = pa.dictionary(pa.int32(), pa.string())
        fields = [f.with_type(text) if f.name in cells else f for f in opened(text_format).schema]
        return _Opened(opened(text_format, pa.schema(fields)), text=cells)
    for file in files:
        metadata = pq.read_metadata(file, filesystem=store)
        refuse_many_rows(metadata, store.get_file_info(file).size)
    schema = opened(ds.ParquetFileFormat()).schema
    encoded = [f.name for f in schema if f.name in labels and pa.types.is_string(f.type)]
    return _Opened(opened(ds.ParquetFileFormat(dictionary_columns=encoded)), encoded=encoded)


def _text_format(store: fs.FileSystem, path: str, usual: str) -> ds.CsvFileFormat:
    """Detect the format of a text file from its head."""
    with store.open_input_stream(path, compression="detect") as stream:
        head = stream.read(HEAD)
    whole = len(head) < HEAD
    # the head may end inside a character of UTF-16, or inside a line of UTF-8
    text, found = decoded(head if whole or b"\0" in head[:100] else head[: head.rfind(b"\n") + 1])
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if SEPARATOR_LINE.match(text):
        raise ValueError(
            "its first line, written by Excel, declares the separator. Remove the line, or read "
            "it with br.read_rankings, br.read_matches or br.read_choices."
        )
    return ds.CsvFileFormat(
        parse_options=csv.ParseOptions(
            delimiter=separator_of(text, usual), newlines_in_values=True
        ),
        read_options=csv.ReadOptions(encoding=found.replace("-sig", "")),
        convert_options=csv.ConvertOptions(
            null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=True
        ),
    )


# Batches


def _read(
    opened: _Opened,
    where: str,
    labels: Sequence[str],
    numbers: Sequence[str],
    optional: Collection[str | None],
) -> pd.DataFrame:
    """Read columns, and concatenate their batches."""
    dataset, text, encoded = opened
    labels, numbers = (
        [x for x in names if x not in optional or x in dataset.schema.names]
        for names in (labels, numbers)
    )
    require_names(pd.Index(dataset.schema.names, dtype=object), [*labels, *numbers], where)
    for name in (*labels, *numbers):
        if pa.types.is_nested(arrow_type := dataset.schema.field(name).type):
            raise ValueError(
                f"Column {name!r} must contain text, numbers or dates; in {where} it contains "
                f"{arrow_type}. Name another column, or write its content as text."
            )
    columns: dict[str, _Labels | _Numbers | _TextNumbers | _Grades] = {}
    for name in labels:
        is_category = pa.types.is_dictionary(dataset.schema.field(name).type)
        ordered = is_category and name not in encoded and name not in text
        columns[name] = _Labels(text=name in text, ordered=ordered)
    for name in numbers:
        kind = dataset.schema.field(name).type
        if name in text:
            columns[name] = _TextNumbers(name)
        elif pa.types.is_dictionary(kind) and kind.ordered:
            columns[name] = _Grades(name)
        else:
            columns[name] = _Numbers()
    # Reading ahead takes memory, and is unnecessary for Parquet files on a local disk
    on_disk = isinstance(getattr(dataset, "filesystem", None), fs.LocalFileSystem)
    is_local = on_disk and _is_parquet(dataset)
    batches = dataset.to_batches(
        columns=list(columns),
        batch_size=BATCH,
        batch_readahead=0 if is_local else 1,
        fragment_readahead=1,
        use_threads=not is_local,
        memory_pool=POOL,
        fragment_scan_options=_BUFFERED if _is_parquet(dataset) else None,
    )
    try:
        for batch in batches:
            for name, column in columns.items():
                column.add(batch.column(name))
    except _BROKEN as error:
        raise ValueError(f"{where} cannot be read: {one_line(error)}") from error
    del batches
    give_back()
    return pd.DataFrame({name: columns.pop(name).values() for name in [*columns]}, copy=False)


def _is_parquet(dataset: ds.Dataset) -> bool:
    return isinstance(getattr(dataset, "format", None), ds.ParquetFileFormat)


class _Labels:
    """A column of labels: the distinct labels, and the position of each row among them.

    Each batch has separate labels and positions. Waiting batches are merged from time to time.
    """

    def __init__(self, *, text: bool, ordered: bool) -> None:
        self.text = text
        self.ordered = ordered  # whether the file defines the order
        self.waiting: list[pa.DictionaryArray] = []
        self.names: pa.Array | None = None  # distinct, by first appearance
        self.last: pa.Array | None = None  # the labels of the last batch; `table` has positions
        self.table: NDArray[Any] = np.empty(0, dtype=np.int8)
        self.codes = np.empty(0, dtype=np.int8)  # positions in `names`, -1 where missing

    def add(self, array: pa.Array) -> None:
        if pa.types.is_null(array.type):
            array = array.cast(pa.string())
        if not pa.types.is_dictionary(array.type):
            array = pc.dictionary_encode(array, memory_pool=POOL)
        if not self.waiting and self.last is not None and array.dictionary.equals(self.last):
            self._append(array)  # all batches of a Parquet row group share their labels
            return
        self.waiting.append(array)
        n_known = 0 if self.names is None else len(self.names)
        if sum(len(x.dictionary) for x in self.waiting) >= max(n_known, TOGETHER):
            self._number()

    def _number(self) -> None:
        """Assign numbers to the labels of the waiting batches; new labels get the next ones."""
        give_back()
        labels = pa.concat_arrays([x.dictionary for x in self.waiting], POOL)
        if self.names is None:
            self.names = labels[:0]
        places = pc.index_in(labels, value_set=self.names, memory_pool=POOL)
        if places.null_count:
            new = pc.unique(labels.filter(places.is_null()), memory_pool=POOL)
            self.names = pa.concat_arrays([self.names, new], POOL)
            places = pc.index_in(labels, value_set=self.names, memory_pool=POOL)
        places = places.to_numpy()
        self.codes = self.codes.astype(np.min_scalar_type(-len(self.names) - 1), copy=False)
        done = 0
        for array in self.waiting:
            n, self.last = len(array.dictionary), array.dictionary
            self.table = np.append(places[done : done + n], -1)
            self._append(array)
            done += n
        self.waiting = []

    def _append(self, array: pa.DictionaryArray) -> None:
        """Append the positions of a batch to one array; many arrays would fragment memory."""
        indices = array.indices.cast(pa.int64(), memory_pool=POOL).fill_null(-1)
        self.codes.resize(len(self.codes) + len(array), refcheck=False)
        self.codes[len(self.codes) - len(array) :] = self.table[indices.to_numpy()]

    def coded(self) -> tuple[NDArray[np.signedinteger], pd.Index]:
        """Return codes and labels, sorted unless the file defines an order; free the batches."""
        if self.waiting:
            self._number()
        if self.names is None:
            return np.empty(0, dtype=np.int8), pd.Index([])
        names = pd.Index(self.names.to_pandas(), tupleize_cols=False)
        if self.text:
            names = names.str.strip()
            names = names.where(names != "")
        place, distinct = pd.factorize(names)  # missing labels get -1
        if not self.ordered:
            order = np.asarray(distinct.argsort())
            rank = np.empty(len(order), dtype=np.int64)
            rank[order] = np.arange(len(order))
            place, distinct = np.append(rank, -1)[place], distinct.take(order)
        codes, self.codes = self.codes, np.empty(0, dtype=np.int8)
        looked_up(np.append(place, -1).astype(codes.dtype), codes, out=codes)
        give_back()
        return codes, distinct

    def values(self) -> Any:
        return pd.Categorical.from_codes(*self.coded())


class _Grades:
    """A column of ordered categories."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.categories: pa.Array | None = None
        self.codes: list[NDArray[Any]] = []

    def add(self, array: pa.DictionaryArray) -> None:
        if self.categories is None:
            self.categories = array.dictionary
        elif not array.dictionary.equals(self.categories):
            raise ValueError(
                f"column {self.name!r} has several lists of ordered categories. Read the files "
                "with pandas, and give the column one list"
            )
        self.codes.append(array.indices.cast(pa.int32()).fill_null(-1).to_numpy())

    def values(self) -> Any:
        if self.categories is None:
            return pd.Categorical([], ordered=True)
        categories = pd.Index(self.categories.to_pandas())
        return pd.Categorical.from_codes(np.concatenate(self.codes), categories, ordered=True)


class _TextNumbers:
    """A column of numbers written as text."""

    def __init__(self, name: str) -> None:
        self.name, self.text = name, _Labels(text=True, ordered=False)
        self.add = self.text.add

    def values(self) -> Any:
        codes, names = self.text.coded()
        try:
            found, _ = text_numbers(pd.Series(names, name=self.name, dtype=object), "number")
        except ValueError:  # read all rows, so that the message names the row
            rows = pd.Categorical.from_codes(codes, names)
            return text_numbers(pd.Series(rows, name=self.name), "number")[0]
        values = found.to_numpy()
        if (codes < 0).any():
            values = np.append(values.astype(np.float64), np.nan)
        return looked_up(_narrow(values), codes)


class _Numbers:
    """A column of numbers; each batch gets the smallest type that holds it exactly."""

    def __init__(self) -> None:
        self.numbers: list[NDArray[Any]] = []
        self.others: list[pd.Series] = []

    def add(self, array: pa.Array) -> None:
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        arrow_type = array.type
        if pa.types.is_decimal(arrow_type):
            array = array.cast(pa.float64())
        elif pa.types.is_boolean(arrow_type) and array.null_count:
            array = array.cast(pa.int8())
        elif not any(is_type(arrow_type) for is_type in _PLAIN):
            self.others.append(array.to_pandas())  # needed for the error message
            return
        self.numbers.append(_narrow(array.to_numpy(zero_copy_only=False)))

    def values(self) -> Any:
        if self.others:
            return pd.concat(self.others, ignore_index=True)
        return np.concatenate(self.numbers) if self.numbers else np.empty(0)


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of the numbers, in the smallest type that holds them exactly."""
    for dtype in _NARROWER.get(values.dtype.kind, ()):
        with np.errstate(over="ignore"):
            fewer = values.astype(dtype)
        if np.array_equal(fewer, values, equal_nan=True):
            return fewer
    return values.copy()
