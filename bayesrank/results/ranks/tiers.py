r"""Tiers: groups of items that the posterior separates with high joint probability.

Items are sorted by posterior mean rank, best first, and cut into tiers so that

.. math:: P(\text{each item is better than all items of lower tiers, for all tiers jointly}) \ge p .

A cut after place k holds in a draw if the worst of the first k items is better than the best of the
others. Tiers hold if all their cuts do. Cuts are added greedily: the next cut is the one with which
the tiers hold in most draws. Adding cuts ends when this share would fall below p.
"""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesrank.results.draws import by_group, check_probability, posterior_utilities, ranks_of

__all__ = ["find_tiers", "tiers"]


def tiers(
    data: Any, var_name: str = "utility", *, dim: str = "item", prob: float = 0.95
) -> xr.Dataset:
    r"""Cut the items into tiers that the posterior separates jointly.

    Parameters
    ----------
    data, var_name, dim
        Posterior, variable and dim of the items, as in `rank_draws`.
    prob : float
        Least joint probability that every item is better than all items of lower tiers, in (0.5,
        1).

    Returns
    -------
    Dataset
        ``tier`` (..., dim) holds integers, 1 for the best tier. ``p_tiers`` (...) is the joint
        probability that the tiers hold, 1 if there is only one tier.

    Raises
    ------
    ValueError
        For the reasons of `rank_draws`, or if `prob` is out of range.

    See Also
    --------
    tied_with_leader : The leader and the items that cannot be distinguished from it.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> u = xr.DataArray(rng.normal([4.0, 3.8, 0.0, -0.2], 0.5, (4, 500, 4)),
    ...                  dims=("chain", "draw", "item"), coords={"item": list("abcd")})
    >>> found = tiers(u)
    >>> found["tier"].values, bool(found["p_tiers"] > 0.99)
    (array([1, 1, 2, 2]), True)
    """
    check_probability("prob", prob, 0.5)
    utility = posterior_utilities(data, var_name, dim)
    results = {"tier": (dim,), "p_tiers": ()}
    found = by_group(lambda draws: find_tiers(draws, prob), utility, dim, results)
    return xr.Dataset({x.name: x for x in found})


def find_tiers(utility: NDArray[np.float64], prob: float) -> tuple[NDArray[np.int64], float]:
    """Return tiers and their probability from the draws (n_draws, n_items) of one group."""
    order = ranks_of(utility).mean(0).argsort(kind="stable")
    ordered = utility[:, order]
    worst = np.minimum.accumulate(ordered, axis=1)[:, :-1]
    best = np.maximum.accumulate(ordered[:, ::-1], axis=1)[:, ::-1][:, 1:]
    holds = worst > best  # (n_draws, n_items - 1): the cut after place k
    n_draws, n_cuts = holds.shape
    standing = np.arange(n_draws)  # draws in which all cuts so far hold
    open_cuts, cuts = np.ones(n_cuts, dtype=bool), np.zeros(n_cuts, dtype=bool)
    while open_cuts.any():
        share = holds[standing].sum(0) / n_draws
        share[~open_cuts] = -1
        open_cuts &= share >= prob
        if not open_cuts.any():
            break
        k = int(share.argmax())
        cuts[k], open_cuts[k] = True, False
        standing = standing[holds[standing, k]]
    tier = np.empty(len(order), dtype=np.int64)
    tier[order] = 1 + np.concatenate([[0], np.cumsum(cuts)])
    return tier, len(standing) / n_draws
