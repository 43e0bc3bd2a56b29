"""The posterior of a consensus in numba: draws, places, and each ranking given the others."""

import numba
import numpy as np

from bayesrank.likelihoods.mallows.order_kernels import (
    draw_order_kernel,
    log_total_of_orders,
    places_of_orders,
    table_of_sets,
)

__all__ = ["consensus_kernel", "without_each_kernel"]


@numba.njit(cache=True, error_model="numpy")
def consensus_kernel(cost, seed, kind):  # type: ignore[no-untyped-def]
    """Draw a consensus for each matrix of costs, and give the probabilities of all places.

    Parameters
    ----------
    cost : ndarray of float, (r, n, n)
        Finite; see `bayesrank.likelihoods.mallows.order_kernels`.
    seed : ndarray of int, (r,)
    kind : {PLACES, PAIRS}
        Which costs.

    Returns
    -------
    ndarray of int, (r, n)
        Ranks from 1.
    ndarray of float, (r, n, n)
        Of each item and place.
    """
    n_rows, n = cost.shape[0], cost.shape[1]
    ranks, places = np.empty((n_rows, n), np.int64), np.empty(cost.shape)
    state, place = np.empty(1, np.uint64), np.empty(n, np.int64)
    table, reduced, _ = table_of_sets(cost[0], kind)
    for r in range(n_rows):
        if r > 0 and (cost[r] == cost[r - 1]).all():
            places[r] = places[r - 1]
        else:
            table, reduced, _ = table_of_sets(cost[r], kind)
            places[r] = places_of_orders(cost[r], kind)
        state[0] = np.uint64(seed[r])
        draw_order_kernel(table, reduced, kind, state, place)
        ranks[r] = place + 1
    return ranks, places


@numba.njit(cache=True, error_model="numpy")
def without_each_kernel(cost, own, kind):  # type: ignore[no-untyped-def]
    """Log ratio of the sums over orders with all rankings and without each, (m,).

    Parameters
    ----------
    cost : ndarray of float, (n, n)
        Of all rankings together.
    own : ndarray of float, (m, n, n)
        The part of each.
    kind : {PLACES, PAIRS}
        Which costs.
    """
    out = np.empty(own.shape[0])
    total = log_total_of_orders(cost, kind)
    for m in range(own.shape[0]):
        out[m] = total - log_total_of_orders(np.maximum(cost - own[m], 0.0), kind)
    return out
