"""Pair counts: how much each ranker prefers one item to another.

Ranker ``ranker_idx[k]`` preferred ``first[k]`` to ``second[k]`` by ``count[k]``.

>>> table = pd.DataFrame({"winner": ["a", "b"], "loser": ["b", "a"], "games": [3, 1]})
>>> PairCounts.from_frame(table, first="winner", second="loser", count="games")
PairCounts: 2 ordered pairs of 2 items by 1 ranker, 4 in all
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from bayesrank.data.count_constructors import CountConstructors
from bayesrank.data.read.columns import float_array
from bayesrank.data.read.labels import axis_index, label_repr, locate

__all__ = ["PairCounts"]


@dataclass(frozen=True, eq=False, repr=False)
class PairCounts(CountConstructors):
    """Sparse counts of preference per ranker, C_n(i, j): how much ranker n prefers i to j.

    Made by `from_frame`, `from_ratings`, `from_matrix` or ``Rankings.counts``, which check; the
    fields themselves are trusted.

    Attributes
    ----------
    items, rankers, problems : pandas.Index
        Axes. Items of different problems (queries, say) are never compared; by default all are of
        one problem 'all'.
    problem_idx : array of int32, shape (n_items,)
        The problem of each item.
    ranker_idx, first, second : array of int32, shape (n_entries,)
        Ranker n, preferred item i and other item j of each entry; each triple once, sorted.
    count : array of float64, shape (n_entries,)
        C_n(i, j) > 0, whole; triples not listed are 0.
    weight : array of float64, shape (n_rankers,)
        Evidence weight of each ranker, the power to which its likelihood counts; 1 by default. A
        rank difference of 199 enters as 199 independent draws, so that posteriors from raw
        differences are far too narrow; a weight below one, or binary counts, say that there is
        less evidence. No sum or table of counts is multiplied by it.
    """

    def weighted(self, weight: ArrayLike) -> Self:
        """Return the same counts with this evidence weight.

        Parameters
        ----------
        weight : float, array of shape (n_rankers,), or Series indexed by ranker
            Positive and finite; it takes the place of the weights so far.

        Returns
        -------
        PairCounts

        Raises
        ------
        ValueError
            If a weight is not positive and finite, or there is not one for each ranker.

        Examples
        --------
        >>> PairCounts.from_matrix([[0, 3], [1, 0]]).weighted(0.1).weight
        array([0.1])
        """
        if isinstance(weight, pd.Series):
            given = axis_index(weight.index, "weight.index")
            locate(given, self.rankers, "ranker")
            absent = self.rankers[given.get_indexer(self.rankers) < 0]
            if len(absent):
                raise ValueError(f"`weight` has none for ranker {label_repr(absent[0])}.")
            weight = weight.to_numpy()[given.get_indexer(self.rankers)]
        values = float_array(weight, "weight")
        n = len(self.rankers)
        if values.shape not in ((), (n,)):
            raise ValueError(
                f"`weight` must be one number or have shape ({n},), one per ranker; got "
                f"{values.shape}."
            )
        values = np.array(np.broadcast_to(values, (n,)))
        bad = np.flatnonzero(~((values > 0) & np.isfinite(values)))
        if len(bad):
            raise ValueError(
                f"A weight must be positive and finite; ranker {label_repr(self.rankers[bad[0]])} "
                f"has {values[bad[0]]:g}. Leave out rankers that should not count: "
                f"counts.subset(rankers=...)."
            )
        return replace(self, weight=values)

    def pooled(self, label: Hashable = "all") -> Self:
        """Add up the counts of all rankers, as those of one.

        Parameters
        ----------
        label : hashable
            The ranker's.

        Returns
        -------
        PairCounts
            With evidence weight one.

        Examples
        --------
        >>> import bayesrank as br
        >>> br.Rankings.from_orderings([["b", "a"], ["b", "a"]]).counts().pooled().dense("all")
        array([[0., 0.],
               [2., 0.]])
        """
        size = (len(self.items),) * 2
        table = csr_array((self.count, (self.first, self.second)), shape=size).tocsr()
        table.sum_duplicates()
        entries = table.tocoo()
        first, second = (axis.astype(np.int32) for axis in entries.coords)
        return replace(
            self,
            rankers=pd.Index([label], tupleize_cols=False),
            ranker_idx=np.zeros_like(first),
            first=first,
            second=second,
            count=entries.data,
            weight=np.ones(1),
        )

    def subset(
        self,
        *,
        rankers: Iterable[Hashable] | None = None,
        problems: Iterable[Hashable] | None = None,
    ) -> Self:
        """Keep some rankers, some problems, or some of each.

        Parameters
        ----------
        rankers : sequence of labels, optional
            All by default. Those kept stay on their axis, whether or not they have entries left.
        problems : sequence of labels, optional
            All by default. Only their items stay.

        Returns
        -------
        PairCounts
            On shorter axes, in the order in which they stand.

        Raises
        ------
        ValueError
            If a label is unknown or nothing is kept.

        Examples
        --------
        >>> c = PairCounts.from_matrix([[[0, 3], [1, 0]], [[0, 0], [2, 0]]], rankers=["u", "v"])
        >>> c.subset(rankers=["v"]).count
        array([2.])
        """
        stays = {}
        for noun, wanted in (("ranker", rankers), ("problem", problems)):
            axis = self.rankers if noun == "ranker" else self.problems
            stays[noun] = (
                np.ones(len(axis), dtype=bool) if wanted is None else _chosen(wanted, axis, noun)
            )
        item = stays["problem"][self.problem_idx]
        entry = stays["ranker"][self.ranker_idx] & item[self.first]

        def moved(index: NDArray[np.int32], kept: NDArray[np.bool_]) -> NDArray[np.int32]:
            return (np.cumsum(kept, dtype=np.int32) - np.int32(1))[index]

        return replace(
            self,
            items=self.items[item],
            rankers=self.rankers[stays["ranker"]],
            problems=self.problems[stays["problem"]],
            problem_idx=moved(self.problem_idx[item], stays["problem"]),
            ranker_idx=moved(self.ranker_idx[entry], stays["ranker"]),
            first=moved(self.first[entry], item),
            second=moved(self.second[entry], item),
            count=self.count[entry],
            weight=self.weight[stays["ranker"]],
        )


def _chosen(labels: Iterable[Hashable], axis: pd.Index, noun: str) -> NDArray[np.bool_]:
    """Mark the labels on an axis."""
    wanted = locate(axis_index(labels, f"{noun}s"), axis, noun)
    if not len(wanted):
        raise ValueError(f"No {noun} is kept: counts need at least one.")
    stays = np.zeros(len(axis), dtype=bool)
    stays[wanted] = True
    return stays
