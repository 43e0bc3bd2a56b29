"""Compiled Ops for pair outcomes: the sum over cells and its gradients in one pass.

Numba and C modes run the kernel of `bayesrank.likelihoods.pairs.total_kernel`. JAX runs the
equivalent graphs of `bayesrank.likelihoods.pairs.graph`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.tensor import TensorVariable

from bayesrank.likelihoods.ops.arrays import rows_times
from bayesrank.likelihoods.ops.compiled import CompiledOp
from bayesrank.likelihoods.pairs.graph import (
    LogProbabilities,
    davidson_log_probabilities,
    outcome_counts_logp,
    rao_kupper_log_probabilities,
    thurstone_log_probabilities,
    times_odds,
)
from bayesrank.likelihoods.pairs.hessian_kernel import pair_hessian_kernel
from bayesrank.likelihoods.pairs.total_kernel import (
    DAVIDSON,
    RAO_KUPPER,
    THURSTONE,
    pair_total_kernel,
)

__all__ = ["DavidsonTotal", "PairTotal", "RaoKupperTotal", "ThurstoneTotal"]


class PairTotal(CompiledOp):
    """Sum of the log-probabilities of counts (scalar), and its gradients.

    Inputs are as in `pair_total_kernel`. Counts do not have a gradient.

    Parameters
    ----------
    within, tying : int
        The adherence multiplies the first `within` terms, as it does utilities. The exponential of
        the sum of the next `tying` terms multiplies the odds of a tie of equal items.
    """

    kernel = staticmethod(pair_total_kernel)
    signature = "(u),(a),(o),(t),(e),(c),(c),(c),(k,c),(k,c),(3,c)->()"
    or_length = (("a", "group", 1), ("o", "group", 1), ("t", "group", 1))
    version = 4
    wrt = (0, 1, 2, 3, 4)
    separate = (1, 2, 3)  # parameters of groups: second derivatives between two groups are zero
    __props__ = ("within", "tying")
    family: int
    least = 0.0  # lowest value of the tie parameter

    def __init__(self, within: int = 0, tying: int = 0) -> None:
        self.within = within
        self.tying = tying

    @property
    def constants(self) -> tuple[Any, ...]:
        return (self.family, self.within, self.tying)

    def hessian(self, *inputs: NDArray[Any]) -> "PairHessian":
        """Compute all second derivatives at values of the inputs."""
        return PairHessian(*pair_hessian_kernel(*inputs, *self.constants))

    def log_probabilities(self, lead: Any, tie: Any) -> LogProbabilities:
        """Log-probabilities of the outcomes of one match."""
        raise NotImplementedError

    def graph(
        self,
        utility: Any, adherence: Any, order_effect: Any, tie: Any, effects: Any,
        first: Any, second: Any, group: Any, which: Any, size: Any, counts: Any,
    ) -> TensorVariable:  # fmt: skip
        terms = size * effects[which]
        gap = utility[first] - utility[second] + pt.sum(terms[: self.within], axis=0)
        lead = _group_parameter(adherence, group) * gap + _group_parameter(order_effect, group)
        last_tying = self.within + self.tying
        lead = lead + pt.sum(terms[last_tying:], axis=0)
        level = _group_parameter(tie, group)
        if self.tying:
            log_times = pt.sum(terms[self.within : last_tying], axis=0)
            level = times_odds(level, log_times, self.least)
        log_probabilities = self.log_probabilities(lead, level)
        return pt.sum(outcome_counts_logp(counts.T, log_probabilities))


class DavidsonTotal(PairTotal):
    """`PairTotal` under Davidson's model; a tie parameter of 0 gives Bradley-Terry."""

    family = DAVIDSON

    def log_probabilities(self, lead: Any, tie: Any) -> LogProbabilities:
        return davidson_log_probabilities(lead, tie)


class RaoKupperTotal(PairTotal):
    """`PairTotal` under Rao and Kupper's model."""

    family = RAO_KUPPER
    least = 1.0

    def log_probabilities(self, lead: Any, tie: Any) -> LogProbabilities:
        return rao_kupper_log_probabilities(lead, tie)


class ThurstoneTotal(PairTotal):
    """`PairTotal` under Thurstone's model, which has no ties and ignores the tie parameter."""

    family = THURSTONE

    def log_probabilities(self, lead: Any, tie: Any) -> LogProbabilities:
        return thurstone_log_probabilities(lead)


class PairHessian(NamedTuple):
    """Second derivatives, as `pair_hessian_kernel` returns them."""

    among: NDArray[np.float64]
    across_adherence: NDArray[np.float64]
    across_order: NDArray[np.float64]
    across_tie: NDArray[np.float64]
    by_group: NDArray[np.float64]

    def dot(self, directions: Sequence[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
        """Multiply by directions of the five inputs, each (n_directions, length of the input)."""
        utility, *parameters, effects = directions
        linear = np.concatenate([utility, effects], axis=1)
        across = self[1:4]
        out = rows_times(linear, self.among)
        found = [linear @ block.T for block in across]
        # only few directions change parameters of groups, and there may be thousands of groups
        move = np.flatnonzero(np.any([v.any(axis=1) for v in parameters], axis=0))
        parameters = [v[move] for v in parameters]
        out[move] += sum(v @ block for block, v in zip(across, parameters, strict=True))
        pairs = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
        for (p, q), second in zip(pairs, self.by_group, strict=True):
            for to, by in {(p, q), (q, p)}:
                change = second * parameters[by]  # of each group, or of all groups
                shared = found[to].shape[1] == 1 < change.shape[1]
                found[to][move] += change.sum(axis=1, keepdims=True) if shared else change
        n_utilities = utility.shape[1]
        return [out[:, :n_utilities], *found, out[:, n_utilities:]]


def _group_parameter(x: Any, group: Any) -> TensorVariable:
    """Return the parameter of each cell's group, or one parameter for all groups."""
    return x[pt.minimum(group, x.shape[0] - 1)]
