"""Intervals of ranks: for one item at a time, or for all items at once."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["equal_tails", "simultaneous_bounds"]

Ranks = NDArray[np.int32]


def equal_tails(ranks: Ranks, prob: float) -> tuple[Ranks, Ranks]:
    """Interval of each item by itself: whole ranks, equal tails.

    Parameters
    ----------
    ranks : array of int, shape (n_draws, n_items)
        Ranks in every draw.
    prob : float
        Probability of an interval, in (0, 1).

    Returns
    -------
    low, high : arrays of int, shape (n_items,)
        The ends, which belong to the interval.

    Examples
    --------
    >>> low, high = equal_tails(np.array([[1, 2], [1, 2], [1, 2], [2, 1]]), 0.4)
    >>> low.tolist(), high.tolist()
    ([1, 2], [1, 2])
    """
    tail = (1 - prob) / 2
    low, high = np.quantile(ranks, [tail, 1 - tail], axis=0, method="inverted_cdf")
    return low.astype(np.int32), high.astype(np.int32)


def simultaneous_bounds(ranks: Ranks, prob: float) -> tuple[Ranks, Ranks]:
    r"""Intervals that hold for all items at once.

    Let :math:`r_{ti}` be the rank of item i in draw t of T. The depth of a draw is

    .. math::

        d_t = \min_i \min\bigl(\#\{s : r_{si} \le r_{ti}\},\; \#\{s : r_{si} \ge r_{ti}\}\bigr),

    so that a draw in which any item has a rank that is extreme for it has a small depth. Let d be
    the largest depth with :math:`\#\{t : d_t \ge d\} \ge pT`. The interval of item i reaches from
    the d-th smallest to the d-th largest of :math:`r_{1i}, \dots, r_{Ti}`. A draw has all its ranks
    inside if and only if its depth is d or more, so this holds in a share of at least p of them,
    and for no narrower intervals of this kind (Besag, Green, Higdon and Mengersen 1995, Bayesian
    computation and stochastic systems, Statistical Science 10, section 6.3).

    The draws that are counted are those that the intervals are made of: with few draws and many
    items, the share among other draws is less than p.

    Parameters
    ----------
    ranks : array of int, shape (n_draws, n_items)
        Ranks in every draw.
    prob : float
        Probability with which all ranks lie in their intervals, in (0, 1).

    Returns
    -------
    low, high : arrays of int, shape (n_items,)
        The ends, which belong to the interval.

    Examples
    --------
    >>> low, high = simultaneous_bounds(np.array([[1, 2], [1, 2], [1, 2], [2, 1]]), 0.75)
    >>> low.tolist(), high.tolist()
    ([1, 2], [1, 2])
    """
    n_draws, n_items = ranks.shape
    ascending = np.sort(ranks, axis=0)
    depth = np.full(n_draws, n_draws)
    for i in range(n_items):
        drawn, of_item = np.ascontiguousarray(ranks[:, i]), np.ascontiguousarray(ascending[:, i])
        # Draws at or below each rank; those below it, which are not at or above it
        upto = np.searchsorted(of_item, np.arange(of_item[-1] + 1), side="right")
        depth = np.minimum(depth, np.minimum(upto[drawn], n_draws - upto[drawn - 1]))
    deepest_first = np.sort(depth)[::-1]
    enough = int(np.argmax(np.arange(1, n_draws + 1) / n_draws >= prob))
    d = deepest_first[enough]
    return ascending[d - 1], ascending[n_draws - d]
