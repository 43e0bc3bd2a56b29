"""The compiled Op of PMOP: value and gradients of weak orders in one pass.

Numba and C modes run the kernels of `bayesrank.likelihoods.pmop.set_kernels`. JAX runs the
equivalent graphs of `bayesrank.likelihoods.pmop.graph`.
"""

from typing import Any

import pytensor.tensor as pt
from pytensor.graph.basic import Variable
from pytensor.tensor import TensorVariable

from bayesrank.likelihoods.ops.arrays import over_rows
from bayesrank.likelihoods.ops.compiled import CompiledOp, KernelOp
from bayesrank.likelihoods.pmop.draw_kernels import draw_partitions_kernel
from bayesrank.likelihoods.pmop.graph import pmop_logp_of_matrix
from bayesrank.likelihoods.pmop.set_kernels import AGGREGATES, ordered_partitions_kernel

__all__ = ["OrderedPartitionDraw", "OrderedPartitionLogp", "pmop_logp"]


class OrderedPartitionLogp(CompiledOp):
    """Log-probability of every ranking, (n_rankings,), and its gradients.

    Inputs: utility (n_rankings, n_slots), ranks (n_rankings, n_slots), log_weight (n_rankings,
    n_sizes) of block sizes, stage_weight (n_rankings, n_stages). The outputs after the first are
    the gradients by utility and by log_weight.
    """

    __props__ = ("aggregate", "given_sizes", "nodes")
    kernel = staticmethod(ordered_partitions_kernel)
    signature = "(r,s),(r,s),(r,z),(r,t)->(r)"
    version = 6
    wrt = (0, 2)

    def __init__(self, aggregate: str, given_sizes: bool, nodes: int = 48) -> None:
        super().__init__(nodes)
        self.aggregate = aggregate
        self.given_sizes = given_sizes

    @property
    def constants(self) -> tuple[int, bool]:
        return AGGREGATES.index(self.aggregate), self.given_sizes

    def graph(self, *inputs: Variable) -> TensorVariable:
        return pmop_logp_of_matrix(
            *inputs,
            aggregate=self.aggregate,
            given_sizes=self.given_sizes,
            nodes=self.nodes,
        )


class OrderedPartitionDraw(KernelOp):
    """Weak orders (..., n_slots) of int64 from seeds (...).

    Inputs: utility, where, sizes, log_weight and seed, with the same leading axes. A draw is a
    function of one 64-bit seed per ranking, so one compiled function serves numba, C and, through a
    callback, JAX.
    """

    __props__ = ("aggregate",)
    kernel = staticmethod(draw_partitions_kernel)
    signature = "(...,s),(...,s),(...,b),(...,z),(...)->(...,s)"
    version = 7
    dtype = "int64"

    def __init__(self, aggregate: str) -> None:
        self.aggregate = aggregate

    @property
    def constants(self) -> tuple[int]:
        return (AGGREGATES.index(self.aggregate),)


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
    r"""Log-probability of weak orders under PMOP, compiled; see `likelihoods.pmop.graph`.

    Parameters
    ----------
    utility : tensor_like of float, (..., n_slots)
        Log worth of the item in each slot.
    ranks : tensor_like of int, (..., n_slots)
        Dense ranks in any order of slots: 1 = best, equal = one block, 0 = empty slot.
    aggregate : {"mean", "max", "min", "geometric", "harmonic"}
        The set function.
    given_sizes : bool
        Whether the sizes of the blocks are given; otherwise they are part of the outcome.
    log_weight : tensor_like of float, (..., n_sizes), optional
        Log weights of block sizes 1 to n_sizes; larger blocks are impossible. By default all sizes
        have the same weight.
    stage_weight : tensor_like of float, (..., n_stages), optional
        Exponents of the stages; default one. A ranking has at most n_stages stages.
    nodes : int
        Number of nodes in the graph that JAX uses.

    Returns
    -------
    TensorVariable, (...)
        One number per ranking, -inf if its ranks are not dense.

    Examples
    --------
    With two equal items, each of the three outcomes has probability one third:

    >>> float(pmop_logp([0.0, 0.0], [1, 1]).exp().eval().round(6))
    0.333333
    """
    utility = pt.as_tensor_variable(utility)
    log_weight = pt.zeros((0,)) if log_weight is None else pt.as_tensor_variable(log_weight)
    stage_weight = (
        pt.ones_like(utility, dtype="float64")
        if stage_weight is None
        else pt.as_tensor_variable(stage_weight)
    )
    op = OrderedPartitionLogp(aggregate, given_sizes, nodes)
    return over_rows(op, utility, ranks, log_weight, stage_weight)
