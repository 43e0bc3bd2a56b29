"""Tables that cannot be changed: arrays are locked, and two tables compare by what they hold.

`Rankings`, `Pairs`, `PairCounts` and `Interactions` hold axes and arrays, some of which stand in
mappings and tuples.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NoReturn, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.data import read
from bayesrank.data.read import Group, coord_values, label_repr, quoted, same_axis

DERIVED = ("stages",)
"""Attributes that follow from the others: they are neither compared nor stored."""


class Frozen:
    """The parts that `Rankings`, `Pairs`, `PairCounts` and `Interactions` have in common."""

    def __eq__(self, other: object) -> bool:
        """Compare labels and arrays, so that there is no hash."""
        if not isinstance(other, type(self)):
            return NotImplemented
        mine, yours = (list(contents(table.__getstate__())) for table in (self, other))
        return len(mine) == len(yours) and all(map(_same, mine, yours))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse to change an attribute."""
        raise AttributeError(f"{type(self).__name__} are immutable: {name!r} cannot be set.")

    def __delattr__(self, name: str) -> NoReturn:
        """Refuse to delete an attribute."""
        raise AttributeError(f"{type(self).__name__} are immutable: {name!r} cannot be deleted.")

    def __post_init__(self) -> None:
        """Lock the arrays, those in mappings and tuples too, and the groups."""
        for name, value in vars(self).items():
            if isinstance(value, Mapping):
                vars(self)[name] = MappingProxyType(dict(value))
        for value in contents(vars(self)):
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def __getstate__(self) -> dict[str, Any]:
        """Return what pickle can store."""
        state = {name: x for name, x in sorted(vars(self).items()) if name not in DERIVED}
        return {name: dict(x) if isinstance(x, Mapping) else x for name, x in state.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Lock the arrays again: pickle makes them writeable."""
        vars(self).update(state)
        self.__post_init__()

    def _with(self, **values: Any) -> Self:
        """Return a copy with other values of some attributes."""
        new = object.__new__(type(self))
        new.__setstate__(self.__getstate__() | values)
        return new

    def _axes(self) -> dict[str, pd.Index]:
        """Axes with labels, by the names of their coords, without those of the groups."""
        raise NotImplementedError

    def _all_axes(self) -> dict[str, pd.Index]:
        groups: Mapping[str, Group] = vars(self).get("groups", {})  # interactions have none
        return self._axes() | {name: group.labels for name, group in groups.items()}

    def _coords(self) -> dict[str, NDArray[Any]]:
        return {name: coord_values(axis) for name, axis in self._all_axes().items()}

    def _groups_text(self) -> str:
        counts = {name: len(x.labels) for name, x in vars(self)["groups"].items()}
        return "".join(f" and {n} of {name!r}" for name, n in counts.items())

    def align(self, values: Any, dim: str) -> NDArray[Any]:
        """Put values with labels in the order of `dim`, such as covariates of the rankers.

        Axes stand in their own order, and PyMC reads arrays by position: align values before a
        model uses them.

        Parameters
        ----------
        values : Series, DataFrame, DataArray or mapping
            One value, or row, for each label of `dim`, in any order. A DataArray has a dim of this
            name with coords, and may have others.
        dim : str
            The name of an axis ("item", "ranker") or of a group.

        Returns
        -------
        array
            The values in the order of ``coords[dim]``, as ``pm.Data(..., dims=dim)`` takes them; of
            a DataFrame one row for each label.

        Raises
        ------
        ValueError
            If labels are missing, unknown or repeated, or there is no such `dim`.
        TypeError
            If the values have no labels.

        Examples
        --------
        >>> import bayesrank as br
        >>> r = br.Rankings.from_orderings([["a", "b"], ["b", "a"]], rankers=["Bo", "Ann"])
        >>> r.align(pd.Series({"Ann": 41, "Bo": 27}), "ranker")
        array([27, 41])
        """
        return read.align(values, self._all_axes(), dim, _noun(self).lower())

    def _check_axes(self, names: Iterable[str], known: Iterable[str]) -> None:
        """Refuse to put labels on an axis that is not there."""
        for name in names:
            if name not in known:
                raise ValueError(
                    f"{_noun(self)} have no axis {label_repr(name)} to put on other labels; they "
                    f"have {quoted(known)}."
                )


def contents(values: Mapping[str, Any] | Iterable[Any]) -> Iterator[Any]:
    """Yield what a table holds, and what the mappings and tuples in it hold."""
    for value in values.values() if isinstance(values, Mapping) else values:
        if isinstance(value, Mapping):
            yield from value
        if isinstance(value, Mapping | tuple):
            yield from contents(value)
        else:
            yield value


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, pd.Index) and isinstance(other, pd.Index):
        return same_axis(one, other)
    return np.array_equal(one, other)


def _noun(table: Frozen) -> str:
    """Name the rows of a table in a sentence."""
    return "Counts" if type(table).__name__ == "PairCounts" else type(table).__name__
