"""The compiled Op for weak orders with one utility per slot: value and gradient in one pass.

Numba and C modes run the kernel of `bayesrank.likelihoods.plackett_luce.per_slot_kernel`. JAX runs
the equivalent graph of `bayesrank.likelihoods.plackett_luce.graph`.
"""

from typing import Any

from pytensor.graph.basic import Variable
from pytensor.tensor import TensorVariable

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
        return logp_of_matrix(utility, ranks, nodes=self.nodes)

    def shortcut(self, *inputs: Variable) -> tuple[TensorVariable, TensorVariable] | None:
        utility, ranks = inputs
        return ~need_quadrature(ranks), logp_of_matrix(utility, ranks, quadrature=False)


def weak_order_logp(utility: Any, ranks: Any, *, nodes: int = 48) -> TensorVariable:
    """Log-probability of weak orders, compiled; arguments and result as in `plackett_luce_logp`.

    JAX runs the graph with this number of nodes. The kernel chooses nodes for an error of 1e-11.

    Examples
    --------
    >>> round(float(weak_order_logp([0.0, 0.0, 0.0], [1, 2, 2]).exp().eval()), 6)
    0.333333
    """
    return over_rows(lambda u, r: WeakOrderLogp(nodes)(u, r), utility, ranks)
