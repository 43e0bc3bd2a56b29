"""Compiled Ops for pair outcomes: the sum over cells and its gradients in one pass.

Numba and C modes run the kernel of `bayesrank.likelihoods.pairs.total_kernel`; JAX and second
derivatives run the graphs of `bayesrank.likelihoods.pairs.graph`, which must agree.
"""

from typing import Any

import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

from bayesrank.likelihoods.ops.compiled import CompiledOp
from bayesrank.likelihoods.pairs.graph import (
    LogProbabilities,
    davidson_log_probabilities,
    outcome_counts_logp,
    rao_kupper_log_probabilities,
    thurstone_log_probabilities,
)
from bayesrank.likelihoods.pairs.total_kernel import (
    DAVIDSON,
    RAO_KUPPER,
    THURSTONE,
    pair_total_kernel,
)

__all__ = ["DavidsonTotal", "PairTotal", "RaoKupperTotal", "ThurstoneTotal"]


class PairTotal(CompiledOp):
    """Sum of the log-probabilities of counts (scalar), and its gradients.

    Inputs: utility (n_utilities,); adherence, order_effect and tie, (n_groups,) or (1,) each;
    first, second and group of every cell, (n_cells,); counts (3, n_cells), which are data: no
    gradient by them is to be had.
    """

    kernel = staticmethod(pair_total_kernel)
    signature = "(u),(a),(o),(t),(c),(c),(c),(three,c)->()"
    wrt = (0, 1, 2, 3)
    __props__ = ()
    family: int

    def __init__(self) -> None:
        super().__init__()

    @property
    def constants(self) -> tuple[Any, ...]:
        return (self.family,)

    def log_probabilities(self, lead: Any, tie: Any) -> LogProbabilities:
        """Log-probabilities of the outcomes of one match."""
        raise NotImplementedError

    def graph(
        self,
        utility: Any, adherence: Any, order_effect: Any, tie: Any,
        first: Any, second: Any, group: Any, counts: Any,
    ) -> TensorVariable:  # fmt: skip
        lead = _of_group(adherence, group) * (utility[first] - utility[second])
        lead = lead + _of_group(order_effect, group)
        each = self.log_probabilities(lead, _of_group(tie, group))
        return pt.sum(outcome_counts_logp(counts.T, each))


class DavidsonTotal(PairTotal):
    """Under Davidson's model; with the tie parameter 0, under Bradley-Terry."""

    family = DAVIDSON

    def log_probabilities(self, lead: Any, tie: Any) -> LogProbabilities:
        return davidson_log_probabilities(lead, tie)


class RaoKupperTotal(PairTotal):
    """Under Rao and Kupper's model."""

    family = RAO_KUPPER

    def log_probabilities(self, lead: Any, tie: Any) -> LogProbabilities:
        return rao_kupper_log_probabilities(lead, tie)


class ThurstoneTotal(PairTotal):
    """Under Thurstone's model, which has no ties: the parameter is not used."""

    family = THURSTONE

    def log_probabilities(self, lead: Any, tie: Any) -> LogProbabilities:
        return thurstone_log_probabilities(lead)


def _of_group(x: Any, group: Any) -> TensorVariable:
    """Parameters of the cells, where there may be one for all."""
    return x[pt.minimum(group, x.shape[0] - 1)]
