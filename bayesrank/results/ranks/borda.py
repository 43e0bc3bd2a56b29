r"""Borda count: the share of the others that an item beats, on average.

Ranker n ranks :math:`K_n` items. Item i gets its normalised rank

.. math:: b_{ni} = \frac{\#\{j : i \succ_n j\} + \tfrac12 \#\{j : i \sim_n j\}}{K_n - 1}
                 = \frac{K_n - \bar r_{ni}}{K_n - 1},

which is one for the best item and zero for the last. Here :math:`\bar r_{ni}` is the rank, and tied
items share their mean rank. The score of an item is the mean of :math:`b_{ni}` over the rankers who
ranked it.
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
        In rankings, the other items are those of the same ranking. In counts, they are all items
        of the same problem that the ranker compares. There, i beats j if the ranker prefers i at
        all; they are tied if the ranker prefers neither, or each to the other.

    Returns
    -------
    Series
        One score per item, between 0 and 1: the weighted mean over the rankings (or rankers) that
        contain the item, NaN if none does. Rankings of a single item are ignored.

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
    item, share, weight = (
        _ranking_shares(data) if isinstance(data, Rankings) else _count_shares(data)
    )
    n = len(data.items)
    held = np.bincount(item, weight, n)
    total = np.bincount(item, weight * share, n)
    mean = np.divide(total, held, out=np.full(n, np.nan), where=held > 0)
    # Rounding ties items that have the same shares from different rankers.
    mean = mean.round(12)
    return pd.Series(mean, index=data.items, name="borda")


def _ranking_shares(rankings: Rankings) -> Shares:
    """Compute the shares beaten in each ranking from block sizes, without listing pairs."""
    row, slot = np.nonzero(rankings.mask & (rankings.mask.sum(axis=1) > 1)[:, None])
    block = rankings.ranks[row, slot] - 1
    others = rankings.mask.sum(axis=1)[row] - 1
    tied = rankings.block_sizes[row, block] - 1
    above = np.cumsum(rankings.block_sizes, axis=1)[row, block] - tied - 1
    share = (others - above - tied / 2) / others
    return rankings.item[row, slot], share, rankings.weight[row]


def _count_shares(counts: PairCounts) -> Shares:
    """Compute the share beaten for each ranker and each item that the ranker compares."""
    one, other = counts.first, counts.second
    shape = len(counts.rankers), len(counts.items)
    # one cell per ranker and item compared: wins minus losses
    signs = np.repeat([1.0, -1.0], len(counts))
    cells = np.tile(counts.ranker_idx, 2), np.concatenate([one, other])
    lead = csr_array((signs, cells), shape=shape).tocoo()
    ranker, item = lead.coords

    cell = ranker.astype(np.int64) * len(counts.problems) + counts.problem_idx[item]
    others = np.bincount(cell)[cell] - 1
    return item, (1 + lead.data / others) / 2, counts.weight[ranker]
