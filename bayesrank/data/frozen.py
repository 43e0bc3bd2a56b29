"""Immutable tables: arrays are read-only, and tables are equal if their contents are equal.

`Rankings`, `Pairs`, `PairCounts` and `Interactions` hold axes and arrays. Some of these are inside
mappings and tuples.
"""

import html
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NoReturn, Self, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bayesrank.data.derive.parts import positions
from bayesrank.data.read.aligned import align
from bayesrank.data.read.entries import per_row
from bayesrank.data.read.labels import (
    Group,
    Labels,
    coord_values,
    counted,
    label_repr,
    on_axis,
    quoted,
    same_axis,
)

MOST_SHOWN = 5  # rows in a notebook

DERIVED = ("stages",)
"""Attributes that are computed from the others: they are neither compared nor pickled."""


class Frozen:
    """The base class of `Rankings`, `Pairs`, `PairCounts` and `Interactions`."""

    AXES: ClassVar[Mapping[str, tuple[str, tuple[str, ...]]]] = {}
    """For each coord, the attribute with its labels and the attributes with positions on them."""

    ROW: ClassVar = ""
    """What a row is called in messages."""

    def __eq__(self, other: object) -> bool:
        """Compare labels and arrays, not what was read; tables are therefore not hashable."""
        if not isinstance(other, type(self)):
            return NotImplemented
        read: dict[str, Any] = {"notes": (), "roles": {}, "unused": None, "scores": None}
        states = (table.__getstate__() | read for table in (self, other))
        mine, yours = (list(contents(state)) for state in states)
        return len(mine) == len(yours) and all(map(_same, mine, yours))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse to change an attribute."""
        raise AttributeError(f"{type(self).__name__} are immutable: {name!r} cannot be set.")

    def __delattr__(self, name: str) -> NoReturn:
        """Refuse to delete an attribute."""
        raise AttributeError(f"{type(self).__name__} are immutable: {name!r} cannot be deleted.")

    def __post_init__(self) -> None:
        """Make the arrays read-only, including those in mappings and tuples, and the groups."""
        for name, value in vars(self).items():
            if isinstance(value, Mapping):
                vars(self)[name] = MappingProxyType(dict(value))
        for value in contents(vars(self)):
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes in a form that pickle can store."""
        state = {name: x for name, x in sorted(vars(self).items()) if name not in DERIVED}
        return {name: dict(x) if isinstance(x, Mapping) else x for name, x in state.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make the arrays read-only again: pickle restores them writeable."""
        vars(self).update(state)
        self.__post_init__()

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse the conversion: an array would lose the labels."""
        raise TypeError(
            f"{_rows_name(self)} cannot be converted to an array without losing their labels. Pass "
            "them to a distribution of bayesrank as observed=, or convert one of their attributes. "
            "To replace the data of a model, use br.set_observed instead of pm.observe."
        )

    # Rows

    def __len__(self) -> int:
        """Count the rows."""
        raise NotImplementedError

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice | ArrayLike) -> Self: ...
    def __getitem__(self, index: Any) -> Any:
        """Return one row, or the rows in a slice, a mask or a list of positions.

        An integer is always a position, as in a list, even if the labels are integers.
        """
        n = len(self)
        if isinstance(index, tuple):
            raise ValueError(f"`index` must have one dimension; for rows, write [{[*index]}].")
        if isinstance(index, int | np.integer) and not isinstance(index, bool):
            if not -n <= index < n:
                raise IndexError(f"There are {counted(n, self.ROW)}, but `index` is {index}.")
            return self._row(int(index) % n)
        return self._take(self._positions(index))

    def _positions(self, index: Any) -> NDArray[np.int64]:
        """Return the positions in a slice, a mask or a list; a Boolean Series is aligned."""
        n = len(self)
        if isinstance(index, slice):
            index = np.arange(n)[index]
        if isinstance(index, pd.Series) and pd.api.types.is_bool_dtype(index):
            labels = getattr(self, "labels", pd.RangeIndex(n))
            index = per_row(index, {self.ROW: labels}, "index")
        return positions(index, n, self.ROW)

    def __iter__(self) -> Iterator[Any]:
        """Yield each row, as ``table[0]``, ``table[1]`` and so on return it."""
        return (self._row(n) for n in range(len(self)))

    def _row(self, n: int) -> Any:
        """Return one row with its labels."""
        raise NotImplementedError

    def _take(self, rows: NDArray[np.int64]) -> Self:
        """Select rows on the same axes."""
        raise NotImplementedError

    def _shown(self, n: int) -> dict[str, Any]:
        """Return one row of the table in a notebook."""
        shown: dict[str, Any] = self._row(n)
        return shown

    def _repr_html_(self) -> str:
        """Show the summary and the first rows in a notebook."""
        rows = [self._shown(n) for n in range(min(len(self), MOST_SHOWN))]
        return f"<p>{html.escape(repr(self))}</p>{pd.DataFrame(rows).to_html(index=False)}"

    # Axes

    def _with(self, **values: Any) -> Self:
        """Return a copy with other values of some attributes."""
        new = object.__new__(type(self))
        new.__setstate__(self.__getstate__() | values)
        return new

    def _axes(self) -> dict[str, pd.Index]:
        """Return the labels of each axis, by the name of its coord."""
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
        """Coordinates for ``pm.Model(coords=...)``: items, rankers or judges, groups, and more."""
        coords = {name: coord_values(axis) for name, axis in self._axes().items()}
        features = vars(self).get("feature_names")
        return coords if features is None else coords | {"feature": coord_values(features)}

    def _groups_text(self) -> str:
        return "".join(
            f" and {counted(len(x.labels), 'label')} of {n!r}" for n, x in self._groups().items()
        )

    def align(self, values: Any, dim: str) -> NDArray[Any]:
        """Sort labelled values, such as covariates of the rankers, into the order of `dim`.

        PyMC reads arrays by position, so align values before you use them in a model.

        Parameters
        ----------
        values : Series, DataFrame, DataArray or mapping
            One value, or row, for each label of `dim`, in any order. A DataArray needs a dim of
            this name with coords, and may have other dims.
        dim : str
            The name of an axis ("item", "ranker") or of a group.

        Returns
        -------
        array
            The values in the order of ``coords[dim]``, ready for ``pm.Data(..., dims=dim)``. A
            DataFrame gives one row for each label.

        Raises
        ------
        ValueError
            If labels are missing, unknown or repeated, or `dim` does not exist.
        TypeError
            If the values have no labels.

        Examples
        --------
        >>> import bayesrank as br
        >>> r = br.Rankings.from_orderings([["a", "b"], ["b", "a"]], rankers=["Bo", "Ann"])
        >>> r.align(pd.Series({"Ann": 41, "Bo": 27}), "ranker")
        array([27, 41])
        """
        return align(values, self._axes(), dim, _rows_name(self).lower())

    def reindex(self, axes: Mapping[str, Labels]) -> Self:
        """Move items, rankers, groups and so on to other axes, such as those of a model.

        Parameters
        ----------
        axes : mapping of str to sequence of labels
            The new labels of each axis, in order. They may include labels that are not in use. For
            items and rankers of `PairCounts`, they must be the same labels in another order.

        Raises
        ------
        ValueError
            If a label in use is missing from its new axis, or an axis does not exist.

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
                    f"{_rows_name(self)} have no axis {label_repr(name)} to relabel; their axes "
                    f"are {quoted(known)}."
                )
            if name in groups:
                axis, place = on_axis(labels, *groups[name], name)
                groups[name] = Group(axis, place[groups[name].idx].astype(np.int32))
                continue
            attribute, uses = self.AXES[name]
            axis, place = on_axis(labels, vars(self)[attribute], self._used(name), name)
            values[attribute] = axis
            values |= {use: place[getattr(self, use)].astype(np.int32) for use in uses}
        return self._on_axes(values | {"groups": groups} if groups else values)

    def _used(self, name: str) -> NDArray[Any]:
        """Return the positions on an axis that are in use."""
        return np.concatenate([np.unique(getattr(self, use)) for use in self.AXES[name][1]])

    def _on_axes(self, values: dict[str, Any]) -> Self:
        """Return a copy with other axes and positions, sorted again where necessary."""
        return self._with(**values)


def contents(values: Mapping[str, Any] | Iterable[Any]) -> Iterator[Any]:
    """Yield the contents of a table, including those of its mappings and tuples."""
    for value in values.values() if isinstance(values, Mapping) else values:
        if isinstance(value, Mapping):
            yield from value
        if isinstance(value, Mapping | tuple):
            yield from contents(value)
        else:
            yield value


def label_at(axis: pd.Index, n: int) -> Any:
    """Return a label, numbers as those of Python."""
    label = axis[n]
    return label.item() if isinstance(label, np.generic) else label


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, pd.Index) and isinstance(other, pd.Index):
        return same_axis(one, other)
    return np.array_equal(one, other)


def _rows_name(table: Frozen) -> str:
    """Name the rows of a table in a sentence."""
    return "Counts" if type(table).__name__ == "PairCounts" else type(table).__name__
