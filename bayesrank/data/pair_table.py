"""What `Pairs` and `PairCounts` share: locked arrays, equality, and columns of items and counts."""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.data.columns import finite_numbers
from bayesrank.data.labels import encode, factorize, label_repr, row_name, same_axis


class PairTable:
    """A frozen dataclass of axes and read-only arrays."""

    def __post_init__(self) -> None:
        """Lock the arrays."""
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Lock the arrays again: pickle makes them writeable."""
        vars(self).update(state)
        self.__post_init__()

    def __eq__(self, other: object) -> bool:
        """Compare labels and arrays."""
        if type(other) is not type(self):
            return NotImplemented
        return all(
            same_axis(mine, yours) if isinstance(mine, pd.Index) else np.array_equal(mine, yours)
            for mine, yours in zip(vars(self).values(), vars(other).values(), strict=True)
        )

    __hash__ = None  # type: ignore[assignment]  # equality compares arrays


def two_items(
    frame: pd.DataFrame, first: str, second: str, items: Iterable[Hashable] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], pd.Index]:
    """Code two columns of items on one axis; no item stands beside itself."""
    both = pd.concat([frame[first], frame[second]], ignore_index=True)
    for column in (first, second):
        factorize(frame[column], column)  # a missing label is named with its own column
    position, axis = encode(both, items, "item")
    one, other = position[: len(frame)], position[len(frame) :]
    check_differ(frame, first, second, one, other, axis)
    return one, other, axis


def check_differ(
    frame: pd.DataFrame,
    first: str,
    second: str,
    one: NDArray[np.int64],
    other: NDArray[np.int64],
    axis: pd.Index,
) -> None:
    """Refuse a row that compares an item with itself."""
    if (one == other).any():
        row = int((one == other).argmax())
        raise ValueError(
            f"Columns {first!r} and {second!r} compare item {label_repr(axis[one[row]])} with "
            f"itself in {row_name(frame.index, row)}."
        )


def amounts(frame: pd.DataFrame, column: str) -> NDArray[np.float64]:
    """Read a column of counts, >= 0."""
    count = finite_numbers(frame, column, "count").astype(np.float64)
    if (count < 0).any():
        row = int((count < 0).argmax())
        raise ValueError(
            f"A count must not be negative; column {column!r} has {count[row]:g} in "
            f"{row_name(frame.index, row)}."
        )
    return count
