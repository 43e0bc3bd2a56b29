"""Weak orders as arrays: what a collection of rankings holds, and what follows from it.

`Rankings` is made of three parts: these arrays, the constructors, and the selections.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.data.derive.layout import Entries, arrange, block_sizes
from bayesrank.data.derive.stages import Stages, stage_table
from bayesrank.data.read.labels import coord_values, counted, same_axis


class WeakOrders:
    """Immutable padded arrays of weak orders; the attributes are those of `Rankings`."""

    items: pd.Index
    rankers: pd.Index
    labels: pd.Index
    item: NDArray[np.int32]
    ranks: NDArray[np.int32]
    mask: NDArray[np.bool_]
    block_sizes: NDArray[np.int32]
    ranker_idx: NDArray[np.int32]
    weight: NDArray[np.float64]
    features: NDArray[np.float64] | None
    feature_names: pd.Index | None

    # Sizes, coordinates, tables

    @property
    def n_rankings(self) -> int:
        """Number of rankings."""
        return len(self.ranks)

    @property
    def n_items(self) -> int:
        """Length of the item axis."""
        return len(self.items)

    @property
    def n_slots(self) -> int:
        """Number of items in the longest ranking."""
        return self.ranks.shape[1]

    @property
    def n_blocks(self) -> int:
        """Number of blocks in the ranking that has most."""
        return self.block_sizes.shape[1]

    @property
    def coords(self) -> dict[str, NDArray[Any]]:
        """Coordinates for ``pm.Model(coords=...)``: item, ranking, ranker, slot (and feature)."""
        coords = {
            "item": coord_values(self.items),
            "ranking": coord_values(self.labels),
            "ranker": coord_values(self.rankers),
            "slot": np.arange(self.n_slots),
        }
        if self.feature_names is not None:
            coords["feature"] = coord_values(self.feature_names)
        return coords

    @cached_property
    def stages(self) -> Stages:
        """The distinct (block, remainder) pairs and their weights, so that each is evaluated once.

        Found when first asked for, then kept; read-only.
        """
        table = stage_table(self.item, self.ranks, self.weight, self.n_items)
        for array in table:
            array.flags.writeable = False
        return table

    def to_frame(self) -> pd.DataFrame:
        """Long table, best first: ranking, ranker, item, rank, weight, and one column per feature.

        ``Rankings.from_long_ranks(frame, ranking="ranking", ranker="ranker", item="item",
        rank="rank", weight="weight", items=r.items)`` reads it back.

        Returns
        -------
        DataFrame
            One row per item in a ranking.

        Examples
        --------
        >>> import bayesrank as br
        >>> br.Rankings.from_orderings([["b", {"a", "c"}]]).to_frame()
           ranking  ranker item  rank  weight
        0        0       0    b     1     1.0
        1        0       0    a     2     1.0
        2        0       0    c     2     1.0
        """
        row, slot = np.nonzero(self.mask)
        columns = {
            "ranking": self.labels.take(row),
            "ranker": self.rankers.take(self.ranker_idx[row]),
            "item": self.items.take(self.item[row, slot]),
            "rank": self.ranks[row, slot],
            "weight": self.weight[row],
        }
        frame = pd.DataFrame(columns)
        if self.features is None:
            return frame
        covariates = pd.DataFrame(self.features[row, slot], columns=self.feature_names)
        return pd.concat([frame, covariates], axis=1)

    # The object itself

    def __len__(self) -> int:
        """Count the rankings."""
        return self.n_rankings

    def __repr__(self) -> str:
        """Say in a line how much of what there is."""
        length = self.mask.sum(axis=1)
        low, high = length.min(), length.max()
        each = f"{low}" if low == high else f"{low} to {high}"
        tied = self.block_sizes[self.block_sizes > 1].sum() / length.sum()
        words = [
            f"{counted(self.n_rankings, 'ranking')} of {counted(self.n_items, 'item')} by "
            f"{counted(len(self.rankers), 'ranker')}",
            f"{each} {'item' if high == 1 else 'items'} in each",
            f"{tied:.0%} of entries tied" if tied else "no ties",
        ]
        if (self.weight != 1).any():
            words.append(f"total weight {self.weight.sum():g}")
        if self.features is not None:
            words.append(counted(self.features.shape[2], "feature"))
        return "Rankings: " + ", ".join(words)

    def __eq__(self, other: object) -> bool:
        """Compare labels and arrays; mask and block sizes follow from them."""
        if not isinstance(other, WeakOrders):
            return NotImplemented
        return (
            all(
                same_axis(getattr(self, name), getattr(other, name))
                for name in ("items", "rankers", "labels")
            )
            and all(
                np.array_equal(getattr(self, name), getattr(other, name))
                for name in ("item", "ranks", "ranker_idx", "weight")
            )
            and _same_features(self, other)
        )

    __hash__ = None  # type: ignore[assignment]  # equality compares arrays

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse: rankings are immutable."""
        raise AttributeError(f"Rankings are immutable: {name!r} cannot be set.")

    def __delattr__(self, name: str) -> NoReturn:
        """Refuse: rankings are immutable."""
        raise AttributeError(f"Rankings are immutable: {name!r} cannot be deleted.")

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what follows from the rest."""
        return {name: value for name, value in vars(self).items() if name != "stages"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Lock the arrays again: pickle makes them writeable."""
        self._set(**state)

    # Construction from checked parts

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    @classmethod
    def _of(cls, entries: Entries, *, must_be_dense: bool = False) -> Self:
        self = object.__new__(cls)
        self._set(**arrange(entries, must_be_dense=must_be_dense))
        return self

    def _take(self, chosen: NDArray[np.int64]) -> Self:
        used = int(self.mask[chosen].any(axis=0).sum())
        ranks = self.ranks[chosen, :used]
        new = object.__new__(type(self))
        new._set(
            items=self.items,
            rankers=self.rankers,
            labels=self.labels.take(chosen),
            item=self.item[chosen, :used],
            ranks=ranks,
            mask=ranks > 0,
            block_sizes=block_sizes(ranks),
            ranker_idx=self.ranker_idx[chosen],
            weight=self.weight[chosen],
            features=None if self.features is None else self.features[chosen, :used],
            feature_names=self.feature_names,
        )
        return new


def _same_features(one: WeakOrders, other: WeakOrders) -> bool:
    if one.features is None or other.features is None:
        return one.features is other.features
    assert one.feature_names is not None  # for the type checker: they come with the features
    assert other.feature_names is not None
    return same_axis(one.feature_names, other.feature_names) and np.array_equal(
        one.features, other.features
    )
