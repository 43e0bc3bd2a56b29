"""Pair counts: how much each ranker prefers one item to another.

Ranker ``ranker_idx[k]`` preferred ``first[k]`` to ``second[k]`` by ``count[k]``. Entries are unique
and sorted by ranker, first and second item. Items of different problems are never compared.

>>> table = pd.DataFrame({"winner": ["a", "b"], "loser": ["b", "a"], "games": [3, 1]})
>>> PairCounts.from_frame(table, first="winner", second="loser", count="games")
PairCounts: 2 ordered pairs of 2 items by 1 ranker, 4 in all
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.special import gammaln

from bayesrank.data.derive.grouping import distinct_cells
from bayesrank.data.frozen import Frozen, label_at
from bayesrank.data.read import entries
from bayesrank.data.read.columns import (
    check_weights,
    finite_numbers,
    float_array,
    is_graded,
    layout,
)
from bayesrank.data.read.count_entries import (
    ONE_PROBLEM,
    ItemAxis,
    PreferredPairs,
    assign_one_problem,
    check_comparable,
    check_method,
    identify,
    ordered_pairs,
    whole_steps,
)
from bayesrank.data.read.frames import Table
from bayesrank.data.read.labels import (
    Group,
    Labels,
    axis_index,
    check_names,
    counted,
    factorize,
    label_repr,
    locate,
    require_one_each,
    sorted_axis,
)
from bayesrank.data.read.pair_entries import (
    check_differ,
    square_axis,
    square_counts,
    two_items,
    whole_counts,
)
from bayesrank.data.read.streams import Source, table_of

__all__ = ["ComparedPairs", "NetEntries", "PairCounts", "ProblemLayout"]

GROUP_NAMES = frozenset({*entries.RANKING_NAMES, "problem"})
"""Names that groups of rankers cannot have."""

NOT_WHOLE = (
    "Multiply the counts to make them whole, or set the evidence weight of rankers with `weighted`."
)


class ProblemLayout(NamedTuple):
    """Items of each problem, in the order of the item axis."""

    item: NDArray[np.int32]  # (n_problems, n_slots) position on the item axis, 0 in empty slots
    where: NDArray[np.bool_]  # (n_problems, n_slots) slot in use


class NetEntries(NamedTuple):
    """Nonzero net counts, sorted by ranker and item."""

    ranker_idx: NDArray[np.int32]
    item_idx: NDArray[np.int32]
    net: NDArray[np.float64]


class ComparedPairs(NamedTuple):
    """Pairs that a ranker compared, sorted by ranker and items; `first` precedes `second`."""

    ranker_idx: NDArray[np.int32]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    won: NDArray[np.float64]  # by the first
    compared: NDArray[np.float64]  # by either item


@dataclass(frozen=True, eq=False, repr=False)
class PairCounts(Frozen):
    """Sparse preference counts per ranker, C_n(i, j): how much ranker n prefers i to j.

    Use `from_frame`, `from_ratings`, `from_matrix` or ``Rankings.counts``, which check their input.
    The constructor itself checks nothing. ``counts[3]`` is the dict of one entry, and
    ``counts[:3]`` or ``counts[mask]`` are counts. Positions count from 0.

    Attributes
    ----------
    items, rankers, problems : pandas.Index
        Axes. Items of different problems (such as queries) are never compared; by default all
        items belong to one problem 'all'.
    problem_idx : array of int32, shape (n_items,)
        The problem of each item.
    ranker_idx, first, second : array of int32, shape (n_entries,)
        Ranker n, preferred item i and other item j of each entry, unique and sorted.
    count : array of float64, shape (n_entries,)
        C_n(i, j) > 0, whole; entries that are not listed are 0.
    weight : array of float64, shape (n_rankers,)
        Evidence weight of each ranker: its likelihood is raised to this power. 1 by default. A rank
        difference of 199 counts as 199 independent draws, so posteriors from raw differences are
        far too narrow. Use a weight below one, or binary counts, to reduce the evidence. The
        weight does not change counts, their sums or tables.
    groups : mapping of str to Group
        Groups of the rankers (region, age). Each has ``labels``, a pandas Index, and ``idx``,
        array of int32, shape (n_rankers,).

    See Also
    --------
    MPM, Pairs, Rankings.counts

    Examples
    --------
    >>> import pandas as pd
    >>> import bayesrank as br
    >>> table = pd.DataFrame({"winner": ["a", "b"], "loser": ["b", "a"], "games": [3, 1]})
    >>> br.PairCounts.from_frame(table, first="winner", second="loser", count="games")
    PairCounts: 2 ordered pairs of 2 items by 1 ranker, 4 in all
    """

    AXES: ClassVar = {
        "item": ("items", ("first", "second")),
        "ranker": ("rankers", ("ranker_idx",)),
        "problem": ("problems", ("problem_idx",)),
    }

    ROW: ClassVar = "ordered pair"

    items: pd.Index
    rankers: pd.Index
    problems: pd.Index
    problem_idx: NDArray[np.int32]
    ranker_idx: NDArray[np.int32]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    count: NDArray[np.float64]
    weight: NDArray[np.float64]
    groups: Mapping[str, Group] = field(default_factory=dict)

    # Constructors

    @classmethod
    def from_frame(
        cls,
        frame: Source,
        *,
        first: str | None = None,
        second: str | None = None,
        count: str | None = None,
        ranker: str | None = None,
        problem: str | None = None,
        by: str | Sequence[str] = (),
        items: Iterable[Hashable] | None = None,
    ) -> Self:
        """Read a table of counts, by default one that `to_frame` wrote.

        Rows for the same ranker and pair add up.

        Parameters
        ----------
        frame : table, path, list of paths, or pyarrow.dataset.Dataset
            One row per ranker and ordered pair. Files are read as by `Rankings.from_ratings`.
        first, second, count : str
            Columns with the preferred item, the other item, and the count: whole, >= 0. If no
            column is named, the columns that `to_frame` writes are read.
        ranker : str, optional
            Column of rankers; one ranker 'all' by default.
        problem : str, optional
            Column of problems. Items of different problems are then different items, with labels
            (problem, item).
        by : str or sequence of str, optional
            Columns that group the rankers (region, age), constant within a ranker.
        items : sequence of labels, optional
            The item axis; by default the items of the table, sorted.

        Raises
        ------
        ValueError
            If a column or label is missing, an item is unknown or preferred to itself, or a problem
            has one item. Also if a count is negative, not finite or not whole, or a column of `by`
            varies within a ranker.

        Examples
        --------
        >>> import bayesrank as br
        >>> counts = br.Rankings.from_orderings([["b", "a"], ["a", "b"]]).counts()
        >>> br.PairCounts.from_frame(counts.to_frame()) == counts
        True
        """
        given = {"first": first, "second": second, "count": count}
        given |= {"ranker": ranker, "problem": problem}
        names, optional = layout(given, ("first", "second", "count"))
        first, second, count = (names[x] for x in ("first", "second", "count"))
        ranker, problem = names["ranker"], names["problem"]
        by = [by] if isinstance(by, str) else list(by)
        check_names(by, GROUP_NAMES, "rankers")
        named = [first, second, ranker, problem, *by]
        frame = table_of(frame, "counts", labels=named, numbers=[count], optional=optional)
        absent = [x for x in optional if x not in frame.columns]
        ranker, problem = (None if x in absent else x for x in (ranker, problem))
        if problem is None:
            one, other, labels = two_items(frame, first, second, items)
            axis = assign_one_problem(labels)
        else:
            for column in (first, second, problem):
                factorize(frame[column], column)  # an error about a missing label names the column
            both = pd.concat([frame[first], frame[second]], ignore_index=True).rename("item")
            where = frame[problem].iloc[np.tile(np.arange(len(frame)), 2)]
            position, axis = identify(both, where, items)
            one, other = position[: len(frame)], position[len(frame) :]
            check_differ(frame, first, second, one, other, axis.items)
        amount = whole_counts(frame, count, NOT_WHOLE)
        if ranker is None:
            who, rankers = np.zeros(len(frame), dtype=np.int32), pd.Index(["all"])
        else:
            who, rankers = factorize(frame[ranker], ranker)
        pairs = PreferredPairs(who, one, other, amount)
        counts = cls.from_pairs(axis, axis_index(rankers, "rankers"), pairs)
        groups = {}
        for name in by:
            codes, of_group = sorted_axis(frame[name], name)
            codes = entries.constant(frame, name, name, codes, who, len(rankers), "ranker")
            groups[name] = Group(of_group, codes.astype(np.int32))
        return replace(counts, groups=groups)

    @classmethod
    def from_ratings(
        cls,
        frame: Source,
        *,
        ranker: str,
        item: str,
        rating: str,
        method: Literal["difference", "binary"] = "difference",
        problem: str | None = None,
        items: Iterable[Hashable] | None = None,
    ) -> Self:
        """Count rating differences for every pair of items that a ranker rated differently.

        Parameters
        ----------
        frame : table, path, list of paths, or pyarrow.dataset.Dataset
            One row per rating. Files are read as by `Rankings.from_ratings`.
        ranker, item, rating : str
            Columns of rankers, items and ratings; high is good.
        method : "difference" or "binary"
            C_n(i, j) if n rated i higher than j: the difference of the ratings, or 1.
        problem, items
            As in `from_frame`.

        Returns
        -------
        PairCounts
            A ranker with equal ratings stays on the axis, without entries.

        Raises
        ------
        ValueError
            If a column or label is missing, an item is unknown or rated twice, or a problem has one
            item. Also if a rating is not a finite number, or differences are not whole.

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesrank as br
        >>> table = pd.DataFrame({"user": [7, 7, 7], "film": list("abc"), "stars": [3, 5, 3]})
        >>> c = br.PairCounts.from_ratings(table, ranker="user", item="film", rating="stars")
        >>> c.dense(7)
        array([[0., 0., 0.],
               [2., 0., 2.],
               [0., 0., 0.]])
        """
        named = [ranker, item, problem]
        frame = table_of(frame, "ratings", labels=named, numbers=[rating])
        if method == "difference" and is_graded(frame[rating]):
            raise ValueError(
                f"The categories of column {rating!r} have an order, but no differences. Count "
                f"with method='binary', or convert the column to numbers."
            )
        value = finite_numbers(frame, rating, "rating").astype(np.float64)
        where = None if problem is None else frame[problem]
        position, axis = identify(frame[item], where, items)
        who, rankers = factorize(frame[ranker], ranker)
        rankers = axis_index(rankers, "rankers")
        return cls.from_rating_arrays(axis, rankers, who, position, value, method)

    @classmethod
    def from_matrix(
        cls,
        counts: ArrayLike | Table,
        *,
        items: Iterable[Hashable] | None = None,
        rankers: Iterable[Hashable] | None = None,
    ) -> Self:
        """Convert a matrix of counts, or one matrix per ranker.

        Parameters
        ----------
        counts : array, shape (n_items, n_items) or (n_rankers, n_items, n_items), or DataFrame
            How much the row's item is preferred to the column's item: whole, >= 0, with zeros or
            nothing (NaN) on the diagonal. The index and the columns of a DataFrame are the items.
        items, rankers : sequence of labels, optional
            Axes; 0, 1, 2, ... by default. A single matrix belongs to one ranker 'all'.

        Raises
        ------
        ValueError
            If a matrix is not square, its diagonal is neither zero nor empty, or labels are
            missing. Also if another cell is negative, not finite or not whole.

        Examples
        --------
        >>> import bayesrank as br
        >>> br.PairCounts.from_matrix([[0, 3], [1, 0]], items=["a", "b"])
        PairCounts: 2 ordered pairs of 2 items by 1 ranker, 4 in all
        """
        axis = square_axis(counts, items, "counts", (2, 3))
        table = square_counts(counts, "counts", axis, NOT_WHOLE)
        if rankers is None:
            rankers = ["all"] if table.ndim == 2 else range(len(table))
        who = axis_index(rankers, "rankers")
        table = table.reshape(-1, *table.shape[-2:])
        require_one_each(who, len(table), "`rankers`", "ranker", where=" in `counts`")
        ranker, one, other = (k.astype(np.int32) for k in np.nonzero(table))
        pairs = PreferredPairs(ranker, one, other, table[ranker, one, other])
        return cls.from_sorted_pairs(assign_one_problem(axis), who, pairs)

    # Internal constructors, also used by `Rankings`

    @classmethod
    def from_sorted_pairs(cls, axis: ItemAxis, rankers: pd.Index, pairs: PreferredPairs) -> Self:
        """Convert entries that are sorted, unique, whole and positive."""
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
    def from_pairs(cls, axis: ItemAxis, rankers: pd.Index, pairs: PreferredPairs) -> Self:
        """Sum the counts by ranker, better and worse item; leave out zeros."""
        ranker, better, worse, step = pairs
        size = [len(axis.items)] * 2
        cells = distinct_cells(ranker, (better, worse), size, len(rankers), step)
        who = np.repeat(np.arange(len(rankers), dtype=np.int32), np.diff(cells.start))
        one, other = (column.astype(np.int32, copy=False) for column in cells.columns)
        return cls.from_sorted_pairs(axis, rankers, PreferredPairs(who, one, other, cells.amount))

    @classmethod
    def from_rating_arrays(
        cls,
        axis: ItemAxis,
        rankers: pd.Index,
        ranker_idx: NDArray[Any],
        item: NDArray[Any],
        value: NDArray[np.float64],
        method: str,
    ) -> Self:
        """Count the pairs of items with different ratings; high is good."""
        check_method(method)
        key = ranker_idx.astype(np.int64) * len(axis.items) + item
        twice = pd.Series(key).duplicated().to_numpy()
        if twice.any():
            k = int(twice.argmax())
            raise ValueError(
                f"Ranker {label_repr(rankers[ranker_idx[k]])} rates item "
                f"{label_repr(axis.items[item[k]])} twice. Merge the rows, or give each occasion "
                f"a separate ranker."
            )
        pairs = ordered_pairs(ranker_idx, item, value, axis.problem_idx)
        if method == "binary":
            return cls.from_sorted_pairs(
                axis, rankers, pairs._replace(step=np.ones(len(pairs.step)))
            )
        whole = whole_steps(pairs, axis.items, rankers)
        return cls.from_sorted_pairs(axis, rankers, pairs._replace(step=whole))

    # Coordinates and tables

    def layout(self) -> ProblemLayout:
        """Return the items of each problem in slots, and whether a slot is in use."""
        size = np.bincount(self.problem_idx, minlength=len(self.problems))
        where = np.arange(size.max(initial=0)) < size[:, None]
        item = np.zeros(where.shape, dtype=np.int32)
        item[where] = np.argsort(self.problem_idx, kind="stable")
        return ProblemLayout(item, where)

    def dense(self, ranker: Hashable) -> NDArray[np.float64]:
        """Return C_n of one ranker, (n_items, n_items): how much rows are preferred to columns.

        With many problems, select one first: ``counts.subset(problems=["q7"]).dense("Ann")``.

        Raises
        ------
        ValueError
            If the ranker is unknown.

        Examples
        --------
        >>> import bayesrank as br
        >>> counts = br.Rankings.from_orderings([["b", "a"]], rankers=["Ann"]).counts()
        >>> counts.dense("Ann")
        array([[0., 0.],
               [1., 0.]])
        """
        n = locate(pd.Index([ranker], tupleize_cols=False), self.rankers, "ranker")[0]
        mine = slice(*np.searchsorted(self.ranker_idx, [n, n + 1]))
        table = np.zeros((len(self.items), len(self.items)))
        table[self.first[mine], self.second[mine]] = self.count[mine]
        return table

    def to_frame(self) -> pd.DataFrame:
        """Return a long table with one row per entry, which `from_frame` reads back.

        Columns are ranker, the groups, first, second and count. Named problems add a column
        problem. If item labels are tuples (problem, item), first and second contain the item only.

        Examples
        --------
        >>> import bayesrank as br
        >>> br.PairCounts.from_matrix([[0, 3], [1, 0]], items=["a", "b"]).to_frame()
          ranker first second  count
        0    all     a      b    3.0
        1    all     b      a    1.0
        """
        columns: dict[str, Any] = {"ranker": self.rankers.take(self.ranker_idx)}
        columns |= {
            name: labels.take(idx[self.ranker_idx]) for name, (labels, idx) in self.groups.items()
        }
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

    # Derived counts: with groups and weights, for fewer rankers and problems

    def grouped(self, groups: Mapping[str, Labels | Mapping[Hashable, Hashable]]) -> Self:
        """Add groups of the rankers (region, age), as `Rankings.grouped` adds groups of rankings.

        Examples
        --------
        >>> import bayesrank as br
        >>> c = br.PairCounts.from_matrix([[[0, 3], [1, 0]], [[0, 0], [2, 0]]], rankers=["u", "v"])
        >>> c.grouped({"region": {"u": "west", "v": "east"}}).coords["region"].tolist()
        ['east', 'west']
        """
        who = np.arange(len(self.rankers))
        added = entries.grouped(groups, who, self.rankers, "ranker", GROUP_NAMES)
        return replace(self, groups={**self.groups, **added})

    def _used(self, name: str) -> NDArray[Any]:
        if name == "problem":
            return super()._used(name)
        return np.arange(len(vars(self)[f"{name}s"]))  # all, with or without counts

    def _on_axes(self, values: dict[str, Any]) -> Self:
        new = replace(self, **values)
        for unit, axis, old in (
            ("item", new.items, self.items),
            ("ranker", new.rankers, self.rankers),
        ):
            if len(axis) != len(old):
                raise ValueError(
                    f"The new axis of {unit}s has {counted(len(axis), 'label')}, but the counts "
                    f"have {counted(len(old), unit)}. Give the same labels in another order."
                )
        item, ranker = self.items.get_indexer(new.items), self.rankers.get_indexer(new.rankers)
        within = ItemAxis(new.items, new.problems, new.problem_idx[item])
        pairs = PreferredPairs(new.ranker_idx, new.first, new.second, new.count)
        table = self.from_pairs(within, new.rankers, pairs)
        groups = {name: group.take(ranker) for name, group in new.groups.items()}
        return replace(table, weight=self.weight[ranker], groups=groups)

    def weighted(self, weight: ArrayLike) -> Self:
        """Return the same counts with this evidence weight.

        Parameters
        ----------
        weight : float, array of shape (n_rankers,), or Series or mapping by ranker
            Positive and finite; it replaces the previous weights.

        Raises
        ------
        ValueError
            If a weight is not positive and finite, or a ranker has none.

        Examples
        --------
        >>> import bayesrank as br
        >>> br.PairCounts.from_matrix([[0, 3], [1, 0]]).weighted(0.1).weight
        array([0.1])
        """
        values = float_array(entries.per_row(weight, {"ranker": self.rankers}, "weight"), "weight")
        n = len(self.rankers)
        if values.shape not in ((), (n,)):
            raise ValueError(
                f"`weight` must be one number or have shape ({n},), one per ranker; got "
                f"{values.shape}."
            )
        values = np.array(np.broadcast_to(values, (n,)))
        way_out = "Leave out rankers that should not count: counts.subset(rankers=...)."
        check_weights(values, self.rankers, "ranker", way_out)
        return replace(self, weight=values)

    def pooled(self, label: Hashable = "all") -> Self:
        """Sum the counts of all rankers into one ranker with this label and weight 1.

        Examples
        --------
        >>> import bayesrank as br
        >>> br.Rankings.from_orderings([["b", "a"], ["b", "a"]]).counts().pooled().dense("all")
        array([[0., 0.],
               [2., 0.]])
        """
        axis = ItemAxis(self.items, self.problems, self.problem_idx)
        everyone = np.zeros_like(self.first)
        pairs = PreferredPairs(everyone, self.first, self.second, self.count)
        return self.from_pairs(axis, pd.Index([label], tupleize_cols=False), pairs)

    def subset(
        self,
        *,
        rankers: Iterable[Hashable] | None = None,
        problems: Iterable[Hashable] | None = None,
    ) -> Self:
        """Keep some rankers, some problems, or some of each.

        Parameters
        ----------
        rankers : sequence of labels, optional
            All by default. The selected rankers stay on the axis even without entries.
        problems : sequence of labels, optional
            All by default. Only items of the selected problems stay.

        Returns
        -------
        PairCounts
            With shorter axes, in the previous order.

        Raises
        ------
        ValueError
            If a label is unknown or nothing is kept.

        Examples
        --------
        >>> import bayesrank as br
        >>> c = br.PairCounts.from_matrix([[[0, 3], [1, 0]], [[0, 0], [2, 0]]], rankers=["u", "v"])
        >>> c.subset(rankers=["v"])
        PairCounts: 1 ordered pair of 2 items by 1 ranker, 2 in all
        """
        ranker = _mark_selected(rankers, self.rankers, "ranker")
        problem = _mark_selected(problems, self.problems, "problem")
        item = problem[self.problem_idx]
        entry = ranker[self.ranker_idx] & item[self.first]

        def moved(index: NDArray[np.int32], kept: NDArray[np.bool_]) -> NDArray[np.int32]:
            return (np.cumsum(kept, dtype=np.int32) - np.int32(1))[index]

        return replace(
            self,
            items=self.items[item],
            rankers=self.rankers[ranker],
            problems=self.problems[problem],
            problem_idx=moved(self.problem_idx[item], problem),
            ranker_idx=moved(self.ranker_idx[entry], ranker),
            first=moved(self.first[entry], item),
            second=moved(self.second[entry], item),
            count=self.count[entry],
            weight=self.weight[ranker],
            groups={n: group.take(ranker) for n, group in self.groups.items()},
        )

    # Sums of the unweighted counts

    def net(self) -> NDArray[np.float64]:
        """Return net counts, the sums over j of C_n(i, j) - C_n(j, i), (n_rankers, n_items).

        Examples
        --------
        >>> import bayesrank as br
        >>> br.PairCounts.from_matrix([[0, 3], [1, 0]]).net()
        array([[ 2., -2.]])
        """
        net = np.zeros((len(self.rankers), len(self.items)))
        ranker, item, value = self.net_entries()
        net[ranker, item] = value
        return net

    def net_entries(self) -> NetEntries:
        """Return the nonzero net counts, sorted by ranker and item, without a dense array."""
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
        """Sum the counts of each ranker, T_n, shape (n_rankers,).

        Examples
        --------
        >>> import bayesrank as br
        >>> br.PairCounts.from_matrix([[0, 3], [1, 0]]).total()
        array([4.])
        """
        return np.bincount(self.ranker_idx, self.count, len(self.rankers))

    def totals(self) -> NDArray[np.float64]:
        """Sum the counts of each problem and ranker, T_pn, shape (n_problems, n_rankers).

        Examples
        --------
        >>> import bayesrank as br
        >>> br.PairCounts.from_matrix([[0, 3], [1, 0]]).totals()
        array([[4.]])
        """
        shape = (len(self.problems), len(self.rankers))
        cell = self.problem_idx[self.first].astype(np.int64) * shape[1] + self.ranker_idx
        return np.bincount(cell, self.count, shape[0] * shape[1]).reshape(shape)

    def log_multinomial(self) -> NDArray[np.float64]:
        r"""Return the log multinomial coefficient of each ranker, shape (n_rankers,).

        .. math:: \sum_p \Big( \log T_{pn}! - \sum_{ij} \log C_n(i, j)! \Big)

        where i, j are the pairs of problem p. This is the log number of orders in which the counts
        of a ranker can have arrived.

        Examples
        --------
        >>> import numpy as np
        >>> import bayesrank as br
        >>> c = br.PairCounts.from_matrix([[0, 2], [1, 0]])  # 3 orders of two wins and a loss
        >>> c.log_multinomial().round(4), float(np.log(3).round(4))
        (array([1.0986]), 1.0986)
        """
        log_factorials = np.bincount(self.ranker_idx, gammaln(self.count + 1.0), len(self.rankers))
        return gammaln(self.totals() + 1.0).sum(axis=0) - log_factorials

    def log_at_random(self) -> NDArray[np.float64]:
        r"""Return the log-probability of each ranker's counts under random choice, (n_rankers,).

        .. math:: \log M_n - \sum_p T_{pn} \log n_p (n_p - 1)

        where :math:`\log M_n` is the result of `log_multinomial`. Every ordered pair of the
        :math:`n_p` items of a problem has the same probability.

        Examples
        --------
        >>> import numpy as np
        >>> import bayesrank as br
        >>> c = br.PairCounts.from_matrix([[0, 2], [1, 0]])  # 3 orders, each with probability 1/8
        >>> float(np.exp(c.log_at_random())[0].round(6))
        0.375
        """
        n = np.bincount(self.problem_idx, minlength=len(self.problems))
        return self.log_multinomial() - np.log(np.maximum(n * (n - 1), 1)) @ self.totals()

    def compared(self) -> ComparedPairs:
        """Count how often each ranker compared two items, and how often the first one won.

        Returns
        -------
        ComparedPairs
            A named tuple of arrays with one entry per ranker and pair. The positions are
            ``ranker_idx``, ``first`` and ``second``. The number of wins of the first item is
            ``won``, and the number of comparisons is ``compared``.

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

    # Length and text

    def __len__(self) -> int:
        """Count the entries."""
        return len(self.count)

    def __repr__(self) -> str:
        """Summarise the table in one line."""
        n = len(self.problems)
        return (
            f"{type(self).__name__}: {counted(len(self), 'ordered pair')} of "
            f"{counted(len(self.items), 'item')} "
            f"{f'in {n} problems ' if n > 1 else ''}by "
            f"{counted(len(self.rankers), 'ranker')}{self._groups_text()}, "
            f"{self.count.sum():g} in all"
        )

    def _row(self, n: int) -> dict[str, Any]:
        return {
            "ranker": label_at(self.rankers, self.ranker_idx[n]),
            "first": label_at(self.items, self.first[n]),
            "second": label_at(self.items, self.second[n]),
            "count": float(self.count[n]),
        }

    def _take(self, rows: NDArray[np.int64]) -> Self:
        rows = np.sort(rows)  # entries are sorted
        columns = ("ranker_idx", "first", "second", "count")
        return replace(self, **{name: vars(self)[name][rows] for name in columns})


def _mark_selected(
    labels: Iterable[Hashable] | None, axis: pd.Index, unit: str
) -> NDArray[np.bool_]:
    """Mark the selected labels of an axis; all by default."""
    if labels is None:
        return np.ones(len(axis), dtype=bool)
    wanted = locate(axis_index(labels, f"{unit}s"), axis, unit)
    if not len(wanted):
        raise ValueError(f"No {unit} is selected: counts need at least one.")
    stays = np.zeros(len(axis), dtype=bool)
    stays[wanted] = True
    return stays
