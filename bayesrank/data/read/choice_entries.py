"""Choice entries: best-worst tasks and choices, read from long and wide tables for `Rankings`.

A task shows items to one respondent, who chooses the best, the worst, or both. It becomes the weak
order {best} > {middle} > {worst}, in which the order of the middle is unknown. An *anchor* adds
one threshold item to a task: items that matter are above it, and the others are below.

A wide table is first laid out as a long one, and errors name the row of the table that was given.
"""

import fnmatch
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
    ranking_names,
    rankings_in,
)
from bayesrank.data.read.labels import (
    Labels,
    axis_index,
    counted,
    factorize,
    label_repr,
    quoted,
    row_name,
    sorted_axis,
)
from bayesrank.data.read.streams import Source, table_of

Missing = Literal["raise", "drop", "keep"]

_FLAGS = dict.fromkeys(("1", "x", "true", "t", "yes", "y"), 1)
_FLAGS |= dict.fromkeys(("0", "", "false", "f", "no", "n"), 0)
_CODES = dict.fromkeys(("1", "+1", "best", "b", "most"), 1)
_CODES |= dict.fromkeys(("-1", "worst", "w", "least"), -1) | dict.fromkeys(("0", ""), 0)
ALL, NONE, SOME, NOT_NONE = 1, 2, 3, 4
_ANCHORS = {"all": ALL, "none": NONE, "some": SOME, "": 0, "true": NONE, "1": NONE}
_ANCHORS |= {"false": NOT_NONE, "0": NOT_NONE}

# The blocks of a task, from best to worst. The threshold is a block between two of them.
BEST, ABOVE, MIDDLE, BELOW, WORST = 0, 2, 4, 6, 8


class Shown(NamedTuple):
    """The items shown in each task, one per row, and what was chosen."""

    frame: pd.DataFrame  # labels, weights and features by row
    origin: pd.Index  # index of the table that was given
    line: NDArray[np.int64]  # the row of that table
    named: Named
    best: NDArray[np.bool_]
    worst: NDArray[np.bool_]

    def where(self, n: int) -> str:
        """Name the row of the table in which row `n` was given."""
        return row_name(self.origin, int(self.line[n]))

    def any(self, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return by task whether any of its rows has a flag."""
        return self.counts(flags) > 0

    def counts(self, flags: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Count the rows of each task that have a flag."""
        return np.bincount(self.named.row[flags], minlength=len(self.named.ranker_idx))

    def take(self, rows: NDArray[np.bool_]) -> "Shown":
        """Keep some rows, and the tasks that they belong to."""
        named = self.named
        tasks, row = np.unique(named.row[rows], return_inverse=True)
        labels = None if named.labels is None else named.labels.take(tasks)
        who, ranker = np.unique(named.ranker_idx[tasks], return_inverse=True)
        named = Named(row, ranker, named.rankers.take(who), labels)
        best, worst = self.best[rows], self.worst[rows]
        return Shown(self.frame[rows], self.origin, self.line[rows], named, best, worst)


@dataclass(frozen=True)
class Uncoded:
    """Attributes that become features when the table is read."""

    terms: Sequence[str] | pd.DataFrame
    coding: Coding
    standardise: bool | Sequence[str]


def features_or(
    features: Features | Sequence[str] | None,
    terms: Sequence[str] | pd.DataFrame | None,
    coding: Coding,
    standardise: bool | Sequence[str],
) -> Features | Sequence[str] | Uncoded | None:
    """Return the features or the attributes; both are refused."""
    if terms is None:
        return features
    if features is not None:
        raise ValueError(
            "`attributes` become the features. Give features= or attributes=; for numbers in raw "
            "units, give attributes= and standardise=False."
        )
    return Uncoded(terms, coding, standardise)


def _check_source(source: Source, features: Any) -> None:
    if isinstance(features, Uncoded) and not isinstance(source, pd.DataFrame):
        raise TypeError(
            f"With `attributes`, the table must be a DataFrame, whose columns are numbers or "
            f"levels; got {type(source).__name__}. Read the file with pandas first."
        )


def _coded_or(
    shown: Shown, item: str, given: Features | Sequence[str] | Uncoded | None
) -> Features | Sequence[str] | Covariates | None:
    """Code attributes as features of the rows; refuse those that cannot matter to a choice."""
    if not isinstance(given, Uncoded):
        return given
    frame, terms = shown.frame, given.terms
    if isinstance(terms, pd.DataFrame):
        labels = shown.frame[item].astype(object)
        absent = ~labels.isin(terms.index)
        if absent.any():
            unknown = label_repr(labels[absent].iloc[0])
            raise ValueError(f"`attributes` has no row for item {unknown}.")
        frame, terms = terms.loc[labels], [*terms.columns]
        frame.index = shown.frame.index
    attributes = Attributes.learn(frame, terms, given.coding, given.standardise)
    coded = attributes.code(frame)
    values, row = coded.to_numpy(), shown.named.row
    first = np.zeros((len(shown.named.ranker_idx), values.shape[1]))
    first[row] = values
    same = (values == first[row]).all(axis=0) & values.any(axis=0)
    if same.any():
        name = coded.columns[same.argmax()]
        raise ValueError(
            f"The attribute {name!r} is the same for all items of every task, so it cannot matter "
            f"to a choice. Leave it out, or give each item a coefficient: '{item}:{name}'."
        )
    return Covariates(values, attributes.names, attributes)


class Anchors(NamedTuple):
    """Where the threshold is: an answer per task, or a flag per item."""

    column: str | None  # all, some or none
    matters: str | Sequence[str] | None  # flags of items
    item: Any


# Best-worst tasks


def from_best_worst(
    source: Source,
    columns: Columns,
    item: str | Sequence[str],
    best: str | None,
    worst: str | None,
    choice: str | None,
    anchors: Anchors,
    *,
    several: bool,
    positions: bool | None,
    missing: Missing,
    items: Labels | None,
    features: Features | Sequence[str] | Uncoded | None,
) -> Entries:
    """Read best-worst tasks; see `Rankings.from_best_worst`."""
    _check_options(missing, best, worst, choice, anchors)
    marks = [name for name in (best, worst, choice, anchors.column) if name is not None]
    labels = [columns.ranker, columns.ranking, *columns.groups, *marks]
    numeric = [x for x in (columns.weight, *column_names(features)) if x is not None]
    _check_source(source, features)
    cells = _cells(source, item)
    flags = anchors.matters
    flags = [] if flags is None else [flags] if isinstance(flags, str) else list(flags)
    frame = table_of(source, "tasks", labels=[*labels, *cells, *flags], numbers=numeric)
    if isinstance(item, str) and item in frame.columns:
        columns = columns._replace(item=item)
        shown = _long_tasks(frame, columns, best, worst, choice)
    else:
        if choice is not None:
            raise ValueError(
                "`choice` is a column of codes by item, which a wide table does not have. Name "
                "the columns of the best and the worst item: best=, worst=."
            )
        columns = columns._replace(item=_new_name(frame, "item"))
        shown = _wide_tasks(frame, columns, cells, best, worst, positions, flags, numeric)
        anchors = anchors._replace(matters=None if anchors.matters is None else _MATTERS)
    _refuse_repeats(shown, columns.item)
    _refuse_conflicts(shown, columns.item, several=several)
    alone = np.flatnonzero(shown.counts(np.ones(len(shown.frame), dtype=bool)) < 2)
    if len(alone):
        n = int(np.flatnonzero(shown.named.row == alone[0])[0])
        raise ValueError(
            f"A task must show at least two items; {_task(shown, n)} shows only "
            f"{label_repr(shown.frame[columns.item].iloc[n])}, in {shown.where(n)}. Add the other "
            "items, or remove the task."
        )
    answered = shown.any(shown.best | shown.worst)
    if anchors.matters is not None:
        answered |= shown.any(_flags(shown, anchors.matters) >= 0)
    shown = _answered(shown, answered, missing, "chosen as best or worst")
    coded = _coded_or(shown, columns.item, features)
    return _anchored(shown, columns, anchors, items, coded)


def _check_options(
    missing: str, best: str | None, worst: str | None, choice: str | None, anchors: Anchors
) -> None:
    _check_missing(missing)
    if choice is not None and (best is not None or worst is not None):
        raise ValueError(
            "`choice` is one column of codes for best and worst. Give either choice=, or best= and "
            "worst=."
        )
    if choice is best is worst is anchors.matters is None:
        raise ValueError(
            "Nothing says what was chosen. Name the columns best= and worst=, one of them, or "
            "choice= for one column of codes."
        )
    if anchors.column is not None and anchors.matters is not None:
        raise ValueError(
            "`anchor` is one answer per task, and `matters` is one flag per item. Give one of them."
        )


def _check_missing(missing: str) -> None:
    if missing not in ("raise", "drop", "keep"):
        raise ValueError(f"`missing` must be 'raise', 'drop' or 'keep'; got {missing!r}.")


def _long_tasks(
    frame: pd.DataFrame, columns: Columns, best: str | None, worst: str | None, choice: str | None
) -> Shown:
    """Read one row per item shown, with flags or codes."""
    nothing = np.zeros(len(frame), dtype=bool)
    if choice is not None:
        must = "A choice must be 'best', 'worst' or empty, or 1, -1 or 0"
        code = _coded(frame[choice], _CODES, must, f"Translate it: frame[{choice!r}].map({{...}}).")
        is_best, is_worst = code == 1, code == -1
    else:
        is_best = nothing if best is None else _flag(frame[best])
        is_worst = nothing if worst is None else _flag(frame[worst])
    named = rankings_in(frame, columns.ranker, columns.ranking)
    return Shown(frame, frame.index, np.arange(len(frame)), named, is_best, is_worst)


_MATTERS = "matters of the item"  # column of the long form of a wide table


def _wide_tasks(
    frame: pd.DataFrame,
    columns: Columns,
    cells: Sequence[str],
    best: str | None,
    worst: str | None,
    positions: bool | None,
    matters: Sequence[str],
    numeric: Sequence[str],
) -> Shown:
    """Read one row per task, with columns of the items shown, and of the best and the worst."""
    for name in columns.groups:  # while the rows are still those that were given
        sorted_axis(frame[name], name)
    for name in numeric:
        finite_numbers(frame, name, "weight" if name == columns.weight else "feature")
    table = np.column_stack([frame[cell].astype(object).to_numpy() for cell in cells])
    line, slot = np.nonzero(~pd.isna(table))
    shown = pd.Series(table[line, slot]).infer_objects()
    if shown.dtype.kind == "f" and (shown % 1 == 0).all():  # empty cells made floats of integers
        shown = shown.astype(np.int64)
    code, axis = factorize(shown, "items")
    codes = np.full(table.shape, -1)
    codes[line, slot] = code
    chosen = {name: frame[name] for name in (best, worst) if name is not None}
    found = _chosen_slots(frame, chosen, codes, pd.Index(axis), positions)
    long = frame.iloc[line].reset_index(drop=True)
    long[columns.item] = shown
    if matters:
        if len(matters) != len(cells):
            raise ValueError(
                f"`matters` names {counted(len(matters), 'column')} for {len(cells)} columns of "
                "items; name one for each, in the same order."
            )
        flags = np.column_stack([frame[name].astype(object).to_numpy() for name in matters])
        long[_MATTERS] = flags[line, slot]
    flagged = [
        np.zeros(len(line), dtype=bool) if name is None else found[name][line] == slot
        for name in (best, worst)
    ]
    return Shown(long, frame.index, line, _named_lines(frame, columns, line), *flagged)


def _named_lines(frame: pd.DataFrame, columns: Columns, line: NDArray[np.int64]) -> Named:
    """Name the rankings of a wide table: each row is a ranking."""
    who, rankers = factorize(frame[columns.ranker], columns.ranker)
    labels = None
    if columns.ranking is not None:
        task, names = factorize(frame[columns.ranking], columns.ranking)
        key = pd.Index(who.astype(np.int64) * len(names) + task)
        if key.has_duplicates:
            n = int(key.duplicated().argmax())
            raise ValueError(
                f"A task must have one row; respondent {label_repr(rankers[who[n]])} has task "
                f"{label_repr(names[task[n]])} again in {row_name(frame.index, n)}. Give each task "
                "its own label, or leave out the column of tasks."
            )
        labels = ranking_names(rankers, who, names.take(task))
    return Named(line, who, axis_index(rankers, columns.ranker), labels)


def _chosen_slots(
    frame: pd.DataFrame,
    chosen: Mapping[str, pd.Series],
    codes: NDArray[np.int64],
    axis: pd.Index,
    positions: bool | None,
) -> dict[str, NDArray[np.int64]]:
    """Return the slot of each choice, given by label or by position; -1 if nothing was chosen."""
    given = {name: ~_is_empty(values) for name, values in chosen.items()}
    by_label = {name: _slots_by_label(x, codes, axis) for name, x in chosen.items()}
    by_position = {name: _slots_by_position(x, codes) for name, x in chosen.items()}
    if positions is None:
        fit = [
            all((slot[name] >= 0)[given[name]].all() for name in chosen)
            for slot in (by_label, by_position)
        ]
        for name in chosen:
            differ = given[name] & (by_label[name] != by_position[name])
            if all(fit) and differ.any():
                n = int(differ.argmax())
                raise ValueError(
                    f"Column {name!r} may have labels or positions: {row_name(frame.index, n)} has "
                    f"{label_repr(chosen[name].iloc[n])}, which is a label shown and also a "
                    "position of another label. Give positions=True or positions=False."
                )
        no_label = all((x[given[name]] == -1).all() for name, x in _known(chosen, axis).items())
        positions = (fit[1] and not fit[0]) or (not fit[0] and no_label and bool(given))
    found = by_position if positions else by_label
    for name, values in chosen.items():
        broken = given[name] & (found[name] < 0)
        if positions:
            must = f"A position must be one of the {codes.shape[1]} columns with an item shown"
            refuse_rows(
                broken, values, must, "Count positions from 1, in the order of the columns."
            )
        else:
            refuse_rows(
                broken,
                values,
                "The item chosen must be one of those shown",
                "Correct the row, or check the spelling and type of the labels. For positions "
                "1, 2, ..., give positions=True.",
            )
    return found


def _known(chosen: Mapping[str, pd.Series], axis: pd.Index) -> dict[str, NDArray[Any]]:
    return {name: _lookup(values, axis) for name, values in chosen.items()}


def _lookup(values: pd.Series, axis: pd.Index) -> NDArray[np.int64]:
    """Return the position of each value on an axis, or -1."""
    listed = pd.Index(values.astype(object).to_numpy(), tupleize_cols=False).infer_objects()
    return axis.get_indexer(listed).astype(np.int64)


def _slots_by_label(
    values: pd.Series, codes: NDArray[np.int64], axis: pd.Index
) -> NDArray[np.int64]:
    label = _lookup(values, axis)
    same = (codes == label[:, None]) & (label >= 0)[:, None]
    return np.where(same.any(axis=1), same.argmax(axis=1), -1)


def _slots_by_position(values: pd.Series, codes: NDArray[np.int64]) -> NDArray[np.int64]:
    number = pd.to_numeric(values.astype(object), errors="coerce").to_numpy(np.float64)
    whole = np.isfinite(number) & (number % 1 == 0) & (number >= 1) & (number <= codes.shape[1])
    slot = np.where(whole, number, 1).astype(np.int64) - 1
    return np.where(whole & (codes[np.arange(len(codes)), slot] >= 0), slot, -1)


# Checks of tasks


def _task(shown: Shown, n: int) -> str:
    """Name the task of a row: by its label, or by its respondent."""
    named, task = shown.named, shown.named.row[n]
    if named.labels is not None:
        return f"task {label_repr(named.labels[task])}"
    return f"the task of {label_repr(named.rankers[named.ranker_idx[task]])}"


def _refuse_repeats(shown: Shown, item: str) -> None:
    code, axis = factorize(shown.frame[item], item)
    twice = pd.Index(shown.named.row.astype(np.int64) * len(axis) + code).duplicated()
    if twice.any():
        n = int(twice.argmax())
        raise ValueError(
            f"A task must show an item once; {_task(shown, n)} shows {label_repr(axis[code[n]])} "
            f"again in {shown.where(n)}. Remove the row, or name the column that identifies tasks."
        )


def _refuse_conflicts(shown: Shown, item: str, *, several: bool) -> None:
    """Refuse an item that is both best and worst, and more than one best or worst in a task."""
    both = shown.best & shown.worst
    if both.any():
        n = int(both.argmax())
        raise ValueError(
            f"The best and the worst item must differ; {_task(shown, n)} has "
            f"{label_repr(shown.frame[item].iloc[n])} as both, in {shown.where(n)}. Correct the "
            "row, or remove the task."
        )
    for flags, name in ((shown.best, "best"), (shown.worst, "worst")):
        many = flags & (shown.counts(flags) > 1)[shown.named.row]
        if many.any() and not several:
            first, second = np.flatnonzero(many & (shown.named.row == shown.named.row[many][0]))[:2]
            raise ValueError(
                f"A task must have one {name} item; {_task(shown, first)} has two, in "
                f"{shown.where(first)} and {shown.where(second)}. If respondents could choose "
                "several, give several=True."
            )


def _answered(shown: Shown, answered: NDArray[np.bool_], missing: Missing, chosen: str) -> Shown:
    """Refuse, drop or keep tasks in which nothing was chosen."""
    if answered.all() or missing == "keep":
        return shown
    if missing == "drop":
        if not answered.any():
            raise ValueError(f"No task has an item that was {chosen}, so nothing would be left.")
        return shown.take(answered[shown.named.row])
    n = int((~answered[shown.named.row]).argmax())
    raise ValueError(
        f"No item was {chosen} in {counted(int((~answered).sum()), 'task')}; the first is "
        f"{_task(shown, n)}, in {shown.where(n)}. Give missing='drop' to leave them out, or "
        "missing='keep' to keep them as tasks without information."
    )


# Choices


class Wide(NamedTuple):
    """The columns of a wide table of choices; see `Rankings.from_choices`."""

    alternatives: Sequence[Any] | None
    varying: Sequence[str]
    sep: str

    def column(self, names: pd.Index, attribute: str, alternative: Any) -> str:
        """Find the column of an attribute of an alternative."""
        both = f"{alternative}{self.sep}{attribute}", f"{attribute}{self.sep}{alternative}"
        found = [name for name in dict.fromkeys(both) if name in names]
        if len(found) != 1:
            fault = "has neither column" if not found else "has both columns"
            raise ValueError(
                f"An attribute in `varying` must have one column per alternative; the table "
                f"{fault} {quoted(both)}. Check `alternatives` and `sep`, or add the column."
            )
        return found[0]


def from_choices(
    source: Source,
    wide: Wide,
    respondent: str | None,
    choice: str | None,
    columns: Columns,
    chosen: str | None,
    rank: str | None,
    available: str | None,
    *,
    positions: bool | None,
    missing: Missing,
    items: Labels | None,
    features: Features | Sequence[str] | Uncoded | None,
) -> Entries:
    """Read choices; see `Rankings.from_choices`."""
    _check_missing(missing)
    _check_source(source, features)
    if (chosen is None) == (rank is None):
        raise ValueError(
            "Give either chosen=, the alternative chosen, or rank=, the ranks of the alternatives."
        )
    if wide.alternatives is not None:
        shown = _wide_choices(
            source, wide, respondent, choice, columns, chosen, available, positions
        )
    else:
        if wide.varying:
            raise ValueError("`varying` describes a wide table: also name its alternatives=.")
        if choice is None:
            raise ValueError(
                "A long table needs the column that identifies choices, choice=. For a wide table, "
                "list its alternatives=."
            )
        columns = columns._replace(
            ranker=choice if respondent is None else respondent,
            ranking=None if respondent is None else choice,
        )
        marks = [x for x in (chosen, available) if x is not None]
        labels = [columns.ranker, columns.ranking, columns.item, *columns.groups, *marks]
        numeric = [rank, columns.weight, *column_names(features)]
        frame = table_of(source, "choices", labels=labels, numbers=numeric)
        shown = _long_tasks(frame, columns, chosen, None, None)
    _refuse_repeats(shown, columns.item)
    shown = _available(shown, columns.item, available)
    if rank is not None:
        cost = finite_numbers(shown.frame, rank, "rank")
    else:
        _refuse_conflicts(shown, columns.item, several=False)
        shown = _answered(shown, shown.any(shown.best), missing, "chosen")
        cost = np.where(shown.best, BEST, MIDDLE)
    coded = _coded_or(shown, columns.item, features)
    return long_entries(shown.frame, columns, shown.named, cost, items, coded)


def _wide_choices(
    source: Source,
    wide: Wide,
    respondent: str | None,
    choice: str | None,
    columns: Columns,
    chosen: str | None,
    available: str | None,
    positions: bool | None,
) -> Shown:
    """Read one row per choice, with a column for each attribute of each alternative."""
    if not isinstance(source, pd.DataFrame):
        raise TypeError(
            f"A wide table of choices must be a DataFrame; got {type(source).__name__}. Read the "
            "file with pandas first."
        )
    given = (respondent, choice, chosen, columns.weight, *columns.groups)
    require_columns(source, [name for name in given if name is not None])
    axis = axis_index(wide.alternatives or (), "alternatives")
    n, k = len(source), len(axis)
    if k < 2:
        raise ValueError("`alternatives` must list at least two alternatives.")
    if columns.item in source.columns:
        raise ValueError(
            f"The table has a column {columns.item!r}, which `alternative` names as the item. Give "
            "the alternatives another name: alternative=."
        )
    line, slot = np.repeat(np.arange(n), k), np.tile(np.arange(k), n)
    cells = {
        name: [wide.column(source.columns, name, label) for label in axis] for name in wide.varying
    }
    person = source.drop(columns=[x for names in cells.values() for x in names])
    long = person.iloc[line].reset_index(drop=True)
    long[columns.item] = pd.Categorical.from_codes(slot, axis)
    for name, names in cells.items():
        by_alternative = [source[x].astype(object).to_numpy() for x in names]
        long[name] = pd.Series(np.column_stack(by_alternative).ravel()).infer_objects()
    best = np.zeros(len(line), dtype=bool)
    if chosen is not None:
        codes = np.tile(np.arange(k), (n, 1))
        found = _chosen_slots(source, {chosen: source[chosen]}, codes, axis, positions)
        best = found[chosen][line] == slot
    if respondent is None and choice is None:
        named = Named(line, np.arange(n), pd.RangeIndex(n), None)
    else:
        label = None if respondent is None else choice
        by = columns._replace(ranker=respondent or choice or "", ranking=label)
        named = _named_lines(source, by, line)
    if respondent is None and choice is not None and len(named.rankers) < n:
        n = int(source[choice].duplicated().argmax())
        label = label_repr(source[choice].iloc[n])
        raise ValueError(
            f"A choice must have one row; column {choice!r} has {label} again in "
            f"{row_name(source.index, n)}. Name the column of the respondents, or leave "
            "out the column of choices."
        )
    return Shown(long, source.index, line, named, best, np.zeros(len(line), dtype=bool))


def _available(shown: Shown, item: str, column: str | None) -> Shown:
    """Leave out alternatives that were not available; refuse one that was chosen."""
    if column is None:
        return shown
    require_columns(shown.frame, [column])
    flags = _flag(shown.frame[column], "")
    broken = shown.best & ~flags
    if broken.any():
        n = int(broken.argmax())
        raise ValueError(
            f"The alternative chosen must be available; {label_repr(shown.frame[item].iloc[n])} is "
            f"not, in {shown.where(n)}. Correct the row, or remove the choice."
        )
    return shown.take(flags)


# Anchors


def _anchored(
    shown: Shown,
    columns: Columns,
    anchors: Anchors,
    items: Labels | None,
    features: Features | Sequence[str] | Covariates | None,
) -> Entries:
    """Put the items of each task and the threshold in blocks."""
    cost = np.full(len(shown.frame), MIDDLE)
    tasks = len(shown.named.ranker_idx)
    threshold = np.full(tasks, -1)  # the block after which the threshold comes; -1: no threshold
    if anchors.matters is not None:
        matters = _flags(shown, anchors.matters)
        cost[matters == 1], cost[matters == 0] = ABOVE, BELOW
        threshold = _between(shown, matters, columns.item)
    elif anchors.column is not None:
        threshold = _answers(shown, anchors.column)
    cost[shown.best], cost[shown.worst] = BEST, WORST
    if anchors.column is anchors.matters is None:
        return long_entries(shown.frame, columns, shown.named, cost, items, features)
    return _with_threshold(shown, columns, anchors.item, cost, threshold, items, features)


FIRST, LAST = BEST - 1, WORST + 1


def _answers(shown: Shown, column: str) -> NDArray[np.int64]:
    """Return the place of the threshold in each task, from the answers all, some and none."""
    must = "An anchor must be 'all', 'some' or 'none', or whether none of the items matters"
    answer = _coded(shown.frame[column], _ANCHORS, must, "Leave it empty if it was not asked.")
    row = shown.named.row
    by_task = np.zeros(len(shown.named.ranker_idx), dtype=np.int64)
    by_task[row] = answer
    if (by_task[row] != answer).any():
        n = int((by_task[row] != answer).argmax())
        raise ValueError(
            f"An anchor must be the same in all rows of a task; {_task(shown, n)} has two answers, "
            f"one of them in {shown.where(n)}. For one flag per item, use matters=."
        )
    has_best, has_worst = shown.any(shown.best), shown.any(shown.worst)
    faults = (
        (
            (by_task == SOME) & ~(has_best & has_worst),
            "The anchor 'some' needs a best and a worst item, which are above and below the "
            "threshold",
        ),
        (
            (by_task == NOT_NONE) & (has_worst | ~has_best),
            "The anchor that some item matters needs a best item and no worst item, because it "
            "does not tell whether the worst one matters",
        ),
    )
    for broken, must in faults:
        if broken.any():
            n = int(np.flatnonzero(row == int(broken.argmax()))[0])
            raise ValueError(
                f"{must}; {_task(shown, n)}, in {shown.where(n)}, does not fit. Answer 'all' or "
                "'none', or leave the anchor of this task empty."
            )
    place = np.array([-2, LAST, FIRST, MIDDLE, MIDDLE])
    return place[by_task]


def _between(shown: Shown, matters: NDArray[np.int64], item: str) -> NDArray[np.int64]:
    """Return the place of the threshold among flagged items; refuse flags against the choices."""
    row = shown.named.row
    asked = shown.any(matters >= 0)
    part = asked[row] & (matters < 0)
    above, below = shown.any(matters == 1), shown.any(matters == 0)
    faults = (
        (part, "has no flag, but other items of the task have one", "Flag all of them, or none."),
        (
            (matters == 0) & shown.best & above[row],
            "was chosen as best and does not matter, but another item of the task does",
            "Correct the flags, or the choice.",
        ),
        (
            (matters == 1) & shown.worst & below[row],
            "was chosen as worst and matters, but another item of the task does not",
            "Correct the flags, or the choice.",
        ),
    )
    for broken, fault, way_out in faults:
        if broken.any():
            n = int(broken.argmax())
            raise ValueError(
                f"Item {label_repr(shown.frame[item].iloc[n])} {fault}: {_task(shown, n)}, in "
                f"{shown.where(n)}. {way_out}"
            )
    place = np.where(above & below, MIDDLE, np.where(above, LAST, FIRST))
    return np.where(asked, place, -2)


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
    by_column = features is None or isinstance(features, Covariates) or bool(column_names(features))
    given = features if by_column else None
    entries = long_entries(shown.frame, columns, shown.named, cost, items, given)
    axis, where = entries.items, entries.items.get_indexer(pd.Index([label]))[0]
    if where >= 0 and (entries.item == where).any():
        n = int((entries.item == where).argmax())
        raise ValueError(
            f"The threshold must have its own label; {label_repr(label)} is an item shown in "
            f"{shown.where(n)}. Give another label: anchor_item=."
        )
    if where < 0:
        where, axis = len(axis), axis_index([*axis, label], "items")
    tasks = np.flatnonzero(place > -2)
    item = np.append(entries.item, np.full(len(tasks), where))
    covariates = entries.features
    if covariates is not None:  # a further feature marks the threshold
        values = np.pad(covariates.values, ((0, len(tasks)), (0, 1)))
        values[len(cost) :, -1] = 1.0
        names = () if covariates.names is None else covariates.names
        covariates = covariates._replace(values=values, names=pd.Index([*names, label]))
    elif not by_column:
        covariates = item_features(features, axis, item)
    return replace(
        entries,
        row=np.append(entries.row, tasks),
        item=item,
        cost=np.append(cost, place[tasks]),
        items=axis,
        features=covariates,
    )


# Cells


def _cells(source: Source, item: str | Sequence[str]) -> list[str]:
    """List the columns with the items shown: one in a long table, several in a wide one."""
    if not isinstance(item, str):
        cells = list(item)
        if len(cells) < 2:
            raise ValueError(
                f"`item` must be the column of items of a long table, or two or more columns of a "
                f"wide table; got {cells}."
            )
        return cells
    if "*" not in item or (isinstance(source, pd.DataFrame) and item in source.columns):
        return [item]
    if not isinstance(source, pd.DataFrame):
        raise ValueError(
            f"`item` is the pattern {item!r}, which needs a DataFrame. List the columns of files."
        )
    cells = [x for x in source.columns if isinstance(x, str) and fnmatch.fnmatchcase(x, item)]
    if len(cells) < 2:
        raise ValueError(
            f"The pattern {item!r} of `item` matches {counted(len(cells), 'column')} of the table; "
            f"at least two are needed. Its columns are {quoted(source.columns, 20)}."
        )
    return cells


def _new_name(frame: pd.DataFrame, name: str) -> str:
    """Return a name that no column has."""
    while name in frame.columns:
        name += "_"
    return name


def _word(value: Any) -> str:
    """Return a cell as a word: flags and numbers as text, and the rest in lower case."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, int | float | np.number):
        return f"{value:g}"
    return str(value).strip().lower()


def _coded(
    values: pd.Series, codes: Mapping[str, int], must: str, way_out: str
) -> NDArray[np.int64]:
    """Read a column of words as codes; an empty cell has the code of the empty word."""
    code, distinct = pd.factorize(values)
    unknown = -9
    known = np.array([codes.get(_word(value), unknown) for value in distinct] + [codes[""]])
    read = known[code]  # a missing value has the code -1, the last
    refuse_rows(read == unknown, values, must, way_out)
    return read


def _flag(
    values: pd.Series,
    way_out: str = (
        "In a long table, what was chosen is a flag for each row. If the column names the items "
        "chosen, the table is wide: list the columns of the items shown, or the alternatives."
    ),
) -> NDArray[np.bool_]:
    """Read a column of flags."""
    must = "A flag must be 1 or 0, True or False, yes or no, or 'x' or empty"
    return _coded(values, _FLAGS, must, way_out) == 1


def _flags(shown: Shown, column: Any) -> NDArray[np.int64]:
    """Read flags of items that matter; -1 where the question was not asked."""
    values = shown.frame[column]
    must = "A flag of an item that matters must be 1 or 0, True or False, or yes or no"
    flags = _coded(values, _FLAGS, must, "Leave it empty if it was not asked.")
    return np.where(_is_empty(values), -1, flags)


def _is_empty(values: pd.Series) -> NDArray[np.bool_]:
    return (values.isna() | (values.astype(object) == "")).to_numpy()
