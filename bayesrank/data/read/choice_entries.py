"""Choice entries: best-worst tasks and choices, read from long and wide tables for `Rankings`.

A task shows items to one respondent, who chooses the best, the worst, or both. It becomes the weak
order {best} > {middle} > {worst}, in which the order of the middle is unknown. An *anchor* adds
one threshold item to a task: items that matter are above it, and the others are below.

A wide table is first laid out as a long one, whose index tells the row that was given.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.data.read.attributes import Attributes, Coding
from bayesrank.data.read.columns import finite_numbers, refuse_rows, require_columns
from bayesrank.data.read.entries import (
    Columns,
    Covariates,
    Entries,
    Features,
    Named,
    column_names,
    item_features,
    long_entries,
    rankings_in,
)
from bayesrank.data.read.labels import (
    LINE,
    ROW,
    Labels,
    axis_index,
    counted,
    factorize,
    label_repr,
    quoted,
    row_name,
)
from bayesrank.data.read.streams import Source, table_of

Missing = Literal["raise", "drop"]

# What cells mean, in lower case. The empty word is also the meaning of an empty cell.
_FLAGS = dict.fromkeys(("1", "x", "true", "t", "yes", "y"), 1)
_FLAGS |= dict.fromkeys(("0", "", "false", "f", "no", "n"), 0)
_CODES = dict.fromkeys(("1", "+1", "best", "b", "most"), 1)
_CODES |= dict.fromkeys(("-1", "worst", "w", "least"), -1) | dict.fromkeys(("0", ""), 0)
_ANCHORS = {word: 4 - 2 * flag for word, flag in _FLAGS.items()}
_ANCHORS |= {"": 0, "all": 1, "none": 2, "some": 3, "false": 4}

# The blocks of a task, from best to worst; the threshold is first, last or in the middle.
FIRST, BEST, MIDDLE, WORST, LAST, ABSENT = range(6)
PLACES = np.array([ABSENT, LAST, FIRST, MIDDLE, MIDDLE])  # of the threshold, by code of the anchor


class Shown(NamedTuple):
    """The items shown in each task, one per row, and what was chosen."""

    frame: pd.DataFrame  # items, weights and features by row; the index tells the row given
    item: str  # column
    named: Named
    best: NDArray[np.bool_]
    worst: NDArray[np.bool_]

    def counts(self, flags: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Count the rows of each task that have a flag."""
        return np.bincount(self.named.row[flags], minlength=len(self.named.ranker_idx))

    def take(self, rows: NDArray[np.bool_]) -> tuple["Shown", NDArray[np.int64]]:
        """Keep some rows, and the tasks that they belong to; return these tasks as well."""
        tasks, row = np.unique(self.named.row[rows], return_inverse=True)
        labels = None if self.named.labels is None else self.named.labels.take(tasks)
        who, ranker = np.unique(self.named.ranker_idx[tasks], return_inverse=True)
        named = Named(row, ranker, self.named.rankers.take(who), labels)
        kept = Shown(self.frame[rows], self.item, named, self.best[rows], self.worst[rows])
        return kept, tasks

    def refuse(self, broken: NDArray[np.bool_], must: str, fault: str, way_out: str) -> None:
        """Raise an error if rows are broken; name the task, the item and the row of the first."""
        if broken.any():
            n = int(broken.argmax())
            row, who, rankers, labels = self.named
            task = rankers[who[row[n]]] if labels is None else labels[row[n]]
            item, where = label_repr(self.frame[self.item].iloc[n]), row_name(self.frame.index, n)
            raise ValueError(
                f"{must}; task {label_repr(task)} {fault} ({item} in {where}). {way_out}"
            )


@dataclass(frozen=True)
class Uncoded:
    """Attributes that become features when the table is read."""

    terms: Sequence[str] | pd.DataFrame
    coding: Coding
    standardise: bool


def features_or(features: Any, terms: Any, coding: Coding, *, standardise: bool) -> Any:
    """Return the features, or attributes to code; both are refused."""
    if terms is None:
        return features
    if features is None:
        return Uncoded(terms, coding, standardise)
    raise ValueError(
        "`attributes` become the features. Give features= or attributes=; for numbers in raw "
        "units, give attributes= and standardise=False."
    )


def _coded(shown: Shown, given: Any) -> Features | Sequence[str] | Covariates | None:
    """Code attributes as features of the rows; refuse those that cannot matter to a choice."""
    if not isinstance(given, Uncoded):
        return given
    frame, terms = shown.frame, given.terms
    if isinstance(terms, pd.DataFrame):
        frame = terms.reindex(frame[shown.item].astype(object)).set_axis(frame.index)
        terms = [*terms.columns]
    attributes = Attributes.learn(frame, terms, given.coding, standardise=given.standardise)
    coded = attributes.code(frame)
    values, row = coded.to_numpy(), shown.named.row
    last = np.zeros((len(shown.named.ranker_idx), values.shape[1]))
    last[row] = values
    same = (values == last[row]).all(axis=0) & values.any(axis=0)
    if same.any():
        name = coded.columns[same.argmax()]
        raise ValueError(
            f"The attribute {name!r} is the same for all items of every task, so it cannot matter "
            f"to a choice. Leave it out, or give each item a coefficient: '{shown.item}:{name}'."
        )
    return Covariates(values, coded.columns, attributes)


# Best-worst tasks


def from_best_worst(
    source: Source,
    columns: Columns,
    item: str | Sequence[str],
    best: str | None,
    worst: str | None,
    choice: str | None,
    anchor: str | None,
    threshold: Any,
    items: Labels | None,
    features: Features | Sequence[str] | Uncoded | None,
    *,
    several: bool,
    positions: bool,
    missing: Missing,
) -> Entries:
    """Read best-worst tasks; see `Rankings.from_best_worst`."""
    if choice is not None and (best is not None or worst is not None):
        raise ValueError("`choice` has codes for both: give choice=, or best= and worst=.")
    if choice is best is worst is None:
        raise ValueError("Name the columns of the answers: best= and worst=, or choice=.")
    cells = [item] if isinstance(item, str) else [*item]
    if len(cells) < 2 and not isinstance(item, str):
        raise ValueError(
            "`item` must be the column of items of a long table, or two or more columns of a wide "
            f"one; got {item!r}."
        )
    marks = [x for x in (best, worst, choice, anchor) if x is not None]
    frame = _table(source, columns, [*cells, *marks], features)
    if len(cells) == 1:
        columns = columns._replace(item=cells[0])
        shown = _long_tasks(frame, columns, best, worst, choice)
    elif choice is not None:
        raise ValueError("`choice` needs a long table; in a wide one, name best= and worst=.")
    else:
        columns = columns._replace(item=_new_name(frame, "item"))
        shown = _wide_tasks(frame, columns, cells, (best, worst), positions=positions)
    everything = np.ones(len(shown.frame), dtype=bool)
    alone = shown.counts(everything)[shown.named.row] < 2
    shown.refuse(alone, "A task must show at least two items", "shows one", "Remove the task.")
    _refuse_conflicts(shown, several=several)
    place = np.full(len(shown.named.ranker_idx), ABSENT)
    if anchor is not None:
        place = _anchors(shown, anchor)
    answered = shown.best | shown.worst | (place != ABSENT)[shown.named.row]
    shown, tasks = _answered(shown, answered, missing)
    cost = np.where(shown.best, BEST, np.where(shown.worst, WORST, MIDDLE))
    coded = _coded(shown, features)
    if anchor is None:
        return long_entries(shown.frame, columns, shown.named, cost, items, coded)
    return _with_threshold(shown, columns, threshold, cost, place[tasks], items, coded)


def _table(
    source: Source, columns: Columns, cells: Sequence[str], features: Any, rank: str | None = None
) -> pd.DataFrame:
    """Read the columns in use, and number the rows."""
    if isinstance(features, Uncoded) and not isinstance(source, pd.DataFrame):
        raise TypeError(
            f"With `attributes`, the table must be a DataFrame, whose columns are numbers or "
            f"levels; got {type(source).__name__}. Read the file with pandas first."
        )
    labels = [columns.ranker or None, columns.ranking, *columns.groups, *cells]
    numbers = [columns.weight, rank, *column_names(features)]
    frame = table_of(source, "tasks", labels=labels, numbers=numbers)
    index = frame.index if frame.index.name == LINE else pd.RangeIndex(len(frame), name=ROW)
    return frame.set_axis(index)


def _long_tasks(
    frame: pd.DataFrame, columns: Columns, best: str | None, worst: str | None, choice: str | None
) -> Shown:
    """Read one row per item shown, with flags or codes."""
    if choice is not None:
        must = "A choice must be 'best', 'worst' or empty, or 1, -1 or 0"
        code = _words(frame, choice, _CODES, must, f"Translate it: frame[{choice!r}].map({{...}}).")
        flags = [code == 1, code == -1]
    else:
        must = "A flag must be 1 or 0, True or False, yes or no, or 'x' or empty"
        way_out = (
            "If the column names the items chosen, the table is wide: list the columns of the "
            "items shown, or the alternatives."
        )
        flags = [_words(frame, name, _FLAGS, must, way_out) == 1 for name in (best, worst)]
    named = rankings_in(frame, columns.ranker, columns.ranking)
    return Shown(frame, columns.item, named, *flags)


def _wide_tasks(
    frame: pd.DataFrame,
    columns: Columns,
    cells: Sequence[str],
    chosen: Sequence[str | None],
    *,
    positions: bool,
) -> Shown:
    """Read one row per task, with columns of the items shown, and of the best and the worst."""
    table = _object_table(frame, cells)
    line, slot = np.nonzero(~pd.isna(table))
    shown = pd.Series(table[line, slot]).infer_objects()
    if shown.dtype.kind == "f" and (shown % 1 == 0).all():  # empty cells made floats of integers
        shown = shown.astype(np.int64)
    codes = np.full(table.shape, -1)
    codes[line, slot], axis = factorize(shown, "items")
    long = frame.iloc[line].assign(**{columns.item: shown.to_numpy()})
    flags = [
        _chosen_slots(frame, name, codes, axis, positions=positions)[line] == slot
        for name in chosen
    ]
    return Shown(long, columns.item, _named_lines(frame, columns, line), *flags)


def _named_lines(frame: pd.DataFrame, columns: Columns, line: NDArray[np.int64]) -> Named:
    """Name the rankings of a wide table: each row is a ranking."""
    if columns.ranking is None:
        who, rankers = factorize(frame[columns.ranker], columns.ranker)
        return Named(line, who, axis_index(rankers, columns.ranker), None)
    named = rankings_in(frame, columns.ranker, columns.ranking)
    again = pd.Index(named.row).duplicated()
    way_out = "Give each task of a respondent its own label, or leave out the column of tasks."
    refuse_rows(again, frame[columns.ranking], "A task must have one row", way_out)
    return named._replace(row=named.row[line])


def _chosen_slots(
    frame: pd.DataFrame,
    name: str | None,
    codes: NDArray[np.int64],
    axis: pd.Index,
    *,
    positions: bool,
) -> NDArray[np.int64]:
    """Return the slot of each choice, given by label or by position; -1 if nothing was chosen."""
    if name is None:
        return np.full(len(frame), -1)
    values = frame[name]
    if positions:
        wanted = pd.to_numeric(values.astype(object), errors="coerce").to_numpy(np.float64)
        same = np.where(codes >= 0, np.arange(1, codes.shape[1] + 1), -1) == wanted[:, None]
    else:
        listed = pd.Index(values.astype(object).to_numpy(), tupleize_cols=False).infer_objects()
        label = axis.get_indexer(listed)
        same = (codes == label[:, None]) & (label >= 0)[:, None]
    must = "The item chosen must be one of those shown"
    way_out = f"Correct the row, or give positions={not positions} if the column has " + (
        "labels." if positions else "positions 1, 2, ...."
    )
    refuse_rows(~_is_empty(values) & ~same.any(axis=1), values, must, way_out)
    return np.where(same.any(axis=1), same.argmax(axis=1), -1)


# Checks of tasks


def _refuse_conflicts(shown: Shown, *, several: bool) -> None:
    """Refuse repeated items, an item that is best and worst, and several best or worst items."""
    row = shown.named.row.astype(np.int64)
    code, axis = factorize(shown.frame[shown.item], shown.item)
    again = pd.Index(row * len(axis) + code).duplicated()
    fix = "Correct the row, or name the column that identifies tasks."
    shown.refuse(again, "A task must show an item once", "shows one again", fix)
    both = shown.best & shown.worst
    shown.refuse(both, "The best and the worst item must differ", "has one as both", fix)
    for flags, name in ((shown.best, "best"), (shown.worst, "worst")):
        first = np.full(len(shown.named.ranker_idx), len(row))
        np.minimum.at(first, row[flags], np.flatnonzero(flags))
        another = flags & (first[row] != np.arange(len(row))) & (not several)
        fix = "If respondents could choose several, give several=True."
        shown.refuse(another, f"A task must have one {name} item", f"has another {name} one", fix)


def _answered(
    shown: Shown, answers: NDArray[np.bool_], missing: Missing
) -> tuple[Shown, NDArray[np.int64]]:
    """Refuse or drop tasks in which nothing was chosen."""
    if missing not in ("raise", "drop"):
        raise ValueError(f"`missing` must be 'raise' or 'drop'; got {missing!r}.")
    answered = (shown.counts(answers) > 0)[shown.named.row]
    if missing == "drop" and answered.any() and not answered.all():
        return shown.take(answered)
    n = len(np.unique(shown.named.row[~answered]))
    must = f"In each task an item must be chosen, but not in {counted(n, 'task')}"
    shown.refuse(
        ~answered, must, "has nothing chosen", "Give missing='drop' to leave such tasks out."
    )
    return shown, np.arange(len(shown.named.ranker_idx))


# Anchors


def _anchors(shown: Shown, column: str) -> NDArray[np.int64]:
    """Return the place of the threshold: last if all items of a task matter, first if none does."""
    must = "An anchor must be 'all', 'some' or 'none', or tell whether none of the items matters"
    blank = "Leave it empty if it was not asked."
    answer, row = _words(shown.frame, column, _ANCHORS, must, blank), shown.named.row
    by_task = np.zeros(len(shown.named.ranker_idx), dtype=np.int64)
    by_task[row] = answer
    has_best, has_worst = (shown.counts(x)[row] > 0 for x in (shown.best, shown.worst))
    some, not_none = answer == _ANCHORS["some"], answer == _ANCHORS["false"]
    fix = "Answer 'all' or 'none', or leave the anchor of the task empty."
    for broken, must, fault in (
        (
            by_task[row] != answer,
            "An anchor must be the same in all rows of a task",
            "has two answers",
        ),
        (
            some & ~(has_best & has_worst),
            "The anchor 'some' needs a best item, above the threshold, and a worst, below it",
            "lacks one",
        ),
        (
            not_none & (has_worst | ~has_best),
            "The anchor that some item matters needs a best item and no worst item, because it "
            "does not tell whether the worst one matters",
            "does not fit",
        ),
    ):
        shown.refuse(broken, must, fault, fix)
    return PLACES[by_task]


def _with_threshold(
    shown: Shown,
    columns: Columns,
    label: Any,
    cost: NDArray[np.int64],
    place: NDArray[np.int64],
    items: Labels | None,
    features: Features | Sequence[str] | Covariates | None,
) -> Entries:
    """Add the threshold to the tasks with an anchor, as an item after the others."""
    by_row = isinstance(features, Covariates) or bool(column_names(features))
    given = features if by_row else None
    entries = long_entries(shown.frame, columns, shown.named, cost, items, given)
    axis, at = entries.items, entries.items.get_indexer(pd.Index([label]))[0]
    if at < 0:
        at, axis = len(axis), axis_index([*axis, label], "items")
    must, fix = "The threshold needs its own label", "Give another one: anchor_item=."
    shown.refuse(entries.item == at, must, "shows an item with that label", fix)
    tasks = np.flatnonzero(place != ABSENT)
    item = np.append(entries.item, np.full(len(tasks), at))
    covariates = entries.features
    if covariates is None:
        covariates = item_features(features, axis, item)
    else:  # a further feature marks the threshold
        values = np.pad(covariates.values, ((0, len(tasks)), (0, 1)))
        values[len(cost) :, -1] = 1.0
        names = pd.Index([*(covariates.names if covariates.names is not None else ()), label])
        covariates = covariates._replace(values=values, names=names)
    return replace(
        entries,
        row=np.append(entries.row, tasks),
        item=item,
        cost=np.append(cost, place[tasks]),
        items=axis,
        features=covariates,
    )


# Choices


class Wide(NamedTuple):
    """The columns of a wide table of choices; see `Rankings.from_choices`."""

    alternatives: Sequence[Any] | None
    varying: Sequence[str]
    sep: str
    positions: bool

    def column(self, names: pd.Index, attribute: str, alternative: Any) -> str:
        """Find the column of an attribute of an alternative."""
        both = f"{alternative}{self.sep}{attribute}", f"{attribute}{self.sep}{alternative}"
        found = [name for name in dict.fromkeys(both) if name in names]
        if len(found) != 1:
            raise ValueError(
                f"An attribute in `varying` must have one column per alternative; the table has "
                f"{len(found)} of {quoted(both)}. Check `alternatives` and `sep`."
            )
        return found[0]


def from_choices(
    source: Source,
    wide: Wide,
    columns: Columns,
    chosen: str | None,
    rank: str | None,
    available: str | None,
    missing: Missing,
    items: Labels | None,
    features: Features | Sequence[str] | Uncoded | None,
) -> Entries:
    """Read choices; see `Rankings.from_choices`."""
    if (chosen is None) == (rank is None):
        raise ValueError("Give either chosen=, the alternative chosen, or rank=, their ranks.")
    if not columns.ranker:  # every choice has its own ranker
        columns = columns._replace(ranker=columns.ranking or "", ranking=None)
    marks = [x for x in (chosen, available) if x is not None]
    if wide.alternatives is not None:
        if not isinstance(source, pd.DataFrame):
            raise TypeError("A wide table of choices must be a DataFrame: read the file first.")
        marks = [x for x in marks if x not in wide.varying]
        shown = _wide_choices(_table(source, columns, marks, None), wide, columns, chosen)
    else:
        if wide.varying or not columns.ranker:
            raise ValueError(
                "A long table needs choice=, the column that identifies choices. For a wide table, "
                "list its alternatives=."
            )
        frame = _table(source, columns, [columns.item, *marks], features, rank)
        shown = _long_tasks(frame, columns, chosen, None, None)
    _refuse_conflicts(shown, several=False)
    if available is not None:
        must = "A flag of availability must be 1 or 0, True or False, or yes or no"
        flags = _words(shown.frame, available, _FLAGS, must, "Correct it.") == 1
        must, fix = "The alternative chosen must be available", "Correct the row."
        shown.refuse(shown.best & ~flags, must, "has one that is not", fix)
        shown, _ = shown.take(flags)
    if rank is not None:
        cost = finite_numbers(shown.frame, rank, "rank")
    else:
        shown, _ = _answered(shown, shown.best, missing)
        cost = np.where(shown.best, BEST, MIDDLE)
    coded = _coded(shown, features)
    return long_entries(shown.frame, columns, shown.named, cost, items, coded)


def _wide_choices(frame: pd.DataFrame, wide: Wide, columns: Columns, chosen: str | None) -> Shown:
    """Read one row per choice, with a column for each attribute of each alternative."""
    axis = axis_index(wide.alternatives or (), "alternatives")
    n, k = len(frame), len(axis)
    if k < 2 or columns.item in frame.columns:
        raise ValueError(
            f"A wide table needs two or more `alternatives`; got {quoted(axis) or 'none'}. It must "
            f"not have a column {columns.item!r}: give another name for the alternatives, "
            "alternative=."
        )
    line, slot = np.repeat(np.arange(n), k), np.tile(np.arange(k), n)
    more: dict[str, Any] = {columns.item: pd.Categorical.from_codes(slot, axis)}
    for name in wide.varying:
        cells = [wide.column(frame.columns, name, label) for label in axis]
        more[name] = pd.Series(_object_table(frame, cells).ravel()).infer_objects().to_numpy()
    long = frame.iloc[line].assign(**more)
    codes = np.tile(np.arange(k), (n, 1))
    best = _chosen_slots(frame, chosen, codes, axis, positions=wide.positions)[line] == slot
    if columns.ranker:
        named = _named_lines(frame, columns, line)
    else:
        named = Named(line, np.arange(n), pd.RangeIndex(n), None)
    return Shown(long, columns.item, named, best, np.zeros(len(line), dtype=bool))


# Cells


def _new_name(frame: pd.DataFrame, name: str) -> str:
    """Return a name that no column has."""
    while name in frame.columns:
        name += "_"
    return name


def _object_table(frame: pd.DataFrame, columns: Sequence[str]) -> NDArray[Any]:
    require_columns(frame, columns)
    return np.column_stack([frame[name].astype(object).to_numpy() for name in columns])


def _words(
    frame: pd.DataFrame, name: str | None, codes: Mapping[str, int], must: str, way_out: str
) -> NDArray[np.int64]:
    """Read a column of words, if there is one; an empty cell has the code of the empty word."""
    if name is None:
        return np.zeros(len(frame), dtype=np.int64)
    values = frame[name]
    code, distinct = pd.factorize(values)
    words = [f"{x:g}" if isinstance(x, float) else str(x).strip().lower() for x in distinct]
    known = np.array([codes.get(word, -9) for word in words] + [codes[""]])
    read = known[code]  # a missing value has the code -1, the last
    refuse_rows(read == -9, values, must, way_out)
    return read


def _is_empty(values: pd.Series) -> NDArray[np.bool_]:
    return (values.isna() | (values.astype(object) == "")).to_numpy()
