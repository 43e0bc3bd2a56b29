"""Rankings: a collection of weak orders, one row per ranking, slots sorted best first.

A *ranking* is one weak order by one ranker over the items presented to it. Row ``n`` holds its
items in the slots ``0, ..., n_items_of_ranking - 1``, best first; ``ranks`` are dense (1 = best,
equal = one block) and 0 marks an empty slot. Within a block the slots follow the item axis.

>>> r = Rankings.from_orderings([["b", "a", "c"], ["c", {"a", "b"}]])
>>> r
Rankings: 2 rankings of 3 items by 2 rankers, 3 items in each, 33% of entries tied
>>> r.item
array([[1, 0, 2],
       [2, 0, 1]], dtype=int32)
>>> r.ranks
array([[1, 2, 3],
       [1, 2, 2]], dtype=int32)

Items stand on a sorted axis (or the one given as ``items=``); rankings and rankers keep their
order of first appearance.
"""

from collections.abc import Hashable, Iterable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from bayesrank.data.constructors import Constructors
from bayesrank.data.derive import parts
from bayesrank.data.derive.connectivity import Connectivity, connectivity
from bayesrank.data.derive.layout import UninformativeRankingWarning, arrange
from bayesrank.data.pair_counts import PairCounts
from bayesrank.data.pairs import Pairs
from bayesrank.data.read import entries as read
from bayesrank.data.read.count_entries import check_kind, of_problems, one_problem, ordered_pairs
from bayesrank.data.read.entries import Labels
from bayesrank.data.read.labels import label_repr
from bayesrank.data.selections import Selections

__all__ = ["Rankings", "UninformativeRankingWarning"]


class Rankings(Constructors, Selections):
    """An immutable, validated, ragged collection of weak orders.

    Most tables go through one of the constructors ``from_ratings``, ``from_long_ranks``,
    ``from_orderings``, ``from_ranks``, ``from_letor`` and ``from_preflib``. This one takes padded
    arrays, in any order of the slots, and sorts the slots best first.

    Parameters
    ----------
    item : array of int, shape (n_rankings, n_slots)
        Position on `items` of the item in each slot; ignored where `ranks` is 0.
    ranks : array of int, shape (n_rankings, n_slots)
        Dense ranks, 1 = best, equal ranks form a block, 0 = empty slot.
    items : sequence of labels
        The item axis.
    rankers : sequence of labels, optional
        The ranker axis; without it every ranking has a ranker of its own.
    ranker_idx : array of int, shape (n_rankings,), optional
        Position on `rankers` of who ranked; may be left out if there is one ranker per ranking.
    weight : array, shape (n_rankings,), optional
        Multiplicity of each ranking, positive; 1 by default.
    labels : sequence of labels, optional
        Names of the rankings; by default those of the rankers where each ranked once, else
        0, 1, 2, ...
    features : array, shape (n_rankings, n_slots, n_features), optional
        Covariates of each slot, in the order of the slots given.
    feature_names : sequence of labels, optional
        Names of the features.

    Attributes
    ----------
    items, rankers, labels : pandas.Index
        Axes of the items, the rankers and the rankings.
    item, ranks : array of int32, shape (n_rankings, n_slots)
        Item in each slot (0 in empty slots) and its rank (0 in empty slots).
    mask : array of bool, shape (n_rankings, n_slots)
        Whether the slot is in use.
    block_sizes : array of int32, shape (n_rankings, n_blocks)
        Sizes of the blocks, 0 after the last.
    ranker_idx : array of int32, shape (n_rankings,)
        Who ranked.
    weight : array of float64, shape (n_rankings,)
        Multiplicity of each ranking.
    features : array of float64, shape (n_rankings, n_slots, n_features), or None
        Covariates.
    feature_names : pandas.Index or None
        Names of the covariates.
    stages : Stages
        The distinct (block, remainder) pairs of the weak orders and their weights, so that each
        is evaluated once. Found when first asked for, then kept.
    coords : dict
        Coordinates for ``pm.Model(coords=...)``: item, ranking, ranker, slot (and feature).
    n_rankings, n_items, n_slots, n_blocks : int
        Lengths of the axes.

    Raises
    ------
    ValueError
        For anything that is not a collection of weak orders, in a sentence that names the place.

    Warns
    -----
    UninformativeRankingWarning
        If rankings hold one item or one block. They are kept and contribute zero, unless block
        sizes are part of a model.

    Examples
    --------
    >>> r = Rankings([[0, 1, 2], [2, 0, 0]], [[2, 1, 1], [1, 2, 0]], items=["a", "b", "c"])
    >>> r.to_frame()[["ranking", "item", "rank"]]
       ranking item  rank
    0        0    b     1
    1        0    c     1
    2        0    a     2
    3        1    c     1
    4        1    a     2
    """

    def __init__(
        self,
        item: ArrayLike,
        ranks: ArrayLike,
        *,
        items: Labels,
        rankers: Labels | None = None,
        ranker_idx: ArrayLike | None = None,
        weight: ArrayLike | None = None,
        labels: Labels | None = None,
        features: ArrayLike | None = None,
        feature_names: Labels | None = None,
    ) -> None:
        entries = read.from_arrays(
            item, ranks, items, rankers, ranker_idx, weight, labels, features, feature_names
        )
        self._set(**arrange(entries, must_be_dense=True))

    def connectivity(self) -> Connectivity:
        """Components of the graph in which an item beats the items of lower blocks.

        Returns
        -------
        Connectivity
            Weak and strong components, the items that never win or never lose, and what that
            means in sentences. The order inside a block is unknown: ties connect nothing.

        Examples
        --------
        >>> Rankings.from_orderings([["a", "b"], ["c", "d"]]).connectivity().n_components
        2
        """
        return connectivity(self.items, self.item, self.ranks)

    def pairs(self, *, ties: Literal["keep", "drop"] = "keep") -> Pairs:
        """All pairs of items presented together, one row per pair and ranking.

        A ranking of n items gives n (n - 1) / 2 pairs. Their product is a composite likelihood:
        it is not comparable with a likelihood of whole rankings.

        Parameters
        ----------
        ties : "keep" or "drop"
            Whether two items of one block are an outcome "tie" (judged equal) or no pair at all
            (order unknown).

        Returns
        -------
        Pairs
            The item in the higher block first; judges are the rankers. Each pair is one match,
            with the weight of its ranking.

        Examples
        --------
        >>> Rankings.from_orderings([["b", "a"]]).pairs().to_frame()
          first second outcome  count  judge
        0     b      a   first      1      0
        """
        if ties not in ("keep", "drop"):
            raise ValueError(f"`ties` must be 'keep' or 'drop'; got {ties!r}.")
        row, better, worse, steps = parts.all_pairs(self.item, self.ranks, keep_ties=ties == "keep")
        counts = np.zeros((len(row), 3), dtype=np.int64)
        counts[:, 0] = steps > 0
        counts[:, 2] = steps == 0
        return Pairs(
            items=self.items,
            judges=self.rankers,
            first=better,
            second=worse,
            counts=counts,
            weight=self.weight[row],
            judge_idx=self.ranker_idx[row],
            groups={},
            collapsed=False,
        )

    def counts(
        self,
        kind: Literal["difference", "binary"] = "difference",
        problem: Iterable[Hashable] | None = None,
    ) -> PairCounts:
        """Count preferences per ranker, for every pair of items the ranker ordered.

        Parameters
        ----------
        kind : "difference" or "binary"
            What a ranking adds to the count of (better, worse), times its weight: the difference
            of the dense ranks, or 1.
        problem : sequence aligned with the items, or Series or mapping by item, optional
            The problem (query, say) of each item; by default all are of one problem 'all'. A
            ranking must not hold items of two.

        Returns
        -------
        PairCounts

        Raises
        ------
        ValueError
            If counts are not whole because weights are not, a ranking holds items of two
            problems, a problem has one item, or an item no problem.

        Examples
        --------
        >>> Rankings.from_orderings([["b", "a", "c"]]).counts().dense(0)
        array([[0., 0., 1.],
               [1., 0., 2.],
               [0., 0., 0.]])
        """
        check_kind(kind)
        axis = one_problem(self.items) if problem is None else of_problems(self.items, problem)
        row, slot = np.nonzero(self.mask)
        item, among = self.item[row, slot], axis.problem_idx
        stray = among[item] != among[self.item[row, 0]]
        if stray.any():
            k = int(stray.argmax())
            best = self.item[row[k], 0]
            raise ValueError(
                f"Items of different problems are never compared, but ranking "
                f"{label_repr(self.labels[row[k]])} holds {label_repr(self.items[best])} of "
                f"{label_repr(axis.problems[among[best]])} and {label_repr(self.items[item[k]])} "
                f"of {label_repr(axis.problems[among[item[k]]])}. Rank each problem by itself."
            )
        pairs = ordered_pairs(row, item, -self.ranks[row, slot].astype(np.float64), among)
        amount = self.weight[pairs.ranker] * (1.0 if kind == "binary" else pairs.step)
        pairs = pairs._replace(ranker=self.ranker_idx[pairs.ranker], step=amount)
        if (np.diff(self.ranker_idx) > 0).all():  # one ranking each: nothing to add up or sort
            counts = PairCounts.of_pairs(axis, self.rankers, pairs)
        else:
            counts = PairCounts.summed(axis, self.rankers, *pairs)
        broken = np.flatnonzero(counts.count % 1)
        if len(broken):
            k = int(broken[0])
            raise ValueError(
                f"Counts must be whole numbers, but the weights of the rankings give ranker "
                f"{label_repr(self.rankers[counts.ranker_idx[k]])} {counts.count[k]:g} for item "
                f"{label_repr(self.items[counts.first[k]])} over "
                f"{label_repr(self.items[counts.second[k]])}. Weights are multiplicities here: "
                f"make them whole, and say with `PairCounts.weighted` what evidence counts for."
            )
        return counts
