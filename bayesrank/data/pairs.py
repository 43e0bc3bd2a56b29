"""Pairs: outcomes of comparisons of two items, such as matches.

In row ``k`` the judge ``judge_idx[k]`` compared ``first[k]`` with ``second[k]``, ``count[k]``
times with the outcome ``outcome[k]``.

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

from bayesrank.data.columns import require_columns
from bayesrank.data.labels import (
    axis_index,
    coord_values,
    counted,
    factorize,
    label_repr,
    quoted,
    row_name,
)
from bayesrank.data.pair_table import PairTable, amounts, two_items

OUTCOMES = ("first", "second", "tie")
"""Outcomes of a pair, in the order of their codes 0, 1, 2."""


@dataclass(frozen=True, eq=False, repr=False)
class Pairs(PairTable):
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
        one, other, axis = two_items(frame, first, second, items)
        code = pd.Index(OUTCOMES).get_indexer(pd.Index(frame[outcome]))
        if (code < 0).any():
            row = int((code < 0).argmax())
            raise ValueError(
                f"An outcome must be one of {quoted(OUTCOMES)}; column {outcome!r} has "
                f"{label_repr(frame[outcome].iloc[row])} in "
                f"{row_name(frame.index, row)}."
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
            count=np.ones(len(frame)) if count is None else amounts(frame, count),
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
            f"Pairs: {counted(self.n_pairs, 'pair')} of {counted(len(self.items), 'item')} by "
            f"{counted(len(self.judges), 'judge')} ({share})"
        )
