"""Grouping: sort entries by row in little memory.

Entries are counted, placed and sorted one stretch at a time. The temporary arrays do not grow with
the data, and they fit into a cache.

>>> row = np.array([1, 0, 1, 0], dtype=np.int32)
>>> group(row, 2)
Grouping(start=array([0, 2, 4]), order=array([1, 3, 0, 2], dtype=int32))
>>> group_values(np.array([5, 6, 7, 8]), row, starts(row, 2))
array([6, 8, 5, 7])
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesrank.data.read.labels import AT_A_TIME, give_back

Array = NDArray[Any]


class Stretch(NamedTuple):
    """Some rows, and their entries."""

    first: int  # the first row
    begin: Array  # (n_rows,) where the entries of each row begin in the stretch
    entry: Array  # (n_entries,) the entries, row by row
    row: Array  # (n_entries,) the row of each entry, counted from the first row


class Grouping(NamedTuple):
    """The position of each row's entries when entries are sorted by row."""

    start: NDArray[np.int64]  # (n_rows + 1,) where the entries of each row begin, and the end
    order: Array | None  # (n_entries,) the entries, row by row; None if they are already sorted

    def stretches(self) -> Iterator[Stretch]:
        """Yield a few rows at a time, with all of their entries."""
        for first, last in stretches(self.start):
            a, b = self.start[first], self.start[last]
            yield Stretch(
                first,
                self.start[first:last] - a,
                np.arange(a, b) if self.order is None else self.order[a:b],
                np.repeat(np.arange(last - first), np.diff(self.start[first : last + 1])),
            )


def group(row: Array, n_rows: int) -> Grouping:
    """Sort entries by their `row`; entries of one row keep their order."""
    start = starts(row, n_rows)
    parts = (row[a : a + AT_A_TIME + 1] for a in range(0, len(row), AT_A_TIME))
    if all((part[:-1] <= part[1:]).all() for part in parts):
        return Grouping(start, None)
    return Grouping(start, group_values(numbers_to(len(row)), row, start))


def starts(row: Array, n_rows: int) -> NDArray[np.int64]:
    """Return where the entries of each row begin in sorted order, and the end of the last row."""
    start = np.zeros(n_rows + 1, dtype=np.int64)
    for a in range(0, len(row), AT_A_TIME):
        np.add.at(start[1:], row[a : a + AT_A_TIME], 1)
    return np.cumsum(start, out=start)


def group_values(values: Array, row: Array, start: NDArray[np.int64], dtype: Any = None) -> Array:
    """Sort the values of entries by row; values of one row keep their order."""
    if len(values) > AT_A_TIME:
        give_back()
    out = np.empty(len(values), dtype=dtype or values.dtype)
    free = start[:-1].copy()  # the next place of each row
    for a in range(0, len(row), AT_A_TIME):
        part = row[a : a + AT_A_TIME]
        order = np.argsort(part, kind="stable")
        rows = part[order]
        begins = np.flatnonzero(np.append(True, rows[1:] != rows[:-1]))
        length = np.diff(begins, append=len(rows))
        place = np.arange(len(rows)) + np.repeat(free[rows[begins]] - begins, length)
        out[place] = values[a : a + AT_A_TIME][order]
        free[rows[begins]] += length
    return out


class Cells(NamedTuple):
    """Distinct cells of a sparse table, row by row and sorted."""

    start: NDArray[np.int64]  # (n_rows + 1,) where the cells of each row begin, and the end
    columns: list[Array]  # the position of each cell in every column, (n_cells,) each
    amount: Array  # (n_cells,), or empty


def distinct_cells(
    row: Array, columns: Sequence[Array], sizes: Sequence[int], n_rows: int, amount: Array | None
) -> Cells:
    """Sort the cells of each row, and sum the amounts of equal cells; leave out zeros.

    An entry has a row, a position in every column, smaller than the size of the column, and
    optionally an amount.
    """
    given = starts(row, n_rows)
    found = [group_values(column, row, given) for column in columns]
    total = np.empty(0) if amount is None else group_values(amount, row, given)
    start, end = np.zeros_like(given), 0
    for first, last in stretches(given):  # the result overwrites the input
        entries, shape = slice(given[first], given[last]), (last - first, *sizes)
        its_row = np.repeat(np.arange(last - first), np.diff(given[first : last + 1]))
        key = np.ravel_multi_index((its_row, *(column[entries] for column in found)), shape)
        if amount is None:  # np.unique would double the time of reading, because it hashes
            key = np.sort(key)
            key = key[np.diff(key, prepend=-1) > 0]
        else:
            key, cell = np.unique(key, return_inverse=True)
            added = np.bincount(cell, total[entries], len(key))
            key, added = key[added > 0], added[added > 0]
            total[end : end + len(key)] = added
        who, *cells = np.unravel_index(key, shape)
        for column, cell in zip(found, cells, strict=True):
            column[end : end + len(key)] = cell
        start[first + 1 : last + 1] = end + np.cumsum(np.bincount(who, minlength=last - first))
        end += len(key)
    if end < len(row):
        found, total = [column[:end].copy() for column in found], total[:end].copy()
    return Cells(start, found, total)


def stretches(start: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Cut rows into stretches ``first:last`` of about `AT_A_TIME` entries each."""
    n_rows, first = len(start) - 1, 0
    while first < n_rows:
        last = int(np.searchsorted(start, start[first] + AT_A_TIME, side="right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last


def numbers_to(n: int) -> Array:
    """Return the numbers 0, 1, ..., n - 1, in four bytes each if possible."""
    return np.arange(n, dtype=np.int32 if n < 2**31 else np.int64)
