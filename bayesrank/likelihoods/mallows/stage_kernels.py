r"""Generalised Mallows models in numba: one choice after the other, with its own concentration.

At stage j one of the n - j + 1 items that are left is chosen, and the V_j items that are left and
stand before it in the consensus are passed over:

.. math:: P(V_j = v) = e^{-t_j v} / Z_{n-j+1}(t_j), \qquad Z_m(t) = \sum_{v < m} e^{-t v}

After the last stage that has a concentration all orders of what is left are equally likely.
"""

import math

import numba
import numpy as np

from bayesrank.likelihoods.ops.splitmix import uniform

__all__ = ["draw_stages_kernel", "stage_pairs_kernel", "stages_kernel"]


@numba.njit(cache=True, error_model="numpy")
def _normalisers(t, n, out):  # type: ignore[no-untyped-def]
    """Logarithm of Z at each stage, and its derivative, (j, 2)."""
    for j in range(t.size):
        total = mean = 0.0
        for v in range(n - j):
            weight = math.exp(-t[j] * v)
            total += weight
            mean += v * weight
        out[j, 0], out[j, 1] = math.log(total), -mean / total


@numba.njit(cache=True, error_model="numpy")
def _choices(ranks):  # type: ignore[no-untyped-def]
    """Slots by stage, up to a last block of several items, and their number; -1 of other blocks."""
    n = ranks.size
    of = np.full(n, -1)
    last, n_last = 0, 0
    for s in range(n):
        last = max(last, ranks[s])
    for s in range(n):
        n_last += ranks[s] == last
    k = n if n_last == 1 else n - n_last
    for s in range(n):
        if ranks[s] < 1 or (ranks[s] <= k and of[ranks[s] - 1] >= 0):
            return of[:0], -1
        if ranks[s] <= k:
            of[ranks[s] - 1] = s
    if last != (k if n_last == 1 else k + 1):
        return of[:0], -1
    return of[:k], k


@numba.njit(cache=True, error_model="numpy")
def stages_kernel(t, ranks, consensus):  # type: ignore[no-untyped-def]
    """Log-probability of each ranking, (r,), and its gradient by t, (r, j).

    Parameters
    ----------
    t : ndarray of float, (r, j)
        What an item that is passed over costs, at the stages that have a concentration.
    ranks : ndarray of int, (r, n)
        Dense ranks from 1 of all items; the last block may have several, others have one.
    consensus : ndarray of int, (r, n)
        Ranks of the same items, 1 to n.

    Returns
    -------
    ndarray of float
        -inf of what is no such ranking.
    ndarray of float
    """
    n_rows, n = ranks.shape
    n_stages = min(t.shape[1], n - 1)
    value, slope = np.full(n_rows, -np.inf), np.zeros(t.shape)
    log_z = np.zeros((n_stages, 2))
    log_left = np.zeros(n + 1)
    for i in range(1, n + 1):
        log_left[i] = log_left[i - 1] + math.log(i)
    for r in range(n_rows):
        if r == 0 or (t[r] != t[r - 1]).any():
            _normalisers(t[r, :n_stages], n, log_z)
        of, k = _choices(ranks[r])
        if k < 0 or not np.isfinite(t[r]).all():
            continue
        m = min(k, n_stages)
        total = 0.0
        for j in range(m):
            passed = 0
            own = consensus[r, of[j]]
            for s in range(n):
                passed += ranks[r, s] > j + 1 and consensus[r, s] < own
            total -= t[r, j] * passed + log_z[j, 0]
            slope[r, j] = -passed - log_z[j, 1]
        # the other choices, all of them equally likely
        value[r] = total - log_left[n - m] + log_left[n - k]
    return value, slope


@numba.njit(cache=True, error_model="numpy")
def stage_pairs_kernel(t, ranks, weight):  # type: ignore[no-untyped-def]
    """How often an item was chosen at a stage while another was left, (j, n, n).

    Parameters
    ----------
    t : ndarray of float, (j,)
        Of the stages, for their number.
    ranks : ndarray of int, (r, n)
        As `stages_kernel` has them, by item.
    weight : ndarray of float, (r,)
        How often each ranking counts.
    """
    n_rows, n = ranks.shape
    n_stages = min(t.size, n - 1)
    out = np.zeros((t.size, n, n))
    for r in range(n_rows):
        of, k = _choices(ranks[r])
        for j in range(min(k, n_stages)):
            for other in range(n):
                if ranks[r, other] > j + 1:
                    out[j, of[j], other] += weight[r]
    return out


@numba.njit(cache=True, error_model="numpy")
def draw_stages_kernel(t, consensus, seed):  # type: ignore[no-untyped-def]
    """Draw a ranking for each row, (r, n), stage by stage.

    Parameters
    ----------
    t : ndarray of float, (r, j)
    consensus : ndarray of int, (r, n)
        Ranks, 1 to n.
    seed : ndarray of int, (r,)
        A 64-bit seed for each row.

    Raises
    ------
    ValueError
        If a cost is not a number, or a consensus does not hold the ranks 1 to n.
    """
    n_rows, n = consensus.shape
    ranks = np.zeros((n_rows, n), np.int64)
    state = np.empty(1, np.uint64)
    left = np.empty(n, np.int64)
    for r in range(n_rows):
        state[0] = np.uint64(seed[r])
        left[:] = -1
        for s in range(n):
            if not 1 <= consensus[r, s] <= n or left[consensus[r, s] - 1] >= 0:
                raise ValueError("The consensus must hold the ranks 1 to n, to draw a ranking.")
            left[consensus[r, s] - 1] = s
        for j in range(n):
            m = n - j
            cost = t[r, j] if j < t.shape[1] else 0.0
            if math.isnan(cost):
                raise ValueError("alpha must be a number, to draw a ranking.")
            total = 0.0
            for v in range(m):
                total += math.exp(-cost * v) if v else 1.0
            passed, aim = 0, uniform(state) * total
            for v in range(m):
                passed = v
                aim -= math.exp(-cost * v) if v else 1.0
                if aim < 0.0:
                    break
            ranks[r, left[passed]] = j + 1
            for i in range(passed, m - 1):
                left[i] = left[i + 1]
    return ranks
