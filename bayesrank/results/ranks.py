"""Posteriors of ranks: who is best, how sure that is, and who is tied with the leader.

Every draw of the utilities is a complete order of the items, so the draws of the utilities are
draws of the ranks. What is read off them are statements such as "rank 3 to 9 with probability
0.94" or "best with probability 0.6", which means and standard deviations of utilities cannot
give.

Data are an ArviZ `DataTree` (what `pm.sample` returned, or one group of it), an xarray `Dataset`,
or a `DataArray`, with the dims chain and draw, one dim of items, and any others (groups, rankers),
which stay.

>>> import numpy as np, xarray as xr
>>> u = xr.DataArray([[[2.0, 1.0], [2.5, 3.0]]], dims=("chain", "draw", "item"),
...                  coords={"item": ["a", "b"]})
>>> rank_draws(u).values.tolist()
[[[1, 2], [2, 1]]]
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesrank.results.draws import (
    check_probability,
    check_tops,
    each_group,
    group_dims,
    item_labels,
    posterior_utilities,
    ranks_of,
)
from bayesrank.results.intervals import equal_tails, simultaneous_bounds
from bayesrank.results.leading import find_leader

__all__ = ["rank_draws", "rank_summary"]


def rank_draws(data: Any, var: str = "utility", *, dim: str = "item") -> xr.DataArray:
    """Rank the items in every draw.

    Parameters
    ----------
    data : DataTree, Dataset or DataArray
        Posterior with dims chain, draw and `dim`.
    var : str
        The variable to rank, highest first.
    dim : str
        The dim of the items.

    Returns
    -------
    DataArray of int32
        Same dims; 1 = best. Items equal in a draw (which has probability zero unless the model
        ties them) share the better rank.

    Raises
    ------
    ValueError
        If the variable or a dim is missing, there is no draw, or one is not finite.

    Examples
    --------
    >>> u = xr.DataArray([[[0.3, 1.2, -0.5]]], dims=("chain", "draw", "item"))
    >>> rank_draws(u).values.tolist()
    [[[2, 1, 3]]]
    """
    utility = posterior_utilities(data, var, dim)
    items_last = utility.transpose(..., dim)
    ranks = ranks_of(items_last.values.reshape(-1, utility.sizes[dim])).reshape(items_last.shape)
    return items_last.copy(data=ranks).rename("rank").transpose(*utility.dims)


def rank_summary(
    data: Any,
    var: str = "utility",
    *,
    dim: str = "item",
    top: int | Sequence[int] = 3,
    prob: float = 0.94,
    simultaneous: bool = False,
    tied_prob: float = 0.95,
) -> pd.DataFrame:
    """Summarise the posterior of ranks, best mean rank first.

    Parameters
    ----------
    data : DataTree, Dataset or DataArray
        Posterior with dims chain, draw and `dim`.
    var : str
        The variable to rank, highest first.
    dim : str
        The dim of the items.
    top : int or sequence of int
        The k of the columns ``p_top{k}``, at least 1; a column is 1 for k items or fewer.
    prob : float
        Probability of the rank interval, in (0, 1): whole ranks; equal tails unless simultaneous.
    simultaneous : bool
        True makes intervals that hold for all items of a group at once with probability `prob`
        or more (Besag et al. 1995): in that share of the draws every item has a rank inside its
        interval. They are wider than those of each item by itself, and reach from the d-th
        smallest to the d-th largest of its ranks, with the largest d, the same for all items, for
        which this holds; `bayesrank.results.intervals.simultaneous_bounds` has the formula.
    tied_prob : float
        The leader is better than all items that are not tied with it, at once, with at least this
        probability, in (0.5, 1).

    Returns
    -------
    DataFrame
        One row per item (and per group, for other dims) with the columns mean_rank, rank_low,
        rank_high, p_best, p_top{k}, tied_with_leader, p_leader_better, mean and sd (of the
        variable). The leader has the lowest mean rank of its group; it is tied with itself.

        Whether an item is tied is decided for all items at once, as `tied_with_leader` explains:
        the set of the tied contains the best item with probability `tied_prob` or more.
        ``p_leader_better`` is about each item by itself, so it may be above `tied_prob` for an
        item that is tied; it is never below for one that is not.

    Raises
    ------
    ValueError
        If the variable or a dim is missing, there is no draw or one is not finite, or `top`,
        `prob` or `tied_prob` are out of range.

    Examples
    --------
    >>> u = xr.DataArray([[[2.0, 1.0, 0.0], [3.0, 1.0, 0.0], [0.0, 1.0, -1.0], [2.0, 1.0, 0.0]]],
    ...     dims=("chain", "draw", "item"), coords={"item": ["a", "b", "c"]})
    >>> rank_summary(u, top=2)[["mean_rank", "p_best", "p_top2", "tied_with_leader"]]
          mean_rank  p_best  p_top2  tied_with_leader
    item
    a          1.25    0.75     1.0              True
    b          1.75    0.25     1.0              True
    c          3.00    0.00     0.0             False
    """
    tops = check_tops(top)
    check_probability("prob", prob, 0.0)
    check_probability("tied_prob", tied_prob, 0.5)
    utility = posterior_utilities(data, var, dim)
    interval = simultaneous_bounds if simultaneous else equal_tails

    def summarise(draws: NDArray[np.float64]) -> pd.DataFrame:
        ranks = ranks_of(draws)
        mean_rank = ranks.mean(0)
        low, high = interval(ranks, prob)
        leader = find_leader(draws, mean_rank, tied_prob)
        table = pd.DataFrame(
            {
                "mean_rank": mean_rank,
                "rank_low": low.astype(int),
                "rank_high": high.astype(int),
                "p_best": (ranks == 1).mean(0),
                **{f"p_top{k}": (ranks <= k).mean(0) for k in tops},
                "tied_with_leader": leader.tied,
                "p_leader_better": leader.p_better,
                "mean": draws.mean(0),
                "sd": draws.std(0, ddof=1) if len(draws) > 1 else np.full(len(low), np.nan),
            },
            index=pd.Index(item_labels(utility, dim), name=dim),
        )
        return table.sort_values("mean_rank", kind="stable")

    tables = [summarise(draws) for draws in each_group(utility, dim)]
    groups = group_dims(utility, dim)
    if not groups:
        return tables[0]
    keys = pd.MultiIndex.from_product([utility[d].values for d in groups], names=groups)
    return pd.concat(tables, keys=list(keys), names=[*groups, dim])
