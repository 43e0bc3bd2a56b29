"""Constructors of `Pairs`: how tables and matrices of outcomes are read."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bayesrank.data.derive.layout import warn
from bayesrank.data.pair_table import PairTable, amounts, two_items
from bayesrank.data.read.columns import require_columns
from bayesrank.data.read.labels import counted, label_repr, quoted, sorted_axis
from bayesrank.data.read.pair_entries import (
    check_names,
    distinct_rows,
    results,
    square_axis,
    square_counts,
    whole_counts,
)


class UncomparedItemWarning(UserWarning):
    """Some items of the axis are in no match, so the data say nothing of their utilities."""


class Group(NamedTuple):
    """Labels that keep pairs apart, and the one of each pair."""

    labels: pd.Index
    idx: NDArray[np.int32]  # (n_pairs,) position on `labels`


@dataclass(frozen=True, eq=False, repr=False)
class PairConstructors(PairTable):
    """The named constructors of `Pairs`, which documents the attributes."""

    items: pd.Index
    judges: pd.Index
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    counts: NDArray[np.int64]
    weight: NDArray[np.float64]
    judge_idx: NDArray[np.int32]
    groups: Mapping[str, Group]
    collapsed: bool

    def __post_init__(self) -> None:
        """Lock the arrays and the groups."""
        object.__setattr__(self, "groups", MappingProxyType(dict(self.groups)))
        super().__post_init__()

    def __getstate__(self) -> dict[str, Any]:
        """Return what pickle can store."""
        return vars(self) | {"groups": dict(self.groups)}

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
        by: str | Sequence[str] = (),
        weight: str | None = None,
        collapse: bool = True,
        items: Iterable[Hashable] | None = None,
    ) -> Self:
        """Read a table of matches.

        Parameters
        ----------
        frame : DataFrame
            One row per match, or per kind of match with its count.
        first, second : str
            Columns with the two items. Which of them stands first matters to an order effect
            (at home, with the white pieces, shown on the left) and to nothing else.
        outcome : str
            Column with "first" (the first item won), "second" or "tie" (judged equal).
        count : str, optional
            Column with how often this happened, a whole number >= 0; once by default.
        judge : str, optional
            Column that says who judged; one judge 'all' by default.
        by : str or sequence of str, optional
            Further columns that keep pairs apart: category, prompt, day.
        weight : str, optional
            Column with the evidence weight of a match, >= 0; 1 by default. It multiplies the
            log-likelihood, which weights other than 1 turn into a pseudo-likelihood.
        collapse : bool
            Whether rows with equal (first, second, judge, *by, weight) become one pair, in the
            order of these; the likelihood is the same, and evaluated in one place. If false, each
            row is a pair of its own, in the order of the table, as features per match need it.
        items : sequence of labels, optional
            The item axis; by default the items of the table, sorted. Judges and groups are sorted
            too (categories in their own order).

        Returns
        -------
        Pairs

        Raises
        ------
        ValueError
            For a missing column or label, an unknown item or outcome, an item compared with
            itself, a count that is negative, not finite or not whole, a weight that is negative or
            not finite, or a column of `by` whose name the pairs need themselves.

        Warns
        -----
        UncomparedItemWarning
            If items of the axis are in no match. They are kept.

        Examples
        --------
        >>> import bayesrank as br
        >>> table = pd.DataFrame({"x": ["a", "a", "a"], "y": ["b", "b", "c"]})
        >>> table["winner"] = ["second", "tie", "first"]
        >>> matches = br.Pairs.from_frame(table, first="x", second="y", outcome="winner")
        >>> matches.counts
        array([[0, 1, 1],
               [1, 0, 0]])
        """
        by = [by] if isinstance(by, str) else list(by)
        check_names(by)
        named = [first, second, outcome, *filter(None, (count, judge, weight)), *by]
        require_columns(frame, named)
        if not len(frame):
            raise ValueError("There are no pairs: give at least one row.")
        one, other, axis = two_items(frame, first, second, items)
        result = results(frame, outcome)
        times = None if count is None else whole_counts(frame, count)
        n = len(frame)
        if judge is None:
            who, judges = np.zeros(n, dtype=np.int64), pd.Index(["all"])
        else:
            who, judges = sorted_axis(frame[judge], judge)
        apart = {name: sorted_axis(frame[name], name) for name in by}
        evidence = np.ones(n) if weight is None else amounts(frame, weight, "weight")

        # A pair is what has equal codes; `row` is one of its rows.
        if collapse:
            codes = [(one, len(axis)), (other, len(axis)), (who, len(judges))]
            codes += [(code, len(labels)) for code, labels in apart.values()]
            if weight is not None:
                levels, code = np.unique(evidence, return_inverse=True)
                codes.append((code, len(levels)))
            row, pair = distinct_rows(codes)
        else:
            row = pair = np.arange(n)
        size = 3 * len(row)
        counts = np.bincount(3 * pair + result, weights=times, minlength=size)
        pairs = cls(
            items=axis,
            judges=judges,
            first=one[row].astype(np.int32),
            second=other[row].astype(np.int32),
            counts=counts.reshape(-1, 3).astype(np.int64),
            weight=evidence[row],
            judge_idx=who[row].astype(np.int32),
            groups={
                name: Group(labels, code[row].astype(np.int32))
                for name, (code, labels) in apart.items()
            },
            collapsed=collapse,
        )
        pairs._warn_of_uncompared()
        return pairs

    @classmethod
    def from_matrix(
        cls,
        wins: ArrayLike | pd.DataFrame,
        *,
        ties: ArrayLike | pd.DataFrame | None = None,
        items: Iterable[Hashable] | None = None,
    ) -> Self:
        """Take a square table of wins, and of ties.

        Parameters
        ----------
        wins : array or DataFrame, shape (n_items, n_items)
            How often the item of the row beat that of the column: whole, >= 0, with a diagonal of
            zeros. A DataFrame has the items as its index and as its columns.
        ties : array or DataFrame, shape (n_items, n_items), optional
            How often the two tied: symmetric, and each tie counts once. None by default.
        items : sequence of labels, optional
            The item axis of an array; 0, 1, 2, ... by default.

        Returns
        -------
        Pairs
            One per two items that met, the one that stands earlier on the axis first: who stood
            first in a match is not known, so that no order effect can be told from the data.

        Raises
        ------
        ValueError
            If a table is not square, the shapes or labels differ, a cell is negative, not finite
            or not whole, one on the diagonal is not zero, the ties are not symmetric, or nothing
            was counted.

        Warns
        -----
        UncomparedItemWarning
            If items met no other. They are kept.

        Examples
        --------
        >>> import bayesrank as br
        >>> br.Pairs.from_matrix([[0, 3], [1, 0]], ties=[[0, 2], [2, 0]], items=["a", "b"])
        Pairs: 1 pair of 2 items by 1 judge, 6 matches (3 first, 1 second, 2 tie)
        """
        axis = square_axis(wins, items)
        won = square_counts(wins, "wins", axis)
        tied = np.zeros_like(won) if ties is None else square_counts(ties, "ties", axis)
        if (tied != tied.T).any():
            i, j = np.argwhere(tied != tied.T)[0]
            raise ValueError(
                f"`ties` must be symmetric: {label_repr(axis[i])} tied with {label_repr(axis[j])} "
                f"{tied[i, j]:g} times, but {label_repr(axis[j])} with {label_repr(axis[i])} "
                f"{tied[j, i]:g} times. Write each tie in both places; it counts once."
            )
        first, second = np.nonzero(np.triu(won + won.T + tied))
        if not len(first):
            raise ValueError("There are no pairs: all of `wins` and `ties` is 0.")
        counts = (won[first, second], won[second, first], tied[first, second])
        pairs = cls(
            items=axis,
            judges=pd.Index(["all"]),
            first=first.astype(np.int32),
            second=second.astype(np.int32),
            counts=np.stack(counts, axis=1).astype(np.int64),
            weight=np.ones(len(first)),
            judge_idx=np.zeros(len(first), dtype=np.int32),
            groups={},
            collapsed=True,
        )
        pairs._warn_of_uncompared()
        return pairs

    def _warn_of_uncompared(self) -> None:
        met = self.counts.any(axis=1)
        seen = np.zeros(len(self.items), dtype=bool)
        seen[self.first[met]] = seen[self.second[met]] = True
        alone = self.items[~seen]
        if len(alone):
            are, their = ("is", "its utility") if len(alone) == 1 else ("are", "their utilities")
            warn(
                f"{len(alone)} of {counted(len(self.items), 'item')} {are} never compared "
                f"({quoted(alone)}): the data say nothing of {their}, and the prior is all there "
                f"is.",
                UncomparedItemWarning,
            )
