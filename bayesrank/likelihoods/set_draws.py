r"""Exact draws of PMOP: sets chosen one after the other.

A stage draws a subset of what is left with probability proportional to its mean worth:

==========  ====================================================================================
mean        a size, an anchor in proportion to worth, the rest of the size uniformly
max, min    the extreme item, then a size and uniformly others that are less extreme
geometric   a size, then a subset in proportion to its product (conditional Bernoulli sampling)
harmonic    a node t of the integral; then an anchor in proportion to q/(1 + q) and every other item
            by itself with that probability. Sizes given or weighted: a size, a node, a subset in
            proportion to the product of the q
==========  ====================================================================================

Nodes and their weights are those of the quadrature, whose error is that of rounding, and so is the
error of a draw's probability.

A draw is a function of one 64-bit seed per ranking, expanded by SplitMix64 (Steele et al., OOPSLA
2014): one compiled function serves numba, C and, by a callback, JAX.
"""

import math
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import (
    numba_njit,
    register_funcify_default_op_cache_key,
)

from bayesrank.likelihoods.set_functions import (
    AGGREGATES,
    FREE,
    GEOMETRIC,
    HARMONIC,
    MAX,
    MEAN,
    MIN,
    STEP,
    harmonic_window,
    harmonic_window_of_size,
    log_ways,
)
from bayesrank.likelihoods.subsets import log_binomial, log_sum, log_symmetric, tilt

__all__ = ["OrderedPartitionDraw", "draw_rankings", "draw_subset"]


@numba.njit(cache=True)
def _uniform(state):  # type: ignore[no-untyped-def]
    """Next number of SplitMix64 in (0, 1); advances `state` (1,) of uint64."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return (float(z >> np.uint64(11)) + 0.5) * 2.0**-53


@numba.njit(cache=True, error_model="numpy")
def _pick(log_weight, state):  # type: ignore[no-untyped-def]
    """Position drawn in proportion to exp(log_weight)."""
    peak = log_weight.max()
    total = 0.0
    for x in log_weight:
        total += math.exp(x - peak)
    left = _uniform(state) * total
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
        if _uniform(state) * (candidates.size - j) < needed:
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
        if _uniform(state) * (chance + q[i] * after[i + 1, needed]) < chance:
            member[i] = True
            needed -= 1


@numba.njit(cache=True, error_model="numpy")
def _log_q(w, centre, y):  # type: ignore[no-untyped-def]
    """Logarithms of the q at node y of the harmonic mean."""
    return -np.exp(np.minimum(centre + y - math.exp(-y) - w, 7.0))


@numba.njit(cache=True, error_model="numpy")
def _nodes(w, m):  # type: ignore[no-untyped-def]
    """Centre, first node and log weights of all, for subsets of size m or of any size."""
    n = w.size
    share, work = np.empty(n), np.empty((2, n))
    down = np.sort(w)[::-1]
    centre, low, nodes = harmonic_window(w) if m == FREE else harmonic_window_of_size(w, down, m)
    log_f = np.empty(nodes)
    for k in range(nodes):
        y = low + k * STEP
        jump = math.exp(-y)
        log_q = _log_q(w, centre, y)
        if m == FREE:
            q = np.exp(log_q)
            total = np.log1p(q).sum() + math.log(max((q / (1.0 + q)).sum(), 1e-300))
        else:
            total = math.log(m) + log_symmetric(log_q, m, share, work, False)
        log_f[k] = centre + y - jump + math.log1p(jump) + total
    return centre, low, log_f


@numba.njit(cache=True, error_model="numpy")
def _log_total(w, aggregate, m):  # type: ignore[no-untyped-def]
    """Logarithm of the sum of the set function over subsets of size m, geometric or harmonic."""
    n = w.size
    if aggregate == GEOMETRIC:
        return log_symmetric(w / m, m, np.empty(n), np.empty((2, n)), False)
    return math.log(STEP) + log_sum(_nodes(w, m)[2])


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
        centre, low, log_f = _nodes(w, FREE)
        log_q = _log_q(w, centre, low + _pick(log_f, state) * STEP)
        log_share = log_q - np.log1p(np.exp(log_q))
        anchor = _pick(log_share, state)
        for i in range(n):
            member[i] = i == anchor or _uniform(state) < math.exp(log_share[i])
    else:
        m = size
        if size == FREE:
            last = min(n, log_weight.size) if log_weight.size else n
            terms = np.empty(last)
            for s in range(1, last + 1):
                terms[s - 1] = _log_total(w, aggregate, s)
                if log_weight.size:
                    terms[s - 1] += log_weight[s - 1]
            m = _pick(terms, state) + 1
        if aggregate == GEOMETRIC:
            _add_by_product(member, w / m, m, state)
        else:
            centre, low, log_f = _nodes(w, m)
            log_q = _log_q(w, centre, low + _pick(log_f, state) * STEP)
            _add_by_product(member, log_q, m, state)
    return member


@numba.njit(cache=True, error_model="numpy")
def draw_rankings(utility, where, sizes, log_weight, seed, aggregate):  # type: ignore[no-untyped-def]
    """Draw weak orders.

    Parameters
    ----------
    utility : ndarray of float, (n_rankings, n_slots)
        Log worth of the item in each slot.
    where : ndarray of bool, (n_rankings, n_slots)
        Slots in use.
    sizes : ndarray of int, (n_rankings, n_blocks)
        Block sizes if they are given; without columns they are drawn.
    log_weight : ndarray of float, (n_rankings, n_sizes)
        Logarithms of the weights of sizes; without columns they weigh the same.
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
                if size <= 0 or size > left.size:  # sizes that do not add up: what is left
                    size = left.size
            rank += 1
            member = draw_subset(utility[row][left], aggregate, size, log_weight[row], state)
            ranks[row][left[member]] = rank
            left = left[~member]
    return ranks


class OrderedPartitionDraw(Op):
    """Weak orders (..., n_slots) of int64 from seeds (...).

    Inputs: utility, where, sizes, log_weight and seed, with the same axes before the last.
    """

    __props__ = ("aggregate",)

    def __init__(self, aggregate: str) -> None:
        self.aggregate = aggregate

    def make_node(self, *inputs: Any) -> Apply:
        variables = [pt.as_tensor_variable(x) for x in inputs]
        return Apply(self, variables, [pt.tensor(dtype="int64", shape=variables[0].type.shape)])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[Any]) -> None:
        output_storage[0][0] = _draw(*inputs, AGGREGATES.index(self.aggregate))

    def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
        return [shapes[0]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False]] * len(node.inputs)

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        return [disconnected_type() for _ in inputs]


@numba.njit(cache=True, error_model="numpy")
def _draw(utility, where, sizes, log_weight, seed, aggregate):  # type: ignore[no-untyped-def]
    n, shape = utility.shape[-1], utility.shape
    rows = seed.size
    ranks = draw_rankings(
        np.ascontiguousarray(utility).reshape(rows, n),
        np.ascontiguousarray(where).reshape(rows, n),
        np.ascontiguousarray(sizes).reshape(rows, sizes.shape[-1]),
        np.ascontiguousarray(log_weight).reshape(rows, log_weight.shape[-1]),
        np.ascontiguousarray(seed).reshape(rows),
        aggregate,
    )
    return ranks.reshape(shape)


@register_funcify_default_op_cache_key(OrderedPartitionDraw)
def _numba_draw(op: OrderedPartitionDraw, node: Apply, **kwargs: Any) -> tuple[Any, int]:
    code = AGGREGATES.index(op.aggregate)

    @numba_njit
    def draw(utility, where, sizes, log_weight, seed):  # type: ignore[no-untyped-def]
        return _draw(utility, where, sizes, log_weight, seed, code)

    return draw, 2


try:
    import jax
    from pytensor.link.jax.dispatch import jax_funcify
except ImportError:  # JAX is an extra
    pass
else:

    @jax_funcify.register(OrderedPartitionDraw)
    def _jax_draw(op: OrderedPartitionDraw, **kwargs: Any) -> Any:
        code = AGGREGATES.index(op.aggregate)

        def on_host(*inputs: Any) -> np.ndarray:
            return _draw(*map(np.asarray, inputs), code)

        def draw(utility: Any, *rest: Any) -> Any:
            like = jax.ShapeDtypeStruct(utility.shape, np.int64)
            return jax.pure_callback(on_host, like, utility, *rest, vmap_method="sequential")

        return draw
