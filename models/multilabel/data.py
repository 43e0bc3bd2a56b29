"""Read multilabel data: the features and the labels of each sample.

A sample is a ranking of the labels in two blocks: its own labels (the *positive* ones) before all
others. Features and labels are sparse matrices, one row per sample:

>>> from scipy.sparse import csr_array
>>> features = csr_array([[0.5, 0.0], [0.0, 2.0]])
>>> data = Multilabel(features, csr_array([[0, 1, 0], [1, 0, 1]]))
>>> data
Multilabel: 2 samples with 2 features, 1 to 2 of 3 labels each
>>> data.ranks()
array([[2, 1, 2],
       [1, 2, 1]], dtype=int8)
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from bayesrank.data import Rankings, UninformativeRankingWarning
from bayesrank.data.read import counted, label_repr, read_lines, warn

__all__ = ["Multilabel", "read_multilabel"]


@dataclass(frozen=True, eq=False, repr=False)
class Multilabel:
    """Samples, their features and their labels.

    `read_multilabel` checks the fields; the class itself does not.

    Attributes
    ----------
    features : csr_array of float64, shape (n_samples, n_features)
        Covariates of each sample.
    labels : csr_array of 0 and 1, shape (n_samples, n_labels)
        Which labels each sample has.
    """

    features: csr_array
    labels: csr_array

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return int(self.labels.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.features.shape[1])

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.labels.shape[1])

    @property
    def n_labels_of_sample(self) -> NDArray[np.int64]:
        """Number of labels of each sample, (n_samples,)."""
        return np.diff(self.labels.indptr).astype(np.int64)

    @property
    def is_uninformative(self) -> NDArray[np.bool_]:
        """Whether a sample has no label or all of them, and so prefers none, (n_samples,)."""
        n = self.n_labels_of_sample
        return (n == 0) | (n == self.n_labels)

    def ranks(self, rows: ArrayLike | None = None) -> NDArray[np.int8]:
        """Return the two blocks of some samples as dense ranks of all labels.

        For hundreds of thousands of labels, request one batch at a time.

        Parameters
        ----------
        rows : array of int, optional
            Positions of samples; by default all.

        Returns
        -------
        array of int8, shape (n_rows, n_labels)
            Dense ranks: 1 = the sample has the label, 2 = it does not. A sample without labels is
            one block: it has rank 1 everywhere.

        Examples
        --------
        >>> from scipy.sparse import csr_array
        >>> Multilabel(csr_array((2, 1)), csr_array([[0, 1], [0, 0]])).ranks([1])
        array([[1, 1]], dtype=int8)
        """
        some = self.labels if rows is None else self.labels[np.asarray(rows)]
        ranks = np.full(some.shape, 2, dtype=np.int8)
        row = np.repeat(np.arange(some.shape[0]), np.diff(some.indptr))
        ranks[row, some.indices] = 1
        ranks[np.diff(some.indptr) == 0] = 1
        return ranks

    def to_rankings(self, rows: ArrayLike | None = None) -> Rankings:
        """Make rankings of samples: labels are the items, the sample is the ranker.

        Every ranking contains all labels, with 8 bytes each. Features belong to samples and not to
        items, so they are not included.

        Parameters
        ----------
        rows : array of int, optional
            Positions of samples, which become their names; by default all.

        Returns
        -------
        Rankings

        Warns
        -----
        UninformativeRankingWarning
            If samples have no label or all of them.

        Examples
        --------
        >>> from scipy.sparse import csr_array
        >>> data = Multilabel(csr_array((2, 1)), csr_array([[0, 1, 0], [1, 0, 1]]))
        >>> data.to_rankings([1]).to_frame()[["ranking", "item", "rank"]]
           ranking  item  rank
        0        1     0     1
        1        1     2     1
        2        1     1     2
        """
        names = np.arange(self.n_samples) if rows is None else np.asarray(rows)
        ranks = self.ranks(rows)
        item = np.broadcast_to(np.arange(self.n_labels, dtype=np.int32), ranks.shape)
        return Rankings(item, ranks, items=range(self.n_labels), rankers=names.tolist())

    def __repr__(self) -> str:
        n = self.n_labels_of_sample
        spread = f"{n.min()} to {n.max()}" if len(n) else "0"
        return (
            f"Multilabel: {counted(self.n_samples, 'sample')} with "
            f"{counted(self.n_features, 'feature')}, {spread} of {counted(self.n_labels, 'label')} "
            f"each"
        )


# ---------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------


def read_multilabel(path: str | Path) -> Multilabel:
    """Read the text format of the extreme classification repository.

    The first line is ``samples features labels``. Then each sample has one line,
    ``label,label feature:value feature:value``, with ids from 0. A sample without labels begins
    with a space, or with its features.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    Multilabel

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the header is invalid or states another number of samples, an id is out of range or
        occurs twice in a line, or something is not a number. The message names the line.

    Warns
    -----
    UninformativeRankingWarning
        If samples have no label or all of them. They are kept and contribute zero.

    References
    ----------
    Bhatia et al., The extreme classification repository: multi-label datasets and code, 2016.

    Examples
    --------
    >>> read_multilabel("delicious-train.txt")  # doctest: +SKIP
    Multilabel: 12920 samples with 500 features, 1 to 25 of 983 labels each
    """
    lines = read_lines(path)
    if not lines:
        raise ValueError(f"{path} is empty.")
    n_samples, n_features, n_labels = _header(lines[0], f"{path}, line 1")
    if len(lines) - 1 != n_samples:
        raise ValueError(
            f"{path}, line 1 announces {counted(n_samples, 'sample')}, and "
            f"{counted(len(lines) - 1, 'line')} follow: the file may be cut off, or a line broken."
        )
    features, labels = _Rows("feature", n_features), _Rows("label", n_labels)
    for number, line in enumerate(lines[1:], start=2):
        where = f"{path}, line {number}"
        fields = line.split()
        has_labels = bool(fields) and not line[:1].isspace() and ":" not in fields[0]
        labels.add(((one, "1") for one in fields[0].split(",")) if has_labels else (), where)
        features.add((_pair(field, where) for field in fields[has_labels:]), where)

    data = Multilabel(features.matrix(), labels.matrix())
    silent = np.flatnonzero(data.is_uninformative)
    if len(silent):
        warn(
            f"{len(silent)} of {counted(n_samples, 'sample')} in {path} have no label or all of "
            f"them, the first in line {silent[0] + 2}: no label is above another there. They are "
            f"kept and contribute zero.",
            UninformativeRankingWarning,
        )
    return data


def _header(line: str, where: str) -> tuple[int, int, int]:
    fields = line.split()
    if len(fields) != 3 or not all(field.isdecimal() for field in fields):
        raise ValueError(
            f"{where} must read 'samples features labels', three whole numbers; got "
            f"{label_repr(line)}."
        )
    n_samples, n_features, n_labels = map(int, fields)
    return n_samples, n_features, n_labels


def _pair(field: str, where: str) -> tuple[str, str]:
    one, colon, value = field.partition(":")
    if not colon:
        raise ValueError(
            f"{where} must read 'label,label feature:value ...'; got {label_repr(field)}."
        )
    return one, value


class _Rows:
    """A sparse matrix, as it is read row by row."""

    def __init__(self, what: str, n_columns: int) -> None:
        self.what = what
        self.n_columns = n_columns
        self.ids: list[int] = []
        self.values: list[float] = []
        self.ends = [0]

    def add(self, entries: "Iterator[tuple[str, str]] | tuple[()]", where: str) -> None:
        first = len(self.ids)
        for one, text in entries:
            self.ids.append(self._number(int, one, where))
            self.values.append(self._number(float, text, where))
        row = self.ids[first:]
        for i, value in zip(row, self.values[first:], strict=True):
            if not 0 <= i < self.n_columns:
                raise ValueError(
                    f"{where} has {self.what} {i}; the header announces "
                    f"{counted(self.n_columns, self.what)}, and ids count from 0 to "
                    f"{self.n_columns - 1}."
                )
            if not math.isfinite(value):
                raise ValueError(
                    f"{where} has the value {value} for {self.what} {i}; it must be finite."
                )
        if len(set(row)) < len(row):
            twice = next(i for i in row if row.count(i) > 1)
            raise ValueError(f"{where} has {self.what} {twice} twice.")
        self.ends.append(len(self.ids))

    def _number[T](self, kind: Callable[[str], T], text: str, where: str) -> T:
        try:
            return kind(text)
        except ValueError:
            raise ValueError(
                f"{where} has {label_repr(text)} where a number belongs, among its {self.what}s."
            ) from None

    def matrix(self) -> csr_array:
        matrix = csr_array(
            (self.values, self.ids, self.ends), shape=(len(self.ends) - 1, self.n_columns)
        )
        matrix.sort_indices()
        return matrix
