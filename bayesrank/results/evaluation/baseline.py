r"""Random ranking: the log-probability of each observation if all items are alike.

It has no parameters. Its outcomes are those of the model that it is compared with:

=========================================  ======================================================
outcomes                                   random ranking
=========================================  ======================================================
weak orders given their block sizes        Every such order is equally likely:
                                           :math:`\prod_m n_m! / n!`
weak orders                                Every weak order of the n items presented is equally
                                           likely: one over their number, the Fubini number.
pair outcomes (with ties) given the pairs  Outcomes are equally likely: 1/2 each, 1/3 with ties, or
                                           1/4 with ties and "both bad".
counts of ordered pairs given their sum    The model with adherence zero: all pairs are equally
                                           likely.
=========================================  ======================================================

Plackett-Luce, Bradley-Terry and Thurstone models reduce to it with equal utilities, and Mallows
models with a concentration of zero. `PMOP` with free sizes does not: with equal utilities, all sets
are equally likely as the next block. Weak orders that a model excludes, because `tie_prevalence`
sets a largest block, still count as outcomes.
"""

from math import log
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp, xlogy

from bayesrank.schema import AT_RANDOM, COUNTS, RANKS, TABLES, WEIGHT, Kept

__all__ = ["baseline_elpd", "read_outcome"]

Floats = NDArray[np.float64]


def baseline_elpd(data: xr.DataTree, var_name: str = "y") -> xr.DataArray:
    """Compute the log-probability of every observation under random ranking.

    Parameters
    ----------
    data : DataTree
        Results of a model that observes `Rankings`, `Pairs`, `PairCounts`, or an array of ranks or
        counts. Only the groups constant_data and observed_data are read.
    var_name : str
        The observed variable.

    Returns
    -------
    DataArray
        One value per row, with its labels, multiplied by its count and its weight.

    Raises
    ------
    ValueError
        If the results do not declare their outcomes, or random ranking gives them no probability,
        as with a pseudo-likelihood.

    See Also
    --------
    loo, compare

    Examples
    --------
    >>> import numpy as np
    >>> import bayesrank as br
    >>> import bayesrank as br, pymc as pm
    >>> rankings = br.Rankings.from_orderings([["a", "b", "c"], ["b", {"a", "c"}]])
    >>> with pm.Model(coords=rankings.coords):
    ...     y = br.PlackettLuce("y", pm.Normal("utility", 0, 1, dims="item"), observed=rankings)
    ...     prior = pm.sample_prior_predictive(draws=1, random_seed=0)
    >>> np.exp(br.baseline_elpd(prior)).round(4).values
    array([0.1667, 0.3333])
    """
    outcome = read_outcome(data, var_name)
    kept = Kept(data, var_name)
    if not outcome.startswith("nothing"):
        kept.rows()  # raises if there are none
    if outcome.startswith("weak orders"):
        ranks = kept[RANKS]
        share = _log_share_of_weak_orders if outcome == "weak orders" else _log_share_of_orderings
        found = xr.DataArray(share(ranks.to_numpy()), dims=ranks.dims[:1]) * kept[WEIGHT]
    elif outcome.startswith("pair outcomes"):
        counts = kept[COUNTS]
        found = xr.DataArray(_log_share_of_pairs(counts.to_numpy()), dims=counts.dims[:1])
    elif outcome.startswith("counts of ordered pairs") and TABLES in kept:
        tables = kept[TABLES]
        given_sum = outcome.endswith("their sum")
        found = xr.DataArray(
            _log_share_of_counts(tables.to_numpy(), given_sum=given_sum), dims=tables.dims[:1]
        )
    elif outcome.startswith("counts of ordered pairs"):
        if AT_RANDOM not in kept:
            raise ValueError(
                f"The results contain only net counts of {var_name!r}, which do not determine the "
                "probability of the counts at random. Sample the model again with this version, "
                "or compare with baseline=False."
            )
        found = kept[AT_RANDOM]
    else:
        raise ValueError(
            f"{var_name!r} describes {outcome}, which has no probability under random ranking. "
            "Compare with baseline=False."
        )
    (dim,) = found.dims
    coords = {dim: kept.constant[dim]} if dim in kept.constant.coords else {}
    return xr.DataArray(found.to_numpy(), dims=(dim,), coords=coords, name="random")


def read_outcome(data: xr.DataTree, var_name: str, *, whose: str | None = None) -> str:
    """Read which outcomes a variable describes."""
    outcome = Kept(data, var_name).outcome
    if outcome is None:
        subject = "The results do" if whose is None else f"{whose!r} does"
        raise ValueError(
            f"{subject} not declare the outcomes of {var_name!r}. Observe a Rankings, Pairs or "
            "PairCounts with a distribution of bayesrank. For a pm.Mixture of these distributions, "
            "call br.declare_outcomes in the model. Otherwise use arviz.compare, and check that "
            "the outcomes agree."
        )
    return outcome


def _log_share_of_orderings(ranks: NDArray[np.integer[Any]]) -> Floats:
    """Compute the log share of orderings of the items that agree with the blocks."""
    blocks = range(1, int(ranks.max(initial=0)) + 1)
    sizes = np.stack([np.zeros(len(ranks)), *((ranks == k).sum(axis=1) for k in blocks)])
    return gammaln(sizes + 1.0).sum(axis=0) - gammaln(sizes.sum(axis=0) + 1.0)


def _log_share_of_weak_orders(ranks: NDArray[np.integer[Any]]) -> Floats:
    """Compute the log share of one weak order among all weak orders of the items."""
    n, which = np.unique((ranks > 0).sum(axis=1), return_inverse=True)
    return -np.array([log_n_weak_orders(int(n_items)) for n_items in n])[which]


def _log_share_of_pairs(counts: NDArray[Any]) -> Floats:
    """Compute the multinomial log-probability of counts of equally likely outcomes."""
    n, n_outcomes = counts.sum(axis=-1), counts.shape[-1]
    return gammaln(n + 1.0) - gammaln(counts + 1.0).sum(axis=-1) - n * log(n_outcomes)


def _log_share_of_counts(tables: NDArray[Any], *, given_sum: bool) -> Floats:
    """Compute the log-probability of tables of counts: multinomial, or binomial for each pair."""
    n, lower = tables.shape[-1], -gammaln(tables + 1.0).sum(axis=(1, 2))
    if given_sum:
        total = tables.sum(axis=(1, 2))
        return lower + gammaln(total + 1.0) - total * log(n * (n - 1))
    compared = np.triu(tables + tables.swapaxes(1, 2))
    return lower + (gammaln(compared + 1.0) - compared * log(2.0)).sum(axis=(1, 2))


def log_n_weak_orders(n: int) -> float:
    r"""Compute the logarithm of the Fubini number a(n), the number of weak orders of n items.

    .. math:: a(n) = \sum_{k=0}^{\infty} \frac{k^n}{2^{k + 1}}

    The largest terms are near :math:`k = n / \log 2`.

    References
    ----------
    Flajolet, Sedgewick, Analytic Combinatorics, Cambridge 2009, on surjections.
    """
    k = np.arange(20.0 * n + 100)
    return float(logsumexp(xlogy(n, k) - (k + 1) * log(2)))
