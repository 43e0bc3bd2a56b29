"""Counts without a model: how often each item is first, and who is ahead of whom."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.data import Pairs, Rankings


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

    Items that share the first place count 1/k each, for k items. A ranking counts with its weight.

    Examples
    --------
    >>> first_places(Rankings.from_orderings([[{"a", "b"}, "c"], ["a", "c"]], rest=())).tolist()
    [1.5, 0.5, 0.0]
    """
    row, slot = np.nonzero(rankings.ranks == 1)
    share = rankings.weight[row] / rankings.block_sizes[row, 0]
    counts = np.bincount(rankings.item[row, slot], share, rankings.n_items)
    return pd.Series(counts, rankings.items, name="first")


def pair_wins(data: Rankings | Pairs) -> PairWins:
    """Count wins and ties of each pair of items, in rankings or in matches.

    Each ranking or match counts with its weight.

    Examples
    --------
    >>> pairs = Pairs.from_matrix([[0, 3], [1, 0]], ties=[[0, 1], [1, 0]], items=["a", "b"])
    >>> found = pair_wins(pairs)
    >>> found.wins.tolist(), found.ties.tolist(), found.met.tolist()
    ([[0.0, 3.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]], [[0.0, 5.0], [5.0, 0.0]])
    """
    n = data.n_items
    wins, ties = np.zeros(n * n), np.zeros(n * n)
    if isinstance(data, Pairs):
        one, other = data.first.astype(np.int64), data.second.astype(np.int64)
        first, second, tied = data.counts.T * data.weight
        wins += np.bincount(one * n + other, first, n * n)
        wins += np.bincount(other * n + one, second, n * n)
        ties += np.bincount(one * n + other, tied, n * n)
    else:
        item = data.item.astype(np.int64)
        for gap in range(1, data.n_slots):  # slots are sorted, best first
            row, slot = np.nonzero(data.mask[:, gap:])
            cell = item[row, slot] * n + item[row, slot + gap]
            level = data.ranks[row, slot] == data.ranks[row, slot + gap]
            weight = data.weight[row]
            wins += np.bincount(cell, np.where(level, 0.0, weight), n * n)
            ties += np.bincount(cell, np.where(level, weight, 0.0), n * n)
    square = ties.reshape(n, n)
    return PairWins(data.items, wins.reshape(n, n), square + square.T)


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
