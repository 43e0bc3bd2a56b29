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
from scipy.sparse import block_array, csr_array

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

Matrix = NDArray[np.float64] | csr_array

MOST_DENSE = 1_000_000  # numbers in second derivatives that always fit a dense matrix
SPARSER = 4  # dense numbers per sparse one below which a dense matrix is faster


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
        utility, *parameters, effects = inputs[:5]
        (n_terms, n_cells), n = inputs[8].shape, utility.size + effects.size
        dense = n * (n + sum(parameter.size for parameter in parameters))
        m = 2 + n_terms
        sparse = dense > max(MOST_DENSE, SPARSER * n_cells * m * (m + 3))
        *matrices, cells = pair_hessian_kernel(*inputs, *self.constants, sparse)
        if sparse:
            place, bends, across, rows = cells
            column = place.ravel()
            at = np.repeat(column, m), np.repeat(place, m, axis=0).ravel()
            matrices[0] = csr_array((bends.ravel(), at), shape=(n, n))
            for p, parameter in enumerate(parameters):
                row, values, size = np.repeat(rows[p], m), across[p].ravel(), parameter.size
                if size * n <= MOST_DENSE:
                    summed = np.bincount(row * n + column, values, size * n)
                    matrices[1 + p] = summed.reshape(size, n)
                else:
                    matrices[1 + p] = csr_array((values, (row, column)), shape=(size, n))
        return PairHessian(*matrices)

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
    """Second derivatives, as `pair_hessian_kernel` returns them, or as sparse matrices."""

    among: Matrix
    across_adherence: Matrix
    across_order: Matrix
    across_tie: Matrix
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

    def links(self, sizes: Sequence[int]) -> csr_array:
        """Return a matrix with an entry where a term links two of the inputs, of these sizes."""
        n_utilities, *n_parameters, n_effects = sizes
        among, *across = map(csr_array, self[:4])
        n_groups = self.by_group.shape[1]
        at = [np.minimum(np.arange(n_groups), n - 1) for n in n_parameters]
        cells: list[list[Any]] = [[among, *(x.T for x in across)]]
        for n, i, x in zip(n_parameters, at, across, strict=True):
            pairs = zip(n_parameters, at, strict=True)
            row = [csr_array((np.ones(n_groups), (i, j)), shape=(n, k)) for k, j in pairs]
            cells.append([x, *row])
        n_linear, n_all = n_utilities + n_effects, sum(sizes)
        order = np.r_[:n_utilities, n_linear:n_all, n_utilities:n_linear]
        return csr_array(block_array(cells, format="csr")[order][:, order])


def _group_parameter(x: Any, group: Any) -> TensorVariable:
    """Return the parameter of each cell's group, or one parameter for all groups."""
    return x[pt.minimum(group, x.shape[0] - 1)]
