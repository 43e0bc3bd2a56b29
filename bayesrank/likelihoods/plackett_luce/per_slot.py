"""The compiled Op for weak orders with one utility per slot: value and gradient in one pass.

Numba and C modes run the kernel of `bayesrank.likelihoods.plackett_luce.per_slot_kernel`. JAX runs
the equivalent graph of `bayesrank.likelihoods.plackett_luce.graph`.
"""

from pytensor.graph.basic import Variable
from pytensor.tensor import TensorLike, TensorVariable

from bayesrank.likelihoods.ops.arrays import over_rows
from bayesrank.likelihoods.ops.compiled import CompiledOp
from bayesrank.likelihoods.plackett_luce.graph import logp_of_matrix, need_quadrature
from bayesrank.likelihoods.plackett_luce.per_slot_kernel import per_slot_kernel

__all__ = ["WeakOrderLogp", "weak_order_logp"]


class WeakOrderLogp(CompiledOp):
    """Log-probability of every ranking (n_rankings,) and its gradient (n_rankings, n_slots)."""

    kernel = staticmethod(per_slot_kernel)
    signature = "(r,s),(r,s)->(r)"
    version = 19

    def graph(self, *inputs: Variable) -> TensorVariable:
        utility, ranks = inputs
        return logp_of_matrix(utility, ranks)

    def shortcut(self, *inputs: Variable) -> tuple[TensorVariable, TensorVariable] | None:
        utility, ranks = inputs
        return ~need_quadrature(ranks), logp_of_matrix(utility, ranks, quadrature=False)


def weak_order_logp(utility: TensorLike, ranks: TensorLike) -> TensorVariable:
    r"""Log-probability of weak orders under Plackett-Luce, given their block sizes, compiled.

    .. math:: \log P = \sum_{m<M} \log \int_0^1 \prod_{i \in S_m} (1 - u^{a_i})\, du, \qquad
              a_i = e^{w_i} / \sum_{j \in R_{m+1}} e^{w_j}

    The kernel chooses its nodes for an error of 1e-11.

    Parameters
    ----------
    utility : tensor_like of float, (..., n_slots)
        Log worth of the item in each slot; any value in empty slots.
    ranks : tensor_like of int, (..., n_slots)
        Dense ranks in any order of slots: 1 = best, equal = one block, 0 = empty slot.

    Returns
    -------
    TensorVariable, (...)
        One number per ranking; -inf if its ranks are not dense.

    References
    ----------
    Plackett 1975; Ma et al., AISTATS 2021 (eq. 4 for a block).

    Examples
    --------
    Items 1 and 2 in any order, then item 0:

    >>> round(float(weak_order_logp([0.3, 1.2, -0.5], [2, 1, 1]).eval()), 6)
    -1.284462
    """
    return over_rows(WeakOrderLogp(), utility, ranks)
