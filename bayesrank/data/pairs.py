"""Pairs: outcomes of comparisons of two items, such as matches.

A *pair* is the unit of observation: two items, a judge, and the groups of the match. In row ``k``
the judge ``judge_idx[k]`` compared ``first[k]`` with ``second[k]``. ``counts[k]`` contains the
number of wins of the first, wins of the second, and ties.

>>> table = pd.DataFrame({"home": ["a", "b", "a"], "away": ["b", "c", "b"]})
>>> table["result"] = ["first", "tie", "second"]
>>> matches = Pairs.from_frame(table, first="home", second="away", outcome="result")
>>> matches
Pairs: 2 pairs of 3 items by 1 judge, 3 matches (1 first, 1 second, 1 tie)
>>> matches.counts
array([[1, 1, 0],
       [0, 0, 1]])
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bayesrank.data.derive.graph import Connectivity, connectivity
from bayesrank.data.frozen import Frozen, label_at
from bayesrank.data.read.columns import amounts, float_array, layout
from bayesrank.data.read.frames import Table
from bayesrank.data.read.labels import (
    PAIR_NAMES,
    Group,
    Unused,
    check_names,
    coord_values,
    counted,
    label_repr,
    quoted,
    sorted_axis,
    warn,
)
from bayesrank.data.read.pair_entries import (
    BOTH_BAD,
    BOUNDARY,
    OUTCOMES,
    STATED,
    STATED_VOTE,
    STATED_WEIGHT,
    SWAP,
    MatchFeatures,
    check_both_bad,
    check_exact,
    check_grades,
    distinct_rows,
    feature_columns,
    read_features,
    read_margins,
    results,
    square_axis,
    square_counts,
    stated_outcomes,
    swapped_votes,
    two_items,
    who_won,
    whole_counts,
)
from bayesrank.data.read.streams import Source, table_of

__all__ = ["Pairs", "Seen", "UncomparedItemWarning"]

# of pairs with other counts
UNGRADED: dict[str, Any] = {"edges": None, "votes": None, "both_bad": None}

MOST_NAMED = 100_000
"""The largest number of pairs that get names; more names would take more memory than the data."""


class UncomparedItemWarning(UserWarning):
    """Some items of the axis are in no match, so the data do not inform their utilities."""


class Seen(NamedTuple):
    """Combinations of a group label and an item that occur in the data."""

    labels: pd.Index  # (n_seen,)
    item: NDArray[np.int32]  # (n_seen,) position on the item axis
    first: NDArray[np.int32]  # (n_pairs,) position of the first item among the labels
    second: NDArray[np.int32]  # (n_pairs,)

    def among(self, labels: "pd.Index | Sequence[str]") -> tuple[NDArray[np.int32], ...]:
        """Find the first and second item of each pair in other labels; -1 if not found."""
        place = pd.Index(labels).get_indexer(self.labels).astype(np.int32)
        return place[self.first], place[self.second]


@dataclass(frozen=True, eq=False, repr=False)
class Pairs(Frozen):
    """Outcomes of comparisons of two items, such as matches, counted per pair.

    Use `from_frame`, `from_matrix` or ``Rankings.pairs``, which check their input. The constructor
    itself checks nothing. A tie (a draw) means *judged equal*.

    ``pairs[3]`` is the dict of one pair; ``pairs[:3]`` and ``pairs[mask]`` are pairs. Positions
    count from 0.

    Attributes
    ----------
    items, judges : pandas.Index
        Axes; without a judge column there is one judge 'all'.
    first, second : array of int32, shape (n_pairs,)
        Items compared. The first may have an advantage (home, white, shown on the left).
    counts : array of int64, shape (n_pairs, 3)
        Number of wins of the first, wins of the second, and ties.
    weight : array of float64, shape (n_pairs,)
        Evidence weight, >= 0, that multiplies the log-likelihood; 1 by default.
    judge_idx : array of int32, shape (n_pairs,)
        Judge of each pair.
    groups : mapping of str to Group
        Groups of the pairs (category, prompt, day). Each has ``labels``, a pandas Index, and
        ``idx``, array of int32, shape (n_pairs,).
    collapsed : bool
        Whether matches with equal first, second, judge, groups, weight and features are one pair.
    features : array of float64, shape (n_pairs, n_features), or None
        Covariates of the matches: how far the first is ahead of the second in length of an answer,
        use of markdown, or days of rest.
    feature_names : pandas.Index or None
        Names of the features.
    grades : pandas.Index or None
        Ordered grades of the outcomes, from the best for the first item to the best for the second.
        None if only the winner is known.
    grade_counts : array of int64, shape (n_pairs, n_grades), or None
        Number of outcomes of each grade. ``counts`` are their sums: wins of the first are all
        grades before the middle, and a middle grade is a tie.
    edges : array of float64, shape (n_grades - 1,), or None
        Margins of scores at the boundaries between the grades, ascending, if the grades are
        margins. `cutpoints` are then a learned scale times these.
    votes : array of int64, shape (n_pairs,), or None
        Number of matches of each pair, if it is not the sum of its counts. A probability is two
        outcomes with weights, but one match: the more probable one has it.
    both_bad : array of int64, shape (n_pairs,), or None
        Number of votes that both items are bad, if the data tell them from ties. ``counts`` include
        them in the ties, because neither item won. `GroundedRaoKupper` models them.
    notes : tuple of str
        What was read from the source of the data, and every change made while reading. Empty if the
        data came from a constructor of this class. Selections keep the notes, and ``==`` ignores
        them.
    roles : mapping of str to str
        Columns of the table that a reader read, by role, such as ``{"judge": "voter"}``.
    ordered : bool
        Whether the first item of a match may have an advantage. False if a reader read winners and
        losers, a matrix of wins, or a table whose order means nothing.
    unused : Unused or None
        The matches grouped also by columns of the table that no argument named, for
        `bayesrank.column_checks`. Selections do not keep them, and ``==`` ignores them.

    See Also
    --------
    Rankings, PairCounts, read_matches, BradleyTerry, Davidson

    Examples
    --------
    >>> import pandas as pd
    >>> import bayesrank as br
    >>> table = pd.DataFrame({"home": ["a", "b", "a"], "away": ["b", "c", "b"]})
    >>> table["result"] = ["first", "tie", "second"]
    >>> br.Pairs.from_frame(table, first="home", second="away", outcome="result")
    Pairs: 2 pairs of 3 items by 1 judge, 3 matches (1 first, 1 second, 1 tie)
    """

    AXES: ClassVar = {"item": ("items", ("first", "second")), "judge": ("judges", ("judge_idx",))}

    ROW: ClassVar = "pair"

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
    grades: pd.Index | None = None
    grade_counts: NDArray[np.int64] | None = None
    edges: NDArray[np.float64] | None = None
    votes: NDArray[np.int64] | None = None
    both_bad: NDArray[np.int64] | None = None
    notes: tuple[str, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    ordered: bool = True
    unused: Unused | None = None

    # Constructors

    @classmethod
    def from_frame(
        cls,
        frame: Source,
        *,
        first: str | None = None,
        second: str | None = None,
        outcome: str | None = None,
        grades: Iterable[Hashable] | None = None,
        margin: str | None = None,
        edges: Iterable[float] | None = None,
        probability: str | None = None,
        both_bad: Hashable | None = None,
        count: str | None = None,
        judge: str | None = None,
        prompt: str | None = None,
        by: str | Sequence[str] = (),
        weight: str | None = None,
        features: MatchFeatures = (),
        collapse: bool = True,
        items: Iterable[Hashable] | None = None,
    ) -> Self:
        """Read a table of matches, by default one that `to_frame` wrote.

        Parameters
        ----------
        frame : table, path, list of paths, or pyarrow.dataset.Dataset
            One row per match, or per distinct match with its count. Files are read as by
            `Rankings.from_ratings`.
        first, second : str
            Columns with the two items. Without the name of any column, those that `to_frame` writes
            are read. Their order matters only for an order effect (playing at
            home, playing white, being shown on the left).
        outcome : str
            Column with "first" (the first item won), "second" or "tie" (judged equal). With
            `grades`, a column with one of these grades.
        grades : sequence of labels, optional
            Ordered grades, from the best for the first item to the best for the second, such as
            ``["A>>B", "A>B", "A=B", "B>A", "B>>A"]``. List all possible grades, including grades
            that nobody gave. The middle one of an odd number is a tie. `OrderedPairs` models them.
        margin : str, optional
            Column with the score of the first item minus the score of the second, instead of
            `outcome`. Its grades are ranges of margins, such as +1, 0 and -1.
        edges : sequence of float, optional
            Margins between two grades, such as ``[0.5, 1.5, 2.5]``, which apply to both sides. A
            smaller margin than the first edge is a tie; the edge 0 makes none. By default there are
            at most ten, and a hundredth of the margins is beyond the last.
        probability : str, optional
            Column with the probability that the first item is better, as a judge states it, instead
            of `outcome`. The vote becomes a win of the first with weight p and a win of the second
            with weight 1 - p. Both count as one match (`votes`).
        both_bad : label, optional
            Fourth outcome in the column `outcome`: neither item is good enough. `GroundedRaoKupper`
            models it, and other models refuse it.
        count : str, optional
            Column with the number of such matches, whole and >= 0; 1 by default.
        judge : str, optional
            Column of judges; one judge 'all' by default.
        prompt : str, optional
            Column of prompts, if judges saw the same pair for the same prompt in both orders. Votes
            of one judge on the same two items and prompt get the same label of the group "swap".
            They are not independent, and `leaderboard_model` joins them. The label of judges who
            saw nothing in both orders is "one order only".
        by : str or sequence of str, optional
            Columns that group the pairs: category, prompt, day.
        weight : str, optional
            Column with the evidence weight of a match, >= 0; 1 by default. It multiplies the
            log-likelihood. With weights other than 1, this is a pseudo-likelihood.
        features : sequence of str, or mapping of str to str or to two str
            Columns of numbers that differ between matches: how far the first was ahead of the
            second. A mapping names them. Two columns, for the first and the second item, are
            subtracted: ``{"length": ("length_a", "length_b")}``.
        collapse : bool
            Whether rows with equal first, second, judge, groups, weight and features become one
            pair, sorted by these columns. The likelihood is the same. If false, each row is a pair,
            in the order of the table.
        items : sequence of labels, optional
            The item axis; by default the items of the table, sorted. Judges and groups are also
            sorted (categories keep their order).

        Raises
        ------
        ValueError
            If a column or label is missing, an item or outcome is unknown, or an item is compared
            with itself. Also if a grade is repeated, or a grade such as "tie" is not in the middle.
            Also if no judge saw a pair in both orders, although `prompt` is given. Also if a count
            is negative or not whole, or a weight is negative. Also if a probability
            is not between 0 and 1, or a number is not finite. Also if a column of `by` or a feature
            has a reserved name, or a file cannot be read.
        FileNotFoundError
            If a path does not exist.

        Warns
        -----
        UncomparedItemWarning
            If items of the axis are in no match. They are kept.

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesrank as br
        >>> table = pd.DataFrame({"x": ["a", "b"], "y": ["b", "c"], "won": ["first", "tie"]})
        >>> matches = br.Pairs.from_frame(table, first="x", second="y", outcome="won")
        >>> br.Pairs.from_frame(matches.to_frame()) == matches
        True

        >>> table["verdict"] = ["better", "much worse"]
        >>> grades = ["much better", "better", "equal", "worse", "much worse"]
        >>> br.Pairs.from_frame(table, first="x", second="y", outcome="verdict", grades=grades)
        Pairs: 2 pairs of 3 items by 1 judge, 2 matches (1 better, 1 much worse)
        """
        for name, told in (("probability", probability), ("margin", margin)):
            if told is not None and (outcome or grades) is not None:
                raise ValueError(f"`{name}` tells the outcomes. Leave `outcome` and `grades` out.")
        if probability is not None and margin is not None:
            raise ValueError("`probability` and `margin` both tell the outcomes. Leave one out.")
        if edges is not None and margin is None:
            raise ValueError("`edges` are those of the margins. Name their column in `margin`.")
        check_both_bad(both_bad, grades, {"probability": probability, "margin": margin})
        stated = probability if margin is None else margin
        told = outcome if stated is None else stated
        given = {"first": first, "second": second, "outcome": told}
        given |= {"count": count, "judge": judge, "weight": weight}
        names, optional = layout(given, ("first", "second", "outcome"))
        first, second, outcome = (names[x] for x in ("first", "second", "outcome"))
        count, judge, weight = (names[x] for x in ("count", "judge", "weight"))
        by = [by] if isinstance(by, str) else list(by)
        order = None if grades is None else check_grades(grades)
        if prompt is not None and SWAP in by:
            raise ValueError(
                f"`by` has {SWAP!r}, the name of the group that `prompt` makes. Leave one of the "
                "two out."
            )
        check_names(by, PAIR_NAMES if order is None else (*PAIR_NAMES, BOUNDARY), "pairs")
        columns = feature_columns(features, (*PAIR_NAMES, *by))
        ahead_of = [name for sides in columns.values() for name in sides]
        frame = table_of(
            frame,
            "pairs",
            labels=[
                first,
                second,
                outcome if stated is None else None,
                judge,
                None if prompt in by else prompt,
                *by,
            ],
            numbers=[count, weight, stated, *ahead_of],
            optional=optional,
        )
        absent = [x for x in optional if x not in frame.columns]
        count, judge, weight = (None if x in absent else x for x in (count, judge, weight))
        if probability is not None:
            frame = stated_outcomes(frame, probability, weight)
            outcome, weight = STATED, STATED_WEIGHT
        ends = None
        if margin is not None:
            ends, order, result = read_margins(frame, margin, edges)
        else:
            possible = OUTCOMES if both_bad is None else (*OUTCOMES, both_bad)
            result = results(frame, outcome, possible if order is None else order)
        one, other, axis = two_items(frame, first, second, items)
        times = None if count is None else whole_counts(frame, count)
        if times is not None:
            check_exact(times, f"column {count!r}")
        n = len(frame)
        if judge is None:
            who, judges = np.zeros(n, dtype=np.int8), pd.Index(["all"])
        else:
            who, judges = sorted_axis(frame[judge], judge)
        apart = {name: sorted_axis(frame[name], name) for name in by}
        if prompt is not None:
            asked = sorted_axis(frame[prompt], prompt)
            apart[SWAP] = swapped_votes((one, other, axis), (who, judges), asked)
        evidence = None if weight is None else amounts(frame, weight, "weight")
        ahead = read_features(frame, columns)
        is_vote = None
        if probability is not None:
            is_vote = frame[STATED_VOTE].to_numpy(dtype=np.int64)

        # Rows with equal codes are one pair; `row` is one of them.
        if collapse:
            codes = [(one, len(axis)), (other, len(axis)), (who, len(judges))]
            codes += [(code, len(labels)) for code, labels in apart.values()]
            codes += [] if is_vote is None else [(is_vote, 2)]
            for values in (*([] if evidence is None else [evidence]), *ahead.T):
                levels, code = np.unique(values, return_inverse=True)
                codes.append((code, len(levels)))
            row, pair = distinct_rows(codes)
        else:
            row = pair = np.arange(n)
        n_codes = 3 + (both_bad is not None) if order is None else len(order)
        cells = np.bincount(n_codes * pair + result, weights=times, minlength=n_codes * len(row))
        counts: NDArray[np.int64] = cells.reshape(-1, n_codes).astype(np.int64, copy=False)
        bad = None
        if both_bad is not None:  # neither item won
            counts, bad = counts[:, :3].copy(), counts[:, 3].copy()
            counts[:, 2] += bad
        pairs = cls(
            items=axis,
            judges=judges,
            first=one[row].astype(np.int32),
            second=other[row].astype(np.int32),
            counts=counts if order is None else who_won(counts),
            weight=np.ones(len(row)) if evidence is None else evidence[row],
            judge_idx=who[row].astype(np.int32),
            groups={
                name: Group(labels, code[row].astype(np.int32))
                for name, (code, labels) in apart.items()
            },
            collapsed=collapse,
            features=ahead[row] if columns else None,
            feature_names=pd.Index(list(columns)) if columns else None,
            grades=order,
            grade_counts=None if order is None else counts,
            edges=ends,
            votes=None if is_vote is None else is_vote[row] * counts.sum(axis=1),
            both_bad=bad,
        )
        pairs._warn_of_uncompared()
        return pairs

    @classmethod
    def from_matrix(
        cls,
        wins: ArrayLike | Table,
        *,
        ties: ArrayLike | Table | None = None,
        items: Iterable[Hashable] | None = None,
    ) -> Self:
        """Convert a square matrix of wins, and optionally one of ties.

        Parameters
        ----------
        wins : array or DataFrame, shape (n_items, n_items)
            How often the row's item beat the column's item: whole, >= 0, with zeros or nothing
            (NaN) on the diagonal. The index and the columns of a DataFrame are the items.
        ties : array or DataFrame, shape (n_items, n_items), optional
            How often two items tied. The matrix is symmetric, and each tie counts once.
        items : sequence of labels, optional
            The item axis of an array; 0, 1, 2, ... by default.

        Returns
        -------
        Pairs
            One pair for every two items that met; the first item is the earlier one on the axis.
            Such data cannot identify an order effect.

        Raises
        ------
        ValueError
            If a matrix is not square, shapes or labels differ, its diagonal is neither zero nor
            empty, or the ties are not symmetric. Also if another cell is negative, not finite or
            not whole, or all cells are zero.

        Warns
        -----
        UncomparedItemWarning
            If items of the axis are in no match. They are kept.

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
                f"{tied[j, i]:g} times. Write each tie in both cells; it counts once."
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
                f"({quoted(alone)}): only the prior informs {their}.",
                UncomparedItemWarning,
            )

    # Sizes, names, tables

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return len(self.first)

    @property
    def n_matches(self) -> int:
        """Number of matches, the sum of the counts; a stated probability is one match."""
        return int(self.matches.sum())

    @property
    def matches(self) -> NDArray[np.int64]:
        """Number of matches of each pair, (n_pairs,).

        Examples
        --------
        >>> import bayesrank as br
        >>> br.Pairs.from_matrix([[0, 3], [1, 0]]).matches
        array([4])
        """
        return self.counts.sum(axis=1) if self.votes is None else self.votes

    @property
    def labels(self) -> pd.Index:
        """Names of the pairs, a pandas Index.

        The name of a pair of items a and b is "a - b". The judge, the groups and the weight are
        added if there are several: "a - b by Ann, category maths, weight 0.5". The features are
        added if the names would otherwise be equal. The labels are numbers if pairs are not
        collapsed, if names are not unique, or beyond 100,000 pairs.
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
        """Coordinates for ``pm.Model(coords=...)``: item, pair, judge, the groups, and features.

        With grades, also the boundaries between them.
        """
        coords = super().coords | {"pair": coord_values(self.labels)}
        if self.grades is not None:
            coords[BOUNDARY] = coord_values(self.boundaries)
        return coords

    @property
    def by_grade(self) -> tuple[pd.Index, NDArray[np.int64]]:
        """Grades from the best for the first item to the worst, and their counts by pair.

        Without grades, they are first, tie and second.

        Examples
        --------
        >>> import bayesrank as br
        >>> br.Pairs.from_matrix([[0, 3], [1, 0]], ties=[[0, 2], [2, 0]]).by_grade[1]
        array([[3, 2, 1]])
        """
        if self.grades is None or self.grade_counts is None:
            first, second, tie = OUTCOMES
            return pd.Index([first, tie, second]), self.counts[:, [0, 2, 1]]
        return self.grades, self.grade_counts

    @property
    def with_both_bad(self) -> NDArray[np.int64]:
        """Wins of the first item, wins of the second, ties, and both bad: (n_pairs, 4).

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesrank as br
        >>> votes = pd.DataFrame({"x": ["a", "a"], "y": ["b", "b"], "vote": ["tie", "neither"]})
        >>> pairs = br.Pairs.from_frame(
        ...     votes, first="x", second="y", outcome="vote", both_bad="neither"
        ... )
        >>> pairs.with_both_bad, pairs.counts
        (array([[0, 0, 1, 1]]), array([[0, 0, 2]]))
        """
        bad = np.zeros(self.n_pairs, dtype=np.int64) if self.both_bad is None else self.both_bad
        first, second, tie = self.counts.T
        return np.stack([first, second, tie - bad, bad], axis=1)

    @property
    def detail(self) -> str:
        """What the outcomes say in addition to the winner: "grades", "votes of both bad", or "".

        `fit_pairs`, `fit_dynamic` and `audit` use only who won.

        Examples
        --------
        >>> import bayesrank as br
        >>> br.Pairs.from_matrix([[0, 3], [1, 0]]).detail
        ''
        """
        if self.both_bad is not None:
            return "votes of both bad"
        return "grades" if self.grades is not None and len(self.grades) > 3 else ""

    @property
    def boundaries(self) -> pd.Index:
        """Names of the boundaries between grades, from the worst for the first item to the best.

        Examples
        --------
        >>> import bayesrank as br
        >>> [*br.Pairs.from_matrix([[0, 3], [1, 0]]).boundaries]
        ['second | tie', 'tie | first']
        """
        grades = [str(grade) for grade in self.by_grade[0][::-1]]
        return pd.Index([f"{worse} | {better}" for worse, better in pairwise(grades)])

    def to_frame(self) -> pd.DataFrame:
        """Return a long table, which `from_frame` reads back.

        For groups, features, grades, and items in another order or without a match, write
        ``by=[*p.groups]``, ``features=[*p.feature_names]``, ``grades=p.grades`` and
        ``items=p.items``. For votes that both items are bad, write ``both_bad="both bad"``. A
        stated probability is read back as two outcomes with weights.

        It has one row per pair and observed outcome; a pair without matches has one row with count
        0. Columns are first, second, outcome, count, judge, the groups and the features, and
        weight unless all weights are 1.

        Examples
        --------
        >>> import bayesrank as br
        >>> br.Pairs.from_matrix([[0, 3], [1, 0]], items=["a", "b"]).to_frame()
          first second outcome  count judge
        0     a      b   first      3   all
        1     a      b  second      1   all
        """
        labels, counts = self._outcomes()
        seen = counts > 0
        seen[:, 0] |= ~seen.any(axis=1)
        pair, outcome = np.nonzero(seen)
        columns: dict[str, Any] = {
            "first": self.items.take(self.first[pair]),
            "second": self.items.take(self.second[pair]),
            "outcome": labels.take(outcome),
            "count": counts[pair, outcome],
            "judge": self.judges.take(self.judge_idx[pair]),
        }
        columns |= {name: labels.take(idx[pair]) for name, (labels, idx) in self.groups.items()}
        if self.features is not None and self.feature_names is not None:
            columns |= dict(zip(self.feature_names, self.features[pair].T, strict=True))
        if (self.weight != 1).any():
            columns["weight"] = self.weight[pair]
        return pd.DataFrame(columns)

    # Judges and groups

    def group_labels(self, name: str) -> pd.Index:
        """Return the labels of "judge" or of a group.

        Raises
        ------
        ValueError
            If the group does not exist.

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesrank as br
        >>> table = pd.DataFrame({"x": ["a", "b"], "y": ["b", "a"], "won": "first", "day": [3, 5]})
        >>> pairs = br.Pairs.from_frame(table, first="x", second="y", outcome="won", by="day")
        >>> pairs.group_labels("day").tolist(), pairs.group_labels("judge").tolist()
        ([3, 5], ['all'])
        """
        return self._group(name).labels

    def group_idx(self, name: str) -> NDArray[np.int32]:
        """Return the position of each pair on the axis of "judge" or of a group, (n_pairs,).

        Raises
        ------
        ValueError
            If the group does not exist.

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesrank as br
        >>> table = pd.DataFrame({"x": ["a", "b"], "y": ["b", "a"], "won": "first", "day": [5, 3]})
        >>> pairs = br.Pairs.from_frame(table, first="x", second="y", outcome="won", by="day")
        >>> pairs.labels.tolist(), pairs.group_idx("day").tolist()
        (['a - b, day 5', 'b - a, day 3'], [1, 0])
        """
        return self._group(name).idx

    def _group(self, name: str) -> Group:
        groups = {"judge": Group(self.judges, self.judge_idx), **self.groups}
        if name not in groups:
            raise ValueError(
                f"There is no group {label_repr(name)}: the groups of these pairs are "
                f"{quoted(groups)}. Name its column in `by` of from_frame."
            )
        return groups[name]

    def seen(self, name: str) -> Seen:
        """List the items under each label of "judge" or of a group, such as answers to a prompt.

        Returns
        -------
        Seen
            A named tuple. ``labels`` are such as "prompt 7: a", sorted by group and item, and
            ``item`` are their positions on the item axis. ``first`` and ``second`` are the
            positions of the two items of each pair among the labels. A model with a dim
            ``"{name}_item"`` has one deviation per label.

        Raises
        ------
        ValueError
            If the group does not exist.

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesrank as br
        >>> table = pd.DataFrame({"x": ["a", "b", "a"], "y": ["b", "a", "c"], "who": ["first"] * 3})
        >>> table["prompt"] = ["p", "p", "q"]
        >>> matches = br.Pairs.from_frame(table, first="x", second="y", outcome="who", by="prompt")
        >>> matches.seen("prompt").labels.tolist()
        ['p: a', 'p: b', 'q: a', 'q: c']
        """
        labels, idx = self._group(name)
        offset = idx.astype(np.int64) * self.n_items
        codes, place = np.unique(
            np.stack([offset + self.first, offset + self.second]), return_inverse=True
        )
        group, item = np.divmod(codes, self.n_items)
        names = pd.Series(_text(labels, group)) + ": " + _text(self.items, item)
        first, second = place.reshape(2, -1).astype(np.int32)
        return Seen(pd.Index(names), item.astype(np.int32), first, second)

    # Derived quantities

    @property
    def matches_by_item(self) -> pd.Series:
        """Number of matches that each item is in, ties included, a Series by item.

        Examples
        --------
        >>> import bayesrank as br
        >>> matches = br.Pairs.from_matrix([[0, 3, 0], [1, 0, 2], [0, 0, 0]], items=["a", "b", "c"])
        >>> matches.matches_by_item.to_dict()
        {'a': 4, 'b': 6, 'c': 2}
        """
        return self.sum_by_item(self.matches).astype(np.int64).rename("matches")

    def sum_by_item(self, values: ArrayLike) -> pd.Series:
        """Sum one value per pair, such as its weighted matches, over the pairs of each item.

        Parameters
        ----------
        values : array, shape (n_pairs,)
            Each value counts for both items of the pair.

        Returns
        -------
        pandas.Series
            The sums, float64, by item.

        Examples
        --------
        >>> import bayesrank as br
        >>> matches = br.Pairs.from_matrix([[0, 3], [1, 0]], ties=[[0, 2], [2, 0]])
        >>> matches.sum_by_item(matches.weight * matches.counts[:, 2]).tolist()
        [2.0, 2.0]
        """
        given = float_array(values, "values")
        first, second = (np.bincount(x, given, self.n_items) for x in (self.first, self.second))
        return pd.Series(first + second, self.items)

    def split_ties(self) -> Self:
        r"""Count each tie as half a win for each item.

        All counts double, so that they stay whole, and the weights halve:

        .. math:: (f, s, t) \to (2 f + t, 2 s + t, 0), \qquad w \to w / 2

        where f, s and t are the wins of the first, the wins of the second, and the ties. This is a
        *pseudo-likelihood* for models without ties: two ties count as one win of each item. It
        discards the tie rate, so outcomes have no probability and LOO is not defined. Use
        `Davidson` or `RaoKupper` to model ties as outcomes.

        Returns
        -------
        Pairs
            The same object if there are no ties; otherwise without grades.

        Examples
        --------
        >>> import bayesrank as br
        >>> half = br.Pairs.from_matrix([[0, 3], [1, 0]], ties=[[0, 1], [1, 0]]).split_ties()
        >>> half.counts, half.weight
        (array([[7, 3, 0]]), array([0.5]))
        """
        first, second, tie = self.counts.T
        if not tie.any():
            return self
        counts = np.stack([2 * first + tie, 2 * second + tie, np.zeros_like(tie)], axis=1)
        return self.with_counts(counts, weight=self.weight / 2)

    def with_counts(self, counts: NDArray[np.int64], **more: Any) -> Self:
        """Return pairs with other counts of outcomes, without grades or votes of both bad.

        Parameters
        ----------
        counts : array of int64, shape (n_pairs, 3)
            Wins of the first, wins of the second, and ties.
        **more
            New values of other attributes.

        Examples
        --------
        >>> import numpy as np
        >>> import bayesrank as br
        >>> br.Pairs.from_matrix([[0, 3], [1, 0]]).with_counts(np.array([[1, 0, 0]]))
        Pairs: 1 pair of 2 items by 1 judge, 1 match (1 first, 0 second, 0 tie)
        """
        return replace(self, counts=counts, grades=None, grade_counts=None, **(UNGRADED | more))

    def connectivity(self) -> Connectivity:
        """Find the components of the graph in which the winner of a match beats the loser.

        Returns
        -------
        Connectivity
            As from `Rankings.connectivity`. A tie (judged equal) counts as a win of each item,
            because it also keeps their utilities at a finite distance.

        Examples
        --------
        >>> import bayesrank as br
        >>> pairs = br.Pairs.from_matrix([[0, 3, 0], [1, 0, 2], [0, 0, 0]])
        >>> pairs.connectivity().never_wins.tolist()
        [2]
        """
        first, second, tie = (self.counts > 0).T
        better = np.concatenate([self.first[first | tie], self.second[second | tie]])
        worse = np.concatenate([self.second[first | tie], self.first[second | tie]])
        edge = np.unique(better.astype(np.int64) * self.n_items + worse)
        item = np.stack(np.divmod(edge, self.n_items), axis=1).astype(np.int32)
        ranks = np.broadcast_to(np.array([1, 2], dtype=np.int32), item.shape)
        return replace(connectivity(self.items, item, ranks), source="pairs")

    # Length and text

    def __len__(self) -> int:
        """Count the pairs."""
        return self.n_pairs

    def __repr__(self) -> str:
        """Summarise the table in one line."""
        labels, counts = self._outcomes()
        total = zip(counts.sum(axis=0), labels, strict=True)
        share = ", ".join(f"{n} {name}" for n, name in total if n or self.grades is None)
        share = share if self.votes is None else "stated by probabilities"
        n, by = self.n_matches, f"{counted(len(self.judges), 'judge')}{self._groups_text()}"
        return (
            f"Pairs: {counted(self.n_pairs, 'pair')} of {counted(self.n_items, 'item')} by "
            f"{by}, {n} match{'' if n == 1 else 'es'} ({share})"
        )

    def _outcomes(self) -> tuple[pd.Index, NDArray[np.int64]]:
        """Return the outcomes as the table has them, and their counts."""
        if self.both_bad is not None:
            return pd.Index([*OUTCOMES, BOTH_BAD]), self.with_both_bad
        return self.by_grade if self.grades is not None else (pd.Index(OUTCOMES), self.counts)

    def _row(self, n: int) -> dict[str, Any]:
        outcomes, counts = self._outcomes()
        row: dict[str, Any] = {
            "first": label_at(self.items, self.first[n]),
            "second": label_at(self.items, self.second[n]),
            "count": dict(zip(outcomes.tolist(), counts[n].tolist(), strict=True)),
            "judge": label_at(self.judges, self.judge_idx[n]),
        }
        row |= {name: label_at(labels, idx[n]) for name, (labels, idx) in self.groups.items()}
        if self.features is not None and self.feature_names is not None:
            row |= dict(zip(self.feature_names, self.features[n].tolist(), strict=True))
        return row | {"weight": float(self.weight[n])}

    def _shown(self, n: int) -> dict[str, Any]:
        row = self._row(n)
        counts = ", ".join(f"{count} {name}" for name, count in row["count"].items())
        return row | {"count": counts}

    def _take(self, rows: NDArray[np.int64]) -> Self:
        return replace(
            self,
            first=self.first[rows],
            second=self.second[rows],
            counts=self.counts[rows],
            weight=self.weight[rows],
            judge_idx=self.judge_idx[rows],
            groups={name: group.take(rows) for name, group in self.groups.items()},
            features=None if self.features is None else self.features[rows],
            grade_counts=None if self.grade_counts is None else self.grade_counts[rows],
            votes=None if self.votes is None else self.votes[rows],
            both_bad=None if self.both_bad is None else self.both_bad[rows],
            unused=None,
        )


def _text(axis: pd.Index, idx: NDArray[np.integer]) -> Any:
    """Return the labels as strings, one per pair."""
    return pd.array([str(label) for label in axis], dtype="str").take(idx)
