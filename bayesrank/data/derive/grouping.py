"""Grouping: entries brought together by the row that they are of, in little room.

Entries are counted, placed and sorted a stretch at a time. What that needs besides the result does
not grow with the data, and fits into a cache.

>>> row = np.array([1, 0, 1, 0], dtype=np.int32)
>>> group(row, 2)
Grouping(start=array([0, 2, 4]), order=array([1, 3, 0, 2], dtype=int32))
>>> grouped(np.array([5, 6, 7, 8]), row, starts(row, 2))
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
    begin: Array  # (n_rows,) where the entries of each row begin among these
    entry: Array  # (n_entries,) the entries, row by row
    own: Array  # (n_entries,) the row of each, counted from the first


class Grouping(NamedTuple):
    """Where the entries of each row are, when they stand together."""

    start: NDArray[np.int64]  # (n_rows + 1,) where those of each row begin, and the last ones end
    order: Array | None  # (n_entries,) the entries, row by row; None if they stand so

    def stretches(self) -> Iterator[Stretch]:
        """Yield some rows at a time, with all of their entries."""
        for first, last in stretches(self.start):
            a, b = self.start[first], self.start[last]
            yield Stretch(
                first,
                self.start[first:last] - a,
                np.arange(a, b) if self.order is None else self.order[a:b],
                np.repeat(np.arange(last - first), np.diff(self.start[first : last + 1])),
            )


def group(row: Array, n_rows: int) -> Grouping:
    """Find the entries of each row, in the order in which they come; `row` is that of each."""
    start = starts(row, n_rows)
    parts = (row[a : a + AT_A_TIME + 1] for a in range(0, len(row), AT_A_TIME))
    if all((part[:-1] <= part[1:]).all() for part in parts):
        return Grouping(start, None)
    return Grouping(start, grouped(numbers_to(len(row)), row, start))


def starts(row: Array, n_rows: int) -> NDArray[np.int64]:
    """Say where the entries of each row begin when they stand together, and where the last end."""
    start = np.zeros(n_rows + 1, dtype=np.int64)
    for a in range(0, len(row), AT_A_TIME):
        np.add.at(start[1:], row[a : a + AT_A_TIME], 1)
    return np.cumsum(start, out=start)


def grouped(values: Array, row: Array, start: NDArray[np.int64], dtype: Any = None) -> Array:
    """Bring the values of the entries of each row together, in the order in which they come."""
    if len(values) > AT_A_TIME:
        give_back()
    out = np.empty(len(values), dtype=dtype or values.dtype)
    free = start[:-1].copy()  # the next place of each row
    for a in range(0, len(row), AT_A_TIME):
        part = row[a : a + AT_A_TIME]
        order = np.argsort(part, kind="stable")
        of = part[order]
        begins = np.flatnonzero(np.append(True, of[1:] != of[:-1]))
        length = np.diff(begins, append=len(of))
        place = np.arange(len(of)) + np.repeat(free[of[begins]] - begins, length)
        out[place] = values[a : a + AT_A_TIME][order]
        free[of[begins]] += length
    return out


class Cells(NamedTuple):
    """Distinct cells of a sparse table, row by row and sorted."""

    start: NDArray[np.int64]  # (n_rows + 1,) where those of each row begin, and the last ones end
    columns: list[Array]  # (n_cells,) each, what tells the cells of a row apart
    amount: Array  # (n_cells,), or none


def distinct_cells(
    row: Array, columns: Sequence[Array], sizes: Sequence[int], n_rows: int, amount: Array | None
) -> Cells:
    """Sort the cells of each row, and add up the amounts of equal ones; leave out zeros.

    An entry has a row, positions in some columns, each below the size of the column, and perhaps an
    amount.
    """
    given = starts(row, n_rows)
    found = [grouped(column, row, given) for column in columns]
    total = np.empty(0) if amount is None else grouped(amount, row, given)
    start, end = np.zeros_like(given), 0
    for first, last in stretches(given):  # what is kept takes the place of what was given
        there, shape = slice(given[first], given[last]), (last - first, *sizes)
        own = np.repeat(np.arange(last - first), np.diff(given[first : last + 1]))
        key = np.ravel_multi_index((own, *(column[there] for column in found)), shape)
        if amount is None:  # np.unique hashes, and takes as long as all the rest of reading
            key = np.sort(key)
            key = key[np.diff(key, prepend=-1) > 0]
        else:
            key, cell = np.unique(key, return_inverse=True)
            added = np.bincount(cell, total[there], len(key))
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
    """Cut rows into stretches ``first:last`` of about so many entries as are taken at a time."""
    n_rows, first = len(start) - 1, 0
    while first < n_rows:
        last = int(np.searchsorted(start, start[first] + AT_A_TIME, side="right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last


def numbers_to(n: int) -> Array:
    """Numbers 0, 1, ..., n - 1, of four bytes each where they fit."""
    return np.arange(n, dtype=np.int32 if n < 2**31 else np.int64)
