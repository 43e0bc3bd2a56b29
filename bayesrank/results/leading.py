"""The leader, and those who cannot be told from it."""

from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesrank.results.draws import (
    check_probability,
    each_group,
    group_results,
    item_labels,
    posterior_utilities,
    ranks_of,
)

__all__ = ["Leading", "find_leader", "tied_with_leader"]


def tied_with_leader(
    data: Any, var: str = "utility", *, dim: str = "item", prob: float = 0.95
) -> xr.Dataset:
    r"""Find the items that cannot be told from the leader.

    The leader l has the lowest posterior mean rank. The others are put in order of how surely it
    is better than each, :math:`P(w_l > w_j)`, the surest first. The items that are told from it are
    the first K of them, with the largest K such that

    .. math:: P(w_l > w_{j_1}, \dots, w_l > w_{j_K}) \ge p .

    The leader is better than *all* of these *at once* with probability p or more. The leader and
    the remaining items are the set that is tied: it contains the best of all items with probability
    p or more, since the best is excluded only if the leader is worse than one excluded.

    Judging one by one, and excluding every item with :math:`P(w_l > w_j) \ge p`, is not the same.
    It excludes at least as many items, and promises something about each by itself: among 30 that
    are excluded with probability 0.95 each, one that is better than the leader is to be expected.

    Parameters
    ----------
    data : DataTree, Dataset or DataArray
        Posterior with dims chain, draw and `dim`.
    var : str
        The variable to compare, highest first.
    dim : str
        The dim of the items.
    prob : float
        The probability p, in (0.5, 1).

    Returns
    -------
    Dataset
        ``tied`` (..., dim), bool, true of the leader; ``leader`` (...), its label, or its number
        from 0 if items have no labels; ``p_others_worse`` (...), the probability that it is
        better than all items not tied with it at once: at least p, and 1 if all are tied. Leaders
        of equal mean rank: the first of them. An item equal to the leader in a draw is not worse.

    Raises
    ------
    ValueError
        If the variable or a dim is missing, there is no draw or one is not finite, or `prob` is
        out of range.

    Examples
    --------
    Either of b and c is worse than a in 19 draws of 20, but both at once in 18 only.

    >>> draws = np.array([[3.0, 2.0, 1.0]] * 18 + [[3.0, 4.0, 1.0], [3.0, 2.0, 4.0]])
    >>> u = xr.DataArray(draws[None], dims=("chain", "draw", "item"),
    ...                  coords={"item": ["a", "b", "c"]})
    >>> tied_with_leader(u, prob=0.95)["tied"].values.tolist()
    [True, True, False]
    >>> tied_with_leader(u, prob=0.90)["tied"].values.tolist()
    [True, False, False]
    """
    check_probability("prob", prob, 0.5)
    utility = posterior_utilities(data, var, dim)
    labels = item_labels(utility, dim)
    found = [find_leader(u, ranks_of(u).mean(0), prob) for u in each_group(utility, dim)]
    return xr.Dataset(
        {
            "tied": group_results([f.tied for f in found], utility, dim, "tied"),
            "leader": group_results(
                [labels[f.leader] for f in found], utility, dim, "leader", by_item=False
            ),
            "p_others_worse": group_results(
                [f.p_others_worse for f in found], utility, dim, "p_others_worse", by_item=False
            ),
        }
    )


class Leading(NamedTuple):
    """What is known of the leader of one group.

    Attributes
    ----------
    leader : int
        Number of the item.
    p_better : array, shape (n_items,)
        Probability that the leader is better than each by itself; 0 for itself.
    tied : array of bool, shape (n_items,)
        Which are not distinguishable from the leader.
    p_others_worse : float
        Probability that the leader is better than all others at once.
    """

    leader: int
    p_better: NDArray[np.float64]
    tied: NDArray[np.bool_]
    p_others_worse: float


def find_leader(
    utility: NDArray[np.float64], mean_rank: NDArray[np.float64], prob: float
) -> Leading:
    """As `tied_with_leader`, from the draws (n_draws, n_items) and mean ranks of one group.

    Items that the leader beats equally surely go in order of their mean rank, the worst first.
    """
    leader = int(np.argmin(mean_rank))
    worse = utility < utility[:, [leader]]
    p_better = worse.mean(0)
    order = np.lexsort((-mean_rank, -p_better))
    order = order[order != leader]
    # Better than the first k of the order at once: this share falls with k
    at_once = np.logical_and.accumulate(worse[:, order], axis=1).mean(0)
    n_worse = int((at_once >= prob).sum())
    tied = np.ones(len(mean_rank), dtype=bool)
    tied[order[:n_worse]] = False
    return Leading(leader, p_better, tied, float(at_once[n_worse - 1]) if n_worse else 1.0)
