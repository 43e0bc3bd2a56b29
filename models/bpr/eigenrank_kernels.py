"""Compiled loops of EigenRank: compare one user with all others, and order the items."""

import numba
import numpy as np

import bayesrank.kernel_cache  # noqa: F401  (before any kernel compiles)

__all__ = ["greedy", "kendall", "mean_differences", "walk"]

TIED = 1e-9  # smaller differences of potentials are rounding errors


@numba.njit(cache=True, error_model="numpy")
def kendall(start, item, rating, mine, has):  # type: ignore[no-untyped-def]
    """Return the similarity of every user to one user, and the number of common items."""
    n_users = start.size - 1
    similarity, common = np.zeros(n_users), np.zeros(n_users, dtype=np.int64)
    x, y = np.empty(mine.size), np.empty(mine.size)
    for v in range(n_users):
        n = 0
        opposite = 0
        for e in range(start[v], start[v + 1]):
            if has[item[e]]:
                x[n], y[n] = mine[item[e]], rating[e]
                for m in range(n):
                    opposite += (x[m] - x[n]) * (y[m] - y[n]) < 0
                n += 1
        common[v] = n
        if n > 1:
            similarity[v] = 1 - 4 * opposite / (n * (n - 1))
    return similarity, common


@numba.njit(cache=True, error_model="numpy")
def mean_differences(by_user, by_item, weight):  # type: ignore[no-untyped-def]
    """Return the matrix of preferences, given the ratings of the neighbours by user and by item."""
    start, item, rating = by_user
    begin, user, value = by_item
    n = begin.size - 1
    psi = np.zeros((n, n))
    # One row of sums at a time, because half of the matrix would not fit into the cache.
    lead, total = np.zeros(n), np.zeros(n)
    for i in range(n):
        lead[:] = 0.0
        total[:] = 0.0
        for e in range(begin[i], begin[i + 1]):
            v = user[e]
            s = weight[v]
            for f in range(start[v], start[v + 1]):
                lead[item[f]] += s * (value[e] - rating[f])
                total[item[f]] += s
        for j in range(n):
            if total[j] > 0:
                psi[i, j] = lead[j] / total[j]
    return psi


# Potentials are finite or, after an item is chosen, minus infinity. They are never NaN, so vector
# instructions can compute the maximum.
@numba.njit(cache=True, error_model="numpy", fastmath={"nnan", "nsz", "reassoc"})
def greedy(lead):  # type: ignore[no-untyped-def]
    """Choose items greedily by a skew-symmetric matrix; return minus the step of each item."""
    n = len(lead)
    potential, score = np.empty(n), np.empty(n)
    best = -np.inf
    for i in range(n):
        potential[i] = lead[i].sum()
        best = max(best, potential[i])
    chosen = np.empty(n, dtype=np.int64)
    done, step = 0, 0.0
    while done < n:
        together, bound = 0, best - TIED
        for i in range(n):
            if potential[i] >= bound:
                chosen[together] = i
                together += 1
        for c in chosen[:together]:
            score[c] = step
            potential[c] = -np.inf
        for c in chosen[:together]:
            best = -np.inf  # the last pass leaves the maximum of the remaining items
            for i in range(n):
                # subtracts lead[i, c], but reads along the row
                potential[i] += lead[c, i]
                best = max(best, potential[i])
        done += together
        step -= 1.0
    return score


# A matrix product would use threads, which wait for each other if the machine is busy. Sums use
# double precision, even for moves in single precision.
@numba.njit(cache=True, error_model="numpy", fastmath={"contract", "reassoc"})
def walk(move, copies, epsilon, tolerance):  # type: ignore[no-untyped-def]
    """Return the stationary probability of one copy of each item; `move` may be unnormalised."""
    n = len(move)
    leaving, stationary = np.zeros(n), np.empty(n)
    for j in range(n):
        arriving = 0.0
        for i in range(n):
            leaving[i] += copies[j] * move[j, i]
            arriving += copies[i] * move[j, i]
        # if moves are ratios of worths, this is already the stationary distribution
        stationary[j] = arriving
    stationary /= (copies * stationary).sum()
    flow = np.empty(n)
    # All entries of `move` are positive, so the iteration also converges without jumps.
    moving = n > 0
    while moving:
        for i in range(n):
            flow[i] = copies[i] * stationary[i] / leaving[i]
        moving = False
        for j in range(n):
            arriving = 0.0
            for i in range(n):
                arriving += move[j, i] * flow[i]
            now = epsilon * arriving + (1 - epsilon) / copies.sum()
            moving |= abs(now - stationary[j]) > tolerance * stationary[j]
            stationary[j] = now
    return stationary
