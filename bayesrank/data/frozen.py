"""Tables that cannot be changed: arrays are locked, and two tables compare by what they hold.

`Pairs`, `PairCounts` and `Interactions` are frozen dataclasses of axes and arrays, some of which
stand in mappings and tuples.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from bayesrank.data.read import same_axis


def lock(values: Iterable[Any]) -> None:
    """Make the arrays among these read-only, those in mappings and tuples too."""
    for value in contents(values):
        if isinstance(value, np.ndarray):
            value.flags.writeable = False


def same_contents(one: object, other: object) -> bool:
    """Whether two tables of one class have the same labels and arrays."""
    mine, yours = (list(contents(vars(table).values())) for table in (one, other))
    return len(mine) == len(yours) and all(
        same_axis(a, b) if isinstance(a, pd.Index) else np.array_equal(a, b)
        for a, b in zip(mine, yours, strict=True)
    )


def contents(values: Iterable[Any]) -> Iterator[Any]:
    """Yield what a table holds, and what the mappings and tuples in it hold."""
    for value in values:
        if isinstance(value, Mapping):
            yield from value
            yield from contents(value.values())
        elif isinstance(value, tuple):
            yield from contents(value)
        else:
            yield value
