"""Exact draws of weak orders: sets chosen one after the other, until nothing is left.

A draw is a function of one 64-bit seed per ranking, which `bayesrank.likelihoods.ops.splitmix`
expands: one compiled function serves numba, C and, by a callback, JAX.
"""

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

from bayesrank.likelihoods.pmop.draw_kernels import draw_subset
from bayesrank.likelihoods.pmop.set_kernels import AGGREGATES, FREE

__all__ = ["OrderedPartitionDraw", "draw_rankings"]


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

    return draw, 4


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
