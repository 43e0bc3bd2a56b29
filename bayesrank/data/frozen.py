"""Tables that cannot be changed: arrays are locked, and two tables compare by what they hold.

`Rankings`, `Pairs`, `PairCounts` and `Interactions` hold axes and arrays, some of which stand in
mappings and tuples.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.data.read.aligned import align
from bayesrank.data.read.labels import (
    Group,
    Labels,
    coord_values,
    label_repr,
    on_axis,
    quoted,
    same_axis,
)

DERIVED = ("stages",)
"""Attributes that follow from the others: they are neither compared nor stored."""


class Frozen:
    """The parts that `Rankings`, `Pairs`, `PairCounts` and `Interactions` have in common."""

    AXES: ClassVar[Mapping[str, tuple[str, tuple[str, ...]]]] = {}
    """Attributes by coord: the one that has the labels, and those that have positions on them."""

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
        """Axes with labels, by the names of their coords."""
        axes = {name: vars(self)[attribute] for name, (attribute, _) in self.AXES.items()}
        return axes | {name: group.labels for name, group in self._groups().items()}

    def _groups(self) -> Mapping[str, Group]:
        groups: Mapping[str, Group] = vars(self).get("groups", {})  # interactions have none
        return groups

    @property
    def n_items(self) -> int:
        """Number of items, the length of their axis."""
        return len(vars(self)["items"])

    @property
    def coords(self) -> dict[str, NDArray[Any]]:
        """Coordinates for ``pm.Model(coords=...)``: items, who judged them, groups, and others."""
        coords = {name: coord_values(axis) for name, axis in self._axes().items()}
        features = vars(self).get("feature_names")
        return coords if features is None else coords | {"feature": coord_values(features)}

    def _groups_text(self) -> str:
        return "".join(f" and {len(x.labels)} of {n!r}" for n, x in self._groups().items())

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
        return align(values, self._axes(), dim, _noun(self).lower())

    def reindex(self, axes: Mapping[str, Labels]) -> Self:
        """Put items, rankers, groups and so on onto other axes, such as those of a model.

        Parameters
        ----------
        axes : mapping of str to sequence of labels
            The new axis of each of these coords, in its order. It may have more labels than are in
            use; but items and rankers of `PairCounts` keep all of theirs, in another order.

        Raises
        ------
        ValueError
            If a label in use is not on its new axis, or there is no such axis.

        Examples
        --------
        >>> import bayesrank as br
        >>> r = br.Rankings.from_orderings([["a", "b"], ["b", "a"]])
        >>> r.reindex({"item": ["c", "b", "a"]}).item
        array([[2, 1],
               [1, 2]], dtype=int32)
        """
        known = [*(name for name, (_, uses) in self.AXES.items() if uses), *self._groups()]
        values: dict[str, Any] = {}
        groups = dict(self._groups())
        for name, labels in axes.items():
            if name not in known:
                raise ValueError(
                    f"{_noun(self)} have no axis {label_repr(name)} to put on other labels; they "
                    f"have {quoted(known)}."
                )
            if name in groups:
                axis, place = on_axis(labels, *groups[name], name)
                groups[name] = Group(axis, place[groups[name].idx].astype(np.int32))
                continue
            attribute, uses = self.AXES[name]
            axis, place = on_axis(labels, vars(self)[attribute], self._used(name), name)
            values[attribute] = axis
            values |= {use: place[getattr(self, use)].astype(np.int32) for use in uses}
        return self._moved(values | {"groups": groups} if groups else values)

    def _used(self, name: str) -> NDArray[Any]:
        """Positions on an axis that are in use."""
        return np.concatenate([np.unique(getattr(self, use)) for use in self.AXES[name][1]])

    def _moved(self, values: dict[str, Any]) -> Self:
        """Return a copy with other axes and positions; what is sorted by these is sorted anew."""
        return self._with(**values)


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
