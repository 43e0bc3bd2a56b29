r"""Borda count: the share of the others that an item beats, on average.

Ranker n ranks :math:`K_n` items. Item i gets its normalised rank

.. math:: b_{ni} = \frac{\#\{j : i \succ_n j\} + \tfrac12 \#\{j : i \sim_n j\}}{K_n - 1}
                 = \frac{K_n - \bar r_{ni}}{K_n - 1},

which is one for the best item and zero for the last. Here :math:`\bar r_{ni}` is the rank, and tied
items share their mean rank. The score of an item is the mean of :math:`b_{ni}` over the rankers who
ranked it.
"""

import numpy as np
import pandas as pd

from bayesrank.data import Rankings


def borda(rankings: Rankings) -> pd.Series:
    """Borda count: the mean share of the other items that an item beats; a tie counts half.

    Parameters
    ----------
    rankings : Rankings
        The other items are those of the same ranking.

    Returns
    -------
    Series
        One score per item, between 0 and 1: the weighted mean over the rankings that contain
        the item, NaN if none does. Rankings of a single item are ignored.

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
    row, slot = np.nonzero(rankings.mask & (rankings.mask.sum(axis=1) > 1)[:, None])
    block = rankings.ranks[row, slot] - 1
    others = rankings.mask.sum(axis=1)[row] - 1
    tied = rankings.block_sizes[row, block] - 1
    above = np.cumsum(rankings.block_sizes, axis=1)[row, block] - tied - 1
    share = (others - above - tied / 2) / others
    item, weight = rankings.item[row, slot], rankings.evidence[row]
    n = rankings.n_items
    held = np.bincount(item, weight, n)
    total = np.bincount(item, weight * share, n)
    mean = np.divide(total, held, out=np.full(n, np.nan), where=held > 0)
    # Rounding ties items that have the same shares from different rankers.
    mean = mean.round(12)
    return pd.Series(mean, index=rankings.items, name="borda")
