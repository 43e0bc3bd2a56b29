"""Attributes: columns of a choice table become features by slot, with levels as indicators.

A column of numbers is one feature. A column of levels is one feature for each level but one: 1 for
this level and 0 for others. With the coding ``"reference"``, the first level has none. With
``"sum"``, the features are -1 for the last level. The features of ``"brand:price"`` are products.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import pandas as pd

from bayesrank.data.read.columns import finite_numbers, require_columns
from bayesrank.data.read.frames import Table, as_frame
from bayesrank.data.read.labels import counted, encode, label_repr, sorted_axis

Coding = Literal["reference", "sum"]


@dataclass(frozen=True)
class Attributes:
    """How the columns of a table become features; learned by ``Rankings.from_choices``.

    ``print(rankings.attributes)`` describes each column.

    Attributes
    ----------
    terms : tuple of str
        Columns, or products of columns, such as ``"brand:price"``.
    coding : "reference" or "sum"
        The coding of levels.
    levels : mapping of str to tuple
        The levels of each column of levels. The first is the reference.
    units : mapping of str to (float, float)
        The centre and scale of each column of numbers: the mean and standard deviation, or 0 and 1.
    """

    terms: tuple[str, ...]
    coding: Coding
    levels: Mapping[str, tuple[Any, ...]]
    units: Mapping[str, tuple[float, float]]

    @classmethod
    def learn(
        cls, frame: pd.DataFrame, terms: Sequence[str], coding: Coding, *, standardise: bool
    ) -> Self:
        """Find the levels, means and standard deviations of columns."""
        if isinstance(terms, str) or not terms or not all(isinstance(x, str) for x in terms):
            raise ValueError(f"`attributes` must be a list of columns; got {terms!r}.")
        if coding not in ("reference", "sum"):
            raise ValueError(f"`coding` must be 'reference' or 'sum'; got {coding!r}.")
        columns = {name: None for term in terms for name in _factors(term, frame.columns)}
        require_columns(frame, columns)
        levels: dict[str, tuple[Any, ...]] = {}
        units: dict[str, tuple[float, float]] = {}
        for name in columns:
            values = frame[name].infer_objects()
            if pd.api.types.is_numeric_dtype(values.dtype):
                numbers = finite_numbers(frame, name, "feature").astype(np.float64)
                raw = not standardise or pd.api.types.is_bool_dtype(values.dtype)
                units[name] = (0.0, 1.0) if raw else (float(numbers.mean()), float(numbers.std()))
                constant = np.ptp(numbers) == 0
            else:
                levels[name] = tuple(sorted_axis(values, name)[1].tolist())
                constant = len(levels[name]) == 1
            if constant:
                only = label_repr(values.iloc[0])
                raise ValueError(
                    f"An attribute must vary; column {name!r} has only {only}. Leave it out."
                )
        return cls(tuple(dict.fromkeys(terms)), coding, levels, units)

    def code(self, profiles: Table) -> pd.DataFrame:
        """Compute the features of profiles, which have one row each and the columns of attributes.

        Examples
        --------
        >>> levels, units = {"brand": ("a", "b", "c")}, {"price": (2.0, 1.0)}
        >>> attributes = Attributes(("brand", "price"), "sum", levels, units)
        >>> attributes.code(pd.DataFrame({"brand": ["c", "a"], "price": [2.5, 1.5]}))
           brand[a]  brand[b]  price
        0      -1.0      -1.0    0.5
        1       1.0       0.0   -0.5
        """
        frame: pd.DataFrame = as_frame(profiles)
        require_columns(frame, [*self.levels, *self.units], "The table of profiles")
        coded: dict[str, dict[str, Any]] = {}
        for name, (centre, scale) in self.units.items():
            coded[name] = {name: (finite_numbers(frame, name, "feature") - centre) / scale}
        for name, known in self.levels.items():
            code, _ = encode(frame[name], known, name, "level")
            table, kept = np.eye(len(known)), slice(1, None)
            if self.coding == "sum":
                table[-1], kept = -1.0, slice(-1)
            labels = [f"{name}[{level}]" for level in known[kept]]
            coded[name] = dict(zip(labels, table[code][:, kept].T, strict=True))
        features: dict[str, Any] = {}
        for term in self.terms:
            first, *others = (coded[name] for name in _factors(term, coded))
            for other in others:
                first = {f"{a}:{b}": x * y for a, x in first.items() for b, y in other.items()}
            twice = [name for name in first if name in features]
            if twice:
                raise ValueError(
                    f"Two attributes have a feature {twice[0]!r}. Rename a column, or a level."
                )
            features |= first
        return pd.DataFrame(features, index=frame.index)

    def __str__(self) -> str:
        """Describe each column in one line."""
        lines = []
        for name, known in self.levels.items():
            how = f"relative to {label_repr(known[0])}"
            if self.coding == "sum":
                how = f"summing to zero ({label_repr(known[-1])} is minus the sum of the others)"
            lines.append(f"{name}: {counted(len(known), 'level')}, {how}")
        for name, (centre, scale) in self.units.items():
            how = f"standardised, mean {centre:.4g} and sd {scale:.4g}"
            lines.append(f"{name}: {'raw units' if (centre, scale) == (0.0, 1.0) else how}")
        return "\n".join(lines)


def _factors(term: str, columns: Container[Any]) -> list[str]:
    """Split a product of columns; the name of a column may itself contain a colon."""
    return [term] if term in columns else term.split(":")
