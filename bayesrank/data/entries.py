"""Entries: what the constructors of `Rankings` read, checked as far as the source allows.

Each function turns one way of writing rankings down into `Entries`; `layout.arrange` does the rest.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bayesrank.data.formats import Letor, finite_numbers, require_columns
from bayesrank.data.labels import axis_index, encode, factorize, label_repr, plain_index
from bayesrank.data.layout import Entries

type Labels = Iterable[Hashable]
type Features = pd.DataFrame | ArrayLike
type Blocks = list[list[Hashable]]


def from_arrays(
    item: ArrayLike,
    ranks: ArrayLike,
    items: Labels,
    rankers: Labels | None,
    ranker_idx: ArrayLike | None,
    weight: ArrayLike | None,
    labels: Labels | None,
    features: ArrayLike | None,
    feature_names: Labels | None,
) -> Entries:
    """Read padded arrays, slots in any order."""
    axis = axis_index(items, "items")
    item, ranks = _whole(item, "item"), _whole(ranks, "ranks")
    if ranks.ndim != 2 or item.shape != ranks.shape:
        raise ValueError(
            f"`item` and `ranks` must have one shape (n_rankings, n_slots); they have "
            f"{item.shape} and {ranks.shape}."
        )
    n = len(ranks)
    ranker_axis = axis_index(range(n) if rankers is None else rankers, "rankers")
    who = np.arange(n) if ranker_idx is None else _whole(ranker_idx, "ranker_idx")
    if who.shape != (n,) or (ranker_idx is None and len(ranker_axis) != n):
        raise ValueError(
            f"`ranker_idx` must say for each of the {n} rankings which of the {len(ranker_axis)} "
            f"rankers ranked."
        )
    row, slot = np.nonzero(ranks)
    _check_positions("item", item[row, slot], axis)
    _check_positions("ranker_idx", who, ranker_axis)
    covariates = None
    if features is not None:
        covariates = np.asarray(features, dtype=np.float64)
        if covariates.ndim != 3 or covariates.shape[:2] != ranks.shape:
            raise ValueError(
                f"`features` must have shape (n_rankings, n_slots, n_features) with the "
                f"{ranks.shape} of `ranks`; got {covariates.shape}."
            )
        covariates = covariates[row, slot]
    return Entries(
        row,
        item[row, slot],
        ranks[row, slot],
        items=axis,
        rankers=ranker_axis,
        ranker_idx=who,
        labels=None if labels is None else axis_index(labels, "labels"),
        weight=weight,
        features=covariates,
        feature_names=None if feature_names is None else plain_index(feature_names),
    )


def from_table(
    frame: pd.DataFrame,
    cost: NDArray[Any],
    *,
    ranker: str,
    item: str,
    ranking: str | None,
    weight: str | None,
    items: Labels | None,
    features: Features | Sequence[str] | None,
) -> Entries:
    """Read a long table, one row per item in a ranking, its cost given."""
    require_columns(frame, [ranker, item, *(c for c in (ranking, weight) if c is not None)])
    position, axis = encode(frame[item], items, item)
    row, ranker_axis = factorize(frame[ranker], ranker)
    who, labels = np.arange(len(ranker_axis)), None
    if ranking is not None:
        named, names = factorize(frame[ranking], ranking)
        row, key = pd.factorize(row * len(names) + named)
        who, labels = key // len(names), names.take(key % len(names))
        if labels.has_duplicates:  # numbered anew for each ranker: name the ranker too
            both = zip(ranker_axis.take(who), labels, strict=True)
            labels = pd.Index([f"{one}/{other}" for one, other in both])
    covariates, feature_names = _features(features, axis, position, frame)
    return Entries(
        row,
        position,
        cost,
        items=axis,
        rankers=axis_index(ranker_axis, ranker),
        ranker_idx=who,
        labels=None if labels is None else axis_index(labels, "ranking"),
        weight=None if weight is None else _weight_per_ranking(frame, weight, row, len(who)),
        features=covariates,
        feature_names=feature_names,
    )


def from_orderings(
    orderings: Iterable[Iterable[Any]],
    *,
    rest: Literal["items"] | Iterable[Any] | None,
    items: Labels | None,
    rankers: Labels | None,
    weight: ArrayLike | None,
    features: Features | None,
) -> Entries:
    """Read lists of items, best first, in which a set is a block."""
    given = None if items is None else axis_index(items, "items")
    rows = [_blocks(ordering, n) for n, ordering in enumerate(orderings)]
    if rest is not None:
        rows = _with_rest(rows, rest, given)
    names = [label for row in rows for block in row for label in block]
    size = [len(block) for row in rows for block in row]
    place = [m for row in rows for m in range(len(row))]
    length = [sum(len(block) for block in row) for row in rows]
    position, axis = encode(pd.Index(names, tupleize_cols=False), given, "item")
    who, ranker_axis = _who_ranked(rankers, len(rows))
    covariates, feature_names = _features(features, axis, position)
    return Entries(
        np.repeat(np.arange(len(rows)), length),
        position,
        np.repeat(place, size),
        items=axis,
        rankers=ranker_axis,
        ranker_idx=who,
        weight=weight,
        features=covariates,
        feature_names=feature_names,
    )


def from_wide(
    frame: pd.DataFrame,
    *,
    rankers: Labels | None,
    weight: ArrayLike | None,
    features: Features | None,
) -> Entries:
    """Read a wide table, one row per ranking and one column per item."""
    require_columns(frame, [])
    axis = axis_index(frame.columns, "items")
    try:
        table = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(f"A wide table must hold ranks and nothing else: {error}.") from error
    who, ranker_axis = _who_ranked(frame.index if rankers is None else rankers, len(frame))
    row, position = np.nonzero(~np.isnan(table))
    covariates, feature_names = _features(features, axis, position)
    return Entries(
        row,
        position,
        table[row, position],
        items=axis,
        rankers=ranker_axis,
        ranker_idx=who,
        weight=weight,
        features=covariates,
        feature_names=feature_names,
    )


def from_judged(letor: Letor) -> Entries:
    """Read judged documents: queries rank, and no two queries share a document."""
    query, queries = factorize(pd.Index(letor.qid), "qid")
    within = pd.Series(query).groupby(query).cumcount()
    return Entries(
        query,
        np.arange(len(query)),
        -letor.label,
        items=pd.Index([f"{q}/{n}" for q, n in zip(letor.qid, within, strict=True)]),
        rankers=queries,
        ranker_idx=np.arange(len(queries)),
        features=letor.features,
        feature_names=pd.RangeIndex(1, letor.features.shape[1] + 1),
    )


def _whole(values: ArrayLike, what: str) -> NDArray[np.int64]:
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(f"`{what}` must be integers; got {array.dtype}.")
    return array.astype(np.int64)


def _check_positions(what: str, values: NDArray[np.int64], axis: pd.Index) -> None:
    outside = values[(values < 0) | (values >= len(axis))]
    if len(outside):
        raise ValueError(
            f"`{what}` must be between 0 and {len(axis) - 1}, a position on its axis of labels; "
            f"got {outside[0]}."
        )


def _who_ranked(rankers: Labels | None, n: int) -> tuple[NDArray[np.int64], pd.Index]:
    if rankers is None:
        return np.arange(n), pd.RangeIndex(n)
    listed = plain_index(rankers)
    if len(listed) != n:
        raise ValueError(f"`rankers` has {len(listed)} labels for {n} rankings; give one for each.")
    who, axis = factorize(listed, "rankers")
    return who, axis_index(axis, "rankers")


def _weight_per_ranking(
    frame: pd.DataFrame, column: str, row: NDArray[Any], n: int
) -> NDArray[np.float64]:
    values = finite_numbers(frame, column, "weight").astype(np.float64)
    weight = np.empty(n)
    weight[row] = values
    differs = np.flatnonzero(weight[row] != values)
    if len(differs):
        raise ValueError(
            f"The weight of a ranking must be the same in all its rows; column {column!r} has "
            f"{values[differs[0]]} in row {differs[0]} and {weight[row[differs[0]]]} in another "
            f"row of the same ranking."
        )
    return weight


def _features(
    features: Features | Sequence[str] | None,
    axis: pd.Index,
    position: NDArray[Any],
    frame: pd.DataFrame | None = None,
) -> tuple[NDArray[np.float64] | None, pd.Index | None]:
    """Read covariates of each entry from columns, a table by item, or an aligned array."""
    if features is None:
        return None, None
    if isinstance(features, pd.DataFrame):
        row = axis_index(features.index, "features.index").get_indexer(axis)
        if (row < 0).any():
            raise ValueError(
                f"`features` has no row for item {label_repr(axis[int(row.argmin())])}."
            )
        return features.to_numpy(dtype=np.float64)[row][position], plain_index(features.columns)
    if isinstance(features, list) and all(isinstance(name, str) for name in features):
        if frame is None or not features:
            raise ValueError("`features` must be a DataFrame indexed by item or an array here.")
        columns = [finite_numbers(frame, name, "feature") for name in features]
        return np.column_stack(columns).astype(np.float64), pd.Index(features)
    table = np.asarray(features, dtype=np.float64)
    if table.ndim != 2 or len(table) != len(axis):
        raise ValueError(
            f"`features` must have shape (n_items, n_features), aligned with the {len(axis)} "
            f"items; got {table.shape}. A DataFrame indexed by item needs no order."
        )
    return table[position], None


def _blocks(ordering: Iterable[Any], n: int) -> Blocks:
    """Spell out one ordering as a list of blocks."""
    if isinstance(ordering, str | bytes | set | frozenset) or not isinstance(ordering, Iterable):
        raise ValueError(
            f"Ordering {n} must be a list of items, best first; got {label_repr(ordering)}."
        )
    blocks: Blocks = []
    for entry in ordering:
        if isinstance(entry, set | frozenset):
            if not entry:
                raise ValueError(f"Ordering {n} has an empty block; leave it out.")
            blocks.append(list(entry))
        elif isinstance(entry, list | tuple | dict | np.ndarray):
            raise ValueError(
                f"Ordering {n} holds {label_repr(entry)}, which is neither an item nor a block; "
                f"write a block as a set."
            )
        else:
            blocks.append([entry])
    return blocks


def _with_rest(
    rows: list[Blocks], rest: Literal["items"] | Iterable[Any], axis: pd.Index | None
) -> list[Blocks]:
    """Append the presented items that an ordering leaves out as its last block."""
    if isinstance(rest, str):
        if rest != "items":
            raise ValueError(f"`rest` must be 'items' or collections of labels; got {rest!r}.")
        named = (label for row in rows for block in row for label in block)
        presented = list(dict.fromkeys(named if axis is None else axis))
    else:
        presented = list(rest)
    if presented and all(isinstance(p, list | set | frozenset | np.ndarray) for p in presented):
        if len(presented) != len(rows):
            raise ValueError(
                f"`rest` has {len(presented)} collections of items for {len(rows)} orderings; "
                f"give one for each, or one list of labels for all."
            )
    else:
        presented = [presented] * len(rows)
    completed = []
    for row, shown in zip(rows, presented, strict=True):
        placed = {label for block in row for label in block}
        left = [label for label in dict.fromkeys(shown) if label not in placed]
        completed.append([*row, left] if left else row)
    return completed
