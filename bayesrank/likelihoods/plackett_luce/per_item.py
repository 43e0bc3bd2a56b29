"""Compiled Ops for Plackett-Luce on weak orders: value and gradient in one pass.

They take one utility per item and a table of distinct stages;
`bayesrank.likelihoods.plackett_luce.per_slot` takes one utility per slot. Numba and C modes run the
kernels of `bayesrank.likelihoods.plackett_luce.per_item_kernel`; JAX and second derivatives run the
graphs of `bayesrank.likelihoods.plackett_luce.graph`, which must agree.

``RankingLogp`` gives one number per ranking.  When only its sum is wanted, as in every
evaluation of a sampler, a canonicalisation replaces ``Sum(RankingLogp(...))`` by `StageTotal`:
the stages weighted by how many rankings use them, without the scatter to rankings.  PyMC
canonicalises before it differentiates, so the gradient is that of `StageTotal` too.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.rewriting.basic import node_rewriter
from pytensor.link.numba.dispatch.basic import (
    numba_njit,
    register_funcify_default_op_cache_key,
)
from pytensor.tensor import TensorVariable
from pytensor.tensor.math import Sum
from pytensor.tensor.rewriting.basic import register_canonicalize

from bayesrank.likelihoods.ops.arrays import segment_sum
from bayesrank.likelihoods.ops.compiled import GraphTwinOp, add_cotangents, pull_gradients
from bayesrank.likelihoods.plackett_luce.graph import stage_terms_graph
from bayesrank.likelihoods.plackett_luce.per_item_kernel import ranking_sums, stage_terms

__all__ = ["RankingLogp", "StageTotal", "ranking_logp"]

# Fields of the stage table: what the kernels read, and what the graphs read instead.
KERNEL = ("entry_item", "node_start", "node_child", "block_item", "block_start", "block_below")
GRAPH = ("block_item", "block_below", "block_entry", "slot_item", "slot_rank", "node_slot")
TABLE = (*KERNEL, *GRAPH[2:])
N_KERNEL = len(KERNEL)


class StageTotal(GraphTwinOp):
    """Weighted sum of stages (scalar) and its gradient (n_items,).

    Inputs: utility, item_weight, node_weight, block_weight, then `TABLE`. Weights that are data
    are not connected: their cotangents are the stages as a graph, whose construction takes longer
    than everything else of a gradient.
    """

    __props__ = ("nodes", "weights_are_data")

    def __init__(self, nodes: int = 48, *, weights_are_data: bool = False) -> None:
        super().__init__(nodes)
        self.weights_are_data = weights_are_data

    def make_node(self, *inputs: Any) -> Apply:
        variables = [pt.as_tensor_variable(x) for x in inputs]
        return Apply(self, variables, [pt.dscalar(), variables[0].type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[Any]) -> None:
        value, gradient, _, _ = stage_terms(*inputs[: 4 + N_KERNEL], False)
        output_storage[0][0], output_storage[1][0] = np.asarray(value), gradient

    def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
        return [(), shapes[0]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        weights = not self.weights_are_data
        return [[True, True], *[[weights, weights]] * 3, *[[False, False]] * len(TABLE)]

    def twin(self, *inputs: Variable) -> TensorVariable:
        utility, item_weight, node_weight, block_weight, *table = inputs
        log_total, block = _terms(utility, table, self.nodes)
        return (
            pt.sum(item_weight * utility)
            + pt.sum(node_weight * log_total)
            + pt.sum(block_weight * block)
        )

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        total_bar, gradient_bar = cotangents
        n_connected = 1 if self.weights_are_data else 4
        bars = []
        if not isinstance(total_bar.type, DisconnectedType):
            slopes = [outputs[1]]
            if not self.weights_are_data:
                slopes += [inputs[0], *_terms(inputs[0], inputs[4:], self.nodes)]
            bars.append([total_bar * slope for slope in slopes])
        if not isinstance(gradient_bar.type, DisconnectedType):
            wrt = list(inputs[:n_connected])
            bars.append(pull_gradients(self.twin(*inputs), wrt, [gradient_bar]))
        return [*add_cotangents(bars), *(disconnected_type() for _ in inputs[n_connected:])]


class RankingLogp(GraphTwinOp):
    """Weighted log-probability of every ranking, (n_rankings,), from one utility per item.

    Inputs: utility, `TABLE`, then the other fields of `bayesrank.data.derive.stages.Stages`.
    """

    def make_node(self, *inputs: Any) -> Apply:
        variables = [pt.as_tensor_variable(x) for x in inputs]
        return Apply(self, variables, [pt.dvector()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[Any]) -> None:
        utility, table, (s_item, s_node, stage_of, ranking_of, weight, *weights) = _split(inputs)
        _, _, log_total, block = stage_terms(utility, *weights, *table[:N_KERNEL], True)
        logp = ranking_sums(
            utility, log_total, block, s_item, s_node, stage_of, ranking_of, weight.size
        )
        output_storage[0][0] = weight * logp

    def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
        return [_split(shapes)[2][4]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True]] + [[False]] * (len(node.inputs) - 1)

    def twin(self, *inputs: Variable) -> TensorVariable:
        utility, table, (s_item, s_node, stage_of, ranking_of, weight, *_) = _split(inputs)
        log_total, block = _terms(utility, table, self.nodes)
        stage = pt.concatenate([utility[s_item] - log_total[s_node], block])
        return weight * segment_sum(stage[stage_of], (ranking_of,), (weight.shape[0],))

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        utility, table, (s_item, s_node, stage_of, ranking_of, weight, *weights) = _split(inputs)
        n_singles, n_blocks = s_item.shape[0], weights[2].shape[0]
        use_bar = (cotangents[0] * weight)[ranking_of]
        stage_bar = segment_sum(use_bar, (stage_of,), (n_singles + n_blocks,))
        single_bar = stage_bar[:n_singles]
        item_bar = segment_sum(single_bar, (s_item,), (utility.shape[0],))
        node_bar = -segment_sum(single_bar, (s_node,), (weights[1].shape[0],))
        total = StageTotal(self.nodes)(utility, item_bar, node_bar, stage_bar[n_singles:], *table)
        return [total[1], *(disconnected_type() for _ in inputs[1:])]


def _split(inputs: Sequence[Any]) -> tuple[Any, Sequence[Any], Sequence[Any]]:
    """Split into utility, `TABLE` and the remaining fields."""
    return inputs[0], inputs[1 : 1 + len(TABLE)], inputs[1 + len(TABLE) :]


def _terms(
    utility: TensorVariable, table: Sequence[Any], nodes: int
) -> tuple[TensorVariable, TensorVariable]:
    fields = dict(zip(TABLE, table, strict=True))
    return stage_terms_graph(utility, *(fields[name] for name in GRAPH), nodes=nodes)


def ranking_logp(utility: Any, table: Sequence[Any], *, nodes: int = 48) -> TensorVariable:
    """Weighted log-probability of every ranking from one utility per item.

    Parameters
    ----------
    utility : tensor_like of float, (n_items,)
        Log worth of every item.
    table : sequence of tensor_like
        The fields of `bayesrank.data.derive.stages.Stages`, in its order.
    nodes : int
        Quadrature nodes of the graph used by JAX and second derivatives.

    Returns
    -------
    TensorVariable, (n_rankings,)
        Its sum is evaluated over distinct stages only.
    """
    return RankingLogp(nodes)(pt.cast(pt.as_tensor_variable(utility), "float64"), *table)


@register_canonicalize
@node_rewriter([Sum])
def sum_of_rankings_is_total_of_stages(
    fgraph: FunctionGraph, node: Apply
) -> list[TensorVariable] | None:
    """Sum(RankingLogp(...)) -> StageTotal(...)."""
    rankings = node.inputs[0]
    if rankings.owner is None or not isinstance(rankings.owner.op, RankingLogp):
        return None
    utility, table, (*_, item_weight, node_weight, block_weight) = _split(rankings.owner.inputs)
    total = StageTotal(rankings.owner.op.nodes, weights_are_data=True)(
        utility, item_weight, node_weight, block_weight, *table
    )
    return [total[0]]


# ---------------------------------------------------------------------------------------------
# Backends
# ---------------------------------------------------------------------------------------------


@register_funcify_default_op_cache_key(StageTotal)
def _numba_stage_total(op: StageTotal, node: Apply, **kwargs: Any) -> tuple[Any, int]:
    @numba_njit
    def stage_total(  # type: ignore[no-untyped-def]
        utility, item_weight, node_weight, block_weight,
        entry, start, child, b_item, b_start, b_below, *graph_only,
    ):  # fmt: skip
        value, gradient, _, _ = stage_terms(
            utility, item_weight, node_weight, block_weight,
            entry, start, child, b_item, b_start, b_below, False,
        )  # fmt: skip
        return np.asarray(value), gradient

    return stage_total, 3


@register_funcify_default_op_cache_key(RankingLogp)
def _numba_ranking_logp(op: RankingLogp, node: Apply, **kwargs: Any) -> tuple[Any, int]:
    @numba_njit
    def ranking_logp(  # type: ignore[no-untyped-def]
        utility, entry, start, child, b_item, b_start, b_below,
        b_entry, slot_item, slot_rank, node_slot,
        s_item, s_node, stage_of, ranking_of, weight, item_weight, node_weight, block_weight,
    ):  # fmt: skip
        _, _, log_total, block = stage_terms(
            utility, item_weight, node_weight, block_weight,
            entry, start, child, b_item, b_start, b_below, True,
        )  # fmt: skip
        return weight * ranking_sums(
            utility, log_total, block, s_item, s_node, stage_of, ranking_of, weight.size
        )

    return ranking_logp, 3
