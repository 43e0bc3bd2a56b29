"""Attributes: columns of a choice table become features by slot, with levels as indicators.

A column of numbers is one feature. A column of levels is one feature for each level but one. With
the coding ``"reference"``, a feature is 1 for its level and 0 otherwise, and the first level has
none. With ``"sum"``, the features are also -1 for the last level, so part-worths sum to zero. The
features of ``"brand:price"`` are products of those of its two columns.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.data.read.columns import finite_numbers, require_columns
from bayesrank.data.read.labels import counted, label_repr, plain_index, quoted, row_name

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
        cls,
        frame: pd.DataFrame,
        terms: Sequence[str],
        coding: Coding,
        standardise: bool | Sequence[str],
    ) -> Self:
        """Find the levels, means and standard deviations of columns."""
        if isinstance(terms, str) or not all(isinstance(term, str) for term in terms):
            raise ValueError(f"`attributes` must be a list of columns; got {terms!r}.")
        if coding not in ("reference", "sum"):
            raise ValueError(f"`coding` must be 'reference' or 'sum'; got {coding!r}.")
        columns = {name: None for term in terms for name in _factors(term, frame.columns)}
        if not columns:
            raise ValueError("`attributes` is empty; give at least one column, or leave it out.")
        require_columns(frame, columns)
        levels: dict[str, tuple[Any, ...]] = {}
        units: dict[str, tuple[float, float]] = {}
        for name in columns:
            values = frame[name].infer_objects()
            if _is_numeric(values):
                units[name] = _unit(frame, name, standardise)
            else:
                levels[name] = _levels(values)
        wanted = () if isinstance(standardise, bool) else standardise
        stray = [name for name in wanted if name not in units]
        if stray:
            raise ValueError(
                f"`standardise` names {quoted(stray)}, which {'is' if len(stray) == 1 else 'are'} "
                f"no column of numbers in `attributes`; these are {quoted(units) or 'none'}."
            )
        return cls(tuple(dict.fromkeys(terms)), coding, levels, units)

    @property
    def names(self) -> pd.Index:
        """Names of the features, such as ``"price"`` and ``"brand[A]"``."""
        return pd.Index([name for term in self.terms for name in self._named(term)])

    @property
    def scale(self) -> NDArray[np.float64]:
        """The raw unit of each feature: divide part-worths by it to have them per raw unit."""
        scales = []
        for term in self.terms:
            scale = np.ones(1)
            for name in self._factors(term):
                each = [self.units[name][1]] if name in self.units else np.ones(self._n(name))
                scale = np.outer(scale, each).ravel()
            scales.append(scale)
        return np.concatenate(scales)

    def code(self, profiles: pd.DataFrame) -> pd.DataFrame:
        """Compute the features of profiles, one row for each.

        Parameters
        ----------
        profiles : DataFrame
            One row per profile, with the columns of the attributes.

        Raises
        ------
        ValueError
            If a column is missing, or a level is unknown.

        Examples
        --------
        >>> import bayesrank as br
        >>> table = pd.DataFrame({"set": 1, "brand": list("abc"), "price": [1.0, 2.0, 3.0]})
        >>> tasks = br.Rankings.from_choices(
        ...     table.assign(chosen=[0, 1, 0]),
        ...     choice="set",
        ...     alternative="brand",
        ...     chosen="chosen",
        ...     attributes=["brand", "price"],
        ...     standardise=False,
        ... )
        >>> tasks.attributes.code(pd.DataFrame({"brand": ["c", "a"], "price": [2.5, 1.5]}))
           brand[b]  brand[c]  price
        0       0.0       1.0    2.5
        1       0.0       0.0    1.5
        """
        require_columns(profiles, [*self.levels, *self.units], "The table of profiles")
        coded: dict[str, NDArray[np.float64]] = {}
        for name, (centre, scale) in self.units.items():
            coded[name] = ((finite_numbers(profiles, name, "feature") - centre) / scale)[:, None]
        for name, known in self.levels.items():
            coded[name] = self._indicators(profiles[name], pd.Index(known, tupleize_cols=False))
        columns = []
        for term in self.terms:
            product = np.ones((len(profiles), 1))
            for name in self._factors(term):
                product = (product[:, :, None] * coded[name][:, None, :]).reshape(len(profiles), -1)
            columns.append(product)
        return pd.DataFrame(np.hstack(columns), index=profiles.index, columns=self.names)

    def __str__(self) -> str:
        """Describe each column in one line."""
        lines = []
        for name, known in self.levels.items():
            how = (
                f"relative to {label_repr(known[0])}"
                if self.coding == "reference"
                else f"summing to zero; {label_repr(known[-1])} is minus the sum of the others"
            )
            lines.append(f"{name}: {counted(len(known), 'level')}, {how}")
        for name, (centre, scale) in self.units.items():
            raw = (centre, scale) == (0.0, 1.0)
            how = "raw units" if raw else f"standardised, mean {centre:.4g} and sd {scale:.4g}"
            lines.append(f"{name}: {how}")
        return "\n".join(lines)

    def _factors(self, term: str) -> list[str]:
        return _factors(term, [*self.levels, *self.units])

    def _n(self, name: str) -> int:
        return len(self.levels[name]) - 1

    def _named(self, term: str) -> list[str]:
        names = [""]
        for factor in self._factors(term):
            if factor in self.units:
                own = [factor]
            else:
                known = self.levels[factor]
                shown = known[1:] if self.coding == "reference" else known[:-1]
                own = [f"{factor}[{level}]" for level in shown]
            names = [f"{left}:{right}" if left else right for left in names for right in own]
        return names

    def _indicators(self, values: pd.Series, known: pd.Index) -> NDArray[np.float64]:
        code = known.get_indexer(plain_index(values))
        if (code < 0).any():
            n = int((code < 0).argmax())
            raise ValueError(
                f"The levels of {values.name!r} are {quoted(known)}; {row_name(values.index, n)} "
                f"has {label_repr(values.iloc[n])}. Check the spelling and type of the level."
            )
        table = np.eye(len(known))
        if self.coding == "reference":
            return table[code][:, 1:]
        table[-1] = -1.0
        return table[code][:, :-1]


def _factors(term: str, columns: Iterable[Any]) -> list[str]:
    """Split a product of columns; the name of a column may itself contain a colon."""
    return [term] if term in set(columns) else term.split(":")


def _is_numeric(values: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(values.dtype)


def _unit(frame: pd.DataFrame, name: str, standardise: bool | Sequence[str]) -> tuple[float, float]:
    """Return the centre and scale of a column of numbers; flags keep their values."""
    numbers = finite_numbers(frame, name, "feature").astype(np.float64)
    wanted = standardise if isinstance(standardise, bool) else name in standardise
    if np.ptp(numbers) == 0:
        raise ValueError(
            f"An attribute must vary; column {name!r} has only {numbers[0]:g}. Leave it out."
        )
    if not wanted or pd.api.types.is_bool_dtype(frame[name].dtype):
        return 0.0, 1.0
    return float(numbers.mean()), float(numbers.std())


def _levels(values: pd.Series) -> tuple[Any, ...]:
    """Return the levels in use, sorted; categories keep their order."""
    if values.isna().any():
        n = int(values.isna().to_numpy().argmax())
        raise ValueError(
            f"An attribute must have a level; column {values.name!r} is missing in "
            f"{row_name(values.index, n)}. Fill it in, for example with 'none'."
        )
    if isinstance(values.dtype, pd.CategoricalDtype):
        used = values.cat.remove_unused_categories().cat.categories
    else:
        used = plain_index(values).unique()
        used = used.sort_values() if used.inferred_type != "mixed" else used
    if len(used) < 2:
        raise ValueError(
            f"An attribute must vary; column {values.name!r} has only {quoted(used)}. Leave it out."
        )
    return tuple(plain_index(used).tolist())
