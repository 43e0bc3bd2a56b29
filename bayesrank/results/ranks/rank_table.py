"""Posteriors of ranks: who is best, how sure that is, and who is tied with the leader.

Every draw of the utilities is a complete order of the items, and so a draw of their ranks.
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
    check_tops,
    each_group,
    group_dims,
    posterior_utilities,
    ranks_of,
)
from bayesrank.results.ranks.counted import LITTLE, PairWins, link_shares

__all__ = [
    "Leading",
    "equal_tails",
    "find_leader",
    "rank_draws",
    "rank_summary",
    "simultaneous_bounds",
    "standing",
    "tied_with_leader",
]

Ranks = NDArray[np.int32]


def rank_draws(data: Any, var_name: str = "utility", *, dim: str = "item") -> xr.DataArray:
    """Rank the items in every draw.

    Parameters
    ----------
    data : DataTree, Dataset or DataArray
        Posterior with dims chain, draw, `dim`, and perhaps others, such as groups.
    var_name : str
        The variable to rank, highest first.
    dim : str
        The dim of the items.

    Returns
    -------
    DataArray of int32
        Same dims; 1 = best. Items that are equal in a draw share the better rank.

    Raises
    ------
    ValueError
        If the variable or a dim is missing, there are no draws, or some are not finite.

    Examples
    --------
    >>> u = xr.DataArray([[[0.3, 1.2, -0.5]]], dims=("chain", "draw", "item"))
    >>> rank_draws(u).values.tolist()
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
    ci_prob: float = 0.94,
    simultaneous: bool = False,
    tied_prob: float = 0.95,
    prior_sd: float | None = None,
    compared: PairWins | None = None,
) -> pd.DataFrame:
    """Summarise the posterior of ranks, best mean rank first.

    Parameters
    ----------
    data, var_name, dim
        Posterior, variable and dim of the items, as in `rank_draws`.
    top : int or sequence of int
        The k of the columns ``p_top{k}``, at least 1.
    ci_prob : float
        Probability of the rank interval, in (0, 1), with equal tails unless `simultaneous`.
    simultaneous : bool
        Whether intervals hold jointly for all items of a group with probability `ci_prob` or more
        (Besag et al. 1995).
    tied_prob : float
        The leader is better than all items that are not tied with it, jointly, with at least this
        probability, in (0.5, 1).
    prior_sd : float, optional
        Prior standard deviation of the utilities, positive. It adds the column known.
    compared : PairWins, optional
        Comparisons of each two items, from ``bayesrank.results.comparisons(data)``. Items that only
        a few comparisons link with the leader are then tied with it and not known. The exception is
        items for which the data alone show who is better.

    Returns
    -------
    DataFrame
        One row per item, and per group if there are other dims. The columns are mean_rank,
        rank_low, rank_high, p_best, p_top{k}, tied_with_leader, p_leader_better, and mean and sd
        of the variable. The leader has the lowest mean rank of its group; it is tied with itself.

        ``tied_with_leader`` is decided jointly for all items, as in `tied_with_leader`;
        ``p_leader_better`` compares the leader with each item separately.

        ``known``, if `prior_sd` is given, is the share of the prior variance that the data removed:
        1 - v / v0, at least 0. Here v is the posterior variance of an item's utility minus the mean
        of all items, and v0 is its variance under independent normal priors. With `compared`,
        ``known`` of an item that only a few comparisons link with the leader is at most R0 / R.
        Here R is the variance that the comparisons leave in its difference from the leader. R0 is
        this variance if all items met each other.

    Raises
    ------
    ValueError
        For the reasons of `rank_draws`, or if `top`, `ci_prob`, `tied_prob` or `prior_sd` are out
        of range.

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
    check_probability("ci_prob", ci_prob, 0.0)
    check_probability("tied_prob", tied_prob, 0.5)
    if prior_sd is not None and not 0 < prior_sd < np.inf:
        raise ValueError(f"`prior_sd` is {prior_sd}; it must be positive and finite.")
    utility = posterior_utilities(data, var_name, dim)
    interval = simultaneous_bounds if simultaneous else equal_tails

    def summarise(draws: NDArray[np.float64]) -> pd.DataFrame:
        ranks = ranks_of(draws)
        mean_rank = ranks.mean(0)
        low, high = interval(ranks, ci_prob)
        leader = find_leader(draws, mean_rank, tied_prob)
        known = np.ones(len(low)) if prior_sd is None else _known(draws, prior_sd)
        if compared is not None:
            share = _link_shares(compared, utility[dim].values, draws, leader.leader)
            known = np.minimum(known, share)
            leader = leader._replace(tied=leader.tied | (share < 1))
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
                **({} if prior_sd is None and compared is None else {"known": known}),
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


def standing(summary: pd.DataFrame) -> pd.Series:
    """Return a word for the standing of each item relative to the leader.

    Parameters
    ----------
    summary : DataFrame
        From `rank_summary`, one group or several.

    Returns
    -------
    Series of str
        "leads" for the leader, "close" for an item tied with it, and "" for all others. A tied item
        is "unknown" instead if the data left more than half of its prior variance. It is also
        unknown if only a few comparisons link it with the leader. This needs the column known, from
        `prior_sd` and `compared` in `rank_summary`.

    Examples
    --------
    >>> u = xr.DataArray([[[2.0, 1.0, 3.0], [2.1, 1.1, -9.0], [2.0, 1.0, 2.5]]],
    ...     dims=("chain", "draw", "item"), coords={"item": ["a", "b", "c"]})
    >>> standing(rank_summary(u, prior_sd=2.0)).to_dict()
    {'a': 'leads', 'c': 'unknown', 'b': ''}
    """
    tied = summary["tied_with_leader"].to_numpy(bool)
    little = summary["known"] < LITTLE if "known" in summary else np.zeros(len(summary), bool)
    word = np.where(little, "unknown", "close")
    words = pd.Series(np.where(tied, word, ""), summary.index, dtype=object)
    # the leader is the first row of its group, the levels of the index before the item
    grouped = isinstance(summary.index, pd.MultiIndex)
    groups = [label[:-1] if grouped else () for label in summary.index]
    words[~pd.Series(groups, dtype=object).duplicated().to_numpy()] = "leads"
    return words.rename("standing")


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
    data: Any, var_name: str = "utility", *, dim: str = "item", prob: float = 0.95
) -> xr.Dataset:
    r"""Find the items that cannot be distinguished from the leader.

    The leader l has the lowest posterior mean rank. The others are ordered by the probability that
    it is better, :math:`P(w_l > w_j)`, the highest first. The first K of them are not tied, with
    the largest K such that

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

    Returns
    -------
    Dataset
        ``tied`` (..., dim) is True for tied items and for the leader. ``leader`` (...) holds the
        label of the leader, or its number from 0 if items have no labels. ``p_others_worse`` (...)
        is the probability that the leader is better than all items not tied with it, jointly. If
        several items share the lowest mean rank, the first is the leader. An item equal to the
        leader in a draw is not worse.

    Raises
    ------
    ValueError
        For the reasons of `rank_draws`, or if `prob` is out of range.

    Examples
    --------
    Each of b and c is worse than a in 19 of 20 draws, but both are worse in only 18.

    >>> draws = np.array([[3.0, 2.0, 1.0]] * 18 + [[3.0, 4.0, 1.0], [3.0, 2.0, 4.0]])
    >>> u = xr.DataArray(draws[None], dims=("chain", "draw", "item"),
    ...                  coords={"item": ["a", "b", "c"]})
    >>> tied_with_leader(u, prob=0.95)["tied"].values.tolist()
    [True, True, False]
    """
    check_probability("prob", prob, 0.5)
    utility = posterior_utilities(data, var_name, dim)

    def leading(draws: NDArray[np.float64]) -> tuple[Any, ...]:
        found = find_leader(draws, ranks_of(draws).mean(0), prob)
        return found.tied, found.leader, found.p_others_worse

    results = {"tied": (dim,), "leader": (), "p_others_worse": ()}
    found = xr.Dataset({x.name: x for x in by_group(leading, utility, dim, results)})
    labels = utility[dim].values
    return found.assign(leader=found["leader"].copy(data=labels[found["leader"].values]))


class Leading(NamedTuple):
    """The leader of one group, and how it compares with the other items."""

    leader: int  # number of the item
    p_better: NDArray[np.float64]  # (n_items,) probability to be better than each; 0 for itself
    tied: NDArray[np.bool_]  # (n_items,) not distinguishable from the leader
    p_others_worse: float  # probability to be better than all items that are not tied, jointly


def find_leader(
    utility: NDArray[np.float64], mean_rank: NDArray[np.float64], prob: float
) -> Leading:
    """Find the leader as `tied_with_leader` does, from the draws (n_draws, n_items) of one group.

    Items that the leader beats with equal probability are sorted by mean rank, the worst first.
    """
    leader = int(np.argmin(mean_rank))
    worse = utility < utility[:, [leader]]
    p_better = worse.mean(0)
    order = np.lexsort((-mean_rank, -p_better))
    order = order[order != leader]
    # Probability to be better than all of the first k: it falls with k
    jointly = np.logical_and.accumulate(worse[:, order], axis=1).mean(0)
    n_worse = int((jointly >= prob).sum())
    tied = np.ones(len(mean_rank), dtype=bool)
    tied[order[:n_worse]] = False
    return Leading(leader, p_better, tied, float(jointly[n_worse - 1]) if n_worse else 1.0)


def equal_tails(ranks: Ranks, ci_prob: float) -> tuple[Ranks, Ranks]:
    """Compute a separate rank interval of each item, low and high (n_items,)."""
    tail = (1 - ci_prob) / 2
    low, high = np.quantile(ranks, [tail, 1 - tail], axis=0, method="inverted_cdf")
    return low.astype(np.int32), high.astype(np.int32)


def simultaneous_bounds(ranks: Ranks, ci_prob: float) -> tuple[Ranks, Ranks]:
    r"""Compute joint rank intervals of all items, low and high (n_items,).

    Let :math:`r_{ti}` be the rank of item i in draw t of T. The depth of a draw is

    .. math::

        d_t = \min_i \min\bigl(\#\{s : r_{si} \le r_{ti}\},\; \#\{s : r_{si} \ge r_{ti}\}\bigr).

    Let d be the largest depth with :math:`\#\{t : d_t \ge d\} \ge pT`. The interval of item i
    reaches from the d-th smallest to the d-th largest of :math:`r_{1i}, \dots, r_{Ti}`. A draw has
    all its ranks inside if and only if its depth is d or more.

    References
    ----------
    Besag, Green, Higdon and Mengersen (1995). Bayesian computation and stochastic systems.
    Statistical Science 10, section 6.3.
    """
    n_draws, n_items = ranks.shape
    ascending = np.sort(ranks, axis=0)
    depth = np.full(n_draws, n_draws)
    for i in range(n_items):
        drawn, ordered = np.ascontiguousarray(ranks[:, i]), np.ascontiguousarray(ascending[:, i])
        # number of draws with rank <= r, for each r; n_draws minus the number below r is >= r
        upto = np.searchsorted(ordered, np.arange(ordered[-1] + 1), side="right")
        depth = np.minimum(depth, np.minimum(upto[drawn], n_draws - upto[drawn - 1]))
    deepest_first = np.sort(depth)[::-1]
    enough = int(np.argmax(np.arange(1, n_draws + 1) / n_draws >= ci_prob))
    d = deepest_first[enough]
    return ascending[d - 1], ascending[n_draws - d]
