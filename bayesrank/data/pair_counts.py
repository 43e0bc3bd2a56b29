"""Pair counts: how much each ranker prefers one item to another.

Ranker ``ranker_idx[k]`` preferred ``first[k]`` to ``second[k]`` by ``count[k]``.

>>> table = pd.DataFrame({"winner": ["a", "b"], "loser": ["b", "a"], "games": [3, 1]})
>>> PairCounts.from_frame(table, first="winner", second="loser", count="games")
PairCounts: 2 ordered pairs of 2 items by 1 ranker, 4 in all
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.data.columns import require_columns
from bayesrank.data.labels import axis_index, coord_values, counted, factorize, locate
from bayesrank.data.pair_table import PairTable, amounts, two_items


@dataclass(frozen=True, eq=False, repr=False)
class PairCounts(PairTable):
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
        one, other, axis = two_items(frame, first, second, items)
        if ranker is None:
            who, rankers = np.zeros(len(frame), dtype=np.int64), pd.Index(["all"])
        else:
            who, rankers = factorize(frame[ranker], ranker)
        return cls.summed(
            axis, axis_index(rankers, "rankers"), who, one, other, amounts(frame, count)
        )

    @classmethod
    def summed(
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
            f"PairCounts: {counted(len(self), 'ordered pair')} of "
            f"{counted(len(self.items), 'item')} by {counted(len(self.rankers), 'ranker')}, "
            f"{self.count.sum():g} in all"
        )
