"""Counts without a model: how often each item is first, and who is ahead of whom."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from bayesrank.data import Pairs, Rankings

LITTLE = 0.5  # share of what could be known about an item, below which it is unknown
THIN = 20.0  # number of even matches that link two items, below which the link may be thin
CLEAR = 2.0  # difference in standard errors from which the data alone show who is better
MOST_ITEMS = 2_000  # most items for which pairs are counted
MOST_PAIRS = 300_000_000  # most pairs in all rankings
UNLINKED = 1e-9  # information between items that no comparison links


class PairWins(NamedTuple):
    """How often each item is ahead of each other item, and how often they are tied."""

    items: pd.Index  # labels
    wins: NDArray[np.float64]  # (n_items, n_items) how often row is ahead of column
    ties: NDArray[np.float64]  # (n_items, n_items) how often the two are tied; symmetric

    @property
    def met(self) -> NDArray[np.float64]:
        """How often two items were compared."""
        return self.wins + self.wins.T + self.ties


def first_places(rankings: Rankings) -> pd.Series:
    """Count the rankings in which each item is first, (n_items,).

    Items that share the first place count 1/k each, for k items. A row counts with its count and
    weight.

    Examples
    --------
    >>> first_places(Rankings.from_orderings([[{"a", "b"}, "c"], ["a", "c"]], rest=())).tolist()
    [1.5, 0.5, 0.0]
    """
    row, slot = np.nonzero(rankings.ranks == 1)
    share = rankings.evidence[row] / rankings.block_sizes[row, 0]
    counts = np.bincount(rankings.item[row, slot], share, rankings.n_items)
    return pd.Series(counts, rankings.items, name="first")


def pair_wins(data: Rankings | Pairs, weight: NDArray[np.float64] | None = None) -> PairWins:
    """Count wins and ties of each pair of items, in rankings or in matches.

    Each row counts with its count and weight. The argument `weight` replaces the weight of a match,
    or both for rankings.

    Examples
    --------
    >>> pairs = Pairs.from_matrix([[0, 3], [1, 0]], ties=[[0, 1], [1, 0]], items=["a", "b"])
    >>> found = pair_wins(pairs)
    >>> found.wins.tolist(), found.ties.tolist(), found.met.tolist()
    ([[0.0, 3.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]], [[0.0, 5.0], [5.0, 0.0]])
    """
    n = data.n_items
    own = data.weight if isinstance(data, Pairs) else data.evidence
    weights = own if weight is None else weight
    wins, ties = np.zeros(n * n), np.zeros(n * n)
    if isinstance(data, Pairs):
        one, other = data.first.astype(np.int64), data.second.astype(np.int64)
        first, second, tied = data.counts.T * weights
        wins += np.bincount(one * n + other, first, n * n)
        wins += np.bincount(other * n + one, second, n * n)
        ties += np.bincount(one * n + other, tied, n * n)
    else:
        item = data.item.astype(np.int64)
        for gap in range(1, data.n_slots):  # slots are sorted, best first
            row, slot = np.nonzero(data.mask[:, gap:])
            cell = item[row, slot] * n + item[row, slot + gap]
            level = data.ranks[row, slot] == data.ranks[row, slot + gap]
            wins += np.bincount(cell, np.where(level, 0.0, weights[row]), n * n)
            ties += np.bincount(cell, np.where(level, weights[row], 0.0), n * n)
    square = ties.reshape(n, n)
    return PairWins(data.items, wins.reshape(n, n), square + square.T)


def countable(data: Rankings | Pairs) -> bool:
    """Whether the pairs of items are few enough to count."""
    if isinstance(data, Pairs):
        return data.n_items <= MOST_ITEMS
    pairs = float((data.mask.sum(axis=1).astype(float) ** 2).sum() / 2)
    return data.n_items <= MOST_ITEMS and pairs <= MOST_PAIRS


def comparisons(data: Rankings | Pairs) -> PairWins:
    """Count wins and ties of pairs of items, as many as independent matches would tell as much.

    A ranking of m items has m (m - 1) / 2 pairs, but less information. A match of equal items has
    the information 1 / 4. A stage of Plackett-Luce's model with r equal items left has 1 / r² about
    each pair of them.

    Examples
    --------
    >>> comparisons(Rankings.from_orderings([["a", "b"]], rest=())).met.tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    >>> comparisons(Rankings.from_orderings([["a", "b", "c"]], rest=())).met.round(2).tolist()[0]
    [0.0, 0.78, 0.78]
    """
    if isinstance(data, Pairs):
        return pair_wins(data)
    sizes = np.maximum(data.mask.sum(axis=1), 1)
    stages = (1 - 1 / np.arange(1, sizes.max() + 1)).cumsum()[sizes - 1]  # of full rankings
    full = np.maximum(sizes - 1, 1)
    worth = 4 * stages / (sizes * full) * (data.ranks.max(axis=1) - 1) / full
    return pair_wins(data, data.evidence * worth)


def link_shares(pairs: PairWins, utility: NDArray[np.float64], leader: int) -> NDArray[np.float64]:
    r"""Find the items that only a few comparisons link with the leader.

    Matches of i and j are a link with the information :math:`n_{ij} p_{ij} (1 - p_{ij})`. Without a
    prior, the variance of the difference of two items is the resistance R between them in the
    network of these links. If all items meet each other, it is about
    :math:`R_0 = 1/c_i + 1/c_l`, where c sums the links of an item. If a few comparisons link two
    groups, R is larger, however many matches the items have within their groups.

    Returns
    -------
    array, (n_items,)
        :math:`R_0 / R` for items with a thin link, 0 for items that were never compared, and 1 for
        all others. A link is thin if the share is below `LITTLE`, and fewer than `THIN` even
        matches would tell as much. Also, the data alone must not show that the leader is better.

    References
    ----------
    von Luxburg, Radl and Hein (2014). Hitting and commute times in large random neighborhood
    graphs. Journal of Machine Learning Research 15.

    Examples
    --------
    Four matches link a, b with c, d, which played each other a hundred times.

    >>> wins = np.array([[0, 50, 0, 0], [50, 0, 2, 0], [0, 2, 0, 50], [0, 0, 50, 0]], dtype=float)
    >>> pairs = PairWins(pd.Index([*"abcd"]), wins, np.zeros((4, 4)))
    >>> link_shares(pairs, np.zeros(4), leader=0).round(2).tolist()
    [1.0, 1.0, 0.08, 0.07]
    """
    p = expit(utility[:, None] - utility)
    links = pairs.met * p * (1 - p)
    total = links.sum(axis=1)
    others = np.arange(len(utility)) != leader
    laplacian = (np.diag(total) - links)[np.ix_(others, others)]
    resistance = np.full(len(utility), UNLINKED)
    grounded = laplacian + UNLINKED * np.eye(len(laplacian))
    resistance[others] = np.diag(np.linalg.inv(grounded))
    linked = total > 0
    direct = 1 / np.where(linked, total, np.inf) + 1 / max(total[leader], UNLINKED)
    share = direct / resistance
    doubtful = utility[leader] - utility < CLEAR * np.sqrt(resistance)
    thin = others & linked & (resistance > 4 / THIN) & (share < LITTLE) & doubtful
    return np.where(others & ~linked, 0.0, np.where(thin, share, 1.0))


def condorcet(pairs: PairWins) -> int | None:
    """Find the position of the Condorcet winner, which beats every other item more often than not.

    References
    ----------
    Condorcet, M. de (1785). Essai sur l'application de l'analyse à la probabilité des décisions
    rendues à la pluralité des voix.

    Examples
    --------
    >>> condorcet(pair_wins(Rankings.from_orderings([["a", "b", "c"], ["c", "b"]], rest=())))
    0
    """
    ahead = (pairs.wins > pairs.wins.T).sum(axis=1)
    best = int(ahead.argmax())
    return best if ahead[best] == len(ahead) - 1 else None
