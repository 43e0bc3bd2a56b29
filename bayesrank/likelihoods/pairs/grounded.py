"""Compiled Op for grounded Rao-Kupper: the sum over cells and its gradients in one pass.

Numba and C modes run the kernel of `bayesrank.likelihoods.pairs.grounded_kernel`. JAX runs the
equivalent graphs of `bayesrank.likelihoods.pairs.graph`.
"""

from typing import Any

import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

from bayesrank.likelihoods.ops.compiled import CompiledOp
from bayesrank.likelihoods.pairs.graph import (
    grounded_log_probabilities,
    outcome_counts_logp,
    times_odds,
)
from bayesrank.likelihoods.pairs.grounded_kernel import grounded_total_kernel
from bayesrank.likelihoods.pairs.total import _group_parameter

__all__ = ["GroundedTotal"]


class GroundedTotal(CompiledOp):
    """Sum of the log-probabilities of counts of wins, ties and both bad, and its gradients.

    Inputs are as in `grounded_total_kernel`. Counts do not have a gradient.

    Parameters
    ----------
    within, tying : int
        As in `PairTotal`.
    """

    kernel = staticmethod(grounded_total_kernel)
    signature = "(u),(a),(o),(t),(b),(e),(c),(c),(c),(k,c),(k,c),(4,c)->()"
    or_length = (("a", "group", 1), ("o", "group", 1), ("t", "group", 1), ("b", "group", 1))
    version = 2
    wrt = (0, 1, 2, 3, 4, 5)
    __props__ = ("within", "tying")

    def __init__(self, within: int = 0, tying: int = 0) -> None:
        self.within = within
        self.tying = tying

    @property
    def constants(self) -> tuple[Any, ...]:
        return (self.within, self.tying)

    def graph(
        self,
        utility: Any, adherence: Any, order_effect: Any, theta: Any, threshold: Any, effects: Any,
        first: Any, second: Any, group: Any, which: Any, size: Any, counts: Any,
    ) -> TensorVariable:  # fmt: skip
        met = effects[which]
        terms, n, last_tying = size * met, self.within, self.within + self.tying
        one, other, factor = utility[first], utility[second], _group_parameter(adherence, group)
        lead = factor * (one - other + pt.sum(terms[:n], axis=0))
        lead = lead + _group_parameter(order_effect, group) + pt.sum(terms[last_tying:], axis=0)
        level = factor * (one + other + pt.sum(abs(size[:n]) * met[:n], axis=0)) / 2
        level = level - _group_parameter(threshold, group)
        odds = _group_parameter(theta, group)
        if self.tying:
            odds = times_odds(odds, pt.sum(terms[n:last_tying], axis=0), 1.0)
        return pt.sum(outcome_counts_logp(counts.T, grounded_log_probabilities(lead, level, odds)))
