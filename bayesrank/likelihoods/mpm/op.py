"""The compiled Ops of MPM: normalisers of many rankers, and how far counts agree with scores.

Numba and C modes run the kernels of `bayesrank.likelihoods.mpm.kernels`; JAX and second
derivatives run the graphs of `bayesrank.likelihoods.mpm.graph`, which must agree.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply
from pytensor.link.numba.dispatch.basic import (
    numba_njit,
    register_funcify_default_op_cache_key,
)
from pytensor.tensor import TensorVariable

from bayesrank.likelihoods.mpm.graph import interpolated_log_normaliser, log_normaliser
from bayesrank.likelihoods.mpm.kernels import (
    agreements,
    agreements_pullback,
    log_normalisers,
    log_normalisers_pullback,
)
from bayesrank.likelihoods.ops.arrays import segment_sum
from bayesrank.likelihoods.ops.compiled import GraphPullbackOp, GraphTwinOp

__all__ = ["Agreement", "LogNormalisers", "agreement", "log_normaliser_table"]


class LogNormalisers(GraphTwinOp):
    """Log normaliser of every problem and ranker, (n_problems, n_rankers).

    Inputs: score (n_problems, n_items), variance (n_problems, n_items) or, known to be empty,
    (1, 0), adherence (n_rankers,), where (n_problems, n_items), needed (n_problems, n_rankers) or,
    known to be empty, (1, 0).
    """

    wrt = (0, 1, 2)

    def make_node(self, *inputs: Any) -> Apply:
        variables = [pt.as_tensor_variable(x) for x in inputs]
        shape = variables[0].type.shape[0], variables[2].type.shape[0]
        return Apply(self, variables, [pt.tensor(dtype="float64", shape=shape)])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[Any]) -> None:
        output_storage[0][0] = log_normalisers(*inputs)

    def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
        return [(shapes[0][0], shapes[2][0])]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [True], [True], [False], [False]]

    def twin(
        self, score: Any, variance: Any, adherence: Any, where: Any, needed: Any
    ) -> TensorVariable:
        unequal = variance.type.shape[1] != 0
        n_rankers = adherence.type.shape[0]
        if unequal and (n_rankers is None or n_rankers > self.nodes):
            log_Z = interpolated_log_normaliser(
                score, adherence, variance, where=where, nodes=self.nodes
            )
        else:
            s, g, here = (x[:, None, :] for x in (score, variance, where))
            theta = pt.zeros_like(s[..., 0]) + adherence
            log_Z = log_normaliser(s, theta, g if unequal else None, where=here)
        return log_Z if needed.type.shape[1] == 0 else pt.switch(needed, log_Z, 0.0)

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        bars = LogNormalisersPullback(self.nodes)(*inputs, *cotangents)
        return [*bars, disconnected_type(), disconnected_type()]


class LogNormalisersPullback(GraphPullbackOp):
    """Gradients by score, variance and adherence."""

    forward = LogNormalisers

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[Any]) -> None:
        for storage, value in zip(output_storage, log_normalisers_pullback(*inputs), strict=True):
            storage[0] = value


class Agreement(GraphTwinOp):
    r"""Agreement of counts with scores, :math:`\sum_{ij} C_n(i, j) D_{ij}`, (n_rankers,).

    Inputs: score (n_items,), variance (n_items,) or empty, the entries' ranker, first, second and
    count (n_entries,), and an array (n_rankers,) of which only the shape is read.
    """

    wrt = (0, 1)

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, [pt.as_tensor_variable(x) for x in inputs], [pt.dvector()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[Any]) -> None:
        output_storage[0][0] = agreements(*inputs)

    def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
        return [shapes[-1]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [True], *[[False]] * 5]

    def twin(
        self, score: Any, variance: Any, ranker: Any, first: Any, second: Any, count: Any, like: Any
    ) -> TensorVariable:
        D = score[first] - score[second]
        if variance.type.shape[0] != 0:
            D = D / (variance[first] + variance[second])
        return segment_sum(count * D, (ranker,), (like.shape[0],))

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        bars = AgreementPullback(self.nodes)(*inputs, *cotangents)
        return [*bars, *(disconnected_type() for _ in inputs[2:])]


class AgreementPullback(GraphPullbackOp):
    """Gradients by score and variance."""

    forward = Agreement

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[Any]) -> None:
        for storage, value in zip(output_storage, agreements_pullback(*inputs), strict=True):
            storage[0] = value


# ---------------------------------------------------------------------------------------------
# Graphs
# ---------------------------------------------------------------------------------------------


def log_normaliser_table(
    score: Any,
    adherence: Any,
    variance: Any = None,
    *,
    where: Any = None,
    needed: Any = None,
    nodes: int = 32,
) -> TensorVariable:
    """Log normaliser of every problem and ranker, compiled.

    Parameters
    ----------
    score : tensor_like of float, (n_problems, n_items)
    adherence : tensor_like of float, (n_rankers,)
        Of each ranker, in all problems.
    variance : tensor_like of float, (n_problems, n_items), optional
        Positive; default 1/2, all equal.
    where : tensor_like of bool, (n_problems, n_items), optional
        Items of each problem; default all.
    needed : tensor_like of bool, (n_problems, n_rankers), optional
        Rankers of each problem; default all. The compiled cost is that of these.
    nodes : int
        Adherences from which JAX and second derivatives interpolate, if there are variances and
        more rankers than that.

    Returns
    -------
    TensorVariable, (n_problems, n_rankers)
        -inf for problems of fewer than two items, 0 where it is not needed.
    """
    score = pt.cast(pt.as_tensor_variable(score), "float64")
    adherence = pt.cast(pt.as_tensor_variable(adherence), "float64")
    variance = pt.constant(np.zeros((1, 0))) if variance is None else variance
    variance = pt.cast(pt.as_tensor_variable(variance), "float64")
    where = pt.ones_like(score, dtype="bool") if where is None else pt.as_tensor_variable(where)
    everyone = pt.constant(np.ones((1, 0), dtype=bool))
    needed = everyone if needed is None else pt.as_tensor_variable(needed)
    return LogNormalisers(nodes)(score, variance, adherence, where, needed)


def agreement(score: Any, variance: Any, entries: Sequence[Any], *, like: Any) -> TensorVariable:
    """Agreement of the counts of every ranker with the scores, compiled.

    Parameters
    ----------
    score : tensor_like of float, (n_items,)
    variance : tensor_like of float, (n_items,), optional
        Positive; default 1/2, all equal.
    entries : four tensor_like, (n_entries,)
        Ranker, preferred item, other item and count of each entry.
    like : tensor_like, (n_rankers,)
        Says how many rankers there are.

    Returns
    -------
    TensorVariable, (n_rankers,)
    """
    score = pt.cast(pt.as_tensor_variable(score), "float64")
    variance = pt.constant(np.zeros(0)) if variance is None else variance
    variance = pt.cast(pt.as_tensor_variable(variance), "float64")
    return Agreement()(score, variance, *entries, like)


# ---------------------------------------------------------------------------------------------
# Backends
# ---------------------------------------------------------------------------------------------


@register_funcify_default_op_cache_key(LogNormalisers)
def _numba_log_normalisers(op: LogNormalisers, node: Apply, **kwargs: Any) -> tuple[Any, int]:
    @numba_njit
    def log_normalisers_(score, variance, adherence, where, needed):  # type: ignore[no-untyped-def]
        return log_normalisers(score, variance, adherence, where, needed)

    return log_normalisers_, 3


@register_funcify_default_op_cache_key(LogNormalisersPullback)
def _numba_log_normalisers_pullback(
    op: LogNormalisersPullback, node: Apply, **kwargs: Any
) -> tuple[Any, int]:
    @numba_njit
    def log_normalisers_pullback_(score, variance, adherence, where, needed, bar):  # type: ignore[no-untyped-def]
        return log_normalisers_pullback(score, variance, adherence, where, needed, bar)

    return log_normalisers_pullback_, 3


@register_funcify_default_op_cache_key(Agreement)
def _numba_agreement(op: Agreement, node: Apply, **kwargs: Any) -> tuple[Any, int]:
    @numba_njit
    def agreement_(score, variance, ranker, first, second, count, like):  # type: ignore[no-untyped-def]
        return agreements(score, variance, ranker, first, second, count, like)

    return agreement_, 1


@register_funcify_default_op_cache_key(AgreementPullback)
def _numba_agreement_pullback(op: AgreementPullback, node: Apply, **kwargs: Any) -> tuple[Any, int]:
    @numba_njit
    def agreement_pullback_(score, variance, ranker, first, second, count, like, bar):  # type: ignore[no-untyped-def]
        return agreements_pullback(score, variance, ranker, first, second, count, like, bar)

    return agreement_pullback_, 1
