r"""Borda count: the share of the others that an item beats, on average.

Ranker n, who ranks the :math:`K_n` items of a set, gives to item i

.. math:: b_{ni} = \frac{\#\{j : i \succ_n j\} + \tfrac12 \#\{j : i \sim_n j\}}{K_n - 1}
                 = \frac{K_n - \bar r_{ni}}{K_n - 1},

its normalised rank: one for the best, zero for the last, with :math:`\bar r_{ni}` the rank among
:math:`K_n` and the mean rank of tied items. The score of an item is the mean of :math:`b_{ni}` over
those who ranked it.
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayesrank.data import PairCounts, Rankings

Shares = tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64]]  # item, share, weight


def borda(data: Rankings | PairCounts) -> pd.Series:
    """Borda count: the mean share of the other items that an item beats; a tie counts half.

    Parameters
    ----------
    data : Rankings or PairCounts
        Rankings, in which the others are those of the ranking. Or counts, in which they are the
        items of the same problem that the ranker compares with any; i beats j if the ranker
        prefers it by however much, and is tied with it if it does so in neither or both ways.

    Returns
    -------
    Series
        One score per item, between 0 and 1. The mean is over the rankings (or rankers) that hold
        the item, by their weights; NaN of an item that none holds. A ranking of one item has no
        others, and does not enter.

    References
    ----------
    Borda, J. C. de (1781). Mémoire sur les élections au scrutin.

    Examples
    --------
    >>> import bayesrank as br
    >>> borda(br.Rankings.from_orderings([["a", "b"], ["b", "a"], ["b", "c"]]))
    a    0.500000
    b    0.666667
    c    0.000000
    Name: borda, dtype: float64
    """
    item, share, weight = _of_rankings(data) if isinstance(data, Rankings) else _of_counts(data)
    n = len(data.items)
    held = np.bincount(item, weight, n)
    total = np.bincount(item, weight * share, n)
    mean = np.divide(total, held, out=np.full(n, np.nan), where=held > 0)
    # Items with the same shares from other rankers are tied, however their sums are rounded.
    mean = mean.round(12)
    return pd.Series(mean, index=data.items, name="borda")


def _of_rankings(rankings: Rankings) -> Shares:
    """Shares beaten in each ranking: by blocks, no pair is spelled out."""
    row, slot = np.nonzero(rankings.mask & (rankings.mask.sum(axis=1) > 1)[:, None])
    block = rankings.ranks[row, slot] - 1
    others = rankings.mask.sum(axis=1)[row] - 1
    tied = rankings.block_sizes[row, block] - 1
    above = np.cumsum(rankings.block_sizes, axis=1)[row, block] - tied - 1
    share = (others - above - tied / 2) / others
    return rankings.item[row, slot], share, rankings.weight[row]


def _of_counts(counts: PairCounts) -> Shares:
    """Shares beaten by each ranker and item that has entries."""
    one, other = counts.first, counts.second
    shape = len(counts.rankers), len(counts.items)
    # the cells of all items that a ranker compares, with their wins less their losses
    signs = np.repeat([1.0, -1.0], len(counts))
    cells = np.tile(counts.ranker_idx, 2), np.concatenate([one, other])
    lead = csr_array((signs, cells), shape=shape).tocoo()
    ranker, item = lead.coords

    cell = ranker.astype(np.int64) * len(counts.problems) + counts.problem_idx[item]
    others = np.bincount(cell)[cell] - 1
    return item, (1 + lead.data / others) / 2, counts.weight[ranker]
