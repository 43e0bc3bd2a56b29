"""Exact draws of MPM in NumPy: ordered pairs of all rankers at once.

With equal variances, the preferred item is drawn in proportion to exp(theta s), and the other item
in proportion to exp(-theta s). If both are the same item, the pair is drawn again. With unequal
variances, the pair is drawn from a table of all pairs. A draw is a function of the seeds.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["draw_counts", "draw_net_counts"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

AT_ONCE = 2**20  # entries of tables, and pairs, in memory


def draw_counts(
    score: Floats, variance: Floats, adherence: Floats, total: Integers, seed: Integers
) -> Integers:
    """Draw counts of ordered pairs.

    Parameters
    ----------
    score : ndarray, (n_rankers, n_items)
    variance : ndarray, (n_rankers, n_items) or (n_rankers, 0)
        Without columns, all variances are 1/2.
    adherence, total, seed : ndarray, (n_rankers,)
        `total` is the number of draws.

    Returns
    -------
    ndarray of int64, (n_rankers, n_items, n_items)
    """
    n, k = score.shape
    counts = np.zeros(n * k * k, np.int64)
    rng, where = np.random.default_rng(seed), np.ones((n, k), dtype=bool)
    for row, one, other in _draw_pairs(score, variance, adherence, where, total, rng):
        counts += np.bincount((row * k + one) * k + other, minlength=counts.size)
    return counts.reshape(n, k, k)


def draw_net_counts(
    score: Floats,
    variance: Floats,
    rate: Floats,
    item: Integers,
    where: Flags,
    cells: Integers,
    seed: Integers,
    like: Floats,
) -> Integers:
    """Draw net counts of the items of all problems.

    Parameters
    ----------
    score : ndarray, (n_groups * n_items,)
        Scores of all items, group by group.
    variance : ndarray, (n_groups * n_items,) or (0,)
        If empty, all variances are 1/2.
    rate : ndarray, (n_rates,)
        Adherences.
    item, where : ndarray, (n_rows, n_slots)
        Positions in `score` of the items of each problem in each group.
    cells : ndarray of int, (4, n_cells)
        Ranker, row, rate and number of draws of each cell.
    seed : ndarray, (n_rankers,)
    like : ndarray, (n_rankers, n_items)
        Only its shape is used.

    Returns
    -------
    ndarray of int64, (n_rankers, n_items)
        How often each item was preferred, minus how often it was the other item.
    """
    rng, net, n_items = np.random.default_rng(seed), np.zeros(like.size, np.int64), like.shape[1]
    n_slots = item.shape[1]
    step = max(1, AT_ONCE // max(1, n_slots**2 if variance.size else n_slots))
    for first in range(0, cells.shape[1], step):
        ranker, row, k, total = cells[:, first : first + step]
        at = item[row]
        g = variance[at] if variance.size else np.empty((row.size, 0))
        for cell, one, other in _draw_pairs(score[at], g, rate[k], where[row], total, rng):
            first_item = ranker[cell] * n_items
            for sign, slot in ((1, one), (-1, other)):
                place = first_item + at[cell, slot] % n_items
                net += sign * np.bincount(place, minlength=net.size)
    return net.reshape(like.shape)


def _draw_pairs(
    s: Floats, g: Floats, theta: Floats, where: Flags, total: Integers, rng: np.random.Generator
) -> Iterator[tuple[Integers, Integers, Integers]]:
    """Draw pairs of the items `where` of each row: yield rows, preferred and other items."""
    n, k = s.shape
    left = np.where(where.sum(axis=1) < 2, 0, total).astype(np.int64)  # totals may be short
    where = where & (left > 0)[:, None]
    fits = np.isfinite(np.where(where, s, 0.0)).all() and np.isfinite(theta[left > 0]).all()
    if not (fits and (g.size == 0 or (g[where] > 0.0).all())):
        raise ValueError(
            "MPM can only draw with scores and adherences that are finite and variances > 0."
        )
    theta, s = np.where(left > 0, theta, 0.0)[:, None], np.where(where, s, 0.0)
    if g.size:
        g = np.where(where, g, 1.0)
        D = (s[:, :, None] - s[:, None, :]) / (g[:, :, None] + g[:, None, :])
        apart = where[:, :, None] & where[:, None, :] & ~np.eye(k, dtype=bool)
        tables = [_cumulative((theta[:, :, None] * D).reshape(n, -1), apart.reshape(n, -1))]
    else:
        tables = [_cumulative(theta * s, where), _cumulative(-theta * s, where)]
    while left.any():
        row = np.repeat(np.arange(n), np.minimum(left, max(1, AT_ONCE // n)))
        picks = [_pick(table, row, rng) for table in tables]
        one, other = np.divmod(picks[0], k) if g.size else picks
        kept = one != other  # with probability at least 1/2, for any scores
        yield row[kept], one[kept], other[kept]
        left = left - np.bincount(row[kept], minlength=n)


def _cumulative(log_weight: Floats, where: Flags) -> Floats:
    """Cumulative shares of exp(log_weight) in each row, plus the number of the row."""
    log_weight = np.where(where, log_weight, -np.inf)
    peak = np.where(where.any(axis=1), log_weight.max(axis=1, initial=-np.inf), 0.0)
    sums = np.cumsum(np.exp(log_weight - peak[:, None]), axis=1)
    return sums / np.maximum(sums[:, -1:], 1.0) + np.arange(len(sums))[:, None]


def _pick(table: Floats, row: Integers, rng: np.random.Generator) -> Integers:
    """Draw a position in some rows, in proportion to the steps of the table."""
    # strictly below the next row despite rounding
    mark = np.minimum(row + rng.random(row.size), np.nextafter(row + 1.0, 0.0))
    return np.searchsorted(table.ravel(), mark, side="right") - row * table.shape[1]
