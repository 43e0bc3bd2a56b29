"""Selections: parts of a collection of rankings, and identical rankings merged or spelled out."""

from typing import Any, Literal, Self, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bayesrank.data.derive import parts
from bayesrank.data.derive.layout import Entries, warn
from bayesrank.data.read.entries import Labels
from bayesrank.data.read.labels import axis_index, counted, label_repr, locate, quoted
from bayesrank.data.weak_orders import WeakOrders


class Selections(WeakOrders):
    """The methods of `Rankings` that return other rankings."""

    def subset(
        self,
        index: ArrayLike | None = None,
        *,
        labels: Labels | None = None,
        rankers: Labels | None = None,
    ) -> Self:
        """Select rankings, on the same axes of items and rankers.

        Parameters
        ----------
        index : array of bool of shape (n_rankings,), or array of int, optional
            Which rankings, by mask or by position (negative counts from the end).
        labels, rankers : sequence of labels, optional
            Which rankings, by their labels or by who ranked. Give one of the three.

        Returns
        -------
        Rankings
            In the order asked for (rankers: in the order they stand).

        Raises
        ------
        ValueError
            If nothing is selected, a ranking is selected twice, or a label is unknown.

        Examples
        --------
        >>> import bayesrank as br
        >>> r = br.Rankings.from_orderings([["a", "b"], ["b", "a"]], rankers=["Ann", "Bo"])
        >>> r.subset(labels=["Bo"]).item
        array([[1, 0]], dtype=int32)
        """
        if (index is not None) + (labels is not None) + (rankers is not None) != 1:
            raise ValueError("Give one of `index`, `labels` and `rankers` to say which rankings.")
        if labels is not None:
            chosen = locate(axis_index(labels, "labels"), self.labels, "ranking")
        elif rankers is not None:
            wanted = locate(axis_index(rankers, "rankers"), self.rankers, "ranker")
            chosen = np.flatnonzero(np.isin(self.ranker_idx, wanted))
        else:
            chosen = parts.positions(np.asarray(index), self.n_rankings)
        if not len(chosen):
            raise ValueError("No ranking is selected: a collection needs at least one.")
        return self._take(chosen)

    def drop_items(self, items: Labels) -> Self:
        """Take items off the axis and out of every ranking; the ranks close up.

        Parameters
        ----------
        items : sequence of labels
            The items to drop.

        Returns
        -------
        Rankings
            Rankings that held nothing else are gone, and a warning counts them.

        Raises
        ------
        ValueError
            If an item is unknown, or no ranking is left.

        Examples
        --------
        >>> import bayesrank as br
        >>> r = br.Rankings.from_orderings([["a", "b", "c"]]).drop_items(["b"])
        >>> r.items.tolist(), r.ranks.tolist()
        (['a', 'c'], [[1, 2]])
        """
        dropped = locate(axis_index(items, "items"), self.items, "item")
        stays = np.ones(self.n_items, dtype=bool)
        stays[dropped] = False
        row, slot = np.nonzero(self.mask & stays[self.item])
        rankings = np.unique(row)
        if not len(rankings):
            raise ValueError("No ranking holds an item that is not dropped: nothing would be left.")
        gone = np.setdiff1d(np.arange(self.n_rankings), rankings)
        if len(gone):
            warn(
                f"{len(gone)} of {counted(self.n_rankings, 'ranking')} held only dropped items and "
                f"{'is' if len(gone) == 1 else 'are'} gone ({quoted(self.labels.take(gone), 3)})."
            )
        new = np.cumsum(stays) - 1
        return self._of(
            Entries(
                np.searchsorted(rankings, row),
                new[self.item[row, slot]],
                self.ranks[row, slot],
                items=self.items[stays],
                rankers=self.rankers,
                ranker_idx=self.ranker_idx[rankings],
                labels=self.labels.take(rankings),
                weight=self.weight[rankings],
                features=None if self.features is None else self.features[row, slot],
                feature_names=self.feature_names,
            )
        )

    @overload
    def split(
        self, into: int, *, seed: int, by: Literal["ranking", "ranker"] = "ranking"
    ) -> list[tuple[Self, Self]]: ...
    @overload
    def split(
        self, into: float, *, seed: int, by: Literal["ranking", "ranker"] = "ranking"
    ) -> tuple[Self, Self]: ...
    def split(
        self, into: float, *, seed: int, by: Literal["ranking", "ranker"] = "ranking"
    ) -> tuple[Self, Self] | list[tuple[Self, Self]]:
        """Split at random into training and test rankings, or into folds.

        Parameters
        ----------
        into : float in (0, 1), or int >= 2
            The share of the first part, or the number of folds.
        seed : int
            Seed of the shuffle.
        by : "ranking" or "ranker"
            What is shuffled; with "ranker" all rankings of a ranker go the same way.

        Returns
        -------
        (Rankings, Rankings), or a list of such pairs
            Training and test part; for folds one pair per fold, each ranking in one test part.
            All keep the axes of items and rankers, and the order of the rankings.

        Raises
        ------
        ValueError
            If a part would be empty.

        Examples
        --------
        >>> import bayesrank as br
        >>> r = br.Rankings.from_orderings([["a", "b"], ["b", "a"], ["a", "b"], ["b", "a"]])
        >>> train, test = r.split(0.75, seed=1)
        >>> len(train), len(test), len(r.split(4, seed=1))
        (3, 1, 4)
        """
        if by not in ("ranking", "ranker"):
            raise ValueError(f"`by` must be 'ranking' or 'ranker'; got {by!r}.")
        unit = np.arange(self.n_rankings) if by == "ranking" else self.ranker_idx
        if not isinstance(into, int | float | np.integer):
            raise ValueError(
                f"`into` must be a share between 0 and 1 or a number of folds; got {into!r}."
            )
        if isinstance(into, int | np.integer):
            return [self._parted(test) for test in parts.folds(unit, into, seed, by)]
        return self._parted(parts.held_out(unit, into, seed, by))

    def collapse(self, *, within_ranker: bool = False) -> Self:
        """Merge identical rankings into one that carries their summed weight.

        Rankings are identical if they order the same items in the same way (with the same
        features).

        Parameters
        ----------
        within_ranker : bool
            Merge only rankings by the same ranker. By default rankers are merged too, and all
            rankings then belong to one ranker 'all'.

        Returns
        -------
        Rankings
            Labelled by the first of each group.

        Examples
        --------
        >>> import bayesrank as br
        >>> br.Rankings.from_orderings([["a", "b"], ["b", "a"], ["a", "b"]]).collapse().weight
        array([2., 1.])
        """
        content: list[NDArray[Any]] = [self.item, self.ranks]
        if self.features is not None:
            content.append(self.features.reshape(self.n_rankings, -1) + 0.0)  # -0.0 is 0.0
        if within_ranker:
            content.append(self.ranker_idx[:, None])
        group = parts.identical(content)
        first = np.unique(group, return_index=True)[1]
        merged = self._take(first)
        merged._set(weight=np.bincount(group, weights=self.weight))
        if not within_ranker:
            merged._set(rankers=pd.Index(["all"]), ranker_idx=np.zeros(len(first), dtype=np.int32))
        return merged

    def expand(self) -> Self:
        """Repeat each ranking as often as its weight says; the inverse of `collapse`.

        Returns
        -------
        Rankings
            Of weight one, numbered 0, 1, 2, ... if any is repeated.

        Raises
        ------
        ValueError
            If a weight is not a whole number.

        Examples
        --------
        >>> import bayesrank as br
        >>> len(br.Rankings.from_orderings([["a", "b"], ["b", "a"]], weight=[3, 1]).expand())
        4
        """
        times = self.weight.astype(np.int64)
        broken = np.flatnonzero(times != self.weight)
        if len(broken):
            raise ValueError(
                f"Only whole weights can be expanded; ranking "
                f"{label_repr(self.labels[broken[0]])} has weight "
                f"{self.weight[broken[0]]}."
            )
        if (times == 1).all():
            return self
        expanded = self._take(np.repeat(np.arange(self.n_rankings), times))
        n = len(expanded.ranks)
        expanded._set(labels=pd.RangeIndex(n), weight=np.ones(n))
        return expanded

    def _parted(self, test: NDArray[np.bool_]) -> tuple[Self, Self]:
        return self._take(np.flatnonzero(~test)), self._take(np.flatnonzero(test))
