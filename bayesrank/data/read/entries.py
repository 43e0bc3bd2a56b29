"""Entries: the input of the constructors of `Rankings`, partly checked.

An *entry* is one item in one ranking, with a cost (low is good). Each function converts one input
format to `Entries`; `derive.layout.arrange` checks and sorts them.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bayesrank.data.read.aligned import aligned, has_labels
from bayesrank.data.read.attributes import Attributes
from bayesrank.data.read.columns import (
    finite_numbers,
    float_array,
    is_graded,
    layout,
    numbers,
    require_columns,
    times_given,
    whole_numbers,
)
from bayesrank.data.read.frames import Table, as_frame, indexed_frame, is_arrow_table
from bayesrank.data.read.labels import (
    PAIR_NAMES,
    Group,
    Labels,
    axis_index,
    check_names,
    counted,
    encode,
    factorize,
    label_repr,
    locate,
    plain_index,
    quoted,
    require_one_each,
    row_name,
    sorted_axis,
)
from bayesrank.data.read.streams import Source, table_of

type Features = Table | ArrayLike

_AXES = ("ranking", "ranker", "slot", "feature")
RANKING_NAMES = frozenset({*_AXES, "rank", "ranks", "sizes", "outcomes", *PAIR_NAMES})
"""Names of axes, columns and parts of `Rankings` and their pairs, reserved for groups."""

_BLOCK = (set, frozenset)
_NOT_A_LABEL = (list, tuple, dict, np.ndarray)
_NOT_AN_ORDERING = (str, bytes, set, frozenset, Mapping, pd.DataFrame)


class Covariates(NamedTuple):
    """Features of entries, with optional names, and how they were coded."""

    values: NDArray[np.float64]  # (n_entries, n_features)
    names: pd.Index | None
    attributes: Attributes | None = None


@dataclass(frozen=True)
class Entries:
    """The parts of a collection of rankings, not yet checked."""

    row: NDArray[Any]  # (n_entries,) the ranking
    item: NDArray[Any]  # (n_entries,) position on `items`
    cost: NDArray[Any]  # (n_entries,) low is good
    items: pd.Index
    rankers: pd.Index
    ranker_idx: NDArray[Any]  # (n_rankings,)
    labels: pd.Index | None = None
    count: ArrayLike | None = None
    weight: ArrayLike | None = None
    features: Covariates | None = None
    groups: Mapping[str, Group] = field(default_factory=dict)

    def ranking_labels(self) -> pd.Index:
        """Return the given labels, the labels of rankers that ranked once, or numbers."""
        n = len(self.ranker_idx)
        if self.labels is not None:
            require_one_each(self.labels, n, "`labels`", "ranking")
            return self.labels
        each_once = n == len(self.rankers) == len(np.unique(self.ranker_idx))
        return self.rankers.take(self.ranker_idx) if each_once else pd.RangeIndex(n)


# Arrays and tables


def from_arrays(
    item: ArrayLike,
    ranks: ArrayLike,
    items: Labels,
    rankers: Labels | None,
    ranker_idx: ArrayLike | None,
    count: ArrayLike | None,
    weight: ArrayLike | None,
    labels: Labels | None,
    features: ArrayLike | None,
    feature_names: Labels | None,
) -> Entries:
    """Read padded arrays, with slots in any order."""
    axis = axis_index(items, "items")
    item, ranks = whole_numbers(item, "item"), whole_numbers(ranks, "ranks")
    if ranks.ndim != 2 or item.shape != ranks.shape:
        raise ValueError(
            f"`item` and `ranks` must have the same shape (n_rankings, n_slots); got "
            f"{item.shape} and {ranks.shape}."
        )
    n = len(ranks)
    ranker_axis = axis_index(range(n) if rankers is None else rankers, "rankers")
    if ranker_idx is None:
        more = ", or give the ranker of each with `ranker_idx`"
        require_one_each(ranker_axis, n, "`rankers`", "ranking", more=more)
    who = np.arange(n) if ranker_idx is None else whole_numbers(ranker_idx, "ranker_idx")
    if who.shape != (n,):
        raise ValueError(
            f"`ranker_idx` must have shape ({n},), one position on `rankers` per ranking; got "
            f"{who.shape}."
        )
    named = None if labels is None else axis_index(labels, "labels")
    rows = {"ranking": pd.RangeIndex(n) if named is None else named}
    if ranker_idx is None:
        rows["ranker"] = ranker_axis
    count = per_row(count, rows, "count") if has_labels(count) else count
    weight = per_row(weight, rows, "weight") if has_labels(weight) else weight
    row, slot = np.nonzero(ranks)
    _check_positions("item", item[row, slot], axis)
    _check_positions("ranker_idx", who, ranker_axis)
    covariates = None
    if features is not None:
        table = float_array(features, "features")
        if table.ndim != 3 or table.shape[:2] != ranks.shape:
            raise ValueError(
                f"`features` must have shape (n_rankings, n_slots, n_features), starting with the "
                f"shape {ranks.shape} of `ranks`; got {table.shape}."
            )
        names = None if feature_names is None else plain_index(feature_names)
        covariates = Covariates(table[row, slot], names)
    return Entries(
        row,
        item[row, slot],
        ranks[row, slot],
        items=axis,
        rankers=ranker_axis,
        ranker_idx=who,
        labels=named,
        count=count,
        weight=weight,
        features=covariates,
    )


class Columns(NamedTuple):
    """Columns of a long table; see `Rankings.from_ratings`."""

    ranker: str
    item: str
    ranking: str | None
    times: str | None  # numbers of rankings that each stands for; a tuple has a method count
    weight: str | None
    by: str | Sequence[str]

    @property
    def groups(self) -> list[str]:
        """Columns of the groups, checked."""
        by = [self.by] if isinstance(self.by, str) else list(self.by)
        check_names(by, RANKING_NAMES, "rankings")
        return by


def from_table(
    source: Source,
    value: str,
    quantity: Literal["rating", "rank"],
    columns: Columns,
    items: Labels | None,
    features: Features | Sequence[str] | None,
) -> Entries:
    """Read a long table, one row per item in a ranking, with a rating (high is good) or a rank."""
    ranker, item, ranking, count, weight, _ = columns
    numeric = [value, count, weight, *column_names(features)]
    labels = [ranker, item, ranking, *columns.groups]
    frame = table_of(source, "rankings", labels=labels, numbers=numeric)
    return long_entries(frame, columns, _cost(frame, value, quantity), items, features)


def from_frame(
    source: Source,
    names: Mapping[str, str | None],
    rating: str | None,
    by: str | Sequence[str],
    items: Labels | None,
    features: Sequence[Any],
) -> Entries:
    """Read a long table, by default one that `Rankings.to_frame` wrote."""
    if rating is not None and names["rank"] is not None:
        raise ValueError("Give either rating=, where high is good, or rank=, where 1 is best.")
    if isinstance(features, str):
        raise ValueError(f"`features` must be a list of columns; write [{features!r}].")
    features, required = list(features), ("ranker", "item", "rank")
    value = names["rank"] if rating is None else rating
    found, optional = layout({**names, "rank": value}, required)
    ranker, item, value = (found[name] for name in required)
    columns = Columns(ranker, item, found["ranking"], found["count"], found["weight"], by)
    labels = [ranker, item, columns.ranking, *columns.groups]
    numeric = [value, columns.times, columns.weight, *features]
    frame = table_of(source, "rankings", labels=labels, numbers=numeric, optional=optional)
    ranking, times, weight = (
        None if name in optional and name not in frame.columns else found[name]
        for name in ("ranking", "count", "weight")
    )
    columns = Columns(ranker, item, ranking, times, weight, by)
    covariates = None
    if features:
        values = [finite_numbers(frame, name, "feature") for name in features]
        covariates = Covariates(np.column_stack(values).astype(np.float64), plain_index(features))
    cost = _cost(frame, value, "rank" if rating is None else "rating")
    return long_entries(frame, columns, cost, items, covariates)


def _cost(frame: pd.DataFrame, value: str, quantity: Literal["rating", "rank"]) -> NDArray[Any]:
    """Read ratings or ranks, so that low is good."""
    cost = finite_numbers(frame, value, quantity)
    if quantity == "rank":
        return cost
    # ~x = -x - 1 turns integers and booleans round without overflow
    return -cost if cost.dtype.kind == "f" else ~cost


def rankings_in(
    frame: pd.DataFrame, ranker: str, ranking: str | None
) -> tuple[NDArray[Any], NDArray[Any], pd.Index, pd.Index | None]:
    """Find the ranking of each row of a long table: by ranker, or by ranker and label.

    Returns it with the ranker of each ranking, the axis of rankers, and the labels of rankings.
    """
    row: NDArray[Any]
    row, ranker_axis = factorize(frame[ranker], ranker)
    rankers = axis_index(ranker_axis, ranker)
    if ranking is None:
        return row, np.arange(len(ranker_axis)), rankers, None
    named, names = factorize(frame[ranking], ranking)
    row, key = pd.factorize(row.astype(np.int64) * len(names) + named)
    who, labels = key // len(names), names.take(key % len(names))
    if labels.has_duplicates:  # labels restart for each ranker: add the ranker to the name
        both = zip(ranker_axis.take(who), labels, strict=True)
        labels = pd.Index([f"{one}/{other}" for one, other in both])
    return row, who, rankers, axis_index(labels, "ranking")


def long_entries(
    frame: pd.DataFrame,
    columns: Columns,
    cost: NDArray[Any],
    items: Labels | None,
    features: Features | Sequence[str] | Covariates | None,
) -> Entries:
    """Read the rankings, items, counts, weights, features and groups of a long table."""
    row, ranker_idx, rankers, labels = rankings_in(frame, columns.ranker, columns.ranking)
    position, axis = encode(frame[columns.item], items, columns.item)
    n, times, evidence = len(ranker_idx), None, None
    if columns.times is not None:
        given = times_given(frame, columns.times)
        times = constant(frame, columns.times, "count", given, row, n)
    if columns.weight is not None:
        given = finite_numbers(frame, columns.weight, "weight").astype(np.float64)
        evidence = constant(frame, columns.weight, "weight", given, row, n)
    groups = {}
    for name in columns.groups:
        codes, axis_of_group = sorted_axis(frame[name], name)
        codes = constant(frame, name, name, codes, row, n)
        groups[name] = Group(axis_of_group, codes.astype(np.int32))
    return Entries(
        row,
        position,
        cost,
        items=axis,
        rankers=rankers,
        ranker_idx=ranker_idx,
        labels=labels,
        count=times,
        weight=evidence,
        features=item_features(features, axis, position, frame),
        groups=groups,
    )


def from_wide(
    table: Table,
    rest: Literal["items"] | Iterable[Any] | None,
    rankers: Labels | None,
    count: ArrayLike | None,
    weight: ArrayLike | None,
    features: Features | None,
) -> Entries:
    """Read a wide table, one row per ranking and one column per item."""
    frame: pd.DataFrame = as_frame(table)
    require_columns(frame, [])
    axis = axis_index(frame.columns, "items")
    graded = _same_grades(frame)
    cells = np.empty(frame.shape)
    for k in range(len(axis)):
        try:
            cells[:, k] = numbers(frame.iloc[:, k], "rank")
        except ValueError as error:
            raise ValueError(
                f"{error} If it names the rankers, leave the column out, and give "
                f"rankers=frame[{frame.columns[k]!r}]."
            ) from None
    if not graded:  # grades may be left out
        _check_places(cells, frame.index)
    rows = {"row": frame.index}
    rankers = frame.index if rankers is None else per_row(rankers, rows, "rankers")
    who, ranker_axis = who_ranked(rankers, len(frame))
    row, position = np.nonzero(~np.isnan(cells))
    ranks, lengths = cells[row, position], np.bincount(row, minlength=len(frame))
    if rest is not None:
        listed = Listed(axis.take(position).tolist(), ranks.tolist(), lengths.tolist())
        listed = _with_rest(listed, rest, axis, rows)
        row, ranks = np.repeat(np.arange(len(frame)), listed.lengths), np.array(listed.places)
        position = locate(pd.Index(listed.labels, tupleize_cols=False), axis, "item")
    else:
        _refuse_lengths(lengths.tolist(), "Rows of ranks")
    return Entries(
        row,
        position,
        ranks,
        items=axis,
        rankers=ranker_axis,
        ranker_idx=who,
        count=per_row(count, rows, "count"),
        weight=per_row(weight, rows, "weight"),
        features=item_features(features, axis, position),
    )


def _same_grades(frame: pd.DataFrame) -> bool:
    """Return whether the columns have grades; raise an error if these are not the same in all."""
    graded = [k for k in range(frame.shape[1]) if is_graded(frame.iloc[:, k])]
    if not graded:
        return False
    dtypes = [x if isinstance(x, pd.CategoricalDtype) else None for x in frame.dtypes]
    others = [k for k, dtype in enumerate(dtypes) if dtype != dtypes[graded[0]]]
    if others:
        one, other = (label_repr(frame.columns[k]) for k in (graded[0], others[0]))
        raise ValueError(
            f"All columns of ranks must have the same ordered categories; those of {one} and "
            f"{other} differ. Give all of them one type: frame.astype(pandas.CategoricalDtype("
            f"[...], ordered=True)), best first."
        )
    return True


def _check_places(table: NDArray[np.float64], index: pd.Index) -> None:
    """Check that each row has dense ranks, competition ranks or midranks; NaN means no rank."""
    ranks = np.sort(table, axis=1)
    n, k = ranks.shape
    slot = np.arange(k)
    begins = np.ones((n, k), dtype=bool)
    begins[:, 1:] = ranks[:, 1:] != ranks[:, :-1]
    ends = np.ones((n, k), dtype=bool)
    ends[:, :-1] = begins[:, 1:]
    first = np.maximum.accumulate(np.where(begins, slot, 0), axis=1)
    last = np.minimum.accumulate(np.where(ends, slot, k)[:, ::-1], axis=1)[:, ::-1]
    dense, competition, mid = np.cumsum(begins, axis=1), first + 1, (first + last) / 2 + 1
    empty = np.isnan(ranks)
    fine = [((ranks == x) | empty).all(axis=1) for x in (dense, competition, mid)]
    broken = ~np.logical_or.reduce(fine)
    if broken.any():
        row = int(broken.argmax())
        shown = ", ".join(f"{rank:g}" for rank in ranks[row][~empty[row]])
        raise ValueError(
            f"The ranks in a row must be 1, 2, 3, ... without gaps. Items that tie may have dense "
            f"ranks (1, 2, 2, 3), competition ranks (1, 2, 2, 4) or midranks (1, 2.5, 2.5, 4). "
            f"The ranks in {row_name(index, row)} are {shown}. If only their order "
            f"matters, use Rankings.from_ranks(frame.rank(axis=1))."
        )


# Lists of items, best first; a set is a block


class Listed(NamedTuple):
    """Items in the order of the list, ordering by ordering."""

    labels: list[Any]
    places: list[int]  # the block of each label in its ordering, 0 = best
    lengths: list[int]  # labels in each ordering


def from_orderings(
    orderings: Iterable[Iterable[Any]],
    rest: Literal["items"] | Iterable[Any] | None,
    items: Labels | None,
    rankers: Labels | None,
    count: ArrayLike | None,
    weight: ArrayLike | None,
    features: Features | None,
) -> Entries:
    """Read orderings; see `Rankings.from_orderings`."""
    given = None if items is None else axis_index(items, "items")
    listed = _read_orderings(orderings)
    if rankers is not None and not has_labels(rankers):
        rankers = plain_index(rankers, "rankers")
    rows = _rows(orderings, rankers, len(listed.lengths))
    if rankers is None and isinstance(orderings, pd.Series):
        rankers = orderings.index
    rankers = per_row(rankers, rows, "rankers")
    if rest is None:
        _refuse_lengths(listed.lengths, "Orderings")
    else:
        listed = _with_rest(listed, rest, given, rows)
    labels = pd.Index(listed.labels, tupleize_cols=False)
    row = np.repeat(np.arange(len(listed.lengths)), listed.lengths)
    if labels.hasnans:
        raise ValueError(f"Ordering {row[labels.isna().argmax()]} has a missing label.")
    position, axis = encode(labels, given, "item")
    who, ranker_axis = who_ranked(rankers, len(listed.lengths))
    return Entries(
        row,
        position,
        np.asarray(listed.places, dtype=np.int64),
        items=axis,
        rankers=ranker_axis,
        ranker_idx=who,
        count=per_row(count, rows, "count"),
        weight=per_row(weight, rows, "weight"),
        features=item_features(features, axis, position),
    )


def _read_orderings(orderings: Any) -> Listed:
    labelled = has_labels(orderings) and not isinstance(orderings, pd.Series)
    labelled |= is_arrow_table(orderings)
    labelled |= hasattr(orderings, "from_orderings")  # rankings: their weights would be lost
    if labelled or isinstance(orderings, (str, *_BLOCK)) or not isinstance(orderings, Iterable):
        found = f"a {type(orderings).__name__}" if labelled else label_repr(orderings)
        raise ValueError(
            f"`orderings` must contain one list of items per ranking; got {found}. Use "
            f"pandas.Series(orderings) for a mapping by ranker. For a table, use "
            f"Rankings.from_ratings, Rankings.from_long_ranks or Rankings.from_ranks."
        )
    labels: list[Any] = []
    places: list[int] = []
    lengths: list[int] = []
    for n, ordering in enumerate(orderings):
        if isinstance(ordering, _NOT_AN_ORDERING) or not isinstance(ordering, Iterable):
            raise ValueError(
                f"Ordering {n} must be a list of items, best first; got {label_repr(ordering)}."
            )
        before = len(labels)
        for place, entry in enumerate(ordering):
            if isinstance(entry, _BLOCK):
                if not entry:
                    raise ValueError(f"Ordering {n} has an empty block; remove it.")
                labels.extend(entry)
                places.extend([place] * len(entry))
            elif isinstance(entry, _NOT_A_LABEL):
                raise ValueError(
                    f"Ordering {n} contains {label_repr(entry)}, which is neither an item nor a "
                    f"block. Write a block as a set."
                )
            else:
                labels.append(entry)
                places.append(place)
        lengths.append(len(labels) - before)
    return Listed(labels, places, lengths)


def _refuse_lengths(lengths: list[int], source: str) -> None:
    """Raise an error if lists have different lengths; an empty list has a separate error."""
    named = [n for n, length in enumerate(lengths) if length]
    other = next((n for n in named if lengths[n] != lengths[named[0]]), None)
    if other is not None:
        raise ValueError(
            f"{source} leave out items and differ in length: number {named[0]} has "
            f"{counted(lengths[named[0]], 'item')}, and number {other} has {lengths[other]}. Use "
            "rest='items' if all items were presented and those left out come last. Use rest=() "
            "if only the listed items were presented."
        )


def _with_rest(
    listed: Listed,
    rest: Literal["items"] | Iterable[Any],
    axis: pd.Index | None,
    rows: Mapping[str, pd.Index],
) -> Listed:
    """Append to each ordering the presented items that it leaves out, as its last block."""
    if isinstance(rest, Mapping) or (isinstance(rest, str) and rest != "items"):
        raise ValueError(
            f"`rest` must be 'items', a list of labels, or a list or Series with one collection of "
            f"labels per ordering; got {label_repr(rest)}."
        )
    everything = listed.labels if axis is None else axis
    presented = list(dict.fromkeys(everything) if isinstance(rest, str) else rest)
    n = len(listed.lengths)
    if presented and all(isinstance(p, (list, *_BLOCK, np.ndarray)) for p in presented):
        if isinstance(rest, pd.Series):
            presented = list(per_row(rest, rows, "rest"))
        if len(presented) != n:
            raise ValueError(
                f"`rest` has {counted(len(presented), 'collection')} of items for "
                f"{counted(n, 'ordering')}. Give one for each, or one list of labels for all."
            )
    else:
        presented = [presented] * n
    completed = Listed([], [], [])
    end = 0
    for length, shown in zip(listed.lengths, presented, strict=True):
        begin, end = end, end + length
        placed = listed.labels[begin:end]
        known = set(placed)
        left = [label for label in dict.fromkeys(shown) if label not in known]
        places = listed.places[begin:end]
        last = max(places, default=0) + 1
        completed.labels.extend(placed + left)
        completed.places.extend(places + [last] * len(left))
        completed.lengths.append(length + len(left))
    return completed


# Shared helpers


def _check_positions(name: str, values: NDArray[np.int64], axis: pd.Index) -> None:
    outside = values[(values < 0) | (values >= len(axis))]
    if len(outside):
        raise ValueError(
            f"`{name}` must be between 0 and {len(axis) - 1}, a position on its axis of labels; "
            f"got {outside[0]}."
        )


def per_row(values: Any, rows: Mapping[str, pd.Index], name: str) -> Any:
    """Sort labelled values into the order of the rows; return other values unchanged."""
    if not has_labels(values):
        return values
    array = f"list({name}.values())" if isinstance(values, Mapping) else f"{name}.to_numpy()"
    way_out = (
        "Give it an index with these labels. If it is already in this order, pass an array, "
        f"such as {array}."
    )
    return aligned(values, rows, name, way_out)


def _rows(orderings: Any, rankers: Any, n: int) -> dict[str, pd.Index]:
    """Return the labels of orderings: the index of a Series, or row numbers and rankers."""
    for column in (orderings, rankers):
        if isinstance(column, pd.Series):
            return {"ordering": column.index}
    rows: dict[str, pd.Index] = {"ordering": pd.RangeIndex(n)}
    if isinstance(rankers, pd.Index) and len(rankers) == n and rankers.is_unique:
        rows["ranker"] = rankers
    return rows


def who_ranked(rankers: Labels | None, n: int) -> tuple[NDArray[Any], pd.Index]:
    """Encode the ranker of each ranking; by default all rankers differ."""
    if rankers is None:
        return np.arange(n), pd.RangeIndex(n)
    listed = plain_index(rankers, "rankers")
    require_one_each(listed, n, "`rankers`", "ranking")
    who, axis = factorize(listed, "rankers")
    return who, axis_index(axis, "rankers")


def constant(
    frame: pd.DataFrame,
    column: str,
    quantity: str,
    values: NDArray[Any],
    row: NDArray[Any],
    n: int,
    unit: str = "ranking",
) -> NDArray[Any]:
    """Return one value per ranking (or other `unit`), or raise an error if its rows differ."""
    found = np.empty(n, dtype=values.dtype)
    found[row] = values
    differs = np.flatnonzero(found[row] != values)
    if len(differs):
        k = int(differs[0])
        other = int(np.flatnonzero((row == row[k]) & (values != values[k]))[0])
        one, another = (label_repr(frame[column].iloc[m]) for m in (k, other))
        name = "Name the column that identifies rankings with ranking=."
        raise ValueError(
            f"The {quantity} of a {unit} must be the same in all of its rows. Column {column!r} "
            f"has {one} in {row_name(frame.index, k)} and {another} in another row of the {unit}. "
            f"{name if unit == 'ranking' else 'Correct the rows.'}"
        )
    return found


def grouped(
    groups: Mapping[str, Any],
    who: NDArray[Any],
    rankers: pd.Index,
    unit: str = "ranking",
    taken: Collection[str] = RANKING_NAMES,
) -> dict[str, Group]:
    """Encode labels of groups, given per ranking (or other `unit`) or by ranker."""
    check_names(list(groups), taken, f"{unit}s")
    coded = {}
    for name, labels in groups.items():
        if has_labels(labels):
            way_out = (
                "Labels are aligned by ranker: check their spelling and type, or pass an array "
                f"with one for each {unit}, in order."
            )
            if isinstance(labels, Mapping):  # it may include other rankers
                labels = {label: labels[label] for label in rankers if label in labels}
            by_ranker = aligned(labels, {"ranker": rankers}, name, way_out)
            listed: Any = pd.Index(by_ranker, tupleize_cols=False).take(who)
        else:
            listed = labels if isinstance(labels, pd.Categorical) else plain_index(labels, name)
            more = ", or a mapping by ranker"
            require_one_each(listed, len(who), f"The group {name!r}", unit, more=more)
        codes, axis = sorted_axis(pd.Series(listed), name)
        coded[name] = Group(axis, codes.astype(np.int32))
    return coded


def column_names(features: Any) -> list[str]:
    """Return the names of columns among features."""
    more = features if isinstance(features, list | tuple) else ()
    return [name for name in more if isinstance(name, str)]


def item_features(
    features: Features | Sequence[str] | Covariates | None,
    axis: pd.Index,
    position: NDArray[Any],
    frame: pd.DataFrame | None = None,
) -> Covariates | None:
    """Read covariates of each entry from columns, a table by item, or an aligned array."""
    if features is None or isinstance(features, Covariates):
        return features
    given = indexed_frame(features, "features")
    if isinstance(given, pd.DataFrame):
        row = axis_index(given.index, "features.index").get_indexer(axis)
        if (row < 0).any():
            named = [x for x in given if axis.isin(given[x]).all()]
            way_out = (
                f"Make the items its index: features.set_index({named[0]!r})."
                if named
                else f"Its index has {quoted(given.index)}. Add the row."
            )
            raise ValueError(
                f"`features` has no row for item {label_repr(axis[int(row.argmin())])}. {way_out}"
            )
        table = np.empty(given.shape)
        for k in range(given.shape[1]):
            table[:, k] = numbers(given.iloc[:, k], "feature")
        return Covariates(table[row][position], plain_index(given.columns))
    if isinstance(features, str):
        raise ValueError(f"`features` must be a list of columns; write [{features!r}].")
    if isinstance(features, list | tuple) and all(isinstance(name, str) for name in features):
        if frame is None or not features:
            raise ValueError("Here, `features` must be a DataFrame indexed by item, or an array.")
        columns = [finite_numbers(frame, name, "feature") for name in features]
        return Covariates(np.column_stack(columns).astype(np.float64), pd.Index(list(features)))
    table = float_array(given, "features")
    if table.ndim != 2 or len(table) != len(axis):
        raise ValueError(
            f"`features` must have shape (n_items, n_features), aligned with the "
            f"{counted(len(axis), 'item')}; got {table.shape}. A DataFrame indexed by item may "
            f"have any order."
        )
    return Covariates(table[position], None)
