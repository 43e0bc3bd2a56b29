"""Check the features of new sets before predicting their utilities."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["check_features"]


def check_features(
    features: ArrayLike,
    n_features: int,
    *,
    mask: ArrayLike | None = None,
    items: ArrayLike | None = None,
    feature_names: Sequence[Any] | None = None,
) -> NDArray[np.float64]:
    """Check features of new sets before utilities are predicted from them.

    Parameters
    ----------
    features : array, shape (..., n_slots, n_features)
        Features of the item in each slot.
    n_features : int
        Number of features that the weights expect.
    mask : array of bool, shape (..., n_slots), optional
        Slots in use; other slots are ignored. All by default.
    items : array of labels, shape (..., n_slots), optional
        Names of the items, for messages.
    feature_names : sequence of labels, optional
        Names of the features, for messages.

    Returns
    -------
    array of float64, shape (..., n_slots, n_features)
        Zero in empty slots.

    Raises
    ------
    ValueError
        If the number of features is wrong, a set is empty, or a feature is not finite.

    Examples
    --------
    >>> check_features([[0.5, 1.0], [np.inf, 2.0]], 2, mask=[True, False]).tolist()
    [[0.5, 1.0], [0.0, 0.0]]
    """
    x = np.asarray(features, dtype=np.float64)
    if x.ndim < 2 or x.shape[-1] != n_features:
        raise ValueError(
            f"`features` must have shape (..., n_slots, {n_features}), the number of features that "
            f"the weights were made for; got {x.shape}."
        )
    used = np.ones(x.shape[:-1], dtype=bool) if mask is None else np.asarray(mask, dtype=bool)
    if used.shape != x.shape[:-1]:
        raise ValueError(
            f"`mask` must have shape {x.shape[:-1]}, as `features` without its last axis; got "
            f"{used.shape}."
        )
    empty = np.argwhere(~used.any(axis=-1))
    if len(empty):
        where = f"Set {_position(empty[0])}" if used.ndim > 1 else "The set"
        raise ValueError(f"{where} is empty: it needs an item.")
    bad = np.argwhere(used[..., None] & ~np.isfinite(x))
    if len(bad):
        *place, f = bad[0]
        name = f"{f}" if feature_names is None else repr(feature_names[f])
        item = f"the item in slot {place[-1]}"
        if items is not None:
            item = f"item {np.asarray(items, dtype=object)[*place]!r}"
        of = f" of set {_position(place[:-1])}" if used.ndim > 1 else ""
        raise ValueError(f"Feature {name} must be finite; it is {x[*place, f]} for {item}{of}.")
    return np.where(used[..., None], x, 0.0)


def _position(index: Sequence[int]) -> str:
    return str(int(index[0])) if len(index) == 1 else str(tuple(int(i) for i in index))
