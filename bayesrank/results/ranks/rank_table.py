r"""Posteriors of ranks: who is best, how sure that is, and who is tied with the leader.

Every draw of the utilities is an order of the items, and so a draw of their ranks.

**The status of an item.** Each item has one status, which `find_status` decides for all tables,
plots and sentences. The leader l has the lowest posterior mean rank. The others are sorted by the
probability that it is better, :math:`P(w_l > w_j)`, the highest first. K is the largest number with

.. math:: P(w_l > w_{j_1}, \dots, w_l > w_{j_K}) \ge p .

leads
    The leader.
behind
    One of these K items. The leader is better than all of them, jointly, with probability p or
    more. An item with a thin link to the leader is not one of them; see `link_shares`.
tied
    Any other item. It may be better than the leader.
unclear
    Such an item with too little data. They removed less than half of the prior variance of its
    utility, or its link to the leader is thin.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesrank.results.draws import (
    by_group,
    check_probability,
    check_rope,
    check_tops,
    each_group,
    group_dims,
    interval_probability,
    places_of,
    posterior_utilities,
    ranks_of,
)
from bayesrank.results.ranks.counted import LITTLE, PairWins, link_shares

__all__ = [
    "BEHIND",
    "LEADS",
    "TIED",
    "UNCLEAR",
    "Statuses",
    "equal_tails",
    "find_behind",
    "find_status",
    "rank_draws",
    "rank_summary",
    "simultaneous_bounds",
    "tied_sets",
    "tied_with_leader",
]

LEADS, TIED, UNCLEAR, BEHIND = "leads", "tied", "unclear", "behind"

Ranks = NDArray[np.int32]


def rank_draws(data: Any, var_name: str = "utility", *, dim: str = "item") -> xr.DataArray:
    """Rank the items in every draw.

    Parameters
    ----------
    data : DataTree, Dataset or DataArray
        Posterior with dims chain, draw, `dim`, and perhaps others, such as groups. Draws without
        chains, such as the dim sample of ``arviz.extract``, count as one chain.
    var_name : str
        The variable to rank, highest first. A DataArray needs no name.
    dim : str
        The dim of the items.

    Returns
    -------
    DataArray of int32
        Same dims, with chain and draw; 1 = best. Items that are equal in a draw share the better
        rank, so more than one may have rank 1. `place_probability` divides the places among them.

    Raises
    ------
    ValueError
        If the variable or a dim is missing, there are no draws, or some are not finite.

    See Also
    --------
    rank_summary, place_probability, consensus_ordering

    Examples
    --------
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> u = xr.DataArray([[[0.3, 1.2, -0.5]]], dims=("chain", "draw", "item"))
    >>> br.rank_draws(u).values.tolist()
    [[[2, 1, 3]]]
    """
    utility = posterior_utilities(data, var_name, dim)
    items_last = utility.transpose(..., dim)
    ranks = ranks_of(items_last.values.reshape(-1, utility.sizes[dim])).reshape(items_last.shape)
    return items_last.copy(data=ranks).rename("rank").transpose(*utility.dims)


def rank_summary(
    data: Any,
    var_name: str = "utility",
    *,
    dim: str = "item",
    top: int | Sequence[int] = 3,
    ci_prob: float | None = None,
    simultaneous: bool = False,
    tied_prob: float = 0.95,
    prior_sd: float | None = None,
    compared: PairWins | None = None,
    rope: float = 0.0,
) -> pd.DataFrame:
    """Summarise the posterior of ranks, best mean rank first.

    Parameters
    ----------
    data, var_name, dim
        Posterior, variable and dim of the items, as in `rank_draws`.
    top : int or sequence of int
        The k of the columns ``p_top{k}``, at least 1.
    ci_prob : float, optional
        Probability of the rank interval, in (0, 1), with equal tails unless `simultaneous`. By
        default ``arviz.rcParams["stats.ci_prob"]``.
    simultaneous : bool
        Whether intervals hold jointly for all items of a group with probability `ci_prob` or more
        (Besag et al. 1995).
    tied_prob : float
        The leader is better than all items that are behind, jointly, with at least this
        probability, in (0.5, 1).
    prior_sd : float, optional
        Prior standard deviation of the utilities, positive. It adds the column known.
    compared : PairWins, optional
        Comparisons of each two items, from ``bayesrank.results.comparisons(data)``. The status of
        items that only a few comparisons link with the leader is then unclear. The exception is
        items for which the data alone show who is better.
    rope : float
        Largest difference of two utilities without practical meaning, 0 or more. The leader is then
        better than another item only if its utility is higher by more than this. The columns status
        and p_leader_better depend on it. Two items whose utilities differ by 0.2 win 55% and 45% of
        their matches.

    Returns
    -------
    DataFrame
        One row per item, and per group if there are other dims. The columns are mean_rank,
        rank_low, rank_high, p_best, p_top{k}, status, p_leader_better, mean and sd. The leader has
        the lowest mean rank of its group.

        ``status`` is "leads" for the leader, and "behind" if the leader is better. It is "tied" if
        the item may be better than the leader, and "unclear" if it may be better because it has too
        little data. It is decided jointly for all items, as in `tied_with_leader`;
        ``p_leader_better`` compares the leader with each item separately.

        ``mean`` and ``sd`` are those of the utility minus the mean of all items of the group in the
        same draw. Comparisons tell only differences, so the common level of the utilities does not
        count.

        m items that are equal in a draw share m places, each with probability 1/m. So ``p_best``
        sums to 1, and ``p_top{k}`` to k. The interval of a rank contains all shared places.

        ``known``, if `prior_sd` is given, is the share of the prior variance that the data removed:
        1 - v / v0, at least 0. Here v is the posterior variance of an item's utility minus the mean
        of all items, and v0 is its variance under independent normal priors. With `compared`,
        ``known`` of an item that only a few comparisons link with the leader is at most R0 / R.
        Here R is the variance that the comparisons leave in its difference from the leader. R0 is
        this variance if all items met each other.

    Raises
    ------
    ValueError
        For the reasons of `rank_draws`, or if `top`, `ci_prob`, `tied_prob`, `prior_sd` or `rope`
        are out of range.

    See Also
    --------
    plot_ranks, tied_with_leader, tiers, place_probability, rank_draws

    Examples
    --------
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> u = xr.DataArray([[[2.0, 1.0, 0.0], [3.0, 1.0, 0.0], [0.0, 1.0, -1.0], [2.0, 1.0, 0.0]]],
    ...     dims=("chain", "draw", "item"), coords={"item": ["a", "b", "c"]})
    >>> br.rank_summary(u, top=2)[["mean_rank", "p_best", "p_top2", "status"]]
          mean_rank  p_best  p_top2  status
    item
    a          1.25    0.75     1.0   leads
    b          1.75    0.25     1.0    tied
    c          3.00    0.00     0.0  behind
    """
    tops = check_tops(top)
    ci_prob = interval_probability(ci_prob)
    check_probability("tied_prob", tied_prob, 0.5)
    _check_prior_sd(prior_sd)
    check_rope(rope)
    utility = posterior_utilities(data, var_name, dim)
    interval = simultaneous_bounds if simultaneous else equal_tails

    def summarise(draws: NDArray[np.float64]) -> pd.DataFrame:
        places = places_of(draws)
        low, high = interval(places.best, places.worst, ci_prob)
        found = find_status(
            draws,
            places.mean_rank,
            tied_prob,
            prior_sd=prior_sd,
            compared=compared,
            labels=utility[dim].values,
            rope=rope,
        )
        relative = draws - draws.mean(axis=1, keepdims=True)
        table = pd.DataFrame(
            {
                "mean_rank": places.mean_rank,
                "rank_low": low.astype(int),
                "rank_high": high.astype(int),
                "p_best": places.p_top(1),
                **{f"p_top{k}": places.p_top(k) for k in tops},
                "status": found.status,
                "p_leader_better": found.p_better,
                "mean": relative.mean(0),
                "sd": relative.std(0, ddof=1) if len(draws) > 1 else np.full(len(low), np.nan),
                **({} if found.known is None else {"known": found.known}),
            },
            index=pd.Index(utility[dim].values, name=dim),
        )
        return table.sort_values("mean_rank", kind="stable")

    tables = [summarise(draws) for draws in each_group(utility, dim)]
    groups = group_dims(utility, dim)
    if not groups:
        return tables[0]
    keys = product(*(utility[d].values for d in groups))
    return pd.concat(tables, keys=list(keys), names=[*groups, dim])


def _check_prior_sd(prior_sd: float | None) -> None:
    if prior_sd is not None and not 0 < prior_sd < np.inf:
        raise ValueError(f"`prior_sd` is {prior_sd}; it must be positive and finite.")


def _known(draws: NDArray[np.float64], prior_sd: float) -> NDArray[np.float64]:
    """Compute the share of the prior variance that the data removed, (n_items,)."""
    n_draws, n_items = draws.shape
    if n_items == 1 or n_draws == 1:
        return np.ones(n_items)
    # neither the data nor the ranks depend on the mean of all utilities
    left = (draws - draws.mean(1, keepdims=True)).var(0, ddof=1)
    known: NDArray[np.float64] = 1 - left / (prior_sd**2 * (1 - 1 / n_items))
    return known.clip(0, 1)


def _link_shares(
    compared: PairWins, labels: NDArray[Any], draws: NDArray[np.float64], leader: int
) -> NDArray[np.float64]:
    """Compute the shares of `link_shares` for the items of a summary, (n_items,)."""
    place = compared.items.get_indexer(pd.Index(labels))
    utility = np.full(len(compared.items), draws.mean())
    utility[place] = draws.mean(axis=0)
    return link_shares(compared, utility, int(place[leader]))[place]


def tied_with_leader(
    data: Any,
    var_name: str = "utility",
    *,
    dim: str = "item",
    prob: float = 0.95,
    prior_sd: float | None = None,
    compared: PairWins | None = None,
    rope: float = 0.0,
) -> xr.Dataset:
    r"""Find the items that cannot be separated from the leader.

    The leader l has the lowest posterior mean rank. The others are ordered by the probability that
    it is better, :math:`P(w_l > w_j)`, the highest first. The first K of them are behind, with the
    largest K such that

    .. math:: P(w_l > w_{j_1}, \dots, w_l > w_{j_K}) \ge p .

    So the leader and the remaining items contain the best of all items with probability p or more.
    (Deciding separately for each item, by :math:`P(w_l > w_j) \ge p`, would exclude more items and
    guarantee less.)

    Parameters
    ----------
    data, var_name, dim
        Posterior, variable and dim of the items, as in `rank_draws`.
    prob : float
        The probability p, in (0.5, 1).
    prior_sd, compared
        As in `rank_summary`. They find the items with too little data.
    rope : float
        As in `rank_summary`. With the rope r, the probabilities are those that
        :math:`w_l > w_j + r`. So items that are practically equivalent to the leader are tied.

    Returns
    -------
    Dataset
        ``status`` (..., dim) is "leads", "tied", "unclear" or "behind", as in `rank_summary`.
        ``tied`` (..., dim) is False for items that are behind. ``leader`` (...) holds the
        label of the leader, or its number from 0 if items have no labels. ``p_others_worse`` (...)
        is the probability that the leader is better than all items that are behind, jointly. If
        several items share the lowest mean rank, the first is the leader. An item equal to the
        leader in a draw is not worse.

    Raises
    ------
    ValueError
        For the reasons of `rank_draws`, or if `prob`, `prior_sd` or `rope` is out of range.

    See Also
    --------
    tiers, rank_summary, matches_needed

    Examples
    --------
    Each of b and c is worse than a in 19 of 20 draws, but both are worse in only 18.

    >>> import numpy as np
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> draws = np.array([[3.0, 2.0, 1.0]] * 18 + [[3.0, 4.0, 1.0], [3.0, 2.0, 4.0]])
    >>> u = xr.DataArray(draws[None], dims=("chain", "draw", "item"),
    ...                  coords={"item": ["a", "b", "c"]})
    >>> br.tied_with_leader(u, prob=0.95)["status"].values.tolist()
    ['leads', 'tied', 'behind']
    """
    check_probability("prob", prob, 0.5)
    _check_prior_sd(prior_sd)
    check_rope(rope)
    utility = posterior_utilities(data, var_name, dim)
    labels = utility[dim].values

    def leading(draws: NDArray[np.float64]) -> tuple[Any, ...]:
        found = find_status(
            draws,
            places_of(draws).mean_rank,
            prob,
            prior_sd=prior_sd,
            compared=compared,
            labels=labels,
            rope=rope,
        )
        return found.status, found.tied, found.leader, found.p_others_worse

    results = {"status": (dim,), "tied": (dim,), "leader": (), "p_others_worse": ()}
    found = xr.Dataset({x.name: x for x in by_group(leading, utility, dim, results)})
    return found.assign(leader=found["leader"].copy(data=labels[found["leader"].values]))


def tied_sets(
    data: Any,
    var_name: str = "utility",
    *,
    dim: str = "item",
    prob: float = 0.95,
    rope: float = 0.0,
) -> xr.DataArray:
    """Find, for every item, the lower items that cannot be separated from it.

    Items are sorted by mean rank. The rule of `tied_with_leader` is applied to the items from each
    place on, as if all better items were absent. So each item is better than all lower items
    outside of its set, jointly, with probability `prob` or more. `plot_tied` draws the sets.

    Parameters
    ----------
    data, var_name, dim
        Posterior, variable and dim of the items, as in `rank_draws`.
    prob, rope : float
        As in `tied_with_leader`.

    Returns
    -------
    DataArray of bool, (..., dim, dim + "_other")
        Whether the column's item is in the set of the row's item. An item is in its own set.

    Raises
    ------
    ValueError
        As `tied_with_leader`.

    See Also
    --------
    tied_with_leader, plot_tied, rank_clusters

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> rng = np.random.default_rng(1)
    >>> u = xr.DataArray(rng.normal([3.0, 2.8, 2.6, 0.0], 0.1, (4, 500, 4)),
    ...                  dims=("chain", "draw", "item"), coords={"item": list("abcd")})
    >>> br.tied_sets(u).astype(int).values.tolist()
    [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    """
    check_probability("prob", prob, 0.5)
    check_rope(rope)
    utility = posterior_utilities(data, var_name, dim)

    def sets(draws: NDArray[np.float64]) -> NDArray[np.bool_]:
        mean_rank = places_of(draws).mean_rank
        order = mean_rank.argsort(kind="stable")
        by_item = np.ascontiguousarray(draws.T)
        tied = np.zeros((len(order), len(order)), dtype=bool)
        for k, item in enumerate(order):
            rest = order[k:]
            worse = by_item[rest] + rope < by_item[item]
            tied[item, rest] = ~find_behind(worse, mean_rank[rest], 0, prob)
        return tied

    other = f"{dim}_other"
    labels = {other: utility[dim].values if dim in utility.coords else None}
    return by_group(sets, utility, dim, {"tied": (dim, other)}, **labels)[0]


class Statuses(NamedTuple):
    """The leader of one group, and how it compares with the other items."""

    leader: int  # number of the item
    p_better: NDArray[np.float64]  # (n_items,) probability to be better than each; 0 for itself
    status: NDArray[np.object_]  # (n_items,) "leads", "tied", "unclear" or "behind"
    p_others_worse: float  # probability to be better than all items that are behind, jointly
    known: NDArray[np.float64] | None  # (n_items,) what the data tell, as in `rank_summary`

    @property
    def tied(self) -> NDArray[np.bool_]:
        """Items that the leader is not separated from, and the leader, (n_items,)."""
        return np.asarray(self.status != BEHIND)


def find_status(
    utility: NDArray[np.float64],
    mean_rank: NDArray[np.float64],
    prob: float,
    *,
    prior_sd: float | None = None,
    compared: PairWins | None = None,
    labels: NDArray[Any] | None = None,
    rope: float = 0.0,
) -> Statuses:
    """Decide the status of every item, from the draws (n_draws, n_items) of one group.

    The definition is at the top of this module. `labels` of the items are needed with `compared`.
    Items that the leader beats with equal probability are sorted by mean rank, the worst first.
    """
    leader = int(np.argmin(mean_rank))
    worse = np.ascontiguousarray((utility + rope < utility[:, [leader]]).T)  # (n_items, n_draws)
    known = None if prior_sd is None else _known(utility, prior_sd)
    thin = np.zeros(len(mean_rank), dtype=bool)
    if compared is not None:
        assert labels is not None
        share = _link_shares(compared, labels, utility, leader)
        known, thin = (share if known is None else np.minimum(known, share)), share < 1

    behind = find_behind(worse, mean_rank, leader, prob)
    # Without the items with a thin link, the joint probability is higher.
    behind &= ~thin
    little = np.zeros_like(behind) if known is None else known < LITTLE
    status = np.full(len(mean_rank), TIED, dtype=object)
    status[little], status[behind], status[leader] = UNCLEAR, BEHIND, LEADS
    p_others_worse = float(worse[behind].all(axis=0).mean())
    return Statuses(leader, worse.mean(1), status, p_others_worse, known)


def find_behind(
    worse: NDArray[np.bool_], mean_rank: NDArray[np.float64], leader: int, prob: float
) -> NDArray[np.bool_]:
    """Find the items that the leader is better than, jointly, (n_items,).

    `worse` (n_items, n_draws) says in which draws an item is worse than the leader.
    """
    n_draws = worse.shape[1]
    times = worse.sum(axis=1, dtype=np.int64)
    # an item that the leader beats in fewer draws cannot be one of them
    order = np.flatnonzero((times >= prob * n_draws) & (np.arange(len(times)) != leader))
    order = order[np.lexsort((-mean_rank[order], -times[order]))]
    behind = np.zeros(len(times), dtype=bool)
    jointly = np.ones(n_draws, dtype=bool)  # draws in which the leader is better than all so far
    for item in order:
        jointly &= worse[item]
        if np.count_nonzero(jointly) < prob * n_draws:
            break
        behind[item] = True
    return behind


def equal_tails(best: Ranks, worst: Ranks, ci_prob: float) -> tuple[Ranks, Ranks]:
    """Compute a separate rank interval of each item, low and high (n_items,).

    `best` and `worst` are the places of an item in a draw, as in `Places`.
    """
    tail = (1 - ci_prob) / 2
    if worst is best:
        low, high = np.quantile(best, [tail, 1 - tail], axis=0, method="inverted_cdf")
    else:
        low = np.quantile(best, tail, axis=0, method="inverted_cdf")
        high = np.quantile(worst, 1 - tail, axis=0, method="inverted_cdf")
    return low.astype(np.int32), high.astype(np.int32)


def simultaneous_bounds(best: Ranks, worst: Ranks, ci_prob: float) -> tuple[Ranks, Ranks]:
    r"""Compute joint rank intervals of all items, low and high (n_items,).

    Let :math:`a_{ti}` and :math:`b_{ti}` be the best and the worst place of item i in draw t of T,
    as in `Places`. They differ only if the draw has equal items. The depth of a draw is

    .. math::

        d_t = \min_i \min\bigl(\#\{s : a_{si} \le a_{ti}\},\; \#\{s : b_{si} \ge b_{ti}\}\bigr).

    Let d be the largest depth with :math:`\#\{t : d_t \ge d\} \ge pT`. The interval of item i
    reaches from the d-th smallest :math:`a_{ti}` to the d-th largest :math:`b_{ti}`. A draw has all
    its places inside if and only if its depth is d or more.

    References
    ----------
    Besag, Green, Higdon and Mengersen (1995). Bayesian computation and stochastic systems.
    Statistical Science 10, section 6.3.
    """
    n_draws, n_items = best.shape
    ascending = np.sort(best, axis=0)
    ascending_worst = ascending if worst is best else np.sort(worst, axis=0)
    depth = np.full(n_draws, n_draws)
    for i in range(n_items):
        better, ordered = _column(best, i), _column(ascending, i)
        # number of draws with rank <= r, for each r; n_draws minus the number below r is >= r
        upto = np.searchsorted(ordered, np.arange(ordered[-1] + 1), side="right")
        worse, upto_worst = better, upto
        if worst is not best:
            worse, ordered = _column(worst, i), _column(ascending_worst, i)
            upto_worst = np.searchsorted(ordered, np.arange(ordered[-1] + 1), side="right")
        depth = np.minimum(depth, np.minimum(upto[better], n_draws - upto_worst[worse - 1]))
    deepest_first = np.sort(depth)[::-1]
    enough = int(np.argmax(np.arange(1, n_draws + 1) / n_draws >= ci_prob))
    d = deepest_first[enough]
    return ascending[d - 1], ascending_worst[n_draws - d]


def _column(ranks: Ranks, i: int) -> Ranks:
    """Copy a column, so that it is contiguous."""
    return np.ascontiguousarray(ranks[:, i])
