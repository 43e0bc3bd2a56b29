"""Pairs: outcomes of comparisons of two items, such as matches.

A *pair* is the unit of observation: two items, who judged, and whatever else keeps matches apart.
In row ``k`` the judge ``judge_idx[k]`` compared ``first[k]`` with ``second[k]``; ``counts[k]`` says
how often the first won, the second won, and the two tied.

>>> table = pd.DataFrame({"home": ["a", "b", "a"], "away": ["b", "c", "b"]})
>>> table["result"] = ["first", "tie", "second"]
>>> matches = Pairs.from_frame(table, first="home", second="away", outcome="result")
>>> matches
Pairs: 2 pairs of 3 items by 1 judge, 3 matches (1 first, 1 second, 1 tie)
>>> matches.counts
array([[1, 1, 0],
       [0, 0, 1]])
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.data.derive.connectivity import Connectivity, connectivity
from bayesrank.data.pair_constructors import Group, PairConstructors, UncomparedItemWarning
from bayesrank.data.read.labels import coord_values, counted, label_repr, quoted
from bayesrank.data.read.pair_entries import OUTCOMES

__all__ = ["OUTCOMES", "Group", "Pairs", "UncomparedItemWarning"]

MOST_NAMED = 100_000
"""Pairs up to which each gets a name; names of more would take more room than the data."""


@dataclass(frozen=True, eq=False, repr=False)
class Pairs(PairConstructors):
    """Outcomes of comparisons of two items, such as matches, counted per pair.

    Made by `from_frame`, by `from_matrix` or by ``Rankings.pairs``, which check; the fields
    themselves are trusted. What is observed as a draw, a tie, is *judged equal*.

    Attributes
    ----------
    items, judges : pandas.Index
        Axes; without a judge column there is one judge 'all'.
    first, second : array of int32, shape (n_pairs,)
        Items compared. The first may have an advantage (home, white, shown on the left).
    counts : array of int64, shape (n_pairs, 3)
        How often the first won, the second won, and the two tied.
    weight : array of float64, shape (n_pairs,)
        Evidence weight, >= 0, that multiplies the log-likelihood; 1 by default.
    judge_idx : array of int32, shape (n_pairs,)
        Who judged.
    groups : mapping of str to Group
        What else keeps pairs apart (category, prompt, day): ``labels``, a pandas Index, and
        ``idx``, array of int32, shape (n_pairs,).
    collapsed : bool
        Whether matches of equal first, second, judge, groups and weight are one pair.
    """

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return len(self.first)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def n_matches(self) -> int:
        """Number of matches, the sum of the counts."""
        return int(self.counts.sum())

    @property
    def labels(self) -> pd.Index:
        """Names of the pairs.

        Returns
        -------
        pandas.Index
            "a - b" for the items a and b, with the judge, the groups and the weight where there
            are several: "a - b by Ann, category maths, weight 0.5". The numbers 0, 1, 2, ... if
            pairs are not collapsed, if such names would not differ, or beyond 100,000 pairs.

        Examples
        --------
        >>> Pairs.from_matrix([[0, 3], [1, 0]], items=["a", "b"]).labels.tolist()
        ['a - b']
        """
        numbers = pd.RangeIndex(self.n_pairs)
        if not self.collapsed or self.n_pairs > MOST_NAMED:
            return numbers
        names = pd.Series(_text(self.items, self.first)) + " - " + _text(self.items, self.second)
        if len(self.judges) > 1:
            names += " by " + _text(self.judges, self.judge_idx)
        for group, (labels, idx) in self.groups.items():
            if len(labels) > 1:
                names += f", {group} " + _text(labels, idx)
        if (self.weight != self.weight[0]).any():
            names += ", weight " + pd.Series(self.weight).map("{:g}".format)
        named = pd.Index(names)
        return named if named.is_unique else numbers

    @property
    def coords(self) -> dict[str, NDArray[Any]]:
        """Coordinates for ``pm.Model(coords=...)``: item, pair, judge and the groups."""
        return {
            "item": coord_values(self.items),
            "pair": coord_values(self.labels),
            "judge": coord_values(self.judges),
        } | {name: coord_values(group.labels) for name, group in self.groups.items()}

    # Who judged, and what else keeps pairs apart

    def group_labels(self, name: str) -> pd.Index:
        """Labels of "judge" or of a group, its axis.

        Parameters
        ----------
        name : str
            "judge" or the name of a group.

        Returns
        -------
        pandas.Index

        Raises
        ------
        ValueError
            If there is no such group; the sentence lists those there are.

        Examples
        --------
        >>> Pairs.from_matrix([[0, 3], [1, 0]]).group_labels("judge").tolist()
        ['all']
        """
        return self._group(name).labels

    def group_idx(self, name: str) -> NDArray[np.int32]:
        """Position of each pair on the axis of "judge" or of a group.

        Parameters
        ----------
        name : str
            "judge" or the name of a group.

        Returns
        -------
        array of int32, shape (n_pairs,)

        Raises
        ------
        ValueError
            If there is no such group; the sentence lists those there are.

        Examples
        --------
        >>> Pairs.from_matrix([[0, 3], [1, 0]]).group_idx("judge")
        array([0], dtype=int32)
        """
        return self._group(name).idx

    def _group(self, name: str) -> Group:
        groups = {"judge": Group(self.judges, self.judge_idx), **self.groups}
        if name not in groups:
            raise ValueError(
                f"There is no group {label_repr(name)}: pairs are kept apart by {quoted(groups)}. "
                f"Name its column in `by` of from_frame."
            )
        return groups[name]

    # Other pairs, and what follows from them

    def split_ties(self) -> Self:
        r"""Count half a win of each item for a tie.

        All counts double, so that they stay whole, and the weights halve:

        .. math:: (f, s, t) \to (2 f + t, 2 s + t, 0), \qquad w \to w / 2

        where f, s and t say how often the first won, the second won and the two tied. This is a
        *pseudo-likelihood* for models without ties. It pretends that two ties tell as much as a
        win of each, and it throws away how often items tie, so that no outcome has a probability
        and there is no LOO. `Davidson` and `RaoKupper` have ties as outcomes.

        Returns
        -------
        Pairs
            The same object if nothing ties.

        Examples
        --------
        >>> half = Pairs.from_matrix([[0, 3], [1, 0]], ties=[[0, 1], [1, 0]]).split_ties()
        >>> half.counts, half.weight
        (array([[7, 3, 0]]), array([0.5]))
        """
        first, second, tie = self.counts.T
        if not tie.any():
            return self
        counts = np.stack([2 * first + tie, 2 * second + tie, np.zeros_like(tie)], axis=1)
        return replace(self, counts=counts, weight=self.weight / 2)

    def connectivity(self) -> Connectivity:
        """Components of the graph in which the winner of a match beats the other item.

        Returns
        -------
        Connectivity
            Weak and strong components, the items that never win or never lose, and what that
            means in sentences. A tie, judged equal, counts as a win of each: like one it keeps
            the two utilities at a finite distance.

        Examples
        --------
        >>> Pairs.from_matrix([[0, 3, 0], [1, 0, 2], [0, 0, 0]]).connectivity().never_wins.tolist()
        [2]
        """
        first, second, tie = (self.counts > 0).T
        better = np.concatenate([self.first[first | tie], self.second[second | tie]])
        worse = np.concatenate([self.second[first | tie], self.first[second | tie]])
        edge = np.unique(better.astype(np.int64) * self.n_items + worse)
        item = np.stack(np.divmod(edge, self.n_items), axis=1).astype(np.int32)
        ranks = np.broadcast_to(np.array([1, 2], dtype=np.int32), item.shape)
        return replace(connectivity(self.items, item, ranks), source="pairs")

    def to_frame(self) -> pd.DataFrame:
        """Write a long table, which `from_frame` reads back.

        Returns
        -------
        DataFrame
            One row per pair and outcome seen (for a pair without matches one row that counts 0):
            first, second, outcome, count, judge, the groups, and weight if they are not all 1.

        Examples
        --------
        >>> Pairs.from_matrix([[0, 3], [1, 0]], items=["a", "b"]).to_frame()
          first second outcome  count judge
        0     a      b   first      3   all
        1     a      b  second      1   all
        """
        seen = self.counts > 0
        seen[:, 0] |= ~seen.any(axis=1)
        pair, outcome = np.nonzero(seen)
        columns: dict[str, Any] = {
            "first": self.items.take(self.first[pair]),
            "second": self.items.take(self.second[pair]),
            "outcome": pd.Index(OUTCOMES).take(outcome),
            "count": self.counts[pair, outcome],
            "judge": self.judges.take(self.judge_idx[pair]),
        }
        columns |= {name: labels.take(idx[pair]) for name, (labels, idx) in self.groups.items()}
        if (self.weight != 1).any():
            columns["weight"] = self.weight[pair]
        return pd.DataFrame(columns)

    def __len__(self) -> int:
        """Count the pairs."""
        return self.n_pairs

    def __repr__(self) -> str:
        """Say in a line how much of what there is."""
        total = self.counts.sum(axis=0)
        share = ", ".join(f"{n} {name}" for n, name in zip(total, OUTCOMES, strict=True))
        apart = "".join(f" and {len(g.labels)} of {name!r}" for name, g in self.groups.items())
        n = self.n_matches
        return (
            f"Pairs: {counted(self.n_pairs, 'pair')} of {counted(self.n_items, 'item')} by "
            f"{counted(len(self.judges), 'judge')}{apart}, {n} match{'' if n == 1 else 'es'} "
            f"({share})"
        )


def _text(axis: pd.Index, idx: NDArray[np.int32]) -> Any:
    """Labels as strings, one per pair."""
    return pd.array([str(label) for label in axis], dtype="str").take(idx)
