"""Compiled Ops for Plackett-Luce on weak orders: value and gradient in one pass.

`RankingLogp` and `StageTotal` take one utility per item and a table of distinct stages;
`WeakOrderLogp` takes one utility per slot.  Numba and C modes run the kernels of
`bayesrank.likelihoods.stage_kernel`; JAX and second derivatives run the graphs of
`bayesrank.likelihoods.plackett_luce`, which must agree.

``RankingLogp`` gives one number per ranking.  When only its sum is wanted, as in every
evaluation of a sampler, a canonicalisation replaces ``Sum(RankingLogp(...))`` by `StageTotal`:
the stages weighted by how many rankings use them, without the scatter to rankings.  PyMC
canonicalises before it differentiates, so the gradient is that of `StageTotal` too.
"""

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.op import Op
from pytensor.graph.rewriting.basic import node_rewriter
from pytensor.link.numba.dispatch.basic import (
    numba_njit,
    register_funcify_default_op_cache_key,
)
from pytensor.tensor import TensorVariable
from pytensor.tensor.math import Sum
from pytensor.tensor.rewriting.basic import register_canonicalize

from bayesrank.likelihoods.plackett_luce import matrix_logp, over_rows, stage_logp
from bayesrank.likelihoods.quadrature import segment_sum
from bayesrank.likelihoods.stage_kernel import ranking_sums, stage_logps, weak_order_logps

__all__ = ["RankingLogp", "StageTotal", "WeakOrderLogp", "ranking_logp", "weak_order_logp"]

N_KERNEL = 8  # leading fields of the stage table that the kernels read; the graphs read all twelve


class _GraphTwinOp(Op):
    """An Op with a graph of the same values, used by JAX and for second derivatives."""

    __props__: tuple[str, ...] = ("nodes",)

    def __init__(self, nodes: int = 48) -> None:
        self.nodes = nodes

    def twin(self, *inputs: Variable) -> TensorVariable:
        """Return the first output as a graph of the inputs."""
        raise NotImplementedError


def _pull_gradient(value: TensorVariable, wrt: list[Any], gradient_bar: Any) -> list[Any]:
    """Pull a cotangent of d value / d wrt[0] back to `wrt`: a Hessian-vector product."""
    slope = pytensor.grad(value, wrt[0])
    return pytensor.grad(
        pt.sum(slope * gradient_bar), wrt, consider_constant=[gradient_bar], return_disconnected="zero"
    )


def _add(terms: list[list[Any]]) -> list[Any]:
    """Add cotangents, input by input, without zeros whose shapes JAX would have to know."""
    return [functools.reduce(operator.add, term) for term in zip(*terms, strict=True)]


class StageTotal(_GraphTwinOp):
    """Weighted sum of log-probabilities of stages (scalar) and its gradient (n_items,)."""

    def make_node(self, utility: Any, stage_weight: Any, *table: Any) -> Apply:
        inputs = [pt.as_tensor_variable(x) for x in (utility, stage_weight, *table)]
        return Apply(self, inputs, [pt.dscalar(), inputs[0].type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[Any]) -> None:
        utility, weight, *table = inputs
        logp, output_storage[1][0] = stage_logps(utility, weight, *table[:N_KERNEL])
        output_storage[0][0] = (weight * logp).sum()

    def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
        return [(), shapes[0]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True, True]] * 2 + [[False, False]] * (len(node.inputs) - 2)

    def twin(self, *inputs: Variable) -> TensorVariable:
        utility, weight, *table = inputs
        return pt.sum(weight * stage_logp(utility, *table, nodes=self.nodes))

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        utility, weight, *table = inputs
        total_bar, gradient_bar = cotangents
        logp = stage_logp(utility, *table, nodes=self.nodes)
        bars = []
        if not isinstance(total_bar.type, DisconnectedType):
            bars.append([total_bar * outputs[1], total_bar * logp])
        if not isinstance(gradient_bar.type, DisconnectedType):
            bars.append(_pull_gradient(pt.sum(weight * logp), [utility, weight], gradient_bar))
        return [*_add(bars), *(disconnected_type() for _ in table)]


class RankingLogp(_GraphTwinOp):
    """Weighted log-probability of every ranking, (n_rankings,), from one utility per item.

    Inputs: utility, stage_of, ranking_of, ranking_weight, stage_weight, then the stage table.
    """

    def make_node(self, *inputs: Any) -> Apply:
        variables = [pt.as_tensor_variable(x) for x in inputs]
        return Apply(self, variables, [pt.dvector()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[Any]) -> None:
        utility, stage_of, ranking_of, ranking_weight, stage_weight, *table = inputs
        logp, _ = stage_logps(utility, stage_weight, *table[:N_KERNEL])
        output_storage[0][0] = ranking_sums(logp, stage_of, ranking_of, ranking_weight)

    def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
        return [shapes[3]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True]] + [[False]] * (len(node.inputs) - 1)

    def twin(self, *inputs: Variable) -> TensorVariable:
        utility, stage_of, ranking_of, ranking_weight, _, *table = inputs
        logp = stage_logp(utility, *table, nodes=self.nodes)[stage_of]
        return ranking_weight * segment_sum(logp, (ranking_of,), (ranking_weight.shape[0],))

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        utility, stage_of, ranking_of, ranking_weight, stage_weight, *table = inputs
        use_bar = (cotangents[0] * ranking_weight)[ranking_of]
        stage_bar = segment_sum(use_bar, (stage_of,), (stage_weight.shape[0],))
        utility_bar = StageTotal(self.nodes)(utility, stage_bar, *table)[1]
        return [utility_bar] + [disconnected_type() for _ in inputs[1:]]


class WeakOrderLogp(_GraphTwinOp):
    """Log-probability of every ranking (n_rankings,) and its gradient (n_rankings, n_slots)."""

    default_output = 0

    def make_node(self, utility: Any, ranks: Any) -> Apply:
        utility, ranks = pt.as_tensor_variable(utility), pt.as_tensor_variable(ranks)
        if utility.ndim != 2 or ranks.ndim != 2:
            raise TypeError("WeakOrderLogp works on matrices; use weak_order_logp.")
        return Apply(self, [utility, ranks], [pt.dvector(), utility.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[Any]) -> None:
        output_storage[0][0], output_storage[1][0] = weak_order_logps(*inputs)

    def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
        return [(shapes[0][0],), shapes[0]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True, True], [False, False]]

    def twin(self, *inputs: Variable) -> TensorVariable:
        utility, ranks = inputs
        return matrix_logp(utility, ranks, nodes=self.nodes)

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        utility, ranks = inputs
        logp_bar, gradient_bar = cotangents
        bars = []
        if not isinstance(logp_bar.type, DisconnectedType):
            bars.append([logp_bar[:, None] * outputs[1]])
        if not isinstance(gradient_bar.type, DisconnectedType):
            value = pt.sum(matrix_logp(utility, ranks, nodes=self.nodes))
            bars.append(_pull_gradient(value, [utility], gradient_bar))
        return [*_add(bars), disconnected_type()]


def weak_order_logp(utility: Any, ranks: Any, *, nodes: int = 48) -> TensorVariable:
    """Log-probability of weak orders, compiled; the arguments of `plackett_luce_logp`.

    Parameters
    ----------
    utility : tensor_like of float, (..., n_slots)
        Log worth of the item in each slot.
    ranks : tensor_like of int, (..., n_slots)
        Dense ranks, 0 in empty slots.
    nodes : int
        Quadrature nodes of the graph used by JAX and second derivatives; the kernel spaces its
        own to 1e-11.

    Returns
    -------
    TensorVariable, (...)
        One number per ranking, -inf where the ranks are not dense.

    Examples
    --------
    >>> weak_order_logp([0.0, 0.0, 0.0], [1, 2, 2]).exp().eval().round(6)
    array(0.333333)
    """
    return over_rows(lambda u, r: WeakOrderLogp(nodes)(u, r), utility, ranks)


def ranking_logp(utility: Any, table: Sequence[Any], *, nodes: int = 48) -> TensorVariable:
    """Weighted log-probability of every ranking from one utility per item.

    Parameters
    ----------
    utility : tensor_like of float, (n_items,)
        Log worth of every item.
    table : sequence of tensor_like
        The fields of `bayesrank.data.stages.Stages`, in its order.
    nodes : int
        Quadrature nodes of the graph used by JAX and second derivatives.

    Returns
    -------
    TensorVariable, (n_rankings,)
        Its sum is evaluated over distinct stages only.
    """
    *stages, stage_of, ranking_of, ranking_weight, stage_weight = table
    utility = pt.cast(pt.as_tensor_variable(utility), "float64")
    return RankingLogp(nodes)(
        utility, stage_of, ranking_of, ranking_weight, stage_weight, *stages
    )


@register_canonicalize
@node_rewriter([Sum])
def sum_of_rankings_is_total_of_stages(
    fgraph: FunctionGraph, node: Apply
) -> list[TensorVariable] | None:
    """Sum(RankingLogp(...)) -> StageTotal(...)."""
    rankings = node.inputs[0]
    if rankings.owner is None or not isinstance(rankings.owner.op, RankingLogp):
        return None
    utility, _, _, _, stage_weight, *table = rankings.owner.inputs
    total = StageTotal(rankings.owner.op.nodes)(utility, stage_weight, *table)
    return [total[0]]


# ---------------------------------------------------------------------------------------------
# Backends
# ---------------------------------------------------------------------------------------------


@register_funcify_default_op_cache_key(StageTotal)
def _numba_stage_total(op: StageTotal, node: Apply, **kwargs: Any) -> tuple[Any, int]:
    @numba_njit
    def stage_total(  # type: ignore[no-untyped-def]
        utility, weight, entry, start, child, s_item, s_node, b_item, b_start, b_below, *graph_only
    ):
        logp, gradient = stage_logps(
            utility, weight, entry, start, child, s_item, s_node, b_item, b_start, b_below
        )
        total = 0.0  # a loop: a threaded dot product costs more than the whole kernel here
        for s in range(logp.size):
            total += weight[s] * logp[s]
        return np.asarray(total), gradient

    return stage_total, 1


@register_funcify_default_op_cache_key(RankingLogp)
def _numba_ranking_logp(op: RankingLogp, node: Apply, **kwargs: Any) -> tuple[Any, int]:
    @numba_njit
    def ranking_logp(  # type: ignore[no-untyped-def]
        utility, stage_of, ranking_of, ranking_weight, stage_weight,
        entry, start, child, s_item, s_node, b_item, b_start, b_below, *graph_only,
    ):  # fmt: skip
        logp, _ = stage_logps(
            utility, stage_weight, entry, start, child, s_item, s_node, b_item, b_start, b_below
        )
        return ranking_sums(logp, stage_of, ranking_of, ranking_weight)

    return ranking_logp, 1


@register_funcify_default_op_cache_key(WeakOrderLogp)
def _numba_weak_order_logp(op: WeakOrderLogp, node: Apply, **kwargs: Any) -> tuple[Any, int]:
    @numba_njit
    def weak_order_logp(utility, ranks):  # type: ignore[no-untyped-def]
        return weak_order_logps(utility, ranks)

    return weak_order_logp, 1


try:
    import jax
    import jax.numpy as jnp
    from pytensor.link.jax.dispatch import jax_funcify
except ImportError:  # JAX is an extra
    pass
else:

    @jax_funcify.register(_GraphTwinOp)
    def _jax_twin(op: _GraphTwinOp, node: Apply, **kwargs: Any) -> Any:
        inputs = [x.type() for x in node.inputs]
        # as written: rewrites would turn shapes, concrete under JAX, into traced arithmetic
        convert = jax_funcify(FunctionGraph(inputs, [op.twin(*inputs)], clone=False))

        def value(*args: Any) -> Any:
            return convert(*args)[0]

        def value_and_gradient(utility: Any, *rest: Any) -> Any:
            out, pull = jax.vjp(lambda u: value(u, *rest), utility)
            return out, pull(jnp.ones_like(out))[0]  # unused gradients are removed by XLA

        return value if len(node.outputs) == 1 else value_and_gradient
