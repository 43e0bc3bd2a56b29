r"""Exact draws of a set: a subset of what is left with probability proportional to its mean worth.

==========  ====================================================================================
mean        a size, an anchor in proportion to worth, the rest of the size uniformly
max, min    the extreme item, then a size and uniformly others that are less extreme
geometric   a size, by rejection; then a subset in proportion to its product (conditional Bernoulli
            sampling)
harmonic    a node t of the integral; then an anchor in proportion to q/(1 + q) and every other item
            by itself with that probability. Sizes given or weighted: a node and a size, then a
            subset in proportion to the product of the q
==========  ====================================================================================

Nodes and their weights are those of the quadrature, whose error is that of rounding, and so is the
error of a draw's probability.
"""

import math

import numba
import numpy as np

from bayesrank.likelihoods.ops.splitmix import uniform
from bayesrank.likelihoods.pmop.draw_terms import (
    geometric_bounds,
    harmonic_log_q,
    harmonic_nodes,
    harmonic_terms,
)
from bayesrank.likelihoods.pmop.set_kernels import (
    FREE,
    GEOMETRIC,
    HARMONIC,
    MAX,
    MEAN,
    MIN,
    STEP,
    log_ways,
)
from bayesrank.likelihoods.pmop.subset_kernels import log_binomial, log_symmetric, tilt

__all__ = ["draw_subset"]


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
    """Add m of the candidates, all subsets of that size alike."""
    needed = m
    for j in range(candidates.size):
        if uniform(state) * (candidates.size - j) < needed:
            member[candidates[j]] = True
            needed -= 1


@numba.njit(cache=True, error_model="numpy")
def _pick_size(k, extra, size, log_weight, state):  # type: ignore[no-untyped-def]
    """Size of a subset of k items and `extra` others, of subsets that are alike."""
    if size != FREE:
        return size
    last = min(k + extra, log_weight.size) if log_weight.size else k + extra
    terms = np.empty(last)
    for s in range(1, last + 1):
        terms[s - 1] = log_binomial(k, s - extra)
        if log_weight.size:
            terms[s - 1] += log_weight[s - 1]
    return _pick(terms, state) + 1


@numba.njit(cache=True, error_model="numpy")
def _add_by_product(member, v, m, state):  # type: ignore[no-untyped-def]
    """Add a subset of size m in proportion to its product of exp(v)."""
    n = v.size
    if m == n:
        member[:] = True
        return
    x = tilt(v, m)
    p = 1.0 / (1.0 + np.exp(-(v + x)))
    q = 1.0 / (1.0 + np.exp(v + x))
    after = np.zeros((n + 1, m + 2))  # [i, k]: probability that the items from i on make up k
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
def _pick_geometric_size(w, log_weight, state):  # type: ignore[no-untyped-def]
    """Size drawn in proportion to its weighted sum of geometric means.

    By rejection: a size is proposed in proportion to a bound of its sum. Where it is rejected, its
    sum, which is known by now, takes the place of the bound.
    """
    n = w.size
    last = min(n, log_weight.size) if log_weight.size else n
    known = np.zeros(last, np.bool_)
    share, work = np.empty(n), np.empty((2, n))
    terms = geometric_bounds(w, last)
    if log_weight.size:
        terms += log_weight[:last]
    while True:
        s = _pick(terms, state)
        if known[s]:
            return s + 1
        exact = log_symmetric(w / (s + 1), s + 1, share, work, False)
        if log_weight.size:
            exact += log_weight[s]
        if not uniform(state) > math.exp(exact - terms[s]):  # nor if it is nan
            return s + 1
        terms[s], known[s] = exact, True


@numba.njit(cache=True, error_model="numpy")
def draw_subset(w, aggregate, size, log_weight, state):  # type: ignore[no-untyped-def]
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
        Logarithms of the weights of sizes; empty for equal ones.
    state : ndarray of uint64, (1,)
        Of the generator; advanced.

    Returns
    -------
    ndarray of bool, (n,)
        The members.
    """
    n = w.size
    member = np.zeros(n, np.bool_)
    if size == n or n == 1:
        member[:] = True
        return member
    if size == 1:  # all means of one worth are that worth
        member[_pick(w, state)] = True
        return member
    if aggregate == MEAN:
        m = _pick_size(n, 0, size, log_weight, state)
        anchor = _pick(w, state)
        member[anchor] = True
        others = np.array([i for i in range(n) if i != anchor], dtype=np.int64)
        _add_uniformly(member, others, m - 1, state)
    elif aggregate in (MAX, MIN):
        order = np.argsort(w)
        if aggregate == MIN:
            order = order[::-1].copy()
        terms, chances = np.empty(n), np.empty(log_weight.size)
        for k in range(n):
            terms[k] = w[order[k]] + log_ways(k, 1, size, log_weight, chances)
        k = _pick(terms, state)
        member[order[k]] = True
        m = _pick_size(k, 1, size, log_weight, state)
        _add_uniformly(member, order[:k], m - 1, state)
    elif aggregate == HARMONIC and size == FREE and log_weight.size == 0:
        centre, low, log_f = harmonic_nodes(w, FREE)
        log_q = harmonic_log_q(w, centre, low + _pick(log_f, state) * STEP)
        log_share = log_q - np.log1p(np.exp(log_q))
        anchor = _pick(log_share, state)
        for i in range(n):
            member[i] = i == anchor or uniform(state) < math.exp(log_share[i])
    elif aggregate == GEOMETRIC:
        m = size if size != FREE else _pick_geometric_size(w, log_weight, state)
        _add_by_product(member, w / m, m, state)
    elif size == FREE:
        centre, low, terms = harmonic_terms(w, log_weight)
        k, s = divmod(_pick(terms.ravel(), state), terms.shape[1])
        _add_by_product(member, harmonic_log_q(w, centre, low + k * STEP), s + 1, state)
    else:
        centre, low, log_f = harmonic_nodes(w, size)
        log_q = harmonic_log_q(w, centre, low + _pick(log_f, state) * STEP)
        _add_by_product(member, log_q, size, state)
    return member
