"""Compiled Ops for Plackett-Luce with weak orders: value and gradient in one pass.

They take one utility per item and a table of distinct stages;
`bayesrank.likelihoods.plackett_luce.per_slot` takes one utility per slot. Numba and C modes run the
kernels of `bayesrank.likelihoods.plackett_luce.per_item_kernel`. JAX runs the equivalent graphs of
`bayesrank.likelihoods.plackett_luce.graph`.

`RankingLogp` returns one number per ranking. `StageTotal` returns their sum: it weights each stage
by the number of rankings that use it, and does not compute the rankings. If only the sum is used,
as by a sampler, `with_sum` replaces the first by the second. In a mixture, every component has its
utilities, and `RankingLogp` evaluates every ranking under every component.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.graph.basic import Variable
from pytensor.tensor import TensorLike, TensorVariable
from scipy.sparse import csr_array

from bayesrank.likelihoods.ops.arrays import MOST_DENSE, rows_times, segment_sum
from bayesrank.likelihoods.ops.compiled import CompiledOp
from bayesrank.likelihoods.ops.with_sum import with_sum
from bayesrank.likelihoods.plackett_luce.curvature_kernel import (
    stage_curvature_kernel,
    stage_product_kernel,
)
from bayesrank.likelihoods.plackett_luce.graph import stage_terms
from bayesrank.likelihoods.plackett_luce.hessian_kernel import stage_total_hessian_kernel
from bayesrank.likelihoods.plackett_luce.per_item_kernel import (
    ranking_logp_kernel,
    ranking_logp_pullback_kernel,
    stage_total_kernel,
)

__all__ = ["RankingLogp", "StageTotal", "ranking_logp"]

# Fields of the stage table that the kernels read, and fields that the graphs read instead.
KERNEL = ("entry_item", "node_start", "node_child", "block_item", "block_start", "block_below")
GRAPH = ("block_item", "block_below", "block_entry", "slot_item", "slot_rank", "node_slot")
TABLE = (*KERNEL, *GRAPH[2:])
# Axes of items, nodes and blocks, and others whose lengths are not compared
# Numbers in a matrix of second derivatives that is always faster, and numbers for each entry of the
# table. With more, products that pass through the table are as fast.
SMALL, DENSER = 100_000, 64
TABLE_AXES = "(entry),(n+1),(n),(member),(b+1),(b),(member),(row,slot),(row,slot),(n)"
WEIGHT_AXES = "(i),(n),(b)"


class StageTotal(CompiledOp):
    """Weighted sum of stages (scalar) and its gradient (n_items,).

    Inputs: utility, item_weight, node_weight, block_weight, then `TABLE`. The weights are data and
    do not have a gradient.
    """

    kernel = staticmethod(stage_total_kernel)
    signature = f"(i),{WEIGHT_AXES},{TABLE_AXES}->()"
    version = 12

    def hessian(self, *inputs: NDArray[Any]) -> "StageHessian":
        """Compute all second derivatives at values of the inputs."""
        n, table = inputs[0].size, inputs[4 : 4 + len(KERNEL)]
        if n <= MOST_DENSE and n * n <= max(SMALL, DENSER * table[0].size):
            half = stage_total_hessian_kernel(*inputs)
            return StageHessian(2 * np.diag(half), table, half + half.T)
        *parts, diagonal = stage_curvature_kernel(*inputs)
        return StageHessian(diagonal, table, None, parts)

    def graph(self, *inputs: Variable) -> TensorVariable:
        utility, item_weight, node_weight, block_weight, *table = inputs
        log_total, block = _terms(utility[None, :], table)
        return (
            pt.sum(item_weight * utility)
            + pt.sum(node_weight * log_total[0])
            + pt.sum(block_weight * block[0])
        )


class StageHessian(NamedTuple):
    """Second derivatives by the utilities: a matrix, or what products with them need."""

    diagonal: NDArray[np.float64]  # (n_items,)
    table: Sequence[NDArray[Any]]
    matrix: NDArray[np.float64] | None
    parts: Sequence[NDArray[Any]] = ()  # of `stage_product_kernel`, without a matrix

    def product(self, directions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Multiply by directions in columns, (n_items, n_directions), without the matrix."""
        return stage_product_kernel(np.ascontiguousarray(directions), *self.parts, *self.table)

    def dot(self, directions: Sequence[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
        """Multiply by directions of the utilities, (n_directions, n_items)."""
        if self.matrix is None:
            return [np.ascontiguousarray(self.product(directions[0].T).T)]
        return [rows_times(directions[0], self.matrix)]

    def toarray(self) -> NDArray[np.float64]:
        """Return the matrix, (n_items, n_items)."""
        return self.product(np.eye(self.diagonal.size)) if self.matrix is None else self.matrix

    def links(self, sizes: Sequence[int]) -> csr_array:
        """Return a matrix whose entries connect the utilities that stages link.

        It connects each item of a remainder with one item of the next smaller remainder, instead
        of all items with each other.
        """
        entry, start, child = self.table[:3]
        node = np.repeat(np.arange(child.size), np.diff(start))
        inner = np.maximum(child, 0)
        beside = np.where(child >= 0, entry[start[inner]], entry[start[:-1]])[node]
        shape = (self.diagonal.size, self.diagonal.size)
        return csr_array((np.ones(2 * entry.size), (np.r_[entry, beside], np.r_[beside, entry])),
                         shape)  # fmt: skip


class RankingLogp(CompiledOp):
    """Weighted log-probability of every ranking, (n_rankings, n_components).

    Inputs: utility (n_components, n_items), `TABLE`, then the other fields of
    `bayesrank.data.derive.stages.Stages`.
    """

    kernel = staticmethod(ranking_logp_kernel)
    pullback_kernel = staticmethod(ranking_logp_pullback_kernel)
    signature = f"(g,i),{TABLE_AXES},(single),(single),(use),(use),(r),{WEIGHT_AXES}->(r,g)"
    version = 13

    def graph(self, *inputs: Variable) -> TensorVariable:
        utility, table, (s_item, s_node, stage_of, ranking_of, weight, *_) = _split(inputs)
        log_total, block = _terms(utility, table)
        single = utility[:, s_item] - log_total[:, s_node]
        stage = pt.concatenate([single, block], axis=1).T
        total = segment_sum(stage[stage_of], (ranking_of,), (weight.shape[0],))
        return weight[:, None] * total


def _split(inputs: Sequence[Any]) -> tuple[Any, Sequence[Any], Sequence[Any]]:
    """Split into utility, `TABLE` and the remaining fields."""
    return inputs[0], inputs[1 : 1 + len(TABLE)], inputs[1 + len(TABLE) :]


def _terms(utility: TensorVariable, table: Sequence[Any]) -> tuple[TensorVariable, TensorVariable]:
    fields = dict(zip(TABLE, table, strict=True))
    return stage_terms(utility, *(fields[name] for name in GRAPH))


def ranking_logp(utility: TensorLike, table: Sequence[TensorLike]) -> TensorVariable:
    """Weighted log-probability of every ranking from one utility per item.

    Parameters
    ----------
    utility : tensor_like of float, (n_items,) or (n_components, n_items)
        Log worth of every item, for one or more components.
    table : sequence of tensor_like
        The fields of `bayesrank.data.derive.stages.Stages`, in its order.

    Returns
    -------
    TensorVariable, (n_rankings,) or (n_rankings, n_components)
        Shared stages are evaluated once per component. Without components, the sum is evaluated
        only over distinct stages.
    """
    utility = pt.cast(pt.as_tensor_variable(utility), "float64")
    if utility.ndim == 2:
        return RankingLogp()(utility, *table)
    _, stages, (*_, item_weight, node_weight, block_weight) = _split([utility, *table])
    total = StageTotal()(utility, item_weight, node_weight, block_weight, *stages)
    return with_sum(RankingLogp()(utility[None, :], *table)[:, 0], total)
