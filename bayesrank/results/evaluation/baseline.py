r"""Random ranking: what every observation is worth to someone who knows nothing of the items.

It has no parameters, and it is a model of the same outcomes as those it is compared with:

=========================================  ======================================================
outcomes                                   random ranking
=========================================  ======================================================
weak orders given their block sizes        every such order is equally likely:
                                           :math:`\prod_m n_m! / n!`
weak orders                                every weak order of the n items presented is equally
                                           likely: one over their number, the Fubini number
pair outcomes (with ties) given the pairs  both items win with probability 1/2 (1/3, as they tie)
counts of ordered pairs given their sum    the model at adherence zero: every pair is equally likely
counts ... given how often each pair is    the model at adherence zero: either item is preferred
compared                                   with probability 1/2
=========================================  ======================================================

Under Plackett-Luce, Bradley-Terry and Thurstone's model it is what equal utilities say, and under
Mallows models a concentration of zero. Under `PMOP` with free sizes it is not: there equal
utilities make all sets equally likely as the next block. Weak orders that a model makes impossible,
by the `tie_prevalence` of a largest block, are outcomes all the same.
"""

from math import log
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp, xlogy

from bayesrank.schema import AT_RANDOM, COUNTS, RANKS, TABLES, WEIGHT, Kept

__all__ = ["baseline_elpd", "outcome_of"]

Floats = NDArray[np.float64]


def baseline_elpd(data: xr.DataTree, *, var: str = "y") -> xr.DataArray:
    """Log-probability of every observation under random ranking.

    Parameters
    ----------
    data : DataTree
        Results of a model that observes `Rankings`, `Pairs` or `PairCounts`, or an array of ranks
        or counts; only the groups constant_data and observed_data are read.
    var : str
        The observed variable.

    Returns
    -------
    DataArray
        With the dim and the labels of what was observed, times its weight.

    Raises
    ------
    ValueError
        If the results do not say what the outcomes are, or random ranking gives them no
        probability, such as those of a pseudo-likelihood.

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> rankings = br.Rankings.from_orderings([["a", "b", "c"], ["b", {"a", "c"}]])
    >>> with pm.Model(coords=rankings.coords):
    ...     y = br.PlackettLuce("y", pm.Normal("utility", 0, 1, dims="item"), observed=rankings)
    ...     prior = pm.sample_prior_predictive(draws=1, random_seed=0)
    >>> np.exp(baseline_elpd(prior)).round(4).values
    array([0.1667, 0.3333])
    """
    outcome = outcome_of(data, var)
    kept = Kept(data, var)
    if not outcome.startswith("nothing"):
        kept.rows()  # that there are any
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
                f"The results hold the net counts of {var!r} alone, which do not tell how probable "
                "the counts are at random. Sample the model again with this version, or compare "
                "with baseline=False."
            )
        found = kept[AT_RANDOM]
    else:
        raise ValueError(
            f"{var!r} describes {outcome}: random ranking gives it no probability. Compare with "
            "baseline=False."
        )
    (dim,) = found.dims
    coords = {dim: kept.constant[dim]} if dim in kept.constant.coords else {}
    return xr.DataArray(found.to_numpy(), dims=(dim,), coords=coords, name="random")


def outcome_of(data: xr.DataTree, var: str, *, whose: str | None = None) -> str:
    """Read what the outcomes of a variable are."""
    outcome = Kept(data, var).outcome
    if outcome is None:
        silent = "The results do" if whose is None else f"{whose!r} does"
        raise ValueError(
            f"{silent} not say what the outcomes of {var!r} are: observe a Rankings, Pairs or "
            "PairCounts with a distribution of bayesrank, ask br.declare_outcomes in a model of a "
            "mixture of ours, or use arviz.compare and see to it yourself."
        )
    return outcome


def _log_share_of_orderings(ranks: NDArray[np.integer[Any]]) -> Floats:
    """Share of the orderings of the items that the blocks are consistent with."""
    blocks = range(1, int(ranks.max(initial=0)) + 1)
    sizes = np.stack([np.zeros(len(ranks)), *((ranks == k).sum(axis=1) for k in blocks)])
    return gammaln(sizes + 1.0).sum(axis=0) - gammaln(sizes.sum(axis=0) + 1.0)


def _log_share_of_weak_orders(ranks: NDArray[np.integer[Any]]) -> Floats:
    """One among all weak orders of the items."""
    n, which = np.unique((ranks > 0).sum(axis=1), return_inverse=True)
    return -np.array([log_n_weak_orders(int(n_items)) for n_items in n])[which]


def _log_share_of_pairs(counts: NDArray[Any]) -> Floats:
    """Multinomial probability of the counts of equally likely outcomes."""
    n, n_outcomes = counts.sum(axis=-1), counts.shape[-1]
    return gammaln(n + 1.0) - gammaln(counts + 1.0).sum(axis=-1) - n * log(n_outcomes)


def _log_share_of_counts(tables: NDArray[Any], *, given_sum: bool) -> Floats:
    """Multinomial probability of each table of counts, or binomial ones of each pair."""
    n, lower = tables.shape[-1], -gammaln(tables + 1.0).sum(axis=(1, 2))
    if given_sum:
        total = tables.sum(axis=(1, 2))
        return lower + gammaln(total + 1.0) - total * log(n * (n - 1))
    compared = np.triu(tables + tables.swapaxes(1, 2))
    return lower + (gammaln(compared + 1.0) - compared * log(2.0)).sum(axis=(1, 2))


def log_n_weak_orders(n: int) -> float:
    r"""Logarithm of the Fubini number a(n) of weak orders of n items.

    .. math:: a(n) = \sum_{k=0}^{\infty} \frac{k^n}{2^{k + 1}}

    The largest terms are near :math:`k = n / \log 2`.

    References
    ----------
    Flajolet, Sedgewick, Analytic Combinatorics, Cambridge 2009, on surjections.
    """
    k = np.arange(20.0 * n + 100)
    return float(logsumexp(xlogy(n, k) - (k + 1) * log(2)))
