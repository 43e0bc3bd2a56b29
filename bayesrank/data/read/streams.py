"""Streams: tables that are not in memory, read a batch at a time.

Of a table in files (Parquet or text, one or many, here or in a store) only the columns that are
asked for are read, and of a batch only small integers are kept: labels become categories, and
numbers take the narrowest type that holds them exactly. Ten million ratings so take 100 MB at most,
and no row is ever an object of Python.

What is read is what `read_table` would read: cells of text stay text, only an empty one is missing,
and Parquet has types of its own. Rows are counted on from file to file.
"""

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from numpy.typing import NDArray
from pyarrow import csv, fs

from bayesrank.data.read.columns import require_names, text_numbers
from bayesrank.data.read.formats import BINARY, KNOWN, TEXT, kind_of, read_table
from bayesrank.data.read.labels import AT_A_TIME, give_back, looked_up, quoted
from bayesrank.data.read.text import SAID, decoded, said, separator_of

__all__ = ["Source", "table_of"]

type Source = pd.DataFrame | str | Path | Sequence[str | Path] | ds.Dataset
"""A table: in memory, or in one file, in several, in a folder, or as pyarrow knows it."""

BATCH = 2**16 - 1  # rows, so that the number of a label within a batch takes two bytes
MISSING = BATCH  # the number of none
AT_LEAST = 2**17  # labels that join the others together
PATIENCE = 2.0  # seconds without a word
HEAD = 2**15  # bytes of a text that are looked at
POOL = pa.system_memory_pool()  # whose pieces are the system's, as NumPy's are

# Not all rows of a group, a million, say, before the first of them is decoded
_BIT_BY_BIT = ds.ParquetFragmentScanOptions(
    use_buffered_stream=True, buffer_size=2**16, pre_buffer=False
)

_PLAIN = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating)
_BROKEN = (pa.ArrowException, OSError, ValueError)


def table_of(
    source: Source, *, labels: Iterable[str | None], numbers: Iterable[str | None] = ()
) -> pd.DataFrame:
    """Read the columns of a table that is not in memory; one that is stays as it is.

    Parameters
    ----------
    source : DataFrame, path, sequence of paths, or pyarrow.dataset.Dataset
        A path is that of a file (.parquet; or text, .csv, .tsv, .txt, .dat, also compressed), of a
        folder of such files of one kind, in the order of their names, or a URL that fsspec knows,
        such as ``s3://bucket/ratings/``. A part ``season=2025`` of a path is a column.
    labels : iterable of str
        Columns of labels; None is left out.
    numbers : iterable of str
        Columns of numbers.

    Returns
    -------
    DataFrame
        Labels are categories, sorted unless the file has an order of its own.

    Raises
    ------
    FileNotFoundError
        If there is nothing at a path.
    ValueError
        If files are of several kinds or of one that is not known, do not parse, or lack a column.
    TypeError
        If `source` is none of these.
    """
    if isinstance(source, pd.DataFrame):
        return source
    of_labels = [*dict.fromkeys(name for name in labels if name is not None)]
    of_numbers = [*dict.fromkeys(x for x in numbers if x is not None and x not in of_labels)]
    if isinstance(source, ds.Dataset):
        return _read(_Opened(source), "The dataset", of_labels, of_numbers)
    listed = [source] if isinstance(source, str | Path) else source
    if not isinstance(listed, list | tuple) or not all(isinstance(x, str | Path) for x in listed):
        raise TypeError(
            f"Expected a table: a pandas DataFrame, a path, a list of paths, or a pyarrow Dataset; "
            f"got {type(source).__name__}."
        )
    if not listed:
        raise ValueError("There are no files: the list of paths is empty.")
    store, files = _files(listed)
    where = str(source) if isinstance(source, str | Path) else f"The table in {quoted(files, 2)}"
    kinds = sorted({kind_of(Path(name)) for name in files})
    if len(kinds) > 1:
        raise ValueError(f"{where} has files of several kinds, {quoted(kinds)}: read one kind.")
    kind = kinds[0]
    if kind not in (*TEXT, *BINARY):
        raise ValueError(f"{where} is none of the tables known: {KNOWN}.")
    if kind == ".xlsx" or Path(files[0]).suffix.lower() in (".xz", ".zip"):
        if len(files) > 1:
            raise ValueError(
                f"{where} has files that can only be read whole: read each with "
                f"bayesrank.data.read_table, and put them together with pandas.concat."
            )
        return read_table(files[0], of_labels, numbers=of_numbers)
    try:
        opened = _open(store, files, kind, of_labels)
    except _BROKEN as error:
        raise ValueError(f"{where} is not a readable {kind[1:]} table: {said(error)}") from error
    return _read(opened, where, of_labels, of_numbers)


# Files


def _files(paths: Sequence[str | Path]) -> tuple[fs.FileSystem, list[str]]:
    """Find the files at some paths, in one store."""
    store, files = fs.LocalFileSystem(), []
    places = {str(path).rpartition("://")[0].partition("://")[0] for path in paths}
    if len(places) > 1:
        raise ValueError(f"Files must be in one place; {quoted(map(str, paths))} are in several.")
    for path in paths:
        at = str(path)
        if "://" in at:
            store, at = _store(at)
        found = store.get_file_info(at)
        if found.type == fs.FileType.NotFound:
            raise FileNotFoundError(f"There is no file {path}.")
        if found.type == fs.FileType.File:
            files.append(at)
            continue
        inside = store.get_file_info(fs.FileSelector(at, recursive=True))
        names = sorted(
            info.path
            for info in inside
            if info.type == fs.FileType.File
            and not any(p.startswith(("_", ".")) for p in info.path[len(at) :].split("/"))
        )
        if not names:
            raise ValueError(f"There are no files in the folder {path}.")
        files += names
    return store, files


def _store(url: str) -> tuple[fs.FileSystem, str]:
    """Open the store that a URL is in."""
    try:
        import fsspec
    except ImportError:
        raise ValueError(
            f"Reading {url} needs the package fsspec, and that of the store (pip install fsspec "
            f"s3fs, say)."
        ) from None
    store, path = fsspec.core.url_to_fs(url)
    return fs.PyFileSystem(fs.FSSpecHandler(store)), path


class _Opened(NamedTuple):
    """What batches come from."""

    dataset: ds.Dataset
    text: Collection[str] = ()  # columns whose cells are written as text
    encoded: Sequence[str] = ()  # columns of strings that are decoded to categories, in no order


def _open(store: fs.FileSystem, files: list[str], kind: str, labels: Sequence[str]) -> _Opened:
    """Open files of one kind."""

    def of(form: ds.FileFormat, schema: pa.Schema | None = None) -> ds.Dataset:
        return ds.dataset(files, schema, form, filesystem=store, partitioning="hive")

    if kind in TEXT:
        form = _text_format(store, files[0], TEXT[kind])
        cells = set(form.inspect(files[0], store).names)
        found = of(form).schema
        kinds = [f.with_type(pa.string()) if f.name in cells else f for f in found]
        return _Opened(of(form, pa.schema(kinds)), text=cells)
    found = of(ds.ParquetFileFormat()).schema
    encoded = [f.name for f in found if f.name in labels and pa.types.is_string(f.type)]
    # As categories, which Parquet has them as, strings take a third of the room
    return _Opened(of(ds.ParquetFileFormat(dictionary_columns=encoded)), encoded=encoded)


def _text_format(store: fs.FileSystem, path: str, usual: str) -> ds.CsvFileFormat:
    """Find out how a text is written, as `read_table` does, from its head."""
    with store.open_input_stream(path, compression="detect") as stream:
        head = stream.read(HEAD)
    whole = len(head) < HEAD
    # of UTF-16 the last byte, of UTF-8 the last line may be cut
    text, found = decoded(head if whole or b"\0" in head[:100] else head[: head.rfind(b"\n") + 1])
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if SAID.match(text):
        raise ValueError(
            "its first line says what separates the columns, as Excel does: leave it out, or read "
            "the file with bayesrank.data.read_table"
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
    opened: _Opened, where: str, labels: Sequence[str], numbers: Sequence[str]
) -> pd.DataFrame:
    """Read columns, and put their batches together."""
    dataset, text, encoded = opened
    names = pd.Index(dataset.schema.names, dtype=object)
    require_names(names, [*labels, *numbers], where)
    for name in (*labels, *numbers):
        if pa.types.is_nested(kind := dataset.schema.field(name).type):
            raise ValueError(
                f"Column {name!r} must hold text, numbers or dates; in {where} it holds {kind}. "
                "Name another column, or write its content as text."
            )
    columns: dict[str, _Labels | _Numbers | _TextNumbers] = {}
    for name in labels:
        ordered = pa.types.is_dictionary(dataset.schema.field(name).type) and name not in encoded
        columns[name] = _Labels(text=name in text, ordered=ordered)
    for name in numbers:
        columns[name] = _TextNumbers(name) if name in text else _Numbers()
    # What is read ahead waits in memory, so that little is; and of Parquet that is here, nothing
    here = isinstance(getattr(dataset, "filesystem", None), fs.LocalFileSystem)
    bit_by_bit = here and _is_parquet(dataset)
    batches = dataset.to_batches(
        columns=list(columns),
        batch_size=BATCH,
        memory_pool=POOL,
        batch_readahead=0 if bit_by_bit else 2,
        fragment_readahead=1,
        use_threads=not bit_by_bit,
        fragment_scan_options=_BIT_BY_BIT if bit_by_bit else None,
    )
    try:
        for batch in _watched(batches, dataset):
            for name, column in columns.items():
                column.add(batch.column(name))
    except _BROKEN as error:
        raise ValueError(f"{where} cannot be read: {said(error)}") from error
    batch = batches = None  # and what the reader keeps beside them
    give_back()
    read = {name: columns.pop(name).values() for name in [*columns]}
    give_back()
    return pd.DataFrame(read, copy=False)


def _is_parquet(dataset: ds.Dataset) -> bool:
    return isinstance(getattr(dataset, "format", None), ds.ParquetFileFormat)


def _watched(batches: Iterable[pa.RecordBatch], dataset: ds.Dataset) -> Iterator[pa.RecordBatch]:
    """Yield batches of at most so many rows, and show how far they are once that takes a while."""
    from rich.console import Console
    from rich.progress import Progress

    began, done = time.monotonic(), 0
    with ExitStack() as stack:
        bar: Progress | None = None
        for batch in batches:
            for start in range(0, len(batch), BATCH):
                yield batch.slice(start, BATCH)
            done += len(batch)
            if bar is None and time.monotonic() - began > PATIENCE:
                # of other formats, only reading them tells how many rows there are
                counts = _is_parquet(dataset)
                bar = stack.enter_context(Progress(console=Console(stderr=True), transient=True))
                bar.add_task("Reading", total=dataset.count_rows() if counts else None)
            if bar is not None:
                bar.update(bar.task_ids[0], completed=done)


class _Growing:
    """Numbers that come a batch at a time, in one array.

    A small array for each batch, among all that comes and goes, leaves holes in memory that are
    several times as large.
    """

    def __init__(self, dtype: Any) -> None:
        self.kept: NDArray[Any] = np.empty(0, dtype=dtype)
        self.n = 0

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.kept.dtype

    def add(self, values: NDArray[Any]) -> None:
        begin, self.n = self.n, self.n + len(values)
        if self.n > len(self.kept):  # in its place where there is room behind it
            self.kept.resize(self.n + self.n // 32 + AT_A_TIME, refcheck=False)
        self.kept[begin : self.n] = values

    def all(self) -> NDArray[Any]:
        self.kept.resize(self.n, refcheck=False)
        return self.kept


class _Labels:
    """A column of labels: the distinct ones, and for each row a number of these.

    Each batch has its own at first. They join the others when they are as many, so that all of
    them are looked at some few times, however often each one comes.
    """

    def __init__(self, *, text: bool, ordered: bool) -> None:
        self.text = text
        self.ordered = ordered  # as its categories are in the file
        self.known: pa.Array | None = None
        # Numbers among the labels of a batch; once these have joined, among those that are known.
        # What is missing has the last number of a table, 65,535 or -1
        self.codes = _Growing(np.uint16)
        self.waiting: list[tuple[_OfFile | pa.Array, slice]] = []  # labels, and the rows of these
        self.n_waiting = 0

    def add(self, array: pa.Array) -> None:
        if pa.types.is_null(array.type):
            array = array.cast(pa.string())
        if pa.types.is_dictionary(array.type):
            if self.ordered and self.known is None:  # all of them, before those of the first batch
                self.known = array.dictionary.dictionary_encode().dictionary
            self._add_of_file(array)
        else:
            coded = pc.dictionary_encode(array, memory_pool=POOL)
            self._wait(coded.dictionary, len(coded.dictionary), _positions(coded.indices))
        if self.n_waiting > max(len(self.known or ()), AT_LEAST):
            self.join()

    def _add_of_file(self, array: pa.DictionaryArray) -> None:
        """Add what is coded already, as in a file, of which many batches have the same labels."""
        last = self.waiting[-1][0] if self.waiting else None
        of_file = last if isinstance(last, _OfFile) and last.has(array.dictionary) else None
        if of_file is None:
            of_file = _OfFile(array.dictionary)
            if self.codes.n > AT_LEAST:  # the last part of the file has left its pieces
                give_back()
        if len(array.dictionary) > MISSING:
            self._widen()
        before = of_file.n
        codes = of_file.numbers(_positions(array.indices))
        if of_file is last:
            begin = self.waiting.pop()[1].start
            self.waiting.append((of_file, slice(begin, self.codes.n + len(codes))))
            self.codes.add(codes.astype(self.codes.dtype))
            self.n_waiting += of_file.n - before
        else:
            self._wait(of_file, of_file.n, codes)

    def _wait(self, labels: "_OfFile | pa.Array", n: int, codes: NDArray[Any]) -> None:
        if self.known is None:
            self.known = labels.all()[:0] if isinstance(labels, _OfFile) else labels[:0]
        self.waiting.append((labels, slice(self.codes.n, self.codes.n + len(codes))))
        self.codes.add(codes.astype(self.codes.dtype))
        self.n_waiting += n

    def _widen(self) -> None:
        """Give the codes four bytes each."""
        if self.codes.dtype == np.uint16:
            wide = np.append(np.arange(MISSING, dtype=np.int32), np.int32(-1))
            self.codes.kept = looked_up(wide, self.codes.kept)

    def join(self) -> None:
        """Give labels that wait their numbers among those that are known."""
        assert self.known is not None  # for the type checker: some have come
        # of what is put together nothing is kept, which would be most of the memory at this moment
        every, end = [self.known], len(self.known)
        waiting: list[tuple[int, slice]] = []
        while self.waiting:  # which has the first
            labels, rows = self.waiting.pop(0)
            every.append(labels.all() if isinstance(labels, _OfFile) else labels)
            waiting.append((len(every[-1]), rows))
        self.known, labels = None, None
        every = [pa.concat_arrays(every, memory_pool=POOL)]
        coded = pc.dictionary_encode(every.pop(), memory_pool=POOL)
        place, self.known = _positions(coded.indices), coded.dictionary
        if len(self.known) > MISSING:
            self._widen()
        kept = self.codes.kept
        # the last number is that of what is missing
        longest = max((n for n, _ in waiting), default=0)
        table = np.full(max(longest, MISSING) + 1, -1).astype(kept.dtype)
        for n, rows in waiting:
            begin, end = end, end + n
            table[:n] = place[begin:end].astype(kept.dtype)
            for a in range(rows.start, rows.stop, AT_A_TIME):
                part = slice(a, min(a + AT_A_TIME, rows.stop))
                kept[part] = table[kept[part]]
        self.n_waiting = 0
        if self.codes.n > AT_LEAST:
            give_back()

    def coded(self) -> tuple[NDArray[np.signedinteger], pd.Index]:
        """Put the batches together, sorted unless there is an order; what was kept is gone."""
        if self.known is None:
            return np.empty(0, dtype=np.int8), pd.Index([])
        self.join()
        known, self.known = self.known, None  # there is no other use of it
        names = pd.Index(known.to_pandas(), tupleize_cols=False)
        if self.text:
            names = names.str.strip()
            names = names.where(names != "")
        if self.text or known.null_count:
            place, distinct = pd.factorize(names)  # to -1 what is missing
        else:
            place, distinct = np.arange(len(names)), names
        del known, names
        if not self.ordered:
            order = np.asarray(distinct.argsort())
            rank = np.empty(len(order), dtype=np.int64)
            rank[order] = np.arange(len(order))
            place, distinct = np.append(rank, -1)[place], distinct.take(order)
        dtype = np.min_scalar_type(-len(distinct) - 1)
        table = np.full(max(len(place), MISSING) + 1, -1, dtype=dtype)
        table[: len(place)] = place
        codes = self.codes.all()
        self.codes = _Growing(np.uint16)
        if codes.dtype.itemsize != dtype.itemsize:
            return looked_up(table, codes), distinct
        return looked_up(table, codes, out=codes.view(dtype)), distinct

    def values(self) -> Any:
        return pd.Categorical.from_codes(*self.coded())


class _OfFile:
    """Labels of a file, or of a part of it, that rows use: of all that stand in its dictionary."""

    def __init__(self, dictionary: pa.Array) -> None:
        self.dictionary = dictionary
        self.number = np.full(len(dictionary) + 1, -1, dtype=np.int32)  # the last: what is missing
        self.used: list[NDArray[np.int32]] = []
        self.n = 0

    def has(self, dictionary: pa.Array) -> bool:
        """Whether these are the same labels, and not only equal ones, which would take longer."""
        return (len(dictionary), dictionary.offset, _addresses(dictionary)) == (
            len(self.dictionary),
            self.dictionary.offset,
            _addresses(self.dictionary),
        )

    def numbers(self, positions: NDArray[Any]) -> NDArray[np.int32]:
        """Give numbers to the labels at some positions, -1 where there is none."""
        here = np.zeros(len(self.number), dtype=bool)
        here[positions] = True
        new = np.flatnonzero(here[:-1] & (self.number[:-1] < 0)).astype(np.int32)
        self.number[new] = np.arange(self.n, self.n + len(new))
        self.used.append(new)
        self.n += len(new)
        return self.number[positions]

    def all(self) -> pa.Array:
        """Return the labels in the order of their numbers."""
        return pc.take(self.dictionary, pa.array(np.concatenate(self.used)), memory_pool=POOL)


def _addresses(array: pa.Array) -> list[int | None]:
    return [None if x is None else x.address for x in array.buffers()]


class _TextNumbers:
    """A column of numbers that are written as text."""

    def __init__(self, name: str) -> None:
        self.name, self.text = name, _Labels(text=True, ordered=False)
        self.add = self.text.add

    def values(self) -> Any:
        codes, names = self.text.coded()
        try:
            found, _ = text_numbers(pd.Series(names, name=self.name, dtype=object), "number")
        except ValueError:  # once more for the row that the sentence names
            rows = pd.Categorical.from_codes(codes, names)
            return text_numbers(pd.Series(rows, name=self.name), "number")[0]
        values = found.to_numpy()
        if (codes < 0).any():
            values = np.append(values.astype(np.float64), np.nan)
        return looked_up(_narrow(values), codes)


class _Numbers:
    """A column of numbers, each batch in the narrowest type that holds it exactly."""

    def __init__(self) -> None:
        self.numbers = _Growing(np.bool_)
        self.others: list[pd.Series] = []

    def add(self, array: pa.Array) -> None:
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        kind = array.type
        if pa.types.is_decimal(kind):
            array = array.cast(pa.float64())
        elif pa.types.is_boolean(kind) and array.null_count:
            array = array.cast(pa.int8())
        elif not any(is_kind(kind) for is_kind in _PLAIN):
            self.others.append(array.to_pandas())  # for the sentence that refuses it
            return
        values = _narrow(array.to_numpy(zero_copy_only=False))
        if not self.numbers.n:
            self.numbers = _Growing(values.dtype)
        dtype = np.result_type(self.numbers.dtype, values.dtype)
        if dtype != self.numbers.dtype:
            self.numbers.kept = self.numbers.kept.astype(dtype)
        self.numbers.add(values)

    def values(self) -> Any:
        """Put the batches together; what was kept is gone."""
        if self.others:
            return pd.concat(self.others, ignore_index=True)
        return self.numbers.all() if self.numbers.n else np.empty(0)


def _positions(indices: pa.Array) -> NDArray[Any]:
    """Numbers of labels, -1 of what is missing."""
    if indices.null_count:
        indices = indices.cast(pa.int64()).fill_null(-1)
    return indices.to_numpy(zero_copy_only=False)


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Return the same numbers in the narrowest type of their kind."""
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        for whole in (np.int8, np.int16, np.int32):
            if np.iinfo(whole).min <= low and high <= np.iinfo(whole).max:
                return values.astype(whole)
    if values.dtype.kind == "f":
        for real in (np.float16, np.float32):
            with np.errstate(over="ignore"):
                fewer = values.astype(real)
            if np.array_equal(fewer, values, equal_nan=True):
                return fewer
    return values
