"""The compiled Op of PMOP: value and gradients of weak orders in one pass.

Numba and C modes run the kernels of `bayesrank.likelihoods.pmop.set_kernels`; JAX and second
derivatives run the graphs of `bayesrank.likelihoods.pmop.graph`, which must agree.
"""

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph.basic import Apply, Variable
from pytensor.link.numba.dispatch.basic import (
    numba_njit,
    register_funcify_default_op_cache_key,
)
from pytensor.tensor import TensorVariable

from bayesrank.likelihoods.ops.arrays import broadcast_batch
from bayesrank.likelihoods.ops.compiled import GraphTwinOp, add_cotangents, pull_gradients
from bayesrank.likelihoods.pmop.graph import matrix_logp
from bayesrank.likelihoods.pmop.set_kernels import AGGREGATES, FREE, log_normaliser, log_score

__all__ = ["OrderedPartitionLogp", "pmop_logp", "weak_order_logps"]


@numba.njit(cache=True, error_model="numpy")
def weak_order_logps(  # type: ignore[no-untyped-def]
    utility, ranks, log_weight, stage_weight, aggregate, given_sizes
):
    """Log-probability of every ranking, and its gradients.

    Parameters
    ----------
    utility : ndarray of float, (n_rankings, n_slots)
        Log worth of the item in each slot.
    ranks : ndarray of int, (n_rankings, n_slots)
        Ranks in any order of slots, 0 in empty ones.
    log_weight : ndarray of float, (n_rankings, n_sizes)
        Log weights of block sizes, others being impossible; without columns all weigh the same.
    stage_weight : ndarray of float, (n_rankings, n_stages)
        Exponents of the stages, of as many as a ranking may have.
    aggregate : int
        Position in `AGGREGATES`.
    given_sizes : bool
        Whether the sizes of the blocks are given.

    Returns
    -------
    logp : ndarray, (n_rankings,)
        -inf where the ranks are not dense, a block is too large or there are too many.
    by_utility : ndarray, (n_rankings, n_slots)
    by_log_weight : ndarray, (n_rankings, n_sizes)
    """
    n_rankings, n_slots = ranks.shape
    if utility.shape != ranks.shape or not (
        log_weight.shape[0] == stage_weight.shape[0] == n_rankings
    ):
        raise ValueError("utility, ranks and weights must be as many rows, utility and ranks slots")
    n_sizes = log_weight.shape[1]
    logp = np.zeros(n_rankings)
    by_utility = np.zeros((n_rankings, n_slots))
    by_log_weight = np.zeros((n_rankings, n_sizes))
    w, gradient, chances = np.empty(n_slots), np.empty(n_slots), np.empty(n_sizes)
    for row in range(n_rankings):
        order = np.argsort(ranks[row], kind="mergesort")
        start = 0  # of the stage, in this order: empty slots first
        while start < n_slots and ranks[row, order[start]] == 0:
            start += 1
        for j in range(start, n_slots):
            w[j] = utility[row, order[j]]
        rank = 1
        while start < n_slots:
            end = start
            while end < n_slots and ranks[row, order[end]] == rank:
                end += 1
            m, n = end - start, n_slots - start
            too_large = n_sizes > 0 and m > n_sizes and not given_sizes
            if m == 0 or too_large or rank > stage_weight.shape[1]:
                logp[row] = -np.inf
                break
            certain = n == 1 or (given_sizes and m == n)
            weight = stage_weight[row, rank - 1]
            if weight != 0.0 and not certain:
                score = log_score(w[start:end], aggregate, gradient[:m])
                for j in range(m):
                    by_utility[row, order[start + j]] += weight * gradient[j]
                score -= log_normaliser(
                    w[start:], aggregate, m if given_sizes else FREE,
                    log_weight[row], gradient[:n], chances,
                )  # fmt: skip
                for j in range(n):
                    by_utility[row, order[start + j]] -= weight * gradient[j]
                if n_sizes > 0 and not given_sizes:
                    score += log_weight[row, m - 1]
                    by_log_weight[row, m - 1] += weight
                    for s in range(n_sizes):
                        by_log_weight[row, s] -= weight * chances[s]
                logp[row] += weight * score
            start = end
            rank += 1
    return logp, by_utility, by_log_weight


class OrderedPartitionLogp(GraphTwinOp):
    """Log-probability of every ranking, (n_rankings,), and its gradients.

    Inputs: utility (n_rankings, n_slots), ranks (n_rankings, n_slots), log_weight (n_rankings,
    n_sizes) of block sizes, stage_weight (n_rankings, n_stages). The outputs after the first are
    the gradients by utility and by log_weight.
    """

    __props__ = ("aggregate", "given_sizes", "nodes")
    wrt = (0, 2)
    default_output = 0

    def __init__(self, aggregate: str, given_sizes: bool, nodes: int = 48) -> None:
        super().__init__(nodes)
        self.aggregate = aggregate
        self.given_sizes = given_sizes

    def make_node(self, utility: Any, ranks: Any, log_weight: Any, stage_weight: Any) -> Apply:
        inputs = [pt.as_tensor_variable(x) for x in (utility, ranks, log_weight, stage_weight)]
        if any(x.ndim != 2 for x in inputs):
            raise TypeError("OrderedPartitionLogp works on matrices; use pmop_logp.")
        return Apply(self, inputs, [pt.dvector(), inputs[0].type(), inputs[2].type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[Any]) -> None:
        code = AGGREGATES.index(self.aggregate)
        out = weak_order_logps(*inputs, code, self.given_sizes)
        for storage, value in zip(output_storage, out, strict=True):
            storage[0] = value

    def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
        return [(shapes[0][0],), shapes[0], shapes[2]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True] * 3, [False] * 3, [True] * 3, [False] * 3]

    def twin(self, *inputs: Variable) -> TensorVariable:
        return matrix_logp(
            *inputs,
            aggregate=self.aggregate,
            given_sizes=self.given_sizes,
            nodes=self.nodes,
        )

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        logp_bar, *gradient_bars = cotangents
        bars = []
        if not isinstance(logp_bar.type, DisconnectedType):
            bars.append([logp_bar[:, None] * slope for slope in outputs[1:]])
        if not all(isinstance(bar.type, DisconnectedType) for bar in gradient_bars):
            value = pt.sum(self.twin(*inputs))
            bars.append(pull_gradients(value, [inputs[0], inputs[2]], gradient_bars))
        by_utility, by_log_weight = add_cotangents(bars)
        return [by_utility, disconnected_type(), by_log_weight, disconnected_type()]


def pmop_logp(
    utility: Any,
    ranks: Any,
    *,
    aggregate: str = "mean",
    given_sizes: bool = False,
    log_weight: Any = None,
    stage_weight: Any = None,
    nodes: int = 48,
) -> TensorVariable:
    r"""Log-probability of weak orders under PMOP, compiled; the formulas of `likelihoods.pmop`.

    Parameters
    ----------
    utility : tensor_like of float, (..., n_slots)
        Log worth of the item in each slot.
    ranks : tensor_like of int, (..., n_slots)
        Dense ranks in any order of slots: 1 = best, equal = one block, 0 = empty slot.
    aggregate : {"mean", "max", "min", "geometric", "harmonic"}
        The set function.
    given_sizes : bool
        Whether the sizes of the blocks are given, or are part of the outcome.
    log_weight : tensor_like of float, (..., n_sizes), optional
        Logarithms of the weights of block sizes 1 to n_sizes, larger ones being impossible;
        default the same weight for all.
    stage_weight : tensor_like of float, (..., n_stages), optional
        Exponents of the stages, as many as a ranking may have; default one.
    nodes : int
        Of the graph that JAX and second derivatives use.

    Returns
    -------
    TensorVariable, (...)
        One number per ranking, -inf where the ranks are not dense.

    Examples
    --------
    Two items: one before the other, or both together, each with probability one third.

    >>> float(pmop_logp([0.0, 0.0], [1, 1]).exp().eval().round(6))
    0.333333
    """
    utility = pt.cast(pt.as_tensor_variable(utility), "float64")
    log_weight = pt.zeros((0,)) if log_weight is None else pt.as_tensor_variable(log_weight)
    stage_weight = (
        pt.ones_like(utility) if stage_weight is None else pt.as_tensor_variable(stage_weight)
    )
    op = OrderedPartitionLogp(aggregate, given_sizes, nodes)
    ranks, *rest = broadcast_batch(
        pt.as_tensor_variable(ranks), utility, log_weight, stage_weight
    )  # ranks first, which are data: their shape needs no computing
    utility, log_weight, stage_weight = rest
    if ranks.ndim == 2:
        return op(utility, ranks, log_weight, stage_weight)
    batch = ranks.shape[:-1]
    utility, ranks, stage_weight = map(_rows, (utility, ranks, stage_weight))
    # reshape cannot tell how many rows without columns there are
    no_weights = log_weight.type.shape[-1] == 0
    log_weight = utility[:, :0] if no_weights else _rows(log_weight)
    return op(utility, ranks, log_weight, stage_weight).reshape(batch)


def _rows(x: TensorVariable) -> TensorVariable:
    return x.reshape((-1, x.shape[-1]))


@register_funcify_default_op_cache_key(OrderedPartitionLogp)
def _numba_ordered_partition_logp(
    op: OrderedPartitionLogp, node: Apply, **kwargs: Any
) -> tuple[Any, int]:
    code, given_sizes = AGGREGATES.index(op.aggregate), op.given_sizes

    @numba_njit
    def ordered_partition_logp(utility, ranks, log_weight, stage_weight):  # type: ignore[no-untyped-def]
        return weak_order_logps(utility, ranks, log_weight, stage_weight, code, given_sizes)

    return ordered_partition_logp, 3
