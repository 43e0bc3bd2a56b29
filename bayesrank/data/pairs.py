"""Pairs and pair counts: preferences between two items at a time.

`Pairs` are outcomes: in row ``k`` the judge ``judge_idx[k]`` compared ``first[k]`` with
``second[k]``, ``count[k]`` times with the outcome ``outcome[k]``. `PairCounts` are amounts of
preference: ranker ``ranker_idx[k]`` preferred ``first[k]`` to ``second[k]`` by ``count[k]``.

>>> table = pd.DataFrame({"home": ["a", "b"], "away": ["b", "c"], "result": ["first", "tie"]})
>>> matches = Pairs.from_frame(table, first="home", second="away", outcome="result")
>>> matches.outcome
array([0, 2], dtype=int8)
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.data.formats import finite_numbers, require_columns
from bayesrank.data.labels import (
    axis_index,
    coord_values,
    encode,
    factorize,
    label_repr,
    locate,
    quoted,
    same_axis,
)

OUTCOMES = ("first", "second", "tie")
"""Outcomes of a pair, in the order of their codes 0, 1, 2."""


@dataclass(frozen=True, eq=False, repr=False)
class Pairs:
    """Outcomes of comparisons of two items, such as matches.

    Made by `from_frame` or by ``Rankings.pairs``, which check; the fields themselves are trusted.

    Attributes
    ----------
    items, judges : pandas.Index
        Axes; without a judge column there is one judge 'all'.
    first, second : array of int32, shape (n_pairs,)
        Items compared. The first may have an advantage (home, white, shown on the left).
    outcome : array of int8, shape (n_pairs,)
        0 = first wins, 1 = second wins, 2 = tie (judged equal).
    count : array of float64, shape (n_pairs,)
        How often, >= 0.
    judge_idx : array of int32, shape (n_pairs,)
        Who judged.
    """

    items: pd.Index
    judges: pd.Index
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    outcome: NDArray[np.int8]
    count: NDArray[np.float64]
    judge_idx: NDArray[np.int32]

    def __post_init__(self) -> None:
        """Lock the arrays."""
        _lock(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Lock the arrays again: pickle makes them writeable."""
        vars(self).update(state)
        _lock(self)

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        first: str,
        second: str,
        outcome: str,
        count: str | None = None,
        judge: str | None = None,
        items: Iterable[Hashable] | None = None,
    ) -> Self:
        """Read a table of comparisons.

        Parameters
        ----------
        frame : DataFrame
            One row per comparison, or per kind of comparison with its count.
        first, second : str
            Columns with the two items.
        outcome : str
            Column with "first", "second" or "tie".
        count : str, optional
            Column with how often this happened, >= 0; once by default.
        judge : str, optional
            Column that says who judged.
        items : sequence of labels, optional
            The item axis; by default the items of the table, sorted.

        Returns
        -------
        Pairs

        Raises
        ------
        ValueError
            For a missing column or label, an unknown item or outcome, an item compared with
            itself, or a count that is negative or not finite.

        Examples
        --------
        >>> table = pd.DataFrame({"x": ["a"], "y": ["b"], "winner": ["second"], "times": [3]})
        >>> p = Pairs.from_frame(table, first="x", second="y", outcome="winner", count="times")
        >>> p.to_frame()
          first second outcome  count judge
        0     a      b  second    3.0   all
        """
        named = [name for name in (first, second, outcome, count, judge) if name is not None]
        require_columns(frame, named)
        if not len(frame):
            raise ValueError("There are no pairs: give at least one.")
        one, other, axis = _two_items(frame, first, second, items)
        code = pd.Index(OUTCOMES).get_indexer(pd.Index(frame[outcome]))
        if (code < 0).any():
            row = int((code < 0).argmax())
            raise ValueError(
                f"An outcome must be one of {quoted(OUTCOMES)}; column {outcome!r} has "
                f"{label_repr(frame[outcome].iloc[row])} in row {row}."
            )
        if judge is None:
            who, judges = np.zeros(len(frame), dtype=np.int64), pd.Index(["all"])
        else:
            who, judges = factorize(frame[judge], judge)
        return cls(
            items=axis,
            judges=axis_index(judges, "judges"),
            first=one.astype(np.int32),
            second=other.astype(np.int32),
            outcome=code.astype(np.int8),
            count=np.ones(len(frame)) if count is None else _counts(frame, count),
            judge_idx=who.astype(np.int32),
        )

    @property
    def n_pairs(self) -> int:
        """Number of rows."""
        return len(self.first)

    @property
    def coords(self) -> dict[str, NDArray[Any]]:
        """Coordinates for ``pm.Model(coords=...)``: item, pair, judge."""
        return {
            "item": coord_values(self.items),
            "pair": np.arange(self.n_pairs),
            "judge": coord_values(self.judges),
        }

    def to_frame(self) -> pd.DataFrame:
        """One row per pair: first, second, outcome, count, judge; `from_frame` reads it back."""
        return pd.DataFrame(
            {
                "first": self.items.take(self.first),
                "second": self.items.take(self.second),
                "outcome": pd.Index(OUTCOMES).take(self.outcome),
                "count": self.count,
                "judge": self.judges.take(self.judge_idx),
            }
        )

    def __len__(self) -> int:
        """Count the rows."""
        return self.n_pairs

    def __repr__(self) -> str:
        """Say in a line how much of what there is."""
        total = np.bincount(self.outcome, weights=self.count, minlength=3)
        share = ", ".join(f"{n:g} {name}" for n, name in zip(total, OUTCOMES, strict=True))
        return (
            f"Pairs: {self.n_pairs} pairs of {len(self.items)} items by {len(self.judges)} "
            f"judges ({share})"
        )

    def __eq__(self, other: object) -> bool:
        """Compare labels and arrays."""
        return _equal(self, other) if isinstance(other, Pairs) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # equality compares arrays


@dataclass(frozen=True, eq=False, repr=False)
class PairCounts:
    """Sparse counts of preference per ranker, C_n(i, j): how much ranker n prefers i to j.

    Made by `from_frame` or by ``Rankings.counts``, which check; the fields themselves are trusted.

    Attributes
    ----------
    items, rankers : pandas.Index
        Axes.
    ranker_idx, first, second : array of int32, shape (n_entries,)
        Ranker n, preferred item i and other item j of each entry; each triple once.
    count : array of float64, shape (n_entries,)
        C_n(i, j) > 0; triples not listed are 0.
    """

    items: pd.Index
    rankers: pd.Index
    ranker_idx: NDArray[np.int32]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    count: NDArray[np.float64]

    def __post_init__(self) -> None:
        """Lock the arrays."""
        _lock(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Lock the arrays again: pickle makes them writeable."""
        vars(self).update(state)
        _lock(self)

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        first: str,
        second: str,
        count: str,
        ranker: str | None = None,
        items: Iterable[Hashable] | None = None,
    ) -> Self:
        """Read a table of counts; rows for the same ranker and pair add up.

        Parameters
        ----------
        frame : DataFrame
            One row per ranker and ordered pair.
        first, second, count : str
            Columns with the preferred item, the other item, and how much, >= 0.
        ranker : str, optional
            Column that says who prefers; one ranker 'all' by default.
        items : sequence of labels, optional
            The item axis; by default the items of the table, sorted.

        Returns
        -------
        PairCounts

        Raises
        ------
        ValueError
            For a missing column or label, an unknown item, an item preferred to itself, or a
            count that is negative or not finite.

        Examples
        --------
        >>> table = pd.DataFrame({"winner": ["a", "b"], "loser": ["b", "a"], "games": [3, 1]})
        >>> PairCounts.from_frame(table, first="winner", second="loser", count="games").net()
        array([[ 2., -2.]])
        """
        named = [name for name in (first, second, count, ranker) if name is not None]
        require_columns(frame, named)
        if not len(frame):
            raise ValueError("There are no counts: give at least one row.")
        one, other, axis = _two_items(frame, first, second, items)
        if ranker is None:
            who, rankers = np.zeros(len(frame), dtype=np.int64), pd.Index(["all"])
        else:
            who, rankers = factorize(frame[ranker], ranker)
        return cls._summed(
            axis, axis_index(rankers, "rankers"), who, one, other, _counts(frame, count)
        )

    @classmethod
    def _summed(
        cls,
        items: pd.Index,
        rankers: pd.Index,
        ranker_idx: NDArray[Any],
        first: NDArray[Any],
        second: NDArray[Any],
        count: NDArray[np.float64],
    ) -> Self:
        """Add up the entries of each (ranker, first, second); leave out zeros."""
        k = len(items)
        key = (ranker_idx.astype(np.int64) * k + first) * k + second
        triple, entry = np.unique(key, return_inverse=True)
        total = np.bincount(entry, weights=count, minlength=len(triple))
        triple, total = triple[total > 0], total[total > 0]
        return cls(
            items=items,
            rankers=rankers,
            ranker_idx=(triple // (k * k)).astype(np.int32),
            first=(triple // k % k).astype(np.int32),
            second=(triple % k).astype(np.int32),
            count=total,
        )

    @property
    def coords(self) -> dict[str, NDArray[Any]]:
        """Coordinates for ``pm.Model(coords=...)``: item, ranker."""
        return {"item": coord_values(self.items), "ranker": coord_values(self.rankers)}

    def net(self) -> NDArray[np.float64]:
        """Net counts, sum_j C_n(i, j) - C_n(j, i), shape (n_rankers, n_items)."""
        shape = (len(self.rankers), len(self.items))
        won = self.ranker_idx.astype(np.int64) * shape[1] + self.first
        lost = self.ranker_idx.astype(np.int64) * shape[1] + self.second
        size = shape[0] * shape[1]
        net = np.bincount(won, self.count, size) - np.bincount(lost, self.count, size)
        return net.reshape(shape)

    def total(self) -> NDArray[np.float64]:
        """Sum of the counts of each ranker, T_n, shape (n_rankers,)."""
        return np.bincount(self.ranker_idx, self.count, len(self.rankers))

    def dense(self, ranker: Hashable) -> NDArray[np.float64]:
        """Return C_n of the ranker with this label, (n_items, n_items): row preferred to column."""
        n = locate(pd.Index([ranker], tupleize_cols=False), self.rankers, "ranker")[0]
        mine = self.ranker_idx == n
        table = np.zeros((len(self.items), len(self.items)))
        table[self.first[mine], self.second[mine]] = self.count[mine]
        return table

    def to_frame(self) -> pd.DataFrame:
        """One row per entry: ranker, first, second, count; `from_frame` reads it back."""
        return pd.DataFrame(
            {
                "ranker": self.rankers.take(self.ranker_idx),
                "first": self.items.take(self.first),
                "second": self.items.take(self.second),
                "count": self.count,
            }
        )

    def __len__(self) -> int:
        """Count the entries."""
        return len(self.count)

    def __repr__(self) -> str:
        """Say in a line how much of what there is."""
        return (
            f"PairCounts: {len(self)} ordered pairs of {len(self.items)} items by "
            f"{len(self.rankers)} rankers, {self.count.sum():g} in all"
        )

    def __eq__(self, other: object) -> bool:
        """Compare labels and arrays."""
        return _equal(self, other) if isinstance(other, PairCounts) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # equality compares arrays


def _two_items(
    frame: pd.DataFrame, first: str, second: str, items: Iterable[Hashable] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], pd.Index]:
    both = pd.concat([frame[first], frame[second]], ignore_index=True)
    for column in (first, second):
        factorize(frame[column], column)  # a missing label is named with its own column
    position, axis = encode(both, items, "item")
    one, other = position[: len(frame)], position[len(frame) :]
    if (one == other).any():
        row = int((one == other).argmax())
        raise ValueError(
            f"Row {row} compares item {label_repr(axis[one[row]])} with itself "
            f"(columns {first!r} and {second!r})."
        )
    return one, other, axis


def _counts(frame: pd.DataFrame, column: str) -> NDArray[np.float64]:
    count = finite_numbers(frame, column, "count").astype(np.float64)
    if (count < 0).any():
        row = int((count < 0).argmax())
        raise ValueError(
            f"A count must not be negative; column {column!r} has {count[row]:g} in row {row}."
        )
    return count


def _lock(data: Pairs | PairCounts) -> None:
    for value in vars(data).values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False


def _equal(one: Pairs | PairCounts, other: Pairs | PairCounts) -> bool:
    mine, yours = vars(one), vars(other)
    return all(
        same_axis(value, yours[name])
        if isinstance(value, pd.Index)
        else np.array_equal(value, yours[name])
        for name, value in mine.items()
    )
