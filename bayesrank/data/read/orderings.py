"""Orderings: lists of items, best first, in which a set is a block."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from bayesrank.data.derive.layout import Entries
from bayesrank.data.read.entries import Features, Labels, item_features, who_ranked
from bayesrank.data.read.labels import axis_index, counted, encode, label_repr

_BLOCK = (set, frozenset)
_NOT_A_LABEL = (list, tuple, dict, np.ndarray)
_NOT_AN_ORDERING = (str, bytes, set, frozenset, Mapping, pd.DataFrame)


class Listed(NamedTuple):
    """Items as listed, ordering after ordering."""

    labels: list[Any]
    places: list[int]  # the block of each label in its ordering, 0 = best
    lengths: list[int]  # labels in each ordering


def from_orderings(
    orderings: Iterable[Iterable[Any]],
    *,
    rest: Literal["items"] | Iterable[Any] | None,
    items: Labels | None,
    rankers: Labels | None,
    weight: ArrayLike | None,
    features: Features | None,
) -> Entries:
    """Read orderings; see `Rankings.from_orderings`."""
    given = None if items is None else axis_index(items, "items")
    listed = _read(orderings)
    if rest is not None:
        listed = _with_rest(listed, rest, given)
    labels = pd.Index(listed.labels, tupleize_cols=False)
    row = np.repeat(np.arange(len(listed.lengths)), listed.lengths)
    if labels.hasnans:
        raise ValueError(f"Ordering {row[labels.isna().argmax()]} has a missing label.")
    position, axis = encode(labels, given, "item")
    who, ranker_axis = who_ranked(rankers, len(listed.lengths))
    covariates, feature_names = item_features(features, axis, position)
    return Entries(
        row,
        position,
        np.asarray(listed.places, dtype=np.int64),
        items=axis,
        rankers=ranker_axis,
        ranker_idx=who,
        weight=weight,
        features=covariates,
        feature_names=feature_names,
    )


def _read(orderings: Any) -> Listed:
    if isinstance(orderings, pd.DataFrame):
        raise ValueError(
            "from_orderings reads lists; for a table use Rankings.from_ratings, "
            "Rankings.from_long_ranks or Rankings.from_ranks."
        )
    if isinstance(orderings, str) or not isinstance(orderings, Iterable):
        raise ValueError(
            f"`orderings` must hold one list of items per ranking; got {label_repr(orderings)}."
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
                    raise ValueError(f"Ordering {n} has an empty block; leave it out.")
                labels.extend(entry)
                places.extend([place] * len(entry))
            elif isinstance(entry, _NOT_A_LABEL):
                raise ValueError(
                    f"Ordering {n} holds {label_repr(entry)}, which is neither an item nor a "
                    f"block; write a block as a set."
                )
            else:
                labels.append(entry)
                places.append(place)
        lengths.append(len(labels) - before)
    return Listed(labels, places, lengths)


def _with_rest(
    listed: Listed, rest: Literal["items"] | Iterable[Any], axis: pd.Index | None
) -> Listed:
    """Append the presented items that an ordering leaves out as its last block."""
    if isinstance(rest, str):
        if rest != "items":
            raise ValueError(f"`rest` must be 'items' or collections of labels; got {rest!r}.")
        presented = list(dict.fromkeys(listed.labels if axis is None else axis))
    else:
        presented = list(rest)
    n = len(listed.lengths)
    if presented and all(isinstance(p, (list, *_BLOCK, np.ndarray)) for p in presented):
        if len(presented) != n:
            raise ValueError(
                f"`rest` has {counted(len(presented), 'collection')} of items for "
                f"{counted(n, 'ordering')}; give one for each, or one list of labels for all."
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
        last = places[-1] + 1 if places else 0
        completed.labels.extend(placed + left)
        completed.places.extend(places + [last] * len(left))
        completed.lengths.append(length + len(left))
    return completed
