"""Scores of items in cases, such as models on tasks: one ranking per case and fold.

Two scores of a case are *practically equivalent* if they differ by at most the rope of the case,
the region of practical equivalence. This relation is not transitive, so blocks need a rule. Here it
is complete linkage from the top. The best score opens a block, which takes all scores within the
rope of it; the best of the rest opens the next one. So no two items of a block differ by more than
the rope.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import kendalltau

from bayesrank.data.read.columns import numbers, require_columns
from bayesrank.data.read.entries import Columns, Entries, long_entries
from bayesrank.data.read.frames import Table, as_frame
from bayesrank.data.read.labels import (
    Labels,
    counted,
    factorize,
    label_repr,
    plain_index,
    quoted,
    row_name,
)
from bayesrank.data.read.scores import Scores

type Rope = float | Mapping[Any, float] | Callable[[NDArray[np.float64]], float]
"""Largest difference without practical meaning: a number, one per case, or a function of scores."""

SPACING = 8  # units in the last place by which a difference of two decimals may be off
LEVEL = 0.01  # level of the test whether weaker items have more missing scores


class ScoreTable(NamedTuple):
    """Columns of a table of scores; see `Rankings.from_scores`."""

    item: str | None
    case: str | None
    score: str | None
    column: Sequence[Any] | None
    fold: str | None
    weight: str | None
    by: str | Sequence[str]

    @property
    def named(self) -> list[str]:
        """The columns besides those of scores."""
        by = [self.by] if isinstance(self.by, str) else list(self.by)
        return [x for x in (self.item, self.case, self.fold, self.weight, *by) if x is not None]

    @property
    def roles(self) -> dict[str, str]:
        """Columns by the role that they have in the data; the columns of a wide table are cases."""
        case = self.case or "case"
        roles = {"item": self.item, "ranker": case, "case": case, "fold": self.fold}
        return {role: column for role, column in roles.items() if column is not None}


def from_scores(
    table: Table,
    columns: ScoreTable,
    rope: Rope,
    lower_is_better: Labels,
    items: Labels | None,
) -> tuple[Entries, Scores, tuple[str, ...]]:
    """Read scores as rankings, with the scores, and notes on blocks, folds and missing scores."""
    frame, columns = _long(as_frame(table), columns)
    item, case, score = str(columns.item), str(columns.case), str(columns.score)
    values = numbers(frame[score], "score").astype(np.float64)
    if np.isinf(values).any():
        n = int(np.isinf(values).argmax())
        raise ValueError(
            f"A score must be a finite number; column {score!r} has {values[n]} in "
            f"{row_name(frame.index, n)}. Correct it, or leave the cell empty if the item was not "
            "run."
        )
    every = len(frame[item].dropna().unique())
    frame, values = frame[~np.isnan(values)], values[~np.isnan(values)]
    codes, cases = factorize(frame[case], case)
    _refuse_few(frame, item, case, cases)
    _refuse_twice(frame, columns, values)
    sign = np.where(_named(lower_is_better, cases), 1.0, -1.0)
    ropes = _ropes(rope, values, codes, cases)
    ranking = codes.astype(np.int64)
    if columns.fold is not None:
        folds, labels = factorize(frame[columns.fold], columns.fold)
        ranking = ranking * len(labels) + folds
    cost, pairs = _blocks(values * sign[codes], ranking, ropes[codes])
    if pairs.total and pairs.complete == pairs.total:
        raise ValueError(
            "All scores of each case lie within its rope, so no item is better than another. Give "
            "a smaller rope."
            if ropes.any()
            else "All scores of each case are equal, so no item is better than another. Name "
            "another column of scores."
        )
    notes = [*_about_pairs(pairs, ropes), *_missing(frame[item], every, ranking, cost, columns)]
    frame, weight = _weighted(frame, columns, codes, ranking, notes)
    given = Columns(case, item, columns.fold, None, weight, columns.by)
    entries = long_entries(frame, given, cost, items, None)
    kept = np.full((len(entries.ranker_idx), len(entries.items)), np.nan)
    kept[entries.row, entries.item] = -values * sign[codes]  # high is good
    rope_of = np.zeros(len(kept))
    rope_of[entries.row] = ropes[codes]
    return entries, Scores(pd.Index(entries.items), kept, rope_of), tuple(notes)


def _long(frame: pd.DataFrame, columns: ScoreTable) -> tuple[pd.DataFrame, ScoreTable]:
    """Lay out a wide table as a long one; its columns are the cases, or the items."""
    require_columns(frame, columns.named)
    axes = (columns.item, columns.case)
    if columns.score is not None:
        if None in axes:
            raise ValueError("With score=, name the columns of both with item= and case=.")
        if columns.column is not None:
            raise ValueError("`column` is for wide tables, which have no `score`. Leave one out.")
        require_columns(frame, [columns.score])
        return frame, columns
    if None not in axes or axes == (None, None):
        raise ValueError(
            "Name the column of scores with score=. Without it each row must be an item, named by "
            "item=, and each other column a case. Or each row is a case, named by case=."
        )
    if columns.case is None and (columns.weight is not None or columns.by):
        raise ValueError(
            "`weight` and `by` describe cases, but each row is an item. Give a table with a row "
            "per case, or a row per score."
        )
    rest = [name for name in frame.columns if name not in columns.named]
    found = rest if columns.column is None else list(columns.column)
    require_columns(frame, found)
    other, value = "case" if columns.case is None else "item", "score"
    while {other, value} & {*columns.named}:  # names for columns that the table lacks
        other, value = f"{other} ", f"{value} "
    parts = []
    for name in found:  # so that an error names the column
        score = numbers(frame[name], "score")
        parts.append(frame[columns.named].assign(**{other: name, value: score}))
    if not parts:
        raise ValueError("The table has no columns of scores. Name them with column=.")
    long = pd.concat(parts)
    changed = {"case": other} if columns.case is None else {"item": other}
    return long, columns._replace(score=value, column=None, **changed)


def _refuse_few(frame: pd.DataFrame, item: str, case: str, cases: pd.Index) -> None:
    """Refuse scores of one case or of one item."""
    if len(cases) < 2:
        found = "no case" if not len(cases) else f"only case {label_repr(cases[0])}"
        raise ValueError(
            f"Scores must come from several cases; column {case!r} has {found}. Ranks hold for "
            "cases like those in the table. If the folds or seeds are all that there is, name "
            "their column with case=."
        )
    names = frame[item].dropna().unique()
    if len(names) < 2:
        raise ValueError(
            f"Scores must be of two items or more; column {item!r} has only "
            f"{label_repr(names[0]) if len(names) else 'empty cells'}. Check item=."
        )


def _refuse_twice(frame: pd.DataFrame, columns: ScoreTable, values: NDArray[np.float64]) -> None:
    """Refuse two scores of an item in one case and fold."""
    keys = [x for x in (columns.item, columns.case, columns.fold) if x is not None]
    again = frame.duplicated(keys).to_numpy()
    if not again.any():
        return
    other = int(again.argmax())
    same = (frame[keys] == frame[keys].iloc[other]).all(axis=1).to_numpy()
    first = int(same.argmax())
    label, case = frame[columns.item].iloc[other], frame[columns.case].iloc[other]
    where = (
        "" if columns.fold is None else f" in fold {label_repr(frame[columns.fold].iloc[other])}"
    )
    way_out = (
        "If the item was run several times, name the column of folds or seeds with fold=."
        if columns.fold is None
        else "Remove one of the rows."
    )
    raise ValueError(
        f"An item must have one score in a case{' and fold' if where else ''}. Item "
        f"{label_repr(label)} in case {label_repr(case)}{where} has {values[first]:g} in "
        f"{row_name(frame.index, first)} and {values[other]:g} in {row_name(frame.index, other)}. "
        f"{way_out}"
    )


def _named(lower_is_better: Labels, cases: pd.Index) -> NDArray[np.bool_]:
    """Mark the cases in which low scores are good."""
    named = plain_index(lower_is_better, "lower_is_better")
    unknown = [label for label in named if label not in cases]
    if unknown:
        raise ValueError(
            f"`lower_is_better` must name cases; {quoted(unknown)} are none. The cases are "
            f"{quoted(cases, 20)}."
        )
    return np.asarray(cases.isin(named))


def _ropes(
    rope: Rope, values: NDArray[np.float64], codes: NDArray[Any], cases: pd.Index
) -> NDArray[np.float64]:
    """Find the rope of each case."""
    if callable(rope):
        of_case = [values[codes == k] for k in range(len(cases))]
        given = [rope(scores) for scores in of_case]
    elif isinstance(rope, Mapping | pd.Series):
        lacking = [case for case in cases if case not in rope]
        if lacking:
            raise ValueError(
                f"`rope` must have a number for each case; it has none for {quoted(lacking)}."
            )
        given = [rope[case] for case in cases]
    else:
        given = [rope] * len(cases)
    for case, width in zip(cases, given, strict=True):
        number = isinstance(width, int | float | np.number) and not isinstance(width, bool)
        if not number or not 0 <= width < np.inf:
            raise ValueError(
                f"A rope must be a finite number, 0 or more: the largest difference of two scores "
                f"without practical meaning. For case {label_repr(case)} it is {width!r}."
            )
    return np.array(given, dtype=np.float64)


class _Pairs(NamedTuple):
    """Numbers of pairs of items in the same ranking, and of equivalent ones by three rules."""

    total: int = 0
    complete: int = 0  # in one block
    single: int = 0  # linked by a chain of scores, each within the rope of the next
    alone: int = 0  # within the rope of each other


def _blocks(
    cost: NDArray[np.float64], ranking: NDArray[Any], rope: NDArray[np.float64]
) -> tuple[NDArray[np.int64], _Pairs]:
    """Assign numbers to the blocks of each ranking, best first, and count pairs by each rule."""
    order = np.lexsort([cost, ranking])
    starts = np.flatnonzero(np.diff(ranking[order], prepend=-1))
    block = np.empty(len(cost), dtype=np.int64)
    counts = np.zeros(4, dtype=np.int64)
    for rows in np.split(order, starts[1:]):
        sorted_cost, width = cost[rows], rope[rows[0]]
        if width > 0:  # 0.91 and 0.9 differ by 0.01, not by slightly more
            width += SPACING * np.spacing(max(np.abs(sorted_cost).max(), width))
        ends = np.searchsorted(sorted_cost, sorted_cost + width, side="right")
        n, start, k = len(rows), 0, 0
        while start < n:
            block[rows[start : ends[start]]] = k
            start, k = ends[start], k + 1
        chains = np.diff(
            np.flatnonzero(np.diff(sorted_cost, prepend=-np.inf, append=np.inf) > width)
        )
        sizes = np.bincount(block[rows])
        counts += [
            n * (n - 1) // 2,
            (sizes * (sizes - 1) // 2).sum(),
            (chains * (chains - 1) // 2).sum(),
            (ends - np.arange(n) - 1).sum(),
        ]
    return block, _Pairs(*counts.tolist())


def _about_pairs(pairs: _Pairs, ropes: NDArray[np.float64]) -> list[str]:
    """Say how many pairs are equivalent, and how many others another rule would add."""
    if not ropes.any():
        return []
    return [
        f"Pairs of items in one block, so practically equivalent: {pairs.complete:,} of "
        f"{pairs.total:,}. The scores of a block lie within the rope of the best one in it.",
        "Another rule would call more pairs equivalent. Chains of near scores (single linkage) "
        f"add {pairs.single - pairs.complete:,}, and judging each pair alone adds "
        f"{pairs.alone - pairs.complete:,}.",
    ]


def _missing(
    item: pd.Series,
    every: int,
    ranking: NDArray[Any],
    cost: NDArray[np.int64],
    columns: ScoreTable,
) -> list[str]:
    """Count the missing scores, and say if they belong to the weaker items."""
    codes, labels = factorize(item, str(columns.item))
    row = np.unique(ranking, return_inverse=True)[1]
    run = np.zeros((row.max() + 1, len(labels)), dtype=bool)
    run[row, codes] = True
    notes = []
    if every > len(labels):
        notes.append(f"Items without any score are left out: {every - len(labels):,}.")
    if run.all():
        return notes
    notes.append(
        f"Missing scores: {(~run).sum():,} of {run.size:,}. An item without a score was not run, "
        "so it is not in the ranking."
    )
    place = pd.Series(cost).groupby(row).rank(method="average")
    size = np.maximum(run.sum(axis=1)[row] - 1, 1)
    strength = -((place - 1) / size).groupby(codes).mean().to_numpy()
    lacking = (~run).mean(axis=0)
    test = kendalltau(lacking, strength, alternative="less")
    if test.pvalue < LEVEL:
        notes.append(
            "Weaker items have more missing scores (Kendall's tau of the missing share with "
            f"strength {test.statistic:.2f}). If bad results were not reported, these items are "
            "worse than their ranks."
        )
    return notes


def _weighted(
    frame: pd.DataFrame,
    columns: ScoreTable,
    codes: NDArray[Any],
    ranking: NDArray[Any],
    notes: list[str],
) -> tuple[pd.DataFrame, str | None]:
    """Divide the weight of each case among its folds."""
    if columns.fold is None:
        return frame, columns.weight
    pairs = np.unique(np.column_stack([codes, ranking]), axis=0)
    n_folds = np.bincount(pairs[:, 0])
    low, high = n_folds.min(), n_folds.max()
    if high == 1:
        return frame, columns.weight
    size = counted(int(low), "fold") if low == high else f"{low} to {high} folds"
    notes.append(
        f"Cases have {size}, which share their data. They count together as one case, each with a "
        "part of its weight."
    )
    name = "weight"
    while name in frame.columns:
        name += " "
    case = np.ones(len(frame))
    if columns.weight is not None:
        case = numbers(frame[columns.weight], "weight").astype(np.float64)
    return frame.assign(**{name: case / n_folds[codes]}), name
