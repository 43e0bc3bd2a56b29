"""Compiled Op for ordered grades of pairs: the sum over cells and its gradients in one pass.

Numba and C modes run the kernel of `bayesrank.likelihoods.pairs.graded_kernel`. JAX runs the
equivalent graphs of `bayesrank.likelihoods.pairs.graph`.
"""

from typing import Any

import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

from bayesrank.likelihoods.ops.compiled import CompiledOp
from bayesrank.likelihoods.pairs.graded_kernel import graded_total_kernel
from bayesrank.likelihoods.pairs.graph import grade_log_probabilities, outcome_counts_logp
from bayesrank.likelihoods.pairs.total import _group_parameter
from bayesrank.match_outcomes import FAMILIES

__all__ = ["GradedTotal"]


class GradedTotal(CompiledOp):
    """Sum of the log-probabilities of counts of grades (scalar), and its gradients.

    Inputs are as in `graded_total_kernel`. Counts do not have a gradient.

    Parameters
    ----------
    family : str
        One of `bayesrank.match_outcomes.FAMILIES`.
    n_grades : int
    within : int
        The adherence multiplies the first `within` terms, as it does utilities.
    """

    kernel = staticmethod(graded_total_kernel)
    signature = "(u),(a),(o),(t,m),(e),(c),(c),(c),(k,c),(k,c),(m+1,c)->()"
    or_length = (("a", "group", 1), ("o", "group", 1), ("t", "group", 1))
    version = 3
    wrt = (0, 1, 2, 3, 4)
    __props__ = ("family", "n_grades", "within")

    def __init__(self, family: str, n_grades: int, within: int = 0) -> None:
        self.family = family
        self.n_grades = n_grades
        self.within = within

    @property
    def constants(self) -> tuple[Any, ...]:
        return (FAMILIES.index(self.family), self.within)

    def graph(
        self,
        utility: Any, adherence: Any, order_effect: Any, boundary: Any, effects: Any,
        first: Any, second: Any, group: Any, which: Any, size: Any, counts: Any,
    ) -> TensorVariable:  # fmt: skip
        terms = size * effects[which]
        gap = utility[first] - utility[second] + pt.sum(terms[: self.within], axis=0)
        lead = _group_parameter(adherence, group) * gap + _group_parameter(order_effect, group)
        lead = lead + pt.sum(terms[self.within :], axis=0)
        boundary = pt.specify_shape(boundary, (None, self.n_grades - 1))
        cutpoints = _group_parameter(boundary, group)[:, ::-1]
        logp = grade_log_probabilities(lead, cutpoints, self.family)
        return pt.sum(outcome_counts_logp(counts.T, logp))
