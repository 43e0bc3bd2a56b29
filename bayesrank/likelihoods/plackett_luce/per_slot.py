"""Compiled Ops for weak orders with one utility per slot: value and gradient in one pass.

`WeakOrderLogp` is the exact log-probability under Plackett-Luce, `WeakOrderBound` its lower bound.
Numba and C modes run the kernel of `bayesrank.likelihoods.plackett_luce.per_slot_kernel`; JAX and
second derivatives run the graphs of `bayesrank.likelihoods.plackett_luce.graph` and
`bounds`, which must agree.
"""

from collections.abc import Sequence
from typing import Any

import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph.basic import Apply, Variable
from pytensor.link.numba.dispatch.basic import (
    numba_njit,
    register_funcify_default_op_cache_key,
)
from pytensor.tensor import TensorVariable

from bayesrank.likelihoods.ops.arrays import over_rows
from bayesrank.likelihoods.ops.compiled import GraphTwinOp, add_cotangents, pull_gradients
from bayesrank.likelihoods.plackett_luce.bounds import bound_of_matrix
from bayesrank.likelihoods.plackett_luce.graph import matrix_logp, need_quadrature
from bayesrank.likelihoods.plackett_luce.per_slot_kernel import weak_order_logps

__all__ = ["WeakOrderBound", "WeakOrderLogp", "weak_order_bound", "weak_order_logp"]


class WeakOrderLogp(GraphTwinOp):
    """Log-probability of every ranking (n_rankings,) and its gradient (n_rankings, n_slots)."""

    default_output = 0
    bound = False

    def make_node(self, utility: Any, ranks: Any) -> Apply:
        utility, ranks = pt.as_tensor_variable(utility), pt.as_tensor_variable(ranks)
        if utility.ndim != 2 or ranks.ndim != 2:
            way = "weak_order_bound" if self.bound else "weak_order_logp"
            raise TypeError(f"{type(self).__name__} works on matrices; use {way}.")
        return Apply(self, [utility, ranks], [pt.dvector(), utility.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[Any]) -> None:
        output_storage[0][0], output_storage[1][0] = weak_order_logps(*inputs, self.bound)

    def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
        return [(shapes[0][0],), shapes[0]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True, True], [False, False]]

    def twin(self, *inputs: Variable) -> TensorVariable:
        utility, ranks = inputs
        return matrix_logp(utility, ranks, nodes=self.nodes)

    def shortcut(self, *inputs: Variable) -> tuple[TensorVariable, TensorVariable] | None:
        utility, ranks = inputs
        return ~need_quadrature(ranks), matrix_logp(utility, ranks, quadrature=False)

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        utility, ranks = inputs
        logp_bar, gradient_bar = cotangents
        bars = []
        if not isinstance(logp_bar.type, DisconnectedType):
            bars.append([logp_bar[:, None] * outputs[1]])
        if not isinstance(gradient_bar.type, DisconnectedType):
            value = pt.sum(self.twin(utility, ranks))
            bars.append(pull_gradients(value, [utility], [gradient_bar]))
        return [*add_cotangents(bars), disconnected_type()]


class WeakOrderBound(WeakOrderLogp):
    """Lower bound of `WeakOrderLogp`, without any integral."""

    bound = True

    def twin(self, *inputs: Variable) -> TensorVariable:
        utility, ranks = inputs
        return bound_of_matrix(utility, ranks)

    def shortcut(self, *inputs: Variable) -> None:
        return None


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
    >>> round(float(weak_order_logp([0.0, 0.0, 0.0], [1, 2, 2]).exp().eval()), 6)
    0.333333
    """
    return over_rows(lambda u, r: WeakOrderLogp(nodes)(u, r), utility, ranks)


def weak_order_bound(utility: Any, ranks: Any) -> TensorVariable:
    """Lower bound of the log-probability of weak orders, compiled; see `plackett_luce_bound`.

    Parameters
    ----------
    utility : tensor_like of float, (..., n_slots)
        Log worth of the item in each slot.
    ranks : tensor_like of int, (..., n_slots)
        Dense ranks, 0 in empty slots.

    Returns
    -------
    TensorVariable, (...)
        One number per ranking, -inf where the ranks are not dense.

    Examples
    --------
    >>> round(float(weak_order_bound([0.0, 0.0, 0.0], [1, 1, 2]).exp().eval()), 6)  # 2!/3²
    0.222222
    """
    return over_rows(lambda u, r: WeakOrderBound()(u, r), utility, ranks)


@register_funcify_default_op_cache_key(WeakOrderLogp)
def _numba_weak_order_logp(op: WeakOrderLogp, node: Apply, **kwargs: Any) -> tuple[Any, int]:
    bound = op.bound

    @numba_njit
    def weak_order_logp(utility, ranks):  # type: ignore[no-untyped-def]
        return weak_order_logps(utility, ranks, bound)

    return weak_order_logp, 14
