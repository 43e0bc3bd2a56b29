"""Choice entries: best-worst tasks and choices, read from long and wide tables for `Rankings`.

A task shows items to one respondent, who chooses the best, the worst, or both. It becomes the weak
order {best} > {middle} > {worst}, in which the order of the middle is unknown. A further question
adds one *threshold* item to a task: items that matter are above it, and the others are below.

A wide table is first laid out as a long one, whose index tells the row that was given.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.data.read.attributes import Attributes, Coding
from bayesrank.data.read.columns import finite_numbers, refuse_rows, require_columns
from bayesrank.data.read.entries import Columns, Covariates, Entries, long_entries, rankings_in
from bayesrank.data.read.frames import Table, as_frame, indexed_frame
from bayesrank.data.read.labels import LINE, ROW, Labels, axis_index, counted, encode, factorize
from bayesrank.data.read.streams import Source, table_of

Missing = Literal["raise", "drop"]
THRESHOLD = "threshold"
"""Label of the item that answers about the threshold add."""

# What cells mean, in lower case. The empty word is also the meaning of an empty cell.
_FLAGS = dict.fromkeys(("1", "x", "true", "t", "yes", "y"), 1)
_FLAGS |= dict.fromkeys(("0", "", "false", "f", "no", "n"), 0)
_CODES = dict.fromkeys(("1", "+1", "best", "b", "most"), 1)
_CODES |= dict.fromkeys(("-1", "worst", "w", "least"), -1) | dict.fromkeys(("0", ""), 0)
_MATTERS = {word: 4 - 2 * flag for word, flag in _FLAGS.items()}
_MATTERS |= {"": 0, "all": 1, "none": 2, "some": 3, "false": 4}

# The blocks of a task, from best to worst; the threshold is first, last or in the middle.
FIRST, BEST, MIDDLE, WORST, LAST, ABSENT = range(6)
PLACES = np.array([ABSENT, LAST, FIRST, MIDDLE, MIDDLE])  # of the threshold, by code of the answer


class Answers(NamedTuple):
    """Columns of the answers, and how to read them; see `Rankings.from_best_worst`."""

    best: str | None
    worst: str | None = None
    codes: str | None = None
    best_code: Hashable = None
    worst_code: Hashable = None
    threshold: str | None = None
    several: bool = False
    positions: bool = False
    missing: Missing = "raise"


@dataclass(frozen=True)
class Shown:
    """The items shown, one per row, and which of them were chosen."""

    frame: pd.DataFrame  # items, weights and features by row; the index tells the row given
    columns: Columns
    best: NDArray[np.bool_]
    worst: NDArray[np.bool_]

    @cached_property
    def task(self) -> NDArray[Any]:
        """The task of each row."""
        return rankings_in(self.frame, self.columns.ranker, self.columns.ranking)[0]

    def in_task(self, flags: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Count, for each row, the rows of its task that have a flag."""
        return np.bincount(self.task, flags)[self.task]

    def take(self, rows: NDArray[np.bool_]) -> "Shown":
        """Keep some rows, and the tasks that they belong to."""
        return Shown(self.frame[rows], self.columns, self.best[rows], self.worst[rows])

    def refuse(self, broken: NDArray[np.bool_], must: str, way_out: str) -> None:
        """Raise an error if rows are broken, and name the first of them."""
        refuse_rows(broken, self.frame[self.columns.item], must, way_out)


class Given(NamedTuple):
    """Attributes that become features when the table is read, or None; see `from_choices`."""

    terms: Sequence[str] | Table | None
    coding: Coding
    standardise: bool

    def of(self, shown: Shown) -> Covariates | None:
        """Return features of the rows; refuse attributes that cannot matter to a choice."""
        if self.terms is None:
            return None
        frame, item = shown.frame, shown.columns.item
        terms = indexed_frame(self.terms, "attributes")
        if isinstance(terms, pd.DataFrame):
            place, _ = encode(frame[item], terms.index, item)
            frame = terms.iloc[place].set_axis(frame.index)
            terms = [*terms.columns]
        attributes = Attributes.learn(frame, terms, self.coding, standardise=self.standardise)
        coded = attributes.code(frame)
        first = coded.groupby(shown.task).transform("first")
        same = ((coded == first).all() & (coded != 0).any()).to_numpy()
        if same.any():
            name = coded.columns[int(same.argmax())]
            raise ValueError(
                f"The attribute {name!r} is the same for all items of every task, so it cannot "
                f"matter to a choice. Leave it out, or give each item a coefficient: "
                f"'{item}:{name}'."
            )
        return Covariates(coded.to_numpy(), coded.columns, attributes)


def _table(
    source: Source,
    columns: Columns,
    cells: Sequence[str | None],
    given: Given,
    rank: str | None = None,
    *,
    wide: bool = False,
) -> pd.DataFrame:
    """Read the columns in use, and number the rows."""
    source = as_frame(source)
    if (wide or given.terms is not None) and not isinstance(source, pd.DataFrame):
        raise TypeError(
            f"With attributes, or one row per choice, the table must be in memory, with columns of "
            f"numbers or levels; got {type(source).__name__}. Read the file with pandas first."
        )
    labels = [columns.ranker or None, columns.ranking, *columns.groups, *cells]
    frame = table_of(source, "tasks", labels=labels, numbers=[columns.weight, rank])
    index = frame.index if frame.index.name == LINE else pd.RangeIndex(len(frame), name=ROW)
    return frame.set_axis(index)


# Best-worst tasks


def from_best_worst(
    source: Source, columns: Columns, answers: Answers, items: Labels | None, given: Given
) -> Entries:
    """Read one row per item shown; see `Rankings.from_best_worst`."""
    best, worst, codes, best_code, worst_code, threshold, *_ = answers
    if (codes is None) == (best is worst is None):
        raise ValueError(
            "Name the columns of the answers: give codes=, which has codes for both, or best= and "
            "worst=."
        )
    if codes is None and not best_code is worst_code is None:
        raise ValueError(
            "`best_code` and `worst_code` are codes in the column codes=. Name this column, or "
            "leave them out."
        )
    if not isinstance(columns.item, str):
        raise ValueError(
            f"`item` must be the column of the items shown, one per row; got {columns.item!r}. For "
            f"a table with one row per task, use Rankings.from_best_worst_wide."
        )
    frame = _table(source, columns, [columns.item, best, worst, codes, threshold], given)
    return _tasks(_long_tasks(frame, columns, answers), answers, items, given)


def from_best_worst_wide(
    source: Source,
    columns: Columns,
    cells: Sequence[str],
    answers: Answers,
    items: Labels | None,
    given: Given,
) -> Entries:
    """Read one row per task; see `Rankings.from_best_worst_wide`."""
    best, worst = answers[:2]
    if best is worst is None:
        raise ValueError("Name the columns of the answers: give best=, worst=, or both.")
    if isinstance(cells, str) or len(cells) < 2:
        raise ValueError(
            f"`items_shown` must list two or more columns; got {cells!r}. For a table with one row "
            f"per item shown, use Rankings.from_best_worst."
        )
    frame = _table(source, columns, [*cells, best, worst, answers.threshold], given)
    return _tasks(_wide_tasks(frame, columns, [*cells], answers), answers, items, given)


def _tasks(shown: Shown, answers: Answers, items: Labels | None, given: Given) -> Entries:
    """Check tasks, add the threshold, and read weights, groups and attributes."""
    alone = shown.in_task(np.ones(len(shown.frame), dtype=bool)) < 2
    shown.refuse(alone, "A task must show at least two items", "Remove the task.")
    way_out = "If respondents could choose several, give several=True."
    _refuse_conflicts(shown, several=answers.several, way_out=way_out)
    column = answers.threshold
    place = np.full(len(shown.frame), ABSENT) if column is None else _threshold(shown, column)
    answers_given = shown.best | shown.worst | (place != ABSENT)
    answered = _answered(shown, answers_given, answers.missing)
    shown, place = shown.take(answered), place[answered]
    cost = np.where(shown.best, BEST, np.where(shown.worst, WORST, MIDDLE))
    features = given.of(shown)
    if column is not None:
        return _with_threshold(shown, cost, place, items, features)
    return long_entries(shown.frame, shown.columns, cost, items, features)


def _long_tasks(frame: pd.DataFrame, columns: Columns, answers: Answers) -> Shown:
    """Read one row per item shown, with flags or codes."""
    if answers.codes is not None:
        code = _codes(frame, answers)
        return Shown(frame, columns, code == 1, code == -1)
    must = "A flag must be 1 or 0, True or False, yes or no, or 'x' or empty"
    way_out = (
        "If the column names the items chosen, the table is wide: use "
        "Rankings.from_best_worst_wide or Rankings.from_choices_wide."
    )
    flags = [_words(frame, name, _FLAGS, must, way_out) == 1 for name in answers[:2]]
    return Shown(frame, columns, *flags)


def _codes(frame: pd.DataFrame, answers: Answers) -> NDArray[np.int64]:
    """Read a column of codes: 1 for the best item, -1 for the worst, and 0 for others."""
    best, worst = (None if x is None else _word(x) for x in (answers.best_code, answers.worst_code))
    if best is worst is None:
        must = "A code must be 'best', 'worst' or empty, or 1, -1 or 0"
        way_out = "Name other codes with `best_code` and `worst_code`."
        return _words(frame, answers.codes, _CODES, must, way_out)
    if best == worst or "" in (best, worst):
        raise ValueError(
            f"`best_code` and `worst_code` must differ and not be empty; got "
            f"{answers.best_code!r} and {answers.worst_code!r}."
        )
    codes = {"": 0, "0": 0} | {x: n for x, n in ((best, 1), (worst, -1)) if x is not None}
    named = " or ".join(f"{x} ({code!r})" for x, code in (("best", best), ("worst", worst)) if code)
    must = f"A code must be {named}, 0 or empty"
    return _words(frame, answers.codes, codes, must, "Correct the row, or name another code.")


def _wide_tasks(
    frame: pd.DataFrame, columns: Columns, cells: Sequence[str], answers: Answers
) -> Shown:
    """Read one row per task, with columns of the items shown, and of the best and the worst."""
    columns = columns._replace(item=_new_name(frame, "item shown"))
    table = frame[cells].to_numpy(object)
    line, slot = np.nonzero(pd.notna(table))
    items = pd.Series(table[line, slot]).infer_objects()
    if items.dtype.kind == "f" and (items % 1 == 0).all():  # empty cells made floats of integers
        items = items.astype(np.int64)
    return _laid_out(frame, columns, answers, line, slot, {columns.item: items.to_numpy()})


# Wide tables


def _laid_out(
    frame: pd.DataFrame,
    columns: Columns,
    answers: Answers,
    line: NDArray[np.int64],
    slot: NDArray[np.int64],
    more: Mapping[str, Any],
) -> Shown:
    """Repeat rows of a wide table, and add columns, such as the items; each row becomes a task."""
    row = _new_name(frame, ROW)
    frame = frame.assign(**{row: frame.index})
    if not columns.ranker:
        columns = columns._replace(ranker=row)
    elif columns.ranking is None and frame[columns.ranker].duplicated().any():
        columns = columns._replace(ranking=row)
    task = pd.Index(rankings_in(frame, columns.ranker, columns.ranking)[0])
    way_out = "Give each task of a respondent its own label, or leave out the column of tasks."
    name = columns.ranking or columns.ranker
    refuse_rows(task.duplicated(), frame[name], "A task must have one row", way_out)
    frame = frame.iloc[line].assign(**more)
    flags = []
    for answer in answers[:2]:
        if answer is None:
            flags.append(np.zeros(len(frame), dtype=bool))
            continue
        chosen = frame[answer].astype(object)
        if answers.positions:
            same = pd.to_numeric(chosen, errors="coerce") == slot + 1
        else:
            same = chosen.eq(frame[columns.item].astype(object))
        unknown = ~(chosen.isna() | (chosen == "") | same.groupby(line).transform("any"))
        must = "The item chosen must be one of those shown"
        way_out = "Correct the row"
        if answers.positions:
            way_out += ", or give positions=False if the column has labels."
        elif pd.to_numeric(chosen[unknown], errors="coerce").notna().all():
            way_out += ", or give positions=True if the column has positions 1, 2, ...."
        else:
            way_out += "."
        refuse_rows(unknown.to_numpy(), frame[answer], must, way_out)
        flags.append(same.to_numpy())
    return Shown(frame, columns, *flags)


def _new_name(frame: pd.DataFrame, name: str) -> str:
    """Return a name that no column has."""
    while name in frame.columns:
        name += "_"
    return name


# Checks of tasks


def _refuse_conflicts(shown: Shown, *, several: bool, way_out: str) -> None:
    """Refuse repeated items, an item that is best and worst, and several best or worst items."""
    item, _ = factorize(shown.frame[shown.columns.item], shown.columns.item)
    again = pd.DataFrame({"task": shown.task, "item": item}).duplicated().to_numpy()
    fix = "Correct the row, or name the columns that identify tasks and respondents."
    shown.refuse(again, "A task must show an item once", fix)
    shown.refuse(shown.best & shown.worst, "The best and the worst item must differ", fix)
    if several:
        return
    for flags, name in ((shown.best, "best"), (shown.worst, "worst")):
        another = flags & pd.Series(shown.task).where(flags).duplicated().to_numpy()
        shown.refuse(another, f"A task must not have another {name} item", way_out)


def _answered(shown: Shown, answers: NDArray[np.bool_], missing: Missing) -> NDArray[np.bool_]:
    """Return the rows of tasks in which something was chosen; refuse others, or drop them."""
    if missing not in ("raise", "drop"):
        raise ValueError(f"`missing` must be 'raise' or 'drop'; got {missing!r}.")
    answered = shown.in_task(answers) > 0
    if missing == "raise" or not answered.any():
        n = len(np.unique(shown.task[~answered]))
        must = f"In each task an item must be chosen, but not in {counted(n, 'task')}"
        shown.refuse(~answered, must, "Give missing='drop' to leave such tasks out.")
    return answered


# The threshold


def _threshold(shown: Shown, column: str) -> NDArray[np.int64]:
    """Return the place of the threshold: last if all items of a task matter, first if none does."""
    must = "A threshold must be 'all', 'some' or 'none', or tell whether none of the items matters"
    blank = "Leave it empty if it was not asked."
    answer = _words(shown.frame, column, _MATTERS, must, blank)
    first = pd.Series(answer).groupby(shown.task).transform("first")
    has_best, has_worst = (shown.in_task(x) > 0 for x in (shown.best, shown.worst))
    fix = "Answer 'all' or 'none', or leave the threshold of the task empty."
    must = "A threshold must be the same in all rows of a task"
    shown.refuse((first != answer).to_numpy(), must, fix)
    must = "The answer 'some' needs a best item, above the threshold, and a worst, below it"
    shown.refuse((answer == _MATTERS["some"]) & ~(has_best & has_worst), must, fix)
    must = (
        "The answer that some item matters needs a best item and no worst item, because it does "
        "not tell whether the worst one matters"
    )
    shown.refuse((answer == _MATTERS["false"]) & (has_worst | ~has_best), must, fix)
    return PLACES[answer]


def _with_threshold(
    shown: Shown,
    cost: NDArray[np.int64],
    place: NDArray[np.int64],
    items: Labels | None,
    features: Covariates | None,
) -> Entries:
    """Add the threshold, as an item after the others, to the tasks that were asked about it."""
    frame, item = shown.frame, shown.columns.item
    must = f"The threshold has the label {THRESHOLD!r}, which no item shown may have"
    shown.refuse((frame[item] == THRESHOLD).to_numpy(), must, "Rename this item.")
    _, axis = encode(frame[item], items, item)
    if THRESHOLD not in axis:
        axis = axis_index([*axis, THRESHOLD], "items")
    first = (place != ABSENT) & ~pd.Index(shown.task).duplicated()
    rows = pd.concat([frame, frame[first].assign(**{item: THRESHOLD})])
    if features is not None:  # a further feature marks the threshold
        values = np.pad(features.values, ((0, first.sum()), (0, 1)))
        values[len(frame) :, -1] = 1.0
        names = None if features.names is None else features.names.append(pd.Index([THRESHOLD]))
        features = features._replace(values=values, names=names)
    cost = np.append(cost, place[first])
    return long_entries(rows, shown.columns, cost, axis, features)


# Choices


class Wide(NamedTuple):
    """The columns of a wide table of choices; see `Rankings.from_choices_wide`."""

    alternatives: Sequence[Any]
    varying: Sequence[str]
    naming: str


class Offered(NamedTuple):
    """Columns of the ranks, instead of the answers, and of the alternatives available."""

    rank: str | None
    available: str | None


def from_choices(
    source: Source,
    columns: Columns,
    answers: Answers,
    offered: Offered,
    items: Labels | None,
    given: Given,
) -> Entries:
    """Read one row per alternative; see `Rankings.from_choices`."""
    _chosen_or_ranked(answers, offered)
    if not columns.ranker and columns.ranking is None:
        raise ValueError(
            "Name the column that identifies choices, task=, or the column of respondents, if each "
            "made one choice. For a table with one row per choice, use Rankings.from_choices_wide."
        )
    columns = _own_ranker(columns)
    cells = [columns.item, answers.best, offered.available]
    frame = _table(source, columns, cells, given, offered.rank)
    return _choices(_long_tasks(frame, columns, answers), answers, offered, items, given)


def from_choices_wide(
    source: Source,
    wide: Wide,
    columns: Columns,
    answers: Answers,
    offered: Offered,
    items: Labels | None,
    given: Given,
) -> Entries:
    """Read one row per choice; see `Rankings.from_choices_wide`."""
    _chosen_or_ranked(answers, offered)
    columns = _own_ranker(columns)
    cells = [x for x in (answers.best, offered.available) if x not in wide.varying]
    frame = _table(source, columns, cells, given, wide=True)
    return _choices(_wide_choices(frame, wide, columns, answers), answers, offered, items, given)


def _chosen_or_ranked(answers: Answers, offered: Offered) -> None:
    """Check that either the alternative chosen is given, or the ranks."""
    if (answers.best is None) == (offered.rank is None):
        raise ValueError("Give either chosen=, the alternative chosen, or rank=, their ranks.")


def _own_ranker(columns: Columns) -> Columns:
    """Make each choice its own ranker, unless respondents are named."""
    if columns.ranker:
        return columns
    return columns._replace(ranker=columns.ranking or "", ranking=None)


def _choices(
    shown: Shown, answers: Answers, offered: Offered, items: Labels | None, given: Given
) -> Entries:
    """Check choices, leave out what was not available, and read the rest."""
    way_out = "Correct the row, or read choices of several with from_best_worst(several=True)."
    _refuse_conflicts(shown, several=False, way_out=way_out)
    if offered.available is not None:
        must = "A flag of availability must be 1 or 0, True or False, or yes or no"
        flags = _words(shown.frame, offered.available, _FLAGS, must, "Correct it.") == 1
        must = "The alternative chosen must be available"
        shown.refuse(shown.best & ~flags, must, "Correct the row.")
        shown = shown.take(flags)
    if offered.rank is None:
        shown = shown.take(_answered(shown, shown.best, answers.missing))
        cost = np.where(shown.best, BEST, MIDDLE)
    else:
        cost = finite_numbers(shown.frame, offered.rank, "rank")
    return long_entries(shown.frame, shown.columns, cost, items, given.of(shown))


def _wide_choices(frame: pd.DataFrame, wide: Wide, columns: Columns, answers: Answers) -> Shown:
    """Read one row per choice, with a column for each attribute of each alternative."""
    axis = axis_index(wide.alternatives, "alternatives")
    if len(axis) < 2 or columns.item in frame.columns:
        raise ValueError(
            f"A wide table needs two or more `alternatives`; got {len(axis)}. It must not have a "
            f"column {columns.item!r}: give another name for the alternatives, alternative=."
        )
    line, slot = np.divmod(np.arange(len(frame) * len(axis)), len(axis))
    more: dict[str, Any] = {columns.item: pd.Categorical.from_codes(slot, axis)}
    for name in wide.varying:
        cells = [wide.naming.format(attribute=name, alternative=label) for label in axis]
        require_columns(frame, cells)
        types = frame.dtypes[cells]
        if isinstance(types.iloc[0], pd.CategoricalDtype) and (types == types.iloc[0]).all():
            codes = np.column_stack([frame[cell].cat.codes for cell in cells]).ravel()
            more[name] = pd.Categorical.from_codes(codes, dtype=types.iloc[0])
            continue
        more[name] = pd.Series(frame[cells].to_numpy(object).ravel()).infer_objects().to_numpy()
    return _laid_out(frame, columns, answers, line, slot, more)


# Cells


def _words(
    frame: pd.DataFrame, name: str | None, codes: Mapping[str, int], must: str, way_out: str
) -> NDArray[np.int64]:
    """Read a column of words, if there is one; an empty cell has the code of the empty word."""
    if name is None:
        return np.zeros(len(frame), dtype=np.int64)
    code, distinct = pd.factorize(frame[name])
    words = [codes.get(_word(x), -9) for x in distinct]
    read = np.array([*words, codes[""]])[code]  # empty: the last
    refuse_rows(read == -9, frame[name], must, way_out)
    return read


def _word(cell: Any) -> str:
    """Write a cell in lower case; whole numbers have no decimals."""
    return f"{cell:g}" if isinstance(cell, float) else str(cell).strip().lower()
