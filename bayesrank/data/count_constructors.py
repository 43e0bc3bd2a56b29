"""Constructors of `PairCounts`: how tables, ratings and matrices are read."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bayesrank.data.count_table import CountTable
from bayesrank.data.pair_table import amounts, check_differ
from bayesrank.data.read.columns import finite_numbers, float_array, require_columns
from bayesrank.data.read.count_entries import (
    ItemAxis,
    OrderedPairs,
    check_cells,
    check_comparable,
    check_kind,
    identify,
    one_problem,
    ordered_pairs,
    whole_steps,
)
from bayesrank.data.read.labels import axis_index, counted, factorize, label_repr, row_name


@dataclass(frozen=True, eq=False, repr=False)
class CountConstructors(CountTable):
    """The named constructors of `PairCounts`."""

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        first: str,
        second: str,
        count: str,
        ranker: str | None = None,
        problem: str | None = None,
        items: Iterable[Hashable] | None = None,
    ) -> Self:
        """Read a table of counts; rows for the same ranker and pair add up.

        Parameters
        ----------
        frame : DataFrame
            One row per ranker and ordered pair.
        first, second, count : str
            Columns with the preferred item, the other item, and how much: whole, >= 0.
        ranker : str, optional
            Column that says who prefers; one ranker 'all' by default.
        problem : str, optional
            Column that says in which problem. The items of different problems are then different
            items, and their labels tuples (problem, item).
        items : sequence of labels, optional
            The item axis; by default the items of the table, sorted.

        Returns
        -------
        PairCounts

        Raises
        ------
        ValueError
            For a missing column or label, an unknown item, an item preferred to itself, a count
            that is negative, not finite or not whole, or a problem with one item.

        Examples
        --------
        >>> import bayesrank as br
        >>> table = pd.DataFrame({"winner": ["a", "b"], "loser": ["b", "a"], "games": [3, 1]})
        >>> br.PairCounts.from_frame(table, first="winner", second="loser", count="games").net()
        array([[ 2., -2.]])
        """
        named = [name for name in (first, second, count, ranker, problem) if name is not None]
        require_columns(frame, named)
        if not len(frame):
            raise ValueError("There are no counts: give at least one row.")
        for column in (first, second, *([] if problem is None else [problem])):
            factorize(frame[column], column)  # a missing label is named with its own column
        both = pd.concat([frame[first], frame[second]], ignore_index=True).rename("item")
        where = None if problem is None else frame[problem].iloc[np.tile(np.arange(len(frame)), 2)]
        position, axis = identify(both, where, items)
        one, other = position[: len(frame)], position[len(frame) :]
        check_differ(frame, first, second, one, other, axis.items)
        amount = amounts(frame, count)
        broken = np.flatnonzero(amount % 1)
        if len(broken):
            raise ValueError(
                f"A count must be a whole number; column {count!r} has {amount[broken[0]]:g} in "
                f"{row_name(frame.index, broken[0])}. Multiply the counts to make them whole, or "
                f"give rankers an evidence weight with `weighted`."
            )
        if ranker is None:
            who, rankers = np.zeros(len(frame), dtype=np.int64), pd.Index(["all"])
        else:
            who, rankers = factorize(frame[ranker], ranker)
        return cls.summed(axis, axis_index(rankers, "rankers"), who, one, other, amount)

    @classmethod
    def from_ratings(
        cls,
        frame: pd.DataFrame,
        *,
        ranker: str,
        item: str,
        rating: str,
        kind: Literal["difference", "binary"] = "difference",
        problem: str | None = None,
        items: Iterable[Hashable] | None = None,
    ) -> Self:
        """Count, for every pair of items that a ranker rated differently, by how much.

        Parameters
        ----------
        frame : DataFrame
            One row per rating.
        ranker, item, rating : str
            Columns that say who rated what how; high is good.
        kind : "difference" or "binary"
            What C_n(i, j) is where n rated i higher than j: the difference of the ratings, or 1.
        problem, items
            As in `from_frame`.

        Returns
        -------
        PairCounts
            A ranker whose ratings are all equal stays on the axis, without entries.

        Raises
        ------
        ValueError
            For a missing column or label, a rating that is not a finite number, differences that
            are not whole, an item rated twice, an unknown item, or a problem with one item.

        Examples
        --------
        >>> import bayesrank as br
        >>> table = pd.DataFrame({"user": [7, 7, 7], "film": list("abc"), "stars": [3, 5, 3]})
        >>> c = br.PairCounts.from_ratings(table, ranker="user", item="film", rating="stars")
        >>> c.dense(7)
        array([[0., 0., 0.],
               [2., 0., 2.],
               [0., 0., 0.]])
        """
        named = [name for name in (ranker, item, rating, problem) if name is not None]
        require_columns(frame, named)
        if not len(frame):
            raise ValueError("There are no ratings: give at least one row.")
        value = finite_numbers(frame, rating, "rating").astype(np.float64)
        position, axis = identify(frame[item], None if problem is None else frame[problem], items)
        who, rankers = factorize(frame[ranker], ranker)
        rankers = axis_index(rankers, "rankers")
        return cls.of_ratings(axis, rankers, who, position, value, kind)

    @classmethod
    def from_matrix(
        cls,
        counts: ArrayLike,
        *,
        items: Iterable[Hashable] | None = None,
        rankers: Iterable[Hashable] | None = None,
    ) -> Self:
        """Take a table of counts, or one per ranker.

        Parameters
        ----------
        counts : array, shape (n_items, n_items) or (n_rankers, n_items, n_items)
            How much the item of the row is preferred to that of the column: whole, >= 0, with a
            diagonal of zeros.
        items, rankers : sequence of labels, optional
            Axes; by default the items are 0, 1, 2, ..., and so are the rankers if there is a table
            for each, while a single table belongs to one ranker 'all'.

        Returns
        -------
        PairCounts

        Raises
        ------
        ValueError
            If a table is not square, or a cell on the diagonal is not zero, or one is negative,
            not finite or not whole (the sentence names it), or labels are missing.

        Examples
        --------
        >>> import bayesrank as br
        >>> br.PairCounts.from_matrix([[0, 3], [1, 0]], items=["a", "b"])
        PairCounts: 2 ordered pairs of 2 items by 1 ranker, 4 in all
        """
        table = float_array(counts, "counts")
        if table.ndim not in (2, 3) or table.shape[-1] != table.shape[-2] or not table.size:
            raise ValueError(
                f"`counts` must have shape (n_items, n_items) or (n_rankers, n_items, n_items), "
                f"rows preferred to columns; got {table.shape}."
            )
        if rankers is None:
            rankers = ["all"] if table.ndim == 2 else range(len(table))
        table = table.reshape(-1, *table.shape[-2:])
        axis = axis_index(range(table.shape[1]) if items is None else items, "items")
        who = axis_index(rankers, "rankers")
        for index, n, noun in ((axis, table.shape[1], "item"), (who, len(table), "ranker")):
            if len(index) != n:
                raise ValueError(
                    f"`{noun}s` has {counted(len(index), 'label')} for {counted(n, noun)} in "
                    f"`counts`; give one for each."
                )
        check_cells(table, axis, who)
        ranker, one, other = (k.astype(np.int32) for k in np.nonzero(table))
        pairs = OrderedPairs(ranker, one, other, table[ranker, one, other])
        return cls.of_pairs(one_problem(axis), who, pairs)

    # What the constructors, here and of rankings, come down to

    @classmethod
    def of_pairs(cls, axis: ItemAxis, rankers: pd.Index, pairs: OrderedPairs) -> Self:
        """Take entries that are sorted, whole and positive, each triple once."""
        check_comparable(axis)
        return cls(
            items=axis.items,
            rankers=rankers,
            problems=axis.problems,
            problem_idx=axis.problem_idx,
            ranker_idx=pairs.ranker,
            first=pairs.better,
            second=pairs.worse,
            count=pairs.step,
            weight=np.ones(len(rankers)),
        )

    @classmethod
    def summed(
        cls,
        axis: ItemAxis,
        rankers: pd.Index,
        ranker_idx: NDArray[Any],
        first: NDArray[Any],
        second: NDArray[Any],
        count: NDArray[np.float64],
    ) -> Self:
        """Add up the entries of each (ranker, first, second); leave out zeros."""
        k = len(axis.items)
        key = (ranker_idx.astype(np.int64) * k + first) * k + second
        triple, entry = np.unique(key, return_inverse=True)
        total = np.bincount(entry, weights=count, minlength=len(triple))
        triple, total = triple[total > 0], total[total > 0]
        who, one, other = (
            part.astype(np.int32) for part in (triple // (k * k), triple // k % k, triple % k)
        )
        return cls.of_pairs(axis, rankers, OrderedPairs(who, one, other, total))

    @classmethod
    def of_ratings(
        cls,
        axis: ItemAxis,
        rankers: pd.Index,
        ranker_idx: NDArray[Any],
        item: NDArray[Any],
        value: NDArray[np.float64],
        kind: str,
    ) -> Self:
        """Count the pairs that ratings order; high is good."""
        check_kind(kind)
        key = ranker_idx.astype(np.int64) * len(axis.items) + item
        twice = pd.Series(key).duplicated().to_numpy()
        if twice.any():
            k = int(twice.argmax())
            raise ValueError(
                f"Ranker {label_repr(rankers[ranker_idx[k]])} rates item "
                f"{label_repr(axis.items[item[k]])} twice: merge the rows, or give each occasion "
                f"a ranker of its own."
            )
        pairs = ordered_pairs(ranker_idx, item, value, axis.problem_idx)
        if kind == "binary":
            return cls.of_pairs(axis, rankers, pairs._replace(step=np.ones(len(pairs.step))))
        whole = whole_steps(pairs, axis.items, rankers)
        return cls.of_pairs(axis, rankers, pairs._replace(step=whole))
