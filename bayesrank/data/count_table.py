"""Count tables: the axes and entries of `PairCounts`, and what follows from them.

Entries are sorted by ranker, first and second item, each triple once. Items of different problems
are never compared, so that a table falls into one table per problem.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import gammaln

from bayesrank.data.derive.pair_totals import log_ways
from bayesrank.data.pair_table import PairTable
from bayesrank.data.read.labels import coord_values, counted, locate

ONE_PROBLEM = pd.Index(["all"])
"""Axis of the problems where none are named."""


class ProblemLayout(NamedTuple):
    """Items of each problem, in the order of the item axis."""

    item: NDArray[np.int32]  # (n_problems, n_slots) position on the item axis, 0 in empty slots
    where: NDArray[np.bool_]  # (n_problems, n_slots) slot in use


class NetEntries(NamedTuple):
    """Net counts that are not zero, sorted by ranker and item."""

    ranker_idx: NDArray[np.int32]
    item_idx: NDArray[np.int32]
    net: NDArray[np.float64]


class ComparedPairs(NamedTuple):
    """Pairs that a ranker compared, sorted by ranker and items; `first` stands before `second`."""

    ranker_idx: NDArray[np.int32]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    won: NDArray[np.float64]  # by the first
    compared: NDArray[np.float64]  # won by either


@dataclass(frozen=True, eq=False, repr=False)
class CountTable(PairTable):
    """Sums and tables of `PairCounts`, whose attributes it documents."""

    items: pd.Index
    rankers: pd.Index
    problems: pd.Index
    problem_idx: NDArray[np.int32]
    ranker_idx: NDArray[np.int32]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    count: NDArray[np.float64]
    weight: NDArray[np.float64]

    @property
    def coords(self) -> dict[str, NDArray[Any]]:
        """Coordinates for ``pm.Model(coords=...)``: item, ranker, problem."""
        return {
            "item": coord_values(self.items),
            "ranker": coord_values(self.rankers),
            "problem": coord_values(self.problems),
        }

    # Sums, of the counts as they are: `weight` does not enter

    def net(self) -> NDArray[np.float64]:
        """Net counts, sum_j C_n(i, j) - C_n(j, i), shape (n_rankers, n_items)."""
        net = np.zeros((len(self.rankers), len(self.items)))
        ranker, item, value = self.net_entries()
        net[ranker, item] = value
        return net

    def net_entries(self) -> NetEntries:
        """Net counts that are not zero, without a dense array.

        Returns
        -------
        NetEntries
            Three arrays, sorted by ranker and item: ``ranker_idx`` and ``item_idx`` (int32), and
            ``net`` (float64).
        """
        shape = (len(self.rankers), len(self.items))
        won = csr_array((self.count, (self.ranker_idx, self.first)), shape=shape)
        lost = csr_array((self.count, (self.ranker_idx, self.second)), shape=shape)
        net = (won - lost).tocsr()
        net.eliminate_zeros()
        net.sort_indices()
        entries = net.tocoo()
        ranker, item = (axis.astype(np.int32) for axis in entries.coords)
        return NetEntries(ranker, item, entries.data)

    def total(self) -> NDArray[np.float64]:
        """Sum of the counts of each ranker, T_n, shape (n_rankers,)."""
        return np.bincount(self.ranker_idx, self.count, len(self.rankers))

    def totals(self) -> NDArray[np.float64]:
        """Sum of the counts of each problem and ranker, T_pn, shape (n_problems, n_rankers)."""
        shape = (len(self.problems), len(self.rankers))
        cell = self.problem_idx[self.first].astype(np.int64) * shape[1] + self.ranker_idx
        return np.bincount(cell, self.count, shape[0] * shape[1]).reshape(shape)

    def log_ways(self) -> NDArray[np.float64]:
        r"""Log multinomial constant of each ranker, shape (n_rankers,).

        .. math:: \sum_p \Big( \log T_{pn}! - \sum_{ij} \log C_n(i, j)! \Big)

        with the pairs i, j of problem p: the log number of orders in which the counts of a ranker
        can have come.

        Examples
        --------
        >>> import bayesrank as br
        >>> c = br.PairCounts.from_matrix([[0, 2], [1, 0]])  # 3 orders of two wins and a loss
        >>> c.log_ways().round(4), float(np.log(3).round(4))
        (array([1.0986]), 1.0986)
        """
        each = np.bincount(self.ranker_idx, gammaln(self.count + 1.0), len(self.rankers))
        return gammaln(self.totals() + 1.0).sum(axis=0) - each

    def log_at_random(self, *, given_pairs: bool = False) -> NDArray[np.float64]:
        r"""Log-probability of each ranker's counts if all preferences are random, (n_rankers,).

        .. math:: \log \mathrm{ways}_n - \sum_p T_{pn} \log n_p (n_p - 1)

        every ordered pair of the :math:`n_p` items of a problem being as probable as any other; or,
        ``given_pairs``, each of two compared items with probability one half, given which pairs
        were compared how often.

        Examples
        --------
        >>> import bayesrank as br
        >>> c = br.PairCounts.from_matrix([[0, 2], [1, 0]])  # 3 orders, each with probability 1/8
        >>> float(np.exp(c.log_at_random())[0].round(6))
        0.375
        """
        if given_pairs:
            pairs = self.compared()
            lost = pairs.compared - pairs.won
            each = log_ways(np.stack([pairs.won, lost], axis=1)) - pairs.compared * np.log(2.0)
            return np.bincount(pairs.ranker_idx, each, len(self.rankers))
        n = np.bincount(self.problem_idx, minlength=len(self.problems))
        return self.log_ways() - np.log(np.maximum(n * (n - 1), 1)) @ self.totals()

    def compared(self) -> ComparedPairs:
        """How often each ranker compared two items, and how often the first of them won.

        Returns
        -------
        ComparedPairs
            Five arrays, an entry for each ranker and pair that it compared.

        Examples
        --------
        >>> import bayesrank as br
        >>> c = br.PairCounts.from_matrix([[0, 2, 0], [1, 0, 4], [0, 0, 0]]).compared()
        >>> c.won, c.compared
        (array([2., 4.]), array([3., 4.]))
        """
        k = len(self.items)
        low, high = np.minimum(self.first, self.second), np.maximum(self.first, self.second)
        key = (self.ranker_idx.astype(np.int64) * k + low) * k + high
        pair, entry = np.unique(key, return_inverse=True)
        won = np.bincount(entry, np.where(self.first == low, self.count, 0.0), len(pair))
        return ComparedPairs(
            ranker_idx=(pair // (k * k)).astype(np.int32),
            first=(pair // k % k).astype(np.int32),
            second=(pair % k).astype(np.int32),
            won=won,
            compared=np.bincount(entry, self.count, len(pair)),
        )

    def won_lost(self) -> pd.DataFrame:
        """How much each item was preferred to others, and others to it, by all rankers.

        Returns
        -------
        DataFrame
            Indexed by item, columns ``won`` and ``lost``: sums of the counts.

        Examples
        --------
        >>> import bayesrank as br
        >>> br.Rankings.from_orderings([["b", "a", "c"]]).counts("binary").won_lost()
           won  lost
        a  1.0   1.0
        b  2.0   0.0
        c  0.0   2.0
        """
        n = len(self.items)
        columns = {
            "won": np.bincount(self.first, self.count, n),
            "lost": np.bincount(self.second, self.count, n),
        }
        return pd.DataFrame(columns, index=self.items)

    # Tables

    def layout(self) -> ProblemLayout:
        """Items of each problem in slots.

        Returns
        -------
        ProblemLayout
            ``item``, shape (n_problems, n_slots), positions on the item axis (0 in empty slots),
            and ``where``, of the same shape, whether the slot is in use.

        Examples
        --------
        >>> table = pd.DataFrame({"q": [1, 2, 2], "x": list("aab"), "y": list("bbc"), "n": 1})
        >>> import bayesrank as br
        >>> c = br.PairCounts.from_frame(table, first="x", second="y", count="n", problem="q")
        >>> c.layout().item
        array([[0, 1, 0],
               [2, 3, 4]], dtype=int32)
        """
        size = np.bincount(self.problem_idx, minlength=len(self.problems))
        where = np.arange(size.max(initial=0)) < size[:, None]
        item = np.zeros(where.shape, dtype=np.int32)
        item[where] = np.argsort(self.problem_idx, kind="stable")
        return ProblemLayout(item, where)

    def dense(self, ranker: Hashable) -> NDArray[np.float64]:
        """Return C_n of the ranker with this label, (n_items, n_items): row preferred to column.

        Of many problems, pick one first: ``counts.subset(problems=["q7"]).dense("Ann")``.
        """
        n = locate(pd.Index([ranker], tupleize_cols=False), self.rankers, "ranker")[0]
        mine = slice(*np.searchsorted(self.ranker_idx, [n, n + 1]))
        table = np.zeros((len(self.items), len(self.items)))
        table[self.first[mine], self.second[mine]] = self.count[mine]
        return table

    def to_frame(self) -> pd.DataFrame:
        """One row per entry: ranker, first, second, count; `from_frame` reads it back.

        If problems are named there is a column problem, and of items whose labels are tuples
        (problem, item) the columns first and second have the item alone.
        """
        columns: dict[str, Any] = {"ranker": self.rankers.take(self.ranker_idx)}
        items = self.items
        if not self.problems.equals(ONE_PROBLEM):
            problem = self.problems.take(self.problem_idx)
            columns["problem"] = problem.take(self.first)
            if all(
                isinstance(label, tuple) and len(label) == 2 and label[0] == name
                for label, name in zip(items, problem, strict=True)
            ):
                items = pd.Index([label[1] for label in items], tupleize_cols=False)
        columns |= {"first": items.take(self.first), "second": items.take(self.second)}
        return pd.DataFrame(columns | {"count": self.count})

    def __len__(self) -> int:
        """Count the entries."""
        return len(self.count)

    def __repr__(self) -> str:
        """Say in a line how much of what there is."""
        n = len(self.problems)
        return (
            f"{type(self).__name__}: {counted(len(self), 'ordered pair')} of "
            f"{counted(len(self.items), 'item')} "
            f"{f'in {n} problems ' if n > 1 else ''}by "
            f"{counted(len(self.rankers), 'ranker')}, {self.count.sum():g} in all"
        )
