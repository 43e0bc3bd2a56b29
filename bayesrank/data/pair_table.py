"""What `Pairs` and `PairCounts` share: locked arrays, equality, and columns of items and counts."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.data.read.columns import finite_numbers
from bayesrank.data.read.labels import encode, factorize, label_repr, row_name, same_axis


class PairTable:
    """A frozen dataclass of axes and read-only arrays, which may stand in mappings and tuples."""

    def __post_init__(self) -> None:
        """Lock the arrays."""
        for value in _flat(vars(self).values()):
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
        mine, yours = (list(_flat(vars(table).values())) for table in (self, other))
        return len(mine) == len(yours) and all(
            same_axis(one, two) if isinstance(one, pd.Index) else np.array_equal(one, two)
            for one, two in zip(mine, yours, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]  # equality compares arrays


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    """Yield what a table holds, and what the mappings and tuples in it hold."""
    for value in values:
        if isinstance(value, Mapping):
            yield from value
            yield from _flat(value.values())
        elif isinstance(value, tuple):
            yield from _flat(value)
        else:
            yield value


def two_items(
    frame: pd.DataFrame, first: str, second: str, items: Iterable[Hashable] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], pd.Index]:
    """Code two columns of items on one axis; no item stands beside itself."""
    code_one, named_one = factorize(frame[first], first)
    code_other, named_other = factorize(frame[second], second)
    # The labels of either column once, so that each is hashed as a row once and no more.
    named = pd.concat([pd.Series(named_one), pd.Series(named_other)], ignore_index=True)
    position, axis = encode(named, items, "item")
    one = position[: len(named_one)][code_one]
    other = position[len(named_one) :][code_other]
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


def amounts(frame: pd.DataFrame, column: str, what: str = "count") -> NDArray[np.float64]:
    """Read a column of counts, or of what else is >= 0."""
    amount = finite_numbers(frame, column, what).astype(np.float64)
    if (amount < 0).any():
        row = int((amount < 0).argmax())
        raise ValueError(
            f"A {what} must not be negative; column {column!r} has {amount[row]:g} in "
            f"{row_name(frame.index, row)}."
        )
    return amount
