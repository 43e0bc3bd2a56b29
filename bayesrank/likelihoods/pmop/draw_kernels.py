r"""Exact draws of weak orders in numba: sets are chosen one by one, until no item remains.

Each set is a subset of the remaining items, with probability proportional to its mean worth.

==========  ====================================================================================
mean        a size, an anchor in proportion to worth, and the other items uniformly
max, min    the extreme item, and any of the less extreme items; if sizes are given or weighted:
            a size, the extreme item, and uniformly less extreme items
geometric   a size, then a subset in proportion to its product (conditional Bernoulli sampling)
harmonic    a node t of the integral, then an anchor in proportion to q/(1 + q), and every other
            item independently with that probability; if sizes are given or weighted: a size, a
            node, then a subset in proportion to the product of the q
==========  ====================================================================================

The sizes, nodes and weights come from `bayesrank.likelihoods.pmop.set_kernels`. The probabilities
of draws are therefore exact up to rounding.
"""

import math

import numba
import numpy as np

from bayesrank.likelihoods.ops.splitmix import uniform
from bayesrank.likelihoods.pmop.set_kernels import (
    FREE,
    GEOMETRIC,
    HARMONIC,
    LN2,
    MAX,
    MEAN,
    MIN,
    STEP,
    exponents,
    harmonic_node,
    harmonic_window,
    harmonic_window_of_size,
    set_normaliser_kernel,
)
from bayesrank.likelihoods.pmop.subset_kernels import (
    log_binomial,
    tilt_kernel,
)

__all__ = [
    "draw_subset_kernel",
    "draw_weak_orders_kernel",
    "harmonic_nodes",
]


@numba.njit(cache=True, error_model="numpy")
def harmonic_nodes(w, m):  # type: ignore[no-untyped-def]
    """Centre, first node and log weights of all nodes, for subsets of size m or of any size."""
    tau, share, work = np.empty(w.size), np.empty(w.size), np.empty((2, w.size))
    down = np.sort(w)[::-1]
    centre, low, nodes = harmonic_window(w) if m == FREE else harmonic_window_of_size(w, down, m)
    log_f = np.empty(nodes)
    for k in range(nodes):
        log_f[k] = harmonic_node(w, m, centre, low + k * STEP, tau, share, work)
    return centre, low, log_f


@numba.njit(cache=True, error_model="numpy")
def _harmonic_log_q(w, m, state):  # type: ignore[no-untyped-def]
    r"""Draw a node of the harmonic mean: logarithms of :math:`q_i = \exp(-t e^{-w_i})`."""
    centre, low, log_f = harmonic_nodes(w, m)
    y, tau = low + _pick(log_f, state) * STEP, np.empty(w.size)
    exponents(tau, centre + y - math.exp(-y), w)
    return -tau


@numba.njit(cache=True, error_model="numpy")
def _pick(log_weight, state):  # type: ignore[no-untyped-def]
    """Position drawn in proportion to exp(log_weight)."""
    peak = log_weight.max()
    total = 0.0
    for x in log_weight:
        total += math.exp(x - peak)
    left = uniform(state) * total
    last = 0
    for i in range(log_weight.size):
        p = math.exp(log_weight[i] - peak)
        if p > 0.0:
            last = i
            left -= p
            if left < 0.0:
                break
    return last


@numba.njit(cache=True, error_model="numpy")
def _add_uniformly(member, candidates, m, state):  # type: ignore[no-untyped-def]
    """Add m of the candidates; all subsets of that size are equally likely."""
    needed = m
    for j in range(candidates.size):
        if uniform(state) * (candidates.size - j) < needed:
            member[candidates[j]] = True
            needed -= 1


@numba.njit(cache=True, error_model="numpy")
def _add_by_product(member, v, m, state):  # type: ignore[no-untyped-def]
    """Add a subset of size m in proportion to its product of exp(v)."""
    n = v.size
    x = tilt_kernel(v, m)
    p = 1.0 / (1.0 + np.exp(-(v + x)))
    q = 1.0 / (1.0 + np.exp(v + x))
    after = np.zeros((n + 1, m + 2))  # [i, k]: probability that k of the items from i on are in
    after[n, 0] = 1.0
    for i in range(n - 1, -1, -1):
        after[i, 0] = q[i] * after[i + 1, 0]
        for k in range(1, min(n - i, m) + 1):
            after[i, k] = q[i] * after[i + 1, k] + p[i] * after[i + 1, k - 1]
    needed = m
    for i in range(n):
        if needed == 0:
            break
        chance = p[i] * after[i + 1, needed - 1]
        if uniform(state) * (chance + q[i] * after[i + 1, needed]) < chance:
            member[i] = True
            needed -= 1


@numba.njit(cache=True, error_model="numpy")
def _pick_size(w, aggregate, log_weight, state):  # type: ignore[no-untyped-def]
    """Draw a size in proportion to the weighted sum over the subsets of that size."""
    if log_weight.size == 0:
        log_weight = np.zeros(w.size)
    chances = np.zeros(log_weight.size)
    set_normaliser_kernel(w, aggregate, FREE, log_weight, np.empty(w.size), chances)
    return _pick(np.log(chances), state) + 1


@numba.njit(cache=True, error_model="numpy")
def draw_subset_kernel(w, aggregate, size, log_weight, state):  # type: ignore[no-untyped-def]
    """Draw a non-empty subset in proportion to its mean worth.

    Parameters
    ----------
    w : ndarray of float, (n,)
        Utilities, finite.
    aggregate : int
        Position in `AGGREGATES`.
    size : int
        Size of the subset, or 0 (`FREE`).
    log_weight : ndarray of float, (n_sizes,)
        Log weights of the sizes; empty for equal weights.
    state : ndarray of uint64, (1,)
        State of the generator; advanced.

    Returns
    -------
    ndarray of bool, (n,)
        The members.
    """
    n = w.size
    member = np.zeros(n, np.bool_)
    if n == 1:
        member[:] = True
        return member
    order = np.argsort(w) if aggregate == MAX else np.argsort(-w)  # less extreme items first
    if size == FREE and log_weight.size == 0 and aggregate in (MAX, MIN):
        k = _pick(w[order] + LN2 * np.arange(n), state)
        member[order[k]] = True
        for j in range(k):
            member[order[j]] = uniform(state) < 0.5
        return member
    if size == FREE and log_weight.size == 0 and aggregate == HARMONIC:
        log_q = _harmonic_log_q(w, FREE, state)
        log_share = log_q - np.log1p(np.exp(log_q))
        anchor = _pick(log_share, state)
        for i in range(n):
            member[i] = i == anchor or uniform(state) < math.exp(log_share[i])
        return member
    m = size if size != FREE else _pick_size(w, aggregate, log_weight, state)
    if m == n:
        member[:] = True
    elif m == 1:  # every mean of one worth is that worth
        member[_pick(w, state)] = True
    elif aggregate == MEAN:
        anchor = _pick(w, state)
        member[anchor] = True
        others = np.array([i for i in range(n) if i != anchor], dtype=np.int64)
        _add_uniformly(member, others, m - 1, state)
    elif aggregate in (MAX, MIN):
        terms = np.full(n, -np.inf)
        for k in range(m - 1, n):
            terms[k] = w[order[k]] + log_binomial(k, m - 1)
        k = _pick(terms, state)
        member[order[k]] = True
        _add_uniformly(member, order[:k], m - 1, state)
    else:
        _add_by_product(
            member, w / m if aggregate == GEOMETRIC else _harmonic_log_q(w, m, state), m, state
        )
    return member


@numba.njit(cache=True, error_model="numpy")
def draw_weak_orders_kernel(utility, where, sizes, log_weight, seed, aggregate):  # type: ignore[no-untyped-def]
    """Draw weak orders.

    Parameters
    ----------
    utility : ndarray of float, (n_rankings, n_slots)
        Log worth of the item in each slot.
    where : ndarray of bool, (n_rankings, n_slots)
        Slots in use.
    sizes : ndarray of int, (n_rankings, n_blocks)
        Block sizes; without columns, they are drawn.
    log_weight : ndarray of float, (n_rankings, n_sizes)
        Log weights of the sizes; without columns, weights are equal.
    seed : ndarray of int64, (n_rankings,)
        One for each ranking.
    aggregate : int
        Position in `AGGREGATES`.

    Returns
    -------
    ndarray of int64, (n_rankings, n_slots)
        Dense ranks, 0 in slots that are not in use.
    """
    n_rankings, n_slots = utility.shape
    ranks = np.zeros((n_rankings, n_slots), np.int64)
    state = np.empty(1, np.uint64)
    for row in range(n_rankings):
        state[0] = np.uint64(seed[row])
        left = np.flatnonzero(where[row])
        rank = 0
        while left.size:
            size = FREE
            if sizes.shape[1]:
                size = sizes[row, rank] if rank < sizes.shape[1] else 0
                if size <= 0 or size > left.size:  # sizes do not add up: take all remaining items
                    size = left.size
            rank += 1
            member = draw_subset_kernel(utility[row][left], aggregate, size, log_weight[row], state)
            ranks[row][left[member]] = rank
            left = left[~member]
    return ranks
