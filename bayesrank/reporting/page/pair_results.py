"""Comparisons of each two items, as numbers for the script of the page."""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesrank.results.draws import centred, posterior_utilities
from bayesrank.results.ranks.counted import PairWins
from bayesrank.results.ranks.probabilities import win_probability

__all__ = ["pair_results"]


def pair_results(
    data: Any,
    items: Any,
    counted: PairWins | None = None,
    *,
    var_name: str = "utility",
    dim: str = "item",
) -> dict[str, Any]:
    """Compare each two items: who is better, by how much, and how often they met.

    Parameters
    ----------
    data, var_name, dim
        Posterior, variable and dim of the items, as in `rank_draws`.
    items : sequence of labels
        The items to compare.
    counted : PairWins, optional
        From `pair_wins`.

    Returns
    -------
    dict
        ``items`` and their ``mean`` utility, relative to the mean of all items. Pairs of items are
        along the rows of the upper triangle. ``better`` is 1000 times the probability that the
        first item of a pair is better. ``sd`` is the standard deviation of the difference. ``met``
        maps the number of a pair to its wins, losses and ties; it is None without counts.

    Examples
    --------
    >>> u = xr.DataArray([[[2.0, 1.0], [3.0, 1.0], [0.0, 1.0], [2.0, 1.0]]],
    ...                  dims=("chain", "draw", "item"), coords={"item": ["a", "b"]})
    >>> pair_results(u, ["a", "b"])["better"]
    [750]
    """
    utility = centred(posterior_utilities(data, var_name, dim), dim).sel({dim: list(items)})
    one, other = np.triu_indices(len(items), 1)
    draws = utility.transpose("chain", "draw", dim).values.reshape(-1, len(items))
    covariance = np.atleast_2d(np.cov(draws, rowvar=False)) if len(draws) > 1 else None
    sd = np.zeros(len(one))
    if covariance is not None:
        variance = np.diag(covariance)
        sd = np.sqrt((variance[one] + variance[other] - 2 * covariance[one, other]).clip(0))
    better = win_probability(xr.DataArray(draws[None], dims=("chain", "draw", "item"))).to_numpy()
    met = None
    if counted is not None:
        place = np.asarray(counted.items.get_indexer(pd.Index(items)))
        i, j = place[one], place[other]
        numbers = np.stack([counted.wins[i, j], counted.wins[j, i], counted.ties[i, j]], axis=1)
        rows = np.flatnonzero(numbers.any(axis=1)).tolist()
        met = {k: [round(x, 2) for x in numbers[k].tolist()] for k in rows}
    return {
        "items": [str(item) for item in items],
        "mean": draws.mean(axis=0).round(3).tolist(),
        "better": (1000 * better[one, other]).round().astype(int).tolist(),
        "sd": sd.round(2).tolist(),
        "met": met,
    }
