"""Pair entries: read and check columns of outcomes and matrices of wins for `Pairs`."""

import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.data.read.aligned import aligned
from bayesrank.data.read.columns import (
    amounts,
    finite_numbers,
    float_array,
    numbers,
    refuse_rows,
)
from bayesrank.data.read.frames import indexed_frame
from bayesrank.data.read.labels import (
    axis_index,
    encode,
    factorize,
    label_repr,
    looked_up,
    quoted,
    require_one_each,
    row_name,
)

OUTCOMES = ("first", "second", "tie")
"""Outcomes of a pair, in the order of their codes 0, 1, 2."""

BOTH_BAD = "both bad"
"""A fourth outcome, if the data tell it from a tie: neither item is good enough."""

_NOT_WHOLE = (
    "A count is the number of times that an outcome occurred. For evidence weights, use weight= "
    "of from_frame. To count a tie as half a win, use Pairs.split_ties."
)

STATED, STATED_WEIGHT, STATED_VOTE = "stated outcome", "stated weight", "stated vote"
"""Columns of the outcomes of a stated probability."""

PROBABILITY = "A probability must be between 0 and 1"
PREFERENCE = (
    "It is the probability that the first item is better. Divide percentages by 100. Of a "
    "preference from 1 (first) to 2 (second), write 2 minus the preference into the column."
)

MOST_EDGES = 10  # between grades of margins, on each side
BEYOND = 0.01  # share of the margins beyond the last edge

SWAP, ONE_ORDER = "swap", "one order only"
"""Name of the group of votes on the same pair in both orders, and its label of other judges."""

BOUNDARY = "boundary"
"""Name of the axis of boundaries between grades."""

EQUAL_WORDS = frozenset(
    ("tie", "ties", "tied", "draw", "drawn", "equal", "even", "same", "neither", "=", "a=b")
)
"""Grades that say that two items are equal, in lower case and without blanks."""

MatchFeatures = Sequence[str] | Mapping[str, str | tuple[str, str]]
"""Columns with a difference between the items, or names of features with one or two columns."""

# Tables


def two_items(
    frame: pd.DataFrame, first: str, second: str, items: Iterable[Hashable] | None
) -> tuple[NDArray[Any], NDArray[Any], pd.Index]:
    """Encode two columns of items on one axis; raise an error if a row compares equal items."""
    code_one, named_one = factorize(frame[first], first)
    code_other, named_other = factorize(frame[second], second)
    # Only the distinct labels of each column, so that labels of rows are hashed only once.
    named = pd.concat([pd.Series(named_one), pd.Series(named_other)], ignore_index=True)
    position, axis = encode(named, items, "item")
    one = looked_up(position[: len(named_one)], code_one, out=code_one)
    other = looked_up(position[len(named_one) :], code_other, out=code_other)
    check_differ(frame, first, second, one, other, axis)
    return one, other, axis


def check_differ(
    frame: pd.DataFrame,
    first: str,
    second: str,
    one: NDArray[Any],
    other: NDArray[Any],
    axis: pd.Index,
) -> None:
    """Raise an error if a row compares an item with itself."""
    if (one == other).any():
        row = int((one == other).argmax())
        raise ValueError(
            f"Columns {first!r} and {second!r} compare item {label_repr(axis[one[row]])} with "
            f"itself in {row_name(frame.index, row)}. Correct the row, or remove it."
        )


def check_grades(grades: Iterable[Hashable]) -> pd.Index:
    """Return the grades as an axis, best for the first item first; raise if they are unclear."""
    if isinstance(grades, str):
        raise ValueError(
            f"`grades` is the text {grades!r}; give a list, such as ['A>>B', 'A>B', 'A=B', 'B>A', "
            "'B>>A']. The best grade for the first item comes first."
        )
    listed = list(grades)
    if len(listed) < 2:
        raise ValueError(f"`grades` has {len(listed)} grades; list at least two: {listed!r}.")
    for n, grade in enumerate(listed):
        if grade in listed[:n]:
            raise ValueError(
                f"`grades` contains {label_repr(grade)} twice. List each grade once, from the best "
                "for the first item to the best for the second item."
            )
    middle = (len(listed) - 1) / 2
    for n, grade in enumerate(listed):
        if "".join(str(grade).casefold().split()) in EQUAL_WORDS and n != middle:
            raise ValueError(
                f"The grade {label_repr(grade)} says that the items are equal, but it is number "
                f"{n + 1} of {len(listed)}. It must be in the middle, with as many grades before "
                "as after it. List all possible grades, including grades that nobody gave. Or "
                "rename it in the table."
            )
    return pd.Index(listed, tupleize_cols=False)


def check_both_bad(label: Hashable | None, grades: Any, otherwise: Mapping[str, Any]) -> None:
    """Raise if a label of both bad has another meaning, or other arguments tell the outcomes."""
    if label is None:
        return
    if label in OUTCOMES:
        raise ValueError(
            f"`both_bad` is {label_repr(label)}, which already is an outcome. Give another label "
            "to the votes that both items are bad."
        )
    for name, given in ({"grades": grades} | dict(otherwise)).items():
        if given is not None:
            raise ValueError(
                "`both_bad` is an outcome in addition to first, second and tie, but "
                f"`{name}` tells other outcomes. Leave `both_bad` or `{name}` out."
            )


def who_won(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sum counts of grades to wins of the first item, wins of the second, and ties."""
    n = counts.shape[1]
    ties = counts[:, n // 2] if n % 2 else np.zeros(len(counts), dtype=np.int64)
    first, second = counts[:, : n // 2].sum(axis=1), counts[:, (n + 1) // 2 :].sum(axis=1)
    return np.stack([first, second, ties], axis=1)


def results(
    frame: pd.DataFrame, column: str, outcomes: Collection[Any] = OUTCOMES
) -> NDArray[np.int8]:
    """Read a column of outcomes, and return their codes."""
    values = frame[column]
    categories: Any = values.array
    try:
        if isinstance(values.dtype, pd.CategoricalDtype):
            code, distinct = categories.codes, categories.categories
        else:
            code, distinct = pd.factorize(values)
        known = pd.Index(outcomes, tupleize_cols=False).get_indexer(
            pd.Index(distinct, tupleize_cols=False)
        )
        # missing values have the code -1
        result = looked_up(np.append(known, -1).astype(np.int8), code)
    except TypeError:  # a value that cannot be hashed is not an outcome
        fine = [isinstance(value, str) and value in outcomes for value in frame[column]]
        result = np.array(fine).astype(np.int8) - 1
    way_out = f"Translate the column: frame[{column!r}].map({{...}})."
    if isinstance(outcomes, pd.Index):
        way_out = f"Add it to `grades` at its place. Or translate the column as a table. {way_out}"
    must = f"An outcome must be one of {quoted(outcomes, 20)}"
    refuse_rows(result < 0, values, must, way_out)
    return result


def read_margins(
    frame: pd.DataFrame, column: str, edges: Iterable[float] | None
) -> tuple[NDArray[np.float64], pd.Index, NDArray[np.int8]]:
    """Read margins of scores as grades.

    Returns the ascending edges between the grades, the names of the grades, and the grade of each
    row. The best grade for the first item is the first.
    """
    margin = finite_numbers(frame, column, "margin").astype(np.float64)
    sizes = np.unique(np.abs(margin))
    upper = _default_edges(np.abs(margin), sizes) if edges is None else _check_edges(edges)
    ends = np.unique(np.concatenate([-upper, upper]))  # 0 only once
    on_edge = np.isin(margin, ends)
    must = f"A margin must not be an edge between two grades, {', '.join(f'{x:g}' for x in ends)}"
    refuse_rows(on_edge, frame[column], must, "Choose edges between the margins.")
    low, high = np.append(-np.inf, ends), np.append(ends, np.inf)
    signed = np.concatenate([-sizes[::-1], sizes])
    names = [_name_of_margins(a, b, signed) for a, b in zip(low, high, strict=True)]
    result = len(ends) - np.searchsorted(ends, margin)
    return ends, pd.Index(names[::-1]), result.astype(np.int8)


def _default_edges(size: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Choose edges between the sizes of margins, at most `MOST_EDGES`; 0 if nothing ties."""
    between = (sizes[1:] + sizes[:-1]) / 2
    if sizes[0] > 0:
        between = np.append(0.0, between)
    beyond = 1.0 - np.searchsorted(np.sort(size), between) / len(size)
    few = beyond < BEYOND
    few[:1] = False  # the edge of ties, or between the two sides, stays
    between, beyond = between[~few], beyond[~few]
    if len(between) > MOST_EDGES:
        wanted = np.linspace(beyond[0], beyond[-1], MOST_EDGES)
        between = between[np.unique([np.abs(beyond - x).argmin() for x in wanted])]
    return between


def _check_edges(edges: Iterable[float]) -> NDArray[np.float64]:
    """Return the edges on the side of the first item, or raise."""
    upper = np.asarray([*edges], dtype=np.float64)
    rising = (np.diff(upper) > 0).all() and (upper >= 0).all()
    if not len(upper) or not np.isfinite(upper).all() or not rising:
        raise ValueError(
            f"`edges` is {upper.tolist()}; it must be ascending numbers, 0 or more, such as "
            "[0.5, 1.5, 2.5]."
        )
    return upper


def _name_of_margins(low: float, high: float, known: NDArray[np.float64]) -> str:
    """Name the margins between two edges by those that occur there, or by the edges."""
    inside = known[(known > low) & (known < high)]
    if low < 0 < high:
        return "0" if not inside.any() else f"{low:+g} to {high:+g}"
    if not np.isfinite(high):
        return f"{inside.min() if len(inside) else low:+g} or more"
    if not np.isfinite(low):
        return f"{inside.max() if len(inside) else high:+g} or less"
    if not len(inside):
        return f"between {low:+g} and {high:+g}"
    first, last = (inside.min(), inside.max()) if low >= 0 else (inside.max(), inside.min())
    return f"{first:+g}" if first == last else f"{first:+g} to {last:+g}"


def stated_outcomes(frame: pd.DataFrame, column: str, weight: str | None) -> pd.DataFrame:
    """Write each stated probability as two outcomes with weights, in the columns `STATED`.

    The more probable outcome is the vote. Outcomes with the probability 0 are left out.
    """
    p = finite_numbers(frame, column, "probability").astype(np.float64)
    refuse_rows((p < 0) | (p > 1), frame[column], PROBABILITY, PREFERENCE)
    evidence = np.ones(len(p)) if weight is None else amounts(frame, weight, "weight")
    row = np.repeat(np.arange(len(p)), 2)
    side = np.tile([0, 1], len(p))
    share = np.where(side == 0, p[row], 1.0 - p[row])
    stated = {
        STATED: np.array(OUTCOMES)[side],
        STATED_WEIGHT: share * evidence[row],
        STATED_VOTE: (side == (p < 0.5)[row]).astype(np.int64),
    }
    return frame.iloc[row].assign(**stated)[share > 0]


def whole_counts(
    frame: pd.DataFrame, column: str, way_out: str = _NOT_WHOLE
) -> NDArray[np.float64]:
    """Read a column of whole numbers >= 0."""
    times = amounts(frame, column)
    refuse_rows(times % 1 != 0, frame[column], "A count must be a whole number", way_out)
    return times


def check_exact(times: NDArray[np.float64], where: str) -> None:
    """Check that a float holds the sum of the counts exactly."""
    if times.sum() > 2.0**53:
        raise ValueError(
            f"The counts in {where} sum to {times.sum():g}; the largest supported sum is 2^53."
        )


def swapped_votes(
    sides: tuple[NDArray[Any], NDArray[Any], pd.Index],
    judges: tuple[NDArray[Any], pd.Index],
    prompts: tuple[NDArray[Any], pd.Index],
) -> tuple[NDArray[np.int64], pd.Index]:
    """Find votes of a judge on the same two items for the same prompt, in both orders.

    Parameters
    ----------
    sides : (array, array, Index)
        Positions of the first and second item of each vote, and the items.
    judges, prompts : (array, Index)
        Position of the judge and the prompt of each vote, and their labels.

    Returns
    -------
    code, labels
        The group of each vote. All votes of a judge on two items for a prompt have one label. Votes
        of judges who saw nothing in both orders have the label `ONE_ORDER`.

    Raises
    ------
    ValueError
        If no judge saw a pair in both orders for a prompt.
    """
    one, other, items = sides
    low, high = np.minimum(one, other), np.maximum(one, other)
    (who, judge_labels), (what, prompt_labels) = judges, prompts
    row, unit = distinct_rows(
        [
            (who, len(judge_labels)),
            (what, len(prompt_labels)),
            (low, len(items)),
            (high, len(items)),
        ]
    )
    both = np.zeros((len(row), 2), dtype=bool)
    both[unit, (one > other).astype(np.int8)] = True
    swaps = np.zeros(len(judge_labels), dtype=bool)
    swaps[who[row][both.all(axis=1)]] = True
    if not swaps.any():
        raise ValueError(
            "`prompt` joins votes on the same two items and prompt in both orders, but no judge "
            f"saw any. Judges saw all {len(row):,} combinations of two items and a prompt in one "
            "order only. Leave `prompt` out."
        )
    joined = swaps[who[row]]
    kept = row[joined]
    text = pd.Series(_text_of(prompt_labels, what[kept])) + ": "
    text += _text_of(items, low[kept]) + " - " + _text_of(items, high[kept])
    if len(judge_labels) > 1:
        text = _text_of(judge_labels, who[kept]) + ": " + text
    if text.duplicated().any():  # labels with colons or dashes
        text += " (" + pd.Series(np.arange(len(text))).astype(str) + ")"
    labels = [*text] if joined.all() else [*text, ONE_ORDER]
    place = np.full(len(row), len(kept))
    place[joined] = np.arange(len(kept))
    return place[unit], pd.Index(labels)


def _text_of(axis: pd.Index, idx: NDArray[Any]) -> Any:
    """Return labels as a series of text."""
    return pd.Series(pd.Index(axis.map(str)).take(idx)).reset_index(drop=True)


def feature_columns(features: MatchFeatures, taken: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the one or two columns of each feature of matches, by its name."""
    if isinstance(features, str):
        raise ValueError(f"`features` is {features!r}; give a list of columns, [{features!r}].")
    named = features if isinstance(features, Mapping) else {name: name for name in features}
    if len(named) < len(features):
        raise ValueError(f"`features` names a column twice: {quoted(features)}.")
    if named and "feature" in taken:
        raise ValueError("`by` cannot name a column 'feature' if there are features. Rename it.")
    columns = {}
    for name, source in named.items():
        sides = (source,) if isinstance(source, str) else tuple(source)
        if len(sides) not in (1, 2) or not all(isinstance(x, str) for x in (name, *sides)):
            raise ValueError(
                f"The feature {label_repr(name)} must be one column with a difference, or two "
                f"columns, for the first and the second item; got {label_repr(source)}."
            )
        if name in taken:
            raise ValueError(
                f"A feature cannot be called {name!r}: pairs already have an axis or a column of "
                f"that name. Give it another name: features={{'another': {source!r}}}."
            )
        columns[name] = sides
    return columns


def read_features(frame: pd.DataFrame, columns: Mapping[str, Sequence[str]]) -> NDArray[np.float64]:
    """Read features of matches: how far the first item is ahead, (n_rows, n_features)."""
    ahead = np.empty((len(frame), len(columns)))
    for k, (name, sides) in enumerate(columns.items()):
        one, *other = (
            finite_numbers(frame, side, f"feature {name!r}").astype(np.float64) for side in sides
        )
        ahead[:, k] = one - other[0] if other else one
    return ahead


def distinct_rows(
    codes: Sequence[tuple[NDArray[Any], int]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sort the distinct combinations of codes.

    Return one row of each combination, and the combination of each row.
    """
    key, radix = codes[0][0].astype(np.int64), codes[0][1]
    for code, size in codes[1:]:
        if radix > np.iinfo(np.int64).max // size:  # would overflow: number the keys so far
            distinct, key = np.unique(key, return_inverse=True)
            radix = len(distinct)
        key *= size
        key += code
        radix *= size
    n = len(key)
    if radix <= 4 * n:  # counting is faster than sorting
        occurs = np.bincount(key, minlength=radix) > 0
        pair = (np.cumsum(occurs) - 1)[key]
        n_pairs = int(np.count_nonzero(occurs))
    else:
        distinct, pair = np.unique(key, return_inverse=True)
        n_pairs = len(distinct)
    row = np.empty(n_pairs, dtype=np.int64)
    row[pair] = np.arange(n)
    return row, pair


# Matrices


def square_axis(
    table: Any,
    items: Iterable[Hashable] | None,
    name: str,
    dims: Collection[int] = (2,),
) -> pd.Index:
    """Return the item axis of a square table, or of one table per ranker."""
    table = indexed_frame(table, name)
    shape = table.shape if isinstance(table, pd.DataFrame) else float_array(table, name).shape
    if len(shape) not in dims or shape[-1] != shape[-2] or not math.prod(shape):
        several = " or (n_rankers, n_items, n_items)" if 3 in dims else ""
        raise ValueError(f"`{name}` must have shape (n_items, n_items){several}; got {shape}.")
    if isinstance(table, pd.DataFrame):
        if items is not None:
            raise ValueError(
                f"`items` names the rows of an array, but `{name}` is a DataFrame, whose index "
                "names them. Remove `items`."
            )
        return axis_index(table.index, f"{name}.index")
    axis = axis_index(range(shape[-1]) if items is None else items, "items")
    require_one_each(axis, shape[-1], "`items`", "item", where=f" in `{name}`")
    return axis


def square_counts(
    table: Any, name: str, axis: pd.Index, way_out: str = _NOT_WHOLE
) -> NDArray[np.float64]:
    """Read a square table of counts, or one table per ranker; the diagonal may be empty."""
    table = indexed_frame(table, name)
    if isinstance(table, pd.DataFrame):
        read = [numbers(table.iloc[:, k], "count") for k in range(table.shape[1])]
        table = pd.DataFrame(np.column_stack(read), table.index, table.columns)
        must = f"Rows and columns must have the same items, {quoted(axis)}."
        rows = aligned(table, {"item": axis}, f"{name}.index", must)
        columns = pd.DataFrame(rows.T, index=table.columns)
        table = aligned(columns, {"item": axis}, f"{name}.columns", must).T
    cells = float_array(table, name)
    n = len(axis)
    if cells.shape[-2:] != (n, n):
        raise ValueError(f"`{name}` must have the shape of `wins`, ({n}, {n}); got {cells.shape}.")
    diagonal = np.eye(n, dtype=bool)
    cells[diagonal & np.isnan(cells)] = 0.0
    for broken, must, why in (
        (~np.isfinite(cells), "must be finite", " Write 0 if the items never met."),
        (diagonal & (cells != 0), "on the diagonal must be 0", " Set the diagonal to 0."),
        (cells < 0, "must not be negative", ""),
        (cells != np.rint(cells), "must be a whole number", f" {way_out}"),
    ):
        if broken.any():
            cell = tuple(np.argwhere(broken)[0])
            raise ValueError(
                f"A count {must}; `{name}` has {cells[cell]:g} in the row of "
                f"{label_repr(axis[cell[-2]])} and the column of {label_repr(axis[cell[-1]])}.{why}"
            )
    return cells
