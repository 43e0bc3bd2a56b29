"""Pairs: outcomes of comparisons of two items, such as matches.

A *pair* is the unit of observation: two items, who judged, and whatever else keeps matches apart.
In row ``k`` the judge ``judge_idx[k]`` compared ``first[k]`` with ``second[k]``; ``counts[k]`` says
how often the first won, the second won, and the two tied.

>>> table = pd.DataFrame({"home": ["a", "b", "a"], "away": ["b", "c", "b"]})
>>> table["result"] = ["first", "tie", "second"]
>>> matches = Pairs.from_frame(table, first="home", second="away", outcome="result")
>>> matches
Pairs: 2 pairs of 3 items by 1 judge, 3 matches (1 first, 1 second, 1 tie)
>>> matches.counts
array([[1, 1, 0],
       [0, 0, 1]])
"""

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bayesrank.data.derive.graph import Connectivity, connectivity
from bayesrank.data.frozen import Frozen
from bayesrank.data.read.columns import amounts
from bayesrank.data.read.labels import (
    PAIR_NAMES,
    Group,
    Labels,
    check_names,
    coord_values,
    counted,
    label_repr,
    quoted,
    sorted_axis,
    warn,
)
from bayesrank.data.read.pair_entries import (
    OUTCOMES,
    MatchFeatures,
    check_exact,
    differences,
    distinct_rows,
    feature_columns,
    results,
    square_axis,
    square_counts,
    two_items,
    whole_counts,
)
from bayesrank.data.read.partitions import count_partitions
from bayesrank.data.read.streams import Source, table_of

__all__ = ["Pairs", "Seen", "UncomparedItemWarning"]

MOST_NAMED = 100_000
"""Pairs up to which each gets a name; names of more would take more room than the data."""


class UncomparedItemWarning(UserWarning):
    """Some items of the axis are in no match, so the data say nothing of their utilities."""


class Seen(NamedTuple):
    """Items by the labels of a group under which they were seen."""

    labels: pd.Index  # (n_seen,)
    item: NDArray[np.int32]  # (n_seen,) position on the item axis
    first: NDArray[np.int32]  # (n_pairs,) position of the first item among the labels
    second: NDArray[np.int32]  # (n_pairs,)

    def among(self, labels: "pd.Index | Sequence[str]") -> tuple[NDArray[np.int32], ...]:
        """Place the first and the second item of each pair among others' labels, -1 if in vain."""
        place = pd.Index(labels).get_indexer(self.labels).astype(np.int32)
        return place[self.first], place[self.second]


@dataclass(frozen=True, eq=False, repr=False)
class Pairs(Frozen):
    """Outcomes of comparisons of two items, such as matches, counted per pair.

    Made by `from_frame`, by `from_matrix` or by ``Rankings.pairs``, which check; the fields
    themselves are trusted. What is observed as a draw, a tie, is *judged equal*.

    Attributes
    ----------
    items, judges : pandas.Index
        Axes; without a judge column there is one judge 'all'.
    first, second : array of int32, shape (n_pairs,)
        Items compared. The first may have an advantage (home, white, shown on the left).
    counts : array of int64, shape (n_pairs, 3)
        How often the first won, the second won, and the two tied.
    weight : array of float64, shape (n_pairs,)
        Evidence weight, >= 0, that multiplies the log-likelihood; 1 by default.
    judge_idx : array of int32, shape (n_pairs,)
        Who judged.
    groups : mapping of str to Group
        What else keeps pairs apart (category, prompt, day): ``labels``, a pandas Index, and
        ``idx``, array of int32, shape (n_pairs,).
    collapsed : bool
        Whether matches of equal first, second, judge, groups, weight and features are one pair.
    features : array of float64, shape (n_pairs, n_features), or None
        By how much the first is ahead of the second in something other than what is asked for: a
        longer answer, more markdown, more days of rest.
    feature_names : pandas.Index or None
    """

    AXES: ClassVar = {"item": ("items", ("first", "second")), "judge": ("judges", ("judge_idx",))}

    items: pd.Index
    judges: pd.Index
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    counts: NDArray[np.int64]
    weight: NDArray[np.float64]
    judge_idx: NDArray[np.int32]
    groups: Mapping[str, Group]
    collapsed: bool
    features: NDArray[np.float64] | None = None
    feature_names: pd.Index | None = None

    # How they are read

    @classmethod
    def from_frame(
        cls,
        frame: Source,
        *,
        first: str,
        second: str,
        outcome: str,
        count: str | None = None,
        judge: str | None = None,
        by: str | Sequence[str] = (),
        weight: str | None = None,
        features: MatchFeatures = (),
        collapse: bool = True,
        items: Iterable[Hashable] | None = None,
    ) -> Self:
        """Read a table of matches.

        Parameters
        ----------
        frame : DataFrame, path, list of paths, or pyarrow.dataset.Dataset
            One row per match, or per distinct match with its count. Files are read as by
            `Rankings.from_ratings`.
        first, second : str
            Columns with the two items. Their order matters only to an order effect (at home, with
            the white pieces, shown on the left).
        outcome : str
            Column with "first" (the first item won), "second" or "tie" (judged equal).
        count : str, optional
            Column with how often this happened, a whole number >= 0; once by default.
        judge : str, optional
            Column of judges; one judge 'all' by default.
        by : str or sequence of str, optional
            Further columns that keep pairs apart: category, prompt, day.
        weight : str, optional
            Column with the evidence weight of a match, >= 0; 1 by default. It multiplies the
            log-likelihood, which weights other than 1 turn into a pseudo-likelihood.
        features : sequence of str, or mapping of str to str or to two str
            Columns of numbers that say how far the first was ahead of the second, in something that
            is no property of the items. A mapping gives them names; two columns, of the first and
            of the second item, stand for their difference: ``{"length": ("length_a",
            "length_b")}``.
        collapse : bool
            Whether rows with equal (first, second, judge, *by, weight, *features) become one pair,
            in the order of these; the likelihood is the same. If false, each row is a pair, in the
            order of the table.
        items : sequence of labels, optional
            The item axis; by default the items of the table, sorted. Judges and groups are sorted
            too (categories in their own order).

        Raises
        ------
        ValueError
            For a missing column or label, an unknown item or outcome, an item compared with itself,
            a count that is negative or not whole, a weight that is negative, a number that is not
            finite, a column of `by` or a feature with a reserved name, or files that cannot be
            read.
        FileNotFoundError
            If there is nothing at a path.

        Warns
        -----
        UncomparedItemWarning
            If items of the axis are in no match. They are kept.
        """
        by = [by] if isinstance(by, str) else list(by)
        check_names(by, PAIR_NAMES, "pairs")
        columns = feature_columns(features, (*PAIR_NAMES, *by))
        ahead_of = [name for sides in columns.values() for name in sides]
        frame = table_of(
            frame,
            "pairs",
            labels=[first, second, outcome, judge, *by],
            numbers=[count, weight, *ahead_of],
        )
        one, other, axis = two_items(frame, first, second, items)
        result = results(frame, outcome)
        times = None if count is None else whole_counts(frame, count)
        if times is not None:
            check_exact(times, f"column {count!r}")
        n = len(frame)
        if judge is None:
            who, judges = np.zeros(n, dtype=np.int8), pd.Index(["all"])
        else:
            who, judges = sorted_axis(frame[judge], judge)
        apart = {name: sorted_axis(frame[name], name) for name in by}
        evidence = None if weight is None else amounts(frame, weight, "weight")
        ahead = differences(frame, columns)

        # A pair is what has equal codes; `row` is one of its rows.
        if collapse:
            codes = [(one, len(axis)), (other, len(axis)), (who, len(judges))]
            codes += [(code, len(labels)) for code, labels in apart.values()]
            for values in (*([] if evidence is None else [evidence]), *ahead.T):
                levels, code = np.unique(values, return_inverse=True)
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
            counts=counts.reshape(-1, 3).astype(np.int64, copy=False),
            weight=np.ones(len(row)) if evidence is None else evidence[row],
            judge_idx=who[row].astype(np.int32),
            groups={
                name: Group(labels, code[row].astype(np.int32))
                for name, (code, labels) in apart.items()
            },
            collapsed=collapse,
            features=ahead[row] if columns else None,
            feature_names=pd.Index(list(columns)) if columns else None,
        )
        pairs._warn_of_uncompared()
        return pairs

    @classmethod
    def from_dask(
        cls,
        frame: Any,
        *,
        count: str | None = None,
        by: str | Sequence[str] = (),
        features: MatchFeatures = (),
        items: Labels | None = None,
        **columns: str | None,
    ) -> Self:
        """Read a dask table of matches, counting each partition where it is.

        Parameters
        ----------
        frame : dask.dataframe.DataFrame
            As the table of `from_frame`, of any length: distinct rows must fit into memory.
        count, by, features, items, **columns
            As in `from_frame`, with the columns `first`, `second`, `outcome`, `judge` and `weight`.
        """
        by = [by] if isinstance(by, str) else list(by)
        sides = feature_columns(features, (*PAIR_NAMES, *by)).values()
        keys = [*columns.values(), *by, *itertools.chain(*sides)]
        table = count_partitions(frame, keys, count)
        options: dict[str, Any] = {"by": by, "features": features, "items": items, **columns}
        return cls.from_frame(table, count=count or "times", **options)

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
            One for every two items that met, the earlier item of the axis first. The data then tell
            nothing of an order effect.

        Raises
        ------
        ValueError
            If a table is not square, shapes or labels differ, a cell is negative, not finite or not
            whole, the diagonal is not zero, the ties are not symmetric, or nothing was counted.

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
        axis = square_axis(wins, items, "wins")
        won = square_counts(wins, "wins", axis)
        tied = np.zeros_like(won) if ties is None else square_counts(ties, "ties", axis)
        for name, table in (("wins", won), ("ties", tied)):
            check_exact(table, f"`{name}`")
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

    # Sizes, names, tables

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return len(self.first)

    @property
    def n_matches(self) -> int:
        """Number of matches, the sum of the counts."""
        return int(self.counts.sum())

    @property
    def labels(self) -> pd.Index:
        """Names of the pairs, a pandas Index.

        "a - b" for the items a and b, with the judge, the groups and the weight where there are
        several: "a - b by Ann, category maths, weight 0.5"; and with the features where the names
        would not differ without them. The numbers 0, 1, 2, ... if pairs are not collapsed, if names
        do not differ, or beyond 100,000 pairs.
        """
        numbers = pd.RangeIndex(self.n_pairs)
        if not self.collapsed or self.n_pairs > MOST_NAMED:
            return numbers
        names = pd.Series(_text(self.items, self.first)) + " - " + _text(self.items, self.second)
        if len(self.judges) > 1:
            names += " by " + _text(self.judges, self.judge_idx)
        for group, (labels, idx) in self.groups.items():
            if len(labels) > 1:
                names += f", {group} " + _text(labels, idx)
        if (self.weight != self.weight[0]).any():
            names += ", weight " + pd.Series(self.weight).map("{:g}".format)
        if self.features is not None and self.feature_names is not None and not names.is_unique:
            for name, values in zip(self.feature_names, self.features.T, strict=True):
                names += f", {name} " + pd.Series(values).map("{:+g}".format)
        named = pd.Index(names)
        return named if named.is_unique else numbers

    @property
    def coords(self) -> dict[str, NDArray[Any]]:
        """Coordinates for ``pm.Model(coords=...)``: item, pair, judge, the groups, and features."""
        return super().coords | {"pair": coord_values(self.labels)}

    def to_frame(self) -> pd.DataFrame:
        """Write a long table, which `from_frame` reads back.

        One row per pair and outcome seen (for a pair without matches one row that counts 0): first,
        second, outcome, count, judge, the groups, the features, and weight if they are not all 1.

        Examples
        --------
        >>> Pairs.from_matrix([[0, 3], [1, 0]], items=["a", "b"]).to_frame()
          first second outcome  count judge
        0     a      b   first      3   all
        1     a      b  second      1   all
        """
        seen = self.counts > 0
        seen[:, 0] |= ~seen.any(axis=1)
        pair, outcome = np.nonzero(seen)
        columns: dict[str, Any] = {
            "first": self.items.take(self.first[pair]),
            "second": self.items.take(self.second[pair]),
            "outcome": pd.Index(OUTCOMES).take(outcome),
            "count": self.counts[pair, outcome],
            "judge": self.judges.take(self.judge_idx[pair]),
        }
        columns |= {name: labels.take(idx[pair]) for name, (labels, idx) in self.groups.items()}
        if self.features is not None and self.feature_names is not None:
            columns |= dict(zip(self.feature_names, self.features[pair].T, strict=True))
        if (self.weight != 1).any():
            columns["weight"] = self.weight[pair]
        return pd.DataFrame(columns)

    # Who judged, and what else keeps pairs apart

    def group_labels(self, name: str) -> pd.Index:
        """Labels of "judge" or of a group; raise a ValueError if there is no such group."""
        return self._group(name).labels

    def group_idx(self, name: str) -> NDArray[np.int32]:
        """Position of each pair on the axis of "judge" or of a group, (n_pairs,)."""
        return self._group(name).idx

    def _group(self, name: str) -> Group:
        groups = {"judge": Group(self.judges, self.judge_idx), **self.groups}
        if name not in groups:
            raise ValueError(
                f"There is no group {label_repr(name)}: pairs are kept apart by {quoted(groups)}. "
                f"Name its column in `by` of from_frame."
            )
        return groups[name]

    def seen(self, name: str) -> Seen:
        """List the items of each label of "judge" or of a group, such as answers to a prompt.

        Returns
        -------
        Seen
            Labels, such as "prompt 7: a", sorted by the group and then by the items, and the places
            of the first and the second item of each pair among them. Deviations of a model with a
            dim called ``"{name}_item"`` are one per label.

        Raises
        ------
        ValueError
            If there is no such group.

        Examples
        --------
        >>> import bayesrank as br
        >>> table = pd.DataFrame({"x": ["a", "b", "a"], "y": ["b", "a", "c"], "who": ["first"] * 3})
        >>> table["prompt"] = ["p", "p", "q"]
        >>> matches = br.Pairs.from_frame(table, first="x", second="y", outcome="who", by="prompt")
        >>> matches.seen("prompt").labels.tolist()
        ['p: a', 'p: b', 'q: a', 'q: c']
        """
        labels, idx = self._group(name)
        own = idx.astype(np.int64) * self.n_items
        codes, place = np.unique(
            np.stack([own + self.first, own + self.second]), return_inverse=True
        )
        whose, item = np.divmod(codes, self.n_items)
        names = pd.Series(_text(labels, whose)) + ": " + _text(self.items, item)
        first, second = place.reshape(2, -1).astype(np.int32)
        return Seen(pd.Index(names), item.astype(np.int32), first, second)

    # What follows from the pairs

    def split_ties(self) -> Self:
        r"""Count half a win of each item for a tie.

        All counts double, so that they stay whole, and the weights halve:

        .. math:: (f, s, t) \to (2 f + t, 2 s + t, 0), \qquad w \to w / 2

        where f, s and t say how often the first won, the second won and the two tied. This is a
        *pseudo-likelihood* for models without ties. It pretends that two ties tell as much as a
        win of each, and it throws away how often items tie, so that no outcome has a probability
        and there is no LOO. `Davidson` and `RaoKupper` have ties as outcomes.

        Returns
        -------
        Pairs
            The same object if nothing ties.

        Examples
        --------
        >>> half = Pairs.from_matrix([[0, 3], [1, 0]], ties=[[0, 1], [1, 0]]).split_ties()
        >>> half.counts, half.weight
        (array([[7, 3, 0]]), array([0.5]))
        """
        first, second, tie = self.counts.T
        if not tie.any():
            return self
        counts = np.stack([2 * first + tie, 2 * second + tie, np.zeros_like(tie)], axis=1)
        return replace(self, counts=counts, weight=self.weight / 2)

    def connectivity(self) -> Connectivity:
        """Components of the graph in which the winner of a match beats the other item.

        Returns
        -------
        Connectivity
            Weak and strong components, the items that never win or never lose, and what that
            means in sentences. A tie, judged equal, counts as a win of each: like one it keeps
            the two utilities at a finite distance.

        Examples
        --------
        >>> Pairs.from_matrix([[0, 3, 0], [1, 0, 2], [0, 0, 0]]).connectivity().never_wins.tolist()
        [2]
        """
        first, second, tie = (self.counts > 0).T
        better = np.concatenate([self.first[first | tie], self.second[second | tie]])
        worse = np.concatenate([self.second[first | tie], self.first[second | tie]])
        edge = np.unique(better.astype(np.int64) * self.n_items + worse)
        item = np.stack(np.divmod(edge, self.n_items), axis=1).astype(np.int32)
        ranks = np.broadcast_to(np.array([1, 2], dtype=np.int32), item.shape)
        return replace(connectivity(self.items, item, ranks), source="pairs")

    # The object itself

    def __len__(self) -> int:
        """Count the pairs."""
        return self.n_pairs

    def __repr__(self) -> str:
        """Say in a line how much of what there is."""
        total = self.counts.sum(axis=0)
        share = ", ".join(f"{n} {name}" for n, name in zip(total, OUTCOMES, strict=True))
        n, by = self.n_matches, f"{counted(len(self.judges), 'judge')}{self._groups_text()}"
        return (
            f"Pairs: {counted(self.n_pairs, 'pair')} of {counted(self.n_items, 'item')} by "
            f"{by}, {n} match{'' if n == 1 else 'es'} ({share})"
        )


def _text(axis: pd.Index, idx: NDArray[np.integer]) -> Any:
    """Labels as strings, one per pair."""
    return pd.array([str(label) for label in axis], dtype="str").take(idx)
