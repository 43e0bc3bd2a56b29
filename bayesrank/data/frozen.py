"""Tables that cannot be changed: arrays are locked, and two tables compare by what they hold.

`Pairs`, `PairCounts` and `Interactions` are frozen dataclasses of axes and arrays, some of which
stand in mappings and tuples.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from bayesrank.data.read import same_axis


class Frozen:
    """What `Pairs`, `PairCounts` and `Interactions` have in common: frozen dataclasses."""

    def __eq__(self, other: object) -> bool:
        """Compare labels and arrays, so that there is no hash."""
        if not isinstance(other, type(self)):
            return NotImplemented
        mine, yours = (list(contents(vars(table).values())) for table in (self, other))
        return len(mine) == len(yours) and all(
            same_axis(a, b) if isinstance(a, pd.Index) else np.array_equal(a, b)
            for a, b in zip(mine, yours, strict=True)
        )

    def __post_init__(self) -> None:
        """Lock the arrays, those in mappings and tuples too, and the groups."""
        for name, value in vars(self).items():
            if isinstance(value, Mapping):
                object.__setattr__(self, name, MappingProxyType(dict(value)))
        for value in contents(vars(self).values()):
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def __getstate__(self) -> dict[str, Any]:
        """Return what pickle can store."""
        state = vars(self).items()
        return {name: dict(x) if isinstance(x, Mapping) else x for name, x in state}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Lock the arrays again: pickle makes them writeable."""
        vars(self).update(state)
        self.__post_init__()


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
