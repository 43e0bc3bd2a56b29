r"""Tiers: groups of items that the posterior separates with high joint probability.

Items are sorted by posterior mean rank, best first, and cut into tiers so that

.. math:: P(\text{each item is better than all items of lower tiers, for all tiers jointly}) \ge p .

A cut after place k holds in a draw if the worst of the first k items is better than the best of the
others. Tiers hold if all their cuts do. Cuts are added greedily: the next cut is the one with which
the tiers hold in most draws. Adding cuts ends when this share would fall below p.

All items of lower tiers have the status "behind" of `rank_summary`: there is no cut above an item
that may be better than the leader.
"""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesrank.results.draws import by_group, check_probability, places_of, posterior_utilities
from bayesrank.results.ranks.counted import PairWins
from bayesrank.results.ranks.rank_table import find_status

__all__ = ["find_tiers", "tiers"]


def tiers(
    data: Any,
    var_name: str = "utility",
    *,
    dim: str = "item",
    prob: float = 0.95,
    compared: PairWins | None = None,
) -> xr.Dataset:
    r"""Cut the items into tiers that the posterior separates jointly.

    Parameters
    ----------
    data, var_name, dim
        Posterior, variable and dim of the items, as in `rank_draws`.
    prob : float
        Least joint probability that every item is better than all items of lower tiers, in (0.5,
        1).
    compared : PairWins, optional
        As in `rank_summary`. Items that only a few comparisons link with the leader are in the
        first tier.

    Returns
    -------
    Dataset
        ``tier`` (..., dim) holds integers, 1 for the best tier. It contains all items that are not
        behind the leader, as in `tied_with_leader`. ``p_tiers`` (...) is the joint probability that
        the tiers hold, 1 if there is only one tier.

    Raises
    ------
    ValueError
        For the reasons of `rank_draws`, or if `prob` is out of range.

    See Also
    --------
    tied_with_leader, rank_clusters, rank_summary, consensus_ordering

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> rng = np.random.default_rng(1)
    >>> u = xr.DataArray(rng.normal([4.0, 3.8, 0.0, -0.2], 0.5, (4, 500, 4)),
    ...                  dims=("chain", "draw", "item"), coords={"item": list("abcd")})
    >>> found = br.tiers(u)
    >>> found["tier"].values, bool(found["p_tiers"] > 0.99)
    (array([1, 1, 2, 2]), True)
    """
    check_probability("prob", prob, 0.5)
    utility = posterior_utilities(data, var_name, dim)
    results = {"tier": (dim,), "p_tiers": ()}
    labels = utility[dim].values

    def cut(draws: NDArray[np.float64]) -> tuple[NDArray[np.int64], float]:
        mean_rank = places_of(draws).mean_rank
        status = find_status(draws, mean_rank, prob, compared=compared, labels=labels)
        return find_tiers(draws, mean_rank, status.tied, prob)

    found = by_group(cut, utility, dim, results)
    return xr.Dataset({x.name: x for x in found})


def find_tiers(
    utility: NDArray[np.float64],
    mean_rank: NDArray[np.float64],
    tied: NDArray[np.bool_],
    prob: float,
) -> tuple[NDArray[np.int64], float]:
    """Return tiers and their probability from the draws (n_draws, n_items) of one group.

    The items `tied` (n_items,) are in the first tier.
    """
    order = mean_rank.argsort(kind="stable")
    ordered = utility[:, order]
    worst = np.minimum.accumulate(ordered, axis=1)[:, :-1]
    best = np.maximum.accumulate(ordered[:, ::-1], axis=1)[:, ::-1][:, 1:]
    holds = worst > best  # (n_draws, n_items - 1): the cut after place k
    n_draws, n_cuts = holds.shape
    left = np.arange(n_draws)  # draws in which all cuts so far hold
    open_cuts = np.arange(1, n_cuts + 1) > np.flatnonzero(tied[order]).max()
    cuts = np.zeros(n_cuts, dtype=bool)
    while open_cuts.any():
        share = holds[left].sum(0) / n_draws
        share[~open_cuts] = -1
        open_cuts &= share >= prob
        if not open_cuts.any():
            break
        k = int(share.argmax())
        cuts[k], open_cuts[k] = True, False
        left = left[holds[left, k]]
    tier = np.empty(len(order), dtype=np.int64)
    tier[order] = 1 + np.concatenate([[0], np.cumsum(cuts)])
    return tier, len(left) / n_draws
